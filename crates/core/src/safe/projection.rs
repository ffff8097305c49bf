//! The nearest point of a polytope, by Lawson and Hanson's least distance programming.
//!
//! ```text
//! min ||x - v||  subject to  A x <= b
//! ```
//!
//! With `E` the matrix whose columns are `(-a_i, a_i v - b_i)` and `f = (0, ..., 0, 1)`, let `z >= 0` make `||E z - f||` least
//! and `r = E z - f`. Then `x = v - r_{1..n} / r_{n+1}` (Solving Least Squares Problems, 1974, chapter 23).

use crate::geometry::Polytope;

/// The point of `polytope` nearest to `v`, or `None` if there is none.
pub(super) fn nearest(polytope: &Polytope, v: &[f64]) -> Option<Vec<f64>> {
    let n = v.len();
    let columns: Vec<Vec<f64>> = polytope
        .rows()
        .iter()
        .zip(polytope.bounds())
        .map(|(row, bound)| {
            let size = row.iter().map(|a| a * a).sum::<f64>().sqrt().max(1e-300);
            let reach: f64 = row.iter().zip(v).map(|(a, v)| a * v).sum();
            row.iter().map(|a| -a / size).chain([(reach - bound) / size]).collect()
        })
        .collect();
    let residual = least_squares_residual(&columns, n + 1);
    if residual[n] > -1e-14 {
        return None;
    }
    Some((0..n).map(|j| v[j] - residual[j] / residual[n]).collect())
}

/// `E z - f` for the `z >= 0` that makes it shortest (Lawson and Hanson, chapter 23, algorithm NNLS), `f` the last unit vector.
fn least_squares_residual(columns: &[Vec<f64>], rows: usize) -> Vec<f64> {
    let mut weights = vec![0.0; columns.len()];
    let mut active: Vec<usize> = Vec::new();
    let mut residual = vec![0.0; rows];
    residual[rows - 1] = -1.0;
    for _ in 0..10 * (columns.len() + rows) {
        // The column along which the residual shortens fastest.
        let gain = |j: usize| -columns[j].iter().zip(&residual).map(|(e, r)| e * r).sum::<f64>();
        let entering = (0..columns.len())
            .filter(|j| !active.contains(j))
            .map(|j| (j, gain(j)))
            .max_by(|a, b| a.1.total_cmp(&b.1));
        match entering {
            Some((j, gain)) if gain > 1e-13 => active.push(j),
            _ => break,
        }
        loop {
            let solution = solve_active(columns, &active, rows);
            let blocking = active
                .iter()
                .zip(&solution)
                .filter(|(_, s)| **s <= 0.0)
                .map(|(&j, s)| weights[j] / (weights[j] - s))
                .fold(f64::INFINITY, f64::min);
            if blocking == f64::INFINITY {
                for (&j, s) in active.iter().zip(&solution) {
                    weights[j] = *s;
                }
                break;
            }
            for (&j, s) in active.iter().zip(&solution) {
                weights[j] += blocking * (s - weights[j]);
            }
            active.retain(|&j| {
                let keep = weights[j] > 1e-15;
                if !keep {
                    weights[j] = 0.0;
                }
                keep
            });
            if active.is_empty() {
                break;
            }
        }
        residual.fill(0.0);
        residual[rows - 1] = -1.0;
        for (column, weight) in columns.iter().zip(&weights) {
            residual.iter_mut().zip(column).for_each(|(r, e)| *r += weight * e);
        }
    }
    residual
}

/// Least squares on the active columns by Householder's method.
fn solve_active(columns: &[Vec<f64>], active: &[usize], rows: usize) -> Vec<f64> {
    let mut matrix: Vec<Vec<f64>> = active.iter().map(|&j| columns[j].clone()).collect();
    let mut target = vec![0.0; rows];
    target[rows - 1] = 1.0;
    let count = matrix.len().min(rows);
    for k in 0..count {
        let norm = matrix[k][k..].iter().map(|e| e * e).sum::<f64>().sqrt();
        if norm < 1e-14 {
            matrix[k][k] = 0.0;
            continue;
        }
        let mut reflector = matrix[k][k..].to_vec();
        reflector[0] += norm.copysign(reflector[0]);
        let square: f64 = reflector.iter().map(|r| r * r).sum();
        let reflect = |vector: &mut [f64]| {
            let dot: f64 = reflector.iter().zip(vector.iter()).map(|(r, e)| r * e).sum();
            vector.iter_mut().zip(&reflector).for_each(|(e, r)| *e -= 2.0 * dot / square * r);
        };
        matrix[k..].iter_mut().for_each(|column| reflect(&mut column[k..]));
        reflect(&mut target[k..]);
    }
    let mut solution = vec![0.0; matrix.len()];
    for k in (0..count).rev() {
        let rest: f64 = (k + 1..count).map(|j| matrix[j][k] * solution[j]).sum();
        // A dependent column takes no part.
        if matrix[k][k].abs() > 1e-14 {
            solution[k] = (target[k] - rest) / matrix[k][k];
        }
    }
    solution
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{noise::Noise, release::testing::Seeded};

    #[test]
    fn the_nearest_point_satisfies_the_variational_inequality() {
        let mut noise = Seeded(6);
        for _ in 0..200 {
            let n = 1 + noise.below(4) as usize;
            let mut rows = Vec::new();
            let mut bounds = Vec::new();
            for m in 0..n {
                for sign in [1.0, -1.0] {
                    let mut row = vec![0.0; n];
                    row[m] = sign;
                    rows.push(row);
                    bounds.push(0.2 + noise.uniform());
                }
            }
            for _ in 0..4 {
                rows.push((0..n).map(|_| 2.0 * noise.uniform() - 1.0).collect());
                bounds.push(0.1 + noise.uniform());
            }
            let polytope = Polytope::new(&rows, &bounds).unwrap();
            let v: Vec<f64> = (0..n).map(|_| 6.0 * noise.uniform() - 3.0).collect();
            let x = nearest(&polytope, &v).unwrap();
            assert!(polytope.excess(&x) < 1e-10, "{}", polytope.excess(&x));
            // <v - x, y - x> <= 0 for every vertex y: x is the projection and nothing else is.
            for y in polytope.vertices().unwrap() {
                let inner: f64 = (0..n).map(|j| (v[j] - x[j]) * (y[j] - x[j])).sum();
                assert!(inner < 1e-9, "{inner}");
            }
        }
    }
}
