//! The agent's part: an observed response is clipped, randomised on a grid, and only then leaves.
//!
//! ```text
//! response y -> clip to [lower, upper], discrete Gaussian on a grid (ValueGaussian) -> report u
//! ```
//!
//! **Guarantee.** One report has sensitivity `upper - lower` and is priced by the accountant as a Gaussian on a grid: local privacy of
//! one response (Fact 1 of paper 3, with an exact calibration). An agent that answers every round composes; what that amounts
//! to for the agent as a person is [`Agent::guarantee_so_far`], and a budget may be given for a fixed number of answers at once.
//!
//! The paper's `y in [-1, 1]` contradicts its own unbounded noise; clipping first is what makes the sensitivity true. Responses
//! beyond the range are biased by it, so the range should be that of Y on this agent's axis ([`Polytope::range`]), widened by what the
//! response's own noise may add.

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{Ticket, certificate::DEVIATIONS};
use crate::{
    Error, Result,
    error::{finite_vector, not_negative, positive},
    geometry::Polytope,
    noise::Noise,
    privacy::{Claim, Event, Guarantee, TrustModel, check_delta},
    randomize::{ValueGaussian, ValueReport, value_report_number as number},
    refuse_if, wire,
};

/// No bound, weight or inverse of one is larger: products of a few of them stay finite.
pub(super) const LARGEST: f64 = 1e100;

/// Protection of an agent's responses.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ResponsePrivacy {
    /// Reports are the clipped responses.
    None,
    /// Calibrated by the accountant.
    Budget {
        /// Epsilon.
        epsilon: f64,
        /// Delta.
        delta: f64,
        /// Number of answers together that have this budget; without it every single one has.
        responses: Option<u64>,
    },
    /// Noise of this deviation on every answer; the guarantee is that of the noise.
    Sigma {
        /// The deviation.
        sigma: f64,
        /// The delta that the guarantee is stated at.
        delta: f64,
        /// Claim that the guarantee of one answer is compared with: `paper` mode.
        claim: Option<Claim>,
    },
}

/// Public parameters of one agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentParams {
    /// d: how many coordinates an action has.
    pub dimension: usize,
    /// S: no parameter of this agent is longer.
    pub parameter_bound: f64,
    /// K: no action for it may be longer.
    pub action_bound: f64,
    /// R: its responses vary around their mean as an R-sub-Gaussian.
    pub response_noise: f64,
    /// Responses below are clipped to this.
    pub lower: f64,
    /// Responses above are clipped to this.
    pub upper: f64,
    /// Protection of responses.
    pub privacy: ResponsePrivacy,
}

impl AgentParams {
    /// An agent whose clipping range is what `polytope` allows on its axis, widened by six deviations of its own noise.
    ///
    /// Two responses in a billion are clipped at worst, if the noise is Gaussian and the mean is safe.
    pub fn on_axis(
        polytope: &Polytope,
        axis: usize,
        dimension: usize,
        (parameter_bound, action_bound, response_noise): (f64, f64, f64),
        privacy: ResponsePrivacy,
    ) -> Result<Self> {
        let (lower, upper) = polytope.range(axis)?;
        let wider = DEVIATIONS * not_negative("response_noise", response_noise)?;
        Ok(AgentParams {
            dimension,
            parameter_bound,
            action_bound,
            response_noise,
            lower: lower - wider,
            upper: upper + wider,
            privacy,
        })
    }

    /// Calibrates the noise, or says which parameter stands in the way.
    pub fn check(&self) -> Result<AgentPlan> {
        crate::linalg::check_dimension(self.dimension)?;
        within_reason("parameter_bound", self.parameter_bound)?;
        within_reason("action_bound", self.action_bound)?;
        not_negative("response_noise", self.response_noise)?;
        finite_vector("lower, upper", &[self.lower, self.upper], 2)?;
        let largest = self.lower.abs().max(self.upper.abs()).max(self.response_noise);
        within_reason("lower, upper, response_noise", largest)?;
        let remedy = format_args!("expected a number below upper = {}", self.upper);
        refuse_if(self.lower >= self.upper, "lower", self.lower, remedy)?;
        Ok(AgentPlan { params: self.clone(), randomizer: self.randomizer()? })
    }

    fn randomizer(&self) -> Result<Option<ValueGaussian>> {
        let AgentParams { lower, upper, .. } = *self;
        match self.privacy {
            ResponsePrivacy::None => Ok(None),
            ResponsePrivacy::Budget { epsilon, delta, responses } => {
                ValueGaussian::new(lower, upper, epsilon, delta, responses.unwrap_or(1)).map(Some)
            }
            ResponsePrivacy::Sigma { sigma, delta, ref claim } => {
                check_delta(delta, true, claim.as_ref())?;
                ValueGaussian::with_deviation(lower, upper, sigma).map(Some)
            }
        }
    }
}

/// A finite number above zero that is neither enormous nor, inverted, enormous.
pub(super) fn within_reason(field: &'static str, value: f64) -> Result<f64> {
    positive(field, value)?;
    if (1.0 / LARGEST..=LARGEST).contains(&value) {
        return Ok(value);
    }
    Err(Error::invalid(field, value, "choose units in which it lies between 1e-100 and 1e100"))
}

/// A checked agent: what device and report server agree on. Written down as its parameters, and checked again when it is read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "AgentParams", into = "AgentParams")]
pub struct AgentPlan {
    params: AgentParams,
    randomizer: Option<ValueGaussian>,
}

impl TryFrom<AgentParams> for AgentPlan {
    type Error = Error;

    fn try_from(params: AgentParams) -> Result<Self> {
        params.check()
    }
}

impl From<AgentPlan> for AgentParams {
    fn from(plan: AgentPlan) -> Self {
        plan.params
    }
}

impl AgentPlan {
    /// Starts the agent's part on a source of noise.
    pub fn start<N: Noise>(&self, index: usize, noise: N) -> Agent<N> {
        Agent { state: State { plan: self.clone(), index, answered: 0, clipped: 0, noise } }
    }

    /// The parameters.
    pub fn params(&self) -> &AgentParams {
        &self.params
    }

    /// sigma_m: the deviation of the noise on a report; 0 without privacy.
    pub fn deviation(&self) -> f64 {
        self.randomizer.map_or(0.0, |randomizer| randomizer.deviation())
    }

    /// `R' = sqrt(R^2 + sigma_m^2)`: how noisy a report is (Lemma 3).
    pub fn report_noise(&self) -> f64 {
        libm::hypot(self.params.response_noise, self.deviation())
    }

    /// The largest absolute number in an honest report: draws end at 32 deviations.
    pub(super) fn largest_report(&self) -> f64 {
        self.params.lower.abs().max(self.params.upper.abs()) + 33.0 * self.deviation()
    }

    /// The privacy event of one report.
    pub fn event(&self) -> Event {
        self.randomizer.map_or(Event::Nothing, |randomizer| randomizer.event())
    }

    /// The delta its guarantee is stated at; `None` without privacy.
    pub(super) fn delta(&self) -> Option<f64> {
        match self.params.privacy {
            ResponsePrivacy::None => None,
            ResponsePrivacy::Budget { delta, .. } | ResponsePrivacy::Sigma { delta, .. } => {
                Some(delta)
            }
        }
    }

    /// Guarantee of one response; `None` without privacy.
    pub fn guarantee(&self) -> Result<Option<Guarantee>> {
        self.guarantee_of(1)
    }

    /// Guarantee of the agent as a person who answers `responses` times; `None` without privacy.
    pub fn guarantee_of(&self, responses: u64) -> Result<Option<Guarantee>> {
        self.delta().map_or(Ok(None), |delta| self.guarantee_at(responses, delta))
    }

    /// The same at another delta.
    pub(super) fn guarantee_at(&self, responses: u64, delta: f64) -> Result<Option<Guarantee>> {
        let AgentParams { lower, upper, privacy, .. } = &self.params;
        if *privacy == ResponsePrivacy::None {
            return Ok(None);
        }
        let guarantee = match responses {
            1 => Guarantee::of(&self.event(), TrustModel::Local, delta),
            many => Guarantee::of_person(&self.event(), many, TrustModel::Local, delta),
        }?;
        let guarantee = guarantee
            .with_condition(format!("responses clipped to {lower}..{upper} at the agent"))
            .with_condition("whether and when a report is sent does not depend on the response")
            .with_condition("a saved agent resumed with the true number of answers given, by one process at a time");
        match privacy {
            // A claim about one response is measured by the curve of one.
            ResponsePrivacy::Sigma { claim, .. } if responses == 1 => {
                guarantee.beside(claim.as_ref()).map(Some)
            }
            _ => Ok(Some(guarantee)),
        }
    }

    /// Number of answers the budget is for; `None` if each has its own.
    pub fn answers(&self) -> Option<u64> {
        match self.params.privacy {
            ResponsePrivacy::Budget { responses, .. } => responses,
            _ => None,
        }
    }
}

/// Answer that leaves the agent: the decision it belongs to, the agent, and the randomised response.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentReport {
    /// The decision that is answered.
    pub ticket: Ticket,
    /// Number of the agent.
    #[serde(with = "wire::count")]
    pub agent: usize,
    /// u: the randomised response; the clipped one without privacy.
    #[serde(with = "number")]
    pub value: ValueReport,
}

impl wire::Checked for AgentReport {}
impl wire::Message for AgentReport {
    const KIND: wire::Kind = wire::kinds::AGENT_REPORT;
}

/// The agent's part, with its own noise.
///
/// ```
/// use reticent::{noise::SecureNoise, safe::{AgentParams, ResponsePrivacy, Ticket}};
/// let privacy = ResponsePrivacy::Budget { epsilon: 2.0, delta: 1e-5, responses: None };
/// let params = AgentParams {
///     dimension: 3, parameter_bound: 0.5, action_bound: 2.0, response_noise: 0.001,
///     lower: 0.0, upper: 1.0, privacy,
/// };
/// let mut agent = params.check()?.start(0, SecureNoise::from_system()?);
/// let report = agent.report(Ticket::first(), 0.4)?;
/// assert!((report.value.value() - 0.4).abs() < 20.0 * agent.plan().deviation());
/// println!("{}", agent.guarantee_so_far()?.expect("a private agent"));
/// # Ok::<(), reticent::Error>(())
/// ```
pub struct Agent<N> {
    state: State<N>,
}

/// All there is to save. Private, so that an agent only comes back through `resume`.
#[derive(Serialize, Deserialize)]
struct State<N> {
    plan: AgentPlan,
    index: usize,
    answered: u64,
    clipped: u64,
    noise: N,
}

/// Prints no generator: it would reveal the next noise.
impl<N> std::fmt::Debug for Agent<N> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let State { plan, index, answered, .. } = &self.state;
        formatter
            .debug_struct("Agent")
            .field("index", index)
            .field("answered", answered)
            .field("plan", plan)
            .finish_non_exhaustive()
    }
}

impl<N: Noise> Agent<N> {
    /// Randomises the response to a decision. An error changes nothing.
    pub fn report(&mut self, ticket: Ticket, response: f64) -> Result<AgentReport> {
        finite_vector("response", &[response], 1)?;
        let state = &mut self.state;
        if let Some(answers) = state.plan.answers().filter(|answers| state.answered >= *answers) {
            return Err(Error::HorizonExceeded { round: state.answered + 1, horizon: answers });
        }
        let AgentParams { lower, upper, .. } = state.plan.params;
        let clipped = response.clamp(lower, upper);
        let value = match &state.plan.randomizer {
            None => ValueReport::new(clipped),
            Some(randomizer) => {
                state.noise.rekey()?;
                randomizer.report(clipped, &mut state.noise)?
            }
        };
        state.answered += 1;
        state.clipped += u64::from(clipped != response);
        Ok(AgentReport { ticket, agent: state.index, value })
    }

    /// Parameters that the agent was made from.
    pub fn plan(&self) -> &AgentPlan {
        &self.state.plan
    }

    /// Responses given.
    pub fn answered(&self) -> u64 {
        self.state.answered
    }

    /// Responses that lay outside the range: private to the agent, and a sign that the range is too narrow.
    pub fn clipped(&self) -> u64 {
        self.state.clipped
    }

    /// Guarantee of the agent as a person, for the answers so far; `None` before the first, or without privacy. On simulation noise it says so.
    pub fn guarantee_so_far(&self) -> Result<Option<Guarantee>> {
        let State { plan, answered, .. } = &self.state;
        if *answered == 0 {
            return Ok(None);
        }
        let guarantee = plan.guarantee_of(*answered)?;
        Ok(if N::PROTECTS_PEOPLE { guarantee } else { guarantee.map(Guarantee::simulated) })
    }
}

impl<N: Noise + Serialize + DeserializeOwned> Agent<N> {
    /// The whole state: protect these bytes as the responses themselves. No key of the noise is in it.
    pub fn save(&self) -> Vec<u8> {
        wire::save_on(wire::kinds::AGENT, N::NAME, &self.state)
    }

    /// Continues from saved bytes, if no answer has left since they were saved: an older state would miscount what was spent.
    ///
    /// `answers_given` is the number of answers that have left so far, from the agent's own log.
    pub fn resume(bytes: &[u8], answers_given: u64) -> Result<Self> {
        let state: State<N> = wire::load_on(wire::kinds::AGENT, N::NAME, bytes)?;
        wire::expect_newest("answers", state.answered, answers_given)?;
        Ok(Agent { state })
    }
}

#[cfg(test)]
mod tests;
