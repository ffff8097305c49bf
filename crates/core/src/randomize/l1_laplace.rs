//! Laplace noise calibrated to the l1 norm: for gradients with few large entries.
//!
//! Two vectors of l1 norm at most k are at most 2k apart, so Laplace noise of scale `2k/epsilon` on every coordinate is `epsilon`-private, whatever the
//! dimension. All coordinates get noise: which of them are zero is private too. For k-sparse gradients with entries up to 1 the
//! variance is `8 k^2/epsilon^2` a coordinate, against `8 d^2/epsilon^2` for an even split of the budget.
//!
//! **On a grid.** The clipped gradient is truncated toward zero to multiples of a power of two; that the integers' sizes sum to at
//! most M is checked in integers, so 2M is the sensitivity, quantisation included. The noise is a discrete Laplace, exactly drawn. The law is symmetric.
//!
//! **Price.** However a difference of 2M is spread over the coordinates, the whole curve is at most that of one integer moved by 2M: the
//! lemma on pure privacy in `release/calibration.rs`. A gradient with a single entry attains it. So a report is priced as one discrete
//! Laplace, and several reports of a person cost less than the sum of their epsilons.

use super::{Gradient, GradientReport, Randomizer, grid_laplace::scale_at_least};
use crate::{
    Result,
    error::positive,
    noise::{DiscreteLaplace, Noise},
    privacy::Event,
    refuse_if,
};

/// Clips to an l1 ball, then adds Laplace noise of one scale to every coordinate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct L1Laplace {
    dimension: usize,
    bound: f64,
    unit: f64,
    /// M.
    most: u64,
    law: DiscreteLaplace,
}

impl L1Laplace {
    /// For gradients clipped to l1 norm `bound`.
    pub fn new(dimension: usize, epsilon: f64, bound: f64) -> Result<Self> {
        refuse_if(dimension == 0, "dimension", dimension, "expected 1 or above")?;
        let remedy = "expected a number from 1e-6 to 1e3";
        refuse_if(!(1e-6..=1e3).contains(&epsilon), "epsilon", epsilon, remedy)?;
        positive("bound", bound)?;
        let remedy = "choose units in which it lies between 1e-100 and 1e100";
        refuse_if(!(1e-100..=1e100).contains(&bound), "bound", bound, remedy)?;
        // The bound is 2^24 to 2^25 units, and the scale at most 2^46 of them.
        let unit = libm::ldexp(1.0, libm::log2(bound).floor() as i32 - 24);
        let most = (bound / unit) as u64;
        Ok(L1Laplace { dimension, bound, unit, most, law: scale_at_least(2 * most, epsilon)? })
    }

    /// `E||z||^2` of the noise.
    pub fn second_moment(&self) -> f64 {
        self.dimension as f64 * self.law.variance() * self.unit * self.unit
    }

    /// The clipped gradient in units, with sizes that sum to at most `most`.
    fn quantize(&self, gradient: Gradient<'_>) -> Vec<(usize, i64)> {
        // Relative to the largest entry no sum overflows and no factor underflows, whatever was sent.
        let largest = gradient.largest();
        let relative: f64 = gradient.entries().map(|(_, g)| g.abs() / largest).sum();
        let clips = largest * relative > self.bound;
        let mut shrink = 1.0;
        loop {
            let units = |(index, g): (usize, f64)| {
                let clipped = if clips { g / largest / relative * self.bound } else { g };
                (index, (clipped * shrink / self.unit) as i64)
            };
            let units: Vec<(usize, i64)> = gradient.entries().map(units).collect();
            let sum: u64 = units.iter().map(|(_, units)| units.unsigned_abs()).sum();
            if sum <= self.most {
                return units;
            }
            // Rounding alone can bring the sum above; a little less cannot.
            shrink *= 1.0 - 1e-12;
        }
    }
}

impl Randomizer for L1Laplace {
    fn report<N: Noise + ?Sized>(
        &self,
        gradient: Gradient<'_>,
        noise: &mut N,
    ) -> Result<GradientReport> {
        gradient.check("gradient", self.dimension)?;
        let mut report = vec![0_i64; self.dimension];
        for (index, units) in self.quantize(gradient) {
            report[index] = units;
        }
        let noisy = |units: i64| (units + noise.discrete_laplace(&self.law)) as f64 * self.unit;
        Ok(GradientReport::Dense(report.into_iter().map(noisy).collect()))
    }

    fn event(&self) -> Result<Event> {
        Ok(self.law.event(2 * self.most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        noise::{SecureNoise, check},
        privacy::Accountant,
    };
    use proptest::prelude::*;

    #[test]
    fn clips_then_adds_the_law_to_every_coordinate() {
        let mut noise = SecureNoise::seeded(63);
        let randomizer = L1Laplace::new(4, 2.0, 1.0).unwrap();
        let draws: Vec<Vec<f64>> = (0..60_000)
            .map(|_| {
                let gradient = Gradient::from(&[(0, 6.0), (3, -2.0)]);
                match randomizer.report(gradient, &mut noise).unwrap() {
                    GradientReport::Dense(entries) => entries,
                    GradientReport::Sparse(_) => unreachable!(),
                }
            })
            .collect();
        for (index, mean) in [0.75, 0.0, 0.0, -0.25].into_iter().enumerate() {
            let values: Vec<f64> = draws.iter().map(|r| r[index] - mean).collect();
            // Scale 2 k / epsilon = 1.
            let law = |z: f64| if z < 0.0 { 0.5 * z.exp() } else { 1.0 - 0.5 * (-z).exp() };
            assert!(!check::distribution_alarm(values.clone(), law), "{index}");
            // Planted: the sensitivity of one vector instead of two.
            assert!(check::distribution_alarm(values.iter().map(|z| 0.5 * z).collect(), law));
        }
        assert!((randomizer.second_moment() / 8.0 - 1.0).abs() < 1e-6);
    }

    proptest! {
        #[test]
        fn no_pair_exceeds_the_sensitivity(
            gradient in proptest::collection::vec(-1e3_f64..1e3, 12), epsilon in 1e-5_f64..100.0, bound in 1e-3_f64..1e3,
        ) {
            let randomizer = L1Laplace::new(12, epsilon, bound).unwrap();
            let sum: u64 = randomizer.quantize(Gradient::from(&gradient)).iter().map(|(_, u)| u.unsigned_abs()).sum();
            prop_assert!(sum <= randomizer.most);
            let stated = randomizer.event().unwrap().total_pure_epsilon().unwrap();
            prop_assert!(stated <= epsilon && stated > epsilon * (1.0 - 1e-6));
        }
    }

    /// The curve of moving three coordinates by these amounts, all noise written out.
    fn spread_over(shifts: [i64; 3], scale: f64, epsilon: f64) -> f64 {
        let mass = |z: i64| (-(z as f64).abs() / scale).exp() * (0.5 / scale).tanh();
        let reach = -40..=40_i64;
        let mut delta = 0.0;
        for (a, b, c) in reach
            .clone()
            .flat_map(|a| reach.clone().map(move |b| (a, b)))
            .flat_map(|(a, b)| reach.clone().map(move |c| (a, b, c)))
        {
            let p = mass(a) * mass(b) * mass(c);
            let q = mass(a - shifts[0]) * mass(b - shifts[1]) * mass(c - shifts[2]);
            delta += (p - epsilon.exp() * q).max(0.0);
        }
        delta
    }

    #[test]
    fn no_spread_of_the_difference_costs_more_than_one_coordinate() {
        let (total, scale, mut uncovered) = (6, 3.0, 0);
        let one = Event::DiscreteLaplace { sensitivity: total as u64, scale };
        let curve = Accountant::price(&one).unwrap();
        for epsilon in [0.0, 0.5, 1.2, 1.9] {
            let priced = curve.delta(epsilon).unwrap();
            let alone = spread_over([total, 0, 0], scale, epsilon);
            assert!(priced >= alone * (1.0 - 1e-12) && priced < 1.01 * alone, "{priced} {alone}");
            for shifts in [[3, 3, 0], [2, 2, 2], [5, 0, -1], [4, -1, 1]] {
                assert!(
                    spread_over(shifts, scale, epsilon) <= priced * (1.0 + 1e-12),
                    "{shifts:?}"
                );
                // Planted: the largest coordinate alone.
                let largest = shifts.iter().map(|s| s.unsigned_abs()).max().unwrap();
                let part = Event::DiscreteLaplace { sensitivity: largest, scale };
                let part = Accountant::price(&part).unwrap().delta(epsilon).unwrap();
                uncovered += u32::from(part < 0.999 * spread_over(shifts, scale, epsilon));
            }
        }
        assert!(uncovered >= 10, "{uncovered}");
        // Composed, a report costs less than a mechanism of which only its epsilon is known.
        let times = |event: Event| {
            let all = Event::Repeated { event: Box::new(event), times: 30 };
            Accountant::price(&all).unwrap().epsilon(1e-9).unwrap()
        };
        let event = L1Laplace::new(5, 0.2, 1.0).unwrap().event().unwrap();
        let pure = Event::Pure { epsilon: event.total_pure_epsilon().unwrap() };
        let (ours, pure) = (times(event), times(pure));
        assert!(ours < pure, "{ours} {pure}");
    }

    #[test]
    fn rounding_to_the_nearest_would_exceed_the_sensitivity() {
        let randomizer = L1Laplace::new(10, 1.0, 1.0).unwrap();
        let gradient = [0.1; 10];
        let sum = |units: &mut dyn Iterator<Item = i64>| units.map(i64::unsigned_abs).sum::<u64>();
        let ours = randomizer.quantize(Gradient::from(&gradient));
        assert!(sum(&mut ours.into_iter().map(|(_, units)| units)) <= randomizer.most);
        // Planted.
        let nearest = gradient.iter().map(|g| (g / randomizer.unit).round() as i64);
        assert!(sum(&mut nearest.into_iter()) > randomizer.most);
    }

    #[test]
    fn the_price_is_epsilon_and_bad_parameters_are_refused() {
        let mut noise = SecureNoise::seeded(64);
        let randomizer = L1Laplace::new(3, 0.7, 2.0).unwrap();
        let curve = Accountant::price(&randomizer.event().unwrap()).unwrap();
        assert_eq!(curve.delta(0.7).unwrap(), 0.0);
        assert!(curve.delta(0.69).unwrap() > 0.0);
        for epsilon in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-9] {
            assert!(L1Laplace::new(3, epsilon, 1.0).is_err());
        }
        assert!(L1Laplace::new(0, 1.0, 1.0).is_err());
        assert!(L1Laplace::new(3, 1.0, 0.0).is_err());
        assert!(randomizer.report(Gradient::from(&[1e300; 3]), &mut noise).is_ok());
        assert!(randomizer.report(Gradient::from(&[0.0; 3]), &mut noise).is_ok());
        // A factor that clips the largest double to a small bound is below the smallest normal one.
        for bound in [1e-100, 1.3e-15, 1e-10, 1.0] {
            let small = L1Laplace::new(3, 1.0, bound).unwrap();
            for gradient in [[f64::MAX, 0.0, 0.0], [f64::MAX, -f64::MAX, 1.0], [5e-324, 0.0, 0.0]] {
                let units = small.quantize(Gradient::from(&gradient));
                let sum: u64 = units.iter().map(|(_, units)| units.unsigned_abs()).sum();
                assert!(sum <= small.most && (gradient[0] < 1.0 || sum + 3 >= small.most));
            }
        }
        assert!(randomizer.report(Gradient::from(&[f64::NAN; 3]), &mut noise).is_err());
    }
}
