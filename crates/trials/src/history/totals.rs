//! The ledger, the chain of releases and the exact sums, against the rows.

use std::collections::BTreeMap;

use super::{Contents, History, Promise, Violation};
use reticent_server::{
    Error, Result,
    config::{CentralPlan, Ledger},
    loops::{
        CentralLearner, ChainHeader, ChainLine, Folded, HeadName, Rollback, contribute,
        first_chain, stored_learner, verify_chain,
    },
    store::{Generation, Head, Place, ReleaseRecord, StoreId, StoredEvent},
};

/// Of a person's events in a period as many are learnt from as k allows, and the ledger counts them.
///
/// One process commits events one after the other in the order of their numbers, so that it learns from the first k. Where several processes add events, or groups of one, a number is drawn
/// from a sequence before the person's row in the ledger is locked: of two that come at the same time the one with the higher number may be charged first. Both orders are ones in
/// which the person may have come, and the guarantee is about how many count: min(k, n) of n exactly, whichever they are. Fewer would be a visit lost, more would break it.
pub(super) fn ledger(plan: &CentralPlan, contents: &Contents, violations: &mut Vec<Violation>) {
    let mut report = |found: String| violations.push(Violation::new(Promise::Ledger, found));
    let Ledger::Person { most, .. } = plan.ledger else {
        if contents.rows.iter().any(|(_, row)| !row.learnt) {
            report("an event was not learnt from, though the unit is a decision".into());
        }
        return;
    };
    let mut rows: Vec<&(Place, StoredEvent)> = contents.rows.iter().collect();
    rows.sort_by_key(|(place, _)| place.number);
    // By period and person: events, and those that are learnt from.
    let mut counts = BTreeMap::<_, (u32, u32)>::new();
    for (place, row) in rows {
        let granted = match row.person {
            None => false,
            Some(person) => {
                let (all, learnt) =
                    counts.entry((plan.ledger.period(row.time), person)).or_default();
                let granted = *learnt < most;
                *all += 1;
                *learnt += u32::from(row.learnt);
                // Which of them is not decided by their numbers; how many is, below.
                if contents.is_shared { row.learnt } else { granted }
            }
        };
        if row.learnt != granted {
            let what = if row.learnt { "beyond what is allowed" } else { "before k visits" };
            report(format!("event number {} is learnt = {}, {what}", place.number, row.learnt));
        }
    }
    for ((period, _), (all, learnt)) in &counts {
        if *learnt != (*all).min(most) {
            let what = if *learnt > most { "beyond what is allowed" } else { "before k visits" };
            report(format!("period {period}: {learnt} of one person's {all} events count, {what}"));
        }
    }
    for (period, people) in &contents.visits {
        for (visits, counted) in (1..=most).zip(people) {
            let truth =
                counts.iter().filter(|((own, _), (_, count))| own == period && *count >= visits);
            let truth = truth.count() as u64;
            if *counted != truth {
                let side = if *counted < truth { "below" } else { "above" };
                report(format!(
                    "period {period}: {counted} people have {visits} visits or more, {side} the truth, {truth}"
                ));
            }
        }
    }
}

/// The chain holds, has every number once up to the head, and every head that a client saw lies on it.
pub(super) fn releases(
    plan: &CentralPlan,
    history: &History,
    contents: &Contents,
    violations: &mut Vec<Violation>,
) {
    let mut report = |found: String| violations.push(Violation::new(Promise::OneChain, found));
    let Contents { store, generation, head, releases, .. } = contents;
    if let Some(broken) = broken_chain(&plan.name, *store, generation, head, releases) {
        report(broken);
    }
    let params_hash = contents.generation.params_hash;
    let first = first_chain(contents.store, contents.generation.id, params_hash);
    let mut heads: BTreeMap<u64, HeadName> = BTreeMap::from([(0, HeadName::new(0, &first))]);
    for record in &contents.releases {
        heads.insert(record.number, HeadName::new(record.number, &record.chain));
    }
    let answers = history.events.values().flat_map(|event| &event.ranks);
    for answer in answers.filter_map(|attempt| attempt.taken()) {
        let seen = answer.head.rsplit_once('.').and_then(|(head, _)| HeadName::parse(head));
        if !seen.is_some_and(|seen| heads.get(&seen.number) == Some(&seen)) {
            report(format!("a client saw the head {}, which is not on the chain", answer.head));
            return;
        }
    }
}

/// The error in the list of all releases: the chain breaks, or leads to another head.
pub(super) fn broken_chain(
    name: &str,
    store: StoreId,
    generation: &Generation,
    head: &Head,
    releases: &[ReleaseRecord],
) -> Option<String> {
    let listed = || -> Result<String> {
        let header = ChainHeader::new(name, store, generation.id, generation.params_hash);
        let mut lines = vec![serde_json::to_string(&header).map_err(Error::store)?];
        for record in releases {
            lines.push(serde_json::to_string(&ChainLine::new(record)?).map_err(Error::store)?);
        }
        Ok(verify_chain(lines.into_iter().map(Ok::<_, std::convert::Infallible>), None)?.head)
    };
    let own = HeadName::new(head.number, &head.chain).text();
    match listed() {
        Err(error) => Some(error.to_string()),
        Ok(led) if head.number > 0 && led != own => {
            Some(format!("the head is {own}, and the chain leads to {led}"))
        }
        Ok(_) => None,
    }
}

/// Folds the rows again, tick by tick, into a learner that begins anew: its exact sums must be those of the store.
pub(super) fn sums(plan: &CentralPlan, contents: &Contents, violations: &mut Vec<Violation>) {
    match folded_again(plan, contents) {
        Ok(found) => violations.extend(found),
        Err(error) => violations.push(Violation::new(Promise::ExactSums, error.to_string())),
    }
}

fn folded_again(plan: &CentralPlan, contents: &Contents) -> Result<Vec<Violation>> {
    let mut violations = Vec::new();
    let mut wrong = |promise, found: &str| violations.push(Violation::new(promise, found));
    let stored = stored_learner(&contents.head)?;
    let mut again = plan.begin()?;
    let mut rows = contents.rows.iter().peekable();
    let mut folded = Folded::default();
    // A release sums the slots that have passed at its time.
    let mut last = plan.slot(contents.generation.began).saturating_sub(1);
    let mut replays = 0;
    for record in &contents.releases {
        // A link of the chain that stands for no release.
        if let Some(accepted) = Rollback::read(&record.release) {
            if accepted.replays <= replays {
                wrong(Promise::Certificate, "an accepted rollback was not charged");
            }
            replays = accepted.replays;
            continue;
        }
        let slot = plan.slot(record.time).saturating_sub(1);
        if slot <= last {
            wrong(Promise::OneChain, "a release was made without a slot of its own");
        }
        last = slot;
        let mut sums = again.no_sums();
        while let Some((_, row)) = rows.next_if(|(place, _)| place.slot <= slot) {
            contribute(plan, &again, row, &mut sums, &mut folded);
        }
        again.tick(&mut sums)?;
    }
    if folded.unusable > 0 {
        wrong(Promise::ExactSums, "a row cannot be used");
    }
    if last != contents.head.folded {
        wrong(Promise::ExactSums, "the head says that other slots are in its sums");
    }
    if stored.has_exact_sums_of(&again) != Some(true) {
        wrong(Promise::ExactSums, "the rows do not add up to the learner's sums");
    }
    let charged = CentralLearner::resume_charged(&again.save(), again.releases(), replays)?;
    if stored.guarantee()?.epsilon() != charged.guarantee()?.epsilon() {
        wrong(Promise::Certificate, "epsilon is not what it was, with what is charged");
    }
    Ok(violations)
}
