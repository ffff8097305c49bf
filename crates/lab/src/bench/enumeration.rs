//! The enumeration of paper 3 beside our own decision.
//!
//! Appendix E of paper 3 replaces the weighted norms of the objective by sup norms of `G^-1/2 x` and solves one cone program for each choice
//! of a coordinate and a sign per agent: `(2 d)^M` of them, 216 for M = d = 3 (the paper writes 2 d M). Here they are solved by
//! clarabel, on the state that our own coordinator has reached.

use std::time::Instant;

use clarabel::{
    algebra::CscMatrix,
    solver::{
        DefaultSettingsBuilder, DefaultSolver, IPSolver,
        SupportedConeT::{NonnegativeConeT, SecondOrderConeT},
    },
};
use reticent::linalg::SymmetricEigen;

use super::{Figure, safe::Run};
use crate::Result;

/// The paper's enumeration on the run's present state, beside our own decision.
pub fn figure(run: &mut Run) -> Result<Figure> {
    let ours = run.decision_time(501)?;
    let program = Program::of(run)?;
    let start = Instant::now();
    let mut best = f64::NEG_INFINITY;
    let mut solved = 0;
    for choice in 0..216_usize {
        let pick = [choice % 6, choice / 6 % 6, choice / 36];
        if let Some(value) = program.solve(pick) {
            best = best.max(value);
            solved += 1;
        }
    }
    let theirs = 1e6 * start.elapsed().as_secs_f64();
    let source = format!(
        "the paper's 216 cone programs by clarabel, {solved} solved, best value {best:.4}: {:.0} times ours",
        theirs / ours
    );
    Ok(Figure::new("OFU decision beside the paper's enumeration", ours, "us")
        .beside(theirs, source))
}

/// The cone program of one choice of coordinates and signs: variables x (9) and t (3), `t_m >= beta_m ||G_m^-1/2 x_m||`.
struct Program {
    /// theta^ of every agent.
    thetas: Vec<Vec<f64>>,
    /// `beta G^-1/2`, symmetric.
    roots: Vec<Vec<Vec<f64>>>,
    weights: Vec<f64>,
    rows: Vec<Vec<f64>>,
    bounds: Vec<f64>,
    radius: f64,
}

impl Program {
    fn of(run: &Run) -> Result<Self> {
        let (mut thetas, mut roots) = (Vec::new(), Vec::new());
        for (agent, gram) in run.grams.iter().enumerate() {
            let Some((theta, width)) = run.coordinator.estimate(agent) else { continue };
            let d = theta.len();
            let upper: Vec<f64> = (0..d)
                .flat_map(|i| (i..d).map(move |j| (i, j)))
                .map(|(i, j)| gram[i][j] + if i == j { 0.1 } else { 0.0 })
                .collect();
            let eigen = SymmetricEigen::of(d, &upper)?;
            let root = |i: usize, j: usize| -> f64 {
                let pairs = eigen.values().iter().zip(eigen.vectors());
                pairs.map(|(value, v)| v[i] * v[j] * width / value.sqrt()).sum()
            };
            roots.push((0..d).map(|i| (0..d).map(|j| root(i, j)).collect()).collect());
            thetas.push(theta.to_vec());
        }
        let weights = match &run.environment.objective {
            reticent::safe::Objective::Linear { weights } => weights.clone(),
            _ => Vec::new(),
        };
        Ok(Program {
            thetas,
            roots,
            weights,
            rows: run.environment.polytope.rows().to_vec(),
            bounds: run.environment.polytope.bounds().to_vec(),
            radius: run.environment.action_bound,
        })
    }

    /// The best value for one coordinate and sign per agent.
    fn solve(&self, pick: [usize; 3]) -> Option<f64> {
        let (agents, d) = (3, 3);
        let at = |m: usize, i: usize| m * d + i;
        let (mut i, mut j, mut v, mut b) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut entry = |row: usize, column: usize, value: f64| {
            i.push(row);
            j.push(column);
            v.push(value);
        };
        for (row, bound) in self.rows.iter().zip(&self.bounds) {
            for (m, weight) in row.iter().enumerate() {
                for k in 0..d {
                    entry(b.len(), at(m, k), weight * self.thetas[m][k]);
                }
                entry(b.len(), agents * d + m, weight.abs());
            }
            b.push(*bound);
        }
        let mut cones = vec![NonnegativeConeT(self.rows.len())];
        for m in 0..agents {
            entry(b.len(), agents * d + m, -1.0);
            b.push(0.0);
            for k in 0..d {
                for (l, root) in self.roots[m][k].iter().enumerate() {
                    entry(b.len(), at(m, l), -root);
                }
                b.push(0.0);
            }
            cones.push(SecondOrderConeT(d + 1));
            b.push(self.radius);
            for k in 0..d {
                entry(b.len(), at(m, k), -1.0);
                b.push(0.0);
            }
            cones.push(SecondOrderConeT(d + 1));
        }
        let n = agents * d + agents;
        let mut cost = vec![0.0; n];
        for m in 0..agents {
            let (coordinate, sign) =
                (pick[m] / 2, if pick[m].is_multiple_of(2) { 1.0 } else { -1.0 });
            for k in 0..d {
                let optimistic = self.thetas[m][k] + sign * self.roots[m][coordinate][k];
                cost[at(m, k)] = -self.weights[m] * optimistic;
            }
        }
        let matrix = CscMatrix::new_from_triplets(b.len(), n, i, j, v);
        let settings = DefaultSettingsBuilder::default().verbose(false).build().ok()?;
        let zero = CscMatrix::zeros((n, n));
        let mut solver = DefaultSolver::new(&zero, &cost, &matrix, &b, &cones, settings).ok()?;
        solver.solve();
        let value = -solver.solution.obj_val;
        value.is_finite().then_some(value)
    }
}
