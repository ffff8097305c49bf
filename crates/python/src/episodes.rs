//! The bandit for actions that are fixed, public and the same for all people.

use pyo3::{prelude::*, types::PyBytes};
use reticent::{
    bandit::{Episode as CoreEpisode, Episodes, EpisodesParams},
    noise::SecureNoise,
    privacy::TrustModel,
};

use crate::{
    error::{Answer, Failure},
    fork_guard::{ForkGuarded, Forked},
    guarantee::Guarantee,
    integers,
    policy::Policy,
};

impl Forked for Episodes<SecureNoise> {
    fn forked(&mut self, others: u64) -> reticent::Result<()> {
        (0..others).try_for_each(|_| self.branch())
    }
}

/// The bandit for `actions` that are fixed, public and the same for all people, by optimism in episodes: one action is shown to many people, and then one
/// noisy mean of their rewards is released. Where the actions of a person depend on the person its guarantee does not hold: take `JointBandit`, which hides
/// them.
///
/// >>> import numpy, reticent
/// >>> bandit = reticent.EpisodesBandit(numpy.array([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]]), epsilon=1.0, delta=1e-6)
/// >>> number, action = bandit.decide()
/// >>> bandit.observe(number, 0.7)          # False if its episode is over
/// True
/// >>> bandit.guarantee.epsilon <= 1.0
/// True
///
/// `actions` has a row of features for each, of norm at most 1. `trust` is "central" (this process sees rewards), "shuffle" (it sees bits that a shuffler
/// mixed: `episode.report` on each device, then `absorb`) or "none". With `forget=5000.0` what was released counts half after 5000 people.
#[pyclass(module = "reticent", name = "EpisodesBandit")]
pub(crate) struct EpisodesBandit(ForkGuarded<Episodes<SecureNoise>>);

#[pymethods]
impl EpisodesBandit {
    #[new]
    #[pyo3(signature = (actions, epsilon = None, delta = None, *, trust = "central", rewards = (0.0, 1.0), contributions_per_person = 1, forget = None,
        width = None, growth = None))]
    #[allow(clippy::too_many_arguments, reason = "keywords of one Python call")]
    fn new(
        py: Python<'_>,
        actions: Vec<Vec<f64>>,
        epsilon: Option<f64>,
        delta: Option<f64>,
        trust: &str,
        rewards: (f64, f64),
        #[pyo3(from_py_with = integers::contributions_per_person)] contributions_per_person: u64,
        forget: Option<f64>,
        width: Option<f64>,
        growth: Option<f64>,
    ) -> Answer<Self> {
        let trust = match trust {
            "central" => TrustModel::Joint,
            "shuffle" => TrustModel::Shuffle,
            "none" => TrustModel::None,
            other => {
                let remedy = "expected \"central\", \"shuffle\" or \"none\"";
                return Err(Failure::invalid("trust", format!("{other:?}"), remedy));
            }
        };
        // Without privacy there is no budget.
        let budget = |given: Option<f64>| given.unwrap_or(0.0);
        let params = EpisodesParams {
            trust,
            rewards,
            contributions_per_person,
            forget,
            default_reward: rewards.0,
            width: width.unwrap_or(EpisodesParams::WIDTH),
            growth: growth.unwrap_or(EpisodesParams::GROWTH),
            ..EpisodesParams::new(actions, budget(epsilon), budget(delta))
        };
        let learner = py.detach(|| Ok(params.check()?.start(SecureNoise::from_system()?)));
        Ok(EpisodesBandit(ForkGuarded::new(learner.map_err(|error: reticent::Error| error)?)))
    }

    /// Chooses the action for the next person: the number of the decision, and the index of the action.
    fn decide(&mut self) -> Answer<(u64, usize)> {
        let decision = self.0.enter()?.decide()?;
        Ok((decision.number, decision.arm))
    }

    /// Takes the reward of a decision, once; returns whether it was learnt from, which that of an episode that is over is not.
    fn observe(
        &mut self,
        #[pyo3(from_py_with = integers::number)] number: u64,
        reward: f64,
    ) -> Answer<bool> {
        Ok(self.0.enter()?.observe(number, reward)?)
    }

    /// Takes the number of ones among the bits of the people of the present episode, as the shuffler shows it.
    fn absorb(&mut self, #[pyo3(from_py_with = integers::ones)] ones: u64) -> Answer<()> {
        Ok(self.0.enter()?.absorb(ones)?)
    }

    /// The present episode: public.
    #[getter]
    fn episode(&self) -> Episode {
        Episode(self.0.read().episode())
    }

    /// The guarantee of the whole run; None without privacy.
    #[getter]
    fn guarantee(&self) -> Answer<Option<Guarantee>> {
        let bandit = self.0.read();
        match bandit.params().trust {
            TrustModel::None => Ok(None),
            _ => Ok(Some(bandit.guarantee()?.into())),
        }
    }

    /// The policy of the present episode; everything in it has been released.
    fn policy(&self) -> Policy {
        Policy(self.0.read().policy().clone())
    }

    /// Releases made so far; `load` needs this number.
    #[getter]
    fn releases(&self) -> u64 {
        self.0.read().releases()
    }

    /// The whole state, people's data included: protect these bytes like the data.
    fn save<'py>(&mut self, py: Python<'py>) -> Answer<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.0.enter()?.save()))
    }

    /// Continues from saved bytes, if no release has been made since; the place that saved them must stop.
    #[staticmethod]
    fn load(
        state: &[u8],
        #[pyo3(from_py_with = integers::releases_made)] releases_made: u64,
    ) -> Answer<Self> {
        Ok(EpisodesBandit(ForkGuarded::new(Episodes::resume(state, releases_made)?)))
    }
}

/// An episode: what a device of a person in it needs.
#[pyclass(frozen, module = "reticent", name = "Episode")]
pub(crate) struct Episode(CoreEpisode);

#[pymethods]
impl Episode {
    /// Number of the episode, from 0.
    #[getter]
    fn number(&self) -> u64 {
        self.0.number
    }

    /// Index of the action that all of its people are shown.
    #[getter]
    fn action(&self) -> usize {
        self.0.arm
    }

    /// Number of its people.
    #[getter]
    fn people(&self) -> u64 {
        self.0.length
    }

    /// Epsilon of each person's bit by itself, with a shuffler.
    #[getter]
    fn local_epsilon(&self) -> f64 {
        self.0.local_epsilon
    }

    /// The bit that a person's device sends to the shuffler.
    fn report(&self, reward: f64) -> Answer<bool> {
        Ok(self.0.report(reward, &mut SecureNoise::from_system()?)?)
    }
}
