//! Published security advisories on packages of others: `cargo deny` and `npm audit`, where a machine has the one and the registry answers the other.
//!
//! Both need services beside the package registries, which a machine may not reach. What could not be asked is named and is no failure; an advisory is one.
//! Licences and sources are checked on every machine, by `oracles/test_dependencies.py`.

use std::path::Path;

use crate::tools::{on_path, root, root_command, step};

/// Folders with a lock file of npm.
const NPM: [&str; 2] = ["crates/device/npm", "crates/server/tests/browser"];

/// Asks for advisories on every locked package.
pub fn check() -> Result<(), String> {
    for folder in NPM {
        npm(&root().join(folder))?;
    }
    if !on_path("cargo-deny") {
        not_asked("crates", "cargo-deny is not installed: `cargo install cargo-deny`");
        return Ok(());
    }
    step("advisories on crates", root_command("cargo").args(["deny", "check", "advisories"]))
}

fn npm(folder: &Path) -> Result<(), String> {
    let mut npm = root_command("npm");
    npm.args(["audit", "--package-lock-only", "--json"]).current_dir(folder);
    let Ok(output) = npm.output() else {
        not_asked("npm packages", "npm is not installed");
        return Ok(());
    };
    let (name, answer) = (folder.display(), String::from_utf8_lossy(&output.stdout));
    match read(&answer) {
        Audit::Clean => eprintln!("== advisories on npm packages of {name}: none"),
        Audit::Advisories => {
            return Err(format!("{name}: npm audit found advisories:\n{answer}"));
        }
        Audit::NoAnswer => {
            not_asked(&format!("npm packages of {name}"), "the registry does not answer audits");
        }
    }
    Ok(())
}

/// Outcome of an audit by npm.
#[derive(Debug, PartialEq, Eq)]
enum Audit {
    Clean,
    Advisories,
    NoAnswer,
}

/// Reads the JSON document of `npm audit`, whose last part counts advisories by severity. A registry without audits gives an error document instead.
fn read(answer: &str) -> Audit {
    let Some((_, counts)) = answer.split_once("\"metadata\"") else { return Audit::NoAnswer };
    let Some((_, total)) = counts.split_once("\"total\":") else { return Audit::NoAnswer };
    let digits: String = total.trim_start().chars().take_while(char::is_ascii_digit).collect();
    match digits.parse::<u64>() {
        Ok(0) => Audit::Clean,
        Ok(_) => Audit::Advisories,
        Err(_) => Audit::NoAnswer,
    }
}

fn not_asked(of: &str, why: &str) {
    eprintln!("== NOT CHECKED: advisories on {of}: {why}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advisories_are_distinguished_from_none_and_from_no_answer() {
        let counts = |total: u64| {
            format!(
                "{{\"vulnerabilities\": {{}}, \"metadata\": {{\"vulnerabilities\": {{\"high\": {total}, \"total\": {total}}}}}}}"
            )
        };
        assert_eq!(read(&counts(0)), Audit::Clean);
        assert_eq!(read(&counts(3)), Audit::Advisories);
        assert_eq!(
            read("{\"message\": \"405 Method Not Allowed\", \"error\": {}}"),
            Audit::NoAnswer
        );
        assert_eq!(read(""), Audit::NoAnswer);
    }
}
