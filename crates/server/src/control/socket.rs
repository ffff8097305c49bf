//! The socket of the commands.

use std::{
    fs,
    io::ErrorKind,
    os::unix::fs::{DirBuilderExt, PermissionsExt},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{UnixListener, UnixStream},
    task::JoinHandle,
};

use super::{Command, Reply, execute_live};
use crate::{Error, Result, http::KeyRing, service::Service};

/// Bytes of a command, at most.
const LONGEST: u64 = 1 << 20;

/// Bytes of a reply, at most: a large model.
const LONGEST_REPLY: u64 = 1 << 28;

/// Time for a command to come.
const TIME: Duration = Duration::from_secs(10);

/// Time for a reply to come: a command may copy a large store.
const REPLY_TIME: Duration = Duration::from_secs(600);

/// Path of the socket of a folder of data.
fn place(folder: &Path) -> PathBuf {
    folder.join("control.sock")
}

fn failed(path: &Path, error: &std::io::Error) -> Error {
    let remedy = format!(
        "{error}; expected a folder that this process can write, with a path below 90 bytes"
    );
    Error::invalid("data", path.display(), remedy)
}

/// The open socket, which is removed when this is dropped.
pub struct Control {
    path: PathBuf,
    task: JoinHandle<()>,
}

impl Control {
    /// Takes commands in this folder. The store of the folder must be open: a socket that was left there is replaced.
    pub fn open(folder: &Path, service: Arc<Service>, keys: Arc<KeyRing>) -> Result<Self> {
        let path = place(folder);
        let listener = bind(folder, &path).map_err(|error| failed(folder, &error))?;
        let task = tokio::spawn(async move {
            loop {
                let Ok((stream, _)) = listener.accept().await else {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                };
                let (service, keys) = (Arc::clone(&service), Arc::clone(&keys));
                // Each in a task of its own: a copy of a large store takes long, and a panic must not close the socket.
                tokio::spawn(async move {
                    if answer(stream, &service, &keys).await.is_err() {
                        tracing::warn!("a command was not answered");
                    }
                });
            }
        });
        Ok(Control { path, task })
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        self.task.abort();
        let _ = fs::remove_file(&self.path);
    }
}

/// Binds within a folder that only its owner can enter, so that the socket is at no moment open to others.
fn bind(folder: &Path, path: &Path) -> std::io::Result<UnixListener> {
    let hidden = folder.join(format!(".control-{}", std::process::id()));
    let _ = fs::remove_dir_all(&hidden);
    fs::DirBuilder::new().mode(0o700).create(&hidden)?;
    let within = hidden.join("s");
    let bound = UnixListener::bind(&within).and_then(|listener| {
        fs::set_permissions(&within, fs::Permissions::from_mode(0o600))?;
        fs::rename(&within, path)?;
        Ok(listener)
    });
    let _ = fs::remove_dir_all(&hidden);
    bound
}

async fn answer(mut stream: UnixStream, service: &Service, keys: &KeyRing) -> std::io::Result<()> {
    let mut line = String::new();
    let (reader, mut writer) = stream.split();
    let read = async { BufReader::new(reader.take(LONGEST)).read_line(&mut line).await };
    tokio::time::timeout(TIME, read).await.map_err(std::io::Error::from)??;
    let reply = match serde_json::from_str::<Command>(&line) {
        Ok(command) => execute_live(service, keys, command).await,
        Err(_) => Reply::Refused("the command is not known: use the program that serves".into()),
    };
    writer.write_all(&line_of(&reply)?).await?;
    writer.shutdown().await
}

/// Sends a command to the process that serves from a folder; none if there is no such process.
pub(super) async fn ask(folder: &Path, command: &Command) -> Result<Option<Reply>> {
    let path = place(folder);
    let mut stream = match UnixStream::connect(&path).await {
        Ok(stream) => stream,
        Err(error)
            if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused) =>
        {
            return Ok(None);
        }
        Err(error) => return Err(failed(&path, &error)),
    };
    let exchange = async {
        let (reader, mut writer) = stream.split();
        writer.write_all(&line_of(command)?).await?;
        let mut line = String::new();
        BufReader::new(reader.take(LONGEST_REPLY)).read_line(&mut line).await?;
        Ok::<_, std::io::Error>(serde_json::from_str(&line)?)
    };
    match tokio::time::timeout(REPLY_TIME, exchange).await {
        Ok(Ok(reply)) => Ok(Some(reply)),
        _ => Err(Error::Unavailable(format!(
            "the process that serves from {} did not answer: look at `reticent-server key list` before you try again",
            folder.display()
        ))),
    }
}

fn line_of(value: &impl serde::Serialize) -> std::io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        clock::SystemClock,
        config::ServiceFile,
        http::Role,
        loops::Limits,
        secret::Secret,
        service::Options,
        store::{MemoryStore, PostgresStore, Store},
    };

    const FILE: &str = r#"
        [loop.home]
        privacy = { epsilon = 1.0, delta = 1e-6 }
        [loop.home.action]
        topic = { categories = ["news", "sport"] }
    "#;

    /// A service of one loop.
    async fn service(store: Arc<dyn Store>) -> Arc<Service> {
        let service = Service::open(Options {
            plans: ServiceFile::parse(FILE).unwrap().check().unwrap(),
            store,
            clock: Arc::new(SystemClock::default()),
            people: Secret::from_bytes([3; 32]),
            earlier_people: Vec::new(),
            events: Secret::from_bytes([5; 32]),
            witness: None,
            limits: Limits::default(),
            seal_key: None,
        });
        service.await.unwrap()
    }

    /// Commands go to the database that is named, or nowhere.
    #[tokio::test]
    async fn a_command_for_another_database_than_the_one_that_is_served_is_refused() {
        let Some(cluster) = crate::store::postgres::testing::cluster() else { return };
        let (folder, url) = (tempfile::tempdir().unwrap(), cluster.empty());
        let list = async |folder: &Path, url: &str| {
            let data = crate::data::Data {
                folder: folder.to_path_buf(),
                database: Some(url.to_string().into()),
            };
            super::super::command(&data, Command::ListKeys, 0).await.map(|_| ())
        };
        let refusal = |done: Result<()>| done.unwrap_err().to_string();
        assert!(refusal(list(folder.path(), &url).await).contains("no store in it"));
        assert_eq!(PostgresStore::identity(&url).await.unwrap(), None, "nothing was made");
        let store = Arc::new(PostgresStore::open(&url).await.unwrap());
        list(folder.path(), &url).await.unwrap();
        let nowhere = folder.path().join("mistyped");
        assert!(
            refusal(list(&nowhere, &url).await).contains("no such folder") && !nowhere.exists()
        );
        let keys = Arc::new(KeyRing::open(store.as_ref()).await.unwrap());
        let control = Control::open(folder.path(), service(store).await, keys).unwrap();
        list(folder.path(), &url).await.unwrap();
        let other = cluster.empty();
        assert!(refusal(list(folder.path(), &other).await).contains("another store"));
        PostgresStore::open(&other).await.unwrap();
        assert!(refusal(list(folder.path(), &other).await).contains("another store"));
        drop(control);
    }

    #[tokio::test]
    async fn keys_are_made_and_revoked_in_a_service_that_runs() {
        let folder = tempfile::tempdir().unwrap();
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new([1; 16]));
        let keys = Arc::new(KeyRing::open(store.as_ref()).await.unwrap());
        assert!(ask(folder.path(), &Command::ListKeys).await.unwrap().is_none());
        // What a killed process leaves.
        drop(std::os::unix::net::UnixListener::bind(place(folder.path())).unwrap());
        assert!(ask(folder.path(), &Command::ListKeys).await.unwrap().is_none());
        let service = service(store).await;
        let control = Control::open(folder.path(), service, Arc::clone(&keys)).unwrap();
        let mode = fs::metadata(place(folder.path())).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let data = crate::data::Data::in_folder(folder.path());
        let command = |command| super::super::command(&data, command, 0);
        let new = Command::NewKey { loop_name: Some("home".into()), roles: vec![Role::Read] };
        let Ok(Reply::Key(key)) = command(new).await else { panic!("no key") };
        assert!(keys.verify(&key).is_some());
        let Ok(Reply::Keys(lines)) = command(Command::ListKeys).await else { panic!("no keys") };
        assert_eq!((lines.len(), lines[0].revoked), (1, None));
        assert!(command(Command::RevokeKey { key: "unknown".into() }).await.is_err());
        let (loop_name, head) = ("home".to_string(), "1.00".to_string());
        assert!(command(Command::AcceptRollback { loop_name, head }).await.is_err());
        assert!(matches!(
            command(Command::RevokeKey { key: key.clone() }).await,
            Ok(Reply::Revoked)
        ));
        assert!(keys.verify(&key).is_none());
        let mut raw = UnixStream::connect(place(folder.path())).await.unwrap();
        raw.write_all(b"\"shutdown\"\n").await.unwrap();
        let mut answer = String::new();
        raw.read_to_string(&mut answer).await.unwrap();
        assert!(answer.contains("refused"), "{answer}");
        drop(control);
        assert!(!place(folder.path()).exists());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
