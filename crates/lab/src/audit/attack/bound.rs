//! From the scores of two samples to a bound on epsilon and a verdict on a guarantee.
//!
//! An adversary who must distinguish two neighbouring data sets says "second" when a score exceeds a threshold. Whatever the
//! score, the two error rates of that rule
//!
//! ```text
//! alpha = P(says second | first),   beta = P(says first | second)
//! ```
//!
//! lie on or above the trade-off curve of a true promise: (epsilon, delta)-privacy says `1 - beta <= e^epsilon alpha + delta` and
//! `1 - alpha <= e^epsilon beta + delta` (Wasserman and Zhou 2010), and a promise is a whole curve `epsilon -> delta`. So
//!
//! * **refuted**: upper confidence bounds on alpha and beta (Clopper and Pearson 1934) break one of these inequalities for some
//!   epsilon of the curve. No assumption is made about the mechanism.
//! * **epsilon by Clopper-Pearson**: the largest epsilon that the two bounds prove at the stated delta; again without assumptions. With
//!   n samples it cannot exceed about `ln(n/4)`, and at a small delta it falls far short for Gaussian noise.
//! * **epsilon by the Gaussian trade-off**: if the mechanism's worst trade-off is that of two normals mu apart (what the accountant
//!   says of every Gaussian release, with a mu to be tested), then `mu >= z(1 - alpha) + z(1 - beta)` (Dong, Roth and Su 2022), and the
//!   exact conversion of `privacy::gaussian` says which epsilon that is at the stated delta. The number assumes this shape of the noise;
//!   the verdict does not.
//!
//! **Honest confidence.** Score and threshold are chosen on other samples than those that the bound is computed from. The two
//! error rates share the failure probability equally.

use reticent::{
    privacy::{Curve, gaussian},
    special::{incomplete_beta, normal_cdf},
};

use crate::Result;

/// The numbers of classification errors on the two data sets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Errors {
    /// Runs on each data set.
    pub runs: u64,
    /// Runs on the first data set called second.
    pub first: u64,
    /// Runs on the second data set called first.
    pub second: u64,
}

/// Upper confidence bounds on the two error rates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rates {
    /// alpha.
    pub alpha: f64,
    /// beta.
    pub beta: f64,
}

impl Errors {
    /// Counts the errors of "second above `threshold`".
    pub fn count(first: &[f64], second: &[f64], threshold: f64) -> Self {
        Errors {
            runs: first.len().min(second.len()) as u64,
            first: first.iter().filter(|score| **score > threshold).count() as u64,
            second: second.iter().filter(|score| **score <= threshold).count() as u64,
        }
    }

    /// Both rates are below these with probability `confidence`.
    pub fn rates(&self, confidence: f64) -> Rates {
        let share = 0.5 * (1.0 - confidence);
        Rates {
            alpha: upper_limit(self.first, self.runs, share),
            beta: upper_limit(self.second, self.runs, share),
        }
    }
}

impl Rates {
    /// The mu that these rates prove of a Gaussian trade-off; 0 if they prove none.
    pub fn mu(&self) -> f64 {
        (-normal_quantile(self.alpha) - normal_quantile(self.beta)).max(0.0)
    }

    /// The epsilon that they prove at `delta` of any mechanism; 0 if they prove none.
    pub fn epsilon(&self, delta: f64) -> f64 {
        let one = |missed: f64, false_alarms: f64| ((1.0 - missed - delta) / false_alarms).ln();
        let most = one(self.beta, self.alpha).max(one(self.alpha, self.beta));
        if most.is_nan() { 0.0 } else { most.max(0.0) }
    }

    /// The epsilon that they prove at `delta`, and whether it assumes the Gaussian shape of `curve`.
    pub fn epsilon_of(&self, curve: &Curve, delta: f64) -> Result<f64> {
        let any = self.epsilon(delta);
        Ok(match curve.mu() {
            Some(_) if self.mu() > 0.0 => any.max(gaussian::epsilon(delta, self.mu())?),
            _ => any,
        })
    }

    /// Tells whether one of the two inequalities is broken at this epsilon and delta.
    pub fn refute(&self, epsilon: f64, delta: f64) -> bool {
        let broken =
            |missed: f64, false_alarms: f64| 1.0 - missed > epsilon.exp() * false_alarms + delta;
        broken(self.beta, self.alpha) || broken(self.alpha, self.beta)
    }

    /// Tells whether the guarantee is refuted at some point of its curve, up to slightly more than twice `epsilon`.
    pub fn refute_curve(&self, curve: &Curve, epsilon: f64) -> Result<bool> {
        const STEPS: u32 = 64;
        let most = if epsilon.is_finite() { 2.0 * epsilon + 1.0 } else { 64.0 };
        for step in 0..=STEPS {
            let epsilon = most * f64::from(step) / f64::from(STEPS);
            if self.refute(epsilon, 0.0) && self.refute(epsilon, curve.delta(epsilon)?) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// The objective by which a threshold is chosen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Aim {
    /// The largest mu.
    Mu,
    /// The largest epsilon at this delta.
    Epsilon(f64),
    /// The clearest refutation of this epsilon and delta.
    Break(f64, f64),
}

impl Aim {
    fn value(self, rates: &Rates) -> f64 {
        match self {
            Aim::Mu => rates.mu(),
            Aim::Epsilon(delta) => rates.epsilon(delta),
            Aim::Break(epsilon, delta) => {
                let excess =
                    |missed: f64, alarms: f64| 1.0 - missed - epsilon.exp() * alarms - delta;
                excess(rates.beta, rates.alpha).max(excess(rates.alpha, rates.beta))
            }
        }
    }
}

/// The best threshold for the aim if the scores of both data sets are normal with the means and deviations found here; the tails of a small
/// sample are too short to choose it directly.
pub fn choose_normal(
    first: &[f64],
    second: &[f64],
    aim: Aim,
    runs: u64,
    confidence: f64,
) -> (f64, f64) {
    let fit = |scores: &[f64]| {
        let count = scores.len() as f64;
        let mean = scores.iter().sum::<f64>() / count;
        let square = scores.iter().map(|score| (score - mean).powi(2)).sum::<f64>() / count;
        (mean, square.sqrt().max(f64::MIN_POSITIVE))
    };
    let ((m1, s1), (m2, s2)) = (fit(first), fit(second));
    let deviations = -normal_quantile(0.5 * (1.0 - confidence));
    let (low, high) = ((m1 - 6.0 * s1).min(m2 - 6.0 * s2), (m1 + 6.0 * s1).max(m2 + 6.0 * s2));
    let mut best = (m1, f64::NEG_INFINITY);
    for step in 0..=2000 {
        let threshold = low + (high - low) * f64::from(step) / 2000.0;
        let rates = Rates {
            alpha: wilson(normal_cdf((m1 - threshold) / s1), runs as f64, deviations),
            beta: wilson(normal_cdf((threshold - m2) / s2), runs as f64, deviations),
        };
        let value = aim.value(&rates);
        if value > best.1 {
            best = (threshold, value);
        }
    }
    best
}

/// The best threshold for the aim on these scores, as if the bound were computed from `runs` runs, and the value of the aim there.
pub fn choose(first: &[f64], second: &[f64], aim: Aim, runs: u64, confidence: f64) -> (f64, f64) {
    let mut order: Vec<(f64, bool)> = first.iter().map(|score| (*score, false)).collect();
    order.extend(second.iter().map(|score| (*score, true)));
    order.sort_by(|one, two| one.0.total_cmp(&two.0));
    // Candidates: every score near both ends, and some hundred in between; equal scores count once.
    let stride = (order.len() / 400).max(1);
    let share = 0.5 * (1.0 - confidence);
    let deviations = -normal_quantile(share);
    let (mut below_first, mut below_second) = (0_u64, 0_u64);
    let mut best = (f64::NEG_INFINITY, f64::NEG_INFINITY);
    let mut looked_at = 0;
    for (index, (score, is_second)) in order.iter().enumerate() {
        if *is_second {
            below_second += 1
        } else {
            below_first += 1
        }
        let near_end = index < 200 || index + 200 > order.len();
        let due = near_end || index >= looked_at + stride;
        if !due || order.get(index + 1).is_some_and(|next| next.0 == *score) {
            continue;
        }
        looked_at = index;
        let rate =
            |errors: u64, of: usize| wilson(errors as f64 / of as f64, runs as f64, deviations);
        let rates = Rates {
            alpha: rate(first.len() as u64 - below_first, first.len()),
            beta: rate(below_second, second.len()),
        };
        let value = aim.value(&rates);
        if value > best.1 {
            best = (*score, value);
        }
    }
    best
}

/// Wilson's upper limit: accurate enough to choose a threshold, and fast.
fn wilson(rate: f64, runs: f64, z: f64) -> f64 {
    let square = z * z / runs;
    let centre = rate + 0.5 * square;
    let spread = z * (rate * (1.0 - rate) / runs + 0.25 * square / runs).sqrt();
    ((centre + spread) / (1.0 + square)).min(1.0)
}

/// The rate that `events` of `runs` exceed with probability `failure` only (Clopper and Pearson's upper limit).
pub fn upper_limit(events: u64, runs: u64, failure: f64) -> f64 {
    if events >= runs {
        return 1.0;
    }
    let (a, b) = (events as f64 + 1.0, (runs - events) as f64);
    // P(Binomial(runs, p) <= events) = 1 - I_p(a, b), which falls in p.
    let (mut low, mut high) = (events as f64 / runs as f64, 1.0);
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if 1.0 - incomplete_beta(a, b, middle) > failure {
            low = middle
        } else {
            high = middle
        }
        if high - low < 1e-13 {
            break;
        }
    }
    high
}

/// The normal quantile, by bisection on the core's distribution function.
pub fn normal_quantile(probability: f64) -> f64 {
    if probability <= 0.0 {
        return f64::NEG_INFINITY;
    }
    if probability >= 1.0 {
        return f64::INFINITY;
    }
    let (mut low, mut high) = (-39.0, 39.0);
    while high - low > 1e-12 {
        let middle = 0.5 * (low + high);
        if normal_cdf(middle) < probability { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FastNoise;
    use reticent::{
        noise::Noise,
        privacy::{Accountant, Event},
    };

    #[test]
    fn limits_are_those_of_scipy() {
        // scipy.stats.beta.ppf(1 - failure, events + 1, runs - events)
        for (events, runs, failure, expected) in [
            (0, 100, 0.025, 0.036_216_692_645_176_41),
            (3, 100, 0.025, 0.085_176_052_974_280_02),
            (500, 1000, 0.025, 0.531_450_827_028_208),
            (10, 100_000, 1e-6, 3.442_367_957_856_952_5e-4),
        ] {
            let found = upper_limit(events, runs, failure);
            assert!((found / expected - 1.0).abs() < 1e-8, "{events}/{runs}: {found}");
        }
        assert_eq!(upper_limit(5, 5, 0.1), 1.0);
        assert!((normal_quantile(0.975) - 1.959_963_984_540_054).abs() < 1e-9);
        assert!((normal_quantile(1e-20) + 9.262_340_089_798_408).abs() < 1e-9);
    }

    #[test]
    fn the_limit_covers_at_its_level() {
        // Exact: P(upper limit < p) over Binomial(40, p) is at most the failure probability, and not much below it everywhere.
        let (runs, failure) = (40_u64, 0.05);
        let limits: Vec<f64> = (0..=runs).map(|k| upper_limit(k, runs, failure)).collect();
        let mut largest: f64 = 0.0;
        for step in 1..200 {
            let p = f64::from(step) / 200.0;
            let missed: f64 = (0..=runs)
                .filter(|&k| limits[k as usize] < p)
                .map(|k| {
                    let choose: f64 = (0..k).map(|i| (runs - i) as f64 / (k - i) as f64).product();
                    choose * p.powi(k as i32) * (1.0 - p).powi((runs - k) as i32)
                })
                .sum();
            assert!(missed <= failure + 1e-9, "{p}: {missed}");
            largest = largest.max(missed);
        }
        assert!(largest > 0.04, "the limit is not needlessly wide: {largest}");
    }

    /// Two normals mu apart, audited against a promise of `claimed` mu.
    fn normals(mu: f64, claimed: f64, runs: usize, confidence: f64) -> (f64, bool) {
        let mut noise = FastNoise::seeded(5);
        let mut draw = |shift: f64| -> Vec<f64> {
            (0..runs).map(|_| noise.standard_normal() + shift).collect()
        };
        let (first, second) = (draw(0.0), draw(mu));
        let cut = runs / 5;
        let (threshold, _) =
            choose_normal(&first[..cut], &second[..cut], Aim::Mu, (runs - cut) as u64, confidence);
        let rates = Errors::count(&first[cut..], &second[cut..], threshold).rates(confidence);
        let event = Event::Gaussian { sensitivity: claimed, sigma: 1.0 };
        let curve = Accountant::price(&event).unwrap();
        let epsilon = curve.epsilon(1e-5).unwrap();
        (rates.mu(), rates.refute_curve(&curve, epsilon).unwrap())
    }

    #[test]
    fn a_true_gaussian_guarantee_is_not_refuted_and_a_false_one_is() {
        // False alarms: 1e-6 on each.
        for mu in [0.268, 1.0, 3.0] {
            let (found, violated) = normals(mu, mu, 150_000, 1.0 - 1e-6);
            assert!(found > 0.7 * mu && found < mu, "{found} of {mu}");
            assert!(!violated);
            // Planted: a promise 30 % better than the truth.
            assert!(normals(mu, mu / 1.4, 150_000, 1.0 - 1e-6).1, "{mu}");
        }
    }

    #[test]
    fn pure_promises_are_measured_by_clopper_pearson() {
        // Randomised response at epsilon = 1 against promises of 1 and of 0.9.
        let mut noise = FastNoise::seeded(6);
        let truth = 1.0 / (1.0 + (-1.0_f64).exp());
        let mut draw = |p: f64| -> Vec<f64> {
            (0..100_000).map(|_| f64::from(u8::from(noise.uniform() < p))).collect()
        };
        let (first, second) = (draw(1.0 - truth), draw(truth));
        let rates = Errors::count(&first, &second, 0.5).rates(1.0 - 1e-6);
        assert!((0.9..1.0).contains(&rates.epsilon(1e-9)), "{}", rates.epsilon(1e-9));
        assert!(!rates.refute(1.0, 0.0) && rates.refute(0.9, 0.0));
    }
}
