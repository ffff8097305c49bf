//! Main effects and the constant: one regression whose matrix has noise.
//!
//! With the effects `theta ~ N(0, Lambda)`, `lambda_j = (tau/w_j)^2`, and what is left of the crosses' part taken off,
//!
//! ```text
//! u = G theta + noise,   noise_i ~ N(0, s^2 G_ii + D_i),   D_i = sigma_u^2 + sum_j V_ij lambda_j
//! ```
//!
//! where D is the noise of the release, that on G at the size of effects that is expected. In the directions of
//! `D^-1/2 G D^-1/2 = Q e Q^T` rewards add `s^2 e` to a noise of 1, and e below 0 is noise alone:
//!
//! ```text
//! H = D^1/2 Q,   P = Lambda^-1 + H e^2/(1 + s^2 e) H^T
//! theta = P^-1 H e/(1 + s^2 e) Q^T D^-1/2 u,   its covariance P^-1 H e^2/(1 + s^2 e) H^T P^-1
//! ```

use super::{Coordinates, Moments, Sums};
use crate::{
    Error, Result,
    linalg::{Cholesky, SymmetricEigen, dot, triangle},
    special::square,
};

/// Added to the covariance, in units of its largest entry, so that it has a root.
const JITTER: f64 = 1e-9;

pub(super) struct Mains<'a> {
    places: &'a [usize],
    /// `D^1/2`.
    roots: Vec<f64>,
    /// e, not below 0.
    values: Vec<f64>,
    /// The columns of H.
    directions: Vec<Vec<f64>>,
    /// P.
    precision: Cholesky,
    /// s^2.
    reward_variance: f64,
}

impl<'a> Mains<'a> {
    pub(super) fn of(
        coordinates: &'a Coordinates<'_>,
        sums: &Sums,
        moments: &Moments<'_>,
    ) -> Result<Self> {
        let (places, weights) = (coordinates.mains.as_slice(), &coordinates.weights);
        let pairs = || places.iter().zip(&coordinates.prior);
        let prior: Vec<f64> = pairs().map(|(j, tau)| square(tau / weights[*j])).collect();
        let noise = |i: &usize| {
            let of_matrix =
                places.iter().zip(&prior).map(|(j, prior)| sums.variance(*i, *j) * prior);
            (square(moments.deviations[*i]) + of_matrix.sum::<f64>()).sqrt()
        };
        let roots: Vec<f64> = places.iter().map(noise).collect();
        let m = places.len();
        let upper = || (0..m).flat_map(|a| (a..m).map(move |b| (a, b)));
        let entry =
            |(a, b): (usize, usize)| sums.gram(places[a], places[b]) / (roots[a] * roots[b]);
        let eigen = SymmetricEigen::of(m, &upper().map(entry).collect::<Vec<_>>())?;
        let values: Vec<f64> = eigen.values().iter().map(|value| value.max(0.0)).collect();
        let direction = |vector: &Vec<f64>| -> Vec<f64> {
            vector.iter().zip(&roots).map(|(entry, root)| entry * root).collect()
        };
        let directions: Vec<Vec<f64>> = eigen.vectors().iter().map(direction).collect();

        let mut precision = vec![0.0; triangle(m)];
        let information = |value: &f64| square(*value) / (1.0 + moments.reward_variance * value);
        for (value, direction) in values.iter().zip(&directions).filter(|(value, _)| **value > 0.0)
        {
            let information = information(value);
            for ((a, b), entry) in upper().zip(&mut precision) {
                *entry += information * direction[a] * direction[b];
            }
        }
        for ((a, b), entry) in upper().zip(&mut precision) {
            if a == b {
                *entry += 1.0 / prior[a];
            }
        }
        let lost = || Error::invalid("release", "flat", "its sums are lost in rounding");
        let precision = Cholesky::of(m, &precision, 0.0).ok_or_else(lost)?;
        let reward_variance = moments.reward_variance;
        Ok(Mains { places, roots, values, directions, precision, reward_variance })
    }

    /// Estimates the main effects from what the crosses leave.
    pub(super) fn fit(&self, sums: &Sums, moments: &Moments<'_>, theta: &mut [f64]) -> Result<()> {
        self.places.iter().for_each(|i| theta[*i] = 0.0);
        let rest = self.places.iter().zip(&self.roots);
        // D^-1 (u - G theta_X): a direction times it is q times D^-1/2 of it.
        let rest: Vec<f64> = rest
            .map(|(i, root)| (moments.sums[*i] - sums.times(*i, theta)) / square(*root))
            .collect();
        let mut evidence = vec![0.0; rest.len()];
        for (value, direction) in self.values.iter().zip(&self.directions) {
            let size = value / (1.0 + self.reward_variance * value) * dot(direction, &rest);
            evidence.iter_mut().zip(direction).for_each(|(sum, entry)| *sum += size * entry);
        }
        let solution = self.precision.solve(&evidence)?;
        self.places.iter().zip(solution).for_each(|(i, solution)| theta[*i] = solution);
        Ok(())
    }

    /// Covariance of the estimate: that of the noise and of the rewards.
    pub(super) fn covariance(&self) -> Result<Vec<Vec<f64>>> {
        let m = self.places.len();
        let mut covariance = vec![vec![0.0; m]; m];
        for (value, direction) in self.values.iter().zip(&self.directions) {
            let size = value / (1.0 + self.reward_variance * value).sqrt();
            let moved = self.precision.solve(direction)?;
            for (row, first) in covariance.iter_mut().zip(&moved) {
                let first = square(size) * first;
                row.iter_mut().zip(&moved).for_each(|(entry, second)| *entry += first * second);
            }
        }
        let largest = (0..m).map(|i| covariance[i][i]).fold(0.0, f64::max);
        (0..m).for_each(|i| covariance[i][i] += JITTER * largest);
        Ok(covariance)
    }
}
