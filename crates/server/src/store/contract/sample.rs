//! Records to test with.

use crate::store::{
    Charge, Collect, GenerationId, Head, KeyRecord, MOST_EARLIER_KEYS, MemoryStore, NewEvent,
    NewGeneration, NewReward, Payer, PersonHash, ReleaseRecord, Replacement, Step, StoredEvent,
};

/// The last closed slot of a new generation.
pub(crate) const CLOSED: u64 = 10;

/// A generation of a loop.
pub(crate) fn generation(name: &str, params_hash: u64) -> NewGeneration {
    NewGeneration {
        name: name.into(),
        params_hash,
        params: b"{}".to_vec(),
        state: vec![params_hash as u8],
        event: b"null".to_vec(),
        closed: CLOSED,
        time: 1000 + params_hash,
        counts_with: None,
    }
}

/// A person.
pub(crate) fn person(number: u8) -> PersonHash {
    [number; 16]
}

/// A charge to a person, of three visits at most, for ever.
pub(crate) fn charge(number: u8) -> Charge {
    Charge { person: person(number), earlier: [None; MOST_EARLIER_KEYS], period: 0, most: 3 }
}

/// An event whose window ends in the first open slot, charged to no person.
pub(crate) fn event(generation: GenerationId, id: u8) -> NewEvent {
    NewEvent {
        generation,
        event: [id; 16],
        request: [id; 32],
        answer: vec![id, 1],
        person: None,
        payer: Payer::Decision,
        slot: CLOSED + 1,
        time: 2000 + u64::from(id),
        deferred: false,
        features: vec![f64::from(id), 0.5],
        raw: vec![id, 2],
    }
}

/// The same, paid by a person.
pub(crate) fn event_of(generation: GenerationId, id: u8, charge: Charge) -> NewEvent {
    NewEvent { person: Some(charge.person), payer: Payer::Person(charge), ..event(generation, id) }
}

/// A reward that is added to others.
pub(crate) fn reward(generation: GenerationId, id: u8, units: i64, key: Option<u64>) -> NewReward {
    NewReward { generation, event: [id; 16], units, key, sum: true }
}

/// A step that folds slots that are folded already.
pub(crate) fn step(generation: GenerationId, epoch: u64, number: u64) -> Step {
    let byte = number as u8;
    let release = ReleaseRecord {
        number,
        time: 3000 + number,
        hash: [byte; 32],
        chain: [byte ^ 0xff; 32],
        release: vec![byte, 3],
    };
    Step { generation, epoch, state: vec![byte, 4], folded: CLOSED, release }
}

/// Replacement of a head without a charge.
pub(crate) fn replacement(old: &Head, head: Head, link: Option<ReleaseRecord>) -> Replacement {
    Replacement { from: old.key(), head, link, charge: None }
}

/// A collection of everything.
pub(crate) fn everything() -> Collect {
    Collect {
        slot: u64::MAX,
        unreleased: false,
        before: u64::MAX,
        forget_ids: u64::MAX,
        first_release: u64::MAX,
        limit: 1000,
    }
}

/// Damages the first rows that are kept.
pub(crate) fn damage(store: &MemoryStore, rows: usize) {
    let unreadable = |event: &mut StoredEvent| *event = StoredEvent::unreadable();
    store.with(|state| state.events.values_mut().take(rows).for_each(unreadable));
}

/// Gives every generation a ledger of its own, as in stores of earlier versions.
pub(crate) fn separate_ledgers(store: &MemoryStore) {
    store.with(|state| {
        state.generations.values_mut().for_each(|generation| generation.ledger = generation.id)
    });
}

/// A key.
pub(crate) fn key(id: &str) -> KeyRecord {
    KeyRecord {
        id: id.into(),
        hash: [7; 32],
        loop_name: Some("home".into()),
        roles: vec!["decide".into()],
        made: 5,
        revoked: None,
    }
}
