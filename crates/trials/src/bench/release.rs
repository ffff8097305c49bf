//! Cost of a release: a tick of the clock, from closing the slot to serving the release and removing the rows that are in it.
//!
//! Windows are one tick long: events of a tick are released two ticks later.

use super::{
    Place, REPEATS,
    figure::{Figure, Spread},
    inside::Inside,
};
use reticent_server::{Error, Result, config::ServiceFile};

/// Dimensions, at [`FEW`] events.
const DIMENSIONS: [usize; 4] = [8, 16, 32, 64];
/// More events in one release, at d = 16.
const MANY: [u64; 2] = [10_000, 100_000];
/// Events in one release where something else is varied.
const FEW: u64 = 1_000;

pub(super) async fn measure(place: &Place, progress: &dyn Fn(&str)) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    let (label, few) = (place.label, FEW.min(place.most));
    let mut small = None;
    for dimension in DIMENSIONS {
        progress(&format!("{label}releases, d = {dimension}"));
        let mut inside = open(place, dimension, "by-dimension").await?;
        let empty = milliseconds(&mut inside, 0).await?;
        let full = milliseconds(&mut inside, few).await?;
        let what = format!("{label}release of {few} events, d = {dimension}");
        let figure = Figure::new(what, full, "ms");
        figures.push(match small {
            Some(smallest) => figure.beside("d = 8", smallest),
            None => figure,
        });
        small = small.or(Some(full));
        figures.push(Figure::new(format!("  of no events, d = {dimension}"), empty, "ms"));
    }
    let mut inside = open(place, 16, "by-events").await?;
    for closed in MANY.into_iter().filter(|closed| *closed <= place.most) {
        progress(&format!("{label}releases of {closed} events"));
        let taken = milliseconds(&mut inside, closed).await?;
        figures.push(Figure::new(
            format!("{label}release of {closed} events, d = 16"),
            taken,
            "ms",
        ));
        figures.push(Figure::new("  for each event", taken * 1e3 / closed as f64, "us"));
    }
    Ok(figures)
}

/// The median time of a release of `events` events.
async fn milliseconds(inside: &mut Inside, events: u64) -> Result<f64> {
    let mut times = Vec::new();
    for _ in 0..REPEATS {
        inside.rank(events).await?;
        inside.wait(1);
        times.push(1e3 * inside.release().await?);
    }
    Ok(Spread::of(times).median)
}

/// A loop of this dimension: a constant, and numbers of an action.
async fn open(place: &Place, dimension: usize, purpose: &str) -> Result<Inside> {
    let name = format!("{purpose}-{dimension}");
    let numbers = || 1..dimension;
    let ranges: String =
        numbers().map(|number| format!("x{number} = {{ range = [0, 1] }}\n")).collect();
    let text = format!(
        r#"
        [loop.{name}]
        privacy = {{ epsilon = 1.0, delta = 1e-6, visits = 10, per = "30 days" }}
        reward = {{ range = [0, 1], window = "1 minute", combine = "sum" }}
        learner = {{ tick = "1 minute", forget = "90 days" }}
        [loop.{name}.action]
        {ranges}
        "#
    );
    match ServiceFile::parse(&text)?.check()?.remove(0).features().dimension() {
        found if found == dimension => {}
        other => {
            return Err(Error::invalid("dimension", other, format!("it should be {dimension}")));
        }
    }
    let action = |id: usize| {
        let features = numbers().map(|number| format!(r#""x{number}":0.{}"#, (number * id) % 10));
        format!(r#"{{"id":"a{id}","features":{{{}}}}}"#, features.collect::<Vec<_>>().join(","))
    };
    let request = format!(r#"{{"actions":[{},{}]}}"#, action(1), action(3));
    Inside::open(&place.data(&name)?, &place.clock, &text, &request).await
}
