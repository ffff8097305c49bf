//! Birkhoff's polytope: doubly stochastic k x k matrices, row by row; its vertices are the permutations.
//!
//! The oracle solves the assignment problem by shortest augmenting paths (Jonker and Volgenant 1987), O(k^3). The
//! facets are `x_ij = 0`, `(1/k) / |P e_ij| = 1 / (k - 1)` from the centre, with P the centring of rows and columns.

use super::at_least;
use crate::{
    Result,
    convex::{DecisionSet, Hull, LinearOracle, Shape},
};

/// The oracle of the doubly stochastic matrices.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Birkhoff {
    size: usize,
}

impl Birkhoff {
    /// Assignments of `size` things to as many places, 2 or more.
    pub fn set(size: usize) -> Result<DecisionSet<Self>> {
        let k = at_least("size", size, 2)? as f64;
        let indicator = |inside: &dyn Fn(usize) -> bool| -> Vec<f64> {
            (0..size * size).map(|cell| f64::from(u8::from(inside(cell)))).collect()
        };
        let mut rows: Vec<Vec<f64>> =
            (0..size).map(|i| indicator(&|cell| cell / size == i)).collect();
        rows.extend((0..size).map(|j| indicator(&|cell| cell % size == j)));
        let hull = Hull::orthogonal_to(size * size, &rows)?;
        let centre = vec![1.0 / k; size * size];
        let shape = Shape::new(centre, (2.0 * k).sqrt(), 1.0 / (k - 1.0), hull)?;
        DecisionSet::new(Birkhoff { size }, shape)
    }
}

impl LinearOracle for Birkhoff {
    fn minimize(&self, direction: &[f64], vertex: &mut [f64]) {
        vertex.fill(0.0);
        for (row, column) in assignment(self.size, direction).into_iter().enumerate() {
            vertex[row * self.size + column] = 1.0;
        }
    }
}

/// The column of each row in a cheapest assignment.
fn assignment(size: usize, costs: &[f64]) -> Vec<usize> {
    // Column `size` is a dummy that holds the row being placed.
    let mut row_of = vec![usize::MAX; size + 1];
    let (mut row_price, mut column_price) = (vec![0.0; size], vec![0.0; size + 1]);
    for row in 0..size {
        row_of[size] = row;
        let mut column = size;
        let mut least = vec![f64::INFINITY; size];
        let mut before = vec![size; size];
        let mut reached = vec![false; size + 1];
        // Dijkstra over columns on reduced costs, until a free one is reached.
        while row_of[column] != usize::MAX {
            reached[column] = true;
            let current = row_of[column];
            let (mut next, mut step) = (size, f64::INFINITY);
            for candidate in 0..size {
                if reached[candidate] {
                    continue;
                }
                let reduced = costs[current * size + candidate]
                    - row_price[current]
                    - column_price[candidate];
                if reduced < least[candidate] {
                    least[candidate] = reduced;
                    before[candidate] = column;
                }
                // The first unreached column is taken even if all costs overflowed.
                if next == size || least[candidate] < step {
                    (next, step) = (candidate, least[candidate]);
                }
            }
            for other in 0..=size {
                if reached[other] {
                    row_price[row_of[other]] += step;
                    column_price[other] -= step;
                } else if other < size {
                    least[other] -= step;
                }
            }
            column = next;
        }
        while column != size {
            let from = before[column];
            row_of[column] = row_of[from];
            column = from;
        }
    }
    let mut columns = vec![0; size];
    for (column, &row) in row_of[..size].iter().enumerate() {
        columns[row] = column;
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::convex::oracle::testing::{check_exact, check_oracle, permutations};

    fn matrices(size: usize) -> Vec<Vec<f64>> {
        let matrix = |columns: Vec<usize>| {
            let mut matrix = vec![0.0; size * size];
            columns.iter().enumerate().for_each(|(row, column)| matrix[row * size + column] = 1.0);
            matrix
        };
        permutations(size).into_iter().map(matrix).collect()
    }

    #[test]
    fn oracle_and_shape_agree_with_all_permutations() {
        check_exact(&Birkhoff::set(2).unwrap(), &matrices(2));
        check_exact(&Birkhoff::set(3).unwrap(), &matrices(3));
        check_oracle(&Birkhoff::set(5).unwrap(), &matrices(5));
        assert_eq!(Birkhoff::set(5).unwrap().shape().hull().dimension(), 16);
        assert!(Birkhoff::set(1).is_err());
    }
}
