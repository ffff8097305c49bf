//! The process that is tortured.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::mpsc,
    time::{Duration, Instant},
};

/// A time limit for slow machines.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs a program for which a file that is too large is an error and not the end.
const WITHOUT_LIMIT_SIGNAL: &str = r#"trap '' XFSZ; exec "$@""#;

/// The output of a command.
pub fn run(arguments: &[&str]) -> String {
    run_with(arguments, &[])
}

/// The same, with variables of the environment.
pub fn run_with(arguments: &[&str], variables: &[(&str, &str)]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_reticent-trials"));
    command.args(arguments).env_remove("RETICENT_DATABASE").envs(variables.iter().copied());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_string()
}

/// The error of a command that is refused.
pub fn refused(arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_reticent-trials"));
    let output = command.args(arguments).env_remove("RETICENT_DATABASE").output().unwrap();
    assert!(!output.status.success() && output.stdout.is_empty(), "{arguments:?}");
    String::from_utf8(output.stderr).unwrap()
}

/// Options with which a service is started.
#[derive(Clone, Default)]
pub struct Start {
    pub config: PathBuf,
    pub data: PathBuf,
    /// The address of a database, in place of a store of its own.
    pub database: Option<String>,
    pub witness: Option<PathBuf>,
    pub environment: Vec<(&'static str, String)>,
}

impl Start {
    pub fn new(config: &Path, data: &Path) -> Self {
        Start { config: config.into(), data: data.into(), ..Start::default() }
    }

    /// The same with a variable of the environment.
    pub fn with(&self, name: &'static str, value: String) -> Self {
        let mut start = self.clone();
        start.environment.push((name, value));
        start
    }
}

/// A service on a port of its own. It is killed when it is dropped.
pub struct Server {
    child: Child,
    addresses: mpsc::Receiver<SocketAddr>,
}

impl Server {
    pub fn start(start: &Start) -> Self {
        let mut command = Command::new("sh");
        command.args(["-c", WITHOUT_LIMIT_SIGNAL, "sh", env!("CARGO_BIN_EXE_reticent-trials")]);
        command.env_remove("RETICENT_DATABASE").env("RETICENT_LOG", "error");
        command.envs(start.database.as_ref().map(|url| ("RETICENT_DATABASE", url)));
        command.envs(start.environment.iter().map(|(name, value)| (name, value)));
        command.args(["serve", "--listen", "127.0.0.1:0", "--config"]);
        command.arg(&start.config).arg("--data").arg(&start.data);
        if let Some(witness) = &start.witness {
            command.arg("--witness").arg(witness);
        }
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
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

    /// Its address, as soon as it answers.
    pub fn address(&self) -> SocketAddr {
        self.begun().expect("the service starts")
    }

    /// The same; none if it ends before.
    pub fn begun(&self) -> Option<SocketAddr> {
        self.addresses.recv_timeout(PATIENCE).ok()
    }

    /// Its address, if it answers by now.
    pub fn begun_by_now(&self) -> Option<SocketAddr> {
        self.addresses.try_recv().ok()
    }

    /// Exit status, if it has ended.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().unwrap()
    }

    /// The number of the process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// SIGKILL.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// True if it ends of itself within this time.
    pub fn ends_within(&mut self, time: Duration) -> bool {
        let end = Instant::now() + time;
        while Instant::now() < end {
            if self.child.try_wait().unwrap().is_some() {
                return true;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        false
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

/// The answer of `/readyz`.
pub fn readiness(address: SocketAddr) -> serde_json::Value {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
        .write_all(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (_, body) = answer.split_once("\r\n\r\n").expect("an answer");
    serde_json::from_str(body.trim()).expect("JSON")
}
