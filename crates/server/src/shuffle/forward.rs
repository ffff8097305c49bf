//! Batches are made, committed and sent.
//!
//! ```text
//! learn the last model -> compare the number of batches with the server's -> send what is under way -> commit the next batch -> send it
//! ```
//!
//! The process may die between any two of these. A batch that is committed is sent by the next process as the same bytes; if the server had it, it says so.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use reticent::{
    bandit::permute,
    noise::{Noise, SecureNoise},
    wire,
};

use super::{ROWS, Saved, ShuffleLoop, Shuffler, Waiting, read_waiting};
use crate::{
    Error, Result,
    client::Body,
    sealed::{PublicKey, SealedBatch},
    secret::digest,
    store::{Collect, Committed, Head, Place, ReleaseRecord, Step, StoredEvent},
};

/// Time between two looks at a loop, and after a failure.
const PAUSE: Duration = Duration::from_millis(500);
const PAUSE_AFTER_FAILURE: Duration = Duration::from_secs(5);

/// The sender of a report, and its id.
type Member = ([u8; 16], [u8; 16]);

/// What was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forwarded {
    /// Too few reports wait for a batch.
    Waiting,
    /// The batch of this number has arrived.
    Sent(u64),
    /// Nothing is sent until an operator has looked.
    Halted,
}

impl Shuffler {
    /// The last model and the key of a loop, from the server the first time.
    pub(super) async fn known(&self, each: &ShuffleLoop) -> Result<(u64, PublicKey)> {
        let (model, key) = {
            let state = each.state();
            (state.model, state.key)
        };
        let key = match key {
            Some(key) => key,
            None => {
                let key = self.upstream.key(&each.plan.name).await?;
                each.state().key = Some(key);
                key
            }
        };
        match model {
            Some(model) => Ok((model, key)),
            None => Ok((self.refresh(each).await?, key)),
        }
    }

    /// Asks for the last model. A number below one that was known changes nothing.
    pub(super) async fn refresh(&self, each: &ShuffleLoop) -> Result<u64> {
        let told = self.upstream.model(&each.plan.name).await?;
        let closed = self.store.head(each.life).await?.closed;
        let model = told.max(closed);
        if model > closed {
            // First, so that no report of an older model comes into a later slot than its ids are kept for.
            self.store.close(each.life, model).await?;
        }
        each.state().model = Some(model);
        self.collect(each, model).await?;
        Ok(model)
    }

    /// Removes what is in batches that have arrived, and ids of reports whose models are no longer taken.
    async fn collect(&self, each: &ShuffleLoop, model: u64) -> Result<()> {
        let head = self.store.head(each.life).await?;
        let what = Collect {
            slot: head.folded,
            unreleased: false,
            before: u64::MAX,
            forget_ids: model.saturating_sub(each.plan.late_models),
            // The last batch may have to be sent again.
            first_release: head.number,
            limit: ROWS,
        };
        while self.store.collect(each.life, what).await? >= ROWS as u64 {
            tokio::task::yield_now().await;
        }
        Ok(())
    }

    /// One step for a loop: sends what is under way, or makes the next batch and sends it.
    pub async fn forward(&self, name: &str) -> Result<Forwarded> {
        let each = self.find(name)?;
        let _one_at_a_time = each.forwarding.lock().await;
        if each.state().halted.is_some() {
            return Ok(Forwarded::Halted);
        }
        self.recount(each).await?;
        let (_, key) = self.known(each).await?;
        let known = each.state().arrived;
        let arrived = match known {
            Some(arrived) => arrived,
            None => match self.compare(each).await? {
                Some(arrived) => arrived,
                None => return Ok(Forwarded::Halted),
            },
        };
        if !arrived {
            return self.send(each).await;
        }
        let size = each.plan.shuffled().map_or(u64::MAX, |plan| plan.params().batch);
        if each.state().waiting < size {
            return Ok(Forwarded::Waiting);
        }
        match self.make(each, size, key).await? {
            true => self.send(each).await,
            false => Ok(Forwarded::Waiting),
        }
    }

    /// Whether the last batch has arrived, as the server says. One that has later batches shows that this store is an older copy: its reports may have left
    /// already, and would leave again among others.
    async fn compare(&self, each: &ShuffleLoop) -> Result<Option<bool>> {
        let head = self.store.head(each.life).await?;
        let own = head.number;
        if own != each.state().batches {
            // A commit whose answer was lost.
            let mut state = each.state();
            (state.batches, state.consumed) = (own, Saved::read(&head.state)?);
            state.uncertain = true;
        }
        let next = self.upstream.next_batch(&each.plan.name).await?;
        if next > own {
            each.halt(format!(
                "the server has {next} batches, and this store knows of {own}: it is an older copy, whose reports have left already. Remove it and begin with an empty one; reports that wait are lost"
            ));
            return Ok(None);
        }
        let arrived = next == own;
        each.state().arrived = Some(arrived);
        Ok(Some(arrived))
    }

    /// Sends the last batch, as the bytes that were committed.
    async fn send(&self, each: &ShuffleLoop) -> Result<Forwarded> {
        let made = each.state().batches;
        let records = self.store.releases(each.life, made, 1).await?;
        let Some(record) = records.first().filter(|record| !record.release.is_empty()) else {
            return Err(Error::store("the last batch is missing: restore another copy"));
        };
        let bytes = record.release.clone();
        let body = if each.plan.sums() { Body::Json(bytes) } else { Body::Bytes(bytes) };
        match self.upstream.send(&each.plan.name, body).await {
            Ok(()) => {
                each.state().arrived = Some(true);
                Ok(Forwarded::Sent(made - 1))
            }
            Err(Error::Conflict(_)) => {
                each.halt("the server has another batch of this number: this store is an older copy, or two shufflers serve this loop".into());
                Ok(Forwarded::Halted)
            }
            Err(error) => Err(error),
        }
    }

    /// Makes the next batch of the reports that came first: members, order and number are one transaction. False if too few wait.
    async fn make(&self, each: &ShuffleLoop, size: u64, key: PublicKey) -> Result<bool> {
        let consumed = each.state().consumed;
        let rows = self.store.kept_events(each.life, consumed, size as usize).await?;
        let Some((last, _)) = rows.last().filter(|_| rows.len() as u64 == size) else {
            each.state().uncertain = true;
            return Ok(false);
        };
        let last = *last;
        let head = each.head(self.store.as_ref()).await?;
        let mut noise = SecureNoise::from_system()?;
        let (bytes, members) = contents(each, head.number, &rows, key, &mut noise)?;
        let step = self.step(each, &head, last, bytes)?;
        // After a failure it may have happened: the head and the server are asked again.
        each.state().arrived = None;
        match self.store.release(step).await? {
            Committed::Yes => {
                let mut state = each.state();
                (state.batches, state.consumed) = (head.number + 1, last);
                state.arrived = Some(false);
                for (sender, id) in members {
                    state.remove(sender);
                    state.ids.remove(&id);
                }
                Ok(true)
            }
            Committed::No(found) => {
                let (epoch, number) = (found.epoch, found.number);
                each.halt(format!("another process shuffles this loop (epoch {epoch}, batch {number}): stop one of them"));
                Ok(false)
            }
        }
    }

    fn step(&self, each: &ShuffleLoop, head: &Head, last: Place, bytes: Vec<u8>) -> Result<Step> {
        let number = head.number + 1;
        let hash = digest(&[&bytes]);
        let chain = digest(&[b"release", &head.chain, &number.to_le_bytes(), &hash]);
        // Rows of slots before that of the last member are all in batches.
        let folded = last.slot.saturating_sub(1).min(head.closed).max(head.folded);
        let release = ReleaseRecord { number, time: 0, hash, chain, release: bytes };
        let state = Saved::write(last)?;
        Ok(Step { life: each.life, epoch: each.epoch, state, folded, release })
    }

    /// Reads again how many reports wait, after a failure that leaves it open.
    async fn recount(&self, each: &ShuffleLoop) -> Result<()> {
        if !each.state().uncertain {
            return Ok(());
        }
        let _nobody_stores = each.storing.write().await;
        let consumed = each.state().consumed;
        let (ids, senders) = read_waiting(self.store.as_ref(), each.life, consumed).await?;
        let mut state = each.state();
        (state.waiting, state.senders, state.ids) = (ids.len() as u64, senders, ids);
        state.uncertain = false;
        Ok(())
    }

    /// Forwards batches of a loop and follows its models until the shuffler stops.
    pub async fn keep_forwarding(self: Arc<Self>, name: String) {
        let mut rounds: u64 = 0;
        while !self.stopping.load(Ordering::SeqCst) {
            let Ok(each) = self.find(&name) else { return };
            rounds += 1;
            // Models come by the clock: every tenth look is enough.
            let followed = match rounds % 10 {
                1 => self.refresh(each).await.map(drop),
                _ => Ok(()),
            };
            let done = match followed {
                Ok(()) => self.forward(&name).await,
                Err(error) => Err(error),
            };
            let pause = match done {
                Ok(Forwarded::Sent(_)) => Duration::ZERO,
                Ok(_) => PAUSE,
                Err(error) => {
                    tracing::warn!(r#loop = %name, "no batch was sent: {error}");
                    PAUSE_AFTER_FAILURE
                }
            };
            tokio::time::sleep(pause).await;
        }
    }
}

/// The batch of these rows as it will be sent, in an order of this randomness, with senders and ids of its members.
pub(super) fn contents<N: Noise>(
    each: &ShuffleLoop,
    number: u64,
    rows: &[(Place, StoredEvent)],
    key: PublicKey,
    noise: &mut N,
) -> Result<(Vec<u8>, Vec<Member>)> {
    let waiting = rows.iter().map(|(_, row)| Waiting::read(&row.raw));
    let mut waiting = waiting.collect::<Result<Vec<Waiting>>>()?;
    let members = waiting.iter().map(|report| (report.sender, report.id)).collect();
    let bytes = match each.plan.shuffled().filter(|_| each.plan.sums()) {
        Some(plan) => {
            let values = |report: &Waiting| {
                report
                    .contents
                    .as_chunks::<8>()
                    .0
                    .iter()
                    .map(|bytes| f64::from_le_bytes(*bytes))
                    .collect()
            };
            let reports = waiting.iter().map(values).collect();
            wire::to_json(&plan.batch(number, reports, noise)?).into_bytes()
        }
        None => {
            permute(&mut waiting, noise);
            let reports = waiting.into_iter().map(|report| (report.id, report.contents)).collect();
            SealedBatch { number, key_id: key.id(), reports }.bytes(&each.subject)
        }
    };
    Ok((bytes, members))
}
