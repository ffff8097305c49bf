//! Estimates of the value of a policy from a log of another policy's decisions.
//!
//! Line i of the log has a context, the action `a_i` that was taken with probability `p_i`, and its reward, here in units in which the lowest
//! is 0 and the highest 1. A policy that would have taken `a_i` with probability `pi_i` has the weight `w_i = pi_i / p_i`, and q is any model
//! of rewards that was not fitted to these lines:
//!
//! ```text
//! IPS              V = mean w_i r_i
//! self-normalised  V = sum w_i r_i / sum w_i
//! doubly robust    V = mean q(x_i, pi) + w_i (r_i - q(x_i, a_i))
//! effective n      (sum w_i)^2 / sum w_i^2
//! ```
//!
//! IPS and the doubly robust estimate are unbiased where every action the policy takes had a positive propensity (Horvitz and Thompson 1952;
//! Dudik, Langford and Li 2011); the self-normalised one (Swaminathan and Joachims 2015) is biased by O(1/n) and seldom worse.
//!
//! **Intervals** are those of `betting`, at 95 %. With W the largest weight there can be, they are made from
//!
//! ```text
//! IPS              w_i r_i / W                              in [0, 1]
//! self-normalised  weights w_i / W, outcomes r_i, from the lines with w_i > 0: E w (r - V) = 0
//! doubly robust    (its term + W - 1) / (2 W - 1)           in [0, 1], because q is
//! ```
//!
//! They hold at any number of lines and of rewards, if the lines are independent draws of one law, the propensities are right and W is. With
//! no reward among n matched lines of equal weight the self-normalised one ends near 4.8/n, where a normal interval would end at 0. Below an
//! effective n of [`LEAST_EFFECTIVE_SIZE`] there is no interval: it would be very wide and depend on a few lines.
//!
//! **Clipped weights.** With W below the largest weight there can be, weights above it count as W. Estimates are then biased, to either
//! side: only `E min(w, W) r <= V` has a sign. Intervals are made for V itself. With `c = min(w, W)` and rewards in [0, 1]:
//!
//! ```text
//! E c r              <=  V  <=  1 - E c (1 - r)                                            IPS, self-normalised
//! E q_pi + c (r - q + 1) - 1  <=  V  <=  E q_pi + c (r - q - 1) + 1                        doubly robust
//! ```
//!
//! *Proof.* `V = E w r + V_0 >= E c r`, where V_0 is what the policy earns on actions the log never takes, and `1 - V` is the same of rewards
//! `1 - r`. The doubly robust term without clipping has mean V where there is support, and `(w - c)(r - q)` lies between `-(w - c)` and `w - c`,
//! whose mean is `1 - E c`. QED The lower end comes from the left terms and the upper end from the right ones, each at 2.5 %.
//!
//! **Several trials** are estimated from the same lines, each for the policy that it learnt, of value V_t. The interval stated for their mean runs
//! from the lowest lower end to the highest upper end. It holds with 95 %: the mean is at most the largest V_t, which policy that is was settled
//! before these lines were read, and its upper end is below its value with probability 2.5 % at most; the same below. (Ends that are
//! averaged have no such proof.)

mod betting;
mod propensities;
#[cfg(test)]
mod tests;

use betting::interval;
pub(crate) use propensities::{PROPENSITIES, Propensities};

/// Below this effective sample size no interval is stated.
pub const LEAST_EFFECTIVE_SIZE: f64 = 30.0;

/// The name of the effective sample size in the report.
pub const EFFECTIVE_SIZE: &str = "effective sample size";

/// The name of the log's own mean reward in the report.
pub const LOGGED: &str = "logged value";

/// The failure probability of an interval.
const FAILURE_PROBABILITY: f64 = 0.05;

/// One line of a log, with respect to the evaluated policy.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Line {
    /// The probability of the logged action under the policy divided by that under the log.
    pub weight: f64,
    /// The reward.
    pub reward: f64,
    /// The model's prediction for the logged action.
    pub predicted: f64,
    /// The model's prediction for the policy.
    pub predicted_of_policy: f64,
}

/// An estimate with an interval of 95 %, where there is one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The estimate; NaN if there is none.
    pub value: f64,
    /// Lower and upper end. None below [`LEAST_EFFECTIVE_SIZE`], and where every value is refuted: then lines are not draws of one law, as in a log of a
    /// policy that was learning.
    pub ends: Option<(f64, f64)>,
}

/// The lines that evaluate a policy, and all estimates from them.
#[derive(Debug, Clone, PartialEq)]
pub struct Evaluation {
    rewards: (f64, f64),
    largest_weight: f64,
    /// Tells whether larger weights are possible and are clipped.
    clips: bool,
    /// The lines, with rewards and predictions scaled to [0, 1].
    lines: Vec<Line>,
}

impl Evaluation {
    /// An evaluation without lines, for rewards in a range, and weights that are never above `largest_weight`, itself at least 1.
    pub fn new(rewards: (f64, f64), largest_weight: f64) -> Self {
        let largest_weight = largest_weight.max(1.0);
        Evaluation { rewards, largest_weight, clips: false, lines: Vec::new() }
    }

    /// The same for weights that may be larger, and then count as `largest_weight`.
    pub fn clipping(rewards: (f64, f64), largest_weight: f64) -> Self {
        Evaluation { clips: true, ..Evaluation::new(rewards, largest_weight) }
    }

    /// Adds a line.
    pub fn add(&mut self, line: Line) {
        let (low, high) = self.rewards;
        let unit = |value: f64| ((value - low) / (high - low)).clamp(0.0, 1.0);
        self.lines.push(Line {
            weight: line.weight.clamp(0.0, self.largest_weight),
            reward: unit(line.reward),
            predicted: unit(line.predicted),
            predicted_of_policy: unit(line.predicted_of_policy),
        });
    }

    /// The mean reward of the log itself.
    pub fn logged(&self) -> Interval {
        self.mean((0.0, 1.0), self.lines.len() as f64, |line| line.reward)
    }

    /// Inverse propensity scores.
    pub fn ips(&self) -> Interval {
        let range = (0.0, self.largest_weight);
        let plain = self.mean(range, self.effective_size(), |line| line.weight * line.reward);
        Interval { ends: if self.clips { self.clipped_ends() } else { plain.ends }, ..plain }
    }

    /// Ends that hold for the policy with clipped weights.
    fn clipped_ends(&self) -> Option<(f64, f64)> {
        let (size, most) = (self.effective_size(), self.largest_weight);
        let lower = self.mean((0.0, most), size, |line| line.weight * line.reward).ends?.0;
        let lost = |line: &Line| 1.0 - line.weight * (1.0 - line.reward);
        Some((lower, self.mean((1.0 - most, 1.0), size, lost).ends?.1)).filter(in_order)
    }

    /// The doubly robust estimate.
    pub fn doubly_robust(&self) -> Interval {
        let (size, most) = (self.effective_size(), self.largest_weight);
        let term = |line: &Line, more: f64| {
            line.predicted_of_policy + line.weight * (line.reward - line.predicted + more) - more
        };
        let plain = self.mean((1.0 - most, most), size, |line| term(line, 0.0));
        // If no line matches, the value would be the model's prediction only, not an estimate.
        let value = if size > 0.0 { plain.value } else { f64::NAN };
        if !self.clips {
            return Interval { value, ..plain };
        }
        let lower = self.mean((-1.0, 2.0 * most), size, |line| term(line, 1.0)).ends;
        let upper = self.mean((1.0 - 2.0 * most, 2.0), size, |line| term(line, -1.0)).ends;
        let ends = lower.zip(upper).map(|(lower, upper)| (lower.0, upper.1));
        Interval { value, ends: ends.filter(in_order) }
    }

    /// IPS divided by the mean weight.
    pub fn self_normalised(&self) -> Interval {
        let matched = self.lines.iter().filter(|line| line.weight > 0.0);
        let pair = |line: &Line| (line.weight / self.largest_weight, line.reward);
        let pairs: Vec<(f64, f64)> = matched.map(pair).collect();
        let weight: f64 = pairs.iter().map(|(weight, _)| weight).sum();
        let value = pairs.iter().map(|(weight, reward)| weight * reward).sum::<f64>() / weight;
        let plain = self.stated(value, &pairs, (0.0, 1.0), self.effective_size());
        Interval { ends: if self.clips { self.clipped_ends() } else { plain.ends }, ..plain }
    }

    /// The effective sample size: the number of lines of equal weight with the same variance.
    pub fn effective_size(&self) -> f64 {
        let sums = self.lines.iter().map(|line| (line.weight, line.weight * line.weight));
        let (weight, square) = sums.fold((0.0, 0.0), |all, one| (all.0 + one.0, all.1 + one.1));
        if square > 0.0 { weight * weight / square } else { 0.0 }
    }

    /// The largest weight of a line.
    pub fn largest_weight(&self) -> f64 {
        self.lines.iter().map(|line| line.weight).fold(0.0, f64::max)
    }

    /// The mean of terms that lie in a range.
    fn mean(&self, (low, high): (f64, f64), size: f64, term: impl Fn(&Line) -> f64) -> Interval {
        let terms: Vec<f64> = self.lines.iter().map(term).collect();
        let value = terms.iter().sum::<f64>() / terms.len() as f64;
        let place = |term: f64| (1.0, ((term - low) / (high - low)).clamp(0.0, 1.0));
        let pairs: Vec<(f64, f64)> = terms.into_iter().map(place).collect();
        self.stated(value, &pairs, (low, high), size)
    }

    /// Value and ends in the units of the rewards. The truth lies in their range, and so do the ends.
    fn stated(
        &self,
        value: f64,
        pairs: &[(f64, f64)],
        (from, to): (f64, f64),
        effective_size: f64,
    ) -> Interval {
        let (low, high) = self.rewards;
        let reward = |unit: f64| low + (high - low) * unit;
        let end = |place: f64| reward((from + (to - from) * place).clamp(0.0, 1.0));
        let ends = (effective_size >= LEAST_EFFECTIVE_SIZE).then(|| {
            let (lower, upper) = interval(pairs, FAILURE_PROBABILITY);
            (end(lower), end(upper))
        });
        let ends = ends.filter(in_order);
        Interval { value: reward(value), ends }
    }
}

/// Tells whether some value is left between two ends.
fn in_order((lower, upper): &(f64, f64)) -> bool {
    lower <= upper
}
