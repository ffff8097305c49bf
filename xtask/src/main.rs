//! Tasks for maintainers.
//!
//! `cargo xtask test` is the whole test suite, on a machine that has only cargo and Python:
//! format, lints, unit, property, documentation and command-line tests, core as WebAssembly, the packages for a registry, the quick part of the audit, then the Python oracles and the
//! Python package, each in a virtual environment of its own.
//!
//! `cargo xtask wasm` compiles core for the browser; `cargo xtask package` packs what is published and compiles it; `cargo xtask audit
//! [--quick]` attacks every guarantee, detects every known mistake, and tests the coverage of confidence sets; `cargo xtask fuzz [--minutes
//! 10]` fuzzes every reader of external bytes; `cargo xtask rooms` prints which module uses which.

mod postgres;
mod rooms;

use std::{
    env,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
    time::Instant,
};

fn main() -> ExitCode {
    let task = env::args().nth(1);
    let result = match task.as_deref() {
        Some("test") => test(),
        Some("oracles") => cargo("binary for the oracles", &["build", "--quiet", "--workspace"])
            .and_then(|()| oracles()),
        Some("audit") => audit(env::args().any(|argument| argument == "--quick")),
        Some("fuzz") => fuzz(&minutes()),
        Some("package") => package(true),
        Some("rooms") => print_rooms(),
        Some("wasm") => wasm(),
        Some("python") => cargo("binary to compare with", &["build", "--quiet", "--workspace"])
            .and_then(|()| python_package()),
        _ => Err(
            "usage: cargo xtask test | oracles | python | wasm | package | rooms | audit [--quick] | fuzz [--minutes 10]"
                .to_string(),
        ),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("xtask: {problem}");
            ExitCode::FAILURE
        }
    }
}

/// All checks that must pass before a change is merged.
fn test() -> Result<(), String> {
    stated_version()?;
    cargo("format", &["fmt", "--all", "--check"])?;
    // Packages come over the network while the compiler works.
    let environments = std::thread::spawn(|| {
        python_with("oracles", ORACLES)?;
        python_with("python", PYTHON_TESTS)
    });
    cargo(
        "lints",
        &[
            "clippy",
            "--workspace",
            "--all-targets",
            "--features",
            "reticent-lab/clarabel",
            "--quiet",
            "--",
            "--deny",
            "warnings",
        ],
    )?;
    postgres::install()?;
    cargo(
        "unit, property, documentation and command-line tests",
        &["test", "--workspace", "--quiet"],
    )?;
    step(
        "reference documentation",
        root_command("cargo")
            .args(["doc", "--workspace", "--no-deps", "--quiet"])
            .env("RUSTDOCFLAGS", "--deny warnings"),
    )?;
    wasm()?;
    package(false)?;
    // The command-line tests have built the binary.
    step("audit, the quick part", root_command(binary()).args(["audit", "--quick"]))?;
    environments.join().map_err(|_| "virtual environments: a thread failed")??;
    oracles()?;
    python_package()
}

/// What the oracles need.
const ORACLES: &str = "oracles/requirements.txt";

/// What the tests of the Python package need.
const PYTHON_TESTS: &str = "crates/python/tests/requirements.txt";

/// Prints which top-level module uses which, in core and in lab.
fn print_rooms() -> Result<(), String> {
    for package in ["core", "lab", "server"] {
        let uses = rooms::read(&root().join("crates").join(package).join("src"))?;
        println!("crates/{package}\n{}", rooms::table(&uses));
    }
    Ok(())
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

/// Runs every attack: prints a table, and fails if a guarantee is violated or a mistake is not detected.
fn audit(quick: bool) -> Result<(), String> {
    cargo("binary for the audit", &["build", "--quiet", "--workspace"])?;
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

/// The value of `--minutes`, or 10.
fn minutes() -> String {
    let mut arguments = env::args().skip_while(|argument| argument != "--minutes");
    arguments.nth(1).unwrap_or_else(|| "10".into())
}

/// Packs what is published; if `verify`, unpacks and compiles it too, which finds files that a package needs but does not contain.
///
/// Compiling takes minutes, because dependencies are built again, so the tests skip it.
fn package(verify: bool) -> Result<(), String> {
    let mut command = root_command("cargo");
    command.args(["package", "--quiet", "--allow-dirty"]);
    let names = [
        "reticent",
        "reticent-durable",
        "reticent-lab",
        "reticent-page",
        "reticent-server",
        "reticent-cli",
    ];
    for name in names {
        command.args(["--package", name]);
    }
    command
        .args((!verify).then_some("--no-verify"))
        .env("CARGO_PROFILE_DEV_OPT_LEVEL", "0")
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .env("CARGO_TARGET_DIR", root().join("target/package"));
    step("packages for a registry", &mut command)
}

/// Compiles core for the browser, with the toolchain's own target if it is installed and else with Debian's.
///
/// Debian ships the standard library for WebAssembly as source (`rust-web-src`), which only its own compiler accepts.
fn wasm() -> Result<(), String> {
    let target = ["--target", "wasm32-unknown-unknown"];
    let package = ["build", "--quiet", "--package", "reticent", "--features", "getrandom/wasm_js"];
    let prepare = |cargo: &str| {
        let mut command = root_command(cargo);
        command
            .args(package)
            .args(target)
            .env("CARGO_TARGET_DIR", root().join("target/wasm"))
            .env("CARGO_PROFILE_DEV_OPT_LEVEL", "0");
        command
    };
    if installed_target(target[1]) {
        return step("core as WebAssembly", &mut prepare("cargo"));
    }
    let debian = ["/usr/bin/cargo", "/usr/bin/rustc", "/usr/bin/wasm-ld"];
    let complete = || debian.iter().all(|tool| Path::new(tool).exists());
    if !complete()
        && let Err(problem) = debian_packages(&["rustc-web", "cargo-web", "rust-web-src", "lld"])
    {
        return skip("core as WebAssembly", &problem);
    }
    let mut command = prepare(debian[0]);
    command
        .arg("-Zbuild-std=std,panic_abort")
        .env("RUSTC", debian[1])
        .env("RUSTC_BOOTSTRAP", "1")
        .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", debian[2])
        .env_remove("RUSTUP_TOOLCHAIN")
        .env_remove("CARGO");
    step("core as WebAssembly", &mut command)
}

/// Whether the compiler that runs this has the standard library of a target.
fn installed_target(target: &str) -> bool {
    let sysroot = Command::new("rustc").args(["--print", "sysroot"]).output();
    sysroot.is_ok_and(|output| {
        let folder = String::from_utf8_lossy(&output.stdout).trim().to_string();
        Path::new(&folder).join("lib/rustlib").join(target).exists()
    })
}

/// Installs Debian packages, if possible.
fn debian_packages(packages: &[&str]) -> Result<(), String> {
    let apt = |arguments: &[&str]| {
        step(
            &format!("apt-get {}", arguments[0]),
            root_command("apt-get")
                .args(["-qq", "-y"])
                .args(arguments)
                .env("DEBIAN_FRONTEND", "noninteractive"),
        )
    };
    apt(&["update"])?;
    let mut install = vec!["install", "--no-install-recommends"];
    install.extend(packages);
    apt(&install)
}

/// Reports a part that this machine cannot run; under CI this is a failure.
fn skip(name: &str, problem: &str) -> Result<(), String> {
    if env::var("CI").is_ok_and(|value| value == "true") {
        return Err(format!("{name} cannot be skipped under CI: {problem}"));
    }
    eprintln!("== SKIPPED: {name}: {problem}");
    Ok(())
}

/// The binary that the tests built.
fn binary() -> PathBuf {
    let target = env::var_os("CARGO_TARGET_DIR").map_or(root().join("target"), PathBuf::from);
    target.join("debug/reticent")
}

/// Compares the built binary with independent implementations: dp_accounting, scipy, mpmath.
fn oracles() -> Result<(), String> {
    let python = python_with("oracles", ORACLES)?;
    step("Python oracles", root_command(&python).args(["-m", "pytest", "-q", "oracles"]))
}

/// Installs the Python package as a user would, but in the profile of the tests, and tests it.
fn python_package() -> Result<(), String> {
    let python = python_with("python", PYTHON_TESTS)?;
    // The build backend calls `maturin` by name.
    let mut path = root().join("target/python/bin").into_os_string();
    path.push(":");
    path.push(env::var_os("PATH").unwrap_or_default());
    step(
        "pip install .",
        root_command(&python)
            .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
            .args(["--no-deps", "--no-build-isolation", "--force-reinstall", "."])
            .env("MATURIN_PEP517_ARGS", "--profile dev")
            .env("PATH", path),
    )?;
    step(
        "Python package",
        root_command(&python).args(["-m", "pytest", "-q", "crates/python/tests"]),
    )
}

/// The interpreter of a virtual environment in `target` that holds exactly these requirements, and what is installed later.
fn python_with(name: &str, requirements: &str) -> Result<PathBuf, String> {
    let environment = root().join("target").join(name);
    let python = environment.join("bin/python");
    let requirements = root().join(requirements);
    let stamp = environment.join("requirements.txt");
    let wanted = std::fs::read(&requirements)
        .map_err(|error| format!("{}: {error}", requirements.display()))?;
    if std::fs::read(&stamp).ok().as_ref() == Some(&wanted) {
        return Ok(python);
    }
    step(
        "virtual environment",
        root_command("python3").args(["-m", "venv", "--clear"]).arg(&environment),
    )?;
    step(
        "packages",
        root_command(&python)
            .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"])
            .arg(&requirements),
    )?;
    std::fs::write(&stamp, wanted).map_err(|error| format!("{}: {error}", stamp.display()))?;
    Ok(python)
}

fn cargo(name: &str, arguments: &[&str]) -> Result<(), String> {
    step(name, root_command("cargo").args(arguments))
}

fn root_command(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(root());
    command
}

fn step(name: &str, command: &mut Command) -> Result<(), String> {
    eprintln!("== {name}");
    let start = Instant::now();
    let status =
        command.status().map_err(|error| format!("{name}: cannot start {command:?}: {error}"))?;
    if !status.success() {
        return Err(format!("{name} failed ({status})"));
    }
    eprintln!("== {name}: ok, {:.0} s", start.elapsed().as_secs_f64());
    Ok(())
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace")
}
