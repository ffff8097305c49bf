//! Tells the program which commit it is built from, for captions and summaries. Only this small crate is compiled again after a commit.
//!
//! `crates/python` has this build script too, so that both mean the same by a commit: its wheel is always built from the repository.

use std::{fs, path::Path, process::Command};

/// Packages built here: the folder of the crate, and the other crates that it is made of.
const BUILT: [(&str, &[&str]); 2] = [
    ("cli", &["core", "device", "lab", "loops"]),
    ("python", &["core", "device", "durable", "lab", "loops"]),
];

fn main() {
    println!("cargo:rerun-if-changed=Cargo.toml");
    // Cargo writes the commit into a packed crate; such a one may lie in a repository of another project.
    let commit = match fs::read_to_string(".cargo_vcs_info.json") {
        Ok(packed) => of_package(&packed),
        Err(_) => of_repository(),
    };
    if let Some(commit) = commit {
        println!("cargo:rustc-env=RETICENT_COMMIT={commit}");
    }
}

/// The commit that a crate was packed from.
fn of_package(packed: &str) -> Option<String> {
    let (_, rest) = packed.split_once("\"sha1\"")?;
    let commit = rest.split('"').nth(1)?;
    let changed = packed.contains("\"dirty\"");
    Some(words(commit, changed))
}

/// The commit of the repository that this crate is a part of.
fn of_repository() -> Option<String> {
    let root = Path::new(&git(&["rev-parse", "--show-toplevel"])?).canonicalize().ok()?;
    let own = Path::new(".").canonicalize().ok()?;
    let crates = root.join("crates");
    let (name, others) = BUILT.into_iter().find(|(name, _)| own == crates.join(name))?;
    git(&["ls-files", "--error-unmatch", "Cargo.toml"])?;
    let mut sources =
        ["Cargo.toml", "Cargo.lock", "crates/cli/build.rs"].map(|path| root.join(path)).to_vec();
    for folder in [&name].into_iter().chain(others).map(|name| crates.join(name)) {
        // `python` holds modules in Python; `data` and `audits` are parts of the laboratory's program.
        let parts = ["src", "python", "data", "audits", "Cargo.toml", "build.rs"];
        sources.extend(parts.map(|part| folder.join(part)));
    }
    // A path that is not there would make this program run every time.
    sources.retain(|path| path.exists());
    let log = git(&["rev-parse", "--git-path", "logs/HEAD"]).map(|path| own.join(path));
    for path in sources.iter().chain(log.iter().filter(|log| log.exists())) {
        println!("cargo:rerun-if-changed={}", path.display());
    }
    let commit = git(&["rev-parse", "HEAD"])?;
    let mut changes = Command::new("git");
    changes.args(["status", "--porcelain", "--"]).args(&sources);
    let changes = changes.output().ok().filter(|output| output.status.success())?;
    Some(words(&commit, !changes.stdout.is_empty()))
}

/// The beginning of the commit's name, and whether the code is another one.
fn words(commit: &str, changed: bool) -> String {
    let short = commit.get(..12).unwrap_or(commit);
    format!("{short}{}", if changed { ", changed" } else { "" })
}

/// Git's output, if it is here and succeeds.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_string())
}
