//! `reticent bench`: measured figures beside their references.

use std::{fmt::Write, path::PathBuf};

use clap::Args;
use reticent_lab::bench;
use reticent_server::bench::{BenchOptions, Figure, Part};
use serde_json::json;

use super::{place::given_database, serve::runtime};
use crate::{error::Error, report::Report};

/// The section that starts processes and writes to the disk: measured only if it is named.
const SERVICE: &str = "service";

/// The figures the documentation quotes, measured in one run beside their references.
#[derive(Args)]
#[command(
    after_help = "Example: reticent bench --json\n\nOpenDP's Python package is measured too where it is installed: \
    in RETICENT_PYTHON, in target/oracles (made by `cargo xtask test`), or as python3. \
    Built with `--features clarabel`, the section `safe` has the enumeration of paper 3 beside ours.\n\n\
    `reticent bench service` measures `reticent serve` with its embedded store on this machine (some minutes, and some GiB in --data); \
    `--parts release,growth --growth 10000000` measures how costs grow up to ten million events (many minutes, and some 12 GiB)."
)]
pub struct Arguments {
    /// Sections to measure, such as linucb, paper1 or service; without any, all of them but `service` (some minutes).
    sections: Vec<String>,
    /// For `service`: requests of each measurement, from 1000 to 10000000.
    #[arg(long, default_value_t = 200_000, value_parser = clap::value_parser!(u64).range(1000..=10_000_000))]
    requests: u64,
    /// For `service`: open events at the restart, from 1000 to 10000000.
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1000..=10_000_000))]
    events: u64,
    /// For `service`: events up to which the growth of costs is measured, from 100 to 10000000.
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(100..=10_000_000))]
    growth: u64,
    /// For `service`: what to measure, of embedded, replicas (with --database), release and growth; everything by default.
    #[arg(long, value_name = "PARTS", value_delimiter = ',')]
    parts: Vec<Part>,
    /// For `service`: a new folder on the disk that is to be measured; it is removed at the end.
    #[arg(long, default_value = "reticent-bench.data")]
    data: PathBuf,
    /// For `service`: the address of an empty PostgreSQL database, which is measured too and is full of events afterwards.
    #[arg(long, value_name = "URL")]
    database: Option<String>,
}

/// Measures everything.
pub fn run(arguments: Arguments) -> Result<Report, Error> {
    if cfg!(debug_assertions) {
        crate::say!(
            "warning: this is a debug build; the documentation quotes `cargo run --release -- bench`"
        );
    }
    let (service, others): (Vec<String>, Vec<String>) =
        arguments.sections.iter().cloned().partition(|section| section == SERVICE);
    let mut text = String::new();
    let mut json = json!({});
    if service.is_empty() || !others.is_empty() {
        let sections = bench::run(&others, |what| crate::say!("measuring {what} ..."))?;
        sections.iter().for_each(|section| write_section(&mut text, section));
        json["sections"] = json!(sections);
    }
    if !service.is_empty() {
        let figures = measure_service(&arguments)?;
        write_service(&mut text, &figures);
        json["service"] = json!(figures);
    }
    Ok(Report::new(text, &json))
}

fn write_section(text: &mut String, section: &bench::Section) {
    let _ = writeln!(text, "\n{}", section.title);
    for figure in &section.figures {
        let _ = write!(text, "  {:<64} {:>10.4} {:<3}", figure.what, figure.measured, figure.unit);
        if let (Some(reference), Some(ratio)) = (figure.reference, figure.ratio()) {
            let _ = write!(text, "  {reference:>9.4}  x {ratio:.4}  {}", figure.source);
        }
        text.push('\n');
    }
}

fn measure_service(arguments: &Arguments) -> Result<Vec<Figure>, Error> {
    let folder = arguments.data.clone();
    if folder.exists() {
        let remedy = "it would be removed at the end: give a folder that does not exist yet";
        return Err(reticent_server::Error::invalid("data", folder.display(), remedy).into());
    }
    let options = BenchOptions {
        program: std::env::current_exe()?,
        folder,
        database: given_database(arguments.database.clone())?,
        parts: arguments.parts.clone(),
        requests: arguments.requests,
        events: arguments.events,
        growth: arguments.growth,
    };
    let progress = |what: &str| crate::say!("measuring {what} ...");
    Ok(runtime()?.block_on(reticent_server::bench::run(&options, progress))?)
}

fn write_service(text: &mut String, figures: &[Figure]) {
    let _ = writeln!(
        text,
        "\nThe service, d = 16, K = 20, M = 64, on its embedded store where no other is named"
    );
    let _ = writeln!(text, "  {:<52} {:>10}      {:>8} {:>8}", "", "measured", "required", "goal");
    for figure in figures {
        let number = |value: Option<f64>| value.map_or(String::new(), |value| format!("{value}"));
        let (required, wanted) = (number(figure.required), number(figure.wanted));
        let digits = if figure.measured < 1000.0 { 2 } else { 0 };
        let _ = write!(
            text,
            "  {:<52} {:>10.digits$} {:<4} {required:>8} {wanted:>8}",
            figure.what, figure.measured, figure.unit
        );
        if figure.reached() == Some(false) {
            text.push_str("  NOT REACHED");
        }
        for bare in &figure.bare {
            let _ = write!(text, "  x {:.3} of {}", bare.ratio, bare.what);
        }
        text.push('\n');
    }
}
