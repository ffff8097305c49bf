//! Loops whose people's devices add the noise: every report and every model of the history against the store.
//!
//! Rows of reports go when they are counted, so that what was counted shows in the sums alone: they must be those of all reports that the store
//! remembers and that do not wait any more. Every report differs from every other by its noise, so that none can stand for another.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use reticent::{bandit::Model, randomize::Report, wire};

use super::{
    Attempt, Promise, Reply, Violation,
    contents::{ROWS, all_releases, all_rows, generation_of, lookup},
    totals::broken_chain,
};
use reticent_server::{
    Error, Result,
    config::ReportsPlan,
    secret::digest,
    service::reports::{ReportServer, Row, Taken, name_of},
    store::{
        Digest, EventHash, Generation, Head, Place, Ranked, ReleaseRecord, Store, StoreId,
        StoredEvent,
    },
};

/// Attempts of a device to send one report, which is always the same bytes.
#[derive(Clone)]
pub struct ReportHistory {
    /// The report.
    pub report: Report,
    /// Every time it was sent.
    pub attempts: Vec<Attempt<(), Taken>>,
}

/// Reports and models of the devices of one loop.
#[derive(Clone, Default)]
pub struct DeviceHistory {
    /// Reports by their names.
    pub reports: BTreeMap<EventHash, ReportHistory>,
    /// Hashes of the models that were fetched, by the models' numbers.
    models: BTreeMap<u64, BTreeSet<Digest>>,
}

impl DeviceHistory {
    /// A report is sent once more.
    pub fn sent(&mut self, message: &[u8], attempt: Attempt<(), Taken>) -> Result<()> {
        let report: Report = wire::from_json(message)?;
        let new = || ReportHistory { report: report.clone(), attempts: Vec::new() };
        self.reports.entry(name_of(&report)).or_insert_with(new).attempts.push(attempt);
        Ok(())
    }

    /// A model was fetched.
    pub fn fetched(&mut self, message: &[u8]) -> Result<()> {
        let model: Model = wire::from_json(message)?;
        self.models.entry(model.sequence()).or_default().insert(digest(&[message]));
        Ok(())
    }

    /// Number of models that were fetched, each number once.
    pub fn models(&self) -> usize {
        self.models.len()
    }

    /// Adds what other devices did.
    pub fn merge(&mut self, other: DeviceHistory) {
        for (name, more) in other.reports {
            match self.reports.get_mut(&name) {
                Some(own) => own.attempts.extend(more.attempts),
                None => drop(self.reports.insert(name, more)),
            }
        }
        for (number, seen) in other.models {
            self.models.entry(number).or_default().extend(seen);
        }
    }
}

/// Contents of a store for a loop of devices.
#[derive(Clone)]
pub struct DeviceContents {
    /// The identity of the store.
    pub store: StoreId,
    /// The loop's generation in the store.
    pub generation: Generation,
    /// Its head, with the sums.
    pub head: Head,
    /// All models; of earlier ones the hashes.
    pub models: Vec<ReleaseRecord>,
    /// Rows of reports, those that are counted and not yet removed included.
    pub rows: Vec<(Place, StoredEvent)>,
    /// Reports of the history whose names the store remembers.
    pub remembered: BTreeSet<EventHash>,
}

impl DeviceContents {
    /// Reads what belongs to this loop. A report of the history that the store does not know is inserted by the lookup: read once.
    pub async fn read(
        store: &dyn Store,
        plan: &ReportsPlan,
        history: &DeviceHistory,
    ) -> Result<Self> {
        let generation = generation_of(store, &plan.name).await?;
        let rows = all_rows(store, generation.id).await?;
        let models = all_releases(store, generation.id).await?;
        let head = store.head(generation.id).await?;
        let names: Vec<EventHash> = history.reports.keys().copied().collect();
        let mut remembered = BTreeSet::new();
        for names in names.chunks(ROWS) {
            let ask = |name: &EventHash| lookup(generation.id, *name, head.closed + 1, 0);
            let answers = store.insert_events(names.iter().map(ask).collect()).await?;
            let known = |(name, answer): (&EventHash, Ranked)| match answer {
                Ranked::Repeated { .. } => Some(*name),
                Ranked::Added { .. } => None,
            };
            remembered.extend(names.iter().zip(answers).filter_map(known));
        }
        Ok(DeviceContents { store: store.id(), generation, head, models, rows, remembered })
    }
}

/// Everything in which the store of a loop of devices differs from the answers that its devices got; empty if nothing does.
pub fn check_devices(
    plan: &ReportsPlan,
    history: &DeviceHistory,
    contents: &DeviceContents,
) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (name, report) in &history.reports {
        let is_known = contents.remembered.contains(name);
        let found = answers(report, is_known).map(|what| {
            let found = format!("report {:032x}: {what}", u128::from_be_bytes(*name));
            Violation::new(Promise::ReportOnce, found)
        });
        violations.extend(found);
    }
    let mut wrong = |promise, found: String| violations.push(Violation::new(promise, found));
    match sums(plan, history, contents) {
        Err(error) => wrong(Promise::ReportOnce, error.to_string()),
        Ok(found) => found.into_iter().for_each(|found| wrong(Promise::ReportOnce, found)),
    }
    match models(plan, history, contents) {
        Err(error) => wrong(Promise::OneModel, error.to_string()),
        Ok(found) => found.into_iter().for_each(|found| wrong(Promise::OneModel, found)),
    }
    violations
}

/// The error in the answers to one report, if there is one.
fn answers(report: &ReportHistory, is_known: bool) -> Option<String> {
    let attempts = &report.attempts;
    // Any device may be refused for too many requests at once.
    let refused = attempts.iter().find_map(|attempt| match attempt.reply {
        Reply::Refused(status) if status != 429 => Some(status),
        _ => None,
    });
    if let Some(status) = refused {
        return Some(format!("an honest report was refused with {status}"));
    }
    let answered = |taken: Taken| attempts.iter().filter(move |one| one.taken() == Some(&taken));
    if answered(Taken::Taken).count() > 1 {
        return Some("it was new twice".into());
    }
    let repeats = |one: &Attempt<(), Taken>| {
        attempts.iter().any(|other| other.sent < one.sent && other.may_count())
    };
    if answered(Taken::Duplicate).any(|one| !repeats(one)) {
        return Some("it was known before it was sent".into());
    }
    match (is_known, attempts.iter().any(|one| one.taken().is_some())) {
        (false, true) => Some("it was acknowledged, and its name is forgotten".into()),
        (true, _) if !attempts.iter().any(Attempt::may_count) => {
            Some("it was refused, and is there".into())
        }
        _ => None,
    }
}

/// Reports that wait are those that were sent, and all others that are remembered are in the sums.
fn sums(
    plan: &ReportsPlan,
    history: &DeviceHistory,
    contents: &DeviceContents,
) -> Result<Vec<String>> {
    let mut found = Vec::new();
    let mut waiting = BTreeSet::new();
    for (place, row) in &contents.rows {
        let sent = history.reports.get(&row.event).map(|sent| &sent.report);
        match Row::decode(&row.raw)? {
            Row::Report(report) if Some(&report) == sent => {}
            _ => found.push("there is a report that no device sent".into()),
        }
        if place.slot > contents.head.folded && !waiting.insert(row.event) {
            found.push("a report waits twice".into());
        }
    }
    let ReportServer::Local(server) = ReportServer::load(plan, &contents.head.state)? else {
        return Err(Error::invalid("loop", &plan.name, "reports go to a shuffler"));
    };
    let is_counted =
        |name: &EventHash| contents.remembered.contains(name) && !waiting.contains(name);
    let counted = || history.reports.iter().filter(|(name, _)| is_counted(name));
    if !server.has_counted(counted().map(|(_, sent)| &sent.report))? {
        found.push(format!(
            "the sums of {} reports are not those of the {} that were taken and do not wait",
            server.reports(),
            counted().count()
        ));
    }
    Ok(found)
}

/// There is one chain of models, which leads to the head and to what the head serves, and all that were fetched lie on it.
fn models(
    plan: &ReportsPlan,
    history: &DeviceHistory,
    contents: &DeviceContents,
) -> Result<Vec<String>> {
    let DeviceContents { store, generation, head, models, .. } = contents;
    let mut found: Vec<String> =
        broken_chain(&plan.name, *store, generation, head, models).into_iter().collect();
    let served =
        digest(&[wire::to_json(&ReportServer::load(plan, &head.state)?.publish()?).as_bytes()]);
    let mut hashes: BTreeMap<u64, Digest> = BTreeMap::new();
    for record in models {
        hashes.insert(record.number, record.hash);
        // Of earlier ones only the hash is kept.
        if !record.release.is_empty() {
            let number = wire::from_json::<Model>(&record.release)?.sequence();
            if number != record.number {
                found.push(format!("model {number} has the place of model {}", record.number));
            }
        }
    }
    if head.number > 0 && hashes.get(&head.number) != Some(&served) {
        found.push(format!("the state of model {} serves another one", head.number));
    }
    if head.number == 0 {
        hashes.insert(0, served);
    }
    for (number, seen) in &history.models {
        let one = seen.first().filter(|_| seen.len() == 1);
        // The first one is made before any release, and is no part of the chain.
        let is_it = match (*number, hashes.get(number)) {
            (0, None) => one.is_some(),
            (_, known) => one.is_some() && one == known,
        };
        if !is_it {
            found.push(format!("another model {number} was fetched than is there"));
        }
    }
    Ok(found)
}
