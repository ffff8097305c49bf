//! A world: all other people do the same in all of them, and one person differs. All of it over HTTP, by a clock that is moved.

use std::sync::Arc;

use reticent_server::{clock::ManualClock, http::HttpLimits, loops::Limits, store::MemoryStore};

use super::seen::{everything, masked};
use crate::common::{Answer, Plant, START, Server, Setup};

/// Milliseconds of a slot.
pub const TICK: u64 = 10_000;

/// Slots that a world lasts.
pub const SLOTS: u64 = 14;

/// Two visits of a person are learnt from.
pub const LOOPS: &str = r#"
    [loop.home]
    purpose = "what to show on the home page"
    privacy = { epsilon = 1.0, delta = 1e-6, visits = 2, per = "30 days" }
    learner = { tick = "10 seconds", horizon = 1000 }
    reward = { range = [0, 1], window = "20 seconds" }
    retain = "1 minute"
    baseline = { share = 0.25 }
    [loop.home.context]
    device = { categories = ["phone", "computer"] }
    age = { range = [18, 80] }
    [loop.home.action]
    topic = { categories = ["news", "sport"] }
"#;

/// Open events that there is room for: the crowd at the end needs more.
const ROOM: u64 = 24;

/// A visit of the person.
#[derive(Debug, Clone)]
pub struct Visit {
    /// The slot of the rank request.
    pub slot: u64,
    pub person: Option<&'static str>,
    pub device: &'static str,
    pub age: f64,
    pub defer: bool,
    /// True if it is activated in the same slot.
    pub activate: bool,
    /// A reward one slot later.
    pub reward: Option<f64>,
}

impl Visit {
    pub fn at(slot: u64) -> Self {
        Visit {
            slot,
            person: Some("anna"),
            device: "phone",
            age: 30.0,
            defer: false,
            activate: false,
            reward: Some(1.0),
        }
    }
}

/// Script of the person.
#[derive(Debug, Clone)]
pub struct Script {
    pub visits: Vec<Visit>,
    /// The slot at whose end the person is erased.
    pub erased: Option<u64>,
    /// Repeats rank requests, and sends late, unknown and unreadable rewards.
    pub clumsy: bool,
}

impl Script {
    /// Five visits, of which two are learnt from: the second one is deferred and activated.
    pub fn base() -> Self {
        let mut visits: Vec<Visit> = [2, 3, 5, 5, 6].map(Visit::at).to_vec();
        (visits[1].defer, visits[1].activate) = (true, true);
        Script { visits, erased: None, clumsy: false }
    }

    /// The same with other visits.
    pub fn with(change: impl Fn(&mut Visit)) -> Self {
        let mut script = Self::base();
        script.visits.iter_mut().for_each(change);
        script
    }
}

/// Schedule of releases.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Ticks {
    /// One a slot.
    ByClock,
    /// The planted fault: when a slot has passed and this number of rewards has come since the last one.
    AfterRewards(u64),
}

/// Options by which a world is served.
#[derive(Clone, Copy)]
pub struct Serving {
    pub ticks: Ticks,
    pub planted: Option<Plant>,
    /// True if the world has little room for open events, so that a crowd at its end is refused.
    pub tight: bool,
}

impl Serving {
    /// As the service is.
    pub fn honest() -> Self {
        Serving { ticks: Ticks::ByClock, planted: None, tight: true }
    }
}

/// Everything that a `read` key and the other people see of a world, line by line.
pub async fn transcript(script: &Script, serving: Serving) -> Vec<String> {
    let (clock, store) = (Arc::new(ManualClock::at(START)), Arc::new(MemoryStore::new([7; 16])));
    let set_up = || Setup {
        loops: LOOPS.into(),
        http: HttpLimits::default(),
        requests: Limits {
            open_events: if serving.tight { ROOM } else { u64::MAX },
            ..Limits::default()
        },
        clock: clock.clone(),
        store: store.clone(),
        planted: serving.planted,
        tls: None,
    };
    let mut server = Server::set_up(set_up()).await;
    let (mut lines, mut rewarded) = (Vec::new(), 0);
    for slot in 0..SLOTS {
        if slot == 7 {
            // A new process on the same store, under way of some windows.
            server = restarted(server, set_up()).await;
            rewarded = 0;
        }
        let crowd = if slot == 10 { ROOM } else { 2 };
        for number in 0..crowd {
            let id = format!("other-{slot}-{number}");
            let answer = ask(&server, &id, Some(&id), "computer", 40.0, number == 1).await;
            lines.push(masked(&format!("slot {slot}: {id}"), &answer));
        }
        act(&server, script, slot).await;
        for number in 0..2 {
            let id = format!("other-{slot}-{number}");
            for answer in [server.reward(&id, 0.5).await, activate(&server, &id).await] {
                lines.push(masked(&format!("slot {slot}: {id}"), &answer));
            }
        }
        // Before the slot ends and after it: a tick hides what happened to the slots that it closes.
        lines.extend(everything(&server, slot).await);
        clock.pass(TICK);
        let home = server.service.central("home").unwrap();
        let rewards = home.counts.rewards.load(std::sync::atomic::Ordering::Relaxed);
        let due = match serving.ticks {
            Ticks::ByClock => true,
            Ticks::AfterRewards(needed) => rewards >= rewarded + needed,
        };
        if due {
            rewarded = rewards;
            server.service.tick("home").await.unwrap();
        }
        lines.extend(everything(&server, slot).await);
    }
    lines
}

/// Does the person's part of one slot.
pub async fn act(server: &Server, script: &Script, slot: u64) {
    for (number, visit) in script.visits.iter().enumerate() {
        let id = format!("own-{number}");
        if visit.slot == slot {
            let times = if script.clumsy { 3 } else { 1 };
            for _ in 0..times {
                ask(server, &id, visit.person, visit.device, visit.age, visit.defer).await;
            }
            if visit.activate {
                activate(server, &id).await.expect(204);
            }
        }
        if let (Some(reward), true) = (visit.reward, visit.slot + 1 == slot) {
            // The answer does not show whether the person was erased before, or whether the reward is the first.
            let times = if script.clumsy { 3 } else { 1 };
            for _ in 0..times {
                server.reward(&id, reward).await.expect(204);
            }
        }
        if script.clumsy && slot == visit.slot + 5 {
            server.reward(&id, 1.0).await.expect(410);
            server.reward("never", 1.0).await.expect(404);
            server.post(&server.app_key, "/v1/loops/home/rank", "{").await.expect(400);
            // Another rank request under a used id: refused, whether there is room or not.
            let other = Some("another person");
            let refused = ask(server, &id, other, visit.device, visit.age, visit.defer).await;
            assert!([409, 429].contains(&refused.status), "{refused:?}");
        }
    }
    if script.erased == Some(slot) {
        let body = "{\"person\": \"anna\"}";
        server.post(&server.admin_key, "/v1/people/erase", body).await.expect(200);
    }
}

async fn ask(
    server: &Server,
    id: &str,
    person: Option<&str>,
    device: &str,
    age: f64,
    defer: bool,
) -> Answer {
    let body = serde_json::json!({
        "event_id": id, "person": person, "context": {"device": device, "age": age}, "defer": defer,
        "actions": [{"id": "a", "features": {"topic": "news"}}, {"id": "b", "features": {"topic": "sport"}}],
    });
    server.post(&server.app_key, "/v1/loops/home/rank", &body.to_string()).await
}

async fn activate(server: &Server, id: &str) -> Answer {
    server.post(&server.app_key, &format!("/v1/loops/home/events/{id}/activate"), "").await
}

/// The same store and clock under a new process. Its keys stay those of the old one, and its loop is at once where it was.
async fn restarted(mut old: Server, setup: Setup) -> Server {
    old.stop.take().unwrap().send(()).unwrap();
    old.task.take().unwrap().await.unwrap();
    Server::set_up(setup).await
}
