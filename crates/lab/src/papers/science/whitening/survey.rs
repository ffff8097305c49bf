//! Sizes of features found by a survey: some of the first people say how large one number is, by randomised response, and features are then divided by what was found.
//!
//! ```text
//! first    each of d groups of n people:  in which octave |x_j| of an arm on offer lies,  s_j
//! then     2 n people:  the same of |x / s|, in half octaves,  r
//! M = diag(1 / (s_j r)),   if some s_j r is below 1/3;  else features stay as they are
//! ```
//!
//! A size is the upper end of the largest octave that is reached by more people than noise explains ([`ERRORS`] deviations). What is never reached keeps its declared size: a rare category is large when it is
//! there, and dividing it by its root mean square would be a mistake, which whitening makes.
//!
//! **Privacy.** A person makes one report: an answer, or a report of features and reward. An answer has the event of randomised response among [`OCTAVES`] answers. Which of the two a person makes depends on the person's
//! number only, and sizes are made from answers.

use reticent::{bandit::Arms, noise::Noise, privacy::Event};

use super::{super::click_world::dot, learner::Mapped};
use crate::{FastNoise, Result, simulate::Player};

/// Answers of a person; the last is "smaller than all others".
const OCTAVES: usize = 13;
const ERRORS: f64 = 3.0;
/// Features are divided by their sizes only where one of them gains this factor.
const LEAST_GAIN: f64 = 3.0;

/// How people are asked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Asking {
    /// A share is known to within a deviation of `0.5 / sqrt(precision)`.
    pub(super) precision: f64,
    /// Every so many people one is asked, until all questions are answered; the others report features and reward meanwhile.
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

    /// The first answer that is reached by more people than noise explains, from the largest on.
    fn largest(&self, answers: &Answers) -> Option<usize> {
        let people = answers.counts.iter().sum::<u64>() as f64;
        let spread = self.truth - self.other;
        let least = ERRORS * 0.5 / (people.sqrt() * spread);
        let mut reached = 0.0;
        // The last answer says nothing of a size.
        (0..OCTAVES - 1).find(|&octave| {
            reached += (answers.counts[octave] as f64 / people - self.other) / spread;
            reached > least
        })
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
    asking: Asking,
    response: Response,
    /// People of each question.
    people: u64,
    features: Vec<Answers>,
    lengths: Answers,
    asked: u64,
    sizes: Vec<f64>,
}

impl Survey {
    pub(super) fn new(dimension: usize, epsilon: f64, asking: Asking) -> Self {
        let response = Response::new(epsilon);
        Survey {
            asking,
            response,
            people: response.people(asking.precision),
            features: vec![Answers::default(); dimension],
            lengths: Answers::default(),
            asked: 0,
            sizes: vec![1.0; dimension],
        }
    }

    /// What one answer tells the accountant.
    pub(super) fn event(epsilon: f64) -> Event {
        Event::RandomizedResponse { categories: OCTAVES as u64, epsilon }
    }

    /// Asks one person, and returns what to divide features by after the last, if they are to be divided.
    fn ask(&mut self, x: &[f64], noise: &mut FastNoise) -> Progress {
        let d = x.len() as u64;
        let (questions, root) = (self.people * d, (d as f64).sqrt());
        if self.asked < questions {
            let place = (self.asked % d) as usize;
            let answer = self.response.answer(octave(x[place], 1.0, 1.0), noise);
            self.features[place].counts[answer] += 1;
        } else {
            let divided: Vec<f64> = x.iter().zip(&self.sizes).map(|(x, size)| x / size).collect();
            let length = dot(&divided, &divided).sqrt();
            let answer = self.response.answer(octave(length, root, 2.0), noise);
            self.lengths.counts[answer] += 1;
        }
        self.asked += 1;
        if self.asked == questions {
            let size = |answers: &Answers| {
                self.response.largest(answers).map_or(1.0, |octave| 0.5_f64.powi(octave as i32))
            };
            self.sizes = self.features.iter().map(size).collect();
        }
        if self.asked < questions + 2 * self.people {
            return Progress::GoesOn;
        }
        let length = self.response.largest(&self.lengths).unwrap_or(0);
        let length = root * 0.5_f64.powf(0.5 * length as f64);
        self.sizes.iter_mut().for_each(|size| *size *= length);
        let least = self.sizes.iter().copied().fold(f64::INFINITY, f64::min);
        match least < 1.0 / LEAST_GAIN {
            true => Progress::Divide(self.sizes.clone()),
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
    /// An arm that was on offer, drawn by the person.
    offered: Vec<f64>,
    people: u64,
    noise: FastNoise,
}

impl Surveyed {
    pub(super) fn new(learner: Mapped, survey: Survey, seed: u64) -> Self {
        let noise = FastNoise::seeded(seed);
        Surveyed { learner, survey: Some(survey), offered: Vec::new(), people: 0, noise }
    }
}

impl Player for Surveyed {
    fn choose(&mut self, arms: &Arms, round: u64) -> Result<usize> {
        if self.survey.is_some() {
            self.offered = arms.arm(self.noise.below(arms.count() as u64) as usize).to_vec();
        }
        self.learner.choose(arms, round)
    }

    fn observe(&mut self, round: u64, features: &[f64], reward: f64) -> Result<()> {
        self.people += 1;
        match &mut self.survey {
            Some(survey) if self.people.is_multiple_of(survey.asking.every) => {
                match survey.ask(&self.offered, &mut self.noise) {
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
}

#[cfg(test)]
mod tests {
    use super::*;

    fn surveyed(epsilon: f64, draw: impl Fn(&mut FastNoise) -> Vec<f64>) -> Progress {
        let mut noise = FastNoise::seeded(4);
        let dimension = draw(&mut noise).len();
        let mut survey = Survey::new(dimension, epsilon, Asking { precision: 40.0, every: 1 });
        loop {
            let x = draw(&mut noise);
            match survey.ask(&x, &mut noise) {
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
            let rare = surveyed(epsilon, |noise| match noise.uniform() < 0.03 {
                true => vec![0.0, 1.0],
                false => vec![1.0, 0.0],
            });
            assert_eq!(rare, Progress::Leave, "{epsilon}");
        }
    }

    /// Each answer is at most exp(epsilon) times likelier under one truth than under another, and the stated probabilities are those that are drawn.
    #[test]
    fn answers_have_the_probabilities_of_randomised_response() {
        let response = Response::new(2.0);
        assert!((response.truth / response.other - 2.0_f64.exp()).abs() < 1e-12);
        assert!((response.truth + 12.0 * response.other - 1.0).abs() < 1e-12);
        let mut noise = FastNoise::seeded(8);
        let people = 200_000;
        let drawn = (0..people).filter(|_| response.answer(3, &mut noise) == 3).count() as f64;
        // Five deviations: a false alarm in less than a millionth of all seeds.
        let deviation = (response.truth * (1.0 - response.truth) / f64::from(people)).sqrt();
        assert!((drawn / f64::from(people) - response.truth).abs() < 5.0 * deviation);
        // Planted: the truth is sent where it should be drawn anew.
        let planted = response.truth + response.other;
        assert!((planted - response.truth).abs() > 5.0 * deviation);
    }
}
