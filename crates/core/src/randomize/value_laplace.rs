//! One number with Laplace noise: clip to a range, round to a grid, add a discrete Laplace.
//!
//! ```text
//! v -> clip to [low, high] -> round to the grid, measured from the middle -> + discrete Laplace -> report
//! ```
//!
//! **Guarantee.** Pure: half the range is `m` grid units, m above 2^20, so two clipped numbers differ by at most 2m, and the noise of scale
//! `2m / epsilon` (rounded up) keeps them apart by at most epsilon. Adding the middle back is post-processing.

use super::{
    ValueReport,
    grid_laplace::{GridLaplace, LEVELS},
};
use crate::{
    Error, Result,
    error::{finite_vector, positive},
    noise::Noise,
    privacy::{Event, Guarantee, PURE_DELTA, TrustModel},
    refuse_if,
};

/// A calibrated Laplace report of one number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ValueLaplace {
    low: f64,
    high: f64,
    law: GridLaplace,
}

impl ValueLaplace {
    /// Numbers clipped to `[low, high]`, protected with `epsilon` each.
    pub fn new(low: f64, high: f64, epsilon: f64) -> Result<Self> {
        positive("epsilon", epsilon)?;
        positive("range of values", high - low)?;
        refuse_if(!LEVELS.contains(&epsilon), "epsilon", epsilon, "expected 1e-6 to 1e6")?;
        Ok(ValueLaplace { low, high, law: GridLaplace::new(epsilon, 0.5 * (high - low))? })
    }

    fn middle(&self) -> f64 {
        0.5 * (self.low + self.high)
    }

    /// The number, clipped, with noise. An error draws nothing.
    pub fn report<N: Noise + ?Sized>(&self, value: f64, noise: &mut N) -> Result<ValueReport> {
        finite_vector("value", &[value], 1)?;
        let from_middle = value.clamp(self.low, self.high) - self.middle();
        Ok(ValueReport::new(self.middle() + self.law.randomize(from_middle, noise)))
    }

    /// Range that numbers are clipped to.
    pub fn range(&self) -> (f64, f64) {
        (self.low, self.high)
    }

    /// No honest report is larger: the noise exceeds 600 times its scale with a chance of e^-600.
    pub(crate) fn largest_report(&self) -> f64 {
        self.low.abs().max(self.high.abs()) + 600.0 * (0.5 * self.variance()).sqrt()
    }

    /// Refuses a report that no device sends.
    pub(crate) fn check_report(&self, report: ValueReport) -> Result<()> {
        finite_vector("report", &[report.value()], 1)?;
        let largest = self.largest_report();
        if report.value().abs() <= largest {
            return Ok(());
        }
        let remedy = format!("no honest report exceeds {largest}: refuse its sender");
        Err(Error::invalid("report", report.value(), remedy))
    }

    /// Variance of the noise.
    pub fn variance(&self) -> f64 {
        self.law.variance()
    }

    /// The privacy event of one report.
    pub fn event(&self) -> Event {
        self.law.event()
    }

    /// Guarantee for a person who sends at most `reports` of them.
    pub fn guarantee(&self, reports: u64) -> Result<Guarantee> {
        Guarantee::of_person(&self.event(), reports, TrustModel::Local, PURE_DELTA)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{noise::check, privacy::Accountant, release::testing::Seeded};

    #[test]
    fn reports_are_unbiased_and_as_noisy_as_stated() {
        let device = ValueLaplace::new(0.0, 2.0, 1.0).unwrap();
        let mut noise = Seeded(2);
        let mut draws = |value: f64| -> Vec<f64> {
            (0..60_000).map(|_| device.report(value, &mut noise).unwrap().value()).collect()
        };
        assert!((device.variance() - 8.0).abs() < 1e-3, "2 (range/epsilon)^2");
        let values = draws(0.7);
        assert!(!check::mean_alarm(values.iter().copied(), 0.7, 8_f64.sqrt()));
        let squares = |wrong: f64| values.iter().map(move |v| wrong * (v - 0.7).powi(2) / 8.0);
        assert!(!check::mean_alarm(squares(1.0), 1.0, 5_f64.sqrt()));
        assert!(check::mean_alarm(squares(0.9), 1.0, 5_f64.sqrt()));
        // What is outside is clipped before the noise.
        assert!(!check::mean_alarm(draws(f64::MAX), 2.0, 8_f64.sqrt()));
        assert!(!check::mean_alarm(draws(-1e9), 0.0, 8_f64.sqrt()));
    }

    #[test]
    fn one_report_costs_epsilon_and_hardly_less() {
        for epsilon in [1e-6, 0.3, 1.0, 1e3, 1e6] {
            let event = ValueLaplace::new(-1.0, 0.3, epsilon).unwrap().event();
            let found = event.total_pure_epsilon().unwrap();
            assert!(found <= epsilon && found > 0.999 * epsilon, "{found} {epsilon}");
        }
        let curve = Accountant::price(&ValueLaplace::new(0.0, 1.0, 0.5).unwrap().event()).unwrap();
        assert!(curve.delta(0.5).unwrap() == 0.0 && curve.delta(0.49).unwrap() > 0.0);
    }

    #[test]
    fn bad_input_is_refused() {
        for (low, high, epsilon) in [
            (1.0, 0.0, 1.0),
            (0.0, f64::NAN, 1.0),
            (0.0, 1.0, -1.0),
            (0.0, 1.0, 1e7),
            (0.0, 1e200, 1.0),
        ] {
            assert!(ValueLaplace::new(low, high, epsilon).is_err(), "{low} {high} {epsilon}");
        }
        let device = ValueLaplace::new(0.0, 1.0, 1.0).unwrap();
        assert!(device.report(f64::NAN, &mut Seeded(1)).is_err());
    }
}
