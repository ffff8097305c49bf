//! Mirror descent on a ball, with the step size that adapts to the gradients: the direction learner of Algorithm 2.
//!
//! ```text
//! ball:  z <- project(z - radius step g / sqrt(sum ||g_s||_2^2))       onto ||z||_2 <= radius
//! box:   z_j <- clip(z_j - radius step g_j / sqrt(sum g_{s,j}^2))      to |z_j| <= radius, each coordinate by itself
//! ```
//!
//! Orabona and Pal, "Scale-Free Online Learning" (2018): regret `O(radius sqrt(sum ||g||^2))` on the ball, whatever the
//! scale of the gradients. The box is AdaGrad (Duchi, Hazan and Singer 2011) with a bound on every coordinate.
//! With a radius other than 1 the two are baselines that need a bound on the competitor.
//!
//! **Step.** The standard bound is `(2/step + step) radius sqrt(sum ||g||^2)`: `2 sqrt(2)` at `step = sqrt 2`, 3 at the paper's 1.
//!
//! A sparse gradient touches only its own coordinates: on the ball a projection only changes one number, `scale`, and the norm is updated
//! by increments; it is recomputed after as many coordinate updates as there are coordinates.

use serde::{Deserialize, Serialize};

use crate::{
    randomize::Gradient,
    special::{euclidean_norm, square},
};

/// The set in which directions live, and with it the norm in which gradients are bounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Geometry {
    /// `||z||_2 <= 1`; gradients are bounded in the Euclidean norm.
    #[default]
    Ball,
    /// `|z_j| <= 1` for every j; gradients are bounded in the l1 norm.
    Box,
}

impl Geometry {
    /// The dual norm of the set, in which gradients are bounded.
    pub fn dual_norm(&self, gradient: Gradient<'_>) -> f64 {
        match self {
            // Scaled, so that the squares of a large gradient do not overflow.
            Geometry::Ball => {
                let most = gradient.largest();
                if most == 0.0 {
                    return 0.0;
                }
                let squares: f64 = gradient.entries().map(|(_, g)| square(g / most)).sum();
                most * squares.sqrt()
            }
            Geometry::Box => gradient.l1_norm(),
        }
    }
}

/// Adaptive mirror descent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct MirrorDescent {
    radius: f64,
    step: f64,
    state: State,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum State {
    Ball {
        /// `z = scale * point`.
        point: Vec<f64>,
        scale: f64,
        /// `||z||^2`, updated by increments.
        squared_norm: f64,
        /// `sum ||g||^2`.
        squares: f64,
        /// Coordinate updates since the norm was recomputed.
        touched: usize,
    },
    Box {
        point: Vec<f64>,
        squares: Vec<f64>,
    },
}

impl MirrorDescent {
    pub(super) fn new(geometry: Geometry, dimension: usize, radius: f64, step: f64) -> Self {
        let point = vec![0.0; dimension];
        let state = match geometry {
            Geometry::Ball => {
                State::Ball { point, scale: 1.0, squared_norm: 0.0, squares: 0.0, touched: 0 }
            }
            Geometry::Box => State::Box { point, squares: vec![0.0; dimension] },
        };
        MirrorDescent { radius, step, state }
    }

    /// One coordinate of the point.
    #[inline]
    pub(super) fn coordinate(&self, index: usize) -> f64 {
        match &self.state {
            State::Ball { point, scale, .. } => scale * point[index],
            State::Box { point, .. } => point[index],
        }
    }

    /// Absorbs a checked gradient.
    pub(super) fn absorb(&mut self, gradient: Gradient<'_>) {
        let reach = self.radius * self.step;
        match &mut self.state {
            State::Ball { point, scale, squared_norm, squares, touched } => {
                let squared = gradient.squared_norm();
                if squared == 0.0 {
                    return;
                }
                *squares += squared;
                let rate = reach / squares.sqrt();
                let along: f64 = gradient.entries().map(|(i, g)| *scale * point[i] * g).sum();
                for (i, g) in gradient.entries() {
                    point[i] -= rate * g / *scale;
                    *touched += 1;
                }
                *squared_norm += rate * (rate * squared - 2.0 * along);
                if *touched >= point.len() {
                    *touched = 0;
                    // Multiply the scale into the point and recompute the norm.
                    let mut sum = 0.0;
                    for entry in point.iter_mut() {
                        *entry *= *scale;
                        sum += *entry * *entry;
                    }
                    (*scale, *squared_norm) = (1.0, sum);
                }
                let norm = squared_norm.max(0.0).sqrt();
                if norm > self.radius {
                    *scale *= self.radius / norm;
                    *squared_norm = self.radius * self.radius;
                }
            }
            State::Box { point, squares } => {
                for (i, g) in gradient.entries() {
                    squares[i] += g * g;
                    let next = point[i] - reach * g / squares[i].sqrt();
                    point[i] = next.clamp(-self.radius, self.radius);
                }
            }
        }
    }

    /// The competitor's size in the norm whose unit ball directions live in.
    pub(super) fn norm(&self, competitor: &[f64]) -> f64 {
        match self.state {
            State::Ball { .. } => euclidean_norm(competitor),
            State::Box { .. } => competitor.iter().fold(0.0, |most: f64, u| most.max(u.abs())),
        }
    }

    /// An upper bound on the regret on the gradients so far against any point of the set.
    pub(super) fn regret_bound(&self) -> f64 {
        let squares: f64 = match &self.state {
            State::Ball { squares, .. } => squares.sqrt(),
            State::Box { squares, .. } => squares.iter().map(|s| s.sqrt()).sum(),
        };
        self.radius * (2.0 / self.step + self.step) * squares
    }

    /// Returns whether a run of this learner could have produced this state.
    pub(super) fn is_sound(
        &self,
        geometry: Geometry,
        dimension: usize,
        radius: f64,
        step: f64,
    ) -> bool {
        let finite = |numbers: &[f64]| {
            numbers.len() == dimension && numbers.iter().all(|number| number.is_finite())
        };
        let state = match (&self.state, geometry) {
            (State::Ball { point, scale, squared_norm, squares, .. }, Geometry::Ball) => {
                finite(point)
                    && *scale > 0.0
                    && scale.is_finite()
                    && squared_norm.is_finite()
                    && *squares >= 0.0
                    && squares.is_finite()
            }
            (State::Box { point, squares }, Geometry::Box) => {
                finite(point) && finite(squares) && squares.iter().all(|&square| square >= 0.0)
            }
            _ => false,
        };
        state && self.radius == radius && self.step == step
    }

    #[cfg(test)]
    pub(super) fn spoil(&mut self, bad: f64) {
        match &mut self.state {
            State::Ball { point, .. } | State::Box { point, .. } => point[0] = bad,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{noise::Noise, release::testing::Seeded};

    /// The textbook form: dense, projected, every norm recomputed.
    fn textbook(gradients: &[Vec<f64>], step: f64) -> Vec<f64> {
        let mut z = vec![0.0; gradients[0].len()];
        let mut squares = 0.0;
        for gradient in gradients {
            squares += gradient.iter().map(|g| g * g).sum::<f64>();
            z.iter_mut().zip(gradient).for_each(|(z, g)| *z -= step * g / f64::sqrt(squares));
            let norm = z.iter().map(|z| z * z).sum::<f64>().sqrt();
            z.iter_mut().for_each(|z| *z /= norm.max(1.0));
        }
        z
    }

    #[test]
    fn lazy_sparse_steps_are_the_textbooks() {
        let mut noise = Seeded(3);
        let gradients: Vec<Vec<f64>> = (0..5000)
            .map(|_| {
                let mut gradient = vec![0.0; 40];
                for _ in 0..3 {
                    gradient[noise.below(40) as usize] = noise.standard_normal() + 0.5;
                }
                gradient
            })
            .collect();
        for step in [1.0, 2f64.sqrt()] {
            let mut lazy = MirrorDescent::new(Geometry::Ball, 40, 1.0, step);
            for gradient in &gradients {
                let entries: Vec<(usize, f64)> = Gradient::from(gradient).entries().collect();
                lazy.absorb(Gradient::from(&entries));
            }
            for (index, want) in textbook(&gradients, step).into_iter().enumerate() {
                let got = lazy.coordinate(index);
                assert!((got - want).abs() < 1e-12, "{got} {want}");
            }
        }
    }

    #[test]
    fn the_box_keeps_every_coordinate_within() {
        let mut learner = MirrorDescent::new(Geometry::Box, 3, 2.0, 1.0);
        for _ in 0..50 {
            learner.absorb(Gradient::from(&[(0, -1.0), (2, 3.0)]));
        }
        assert_eq!([0, 1, 2].map(|i| learner.coordinate(i)), [2.0, 0.0, -2.0]);
    }
}
