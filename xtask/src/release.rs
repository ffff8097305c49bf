//! A release, but for publishing: what would be published is built from a clean checkout, installed and tried.
//!
//! ```text
//! no change that is not committed -> one version everywhere, dated changelog -> checkout of HEAD -> `cargo xtask artifacts` in it
//! ```
//!
//! The checkout lies in `target/release-dry-run`. It has exactly the files of the commit; only its `target` folder stays from one run to the next, so that
//! other people's packages are not compiled again.

use std::{fs, path::Path, process::Command};

use crate::{
    tools::{output, root, root_command, step},
    versions,
};

/// Says why nothing was published, and how it is.
const BY_HAND: &str = "release: nothing is published by a program. Run `cargo xtask release --dry-run`, and publish what it made by hand: see \"Releasing\" in \
                       CONTRIBUTING.md";

/// Builds and tries what would be published.
pub fn run(dry_run: bool) -> Result<(), String> {
    if !dry_run {
        return Err(BY_HAND.to_string());
    }
    refuse_changes(&output(root_command("git").args(["status", "--porcelain"]))?)?;
    let version = versions::check()?;
    let commit = output(root_command("git").args(["rev-parse", "HEAD"]))?;
    eprintln!("== version {version}, commit {commit}");
    let checkout = root().join("target/release-dry-run");
    check_out(&checkout)?;
    let mut artifacts = Command::new("cargo");
    // Its folders are those of the checkout.
    artifacts.args(["xtask", "artifacts"]).current_dir(&checkout).env_remove("CARGO_TARGET_DIR");
    step("artifacts", &mut artifacts)
}

/// Names files that are not committed: a release is made of a commit.
fn refuse_changes(status: &str) -> Result<(), String> {
    match status.is_empty() {
        true => Ok(()),
        false => Err(format!(
            "a release is made of a commit, and these changes are in none: commit or remove them\n{status}"
        )),
    }
}

/// Makes a folder that has the files of the last commit, and none else but in `target`.
fn check_out(folder: &Path) -> Result<(), String> {
    let git = |arguments: &[&str]| {
        let mut git = Command::new("git");
        step(&format!("git {}", arguments[0]), git.args(arguments).current_dir(folder))
    };
    if !folder.join(".git").exists() {
        fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        git(&["init", "--quiet"])?;
    }
    let origin = root().to_string_lossy();
    git(&["fetch", "--quiet", "--depth", "1", &format!("file://{origin}"), "HEAD"])?;
    git(&["checkout", "--quiet", "--force", "--detach", "FETCH_HEAD"])?;
    git(&["clean", "-ffdxq", "--exclude=/target"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_that_are_not_committed_are_refused_by_name() {
        assert_eq!(refuse_changes(""), Ok(()));
        let refused = refuse_changes(" M README.md\n?? new.rs").unwrap_err();
        assert!(refused.contains("README.md") && refused.contains("new.rs"), "{refused}");
    }

    #[test]
    fn nothing_is_published_by_a_program() {
        assert!(run(false).unwrap_err().contains("CONTRIBUTING.md"));
    }
}
