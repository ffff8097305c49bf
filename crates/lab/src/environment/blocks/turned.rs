//! A policy in the coordinates of theta*, and upper bounds on its scores.
//!
//! With theta* the first axis, an arm is `x = (t, s u)`, `s = sqrt(1 - t^2)`, u a unit vector orthogonal to the first axis. Split
//! `V^-1 = [[p, q^T], [q, R]]` and theta = (a, b) the same way. Then for every u
//!
//! ```text
//! x^T V^-1 x  <=  p t^2 + 2 |q| |t| s + ||R|| s^2 = F(t)
//! UCB(x)      <=  a t + |b| s + width sqrt(F(t)) + drift sqrt(the same for V^-2)
//! ```
//!
//! and `sqrt(F) <= (F/c + c)/2`, with equality where `F = c^2`: c is that of the optimal arm.
//! `||R||` is bounded by `trace(R^256)^(1/256)`, at most 0.6 % above it in five dimensions.

#![allow(clippy::needless_range_loop)] // The inner loops index, see `lanes`.

use reticent::bandit::Policy;

use super::lanes::{Column, LANES, ROUNDS};
use crate::environment::{BEST, Frame};

/// Squarings of a matrix to bound its norm.
const SQUARINGS: usize = 8;
/// Bounds that differ by less than this, relative to their size, are taken to be equal.
const ROUNDING: f64 = 1e-12;

/// An upper bound over all arms with the same `<x, theta*>`:
/// `mean t + across s + bonus_along t^2 + bonus_mixed |t| s + bonus_across s^2 + bonus`.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ScoreBound {
    mean: f64,
    across: f64,
    bonus_along: f64,
    bonus_mixed: f64,
    bonus_across: f64,
    bonus: f64,
}

impl ScoreBound {
    /// Adds `factor` times the root of a positive semidefinite form, given by rows.
    fn add_root(&mut self, factor: f64, matrix: &[f64], dimension: usize) {
        let mixed = 2.0 * norm(&matrix[1..dimension]);
        let rest: Vec<f64> =
            matrix.chunks_exact(dimension).skip(1).flat_map(|row| row[1..].to_vec()).collect();
        let (along, across) = (matrix[0], norm_bound(rest, dimension - 1));
        let (t, s) = (BEST, ((1.0 - BEST) * (1.0 + BEST)).sqrt());
        let center = (along * t * t + mixed * t * s + across * s * s).sqrt();
        // A form that is zero for the optimal arm is zero everywhere.
        if factor * center > 0.0 {
            let scale = factor / (2.0 * center);
            self.bonus_along += scale * along;
            self.bonus_mixed += scale * mixed;
            self.bonus_across += scale * across;
            self.bonus += 0.5 * factor * center;
        }
    }

    /// An upper bound on the scores of all arms with `<x, theta*> = t`, where `s = sqrt(1 - t^2)`.
    #[inline(always)]
    pub(super) fn at(&self, t: f64, s: f64) -> f64 {
        self.mean * t + self.at_most(t.abs(), s)
    }

    /// An upper bound on the scores of all arms with `<x, theta*>` between `low` and `high`.
    pub(super) fn between(&self, low: f64, high: f64) -> f64 {
        let (near, far) = (low.abs().min(high.abs()), low.abs().max(high.abs()));
        let near = if low < 0.0 && high > 0.0 { 0.0 } else { near };
        let s = ((1.0 - near) * (1.0 + near)).sqrt();
        (self.mean * low).max(self.mean * high) + self.at_most(far, s)
    }

    #[inline(always)]
    fn at_most(&self, t: f64, s: f64) -> f64 {
        s * (self.across + self.bonus_mixed * t + self.bonus_across * s)
            + (self.bonus_along * t * t + self.bonus)
    }
}

fn norm(vector: &[f64]) -> f64 {
    vector.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// An upper bound on the largest eigenvalue of a positive semidefinite matrix, by rows.
fn norm_bound(mut matrix: Vec<f64>, dimension: usize) -> f64 {
    let mut bound = 1.0;
    let mut root = 1.0;
    for _ in 0..SQUARINGS {
        let trace: f64 = matrix.iter().step_by(dimension + 1).sum();
        if trace <= 0.0 {
            return 0.0;
        }
        // Scaled by its trace, the largest eigenvalue lies between 1/d and 1: no power underflows.
        bound *= trace.powf(root);
        root *= 0.5;
        matrix.iter_mut().for_each(|entry| *entry /= trace);
        matrix = product(&matrix, dimension);
    }
    bound * matrix.iter().step_by(dimension + 1).sum::<f64>().powf(root)
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
    pub(super) score_bound: ScoreBound,
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
        let (width, drift) = (policy.width(), policy.drift());
        let mut score_bound =
            ScoreBound { mean: theta[0], across: norm(&theta[1..]), ..ScoreBound::default() };
        score_bound.add_root(width, &inverse, dimension);
        if drift > 0.0 {
            score_bound.add_root(drift, &product(&inverse, dimension), dimension);
        }

        let level = inverse.iter().step_by(dimension + 1).sum::<f64>() / dimension as f64;
        let mut uneven = inverse.clone();
        uneven.iter_mut().step_by(dimension + 1).for_each(|entry| *entry -= level);
        let uneven = norm(&uneven);
        let spread =
            norm(&theta) + width * uneven / level.sqrt().max(f64::MIN_POSITIVE) + drift * uneven;
        let size = width * level.sqrt() + drift * level;
        Turned {
            score_bound,
            flat: spread <= ROUNDING * size,
            dimension,
            theta,
            inverse,
            width,
            drift,
        }
    }

    /// The bounds of the first `count` arms, rounded up to a multiple of [`LANES`]; a column is a feature.
    #[inline(always)]
    pub(super) fn bounds(&self, arms: &[Column], count: usize, bounds: &mut Column) {
        // The paper's dimension and its neighbours get loops the compiler can unroll.
        match self.dimension {
            2 => self.bounds_in::<2>(arms, count, bounds),
            3 => self.bounds_in::<3>(arms, count, bounds),
            4 => self.bounds_in::<4>(arms, count, bounds),
            5 => self.bounds_in::<5>(arms, count, bounds),
            6 => self.bounds_in::<6>(arms, count, bounds),
            8 => self.bounds_in::<8>(arms, count, bounds),
            _ => self.bounds_in::<0>(arms, count, bounds),
        }
    }

    /// The same in D dimensions, or in any number if D is 0.
    #[inline(always)]
    fn bounds_in<const D: usize>(&self, arms: &[Column], count: usize, bounds: &mut Column) {
        let dimension = if D > 0 { D } else { self.dimension };
        assert!(count <= ROUNDS && arms.len() == dimension);
        let (theta, inverse) = (self.theta.as_slice(), self.inverse.as_slice());
        assert!(theta.len() == dimension && inverse.len() == dimension * dimension);
        for chunk in 0..count.div_ceil(LANES) {
            // The remainder is a no-op that shows the compiler that no index is out of bounds.
            let start = chunk * LANES % ROUNDS;
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
                // Rounding may make a form of zero slightly negative.
                let form = if form[l] > 0.0 { form[l] } else { 0.0 };
                bounds[start + l] = mean[l] + self.width * form.sqrt();
            }
            if self.drift > 0.0 {
                for l in 0..LANES {
                    bounds[start + l] += self.drift * square[l].sqrt();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use reticent::noise::Noise;

    use super::{super::lanes::ZEROS, *};
    use crate::FastNoise;

    /// The largest score minus its upper bound over random arms, and the largest upper bound minus the best score.
    fn compare(spoil: impl Fn(&mut ScoreBound)) -> (f64, f64) {
        let mut noise = FastNoise::seeded(1);
        let (mut above, mut slack) = (f64::NEG_INFINITY, 0.0_f64);
        for trial in 0..400 {
            let dimension = 2 + trial % 5;
            let mut normals = |count: usize| -> Vec<f64> {
                (0..count).map(|_| noise.standard_normal()).collect()
            };
            let whitening = normals(dimension * (dimension + 1) / 2);
            let policy = Policy::from_parts(normals(dimension), whitening, 1.0, 0.5).unwrap();
            let mut axis = vec![0.0; dimension];
            axis[dimension - 1] = 1.0;
            let mut turned = Turned::new(&policy, &Frame::new(&axis));
            spoil(&mut turned.score_bound);
            // 256 arms at one t, in directions all around.
            let t = 0.75 - 1.5 * normals(1)[0].abs().fract();
            let s = (1.0 - t * t).sqrt();
            let mut arms = vec![ZEROS; dimension];
            for r in 0..ROUNDS {
                let across = normals(dimension - 1);
                arms[0][r] = t;
                for i in 1..dimension {
                    arms[i][r] = s * across[i - 1] / norm(&across);
                }
            }
            let mut bounds = ZEROS;
            turned.bounds(&arms, ROUNDS, &mut bounds);
            let best = bounds.iter().copied().fold(f64::MIN, f64::max);
            let score_bound = turned.score_bound.at(t, s);
            above = above.max(best - score_bound);
            slack = slack.max((score_bound - best) / (1.0 + best.abs()));
            assert!(turned.score_bound.between(t - 0.01, t + 0.1) >= score_bound);
            // The score in these coordinates equals the policy's score.
            let mut x: Vec<f64> = arms.iter().map(|column| column[7]).collect();
            Frame::new(&axis).turn(&mut x);
            assert!((policy.bound(&x) - bounds[7]).abs() < 1e-12 * (1.0 + bounds[7].abs()));
        }
        (above, slack)
    }

    #[test]
    fn no_score_exceeds_its_upper_bound() {
        let (above, slack) = compare(|_| ());
        assert!(above < 1e-12, "{above}");
        // The upper bound is not too loose either.
        assert!(slack < 2.0, "{slack}");
        // Planted: the contributions of theta or of the bonus orthogonal to theta* are left out.
        assert!(compare(|score_bound| score_bound.across = 0.0).0 > 0.1);
        assert!(compare(|score_bound| score_bound.bonus_mixed = 0.0).0 > 0.1);
        assert!(compare(|score_bound| score_bound.bonus *= 0.9).0 > 0.01);
    }
}
