//! `reticent plan`: the lines of a plan file, and the plan in words.

use std::{fmt::Write, path::Path};

use reticent::{
    error::message,
    privacy::{Mode, gaussian},
    safe::Objective,
    schema::{Count, Delta, NotNegative, Positive, Probability},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Feeder, SafeSetToml,
    planner::{AgentPrivacy, Plan, PlanParams},
};
use crate::{Error, Result};

/// The lines of a plan file.
///
/// ```
/// let plan = reticent_lab::algorithm::safe::PlanFile::parse(r#"
///     safe_set = { simplex = [1.0, 0.25, 0.5] }
///     objective = { linear = { weights = [0.8, 0.1, 0.1] } }
///     dimension = 3
///     parameter_bound = 0.5
///     action_bound = 2.0
///     response_noise = 0.001
///     horizon = 30_000
///     sigma = 0.4053
///     levels = [1.0, 0.25, 0.5]
/// "#)?.plan()?;
/// assert!(plan.vacuous);
/// # Ok::<(), reticent_lab::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanFile {
    /// Y: rows and bounds, a file, or a simplex; or a feeder.
    pub safe_set: Option<SafeSetToml>,
    /// A low-voltage feeder, whose objective is to raise as much load as it can.
    pub feeder: Option<Feeder>,
    /// f.
    pub objective: Option<Objective>,
    /// d.
    #[schemars(with = "Count")]
    pub dimension: usize,
    /// S.
    #[schemars(with = "Positive")]
    pub parameter_bound: f64,
    /// K.
    #[schemars(with = "Positive")]
    pub action_bound: f64,
    /// R.
    #[schemars(with = "NotNegative")]
    pub response_noise: f64,
    /// nu.
    #[serde(default = "super::coordinator::default_regularizer")]
    #[schemars(with = "Positive")]
    pub regularizer: f64,
    /// delta'.
    #[serde(default = "super::coordinator::default_failure")]
    #[schemars(with = "Probability")]
    pub failure: f64,
    /// T.
    #[schemars(with = "Count")]
    pub horizon: u64,
    /// sigma of an agent at level 1; or a budget.
    pub sigma: Option<f64>,
    /// The budget of an agent at level 1, and the sensitivity it is for.
    pub privacy: Option<BaseBudget>,
    /// delta of the agents' guarantees.
    #[serde(default = "default_delta")]
    #[schemars(with = "Probability")]
    pub delta: f64,
    /// alpha_m, one per agent, or one for all; by default 1.
    #[serde(default = "default_levels")]
    pub levels: Vec<f64>,
    /// U: the regret budget on r(a).
    pub budget: Option<f64>,
}

/// Noise of each agent: by sigma or by epsilon.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BaseBudget {
    /// Epsilon.
    #[schemars(with = "Positive")]
    pub epsilon: f64,
    /// Delta.
    #[schemars(with = "Delta")]
    pub delta: f64,
    /// Sensitivity of the response.
    #[schemars(with = "Positive")]
    pub sensitivity: f64,
    /// `exact`, or the publication's classic formula.
    #[serde(default)]
    pub mode: Mode,
}

fn default_levels() -> Vec<f64> {
    vec![1.0]
}

fn default_delta() -> f64 {
    1e-5
}

impl PlanFile {
    /// Reads a plan file.
    pub fn parse(text: &str) -> Result<Self> {
        crate::parse_lines(text)
    }

    /// The same with the path of its safe set, which is relative to this folder, for a program that runs elsewhere.
    pub fn beside(mut self, folder: &Path) -> Self {
        if let Some(file) = self.safe_set.as_mut().and_then(|set| set.file.as_mut()) {
            *file = folder.join(&*file).to_string_lossy().into_owned();
        }
        self
    }

    /// The plan, or what stands in its way.
    pub fn plan(&self) -> Result<Plan> {
        const ONE: &str = "none or both";
        let choose = |field: &str, value: &str, remedy: &str| Error::Experiment {
            reason: message(field, value, remedy),
        };
        let polytope = match (&self.safe_set, &self.feeder) {
            (Some(lines), None) => lines.polytope()?,
            (None, Some(feeder)) => feeder.polytope()?,
            _ => return Err(choose("safe_set, feeder", ONE, "expected exactly one of them")),
        };
        let agents = polytope.dimension();
        let objective = match (&self.objective, &self.feeder) {
            (Some(objective), _) => objective.clone(),
            (None, Some(_)) => Objective::Linear { weights: vec![1.0; agents] },
            (None, None) => return Err(choose("objective", "missing", "add one")),
        };
        let sigma = match (self.sigma, self.privacy) {
            (Some(sigma), None) => sigma,
            (None, Some(BaseBudget { epsilon, delta, sensitivity, mode: Mode::Exact })) => {
                gaussian::sigma(epsilon, delta, sensitivity, 1)?
            }
            (None, Some(BaseBudget { epsilon, delta, sensitivity, mode: Mode::Paper })) => {
                gaussian::classic_sigma(epsilon, delta, sensitivity, Mode::Paper)?
            }
            _ => return Err(choose("sigma, privacy", ONE, "expected exactly one of them")),
        };
        // One level stands for everybody.
        let levels = match self.levels.as_slice() {
            [level] => vec![*level; agents],
            levels => levels.to_vec(),
        };
        let params = PlanParams {
            polytope,
            objective,
            dimension: self.dimension,
            parameter_bound: self.parameter_bound,
            action_bound: self.action_bound,
            response_noise: self.response_noise,
            regularizer: self.regularizer,
            failure: self.failure,
            horizon: self.horizon,
            sigma,
            delta: self.delta,
            levels,
            budget: self.budget,
        };
        Ok(params.check()?)
    }
}

/// The plan for a person.
pub fn plan_text(file: &PlanFile, plan: &Plan) -> String {
    let mut text = String::new();
    let mut line = |what: &str, value: String| {
        let _ = writeln!(text, "{what:<42} {value}");
    };
    line("agents, rows", format!("{}, {}", plan.agents, plan.rows));
    if !plan.redundant_rows.is_empty() {
        line("redundant rows", format!("{:?}", plan.redundant_rows));
    }
    let corners = plan.vertices.map_or("too many to list".into(), |count| count.to_string());
    line("corners", corners);
    line("maximum shrinkage H", format!("{:.6}", plan.maximum_shrinkage));
    if let Some(sharpness) = plan.sharpness {
        line("sharpness per unit of shrinkage", format!("{sharpness:.4}"));
    }
    line("best safe value", format!("{:.6}", plan.best_value));
    line(
        "exploration eigenvalue",
        format!(
            "{:.3e} (the paper's joint ball: {:.3e})",
            plan.exploration_eigenvalue, plan.joint_ball_eigenvalue
        ),
    );
    line("regret of doing nothing", format!("{:.1}", plan.regret_of_doing_nothing));
    match &plan.regret {
        Some(bound) => {
            let vacuous = if plan.vacuous { "  VACUOUS: doing nothing is better" } else { "" };
            line("Theorem 2 at the horizon", format!("{:.4e}{vacuous}", bound.total));
            let exceeds = if bound.exploration_exceeds_horizon {
                format!(", more than the horizon of {}", file.horizon)
            } else {
                String::new()
            };
            line("  exploration T' it asks for", format!("{:.3e}{exceeds}", bound.exploration));
        }
        None => line("Theorem 2 at the horizon", "not computed: too many corners".into()),
    }
    text.push('\n');
    agent_table(&mut text, "As given", &plan.given, file);
    let Some(simplex) = &plan.simplex else {
        text.push_str(
            "Theorem 3 speaks of the paper's simplex only: no unimprovable vector here.\n",
        );
        return text;
    };
    let _ = writeln!(
        text,
        "r(a) of these levels {:.6}; at the horizon r(a) (T^2 ln T)^(1/3) = {:.3e}\nbudget U {:.6}; the smallest feasible one {:.6}\n",
        simplex.rate, simplex.rate_at_horizon, simplex.budget, simplex.smallest_budget
    );
    let title = format!("Unimprovable (Theorem 3), r(a*) = {:.6}", simplex.unimprovable_rate);
    agent_table(&mut text, &title, &simplex.unimprovable, file);
    let _ = writeln!(text, "Ten percent more noise for one agent alone");
    let _ = writeln!(
        text,
        "{:>6} {:>10} {:>10} {:>12} {:>10}",
        "agent", "level", "epsilon", "r(a)", "over U"
    );
    for change in &simplex.unilateral {
        let _ = writeln!(
            text,
            "{:>6} {:>10.4} {:>10.4} {:>12.6} {:>9.4}x",
            change.agent, change.level, change.epsilon, change.rate, change.over_budget
        );
    }
    text
}

fn agent_table(text: &mut String, title: &str, agents: &[AgentPrivacy], file: &PlanFile) {
    let _ = writeln!(text, "{title}; epsilon at delta = {:e}", file.delta);
    let _ = writeln!(
        text,
        "{:>6} {:>10} {:>10} {:>12} {:>14} {:>18}",
        "agent", "level", "sigma", "sensitivity", "one response", "all rounds"
    );
    // Agents in a row with the same numbers share a line.
    let numbers = |agent: &AgentPrivacy| {
        format!(
            "{:>10.4} {:>10.4} {:>12.4} {:>14.4} {:>18.1}",
            agent.level, agent.sigma, agent.sensitivity, agent.epsilon, agent.epsilon_all_rounds
        )
    };
    let mut first = 0;
    while first < agents.len() {
        let line = numbers(&agents[first]);
        let same = agents[first..].iter().take_while(|agent| numbers(agent) == line).count();
        let whom = match same {
            1 => first.to_string(),
            _ => format!("{first}-{}", first + same - 1),
        };
        let _ = writeln!(text, "{whom:>6} {line}");
        first += same;
    }
    text.push('\n');
}
