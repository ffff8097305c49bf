//! `W = L^-1` followed from `V` to `V + x x^T`, without `L`.
//!
//! ```text
//! p = W x,   s_k = 1 + p_1^2 + ... + p_k^2,   s_0 = 1
//! W'_k = (s_{k-1} W_k - p_k sum_{j<k} p_j W_j) / sqrt(s_{k-1} s_k)
//! det V' = s_d det V,   V'^-1 x = W^T p / s_d
//! ```
//!
//! `V + x x^T = L (I + p p^T) L^T`, and the factor of `I + p p^T` is known in closed form (Gill, Golub, Murray and
//! Saunders 1974, method C1); its inverse applied to `W` is the second line. The roots of all rows are
//! independent of each other, where plane rotations wait for one another, and `W` is what scoring reads.

use pulp::{Arch, Simd, WithSimd};

use super::dot;

/// Replaces `W` of `V` by that of `V + x x^T`, writes the old `V^-1 x` to `direction`, and returns
/// `1 + x^T V^-1 x`, the growth of the determinant.
///
/// `x^T V^-1 x` must be below 1e150; all slices belong to one dimension.
pub(crate) fn add_outer_product(whitening: &mut [f64], x: &[f64], direction: &mut [f64]) -> f64 {
    debug_assert_eq!(whitening.len(), super::triangle(x.len()));
    debug_assert_eq!(direction.len(), x.len());
    Arch::new().dispatch(Update { whitening, x, direction })
}

struct Update<'a> {
    whitening: &'a mut [f64],
    x: &'a [f64],
    direction: &'a mut [f64],
}

impl WithSimd for Update<'_> {
    type Output = f64;

    // Plain products and sums, entry by entry: the instruction set decides the speed and no bit.
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> f64 {
        let mut growth = 1.0;
        let mut rest = self.whitening;
        self.direction.fill(0.0);
        for k in 0..self.x.len() {
            let (row, below) = rest.split_at_mut(k + 1);
            rest = below;
            let p = dot(row, &self.x[..k + 1]);
            let grown = growth + p * p;
            let root = 1.0 / (growth * grown).sqrt();
            let (keep, mix) = (growth * root, p * root);
            for (entry, sum) in row.iter_mut().zip(self.direction.iter_mut()) {
                let old = *entry;
                *entry = keep * old - mix * *sum;
                *sum += p * old;
            }
            growth = grown;
        }
        growth
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::{Cholesky, triangle};

    #[test]
    fn follows_the_factor() {
        for d in [1, 2, 5, 8, 19] {
            let mut factor = Cholesky::of(d, &vec![0.0; triangle(d)], 0.5).unwrap();
            let mut whitening = factor.inverse_factor();
            let mut ln_determinant = factor.ln_determinant();
            let mut direction = vec![0.0; d];
            for t in 0..500 {
                let x: Vec<f64> = (0..d).map(|i| ((t * (i + 3) + i) as f64).sin()).collect();
                let solved = factor.solve(&x).unwrap();
                factor.update(&x).unwrap();
                ln_determinant += add_outer_product(&mut whitening, &x, &mut direction).ln();
                let far = |a: &[f64], b: &[f64]| {
                    a.iter().zip(b).fold(0.0, |m: f64, (a, b)| m.max((a - b).abs()))
                };
                assert!(far(&whitening, &factor.inverse_factor()) < 1e-12);
                assert!(far(&direction, &solved) < 1e-12);
                assert!((ln_determinant - factor.ln_determinant()).abs() < 1e-11);
            }
        }
    }
}
