//! Devices: each report is made once, sent as the same bytes until it is acknowledged, and now and then once more.

use std::{
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use reticent::features::Value;
use reticent_server::{
    Error, Result,
    client::{Body, Device, Endpoint},
    service::Taken,
};
use reticent_trials::history::{Attempt, DeviceHistory, Reply};

use super::{
    client::{Random, Shared},
    tally::Met,
};

/// The loop in which devices add the noise.
pub const LOOP: &str = "device";

/// Reports of one installation, as the loop has it.
const VISITS: u64 = 20;

/// Time for an answer; later it counts as lost.
const PATIENCE: Duration = Duration::from_secs(5);

/// Time in which every report is acknowledged, whatever happens.
const AT_LAST: Duration = Duration::from_secs(90);

/// Installations, one after the other, that write everything down.
pub struct Reporter {
    random: Random,
    shared: Arc<Shared>,
    history: DeviceHistory,
}

impl Reporter {
    pub fn new(seed: u64, shared: Arc<Shared>) -> Self {
        let random = Random::new(reticent::hash::mix(seed, 99));
        Reporter { random, shared, history: DeviceHistory::default() }
    }

    /// Reports until `stop` is set and the last report is acknowledged; returns its history.
    pub fn run(mut self, stop: &AtomicBool) -> DeviceHistory {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            while !stop.load(Ordering::SeqCst) {
                // It ends when its process is away, or has no visit left.
                if self.installation(stop).await.is_err() {
                    tokio::time::sleep(Duration::from_millis(2)).await;
                }
            }
        });
        self.history
    }

    async fn installation(&mut self, stop: &AtomicBool) -> Result<()> {
        let actions = ["news", "sport"].map(|topic| Value::from_iter([("topic", topic)]));
        let mut device = within(Device::join(self.endpoint()?, LOOP, 0, None)).await?;
        for _ in 0..VISITS {
            if stop.load(Ordering::SeqCst) {
                break;
            }
            let path = format!("/v1/loops/{LOOP}/model");
            let message = within(self.endpoint()?.get(&path)).await?;
            self.history.fetched(&message)?;
            self.shared.tally.reach(LOOP, Met::Model, self.history.models() as u64);
            let choice = device.choose(&Value::Missing, &actions)?;
            let report = device.report(&choice, choice.index() as f64)?;
            self.send(&report.body).await;
            within(device.refresh()).await?;
        }
        Ok(())
    }

    /// One of the processes.
    fn endpoint(&mut self) -> Result<Endpoint> {
        let address = self.shared.any_address(&mut self.random);
        let address = address.ok_or_else(|| Error::Unavailable("no process serves".into()))?;
        Endpoint::new(&format!("http://{address}"), Some(self.shared.keys[LOOP].clone()), None)
    }

    /// Sends a report until it is acknowledged or refused, and sometimes again.
    async fn send(&mut self, body: &Body) {
        let Body::Json(message) = body else { panic!("reports to a server are JSON") };
        let begun = Instant::now();
        loop {
            assert!(begun.elapsed() < AT_LAST, "a report was never acknowledged");
            let Ok(endpoint) = self.endpoint() else {
                tokio::time::sleep(Duration::from_millis(2)).await;
                continue;
            };
            let sent = self.shared.moment();
            let path = format!("/v1/loops/{LOOP}/reports");
            let reply = reply(within(endpoint.post(&path, body.clone())).await);
            let answered = self.shared.moment();
            match reply {
                Reply::Taken(Taken::Taken) => self.shared.tally.count(LOOP, Met::Report),
                Reply::Taken(Taken::Duplicate) => self.shared.tally.count(LOOP, Met::Duplicate),
                _ => {}
            }
            let again = match reply {
                Reply::Taken(_) => self.random.below(4) == 0,
                Reply::Refused(status) => status == 429,
                Reply::Lost => true,
            };
            self.history.sent(message, Attempt { request: (), sent, answered, reply }).unwrap();
            if !again {
                return;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
}

/// A call, given up after a time.
async fn within<T>(call: impl Future<Output = Result<T>>) -> Result<T> {
    let late = |_| Error::Unavailable("no answer came in time".into());
    tokio::time::timeout(PATIENCE, call).await.map_err(late)?
}

/// Outcome of a report.
fn reply(answer: Result<Vec<u8>>) -> Reply<Taken> {
    match answer {
        Ok(body) => match serde_json::from_slice::<serde_json::Value>(&body) {
            Ok(answer) if answer["outcome"] == "taken" => Reply::Taken(Taken::Taken),
            Ok(answer) if answer["outcome"] == "duplicate" => Reply::Taken(Taken::Duplicate),
            _ => Reply::Lost,
        },
        Err(Error::Unavailable(_)) => Reply::Lost,
        Err(Error::TooMany { .. }) => Reply::Refused(429),
        Err(Error::Late(_)) => Reply::Refused(410),
        Err(error) => {
            println!("a report was refused: {error}");
            Reply::Refused(422)
        }
    }
}
