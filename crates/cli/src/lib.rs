//! The command line: arguments -> a validated command -> run -> one report.
//!
//! Results go to stdout (with `--json`, one JSON document and nothing else), all other messages to stderr. Exit code 0 is success, 2 bad
//! input, 130 Ctrl-C, 1 failure.
//!
//! A program of your own has the same commands, with its own kinds of algorithms and environments in the files that `run`, `certify`, `audit` and `merge`
//! read: [`run_with`].
//!
//! | module | contents |
//! | --- | --- |
//! | `commands` | one file for each command: its arguments, and what it does |
//! | `report` | the result of a command, as text and as JSON |
//! | `progress` | progress on stderr, and Ctrl-C |
//! | `error` | errors, with their exit codes |

/// Prints a message on stderr; a closed stderr is not an error.
macro_rules! say {
    ($($words:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), $($words)*);
    }};
}
pub(crate) use say;

mod commands;
mod error;
mod progress;
mod report;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use reticent_lab::Kinds;

use error::Error;
use report::Report;

/// Good decisions from people's data without learning the people's data.
#[derive(Parser)]
#[command(name = "reticent", version, propagate_version = true, arg_required_else_help = true)]
#[command(after_help = "Example: reticent demo")]
struct Arguments {
    /// Print one JSON document on stdout and nothing else there.
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Demo(commands::demo::Arguments),
    Run(commands::run::Arguments),
    Merge(commands::merge::Arguments),
    Certify(commands::certify::Arguments),
    Audit(commands::audit::Arguments),
    Reproduce(commands::reproduce::Arguments),
    Learn(commands::learn::Arguments),
    Plan(commands::plan::Arguments),
    Privacy(commands::privacy::Arguments),
    Schema(commands::schema::Arguments),
    Bench(commands::bench::Arguments),
    #[command(hide = true, disable_help_flag = true)]
    Serve(OfService),
    #[command(hide = true, disable_help_flag = true)]
    Shuffle(OfService),
    #[command(hide = true, disable_help_flag = true)]
    Key(OfService),
    #[command(hide = true, disable_help_flag = true)]
    Store(OfService),
}

/// Arguments of a command that the program `reticent-server` has.
#[derive(clap::Args)]
struct OfService {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    _arguments: Vec<std::ffi::OsString>,
}

fn run(command: Command, kinds: &Kinds) -> Result<Report, Error> {
    match command {
        Command::Demo(arguments) => commands::demo::run(arguments),
        Command::Run(arguments) => commands::run::run(arguments, kinds),
        Command::Merge(arguments) => commands::merge::run(arguments, kinds),
        Command::Certify(arguments) => commands::certify::run(arguments, kinds),
        Command::Audit(arguments) => commands::audit::run(arguments, kinds),
        Command::Reproduce(arguments) => commands::reproduce::run(arguments),
        Command::Learn(arguments) => commands::learn::run(arguments),
        Command::Plan(arguments) => commands::plan::run(arguments),
        Command::Privacy(arguments) => commands::privacy::run(arguments),
        Command::Schema(arguments) => commands::schema::run(arguments),
        Command::Bench(arguments) => commands::bench::run(arguments),
        Command::Serve(_) => Err(Error::OfService("serve")),
        Command::Shuffle(_) => Err(Error::OfService("shuffle")),
        Command::Key(_) => Err(Error::OfService("key")),
        Command::Store(_) => Err(Error::OfService("store")),
    }
}

/// Runs the command of the process's arguments; `kinds` may stand in files of experiments beside those of the laboratory. The result is the process's
/// exit code.
pub fn run_with(kinds: &Kinds) -> ExitCode {
    if let Some(commit) = option_env!("RETICENT_COMMIT") {
        reticent_lab::built_from(commit);
    }
    let arguments = Arguments::parse();
    match run(arguments.command, kinds).and_then(|report| report.print(arguments.json)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say!("reticent: {error}");
            error.exit_code()
        }
    }
}
