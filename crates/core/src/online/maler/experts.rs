//! The experts of Maler: Algorithms 6 to 8, all rates of the grid at a time.
//!
//! With `a = <g_t, theta - theta_t>` at an expert's own point theta,
//!
//! | expert | surrogate loss | step |
//! | --- | --- | --- |
//! | convex | `eta_c a + (2 eta_c G D)^2` | `Pi(theta - (2D / (G sqrt t)) g)` |
//! | strongly convex | `eta a + eta^2 G^2 \|\|theta - theta_t\|\|^2` | `Pi(theta - grad / (2 eta^2 G^2 t))` |
//! | exp-concave | `eta a + eta^2 a^2` | `Pi^S(theta - S^-1 grad / alpha)`, `S += grad grad^T` |
//!
//! Every gradient of an exp-concave surrogate is a multiple of `g_t`: `grad = (eta + 2 eta^2 a) g_t`.

use serde::{Deserialize, Serialize};

use super::projection::{LANES, Row, Workspace, ZERO};
use crate::special::square;

/// Algorithm 7's alpha: `1/2 min(1/(8 G^l D), 1)` where `G^l = 7/(50 D)` bounds the surrogates' gradients.
const EXP_CONCAVITY: f64 = 0.5 * 50.0 / 56.0;

/// The logarithm of the weight of an expert that does not exist.
pub(super) const ABSENT: f64 = -1e300;

/// The input of a round, the same for every expert.
#[derive(Clone, Copy)]
pub(super) struct Round<'a> {
    /// g_t, not longer than G.
    pub(super) gradient: &'a [f64],
    /// theta_t.
    pub(super) prediction: &'a [f64],
    /// t, from 1.
    pub(super) number: f64,
    /// G.
    pub(super) gradient_bound: f64,
    /// D.
    pub(super) radius: f64,
}

/// The points of the experts and their weights.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Family {
    /// ln of the weights, up to a common summand.
    pub(super) log_weights: Row,
    /// Coordinate by coordinate.
    pub(super) points: Vec<Row>,
    /// Scratch space for the weights times the rates.
    #[serde(skip)]
    pub(super) weights: Row,
}

/// The experts of up to [`LANES`] rates, of both curved families.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Tile {
    /// eta; 0 where there is no expert.
    pub(super) rates: Row,
    pub(super) strongly_convex: Family,
    pub(super) exp_concave: Family,
    /// S, lower triangle by rows; empty without exp-concave experts.
    pub(super) matrices: Vec<Row>,
}

impl Tile {
    /// Experts with these rates and prior weights at zero.
    pub(super) fn new(
        dimension: usize,
        radius: f64,
        grid: &[(f64, f64)],
        families: [bool; 2],
    ) -> Self {
        let (mut rates, mut log_weights) = (ZERO, [ABSENT; LANES]);
        for (lane, &(rate, prior)) in grid.iter().enumerate() {
            (rates[lane], log_weights[lane]) = (rate, libm::log(prior));
        }
        let family = |exists: bool| Family {
            log_weights: if exists { log_weights } else { [ABSENT; LANES] },
            points: vec![ZERO; dimension],
            weights: ZERO,
        };
        let [strongly_convex, exp_concave] = families;
        let mut matrices = Vec::new();
        if exp_concave {
            matrices = vec![ZERO; dimension * (dimension + 1) / 2];
            for i in 0..dimension {
                // Sigma_1 = I / (alpha 2D)^2.
                matrices[i * (i + 1) / 2 + i] = [1.0 / square(2.0 * EXP_CONCAVITY * radius); LANES];
            }
        }
        Tile {
            rates,
            strongly_convex: family(strongly_convex),
            exp_concave: family(exp_concave),
            matrices,
        }
    }

    /// Algorithm 8.
    #[inline(always)]
    pub(super) fn step_strongly_convex(&mut self, dimension: usize, round: Round<'_>) {
        let points = &mut self.strongly_convex.points[..dimension];
        let along = along(points, round);
        let mut distance = ZERO;
        for (point, center) in points.iter().zip(round.prediction) {
            for lane in 0..LANES {
                distance[lane] += (point[lane] - center) * (point[lane] - center);
            }
        }
        let bound = round.gradient_bound;
        // grad / (2 eta^2 G^2 t) = g / (2 eta G^2 t) + (theta - theta_t) / t.
        let (mut step, inverse) = (ZERO, 1.0 / round.number);
        for lane in 0..LANES {
            let rate = self.rates[lane];
            let loss = rate * along[lane] + rate * rate * bound * bound * distance[lane];
            self.strongly_convex.log_weights[lane] -= loss;
            step[lane] = if rate > 0.0 { 0.5 * inverse / (rate * bound * bound) } else { 0.0 };
        }
        let mut square = ZERO;
        for ((point, center), slope) in points.iter_mut().zip(round.prediction).zip(round.gradient)
        {
            for lane in 0..LANES {
                point[lane] -= step[lane] * slope + inverse * (point[lane] - center);
                square[lane] += point[lane] * point[lane];
            }
        }
        let mut scale = ZERO;
        for lane in 0..LANES {
            let length = square[lane].sqrt();
            scale[lane] = if length > round.radius { round.radius / length } else { 1.0 };
        }
        for point in points {
            for lane in 0..LANES {
                point[lane] *= scale[lane];
            }
        }
    }

    /// Algorithm 7.
    #[inline(always)]
    pub(super) fn step_exp_concave(
        &mut self,
        dimension: usize,
        round: Round<'_>,
        workspace: &mut Workspace,
    ) {
        let points = &mut self.exp_concave.points[..dimension];
        let matrices = &mut self.matrices[..dimension * (dimension + 1) / 2];
        let gradient = &round.gradient[..dimension];
        let along = along(points, round);
        let (mut slope, mut curvature) = (ZERO, ZERO);
        for lane in 0..LANES {
            let rate = self.rates[lane];
            let loss = rate * along[lane];
            self.exp_concave.log_weights[lane] -= loss + loss * loss;
            slope[lane] = rate + 2.0 * rate * loss;
            curvature[lane] = slope[lane] * slope[lane];
            slope[lane] /= EXP_CONCAVITY;
        }
        // S theta - grad / alpha, which is S times the point to be projected.
        let image = &mut workspace.target[..dimension];
        image.fill(ZERO);
        let mut start = 0;
        for i in 0..dimension {
            for j in 0..i + 1 {
                let product = gradient[i] * gradient[j];
                let entry = &mut matrices[start + j];
                for lane in 0..LANES {
                    entry[lane] += curvature[lane] * product;
                    image[i][lane] += entry[lane] * points[j][lane];
                }
                if j < i {
                    for lane in 0..LANES {
                        image[j][lane] += entry[lane] * points[i][lane];
                    }
                }
            }
            start += i + 1;
        }
        for (image, gradient) in image.iter_mut().zip(gradient) {
            for lane in 0..LANES {
                image[lane] -= slope[lane] * gradient;
            }
        }
        workspace.project(dimension, matrices, round.radius);
        points.copy_from_slice(&workspace.target[..dimension]);
    }
}

/// `<g_t, theta - theta_t>` of every expert.
#[inline(always)]
fn along(points: &[Row], round: Round<'_>) -> Row {
    let mut sum = ZERO;
    for ((point, center), slope) in points.iter().zip(round.prediction).zip(round.gradient) {
        for lane in 0..LANES {
            sum[lane] += slope * (point[lane] - center);
        }
    }
    sum
}
