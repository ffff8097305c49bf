//! `kind = "ofu"` and `kind = "roful"`: from lines in a TOML file to simulated coordinators.

use reticent::{
    noise::Noise,
    privacy::{Guarantee, Mode},
    safe::{
        AgentParams, Confidence, CoordinatorParams, CoordinatorPlan, Monitor, Objective,
        ResponsePrivacy, Rule, Safety,
    },
    schema::{Count, Delta, Positive, Probability},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Algorithm, SafeEnvironment, joint_ball, sup_norm::Relaxed};
use crate::environment::safe::feeder::Readings;
use crate::{
    FastNoise, Result,
    algorithm::{Bound, Card, Certificate, RunnableAlgorithm, Side},
    audit::attack::{self, Attacks},
    papers::constants::safe::{Published, PublishedResponse},
    play::trial::{Checkpoint, Measure, Trial, mix, name_hash},
};

/// Keys of `kind = "ofu"` and `kind = "roful"`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CoordinatorToml {
    /// Name in the report.
    pub name: Option<String>,
    /// Epsilon and delta of an agent at level 1; without it responses are clipped and not protected.
    pub privacy: Option<Budget>,
    /// `exact`, or the publication's classic Gaussian formula.
    #[serde(default)]
    pub mode: Mode,
    /// alpha_m: agent m has epsilon / alpha_m; 1 for everybody without it.
    pub levels: Option<Vec<f64>>,
    /// Sensitivity of a response: each agent's own range, or one number for all.
    #[serde(default)]
    pub sensitivity: Sensitivity,
    /// `tight`, `paper` for (12), or `{ scaled = 0.5 }`: the tight width times a factor, of which anything below 1 is not certified.
    #[serde(default)]
    pub confidence: Confidence,
    /// T'.
    #[serde(default)]
    pub exploration: u64,
    /// Set from which actions of the exploration are drawn.
    #[serde(default)]
    pub exploration_set: ExplorationSet,
    /// The norm in line 18: of OFU with linear objectives.
    #[serde(default)]
    pub optimism: Optimism,
    /// nu.
    #[serde(default = "default_regularizer")]
    #[schemars(with = "Positive")]
    pub regularizer: f64,
    /// delta'.
    #[serde(default = "default_failure")]
    #[schemars(with = "Probability")]
    pub failure: f64,
    /// Tells whether the safety check uses `|<theta, x>| <= S ||x||`; by default with ROFUL only.
    pub parameter_ball: Option<bool>,
}

pub(super) fn default_regularizer() -> f64 {
    0.1
}

pub(super) fn default_failure() -> f64 {
    0.01
}

/// Requested privacy of a response.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// Requested epsilon.
    #[schemars(with = "Positive")]
    pub epsilon: f64,
    /// Requested delta.
    #[schemars(with = "Delta")]
    pub delta: f64,
    /// Number of answers that share this budget; without it every single one has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Count>")]
    pub responses: Option<u64>,
}

/// Set from which actions of the exploration are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExplorationSet {
    /// A sphere for each agent, as large as is safe.
    #[default]
    Spheres,
    /// One ball for all agents together: (21) of the paper.
    JointBall,
}

/// Measure of uncertainty in line 18 of Algorithm 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Optimism {
    /// By its Euclidean norm, as the algorithm says.
    #[default]
    Exact,
    /// By its sup norm, as Appendix E relaxes it.
    SupNorm,
}

/// Sensitivity of a response.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Sensitivity {
    /// The range of the safe set on the agent's own axis, and six deviations of its noise.
    #[default]
    PerAgent,
    /// The same number for all agents; each agent's range is centred in it. With `mode = "paper"` it is the formula's input, whatever
    /// the agent clips to.
    Common(f64),
}

impl CoordinatorToml {
    /// The defaults under a name.
    pub fn named(name: impl Into<String>) -> Self {
        CoordinatorToml {
            name: Some(name.into()),
            privacy: None,
            mode: Mode::Exact,
            levels: None,
            sensitivity: Sensitivity::default(),
            confidence: Confidence::default(),
            exploration: 0,
            exploration_set: ExplorationSet::Spheres,
            optimism: Optimism::Exact,
            regularizer: default_regularizer(),
            failure: default_failure(),
            parameter_ball: None,
        }
    }

    fn agents(&self, environment: &SafeEnvironment) -> Result<Vec<AgentParams>> {
        let count = environment.polytope.dimension();
        let levels = self.levels.clone().unwrap_or(vec![1.0; count]);
        if levels.len() != count {
            let found = levels.len();
            return Err(
                reticent::Error::Dimension { field: "levels", expected: count, found }.into()
            );
        }
        (0..count).map(|axis| self.agent(environment, axis, levels[axis])).collect()
    }

    fn agent(&self, environment: &SafeEnvironment, axis: usize, level: f64) -> Result<AgentParams> {
        let (low, high) = environment.polytope.range(axis)?;
        // What must not be clipped: whatever is safe in the mean, with six deviations of its own noise.
        let (low, high) =
            (low - 6.0 * environment.response_noise, high + 6.0 * environment.response_noise);
        let (lower, upper, sensitivity) = match (self.sensitivity, self.mode) {
            (Sensitivity::PerAgent, _) => (low, high, high - low),
            // The publication's number goes into its formula; the agent clips where it must, and the exact guarantee is that of the clipping.
            (Sensitivity::Common(range), Mode::Paper) => {
                let half = 0.5 * range.max(high - low);
                (0.5 * (low + high) - half, 0.5 * (low + high) + half, range)
            }
            (Sensitivity::Common(range), Mode::Exact) => {
                if !range.is_finite() || range < (high - low) * (1.0 - 1e-12) {
                    let remedy = format!(
                        "agent {axis} may answer anything in {low}..{high}, and clipping it would bias what is learnt; expected at least {}",
                        high - low
                    );
                    return Err(reticent::Error::invalid("sensitivity", range, remedy).into());
                }
                (0.5 * (low + high - range), 0.5 * (low + high + range), range)
            }
        };
        let privacy = match (self.privacy, self.mode) {
            (None, _) => ResponsePrivacy::None,
            (Some(Budget { epsilon, delta, responses }), Mode::Exact) => {
                ResponsePrivacy::Budget { epsilon: epsilon / level, delta, responses }
            }
            (Some(Budget { epsilon, delta, .. }), Mode::Paper) => {
                PublishedResponse { epsilon, delta, sensitivity, level }.privacy()?
            }
        };
        Ok(AgentParams {
            dimension: environment.parameters[axis].len(),
            parameter_bound: environment.parameter_bound,
            action_bound: environment.action_bound,
            response_noise: environment.response_noise,
            lower,
            upper,
            privacy,
        })
    }
}

/// A coordinator and its agents, ready to be simulated.
pub struct SafeAlgorithm {
    card: Card,
    environment: SafeEnvironment,
    plan: CoordinatorPlan,
    /// The most a safe learner can lose in a round.
    worst_round: f64,
    published: Option<Published>,
    levels: Vec<f64>,
    /// Rounds of exploration from the joint ball, and its radius.
    joint_ball: Option<(u64, f64)>,
    /// Choices by the sup norm, before the first round.
    sup_norm: Option<Relaxed>,
}

impl SafeAlgorithm {
    /// The learner, or what stands in its way.
    pub fn new(algorithm: &Algorithm, environment: &SafeEnvironment, rounds: u64) -> Result<Self> {
        let (rule, lines, default_name) = match algorithm {
            Algorithm::Ofu(lines) => (Rule::Ofu, lines, "OFU"),
            Algorithm::Roful(lines) => (Rule::Roful, lines, "ROFUL"),
        };
        let params = CoordinatorParams {
            polytope: environment.polytope.clone(),
            objective: environment.objective.clone(),
            agents: lines.agents(environment)?,
            rule,
            confidence: lines.confidence,
            regularizer: lines.regularizer,
            failure: lines.failure,
            exploration: match lines.exploration_set {
                ExplorationSet::Spheres => lines.exploration,
                // The caller fixes the play.
                ExplorationSet::JointBall => 0,
            },
            parameter_ball: lines.parameter_ball.unwrap_or(rule == Rule::Roful),
        };
        let plan = params.check()?;
        if let Some(Budget { responses: Some(most), .. }) = lines.privacy
            && most < rounds
        {
            let remedy =
                format!("agents answer in every round; expected at least rounds = {rounds}");
            return Err(reticent::Error::invalid("responses", most, remedy).into());
        }
        let mut remarks = vec![plan.safety().to_string()];
        if lines.privacy.is_some() {
            remarks.push(format!(
                "The guarantee is for one response; an agent that answers all {rounds} rounds is protected by the certificate for that many."
            ));
        }
        let worst_round = worst_round(&plan, environment)?;
        let name = lines.name.clone().unwrap_or_else(|| default_name.into());
        let (published, levels) = theory(&plan, lines, environment);
        let attacked = plan.clone();
        let card = Card {
            name,
            guarantee: plan.guarantee()?.map(Guarantee::simulated),
            certificates: certificates(&plan, rounds)?,
            attacks: Attacks::new(move || attack::safe::attacks(&attacked, rounds)),
            remarks,
            ..Card::default()
        };
        let joint_ball = match lines.exploration_set {
            ExplorationSet::Spheres => None,
            ExplorationSet::JointBall => {
                let SafeEnvironment { polytope, parameter_bound, action_bound, .. } = environment;
                let radius = joint_ball::radius(polytope, *parameter_bound, *action_bound);
                let remedy = "no ball around 0 is known to be safe (a bound is 0): set it to 0";
                let refused = lines.exploration > 0 && radius <= 0.0;
                reticent::refuse_if(refused, "exploration", lines.exploration, remedy)?;
                Some((lines.exploration, radius))
            }
        };
        let sup_norm = match (lines.optimism, rule, &environment.objective) {
            (Optimism::Exact, ..) => None,
            (Optimism::SupNorm, Rule::Ofu, Objective::Linear { weights }) => {
                Some(Relaxed::new(plan.params(), weights))
            }
            (Optimism::SupNorm, ..) => {
                let remedy = "line 18 is of OFU with a linear objective: leave it out";
                return Err(reticent::Error::invalid("optimism", "sup_norm", remedy).into());
            }
        };
        let environment = environment.clone();
        Ok(SafeAlgorithm {
            card,
            environment,
            plan,
            worst_round,
            published,
            levels,
            joint_ball,
            sup_norm,
        })
    }

    /// The plan behind it.
    pub fn plan(&self) -> &CoordinatorPlan {
        &self.plan
    }
}

/// The best value less the worst: each part of the objective is concave, so it is least at an end of its agent's range.
fn worst_round(plan: &CoordinatorPlan, environment: &SafeEnvironment) -> Result<f64> {
    let agents = environment.polytope.dimension();
    let nothing = environment.objective.value(&vec![0.0; agents]);
    let best = plan.clone().start(FastNoise::seeded(0)).best_responses().1;
    let mut worst = nothing;
    for agent in 0..agents {
        let (low, high) = environment.polytope.range(agent)?;
        let alone = |y: f64| {
            let mut responses = vec![0.0; agents];
            responses[agent] = y;
            environment.objective.value(&responses) - nothing
        };
        worst += alone(low).min(alone(high));
    }
    Ok(best - worst)
}

/// Theorem 2's constants, where all agents have noise: sigma is that of the loudest agent.
fn theory(
    plan: &CoordinatorPlan,
    lines: &CoordinatorToml,
    environment: &SafeEnvironment,
) -> (Option<Published>, Vec<f64>) {
    let deviations: Vec<f64> = plan.agents().iter().map(|agent| agent.deviation()).collect();
    let sigma = deviations.iter().fold(0.0, |most: f64, sigma| most.max(*sigma));
    // A list of corners is needed: few agents only.
    if sigma == 0.0 || plan.exploration_eigenvalue() <= 0.0 || environment.polytope.dimension() > 8
    {
        return (None, Vec::new());
    }
    let limits: Vec<f64> = plan
        .agents()
        .iter()
        .map(|agent| agent.params().lower.abs().max(agent.params().upper.abs()))
        .collect();
    let published = Published {
        dimension: environment.parameters[0].len(),
        lipschitz: environment.objective.lipschitz(&limits),
        action_bound: environment.action_bound,
        parameter_bound: environment.parameter_bound,
        response_noise: environment.response_noise,
        sigma,
        eigenvalue: plan.exploration_eigenvalue(),
        regularizer: lines.regularizer,
        failure: lines.failure,
    };
    (Some(published), deviations.iter().map(|deviation| deviation / sigma).collect())
}

/// One certificate for each group of agents with the same promise: for one response, and for answering every round.
fn certificates(plan: &CoordinatorPlan, rounds: u64) -> Result<Vec<Certificate>> {
    let mut groups: Vec<(Vec<usize>, Guarantee)> = Vec::new();
    for (index, agent) in plan.agents().iter().enumerate() {
        let Some(guarantee) = agent.guarantee()? else { continue };
        let same = |group: &&mut (Vec<usize>, Guarantee)| {
            group.1.epsilon_text() == guarantee.epsilon_text()
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.0.push(index),
            None => groups.push((vec![index], guarantee)),
        }
    }
    let mut all = Vec::new();
    for (members, guarantee) in groups {
        let whom = if members.len() == 1 {
            format!("agent {}", members[0])
        } else {
            format!(
                "{} agents from {} to {}",
                members.len(),
                members[0],
                members[members.len() - 1]
            )
        };
        let person = plan.agents()[members[0]].guarantee_of(rounds)?;
        all.push(Certificate {
            whom: format!("{whom}, one response"),
            guarantee: guarantee.simulated(),
        });
        if let Some(person) = person.filter(|_| rounds > 1) {
            all.push(Certificate {
                whom: format!("{whom}, answering all {rounds} rounds"),
                guarantee: person.simulated(),
            });
        }
    }
    Ok(all)
}

impl crate::algorithm::sealed::Sealed for SafeAlgorithm {}

impl RunnableAlgorithm for SafeAlgorithm {
    fn card(&self) -> &Card {
        &self.card
    }

    fn bounds(&self, rounds: u64) -> Vec<Bound> {
        let Some(published) = &self.published else { return Vec::new() };
        let Ok(bound) = published.regret(&self.environment.polytope, &self.levels, rounds) else {
            return Vec::new();
        };
        vec![Bound {
            theorem: "Theorem 2 (with the T' it asks for)".into(),
            side: Side::Upper,
            value: bound.total,
            trivial: self.worst_round * rounds as f64,
        }]
    }

    fn trial(&self, seed: u64, trial: u64, checkpoints: &[u64]) -> Result<Trial> {
        let base = mix(mix(seed, trial), name_hash(self.name()));
        // All responses vary alike in trial t, with any coordinator.
        let mut responses = FastNoise::seeded(mix(seed, trial));
        let mut agents: Vec<_> = self
            .plan
            .agents()
            .iter()
            .enumerate()
            .map(|(index, agent)| agent.start(index, FastNoise::seeded(mix(base, index as u64))))
            .collect();
        let mut coordinator = self.plan.clone().start(FastNoise::seeded(base));
        let best = coordinator.best_responses().1;
        let mut monitor = Monitor::new(self.environment.polytope.clone());
        let (mut regret, mut gap, mut fallbacks) = (0.0, 0.0_f64, 0_u64);
        let mut readings: Option<Readings> = None;
        let mut curve = Vec::with_capacity(checkpoints.len());
        let rounds = checkpoints.last().copied().unwrap_or(0);
        let mut next = checkpoints.iter().copied().peekable();
        let gauge = crate::play::watch::Gauge::current();
        let dimensions: Vec<usize> = self.environment.parameters.iter().map(Vec::len).collect();
        let mut relaxed = self.sup_norm.clone();
        let mut explorer = FastNoise::seeded(mix(base, u64::MAX));
        for round in 1..=rounds {
            gauge.reached(round - 1)?;
            let decision = match self.joint_ball.filter(|(most, _)| round <= *most) {
                Some((_, radius)) => {
                    coordinator.decide_on(joint_ball::sample(radius, &dimensions, &mut explorer))?
                }
                None => match relaxed.as_ref().map(|own| own.actions(&coordinator)).transpose()? {
                    Some(Some(actions)) => coordinator.decide_on(actions)?,
                    _ => coordinator.decide()?,
                },
            };
            relaxed.iter_mut().for_each(|own| own.play(&decision.actions));
            let means = self.environment.means(&decision.actions);
            monitor.watch(&means)?;
            if let Some(feeder) = &self.environment.feeder {
                let now = feeder.readings(&means);
                readings = Some(readings.map_or(now, |before| before.and_then(now)));
            }
            regret += best - self.environment.objective.value(&means);
            if !decision.exploration && decision.upper_bound.is_finite() {
                gap = gap.max(decision.gap());
            }
            fallbacks += u64::from(matches!(decision.safety, Safety::Fallback { .. }));
            for (agent, mean) in agents.iter_mut().zip(&means) {
                let response = mean + self.environment.response_noise * responses.standard_normal();
                coordinator.absorb(&agent.report(decision.ticket, response)?)?;
            }
            if next.next_if_eq(&round).is_some() {
                curve.push(Checkpoint { round, regret });
            }
        }
        let clipped: u64 = agents.iter().map(|agent| agent.clipped()).sum();
        let mut measures = vec![
            ("safety violations", monitor.violations() as f64),
            ("largest excess over a limit", monitor.worst_excess()),
            ("largest certified gap of a decision", gap),
            ("fallbacks to doing nothing", fallbacks as f64),
            ("clipped responses", clipped as f64),
            ("regret of doing nothing", best_over_nothing(self, best) * rounds as f64),
        ];
        if let Some(readings) = readings {
            measures.extend([
                ("taken up in the last round, kW", readings.taken_up_kw),
                ("highest loading of the transformer, %", readings.transformer_percent),
                ("lowest voltage at a far end, V", readings.far_end_volts),
                ("largest phase unbalance, kW", readings.unbalance_kw),
            ]);
        }
        let measures = measures.into_iter().map(|(what, value)| Measure { what, value }).collect();
        Ok(Trial { curve, measures })
    }
}

fn best_over_nothing(learner: &SafeAlgorithm, best: f64) -> f64 {
    best - learner.environment.objective.value(&vec![0.0; learner.environment.polytope.dimension()])
}
