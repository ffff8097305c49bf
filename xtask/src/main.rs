//! Tasks for maintainers.
//!
//! | task | what it does |
//! | --- | --- |
//! | `cargo xtask test` | the whole test suite, on a machine that has only cargo and Python: see `test` |
//! | `cargo xtask quick [core] [--dependents]` | the unit tests of what changed: see `quick` |
//! | `cargo xtask oracles`, `python` | the Python oracles; the Python package |
//! | `cargo xtask clients`, `browser` | clients of the service by other projects; its pages in a browser |
//! | `cargo xtask docs` | the documentation as a site in `target/site`; runs the commands of its pages; with `RETICENT=target/release/reticent`, by a program that is already built |
//! | `cargo xtask wasm` | core for the browser |
//! | `cargo xtask web` | the npm package of the device |
//! | `cargo xtask deb [--test]` | the Debian package in `target/debian`; with `--test` installs, upgrades and purges one of the built binary, as root |
//! | `cargo xtask release --dry-run` | everything that a release publishes, from a clean checkout, installed and tried: see `release` |
//! | `cargo xtask artifacts` | the same from the files as they are here |
//! | `cargo xtask package` | packs the published crates and compiles them |
//! | `cargo xtask audit [--quick]` | attacks every guarantee, detects every known mistake, tests the coverage of confidence sets |
//! | `cargo xtask fuzz [--minutes 10]` | fuzzes every reader of external bytes |
//! | `cargo xtask bench [--json] [--parts PARTS]` | figures of the service: the options are those of `cargo xtask bench --help` |
//! | `cargo xtask torture [--minutes 10] [--kills 1000]` | the service under every accident, on both stores, and a checker over its clients' history; with `--kills` until this number of processes was killed with -9 |
//! | `cargo xtask simulate [--events 1000000] [--seed 1]` | loops in simulated time, with failures of every kind, and the same checker |
//! | `cargo xtask advisories` | security advisories on packages of others, where they can be asked for |
//! | `cargo xtask budget [demo] [--enforce]` | times of the README's two commands from an empty clone and target folder, with processor seconds by crate; with `--enforce` fails if they are over budget: see `budget` |
//! | `cargo xtask rooms [FOLDER]` | lines of code, of doc comments and of tests of each module of each crate, and which modules it uses; of another checkout too; fails if modules use each other in a circle |

mod advisories;
mod artifacts;
mod browser;
mod budget;
mod debian;
mod docs;
mod lines;
mod made;
mod npm;
mod packages;
mod postgres;
mod processor;
mod python;
mod quick;
mod release;
mod rooms;
mod test;
mod tools;
mod versions;
mod wasm;
mod web;
mod wheel;

use std::{
    env,
    path::PathBuf,
    process::{Command, ExitCode},
};

use tools::{binary, cargo, root, root_command, step};

fn main() -> ExitCode {
    if let Some(times) = budget::stands_for_rustc() {
        return budget::rustc(times);
    }
    let task = env::args().nth(1);
    let result = match task.as_deref() {
        Some("test") => test::run(),
        Some("quick") => quick(),
        Some("oracles") => build().and_then(|()| python::oracles()),
        Some("python") => build().and_then(|()| python::package()),
        Some("clients") => build().and_then(|()| python::clients()),
        Some("browser") => build().and_then(|()| browser::pages(browser::fetch())),
        // A program that is already built answers for the site as well.
        Some("docs") if docs::given_program().is_some() => docs::build_and_test(),
        Some("docs") => build().and_then(|()| docs::build_and_test()),
        Some("audit") => audit(env::args().any(|argument| argument == "--quick")),
        Some("fuzz") => fuzz(&value_of("--minutes").unwrap_or_else(|| "10".into())),
        Some("deb") if env::args().any(|argument| argument == "--test") => {
            build().and_then(|()| debian::test(debian::fetch()))
        }
        Some("deb") => debian::build().map(|_| ()),
        Some("bench") => bench(),
        Some("torture") => torture(),
        Some("simulate") => simulate(),
        Some("package") => packages::pack(true),
        Some("artifacts") => artifacts::run(),
        Some("release") => release::run(env::args().any(|argument| argument == "--dry-run")),
        Some("advisories") => advisories::check(),
        Some("budget") => budget(),
        Some("rooms") => print_rooms(),
        Some("wasm") => wasm::build(wasm::fetch()),
        Some("web") => web(),
        _ => Err("usage: cargo xtask test | quick [core] [--dependents] | oracles | python | clients | browser | docs | wasm | web | deb [--test] | package | artifacts | release --dry-run | budget [demo] [--enforce] | rooms [FOLDER] | advisories | audit [--quick] | fuzz [--minutes 10] | bench [--help] | torture [--minutes 10] [--kills 1000] | simulate [--events 1000000] [--seed 1]"
            .to_string()),
    };
    processor::print_steps();
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("xtask: {problem}");
            ExitCode::FAILURE
        }
    }
}

/// Builds the binary that a task calls, with the features of all tests.
fn build() -> Result<(), String> {
    cargo("binary", &["build", "--quiet", "--workspace"])
}

/// Tests the packages that are named, or those that have changed.
fn quick() -> Result<(), String> {
    let (options, named): (Vec<_>, Vec<_>) =
        env::args().skip(2).partition(|argument| argument.starts_with("--"));
    quick::run(&named, options.iter().any(|option| option == "--dependents"))
}

/// Builds and tests the npm package.
fn web() -> Result<(), String> {
    let fetched = web::fetch();
    web::build(&fetched)?;
    build()?;
    web::test(&fetched)
}

/// Measures the README's commands.
fn budget() -> Result<(), String> {
    let (options, filters): (Vec<_>, Vec<_>) =
        env::args().skip(2).partition(|argument| argument.starts_with("--"));
    let enforce = options.iter().any(|option| option == "--enforce");
    budget::run(filters.first().map(String::as_str), enforce)
}

/// Prints the modules of all crates, of this checkout or of another one, and fails if modules of a crate use each other in a circle.
fn print_rooms() -> Result<(), String> {
    let other = env::args().nth(2).map(PathBuf::from);
    let checkout = other.as_deref().unwrap_or(root());
    print!("{}", lines::tables(checkout)?);
    rooms::refuse_cycles(&lines::packages(checkout)?)
}

/// Runs every attack: prints a table, and fails if a guarantee is violated or a mistake is not detected.
fn audit(quick: bool) -> Result<(), String> {
    build()?;
    let mut command = root_command(binary());
    command.arg("audit").args(quick.then_some("--quick"));
    step("audit", &mut command)
}

/// Minutes of fuzzing of every reader; a finding is printed and fails.
fn fuzz(minutes: &str) -> Result<(), String> {
    let arguments = ["test", "--workspace", "--quiet", "--lib", "minutes_of_fuzzing", "--"];
    let mut command = root_command("cargo");
    command
        .args(arguments)
        .args(["--ignored", "--nocapture"])
        .env("RETICENT_FUZZ_MINUTES", minutes);
    step("fuzzing", &mut command)
}

/// Figures of an optimised build of the service.
fn bench() -> Result<(), String> {
    let mut command = root_command("cargo");
    command.args([
        "run",
        "--profile",
        "dist",
        "--quiet",
        "--package",
        "reticent-trials",
        "--",
        "bench",
    ]);
    step("bench", command.args(env::args().skip(2)))
}

/// Accidents to a build of the service with failpoints, until the minutes are over and the wanted processes are killed; a broken promise is printed and fails.
fn torture() -> Result<(), String> {
    postgres::expect(&postgres::fetch())?;
    let mut command = root_command("cargo");
    command
        .args(["test", "--quiet", "--package", "reticent-trials", "--features", "failpoints"])
        .args(["--test", "torture", "minutes_of_torture", "--", "--ignored", "--nocapture"]);
    let options =
        [("--minutes", "RETICENT_TORTURE_MINUTES"), ("--kills", "RETICENT_TORTURE_KILLS")];
    hand_on(&options, &mut command)?;
    step("torture", &mut command)
}

/// Loops in simulated time, as many seeds as the events take, or one seed. A seed that breaks a promise is printed and fails.
fn simulate() -> Result<(), String> {
    let mut command = root_command("cargo");
    command
        .args(["test", "--package", "reticent-trials", "--quiet", "--test", "simulation"])
        .args(["many_events", "--", "--ignored", "--nocapture"]);
    let options =
        [("--events", "RETICENT_SIMULATION_EVENTS"), ("--seed", "RETICENT_SIMULATION_SEED")];
    hand_on(&options, &mut command)?;
    step("simulation", &mut command)
}

/// Hands whole numbers that are given as options to a test, as variables of its environment.
fn hand_on(options: &[(&str, &str)], command: &mut Command) -> Result<(), String> {
    for (option, variable) in options {
        if let Some(value) = value_of(option) {
            let number: Result<u64, _> = value.parse();
            number.map_err(|_| format!("{option}: got {value}; expected a whole number"))?;
            command.env(variable, value);
        }
    }
    Ok(())
}

/// The value after an option.
fn value_of(option: &str) -> Option<String> {
    env::args().skip_while(|argument| argument != option).nth(1)
}
