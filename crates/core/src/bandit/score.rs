//! Scores of a whole decision set, and the choice among them.
//!
//! ```text
//! choice = argmax_arm UCB(x_arm),   exact ties to the arm with the largest mix(tie, arm)
//! ```
//!
//! Unit arms tie at a cold start. "The first wins" would then always play arm 0, which is the best one in many a
//! synthetic environment and fakes zero regret; a hash prefers no arm.

use pulp::Arch;

use super::{Arms, Policy};
use crate::{
    Result,
    hash::mix,
    linalg::{
        blockwise::each_tile_by_block,
        lanes::{Bound, Lanes, TILE, Take, arch, each_tile},
    },
};

/// An arm that was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice {
    /// Index of the arm.
    pub arm: usize,
    /// Number of the arms that were longer than the feature bound and were scaled to it. A property of this person's own data.
    pub clipped_arms: usize,
}

impl Policy {
    /// The upper confidence bounds of all arms, in their order; `scores` is overwritten.
    ///
    /// Each is, to the last bit, what [`Policy::bound`] says, on every instruction set.
    ///
    /// ```
    /// # use reticent::{bandit::{Arms, LinUcbParams}, randomize::Bounds};
    /// let learner = LinUcbParams::new(Bounds::unit(2)).check()?;
    /// let arms = Arms::from_rows(2, &[[0.6, 0.8], [0.1, 0.0]])?;
    /// let mut scores = Vec::new();
    /// learner.policy().scores(&arms, &mut scores)?;
    /// assert!(scores[0] > scores[1]); // nothing is known, and the longer arm is the wider one
    /// # Ok::<(), reticent::Error>(())
    /// ```
    pub fn scores(&self, arms: &Arms, scores: &mut Vec<f64>) -> Result<()> {
        self.scores_on(arch(), arms, scores)
    }

    fn scores_on(&self, arch: Arch, arms: &Arms, scores: &mut Vec<f64>) -> Result<()> {
        self.check(arms)?;
        scores.clear();
        score(arch, self.parts(), arms, scores);
        scores.truncate(arms.count());
        Ok(())
    }

    /// The arm with the largest upper confidence bound, or the best one by the member of an ensemble that `randomness` picks.
    ///
    /// `randomness` is public: a uniform word where there is an ensemble; else it decides among arms of exactly equal bound and nothing
    /// else, and another number each round will do, its index for instance. Without an ensemble nothing is allocated up to dimension
    /// 64, and never where drift is zero.
    pub fn choose(&self, arms: &Arms, randomness: u64) -> Result<usize> {
        self.check(arms)?;
        if let Some(ensemble) = self.ensemble() {
            return ensemble.choose(self, arms, randomness);
        }
        let mut best = Best::new(arms.count(), randomness);
        score(arch(), self.parts(), arms, &mut best);
        Ok(best.arm)
    }

    /// The probability with which [`Policy::choose`] plays each arm, over uniform words of randomness: for an ensemble an exact count, else 1
    /// for the arm with the largest upper confidence bound, shared by those that are exactly equal.
    pub fn probabilities(&self, arms: &Arms) -> Result<Vec<f64>> {
        self.check(arms)?;
        if let Some(ensemble) = self.ensemble() {
            return ensemble.probabilities(self, arms);
        }
        let mut scores = Vec::new();
        self.scores(arms, &mut scores)?;
        let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let equal = scores.iter().filter(|score| **score == largest).count() as f64;
        Ok(scores.iter().map(|score| if *score == largest { 1.0 / equal } else { 0.0 }).collect())
    }

    /// The same choice with arms above `bound` scaled to it, as learners compare them: for a replica that has the released policy and not the
    /// learner, with the learner's `feature_bound` and a word of randomness for each decision.
    ///
    /// ```
    /// use reticent::bandit::{Arms, Policy};
    /// let policy = Policy::from_parts(vec![0.5, 0.4], vec![0.1, 0.0, 0.1], 0.0, 0.0)?;
    /// let arms = Arms::from_rows(2, &[[0.9, 0.0], [0.0, 3.0]])?;
    /// let choice = policy.choose_within(&arms, 1.0, 0)?;
    /// assert_eq!((choice.arm, choice.clipped_arms), (0, 1));
    /// assert_eq!(policy.choose(&arms, 0)?, 1);
    /// # Ok::<(), reticent::Error>(())
    /// ```
    pub fn choose_within(&self, arms: &Arms, bound: f64, randomness: u64) -> Result<Choice> {
        match arms.clipped_to(bound) {
            None => Ok(Choice { arm: self.choose(arms, randomness)?, clipped_arms: 0 }),
            Some((arms, clipped_arms)) => {
                Ok(Choice { arm: self.choose(&arms, randomness)?, clipped_arms })
            }
        }
    }

    /// The probabilities of [`Policy::choose_within`].
    pub fn probabilities_within(&self, arms: &Arms, bound: f64) -> Result<Vec<f64>> {
        match arms.clipped_to(bound) {
            None => self.probabilities(arms),
            Some((arms, _)) => self.probabilities(&arms),
        }
    }

    fn check(&self, arms: &Arms) -> Result<()> {
        arms.expect(self.dimension(), self.structure())
    }
}

/// True if arms are scored one by one, with the same bits. A browser downloads the code and has no fused multiply-add, so that code for sixteen arms,
/// for every small dimension and for every instruction set would be large and no faster.
const ONE_BY_ONE: bool = cfg!(little);

/// Scores all arms, each by its block where there are several.
pub(super) fn score(arch: Arch, bound: Bound<'_>, arms: &Arms, take: &mut impl Take) {
    if ONE_BY_ONE {
        return one_by_one(bound, arms, take);
    }
    match arms.blocks() {
        None => each_tile(arch, bound, arms.tiles(), take),
        Some(blocks) => {
            each_tile_by_block(arch, bound, arms.dimension(), blocks, arms.tiles(), take);
        }
    }
}

fn one_by_one(bound: Bound<'_>, arms: &Arms, take: &mut impl Take) {
    let mut scratch = vec![0.0; arms.dimension()];
    for first in (0..arms.count()).step_by(TILE) {
        let mut scores = Lanes([0.0; TILE]);
        for (arm, score) in (first..arms.count()).zip(&mut scores.0) {
            *score = bound.of_block(arms.block(arm), &arms.arm(arm), &mut scratch);
        }
        take.take(scores);
    }
}

impl Take for Vec<f64> {
    #[inline(always)]
    fn take(&mut self, scores: Lanes) {
        self.extend_from_slice(&scores.0);
    }
}

/// The best arm so far.
pub(super) struct Best {
    score: f64,
    arm: usize,
    tie: u64,
    /// The next tile begins with this arm.
    first: usize,
    count: usize,
}

impl Best {
    /// None of `count` arms has been looked at.
    pub(super) fn new(count: usize, tie: u64) -> Self {
        Best { score: f64::NEG_INFINITY, arm: 0, tie, first: 0, count }
    }

    /// Its index.
    pub(super) fn arm(&self) -> usize {
        self.arm
    }
}

impl Take for Best {
    /// Branches only on what is rare: which of sixteen arms is best cannot be predicted.
    #[inline(always)]
    fn take(&mut self, Lanes(mut scores): Lanes) {
        let first = self.first;
        self.first += TILE;
        let mut arms = u32::MAX;
        if self.count < self.first {
            // A score of minus infinity equals those behind the last arm, which are no arms.
            arms = (1 << (self.count - first)) - 1;
            for (lane, score) in scores.iter_mut().enumerate() {
                *score = if first + lane < self.count { *score } else { f64::NEG_INFINITY };
            }
        }
        let largest = largest(&scores);
        if largest < self.score {
            return;
        }
        let mut equal = 0_u32;
        for (lane, &score) in scores.iter().enumerate() {
            equal |= u32::from(score == largest) << lane;
        }
        equal &= arms;
        if largest > self.score && equal.is_power_of_two() {
            (self.score, self.arm) = (largest, first + equal.trailing_zeros() as usize);
            return;
        }
        for lane in (0..TILE).filter(|lane| equal >> lane & 1 == 1) {
            let arm = first + lane;
            if largest > self.score || mix(self.tie, arm as u64) > mix(self.tie, self.arm as u64) {
                (self.score, self.arm) = (largest, arm);
            }
        }
    }
}

/// The largest of sixteen numbers, in four steps side by side.
#[inline(always)]
fn largest(scores: &[f64; TILE]) -> f64 {
    let larger = |a: f64, b: f64| if a > b { a } else { b };
    let (mut eight, mut four) = ([0.0; 8], [0.0; 4]);
    for i in 0..8 {
        eight[i] = larger(scores[i], scores[i + 8]);
    }
    for i in 0..4 {
        four[i] = larger(eight[i], eight[i + 4]);
    }
    larger(larger(four[0], four[2]), larger(four[1], four[3]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Error,
        linalg::{Cholesky, lanes::paths, triangle},
        noise::{Noise, SecureNoise, check},
        randomize::Bounds,
    };

    /// A policy that was read may have scores that overflow: what is chosen is an arm all the same.
    #[test]
    fn scores_of_minus_infinity_choose_an_arm() {
        let policy = Policy::from_parts(vec![-1e308; 3], vec![0.0; 6], 0.0, 0.0).unwrap();
        let arms = Arms::from_rows(3, &[[1.0; 3]; 5]).unwrap();
        assert_eq!(policy.bound(&[1.0; 3]), f64::NEG_INFINITY);
        let mut chosen = [false; 5];
        (0..200).for_each(|tie| chosen[policy.choose(&arms, tie).unwrap()] = true);
        assert_eq!(chosen, [true; 5]);
    }

    fn normals(count: usize, noise: &mut SecureNoise) -> Vec<f64> {
        (0..count).map(|_| noise.standard_normal()).collect()
    }

    fn random(d: usize, count: usize, drift: f64, noise: &mut SecureNoise) -> (Policy, Arms) {
        let whitening = normals(triangle(d), noise);
        let policy = Policy::dense(normals(d, noise), whitening, 0.7, drift);
        let rows: Vec<Vec<f64>> = (0..count).map(|_| normals(d, noise)).collect();
        (policy, Arms::from_rows(d, &rows).unwrap())
    }

    #[test]
    fn every_instruction_set_gives_the_bits_of_the_plain_form() {
        let mut noise = SecureNoise::seeded(1);
        let mut unfused_differs = false;
        for d in [1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 32, 66] {
            for (count, drift) in [(1, 0.0), (16, 0.3), (17, 0.0), (40, 1.3)] {
                let (policy, arms) = random(d, count, drift, &mut noise);
                let plain: Vec<u64> =
                    (0..count).map(|arm| policy.bound(&arms.arm(arm)).to_bits()).collect();
                for path in paths() {
                    let mut scores = Vec::new();
                    policy.scores_on(path, &arms, &mut scores).unwrap();
                    let bits: Vec<u64> = scores.iter().map(|score| score.to_bits()).collect();
                    assert_eq!(bits, plain, "{path:?}, dimension {d}, {count} arms, drift {drift}");
                }
                // In a browser.
                let mut alone = Vec::new();
                one_by_one(policy.parts(), &arms, &mut alone);
                let bits: Vec<u64> = alone[..count].iter().map(|score| score.to_bits()).collect();
                assert_eq!(bits, plain, "one by one, dimension {d}");
                // What the comparison must notice: a product rounded before it is added.
                let mut greedy = policy.clone();
                greedy.width = 0.0;
                let x = arms.arm(0);
                let unfused: f64 = greedy.theta().iter().zip(&x).map(|(t, x)| t * x).sum();
                unfused_differs |= drift == 0.0 && unfused.to_bits() != greedy.bound(&x).to_bits();
            }
        }
        assert!(unfused_differs);
    }

    #[test]
    fn the_bound_is_the_formula() {
        let mut noise = SecureNoise::seeded(2);
        let d = 6;
        let mut factor = Cholesky::of(d, &vec![0.0; triangle(d)], 0.1).unwrap();
        for _ in 0..9 {
            factor.update(&normals(d, &mut noise)).unwrap();
        }
        let policy = Policy::dense(normals(d, &mut noise), factor.inverse_factor(), 0.4, 0.8);
        let x = normals(d, &mut noise);
        let solved = factor.solve(&x).unwrap();
        let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let expected = product(policy.theta(), &x)
            + 0.4 * product(&x, &solved).sqrt()
            + 0.8 * product(&solved, &solved).sqrt();
        assert!((policy.bound(&x) - expected).abs() < 1e-12);
    }

    #[test]
    fn the_choice_is_the_largest_score_and_never_the_padding() {
        let mut noise = SecureNoise::seeded(6);
        let mut scores = Vec::new();
        for round in 0..300 {
            let count = 1 + round % 50;
            let (mut policy, arms) = random(1 + round % 10, count, 0.0, &mut noise);
            if round % 3 == 0 {
                // All bounds negative, while the padding's is zero.
                policy.width = 0.0;
                let rows: Vec<Vec<f64>> = (0..count)
                    .map(|_| {
                        policy.theta().iter().map(|t| -t * noise.standard_normal().abs()).collect()
                    })
                    .collect();
                let arms = Arms::from_rows(policy.dimension(), &rows).unwrap();
                assert!(policy.choose(&arms, 1).unwrap() < count);
            }
            policy.scores(&arms, &mut scores).unwrap();
            let choice = policy.choose(&arms, round as u64).unwrap();
            assert!(scores.iter().all(|score| *score <= scores[choice]));
        }
    }

    #[test]
    fn ties_of_a_cold_start_fall_evenly() {
        let rows: Vec<Vec<f64>> =
            (0..25).map(|arm| (0..25).map(|i| f64::from(i == arm)).collect()).collect();
        let arms = Arms::from_rows(25, &rows).unwrap();
        let learner = crate::bandit::LinUcbParams::new(Bounds::unit(25)).check().unwrap();
        let policy = learner.policy();
        let uneven = |choose: &dyn Fn(u64) -> usize| {
            let mut counts = [0; 25];
            (0..25_000).for_each(|tie| counts[choose(tie)] += 1);
            check::chi_square_alarm(&counts, &[0.04; 25])
        };
        assert!(!uneven(&|tie| policy.choose(&arms, tie).unwrap()));
        assert!(!uneven(&|tie| policy.choose(&arms, tie << 32).unwrap()));
        // The first wins; and the milder mistake that the last of each sixteen does.
        let mut scores = Vec::new();
        policy.scores(&arms, &mut scores).unwrap();
        let largest = scores.iter().copied().fold(f64::MIN, f64::max);
        let first = scores.iter().position(|score| *score == largest).unwrap();
        assert!(uneven(&|_| first));
        assert!(uneven(&|tie| if mix(tie, 15) > mix(tie, 24) { 15 } else { 24 }));
    }

    #[test]
    fn another_dimension_is_refused() {
        let (policy, _) = random(3, 1, 0.0, &mut SecureNoise::seeded(7));
        let arms = Arms::zeros(2, 4).unwrap();
        let error = Error::Dimension { field: "every arm", expected: 3, found: 2 };
        assert_eq!(policy.choose(&arms, 0), Err(error.clone()));
        assert_eq!(policy.scores(&arms, &mut vec![]), Err(error));
    }
}
