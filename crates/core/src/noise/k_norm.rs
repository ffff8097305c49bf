//! The K-norm mechanism for the Euclidean ball: density `~ exp(-epsilon ||z|| / (2 bound))`.
//!
//! Reference: Hardt and Talwar, "On the Geometry of Differential Privacy" (2010). For inputs with
//! `||g|| <= bound`, two of them are at most `2 bound` apart, so the densities of `g + z` differ by a factor of at
//! most `e^epsilon`: pure local privacy for replacing `g` by any other. The radius is gamma distributed
//! (shape the dimension, scale `2 bound / epsilon`), the direction uniform, hence
//! `E||z||^2 = 4 d (d + 1) bound^2 / epsilon^2`, against `8 d^2` for coordinatewise Laplace. The law is symmetric.
//!
//! One report attains epsilon only far out. What several of them cost together is computed from the law of their privacy loss
//! (`privacy/loss_distribution/k_norm.rs`).
//!
//! Reports are rounded to a dyadic grid; [`grid`](super::grid) says which error remains.

use super::{Noise, gamma::gamma, grid::Grid, sphere::uniform_direction};
use crate::{
    Result,
    error::{finite_vector, positive},
    privacy::{Event, MOST_K_NORM_DIMENSION},
    refuse_if,
    special::{euclidean_norm, square},
};

/// Euclidean K-norm noise for vectors of norm at most `bound`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KNorm {
    dimension: usize,
    epsilon: f64,
    bound: f64,
    grid: Grid,
}

impl KNorm {
    /// Noise for vectors of `dimension` entries and Euclidean norm at most `bound`.
    pub fn new(dimension: usize, epsilon: f64, bound: f64) -> Result<Self> {
        refuse_if(dimension == 0, "dimension", dimension, "expected 1 or above")?;
        positive("epsilon", epsilon)?;
        positive("bound", bound)?;
        Ok(KNorm { dimension, epsilon, bound, grid: Grid::for_noise_scale(2.0 * bound / epsilon)? })
    }

    /// `vector` plus noise: what may leave the person's device.
    pub fn randomize<N: Noise + ?Sized>(&self, vector: &[f64], noise: &mut N) -> Result<Vec<f64>> {
        finite_vector("vector", vector, self.dimension)?;
        let norm = euclidean_norm(vector);
        // A clipped vector may exceed the bound by a rounding error; it is scaled back to the bound.
        let remedy = format_args!("clip it to norm {} first", self.bound);
        refuse_if(norm > self.bound * (1.0 + 1e-9), "norm of vector", norm, remedy)?;
        let shrink = if norm > self.bound { self.bound / norm } else { 1.0 };
        let radius = gamma(self.dimension as f64, noise) * 2.0 * self.bound / self.epsilon;
        let direction = uniform_direction(self.dimension, noise);
        let report = vector.iter().zip(direction);
        Ok(report.map(|(entry, u)| self.grid.round(entry * shrink + radius * u)).collect())
    }

    /// `E||z||^2` of the noise: `4 d (d + 1) bound^2 / epsilon^2`.
    pub fn second_moment(&self) -> f64 {
        let d = self.dimension as f64;
        d * (d + 1.0) * square(2.0 * self.bound / self.epsilon)
    }

    /// The event of one report, for the accountant.
    pub fn event(&self) -> Event {
        let (dimension, epsilon) = (self.dimension as u64, self.epsilon);
        match dimension <= MOST_K_NORM_DIMENSION {
            true => Event::KNorm { dimension, epsilon },
            false => Event::Pure { epsilon },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::{SecureNoise, check};

    /// Radius in units of its scale is Gamma(d): mean d, variance d, second moment d(d+1).
    fn alarm(law: &KNorm, mut draw: impl FnMut() -> Vec<f64>) -> bool {
        let d = law.dimension as f64;
        let scale = 2.0 * law.bound / law.epsilon;
        let draws: Vec<Vec<f64>> = (0..60_000).map(|_| draw()).collect();
        let squares = |z: &Vec<f64>| z.iter().map(|x| x * x).sum::<f64>() / scale / scale;
        let spread = (d * (d + 1.0) * ((d + 2.0) * (d + 3.0) - d * (d + 1.0))).sqrt();
        check::mean_alarm(draws.iter().map(|z| squares(z).sqrt()), d, d.sqrt())
            || check::mean_alarm(draws.iter().map(squares), d * (d + 1.0), spread)
            || check::mean_alarm(draws.iter().map(|z| z[0] / scale), 0.0, (d + 1.0).sqrt())
    }

    #[test]
    fn radius_and_symmetry() {
        let mut noise = SecureNoise::seeded(22);
        for (dimension, epsilon, bound) in [(1, 0.5, 1.0), (3, 2.0, 0.7), (10, 1.0, 1.0)] {
            let law = KNorm::new(dimension, epsilon, bound).unwrap();
            let zero = vec![0.0; dimension];
            assert!(!alarm(&law, || law.randomize(&zero, &mut noise).unwrap()));
            // Planted: calibrated to distance bound instead of 2 bound; radius of shape d - 1 or d + 1.
            let half = KNorm::new(dimension, 2.0 * epsilon, bound).unwrap();
            assert!(alarm(&law, || half.randomize(&zero, &mut noise).unwrap()));
            assert!(alarm(&law, || {
                let radius = gamma(dimension as f64 + 1.0, &mut noise) * 2.0 * bound / epsilon;
                uniform_direction(dimension, &mut noise).iter().map(|u| radius * u).collect()
            }));
        }
    }

    #[test]
    fn one_dimension_is_the_laplace_law() {
        let mut noise = SecureNoise::seeded(23);
        let law = KNorm::new(1, 1.0, 1.0).unwrap();
        let draws = (0..100_000).map(|_| law.randomize(&[0.0], &mut noise).unwrap()[0]).collect();
        let cdf = |x: f64| {
            if x < 0.0 { 0.5 * (0.5 * x).exp() } else { 1.0 - 0.5 * (-0.5 * x).exp() }
        };
        assert!(!check::distribution_alarm(draws, cdf));
    }

    #[test]
    fn a_vector_far_beyond_a_tiny_bound_is_not_mistaken_for_a_short_one() {
        // The squares underflow: a plain norm would be zero, and the vector would be reported without protection.
        let law = KNorm::new(2, 1.0, 1e-190).unwrap();
        assert!(law.randomize(&[1e-165, 1e-165], &mut SecureNoise::seeded(1)).is_err());
    }

    #[test]
    fn bad_inputs_are_refused() {
        let mut noise = SecureNoise::seeded(24);
        let law = KNorm::new(2, 1.0, 1.0).unwrap();
        assert_eq!(law.second_moment(), 24.0);
        assert_eq!(law.event(), Event::KNorm { dimension: law.dimension as u64, epsilon: 1.0 });
        assert!(law.randomize(&[1.0], &mut noise).is_err());
        assert!(law.randomize(&[f64::NAN, 0.0], &mut noise).is_err());
        assert!(law.randomize(&[1.0, 0.1], &mut noise).is_err());
        assert!(law.randomize(&[1.0 + 1e-12, 0.0], &mut noise).is_ok());
        assert!(KNorm::new(0, 1.0, 1.0).is_err());
        assert!(KNorm::new(1, 0.0, 1.0).is_err());
        assert!(KNorm::new(1, 1.0, f64::INFINITY).is_err());
        assert!(KNorm::new(1, 1e-250, 1.0).is_err());
    }
}
