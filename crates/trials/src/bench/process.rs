//! The service as a process.

use std::{
    io::{BufRead, BufReader},
    net::SocketAddr,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use super::{BenchOptions, report, request::LOOP};
use reticent_server::{
    Error, Result,
    clock::{Clock, SystemClock},
    data::DatabaseUrl,
    http::{Role, make_key},
};

/// Time for a start, at most.
const PATIENCE: Duration = Duration::from_secs(120);

/// A service that runs. It is killed when it is dropped.
pub(super) struct Process {
    child: Child,
    pub address: SocketAddr,
    pub key: String,
    /// That of the loop of devices.
    pub device_key: String,
    /// Seconds from its start to its first answer.
    pub seconds: f64,
}

impl Process {
    /// Makes the loop and a key, and starts the service.
    pub(super) async fn start(options: &BenchOptions) -> Result<Self> {
        let folder = &options.folder;
        let loops = format!("{LOOP}{}", report::LOOP);
        std::fs::write(folder.join("loops.toml"), loops).map_err(Error::store)?;
        let (store, _) = options.data().open().await?;
        let roles = vec![Role::Decide, Role::Reward];
        let now = SystemClock::default().now();
        let key = make_key(store.as_ref(), Some("bench".into()), roles, now).await?;
        let (name, roles) = (Some(report::NAME.into()), vec![Role::Device]);
        let device_key = make_key(store.as_ref(), name, roles, now).await?;
        drop(store);
        Self::spawn(options, key, device_key).await
    }

    /// Starts another one on the database of this one, which runs in folder `first`: in a folder of its own, with the keys of that one.
    pub(super) async fn another(
        &self,
        first: &BenchOptions,
        options: &BenchOptions,
    ) -> Result<Self> {
        let (from, to) = (first.data().folder, options.data().folder);
        std::fs::create_dir_all(&to).map_err(Error::store)?;
        for name in ["people.key", "events.key", "seal.key", "../loops.toml"] {
            std::fs::copy(from.join(name), to.join(name)).map_err(Error::store)?;
        }
        Self::spawn(options, self.key.clone(), self.device_key.clone()).await
    }

    /// Kills it with -9, and starts it on the same data.
    pub(super) async fn kill_and_start(mut self, options: &BenchOptions) -> Result<Self> {
        self.child.kill().and_then(|()| self.child.wait()).map_err(Error::store)?;
        Self::spawn(options, self.key.clone(), self.device_key.clone()).await
    }

    async fn spawn(options: &BenchOptions, key: String, device_key: String) -> Result<Self> {
        let start = Instant::now();
        let mut command = Command::new(&options.program);
        // Never the database of a deployed service.
        command.env_remove("RETICENT_DATABASE");
        let database = options.database.as_ref().map(DatabaseUrl::as_str);
        command.envs(database.map(|url| ("RETICENT_DATABASE", url)));
        let mut child = command
            .args(["serve", "--listen", "127.0.0.1:0", "--config"])
            .arg(options.folder.join("loops.toml"))
            .arg("--data")
            .arg(options.folder.join("data"))
            .env("RETICENT_LOG", "warn")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(Error::store)?;
        let (tell, address) = tokio::sync::oneshot::channel();
        if let Some(stderr) = child.stderr.take() {
            std::thread::spawn(move || {
                let mut tell = Some(tell);
                for line in BufReader::new(stderr).lines().map_while(std::result::Result::ok) {
                    let address = line.rsplit_once("http://").and_then(|(_, at)| at.parse().ok());
                    if let Some(address) = address
                        && let Some(tell) = tell.take()
                    {
                        let _ = tell.send(address);
                    }
                }
            });
        }
        let address = tokio::time::timeout(PATIENCE, address).await;
        let Ok(Ok(address)) = address else {
            let _ = child.kill().and_then(|()| child.wait());
            return Err(Error::Unavailable("the service that is measured did not start".into()));
        };
        let seconds = start.elapsed().as_secs_f64();
        Ok(Process { child, address, key, device_key, seconds })
    }

    /// Its memory in MiB, where the system tells.
    pub(super) fn memory(&self) -> Option<f64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
        Some(line.split_whitespace().nth(1)?.parse::<f64>().ok()? / 1024.0)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill().and_then(|()| self.child.wait());
    }
}

/// Seconds of processor that the host of a virtual machine gave to others since it started, where the system reports it: waiting during that time is not
/// caused by anything that runs here.
pub(super) fn stolen() -> Option<f64> {
    let statistics = std::fs::read_to_string("/proc/stat").ok()?;
    let ticks: f64 = statistics.lines().next()?.split_whitespace().nth(8)?.parse().ok()?;
    // The kernel counts in hundredths of a second, whatever its own clock.
    Some(ticks / 100.0)
}
