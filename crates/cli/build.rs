//! Tells the program which commit it is built from, for captions and summaries. Only this small crate is compiled again after a commit.

use std::{fs, path::Path, process::Command};

/// The crates that the program is made of.
const CRATES: [&str; 7] = ["cli", "core", "durable", "lab", "page", "sealed", "server"];

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // Cargo writes the commit into a packed crate; such a one may lie in a repository of somebody else.
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
    if own != root.join("crates/cli") || git(&["ls-files", "--error-unmatch", "build.rs"]).is_none()
    {
        return None;
    }
    let mut sources = vec![root.join("Cargo.toml"), root.join("Cargo.lock")];
    for name in CRATES {
        let folder = root.join("crates").join(name);
        sources.extend(["src", "Cargo.toml", "build.rs"].map(|part| folder.join(part)));
    }
    // A path that is not there would make this program run every time.
    sources.retain(|path| path.exists());
    let log = git(&["rev-parse", "--git-path", "logs/HEAD"]).map(|path| own.join(path));
    for path in sources.iter().chain(log.iter().filter(|log| log.exists())) {
        println!("cargo:rerun-if-changed={}", path.display());
    }
    let commit = git(&["rev-parse", "HEAD"])?;
    let mut difference = Command::new("git");
    difference.args(["diff", "--quiet", "HEAD", "--"]).args(&sources);
    Some(words(&commit, !difference.status().ok()?.success()))
}

/// The beginning of the commit's name, and whether the code is another one.
fn words(commit: &str, changed: bool) -> String {
    let short = commit.get(..12).unwrap_or(commit);
    format!("{short}{}", if changed { ", changed" } else { "" })
}

/// What git answers, if it is here and succeeds.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_string())
}
