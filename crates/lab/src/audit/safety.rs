//! Tests of safety and confidence sets: every set is compared with the true parameters at its stated level, and a shrunk set must be
//! detected.
//!
//! | claim | attack | false alarm |
//! | --- | --- | --- |
//! | a confidence set holds theta* in all rounds with probability 1 - alpha (joint tight, Proposition 4, OnlineUCB, safe) | theta* of the largest norm, rewards of plus or minus 1; the number of histories in which the set misses theta* | 1e-6, binomial tail |
//! | no parameter in the sets makes a decision unsafe | the worst parameters in the sets, row by row, for every decision | none: deterministic |
//! | decisions are unsafe in a share delta' of histories at most | true parameters at their bound, in random directions; noise of plus or minus R | 1e-6, binomial tail |
//!
//! Each attack is run again on shrunk widths, which must be detected.

use reticent::{
    bandit::{self, Arms, Assumptions, JointParams, Policy, Width},
    geometry::Polytope,
    linalg::Cholesky,
    noise::{Noise, uniform_direction},
    randomize::{Bounds, FeatureRewardParams},
    release::Schedule,
    safe::{
        Agent, AgentParams, Confidence, Coordinator, CoordinatorParams, Monitor, Objective,
        ResponsePrivacy, Rule, Simplex,
    },
    special::incomplete_beta,
};
use serde::Serialize;

use crate::{
    FastNoise, Result,
    papers::constants::{
        Problem,
        joint::{Published, PublishedNoise},
        online_ucb,
    },
    play::{parallel::in_parallel, trial::mix},
};

/// The largest probability of an alarm on a true claim.
const FALSE_ALARM: f64 = 1e-6;
/// The failure probability of the sets, large enough that misses can be counted.
const ALPHA: f64 = 0.1;

/// The result of an attack on safety or on a confidence set.
#[derive(Debug, Clone, Serialize)]
pub struct Check {
    /// The claim.
    pub claim: String,
    /// The attack.
    pub attack: String,
    /// The results for the original width and for the shrunk one.
    pub found: String,
    /// Tells whether the claim was not refuted.
    pub held: bool,
    /// Tells whether the shrunk width was detected.
    pub caught: bool,
}

/// All checks; `scale` multiplies the number of histories.
pub fn checks(scale: f64, seed: u64) -> Result<Vec<Check>> {
    let trials = ((400.0 * scale) as u64).max(150);
    let joint =
        |params: JointParams| move |seed: u64, shrink: f64| joint_history(&params, seed, shrink);
    let exact = JointParams {
        rule: bandit::Rule::CERTIFIED.with_failure_probability(ALPHA),
        schedule: Schedule::EveryRound,
        ..JointParams::new(Bounds::unit(2), 8.0, 1e-2, Some(60))
    };
    let published = Published::new(Problem::unit(2), 8.0, 1e-2, ALPHA, 60)?
        .params(PublishedNoise::GaussianTree)?;
    let mut all = vec![
        coverage("the joint learner's tight set", trials, seed, 0.1, joint(exact))?,
        coverage("the set of Proposition 4 of paper 1", trials, seed, 0.02, joint(published))?,
        coverage("OnlineUCB's proved set", trials, seed, 1e-3, online_history)?,
        coverage("the safe coordinator's sets", trials, seed, 0.1, safe_history)?,
    ];
    all.push(worst_parameters(seed)?);
    all.push(violations(((60.0 * scale) as u64).max(30), seed)?);
    Ok(all)
}

/// Counts histories in which the set misses theta* at least once, for the original set and for the shrunk one.
fn coverage(
    set: &str,
    trials: u64,
    seed: u64,
    shrink: f64,
    misses: impl Fn(u64, f64) -> Result<bool> + Sync,
) -> Result<Check> {
    let count = |shrink: f64| -> Result<u64> {
        let seeds: Vec<u64> = (0..trials).map(|trial| mix(seed, trial)).collect();
        let missed = in_parallel(&seeds, |_, _| {}, |&seed| misses(seed, shrink))?;
        Ok(missed.into_iter().filter(|missed| *missed).count() as u64)
    };
    let (whole, shrunk) = (count(1.0)?, count(shrink)?);
    Ok(Check {
        claim: format!("theta* lies in {set} in all rounds with probability {}", 1.0 - ALPHA),
        attack: "theta* at its bound, rewards of plus or minus 1".into(),
        found: format!("{whole} of {trials} histories missed; {shrunk} with {shrink} of the width"),
        held: !too_many(whole, trials, ALPHA),
        caught: too_many(shrunk, trials, ALPHA),
    })
}

/// Tells whether this many failures or more have probability below 1e-6 if each has at most `rate`.
fn too_many(failures: u64, trials: u64, rate: f64) -> bool {
    failures > 0
        && incomplete_beta(failures as f64, (trials - failures) as f64 + 1.0, rate) < FALSE_ALARM
}

/// Tells whether a policy, its bonus multiplied by `shrink`, has an upper confidence bound below the true reward in some direction.
fn misses(policy: &Policy, theta: &[f64], shrink: f64) -> Result<bool> {
    let policy = Policy::from_parts(
        policy.theta().to_vec(),
        policy.whitening().to_vec(),
        shrink * policy.width(),
        shrink * policy.drift(),
    )?;
    let error: Vec<f64> = theta.iter().zip(policy.theta()).map(|(t, e)| t - e).collect();
    // 32 directions, and that of the error itself.
    let circle = (0..32).map(|step| {
        let angle = std::f64::consts::TAU * f64::from(step) / 32.0;
        vec![angle.cos(), angle.sin()]
    });
    let length = error.iter().map(|e| e * e).sum::<f64>().sqrt().max(1e-300);
    let own = std::iter::once(error.iter().map(|e| e / length).collect::<Vec<f64>>());
    Ok(circle.chain(own).any(|x| {
        let truth: f64 = theta.iter().zip(&x).map(|(t, x)| t * x).sum();
        truth > policy.bound(&x) + 1e-12
    }))
}

fn plus_or_minus(mean: f64, noise: &mut FastNoise) -> f64 {
    if noise.uniform() < 0.5 * (1.0 + mean) { 1.0 } else { -1.0 }
}

fn joint_history(params: &JointParams, seed: u64, shrink: f64) -> Result<bool> {
    let mut noise = FastNoise::seeded(seed);
    let theta = uniform_direction(2, &mut noise);
    let mut learner = params.check()?.start(FastNoise::seeded(noise.bits()));
    for _ in 0..params.horizon.unwrap_or(60) {
        let rows: Vec<Vec<f64>> = (0..4).map(|_| uniform_direction(2, &mut noise)).collect();
        let arms = Arms::from_rows(2, &rows)?;
        let decision = learner.decide(&arms)?;
        let mean: f64 = rows[decision.arm].iter().zip(&theta).map(|(x, t)| x * t).sum();
        learner.observe(decision.ticket, plus_or_minus(mean.clamp(-1.0, 1.0), &mut noise))?;
        if misses(learner.policy(), &theta, shrink)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn online_history(seed: u64, shrink: f64) -> Result<bool> {
    const ROUNDS: u64 = 200;
    let mut noise = FastNoise::seeded(seed);
    let theta = uniform_direction(2, &mut noise);
    let randomizer = FeatureRewardParams::new(Bounds::unit(2), 8.0, 1e-2);
    // Fresh arms on the circle: E x x^T = I/2 given any history that plays them uniformly, as here.
    let mut params = online_ucb::literal(randomizer, ROUNDS, 0.5)?;
    if let Width::Proved(assumptions) = params.width {
        params.width = Width::Proved(Assumptions { alpha: ALPHA / 6.0, ..assumptions });
    }
    let mut server = params.check()?;
    for _ in 0..ROUNDS {
        let x = uniform_direction(2, &mut noise);
        let mean: f64 = x.iter().zip(&theta).map(|(x, t)| x * t).sum();
        let reward = plus_or_minus(mean.clamp(-1.0, 1.0), &mut noise);
        let report = server.randomizer().report(&x, reward, &mut noise)?;
        server.absorb(&report)?;
        if misses(server.policy(), &theta, shrink)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Three agents, two coordinates each, true parameters at their bound: the coordinator's information, and the true parameters.
struct Grid {
    polytope: Polytope,
    thetas: Vec<Vec<f64>>,
    coordinator: Coordinator<FastNoise>,
    agents: Vec<Agent<FastNoise>>,
    /// `sum x x^T + nu I` of every agent, as upper triangles.
    gram: Vec<[f64; 3]>,
    noise: FastNoise,
}

const RESPONSE_NOISE: f64 = 0.05;
const PARAMETER_BOUND: f64 = 1.0;

impl Grid {
    fn new(rule: Rule, confidence: Confidence, seed: u64) -> Result<Self> {
        let polytope = Simplex::new(&[1.0, 0.5, 0.8])?.polytope()?;
        let privacy = ResponsePrivacy::Budget { epsilon: 30.0, delta: 1e-5, responses: None };
        let agents = (0..3)
            .map(|axis| {
                let known = (PARAMETER_BOUND, 2.0, RESPONSE_NOISE);
                AgentParams::on_axis(&polytope, axis, 2, known, privacy.clone())
            })
            .collect::<reticent::Result<Vec<_>>>()?;
        let objective = Objective::Linear { weights: vec![1.0, 0.7, 0.9] };
        let params = CoordinatorParams {
            rule,
            confidence,
            failure: ALPHA,
            parameter_ball: rule == Rule::Roful,
            ..CoordinatorParams::new(polytope.clone(), objective, agents)
        };
        let plan = params.check()?;
        let mut noise = FastNoise::seeded(seed);
        let thetas = (0..3).map(|_| uniform_direction(2, &mut noise)).collect();
        let agents = plan.agents().iter().enumerate();
        let agents =
            agents.map(|(m, agent)| agent.start(m, FastNoise::seeded(noise.bits()))).collect();
        let nu = params.regularizer;
        let coordinator = plan.start(FastNoise::seeded(noise.bits()));
        Ok(Grid { polytope, thetas, coordinator, agents, gram: vec![[nu, 0.0, nu]; 3], noise })
    }

    /// One round; returns the actions and the true mean responses.
    fn round(&mut self) -> Result<(Vec<Vec<f64>>, Vec<f64>)> {
        let decision = self.coordinator.decide()?;
        let means: Vec<f64> =
            decision.actions.iter().zip(&self.thetas).map(|(x, t)| dot(x, t)).collect();
        for (m, agent) in self.agents.iter_mut().enumerate() {
            let sign = if self.noise.bits() & 1 == 0 { 1.0 } else { -1.0 };
            let response = means[m] + sign * RESPONSE_NOISE;
            self.coordinator.absorb(&agent.report(decision.ticket, response)?)?;
            let x = &decision.actions[m];
            self.gram[m][0] += x[0] * x[0];
            self.gram[m][1] += x[0] * x[1];
            self.gram[m][2] += x[1] * x[1];
        }
        Ok((decision.actions, means))
    }

    /// Estimate, width and factor of one agent's set.
    fn set(&self, agent: usize) -> Option<(Vec<f64>, f64, Cholesky)> {
        let (theta, width) = self.coordinator.estimate(agent)?;
        Some((theta.to_vec(), width, Cholesky::of(2, &self.gram[agent], 0.0)?))
    }
}

fn dot(one: &[f64], two: &[f64]) -> f64 {
    one.iter().zip(two).map(|(a, b)| a * b).sum()
}

fn safe_history(seed: u64, shrink: f64) -> Result<bool> {
    let mut grid = Grid::new(Rule::Roful, Confidence::Tight, seed)?;
    for _ in 0..100 {
        grid.round()?;
        for agent in 0..3 {
            let Some((theta, width, factor)) = grid.set(agent) else { continue };
            let error: Vec<f64> =
                theta.iter().zip(&grid.thetas[agent]).map(|(e, t)| e - t).collect();
            // ||L^T e||^2 = ||e||_G^2.
            let lower = factor.lower();
            let (a, b) = (lower[0] * error[0] + lower[1] * error[1], lower[2] * error[1]);
            if a.hypot(b) > shrink * width {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// For every decision and every row, the parameters of the sets (and of the ball, if the check relies on it) that use most of the row.
fn worst_parameters(seed: u64) -> Result<Check> {
    let (mut decisions, mut worst, mut shrunk) = (0_u64, f64::NEG_INFINITY, f64::NEG_INFINITY);
    for (rule, trial) in [(Rule::Ofu, 0), (Rule::Roful, 1), (Rule::Ofu, 2), (Rule::Roful, 3)] {
        let mut grid = Grid::new(rule, Confidence::Tight, mix(seed, trial))?;
        for _ in 0..150 {
            let sets: Vec<_> = (0..3).map(|agent| grid.set(agent)).collect();
            let (actions, _) = grid.round()?;
            decisions += 1;
            let ball = (rule == Rule::Roful).then_some(PARAMETER_BOUND);
            worst = worst.max(excess(&grid.polytope, &sets, &actions, ball, 1.0));
            // A check with sets a quarter narrower would accept decisions that violate the rows in these wider sets.
            shrunk = shrunk.max(excess(&grid.polytope, &sets, &actions, None, 1.25));
        }
    }
    Ok(Check {
        claim: "no parameter in the confidence sets makes a decision unsafe".into(),
        attack: format!("the worst parameters of every row, in each of {decisions} decisions"),
        found: format!(
            "largest excess over a row {worst:.1e}; {shrunk:.1e} in sets a quarter wider"
        ),
        held: worst <= 1e-9,
        caught: shrunk > 1e-3,
    })
}

/// By how much the worst parameters exceed the worst row.
fn excess(
    polytope: &Polytope,
    sets: &[Option<(Vec<f64>, f64, Cholesky)>],
    actions: &[Vec<f64>],
    ball: Option<f64>,
    widen: f64,
) -> f64 {
    let row_excess = |(row, bound): (&Vec<f64>, &f64)| {
        let agents = row.iter().zip(sets).zip(actions);
        let used: f64 = agents
            .map(|((a, set), x)| {
                let Some((theta, width, factor)) = set else { return 0.0 };
                let Ok(white) = factor.forward(x) else { return 0.0 };
                let reach = widen * width * dot(&white, &white).sqrt();
                let most = a * dot(theta, x) + a.abs() * reach;
                // The excess over the intersection with the ball is at most the smaller of the two.
                ball.map_or(most, |s| most.min(a.abs() * s * dot(x, x).sqrt()))
            })
            .sum();
        used - bound
    };
    let rows = polytope.rows().iter().zip(polytope.bounds());
    rows.map(row_excess).fold(f64::NEG_INFINITY, f64::max)
}

/// The number of histories in which true mean responses leave the safe set at least once.
fn violations(trials: u64, seed: u64) -> Result<Check> {
    let count = |confidence: Confidence| -> Result<u64> {
        let jobs: Vec<u64> = (0..trials).collect();
        let unsafe_ones = in_parallel(
            &jobs,
            |_, _| {},
            |&trial| {
                let rule = if trial % 2 == 0 { Rule::Ofu } else { Rule::Roful };
                let mut grid = Grid::new(rule, confidence, mix(seed ^ 0x5afe, trial))?;
                let mut monitor = Monitor::new(grid.polytope.clone());
                for _ in 0..200 {
                    let (_, means) = grid.round()?;
                    monitor.watch(&means)?;
                }
                Ok(monitor.violations() > 0)
            },
        )?;
        Ok(unsafe_ones.into_iter().filter(|violated| *violated).count() as u64)
    };
    let (tight, shrunk) = (count(Confidence::Tight)?, count(Confidence::Scaled(0.03))?);
    Ok(Check {
        claim: format!(
            "a safe coordinator leaves the safe set in a share {ALPHA} of histories at most"
        ),
        attack: "true parameters at their bound in random directions, noise of plus or minus R"
            .into(),
        found: format!("{tight} of {trials} histories unsafe; {shrunk} with 0.03 of the width"),
        held: !too_many(tight, trials, ALPHA),
        caught: too_many(shrunk, trials, ALPHA),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_cover_decisions_are_safe_and_shrunk_widths_are_caught() {
        for check in checks(0.4, 1).unwrap() {
            assert!(check.held, "{check:?}");
            assert!(check.caught, "{check:?}");
        }
    }

    #[test]
    fn the_alarm_has_its_false_alarm_rate() {
        // scipy.stats.binom.sf(k - 1, 400, 0.1): 71 -> 1.5e-6, 73 -> 3.6e-7.
        assert!(!too_many(40, 400, 0.1) && !too_many(0, 400, 0.1));
        assert!(too_many(80, 400, 0.1));
    }
}
