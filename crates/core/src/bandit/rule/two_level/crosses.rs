//! Crosses: each by itself, from what all other coordinates leave of its sum of rewards.
//!
//! ```text
//! r_i = u_i - sum_(j != i) G_ij theta_j = g_i theta_i + noise,   g_i = G_ii
//! v_i = sigma_u^2 + sum_(mains j) V_ij theta_j^2 + s^2 g_i       the variance of that noise
//! ```
//!
//! The effects of one part have a deviation sqrt t in common, which their residuals tell: t^ = sum (r^2 - v)/sum g^2, with the error
//! `sqrt(2 sum v^2)/sum g^2`. It is shrunk towards `t_0 = (.1/w)^2` by that error and kept between `t_0/100` and `(.6/w)^2`. Then
//!
//! ```text
//! rho_i = t g_i^2/(t g_i^2 + v_i),   theta_i = rho_i r_i/g_i,   of deviation rho_i sqrt(v_i)/g_i
//! ```
//!
//! Hence a part whose signal is below the noise stays near zero, and costs main effects nothing.

use super::{CROSS, Coordinates, LARGEST_CROSS, Moments, Sums};
use crate::special::square;

/// Size of the least believed t, in units of `t_0`.
const LEAST: f64 = 0.01;

pub(super) struct Crosses<'a> {
    coordinates: &'a Coordinates<'a>,
    sums: &'a Sums,
    moments: &'a Moments<'a>,
    /// One for each cross, in the order of the parts.
    deviations: Vec<f64>,
}

/// A cross in one sweep.
struct Residual {
    place: usize,
    /// g, r and v.
    count: f64,
    rest: f64,
    variance: f64,
}

impl<'a> Crosses<'a> {
    pub(super) fn of(
        coordinates: &'a Coordinates<'a>,
        sums: &'a Sums,
        moments: &'a Moments<'a>,
    ) -> Self {
        Crosses { coordinates, sums, moments, deviations: Vec::new() }
    }

    /// Estimates the crosses of each part in turn, given all other coordinates.
    pub(super) fn fit(&mut self, theta: &mut [f64]) {
        self.deviations.clear();
        for part in &self.coordinates.crosses {
            let residuals: Vec<Residual> = part.iter().map(|i| self.residual(*i, theta)).collect();
            let size = size(self.coordinates.weights[part[0]], &residuals);
            for Residual { place, count, rest, variance } in residuals {
                let shrinkage = size * square(count) / (size * square(count) + variance);
                theta[place] = shrinkage * rest / count;
                self.deviations.push(shrinkage * variance.sqrt() / count);
            }
        }
    }

    fn residual(&self, place: usize, theta: &[f64]) -> Residual {
        let Moments { sums: vector, deviations, reward_variance } = self.moments;
        let count = self.sums.gram(place, place);
        let rest = vector[place] - self.sums.times(place, theta) + count * theta[place];
        let mains = self.coordinates.mains.iter();
        let of_matrix = mains.map(|j| self.sums.variance(place, *j) * square(theta[*j]));
        let variance = square(deviations[place]) + of_matrix.sum::<f64>() + reward_variance * count;
        Residual { place, count, rest, variance }
    }

    /// Crosses with the deviations of their estimates.
    pub(super) fn deviations(&self) -> impl Iterator<Item = (usize, f64)> {
        self.coordinates.crosses.iter().flatten().copied().zip(self.deviations.iter().copied())
    }
}

/// t of a part.
fn size(weight: f64, residuals: &[Residual]) -> f64 {
    let sum = |term: fn(&Residual) -> f64| residuals.iter().map(term).sum::<f64>();
    let squares = sum(|part| square(part.count));
    let found = sum(|part| square(part.rest) - part.variance) / squares;
    let error = (2.0 * sum(|part| square(part.variance))).sqrt() / squares;
    let first = square(CROSS / weight);
    let share = square(first) / (square(first) + square(error));
    (first + share * (found - first)).clamp(LEAST * first, square(LARGEST_CROSS / weight))
}
