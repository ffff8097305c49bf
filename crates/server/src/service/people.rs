//! The keys of the people's hashes, and which of them a store needs.
//!
//! Visits are counted under the hash of a person. Under another key every count would begin again at zero, so that the store remembers which keys it
//! was served with and since when: a value of 16 bytes each, from which no key can be found. A key that was used and is not given any more is *missing* as long
//! as something under it counts: then people are answered, and nothing is learnt from them.
//!
//! Counts under all given keys add up. A key is outlived when the last period in which it was used has ended in every loop, and the rows under it
//! are gone, which could not be found for an erasure without it. Counts for ever are never outlived. While keys are missing nobody is charged, which is
//! noted too, so that a key that was lost is outlived some time.

use crate::{
    Error, Result,
    clock::Time,
    config::{LoopParams, Period},
    secret::{CheckValue, Secret, hex},
    store::{MOST_EARLIER_KEYS, PersonHash, Store},
};

/// The keys of a service.
pub(super) struct People {
    current: Secret,
    earlier: Vec<Secret>,
    /// Keys that the store needs and that were not given.
    missing: Vec<CheckValue>,
}

/// Stands in the log where nobody could be charged.
const NOBODY: CheckValue = [0; 16];

/// From when on a key was the current one.
struct Use {
    check: CheckValue,
    since: Time,
}

impl People {
    /// Compares the keys with those that the store was served with, and notes a new one if nothing is missing.
    pub(super) async fn open(
        store: &dyn Store,
        current: Secret,
        earlier: Vec<Secret>,
        now: Time,
    ) -> Result<Self> {
        if earlier.len() > MOST_EARLIER_KEYS {
            let remedy =
                format!("give at most {MOST_EARLIER_KEYS}: leave out those that are outlived");
            return Err(Error::invalid("earlier keys", earlier.len(), remedy));
        }
        let check = current.check_value();
        store.keep_setting(name_of(1), check.to_vec()).await?;
        let log = log(store).await?;
        let given: Vec<CheckValue> =
            earlier.iter().map(Secret::check_value).chain([check]).collect();
        let mut missing = needed(store, &log, now).await?;
        missing.retain(|check| !given.contains(check));
        let charged = if missing.is_empty() { check } else { NOBODY };
        if log.last().is_none_or(|last| last.check != charged) {
            let row = [&charged[..], &now.to_le_bytes()].concat();
            let kept = store.keep_setting(name_of(log.len() + 1), row.clone()).await?;
            if kept != row {
                return Err(Error::Unavailable("another process uses another key: stop it".into()));
            }
        }
        Ok(People { current, earlier, missing })
    }

    /// The hash that a person is counted under from now on.
    pub(super) fn hash(&self, person: &str) -> PersonHash {
        self.current.person(person)
    }

    /// The hashes under earlier keys.
    pub(super) fn earlier(&self, person: &str) -> [Option<PersonHash>; MOST_EARLIER_KEYS] {
        let mut hashes = [None; MOST_EARLIER_KEYS];
        for (hash, key) in hashes.iter_mut().zip(&self.earlier) {
            *hash = Some(key.person(person));
        }
        hashes
    }

    /// All hashes of a person.
    pub(super) fn hashes(&self, person: &str) -> Vec<PersonHash> {
        let keys = std::iter::once(&self.current).chain(&self.earlier);
        keys.map(|key| key.person(person)).collect()
    }

    /// Whether counts under all keys are known, so that people may be charged.
    pub(super) fn are_known(&self) -> bool {
        self.missing.is_empty()
    }

    /// What is missing, in words.
    pub(super) fn trouble(&self) -> Option<String> {
        if self.missing.is_empty() {
            return None;
        }
        let names: Vec<String> = self.missing.iter().map(|check| hex(&check[..4])).collect();
        Some(format!(
            "keys of the people's hashes that this store was served with are missing (check values {}): people are answered, and nothing is \
             learnt from them; give the old keys too, one a line after the present one in the file of --people-key",
            names.join(", ")
        ))
    }
}

/// The name of a line of the log, from 1. The first one has the name that stores without rotation gave it.
fn name_of(line: usize) -> String {
    match line {
        1 => "people check".into(),
        line => format!("people key {line}"),
    }
}

/// The keys that a store was served with, in their order.
async fn log(store: &dyn Store) -> Result<Vec<Use>> {
    let mut log = Vec::new();
    while let Some(row) = store.setting(name_of(log.len() + 1)).await? {
        let damaged = || Error::store("the check value of a key is damaged: restore another copy");
        let (check, since) = row.split_at_checked(16).ok_or_else(damaged)?;
        let since = match since {
            [] => 0,
            since => Time::from_le_bytes(since.try_into().map_err(|_| damaged())?),
        };
        log.push(Use { check: check.try_into().map_err(|_| damaged())?, since });
    }
    Ok(log)
}

/// Check values of the keys under which something still counts.
async fn needed(store: &dyn Store, log: &[Use], now: Time) -> Result<Vec<CheckValue>> {
    let mut lives = Vec::new();
    for life in store.lives().await? {
        let params: LoopParams = serde_json::from_slice(&life.params).map_err(Error::store)?;
        lives.push((params, life.ended.is_some()));
    }
    let mut needed: Vec<CheckValue> = Vec::new();
    for (index, Use { check, .. }) in log.iter().enumerate() {
        // The last one is in use until now.
        let until = log.get(index + 1).map_or(now, |next| next.since);
        let counts = lives.iter().any(|(params, ended)| counts(params, *ended, until, now));
        if counts && *check != NOBODY && !needed.contains(check) {
            needed.push(*check);
        }
    }
    Ok(needed)
}

/// Whether something counts in a life that stands under a key which was used until then.
fn counts(params: &LoopParams, ended: bool, until: Time, now: Time) -> bool {
    let rows = params
        .retain
        .map_or(0, |retain| retain.as_milliseconds())
        .saturating_add(params.reward.window.as_milliseconds())
        .saturating_add(params.tick_milliseconds().saturating_mul(2));
    let charged = !ended && params.privacy.visits.is_some();
    let visits = match params.privacy.per {
        Some(Period::Ever) => true,
        Some(Period::Each(span)) => now / span.as_milliseconds() <= until / span.as_milliseconds(),
        None => false,
    };
    (charged && visits) || now < until.saturating_add(rows)
}

/// Check values of the keys that a service on this store must be given, for those who leave keys out.
pub(crate) async fn needed_keys(store: &dyn Store, now: Time) -> Result<Vec<CheckValue>> {
    needed(store, &log(store).await?, now).await
}
