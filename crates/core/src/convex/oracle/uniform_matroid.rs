//! Bases of the uniform matroid: slates of k out of n, `{ 0 <= x <= 1, sum x = k }`.
//!
//! From the centre `k/n` the facets `x_i = 0` and `x_i = 1` are `k/n` and `1 - k/n` over `|e_i - 1/n| =
//! sqrt((n-1)/n)` away. Two slates differ in at most `min(k, n - k)` exchanges, two coordinates each.

use super::{MOST, between};
use crate::{
    Result,
    convex::{DecisionSet, Hull, LinearOracle, Shape},
    refuse_if,
};

/// The oracle of the slates of k.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UniformMatroid {
    size: usize,
}

impl UniformMatroid {
    /// Slates of `size` out of `elements`; at least one is in, and one out.
    pub fn set(elements: usize, size: usize) -> Result<DecisionSet<Self>> {
        between("elements", elements, 2, MOST)?;
        let remedy = format_args!("expected 1 to {}, or there is nothing to choose", elements - 1);
        refuse_if(!(1..elements).contains(&size), "size", size, remedy)?;
        let (n, k) = (elements as f64, size as f64);
        let hull = Hull::orthogonal_to(elements, &[vec![1.0; elements]])?;
        let fewer = k.min(n - k);
        let inradius = fewer / (n * (n - 1.0)).sqrt();
        let shape = Shape::new(vec![k / n; elements], (2.0 * fewer).sqrt(), inradius, hull)?;
        DecisionSet::new(UniformMatroid { size }, shape)
    }
}

impl LinearOracle for UniformMatroid {
    fn minimize(&self, direction: &[f64], vertex: &mut [f64]) {
        choose_least(direction, self.size, vertex);
    }

    fn project(&self, point: &mut [f64]) -> bool {
        project_to_slates(point, self.size);
        true
    }

    fn project_entropic(&self, log_weights: &mut [f64]) -> bool {
        project_to_slates_entropic(log_weights, self.size);
        true
    }
}

/// Marks the k least entries, the first of equals.
pub(super) fn choose_least(direction: &[f64], size: usize, vertex: &mut [f64]) {
    vertex.fill(0.0);
    let mut order: Vec<usize> = (0..direction.len()).collect();
    if (1..order.len()).contains(&size) {
        let by_entry =
            |a: &usize, b: &usize| direction[*a].total_cmp(&direction[*b]).then(a.cmp(b));
        order.select_nth_unstable_by(size - 1, by_entry);
    }
    order[..size].iter().for_each(|&index| vertex[index] = 1.0);
}

/// The nearest point of `{ 0 <= x <= 1, sum x = k }`: `clamp(x - tau, 0, 1)`. The sum falls from n to 0 as tau
/// rises and is linear between the sorted `x_i - 1` and `x_i`. The k-th largest is moved to 0 first, so that entries of any size leave
/// the ones that matter their digits.
pub(super) fn project_to_slates(point: &mut [f64], size: usize) {
    let target = size as f64;
    let mut order = point.to_vec();
    let (_, pivot, _) = order.select_nth_unstable_by(size - 1, |a, b| b.total_cmp(a));
    let pivot = *pivot;
    point.iter_mut().for_each(|x| *x -= pivot);
    let mut breaks: Vec<f64> = point.iter().flat_map(|x| [x - 1.0, *x]).collect();
    breaks.sort_unstable_by(f64::total_cmp);
    let sum = |tau: f64| point.iter().map(|x| (x - tau).clamp(0.0, 1.0)).sum::<f64>();
    let after = breaks.partition_point(|&tau| sum(tau) > target).min(breaks.len() - 1);
    let (low, high) = (breaks[after.saturating_sub(1)], breaks[after]);
    let (above, below) = (sum(low), sum(high));
    let tau =
        if above > below { low + (above - target) / (above - below) * (high - low) } else { high };
    point.iter_mut().for_each(|x| *x = (*x - tau).clamp(0.0, 1.0));
}

/// The point of the slates nearest in relative entropy: `min(1, s w)` with the largest entries at 1 and the scale s
/// that makes the sum k.
pub(super) fn project_to_slates_entropic(log_weights: &mut [f64], size: usize) {
    let n = log_weights.len();
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_unstable_by(|&a, &b| log_weights[b].total_cmp(&log_weights[a]));
    // Suffix sums of the weights in units of the largest of the suffix.
    for full in 0..=size {
        if full == n || full == size {
            // k entries at 1 leave nothing for the rest.
            order[..size].iter().for_each(|&index| log_weights[index] = 1.0);
            order[size..].iter().for_each(|&index| log_weights[index] = 0.0);
            return;
        }
        let largest = log_weights[order[full]];
        let total: f64 = order[full..].iter().map(|&i| libm::exp(log_weights[i] - largest)).sum();
        let scale = (size - full) as f64 / total;
        if scale <= 1.0 {
            for (rank, &index) in order.iter().enumerate() {
                log_weights[index] =
                    if rank < full { 1.0 } else { scale * libm::exp(log_weights[index] - largest) };
            }
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::convex::oracle::testing::{check_exact, check_projection, slates};

    #[test]
    fn oracle_and_shape_agree_with_all_slates() {
        for (n, k) in [(2, 1), (4, 2), (5, 3), (5, 4)] {
            check_exact(&UniformMatroid::set(n, k).unwrap(), &slates(n, k));
        }
        for (n, k) in [(1, 1), (4, 0), (4, 4), (4, 5)] {
            assert!(UniformMatroid::set(n, k).is_err());
        }
    }

    #[test]
    fn projections_satisfy_their_variational_inequality() {
        for (n, k) in [(2, 1), (6, 2), (7, 5)] {
            check_projection(&UniformMatroid::set(n, k).unwrap());
        }
        for size in [1e17, 1e300] {
            let mut point = [size, 0.5 * size, 0.5 * size, -size];
            project_to_slates(&mut point, 2);
            assert_eq!(point, [1.0, 0.5, 0.5, 0.0]);
        }
    }

    #[test]
    fn the_entropic_projection_has_the_right_sum_and_order() {
        // Weights 8, 2, 1, 1 and k = 2: the first is full, the rest share 1 in proportion 2 : 1 : 1.
        let mut weights = [8.0, 2.0, 1.0, 1.0].map(|w: f64| w.ln() + 700.0);
        assert!(UniformMatroid { size: 2 }.project_entropic(&mut weights));
        let expected = [1.0, 0.5, 0.25, 0.25];
        assert!(weights.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{weights:?}");
        let mut far = [0.0, -1e5, -2e5, -3e5];
        assert!(UniformMatroid { size: 2 }.project_entropic(&mut far));
        assert_eq!(far, [1.0, 1.0, 0.0, 0.0]);
    }
}
