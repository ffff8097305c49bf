//! The probability simplex: `{ x >= 0, sum x = 1 }`.
//!
//! Flat: its hull is orthogonal to the all-ones vector. The facet `x_i = 0` is `(1/n) / |e_i - 1/n|` away from the
//! centre, which is `1 / sqrt(n (n - 1))`.

use super::{MOST, between, least};
use crate::{
    Result,
    convex::{DecisionSet, Hull, LinearOracle, Shape},
};

/// The oracle of the probability simplex.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Simplex;

impl Simplex {
    /// The simplex of distributions over `outcomes`, 2 or more.
    pub fn set(outcomes: usize) -> Result<DecisionSet<Self>> {
        let n = between("outcomes", outcomes, 2, MOST)? as f64;
        let hull = Hull::orthogonal_to(outcomes, &[vec![1.0; outcomes]])?;
        let inradius = 1.0 / (n * (n - 1.0)).sqrt();
        let shape = Shape::new(vec![1.0 / n; outcomes], 2f64.sqrt(), inradius, hull)?;
        DecisionSet::new(Simplex, shape)
    }
}

impl LinearOracle for Simplex {
    fn minimize(&self, direction: &[f64], vertex: &mut [f64]) {
        vertex.fill(0.0);
        vertex[least(direction)] = 1.0;
    }

    fn project(&self, point: &mut [f64]) -> bool {
        project_to_simplex(point, 1.0);
        true
    }

    /// Softmax.
    fn project_entropic(&self, log_weights: &mut [f64]) -> bool {
        let largest = log_weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        log_weights.iter_mut().for_each(|entry| *entry = libm::exp(*entry - largest));
        let total: f64 = log_weights.iter().sum();
        log_weights.iter_mut().for_each(|entry| *entry /= total);
        true
    }
}

/// The nearest point with `x >= 0`, `sum x = total`: `max(x - tau, 0)` for the tau that makes the sum right
/// (Held, Wolfe and Crowder 1974). Moving all entries alike changes nothing, so the largest is moved to 0 first: entries of any
/// size leave the total its digits.
pub(super) fn project_to_simplex(point: &mut [f64], total: f64) {
    let largest = point.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    point.iter_mut().for_each(|entry| *entry -= largest);
    let mut sorted = point.to_vec();
    sorted.sort_unstable_by(|a, b| b.total_cmp(a));
    let (mut sum, mut threshold) = (0.0, f64::NEG_INFINITY);
    for (count, entry) in (1..).zip(&sorted) {
        sum += entry;
        let candidate = (sum - total) / f64::from(count);
        if *entry <= candidate {
            break;
        }
        threshold = candidate;
    }
    point.iter_mut().for_each(|entry| *entry = (*entry - threshold).max(0.0));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::convex::oracle::testing::{check_exact, check_projection, corners};

    #[test]
    fn oracle_and_shape_agree_with_the_corners() {
        for n in [2, 3, 5] {
            check_exact(&Simplex::set(n).unwrap(), &corners(n));
        }
        assert!(Simplex::set(1).is_err());
    }

    #[test]
    fn projections_satisfy_their_variational_inequality() {
        check_projection(&Simplex::set(5).unwrap());
    }

    #[test]
    fn entries_of_any_size_are_projected() {
        for size in [1e17, 1e100, 1e300] {
            let mut point = [size, size, -size];
            project_to_simplex(&mut point, 1.0);
            assert_eq!(point, [0.5, 0.5, 0.0]);
        }
        assert!(Simplex::set(usize::MAX).is_err());
    }

    #[test]
    fn the_entropic_projection_is_softmax() {
        let mut weights = [1e4, 1e4 + 2f64.ln(), -1e300];
        assert!(Simplex.project_entropic(&mut weights));
        assert!((weights[0] - 1.0 / 3.0).abs() < 1e-11 && (weights[1] - 2.0 / 3.0).abs() < 1e-11);
        assert_eq!(weights[2], 0.0);
    }
}
