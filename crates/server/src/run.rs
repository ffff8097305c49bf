//! One process: store, loops, keys, ticks, sockets, until it is stopped.

use std::{
    future::Future,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::{
    net::{TcpListener, TcpSocket},
    task::JoinSet,
};
use tokio_rustls::rustls::ServerConfig;

use crate::{
    Error, Result,
    clock::Time,
    config::{Plan, ReportsPlan},
    data::{Data, open_events_key, open_people_keys, open_seal_key, people_key_in},
    http::{App, HttpLimits, KeyRing, Role, Tls, make_key, serve},
    loops::Limits,
    secret::PeopleKeys,
    service::{Options, Service, UNWATCHED, WATCHED, WITNESS_LOST, WITNESSED},
    store::{Store, Witness, WitnessPlace, WitnessRecord},
};

/// Options of `reticent-server serve`.
pub struct RunOptions {
    /// Checked loops.
    pub plans: Vec<Plan>,
    /// Places of the data.
    pub data: Data,
    /// The file of the keys of the people's hashes, the present one first; `people.key` in the folder of the data by default.
    pub people_key: Option<PathBuf>,
    /// True if keys of the people's hashes that a database was served with are lost, and it is to be served all the same.
    pub people_key_lost: bool,
    /// The file of the witness.
    pub witness: Option<PathBuf>,
    /// True if the witness that this store was served with is lost, and it is to be served all the same.
    pub witness_lost: bool,
    /// Address to listen on.
    pub listen: Listen,
    /// Limits on requests.
    pub requests: Limits,
    /// Limits on clients.
    pub limits: HttpLimits,
    /// True if simulated visitors come ([`crate::demo`]).
    pub visitors: bool,
}

/// Address of a process and its TLS.
#[derive(Debug, Clone)]
pub struct Listen {
    /// The address.
    pub address: SocketAddr,
    /// Files for TLS.
    pub tls: Option<Tls>,
    /// True if a proxy in front does TLS.
    pub behind_proxy: bool,
}

impl Listen {
    /// Refuses to send people's data over a network in the clear.
    pub fn check(&self) -> Result<()> {
        if self.address.ip().is_loopback() || self.tls.is_some() || self.behind_proxy {
            return Ok(());
        }
        let remedy = "people's data would cross the network in the clear: give --tls-certificate and --tls-key, or --behind-proxy if a proxy does TLS, or listen on 127.0.0.1";
        Err(Error::invalid("listen", self.address, remedy))
    }

    /// True if clients come by TLS: to this process, or to the proxy in front.
    pub fn is_reached_by_tls(&self) -> bool {
        self.tls.is_some() || self.behind_proxy
    }

    /// Scheme of its addresses.
    pub fn scheme(&self) -> &'static str {
        if self.tls.is_some() { "https" } else { "http" }
    }

    /// Opens the socket, and the files for TLS.
    pub async fn open(&self) -> Result<(TcpListener, Option<Arc<ServerConfig>>)> {
        self.check()?;
        let tls = self.tls.as_ref().map(Tls::open).transpose()?;
        Ok((bind(self.address).await?, tls))
    }
}

/// Refuses a witness that would be lost and rolled back together with the data.
fn check_witness(witness: &Path, data: &Path) -> Result<()> {
    let folder = witness.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new(".")).canonicalize();
    match (folder, data.canonicalize()) {
        (Ok(folder), Ok(data)) if folder.starts_with(&data) => {
            let remedy = "it would be rolled back together with the data and show nothing; expected a file outside that folder, on another filesystem";
            Err(Error::invalid("witness", witness.display(), remedy))
        }
        _ => Ok(()),
    }
}

/// Opens the witness. A store that was served with one is not served without it unless an operator says that it is lost: a filesystem that is not mounted
/// would look like a witness that knows nothing.
async fn open_witness(
    options: &RunOptions,
    store: &dyn Store,
    now: Time,
) -> Result<Option<(Witness, Option<WitnessRecord>)>> {
    if let Some(witness) = &options.witness {
        check_witness(witness, &options.data.folder)?;
    }
    let known = options.witness.as_ref().is_some_and(|witness| witness.exists());
    let mut lost = !known && store.setting(WITNESSED.into()).await?.is_some();
    // Whatever an operator says: where another process has its witness, nothing is lost.
    if lost && options.witness.is_some() {
        lost = !is_watched(store).await?;
    }
    if lost && !options.witness_lost {
        let value =
            options.witness.as_ref().map_or("none".into(), |path| path.display().to_string());
        let remedy = "this store was served with a witness, and that is not it: give its file (is its filesystem mounted?), or --witness-lost if it is lost; \
                      then nothing shows whether this store is an older copy. A further process on a database begins with a new file while one with a witness runs";
        return Err(Error::invalid("witness", value, remedy));
    }
    if lost {
        // Certificates say so from now on.
        store.keep_setting(WITNESS_LOST.into(), now.to_le_bytes().to_vec()).await?;
        tracing::warn!(
            "the witness of this store is lost: nothing shows whether the store is an older copy, and every certificate says so"
        );
    }
    let Some(path) = &options.witness else {
        store.raise_floor(UNWATCHED.into(), now).await?;
        return Ok(None);
    };
    let (witness, record) = Witness::open(path)?;
    if record.is_none() {
        // Before the store says that there is one: a place that cannot be written to is no witness.
        witness.write(&WitnessRecord { store: store.id(), ..WitnessRecord::default() })?;
    }
    store.keep_setting(WITNESSED.into(), vec![1]).await?;
    let witness = match options.data.database {
        Some(_) => witness.beside_database(),
        None => witness.beside(&options.data.folder),
    };
    match witness.place() {
        WitnessPlace::Apart | WitnessPlace::Unknown => {}
        WitnessPlace::Beside => {
            store.raise_floor(UNWATCHED.into(), now).await?;
            tracing::warn!(path = %path.display(), "the witness is on the filesystem of the data, and may be restored together with an older copy of it; expected a file on another one");
        }
    }
    Ok(Some((witness, record)))
}

/// Time for which a sign is waited for that another process watches the store.
const WATCH: Duration =
    if cfg!(test) { Duration::from_secs(2) } else { LOOK_AGAIN.saturating_mul(3) };

/// True if another process, now, compares this store with a witness of its own: it may have seen releases that a new witness has not.
async fn is_watched(store: &dyn Store) -> Result<bool> {
    let shown = store.setting(WATCHED.into()).await?;
    let end = Instant::now() + WATCH;
    while store.is_shared() && Instant::now() < end {
        tokio::time::sleep(Duration::from_millis(250)).await;
        if store.setting(WATCHED.into()).await? != shown {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Serves from a folder of data until `stop`. When it answers, `ready` gets the address and, where visitors are simulated, a new key to sign
/// in with.
pub async fn run(
    options: RunOptions,
    ready: impl FnOnce(SocketAddr, Option<String>),
    stop: impl Future<Output = ()>,
) -> Result<()> {
    let by_tls = options.listen.is_reached_by_tls();
    let (listener, tls) = options.listen.open().await?;
    let (store, clock) = options.data.open().await?;
    let folder = &options.data.folder;
    let events = open_events_key(folder, store.as_ref()).await?;
    let witness = open_witness(&options, store.as_ref(), clock.now()).await?;
    let people = options.people_key.unwrap_or_else(|| people_key_in(folder));
    let PeopleKeys { current, earlier } =
        open_people_keys(&people, store.as_ref(), clock.now(), options.people_key_lost).await?;
    let opens = |plan: &ReportsPlan| plan.shuffled().is_some() && !plan.sums();
    let sealed = options.plans.iter().filter_map(Plan::reports).any(|plan| opens(plan));
    let seal_key = open_seal_key(folder, store.as_ref(), sealed).await?;
    let service = Service::open(Options {
        plans: options.plans,
        store: Arc::clone(&store),
        clock: Arc::clone(&clock),
        people: current,
        earlier_people: earlier,
        events,
        witness,
        limits: options.requests,
        seal_key: Some(seal_key),
    })
    .await?;
    for trouble in service.troubles() {
        tracing::error!("{trouble}");
    }
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
    let others = store
        .is_shared()
        .then(|| tokio::spawn(follow_others(store, Arc::clone(&service), Arc::clone(&keys))));
    let app = App::new(Arc::clone(&service), keys, options.limits, by_tls);
    let served = serve_until(app, listener, tls, |address| ready(address, key), stop).await;
    visitors.iter().chain(&others).for_each(|task| task.abort());
    served?;
    #[cfg(unix)]
    drop(control);
    Ok(())
}

/// Interval at which the changes of other processes are read, if no notification of them arrives.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// Takes up keys that other processes have made or revoked, and looks at what else they have done.
async fn follow_others(store: Arc<dyn Store>, service: Arc<Service>, keys: Arc<KeyRing>) {
    let mut last = Instant::now();
    loop {
        tokio::select! {
            () = tokio::time::sleep(LOOK_AGAIN) => {}
            _ = store.changed() => {}
        }
        let mut looked = keys.reload(store.as_ref()).await;
        // Changes may come with every tick, and the rest is as much to read as there are people who were erased.
        if last.elapsed() >= LOOK_AGAIN {
            looked = looked.and(service.follow_others().await);
            last = Instant::now();
        }
        if let Err(error) = looked {
            tracing::warn!("the changes of other processes are not known at present: {error}");
        }
    }
}

/// Bytes that the system holds of answers on their way to one client. Left to itself it would hold megabytes for each one that does not read, and would say
/// nothing for minutes while a slow one takes them.
const SEND_BUFFER: u32 = 128 << 10;

/// Opens the socket.
pub async fn bind(listen: SocketAddr) -> Result<TcpListener> {
    let open = || {
        let socket = if listen.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
        #[cfg(unix)]
        socket.set_reuseaddr(true)?;
        socket.set_send_buffer_size(SEND_BUFFER)?;
        socket.bind(listen)?;
        socket.listen(1024)
    };
    open().map_err(|error: std::io::Error| {
        let remedy = format!("{error}; expected an address of this machine and a free port");
        Error::invalid("listen", listen, remedy)
    })
}

/// Ticks and answers until `stop`; then finishes requests and the tick that is under way.
pub async fn serve_until(
    app: App,
    listener: TcpListener,
    tls: Option<Arc<ServerConfig>>,
    ready: impl FnOnce(SocketAddr),
    stop: impl Future<Output = ()>,
) -> Result<()> {
    let address = listener.local_addr().map_err(|error| Error::Unavailable(error.to_string()))?;
    let service = Arc::clone(&app.service);
    let mut tickers = JoinSet::new();
    for each in service.loops() {
        tickers.spawn(Arc::clone(&service).keep_ticking(each.name.clone()));
    }
    tickers.spawn(Arc::clone(&service).keep_sweeping());
    tickers.spawn(Arc::clone(&service).keep_noticing_suspensions());
    tickers.spawn(Arc::clone(&service).keep_probing());
    ready(address);
    serve(app, listener, tls, stop).await;
    service.stop();
    while tickers.join_next().await.is_some() {}
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{secret::Secret, store::PostgresStore};

    fn options(folder: &Path, witness: Option<&str>, witness_lost: bool) -> RunOptions {
        RunOptions {
            plans: Vec::new(),
            data: Data::in_folder(folder.join("data")),
            people_key: None,
            people_key_lost: false,
            witness: witness.map(|name| folder.join(name)),
            witness_lost,
            listen: Listen { address: ([127, 0, 0, 1], 0).into(), tls: None, behind_proxy: false },
            requests: Limits::default(),
            limits: HttpLimits::default(),
            visitors: false,
        }
    }

    #[tokio::test]
    async fn a_store_that_was_served_with_a_witness_is_not_served_without_it() {
        let folder = tempfile::tempdir().unwrap();
        let store = crate::data::open_store(&folder.path().join("data")).unwrap();
        let open = async |witness, lost| {
            open_witness(&options(folder.path(), witness, lost), store.as_ref(), 7).await
        };
        assert!(open(None, false).await.unwrap().is_none(), "it never had one");
        std::fs::create_dir(folder.path().join("occupied")).unwrap();
        assert!(
            open(Some("occupied"), false).await.is_err(),
            "a folder, and the store expects none"
        );
        let (witness, record) = open(Some("witness"), false).await.unwrap().unwrap();
        assert!(record.is_none(), "the first one knows nothing");
        assert_eq!(witness.place(), WitnessPlace::Beside, "both are in one folder");
        assert!(store.setting(WITNESS_LOST.into()).await.unwrap().is_none());
        witness.write(&WitnessRecord { store: store.id(), ..WitnessRecord::default() }).unwrap();
        assert!(open(Some("witness"), false).await.unwrap().unwrap().1.is_some());
        for other in [None, Some("not/mounted")] {
            let refused = open(other, false).await.err().unwrap().to_string();
            assert!(refused.contains("--witness-lost"), "{refused}");
            assert!(open(other, true).await.is_ok());
        }
        let noted = store.setting(WITNESS_LOST.into()).await.unwrap();
        assert_eq!(noted, Some(7_u64.to_le_bytes().to_vec()), "it is never forgotten");
    }

    /// A proxy that does TLS is named by `--behind-proxy`: browsers then send the cookie over nothing else, and stay with HTTPS.
    #[tokio::test]
    async fn behind_a_proxy_browsers_stay_with_tls() {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        for behind_proxy in [true, false] {
            let folder = tempfile::tempdir().unwrap();
            let mut options = options(folder.path(), None, false);
            options.plans = crate::demo::plans().unwrap();
            options.listen.behind_proxy = behind_proxy;
            options.visitors = true;
            let (sender, receiver) = tokio::sync::oneshot::channel();
            let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
            let ready = |address, key: Option<String>| drop(sender.send((address, key.unwrap())));
            let serving = tokio::spawn(run(options, ready, async move { drop(stopped.await) }));
            let (address, key) = receiver.await.unwrap();
            let body = format!("key={key}&next=/");
            let request = format!(
                "POST /sign-in HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            );
            let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
            stream.write_all(request.as_bytes()).await.unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await.unwrap();
            assert!(answer.contains("reticent_session="), "{answer}");
            assert_eq!(answer.contains("; Secure\r\n"), behind_proxy, "{answer}");
            assert_eq!(answer.contains("strict-transport-security: "), behind_proxy, "{answer}");
            drop(stop);
            serving.await.unwrap().unwrap();
        }
    }

    /// A further process on a database begins with a witness of its own while one with a witness runs, and nothing is said to be lost.
    #[tokio::test]
    async fn a_further_process_begins_with_a_new_witness_while_another_watches() {
        let Some(cluster) = crate::store::postgres::testing::cluster() else { return };
        let (folder, url) = (tempfile::tempdir().unwrap(), cluster.empty());
        let start = async |witness: Option<&str>, said_to_be_lost: bool| {
            let mut options = options(folder.path(), witness, said_to_be_lost);
            options.data.database = Some(url.clone().into());
            let store = Arc::new(PostgresStore::open(&url).await?);
            let clock = store.clock();
            let witness = open_witness(&options, store.as_ref(), clock.now()).await?;
            Service::open(Options {
                plans: crate::demo::plans()?,
                store,
                clock,
                people: Secret::from_bytes([3; 32]),
                earlier_people: Vec::new(),
                events: Secret::from_bytes([5; 32]),
                witness,
                limits: Limits::default(),
                seal_key: None,
            })
            .await
        };
        let lost = async |service: &Service| {
            service.store().setting(WITNESS_LOST.into()).await.unwrap().is_some()
        };
        let first = start(Some("first"), false).await.unwrap();
        assert!(!lost(&first).await);
        // No process shows that it watches: it was stopped, or the database is a restored copy without a process on it.
        let refused = start(Some("second"), false).await.err().unwrap().to_string();
        assert!(
            refused.contains("--witness-lost") && refused.contains("while one with a witness runs")
        );
        assert!(!folder.path().join("second").exists(), "it would be taken for a known one");
        let watching = Arc::clone(&first);
        let watching = tokio::spawn(async move {
            loop {
                watching.follow_others().await.unwrap();
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        });
        let second = start(Some("second"), false).await.unwrap();
        let third = start(Some("third"), true).await.unwrap();
        assert!(!lost(&third).await, "no witness is lost");
        assert!(start(None, false).await.is_err(), "without one it is not served");
        watching.abort();
        let known = Witness::read(&folder.path().join("second")).unwrap().unwrap();
        assert_eq!(known.generations.len(), 1, "it knows what the store has");
        drop((first, second, third));
        start(Some("second"), false).await.unwrap();
    }

    #[test]
    fn a_witness_in_the_folder_of_the_data_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        std::fs::create_dir_all(data.join("inner")).unwrap();
        assert!(check_witness(&data.join("witness"), &data).is_err());
        assert!(check_witness(&data.join("inner/../witness"), &data).is_err());
        assert!(check_witness(&folder.path().join("witness"), &data).is_ok());
    }
}
