//! A PostgreSQL of the tests' own: started once a process as an ordinary user, on a socket in `target`, and gone when the process is.
//!
//! A shell holds it and reads commands from a pipe. When the process ends, however it does, the pipe closes, and the shell stops PostgreSQL and
//! removes its folder.

use std::{
    ffi::OsString,
    io::{BufRead, BufReader, Write},
    os::unix::fs::{MetadataExt, PermissionsExt, chown},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::{
        Mutex, OnceLock,
        atomic::{AtomicU32, Ordering},
    },
};

/// Holds PostgreSQL: `restart` stops it in order, `crash` at once, and `kill` with -9. `fill` leaves no room on a disk, and `free` gives it back; PostgreSQL may have ended of it.
const HOLDER: &str = r#"
trap '' INT TERM HUP
folder=$1 initdb=$2 options=$3
start() {
    pg_ctl -D "$folder/data" -s -w -l "$folder/log" -o "-k '$folder' -c listen_addresses= -c max_connections=400 -c shared_buffers=64MB $options" start >/dev/null && echo ready
}
answers() {
    psql -q -U reticent -d postgres -h "$folder" -c 'select 1' >/dev/null 2>&1
}
initdb -D "$folder/data" -A trust -U reticent -E UTF8 --locale=C --no-sync $initdb >"$folder/log" 2>&1 && start || { cat "$folder/log" >&2; exit 1; }
while read -r command disk; do
    case "$command" in
        restart) pg_ctl -D "$folder/data" -s -w -m fast stop; start ;;
        crash) pg_ctl -D "$folder/data" -s -w -m immediate stop; start ;;
        # What served connections ends by itself a moment later.
        kill) kill -9 "$(head -n 1 "$folder/data/postmaster.pid")"; until start 2>/dev/null; do sleep 0.1; done ;;
        fill) cat /dev/zero >>"$folder/$disk/filler" 2>/dev/null; echo ready ;;
        free)
            rm -f "$folder/$disk/filler"
            until answers; do
                pg_ctl -D "$folder/data" -s status >/dev/null 2>&1 || start >/dev/null 2>&1
                sleep 0.1
            done
            echo ready ;;
    esac
done
pg_ctl -D "$folder/data" -s -w -m immediate stop
# A folder that root has given away stays, empty.
rm -rf "$folder" 2>/dev/null
"#;

/// Script that runs PostgreSQL where the tables and the log of writes have small disks of their own, which no other process sees and which go when it ends.
const WITH_SMALL_DISKS: &str = r#"
folder=$1 owner=$2
shift 2
for disk in data:192m wal:64m; do
    mkdir "$folder/${disk%:*}" && mount -t tmpfs -o "size=${disk#*:},mode=700,$owner" tmpfs "$folder/${disk%:*}" || exit 1
done
exec "$@"
"#;

/// Settings that make the log of writes need a new file often.
const SMALL_LOG: &str = "-c wal_recycle=off -c min_wal_size=2MB -c max_wal_size=16MB";

/// A PostgreSQL that runs.
pub(crate) struct Cluster {
    folder: PathBuf,
    pipes: Mutex<(ChildStdin, BufReader<ChildStdout>)>,
    schemas: AtomicU32,
    /// True if its disks can be filled.
    has_small_disks: bool,
    _holder: Child,
}

/// The PostgreSQL of this process. None if it is not installed: then the test is skipped, and says so; under CI it fails.
pub(crate) fn cluster() -> Option<&'static Cluster> {
    static CLUSTER: OnceLock<Option<Cluster>> = OnceLock::new();
    let mut first = false;
    let cluster = CLUSTER.get_or_init(|| {
        first = true;
        Cluster::of_ones_own()
    });
    if cluster.is_none() && !first {
        skipped(NOT_INSTALLED);
    }
    cluster.as_ref()
}

/// One whose disks are small and can be filled, for all tests of this process. None if PostgreSQL is not installed, or if who runs the tests may not mount: then the
/// test is skipped, and says so; under CI it fails.
#[allow(dead_code, reason = "tests of other crates include this file and use a part of it")]
pub(crate) fn with_small_disks() -> Option<&'static Cluster> {
    static CLUSTER: OnceLock<Option<Cluster>> = OnceLock::new();
    let found = CLUSTER.get_or_init(|| {
        let may_mount = Command::new("unshare").args(["--mount", "true"]).output();
        match (binaries(), may_mount.is_ok_and(|output| output.status.success())) {
            (Some(binaries), true) => Some(start(&binaries, true)),
            _ => None,
        }
    });
    if found.is_none() {
        skipped("a disk of PostgreSQL can be filled by root only, where it may mount");
    }
    found.as_ref()
}

/// Says so past the capture of a test's output; under CI it is a failure.
fn skipped(why: &str) {
    let under_ci = std::env::var("CI").as_deref() == Ok("true");
    assert!(!under_ci, "{why}, and under CI its tests must run");
    let thread = std::thread::current();
    let name = thread.name().unwrap_or("a test");
    let _ = writeln!(std::io::stderr(), "SKIPPED: {name}: {why}");
}

const NOT_INSTALLED: &str = "PostgreSQL is not installed";

/// The folder of `initdb`, `pg_ctl` and `psql`: that of the latest version that Debian has installed, or one of the path.
fn binaries() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = versions.map(|version| version.path().join("bin")).collect();
    found.sort();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let of_path: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let complete = |folder: &&PathBuf| {
        ["initdb", "pg_ctl", "psql"].iter().all(|name| folder.join(name).exists())
    };
    found.iter().rev().chain(&of_path).find(complete).cloned()
}

fn start(binaries: &Path, has_small_disks: bool) -> Cluster {
    let (folder, user) = place();
    let mut path = binaries.as_os_str().to_owned();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    let mut words: Vec<OsString> = Vec::new();
    if has_small_disks {
        let (user, group) = user.expect("who may mount is root");
        let shell = ["unshare", "--mount", "--propagation", "private", "sh", "-c"];
        words.extend(shell.map(OsString::from));
        words.extend([WITH_SMALL_DISKS.into(), "sh".into(), folder.clone().into()]);
        words.push(format!("uid={user},gid={group}").into());
    }
    words.extend(as_user(user));
    words.extend(["sh", "-c", HOLDER, "sh"].map(OsString::from));
    words.push(folder.clone().into());
    if has_small_disks {
        words.push(format!("--waldir={}/wal --wal-segsize=1", folder.display()).into());
        words.push(SMALL_LOG.into());
    }
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).env("PATH", path).current_dir(&folder);
    let mut holder = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a shell");
    let pipes = (
        holder.stdin.take().expect("a pipe"),
        BufReader::new(holder.stdout.take().expect("a pipe")),
    );
    let (pipes, schemas) = (Mutex::new(pipes), AtomicU32::new(0));
    let cluster = Cluster { folder, pipes, schemas, has_small_disks, _holder: holder };
    cluster.wait_until_ready();
    cluster
}

/// The words that run what follows as this user, or as oneself.
fn as_user(user: Option<(u32, u32)>) -> Vec<OsString> {
    let words = match user {
        Some((user, group)) => vec![
            "setpriv".into(),
            format!("--reuid={user}"),
            format!("--regid={group}"),
            "--clear-groups".into(),
        ],
        None => vec!["env".into()],
    };
    words.into_iter().map(OsString::from).collect()
}

/// A folder that PostgreSQL may use, and the user that it runs as: root may not, so that then it is `postgres` or `nobody`.
fn place() -> (PathBuf, Option<(u32, u32)>) {
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
    let target = target.canonicalize().unwrap_or_else(|_| std::env::temp_dir());
    remove_old(&target);
    static STARTED: AtomicU32 = AtomicU32::new(0);
    let name = format!("pg-{}-{}", std::process::id(), STARTED.fetch_add(1, Ordering::SeqCst));
    for parent in [target, std::env::temp_dir()] {
        let folder = parent.join(&name);
        // The name of a socket may have about 100 bytes.
        if folder.as_os_str().len() > 80 || std::fs::create_dir(&folder).is_err() {
            continue;
        }
        std::fs::set_permissions(&folder, PermissionsExt::from_mode(0o700)).expect("permissions");
        if std::fs::metadata(&folder).expect("a folder").uid() != 0 {
            return (folder, None);
        }
        let user =
            ["postgres", "nobody"].into_iter().find_map(ids).expect("a user who is not root");
        chown(&folder, Some(user.0), Some(user.1)).expect("root may give a folder away");
        let words = as_user(Some(user));
        let mut may_write = Command::new(&words[0]);
        may_write.args(&words[1..]).args(["test", "-w"]).arg(&folder);
        if may_write.status().is_ok_and(|status| status.success()) {
            return (folder, Some(user));
        }
        let _ = std::fs::remove_dir(&folder);
    }
    panic!("no folder that PostgreSQL may use");
}

/// Removes folders that earlier tests have left empty: who runs PostgreSQL may not remove what root has made.
fn remove_old(target: &Path) {
    for entry in std::fs::read_dir(target).into_iter().flatten().flatten() {
        let is_old = || entry.metadata().ok()?.modified().ok()?.elapsed().ok();
        let is_old = is_old().is_some_and(|age| age.as_secs() > 600);
        if is_old && entry.file_name().to_string_lossy().starts_with("pg-") {
            // One with something in it stays; disks were mounted at these two.
            for folder in ["data", "wal", ""] {
                let _ = std::fs::remove_dir(entry.path().join(folder));
            }
        }
    }
}

/// The user and group of a name.
fn ids(name: &str) -> Option<(u32, u32)> {
    let users = std::fs::read_to_string("/etc/passwd").ok()?;
    let mut fields = users.lines().map(|line| line.split(':').collect::<Vec<_>>());
    let found = fields.find(|fields| fields.len() > 3 && fields[0] == name)?;
    Some((found[2].parse().ok()?, found[3].parse().ok()?))
}

#[allow(dead_code, reason = "tests of other crates include this file and use a part of it")]
impl Cluster {
    /// One that no other test uses, and that is gone when it is dropped.
    pub(crate) fn of_ones_own() -> Option<Self> {
        let found = binaries().map(|binaries| start(&binaries, false));
        if found.is_none() {
            skipped(NOT_INSTALLED);
        }
        found
    }

    fn wait_until_ready(&self) {
        let mut pipes = self.pipes.lock().expect("no test failed in it");
        let mut line = String::new();
        pipes.1.read_line(&mut line).expect("a pipe");
        assert_eq!(line.trim(), "ready", "PostgreSQL did not start");
    }

    fn command(&self, command: &str) {
        writeln!(self.pipes.lock().expect("no test failed in it").0, "{command}").expect("a pipe");
        self.wait_until_ready();
    }

    /// Stops PostgreSQL in order and starts it again.
    pub(crate) fn restart(&self) {
        self.command("restart");
    }

    /// Stops PostgreSQL as a failure of power would, and starts it again.
    pub(crate) fn crash(&self) {
        self.command("crash");
    }

    /// Kills PostgreSQL with -9, and starts it again.
    pub(crate) fn kill(&self) {
        self.command("kill");
    }

    /// True if its disks can be filled.
    pub(crate) fn has_small_disks(&self) -> bool {
        self.has_small_disks
    }

    /// Leaves no room on the disk of the tables (`data`) or of the log of writes (`wal`).
    pub(crate) fn fill(&self, disk: &str) {
        assert!(self.has_small_disks, "only small disks are filled");
        self.command(&format!("fill {disk}"));
    }

    /// Gives the room back, and starts PostgreSQL again if it has ended.
    pub(crate) fn free(&self, disk: &str) {
        self.command(&format!("free {disk}"));
    }

    /// The log of PostgreSQL.
    pub(crate) fn log(&self) -> String {
        let log = std::fs::read(self.folder.join("log")).expect("a log");
        String::from_utf8_lossy(&log).into_owned()
    }

    /// The address of a schema, with more parameters.
    pub(crate) fn url(&self, schema: &str, more: &str) -> String {
        format!(
            "postgres:///postgres?host={}&user=reticent&options=-csearch_path%3D{schema}{more}",
            self.folder.display()
        )
    }

    /// The folder of its socket.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The address of the same schema by a socket in another folder.
    pub(crate) fn through(&self, url: &str, folder: &Path) -> String {
        url.replace(&self.folder.display().to_string(), &folder.display().to_string())
    }

    /// The address of a new, empty schema.
    pub(crate) fn empty(&self) -> String {
        let schema = format!("s{}", self.schemas.fetch_add(1, Ordering::SeqCst));
        self.sql(&format!("create schema {schema}"));
        self.url(&schema, "")
    }

    /// Does what an administrator of the database might do.
    pub(crate) fn sql(&self, sql: &str) {
        let folder = binaries().expect("it was there");
        let mut psql = Command::new(folder.join("psql"));
        psql.args(["-q", "-v", "ON_ERROR_STOP=1", "-U", "reticent", "-d", "postgres", "-h"]);
        let status = psql.arg(&self.folder).args(["-c", sql]).status().expect("psql");
        assert!(status.success(), "{sql}");
    }
}
