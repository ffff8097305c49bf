//! Everything readable of a store.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::{
    Result,
    store::{Place, Store, StoredEvent},
};

/// Rows that were read, by a name of each.
#[derive(PartialEq)]
pub(crate) struct Snapshot(BTreeMap<String, Vec<u8>>);

impl Snapshot {
    /// Reads everything.
    pub(crate) async fn of(store: &dyn Store) -> Result<Self> {
        let mut all = BTreeMap::new();
        let mut note = |name: String, bytes: Vec<u8>| drop(all.insert(name, bytes));
        note("keys".into(), bytes(&store.keys().await?));
        note("erased".into(), bytes(&store.erased().await?));
        for name in ["a", "b", "floor"] {
            note(format!("setting {name}"), bytes(&store.setting(name.into()).await?));
        }
        let generations = store.generations().await?;
        note("lives".into(), bytes(&generations));
        for generation in generations.iter().map(|generation| generation.id) {
            note(format!("head {generation}"), bytes(&store.head(generation).await?));
            // Numbers may have gaps: their order is that of the list.
            let events = |found: Vec<(Place, StoredEvent)>| {
                let found = found.into_iter().map(|(place, event)| (place.slot, event));
                bytes(&found.collect::<Vec<_>>())
            };
            let kept = store.kept_events(generation, Place::default(), 10_000).await?;
            note(format!("kept {generation}"), events(kept));
            let closed =
                store.closed_events(generation, Place::default(), u64::MAX, 10_000).await?;
            note(format!("closed {generation}"), events(closed));
            note(
                format!("releases {generation}"),
                bytes(&store.releases(generation, 0, 10_000).await?),
            );
            note(format!("open {generation}"), bytes(&store.open_events(generation).await?));
            for (period, most) in (0..3).flat_map(|period| (1..5).map(move |most| (period, most))) {
                let count = store.ledger(generation, period, most).await?;
                note(
                    format!("ledger {generation} {period} {most}"),
                    bytes(&(count.people, count.used_up)),
                );
            }
        }
        Ok(Snapshot(all))
    }

    /// Names of what differs.
    pub(crate) fn differences(&self, other: &Self) -> Vec<String> {
        let names = self.0.keys().chain(other.0.keys());
        names.filter(|name| self.0.get(*name) != other.0.get(*name)).cloned().collect()
    }
}

/// Bytes that are equal if and only if the values are.
pub(crate) fn bytes(value: &impl Serialize) -> Vec<u8> {
    postcard::to_allocvec(value).expect("test values can be written")
}
