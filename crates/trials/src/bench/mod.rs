//! Figures of the stores, each beside its requirement and its goal, and as ratios to a bare handler and a bare store in the same run.
//! `cargo xtask bench` prints them.
//!
//! | file | what it is |
//! | --- | --- |
//! | `command` | arguments of `cargo xtask bench`, and its table |
//! | `figure` | a figure, and repeated measurements |
//! | `request` | the loop and the requests: d = 16, K = 20, 64 members |
//! | `report` | the reports of devices: d = 16 |
//! | `load` | requests over HTTP: as many as possible, and at a fixed rate |
//! | `bare` | a handler of axum that does nothing |
//! | `process` | the service as a process: started, killed, its memory |
//! | `inside` | the service in this process, on a clock that is moved |
//! | `work` | a decision without input and output |
//! | `store` | the store alone, and redb alone |
//!
//! | part | what it measures |
//! | --- | --- |
//! | `embedded` | one process on the embedded store, beside `work` and `store` |
//! | `replicas` | one, two and four processes on one PostgreSQL database |
//! | `release` | cost of a release, by dimension and by events |
//! | `growth` | cost of an event, by the number of events |
//!
//! The load comes over the loopback interface, from this process, on the same machine, and is bounded in number and time.

mod bare;
mod command;
mod embedded;
mod figure;
mod growth;
mod inside;
mod load;
mod process;
mod release;
mod replicas;
mod report;
mod request;
mod store;
#[cfg(test)]
mod tests;
mod work;

use std::{path::PathBuf, str::FromStr, sync::Arc};

pub use self::command::command;
pub use self::figure::{Bare, Figure};
use self::load::Load;
use reticent_server::{
    Error, Result,
    clock::{Clock, ManualClock, SystemClock},
    data::{Data, DatabaseUrl},
    store::PostgresStore,
};

/// Connections at the same time.
const CONNECTIONS: u64 = 256;
/// Measurements whose median is the figure.
const REPEATS: usize = 5;
/// Name of the ratios to a bare handler.
const HANDLER: &str = "a bare handler";
/// Events in a database of which releases are measured, at most.
const DATABASE_EVENTS: u64 = 100_000;

/// Options of a measurement.
#[derive(Debug, Clone)]
pub struct BenchOptions {
    /// The program that serves.
    pub program: PathBuf,
    /// A folder for the data, which is made and removed: on the disk that is to be measured.
    pub folder: PathBuf,
    /// An empty PostgreSQL database, which is measured too.
    pub database: Option<DatabaseUrl>,
    /// Parts to measure; all of them if there is none.
    pub parts: Vec<Part>,
    /// Requests of each measurement over HTTP.
    pub requests: u64,
    /// Open events at the restart.
    pub events: u64,
    /// Events up to which growth is measured.
    pub growth: u64,
}

/// A part that can be measured alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// One process on the embedded store.
    Embedded,
    /// Several processes on one database.
    Replicas,
    /// Cost of a release.
    Release,
    /// Growth of costs.
    Growth,
}

impl FromStr for Part {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "embedded" => Ok(Part::Embedded),
            "replicas" => Ok(Part::Replicas),
            "release" => Ok(Part::Release),
            "growth" => Ok(Part::Growth),
            _ => {
                let remedy =
                    "name embedded, replicas, release or growth, or several of them with commas";
                Err(Error::invalid("parts", format!("{name:?}"), remedy))
            }
        }
    }
}

impl BenchOptions {
    fn wants(&self, part: Part) -> bool {
        self.parts.is_empty() || self.parts.contains(&part)
    }

    /// The same in a folder within this one, which is made.
    fn within(&self, name: &str) -> Result<Self> {
        let folder = self.folder.join(name);
        std::fs::create_dir_all(&folder).map_err(Error::store)?;
        Ok(BenchOptions { folder, ..self.clone() })
    }

    /// The same in the folder of the database: processes and services in this process have the same keys.
    fn in_database(&self) -> Result<Option<Self>> {
        self.database.is_some().then(|| self.within("postgres")).transpose()
    }

    /// Location of the data of a process.
    fn data(&self) -> Data {
        Data { folder: self.folder.join("data"), database: self.database.clone() }
    }
}

/// A service in this process that is measured: on the embedded store, or in the database.
struct Place {
    /// Prefix of figure names.
    label: &'static str,
    options: BenchOptions,
    /// One for all services of a database, which does not accept a clock that goes backwards.
    clock: Arc<ManualClock>,
    /// Events of a measurement, at most.
    most: u64,
}

impl Place {
    /// The data of a service: a new store, or the database.
    fn data(&self, name: &str) -> Result<Data> {
        match self.options.database {
            Some(_) => Ok(self.options.data()),
            None => Ok(self.options.within(name)?.data()),
        }
    }
}

/// Measures everything; calls `progress` before each part.
pub async fn run(options: &BenchOptions, progress: impl Fn(&str)) -> Result<Vec<Figure>> {
    if options.parts.contains(&Part::Replicas) && options.database.is_none() {
        let remedy = "several processes need one database: give --database too";
        return Err(Error::invalid("parts", "replicas", remedy));
    }
    if let Some(url) = &options.database
        && PostgresStore::identity(url.as_str()).await?.is_some()
    {
        let remedy =
            "it holds a store already, whose events would be in the figures; expected an empty one";
        return Err(Error::invalid("database", "this address", remedy));
    }
    std::fs::create_dir_all(&options.folder).map_err(Error::store)?;
    let measured = measure(options, &progress).await;
    let removed = std::fs::remove_dir_all(&options.folder).map_err(Error::store);
    let figures = measured?;
    removed.map(|()| figures)
}

async fn measure(options: &BenchOptions, progress: &dyn Fn(&str)) -> Result<Vec<Figure>> {
    let embedded = BenchOptions { database: None, ..options.clone() };
    let database = options.in_database()?;
    let mut figures = Vec::new();
    progress("a bare handler");
    let handler = bare::handler().await?;
    let bare = Load::new(handler, CONNECTIONS).ranks(options.requests, "").await?;
    if options.wants(Part::Embedded) {
        figures.extend(embedded::measure(&embedded, handler, bare.rate, progress).await?);
    }
    if let Some(options) = database.as_ref().filter(|options| options.wants(Part::Replicas)) {
        figures.extend(replicas::measure(options, bare.rate, progress).await?);
    }
    let few = DATABASE_EVENTS.min(options.growth);
    let of_database = database.map(|options| ("PostgreSQL, ", options, few));
    for (label, options, most) in [("", embedded, options.growth)].into_iter().chain(of_database) {
        let clock = Arc::new(ManualClock::at(SystemClock::default().now()));
        let place = &Place { label, options, clock, most };
        if place.options.wants(Part::Release) {
            figures.extend(release::measure(place, progress).await?);
        }
        if place.options.wants(Part::Growth) {
            figures.extend(growth::measure(place, progress).await?);
        }
    }
    Ok(figures)
}
