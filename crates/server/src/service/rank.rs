//! Rank requests: the event is committed before the ranking leaves.
//!
//! **Repetitions.** An event id belongs to the key that asked first. A stored answer is given again for the same request under the same key, and for nothing
//! else: another key gets one refusal whatever it sends, so that no caller can test what another one has sent. After an erasure every repetition gets the same
//! refusal.

use std::sync::{Arc, atomic::Ordering};

use reticent::error::message;

use super::{
    Central, Counts, Service,
    open::{Slots, count_added},
};
use crate::{
    Error, Result,
    clock::Clock,
    config::Ledger,
    failpoint,
    loops::{Coins, RankAnswer, RankRequest, StoredAnswer, decide, request_digest},
    secret::{hex, random},
    service::views::ExportedEvent,
    store::{Charge, Digest, NewEvent, Payer, Ranked, row},
};

/// A rank request with its ranking, before its event is committed.
struct Prepared {
    request: RankRequest,
    digest: Digest,
    event_id: String,
    answer: StoredAnswer,
    counts: RankCounts,
}

/// Counters incremented when an event is first stored.
#[derive(Clone, Copy)]
struct RankCounts {
    /// True if a person is missing in a loop that counts persons, so that nothing is learnt from it.
    without_person: bool,
    clipped: u64,
    missing: u64,
    matched: bool,
}

impl RankCounts {
    fn add_to(self, counts: &Counts) {
        Counts::add(&counts.ranks, 1);
        Counts::add(&counts.without_person, u64::from(self.without_person));
        Counts::add(&counts.clipped, self.clipped);
        Counts::add(&counts.missing, self.missing);
        Counts::add(&counts.matches, u64::from(self.matched));
    }
}

/// Values that are looked at between other requests: more are looked at on threads of their own.
const LIGHT: usize = 4096;

impl Service {
    /// Computes something that takes long, on a thread that answers no requests.
    pub(crate) async fn compute<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T> {
        self.tasks.compute(work).await
    }

    /// Answers one rank request of a caller within this process.
    pub async fn rank(self: &Arc<Self>, name: &str, request: RankRequest) -> Result<RankAnswer> {
        self.rank_for("", name, request).await
    }

    /// Answers one rank request of a caller, who is named by the id of their key.
    pub async fn rank_for(
        self: &Arc<Self>,
        caller: &str,
        name: &str,
        request: RankRequest,
    ) -> Result<RankAnswer> {
        let mut answers = self.rank_all_for(caller, name, vec![request]).await?;
        answers.pop().unwrap_or_else(|| Err(Error::store("no answer was stored")))
    }

    /// Answers many rank requests of a caller within this process.
    pub async fn rank_all(
        self: &Arc<Self>,
        name: &str,
        requests: Vec<RankRequest>,
    ) -> Result<Vec<Result<RankAnswer>>> {
        self.rank_all_for("", name, requests).await
    }

    /// Answers many rank requests of a caller in one transaction. An error in one of them does not touch the others.
    pub async fn rank_all_for(
        self: &Arc<Self>,
        caller: &str,
        name: &str,
        requests: Vec<RankRequest>,
    ) -> Result<Vec<Result<RankAnswer>>> {
        let loop_ = self.central(name)?;
        self.check_batch("requests", requests.len())?;
        self.check_actions(&requests)?;
        // Where that fails, the request will fail too.
        let _ = loop_.open.make_certain(self.store.as_ref(), loop_.generation).await;
        self.check_room(loop_, requests.len() as u64)?;
        let mut events = Vec::with_capacity(requests.len());
        let keep = |made: Result<(NewEvent, Prepared)>| {
            made.map(|(event, prepared)| {
                events.push(event);
                prepared
            })
        };
        let made = self.prepare_all(caller, loop_, requests).await?;
        let prepared: Vec<Result<Prepared>> = made.into_iter().map(keep).collect();
        let counts: Vec<RankCounts> = prepared.iter().flatten().map(|one| one.counts).collect();
        let (counted, store) = (Arc::clone(loop_), Arc::clone(&self.store));
        let stored = self.tasks.carry_out(async move {
            let note = |slots: &mut Slots, stored: &Vec<Ranked>| {
                for (one, counts) in stored.iter().zip(counts) {
                    count_added(slots, Some(one));
                    if let Ranked::Added { .. } = one {
                        counts.add_to(&counted.counts);
                        if counts.without_person {
                            counted.warn_without_person();
                        }
                    }
                }
            };
            counted.insert(store.as_ref(), store.insert_events(events), note).await
        });
        let stored = stored.await;
        self.writing.note(&stored, self.clock.steady());
        let mut stored = stored?.into_iter();
        failpoint::pass("rank: committed");
        let answers = prepared.into_iter().map(|one| {
            let one = one?;
            let stored = stored.next().ok_or_else(|| Error::store("no answer was stored"))?;
            answer_stored(one, stored)
        });
        Ok(answers.collect())
    }

    pub(super) fn check_batch(&self, field: &str, count: usize) -> Result<()> {
        let most = self.limits.batch;
        if (1..=most).contains(&count) {
            return Ok(());
        }
        Err(Error::invalid(field, format!("{count} of them"), format!("expected from 1 to {most}")))
    }

    /// Refuses batches that would take too long: what an answer takes grows with its actions.
    fn check_actions(&self, requests: &[RankRequest]) -> Result<()> {
        let (count, most) = (
            requests.iter().map(|one| one.actions.len()).sum::<usize>(),
            self.limits.batch_actions,
        );
        if count <= most {
            return Ok(());
        }
        let remedy =
            format!("expected at most {most} in all requests together; send smaller batches");
        Err(Error::invalid("requests", format!("{count} actions"), remedy))
    }

    /// Refuses more open events than there is room for: a number that depends on when people came and on nothing else.
    fn check_room(&self, loop_: &Central, more: u64) -> Result<()> {
        let most = self.limits.open_events;
        if loop_.open_events().saturating_add(more) <= most {
            return Ok(());
        }
        let message = format!("{most} events are open: wait until their windows have ended");
        let retry_after = loop_.tick.div_ceil(1000).max(1);
        Err(Error::TooMany { message, retry_after })
    }

    /// Decides about requests, here or on a thread of its own.
    async fn prepare_all(
        self: &Arc<Self>,
        caller: &str,
        loop_: &Arc<Central>,
        requests: Vec<RankRequest>,
    ) -> Result<Vec<Result<(NewEvent, Prepared)>>> {
        if requests.iter().map(RankRequest::work).sum::<usize>() <= LIGHT {
            return Ok(requests.into_iter().map(|one| self.prepare(caller, loop_, one)).collect());
        }
        let (service, caller, loop_) = (Arc::clone(self), caller.to_string(), Arc::clone(loop_));
        let prepare = move |one| service.prepare(&caller, &loop_, one);
        self.compute(move || requests.into_iter().map(prepare).collect()).await
    }

    fn prepare(
        &self,
        caller: &str,
        loop_: &Arc<Central>,
        mut request: RankRequest,
    ) -> Result<(NewEvent, Prepared)> {
        if let Some(path) = &loop_.plan.params.person_from {
            request.take_person(path);
        }
        request.check(&self.limits)?;
        let (plan, now) = (&loop_.plan, self.clock.now());
        let answering = loop_.answering();
        let decision = decide(plan, &answering.served.policy, &request, Coins::draw()?)?;
        let event_id = match &request.event_id {
            Some(id) => id.clone(),
            None => hex(&random::<16>()?),
        };
        let answer = StoredAnswer::new(&decision, answering.token.clone());
        let raw = match plan.params.retain {
            None => Vec::new(),
            Some(_) => ExportedEvent::write(&request, &decision, now)?,
        };
        // Under a key: a holder of the store alone cannot try out names.
        let digest = self.events.request(caller, &request_digest(&request));
        let event = NewEvent {
            generation: loop_.generation,
            event: self.events.event(&plan.name, &event_id),
            request: digest,
            answer: row::encode(&answer)?,
            person: request.person.as_deref().map(|person| self.people.hash(person)),
            payer: self.payer(loop_, request.person.as_deref(), now),
            slot: plan.due(now),
            time: now,
            deferred: request.defer,
            features: decision.features,
            raw,
        };
        let (clipped, missing) = totals(&decision.report);
        let matched = decision.matched == Some(true);
        let without_person = event.person.is_none() && matches!(plan.ledger, Ledger::Person { .. });
        let counts = RankCounts { without_person, clipped, missing, matched };
        Ok((event, Prepared { request, digest, event_id, answer, counts }))
    }

    /// The payer for an event of this person.
    fn payer(&self, loop_: &Central, person: Option<&str>, now: u64) -> Payer {
        match (loop_.plan.ledger, person) {
            (Ledger::Decision, _) => Payer::Decision,
            (ledger @ Ledger::Person { most, .. }, Some(person)) if self.people.are_known() => {
                Payer::Person(Charge {
                    person: self.people.hash(person),
                    earlier: self.people.earlier(person),
                    period: ledger.period(now),
                    most,
                })
            }
            // Under a foreign key every count would begin again at zero.
            (Ledger::Person { .. }, _) => Payer::NotLearnt,
        }
    }
}

/// Milliseconds between two warnings that rank requests come without a person, at least.
const WARNED: u64 = 3_600_000;

impl Central {
    /// Warns that rank requests come without a person: once an hour at most.
    fn warn_without_person(&self) {
        let now = self.clock.steady();
        let due = |next: u64| (now >= next).then_some(now.saturating_add(WARNED));
        if self.next_warning.fetch_update(Ordering::Relaxed, Ordering::Relaxed, due).is_ok() {
            tracing::warn!(r#loop = %self.name, "rank requests come without `person` in a loop that counts persons (`visits`): they are answered, and nothing is learnt from them; send `person`, or leave `visits` out of the file");
        }
    }
}

/// The answer of a rank request of which this is stored.
fn answer_stored(one: Prepared, stored: Ranked) -> Result<RankAnswer> {
    match stored {
        Ranked::Added { .. } => one.answer.answer(&one.request, one.event_id),
        Ranked::Repeated { request, answer } if request == one.digest => {
            row::decode::<StoredAnswer>(&answer)?.answer(&one.request, one.event_id)
        }
        // One refusal for all reasons: which it is would tell something of the first request.
        Ranked::Repeated { .. } => Err(Error::Conflict(message(
            "event_id",
            format_args!("{:?}", one.event_id),
            "it is in use, with another body or under another key, or its person was erased: give every event an id of its own",
        ))),
    }
}

/// Features that were clipped, and those that were missing or of another type. Unknown words are not counted: see `counts`.
fn totals(report: &reticent::features::Report) -> (u64, u64) {
    let counts = report.context.values().chain(report.action.values());
    counts.fold((report.shortened, 0), |(clipped, missing), count| {
        (clipped + count.clipped, missing + count.missing + count.mistyped)
    })
}
