//! What is kept. Every record is written with a version in front (`row`), and one of another version is refused.
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

/// The number of a life: one generation of one loop.
pub type LifeId = u32;

/// Idempotency keys that one event takes, and remembers as long as rewards change it. Rewards under further ones change nothing: were an older key forgotten for
/// them, its repetition would count a second time.
pub const MOST_REWARD_KEYS: usize = 1024;

/// The request that stands in place of that of an erased person: no request has this hash.
pub const ERASED_REQUEST: Digest = [0; 32];

/// Whole releases that one transaction turns into hashes, at most: each is read for it, and may be large.
pub const MOST_COMPACTED: usize = 64;

/// Earlier keys of the people's hashes whose counts add up, at most.
pub const MOST_EARLIER_KEYS: usize = 8;

/// Where an event stands: its slot, and its number. Numbers of a life grow in the order in which its events are added; they may have gaps.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
pub struct Place {
    /// The slot.
    pub slot: u64,
    /// Its number, at least 1.
    pub number: u64,
}

/// What an event may charge to the ledger.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Charge {
    /// Who asked.
    pub person: PersonHash,
    /// Other hashes of the same person, under earlier keys, whose counts add up.
    pub earlier: [Option<PersonHash>; MOST_EARLIER_KEYS],
    /// The period of the rank, 0 for ever.
    pub period: u64,
    /// Visits that are learnt from in a period, at most.
    pub most: u32,
}

/// Who pays for an event.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Payer {
    /// Nobody: the unit is a decision, and every event is learnt from.
    Decision,
    /// A person, as long as their visits last.
    Person(Charge),
    /// Nobody can be charged, so that nothing is learnt.
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
    /// Its life.
    pub life: LifeId,
    /// The keyed hash of its id.
    pub event: EventHash,
    /// The keyed hash of its request and of the caller's key, to tell a repetition from another request.
    pub request: Digest,
    /// The answer as it will be sent, or sent again.
    pub answer: Vec<u8>,
    /// Who asked, whoever pays: for erasure.
    pub person: Option<PersonHash>,
    /// Who pays.
    pub payer: Payer,
    /// The slot in which its window ends.
    pub slot: u64,
    /// When it was asked for.
    pub time: Time,
    /// Whether it counts only when it has been shown.
    pub deferred: bool,
    /// Features of the action, as they are contributed.
    pub features: Vec<f64>,
    /// The request and the decision as they are exported, if the loop retains them.
    pub raw: Vec<u8>,
}

/// An event as it is kept.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredEvent {
    /// The keyed hash of its id.
    pub event: EventHash,
    /// Who asked, for erasure.
    pub person: Option<PersonHash>,
    /// When it was asked for.
    pub time: Time,
    /// Whether the ledger granted it: else it contributes nothing.
    pub learnt: bool,
    /// Whether it counts: not before it is activated, if it was deferred.
    pub active: bool,
    /// The sum of its rewards in units of 2^-32, if one came.
    pub reward: Option<i64>,
    /// Hashes of the idempotency keys of its rewards, [`MOST_REWARD_KEYS`] at most.
    pub reward_keys: Vec<u64>,
    /// Features of the action.
    pub features: Vec<f64>,
    /// What is exported.
    pub raw: Vec<u8>,
}

impl StoredEvent {
    /// Whether this stands for a row that cannot be read.
    pub fn is_unreadable(&self) -> bool {
        *self == Self::unreadable()
    }

    /// What stands for a row that cannot be read: it has no features, so that it contributes zeros and is counted as a fault.
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

/// What became of a rank.
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
    /// The life of the event.
    pub life: LifeId,
    /// The keyed hash of its id.
    pub event: EventHash,
    /// In units of 2^-32, unclipped.
    pub units: i64,
    /// The hash of an idempotency key.
    pub key: Option<u64>,
    /// Whether rewards add up; else the first one counts.
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

/// What became of a reward or an activation.
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

/// Where a life stands.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Head {
    /// The number of the last release, 0 before the first.
    pub number: u64,
    /// The hash of the chain up to it.
    pub chain: Digest,
    /// Who may release.
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
    /// The life.
    pub life: LifeId,
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
    /// What the chain of releases says about it, under the new number.
    pub link: Option<ReleaseRecord>,
    /// What was charged before and is charged by it: where more has been charged by now, nothing happens.
    pub charge: Option<Raise>,
}

/// A floor that has been read, and what it is raised to.
#[derive(Clone)]
pub struct Raise {
    /// Its name.
    pub name: String,
    /// What it was.
    pub from: u64,
    /// What it becomes.
    pub to: u64,
}

impl Head {
    /// What tells this head from others.
    pub fn key(&self) -> (u64, Digest, u64) {
        (self.number, self.chain, self.epoch)
    }
}

/// What became of a step.
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
    /// When it was made.
    pub time: Time,
    /// SHA-256 of `release`.
    pub hash: Digest,
    /// SHA-256 of the chain before it and of `hash`.
    pub chain: Digest,
    /// The release as it travels; empty when only the hash is kept.
    pub release: Vec<u8>,
}

/// A life to begin.
#[derive(Clone)]
pub struct NewLife {
    /// The loop.
    pub name: String,
    /// The hash of everything that a generation is: features, privacy, reward, forgetting.
    pub generation: u64,
    /// The loop's parameters, as JSON.
    pub params: Vec<u8>,
    /// The learner's first state.
    pub state: Vec<u8>,
    /// What it costs one person, as JSON of the accountant's event.
    pub event: Vec<u8>,
    /// The first slot that may be closed is the one after this.
    pub closed: u64,
    /// When.
    pub time: Time,
    /// The life whose ledger goes on: persons are counted over both. None for a ledger of its own, which it has too if that life is not the present one any more.
    pub counts_with: Option<LifeId>,
}

impl NewLife {
    /// The life that began the ledger of this one, which gets this number and follows the present life.
    pub fn ledger(&self, id: LifeId, present: Option<&Life>) -> LifeId {
        let shared = present.filter(|present| self.counts_with == Some(present.id));
        shared.map_or(id, |present| present.ledger)
    }
}

/// A generation of a loop.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Life {
    /// Its number.
    pub id: LifeId,
    /// The loop.
    pub name: String,
    /// The hash of everything that it is.
    pub generation: u64,
    /// The loop's parameters, as JSON.
    pub params: Vec<u8>,
    /// What it costs one person, as JSON of the accountant's event.
    pub event: Vec<u8>,
    /// When it began.
    pub began: Time,
    /// When the next one of the loop began.
    pub ended: Option<Time>,
    /// The life that began the ledger in which its persons are counted: its own number, or that of an earlier generation of the loop.
    pub ledger: LifeId,
}

/// Version 1 of [`Life`], whose ledger was its own. One that held for ever was copied from the life before, but nothing says so: what these lives cost adds up.
#[derive(Clone, Serialize, Deserialize)]
pub struct FirstLife {
    id: LifeId,
    name: String,
    generation: u64,
    params: Vec<u8>,
    event: Vec<u8>,
    began: Time,
    ended: Option<Time>,
}

impl From<FirstLife> for Life {
    fn from(first: FirstLife) -> Self {
        let FirstLife { id, name, generation, params, event, began, ended } = first;
        Life { id, name, generation, params, event, began, ended, ledger: id }
    }
}

/// What to remove. Rows and ids of slots that are not closed are never removed.
#[derive(Debug, Clone, Copy)]
pub struct Collect {
    /// Rows of slots up to this one.
    pub slot: u64,
    /// Whether closed rows that are in no release go too, because nothing will be learnt any more.
    pub unreleased: bool,
    /// Of these, rows of events asked for before this.
    pub before: Time,
    /// Event ids of slots up to this one.
    pub forget_ids: u64,
    /// Whole releases below this number.
    pub first_release: u64,
    /// Rows, ids and releases in one transaction, at most this many of each, and of releases [`MOST_COMPACTED`].
    pub limit: usize,
}

/// What was erased.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Erased {
    /// Rows that are gone.
    pub rows: u64,
}

/// How many people of a period have used up their visits.
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
    /// What it may be used for.
    pub roles: Vec<String>,
    /// When it was made.
    pub made: Time,
    /// When it was revoked.
    pub revoked: Option<Time>,
}

/// Where a witness is, beside what it watches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WitnessPlace {
    /// Not known to be on another filesystem than the data: a copy of that may bring both back.
    Beside,
    /// On another filesystem than the data.
    Apart,
    /// Beside a database, of whose files nothing tells where they are.
    Unknown,
}
