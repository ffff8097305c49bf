//! The service in this process, on a clock that is moved: what a tick does is measured without waiting for it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

use super::{load::in_time, request::event_id};
use reticent_server::{
    Error, Result,
    clock::{Clock, ManualClock},
    config::ServiceFile,
    data::{Data, open_events_key, open_people_keys, people_key_in},
    loops::{Limits, RankRequest},
    secret::PeopleKeys,
    service::{Options, Service, Ticked},
};

/// Rank requests in one transaction.
const BATCH: u64 = 500;
/// Callers at the same time.
const CALLERS: u64 = 4;
/// Events that are added before the time is looked at.
const PIECE: u64 = 100_000;
/// People who send requests: enough that hardly any of them has used up their visits.
const PEOPLE: u64 = 10_000_000;

/// A service of one loop.
pub(super) struct Inside {
    service: Arc<Service>,
    clock: Arc<ManualClock>,
    /// The name of the loop.
    name: String,
    /// Milliseconds of a tick.
    tick: u64,
    /// The rank request that every person sends, under an event id of its own.
    request: RankRequest,
    /// Events so far.
    events: u64,
}

impl Inside {
    /// Opens a loop of this text on a store, and gives it this rank request, as JSON.
    pub(super) async fn open(
        data: &Data,
        clock: &Arc<ManualClock>,
        text: &str,
        request: &str,
    ) -> Result<Self> {
        let plans = ServiceFile::parse(text)?.check()?;
        let [plan] = plans.as_slice() else {
            return Err(Error::invalid("loop", plans.len(), "one at a time is measured"));
        };
        let (name, tick) = (plan.name().to_string(), plan.tick());
        let (store, _) = data.open().await?;
        let events = open_events_key(&data.folder, store.as_ref()).await?;
        let people = people_key_in(&data.folder);
        let PeopleKeys { current, earlier } =
            open_people_keys(&people, store.as_ref(), clock.now(), false).await?;
        let options = Options {
            plans,
            store,
            clock: Arc::<ManualClock>::clone(clock),
            people: current,
            earlier_people: earlier,
            events,
            witness: None,
            limits: Limits { open_events: u64::MAX, ..Limits::default() },
            seal_key: None,
        };
        let service = Service::open(options).await?;
        let request = serde_json::from_str(request).map_err(Error::store)?;
        Ok(Inside { service, clock: Arc::clone(clock), name, tick, request, events: 0 })
    }

    /// Events so far.
    pub(super) fn events(&self) -> u64 {
        self.events
    }

    /// Sends `count` rank requests, and returns the seconds that they took.
    pub(super) async fn rank(&mut self, count: u64) -> Result<f64> {
        let (start, end) = (Instant::now(), self.events + count);
        while self.events < end {
            let until = end.min(self.events + PIECE);
            in_time(self.rank_until(until)).await?;
            self.events = until;
        }
        Ok(start.elapsed().as_secs_f64())
    }

    async fn rank_until(&self, end: u64) -> Result<()> {
        let next = Arc::new(AtomicU64::new(self.events));
        let callers = (0..CALLERS).map(|_| {
            let (service, name, next) =
                (Arc::clone(&self.service), self.name.clone(), Arc::clone(&next));
            let request = self.request.clone();
            tokio::spawn(async move {
                loop {
                    let first = next.fetch_add(BATCH, Ordering::Relaxed);
                    if first >= end {
                        return Ok::<(), Error>(());
                    }
                    let batch =
                        (first..end.min(first + BATCH)).map(|number| asked(&request, number));
                    for answer in service.rank_all(&name, batch.collect()).await? {
                        answer?;
                    }
                }
            })
        });
        let callers: Vec<_> = callers.collect();
        for caller in callers {
            caller.await.map_err(Error::store)??;
        }
        Ok(())
    }

    /// Lets `ticks` ticks pass in which nothing is released.
    pub(super) fn wait(&self, ticks: u64) {
        self.clock.pass(ticks * self.tick);
    }

    /// Lets one tick pass, and returns the seconds of the release that it makes.
    pub(super) async fn release(&self) -> Result<f64> {
        self.wait(1);
        let start = Instant::now();
        match in_time(self.service.tick(&self.name)).await? {
            Ticked::Released(_) => Ok(start.elapsed().as_secs_f64()),
            other => Err(Error::Unavailable(format!("a tick made no release: {other:?}"))),
        }
    }
}

/// The rank request of this number.
fn asked(request: &RankRequest, number: u64) -> RankRequest {
    let person = reticent::hash::mix(number, 1) % PEOPLE;
    RankRequest {
        event_id: Some(event_id(number)),
        person: Some(format!("person-{person}")),
        ..request.clone()
    }
}
