//! The command `bench`: arguments -> options -> figures, printed as a table or as JSON.

use std::{fmt::Write, path::PathBuf, process::ExitCode};

use clap::{Parser, builder::NonEmptyStringValueParser};
use reticent_server::{Error, Result};
use serde_json::json;

use super::{BenchOptions, Figure, Part, run};

/// Figures of the service with its embedded store on this machine, each beside its reference: some minutes, and some GiB in --data.
#[derive(Parser)]
#[command(
    name = "cargo xtask bench",
    after_help = "Example: cargo xtask bench --json\n\nGrowth of costs up to ten million events (many minutes, and some 12 GiB): \
    cargo xtask bench --parts release,growth --growth 10000000"
)]
struct Arguments {
    /// Prints one JSON document on stdout and nothing else there.
    #[arg(long)]
    json: bool,
    /// Requests of each measurement, from 1000 to 10000000.
    #[arg(long, default_value_t = 200_000, value_parser = clap::value_parser!(u64).range(1000..=10_000_000))]
    requests: u64,
    /// Open events at the restart, from 1000 to 10000000.
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1000..=10_000_000))]
    events: u64,
    /// Events up to which the growth of costs is measured, from 100 to 10000000.
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(100..=10_000_000))]
    growth: u64,
    /// Measurements, of embedded, replicas (with --database), release and growth; all by default.
    #[arg(long, value_name = "PARTS", value_delimiter = ',')]
    parts: Vec<Part>,
    /// A new folder on the disk that is to be measured; it is removed at the end.
    #[arg(long, default_value = "reticent-bench.data")]
    data: PathBuf,
    /// Address of an empty PostgreSQL database, which is measured too and is full of events afterwards.
    #[arg(long, value_name = "URL", value_parser = NonEmptyStringValueParser::new())]
    database: Option<String>,
}

/// Measures as the process's arguments say and prints the figures. The result is the process's exit code.
pub fn command() -> ExitCode {
    // The first argument is the program, the second `bench`.
    let arguments = Arguments::parse_from(std::env::args_os().skip(1));
    if cfg!(debug_assertions) {
        eprintln!("warning: this is a debug build; `cargo xtask bench` measures an optimised one");
    }
    let json = arguments.json;
    match measure(arguments) {
        Ok(figures) if json => println!("{}", json!({ "service": figures })),
        Ok(figures) => println!("{}", table(&figures)),
        Err(error) => {
            eprintln!("bench: {error}");
            let is_failure = matches!(error, Error::Store(_) | Error::Unavailable(_));
            return ExitCode::from(if is_failure { 1 } else { 2 });
        }
    }
    ExitCode::SUCCESS
}

fn measure(arguments: Arguments) -> Result<Vec<Figure>> {
    let folder = arguments.data;
    if folder.exists() {
        let remedy = "it would be removed at the end; expected a folder that does not exist yet";
        return Err(Error::invalid("data", folder.display(), remedy));
    }
    let options = BenchOptions {
        program: std::env::current_exe().map_err(Error::store)?,
        folder,
        database: arguments.database.map(Into::into),
        parts: arguments.parts,
        requests: arguments.requests,
        events: arguments.events,
        growth: arguments.growth,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let progress = |next: &str| eprintln!("measuring {next} ...");
    runtime.map_err(Error::store)?.block_on(run(&options, progress))
}

fn table(figures: &[Figure]) -> String {
    let mut text = String::from(
        "The service, d = 16, K = 20, M = 64, on its embedded store where no other is named\n",
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
    text.trim_end().to_string()
}
