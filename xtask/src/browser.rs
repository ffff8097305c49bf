//! The service's pages in a real browser: playwright-core drives Debian's chromium.

use std::path::Path;

use crate::tools::{binary, debian_packages, on_path, root, root_command, skip, step};

/// The folder of the test.
const TEST: &str = "crates/server/tests/browser";

const CHROMIUM: &str = "/usr/bin/chromium";

/// Installs what is missing: the browser, node, and the test's packages. They come over the network.
pub fn fetch() -> Result<(), String> {
    let wanted = [
        ("chromium", Path::new(CHROMIUM).exists()),
        ("nodejs", on_path("node")),
        ("npm", on_path("npm")),
    ];
    let missing: Vec<&str> =
        wanted.into_iter().filter(|(_, found)| !found).map(|(package, _)| package).collect();
    if !missing.is_empty() {
        debian_packages(&missing)?;
    }
    let folder = root().join(TEST);
    // What npm has installed says which packages they are.
    let read = |path: &str| std::fs::read_to_string(folder.join(path)).unwrap_or_default();
    if version(&read("node_modules/.package-lock.json")) == version(&read("package-lock.json")) {
        return Ok(());
    }
    let mut npm = root_command("npm");
    npm.args(["ci", "--no-audit", "--no-fund", "--silent"]).current_dir(&folder);
    step("npm ci", &mut npm)
}

/// Where playwright-core of a lock file comes from, with its hash.
fn version(lock: &str) -> Option<&str> {
    let (_, rest) = lock.split_once("\"node_modules/playwright-core\"")?;
    rest.split('"').find(|text| text.starts_with("sha512-"))
}

/// Opens the pages of the built service with its demonstration, if everything that it needs is there.
pub fn pages(fetched: Result<(), String>) -> Result<(), String> {
    if let Err(problem) = fetched {
        return skip("pages in a browser", &problem);
    }
    let mut node = root_command("node");
    node.arg("pages.js").current_dir(root().join(TEST));
    node.env("RETICENT", binary()).env("CHROMIUM", CHROMIUM);
    step("pages in a browser", &mut node)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lock_file_names_playwright() {
        let lock = std::fs::read_to_string(root().join(TEST).join("package-lock.json")).unwrap();
        assert!(version(&lock).is_some_and(|hash| hash.len() > 80));
        assert_eq!(version("{}"), None);
    }
}
