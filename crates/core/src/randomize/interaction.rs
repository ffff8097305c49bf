//! Clipping of one interaction: features into the unit ball, the reward into [-1, 1].
//!
//! ```text
//! x -> x / L, shortened to norm 1        y -> z = (y - centre) / half, cut to [-1, 1]
//! ```
//!
//! **Centring.** Rewards in `[low, high]` lie at most `half = (high - low)/2` from their middle, which is what a randomiser has to
//! hide; from zero they may lie twice as far. `E z = (<theta, x> - centre) / half` is linear in x only if a constant is: where
//! all arms share a last feature c (an intercept), `centre = <centre/c e_d, x>`. So rewards are centred exactly if an intercept
//! is declared, and else `centre = 0`, `half = max(|low|, |high|)`.
//!
//! With an intercept the last feature is set to c whatever came, and the rest is shortened to `sqrt(L^2 - c^2)`; where arms are declared to
//! have norm L they are scaled to it, and an arm of norm 0 becomes the first axis. So every interaction is one of the declared domain, on
//! which randomisers rely, and none is refused for its size: what was changed is flagged for the person's own device.

use serde::{Deserialize, Serialize};

use crate::{
    Error, Result,
    error::{finite_vector, positive},
    linalg::triangle,
    refuse_if,
    release::{Layout, Structure},
    special::square,
};

/// Features and intercepts that miss their declared size by no more than this are not flagged.
const ROUNDING: f64 = 1e-6;
/// Numbers kept of a matrix, at most: those of the largest dense one.
const MOST_ENTRIES: usize = triangle(8192);

/// Public bounds on arms and rewards, that people's data are clipped to.
///
/// ```
/// use reticent::randomize::Bounds;
/// let bounds = Bounds { rewards: (0.0, 1.0), ..Bounds::unit(3) };
/// let interaction = bounds.clip(&[0.6, 0.0, 1.2], 0.3)?;
/// assert!(interaction.clipped());
/// assert!(bounds.clip(&[0.6, f64::NAN, 0.0], 0.3).is_err());
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bounds {
    /// Features of an arm, d.
    pub dimension: usize,
    /// L: the largest Euclidean norm of an arm.
    #[serde(default = "crate::wire::unity")]
    pub feature_bound: f64,
    /// Lowest and highest reward.
    #[serde(default = "symmetric")]
    pub rewards: (f64, f64),
    /// The last feature of every arm, if it is the same for all: then rewards are centred. On a person's device another last feature is
    /// replaced by it; a curator takes arms as they are, and one without it costs regret, not privacy.
    pub intercept: Option<f64>,
    /// Every arm has norm exactly L, so that nothing has to hide how long it is. Arms of another norm are scaled to it.
    #[serde(default)]
    pub unit_arms: bool,
    /// Structure of the parameters that arms touch: by default all of them.
    #[serde(default)]
    pub structure: Structure,
}

fn symmetric() -> (f64, f64) {
    (-1.0, 1.0)
}

impl std::fmt::Display for Bounds {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Bounds { dimension, feature_bound, rewards: (low, high), structure, .. } = self;
        let norm = if self.unit_arms { "of norm" } else { "of norm at most" };
        write!(formatter, "{dimension} features {norm} {feature_bound}, rewards {low} to {high}")?;
        if let Some(intercept) = self.intercept {
            write!(formatter, ", intercept {intercept}")?;
        }
        write!(formatter, ", {structure}")
    }
}

impl Bounds {
    /// Arms in the unit ball, rewards in [-1, 1], no intercept.
    pub fn unit(dimension: usize) -> Self {
        Bounds {
            dimension,
            feature_bound: 1.0,
            rewards: (-1.0, 1.0),
            intercept: None,
            unit_arms: false,
            structure: Structure::DENSE,
        }
    }

    /// The bounds of the same arms with zeros in all blocks but their own, for learners that know of no blocks. Only an intercept that is
    /// shared is a feature of all arms then.
    pub fn embedded(&self) -> Self {
        let dimension = self.structure.parameters(self.dimension);
        let kept = self.structure.is_dense() || self.structure.shared > 0;
        let intercept = self.intercept.filter(|_| kept);
        Bounds { dimension, intercept, structure: Structure::DENSE, ..*self }
    }

    /// Refuses bounds that bound nothing.
    pub fn check(&self) -> Result<()> {
        crate::linalg::check_dimension(self.dimension)?;
        self.structure.check(self.dimension)?;
        let kept = Layout::new(self.dimension, self.structure).matrix();
        if kept > MOST_ENTRIES {
            let remedy = format!("{kept} numbers would be kept; expected fewer or smaller blocks");
            return Err(Error::invalid("blocks", self.structure.blocks, remedy));
        }
        positive("feature_bound", self.feature_bound)?;
        let (low, high) = self.rewards;
        finite_vector("rewards", &[low, high], 2)?;
        let half = 0.5 * (high - low);
        let refused = half.is_nan() || half <= 0.0 || half.is_infinite();
        let remedy = "expected the lowest reward first, below the highest";
        refuse_if(refused, "rewards", format_args!("({low}, {high})"), remedy)?;
        for (field, value) in [("feature_bound", self.feature_bound), ("rewards", half)] {
            let remedy = "choose units between 1e-100 and 1e100";
            refuse_if(!(1e-100..=1e100).contains(&value), field, value, remedy)?;
        }
        match self.intercept {
            None => Ok(()),
            Some(c) if self.dimension < 2 => Err(Error::invalid(
                "intercept",
                c,
                "with one feature there is nothing but the intercept: add features",
            )),
            Some(c) if c != 0.0 && c.abs() < self.feature_bound => Ok(()),
            Some(c) => {
                let remedy =
                    format!("expected a number other than 0, below {}", self.feature_bound);
                Err(Error::invalid("intercept", c, remedy))
            }
        }
    }

    /// Number subtracted from a reward.
    pub fn centre(&self) -> f64 {
        match self.intercept {
            Some(_) => self.rewards.0 + 0.5 * (self.rewards.1 - self.rewards.0),
            None => 0.0,
        }
    }

    /// Divisor of a centred reward.
    pub fn half_range(&self) -> f64 {
        match self.intercept {
            Some(_) => 0.5 * (self.rewards.1 - self.rewards.0),
            None => self.rewards.0.abs().max(self.rewards.1.abs()),
        }
    }

    /// c/L, where there is an intercept.
    pub(crate) fn unit_intercept(&self) -> Option<f64> {
        self.intercept.map(|c| c / self.feature_bound)
    }

    /// Features of an arm, brought into the declared form and divided by L, and whether they had another form.
    ///
    /// Finite numbers are never refused: a refusal on a person's device is silence, which others see, and it would depend on the data.
    pub(crate) fn clip_features(&self, features: &[f64]) -> Result<(Vec<f64>, bool)> {
        finite_vector("features", features, self.dimension)?;
        let free = self.dimension - usize::from(self.intercept.is_some());
        let mut unit: Vec<f64> = features.iter().map(|x| x / self.feature_bound).collect();
        let mut changed = false;
        let longest = features[..free].iter().fold(0.0_f64, |most, x| most.max(x.abs()));
        let size = longest / self.feature_bound;
        if self.unit_arms && longest == 0.0 {
            // No direction is nearest: every such person becomes the same one of the domain.
            unit[0] = 1.0;
            changed = true;
        } else if size > 1e150 || self.unit_arms && size < 1e-150 {
            // Only its direction counts, for its length is changed anyway; and neither it nor its inverse may overflow.
            unit.iter_mut()
                .zip(features)
                .take(free)
                .for_each(|(unit, x)| *unit = 2.0 * (x / longest));
            changed = true;
        }
        let most = self.unit_intercept().map_or(1.0, |c| (1.0 - c * c).sqrt());
        // Scaled by the largest entry first, so that no square overflows.
        let peak = unit[..free].iter().fold(f64::MIN_POSITIVE, |most, x| most.max(x.abs()));
        let norm = peak * unit[..free].iter().map(|x| square(x / peak)).sum::<f64>().sqrt();
        changed |= match self.unit_arms {
            true => (norm - most).abs() > ROUNDING,
            false => norm > most * (1.0 + 1e-12),
        };
        if norm > most || self.unit_arms {
            unit[..free].iter_mut().for_each(|x| *x *= most / norm);
        }
        if let Some(c) = self.unit_intercept() {
            changed |= (unit[free] - c).abs() > ROUNDING;
            unit[free] = c;
        }
        Ok((unit, changed))
    }

    /// Brings features and reward into the declared form. Finite numbers are always taken; [`Interaction::clipped`] says whether
    /// they had to be changed.
    pub fn clip(&self, features: &[f64], reward: f64) -> Result<Interaction> {
        let block = self.structure.only_block("clip_in_block")?;
        self.clip_in_block(block, features, reward)
    }

    /// The same for an arm of this block of parameters.
    pub fn clip_in_block(
        &self,
        block: usize,
        features: &[f64],
        reward: f64,
    ) -> Result<Interaction> {
        self.check()?;
        self.structure.expect(block)?;
        finite_vector("reward", &[reward], 1)?;
        let (features, long) = self.clip_features(features)?;
        let cut = reward.clamp(self.rewards.0, self.rewards.1);
        let unit = ((cut - self.centre()) / self.half_range()).clamp(-1.0, 1.0);
        Ok(Interaction { features, reward: unit, block, clipped: long || cut != reward })
    }
}

/// One person's features and reward, clipped. Only [`Bounds::clip`] makes one.
#[derive(Clone, PartialEq)]
pub struct Interaction {
    features: Vec<f64>,
    reward: f64,
    block: usize,
    clipped: bool,
}

impl Interaction {
    /// Returns whether features or reward were outside the declared form and were changed.
    pub fn clipped(&self) -> bool {
        self.clipped
    }

    /// x, of norm at most 1.
    pub(crate) fn features(&self) -> &[f64] {
        &self.features
    }

    /// z, in [-1, 1].
    pub(crate) fn reward(&self) -> f64 {
        self.reward
    }

    /// The arm's block of parameters.
    pub(crate) fn block(&self) -> usize {
        self.block
    }

    /// Refuses an interaction of another dimension.
    pub(crate) fn expect(&self, dimension: usize) -> Result<()> {
        finite_vector("features", &self.features, dimension)
    }
}

/// Prints no numbers: a log line must not show a person.
impl std::fmt::Debug for Interaction {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Interaction")
            .field("clipped", &self.clipped)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn everything_clipped_lies_in_the_domain(
            vector in prop::collection::vec(prop_oneof![-3.0_f64..3.0, prop::num::f64::NORMAL], 4),
            reward in prop::num::f64::NORMAL, intercept: bool, unit_arms: bool,
        ) {
            let bounds = Bounds {
                feature_bound: 2.0,
                rewards: (0.5, 3.5),
                intercept: intercept.then_some(1.2),
                unit_arms,
                ..Bounds::unit(4)
            };
            let interaction = bounds.clip(&vector, reward).unwrap();
            let norm = interaction.features.iter().map(|x| x * x).sum::<f64>().sqrt();
            prop_assert!(norm <= 1.0 + 1e-12, "{}", norm);
            prop_assert!(!unit_arms || norm >= 1.0 - 1e-12, "{}", norm);
            prop_assert!(interaction.reward.abs() <= 1.0);
            if intercept {
                prop_assert_eq!(interaction.features[3], 0.6);
            }
        }
    }

    #[test]
    fn rewards_are_centred_where_that_is_linear_and_only_there() {
        let plain = Bounds { rewards: (0.0, 1.0), ..Bounds::unit(2) };
        assert_eq!(plain.clip(&[1.0, 0.0], 0.25).unwrap().reward(), 0.25);
        let centred = Bounds { intercept: Some(0.6), ..plain };
        assert_eq!(centred.clip(&[0.8, 0.6], 0.25).unwrap().reward(), -0.5);
        assert_eq!(centred.clip(&[0.8, 0.6], 7.0).unwrap().reward(), 1.0);
    }

    #[test]
    fn bad_bounds_and_bad_data_are_refused() {
        let good = Bounds::unit(3);
        for bad in [
            Bounds { dimension: 0, ..good },
            Bounds { feature_bound: f64::NAN, ..good },
            Bounds { rewards: (1.0, 1.0), ..good },
            Bounds { rewards: (1.0, -1.0), ..good },
            Bounds { rewards: (f64::NEG_INFINITY, 1.0), ..good },
            Bounds { intercept: Some(0.0), ..good },
            Bounds { intercept: Some(1.0), ..good },
            Bounds { intercept: Some(0.5), dimension: 1, ..good },
        ] {
            assert!(bad.check().is_err(), "{bad:?}");
            assert!(bad.clip(&[0.1, 0.2, 0.3], 0.0).is_err());
        }
        assert!(good.clip(&[0.1, 0.2], 0.0).is_err());
        assert!(good.clip(&[0.1, 0.2, f64::INFINITY], 0.0).is_err());
        assert!(good.clip(&[0.1, 0.2, 0.3], f64::NAN).is_err());
    }

    #[test]
    fn finite_data_of_another_form_are_changed_and_flagged_never_refused() {
        let good = Bounds { feature_bound: 2.0, ..Bounds::unit(3) };
        let intercept = Bounds { intercept: Some(1.2), ..good };
        let unit = Bounds { unit_arms: true, ..good };
        let both = Bounds { unit_arms: true, ..intercept };
        let huge = f64::MAX;
        for (bounds, data, expected) in [
            (intercept, [0.1, 0.2, 0.4], [0.05, 0.1, 0.6]),
            (intercept, [3.0, 4.0, 1.2], [0.48, 0.64, 0.6]),
            (intercept, [0.0, 0.0, -huge], [0.0, 0.0, 0.6]),
            (unit, [0.0, 0.6, 0.8], [0.0, 0.6, 0.8]),
            (unit, [0.0; 3], [1.0, 0.0, 0.0]),
            (unit, [0.0, 0.0, 5e-324], [0.0, 0.0, 1.0]),
            (unit, [0.0, -huge, 0.0], [0.0, -1.0, 0.0]),
            (both, [0.0, 0.0, 0.0], [0.8, 0.0, 0.6]),
            (both, [0.3, 0.4, 9.0], [0.48, 0.64, 0.6]),
            (good, [0.0, huge, 0.0], [0.0, 1.0, 0.0]),
            (unit, [-huge, huge, 0.0], [-0.5_f64.sqrt(), 0.5_f64.sqrt(), 0.0]),
            (good, [-huge, 0.0, huge], [-0.5_f64.sqrt(), 0.0, 0.5_f64.sqrt()]),
        ] {
            let interaction = bounds.clip(&data, 0.5).unwrap();
            assert!(interaction.clipped(), "{bounds:?} {data:?}");
            for (found, expected) in interaction.features.iter().zip(expected) {
                assert!((found - expected).abs() < 1e-15, "{bounds:?} {data:?}: {found}");
            }
        }
        for (bounds, data) in [
            (intercept, [0.1, 0.2, 1.2]),
            (unit, [1.2, 0.0, 1.6 + 1e-9]),
            (both, [0.96, 1.28, 1.2]),
            (good, [0.0; 3]),
        ] {
            assert!(!bounds.clip(&data, 0.5).unwrap().clipped(), "{bounds:?} {data:?}");
            assert!(bounds.clip(&data, 1.5).unwrap().clipped());
        }
    }
}
