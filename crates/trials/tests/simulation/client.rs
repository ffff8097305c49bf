//! Clients that write everything down: what they sent, what they were answered, and when.

use std::{cell::Cell, collections::BTreeMap, future::Future, rc::Rc, sync::Arc};

use reticent::features::Value;
use reticent_server::{
    Error, Result,
    loops::{RankAnswer, RankRequest, RewardRequest},
};
use reticent_trials::history::{Attempt, History, Reply};
use serde_json::json;

use super::{
    process::{Process, Setup},
    timeline::Timeline,
};

/// Time for an answer, in microseconds; later it counts as lost.
const PATIENCE: u64 = 5_000_000;

/// Histories of the clients of each loop.
pub type Histories = BTreeMap<&'static str, History>;

/// State that all clients share.
pub struct Shared {
    timeline: Timeline,
    setup: Arc<Setup>,
    /// Rank requests that are still to be sent.
    left: Cell<u64>,
    moment: Cell<u64>,
    /// Counts events whose id several clients use.
    common: Cell<u64>,
    /// Begins the ids of this phase.
    phase: Cell<u64>,
    template: RankRequest,
    contexts: Vec<Value>,
}

fn next(cell: &Cell<u64>) -> u64 {
    cell.replace(cell.get() + 1)
}

impl Shared {
    pub fn new(setup: &Arc<Setup>) -> Rc<Self> {
        let actions = json!([
            {"id": "n", "features": {"topic": "news"}},
            {"id": "s", "features": {"topic": "sport"}},
        ]);
        let context = |age| serde_json::from_value(json!({"age": age})).unwrap();
        Rc::new(Shared {
            timeline: setup.timeline.clone(),
            setup: Arc::clone(setup),
            left: Cell::new(0),
            moment: Cell::new(0),
            common: Cell::new(0),
            phase: Cell::new(0),
            template: serde_json::from_value(json!({"actions": actions})).unwrap(),
            contexts: (18..80).map(context).collect(),
        })
    }

    /// Lets `clients` clients send `requests` rank requests, and returns their histories.
    pub async fn load(self: &Rc<Self>, clients: u64, requests: u64) -> Histories {
        self.left.set(requests);
        let phase = next(&self.phase);
        let client = |number| Client::new(Rc::clone(self), format!("{phase}-{number}")).run();
        let clients: Vec<_> = (0..clients).map(client).collect();
        let mut all = Histories::new();
        for histories in futures_util::future::join_all(clients).await {
            merge(&mut all, histories);
        }
        all
    }
}

/// Adds what other clients know.
pub fn merge(histories: &mut Histories, more: Histories) {
    for (name, history) in more {
        histories.entry(name).or_default().merge(history);
    }
}

/// An event that the client may reward.
struct Known {
    name: &'static str,
    id: String,
    rewards: u64,
}

struct Client {
    shared: Rc<Shared>,
    name: String,
    heads: BTreeMap<&'static str, String>,
    known: Vec<Known>,
    histories: Histories,
    made: u64,
}

impl Client {
    fn new(shared: Rc<Shared>, name: String) -> Self {
        let (heads, histories) = (BTreeMap::new(), Histories::new());
        Client { shared, name, heads, known: Vec::new(), histories, made: 0 }
    }

    async fn run(mut self) -> Histories {
        while self.shared.left.get() > 0 {
            match self.below(20) {
                0..8 => self.rank().await,
                8 => self.rank_many().await,
                9..17 => self.reward().await,
                _ => self.activate().await,
            }
            let pause = self.below(150_000);
            self.shared.timeline.sleep(pause).await;
        }
        self.histories
    }

    fn below(&self, bound: u64) -> u64 {
        self.shared.timeline.below(bound)
    }

    fn made(&mut self) -> u64 {
        self.made += 1;
        self.made
    }

    fn history(&mut self, name: &'static str) -> &mut History {
        self.histories.entry(name).or_default()
    }

    /// A rank request under a new id, or under one that other clients use at the same time.
    fn rank_request(&mut self) -> (String, RankRequest) {
        let left = &self.shared.left;
        left.set(left.get().saturating_sub(1));
        let (number, phase) = (self.made(), self.shared.phase.get());
        let id = match self.below(8) {
            0 => format!("common-{phase}-{}", next(&self.shared.common) / 3),
            _ => format!("{}-{number}", self.name),
        };
        let person = match self.below(6) {
            0 => None,
            // All clients use these, so that their visits are used up.
            1 | 2 => Some(format!("common-{}", self.below(40))),
            _ => Some(format!("{}-{number}", self.name)),
        };
        let request = RankRequest {
            event_id: Some(id.clone()),
            person,
            context: self.context(),
            defer: self.below(6) == 0,
            ..self.shared.template.clone()
        };
        (id, request)
    }

    fn context(&self) -> Value {
        self.shared.contexts[self.below(60) as usize].clone()
    }

    async fn rank(&mut self) {
        let name = if self.below(3) == 0 { "other" } else { "home" };
        let (id, request) = self.rank_request();
        self.rank_once(name, &id, request.clone()).await;
        while self.below(4) == 0 {
            // Again, and sometimes with another body.
            let mut again = request.clone();
            if self.below(3) == 0 {
                again.context = self.context();
            }
            self.rank_once(name, &id, again).await;
        }
        self.known.push(Known { name, id, rewards: 0 });
    }

    async fn rank_once(&mut self, name: &'static str, id: &str, request: RankRequest) {
        let attempts = self.rank_all(name, vec![request]).await;
        for (request, sent, answered, reply) in attempts {
            let attempt = Attempt { request, sent, answered, reply };
            self.history(name).event(id).ranks.push(attempt);
        }
    }

    async fn rank_many(&mut self) {
        let name = if self.below(3) == 0 { "other" } else { "home" };
        let drawn: Vec<_> = (0..1 + self.below(5)).map(|_| self.rank_request()).collect();
        let (ids, requests): (Vec<String>, Vec<RankRequest>) = drawn.into_iter().unzip();
        let attempts = self.rank_all(name, requests).await;
        for (id, (request, sent, answered, reply)) in ids.into_iter().zip(attempts) {
            let attempt = Attempt { request, sent, answered, reply };
            self.history(name).event(&id).ranks.push(attempt);
            self.known.push(Known { name, id, rewards: 0 });
        }
    }

    async fn rank_all(
        &mut self,
        name: &'static str,
        requests: Vec<RankRequest>,
    ) -> Vec<(RankRequest, u64, u64, Reply<RankAnswer>)> {
        let (asked, token) = (requests.clone(), self.heads.get(name).cloned());
        let call = async move |process: Arc<Process>| {
            // As HTTP does with the header that echoes a head.
            if let Some(token) = token {
                process.service.notice(name, &token).await?;
            }
            process.service.rank_all(name, asked).await
        };
        let (sent, answered, reply) = self.send(call).await;
        let mut replies: Vec<Reply<RankAnswer>> = match reply {
            Ok(answers) => answers.into_iter().map(reply_of).collect(),
            Err(None) => requests.iter().map(|_| Reply::Lost).collect(),
            Err(Some(status)) => requests.iter().map(|_| Reply::Refused(status)).collect(),
        };
        for reply in &replies {
            if let Reply::Taken(answer) = reply {
                self.heads.insert(name, answer.head.clone());
            }
        }
        replies.resize_with(requests.len(), || Reply::Lost);
        let attempts = requests.into_iter().zip(replies);
        attempts.map(|(request, reply)| (request, sent, answered, reply)).collect()
    }

    /// An event of this client: a recent one, or any, whose window has often ended.
    fn event(&mut self) -> Option<usize> {
        let count = self.known.len() as u64;
        match (count, self.below(10)) {
            (0, _) => None,
            (_, 0) => Some(self.below(count) as usize),
            _ => Some((count - 1 - self.below(count.min(12))) as usize),
        }
    }

    async fn reward(&mut self) {
        let Some(event) = self.event() else { return };
        self.known[event].rewards += 1;
        // A row remembers 64 keys, and an id is known up to three times.
        if self.known[event].rewards > 20 {
            return;
        }
        let (name, id) = (self.known[event].name, self.known[event].id.clone());
        let value = self.below(1 << 20) as f64 / (1 << 21) as f64;
        let number = self.made();
        let key = format!("{}-{number}", self.name);
        let idempotency_key = Some(key).filter(|_| self.below(4) > 0);
        let request = RewardRequest { value, idempotency_key };
        loop {
            let (event, sending) = (id.clone(), request.clone());
            let call = async move |process: Arc<Process>| {
                process.service.reward(name, &event, sending).await
            };
            let (sent, answered, reply) = self.send(call).await;
            let attempt =
                Attempt { request: request.clone(), sent, answered, reply: replied(reply) };
            self.history(name).event(&id).rewards.push(attempt);
            if request.idempotency_key.is_none() || self.below(3) > 0 {
                return;
            }
        }
    }

    async fn activate(&mut self) {
        let Some(event) = self.event() else { return };
        let (name, id) = (self.known[event].name, self.known[event].id.clone());
        let sending = id.clone();
        let call =
            async move |process: Arc<Process>| process.service.activate(name, &sending).await;
        let (sent, answered, reply) = self.send(call).await;
        let attempt = Attempt { request: (), sent, answered, reply: replied(reply) };
        self.history(name).event(&id).activations.push(attempt);
    }

    /// Sends something to one of the processes, and waits for the answer as long as a client does. The status of a refusal, none if no answer came.
    async fn send<T, F: Future<Output = Result<T>>>(
        &self,
        call: impl FnOnce(Arc<Process>) -> F,
    ) -> (u64, u64, Result<T, Option<u16>>) {
        let (timeline, sent) = (&self.shared.timeline, next(&self.shared.moment));
        let processes = self.shared.setup.processes();
        let reply = match processes.len() as u64 {
            0 => {
                timeline.sleep(50_000).await;
                Err(None)
            }
            count => {
                let process = &processes[timeline.below(count) as usize];
                let way = timeline.below(1000);
                timeline.sleep(way).await;
                let answer = async {
                    process.link.runs().await;
                    let answer = call(Arc::clone(process)).await;
                    process.link.runs().await;
                    answer
                };
                tokio::select! {
                    biased;
                    answer = answer => answer.map_err(|error| status(&error)),
                    () = process.link.ended(timeline) => Err(None),
                    () = timeline.sleep(PATIENCE) => Err(None),
                }
            }
        };
        (sent, next(&self.shared.moment), reply)
    }
}

fn replied<T>(reply: Result<T, Option<u16>>) -> Reply<T> {
    match reply {
        Ok(answer) => Reply::Taken(answer),
        Err(Some(status)) => Reply::Refused(status),
        Err(None) => Reply::Lost,
    }
}

fn reply_of<T>(answer: Result<T>) -> Reply<T> {
    replied(answer.map_err(|error| status(&error)))
}

/// The status of an error that says that nothing has changed; none where it may have.
fn status(error: &Error) -> Option<u16> {
    match error {
        Error::Invalid { .. } => Some(422),
        Error::Unknown { .. } => Some(404),
        Error::Conflict(_) => Some(409),
        Error::Late(_) => Some(410),
        Error::TooMany { .. } => Some(429),
        Error::Unavailable(_) | Error::Store(_) | Error::Core(_) => None,
    }
}
