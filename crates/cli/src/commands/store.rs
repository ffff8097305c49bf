//! `reticent store`: what an operator does to the store of a service.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use reticent_server::{
    clock::{Clock, SystemClock},
    control::{Command, Reply, command},
};

use super::serve::runtime;
use crate::{error::Error, report::Report};

/// Looks after the store of a service that runs.
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
        /// The folder that the service keeps its data in.
        #[arg(long)]
        data: PathBuf,
        /// The loop.
        #[arg(long, value_name = "LOOP")]
        r#loop: String,
        /// The head that the service named when it stopped releasing.
        #[arg(long, value_name = "NUMBER.HASH")]
        head: String,
    },
}

/// Carries out the command.
pub fn run(arguments: Arguments) -> Result<Report, Error> {
    let Action::AcceptRollback { data, r#loop, head } = arguments.action;
    let ask = Command::AcceptRollback { loop_name: r#loop, head };
    match runtime()?.block_on(command(&data, ask, SystemClock::default().now()))? {
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
