//! The work of `gap_block`: up to 256 rounds side by side, vectorised over rounds.
//!
//! `Race` holds the best arm so far of every round, by coordinate. Other arms are compared with it, one arm of each round at a time; rounds
//! without further arms are removed from the list, so that SIMD vectors stay full.

#![allow(clippy::needless_range_loop)] // The inner loops index, see `lanes`.

use std::f64::consts::SQRT_2;

use pulp::{Simd, WithSimd};

use super::{
    Sums,
    lanes::{
        Column, LANES, LaneNoise, ROUNDS, SUMMED, ZEROS, directions, dot, normals, products, sum,
    },
    turned::Turned,
};
use crate::environment::{BEST, Rewards, Slice};

/// Below this the probability of no contender is too small to start a binomial recursion from.
const LEAST_START: f64 = 1e-280;

/// A threshold tau for `<x, theta*>`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cell {
    /// The arms above tau.
    pub(super) above: Slice,
    /// The probability that a suboptimal arm is among them.
    pub(super) share: f64,
    /// An upper bound on the scores of all arms at or below tau; none for the first cell.
    pub(super) reach: f64,
}

/// The environment and policy of a race.
#[derive(Debug, Clone)]
pub(super) struct Table {
    /// Suboptimal arms of a round, K - 1.
    pub(super) others: usize,
    pub(super) rewards: Rewards,
    /// Rewards are clipped to plus or minus this.
    pub(super) reward_bound: f64,
    /// Sorted by increasing tau, from all arms to none; `reach` increases too.
    pub(super) cells: Vec<Cell>,
}

/// A round of a race; there are exactly 256.
type Round = u8;

/// The best arm so far of each round, and its challengers.
#[derive(Debug, Clone)]
pub(super) struct Race {
    best: Side,
    other: Side,
    /// The round of every challenger to come; a round occurs as often as it has challengers.
    waiting: Vec<Round>,
    /// The round of each challenger that may win.
    places: [Round; ROUNDS],
    /// The distribution function of the number of challengers.
    counts: Vec<f64>,
    scratch: [Column; 3],
    pair: [Column; 2],
}

/// Arms by coordinate, the first being `<x, theta*>`, and their bounds.
#[derive(Debug, Clone)]
struct Side {
    arms: Vec<Column>,
    bounds: Column,
}

/// A race with everything it reads and writes, to be run on the widest SIMD vectors available.
pub(super) struct Run<'a> {
    race: &'a mut Race,
    table: &'a Table,
    policy: &'a Turned,
    noise: &'a mut LaneNoise,
    count: usize,
    sums: &'a mut Sums,
}

impl WithSimd for Run<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Run { race, table, policy, noise, count, sums } = self;
        race.draw_optimal(policy, noise, count);
        let above = race.call(table, policy, noise, count);
        let mut from = 0;
        while from < race.waiting.len() {
            race.challenge(&above, policy, noise, from);
            from += ROUNDS;
        }
        race.add(table, noise, count, sums);
    }
}

impl Race {
    pub(super) fn new(dimension: usize) -> Self {
        let side = Side { arms: vec![ZEROS; dimension], bounds: ZEROS };
        Race {
            best: side.clone(),
            other: side,
            waiting: Vec::with_capacity(ROUNDS),
            places: [0; ROUNDS],
            counts: Vec::new(),
            scratch: [ZEROS; 3],
            pair: [ZEROS; 2],
        }
    }

    /// Prepares `count` rounds, at most [`ROUNDS`]; the sums are in the coordinates of theta*.
    pub(super) fn run<'a>(
        &'a mut self,
        table: &'a Table,
        policy: &'a Turned,
        noise: &'a mut LaneNoise,
        count: usize,
        sums: &'a mut Sums,
    ) -> Run<'a> {
        Run { race: self, table, policy, noise, count, sums }
    }

    /// Every round's best arm becomes a fresh optimal one.
    #[inline(always)]
    fn draw_optimal(&mut self, policy: &Turned, noise: &mut LaneNoise, count: usize) {
        let count = count.next_multiple_of(LANES);
        let (arms, [lengths, ..]) = (self.best.arms.as_mut_slice(), &mut self.scratch);
        assert!(count <= ROUNDS);
        for r in 0..count {
            arms[0][r] = BEST;
            lengths[r] = ((1.0 - BEST) * (1.0 + BEST)).sqrt();
        }
        let (_, across) = arms.split_at_mut(1);
        directions(noise, across, lengths, count, &mut self.pair);
        policy.bounds(arms, count, &mut self.best.bounds);
    }

    /// Draws the number of challengers of each round, and returns their cell.
    #[inline(always)]
    fn call(
        &mut self,
        table: &Table,
        policy: &Turned,
        noise: &mut LaneNoise,
        count: usize,
    ) -> Slice {
        let [uniforms, ..] = &mut self.scratch;
        noise.uniforms(uniforms, count);
        self.waiting.clear();
        if policy.flat {
            // One arm of K at random: the optimal one, or any other, which is then chosen whatever its bound.
            let optimal = 1.0 / (table.others + 1) as f64;
            for round in 0..count {
                self.best.bounds[round] = f64::NEG_INFINITY;
                if uniforms[round] >= optimal {
                    self.waiting.push(round as Round);
                }
            }
            return table.cells[0].above;
        }
        let mut lowest = f64::INFINITY;
        for round in 0..count {
            lowest = lowest.min(self.best.bounds[round]);
        }
        let ruled_out = table.cells[1..].partition_point(|cell| cell.reach < lowest);
        let cell = table.cells[ruled_out];
        let start = ((-cell.share).ln_1p() * table.others as f64).exp();
        if table.others == 0 {
            return cell.above;
        }
        if ruled_out == 0 || start < LEAST_START {
            for _ in 0..table.others {
                for round in 0..count {
                    self.waiting.push(round as Round);
                }
            }
            return table.cells[0].above;
        }
        // P(j + 1) = P(j) (n - j)/(j + 1) p/(1 - p); the last entry takes the remaining probability.
        self.counts.clear();
        let odds = cell.share / (1.0 - cell.share);
        let (mut probability, mut sum) = (start, start);
        for j in 0..table.others {
            self.counts.push(sum);
            probability *= (table.others - j) as f64 / (j + 1) as f64 * odds;
            sum += probability;
            if probability < 1e-18 * sum {
                break;
            }
        }
        for round in 0..count {
            let u = uniforms[round];
            if u >= start {
                // Most draws end within the first entries, so a linear search is faster than a binary one.
                let mut challengers = 1;
                self.waiting.push(round as Round);
                while challengers < self.counts.len() && self.counts[challengers] <= u {
                    self.waiting.push(round as Round);
                    challengers += 1;
                }
            }
        }
        cell.above
    }

    /// The next 256 challengers, or as many as are left.
    #[inline(always)]
    fn challenge(&mut self, above: &Slice, policy: &Turned, noise: &mut LaneNoise, from: usize) {
        let (best, other) = (&mut self.best, &mut self.other);
        let waiting = &self.waiting.as_slice()[from..];
        let count = waiting.len().min(ROUNDS);
        let (first, across) = other.arms.split_at_mut(1);
        let first = &mut first[0];
        products(noise, above, count, first, &mut self.scratch);
        let [score_bounds, lengths, _] = &mut self.scratch;
        let score_bound = policy.score_bound;
        for r in 0..count {
            lengths[r] = ((1.0 - first[r]) * (1.0 + first[r])).sqrt();
            score_bounds[r] = score_bound.at(first[r], lengths[r]);
        }
        // Challengers that may win are moved together, without branches.
        let mut chosen = 0;
        for r in 0..count {
            let round = waiting[r];
            let place = chosen % ROUNDS;
            self.places[place] = round;
            first[place] = first[r];
            lengths[place] = lengths[r];
            chosen += usize::from(score_bounds[r] > best.bounds[usize::from(round)]);
        }

        let lanes = chosen.next_multiple_of(LANES);
        directions(noise, across, lengths, lanes, &mut self.pair);
        policy.bounds(other.arms.as_slice(), lanes, &mut other.bounds);
        let (winners, losers) = (best.arms.as_mut_slice(), other.arms.as_slice());
        for r in 0..chosen.min(ROUNDS) {
            let round = usize::from(self.places[r]);
            if other.bounds[r] > best.bounds[round] {
                best.bounds[round] = other.bounds[r];
                for i in 0..winners.len() {
                    winners[i][round] = losers[i][r];
                }
            }
        }
    }

    /// Draws the rewards of the best arms and adds the rounds to the sums.
    #[inline(always)]
    fn add(&mut self, table: &Table, noise: &mut LaneNoise, count: usize, sums: &mut Sums) {
        let summed = count.next_multiple_of(SUMMED);
        assert!(summed <= ROUNDS);
        let arms = self.best.arms.as_mut_slice();
        // Lanes beyond the last round contribute 0.
        for i in 0..arms.len() {
            for r in count..summed {
                arms[i][r] = 0.0;
            }
        }
        let [reward, second, losses] = &mut self.scratch;
        for r in 0..summed {
            losses[r] = if r < count { BEST - arms[0][r] } else { 0.0 };
        }
        sums.rounds += count as u64;
        sums.regret += (table.rewards.mean(1.0) - table.rewards.mean(0.0)) * sum(losses, summed);
        draw_rewards(table, noise, &arms[0], summed, reward, second);
        let (moment, gram) = (sums.moment.as_mut_slice(), sums.gram.as_mut_slice());
        let mut entry = 0;
        for i in 0..arms.len() {
            moment[i] += dot(&arms[i], reward, summed);
            for j in i..arms.len() {
                gram[entry] += dot(&arms[i], &arms[j], summed);
                entry += 1;
            }
        }
    }
}

/// Clipped rewards at these `<x, theta*>`; `count` is even. Sign and Bernoulli rewards need no clipping: bounds are at least 1.
#[inline(always)]
fn draw_rewards(
    table: &Table,
    noise: &mut LaneNoise,
    means: &Column,
    count: usize,
    reward: &mut Column,
    second: &mut Column,
) {
    noise.uniforms(reward, count);
    let low = match table.rewards {
        Rewards::Sign => -1.0,
        Rewards::Bernoulli => 0.0,
        Rewards::Gaussian => {
            noise.uniforms(second, count);
            normals(reward, second, count / 2);
            let bound = table.reward_bound;
            for r in 0..count / 2 {
                reward[r] = (means[r] + SQRT_2 * reward[r]).min(bound).max(-bound);
                reward[count / 2 + r] =
                    (means[count / 2 + r] + SQRT_2 * second[r]).min(bound).max(-bound);
            }
            return;
        }
    };
    for r in 0..count {
        reward[r] = if reward[r] < 0.5 + 0.5 * means[r] { 1.0 } else { low };
    }
}
