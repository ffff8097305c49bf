//! Statistics over several trials: mean, median, 95th percentile, an interval for the mean, and the number of stuck trials.
//!
//! **The interval of 95 % for the mean** of n trials is Student's, taken on the logarithm of the mean where no trial is negative:
//!
//! ```text
//! mean exp(+- t se / mean),     t the 97.5 % quantile at n - 1 degrees      (all trials >= 0: regret, losses, counts)
//! logit mean +- t se / (mean (1 - mean))                                    (shares, from 0 to 1: accuracy)
//! mean +- t se                                                              (otherwise)
//! ```
//!
//! The three agree if the error is small compared with the mean and with its distance from 1. The interval of a share stays within [0, 1].
//! If the error is large, because a few trials lose far more than the others, the first interval stays above zero and extends further up,
//! which is the side on which the mean of such trials is missed; the tests compare how often each interval contains the mean. Resampling
//! few trials (the percentile bootstrap) contains it less often than either. No interval accounts for rare trials that did not occur, so
//! the percentile and the number of stuck trials are reported too.
//!
//! **Quantiles** are interpolated between order statistics (Hyndman and Fan's type 7): with fewer than 20 trials the 95th percentile lies between
//! the two worst.
//!
//! **A trial is stuck** if its loss per round in the second half of its rounds is at least half of that in the first tenth, and its total
//! loss is at least twice the median of the algorithm's trials. Regret that grows as n^a has the first ratio 0.19 for a = 1/2 and 0.46 for
//! a = 3/4, and 1 for a policy that stopped learning; the second condition excludes problems in which every trial keeps losing. If most
//! trials stop learning, the median shows it. Fewer than three trials are not compared.

use reticent::special::incomplete_beta;
use serde::Serialize;

use crate::play::trial::Checkpoint;

/// The least ratio of late to early losses per round in a stuck trial.
const STUCK_SLOPE: f64 = 0.5;
/// The least total loss of a stuck trial, in units of the median.
const STUCK_REGRET: f64 = 2.0;

/// Statistics of one number over several trials.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Its standard error; zero for a single trial, where it is unknown.
    pub standard_error: f64,
    /// The number of trials.
    pub trials: usize,
    /// The median.
    pub median: f64,
    /// The 5th percentile.
    pub percentile_5: f64,
    /// The 95th percentile.
    pub percentile_95: f64,
    /// Lower and upper end of the interval of 95 % for the mean; `None` for fewer than three trials.
    pub interval_95: Option<(f64, f64)>,
    /// For a regret: the number of trials that stopped learning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stuck_trials: Option<usize>,
}

impl Estimate {
    /// Statistics of these values, one per trial.
    pub fn of(values: &[f64]) -> Self {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let square: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
        let standard_error = if values.len() > 1 { (square / (n - 1.0) / n).sqrt() } else { 0.0 };
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        Estimate {
            mean,
            standard_error,
            trials: values.len(),
            median: quantile(&sorted, 0.5),
            percentile_5: quantile(&sorted, 0.05),
            percentile_95: quantile(&sorted, 0.95),
            interval_95: interval(values, mean, standard_error),
            stuck_trials: None,
        }
    }

    /// Statistics of these shares, each from 0 to 1.
    pub fn of_shares(values: &[f64]) -> Self {
        let estimate = Estimate::of(values);
        let Estimate { mean, standard_error, .. } = estimate;
        let spread = mean * (1.0 - mean);
        if !values.iter().all(|value| (0.0..=1.0).contains(value)) || spread <= 0.0 {
            return estimate;
        }
        let interval = |_| {
            let shift = student((values.len() - 1) as f64) * standard_error / spread;
            let end = |shift: f64| mean / (mean + (1.0 - mean) * shift.exp());
            (end(shift), end(-shift))
        };
        Estimate { interval_95: estimate.interval_95.map(interval), ..estimate }
    }

    /// Tells whether the mean is unlike most trials: some are stuck, or it is far above the median.
    pub(crate) fn is_skewed(&self) -> bool {
        self.trials >= 8 && (self.stuck_trials > Some(0) || self.mean > 1.5 * self.median)
    }

    /// The interval for a band around a line; the mean itself if there is no interval.
    pub(crate) fn band(&self) -> (f64, f64) {
        self.interval_95.unwrap_or((self.mean, self.mean))
    }
}

/// The number of stuck trials as a suffix of a name; empty if there are none.
pub(crate) fn stuck_words<'a>(regrets: impl IntoIterator<Item = &'a Estimate>) -> String {
    let (mut stuck, mut trials) = (0, 0);
    for regret in regrets {
        stuck += regret.stuck_trials.unwrap_or(0);
        trials += regret.trials;
    }
    if stuck > 0 { format!(", {stuck} of {trials} stuck") } else { String::new() }
}

/// The interval of 95 % for the mean, or `None` for fewer than three values: for two, Student's factor is 12.7 and the interval would
/// exceed the possible range.
fn interval(values: &[f64], mean: f64, standard_error: f64) -> Option<(f64, f64)> {
    let degrees = values.len().checked_sub(1).filter(|&degrees| degrees > 1)? as f64;
    let half = student(degrees) * standard_error;
    let (low, high) = if mean > 0.0 && values.iter().all(|value| *value >= 0.0) {
        let factor = (half / mean).exp();
        (mean / factor, mean * factor)
    } else {
        (mean - half, mean + half)
    };
    (low.is_finite() && high.is_finite()).then_some((low, high))
}

/// The 97.5 % quantile of Student's distribution.
fn student(degrees: f64) -> f64 {
    // P(|T| > t) falls in t.
    let outside = |t: f64| incomplete_beta(0.5 * degrees, 0.5, degrees / (degrees + t * t));
    let (mut low, mut high) = (0.0, 16.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        *(if outside(middle) > 0.05 { &mut low } else { &mut high }) = middle;
    }
    high
}

pub(crate) fn quantile(sorted: &[f64], share: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let place = share * last as f64;
    let (below, part) = (place.floor() as usize, place.fract());
    let above = sorted[(below + 1).min(last)];
    if part > 0.0 { sorted[below] + part * (above - sorted[below]) } else { sorted[below] }
}

/// Marks the curves of stuck trials.
pub fn stuck(curves: &[&[Checkpoint]]) -> Vec<bool> {
    let last = |curve: &[Checkpoint]| curve.last().map_or(0.0, |point| point.regret);
    if curves.len() < 3 {
        return vec![false; curves.len()];
    }
    let mut finals: Vec<f64> = curves.iter().map(|curve| last(curve)).collect();
    finals.sort_by(f64::total_cmp);
    let far = STUCK_REGRET * quantile(&finals, 0.5);
    let one = |curve: &&[Checkpoint]| {
        let rounds = curve.last().map_or(0.0, |point| point.round as f64);
        let early = regret_after(curve, 0.1 * rounds) / (0.1 * rounds);
        let late = (last(curve) - regret_after(curve, 0.5 * rounds)) / (0.5 * rounds);
        late > 0.0 && late >= STUCK_SLOPE * early && last(curve) >= far
    };
    curves.iter().map(one).collect()
}

/// The regret after a round, interpolated linearly between the recorded rounds.
fn regret_after(curve: &[Checkpoint], round: f64) -> f64 {
    let (mut at, mut regret) = (0.0, 0.0);
    for point in curve {
        let next = point.round as f64;
        if next >= round {
            return regret + (point.regret - regret) * (round - at) / (next - at);
        }
        (at, regret) = (next, point.regret);
    }
    regret
}

/// Least squares of ln y on ln x.
pub(crate) fn slope(points: &[(f64, f64)]) -> f64 {
    let logs: Vec<(f64, f64)> = points.iter().map(|(x, y)| (x.ln(), y.ln())).collect();
    let n = logs.len() as f64;
    let (mean_x, mean_y) =
        (logs.iter().map(|p| p.0).sum::<f64>() / n, logs.iter().map(|p| p.1).sum::<f64>() / n);
    let covariance: f64 = logs.iter().map(|p| (p.0 - mean_x) * (p.1 - mean_y)).sum();
    covariance / logs.iter().map(|p| (p.0 - mean_x).powi(2)).sum::<f64>()
}

/// The slope of [`slope`] with its standard error by the residuals; each point counts as a trial.
pub(crate) fn fitted_slope(points: &[(f64, f64)]) -> Estimate {
    let fitted = slope(points);
    let n = points.len() as f64;
    let mean = |of: &dyn Fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / n;
    let (mean_x, mean_y) = (mean(&|p| p.0.ln()), mean(&|p| p.1.ln()));
    let square =
        |of: &dyn Fn(&(f64, f64)) -> f64| points.iter().map(|p| of(p).powi(2)).sum::<f64>();
    let residuals = square(&|p| p.1.ln() - mean_y - fitted * (p.0.ln() - mean_x));
    let standard_error = (residuals / (n - 2.0) / square(&|p| p.0.ln() - mean_x)).sqrt();
    Estimate { standard_error, trials: points.len(), ..Estimate::of(&[fitted]) }
}

#[cfg(test)]
mod tests {
    use reticent::noise::Noise;

    use super::*;
    use crate::{FastNoise, play::trial::checkpoints};

    #[test]
    fn by_hand() {
        let four = Estimate::of(&[1.0, 2.0, 3.0, 10.0]);
        assert_eq!((four.mean, four.median, four.trials), (4.0, 2.5, 4));
        // 3 + 0.85 (10 - 3), as numpy.percentile.
        assert!((four.percentile_95 - 8.95).abs() < 1e-12);
        // t = 3.18245 at 3 degrees; se = sqrt(50/3/4).
        let half = 3.182_446_305_284_263 * (50.0_f64 / 12.0).sqrt();
        let (low, high) = four.interval_95.unwrap();
        assert!((low - 4.0 * (-half / 4.0).exp()).abs() < 1e-9 && low > 0.0);
        assert!((high - 4.0 * (half / 4.0).exp()).abs() < 1e-9);
        // If values may be negative, it is Student's interval.
        let (low, high) = Estimate::of(&[-1.0, 0.0, 1.0]).interval_95.unwrap();
        assert!((low + 4.302_652_729_911_275 / 3.0_f64.sqrt()).abs() < 1e-6);
        assert!((high + low).abs() < 1e-12);
        assert_eq!(Estimate::of(&[0.0; 3]).interval_95, Some((0.0, 0.0)));
        // Two numbers give no interval: it would have 12.7 standard errors and exceed the possible range.
        assert_eq!(Estimate::of(&[1.0, 2.0]).interval_95, None);
        // A figure's band has the same ends, however far they are from the mean.
        let wide = Estimate::of(&[1.0, 1.0, 1.0, 100.0]);
        assert_eq!(Some(wide.band()), wide.interval_95);
        assert!(wide.band().0 < 0.1 * wide.mean && wide.band().1 > 10.0 * wide.mean);
        let one = Estimate::of(&[7.0]);
        assert_eq!((one.interval_95, one.median, one.percentile_95), (None, 7.0, 7.0));
        assert!(Estimate::of(&[]).median.is_nan());
    }

    /// Coverage of this interval, of Student's and of the percentile bootstrap: they contain the mean of n numbers, and how often Student's goes below
    /// zero.
    fn coverage(n: usize, truth: f64, draw: fn(&mut FastNoise) -> f64) -> [f64; 4] {
        const SAMPLES: usize = 2000;
        let mut noise = FastNoise::seeded(3);
        let mut counts = [0.0; 4];
        for _ in 0..SAMPLES {
            let values: Vec<f64> = (0..n).map(|_| draw(&mut noise)).collect();
            let Estimate { mean, standard_error, interval_95, .. } = Estimate::of(&values);
            let half = student((n - 1) as f64) * standard_error;
            let resample = |_| {
                let picks = (0..n).map(|_| values[noise.below(n as u64) as usize]);
                picks.sum::<f64>() / n as f64
            };
            let mut means: Vec<f64> = (0..400).map(resample).collect();
            means.sort_by(f64::total_cmp);
            let ends = [
                interval_95.unwrap(),
                (mean - half, mean + half),
                (quantile(&means, 0.025), quantile(&means, 0.975)),
            ];
            for (count, (low, high)) in counts.iter_mut().zip(ends) {
                *count += f64::from(u8::from(low <= truth && truth <= high)) / SAMPLES as f64;
            }
            assert!(ends[0].0 > 0.0, "the interval of positive regrets is positive");
            counts[3] += f64::from(u8::from(mean < half)) / SAMPLES as f64;
        }
        counts
    }

    #[test]
    fn the_interval_contains_the_mean_more_often_than_students_and_the_bootstraps() {
        // 0.95 deviates by 0.0049 in 2000 samples: five of them are a false alarm of 3e-7.
        let [ours, student, bootstrap, _] =
            coverage(8, 10.0, |noise| 10.0 + noise.standard_normal());
        assert!((ours - 0.95).abs() < 0.025 && (student - 0.95).abs() < 0.025, "{ours} {student}");
        assert!(bootstrap < 0.91, "{bootstrap}");
        // Skewed: exponential. Student's goes below zero in three samples of four, and neither of the others contains the mean often
        // enough.
        let [ours, student, bootstrap, below] =
            coverage(4, 1.0, |noise| -(1.0 - noise.uniform()).ln());
        assert!(ours > 0.92, "{ours}");
        assert!(student < 0.91 && bootstrap < 0.85 && below > 0.6, "{student} {bootstrap} {below}");
    }

    #[test]
    fn the_interval_of_an_accuracy_stays_between_0_and_1_and_contains_the_mean() {
        let (mut noise, mut held, mut outside) = (FastNoise::seeded(4), 0.0, 0);
        // Near the end of its range, and skewed: 1 minus a tenth of an exponential, of mean 0.9.
        let mut draw = || (1.0 + 0.1 * (1.0 - noise.uniform()).ln()).max(0.0);
        for _ in 0..2000 {
            let values: [f64; 5] = std::array::from_fn(|_| draw());
            let (low, high) = Estimate::of_shares(&values).interval_95.unwrap();
            assert!(0.0 < low && low < high && high < 1.0, "{low} to {high} of {values:?}");
            held += f64::from(u8::from(low <= 0.9 && 0.9 <= high)) / 2000.0;
            // Planted: the interval of numbers without an upper end.
            outside += u32::from(Estimate::of(&values).interval_95.unwrap().1 > 1.0);
        }
        // 0.95 deviates by 0.0049: five of them are a false alarm of 3e-7.
        assert!(held > 0.925 && outside > 500, "{held} {outside}");
        // If the error is small, all intervals agree.
        let (near, plain) = ([0.5, 0.5001, 0.4999], [0.5001, 0.5, 0.4999]);
        let ends =
            [Estimate::of_shares(&near), Estimate::of(&plain)].map(|e| e.interval_95.unwrap());
        assert!((ends[0].0 - ends[1].0).abs() < 1e-6 && (ends[0].1 - ends[1].1).abs() < 1e-6);
        assert_eq!(Estimate::of_shares(&[1.0; 3]).interval_95, Some((1.0, 1.0)));
        let (low, high) = Estimate::of_shares(&[0.0, 0.5, 1.0]).interval_95.unwrap();
        assert!((0.0..0.1).contains(&low) && (0.9..=1.0).contains(&high), "{low} {high}");
        assert_eq!(Estimate::of_shares(&[0.7]).interval_95, None);
    }

    fn curve(regret: impl Fn(f64) -> f64) -> Vec<Checkpoint> {
        let at = |round: u64| Checkpoint { round, regret: regret(round as f64) };
        checkpoints(50_000, 120).into_iter().map(at).collect()
    }

    #[test]
    fn planted_stuck_trials_are_counted_and_healthy_ones_are_not() {
        let count = |curves: Vec<Vec<Checkpoint>>| {
            let slices: Vec<&[Checkpoint]> = curves.iter().map(Vec::as_slice).collect();
            stuck(&slices).into_iter().filter(|stuck| *stuck).count()
        };
        let healthy = |scale: f64| curve(move |n| scale * n.sqrt());
        let all = |more: Vec<Vec<Checkpoint>>| {
            (0..8).map(|i| healthy(1.0 + 0.1 * f64::from(i))).chain(more).collect::<Vec<_>>()
        };
        assert_eq!(count(all(Vec::new())), 0);
        // From the first round on, and after learning for 1000 rounds.
        let late = |n: f64| n.sqrt() + 0.2 * (n - 1000.0).max(0.0);
        assert_eq!(count(all(vec![curve(|n| 0.1 * n), curve(late)])), 2);
        // Unlucky but learning: five times the median, and falling losses.
        assert_eq!(count(all(vec![healthy(7.0), curve(|n| 0.5 * n.powf(0.75))])), 0);
        // If all trials keep losing, as when no linear policy is right, a slightly larger loss is not stuck.
        let linear = |scale: f64| curve(move |n| scale * n);
        assert_eq!(count(vec![linear(0.1), linear(0.11), linear(0.12), linear(0.15)]), 0);
        // Two trials are too few for a comparison, and trials without losses are not stuck.
        assert_eq!(count(vec![healthy(1.0), linear(1.0)]), 0);
        assert_eq!(count(vec![curve(|_| 0.0), curve(|_| 0.0), curve(|_| 0.0)]), 0);
    }

    #[test]
    fn the_slope_of_a_power_is_its_exponent() {
        let points: Vec<(f64, f64)> =
            [4.0, 8.0, 30.0].map(|x: f64| (x, 3.0 * x.powf(1.7))).to_vec();
        assert!((slope(&points) - 1.7).abs() < 1e-12);
        let exact = fitted_slope(&points);
        assert!((exact.mean - 1.7).abs() < 1e-12 && exact.standard_error < 1e-12);
        // By hand: slope 1/2 and residuals 1/6, -1/3, 1/6 for (0, 0), (1, 0), (2, 1): sqrt(1/6 / 1 / 2).
        let e = 1f64.exp();
        let fitted = fitted_slope(&[(1.0, 1.0), (e, 1.0), (e * e, e)]);
        assert!((fitted.mean - 0.5).abs() < 1e-12 && fitted.trials == 3);
        assert!((fitted.standard_error - (1.0f64 / 12.0).sqrt()).abs() < 1e-12);
    }
}
