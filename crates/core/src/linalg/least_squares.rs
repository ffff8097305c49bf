//! Ridge regression updated after each observation: from `V, u` to `V + x x^T, u + y x` in `O(d^2)`.
//!
//! ```text
//! W^T W = V^-1,   p = W x,   s_k = 1 + p_1^2 + ... + p_k^2,   s_0 = 1
//! W'_k = (s_{k-1} W_k - p_k sum_{j<k} p_j W_j) / sqrt(s_{k-1} s_k)
//! theta' = theta + W^T p (y - <theta, x>) / s_d,   det V' = s_d det V
//! ```
//!
//! `V + x x^T = L (I + p p^T) L^T`, and the factor of `I + p p^T` is known in closed form (Gill, Golub, Murray and
//! Saunders 1974, method C1); its inverse applied to `W = L^-1` is the second line. The square roots of all rows are independent of each
//! other, whereas plane rotations depend on one another, and scoring reads `W` directly.

use pulp::{Arch, Simd, WithSimd};

use super::{dot, lanes::arch, triangle};

/// The parts of a regression that an observation changes.
pub(crate) struct LeastSquares<'a> {
    /// Upper triangle of `sum x x^T`, row by row.
    pub(crate) gram: &'a mut [f64],
    /// `sum y x`.
    pub(crate) moment: &'a mut [f64],
    /// `W`, lower triangular, row by row.
    pub(crate) whitening: &'a mut [f64],
    /// `V^-1 sum y x`.
    pub(crate) theta: &'a mut [f64],
    /// Scratch space for `V^-1 x`.
    pub(crate) direction: &'a mut [f64],
}

impl LeastSquares<'_> {
    /// Learns that features `x` were answered by `y`; returns `1 + x^T V^-1 x`, the growth of the determinant.
    ///
    /// `x^T V^-1 x` must be below 1e150.
    pub(crate) fn observe(self, x: &[f64], y: f64) -> f64 {
        self.observe_on(arch(), x, y)
    }

    fn observe_on(self, arch: Arch, x: &[f64], y: f64) -> f64 {
        arch.dispatch(Observe { state: self, x, y })
    }
}

struct Observe<'a> {
    state: LeastSquares<'a>,
    x: &'a [f64],
    y: f64,
}

impl WithSimd for Observe<'_> {
    type Output = f64;

    // Small dimensions are compiled one by one: there, loops cost more than sums.
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> f64 {
        match self.x.len() {
            1 => self.step(1),
            2 => self.step(2),
            3 => self.step(3),
            4 => self.step(4),
            5 => self.step(5),
            6 => self.step(6),
            7 => self.step(7),
            8 => self.step(8),
            dimension => self.step(dimension),
        }
    }
}

impl Observe<'_> {
    // Plain products and sums, entry by entry, so that the result does not depend on the instruction set.
    #[inline(always)]
    fn step(self, dimension: usize) -> f64 {
        let x = &self.x[..dimension];
        let theta = &mut self.state.theta[..dimension];
        let moment = &mut self.state.moment[..dimension];
        let direction = &mut self.state.direction[..dimension];
        let gram = &mut self.state.gram[..triangle(dimension)];
        let whitening = &mut self.state.whitening[..triangle(dimension)];
        let mut growth = 1.0;
        let mut start = 0;
        direction.fill(0.0);
        for k in 0..dimension {
            let row = &mut whitening[start..start + k + 1];
            start += k + 1;
            let p = dot(row, &x[..k + 1]);
            let grown = growth + p * p;
            let root = 1.0 / (growth * grown).sqrt();
            let (keep, mix) = (growth * root, p * root);
            for j in 0..k + 1 {
                let old = row[j];
                row[j] = keep * old - mix * direction[j];
                direction[j] += p * old;
            }
            growth = grown;
        }
        let step = (self.y - dot(theta, x)) / growth;
        let mut start = 0;
        for i in 0..dimension {
            theta[i] += step * direction[i];
            moment[i] += self.y * x[i];
            let row = &mut gram[start..start + dimension - i];
            start += dimension - i;
            for (entry, other) in row.iter_mut().zip(&x[i..]) {
                *entry += x[i] * other;
            }
        }
        growth
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::{Cholesky, lanes::paths};

    #[test]
    fn follows_the_factor_and_the_sums() {
        for d in [1, 2, 5, 8, 19] {
            let mut factor = Cholesky::of(d, &vec![0.0; triangle(d)], 0.5).unwrap();
            let mut whitening = factor.inverse_factor();
            let mut ln_determinant = factor.ln_determinant();
            let (mut gram, mut moment) = (vec![0.0; triangle(d)], vec![0.0; d]);
            let (mut theta, mut direction) = (vec![0.0; d], vec![0.0; d]);
            for t in 0..500 {
                let x: Vec<f64> = (0..d).map(|i| ((t * (i + 3) + i) as f64).sin()).collect();
                let solved = factor.solve(&x).unwrap();
                factor.update(&x).unwrap();
                let state = LeastSquares {
                    gram: &mut gram,
                    moment: &mut moment,
                    whitening: &mut whitening,
                    theta: &mut theta,
                    direction: &mut direction,
                };
                ln_determinant += state.observe(&x, (t as f64).cos()).ln();
                let far = |a: &[f64], b: &[f64]| {
                    a.iter().zip(b).fold(0.0, |m: f64, (a, b)| m.max((a - b).abs()))
                };
                assert!(far(&whitening, &factor.inverse_factor()) < 1e-12);
                assert!(far(&direction, &solved) < 1e-12);
                assert!(far(&theta, &factor.solve(&moment).unwrap()) < 1e-12);
                let direct = Cholesky::of(d, &gram, 0.5).unwrap();
                assert!(far(direct.lower(), factor.lower()) < 1e-11);
                assert!((ln_determinant - factor.ln_determinant()).abs() < 1e-11);
            }
        }
    }
    #[test]
    fn every_instruction_set_gives_the_same_bits() {
        for d in [1, 3, 5, 8, 13, 40] {
            let run = |arch: Arch| {
                let mut parts = [triangle(d), d, triangle(d), d, d].map(|length| vec![0.0; length]);
                (0..d).for_each(|i| parts[2][triangle(i) + i] = 1.0);
                let mut growths = Vec::new();
                for t in 0..50 {
                    let x: Vec<f64> = (0..d).map(|i| ((t * (i + 3) + i) as f64).sin()).collect();
                    let [gram, moment, whitening, theta, direction] = &mut parts;
                    let state = LeastSquares { gram, moment, whitening, theta, direction };
                    growths.push(state.observe_on(arch, &x, (t as f64).cos()));
                }
                let all = parts.iter().flatten().chain(&growths);
                all.map(|number| number.to_bits()).collect::<Vec<_>>()
            };
            for path in paths() {
                assert!(run(path) == run(Arch::Scalar), "{path:?}, dimension {d}");
            }
        }
    }
}
