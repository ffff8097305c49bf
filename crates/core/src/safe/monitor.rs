//! Watching a simulation: every played action is held against the true safe set.
//!
//! Only a simulation knows the true parameters, so this is no part of a deployed coordinator. A coordinator whose confidence sets are
//! valid shows no violation with probability `1 - delta'`; one whose widths are too small is found out.

use serde::{Deserialize, Serialize};

use crate::{Result, error::finite_vector, geometry::Polytope};

/// Counts how often true mean responses leave the safe set, and how far.
///
/// ```
/// use reticent::{geometry::Polytope, safe::Monitor};
/// let mut monitor = Monitor::new(Polytope::new(&[[1.0], [-1.0]], &[1.0, 1.0])?);
/// assert!(monitor.watch(&[0.9])?);
/// assert!(!monitor.watch(&[1.25])?);
/// assert_eq!((monitor.rounds(), monitor.violations()), (2, 1));
/// assert_eq!(monitor.worst_excess(), 0.25);
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Monitor {
    polytope: Polytope,
    rounds: u64,
    violations: u64,
    worst_excess: f64,
}

impl Monitor {
    /// Nothing watched yet.
    pub fn new(polytope: Polytope) -> Self {
        Monitor { polytope, rounds: 0, violations: 0, worst_excess: 0.0 }
    }

    /// Records one round's true mean responses; whether they are safe.
    pub fn watch(&mut self, mean_responses: &[f64]) -> Result<bool> {
        finite_vector("mean_responses", mean_responses, self.polytope.dimension())?;
        self.rounds += 1;
        let excess = self.polytope.excess(mean_responses);
        if excess > 0.0 {
            self.violations += 1;
            let plain = |(row, bound): (&Vec<f64>, &f64)| {
                row.iter().zip(mean_responses).map(|(a, y)| a * y).sum::<f64>() - bound
            };
            let rows = self.polytope.rows().iter().zip(self.polytope.bounds());
            self.worst_excess = rows.map(plain).fold(self.worst_excess, f64::max);
        }
        Ok(excess <= 0.0)
    }

    /// Rounds watched.
    pub fn rounds(&self) -> u64 {
        self.rounds
    }

    /// Rounds in which a row was exceeded.
    pub fn violations(&self) -> u64 {
        self.violations
    }

    /// The largest excess over any row, in the row's units.
    pub fn worst_excess(&self) -> f64 {
        self.worst_excess
    }
}
