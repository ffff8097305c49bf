//! Small dense linear algebra, for the bandits.
//!
//! | file | contents |
//! | --- | --- |
//! | `cholesky` | `V = L L^T` of a small matrix: solves, determinant, `L^-1`, and `V + x x^T` |
//! | `eigen` | eigenvalues and vectors of a small symmetric matrix |
//! | `least_squares`, `ridge` | ridge regression updated after each observation through `W = L^-1`, and its sums |
//! | `structure` | which parameters an arm touches: blocks, and what all share |
//! | `arrow` | positive definite matrices of blocks that meet only in a shared part |
//! | `hybrid` | ridge regression with a block of parameters an arm and a shared part, updated after each observation |
//! | `lanes` | `<theta, x>`, `||W x||` and `||W^T W x||` of sixteen vectors at a time, the same bits on every machine |
//! | `blockwise` | the same for vectors that belong to different blocks of parameters |
//!
//! Symmetric matrices are given as an upper triangle row by row, as in a release; lower triangular ones row by
//! row. No inverse of a positive definite matrix is formed anywhere.

pub(crate) mod arrow;
pub(crate) mod blockwise;
mod cholesky;
mod eigen;
pub(crate) mod hybrid;
pub(crate) mod lanes;
mod least_squares;
pub(crate) mod ridge;
mod structure;

pub use cholesky::Cholesky;
pub use eigen::SymmetricEigen;
pub(crate) use structure::Layout;
pub use structure::Structure;

/// Refuses matrices without rows, and with too many rows for memory.
pub(crate) fn check_dimension(dimension: usize) -> crate::Result<()> {
    const MOST: usize = 8192;
    let remedy = format_args!("expected 1 to {MOST}: a matrix of that many rows is kept");
    crate::refuse_if(!(1..=MOST).contains(&dimension), "dimension", dimension, remedy)
}

/// Entries of a triangle with its diagonal.
pub(crate) const fn triangle(dimension: usize) -> usize {
    dimension * (dimension + 1) / 2
}

/// Inner product in eight interleaved sums: so that the result does not depend on the width of the machine's vectors.
#[inline(always)]
pub(crate) fn dot(left: &[f64], right: &[f64]) -> f64 {
    let (left_blocks, left_rest) = left.as_chunks::<8>();
    let (right_blocks, right_rest) = right.as_chunks::<8>();
    let mut sum: f64 = left_rest.iter().zip(right_rest).map(|(a, b)| a * b).sum();
    if !left_blocks.is_empty() {
        let mut sums = [0.0; 8];
        for (a, b) in left_blocks.iter().zip(right_blocks) {
            for lane in 0..8 {
                sums[lane] += a[lane] * b[lane];
            }
        }
        let [a, b, c, d, e, f, g, h] = sums;
        sum += ((a + e) + (b + f)) + ((c + g) + (d + h));
    }
    sum
}
