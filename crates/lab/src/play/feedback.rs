//! Delivery of rewards to the learner: late, in batches, or lost.
//!
//! A reward of round t with a delay of D rounds arrives at the end of round `t + D`; with batches of B it waits until the end of the next
//! round that is a multiple of B. Rewards that arrive together are delivered in the order of their rounds. Those still outstanding at the
//! end are never delivered.

use std::collections::BTreeMap;

use reticent::{noise::Noise, schema::NotNegative};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::FastNoise;

/// The law of the delay, in rounds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Delay {
    /// A fixed number of rounds.
    Fixed(u64),
    /// A geometric number of rounds, 0 included, with this mean.
    #[schemars(with = "NotNegative")]
    Mean(f64),
}

/// Delivery of rewards.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Way {
    /// The delay.
    pub delay: Delay,
    /// Rewards are delivered after every multiple of this number of rounds.
    pub batch: u64,
    /// The probability that a reward is lost.
    pub lost: f64,
}

/// An outstanding reward: its round, the chosen arm's block and features, and the reward.
pub type Parcel = (u64, usize, Vec<f64>, f64);

/// The outstanding rewards.
#[derive(Debug)]
pub struct Feedback {
    way: Way,
    noise: FastNoise,
    under_way: BTreeMap<(u64, u64), (usize, Vec<f64>, f64)>,
}

impl Feedback {
    /// No outstanding rewards.
    pub fn new(way: Way, seed: u64) -> Self {
        Feedback { way, noise: FastNoise::seeded(seed), under_way: BTreeMap::new() }
    }

    /// Sends the reward of a round; returns whether it will arrive.
    pub fn send(&mut self, (round, block, features, reward): Parcel) -> bool {
        // Loss and delay are both drawn for every reward, so that a lost reward does not change the delays of others.
        let (lost, uniform) = (self.noise.uniform() < self.way.lost, self.noise.uniform());
        if lost {
            return false;
        }
        let takes = match self.way.delay {
            Delay::Fixed(rounds) => rounds,
            // P(D >= k) = q^k with q = mean/(1 + mean).
            Delay::Mean(mean) if mean > 0.0 => {
                let takes = (1.0 - uniform).ln() / (mean / (1.0 + mean)).ln();
                // Capped at a number beyond any horizon.
                takes.min(1e18) as u64
            }
            Delay::Mean(_) => 0,
        };
        let arrives = round.saturating_add(takes);
        let due = arrives.checked_next_multiple_of(self.way.batch.max(1)).unwrap_or(u64::MAX);
        self.under_way.insert((due, round), (block, features, reward));
        true
    }

    /// The next reward that has arrived by the end of this round.
    pub fn next(&mut self, round: u64) -> Option<Parcel> {
        let first = self.under_way.first_entry()?;
        let (due, sent) = *first.key();
        (due <= round).then(|| {
            let (block, features, reward) = first.remove();
            (sent, block, features, reward)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrivals(way: Way, rounds: u64) -> Vec<(u64, u64)> {
        let mut feedback = Feedback::new(way, 3);
        let mut all = Vec::new();
        for round in 1..=rounds {
            feedback.send((round, 0, vec![round as f64], 1.0));
            while let Some((sent, _, features, _)) = feedback.next(round) {
                assert_eq!(features, [sent as f64]);
                all.push((sent, round));
            }
        }
        all
    }

    #[test]
    fn prompt_fixed_and_batched() {
        let prompt = Way { delay: Delay::Fixed(0), batch: 1, lost: 0.0 };
        assert_eq!(arrivals(prompt, 3), [(1, 1), (2, 2), (3, 3)]);
        let fixed = Way { delay: Delay::Fixed(2), ..prompt };
        assert_eq!(arrivals(fixed, 4), [(1, 3), (2, 4)]);
        let batched = Way { batch: 3, ..prompt };
        let expected = [(1, 3), (2, 3), (3, 3), (4, 6), (5, 6), (6, 6)];
        assert_eq!(arrivals(batched, 7), expected);
    }

    #[test]
    fn delays_have_their_mean_and_losses_their_share() {
        let way = Way { delay: Delay::Mean(20.0), batch: 1, lost: 0.25 };
        // Rewards outstanding at the end would bias the mean, so only much earlier rounds count.
        let all: Vec<(u64, u64)> =
            arrivals(way, 101_000).into_iter().filter(|(sent, _)| *sent <= 100_000).collect();
        let n = all.len() as f64;
        // 5.33 standard errors: a false alarm of 1e-7 each.
        assert!((n / 1e5 - 0.75).abs() < 5.33 * (0.1875_f64 / 1e5).sqrt(), "{n}");
        let mean = all.iter().map(|(sent, came)| (came - sent) as f64).sum::<f64>() / n;
        assert!((mean - 20.0).abs() < 5.33 * (420.0 / n).sqrt(), "{mean}");
        assert!(all.windows(2).all(|pair| pair[0].1 <= pair[1].1));
        assert!(all.windows(2).any(|pair| pair[0].0 > pair[1].0), "out of order sometimes");
    }
}
