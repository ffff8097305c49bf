//! The constants of paper 0: those its theory prescribes, and those its figure was drawn with.
//!
//! | | theory ("literal") | figure ("tuned") |
//! | --- | --- | --- |
//! | beta | [`OnlineConfidence`](super::OnlineConfidence), alpha = 1/T | 10 |
//! | G | Corollary C.1 with its factor d | 48 |
//! | D | 1 | 1 |
//! | `Delta^2` | `T^(-1/4)` where lambda is not above that, else 0 | 0 |
//! | gradient descent's step | | 0.001, gradients not shortened |
//!
//! The text of section 5 names none of the right column. They were found by searching for what reproduces Figure 1(c); no constants
//! reproduce (a) and (b).

use super::{LearnerParams, OnlineConfidence, OnlineUcbParams, Width};
use crate::{Result, online::Step, randomize::FeatureRewardParams};

/// beta of the figure.
const TUNED_WIDTH: f64 = 10.0;
/// G of the figure.
const TUNED_GRADIENT_BOUND: f64 = 48.0;
/// Gradient descent's step of the figure.
const TUNED_STEP: f64 = 1e-3;

impl OnlineUcbParams {
    /// Maler with the constants of the figure.
    pub fn tuned(randomizer: FeatureRewardParams, horizon: u64) -> Self {
        OnlineUcbParams {
            randomizer,
            horizon,
            radius: 1.0,
            learner: LearnerParams::Maler {
                gradient_bound: TUNED_GRADIENT_BOUND,
                exp_concave: true,
            },
            ridge: 0.0,
            width: Width::Constant(TUNED_WIDTH),
        }
    }

    /// Gradient descent with the constants of the figure.
    pub fn tuned_descent(randomizer: FeatureRewardParams, horizon: u64) -> Self {
        OnlineUcbParams {
            learner: LearnerParams::GradientDescent { step: Step::Constant(TUNED_STEP) },
            ..OnlineUcbParams::tuned(randomizer, horizon)
        }
    }

    /// Maler with the constants of the theory, for rewards of sub-Gaussian scale 1 and `||theta*|| <= 1`.
    pub fn literal(
        randomizer: FeatureRewardParams,
        horizon: u64,
        smallest_eigenvalue: f64,
    ) -> Result<Self> {
        let threshold = (horizon.max(1) as f64).powf(-0.25);
        let ridge = if smallest_eigenvalue <= threshold { threshold } else { 0.0 };
        Self::theoretical(randomizer, horizon, smallest_eigenvalue, ridge)
    }

    /// The same with a given `Delta^2`.
    pub(super) fn theoretical(
        randomizer: FeatureRewardParams,
        horizon: u64,
        smallest_eigenvalue: f64,
        ridge: f64,
    ) -> Result<Self> {
        let alpha = 1.0 / horizon.max(2) as f64;
        let confidence = OnlineConfidence {
            dimension: randomizer.dimension,
            deviation: randomizer.check()?.deviation(),
            feature_bound: randomizer.feature_bound,
            reward_bound: randomizer.lowest_reward.abs().max(randomizer.highest_reward.abs()),
            reward_noise: 1.0,
            parameter_bound: 1.0,
            radius: 1.0,
            horizon,
            alpha,
            smallest_eigenvalue,
            ridge,
        };
        confidence.check()?;
        Ok(OnlineUcbParams {
            randomizer,
            horizon,
            radius: 1.0,
            learner: LearnerParams::Maler {
                gradient_bound: confidence.gradient_bound(),
                exp_concave: true,
            },
            ridge,
            width: Width::Proved {
                alpha,
                smallest_eigenvalue,
                reward_noise: 1.0,
                parameter_bound: 1.0,
            },
        })
    }
}
