//! Safe coordinators: the agent's part with its own noise, the coordinator's part with safety.

use numpy::{PyArray1, ToPyArray};
use pyo3::{
    prelude::*,
    types::{PyBytes, PyDict, PyTuple},
};
use reticent::{
    geometry::Polytope,
    noise::SecureNoise,
    safe::{
        Agent as CoreAgent, AgentParams, AgentReport, Confidence, Coordinator as CoreCoordinator,
        CoordinatorParams, CoordinatorPlan, Decision, Objective, ResponsePrivacy, Rule, Ticket,
    },
    wire::from_json,
};
use reticent_lab::papers::constants::safe::PublishedResponse;

use crate::{
    convert::restored,
    convert::{
        Matrix, Vector, entries, message, parameter, parameter_or, plain, read_message, rows,
    },
    error::{Answer, Failure},
    fork_guard::{ForkGuarded, Forked},
    guarantee::Guarantee,
    integers::{self, WholeNumber},
};

/// Answer that leaves an agent. `bytes(report)` travels, `SafeReport(bytes)` reads it.
#[pyclass(frozen, eq, module = "reticent", name = "SafeReport")]
#[derive(PartialEq)]
pub(crate) struct SafeReport(AgentReport);

#[pymethods]
impl SafeReport {
    #[new]
    fn new(message: &[u8]) -> Answer<Self> {
        Ok(SafeReport(from_json(message)?))
    }

    /// The decision that is answered.
    #[getter]
    fn ticket(&self) -> u64 {
        self.0.ticket.number()
    }

    /// Number of the agent.
    #[getter]
    fn agent(&self) -> usize {
        self.0.agent
    }

    /// The randomised response.
    #[getter]
    fn value(&self) -> f64 {
        self.0.value.value()
    }

    fn __bytes__<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        message(py, &self.0)
    }

    fn __repr__(&self) -> String {
        format!(
            "SafeReport(ticket={}, agent={}, value={})",
            self.ticket(),
            self.0.agent,
            self.0.value.value()
        )
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let py = slf.py();
        (slf.get_type(), (slf.get().__bytes__(py),)).into_pyobject(py)
    }
}

/// Actions for all agents, with their proven bounds.
#[pyclass(frozen, module = "reticent", name = "SafeDecision")]
pub(crate) struct SafeDecision(Decision);

#[pymethods]
impl SafeDecision {
    /// To be handed back with every report.
    #[getter]
    fn ticket(&self) -> u64 {
        self.0.ticket.number()
    }

    /// One action per agent.
    #[getter]
    fn actions<'py>(&self, py: Python<'py>) -> Vec<Bound<'py, PyArray1<f64>>> {
        self.0.actions.iter().map(|action| action.to_pyarray(py)).collect()
    }

    /// The round was spent on pure exploration.
    #[getter]
    fn exploration(&self) -> bool {
        self.0.exploration
    }

    /// Gap between the actions and the optimum: certified, not estimated.
    #[getter]
    fn gap(&self) -> f64 {
        self.0.gap()
    }

    /// Value of the actions for the best parameters in the confidence sets.
    #[getter]
    fn optimistic_value(&self) -> f64 {
        self.0.optimistic_value
    }

    /// The largest share of a row's bound that the worst parameters could use; at most 1.
    #[getter]
    fn usage(&self) -> f64 {
        self.0.usage
    }

    /// Effect of the safety check, as a dictionary.
    #[getter]
    fn safety<'py>(&self, py: Python<'py>) -> Answer<Bound<'py, PyAny>> {
        plain(py, &self.0.safety)
    }

    fn __repr__(&self) -> String {
        format!("SafeDecision(ticket={}, usage={:.3})", self.ticket(), self.0.usage)
    }
}

impl Forked for CoreAgent<SecureNoise> {
    /// Two copies of one agent would answer twice as often as was promised: no copy goes on.
    fn forked(&mut self, _others: u64) -> reticent::Result<()> {
        let remedy = "its answers would be counted in each copy by itself: use it where it was made, or `save` it there and `load` it here with answers_given";
        Err(reticent::Error::invalid("agent", "a forked copy", remedy))
    }
}

/// The agent's part: clips its response, randomises it, and keeps count.
#[pyclass(module = "reticent", name = "Agent")]
pub(crate) struct Agent(ForkGuarded<CoreAgent<SecureNoise>>);

#[pymethods]
impl Agent {
    /// Randomises the response to a decision.
    fn report(
        &mut self,
        #[pyo3(from_py_with = integers::ticket)] ticket: u64,
        response: f64,
    ) -> Answer<SafeReport> {
        Ok(SafeReport(self.0.enter()?.report(Ticket::numbered(ticket), response)?))
    }

    /// Responses given.
    #[getter]
    fn answered(&self) -> u64 {
        self.0.read().answered()
    }

    /// Guarantee of the agent as a person, for the answers so far; `None` before the first, or without privacy.
    #[getter]
    fn guarantee(&self) -> Answer<Option<Guarantee>> {
        Ok(self.0.read().guarantee_so_far()?.map(Guarantee::from))
    }

    /// The whole state: protect these bytes as the responses themselves, and go on in one place only.
    fn save<'py>(&mut self, py: Python<'py>) -> Answer<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.0.enter()?.save()))
    }

    /// Goes on from saved bytes; a state older than `answers_given` is refused.
    #[staticmethod]
    fn load(
        state: &[u8],
        #[pyo3(from_py_with = integers::answers_given)] answers_given: u64,
    ) -> Answer<Self> {
        Ok(Agent(ForkGuarded::new(CoreAgent::resume(state, answers_given)?)))
    }
}

/// Parameters that a coordinator and its agents share: mean responses `y` must satisfy `rows @ y <= bounds` from the first round on.
///
/// An agent is a dictionary: `dimension`, `parameter_bound`, `action_bound`, `response_noise`, `privacy` (None, or
/// `{"epsilon": 2.0, "delta": 1e-5}`, with `"responses": n` for a budget of n answers together), and `lower`, `upper` if its
/// responses are to be clipped to other bounds than the safe ones.
///
/// >>> import reticent
/// >>> household = dict(dimension=2, parameter_bound=1.0, action_bound=4.0, response_noise=0.01, privacy=dict(epsilon=2.0, delta=1e-5))
/// >>> plan = reticent.SafePlan([[1, 1], [-1, 0], [0, -1]], [3, 1, 1], objective=[1.0, 1.0], agents=[household, household])
/// >>> coordinator, first = plan.coordinator(), plan.agent(0)
/// >>> decision = coordinator.decide()
/// >>> coordinator.absorb(bytes(first.report(decision.ticket, 0.3)))
/// >>> plan.safety["holds"]
/// True
#[pyclass(frozen, module = "reticent", name = "SafePlan")]
pub(crate) struct SafePlan(CoordinatorPlan);

fn agent(polytope: &Polytope, axis: usize, given: &Bound<'_, PyDict>) -> Answer<AgentParams> {
    let needs = |key: &'static str| -> Answer<Bound<'_, PyAny>> {
        given.get_item(key)?.ok_or_else(|| {
            let remedy =
                "an agent has dimension, parameter_bound, action_bound, response_noise and privacy";
            Failure::invalid("agent", format!("no {key}"), remedy)
        })
    };
    let known = [
        "dimension",
        "parameter_bound",
        "action_bound",
        "response_noise",
        "privacy",
        "lower",
        "upper",
    ];
    for key in given.keys() {
        let key: String = key.extract()?;
        if !known.contains(&key.as_str()) {
            return Err(Failure::invalid(
                "agent",
                key,
                format!("expected only {}", known.join(", ")),
            ));
        }
    }
    let privacy = match given.get_item("privacy")? {
        None => ResponsePrivacy::None,
        Some(none) if none.is_none() => ResponsePrivacy::None,
        Some(privacy) => match privacy.cast::<PyDict>() {
            Ok(budget) if budget.contains("epsilon")? => {
                let outer = PyDict::new(given.py());
                outer.set_item("budget", budget)?;
                parameter("privacy", &outer)?
            }
            Ok(given) if given.contains("published")? => {
                let published: PublishedResponse =
                    parameter("privacy", &given.as_any().get_item("published")?)?;
                published.privacy()?
            }
            _ => parameter("privacy", &privacy)?,
        },
    };
    let sizes = (
        needs("parameter_bound")?.extract()?,
        needs("action_bound")?.extract()?,
        needs("response_noise")?.extract()?,
    );
    let dimension = WholeNumber::read("dimension", &needs("dimension")?)?;
    let mut params = AgentParams::on_axis(polytope, axis, dimension, sizes, privacy)?;
    if let Some(lower) = given.get_item("lower")? {
        params.lower = lower.extract()?;
    }
    if let Some(upper) = given.get_item("upper")? {
        params.upper = upper.extract()?;
    }
    Ok(params)
}

#[pymethods]
impl SafePlan {
    #[new]
    #[pyo3(signature = (rows, bounds, objective, agents, *, rule = None, confidence = None, regularizer = 0.1, failure = 0.01,
        exploration = 0, parameter_ball = true))]
    #[allow(clippy::too_many_arguments, reason = "keywords of one Python call")]
    fn new(
        rows: Matrix<'_>,
        bounds: Vector<'_>,
        objective: &Bound<'_, PyAny>,
        agents: Vec<Bound<'_, PyDict>>,
        rule: Option<&Bound<'_, PyAny>>,
        confidence: Option<&Bound<'_, PyAny>>,
        regularizer: f64,
        failure: f64,
        #[pyo3(from_py_with = integers::exploration)] exploration: u64,
        parameter_ball: bool,
    ) -> Answer<Self> {
        let polytope = Polytope::new(&crate::safe::rows(&rows), &entries(&bounds))?;
        let objective = match objective.extract::<Vector<'_>>() {
            Ok(weights) => Objective::Linear { weights: entries(&weights).into_owned() },
            Err(_) => parameter("objective", objective)?,
        };
        if agents.len() != polytope.dimension() {
            let (expected, found) = (polytope.dimension(), agents.len());
            return Err(reticent::Error::Dimension { field: "agents", expected, found }.into());
        }
        let agents = agents.iter().enumerate().map(|(axis, given)| agent(&polytope, axis, given));
        let agents = agents.collect::<Answer<Vec<_>>>()?;
        let params = CoordinatorParams {
            rule: parameter_or("rule", rule, Rule::default())?,
            confidence: parameter_or("confidence", confidence, Confidence::default())?,
            regularizer,
            failure,
            exploration,
            parameter_ball,
            ..CoordinatorParams::new(polytope, objective, agents)
        };
        Ok(SafePlan(params.check()?))
    }

    /// Guarantee of safety: `holds`, `sentence`, `failure`, `conditions`, `doubts`.
    #[getter]
    fn safety<'py>(&self, py: Python<'py>) -> Answer<Bound<'py, PyDict>> {
        let safety = self.0.safety();
        let dict = PyDict::new(py);
        dict.set_item("holds", safety.holds())?;
        dict.set_item("sentence", safety.to_string())?;
        dict.set_item("failure", safety.failure())?;
        dict.set_item("conditions", safety.conditions().to_vec())?;
        dict.set_item("doubts", safety.doubts().to_vec())?;
        Ok(dict)
    }

    /// The weakest promise among agents for this many responses; `None` if one of them has no privacy.
    #[pyo3(signature = (responses = 1))]
    fn guarantee(
        &self,
        #[pyo3(from_py_with = integers::responses)] responses: u64,
    ) -> Answer<Option<Guarantee>> {
        Ok(self.0.guarantee_of(responses)?.map(Guarantee::from))
    }

    /// One agent's part.
    fn agent(&self, #[pyo3(from_py_with = integers::index)] index: usize) -> Answer<Agent> {
        let Some(plan) = self.0.agents().get(index) else {
            let remedy = format!("expected an agent below {}", self.0.agents().len());
            return Err(Failure::invalid("agent", index, remedy));
        };
        Ok(Agent(ForkGuarded::new(plan.start(index, SecureNoise::from_system()?))))
    }

    /// The coordinator's part.
    fn coordinator(&self) -> Answer<Coordinator> {
        Ok(Coordinator(ForkGuarded::new(self.0.clone().start(SecureNoise::from_system()?))))
    }
}

impl Forked for CoreCoordinator<SecureNoise> {
    fn forked(&mut self, _others: u64) -> reticent::Result<()> {
        self.refresh_noise()
    }
}

/// The coordinator's part: it sees private reports only, so copies of it cost no person any privacy.
#[pyclass(module = "reticent", name = "Coordinator")]
pub(crate) struct Coordinator(ForkGuarded<CoreCoordinator<SecureNoise>>);

#[pymethods]
impl Coordinator {
    /// Chooses actions for the next round, each checked to be safe before it leaves. Other threads run meanwhile.
    fn decide(&mut self, py: Python<'_>) -> Answer<SafeDecision> {
        let coordinator = self.0.enter()?;
        Ok(SafeDecision(py.detach(|| coordinator.decide())?))
    }

    /// Learns from one agent's report, once per decision.
    fn absorb(&mut self, report: &Bound<'_, PyAny>) -> Answer<()> {
        let coordinator = self.0.enter()?;
        match report.cast::<SafeReport>() {
            Ok(report) => coordinator.absorb(&report.get().0)?,
            Err(_) => coordinator.absorb(&read_message(report)?)?,
        }
        Ok(())
    }

    /// Gives up waiting for a decision's missing reports; says whether any were waited for.
    fn dismiss(&mut self, #[pyo3(from_py_with = integers::ticket)] ticket: u64) -> Answer<bool> {
        Ok(self.0.enter()?.dismiss(Ticket::numbered(ticket)))
    }

    /// Decisions made: what `load` asks for.
    #[getter]
    fn rounds(&self) -> u64 {
        self.0.read().rounds()
    }

    /// Decisions that are not answered by all agents.
    #[getter]
    fn open_decisions(&self) -> usize {
        self.0.read().open_decisions()
    }

    /// The estimate of one agent's parameter, and the width of its confidence set.
    fn estimate<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = integers::agent)] agent: usize,
    ) -> Answer<(Bound<'py, PyArray1<f64>>, f64)> {
        let coordinator = self.0.read();
        let estimate = coordinator.estimate(agent).ok_or_else(|| {
            let remedy = format!("expected an agent below {}", coordinator.agents().len());
            Failure::invalid("agent", agent, remedy)
        })?;
        Ok((estimate.0.to_pyarray(py), estimate.1))
    }

    /// The whole state: private reports only.
    fn save<'py>(&mut self, py: Python<'py>) -> Answer<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.0.enter()?.save()))
    }

    /// Goes on from saved bytes; a state older than `decisions_made` is refused.
    #[staticmethod]
    fn load(
        state: &[u8],
        #[pyo3(from_py_with = integers::decisions_made)] decisions_made: u64,
    ) -> Answer<Self> {
        Ok(Coordinator(ForkGuarded::new(CoreCoordinator::resume(state, decisions_made)?)))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> Answer<Bound<'py, PyTuple>> {
        let py = slf.py();
        let mut coordinator = slf.try_borrow_mut().map_err(PyErr::from)?;
        let (state, rounds) = (coordinator.save(py)?, coordinator.rounds());
        Ok(restored(slf, "load", (state, rounds))?)
    }
}

/// Makes a plan of who may have how much privacy in a safe system, from the text of a plan file; returns a dictionary.
#[pyfunction]
pub(crate) fn plan_safety<'py>(py: Python<'py>, text: &str) -> Answer<Bound<'py, PyAny>> {
    let plan = reticent_lab::algorithm::safe::PlanFile::parse(text)?.plan()?;
    plain(py, &plan)
}
