//! `reticent-server store`: what an operator does to the store of a service.

use std::{
    io::{BufRead, IsTerminal},
    path::{Path, PathBuf},
};

use clap::{Args, Subcommand};
use serde_json::json;

use super::{error::Error, place::Place, process::runtime, report::Report};
use crate::{
    clock::{Clock, SystemClock, date_time},
    control::{Command, Reply, command},
    data::STORE,
    loops::page::epsilon_text,
    service::{Accepted, RollbackCost},
    store::{Location, move_store},
};

/// Looks after the store of a service.
#[derive(Args)]
#[command(
    after_help = "Example: reticent-server store backup --data data --to backup/store.redb\n\nGo on from a restored copy: reticent-server store accept-rollback --data data --loop home --head 17.00112233445566778899aabbccddeeff"
)]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Goes on from an older copy of the store, such as a restored backup, where the newer one is lost: the replay is charged to the loop's guarantee, for good. The service must run.
    AcceptRollback {
        #[command(flatten)]
        place: Place,
        /// The loop.
        #[arg(long, value_name = "LOOP")]
        r#loop: String,
        /// The head that the service named when it stopped releasing.
        #[arg(long, value_name = "NUMBER.HASH")]
        head: String,
        /// Accepts the new epsilon without asking: for scripts.
        #[arg(long)]
        yes: bool,
    },
    /// Goes on with the time of the clock, where the service does not believe it because it is far ahead of what the store knows. The service must run.
    AcceptTime {
        #[command(flatten)]
        place: Place,
        /// The day that the clock shows, in UTC, as the service named it.
        #[arg(long, value_name = "YYYY-MM-DD", value_parser = parse_date)]
        date: String,
    },
    /// Writes a copy of the store while the service runs or while it does not. The keys of the people's hashes, of events and of sealed reports are not in it. A database is
    /// copied by PostgreSQL itself: pg_dump.
    Backup {
        #[command(flatten)]
        place: Place,
        /// A file that does not exist yet.
        #[arg(long, value_name = "FILE")]
        to: PathBuf,
    },
    /// Moves everything from one store to another: releases, visits, open events, keys, settings. The source ends: two served copies would each
    /// release the same people.
    #[command(
        after_help = "Example: reticent-server store copy --from data --to postgres://reticent@localhost/reticent"
    )]
    Copy {
        /// The folder of a service that is stopped, or the address of a database, whose services are then not answered any more. `env:NAME` is the address in a variable of the
        /// environment, where others on the machine do not see a password.
        #[arg(long, value_name = "FOLDER|URL|env:NAME")]
        from: String,
        /// A folder without a store, or the address of an empty database, or `env:NAME`.
        #[arg(long, value_name = "FOLDER|URL|env:NAME")]
        to: String,
    },
    /// Writes what a loop has released to a file that another loop may begin with (`warm_start`), with what it has cost, while the service runs or while
    /// it does not.
    Model {
        #[command(flatten)]
        place: Place,
        /// The loop.
        #[arg(long, value_name = "LOOP")]
        r#loop: String,
        /// The witness that the store was served with, if there is one: needed while the service does not run.
        #[arg(long, value_name = "PATH")]
        witness: Option<PathBuf>,
        /// A file that does not exist yet.
        #[arg(long, value_name = "FILE")]
        to: PathBuf,
    },
}

/// A day of the calendar, as it was written.
fn parse_date(text: &str) -> Result<String, String> {
    let remedy = || "expected a day of the calendar as YYYY-MM-DD".to_string();
    let parts: Vec<&str> = text.split('-').collect();
    let [year, month, day] = parts[..] else { return Err(remedy()) };
    let number = |part: &str, digits: usize| match part.len() == digits
        && part.bytes().all(|digit| digit.is_ascii_digit())
    {
        true => part.parse::<u32>().map_err(|_| remedy()),
        false => Err(remedy()),
    };
    let (year, month, day) = (number(year, 4)?, number(month, 2)?, number(day, 2)?);
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        2 => 28 + u32::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    };
    if (1..=days).contains(&day) { Ok(text.to_string()) } else { Err(remedy()) }
}

/// Carries out the command.
pub fn run(arguments: Arguments) -> Result<Report, Error> {
    match arguments.action {
        Action::AcceptRollback { place, r#loop, head, yes } => {
            let price = Command::PriceRollback { loop_name: r#loop.clone(), head: head.clone() };
            match ask(place.clone(), price)? {
                Reply::RollbackPriced(_) if yes => {}
                Reply::RollbackPriced(cost) => {
                    let input = std::io::stdin();
                    let is_terminal = input.is_terminal();
                    confirm(&r#loop, cost, is_terminal, input.lock())?;
                }
                reply => return Err(unexpected(reply)),
            }
            match ask(place, Command::AcceptRollback { loop_name: r#loop, head })? {
                Reply::RollbackAccepted(accepted) => {
                    let Accepted { replays, cost: RollbackCost { before, after } } = accepted;
                    let (epsilon, was) = (epsilon_text(after), epsilon_text(before));
                    let text = format!(
                        "Releases resumed. Epsilon is now {epsilon} (was {was}); replays charged so far: {replays}"
                    );
                    let epsilon = json!({ "before": before, "after": after });
                    Ok(Report::new(text, &json!({ "replays": replays, "epsilon": epsilon })))
                }
                reply => Err(unexpected(reply)),
            }
        }
        Action::AcceptTime { place, date } => match ask(place, Command::AcceptTime { date })? {
            Reply::TimeAccepted(time) => {
                let text = format!("Releases resumed. The time is {}.", date_time(time));
                Ok(Report::new(text, &json!({ "time": time })))
            }
            reply => Err(unexpected(reply)),
        },
        Action::Backup { place, to } => {
            // The process that serves stands in another folder.
            let file = std::path::absolute(&to)?;
            match ask(place, Command::Backup { file })? {
                Reply::BackedUp => {
                    let text = format!("the copy is in {}", to.display());
                    let note = "keep people.key, events.key and seal.key too, apart from the copy: without them no person is recognised, and reports that are sealed cannot be opened";
                    Ok(Report::new(text, &json!({ "backup": to })).note([note.to_string()]))
                }
                reply => Err(unexpected(reply)),
            }
        }
        Action::Copy { from, to } => {
            let (from, to) = (location("from", &from)?, location("to", &to)?);
            let moved = runtime()?.block_on(move_store(&from, &to))?;
            let text = format!(
                "moved {} entries, SHA-256 {} in both; the source has ended and is refused from now on",
                moved.entries, moved.hash
            );
            let note = "people.key, events.key and seal.key stay where they are: every process needs them in its folder";
            Ok(Report::new(text, &moved).note([note.to_string()]))
        }
        Action::Model { place, r#loop, witness, to } => {
            match ask(place, Command::Model { loop_name: r#loop, witness })? {
                Reply::Model(text) => {
                    write_new(&to, &text)?;
                    let text = format!("the model is in {}", to.display());
                    Ok(Report::new(text, &json!({ "model": to })))
                }
                reply => Err(unexpected(reply)),
            }
        }
    }
}

/// An address of a database, the name of the variable that holds one, or the file in a folder.
fn location(option: &'static str, text: &str) -> Result<Location, Error> {
    let is_address =
        |text: &str| text.starts_with("postgres://") || text.starts_with("postgresql://");
    let Some(name) = text.strip_prefix("env:") else {
        return Ok(match is_address(text) {
            true => Location::Database(text.into()),
            false => Location::File(Path::new(text).join(STORE)),
        });
    };
    match std::env::var(name) {
        Ok(address) if is_address(&address) => Ok(Location::Database(address)),
        _ => {
            let remedy = "this variable of the environment holds no address of a database: set it to postgres://user@host/database";
            let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
            // Text that is no name may be an address with a password.
            let shown = if is_name { text } else { "env:..." };
            Err(crate::Error::invalid(option, shown, remedy).into())
        }
    }
}

/// Asks the person at the terminal whether epsilon may rise for good. A script says so by `--yes`.
fn confirm(
    name: &str,
    RollbackCost { before, after }: RollbackCost,
    is_terminal: bool,
    mut input: impl BufRead,
) -> Result<(), Error> {
    let cost = format!(
        "epsilon of loop {name} rises from {} to {} for good",
        epsilon_text(before),
        epsilon_text(after)
    );
    let refused = |value: &str| {
        let remedy = format!(
            "{cost}: restore the newer copy of the store if there is one; else confirm with `yes` at a terminal, or add --yes"
        );
        Error::from(crate::Error::invalid("confirmation", value, remedy))
    };
    if !is_terminal {
        return Err(refused("standard input is no terminal"));
    }
    eprint!(
        "If the newer copy of the store still exists, restore it instead: nothing is charged then. Otherwise {cost}. Accept? Type yes: "
    );
    let mut answer = String::new();
    input.read_line(&mut answer)?;
    match answer.trim() {
        "yes" => Ok(()),
        _ => Err(refused("not given")),
    }
}

fn ask(place: Place, request: Command) -> Result<Reply, Error> {
    Ok(runtime()?.block_on(command(&place.data()?, request, SystemClock::default().now()))?)
}

/// Error for an unexpected reply of a service.
pub(super) fn unexpected(reply: Reply) -> Error {
    let why = match reply {
        Reply::Refused(why) => why,
        _ => "the service answered another command: use the program that serves".into(),
    };
    crate::Error::Conflict(why).into()
}

/// Writes a file that does not exist yet.
fn write_new(path: &Path, text: &str) -> Result<(), Error> {
    use std::io::Write;
    let written = std::fs::File::create_new(path)
        .and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()));
    if written.as_ref().is_err_and(|error| error.kind() == std::io::ErrorKind::AlreadyExists) {
        let remedy = "expected the name of a file that does not exist yet";
        return Err(crate::Error::invalid("model", path.display(), remedy).into());
    }
    written
        .map_err(|error| Error::Unwritable { path: path.to_path_buf(), reason: error.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rollback_is_accepted_by_a_person_who_knows_its_cost() {
        let cost = RollbackCost { before: 4.0, after: 5.93 };
        let refused = |is_terminal, input: &str| {
            confirm("home", cost, is_terminal, input.as_bytes())
                .err()
                .map(|error| error.to_string())
        };
        assert_eq!(refused(true, "yes\n"), None);
        for (is_terminal, input) in [(true, "\n"), (true, ""), (true, "y\n"), (false, "yes\n")] {
            let message = refused(is_terminal, input).unwrap();
            for words in [
                "epsilon of loop home rises from 4.00 to 5.93 for good",
                "restore the newer copy",
                "--yes",
            ] {
                assert!(message.contains(words), "{words}: {message}");
            }
        }
    }
}
