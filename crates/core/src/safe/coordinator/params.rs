//! Parameters of a coordinator, checked before anything runs.

use serde::{Deserialize, Serialize};

use crate::{
    Error, Result,
    error::probability,
    geometry::Polytope,
    privacy::Guarantee,
    refuse_if,
    safe::{
        AgentParams, AgentPlan, Confidence, Objective, SafetyCertificate, agent::within_reason,
        exploration,
    },
};

/// Rule by which actions are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// The best optimistic value among actions known to be safe: Safe-Private Lin-UCB.
    Ofu,
    /// The best optimistic target, scaled back until it is safe.
    #[default]
    Roful,
}

/// Parameters of a [`Coordinator`](super::Coordinator).
///
/// ```
/// use reticent::{geometry::Polytope, noise::SecureNoise, safe::*};
///
/// // Two households on a feeder of 3 kW; they may feed in up to 1 kW each.
/// let feeder = Polytope::new(&[[1.0, 1.0], [-1.0, 0.0], [0.0, -1.0]], &[3.0, 1.0, 1.0])?;
/// let privacy = ResponsePrivacy::Budget { epsilon: 2.0, delta: 1e-5, responses: None };
/// let agents = (0..2)
///     .map(|axis| AgentParams::on_axis(&feeder, axis, 2, (1.0, 4.0, 0.01), privacy.clone()))
///     .collect::<Result<Vec<_>, _>>()?;
/// let params = CoordinatorParams::new(feeder, Objective::Linear { weights: vec![1.0, 1.0] }, agents);
/// let plan = params.check()?;
/// let mut household = plan.agents()[0].start(0, SecureNoise::from_system()?);
/// let mut coordinator = plan.start(SecureNoise::from_system()?);
///
/// let decision = coordinator.decide()?;
/// let response = 0.3; // what household 0 does when it is sent decision.actions[0]
/// coordinator.absorb(&household.report(decision.ticket, response)?)?;
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CoordinatorParams {
    /// Y: where mean responses must stay.
    pub polytope: Polytope,
    /// f: what is to be large.
    pub objective: Objective,
    /// Agents that answer.
    pub agents: Vec<AgentParams>,
    /// Rule by which actions are chosen.
    pub rule: Rule,
    /// Width of the confidence sets.
    pub confidence: Confidence,
    /// nu.
    pub regularizer: f64,
    /// delta': the probability with which any confidence set may fail in any round.
    pub failure: f64,
    /// T': rounds of pure exploration at the start.
    pub exploration: u64,
    /// True if the safety check also uses `|<theta, x>| <= S ||x||`, which holds whatever the data say.
    pub parameter_ball: bool,
}

impl CoordinatorParams {
    /// The defaults: ROFUL, tight confidence, no exploration, nu = 0.1, delta' = 0.01.
    pub fn new(polytope: Polytope, objective: Objective, agents: Vec<AgentParams>) -> Self {
        CoordinatorParams {
            polytope,
            objective,
            agents,
            rule: Rule::Roful,
            confidence: Confidence::Tight,
            regularizer: 0.1,
            failure: 0.01,
            exploration: 0,
            parameter_ball: true,
        }
    }

    /// Refuses what no theorem covers, by field and value.
    pub fn check(&self) -> Result<CoordinatorPlan> {
        self.polytope.check_origin()?;
        let agents = self.polytope.dimension();
        if self.agents.len() != agents {
            let found = self.agents.len();
            return Err(Error::Dimension { field: "agents", expected: agents, found });
        }
        self.objective.check(agents)?;
        self.confidence.check()?;
        within_reason("regularizer", self.regularizer)?;
        within_reason("failure", probability("failure", self.failure)?)?;
        let plans = self.agents.iter().map(AgentParams::check).collect::<Result<Vec<_>>>()?;
        let radii = exploration::radii(&self.polytope, &self.agents)?;
        let refused = self.exploration > 0 && radii.iter().any(|&radius| radius <= 0.0);
        let remedy = "no agent-wise ball around 0 is known to be safe (a bound is 0): set it to 0";
        refuse_if(refused, "exploration", self.exploration, remedy)?;
        let certificate = SafetyCertificate::of(self)?;
        Ok(CoordinatorPlan { params: self.clone(), agents: plans, radii, certificate })
    }
}

/// Checked parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct CoordinatorPlan {
    pub(super) params: CoordinatorParams,
    pub(super) agents: Vec<AgentPlan>,
    pub(super) radii: Vec<f64>,
    pub(super) certificate: SafetyCertificate,
}

impl CoordinatorPlan {
    /// Guarantee of safety.
    pub fn safety(&self) -> &SafetyCertificate {
        &self.certificate
    }

    /// The agents' parts, ready to start.
    pub fn agents(&self) -> &[AgentPlan] {
        &self.agents
    }

    /// The parameters.
    pub fn params(&self) -> &CoordinatorParams {
        &self.params
    }

    /// lambda: the smallest eigenvalue of `E x x^T` during exploration.
    pub fn exploration_eigenvalue(&self) -> f64 {
        exploration::smallest_eigenvalue(&self.radii, &self.params.agents)
    }

    /// The weakest promise among agents for one response; `None` if one of them has no privacy.
    pub fn guarantee(&self) -> Result<Option<Guarantee>> {
        self.weakest(1)
    }

    /// The weakest promise among agents as persons who answer `responses` times.
    pub fn guarantee_of(&self, responses: u64) -> Result<Option<Guarantee>> {
        self.weakest(responses)
    }

    /// The largest epsilon among agents at one delta, the smallest of theirs: epsilons at different deltas do not compare.
    fn weakest(&self, responses: u64) -> Result<Option<Guarantee>> {
        let deltas: Option<Vec<f64>> = self.agents.iter().map(AgentPlan::delta).collect();
        let Some(deltas) = deltas else { return Ok(None) };
        let delta = deltas.into_iter().fold(1.0, f64::min);
        let mut weakest: Option<Guarantee> = None;
        for agent in &self.agents {
            let Some(guarantee) = agent.guarantee_at(responses, delta)? else { return Ok(None) };
            if weakest.as_ref().is_none_or(|other| guarantee.epsilon() > other.epsilon()) {
                weakest = Some(guarantee);
            }
        }
        Ok(weakest)
    }
}
