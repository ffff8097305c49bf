//! Terms of the promise of a loop to which devices report, and what enforces each of its conditions.

use reticent::{privacy::Event, randomize::Levels};

use super::{Condition, Part, Terms};
use crate::{
    Result,
    config::{Period, ReportsPlan},
    periods::{often, windows_of_a_year},
};

/// The terms of one installation's reports.
pub(super) fn terms(plan: &ReportsPlan) -> Result<Terms<'_>> {
    let period = plan.params.privacy.per.unwrap_or(Period::Ever);
    let report = plan.local().event(plan.largest_level())?;
    Ok(Terms {
        name: &plan.name,
        params: &plan.params,
        params_hash: plan.params_hash(),
        guarantee: plan.guarantee()?,
        protects: format!(
            "one installation, which reports at most {}",
            often(plan.visits(), period, "period")
        ),
        period: Some(period),
        // A device's period may last longer than the window of the calendar in which it began, which may be before the year.
        windows_of_a_year: period.span().map(|span| windows_of_a_year(span).saturating_add(1)),
        // Reports of several periods are separate releases under separate noise: they compose.
        several: Box::new(move |periods| {
            let times = plan.visits() * u64::from(periods);
            Event::Repeated { event: Box::new(report.clone()), times }
        }),
        conditions: conditions(plan),
        ends: None,
    })
}

/// The loop as a part of what all loops of a file cost a person.
pub(super) fn part(plan: &ReportsPlan) -> Result<Part> {
    let (name, model) = (plan.name.clone(), plan.guarantee()?.model());
    Ok(Part { name, event: plan.event()?, visits: Some(plan.visits()), model })
}

fn conditions(plan: &ReportsPlan) -> Vec<Condition> {
    let mut conditions = vec![
        Condition::enforced(
            "features and reward are clipped and randomised on the device before anything leaves it",
            "the client; everything it sends can be read on the device",
        ),
        Condition::enforced(
            match plan.params.privacy.per {
                Some(Period::Each(span)) => {
                    format!(
                        "at most {} reports of one installation leave it in each period of {span}",
                        plan.visits()
                    )
                }
                _ if plan.visits() == 1 => {
                    "at most 1 report of one installation ever leaves it".into()
                }
                _ => format!("at most {} reports of one installation ever leave it", plan.visits()),
            },
            "the client: it counts a report in its storage before it first sends it",
        ),
        Condition::assumed(
            "the unit is one installation's storage: clearing it, a private window or another browser begins a new one",
            "the person; no other party knows which installations are theirs",
        ),
        Condition::assumed(
            "the client runs as it was published",
            "the party that delivers the page or the program to the device",
        ),
        Condition::assumed(
            "a page that fetches only what was chosen shows the choice",
            "the author of the page, who lets it fetch all candidates or says that the choice is visible",
        ),
    ];
    if let Some(Period::Each(_)) = plan.params.privacy.per {
        conditions.push(Condition::assumed(
            "an installation that reports in later periods adds to the number: see the table of periods; no number holds for ever",
            "nothing limits in how many periods it reports",
        ));
    }
    match plan.shuffled() {
        None => local(plan, &mut conditions),
        Some(_) => shuffled(plan, &mut conditions),
    }
    conditions.push(Condition::assumed(
        "ranges, categories and the other parameters were not taken from the people who are protected",
        "the author of the file of loops",
    ));
    conditions
}

/// Conditions of loops whose reports come to this server one by one.
fn local(plan: &ReportsPlan, conditions: &mut Vec<Condition>) {
    if let Levels::Public(levels) = &plan.local().params().report.levels
        && levels.len() > 1
    {
        conditions.push(Condition::assumed(
            format!(
                "the number holds for every level; a person may choose a smaller one of {levels:?}, and their level is no secret"
            ),
            "the person; who chooses none has the smallest",
        ));
    }
    conditions.extend([
        Condition::assumed(
            "when a device asks and reports, and its address, are seen by this server and by the network",
            "not hidden; the number is about the content of reports",
        ),
        Condition::enforced(
            "every report is counted once, and what is lost, late or repeated costs no privacy",
            "the store remembers ids for as long as reports on their model are taken; an older copy of it forgets reports and shows nothing new",
        ),
    ]);
}

/// Conditions of loops with a shuffler.
fn shuffled(plan: &ReportsPlan, conditions: &mut Vec<Condition>) {
    let Some(shuffle) = plan.shuffled() else { return };
    let (batch, honest) = (shuffle.params().batch, shuffle.honest());
    conditions.extend([
        Condition::enforced(
            format!("batches have {batch} reports, and none smaller leaves the shuffler"),
            "the shuffler, and this server, which takes no other batch",
        ),
        Condition::enforced(
            "a report is sealed once, and sent again as the same bytes",
            "the client: it stores them, and counts the report, before it first sends them",
        ),
        Condition::enforced(
            "a report is in one batch only, which is committed before it is first sent, and sent again as the same bytes",
            "the shuffler's store: it remembers ids for as long as reports on their model are taken, and a floor of models that never goes down, both checked in the transaction that stores a report",
        ),
        Condition::enforced(
            "what a device prices, its noise and the size of batches, is what the shuffler shuffles",
            "the SHA-256 of the protocol, which every report carries and the shuffler makes from its own file",
        ),
        Condition::enforced(
            "one process shuffles at a time",
            "the lock of its store, and this server, which takes one batch of a number",
        ),
        Condition::enforced(
            "batches contain nothing of senders, addresses, times, models and the order in which reports came",
            "the shuffler, which permutes with a cryptographic generator and forwards sealed bytes of one length, or one sum",
        ),
        Condition::assumed(
            "the shuffler and this server do not work together, and no attacker takes over both",
            "the operators of both",
        ),
        Condition::assumed(
            format!(
                "floods: at least {honest} of the {batch} reports of a batch are those of other, honest people; at most {} of one sender are taken into a batch",
                plan.cap
            ),
            "not enforced: an attacker with many addresses can fill batches",
        ),
        Condition::assumed(
            "this server gives all devices and the shuffler the same protocol, keys and models",
            "the operator of this server: one that names a key or a model for one device alone keeps the others out of its batch",
        ),
        Condition::assumed(
            "the shuffler's store is neither lost nor replaced by an older copy",
            "the operator of the shuffler; it stops if this server has later batches than it remembers, and with an empty store it takes reports on later models only, as far as this server says truly what it has",
        ),
        Condition::assumed(
            "that and when a device reports, on which model, and its address, are seen by the shuffler and by the network",
            "not hidden from these; this server gets none of it",
        ),
    ]);
    conditions.push(match plan.sums() {
        true => Condition::assumed(
            "the shuffler sees every report, noised on the device with far less noise than it needs alone; the network reads none, since reports are sealed to the shuffler (HPKE, RFC 9180)",
            "the operator of the shuffler",
        ),
        false => Condition::enforced(
            "the shuffler and the network read no report: against a reader of one its local guarantee holds",
            "reports are sealed to the key of this server (HPKE, RFC 9180)",
        ),
    });
}
