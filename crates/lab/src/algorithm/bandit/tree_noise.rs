//! The noise of a published tree over rounds, without the sums: added to exact statistics in a simulation.
//!
//! A tree is linear, so its noise does not depend on data, and its nodes are drawn when first read. A simulation of 5e7 rounds therefore
//! needs noise only at the 5e4 rounds that it reads.

use std::f64::consts::SQRT_2;

use reticent::noise::{Noise, Wishart};

use crate::FastNoise;

/// The noise of one node of a tree.
#[derive(Debug, Clone, Copy)]
pub enum NodeNoise {
    /// Symmetric Gaussian noise: this deviation off the diagonal and on the vector, sqrt 2 times it on the diagonal.
    Gaussian {
        /// Deviation of one node.
        deviation: f64,
        /// m: nodes in every prefix, dummies included, which stay as long as a real node would; without it a prefix has a node for each of its
        /// binary ones.
        nodes: Option<u32>,
    },
    /// Wishart noise on the matrix of features and reward together. Every prefix has m nodes: if a binary digit of the round is zero, its
    /// level has a dummy. With fewer nodes the bounds on the eigenvalues would be wrong.
    Wishart {
        /// Degrees of freedom of one node.
        degrees: f64,
        /// `L~`: the noise is that of Gaussian rows of this deviation.
        scale: f64,
        /// m: nodes in every prefix.
        nodes: u32,
        /// Dummies are drawn anew at every reading; otherwise each stays as long as a real node would. The paper does not say
        /// which, and regret depends on it.
        fresh_dummies: bool,
    },
}

/// A binary tree over rounds: prefix t is the sum of one node per binary one of t.
#[derive(Debug)]
pub struct TreeNoise {
    dimension: usize,
    node: NodeNoise,
    /// The round last read, and the noise of its nodes from the highest bit down.
    round: u64,
    stack: Vec<(u32, Vec<f64>)>,
    noise: FastNoise,
}

impl TreeNoise {
    /// A tree before the first reading.
    pub fn new(dimension: usize, node: NodeNoise, noise: FastNoise) -> Self {
        TreeNoise { dimension, node, round: 0, stack: Vec::new(), noise }
    }

    /// Noise of prefix `round`, which is above all rounds read before.
    pub fn at(&mut self, round: u64) -> (Vec<f64>, Vec<f64>) {
        // A node is used as long as the binary digits down to its own are the same, and never again later.
        let changed = (round ^ self.round).checked_ilog2().map_or(0, |highest| highest + 1);
        let (levels, padded) = match self.node {
            NodeNoise::Gaussian { nodes: None, .. }
            | NodeNoise::Wishart { fresh_dummies: true, .. } => (changed, false),
            // At the first reading, levels that no round has reached yet get dummies too.
            NodeNoise::Gaussian { nodes: Some(nodes), .. } | NodeNoise::Wishart { nodes, .. }
                if self.stack.is_empty() =>
            {
                (changed.max(nodes), true)
            }
            NodeNoise::Gaussian { .. } | NodeNoise::Wishart { .. } => (changed, true),
        };
        self.stack.retain(|(level, _)| *level >= levels);
        self.round = round;
        for level in (0..levels).rev().filter(|level| padded || round >> level & 1 == 1) {
            let node = self.draw(1.0);
            self.stack.push((level, node));
        }
        let coordinates = self.dimension * (self.dimension + 3) / 2;
        let mut sums = vec![0.0; coordinates];
        for (_, node) in &self.stack {
            add(&mut sums, node);
        }
        let ones = f64::from(round.count_ones());
        let deviation = match self.node {
            NodeNoise::Gaussian { deviation, nodes } => {
                deviation * nodes.map_or(ones, f64::from).sqrt()
            }
            NodeNoise::Wishart { degrees, scale, nodes, .. } => {
                let missing = f64::from(nodes) - self.stack.len() as f64;
                if missing > 0.0 {
                    add(&mut sums, &self.draw(missing));
                }
                scale * scale * (degrees * f64::from(nodes)).sqrt()
            }
        };
        let mut deviations = vec![deviation; coordinates];
        for row in 0..self.dimension {
            deviations[row * (2 * self.dimension - row + 1) / 2] *= SQRT_2;
        }
        (sums, deviations)
    }

    /// The sum of `nodes` new nodes: a sum of Wisharts is a Wishart, and of Gaussians a Gaussian.
    fn draw(&mut self, nodes: f64) -> Vec<f64> {
        let d = self.dimension;
        let mut sums = Vec::with_capacity(d * (d + 3) / 2);
        match self.node {
            NodeNoise::Gaussian { deviation, .. } => {
                let deviation = deviation * nodes.sqrt();
                for row in 0..d {
                    sums.push(deviation * SQRT_2 * self.noise.standard_normal());
                    sums.extend((row + 1..d).map(|_| deviation * self.noise.standard_normal()));
                }
                sums.extend((0..d).map(|_| deviation * self.noise.standard_normal()));
            }
            NodeNoise::Wishart { degrees, scale, .. } => {
                let law = Wishart::new(d + 1, degrees * nodes, scale)
                    .expect("degrees above the dimension are checked where they are computed");
                let zeros = vec![0.0; (d + 1) * (d + 1)];
                let matrix = law.randomize(&zeros, &mut self.noise).expect("zeros are finite");
                for row in 0..d {
                    sums.extend((row..d).map(|column| matrix[row * (d + 1) + column]));
                }
                sums.extend((0..d).map(|row| matrix[row * (d + 1) + d]));
            }
        }
        sums
    }
}

fn add(sums: &mut [f64], more: &[f64]) {
    sums.iter_mut().zip(more).for_each(|(sum, value)| *sum += value);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(node: NodeNoise, seed: u64) -> TreeNoise {
        TreeNoise::new(2, node, FastNoise::seeded(seed))
    }

    /// False alarm: 6 deviations of a mean of 4000 squares, about 1e-9 in each of 30 places.
    #[test]
    fn deviations_agree_with_simulated_noise() {
        for nodes in [None, Some(9)] {
            deviations_agree(NodeNoise::Gaussian { deviation: 3.0, nodes });
        }
    }

    fn deviations_agree(node: NodeNoise) {
        const TRIALS: usize = 4000;
        let rounds = [1, 5, 7];
        let mut squares = [[0.0; 5]; 3];
        let mut expected = vec![];
        for seed in 0..TRIALS {
            let mut tree = tree(node, seed as u64);
            expected.clear();
            for (square, round) in squares.iter_mut().zip(rounds) {
                let (noise, deviations) = tree.at(round);
                square.iter_mut().zip(&noise).for_each(|(s, z)| *s += z * z / TRIALS as f64);
                expected.push(deviations);
            }
        }
        let alarm = 6.0 * (2.0 / TRIALS as f64).sqrt();
        for (square, deviations) in squares.iter().zip(&expected) {
            for (s, d) in square.iter().zip(deviations) {
                assert!((s / (d * d) - 1.0).abs() < alarm, "{s} against {}", d * d);
                // Half the noise on the diagonal, or a missing node, would be detected.
                assert!((s / (0.5 * d * d) - 1.0).abs() > alarm);
            }
        }
    }

    #[test]
    fn nodes_are_kept_while_they_serve_and_never_return() {
        let mut tree = tree(NodeNoise::Gaussian { deviation: 1.0, nodes: None }, 1);
        let at = |tree: &mut TreeNoise, round| tree.at(round).0;
        let four = at(&mut tree, 4);
        let six = at(&mut tree, 6);
        let seven = at(&mut tree, 7);
        // 4, 6 = 4 + 2 and 7 = 4 + 2 + 1 share nodes, so differences are single nodes.
        let difference: f64 = seven.iter().zip(&six).map(|(a, b)| (a - b).abs()).sum();
        assert!(difference > 0.0 && tree.stack.len() == 3);
        assert_eq!(tree.stack[0].1, four);
        let eight = at(&mut tree, 8);
        assert_eq!(tree.stack.len(), 1);
        assert_ne!(eight, four);
    }

    /// The law of core's padded tree, whose digits of the round decide alike which nodes stay.
    #[test]
    fn a_padded_gaussian_prefix_keeps_its_dummies() {
        let mut tree = tree(NodeNoise::Gaussian { deviation: 1.0, nodes: Some(9) }, 1);
        let (first, _) = tree.at(1);
        let before = tree.stack.clone();
        assert_eq!(before.len(), 9);
        tree.at(4);
        // Levels 8 to 3 stay; 2, 1 and 0 are drawn anew.
        assert_eq!((&tree.stack[..6], tree.stack.len()), (&before[..6], 9));
        assert!(tree.stack[6..].iter().zip(&before[6..]).all(|(new, old)| new.1 != old.1));
        assert_ne!(tree.at(5).0, first);
    }

    #[test]
    fn every_wishart_prefix_has_all_its_nodes() {
        // The trace of a sum of m nodes has mean m k scale^2 (d + 1), whatever the round; without padding it would
        // be 27 times smaller at round 1. False alarm: the trace deviates by 6 of its deviations, 2e-9.
        let node = |fresh_dummies| NodeNoise::Wishart {
            degrees: 1000.0,
            scale: 1.5,
            nodes: 27,
            fresh_dummies,
        };
        for (round, fresh) in
            [(1, false), (1023, false), (1 << 20, false), (1, true), (1 << 20, true)]
        {
            let (noise, _) = tree(node(fresh), round).at(round);
            let trace = noise[0] + noise[2];
            let (freedom, variance) = (27_000.0_f64, 1.5f64.powi(2));
            let deviation = variance * (2.0 * 2.0 * freedom).sqrt();
            assert!(
                (trace - 2.0 * freedom * variance).abs() < 6.0 * deviation,
                "{trace} at {round}"
            );
        }
    }
}
