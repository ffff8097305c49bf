//! Serves a file of loops from memory, for tests with other people's clients: everything is lost when it ends.
//!
//! ```text
//! cargo run -p reticent-server --example memory_server -- loops.toml 127.0.0.1:8080
//! ```
//!
//! Prints one line of JSON: the address, an `admin` key, and a key with the roles `decide`, `reward`, `read` for each loop.

use std::{collections::BTreeMap, sync::Arc};

use reticent_server::{
    clock::{Clock, SystemClock},
    config::ServiceFile,
    http::{App, HttpLimits, KeyRing, Role, make_key},
    loops::Limits,
    run::{Listen, serve_until},
    secret::Secret,
    service::{Options, Service},
    store::{MemoryStore, Store},
};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(file), Some(listen)) = (arguments.next(), arguments.next()) else {
        return Err("give a file of loops and an address".into());
    };
    let listen = Listen { address: listen.parse()?, tls: None, behind_proxy: false };
    listen.check()?;
    let plans = ServiceFile::parse(&std::fs::read_to_string(file)?)?.check()?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new(reticent_server::secret::random()?));
    let service = Service::open(Options {
        plans,
        store: Arc::clone(&store),
        clock: Arc::clone(&clock),
        people: Secret::new()?,
        earlier_people: Vec::new(),
        events: Secret::from_bytes([5; 32]),
        witness: None,
        limits: Limits::default(),
    })
    .await?;
    let admin = make_key(store.as_ref(), None, vec![Role::Admin], clock.now()).await?;
    let mut keys = BTreeMap::new();
    for each in service.loops() {
        let name = each.name.clone();
        let roles = vec![Role::Decide, Role::Reward, Role::Read];
        let key = make_key(store.as_ref(), Some(name.clone()), roles, clock.now()).await?;
        keys.insert(name, key);
    }
    let ring = Arc::new(KeyRing::open(store.as_ref()).await?);
    let app = App::new(service, ring, HttpLimits::default(), false);
    let (listener, _) = listen.open().await?;
    let ready = |address| {
        println!("{}", serde_json::json!({ "address": address, "admin": admin, "keys": keys }));
    };
    let stop = async {
        let _ = tokio::signal::ctrl_c().await;
    };
    Ok(serve_until(app, listener, None, ready, stop).await?)
}
