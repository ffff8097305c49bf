//! Keys of a service that runs: the store's file is locked, so that commands are sent to its process over a socket in the folder of the data.
//!
//! One line of JSON is a [`Command`], one line a [`Reply`]. The socket has mode 0600: whoever may open it may read the store too.

use std::{path::Path, sync::Arc};

use serde::{Deserialize, Serialize};

use crate::{
    Error, Result,
    clock::Time,
    data::open_store,
    http::{KeyRing, Role, make_key},
    store::Store,
};

#[cfg(unix)]
mod socket;

#[cfg(unix)]
pub use socket::Control;

/// What an operator asks for.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// Make a key.
    NewKey {
        /// The loop it is for; none for an administrator.
        loop_name: Option<String>,
        /// Its roles.
        roles: Vec<Role>,
    },
    /// List all keys.
    ListKeys,
    /// Revoke a key.
    RevokeKey {
        /// Its public part, or the whole key.
        key: String,
    },
}

/// What became of a command.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// The new key, shown this once.
    Key(String),
    /// All keys, revoked ones included.
    Keys(Vec<KeyLine>),
    /// The key is revoked.
    Revoked,
    /// It was refused, and why.
    Refused(String),
}

/// A key without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyLine {
    /// Its public part.
    pub id: String,
    /// The loop it is for; none for an administrator.
    pub r#loop: Option<String>,
    /// Its roles.
    pub roles: Vec<String>,
    /// When it was made, in milliseconds since 1970.
    pub made: Time,
    /// When it was revoked.
    pub revoked: Option<Time>,
}

/// Carries out a command on a store.
pub async fn execute(store: &dyn Store, command: Command, now: Time) -> Result<Reply> {
    match command {
        Command::NewKey { loop_name, roles } => {
            Ok(Reply::Key(make_key(store, loop_name, roles, now).await?))
        }
        Command::ListKeys => {
            let keys = store.keys().await?.into_iter().map(|key| KeyLine {
                id: key.id,
                r#loop: key.loop_name,
                roles: key.roles,
                made: key.made,
                revoked: key.revoked,
            });
            Ok(Reply::Keys(keys.collect()))
        }
        Command::RevokeKey { key } => {
            let id = key.strip_prefix("rt_").and_then(|rest| rest.split('_').next());
            let id = id.unwrap_or(&key).to_string();
            match store.revoke_key(id.clone(), now).await? {
                true => Ok(Reply::Revoked),
                false => {
                    let shown: String = id.chars().take(40).collect();
                    Err(Error::unknown(format!("key {shown:?}"), "see `reticent key list`"))
                }
            }
        }
    }
}

/// The same in a service that runs, whose keys are then read again.
pub async fn execute_live(
    store: &Arc<dyn Store>,
    keys: &KeyRing,
    command: Command,
    now: Time,
) -> Reply {
    let changes = !matches!(command, Command::ListKeys);
    let done = execute(store.as_ref(), command, now).await;
    let reloaded = if changes { keys.reload(store.as_ref()).await } else { Ok(()) };
    match (done, reloaded) {
        (Ok(reply), Ok(())) => reply,
        (Err(error), _) | (_, Err(error)) => Reply::Refused(error.to_string()),
    }
}

/// Carries out a command in a folder of data: in the process that serves from it, or on its store if none does.
pub async fn command(folder: &Path, command: Command, now: Time) -> Result<Reply> {
    #[cfg(unix)]
    if let Some(reply) = socket::ask(folder, &command).await? {
        return match reply {
            Reply::Refused(why) => Err(Error::Conflict(why)),
            reply => Ok(reply),
        };
    }
    execute(open_store(folder)?.as_ref(), command, now).await
}
