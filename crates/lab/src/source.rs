//! The version of the code that made a result.

use std::sync::OnceLock;

/// A hash of the code, part of the key of stored results: those of another version are computed again.
pub(crate) const SOURCE: &str = env!("RETICENT_SOURCE");

/// The version of the program.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

static COMMIT: OnceLock<&str> = OnceLock::new();

/// Says which commit the program is built from, for captions, reports and `summary.json`; the first call counts. The program says it and not this crate, which would
/// otherwise be compiled again after each commit.
pub fn built_from(commit: &'static str) {
    let _ = COMMIT.set(commit);
}

/// The commit that the program is built from, if that is known.
pub(crate) fn commit() -> Option<&'static str> {
    COMMIT.get().copied()
}

/// The program, its version and its commit, for captions.
pub(crate) fn program() -> String {
    words(commit())
}

fn words(commit: Option<&str>) -> String {
    let commit = commit.map_or(String::new(), |commit| format!(", commit {commit}"));
    format!("reticent {VERSION}{commit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_named_with_its_commit_where_that_is_known() {
        let version = env!("CARGO_PKG_VERSION");
        assert_eq!(words(None), format!("reticent {version}"));
        assert_eq!(words(Some("abc, changed")), format!("reticent {version}, commit abc, changed"));
    }
}
