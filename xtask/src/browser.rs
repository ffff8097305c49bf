//! The service's pages, and the report of an experiment, in a real browser: playwright-core drives Debian's chromium.

use std::path::Path;

use crate::{
    npm,
    tools::{binary, debian_packages, on_path, root, root_command, skip, step},
};

/// The folder of the test.
const TEST: &str = "crates/server/tests/browser";

/// Debian's browser.
pub const CHROMIUM: &str = "/usr/bin/chromium";

/// Installs missing programs: the browser, node, and the test's packages. They come over the network.
pub fn fetch() -> Result<(), String> {
    programs()?;
    npm::install(&root().join(TEST))
}

/// Installs the browser, node and npm, where they are missing.
pub fn programs() -> Result<(), String> {
    let wanted = [
        ("chromium", Path::new(CHROMIUM).exists()),
        ("nodejs", on_path("node")),
        ("npm", on_path("npm")),
    ];
    let missing: Vec<&str> =
        wanted.into_iter().filter(|(_, found)| !found).map(|(package, _)| package).collect();
    if missing.is_empty() { Ok(()) } else { debian_packages(&missing) }
}

/// Opens the pages of the built service with its demonstration, if everything that it needs is there.
pub fn pages(fetched: Result<(), String>) -> Result<(), String> {
    if let Err(problem) = fetched {
        return skip("pages in a browser", &problem);
    }
    for (name, script) in
        [("pages in a browser", "pages.js"), ("a report in a browser", "report.js")]
    {
        let mut node = root_command("node");
        node.arg(script).current_dir(root().join(TEST));
        node.env("RETICENT", binary()).env("CHROMIUM", CHROMIUM);
        step(name, &mut node)?;
    }
    Ok(())
}
