//! Tests in Python, each group in a virtual environment of its own: the oracles, the Python package, clients of the service. Skipped tests are named, with
//! their reason (`-rs`).

use std::{env, ffi::OsString, path::PathBuf};

use crate::tools::{binary, debian_file, root, root_command, step};

/// Name and requirements of the oracles' environment.
const ORACLES: (&str, &str) = ("oracles", "oracles/requirements.txt");

/// The same of the tests of the Python package.
const PACKAGE: (&str, &str) = ("python", "crates/python/tests/requirements.txt");

/// Tests of the Python package that fork.
const FORKS: &str = "crates/python/tests/test_copies.py";

/// The same of the service's clients.
const CLIENTS: (&str, &str) = ("clients", "crates/server/tests/python/requirements.txt");

/// The same of the documentation as a site.
pub const SITE: (&str, &str) = ("docs", "site/requirements.txt");

/// Makes all environments: their packages come over the network.
pub fn fetch() -> Result<(), String> {
    for environment in [ORACLES, PACKAGE, CLIENTS, SITE] {
        python_with(environment)?;
    }
    Ok(())
}

/// Compares the built binary with independent implementations: dp_accounting, scipy, mpmath.
pub fn oracles() -> Result<(), String> {
    let python = python_with(ORACLES)?;
    step("Python oracles", root_command(&python).args(["-m", "pytest", "-q", "-rs", "oracles"]))
}

/// Lets other people's clients call the built service: Personalizer's own client, schemathesis on the served OpenAPI document, and Prometheus' tool on its
/// alerts; and follows the page for operators.
pub fn clients() -> Result<(), String> {
    let python = python_with(CLIENTS)?;
    let mut command = root_command(&python);
    command
        .args(["-m", "pytest", "-q", "-rs", "crates/server/tests/python"])
        .env("RETICENT", binary());
    // Its tests look for one on the path otherwise, and skip by name.
    match promtool() {
        Ok(path) => command.env("PROMTOOL", path),
        Err(problem) => {
            eprintln!("== promtool: {problem}");
            &mut command
        }
    };
    step("clients of the service", &mut command)
}

/// Prometheus' tool, of its Debian package. It comes over the network.
pub fn promtool() -> Result<PathBuf, String> {
    debian_file("prometheus", "usr/bin/promtool")
}

/// Installs the Python package and tests it.
pub fn package() -> Result<(), String> {
    install()?;
    test()
}

/// Installs the Python package as a user would, but in the profile of the tests.
pub fn install() -> Result<(), String> {
    let python = python_with(PACKAGE)?;
    step(
        "pip install .",
        root_command(&python)
            .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
            .args(["--no-deps", "--no-build-isolation", "--force-reinstall", "."])
            .env("MATURIN_PEP517_ARGS", "--profile dev --features shared-builds")
            // The build backend calls `maturin` by name.
            .env("PATH", path_with(PACKAGE)),
    )
}

/// Tests the Python package that is installed.
pub fn test() -> Result<(), String> {
    let python = python_with(PACKAGE)?;
    let tests = |name: &str, arguments: &[&str]| {
        let mut command = root_command(&python);
        command.args(["-m", "pytest", "-q", "-rs"]).args(arguments);
        step(name, command.env("RETICENT", binary()))
    };
    // A child of a process with other threads may wait for them for ever, so what forks has a process of its own.
    tests("Python package, forks", &[FORKS])?;
    let rest = ["--numprocesses=2", "--dist=loadfile", "--ignore", FORKS, "crates/python/tests"];
    tests("Python package", &rest)
}

/// The search path on which the programs of an environment come first.
pub fn path_with((name, _): (&str, &str)) -> OsString {
    let mut path = root().join("target").join(name).join("bin").into_os_string();
    path.push(":");
    path.push(env::var_os("PATH").unwrap_or_default());
    path
}

/// The interpreter of a virtual environment in `target` that holds exactly these requirements, and later installations.
pub fn python_with((name, requirements): (&str, &str)) -> Result<PathBuf, String> {
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
        &format!("virtual environment {name}"),
        root_command("python3").args(["-m", "venv", "--clear"]).arg(&environment),
    )?;
    step(
        &format!("packages of {name}"),
        root_command(&python)
            // What is not imported need not be compiled.
            .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
            .args(["--no-compile", "-r"])
            .arg(&requirements),
    )?;
    std::fs::write(&stamp, wanted).map_err(|error| format!("{}: {error}", stamp.display()))?;
    Ok(python)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::tools::output;

    /// Lines of `cargo tree`: a depth, a package and its features.
    fn tree(arguments: &[&str]) -> String {
        let mut cargo = root_command("cargo");
        cargo.args(["tree", "--prefix", "depth", "--format", " {p} {f}", "--no-dedupe"]);
        output(cargo.args(arguments)).unwrap()
    }

    /// The package and its features.
    fn package(line: &str) -> &str {
        line.trim_start_matches(|digit: char| digit.is_ascii_digit()).trim()
    }

    #[test]
    fn crates_of_the_wheel_are_those_that_the_tests_built() {
        shared("all", "normal,build");
        // A package of macros may have the features that the same package lacks in programs.
        shared("normal,dev,no-proc-macro", "normal,no-proc-macro");
    }

    /// Asserts that the wheel and the workspace, along these edges, have the same features in everything that our crates stand on.
    fn shared(of_workspace: &str, of_wheel: &str) {
        let built = tree(&["--workspace", "--edges", of_workspace]);
        let built: BTreeSet<&str> = built.lines().map(package).collect();
        let wheel = ["--package", "reticent-python", "--edges", of_wheel, "--features"];
        let wheel = tree(&[&wheel[..], &["shared-builds"]].concat());
        let (mut ours, mut seen) = (false, 0);
        for line in wheel.lines().skip(1) {
            if line.starts_with("1 ") {
                ours = package(line).starts_with("reticent");
                seen += usize::from(ours);
            }
            assert!(
                !ours || built.contains(package(line)),
                "{}: the tests build it with other features; enable those by shared-builds in crates/python/Cargo.toml",
                package(line)
            );
        }
        assert!(seen >= 4, "core, durable, loops and lab are parts of the wheel:\n{wheel}");
    }

    /// A crate that is not listed could change without a mark on the commit that results name.
    #[test]
    fn the_commit_is_that_of_all_crates_that_are_built() {
        let script = std::fs::read_to_string(root().join("crates/cli/build.rs")).unwrap();
        for name in ["cli", "python"] {
            let listed = script.split(&format!("(\"{name}\", &[")).nth(1).expect(name);
            let listed = listed.split(']').next().unwrap().split('"').skip(1).step_by(2);
            let package = format!("reticent-{name}");
            let built = tree(&["--package", &package, "--edges", "normal"]);
            let folder =
                |line: &str| Some(line.split_once("/crates/")?.1.split(')').next()?.to_string());
            let mut built: BTreeSet<String> = built.lines().filter_map(folder).collect();
            assert!(built.remove(name), "{built:?}");
            assert_eq!(listed.map(String::from).collect::<BTreeSet<_>>(), built, "{name}");
        }
    }
}
