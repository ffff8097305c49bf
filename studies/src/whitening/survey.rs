//! Sizes of features found by a survey: some of the first people say how large one number is, by randomised response, and features are then divided by what was found.
//!
//! ```text
//! first    each of d groups of n people:  in which octave |x_j| of an arm on offer lies,  s_j
//! then     2 n people:  the same of |x / s|, in half octaves,  r
//! M = diag(1 / (s_j r)),   if some s_j r is below 1/3;  else features stay as they are
//! ```
//!
//! A size is the upper end of the octave of most people, among those down to which more people are counted than noise explains ([`ERRORS`] deviations). What is never reached keeps its declared size: a rare category is large when it is
//! there, and dividing it by its root mean square would be a mistake, which whitening makes.
//!
//! **Privacy.** A person makes one report: an answer, or a report of features and reward. An answer has the event of randomised response among [`OCTAVES`] answers. Which of the two a person makes depends on the person's
//! number only, and sizes are made from answers.

use reticent::{bandit::Arms, noise::Noise, privacy::Event};

use super::{super::click_environment::dot, learner::Mapped};
use reticent_lab::{FastNoise, Result, play::Learner};

/// Answers of a person; the last is "smaller than all others".
const OCTAVES: usize = 13;
const ERRORS: f64 = 3.0;
/// Features are divided by their sizes only where one of them gains this factor.
const LEAST_GAIN: f64 = 3.0;

/// Protocol of the survey.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct SurveyParams {
    /// A share is known to within a deviation of `0.5 / sqrt(precision)`.
    pub(super) precision: f64,
    /// Number of people of whom one is asked, until all questions are answered; the others report features and reward meanwhile.
    pub(super) every: u64,
}

/// Answers to one question.
#[derive(Debug, Clone, Default)]
struct Answers {
    counts: [u64; OCTAVES],
}

/// Randomised response: the probabilities of the truth and of each other answer.
#[derive(Debug, Clone, Copy)]
struct Response {
    truth: f64,
    other: f64,
}

impl Response {
    fn new(epsilon: f64) -> Self {
        let other = 1.0 / (epsilon.exp() + (OCTAVES - 1) as f64);
        Response { truth: epsilon.exp() * other, other }
    }

    /// People of a question, so that shares have the precision.
    fn people(&self, precision: f64) -> u64 {
        (precision / (self.truth - self.other).powi(2)).ceil() as u64
    }

    fn answer(&self, truth: usize, noise: &mut FastNoise) -> usize {
        let draw = noise.uniform();
        if draw < self.truth - self.other {
            return truth;
        }
        noise.below(OCTAVES as u64) as usize
    }

    /// The answer of most people among those up to the first that is reached by more than noise explains, from the largest on.
    ///
    /// The first one alone would not do: where a category is there for a quarter of the people, the answers below it often pass the threshold by their noise.
    fn largest(&self, answers: &Answers) -> Option<usize> {
        let people = answers.counts.iter().sum::<u64>() as f64;
        let spread = self.truth - self.other;
        let least = ERRORS * 0.5 / (people.sqrt() * spread);
        let mut reached = 0.0;
        // The last answer says nothing of a size.
        let first = (0..OCTAVES - 1).find(|&octave| {
            reached += (answers.counts[octave] as f64 / people - self.other) / spread;
            reached > least
        })?;
        (0..=first).rev().max_by_key(|&octave| answers.counts[octave])
    }
}

/// The octave below `largest` that a value lies in, in steps of this many to an octave.
fn octave(value: f64, largest: f64, steps: f64) -> usize {
    let below = steps * (largest / value.abs().max(f64::MIN_POSITIVE)).log2();
    (below.max(0.0) as usize).min(OCTAVES - 1)
}

/// The questions, one after the other.
#[derive(Debug, Clone)]
pub(super) struct Survey {
    params: SurveyParams,
    response: Response,
    /// People of each question.
    people: u64,
    features: Vec<Answers>,
    lengths: Answers,
    asked: u64,
    sizes: Vec<f64>,
}

impl Survey {
    pub(super) fn new(dimension: usize, epsilon: f64, params: SurveyParams) -> Self {
        let response = Response::new(epsilon);
        Survey {
            params,
            response,
            people: response.people(params.precision),
            features: vec![Answers::default(); dimension],
            lengths: Answers::default(),
            asked: 0,
            sizes: vec![1.0; dimension],
        }
    }

    /// Event of one answer.
    pub(super) fn event(epsilon: f64) -> Event {
        Event::RandomizedResponse { categories: OCTAVES as u64, epsilon }
    }

    /// Asks one person: the answer, and after the last what to divide features by, if they are to be divided.
    fn ask(&mut self, x: &[f64], noise: &mut FastNoise) -> (usize, Progress) {
        let d = x.len() as u64;
        let (questions, root) = (self.people * d, (d as f64).sqrt());
        let (truth, answers) = if self.asked < questions {
            let place = (self.asked % d) as usize;
            (octave(x[place], 1.0, 1.0), &mut self.features[place])
        } else {
            let divided: Vec<f64> = x.iter().zip(&self.sizes).map(|(x, size)| x / size).collect();
            let length = dot(&divided, &divided).sqrt();
            (octave(length, root, 2.0), &mut self.lengths)
        };
        let answer = self.response.answer(truth, noise);
        answers.counts[answer] += 1;
        self.asked += 1;
        if self.asked == questions {
            let size = |answers: &Answers| {
                self.response.largest(answers).map_or(1.0, |octave| 0.5_f64.powi(octave as i32))
            };
            self.sizes = self.features.iter().map(size).collect();
        }
        let is_last = self.asked == questions + 2 * self.people;
        (answer, if is_last { self.found(root) } else { Progress::GoesOn })
    }

    /// Sizes estimated from all answers.
    fn found(&self, root: f64) -> Progress {
        let length = self.response.largest(&self.lengths).unwrap_or(0);
        let length = root * 0.5_f64.powf(0.5 * length as f64);
        let sizes: Vec<f64> = self.sizes.iter().map(|size| size * length).collect();
        let least = sizes.iter().copied().fold(f64::INFINITY, f64::min);
        match least < 1.0 / LEAST_GAIN {
            true => Progress::Divide(sizes),
            false => Progress::Leave,
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
enum Progress {
    GoesOn,
    Divide(Vec<f64>),
    Leave,
}

/// A learner of reports that asks some of its first people.
pub(super) struct Surveyed {
    learner: Mapped,
    survey: Option<Survey>,
    /// An arm that was on offer in this round, drawn by the person.
    offered: (u64, Vec<f64>),
    answer: Option<Vec<f64>>,
    people: u64,
    noise: FastNoise,
}

impl Surveyed {
    pub(super) fn new(learner: Mapped, survey: Survey, seed: u64) -> Self {
        let noise = FastNoise::seeded(seed);
        let offered = (0, Vec::new());
        Surveyed { learner, survey: Some(survey), offered, answer: None, people: 0, noise }
    }
}

impl Learner for Surveyed {
    fn choose(&mut self, arms: &Arms, round: u64) -> Result<usize> {
        if self.survey.is_some() {
            let arm = self.noise.below(arms.count() as u64) as usize;
            self.offered = (round, arms.arm(arm).to_vec());
        }
        self.learner.choose(arms, round)
    }

    fn observe(&mut self, round: u64, features: &[f64], reward: f64) -> Result<()> {
        self.people += 1;
        match &mut self.survey {
            Some(survey) if self.people.is_multiple_of(survey.params.every) => {
                let (offered, x) = &self.offered;
                let remedy =
                    "a person answers in the round of the arms; expected rewards without delay";
                reticent::refuse_if(*offered != round, "round", round, remedy)?;
                let (answer, progress) = survey.ask(x, &mut self.noise);
                self.answer = Some(vec![answer as f64]);
                match progress {
                    Progress::GoesOn => return Ok(()),
                    Progress::Divide(sizes) => self.learner.divide_by(&sizes)?,
                    Progress::Leave => {}
                }
                self.survey = None;
                Ok(())
            }
            _ => self.learner.observe(round, features, reward),
        }
    }

    fn sent(&mut self) -> Option<Vec<f64>> {
        self.answer.take().or_else(|| self.learner.sent())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Enough people that noise decides nothing: shares are known to within a deviation of .01, and what is asserted is five of them away and more.
    fn surveyed(epsilon: f64, draw: impl Fn(&mut FastNoise) -> Vec<f64>) -> Progress {
        let mut noise = FastNoise::seeded(4);
        let dimension = draw(&mut noise).len();
        let params = SurveyParams { precision: 2500.0, every: 1 };
        let mut survey = Survey::new(dimension, epsilon, params);
        loop {
            let x = draw(&mut noise);
            match survey.ask(&x, &mut noise).1 {
                Progress::GoesOn => {}
                end => return end,
            }
        }
    }

    #[test]
    fn small_features_are_found_and_rare_ones_are_left_alone() {
        for epsilon in [1.0, 4.0] {
            let small = surveyed(epsilon, |noise| {
                let mut value = || 2.0 * noise.uniform() - 1.0;
                vec![0.7 * value(), 0.007 * value()]
            });
            let Progress::Divide(sizes) = small else { panic!("{epsilon}: {small:?}") };
            assert!((0.3..1.5).contains(&sizes[0]), "{sizes:?}");
            assert!((0.003..0.015).contains(&sizes[1]), "{sizes:?}");
            let rare = surveyed(epsilon, |noise| match noise.uniform() < 0.1 {
                true => vec![0.0, 1.0],
                false => vec![1.0, 0.0],
            });
            assert_eq!(rare, Progress::Leave, "{epsilon}");
        }
    }

    /// A category of a quarter of the people, with noise that lifts the octaves below it over the threshold.
    #[test]
    fn noise_of_small_octaves_does_not_make_a_category_small() {
        let response = Response::new(4.0);
        let mut answers = Answers::default();
        answers.counts[0] = 8;
        answers.counts[4] = 3;
        answers.counts[OCTAVES - 1] = 20;
        let reached = |octave: usize| {
            let counted: u64 = answers.counts[..=octave].iter().sum();
            (counted as f64 / 31.0 - (octave + 1) as f64 * response.other)
                / (response.truth - response.other)
        };
        let least = ERRORS * 0.5 / (31_f64.sqrt() * (response.truth - response.other));
        assert!(reached(0) < least && least < reached(4), "{} {least} {}", reached(0), reached(4));
        assert_eq!(response.largest(&answers), Some(0));
    }

    /// Tells whether all answers to two truths have the probabilities of randomised response, to within six deviations: 26 shares, false alarms in less than a millionth of all seeds.
    fn is_response(answer: impl Fn(usize, &mut FastNoise) -> usize) -> bool {
        let response = Response::new(2.0);
        let mut noise = FastNoise::seeded(8);
        let people = 200_000;
        [3, OCTAVES - 1].into_iter().all(|truth| {
            let mut counts = [0.0; OCTAVES];
            (0..people).for_each(|_| counts[answer(truth, &mut noise)] += 1.0 / f64::from(people));
            counts.iter().enumerate().all(|(octave, share)| {
                let expected = if octave == truth { response.truth } else { response.other };
                let deviation = (expected * (1.0 - expected) / f64::from(people)).sqrt();
                (share - expected).abs() < 6.0 * deviation
            })
        })
    }

    #[test]
    fn answers_have_the_probabilities_of_randomised_response() {
        let response = Response::new(2.0);
        assert!((response.truth / response.other - 2.0_f64.exp()).abs() < 1e-12);
        assert!((response.truth + 12.0 * response.other - 1.0).abs() < 1e-12);
        assert!(is_response(|truth, noise| response.answer(truth, noise)));
        // Planted: the last answer is never drawn, and the truth is sent too often.
        assert!(!is_response(|truth, noise| {
            match noise.uniform() < response.truth - response.other {
                true => truth,
                false => noise.below(OCTAVES as u64 - 1) as usize,
            }
        }));
        assert!(!is_response(|truth, noise| match noise.uniform() < response.truth {
            true => truth,
            false => noise.below(OCTAVES as u64) as usize,
        }));
    }
}
