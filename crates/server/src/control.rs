//! Commands of an operator to a running service: the store's file is locked, so that commands are sent to its process over a socket in the folder of the
//! data.
//!
//! One line of JSON is a [`Command`], one line a [`Reply`]. The socket has mode 0600: a process that may open it may read the store too.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::{
    Error, Result,
    clock::Time,
    data::Data,
    http::{KeyRing, Role, check_trust, make_key},
    secret::CheckValue,
    service::{
        Accepted, RollbackCost, Service, StoredLoop, needed_keys, stored_loops, stored_model,
    },
    store::{COPY_OF_DATABASE, PostgresStore, Store, StoreId},
};

#[cfg(unix)]
mod socket;

#[cfg(unix)]
pub use socket::Control;

/// Command of an operator.
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
    /// Asks for the price of going on from a store that was rolled back.
    PriceRollback {
        /// The loop.
        loop_name: String,
        /// The head of the store, `number.hash`.
        head: String,
    },
    /// Go on from a store that was rolled back, and charge the replay.
    AcceptRollback {
        /// The loop.
        loop_name: String,
        /// The head of the store, `number.hash`.
        head: String,
    },
    /// Go on with a clock that is not believed.
    AcceptTime {
        /// The day that it shows, as 2026-01-31.
        date: String,
    },
    /// Asks for the released model of a loop, for another one to begin with.
    Model {
        /// The loop.
        loop_name: String,
        /// The file of the witness, which a service that runs has open itself.
        #[serde(skip)]
        witness: Option<PathBuf>,
    },
    /// Write a copy of the store.
    Backup {
        /// A file that does not exist yet, as the process that serves sees it.
        file: PathBuf,
    },
    /// Asks for the keys of the people's hashes that are still needed.
    PeopleKeys,
    /// Asks for the loops of the store, with all of their generations.
    Loops,
    /// Asks for the identity of the served store.
    Store,
    /// Revoke a key.
    RevokeKey {
        /// Its public part, or the whole key.
        key: String,
    },
}

/// Reply to a command.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// The new key, shown this once.
    Key(String),
    /// All keys, revoked ones included.
    Keys(Vec<KeyLine>),
    /// The key is revoked.
    Revoked,
    /// Price of a rollback.
    RollbackPriced(RollbackCost),
    /// Releases go on, with a replay charged.
    RollbackAccepted(Accepted),
    /// The clock is believed: milliseconds since 1970.
    TimeAccepted(Time),
    /// The text of a file.
    Model(String),
    /// The copy is written.
    BackedUp,
    /// Check values of the keys of the people's hashes that are still needed.
    PeopleKeys(Vec<CheckValue>),
    /// The loops of the store.
    Loops(Vec<StoredLoop>),
    /// The identity of the store that is served.
    Store(StoreId),
    /// The command was refused, for this reason.
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
    /// Time of its creation, in milliseconds since 1970.
    pub made: Time,
    /// Time of its revocation.
    pub revoked: Option<Time>,
}

/// Carries out a command on a store.
pub async fn execute(store: &dyn Store, command: Command, now: Time) -> Result<Reply> {
    match command {
        Command::NewKey { loop_name, roles } => {
            check_trust(store, loop_name.as_deref(), &roles).await?;
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
        Command::Model { loop_name, witness } => {
            stored_model(store, &loop_name, witness.as_deref()).await.map(Reply::Model)
        }
        Command::PriceRollback { .. } | Command::AcceptRollback { .. } => Err(needs_service(
            "a rollback is noticed by a service that runs, which compares the store with its witness and with what clients have seen",
        )),
        Command::AcceptTime { .. } => Err(needs_service(
            "a clock is doubted by a service that runs, which compares it with the known time",
        )),
        Command::PeopleKeys => Err(needs_service(
            "its own time decides which keys of the people's hashes are outlived",
        )),
        Command::Loops => stored_loops(store).await.map(Reply::Loops),
        Command::Store => Ok(Reply::Store(store.id())),
        Command::Backup { file } => {
            store.backup(file).await?;
            Ok(Reply::BackedUp)
        }
        Command::RevokeKey { key } => {
            let id = key_id(&key).to_string();
            match store.revoke_key(id.clone(), now).await? {
                true => Ok(Reply::Revoked),
                false => {
                    let shown: String = id.chars().take(40).collect();
                    Err(Error::unknown(
                        "key",
                        format!("{shown:?}"),
                        "see `reticent-server key list`",
                    ))
                }
            }
        }
    }
}

/// A command that only a service that runs can carry out.
fn needs_service(why: &str) -> Error {
    Error::Unavailable(format!(
        "no service runs on this folder, and {why}: start it as usual (`reticent-server serve --config LOOPS --data DIR`, with --witness and --database if it has them), and run \
         this command again while it runs; where several processes use one database, on the machine of one of them with its folder"
    ))
}

/// The public part of a key, or of what names one.
fn key_id(key: &str) -> &str {
    key.strip_prefix("rt_").and_then(|rest| rest.split('_').next()).unwrap_or(key)
}

/// The same in a service that runs, whose keys are then read again.
pub async fn execute_live(service: &Service, keys: &KeyRing, command: Command) -> Reply {
    let store = service.store();
    let changes = matches!(command, Command::NewKey { .. } | Command::RevokeKey { .. });
    let done = match command {
        Command::AcceptRollback { loop_name, head } => {
            service.accept_rollback(&loop_name, &head).await.map(Reply::RollbackAccepted)
        }
        Command::PriceRollback { loop_name, head } => {
            service.price_rollback(&loop_name, &head).await.map(Reply::RollbackPriced)
        }
        Command::AcceptTime { date } => service.accept_time(&date).await.map(Reply::TimeAccepted),
        Command::Model { loop_name, .. } => service.model_file(&loop_name).await.map(Reply::Model),
        Command::PeopleKeys => {
            needed_keys(store.as_ref(), service.now()).await.map(Reply::PeopleKeys)
        }
        other => {
            let revoked = match &other {
                Command::RevokeKey { key } => Some(key_id(key).to_string()),
                _ => None,
            };
            let done = execute(store.as_ref(), other, service.now()).await;
            match (&done, revoked) {
                // An older copy of the store, after a rollback, must not know the key again.
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
    let folder = &data.folder;
    if data.database.is_some() && matches!(command, Command::Backup { .. }) {
        return Err(Error::Unavailable(COPY_OF_DATABASE.into()));
    }
    #[cfg(unix)]
    if let Some(url) = &data.database
        && let Some(reply) = socket::ask(folder, &Command::Store).await?
    {
        if let Reply::Refused(why) = reply {
            return Err(Error::Conflict(why));
        }
        let found = PostgresStore::identity(url.as_str()).await?;
        if !matches!(reply, Reply::Store(served) if Some(served) == found) {
            let remedy = "the process that serves from this folder has another store: leave --database (RETICENT_DATABASE) out, or give the folder of a process on that database";
            return Err(Error::invalid("data", folder.display(), remedy));
        }
    }
    #[cfg(unix)]
    if let Some(reply) = socket::ask(folder, &command).await? {
        return match reply {
            Reply::Refused(why) => Err(Error::Conflict(why)),
            reply => Ok(reply),
        };
    }
    // Keys may be made before the first start; everything else is about a store that there is.
    if !matches!(command, Command::NewKey { .. }) && !data.is_store() {
        let remedy = "there is no store in this folder; expected that of `reticent-server serve --data`, and --database too if the service has one";
        return Err(Error::invalid("data", folder.display(), remedy));
    }
    // A mistyped folder would get a store of its own, with a key that no service knows; beside a database, one that no service runs on is asked.
    if !folder.is_dir() {
        let remedy = "there is no such folder; expected that of `reticent-server serve --data`; or make it before the first start";
        return Err(Error::invalid("data", folder.display(), remedy));
    }
    if let Some(url) = &data.database {
        // A mistyped address would get tables of its own.
        let makes = matches!(command, Command::NewKey { .. });
        if !makes && PostgresStore::identity(url.as_str()).await?.is_none() {
            let remedy =
                "there is no store in it; expected that of `reticent-server serve --database`";
            return Err(Error::invalid("database", "this address", remedy));
        }
        let store = PostgresStore::open(url.as_str()).await?;
        // Where several machines use one store, its clock decides.
        let now = store.clock().now();
        return execute(&store, command, now).await;
    }
    let (store, _) = data.open().await?;
    execute(store.as_ref(), command, now).await
}
