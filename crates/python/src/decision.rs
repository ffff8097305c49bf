//! Decisions, rewards and tickets, for bandits with and without privacy.

use numpy::{PyArray1, ToPyArray};
use pyo3::{prelude::*, pybacked::PyBackedStr};
use reticent::bandit::{Arms, Ticket};

use crate::{
    arms::fill,
    convert::Sets,
    error::{Answer, Failure},
};

/// A choice: the arm to play, and the ticket to pass back with its reward. Unpacks as `ticket, arm`.
#[pyclass(frozen, eq, module = "reticent", name = "Decision")]
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct Decision {
    pub(crate) ticket: Ticket,
    /// Index of the chosen arm.
    #[pyo3(get)]
    pub(crate) arm: usize,
    /// With which probability it was chosen: an exact count under `rule="thompson"`, 1 under rules that draw nothing.
    #[pyo3(get)]
    pub(crate) probability: f64,
    /// Number of arms that were longer than the feature bound and were scaled to it; a property of this person's own data.
    #[pyo3(get)]
    pub(crate) clipped_arms: usize,
    /// The last release has been made: no reward changes the model any more.
    #[pyo3(get)]
    pub(crate) frozen: bool,
}

#[pymethods]
impl Decision {
    /// To be passed back with the reward: 32 hexadecimal digits, unique to this decision.
    #[getter]
    fn ticket(&self) -> String {
        self.ticket.to_string()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        (self.ticket(), self.arm).into_pyobject(py)?.into_any().try_iter().map(Bound::into_any)
    }

    fn __repr__(&self) -> String {
        let clipped = match self.clipped_arms {
            0 => String::new(),
            count => format!(", clipped_arms={count}"),
        };
        let drawn = match self.probability {
            1.0 => String::new(),
            probability => format!(", probability={probability}"),
        };
        let frozen = if self.frozen { ", frozen=True" } else { "" };
        format!("Decision(ticket='{}', arm={}{drawn}{clipped}{frozen})", self.ticket, self.arm)
    }
}

impl From<reticent::bandit::Decision> for Decision {
    fn from(decision: reticent::bandit::Decision) -> Self {
        let reticent::bandit::Decision { ticket, arm, probability, clipped_arms, frozen, .. } =
            decision;
        Decision { ticket, arm, probability, clipped_arms, frozen }
    }
}

/// The result of a reward. Whether it was clipped depends on the person's data and must not be published.
#[pyclass(frozen, get_all, eq, module = "reticent", name = "Observation")]
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct Observation {
    /// The reward lay outside its bounds and was clipped to them.
    pub(crate) clipped: bool,
    /// Sums were released, and the policy has learnt.
    pub(crate) released: bool,
    /// The decision had already been closed, or was made by a frozen model: nothing has changed.
    pub(crate) late: bool,
}

impl From<reticent::bandit::Observation> for Observation {
    fn from(observation: reticent::bandit::Observation) -> Self {
        let reticent::bandit::Observation { clipped, released, late } = observation;
        Observation { clipped, released, late }
    }
}

#[pymethods]
impl Observation {
    fn __repr__(&self) -> String {
        let word = |yes| if yes { "True" } else { "False" };
        let late = if self.late { ", late=True" } else { "" };
        format!(
            "Observation(clipped={}, released={}{late})",
            word(self.clipped),
            word(self.released)
        )
    }
}

/// Parses the text of a ticket.
pub(crate) fn ticket(text: &str) -> Answer<Ticket> {
    Ok(text.parse()?)
}

/// Tickets of many decisions.
pub(crate) fn tickets(value: &Bound<'_, PyAny>) -> Answer<Vec<Ticket>> {
    let wrong = |error: PyErr| {
        Failure::invalid("tickets", error, "expected the list of tickets that decide_many returned")
    };
    let one = |value: PyResult<Bound<'_, PyAny>>| -> Answer<Ticket> {
        let text: PyBackedStr = value.and_then(|value| value.extract()).map_err(wrong)?;
        ticket(&text)
    };
    value.try_iter().map_err(wrong)?.map(one).collect()
}

/// Tickets and arms of many people.
pub(crate) type Chosen<'py> = (Vec<String>, Bound<'py, PyArray1<u64>>);

/// A decision set for each of many people, or one for all.
pub(crate) enum Many<'py> {
    Fresh(Sets<'py>),
    Same(Arms, usize),
}

impl<'py> Many<'py> {
    pub(crate) fn new(arms: &Bound<'py, PyAny>, people: Option<usize>) -> Answer<Self> {
        if let Some(people) = people {
            return Ok(Many::Same(crate::arms::owned(arms)?, people));
        }
        let sets: Sets<'py> = arms.extract().map_err(|error: PyErr| {
            let remedy = "expected an array (people, arms, features), or one set and people=n";
            Failure::invalid("arms", error, remedy)
        })?;
        // Checked first, so that a bad entry leaves all entries undecided.
        for (index, rows) in sets.as_array().outer_iter().enumerate() {
            if let Some(bad) = rows.iter().find(|x| !x.is_finite()) {
                let remedy = format!("it is in entry {index}; expected finite numbers only");
                return Err(Failure::invalid("arms", bad, remedy));
            }
        }
        Ok(Many::Fresh(sets))
    }

    /// Calls `decide` for all people, without the interpreter's lock. If one call fails, for example because of the disk, `dismiss` is
    /// called for the decisions before it, because the caller never gets their tickets.
    pub(crate) fn decide<L: Send>(
        &self,
        py: Python<'py>,
        learner: &mut L,
        decide: impl Fn(&mut L, &Arms) -> Answer<(Ticket, usize)> + Sync,
        dismiss: impl Fn(&mut L, Ticket),
    ) -> Answer<Chosen<'py>> {
        let mut given = Vec::new();
        let mut one = |arms: &Arms| {
            let decision = decide(learner, arms).map_err(|error| error.entry(given.len()))?;
            given.push(decision);
            Ok(())
        };
        let done = match self {
            Many::Same(arms, people) => py.detach(|| (0..*people).try_for_each(|_| one(arms))),
            Many::Fresh(sets) => {
                let (sets, mut place) = (sets.as_array(), None);
                py.detach(|| sets.outer_iter().try_for_each(|rows| one(fill(&mut place, rows)?)))
            }
        };
        if let Err(error) = done {
            given.iter().for_each(|(ticket, _)| dismiss(learner, *ticket));
            return Err(error);
        }
        let arms: Vec<u64> = given.iter().map(|(_, arm)| *arm as u64).collect();
        let tickets = given.iter().map(|(ticket, _)| ticket.to_string()).collect();
        Ok((tickets, arms.to_pyarray(py)))
    }
}

/// Passes the rewards of many decisions to `observe`, in order, without the interpreter's lock.
pub(crate) fn observe_many(
    py: Python<'_>,
    tickets: &[Ticket],
    rewards: &[f64],
    mut observe: impl FnMut(Ticket, f64) -> Answer<()> + Send,
) -> Answer<()> {
    if tickets.len() != rewards.len() {
        let (expected, found) = (tickets.len(), rewards.len());
        return Err(reticent::Error::Dimension { field: "rewards", expected, found }.into());
    }
    // Checked first, so that a bad entry leaves all rewards unobserved.
    if let Some(index) = rewards.iter().position(|reward| !reward.is_finite()) {
        let remedy = format!("it is in entry {index}; expected finite numbers only");
        return Err(Failure::invalid("rewards", rewards[index], remedy));
    }
    py.detach(|| {
        let mut pairs = tickets.iter().zip(rewards).enumerate();
        pairs.try_for_each(|(index, (ticket, reward))| {
            observe(*ticket, *reward).map_err(|error| error.entry(index))
        })
    })
}
