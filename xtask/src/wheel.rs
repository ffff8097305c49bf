//! The Python package as a wheel: one for all versions of Python from 3.10 on (abi3), and for Linux with glibc 2.17 or newer (manylinux2014).
//!
//! zig links against the symbols of an old glibc, whatever this machine has, so that no old system is needed. It comes as a Python package.

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

use crate::{
    made::{Made, Smoke},
    python::{path_with, python_with},
    tools::{empty_folder, expect_output, root, root_command, step},
};

/// Name and requirements of the environment with maturin, zig and auditwheel.
const TOOLS: (&str, &str) = ("wheel-tools", "packaging/python/requirements.txt");

/// The oldest system that the wheel runs on, as tags of wheels name it.
const SYSTEM: &str = "manylinux2014";

/// The same by its glibc.
const GLIBC: &str = "manylinux_2_17";

/// The test that an installed package passes too.
const INSTALLED: &str = "crates/python/tests/test_installed.py";

/// Builds the wheel, and installs it into a new virtual environment, in which a script makes private decisions.
pub fn release() -> Result<Made, String> {
    let python = match python_with(TOOLS) {
        Ok(python) => python,
        Err(problem) => return Ok(Made { files: Vec::new(), smoke: Smoke::Skipped(problem) }),
    };
    let wheel = build(&python)?;
    let mut audit = root_command(&python);
    audit.args(["-m", "auditwheel", "show"]).arg(&wheel).env("PATH", path_with(TOOLS));
    expect_output("auditwheel show", &mut audit, GLIBC)?;

    let environment = empty_folder("wheel")?;
    let mut venv = root_command("python3");
    step("an empty environment", venv.args(["-m", "venv"]).arg(&environment))?;
    // Isolated: what this user has elsewhere is not seen.
    let installed = || {
        let mut python = root_command(environment.join("bin/python"));
        python.arg("-I").current_dir(&environment);
        python
    };
    let mut pip = installed();
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).arg(&wheel);
    step("pip install", &mut pip)?;
    step("installed Python package", installed().arg(root().join(INSTALLED)))?;
    let smoke =
        "`pip install` in a new environment, `auditwheel show`, private decisions and a report";
    Ok(Made { files: vec![wheel], smoke: Smoke::Passed(smoke) })
}

/// Builds the wheel into an empty folder.
fn build(python: &Path) -> Result<PathBuf, String> {
    let folder = empty_folder("wheels")?;
    let mut maturin = root_command(python);
    maturin
        .args([
            "-m",
            "maturin",
            "build",
            "--quiet",
            "--profile",
            "dist",
            "--strip",
            "--zig",
            "--compatibility",
            SYSTEM,
        ])
        .arg("--out")
        .arg(&folder)
        .env("PATH", path_with(TOOLS));
    step("maturin build", &mut maturin)?;
    let entries = fs::read_dir(&folder).map_err(|error| error.to_string())?.flatten();
    let mut wheels = entries.map(|entry| entry.path());
    let wheel = wheels.find(|path| path.extension() == Some(OsStr::new("whl")));
    let wheel = wheel.ok_or("maturin made no wheel")?;
    let name = wheel.file_name().unwrap_or_default().to_string_lossy();
    match name.contains("-abi3-") && name.contains(SYSTEM) {
        true => Ok(wheel),
        false => Err(format!("{name} is not for all Pythons (abi3) and old systems ({SYSTEM})")),
    }
}
