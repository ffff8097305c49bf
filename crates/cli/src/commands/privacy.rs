//! `reticent privacy`: the calculator.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use reticent::privacy::{Accountant, Event, gaussian, shuffle};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::read;
use crate::{error::Error, report::Report};

/// A calculator: exact Gaussian noise, composition, shuffling.
#[derive(Args)]
#[command(after_help = "Example: reticent privacy sigma --epsilon 1 --delta 1e-5 --sensitivity 1")]
pub struct Arguments {
    #[command(subcommand)]
    quantity: Quantity,
}

#[derive(Subcommand)]
enum Quantity {
    /// The smallest Gaussian noise that gives (epsilon, delta).
    #[command(
        after_help = "Example: reticent privacy sigma --epsilon 1 --delta 1e-5 --compose 30 --json"
    )]
    Sigma {
        /// Requested epsilon.
        #[arg(long, allow_negative_numbers = true)]
        epsilon: f64,
        /// Requested delta.
        #[arg(long, allow_negative_numbers = true)]
        delta: f64,
        #[command(flatten)]
        release: Release,
    },
    /// The delta that Gaussian noise gives at an epsilon.
    #[command(after_help = "Example: reticent privacy delta --sigma 4 --epsilon 1")]
    Delta {
        /// Standard deviation of the noise.
        #[arg(long, allow_negative_numbers = true)]
        sigma: f64,
        /// Requested epsilon.
        #[arg(long, allow_negative_numbers = true)]
        epsilon: f64,
        #[command(flatten)]
        release: Release,
    },
    /// The epsilon that Gaussian noise gives at a delta.
    #[command(
        after_help = "Example: reticent privacy epsilon --sigma 4 --delta 1e-6 --compose 100"
    )]
    Epsilon {
        /// Standard deviation of the noise.
        #[arg(long, allow_negative_numbers = true)]
        sigma: f64,
        /// Requested delta.
        #[arg(long, allow_negative_numbers = true)]
        delta: f64,
        #[command(flatten)]
        release: Release,
    },
    /// The epsilon of a shuffled batch of locally private reports.
    #[command(
        after_help = "Example: reticent privacy shuffle --epsilon-local 2 --n 100000 --delta 1e-6"
    )]
    Shuffle {
        /// The local randomiser's epsilon.
        #[arg(long, allow_negative_numbers = true)]
        epsilon_local: f64,
        /// Number of people who report in the batch; 1e9 is understood too.
        #[arg(long, value_parser = count)]
        n: u64,
        /// Requested delta.
        #[arg(long, allow_negative_numbers = true)]
        delta: f64,
        /// The reports are binary randomised response: a sharper analysis applies.
        #[arg(long)]
        binary: bool,
    },
    /// The total cost of a list of events for one person.
    #[command(
        after_help = "Example: reticent privacy account events.toml --delta 1e-6\n\nevents.toml:\n  \
        [[event]]\n  kind = \"laplace\"\n  sensitivity = 1.0\n  scale = 2.0\n\n  \
        [[event]]\n  kind = \"repeated\"\n  times = 30\n  event = { kind = \"gaussian\", sensitivity = 1.0, sigma = 20.0 }"
    )]
    Account {
        /// A TOML file with one [[event]] table per release.
        events: PathBuf,
        /// Requested delta: the epsilon that holds with it is printed.
        #[arg(long, conflicts_with = "epsilon", required_unless_present = "epsilon")]
        delta: Option<f64>,
        /// Requested epsilon: the delta that holds with it is printed.
        #[arg(long)]
        epsilon: Option<f64>,
    },
}

#[derive(Args)]
struct Release {
    /// l2 sensitivity: the largest distance between the values of two neighbours.
    #[arg(long, default_value_t = 1.0, allow_negative_numbers = true)]
    sensitivity: f64,
    /// Number of such releases that one person's data go into.
    #[arg(long, default_value_t = 1)]
    compose: u64,
}

impl Release {
    fn mu(&self, sigma: f64) -> reticent::Result<f64> {
        gaussian::mu_of(self.sensitivity, sigma, self.compose)
    }
}

/// A whole number, also in the form 1e9.
fn count(text: &str) -> Result<u64, String> {
    let whole = |value: &f64| value.fract() == 0.0 && (0.0..=9e15).contains(value);
    text.parse::<u64>().or_else(|_| {
        let value = text.parse::<f64>().ok().filter(whole).map(|value| value as u64);
        value.ok_or_else(|| "expected a whole number, such as 1000 or 1e9".to_string())
    })
}

/// The releases that one person's data go into.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct EventFile {
    /// One release.
    event: Vec<Event>,
}

/// Computes one quantity.
pub fn run(arguments: Arguments) -> Result<Report, Error> {
    let (name, value, delta) = match arguments.quantity {
        Quantity::Sigma { epsilon, delta, release } => {
            let sigma = gaussian::sigma(epsilon, delta, release.sensitivity, release.compose)?;
            ("sigma", sigma, Some(delta))
        }
        Quantity::Delta { sigma, epsilon, release } => {
            ("delta", gaussian::delta(epsilon, release.mu(sigma)?)?, None)
        }
        Quantity::Epsilon { sigma, delta, release } => {
            ("epsilon", gaussian::epsilon(delta, release.mu(sigma)?)?, Some(delta))
        }
        Quantity::Shuffle { epsilon_local, n, delta, binary } => {
            if delta * n as f64 > 1.0 {
                crate::say!(
                    "warning: delta = {delta} is above 1/n for n = {n} people; stay well below that"
                );
            }
            ("epsilon", shuffle::epsilon(epsilon_local, n, delta, binary)?, Some(delta))
        }
        Quantity::Account { events, delta, epsilon } => {
            let mut accountant = Accountant::new();
            for event in read_events(&events)? {
                accountant.spend(event)?;
            }
            let curve = accountant.curve()?;
            match (delta, epsilon) {
                (_, Some(epsilon)) => ("delta", curve.delta(epsilon)?, None),
                (delta, None) => {
                    let delta = delta.expect("clap asks for delta or epsilon");
                    ("epsilon", curve.epsilon(delta)?, Some(delta))
                }
            }
        }
    };
    if !value.is_finite() {
        return Err(reticent::Error::Unsupported {
            event: format!("one without a finite {name}"),
            remedy: "give more noise, a larger delta, or fewer releases".into(),
        }
        .into());
    }
    // With all digits; nineteen zeros are not counted by eye.
    let small = value != 0.0 && value.abs() < 1e-3;
    let text = if small { format!("{name} = {value:e}") } else { format!("{name} = {value}") };
    Ok(Report::new(text, &json!({ name: value })).warn(delta.filter(|&delta| delta > 1e-3).map(|delta| {
        format!("delta = {delta} would let a mechanism publish one person in {:.0} outright; stay below 1e-3", 1.0 / delta)
    })))
}

fn read_events(path: &Path) -> Result<Vec<Event>, Error> {
    let file: EventFile =
        reticent_lab::parse_lines(&read(path)?).map_err(|error| Error::in_file(path, error))?;
    Ok(file.event)
}
