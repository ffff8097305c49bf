//! Programs that tasks call: cargo, Debian's packages, the built binary; skipped steps, and the time of each step.

use std::{
    env,
    ffi::OsStr,
    path::{Path, PathBuf},
    process::Command,
};

use crate::processor;

/// The version of the workspace.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Runs cargo in the workspace.
pub fn cargo(name: &str, arguments: &[&str]) -> Result<(), String> {
    step(name, root_command("cargo").args(arguments))
}

/// A command in the root of the workspace.
pub fn root_command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(root());
    if under_ci() {
        // What would make a second build faster makes the first one slower.
        command.env("CARGO_INCREMENTAL", "0");
    }
    command
}

/// True under CI, where nothing is skipped and everything is built once.
fn under_ci() -> bool {
    env::var("CI").is_ok_and(|value| value == "true")
}

/// Runs a command, and says how long it took.
pub fn step(name: &str, command: &mut Command) -> Result<(), String> {
    eprintln!("== {name}");
    let (status, step) = processor::record(name, command)
        .map_err(|error| format!("{name}: cannot start {command:?}: {error}"))?;
    if !status.success() {
        return Err(format!("{name} failed ({status})"));
    }
    eprintln!("== {name}: ok, {:.0} s", step.wall);
    Ok(())
}

/// The output of a command, without the spaces around it.
pub fn output(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("cannot start {command:?}: {error}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{command:?} failed ({}): {}", output.status, said.trim()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_string())
}

/// Runs a command that must print a certain text.
pub fn expect_output(name: &str, command: &mut Command, text: &str) -> Result<(), String> {
    eprintln!("== {name}");
    let printed = output(command)?;
    match printed.contains(text) {
        true => Ok(()),
        false => Err(format!("{name} printed {printed:?}, without {text:?}")),
    }
}

/// An empty folder for trial installations. It lies below the root of this workspace, and belongs to none.
pub fn empty_folder(name: &str) -> Result<PathBuf, String> {
    let folder = root().join("target/smoke").join(name);
    let named = |error: std::io::Error| format!("{}: {error}", folder.display());
    if folder.exists() {
        std::fs::remove_dir_all(&folder).map_err(named)?;
    }
    std::fs::create_dir_all(&folder).map_err(named)?;
    Ok(folder)
}

/// The root of the workspace.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace")
}

/// The binary that the tests built.
pub fn binary() -> PathBuf {
    let target = env::var_os("CARGO_TARGET_DIR").map_or(root().join("target"), PathBuf::from);
    target.join("debug/reticent")
}

/// True if a program can be started by its name.
pub fn on_path(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|folder| folder.join(program).exists())
}

/// Installs Debian packages, if possible.
pub fn debian_packages(packages: &[&str]) -> Result<(), String> {
    let apt = |arguments: &[&str]| {
        step(
            &format!("apt-get {}", arguments.join(" ")),
            root_command("apt-get")
                .args(["-qq", "-y", "-o", "DPkg::Lock::Timeout=120"])
                .args(arguments)
                .env("DEBIAN_FRONTEND", "noninteractive"),
        )
    };
    apt(&["update"])?;
    let mut install = vec!["install", "--no-install-recommends"];
    install.extend(packages);
    apt(&install)
}

/// Unpacks a Debian package into a folder of `target`, without installing it, and returns a file of it. That is for programs whose package would start a
/// service on this machine.
pub fn debian_file(package: &str, file: &str) -> Result<PathBuf, String> {
    let folder = root().join("target").join(package);
    let unpacked = folder.join(file);
    if unpacked.exists() {
        return Ok(unpacked);
    }
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let download = |folder: &Path| {
        let mut apt = Command::new("apt-get");
        apt.args(["-qq", "download", package]).current_dir(folder);
        step(&format!("apt-get download {package}"), &mut apt)
    };
    // Without fresh lists a package may be unknown, or gone from the registry.
    if download(&folder).is_err() {
        step("apt-get update", Command::new("apt-get").args(["-qq", "update"]))?;
        download(&folder)?;
    }
    let archives = std::fs::read_dir(&folder).map_err(|error| error.to_string())?;
    let archive = archives.flatten().map(|entry| entry.path());
    let archive = archive.filter(|path| path.extension() == Some(OsStr::new("deb"))).max();
    let archive = archive.ok_or_else(|| format!("{package} was not downloaded"))?;
    let mut unpack = Command::new("dpkg-deb");
    step("dpkg-deb --extract", unpack.arg("--extract").arg(&archive).arg(&folder))?;
    let _ = std::fs::remove_file(archive);
    match unpacked.exists() {
        true => Ok(unpacked),
        false => Err(format!("{package} has no {file}")),
    }
}

/// The text in quotes after the first occurrence of another text.
pub fn quoted_after<'a>(text: &'a str, before: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(before)?;
    rest.split('"').nth(1)
}

/// Reports a part that this machine cannot run; under CI this is a failure.
pub fn skip(name: &str, problem: &str) -> Result<(), String> {
    if under_ci() {
        return Err(format!("{name} cannot be skipped under CI: {problem}"));
    }
    eprintln!("== SKIPPED: {name}: {problem}");
    Ok(())
}
