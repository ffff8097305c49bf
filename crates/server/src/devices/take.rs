//! Reports and batches are taken, each once: committed under their ids before they are acknowledged.

use std::sync::{Arc, atomic::Ordering};

use reticent::{
    bandit::{Batch, ShufflePlan},
    randomize::Report,
    wire,
};
use serde::Serialize;

use super::{DeviceLoop, Devices, MOST_WAITING, row::Row};
use crate::{
    Error, Result,
    sealed::SealedBatch,
    secret::{digest, hex},
    store::{Digest, EventHash, NewEvent, Payer, Ranked},
};

/// What became of a report or a batch. Who sent it need not send it again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Taken {
    /// It is stored, and will be counted once.
    Taken,
    /// It was stored before.
    Duplicate,
}

impl Devices {
    /// Takes reports as devices send them. All that can be used are one transaction; the answers are in their order.
    pub async fn take(&self, each: &DeviceLoop, messages: &[&[u8]]) -> Result<Vec<Result<Taken>>> {
        if each.plan.shuffled().is_some() {
            let remedy =
                "reports of this loop go to its shuffler, which mixes them: send them there";
            return Err(Error::invalid("reports", "sent to the server", remedy));
        }
        let served = each.served().number;
        let mut answers = Vec::with_capacity(messages.len());
        let mut events = Vec::new();
        for message in messages {
            answers.push(match each.check(message, served) {
                Ok(report) => {
                    events.push(each.event(
                        name_of(&report),
                        Digest::default(),
                        &Row::Report(report),
                        served,
                    )?);
                    Ok(Taken::Taken)
                }
                Err(error) => {
                    let count = match error {
                        Error::Late(_) => &each.counts.late,
                        _ => &each.counts.refused,
                    };
                    count.fetch_add(1, Ordering::Relaxed);
                    Err(error)
                }
            });
        }
        if events.is_empty() {
            return Ok(answers);
        }
        each.expect_room(events.len())?;
        let mut ranked = self.store.rank(events).await?.into_iter();
        for answer in answers.iter_mut().filter(|answer| answer.is_ok()) {
            *answer = Ok(match ranked.next() {
                Some(Ranked::Repeated { .. }) => {
                    each.counts.duplicates.fetch_add(1, Ordering::Relaxed);
                    Taken::Duplicate
                }
                _ => {
                    each.counts.taken.fetch_add(1, Ordering::Relaxed);
                    each.waiting.fetch_add(1, Ordering::Relaxed);
                    Taken::Taken
                }
            });
        }
        Ok(answers)
    }

    /// Takes a batch as a shuffler sends it. Reports that cannot be opened or that no device makes are left out: nobody could refuse them earlier.
    pub async fn take_batch(&self, each: &Arc<DeviceLoop>, body: &[u8]) -> Result<Taken> {
        let Some((subject, plan)) = each.sealed_form() else {
            let remedy = "this loop has no shuffler: send reports one by one";
            return Err(Error::invalid("batch", "sent", remedy));
        };
        let size = plan.params().batch;
        let (number, people, row) = match each.plan.sums() {
            true => {
                let batch = read_sum(plan, body)?;
                (batch.number(), batch.people(), Row::Sum(batch))
            }
            false => {
                let batch = SealedBatch::read(&subject, size, body)?;
                let key = self.seal_key.clone().filter(|key| key.public().id() == batch.key_id);
                let Some(key) = key else {
                    let remedy =
                        "its reports are sealed to another key: give the server its old one";
                    return Err(Error::invalid("key_id", hex(&batch.key_id), remedy));
                };
                let number = batch.number;
                let open = move || -> Vec<Vec<f64>> {
                    let open = |(id, sealed): &([u8; 16], Vec<u8>)| subject.open(&key, *id, sealed);
                    batch.reports.iter().filter_map(open).collect()
                };
                let mut reports = tokio::task::spawn_blocking(open).await.map_err(Error::store)?;
                reports.retain(|values| plan.check_values(values).is_ok());
                let people = reports.len() as u64;
                each.counts.refused.fetch_add(size - people, Ordering::Relaxed);
                (number, people, Row::Opened { number, reports })
            }
        };
        let id = digest(&[b"batch", &number.to_le_bytes()]);
        let mut name = EventHash::default();
        name.copy_from_slice(&id[..16]);
        let request = digest(&[body]);
        each.expect_room(1)?;
        let event = each.event(name, request, &row, each.served().number)?;
        let taken = match self.store.rank(vec![event]).await?.pop() {
            Some(Ranked::Repeated { request: before, .. }) if before != request => {
                return Err(Error::Conflict(format!(
                    "batch {number} came before with other contents: a batch is sent again as the same bytes"
                )));
            }
            Some(Ranked::Repeated { .. }) => {
                each.counts.duplicates.fetch_add(1, Ordering::Relaxed);
                Taken::Duplicate
            }
            _ => {
                each.counts.taken.fetch_add(people, Ordering::Relaxed);
                each.waiting.fetch_add(1, Ordering::Relaxed);
                Taken::Taken
            }
        };
        each.next_batch.fetch_max(number.saturating_add(1), Ordering::SeqCst);
        Ok(taken)
    }
}

/// A batch of which only the sum is seen.
fn read_sum(plan: &ShufflePlan, body: &[u8]) -> Result<Batch> {
    let batch: Batch = wire::from_json(body)?;
    // On a copy that has counted nothing, so that what could not be counted is not taken.
    plan.server().absorb(&batch)?;
    Ok(batch)
}

/// The bits that a report is recognised by.
fn name_of(report: &Report) -> EventHash {
    let [high, low] = report.id();
    ((u128::from(high) << 64) | u128::from(low)).to_be_bytes()
}

impl DeviceLoop {
    /// The report of a message, if it can be counted.
    fn check(&self, message: &[u8], served: u64) -> Result<Report> {
        let report: Report = wire::from_json(message)?;
        self.checker.check_report(&report)?;
        let model = report.model();
        if model > served {
            let remedy = format!("the last model has number {served}: fetch it");
            return Err(Error::invalid("model", model, remedy));
        }
        if model < served.saturating_sub(self.plan.late_models) {
            return Err(Error::Late(format!(
                "the report was made under model {model}, and models below {} are too old: fetch the model, drop this report and report no more on it",
                served.saturating_sub(self.plan.late_models)
            )));
        }
        Ok(report)
    }

    /// The event of a row.
    fn event(&self, event: EventHash, request: Digest, row: &Row, served: u64) -> Result<NewEvent> {
        Ok(NewEvent {
            life: self.life,
            event,
            request,
            answer: Vec::new(),
            person: None,
            payer: Payer::Decision,
            slot: served.saturating_add(1),
            // When a report came is not needed, and not kept.
            time: 0,
            deferred: false,
            features: Vec::new(),
            raw: row.encode()?,
        })
    }

    fn expect_room(&self, more: usize) -> Result<()> {
        if self.waiting.load(Ordering::Relaxed).saturating_add(more as u64) <= MOST_WAITING {
            return Ok(());
        }
        let message = format!("{MOST_WAITING} reports wait for the next model");
        Err(Error::TooMany { message, retry_after: self.plan.tick.div_ceil(1000).max(1) })
    }
}
