//! Packages of npm: those that a folder's lock file names, and a folder as a package.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::tools::{root, root_command, step};

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

/// Packs a folder as npm publishes it, into `target/npm`.
pub fn pack(folder: &Path, name: &str) -> Result<PathBuf, String> {
    let packed = root().join("target/npm");
    fs::create_dir_all(&packed).map_err(|error| format!("{}: {error}", packed.display()))?;
    let mut npm = root_command("npm");
    npm.args(["pack", "--silent", "--pack-destination"]).arg(&packed).current_dir(folder);
    step("npm pack", &mut npm)?;
    Ok(packed.join(name))
}

/// Installs a packed package into a folder, as a user does.
pub fn add(package: &Path, folder: &Path) -> Result<(), String> {
    let mut npm = root_command("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--silent"]).arg(package);
    step("npm install", npm.current_dir(folder))
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

    #[test]
    fn lock_files_have_the_hashes_of_their_packages_and_name_no_registry() {
        for folder in ["crates/server/tests/browser", "crates/device/npm"] {
            let lock = fs::read_to_string(root().join(folder).join("package-lock.json")).unwrap();
            let packages = lock.matches("\"node_modules/").count();
            assert!(packages > 0, "{folder}");
            assert_eq!(hashes(&lock).len(), packages, "{folder}");
            assert!(!lock.contains("\"resolved\""), "{folder}");
        }
        assert!(hashes("{}").is_empty());
    }

    #[test]
    fn licences_of_the_npm_package_are_those_of_the_repository() {
        // npm packs no links, so that they are copies.
        for name in ["LICENSE-APACHE", "LICENSE-MIT"] {
            let copy = root().join("crates/device/npm").join(name);
            assert!(copy.symlink_metadata().unwrap().is_file(), "{name}");
            assert_eq!(fs::read(copy).unwrap(), fs::read(root().join(name)).unwrap(), "{name}");
        }
    }
}
