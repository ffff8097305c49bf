//! The coordinator: chooses actions for all agents, seeing private reports only, so that mean responses stay safe from the first round.
//!
//! ```text
//! decide:  estimates -> confidence sets -> optimistic choice -> pessimistic check -> (ticket, actions)
//! observe: report -> regression of that agent
//! ```
//!
//! Algorithm 1 of paper 3 (OFU) and ROFUL share everything but the choice. **Guarantee.** With probability `1 - delta'` every true
//! parameter lies in its confidence set in all rounds, and then every action that leaves satisfies `Theta* X in Y`: each is checked
//! against all parameters in the sets before it leaves, by other arithmetic than that which found it. What fails the check is
//! scaled back; what cannot be judged is replaced by doing nothing, which is always safe, with the reason.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{
    AgentParams, AgentPlan, AgentReport, Estimate, Objective, SafetyCertificate,
    directional::Target, estimate::AgentWidth, exploration, optimum::Optimizer, reach::Reach,
};
use crate::{
    Error, Result,
    error::finite_vector,
    noise::{Noise, uniform_direction},
    refuse_if, wire,
};

mod params;

pub use params::{CoordinatorParams, CoordinatorPlan, Rule};

/// Bound on the rounding error in a row's sum, relative to its terms.
const ROUNDING: f64 = 1e-12;

impl CoordinatorPlan {
    /// Starts with no reports; `noise` is for first directions and exploration only and protects no person.
    pub fn start<N: Noise>(self, mut noise: N) -> Coordinator<N> {
        let params = self.params.clone();
        let mut estimate = |agent: &AgentParams| {
            Estimate::new(params.regularizer, uniform_direction(agent.dimension, &mut noise))
        };
        let estimates = params.agents.iter().map(&mut estimate).collect();
        let state = State { params, estimates, open: BTreeMap::new(), next: 0, noise };
        Coordinator::build(state, self)
    }
}

/// Ticket that a report answers, so that reports may come late, in any order, or never. Their presence and time must not depend on
/// the responses, or the guarantee does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Ticket(#[serde(with = "wire::count")] u64);

impl Ticket {
    /// The ticket of a coordinator's first decision.
    pub fn first() -> Self {
        Ticket(0)
    }

    /// The ticket of this number: for those who keep tickets elsewhere.
    pub fn numbered(number: u64) -> Self {
        Ticket(number)
    }

    /// Its number, which no other ticket of the coordinator has.
    pub fn number(self) -> u64 {
        self.0
    }
}

/// Effect of the pessimistic check on an action.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Safety {
    /// It left as chosen.
    Safe,
    /// It was scaled back until this row was no longer exceeded.
    Scaled {
        /// Factor that all actions were multiplied by.
        factor: f64,
        /// The row that decided.
        row: usize,
    },
    /// Nothing is played, which is always safe.
    Fallback {
        /// Reason of the fall-back.
        reason: String,
    },
}

/// Actions for all agents.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Decision {
    /// To be handed back with every report.
    pub ticket: Ticket,
    /// One action per agent.
    pub actions: Vec<Vec<f64>>,
    /// The round was spent on pure exploration.
    pub exploration: bool,
    /// Value of the actions that leave, for the best parameters in the confidence sets; for ROFUL, the value of its target.
    pub optimistic_value: f64,
    /// No choice (for ROFUL, no target) is worth more: proved by prices. Infinite for exploration, which proves nothing.
    pub upper_bound: f64,
    /// Effect of the safety check.
    pub safety: Safety,
    /// The largest share of a row's bound that the worst parameters could use; at most 1.
    pub usage: f64,
}

impl Decision {
    /// Gap between the actions that leave (for ROFUL, its target) and the optimum: certified, not estimated. Infinite where nothing
    /// is certified: in exploration, and after a fallback.
    pub fn gap(&self) -> f64 {
        let gap = self.upper_bound - self.optimistic_value;
        if gap.is_nan() || self.exploration || matches!(self.safety, Safety::Fallback { .. }) {
            return f64::INFINITY;
        }
        gap.max(0.0)
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct State<N> {
    params: CoordinatorParams,
    estimates: Vec<Estimate>,
    /// Actions not answered by all agents yet; an agent's is taken out when it has answered.
    open: BTreeMap<u64, Vec<Option<Vec<f64>>>>,
    next: u64,
    noise: N,
}

/// The coordinator's part.
#[derive(Debug)]
pub struct Coordinator<N> {
    state: State<N>,
    agents: Vec<AgentPlan>,
    radii: Vec<f64>,
    certificate: SafetyCertificate,
    rules: Vec<AgentWidth>,
    /// S K.
    limits: Vec<f64>,
    /// Limits on the agent by the rows that speak of it alone.
    own_limits: Vec<(f64, f64)>,
    target: Target,
    optimizer: Optimizer,
}

impl<N: Noise> Coordinator<N> {
    /// Everything that follows from the state.
    fn build(state: State<N>, plan: CoordinatorPlan) -> Self {
        let CoordinatorPlan { agents, radii, certificate, .. } = plan;
        let params = &state.params;
        let odds = params.agents.len() as f64 / params.failure;
        let rule = |(agent, plan): (&AgentParams, &AgentPlan)| AgentWidth {
            confidence: params.confidence,
            noise: plan.report_noise(),
            parameter_bound: agent.parameter_bound,
            action_bound: agent.action_bound,
            regularizer: params.regularizer,
            odds,
        };
        let rules = params.agents.iter().zip(&agents).map(rule).collect();
        let limits: Vec<f64> =
            params.agents.iter().map(|agent| agent.parameter_bound * agent.action_bound).collect();
        let target = Target::new(&params.polytope, &params.objective, &limits);
        let own_limits = (0..limits.len()).map(|m| params.polytope.own_limits(m)).collect();
        let optimizer = Optimizer::default();
        Coordinator {
            state,
            agents,
            radii,
            certificate,
            rules,
            limits,
            own_limits,
            target,
            optimizer,
        }
    }

    /// beta of one agent as things stand.
    fn width(&self, agent: usize) -> f64 {
        let estimate = &self.state.estimates[agent];
        let dimension = estimate.theta().len();
        self.rules[agent].width(dimension, estimate.reports(), estimate.ln_growth())
    }

    /// Chooses actions for the next round.
    pub fn decide(&mut self) -> Result<Decision> {
        self.decide_from(None)
    }

    /// Hands out actions of the caller's own for the next round, after the same check: what fails it is scaled back, or replaced by doing
    /// nothing. The decision proves nothing of their value.
    pub fn decide_on(&mut self, actions: Vec<Vec<f64>>) -> Result<Decision> {
        self.decide_from(Some(actions))
    }

    fn decide_from(&mut self, own: Option<Vec<Vec<f64>>>) -> Result<Decision> {
        let mut optimizer = std::mem::take(&mut self.optimizer);
        let params = &self.state.params;
        let exploration = own.is_none() && self.state.next < params.exploration;
        // What the choice of a rule is worth is proved; what the caller chose is not.
        let chosen = own.is_none() && !exploration;
        let widths: Vec<f64> = (0..self.rules.len()).map(|agent| self.width(agent)).collect();
        let reaches: Vec<Reach<'_>> = self
            .state
            .estimates
            .iter()
            .zip(&widths)
            .zip(params.agents.iter().zip(&self.own_limits))
            .map(|((estimate, width), (agent, limits))| {
                Reach::new(estimate, *width, agent.action_bound).limited(*limits)
            })
            .collect();
        let known_ball = params.parameter_ball || !chosen;
        let (actions, optimistic_value, upper_bound) = if let Some(own) = own {
            (own, f64::NEG_INFINITY, f64::INFINITY)
        } else if exploration {
            let actions = exploration::sample(&self.radii, &params.agents, &mut self.state.noise);
            (actions, params.objective.value(&vec![0.0; self.rules.len()]), f64::INFINITY)
        } else {
            match params.rule {
                Rule::Ofu => {
                    let choice =
                        optimizer.optimistic(&params.polytope, &params.objective, &reaches);
                    (choice.actions, choice.value, choice.upper)
                }
                Rule::Roful => {
                    let aim = self.target.aim(
                        &params.polytope,
                        &params.objective,
                        &reaches,
                        &self.limits,
                    );
                    (aim.actions, aim.value, aim.upper)
                }
            }
        };
        let (actions, safety, usage) = vet(params, &reaches, known_ball, actions);
        // What was scaled back is worth less than what was chosen.
        let changed = safety != Safety::Safe && params.rule == Rule::Ofu && chosen;
        let optimistic_value = if changed || optimistic_value == f64::NEG_INFINITY {
            optimistic_value_of(&params.objective, &reaches, &actions)
        } else {
            optimistic_value
        };
        self.optimizer = optimizer;
        let ticket = self.state.next;
        self.state.next += 1;
        self.state.open.insert(ticket, actions.iter().cloned().map(Some).collect());
        let ticket = Ticket(ticket);
        Ok(Decision { ticket, actions, exploration, optimistic_value, upper_bound, safety, usage })
    }

    /// Learns from one agent's report, once per decision. An error changes nothing.
    pub fn absorb(&mut self, report: &AgentReport) -> Result<()> {
        let &AgentReport { ticket, agent, value } = report;
        let value = value.value();
        finite_vector("report", &[value], 1)?;
        if agent >= self.agents.len() {
            let remedy = format!("expected an agent below {}", self.agents.len());
            return Err(Error::invalid("agent", agent, remedy));
        }
        let remedy = "this agent's randomiser sends no such number: refuse its sender";
        refuse_if(value.abs() > self.agents[agent].largest_report(), "report", value, remedy)?;
        let open = self.state.open.get_mut(&ticket.0);
        let Some(action) = open.and_then(|actions| actions[agent].take()) else {
            let remedy =
                "it was never given out, or this agent has answered it, or it was dismissed";
            return Err(Error::invalid("ticket", ticket.0, remedy));
        };
        self.state.estimates[agent].observe(&action, value);
        let answered = |actions: &Vec<Option<Vec<f64>>>| actions.iter().all(Option::is_none);
        if self.state.open.get(&ticket.0).is_some_and(answered) {
            self.state.open.remove(&ticket.0);
        }
        Ok(())
    }

    /// From here on first directions and exploration come from a new key. They protect no person.
    pub fn refresh_noise(&mut self) -> Result<()> {
        self.state.noise.refresh()
    }

    /// Gives up waiting for a decision's missing reports; says whether any were waited for.
    pub fn dismiss(&mut self, ticket: Ticket) -> bool {
        self.state.open.remove(&ticket.0).is_some()
    }

    /// Decisions that are not answered by all agents.
    pub fn open_decisions(&self) -> usize {
        self.state.open.len()
    }

    /// Decisions made.
    pub fn rounds(&self) -> u64 {
        self.state.next
    }

    /// Reports learnt from one agent.
    pub fn reports(&self, agent: usize) -> u64 {
        self.state.estimates.get(agent).map_or(0, Estimate::reports)
    }

    /// The estimate of one agent's parameter, and the width of its confidence set; `None` for an agent that does not exist.
    pub fn estimate(&self, agent: usize) -> Option<(&[f64], f64)> {
        let estimate = self.state.estimates.get(agent)?;
        Some((estimate.theta(), self.width(agent)))
    }

    /// The agents, as agreed on.
    pub fn agents(&self) -> &[AgentPlan] {
        &self.agents
    }

    /// The best safe responses if everything were known, and their value.
    pub fn best_responses(&self) -> (&[f64], f64) {
        (self.target.responses(), self.target.value())
    }

    /// Guarantee of safety.
    pub fn safety(&self) -> &SafetyCertificate {
        &self.certificate
    }
}

/// f for the best parameters in the confidence sets.
fn optimistic_value_of(objective: &Objective, reaches: &[Reach<'_>], actions: &[Vec<f64>]) -> f64 {
    let most = |(agent, (reach, x)): (usize, (&Reach<'_>, &Vec<f64>))| {
        let point = reach.point(x);
        objective.term(agent).most(point.mean - point.spread, point.mean + point.spread)
    };
    reaches.iter().zip(actions).enumerate().map(most).sum()
}

/// The pessimistic check: what the worst parameters in all confidence sets would make of each row, and the factor that mends it.
fn vet(
    params: &CoordinatorParams,
    reaches: &[Reach<'_>],
    known_ball: bool,
    mut actions: Vec<Vec<f64>>,
) -> (Vec<Vec<f64>>, Safety, f64) {
    let nothing = || -> Vec<Vec<f64>> {
        params.agents.iter().map(|agent| vec![0.0; agent.dimension]).collect()
    };
    let fits = |(x, agent): (&Vec<f64>, &AgentParams)| x.len() == agent.dimension;
    let finite = actions.iter().flatten().all(|x| x.is_finite());
    let shaped = actions.len() == params.agents.len();
    if !finite || !shaped || !actions.iter().zip(&params.agents).all(fits) {
        let reason = "the choice holds numbers that are not finite".to_string();
        return (nothing(), Safety::Fallback { reason }, 0.0);
    }
    // Per agent: p, s, S ||x||.
    let mut factor: f64 = 1.0;
    let mut row_of_factor = 0;
    let parts: Vec<(f64, f64, f64)> = reaches
        .iter()
        .zip(&actions)
        .zip(&params.agents)
        .map(|((reach, x), agent)| {
            let norm = x.iter().map(|x| x * x).sum::<f64>().sqrt();
            factor = factor.min(if norm > 0.0 { agent.action_bound / norm } else { 1.0 });
            let point = reach.point(x);
            let ball = if known_ball { agent.parameter_bound * norm } else { f64::INFINITY };
            (point.mean, point.spread, ball)
        })
        .collect();
    // `f64::min` ignores NaN, so NaN is checked separately.
    let judged = |(mean, spread, ball): &(f64, f64, f64)| {
        mean.is_finite() && spread.is_finite() && !ball.is_nan()
    };
    if let Some(agent) = parts.iter().position(|part| !judged(part)) {
        let reason = format!("what agent {agent} would do is not a number");
        return (nothing(), Safety::Fallback { reason }, 0.0);
    }
    let mut usage: f64 = 0.0;
    for (index, (row, &bound)) in
        params.polytope.rows().iter().zip(params.polytope.bounds()).enumerate()
    {
        // The size is that of the terms that are summed: it is their rounding.
        let (mut worst, mut size) = (0.0, 0.0);
        for (a, (mean, spread, ball)) in row.iter().zip(&parts) {
            if *a == 0.0 {
                continue;
            }
            let (interval, known) = (a * mean + a.abs() * spread, a.abs() * ball);
            if interval <= known {
                worst += interval;
                size += a.abs() * (mean.abs() + spread);
            } else {
                worst += known;
                size += known;
            }
        }
        if !f64::is_finite(worst) {
            let reason = format!("what row {index} would come to is not finite");
            return (nothing(), Safety::Fallback { reason }, 0.0);
        }
        if worst > bound + ROUNDING * size {
            let needed = bound / worst;
            if needed < factor {
                (factor, row_of_factor) = (needed, index);
            }
        }
        if bound > 0.0 {
            usage = usage.max(worst / bound);
        }
    }
    if !factor.is_finite() || factor < 0.0 {
        let reason = format!("no scale makes row {row_of_factor} safe");
        return (nothing(), Safety::Fallback { reason }, 0.0);
    }
    if factor >= 1.0 {
        return (actions, Safety::Safe, usage.min(1.0));
    }
    actions.iter_mut().flatten().for_each(|x| *x *= factor);
    (actions, Safety::Scaled { factor, row: row_of_factor }, (usage * factor).min(1.0))
}

impl<N: Noise + Serialize + DeserializeOwned> Coordinator<N> {
    /// The whole state: private reports only, nothing that reveals a response.
    pub fn save(&self) -> Vec<u8> {
        wire::save_on(wire::kinds::COORDINATOR, N::NAME, &self.state)
    }

    /// Continues bit for bit, if no decision has left since the bytes were saved: an older state would hand out tickets twice, and learn
    /// from answers to actions that were never played.
    ///
    /// `decisions_made` is the number of decisions that have left so far, from the caller's own log.
    pub fn resume(bytes: &[u8], decisions_made: u64) -> Result<Self> {
        let state: State<N> = wire::load_on(wire::kinds::COORDINATOR, N::NAME, bytes)?;
        wire::expect_newest("decisions", state.next, decisions_made)?;
        let plan = state.params.check()?;
        let damaged =
            || Error::invalid("saved coordinator", "inconsistent parts", "restore another copy");
        if state.estimates.len() != plan.agents.len() {
            return Err(damaged());
        }
        for (estimate, agent) in state.estimates.iter().zip(&state.params.agents) {
            estimate.check(agent.dimension)?;
        }
        if state.open.keys().any(|&ticket| ticket >= state.next) {
            return Err(damaged());
        }
        for actions in state.open.values() {
            let fits = |(x, agent): (&Option<Vec<f64>>, &AgentParams)| {
                x.as_ref().is_none_or(|x| x.len() == agent.dimension)
            };
            if actions.len() != plan.agents.len()
                || !actions.iter().zip(&state.params.agents).all(fits)
            {
                return Err(damaged());
            }
        }
        Ok(Coordinator::build(state, plan))
    }
}

#[cfg(test)]
mod tests;
