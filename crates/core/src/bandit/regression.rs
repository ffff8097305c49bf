//! The ridge regression behind a policy that learns every round: [`Ridge`] or [`HybridRidge`] with its solution in the policy.

use serde::{Deserialize, Serialize};

use super::{Ensemble, Policy};
use crate::{
    Error, Result,
    linalg::{
        hybrid::HybridRidge,
        ridge::{Ridge, Solution},
        triangle,
    },
    release::Structure,
};

/// Sums, and the policy made from them; its owner keeps the policy's width.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Regression {
    sums: Sums,
    policy: Policy,
    /// Room for `V^-1 x`.
    #[serde(skip)]
    direction: Vec<f64>,
}

/// Blocks without a shared part are regressions of their own.
#[derive(Debug, Clone, Serialize, Deserialize)]
enum Sums {
    Blocks(Vec<Ridge>),
    Hybrid(HybridRidge),
}

impl Regression {
    /// Nothing observed. The regulariser is above 0 and neither it nor its inverse above 1e50.
    pub(super) fn new(
        dimension: usize,
        structure: Structure,
        regularizer: f64,
        width: f64,
        ensemble: Option<Ensemble>,
    ) -> Self {
        let ridge = Ridge::new(dimension, regularizer);
        let (theta, whitening) = ridge.cold();
        let repeated = |part: Vec<f64>| part.repeat(structure.blocks);
        let policy =
            Policy::new(dimension, structure, repeated(theta), repeated(whitening), width, 0.0);
        let policy = match ensemble {
            Some(ensemble) => policy.with_ensemble(ensemble),
            None => policy,
        };
        let sums = match structure.shared {
            0 => Sums::Blocks(vec![ridge; structure.blocks]),
            _ => Sums::Hybrid(HybridRidge::new(dimension, structure, regularizer)),
        };
        Regression { sums, policy, direction: vec![0.0; dimension] }
    }

    /// Learns that features `x` of a block, not above 1e50 in size, were answered by `y`.
    pub(super) fn observe(&mut self, block: usize, x: &[f64], y: f64) {
        let Policy { theta, whitening, .. } = &mut self.policy;
        match &mut self.sums {
            Sums::Blocks(ridges) => {
                let (n, entries) = (x.len(), triangle(x.len()));
                let theta = &mut theta[block * n..][..n];
                let whitening = &mut whitening[block * entries..][..entries];
                let direction = &mut self.direction;
                ridges[block].observe(x, y, Solution { theta, whitening, direction });
            }
            Sums::Hybrid(ridge) => ridge.observe(block, x, y, theta, whitening),
        }
    }

    /// Takes sums of many observations, laid out as in a release, without a new policy: [`Regression::refresh`] makes it.
    pub(super) fn add(&mut self, gram: &[f64], moment: &[f64], rounds: u64) {
        match &mut self.sums {
            Sums::Blocks(ridges) => {
                let count = ridges.len();
                let parts =
                    gram.chunks(gram.len() / count).zip(moment.chunks(moment.len() / count));
                // Only their sum counts.
                let rounds = std::iter::once(rounds).chain(std::iter::repeat(0));
                for ((ridge, (gram, moment)), rounds) in ridges.iter_mut().zip(parts).zip(rounds) {
                    ridge.add(gram, moment, rounds);
                }
            }
            Sums::Hybrid(ridge) => ridge.add(gram, moment, rounds),
        }
    }

    /// As [`Regression::observe`], without a new policy.
    pub(super) fn accumulate(&mut self, block: usize, x: &[f64], y: f64) {
        match &mut self.sums {
            Sums::Blocks(ridges) => ridges[block].accumulate(x, y),
            Sums::Hybrid(ridge) => ridge.accumulate(block, x, y),
        }
    }

    /// Multiplies the sums by `kept`, from 0 to 1, and leaves the policy as it is.
    pub(super) fn forget(&mut self, kept: f64) {
        match &mut self.sums {
            Sums::Blocks(ridges) => ridges.iter_mut().for_each(|ridge| ridge.forget(kept)),
            Sums::Hybrid(ridge) => ridge.forget(kept),
        }
    }

    /// Makes the policy anew from the sums.
    pub(super) fn refresh(&mut self) {
        let n = self.policy.dimension();
        let Policy { theta, whitening, .. } = &mut self.policy;
        match &mut self.sums {
            Sums::Blocks(ridges) => {
                let parts = theta.chunks_mut(n).zip(whitening.chunks_mut(triangle(n)));
                for (ridge, (theta, whitening)) in ridges.iter_mut().zip(parts) {
                    ridge.refresh(theta, whitening);
                }
            }
            Sums::Hybrid(ridge) => ridge.refresh(theta, whitening),
        }
    }

    /// Takes a policy that was made from the sums elsewhere.
    pub(super) fn follow(&mut self, policy: Policy) {
        self.policy = policy;
    }

    pub(super) fn policy(&self) -> &Policy {
        &self.policy
    }

    pub(super) fn set_width(&mut self, width: f64) {
        self.policy.width = width;
    }

    /// Draws another ensemble, where there is one.
    pub(super) fn reseed(&mut self, seed: u64) {
        self.policy.reseed(seed);
    }

    pub(super) fn rounds(&self) -> u64 {
        match &self.sums {
            Sums::Blocks(ridges) => ridges.iter().map(Ridge::rounds).sum(),
            Sums::Hybrid(ridge) => ridge.rounds(),
        }
    }

    /// `ln det V - d ln rho` over all parameters.
    pub(super) fn ln_growth(&self) -> f64 {
        match &self.sums {
            Sums::Blocks(ridges) => ridges.iter().map(Ridge::ln_growth).sum(),
            Sums::Hybrid(ridge) => ridge.ln_growth(),
        }
    }

    /// `sum y x` of a regression with one block.
    pub(super) fn moment(&self) -> &[f64] {
        match &self.sums {
            Sums::Blocks(ridges) => ridges[0].moment(),
            Sums::Hybrid(ridge) => ridge.moment(),
        }
    }

    /// Upper triangle of `sum x x^T` of a regression with one block, row by row.
    pub(super) fn gram(&self) -> &[f64] {
        match &self.sums {
            Sums::Blocks(ridges) => ridges[0].gram(),
            Sums::Hybrid(ridge) => ridge.gram(),
        }
    }

    /// Makes a deserialised regression whole, or refuses one that does not fit.
    pub(super) fn revive(
        &mut self,
        dimension: usize,
        structure: Structure,
        regularizer: f64,
    ) -> Result<()> {
        self.policy.check_parts(dimension, structure)?;
        let other = |found: f64| {
            let remedy = format!("the parameters say {regularizer}; restore another copy");
            Err(Error::invalid("saved regularizer", found, remedy))
        };
        let Policy { theta, whitening, .. } = &self.policy;
        match &mut self.sums {
            Sums::Blocks(ridges) if ridges.len() == structure.blocks && structure.shared == 0 => {
                let parts = theta.chunks(dimension).zip(whitening.chunks(triangle(dimension)));
                for (ridge, (theta, whitening)) in ridges.iter().zip(parts) {
                    ridge.check(dimension, theta, whitening)?;
                    if ridge.regularizer() != regularizer {
                        return other(ridge.regularizer());
                    }
                }
            }
            Sums::Hybrid(ridge) if structure.shared > 0 => {
                ridge.check(dimension, structure)?;
                if ridge.regularizer() != regularizer {
                    return other(ridge.regularizer());
                }
            }
            _ => {
                let remedy = "the parameters have others; restore another copy";
                return Err(Error::invalid("saved blocks", structure.blocks, remedy));
            }
        }
        if self.policy.drift() != 0.0 {
            let remedy = "exact sums have none; restore another copy";
            return Err(Error::invalid("saved drift", self.policy.drift(), remedy));
        }
        self.direction = vec![0.0; dimension];
        Ok(())
    }
}
