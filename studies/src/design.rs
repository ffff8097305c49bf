//! G-optimal designs: which arms to play, and how often, so that the mean of no arm is known badly.
//!
//! ```text
//! minimise over weights pi:   max_x x^T V(pi)^-1 x,     V(pi) = sum_a pi_a a a^T
//! ```
//!
//! By Kiefer and Wolfowitz (1960) the minimum is the rank r of the arms, and the same weights maximise `ln det V`: Wynn's algorithm (1970) puts more
//! weight on the arm whose mean is known worst, with Fedorov's exact step. It starts from r arms chosen by Gram-Schmidt with pivots and stops at
//! `1.05 r`. Arms with less than a hundredth of an equal share are dropped. Coordinates are those of the Gram-Schmidt basis, so that arms
//! need not span the whole space.

/// Iteration stops when no mean is known worse than this multiple of the optimum.
const ENOUGH: f64 = 1.05;
const MOST_STEPS: usize = 400;
/// Parts of an arm that are shorter than this share of the longest arm are rounding errors.
const ROUNDING: f64 = 1e-9;

/// Arms with their weights, which add up to 1; `arms` are the features of the candidates.
pub(super) fn g_optimal(arms: &[&[f64]]) -> Vec<(usize, f64)> {
    let (points, pivots) = coordinates(arms);
    let rank = pivots.len();
    if rank == 0 {
        return vec![(0, 1.0)];
    }
    let mut weights = vec![0.0; arms.len()];
    pivots.iter().for_each(|&pivot| weights[pivot] = 1.0 / rank as f64);
    let mut inverse = inverse_of(&points, &weights, rank);
    for _ in 0..MOST_STEPS {
        let (worst, variance) = points
            .iter()
            .map(|x| quadratic(&inverse, x, x))
            .enumerate()
            .fold((0, 0.0), |best, next| if next.1 > best.1 { next } else { best });
        if variance <= ENOUGH * rank as f64 {
            break;
        }
        let step = (variance / rank as f64 - 1.0) / (variance - 1.0);
        weights.iter_mut().for_each(|weight| *weight *= 1.0 - step);
        weights[worst] += step;
        inverse = inverse_of(&points, &weights, rank);
    }
    let least = 0.01 / rank as f64;
    let mut kept: Vec<(usize, f64)> =
        weights.into_iter().enumerate().filter(|(_, weight)| *weight > least).collect();
    let total: f64 = kept.iter().map(|(_, weight)| weight).sum();
    kept.iter_mut().for_each(|(_, weight)| *weight /= total);
    kept
}

fn dot(one: &[f64], two: &[f64]) -> f64 {
    one.iter().zip(two).map(|(a, b)| a * b).sum()
}

/// The arms in an orthonormal basis of their span, and the arms that made the basis.
fn coordinates(arms: &[&[f64]]) -> (Vec<Vec<f64>>, Vec<usize>) {
    let mut rests: Vec<Vec<f64>> = arms.iter().map(|arm| arm.to_vec()).collect();
    let longest = rests.iter().map(|rest| dot(rest, rest)).fold(0.0, f64::max).sqrt();
    let (mut points, mut pivots) = (vec![Vec::new(); arms.len()], Vec::new());
    for _ in 0..arms.first().map_or(0, |arm| arm.len()) {
        let squares = rests.iter().map(|rest| dot(rest, rest)).enumerate();
        let (pivot, square) =
            squares.fold((0, 0.0), |best, next| if next.1 > best.1 { next } else { best });
        if square.sqrt() <= ROUNDING * longest {
            break;
        }
        let axis: Vec<f64> = rests[pivot].iter().map(|x| x / square.sqrt()).collect();
        for (rest, point) in rests.iter_mut().zip(&mut points) {
            let along = dot(rest, &axis);
            rest.iter_mut().zip(&axis).for_each(|(x, a)| *x -= along * a);
            point.push(along);
        }
        pivots.push(pivot);
    }
    (points, pivots)
}

/// `V(pi)^-1`, row by row, by Gauss-Jordan elimination of a positive definite matrix.
fn inverse_of(points: &[Vec<f64>], weights: &[f64], rank: usize) -> Vec<f64> {
    let mut matrix = vec![0.0; rank * rank];
    for (point, weight) in points.iter().zip(weights).filter(|(_, weight)| **weight > 0.0) {
        for i in 0..rank {
            for j in 0..rank {
                matrix[i * rank + j] += weight * point[i] * point[j];
            }
        }
    }
    let mut inverse: Vec<f64> =
        (0..rank * rank).map(|k| f64::from(u8::from(k % (rank + 1) == 0))).collect();
    for i in 0..rank {
        let pivot = matrix[i * rank + i];
        for j in 0..rank {
            matrix[i * rank + j] /= pivot;
            inverse[i * rank + j] /= pivot;
        }
        for k in (0..rank).filter(|k| *k != i) {
            let factor = matrix[k * rank + i];
            for j in 0..rank {
                matrix[k * rank + j] -= factor * matrix[i * rank + j];
                inverse[k * rank + j] -= factor * inverse[i * rank + j];
            }
        }
    }
    inverse
}

fn quadratic(matrix: &[f64], one: &[f64], two: &[f64]) -> f64 {
    one.iter().zip(matrix.chunks(two.len())).map(|(x, row)| x * dot(row, two)).sum()
}

#[cfg(test)]
mod tests {
    use reticent::noise::Noise;

    use super::*;
    use reticent_lab::FastNoise;

    fn worst_variance(arms: &[&[f64]], design: &[(usize, f64)]) -> f64 {
        let (points, pivots) = coordinates(arms);
        let mut weights = vec![0.0; arms.len()];
        design.iter().for_each(|&(arm, weight)| weights[arm] = weight);
        let inverse = inverse_of(&points, &weights, pivots.len());
        points.iter().map(|x| quadratic(&inverse, x, x)).fold(0.0, f64::max)
    }

    #[test]
    fn no_mean_is_known_worse_than_the_theorem_of_kiefer_and_wolfowitz_allows() {
        let mut noise = FastNoise::seeded(5);
        for (dimension, count) in [(2, 30), (5, 10), (5, 1000), (8, 200)] {
            let rows: Vec<Vec<f64>> = (0..count)
                .map(|_| (0..dimension).map(|_| noise.standard_normal()).collect())
                .collect();
            let arms: Vec<&[f64]> = rows.iter().map(Vec::as_slice).collect();
            let design = g_optimal(&arms);
            let total: f64 = design.iter().map(|(_, weight)| weight).sum();
            assert!((total - 1.0).abs() < 1e-12);
            // Dropping small weights costs a little more.
            let worst = worst_variance(&arms, &design);
            assert!(worst < 1.15 * dimension as f64, "{dimension} {count}: {worst}");
            assert!(design.len() <= dimension * (dimension + 1), "{}", design.len());
            // Planted: equal weights on the first arms are no such design.
            let share = 1.0 / dimension as f64;
            let first: Vec<_> = (0..dimension).map(|arm| (arm, share)).collect();
            assert!(worst_variance(&arms, &first) > 1.5 * dimension as f64);
        }
    }

    #[test]
    fn arms_that_do_not_span_the_space_have_a_design_of_their_own() {
        let rows = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.6, 0.8, 0.0]];
        let arms: Vec<&[f64]> = rows.iter().map(|row| row.as_slice()).collect();
        assert!(worst_variance(&arms, &g_optimal(&arms)) < 2.11);
        assert_eq!(g_optimal(&arms[..1]), [(0, 1.0)]);
        assert_eq!(g_optimal(&[&[0.0, 0.0]]), [(0, 1.0)]);
    }
}
