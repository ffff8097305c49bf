//! Debian's PostgreSQL, which the tests of that store start for themselves.

use std::path::Path;

use crate::tools::{debian_packages, skip};

/// Installs PostgreSQL, if there is none. The cluster that the package makes is not used.
pub fn fetch() -> Result<(), String> {
    if is_installed() { Ok(()) } else { debian_packages(&["postgresql"]) }
}

/// Says whether the tests of the store can run. Without PostgreSQL they name themselves and are skipped; under CI this is a failure.
pub fn expect(fetched: &Result<(), String>) -> Result<(), String> {
    match fetched {
        Ok(()) if is_installed() => Ok(()),
        Ok(()) => skip("the PostgreSQL store", "the package has no initdb"),
        Err(problem) => skip("the PostgreSQL store", problem),
    }
}

/// True if PostgreSQL is where the tests look for it.
fn is_installed() -> bool {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let of_debian = versions.map(|version| version.path().join("bin"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let complete =
        |folder: &Path| ["initdb", "pg_ctl", "psql"].iter().all(|name| folder.join(name).exists());
    of_debian.chain(std::env::split_paths(&path)).any(|folder| complete(&folder))
}
