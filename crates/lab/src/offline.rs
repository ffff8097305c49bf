//! What a policy would have earned, from a log of what another did.
//!
//! Line i of the log has a context, the action `a_i` that was taken with probability `p_i`, and its reward `r_i`. A policy that would have
//! taken `a_i` with probability `pi_i` has the weight `w_i = pi_i / p_i`, and q is any model of rewards that was not made from
//! these lines:
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
//! **Intervals** are normal ones at 95 %: the estimate plus and minus 1.96 standard errors, for the self-normalised one by the delta method,
//! `sum w_i^2 (r_i - V)^2 / (sum w_i)^2`. They hold for many lines and moderate weights; the effective n says whether these are.

/// The 97.5 % quantile of the normal distribution.
const QUANTILE: f64 = 1.959_963_984_540_054;

/// One line of a log, as the policy that is evaluated sees it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Line {
    /// How likely the policy is to take the logged action, over how likely the log was to.
    pub weight: f64,
    /// What was earned.
    pub reward: f64,
    /// What the model expects of the logged action.
    pub predicted: f64,
    /// What the model expects of the policy.
    pub predicted_of_policy: f64,
}

/// An estimate with an interval of 95 %.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The estimate.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    fn of(value: f64, standard_error: f64) -> Self {
        let half = QUANTILE * standard_error;
        Interval { value, low: value - half, high: value + half }
    }
}

/// A mean and its standard error, a number at a time (Welford).
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Mean {
    count: f64,
    mean: f64,
    square: f64,
}

impl Mean {
    /// One number more.
    pub fn add(&mut self, value: f64) {
        self.count += 1.0;
        let before = value - self.mean;
        self.mean += before / self.count;
        self.square += before * (value - self.mean);
    }

    /// How many there were.
    pub fn count(&self) -> f64 {
        self.count
    }

    /// The mean with its interval; nothing is known from fewer than two numbers.
    pub fn interval(&self) -> Interval {
        if self.count < 2.0 {
            let value = if self.count > 0.0 { self.mean } else { f64::NAN };
            return Interval { value, low: f64::NEG_INFINITY, high: f64::INFINITY };
        }
        Interval::of(self.mean, (self.square / (self.count - 1.0) / self.count).sqrt())
    }
}

/// All estimates at once, a line at a time.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Evaluation {
    weighted: Mean,
    robust: Mean,
    rewards: Mean,
    weight: f64,
    /// Sums of w r, w^2, w^2 r and w^2 r^2.
    moments: [f64; 4],
    largest: f64,
}

impl Evaluation {
    /// One line more.
    pub fn add(&mut self, line: Line) {
        let Line { weight: w, reward: r, predicted, predicted_of_policy } = line;
        self.weighted.add(w * r);
        self.robust.add(predicted_of_policy + w * (r - predicted));
        self.rewards.add(r);
        self.weight += w;
        let terms = [w * r, w * w, w * w * r, w * w * r * r];
        self.moments.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
        self.largest = self.largest.max(w);
    }

    /// What the log itself earned.
    pub fn logged(&self) -> Interval {
        self.rewards.interval()
    }

    /// Inverse propensity scores.
    pub fn ips(&self) -> Interval {
        self.weighted.interval()
    }

    /// The same, divided by the weights there were.
    pub fn self_normalised(&self) -> Interval {
        if self.weight <= 0.0 {
            let (low, high) = (f64::NEG_INFINITY, f64::INFINITY);
            return Interval { value: f64::NAN, low, high };
        }
        let [weighted, squares, first, second] = self.moments;
        let value = weighted / self.weight;
        let variance = (second - 2.0 * value * first + value * value * squares).max(0.0);
        Interval::of(value, variance.sqrt() / self.weight)
    }

    /// The doubly robust estimate.
    pub fn doubly_robust(&self) -> Interval {
        self.robust.interval()
    }

    /// As many lines of equal weight would say as much.
    pub fn effective_size(&self) -> f64 {
        if self.moments[1] > 0.0 { self.weight * self.weight / self.moments[1] } else { 0.0 }
    }

    /// The largest weight of a line.
    pub fn largest_weight(&self) -> f64 {
        self.largest
    }
}

#[cfg(test)]
mod tests {
    use reticent::noise::Noise;

    use super::*;
    use crate::FastNoise;

    fn close(one: f64, two: f64) -> bool {
        (one - two).abs() <= 1e-12 * two.abs().max(1.0)
    }

    #[test]
    fn by_hand() {
        let line = |weight, reward, predicted, predicted_of_policy| Line {
            weight,
            reward,
            predicted,
            predicted_of_policy,
        };
        let mut evaluation = Evaluation::default();
        // Two lines in which the policy agrees, taken with probability 1/2 and 1/4, and one in which it does not.
        for one in [line(2.0, 1.0, 0.5, 0.5), line(4.0, 0.0, 0.25, 0.25), line(0.0, 1.0, 0.5, 0.75)]
        {
            evaluation.add(one);
        }
        assert!(close(evaluation.ips().value, 2.0 / 3.0));
        // Deviations 4/3, -2/3, -2/3: variance 4/3, standard error 2/3.
        assert!(close(evaluation.ips().high - evaluation.ips().value, QUANTILE * 2.0 / 3.0));
        let normalised = evaluation.self_normalised();
        assert!(close(normalised.value, 1.0 / 3.0));
        // sqrt(4 (2/3)^2 + 16 (1/3)^2) / 6.
        let error = (16.0_f64 / 9.0 + 16.0 / 9.0).sqrt() / 6.0;
        assert!(close(normalised.value - normalised.low, QUANTILE * error));
        // (0.5 + 2 x 0.5) + (0.25 - 4 x 0.25) + 0.75 = 1.5.
        assert!(close(evaluation.doubly_robust().value, 0.5));
        assert!(close(evaluation.effective_size(), 36.0 / 20.0));
        assert!(evaluation.largest_weight() == 4.0 && close(evaluation.logged().value, 2.0 / 3.0));
    }

    #[test]
    fn as_numpy_has_it() {
        let text = include_str!("../../../vectors/offline.csv");
        let numbers = |line: &str| -> Vec<f64> {
            line.split(',').map(|cell| cell.parse().unwrap()).collect()
        };
        let (mut evaluation, mut checked) = (Evaluation::default(), 0);
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            if let Some(line) = line.strip_prefix("expected,") {
                let found =
                    [evaluation.ips(), evaluation.self_normalised(), evaluation.doubly_robust()];
                let found = found.iter().flat_map(|i| [i.value, i.low, i.high]);
                for (found, expected) in
                    found.chain([evaluation.effective_size()]).zip(numbers(line))
                {
                    assert!((found - expected).abs() < 1e-9 * expected.abs().max(1.0));
                    checked += 1;
                }
            } else if let [weight, reward, predicted, predicted_of_policy] = numbers(line)[..] {
                evaluation.add(Line { weight, reward, predicted, predicted_of_policy });
            }
        }
        assert_eq!(checked, 10);
    }

    /// Contexts 0, 1, 2, three actions; reward 1 with probability `mean(context, action)`; the log takes action k with probability p_k.
    fn mean(context: usize, action: usize) -> f64 {
        [[0.9, 0.3, 0.2], [0.1, 0.5, 0.3], [0.6, 0.2, 0.4]][context][action]
    }

    /// How often the intervals hold the truth: IPS, self-normalised, doubly robust; with the weights that `weight` makes of p.
    fn coverage(weight: fn(f64) -> f64) -> [f64; 3] {
        const LOGS: u64 = 2000;
        let (propensities, policy) = ([0.5, 0.3, 0.2], [0, 2, 0]);
        let truth = (0..3).map(|context| mean(context, policy[context])).sum::<f64>() / 3.0;
        let mut noise = FastNoise::seeded(11);
        let mut held = [0.0; 3];
        for _ in 0..LOGS {
            let mut evaluation = Evaluation::default();
            for _ in 0..800 {
                let context = noise.below(3) as usize;
                let mut left = noise.uniform();
                let drawn = propensities.iter().position(|p| {
                    left -= p;
                    left < 0.0
                });
                let action = drawn.unwrap_or(2);
                let reward = f64::from(u8::from(noise.uniform() < mean(context, action)));
                let agrees = action == policy[context];
                evaluation.add(Line {
                    weight: if agrees { weight(propensities[action]) } else { 0.0 },
                    reward,
                    // A model that is wrong on purpose.
                    predicted: 0.5 * mean(context, action) + 0.1,
                    predicted_of_policy: 0.5 * mean(context, policy[context]) + 0.1,
                });
            }
            let all = [evaluation.ips(), evaluation.self_normalised(), evaluation.doubly_robust()];
            for (count, interval) in held.iter_mut().zip(all) {
                let holds = interval.low <= truth && truth <= interval.high;
                *count += f64::from(u8::from(holds)) / LOGS as f64;
            }
        }
        held
    }

    #[test]
    fn intervals_hold_the_truth_as_often_as_they_say() {
        // 0.95 deviates by 0.0049 in 2000 logs; six of those are a false alarm of 2e-9 each.
        for coverage in coverage(|p| 1.0 / p) {
            assert!((coverage - 0.95).abs() < 0.03, "{coverage}");
        }
        // Planted: who forgets to divide by the propensity (IPS, doubly robust).
        let [ips, _, robust] = coverage(|_| 1.0);
        assert!(ips < 0.5 && robust < 0.5, "{ips} {robust}");
        // Planted: who multiplies by it.
        let [ips, normalised, robust] = coverage(|p| p);
        assert!(ips < 0.5 && normalised < 0.5 && robust < 0.5, "{ips} {normalised} {robust}");
    }
}
