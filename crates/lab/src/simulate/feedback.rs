//! The way of rewards back to the learner: late, in batches, or lost.
//!
//! A reward of round t that takes D rounds is there at the end of round `t + D`; with batches of B it waits until the end of the next round
//! that is a multiple of B. Within a round rewards come in the order of their own rounds. Those still under way at the end never come.

use std::collections::BTreeMap;

use reticent::noise::Noise;
use serde::{Deserialize, Serialize};

use crate::FastNoise;

/// How many rounds a reward takes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Delay {
    /// Always as many.
    Fixed(u64),
    /// A geometric number of rounds, 0 included, with this mean.
    Mean(f64),
}

/// The law of the way back.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Way {
    /// How long a reward takes.
    pub delay: Delay,
    /// Rewards are handed over after every so many rounds.
    pub batch: u64,
    /// How likely a reward is lost.
    pub lost: f64,
}

/// A reward on its way: the round it belongs to, the chosen arm's features, and the reward.
pub type Parcel = (u64, Vec<f64>, f64);

/// Rewards under way.
#[derive(Debug)]
pub struct Feedback {
    way: Way,
    noise: FastNoise,
    under_way: BTreeMap<(u64, u64), (Vec<f64>, f64)>,
}

impl Feedback {
    /// Nothing under way yet.
    pub fn new(way: Way, seed: u64) -> Self {
        Feedback { way, noise: FastNoise::seeded(seed), under_way: BTreeMap::new() }
    }

    /// Sends the reward of a round off; says whether it will ever arrive.
    pub fn send(&mut self, (round, features, reward): Parcel) -> bool {
        // Both coins are thrown for everybody, so that who is lost does not change how long others take.
        let (lost, uniform) = (self.noise.uniform() < self.way.lost, self.noise.uniform());
        if lost {
            return false;
        }
        let takes = match self.way.delay {
            Delay::Fixed(rounds) => rounds,
            // P(D >= k) = q^k with q = mean/(1 + mean).
            Delay::Mean(mean) if mean > 0.0 => {
                let takes = (1.0 - uniform).ln() / (mean / (1.0 + mean)).ln();
                // Beyond any horizon there is nothing left to tell apart.
                takes.min(1e18) as u64
            }
            Delay::Mean(_) => 0,
        };
        let arrives = round.saturating_add(takes);
        let due = arrives.checked_next_multiple_of(self.way.batch.max(1)).unwrap_or(u64::MAX);
        self.under_way.insert((due, round), (features, reward));
        true
    }

    /// The next reward that is there at the end of this round.
    pub fn next(&mut self, round: u64) -> Option<Parcel> {
        let first = self.under_way.first_entry()?;
        let (due, sent) = *first.key();
        (due <= round).then(|| {
            let (features, reward) = first.remove();
            (sent, features, reward)
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
            feedback.send((round, vec![round as f64], 1.0));
            while let Some((sent, features, _)) = feedback.next(round) {
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
        // What is still under way at the end would bias the mean: only rounds long before it count.
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
