//! Positive definite matrices in the form of an arrow: blocks that meet only in a shared part.
//!
//! ```text
//!     | D_1           B_1 |      L_k L_k^T = D_k,   W_k = L_k^-1 B_k,   M_k = D_k^-1 B_k
//! V = |      ...      ... |      S = C - sum_k W_k^T W_k,   L_S L_S^T = S
//!     |           D_K B_K |
//!     | B_1^T ... B_K^T C |
//! ```
//!
//! The factor of V, blocks first, is as sparse as V. For x = (z in block k, u in the shared part):
//!
//! ```text
//! x^T V^-1 x = |L_k^-1 z|^2 + |L_S^-1 (u - M_k^T z)|^2
//! V (theta, beta) = (v, w):   beta = S^-1 (w - sum_k M_k^T v_k),   theta_k = D_k^-1 v_k - M_k beta
//! ```
//!
//! Hence the restriction of `V^-1` to block k and the shared part is `U^T U` for a lower triangular U of `p + s` rows: `L_k^-1` above,
//! `(-L_S^-1 M_k^T, L_S^-1)` below. Everything is done by block, in `O(K p^3)` or, where one block has changed, `O(p^3 + K p s)`.

use super::{Cholesky, dot, triangle};
use crate::Result;

/// One block, with what it takes from the shared part.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ArrowBlock {
    /// `L_k^-1`, lower triangular, row by row.
    inverse: Vec<f64>,
    /// Columns of `W_k`.
    white: Vec<Vec<f64>>,
    /// Columns of `M_k`.
    coupling: Vec<Vec<f64>>,
    /// `D_k^-1 v_k`.
    mean: Vec<f64>,
    /// `M_k^T v_k`.
    pull: Vec<f64>,
    /// `ln det D_k`.
    ln_determinant: f64,
}

/// The first `size` rows of an upper triangle: the triangle over the first `size` columns, and the other columns.
pub(crate) fn split_rows(size: usize, shared: usize, rows: &[f64]) -> (Vec<f64>, Vec<Vec<f64>>) {
    let (mut square, mut columns) = (Vec::with_capacity(triangle(size)), vec![vec![]; shared]);
    let mut rest = rows;
    for row in 0..size {
        let (own, below) = rest.split_at(size - row);
        let (others, below) = below.split_at(shared);
        square.extend_from_slice(own);
        columns.iter_mut().zip(others).for_each(|(column, entry)| column.push(*entry));
        rest = below;
    }
    (square, columns)
}

impl ArrowBlock {
    /// From the factor of `D_k`, the columns of `B_k`, and `v_k`.
    pub(crate) fn of(factor: &Cholesky, columns: &[Vec<f64>], vector: &[f64]) -> Result<Self> {
        let white: Result<Vec<_>> = columns.iter().map(|column| factor.forward(column)).collect();
        let coupling: Result<Vec<_>> = columns.iter().map(|column| factor.solve(column)).collect();
        let coupling = coupling?;
        Ok(ArrowBlock {
            inverse: factor.inverse_factor(),
            white: white?,
            mean: factor.solve(vector)?,
            pull: coupling.iter().map(|column| dot(column, vector)).collect(),
            coupling,
            ln_determinant: factor.ln_determinant(),
        })
    }

    fn size(&self) -> usize {
        self.mean.len()
    }

    /// `D_k^-1`.
    fn inverse_matrix(&self) -> Matrix {
        inverse_matrix(&self.inverse, self.size())
    }

    /// `M_k`.
    fn coupling_matrix(&self) -> Matrix {
        let row = |i: usize| self.coupling.iter().map(|column| column[i]).collect();
        (0..self.size()).map(row).collect()
    }
}

/// A factored arrow, and the solution for one right-hand side.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Arrow {
    /// `L_S^-1`, lower triangular, row by row.
    corner: Vec<f64>,
    /// beta.
    solution: Vec<f64>,
}

impl Arrow {
    /// `C - sum_k W_k^T W_k`, from the upper triangle of C by rows.
    pub(crate) fn schur(blocks: &[ArrowBlock], corner: &[f64]) -> Vec<f64> {
        let mut schur = corner.to_vec();
        for block in blocks {
            let mut entries = schur.iter_mut();
            for (row, white) in block.white.iter().enumerate() {
                for (other, entry) in block.white[row..].iter().zip(entries.by_ref()) {
                    *entry -= dot(white, other);
                }
            }
        }
        schur
    }

    /// From the factor of S, and w.
    pub(crate) fn of(blocks: &[ArrowBlock], factor: &Cholesky, vector: &[f64]) -> Result<Self> {
        let mut rest = vector.to_vec();
        for block in blocks {
            rest.iter_mut().zip(&block.pull).for_each(|(rest, pull)| *rest -= pull);
        }
        Ok(Arrow { corner: factor.inverse_factor(), solution: factor.solve(&rest)? })
    }

    /// `ln det V`.
    pub(crate) fn ln_determinant(&self, blocks: &[ArrowBlock]) -> f64 {
        let corner = |i: usize| -2.0 * libm::log(self.corner[triangle(i) + i]);
        blocks.iter().map(|block| block.ln_determinant).sum::<f64>()
            + (0..self.solution.len()).map(corner).sum::<f64>()
    }

    /// Rows of a block and of the shared part.
    pub(crate) fn dimension(&self, block: &ArrowBlock) -> usize {
        block.size() + self.solution.len()
    }

    /// Writes (theta_k, beta) for one block.
    pub(crate) fn write_solution(&self, block: &ArrowBlock, theta: &mut [f64]) {
        let (own, shared) = theta.split_at_mut(block.size());
        own.copy_from_slice(&block.mean);
        for (column, beta) in block.coupling.iter().zip(&self.solution) {
            own.iter_mut().zip(column).for_each(|(theta, entry)| *theta -= entry * beta);
        }
        shared.copy_from_slice(&self.solution);
    }

    /// Writes the first p rows of U, which depend on the block alone.
    pub(crate) fn write_block_rows(block: &ArrowBlock, whitening: &mut [f64]) {
        whitening[..block.inverse.len()].copy_from_slice(&block.inverse);
    }

    /// Writes the last s rows of U.
    pub(crate) fn write_shared_rows(&self, block: &ArrowBlock, whitening: &mut [f64]) {
        let size = block.size();
        for row in 0..self.solution.len() {
            let factor = &self.corner[triangle(row)..triangle(row + 1)];
            let target = &mut whitening[triangle(size + row)..triangle(size + row + 1)];
            let (own, shared) = target.split_at_mut(size);
            own.fill(0.0);
            for (column, entry) in block.coupling.iter().zip(factor) {
                own.iter_mut().zip(column).for_each(|(own, m)| *own -= entry * m);
            }
            shared.copy_from_slice(factor);
        }
    }

    /// The restrictions of `V^-1 + noise V^-2` to each block and the shared part, as matrices.
    ///
    /// With `P = D_k^-1`, `R = S^-1`, `Q = I + sum_j M_j^T M_j` and `T = R Q R`, multiplying the blocks of `V^-1` gives, for `V^-2`,
    /// `T` in the corner, `-P M R - M T` beside it and `P^2 + P M R M^T + M R M^T P + M T M^T` in the block.
    pub(crate) fn covariances(&self, blocks: &[ArrowBlock], noise: f64) -> Vec<Matrix> {
        let s = self.solution.len();
        let inverse = inverse_matrix(&self.corner, s);
        let mut spread: Matrix =
            (0..s).map(|i| (0..s).map(|j| f64::from(u8::from(i == j))).collect()).collect();
        for block in blocks {
            for (row, one) in spread.iter_mut().zip(&block.coupling) {
                row.iter_mut()
                    .zip(&block.coupling)
                    .for_each(|(entry, two)| *entry += dot(one, two));
            }
        }
        let twice = multiply(&multiply(&inverse, &spread), &inverse);
        let corner: Matrix = inverse
            .iter()
            .zip(&twice)
            .map(|(one, two)| one.iter().zip(two).map(|(a, b)| noise.mul_add(*b, *a)).collect())
            .collect();
        let covariance = |block: &ArrowBlock| {
            let (own, m) = (block.inverse_matrix(), block.coupling_matrix());
            let (p, n) = (block.size(), block.size() + s);
            // M R, M (R + noise T), P M R.
            let (mr, mc) = (multiply(&m, &inverse), multiply(&m, &corner));
            let pmr = multiply(&own, &mr);
            let mut full = vec![vec![0.0; n]; n];
            for i in 0..p {
                for j in 0..=i {
                    let crossed = dot(&pmr[i], &m[j]) + dot(&pmr[j], &m[i]);
                    let entry =
                        own[i][j] + dot(&mc[i], &m[j]) + noise * (dot(&own[i], &own[j]) + crossed);
                    (full[i][j], full[j][i]) = (entry, entry);
                }
                for j in 0..s {
                    let entry = -mc[i][j] - noise * pmr[i][j];
                    (full[i][p + j], full[p + j][i]) = (entry, entry);
                }
            }
            for i in 0..s {
                full[p + i][p..].copy_from_slice(&corner[i]);
            }
            full
        };
        blocks.iter().map(covariance).collect()
    }
}

/// Rows of a small dense matrix.
pub(crate) type Matrix = Vec<Vec<f64>>;

/// `L^-T L^-1` from `L^-1`, lower triangular, row by row.
pub(crate) fn inverse_matrix(inverse: &[f64], dimension: usize) -> Matrix {
    let mut full = vec![vec![0.0; dimension]; dimension];
    for k in 0..dimension {
        let row = &inverse[triangle(k)..triangle(k + 1)];
        for (i, entry) in row.iter().enumerate() {
            full[i].iter_mut().zip(row).for_each(|(sum, other)| *sum += entry * other);
        }
    }
    full
}

fn multiply(left: &Matrix, right: &Matrix) -> Matrix {
    let row = |row: &Vec<f64>| {
        let mut product = vec![0.0; right.first().map_or(0, Vec::len)];
        for (entry, other) in row.iter().zip(right) {
            product.iter_mut().zip(other).for_each(|(sum, other)| *sum += entry * other);
        }
        product
    };
    left.iter().map(row).collect()
}

/// W, lower triangular by rows, with `W^T W` the covariance; `None` if it is not positive definite to working precision.
///
/// The last rows of W depend on the last rows of the covariance alone, to the last bit: covariances that agree in a shared part at the end
/// have factors that do.
pub(crate) fn triangular_root(covariance: &Matrix) -> Option<Vec<f64>> {
    let d = covariance.len();
    // Upper triangle with its coordinates in reverse, whose lower factor, reversed, is upper.
    let mut reversed = Vec::with_capacity(triangle(d));
    for i in (0..d).rev() {
        reversed.extend(covariance[i][..=i].iter().rev());
    }
    let lower = Cholesky::of(d, &reversed, 0.0)?;
    let mut root = Vec::with_capacity(triangle(d));
    for i in 0..d {
        for j in 0..=i {
            root.push(lower.lower()[triangle(d - 1 - j) + d - 1 - i]);
        }
    }
    Some(root)
}

#[cfg(test)]
mod tests {
    use nalgebra::{DMatrix, DVector};

    use super::*;

    /// An arrow of `K` blocks of `p` and `s` shared rows, as nalgebra's dense matrix, in blocks, and a right-hand side.
    fn arrow(k: usize, p: usize, s: usize) -> (DMatrix<f64>, Vec<ArrowBlock>, Arrow, DVector<f64>) {
        let d = k * p + s;
        let mut v = DMatrix::identity(d, d) * 0.3;
        for t in 0..3 * d {
            let mut x = DVector::zeros(d);
            let at = |i: usize| ((t * (i + 3) + i * i + t) as f64).sin();
            (0..p).for_each(|i| x[t % k * p + i] = at(i));
            (0..s).for_each(|i| x[k * p + i] = at(p + i));
            v += &x * x.transpose();
        }
        let u = DVector::from_fn(d, |i, _| ((7 * i + 1) as f64).cos());
        let upper = |from: usize, n: usize| -> Vec<f64> {
            (0..n).flat_map(|i| (i..n).map(move |j| (from + i, from + j))).map(|at| v[at]).collect()
        };
        let blocks: Vec<ArrowBlock> = (0..k)
            .map(|block| {
                let first = block * p;
                let factor = Cholesky::of(p, &upper(first, p), 0.0).unwrap();
                let column = |j: usize| (0..p).map(|i| v[(first + i, k * p + j)]).collect();
                let columns: Vec<Vec<f64>> = (0..s).map(column).collect();
                ArrowBlock::of(&factor, &columns, &u.as_slice()[first..first + p]).unwrap()
            })
            .collect();
        let schur = Arrow::schur(&blocks, &upper(k * p, s));
        let factor = Cholesky::of(s, &schur, 0.0).unwrap();
        let arrow = Arrow::of(&blocks, &factor, &u.as_slice()[k * p..]).unwrap();
        (v, blocks, arrow, u)
    }

    #[test]
    fn solutions_and_restrictions_are_those_of_the_dense_matrix() {
        for (k, p, s) in [(2, 1, 1), (3, 4, 2), (5, 3, 3), (4, 2, 5)] {
            let (v, blocks, arrow, u) = arrow(k, p, s);
            let inverse = v.clone().try_inverse().unwrap();
            let solution = &inverse * &u;
            assert!((arrow.ln_determinant(&blocks) - v.determinant().ln()).abs() < 1e-9);
            for noise in [0.0, 0.7, 1e4] {
                let expected = &inverse + &inverse * &inverse * noise;
                let covariances = arrow.covariances(&blocks, noise);
                let mut shared: Option<Vec<f64>> = None;
                for block in 0..k {
                    let n = p + s;
                    let place = |i: usize| if i < p { block * p + i } else { k * p + i - p };
                    let mut theta = vec![0.0; n];
                    arrow.write_solution(&blocks[block], &mut theta);
                    for (i, theta) in theta.iter().enumerate() {
                        assert!((theta - solution[place(i)]).abs() < 1e-10);
                    }
                    let root = triangular_root(&covariances[block]).unwrap();
                    let mut direct = vec![0.0; triangle(n)];
                    Arrow::write_block_rows(&blocks[block], &mut direct);
                    arrow.write_shared_rows(&blocks[block], &mut direct);
                    for i in 0..n {
                        for j in 0..n {
                            let want = expected[(place(i), place(j))];
                            let scale = expected.norm();
                            assert!((covariances[block][i][j] - want).abs() < 1e-10 * scale);
                            let product = |w: &[f64]| -> f64 {
                                let entry = |r: usize, c: usize| {
                                    if c <= r { w[triangle(r) + c] } else { 0.0 }
                                };
                                (0..n).map(|r| entry(r, i) * entry(r, j)).sum()
                            };
                            assert!((product(&root) - want).abs() < 1e-9 * scale);
                            if noise == 0.0 {
                                assert!((product(&direct) - want).abs() < 1e-9 * scale);
                            }
                        }
                    }
                    // The shared part of the root is one and the same in all blocks.
                    let tail: Vec<f64> = (p..n)
                        .flat_map(|i| root[triangle(i) + p..triangle(i + 1)].to_vec())
                        .collect();
                    assert_eq!(*shared.get_or_insert(tail.clone()), tail);
                }
            }
        }
    }
}
