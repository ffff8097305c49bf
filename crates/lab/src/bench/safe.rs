//! A round of a safe coordinator. With the feature `clarabel`, the enumeration of paper 3 stands beside it (`enumeration`).

use std::time::Instant;

use reticent::{
    noise::Noise,
    safe::{Agent, Confidence, Coordinator, CoordinatorParams, ResponsePrivacy, Rule, Simplex},
};

use super::{Figure, stopwatch::nanoseconds};
use crate::{
    FastNoise, Result,
    algorithm::safe::{
        AgentsToml, Algorithm, Budget, CoordinatorToml, Feeder, SafeAlgorithm, SafeEnvironment,
    },
};

/// A coordinator in the middle of a run.
pub(super) struct Run {
    pub(super) environment: SafeEnvironment,
    pub(super) coordinator: Coordinator<FastNoise>,
    agents: Vec<Agent<FastNoise>>,
    noise: FastNoise,
    /// `sum x x^T` of every agent, full.
    pub(super) grams: Vec<Vec<Vec<f64>>>,
}

impl Run {
    fn new(environment: SafeEnvironment, params: CoordinatorParams) -> Result<Self> {
        let plan = params.check()?;
        let agents = plan
            .agents()
            .iter()
            .enumerate()
            .map(|(index, agent)| agent.start(index, FastNoise::seeded(index as u64)))
            .collect();
        let zero = |theta: &Vec<f64>| vec![vec![0.0; theta.len()]; theta.len()];
        let grams = environment.parameters.iter().map(zero).collect();
        let coordinator = plan.start(FastNoise::seeded(5));
        Ok(Run { environment, coordinator, agents, noise: FastNoise::seeded(9), grams })
    }

    /// Decides, answers and learns.
    fn round(&mut self) -> Result<()> {
        let decision = self.coordinator.decide()?;
        let means = self.environment.means(&decision.actions);
        for (agent, mean) in self.agents.iter_mut().zip(&means) {
            let response = mean + self.environment.response_noise * self.noise.standard_normal();
            self.coordinator.absorb(&agent.report(decision.ticket, response)?)?;
        }
        for (gram, x) in self.grams.iter_mut().zip(&decision.actions) {
            for (row, a) in gram.iter_mut().zip(x) {
                row.iter_mut().zip(x).for_each(|(entry, b)| *entry += a * b);
            }
        }
        Ok(())
    }

    /// The time of a decision alone, in microseconds, over the next `rounds` rounds.
    pub(super) fn decision_time(&mut self, rounds: u32) -> Result<f64> {
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

fn setup(environment: &SafeEnvironment, rule: Rule) -> Result<CoordinatorParams> {
    let lines = CoordinatorToml {
        privacy: Some(Budget { epsilon: 13.0, delta: 1e-5, responses: None }),
        confidence: Confidence::Tight,
        ..CoordinatorToml::named("bench")
    };
    let algorithm = match rule {
        Rule::Ofu => Algorithm::Ofu(lines),
        Rule::Roful => Algorithm::Roful(lines),
    };
    Ok(SafeAlgorithm::new(&algorithm, environment, 1)?.plan().params().clone())
}

/// Fifty agents, five dimensions: on the paper's simplex, where all facets intersect, or on a feeder.
fn fifty(simplex: bool) -> Result<SafeEnvironment> {
    let lines = AgentsToml {
        feeder: Some(Feeder { appliances: 5, ..Feeder::default() }),
        ..AgentsToml::default()
    };
    let mut environment = lines.environment()?;
    if simplex {
        let reaches: Vec<f64> = (0..50).map(|m| 1.0 + 0.02 * f64::from(m)).collect();
        environment.polytope = Simplex::new(&reaches)?.polytope()?;
    }
    Ok(environment)
}

pub fn figures() -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    let small = AgentsToml::setup(1).environment()?;
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
            #[cfg(feature = "clarabel")]
            figures.push(super::enumeration::figure(&mut run)?);
        }
    }
    for (simplex, place) in [(true, "simplex, 51 rows"), (false, "feeder, 113 rows")] {
        let environment = fifty(simplex)?;
        for (rule, name) in [(Rule::Ofu, "OFU"), (Rule::Roful, "ROFUL")] {
            let mut params = setup(&environment, rule)?;
            // Without noise it learns within the bench, so that early and late decisions are both seen.
            params.agents.iter_mut().for_each(|agent| agent.privacy = ResponsePrivacy::None);
            let mut run = Run::new(environment.clone(), params)?;
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
