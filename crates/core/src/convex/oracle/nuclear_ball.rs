//! The nuclear-norm ball: matrices whose singular values add up to at most R, row by row; low rank at its corners.
//!
//! The oracle's answer to G is `-R u v^T` with the top singular pair of G, from the eigenvectors of the smaller of
//! `G^T G` and `G G^T`. In Frobenius norm the diameter is 2R, and `|X|_* <= sqrt(min(m, n)) |X|_F` gives the inradius.

use super::at_least;
use crate::{
    Error, Result,
    convex::{DecisionSet, Hull, LinearOracle, Shape},
    error::positive,
    linalg::{SymmetricEigen, dot},
};

/// The oracle of a nuclear-norm ball around 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NuclearBall {
    rows: usize,
    columns: usize,
    radius: f64,
}

impl NuclearBall {
    /// Matrices of `rows` x `columns` with nuclear norm at most `radius`.
    pub fn set(rows: usize, columns: usize, radius: f64) -> Result<DecisionSet<Self>> {
        at_least("rows", rows, 1)?;
        at_least("columns", columns, 1)?;
        let radius = positive("radius", radius)?;
        let dimension = rows.checked_mul(columns).filter(|&n| n <= 1 << 12).ok_or_else(|| {
            Error::invalid("rows x columns", format!("{rows} x {columns}"), "give at most 4096")
        })?;
        let inradius = radius / (rows.min(columns) as f64).sqrt();
        let hull = Hull::whole(dimension);
        let shape = Shape::new(vec![0.0; dimension], 2.0 * radius, inradius, hull)?;
        DecisionSet::new(NuclearBall { rows, columns, radius }, shape)
    }

    /// Left and right singular vectors of the largest singular value; `None` for the zero matrix.
    fn top_pair(&self, matrix: &[f64]) -> Option<(Vec<f64>, Vec<f64>)> {
        let peak = matrix.iter().fold(0.0_f64, |peak, x| peak.max(x.abs()));
        if peak == 0.0 {
            return None;
        }
        let tall = self.rows >= self.columns;
        // Lines of the shorter side, scaled so that no square overflows.
        let (count, length) =
            if tall { (self.columns, self.rows) } else { (self.rows, self.columns) };
        let entry = |line: usize, place: usize| {
            let index =
                if tall { place * self.columns + line } else { line * self.columns + place };
            matrix[index] / peak
        };
        let lines: Vec<Vec<f64>> =
            (0..count).map(|line| (0..length).map(|place| entry(line, place)).collect()).collect();
        let mut gram = Vec::with_capacity(count * (count + 1) / 2);
        for i in 0..count {
            gram.extend((i..count).map(|j| dot(&lines[i], &lines[j])));
        }
        let short = SymmetricEigen::of(count, &gram).ok()?.vectors()[count - 1].clone();
        let mut long = vec![0.0; length];
        for (weight, line) in short.iter().zip(&lines) {
            long.iter_mut().zip(line).for_each(|(sum, x)| *sum += weight * x);
        }
        let norm = dot(&long, &long).sqrt();
        long.iter_mut().for_each(|x| *x /= norm);
        Some(if tall { (long, short) } else { (short, long) })
    }
}

impl LinearOracle for NuclearBall {
    fn minimize(&self, direction: &[f64], vertex: &mut [f64]) {
        let Some((left, right)) = self.top_pair(direction) else {
            vertex.fill(0.0);
            vertex[0] = self.radius;
            return;
        };
        for (row, u) in vertex.chunks_exact_mut(self.columns).zip(&left) {
            row.iter_mut().zip(&right).for_each(|(x, v)| *x = -self.radius * u * v);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{noise::Noise, release::testing::Seeded};

    #[test]
    fn the_oracle_attains_the_spectral_norm_of_nalgebra() {
        let mut noise = Seeded(11);
        for (rows, columns) in [(1, 1), (3, 3), (2, 5), (6, 4), (1, 4)] {
            let set = NuclearBall::set(rows, columns, 1.7).unwrap();
            let mut vertex = vec![0.0; rows * columns];
            for _ in 0..20 {
                let g: Vec<f64> = (0..rows * columns).map(|_| noise.standard_normal()).collect();
                set.oracle().minimize(&g, &mut vertex);
                let svd = |m: &[f64]| {
                    nalgebra::DMatrix::from_row_slice(rows, columns, m)
                        .svd(false, false)
                        .singular_values
                };
                let spectral = svd(&g).max();
                assert!((dot(&g, &vertex) + 1.7 * spectral).abs() < 1e-9 * spectral);
                assert!((svd(&vertex).sum() - 1.7).abs() < 1e-9, "on the sphere");
            }
            set.oracle().minimize(&vec![0.0; rows * columns], &mut vertex);
            assert!((dot(&vertex, &vertex).sqrt() - 1.7).abs() < 1e-12);
        }
    }

    #[test]
    fn the_shape_is_attained() {
        let set = NuclearBall::set(3, 4, 2.0).unwrap();
        let nuclear = |m: &[f64]| {
            nalgebra::DMatrix::from_row_slice(3, 4, m).svd(false, false).singular_values.sum()
        };
        // The flattest matrix of Frobenius norm r lies on the ball's surface: no larger ball fits.
        let (r, mut flat) = (set.shape().inradius(), vec![0.0; 12]);
        [0, 5, 10].iter().for_each(|&i| flat[i] = r / 3f64.sqrt());
        assert!((nuclear(&flat) - 2.0).abs() < 1e-12);
        let mut noise = Seeded(12);
        let mut u = vec![0.0; 12];
        for _ in 0..200 {
            set.shape().hull().sample(&mut u, &mut noise);
            let inside: Vec<f64> = u.iter().map(|x| x * r).collect();
            assert!(nuclear(&inside) <= 2.0 + 1e-12);
        }
        assert_eq!(set.shape().diameter(), 4.0);
        assert!(NuclearBall::set(0, 2, 1.0).is_err() && NuclearBall::set(2, 2, 0.0).is_err());
    }
}
