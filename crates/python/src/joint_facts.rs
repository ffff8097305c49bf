//! Facts about a [`JointBandit`]: its guarantee, its counts, and everything of it that has been released.

use numpy::{PyArray1, ToPyArray};
use pyo3::{prelude::*, types::PyBytes};

use crate::{
    convert::message,
    error::Answer,
    guarantee::{Guarantee, beside},
    joint::JointBandit,
    outlook::Outlook,
    policy::Policy,
};

#[pymethods]
impl JointBandit {
    /// Guarantee of the whole run.
    #[getter]
    fn guarantee(&mut self) -> Answer<Guarantee> {
        let learner = self.learner.enter()?;
        let (guarantee, replays) = (learner.guarantee()?, learner.replays());
        Ok(beside(guarantee, replays, self.learner.copies()).into())
    }

    /// The noise against the signal of all decisions; `None` if their number is not known.
    #[getter]
    fn outlook(&mut self) -> Answer<Option<Outlook>> {
        Ok(self.learner.enter()?.params().check()?.outlook()?.map(Outlook))
    }

    /// After a warm start, what may be promised to a person who took part in this bandit and in the one it began with.
    #[getter]
    fn guarantee_of_both(&mut self) -> Answer<Option<Guarantee>> {
        let learner = self.learner.enter()?;
        let (both, replays) = (learner.guarantee_of_both()?, learner.replays());
        Ok(both.map(|both| beside(both, replays, self.learner.copies()).into()))
    }

    /// Contributions learnt so far.
    #[getter]
    fn rounds(&self) -> u64 {
        self.learner.read().rounds()
    }

    /// Decisions made so far.
    #[getter]
    fn decisions(&self) -> u64 {
        self.learner.read().decisions()
    }

    /// The last release has been made: the model stays as it is, and decisions go on by it.
    #[getter]
    fn frozen(&self) -> bool {
        self.learner.read().is_frozen()
    }

    /// With `detect_changes`, how often newer releases contradicted what had been learnt.
    #[getter]
    fn changes(&self) -> u64 {
        self.learner.read().changes()
    }

    /// Number of releases that could not be turned into a policy, so that decisions went by the one that knows nothing.
    #[getter]
    fn cold_releases(&self) -> u64 {
        self.learner.read().cold_releases()
    }

    /// Releases made so far: what `load` takes as a check.
    #[getter]
    fn releases(&self) -> u64 {
        self.learner.read().releases()
    }

    /// Replays and copies that the guarantee is charged for.
    #[getter]
    fn replays(&mut self) -> Answer<u64> {
        Ok(self.learner.enter()?.replays())
    }

    /// Decisions that have not closed.
    #[getter]
    fn open_decisions(&self) -> usize {
        self.learner.read().open_decisions()
    }

    /// The estimate of the unknown parameter, from what has been released.
    #[getter]
    fn theta<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.learner.read().policy().theta().to_pyarray(py)
    }

    /// The policy that decisions go by, which holds nothing that was not released: for replicas that decide without the learner.
    fn policy(&self) -> Policy {
        Policy(self.learner.read().policy().clone())
    }

    /// The last release as a message, noisy sums and their deviations; `None` before the first.
    fn release<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        self.learner.read().release().map(|release| message(py, release))
    }

    /// Knowledge that a later bandit may begin with (`warm_start`): the last release and its cost. It holds nothing that was not released.
    fn legacy<'py>(&mut self, py: Python<'py>) -> Answer<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.learner.enter()?.legacy()?.save()))
    }
}
