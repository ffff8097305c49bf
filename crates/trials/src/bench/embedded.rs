//! One process on the embedded store: rates, latency, a restart, memory.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use super::{
    BenchOptions, CONNECTIONS, HANDLER, REPEATS,
    figure::{Figure, Spread},
    load::{self, Load, Measured},
    process::{self, Process},
    report::{self, Reports},
    store, work,
};
use reticent_server::{Error, Result};

/// Requests a second at which latency is measured: half of the required rate.
const HALF_LOAD: u64 = 5_000;
/// Windows of a second, in each of which latency is measured: the host of a virtual machine may take a processor away for some time.
const WINDOWS: usize = 30;

/// Measures it beside a bare handler, which answers `bare` rank requests a second.
pub(super) async fn measure(
    options: &BenchOptions,
    handler: SocketAddr,
    bare: f64,
    progress: &dyn Fn(&str),
) -> Result<Vec<Figure>> {
    let BenchOptions { requests, events, .. } = *options;
    let mut figures = Vec::new();
    progress("a decision without input and output");
    let work = work::measure()?;
    let what = "rank's own work: features, choice, probabilities";
    figures.push(Figure::new(what, work.decide, "us").required(15.0, 5.0));
    figures.push(Figure::new("  of it, features of 20 actions", work.features, "us"));
    figures.push(Figure::new("reading the request's JSON", work.json, "us"));

    progress("the store alone, and redb alone");
    let alone = store::measure(&options.folder, requests, CONNECTIONS).await?;
    const REDB: &str = "redb alone";
    figures.push(Figure::rate("the store alone, rank", alone.ranks).beside(REDB, alone.bare));
    figures.push(Figure::rate("the store alone, reward", alone.rewards).beside(REDB, alone.bare));

    progress("ranks and rewards over HTTP");
    let process = Process::start(options).await?;
    let load = Load::new(process.address, CONNECTIONS);
    let ranks = load.ranks(requests, &process.key).await?;
    let rewards = load.rewards(requests, &process.key).await?;
    let rate = Figure::rate("durable rank over HTTP", ranks.rate).required(10_000.0, 25_000.0);
    figures.push(rate.beside(HANDLER, bare).beside(REDB, alone.bare));
    let rate = Figure::rate("durable reward over HTTP", rewards.rate).required(10_000.0, 25_000.0);
    figures.push(rate.beside(HANDLER, bare).beside(REDB, alone.bare));

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

/// Reports of devices: to a bare handler, and to a service of its own, one in a request and many.
async fn reports(
    options: &BenchOptions,
    handler: SocketAddr,
) -> Result<(Measured, [(String, Measured); 2])> {
    let (made, requests) = (Reports::make()?, options.requests);
    let bare = Load::new(handler, CONNECTIONS).of(report::NAME).reports(requests, made, "").await?;
    let process = Process::start(&options.within("devices")?).await?;
    let load = Load::new(process.address, CONNECTIONS).of(report::NAME);
    let single = load.reports(requests, made, &process.device_key).await?;
    let many = load.report_batches(requests, made, &process.device_key).await?;
    let taken = [
        ("device reports taken, one in a request".into(), single),
        (format!("device reports taken, {} in a request", load::REPORTS), many),
    ];
    Ok((bare, taken))
}
