//! Keys of a service that runs: the store's file is locked, so that commands are sent to its process over a socket in the folder of the data.
//!
//! One line of JSON is a [`Command`], one line a [`Reply`]. The socket has mode 0600: whoever may open it may read the store too.

use serde::{Deserialize, Serialize};

use crate::{
    Error, Result,
    clock::Time,
    data::Data,
    http::{KeyRing, Role, make_key},
    service::Service,
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
    /// Go on from a store that has gone back, and charge the replay.
    AcceptRollback {
        /// The loop.
        loop_name: String,
        /// The head of the store, `number.hash`.
        head: String,
    },
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
    /// Releases go on, with so many replays charged.
    Accepted(u64),
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
        Command::AcceptRollback { loop_name, .. } => {
            let remedy =
                "start the service first: it compares the store with what others have seen";
            Err(Error::unknown(format!("loop {loop_name:?}"), remedy))
        }
        Command::RevokeKey { key } => {
            let id = key_id(&key).to_string();
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

/// The public part of a key, or of what names one.
fn key_id(key: &str) -> &str {
    key.strip_prefix("rt_").and_then(|rest| rest.split('_').next()).unwrap_or(key)
}

/// The same in a service that runs, whose keys are then read again.
pub async fn execute_live(service: &Service, keys: &KeyRing, command: Command) -> Reply {
    let store = service.store();
    let changes = !matches!(command, Command::ListKeys);
    let done = match command {
        Command::AcceptRollback { loop_name, head } => {
            service.accept_rollback(&loop_name, &head).await.map(Reply::Accepted)
        }
        other => {
            let revoked = match &other {
                Command::RevokeKey { key } => Some(key_id(key).to_string()),
                _ => None,
            };
            let done = execute(store.as_ref(), other, service.now()).await;
            match (&done, revoked) {
                // An older copy of the store that is put back must not know the key again.
                (Ok(_), Some(id)) => service.witness_revoked(&id).await.and(done),
                _ => done,
            }
        }
    };
    let reloaded = if changes { keys.reload(store.as_ref()).await } else { Ok(()) };
    match (done, reloaded) {
        (Ok(reply), Ok(())) => reply,
        (Err(error), _) | (_, Err(error)) => Reply::Refused(error.to_string()),
    }
}

/// Carries out a command where data are: in the process that serves from their folder, or on their store if none does.
pub async fn command(data: &Data, command: Command, now: Time) -> Result<Reply> {
    #[cfg(unix)]
    if let Some(reply) = socket::ask(&data.folder, &command).await? {
        return match reply {
            Reply::Refused(why) => Err(Error::Conflict(why)),
            reply => Ok(reply),
        };
    }
    let (store, _) = data.open().await?;
    execute(store.as_ref(), command, now).await
}
