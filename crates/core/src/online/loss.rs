//! Losses of a linear prediction: convex in the score `<w, x>`, so that a gradient is the loss's derivative times x.

use serde::{Deserialize, Serialize};

use crate::{Result, error::finite_vector, refuse_if, special::square};

/// A convex loss of a score and a label.
///
/// ```
/// use reticent::online::Loss;
/// assert_eq!(Loss::Absolute.value(2.0, 0.5)?, 1.5);
/// assert_eq!(Loss::Hinge.derivative(0.5, 1.0)?, -1.0);
/// assert!(Loss::Logistic.value(0.0, 3.0).is_err()); // labels are -1 and 1
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Loss {
    /// `(s - y)^2 / 2`. Its derivative has no bound: gradients are clipped, and clipping biases the model.
    Squared,
    /// `|s - y|`.
    Absolute,
    /// `ln(1 + e^{-y s})`, y = -1 or 1.
    Logistic,
    /// `max(0, 1 - y s)`, y = -1 or 1.
    Hinge,
}

impl Loss {
    /// The loss.
    pub fn value(&self, score: f64, label: f64) -> Result<f64> {
        self.check(score, label)?;
        Ok(match self {
            // Saturated like predictions.
            Loss::Squared => (0.5 * square(score - label)).min(f64::MAX),
            Loss::Absolute => (score - label).abs().min(f64::MAX),
            Loss::Logistic => {
                let margin = label * score;
                libm::log1p(libm::exp(-margin.abs())) + (-margin).max(0.0)
            }
            Loss::Hinge => (1.0 - label * score).max(0.0),
        })
    }

    /// A subgradient with respect to the score.
    pub fn derivative(&self, score: f64, label: f64) -> Result<f64> {
        self.check(score, label)?;
        Ok(match self {
            Loss::Squared => (score - label).clamp(-f64::MAX, f64::MAX),
            Loss::Absolute if score == label => 0.0,
            Loss::Absolute => (score - label).signum(),
            Loss::Logistic => -label / (1.0 + libm::exp(label * score)),
            Loss::Hinge if label * score < 1.0 => -label,
            Loss::Hinge => 0.0,
        })
    }

    /// The largest size of the derivative, if it has one.
    pub fn derivative_bound(&self) -> Option<f64> {
        match self {
            Loss::Squared => None,
            Loss::Absolute | Loss::Logistic | Loss::Hinge => Some(1.0),
        }
    }

    /// Returns whether labels are classes, -1 and 1.
    pub fn classifies(&self) -> bool {
        matches!(self, Loss::Logistic | Loss::Hinge)
    }

    fn check(&self, score: f64, label: f64) -> Result<()> {
        finite_vector("score", &[score], 1)?;
        finite_vector("label", &[label], 1)?;
        let remedy = "expected -1 or 1 for a loss of classes";
        refuse_if(self.classifies() && label.abs() != 1.0, "label", label, remedy)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn derivatives_are_slopes_and_losses_convex(
            score in -30.0_f64..30.0, other in -30.0_f64..30.0, label in prop_oneof![Just(-1.0), Just(1.0)],
        ) {
            for loss in [Loss::Squared, Loss::Absolute, Loss::Logistic, Loss::Hinge] {
                let at = |s: f64| loss.value(s, label).unwrap();
                let slope = loss.derivative(score, label).unwrap();
                prop_assert!(at(other) >= at(score) + slope * (other - score) - 1e-9);
                prop_assert!(loss.derivative_bound().is_none_or(|bound| slope.abs() <= bound));
                prop_assert!(at(score) >= 0.0);
            }
        }
    }

    #[test]
    fn extremes_and_bad_input() {
        assert_eq!(Loss::Logistic.value(1e6, -1.0).unwrap(), 1e6);
        assert_eq!(Loss::Squared.value(1e200, 0.0).unwrap(), f64::MAX);
        assert_eq!(Loss::Absolute.value(f64::MAX, -f64::MAX).unwrap(), f64::MAX);
        assert_eq!(Loss::Logistic.derivative(1e6, -1.0).unwrap(), 1.0);
        assert!(Loss::Hinge.value(f64::NAN, 1.0).is_err());
        assert!(Loss::Squared.value(0.0, f64::INFINITY).is_err());
        assert!(Loss::Hinge.derivative(0.0, 0.0).is_err());
    }
}
