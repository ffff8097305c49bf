//! The calls that the bandits without privacy have in common: all but those that make them, learn one reward and show them.

use numpy::{PyArray1, ToPyArray};
use pyo3::{
    prelude::*,
    types::{PyBytes, PyTuple},
};

use crate::{
    arms::with_arms,
    convert::{Vector, restored},
    decision::{Chosen, Decision},
    error::Answer,
    guarantee::Guarantee,
    integers,
    linucb::LinUcb,
    online_linucb::OnlineLinUcb,
    ticketed::Ticketed,
};

/// PyO3 has no classes with type parameters, so the same calls are written out for each class.
macro_rules! calls {
    ($class:ident) => {
        #[pymethods]
        impl $class {
            /// Chooses an arm for the next person, from `Arms` or an array with one arm a row.
            fn decide(&mut self, arms: &Bound<'_, PyAny>) -> Answer<Decision> {
                let learner = &mut self.learner;
                with_arms(arms, &mut self.place, |arms| learner.decide(arms))
            }

            /// Decides for many people at once: see `JointBandit.decide_many`.
            #[pyo3(signature = (arms, people = None))]
            fn decide_many<'py>(
                &mut self,
                arms: &Bound<'py, PyAny>,
                #[pyo3(from_py_with = integers::people)] people: Option<usize>,
            ) -> Answer<Chosen<'py>> {
                self.learner.decide_many(arms, people)
            }

            /// Learns many rewards in order. Other threads run meanwhile.
            fn observe_many(
                &mut self,
                tickets: &Bound<'_, PyAny>,
                rewards: Vector<'_>,
            ) -> Answer<()> {
                self.learner.observe_many(tickets, &rewards)
            }

            /// Gives up waiting for a reward; returns whether the decision was open.
            fn dismiss(&mut self, ticket: &str) -> Answer<bool> {
                self.learner.dismiss(ticket)
            }

            /// Tickets of all open decisions, oldest first.
            fn open_tickets(&self) -> Vec<String> {
                self.learner.tickets()
            }

            /// Rewards learnt so far.
            #[getter]
            fn rounds(&self) -> u64 {
                self.learner.learner.rounds()
            }

            /// The number of decisions that wait for their reward.
            #[getter]
            fn open_decisions(&self) -> usize {
                self.learner.open_decisions()
            }

            /// The estimate of the unknown parameter.
            #[getter]
            fn theta<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
                self.learner.learner.policy().theta().to_pyarray(py)
            }

            /// None: this bandit has no privacy guarantee.
            #[getter]
            fn guarantee(&self) -> Option<Guarantee> {
                None
            }

            /// The whole state; protect these bytes like the data.
            fn save<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
                PyBytes::new(py, &self.learner.save())
            }

            /// Continues bit for bit from saved bytes; tickets of open decisions stay valid, and new tickets never repeat old ones.
            #[staticmethod]
            fn load(state: &[u8]) -> Answer<Self> {
                Ok($class { learner: Ticketed::load(state)?, place: None })
            }

            fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
                let state = slf.try_borrow().map_err(PyErr::from)?.save(slf.py());
                restored(slf, "load", (state,))
            }
        }
    };
}

calls!(LinUcb);
calls!(OnlineLinUcb);
