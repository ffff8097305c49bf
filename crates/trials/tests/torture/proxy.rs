//! A way to PostgreSQL that may lose answers: it lets a commit through, waits until the database has answered, and cuts the connection in place of the answer.

use std::{
    io::{Read, Write},
    net::Shutdown,
    os::unix::net::{UnixListener, UnixStream},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

/// Bytes with which the driver ends a transaction.
const COMMIT: &[u8] = b"COMMIT\0";
/// The name of a socket in its folder.
const SOCKET: &str = ".s.PGSQL.5432";

/// A socket in a folder of its own, which leads to the one in the folder of a database.
pub struct Proxy {
    /// The folder, as an address has it in place of the database's.
    pub folder: PathBuf,
    /// Number of commits that will lose their answers.
    left: Arc<AtomicU64>,
    lost: Arc<AtomicU64>,
}

impl Proxy {
    pub fn start(folder: PathBuf, database: &Path) -> Self {
        std::fs::create_dir_all(&folder).unwrap();
        let listener = UnixListener::bind(folder.join(SOCKET)).unwrap();
        let (left, lost) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let (target, counts) = (database.join(SOCKET), (Arc::clone(&left), Arc::clone(&lost)));
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                // A database that is away refuses, and so does the way to it.
                if let Ok(server) = UnixStream::connect(&target) {
                    join(client, server, &counts);
                }
            }
        });
        Proxy { folder, left, lost }
    }

    /// Lets this number of commits lose their answers.
    pub fn lose(&self, commits: u64) {
        self.left.store(commits, Ordering::SeqCst);
    }

    /// Number of commits that lost their answers.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::SeqCst)
    }
}

/// Joins two connections until one ends, or an answer is lost.
fn join(client: UnixStream, server: UnixStream, (left, lost): &(Arc<AtomicU64>, Arc<AtomicU64>)) {
    let (Ok(mut from_client), Ok(mut to_server)) = (client.try_clone(), server.try_clone()) else {
        return;
    };
    // Set while the answer of a commit is to be lost.
    let losing = Arc::new(AtomicU64::new(0));
    let (mark, left, lost) = (Arc::clone(&losing), Arc::clone(left), Arc::clone(lost));
    std::thread::spawn(move || {
        let mut buffer = [0; 65_536];
        while let Ok(count @ 1..) = from_client.read(&mut buffer) {
            let bytes = &buffer[..count];
            let take = |left: u64| left.checked_sub(1);
            if bytes.windows(COMMIT.len()).any(|seven| seven == COMMIT)
                && left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take).is_ok()
            {
                mark.store(1, Ordering::SeqCst);
            }
            if to_server.write_all(bytes).is_err() {
                break;
            }
        }
        let _ = to_server.shutdown(Shutdown::Both);
    });
    std::thread::spawn(move || {
        let (mut client, mut server) = (client, server);
        let mut buffer = [0; 65_536];
        while let Ok(count @ 1..) = server.read(&mut buffer) {
            if losing.load(Ordering::SeqCst) == 1 {
                lost.fetch_add(1, Ordering::SeqCst);
                break;
            }
            if client.write_all(&buffer[..count]).is_err() {
                break;
            }
        }
        let _ = client.shutdown(Shutdown::Both);
        let _ = server.shutdown(Shutdown::Both);
    });
}
