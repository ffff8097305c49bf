//! Projection onto a ball in the norm of a matrix, for many matrices at a time, one expert per SIMD lane.
//!
//! ```text
//! argmin_{||z|| <= D} (z - c)^T S (z - c)  =  (S + m I)^-1 S c,   the least m >= 0 that leaves ||z|| <= D
//! ```
//!
//! In the eigenbasis of S that is `z_k = e_k c_k / (e_k + m)`: the norm decreases in m. The root m is found without the basis, by
//! Newton's method on `1/||z(m)|| = 1/D` (More and Sorensen 1983): with `S + m I = L L^T` and `q = L^-1 z`,
//!
//! ```text
//! m <- m + (||z|| / ||q||)^2 (||z|| - D) / D.
//! ```
//!
//! `1/||z(m)||` is concave and increasing, so the iterates increase to the root and never pass it. Each costs one
//! factorisation, and the first one, at m = 0, is needed anyway: it is the step that may leave the ball.

/// Experts worked on together: all rates of Maler's grid up to a horizon of four million.
pub(super) const LANES: usize = 12;

/// One number for each expert.
pub(super) type Row = [f64; LANES];

pub(super) const ZERO: Row = [0.0; LANES];

/// Lengths this close to the radius are scaled to it.
const CLOSE: f64 = 1.0 + 1e-12;
/// The largest number of steps; quadratic convergence usually needs a handful.
const STEPS: usize = 100;

/// Scratch space for one projection.
#[derive(Debug, Clone, Default)]
pub(super) struct Workspace {
    /// `L` by rows, with the inverses of its diagonal in place of the diagonal.
    factor: Vec<Row>,
    solution: Vec<Row>,
    image: Vec<Row>,
    /// `S c` before a projection, the projection of c after it.
    pub(super) target: Vec<Row>,
}

impl Workspace {
    pub(super) fn new(dimension: usize) -> Self {
        Workspace {
            factor: vec![ZERO; dimension * (dimension + 1) / 2],
            solution: vec![ZERO; dimension],
            image: vec![ZERO; dimension],
            target: vec![ZERO; dimension],
        }
    }

    /// Projects the point behind `target`; `matrix` is the lower triangle of S by rows.
    #[inline(always)]
    pub(super) fn project(&mut self, dimension: usize, matrix: &[Row], radius: f64) {
        let factor = &mut self.factor[..dimension * (dimension + 1) / 2];
        let solution = &mut self.solution[..dimension];
        let image = &mut self.image[..dimension];
        let target = &mut self.target[..dimension];
        let mut shift = ZERO;
        let mut length = ZERO;
        for _ in 0..STEPS {
            factorize(dimension, &matrix[..factor.len()], &shift, factor);
            forward(dimension, factor, target, image);
            backward(dimension, factor, image, solution);
            length = norm_squared(solution);
            let mut longest = 0.0_f64;
            for square in &mut length {
                *square = square.sqrt();
                longest = if *square > longest { *square } else { longest };
            }
            if longest <= radius * CLOSE {
                break;
            }
            forward(dimension, factor, solution, image);
            let curvature = norm_squared(image);
            for lane in 0..LANES {
                let excess = (length[lane] - radius) / radius;
                let step = length[lane] * length[lane] / curvature[lane] * excess;
                shift[lane] += if length[lane] > radius * CLOSE { step } else { 0.0 };
            }
        }
        let mut scale = ZERO;
        for lane in 0..LANES {
            scale[lane] = if length[lane] > radius { radius / length[lane] } else { 1.0 };
        }
        for (target, solution) in target.iter_mut().zip(&*solution) {
            for lane in 0..LANES {
                target[lane] = solution[lane] * scale[lane];
            }
        }
    }
}

/// `L L^T = S + shift I`.
#[inline(always)]
fn factorize(dimension: usize, matrix: &[Row], shift: &Row, factor: &mut [Row]) {
    let mut start = 0;
    for i in 0..dimension {
        let mut other = 0;
        for j in 0..i + 1 {
            let mut entry = matrix[start + j];
            for k in 0..j {
                let (left, right) = (factor[start + k], factor[other + k]);
                for lane in 0..LANES {
                    entry[lane] -= left[lane] * right[lane];
                }
            }
            if i == j {
                for lane in 0..LANES {
                    entry[lane] = 1.0 / (entry[lane] + shift[lane]).sqrt();
                }
            } else {
                let inverse = factor[other + j];
                for lane in 0..LANES {
                    entry[lane] *= inverse[lane];
                }
            }
            factor[start + j] = entry;
            other += j + 1;
        }
        start += i + 1;
    }
}

/// `out = L^-1 right`.
#[inline(always)]
fn forward(dimension: usize, factor: &[Row], right: &[Row], out: &mut [Row]) {
    let mut start = 0;
    for i in 0..dimension {
        let mut entry = right[i];
        for j in 0..i {
            let (left, known) = (factor[start + j], out[j]);
            for lane in 0..LANES {
                entry[lane] -= left[lane] * known[lane];
            }
        }
        let inverse = factor[start + i];
        for lane in 0..LANES {
            entry[lane] *= inverse[lane];
        }
        out[i] = entry;
        start += i + 1;
    }
}

/// `out = L^-T right`.
#[inline(always)]
fn backward(dimension: usize, factor: &[Row], right: &[Row], out: &mut [Row]) {
    for i in (0..dimension).rev() {
        let mut entry = right[i];
        for j in i + 1..dimension {
            let (left, known) = (factor[j * (j + 1) / 2 + i], out[j]);
            for lane in 0..LANES {
                entry[lane] -= left[lane] * known[lane];
            }
        }
        let inverse = factor[i * (i + 1) / 2 + i];
        for lane in 0..LANES {
            entry[lane] *= inverse[lane];
        }
        out[i] = entry;
    }
}

#[inline(always)]
fn norm_squared(vector: &[Row]) -> Row {
    let mut sum = ZERO;
    for entry in vector {
        for lane in 0..LANES {
            sum[lane] += entry[lane] * entry[lane];
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use nalgebra::{DMatrix, DVector};

    use super::*;
    use crate::noise::{Noise, SecureNoise};

    fn normals(count: usize, noise: &mut SecureNoise) -> Vec<f64> {
        (0..count).map(|_| noise.standard_normal()).collect()
    }

    /// Lane by lane another matrix (of condition up to 1e6) and another point, some inside the ball and some far out.
    fn problems(d: usize, noise: &mut SecureNoise) -> Vec<(DMatrix<f64>, DVector<f64>)> {
        (0..LANES)
            .map(|lane| {
                let root = DMatrix::from_vec(d, d, normals(d * d, noise));
                let size = 10_f64.powi(lane as i32 % 7);
                let matrix = &root * root.transpose() * size + DMatrix::identity(d, d);
                let point = DVector::from_vec(normals(d, noise)) * 0.4 * (lane % 5) as f64;
                (matrix, point)
            })
            .collect()
    }

    fn project(problems: &[(DMatrix<f64>, DVector<f64>)], radius: f64) -> Vec<DVector<f64>> {
        let d = problems[0].1.len();
        let row = |f: &dyn Fn(usize) -> f64| -> Row { std::array::from_fn(f) };
        let mut matrix = Vec::new();
        for i in 0..d {
            for j in 0..=i {
                matrix.push(row(&|lane| problems[lane].0[(i, j)]));
            }
        }
        let images: Vec<DVector<f64>> = problems.iter().map(|(s, c)| s * c).collect();
        let mut workspace = Workspace::new(d);
        workspace.target = (0..d).map(|i| row(&|lane| images[lane][i])).collect();
        workspace.project(d, &matrix, radius);
        (0..LANES).map(|lane| DVector::from_fn(d, |i, _| workspace.target[i][lane])).collect()
    }

    #[test]
    fn the_projection_satisfies_the_optimality_conditions() {
        let mut noise = SecureNoise::seeded(11);
        let (mut outside, mut euclidean_is_wrong) = (0, 0);
        for d in [1, 2, 3, 5, 8, 20] {
            for _ in 0..20 {
                let problems = problems(d, &mut noise);
                for ((s, c), z) in problems.iter().zip(project(&problems, 1.3)) {
                    if c.norm() <= 1.3 {
                        assert!((&z - c).norm() < 1e-9 * (1.0 + c.norm()));
                        continue;
                    }
                    outside += 1;
                    assert!((z.norm() - 1.3).abs() < 1e-9);
                    // S (c - z) = m z with m >= 0: stationarity, and the multiplier's sign.
                    let force = s * (c - &z);
                    let m = force.dot(&z) / z.norm_squared();
                    assert!(m >= 0.0, "{m}");
                    assert!((&force - &z * m).norm() <= 1e-7 * (force.norm() + s.norm() * 1e-3));
                    // A wrong variant that the check must detect: scaling as if the norm were Euclidean.
                    let wrong = c * (1.3 / c.norm());
                    let force = s * (c - &wrong);
                    let m = force.dot(&wrong) / wrong.norm_squared();
                    let off = (&force - &wrong * m).norm();
                    euclidean_is_wrong +=
                        usize::from(off > 1e-5 * (force.norm() + s.norm() * 1e-3));
                }
            }
        }
        assert!(
            outside > 500 && euclidean_is_wrong > outside / 2,
            "{outside} {euclidean_is_wrong}"
        );
    }

    #[test]
    fn no_point_of_a_fine_grid_is_closer() {
        let mut noise = SecureNoise::seeded(12);
        for _ in 0..5 {
            let problems = problems(2, &mut noise);
            for ((s, c), z) in problems.iter().zip(project(&problems, 1.0)) {
                let distance = |p: &DVector<f64>| ((p - c).transpose() * s * (p - c))[(0, 0)];
                let found = distance(&z);
                for step in 0..4000 {
                    let angle = f64::from(step) * std::f64::consts::TAU / 4000.0;
                    for radius in [0.25, 0.5, 0.75, 1.0] {
                        let p = DVector::from_vec(vec![radius * angle.cos(), radius * angle.sin()]);
                        assert!(found <= distance(&p) * (1.0 + 1e-9) + 1e-9);
                    }
                }
            }
        }
    }

    #[test]
    fn the_eigenbasis_gives_the_same_point() {
        let mut noise = SecureNoise::seeded(13);
        let problems = problems(5, &mut noise);
        for ((s, c), z) in problems.iter().zip(project(&problems, 0.9)) {
            let eigen = s.clone().symmetric_eigen();
            let image = eigen.eigenvectors.transpose() * c;
            let at = |m: f64| {
                DVector::from_fn(5, |k, _| {
                    eigen.eigenvalues[k] * image[k] / (eigen.eigenvalues[k] + m)
                })
            };
            let (mut low, mut high) = (0.0, 1e12);
            for _ in 0..200 {
                let middle = 0.5 * (low + high);
                if at(middle).norm() > 0.9 { low = middle } else { high = middle }
            }
            let m = if c.norm() <= 0.9 { 0.0 } else { high };
            assert!((&eigen.eigenvectors * at(m) - &z).norm() < 1e-8);
        }
    }
}
