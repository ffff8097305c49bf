//! The bandit with a trusted curator.
//!
//! **Copies.** The state holds sums of people's data and noise that has been drawn. `save` and `load` move it: the new place draws
//! fresh noise, and the old one must stop. A pickle, a `copy.deepcopy` and a forked child are copies, beside which the original may go
//! on: they draw fresh noise too, and are charged by the core's theorem (`release::stream`) one replay for the original and one for
//! every copy that was made before, so that the guarantee of the last copy covers them all. What the original says of itself rests
//! on the condition that no process goes on beside it. Saved bytes hold no key of the noise.
//!
//! **Files.** `JointBandit.open` keeps the learner in a folder (`reticent-durable`): a release is used when it is on disk. Such a learner is not
//! copied: a pickle and a forked child are refused.

use std::path::PathBuf;

use pyo3::{
    prelude::*,
    types::{PyBytes, PyDict, PyTuple},
};
use reticent::{
    bandit::{Arms, JointParams, Legacy, Rule},
    noise::SecureNoise,
    randomize::Bounds,
    release::{Schedule, Structure},
};
use reticent_durable::Options;
use reticent_lab::papers::constants::joint::{
    JointMechanism, JointMode, PublishedNoise, in_place_of,
};

use crate::{
    arms::with_arms,
    convert::{Vector, entries, parameter, parameter_or, restored},
    decision::{Chosen, Decision, Many, Observation, observe_many},
    error::{Answer, Failure},
    features::{Features, with_levels},
    fork_guard::{ForkGuarded, Forked},
    integers,
    joint_storage::{Files, Kept, Learner, opened, resumed, rollback_of, saved},
    simulated::SimulatedBandit,
};

/// A contextual linear bandit that is jointly differentially private: a trusted curator sees rewards, everyone else only what may
/// be seen.
///
/// >>> import numpy, reticent
/// >>> bandit = reticent.JointBandit(dimension=2, epsilon=1.0, delta=1e-6, horizon=100_000, window=1000)
/// >>> arms = numpy.array([[1.0, 0.0], [0.6, 0.8]])
/// >>> ticket, arm = bandit.decide(arms)
/// >>> bandit.observe(ticket, 0.7)          # within the next 1000 decisions; without a reward it counts as default_reward = 0
/// Observation(clipped=False, released=False)
/// >>> bandit.guarantee.epsilon <= 1.0
/// True
///
/// `rule` says how releases become decisions: "tuned" (the default: chosen by simulation), "certified" (a proved confidence set), "thompson"
/// (drawn, with an exact `decision.probability`), "two_level" (main effects before crosses, of the `features` that are given beside it) or "fixed", or one
/// of them with parameters, `{"certified": {"scale": 0.5}}`. Where all arms share a last feature, say so with `intercept`: rewards are then
/// centred, at half the noise.
///
/// With `forget=5000.0` what was learnt counts half after 5000 rewards, and no horizon is needed: the learner has no end. With
/// `detect_changes=True` it also drops all that was learnt when newer releases contradict it.
///
/// With parameters of its own for every arm, `blocks=K` says so: `dimension` features belong to one of K blocks, its last `shared` ones to
/// parameters of all. Noise and work are then spent on the blocks and on nothing between them. Arms are `Arms(rows, blocks=...)` or a pair
/// (blocks, rows).
///
/// >>> bandit = reticent.JointBandit(dimension=17, epsilon=1.0, delta=1e-6, horizon=20_000, blocks=26)
/// >>> classes = reticent.Arms(numpy.tile(numpy.full(17, 0.2), (26, 1)), blocks=range(26))
/// >>> ticket, arm = bandit.decide(classes)
///
/// `unit_arms=True` says that every arm has norm `feature_bound`, so that reports need not hide how long it is; others are scaled to it there.
///
/// `mechanism`, `schedule` and `window` are written as in an experiment file: "suited" (the default: "blt", or at large budgets "reports", which
/// randomises every contribution by itself), "blt", or `{"blt": {"buffers": 4}}`; "every_round"; 500 or "clock". With
/// `mode="paper"` the mechanism is "gaussian_tree", "wishart", "wishart_unshifted", "gaussian_opt" or "wishart_opt", with the constants that
/// Shariff and Sheffet (2018) ran; `mode="printed"` has the first three with the constants of their text.
///
/// Without `window` rewards are learnt as they come, and the guarantee rests on the condition that which rewards come, and when, depends on
/// no person's data: report 0 for a person who did nothing, or `expire` the ticket at a time that does not depend on what they did.
#[pyclass(module = "reticent", name = "JointBandit")]
pub(crate) struct JointBandit {
    pub(crate) learner: ForkGuarded<Learner>,
    kept: Kept,
    place: Option<Arms>,
}

#[pymethods]
impl JointBandit {
    #[new]
    #[pyo3(signature = (dimension, epsilon, delta, horizon = None, *, feature_bound = 1.0, rewards = (-1.0, 1.0), intercept = None,
        unit_arms = false, rule = None, contributions_per_person = 1, mechanism = None, schedule = None, restart_every = None, forget = None, detect_changes = false,
        mode = None, window = None, default_reward = None, warm_start = None, blocks = 1, shared = 0, features = None))]
    #[allow(clippy::too_many_arguments, reason = "keywords of one Python call")]
    fn new(
        py: Python<'_>,
        #[pyo3(from_py_with = integers::dimension)] dimension: usize,
        epsilon: f64,
        delta: f64,
        #[pyo3(from_py_with = integers::horizon)] horizon: Option<u64>,
        feature_bound: f64,
        rewards: (f64, f64),
        intercept: Option<&Bound<'_, PyAny>>,
        unit_arms: bool,
        rule: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = integers::contributions_per_person)] contributions_per_person: u64,
        mechanism: Option<&Bound<'_, PyAny>>,
        schedule: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = integers::restart_every)] restart_every: Option<u64>,
        forget: Option<f64>,
        detect_changes: bool,
        mode: Option<&Bound<'_, PyAny>>,
        window: Option<&Bound<'_, PyAny>>,
        default_reward: Option<f64>,
        warm_start: Option<&[u8]>,
        #[pyo3(from_py_with = integers::blocks)] blocks: usize,
        #[pyo3(from_py_with = integers::shared)] shared: usize,
        features: Option<&Bound<'_, Features>>,
    ) -> Answer<Self> {
        let (structure, intercept) =
            (Structure { blocks, shared }, crate::convert::intercept(intercept)?);
        let bounds = Bounds {
            feature_bound,
            rewards,
            intercept,
            unit_arms,
            structure,
            ..Bounds::unit(dimension)
        };
        let mode: JointMode = parameter_or("mode", mode, JointMode::Exact)?;
        let exact = JointParams::new(bounds, epsilon, delta, horizon);
        let defaults = match mode {
            JointMode::Exact => exact,
            JointMode::Paper | JointMode::Printed => {
                JointParams { rule: Rule::CERTIFIED, schedule: Schedule::EveryRound, ..exact }
            }
        };
        let gaps = forget.map_or(defaults.schedule, Schedule::for_half_life);
        let params = JointParams {
            contributions_per_person,
            restart_every,
            forget,
            detect_changes,
            rule: with_levels(parameter_or("rule", rule, defaults.rule)?, features)?,
            schedule: parameter_or("schedule", schedule, gaps)?,
            window: window.map(|window| parameter("window", window)).transpose()?,
            default_reward: default_reward.unwrap_or(defaults.default_reward),
            ..defaults
        };
        let params = match mode.constants() {
            None => {
                let mechanism = parameter_or("mechanism", mechanism, JointMechanism::default())?;
                JointParams { mechanism: mechanism.of_core()?, ..params }
            }
            Some(constants) => {
                let noise = parameter_or("mechanism", mechanism, PublishedNoise::GaussianTree)?;
                in_place_of(params, noise, constants)?
            }
        };
        let legacy = warm_start.map(Legacy::load).transpose()?;
        let learner = py.detach(|| {
            let (plan, noise) = (params.check()?, SecureNoise::from_system()?);
            match legacy {
                None => Ok(plan.start(noise)),
                Some(legacy) => plan.start_from(legacy, noise),
            }
        })?;
        Ok(JointBandit { learner: ForkGuarded::new(learner), kept: Kept::Memory, place: None })
    }

    /// A bandit in files: goes on with the one in this folder, or begins one with these parameters of `JointBandit`. A release is used when
    /// it is on disk and not before, so a process may be killed at any time. `log` keeps the log of releases elsewhere, on another
    /// file system say: it notices a rollback of the folder. Such a state raises `StaleState`, or is charged for with
    /// `rollback="charge"`. To be closed, or used in a `with` statement; after a kill, decisions that were open are unknown.
    ///
    /// >>> import numpy, reticent, tempfile
    /// >>> folder = tempfile.mkdtemp()
    /// >>> parameters = dict(dimension=2, epsilon=1.0, delta=1e-6, horizon=100_000, window=1000)
    /// >>> with reticent.JointBandit.open(folder, **parameters) as bandit:
    /// ...     ticket, arm = bandit.decide(numpy.eye(2))
    /// >>> with reticent.JointBandit.open(folder, **parameters) as bandit:     # tomorrow
    /// ...     bandit.observe(ticket, 0.7)
    /// Observation(clipped=False, released=False)
    #[staticmethod]
    #[pyo3(signature = (folder, *, log = None, rollback = "refuse", **parameters))]
    fn open<'py>(
        py: Python<'py>,
        folder: PathBuf,
        log: Option<PathBuf>,
        rollback: &str,
        parameters: Option<&Bound<'py, PyDict>>,
    ) -> Answer<Bound<'py, Self>> {
        let rollback = rollback_of(rollback)?;
        let made = py.get_type::<JointBandit>().call((), parameters)?;
        let made: Bound<'py, Self> = made.cast_into().map_err(PyErr::from)?;
        {
            let mut bandit = made.borrow_mut();
            let options = Options { log, rollback };
            let (journal, found) = opened(&folder, &options, bandit.learner.enter()?)?;
            if let Some(found) = found {
                bandit.learner = ForkGuarded::new(found);
            }
            bandit.kept = Kept::Files(ForkGuarded::new(Files(journal)));
        }
        Ok(made)
    }

    /// The same bandit with these parameters on seeded simulation noise, which protects no person: for experiments that give the same decisions
    /// each time.
    ///
    /// >>> import reticent
    /// >>> bandit = reticent.JointBandit.simulated(7, dimension=2, epsilon=1.0, delta=1e-6, horizon=1000)
    /// >>> "SIMULATION" in str(bandit.guarantee)
    /// True
    #[staticmethod]
    #[pyo3(signature = (seed, **parameters))]
    fn simulated<'py>(
        py: Python<'py>,
        #[pyo3(from_py_with = integers::seed)] seed: u64,
        parameters: Option<&Bound<'py, PyDict>>,
    ) -> Answer<SimulatedBandit> {
        let made = py.get_type::<JointBandit>().call((), parameters)?;
        let made: Bound<'py, Self> = made.cast_into().map_err(PyErr::from)?;
        let params = made.borrow().learner.read().params().clone();
        let given = parameters.map(|given| given.get_item("warm_start")).transpose()?.flatten();
        let warm_start = match given.filter(|bytes| !bytes.is_none()) {
            Some(bytes) => Some(Legacy::load(&bytes.extract::<Vec<u8>>()?)?),
            None => None,
        };
        SimulatedBandit::new(py, params, warm_start, seed)
    }

    /// Stops in order: state and open decisions are on disk. Without files there is nothing to do.
    fn close(&mut self) -> Answer<()> {
        if let Kept::Files(files) = &mut self.kept {
            let Files(journal) = files.enter()?;
            journal.close(self.learner.enter()?)?;
            self.kept = Kept::Closed;
        }
        Ok(())
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_error))]
    fn __exit__(&mut self, _error: &Bound<'_, PyTuple>) -> Answer<()> {
        self.close()
    }

    /// Chooses an arm for the next person, from `Arms` or an array with one arm a row. `now` is a time of your own public clock, a
    /// whole number in any unit; `close_before` compares with it.
    #[pyo3(signature = (arms, now = None))]
    fn decide(
        &mut self,
        arms: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = integers::now)] now: Option<u64>,
    ) -> Answer<Decision> {
        let place = &mut self.place;
        let decision = self.kept.durably(&mut self.learner, |learner| {
            with_arms(arms, place, |arms| match now {
                None => learner.decide(arms),
                Some(now) => learner.decide_at(arms, now),
            })
        })?;
        Ok(decision.into())
    }

    /// Takes the reward of an earlier decision, once. Without a window it is learnt now; with one when the decision closes.
    fn observe(&mut self, ticket: &str, reward: f64) -> Answer<Observation> {
        let ticket = crate::decision::ticket(ticket)?;
        let seen =
            self.kept.durably(&mut self.learner, |learner| Ok(learner.observe(ticket, reward)?))?;
        Ok(seen.into())
    }

    /// Books `default_reward` for a decision whose reward has not come: for those who keep the time themselves, by a clock that depends on
    /// no person's data.
    fn expire(&mut self, ticket: &str) -> Answer<Observation> {
        let ticket = crate::decision::ticket(ticket)?;
        let seen = self.kept.durably(&mut self.learner, |learner| Ok(learner.expire(ticket)?))?;
        Ok(seen.into())
    }

    /// Closes, in order, all decisions made before a time of your own public clock: each contributes its reward or `default_reward`.
    /// Says how many were closed.
    fn close_before(&mut self, #[pyo3(from_py_with = integers::time)] time: u64) -> Answer<u64> {
        let mut decisions = 0;
        loop {
            // In files every release on the way is on disk before the next one is made.
            let closed =
                self.kept.durably(&mut self.learner, |learner| Ok(learner.close_before(time)?))?;
            decisions += closed.decisions;
            if closed.releases == 0 {
                return Ok(decisions);
            }
        }
    }

    /// A tick of your own public clock, for `schedule="clock"`: releases what has been learnt since the last one, and the policy with it. Then
    /// neither the number nor the times of rewards show.
    fn tick(&mut self) -> Answer<()> {
        self.kept.durably(&mut self.learner, |learner| Ok(learner.tick()?))
    }

    /// Decides for many people: an array (people, arms, features), or one set and `people=n`. Returns the tickets and the arms. Other
    /// threads run meanwhile. If it raises an error in the middle, as where a disk fails, the decisions before it are dismissed.
    #[pyo3(signature = (arms, people = None))]
    fn decide_many<'py>(
        &mut self,
        py: Python<'py>,
        arms: &Bound<'py, PyAny>,
        #[pyo3(from_py_with = integers::people)] people: Option<usize>,
    ) -> Answer<Chosen<'py>> {
        let decide = |bandit: &mut Self, arms: &Arms| {
            let decision =
                bandit.kept.durably(&mut bandit.learner, |learner| Ok(learner.decide(arms)?))?;
            Ok((decision.ticket, decision.arm))
        };
        // Not durably: the disk has failed, and open decisions are not on it.
        let dismiss = |bandit: &mut Self, ticket| {
            if let Ok(learner) = bandit.learner.enter() {
                learner.dismiss(ticket);
            }
        };
        Many::new(arms, people)?.decide(py, self, decide, dismiss)
    }

    /// Takes many rewards in order; says how often the policy has learnt. Other threads run meanwhile.
    fn observe_many(
        &mut self,
        py: Python<'_>,
        tickets: &Bound<'_, PyAny>,
        rewards: Vector<'_>,
    ) -> Answer<usize> {
        let (tickets, rewards) = (crate::decision::tickets(tickets)?, entries(&rewards));
        let (kept, learner, mut releases) = (&mut self.kept, &mut self.learner, 0);
        observe_many(py, &tickets, &rewards, |ticket, reward| {
            let seen = kept.durably(learner, |learner| Ok(learner.observe(ticket, reward)?))?;
            releases += usize::from(seen.released);
            Ok(())
        })?;
        Ok(releases)
    }

    /// Gives up a decision that no caller saw; says whether it was waited for. With a window it contributes zeros when it closes.
    fn dismiss(&mut self, ticket: &str) -> Answer<bool> {
        let ticket = crate::decision::ticket(ticket)?;
        self.kept.durably(&mut self.learner, |learner| Ok(learner.dismiss(ticket)))
    }

    /// Tickets of all open decisions, oldest first, each with the time it was made at.
    fn open_tickets(&self) -> Vec<(String, u64)> {
        let tickets = self.learner.read().open_tickets();
        tickets.map(|(ticket, time)| (ticket.to_string(), time)).collect()
    }

    /// The whole state, people's data included: protect these bytes as the data itself, and go on in one place only. Without
    /// `open_decisions` the rewards of decisions that are open now are refused after a resumption from them.
    #[pyo3(signature = (open_decisions = true))]
    fn save<'py>(&mut self, py: Python<'py>, open_decisions: bool) -> Answer<Bound<'py, PyBytes>> {
        if !matches!(self.kept, Kept::Memory) {
            let remedy = "it is saved in its folder: close it, and open it where it is to go on";
            return Err(Failure::invalid("JointBandit", "a bandit in files", remedy));
        }
        self.learner.enter()?;
        Ok(PyBytes::new(py, &saved(&self.learner, open_decisions)))
    }

    /// Goes on from saved bytes. `releases_made` is how many releases have left in all, from your own log; a state that
    /// is behind it raises `StaleState`. If `charged_before` is given, it goes on from such a state and is charged for one more replay
    /// than that: it is what `replays` said when the last one left. `JointBandit.open` keeps both numbers itself.
    #[staticmethod]
    #[pyo3(signature = (state, releases_made, charged_before = None))]
    fn load(
        state: &[u8],
        #[pyo3(from_py_with = integers::releases_made)] releases_made: u64,
        #[pyo3(from_py_with = integers::charged_before)] charged_before: Option<u64>,
    ) -> Answer<Self> {
        let (learner, copies) = resumed(state, |state| match charged_before {
            None => Learner::resume(state, releases_made),
            Some(before) => Learner::resume_charged(state, releases_made, before),
        })?;
        Ok(JointBandit {
            learner: ForkGuarded::copied(learner, copies),
            kept: Kept::Memory,
            place: None,
        })
    }

    /// A copy beside the original, with fresh noise and the charge for all that are there.
    #[staticmethod]
    fn _copy(state: &[u8]) -> Answer<Self> {
        let (mut learner, copies) = resumed(state, |state| Learner::resume(state, 0))?;
        learner.forked(copies)?;
        Ok(JointBandit { learner: ForkGuarded::new(learner), kept: Kept::Memory, place: None })
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> Answer<Bound<'py, PyTuple>> {
        let py = slf.py();
        let mut bandit = slf.try_borrow_mut().map_err(PyErr::from)?;
        bandit.learner.enter()?;
        let counted = matches!(bandit.kept, Kept::Memory);
        if counted {
            bandit.learner.count_copy();
        }
        let state = bandit.save(py, true)?;
        Ok(restored(slf, "_copy", (state,))?)
    }

    fn __repr__(&mut self) -> Answer<String> {
        let learner = self.learner.enter()?;
        Ok(format!("JointBandit({} rewards; {})", learner.rounds(), learner.guarantee()?))
    }
}
