//! Two processes on one database, of which one is killed with -9, or stopped, while the other serves. A client that tries another address after an error or a
//! timeout sees no error at all: every call ends with success in bounded time, and none is lost or counted twice.

use std::{
    net::TcpStream,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use reticent_server::{
    loops::{RankAnswer, RewardRequest},
    store::PostgresStore,
};
use reticent_trials::history::{Attempt, Reply};
use serde_json::{Value, json};

use super::{
    Histories, Shared,
    client::{exchange, of, reply, reward_json},
    database::{Pair, Replica, testing},
    examine, folder, runtime,
};

/// A window that outlasts every call: a reward that comes too late is refused, whatever happened to the service.
const FILE: &str = r#"
    [loop.home]
    privacy = { epsilon = 1.0, delta = 1e-6, visits = 3, per = "ever" }
    reward = { range = [0, 1], window = "20 s", combine = "sum" }
    learner = { tick = "50 ms", horizon = 1000000 }
    retain = "1 day"
    [loop.home.action]
    topic = { categories = ["news", "sport"] }
"#;

/// Clients at the same time.
const CALLERS: usize = 3;

/// After so long without an answer a client tries the other address.
const TIMEOUT: Duration = Duration::from_millis(700);

/// Every call ends within this time. A process that is stopped in a transaction holds its locks for 3 seconds, and no longer.
const BOUND: Duration = Duration::from_secs(8);

/// A client that tries the other address after an error or a timeout.
struct Caller {
    number: usize,
    shared: Arc<Shared>,
    at: usize,
    stream: Option<TcpStream>,
    histories: Histories,
    calls: u64,
    retries: u64,
    /// The longest call while one of them was killed, and while one was stopped.
    longest: [Duration; 2],
    stopped: Arc<AtomicBool>,
}

impl Caller {
    fn run(mut self, stop: &AtomicBool) -> Self {
        for event in 0.. {
            if stop.load(Ordering::SeqCst) {
                return self;
            }
            self.visit(&format!("{}-{event}", self.number));
        }
        self
    }

    /// A rank request and its reward.
    fn visit(&mut self, id: &str) {
        let body = json!({
            "event_id": id, "person": id,
            "actions": [{"id": "n", "features": {"topic": "news"}}, {"id": "s", "features": {"topic": "sport"}}],
        });
        let read = |answer: &str| serde_json::from_str::<RankAnswer>(answer).ok();
        let ranks = self.call("rank", &body, read).into_iter();
        let request: Vec<_> =
            ranks.map(|one| of(serde_json::from_value(body.clone()).unwrap(), one)).collect();
        let reward = RewardRequest { value: 0.25, idempotency_key: Some("once".into()) };
        let path = format!("events/{id}/reward");
        let rewards = self.call(&path, &reward_json(&reward), |_| Some(()));
        let history = self.histories.loops.entry("home").or_default().event(id);
        history.ranks.extend(request);
        history.rewards.extend(rewards.into_iter().map(|one| of(reward.clone(), one)));
    }

    /// Calls one address and then the other until one has acknowledged it: all attempts.
    fn call<A>(
        &mut self,
        path: &str,
        body: &Value,
        read: impl Fn(&str) -> Option<A>,
    ) -> Vec<Attempt<(), A>> {
        let text = self.shared.post("home", path, body, None);
        let (begun, mut attempts) = (Instant::now(), Vec::new());
        loop {
            let sent = self.shared.moment();
            let answer = self.connect().and_then(|stream| exchange(stream, &text));
            let answered = self.shared.moment();
            let reply = reply(answer, &read);
            if let Reply::Refused(status) = &reply {
                panic!("a call was refused with {status}");
            }
            let is_taken = matches!(reply, Reply::Taken(_));
            attempts.push(Attempt { request: (), sent, answered, reply });
            let took = begun.elapsed();
            assert!(took < BOUND, "a call took {:.1} s", took.as_secs_f64());
            if is_taken {
                let longest = &mut self.longest[usize::from(self.stopped.load(Ordering::SeqCst))];
                *longest = took.max(*longest);
                self.calls += 1;
                return attempts;
            }
            self.retries += 1;
            (self.at, self.stream) = (self.at + 1, None);
        }
    }

    fn connect(&mut self) -> Option<&mut TcpStream> {
        if self.stream.is_none() {
            let stream = TcpStream::connect_timeout(&self.shared.address(self.at), TIMEOUT).ok()?;
            stream.set_nodelay(true).unwrap();
            stream.set_read_timeout(Some(TIMEOUT)).unwrap();
            self.stream = Some(stream);
        }
        self.stream.as_mut()
    }
}

#[test]
fn one_process_is_killed_while_the_other_serves_and_a_client_that_retries_sees_no_error() {
    // One of its own: other tests let theirs crash.
    let Some(cluster) = testing::Cluster::of_ones_own() else { return };
    let (folder, url) = (folder("failover"), cluster.empty());
    let Pair { keys, data, starts, mut replicas } =
        Pair::start(FILE, &folder, &[url.clone(), url.clone()]);
    let shared = Arc::new(Shared::new(keys));
    // Both addresses, with or without a process.
    let serve =
        |replicas: &[Replica; 2]| shared.serve_at(&[0, 1].map(|which| replicas[which].address));
    serve(&replicas);

    let [stop, stopped] = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
    let caller = |number| {
        let caller = Caller {
            number,
            shared: Arc::clone(&shared),
            at: number,
            stream: None,
            histories: Histories::default(),
            calls: 0,
            retries: 0,
            longest: [Duration::ZERO; 2],
            stopped: Arc::clone(&stopped),
        };
        let stop = Arc::clone(&stop);
        std::thread::spawn(move || caller.run(&stop))
    };
    let callers: Vec<_> = (0..CALLERS).map(caller).collect();
    for which in [0, 1] {
        std::thread::sleep(Duration::from_millis(500));
        replicas[which].server.kill();
        // The other one serves alone.
        std::thread::sleep(Duration::from_millis(700));
        replicas[which] = Replica::start(&starts[which]);
        serve(&replicas);
    }
    std::thread::sleep(Duration::from_millis(300));
    stopped.store(true, Ordering::SeqCst);
    replicas[0].server.signal("-STOP");
    std::thread::sleep(Duration::from_millis(1500));
    replicas[0].server.signal("-CONT");
    std::thread::sleep(Duration::from_millis(300));
    stop.store(true, Ordering::SeqCst);
    let (mut histories, mut calls, mut retries) = (Histories::default(), 0, 0);
    let mut longest = [Duration::ZERO; 2];
    for caller in callers {
        let caller = caller.join().expect("every call ends with success");
        histories.merge(caller.histories);
        (calls, retries) = (calls + caller.calls, retries + caller.retries);
        longest = [0, 1].map(|phase| longest[phase].max(caller.longest[phase]));
    }
    println!(
        "{calls} calls of {CALLERS} clients all ended with success, {retries} times at another address. The longest took {} ms while processes were killed, and {} ms while one was stopped",
        longest[0].as_millis(),
        longest[1].as_millis()
    );
    drop(replicas);
    assert!(calls > 200 && retries >= CALLERS as u64, "{calls} calls, {retries} retries");
    runtime().block_on(async {
        let store = PostgresStore::open(&url).await.unwrap();
        let examined = examine(FILE, &store, &histories, &data[0], true).await;
        assert_eq!(examined.violations(), 0, "nothing is lost or counted twice");
        let happened = &examined.loops[0].happened;
        assert_eq!((happened.ranks + happened.rewards) as u64, calls);
        assert_eq!(happened.events as u64, calls / 2);
    });
    let _ = std::fs::remove_dir_all(folder);
}
