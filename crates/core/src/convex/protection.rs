//! Protection of a loss, and the running sum that implements it.
//!
//! ```text
//! gradient estimate of a round:  (n' / zeta) (v - b) u,   v in [low, high] the clipped value, u public, |u| = 1
//! ```
//!
//! **Sensitivity.** Directions are drawn independently of the losses and taken to be public. Replacing one
//! loss changes one clipped value, hence the sum of all estimates by `(n' / zeta) |v - v'| |u| <= Delta = n' (high - low) /
//! zeta`, whatever the batch: with a range of [0, L D] that is `n' L D / zeta`, and Lemma 5.3 is not needed. Measured from
//! the middle of the range, every estimate has length at most Delta / 2, so the running sum of vectors of that bound
//! has exactly this sensitivity. The middle times the sum of the public directions is added back after the release
//! where no baseline is wanted.
//!
//! **Quantisation.** The estimate is truncated towards zero on the sum's grid, which keeps its length at most Delta / 2 in
//! exact integers (`release::Clipper`): it costs nothing. A locally protected value is
//! [`ValueLaplace`](crate::randomize::ValueLaplace)'s.

use serde::{Deserialize, Serialize};

use crate::{
    Error, Result,
    noise::Noise,
    release::{
        Calibration, Domain, Mechanism, PrivateSum, PrivateSumParams, PrivateSumPlan, Schedule,
    },
};

/// Party that the people behind the losses have to trust, and the budget.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Protection {
    /// No protection.
    None,
    /// A trusted curator who releases running sums under Gaussian noise.
    Central {
        /// Requested epsilon.
        epsilon: f64,
        /// Requested delta.
        delta: f64,
        /// Correlation of the noise over time.
        #[serde(default)]
        mechanism: Mechanism,
    },
    /// A trusted curator who releases running sums in a tree under Laplace noise: delta = 0.
    CentralPure {
        /// Requested epsilon.
        epsilon: f64,
    },
    /// No trusted party: each value gets Laplace noise before it leaves the person. delta = 0.
    Local {
        /// Requested epsilon.
        epsilon: f64,
    },
}

impl Protection {
    /// Central protection under the default mechanism.
    pub fn central(epsilon: f64, delta: f64) -> Self {
        Protection::Central { epsilon, delta, mechanism: Mechanism::default() }
    }
}

/// Number of rounds between releases, and how large an estimate is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct Estimates {
    pub(super) dimension: usize,
    pub(super) horizon: u64,
    pub(super) batch: u64,
    pub(super) low: f64,
    pub(super) high: f64,
    /// n' / zeta.
    pub(super) scale: f64,
    /// True if estimates are measured from the middle of the range, not from 0.
    pub(super) from_middle: bool,
    pub(super) contributions_per_person: u64,
}

/// The same number, computed here or on another machine.
pub(super) fn agree(one: f64, two: f64) -> bool {
    // By the smaller of the two, so that no number agrees with an infinite one.
    one == two || (one - two).abs() <= 1e-9 * one.abs().min(two.abs())
}

impl Estimates {
    /// Returns whether they follow from the same parameters.
    pub(super) fn agree(&self, other: &Self) -> bool {
        let rounded = |of: &Self| Estimates { low: 0.0, high: 0.0, scale: 0.0, ..*of };
        rounded(self) == rounded(other)
            && agree(self.low, other.low)
            && agree(self.high, other.high)
            && agree(self.scale, other.scale)
    }

    fn middle(&self) -> f64 {
        0.5 * (self.low + self.high)
    }

    /// Number subtracted from a value in an estimate that no private sum has centred.
    fn baseline(&self) -> f64 {
        if self.from_middle { self.middle() } else { 0.0 }
    }

    /// The running sum that protects them.
    pub(super) fn sum(&self, mechanism: Mechanism, calibration: Calibration) -> PrivateSumParams {
        let bound = 0.5 * (self.high - self.low) * self.scale;
        PrivateSumParams {
            mechanism,
            schedule: Schedule::CappedGeometric {
                first: self.batch,
                least: self.batch,
                rate: 0.0,
                most: self.batch,
            },
            contributions_per_person: self.contributions_per_person,
            ..PrivateSumParams::new(
                Domain::Vector { dimension: self.dimension, bound },
                Some(self.horizon),
                calibration,
            )
        }
    }
}

/// The running sum of a learner.
pub(super) enum Aggregate<N> {
    /// Sums of values that need no protection here: none is wanted, or they came protected.
    Plain(PlainSum<N>),
    Private(Box<CentralSum<N>>),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct PlainSum<N> {
    estimates: Estimates,
    rounds: u64,
    sum: Vec<f64>,
    noise: N,
}

pub(super) struct CentralSum<N> {
    estimates: Estimates,
    sum: PrivateSum<N>,
    /// The middle times the directions so far, where no baseline is wanted: public.
    public: Vec<f64>,
    scratch: Vec<f64>,
}

impl<N: Noise> PlainSum<N> {
    pub(super) fn start(estimates: Estimates, noise: N) -> Self {
        PlainSum { estimates, rounds: 0, sum: vec![0.0; estimates.dimension], noise }
    }

    /// Draws other noise from here on than a copy of this one.
    pub(super) fn refresh(&mut self) -> Result<()> {
        self.noise.refresh()
    }

    fn absorb(&mut self, direction: &[f64], value: f64) -> Result<Option<Vec<f64>>> {
        if self.rounds == self.estimates.horizon {
            let (round, horizon) = (self.rounds + 1, self.rounds);
            return Err(Error::HorizonExceeded { round, horizon });
        }
        let weight = self.estimates.scale * (value - self.estimates.baseline());
        self.sum.iter_mut().zip(direction).for_each(|(sum, u)| *sum += weight * u);
        self.rounds += 1;
        Ok(self.rounds.is_multiple_of(self.estimates.batch).then(|| self.sum.clone()))
    }
}

impl<N: Noise> CentralSum<N> {
    pub(super) fn start(estimates: Estimates, plan: PrivateSumPlan, noise: N) -> Self {
        CentralSum::resumed(estimates, plan.start(noise), vec![0.0; estimates.dimension])
    }

    pub(super) fn resumed(estimates: Estimates, sum: PrivateSum<N>, public: Vec<f64>) -> Self {
        CentralSum { estimates, sum, public, scratch: vec![0.0; estimates.dimension] }
    }

    fn absorb(&mut self, direction: &[f64], value: f64) -> Result<Option<Vec<f64>>> {
        let Estimates { low, high, scale, from_middle, .. } = self.estimates;
        let weight = scale * (value.clamp(low, high) - self.estimates.middle());
        self.scratch.iter_mut().zip(direction).for_each(|(x, u)| *x = weight * u);
        let contribution = self.sum.clip(&self.scratch)?;
        let release = self.sum.absorb(&contribution)?;
        if !from_middle {
            let weight = scale * self.estimates.middle();
            self.public.iter_mut().zip(direction).for_each(|(sum, u)| *sum += weight * u);
        }
        Ok(release.map(|release| {
            release.vector().iter().zip(&self.public).map(|(sum, public)| sum + public).collect()
        }))
    }

    pub(super) fn sum(&self) -> &PrivateSum<N> {
        &self.sum
    }

    pub(super) fn public(&self) -> &[f64] {
        &self.public
    }

    /// See [`PrivateSum::branch`].
    pub(super) fn branch(&mut self) -> Result<()> {
        self.sum.branch()
    }
}

impl<N: Noise> Aggregate<N> {
    /// Adds a round's estimate; the sums so far if a batch is full. An error changes nothing.
    #[inline]
    pub(super) fn absorb(&mut self, direction: &[f64], value: f64) -> Result<Option<Vec<f64>>> {
        match self {
            Aggregate::Plain(sum) => sum.absorb(direction, value),
            Aggregate::Private(sum) => sum.absorb(direction, value),
        }
    }

    /// The generator.
    #[inline]
    pub(super) fn source(&mut self) -> &mut N {
        match self {
            Aggregate::Plain(sum) => &mut sum.noise,
            Aggregate::Private(sum) => sum.sum.source(),
        }
    }

    pub(super) fn into_source(self) -> N {
        match self {
            Aggregate::Plain(sum) => sum.noise,
            Aggregate::Private(sum) => sum.sum.into_source(),
        }
    }

    /// Values absorbed so far.
    pub(super) fn rounds(&self) -> u64 {
        match self {
            Aggregate::Plain(sum) => sum.rounds,
            Aggregate::Private(sum) => sum.sum.rounds(),
        }
    }
}
