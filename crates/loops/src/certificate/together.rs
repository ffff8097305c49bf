//! The guarantee of all loops together for one person.

use reticent::privacy::{Event, Guarantee, TrustModel};
use serde::Serialize;

use super::{Condition, best_guess, central, reports};
use crate::{
    Result,
    config::{Ledger, Plan},
};

/// Guarantee of all loops of a service together for one person.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Together {
    /// Loops and earlier generations that are in it.
    #[serde(rename = "lives")]
    pub generations: Vec<String>,
    /// Loops that do not count visits of persons, so that no number holds for a person.
    pub without_persons: Vec<String>,
    /// The guarantee of one person in one period of each, where there is any.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub guarantee: Option<Guarantee>,
    /// Protected unit: visits of one person, reports of one installation, or both.
    pub unit: &'static str,
    /// True if taking part is hidden too, which it is not where devices report.
    pub hides_taking_part: bool,
    /// The whole of the sentence.
    pub sentence: Option<String>,
    /// Largest probability with which an attacker's coin-flip guess is right, given the releases of all of them.
    pub best_guess: Option<f64>,
    /// Conditions of all loops, each with what enforces it; empty for loops that are not served.
    pub conditions: Vec<Condition>,
}

/// One loop, or an earlier generation of it, as a part of what all of them cost a person.
#[derive(Debug, Clone)]
pub struct Part {
    /// Its name.
    pub name: String,
    /// Privacy cost for one unit.
    pub event: Event,
    /// Contributions of one person, or of one installation of theirs, in a period, at most; none where the unit is a decision.
    pub visits: Option<u64>,
    /// Trust model.
    pub model: TrustModel,
}

impl Part {
    /// True if its unit is one installation of a person, because the service does not know which installations are theirs.
    fn is_of_devices(&self) -> bool {
        self.model != TrustModel::Joint
    }

    /// Privacy cost, for one unit each, of the learners of the model that a loop began with.
    pub fn earlier(name: &str, events: Vec<Event>, units: &[Ledger]) -> Vec<Self> {
        let count = events.len();
        let part = |(index, event): (usize, Event)| {
            let name = match count {
                1 => format!("{name} (the model it began with)"),
                _ => format!("{name} (the model it began with, learner {} of {count})", index + 1),
            };
            let visits = units.get(index).and_then(Ledger::visits);
            Part { name, event, visits, model: TrustModel::Joint }
        };
        events.into_iter().enumerate().map(part).collect()
    }
}

impl Together {
    /// Guarantee of these loops and generations for one person.
    pub fn new(parts: Vec<Part>, delta: f64) -> Result<Self> {
        let (persons, others): (Vec<Part>, Vec<Part>) =
            parts.into_iter().partition(|part| part.visits.is_some());
        let events = persons.iter().map(|part| (part.event.clone(), part.visits.unwrap_or(1)));
        let trusting = |model| persons.iter().any(|part| part.model == model);
        // A guarantee under less trust also holds where more trust is given.
        let needed = [TrustModel::Joint, TrustModel::Shuffle, TrustModel::Local];
        let guarantee = match needed.into_iter().find(|model| trusting(*model)) {
            None => None,
            Some(model) => Some(Guarantee::of_releases(events.collect(), model, delta)?),
        };
        let devices = persons.iter().any(Part::is_of_devices);
        let unit = match (trusting(TrustModel::Joint), devices) {
            (true, true) => "all visits of one person and all reports of one installation",
            (false, true) => "all reports of one installation",
            (_, false) => "all visits of one person",
        };
        let without_persons: Vec<String> = others.into_iter().map(|part| part.name).collect();
        let except = match without_persons.is_empty() {
            true => String::new(),
            false => {
                format!(" but {}, which count no visits of persons", without_persons.join(", "))
            }
        };
        Ok(Together {
            generations: persons.into_iter().map(|part| part.name).collect(),
            // The guarantee's own sentence does not know of periods, installations and loops.
            sentence: guarantee.as_ref().map(|guarantee| {
                format!(
                    "(at most {}, {:e})-differentially private for {unit} in one period of every loop{except}, trust model {}.",
                    guarantee.epsilon_text(),
                    guarantee.delta(),
                    guarantee.model()
                )
            }),
            without_persons,
            unit,
            hides_taking_part: !devices,
            best_guess: guarantee.as_ref().map(best_guess).transpose()?,
            conditions: Vec::new(),
            guarantee,
        })
    }

    /// Guarantee that the loops of a file would give one person.
    pub fn of_plans(plans: &[Plan]) -> Result<Self> {
        let mut parts = Vec::new();
        for plan in plans {
            parts.extend(match plan {
                Plan::Central(plan) => central::parts(plan)?,
                Plan::Reports(plan) => vec![reports::part(plan)?],
            });
        }
        let deltas = plans.iter().map(|plan| plan.params().privacy.delta);
        Self::new(parts, deltas.fold(0.0, f64::max))
    }
}
