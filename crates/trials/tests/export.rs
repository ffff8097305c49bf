//! An export of the service, read by the laboratory.

use std::sync::Arc;

use reticent_lab::Experiment;
use reticent_server::{
    client::Endpoint,
    clock::ManualClock,
    config::ServiceFile,
    http::{App, HttpLimits, KeyRing, Role, make_key, serve},
    loops::{Limits, RewardRequest},
    secret::Secret,
    service::{Options, Service},
    store::{MemoryStore, Store},
};
use tokio::net::TcpListener;

const START: u64 = 1_800_000_000_000;

const LOOP: &str = r#"
    [loop.home]
    privacy = { epsilon = 1.0, delta = 1e-6, visits = 2, per = "30 days" }
    learner = { tick = "10 seconds", forget = "1 day" }
    reward = { range = [0, 1], window = "1 minute" }
    retain = "30 days"
    [loop.home.context]
    device = { categories = ["phone", "computer"] }
    [loop.home.action]
    topic = { categories = ["news", "sport"] }
"#;

/// A rank request of a person.
fn request(person: u32) -> serde_json::Value {
    serde_json::json!({
        "event_id": format!("e{person}"), "person": format!("p{person}"), "context": {"device": "phone"},
        "actions": [{"id": "a", "features": {"topic": "news"}}, {"id": "b", "features": {"topic": "sport"}}],
    })
}

/// The export as CSV of 60 rewarded events.
async fn export() -> String {
    let clock = Arc::new(ManualClock::at(START));
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new([7; 16]));
    let options = Options {
        plans: ServiceFile::parse(LOOP).unwrap().check().unwrap(),
        store: Arc::clone(&store),
        clock: clock.clone(),
        people: Secret::from_bytes([3; 32]),
        earlier_people: Vec::new(),
        events: Secret::from_bytes([5; 32]),
        witness: None,
        limits: Limits::default(),
        seal_key: None,
    };
    let service = Service::open(options).await.unwrap();
    for person in 0..60 {
        let request = serde_json::from_value(request(person)).unwrap();
        service.rank("home", request).await.unwrap();
        let reward = RewardRequest { value: f64::from(person % 4) / 4.0, idempotency_key: None };
        service.reward("home", &format!("e{person}"), reward).await.unwrap();
    }
    clock.pass(120_000);
    service.tick("home").await.unwrap();
    let key = make_key(store.as_ref(), None, vec![Role::Admin], START).await.unwrap();
    let keys = Arc::new(KeyRing::open(store.as_ref()).await.unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let app = App::new(service, keys, HttpLimits::default(), false);
    let served = tokio::spawn(serve(app, listener, None, std::future::pending()));
    let endpoint = Endpoint::new(&address, Some(key), None).unwrap();
    let csv = endpoint.get("/v1/loops/home/events/export?format=csv").await.unwrap();
    served.abort();
    String::from_utf8(csv).unwrap()
}

#[tokio::test]
async fn an_export_as_csv_is_read_by_kind_logged_with_arms_in_file() {
    let csv = export().await;
    assert_eq!(csv.lines().count(), 61);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("log.csv");
    std::fs::write(&file, &csv).unwrap();
    let text = format!(
        "name = \"t\"\nrounds = 30\n[environment]\nkind = \"logged\"\nfile = {file:?}\narms_in_file = true\n[[algorithm]]\nkind = \"linucb\""
    );
    let experiment = Experiment::parse(&text).unwrap_or_else(|error| panic!("{error}"));
    experiment.simulate(|_, _| ()).unwrap();
    // A line that was tampered with is noticed, so that the reader does read the features.
    std::fs::write(&file, csv.replacen(",0,", ",2,", 50)).unwrap();
    assert!(Experiment::parse(&text).is_err());
}
