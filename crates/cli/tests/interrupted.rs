//! Progress of a long run, and the message after Ctrl-C.

#![cfg(unix)]

use std::{
    io::Read,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

/// A time limit for slow machines.
const PATIENCE: Duration = Duration::from_secs(120);

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("reticent-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// A run that is killed at the end of its test.
struct Run(Child);

impl Drop for Run {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(arguments: &[&str], stderr: &Path) -> Run {
    let child = Command::new(env!("CARGO_BIN_EXE_reticent"))
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(std::fs::File::create(stderr).unwrap())
        .spawn();
    Run(child.unwrap())
}

fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < PATIENCE, "{what} did not come");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Ctrl-C, the exit code and what was printed on stdout.
fn interrupt(Run(child): &mut Run) -> (Option<i32>, String) {
    let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(kill.success());
    wait_until("the end", || child.try_wait().unwrap().is_some());
    let mut stdout = String::new();
    child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
    (child.wait().unwrap().code(), stdout)
}

#[test]
fn ctrl_c_prints_the_kept_results_and_the_command_that_continues() {
    let folder = folder("interrupted");
    let (file, out, said) = (folder.join("x.toml"), folder.join("out"), folder.join("stderr"));
    let text = "name = \"x\"\nrounds = 200_000\ntrials = 500\n[environment]\nkind = \"gap\"\ndimension = 5\narms = 25\n\
        [[algorithm]]\nkind = \"linucb\"\nname = \"plain\"\nschedule = \"every_round\"\n";
    std::fs::write(&file, text).unwrap();
    let (file, out_name) = (file.to_str().unwrap(), out.to_str().unwrap());
    let mut run = start(&["run", file, "--out", out_name, "--set", "name=a b"], &said);
    let finished = || {
        let log = std::fs::read_to_string(out.join("trials.log")).unwrap_or_default();
        log.lines().count()
    };
    wait_until("the third trial", || finished() >= 3);
    let (code, stdout) = interrupt(&mut run);
    let said = std::fs::read_to_string(&said).unwrap();
    assert_eq!((code, stdout.as_str()), (Some(130), ""), "{said}");
    let kept = finished();
    assert!(kept < 500, "it was not stopped");
    assert!(
        said.contains(&format!("{kept} of 500 trials are finished and kept in {out_name}")),
        "{said}"
    );
    assert!(said.contains(&format!("plain: {kept} of 500")), "{said}");
    assert!(said.contains(&format!("run {file} --out {out_name} --set 'name=a b'")), "{said}");
    // The next run uses the kept trials.
    let more = format!("trials={}", kept.max(4));
    let again = Command::new(env!("CARGO_BIN_EXE_reticent"))
        .args(["run", file, "--out", out_name, "--set", "name=a b", "--set", &more])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&again.stderr).to_string();
    assert!(again.status.success() && said.contains("trials were finished before"), "{said}");
    let _ = std::fs::remove_dir_all(&folder);
}

#[test]
fn a_single_long_trial_shows_its_rounds_and_can_be_stopped() {
    let folder = folder("long");
    let (file, out, said) = (folder.join("x.toml"), folder.join("out"), folder.join("stderr"));
    let text = "name = \"x\"\nrounds = 1_000_000_000\n[environment]\nkind = \"sphere\"\n\
        [[algorithm]]\nkind = \"linucb\"\nname = \"plain\"\n";
    std::fs::write(&file, text).unwrap();
    let arguments = ["run", file.to_str().unwrap(), "--out", out.to_str().unwrap(), "--json"];
    let mut run = start(&arguments, &said);
    let printed = || std::fs::read_to_string(&said).unwrap_or_default();
    wait_until("a line of progress", || printed().contains("rounds; about "));
    let begun = Instant::now();
    let (code, stdout) = interrupt(&mut run);
    assert!(begun.elapsed() < Duration::from_secs(30));
    assert_eq!((code, stdout.as_str()), (Some(130), ""), "{}", printed());
    let line = printed().lines().next().unwrap().to_string();
    assert!(line.starts_with("0 of 1 trials finished; plain, trial 0: "), "{line}");
    assert!(line.contains(" of 1000000000 rounds; about ") && line.ends_with(" left"), "{line}");
    assert!(printed().contains("0 of 1 trials are finished and kept in"), "{}", printed());
    let _ = std::fs::remove_dir_all(&folder);
}
