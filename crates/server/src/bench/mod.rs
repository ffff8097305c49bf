//! `reticent bench service`: the figures of the stores, each beside what is required and what is wanted, and as ratios to a bare handler and a bare
//! store in the same run.
//!
//! | file | what it measures |
//! | --- | --- |
//! | `question` | the loop and the requests: d = 16, K = 20, 64 members |
//! | `report` | the reports of devices: d = 16 |
//! | `work` | a decision without input and output |
//! | `store` | the store alone, and redb alone with as many commits |
//! | `load` | requests over HTTP: as many as possible, and so many a second |
//! | `bare` | a handler of axum that does nothing |
//! | `process` | the service as a process: started, killed, its memory |
//!
//! The load comes over the loopback interface, from this process, on the same machine, and is bounded in number and time.

mod bare;
mod load;
mod process;
mod question;
mod report;
mod store;
mod work;

use std::{
    net::SocketAddr,
    path::PathBuf,
    time::{Duration, Instant},
};

use serde::Serialize;

use self::{
    load::{Load, Measured},
    process::Process,
    report::Reports,
};
use crate::{Error, Result};

/// Connections at the same time.
const CONNECTIONS: u64 = 256;
/// Requests a second at which latency is measured: half of what is required.
const HALF_LOAD: u64 = 5_000;
/// Windows of a second, in each of which latency is measured: the host of a virtual machine may take a processor away for some time.
const WINDOWS: usize = 30;
/// Measurements of a rate whose median is the figure.
const REPEATS: usize = 5;

/// What is measured, and where.
#[derive(Debug, Clone)]
pub struct BenchOptions {
    /// The program that serves.
    pub program: PathBuf,
    /// A folder for the data, which is made and removed: on the disk that is to be measured.
    pub folder: PathBuf,
    /// An empty PostgreSQL database, in which questions and rewards are measured too.
    pub database: Option<String>,
    /// Requests of each measurement over HTTP.
    pub requests: u64,
    /// Open events at the restart.
    pub events: u64,
}

/// A measured figure.
#[derive(Debug, Clone, Serialize)]
pub struct Figure {
    /// What was measured.
    pub what: String,
    /// The measurement.
    pub measured: f64,
    /// Its unit.
    pub unit: &'static str,
    /// What it must be.
    pub required: Option<f64>,
    /// What it should be.
    pub wanted: Option<f64>,
    /// What the same machine does without the service, in the same unit and the same run.
    pub bare: Vec<Bare>,
    /// Whether more is better.
    pub more_is_better: bool,
}

/// Something simpler that was measured in the same run.
#[derive(Debug, Clone, Serialize)]
pub struct Bare {
    /// What it is.
    pub what: &'static str,
    /// The measurement.
    pub measured: f64,
    /// The figure over this.
    pub ratio: f64,
}

impl Figure {
    fn rate(what: impl Into<String>, measured: f64) -> Self {
        Figure { more_is_better: true, ..Figure::new(what, measured, "/s") }
    }

    fn new(what: impl Into<String>, measured: f64, unit: &'static str) -> Self {
        Figure {
            what: what.into(),
            measured,
            unit,
            required: None,
            wanted: None,
            bare: Vec::new(),
            more_is_better: false,
        }
    }

    fn required(mut self, required: f64, wanted: f64) -> Self {
        (self.required, self.wanted) = (Some(required), Some(wanted));
        self
    }

    fn beside(mut self, what: &'static str, measured: f64) -> Self {
        self.bare.push(Bare { what, measured, ratio: self.measured / measured });
        self
    }

    /// Whether it reaches what is required, where something is.
    pub fn reached(&self) -> Option<bool> {
        self.required.map(|required| match self.more_is_better {
            true => self.measured >= required,
            false => self.measured <= required,
        })
    }
}

/// Repeated measurements.
struct Spread {
    smallest: f64,
    median: f64,
}

impl Spread {
    fn of(mut measured: Vec<f64>) -> Self {
        measured.sort_by(f64::total_cmp);
        let at = |index: usize| measured.get(index).copied().unwrap_or(f64::NAN);
        let last = measured.len().saturating_sub(1);
        Spread { smallest: at(0), median: at(last / 2) }
    }
}

/// Measures everything; `progress` is told what comes next.
pub async fn run(options: &BenchOptions, progress: impl Fn(&str)) -> Result<Vec<Figure>> {
    std::fs::create_dir_all(&options.folder).map_err(Error::store)?;
    let measured = measure(options, progress).await;
    let removed = std::fs::remove_dir_all(&options.folder).map_err(Error::store);
    let figures = measured?;
    removed.map(|()| figures)
}

async fn measure(options: &BenchOptions, progress: impl Fn(&str)) -> Result<Vec<Figure>> {
    let all = options;
    let options = &BenchOptions { database: None, ..all.clone() };
    let BenchOptions { requests, events, .. } = *options;
    let mut figures = Vec::new();
    progress("a decision without input and output");
    let work = work::measure()?;
    let what = "rank's own work: features, choice, probabilities";
    figures.push(Figure::new(what, work.decide, "us").required(15.0, 5.0));
    figures.push(Figure::new("  of it, features of 20 actions", work.features, "us"));
    figures.push(Figure::new("reading the request's JSON", work.json, "us"));

    progress("a bare handler");
    let handler = bare::handler().await?;
    let bare = Load::new(handler, CONNECTIONS).ranks(requests, "").await?;
    progress("the store alone, and redb alone");
    let alone = store::measure(&options.folder, requests, CONNECTIONS).await?;
    const HANDLER: &str = "a bare handler";
    const REDB: &str = "redb alone";
    figures.push(Figure::rate("the store alone, rank", alone.ranks).beside(REDB, alone.bare));
    figures.push(Figure::rate("the store alone, reward", alone.rewards).beside(REDB, alone.bare));

    progress("ranks and rewards over HTTP");
    let process = Process::start(options).await?;
    let load = Load::new(process.address, CONNECTIONS);
    let ranks = load.ranks(requests, &process.key).await?;
    let rewards = load.rewards(requests, &process.key).await?;
    let rate = Figure::rate("durable rank over HTTP", ranks.rate).required(10_000.0, 25_000.0);
    figures.push(rate.beside(HANDLER, bare.rate).beside(REDB, alone.bare));
    let rate = Figure::rate("durable reward over HTTP", rewards.rate).required(10_000.0, 25_000.0);
    figures.push(rate.beside(HANDLER, bare.rate).beside(REDB, alone.bare));

    if all.database.is_some() {
        progress("ranks and rewards over HTTP, in PostgreSQL");
        for (what, measured) in in_database(all).await? {
            let rate = Figure::rate(what, measured.rate).required(3_000.0, 8_000.0);
            figures.push(rate.beside(HANDLER, bare.rate));
        }
    }

    progress("reports of devices over HTTP");
    let (bare_reports, taken) = reports(options, handler).await?;
    for (what, taken) in taken {
        let rate = Figure::rate(what, taken.rate).required(20_000.0, 50_000.0);
        figures.push(rate.beside(HANDLER, bare_reports.rate).beside(REDB, alone.bare));
    }

    progress("latency at half of the required load");
    let time = Duration::from_secs(1);
    let (mut bare, mut paced, mut undisturbed) = (Vec::new(), Vec::new(), Vec::new());
    let (mut taken, mut lasted) = (0.0, 0.0);
    for _ in 0..WINDOWS {
        bare.push(Load::new(handler, CONNECTIONS).paced(HALF_LOAD, time, "").await?);
        let (before, began) = (process::stolen(), Instant::now());
        let window = load.paced(HALF_LOAD, time, &process.key).await?;
        if let (Some(before), Some(after)) = (before, process::stolen()) {
            taken += after - before;
            lasted += began.elapsed().as_secs_f64();
            undisturbed.extend((after <= before).then(|| window.percentile(0.99)));
        }
        paced.push(window);
    }
    let percentiles = |of: &[Measured], share| {
        Spread::of(of.iter().map(|measured| measured.percentile(share)).collect()).median
    };
    let what = format!("p99 of rank at {HALF_LOAD} a second, median of {WINDOWS} windows");
    let p99 = Figure::new(what, percentiles(&paced, 0.99), "ms").required(20.0, 20.0);
    figures.push(p99.beside(HANDLER, percentiles(&bare, 0.99)));
    if !undisturbed.is_empty() {
        let what = format!("  of the {} in which the host took nothing", undisturbed.len());
        figures.push(Figure::new(what, Spread::of(undisturbed).median, "ms"));
    }
    let together = |of: &[Measured]| Measured::together(of).percentile(0.99);
    let all = Figure::new("  p99 of all of them together", together(&paced), "ms");
    figures.push(all.beside(HANDLER, together(&bare)));
    if lasted > 0.0 {
        let what = "  of one processor, taken by the host meanwhile";
        figures.push(Figure::new(what, 100.0 * taken / lasted, "%"));
    }
    let what = format!("median of rank at {HALF_LOAD} a second");
    let median = Figure::new(what, percentiles(&paced, 0.5), "ms");
    figures.push(median.beside(HANDLER, percentiles(&bare, 0.5)));

    progress("open events, in batches");
    load.fill(events.saturating_sub(load.ranked()), &process.key).await?;
    let mut rates = Vec::new();
    for _ in 0..REPEATS {
        let few = (requests / REPEATS as u64).min(events / 50).max(1);
        rates.push(load.ranks(few, &process.key).await?.rate);
    }
    let (open, rates) = (load.ranked(), Spread::of(rates));
    let what = format!("durable rank with {open} open events, median of {REPEATS}");
    figures.push(Figure::rate(what, rates.median));
    figures.push(Figure::rate("  the smallest of them", rates.smallest));
    let bytes = process.memory();
    progress("kill -9 and restart");
    let process = process.kill_and_start(options).await?;
    let what = format!("restart after kill -9 with {open} open events");
    figures.push(Figure::new(what, process.seconds, "s").required(5.0, 1.0));
    for (what, bytes) in [("memory", bytes), ("memory after the restart", process.memory())] {
        if let Some(bytes) = bytes {
            let what = format!("{what} with {open} open events");
            figures.push(Figure::new(what, bytes, "MiB").required(1024.0, 300.0));
        }
    }
    let file = options.folder.join("data").join("store.redb");
    let size = std::fs::metadata(file).map_err(Error::store)?.len() >> 20;
    figures.push(Figure::new("the file of the store", size as f64, "MiB"));
    Ok(figures)
}

/// Questions and rewards of one process on a database.
async fn in_database(options: &BenchOptions) -> Result<[(&'static str, Measured); 2]> {
    let folder = options.folder.join("postgres");
    std::fs::create_dir_all(&folder).map_err(Error::store)?;
    let process = Process::start(&BenchOptions { folder, ..options.clone() }).await?;
    let load = Load::new(process.address, CONNECTIONS);
    let ranks = load.ranks(options.requests, &process.key).await?;
    let rewards = load.rewards(options.requests, &process.key).await?;
    Ok([
        ("durable rank over HTTP, PostgreSQL", ranks),
        ("durable reward over HTTP, PostgreSQL", rewards),
    ])
}

/// Reports of devices: to a bare handler, and to a service of its own, one in a request and many.
async fn reports(
    options: &BenchOptions,
    handler: SocketAddr,
) -> Result<(Measured, [(String, Measured); 2])> {
    let (made, requests) = (Reports::make()?, options.requests);
    let bare = Load::new(handler, CONNECTIONS).of(report::NAME).reports(requests, made, "").await?;
    let folder = options.folder.join("devices");
    std::fs::create_dir_all(&folder).map_err(Error::store)?;
    let process = Process::start(&BenchOptions { folder, ..options.clone() }).await?;
    let load = Load::new(process.address, CONNECTIONS).of(report::NAME);
    let single = load.reports(requests, made, &process.device_key).await?;
    let many = load.report_batches(requests, made, &process.device_key).await?;
    let taken = [
        ("device reports taken, one in a request".into(), single),
        (format!("device reports taken, {} in a request", load::REPORTS), many),
    ];
    Ok((bare, taken))
}
