//! Packages of npm, as a folder's lock file names them.

use std::{fs, path::Path};

use crate::tools::{root_command, step};

/// Installs the packages of a folder's lock file, unless they are there. They come over the network.
pub fn install(folder: &Path) -> Result<(), String> {
    let read = |path: &str| fs::read_to_string(folder.join(path)).unwrap_or_default();
    // What npm has installed says which packages they are.
    if hashes(&read("node_modules/.package-lock.json")) == hashes(&read("package-lock.json")) {
        return Ok(());
    }
    let mut npm = root_command("npm");
    npm.args(["ci", "--no-audit", "--no-fund", "--silent"]).current_dir(folder);
    step("npm ci", &mut npm)
}

/// The hashes of a lock file's packages.
fn hashes(lock: &str) -> Vec<&str> {
    let mut hashes: Vec<_> = lock.split('"').filter(|text| text.starts_with("sha512-")).collect();
    hashes.sort_unstable();
    hashes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::root;

    #[test]
    fn lock_files_have_the_hashes_of_their_packages_and_name_no_registry() {
        for folder in ["crates/server/tests/browser", "crates/web"] {
            let lock = fs::read_to_string(root().join(folder).join("package-lock.json")).unwrap();
            let packages = lock.matches("\"node_modules/").count();
            assert!(packages > 0, "{folder}");
            assert_eq!(hashes(&lock).len(), packages, "{folder}");
            assert!(!lock.contains("\"resolved\""), "{folder}");
        }
        assert!(hashes("{}").is_empty());
    }
}
