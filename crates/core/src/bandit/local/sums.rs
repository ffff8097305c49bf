//! Sums of reports: the aggregator of a server without trust in either direction.
//!
//! ```text
//! G~ = sum w (x x^T + noise),   u~ = sum w (x z + noise)
//! ```
//!
//! Reports were randomised before they came, so the sums are a release at any time.

use serde::{Deserialize, Serialize};

use crate::{
    Error, Result,
    error::{finite_vector, not_negative},
    randomize::{Bounds, Precision},
    release::{Domain, Release, Structure},
    special::square,
};

/// Noisy sums, and how noisy they are, for features of norm at most 1 and rewards in [-1, 1].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct ReportSums {
    dimension: usize,
    structure: Structure,
    /// Upper triangle by rows, block after block, then the vector.
    entries: Vec<f64>,
    /// Variance of the noise off the diagonal, and of the vector's entries.
    variances: [f64; 2],
    reports: u64,
}

impl ReportSums {
    pub(super) fn new(bounds: &Bounds) -> Self {
        let Bounds { dimension, structure, .. } = *bounds;
        let entries = vec![0.0; Self::domain(bounds).coordinates()];
        ReportSums { dimension, structure, entries, variances: [0.0; 2], reports: 0 }
    }

    /// Domain of the sums.
    pub(super) fn domain(bounds: &Bounds) -> Domain {
        Domain::regression(bounds.dimension, 1.0, 1.0).structured(bounds.structure)
    }

    pub(super) fn add(&mut self, estimate: &[f64], weight: f64, noise: Precision) {
        let entries = self.entries.iter_mut().zip(estimate);
        entries.for_each(|(sum, entry)| *sum += weight * entry);
        self.variances[0] += square(weight * noise.matrix);
        self.variances[1] += square(weight * noise.vector);
        self.reports += 1;
    }

    /// The sums as they stand, with the deviations of their noise.
    pub(super) fn release(&self) -> Release {
        let [matrix, vector] = self.variances.map(f64::sqrt);
        let domain = Domain::regression(self.dimension, 1.0, 1.0).structured(self.structure);
        let mut deviations = domain.noise_ratios();
        let (gram, moment) = deviations.split_at_mut(domain.matrix_coordinates());
        gram.iter_mut().for_each(|ratio| *ratio *= matrix);
        moment.fill(vector);
        let reports = self.reports;
        Release::new(domain, reports, reports, self.entries.clone(), deviations)
    }

    /// Returns whether these are other sums of the same numbers, added in another order; `sizes` are the sums of their absolute values.
    ///
    /// A sum of n numbers in any order is within `(n - 1) u` times the sum of their sizes of the exact one, with `u = 2^-53`, to first order.
    pub(super) fn is_reordered(&self, other: &Self, sizes: &Self) -> bool {
        let rounding = self.reports as f64 * f64::EPSILON;
        let close =
            |(one, (other, size)): (&f64, (&f64, &f64))| (one - other).abs() <= rounding * size;
        let sums = other.entries.iter().zip(&sizes.entries);
        let variances = other.variances.iter().zip(&sizes.variances);
        self.reports == other.reports
            && self.entries.iter().zip(sums).all(close)
            && self.variances.iter().zip(variances).all(close)
    }

    /// Refuses sums that were not saved by us.
    pub(super) fn check(&self, bounds: &Bounds) -> Result<()> {
        if (self.dimension, self.structure) != (bounds.dimension, bounds.structure) {
            let (expected, found) = (bounds.dimension, self.dimension);
            return Err(Error::Dimension { field: "saved sums", expected, found });
        }
        finite_vector("saved sums", &self.entries, Self::domain(bounds).coordinates())?;
        self.variances.iter().try_for_each(|v| not_negative("saved variance", *v).map(drop))
    }
}
