//! Sums of reports: the aggregator of a server that trusts nobody and whom nobody trusts.
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
    linalg::triangle,
    randomize::Precision,
    release::{Domain, Release},
};

/// Noisy sums, and how noisy they are, for features of norm at most 1 and rewards in [-1, 1].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct ReportSums {
    dimension: usize,
    /// Upper triangle by rows, then the vector.
    entries: Vec<f64>,
    /// Variance of the noise off the diagonal, and of the vector's entries.
    variances: [f64; 2],
    reports: u64,
}

impl ReportSums {
    pub(super) fn new(dimension: usize) -> Self {
        let entries = vec![0.0; triangle(dimension) + dimension];
        ReportSums { dimension, entries, variances: [0.0; 2], reports: 0 }
    }

    /// What is summed.
    pub(super) fn domain(dimension: usize) -> Domain {
        Domain::regression(dimension, 1.0, 1.0)
    }

    pub(super) fn add(&mut self, estimate: &[f64], weight: f64, noise: Precision) {
        let entries = self.entries.iter_mut().zip(estimate);
        entries.for_each(|(sum, entry)| *sum += weight * entry);
        self.variances[0] += (weight * noise.matrix).powi(2);
        self.variances[1] += (weight * noise.vector).powi(2);
        self.reports += 1;
    }

    /// The sums as they stand, with the deviations of their noise.
    pub(super) fn release(&self) -> Release {
        let [matrix, vector] = self.variances.map(f64::sqrt);
        let mut deviations = Vec::with_capacity(self.entries.len());
        for row in 0..self.dimension {
            deviations.push(matrix * std::f64::consts::SQRT_2);
            deviations.extend(std::iter::repeat_n(matrix, self.dimension - row - 1));
        }
        deviations.extend(std::iter::repeat_n(vector, self.dimension));
        let (domain, reports) = (Self::domain(self.dimension), self.reports);
        Release::new(domain, reports, reports, self.entries.clone(), deviations)
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
}
