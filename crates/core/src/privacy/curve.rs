//! The whole privacy curve epsilon -> delta of a composition, as the accountant computed it.

use crate::{
    Result,
    error::{not_negative, probability},
};

use super::{
    PrivacyLossDistribution, gaussian,
    grid::{GridNoise, TAIL_SHARE},
    shuffle,
};

/// Tightness of a curve.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tightness {
    /// Attained by some pair of neighbours: no smaller number is true.
    Exact,
    /// Proved, and possibly a little more than what is attained.
    UpperBound,
}

/// For every epsilon, a delta such that the composition is (epsilon, delta)-DP; made by the
/// [`Accountant`](super::Accountant) only.
#[derive(Debug, Clone)]
pub struct Curve {
    pub(super) base: Base,
    pub(super) grid: Option<GridNoise>,
    pub(super) tightness: Tightness,
}

#[derive(Debug, Clone)]
pub(super) enum Base {
    /// mu-GDP.
    Gaussian { mu: f64 },
    /// Anything, through its privacy-loss distribution; `pure` is what basic composition gives at delta = 0.
    Loss { distribution: Box<PrivacyLossDistribution>, pure: Option<f64> },
    /// One shuffled batch.
    Shuffled(Box<shuffle::Crowd>),
}

impl Curve {
    /// The delta that holds with this epsilon.
    pub fn delta(&self, epsilon: f64) -> Result<f64> {
        not_negative("epsilon", epsilon)?;
        let Some(grid) = self.grid else { return self.base.delta(epsilon) };
        let tau = (TAIL_SHARE * self.base.delta(epsilon)?).max(1e-300);
        let slack = grid.slack(tau);
        // Below epsilon = 0: (P - e^-c Q)+ <= (P - Q)+ + (1 - e^-c) Q.
        let missing = (slack.shift - epsilon).max(0.0);
        let shifted = self.base.delta((epsilon - slack.shift).max(0.0))? - libm::expm1(-missing);
        Ok((libm::exp(slack.factor) * shifted + tau).min(1.0))
    }

    /// The epsilon that holds with this delta.
    pub fn epsilon(&self, delta: f64) -> Result<f64> {
        probability("delta", delta)?;
        let Some(grid) = self.grid else { return self.base.epsilon(delta) };
        let tau = (TAIL_SHARE * delta).max(f64::MIN_POSITIVE);
        let slack = grid.slack(tau);
        let left = (delta - tau) * libm::exp(-slack.factor);
        // The grid is too coarse, or delta too small, for the theorem to give a finite epsilon.
        if left.is_nan() || left < f64::MIN_POSITIVE {
            return Ok(f64::INFINITY);
        }
        Ok(self.base.epsilon(left)? + slack.shift)
    }

    /// mu if the composition is Gaussian, on the real line or on a grid.
    pub fn mu(&self) -> Option<f64> {
        match self.base {
            Base::Gaussian { mu } => Some(mu),
            _ => None,
        }
    }

    /// Returns whether the curve is attained or an upper bound. This follows from the events, not from the curve's shape: a Gaussian curve is
    /// attained only if a pair of neighbours attains the sensitivity that was priced.
    pub fn tightness(&self) -> Tightness {
        self.tightness
    }
}

impl Base {
    fn delta(&self, epsilon: f64) -> Result<f64> {
        match self {
            Base::Gaussian { mu } => Ok(gaussian::delta_unchecked(epsilon, *mu)),
            Base::Loss { pure: Some(pure), .. } if epsilon >= *pure => Ok(0.0),
            Base::Loss { distribution, .. } => Ok(distribution.delta(epsilon)),
            Base::Shuffled(crowd) => Ok(crowd.delta(epsilon)),
        }
    }

    fn epsilon(&self, delta: f64) -> Result<f64> {
        match self {
            Base::Gaussian { mu } => gaussian::epsilon(delta, *mu),
            Base::Loss { distribution, pure } => {
                Ok(distribution.epsilon(delta).min(pure.unwrap_or(f64::INFINITY)))
            }
            Base::Shuffled(crowd) => Ok(crowd.epsilon(delta)),
        }
    }
}
