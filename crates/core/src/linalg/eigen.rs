//! Eigenvalues and vectors of a small symmetric matrix by Jacobi's rotations.
//!
//! ```text
//! A <- J^T A J,  J the plane rotation that makes a_pq zero,  until all a_pq (p != q) are zero to rounding
//! ```
//!
//! Golub and Van Loan, Matrix Computations, section 8.5. Backward stable, quadratically convergent, and fast enough for the dimensions of a
//! bandit, where it runs once per release, not once per round.

use super::triangle;
use crate::{Result, error::finite_vector, refuse_if};

/// The largest number of sweeps; more than ten are rare.
const SWEEPS: usize = 60;

/// The eigenvalues of a symmetric matrix, smallest first, with their vectors.
#[derive(Debug, Clone, PartialEq)]
pub struct SymmetricEigen {
    values: Vec<f64>,
    vectors: Vec<Vec<f64>>,
}

impl SymmetricEigen {
    /// Decomposes the matrix with this upper triangle, row by row.
    pub fn of(dimension: usize, upper_triangle: &[f64]) -> Result<Self> {
        refuse_if(dimension == 0, "dimension", dimension, "give a whole number above 0")?;
        finite_vector("upper_triangle", upper_triangle, triangle(dimension))?;
        // Scaled to 1, so that squares neither overflow nor underflow.
        let scale = upper_triangle.iter().fold(0.0, |m: f64, x| m.max(x.abs())).max(1e-300);
        let mut matrix = vec![vec![0.0; dimension]; dimension];
        let pairs = (0..dimension).flat_map(|i| (i..dimension).map(move |j| (i, j)));
        for ((i, j), entry) in pairs.zip(upper_triangle) {
            matrix[i][j] = entry / scale;
            matrix[j][i] = entry / scale;
        }
        let mut vectors = vec![vec![0.0; dimension]; dimension];
        for (i, vector) in vectors.iter_mut().enumerate() {
            vector[i] = 1.0;
        }
        for _ in 0..SWEEPS {
            if !sweep(&mut matrix, &mut vectors) {
                break;
            }
        }
        let mut pairs: Vec<(f64, Vec<f64>)> =
            vectors.into_iter().enumerate().map(|(i, v)| (matrix[i][i] * scale, v)).collect();
        pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (values, vectors) = pairs.into_iter().unzip();
        Ok(SymmetricEigen { values, vectors })
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

/// Rotates every off-diagonal entry to zero once; returns whether any was nonzero.
fn sweep(matrix: &mut [Vec<f64>], vectors: &mut [Vec<f64>]) -> bool {
    let dimension = matrix.len();
    let mut rotated = false;
    for p in 0..dimension {
        for q in p + 1..dimension {
            let off = matrix[p][q];
            // Weyl: ignoring an entry this small moves no eigenvalue by more than the rounding error of a matrix of size 1.
            if off.abs() <= 0.01 * f64::EPSILON {
                continue;
            }
            rotated = true;
            // The smaller root of t^2 + 2 theta t - 1 = 0 keeps the angle within 45 degrees.
            let theta = (matrix[q][q] - matrix[p][p]) / (2.0 * off);
            let tangent = theta.signum() / (theta.abs() + libm::hypot(theta, 1.0));
            let cosine = 1.0 / libm::hypot(tangent, 1.0);
            let sine = tangent * cosine;
            for row in matrix.iter_mut() {
                rotate(row, p, q, cosine, sine);
            }
            let [row_p, row_q] = matrix.get_disjoint_mut([p, q]).expect("p < q < dimension");
            rotate_rows(row_p, row_q, cosine, sine);
            let [vector_p, vector_q] = vectors.get_disjoint_mut([p, q]).expect("p < q < dimension");
            rotate_rows(vector_p, vector_q, cosine, sine);
            (matrix[p][q], matrix[q][p]) = (0.0, 0.0);
        }
    }
    rotated
}

fn rotate(row: &mut [f64], p: usize, q: usize, cosine: f64, sine: f64) {
    (row[p], row[q]) = (cosine * row[p] - sine * row[q], sine * row[p] + cosine * row[q]);
}

fn rotate_rows(p: &mut [f64], q: &mut [f64], cosine: f64, sine: f64) {
    for (p, q) in p.iter_mut().zip(q) {
        (*p, *q) = (cosine * *p - sine * *q, sine * *p + cosine * *q);
    }
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
