//! Online LinUCB without privacy: the confidence set from an online learner's predictions.
//!
//! ```text
//! y^_t = <theta_t, x_t>,   V = I + sum x x^T,   theta^ = V^-1 sum y^ x
//! beta_n^2 = S^2 + 1 + 2 M_n + 32 R^2 ln((R sqrt 8 + sqrt(1 + M_n)) / delta)
//! ||theta - theta^||_V^2 <= beta_n^2 - F,   F = ||theta^||^2 + sum (y^ - <theta^, x>)^2 = sum y^^2 - <sum y^ x, theta^>
//! ```
//!
//! Abbasi-Yadkori, Pal and Szepesvari, "Online-to-Confidence-Set Conversions and Application to Sparse Stochastic Bandits" (2012),
//! Corollary 2; paper 0, Algorithm 4 and Theorem A.2. M_n bounds the learner's regret on `(<theta, x> - y)^2`. With probability
//! 1 - delta, delta up to 1/4, theta* is in all sets at once.
//!
//! For Maler M_n is its exp-concave bound: with `rho = L D + B` no residual is larger, and a squared loss exceeds its tangent by
//! `<x, e>^2 >= <g, e>^2 / (4 rho^2)`. For gradient descent it is computed from the gradients that came.
//!
//! **Guarantee.** None: it sees features and rewards. It is here to show what the conversion costs beside LinUCB.

use serde::{Deserialize, Serialize};

use super::{Arms, Choice, Policy, clip_to_ball, online_ucb::Learner, regression::Regression};
use crate::{
    Error, Result,
    error::{finite_vector, not_negative, positive, probability},
    linalg::dot,
    online::{GradientDescentParams, MalerParams, Step},
    randomize::Bounds,
    refuse_if,
    release::Structure,
    special::square,
    wire,
};

/// Parameters of [`OnlineLinUcb`].
///
/// ```
/// use reticent::{bandit::{Arms, OnlineLinUcbParams}, randomize::Bounds};
/// let mut learner = OnlineLinUcbParams::new(Bounds::unit(2), 1000).check()?;
/// let arms = Arms::from_rows(2, &[[1.0, 0.0], [0.0, 1.0]])?;
/// for _ in 0..1000 {
///     let arm = learner.choose(&arms)?.arm;
///     learner.observe(&arms.arm(arm), if arm == 1 { 0.9 } else { 0.1 })?;
/// }
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OnlineLinUcbParams {
    /// d, L, and what rewards are clipped to. Rewards are not centred, and parameters have no blocks.
    pub bounds: Bounds,
    /// R: the sub-Gaussian scale of a reward around its mean.
    pub reward_noise: f64,
    /// S: theta* is not longer, and predictions stay within it.
    pub parameter_bound: f64,
    /// The sets may fail with this probability, at most 1/4.
    pub failure_probability: f64,
    /// Rounds at most.
    pub horizon: u64,
    /// Gradient descent with this step in place of Maler.
    pub descent: Option<Step>,
    /// This width in place of the theorem's.
    pub width: Option<f64>,
}

impl OnlineLinUcbParams {
    /// Noise of deviation 1, a parameter of norm at most 1, Maler, failure probability 0.01.
    pub fn new(bounds: Bounds, horizon: u64) -> Self {
        OnlineLinUcbParams {
            bounds,
            reward_noise: 1.0,
            parameter_bound: 1.0,
            failure_probability: 0.01,
            horizon,
            descent: None,
            width: None,
        }
    }

    /// A learner that has seen nothing, or the parameter that stands in the way.
    pub fn check(&self) -> Result<OnlineLinUcb> {
        self.bounds.check()?;
        self.bounds.structure.expect_dense("online LinUCB")?;
        if let Some(intercept) = self.bounds.intercept {
            let remedy = "online LinUCB learns rewards as they are: leave it out";
            return Err(Error::invalid("intercept", intercept, remedy));
        }
        positive("parameter_bound", self.parameter_bound)?;
        not_negative("reward_noise", self.reward_noise)?;
        let failure = self.failure_probability;
        probability("failure_probability", failure)?;
        refuse_if(failure > 0.25, "failure_probability", failure, "expected at most 1/4")?;
        refuse_if(self.horizon == 0, "horizon", 0, "expected a whole number above 0")?;
        if let Some(width) = self.width {
            not_negative("width", width)?;
        }
        let (dimension, radius) = (self.bounds.dimension, self.parameter_bound);
        let learner = match self.descent {
            None => Learner::Maler(self.maler().check()?),
            Some(step) => {
                Learner::GradientDescent(GradientDescentParams { dimension, radius, step }.check()?)
            }
        };
        let mut learner = OnlineLinUcb {
            params: *self,
            learner,
            regression: Regression::new(dimension, Structure::DENSE, 1.0, 0.0, None),
            predictions: 0.0,
            decisions: 0,
            gradient: vec![0.0; dimension],
        };
        learner.widen();
        Ok(learner)
    }

    /// B: no reward is larger in size.
    pub fn reward_bound(&self) -> f64 {
        let (low, high) = self.bounds.rewards;
        low.abs().max(high.abs())
    }

    fn residual(&self) -> f64 {
        self.bounds.feature_bound * self.parameter_bound + self.reward_bound()
    }

    fn maler(&self) -> MalerParams {
        let gradient_bound = 2.0 * self.bounds.feature_bound * self.residual();
        MalerParams::new(self.bounds.dimension, self.parameter_bound, gradient_bound, self.horizon)
    }
}

/// Algorithm 4 after some rounds.
#[derive(Debug, Clone)]
pub struct OnlineLinUcb {
    params: OnlineLinUcbParams,
    learner: Learner,
    regression: Regression,
    /// `sum y^^2`.
    predictions: f64,
    decisions: u64,
    /// Room for a gradient.
    gradient: Vec<f64>,
}

impl OnlineLinUcb {
    /// Parameters of the learner.
    pub fn params(&self) -> &OnlineLinUcbParams {
        &self.params
    }

    /// The rule for choosing as it stands.
    pub fn policy(&self) -> &Policy {
        self.regression.policy()
    }

    /// Rewards learnt so far.
    pub fn rounds(&self) -> u64 {
        self.regression.rounds()
    }

    /// The arm with the largest upper confidence bound, arms above the feature bound scaled to it; exact ties fall differently each time.
    pub fn choose(&mut self, arms: &Arms) -> Result<Choice> {
        let bound = self.params.bounds.feature_bound;
        let choice = self.policy().choose_within(arms, bound, self.decisions)?;
        self.decisions += 1;
        Ok(choice)
    }

    /// Learns from the reward of an arm with these features, both clipped to their bounds; says whether either was. An error
    /// changes nothing.
    pub fn observe(&mut self, features: &[f64], reward: f64) -> Result<bool> {
        let OnlineLinUcbParams { bounds, horizon, .. } = self.params;
        let Bounds { dimension, feature_bound, rewards: (low, high), .. } = bounds;
        finite_vector("features", features, dimension)?;
        finite_vector("reward", &[reward], 1)?;
        if self.rounds() >= horizon {
            return Err(Error::HorizonExceeded { round: self.rounds() + 1, horizon });
        }
        let mut features = features.to_vec();
        let clipped = clip_to_ball(&mut features, feature_bound) || !(low..=high).contains(&reward);
        self.learn(&features, reward.clamp(low, high))?;
        Ok(clipped)
    }

    fn learn(&mut self, features: &[f64], reward: f64) -> Result<()> {
        let learner = self.learner.get_mut();
        let predicted = dot(learner.prediction(), features);
        for (entry, x) in self.gradient.iter_mut().zip(features) {
            *entry = 2.0 * (predicted - reward) * x;
        }
        learner.absorb(&self.gradient)?;
        self.regression.observe(0, features, predicted);
        self.predictions += predicted * predicted;
        self.widen();
        Ok(())
    }

    /// M_n.
    fn regret_bound(&self) -> f64 {
        match &self.learner {
            Learner::Maler(maler) => {
                let curvature = 0.25 / square(self.params.residual());
                maler.params().exp_concave_regret_bound(curvature)
            }
            Learner::GradientDescent(descent) => descent.regret_bound(self.params.parameter_bound),
        }
    }

    /// Brings the width up to date.
    fn widen(&mut self) {
        let width = self.params.width.unwrap_or_else(|| {
            let OnlineLinUcbParams { parameter_bound, reward_noise, failure_probability, .. } =
                self.params;
            let bound = self.regret_bound();
            let inner = (reward_noise * 8_f64.sqrt() + (1.0 + bound).sqrt()) / failure_probability;
            let square = square(parameter_bound)
                + 1.0
                + 2.0 * bound
                + 32.0 * reward_noise * reward_noise * libm::log(inner);
            let moment = self.regression.moment();
            let fit = self.predictions - dot(moment, self.policy().theta());
            // The set holds theta*, so what is left is not negative; rounding may say otherwise.
            (square - fit.max(0.0)).max(0.0).sqrt()
        });
        self.regression.set_width(width);
    }

    /// The whole state; protect these bytes as the data itself.
    pub fn save(&self) -> Vec<u8> {
        let OnlineLinUcb { params, learner, regression, predictions, decisions, .. } = self;
        wire::save(
            wire::kinds::ONLINE_LINUCB,
            &(params, learner, regression, predictions, decisions),
        )
    }

    /// Continues bit for bit from saved bytes.
    pub fn load(bytes: &[u8]) -> Result<Self> {
        let saved: (OnlineLinUcbParams, Learner, Regression, f64, u64) =
            wire::load(wire::kinds::ONLINE_LINUCB, bytes)?;
        let (params, mut learner, mut regression, predictions, decisions) = saved;
        let fresh = params.check()?;
        regression.revive(params.bounds.dimension, Structure::DENSE, 1.0)?;
        not_negative("saved predictions", predictions)?;
        if learner.revive(&fresh.learner)? != regression.rounds() {
            let remedy = "it does not follow from the parameters; restore another copy";
            return Err(Error::invalid("saved learner", "another one", remedy));
        }
        let mut loaded = OnlineLinUcb { learner, regression, predictions, decisions, ..fresh };
        loaded.widen();
        Ok(loaded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        linalg::triangle,
        noise::{Noise, SecureNoise},
        online::BallLearner,
    };

    fn unit(d: usize, noise: &mut SecureNoise) -> Vec<f64> {
        let x: Vec<f64> = (0..d).map(|_| noise.standard_normal()).collect();
        let length = dot(&x, &x).sqrt();
        x.iter().map(|x| x / length).collect()
    }

    /// Returns whether theta* leaves the set in any of 10 x 1000 rounds, and the regret's share of uniform play's.
    fn run(params: OnlineLinUcbParams) -> (bool, f64) {
        let d = params.bounds.dimension;
        let mut noise = SecureNoise::seeded(95);
        let (mut left, mut regret, mut uniform) = (false, 0.0, 0.0);
        for _ in 0..10 {
            let truth = unit(d, &mut noise);
            let rows: Vec<Vec<f64>> = (0..20).map(|_| unit(d, &mut noise)).collect();
            let arms = Arms::from_rows(d, &rows).unwrap();
            let means: Vec<f64> = rows.iter().map(|x| dot(x, &truth)).collect();
            let best = means.iter().copied().fold(f64::MIN, f64::max);
            let mut learner = params.check().unwrap();
            for _ in 0..1000 {
                let choice = learner.choose(&arms).unwrap().arm;
                let hit = noise.uniform() < 0.5 + 0.5 * means[choice];
                learner.observe(&rows[choice], if hit { 1.0 } else { -1.0 }).unwrap();
                regret += best - means[choice];
                uniform += best - means.iter().sum::<f64>() / 20.0;
                let policy = learner.policy();
                let away: Vec<f64> =
                    policy.theta().iter().zip(&truth).map(|(a, b)| a - b).collect();
                let mut square = dot(&away, &away);
                let mut entries = learner.regression.gram().iter();
                for i in 0..d {
                    for j in i..d {
                        let twice = if i == j { 1.0 } else { 2.0 };
                        square += twice * entries.next().unwrap() * away[i] * away[j];
                    }
                }
                left |= square.sqrt() > policy.width();
            }
        }
        (left, regret / uniform)
    }

    #[test]
    fn the_set_holds_the_parameter_and_a_narrow_one_does_not() {
        for descent in [None, Some(Step::InverseRoot(0.25))] {
            let params = OnlineLinUcbParams {
                failure_probability: 1e-7,
                descent,
                ..OnlineLinUcbParams::new(Bounds::unit(3), 1000)
            };
            assert!(!run(params).0); // false alarm: 10 x 1e-7
            assert!(run(OnlineLinUcbParams { width: Some(0.5), ..params }).0);
        }
    }

    #[test]
    fn it_learns_with_a_width_that_is_not_the_theorems() {
        let params = OnlineLinUcbParams {
            width: Some(1.0),
            ..OnlineLinUcbParams::new(Bounds::unit(3), 1000)
        };
        let (_, share) = run(params);
        assert!(share < 0.25, "{share}");
    }

    #[test]
    fn the_width_is_the_theorem_less_the_misfit() {
        let mut noise = SecureNoise::seeded(96);
        let mut learner = OnlineLinUcbParams::new(Bounds::unit(2), 500).check().unwrap();
        let mut data: Vec<(Vec<f64>, f64)> = Vec::new();
        for _ in 0..500 {
            let x = unit(2, &mut noise);
            let Learner::Maler(maler) = &learner.learner else { unreachable!() };
            data.push((x.clone(), dot(maler.prediction(), &x)));
            learner.observe(&x, if noise.uniform() < 0.7 { 1.0 } else { -1.0 }).unwrap();
        }
        let theta = learner.policy().theta();
        let misfit: f64 =
            dot(theta, theta) + data.iter().map(|(x, y)| (y - dot(theta, x)).powi(2)).sum::<f64>();
        let m = learner.regret_bound();
        let beta = 2.0 + 2.0 * m + 32.0 * ((8_f64.sqrt() + (1.0 + m).sqrt()) / 0.01).ln();
        let width = learner.policy().width();
        assert!((width * width - (beta - misfit)).abs() < 1e-9 * beta);
        assert_eq!(learner.policy().whitening().len(), triangle(2));
    }

    /// Rewards need not lie around zero, and what exceeds its bounds counts as if it had not.
    #[test]
    fn features_and_rewards_are_clipped_to_their_bounds() {
        let bounds = Bounds { rewards: (0.0, 1.0), ..Bounds::unit(2) };
        let params = OnlineLinUcbParams::new(bounds, 40);
        assert_eq!(params.reward_bound(), 1.0);
        let (mut one, mut two) = (params.check().unwrap(), params.check().unwrap());
        for (x, y, long, far) in [
            ([1.0, 0.0], 1.0, [3.0, 0.0], 1.0),
            ([0.0, 0.5], 1.0, [0.0, 0.5], 7.0),
            ([0.0, 1.0], 0.0, [0.0, 1e200], -1.0),
        ] {
            assert!(!one.observe(&x, y).unwrap());
            assert!(two.observe(&long, far).unwrap());
            assert_eq!(one.save(), two.save());
        }
        let arms = Arms::from_rows(2, &[[0.0, 0.5], [9.0, 0.0]]).unwrap();
        let cut = Arms::from_rows(2, &[[0.0, 0.5], [1.0, 0.0]]).unwrap();
        let (long, fits) = (two.choose(&arms).unwrap(), one.choose(&cut).unwrap());
        assert_eq!((long.arm, long.clipped_arms, fits.clipped_arms), (fits.arm, 1, 0));
    }

    #[test]
    fn resumes_bit_for_bit_and_refuses_bad_input_without_changing() {
        let mut noise = SecureNoise::seeded(97);
        let params = OnlineLinUcbParams::new(Bounds::unit(2), 40);
        let mut one = params.check().unwrap();
        (0..20).for_each(|_| assert!(!one.observe(&unit(2, &mut noise), 0.5).unwrap()));
        let mut two = OnlineLinUcb::load(&one.save()).unwrap();
        assert_eq!(two.save(), one.save());
        for (x, y) in [(&[1.0][..], 0.0), (&[f64::INFINITY, 0.0], 0.0), (&[0.1, 0.1], f64::NAN)] {
            assert!(two.observe(x, y).is_err());
        }
        assert_eq!(two.save(), one.save());
        for _ in 0..20 {
            let x = unit(2, &mut noise);
            one.observe(&x, -0.5).unwrap();
            two.observe(&x, -0.5).unwrap();
        }
        assert_eq!(two.save(), one.save());
        assert!(matches!(one.observe(&[0.1, 0.1], 0.0), Err(Error::HorizonExceeded { .. })));
        for bad in [
            OnlineLinUcbParams { bounds: Bounds::unit(0), ..params },
            OnlineLinUcbParams {
                bounds: Bounds { intercept: Some(0.5), ..params.bounds },
                ..params
            },
            OnlineLinUcbParams { failure_probability: 0.3, ..params },
            OnlineLinUcbParams { reward_noise: f64::NAN, ..params },
            OnlineLinUcbParams { horizon: 0, ..params },
            OnlineLinUcbParams { width: Some(-1.0), ..params },
        ] {
            assert!(bad.check().is_err(), "{bad:?}");
        }
    }
}
