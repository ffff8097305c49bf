//! A user's own environment or policy in the laboratory's simulation loop.
//!
//! The loop is `reticent_lab::play::play`. Its environment and its learner are traits; here each of them is a Python object. An
//! exception of an object is stored, stops the loop at the next step, and is raised unchanged.

use std::{cell::RefCell, collections::HashMap};

use numpy::{PyArray1, ToPyArray};
use pyo3::{exceptions::PyRuntimeError, prelude::*, types::PyString};
use reticent::bandit::Arms as CoreArms;
use reticent_lab::{
    environment::{Environment as Rounds, GapParams, SphereParams},
    play::{Delay, Feedback, Learner, Way, play_with, trial::checkpoints},
};

use crate::{
    arms::{Arms, owned},
    convert::{Vector, entries, parameter_or},
    decision::{Decision, Observation},
    error::{Answer, Failure},
    integers,
};

/// Rounds between checks of signals.
const MOMENT: u64 = 256;

/// One of the laboratory's environments: `arms()` opens a round, `means()` and `reward(arm)` are those of the round it opened.
///
/// >>> import reticent
/// >>> environment = reticent.lab.Environment.gap(dimension=5, arms=25, gap=0.1, seed=7)
/// >>> environment.arms().shape
/// (25, 5)
/// >>> environment.reward(0) in (-1.0, 1.0)
/// True
#[pyclass(module = "reticent.lab", name = "Environment")]
pub(crate) struct Environment {
    rounds: Box<dyn Rounds + Send + Sync>,
    arms: usize,
    opened: bool,
}

#[pymethods]
impl Environment {
    /// One optimal arm, all others behind it by at least a gap (Shariff and Sheffet 2018, Appendix D).
    #[staticmethod]
    #[pyo3(signature = (dimension, arms, gap = 0.0, fresh_arms = true, rewards = None, seed = 0))]
    fn gap(
        #[pyo3(from_py_with = integers::dimension)] dimension: usize,
        #[pyo3(from_py_with = integers::arms)] arms: usize,
        gap: f64,
        fresh_arms: bool,
        rewards: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = integers::seed)] seed: u64,
    ) -> Answer<Self> {
        let defaults = GapParams::new(dimension, arms);
        let rewards = parameter_or("rewards", rewards, defaults.rewards)?;
        let plan = GapParams { gap, fresh_arms, rewards, ..defaults }.check()?;
        let rounds = Box::new(if fresh_arms { plan.fresh(seed) } else { plan.fixed(seed) });
        Ok(Environment { rounds, arms, opened: false })
    }

    /// Arms and theta* on a sphere, rewards that are 0 or 1 (section 5 of the OnlineUCB paper).
    #[staticmethod]
    #[pyo3(signature = (seed = 0, **parameters))]
    fn sphere(
        #[pyo3(from_py_with = integers::seed)] seed: u64,
        parameters: Option<&Bound<'_, PyAny>>,
    ) -> Answer<Self> {
        let params: SphereParams = parameter_or("sphere", parameters, SphereParams::published())?;
        params.check()?;
        Ok(Environment { rounds: Box::new(params.start(seed)?), arms: params.arms, opened: false })
    }

    /// Opens a round: its arms, one a row.
    fn arms<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.opened = true;
        let arms = Arms(self.rounds.arms().clone());
        Ok(arms.array(py).into_any())
    }

    /// The expected reward of every arm of this round.
    fn means<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.rounds.means().to_pyarray(py)
    }

    /// A reward of one arm of this round.
    fn reward(&mut self, #[pyo3(from_py_with = integers::arm)] arm: usize) -> Answer<f64> {
        if !self.opened || arm >= self.arms {
            let remedy = format!("open a round with arms(), and give an arm below {}", self.arms);
            return Err(Failure::invalid("arm", arm, remedy));
        }
        Ok(self.rounds.reward(arm))
    }
}

/// State shared by environment and learner: the arms as Python objects, and the stored exception.
struct Table<'py> {
    arms: RefCell<Option<Bound<'py, PyAny>>>,
    trouble: RefCell<Option<PyErr>>,
}

impl Table<'_> {
    fn keep(&self, error: PyErr) -> reticent_lab::Error {
        self.trouble.borrow_mut().get_or_insert(error);
        stopped()
    }

    fn check(&self) -> reticent_lab::Result<()> {
        if self.trouble.borrow().is_some() { Err(stopped()) } else { Ok(()) }
    }
}

/// An internal error to stop the loop; the caller sees the stored exception instead.
fn stopped() -> reticent_lab::Error {
    reticent::Error::invalid("play", "a stopped one", "see what was raised").into()
}

/// A Python environment.
struct PythonRounds<'a, 'py> {
    object: &'a Bound<'py, PyAny>,
    table: &'a Table<'py>,
    arms: CoreArms,
    means: Vec<f64>,
    best: f64,
}

impl<'py> PythonRounds<'_, 'py> {
    fn open(&mut self) -> Answer<()> {
        let arms = self.object.call_method0("arms")?;
        let rows = owned(&arms)?;
        let means = self.object.call_method0("means")?;
        let means = entries(&means.extract::<Vector<'_>>()?).into_owned();
        if means.len() != rows.count() {
            let (expected, found) = (rows.count(), means.len());
            return Err(reticent::Error::Dimension { field: "means", expected, found }.into());
        }
        if let Some(mean) = means.iter().find(|mean| !mean.is_finite()) {
            return Err(Failure::invalid("means", mean, "expected finite numbers only"));
        }
        self.best = means.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        (self.arms, self.means) = (rows, means);
        *self.table.arms.borrow_mut() = Some(arms);
        Ok(())
    }
}

impl Rounds for PythonRounds<'_, '_> {
    fn arms(&mut self) -> &CoreArms {
        if let Err(failure) = self.open() {
            self.table.keep(failure.into());
        }
        &self.arms
    }

    fn means(&self) -> &[f64] {
        &self.means
    }

    fn best_mean(&self) -> f64 {
        self.best
    }

    fn reward(&mut self, arm: usize) -> f64 {
        let reward = self.object.call_method1("reward", (arm,));
        reward.and_then(|reward| Ok(finite_reward(&reward)?)).unwrap_or_else(|error| {
            self.table.keep(error);
            0.0
        })
    }
}

/// A Python policy: with `decide` and tickets, or with `choose` and rounds.
struct PythonLearner<'a, 'py> {
    object: &'a Bound<'py, PyAny>,
    table: &'a Table<'py>,
    tickets: bool,
    /// Tickets of rounds that wait for their reward.
    open: HashMap<u64, Bound<'py, PyAny>>,
    /// Rewards that the policy said it clipped.
    clipped: u64,
}

/// Ticket and arm of a decision: ours, or a pair.
pub(crate) fn opened<'py>(decision: &Bound<'py, PyAny>) -> Answer<(Bound<'py, PyAny>, usize)> {
    if let Ok(decision) = decision.cast::<Decision>() {
        let Decision { ticket, arm, .. } = *decision.get();
        return Ok((PyString::new(decision.py(), &ticket.to_string()).into_any(), arm));
    }
    let pair = decision.extract::<(Bound<'py, PyAny>, Bound<'py, PyAny>)>();
    let (ticket, arm) = pair.map_err(|_| {
        let remedy = "return a ticket and the index of an arm from decide(arms)";
        Failure::invalid("decision", Shown(decision), remedy)
    })?;
    Ok((ticket, chosen(&arm)?))
}

/// The index of an arm that a policy chose.
pub(crate) fn chosen(choice: &Bound<'_, PyAny>) -> Answer<usize> {
    choice.extract().map_err(|_| {
        let remedy = "return the index of an arm from choose or decide, a whole number from 0";
        Failure::invalid("choice", Shown(choice), remedy)
    })
}

/// A reward of a user's environment.
fn finite_reward(reward: &Bound<'_, PyAny>) -> Answer<f64> {
    let remedy = "return a finite number from reward(arm)";
    match reward.extract::<f64>() {
        Ok(number) if number.is_finite() => Ok(number),
        _ => Err(Failure::invalid("reward", Shown(reward), remedy)),
    }
}

/// An object of a user in an error, as Python shows it.
struct Shown<'a, 'py>(&'a Bound<'py, PyAny>);

impl std::fmt::Display for Shown<'_, '_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0.repr() {
            Ok(text) => write!(formatter, "{text}"),
            Err(_) => formatter.write_str("something without a repr"),
        }
    }
}

impl<'py> PythonLearner<'_, 'py> {
    fn ask(&mut self, round: u64) -> Answer<usize> {
        let arms = self.table.arms.borrow().clone().expect("the environment has opened the round");
        if !self.tickets {
            return chosen(&self.object.call_method1("choose", (arms, round))?);
        }
        let (ticket, arm) = opened(&self.object.call_method1("decide", (arms,))?)?;
        self.open.insert(round, ticket);
        Ok(arm)
    }

    fn tell(&mut self, round: u64, features: &[f64], reward: f64) -> PyResult<()> {
        let observed = match self.open.remove(&round) {
            Some(ticket) => self.object.call_method1("observe", (ticket, reward)),
            None => {
                let features = features.to_pyarray(self.object.py());
                self.object.call_method1("observe", (round, features, reward))
            }
        }?;
        let clipped =
            observed.cast::<Observation>().is_ok_and(|observation| observation.get().clipped);
        self.clipped += u64::from(clipped);
        Ok(())
    }
}

impl Learner for PythonLearner<'_, '_> {
    fn choose(&mut self, arms: &CoreArms, round: u64) -> reticent_lab::Result<usize> {
        self.table.check()?;
        if round.is_multiple_of(MOMENT) {
            self.object.py().check_signals().map_err(|error| self.table.keep(error))?;
        }
        let arm = self.ask(round).map_err(|error| self.table.keep(error.into()))?;
        if arm < arms.count() {
            return Ok(arm);
        }
        let remedy = format!("the policy chose this arm, but there are only {} arms", arms.count());
        Err(reticent::Error::invalid("arm", arm, remedy).into())
    }

    fn observe(&mut self, round: u64, features: &[f64], reward: f64) -> reticent_lab::Result<()> {
        self.table.check()?;
        self.tell(round, features, reward).map_err(|error| self.table.keep(error))
    }

    fn dismiss(&mut self, round: u64) {
        let Some(ticket) = self.open.remove(&round) else { return };
        // `dismiss` is optional.
        let dismissed = self.object.hasattr("dismiss").and_then(|has| match has {
            true => self.object.call_method1("dismiss", (ticket,)).map(drop),
            false => Ok(()),
        });
        if let Err(error) = dismissed {
            self.table.keep(error);
        }
    }
}

/// Recorded rounds, the regret after each, and the number of rewards that the policy clipped.
type Curve<'py> = (Bound<'py, PyArray1<u64>>, Bound<'py, PyArray1<f64>>, u64);

/// Plays one trial of a policy in an environment; returns the recorded rounds, the regret after each, and how many rewards the policy clipped
/// to its bounds, where it says so. Rewards come `delay` rounds late
/// on average, and a share `lost` of them never.
#[pyfunction]
#[pyo3(signature = (environment, policy, rounds, delay = 0.0, lost = 0.0, seed = 0))]
pub(crate) fn play_trial<'py>(
    py: Python<'py>,
    environment: &Bound<'py, PyAny>,
    policy: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = integers::rounds)] rounds: u64,
    delay: f64,
    lost: f64,
    #[pyo3(from_py_with = integers::seed)] seed: u64,
) -> Answer<Curve<'py>> {
    if rounds == 0 {
        return Err(Failure::invalid("rounds", 0, "expected a whole number above 0"));
    }
    if !(delay.is_finite() && delay >= 0.0) {
        return Err(Failure::invalid(
            "delay",
            delay,
            "expected a finite number of rounds, 0 or above",
        ));
    }
    if !(0.0..=1.0).contains(&lost) {
        return Err(Failure::invalid("lost", lost, "expected a share from 0 to 1"));
    }
    let way = Way { delay: Delay::Mean(delay), batch: 1, lost };
    let feedback = (delay > 0.0 || lost > 0.0).then(|| Feedback::new(way, seed));
    let table = Table { arms: RefCell::new(None), trouble: RefCell::new(None) };
    let mut environment = PythonRounds {
        object: environment,
        table: &table,
        arms: CoreArms::zeros(1, 1)?,
        means: vec![0.0],
        best: 0.0,
    };
    let tickets = policy.hasattr("decide")?;
    if !tickets && !policy.hasattr("choose")? {
        let remedy = "give it decide(arms) and observe(ticket, reward), or choose(arms, round) and observe(round, features, reward)";
        return Err(Failure::invalid("policy", policy.repr()?, remedy));
    }
    let mut learner =
        PythonLearner { object: policy, table: &table, tickets, open: HashMap::new(), clipped: 0 };
    let curve = play_with(&mut environment, &mut learner, feedback, &checkpoints(rounds, 120));
    if let Some(error) = table.trouble.take() {
        return Err(error.into());
    }
    let curve = curve.map_err(|error| match error.is_bad_input() {
        true => Failure::from(error),
        false => PyRuntimeError::new_err(error.to_string()).into(),
    })?;
    let rounds: Vec<u64> = curve.iter().map(|point| point.round).collect();
    let regret: Vec<f64> = curve.iter().map(|point| point.regret).collect();
    Ok((rounds.to_pyarray(py), regret.to_pyarray(py), learner.clipped))
}
