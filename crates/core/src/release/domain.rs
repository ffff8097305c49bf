//! The contribution of one person, and its sensitivity: how far it can move a sum.
//!
//! Noise has its own scale in each coordinate: `noise_ratio` times a common sigma. Measured in those
//! ratios, replacing one person's data moves the sum by at most `sensitivity` in l2.
//!
//! | domain | contribution | noise ratio | sensitivity |
//! | --- | --- | --- | --- |
//! | vector | `x`, `\|x\| <= L` | 1 | `2 L` |
//! | symmetric | `x x^T` | 1 off the diagonal, `sqrt 2` on it | `L^2`, in one dimension `L^2 / sqrt 2` |
//! | regression | `x x^T` and `x y`, `\|y\| <= B` | the same, and `B / (L sqrt r)` | `L^2 (1 + r)`, from r = 1 on `2 L^2 sqrt r`; one dimension: below |
//! | merged | sums of entries of `x x^T`, and `x y` | norms of the sums, and the same | the same: the sums are a projection (`merged`) |
//!
//! **Proof.** Take L = B = 1, `p = |x|^2`, `q = |x'|^2`, `a = |<x, x'>|`. The weighted square of a symmetric
//! difference is half its Frobenius square: `(p^2 + q^2)/2 - a^2 <= 1`. The vector part adds at most
//! `r |x y - x' y'|^2 <= r (p + q + 2a)`. Together at most `1 + 2r + (2ra - a^2) <= (1 + r)^2`, attained at
//! `a = r`, `p = q = 1`: with r <= 1 there are such unit vectors in two dimensions or more, so the bound is tight there. With r > 1 the
//! bracket grows up to the largest possible a = 1, which gives `4r`, attained by `x = x'`, `y = -y' = 1`.
//! For the vector, `|x - x'| <= 2`.
//!
//! **One dimension.** With `s = |x|`, `t = |x'|` the symmetric part is `(s^2 - t^2)^2/2 <= 1/2`, and with opposite signs of the products
//! the square is at most `(s^2 - t^2)^2/2 + r (s + t)^2 = (s + t)^2 ((s - t)^2/2 + r)`. Scaling s and t up makes it larger, so the
//! larger of them, say s, is 1. `g(t) = (1 - t^2)^2/2 + r (1 + t)^2` has `g'(t) = 2 (1 + t) (r - t (1 - t))`: from r = 1/4 on it
//! increases, and its maximum is `g(1) = 4r`; below, the other candidate is the smaller root of `t (1 - t) = r`, where
//! `g = (1 + t)^3 (1 - t)/2`. The larger of the two is the square of the sensitivity: `4r` from r = 0.1804 on. Both are attained,
//! by `(1, 1)` and `(t, -1)`.
//!
//! **Blocks** (`structure`). A person of a block contributes the vector x with zeros outside the block and the shared part: a person of the
//! domain, of the same norm, so the proof holds as it stands, whichever blocks x and x' are in. Entries between two blocks are zero for
//! all people and are left out: they add nothing to the distance. Which block a person's data went to is theirs to hide: every
//! release has noise on the kept entries of all blocks. With blocks of one parameter each a is 0 for people of two blocks, which gives
//! `1 + 2r`; two of one block are on a line, and its other candidate is below 1, so the square is the larger of `1 + 2r` and `4r`.

use std::f64::consts::{FRAC_1_SQRT_2, SQRT_2};

use serde::{Deserialize, Serialize};

use super::{Layout, Merging, Structure};
use crate::{Result, error::positive, linalg::triangle, refuse_if, special::cube};

/// The default split of the budget between `x x^T` and `x y`, which gave low regret in linear bandits.
const DEFAULT_SPLIT: f64 = 0.4;

fn default_split() -> f64 {
    DEFAULT_SPLIT
}

/// Domain of a person's contribution to a running sum.
///
/// ```
/// use reticent::release::Domain;
/// let domain = Domain::regression(5, 1.0, 1.0);
/// assert_eq!(domain.coordinates(), 15 + 5);
/// assert_eq!(domain.sensitivity(), 1.4);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Domain {
    /// A vector x with `|x| <= bound`.
    Vector {
        /// Length of x.
        dimension: usize,
        /// Largest Euclidean norm.
        bound: f64,
    },
    /// The matrix `x x^T` of a vector with `|x| <= bound`.
    Symmetric {
        /// Length of x.
        dimension: usize,
        /// Largest Euclidean norm of x.
        bound: f64,
    },
    /// The matrix `x x^T` and the vector `x y`: what least squares needs.
    Regression {
        /// Length of x, without the zeros of other blocks.
        dimension: usize,
        /// Largest Euclidean norm of x.
        feature_bound: f64,
        /// Largest absolute value of y.
        reward_bound: f64,
        /// Share r > 0 of the vector part: a larger r puts less noise on `x y`, more on `x x^T`.
        #[serde(default = "default_split")]
        split: f64,
        /// Structure of the parameters of x.
        #[serde(default)]
        structure: Structure,
    },
    /// The same for vectors of a public composition: one sum for all entries of `x x^T` that it makes equal.
    Merged {
        /// Pattern of the sums.
        pattern: Merging,
        /// Largest Euclidean norm of x.
        feature_bound: f64,
        /// Largest absolute value of y.
        reward_bound: f64,
        /// Share r > 0 of the vector part.
        split: f64,
    },
}

impl std::fmt::Display for Domain {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Domain::Vector { dimension, bound } => {
                write!(formatter, "vectors of {dimension} entries and norm at most {bound}")
            }
            Domain::Symmetric { dimension, bound } => {
                write!(formatter, "x x^T of {dimension} features and norm at most {bound}")
            }
            Domain::Regression { dimension, feature_bound, reward_bound, split, structure } => {
                write!(
                    formatter,
                    "x x^T and x y of {dimension} features of norm at most {feature_bound}, rewards at most {reward_bound}, split {split}, {structure}"
                )
            }
            Domain::Merged { pattern, feature_bound, reward_bound, split } => {
                let (sums, dimension) = (pattern.count(), pattern.dimension());
                write!(
                    formatter,
                    "{sums} sums of x x^T, and x y, of {dimension} features of norm at most {feature_bound}, rewards at most {reward_bound}, split {split}"
                )
            }
        }
    }
}

impl Domain {
    /// A [`Domain::Regression`] with the default split.
    pub fn regression(dimension: usize, feature_bound: f64, reward_bound: f64) -> Self {
        let (split, structure) = (DEFAULT_SPLIT, Structure::DENSE);
        Domain::Regression { dimension, feature_bound, reward_bound, split, structure }
    }

    /// A [`Domain::Merged`] with the default split.
    pub fn merged(pattern: Merging, feature_bound: f64, reward_bound: f64) -> Self {
        Domain::Merged { pattern, feature_bound, reward_bound, split: DEFAULT_SPLIT }
    }

    /// The pattern of merged sums, if it has any.
    pub(crate) fn pattern(&self) -> Option<&Merging> {
        match self {
            Domain::Merged { pattern, .. } => Some(pattern),
            _ => None,
        }
    }

    /// The regression with one number for each entry of `x x^T`, where this one merges them.
    pub fn dense(&self) -> Self {
        match *self {
            Domain::Merged { ref pattern, feature_bound, reward_bound, split } => {
                Domain::regression(pattern.dimension(), feature_bound, reward_bound).split_as(split)
            }
            _ => self.clone(),
        }
    }

    /// The same with another share of the vector part, where it is a regression.
    pub(crate) fn split_as(mut self, given: f64) -> Self {
        if let Domain::Regression { split, .. } | Domain::Merged { split, .. } = &mut self {
            *split = given;
        }
        self
    }

    /// The same with parameters divided into blocks, where it is a regression.
    pub fn structured(mut self, given: Structure) -> Self {
        if let Domain::Regression { structure, .. } = &mut self {
            *structure = given;
        }
        self
    }

    /// Refuses dimensions, bounds and splits that no guarantee can be built on.
    pub fn check(&self) -> Result<()> {
        const LARGEST: usize = 1 << 12;
        if let Some(pattern) = self.pattern() {
            pattern.check()?;
            return self.dense().check();
        }
        let refused = !(1..=LARGEST).contains(&self.dimension());
        let remedy = format_args!("expected 1 to {LARGEST}");
        refuse_if(refused, "dimension", self.dimension(), remedy)?;
        match *self {
            Domain::Vector { bound, .. } | Domain::Symmetric { bound, .. } => {
                positive("bound", bound)?;
            }
            // It has been checked as the dense one.
            Domain::Merged { .. } => {}
            Domain::Regression { dimension, feature_bound, reward_bound, split, structure } => {
                structure.check(dimension)?;
                let kept = self.coordinates();
                let remedy =
                    format_args!("{kept} numbers would be kept; expected fewer or smaller blocks");
                let refused = kept > triangle(LARGEST) + LARGEST;
                refuse_if(refused, "blocks", structure.blocks, remedy)?;
                positive("feature_bound", feature_bound)?;
                positive("reward_bound", reward_bound)?;
                positive("split", split)?;
                let remedy = "expected a number from 1e-6 to 1e6";
                refuse_if(!(1e-6..=1e6).contains(&split), "split", split, remedy)?;
            }
        }
        Ok(())
    }

    /// Length of the vector a person holds.
    pub fn dimension(&self) -> usize {
        match *self {
            Domain::Vector { dimension, .. }
            | Domain::Symmetric { dimension, .. }
            | Domain::Regression { dimension, .. } => dimension,
            Domain::Merged { ref pattern, .. } => pattern.dimension(),
        }
    }

    /// Largest norm of features and largest reward, where it has rewards.
    pub(crate) fn bounds(&self) -> Option<(f64, f64)> {
        match *self {
            Domain::Regression { feature_bound, reward_bound, .. }
            | Domain::Merged { feature_bound, reward_bound, .. } => {
                Some((feature_bound, reward_bound))
            }
            _ => None,
        }
    }

    /// Block of parameters that a contribution belongs to.
    pub fn structure(&self) -> Structure {
        match *self {
            Domain::Regression { structure, .. } => structure,
            _ => Structure::DENSE,
        }
    }

    pub(crate) fn layout(&self) -> Layout {
        Layout::new(self.dimension(), self.structure())
    }

    /// Numbers kept of the upper triangle of the matrix part, or of its merged sums; 0 if there is none.
    pub fn matrix_coordinates(&self) -> usize {
        match *self {
            Domain::Vector { .. } => 0,
            Domain::Symmetric { dimension, .. } => {
                dimension.saturating_mul(dimension.saturating_add(1)) / 2
            }
            Domain::Regression { .. } => self.layout().matrix(),
            Domain::Merged { ref pattern, .. } => pattern.count(),
        }
    }

    /// Numbers in the vector part, 0 if there is none.
    pub fn vector_coordinates(&self) -> usize {
        match *self {
            Domain::Symmetric { .. } => 0,
            Domain::Vector { dimension, .. } => dimension,
            Domain::Regression { .. } | Domain::Merged { .. } => self.layout().vector(),
        }
    }

    /// Numbers in one contribution: the upper triangle by rows, block after block, or its merged sums, then the vector part.
    pub fn coordinates(&self) -> usize {
        self.matrix_coordinates().saturating_add(self.vector_coordinates())
    }

    /// Largest weighted l2 distance between two contributions.
    pub fn sensitivity(&self) -> f64 {
        match *self {
            Domain::Vector { bound, .. } => 2.0 * bound,
            Domain::Symmetric { dimension: 1, bound } => bound * bound * FRAC_1_SQRT_2,
            Domain::Symmetric { bound, .. } => bound * bound,
            Domain::Regression { dimension, feature_bound, split, structure, .. } => {
                let unit = match dimension {
                    1 if structure.blocks == 1 => sensitivity_on_the_line(split),
                    1 => (1.0 + 2.0 * split).max(4.0 * split).sqrt(),
                    _ if split <= 1.0 => 1.0 + split,
                    _ => 2.0 * split.sqrt(),
                };
                feature_bound * feature_bound * unit
            }
            // The sums are a projection of the dense entries.
            Domain::Merged { .. } => self.dense().sensitivity(),
        }
    }

    /// The same if a contribution may also be replaced by one at another step, or by none: see the lemma in `schedule`.
    pub(crate) fn sensitivity_across_steps(&self) -> f64 {
        // The largest weighted norm of one contribution.
        let norm = match *self {
            Domain::Vector { bound, .. } => bound,
            Domain::Symmetric { bound, .. } => bound * bound * FRAC_1_SQRT_2,
            Domain::Regression { feature_bound, split, .. } => {
                feature_bound * feature_bound * (0.5 + split).sqrt()
            }
            Domain::Merged { .. } => return self.dense().sensitivity_across_steps(),
        };
        self.sensitivity().max(SQRT_2 * norm)
    }

    /// Noise of each coordinate in units of the common sigma.
    pub fn noise_ratios(&self) -> Vec<f64> {
        let vector_ratio = match *self {
            Domain::Regression { feature_bound, reward_bound, split, .. }
            | Domain::Merged { feature_bound, reward_bound, split, .. } => {
                reward_bound / (feature_bound * split.sqrt())
            }
            _ => 1.0,
        };
        let mut ratios = Vec::with_capacity(self.coordinates());
        if let Some(pattern) = self.pattern() {
            ratios.extend(pattern.noise_ratios());
        } else if self.matrix_coordinates() > 0 {
            let Structure { blocks, shared } = self.structure();
            let mut rows = |longest: usize, shortest: usize| {
                for length in (shortest..=longest).rev() {
                    ratios.push(SQRT_2);
                    ratios.extend(std::iter::repeat_n(1.0, length - 1));
                }
            };
            (0..blocks).for_each(|_| rows(self.dimension(), shared + 1));
            rows(shared, 1);
        }
        ratios.extend(std::iter::repeat_n(vector_ratio, self.vector_coordinates()));
        ratios
    }
}

/// Sensitivity of a regression in one dimension with L = 1.
fn sensitivity_on_the_line(split: f64) -> f64 {
    // The smaller root of t (1 - t) = split, written without cancellation.
    let inner = if split < 0.25 {
        let t = 2.0 * split / (1.0 + (1.0 - 4.0 * split).sqrt());
        0.5 * cube(1.0 + t) * (1.0 - t)
    } else {
        0.0
    };
    inner.max(4.0 * split).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Weighted distance between two regression contributions in the plane, L = B = 1.
    fn distance(domain: &Domain, first: [f64; 3], second: [f64; 3]) -> f64 {
        let entries = |[a, b, y]: [f64; 3]| [a * a, a * b, b * b, a * y, b * y];
        let (first, second) = (entries(first), entries(second));
        let ratios = domain.noise_ratios();
        (0..domain.coordinates())
            .map(|c| ((first[c] - second[c]) / ratios[c]).powi(2))
            .sum::<f64>()
            .sqrt()
    }

    fn unit(radius: f64, angle: f64, y: f64) -> [f64; 3] {
        [radius * angle.cos(), radius * angle.sin(), y]
    }

    proptest! {
        #[test]
        fn no_pair_exceeds_the_sensitivity(
            split in 0.01_f64..4.0, p in 0.0_f64..1.0, q in 0.0_f64..1.0, angle in 0.0_f64..7.0, y in -1.0_f64..1.0, z in -1.0_f64..1.0,
        ) {
            let (first, second) = (unit(p, 0.0, y), unit(q, angle, z));
            for domain in [
                Domain::Regression { dimension: 2, feature_bound: 1.0, reward_bound: 1.0, split, structure: Structure::DENSE },
                Domain::Symmetric { dimension: 2, bound: 1.0 },
            ] {
                prop_assert!(distance(&domain, first, second) <= domain.sensitivity() + 1e-12);
            }
        }

        #[test]
        fn splits_and_bounds_outside_their_range_are_refused(
            value in prop_oneof![Just(f64::NAN), Just(f64::INFINITY), Just(0.0), -1e9_f64..0.0], over in 1.000_001e6_f64..1e9,
        ) {
            for bad in [
                Domain::Vector { dimension: 2, bound: value },
                Domain::Symmetric { dimension: 2, bound: value },
                Domain::regression(2, value, 1.0),
                Domain::regression(2, 1.0, value),
                Domain::Regression { dimension: 2, feature_bound: 1.0, reward_bound: 1.0, split: value, structure: Structure::DENSE },
                Domain::Regression { dimension: 2, feature_bound: 1.0, reward_bound: 1.0, split: over, structure: Structure::DENSE },
                Domain::Vector { dimension: 0, bound: 1.0 },
            ] {
                let refused = matches!(bad.check(), Err(crate::Error::Invalid { .. }));
                prop_assert!(refused);
            }
        }
    }

    /// Every pair of contributions of the line on a grid, the sensitivity from above and from below.
    #[test]
    fn on_the_line_the_sensitivity_is_what_a_search_finds() {
        let steps = 200;
        let grid = |from: f64, to: f64| {
            (0..=steps).map(move |i| from + (to - from) * f64::from(i) / f64::from(steps))
        };
        for split in [1e-4_f64, 0.01, 0.1, 0.18, 0.181, 0.24, 0.25, 0.4, 1.0, 3.0] {
            let regression = Domain::Regression {
                dimension: 1,
                feature_bound: 1.0,
                reward_bound: 1.0,
                split,
                structure: Structure::DENSE,
            };
            let symmetric = Domain::Symmetric { dimension: 1, bound: 1.0 };
            let (mut joint, mut square) = (0.0_f64, 0.0_f64);
            for x in grid(-1.0, 1.0) {
                for z in grid(0.0, 1.0) {
                    square = square.max((x * x - z * z).abs() / SQRT_2);
                    for (y, w) in [(1.0, 1.0), (1.0, -1.0), (0.3, -0.8)] {
                        let moved = ((x * x - z * z).powi(2) / 2.0
                            + split * (x * y - z * w).powi(2))
                        .sqrt();
                        joint = joint.max(moved);
                    }
                }
            }
            let stated = regression.sensitivity();
            assert!(
                joint <= stated * (1.0 + 1e-12) && joint > 0.999 * stated,
                "{split}: {joint} {stated}"
            );
            assert!((symmetric.sensitivity() - square).abs() < 1e-12);
            // Planted: 2 sqrt r, the distance of (1, 1) and (1, -1), is not the largest where the split is small.
            assert_eq!(joint > 2.0 * split.sqrt() * (1.0 + 1e-9), split <= 0.18, "{split}");
            // In the plane more is possible.
            let plane = Domain::Regression {
                dimension: 2,
                feature_bound: 1.0,
                reward_bound: 1.0,
                split,
                structure: Structure::DENSE,
            };
            assert!(stated < plane.sensitivity() || split >= 1.0);
        }
    }

    #[test]
    fn at_steps_whose_columns_are_orthogonal_two_contributions_count_in_full() {
        // With orthogonal unit columns the square of the distance is |v|^2 + |v'|^2, here twice that of (1, 1): 1 + 2r.
        for split in [0.1_f64, 0.4, 0.6, 2.0] {
            for dimension in [1, 2] {
                let domain = Domain::Regression {
                    dimension,
                    feature_bound: 2.0,
                    reward_bound: 3.0,
                    split,
                    structure: Structure::DENSE,
                };
                let moved = 4.0 * (1.0 + 2.0 * split).sqrt();
                let across = domain.sensitivity_across_steps();
                assert!(across >= moved * (1.0 - 1e-15), "{dimension} {split}");
                // Planted: in one dimension the distance at one step is too small for two.
                let too_small = domain.sensitivity() < moved * (1.0 - 1e-9);
                assert_eq!(too_small, dimension == 1 && split < 0.5, "{dimension} {split}");
                assert_eq!(across == domain.sensitivity(), !too_small);
            }
        }
        for domain in [
            Domain::Symmetric { dimension: 1, bound: 2.0 },
            Domain::Vector { dimension: 1, bound: 2.0 },
        ] {
            assert!((domain.sensitivity_across_steps() - 4.0).abs() < 1e-12);
        }
    }

    #[test]
    fn the_sensitivities_are_attained() {
        // So a sensitivity of half the size would be too small.
        let split: f64 = 0.4;
        let regression = Domain::regression(2, 1.0, 1.0);
        let worst = distance(&regression, unit(1.0, 0.0, 1.0), unit(1.0, split.acos(), -1.0));
        assert!((worst - regression.sensitivity()).abs() < 1e-12);
        let heavy = Domain::Regression {
            dimension: 2,
            feature_bound: 1.0,
            reward_bound: 1.0,
            split: 3.0,
            structure: Structure::DENSE,
        };
        let worst = distance(&heavy, unit(1.0, 0.2, 1.0), unit(1.0, 0.2, -1.0));
        assert!((worst - heavy.sensitivity()).abs() < 1e-12);
        let symmetric = Domain::Symmetric { dimension: 2, bound: 1.0 };
        let worst = distance(
            &symmetric,
            unit(1.0, 0.3, 0.0),
            unit(1.0, 0.3 + std::f64::consts::FRAC_PI_2, 0.0),
        );
        assert!((worst - symmetric.sensitivity()).abs() < 1e-12);
    }
}
