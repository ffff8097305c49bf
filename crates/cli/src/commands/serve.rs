//! `reticent serve`: private decisions over HTTP.

use std::{
    fmt::Write,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
};

use clap::Args;
use reticent_server::{
    clock::{Clock, SystemClock},
    config::{DevicePlan, LimitParams, LoopOutlook, LoopPlan, ServiceFile, StorageOutlook},
    control::{Command, Reply, command},
    data::Data,
    demo,
    http::HttpLimits,
    loops::{self, Certificate, Limits, Together},
    run::RunOptions,
    secret::Secret,
    service::{Options, Outcome, Service, outcomes, reports},
    store::MemoryStore,
};
use serde::Serialize;

use super::{
    listen::{TlsArguments, parse_listen},
    notify::tell_systemd,
    place::database,
    read,
    store::unexpected,
};
use crate::{error::Error, report::Report};

/// Serves loops over HTTP until it is told to stop: decisions, rewards, releases by the clock, certificates.
#[derive(Args)]
#[command(after_help = "Example: reticent serve --config loops.toml --data data")]
pub struct Arguments {
    /// The file of loops.
    #[arg(long, required_unless_present = "demo")]
    config: Option<PathBuf>,
    /// The folder that everything is kept in; it is made if there is none.
    #[arg(long, required_unless_present_any = ["demo", "check"])]
    data: Option<PathBuf>,
    /// A PostgreSQL database in place of the store in the folder, for several machines: postgres://user@host/database. RETICENT_DATABASE is
    /// read if this is not given, since others on the machine may see what is typed here.
    #[arg(long, value_name = "URL")]
    database: Option<String>,
    /// Where to listen. Other addresses than those of this machine need TLS or --behind-proxy.
    #[arg(long, default_value = "127.0.0.1:8080", value_parser = parse_listen)]
    listen: SocketAddr,
    #[command(flatten)]
    tls: TlsArguments,
    /// A file on another filesystem that shows whether the store was rolled back. It must never be restored together with the data.
    #[arg(long, value_name = "PATH")]
    witness: Option<PathBuf>,
    /// The witness that this store was served with is lost: serve it all the same.
    #[arg(long)]
    witness_lost: bool,
    /// The keys that persons are hashed with, the present one first; people.key in the folder of the data by default. Back it up apart from the
    /// data; `reticent key rotate-people` puts a new key in front.
    #[arg(long, value_name = "PATH")]
    people_key: Option<PathBuf>,
    /// Keys of persons that this database was served with are lost: serve it all the same. People are answered; loops that count visits learn nothing until nothing counts under the
    /// lost keys any more.
    #[arg(long)]
    people_key_lost: bool,
    /// Check the files and print every loop's certificate and outlook; serve nothing. With --data, say for each loop whether the files continue the generation that the store has or
    /// begin another one, and epsilon before and after; a service may run there meanwhile.
    #[arg(long)]
    check: bool,
    /// Serve a loop with simulated visitors.
    #[arg(long, conflicts_with_all = ["config", "data", "database", "check"])]
    demo: bool,
}

/// Serves, or checks the files.
pub fn run(arguments: Arguments) -> Result<Report, Error> {
    let (plans, device_plans, limited) = match &arguments.config {
        Some(config) => {
            let folder = config.parent().unwrap_or(Path::new(""));
            let plans = ServiceFile::parse(&read(config)?)
                .and_then(|file| Ok((file.check_in(folder)?, file.check_devices()?, file.limits)));
            plans.map_err(|error| Error::Malformed {
                path: config.clone(),
                reason: error.to_string(),
            })?
        }
        None => (demo::plans()?, Vec::new(), LimitParams::default()),
    };
    let curated = plans.iter().map(|plan| (&plan.params, &plan.name));
    let devices = device_plans.iter().map(|plan| (&plan.params, &plan.name));
    let mut warnings: Vec<String> =
        curated.chain(devices).flat_map(|(params, name)| params.warnings(name)).collect();
    if arguments.demo {
        // Its file is the program's own: whoever looks at the demonstration cannot change it.
        warnings.clear();
    }
    let limits = arguments.tls.limits(HttpLimits::of(&limited));
    let listen = arguments.tls.listen_on(arguments.listen);
    listen.check()?;
    let runtime = runtime()?;
    if arguments.check {
        if let Some(tls) = &listen.tls {
            tls.open()?;
        }
        let data = match arguments.data {
            Some(folder) => Some(Data { folder, database: database(arguments.database)? }),
            None => None,
        };
        return Ok(runtime.block_on(check(plans, device_plans, data))?.warn(warnings));
    }
    let folder = Folder::new(arguments.data);
    log_to_stderr(if arguments.demo { "warn" } else { "info" });
    for warning in &warnings {
        say!("warning: {warning}");
    }
    let scheme = listen.scheme();
    let names = plans.iter().map(|plan| plan.name.clone());
    let names: Vec<String> =
        names.chain(device_plans.iter().map(|plan| plan.name.clone())).collect();
    let options = RunOptions {
        plans,
        device_plans,
        data: Data {
            folder: folder.path.clone(),
            database: if arguments.demo { None } else { database(arguments.database)? },
        },
        people_key: arguments.people_key,
        people_key_lost: arguments.people_key_lost,
        witness: arguments.witness,
        witness_lost: arguments.witness_lost,
        listen,
        requests: Limits::of(&limited),
        limits,
        visitors: arguments.demo,
    };
    let ready = |address, key: Option<String>| {
        say!("serving {} on {scheme}://{address}", names.join(", "));
        tell_systemd("READY=1");
        if let Some(key) = key {
            say!("open {scheme}://{address} in a browser and sign in with");
            say!("{key}");
            say!("simulated visitors come for an hour; Ctrl-C stops");
        }
    };
    runtime.block_on(async {
        let stop = stop_signal()?;
        Ok::<_, Error>(reticent_server::run::run(options, ready, stop).await?)
    })?;
    Ok(Report::new("stopped", &serde_json::json!({ "stopped": true })))
}

/// The folder of the data; that of a demonstration is removed when it ends.
struct Folder {
    path: PathBuf,
    temporary: bool,
}

impl Folder {
    fn new(given: Option<PathBuf>) -> Self {
        match given {
            Some(path) => Folder { path, temporary: false },
            None => {
                let name = format!("reticent-demo-{}", std::process::id());
                Folder { path: std::env::temp_dir().join(name), temporary: true }
            }
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if self.temporary {
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}

/// The runtime of the service.
pub(super) fn runtime() -> Result<tokio::runtime::Runtime, Error> {
    Ok(tokio::runtime::Builder::new_multi_thread().enable_all().build()?)
}

/// Logs as lines of JSON on stderr, at the level in RETICENT_LOG, or else at this one.
pub(super) fn log_to_stderr(level: &str) {
    let filter = tracing_subscriber::EnvFilter::try_from_env("RETICENT_LOG")
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new(level));
    let subscriber = tracing_subscriber::fmt().json().with_writer(std::io::stderr);
    // A process has one subscriber; if there is one already, it stays.
    let _ = subscriber.with_env_filter(filter).try_init();
}

/// Resolves at SIGTERM or Ctrl-C. The handlers are in place when this returns.
#[cfg(unix)]
pub(super) fn stop_signal() -> Result<impl Future<Output = ()>, Error> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        tell_systemd("STOPPING=1");
    })
}

#[cfg(not(unix))]
pub(super) fn stop_signal() -> Result<impl Future<Output = ()>, Error> {
    Ok(async {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    })
}

/// What `--check` says about a loop.
#[derive(Serialize)]
struct Checked {
    certificate: Certificate,
    outlook: Option<LoopOutlook>,
    storage: StorageOutlook,
    tick_milliseconds: u64,
    /// Of the vector that is learnt on: those of the features, and a constant of the hold-out's where there is one.
    coordinates: usize,
    features: Vec<String>,
}

#[derive(Serialize)]
struct AllChecked {
    loops: Vec<Checked>,
    together: Together,
    /// Effects of the files on the store of `--data`.
    #[serde(skip_serializing_if = "Option::is_none")]
    generations: Option<Vec<Outcome>>,
}

/// Effects of these loops on the store of a folder, which stays as it is.
async fn outcomes_in(
    data: &Data,
    plans: &[LoopPlan],
    devices: &[DevicePlan],
) -> Result<Vec<Outcome>, Error> {
    let stored = match data.is_store() || data.database.is_some() {
        false => Vec::new(),
        true => match command(data, Command::Loops, SystemClock::default().now()).await? {
            Reply::Loops(stored) => stored,
            reply => return Err(unexpected(reply)),
        },
    };
    Ok(outcomes(&stored, plans, devices)?)
}

/// Begins every loop in memory and prints its certificate.
async fn check(
    plans: Vec<LoopPlan>,
    devices: Vec<DevicePlan>,
    data: Option<Data>,
) -> Result<Report, Error> {
    let generations = match &data {
        Some(data) => Some(outcomes_in(data, &plans, &devices).await?),
        None => None,
    };
    let options = Options {
        plans,
        store: Arc::new(MemoryStore::new([0; 16])),
        clock: Arc::new(SystemClock::default()),
        people: Secret::new()?,
        earlier_people: Vec::new(),
        events: Secret::new()?,
        witness: None,
        limits: Limits::default(),
    };
    let service =
        Service::open_with_devices(options, devices, Some(Secret::new()?.seal_key())).await?;
    let mut checked = Vec::new();
    for each in service.central_loops() {
        checked.push(Checked {
            certificate: service.certificate(&each.plan.name).await?,
            outlook: each.plan.outlook()?,
            storage: loops::storage(&each.plan)?,
            tick_milliseconds: each.plan.tick,
            coordinates: each.plan.learner_params.bounds.dimension,
            features: each.plan.features.names(),
        });
    }
    for each in service.report_loops() {
        checked.push(Checked {
            certificate: service.certificate(&each.name).await?,
            outlook: Some(each.plan.outlook()),
            storage: reports::storage(&each.plan)?,
            tick_milliseconds: each.plan.tick,
            coordinates: each.plan.features.dimension(),
            features: each.plan.features.names(),
        });
    }
    let together = service.together().await?;
    let checked = AllChecked { loops: checked, together, generations };
    Ok(Report::new(describe(&checked), &checked))
}

fn describe(checked: &AllChecked) -> String {
    let mut text = String::new();
    for each in &checked.loops {
        let Checked { certificate, outlook, storage, tick_milliseconds, coordinates, .. } = each;
        let Certificate { name, sentence, best_guess, .. } = certificate;
        let _ = writeln!(
            text,
            "loop {name}: {coordinates} coordinates, a release every {} s",
            *tick_milliseconds as f64 / 1000.0
        );
        let _ = writeln!(text, "  {sentence}");
        let _ = writeln!(
            text,
            "  somebody who would guess right half of the time guesses right at best {} of the time",
            reticent_loops::page::percent(*best_guess)
        );
        for condition in &certificate.conditions {
            let state = condition.enforcement.word();
            let _ = writeln!(text, "  [{state}] {}: {}", condition.text, condition.by);
        }
        for several in &certificate.periods {
            let plural = if several.periods == 1 { "" } else { "s" };
            let epsilon = reticent_loops::page::epsilon_text(several.epsilon);
            let delta = certificate.guarantee.delta();
            let _ = writeln!(
                text,
                "  {} period{plural}: epsilon {epsilon} at delta {delta:e}",
                several.periods
            );
        }
        if let Some(year) = &certificate.year {
            let epsilon = reticent_loops::page::epsilon_text(year.epsilon);
            let delta = certificate.guarantee.delta();
            let _ = writeln!(
                text,
                "  a year: epsilon {epsilon} at delta {delta:e}, for the {} windows that it meets at most",
                year.periods
            );
        }
        if let Some(ends) = &certificate.ends {
            let _ = writeln!(text, "  {ends}");
        }
        if let Some(outlook) = outlook {
            let _ = writeln!(text, "  outlook: {outlook}");
        }
        let _ = writeln!(text, "  storage: {storage}");
        text.push('\n');
    }
    for outcome in checked.generations.iter().flatten() {
        let _ = writeln!(text, "{outcome}");
    }
    if let Some(sentence) = &checked.together.sentence {
        let _ = writeln!(text, "all loops together, for one person: {sentence}");
    }
    for name in &checked.together.without_persons {
        let _ = writeln!(text, "{name}: protects decisions, not persons, and is not in the sum");
    }
    text
}
