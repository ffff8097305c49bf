//! Terms of the promise of a central loop, and what enforces each of its conditions.

use reticent::privacy::TrustModel;

use super::{Condition, Part, Terms, Watch};
use crate::{
    Result,
    config::{CentralPlan, Ledger, LoopMode, Origin, Period, Span, WarmStart},
    generations::Earlier,
    learner::CentralLearner,
    periods::{CALENDAR, of_one_stream, often, windows_of_a_year},
};

/// The terms of a present learner and of the earlier generations that count visits with it.
pub(super) fn terms<'a>(
    plan: &'a CentralPlan,
    learner: &CentralLearner,
    earlier: &Earlier,
    watch: Watch,
) -> Result<Terms<'a>> {
    let (event, most) = earlier.event(learner)?;
    let (period, protects) = match plan.ledger {
        Ledger::Decision => (None, "one decision".into()),
        Ledger::Person { period, .. } => (
            Some(period),
            format!("one person, who takes part at most {}", often(most, period, CALENDAR)),
        ),
    };
    Ok(Terms {
        name: &plan.name,
        params: &plan.params,
        params_hash: plan.params_hash(),
        guarantee: earlier.guarantee(learner)?,
        protects,
        period,
        windows_of_a_year: period.and_then(Period::span).map(windows_of_a_year),
        several: Box::new(move |periods| of_one_stream(&event, periods)),
        conditions: conditions(plan, earlier, (most, learner.replays()), watch),
        ends: ends(plan),
    })
}

/// The loop as a part of what all loops of a file cost a person: its learner, and the learners of the model that it begins with.
pub(super) fn parts(plan: &CentralPlan) -> Result<Vec<Part>> {
    let learner = plan.begin()?;
    let (name, visits) = (plan.name.clone(), plan.ledger.visits());
    let mut parts = vec![Part { name, event: learner.event(), visits, model: TrustModel::Joint }];
    let origin = plan.params.warm_start_origin.as_ref();
    let units = origin.map_or(&[][..], |origin| &origin.units);
    parts.extend(Part::earlier(&plan.name, learner.earlier_events(), units));
    Ok(parts)
}

/// Statement before a start about the end of learning.
fn ends(plan: &CentralPlan) -> Option<String> {
    let horizon = plan.params.learner.horizon?;
    let after = Span::milliseconds(horizon.saturating_mul(plan.tick));
    let after = after.map_or_else(String::new, |span| format!(", after {span} of service"));
    Some(format!(
        "learning ends with release {horizon}{after}: people are then answered by the last model, nothing more is learnt or released, and raw rows go with their windows"
    ))
}

/// The conditions of a loop's guarantee, each with what enforces it: the largest number of visits that are learnt from, and the replays that are charged.
fn conditions(
    plan: &CentralPlan,
    earlier: &Earlier,
    (most, replays): (u64, u64),
    watch: Watch,
) -> Vec<Condition> {
    let mut conditions = vec![
        Condition::enforced(
            "the model is updated on a fixed timetable",
            "one step for every tick, empty ones included. Ticks that pass while the service is away or stopped share one step: forgetting and a horizon count steps",
        ),
        Condition::enforced(
            "every event contributes once, when its window has ended: its reward, or the default one; late rewards change nothing",
            "the store closes slots of the clock in order and never opens one again",
        ),
        Condition::enforced(
            "features and rewards are clipped to their bounds before noise is added",
            "the learner, for every contribution",
        ),
        Condition::enforced(
            "every update gets fresh noise and is published once",
            "every step draws under a new key of the system, and is committed before it is served",
        ),
    ];
    conditions.extend(watch.conditions());
    if replays > 0 {
        let times = if replays == 1 { "once".into() } else { format!("{replays} times") };
        conditions.push(Condition::enforced(
            format!("the store was rolled back {times}, and releases were made from the older copy: the numbers of this page are charged for it"),
            "an operator accepted it; it is a link of the chain of releases",
        ));
    }
    match plan.ledger {
        Ledger::Person { period, .. } => {
            conditions.extend([
                Condition::enforced(
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
                Condition::assumed("the caller uses the same id for the same person", "the caller of the service"),
            ]);
            if let Period::Each(_) = period {
                conditions.push(Condition::assumed(
                    "windows are fixed, counted from 1970-01-01 UTC: a person who comes around the end of one is in two. Each further window adds to the number: see the table of windows; no number holds for ever",
                    "nothing limits in how many windows a person comes",
                ));
            }
            if !earlier.shared.is_empty() {
                conditions.push(Condition::enforced(
                    format!("{} of this loop counted visits in the same ledger, and the number covers them: with equal noise they add nothing, else the dearest counts", generations(earlier.shared.len())),
                    "the accountant",
                ));
            }
            if earlier.separate > 0 {
                conditions.push(Condition::assumed(
                    format!("{} of this loop have ledgers of their own, or count decisions: what they cost is not in this number", generations(earlier.separate)),
                    "it is in the total of all loops",
                ));
            }
        }
        Ledger::Decision => conditions.push(Condition::assumed(
            "one decision is protected, not all decisions of a person",
            "the file of loops says so",
        )),
    }
    conditions.extend(appended(plan));
    conditions.extend(plan.warm_start.as_ref().map(began_with));
    if let (None, Some(origin)) = (&plan.warm_start, &plan.params.warm_start_origin) {
        conditions.push(followed(origin));
    }
    if plan.params.mode == LoopMode::Online {
        conditions.push(Condition::assumed(
            "each person sees their own decisions; others see releases and no decisions of theirs",
            "the application that shows the decisions",
        ));
    }
    conditions.extend([
        Condition::assumed(
            "the time of every rank request is seen by the carriers of the request, and requests are counted for admin keys; a read key sees no count of requests",
            "the operator of this service, of a proxy and of the network",
        ),
        Condition::assumed(
            "the operator and holders of an admin key see raw rows, counts of rewards and exports",
            "the operator of this service",
        ),
        Condition::assumed("ranges, categories and the other parameters were not taken from the people who are protected", "the author of the file of loops"),
    ]);
    conditions
}

fn generations(count: usize) -> String {
    match count {
        1 => "1 earlier generation".into(),
        _ => format!("{count} earlier generations"),
    }
}

/// Condition on the last release of the generation before, which a generation began with.
fn followed(origin: &Origin) -> Condition {
    let release = format!(
        "it began with release {} of generation {} of this loop",
        origin.release, origin.generation
    );
    match origin.units.iter().all(|unit| unit.visits().is_some()) {
        true => Condition::enforced(
            format!(
                "{release}, which was published and is charged there: beginning with it adds nothing to any number"
            ),
            "the store shows that release",
        ),
        false => Condition::assumed(
            format!(
                "{release}, which counted no visits of persons: one decision of it is protected, and no number holds for people who took part in that too"
            ),
            "the file of loops at that time",
        ),
    }
}

/// Conditions on words that were appended to lists since the generation began.
fn appended(plan: &CentralPlan) -> Vec<Condition> {
    let changes = plan.params.appended();
    if changes.is_empty() {
        return Vec::new();
    }
    let times = if changes.len() == 1 { "once".into() } else { format!("{} times", changes.len()) };
    vec![
        Condition::enforced(
            format!(
                "words were appended to lists of features {times} since this generation began, which changes no number of this page: every person's new coordinates were zero before, so that releasing them from then on shows a part of what a stream shows that always had them"
            ),
            "weights stay those of the beginning, and every vector is clipped to the same norm",
        ),
        Condition::assumed(
            "appended words were chosen from releases or public facts, not from requests, counts or logs of the people who are protected",
            "the author of the file of loops",
        ),
    ]
}

/// Condition on the model or the examples that a loop began with.
fn began_with(warm: &WarmStart) -> Condition {
    let Some(origin) = &warm.origin else {
        return Condition::assumed(
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
    Condition::assumed(
        format!("{text}; the model's file states its cost truly"),
        "the author of the model's file",
    )
}
