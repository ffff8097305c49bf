//! The bandit with a trusted curator.
//!
//! **Copies.** The state holds sums of people's data and noise that has been drawn. `save` and `load` move it: the new place draws
//! fresh noise, and the old one must stop. A pickle, a `copy.deepcopy` and a forked child are copies, beside which the original may go
//! on: they draw fresh noise too, and are charged one replay each by the core's theorem (`release::stream`), so that the
//! guarantee of a copy covers the original and all copies that were pickled before it. What the original says of itself rests on
//! the condition that nobody goes on beside it.

use numpy::{PyArray1, PyReadonlyArray1, ToPyArray};
use pyo3::{
    prelude::*,
    types::{PyBytes, PyTuple},
};
use reticent::{
    bandit::{Arms, JointLinUcb, JointParams, Problem, Ticket},
    noise::SecureNoise,
    privacy::Mode,
};

use crate::{
    arms::{fill, with_arms},
    convert::restored,
    convert::{Sets, Vector, entries, parameter_or},
    error::{Answer, Failure},
    guarantee::Guarantee,
    mine::{Forked, Mine},
};

/// A choice: the arm to play, and the ticket to hand back with its reward. Unpacks as `ticket, arm`.
#[pyclass(frozen, get_all, eq, module = "reticent", name = "Decision")]
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct Decision {
    /// To be handed back with the reward.
    pub(crate) ticket: u64,
    /// Index of the chosen arm.
    pub(crate) arm: usize,
}

#[pymethods]
impl Decision {
    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        (self.ticket, self.arm).into_pyobject(py)?.into_any().try_iter().map(Bound::into_any)
    }

    fn __repr__(&self) -> String {
        format!("Decision(ticket={}, arm={})", self.ticket, self.arm)
    }
}

/// What became of a reward. Whether it was clipped is a bit of the person's own data: not to be published.
#[pyclass(frozen, get_all, eq, module = "reticent", name = "Observation")]
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct Observation {
    /// The reward lay outside its bounds and was clipped to them.
    pub(crate) clipped: bool,
    /// Sums were released, and the policy has learnt.
    pub(crate) released: bool,
}

#[pymethods]
impl Observation {
    fn __repr__(&self) -> String {
        let word = |yes| if yes { "True" } else { "False" };
        format!("Observation(clipped={}, released={})", word(self.clipped), word(self.released))
    }
}

/// Tickets, which are whole numbers and never rounded to one.
pub(crate) fn tickets(value: &Bound<'_, PyAny>) -> Answer<Vec<u64>> {
    if let Ok(array) = value.extract::<PyReadonlyArray1<'_, u64>>() {
        return Ok(array.as_array().to_vec());
    }
    value.extract().map_err(|error: PyErr| {
        Failure::invalid("tickets", error, "give the whole numbers that decide_many returned")
    })
}

/// A decision set for each of many people, or one for all.
pub(crate) enum Many<'py> {
    Fresh(Sets<'py>),
    Same(Arms, usize),
}

impl<'py> Many<'py> {
    pub(crate) fn new(arms: &Bound<'py, PyAny>, people: Option<usize>) -> Answer<Self> {
        match people {
            Some(people) => Ok(Many::Same(crate::arms::owned(arms)?, people)),
            None => arms.extract().map(Many::Fresh).map_err(|error: PyErr| {
                let remedy = "give an array (people, arms, features), or one set and people=n";
                Failure::invalid("arms", error, remedy)
            }),
        }
    }

    /// Asks `decide` for everybody, without the interpreter's lock; the first error gives back all tickets by `undo`.
    pub(crate) fn decide<L: Send>(
        &self,
        py: Python<'py>,
        learner: &mut L,
        decide: impl Fn(&mut L, &Arms) -> reticent::Result<(u64, usize)> + Sync,
        undo: impl Fn(&mut L, u64),
    ) -> Answer<(Bound<'py, PyArray1<u64>>, Bound<'py, PyArray1<u64>>)> {
        let mut given = Vec::new();
        let mut one = |learner: &mut L, arms: &Arms| {
            decide(learner, arms).map(|decision| given.push(decision))
        };
        let done = match self {
            Many::Same(arms, people) => {
                py.detach(|| (0..*people).try_for_each(|_| one(learner, arms)))
            }
            Many::Fresh(sets) => {
                let (sets, mut place) = (sets.as_array(), None);
                py.detach(|| {
                    let mut rows = sets.outer_iter();
                    rows.try_for_each(|rows| one(learner, fill(&mut place, rows)?))
                })
            }
        };
        if let Err(error) = done {
            let index = given.len();
            given.iter().for_each(|(ticket, _)| undo(learner, *ticket));
            return Err(Failure::invalid(
                "arms",
                format!("refused at entry {index}"),
                error.to_string(),
            ));
        }
        let tickets: Vec<u64> = given.iter().map(|(ticket, _)| *ticket).collect();
        let arms: Vec<u64> = given.iter().map(|(_, arm)| *arm as u64).collect();
        Ok((tickets.to_pyarray(py), arms.to_pyarray(py)))
    }
}

impl Forked for JointLinUcb<SecureNoise> {
    fn forked(&mut self) -> reticent::Result<()> {
        self.branch()
    }
}

/// A contextual linear bandit that is jointly differentially private: a trusted curator sees rewards, everybody else only what may
/// be seen.
///
/// >>> import numpy, reticent
/// >>> bandit = reticent.JointBandit(dimension=2, epsilon=1.0, delta=1e-6, horizon=100_000)
/// >>> arms = numpy.array([[1.0, 0.0], [0.6, 0.8]])
/// >>> ticket, arm = bandit.decide(arms)
/// >>> bandit.observe(ticket, 0.7)          # now, later, in any order, or never
/// Observation(clipped=False, released=False)
/// >>> bandit.guarantee.epsilon <= 1.0
/// True
#[pyclass(module = "reticent", name = "JointBandit")]
pub(crate) struct JointBandit {
    learner: Mine<JointLinUcb<SecureNoise>>,
    place: Option<Arms>,
    /// Copies that were pickled of this state.
    copies: u64,
}

impl JointBandit {
    fn of(mut learner: JointLinUcb<SecureNoise>) -> Answer<Self> {
        learner.refresh_noise()?;
        Ok(JointBandit { learner: Mine::new(learner), place: None, copies: 0 })
    }
}

#[pymethods]
impl JointBandit {
    #[new]
    #[pyo3(signature = (dimension, epsilon, delta, horizon = None, *, feature_bound = 1.0, reward_bound = 1.0,
        parameter_bound = 1.0, noise = 1.0, contributions_per_person = 1, alpha = None, mechanism = None, schedule = None,
        mode = None, published = None))]
    #[allow(clippy::too_many_arguments, reason = "keywords of one Python call")]
    fn new(
        py: Python<'_>,
        dimension: usize,
        epsilon: f64,
        delta: f64,
        horizon: Option<u64>,
        feature_bound: f64,
        reward_bound: f64,
        parameter_bound: f64,
        noise: f64,
        contributions_per_person: u64,
        alpha: Option<f64>,
        mechanism: Option<&Bound<'_, PyAny>>,
        schedule: Option<&Bound<'_, PyAny>>,
        mode: Option<&Bound<'_, PyAny>>,
        published: Option<&Bound<'_, PyAny>>,
    ) -> Answer<Self> {
        let problem = Problem { dimension, feature_bound, reward_bound, parameter_bound, noise };
        let mode: Mode = parameter_or("mode", mode, Mode::Exact)?;
        let defaults = match (mode, horizon) {
            (Mode::Paper, Some(horizon)) => {
                JointParams::published(problem, epsilon, delta, horizon)
            }
            _ => JointParams { mode, ..JointParams::new(problem, epsilon, delta, horizon) },
        };
        let params = JointParams {
            contributions_per_person,
            alpha,
            mechanism: parameter_or("mechanism", mechanism, defaults.mechanism)?,
            schedule: parameter_or("schedule", schedule, defaults.schedule)?,
            published: parameter_or("published", published, defaults.published)?,
            ..defaults
        };
        let learner = py.detach(|| {
            Ok::<_, reticent::Error>(params.check()?.start(SecureNoise::from_system()?))
        })?;
        Ok(JointBandit { learner: Mine::new(learner), place: None, copies: 0 })
    }

    /// Chooses an arm for the next person, from `Arms` or an array with one arm a row.
    fn decide(&mut self, arms: &Bound<'_, PyAny>) -> Answer<Decision> {
        let learner = self.learner.enter()?;
        let decision = with_arms(arms, &mut self.place, |arms| learner.decide(arms))?;
        Ok(Decision { ticket: decision.ticket.number(), arm: decision.arm })
    }

    /// Learns the reward of an earlier decision, once.
    fn observe(&mut self, ticket: u64, reward: f64) -> Answer<Observation> {
        let observation = self.learner.enter()?.observe(Ticket::numbered(ticket), reward)?;
        let reticent::bandit::Observation { clipped, released } = observation;
        Ok(Observation { clipped, released })
    }

    /// Decides for many people under the policy as it stands: an array (people, arms, features), or one set and `people=n`. Returns
    /// the tickets and the arms. Other threads run meanwhile.
    #[pyo3(signature = (arms, people = None))]
    #[allow(clippy::type_complexity, reason = "two arrays")]
    fn decide_many<'py>(
        &mut self,
        py: Python<'py>,
        arms: &Bound<'py, PyAny>,
        people: Option<usize>,
    ) -> Answer<(Bound<'py, PyArray1<u64>>, Bound<'py, PyArray1<u64>>)> {
        let learner = self.learner.enter()?;
        Many::new(arms, people)?.decide(
            py,
            learner,
            |learner, arms| learner.decide(arms).map(|d| (d.ticket.number(), d.arm)),
            |learner, ticket| {
                learner.dismiss(Ticket::numbered(ticket));
            },
        )
    }

    /// Learns many rewards in order; says how often the policy has learnt. Other threads run meanwhile.
    fn observe_many(
        &mut self,
        py: Python<'_>,
        tickets: &Bound<'_, PyAny>,
        rewards: Vector<'_>,
    ) -> Answer<usize> {
        let learner = self.learner.enter()?;
        let (tickets, rewards) = (crate::joint::tickets(tickets)?, entries(&rewards));
        if tickets.len() != rewards.len() {
            let (expected, found) = (tickets.len(), rewards.len());
            return Err(reticent::Error::Dimension { field: "rewards", expected, found }.into());
        }
        py.detach(|| {
            let mut releases = 0;
            for (index, (ticket, reward)) in tickets.iter().zip(rewards.iter()).enumerate() {
                let observation = learner.observe(Ticket::numbered(*ticket), *reward);
                releases += usize::from(observation.map_err(|error| (index, error))?.released);
            }
            Ok(releases)
        })
        .map_err(|(index, error)| Failure::at(index, error))
    }

    /// Gives up waiting for a reward; says whether it was waited for.
    fn dismiss(&mut self, ticket: u64) -> Answer<bool> {
        Ok(self.learner.enter()?.dismiss(Ticket::numbered(ticket)))
    }

    /// What may be promised of the whole run.
    #[getter]
    fn guarantee(&mut self) -> Answer<Guarantee> {
        let guarantee = self.learner.enter()?.guarantee()?;
        Ok(match self.copies {
            0 => guarantee,
            copies => guarantee.with_condition(format!(
                "{copies} copies of this state were pickled: one that goes on beside it has its own, larger guarantee"
            )),
        }
        .into())
    }

    /// Rewards learnt so far.
    #[getter]
    fn rounds(&self) -> u64 {
        self.learner.read().rounds()
    }

    /// Releases made so far: what `load` may be told.
    #[getter]
    fn releases(&self) -> u64 {
        self.learner.read().releases()
    }

    /// Replays and copies that the guarantee is charged for.
    #[getter]
    fn replays(&mut self) -> Answer<u64> {
        Ok(self.learner.enter()?.replays())
    }

    /// Decisions whose reward has not come.
    #[getter]
    fn open_decisions(&self) -> usize {
        self.learner.read().open_decisions()
    }

    /// The estimate of the unknown parameter, from what has been released.
    #[getter]
    fn theta<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.learner.read().policy().theta().to_pyarray(py)
    }

    /// The whole state, people's data included: protect these bytes as the data itself, and go on in one place only.
    fn save<'py>(&mut self, py: Python<'py>) -> Answer<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.learner.enter()?.save()))
    }

    /// Goes on from saved bytes, with fresh noise. `releases_made` is how many releases have left in all, from your own log; an
    /// older state is refused, unless `replays_made` says how often that was paid for before: then it is paid for once more.
    #[staticmethod]
    #[pyo3(signature = (state, releases_made = None, replays_made = None))]
    fn load(state: &[u8], releases_made: Option<u64>, replays_made: Option<u64>) -> Answer<Self> {
        let made = releases_made.unwrap_or(0);
        JointBandit::of(match replays_made {
            None => JointLinUcb::resume(state, made)?,
            Some(replays) => JointLinUcb::resume_charged(state, made, replays)?,
        })
    }

    /// A copy beside the original, with fresh noise and the charge for it.
    #[staticmethod]
    fn _copy(state: &[u8], copies: u64) -> Answer<Self> {
        let mut bandit = JointBandit::load(state, None, None)?;
        for _ in 0..copies {
            bandit.learner.enter()?.branch()?;
        }
        Ok(bandit)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> Answer<Bound<'py, PyTuple>> {
        let py = slf.py();
        let state = slf.borrow_mut().save(py)?;
        slf.borrow_mut().copies += 1;
        let copies = slf.borrow().copies;
        Ok(restored(slf, "_copy", (state, copies))?)
    }

    fn __repr__(&mut self) -> Answer<String> {
        let learner = self.learner.enter()?;
        Ok(format!("JointBandit({} rewards; {})", learner.rounds(), learner.guarantee()?))
    }
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Decision>()?;
    module.add_class::<Observation>()?;
    module.add_class::<JointBandit>()
}
