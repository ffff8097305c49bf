//! A service in memory on a socket of its own, with a clock that tests move, and a client that writes requests byte by byte.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use axum::Router;
use reticent_server::{
    clock::ManualClock,
    config::ServiceFile,
    http::{App, HttpLimits, KeyRing, Role, make_key, router, serve},
    loops::Limits,
    secret::Secret,
    service::{Options, Service, Ticked},
    store::{MemoryStore, Store},
};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::oneshot,
    task::JoinHandle,
};

pub const LOOPS: &str = r#"
    [loop.home]
    purpose = "what to show on the home page"
    privacy = { epsilon = 1.0, delta = 1e-6, visits = 2, per = "30 days" }
    learner = { tick = "10 seconds", forget = "1 day" }
    reward = { range = [0, 1], window = "1 minute", combine = "sum" }
    retain = "30 days"
    person_from = "contextFeatures.user.id"
    [loop.home.context]
    device = { categories = ["phone", "computer"] }
    [loop.home.action]
    topic = { categories = ["news", "sport"] }

    [loop.other]
    privacy = { epsilon = 1.0, delta = 1e-6 }
    learner = { tick = "10 seconds", forget = "1 day" }
    reward = { window = "1 minute" }
    baseline = { share = 0.25 }
    [loop.other.action]
    topic = { categories = ["news", "sport"] }
"#;

pub const START: u64 = 1_800_000_000_000;

pub struct Server {
    pub address: SocketAddr,
    pub clock: Arc<ManualClock>,
    pub service: Arc<Service>,
    pub store: Arc<dyn Store>,
    pub keys: Arc<KeyRing>,
    /// A key of the loop `home` that may decide and reward.
    pub app_key: String,
    pub read_key: String,
    pub admin_key: String,
    pub stop: Option<oneshot::Sender<()>>,
    pub task: Option<JoinHandle<()>>,
}

/// Parts of a server.
pub struct Setup {
    /// The file of loops: one of them is `home`.
    pub loops: String,
    pub http: HttpLimits,
    pub tls: Option<Arc<tokio_rustls::rustls::ServerConfig>>,
    pub requests: Limits,
    pub clock: Arc<ManualClock>,
    pub store: Arc<dyn Store>,
    /// A fault around all routes.
    pub planted: Option<Plant>,
}

/// Routes with a fault.
pub type Plant = fn(Router, Arc<Service>) -> Router;

impl Default for Setup {
    fn default() -> Self {
        Setup {
            loops: LOOPS.into(),
            http: HttpLimits::default(),
            tls: None,
            requests: Limits::default(),
            clock: Arc::new(ManualClock::at(START)),
            store: Arc::new(MemoryStore::new([7; 16])),
            planted: None,
        }
    }
}

#[derive(Debug, Clone)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Answer {
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(key, _)| key == name);
        found.next().map(|(_, value)| value.as_str())
    }

    pub fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{self:?}");
        self
    }
}

impl Server {
    pub async fn start() -> Server {
        Self::with(HttpLimits::default()).await
    }

    pub async fn with(limits: HttpLimits) -> Server {
        Self::with_tls(limits, None).await
    }

    pub async fn with_tls(
        limits: HttpLimits,
        tls: Option<Arc<tokio_rustls::rustls::ServerConfig>>,
    ) -> Server {
        Self::set_up(Setup { http: limits, tls, ..Setup::default() }).await
    }

    pub async fn set_up(setup: Setup) -> Server {
        let Setup { loops, http: limits, tls, requests, clock, store, planted } = setup;
        let service = Service::open(Options {
            plans: ServiceFile::parse(&loops).unwrap().check().unwrap(),
            store: Arc::clone(&store),
            clock: clock.clone(),
            people: Secret::from_bytes([3; 32]),
            earlier_people: Vec::new(),
            events: Secret::from_bytes([5; 32]),
            witness: None,
            limits: requests,
            seal_key: None,
        })
        .await
        .unwrap();
        let home = || Some("home".to_string());
        let roles = vec![Role::Decide, Role::Reward];
        let app_key = make_key(store.as_ref(), home(), roles, START).await.unwrap();
        let read_key = make_key(store.as_ref(), home(), vec![Role::Read], START).await.unwrap();
        let admin_key = make_key(store.as_ref(), None, vec![Role::Admin], START).await.unwrap();
        let keys = Arc::new(KeyRing::open(store.as_ref()).await.unwrap());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let app = App::new(Arc::clone(&service), Arc::clone(&keys), limits, tls.is_some());
        let (stop, stopped) = oneshot::channel::<()>();
        let task = match planted {
            None => tokio::spawn(serve(app, listener, tls, async move {
                let _ = stopped.await;
            })),
            Some(plant) => {
                let routes = plant(router(app), Arc::clone(&service));
                tokio::spawn(async move {
                    tokio::select! {
                        served = async { axum::serve(listener, routes).await } => served.unwrap(),
                        _ = stopped => {}
                    }
                })
            }
        };
        Server {
            address,
            clock,
            service,
            store,
            keys,
            app_key,
            read_key,
            admin_key,
            stop: Some(stop),
            task: Some(task),
        }
    }

    /// A key of this loop with these roles, which the service knows.
    pub async fn key(&self, loop_name: &str, roles: &[Role]) -> String {
        let name = Some(loop_name.to_string());
        let key = make_key(self.store.as_ref(), name, roles.to_vec(), START).await.unwrap();
        self.keys.reload(self.store.as_ref()).await.unwrap();
        key
    }

    pub async fn post(&self, key: &str, path: &str, body: &str) -> Answer {
        let key = format!("Authorization: Bearer {key}");
        self.send("POST", path, &[&key, "Content-Type: application/json"], body).await
    }

    pub async fn get(&self, key: &str, path: &str) -> Answer {
        self.send("GET", path, &[&format!("Authorization: Bearer {key}")], "").await
    }

    pub async fn send(&self, method: &str, path: &str, headers: &[&str], body: &str) -> Answer {
        let stream = TcpStream::connect(self.address).await.unwrap();
        exchange(stream, &request(method, path, headers, body)).await
    }

    /// Asks under this event id for this person.
    pub async fn rank(&self, id: &str, person: &str) -> Answer {
        self.post(&self.app_key, "/v1/loops/home/rank", &rank_request(id, person)).await
    }

    pub async fn reward(&self, id: &str, value: f64) -> Answer {
        let path = format!("/v1/loops/home/events/{id}/reward");
        self.post(&self.app_key, &path, &format!("{{\"value\": {value}}}")).await
    }

    /// Lets time pass and ticks all loops.
    pub async fn pass(&self, milliseconds: u64) -> Ticked {
        self.clock.pass(milliseconds);
        self.service.tick("other").await.unwrap();
        self.service.tick("home").await.unwrap()
    }
}

pub fn rank_request(id: &str, person: &str) -> String {
    serde_json::json!({
        "event_id": id, "person": person, "context": {"device": "phone"},
        "actions": [{"id": "a", "features": {"topic": "news"}}, {"id": "b", "features": {"topic": "sport"}}],
    })
    .to_string()
}

pub fn request(method: &str, path: &str, headers: &[&str], body: &str) -> String {
    let mut text = format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n");
    for header in headers {
        text += header;
        text += "\r\n";
    }
    if method != "GET" {
        text += &format!("Content-Length: {}\r\n", body.len());
    }
    text + "\r\n" + body
}

/// Sends bytes and reads the answer to its end.
pub async fn exchange(mut stream: impl AsyncRead + AsyncWrite + Unpin, text: &str) -> Answer {
    // A server that refuses a body early closes while it is still being sent.
    let _ = stream.write_all(text.as_bytes()).await;
    read_answer(&mut stream).await
}

pub async fn read_answer(stream: &mut (impl AsyncRead + Unpin)) -> Answer {
    let mut bytes = Vec::new();
    let reading = stream.read_to_end(&mut bytes);
    let read = tokio::time::timeout(Duration::from_secs(20), reading).await;
    let read = read.expect("the answer has an end");
    assert!(read.is_ok() || !bytes.is_empty(), "{read:?}");
    parse(&String::from_utf8(bytes).unwrap())
}

fn parse(text: &str) -> Answer {
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no head: {text:?}"));
    let mut lines = head.lines();
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let headers: Vec<(String, String)> = lines
        .map(|line| line.split_once(':').unwrap())
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_string()))
        .collect();
    let chunked =
        headers.iter().any(|(name, value)| name == "transfer-encoding" && value == "chunked");
    let body = if chunked { unchunk(body) } else { body.to_string() };
    Answer { status, headers, body }
}

fn unchunk(mut rest: &str) -> String {
    let mut body = String::new();
    loop {
        let (size, after) = rest.split_once("\r\n").expect("a chunk has a size");
        let size = usize::from_str_radix(size.trim(), 16).unwrap();
        if size == 0 {
            return body;
        }
        body += &after[..size];
        rest = &after[size + 2..];
    }
}
