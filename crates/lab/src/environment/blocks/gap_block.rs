//! Many rounds of [`Gap`] under one policy, without drawing the arms that cannot win.
//!
//! In the coordinates of theta* (`frame`) an arm is `(t, s u)`. In each round
//!
//! 1. the optimal arm is drawn, `t = 0.75`, and its bound computed;
//! 2. with tau such that no arm of `t <= tau` can reach that bound (`turned`), the number of the K - 1 others
//!    above tau is binomial, and those are independent draws of the slice above tau; the rest are never drawn;
//! 3. of those, the direction of an arm is drawn only if its t alone does not rule it out against the best so far.
//!
//! Every step is exact: skipped arms could not have been chosen. 256 rounds are processed together, one arm of each at a time, with the
//! same tau. Only a policy that is the same for all unit arms makes ties; the random slot of the optimal arm then makes the choice uniform
//! among the K arms, which is drawn as such.
//!
//! The work itself is in `race`.

use pulp::Arch;
use reticent::{Result, bandit::Policy};

use super::{
    Blocks, Sums,
    lanes::{LaneNoise, ROUNDS},
    race::{Cell, Race, Table},
    same_dimension,
    turned::Turned,
};
use crate::environment::{Frame, Gap};

/// Cells of `<x, theta*>` among which tau is chosen; finer towards the top, where a good policy needs it.
const CELLS: usize = 64;

/// [`Gap`], played in blocks. Until it follows a policy, arms are chosen uniformly.
#[derive(Debug, Clone)]
pub struct GapBlocks {
    frame: Frame,
    dimension: usize,
    noise: LaneNoise,
    policy: Turned,
    table: Table,
    race: Race,
    /// Sums in the coordinates of theta*.
    turned: Sums,
    /// Scratch space for a square matrix.
    square: Vec<f64>,
    arch: Arch,
}

impl GapBlocks {
    /// The rounds this environment would play next, in law.
    pub fn new(mut gap: Gap) -> Self {
        let params = *gap.plan().params();
        let slice = gap.plan().others();
        let total = slice.area(slice.low, slice.high);
        let cell = |cell: usize| {
            let distance = (CELLS - cell) as f64 / CELLS as f64;
            let low = slice.high - (slice.high - slice.low) * distance * distance;
            Cell { above: slice.above(low), share: slice.area(low, slice.high) / total, reach: 0.0 }
        };
        let dimension = params.dimension;
        let nothing = Policy::from_parts(
            vec![0.0; dimension],
            vec![0.0; dimension * (dimension + 1) / 2],
            0.0,
            0.0,
        );
        GapBlocks {
            policy: Turned::new(&nothing.expect("zeros are finite"), gap.frame()),
            frame: gap.frame().clone(),
            dimension,
            noise: LaneNoise::new(gap.noise()),
            table: Table {
                others: params.arms - 1,
                rewards: params.rewards,
                reward_bound: f64::INFINITY,
                cells: (0..=CELLS).map(cell).collect(),
            },
            race: Race::new(dimension),
            turned: Sums::new(dimension),
            square: vec![0.0; dimension * dimension],
            arch: Arch::new(),
        }
    }

    /// Converts the block's sums to the original coordinates and adds them.
    fn hand_over(&mut self, sums: &mut Sums) {
        let dimension = self.dimension;
        let mut entries = self.turned.gram.iter();
        for i in 0..dimension {
            for (j, entry) in (i..dimension).zip(&mut entries) {
                self.square[i * dimension + j] = *entry;
                self.square[j * dimension + i] = *entry;
            }
        }
        self.frame.turn_matrix(&mut self.square);
        self.frame.turn(&mut self.turned.moment);
        let mut gram = sums.gram.iter_mut();
        for (i, row) in self.square.chunks_exact(dimension).enumerate() {
            row[i..].iter().zip(&mut gram).for_each(|(entry, sum)| *sum += entry);
        }
        sums.moment.iter_mut().zip(&self.turned.moment).for_each(|(sum, entry)| *sum += entry);
        sums.rounds += self.turned.rounds;
        sums.regret += self.turned.regret;
        self.turned.clear();
    }
}

impl Blocks for GapBlocks {
    fn clip_rewards(&mut self, bound: f64) {
        self.table.reward_bound = bound.max(1.0);
    }

    fn follow(&mut self, policy: &Policy) -> Result<()> {
        same_dimension(policy, self.dimension)?;
        self.policy = Turned::new(policy, &self.frame);
        let mut reach = f64::NEG_INFINITY;
        for cell in 1..self.table.cells.len() {
            let (low, high) =
                (self.table.cells[cell - 1].above.low, self.table.cells[cell].above.low);
            reach = reach.max(self.policy.score_bound.between(low, high));
            self.table.cells[cell].reach = reach;
        }
        Ok(())
    }

    fn advance(&mut self, rounds: u64, sums: &mut Sums) {
        assert_eq!(sums.moment.len(), self.dimension, "sums of another dimension");
        let mut left = rounds;
        while left > 0 {
            let count = left.min(ROUNDS as u64) as usize;
            self.arch.dispatch(self.race.run(
                &self.table,
                &self.policy,
                &mut self.noise,
                count,
                &mut self.turned,
            ));
            left -= count as u64;
        }
        self.hand_over(sums);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::{GapParams, Rewards};

    #[test]
    fn every_instruction_set_gives_the_same_bits() {
        for (dimension, rewards) in [(2, Rewards::Sign), (5, Rewards::Sign), (7, Rewards::Gaussian)]
        {
            let params = GapParams { rewards, ..GapParams::new(dimension, 25) };
            let mut theta = vec![0.1; dimension];
            theta[0] = 0.9;
            let whitening = vec![0.1; dimension * (dimension + 1) / 2];
            let policy = Policy::from_parts(theta, whitening, 1.0, 0.5).unwrap();
            let play = |arch| {
                let mut blocks = GapBlocks::new(params.check().unwrap().fresh(1));
                blocks.arch = arch;
                let mut sums = Sums::new(dimension);
                blocks.advance(100, &mut sums);
                blocks.follow(&policy).unwrap();
                blocks.advance(1000, &mut sums);
                sums
            };
            assert_eq!(play(Arch::new()), play(Arch::Scalar));
        }
    }
}
