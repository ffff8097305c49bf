//! Batches of a shuffler are taken, each once: opened in a thread of their own, and committed under their numbers before they are acknowledged.

use std::sync::{Arc, atomic::Ordering};

use reticent::{
    bandit::{Batch, ShufflePlan},
    wire,
};
use zeroize::Zeroize;

use super::{Reports, Taken, row::Row};
use crate::{
    Error, Result,
    sealed::{SealKey, SealedBatch},
    secret::{digest, hex},
    service::{
        Service,
        open::{Slots, count_added},
    },
    store::{Digest, EventHash, Ranked},
};

/// A batch that was read, as it is stored.
struct Read {
    number: u64,
    /// The hash of its bytes: it is sent again as the same.
    request: Digest,
    /// Reports in it, and those of them that cannot be counted.
    people: u64,
    refused: u64,
    row: Vec<u8>,
}

impl Service {
    /// Takes a batch as a shuffler sends it. Reports that cannot be opened or that no device makes are left out: no party could refuse them earlier.
    pub async fn take_batch(
        &self,
        loop_: &Arc<Reports>,
        body: impl AsRef<[u8]> + Send + 'static,
    ) -> Result<Taken> {
        let (taking, key) = (Arc::clone(loop_), self.seal_key.clone());
        let store = Arc::clone(&self.store);
        let taken = self.tasks.carry_out(async move {
            taking.expect_room(1)?;
            let reading = Arc::clone(&taking);
            // Opening takes too long for a thread that answers others.
            let read = move || reading.read_batch(key.as_ref(), body.as_ref());
            let Read { number, request, people, refused, row } =
                tokio::task::spawn_blocking(read).await.map_err(Error::store)??;
            let event = taking.event(name_of(number), request, row, taking.served().number);
            let inserting = store.insert_events(vec![event]);
            let note = |slots: &mut Slots, stored: &Vec<Ranked>| count_added(slots, stored.first());
            let stored = taking.insert(store.as_ref(), inserting, note).await?.pop();
            let counts = &taking.counts;
            let taken = match stored {
                Some(Ranked::Repeated { request: before, .. }) if before != request => {
                    return Err(Error::Conflict(format!(
                        "batch {number} came before with other contents: a batch is sent again as the same bytes"
                    )));
                }
                Some(Ranked::Repeated { .. }) => {
                    counts.duplicates.fetch_add(1, Ordering::Relaxed);
                    Taken::Duplicate
                }
                _ => {
                    counts.taken.fetch_add(people - refused, Ordering::Relaxed);
                    counts.refused.fetch_add(refused, Ordering::Relaxed);
                    Taken::Taken
                }
            };
            // Other processes take batches too.
            taking.follow(store.as_ref()).await?;
            taking.note_batch(number);
            Ok(taken)
        });
        let taken = taken.await;
        if let Err(error @ (Error::Invalid { .. } | Error::Conflict(_) | Error::Core(_))) = &taken {
            // It holds nothing that a person's report says.
            tracing::warn!(r#loop = %loop_.name, "a batch of the shuffler is refused: {error}");
            loop_.counts.refused_batches.fetch_add(1, Ordering::Relaxed);
        }
        taken
    }
}

/// The id of a batch in the store.
fn name_of(number: u64) -> EventHash {
    let mut name = EventHash::default();
    name.copy_from_slice(&digest(&[b"batch", &number.to_le_bytes()])[..16]);
    name
}

impl Reports {
    /// A batch of these bytes, opened if it is sealed.
    fn read_batch(&self, key: Option<&SealKey>, body: &[u8]) -> Result<Read> {
        let Some((subject, plan)) = self.sealed_form() else {
            let remedy = "this loop has no shuffler: send reports one by one";
            return Err(Error::invalid("batch", "a batch", remedy));
        };
        let (people, request) = (plan.params().batch, digest(&[body]));
        if self.plan.sums() {
            let batch = read_sum(plan, body)?;
            let number = check_number(batch.number())?;
            let row = Row::Sum(batch).encode()?;
            return Ok(Read { number, request, people, refused: 0, row });
        }
        let batch = SealedBatch::read(&subject, people, body)?;
        let Some(key) = key.filter(|key| key.public().id() == batch.key_id) else {
            let remedy = "its reports are sealed to another key: give the server its old one";
            return Err(Error::invalid("key_id", hex(&batch.key_id), remedy));
        };
        let number = check_number(batch.number)?;
        let opened = batch.reports.iter().filter_map(|(id, sealed)| subject.open(key, *id, sealed));
        let usable = opened.filter(|values| plan.check_values(values).is_ok());
        let reports: Vec<Vec<f64>> = usable.map(|values| values.to_vec()).collect();
        let refused = people - reports.len() as u64;
        let mut row = Row::Opened { number, reports };
        let bytes = row.encode();
        if let Row::Opened { reports, .. } = &mut row {
            reports.zeroize();
        }
        Ok(Read { number, request, people, refused, row: bytes? })
    }
}

/// Refuses the last number, after which there is none.
fn check_number(number: u64) -> Result<u64> {
    match number {
        u64::MAX => Err(Error::invalid(
            "number",
            number,
            "no number follows it: give the loop another name",
        )),
        number => Ok(number),
    }
}

/// A batch of which only the sum is seen.
fn read_sum(plan: &ShufflePlan, body: &[u8]) -> Result<Batch> {
    let batch: Batch = wire::from_json(body)?;
    // On a copy that has counted nothing, so that what could not be counted is not taken.
    plan.server().absorb(&batch)?;
    Ok(batch)
}
