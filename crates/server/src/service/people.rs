//! The keys of the people's hashes, and which of them a store needs.
//!
//! Visits are counted under the hash of a person. Under another key every count would begin again at zero, so that the store remembers which keys it
//! was served with and since when: a value of 16 bytes each, from which no key can be found. A key that was used and is not given any more is *missing* as long
//! as something under it counts: then people are answered, and no person is charged. Loops that count visits learn nothing then; the others, which protect one
//! decision and charge no person at any time, go on learning.
//!
//! Counts under all given keys add up. A key is outlived when the last period in which it was used has ended in every loop, and the rows under it
//! are gone, which could not be found for an erasure without it. Counts for ever are never outlived. Whether rows are gone is read from the store: how long
//! they stand depends on every `retain` that the loop has had and on how long it was halted. While keys are missing rows stand under the present key all the
//! same, so that it is noted as one that charges no person: a key that was lost is outlived some time, and a foreign one is needed until its rows are gone.

use std::sync::atomic::{AtomicBool, Ordering};

use super::time::{BEHIND, STEP};
use crate::{
    Error, Result,
    clock::Time,
    config::{LoopParams, Period, Trust},
    secret::{CheckValue, Secret, hex},
    store::{MOST_EARLIER_KEYS, PersonHash, Place, Store},
};

/// The keys of a service.
pub(super) struct People {
    current: Secret,
    earlier: Vec<Secret>,
    /// Keys that the store needs and that were not given.
    missing: Vec<CheckValue>,
    /// The next line of the log, which another process may write.
    next: String,
    /// True if it has.
    superseded: AtomicBool,
}

/// Time from which a key was the current one.
struct Use {
    check: CheckValue,
    since: Time,
    /// True if visits were counted under it. While keys are missing only rows stand under it.
    charges: bool,
}

/// The trouble of a process that does not know the present keys any more.
const SUPERSEDED: &str = "another process has begun with other keys of the people's hashes";

/// Its remedy.
const ONE_FILE: &str =
    "Stop all processes, give all of them the same file of --people-key, and start them again";

/// End of a line of the log that charges no person.
const CHARGES_NOBODY: u8 = 0;

/// Value in earlier logs for a key that charges no person.
const UNNAMED: CheckValue = [0; 16];

impl People {
    /// Compares the keys with those that the store was served with, and notes a new one.
    pub(super) async fn open(
        store: &dyn Store,
        current: Secret,
        earlier: Vec<Secret>,
        now: Time,
    ) -> Result<Self> {
        if earlier.len() > MOST_EARLIER_KEYS {
            let remedy =
                format!("expected at most {MOST_EARLIER_KEYS}; leave out those that are outlived");
            return Err(Error::invalid("earlier keys", earlier.len(), remedy));
        }
        let check = current.check_value();
        store.keep_setting(name_of(1), check.to_vec()).await?;
        let log = log(store).await?;
        let given: Vec<CheckValue> =
            earlier.iter().map(Secret::check_value).chain([check]).collect();
        let mut missing = needed(store, &log, now).await?;
        missing.retain(|check| !given.contains(check));
        let charges = missing.is_empty();
        let mut lines = log.len();
        if log.last().is_none_or(|last| (last.check, last.charges) != (check, charges)) {
            let mut row = [&check[..], &now.to_le_bytes()].concat();
            row.extend((!charges).then_some(CHARGES_NOBODY));
            lines += 1;
            let kept = store.keep_setting(name_of(lines), row.clone()).await?;
            if kept != row {
                return Err(Error::Unavailable("another process uses another key: stop it".into()));
            }
        }
        let next = name_of(lines + 1);
        store.charge_until(next.clone());
        Ok(People { current, earlier, missing, next, superseded: AtomicBool::new(false) })
    }

    /// Looks whether another process uses keys that this one was not given, or lacks some: then people are answered, and no person is charged here.
    pub(super) async fn follow(&self, store: &dyn Store) -> Result<()> {
        if store.setting(self.next.clone()).await?.is_some()
            && !self.superseded.swap(true, Ordering::SeqCst)
        {
            tracing::error!("{SUPERSEDED}: no person is charged here any more. {ONE_FILE}");
        }
        Ok(())
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

    /// True if counts under all keys are known, so that people may be charged.
    pub(super) fn are_known(&self) -> bool {
        self.missing.is_empty() && !self.superseded.load(Ordering::SeqCst)
    }

    /// Missing keys in words, and their effect on loops: `counting` are those that count visits, of `loops` in all.
    pub(super) fn trouble(&self, counting: &[&str], loops: usize) -> Option<String> {
        if self.are_known() {
            return None;
        }
        let names: Vec<String> = self.missing.iter().map(|check| hex(&check[..4])).collect();
        // Where one decision is protected no person is counted, so that nothing is lost with a key but erasures.
        let learnt = match counting.len() {
            0 => "people are answered, and every loop goes on learning, since none counts visits"
                .into(),
            number if number == loops => "people are answered, and nothing is learnt".to_string(),
            _ => format!(
                "people are answered, and nothing is learnt in the loops that count visits ({}); the others go on learning",
                counting.join(", ")
            ),
        };
        if self.missing.is_empty() {
            return Some(format!("{SUPERSEDED}: {learnt}. {ONE_FILE}"));
        }
        Some(format!(
            "keys of the people's hashes that this store was served with are missing (check values {}): {learnt}; an erasure does not find what stands \
             under them. Give the old keys too, one a line after the present one in the file of --people-key",
            names.join(", ")
        ))
    }
}

/// The setting that tells the first key of the people's hashes of a store.
pub(crate) const PEOPLE_CHECK: &str = "people check";

/// The name of a line of the log, from 1. The first one has the name that stores without rotation gave it.
fn name_of(line: usize) -> String {
    match line {
        1 => PEOPLE_CHECK.into(),
        line => format!("people key {line}"),
    }
}

/// The keys that a store was served with, in their order.
async fn log(store: &dyn Store) -> Result<Vec<Use>> {
    let mut log = Vec::new();
    while let Some(row) = store.setting(name_of(log.len() + 1)).await? {
        let damaged = || Error::store("the check value of a key is damaged: restore another copy");
        let (check, rest) = row.split_at_checked(16).ok_or_else(damaged)?;
        let check: CheckValue = check.try_into().map_err(|_| damaged())?;
        let (since, named) = match rest.split_first_chunk() {
            Some((since, [])) => (*since, true),
            Some((since, [CHARGES_NOBODY])) => (*since, false),
            None if rest.is_empty() => ([0; 8], true),
            _ => return Err(damaged()),
        };
        let since = Time::from_le_bytes(since);
        log.push(Use { check, since, charges: named && check != UNNAMED });
    }
    Ok(log)
}

/// Check values of the keys under which something still counts.
async fn needed(store: &dyn Store, log: &[Use], now: Time) -> Result<Vec<CheckValue>> {
    let mut generations = Vec::new();
    for generation in store.generations().await? {
        let params: LoopParams =
            serde_json::from_slice(&generation.params).map_err(Error::store)?;
        if params.trust != Trust::Curator {
            // Devices count their own reports, and name no person.
            continue;
        }
        // Slots follow the clock, so that the first row is one of the oldest.
        let first = store.kept_events(generation.id, Place::default(), 1).await?;
        let first_row = first.first().map(|(_, event)| event.time);
        generations.push(Counting { params, ended: generation.ended.is_some(), first_row });
    }
    let mut needed: Vec<CheckValue> = Vec::new();
    for (index, Use { check, charges, .. }) in log.iter().enumerate() {
        // The last one is in use until now.
        let until = log.get(index + 1).map_or(now, |next| next.since);
        let counts = |generation: &Counting| {
            generation.has_rows(until) || *charges && generation.counts(until, now)
        };
        if !needed.contains(check) && generations.iter().any(counts) {
            needed.push(*check);
        }
    }
    Ok(needed)
}

/// Counts and rows that may stand under keys in a generation.
struct Counting {
    params: LoopParams,
    ended: bool,
    /// The time of its first row.
    first_row: Option<Time>,
}

impl Counting {
    /// Milliseconds by which the last use of a key may be later than the next key's first use: the next process may have begun under a clock
    /// that was believed and behind.
    fn margin(&self) -> u64 {
        (BEHIND + STEP).saturating_add(self.params.tick_milliseconds().saturating_mul(2))
    }

    /// True if visits count under a key that was used until then.
    fn counts(&self, until: Time, now: Time) -> bool {
        let last = until.saturating_add(self.margin());
        let in_period = match self.params.privacy.per {
            Some(Period::Ever) => true,
            Some(Period::Each(span)) => {
                now / span.as_milliseconds() <= last / span.as_milliseconds()
            }
            None => false,
        };
        !self.ended && self.params.privacy.visits.is_some() && in_period
    }

    /// True if rows may stand under a key that was used until then. Any row counts, also one without a person, so that the result depends on when people came and on nothing else.
    fn has_rows(&self, until: Time) -> bool {
        // Twice: a clock that was set back has put older rows behind the first one, too.
        let last = until.saturating_add(self.margin().saturating_mul(2));
        self.first_row.is_some_and(|first| first <= last)
    }
}

/// True if the last process on this store was let in with this key although it lacked others: the next one with the same key changes nothing.
pub(crate) async fn is_known_to_lack_keys(store: &dyn Store, current: CheckValue) -> Result<bool> {
    let log = log(store).await?;
    Ok(log.last().is_some_and(|last| last.check == current && !last.charges))
}

/// Check values of the keys that a service on this store must be given, for those who leave keys out. A service that runs may use the last one at any moment.
pub(crate) async fn needed_keys(store: &dyn Store, now: Time) -> Result<Vec<CheckValue>> {
    let log = log(store).await?;
    let mut needed = needed(store, &log, now).await?;
    needed.extend(log.last().map(|last| last.check).filter(|last| !needed.contains(last)));
    Ok(needed)
}
