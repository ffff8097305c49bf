//! Batches are made, committed and sent.
//!
//! ```text
//! hear of the last model -> compare the number of batches with the server's -> send the batch under way -> commit the next batch -> send it
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

/// Milliseconds between two calls to the server: four of them a model, within limits.
fn hearing_period(tick: u64) -> u64 {
    (tick / 4).clamp(100, 5_000)
}

/// Outcome of a step.
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
    /// One step for a loop: sends the batch under way, or makes the next one and sends it.
    pub async fn forward(&self, name: &str) -> Result<Forwarded> {
        let loop_ = self.find(name)?;
        let _one_at_a_time = loop_.forwarding.lock().await;
        if loop_.halted().is_some() {
            return Ok(Forwarded::Halted);
        }
        let heard = loop_.state().heard;
        let heard = match heard {
            Some(heard) => heard,
            None => self.hear(loop_).await?,
        };
        if loop_.state().arrived.is_none() {
            let news = self.upstream.news(name).await?;
            self.compare(loop_, news.next_batch).await?;
        }
        self.recount(loop_, heard.key).await?;
        if loop_.halted().is_some() {
            return Ok(Forwarded::Halted);
        }
        if loop_.state().arrived != Some(true) {
            return self.send(loop_).await;
        }
        let size = loop_.plan.shuffled().map_or(u64::MAX, |plan| plan.params().batch);
        if loop_.waiting() < size {
            return Ok(Forwarded::Waiting);
        }
        match self.make(loop_, size, heard.key.id()).await? {
            true => self.send(loop_).await,
            false => Ok(Forwarded::Waiting),
        }
    }

    /// True if the last batch has arrived, as the server says. One that has later batches shows that this store is an older copy: its reports may have left
    /// already, and would leave again among others.
    pub(super) async fn compare(&self, loop_: &ShuffleLoop, next: u64) -> Result<()> {
        let head = self.store.head(loop_.generation()?).await?;
        let consumed = Saved::read(&head.state)?;
        let own = loop_.next_number(head.number)?;
        if head.number != loop_.batches() {
            // A commit whose answer was lost.
            let mut state = loop_.state();
            (state.batches, state.consumed) = (head.number, consumed);
            state.uncertain = true;
        }
        if next > own {
            loop_.halt(format!(
                "the server has batches up to number {next}, and this store knows of those below {own}: it is an older copy, whose reports have left already, or another shuffler serves this loop too. Stop this one, and begin with one on an empty folder of data; reports that wait in this one are lost"
            ));
            return Ok(());
        }
        let (arrived, lacking) = match head.number {
            0 => (true, own - next),
            _ => (next == own, (own - next).saturating_sub(1)),
        };
        if lacking > 0 {
            tracing::error!(r#loop = %loop_.plan.name, "the server lacks batches {next} to {}, which it had: it was rolled back, and they cannot be sent again", next + lacking - 1);
        }
        loop_.state().arrived = Some(arrived);
        Ok(())
    }

    /// Sends the last batch, as the bytes that were committed.
    async fn send(&self, loop_: &ShuffleLoop) -> Result<Forwarded> {
        let made = loop_.batches();
        let number = loop_.next_number(made)?.saturating_sub(1);
        let records = self.store.releases(loop_.generation()?, made, 1).await?;
        let Some(record) = records.first().filter(|record| !record.release.is_empty()) else {
            return Err(Error::store("the last batch is missing: restore another copy"));
        };
        let bytes = record.release.clone();
        let body = if loop_.plan.sums() { Body::Json(bytes) } else { Body::Bytes(bytes) };
        match self.upstream.send(&loop_.plan.name, body).await {
            Ok(()) => {
                loop_.state().arrived = Some(true);
                Ok(Forwarded::Sent(number))
            }
            Err(Error::Conflict(_)) => {
                loop_.halt(format!("the server has another batch {number}: this store is an older copy, or two shufflers serve this loop. Stop all of them, and begin with one on an empty folder of data; reports that wait are lost"));
                Ok(Forwarded::Halted)
            }
            Err(error @ Error::Unavailable(_)) => Err(error),
            Err(error) => Err(Error::Unavailable(format!(
                "the server refuses batch {number}, and it is sent again until the server takes it: {error}"
            ))),
        }
    }

    /// Makes the next batch of the reports that came first: members, order and number are one transaction. False if too few wait.
    async fn make(&self, loop_: &ShuffleLoop, size: u64, key_id: KeyId) -> Result<bool> {
        let consumed = loop_.state().consumed;
        let key = (!loop_.plan.sums()).then_some(key_id);
        let store = self.store.as_ref();
        let Some(picked) = waiting::pick(store, loop_.generation()?, consumed, key, size).await?
        else {
            loop_.state().uncertain = true;
            return Ok(false);
        };
        let Picked { reports, last, passed_over } = picked;
        let members: Vec<_> = reports.iter().map(|report| (report.sender, report.id)).collect();
        let head = loop_.head(store).await?;
        let mut noise = SecureNoise::from_system()?;
        let number = loop_.next_number(head.number)?;
        let bytes = contents(loop_, number, reports, key_id, &mut noise)?;
        let step = self.step(loop_, &head, last, bytes)?;
        // After a failure it may have happened: the head and the server are asked again.
        loop_.state().arrived = None;
        match self.store.release(step).await? {
            Committed::Yes => {
                if passed_over > 0 {
                    tracing::error!(r#loop = %loop_.plan.name, "{passed_over} reports are given up: they were sealed to an earlier key of the server, or their rows are damaged");
                }
                let mut state = loop_.state();
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
                loop_.halt(format!("another process shuffles this loop (epoch {epoch}, batch {number}): stop one of them"));
                Ok(false)
            }
        }
    }

    fn step(&self, loop_: &ShuffleLoop, head: &Head, last: Place, bytes: Vec<u8>) -> Result<Step> {
        let number = head.number.checked_add(1).ok_or_else(exhausted)?;
        let hash = digest(&[&bytes]);
        let chain = digest(&[b"release", &head.chain, &number.to_le_bytes(), &hash]);
        // Rows of slots before that of the last member are all in batches.
        let folded = last.slot.saturating_sub(1).min(head.closed).max(head.folded);
        let release = ReleaseRecord { number, time: 0, hash, chain, release: bytes };
        let state = Saved::write(last)?;
        let Begun { generation, epoch } = loop_.begun()?;
        Ok(Step { generation, epoch, state, folded, release })
    }

    /// Reads again how many reports wait, after a failure that leaves it open and under another key.
    pub(super) async fn recount(&self, loop_: &ShuffleLoop, key: PublicKey) -> Result<()> {
        if !loop_.state().uncertain {
            return Ok(());
        }
        let _no_report_is_stored = loop_.storing.write().await;
        let (consumed, key) = (loop_.state().consumed, (!loop_.plan.sums()).then(|| key.id()));
        let counted =
            waiting::count(self.store.as_ref(), loop_.generation()?, consumed, key).await?;
        if counted.others > 0 {
            tracing::error!(r#loop = %loop_.plan.name, "{} reports wait that were sealed to an earlier key of the server, or whose rows are damaged: give the server its key back, or they are given up with the next batch", counted.others);
        }
        loop_.state().count(counted);
        Ok(())
    }

    /// Forwards batches of a loop and follows its models until the shuffler stops.
    pub async fn keep_forwarding(self: Arc<Self>, name: String) {
        let Ok(loop_) = self.find(&name).cloned() else { return };
        let period = hearing_period(loop_.plan.tick);
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
            // A server that says nothing new may still take the batch under way.
            let forwarded = self.forward(&name).await;
            let pause = match &forwarded {
                Ok(Forwarded::Sent(_)) => Duration::ZERO,
                Ok(_) => PAUSE.min(Duration::from_millis(period)),
                Err(_) => PAUSE_AFTER_FAILURE,
            };
            match heard.and(forwarded.map(drop)) {
                Err(error) => loop_.fail(&error),
                Ok(()) if due => loop_.recover(),
                Ok(()) => {}
            }
            tokio::time::sleep(pause).await;
        }
    }
}

/// The batch of these reports as it will be sent, in an order of this randomness.
pub(super) fn contents<N: Noise>(
    loop_: &ShuffleLoop,
    number: u64,
    mut reports: Vec<Waiting>,
    key_id: KeyId,
    noise: &mut N,
) -> Result<Vec<u8>> {
    let Some(plan) = loop_.plan.shuffled().filter(|_| loop_.plan.sums()) else {
        permute(&mut reports, noise);
        let reports = reports.into_iter().map(|report| (report.id, report.contents)).collect();
        return Ok(SealedBatch { number, key_id, reports }.bytes(&loop_.subject));
    };
    let values = |report: &Waiting| {
        let (numbers, _) = report.contents.as_chunks::<8>();
        numbers.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect()
    };
    let reports = reports.iter().map(values).collect();
    Ok(wire::to_json(&plan.batch(number, reports, noise)?).into_bytes())
}
