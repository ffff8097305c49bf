//! The upper confidence bound: all that LinUCB is, once the statistics are given.
//!
//! ```text
//! UCB(x) = <theta, x> + width ||x||_{V^-1} + drift ||V^-1 x||_2
//! ```
//!
//! With `V = L L^T` and `W = L^-1`, `||x||_{V^-1} = ||W x||` and `V^-1 x = W^T (W x)`. The last term is zero in the
//! textbook policy; with noisy statistics it pays for what the noise may have done to theta.
//!
//! With parameters divided into blocks ([`Structure`]) an arm is scored by its block's theta and W, over the block's parameters and
//! the shared ones; the shared part of theta stands in every block.
//!
//! Under Thompson sampling (`ensemble`) parameters are drawn from `N(theta, width^2 W^T W)` instead.

use serde::{Deserialize, Serialize};

use super::Ensemble;
use crate::{
    Error, Result,
    error::{finite_vector, not_negative},
    linalg::{dot, lanes::Bound, triangle},
    refuse_if,
    release::Structure,
    wire,
};

/// A fixed rule for choosing arms; it holds nothing that was not released.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    /// n: features of an arm.
    dimension: usize,
    #[serde(default)]
    structure: Structure,
    /// n entries a block.
    pub(super) theta: Vec<f64>,
    /// `W = L^-1`, lower triangular, row by row: row i has i + 1 entries. One for each block.
    pub(super) whitening: Vec<f64>,
    pub(super) width: f64,
    drift: f64,
    /// Thompson sampling in place of the upper confidence bound.
    ensemble: Option<Ensemble>,
}

impl wire::Checked for Policy {
    /// As it is read it could have parts of unequal size.
    fn check_message(&self) -> Result<()> {
        self.check_parts(self.dimension, self.structure)
    }
}

impl wire::Message for Policy {
    const KIND: wire::Kind = wire::kinds::POLICY;
}

impl Policy {
    /// The policy with these parts; `whitening` is `W`, lower triangular, row by row. Both are those of one block after the other.
    pub(crate) fn new(
        dimension: usize,
        structure: Structure,
        theta: Vec<f64>,
        whitening: Vec<f64>,
        width: f64,
        drift: f64,
    ) -> Self {
        debug_assert_eq!(theta.len(), structure.blocks * dimension);
        debug_assert_eq!(whitening.len(), structure.blocks * triangle(dimension));
        Policy { dimension, structure, theta, whitening, width, drift, ensemble: None }
    }

    /// The policy of one block.
    #[cfg(test)]
    pub(crate) fn dense(theta: Vec<f64>, whitening: Vec<f64>, width: f64, drift: f64) -> Self {
        Policy::new(theta.len(), Structure::DENSE, theta, whitening, width, drift)
    }

    /// The same by Thompson sampling: the width and `W` are those of the law that parameters are drawn from.
    pub fn with_ensemble(mut self, ensemble: Ensemble) -> Self {
        self.ensemble = Some(ensemble);
        self
    }

    /// Draws another ensemble, if there is one, from a public seed.
    pub(super) fn reseed(&mut self, seed: u64) {
        if let Some(ensemble) = &mut self.ensemble {
            ensemble.reseed(seed);
        }
    }

    /// Rule by which parameters are drawn, under Thompson sampling.
    pub fn ensemble(&self) -> Option<&Ensemble> {
        self.ensemble.as_ref()
    }

    /// The policy with these parts, from outside a learner: for simulations and for replaying saved policies.
    /// `whitening` is `W`, lower triangular, row by row.
    ///
    /// ```
    /// use reticent::bandit::Policy;
    /// let policy = Policy::from_parts(vec![0.5, 0.0], vec![0.1, 0.0, 0.2], 2.0, 0.0)?;
    /// assert_eq!(policy.bound(&[1.0, 0.0]), 0.7);
    /// assert!(Policy::from_parts(vec![0.5, 0.0], vec![0.1, 0.2], 2.0, 0.0).is_err());
    /// assert!(Policy::from_parts(vec![0.5, f64::NAN], vec![0.1, 0.0, 0.2], 2.0, 0.0).is_err());
    /// # Ok::<(), reticent::Error>(())
    /// ```
    pub fn from_parts(
        theta: Vec<f64>,
        whitening: Vec<f64>,
        width: f64,
        drift: f64,
    ) -> Result<Self> {
        let dimension = theta.len();
        Policy::in_blocks(dimension, Structure::DENSE, theta, whitening, width, drift)
    }

    /// The same with parameters in blocks: n entries of theta and a `W` of n rows for each, one block after the other.
    pub fn in_blocks(
        dimension: usize,
        structure: Structure,
        theta: Vec<f64>,
        whitening: Vec<f64>,
        width: f64,
        drift: f64,
    ) -> Result<Self> {
        refuse_if(dimension == 0, "theta", "an empty list", "expected at least one entry")?;
        structure.check(dimension)?;
        finite_vector("theta", &theta, structure.blocks.saturating_mul(dimension))?;
        let entries = structure.blocks.saturating_mul(triangle(dimension));
        finite_vector("whitening", &whitening, entries)?;
        not_negative("width", width)?;
        not_negative("drift", drift)?;
        Ok(Policy::new(dimension, structure, theta, whitening, width, drift))
    }

    /// The same policy for arms that are `bound` times as long as those it was made for.
    pub(super) fn for_features_divided_by(self, bound: f64) -> Result<Self> {
        let scale = |values: Vec<f64>| values.iter().map(|v| v / bound).collect();
        let (theta, whitening) = (scale(self.theta), scale(self.whitening));
        let (dimension, structure) = (self.dimension, self.structure);
        let (width, drift) = (self.width, self.drift / bound);
        let policy = Policy::in_blocks(dimension, structure, theta, whitening, width, drift)?;
        // Draws of the old estimate are not those of the new one.
        let ensemble = self.ensemble.map(|mut ensemble| {
            ensemble.redraw();
            ensemble
        });
        Ok(Policy { ensemble, ..policy })
    }

    /// Refuses a policy that was read and could not have been made, or is for another dimension or other blocks.
    pub(super) fn check_parts(&self, dimension: usize, structure: Structure) -> Result<()> {
        if self.dimension != dimension {
            let found = self.dimension;
            return Err(Error::Dimension { field: "policy", expected: dimension, found });
        }
        if self.structure != structure {
            let remedy = format!("it is for other parameters: {structure}");
            return Err(Error::invalid("policy", self.structure, remedy));
        }
        let (theta, whitening) = (self.theta.clone(), self.whitening.clone());
        Policy::in_blocks(dimension, structure, theta, whitening, self.width, self.drift)?;
        self.ensemble.iter().try_for_each(Ensemble::check)
    }

    /// Number of features an arm has.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// Structure of the parameters that arms touch.
    pub fn structure(&self) -> Structure {
        self.structure
    }

    /// The estimate of the unknown parameter; with blocks, that of one block and the shared part after the other.
    pub fn theta(&self) -> &[f64] {
        &self.theta
    }

    /// `W = L^-1` where `V = L L^T`, lower triangular, row by row; with blocks, one for each.
    pub fn whitening(&self) -> &[f64] {
        &self.whitening
    }

    /// The factor of `||x||_{V^-1}`.
    pub fn width(&self) -> f64 {
        self.width
    }

    /// The factor of `||V^-1 x||_2`.
    pub fn drift(&self) -> f64 {
        self.drift
    }

    /// The upper confidence bound of one arm: the plain form of what [`Policy::scores`] computes for many.
    /// Missing features count as zero, and surplus ones not at all. With blocks, the first one is asked.
    pub fn bound(&self, features: &[f64]) -> f64 {
        let mut padded = features.to_vec();
        padded.resize(self.dimension, 0.0);
        self.parts().of_block(0, &padded, &mut vec![0.0; self.dimension])
    }

    /// The upper confidence bound of one arm of a block.
    pub fn bound_in(&self, block: usize, features: &[f64]) -> Result<f64> {
        self.structure.expect(block)?;
        finite_vector("features", features, self.dimension)?;
        Ok(self.parts().of_block(block, features, &mut vec![0.0; self.dimension]))
    }

    /// `||x||_{V^-1}` and `||V^-1 x||_2` for features of a block, without a shared part.
    pub(super) fn norms(&self, block: usize, features: &[f64]) -> (f64, f64) {
        let mut rest = &self.whitening[block * triangle(self.dimension)..];
        let mut back = vec![0.0_f64; self.dimension];
        let mut white = 0.0_f64;
        for i in 0..self.dimension {
            let (row, below) = rest.split_at(i + 1);
            rest = below;
            let z = dot(row, &features[..=i]);
            white += z * z;
            back.iter_mut().zip(row).for_each(|(back, w)| *back += w * z);
        }
        (white.sqrt(), dot(&back, &back).sqrt())
    }

    pub(super) fn parts(&self) -> Bound<'_> {
        Bound {
            theta: &self.theta,
            whitening: &self.whitening,
            width: self.width,
            drift: self.drift,
        }
    }
}
