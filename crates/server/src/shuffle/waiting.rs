//! Reports that wait for a batch, and up to where they are in batches.
//!
//! A batch holds reports that are sealed to one key, that of the server at present. Reports that wait under an earlier key of the server cannot be opened by it: they
//! are passed over, and given up when a batch of later reports is committed. So is a row that is damaged.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

use crate::{
    Error, Result,
    sealed::KeyId,
    store::{GenerationId, Place, Store, StoredEvent},
};

/// Rows that are read at once.
pub(super) const ROWS: usize = 4096;

const VERSION: u8 = 1;

/// Record that is committed with a batch.
#[derive(Serialize, Deserialize)]
pub(super) struct Saved {
    version: u8,
    consumed: Place,
}

impl Saved {
    pub(super) fn write(consumed: Place) -> Result<Vec<u8>> {
        postcard::to_stdvec(&Saved { version: VERSION, consumed }).map_err(Error::store)
    }

    pub(super) fn read(bytes: &[u8]) -> Result<Place> {
        match postcard::from_bytes::<Saved>(bytes) {
            Ok(saved) if saved.version == VERSION => Ok(saved.consumed),
            _ => Err(Error::store("the state of a shuffler is damaged: restore another copy")),
        }
    }
}

/// A report that waits.
#[derive(Serialize, Deserialize)]
pub(super) struct Waiting {
    version: u8,
    /// A keyed hash of the sender's address, for the cap; it is never sent.
    pub sender: [u8; 16],
    pub id: [u8; 16],
    /// The key that it was sealed to.
    pub key_id: KeyId,
    /// The sealed report, or its numbers where the shuffler sums.
    pub contents: Vec<u8>,
}

impl Waiting {
    pub(super) fn new(sender: [u8; 16], id: [u8; 16], key_id: KeyId, contents: Vec<u8>) -> Self {
        Waiting { version: VERSION, sender, id, key_id, contents }
    }

    pub(super) fn write(&self) -> Result<Vec<u8>> {
        postcard::to_stdvec(self).map_err(Error::store)
    }

    /// True if a row marks sealed bytes, and is no report itself.
    fn is_mark(row: &StoredEvent) -> bool {
        row.raw.is_empty() && !row.is_unreadable()
    }

    /// The report of a row; none if it is damaged.
    fn read(row: &StoredEvent) -> Option<Self> {
        let waiting = postcard::from_bytes::<Waiting>(&row.raw).ok();
        waiting.filter(|waiting| waiting.version == VERSION)
    }
}

/// Counts of waiting reports.
#[derive(Default)]
pub(super) struct Counted {
    /// Ids of the reports that the next batch may hold.
    pub ids: HashSet<[u8; 16]>,
    /// Number of them by sender.
    pub senders: HashMap<[u8; 16], u64>,
    /// Rows under another key, and damaged ones.
    pub others: u64,
}

/// Reports that wait after this place, under this key; none stands for every key.
pub(super) async fn count(
    store: &dyn Store,
    generation: GenerationId,
    after: Place,
    key_id: Option<KeyId>,
) -> Result<Counted> {
    let mut counted = Counted::default();
    let mut rows = Rows { store, generation, after };
    while let Some(page) = rows.next().await? {
        for (_, row) in page.iter().filter(|(_, row)| !Waiting::is_mark(row)) {
            match Waiting::read(row).filter(|report| key_id.is_none_or(|id| id == report.key_id)) {
                Some(report) => {
                    counted.ids.insert(report.id);
                    *counted.senders.entry(report.sender).or_default() += 1;
                }
                None => counted.others += 1,
            }
        }
    }
    Ok(counted)
}

/// The members of a batch in the order in which they came.
pub(super) struct Picked {
    pub reports: Vec<Waiting>,
    /// The place of the last of them.
    pub last: Place,
    /// Rows before it that no batch will hold.
    pub passed_over: u64,
}

/// The first reports after this place that are sealed to this key; none if they are fewer than a batch has. Without a key all are taken.
pub(super) async fn pick(
    store: &dyn Store,
    generation: GenerationId,
    after: Place,
    key_id: Option<KeyId>,
    size: u64,
) -> Result<Option<Picked>> {
    let mut picked = Picked { reports: Vec::new(), last: after, passed_over: 0 };
    let mut rows = Rows { store, generation, after };
    while let Some(page) = rows.next().await? {
        for (place, row) in page.iter().filter(|(_, row)| !Waiting::is_mark(row)) {
            match Waiting::read(row).filter(|report| key_id.is_none_or(|id| id == report.key_id)) {
                Some(report) => picked.reports.push(report),
                None => picked.passed_over += 1,
            }
            if picked.reports.len() as u64 == size {
                picked.last = *place;
                return Ok(Some(picked));
            }
        }
    }
    Ok(None)
}

/// Rows in pages.
struct Rows<'a> {
    store: &'a dyn Store,
    generation: GenerationId,
    after: Place,
}

impl Rows<'_> {
    async fn next(&mut self) -> Result<Option<Vec<(Place, StoredEvent)>>> {
        let page = self.store.kept_events(self.generation, self.after, ROWS).await?;
        let Some((last, _)) = page.last() else { return Ok(None) };
        self.after = *last;
        Ok(Some(page))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::row::golden;

    #[test]
    fn what_a_shuffler_keeps_has_golden_bytes() {
        let place = Place { slot: 1_700_000, number: 300 };
        let saved = Saved::write(place).unwrap();
        assert_eq!(Saved::read(&golden::file("shuffler", VERSION, &saved)).unwrap(), place);
        let waiting = Waiting::new([1; 16], [2; 16], [3; 32], b"sealed".to_vec());
        let raw = golden::file("waiting", VERSION, &waiting.write().unwrap());
        let read = Waiting::read(&StoredEvent { raw, ..StoredEvent::unreadable() }).unwrap();
        assert_eq!(read.write().unwrap(), waiting.write().unwrap());
        assert_eq!((read.sender, read.id, read.key_id), ([1; 16], [2; 16], [3; 32]));
        assert_eq!(read.contents, b"sealed");
    }
}
