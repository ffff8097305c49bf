//! Eigenvalues and vectors of a small symmetric matrix.
//!
//! ```text
//! A = Q T Q^T   T tridiagonal, Q a product of Householder reflections
//! T = Z D Z^T   implicit QL steps with Wilkinson's shift, each a chain of plane rotations
//! ```
//!
//! Golub and Van Loan, Matrix Computations, sections 8.3.1 and 8.3.3; Bowdler, Martin, Reinsch and Wilkinson (1968), procedures tred2 and tql2.
//! Backward stable. About `9 d^3` operations, on whole rows: at d = 17 a fifth of the time of Jacobi's rotations, and it runs for every block of
//! parameters at every release.

use super::{dot, triangle};
use crate::{Result, error::finite_vector, refuse_if};

/// The largest number of QL steps for one eigenvalue; more than three are rare.
const STEPS: usize = 60;
/// Weyl: ignoring an entry this small moves no eigenvalue by more than the rounding error of a matrix of size 1.
const NEGLIGIBLE: f64 = 0.01 * f64::EPSILON;
/// Squares of smaller numbers lose digits. Such a number counts as zero beside a matrix of size 1.
const VANISHED: f64 = 1e-140;

/// The eigenvalues of a symmetric matrix, smallest first, with their vectors.
#[derive(Debug, Clone, PartialEq)]
pub struct SymmetricEigen {
    values: Vec<f64>,
    vectors: Vec<Vec<f64>>,
}

impl SymmetricEigen {
    /// Decomposes the matrix with this upper triangle, row by row.
    pub fn of(dimension: usize, upper_triangle: &[f64]) -> Result<Self> {
        refuse_if(dimension == 0, "dimension", dimension, "expected a whole number above 0")?;
        finite_vector("upper_triangle", upper_triangle, triangle(dimension))?;
        // Scaled to 1, so that squares neither overflow nor underflow.
        let scale = upper_triangle.iter().fold(0.0, |m: f64, x| m.max(x.abs())).max(1e-300);
        let mut matrix = vec![0.0; dimension * dimension];
        let pairs = (0..dimension).flat_map(|i| (i..dimension).map(move |j| (i, j)));
        for ((i, j), entry) in pairs.zip(upper_triangle) {
            matrix[i * dimension + j] = entry / scale;
            matrix[j * dimension + i] = entry / scale;
        }
        let Tridiagonal { mut diagonal, mut beside, mut rows } = Tridiagonal::of(dimension, matrix);
        diagonalize(&mut diagonal, &mut beside, &mut rows);
        let mut order: Vec<usize> = (0..dimension).collect();
        order.sort_by(|a, b| diagonal[*a].total_cmp(&diagonal[*b]));
        let values = order.iter().map(|i| diagonal[*i] * scale).collect();
        let row = |i: &usize| rows[i * dimension..(i + 1) * dimension].to_vec();
        Ok(SymmetricEigen { values, vectors: order.iter().map(row).collect() })
    }

    /// The eigenvalues, smallest first.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The orthonormal eigenvectors, in the order of the values.
    pub fn vectors(&self) -> &[Vec<f64>] {
        &self.vectors
    }

    /// The smallest eigenvalue.
    pub fn smallest(&self) -> f64 {
        self.values[0]
    }

    /// The largest eigenvalue.
    pub fn largest(&self) -> f64 {
        self.values[self.values.len() - 1]
    }
}

/// `T = Q^T A Q`.
struct Tridiagonal {
    diagonal: Vec<f64>,
    /// The entries beside the diagonal, and a zero.
    beside: Vec<f64>,
    /// `Q^T` row by row.
    rows: Vec<f64>,
}

impl Tridiagonal {
    /// Column k below the diagonal becomes `(alpha, 0, ..., 0)` by the reflection `I - v v^T / h`, `h = |v|^2 / 2`. The rest of the matrix changes by
    /// `- v w^T - w v^T` with `w = p - (v^T p / 2h) v`, `p = A v / h`.
    fn of(d: usize, mut matrix: Vec<f64>) -> Self {
        let (mut beside, mut halves) = (vec![0.0; d], vec![0.0; d]);
        let (mut v, mut w) = (vec![0.0; d], vec![0.0; d]);
        for k in 0..d.saturating_sub(1) {
            let column = &mut matrix[k * d..(k + 1) * d][k + 1..];
            // A row that needs no reflection, the last one among them.
            if column[1..].iter().all(|entry| entry.abs() < VANISHED) {
                beside[k] = column[0];
                continue;
            }
            let alpha = -dot(column, column).sqrt().copysign(column[0]);
            beside[k] = alpha;
            halves[k] = alpha * (alpha - column[0]);
            // The row of the matrix that is done keeps v.
            column[0] -= alpha;
            let (v, w) = (&mut v[k + 1..], &mut w[k + 1..]);
            v.copy_from_slice(column);
            let rest = &mut matrix[(k + 1) * d..];
            for (w, row) in w.iter_mut().zip(rest.chunks_exact(d)) {
                *w = dot(&row[k + 1..], v) / halves[k];
            }
            let share = dot(v, w) / (2.0 * halves[k]);
            w.iter_mut().zip(&*v).for_each(|(w, v)| *w -= share * v);
            for (i, row) in rest.chunks_exact_mut(d).enumerate() {
                let (v_i, w_i) = (v[i], w[i]);
                let entries = row[k + 1..].iter_mut().zip(v.iter().zip(&*w));
                entries.for_each(|(entry, (v, w))| *entry -= v_i * w + w_i * v);
            }
        }
        let diagonal = (0..d).map(|i| matrix[i * d + i]).collect();
        // Q^T = H_last ... H_first, from the left: a factor changes only the rows and columns behind its own.
        let mut rows = vec![0.0; d * d];
        (0..d).for_each(|i| rows[i * d + i] = 1.0);
        for k in (0..d).rev().filter(|k| halves[*k] != 0.0) {
            let v = &matrix[k * d..(k + 1) * d][k + 1..];
            for row in rows.chunks_exact_mut(d).skip(k + 1) {
                let row = &mut row[k + 1..];
                let share = dot(row, v) / halves[k];
                row.iter_mut().zip(v).for_each(|(entry, v)| *entry -= share * v);
            }
        }
        Tridiagonal { diagonal, beside, rows }
    }
}

/// Turns the tridiagonal matrix into its eigenvalues and the rows of `Q^T` into eigenvectors.
fn diagonalize(diagonal: &mut [f64], beside: &mut [f64], rows: &mut [f64]) {
    let d = diagonal.len();
    for first in 0..d {
        for _ in 0..STEPS {
            let splits = |i: &usize| {
                let size = diagonal[*i].abs() + diagonal[*i + 1].abs();
                beside[*i].abs() <= NEGLIGIBLE.max(f64::EPSILON * size)
            };
            let last = (first..d - 1).find(splits).unwrap_or(d - 1);
            if last == first {
                break;
            }
            ql_step(diagonal, beside, rows, first, last);
        }
    }
}

/// One implicit QL step on the unreduced part from `first` to `last`.
fn ql_step(diagonal: &mut [f64], beside: &mut [f64], rows: &mut [f64], first: usize, last: usize) {
    let d = diagonal.len();
    let half = (diagonal[first + 1] - diagonal[first]) / (2.0 * beside[first]);
    let shift = beside[first] / (half + libm::hypot(half, 1.0).copysign(half));
    let mut g = diagonal[last] - diagonal[first] + shift;
    let (mut sine, mut cosine, mut p) = (1.0, 1.0, 0.0);
    for i in (first..last).rev() {
        let (f, b) = (sine * beside[i], cosine * beside[i]);
        let length = (f * f + g * g).sqrt();
        if length < VANISHED {
            // The part has split here.
            beside[i + 1] = 0.0;
            diagonal[i + 1] -= p;
            beside[last] = 0.0;
            return;
        }
        beside[i + 1] = length;
        (sine, cosine) = (f / length, g / length);
        g = diagonal[i + 1] - p;
        let r = (diagonal[i] - g) * sine + 2.0 * cosine * b;
        p = sine * r;
        diagonal[i + 1] = g + p;
        g = cosine * r - b;
        let (above, below) = rows[i * d..(i + 2) * d].split_at_mut(d);
        for (low, high) in above.iter_mut().zip(below) {
            (*low, *high) = (cosine * *low - sine * *high, sine * *low + cosine * *high);
        }
    }
    diagonal[first] -= p;
    beside[first] = g;
    beside[last] = 0.0;
}

#[cfg(test)]
mod tests {
    use nalgebra::DMatrix;
    use proptest::prelude::*;

    use super::*;

    fn full(d: usize, upper: &[f64]) -> DMatrix<f64> {
        let at = |i: usize, j: usize| {
            let (i, j) = (i.min(j), i.max(j));
            upper[i * d - i * (i + 1) / 2 + j]
        };
        DMatrix::from_fn(d, d, at)
    }

    proptest! {
        #[test]
        fn agrees_with_nalgebra(
            d in 1_usize..12,
            entries in prop::collection::vec(-1.0..1.0_f64, 66),
            exponent in -200_i32..200,
        ) {
            let size = 10_f64.powi(exponent);
            let upper: Vec<f64> = entries[..triangle(d)].iter().map(|x| x * size).collect();
            let ours = SymmetricEigen::of(d, &upper).unwrap();
            let mut theirs: Vec<f64> =
                full(d, &entries[..triangle(d)]).symmetric_eigenvalues().iter().copied().collect();
            theirs.sort_by(f64::total_cmp);
            for (a, b) in ours.values().iter().zip(&theirs) {
                prop_assert!((a / size - b).abs() < 1e-13);
            }
            prop_assert_eq!((ours.smallest(), ours.largest()), (ours.values()[0], ours.values()[d - 1]));
            // A v = lambda v, and the vectors are orthonormal.
            let matrix = full(d, &entries[..triangle(d)]);
            for (i, (value, vector)) in ours.values().iter().zip(ours.vectors()).enumerate() {
                for row in 0..d {
                    let product: f64 = (0..d).map(|j| matrix[(row, j)] * vector[j]).sum();
                    prop_assert!((product - value / size * vector[row]).abs() < 1e-13);
                }
                for (j, other) in ours.vectors().iter().enumerate() {
                    let product: f64 = vector.iter().zip(other).map(|(a, b)| a * b).sum();
                    prop_assert!((product - f64::from(i == j)).abs() < 1e-13);
                }
            }
        }
    }

    #[test]
    fn degenerate_matrices_and_bad_input() {
        assert_eq!(SymmetricEigen::of(3, &[0.0; 6]).unwrap().values(), [0.0; 3]);
        let equal = SymmetricEigen::of(3, &[1.0; 6]).unwrap();
        assert!(equal.smallest().abs() < 1e-15 && (equal.largest() - 3.0).abs() < 1e-15);
        assert_eq!(SymmetricEigen::of(1, &[-4.0]).unwrap().smallest(), -4.0);
        assert!(SymmetricEigen::of(0, &[]).is_err());
        assert!(SymmetricEigen::of(2, &[1.0, 2.0]).is_err());
        assert!(SymmetricEigen::of(2, &[1.0, f64::NAN, 2.0]).is_err());
    }
}
