//! A public random projection to fewer coordinates.
//!
//! ```text
//! y = S x / sqrt k,    S a k x D matrix of signs
//! ```
//!
//! Lengths and inner products are kept up to a relative error of about `sqrt(2/k)` (Achlioptas 2003, J. Comput. Syst. Sci. 66), and noise
//! for privacy grows with k instead of D. A vector that comes out longer than its bound is scaled down to it, which a report counts.
//!
//! The signs of coordinate j of x are the bits, lowest first, of the outputs `j m, j m + 1, ..., j m + m - 1` of SplitMix64 from the
//! state `seed`, with `m = ceil(k / 64)`; a bit of 1 is a plus. They can be computed one column at a time, so no matrix is stored. The seed is public and
//! part of the rule: it protects no person, and no person's data may decide it.

use serde::{Deserialize, Serialize};

use crate::hash;

/// Seeds, at most: a number that JavaScript holds exactly.
pub(super) const LAST_SEED: u64 = (1 << 53) - 1;

/// A projection to fewer coordinates; the constant stays what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Projection {
    /// Length of the vector after it, with the constant.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub dimension: usize,
    /// Seed of the projection; public.
    #[cfg_attr(feature = "schema", schemars(range(max = LAST_SEED)))]
    pub seed: u64,
}

/// Adds `value` times column `column` of S to `sum`.
pub(super) fn add_column(sum: &mut [f64], seed: u64, column: usize, value: f64) {
    let words = sum.len().div_ceil(64);
    for (word, sums) in sum.chunks_mut(64).enumerate() {
        let output = (column * words + word) as u64 + 1;
        let state = seed.wrapping_add(output.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let bits = hash::mixed(state);
        for (bit, sum) in sums.iter_mut().enumerate() {
            *sum += if bits >> bit & 1 == 1 { value } else { -value };
        }
    }
}

/// Divides by `sqrt k`, and scales to norm `bound` what is longer; says whether it was.
pub(super) fn finish(sum: &mut [f64], bound: f64) -> bool {
    let root = (sum.len() as f64).sqrt();
    let mut square = 0.0;
    for entry in sum.iter_mut() {
        *entry /= root;
        square += *entry * *entry;
    }
    let norm = f64::sqrt(square);
    if norm <= bound {
        return false;
    }
    sum.iter_mut().for_each(|entry| *entry *= bound / norm);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn projected(seed: u64, dimension: usize, entries: &[(usize, f64)]) -> (Vec<f64>, bool) {
        let mut sum = vec![0.0; dimension];
        entries.iter().for_each(|(column, value)| add_column(&mut sum, seed, *column, *value));
        let shortened = finish(&mut sum, 1.0);
        (sum, shortened)
    }

    fn inner(a: &[f64], b: &[f64]) -> f64 {
        a.iter().zip(b).map(|(a, b)| a * b).sum()
    }

    /// Inner products of columns have mean 0 and variance 1/k: over 1000 pairs of each seed their mean square is within 7 deviations
    /// `sqrt(2/1000)/k` of 1/k, a false alarm below 1e-9. Columns that all used the same bits would have inner products of 1.
    #[test]
    fn inner_products_are_kept_on_average() {
        for (seed, dimension) in [(0, 16), (1, 70), (7, 200)] {
            let column = |j| projected(seed, dimension, &[(j, 1.0)]).0;
            let products: Vec<f64> =
                (0..1000).map(|j| inner(&column(2 * j), &column(2 * j + 1))).collect();
            let square = products.iter().map(|x| x * x).sum::<f64>() / 1000.0 * dimension as f64;
            assert!((square - 1.0).abs() < 7.0 * 0.002_f64.sqrt(), "{dimension}: {square}");
            let same = column(3);
            assert!((inner(&same, &same) - 1.0).abs() < 1e-12);
        }
        assert_ne!(projected(1, 64, &[(0, 1.0)]), projected(2, 64, &[(0, 1.0)]));
    }

    #[test]
    fn what_is_too_long_is_scaled_down() {
        let long: Vec<(usize, f64)> = (0..100).map(|j| (j, 0.9)).collect();
        let (vector, shortened) = projected(3, 8, &long);
        assert!(shortened && (inner(&vector, &vector).sqrt() - 1.0).abs() < 1e-12);
        assert!(!projected(3, 8, &[(5, 0.9)]).1);
    }
}
