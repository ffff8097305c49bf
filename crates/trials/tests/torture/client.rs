//! A client that writes everything down: what it sent, what it was answered, and when.

use std::{
    collections::BTreeMap,
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    sync::{
        Arc, RwLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use reticent_server::loops::{RankAnswer, RankRequest, RewardRequest};
use reticent_trials::history::{Attempt, History, Reply};
use serde_json::{Value, json};

use super::tally::{Met, Tally};

/// Time for an answer; later it counts as lost.
const PATIENCE: Duration = Duration::from_secs(5);

/// A small generator, the same on every machine.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(reticent::hash::mix(seed, 1))
    }

    /// A number below this one.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(1);
        reticent::hash::mix(self.0, 2) % bound
    }
}

/// State that all clients share.
pub struct Shared {
    pub keys: BTreeMap<&'static str, String>,
    addresses: RwLock<Vec<SocketAddr>>,
    moment: AtomicU64,
    /// Counts events whose id several clients use.
    common: AtomicU64,
    /// Counts requests that were acknowledged.
    acknowledged: AtomicU64,
    pub tally: Tally,
}

impl Shared {
    pub fn new(keys: BTreeMap<&'static str, String>) -> Self {
        let [moment, common, acknowledged] = Default::default();
        let (addresses, tally) = Default::default();
        Shared { keys, addresses, moment, common, acknowledged, tally }
    }

    /// Tells the clients where the processes of the service are.
    pub fn serve_at(&self, addresses: &[SocketAddr]) {
        *self.addresses.write().unwrap() = addresses.to_vec();
    }

    /// Number of requests that were acknowledged so far.
    pub fn acknowledged(&self) -> u64 {
        self.acknowledged.load(Ordering::SeqCst)
    }

    /// Last known address of this process.
    pub fn address(&self, which: usize) -> SocketAddr {
        let addresses = self.addresses.read().unwrap();
        addresses[which % addresses.len()]
    }

    /// Address of a random process, if one is known.
    pub fn any_address(&self, random: &mut Random) -> Option<SocketAddr> {
        let addresses = self.addresses.read().unwrap();
        let any = random.below(addresses.len().max(1) as u64) as usize;
        addresses.get(any).copied()
    }

    /// A request, with the last head that its client knows of.
    pub fn post(&self, name: &str, path: &str, body: &Value, head: Option<&String>) -> String {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let head = head.map(|head| format!("Reticent-Head: {head}\r\n")).unwrap_or_default();
        let (key, length) = (&self.keys[name], body.len());
        format!(
            "POST /v1/loops/{name}/{path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n{head}Content-Type: application/json\r\n\
             Content-Length: {length}\r\n\r\n{body}"
        )
    }

    /// A moment that is after all earlier ones.
    pub fn moment(&self) -> u64 {
        self.moment.fetch_add(1, Ordering::SeqCst)
    }
}

/// An event that the client may reward.
struct Known {
    name: &'static str,
    id: String,
    rewards: u64,
}

/// One client.
pub struct Client<'a> {
    number: u64,
    random: Random,
    shared: Arc<Shared>,
    stream: Option<TcpStream>,
    heads: BTreeMap<&'static str, String>,
    known: Vec<Known>,
    histories: BTreeMap<&'static str, History>,
    stop: Option<&'a AtomicBool>,
    events: u64,
    rewards: u64,
}

impl<'a> Client<'a> {
    pub fn new(number: u64, seed: u64, shared: Arc<Shared>) -> Self {
        Client {
            number,
            random: Random::new(reticent::hash::mix(seed, 100 + number)),
            shared,
            stream: None,
            heads: BTreeMap::new(),
            known: Vec::new(),
            histories: BTreeMap::new(),
            stop: None,
            events: 0,
            rewards: 0,
        }
    }

    /// Sends requests until `stop` is set; returns its histories.
    pub fn run(mut self, stop: &'a AtomicBool) -> BTreeMap<&'static str, History> {
        self.stop = Some(stop);
        while !stop.load(Ordering::SeqCst) {
            match self.random.below(20) {
                0..8 => self.rank(),
                8 => self.rank_batch(),
                9..16 => self.reward(),
                16 => self.reward_batch(),
                _ => self.activate(),
            }
        }
        self.histories
    }

    /// A rank request under a new id, or under one that other clients use at the same time.
    fn rank_request(&mut self) -> (&'static str, String, Value) {
        let name = if self.random.below(3) == 0 { "other" } else { "home" };
        let id = match self.random.below(8) {
            0 => format!("common-{}", self.shared.common.fetch_add(1, Ordering::SeqCst) / 3),
            _ => format!("{}-{}", self.number, self.events),
        };
        self.events += 1;
        let (age, defer) = (18 + self.random.below(60), self.random.below(6) == 0);
        let mut body = json!({
            "event_id": id, "context": {"age": age}, "defer": defer,
            "actions": [{"id": "n", "features": {"topic": "news"}}, {"id": "s", "features": {"topic": "sport"}}],
        });
        match self.random.below(6) {
            0 => {}
            // All clients use these, so that their visits are used up.
            1 | 2 => body["person"] = format!("common-{}", self.random.below(40)).into(),
            _ => body["person"] = format!("{}-{}", self.number, self.events).into(),
        }
        (name, id, body)
    }

    fn rank(&mut self) {
        let (name, id, body) = self.rank_request();
        self.rank_once(name, &id, &body);
        while self.random.below(4) == 0 {
            // Again, and sometimes with another body.
            let mut again = body.clone();
            if self.random.below(3) == 0 {
                again["context"]["age"] = (18 + self.random.below(60)).into();
            }
            self.rank_once(name, &id, &again);
        }
        self.remember(name, id);
    }

    fn remember(&mut self, name: &'static str, id: String) {
        self.known.push(Known { name, id, rewards: 0 });
    }

    fn rank_once(&mut self, name: &'static str, id: &str, body: &Value) {
        let request: RankRequest = serde_json::from_value(body.clone()).unwrap();
        let read = |answer: &str| serde_json::from_str::<RankAnswer>(answer).ok();
        let attempt = self.send(name, "rank", body, read);
        let attempt = of(request, attempt);
        if let Some(answer) = attempt.taken() {
            let release = answer.head.split('.').next().and_then(|number| number.parse().ok());
            self.shared.tally.reach(name, Met::Release, release.unwrap_or(0));
            self.heads.insert(name, answer.head.clone());
        }
        self.history(name).event(id).ranks.push(attempt);
    }

    fn rank_batch(&mut self) {
        let (name, id, first) = self.rank_request();
        let mut bodies = vec![(id, first)];
        for _ in 0..self.random.below(5) {
            let (_, id, body) = self.rank_request();
            bodies.push((id, body));
        }
        let requests: Vec<&Value> = bodies.iter().map(|(_, body)| body).collect();
        let batch = json!({ "requests": requests });
        let results = |text: &str| serde_json::from_str::<Value>(text).ok();
        let attempt = self.send(name, "rank/batch", &batch, results);
        for (index, (id, body)) in bodies.into_iter().enumerate() {
            let reply = each(&attempt.reply, index, |result| {
                serde_json::from_value(result["answer"].clone()).ok()
            });
            let request = serde_json::from_value(body).unwrap();
            let one = Attempt { request, sent: attempt.sent, answered: attempt.answered, reply };
            self.history(name).event(&id).ranks.push(one);
            self.remember(name, id);
        }
    }

    /// An event of this client: a recent one, or any, whose window has often ended.
    fn event(&mut self) -> Option<usize> {
        let count = self.known.len() as u64;
        match (count, self.random.below(10)) {
            (0, _) => None,
            (_, 0) => Some(self.random.below(count) as usize),
            _ => Some((count - 1 - self.random.below(count.min(12))) as usize),
        }
    }

    fn new_reward(&mut self, event: usize) -> Option<RewardRequest> {
        self.rewards += 1;
        let known = &mut self.known[event];
        known.rewards += 1;
        // A row remembers 64 keys, and an id is known up to three times.
        let key = (known.rewards <= 20).then(|| format!("{}-{}", self.number, self.rewards))?;
        let value = self.random.below(1 << 20) as f64 / (1 << 21) as f64;
        let idempotency_key = Some(key).filter(|_| self.random.below(4) > 0);
        Some(RewardRequest { value, idempotency_key })
    }

    fn reward(&mut self) {
        let Some(event) = self.event() else { return };
        let Some(request) = self.new_reward(event) else { return };
        let (name, id) = (self.known[event].name, self.known[event].id.clone());
        loop {
            let path = format!("events/{id}/reward");
            let attempt = self.send(name, &path, &reward_json(&request), |_| Some(()));
            let attempt = of(request.clone(), attempt);
            self.history(name).event(&id).rewards.push(attempt);
            if request.idempotency_key.is_none() || self.random.below(3) > 0 {
                return;
            }
        }
    }

    fn reward_batch(&mut self) {
        let Some(first) = self.event() else { return };
        let name = self.known[first].name;
        let mut rewards = Vec::new();
        for _ in 0..4 {
            let event = self.event().filter(|event| self.known[*event].name == name);
            let Some(event) = event else { continue };
            if let Some(request) = self.new_reward(event) {
                rewards.push((self.known[event].id.clone(), request));
            }
        }
        if rewards.is_empty() {
            return;
        }
        let body = |(id, request): &(String, RewardRequest)| {
            let mut body = reward_json(request);
            body["event_id"] = id.clone().into();
            body
        };
        let batch = json!({ "rewards": rewards.iter().map(body).collect::<Vec<_>>() });
        let results = |text: &str| serde_json::from_str::<Value>(text).ok();
        let attempt = self.send(name, "rewards/batch", &batch, results);
        for (index, (id, request)) in rewards.into_iter().enumerate() {
            let reply =
                each(&attempt.reply, index, |result| result["taken"].as_bool()?.then_some(()));
            let one = Attempt { request, sent: attempt.sent, answered: attempt.answered, reply };
            self.history(name).event(&id).rewards.push(one);
        }
    }

    fn activate(&mut self) {
        let Some(event) = self.event() else { return };
        let (name, id) = (self.known[event].name, self.known[event].id.clone());
        let path = format!("events/{id}/activate");
        let attempt = self.send(name, &path, &Value::Null, |_| Some(()));
        self.history(name).event(&id).activations.push(attempt);
    }

    fn history(&mut self, name: &'static str) -> &mut History {
        self.histories.entry(name).or_default()
    }

    /// Sends a request once. An answer that does not come, or cannot be read, is lost.
    fn send<A>(
        &mut self,
        name: &'static str,
        path: &str,
        body: &Value,
        read: impl Fn(&str) -> Option<A>,
    ) -> Attempt<(), A> {
        let text = self.shared.post(name, path, body, self.heads.get(name));
        self.connect();
        let sent = self.shared.moment();
        let answer = self.stream.as_mut().and_then(|stream| exchange(stream, &text));
        let answered = self.shared.moment();
        // Where there are several processes, the next one is another one now and then.
        if answer.is_none() || self.random.below(16) == 0 {
            self.stream = None;
        }
        let reply = reply(answer, read);
        self.shared.tally.request(name, path, &reply);
        if matches!(reply, Reply::Taken(_)) {
            self.shared.acknowledged.fetch_add(1, Ordering::SeqCst);
        }
        Attempt { request: (), sent, answered, reply }
    }

    /// Waits until there is a service to talk to.
    fn connect(&mut self) {
        while self.stream.is_none() && !self.stop.is_some_and(|stop| stop.load(Ordering::SeqCst)) {
            let address = self.shared.any_address(&mut self.random);
            let stream = address.and_then(|address| TcpStream::connect(address).ok());
            if stream.is_none() {
                std::thread::sleep(Duration::from_millis(2));
            }
            self.stream = stream;
        }
        if let Some(stream) = &self.stream {
            stream.set_nodelay(true).unwrap();
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
        }
    }
}

/// Status and body; none if the connection breaks.
pub fn exchange(stream: &mut TcpStream, text: &str) -> Option<(u16, String)> {
    stream.write_all(text.as_bytes()).ok()?;
    let (mut bytes, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8(bytes[..end].to_vec()).ok()?.to_ascii_lowercase();
            let status = head.split(' ').nth(1)?.parse().ok()?;
            let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
            let length: usize = length.map_or(Some(0), |length| length.trim().parse().ok())?;
            if let Some(body) = bytes.get(end + 4..end + 4 + length) {
                return Some((status, String::from_utf8(body.to_vec()).ok()?));
            }
        }
        match stream.read(&mut buffer).ok()? {
            0 => return None,
            count => bytes.extend_from_slice(&buffer[..count]),
        }
    }
}

/// The reply in an answer. An answer that does not come, or cannot be read, is lost.
pub fn reply<A>(answer: Option<(u16, String)>, read: impl Fn(&str) -> Option<A>) -> Reply<A> {
    match answer {
        Some((200..300, body)) => read(&body).map_or(Reply::Lost, Reply::Taken),
        Some((status @ 400..500, _)) => Reply::Refused(status),
        _ => Reply::Lost,
    }
}

/// An attempt with its request.
pub fn of<Q, A>(request: Q, attempt: Attempt<(), A>) -> Attempt<Q, A> {
    let Attempt { sent, answered, reply, .. } = attempt;
    Attempt { request, sent, answered, reply }
}

pub fn reward_json(request: &RewardRequest) -> Value {
    let mut body = json!({ "value": request.value });
    if let Some(key) = &request.idempotency_key {
        body["idempotency_key"] = key.clone().into();
    }
    body
}

/// Outcome of one request of a batch.
fn each<A>(reply: &Reply<Value>, index: usize, read: impl Fn(&Value) -> Option<A>) -> Reply<A> {
    match reply {
        Reply::Lost => Reply::Lost,
        Reply::Refused(status) => Reply::Refused(*status),
        Reply::Taken(batch) => {
            let result = &batch["results"][index];
            match (read(result), result["problem"]["status"].as_u64()) {
                (Some(answer), _) => Reply::Taken(answer),
                (None, Some(status @ 400..500)) => Reply::Refused(status as u16),
                _ => Reply::Lost,
            }
        }
    }
}
