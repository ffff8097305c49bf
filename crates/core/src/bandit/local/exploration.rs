//! From noisy sums to a policy.
//!
//! With `G~ = sum w (x x^T + noise)` and `u~ = sum w (x z + noise)`, `s` the deviation of the noise of `G~` off its diagonal:
//!
//! ```text
//! tuned   V = G~ + lambda I,  lambda = 1 + ridge s,   no eigenvalue of V below lambda/2
//!         width = bonus sqrt(ridge s) + width sigma_y
//! tight   the certified set of `bandit::confidence`, for Gaussian noise
//! fixed   a publication's regulariser and width
//! ```
//!
//! sigma_y is the deviation of a noisy reward where only rewards are noisy, else 0.
//!
//! **Tuned is not certified**: it was tuned by simulation (the defaults come from the experiments in `docs/local.md`), because the
//! certified width, paid for `sqrt(t)` noise in every direction, explores several times longer there. Privacy does not depend on
//! it, regret does.

use serde::{Deserialize, Serialize};

use crate::{
    Error, Result,
    bandit::{Confidence, ConfidenceRule, Policy, Problem},
    error::{finite_vector, not_negative, positive, probability},
    linalg::{Cholesky, SymmetricEigen, triangle},
    randomize::Precision,
    release::{Domain, Release},
};

/// How noisy sums become a policy.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Exploration {
    /// Tuned by simulation, certified by nobody.
    Tuned {
        /// The ridge in units of the accumulated noise.
        ridge: f64,
        /// The bonus in units of the square root of that ridge.
        bonus: f64,
        /// The bonus in units of a noisy reward's deviation, where only rewards are noisy.
        width: f64,
    },
    /// The certified set, for Gaussian noise on `x x^T` and `x z`.
    Tight {
        /// Probability with which it may fail, all models together.
        alpha: f64,
        /// The largest norm of theta, for features of norm 1 and rewards in [-1, 1].
        parameter_bound: f64,
    },
    /// A publication's regulariser and width, for features divided by L.
    Fixed {
        /// The regulariser.
        ridge: f64,
        /// The width.
        width: f64,
    },
}

impl Default for Exploration {
    fn default() -> Self {
        Exploration::Tuned { ridge: 3.0, bonus: 0.2, width: 1.5 }
    }
}

/// Noisy sums, and how noisy they are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Sums {
    dimension: usize,
    /// Upper triangle by rows, then the vector.
    entries: Vec<f64>,
    /// Variance of the noise off the diagonal, and of the vector's entries.
    variances: [f64; 2],
    reports: u64,
}

impl Sums {
    pub(super) fn new(dimension: usize) -> Self {
        let entries = vec![0.0; triangle(dimension) + dimension];
        Sums { dimension, entries, variances: [0.0; 2], reports: 0 }
    }

    pub(super) fn add(&mut self, estimate: &[f64], weight: f64, noise: Precision) {
        let entries = self.entries.iter_mut().zip(estimate);
        entries.for_each(|(sum, entry)| *sum += weight * entry);
        self.variances[0] += (weight * noise.matrix).powi(2);
        self.variances[1] += (weight * noise.vector).powi(2);
        self.reports += 1;
    }

    /// Refuses sums that were not saved by us.
    pub(super) fn check(&self, dimension: usize) -> Result<()> {
        if self.dimension != dimension {
            let found = self.dimension;
            return Err(Error::Dimension { field: "saved sums", expected: dimension, found });
        }
        finite_vector("saved sums", &self.entries, triangle(dimension) + dimension)?;
        self.variances.iter().try_for_each(|v| not_negative("saved variance", *v).map(drop))
    }

    fn split(&self) -> (&[f64], &[f64]) {
        self.entries.split_at(triangle(self.dimension))
    }
}

impl Exploration {
    /// Refuses numbers without meaning.
    pub fn check(&self) -> Result<()> {
        match *self {
            Exploration::Tuned { ridge, bonus, width } => {
                not_negative("ridge", ridge)?;
                not_negative("bonus", bonus)?;
                not_negative("width", width).map(drop)
            }
            Exploration::Tight { alpha, parameter_bound } => {
                probability("alpha", alpha)?;
                positive("parameter_bound", parameter_bound).map(drop)
            }
            Exploration::Fixed { ridge, width } => {
                positive("ridge", ridge)?;
                not_negative("width", width).map(drop)
            }
        }
    }

    /// Whether the confidence set is a theorem's.
    pub fn certified(&self) -> bool {
        matches!(self, Exploration::Tight { .. })
    }

    /// The policy that a release of a curator's sums supports, for features of norm 1 at most; `reward_noise` is sigma_y.
    ///
    /// The same rule for a learner that trusts somebody, so that comparisons are about privacy and not about widths.
    pub fn of_release(&self, release: &Release, reward_noise: f64) -> Result<Policy> {
        self.check()?;
        not_negative("reward_noise", reward_noise)?;
        let dimension = release.domain().dimension();
        if release.vector().len() != dimension || release.upper_triangle().is_empty() {
            let remedy = "it needs a regression domain: x x^T and x y";
            return Err(Error::invalid("release", format!("{:?}", release.domain()), remedy));
        }
        let deviations = release.deviations();
        let sums = Sums {
            dimension,
            entries: release.sums().to_vec(),
            variances: [0.5 * deviations[0].powi(2), deviations[triangle(dimension)].powi(2)],
            reports: release.round(),
        };
        self.policy(&sums, reward_noise, 1.0)
    }

    /// The policy for arms in the units of the data, whose norm is at most `feature_bound`.
    pub(super) fn policy(
        &self,
        sums: &Sums,
        reward_noise: f64,
        feature_bound: f64,
    ) -> Result<Policy> {
        let policy = match *self {
            Exploration::Tuned { ridge, bonus, width } => {
                let accumulated = ridge * sums.variances[0].sqrt();
                let width = bonus * accumulated.max(1.0).sqrt() + width * reward_noise;
                ridge_policy(sums, 1.0 + accumulated, width)?
            }
            Exploration::Fixed { ridge, width } => ridge_policy(sums, ridge, width)?,
            Exploration::Tight { alpha, parameter_bound } => {
                tight_policy(sums, alpha, parameter_bound)?
            }
        };
        // <theta, x/L> and ||W x/L||.
        let scale = |values: &[f64]| values.iter().map(|v| v / feature_bound).collect();
        Policy::from_parts(
            scale(policy.theta()),
            scale(policy.whitening()),
            policy.width(),
            policy.drift() / feature_bound,
        )
    }
}

/// `theta = V^-1 u~` with no eigenvalue of V below half the ridge.
fn ridge_policy(sums: &Sums, ridge: f64, width: f64) -> Result<Policy> {
    let d = sums.dimension;
    let (gram, moment) = sums.split();
    // If G~ + ridge/2 is positive definite, nothing has to be floored.
    let factor = match Cholesky::of(d, gram, 0.5 * ridge) {
        Some(_) => Cholesky::of(d, gram, ridge),
        None => {
            let eigen = SymmetricEigen::of(d, gram)?;
            let mut floored = Vec::with_capacity(gram.len());
            for row in 0..d {
                for column in row..d {
                    let parts = eigen.values().iter().zip(eigen.vectors());
                    let entry = |(value, vector): (&f64, &Vec<f64>)| {
                        (value + ridge).max(0.5 * ridge) * vector[row] * vector[column]
                    };
                    floored.push(parts.map(entry).sum());
                }
            }
            Cholesky::of(d, &floored, 0.0)
        }
    };
    let factor = factor.ok_or_else(|| {
        Error::invalid("ridge", ridge, "it is lost in the rounding of the sums: give more")
    })?;
    Policy::from_parts(factor.solve(moment)?, factor.inverse_factor(), width, 0.0)
}

fn tight_policy(sums: &Sums, alpha: f64, parameter_bound: f64) -> Result<Policy> {
    let problem = Problem { parameter_bound, ..Problem::unit(sums.dimension) };
    let rule =
        ConfidenceRule::new(problem, alpha, Confidence::Tight { releases: None, scale: 1.0 })?;
    if sums.reports == 0 {
        return Ok(rule.cold_policy());
    }
    let domain = Domain::regression(sums.dimension, 1.0, 1.0);
    let [matrix, vector] = sums.variances.map(f64::sqrt);
    let mut deviations = Vec::with_capacity(sums.entries.len());
    for row in 0..sums.dimension {
        deviations.push(matrix * std::f64::consts::SQRT_2);
        deviations.extend(std::iter::repeat_n(matrix, sums.dimension - row - 1));
    }
    deviations.extend(std::iter::repeat_n(vector, sums.dimension));
    let reports = sums.reports;
    rule.policy(&Release::new(domain, reports, reports, sums.entries.clone(), deviations))
}
