//! What is assumed.

use std::fmt::Write;

use super::{Result, people};

/// Declares the parameters once: as fields, with what they are, and with their defaults.
macro_rules! parameters {
    ($($name:ident = $default:expr, $what:expr;)*) => {
        /// What is assumed, each by its name on the command line.
        #[derive(Debug, Clone)]
        pub struct Parameters {
            $(#[doc = $what] pub $name: f64,)*
        }

        impl Default for Parameters {
            fn default() -> Self {
                Parameters { $($name: $default,)* }
            }
        }

        impl Parameters {
            fn entry(&mut self, name: &str) -> Option<&mut f64> {
                match name {
                    $(stringify!($name) => Some(&mut self.$name),)*
                    _ => None,
                }
            }

            /// All of them as a table.
            pub fn table(&self) -> String {
                let mut text = String::from("| parameter | value | what it is |\n| --- | --- | --- |\n");
                $(let _ = writeln!(text, "| `{}` | {} | {} |", stringify!($name), shown(self.$name), $what);)*
                text
            }
        }
    };
}

parameters! {
    ranks = 200_000.0, "questions a second, all loops, at the busiest hour";
    rewards = 0.3, "rewards of a question";
    load = 0.5, "mean load, as a share of that of the busiest hour";
    loops = 10_000.0, "loops";
    skew = 1.0, "exponent of Zipf's law: the loop of rank r has a share in proportion to r^-skew";
    database_events = 3_000.0, "questions with their rewards that one database takes a second (required of PostgreSQL in the specification, on 2 cores)";
    database_cores = 2.0, "cores of such a database";
    utilisation = 0.6, "share of its most that a machine is loaded with";
    service_events = 9_000.0, "questions and rewards that one core of a process answers a second (docs/reference/service.md: 18,100 on 2 cores, load generator included)";
    shards = 256.0, "shards of a large loop";
    fan_in = 16.0, "parts that one node of the tree adds";
    tick_seconds = 600.0, "seconds between two releases";
    retained_days = 1.0, "days that rows are kept";
    row_bytes = 600.0, "bytes of a row with its indexes and its share of the write-ahead log (docs/reference/service.md: 1,136 MiB for 1.1 million open events, half of it free)";
    stall = 1e-4, "probability that a shard's database stands still while a tick closes";
    stall_seconds = 30.0, "seconds that it then stands still, as in a failover";
    reports = 1_000_000.0, "device reports a second at the busiest hour";
    reports_core = 21_000.0, "reports that one core takes a second, 100 in a request (docs/reference/service.md: 42,700 on 2 cores)";
    late_seconds = 3_600.0, "seconds for which reports on a model are taken, so that ids are remembered";
    handshake = 1.0, "share of reports that need a new TLS connection";
    handshakes_core = 3_000.0, "TLS handshakes that one core makes a second";
    fetches = 1.0, "models that a device fetches for each report";
    core_hour = 0.045, "dollars for one core for an hour, on demand";
    database_core_hour = 0.16, "dollars for one core of a managed database with a standby in another zone, for an hour";
    disk_gb = 0.23, "dollars for a gigabyte of the database's disk for a month, standby included";
    egress_gb = 0.05, "dollars for a gigabyte sent to the internet, beyond 150 terabytes a month";
    cached_gb = 0.02, "dollars for a gigabyte sent to the internet by a content delivery network, at a large volume";
    zone_gb = 0.02, "dollars for a gigabyte between two zones, both directions";
}

impl Parameters {
    /// The defaults with some parameters set, each as `name=value`.
    pub fn read(arguments: impl Iterator<Item = String>) -> Result<Self> {
        let mut parameters = Parameters::default();
        for argument in arguments {
            let refused = |why: &str| format!("{argument}: {why}");
            let (name, value) =
                argument.split_once('=').ok_or_else(|| refused("give name=value"))?;
            let entry = parameters
                .entry(name)
                .ok_or_else(|| refused("there is no such parameter: the first table lists all"))?;
            let number: f64 = value.parse().map_err(|_| refused("give a number"))?;
            if !(number > 0.0 && number < 1e15) {
                return Err(refused("give a number above 0 and below 1e15").into());
            }
            *entry = number;
        }
        Ok(parameters)
    }

    /// Seconds of busy load in a month of 730 hours.
    pub fn busy_seconds(&self) -> f64 {
        730.0 * 3600.0 * self.load
    }
}

fn shown(value: f64) -> String {
    if value < 10.0 { format!("{value}") } else { people(value) }
}
