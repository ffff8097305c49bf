//! The processes that are killed.

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    sync::mpsc,
    time::Duration,
};

/// A time limit for slow machines.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// The output of a command.
pub fn run(arguments: &[&str]) -> String {
    let output =
        Command::new(env!("CARGO_BIN_EXE_reticent-trials")).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_string()
}

/// A process that listens. It is killed when it is dropped.
pub struct Process {
    child: Child,
    ready: mpsc::Receiver<()>,
}

impl Process {
    pub fn serve(config: &Path, data: &Path, port: u16) -> Self {
        Self::start("serve", config, data, port, &[])
    }

    pub fn shuffle(config: &Path, data: &Path, port: u16, server: u16, key: &Path) -> Self {
        let server = format!("http://127.0.0.1:{server}");
        let more = ["--server", &server, "--key-file", key.to_str().unwrap()];
        Self::start("shuffle", config, data, port, &more)
    }

    fn start(command: &'static str, config: &Path, data: &Path, port: u16, more: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_reticent-trials"))
            .args([command, "--listen", &format!("127.0.0.1:{port}"), "--config"])
            .arg(config)
            .arg("--data")
            .arg(data)
            .args(more)
            .env("RETICENT_LOG", "error")
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let (tell, ready) = mpsc::channel();
        std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                match line.contains("http://127.0.0.1:") {
                    true => drop(tell.send(())),
                    false => println!("{command}: {line}"),
                }
            }
        });
        Process { child, ready }
    }

    /// Waits until it answers.
    pub fn wait(&self) {
        self.ready.recv_timeout(PATIENCE).expect("the process starts");
    }

    /// SIGKILL.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
