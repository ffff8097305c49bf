//! LinUCB without privacy: exact sums x rule x bounds, the yardstick of every private learner.
//!
//! ```text
//! V_t = rho I + sum x x^T,   u_t = sum z x,   theta_t = V_t^-1 u_t,   z = y - centre
//! choose argmax <theta_t, x> + beta_t ||x||_{V_t^-1}
//! certified:  beta_t = sigma sqrt(2 ln(1/alpha) + ln det V_t - d ln rho) + S sqrt(rho)
//! fixed:      beta_t is a number
//! ```
//!
//! Abbasi-Yadkori, Pal and Szepesvari, "Improved Algorithms for Linear Stochastic Bandits" (2011), Theorem 2:
//! with probability 1 - alpha, `||theta* - theta_t||_{V_t} <= beta_t` at all t at once, whoever chose the features.
//! It is Algorithm 1 of Shariff and Sheffet (2018) with a constant regulariser.
//!
//! A round costs `O(d^2)`: see `regression`. On a schedule other than every round the policy is made anew at its times only.

use serde::{Deserialize, Serialize};

use super::{Arms, Choice, Policy, Rule, arms::ROUNDING, clip_to_ball, regression::Regression};
use crate::{
    Error, Result,
    error::{finite_vector, positive},
    linalg::triangle,
    randomize::Bounds,
    release::Schedule,
    wire,
};

/// Beyond this, squares and products of squares could overflow.
const LARGEST: f64 = 1e50;
const KIND: &str = "linucb 1";
/// alpha where none is given: there is no horizon to take it from.
const FAILURE_PROBABILITY: f64 = 1e-6;

/// What LinUCB is told beforehand.
///
/// ```
/// use reticent::{bandit::{Arms, LinUcbParams}, randomize::Bounds};
/// let mut learner = LinUcbParams::new(Bounds::unit(2)).check()?;
/// let arms = Arms::from_rows(2, &[[1.0, 0.0], [0.0, 1.0]])?;
/// for round in 0..1000 {
///     let choice = learner.choose(&arms, round)?;
///     learner.observe(&arms.arm(choice.arm), if choice.arm == 1 { 0.9 } else { 0.1 })?;
/// }
/// assert!((learner.policy().theta()[1] - 0.9).abs() < 0.01);
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinUcbParams {
    /// What features and rewards are clipped to. Where rewards are unbounded, give what they exceed with a probability that does not
    /// matter.
    pub bounds: Bounds,
    /// How sums become a policy. `tuned` is stated in units of the noise; sums without noise have the ridge 1 and the width 1 that
    /// simulations favour.
    #[serde(default)]
    pub rule: Rule,
    /// rho of the certified rule, for features of norm at most 1: the weight of the prior guess that theta is zero.
    #[serde(default = "one")]
    pub regularizer: f64,
    /// When the policy learns.
    #[serde(default = "every_round")]
    pub schedule: Schedule,
    /// Forget everything after every so many rewards; the failure probability of a certified rule is then that of one life.
    #[serde(default)]
    pub restart_every: Option<u64>,
}

fn one() -> f64 {
    1.0
}

fn every_round() -> Schedule {
    Schedule::EveryRound
}

/// beta as a function of the sums, in the units of rewards.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Width {
    Number(f64),
    /// `sigma sqrt(logarithm + ln det V - d ln rho) + prior`.
    Ellipsoid {
        sigma: f64,
        logarithm: f64,
        prior: f64,
    },
}

impl LinUcbParams {
    /// Tuned, learning every round.
    pub fn new(bounds: Bounds) -> Self {
        LinUcbParams {
            bounds,
            rule: Rule::default(),
            regularizer: 1.0,
            schedule: Schedule::EveryRound,
            restart_every: None,
        }
    }

    /// A learner that has seen nothing, or the parameter that stands in the way.
    pub fn check(&self) -> Result<LinUcb> {
        self.bounds.check()?;
        self.rule.check()?;
        self.schedule.check()?;
        positive("regularizer", self.regularizer)?;
        if self.restart_every == Some(0) {
            let remedy = "give a whole number of rewards above 0";
            return Err(Error::invalid("restart_every", 0, remedy));
        }
        let (norm, reward) = (self.bounds.feature_bound, self.bounds.half_range());
        let (ridge, width) = match self.rule {
            Rule::Certified { failure_probability, parameter_bound, reward_noise, scale } => {
                let logarithm =
                    -2.0 * libm::log(failure_probability.unwrap_or(FAILURE_PROBABILITY));
                let (s, sigma) = (parameter_bound.unwrap_or(1.0), reward_noise.unwrap_or(1.0));
                let prior = scale * reward * s * self.regularizer.sqrt();
                let sigma = scale * reward * sigma;
                (self.regularizer, Width::Ellipsoid { sigma, logarithm, prior })
            }
            rule if rule == Rule::default() => (1.0, Width::Number(reward)),
            Rule::Tuned { .. } => {
                let remedy = "its parameters are in units of the noise, and there is none here: give { fixed = { ridge = ..., width = ... } }";
                return Err(Error::invalid("rule", "tuned, with parameters", remedy));
            }
            Rule::Fixed { ridge, width } => (ridge, Width::Number(reward * width)),
            Rule::Regularized { .. } => {
                let remedy = "it is for sums with noise: give certified, tuned or fixed";
                return Err(Error::invalid("rule", "regularized", remedy));
            }
        };
        let ridge = ridge * norm * norm;
        let numbers = [
            ("feature_bound", norm),
            ("rewards", reward),
            ("regularizer", ridge),
            ("regularizer", 1.0 / ridge),
        ];
        for (field, number) in numbers {
            if number > LARGEST {
                let remedy = format!("rescale: sizes above {LARGEST:e} overflow");
                return Err(Error::invalid(field, number, remedy));
            }
        }
        let regression = Regression::new(self.bounds.dimension, ridge, 0.0);
        let next = self.schedule.first();
        let mut learner = LinUcb { params: *self, regression, next, ridge, width };
        learner.widen();
        Ok(learner)
    }
}

/// A LinUCB learner; made by [`LinUcbParams::check`].
///
/// Decisions and rewards need not alternate: a reward may come late, out of order, or never.
#[derive(Debug, Clone)]
pub struct LinUcb {
    params: LinUcbParams,
    regression: Regression,
    /// How many rewards there are when the policy learns next.
    next: u64,
    ridge: f64,
    width: Width,
}

/// A learner on disk; the rest follows.
#[derive(Serialize, Deserialize)]
struct Saved {
    params: LinUcbParams,
    regression: Regression,
    next: u64,
}

impl LinUcb {
    /// What the learner was told beforehand.
    pub fn params(&self) -> &LinUcbParams {
        &self.params
    }

    /// The rule for choosing as it stands.
    pub fn policy(&self) -> &Policy {
        self.regression.policy()
    }

    /// How many rewards have come since the last restart.
    pub fn rounds(&self) -> u64 {
        self.regression.rounds()
    }

    /// The arm with the largest upper confidence bound, arms above the feature bound scaled to it; `tie` decides between arms of equal
    /// bounds.
    pub fn choose(&self, arms: &Arms, tie: u64) -> Result<Choice> {
        let clipped = arms.clipped_to(self.params.bounds.feature_bound);
        let (arms, clipped_arms) =
            clipped.as_ref().map_or((arms, 0), |(arms, count)| (arms, *count));
        Ok(Choice { arm: self.policy().choose(arms, tie)?, clipped_arms })
    }

    /// Learns from the reward of an arm with these features, both clipped to their bounds; says whether either was. An error
    /// changes nothing.
    pub fn observe(&mut self, features: &[f64], reward: f64) -> Result<bool> {
        let Bounds { dimension, feature_bound, rewards: (low, high), .. } = self.params.bounds;
        finite_vector("features", features, dimension)?;
        finite_vector("reward", &[reward], 1)?;
        self.begin_life();
        let cut = reward.clamp(low, high);
        let centred = cut - self.params.bounds.centre();
        // Squares that overflow are above every bound; only what is too long is copied.
        let square: f64 = features.iter().map(|x| x * x).sum();
        let long = if square <= feature_bound * feature_bound * (1.0 + ROUNDING) {
            self.learn(features, centred);
            false
        } else {
            let mut features = features.to_vec();
            let long = clip_to_ball(&mut features, feature_bound);
            self.learn(&features, centred);
            long
        };
        Ok(long || cut != reward)
    }

    fn learn(&mut self, features: &[f64], centred: f64) {
        if self.params.schedule == Schedule::EveryRound {
            self.regression.observe(features, centred);
            self.widen();
        } else {
            self.regression.accumulate(features, centred);
            self.refresh_if_due();
        }
    }

    /// Learns from sums of many rounds at once: the upper triangle of `sum x x^T` by rows, and `sum x (y - centre)`, all clipped. At most
    /// [`LinUcb::until_learning`] rounds.
    pub fn observe_sums(&mut self, gram: &[f64], moment: &[f64], rounds: u64) -> Result<()> {
        let dimension = self.params.bounds.dimension;
        finite_vector("gram", gram, triangle(dimension))?;
        finite_vector("moment", moment, dimension)?;
        if rounds > self.until_learning() {
            let most = self.until_learning();
            let remedy = format!("the policy changes after {most}: give at most so many");
            return Err(Error::invalid("rounds", rounds, remedy));
        }
        self.begin_life();
        self.regression.add(gram, moment, rounds);
        self.refresh_if_due();
        Ok(())
    }

    /// How many rewards there are up to the next change of the policy, the last one included.
    pub fn until_learning(&self) -> u64 {
        if self.params.schedule == Schedule::EveryRound {
            return 1;
        }
        let (rounds, first) = (self.rounds(), self.params.schedule.first());
        match self.params.restart_every {
            Some(every) if rounds >= every => first.min(every),
            Some(every) => (self.next - rounds).min(every - rounds),
            None => self.next - rounds,
        }
    }

    fn refresh_if_due(&mut self) {
        if self.params.schedule == Schedule::EveryRound || self.rounds() >= self.next {
            self.next = self.params.schedule.next(self.rounds());
            self.regression.refresh();
            self.widen();
        }
    }

    /// With restarts, forgets everything when a life is over.
    fn begin_life(&mut self) {
        if self.params.restart_every.is_some_and(|every| self.rounds() >= every) {
            self.regression = Regression::new(self.params.bounds.dimension, self.ridge, 0.0);
            self.next = self.params.schedule.first();
            self.widen();
        }
    }

    /// Brings the width up to date.
    fn widen(&mut self) {
        self.regression.set_width(match self.width {
            Width::Number(width) => width,
            Width::Ellipsoid { sigma, logarithm, prior } => {
                sigma * (logarithm + self.regression.ln_growth()).sqrt() + prior
            }
        });
    }

    /// The whole state; protect these bytes as the data itself.
    pub fn save(&self) -> Vec<u8> {
        let (params, regression) = (self.params, self.regression.clone());
        wire::save(KIND, &Saved { params, regression, next: self.next })
    }

    /// Continues bit for bit from saved bytes.
    pub fn load(bytes: &[u8]) -> Result<Self> {
        let mut saved: Saved = wire::load(KIND, bytes)?;
        let mut learner = saved.params.check()?;
        saved.regression.revive(saved.params.bounds.dimension, learner.ridge)?;
        let rounds = saved.regression.rounds();
        let every_round = saved.params.schedule == Schedule::EveryRound;
        if !every_round && saved.next <= rounds {
            let remedy = "its parts do not fit each other; restore another copy";
            return Err(Error::invalid("saved schedule", saved.next, remedy));
        }
        (learner.regression, learner.next) = (saved.regression, saved.next);
        learner.widen();
        Ok(learner)
    }
}

#[cfg(test)]
mod tests {
    use nalgebra::{DMatrix, DVector};

    use super::*;
    use crate::{
        bandit::regression::REFRESH,
        linalg::{dot, triangle},
        noise::{Noise, SecureNoise},
    };

    /// Rewards in [-B, B]; sigma and S in their units, for arms of norm 1.
    fn certified(
        d: usize,
        reward: f64,
        sigma: f64,
        s: f64,
        regularizer: f64,
        alpha: f64,
    ) -> LinUcbParams {
        let rule = Rule::Certified {
            failure_probability: Some(alpha),
            parameter_bound: Some(s / reward),
            reward_noise: Some(sigma / reward),
            scale: 1.0,
        };
        let bounds = Bounds { rewards: (-reward, reward), ..Bounds::unit(d) };
        LinUcbParams { rule, regularizer, ..LinUcbParams::new(bounds) }
    }

    fn unit(d: usize, noise: &mut SecureNoise) -> Vec<f64> {
        let x: Vec<f64> = (0..d).map(|_| noise.standard_normal()).collect();
        let length = dot(&x, &x).sqrt();
        x.iter().map(|x| x / length).collect()
    }

    #[test]
    fn a_dimension_that_no_machine_holds_is_refused() {
        for dimension in [0, 8193, 1 << 60, usize::MAX] {
            let error = LinUcbParams::new(Bounds::unit(dimension)).check().unwrap_err().to_string();
            assert!(error.contains("dimension is") && error.contains("give 1 to"), "{error}");
        }
        assert!(crate::bandit::Arms::zeros(1 << 40, 1 << 40).is_err());
    }

    #[test]
    fn is_the_definition_before_and_after_a_refresh() {
        let mut noise = SecureNoise::seeded(3);
        let d = 4;
        let params = certified(d, 10.0, 0.7, 2.0, 0.3, 0.05);
        let mut learner = params.check().unwrap();
        let (mut gram, mut moment) = (DMatrix::identity(d, d) * 0.3, DVector::zeros(d));
        for t in 1..=REFRESH + 50 {
            let (x, y) = (unit(d, &mut noise), noise.standard_normal());
            learner.observe(&x, y).unwrap();
            let vector = DVector::from_vec(x);
            gram += &vector * vector.transpose();
            moment += y * &vector;
            if ![1, 7, REFRESH - 1, REFRESH, REFRESH + 50].contains(&t) {
                continue;
            }
            let theta = gram.clone().cholesky().unwrap().solve(&moment);
            let ln_growth = gram.determinant().ln() - d as f64 * 0.3_f64.ln();
            let beta = 0.7 * (2.0 * 20_f64.ln() + ln_growth).sqrt() + 2.0 * 0.3_f64.sqrt();
            let policy = learner.policy();
            assert!((policy.width() - beta).abs() < 1e-12 * beta, "round {t}");
            assert!((DVector::from_column_slice(policy.theta()) - theta).norm() < 1e-12);
            let mut whitening = DMatrix::zeros(d, d);
            for i in 0..d {
                for j in 0..=i {
                    whitening[(i, j)] = policy.whitening()[triangle(i) + j];
                }
            }
            let identity = &whitening * &gram * whitening.transpose();
            assert!((identity - DMatrix::identity(d, d)).norm() < 1e-12, "round {t}");
        }
    }

    /// Whether theta* leaves the ellipsoid of the given share of its width in any of 20 x 1000 rounds.
    fn leaves(share: f64) -> bool {
        let mut noise = SecureNoise::seeded(8);
        (0..20).any(|_| {
            let truth = unit(3, &mut noise);
            let mut learner = certified(3, 10.0, 1.0, 1.0, 1.0, 1e-8).check().unwrap();
            (0..1000).any(|round| {
                let rows: Vec<Vec<f64>> = (0..4).map(|_| unit(3, &mut noise)).collect();
                let choice =
                    learner.choose(&Arms::from_rows(3, &rows).unwrap(), round).unwrap().arm;
                let x = &rows[choice];
                learner.observe(x, dot(x, &truth) + noise.standard_normal()).unwrap();
                let policy = learner.policy();
                let error: Vec<f64> =
                    policy.theta().iter().zip(&truth).map(|(a, b)| a - b).collect();
                // ||e||_V^2 = rho |e|^2 + e^T G e.
                let mut square = dot(&error, &error);
                let mut entries = learner.regression.gram().iter();
                for i in 0..3 {
                    for j in i..3 {
                        let twice = if i == j { 1.0 } else { 2.0 };
                        square += twice * entries.next().unwrap() * error[i] * error[j];
                    }
                }
                square.sqrt() > share * policy.width()
            })
        })
    }

    #[test]
    fn the_ellipsoid_holds_the_parameter_and_is_not_needlessly_wide() {
        assert!(!leaves(1.0)); // false alarm: 20 x 1e-8
        assert!(leaves(0.3));
    }

    #[test]
    fn learns_among_fixed_arms() {
        let mut noise = SecureNoise::seeded(5);
        let truth = unit(5, &mut noise);
        let rows: Vec<Vec<f64>> = (0..25).map(|_| unit(5, &mut noise)).collect();
        let means: Vec<f64> = rows.iter().map(|x| dot(x, &truth)).collect();
        let best = means.iter().copied().fold(f64::MIN, f64::max);
        let arms = Arms::from_rows(5, &rows).unwrap();
        let mut learner = certified(5, 1.0, 0.1, 1.0, 1.0, 0.01).check().unwrap();
        let mut regret = 0.0;
        for t in 0..4000 {
            let choice = learner.choose(&arms, t).unwrap().arm;
            learner.observe(&rows[choice], means[choice] + 0.1 * noise.standard_normal()).unwrap();
            if t >= 3000 {
                regret += best - means[choice];
            }
        }
        assert!(regret / 1000.0 < 0.02, "mean regret at the end {}", regret / 1000.0);
    }

    #[test]
    fn resumes_bit_for_bit_and_refuses_what_does_not_fit() {
        let mut noise = SecureNoise::seeded(4);
        let mut learner = certified(3, 1.0, 1.0, 1.0, 1.0, 0.01).check().unwrap();
        let mut resumed = None;
        for t in 0..REFRESH + 100 {
            if t == 700 {
                resumed = Some(LinUcb::load(&learner.save()).unwrap());
            }
            let rows: Vec<Vec<f64>> = (0..5).map(|_| unit(3, &mut noise)).collect();
            let arms = Arms::from_rows(3, &rows).unwrap();
            let choice = learner.choose(&arms, t).unwrap().arm;
            let reward = noise.standard_normal();
            learner.observe(&rows[choice], reward).unwrap();
            if let Some(resumed) = &mut resumed {
                assert_eq!(resumed.choose(&arms, t).unwrap().arm, choice);
                resumed.observe(&rows[choice], reward).unwrap();
                assert_eq!(resumed.policy(), learner.policy());
            }
        }
        assert_eq!(resumed.unwrap().save(), learner.save());
        let mut bytes = learner.save();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        assert!(LinUcb::load(&bytes).is_err());
        let mut short: Saved = wire::load(KIND, &learner.save()).unwrap();
        short.params.bounds.dimension = 2;
        assert!(LinUcb::load(&wire::save(KIND, &short)).is_err());
    }

    #[test]
    fn what_is_out_of_range_is_clipped_and_said() {
        let learner = || LinUcbParams::new(Bounds::unit(2)).check().unwrap();
        let after = |features: [f64; 2], reward: f64| {
            let mut learner = learner();
            let clipped = learner.observe(&features, reward).unwrap();
            (clipped, learner.policy().theta().to_vec())
        };
        assert_eq!(after([1.0, 0.0], 1e9), (true, after([1.0, 0.0], 1.0).1));
        assert_eq!(after([1e300, 0.0], 0.5), (true, after([1.0, 0.0], 0.5).1));
        assert!(!after([0.6, 0.8], -1.0).0);
        // Scores are those of the arms at the bound: the longer one is not preferred for its length.
        let mut learner = learner();
        for _ in 0..100 {
            learner.observe(&[1.0, 0.0], 0.9).unwrap();
            learner.observe(&[0.0, 1.0], 0.1).unwrap();
        }
        let arms = Arms::from_rows(2, &[[1.0, 0.0], [0.0, 50.0]]).unwrap();
        assert_eq!(learner.choose(&arms, 0).unwrap(), Choice { arm: 0, clipped_arms: 1 });
        assert_eq!(learner.policy().choose(&arms, 0).unwrap(), 1, "unclipped");
    }

    #[test]
    fn bad_input_is_refused_and_changes_nothing() {
        let good = LinUcbParams::new(Bounds::unit(2));
        let bounds = |bounds| LinUcbParams { bounds, ..good };
        let unit = Bounds::unit(2);
        for bad in [
            bounds(Bounds { dimension: 0, ..unit }),
            bounds(Bounds { feature_bound: f64::INFINITY, ..unit }),
            bounds(Bounds { feature_bound: 1e60, ..unit }),
            bounds(Bounds { rewards: (0.0, 0.0), ..unit }),
            certified(2, 1.0, -1.0, 1.0, 1.0, 0.1),
            certified(2, 1.0, 1.0, f64::NAN, 1.0, 0.1),
            certified(2, 1.0, 1.0, 1.0, 0.0, 0.1),
            certified(2, 1.0, 1.0, 1.0, 1e-60, 0.1),
            certified(2, 1.0, 1.0, 1.0, 1.0, 1.0),
            LinUcbParams { restart_every: Some(0), ..good },
        ] {
            assert!(bad.check().is_err(), "{bad:?}");
        }
        let mut learner = good.check().unwrap();
        let before = learner.save();
        assert!(learner.observe(&[1.0], 1.0).is_err());
        assert!(learner.observe(&[f64::NAN, 0.0], 1.0).is_err());
        assert!(learner.observe(&[1.0, 0.0], f64::NAN).is_err());
        assert!(learner.observe(&[1.0, 0.0], f64::INFINITY).is_err());
        assert!(learner.choose(&Arms::zeros(3, 1).unwrap(), 0).is_err());
        assert_eq!(learner.save(), before);
    }

    /// What the rule says of the exact sums as a release without noise; on a schedule, at its times.
    #[test]
    fn it_is_the_rule_at_sums_without_noise() {
        use crate::{
            bandit::Regularizer,
            release::{Domain, Release, testing::Seeded},
        };
        let mut noise = SecureNoise::seeded(21);
        let bounds = Bounds {
            feature_bound: 2.0,
            rewards: (0.0, 3.0),
            intercept: Some(1.0),
            ..Bounds::unit(3)
        };
        let schedule = Schedule::Geometric { first: 7, rate: 0.3 };
        for (rule, schedule) in [
            (Rule::default(), Schedule::EveryRound),
            (Rule::CERTIFIED, Schedule::EveryRound),
            (Rule::CERTIFIED, schedule),
            (Rule::Fixed { ridge: 2.0, width: 0.7 }, schedule),
        ] {
            let params = LinUcbParams { rule, schedule, ..LinUcbParams::new(bounds) };
            let (mut learner, mut blocks) = (params.check().unwrap(), params.check().unwrap());
            let domain = Domain::regression(3, 2.0, 1.5);
            let noiseless = match rule {
                // Proposition 4 leaves half of alpha to the noise.
                Rule::Certified { parameter_bound, reward_noise, .. } => Rule::Regularized {
                    regularizer: Regularizer::constant(4.0),
                    failure_probability: Some(2.0 * FAILURE_PROBABILITY),
                    parameter_bound: parameter_bound.unwrap_or(1.0),
                    reward_noise: reward_noise.unwrap_or(1.0),
                },
                Rule::Tuned { .. } => Rule::FIXED,
                other => other,
            };
            let plan = noiseless.plan(domain, None, None).unwrap();
            let (mut sums, mut block) = (vec![0.0; 9], vec![0.0; 9]);
            for t in 1..=40_u64 {
                let v = unit(2, &mut noise);
                let x = [3.0_f64.sqrt() * v[0], 3.0_f64.sqrt() * v[1], 1.0];
                let y = 3.0 * noise.uniform();
                let mut index = 0;
                for row in 0..3 {
                    for column in row..3 {
                        block[index] += x[row] * x[column];
                        index += 1;
                    }
                    block[6 + row] += x[row] * (y - 1.5);
                }
                let due = blocks.until_learning() == (t - blocks.rounds());
                learner.observe(&x, y).unwrap();
                if due {
                    let (gram, moment) = block.split_at(6);
                    blocks.observe_sums(gram, moment, t - blocks.rounds()).unwrap();
                    sums.iter_mut().zip(&block).for_each(|(sum, more)| *sum += more);
                    block.fill(0.0);
                    let zeros = vec![0.0; 9];
                    let release =
                        Release::simulated::<Seeded>(domain, t, 1, sums.clone(), zeros).unwrap();
                    let policy = plan.policy(&release).unwrap();
                    for x in [[1.0, 0.5, 1.0], [-1.2, 0.3, 1.0]] {
                        let expected = policy.bound(&x);
                        for bound in [learner.policy().bound(&x), blocks.policy().bound(&x)] {
                            let close = (bound - expected).abs() < 1e-9 * expected.abs().max(1.0);
                            assert!(close, "{rule:?} {schedule:?} {t}: {bound} {expected}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn restarts_forget_everything() {
        let params = LinUcbParams { restart_every: Some(10), ..LinUcbParams::new(Bounds::unit(2)) };
        let (mut learner, mut fresh) = (params.check().unwrap(), params.check().unwrap());
        for _ in 0..10 {
            learner.observe(&[1.0, 0.0], 1.0).unwrap();
        }
        learner.observe(&[0.0, 1.0], 0.5).unwrap();
        fresh.observe(&[0.0, 1.0], 0.5).unwrap();
        assert_eq!(learner.policy(), fresh.policy());
        assert_eq!(learner.rounds(), 1);
    }
}
