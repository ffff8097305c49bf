//! LinUCB without privacy: the yardstick of every private variant.
//!
//! ```text
//! V_t = rho I + sum x x^T,   u_t = sum y x,   theta_t = V_t^-1 u_t
//! beta_t = sigma sqrt(2 ln(1/alpha) + ln det V_t - d ln rho) + S sqrt(rho)
//! choose argmax <theta_t, x> + beta_t ||x||_{V_t^-1}
//! ```
//!
//! Abbasi-Yadkori, Pal and Szepesvari, "Improved Algorithms for Linear Stochastic Bandits" (2011), Theorem 2:
//! with probability 1 - alpha, `||theta* - theta_t||_{V_t} <= beta_t` at all t at once, whoever chose the features.
//! It is Algorithm 1 of Shariff and Sheffet (2018) with a constant regulariser.
//!
//! A round costs `O(d^2)`: see `regression`.

use serde::{Deserialize, Serialize};

use super::{Arms, Policy, arms::ROUNDING, clip_to_ball, regression::Regression};
use crate::{
    Error, Result,
    error::{finite_vector, not_negative, positive, probability},
    linalg::check_dimension,
    saved,
};

/// Beyond this, squares and products of squares could overflow.
const LARGEST: f64 = 1e100;
const KIND: &str = "linucb";

/// What LinUCB is told beforehand.
///
/// ```
/// use reticent::bandit::{Arms, LinUcbParams};
/// let mut learner = LinUcbParams { noise: 0.5, ..LinUcbParams::new(2) }.check()?;
/// let arms = Arms::from_rows(2, &[[1.0, 0.0], [0.0, 1.0]])?;
/// for _ in 0..1000 {
///     let choice = learner.choose(&arms)?;
///     learner.update(&arms.arm(choice), if choice == 1 { 0.9 } else { 0.1 })?;
/// }
/// assert!((learner.policy().theta()[1] - 0.9).abs() < 0.01);
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinUcbParams {
    /// Features of an arm, d.
    pub dimension: usize,
    /// Features longer than this are scaled to it, L.
    pub feature_bound: f64,
    /// Rewards beyond this are clipped to it. Where noise is unbounded, give what it exceeds with a probability that does not matter.
    pub reward_bound: f64,
    /// Rewards are their mean plus noise that is sub-Gaussian with this deviation, sigma.
    pub noise: f64,
    /// The unknown parameter is not longer than this, S.
    pub parameter_bound: f64,
    /// Weight of the prior guess that the parameter is zero, rho.
    pub regularizer: f64,
    /// The bounds may fail with this probability, alpha.
    pub confidence: f64,
}

impl LinUcbParams {
    /// Features and parameter within the unit ball, rewards in [-1, 1], noise of deviation 1 (as rewards of +-1 have),
    /// rho = 1, alpha = 0.01.
    pub fn new(dimension: usize) -> Self {
        LinUcbParams {
            dimension,
            feature_bound: 1.0,
            reward_bound: 1.0,
            noise: 1.0,
            parameter_bound: 1.0,
            regularizer: 1.0,
            confidence: 0.01,
        }
    }

    /// A learner that has seen nothing, or the parameter that stands in the way.
    pub fn check(&self) -> Result<LinUcb> {
        let d = self.dimension;
        check_dimension(d)?;
        positive("feature_bound", self.feature_bound)?;
        positive("reward_bound", self.reward_bound)?;
        not_negative("noise", self.noise)?;
        not_negative("parameter_bound", self.parameter_bound)?;
        positive("regularizer", self.regularizer)?;
        probability("confidence", self.confidence)?;
        let numbers = [
            ("feature_bound", self.feature_bound),
            ("reward_bound", self.reward_bound),
            ("noise", self.noise),
            ("parameter_bound", self.parameter_bound),
            ("regularizer", self.regularizer),
            ("regularizer", 1.0 / self.regularizer),
        ];
        for (field, number) in numbers {
            if number > LARGEST.sqrt() {
                let remedy = format!("rescale: sizes above {:e} overflow", LARGEST.sqrt());
                return Err(Error::invalid(field, number, remedy));
            }
        }
        let mut learner = LinUcb {
            params: *self,
            regression: Regression::new(d, self.regularizer, 0.0),
            decisions: 0,
            ln_confidence: -2.0 * libm::log(self.confidence),
            prior_width: self.parameter_bound * self.regularizer.sqrt(),
        };
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
    decisions: u64,
    /// `2 ln(1/alpha)` and `S sqrt(rho)`: constants of the width.
    ln_confidence: f64,
    prior_width: f64,
}

/// A learner on disk; the rest follows.
#[derive(Serialize, Deserialize)]
struct Saved {
    params: LinUcbParams,
    regression: Regression,
    decisions: u64,
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

    /// How many rewards have come.
    pub fn rounds(&self) -> u64 {
        self.regression.rounds()
    }

    /// The arm with the largest upper confidence bound, arms above the feature bound scaled to it; exact ties fall differently
    /// each time.
    pub fn choose(&mut self, arms: &Arms) -> Result<usize> {
        let clipped = arms.clipped_to(self.params.feature_bound);
        let arms = clipped.as_ref().map_or(arms, |(arms, _)| arms);
        let choice = self.policy().choose(arms, self.decisions)?;
        self.decisions += 1;
        Ok(choice)
    }

    /// Learns from the reward of an arm with these features, both clipped to their bounds; says whether either was. An error
    /// changes nothing.
    pub fn update(&mut self, features: &[f64], reward: f64) -> Result<bool> {
        let LinUcbParams { dimension, feature_bound, reward_bound, .. } = self.params;
        finite_vector("features", features, dimension)?;
        finite_vector("reward", &[reward], 1)?;
        let high = reward.abs() > reward_bound;
        let reward = reward.clamp(-reward_bound, reward_bound);
        // Squares that overflow are above every bound; only what is too long is copied.
        let square: f64 = features.iter().map(|x| x * x).sum();
        let long = if square <= feature_bound * feature_bound * (1.0 + ROUNDING) {
            self.regression.observe(features, reward);
            false
        } else {
            let mut features = features.to_vec();
            let long = clip_to_ball(&mut features, feature_bound);
            self.regression.observe(&features, reward);
            long
        };
        self.widen();
        Ok(long || high)
    }

    /// Brings the width up to date.
    fn widen(&mut self) {
        let logarithm = self.ln_confidence + self.regression.ln_growth();
        self.regression.set_width(self.params.noise * logarithm.sqrt() + self.prior_width);
    }

    /// The whole state; protect these bytes as the data itself.
    pub fn save(&self) -> Vec<u8> {
        let (params, regression) = (self.params, self.regression.clone());
        saved::save(KIND, &Saved { params, regression, decisions: self.decisions })
    }

    /// Continues bit for bit from saved bytes.
    pub fn load(bytes: &[u8]) -> Result<Self> {
        let mut saved: Saved = saved::load(KIND, bytes)?;
        let mut learner = saved.params.check()?;
        saved.regression.revive(saved.params.dimension, saved.params.regularizer)?;
        (learner.regression, learner.decisions) = (saved.regression, saved.decisions);
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

    fn unit(d: usize, noise: &mut SecureNoise) -> Vec<f64> {
        let x: Vec<f64> = (0..d).map(|_| noise.standard_normal()).collect();
        let length = dot(&x, &x).sqrt();
        x.iter().map(|x| x / length).collect()
    }

    #[test]
    fn a_dimension_that_no_machine_holds_is_refused() {
        for dimension in [0, 8193, 1 << 60, usize::MAX] {
            let error = LinUcbParams::new(dimension).check().unwrap_err().to_string();
            assert!(error.contains("dimension is") && error.contains("give 1 to"), "{error}");
        }
        assert!(crate::bandit::Arms::zeros(1 << 40, 1 << 40).is_err());
    }

    #[test]
    fn is_the_definition_before_and_after_a_refresh() {
        let mut noise = SecureNoise::seeded(3);
        let d = 4;
        let params = LinUcbParams {
            reward_bound: 10.0,
            noise: 0.7,
            parameter_bound: 2.0,
            regularizer: 0.3,
            confidence: 0.05,
            ..LinUcbParams::new(d)
        };
        let mut learner = params.check().unwrap();
        let (mut gram, mut moment) = (DMatrix::identity(d, d) * 0.3, DVector::zeros(d));
        for t in 1..=REFRESH + 50 {
            let (x, y) = (unit(d, &mut noise), noise.standard_normal());
            learner.update(&x, y).unwrap();
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
            let params =
                LinUcbParams { confidence: 1e-8, reward_bound: 10.0, ..LinUcbParams::new(3) };
            let mut learner = params.check().unwrap();
            (0..1000).any(|_| {
                let rows: Vec<Vec<f64>> = (0..4).map(|_| unit(3, &mut noise)).collect();
                let choice = learner.choose(&Arms::from_rows(3, &rows).unwrap()).unwrap();
                let x = &rows[choice];
                learner.update(x, dot(x, &truth) + noise.standard_normal()).unwrap();
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
        let mut learner = LinUcbParams { noise: 0.1, ..LinUcbParams::new(5) }.check().unwrap();
        let mut regret = 0.0;
        for t in 0..4000 {
            let choice = learner.choose(&arms).unwrap();
            learner.update(&rows[choice], means[choice] + 0.1 * noise.standard_normal()).unwrap();
            if t >= 3000 {
                regret += best - means[choice];
            }
        }
        assert!(regret / 1000.0 < 0.02, "mean regret at the end {}", regret / 1000.0);
    }

    #[test]
    fn resumes_bit_for_bit_and_refuses_what_does_not_fit() {
        let mut noise = SecureNoise::seeded(4);
        let mut learner = LinUcbParams::new(3).check().unwrap();
        let mut resumed = None;
        for t in 0..REFRESH + 100 {
            if t == 700 {
                resumed = Some(LinUcb::load(&learner.save()).unwrap());
            }
            let rows: Vec<Vec<f64>> = (0..5).map(|_| unit(3, &mut noise)).collect();
            let arms = Arms::from_rows(3, &rows).unwrap();
            let (choice, reward) = (learner.choose(&arms).unwrap(), noise.standard_normal());
            learner.update(&rows[choice], reward).unwrap();
            if let Some(resumed) = &mut resumed {
                assert_eq!(resumed.choose(&arms).unwrap(), choice);
                resumed.update(&rows[choice], reward).unwrap();
                assert_eq!(resumed.policy(), learner.policy());
            }
        }
        assert_eq!(resumed.unwrap().save(), learner.save());
        let mut bytes = learner.save();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        assert!(LinUcb::load(&bytes).is_err());
        let mut short: Saved = saved::load(KIND, &learner.save()).unwrap();
        short.params.dimension = 2;
        assert!(LinUcb::load(&saved::save(KIND, &short)).is_err());
    }

    #[test]
    fn what_is_out_of_range_is_clipped_and_said() {
        let learner = || LinUcbParams::new(2).check().unwrap();
        let after = |features: [f64; 2], reward: f64| {
            let mut learner = learner();
            let clipped = learner.update(&features, reward).unwrap();
            (clipped, learner.policy().theta().to_vec())
        };
        assert_eq!(after([1.0, 0.0], 1e9), (true, after([1.0, 0.0], 1.0).1));
        assert_eq!(after([1e300, 0.0], 0.5), (true, after([1.0, 0.0], 0.5).1));
        assert!(!after([0.6, 0.8], -1.0).0);
        // Scores are those of the arms at the bound: the longer one is not preferred for its length.
        let mut learner = learner();
        for _ in 0..100 {
            learner.update(&[1.0, 0.0], 0.9).unwrap();
            learner.update(&[0.0, 1.0], 0.1).unwrap();
        }
        let arms = Arms::from_rows(2, &[[1.0, 0.0], [0.0, 50.0]]).unwrap();
        assert_eq!(learner.choose(&arms).unwrap(), 0);
        assert_eq!(learner.policy().choose(&arms, 0).unwrap(), 1, "unclipped");
    }

    #[test]
    fn bad_input_is_refused_and_changes_nothing() {
        let good = LinUcbParams::new(2);
        for bad in [
            LinUcbParams { dimension: 0, ..good },
            LinUcbParams { feature_bound: f64::INFINITY, ..good },
            LinUcbParams { feature_bound: 1e60, ..good },
            LinUcbParams { reward_bound: 0.0, ..good },
            LinUcbParams { noise: -1.0, ..good },
            LinUcbParams { parameter_bound: f64::NAN, ..good },
            LinUcbParams { regularizer: 0.0, ..good },
            LinUcbParams { regularizer: 1e-60, ..good },
            LinUcbParams { confidence: 1.0, ..good },
        ] {
            assert!(bad.check().is_err(), "{bad:?}");
        }
        let mut learner = good.check().unwrap();
        let before = learner.save();
        assert!(learner.update(&[1.0], 1.0).is_err());
        assert!(learner.update(&[f64::NAN, 0.0], 1.0).is_err());
        assert!(learner.update(&[1.0, 0.0], f64::NAN).is_err());
        assert!(learner.update(&[1.0, 0.0], f64::INFINITY).is_err());
        assert!(learner.choose(&Arms::zeros(3, 1).unwrap()).is_err());
        assert_eq!(learner.save(), before);
    }
}
