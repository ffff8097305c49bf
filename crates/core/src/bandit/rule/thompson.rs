//! Thompson sampling on a release, with the noise that protects people in its covariance.
//!
//! A release holds `G~ = G + N` and `u~ = G theta* + X^T eta + h`. With `A = G~ + lambda I` and `theta^ = A^-1 u~`,
//!
//! ```text
//! theta^ - theta* = A^-1 (X^T eta + h - N theta* - lambda theta*)
//! S = sigma^2 A^-1 + A^-1 V A^-1,   V = (s_G^2 |theta|^2 + s_u^2) I
//! theta ~ N(theta^, width^2 S),   lambda = 1 + ridge s_G
//! ```
//!
//! The first term is the posterior of ridge regression on rewards of deviation sigma; V is the covariance of `h - N theta` at the largest
//! |theta| that bounds allow, 1 in units where features have norm 1 and rewards lie in [-1, 1], without its part along theta. No
//! eigenvalue of A is below lambda/2. The width is found by simulation: nothing is certified.
//!
//! With no noise V is zero, and S is what exact sums have.

use super::RulePlan;
use crate::{
    Error, Result,
    bandit::{Ensemble, Policy},
    linalg::{Cholesky, triangle},
    release::Release,
};

impl RulePlan {
    pub(super) fn thompson(
        &self,
        release: &Release,
        ridge: f64,
        width: f64,
        ensemble: Ensemble,
    ) -> Result<Policy> {
        let (l, b) = (self.feature_bound, self.reward_bound);
        let s_g = release.deviations()[0] / std::f64::consts::SQRT_2;
        let s_u = release.deviations()[release.domain().matrix_coordinates()];
        let factor = self.shifted(release, 1.0 + ridge * s_g / (l * l))?;
        let theta = factor.solve(release.vector())?;
        // In units of the rewards' deviation.
        let sigma = b * self.reward_deviation.max(1.0);
        let noise = ((s_g * b / l).powi(2) + s_u * s_u) / (sigma * sigma);
        let whitening = whitening(&factor, noise)
            .ok_or_else(|| Error::invalid("ridge", ridge, "it is lost in rounding: give more"))?;
        Ok(Policy::new(theta, whitening, width * sigma, 0.0).with_ensemble(ensemble))
    }
}

/// `W`, lower triangular by rows, with `W^T W = A^-1 + noise A^-2` for `A = L L^T`; `None` if rounding leaves nothing of it.
fn whitening(factor: &Cholesky, noise: f64) -> Option<Vec<f64>> {
    if noise == 0.0 {
        return Some(factor.inverse_factor());
    }
    let d = factor.dimension();
    let inverse = factor.inverse_factor();
    let entry = |row: usize, column: usize| match column <= row {
        true => inverse[triangle(row) + column],
        false => 0.0,
    };
    // A^-1 = L^-T L^-1.
    let product = |i: usize, j: usize| (i.max(j)..d).map(|k| entry(k, i) * entry(k, j)).sum();
    let solved: Vec<Vec<f64>> = (0..d).map(|i| (0..d).map(|j| product(i, j)).collect()).collect();
    // Upper triangle of the covariance with its coordinates in reverse, whose lower factor, reversed, is upper.
    let mut reversed = Vec::with_capacity(triangle(d));
    for i in (0..d).rev() {
        for j in (0..=i).rev() {
            let square: f64 = solved[i].iter().zip(&solved[j]).map(|(a, b)| a * b).sum();
            reversed.push(noise.mul_add(square, solved[i][j]));
        }
    }
    let lower = Cholesky::of(d, &reversed, 0.0)?;
    let mut whitening = Vec::with_capacity(triangle(d));
    for i in 0..d {
        for j in 0..=i {
            whitening.push(lower.lower()[triangle(d - 1 - j) + d - 1 - i]);
        }
    }
    Some(whitening)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against nalgebra, over noise from none to a million times the signal.
    #[test]
    fn the_covariance_is_that_of_the_formula() {
        for (d, noise) in [(1, 0.3), (2, 1e-6), (5, 1.0), (5, 1e6), (12, 40.0)] {
            let rows: Vec<f64> = (0..d * d).map(|i| ((i * i + 3 * i) as f64).sin()).collect();
            let x = nalgebra::DMatrix::from_row_slice(d, d, &rows);
            let a = &x * x.transpose() + nalgebra::DMatrix::identity(d, d) * 0.7;
            let upper: Vec<f64> =
                (0..d).flat_map(|i| (i..d).map(move |j| (i, j))).map(|at| a[at]).collect();
            let factor = Cholesky::of(d, &upper, 0.0).unwrap();
            let whitening = whitening(&factor, noise).unwrap();
            let w = nalgebra::DMatrix::from_fn(d, d, |i, j| {
                if j <= i { whitening[triangle(i) + j] } else { 0.0 }
            });
            let inverse = a.try_inverse().unwrap();
            let expected = &inverse + &inverse * &inverse * noise;
            let error = (w.transpose() * w - &expected).norm() / expected.norm();
            assert!(error < 1e-9, "{d} {noise}: {error}");
        }
    }
}
