//! Cholesky factor `V = L L^T` of a small symmetric positive definite matrix.
//!
//! ```text
//! L_ij = (V_ij - sum_{k<j} L_ik L_jk) / L_jj,    L_ii = sqrt(V_ii - sum_{k<i} L_ik^2)
//! ```
//!
//! `V + x x^T` follows by one plane rotation per column (Gill, Golub, Murray and Saunders 1974, method C5; the
//! LINPACK routine `dchud`): only positive numbers are added to the diagonal, so it is stable without a condition.
//! Everything else is substitution; `V^-1` is never formed.

use super::{dot, triangle};
use crate::{Result, error::finite_vector};

/// The lower triangular factor of a positive definite matrix.
///
/// ```
/// use reticent::linalg::Cholesky;
/// // [[2, 1], [1, 2]] as an upper triangle, and a ridge of 1 on its diagonal.
/// let mut factor = Cholesky::of(2, &[2.0, 1.0, 2.0], 1.0).expect("positive definite");
/// assert!((factor.ln_determinant() - 8f64.ln()).abs() < 1e-15);
/// factor.update(&[1.0, 0.0])?; // now [[4, 1], [1, 3]]
/// let solution = factor.solve(&[5.0, 4.0])?;
/// assert!((solution[0] - 1.0).abs() < 1e-15 && (solution[1] - 1.0).abs() < 1e-15);
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Cholesky {
    dimension: usize,
    /// `L` row by row: row i has i + 1 entries.
    lower: Vec<f64>,
}

/// Index of the first entry of row `i` of a lower triangle.
fn row(i: usize) -> std::ops::Range<usize> {
    triangle(i)..triangle(i + 1)
}

impl Cholesky {
    /// Factors `V + ridge I`, `V` given as its upper triangle row by row.
    ///
    /// `None` if the sum is not positive definite to working precision, or if these are not
    /// `dimension (dimension + 1) / 2` finite numbers.
    pub fn of(dimension: usize, upper_triangle: &[f64], ridge: f64) -> Option<Self> {
        if dimension == 0 || upper_triangle.len() != triangle(dimension) {
            return None;
        }
        let mut lower = vec![0.0; upper_triangle.len()];
        let mut entries = upper_triangle.iter();
        for i in 0..dimension {
            for j in i..dimension {
                lower[triangle(j) + i] = *entries.next()?;
            }
        }
        for i in 0..dimension {
            let (above, current) = lower.split_at_mut(triangle(i));
            for j in 0..i {
                let other = &above[row(j)];
                current[j] = (current[j] - dot(&current[..j], &other[..j])) / other[j];
            }
            let diagonal = current[i] + ridge;
            let rest = diagonal - dot(&current[..i], &current[..i]);
            // A smaller difference is a rounding error, and its root would be meaningless.
            let rounding = f64::EPSILON * dimension as f64 * diagonal;
            if !(rest.is_finite() && rest > rounding) {
                return None;
            }
            current[i] = rest.sqrt();
        }
        Some(Cholesky { dimension, lower })
    }

    /// Number of rows the matrix has.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// `L` row by row: row i has i + 1 entries.
    pub fn lower(&self) -> &[f64] {
        &self.lower
    }

    /// Replaces `V` by `V + x x^T`. An error changes nothing.
    pub fn update(&mut self, x: &[f64]) -> Result<()> {
        finite_vector("x", x, self.dimension)?;
        let mut rest = x.to_vec();
        for k in 0..self.dimension {
            let diagonal = self.lower[triangle(k) + k];
            let longer = libm::hypot(diagonal, rest[k]);
            let (cosine, sine) = (diagonal / longer, rest[k] / longer);
            self.lower[triangle(k) + k] = longer;
            for (i, rest) in rest.iter_mut().enumerate().skip(k + 1) {
                let entry = &mut self.lower[triangle(i) + k];
                let old = *entry;
                *entry = cosine * old + sine * *rest;
                *rest = cosine * *rest - sine * old;
            }
        }
        Ok(())
    }

    /// `V^-1 b`.
    pub fn solve(&self, b: &[f64]) -> Result<Vec<f64>> {
        let mut solution = self.forward(b)?;
        for i in (0..self.dimension).rev() {
            let entries = &self.lower[row(i)];
            solution[i] /= entries[i];
            let pivot = solution[i];
            for (value, entry) in solution[..i].iter_mut().zip(entries) {
                *value -= entry * pivot;
            }
        }
        Ok(solution)
    }

    /// `L^-1 b`, whose square norm is `b^T V^-1 b`.
    pub fn forward(&self, b: &[f64]) -> Result<Vec<f64>> {
        finite_vector("b", b, self.dimension)?;
        let mut solution = b.to_vec();
        for i in 0..self.dimension {
            let entries = &self.lower[row(i)];
            solution[i] = (solution[i] - dot(&entries[..i], &solution[..i])) / entries[i];
        }
        Ok(solution)
    }

    /// `W = L^-1`, lower triangular, row by row: `||W x||^2 = x^T V^-1 x`.
    pub fn inverse_factor(&self) -> Vec<f64> {
        let mut inverse = vec![0.0; self.lower.len()];
        for i in 0..self.dimension {
            let entries = &self.lower[row(i)];
            let (above, current) = inverse.split_at_mut(triangle(i));
            // Row i of L W = I, solved for row i of W: whole rows are added, so memory is read in order.
            for (j, entry) in entries[..i].iter().enumerate() {
                for (value, other) in current.iter_mut().zip(&above[row(j)]) {
                    *value -= entry * other;
                }
            }
            current[i] = 1.0;
            for value in &mut current[..=i] {
                *value /= entries[i];
            }
        }
        inverse
    }

    /// `ln det V`.
    pub fn ln_determinant(&self) -> f64 {
        (0..self.dimension).map(|i| 2.0 * libm::log(self.lower[triangle(i) + i])).sum()
    }
}

#[cfg(test)]
mod tests {
    use nalgebra::{DMatrix, DVector};
    use proptest::prelude::*;

    use super::*;

    /// A sum of `2 d` outer products, as an upper triangle and as nalgebra's matrix with the ridge.
    fn gram(d: usize, entries: &[f64], ridge: f64) -> (Vec<f64>, DMatrix<f64>) {
        let rows = DMatrix::from_row_slice(2 * d, d, &entries[..2 * d * d]);
        let gram = rows.transpose() * rows;
        let upper = (0..d).flat_map(|i| (i..d).map(move |j| (i, j))).map(|at| gram[at]).collect();
        (upper, gram + DMatrix::identity(d, d) * ridge)
    }

    fn close(ours: &[f64], theirs: &[f64], tolerance: f64) -> bool {
        let scale = theirs.iter().fold(1e-300, |m: f64, x| m.max(x.abs()));
        ours.len() == theirs.len()
            && ours.iter().zip(theirs).all(|(a, b)| (a - b).abs() <= tolerance * scale)
    }

    proptest! {
        #[test]
        fn agrees_with_nalgebra(
            d in 1_usize..12,
            entries in prop::collection::vec(-1.0..1.0_f64, 2 * 11 * 11 + 22),
            ridge in 0.01..10.0_f64,
        ) {
            let (upper, matrix) = gram(d, &entries, ridge);
            let (x, b) = (&entries[entries.len() - d..], &entries[entries.len() - 2 * d..][..d]);
            let mut ours = Cholesky::of(d, &upper, ridge).unwrap();
            let outer = DVector::from_column_slice(x) * DVector::from_column_slice(x).transpose();
            for matrix in [matrix.clone(), matrix + outer] {
                let theirs = matrix.clone().cholesky().unwrap();
                let vector = DVector::from_column_slice(b);
                prop_assert!(close(&ours.solve(b).unwrap(), theirs.solve(&vector).as_slice(), 1e-11));
                let forward = theirs.l().solve_lower_triangular(&vector).unwrap();
                prop_assert!(close(&ours.forward(b).unwrap(), forward.as_slice(), 1e-11));
                let inverse = theirs.l().try_inverse().unwrap();
                let packed: Vec<f64> =
                    (0..d).flat_map(|i| (0..=i).map(move |j| (i, j))).map(|at| inverse[at]).collect();
                prop_assert!(close(&ours.inverse_factor(), &packed, 1e-11));
                prop_assert!((ours.ln_determinant() - matrix.determinant().ln()).abs() < 1e-10);
                ours.update(x).unwrap();
            }
        }
    }

    #[test]
    fn many_updates_end_where_the_sum_does() {
        let d = 6;
        let mut factor = Cholesky::of(d, &vec![0.0; triangle(d)], 1e-3).unwrap();
        let mut upper = vec![0.0; triangle(d)];
        for t in 0..20_000 {
            let x: Vec<f64> = (0..d).map(|i| ((t * (i + 2) + i * i) as f64).sin()).collect();
            factor.update(&x).unwrap();
            let pairs = (0..d).flat_map(|i| (i..d).map(move |j| (i, j)));
            upper.iter_mut().zip(pairs).for_each(|(entry, (i, j))| *entry += x[i] * x[j]);
        }
        let direct = Cholesky::of(d, &upper, 1e-3).unwrap();
        assert!(close(factor.lower(), direct.lower(), 1e-10));
        // The comparison detects one missing observation in twenty thousand.
        factor.update(&[1.0, 0.0, 0.0, 0.0, 0.0, 0.0]).unwrap();
        assert!(!close(factor.lower(), direct.lower(), 1e-10));
    }

    #[test]
    fn a_matrix_that_is_not_positive_definite_has_no_factor() {
        assert!(Cholesky::of(2, &[1.0, 2.0, 1.0], 0.0).is_none());
        assert!(Cholesky::of(2, &[1.0, 2.0, 1.0], 1.1).is_some());
        // Rank one: the last pivot is a rounding error.
        assert!(Cholesky::of(3, &[0.01, 0.03, 0.07, 0.09, 0.21, 0.49], 0.0).is_none());
        assert!(Cholesky::of(2, &[1.0, f64::NAN, 1.0], 0.0).is_none());
        assert!(Cholesky::of(2, &[f64::INFINITY, 0.0, 1.0], 0.0).is_none());
        assert!(Cholesky::of(2, &[1.0, 0.0], 0.0).is_none());
        assert!(Cholesky::of(0, &[], 1.0).is_none());
    }

    #[test]
    fn bad_vectors_are_refused_and_change_nothing() {
        let mut factor = Cholesky::of(2, &[1.0, 0.0, 1.0], 1.0).unwrap();
        let before = factor.clone();
        assert!(factor.update(&[1.0]).is_err());
        assert!(factor.update(&[1.0, f64::NAN]).is_err());
        assert!(factor.solve(&[1.0; 3]).is_err());
        assert!(factor.forward(&[]).is_err());
        assert_eq!(factor, before);
    }
}
