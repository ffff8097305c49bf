//! OnlineUCB: a bandit under local differential privacy whose confidence set comes from an online learner's predictions.
//!
//! ```text
//! person: choose by the published policy, clip, send (x~, y~) = (x, y) + noise
//! server: g_t = 2 x~ (<x~, theta_t> - y~) - 2 (sigma^2 - Delta^2) theta_t  ->  learner  ->  theta_{t+1}
//!         V += x~ x~^T,  u += <theta_t, x~> x~,  policy: argmax <V^-1 u, x> + beta ||x||_{V^-1}
//! ```
//!
//! Paper 0, "Improved rate for locally differentially private linear bandits", Algorithm 1. Corrected: the optimistic parameter is not
//! the learner's theta_t; the square in the loss is of theta, not of theta_t; the negative term is `sigma^2 ||theta||^2` without
//! Delta^2, and Delta^2 is a ridge and no noise; V starts at I; g_t is computed here, since it follows from the report.
//!
//! **Guarantee.** Local: a person's report is randomised before it leaves ([`FeatureReward`]), and all else is post-processing of
//! reports. That the policy is good is another matter: see `online_confidence` for what is proved of beta.

use serde::{Deserialize, Serialize};

use super::{OnlineConfidence, Policy, online_confidence::LinearRegret, regression::Regression};
use crate::{
    Error, Result,
    error::{finite_vector, not_negative, positive},
    linalg::dot,
    online::{BallLearner, GradientDescent, GradientDescentParams, Maler, MalerParams, Step},
    privacy::Guarantee,
    randomize::{Bounds, FeatureReward, FeatureRewardParams},
    refuse_if,
    release::Structure,
    special::square,
    wire,
};

/// Squares of reports beyond this could overflow.
const LARGEST: f64 = 1e40;

/// Online learner that predicts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum LearnerParams {
    /// Maler: convex, exp-concave and strongly convex experts.
    Maler {
        /// G: gradients are shortened to this.
        gradient_bound: f64,
        /// True if the exp-concave experts are there.
        exp_concave: bool,
    },
    /// Projected gradient descent.
    GradientDescent {
        /// Length of a round's step.
        step: Step,
    },
}

/// The width of the confidence set, beta.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Width {
    /// This number in every round; nothing is proved of it.
    Constant(f64),
    /// Statement that [`OnlineConfidence`] proves, for all rounds at once.
    Proved(Assumptions),
}

/// Facts that a proved width rests on beside the other parameters.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Assumptions {
    /// The probability with which each of six events may fail.
    pub alpha: f64,
    /// lambda: the least eigenvalue of `E[x x^T]` given any history; 0 for fixed arms.
    pub smallest_eigenvalue: f64,
    /// R: the sub-Gaussian scale of a reward around its mean.
    pub reward_noise: f64,
    /// S: theta* is not longer.
    pub parameter_bound: f64,
}

/// Parameters of [`OnlineUcb`].
///
/// ```
/// use reticent::{bandit::{Arms, OnlineUcbParams}, noise::SecureNoise, randomize::{Bounds, FeatureRewardParams}};
///
/// let randomizer = FeatureRewardParams::new(Bounds::unit(2), 10.0, 1e-6);
/// let mut server = OnlineUcbParams::new(randomizer, 1000).check()?;
/// println!("{}", server.guarantee()?);
///
/// // The device: the published policy, the own arms and reward, the own noise.
/// let mut noise = SecureNoise::from_system()?;
/// let arms = Arms::from_rows(2, &[[1.0, 0.0], [0.0, 1.0]])?;
/// let arm = server.policy().choose(&arms, 0)?;
/// let report = server.randomizer().report(&arms.arm(arm), 0.7, &mut noise)?;
///
/// server.absorb(&report)?;
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OnlineUcbParams {
    /// Randomiser of a person's device.
    pub randomizer: FeatureRewardParams,
    /// T: reports the server will see at most.
    pub horizon: u64,
    /// D: the learner predicts within this distance of zero.
    pub radius: f64,
    /// Online learner that predicts.
    pub learner: LearnerParams,
    /// `Delta^2`.
    pub ridge: f64,
    /// beta.
    pub width: Width,
}

impl OnlineUcbParams {
    /// Maler within the unit ball, without a ridge, with gradients up to `8 (1 + 0.7 d sigma^2)`, at most 50, and a width of
    /// `3 sqrt(1 + 7 sigma^2)`, at most 10, for noise of deviation sigma: numbers that did well in simulations of features and rewards of size 1
    /// at epsilons of 10 and of 1000. Nothing is proved of them; see [`OnlineUcbParams::proved`].
    pub fn new(randomizer: FeatureRewardParams, horizon: u64) -> Self {
        // Parameters that cannot be calibrated are refused by `check`.
        let sigma = randomizer.check().map_or(f64::INFINITY, |checked| checked.deviation());
        let dimension = randomizer.bounds.dimension as f64;
        let gradient_bound = (8.0 * (1.0 + 0.7 * dimension * sigma * sigma)).min(50.0);
        let width = (3.0 * (1.0 + 7.0 * sigma * sigma).sqrt()).min(10.0);
        OnlineUcbParams {
            randomizer,
            horizon,
            radius: 1.0,
            learner: LearnerParams::Maler { gradient_bound, exp_concave: true },
            ridge: 0.0,
            width: Width::Constant(width),
        }
    }

    /// Maler with the gradient bound and the width that [`OnlineConfidence`] proves, with alpha = 1/T, for rewards of sub-Gaussian scale 1
    /// and `||theta*|| <= 1`.
    pub fn proved(
        randomizer: FeatureRewardParams,
        horizon: u64,
        smallest_eigenvalue: f64,
        ridge: f64,
    ) -> Result<Self> {
        let assumptions = Assumptions {
            alpha: 1.0 / horizon.max(2) as f64,
            smallest_eigenvalue,
            reward_noise: 1.0,
            parameter_bound: 1.0,
        };
        let checked = randomizer.check()?;
        let plain = OnlineUcbParams {
            ridge,
            width: Width::Proved(assumptions),
            ..OnlineUcbParams::new(randomizer, horizon)
        };
        let confidence = plain.confidence(&checked, assumptions);
        confidence.check()?;
        let gradient_bound = confidence.gradient_bound();
        Ok(OnlineUcbParams {
            learner: LearnerParams::Maler { gradient_bound, exp_concave: true },
            ..plain
        })
    }

    /// A server that has seen nothing, or the parameter that stands in the way.
    pub fn check(&self) -> Result<OnlineUcb> {
        let randomizer = self.randomizer.check()?;
        let Bounds { dimension, feature_bound, .. } = self.randomizer.bounds;
        let remedy = format_args!("reports would exceed {LARGEST:e}: choose other units");
        refuse_if(randomizer.largest_entry() > LARGEST, "feature_bound", feature_bound, remedy)?;
        positive("radius", self.radius)?;
        not_negative("ridge", self.ridge)?;
        refuse_if(self.horizon == 0, "horizon", 0, "expected a whole number above 0")?;
        let learner = match self.learner {
            LearnerParams::Maler { gradient_bound, exp_concave } => {
                let maler = MalerParams::new(dimension, self.radius, gradient_bound, self.horizon);
                Learner::Maler(MalerParams { exp_concave, ..maler }.check()?)
            }
            LearnerParams::GradientDescent { step } => {
                let descent = GradientDescentParams { dimension, radius: self.radius, step };
                Learner::GradientDescent(descent.check()?)
            }
        };
        let width = self.confidence_width(&randomizer)?;
        Ok(OnlineUcb {
            params: self.clone(),
            randomizer,
            learner,
            regression: Regression::new(dimension, Structure::DENSE, 1.0, width, None),
            gradient: vec![0.0; dimension],
        })
    }

    fn confidence_width(&self, randomizer: &FeatureReward) -> Result<f64> {
        let confidence = match self.width {
            Width::Constant(width) => return not_negative("width", width),
            Width::Proved(assumptions) => self.confidence(randomizer, assumptions),
        };
        confidence.check()?;
        let needed = confidence.gradient_bound();
        let gradient_bound = match self.learner {
            LearnerParams::Maler { gradient_bound, .. } => gradient_bound,
            LearnerParams::GradientDescent { .. } => needed,
        };
        let refused = gradient_bound < needed * (1.0 - 1e-9);
        let remedy = format_args!("the proved width needs at least {needed}, or a constant width");
        refuse_if(refused, "gradient_bound", gradient_bound, remedy)?;
        Ok(confidence.width(self.linear_regret(&confidence, gradient_bound), gradient_bound))
    }

    /// Parts of a proved width.
    pub(super) fn confidence(
        &self,
        randomizer: &FeatureReward,
        assumptions: Assumptions,
    ) -> OnlineConfidence {
        let Assumptions { alpha, smallest_eigenvalue, reward_noise, parameter_bound } = assumptions;
        OnlineConfidence {
            bounds: self.randomizer.bounds,
            deviation: randomizer.deviation(),
            reward_noise,
            parameter_bound,
            radius: self.radius,
            horizon: self.horizon,
            alpha,
            smallest_eigenvalue,
            ridge: self.ridge,
        }
    }

    fn linear_regret(&self, confidence: &OnlineConfidence, gradient_bound: f64) -> LinearRegret {
        let (rounds, size) = (self.horizon as f64, confidence.parameter_bound);
        match self.learner {
            LearnerParams::Maler { .. } => {
                let dimension = self.randomizer.bounds.dimension;
                let maler = MalerParams::new(dimension, self.radius, gradient_bound, self.horizon);
                let cost = maler.mixing_cost() + 1.0 + libm::log(rounds);
                let slope = 3.0 * gradient_bound * cost.sqrt();
                LinearRegret { constant: 20.0 * gradient_bound * self.radius * cost, slope }
            }
            LearnerParams::GradientDescent { step } => {
                let squares = gradient_bound * gradient_bound;
                let constant = match step {
                    Step::Constant(step) => 0.5 * (size * size / step + step * squares * rounds),
                    Step::InverseRoot(step) => {
                        let diameter = self.radius + size;
                        (0.5 * diameter * diameter / step + step * squares) * rounds.sqrt()
                    }
                };
                LinearRegret { constant, slope: 0.0 }
            }
        }
    }
}

/// The online learner inside a bandit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum Learner {
    Maler(Maler),
    GradientDescent(GradientDescent),
}

impl Learner {
    fn get(&self) -> &dyn BallLearner {
        match self {
            Learner::Maler(maler) => maler,
            Learner::GradientDescent(descent) => descent,
        }
    }

    pub(super) fn get_mut(&mut self) -> &mut dyn BallLearner {
        match self {
            Learner::Maler(maler) => maler,
            Learner::GradientDescent(descent) => descent,
        }
    }

    /// Makes a learner that was read whole, if its parameters are those of `fresh`; returns the rounds it has seen.
    pub(super) fn revive(&mut self, fresh: &Learner) -> Result<u64> {
        match (self, fresh) {
            (Learner::Maler(maler), Learner::Maler(fresh)) if maler.params() == fresh.params() => {
                maler.revive()?;
                Ok(maler.rounds())
            }
            (Learner::GradientDescent(descent), Learner::GradientDescent(fresh))
                if descent.params() == fresh.params() =>
            {
                descent.validate()?;
                Ok(descent.rounds())
            }
            _ => {
                let remedy = "it does not follow from the parameters; restore another copy";
                Err(Error::invalid("saved learner", "another one", remedy))
            }
        }
    }
}

/// The report server of OnlineUCB: absorbs reports, publishes policies.
#[derive(Debug, Clone)]
pub struct OnlineUcb {
    params: OnlineUcbParams,
    randomizer: FeatureReward,
    learner: Learner,
    regression: Regression,
    /// Room for g_t.
    gradient: Vec<f64>,
}

/// A server on disk; the rest follows from the parameters.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Saved {
    params: OnlineUcbParams,
    learner: Learner,
    regression: Regression,
}

impl OnlineUcb {
    /// The server's parameters.
    pub fn params(&self) -> &OnlineUcbParams {
        &self.params
    }

    /// The device.
    pub fn randomizer(&self) -> &FeatureReward {
        &self.randomizer
    }

    /// Policy published for the next person.
    pub fn policy(&self) -> &Policy {
        self.regression.policy()
    }

    /// theta_t: the learner's prediction, which is not the policy's estimate.
    pub fn prediction(&self) -> &[f64] {
        self.learner.get().prediction()
    }

    /// Reports absorbed so far.
    pub fn rounds(&self) -> u64 {
        self.regression.rounds()
    }

    /// Learns from one report, `x~` then `y~`. It is the caller's to hand in each report once. An error changes nothing.
    pub fn absorb(&mut self, report: &[f64]) -> Result<()> {
        let (horizon, ridge) = (self.params.horizon, self.params.ridge);
        let dimension = self.params.randomizer.bounds.dimension;
        finite_vector("report", report, dimension + 1)?;
        let largest = self.randomizer.largest_entry();
        if let Some(entry) = report.iter().find(|entry| entry.abs() > largest) {
            let remedy = format!("no honest report exceeds {largest}: refuse its sender");
            return Err(Error::invalid("report", entry, remedy));
        }
        let (features, reward) = (&report[..dimension], report[dimension]);
        if self.rounds() >= horizon {
            return Err(Error::HorizonExceeded { round: self.rounds() + 1, horizon });
        }
        let theta = self.learner.get().prediction();
        let predicted = dot(theta, features);
        let residual = 2.0 * (predicted - reward);
        let shrink = 2.0 * (square(self.randomizer.deviation()) - ridge);
        for ((entry, x), theta) in self.gradient.iter_mut().zip(features).zip(theta) {
            *entry = residual * x - shrink * theta;
        }
        self.learner.get_mut().absorb(&self.gradient)?;
        self.regression.observe(0, features, predicted);
        Ok(())
    }

    /// Guarantee for every person who sends one report.
    pub fn guarantee(&self) -> Result<Guarantee> {
        Ok(self.randomizer.guarantee()?.with_people(self.params.horizon))
    }

    /// The whole state; nothing in it was not sent by people in this form.
    pub fn save(&self) -> Vec<u8> {
        wire::save(wire::kinds::ONLINE_UCB, &self.saved())
    }

    /// Continues bit for bit from saved bytes.
    pub fn load(bytes: &[u8]) -> Result<Self> {
        wire::load::<Saved>(wire::kinds::ONLINE_UCB, bytes)?.revive()
    }

    pub(super) fn saved(&self) -> Saved {
        Saved {
            params: self.params.clone(),
            learner: self.learner.clone(),
            regression: self.regression.clone(),
        }
    }
}

impl Saved {
    /// Makes the server whole, or refuses a state that no run could have left.
    pub(super) fn revive(self) -> Result<OnlineUcb> {
        let Saved { params, mut learner, mut regression } = self;
        let fresh = params.check()?;
        regression.revive(params.randomizer.bounds.dimension, Structure::DENSE, 1.0)?;
        let rounds = learner.revive(&fresh.learner)?;
        let seen = regression.rounds();
        if rounds != seen || rounds > params.horizon {
            let remedy = format!("the regression has seen {seen}; restore another copy");
            return Err(Error::invalid("saved rounds of the learner", rounds, remedy));
        }
        Ok(OnlineUcb { learner, regression, ..fresh })
    }
}

#[cfg(test)]
mod tests;
