//! The staircase mechanism: the pure-DP noise of least mean size in one dimension.
//!
//! Reference: Geng and Viswanath, "The Optimal Mechanism in Differential Privacy" (2014), Algorithm 1. The
//! density is constant on stairs: with `b = e^-epsilon` and stair split `g` it is proportional to `b^k` on
//! `[k, k + g) sensitivity` and to `b^(k+1)` on `[k + g, k + 1) sensitivity`, mirrored. Moving by at most
//! `sensitivity` goes down one stair at most: pure `epsilon`-DP. `g = 1 / (1 + e^(epsilon/2))` minimises the
//! mean size, then `E|z| = sensitivity e^(epsilon/2) / (e^epsilon - 1)`. The law is symmetric.
//!
//! Reports are rounded to a dyadic grid; [`grid`](super::grid) says which error remains.

use super::{Noise, grid::Grid};
use crate::{Error, Result, error::positive, privacy::Event, refuse_if};

/// Staircase noise for one number of the given sensitivity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Staircase {
    epsilon: f64,
    sensitivity: f64,
    grid: Grid,
}

impl Staircase {
    /// Noise for a number that changes by at most `sensitivity` when one person's data is replaced;
    /// `epsilon` up to 30, where the noise is still wide compared with the rounding of doubles.
    pub fn new(epsilon: f64, sensitivity: f64) -> Result<Self> {
        positive("epsilon", epsilon)?;
        positive("sensitivity", sensitivity)?;
        if epsilon > 30.0 {
            let remedy = "expected at most 30; a larger epsilon adds almost no noise";
            return Err(Error::invalid("epsilon", epsilon, remedy));
        }
        let mut mechanism = Staircase { epsilon, sensitivity, grid: Grid::for_noise_scale(1.0)? };
        mechanism.grid = Grid::for_noise_scale(mechanism.mean_size())?;
        Ok(mechanism)
    }

    /// The part of each stair's width that belongs to the higher stair: `1 / (1 + e^(epsilon/2))`.
    fn split(&self) -> f64 {
        1.0 / (1.0 + libm::exp(0.5 * self.epsilon))
    }

    /// The mean of `|z|`: `sensitivity e^(epsilon/2) / (e^epsilon - 1)`.
    pub fn mean_size(&self) -> f64 {
        0.5 * self.sensitivity / libm::sinh(0.5 * self.epsilon)
    }

    /// `value` plus noise.
    pub fn randomize<N: Noise + ?Sized>(&self, value: f64, noise: &mut N) -> Result<f64> {
        refuse_if(!value.is_finite(), "value", value, "expected a finite number")?;
        Ok(self.grid.round(value + self.sensitivity * self.sample(noise)))
    }

    /// A draw in units of the sensitivity.
    fn sample<N: Noise + ?Sized>(&self, noise: &mut N) -> f64 {
        // floor(E / epsilon) is geometric with ratio e^-epsilon.
        let stair = (noise.exponential() / self.epsilon).floor();
        // A higher stair of width g and height 1, beside a lower one of width 1 - g and height b.
        let (split, ratio) = (self.split(), libm::exp(-self.epsilon));
        let higher = split / (split + (1.0 - split) * ratio);
        let position = if noise.uniform() < higher {
            split * noise.uniform()
        } else {
            split + (1.0 - split) * noise.uniform()
        };
        if noise.bits() & 1 == 0 { stair + position } else { -(stair + position) }
    }

    /// The event of one report, for the accountant.
    pub fn event(&self) -> Event {
        Event::Pure { epsilon: self.epsilon }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::{SecureNoise, check};

    /// The distribution function from the definition of the stairs, in units of the sensitivity.
    fn distribution(epsilon: f64, z: f64) -> f64 {
        let (ratio, size) = ((-epsilon).exp(), z.abs());
        let split = 1.0 / (1.0 + (0.5 * epsilon).exp());
        let area = split + (1.0 - split) * ratio;
        let (stair, rest) = (size.floor(), size.fract());
        let within = rest.min(split) + (rest - split).max(0.0) * ratio;
        let beyond = ratio.powf(stair) * (1.0 - (1.0 - ratio) * within / area);
        if z < 0.0 { 0.5 * beyond } else { 1.0 - 0.5 * beyond }
    }

    fn alarm(mechanism: &Staircase, mut draw: impl FnMut() -> f64) -> bool {
        let unit = mechanism.sensitivity;
        let draws: Vec<f64> = (0..200_000).map(|_| draw() / unit).collect();
        check::distribution_alarm(draws, |z| distribution(mechanism.epsilon, z))
    }

    #[test]
    fn shape_and_mean_size() {
        let mut noise = SecureNoise::seeded(25);
        for (epsilon, sensitivity) in [(0.1, 1.0), (1.0, 2.0), (5.0, 0.5)] {
            let mechanism = Staircase::new(epsilon, sensitivity).unwrap();
            assert!(!alarm(&mechanism, || mechanism.randomize(0.0, &mut noise).unwrap()));
            let sizes: Vec<f64> =
                (0..200_000).map(|_| mechanism.randomize(0.0, &mut noise).unwrap().abs()).collect();
            let mean = mechanism.mean_size();
            let spread = sizes.iter().map(|s| (s - mean).powi(2)).sum::<f64>() / sizes.len() as f64;
            assert!(!check::mean_alarm(sizes, mean, spread.sqrt()));
        }
    }

    #[test]
    fn planted_flaws_are_found_by_the_same_check() {
        let mut noise = SecureNoise::seeded(26);
        let mechanism = Staircase::new(1.0, 1.0).unwrap();
        // The geometric starts at 1; the noise is uniform within a stair pair; Laplace noise instead.
        assert!(alarm(&mechanism, || {
            let draw = mechanism.sample(&mut noise);
            draw + draw.signum()
        }));
        assert!(alarm(&mechanism, || {
            let sign = if noise.bits() & 1 == 0 { 1.0 } else { -1.0 };
            sign * (noise.exponential().floor() + noise.uniform())
        }));
        assert!(alarm(&mechanism, || noise.exponential() - noise.exponential()));
    }

    #[test]
    fn neighbouring_densities_differ_by_the_promised_factor() {
        let epsilon = 1.3;
        let density = |z: f64| (distribution(epsilon, z + 1e-6) - distribution(epsilon, z)) / 1e-6;
        for step in -3000..3000 {
            let z = f64::from(step) * 1e-3 + 3.3e-4;
            for shift in [0.2, 0.5, 0.99, 1.0] {
                assert!((density(z) / density(z + shift)).ln().abs() < epsilon + 1e-3);
            }
        }
    }

    #[test]
    fn bad_parameters_are_refused() {
        assert!(Staircase::new(0.0, 1.0).is_err());
        assert!(Staircase::new(31.0, 1.0).is_err());
        assert!(Staircase::new(1.0, f64::NAN).is_err());
        let mechanism = Staircase::new(1.0, 1.0).unwrap();
        assert!(mechanism.randomize(f64::INFINITY, &mut SecureNoise::seeded(0)).is_err());
        assert_eq!(mechanism.event(), Event::Pure { epsilon: 1.0 });
    }
}
