//! The documentation as a site in `target/site`, and the tests of what its pages print.
//!
//! mkdocs reads `docs/`; `site/` has its settings, and makes the reference pages from the types, the help and the calls of the built binary. A link or a
//! heading that does not exist fails the build.

use std::path::PathBuf;

use crate::{
    python::{SITE, python_with},
    tools::{binary, root, root_command, step},
};

/// The program that the site is made of, if one is given that is already built: `RETICENT=target/release/reticent`.
pub fn given_program() -> Option<PathBuf> {
    std::env::var_os("RETICENT").map(|path| root().join(path))
}

/// Builds the site, and runs the commands of its pages.
pub fn build_and_test() -> Result<(), String> {
    let python = python_with(SITE)?;
    let program = given_program().unwrap_or_else(binary);
    let task = |name: &str, arguments: &[&str]| {
        let mut command = root_command(&python);
        // The theme announces its successor on every run.
        command
            .args(["-m"])
            .args(arguments)
            .env("RETICENT", &program)
            .env("NO_MKDOCS_2_WARNING", "1");
        step(name, &mut command)
    };
    task(
        "documentation as a site",
        &["mkdocs", "build", "--strict", "--config-file", "site/mkdocs.yml"],
    )?;
    task("commands of the documentation", &["pytest", "-q", "-rs", "site/tests"])
}
