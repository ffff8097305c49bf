//! The binary tree mechanism.
//!
//! ```text
//! prefix(t) = sum of one node per 1 in the binary digits of t
//! ```
//!
//! Row of C: a node, the indicator of `2^l` consecutive steps. An entry lies in one node per level, so
//! `||C e_t|| = sqrt(levels)`; a prefix adds one node per binary one of t, so `||B[t, .]|| = sqrt(ones(t))`.
//! Levels that cannot complete within the horizon are never released and cost nothing.
//!
//! **Several contributions.** On level l, k entries split over nodes of size `2^l` maximise the sum of
//! squared counts by filling nodes: `floor(k / 2^l) 4^l + (k mod 2^l)^2`. An aligned block of k steps does
//! so on all levels at once; as not every node is drawn, this is an upper bound here and exact for Honaker's.
//!
//! **Noise** is added to a node once, when the node completes; later prefixes reuse the noisy node. Of the nodes
//! that complete at one step only the largest can serve a prefix, so only it is drawn.
//!
//! Reference: Chan, Shi, Song (2011); Dwork, Naor, Pitassi, Rothblum (2010).

use serde::{Deserialize, Serialize};

use super::{
    append::{Places, appended, new_coordinates},
    factorization::{Draw, Factorization},
};
use crate::{Error, Result};

/// A binary tree over a number of steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tree {
    steps: u64,
    levels: u32,
}

impl Tree {
    /// A tree over `steps >= 1` steps that is calibrated for `levels` levels, by default those that can complete.
    pub(super) fn new(steps: u64, levels: Option<u32>) -> Result<Self> {
        let least = completing_levels(steps);
        match levels {
            None => Ok(Tree { steps, levels: least }),
            Some(levels) if (least..=64).contains(&levels) => Ok(Tree { steps, levels }),
            Some(levels) => Err(Error::invalid(
                "levels",
                levels,
                format!("{steps} steps complete {least} levels; expected {least} to 64, or none"),
            )),
        }
    }

    /// Levels that the calibration counts.
    pub(super) fn levels(&self) -> u32 {
        self.levels
    }
}

/// Number of levels on which a node completes within `steps >= 1` steps.
pub(super) fn completing_levels(steps: u64) -> u32 {
    steps.ilog2() + 1
}

/// `sqrt(sum_{l < levels} floor(k / 2^l) 4^l + (k mod 2^l)^2)`.
pub(super) fn block_norm(levels: u32, contributions: u64) -> f64 {
    let square = |count: u64| (count as f64) * (count as f64);
    (0..levels)
        .map(|level| {
            let size = 1_u64.checked_shl(level).unwrap_or(u64::MAX);
            (contributions / size) as f64 * square(size) + square(contributions % size)
        })
        .sum::<f64>()
        .sqrt()
}

impl Factorization for Tree {
    fn steps(&self) -> u64 {
        self.steps
    }

    fn person_norm(&self, contributions: u64) -> f64 {
        block_norm(self.levels, contributions.min(self.steps))
    }

    fn prefix_deviation(&self, step: u64) -> f64 {
        f64::from(step.count_ones()).sqrt()
    }

    fn draws(&self) -> f64 {
        self.steps as f64
    }
}

/// Returns whether deserialised nodes are those of a tree of `steps` steps that stands at `step`.
pub(super) fn nodes_fit<T>(steps: u64, step: u64, coordinates: usize, nodes: &[Vec<T>]) -> bool {
    steps > 0
        && step <= steps
        && nodes.len() == completing_levels(steps) as usize
        && nodes.iter().all(|node| node.len() == coordinates)
}

/// One coordinate of the exact node that completes on `level`: the nodes below have just become its left halves.
pub(super) fn complete(
    exact: &mut [Vec<i128>],
    level: usize,
    coordinate: usize,
    entry: i128,
) -> i128 {
    let below: i128 =
        exact[..level].iter_mut().map(|node| std::mem::take(&mut node[coordinate])).sum();
    exact[level][coordinate] = below + entry;
    below + entry
}

/// The running state of a tree F: per level the node that the current prefix uses, exact and as it is released.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct NodeSums<F, T> {
    tree: F,
    pub(super) step: u64,
    pub(super) exact: Vec<Vec<i128>>,
    pub(super) noisy: Vec<Vec<T>>,
}

impl<F: Factorization, T: Clone + Default> NodeSums<F, T> {
    pub(super) fn new(tree: F, coordinates: usize) -> Self {
        let levels = completing_levels(tree.steps()) as usize;
        let noisy = vec![vec![T::default(); coordinates]; levels];
        NodeSums { tree, step: 0, exact: vec![vec![0; coordinates]; levels], noisy }
    }

    /// Returns whether a deserialised state has the right shape and stands at `step`.
    pub(super) fn fits(&self, coordinates: usize, step: u64) -> bool {
        self.step == step
            && nodes_fit(self.tree.steps(), step, coordinates, &self.exact)
            && nodes_fit(self.tree.steps(), step, coordinates, &self.noisy)
    }

    pub(super) fn factor(&self) -> &F {
        &self.tree
    }

    /// Appends coordinates that were zero until now, with the noise of the nodes that the next prefixes use, by their heights.
    pub(super) fn append_drawn(&mut self, places: &Places, mut draw: impl FnMut(u32, usize) -> T) {
        let step = self.step;
        for node in &mut self.exact {
            *node = appended(node, places, 0);
        }
        for (height, node) in (0..).zip(&mut self.noisy) {
            let used = step >> height & 1 == 1;
            *node = appended(node, places, T::default());
            for coordinate in new_coordinates(places).filter(|_| used) {
                node[coordinate] = draw(height, coordinate);
            }
        }
    }
}

/// The noise of a node is an integer.
pub(super) type TreeSums = NodeSums<Tree, i128>;

impl TreeSums {
    /// Appends coordinates that were zero until now.
    pub(super) fn append(&mut self, places: &Places, draw: Draw) {
        self.append_drawn(places, |_, coordinate| i128::from(draw(coordinate)));
    }

    pub(super) fn step(&mut self, entries: &[i128], draw: Draw) -> Vec<f64> {
        self.step += 1;
        let level = self.step.trailing_zeros() as usize;
        let estimate = |coordinate: usize| {
            let node = complete(&mut self.exact, level, coordinate, entries[coordinate]);
            self.noisy[..level].iter_mut().for_each(|node| node[coordinate] = 0);
            self.noisy[level][coordinate] = node + i128::from(draw(coordinate));
            self.noisy.iter().map(|node| node[coordinate]).sum::<i128>() as f64
        };
        (0..entries.len()).map(estimate).collect()
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
        check_exactness(Mechanism::Tree { levels: None }, 0.0);
    }

    #[test]
    fn prefix_deviation_agrees_with_simulated_noise() {
        check_deviation(Mechanism::Tree { levels: None }, Mechanism::Honaker);
    }

    #[test]
    fn the_column_norm_counts_levels_that_complete() {
        assert_eq!(Tree::new(1023, None).unwrap().column_norm(), 10f64.sqrt());
        assert_eq!(Tree::new(1024, None).unwrap().column_norm(), 11f64.sqrt());
        assert_eq!(Tree::new(1024, Some(12)).unwrap().column_norm(), 12f64.sqrt());
        assert!(Tree::new(1024, Some(10)).is_err());
    }

    #[test]
    fn person_norm_is_the_worst_pattern_of_a_small_tree() {
        // All patterns of k of 8 steps against the explicit matrix of all nodes.
        let tree = Tree::new(8, None).unwrap();
        let mut worst = [0.0_f64; 9];
        for pattern in 0_u32..256 {
            let squares: u32 = (0..4)
                .flat_map(|level| (0..8 >> level).map(move |node| (level, node)))
                .map(|(level, node)| {
                    let mask = ((1_u32 << (1 << level)) - 1) << (node << level);
                    (pattern & mask).count_ones().pow(2)
                })
                .sum();
            let k = pattern.count_ones() as usize;
            worst[k] = worst[k].max(f64::from(squares).sqrt());
        }
        for (k, norm) in worst.into_iter().enumerate().skip(1) {
            assert_eq!(tree.person_norm(k as u64), norm, "{k} contributions");
        }
    }
}
