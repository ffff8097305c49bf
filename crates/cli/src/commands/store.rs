//! `reticent store`: what an operator does to the store of a service.

use std::path::Path;

use clap::{Args, Subcommand};
use reticent_server::{
    clock::{Clock, SystemClock},
    control::{Command, Reply, command},
    data::STORE,
    store::{Location, move_store},
};

use super::{place::Place, serve::runtime};
use crate::{error::Error, report::Report};

/// Looks after the store of a service: goes on after a rollback, or moves it elsewhere.
#[derive(Args)]
#[command(
    after_help = "Example: reticent store accept-rollback --data data --loop home --head 17.0011223344556677"
)]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Goes on from a store that has gone back, such as a restored backup, and charges the replay to the loop's guarantee.
    AcceptRollback {
        #[command(flatten)]
        place: Place,
        /// The loop.
        #[arg(long, value_name = "LOOP")]
        r#loop: String,
        /// The head that the service named when it stopped releasing.
        #[arg(long, value_name = "NUMBER.HASH")]
        head: String,
    },
    /// Moves everything from one store to another: releases, visits, open events, keys, settings. The source ends: two living copies would each
    /// release the same people.
    #[command(
        after_help = "Example: reticent store copy --from data --to postgres://reticent@localhost/reticent"
    )]
    Copy {
        /// The folder of a service that is stopped, or the address of a database, whose services are then not answered any more.
        #[arg(long, value_name = "FOLDER|URL")]
        from: String,
        /// A folder without a store, or the address of an empty database.
        #[arg(long, value_name = "FOLDER|URL")]
        to: String,
    },
}

/// Carries out the command.
pub fn run(arguments: Arguments) -> Result<Report, Error> {
    match arguments.action {
        Action::AcceptRollback { place, r#loop, head } => accept_rollback(place, r#loop, head),
        Action::Copy { from, to } => copy(&from, &to),
    }
}

fn accept_rollback(place: Place, loop_name: String, head: String) -> Result<Report, Error> {
    let ask = Command::AcceptRollback { loop_name, head };
    match runtime()?.block_on(command(&place.data(), ask, SystemClock::default().now()))? {
        Reply::Accepted(replays) => {
            let text = format!("releases go on; replays charged so far: {replays}");
            Ok(Report::new(text, &serde_json::json!({ "replays": replays })))
        }
        Reply::Refused(why) => Err(reticent_server::Error::Conflict(why).into()),
        _ => {
            let why = "the service answered another command".into();
            Err(reticent_server::Error::Conflict(why).into())
        }
    }
}

fn copy(from: &str, to: &str) -> Result<Report, Error> {
    let moved = runtime()?.block_on(move_store(&location(from), &location(to)))?;
    let text = format!(
        "moved {} entries, SHA-256 {} in both; the source has ended and is refused from now on",
        moved.entries, moved.hash
    );
    let keys =
        "people.key and events.key stay where they are: every process needs both in its folder";
    Ok(Report::new(text, &moved).note([keys.to_string()]))
}

/// An address of a database, or the file in a folder.
fn location(text: &str) -> Location {
    match text.starts_with("postgres://") || text.starts_with("postgresql://") {
        true => Location::Database(text.into()),
        false => Location::File(Path::new(text).join(STORE)),
    }
}
