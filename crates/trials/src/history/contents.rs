//! Everything that the checker reads of a store.

use std::collections::{BTreeMap, BTreeSet};

use reticent_server::{
    Error, Result,
    clock::Time,
    config::{CentralPlan, Ledger},
    loops::StoredAnswer,
    store::{
        Digest, EventHash, Generation, GenerationId, Head, NewEvent, Payer, Place, Ranked,
        ReleaseRecord, Store, StoreId, StoredEvent, read_answer,
    },
};

/// Rows that are read at once.
pub(super) const ROWS: usize = 1000;

/// Contents of a store for one loop.
#[derive(Clone)]
pub struct Contents {
    /// The identity of the store.
    pub store: StoreId,
    /// The loop's generation in the store.
    pub generation: Generation,
    /// Its head, with the learner's state.
    pub head: Head,
    /// All releases.
    pub releases: Vec<ReleaseRecord>,
    /// All events with their places.
    pub rows: Vec<(Place, StoredEvent)>,
    /// The record under each event id: the hash of the request, and the answer.
    pub remembered: BTreeMap<EventHash, (Digest, StoredAnswer)>,
    /// By period: how many people have 1, 2, ..., k visits or more.
    pub visits: BTreeMap<u64, Vec<u64>>,
    /// True if several processes may have added the events: see `totals`.
    pub is_shared: bool,
}

impl Contents {
    /// Reads what belongs to this loop. The store is left as it is, unless it has forgotten an event id whose row it holds.
    pub async fn read(store: &dyn Store, plan: &CentralPlan) -> Result<Self> {
        let generation = generation_of(store, &plan.name).await?;
        let rows = all_rows(store, generation.id).await?;
        let releases = all_releases(store, generation.id).await?;
        let mut visits = BTreeMap::new();
        if let Ledger::Person { most, .. } = plan.ledger {
            let periods: BTreeSet<u64> =
                rows.iter().map(|(_, row)| plan.ledger.period(row.time)).collect();
            for period in periods {
                let mut people = Vec::new();
                for visits in 1..=most {
                    people.push(store.ledger(generation.id, period, visits).await?.used_up);
                }
                visits.insert(period, people);
            }
        }
        let head = store.head(generation.id).await?;
        let remembered = remembered(store, generation.id, &rows).await?;
        let is_shared = store.is_shared();
        Ok(Contents {
            store: store.id(),
            generation,
            head,
            releases,
            rows,
            remembered,
            visits,
            is_shared,
        })
    }
}

/// The one generation of a loop.
pub(super) async fn generation_of(store: &dyn Store, name: &str) -> Result<Generation> {
    let mut generations =
        store.generations().await?.into_iter().filter(|generation| generation.name == name);
    let (Some(generation), None) = (generations.next(), generations.next()) else {
        let remedy = "the history of a loop is that of one generation";
        return Err(Error::invalid("loop", name, remedy));
    };
    Ok(generation)
}

/// All rows of a generation, in their order.
pub(super) async fn all_rows(
    store: &dyn Store,
    generation: GenerationId,
) -> Result<Vec<(Place, StoredEvent)>> {
    let mut rows: Vec<(Place, StoredEvent)> = Vec::new();
    loop {
        let after = rows.last().map_or(Place::default(), |(place, _)| *place);
        let more = store.kept_events(generation, after, ROWS).await?;
        if more.is_empty() {
            return Ok(rows);
        }
        rows.extend(more);
    }
}

/// All releases of a generation, in their order.
pub(super) async fn all_releases(
    store: &dyn Store,
    generation: GenerationId,
) -> Result<Vec<ReleaseRecord>> {
    let mut releases: Vec<ReleaseRecord> = Vec::new();
    loop {
        let from = releases.last().map_or(1, |last| last.number + 1);
        let more = store.releases(generation, from, ROWS).await?;
        if more.is_empty() {
            return Ok(releases);
        }
        releases.extend(more);
    }
}

/// Inserts every event that has a row again: the store returns its record, and adds nothing.
async fn remembered(
    store: &dyn Store,
    generation: GenerationId,
    rows: &[(Place, StoredEvent)],
) -> Result<BTreeMap<EventHash, (Digest, StoredAnswer)>> {
    let again =
        |(place, row): &(Place, StoredEvent)| lookup(generation, row.event, place.slot, row.time);
    let mut remembered = BTreeMap::new();
    for rows in rows.chunks(ROWS) {
        let answers = store.insert_events(rows.iter().map(again).collect()).await?;
        for ((_, row), ranked) in rows.iter().zip(answers) {
            if let Ranked::Repeated { request, answer } = ranked
                && let Ok(answer) = read_answer(&answer)
            {
                remembered.insert(row.event, (request, answer));
            }
        }
    }
    Ok(remembered)
}

/// An event that is only looked up: a store that remembers its id returns its record, and adds nothing.
pub(super) fn lookup(
    generation: GenerationId,
    event: EventHash,
    slot: u64,
    time: Time,
) -> NewEvent {
    NewEvent {
        generation,
        event,
        request: Digest::default(),
        answer: Vec::new(),
        person: None,
        payer: Payer::NotLearnt,
        slot,
        time,
        deferred: true,
        features: Vec::new(),
        raw: Vec::new(),
    }
}
