//! Batches are made, committed and sent.
//!
//! ```text
//! hear of the last model -> compare the number of batches with the server's -> send what is under way -> commit the next batch -> send it
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

use super::{
    Begun, ShuffleLoop, Shuffler, exhausted,
    waiting::{self, Picked, Saved, Waiting},
};
use crate::{
    Error, Result,
    client::Body,
    sealed::{KeyId, PublicKey, SealedBatch},
    secret::digest,
    store::{Committed, Head, Place, ReleaseRecord, Step},
};

/// Time between two looks at a loop, at most, and after a failure.
const PAUSE: Duration = Duration::from_millis(500);
const PAUSE_AFTER_FAILURE: Duration = Duration::from_secs(1);

/// Milliseconds between two questions to the server: four of them a model, within limits.
fn hearing_period(tick: u64) -> u64 {
    (tick / 4).clamp(100, 5_000)
}

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
    /// One step for a loop: sends what is under way, or makes the next batch and sends it.
    pub async fn forward(&self, name: &str) -> Result<Forwarded> {
        let each = self.find(name)?;
        let _one_at_a_time = each.forwarding.lock().await;
        if each.halted().is_some() {
            return Ok(Forwarded::Halted);
        }
        let heard = each.state().heard;
        let heard = match heard {
            Some(heard) => heard,
            None => self.hear(each).await?,
        };
        if each.state().arrived.is_none() {
            let news = self.upstream.news(name).await?;
            self.compare(each, news.next_batch).await?;
        }
        self.recount(each, heard.key).await?;
        if each.halted().is_some() {
            return Ok(Forwarded::Halted);
        }
        if each.state().arrived != Some(true) {
            return self.send(each).await;
        }
        let size = each.plan.shuffled().map_or(u64::MAX, |plan| plan.params().batch);
        if each.waiting() < size {
            return Ok(Forwarded::Waiting);
        }
        match self.make(each, size, heard.key.id()).await? {
            true => self.send(each).await,
            false => Ok(Forwarded::Waiting),
        }
    }

    /// Whether the last batch has arrived, as the server says. One that has later batches shows that this store is an older copy: its reports may have left
    /// already, and would leave again among others.
    pub(super) async fn compare(&self, each: &ShuffleLoop, next: u64) -> Result<()> {
        let head = self.store.head(each.life()?).await?;
        let consumed = Saved::read(&head.state)?;
        let own = each.next_number(head.number)?;
        if head.number != each.batches() {
            // A commit whose answer was lost.
            let mut state = each.state();
            (state.batches, state.consumed) = (head.number, consumed);
            state.uncertain = true;
        }
        if next > own {
            each.halt(format!(
                "the server has batches up to number {next}, and this store knows of those below {own}: it is an older copy, whose reports have left already, or another shuffler serves this loop too. Stop this one, and begin with one on an empty folder of data; reports that wait in this one are lost"
            ));
            return Ok(());
        }
        let (arrived, lacking) = match head.number {
            0 => (true, own - next),
            _ => (next == own, (own - next).saturating_sub(1)),
        };
        if lacking > 0 {
            tracing::error!(r#loop = %each.plan.name, "the server lacks batches {next} to {}, which it had: it has gone back, and they cannot be sent again", next + lacking - 1);
        }
        each.state().arrived = Some(arrived);
        Ok(())
    }

    /// Sends the last batch, as the bytes that were committed.
    async fn send(&self, each: &ShuffleLoop) -> Result<Forwarded> {
        let made = each.batches();
        let number = each.next_number(made)?.saturating_sub(1);
        let records = self.store.releases(each.life()?, made, 1).await?;
        let Some(record) = records.first().filter(|record| !record.release.is_empty()) else {
            return Err(Error::store("the last batch is missing: restore another copy"));
        };
        let bytes = record.release.clone();
        let body = if each.plan.sums() { Body::Json(bytes) } else { Body::Bytes(bytes) };
        match self.upstream.send(&each.plan.name, body).await {
            Ok(()) => {
                each.state().arrived = Some(true);
                Ok(Forwarded::Sent(number))
            }
            Err(Error::Conflict(_)) => {
                each.halt(format!("the server has another batch {number}: this store is an older copy, or two shufflers serve this loop. Stop all of them, and begin with one on an empty folder of data; reports that wait are lost"));
                Ok(Forwarded::Halted)
            }
            Err(error @ Error::Unavailable(_)) => Err(error),
            Err(error) => Err(Error::Unavailable(format!(
                "the server refuses batch {number}, and it is sent again until the server takes it: {error}"
            ))),
        }
    }

    /// Makes the next batch of the reports that came first: members, order and number are one transaction. False if too few wait.
    async fn make(&self, each: &ShuffleLoop, size: u64, key_id: KeyId) -> Result<bool> {
        let consumed = each.state().consumed;
        let key = (!each.plan.sums()).then_some(key_id);
        let store = self.store.as_ref();
        let Some(picked) = waiting::pick(store, each.life()?, consumed, key, size).await? else {
            each.state().uncertain = true;
            return Ok(false);
        };
        let Picked { reports, last, passed_over } = picked;
        let members: Vec<_> = reports.iter().map(|report| (report.sender, report.id)).collect();
        let head = each.head(store).await?;
        let mut noise = SecureNoise::from_system()?;
        let number = each.next_number(head.number)?;
        let bytes = contents(each, number, reports, key_id, &mut noise)?;
        let step = self.step(each, &head, last, bytes)?;
        // After a failure it may have happened: the head and the server are asked again.
        each.state().arrived = None;
        match self.store.release(step).await? {
            Committed::Yes => {
                if passed_over > 0 {
                    tracing::error!(r#loop = %each.plan.name, "{passed_over} reports are given up: they were sealed to an earlier key of the server, or their rows are damaged");
                }
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
        let number = head.number.checked_add(1).ok_or_else(exhausted)?;
        let hash = digest(&[&bytes]);
        let chain = digest(&[b"release", &head.chain, &number.to_le_bytes(), &hash]);
        // Rows of slots before that of the last member are all in batches.
        let folded = last.slot.saturating_sub(1).min(head.closed).max(head.folded);
        let release = ReleaseRecord { number, time: 0, hash, chain, release: bytes };
        let state = Saved::write(last)?;
        let Begun { life, epoch } = each.begun()?;
        Ok(Step { life, epoch, state, folded, release })
    }

    /// Reads again how many reports wait, after a failure that leaves it open and under another key.
    pub(super) async fn recount(&self, each: &ShuffleLoop, key: PublicKey) -> Result<()> {
        if !each.state().uncertain {
            return Ok(());
        }
        let _nobody_stores = each.storing.write().await;
        let (consumed, key) = (each.state().consumed, (!each.plan.sums()).then(|| key.id()));
        let counted = waiting::count(self.store.as_ref(), each.life()?, consumed, key).await?;
        if counted.others > 0 {
            tracing::error!(r#loop = %each.plan.name, "{} reports wait that were sealed to an earlier key of the server, or whose rows are damaged: give the server its key back, or they are given up with the next batch", counted.others);
        }
        each.state().count(counted);
        Ok(())
    }

    /// Forwards batches of a loop and follows its models until the shuffler stops.
    pub async fn keep_forwarding(self: Arc<Self>, name: String) {
        let Ok(each) = self.find(&name).cloned() else { return };
        let period = hearing_period(each.plan.tick);
        let mut hear_at = 0;
        while !self.stopping.load(Ordering::SeqCst) {
            let due = self.clock.steady() >= hear_at;
            let heard = match due {
                true => {
                    hear_at = self.clock.steady().saturating_add(period);
                    self.follow(&name).await
                }
                false => Ok(()),
            };
            // A server that says nothing new may still take what is under way.
            let forwarded = self.forward(&name).await;
            let pause = match &forwarded {
                Ok(Forwarded::Sent(_)) => Duration::ZERO,
                Ok(_) => PAUSE.min(Duration::from_millis(period)),
                Err(_) => PAUSE_AFTER_FAILURE,
            };
            match heard.and(forwarded.map(drop)) {
                Err(error) => each.fail(&error),
                Ok(()) if due => each.recover(),
                Ok(()) => {}
            }
            tokio::time::sleep(pause).await;
        }
    }
}

/// The batch of these reports as it will be sent, in an order of this randomness.
pub(super) fn contents<N: Noise>(
    each: &ShuffleLoop,
    number: u64,
    mut reports: Vec<Waiting>,
    key_id: KeyId,
    noise: &mut N,
) -> Result<Vec<u8>> {
    let Some(plan) = each.plan.shuffled().filter(|_| each.plan.sums()) else {
        permute(&mut reports, noise);
        let reports = reports.into_iter().map(|report| (report.id, report.contents)).collect();
        return Ok(SealedBatch { number, key_id, reports }.bytes(&each.subject));
    };
    let values = |report: &Waiting| {
        let (numbers, _) = report.contents.as_chunks::<8>();
        numbers.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect()
    };
    let reports = reports.iter().map(values).collect();
    Ok(wire::to_json(&plan.batch(number, reports, noise)?).into_bytes())
}
