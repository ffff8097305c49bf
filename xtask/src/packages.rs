//! Packages for a registry, and their test in an empty workspace.

use std::{fs, path::Path};

use crate::{
    made::{Made, Smoke},
    tools::{VERSION, empty_folder, expect_output, root, root_command, step},
};

/// In the order of their dependencies, which is that of publishing.
pub const NAMES: [&str; 7] = [
    "reticent",
    "reticent-device",
    "reticent-durable",
    "reticent-lab",
    "reticent-loops",
    "reticent-server",
    "reticent-cli",
];

/// Packages with a program; the first one has no library for others.
const PROGRAMS: [&str; 2] = ["reticent-cli", "reticent-server"];

/// Packs the published crates; if `verify`, unpacks and compiles it too, which finds files that a package needs but does not contain.
///
/// Compiling takes minutes, because dependencies are built again, so the tests skip it.
pub fn pack(verify: bool) -> Result<(), String> {
    let mut command = cargo();
    command.args(["package", "--quiet", "--allow-dirty"]);
    for name in NAMES {
        command.args(["--package", name]);
    }
    command.args((!verify).then_some("--no-verify"));
    step("packages for a registry", &mut command)
}

/// Packs the published crates. A new project depends on all libraries as they were packed and runs the README's program, and the programs are installed from
/// their packages: that compiles all of them, so that verifying them before would compile them twice.
pub fn release() -> Result<Made, String> {
    pack(false)?;
    let packed = root().join("target/package/package");
    let files: Vec<_> =
        NAMES.iter().map(|name| packed.join(format!("{name}-{VERSION}.crate"))).collect();
    let folder = empty_folder("crates")?;
    for file in &files {
        let mut tar = root_command("tar");
        step("unpack", tar.arg("-xzf").arg(file).arg("-C").arg(&folder))?;
    }
    let readme = root().join("README.md");
    let readme = fs::read_to_string(&readme).map_err(|error| format!("README.md: {error}"))?;
    let program = readme_program(&readme).ok_or("README.md has no program after \"In Rust:\"")?;
    write(&folder.join("Cargo.toml"), &workspace_manifest())?;
    write(&folder.join("trial/Cargo.toml"), &trial_manifest())?;
    // As many rounds take a minute in code that is not optimised.
    write(&folder.join("trial/src/main.rs"), &program.replace("20_000", "200"))?;

    let mut trial = cargo();
    trial.args(["run", "--quiet", "--package", "trial"]).current_dir(&folder);
    expect_output("a project that depends on the packages", &mut trial, "differentially private")?;
    for program in PROGRAMS {
        let mut install = cargo();
        install
            .args(["install", "--quiet", "--debug", "--path", &format!("{program}-{VERSION}")])
            .args(["--root", "installed"])
            .current_dir(&folder);
        step("cargo install", &mut install)?;
    }
    command_lines(&folder.join("installed/bin"))?;
    let smoke = "a new project runs the README's program; `cargo install`, `privacy sigma`, `serve --check`";
    Ok(Made { files, smoke: Smoke::Passed(smoke) })
}

/// A price by the accountant, and settings of the service, by the programs in a folder.
fn command_lines(programs: &Path) -> Result<(), String> {
    let mut sigma = root_command(programs.join("reticent"));
    sigma.args(["privacy", "sigma", "--epsilon", "1", "--delta", "1e-5", "--sensitivity", "1"]);
    expect_output("reticent privacy sigma", &mut sigma, "3.73063163")?;
    let mut serve = root_command(programs.join("reticent-server"));
    serve.args(["serve", "--config", "examples/loops.toml", "--check"]);
    expect_output("reticent-server serve --check", &mut serve, "all loops together")
}

/// cargo in a profile and a folder that packing and trying share, so that dependencies are compiled once.
fn cargo() -> std::process::Command {
    let mut command = root_command("cargo");
    command
        .env("CARGO_PROFILE_DEV_OPT_LEVEL", "0")
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .env("CARGO_INCREMENTAL", "0")
        .env("CARGO_TARGET_DIR", root().join("target/package"));
    command
}

/// A workspace in which the registry has our packages as they were unpacked.
fn workspace_manifest() -> String {
    let patches = NAMES.map(|name| format!("{name} = {{ path = \"{name}-{VERSION}\" }}\n"));
    let programs = PROGRAMS.map(|name| format!(", \"{name}-{VERSION}\""));
    format!(
        "[workspace]\nresolver = \"3\"\nmembers = [\"trial\"{}]\n\n[patch.crates-io]\n{}",
        programs.concat(),
        patches.concat()
    )
}

/// A project that depends on every library, as one from a registry.
fn trial_manifest() -> String {
    let libraries = NAMES.iter().filter(|name| **name != PROGRAMS[0]);
    let dependencies: String = libraries.map(|name| format!("{name} = \"{VERSION}\"\n")).collect();
    format!(
        "[package]\nname = \"trial\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[dependencies]\n{dependencies}"
    )
}

/// The program that the README shows in Rust first.
fn readme_program(readme: &str) -> Option<&str> {
    let (_, rest) = readme.split_once("In Rust:\n\n```rust\n")?;
    rest.split_once("```").map(|(program, _)| program)
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    let folder = path.parent().ok_or("a file has a folder")?;
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(path, text))
        .map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_package_of_the_workspace_is_published_or_says_that_it_is_not() {
        let crates = fs::read_dir(root().join("crates")).unwrap().flatten();
        for folder in crates.map(|entry| entry.path()) {
            let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
            let name = manifest.lines().find_map(|line| line.strip_prefix("name = ")).unwrap();
            let published = NAMES.contains(&name.trim_matches('"'));
            assert_ne!(published, manifest.contains("publish = false"), "{name}");
        }
    }

    #[test]
    fn the_program_of_the_readme_is_found() {
        let readme = fs::read_to_string(root().join("README.md")).unwrap();
        let program = readme_program(&readme).unwrap();
        assert!(program.contains("fn main()") && program.contains("20_000"));
    }
}
