//! Serves the pages of the demonstration with a store in memory, for the browser test and for work on the pages.
//!
//! `cargo run -p reticent-server --example pages_server [ADDRESS]` prints the address and two keys, one a line. It stops when its input ends.

use std::{io::Read, sync::Arc};

use reticent_server::{
    clock::SystemClock,
    demo,
    loops::Limits,
    pages::{self, Access, Call, Viewer},
    secret::{Secret, hex, random},
    service::{Options, Service},
    store::MemoryStore,
};

/// Two keys that last as long as the process.
struct TwoKeys {
    admin: String,
    read: String,
}

impl Access for TwoKeys {
    fn sign_in(&self, key: &str) -> Option<Viewer> {
        let admin = key == self.admin;
        let known = admin || key == self.read;
        let key_id = if admin { "admin" } else { "read" };
        known.then(|| Viewer { key_id: key_id.into(), admin, loop_name: None })
    }

    fn still_valid(&self, _key_id: &str) -> bool {
        true
    }

    fn calls(&self, _: &Viewer) -> Vec<Call> {
        let call = |name: &str, public| Call {
            name: name.into(),
            public,
            requests: 0,
            errors: Some(0),
            median: None,
            p99: None,
        };
        vec![call("rank", true), call("reward", false)]
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:0".into());
    let service = Service::open(Options {
        plans: demo::plans()?,
        store: Arc::new(MemoryStore::new(random()?)),
        clock: Arc::new(SystemClock::default()),
        people: Secret::new()?,
        earlier_people: Vec::new(),
        events: Secret::from_bytes([5; 32]),
        witness: None,
        limits: Limits::default(),
    })
    .await?;
    let keys = TwoKeys { admin: hex(&random::<16>()?), read: hex(&random::<16>()?) };
    let listener = tokio::net::TcpListener::bind(address).await?;
    println!("http://{}\n{}\n{}", listener.local_addr()?, keys.admin, keys.read);
    tokio::spawn(service.clone().keep_ticking(demo::LOOP.into()));
    let visitors = demo::start(service.clone());
    let openapi =
        serde_json::json!({"info": {"title": "Reticent", "version": env!("CARGO_PKG_VERSION")}});
    let routes = pages::routes(pages::Options {
        service: service.clone(),
        access: Arc::new(keys),
        openapi,
        secure: false,
    });
    // A parent that dies closes the pipe: no server is left behind.
    let parent = tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new()));
    tokio::select! {
        served = async { axum::serve(listener, routes).await } => served?,
        _ = parent => {}
    }
    visitors.abort();
    service.stop();
    Ok(())
}
