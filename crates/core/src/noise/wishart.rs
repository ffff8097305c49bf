//! Wishart matrices `W = scale^2 G G^T`, `G` a dimension x degrees matrix of independent normals.
//!
//! Reference: Bartlett (1933). `W = scale^2 L L^T` in law, with `L` lower triangular,
//! `L_ii^2 ~ chi-square(degrees - i)` for i = 0, 1, ... and standard normals below the diagonal. The cost is
//! `dimension^3 / 6`, whatever the degrees of freedom, and these need not be a whole number.
//!
//! The noisy matrix is rounded to a dyadic grid (see [`grid`](super::grid)) of about `2^-30` of `scale^2
//! sqrt(degrees)`, the size of its off-diagonal entries; it stays positive semidefinite up to that.
//! There is no `event` here: the mechanism that adds Wishart noise states its cost.

use super::{Noise, gamma::chi_square, grid::Grid};
use crate::{
    Error, Result,
    error::{finite_vector, positive},
    refuse_if,
};

/// A Wishart law with scale matrix `scale^2 I`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Wishart {
    dimension: usize,
    degrees: f64,
    scale: f64,
    grid: Grid,
}

impl Wishart {
    /// The law of `dimension` x `dimension` matrices with `degrees > dimension - 1` degrees of freedom.
    pub fn new(dimension: usize, degrees: f64, scale: f64) -> Result<Self> {
        refuse_if(dimension == 0, "dimension", dimension, "expected 1 or above")?;
        positive("scale", scale)?;
        if !(degrees.is_finite() && degrees > dimension as f64 - 1.0) {
            let remedy =
                format!("expected a finite number above dimension - 1 = {}", dimension - 1);
            return Err(Error::invalid("degrees", degrees, remedy));
        }
        let grid = Grid::for_noise_scale(scale * scale * degrees.sqrt())?;
        Ok(Wishart { dimension, degrees, scale, grid })
    }

    /// The grid's unit: every entry of a noisy matrix is a multiple of this power of two.
    pub(crate) fn unit(&self) -> f64 {
        self.grid.unit()
    }

    /// A symmetric `matrix`, row by row, plus one draw. The sum is rounded, not the draw; otherwise the digits of the data below a grid
    /// unit would be released without noise.
    pub fn randomize<N: Noise + ?Sized>(&self, matrix: &[f64], noise: &mut N) -> Result<Vec<f64>> {
        let d = self.dimension;
        finite_vector("matrix", matrix, d * d)?;
        let mut factor = vec![0.0; d * d];
        for row in 0..d {
            for column in 0..row {
                factor[row * d + column] = noise.standard_normal();
            }
            factor[row * d + row] = chi_square(self.degrees - row as f64, noise).sqrt();
        }
        let mut report = vec![0.0; d * d];
        for row in 0..d {
            for column in 0..=row {
                let (left, right) = (&factor[row * d..], &factor[column * d..]);
                let product: f64 = (0..=column).map(|index| left[index] * right[index]).sum();
                let exact = matrix[column * d + row];
                let entry = self.grid.round(exact + self.scale * self.scale * product);
                report[row * d + column] = entry;
                report[column * d + row] = entry;
            }
        }
        Ok(report)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::{SecureNoise, check};

    /// Entry variances: `2 k s^4` on the diagonal, `k s^4` off it; determinant mean `s^(2d) k (k-1)` at d = 2.
    fn alarm(degrees: f64, scale: f64, mut draw: impl FnMut() -> Vec<f64>) -> bool {
        let draws: Vec<Vec<f64>> = (0..100_000).map(|_| draw()).collect();
        let square = scale * scale;
        let entry = |index: usize| draws.iter().map(move |matrix| matrix[index] / square);
        let deviation = (2.0 * degrees).sqrt();
        let determinant = draws.iter().map(|m| (m[0] * m[3] - m[1] * m[2]) / (square * square));
        // Var det = E det^2 - (E det)^2 with E det^2 = k(k+2)(k-1)(k+1).
        let mean = degrees * (degrees - 1.0);
        let spread = (mean * ((degrees + 2.0) * (degrees + 1.0) - mean)).sqrt();
        check::mean_alarm(entry(0), degrees, deviation)
            || check::mean_alarm(entry(3), degrees, deviation)
            || check::mean_alarm(entry(1), 0.0, degrees.sqrt())
            || check::mean_alarm(determinant, mean, spread)
    }

    #[test]
    fn moments_and_determinant() {
        let mut noise = SecureNoise::seeded(21);
        for (degrees, scale) in [(2.5, 1.0), (7.0, 0.3), (1e5, 2.0)] {
            let law = Wishart::new(2, degrees, scale).unwrap();
            assert!(!alarm(degrees, scale, || law.randomize(&[0.0; 4], &mut noise).unwrap()));
        }
        // The definition itself passes the same check, and the planted errors do not.
        let gram = |columns: usize, noise: &mut SecureNoise| {
            let rows: Vec<(f64, f64)> =
                (0..columns).map(|_| (noise.standard_normal(), noise.standard_normal())).collect();
            let sum = |f: fn(&(f64, f64)) -> f64| rows.iter().map(f).sum::<f64>();
            vec![sum(|r| r.0 * r.0), sum(|r| r.0 * r.1), sum(|r| r.0 * r.1), sum(|r| r.1 * r.1)]
        };
        assert!(!alarm(7.0, 1.0, || gram(7, &mut noise)));
        assert!(alarm(7.0, 1.0, || gram(8, &mut noise)));
        let scale_squared_twice = Wishart::new(2, 7.0, 0.3 * 0.3).unwrap();
        assert!(alarm(7.0, 0.3, || scale_squared_twice.randomize(&[0.0; 4], &mut noise).unwrap()));
        // Bartlett with the same degrees in every row: k instead of k - 1 in the second.
        assert!(alarm(7.0, 1.0, || {
            let (first, second) = (chi_square(7.0, &mut noise), chi_square(7.0, &mut noise));
            let below = noise.standard_normal();
            let cross = below * first.sqrt();
            vec![first, cross, cross, below * below + second]
        }));
    }

    #[test]
    fn bad_parameters_are_refused() {
        assert!(Wishart::new(0, 1.0, 1.0).is_err());
        assert!(Wishart::new(3, 2.0, 1.0).is_err());
        assert!(Wishart::new(3, f64::NAN, 1.0).is_err());
        assert!(Wishart::new(3, 4.0, 0.0).is_err());
        assert!(Wishart::new(1, 0.5, 1.0).is_ok());
    }
}
