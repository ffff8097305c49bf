//! Honaker's estimator: the nodes of the binary tree, each averaged with the sum of its children.
//!
//! A node at height h is observed twice: by its own noise (variance 1) and by the sum of its children's
//! estimates (variance `2 v_{h-1}`). Weighting by inverse variances,
//!
//! ```text
//! 1 / v_h = 1 + 1 / (2 v_{h-1}),  v_0 = 1   =>   v_h = 1 / (2 - 2^-h)
//! ```
//!
//! so `||B[t, .]||^2 = sum of v_h over the binary ones h of t`: the variance falls by nearly half, at the
//! privacy of the tree, because averaging is post-processing. Every node is drawn, once, when it completes.
//!
//! Reference: Honaker, "Efficient use of differentially private binary trees" (TPDP 2015), from below.

use serde::{Deserialize, Serialize};

use super::{
    append::Places,
    factorization::{Draw, Factorization},
    tree::{NodeSums, block_norm, completing_levels},
};

/// A binary tree with Honaker's estimator, over a number of steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Honaker {
    steps: u64,
}

impl Honaker {
    pub(super) fn new(steps: u64) -> Self {
        Honaker { steps }
    }
}

/// `v_h`, the variance of the estimate of a node at height h in units of one draw's.
fn node_variance(height: u32) -> f64 {
    1.0 / (2.0 - libm::ldexp(1.0, -(height as i32)))
}

impl Factorization for Honaker {
    fn steps(&self) -> u64 {
        self.steps
    }

    fn person_norm(&self, contributions: u64) -> f64 {
        block_norm(completing_levels(self.steps), contributions.min(self.steps))
    }

    fn prefix_deviation(&self, step: u64) -> f64 {
        let ones = (0..64).filter(|height| step >> height & 1 == 1);
        ones.map(node_variance).sum::<f64>().sqrt()
    }

    fn draws(&self) -> f64 {
        2.0 * self.steps as f64 - f64::from(self.steps.count_ones())
    }
}

/// The estimate of a node is a weighted mean.
pub(super) type HonakerSums = NodeSums<Honaker, f64>;

impl HonakerSums {
    /// Appends coordinates that were zero until now. Estimates of different nodes of a prefix have no draw in common.
    pub(super) fn append(&mut self, places: &Places, draw: Draw) {
        self.append_drawn(places, |height, coordinate| {
            draw(coordinate) as f64 * node_variance(height).sqrt()
        });
    }

    pub(super) fn step(&mut self, entries: &[i128], draw: Draw) -> Vec<f64> {
        self.step += 1;
        let top = self.step.trailing_zeros() as usize;
        let prefix = |coordinate: usize| {
            let mut node = entries[coordinate];
            let mut estimate = (node + i128::from(draw(coordinate))) as f64;
            for level in 0..top {
                // The node just completed is the right half, the stored one the left half.
                node += std::mem::take(&mut self.exact[level][coordinate]);
                let halves = std::mem::take(&mut self.noisy[level][coordinate]) + estimate;
                let own = (node + i128::from(draw(coordinate))) as f64;
                let variance = node_variance(level as u32 + 1);
                estimate = own * variance + halves * (1.0 - variance);
            }
            self.exact[top][coordinate] = node;
            self.noisy[top][coordinate] = estimate;
            self.noisy.iter().map(|level| level[coordinate]).sum()
        };
        (0..entries.len()).map(prefix).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::release::{
        Mechanism,
        testing::{check_deviation, check_exactness},
    };

    #[test]
    fn releases_are_exact_without_noise() {
        check_exactness(Mechanism::Honaker, 1e-14);
    }

    #[test]
    fn prefix_deviation_agrees_with_simulated_noise() {
        check_deviation(Mechanism::Honaker, Mechanism::Tree { levels: None });
    }

    #[test]
    fn node_variances_follow_their_recursion() {
        for height in 1..60 {
            let from_children = 1.0 + 1.0 / (2.0 * node_variance(height - 1));
            assert!((1.0 / node_variance(height) - from_children).abs() < 1e-15);
        }
    }
}
