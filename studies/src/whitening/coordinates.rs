//! Symmetric maps of features and what they do to sums: small dense matrices.

use reticent::linalg::SymmetricEigen;

use super::super::click_environment::dot;

pub(super) type Matrix = Vec<Vec<f64>>;

/// M and its inverse; both are symmetric.
#[derive(Debug, Clone)]
pub(super) struct Coordinates {
    pub(super) forward: Matrix,
    pub(super) backward: Matrix,
}

impl Coordinates {
    /// Every feature divided by its size.
    pub(super) fn of_sizes(sizes: impl Iterator<Item = f64> + Clone) -> Self {
        Coordinates { forward: diagonal(sizes.clone().map(f64::recip)), backward: diagonal(sizes) }
    }
}

fn diagonal(entries: impl Iterator<Item = f64> + Clone) -> Matrix {
    let dimension = entries.clone().count();
    let row = |(i, entry): (usize, f64)| {
        let mut row = vec![0.0; dimension];
        row[i] = entry;
        row
    };
    entries.enumerate().map(row).collect()
}

pub(super) fn times(one: &Matrix, two: &Matrix) -> Matrix {
    let entry = |row: &[f64], j: usize| row.iter().zip(two).map(|(a, row)| a * row[j]).sum();
    one.iter().map(|row| (0..two[0].len()).map(|j| entry(row, j)).collect()).collect()
}

pub(super) fn apply(matrix: &Matrix, x: &[f64]) -> Vec<f64> {
    matrix.iter().map(|row| dot(row, x)).collect()
}

/// `R A R^T` of an upper triangle by rows.
pub(super) fn congruent(by: &Matrix, upper: &[f64]) -> Vec<f64> {
    let dimension = by.len();
    let place = |i: usize, j: usize| i * dimension - i * i.saturating_sub(1) / 2 + j - i;
    let entry = |i: usize, j: usize| upper[place(i.min(j), i.max(j))];
    let full = (0..dimension).map(|i| (0..dimension).map(|j| entry(i, j)).collect()).collect();
    let product = times(by, &full);
    (0..dimension)
        .flat_map(|i| (i..dimension).map(move |j| (i, j)))
        .map(|(i, j)| dot(&product[i], &by[j]))
        .collect()
}

/// `f(A)` of a symmetric matrix, by its eigenvalues.
pub(super) fn function(eigen: &SymmetricEigen, f: impl Fn(f64) -> f64) -> Matrix {
    let dimension = eigen.values().len();
    let mut result = vec![vec![0.0; dimension]; dimension];
    for (value, vector) in eigen.values().iter().zip(eigen.vectors()) {
        let value = f(*value);
        for (row, one) in result.iter_mut().zip(vector) {
            row.iter_mut().zip(vector).for_each(|(entry, two)| *entry += value * one * two);
        }
    }
    result
}
