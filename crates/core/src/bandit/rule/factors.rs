//! `V = G~ + ridge I` of a release, factored by block, with no eigenvalue below half the ridge.
//!
//! Blocks without a shared part are matrices of their own, and each is floored by itself: those are V's eigenvalues. With a shared part
//! (`linalg::arrow`) every `D_k` is floored, then the Schur complement S of the corner. If V has no eigenvalue below half the ridge, neither has
//! any `D_k`, a submatrix, nor S, whose inverse is a submatrix of `V^-1`: then nothing is changed.

use super::RulePlan;
use crate::{
    Error, Result,
    linalg::{
        Cholesky, SymmetricEigen,
        arrow::{Arrow, ArrowBlock, inverse_matrix, split_rows, triangular_root},
        triangle,
    },
    release::Release,
    special::square,
};

/// V, factored, and `V^-1 u~`.
pub(super) enum Factors {
    /// A factor and a solution for each block.
    Blocks(Vec<(Cholesky, Vec<f64>)>),
    /// Blocks that meet in a shared part.
    Arrow(Vec<ArrowBlock>, Arrow),
}

impl RulePlan {
    /// The ridge is for features of norm at most 1.
    pub(super) fn factors(&self, release: &Release, ridge: f64) -> Result<Factors> {
        let ridge = ridge * square(self.feature_bound);
        let (n, shared) = (self.dimension, self.structure.shared);
        let blocks = (0..self.structure.blocks).map(|block| release.block(block));
        if shared == 0 {
            let solve = |(gram, vector): (Vec<f64>, Vec<f64>)| {
                let factor = floored(n, &gram, ridge)?;
                let solution = factor.solve(&vector)?;
                Ok((factor, solution))
            };
            return Ok(Factors::Blocks(blocks.map(solve).collect::<Result<_>>()?));
        }
        let size = n - shared;
        let factored = |(gram, vector): (Vec<f64>, Vec<f64>)| {
            let (square, columns) = split_rows(size, shared, &gram);
            ArrowBlock::of(&floored(size, &square, ridge)?, &columns, &vector[..size])
        };
        let blocks = blocks.map(factored).collect::<Result<Vec<_>>>()?;
        let layout = release.domain().layout();
        let corner = &release.upper_triangle()[layout.matrix_starts(0)[1]..];
        let factor = floored(shared, &Arrow::schur(&blocks, corner), ridge)?;
        let vector = &release.vector()[layout.vector_starts(0)[1]..];
        let arrow = Arrow::of(&blocks, &factor, vector)?;
        Ok(Factors::Arrow(blocks, arrow))
    }
}

impl Factors {
    /// `V^-1 u~`, over each block and the shared part.
    pub(super) fn theta(&self) -> Vec<f64> {
        match self {
            Factors::Blocks(blocks) => {
                blocks.iter().flat_map(|(_, solution)| solution).copied().collect()
            }
            Factors::Arrow(blocks, arrow) => {
                let solution = |block: &ArrowBlock| {
                    let mut theta = vec![0.0; arrow.dimension(block)];
                    arrow.write_solution(block, &mut theta);
                    theta
                };
                blocks.iter().flat_map(solution).collect()
            }
        }
    }

    /// W of each block, `W^T W` being the restriction of `V^-1` to the block and the shared part.
    pub(super) fn whitening(&self) -> Vec<f64> {
        match self {
            Factors::Blocks(blocks) => {
                blocks.iter().flat_map(|(factor, _)| factor.inverse_factor()).collect()
            }
            Factors::Arrow(blocks, arrow) => {
                let rows = |block: &ArrowBlock| {
                    let mut whitening = vec![0.0; triangle(arrow.dimension(block))];
                    Arrow::write_block_rows(block, &mut whitening);
                    arrow.write_shared_rows(block, &mut whitening);
                    whitening
                };
                blocks.iter().flat_map(rows).collect()
            }
        }
    }

    /// The same for `V^-1 + noise V^-2`; `None` if rounding leaves nothing of it.
    pub(super) fn noisy_whitening(&self, noise: f64) -> Option<Vec<f64>> {
        if noise == 0.0 {
            return Some(self.whitening());
        }
        let roots: Option<Vec<_>> = match self {
            Factors::Blocks(blocks) => {
                blocks.iter().map(|(factor, _)| whitening(factor, noise)).collect()
            }
            Factors::Arrow(blocks, arrow) => {
                arrow.covariances(blocks, noise).iter().map(triangular_root).collect()
            }
        };
        Some(roots?.concat())
    }
}

/// `W`, lower triangular by rows, with `W^T W = A^-1 + noise A^-2` for `A = L L^T`.
fn whitening(factor: &Cholesky, noise: f64) -> Option<Vec<f64>> {
    let inverse = inverse_matrix(&factor.inverse_factor(), factor.dimension());
    let entry = |i: usize, j: usize| {
        let square: f64 = inverse[i].iter().zip(&inverse[j]).map(|(a, b)| a * b).sum();
        noise.mul_add(square, inverse[i][j])
    };
    let covariance = (0..inverse.len())
        .map(|i| (0..inverse.len()).map(|j| if j <= i { entry(i, j) } else { 0.0 }).collect())
        .collect();
    triangular_root(&covariance)
}

/// The factor of a matrix plus the ridge, eigenvalues below half the ridge raised to it.
fn floored(d: usize, gram: &[f64], ridge: f64) -> Result<Cholesky> {
    // If G~ + ridge/2 is positive definite, nothing has to be floored.
    let factor = match Cholesky::of(d, gram, 0.5 * ridge) {
        Some(_) => Cholesky::of(d, gram, ridge),
        None => {
            let eigen = SymmetricEigen::of(d, gram)?;
            let mut raised = gram.to_vec();
            for (value, vector) in eigen.values().iter().zip(eigen.vectors()) {
                let missing = -0.5 * ridge - value;
                if missing <= 0.0 {
                    break;
                }
                let mut entries = raised.iter_mut();
                for (row, first) in vector.iter().enumerate() {
                    let columns = vector[row..].iter().zip(entries.by_ref());
                    columns.for_each(|(second, entry)| *entry += missing * first * second);
                }
            }
            Cholesky::of(d, &raised, ridge)
        }
    };
    factor.ok_or_else(|| {
        Error::invalid("ridge", ridge, "it is lost in the rounding of the sums; expected more")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against nalgebra, over noise from none to a million times the signal.
    #[test]
    fn the_covariance_is_that_of_the_formula() {
        for (d, noise) in [(1, 0.3), (2, 1e-6), (5, 1.0), (5, 1e6), (12, 40.0)] {
            let rows: Vec<f64> = (0..d * d).map(|i| ((i * i + 3 * i) as f64).sin()).collect();
            let x = nalgebra::DMatrix::from_row_slice(d, d, &rows);
            let a = &x * x.transpose() + nalgebra::DMatrix::identity(d, d) * 0.7;
            let upper: Vec<f64> =
                (0..d).flat_map(|i| (i..d).map(move |j| (i, j))).map(|at| a[at]).collect();
            let factor = Cholesky::of(d, &upper, 0.0).unwrap();
            let whitening = whitening(&factor, noise).unwrap();
            let w = nalgebra::DMatrix::from_fn(d, d, |i, j| {
                if j <= i { whitening[triangle(i) + j] } else { 0.0 }
            });
            let inverse = a.try_inverse().unwrap();
            let expected = &inverse + &inverse * &inverse * noise;
            let error = (w.transpose() * w - &expected).norm() / expected.norm();
            assert!(error < 1e-9, "{d} {noise}: {error}");
        }
    }
}
