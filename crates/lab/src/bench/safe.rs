//! One round of a safe coordinator, and paper 3's enumeration of the same choice beside it.
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
use reticent::{
    linalg::SymmetricEigen,
    noise::Noise,
    safe::{Agent, Coordinator, CoordinatorParams, ResponsePrivacy, Rule, Simplex},
};

use super::{Figure, stopwatch::nanoseconds};
use crate::{
    FastNoise, Result,
    safe::{
        AgentsLines, Algorithm, Budget, ConfidenceName, Feeder, Learner, LearnerLines, Setting,
    },
};

/// A coordinator in the middle of a run.
struct Run {
    setting: Setting,
    coordinator: Coordinator<FastNoise>,
    agents: Vec<Agent<FastNoise>>,
    noise: FastNoise,
    /// `sum x x^T` of every agent, full.
    grams: Vec<Vec<Vec<f64>>>,
}

impl Run {
    fn new(setting: Setting, params: CoordinatorParams) -> Result<Self> {
        let plan = params.check()?;
        let agents = plan
            .agents()
            .iter()
            .enumerate()
            .map(|(index, agent)| agent.start(index, FastNoise::seeded(index as u64)))
            .collect();
        let zero = |theta: &Vec<f64>| vec![vec![0.0; theta.len()]; theta.len()];
        let grams = setting.parameters.iter().map(zero).collect();
        let coordinator = plan.start(FastNoise::seeded(5));
        Ok(Run { setting, coordinator, agents, noise: FastNoise::seeded(9), grams })
    }

    /// Decides, answers and learns.
    fn round(&mut self) -> Result<()> {
        let decision = self.coordinator.decide()?;
        let means = self.setting.means(&decision.actions);
        for (agent, mean) in self.agents.iter_mut().zip(&means) {
            let response = mean + self.setting.response_noise * self.noise.standard_normal();
            self.coordinator.observe(&agent.respond(decision.ticket, response)?)?;
        }
        for (gram, x) in self.grams.iter_mut().zip(&decision.actions) {
            for (row, a) in gram.iter_mut().zip(x) {
                row.iter_mut().zip(x).for_each(|(entry, b)| *entry += a * b);
            }
        }
        Ok(())
    }

    /// The time of a decision alone, in microseconds, over the next `rounds` rounds.
    fn decision_time(&mut self, rounds: u32) -> Result<f64> {
        let mut times = Vec::new();
        for _ in 0..rounds {
            let start = Instant::now();
            let decision = self.coordinator.decide()?;
            times.push(1e6 * start.elapsed().as_secs_f64());
            self.coordinator.dismiss(decision.ticket);
            self.round()?;
        }
        times.sort_by(f64::total_cmp);
        Ok(times[times.len() / 2])
    }
}

fn setup(setting: &Setting, rule: Rule) -> Result<CoordinatorParams> {
    let lines = LearnerLines {
        privacy: Some(Budget { epsilon: 13.0, delta: 1e-5, responses: None }),
        confidence: ConfidenceName::Tight,
        ..LearnerLines::named("bench")
    };
    let algorithm = match rule {
        Rule::Ofu => Algorithm::Ofu(lines),
        Rule::Roful => Algorithm::Roful(lines),
    };
    Ok(Learner::new(&algorithm, setting, 1)?.plan().params().clone())
}

/// Fifty agents, five dimensions: on the paper's simplex, whose walls all meet, or on a feeder.
fn fifty(simplex: bool) -> Result<Setting> {
    let lines = AgentsLines {
        feeder: Some(Feeder { appliances: 5, ..Feeder::default() }),
        ..AgentsLines::default()
    };
    let mut setting = lines.setting()?;
    if simplex {
        let reaches: Vec<f64> = (0..50).map(|m| 1.0 + 0.02 * f64::from(m)).collect();
        setting.polytope = Simplex::new(&reaches)?.polytope()?;
    }
    Ok(setting)
}

pub fn figures() -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    let small = AgentsLines::setup(1).setting()?;
    for (rule, name) in [(Rule::Ofu, "OFU"), (Rule::Roful, "ROFUL")] {
        let mut run = Run::new(small.clone(), setup(&small, rule)?)?;
        for (after, phase) in [(200, "ball slack"), (60_000, "later")] {
            for _ in 0..after {
                run.round()?;
            }
            let time = run.decision_time(4001)?;
            let what = format!("{name} decision, M = d = 3, {phase}");
            figures.push(Figure::new(what, time, "us").beside(30.0, "goal; required 100"));
        }
        let time = nanoseconds(2000, || run.round()) / 1e3;
        let what = format!("{name} whole round, M = d = 3: decide, three answers, learn");
        figures.push(Figure::new(what, time, "us"));
        if rule == Rule::Ofu {
            figures.push(enumeration(&mut run)?);
        }
    }
    for (simplex, place) in [(true, "simplex, 51 rows"), (false, "feeder, 113 rows")] {
        let setting = fifty(simplex)?;
        for (rule, name) in [(Rule::Ofu, "OFU"), (Rule::Roful, "ROFUL")] {
            let mut params = setup(&setting, rule)?;
            // Without noise it learns within the bench, so that early and late decisions are both seen.
            params.agents.iter_mut().for_each(|agent| agent.privacy = ResponsePrivacy::None);
            let mut run = Run::new(setting.clone(), params)?;
            let mut slowest: f64 = 0.0;
            for _ in 0..4 {
                slowest = slowest.max(run.decision_time(51)?);
            }
            let what = format!("{name} decision, M = 50, d = 5, {place}: slowest phase");
            figures.push(Figure::new(what, slowest, "us").beside(2000.0, "required, at most"));
        }
    }
    Ok(figures)
}

/// The paper's enumeration on the run's present state, beside our own decision.
fn enumeration(run: &mut Run) -> Result<Figure> {
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
        let weights = match &run.setting.objective {
            reticent::safe::Objective::Linear { weights } => weights.clone(),
            _ => Vec::new(),
        };
        Ok(Program {
            thetas,
            roots,
            weights,
            rows: run.setting.polytope.rows().to_vec(),
            bounds: run.setting.polytope.bounds().to_vec(),
            radius: run.setting.action_bound,
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
