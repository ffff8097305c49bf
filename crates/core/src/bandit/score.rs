//! Scores of a whole decision set, and the choice among them.
//!
//! ```text
//! choice = argmax_arm UCB(x_arm),   exact ties to the arm with the largest hash(tie, arm)
//! ```
//!
//! Unit arms tie at a cold start. "The first wins" would then always play arm 0, which is the best one in many a
//! synthetic environment and fakes zero regret; a hash prefers no arm.

use pulp::Arch;

use super::{Arms, Policy};
use crate::{
    Error, Result,
    linalg::lanes::{Bound, Lanes, TILE, Take, each_tile},
};

impl Policy {
    /// The upper confidence bounds of all arms, in their order; `scores` is overwritten.
    ///
    /// Each is, to the last bit, what [`Policy::bound`] says, on every instruction set.
    ///
    /// ```
    /// # use reticent::bandit::{Arms, LinUcbParams};
    /// let learner = LinUcbParams::new(2).check()?;
    /// let arms = Arms::from_rows(2, &[[0.6, 0.8], [0.1, 0.0]])?;
    /// let mut scores = Vec::new();
    /// learner.policy().scores(&arms, &mut scores)?;
    /// assert!(scores[0] > scores[1]); // nothing is known, and the longer arm is the wider one
    /// # Ok::<(), reticent::Error>(())
    /// ```
    pub fn scores(&self, arms: &Arms, scores: &mut Vec<f64>) -> Result<()> {
        self.scores_on(Arch::new(), arms, scores)
    }

    fn scores_on(&self, arch: Arch, arms: &Arms, scores: &mut Vec<f64>) -> Result<()> {
        self.check(arms)?;
        scores.clear();
        each_tile(arch, self.parts(), arms.tiles(), scores);
        scores.truncate(arms.count());
        Ok(())
    }

    /// The arm with the largest upper confidence bound.
    ///
    /// `tie` decides among arms of exactly equal bound and nothing else: give another number each round, its
    /// index for instance. Nothing is allocated up to dimension 64, and never where drift is zero.
    pub fn choose(&self, arms: &Arms, tie: u64) -> Result<usize> {
        self.check(arms)?;
        let mut best =
            Best { score: f64::NEG_INFINITY, arm: 0, tie, first: 0, count: arms.count() };
        each_tile(Arch::new(), self.parts(), arms.tiles(), &mut best);
        Ok(best.arm)
    }

    fn check(&self, arms: &Arms) -> Result<()> {
        if arms.dimension() == self.dimension() {
            return Ok(());
        }
        let (expected, found) = (self.dimension(), arms.dimension());
        Err(Error::Dimension { field: "every arm", expected, found })
    }

    fn parts(&self) -> Bound<'_> {
        Bound {
            theta: self.theta(),
            whitening: self.whitening(),
            width: self.width(),
            drift: self.drift(),
        }
    }
}

impl Take for Vec<f64> {
    #[inline(always)]
    fn take(&mut self, scores: Lanes) {
        self.extend_from_slice(&scores.0);
    }
}

/// The best arm so far.
struct Best {
    score: f64,
    arm: usize,
    tie: u64,
    /// The next tile begins with this arm.
    first: usize,
    count: usize,
}

impl Take for Best {
    /// Branches only on what is rare: which of sixteen arms is best cannot be predicted.
    #[inline(always)]
    fn take(&mut self, Lanes(mut scores): Lanes) {
        let first = self.first;
        self.first += TILE;
        if self.count < self.first {
            scores[self.count - first..].fill(f64::NEG_INFINITY);
        }
        let mut tree = scores;
        for half in [8, 4, 2, 1] {
            for lane in 0..half {
                let (a, b) = (tree[lane], tree[lane + half]);
                tree[lane] = if a > b { a } else { b };
            }
        }
        let largest = tree[0];
        if largest < self.score {
            return;
        }
        let mut equal = 0_u32;
        for (lane, &score) in scores.iter().enumerate() {
            equal |= u32::from(score == largest) << lane;
        }
        if largest > self.score && equal.is_power_of_two() {
            (self.score, self.arm) = (largest, first + equal.trailing_zeros() as usize);
            return;
        }
        for lane in (0..TILE).filter(|lane| equal >> lane & 1 == 1) {
            let arm = first + lane;
            if largest > self.score || hash(self.tie, arm) > hash(self.tie, self.arm) {
                (self.score, self.arm) = (largest, arm);
            }
        }
    }
}

/// Two rounds of the finaliser of SplitMix64 (Steele, Lea and Flood 2014): a bijection in each argument.
fn hash(tie: u64, arm: usize) -> u64 {
    let mix = |z: u64| {
        let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    mix(mix(tie.wrapping_add(0x9e37_79b9_7f4a_7c15)).wrapping_add(arm as u64))
}
