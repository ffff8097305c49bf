//! Everything that a release consists of: built, installed in an empty environment, tried, and listed with size and hash.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use crate::{
    debian,
    made::{Made, Smoke},
    packages,
    tools::{output, root, root_command, skip},
    web, wheel,
};

/// A part's name, and what builds, installs and tries it.
type Part = (&'static str, fn() -> Result<Made, String>);

const PARTS: [Part; 4] = [
    ("crates", packages::release),
    ("wheel", wheel::release),
    ("npm package", web::release),
    ("Debian package", debian::release),
];

/// Makes and tries all parts, copies their files into `target/artifacts`, and prints a table. A part that fails does not keep the others from being tried.
pub fn run() -> Result<(), String> {
    let folder = root().join("target/artifacts");
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(|error| named(&folder, &error))?;
    }
    fs::create_dir_all(&folder).map_err(|error| named(&folder, &error))?;
    let mut table =
        String::from("| artifact | bytes | SHA-256 | smoke test |\n| --- | --: | --- | --- |\n");
    let mut failed = Vec::new();
    for (name, release) in PARTS {
        eprintln!("== {name}");
        let mut fail = |problem: &str| {
            failed.push(name);
            format!("FAILED: {problem}")
        };
        let (files, result) = match release() {
            Err(problem) => (Vec::new(), fail(&problem)),
            Ok(Made { files, smoke: Smoke::Passed(what) }) => (files, format!("passed: {what}")),
            Ok(Made { files, smoke: Smoke::Skipped(problem) }) => match skip(name, &problem) {
                Ok(()) => (files, format!("SKIPPED: {problem}")),
                Err(refused) => (files, fail(&refused)),
            },
        };
        if files.is_empty() {
            table += &format!("| {name} | | | {result} |\n");
        }
        for file in files {
            let file = gather(&file, &folder)?;
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            let bytes = fs::metadata(&file).map_err(|error| named(&file, &error))?.len();
            let _ = writeln!(table, "| {name} | {bytes} | {} | {result} |", sha256(&file)?);
        }
    }
    println!("{table}");
    eprintln!("== {}", folder.display());
    match failed.is_empty() {
        true => Ok(()),
        false => Err(format!("these parts failed: {}", failed.join(", "))),
    }
}

/// Copies a file into the folder of all of them.
fn gather(file: &Path, folder: &Path) -> Result<PathBuf, String> {
    let copy = folder.join(file.file_name().ok_or("an artifact has a name")?);
    fs::copy(file, &copy).map_err(|error| named(file, &error))?;
    Ok(copy)
}

fn sha256(file: &Path) -> Result<String, String> {
    let printed = output(root_command("sha256sum").arg(file))?;
    let hash = printed.split_whitespace().next().unwrap_or_default();
    match hash.len() {
        64 => Ok(hash.to_string()),
        _ => Err(format!("sha256sum printed {printed:?}")),
    }
}

fn named(path: &Path, error: &std::io::Error) -> String {
    format!("{}: {error}", path.display())
}
