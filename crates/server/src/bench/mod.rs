//! `reticent bench service`: the figures of the embedded store, each beside what is required and what is wanted, and as ratios to a bare handler and a bare
//! store in the same run.
//!
//! | file | what it measures |
//! | --- | --- |
//! | `question` | the loop and the requests: d = 16, K = 20, 64 members |
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
mod store;
mod work;

use std::{path::PathBuf, time::Duration};

use serde::Serialize;

use self::{load::Load, process::Process};
use crate::{Error, Result};

/// Connections at the same time.
const CONNECTIONS: u64 = 256;
/// Requests a second at which latency is measured: half of what is required.
const HALF_LOAD: u64 = 5_000;

/// What is measured, and where.
pub struct BenchOptions {
    /// The program that serves.
    pub program: PathBuf,
    /// A folder for the data, which is made and removed: on the disk that is to be measured.
    pub folder: PathBuf,
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

/// Measures everything; `progress` is told what comes next.
pub async fn run(options: &BenchOptions, progress: impl Fn(&str)) -> Result<Vec<Figure>> {
    std::fs::create_dir_all(&options.folder).map_err(Error::store)?;
    let measured = measure(options, progress).await;
    let removed = std::fs::remove_dir_all(&options.folder).map_err(Error::store);
    let figures = measured?;
    removed.map(|()| figures)
}

async fn measure(options: &BenchOptions, progress: impl Fn(&str)) -> Result<Vec<Figure>> {
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

    progress("latency at half of the required load");
    let time = Duration::from_secs(10);
    let bare = Load::new(handler, CONNECTIONS).paced(HALF_LOAD, time, "").await?;
    let paced = load.paced(HALF_LOAD, time, &process.key).await?;
    let what = format!("p99 of rank at {HALF_LOAD} a second");
    let p99 = Figure::new(what, paced.percentile(0.99), "ms").required(20.0, 20.0);
    figures.push(p99.beside(HANDLER, bare.percentile(0.99)));
    let what = format!("median of rank at {HALF_LOAD} a second");
    let median = Figure::new(what, paced.percentile(0.5), "ms");
    figures.push(median.beside(HANDLER, bare.percentile(0.5)));

    progress("open events, in batches");
    load.fill(events.saturating_sub(load.ranked()), &process.key).await?;
    let ranks = load.ranks(requests.min(events / 10).max(1), &process.key).await?;
    let open = load.ranked();
    let what = format!("durable rank with {open} open events");
    figures.push(Figure::rate(what, ranks.rate).required(10_000.0, 25_000.0));
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
