//! Reports are taken, each once: committed under their ids before they are acknowledged.

use std::sync::{Arc, atomic::Ordering};

use reticent::{randomize::Report, wire};
use serde::Serialize;

use super::{MOST_WAITING, Reports, row::Row};
use crate::{
    Error, Result,
    clock::Clock,
    failpoint,
    service::{
        Service,
        open::{Slots, count_added},
    },
    store::{Digest, EventHash, NewEvent, Payer, Ranked},
};

/// Outcome of a report or a batch. Its sender need not send it again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Taken {
    /// It is stored, and will be counted once.
    Taken,
    /// It was stored before.
    Duplicate,
}

impl Service {
    /// Takes reports as devices send them. All that can be used are one transaction; the answers are in their order.
    pub async fn take(
        &self,
        loop_: &Arc<Reports>,
        messages: &[&[u8]],
    ) -> Result<Vec<Result<Taken>>> {
        if loop_.plan.shuffled().is_some() {
            let remedy =
                "reports of this loop go to its shuffler, which mixes them: send them there";
            return Err(Error::invalid("reports", "reports at the server", remedy));
        }
        let reports: Vec<Result<Report>> =
            messages.iter().map(|message| loop_.read(message)).collect();
        if reports.iter().flatten().any(|report| report.model() > loop_.served().number) {
            // Another process may have published it.
            self.follow_reports(loop_).await?;
        }
        let served = loop_.served().number;
        let mut answers = Vec::with_capacity(messages.len());
        let mut events = Vec::new();
        for report in reports {
            answers.push(match report.and_then(|report| loop_.check(report, served)) {
                Ok(report) => {
                    let (model, name) = (report.model(), name_of(&report));
                    let row = Row::Report(report).encode()?;
                    events.push((model, loop_.event(name, Digest::default(), row, served)));
                    Ok(Taken::Taken)
                }
                Err(error) => {
                    let count = match error {
                        Error::Late(_) => &loop_.counts.late,
                        _ => &loop_.counts.refused,
                    };
                    count.fetch_add(1, Ordering::Relaxed);
                    Err(error)
                }
            });
        }
        if events.is_empty() {
            return Ok(answers);
        }
        loop_.expect_room(events.len())?;
        let inserted = self.store.insert_events_above(loop_.floor_name(), events);
        let (counted, store) = (Arc::clone(loop_), Arc::clone(&self.store));
        let stored = self.tasks.carry_out(async move {
            let note = |slots: &mut Slots, stored: &Vec<Option<Ranked>>| {
                for one in stored {
                    count_added(slots, one.as_ref());
                    counted.note(one.as_ref());
                }
            };
            counted.insert(store.as_ref(), inserted, note).await
        });
        let stored = stored.await;
        self.writing.note(&stored, self.clock.steady());
        let mut stored = stored?.into_iter();
        failpoint::pass("report: committed");
        for answer in answers.iter_mut().filter(|answer| answer.is_ok()) {
            *answer = match stored.next().flatten() {
                Some(Ranked::Added { .. }) => Ok(Taken::Taken),
                Some(Ranked::Repeated { .. }) => Ok(Taken::Duplicate),
                None => Err(too_late(None)),
            };
        }
        Ok(answers)
    }
}

/// The bits that a report is recognised by.
pub fn name_of(report: &Report) -> EventHash {
    let [high, low] = report.id();
    ((u128::from(high) << 64) | u128::from(low)).to_be_bytes()
}

/// A report on a model that is no longer taken; which, where it is known.
fn too_late(model: Option<(u64, u64)>) -> Error {
    let which = model.map_or_else(
        || "the report was made under a model that is too old".into(),
        |(model, oldest)| {
            format!(
                "the report was made under model {model}, and models below {oldest} are too old"
            )
        },
    );
    let remedy = "fetch the model, drop this report and report no more on it";
    Error::Late(format!("{which}: {remedy}"))
}

impl Reports {
    /// The report of a message.
    fn read(&self, message: &[u8]) -> Result<Report> {
        let report: Report = wire::from_json(message)?;
        self.checker.check_report(&report)?;
        Ok(report)
    }

    /// A report, if it can be counted when this model is the last one.
    fn check(&self, report: Report, served: u64) -> Result<Report> {
        let model = report.model();
        if model > served {
            let remedy = format!("the last model has number {served}: fetch it");
            return Err(Error::invalid("model", model, remedy));
        }
        if model < served.saturating_sub(self.plan.late_models) {
            let oldest = served.saturating_sub(self.plan.late_models);
            return Err(too_late(Some((model, oldest))));
        }
        Ok(report)
    }

    /// Counts what became of a report.
    fn note(&self, stored: Option<&Ranked>) {
        let count = match stored {
            Some(Ranked::Added { .. }) => &self.counts.taken,
            Some(Ranked::Repeated { .. }) => &self.counts.duplicates,
            None => &self.counts.late,
        };
        count.fetch_add(1, Ordering::Relaxed);
    }

    /// The event of a row.
    pub(super) fn event(
        &self,
        event: EventHash,
        request: Digest,
        raw: Vec<u8>,
        served: u64,
    ) -> NewEvent {
        NewEvent {
            generation: self.generation,
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
            raw,
        }
    }

    pub(super) fn expect_room(&self, more: usize) -> Result<()> {
        if self.open_events().saturating_add(more as u64) <= MOST_WAITING {
            return Ok(());
        }
        let message = format!("{MOST_WAITING} reports wait for the next model");
        Err(Error::TooMany { message, retry_after: self.plan.tick.div_ceil(1000).max(1) })
    }
}
