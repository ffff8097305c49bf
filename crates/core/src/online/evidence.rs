//! A test whether a stream breaks its gradient bound, valid under any symmetric noise.
//!
//! The regret bound of the potential assumes `|E g_t| <= G`, and `E g_t` is not observed. But Lemma 7 implies more than the paper uses: for
//! `0 < v <= 1/(5G)`, symmetric noise and a mean of at most G,
//!
//! ```text
//! E[exp(-v g - v^2 g^2)] <= 1 - v E g <= 1 + v G
//! ```
//!
//! so `M_t(v) = exp(v L - v^2 V) / (1 + v G)^n`, n the number of gradients, is a supermartingale that starts at 1, and so it is with
//! the sign of L turned. By Ville's inequality it ever exceeds `1/alpha` with probability at most alpha: at any time, under any symmetric
//! noise of unknown level. A rate v that is best for a mean of `k G` is `1/(2 k G)`; a few of them share alpha.
//!
//! A gradient of exactly zero is taken for a person who sends nothing there, and is not counted: noise that is zero with positive
//! probability (a coin between 0 and 2G) is not covered, noise on a fine grid is.
//!
//! A stream whose mean stays at 1.3 G or more is detected within some hundred noiseless gradients; single gradients above G cannot be
//! distinguished from noise. Where gradients are known to be free of noise, the learner checks each.

use serde::{Deserialize, Serialize};

use super::Statistics;

/// The probability of ever reporting a stream that keeps its bound.
pub const FALSE_ALARM: f64 = 1e-6;

/// Rates in units of 1/G.
const RATES: [f64; 8] = [0.2, 0.14, 0.1, 0.05, 0.02, 0.01, 0.003, 0.001];

/// A gradient bound that the data contradict.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct BoundBroken {
    /// The coordinate whose gradients broke the bound; `None` if gradients along the played direction did.
    pub coordinate: Option<usize>,
    /// `ln M`: the data are `e^evidence` times likelier than the bound allows.
    pub evidence: f64,
    /// The round in which it was detected, counted from 1.
    pub round: u64,
}

impl std::fmt::Display for BoundBroken {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "by round {} the gradients", self.round)?;
        if let Some(coordinate) = self.coordinate {
            write!(formatter, " of coordinate {coordinate}")?;
        }
        write!(
            formatter,
            " exceed gradient_bound on average (a stream that keeps it shows this with probability {FALSE_ALARM:e}): \
             regret bounds do not hold; clip gradients, or start again with a larger gradient_bound"
        )
    }
}

/// The largest `ln M` over rates and signs if it exceeds the threshold for `streams` streams.
#[inline]
pub(super) fn against(statistics: &Statistics, gradient_bound: f64, streams: usize) -> Option<f64> {
    let (sum, squares) = (
        statistics.sum.abs() / gradient_bound,
        statistics.squares / (gradient_bound * gradient_bound),
    );
    let count = statistics.count as f64;
    // Without a sum above n G no rate gains: v L - v^2 V <= n ln(1 + v) as ln(1 + v) >= v - v^2/2 and V >= L^2/n.
    if sum <= count {
        return None;
    }
    let threshold = libm::log(2.0 * RATES.len() as f64 * streams as f64 / FALSE_ALARM);
    let evidence = RATES
        .iter()
        .map(|&rate| rate * sum - rate * rate * squares - count * libm::log1p(rate))
        .fold(f64::NEG_INFINITY, f64::max);
    (evidence > threshold).then_some(evidence)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{noise::Noise, release::testing::Seeded};

    /// Rounds until the alarm, of streams with this mean and Laplace noise of this scale.
    fn alarm(mean: f64, scale: f64, rounds: u64, seed: u64) -> Option<u64> {
        let mut noise = Seeded(seed);
        let mut statistics = Statistics::default();
        (1..=rounds).find(|_| {
            statistics.absorb(mean + scale * (noise.exponential() - noise.exponential()));
            against(&statistics, 1.0, 1).is_some()
        })
    }

    #[test]
    fn a_broken_bound_is_found_under_any_noise_and_a_kept_one_never() {
        assert!(alarm(1.3, 0.0, 5000, 1).is_some());
        assert!(alarm(-2.0, 0.0, 400, 1).is_some());
        assert!(alarm(50.0, 0.0, 10_000, 1).is_some());
        assert!(alarm(2.0, 1.0, 1000, 2).is_some());
        assert!(alarm(3.0, 5.0, 5000, 3).is_some());
        assert!(alarm(5.0, 20.0, 20_000, 4).is_some());
        // 3000 honest streams exactly at the bound: a wrong threshold raises an alarm, the right one with probability 3e-3.
        for seed in 0..1000 {
            for scale in [0.0, 0.5, 10.0] {
                assert_eq!(alarm(1.0, scale, 300, 1000 + seed), None);
            }
        }
    }

    #[test]
    fn the_supermartingale_of_lemma_7_is_one() {
        // E[exp(v g - v^2 g^2)] <= 1 + v E g for two-point and Laplace noise of every size, on a grid of means and rates.
        for v in [0.2, 0.1, 0.01] {
            for mean in [-1.0, 0.0, 0.7, 1.0] {
                for size in [0.0, 0.3, 1.0, 3.0, 30.0] {
                    let value = |g: f64| (v * g - v * v * g * g).exp();
                    let expected = 0.5 * (value(mean + size) + value(mean - size));
                    assert!(expected <= 1.0 + v * mean + 1e-15, "{v} {mean} {size}");
                }
            }
        }
    }
}
