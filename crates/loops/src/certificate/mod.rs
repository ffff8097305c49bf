//! The promise of a loop, and what enforces each of its conditions.
//!
//! | file | contents |
//! | --- | --- |
//! | this one | the certificate of a loop, written from the terms of its mechanism |
//! | `central` | terms of central loops |
//! | `reports` | terms of loops to which devices report |
//! | `watch` | conditions on older copies of the store |
//! | `together` | the guarantee of all loops together |

mod central;
mod reports;
mod together;
mod watch;

use reticent::privacy::{Event, Guarantee};
use serde::Serialize;

pub use together::{Part, Together};
pub use watch::Watch;

use crate::{
    Result,
    config::{CentralPlan, LoopParams, Period, Plan, ReportsPlan},
    generations::Earlier,
    learner::CentralLearner,
    periods::{Periods, SHOWN_PERIODS},
    records::Digest,
    secret::hex,
    time::Time,
};

/// The largest probability with which an attacker's coin-flip guess becomes right with the releases: `(1 + TV) / 2`, where the total variation
/// distance is delta at epsilon = 0.
///
/// ```
/// use reticent::privacy::{Event, Guarantee, TrustModel};
/// let event = Event::Gaussian { sensitivity: 1.0, sigma: 3.730631634816464 };
/// let guarantee = Guarantee::of(&event, TrustModel::Joint, 1e-5)?;
/// // TV of two Gaussians at distance 1 / sigma: 2 Phi(1 / (2 sigma)) - 1.
/// assert!((reticent_loops::page::best_guess(&guarantee)? - 0.5533).abs() < 1e-4);
/// # Ok::<(), reticent::Error>(())
/// ```
pub fn best_guess(guarantee: &Guarantee) -> reticent::Result<f64> {
    Ok(0.5 * (1.0 + guarantee.curve().delta(0.0)?.clamp(0.0, 1.0)))
}

/// The certificate of one loop.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Certificate {
    /// The loop.
    pub name: String,
    /// Purpose of the loop, as its file says.
    pub purpose: Option<String>,
    /// The version of the program.
    pub version: &'static str,
    /// Time of the certificate, in milliseconds since 1970.
    pub made: Time,
    /// Guarantee of one unit: a person's visits of one period, or one decision.
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub guarantee: Guarantee,
    /// The whole of the sentence.
    pub sentence: String,
    /// The protected unit in words, such as "one person, who takes part at most 2 times in each calendar window of 1 day".
    pub protects: String,
    /// The calendar window in which contributions are counted, such as "1 day", or "ever"; none where one decision is protected.
    pub period: Option<String>,
    /// The conditions, each with what enforces it.
    pub conditions: Vec<Condition>,
    /// Epsilon of a person who comes back in later periods, where visits are counted by period.
    pub periods: Vec<Periods>,
    /// Epsilon of all periods that a year meets, where visits are counted by period.
    pub year: Option<Periods>,
    /// Largest probability with which an attacker's coin-flip guess is right in one period, given the releases.
    pub best_guess: f64,
    /// Behaviour when learning ends, where it does.
    pub ends: Option<String>,
    /// The hash of everything that the present generation is.
    #[serde(rename = "generation")]
    pub params_hash: String,
    /// The number of the last release.
    pub release: u64,
    /// The hash of the chain of all released numbers, in hexadecimal digits; none for a loop that is not served.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chain: Option<String>,
}

/// A condition of a guarantee.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Condition {
    /// Condition in words.
    pub text: String,
    /// Enforced by the service, or assumed.
    pub enforcement: Enforcement,
    /// Means of enforcement, or the party that is assumed to keep it.
    pub by: String,
}

impl Condition {
    /// A condition that is enforced, and the means.
    pub fn enforced(text: impl Into<String>, by: &str) -> Self {
        Condition { text: text.into(), enforcement: Enforcement::Enforced, by: by.into() }
    }

    /// A condition that is assumed of an operator or of another party.
    pub fn assumed(text: impl Into<String>, by: &str) -> Self {
        Condition { text: text.into(), enforcement: Enforcement::Assumed, by: by.into() }
    }
}

/// Enforcement of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Enforcement {
    /// The service.
    Enforced,
    /// Not enforced: an assumption about the operator or another party.
    #[serde(rename = "trusted")]
    Assumed,
}

impl Enforcement {
    /// The word that people read.
    pub fn word(self) -> &'static str {
        match self {
            Enforcement::Enforced => "enforced",
            Enforcement::Assumed => "assumed",
        }
    }
}

/// A loop with everything that its certificate depends on.
#[derive(Clone, Copy)]
pub enum Subject<'a> {
    /// A central loop.
    Central {
        /// Its plan.
        plan: &'a CentralPlan,
        /// Its present learner.
        learner: &'a CentralLearner,
        /// The earlier generations that count visits with it.
        earlier: &'a Earlier,
        /// Evidence against a rollback of its store.
        watch: Watch,
    },
    /// A loop to which devices report.
    Reports(&'a ReportsPlan),
}

/// The terms of a promise, which depend on the mechanism.
struct Terms<'a> {
    name: &'a str,
    params: &'a LoopParams,
    params_hash: u64,
    guarantee: Guarantee,
    /// The protected unit in words.
    protects: String,
    /// The window in which contributions are counted; none where one decision is protected.
    period: Option<Period>,
    /// Windows that a year meets at most, where they have an end.
    windows_of_a_year: Option<u32>,
    /// Privacy cost of several windows.
    several: Box<dyn Fn(u32) -> Event + 'a>,
    conditions: Vec<Condition>,
    /// Behaviour when learning ends, where it does.
    ends: Option<String>,
}

impl Certificate {
    /// The certificate of a loop, with the number of its last release and the chain up to it.
    pub fn new(subject: Subject<'_>, head: Option<(u64, &Digest)>, made: Time) -> Result<Self> {
        let terms = match subject {
            Subject::Central { plan, learner, earlier, watch } => {
                central::terms(plan, learner, earlier, watch)?
            }
            Subject::Reports(plan) => reports::terms(plan)?,
        };
        let Terms { name, params, guarantee, protects, period, .. } = terms;
        let (model, delta) = (guarantee.model(), guarantee.delta());
        let of_periods = |periods| {
            let epsilon = Guarantee::of(&(terms.several)(periods), model, delta)?.epsilon();
            Ok(Periods { periods, epsilon })
        };
        let shown = terms.windows_of_a_year.map_or(&[][..], |_| &SHOWN_PERIODS);
        Ok(Certificate {
            name: name.to_string(),
            purpose: params.purpose.clone(),
            version: env!("CARGO_PKG_VERSION"),
            made,
            sentence: sentence(&guarantee, &protects),
            protects,
            period: period.map(|period| period.to_string()),
            conditions: terms.conditions,
            periods: shown.iter().copied().map(of_periods).collect::<Result<_>>()?,
            year: terms.windows_of_a_year.map(of_periods).transpose()?,
            best_guess: best_guess(&guarantee)?,
            ends: terms.ends,
            params_hash: format!("{:016x}", terms.params_hash),
            release: head.map_or(0, |(number, _)| number),
            chain: head.map(|(_, chain)| hex(chain)),
            guarantee,
        })
    }

    /// The certificate that a loop would have if it were served.
    pub fn of_plan(plan: &Plan, made: Time) -> Result<Self> {
        match plan {
            Plan::Central(plan) => {
                let (learner, earlier) = (plan.begin()?, Earlier::default());
                let watch = Watch::default();
                let subject =
                    Subject::Central { plan, learner: &learner, earlier: &earlier, watch };
                Self::new(subject, None, made)
            }
            Plan::Reports(plan) => Self::new(Subject::Reports(plan), None, made),
        }
    }
}

/// The guarantee in words, with what it protects. The guarantee itself knows of no periods, decisions and installations.
pub fn sentence(guarantee: &Guarantee, protects: &str) -> String {
    guarantee.to_string().replace(&guarantee.unit().to_string(), protects)
}
