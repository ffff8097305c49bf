//! `reticent-server key`: keys of a service, made, listed and revoked while it runs or while it does not, and the keys of the people's hashes.

use std::{fmt::Write, path::PathBuf};

use super::{error::Error, place::Place, process::runtime, report::Report, store::unexpected};
use crate::{
    clock::{Clock, SystemClock},
    control::{Command, KeyLine, Reply, command},
    data::people_key_in,
    http::Role,
    secret::{PeopleKeys, Secret},
};
use clap::{Args, Subcommand};

/// Makes, lists and revokes the keys that clients of `reticent-server serve` send.
#[derive(Args)]
#[command(
    after_help = "Example: reticent-server key new --data data --loop home --role decide,reward"
)]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Makes a key and prints it, this once: only its hash is kept.
    New {
        #[command(flatten)]
        place: Place,
        /// The loop that the key is for; an admin key is for all of them.
        #[arg(long, value_name = "LOOP")]
        r#loop: Option<String>,
        /// decide, reward, device, shuffle, read, or admin alone; several with commas.
        #[arg(long, value_delimiter = ',', required = true, value_parser = parse_role)]
        role: Vec<Role>,
    },
    /// Lists all keys without their secrets.
    List {
        #[command(flatten)]
        place: Place,
    },
    /// Revokes a key at once.
    Revoke {
        #[command(flatten)]
        place: Place,
        /// The key's id, as `list` shows it, or the whole key.
        key: String,
    },
    /// Puts a new key of the people's hashes in front of the others, which stay: visits under all of them add up. It is taken up at the next
    /// start of the service.
    RotatePeople {
        #[command(flatten)]
        place: Place,
        /// The file of the keys, where `reticent-server serve` is given one.
        #[arg(long, value_name = "PATH")]
        people_key: Option<PathBuf>,
        /// Leave out earlier keys under which nothing counts any more, as the running service says.
        #[arg(long)]
        drop_outlived: bool,
    },
}

fn parse_role(name: &str) -> Result<Role, crate::Error> {
    Role::parse(name.trim())
}

/// Carries out the command.
pub fn run(arguments: Arguments) -> Result<Report, Error> {
    let (place, ask) = match arguments.action {
        Action::RotatePeople { place, people_key, drop_outlived } => {
            return rotate(place, people_key, drop_outlived);
        }
        Action::New { place, r#loop, role } => {
            (place, Command::NewKey { loop_name: r#loop, roles: role })
        }
        Action::List { place } => (place, Command::ListKeys),
        Action::Revoke { place, key } => (place, Command::RevokeKey { key }),
    };
    match runtime()?.block_on(command(&place.data()?, ask, SystemClock::default().now()))? {
        Reply::Key(key) => {
            let json = serde_json::json!({ "key": key });
            Ok(Report::new(key, &json).note(["it is shown this once: keep it safe".to_string()]))
        }
        Reply::Keys(keys) => Ok(Report::new(table(&keys), &keys)),
        Reply::Revoked => Ok(Report::new("revoked", &serde_json::json!({ "revoked": true }))),
        reply => Err(unexpected(reply)),
    }
}

/// Rotates the key of the people's hashes.
fn rotate(place: Place, file: Option<PathBuf>, drop_outlived: bool) -> Result<Report, Error> {
    let data = place.data()?;
    let file = file.unwrap_or_else(|| people_key_in(&data.folder));
    let needed = match drop_outlived {
        false => None,
        true => {
            let now = SystemClock::default().now();
            match runtime()?.block_on(command(&data, Command::PeopleKeys, now))? {
                Reply::PeopleKeys(needed) => Some(needed),
                reply => return Err(unexpected(reply)),
            }
        }
    };
    let outlived =
        |key: &Secret| needed.as_ref().is_some_and(|needed| !needed.contains(&key.check_value()));
    let keys = PeopleKeys::rotate(&file, outlived)?;
    let text = format!("{} holds {keys} keys, the new one first", file.display());
    let note = "start the service again to use it, and keep the file in its backup".to_string();
    Ok(Report::new(text, &serde_json::json!({ "keys": keys })).note([note]))
}

fn table(keys: &[KeyLine]) -> String {
    if keys.is_empty() {
        return "there are no keys: `reticent-server key new` makes one".into();
    }
    let mut text = format!("{:<12}  {:<20}  {:<28}  state\n", "id", "loop", "roles");
    for key in keys {
        let whose = key.r#loop.as_deref().unwrap_or("(all)");
        let state = if key.revoked.is_some() { "revoked" } else { "in use" };
        let _ =
            writeln!(text, "{:<12}  {:<20}  {:<28}  {state}", key.id, whose, key.roles.join(","));
    }
    text
}
