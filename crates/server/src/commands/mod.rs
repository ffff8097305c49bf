//! The program `reticent-server`: arguments -> a validated command -> run -> one report.
//!
//! Results go to stdout (with `--json`, one JSON document and nothing else), all other messages to stderr. Exit code 0 is success, 2 bad input, 1 failure.
//!
//! | file | contents |
//! | --- | --- |
//! | `serve`, `check` | loops over HTTP; their files checked, with nothing served |
//! | `shuffle` | the process between devices and a server |
//! | `key`, `store` | keys and the store of a service, while it runs or while it does not |
//! | `place`, `listen` | options that several commands have in common |
//! | `process` | runtime, log and signals of a process that listens |
//! | `notify` | messages to systemd |
//! | `report`, `error` | the result of a command as text and as JSON; errors with their exit codes |

/// Prints a message on stderr; a closed stderr is not an error.
macro_rules! say {
    ($($words:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), $($words)*);
    }};
}

mod check;
mod error;
mod key;
mod listen;
mod notify;
mod place;
mod process;
mod report;
mod serve;
mod shuffle;
mod store;

use std::{path::Path, process::ExitCode};

use clap::{Parser, Subcommand};

use self::error::Error;

/// Private decisions over HTTP, each beside a certificate of the guarantee to the people they are learnt from.
#[derive(Parser)]
#[command(name = "reticent-server", version, propagate_version = true)]
#[command(arg_required_else_help = true, after_help = "Example: reticent-server serve --demo")]
struct Arguments {
    /// Print one JSON document on stdout and nothing else there.
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Serve(serve::Arguments),
    Shuffle(shuffle::Arguments),
    Key(key::Arguments),
    Store(store::Arguments),
}

/// Runs the command of the process's arguments. The result is the process's exit code.
pub fn run() -> ExitCode {
    let Arguments { json, command } = Arguments::parse();
    let result = match command {
        Command::Serve(arguments) => serve::run(arguments),
        Command::Shuffle(arguments) => shuffle::run(arguments),
        Command::Key(arguments) => key::run(arguments),
        Command::Store(arguments) => store::run(arguments),
    };
    match result.and_then(|report| report.print(json)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say!("reticent-server: {error}");
            error.exit_code()
        }
    }
}

/// The text of a file the user named.
fn read(path: &Path) -> Result<String, Error> {
    std::fs::read_to_string(path)
        .map_err(|error| Error::Unreadable { path: path.to_path_buf(), reason: error.to_string() })
}
