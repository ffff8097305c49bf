//! One number with Gaussian noise: clip to a range, round to a grid, add a discrete Gaussian.
//!
//! ```text
//! y -> clip to [low, high] -> round to the grid -> + discrete Gaussian -> report
//! ```
//!
//! **Guarantee.** In grid units the clipped number lies between two integers, `high - low` apart at most, which is the sensitivity; the
//! accountant prices it as a Gaussian on a grid. Sigma is near 2^44 units and rounded up, so rounding adds nothing to the sensitivity.

use serde::{Deserialize, Serialize};

use crate::{
    Result,
    error::{finite_vector, positive},
    noise::{DiscreteGaussian, Noise},
    privacy::{Event, grid},
    refuse_if, wire,
};

/// Log2 of the noise in grid units.
const NOISE_BITS: f64 = 44.0;
/// Covers floating point in the ratio of range and noise.
const MARGIN: f64 = 1.0 + 1e-9;

/// A number as a person's device sent it: what [`ValueGaussian`] and [`ValueLaplace`](super::ValueLaplace) make, in the
/// units of the data. Raw data cannot be handed to a learner as a report by mistake: only a randomiser or a message read back makes one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ValueReport {
    value: f64,
}

impl wire::Checked for ValueReport {}
impl wire::Message for ValueReport {
    const KIND: wire::Kind = wire::kinds::VALUE_REPORT;
}

/// A value report inside another message: its number alone.
pub(crate) mod value_report_number {
    use serde::{Deserialize, Deserializer, Serializer};

    use super::ValueReport;

    pub(crate) fn serialize<S: Serializer>(
        report: &ValueReport,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(report.value)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<ValueReport, D::Error> {
        f64::deserialize(deserializer).map(ValueReport::new)
    }
}

impl ValueReport {
    pub(crate) fn new(value: f64) -> Self {
        ValueReport { value }
    }

    /// The number: an unbiased estimate of the clipped value, up to the grid's rounding.
    pub fn value(self) -> f64 {
        self.value
    }
}

/// A calibrated Gaussian report of one number.
///
/// ```
/// use reticent::{noise::SecureNoise, randomize::ValueGaussian};
/// let device = ValueGaussian::new(0.0, 2.0, 1.0, 1e-6, 1)?;
/// let report = device.report(0.7, &mut SecureNoise::from_system()?)?;
/// assert!((report.value() - 0.7).abs() < 33.0 * device.deviation());
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ValueGaussian {
    /// One unit is `2^-exponent`.
    exponent: i32,
    low: i64,
    high: i64,
    law: DiscreteGaussian,
}

impl ValueGaussian {
    /// Numbers clipped to `[low, high]`, with (epsilon, delta) for this many reports of one person together.
    pub fn new(low: f64, high: f64, epsilon: f64, delta: f64, reports: u64) -> Result<Self> {
        refuse_if(reports == 0, "reports", 0, "expected a whole number above 0")?;
        let reports = reports as f64;
        let mu = grid::largest_mu(epsilon, delta, reports, libm::exp2(NOISE_BITS - 1.0))?;
        ValueGaussian::with_deviation(low, high, (high - low) * reports.sqrt() / mu * MARGIN)
    }

    /// The same with noise of a given deviation, whatever it costs.
    pub fn with_deviation(low: f64, high: f64, sigma: f64) -> Result<Self> {
        finite_vector("low, high", &[low, high], 2)?;
        positive("range of values", high - low)?;
        let exponent = (NOISE_BITS - libm::log2(positive("sigma", sigma)?)).round();
        let scale = libm::exp2(exponent);
        let largest = low.abs().max(high.abs()) * scale;
        let refused = exponent.abs() > 500.0 || largest > (1_u64 << 60) as f64;
        let remedy = "noise and range are too many orders of magnitude apart for 64-bit integers; choose a budget nearer to the range";
        refuse_if(refused, "epsilon", format_args!("sigma {sigma} on {low}..{high}"), remedy)?;
        let (low, high) = ((low * scale).ceil() as i64, (high * scale).floor() as i64);
        let law = DiscreteGaussian::new((sigma * scale).ceil() as u64)?;
        Ok(ValueGaussian { exponent: exponent as i32, low, high: high.max(low), law })
    }

    fn unit(&self) -> f64 {
        libm::exp2(f64::from(-self.exponent))
    }

    /// The deviation of the noise, in the units of the data.
    pub fn deviation(&self) -> f64 {
        self.law.sigma() as f64 * self.unit()
    }

    /// The privacy event of one report.
    pub fn event(&self) -> Event {
        let sigma = self.law.sigma() as f64;
        Event::GridGaussian { mu: (self.high - self.low) as f64 / sigma, sigma, coordinates: 1.0 }
    }

    /// The number, clipped, with noise. An error draws nothing.
    pub fn report<N: Noise>(&self, value: f64, noise: &mut N) -> Result<ValueReport> {
        finite_vector("value", &[value], 1)?;
        // The cast saturates, and clipping comes before the noise.
        let units = (value / self.unit()).round_ties_even() as i64;
        let units = units.clamp(self.low, self.high) + noise.discrete_gaussian(&self.law);
        Ok(ValueReport::new(units as f64 * self.unit()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        privacy::{Guarantee, TrustModel},
        release::testing::Seeded,
    };

    #[test]
    fn reports_are_clipped_first_and_on_the_grid() {
        let device = ValueGaussian::new(-0.25, 0.75, 1.0, 1e-6, 1).unwrap();
        let mut noise = Seeded(1);
        let mut mean = |value: f64| {
            let count = 40_000;
            let one = |_| {
                let report = device.report(value, &mut noise).unwrap().value();
                let units = report / device.unit();
                assert_eq!(units, units.round());
                report / f64::from(count)
            };
            (0..count).map(one).sum::<f64>()
        };
        // The mean is that of the upper bound; 5.33 standard errors, a false alarm in 1e7. A range that is half a unit wider is noticed.
        let alarm = |mean: f64, expected: f64| {
            (mean - expected).abs() > 5.33 * device.deviation() / 40_000_f64.sqrt()
        };
        for (value, expected) in [(1e9, 0.75), (f64::MAX, 0.75), (-f64::MAX, -0.25), (0.1, 0.1)] {
            let found = mean(value);
            assert!(!alarm(found, expected), "{found} {expected}");
            assert!(alarm(found, expected + 0.5));
        }
        assert!(device.report(f64::NAN, &mut noise).is_err());
    }

    #[test]
    fn the_budget_is_met_by_one_report_or_many_and_half_the_noise_does_not_meet_it() {
        let epsilon = |device: &ValueGaussian, reports: u64| {
            let guarantee = Guarantee::of_person(&device.event(), reports, TrustModel::Local, 1e-5);
            guarantee.unwrap().epsilon()
        };
        for reports in [1, 400] {
            let device = ValueGaussian::new(-0.25, 0.75, 2.0, 1e-5, reports).unwrap();
            let found = epsilon(&device, reports);
            assert!(found <= 2.0 && (found - 2.0).abs() < 1e-7, "{found}");
            let law = DiscreteGaussian::new(device.law.sigma() / 2).unwrap();
            assert!(epsilon(&ValueGaussian { law, ..device }, reports) > 4.0);
        }
    }

    #[test]
    fn bad_parameters_are_refused() {
        for (low, high) in [(1.0, 1.0), (1.0, 0.0), (f64::NAN, 1.0), (0.0, f64::INFINITY)] {
            assert!(ValueGaussian::new(low, high, 1.0, 1e-6, 1).is_err(), "{low} {high}");
        }
        for (epsilon, delta) in [(0.0, 1e-6), (-1.0, 1e-6), (1.0, 0.0), (1.0, 1.0), (f64::NAN, 0.1)]
        {
            assert!(ValueGaussian::new(0.0, 1.0, epsilon, delta, 1).is_err(), "{epsilon} {delta}");
        }
        assert!(ValueGaussian::new(0.0, 1.0, 1.0, 1e-6, 0).is_err());
        // A range of one far from zero, where a 64-bit grid cannot hold both.
        assert!(ValueGaussian::new(1e15, 1e15 + 1.0, 1.0, 1e-6, 1).is_err());
    }
}
