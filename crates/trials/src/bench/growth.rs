//! Cost of an event, by the number of events: while all of them are open, and while they are released and removed as they come.
//!
//! A cost that stays the same has the ratio 1 beside that of the smallest size.

use std::{collections::VecDeque, path::Path};

use super::{
    Place, REPEATS,
    figure::{Figure, Spread},
    inside::Inside,
    request,
};
use reticent_server::{Error, Result, data::STORE};

/// The smallest size.
const SMALLEST: u64 = 10_000;
/// Events of a release beside the open ones.
const FEW: u64 = 1_000;
/// Events of a tick, where they are released as they come.
const OF_A_TICK: u64 = 10_000;
/// Rank requests whose time is measured at a size, at most.
const SAMPLE: u64 = 50_000;

pub(super) async fn measure(place: &Place, progress: &dyn Fn(&str)) -> Result<Vec<Figure>> {
    let mut figures = open_events(place, progress).await?;
    figures.extend(released_events(place, progress).await?);
    Ok(figures)
}

/// Sizes, each ten times the one before, up to the largest.
fn sizes(most: u64) -> Vec<u64> {
    let tens = std::iter::successors(Some(SMALLEST), |size| size.checked_mul(10));
    tens.take_while(|size| *size < most).chain([most]).collect()
}

/// The costs at one size.
struct Costs {
    size: u64,
    /// Microseconds of a rank request.
    rank: f64,
    /// Milliseconds of a release.
    release: f64,
    /// Bytes of the store's file, where there is one.
    bytes: Option<f64>,
}

/// Everything stays open, but for few events that are released at each size.
async fn open_events(place: &Place, progress: &dyn Fn(&str)) -> Result<Vec<Figure>> {
    let data = place.data("open")?;
    let mut inside = open(place, "open", "1 day", "10 minutes").await?;
    let (sizes, few) = (sizes(place.most), FEW.min(place.most));
    // A tick of few events for each release, and a day later all the others: the windows of the few end one after the other, and those of the others do not.
    let releases = sizes.len() * REPEATS;
    for _ in 0..releases {
        inside.rank(few).await?;
        inside.wait(1);
    }
    inside.wait(144_u64.saturating_sub(releases as u64));
    let before = inside.events();
    let mut found = Vec::new();
    for size in sizes {
        progress(&format!("{}{size} open events", place.label));
        let sample = SAMPLE.min(size / 2).max(1);
        inside.rank((before + size).saturating_sub(inside.events() + sample)).await?;
        let rank = 1e6 * inside.rank(sample).await? / sample as f64;
        let mut releases = Vec::new();
        for _ in 0..REPEATS {
            releases.push(1e3 * inside.release().await?);
        }
        let release = Spread::of(releases).median;
        found.push(Costs { size, rank, release, bytes: bytes(&data.folder, inside.events())? });
    }
    let release = format!("  release of {few} others meanwhile");
    Ok(figures(place, "open events", &release, &found))
}

/// Every tick has some events, which are released with it and removed.
async fn released_events(place: &Place, progress: &dyn Fn(&str)) -> Result<Vec<Figure>> {
    let data = place.data("released")?;
    let mut inside = open(place, "released", "1 minute", "1 minute").await?;
    let of_a_tick = OF_A_TICK.min(place.most.div_ceil(10));
    // The first releases have no events yet.
    for _ in 0..2 {
        inside.rank(of_a_tick).await?;
        inside.wait(1);
    }
    let mut found = Vec::new();
    for size in sizes(place.most) {
        progress(&format!("{}{size} events that are released as they come", place.label));
        let mut last = VecDeque::new();
        while inside.events() < size || last.len() < REPEATS {
            let rank = 1e6 * inside.rank(of_a_tick).await? / of_a_tick as f64;
            last.push_back((rank, 1e3 * inside.release().await?));
            if last.len() > REPEATS {
                last.pop_front();
            }
        }
        let (rank, release) = last.into_iter().unzip();
        let (rank, release) = (Spread::of(rank).median, Spread::of(release).median);
        found.push(Costs { size, rank, release, bytes: bytes(&data.folder, inside.events())? });
    }
    let release = format!("  release of {of_a_tick} of them");
    Ok(figures(place, "released events", &release, &found))
}

/// The figures of all sizes, each beside that of the smallest.
fn figures(place: &Place, what: &str, release: &str, found: &[Costs]) -> Vec<Figure> {
    let Some(first) = found.first() else { return Vec::new() };
    let of_one = |costs: &Costs| {
        let beside = |figure: Figure, smallest: f64| match costs.size == first.size {
            true => figure,
            false => figure.beside("the smallest size", smallest),
        };
        let name = format!("{}rank with {} {what}", place.label, costs.size);
        let bytes = costs.bytes.zip(first.bytes).map(|(bytes, smallest)| {
            beside(Figure::new("  the store's file, for each event", bytes, "B"), smallest)
        });
        [
            Some(beside(Figure::new(name, costs.rank, "us"), first.rank)),
            Some(beside(Figure::new(release, costs.release, "ms"), first.release)),
            bytes,
        ]
    };
    found.iter().flat_map(of_one).flatten().collect()
}

async fn open(place: &Place, name: &str, window: &str, tick: &str) -> Result<Inside> {
    let text = request::LOOP
        .replace("loop.bench", &format!("loop.{name}"))
        .replace("window = \"1 day\"", &format!("window = \"{window}\""))
        .replace("tick = \"10 minutes\"", &format!("tick = \"{tick}\""));
    let asked = request::rank_request(0);
    Inside::open(&place.data(name)?, &place.clock, &text, &asked).await
}

/// Bytes of the embedded store for each event.
fn bytes(folder: &Path, events: u64) -> Result<Option<f64>> {
    let file = folder.join(STORE);
    match file.exists() {
        true => {
            let length = std::fs::metadata(file).map_err(Error::store)?.len();
            Ok(Some(length as f64 / events as f64))
        }
        false => Ok(None),
    }
}
