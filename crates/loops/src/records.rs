//! Stored records. Every record is written with a version in front (`row`), and one of another version is refused.
//!
//! `Debug` shows neither persons nor rewards nor answers: what is printed may end in a log.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::time::Time;

/// The identity of a store.
pub type StoreId = [u8; 16];

/// A keyed hash of an event id within its loop.
pub type EventHash = [u8; 16];

/// A keyed hash of a person.
pub type PersonHash = [u8; 16];

/// SHA-256.
pub type Digest = [u8; 32];

/// The number of a generation of a loop.
pub type GenerationId = u32;

/// Idempotency keys that one event takes, and remembers as long as rewards change it. Rewards under further ones change nothing: were an older key forgotten for
/// them, its repetition would count a second time.
pub const MOST_REWARD_KEYS: usize = 1024;

/// The request that stands in place of that of an erased person: no request has this hash.
pub const ERASED_REQUEST: Digest = [0; 32];

/// Whole releases that one transaction turns into hashes, at most: each is read for it, and may be large.
pub const MOST_COMPACTED: usize = 64;

/// Earlier keys of the people's hashes whose counts add up, at most.
pub const MOST_EARLIER_KEYS: usize = 8;

/// Place of an event: its slot, and its number. Numbers of a generation grow in the order in which its events are added; they may have gaps.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
pub struct Place {
    /// The slot.
    pub slot: u64,
    /// Its number, at least 1.
    pub number: u64,
}

/// Charge of an event to the ledger.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Charge {
    /// The person of the rank request.
    pub person: PersonHash,
    /// Other hashes of the same person, under earlier keys, whose counts add up.
    pub earlier: [Option<PersonHash>; MOST_EARLIER_KEYS],
    /// The period of the rank, 0 for ever.
    pub period: u64,
    /// Visits that are learnt from in a period, at most.
    pub most: u32,
}

/// Unit that an event is charged to.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Payer {
    /// No person: the unit is a decision, and every event is learnt from.
    Decision,
    /// A person, as long as their visits last.
    Person(Charge),
    /// No person can be charged, so that nothing is learnt.
    NotLearnt,
}

impl fmt::Debug for Payer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Payer::Decision => "Decision",
            Payer::Person(_) => "Person(..)",
            Payer::NotLearnt => "NotLearnt",
        })
    }
}

/// An event to be added.
#[derive(Clone)]
pub struct NewEvent {
    /// Its generation.
    pub generation: GenerationId,
    /// The keyed hash of its id.
    pub event: EventHash,
    /// The keyed hash of its request and of the caller's key, to distinguish a repetition from another request.
    pub request: Digest,
    /// The answer as it will be sent, or sent again.
    pub answer: Vec<u8>,
    /// The person of the rank request, charged or not: for erasure.
    pub person: Option<PersonHash>,
    /// Unit that is charged.
    pub payer: Payer,
    /// The slot in which its window ends.
    pub slot: u64,
    /// Time of the rank request.
    pub time: Time,
    /// True if it counts only when it has been shown.
    pub deferred: bool,
    /// Features of the action, as they are contributed.
    pub features: Vec<f64>,
    /// The request and the decision as they are exported, if the loop retains them.
    pub raw: Vec<u8>,
}

impl NewEvent {
    /// The event as it is kept, before any reward.
    pub fn stored(self, learnt: bool) -> StoredEvent {
        StoredEvent {
            event: self.event,
            person: self.person,
            time: self.time,
            learnt,
            active: !self.deferred,
            reward: None,
            reward_keys: Vec::new(),
            features: self.features,
            raw: self.raw,
        }
    }
}

/// An event as it is kept.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredEvent {
    /// The keyed hash of its id.
    pub event: EventHash,
    /// The person of the rank request, for erasure.
    pub person: Option<PersonHash>,
    /// Time of the rank request.
    pub time: Time,
    /// True if the ledger granted it: else it contributes nothing.
    pub learnt: bool,
    /// True if it counts: not before it is activated, if it was deferred.
    pub active: bool,
    /// The sum of its rewards in units of 2^-32, if one came.
    pub reward: Option<i64>,
    /// Hashes of the idempotency keys of its rewards, [`MOST_REWARD_KEYS`] at most.
    pub reward_keys: Vec<u64>,
    /// Features of the action.
    pub features: Vec<f64>,
    /// Data that are exported.
    pub raw: Vec<u8>,
}

impl StoredEvent {
    /// True if this stands for a row that cannot be read.
    pub fn is_unreadable(&self) -> bool {
        *self == Self::unreadable()
    }

    /// Substitute of a row that cannot be read: it has no features, so that it contributes zeros and is counted as a fault.
    pub fn unreadable() -> Self {
        StoredEvent {
            event: EventHash::default(),
            person: None,
            time: 0,
            learnt: true,
            active: true,
            reward: None,
            reward_keys: Vec::new(),
            features: Vec::new(),
            raw: Vec::new(),
        }
    }
}

/// Outcome of the insertion of an event.
#[derive(Clone, PartialEq, Eq)]
pub enum Ranked {
    /// The event was added in this slot.
    Added {
        /// Its slot.
        slot: u64,
    },
    /// There was one with this id: its request and its answer.
    Repeated {
        /// The hash of the request it was added with, or [`ERASED_REQUEST`].
        request: Digest,
        /// The answer that was given; empty if its person was erased.
        answer: Vec<u8>,
    },
}

impl fmt::Debug for Ranked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ranked::Added { slot } => f.debug_struct("Added").field("slot", slot).finish(),
            Ranked::Repeated { .. } => f.debug_struct("Repeated").finish_non_exhaustive(),
        }
    }
}

/// A reward to be added.
#[derive(Clone)]
pub struct NewReward {
    /// The generation of the event.
    pub generation: GenerationId,
    /// The keyed hash of its id.
    pub event: EventHash,
    /// In units of 2^-32, unclipped.
    pub units: i64,
    /// The hash of an idempotency key.
    pub key: Option<u64>,
    /// True if rewards add up; else the first one counts.
    pub sum: bool,
}

impl NewReward {
    /// Adds it to the sum and the keys of an open event, unless it was added before, another one was first, or no key can be remembered any more.
    pub fn add_to(&self, sum: &mut Option<i64>, keys: &mut Vec<u64>) -> Outcome {
        let known = |key| keys.len() >= MOST_REWARD_KEYS || keys.contains(&key);
        if self.key.is_some_and(known) || (!self.sum && sum.is_some()) {
            return Outcome::Unchanged;
        }
        *sum = Some(sum.unwrap_or(0).saturating_add(self.units));
        keys.extend(self.key);
        Outcome::Taken
    }
}

/// Outcome of a reward or an activation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It was taken.
    Taken,
    /// Nothing changed: it was taken before, an earlier reward counts in its place, the event has as many idempotency keys as it takes, or its row was erased. Callers get the same answer as if it was
    /// taken.
    Unchanged,
    /// The event has closed.
    Late,
    /// There is no event of this id.
    Unknown,
}

/// State of a generation at its last release.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Head {
    /// The number of the last release, 0 before the first.
    pub number: u64,
    /// The hash of the chain up to it.
    pub chain: Digest,
    /// Epoch of the process that may release.
    pub epoch: u64,
    /// The last slot that is closed.
    pub closed: u64,
    /// The last slot that is in the released sums.
    pub folded: u64,
    /// The learner's state.
    pub state: Vec<u8>,
}

/// A step to be committed.
#[derive(Clone)]
pub struct Step {
    /// The generation.
    pub generation: GenerationId,
    /// The epoch of the releaser.
    pub epoch: u64,
    /// The new state.
    pub state: Vec<u8>,
    /// The last slot that is in it.
    pub folded: u64,
    /// The release; its number follows that of the head.
    pub release: ReleaseRecord,
}

/// A head that takes the place of the stored one after a rollback that an operator accepted.
#[derive(Clone)]
pub struct Replacement {
    /// Number, chain and epoch of the head that it was made from: where another one is stored by now, nothing happens.
    pub from: (u64, Digest, u64),
    /// The new head, with the replay charged in its state.
    pub head: Head,
    /// Link of the chain of releases about it, under the new number.
    pub link: Option<ReleaseRecord>,
    /// Charge before and after it: where more has been charged by now, nothing happens.
    pub charge: Option<Raise>,
}

/// A floor that has been read, and its new value.
#[derive(Clone)]
pub struct Raise {
    /// Its name.
    pub name: String,
    /// Value that was read.
    pub from: u64,
    /// New value.
    pub to: u64,
}

impl Head {
    /// Identity of this head.
    pub fn key(&self) -> (u64, Digest, u64) {
        (self.number, self.chain, self.epoch)
    }
}

/// Outcome of a step.
#[derive(Clone, PartialEq)]
pub enum Committed {
    /// It is the head now.
    Yes,
    /// The head was another one, and nothing happened.
    No(Head),
}

/// A release as it is kept: it has left the curator, and nothing in it is secret.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReleaseRecord {
    /// Its number, from 1.
    pub number: u64,
    /// Time of the release.
    pub time: Time,
    /// SHA-256 of `release`.
    pub hash: Digest,
    /// SHA-256 of the chain before it and of `hash`.
    pub chain: Digest,
    /// The release as it travels; empty when only the hash is kept.
    pub release: Vec<u8>,
}

/// A generation to begin.
#[derive(Clone)]
pub struct NewGeneration {
    /// The loop.
    pub name: String,
    /// The hash of everything that a generation is: features, privacy, reward, forgetting.
    pub params_hash: u64,
    /// The loop's parameters, as JSON.
    pub params: Vec<u8>,
    /// The learner's first state.
    pub state: Vec<u8>,
    /// Privacy cost for one person, as JSON of the accountant's event.
    pub event: Vec<u8>,
    /// The first slot that may be closed is the one after this.
    pub closed: u64,
    /// Time of its beginning.
    pub time: Time,
    /// The generation whose ledger goes on: persons are counted over both. None for a ledger of its own, which it has too if that generation is not the
    /// present one any more.
    pub counts_with: Option<GenerationId>,
}

impl NewGeneration {
    /// The generation that began the ledger of this one, which gets this number and follows the present generation.
    pub fn ledger(&self, id: GenerationId, present: Option<&Generation>) -> GenerationId {
        let shared = present.filter(|present| self.counts_with == Some(present.id));
        shared.map_or(id, |present| present.ledger)
    }

    /// The generation as it is kept, under its number.
    pub fn begun(self, id: GenerationId, ledger: GenerationId) -> Generation {
        Generation {
            id,
            name: self.name,
            params_hash: self.params_hash,
            params: self.params,
            event: self.event,
            began: self.time,
            ended: None,
            ledger,
        }
    }
}

/// A generation of a loop.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Generation {
    /// Its number.
    pub id: GenerationId,
    /// The loop.
    pub name: String,
    /// The hash of everything that it is.
    pub params_hash: u64,
    /// The loop's parameters, as JSON.
    pub params: Vec<u8>,
    /// Privacy cost for one person, as JSON of the accountant's event.
    pub event: Vec<u8>,
    /// Time of its beginning.
    pub began: Time,
    /// Time at which the next one of the loop began.
    pub ended: Option<Time>,
    /// The generation that began the ledger in which its persons are counted: its own number, or that of an earlier generation of the loop.
    pub ledger: GenerationId,
}

/// Version 1 of [`Generation`], whose ledger was its own. One that held for ever was copied from the generation before, but no record says so: the costs of
/// these generations add up.
#[derive(Clone, Serialize, Deserialize)]
pub struct FirstGeneration {
    id: GenerationId,
    name: String,
    params_hash: u64,
    params: Vec<u8>,
    event: Vec<u8>,
    began: Time,
    ended: Option<Time>,
}

impl From<FirstGeneration> for Generation {
    fn from(first: FirstGeneration) -> Self {
        let FirstGeneration { id, name, params_hash, params, event, began, ended } = first;
        Generation { id, name, params_hash, params, event, began, ended, ledger: id }
    }
}

/// Records to remove. Rows and ids of slots that are not closed are never removed.
#[derive(Debug, Clone, Copy)]
pub struct Collect {
    /// Rows of slots up to this one.
    pub slot: u64,
    /// True if closed rows that are in no release are removed too, because nothing will be learnt any more.
    pub unreleased: bool,
    /// Of these, rows of events whose rank request was before this.
    pub before: Time,
    /// Event ids of slots up to this one.
    pub forget_ids: u64,
    /// Whole releases below this number.
    pub first_release: u64,
    /// Rows, ids and releases in one transaction, at most this many of each, and of releases [`MOST_COMPACTED`].
    pub limit: usize,
}

/// Counts of an erasure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Erased {
    /// Erased rows.
    pub rows: u64,
}

/// Counts of people of a period by their use of visits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LedgerCount {
    /// People with at least one visit.
    pub people: u64,
    /// Of these, people without any left.
    pub used_up: u64,
}

/// A key, of which only a hash is kept.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct KeyRecord {
    /// Its public part.
    pub id: String,
    /// SHA-256 of its secret part.
    pub hash: Digest,
    /// The loop it is for; none for an administrator.
    pub loop_name: Option<String>,
    /// Permitted uses.
    pub roles: Vec<String>,
    /// Time of its creation.
    pub made: Time,
    /// Time of its revocation.
    pub revoked: Option<Time>,
}

/// Place of a witness, relative to the store that it watches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WitnessPlace {
    /// Not known to be on another filesystem than the data: a copy of that may bring both back.
    Beside,
    /// On another filesystem than the data.
    Apart,
    /// Beside a database whose files have an unknown place.
    Unknown,
}
