//! `reticent key`: keys of a service, made, listed and revoked while it runs or while it does not.

use std::fmt::Write;

use clap::{Args, Subcommand};
use reticent_server::{
    clock::{Clock, SystemClock},
    control::{Command, KeyLine, Reply, command},
    http::Role,
};

use super::{place::Place, serve::runtime};
use crate::{error::Error, report::Report};

/// Makes, lists and revokes the keys that clients of `reticent serve` send.
#[derive(Args)]
#[command(after_help = "Example: reticent key new --data data --loop home --role decide,reward")]
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
        /// decide, reward, device, read, or admin alone; several with commas.
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
}

fn parse_role(name: &str) -> Result<Role, reticent_server::Error> {
    Role::parse(name.trim())
}

/// Carries out the command.
pub fn run(arguments: Arguments) -> Result<Report, Error> {
    let (place, ask) = match arguments.action {
        Action::New { place, r#loop, role } => {
            (place, Command::NewKey { loop_name: r#loop, roles: role })
        }
        Action::List { place } => (place, Command::ListKeys),
        Action::Revoke { place, key } => (place, Command::RevokeKey { key }),
    };
    match runtime()?.block_on(command(&place.data(), ask, SystemClock::default().now()))? {
        Reply::Key(key) => {
            let json = serde_json::json!({ "key": key });
            Ok(Report::new(key, &json).note(["it is shown this once: keep it safe".to_string()]))
        }
        Reply::Keys(keys) => Ok(Report::new(table(&keys), &keys)),
        Reply::Revoked => Ok(Report::new("revoked", &serde_json::json!({ "revoked": true }))),
        Reply::Accepted(_) => {
            Err(reticent_server::Error::Conflict("the service answered another command".into())
                .into())
        }
        Reply::Refused(why) => Err(reticent_server::Error::Conflict(why).into()),
    }
}

fn table(keys: &[KeyLine]) -> String {
    if keys.is_empty() {
        return "there are no keys: `reticent key new` makes one".into();
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
