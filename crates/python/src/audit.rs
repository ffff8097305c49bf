//! Audits of a user's own policies.
//!
//! The attack is `reticent_lab::audit::attack::learner`: the policy that `play` would run is run many times with one person's features and reward
//! replaced, and the information that later people would see is bounded. An exception of a policy is part of that information: a refusal
//! that depends on data reveals data.

use std::{collections::HashMap, sync::Arc};

use pyo3::prelude::*;
use reticent::{bandit::Arms as CoreArms, randomize::Bounds};
use reticent_lab::{
    Error, Result,
    audit::{
        Findings, NOTHING_PROMISED,
        attack::{
            AuditOptions,
            learner::{self, Maker, Recorded, Stage, Step},
        },
    },
    play::Learner,
};

use crate::{
    arms::{Arms, owned},
    convert::text,
    error::{Answer, Failure},
    guarantee::Guarantee,
    integers::WholeNumber,
    play::{chosen, opened},
};

/// A Python policy, called from threads without the interpreter's lock: with `decide` and tickets, or with `choose` and rounds.
struct Policy {
    object: Py<PyAny>,
    tickets: bool,
    open: HashMap<u64, Py<PyAny>>,
}

fn raised(error: PyErr) -> Error {
    reticent::Error::invalid("policy", error, "it raised this in an audit").into()
}

impl Policy {
    fn ask(&mut self, py: Python<'_>, arms: &CoreArms, round: u64) -> Answer<usize> {
        let arms = Arms(arms.clone()).array(py);
        let object = self.object.bind(py);
        if !self.tickets {
            return chosen(&object.call_method1("choose", (arms, round))?);
        }
        let (ticket, arm) = opened(&object.call_method1("decide", (arms,))?)?;
        self.open.insert(round, ticket.unbind());
        Ok(arm)
    }
}

impl Learner for Policy {
    fn choose(&mut self, arms: &CoreArms, round: u64) -> Result<usize> {
        Python::attach(|py| self.ask(py, arms, round)).map_err(|failure| raised(failure.into()))
    }

    fn observe(&mut self, round: u64, features: &[f64], reward: f64) -> Result<()> {
        Python::attach(|py| {
            let object = self.object.bind(py);
            match self.open.remove(&round) {
                Some(ticket) => object.call_method1("observe", (ticket, reward)),
                None => {
                    let features = numpy::PyArray1::from_slice(py, features);
                    object.call_method1("observe", (round, features, reward))
                }
            }
            .map(drop)
        })
        .map_err(raised)
    }

    fn dismiss(&mut self, round: u64) {
        Python::attach(|py| {
            if let Some(ticket) = self.open.remove(&round) {
                // `dismiss` is optional.
                let _ = self.object.bind(py).call_method1("dismiss", (ticket,));
            }
        });
    }
}

fn maker(policy: Py<PyAny>) -> Maker {
    Arc::new(move |seed| {
        Python::attach(|py| {
            let object = policy.bind(py).call1((seed,))?;
            let tickets = object.hasattr("decide")?;
            let learner = Policy { object: object.unbind(), tickets, open: HashMap::new() };
            Ok(Box::new(learner) as Box<dyn Learner>)
        })
        .map_err(raised)
    })
}

/// A person in a recorded environment: a decision set and its reward.
type People<'py> = Vec<(Bound<'py, PyAny>, f64)>;

fn steps(recorded: &People<'_>) -> Answer<Vec<Step>> {
    let step = |(arms, reward): &(Bound<'_, PyAny>, f64)| -> Answer<Step> {
        Ok(Step { arms: owned(arms)?, reward: Some(*reward) })
    };
    recorded.iter().map(step).collect()
}

/// A name, a function that makes a policy from a seed, and its guarantee.
type Named<'py> = (String, Py<PyAny>, Option<PyRef<'py, Guarantee>>);

/// Runs policies with one person replaced: `people` are those of an environment, `others` their possible replacements. Returns the findings
/// as JSON and as a table. The last argument holds the number of runs on each data set, the seed, and the confidence.
#[pyfunction]
pub(crate) fn audit_policies(
    py: Python<'_>,
    policies: Vec<Named<'_>>,
    people: People<'_>,
    others: People<'_>,
    rewards: (f64, f64),
    options: (Bound<'_, PyAny>, Bound<'_, PyAny>, f64),
) -> Answer<(String, String)> {
    let (samples, seed, confidence) = options;
    let (samples, seed) =
        (WholeNumber::read("samples", &samples)?, WholeNumber::read("seed", &seed)?);
    let options = AuditOptions { samples, seed, confidence, ..AuditOptions::default() };
    options.check()?;
    let (people, others) = (steps(&people)?, steps(&others)?);
    let Some(first) = people.first() else {
        return Err(Failure::invalid("rounds", 0, "expected a whole number above 1"));
    };
    let dimension = first.arms.dimension();
    let norm = |arms: &CoreArms| {
        (0..arms.count())
            .map(|arm| arms.arm(arm).iter().map(|x| x * x).sum::<f64>().sqrt())
            .fold(0.0, f64::max)
    };
    let longest = people.iter().chain(&others).map(|step| norm(&step.arms)).fold(0.0, f64::max);
    let bounds = Bounds { feature_bound: longest, rewards, ..Bounds::unit(dimension) };
    bounds.check()?;
    let arms = people.iter().map(|step| step.arms.count()).min().unwrap_or(0);
    let stage = Stage { bounds, arms, rounds: people.len() as u64, public_arms: false };
    let recorded = Recorded { people, others };
    let mut findings = Findings::default();
    for (name, policy, guarantee) in policies {
        let Some(guarantee) = guarantee else {
            findings.not_audited(&name, NOTHING_PROMISED);
            continue;
        };
        let attacks =
            learner::attacks(&stage, Some(recorded.clone()), guarantee.core(), &maker(policy));
        py.check_signals()?;
        py.detach(|| findings.play(&name, &attacks, &options, |_, _| ()));
    }
    py.check_signals()?;
    Ok((text(&findings), findings.table()))
}
