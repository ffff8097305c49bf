//! The promise of a loop, and what enforces each of its conditions.
//!
//! | file | contents |
//! | --- | --- |
//! | this one | certificates of central loops, and of all loops together |
//! | `device` | certificates of loops whose devices add the noise |

mod device;

use reticent::{
    bandit::Curator,
    noise::SecureNoise,
    privacy::{Event, Guarantee, TrustModel},
};
use serde::Serialize;

use crate::{
    Result,
    config::{Ledger, LoopMode, LoopPlan, Period, Span, WarmStart},
    generations::Earlier,
    periods::{CALENDAR, Periods, SHOWN_PERIODS, often, several, windows_of_a_year},
    records::{Digest, WitnessPlace},
    secret::hex,
    time::{Time, date_time},
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
    pub fn trusted(text: impl Into<String>, by: &str) -> Self {
        Condition { text: text.into(), enforcement: Enforcement::Trusted, by: by.into() }
    }
}

/// Enforcement of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Enforcement {
    /// The service.
    Enforced,
    /// Not enforced: an assumption about the operator or another party, which pages call assumed.
    Trusted,
}

impl Enforcement {
    /// The word that people read.
    pub fn word(self) -> &'static str {
        match self {
            Enforcement::Enforced => "enforced",
            Enforcement::Trusted => "assumed",
        }
    }
}

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

/// Evidence against a rollback of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Watch {
    /// Place of the witness, if there is one.
    pub witness: Option<WitnessPlace>,
    /// Time at which the operator declared a witness of this store lost: releases before it can no longer be shown.
    pub lost: Option<Time>,
    /// Time of the last start of this store without a witness on another filesystem.
    pub unwatched: Option<Time>,
}

impl Watch {
    /// Conditions on older copies of the store.
    pub fn conditions(&self) -> Vec<Condition> {
        let older = "no release is made from an older copy of the store without a charge";
        let mut conditions = vec![match self.witness {
            // Another filesystem of the same machine is in the same snapshot of it, and no number that the system tells is a boundary.
            Some(WitnessPlace::Apart) => trusted(
                older,
                "the operator, who never restores the witness file together with the data: it is on another filesystem, which a snapshot of the machine includes; clients who echo tokens",
            ),
            Some(WitnessPlace::Unknown) => trusted(
                older,
                "the operator, who never restores a witness file together with the database, and promotes a standby only when it has everything; clients who echo tokens",
            ),
            Some(WitnessPlace::Beside) => trusted(
                older,
                "the operator, who restores copies: the witness file is on the filesystem of the data, and may be restored with it; clients who echo tokens",
            ),
            None => trusted(
                older,
                "the operator, who restores copies: no witness file is given (`--witness`); clients who echo tokens",
            ),
        }];
        if let Some(lost) = self.lost {
            conditions.push(trusted(
                format!("the witness was lost before {}: the store that was served from then on was not an older copy. If it was, releases were made that the numbers of this page do not count", date_time(lost)),
                "the operator, who said so (`--witness-lost`)",
            ));
        }
        if let (Some(WitnessPlace::Apart), Some(time)) = (self.witness, self.unwatched) {
            conditions.push(trusted(
                format!("this store was started without a witness on another filesystem, last on {}: what was served from then to the next start was not an older copy. If it was, releases were made that the numbers of this page do not count", date_time(time)),
                "the operator who restored copies then",
            ));
        }
        conditions
    }
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

impl Certificate {
    /// The certificate of a loop: of its present learner, and of the earlier generations that count visits with it.
    pub fn new(
        plan: &LoopPlan,
        curator: &Curator<SecureNoise>,
        earlier: &Earlier,
        head: Option<(u64, &Digest)>,
        watch: Watch,
        made: Time,
    ) -> Result<Self> {
        let guarantee = earlier.guarantee(curator)?;
        let (event, most) = earlier.event(curator)?;
        let of_periods = |periods| several(&event, periods, guarantee.delta());
        let (period, protects) = match plan.ledger {
            Ledger::Decision => (None, "one decision".into()),
            Ledger::Person { period, .. } => (
                Some(period),
                format!("one person, who takes part at most {}", often(most, period, CALENDAR)),
            ),
        };
        let span = match period {
            Some(Period::Each(span)) => Some(span),
            _ => None,
        };
        let periods = span.map_or(&[][..], |_| &SHOWN_PERIODS);
        let best_guess = best_guess(&guarantee)?;
        Ok(Certificate {
            name: plan.name.clone(),
            purpose: plan.params.purpose.clone(),
            version: env!("CARGO_PKG_VERSION"),
            made,
            sentence: sentence(&guarantee, &protects),
            protects,
            period: period.map(|period| period.to_string()),
            conditions: conditions(plan, earlier, (most, curator.replays()), watch),
            periods: periods.iter().copied().map(of_periods).collect::<Result<_>>()?,
            year: span.map(|span| of_periods(windows_of_a_year(span))).transpose()?,
            best_guess,
            ends: ends(plan),
            params_hash: format!("{:016x}", plan.params_hash()),
            release: head.map_or(0, |(number, _)| number),
            chain: head.map(|(_, chain)| hex(chain)),
            guarantee,
        })
    }

    /// The certificate that a loop would have if it were served.
    pub fn of_plan(plan: &LoopPlan, made: Time) -> Result<Self> {
        Self::new(plan, &plan.begin()?, &Earlier::default(), None, Watch::default(), made)
    }
}

/// The guarantee in words, with what it protects. The guarantee itself knows of no periods, decisions and installations.
pub fn sentence(guarantee: &Guarantee, protects: &str) -> String {
    guarantee.to_string().replace(&guarantee.unit().to_string(), protects)
}

/// Statement before a start about the end of learning.
fn ends(plan: &LoopPlan) -> Option<String> {
    let horizon = plan.params.learner.horizon?;
    let after = Span::milliseconds(horizon.saturating_mul(plan.tick));
    let after = after.map_or_else(String::new, |span| format!(", after {span} of service"));
    Some(format!(
        "learning ends with release {horizon}{after}: people are then answered by the last model, nothing more is learnt or released, and raw rows go with their windows"
    ))
}

fn enforced(text: impl Into<String>, by: &str) -> Condition {
    Condition::enforced(text, by)
}

fn trusted(text: impl Into<String>, by: &str) -> Condition {
    Condition::trusted(text, by)
}

/// The conditions of a loop's guarantee, each with what enforces it: the largest number of visits that are learnt from, and the replays that are charged.
fn conditions(
    plan: &LoopPlan,
    earlier: &Earlier,
    (most, replays): (u64, u64),
    watch: Watch,
) -> Vec<Condition> {
    let mut conditions = vec![
        enforced(
            "the model is updated on a fixed timetable",
            "one step for every tick, empty ones included. Ticks that pass while the service is away or stopped share one step: forgetting and a horizon count steps",
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
            "every update gets fresh noise and is published once",
            "every step draws under a new key of the system, and is committed before it is served",
        ),
    ];
    conditions.extend(watch.conditions());
    if replays > 0 {
        let times = if replays == 1 { "once".into() } else { format!("{replays} times") };
        conditions.push(enforced(
            format!("the store was rolled back {times}, and releases were made from the older copy: the numbers of this page are charged for it"),
            "an operator accepted it; it is a link of the chain of releases",
        ));
    }
    match plan.ledger {
        Ledger::Person { period, .. } => {
            conditions.extend([
                enforced(
                    format!(
                        "a person is learnt from at most {}, over {}",
                        often(most, period, CALENDAR),
                        match earlier.separate {
                            0 => "all generations of the loop",
                            _ => "the generations of the loop that count together",
                        }
                    ),
                    "the ledger, charged in the transaction of the event; it goes on when the loop's file changes",
                ),
                trusted("the caller uses the same id for the same person", "the caller of the service"),
            ]);
            if let Period::Each(_) = period {
                conditions.push(trusted(
                    "windows are fixed, counted from 1970-01-01 UTC: a person who comes around the end of one is in two. Each further window adds to the number: see the table of windows; no number holds for ever",
                    "nothing limits in how many windows a person comes",
                ));
            }
            if !earlier.shared.is_empty() {
                conditions.push(enforced(
                    format!("{} of this loop counted visits in the same ledger, and the number covers them: with equal noise they add nothing, else the dearest counts", generations(earlier.shared.len())),
                    "the accountant",
                ));
            }
            if earlier.separate > 0 {
                conditions.push(trusted(
                    format!("{} of this loop have ledgers of their own, or count decisions: what they cost is not in this number", generations(earlier.separate)),
                    "it is in the total of all loops",
                ));
            }
        }
        Ledger::Decision => conditions.push(trusted(
            "one decision is protected, not all decisions of a person",
            "the file of loops says so",
        )),
    }
    conditions.extend(plan.warm_start.as_ref().map(began_with));
    if plan.params.mode == LoopMode::Online {
        conditions.push(trusted(
            "each person sees their own decisions; others see releases and no decisions of theirs",
            "the application that shows the decisions",
        ));
    }
    conditions.extend([
        trusted(
            "the time of every rank request is seen by the carriers of the request, and requests are counted for admin keys; a read key sees no count of requests",
            "the operator of this service, of a proxy and of the network",
        ),
        trusted(
            "the operator and holders of an admin key see raw rows, counts of rewards and exports",
            "the operator of this service",
        ),
        trusted("ranges, categories and the other parameters were not taken from the people who are protected", "the author of the file of loops"),
    ]);
    conditions
}

fn generations(count: usize) -> String {
    match count {
        1 => "1 earlier generation".into(),
        _ => format!("{count} earlier generations"),
    }
}

/// Condition on the model or the examples that a loop began with.
fn began_with(warm: &WarmStart) -> Condition {
    let Some(origin) = &warm.origin else {
        return trusted(
            "it began with public examples, which were not taken from the people who are protected",
            "the author of the file of loops",
        );
    };
    let text = match origin.units.iter().all(|unit| unit.visits().is_some()) {
        true => {
            "it began with a model that was released before: people who took part in that too are protected by both together, which is in the total of all loops"
        }
        false => {
            "it began with a model that was released before and counted no visits of persons: one decision of it is protected, and no number holds for people who took part in that too"
        }
    };
    trusted(
        format!("{text}; the model's file states its cost truly"),
        "the author of the model's file",
    )
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
    pub fn of_plans(plans: &[LoopPlan]) -> Result<Self> {
        Self::of_plans_and(plans, Vec::new(), 0.0)
    }

    /// The same with other parts, whose largest delta is this one.
    pub fn of_plans_and(plans: &[LoopPlan], others: Vec<Part>, delta: f64) -> Result<Self> {
        let mut parts = others;
        for plan in plans {
            let curator = plan.begin()?;
            let (name, visits) = (plan.name.clone(), plan.ledger.visits());
            parts.push(Part { name, event: curator.event(), visits, model: TrustModel::Joint });
            let origin = plan.params.warm_start_origin.as_ref();
            let units = origin.map_or(&[][..], |origin| &origin.units);
            parts.extend(Part::earlier(&plan.name, curator.earlier_events(), units));
        }
        let deltas = plans.iter().map(|plan| plan.params.privacy.delta);
        Self::new(parts, deltas.fold(delta, f64::max))
    }
}
