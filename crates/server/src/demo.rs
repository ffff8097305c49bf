//! A loop with simulated visitors, so that a newcomer sees a private bandit learn within a minute: `reticent-server serve --demo`.
//!
//! The visitors' taste is fixed and public: [`TASTE`]. The editor's own choice, which the baseline shows, is always politics. Visitors call the service
//! as any caller does: their visits are charged to the ledger, beyond ten nothing is learnt from them, and every release has its noise.
//!
//! Noise that hides ten visits of a person needs many people: 2000 visits a second come in the first 90 seconds, and then as many as sums that forget
//! need to stay as they are, for an hour. This takes less than 50 % of a core, and some hundred megabytes of remembered events.

use std::{sync::Arc, time::Duration};

use reticent::hash;
use serde_json::json;
use tokio::task::JoinHandle;

use crate::{
    Error, Result,
    config::{Plan, ServiceFile},
    loops::{RankAnswer, RankRequest, RewardRequest},
    secret::random,
    service::Service,
};

/// The name of the loop.
pub const LOOP: &str = "news";

/// The file of the loop.
pub const FILE: &str = include_str!("demo.toml");

/// Topics in the editor's order.
const TOPICS: [&str; 4] = ["politics", "sport", "music", "science"];

/// Probability that a visitor clicks a topic, by device.
pub const TASTE: [(&str, [f64; 4]); 2] =
    [("phone", [0.15, 0.50, 0.30, 0.10]), ("computer", [0.20, 0.15, 0.20, 0.55])];

/// Steps of the simulation in a second.
const STEPS: u64 = 10;

/// Time for which visitors come, in seconds.
const LASTS: u64 = 3600;

/// Visitors at one time.
const PRESENT: usize = 1000;

/// The loop, checked.
pub fn plans() -> Result<Vec<Plan>> {
    ServiceFile::parse(FILE)?.check()
}

/// Visits per second, at this number of seconds after the beginning.
fn rate(second: u64) -> u64 {
    if second < 90 { 2000 } else { 150 }
}

/// Lets simulated visitors come, for an hour. A service that cannot answer is asked again a second later.
pub fn start(service: Arc<Service>) -> JoinHandle<()> {
    tokio::spawn(async move {
        let Ok(seed) = random().map(u64::from_le_bytes) else { return };
        let mut visitors = Visitors::new(seed);
        let mut clock = tokio::time::interval(Duration::from_millis(1000 / STEPS));
        // A machine that was too slow for some steps does not catch up on them.
        clock.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
        for step in 0..LASTS * STEPS {
            clock.tick().await;
            if let Err(error) = visitors.come(&service, rate(step / STEPS) / STEPS).await {
                tracing::warn!("the demonstration's visitors were not answered: {error}");
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        }
        tracing::info!("the demonstration's visitors have left: start it again to see more");
    })
}

/// One visitor.
#[derive(Clone)]
struct Visitor {
    name: String,
    /// An index into [`TASTE`].
    device: usize,
    age: u64,
    visits_left: u64,
}

/// Visitors who are present. Their draws are those of a simulation and protect no person.
pub struct Visitors {
    seed: u64,
    draws: u64,
    present: Vec<Visitor>,
}

impl Visitors {
    /// Visitors that depend on this seed only.
    pub fn new(seed: u64) -> Self {
        let mut visitors = Visitors { seed, draws: 0, present: Vec::new() };
        visitors.present = (0..PRESENT).map(|_| visitors.newcomer()).collect();
        visitors
    }

    fn draw(&mut self) -> u64 {
        self.draws += 1;
        hash::mix(self.seed, self.draws)
    }

    /// A uniform whole number below `limit`; nearly so, which is enough here.
    fn below(&mut self, limit: u64) -> u64 {
        self.draw() % limit
    }

    fn newcomer(&mut self) -> Visitor {
        Visitor {
            name: format!("visitor {:016x}", self.draw()),
            device: self.below(TASTE.len() as u64) as usize,
            age: 18 + self.below(63),
            // Some come more often than is learnt from.
            visits_left: 1 + self.below(12),
        }
    }

    /// A visit of a visitor who is present; a visitor without visits left makes room for a newcomer.
    fn visit(&mut self) -> Visitor {
        let index = self.below(self.present.len().max(1) as u64) as usize;
        let newcomer = self.newcomer();
        let Some(visitor) = self.present.get_mut(index) else { return newcomer };
        visitor.visits_left = visitor.visits_left.saturating_sub(1);
        let visit = visitor.clone();
        if visitor.visits_left == 0 {
            *visitor = newcomer;
        }
        visit
    }

    /// Simulates `count` visits: rank requests, then clicks on the shown topics.
    pub async fn come(&mut self, service: &Arc<Service>, count: u64) -> Result<()> {
        let visits: Vec<Visitor> = (0..count).map(|_| self.visit()).collect();
        let hours: Vec<u64> = visits.iter().map(|_| self.below(24)).collect();
        let requests = visits.iter().zip(hours).map(|(visitor, hour)| request(visitor, hour));
        let requests = requests.collect::<Result<Vec<RankRequest>>>()?;
        let answers = service.rank_all(LOOP, requests).await?;
        let mut clicks = Vec::new();
        for (visitor, answer) in visits.iter().zip(answers) {
            let answer = answer?;
            if self.clicks(visitor, &answer) {
                let reward = RewardRequest { value: 1.0, idempotency_key: None };
                clicks.push((answer.event_id, reward));
            }
        }
        if !clicks.is_empty() {
            service.reward_all(LOOP, clicks).await?.into_iter().collect::<Result<Vec<()>>>()?;
        }
        Ok(())
    }

    fn clicks(&mut self, visitor: &Visitor, answer: &RankAnswer) -> bool {
        let topic = TOPICS.iter().position(|topic| *topic == answer.action);
        let taste = TASTE.get(visitor.device).map(|(_, taste)| taste);
        let probability = taste.zip(topic).and_then(|(taste, topic)| taste.get(topic)).copied();
        let uniform = (self.draw() >> 11) as f64 / (1_u64 << 53) as f64;
        uniform < probability.unwrap_or(0.0)
    }
}

/// Rank request of the page for a visitor.
fn request(visitor: &Visitor, hour: u64) -> Result<RankRequest> {
    let device = TASTE.get(visitor.device).map(|(device, _)| *device);
    let actions = TOPICS.map(|topic| json!({"id": topic, "features": {"topic": topic}}));
    let request = json!({
        "person": visitor.name,
        "context": {"device": device, "hour": hour, "age": visitor.age},
        "actions": actions,
    });
    serde_json::from_value(request).map_err(|error| Error::Unavailable(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        clock::ManualClock,
        loops::{Limits, Summary},
        secret::Secret,
        service::Options,
        store::MemoryStore,
    };

    /// Summary of the release after 60 simulated seconds: the same as 60 seconds of `start`, by a clock that is moved.
    async fn first_minute(seed: u64) -> Summary {
        let clock = Arc::new(ManualClock::at(1_800_000_000_000));
        let service = Service::open(Options {
            plans: plans().unwrap(),
            store: Arc::new(MemoryStore::new([1; 16])),
            clock: clock.clone(),
            people: Secret::new().unwrap(),
            earlier_people: Vec::new(),
            events: Secret::from_bytes([5; 32]),
            witness: None,
            limits: Limits::default(),
            seal_key: None,
        });
        let service = service.await.unwrap();
        let mut visitors = Visitors::new(seed);
        for second in 0..60 {
            for _ in 0..STEPS {
                visitors.come(&service, rate(second) / STEPS).await.unwrap();
                clock.pass(1000 / STEPS);
            }
            service.tick(LOOP).await.unwrap();
        }
        service.view(service.central(LOOP).unwrap(), false).summary
    }

    /// Three runs at the same time, each with noise of its own: many visits are many seconds of computing.
    #[test]
    fn the_policy_is_above_the_baseline_within_a_minute() {
        let run = |seed| {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            let lift = runtime.block_on(first_minute(seed)).lift;
            lift.map_or(f64::NEG_INFINITY, |lift| lift.value)
        };
        let runs: Vec<_> = (0..3).map(|seed| std::thread::spawn(move || run(seed))).collect();
        let mut lifts: Vec<f64> = runs.into_iter().map(|run| run.join().unwrap()).collect();
        lifts.sort_by(f64::total_cmp);
        println!("lift after 60 seconds: {lifts:.3?}");
        assert!(lifts[1] > 0.0, "{lifts:?}");
    }

    #[test]
    fn visitors_come_more_often_than_is_learnt_from_and_are_replaced() {
        let mut visitors = Visitors::new(7);
        let mut counts = std::collections::BTreeMap::new();
        for _ in 0..60_000 {
            *counts.entry(visitors.visit().name).or_insert(0) += 1;
        }
        assert_eq!(counts.values().max(), Some(&12));
        assert!(counts.len() > 8000, "{}", counts.len());
    }
}
