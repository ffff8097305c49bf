//! The whole test suite: what must pass before a change is merged.
//!
//! ```text
//! lints -> build of the tests              WebAssembly, packages for a registry
//! tests -> pages in a browser              reference documentation -> Python package installed and tested
//!       -> JavaScript package              -> audit -> oracles -> site -> clients -> Debian package
//! ```
//!
//! Two columns share two cores: a compiler often waits for one of its threads, and a test for its clock. Packages of Debian, npm and Python come over the
//! network while the lints are checked. WebAssembly and the packages for a registry have target folders of their own, so that no build waits for another.

use std::thread;

use crate::{
    advisories, browser, debian, docs, packages, postgres, python,
    tools::{binary, cargo, root, root_command, skip, step},
    web,
};

type Lane = thread::JoinHandle<Result<(), String>>;

/// All checks that must pass before a change is merged.
pub fn run() -> Result<(), String> {
    stated_version()?;
    cargo("format", &["fmt", "--all", "--check"])?;
    // Debian's packages one after another: apt-get has one lock.
    let fetched = thread::spawn(|| {
        let postgres = postgres::fetch();
        let browser = browser::fetch();
        let web = web::fetch();
        // If it fails, the tests of the alerts say what they lack.
        let _ = python::promtool();
        let debian = debian::fetch();
        let builds = web::build(&web).and_then(|()| packages::pack(false));
        (postgres, browser, web, debian, builds)
    });
    let environments: Lane = thread::spawn(|| {
        python::fetch()?;
        advisories::check()
    });
    cargo(
        "lints",
        &[
            "clippy",
            "--workspace",
            "--all-targets",
            "--features",
            "reticent-lab/clarabel,reticent-trials/failpoints",
            "--quiet",
            "--",
            "--deny",
            "warnings",
        ],
    )?;
    let tests = ["test", "--workspace", "--quiet"];
    cargo("build of the tests", &[&tests[..], &["--no-run"]].concat())?;
    let (postgres, browser, web, packaged, builds) =
        fetched.join().map_err(|_| "Debian's packages: a thread failed")?;
    postgres::expect(&postgres)?;
    builds?;
    let programs: Lane = thread::spawn(move || {
        step(
            "reference documentation",
            root_command("cargo")
                .args(["doc", "--workspace", "--no-deps", "--quiet"])
                .env("RUSTDOCFLAGS", "--deny warnings"),
        )?;
        join("virtual environments", environments)?;
        python::install()?;
        python::test()?;
        step("audit, the quick part", root_command(binary()).args(["audit", "--quick"]))?;
        python::oracles()?;
        docs::build_and_test()?;
        python::clients()?;
        debian::test(packaged)
    });
    let tested = cargo("unit, property, documentation and command-line tests", &tests)
        .and_then(|()| browser::pages(browser))
        .and_then(|()| web::test(&web));
    // What it started has ended before this returns.
    let programs = join("programs, Python and the site", programs);
    tested.and(programs)
}

/// The result of what ran meanwhile.
fn join(name: &str, lane: Lane) -> Result<(), String> {
    lane.join().map_err(|_| format!("{name}: a thread failed"))?
}

/// Checks that the tests run with the version of Rust that `Cargo.toml` states.
fn stated_version() -> Result<(), String> {
    let manifest = std::fs::read_to_string(root().join("Cargo.toml"))
        .map_err(|error| format!("Cargo.toml: {error}"))?;
    let stated = manifest.lines().find_map(|line| line.strip_prefix("rust-version = "));
    let stated = stated.ok_or("Cargo.toml does not state rust-version")?.trim_matches('"');
    let output = root_command("rustc").arg("--version").output();
    let output = output.map_err(|error| format!("rustc --version: {error}"))?;
    let running = String::from_utf8_lossy(&output.stdout).trim().to_string();
    if running.starts_with(&format!("rustc {stated}.")) {
        return Ok(());
    }
    skip("the stated version of Rust", &format!("Cargo.toml states {stated}, this is {running}"))
}
