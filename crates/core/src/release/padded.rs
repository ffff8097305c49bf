//! The binary tree with the noise of every level in every prefix.
//!
//! ```text
//! prefix(t) = sum over all levels of (node, or a dummy without data) + noise
//! ```
//!
//! A level without a node of the prefix has a dummy, whose noise stays as long as that of a node of its level would: until the level's binary
//! digit of t changes. So every prefix carries exactly as many noises as there are levels, from the first step on. This is the running state of
//! the pan-private tree (Dwork, Naor, Pitassi, Rothblum 2010), seen at its releases.
//!
//! **Guarantee.** That of [`Tree`]: a contribution lies in one node per level, every node has noise of its own, and dummies hold no data. The
//! levels are those that the calibration counts, so a claim about a tree of m levels is for prefixes of m noises.

use serde::{Deserialize, Serialize};

use super::{
    append::{Places, appended, new_coordinates},
    factorization::{Draw, Factorization},
    tree::{Tree, complete, completing_levels, nodes_fit},
};

/// A padded binary tree over a number of steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PaddedTree(Tree);

impl PaddedTree {
    pub(super) fn new(tree: Tree) -> Self {
        PaddedTree(tree)
    }
}

impl Factorization for PaddedTree {
    fn steps(&self) -> u64 {
        self.0.steps()
    }

    fn person_norm(&self, contributions: u64) -> f64 {
        self.0.person_norm(contributions)
    }

    fn prefix_deviation(&self, _: u64) -> f64 {
        f64::from(self.0.levels()).sqrt()
    }

    /// All levels at the first step; later as many as binary digits change.
    fn draws(&self) -> f64 {
        let steps = self.steps();
        let changes = 2.0 * steps as f64 - f64::from(steps.count_ones());
        f64::from(self.0.levels()) + changes - 1.0
    }
}

/// The running state: per level that can complete the exact node, and per level of all the noisy node or dummy of the current prefix.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct PaddedSums {
    tree: PaddedTree,
    step: u64,
    exact: Vec<Vec<i128>>,
    noisy: Vec<Vec<i128>>,
}

impl PaddedSums {
    pub(super) fn new(tree: PaddedTree, coordinates: usize) -> Self {
        let nodes = |levels| vec![vec![0; coordinates]; levels as usize];
        let (exact, noisy) = (nodes(completing_levels(tree.steps())), nodes(tree.0.levels()));
        PaddedSums { tree, step: 0, exact, noisy }
    }

    /// True if a deserialised state has the right shape and stands at `step`.
    pub(super) fn fits(&self, coordinates: usize, step: u64) -> bool {
        self.step == step
            && nodes_fit(self.tree.steps(), step, coordinates, &self.exact)
            && self.noisy.len() == self.tree.0.levels() as usize
            && self.noisy.len() >= self.exact.len()
            && self.noisy.iter().all(|node| node.len() == coordinates)
    }

    pub(super) fn factor(&self) -> &PaddedTree {
        &self.tree
    }

    /// Appends coordinates that were zero until now, with the noise of every level.
    pub(super) fn append(&mut self, places: &Places, draw: Draw) {
        for node in &mut self.exact {
            *node = appended(node, places, 0);
        }
        for node in &mut self.noisy {
            *node = appended(node, places, 0);
            for coordinate in new_coordinates(places).filter(|_| self.step > 0) {
                node[coordinate] = i128::from(draw(coordinate));
            }
        }
    }

    pub(super) fn step(&mut self, entries: &[i128], draw: Draw) -> Vec<f64> {
        self.step += 1;
        let level = self.step.trailing_zeros() as usize;
        let changed = if self.step == 1 { self.noisy.len() } else { level + 1 };
        let prefix = |coordinate: usize| {
            let node = complete(&mut self.exact, level, coordinate, entries[coordinate]);
            for (index, noisy) in self.noisy[..changed].iter_mut().enumerate() {
                let data = if index == level { node } else { 0 };
                noisy[coordinate] = data + i128::from(draw(coordinate));
            }
            self.noisy.iter().map(|node| node[coordinate]).sum::<i128>() as f64
        };
        (0..entries.len()).map(prefix).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::release::{
        Mechanism,
        testing::{Seeded, check_deviation, check_exactness},
    };

    #[test]
    fn releases_are_exact_without_noise() {
        check_exactness(Mechanism::PaddedTree { levels: None }, 0.0);
    }

    #[test]
    fn every_prefix_has_the_noise_of_all_levels() {
        check_deviation(
            Mechanism::PaddedTree { levels: Some(8) },
            Mechanism::Tree { levels: Some(8) },
        );
    }

    #[test]
    fn a_dummy_stays_until_its_digit_changes() {
        let tree = PaddedTree::new(Tree::new(40, Some(9)).unwrap());
        let (mut sums, mut source) = (PaddedSums::new(tree, 1), Seeded(2));
        let mut draw = |_| (crate::noise::Noise::bits(&mut source) >> 20) as i64;
        sums.step(&[0], &mut draw);
        for step in 2..=40_u64 {
            let before = sums.noisy.clone();
            sums.step(&[0], &mut draw);
            for (level, (old, new)) in before.iter().zip(&sums.noisy).enumerate() {
                let digit = |step: u64| step >> level & 1;
                assert_eq!(old != new, digit(step) != digit(step - 1), "{level} at {step}");
            }
        }
    }

    #[test]
    fn privacy_is_that_of_the_tree() {
        for levels in [None, Some(12)] {
            let padded = Mechanism::PaddedTree { levels }.factorize(1000).unwrap();
            let tree = Mechanism::Tree { levels }.factorize(1000).unwrap();
            for contributions in [1, 2, 7] {
                assert_eq!(padded.person_norm(contributions), tree.person_norm(contributions));
            }
        }
        assert!(Mechanism::PaddedTree { levels: Some(3) }.factorize(1000).is_err());
    }
}
