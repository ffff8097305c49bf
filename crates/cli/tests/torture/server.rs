//! The process that is tortured.

use std::{
    io::{BufRead, BufReader},
    net::SocketAddr,
    path::Path,
    process::{Child, Command, Stdio},
    sync::mpsc,
    time::Duration,
};

/// A time limit for slow machines.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a command prints.
pub fn run(arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_reticent"));
    let output = command.args(arguments).env_remove("RETICENT_DATABASE").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_string()
}

/// A service on a port of its own. It is killed when it is dropped.
pub struct Server {
    child: Child,
    addresses: mpsc::Receiver<SocketAddr>,
}

impl Server {
    /// On its own store, or on a database.
    pub fn start(config: &Path, data: &Path, database: Option<&str>) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_reticent"));
        command.env_remove("RETICENT_DATABASE");
        command.envs(database.map(|url| ("RETICENT_DATABASE", url)));
        let mut child = command
            .args(["serve", "--listen", "127.0.0.1:0", "--config"])
            .arg(config)
            .arg("--data")
            .arg(data)
            .env("RETICENT_LOG", "error")
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let (tell, addresses) = mpsc::channel();
        std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                match line.rsplit_once("http://").map(|(_, address)| address.parse()) {
                    Some(Ok(address)) => drop(tell.send(address)),
                    _ => println!("server: {line}"),
                }
            }
        });
        Server { child, addresses }
    }

    /// Where it answers, as soon as it does.
    pub fn address(&self) -> SocketAddr {
        self.addresses.recv_timeout(PATIENCE).expect("the service starts")
    }

    /// SIGKILL.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// SIGSTOP or SIGCONT, by name.
    pub fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([name, &id]).status().unwrap().success());
    }

    /// SIGTERM, after which it ends in peace.
    pub fn stop(mut self) {
        self.signal("-TERM");
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
