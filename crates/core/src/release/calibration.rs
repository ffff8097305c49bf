//! Calibration: the noise, in whole grid units, that gives a certain mu.
//!
//! ```text
//! mu = sensitivity * person_norm / sigma + rounding * sqrt(steps * sum_c 1 / sigma_c^2)
//! ```
//!
//! The first term is `||C Delta||` in units of the noise; the second is the cost of rounding C x to integers
//! (see `fixed`; about 1e-9, and 0 for the trees). Every sigma_c is rounded up to a whole number of units,
//! so the noise is never smaller than calibrated. A margin of 1e-9 covers floating point in the norms.
//!
//! **Pure privacy.** With discrete Laplace noise of scale b on every node of a tree, a person who moves the nodes by
//! Delta_1 in l1, all together, costs `epsilon = Delta_1 / b`. A vector of norm at most L has `|x - x'|_1 <= 2 L sqrt d`, and
//! it lies in one node per level. *The whole curve is that of one shift by Delta_1 on one integer.* Let delta_a(s) be
//! the curve of a shift a: it falls in s, its loss is at most a/b, and for `s >= -a/b` its positive terms, those below
//! half of `a - s b`, are the same as those of a longer shift with `a - s b` unchanged. Two shifts a >= c together have
//! `E delta_a(s - loss_c) <= delta_a(s - c/b) = delta_{a+c}(s)` for s >= 0, and for s < 0 by symmetry. Induction over the shifts, the
//! smallest one last, gives the claim.

use serde::{Deserialize, Serialize};

use super::{
    clip::{Clipper, power_of_two},
    factorization::Factorization,
};
use crate::{
    Error, Result,
    error::{positive, requested_epsilon},
    noise::{DiscreteGaussian, DiscreteLaplace, Noise},
    privacy::grid,
    refuse_if,
    special::square,
};

pub(super) const MARGIN: f64 = 1.0 + 1e-9;
/// Grids are chosen such that no noise is below 2^43 units.
const LEAST_SIGMA_BITS: i32 = 43;

/// Form in which the amount of noise is given.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Calibration {
    /// (epsilon, delta) of the whole stream, for one person with all their contributions.
    Budget {
        /// Requested epsilon.
        epsilon: f64,
        /// Requested delta.
        delta: f64,
    },
    /// The privacy parameter of the whole stream, for one person with all their contributions.
    Mu(f64),
    /// The deviation of the noise added to each entry of C x, in the units of the data; needs a horizon.
    Sigma(f64),
    /// Wishart noise on every node of a [`Mechanism::Tree`](super::Mechanism::Tree) of a regression, with exactly as many nodes in
    /// every prefix as the tree has levels (Shariff and Sheffet 2018, section 4.1); needs a horizon. Releases are not centred: the noise is
    /// positive semidefinite, and its mean is the learner's regulariser.
    Wishart {
        /// epsilon_0 of one node, below 1.
        node_epsilon: f64,
        /// delta_0 of one node, below 1/e.
        node_delta: f64,
    },
    /// Pure epsilon of the whole stream by Laplace noise: for vectors, in a tree, with a horizon.
    Pure {
        /// Requested epsilon, at delta = 0.
        epsilon: f64,
    },
    /// The scale of the Laplace noise added to each node of a tree, in the units of the data; needs a horizon.
    Scale(f64),
}

impl std::fmt::Display for Calibration {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Calibration::Budget { epsilon, delta } => {
                write!(formatter, "epsilon = {epsilon}, delta = {delta:e}")
            }
            Calibration::Mu(mu) => write!(formatter, "mu = {mu}"),
            Calibration::Sigma(sigma) => write!(formatter, "sigma = {sigma}"),
            Calibration::Wishart { .. } => formatter.write_str("Wishart noise"),
            Calibration::Pure { epsilon } => write!(formatter, "epsilon = {epsilon}, delta = 0"),
            Calibration::Scale(scale) => write!(formatter, "Laplace noise of scale {scale}"),
        }
    }
}

impl Calibration {
    /// The amount of noise over `coordinates` draws on the grid; a budget becomes the largest mu that it allows.
    ///
    /// Refuses numbers that are not finite or not above 0, and budgets out of range.
    pub(super) fn resolve(self, coordinates: f64) -> Result<Amount> {
        Ok(match self {
            Calibration::Budget { epsilon, delta } => {
                let sigma = power_of_two(LEAST_SIGMA_BITS);
                Amount::Mu(grid::largest_mu(epsilon, delta, coordinates, sigma)?)
            }
            Calibration::Mu(mu) => Amount::Mu(positive("mu", mu)?),
            Calibration::Sigma(sigma) => Amount::Sigma(positive("sigma", sigma)?),
            Calibration::Wishart { .. } => {
                let remedy = "it is made for the nodes of a tree: use a `Tree` and a known horizon";
                return Err(Error::invalid("calibration", "Wishart noise", remedy));
            }
            Calibration::Pure { epsilon } => Amount::Pure(requested_epsilon(epsilon)?),
            Calibration::Scale(scale) => Amount::Scale(positive("scale", scale)?),
        })
    }
}

/// A checked calibration.
pub(super) enum Amount {
    /// A given mu.
    Mu(f64),
    /// A given standard deviation.
    Sigma(f64),
    /// A given pure epsilon, by Laplace noise.
    Pure(f64),
    /// A given scale of Laplace noise.
    Scale(f64),
}

/// The noise of one coordinate, in whole grid units.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
enum Law {
    Gaussian(DiscreteGaussian),
    Laplace(DiscreteLaplace),
}

impl Law {
    /// Sigma or scale, in grid units.
    fn size(&self) -> f64 {
        match self {
            Law::Gaussian(law) => law.sigma() as f64,
            Law::Laplace(law) => law.scale(),
        }
    }
}

/// The noise of every coordinate, in whole grid units.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct GridNoise {
    laws: Vec<Law>,
    /// Deviation of one draw per coordinate, in the units of the data.
    deviations: Vec<f64>,
    /// The common sigma after rounding up: the least `deviation / ratio`.
    sigma: f64,
}

impl GridNoise {
    /// Noise of common deviation `sigma` or a little more.
    pub(super) fn new(clipper: &Clipper, sigma: f64) -> Result<Self> {
        GridNoise::with_ratios(clipper, &clipper.domain().noise_ratios(), sigma)
    }

    /// The same with `ratios` in place of the domain's own.
    pub(super) fn with_ratios(clipper: &Clipper, ratios: &[f64], sigma: f64) -> Result<Self> {
        let (mut laws, mut deviations, mut least) = (Vec::new(), Vec::new(), f64::INFINITY);
        for (ratio, exponent) in ratios.iter().zip(clipper.exponents()) {
            let unit = power_of_two(-exponent);
            let law = DiscreteGaussian::new((ratio * sigma / unit).ceil() as u64)?;
            let deviation = law.sigma() as f64 * unit;
            laws.push(Law::Gaussian(law));
            deviations.push(deviation);
            least = least.min(deviation / ratio);
        }
        Ok(GridNoise { laws, deviations, sigma: least })
    }

    /// Laplace noise of this scale or a little more, for domains whose coordinates share one scale.
    pub(super) fn laplace(clipper: &Clipper, scale: f64) -> Result<Self> {
        let unit = clipper.exponents().first().map_or(1.0, |exponent| power_of_two(-exponent));
        let law = DiscreteLaplace::new((scale / unit).ceil() as u64, 1)?;
        let deviation = law.variance().sqrt() * unit;
        let coordinates = clipper.domain().coordinates();
        Ok(GridNoise {
            laws: vec![Law::Laplace(law); coordinates],
            deviations: vec![deviation; coordinates],
            sigma: deviation,
        })
    }

    /// The least noise under which `factor` costs at most `mu` for a person who moves it by `distance`.
    pub(super) fn calibrate(
        clipper: &Clipper,
        factor: &dyn Factorization,
        distance: f64,
        mu: f64,
    ) -> Result<Self> {
        let first = GridNoise::new(clipper, distance / mu)?;
        let left = mu - first.rounding_cost(factor);
        let remedy = "the stream is so long that most of this mu would be spent on rounding; expected a larger mu";
        refuse_if(left <= 0.5 * mu, "mu", mu, remedy)?;
        GridNoise::new(clipper, distance / left * MARGIN)
    }

    /// The mu of the mechanism for a person who moves C x by `distance`, rounding included.
    pub(super) fn mu(&self, factor: &dyn Factorization, distance: f64) -> f64 {
        distance / self.sigma * MARGIN + self.rounding_cost(factor)
    }

    /// The same noise with that of appended coordinates: of each the law of an earlier one on the same grid with the same ratio.
    pub(super) fn appended(
        &self,
        earlier: &Clipper,
        later: &Clipper,
        places: &[Option<usize>],
    ) -> Result<Self> {
        let kinds = |clipper: &Clipper| {
            clipper.domain().noise_ratios().into_iter().zip(clipper.exponents()).collect::<Vec<_>>()
        };
        let (before, after) = (kinds(earlier), kinds(later));
        let place = |(place, kind): (&Option<usize>, &(f64, i32))| {
            place.or_else(|| before.iter().position(|other| other == kind)).ok_or_else(|| {
                let remedy = "an earlier stream has no coordinate of this kind: begin a new stream";
                Error::invalid("coordinates", "appended", remedy)
            })
        };
        let from: Vec<usize> = places.iter().zip(&after).map(place).collect::<Result<_>>()?;
        Ok(GridNoise {
            laws: from.iter().map(|at| self.laws[*at]).collect(),
            deviations: from.iter().map(|at| self.deviations[*at]).collect(),
            sigma: self.sigma,
        })
    }

    /// The share of steps that noise of more coordinates can take for the same number of draws and the same cost of rounding.
    pub(super) fn share_of(&self, longer: &GridNoise) -> f64 {
        let draws = self.laws.len() as f64 / longer.laws.len() as f64;
        // Floating point in the sums is covered twice over.
        draws.min(self.inverse_squares() / longer.inverse_squares()) / MARGIN
    }

    /// Sum of the inverse variances of one draw for each coordinate, in grid units.
    pub(super) fn inverse_squares(&self) -> f64 {
        self.laws.iter().map(|law| 1.0 / square(law.size())).sum()
    }

    pub(super) fn rounding_cost(&self, factor: &dyn Factorization) -> f64 {
        factor.rounding() * (factor.steps() as f64 * self.inverse_squares()).sqrt()
    }

    pub(super) fn draw(&self, coordinate: usize, noise: &mut impl Noise) -> i64 {
        match &self.laws[coordinate] {
            Law::Gaussian(law) => noise.discrete_gaussian(law),
            Law::Laplace(law) => noise.discrete_laplace(law),
        }
    }

    pub(super) fn deviations(&self) -> &[f64] {
        &self.deviations
    }

    /// The mu of one release of a value that a person moves by `distance`; no rounding term, because it is computed in integers throughout.
    pub(super) fn single_mu(&self, distance: f64) -> f64 {
        distance / self.sigma * MARGIN
    }

    /// The sum of log2 of the sigmas, in grid units.
    pub(super) fn entropy_bits(&self) -> f64 {
        self.laws.iter().map(|law| libm::log2(law.size())).sum()
    }

    /// The smallest sigma or scale in grid units.
    pub(super) fn smallest(&self) -> f64 {
        self.laws.iter().map(Law::size).fold(f64::INFINITY, f64::min)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::release::{Domain, Mechanism};

    #[test]
    fn noise_is_near_2_to_44_and_never_below_what_was_asked() {
        for sigma in [1e-3, 0.7, 1.0, 3.0, 40.0, 1e4] {
            for domain in [
                Domain::Vector { dimension: 2, bound: 1.3 },
                Domain::Symmetric { dimension: 3, bound: 1.3 },
                Domain::Regression {
                    dimension: 2,
                    feature_bound: 1.3,
                    reward_bound: 0.2,
                    split: 0.3,
                    structure: Default::default(),
                },
            ] {
                let clipper = Clipper::new(domain.clone(), sigma).unwrap();
                let noise = GridNoise::new(&clipper, sigma).unwrap();
                for (law, (ratio, deviation)) in
                    noise.laws.iter().zip(domain.noise_ratios().into_iter().zip(&noise.deviations))
                {
                    let (least, most) = (2f64.powi(43), 2f64.powi(46));
                    assert!((least..=most).contains(&law.size()), "{}", law.size());
                    assert!(*deviation >= ratio * sigma);
                    assert!(*deviation <= ratio * sigma * (1.0 + 1e-12));
                }
            }
        }
    }

    #[test]
    fn rounding_is_included_in_mu() {
        let domain = Domain::Symmetric { dimension: 5, bound: 1.0 };
        let blt = Mechanism::default().build(1_000_000_000).unwrap();
        let distance = blt.as_dyn().column_norm();
        let clipper = Clipper::new(domain, distance).unwrap();
        let noise = GridNoise::calibrate(&clipper, blt.as_dyn(), distance, 1.0).unwrap();
        let cost = noise.rounding_cost(blt.as_dyn());
        assert!(cost > 1e-9 && cost < 1e-7, "{cost}");
        assert!(noise.mu(blt.as_dyn(), distance) <= 1.0 + 1e-12);
        assert!(distance / noise.sigma + cost <= 1.0);
        // Without either part of the cost the noise would be smaller than this.
        assert!(noise.sigma > distance * (1.0 + 0.9 * cost));
    }
}
