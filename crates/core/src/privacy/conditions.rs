//! The conditions under which the price of an event holds, and the check of an event against a trust model.

use super::{Event, TrustModel};
use crate::{Error, Result};

/// Refuses to state a guarantee under a trust model that its event contradicts.
pub(super) fn check_model(event: &Event, model: TrustModel) -> Result<()> {
    let needs = |what: &str| {
        let remedy = format!("{what} has to be trusted here: use the shuffle model");
        Err(Error::invalid("model", model, remedy))
    };
    match (event, model) {
        (_, TrustModel::None) => {
            Err(Error::invalid("model", model, "without privacy there is nothing to guarantee"))
        }
        (Event::Shuffled { .. } | Event::ShuffledPrivUnit { .. }, TrustModel::Local) => {
            needs("a shuffler")
        }
        (Event::SecureSum { .. } | Event::GridSum { .. }, TrustModel::Local) => {
            needs("a secure sum")
        }
        (Event::Composed { events }, _) => {
            events.iter().try_for_each(|event| check_model(event, model))
        }
        (Event::Repeated { event, .. } | Event::AtMost { event }, _) => check_model(event, model),
        _ => Ok(()),
    }
}

fn shuffler(people: u64) -> String {
    format!(
        "a shuffler that colludes with no party, and {people} people in the batch who randomise honestly"
    )
}

fn secure_sum(people: u64) -> String {
    format!(
        "a secure sum that shows only the total, and {people} people who add their noise honestly"
    )
}

/// The conditions under which the price of an event holds.
pub(super) fn conditions_of(event: &Event) -> Vec<String> {
    fn visit(event: &Event, conditions: &mut Vec<String>) {
        let clipped = "data clipped to the declared bounds before noise";
        let mut add = |condition: String| {
            if !conditions.contains(&condition) {
                conditions.push(condition);
            }
        };
        match event {
            Event::Nothing => {}
            Event::Composed { events } => events.iter().for_each(|event| visit(event, conditions)),
            Event::Repeated { event, .. } | Event::AtMost { event } => visit(event, conditions),
            Event::ShuffledPrivUnit { people, .. } => {
                add(shuffler(*people));
                add(format!(
                    "everybody's report is made by the same PrivUnit, {:.4}-DP by itself",
                    event.pure_epsilon().unwrap_or(f64::INFINITY)
                ));
                add(format!("{clipped}; real arithmetic, outputs rounded to a public grid"));
            }
            Event::Shuffled { people, epsilon, binary } => {
                add(shuffler(*people));
                add(if *binary {
                    format!(
                        "everybody's report is binary randomised response at epsilon = {epsilon}"
                    )
                } else {
                    format!(
                        "everybody's report is {epsilon}-DP by itself, with the same randomiser"
                    )
                });
                add(clipped.into());
            }
            Event::SecureSum { people, .. } => {
                add(secure_sum(*people));
                add(format!("{clipped}; real arithmetic, outputs rounded to a public grid"));
            }
            Event::GridSum { people, .. } => {
                add(secure_sum(*people));
                add(format!("{clipped}; integer arithmetic from there on"));
            }
            Event::PrivUnit { .. }
            | Event::KNorm { .. }
            | Event::Pure { .. }
            | Event::Approximate { .. }
            | Event::Laplace { .. }
            | Event::Gaussian { .. } => {
                add(format!("{clipped}; real arithmetic, outputs rounded to a public grid"));
            }
            _ => add(format!("{clipped}; integer arithmetic from there on")),
        }
    }
    let mut conditions = Vec::new();
    visit(event, &mut conditions);
    if !conditions.is_empty() {
        conditions
            .push("noise from a cryptographic generator that the adversary cannot predict".into());
    }
    conditions
}
