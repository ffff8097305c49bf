//! The optimum against an interior-point solver that is not of this project.
//!
//! **What is handed to it.** In the eigenbasis of `G^-1` (eigenvalues `g_i`, theta^ with coordinates `t_i`) the hull of an agent's
//! reachable (p, s) is conic: `p = sum t_i x_i`, `s^2 <= beta^2 sum g_i q_i`, `x_i^2 <= q_i`, `sum q_i <= K^2` from above (for
//! given q the largest `u p + v s` has `x_i = +-sqrt(q_i)`, a reachable point), and `s >= beta ||x'||_{G^-1}`, `p = <theta^, x'>`,
//! `||x'|| <= K` from below. In one dimension every pattern of signs is a linear program of its own.

use clarabel::{
    algebra::CscMatrix,
    solver::{
        DefaultSettingsBuilder, DefaultSolver, IPSolver, SolverStatus,
        SupportedConeT::{self, NonnegativeConeT, SecondOrderConeT, ZeroConeT},
    },
};
use nalgebra::DMatrix;

use super::*;
use crate::{noise::Noise, release::testing::Seeded, safe::Estimate};

/// A conic program built row by row: `rows x + slack = bounds`, slack in the cones.
#[derive(Default)]
struct Conic {
    entries: Vec<(usize, usize, f64)>,
    bounds: Vec<f64>,
    cones: Vec<SupportedConeT<f64>>,
}

impl Conic {
    fn row(&mut self, entries: &[(usize, f64)], bound: f64) {
        let row = self.bounds.len();
        self.entries.extend(entries.iter().map(|&(column, value)| (row, column, value)));
        self.bounds.push(bound);
    }

    /// `square_of^2 <= linear`, linear given by its entries.
    fn square_below(&mut self, square_of: usize, linear: &[(usize, f64)]) {
        let minus: Vec<(usize, f64)> = linear.iter().map(|&(c, v)| (c, -v)).collect();
        self.row(&minus, 1.0);
        self.row(&[(square_of, -2.0)], 0.0);
        self.row(&minus, -1.0);
        self.cones.push(SecondOrderConeT(3));
    }

    /// The largest `objective x - 1/2 sum curvature_j x_j^2`.
    fn solve(self, objective: &[f64], curvature: &[(usize, f64)]) -> f64 {
        let n = objective.len();
        let (mut i, mut j, mut v) = (Vec::new(), Vec::new(), Vec::new());
        for (row, column, value) in self.entries {
            i.push(row);
            j.push(column);
            v.push(value);
        }
        let matrix = CscMatrix::new_from_triplets(self.bounds.len(), n, i, j, v);
        let cost: Vec<f64> = objective.iter().map(|c| -c).collect();
        let settings = DefaultSettingsBuilder::default()
            .verbose(false)
            .tol_gap_abs(1e-10)
            .tol_gap_rel(1e-10)
            .tol_feas(1e-10)
            .build()
            .unwrap();
        let columns: Vec<usize> = curvature.iter().map(|entry| entry.0).collect();
        let values = curvature.iter().map(|entry| entry.1).collect();
        let quadratic = CscMatrix::new_from_triplets(n, n, columns.clone(), columns, values);
        let mut solver =
            DefaultSolver::new(&quadratic, &cost, &matrix, &self.bounds, &self.cones, settings)
                .unwrap();
        solver.solve();
        let status = solver.solution.status;
        assert!(
            matches!(status, SolverStatus::Solved | SolverStatus::AlmostSolved),
            "clarabel: {status:?}"
        );
        -solver.solution.obj_val
    }
}

/// One random situation of all agents.
struct Instance {
    polytope: Polytope,
    weights: Vec<f64>,
    estimates: Vec<Estimate>,
    widths: Vec<f64>,
    radius: f64,
}

impl Instance {
    fn random(agents: usize, dimension: usize, noise: &mut Seeded) -> Self {
        let mut signed = |size: f64| size * (2.0 * noise.uniform() - 1.0);
        let mut rows = Vec::new();
        let mut bounds = Vec::new();
        for m in 0..agents {
            for sign in [1.0, -1.0] {
                let mut row = vec![0.0; agents];
                row[m] = sign;
                rows.push(row);
                bounds.push(0.1 + signed(1.0).abs());
            }
        }
        let extra = (signed(9.0).abs() as usize).min(20 - 2 * agents);
        for _ in 0..extra {
            rows.push(
                (0..agents).map(|_| if signed(1.0) > 0.4 { 0.0 } else { signed(2.0) }).collect(),
            );
            bounds.push(0.02 + signed(1.0).abs());
        }
        let weights: Vec<f64> = (0..agents).map(|_| signed(1.0)).collect();
        let regularizer = 10f64.powf(signed(1.0) - 0.5);
        let reports = (signed(1.0).abs().powi(2) * 200.0) as usize;
        let scale = 10f64.powf(signed(1.0) - 0.3);
        let mut estimates = Vec::new();
        for _ in 0..agents {
            let mut first = vec![0.0; dimension];
            first[0] = 1.0;
            let mut estimate = Estimate::new(regularizer, first);
            let theta: Vec<f64> = (0..dimension).map(|_| signed(1.0)).collect();
            for _ in 0..reports {
                let x: Vec<f64> = (0..dimension).map(|_| signed(scale)).collect();
                let y: f64 = x.iter().zip(&theta).map(|(x, t)| x * t).sum();
                estimate.observe(&x, y + signed(1.0));
            }
            estimates.push(estimate);
        }
        let widths = (0..agents).map(|_| 10f64.powf(signed(1.0))).collect();
        let radius = 10f64.powf(signed(1.5) + 0.0);
        let polytope = Polytope::new(&rows, &bounds).unwrap();
        Instance { polytope, weights, estimates, widths, radius }
    }

    fn reaches(&self) -> Vec<Reach<'_>> {
        let reach = |(agent, (estimate, width))| {
            Reach::new(estimate, width, self.radius).limited(self.polytope.own_limits(agent))
        };
        self.estimates.iter().zip(self.widths.iter().copied()).enumerate().map(reach).collect()
    }

    fn ours(&self, objective: &Objective) -> Choice {
        Optimizer::default().optimistic(&self.polytope, objective, &self.reaches())
    }

    fn linear(&self) -> Objective {
        Objective::Linear { weights: self.weights.clone() }
    }

    /// Returns whether actions are in the ball and safe for every parameter, by plain arithmetic from G itself.
    fn is_safe(&self, actions: &[Vec<f64>]) -> bool {
        let d = actions[0].len();
        let mut left = vec![0.0; self.polytope.rows().len()];
        for (m, x) in actions.iter().enumerate() {
            if x.iter().map(|x| x * x).sum::<f64>().sqrt() > self.radius * (1.0 + 1e-12) {
                return false;
            }
            let gram = full(d, &self.estimates[m].regularized_gram());
            let vector = nalgebra::DVector::from_column_slice(x);
            let inverse = gram.clone().cholesky().unwrap().solve(&vector);
            let moment = nalgebra::DVector::from_column_slice(self.estimates[m].moment());
            let theta = gram.cholesky().unwrap().solve(&moment);
            let (p, s) = (theta.dot(&vector), self.widths[m] * vector.dot(&inverse).sqrt());
            for (left, row) in left.iter_mut().zip(self.polytope.rows()) {
                *left += row[m] * p + row[m].abs() * s;
            }
        }
        left.iter().zip(self.polytope.bounds()).all(|(left, b)| *left <= b + 1e-9 * (1.0 + b))
    }

    /// The same program by clarabel.
    fn theirs(&self, objective: &Objective) -> f64 {
        let agents = self.weights.len();
        let d = self.estimates[0].theta().len();
        if d == 1 {
            return self.theirs_by_signs();
        }
        // Per agent: x (d), q (d), x' (d), p, s, y; all but y scaled so that the ball and the largest s are 1.
        let stride = 3 * d + 3;
        let mut conic = Conic::default();
        let mut costs = vec![0.0; agents * stride];
        let (mut curvature, mut constant) = (Vec::new(), 0.0);
        let mut scales = Vec::new();
        let mut means = Vec::new();
        let parts: Vec<(Vec<f64>, Vec<f64>)> = (0..agents).map(|m| self.eigen(m)).collect();
        for (m, (roots, t)) in parts.iter().enumerate() {
            let at = m * stride;
            let top = roots.iter().fold(0.0, |most: f64, g| most.max(*g));
            scales.push(self.widths[m] * self.radius * top);
            let mean = t.iter().map(|t| t * t).sum::<f64>().sqrt().max(1e-9) * self.radius;
            means.push(mean);
            // p = t x, p = t x'
            for offset in [0, 2 * d] {
                let mut row: Vec<(usize, f64)> =
                    (0..d).map(|i| (at + offset + i, t[i] * self.radius / mean)).collect();
                row.push((at + 3 * d, -1.0));
                conic.row(&row, 0.0);
            }
            conic.cones.push(ZeroConeT(2));
        }
        for (m, (roots, _)) in parts.iter().enumerate() {
            let at = m * stride;
            let top = roots.iter().fold(0.0, |most: f64, g| most.max(*g));
            for i in 0..d {
                conic.square_below(at + i, &[(at + d + i, 1.0)]);
            }
            conic.row(&(0..d).map(|i| (at + d + i, 1.0)).collect::<Vec<_>>(), 1.0);
            conic.cones.push(NonnegativeConeT(1));
            let shares: Vec<(usize, f64)> =
                (0..d).map(|i| (at + d + i, (roots[i] / top).powi(2))).collect();
            conic.square_below(at + 3 * d + 1, &shares);
            conic.row(&[(at + 3 * d + 1, -1.0)], 0.0);
            for (i, root) in roots.iter().enumerate() {
                conic.row(&[(at + 2 * d + i, -root / top)], 0.0);
            }
            conic.cones.push(SecondOrderConeT(d + 1));
            conic.row(&[], 1.0);
            for i in 0..d {
                conic.row(&[(at + 2 * d + i, -1.0)], 0.0);
            }
            conic.cones.push(SecondOrderConeT(d + 1));
            // |y - p| <= s.
            for sign in [1.0, -1.0] {
                let (p, s) = ((at + 3 * d, -sign * means[m]), (at + 3 * d + 1, -scales[m]));
                conic.row(&[(at + 3 * d + 2, sign), p, s], 0.0);
            }
            conic.cones.push(NonnegativeConeT(2));
            match objective.term(m) {
                Term::Linear { weight } => costs[at + 3 * d + 2] = weight,
                Term::Tracking { target, weight } => {
                    costs[at + 3 * d + 2] = weight * target;
                    curvature.push((at + 3 * d + 2, weight));
                    constant -= 0.5 * weight * target * target;
                }
                Term::Fair { .. } => panic!("no cone for it here"),
            }
        }
        for (row, bound) in self.polytope.rows().iter().zip(self.polytope.bounds()) {
            let mut entries = Vec::new();
            for (m, a) in row.iter().enumerate().filter(|(_, a)| **a != 0.0) {
                entries.push((m * stride + 3 * d, a * means[m] / bound));
                entries.push((m * stride + 3 * d + 1, a.abs() * scales[m] / bound));
            }
            conic.row(&entries, 1.0);
        }
        conic.cones.push(NonnegativeConeT(self.polytope.rows().len()));
        conic.solve(&costs, &curvature) + constant
    }

    /// Square roots of the eigenvalues of `G^-1`, and theta^ in the eigenbasis.
    fn eigen(&self, m: usize) -> (Vec<f64>, Vec<f64>) {
        let d = self.estimates[m].theta().len();
        let gram = full(d, &self.estimates[m].regularized_gram());
        let moment = nalgebra::DVector::from_column_slice(self.estimates[m].moment());
        let theta = gram.clone().cholesky().unwrap().solve(&moment);
        let eigen = gram.symmetric_eigen();
        let roots = eigen.eigenvalues.iter().map(|value| 1.0 / value.sqrt()).collect();
        (roots, (eigen.eigenvectors.transpose() * theta).as_slice().to_vec())
    }

    fn theirs_by_signs(&self) -> f64 {
        let agents = self.weights.len();
        let tip = |m: usize| {
            let (roots, t) = self.eigen(m);
            (t[0] * self.radius, self.widths[m] * self.radius * roots[0])
        };
        let tips: Vec<(f64, f64)> = (0..agents).map(tip).collect();
        let mut best = f64::NEG_INFINITY;
        for pattern in 0..1_u32 << agents {
            let sign = |m: usize| if pattern >> m & 1 == 1 { 1.0 } else { -1.0 };
            let mut conic = Conic::default();
            for (row, bound) in self.polytope.rows().iter().zip(self.polytope.bounds()) {
                let entry = |m: usize| (m, row[m] * sign(m) * tips[m].0 + row[m].abs() * tips[m].1);
                conic.row(&(0..agents).map(entry).collect::<Vec<_>>(), *bound);
            }
            for m in 0..agents {
                conic.row(&[(m, -1.0)], 0.0);
                conic.row(&[(m, 1.0)], 1.0);
            }
            conic.cones.push(NonnegativeConeT(self.polytope.rows().len() + 2 * agents));
            let worth = |m: usize| {
                self.weights[m] * sign(m) * tips[m].0 + self.weights[m].abs() * tips[m].1
            };
            best = best.max(conic.solve(&(0..agents).map(worth).collect::<Vec<_>>(), &[]));
        }
        best
    }
}

fn full(d: usize, upper: &[f64]) -> DMatrix<f64> {
    let at = |i: usize, j: usize| {
        let (i, j) = (i.min(j), i.max(j));
        upper[i * d - i * (i + 1) / 2 + j]
    };
    DMatrix::from_fn(d, d, at)
}

#[test]
fn a_thousand_optima_agree_with_an_interior_point_solver() {
    let mut noise = Seeded(2024);
    let (mut binding, mut worst) = (0, (0.0_f64, 0.0_f64));
    for case in 0..1000 {
        let agents = 1 + noise.below(6) as usize;
        let dimension = if case % 10 == 0 { 1 } else { 2 + noise.below(4) as usize };
        let agents = if dimension == 1 { agents.min(4) } else { agents };
        let instance = Instance::random(agents, dimension, &mut noise);
        let ours = instance.ours(&instance.linear());
        assert!(instance.is_safe(&ours.actions), "case {case} M={agents} d={dimension}");
        let theirs = instance.theirs(&instance.linear());
        let error = (ours.upper - theirs).abs() / (1.0 + theirs.abs());
        let gap = (ours.upper - ours.value) / (1.0 + theirs.abs());
        worst = (worst.0.max(error), worst.1.max(gap));
        let touches = |x: &Vec<f64>| {
            x.iter().map(|x| x * x).sum::<f64>().sqrt() > instance.radius * (1.0 - 1e-6)
        };
        binding += usize::from(ours.actions.iter().any(touches));
    }
    assert!((200..800).contains(&binding), "{binding}");
    // Theirs and our bound; our bound and what our actions attain.
    assert!(worst.0 < 1e-6 && worst.1 < 1e-6, "{worst:?}");
}

#[test]
fn concave_optima_agree_too() {
    let mut noise = Seeded(7);
    let mut worst = (0.0_f64, 0.0_f64);
    for _ in 0..200 {
        let (agents, d) = (1 + noise.below(5) as usize, 2 + noise.below(4) as usize);
        let instance = Instance::random(agents, d, &mut noise);
        let mut numbers = |low: f64, high: f64| -> Vec<f64> {
            (0..agents).map(|_| low + (high - low) * noise.uniform()).collect()
        };
        let objective =
            Objective::Tracking { targets: numbers(-2.0, 2.0), weights: numbers(0.1, 3.0) };
        let fair = Objective::Fair { weights: numbers(0.1, 3.0), reserves: numbers(0.3, 2.0) };
        let ours = instance.ours(&objective);
        assert!(instance.is_safe(&ours.actions));
        let theirs = instance.theirs(&objective);
        worst.0 = worst.0.max((ours.upper - theirs).abs() / (1.0 + theirs.abs()));
        worst.1 = worst.1.max((ours.upper - ours.value) / (1.0 + theirs.abs()));
        // No conic oracle for the logarithm, but the certificate is a proof by itself.
        let ours = instance.ours(&fair);
        assert!(instance.is_safe(&ours.actions));
        worst.1 = worst.1.max((ours.upper - ours.value) / (1.0 + ours.upper.abs()));
    }
    // Prices of a curved part converge slowly in a few cases: the gap that is left is known, not hidden.
    assert!(worst.0 < 1e-6 && worst.1 < 1e-5, "{worst:?}");
}

#[test]
fn ties_go_to_the_largest_estimate_and_then_to_the_shortest_action() {
    // One agent, all of whose uncertainty fits: many actions have the same optimistic value p + s = 1.
    let mut noise = Seeded(31);
    for _ in 0..50 {
        let mut instance = Instance::random(1, 3, &mut noise);
        instance.polytope = Polytope::new(&[[1.0], [-1.0]], &[1.0, 1e3]).unwrap();
        instance.weights = vec![1.0];
        instance.radius = 1e6;
        let choice = instance.ours(&instance.linear());
        let reach = &instance.reaches()[0];
        let point = reach.point(&choice.actions[0]);
        assert!((point.mean + point.spread - 1.0).abs() < 1e-9);
        // The largest p with p + s = 1 lies on the ray.
        let slope = reach.slope();
        assert!((point.mean - slope / (1.0 + slope)).abs() < 1e-9, "{point:?} {slope}");
    }
}

#[test]
fn a_recovered_action_has_its_point_and_no_shorter_one_does() {
    let mut noise = Seeded(17);
    for _ in 0..300 {
        let d = 2 + noise.below(4) as usize;
        let instance = Instance::random(1, d, &mut noise);
        let reach = Reach::new(&instance.estimates[0], instance.widths[0], 1e9);
        // Any action gives a reachable point; the recovered one must have the same point and be no longer.
        let x: Vec<f64> = (0..d).map(|_| noise.standard_normal()).collect();
        let wanted = reach.point(&x);
        let found = reach.recover(wanted);
        let point = reach.point(&found);
        let size = wanted.mean.abs() + wanted.spread;
        assert!((point.mean - wanted.mean).abs() < 1e-9 * size, "{point:?} {wanted:?}");
        assert!((point.spread - wanted.spread).abs() < 1e-9 * size, "{point:?} {wanted:?}");
        let norm = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>().sqrt();
        assert!(norm(&found) <= norm(&x) * (1.0 + 1e-9));
    }
}

/// The point of a given response lies on the ball where it should, also where the estimate knows one direction only (the hard case).
#[test]
fn responses_beyond_the_ray_are_met_exactly_with_the_least_uncertainty() {
    let mut noise = Seeded(23);
    let mut beyond = 0;
    for case in 0..600 {
        let d = 2 + noise.below(4) as usize;
        let mut instance = Instance::random(1, d, &mut noise);
        if case % 3 == 0 {
            let mut axis = vec![0.0; d];
            axis[case % d] = 1.0;
            let mut estimate = Estimate::new(0.1, axis.clone());
            (0..1 + case % 7).for_each(|_| estimate.observe(&axis, 0.3));
            instance.estimates[0] = estimate;
        }
        let reach = &instance.reaches()[0];
        let (near, far) = (reach.tip(1.0), reach.largest_response());
        if reach.slope() == 0.0 || far <= (near.mean + near.spread) * (1.0 + 1e-9) {
            continue;
        }
        for share in [1e-6, 0.1, 0.5, 0.9, 0.999, 1.0 - 1e-7] {
            let y = near.mean + near.spread + share * (far - near.mean - near.spread);
            let x = reach.towards(y);
            let point = reach.point(&x);
            assert!((point.mean + point.spread - y).abs() < 1e-9 * y, "case {case} {share} {y}");
            assert!(x.iter().map(|x| x * x).sum::<f64>().sqrt() <= reach_radius(&instance));
            // No price finds a point with that response and less uncertainty.
            for v in [-0.9, -0.5, -0.1, 0.0, 0.3, 0.8, 0.99] {
                let (u, v) = (1.0, v * if v < 0.0 { reach.slope() } else { 1.0 });
                let other = reach.support(u, v);
                if other.mean + other.spread >= y {
                    assert!(other.spread >= point.spread * (1.0 - 1e-9), "case {case} {share} {v}");
                }
            }
            beyond += 1;
        }
    }
    assert!(beyond > 1000, "{beyond}");
}

fn reach_radius(instance: &Instance) -> f64 {
    instance.radius * (1.0 + 1e-12)
}
