//! What is promised, and what enforces each of its conditions.

use reticent::{
    noise::SecureNoise,
    privacy::{Event, Guarantee, TrustModel},
};
use reticent_page::best_guess;
use serde::Serialize;

use crate::{
    Result,
    clock::Time,
    config::{Ledger, LoopMode, LoopPlan, Period},
    secret::hex,
    store::Digest,
};

/// The certificate of one loop.
#[derive(Debug, Clone, Serialize)]
pub struct Certificate {
    /// The loop.
    pub name: String,
    /// What it is for, as its file says.
    pub purpose: Option<String>,
    /// The version of the program.
    pub version: &'static str,
    /// When the certificate was made, in milliseconds since 1970.
    pub made: Time,
    /// What holds for one unit: a person's visits of one period, or one decision.
    pub guarantee: Guarantee,
    /// The whole of the sentence.
    pub sentence: String,
    /// The conditions, each with what enforces it.
    pub conditions: Vec<Condition>,
    /// Epsilon of a person who comes back in later periods, where visits are counted by period.
    pub periods: Vec<Periods>,
    /// What an attacker who guesses right half of the time can at best achieve, in one period: the probability of guessing right.
    pub best_guess: f64,
    /// The hash of everything that the present generation is.
    pub generation: String,
    /// The number of the last release.
    pub release: u64,
    /// The hash of the chain of all released numbers, in hexadecimal digits; none for a loop that is not served.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chain: Option<String>,
}

/// A condition of a guarantee.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Condition {
    /// What has to hold.
    pub text: String,
    /// Whether the service sees to it.
    pub enforcement: Enforcement,
    /// By what, or who is trusted.
    pub by: String,
}

impl Condition {
    /// A condition that is seen to, by what.
    pub fn enforced(text: impl Into<String>, by: &str) -> Self {
        Condition { text: text.into(), enforcement: Enforcement::Enforced, by: by.into() }
    }

    /// A condition for which somebody is trusted.
    pub fn trusted(text: impl Into<String>, by: &str) -> Self {
        Condition { text: text.into(), enforcement: Enforcement::Trusted, by: by.into() }
    }
}

/// Who sees to a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Enforcement {
    /// The service.
    Enforced,
    /// Nobody: somebody is trusted.
    Trusted,
}

/// What several periods give.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Periods {
    /// How many.
    pub periods: u32,
    /// Epsilon at the loop's delta.
    pub epsilon: f64,
}

/// What all loops of a service give one person together.
#[derive(Debug, Clone, Serialize)]
pub struct Together {
    /// Loops and earlier generations that are in it.
    pub lives: Vec<String>,
    /// Loops in which nobody's visits are counted, so that no number holds for a person.
    pub without_persons: Vec<String>,
    /// The guarantee of one person in one period of each, where there is any.
    pub guarantee: Option<Guarantee>,
    /// The whole of the sentence.
    pub sentence: Option<String>,
    /// What an attacker who guesses right half of the time can at best achieve with the releases of all of them.
    pub best_guess: Option<f64>,
}

/// One loop, or an earlier generation of it, as a part of what all of them cost a person.
#[derive(Debug, Clone)]
pub struct Part {
    /// Its name.
    pub name: String,
    /// What it costs one unit.
    pub event: Event,
    /// Whether its unit is a person.
    pub person: bool,
}

impl Certificate {
    /// The certificate of a loop: `event` is what its present life costs one unit, replays included.
    pub fn new(
        plan: &LoopPlan,
        event: &Event,
        guarantee: Guarantee,
        head: Option<(u64, &Digest)>,
        made: Time,
    ) -> Result<Self> {
        let delta = guarantee.delta();
        let best_guess = best_guess(&guarantee)?;
        Ok(Certificate {
            name: plan.name.clone(),
            purpose: plan.params.purpose.clone(),
            version: env!("CARGO_PKG_VERSION"),
            made,
            sentence: guarantee.to_string(),
            conditions: conditions(plan),
            periods: periods(plan, event, delta)?,
            best_guess,
            generation: format!("{:016x}", plan.generation()),
            release: head.map_or(0, |(number, _)| number),
            chain: head.map(|(_, chain)| hex(chain)),
            guarantee,
        })
    }

    /// The certificate that a loop would have if it were served.
    pub fn of_plan(plan: &LoopPlan, made: Time) -> Result<Self> {
        let curator = plan.learner.clone().curator(SecureNoise::from_system()?);
        Self::new(plan, &curator.event(), curator.guarantee()?, None, made)
    }
}

/// Visits of several periods go into one stream of releases with one noise: their shifts add up, so that mu grows with the number of periods (group
/// privacy), and not with its root.
fn periods(plan: &LoopPlan, event: &Event, delta: f64) -> Result<Vec<Periods>> {
    let Ledger::Person { period: Period::Each(_), .. } = plan.ledger else { return Ok(Vec::new()) };
    let several = |periods: u32| {
        let event = match event.clone() {
            Event::GridGaussian { mu, sigma, coordinates } => {
                Event::GridGaussian { mu: mu * f64::from(periods), sigma, coordinates }
            }
            other => Event::Repeated { event: Box::new(other), times: periods.into() },
        };
        let epsilon = Guarantee::of(&event, TrustModel::Joint, delta)?.epsilon();
        Ok(Periods { periods, epsilon })
    };
    [1, 2, 12].into_iter().map(several).collect()
}

fn enforced(text: impl Into<String>, by: &str) -> Condition {
    Condition::enforced(text, by)
}

fn trusted(text: impl Into<String>, by: &str) -> Condition {
    Condition::trusted(text, by)
}

/// The conditions of a loop's guarantee, each with what enforces it.
fn conditions(plan: &LoopPlan) -> Vec<Condition> {
    let mut conditions = vec![
        enforced(
            "releases are made by the clock, whoever comes and whatever they do",
            "one step every tick, empty ones included",
        ),
        enforced(
            "every event contributes once, when its window has ended: its reward, or the default one; late rewards change nothing",
            "the store closes slots of the clock in order and never opens one again",
        ),
        enforced(
            "features and rewards are clipped to their bounds before noise is added",
            "the learner, for every contribution",
        ),
        enforced(
            "no noise is added twice and no two releases have one number",
            "every step draws under a new key of the system, and is committed before it is served",
        ),
        enforced(
            "an older copy of the store is not released from again without a charge",
            "tokens that clients echo, and the witness file if one is given",
        ),
    ];
    match plan.ledger {
        Ledger::Person { most, period } => {
            let within = match period {
                Period::Ever => "ever".to_string(),
                Period::Each(span) => format!("in {span}"),
            };
            conditions.extend([
                enforced(
                    format!("at most {most} visits of a person {within} are learnt from"),
                    "the ledger, charged in the transaction of the event",
                ),
                trusted("one string for each human", "whoever calls the service"),
            ]);
            if let Period::Each(_) = period {
                conditions.push(trusted(
                    "a person who comes back in later periods adds to the number: see the table of periods; no number holds for ever",
                    "nothing limits in how many periods a person comes",
                ));
            }
        }
        Ledger::Decision => conditions.push(trusted(
            "one decision is protected, not all decisions of a person",
            "the file of loops says so",
        )),
    }
    if plan.params.mode == LoopMode::Online {
        conditions.push(trusted(
            "each person sees their own decisions; others see releases and no decisions of theirs",
            "whoever shows the decisions",
        ));
    }
    conditions.extend([
        trusted(
            "the operator and whoever holds an admin key see raw rows, counts of rewards and exports",
            "the operator of this service",
        ),
        trusted("ranges, categories and the other parameters were not taken from the people who are protected", "the author of the file of loops"),
    ]);
    conditions
}

impl Together {
    /// What these loops and generations give one person.
    pub fn new(parts: Vec<Part>, delta: f64) -> Result<Self> {
        let (persons, others): (Vec<Part>, Vec<Part>) =
            parts.into_iter().partition(|part| part.person);
        let events: Vec<Event> = persons.iter().map(|part| part.event.clone()).collect();
        let guarantee = match events.is_empty() {
            true => None,
            false => Some(Guarantee::of(&Event::Composed { events }, TrustModel::Joint, delta)?),
        };
        let without_persons: Vec<String> = others.into_iter().map(|part| part.name).collect();
        let except = match without_persons.is_empty() {
            true => String::new(),
            false => format!(" but {}, which count nobody's visits", without_persons.join(", ")),
        };
        Ok(Together {
            lives: persons.into_iter().map(|part| part.name).collect(),
            // The guarantee's own sentence names one interaction: it does not know what was composed.
            sentence: guarantee.as_ref().map(|guarantee| {
                format!(
                    "(at most {}, {:e})-differentially private for all visits of one person in one period of every loop{except}, trust model {}.",
                    guarantee.epsilon_text(),
                    guarantee.delta(),
                    guarantee.model()
                )
            }),
            without_persons,
            best_guess: guarantee.as_ref().map(best_guess).transpose()?,
            guarantee,
        })
    }

    /// What the loops of a file would give one person.
    pub fn of_plans(plans: &[LoopPlan]) -> Result<Self> {
        Self::of_plans_and(plans, Vec::new(), 0.0)
    }

    /// The same with other parts, whose largest delta is this one.
    pub fn of_plans_and(plans: &[LoopPlan], others: Vec<Part>, delta: f64) -> Result<Self> {
        let part = |plan: &LoopPlan| {
            Ok(Part {
                name: plan.name.clone(),
                event: plan.learner.clone().curator(SecureNoise::from_system()?).event(),
                person: matches!(plan.ledger, Ledger::Person { .. }),
            })
        };
        let deltas = plans.iter().map(|plan| plan.params.privacy.delta);
        let mut parts = plans.iter().map(part).collect::<Result<Vec<Part>>>()?;
        parts.extend(others);
        Self::new(parts, deltas.fold(delta, f64::max))
    }
}
