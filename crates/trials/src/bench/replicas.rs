//! One, two and four processes on one PostgreSQL database, with the same load spread over them.
//!
//! All four run from the beginning, and the load goes to some of them in turn: so each measurement finds as many rows as the others, give or take one round.

use super::{
    BenchOptions, CONNECTIONS, HANDLER,
    figure::{Figure, Spread},
    load::Load,
    process::Process,
};
use reticent_server::Result;

/// Numbers of processes that share the load.
const COUNTS: [usize; 3] = [1, 2, 4];
/// Measurements of each; the figure is the median.
const ROUNDS: u64 = 3;

/// Measures it beside a bare handler, which answers `bare` rank requests a second.
pub(super) async fn measure(
    options: &BenchOptions,
    bare: f64,
    progress: &dyn Fn(&str),
) -> Result<Vec<Figure>> {
    progress("the start of four processes on one database");
    let mut processes = vec![Process::start(options).await?];
    for number in 1..COUNTS[COUNTS.len() - 1] {
        let folder = options.within(&format!("process-{number}"))?;
        processes.push(processes[0].another(options, &folder).await?);
    }
    let addresses = processes.iter().map(|process| process.address).collect();
    let (load, key) = (Load::spread(addresses, CONNECTIONS), &processes[0].key);
    let requests = options.requests.div_ceil(ROUNDS);
    let [mut ranks, mut rewards] = [const { [const { Vec::new() }; COUNTS.len()] }; 2];
    for round in 1..=ROUNDS {
        for (index, count) in COUNTS.into_iter().enumerate() {
            progress(&format!("ranks and rewards in PostgreSQL, {}, round {round}", named(count)));
            let load = load.over(count);
            ranks[index].push(load.ranks(requests, key).await?.rate);
            rewards[index].push(load.rewards(requests, key).await?.rate);
        }
    }
    let mut figures = Vec::new();
    for (what, rates) in [("rank", ranks), ("reward", rewards)] {
        let rates = rates.map(|rates| Spread::of(rates).median);
        for (count, rate) in COUNTS.into_iter().zip(rates) {
            let what = format!("durable {what}, PostgreSQL, {}", named(count));
            let figure = Figure::rate(what, rate).beside(HANDLER, bare);
            figures.push(match count {
                1 => figure.required(3_000.0, 8_000.0),
                _ => figure.beside("one process", rates[0]),
            });
        }
    }
    Ok(figures)
}

fn named(processes: usize) -> String {
    match processes {
        1 => "one process".into(),
        many => format!("{many} processes"),
    }
}
