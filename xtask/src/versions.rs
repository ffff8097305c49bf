//! The version of a release: every file that states it must agree, and the changelog must have a dated section for it.

use std::fs;

use crate::{
    packages,
    tools::{quoted_after, root},
};

/// Reads a file of the repository.
type Read<'a> = &'a dyn Fn(&str) -> Result<String, String>;

/// The version of the workspace, if everything that is released states it and the changelog has it.
pub fn check() -> Result<String, String> {
    let version = workspace(&read)?;
    let mut problems = disagreements(&read, &version)?;
    problems.extend(changelog(&read("CHANGELOG.md")?, &version).err());
    match problems.is_empty() {
        true => Ok(version),
        false => Err(format!("this is no release yet:\n  {}", problems.join("\n  "))),
    }
}

/// A file of this repository.
fn read(path: &str) -> Result<String, String> {
    fs::read_to_string(root().join(path)).map_err(|error| format!("{path}: {error}"))
}

/// The version that `Cargo.toml` states for all packages.
fn workspace(read: Read) -> Result<String, String> {
    let manifest = read("Cargo.toml")?;
    value(section(&manifest, "[workspace.package]"), "version")
        .map(str::to_string)
        .ok_or_else(|| "Cargo.toml: [workspace.package] states no version".to_string())
}

/// Every place that states another version, with what it states and what it should.
fn disagreements(read: Read, version: &str) -> Result<Vec<String>, String> {
    let mut problems = Vec::new();
    let mut expect = |place: &str, found: Option<&str>| {
        if found != Some(version) {
            let found = found.unwrap_or("none");
            problems.push(format!("{place}: version {found}, the workspace has {version}"));
        }
    };

    let manifest = read("Cargo.toml")?;
    let dependencies = section(&manifest, "[workspace.dependencies]");
    for line in dependencies.lines().filter(|line| line.contains("path = ")) {
        let (name, rest) = line.split_once(" = ").unwrap_or((line, ""));
        expect(&format!("Cargo.toml, dependency {name}"), quoted_after(rest, "version = "));
    }
    // A package that is left out here would be published with the version of another.
    for member in members(&manifest) {
        let path = format!("{member}/Cargo.toml");
        let text = read(&path)?;
        let package = section(&text, "[package]");
        let own = value(package, "version");
        let inherited = package.lines().any(|line| line.trim() == "version.workspace = true");
        expect(&path, if inherited { Some(version) } else { own });
    }
    let lock = read("Cargo.lock")?;
    for name in packages::NAMES {
        let entry = lock.split("[[package]]").find(|entry| value(entry, "name") == Some(name));
        expect(&format!("Cargo.lock, {name}"), entry.and_then(|entry| value(entry, "version")));
    }

    // maturin takes the version from `crates/python/Cargo.toml`, unless the project states one itself.
    let project = read("pyproject.toml")?;
    let project = section(&project, "[project]");
    let dynamic = project.lines().any(|line| line.trim() == "dynamic = [\"version\"]");
    expect("pyproject.toml", if dynamic { Some(version) } else { value(project, "version") });

    let npm = read("crates/device/npm/package.json")?;
    expect("crates/device/npm/package.json", quoted_after(&npm, "\"version\": "));
    // The lock file states it for the folder, and for the package in it.
    let lock = read("crates/device/npm/package-lock.json")?;
    for (number, stated) in lock.split("\"version\": ").skip(1).take(2).enumerate() {
        let place = format!("crates/device/npm/package-lock.json, version {}", number + 1);
        expect(&place, quoted_after(stated, ""));
    }

    let citation = read("CITATION.cff")?;
    expect("CITATION.cff", citation.lines().find_map(|line| line.strip_prefix("version: ")));

    // `debian::build` writes the workspace's version there.
    let control = read("packaging/debian/control")?;
    let stated = control.lines().find_map(|line| line.strip_prefix("Version: "));
    expect("packaging/debian/control", stated.map(|s| if s == "VERSION" { version } else { s }));
    let operations = read("docs/guides/operations.md")?;
    for named in operations.split("/reticent_").skip(1) {
        expect("docs/guides/operations.md, name of the package", named.split('_').next());
    }
    Ok(problems)
}

/// Checks that the newest section is that of the version and has a date: `## 0.2.0 — 2026-11-17`.
fn changelog(text: &str, version: &str) -> Result<(), String> {
    let mut sections = text.split("\n## ").skip(1).map(|section| {
        let (heading, body) = section.split_once('\n').unwrap_or((section, ""));
        (heading.trim(), body.trim())
    });
    let wanted = format!("## {version} — YYYY-MM-DD");
    let mut newest = sections.next();
    if let Some(("Unreleased", body)) = newest {
        if !body.is_empty() {
            return Err(format!(
                "CHANGELOG.md: changes stand under \"## Unreleased\": head them with \"{wanted}\""
            ));
        }
        newest = sections.next();
    }
    let (heading, body) = newest.ok_or("CHANGELOG.md has no section")?;
    let date = heading.strip_prefix(version).and_then(|rest| rest.strip_prefix(" — "));
    if !date.is_some_and(is_date) {
        return Err(format!("CHANGELOG.md: the newest section is \"{heading}\", not \"{wanted}\""));
    }
    match body.is_empty() {
        true => Err(format!("CHANGELOG.md: nothing stands under \"{heading}\"")),
        false => Ok(()),
    }
}

/// True for a date such as `2026-11-17`.
fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let [year, month, day] = parts[..] else { return false };
    let number = |part: &str, digits: usize| {
        let all = part.len() == digits && part.bytes().all(|byte| byte.is_ascii_digit());
        if all { part.parse::<u32>().ok() } else { None }
    };
    number(year, 4).is_some()
        && number(month, 2).is_some_and(|month| (1..=12).contains(&month))
        && number(day, 2).is_some_and(|day| (1..=31).contains(&day))
}

/// The folders of the workspace's packages.
fn members(manifest: &str) -> Vec<&str> {
    let line = manifest.lines().find_map(|line| line.strip_prefix("members = "));
    line.map_or(Vec::new(), |line| line.split('"').skip(1).step_by(2).collect())
}

/// The lines of a table of a TOML file, up to the next one.
fn section<'a>(text: &'a str, heading: &str) -> &'a str {
    let start = text.find(&format!("{heading}\n")).map_or(text.len(), |at| at + heading.len());
    let rest = &text[start..];
    &rest[..rest.find("\n[").unwrap_or(rest.len())]
}

/// The text that a key of a table has.
fn value<'a>(section: &'a str, key: &str) -> Option<&'a str> {
    section.lines().find_map(|line| {
        let (name, text) = line.split_once(" = ")?;
        let text = text.strip_prefix('"').filter(|_| name.trim() == key)?;
        text.split('"').next()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Findings when one file has another text.
    fn with(changed: &str, from: &str, to: &str) -> Vec<String> {
        let planted = |path: &str| {
            let text = read(path)?;
            if path != changed {
                return Ok(text);
            }
            assert!(text.contains(from), "{path} has no {from:?}");
            Ok(text.replacen(from, to, 1))
        };
        let version = workspace(&read).unwrap();
        disagreements(&planted, &version).unwrap()
    }

    #[test]
    fn all_files_state_one_version_and_every_other_version_is_found() {
        let version = workspace(&read).unwrap();
        assert_eq!(disagreements(&read, &version).unwrap(), Vec::<String>::new());
        assert_eq!(version, env!("CARGO_PKG_VERSION"));
        // `#` is the version, and another one where the mistake is planted.
        let stated = [
            ("Cargo.toml", "path = \"crates/lab\", version = \"#\""),
            ("Cargo.lock", "name = \"reticent-loops\"\nversion = \"#\""),
            ("crates/device/npm/package.json", "\"version\": \"#\""),
            ("crates/device/npm/package-lock.json", "\n  \"version\": \"#\""),
            ("crates/device/npm/package-lock.json", "\n      \"version\": \"#\""),
            ("docs/guides/operations.md", "/reticent_#_"),
            ("CITATION.cff", "\nversion: #"),
        ];
        let taken_over = [
            ("crates/device/Cargo.toml", "version.workspace = true", "version = \"9.9.9\""),
            ("crates/python/Cargo.toml", "version.workspace = true", ""),
            ("pyproject.toml", "dynamic = [\"version\"]", "version = \"9.9.9\""),
            ("packaging/debian/control", "Version: VERSION", "Version: 9.9.9"),
        ];
        let replaced = |(path, text): (&'static str, &str)| {
            (path, text.replace('#', &version), text.replace('#', "9.9.9"))
        };
        let owned = |(path, from, to): (&'static str, &str, &str)| (path, from.into(), to.into());
        for (path, from, to) in stated.map(replaced).into_iter().chain(taken_over.map(owned)) {
            let found = with(path, &from, &to);
            assert_eq!(found.len(), 1, "{path}: {to}: {found:?}");
            assert!(found[0].starts_with(path) && found[0].ends_with(&version), "{found:?}");
        }
    }

    #[test]
    fn the_newest_section_of_the_changelog_is_the_version_with_a_date() {
        let released =
            "# Changelog\n\n## 1.2.0 — 2026-11-17\n\n- New.\n\n## 1.1.0 — 2026-11-16\n\n- Old.\n";
        assert_eq!(changelog(released, "1.2.0"), Ok(()));
        let begun = released.replacen("## 1.2.0", "## Unreleased\n\n## 1.2.0", 1);
        assert_eq!(changelog(&begun, "1.2.0"), Ok(()));
        let mistakes = [
            ("## 1.2.0 — 2026-11-17", "## 1.2.0"),
            ("## 1.2.0 — 2026-11-17", "## 1.2.0 (unreleased)"),
            ("## 1.2.0 — 2026-11-17", "## 1.2.0 — soon"),
            ("## 1.2.0 — 2026-11-17", "## 1.2.0 — 2026-13-17"),
            ("## 1.2.0 — 2026-11-17", "## 1.2.0 — 2026-11-1"),
            ("## 1.2.0 — 2026-11-17", "## 1.2.01 — 2026-11-17"),
            ("## 1.2.0 — 2026-11-17", "## Unreleased"),
            ("## 1.2.0 — 2026-11-17", "## Unreleased\n\n- Newer.\n\n## 1.2.0 — 2026-11-17"),
            ("- New.", ""),
        ];
        for (from, to) in mistakes {
            let planted = released.replacen(from, to, 1);
            assert!(changelog(&planted, "1.2.0").is_err(), "{planted}");
        }
        assert!(
            changelog(released, "1.3.0").is_err(),
            "the version was raised, and has no section"
        );
        assert!(changelog("# Changelog\n", "1.2.0").is_err());
    }
}
