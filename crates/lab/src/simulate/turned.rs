//! A policy in the coordinates of theta*, and what it can promise an arm at most.
//!
//! With theta* the first axis, an arm is `x = (t, s u)`, `s = sqrt(1 - t^2)`, u a unit vector across. Split
//! `V^-1 = [[p, q^T], [q, R]]` and theta = (a, b) the same way. Then for every u
//!
//! ```text
//! x^T V^-1 x  <=  p t^2 + 2 |q| |t| s + ||R|| s^2
//! UCB(x)      <=  a t + |b| s + width sqrt(that) + drift sqrt(the same for V^-2)
//! ```
//!
//! `||R||` is bounded by `trace(R^16)^(1/16)`, at most 9 % above it in five dimensions.

#![allow(clippy::needless_range_loop)] // The inner loops index, see `lanes`.

use reticent::bandit::Policy;

use super::lanes::{Column, LANES, ROUNDS};
use crate::environment::Frame;

/// Squarings of a matrix on the way to a bound of its norm.
const SQUARINGS: usize = 4;
/// Bounds that differ by less than this, relative to their size, are rounding of one number.
const ROUNDING: f64 = 1e-12;

/// An upper bound of a quadratic form over all arms with the same `<x, theta*>`.
#[derive(Debug, Clone, Copy)]
struct Form {
    along: f64,
    mixed: f64,
    across: f64,
}

impl Form {
    /// For a positive semidefinite matrix, by rows.
    fn new(matrix: &[f64], dimension: usize) -> Self {
        let mixed = matrix[1..dimension].iter().map(|q| q * q).sum::<f64>().sqrt();
        let rest: Vec<f64> =
            matrix.chunks_exact(dimension).skip(1).flat_map(|row| row[1..].to_vec()).collect();
        Form { along: matrix[0], mixed: 2.0 * mixed, across: norm_bound(rest, dimension - 1) }
    }

    #[inline(always)]
    fn at(&self, t: f64, s: f64) -> f64 {
        self.along * t * t + self.mixed * t * s + self.across * s * s
    }
}

/// At least the largest eigenvalue of a positive semidefinite matrix, by rows.
fn norm_bound(mut matrix: Vec<f64>, dimension: usize) -> f64 {
    let trace = |matrix: &[f64]| matrix.iter().step_by(dimension + 1).sum::<f64>();
    // Scaled by its trace, the largest eigenvalue lies between 1/d and 1: no power underflows.
    let scale = trace(&matrix);
    if scale <= 0.0 {
        return 0.0;
    }
    matrix.iter_mut().for_each(|entry| *entry /= scale);
    for _ in 0..SQUARINGS {
        matrix = product(&matrix, dimension);
    }
    scale * trace(&matrix).powf(0.5_f64.powi(SQUARINGS as i32))
}

/// The square of a symmetric matrix, by rows.
fn product(matrix: &[f64], dimension: usize) -> Vec<f64> {
    let mut square = vec![0.0; dimension * dimension];
    for i in 0..dimension {
        for k in 0..dimension {
            let factor = matrix[i * dimension + k];
            for j in 0..dimension {
                square[i * dimension + j] += factor * matrix[k * dimension + j];
            }
        }
    }
    square
}

/// A policy as the block simulation uses it.
#[derive(Debug, Clone)]
pub(super) struct Turned {
    dimension: usize,
    theta: Vec<f64>,
    /// `V^-1`, by rows.
    inverse: Vec<f64>,
    width: f64,
    drift: f64,
    /// The length of theta's part across theta*.
    across: f64,
    plain: Form,
    squared: Form,
    /// All unit arms have the same bound, up to rounding.
    pub(super) flat: bool,
}

impl Turned {
    pub(super) fn new(policy: &Policy, frame: &Frame) -> Self {
        let dimension = policy.dimension();
        let mut theta = policy.theta().to_vec();
        frame.turn(&mut theta);
        // V^-1 = W^T W.
        let mut inverse = vec![0.0; dimension * dimension];
        let mut start = 0;
        for i in 0..dimension {
            let row = &policy.whitening()[start..start + i + 1];
            for (j, left) in row.iter().enumerate() {
                for (k, right) in row.iter().enumerate() {
                    inverse[j * dimension + k] += left * right;
                }
            }
            start += i + 1;
        }
        frame.turn_matrix(&mut inverse);
        let square = product(&inverse, dimension);
        let (width, drift) = (policy.width(), policy.drift());
        let norm = |vector: &[f64]| vector.iter().map(|x| x * x).sum::<f64>().sqrt();

        let level = inverse.iter().step_by(dimension + 1).sum::<f64>() / dimension as f64;
        let mut uneven = inverse.clone();
        uneven.iter_mut().step_by(dimension + 1).for_each(|entry| *entry -= level);
        let uneven = norm(&uneven);
        let spread =
            norm(&theta) + width * uneven / level.sqrt().max(f64::MIN_POSITIVE) + drift * uneven;
        let size = width * level.sqrt() + drift * level;
        Turned {
            across: norm(&theta[1..]),
            plain: Form::new(&inverse, dimension),
            squared: Form::new(&square, dimension),
            flat: spread <= ROUNDING * size,
            dimension,
            theta,
            inverse,
            width,
            drift,
        }
    }

    /// At least the bound of every arm with `<x, theta*> = t`.
    #[inline(always)]
    pub(super) fn promise(&self, t: f64) -> f64 {
        let s = ((1.0 - t) * (1.0 + t)).sqrt();
        self.promise_of_parts(self.theta[0] * t, t.abs(), s)
    }

    /// At least the bound of every arm with `<x, theta*>` between `low` and `high`.
    pub(super) fn promise_between(&self, low: f64, high: f64) -> f64 {
        let (near, far) = (low.abs().min(high.abs()), low.abs().max(high.abs()));
        let near = if low < 0.0 && high > 0.0 { 0.0 } else { near };
        let s = ((1.0 - near) * (1.0 + near)).sqrt();
        self.promise_of_parts((self.theta[0] * low).max(self.theta[0] * high), far, s)
    }

    #[inline(always)]
    fn promise_of_parts(&self, mean: f64, t: f64, s: f64) -> f64 {
        mean + self.across * s
            + self.width * self.plain.at(t, s).sqrt()
            + self.drift * self.squared.at(t, s).sqrt()
    }

    /// The bounds of the first `count` arms, rounded up to a multiple of [`LANES`]; a column is a feature.
    #[inline(always)]
    pub(super) fn bounds(&self, arms: &[Column], count: usize, bounds: &mut Column) {
        let dimension = self.dimension;
        assert!(count <= ROUNDS && arms.len() == dimension);
        let (theta, inverse) = (self.theta.as_slice(), self.inverse.as_slice());
        assert!(theta.len() == dimension && inverse.len() == dimension * dimension);
        for chunk in 0..count.div_ceil(LANES) {
            let start = chunk * LANES;
            let (mut mean, mut form, mut square) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
            for i in 0..dimension {
                let mut image = [0.0; LANES];
                for j in 0..dimension {
                    let (entry, column) = (inverse[i * dimension + j], &arms[j]);
                    for l in 0..LANES {
                        image[l] += entry * column[start + l];
                    }
                }
                let column = &arms[i];
                for l in 0..LANES {
                    mean[l] += theta[i] * column[start + l];
                    form[l] += image[l] * column[start + l];
                    square[l] += image[l] * image[l];
                }
            }
            for l in 0..LANES {
                // Rounding may take a form of zero below it.
                let form = if form[l] > 0.0 { form[l] } else { 0.0 };
                bounds[start + l] =
                    mean[l] + self.width * form.sqrt() + self.drift * square[l].sqrt();
            }
        }
    }
}
