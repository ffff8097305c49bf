//! K-norm noise for gradients in a Euclidean ball: density `~ exp(-epsilon ||z|| / (2 bound))`.
//!
//! Song, Chaudhuri and Sarwate (2015), Theorem 1; the law is [`noise::KNorm`](crate::noise::KNorm), symmetric in every direction,
//! with `E||z||^2 = 4 d (d + 1) bound^2 / epsilon^2` exactly: the least of the randomisers here for a gradient without structure.

use super::{Gradient, GradientReport, Randomizer};
use crate::{
    Result,
    noise::{KNorm, Noise},
    privacy::Event,
    refuse_if,
    special::square,
};

/// Clips to a Euclidean ball, then adds K-norm noise to every coordinate.
///
/// ```
/// use reticent::{noise::SecureNoise, randomize::{Gradient, KNormRandomizer, Randomizer}};
/// let randomizer = KNormRandomizer::new(3, 1.0, 1.0)?;
/// let report = randomizer.report(Gradient::from(&[30.0, 0.0, -40.0]), &mut SecureNoise::from_system()?)?;
/// println!("{}", randomizer.guarantee(1e-9)?);
/// # assert_eq!(Gradient::from(&report).entries().count(), 3);
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KNormRandomizer {
    dimension: usize,
    bound: f64,
    law: KNorm,
}

impl KNormRandomizer {
    /// For gradients clipped to Euclidean norm `bound`.
    pub fn new(dimension: usize, epsilon: f64, bound: f64) -> Result<Self> {
        // Far above, the noise is too narrow for doubles to hide in.
        let remedy = "expected a number from 1e-6 to 1e3";
        refuse_if(!(1e-6..=1e3).contains(&epsilon), "epsilon", epsilon, remedy)?;
        Ok(KNormRandomizer { dimension, bound, law: KNorm::new(dimension, epsilon, bound)? })
    }

    /// `E||z||^2` of the noise.
    pub fn second_moment(&self) -> f64 {
        self.law.second_moment()
    }
}

impl Randomizer for KNormRandomizer {
    fn report<N: Noise + ?Sized>(
        &self,
        gradient: Gradient<'_>,
        noise: &mut N,
    ) -> Result<GradientReport> {
        gradient.check("gradient", self.dimension)?;
        // Relative to the largest entry no norm overflows and no factor underflows, whatever was sent.
        let largest = gradient.largest();
        let relative = gradient.entries().map(|(_, g)| square(g / largest)).sum::<f64>().sqrt();
        let clips = largest * relative > self.bound;
        let mut clipped = vec![0.0; self.dimension];
        gradient.entries().for_each(|(index, g)| {
            clipped[index] = if clips { g / largest / relative * self.bound } else { g };
        });
        Ok(GradientReport::Dense(self.law.randomize(&clipped, noise)?))
    }

    fn event(&self) -> Result<Event> {
        Ok(self.law.event())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        noise::{SecureNoise, check},
        privacy::Accountant,
    };

    #[test]
    fn clips_then_adds_the_law() {
        let mut noise = SecureNoise::seeded(60);
        let randomizer = KNormRandomizer::new(4, 2.0, 0.5).unwrap();
        let truth = [3.0, 0.0, -4.0, 0.0];
        let reports: Vec<Vec<f64>> = (0..60_000)
            .map(|_| match randomizer.report(Gradient::from(&truth), &mut noise).unwrap() {
                GradientReport::Dense(entries) => entries,
                GradientReport::Sparse(_) => unreachable!(),
            })
            .collect();
        // Mean (0.3, 0, -0.4, 0); the variance of a coordinate is (d + 1) (2 bound / epsilon)^2.
        let deviation = (5.0_f64).sqrt() * 0.5;
        for (index, mean) in [0.3, 0.0, -0.4, 0.0].into_iter().enumerate() {
            assert!(!check::mean_alarm(reports.iter().map(|r| r[index]), mean, deviation));
        }
        // Planted: not clipped.
        assert!(check::mean_alarm(reports.iter().map(|r| r[0]), 3.0, deviation));
        let event = randomizer.event().unwrap();
        assert_eq!(Accountant::price(&event).unwrap().delta(2.0).unwrap(), 0.0);
        assert!(Accountant::price(&event).unwrap().delta(1.9).unwrap() > 0.0);
        assert!(randomizer.report(Gradient::from(&[f64::NAN; 4]), &mut noise).is_err());
        assert!(randomizer.report(Gradient::from(&[0.0; 3]), &mut noise).is_err());
        // Clipped, whatever was sent: bounds and gradients of extreme size.
        for bound in [1e-100, 1.3e-15, 1.0] {
            let small = KNormRandomizer::new(4, 1e3, bound).unwrap();
            for huge in [[f64::MAX; 4], [1e300, 0.0, 0.0, -1.0]] {
                let report = small.report(Gradient::from(&huge), &mut noise).unwrap();
                let size = Gradient::from(&report).squared_norm().sqrt();
                assert!(size > 0.9 * bound && size < 1.1 * bound, "{size} {bound}");
            }
            assert!(small.report(Gradient::from(&[5e-324; 4]), &mut noise).is_ok());
        }
        for epsilon in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-9, 1e4] {
            assert!(KNormRandomizer::new(3, epsilon, 1.0).is_err());
        }
    }
}
