//! Comparison of a store with the answers that its clients got, after accidents.
//!
//! | file | what it is |
//! | --- | --- |
//! | `contents` | everything that is read of a store |
//! | `check` | every event, reward and activation of the history against its row |
//! | `totals` | the ledger, the chain of releases, the exact sums |
//! | `devices` | loops whose people's devices add the noise: every report and every model of the history |
//!
//! Clients write down what they sent and what they were answered. After the last restart [`check`] compares that history with the store:
//!
//! ```text
//! history  ->  rows       every acknowledged event, reward and activation is there exactly once; what was never answered is there once or not at all
//! rows     ->  ledger     each person's first k events are learnt from, any k of them where several processes add events, and are counted
//! rows     ->  sums       contributions are integers: folded again tick by tick, they are the learner's exact sums to the last unit
//! tokens   ->  chain      every head that a client saw lies on the one chain of releases, which has each number once
//! ```
//!
//! Of a loop of devices:
//!
//! ```text
//! reports  ->  sums       every acknowledged report is in the sums that models are made of exactly once, or waits to be
//! models   ->  chain      every model that a device fetched is the one of its number on the one chain, byte for byte
//! ```
//!
//! A request that was never answered is resolved by the store: an event by its row, a reward by its idempotency key, a body by its hash.
//!
//! After an accepted rollback the history is that of the copy, with what came after it.
//!
//! **Requirements.** The loop retains its rows for longer than the history lasts and has had one generation; no person was erased. One
//! idempotency key always comes with one value, and an event has fewer than [`MOST_REWARD_KEYS`](reticent_server::store::MOST_REWARD_KEYS) of them.

mod check;
mod contents;
mod devices;
mod totals;

#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, fmt};

pub use check::check;
pub use contents::Contents;
pub use devices::{DeviceContents, DeviceHistory, ReportHistory, check_devices};

use reticent_server::{
    loops::{RankAnswer, RankRequest, RewardRequest},
    secret::Secret,
};

/// Record that a client has of one request.
#[derive(Clone)]
pub struct Attempt<Q, A> {
    /// The request.
    pub request: Q,
    /// A moment before it was sent, by a clock that all clients share and that counts up.
    pub sent: u64,
    /// A moment after the answer came, or was given up.
    pub answered: u64,
    /// The reply.
    pub reply: Reply<A>,
}

/// Outcome of a request, as far as its client knows.
#[derive(Clone, PartialEq)]
pub enum Reply<A> {
    /// It was acknowledged.
    Taken(A),
    /// It was refused with this status, below 500: it has changed nothing.
    Refused(u16),
    /// No answer came, or one that says that the service failed: it may have happened or not.
    Lost,
}

impl<Q, A> Attempt<Q, A> {
    /// The acknowledgement.
    pub fn taken(&self) -> Option<&A> {
        match &self.reply {
            Reply::Taken(answer) => Some(answer),
            _ => None,
        }
    }

    /// True if it may have changed something.
    pub fn may_count(&self) -> bool {
        !matches!(self.reply, Reply::Refused(_))
    }
}

/// Everything that clients did under one event id.
#[derive(Clone, Default)]
pub struct EventHistory {
    /// Rank requests, repetitions and other bodies included.
    pub ranks: Vec<Attempt<RankRequest, RankAnswer>>,
    /// Rewards, repetitions included.
    pub rewards: Vec<Attempt<RewardRequest, ()>>,
    /// Activations.
    pub activations: Vec<Attempt<(), ()>>,
}

/// Requests of the clients of one loop, by event id.
#[derive(Clone, Default)]
pub struct History {
    /// Events by their id.
    pub events: BTreeMap<String, EventHistory>,
}

impl History {
    /// The history of an event.
    pub fn event(&mut self, id: &str) -> &mut EventHistory {
        self.events.entry(id.to_string()).or_default()
    }

    /// Adds what other clients did.
    pub fn merge(&mut self, other: History) {
        for (id, event) in other.events {
            let own = self.event(&id);
            own.ranks.extend(event.ranks);
            own.rewards.extend(event.rewards);
            own.activations.extend(event.activations);
        }
    }
}

/// The keys under which a store knows events and people.
pub struct Keys {
    /// That of event ids.
    pub events: Secret,
    /// That of persons.
    pub people: Secret,
    /// Id of the key that the callers of a loop send, by loop; a loop whose callers are in the process has none.
    pub callers: BTreeMap<String, String>,
}

/// A condition that must hold after every accident.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Promise {
    /// An acknowledged event is there once, as it was asked for and answered; nothing else is there.
    EventOnce,
    /// An acknowledged reward or activation counts once, and one that was refused does not.
    RewardOnce,
    /// As many of a person's events are learnt from as k allows, the first ones where one process adds them, and the ledger says so.
    Ledger,
    /// There is one chain of releases, and all heads that were seen lie on it.
    OneChain,
    /// The learner's exact sums are those of the rows.
    ExactSums,
    /// An acknowledged report of a device is counted once, and no honest one is refused.
    ReportOnce,
    /// Every number has one model, which stays as it was seen.
    OneModel,
    /// The promise to people has not changed, except for rollbacks that were accepted and charged.
    Certificate,
}

/// A promise that was broken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The broken promise.
    pub promise: Promise,
    /// Description of the violation.
    pub found: String,
}

impl Violation {
    fn new(promise: Promise, found: impl Into<String>) -> Self {
        Violation { promise, found: found.into() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?}: {}", self.promise, self.found)
    }
}
