//! Conditional gradient with away steps: the nearest point of a set, through its oracle alone.
//!
//! ```text
//! minimise q(x) = 1/2 ||x - y||^2 over the set;   gap(x) = max_v <x - y, x - v>  >=  q(x) - q(x*)  >=  1/2 ||x - x*||^2
//! ```
//!
//! The iterate is kept as a convex combination of vertices. A step goes towards the oracle's vertex, or away from
//! the worst vertex of the combination, whichever promises more, by exact line search. It stops when the
//! gap certifies the distance: `gap <= tolerance^2 / 2` gives `||x - x*|| <= tolerance` (the paper's eps_cg is
//! such a distance, Lemma C.4). On polytopes the convergence is linear.
//!
//! Reference: Guelat and Marcotte (1986); Lacoste-Julien and Jaggi, NeurIPS 2015, Algorithm 1.

use serde::{Deserialize, Serialize};

use super::{DecisionSet, LinearOracle};
use crate::{Result, error::finite_vector, linalg::dot, noise::Noise, refuse_if, special::square};

/// Weights below this are rounding.
const NOTHING: f64 = 1e-14;

/// A point as a mixture of vertices.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Mixture {
    /// One vertex after the other.
    vertices: Vec<f64>,
    weights: Vec<f64>,
    point: Vec<f64>,
}

impl Mixture {
    /// The vertex the oracle gives in a direction.
    pub fn vertex<O: LinearOracle>(set: &DecisionSet<O>, direction: &[f64]) -> Result<Self> {
        finite_vector("direction", direction, set.shape().dimension())?;
        let mut point = vec![0.0; direction.len()];
        set.oracle().minimize(direction, &mut point);
        finite_vector("oracle's vertex", &point, direction.len())?;
        Ok(Mixture { vertices: point.clone(), weights: vec![1.0], point })
    }

    /// The mean of the mixture.
    pub fn point(&self) -> &[f64] {
        &self.point
    }

    /// The vertices with their weights, which add up to 1.
    pub fn parts(&self) -> impl Iterator<Item = (f64, &[f64])> {
        self.weights.iter().copied().zip(self.vertices.chunks_exact(self.point.len()))
    }

    /// Mean squared distance between a vertex drawn from the mixture and its mean: what playing vertices in place of
    /// points adds to the variance of a linear loss, per unit of its squared Lipschitz constant.
    pub fn variance(&self) -> f64 {
        self.parts().map(|(weight, v)| weight * square(super::set::distance(v, &self.point))).sum()
    }

    /// A vertex drawn with its weight: its mean is the point.
    pub fn draw<N: Noise + ?Sized>(&self, noise: &mut N) -> &[f64] {
        let mut left = noise.uniform();
        let mut last = &self.vertices[..self.point.len()];
        for (weight, vertex) in self.parts() {
            last = vertex;
            left -= weight;
            if left < 0.0 {
                break;
            }
        }
        last
    }

    /// Returns whether deserialised parts fit each other.
    pub(super) fn fits(&self, dimension: usize) -> bool {
        self.point.len() == dimension
            && !self.weights.is_empty()
            && self.vertices.len() == self.weights.len() * dimension
    }

    fn at(&self, index: usize) -> &[f64] {
        let n = self.point.len();
        &self.vertices[index * n..(index + 1) * n]
    }

    fn remove(&mut self, index: usize) {
        let n = self.point.len();
        let last = self.weights.len() - 1;
        self.weights.swap_remove(index);
        self.vertices.copy_within(last * n.., index * n);
        self.vertices.truncate(last * n);
    }

    /// Moves by `step` towards a vertex.
    fn approach(&mut self, vertex: &[f64], step: f64) {
        self.weights.iter_mut().for_each(|weight| *weight *= 1.0 - step);
        match (0..self.weights.len()).find(|&index| self.at(index) == vertex) {
            Some(index) => self.weights[index] += step,
            None => {
                self.weights.push(step);
                self.vertices.extend_from_slice(vertex);
            }
        }
        self.point.iter_mut().zip(vertex).for_each(|(x, v)| *x += step * (v - *x));
        self.prune();
    }

    /// Moves by `step` away from one of its vertices.
    fn leave(&mut self, index: usize, step: f64, entirely: bool) {
        let n = self.point.len();
        let vertex = &self.vertices[index * n..(index + 1) * n];
        self.point.iter_mut().zip(vertex).for_each(|(x, v)| *x += step * (*x - v));
        self.weights.iter_mut().for_each(|weight| *weight *= 1.0 + step);
        self.weights[index] -= step;
        if entirely {
            self.remove(index);
        }
        self.prune();
    }

    fn prune(&mut self) {
        for index in (0..self.weights.len()).rev() {
            if self.weights[index] <= NOTHING && self.weights.len() > 1 {
                self.remove(index);
            }
        }
    }

    /// Makes the weights add up to 1 and the point their mean, to the last bit of rounding.
    fn settle(&mut self) {
        let total: f64 = self.weights.iter().sum();
        self.weights.iter_mut().for_each(|weight| *weight /= total);
        self.point.fill(0.0);
        for (index, weight) in self.weights.iter().enumerate() {
            let n = self.point.len();
            let vertex = &self.vertices[index * n..(index + 1) * n];
            self.point.iter_mut().zip(vertex).for_each(|(x, v)| *x += weight * v);
        }
    }
}

/// End of a descent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Descent {
    /// The last gap: half the squared distance to the optimum is at most this.
    pub gap: f64,
    /// Calls to the oracle.
    pub oracle_calls: u64,
    /// True if the gap reached the tolerance.
    pub converged: bool,
}

/// Moves `mixture` to within `tolerance` of the point of the set nearest to `target`, in at most `most_calls` calls.
pub fn nearest_point<O: LinearOracle>(
    set: &DecisionSet<O>,
    target: &[f64],
    mixture: &mut Mixture,
    tolerance: f64,
    most_calls: u64,
) -> Result<Descent> {
    finite_vector("target", target, set.shape().dimension())?;
    crate::error::not_negative("tolerance", tolerance)?;
    let remedy = "start from a vertex of this set";
    refuse_if(!mixture.fits(target.len()), "mixture", "another set's", remedy)?;
    Ok(descend(set.oracle(), target, mixture, 0.5 * tolerance * tolerance, most_calls))
}

/// [`nearest_point`] on checked input, to a gap.
pub(super) fn descend<O: LinearOracle + ?Sized>(
    oracle: &O,
    target: &[f64],
    mixture: &mut Mixture,
    enough: f64,
    most_calls: u64,
) -> Descent {
    let n = target.len();
    let (mut gradient, mut vertex) = (vec![0.0; n], vec![0.0; n]);
    let mut descent = Descent { gap: f64::INFINITY, oracle_calls: 0, converged: false };
    while descent.oracle_calls < most_calls {
        for ((g, x), y) in gradient.iter_mut().zip(&mixture.point).zip(target) {
            *g = x - y;
        }
        oracle.minimize(&gradient, &mut vertex);
        descent.oracle_calls += 1;
        let here = dot(&gradient, &mixture.point);
        descent.gap = here - dot(&gradient, &vertex);
        // An answer that is not finite leaves the mixture where it is.
        if descent.gap <= enough || !descent.gap.is_finite() {
            descent.converged = descent.gap <= enough;
            break;
        }
        let worst = (0..mixture.weights.len())
            .map(|index| (index, dot(&gradient, mixture.at(index)) - here))
            .max_by(|a, b| a.1.total_cmp(&b.1));
        match worst {
            Some((index, away)) if away > descent.gap && mixture.weights.len() > 1 => {
                let limit = mixture.weights[index] / (1.0 - mixture.weights[index]);
                let length = square(super::set::distance(mixture.at(index), &mixture.point));
                let step = away / length;
                mixture.leave(index, step.min(limit), step >= limit);
            }
            _ => {
                let length = square(super::set::distance(&vertex, &mixture.point));
                mixture.approach(&vertex, (descent.gap / length).min(1.0));
            }
        }
    }
    mixture.settle();
    descent
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        convex::oracle::{Birkhoff, L1Ball, L2Ball, UniformMatroid},
        noise::check,
        release::testing::Seeded,
    };

    fn random(n: usize, noise: &mut Seeded) -> Vec<f64> {
        (0..n).map(|_| noise.standard_normal()).collect()
    }

    /// Against the sets' own exact projections.
    fn check<O: LinearOracle>(set: &DecisionSet<O>) {
        let n = set.shape().dimension();
        let mut noise = Seeded(5);
        let mut mixture = Mixture::vertex(set, &vec![1.0; n]).unwrap();
        for trial in 0..60 {
            let target = random(n, &mut noise);
            let mut exact = target.clone();
            assert!(set.oracle().project(&mut exact));
            let tolerance = if trial % 2 == 0 { 1e-6 } else { 0.05 };
            let descent = nearest_point(set, &target, &mut mixture, tolerance, 20_000).unwrap();
            assert!(descent.converged, "{descent:?}");
            let error = crate::convex::set::distance(mixture.point(), &exact);
            assert!(error <= tolerance * (1.0 + 1e-6) + 1e-9, "{error} after {descent:?}");
            let total: f64 = mixture.parts().map(|(weight, _)| weight).sum();
            assert!((total - 1.0).abs() < 1e-12 && mixture.parts().all(|(w, _)| w > 0.0));
        }
    }

    #[test]
    fn the_gap_certifies_the_distance_to_the_projection() {
        check(&L1Ball::set(8, 1.0).unwrap());
        check(&UniformMatroid::set(9, 4).unwrap());
        // A ball is no polytope, and converges without away steps' linear rate: a coarser tolerance.
        let ball = L2Ball::set(&[0.0; 5], 1.0).unwrap();
        let mut mixture = Mixture::vertex(&ball, &[1.0; 5]).unwrap();
        let target = [3.0, 1.0, 0.0, 0.0, 0.0];
        let descent = nearest_point(&ball, &target, &mut mixture, 1e-2, 20_000).unwrap();
        assert!(descent.converged);
        let along = 10f64.sqrt();
        assert!((mixture.point()[0] - 3.0 / along).abs() < 1e-2);
    }

    #[test]
    fn away_steps_make_the_convergence_linear() {
        // Plain Frank-Wolfe needs of the order of D^2 / gap calls here; a gap of 1e-14 would take longer than anyone waits.
        let set = Birkhoff::set(4).unwrap();
        let mut noise = Seeded(9);
        let mut mixture = Mixture::vertex(&set, &[1.0; 16]).unwrap();
        let mut calls = 0;
        for _ in 0..20 {
            let target = random(16, &mut noise);
            let descent = nearest_point(&set, &target, &mut mixture, 1e-7, 20_000).unwrap();
            assert!(descent.converged);
            calls += descent.oracle_calls;
        }
        assert!(calls < 20 * 500, "{calls}");
    }

    #[test]
    fn a_drawn_vertex_has_the_point_as_its_mean_and_the_stated_variance() {
        let set = UniformMatroid::set(6, 2).unwrap();
        let mut mixture = Mixture::vertex(&set, &[0.0; 6]).unwrap();
        let target = [0.9, 0.4, 0.3, 0.2, 0.1, 0.1];
        nearest_point(&set, &target, &mut mixture, 1e-9, 20_000).unwrap();
        let mut noise = Seeded(4);
        let draws: Vec<Vec<f64>> = (0..40_000).map(|_| mixture.draw(&mut noise).to_vec()).collect();
        assert!(
            draws
                .iter()
                .all(|v| v.iter().sum::<f64>() == 2.0 && v.iter().all(|x| x.fract() == 0.0))
        );
        for (coordinate, mean) in target.iter().enumerate() {
            let deviation = (mean * (1.0 - mean)).sqrt();
            assert!(!check::mean_alarm(draws.iter().map(|v| v[coordinate]), *mean, deviation));
            // Planted: the uniform choice among the mixture's vertices.
        }
        let expected: f64 = target.iter().map(|p| p * (1.0 - p)).sum();
        assert!((mixture.variance() - expected).abs() < 1e-6, "of a 0-1 vector");
        let uniform = |noise: &mut Seeded| {
            let which = noise.below(mixture.weights.len() as u64) as usize;
            mixture.at(which)[0]
        };
        assert!(check::mean_alarm((0..40_000).map(|_| uniform(&mut noise)), 0.9, 0.3));
    }

    #[test]
    fn bad_input_and_oracles_that_fail_move_nothing() {
        struct Broken;
        impl LinearOracle for Broken {
            fn minimize(&self, direction: &[f64], vertex: &mut [f64]) {
                vertex.fill(if direction[0] > 10.0 { f64::NAN } else { 1.0 });
            }
        }
        let set = L1Ball::set(2, 1.0).unwrap();
        let mut mixture = Mixture::vertex(&set, &[1.0, 0.0]).unwrap();
        let before = mixture.clone();
        assert!(nearest_point(&set, &[f64::NAN, 0.0], &mut mixture, 0.1, 9).is_err());
        assert!(nearest_point(&set, &[0.0], &mut mixture, 0.1, 9).is_err());
        assert!(nearest_point(&set, &[0.0, 0.0], &mut mixture, f64::NAN, 9).is_err());
        let descent = descend(&Broken, &[-100.0, 0.0], &mut mixture, 0.0, 9);
        assert!(!descent.converged && descent.oracle_calls == 1);
        assert_eq!(mixture, before);
    }
}
