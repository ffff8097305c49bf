//! Whole stores of every version, as a service left them: opened and served by the present program.
//!
//! `vectors/store/VERSION` has the store, its witness, the file of loops and what the service said when it was written. `RETICENT_WRITE_VECTORS=1` writes
//! that of the present version; older ones stay. Contents: a generation that has ended, releases, a person without visits left, an erased one, open
//! events with a reward and without, a deferred one, keys and a revoked one, a loop of devices with a model and a report that waits.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use reticent::features::Value;
use reticent_server::{
    client::{Device, Endpoint},
    clock::ManualClock,
    config::ServiceFile,
    http::{App, HttpLimits, KeyRing, Role, make_key, serve},
    loops::{Limits, verify_chain},
    secret::{Secret, hex},
    service::{Options, Service, Ticked},
    store::{Generation, RedbStore, Store, Witness},
};
use serde_json::json;
use tokio::{net::TcpListener, sync::oneshot};

use crate::common::{START, Server, rank_request};

const LOOPS: &str = r#"[loop.home]
purpose = "what to show on the home page"
privacy = { epsilon = 1.0, delta = 1e-6, visits = 2, per = "30 days" }
learner = { tick = "10 seconds", forget = "1 day" }
reward = { range = [0, 1], window = "1 minute", combine = "sum" }
baseline = { share = 0.25 }
retain = "30 days"
[loop.home.context]
device = { categories = ["phone", "computer"] }
[loop.home.action]
topic = { categories = ["news", "sport"] }

[loop.news]
trust = "device"
privacy = { epsilon = 8.0, delta = 1e-6, visits = 2, per = "ever" }
learner = { tick = "1 minute" }
[loop.news.action]
topic = { categories = ["news", "sport"] }
"#;

/// Bytes that are left out together if they are all zero: an embedded store is mostly empty.
const BLOCK: usize = 512;

/// A file as its length and its blocks that are not empty.
fn pack(bytes: &[u8]) -> Vec<u8> {
    let mut packed = (bytes.len() as u64).to_le_bytes().to_vec();
    for (index, block) in (0_u32..).zip(bytes.chunks(BLOCK)) {
        if block.iter().any(|byte| *byte != 0) {
            packed.extend(index.to_le_bytes());
            packed.extend(block);
        }
    }
    packed
}

fn unpack(packed: &[u8]) -> Vec<u8> {
    let (length, mut rest) = packed.split_first_chunk::<8>().unwrap();
    let mut bytes = vec![0; u64::from_le_bytes(*length) as usize];
    while let Some((index, blocks)) = rest.split_first_chunk::<4>() {
        let at = u32::from_le_bytes(*index) as usize * BLOCK;
        let end = bytes.len().min(at + BLOCK);
        bytes[at..end].copy_from_slice(&blocks[..end - at]);
        rest = &blocks[end - at..];
    }
    bytes
}

/// Serves a store in a folder, with its witness there.
async fn start(folder: &Path, loops: &str, clock: Arc<ManualClock>) -> Server {
    let store: Arc<dyn Store> = Arc::new(RedbStore::open(folder.join("store.redb")).unwrap());
    let options = Options {
        plans: ServiceFile::parse(loops).unwrap().check().unwrap(),
        store: Arc::clone(&store),
        clock: clock.clone(),
        people: Secret::from_bytes([3; 32]),
        earlier_people: Vec::new(),
        events: Secret::from_bytes([5; 32]),
        witness: Some(Witness::open(folder.join("witness")).unwrap()),
        limits: Limits::default(),
        seal_key: Some(Secret::from_bytes([6; 32]).seal_key()),
    };
    let service = Service::open(options).await.unwrap();
    let keys = Arc::new(KeyRing::open(store.as_ref()).await.unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let app = App::new(Arc::clone(&service), Arc::clone(&keys), HttpLimits::default(), false);
    let (stop, stopped) = oneshot::channel::<()>();
    let task = tokio::spawn(serve(app, listener, None, async move {
        let _ = stopped.await;
    }));
    let (app_key, read_key, admin_key) = Default::default();
    let (stop, task) = (Some(stop), Some(task));
    Server { address, clock, service, store, keys, app_key, read_key, admin_key, stop, task }
}

async fn ticks(server: &Server, count: u64) {
    for _ in 0..count {
        server.clock.pass(10_000);
        server.service.tick("home").await.unwrap();
    }
}

/// Statements of the service about its state: numbers and hashes, whose wording may change.
async fn said(server: &Server, key: &str) -> serde_json::Value {
    let get = async |path| server.get(key, path).await.expect(200);
    let certificate = get("/v1/loops/home/certificate").await.json();
    let together = get("/v1/certificate").await.json();
    let home = server.service.central("home").unwrap();
    let visits = server.service.ledger_count(home).await.unwrap().unwrap();
    let news = server.service.reports("news").unwrap().served();
    let generations = server.store.generations().await.unwrap().into_iter();
    let generation = |generation: Generation| {
        (generation.id, format!("{:016x}", generation.params_hash), generation.ended)
    };
    json!({
        "epsilon": certificate["guarantee"]["epsilon"],
        "delta": certificate["guarantee"]["delta"],
        "periods": certificate["periods"],
        "release": certificate["release"],
        "chain": certificate["chain"],
        "lives": together["lives"],
        "epsilon_of_all_loops": together["guarantee"]["epsilon"],
        "releases": get("/v1/loops/home/releases").await.body,
        "generations": generations.map(generation).collect::<Vec<_>>(),
        "open_events": home.open_events(),
        "people": visits.people,
        "without_visits": visits.used_up,
        "erased": server.store.erased().await.unwrap().len(),
        "model": serde_json::from_str::<serde_json::Value>(&news.message).unwrap(),
        "model_chain": hex(&news.chain),
    })
}

/// Makes a store, and returns its expected statements.
async fn make(folder: &Path) -> serde_json::Value {
    let clock = Arc::new(ManualClock::at(START));
    let before = LOOPS.replace("epsilon = 1.0", "epsilon = 0.5");
    let server = start(folder, &before, Arc::clone(&clock)).await;
    ticks(&server, 2).await;
    end(server).await;
    let mut server = start(folder, LOOPS, Arc::clone(&clock)).await;
    server.app_key = server.key("home", &[Role::Decide, Role::Reward]).await;
    let revoked = server.key("home", &[Role::Decide]).await;
    let id = revoked.split('_').nth(1).unwrap().to_string();
    server.store.revoke_key(id.clone(), START).await.unwrap();
    server.service.witness_revoked(&id).await.unwrap();
    let admin = make_key(server.store.as_ref(), None, vec![Role::Admin], START).await.unwrap();
    server.keys.reload(server.store.as_ref()).await.unwrap();
    server.rank("early-1", "anna").await.expect(200);
    server.rank("early-2", "berta").await.expect(200);
    server.rank("early-3", "carla").await.expect(200);
    server.reward("early-1", 1.0).await.expect(204);
    server.post(&admin, "/v1/people/erase", r#"{"person": "carla"}"#).await.expect(200);
    ticks(&server, 9).await;
    let answer = server.rank("open-1", "anna").await.expect(200).json();
    let reward = r#"{"value": 0.5, "idempotency_key": "once"}"#;
    server.post(&server.app_key, "/v1/loops/home/events/open-1/reward", reward).await.expect(204);
    server.rank("open-2", "anna").await.expect(200);
    let deferred = rank_request("open-3", "dora").replacen('{', "{\"defer\": true,", 1);
    server.post(&server.app_key, "/v1/loops/home/rank", &deferred).await.expect(200);
    let device = server.key("news", &[Role::Device]).await;
    let address = format!("http://{}", server.address);
    for _ in 0..2 {
        let endpoint = Endpoint::new(&address, Some(device.clone()), None).unwrap();
        let mut person = Device::join(endpoint, "news", 0, None).await.unwrap();
        let actions = ["news", "sport"].map(|topic| Value::from_iter([("topic", topic)]));
        let choice = person.choose(&Value::Missing, &actions).unwrap();
        let report = person.report(&choice, 1.0).unwrap();
        person.send(&report).await.unwrap();
        // The second one waits for the next model.
        if server.service.reports("news").unwrap().served().number == 0 {
            server.clock.pass(60_000);
            server.service.tick("news").await.unwrap();
        }
    }
    let known = json!({
        "time": server.service.now(),
        "keys": { "app": server.app_key, "admin": admin, "revoked": revoked, "device": device },
        "answer": answer,
        "ids_of_keys": true,
        "said": said(&server, &admin).await,
    });
    // A copy has no pages of earlier states.
    server.store.backup(folder.join("copy.redb")).await.unwrap();
    end(server).await;
    known
}

/// Stops it, so that the file is closed.
async fn end(mut server: Server) {
    let _ = server.stop.take().unwrap().send(());
    server.task.take().unwrap().await.unwrap();
}

fn vectors() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "../../vectors/store"].iter().collect()
}

async fn write(folder: &Path) {
    let made = tempfile::tempdir().unwrap();
    let known = make(made.path()).await;
    fs::create_dir_all(folder).unwrap();
    fs::write(folder.join("loops.toml"), LOOPS).unwrap();
    fs::write(folder.join("known.json"), serde_json::to_string_pretty(&known).unwrap()).unwrap();
    fs::write(folder.join("store.packed"), pack(&fs::read(made.path().join("copy.redb")).unwrap()))
        .unwrap();
    fs::copy(made.path().join("witness"), folder.join("witness")).unwrap();
}

/// Opens a copy of a golden store, and goes on with it.
async fn check(golden: &Path) {
    let read = |name: &str| fs::read_to_string(golden.join(name)).unwrap();
    let known: serde_json::Value = serde_json::from_str(&read("known.json")).unwrap();
    let copy = tempfile::tempdir().unwrap();
    let store = unpack(&fs::read(golden.join("store.packed")).unwrap());
    fs::write(copy.path().join("store.redb"), store).unwrap();
    fs::copy(golden.join("witness"), copy.path().join("witness")).unwrap();
    let clock = Arc::new(ManualClock::at(known["time"].as_u64().unwrap()));
    let mut server = start(copy.path(), &read("loops.toml"), clock).await;
    let key = |name: &str| known["keys"][name].as_str().unwrap().to_string();
    let (admin, revoked) = (key("admin"), key("revoked"));
    server.app_key = key("app");

    // Nothing was rolled back, and nothing has begun anew: certificates, chain, ledger, open events and model are as before.
    let ready = server.send("GET", "/readyz", &[], "").await;
    assert_eq!(ready.status, 200, "{}: {}", golden.display(), ready.body);
    let now = said(&server, &admin).await;
    for (name, before) in known["said"].as_object().unwrap() {
        assert_eq!(&now[name], before, "{} of {}", name, golden.display());
    }
    let listing = known["said"]["releases"].as_str().unwrap();
    let lines = || listing.lines().map(|line| Ok::<_, String>(line.to_string()));
    let chain = verify_chain(lines(), None).unwrap();
    assert_eq!(chain.chain, known["said"]["chain"].as_str().unwrap());

    // The same rank request has the same answer, another one is refused, and rewards are taken and refused as before. Programs that did not bind ids to keys
    // left requests that any key could test: these are refused whatever they are.
    let again = server.rank("open-1", "anna").await;
    if known["ids_of_keys"] == true {
        let again = again.expect(200).json();
        for field in ["event_id", "action", "ranking"] {
            assert_eq!(again[field], known["answer"][field], "{field}");
        }
    } else {
        again.expect(409);
    }
    server.rank("open-1", "berta").await.expect(409);
    let reward = r#"{"value": 0.5, "idempotency_key": "once"}"#;
    server.post(&server.app_key, "/v1/loops/home/events/open-1/reward", reward).await.expect(204);
    server.reward("early-1", 1.0).await.expect(410);
    server.post(&server.app_key, "/v1/loops/home/events/open-3/activate", "").await.expect(204);
    server.post(&revoked, "/v1/loops/home/rank", &rank_request("new", "dora")).await.expect(401);

    // A person without visits left is answered and not counted; the next releases go on with the chain.
    server.rank("new", "anna").await.expect(200);
    assert_eq!(said(&server, &admin).await["people"], known["said"]["people"]);
    let head = chain.last;
    server.clock.pass(10_000);
    let mut ticked = server.service.tick("home").await.unwrap();
    for _ in 0..8 {
        // After time away slots stay open for a minute.
        if ticked == Ticked::Nothing {
            server.clock.pass(10_000);
            ticked = server.service.tick("home").await.unwrap();
        }
    }
    assert_eq!(ticked, Ticked::Released(head + 1));
    let longer = server.get(&admin, "/v1/loops/home/releases").await.expect(200).body;
    assert!(longer.starts_with(listing), "the chain is not gone on with");
    let longer = longer.lines().map(|line| Ok::<_, String>(line.to_string()));
    assert_eq!(verify_chain(longer, None).unwrap().last, head + 1);
    server.clock.pass(60_000);
    let model = server.service.tick("news").await.unwrap();
    assert_eq!(model, Ticked::Released(2), "the report that waited is counted");
    assert_eq!(server.service.reports("news").unwrap().served().reports, 2);
    end(server).await;
}

#[tokio::test]
async fn stores_of_every_version_are_opened_and_served() {
    let present = vectors().join(env!("CARGO_PKG_VERSION"));
    if std::env::var_os("RETICENT_WRITE_VECTORS").is_some() {
        write(&present).await;
    }
    assert!(present.exists(), "RETICENT_WRITE_VECTORS=1 writes a store of this version");
    let folders = fs::read_dir(vectors()).unwrap().map(|entry| entry.unwrap().path());
    let folders: Vec<PathBuf> = folders.filter(|path| path.is_dir()).collect();
    assert!(folders.contains(&present));
    for golden in folders {
        check(&golden).await;
    }
}

#[test]
fn a_packed_file_is_unpacked_as_it_was() {
    for length in [0, 1, BLOCK - 1, BLOCK, 5 * BLOCK + 7] {
        let mut bytes = vec![0; length];
        for at in (0..length).step_by(3 * BLOCK) {
            bytes[at] = 7;
        }
        assert_eq!(unpack(&pack(&bytes)), bytes);
    }
}
