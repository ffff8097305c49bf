//! The binary tree with Wishart noise: Shariff and Sheffet (2018), section 4.1.
//!
//! ```text
//! prefix(t) = sum over m levels of (node + W),   W ~ Wishart(L~^2 I, k),   L~^2 = L^2 + B^2
//! ```
//!
//! A node sums the matrices `a a^T` of rows `a = [x; y]`. Their corner `y^2` is never released; dropping it is
//! post-processing, so it is set to zero before the noise is added.
//!
//! **Exactly m nodes.** A level without a node of the prefix has a dummy: noise without data. The paper does not say how
//! long a dummy stays; here as long as a node of its level would, until the level's binary digit changes. So the noise of
//! every prefix is `Wishart(L~^2 I, m k)`. Its mean `m k L~^2 I` stays in the release: it is the learner's regulariser.
//!
//! **Guarantee.** Theorem 8 (Sheffet 2015, Theorem 4.1): with `epsilon_0 < 1`, `delta_0 < 1/e` and
//! `k >= d + 1 + 28 epsilon_0^-2 ln(4/delta_0)`, a noisy node is (epsilon_0, delta_0)-DP for replacing one row of norm at most
//! L~. (`oracles/test_wishart.py` confirms it from the exact chi-square law, with a wide margin.) A row lies in one node a
//! level at most, every node has noise of its own, and dummies hold no data. Given everything released before, neighbours
//! differ in that one row: m events compose, also for streams chosen adaptively.
//!
//! **Several contributions.** Replacing j rows of a node, one after the other, costs `(j epsilon_0, delta_j)` with
//! `delta_j = delta_0 (1 + e^epsilon_0 + ... + e^((j-1) epsilon_0))`. Rows spread over several nodes of a level cost no more
//! than in one: epsilons add up, and `delta_i + delta_j <= delta_(i+j)`. So a level is one event at j = contributions.
//!
//! **Grid.** Clipping leaves x and y on a dyadic grid, with `|x| <= L` and `|y| <= B` in integers, so a quantised row is a
//! row of norm at most L~ and its matrix an exact integer product: neighbours differ by `a a^T - a' a'^T`, and Theorem 8
//! holds as it stands. Nodes are summed in integers. The noise's grid is a multiple of the data's: only the part of a node
//! below one noise unit is added in floating point, then rounded with the noise. That is the rounding of the real sum, and
//! the floating-point error is that of the noise alone, however long the stream (see `noise/grid.rs`).

use std::f64::consts::SQRT_2;

use serde::{Deserialize, Serialize};

use super::{
    Domain,
    clip::{Clipper, power_of_two},
    factorization::Factorization,
    tree::{Tree, complete, completing_levels, nodes_fit},
};
use crate::{
    Error, Result,
    noise::{Noise, Wishart},
    refuse_if,
};

/// Noise stays below this power of two in grid units, so that sums of it fit 128 bits.
const MOST_BITS: f64 = 110.0;

/// Theorem 8: degrees of freedom that make a node of `dimension` features and a reward (`epsilon`, `delta`)-DP,
/// `k = d + 1 + ceil(28 epsilon^-2 ln(4/delta))`.
pub fn wishart_degrees(dimension: usize, epsilon: f64, delta: f64) -> f64 {
    (dimension + 1) as f64 + (28.0 / (epsilon * epsilon) * libm::log(4.0 / delta)).ceil()
}

/// `(j epsilon, delta_j)`: the cost of one level for a person with j contributions.
pub(super) fn level_budget(epsilon: f64, delta: f64, contributions: u64) -> Result<(f64, f64)> {
    let group = contributions as f64 * epsilon;
    let lost =
        if contributions == 1 { delta } else { delta * libm::expm1(group) / libm::expm1(epsilon) };
    if lost < 1.0 {
        return Ok((group, lost));
    }
    let remedy = "with this many contributions Wishart noise gives no guarantee; expected fewer; or ask for a smaller delta";
    Err(Error::invalid("contributions_per_person", contributions, remedy))
}

/// The running state of a tree with Wishart noise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct WishartSums {
    tree: Tree,
    clipper: Clipper,
    /// k: degrees of freedom of one node.
    degrees: f64,
    /// `L~`.
    scale: f64,
    step: u64,
    /// Per level that can complete, the exact node.
    exact: Vec<Vec<i128>>,
    /// Per level of m, the noisy node or dummy of the current prefix.
    noisy: Vec<Vec<i128>>,
}

impl WishartSums {
    /// Refuses domains without rows `[x; y]`, and budgets that Theorem 8 does not cover.
    pub(super) fn new(domain: Domain, tree: Tree, epsilon: f64, delta: f64) -> Result<Self> {
        let Domain::Regression { dimension, feature_bound, reward_bound, .. } = domain else {
            let remedy = "Wishart noise is for matrices of features and reward: use a regression";
            return Err(Error::invalid("domain", domain, remedy));
        };
        domain.structure().expect_dense("Wishart noise")?;
        let remedy = "Theorem 8 needs a number above 0 and below 1: ask for a smaller epsilon";
        refuse_if(!(epsilon > 0.0 && epsilon < 1.0), "node_epsilon", epsilon, remedy)?;
        let remedy = "Theorem 8 needs a number above 0 and below 1/e: ask for a smaller delta";
        refuse_if(!(delta > 0.0 && delta < libm::exp(-1f64)), "node_delta", delta, remedy)?;
        let (clipper, scale) =
            (Clipper::of_bounds(domain.clone())?, libm::hypot(feature_bound, reward_bound));
        let degrees = wishart_degrees(dimension, epsilon, delta);
        let largest = f64::from(tree.levels()) * degrees * scale * scale;
        let finest = clipper.exponents().into_iter().max().unwrap_or(0);
        let refused = libm::log2(largest) + f64::from(finest) >= MOST_BITS;
        let remedy = "its noise does not fit 128 bits beside data of these bounds: ask for a larger \
                      epsilon, or choose units in which feature and reward bound are closer";
        refuse_if(refused, "node_epsilon", epsilon, remedy)?;
        Wishart::new(dimension + 1, degrees, scale)?;
        let nodes = |levels| vec![vec![0; domain.coordinates()]; levels as usize];
        let (exact, noisy) = (nodes(completing_levels(tree.steps())), nodes(tree.levels()));
        Ok(WishartSums { tree, clipper, degrees, scale, step: 0, exact, noisy })
    }

    pub(super) fn clipper(&self) -> &Clipper {
        &self.clipper
    }

    pub(super) fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Returns whether a deserialised state has the right shape and stands at `step`.
    pub(super) fn fits(&self, coordinates: usize, step: u64) -> bool {
        self.step == step
            && self.clipper.domain().coordinates() == coordinates
            && nodes_fit(self.tree.steps(), step, coordinates, &self.exact)
            && self.noisy.len() == self.tree.levels() as usize
            && self.noisy.len() >= self.exact.len()
            && self.noisy.iter().all(|node| node.len() == coordinates)
            && self.law().is_ok()
    }

    /// The next prefix, in grid units. The law was checked at the start, so no error is expected; an error would change nothing.
    pub(super) fn step(&mut self, entries: &[i128], source: &mut impl Noise) -> Result<Vec<f64>> {
        let law = self.law()?;
        self.step += 1;
        let level = self.step.trailing_zeros() as usize;
        let node: Vec<i128> = entries
            .iter()
            .enumerate()
            .map(|(coordinate, &entry)| complete(&mut self.exact, level, coordinate, entry))
            .collect();
        // Digits below the one that has just become 1 are 0 again; before the first step every level is empty.
        let changed = if self.step == 1 { self.noisy.len() } else { level + 1 };
        let dummy = vec![0; node.len()];
        for index in 0..changed {
            let data = if index == level { &node } else { &dummy };
            self.noisy[index] = self.randomize(&law, data, source)?;
        }
        let prefix = |coordinate| self.noisy.iter().map(|node| node[coordinate]).sum::<i128>();
        Ok((0..node.len()).map(|coordinate| prefix(coordinate) as f64).collect())
    }

    /// Deviations of every prefix, around the mean: `L~^2 sqrt(m k)`, and sqrt 2 times that on the diagonal.
    pub(super) fn deviations(&self) -> Vec<f64> {
        let one = self.scale * self.scale * (f64::from(self.tree.levels()) * self.degrees).sqrt();
        self.places().map(|(row, column)| if row == column { SQRT_2 * one } else { one }).collect()
    }

    fn law(&self) -> Result<Wishart> {
        Wishart::new(self.clipper.domain().dimension() + 1, self.degrees, self.scale)
    }

    /// The row and column of each coordinate in the matrix of `[x; y]`.
    fn places(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let d = self.clipper.domain().dimension();
        (0..d)
            .flat_map(move |row| (row..d).map(move |column| (row, column)))
            .chain((0..d).map(move |row| (row, d)))
    }

    /// A node plus an independent draw, rounded to the grid of the noise.
    fn randomize(
        &self,
        law: &Wishart,
        node: &[i128],
        source: &mut impl Noise,
    ) -> Result<Vec<i128>> {
        let side = self.clipper.domain().dimension() + 1;
        let exponents = self.clipper.exponents();
        let below = |coordinate: usize| {
            let unit = (law.unit() * power_of_two(exponents[coordinate])) as i128;
            node[coordinate].rem_euclid(unit)
        };
        let mut matrix = vec![0.0; side * side];
        for (coordinate, (row, column)) in self.places().enumerate() {
            let part = below(coordinate) as f64 * power_of_two(-exponents[coordinate]);
            matrix[row * side + column] = part;
            matrix[column * side + row] = part;
        }
        let noisy = law.randomize(&matrix, source)?;
        let sum = |(coordinate, (row, column)): (usize, (usize, usize))| {
            let units = noisy[row * side + column] * power_of_two(exponents[coordinate]);
            node[coordinate] - below(coordinate) + units as i128
        };
        Ok(self.places().enumerate().map(sum).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::release::testing::Seeded;

    const DOMAIN: Domain = Domain::Regression {
        dimension: 2,
        feature_bound: 1.5,
        reward_bound: 2.0,
        split: 0.4,
        structure: crate::release::Structure::DENSE,
    };
    /// m, above the six levels that 40 steps complete.
    const LEVELS: u32 = 9;
    /// `L~^2`.
    const SQUARED: f64 = 6.25;

    fn start() -> WishartSums {
        WishartSums::new(DOMAIN, Tree::new(40, Some(LEVELS)).unwrap(), 0.9, 1e-3).unwrap()
    }

    fn unit(sums: &WishartSums, coordinate: usize) -> i128 {
        (sums.law().unwrap().unit() * power_of_two(sums.clipper.exponents()[coordinate])) as i128
    }

    /// Clipped contributions, in grid units.
    fn rows(sums: &WishartSums) -> Vec<Vec<i128>> {
        let mut source = Seeded(8);
        let mut row = || {
            let [a, b, y] = [0; 3].map(|_| 2.0 * source.uniform() - 1.0);
            let mut entries = vec![0; 5];
            sums.clipper.clip_with_reward(&[a, b], 2.0 * y).unwrap().add_to(&mut entries);
            entries
        };
        (0..40).map(|_| row()).collect()
    }

    /// Returns whether the trace of a prefix without data is not that of m nodes: its mean is `d m k L~^2`, its variance
    /// `2 d m k L~^4`. At 6 deviations 40 prefixes alarm falsely with probability 1e-7.
    fn alarm(sums: &WishartSums, nodes: impl Iterator<Item = usize>) -> bool {
        let units = power_of_two(-sums.clipper.exponents()[0]);
        let trace: f64 =
            nodes.map(|level| (sums.noisy[level][0] + sums.noisy[level][2]) as f64 * units).sum();
        let freedom = f64::from(LEVELS) * sums.degrees;
        (trace / SQUARED - 2.0 * freedom).abs() > 6.0 * (4.0 * freedom).sqrt()
    }

    #[test]
    fn every_prefix_has_exactly_m_nodes_and_one_without_dummies_is_noticed() {
        let (mut sums, mut noise) = (start(), Seeded(1));
        for step in 1..=40_u64 {
            sums.step(&[0; 5], &mut noise).unwrap();
            assert!(!alarm(&sums, 0..LEVELS as usize), "{step}");
            let real = (0..LEVELS as usize).filter(|level| step >> level & 1 == 1);
            assert!(alarm(&sums, real), "{step}: missing dummies went unnoticed");
        }
    }

    #[test]
    fn a_node_or_dummy_stays_until_its_digit_changes() {
        let (mut sums, mut noise) = (start(), Seeded(2));
        sums.step(&[0; 5], &mut noise).unwrap();
        for step in 2..=40_u64 {
            let before = sums.noisy.clone();
            sums.step(&[0; 5], &mut noise).unwrap();
            for (level, (old, new)) in before.iter().zip(&sums.noisy).enumerate() {
                let digit = |step: u64| step >> level & 1;
                assert_eq!(old != new, digit(step) != digit(step - 1), "{level} at {step}");
            }
        }
    }

    #[test]
    fn sums_minus_noise_are_exact_and_releases_lie_on_the_noise_grid() {
        let (mut with, mut without) = (start(), start());
        let (mut noise, mut same) = (Seeded(3), Seeded(3));
        let mut exact = [0_i128; 5];
        for row in rows(&with) {
            exact.iter_mut().zip(&row).for_each(|(sum, entry)| *sum += entry);
            with.step(&row, &mut noise).unwrap();
            without.step(&[0; 5], &mut same).unwrap();
            for (coordinate, &want) in exact.iter().enumerate() {
                let prefix = |sums: &WishartSums| {
                    sums.noisy.iter().map(|node| node[coordinate]).sum::<i128>()
                };
                let unit = unit(&with, coordinate);
                let difference = prefix(&with) - prefix(&without) - want;
                assert!(difference.abs() <= unit * i128::from(LEVELS), "{difference} of {unit}");
                assert!(with.noisy.iter().all(|node| node[coordinate] % unit == 0));
                assert_ne!(want % unit, 0, "the data are finer than the noise's grid");
            }
        }
    }

    /// False alarm: 6 deviations of a mean of 4000 squares in 5 places, 1e-8.
    #[test]
    fn deviations_agree_with_simulated_noise() {
        const TRIALS: usize = 4000;
        let mean = f64::from(LEVELS) * start().degrees * SQUARED;
        let mut squares = [0.0; 5];
        for seed in 0..TRIALS {
            let (mut sums, mut noise) = (start(), Seeded(seed as u64));
            let prefix = sums.step(&[0; 5], &mut noise).unwrap();
            for (coordinate, square) in squares.iter_mut().enumerate() {
                let units = power_of_two(-sums.clipper.exponents()[coordinate]);
                let centre = if [0, 2].contains(&coordinate) { mean } else { 0.0 };
                *square += (prefix[coordinate] * units - centre).powi(2) / TRIALS as f64;
            }
        }
        for (square, deviation) in squares.into_iter().zip(start().deviations()) {
            let off = |square: f64| (square / deviation.powi(2) - 1.0).abs();
            let most = 6.0 * (2.0 / TRIALS as f64).sqrt();
            assert!(off(square) < most, "{square} against {}", deviation.powi(2));
            // A scale of L~ in place of L~^2, or one node, would be seen.
            assert!(off(square * SQUARED) > most && off(square / f64::from(LEVELS)) > most);
        }
    }

    #[test]
    fn a_level_costs_a_group_what_its_worst_pattern_costs() {
        let (epsilon, delta) = (0.3, 1e-5);
        assert_eq!(level_budget(epsilon, delta, 1).unwrap(), (epsilon, delta));
        let budget = |count| level_budget(epsilon, delta, count).unwrap();
        let (two, three) = (budget(2), budget(3));
        assert!((two.1 - delta * (1.0 + epsilon.exp())).abs() < 1e-18);
        // One row more: (a, s) and (b, t) give (a + b, s + e^a t).
        assert!((three.1 - (two.1 + two.0.exp() * delta)).abs() < 1e-18);
        assert!(budget(2).1 + budget(3).1 <= budget(5).1);
        let refused = level_budget(epsilon, delta, 1000).unwrap_err().to_string();
        assert!(refused.contains("contributions_per_person: got 1000"), "{refused}");
    }

    #[test]
    fn parameters_outside_theorem_8_are_refused() {
        let tree = Tree::new(40, None).unwrap();
        let refused = |domain, epsilon, delta| match WishartSums::new(domain, tree, epsilon, delta)
        {
            Err(Error::Invalid { field, .. }) => field,
            other => panic!("{other:?}"),
        };
        for epsilon in [0.0, 1.0, -1.0, f64::NAN, 1e-40] {
            assert_eq!(refused(DOMAIN, epsilon, 0.1), "node_epsilon");
        }
        for delta in [0.0, 0.37, f64::NAN] {
            assert_eq!(refused(DOMAIN, 0.5, delta), "node_delta");
        }
        assert_eq!(refused(Domain::Vector { dimension: 2, bound: 1.0 }, 0.5, 0.1), "domain");
        assert_eq!(refused(Domain::regression(2, 1.0, 1e20), 0.5, 0.1), "node_epsilon");
        assert_eq!(refused(Domain::regression(2, 1e200, 1.0), 0.5, 0.1), "feature_bound");
    }
}
