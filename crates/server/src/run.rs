//! One process: store, loops, keys, ticks, sockets, until it is told to stop.

use std::{future::Future, net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use tokio::{net::TcpListener, task::JoinSet};

use crate::{
    Error, Result,
    config::LoopPlan,
    data::Data,
    http::{App, HttpLimits, KeyRing, Role, Tls, make_key, serve},
    loops::Limits,
    secret::Secret,
    service::{Options, Service},
    store::{Store, Witness},
};

/// What `reticent serve` is told.
pub struct RunOptions {
    /// Checked loops.
    pub plans: Vec<LoopPlan>,
    /// Where the data are.
    pub data: Data,
    /// The file of the key of the people's hashes; `people.key` in the folder of the data by default.
    pub people_key: Option<PathBuf>,
    /// The file of the witness.
    pub witness: Option<PathBuf>,
    /// Where to listen.
    pub listen: SocketAddr,
    /// Files for TLS.
    pub tls: Option<Tls>,
    /// Whether a proxy in front of the service does TLS.
    pub behind_proxy: bool,
    /// What clients may take.
    pub limits: HttpLimits,
    /// Whether simulated visitors come ([`crate::demo`]).
    pub visitors: bool,
}

/// Refuses to send people's data over a network in the clear.
pub fn check_address(listen: SocketAddr, tls: bool, behind_proxy: bool) -> Result<()> {
    if listen.ip().is_loopback() || tls || behind_proxy {
        return Ok(());
    }
    let remedy = "people's data would cross the network in the clear: give --tls-certificate and --tls-key, or --behind-proxy if a proxy does TLS, or listen on 127.0.0.1";
    Err(Error::invalid("listen", listen, remedy))
}

/// Serves from a folder of data until `stop`. When it answers, `ready` is told the address and, where visitors are simulated, a new key to sign
/// in with.
pub async fn run(
    options: RunOptions,
    ready: impl FnOnce(SocketAddr, Option<String>),
    stop: impl Future<Output = ()>,
) -> Result<()> {
    check_address(options.listen, options.tls.is_some(), options.behind_proxy)?;
    let tls = options.tls.as_ref().map(Tls::open).transpose()?;
    let listener = bind(options.listen).await?;
    let (store, clock) = options.data.open().await?;
    let folder = &options.data.folder;
    let people = options.people_key.unwrap_or_else(|| folder.join("people.key"));
    let events = Secret::in_file(&folder.join("events.key"))?;
    check_events_key(store.as_ref(), &events).await?;
    let service = Service::open(Options {
        plans: options.plans,
        store: Arc::clone(&store),
        clock: Arc::clone(&clock),
        people: Secret::in_file(&people)?,
        earlier_people: Vec::new(),
        events,
        witness: options.witness.map(Witness::open).transpose()?,
        limits: Limits::default(),
    })
    .await?;
    let (visitors, key) = match options.visitors {
        true => {
            let key = make_key(store.as_ref(), None, vec![Role::Admin], clock.now()).await?;
            (Some(crate::demo::start(Arc::clone(&service))), Some(key))
        }
        false => (None, None),
    };
    let keys = Arc::new(KeyRing::open(store.as_ref()).await?);
    #[cfg(unix)]
    let control = crate::control::Control::open(folder, Arc::clone(&service), Arc::clone(&keys))?;
    let fresh = store.shared().then(|| tokio::spawn(keep_keys_fresh(store, Arc::clone(&keys))));
    let app = App::new(Arc::clone(&service), keys, options.limits, tls.is_some());
    let served = serve_until(app, listener, tls, |address| ready(address, key), stop).await;
    visitors.iter().for_each(|visitors| visitors.abort());
    fresh.iter().for_each(|fresh| fresh.abort());
    served?;
    #[cfg(unix)]
    drop(control);
    Ok(())
}

/// Under another key the ids of events would have other hashes: rewards would not find their events, and a repeated question would be a second one.
async fn check_events_key(store: &dyn Store, events: &Secret) -> Result<()> {
    let kept = store.keep_setting("events check".into(), events.check_value()).await?;
    if kept == events.check_value() {
        return Ok(());
    }
    let remedy = "it is not the key that this store was made with: copy events.key, and people.key too, from the folder of the first process";
    Err(Error::invalid("events.key", "another key", remedy))
}

/// How often keys are read again, if nothing is heard of changes.
const KEYS_AGAIN: Duration = Duration::from_secs(5);

/// Reads keys that another process has made or revoked.
async fn keep_keys_fresh(store: Arc<dyn Store>, keys: Arc<KeyRing>) {
    loop {
        tokio::select! {
            () = tokio::time::sleep(KEYS_AGAIN) => {}
            _ = store.changed() => {}
        }
        if let Err(error) = keys.reload(store.as_ref()).await {
            tracing::warn!("keys were not read again: {error}");
        }
    }
}

/// Opens the socket.
pub async fn bind(listen: SocketAddr) -> Result<TcpListener> {
    TcpListener::bind(listen).await.map_err(|error| {
        let remedy = format!("{error}: give an address of this machine and a free port");
        Error::invalid("listen", listen, remedy)
    })
}

/// Ticks and answers until `stop`; then finishes requests and the tick that is under way.
pub async fn serve_until(
    app: App,
    listener: TcpListener,
    tls: Option<Arc<tokio_rustls::rustls::ServerConfig>>,
    ready: impl FnOnce(SocketAddr),
    stop: impl Future<Output = ()>,
) -> Result<()> {
    let address = listener.local_addr().map_err(|error| Error::Unavailable(error.to_string()))?;
    let service = Arc::clone(&app.service);
    let mut tickers = JoinSet::new();
    for each in service.loops() {
        tickers.spawn(Arc::clone(&service).keep_ticking(each.plan.name.clone()));
    }
    tickers.spawn(Arc::clone(&service).keep_sweeping());
    ready(address);
    serve(app, listener, tls, stop).await;
    service.stop();
    while tickers.join_next().await.is_some() {}
    Ok(())
}
