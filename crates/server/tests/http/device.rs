//! Devices and a shuffler over real sockets.

use std::{sync::Arc, time::Duration};

use reticent::features::Value;
use reticent_device as device;
use reticent_server::{
    Error,
    client::{Body, Device, Endpoint},
    clock::{Clock, ManualClock},
    config::ServiceFile,
    http::{App, HttpLimits, KeyRing, Role, make_key, serve},
    loops::Limits,
    run::Listen,
    secret::Secret,
    service::{Options, Service},
    shuffle::{ShuffleOptions, run_shuffler},
    store::{MemoryStore, Store},
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::oneshot,
};

use crate::common::{Answer, START, Server, exchange, request};

const LOOPS: &str = r#"
    [loop.news]
    trust = "device"
    purpose = "which story stands first"
    privacy = { epsilon = 8.0, delta = 1e-6, visits = 2, per = "ever" }
    learner = { tick = "1 minute" }
    device = { levels = [1.0, 8.0] }
    [loop.news.action]
    topic = { categories = ["news", "sport"] }

    [loop.mixed]
    trust = "shuffler"
    privacy = { epsilon = 4.0, delta = 1e-3, visits = 1, per = "ever" }
    learner = { tick = "1 minute" }
    shuffle = { batch = 4, cap = 4 }
    [loop.mixed.action]
    topic = { categories = ["news", "sport"] }

    [loop.home]
    privacy = { epsilon = 1.0, delta = 1e-6 }
    [loop.home.action]
    topic = { categories = ["news", "sport"] }
"#;

async fn start() -> Server {
    let clock = Arc::new(ManualClock::at(START));
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new([7; 16]));
    let options = Options {
        plans: ServiceFile::parse(LOOPS).unwrap().check().unwrap(),
        store: Arc::clone(&store),
        clock: clock.clone(),
        people: Secret::from_bytes([3; 32]),
        earlier_people: Vec::new(),
        events: Secret::from_bytes([5; 32]),
        witness: None,
        limits: Limits::default(),
        seal_key: Some(Secret::from_bytes([6; 32]).seal_key()),
    };
    let service = Service::open(options).await.unwrap();
    let admin_key = make_key(store.as_ref(), None, vec![Role::Admin], START).await.unwrap();
    let keys = Arc::new(KeyRing::open(store.as_ref()).await.unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let app = App::new(Arc::clone(&service), Arc::clone(&keys), HttpLimits::default(), false);
    let (stop, stopped) = oneshot::channel::<()>();
    let task = tokio::spawn(serve(app, listener, None, async move {
        let _ = stopped.await;
    }));
    Server {
        address,
        clock,
        service,
        store,
        keys,
        app_key: String::new(),
        read_key: String::new(),
        admin_key,
        stop: Some(stop),
        task: Some(task),
    }
}

fn endpoint(server: &Server, key: &str) -> Endpoint {
    Endpoint::new(&format!("http://{}", server.address), Some(key.into()), None).unwrap()
}

fn actions() -> [Value; 2] {
    ["news", "sport"].map(|topic| Value::from_iter([("topic", topic)]))
}

/// The limits of a person who accepts the delta of the loop with a shuffler.
fn device_limits() -> device::Limits {
    device::Limits { delta: 1e-3, ..device::Limits::of("mixed") }
}

async fn tick(server: &Server, name: &str) {
    server.clock.pass(60_000);
    server.service.tick(name).await.unwrap();
}

fn number(answer: Answer, field: &str) -> u64 {
    answer.expect(200).json()[field].as_u64().unwrap()
}

#[tokio::test]
async fn a_device_fetches_chooses_and_reports_once_over_http() {
    let server = start().await;
    let key = server.key("news", &[Role::Device]).await;
    let mut device = Device::join(endpoint(&server, &key), "news", 1, None).await.unwrap();
    let choice = device.choose(&Value::Missing, &actions()).unwrap();
    assert!(choice.index() < 2);
    let pending = device.report(&choice, 1.0).unwrap();
    device.send(&pending).await.unwrap();
    // The answer was lost: the same bytes again.
    device.send(&pending).await.unwrap();
    tick(&server, "news").await;
    let model = server.get(&key, "/v1/loops/news/model").await;
    assert_eq!((number(model.clone(), "reports"), number(model, "sequence")), (1, 1));
    assert_eq!(device.refresh().await.unwrap(), 1);
    // The installation keeps the list of its reports: one more of two.
    let mut again =
        Device::join(endpoint(&server, &key), "news", 0, Some(&pending.ledger)).await.unwrap();
    again.report(&choice, 0.0).unwrap();
    assert!(again.report(&choice, 0.0).is_err());

    let Body::Json(text) = &pending.body else { panic!() };
    let text = String::from_utf8(text.clone()).unwrap();
    let batch = format!("{{\"reports\":[{text},{{}}]}}");
    let answer = server.post(&key, "/v1/loops/news/reports/batch", &batch).await.expect(200);
    assert_eq!(answer.json()["results"][0]["outcome"], "duplicate");
    assert_eq!(answer.json()["results"][1]["problem"]["status"], 422);
    let answer = server.post(&key, "/v1/loops/news/reports", "{\"kind\":\"model\"}").await;
    assert!(answer.expect(422).json()["detail"].as_str().unwrap().contains("kind"));
}

#[tokio::test]
async fn loops_have_the_calls_of_their_trust_and_pages_of_any_origin_may_make_them() {
    let server = start().await;
    let device = server.key("news", &[Role::Device]).await;
    let read = server.key("news", &[Role::Read]).await;
    server.post(&read, "/v1/loops/news/reports", "{}").await.expect(403);
    server.get(&device, "/v1/loops/mixed/protocol").await.expect(403);
    for (path, body) in [
        ("/v1/loops/news/rank", "{}"),
        ("/v1/loops/news/events/x/reward", "{\"value\": 1}"),
        ("/v1/loops/home/reports", "{}"),
        ("/v1/loops/mixed/reports", "{}"),
    ] {
        let answer = server.post(&server.admin_key, path, body).await;
        assert!([404, 422].contains(&answer.status), "{path} {answer:?}");
        assert!(!answer.json()["remedy"].as_str().unwrap().is_empty(), "{path}");
    }
    for path in [
        "/v1/loops/news/events/export",
        "/v1/loops/news/releases",
        "/v1/loops/home/protocol",
        "/v1/loops/news/sealing",
    ] {
        server.get(&server.admin_key, path).await.expect(404);
    }
    // A browser asks first, without a key.
    let asked = server.send("OPTIONS", "/v1/loops/news/reports", &[], "").await.expect(204);
    assert_eq!(asked.header("access-control-allow-origin"), Some("*"));
    assert!(asked.header("access-control-allow-headers").unwrap().contains("authorization"));
    for answer in [
        server.get(&device, "/v1/loops/news/model").await.expect(200),
        server.get("no key", "/v1/loops/news/model").await.expect(401),
    ] {
        assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
    }
    // Only devices' calls.
    let other = server.get(&server.admin_key, "/v1/loops").await.expect(200);
    assert_eq!(other.header("access-control-allow-origin"), None);
    assert_eq!(other.json()["devices"][1]["name"], "news");
    let certificate = server.get(&read, "/v1/loops/news/certificate").await.expect(200).json();
    assert!(certificate["sentence"].as_str().unwrap().contains("local"), "{certificate}");
    assert!(certificate["together"]["lives"].as_array().unwrap().len() == 2);
    for page in
        ["/", "/loops/news", "/loops/news/certificate", "/loops/mixed/certificate", "/certificate"]
    {
        let body = signed_in(&server, page).await;
        assert!(body.contains("news") || body.contains("mixed"), "{page}");
    }
    assert!(signed_in(&server, "/loops/news/certificate").await.contains("storage"));
    // What the server counts of reports is no secret to who may read, and there is nothing else.
    let metrics = server.get(&read, "/metrics").await.expect(200).body;
    assert!(metrics.contains("reticent_refused_reports_total{loop=\"news\"} 0"), "{metrics}");
    assert!(!metrics.contains("mixed") && !metrics.contains("home"), "{metrics}");
}

#[tokio::test]
async fn what_devices_fetch_is_public_and_has_a_tag() {
    let server = start().await;
    for path in ["/v1/loops/news/protocol", "/v1/loops/news/model", "/v1/loops/mixed/protocol"] {
        let answer = server.send("GET", path, &[], "").await.expect(200);
        let tag = answer.header("etag").unwrap().to_string();
        assert_eq!(answer.header("cache-control"), Some("public, no-cache"), "{path}");
        for known in [tag.clone(), format!("\"x\", W/{tag}"), "*".into()] {
            let asked = [&format!("If-None-Match: {known}")[..]];
            let same = server.send("GET", path, &asked, "").await.expect(304);
            assert!(same.body.is_empty() && same.header("etag") == Some(&tag));
        }
        let other = server.send("GET", path, &["If-None-Match: \"x\""], "").await.expect(200);
        assert_eq!(other.body, answer.body);
    }
    // The tag of a model changes with it, that of a protocol does not.
    let tag = async |path: &str| {
        let answer = server.send("GET", path, &[], "").await.expect(200);
        answer.header("etag").unwrap().to_string()
    };
    let paths = ["/v1/loops/news/protocol", "/v1/loops/news/model"];
    let before = [tag(paths[0]).await, tag(paths[1]).await];
    tick(&server, "news").await;
    let after = [tag(paths[0]).await, tag(paths[1]).await];
    assert!(before[0] == after[0] && before[1] != after[1]);
    // Everything else needs a key: reports, loops of a curator, and names that no loop has.
    for path in ["/v1/loops/home/model", "/v1/loops/nothing/protocol", "/v1/loops/news/certificate"]
    {
        server.send("GET", path, &[], "").await.expect(401);
    }
    let json = ["Content-Type: application/json"];
    server.send("POST", "/v1/loops/news/reports", &json, "{}").await.expect(401);
    // A key that is wrong is not the same as none.
    server.get("no key", "/v1/loops/news/protocol").await.expect(401);
}

/// A page as a caller sees it who has signed in with the admin key.
async fn signed_in(server: &Server, page: &str) -> String {
    let form = "Content-Type: application/x-www-form-urlencoded";
    let body = format!("key={}", server.admin_key);
    let answer = server.send("POST", "/sign-in", &[form], &body).await.expect(303);
    let cookie = answer.header("set-cookie").unwrap().split(';').next().unwrap().to_string();
    server.send("GET", page, &[&format!("Cookie: {cookie}")], "").await.expect(200).body
}

#[tokio::test]
async fn sealed_reports_pass_a_shuffler_and_are_learnt_from() {
    let server = start().await;
    let key = server.key("mixed", &[Role::Shuffle]).await;
    let device_key = server.key("mixed", &[Role::Device]).await;
    let folder = tempfile::tempdir().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let (sender, receiver) = oneshot::channel();
    let options = ShuffleOptions {
        plans: ServiceFile::parse(LOOPS).unwrap().check().unwrap(),
        data: folder.path().join("data"),
        server: endpoint(&server, &key),
        listen: Listen { address: "127.0.0.1:0".parse().unwrap(), tls: None, behind_proxy: false },
        limits: HttpLimits::default(),
    };
    let shuffler = tokio::spawn(run_shuffler(
        options,
        |address| {
            let _ = sender.send(address);
        },
        async move { drop(stopped.await) },
    ));
    let address = receiver.await.unwrap();
    let to_shuffler = Endpoint::new(&format!("http://{address}"), None, None).unwrap();
    // Reports are taken when the shuffler has heard from its server.
    while let Err(error) = to_shuffler.get("/readyz").await {
        assert!(matches!(error, Error::Unavailable(_)), "{error}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    for reward in [0.0, 1.0, 1.0, 1.0] {
        let mut device = Device::join_through_within(
            endpoint(&server, &device_key),
            to_shuffler.clone(),
            device_limits(),
            None,
        )
        .await
        .unwrap();
        let choice = device.choose(&Value::Missing, &actions()).unwrap();
        let pending = device.report(&choice, reward).unwrap();
        device.send(&pending).await.unwrap();
        device.send(&pending).await.unwrap();
    }
    // The shuffler looks every 0.5 s.
    let mut looks = 0;
    while number(server.get(&key, "/v1/loops/mixed/batches").await, "next") == 0 {
        looks += 1;
        assert!(looks < 100, "no batch came");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    tick(&server, "mixed").await;
    assert_eq!(number(server.get(&device_key, "/v1/loops/mixed/model").await, "reports"), 4);
    // Of a body that is longer than every report of the loop no more is read than such a report has.
    let headers = ["Content-Type: application/octet-stream"];
    let long = request("POST", "/v1/loops/mixed/reports", &headers, &"x".repeat(4096));
    let refused = exchange(TcpStream::connect(address).await.unwrap(), &long).await.expect(422);
    assert!(refused.body.contains("report: got more than "), "{refused:?}");
    // Devices and the server hash the same parameters.
    let sealing = server.get(&device_key, "/v1/loops/mixed/sealing").await.expect(200).json();
    let batches = server.get(&key, "/v1/loops/mixed/batches").await.expect(200).json();
    assert_eq!(sealing["protocol"].as_str().unwrap().len(), 64);
    assert_eq!((&sealing["batch"], &sealing["honest"]), (&4.into(), &2.into()));
    assert_eq!(batches["protocol"], sealing["protocol"]);
    // Reports of such a loop are taken by the shuffler alone, and batches from its key alone.
    let join = |shuffler| {
        let server = endpoint(&server, &device_key);
        Device::join_through_within(server, shuffler, device_limits(), None)
    };
    let refused = join(endpoint(&server, &device_key)).await.err().unwrap().to_string();
    assert!(refused.contains("the address of the server"), "{refused}");
    let mut device = join(to_shuffler.clone()).await.unwrap();
    let choice = device.choose(&Value::Missing, &actions()).unwrap();
    let pending = device.report(&choice, 1.0).unwrap();
    let direct = endpoint(&server, &device_key);
    assert!(direct.post("/v1/loops/mixed/reports", pending.body).await.is_err());
    server.post(&device_key, "/v1/loops/mixed/batches", "{}").await.expect(403);
    let _ = stop.send(());
    shuffler.await.unwrap().unwrap();
    assert!(matches!(to_shuffler.get("/healthz").await, Err(Error::Unavailable(_))));
    let _ = server.clock.now();
}
