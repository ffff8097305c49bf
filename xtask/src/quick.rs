//! The tests after a changed line: the unit tests of what changed, and of what uses it in the same package.
//!
//! git names the changed files. A file lies in a room, a top-level module, and the source says which rooms use it, directly or through others: their tests
//! are run, and those of no other room. A changed integration test is run by itself. Packages that depend on the changed ones are tested on request, because
//! that compiles them all: `--dependents`.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use crate::{
    rooms::{self, Uses},
    tools::{cargo, output, quoted_after, root, root_command, step},
};

/// Tests that take more than five seconds, most of them statistics: left out here, run by `cargo xtask test`.
const LONG: &[&str] = &[
    "a_moved_store_goes_on_where_it_was",
    "a_simulated_joint_learner_has_the_regret_of_the_deployed_one",
    "attacks_on_gaussian_sums_and_the_joint_learner_prove_most_of_the_certified_epsilon",
    "every_mistake_is_detected_and_every_correct_variant_passes",
    "flipped_bytes_are_found_or_are_not_in_use",
    "ids_and_counts_are_merged_behind_and_the_journal_stays_short",
    "postgres_does_what_the_model_does",
    "redb_does_what_the_model_does",
    "releases_and_growth_are_measured_in_a_database_too",
    "steps_have_the_law_of_the_plain_rounds",
    "sums_that_forget_give_most_of_what_is_certified_away",
    "the_claim_of_paper_0_at_epsilon_10_is_refuted_and_our_certificate_is_not",
    "the_policy_is_above_the_baseline_within_a_minute",
];

/// The tests of a package that are run.
#[derive(Debug, PartialEq, Default)]
struct Tests {
    /// Rooms whose unit tests are run; `None` stands for all rooms.
    rooms: Option<BTreeSet<String>>,
    /// Integration tests.
    integration: BTreeSet<String>,
}

/// Runs the tests of the packages that are named by their folder (`core`, `lab`), or of what git says is changed.
pub fn run(named: &[String], dependents: bool) -> Result<(), String> {
    let all = match named {
        [] => changed()?,
        named => named.iter().map(|name| (name.clone(), Tests::default())).collect(),
    };
    if let Some(unknown) = all.keys().find(|name| !folder(name).join("Cargo.toml").exists()) {
        return Err(format!("package: got {unknown}; expected core, lab, server, ..."));
    }
    if all.is_empty() {
        return Err(
            "no package differs from the last commit: name one, as in `cargo xtask quick lab`"
                .to_string(),
        );
    }
    all.iter().try_for_each(|(name, tests)| test(name, tests))?;
    eprintln!("== not run: tests of more than five seconds (`cargo xtask test` runs all)");
    let further = depending(&all.into_keys().collect())?;
    if further.is_empty() {
        return Ok(());
    }
    if dependents {
        // The Python package has no test in Rust, and cannot be linked as one.
        let all = ["test", "--quiet", "--workspace", "--exclude", "reticent-python"];
        return cargo("all packages", &[&all[..], &["--lib", "--bins"]].concat());
    }
    let further: Vec<&str> = further.iter().map(String::as_str).collect();
    eprintln!("== not tested, but depending on it: {} (`--dependents`)", further.join(", "));
    Ok(())
}

/// Tests one package.
fn test(name: &str, tests: &Tests) -> Result<(), String> {
    let manifest = manifest(name)?;
    let package = quoted_after(&manifest, "name = ").ok_or(format!("{name} has no name"))?;
    let with = |arguments: &[&str], what: &str| {
        let mut command = root_command("cargo");
        command.args(["test", "--quiet", "--package", package]).args(arguments);
        step(&format!("{package}: {what}"), &mut command)
    };
    let filters: Vec<String> =
        tests.rooms.iter().flatten().map(|room| format!("{room}::")).collect();
    // A crate that Python loads has no unit tests, and a program's are in its binary.
    let target = match (folder(name).join("src/lib.rs").exists(), manifest.contains("test = false"))
    {
        (_, true) => None,
        (true, _) => Some("--lib"),
        (false, _) => Some("--bins"),
    };
    if let Some(target) =
        target.filter(|_| tests.rooms.as_ref().is_none_or(|rooms| !rooms.is_empty()))
    {
        let mut arguments = vec![target, "--"];
        arguments.extend(filters.iter().map(String::as_str));
        arguments.extend(LONG.iter().flat_map(|name| ["--skip", name]));
        with(
            &arguments,
            &if filters.is_empty() { "all rooms".to_string() } else { filters.join(" ") },
        )?;
    }
    tests.integration.iter().try_for_each(|test| with(&["--test", test], test))
}

/// The packages with files that differ from the last commit, and what to run of each.
fn changed() -> Result<BTreeMap<String, Tests>, String> {
    let lists =
        [&["diff", "--name-only", "HEAD"][..], &["ls-files", "--others", "--exclude-standard"][..]];
    let mut files = String::new();
    for arguments in lists {
        files += &output(root_command("git").args(arguments))?;
        files.push('\n');
    }
    let uses = |name: &str| rooms::read(&folder(name).join("src"));
    Ok(select(files.lines(), uses))
}

/// Selects the tests for changed files.
fn select<'a>(
    files: impl Iterator<Item = &'a str>,
    uses: impl Fn(&str) -> Result<Uses, String>,
) -> BTreeMap<String, Tests> {
    let mut all: BTreeMap<String, Tests> = BTreeMap::new();
    for file in files {
        let path: Vec<&str> = file.split('/').collect();
        let (name, rest) = match path[..] {
            ["crates", name, ref rest @ ..] => (name, rest),
            [name @ ("xtask" | "studies"), ref rest @ ..] => (name, rest),
            _ => continue,
        };
        let tests = all
            .entry(name.to_string())
            .or_insert_with(|| Tests { rooms: Some(BTreeSet::new()), ..Tests::default() });
        match rest {
            ["tests", test, ..] if file.ends_with(".rs") => {
                tests.integration.insert(test.trim_end_matches(".rs").to_string());
            }
            ["src", "lib.rs" | "main.rs"] | ["Cargo.toml" | "build.rs"] => tests.rooms = None,
            ["src", room, ..] => {
                let stem = |file: &str| file.split('.').next().unwrap_or(file).to_string();
                let within = rest.get(2).map(|file| format!("{room}::{}", stem(file)));
                let uses = uses(name).unwrap_or_default();
                let mut known = within.into_iter().chain([stem(room)]);
                // All rooms that reach it; a file beside the rooms may be read by any of them.
                match known.find(|room| uses.contains_key(room)) {
                    Some(room) => {
                        if let Some(rooms) = &mut tests.rooms {
                            rooms.extend(rooms::users(&uses, &room));
                        }
                    }
                    None => tests.rooms = None,
                }
            }
            _ => (),
        }
    }
    all.retain(|_, tests| *tests != Tests { rooms: Some(BTreeSet::new()), ..Tests::default() });
    all
}

/// Packages that depend on one of these, directly or through others, by their folders.
fn depending(names: &BTreeSet<String>) -> Result<BTreeSet<String>, String> {
    let crates = root().join("crates");
    let entries =
        fs::read_dir(&crates).map_err(|error| format!("{}: {error}", crates.display()))?;
    let mut uses = Uses::new();
    let mut packages = BTreeMap::new();
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let manifest = manifest(&name)?;
        let package = quoted_after(&manifest, "name = ").unwrap_or_default().to_string();
        packages.insert(package, name.clone());
        let dependencies = manifest.lines().filter_map(|line| line.split(['.', ' ']).next());
        uses.insert(name, dependencies.map(str::to_string).collect());
    }
    for used in uses.values_mut() {
        *used = used.iter().filter_map(|package| packages.get(package).cloned()).collect();
    }
    let mut found = BTreeSet::new();
    for name in names.iter().filter(|name| uses.contains_key(*name)) {
        found.extend(rooms::users(&uses, name));
    }
    Ok(&found - names)
}

/// The folder of a package.
fn folder(name: &str) -> std::path::PathBuf {
    if matches!(name, "xtask" | "studies") {
        root().join(name)
    } else {
        root().join("crates").join(name)
    }
}

fn manifest(name: &str) -> Result<String, String> {
    let path = folder(name).join("Cargo.toml");
    fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A package in which `top` uses `middle`, which uses `base`.
    fn uses(_: &str) -> Result<Uses, String> {
        let rooms = [("base", ""), ("middle", "base"), ("top", "middle"), ("other", "")];
        let used = |used: &str| Some(used.to_string()).filter(|used| !used.is_empty());
        Ok(rooms.map(|(room, other)| (room.to_string(), used(other).into_iter().collect())).into())
    }

    /// The rooms and integration tests that are run for changed files of the package `lab`.
    fn selected(files: &[&str]) -> Option<(Option<Vec<String>>, Vec<String>)> {
        let mut all = select(files.iter().copied(), uses);
        let tests = all.remove("lab")?;
        assert!(all.is_empty(), "{all:?}");
        let rooms = tests.rooms.map(|rooms| rooms.into_iter().collect());
        Some((rooms, tests.integration.into_iter().collect()))
    }

    #[test]
    fn tests_of_changed_rooms_and_of_those_that_use_them_are_run() {
        let rooms = |names: &[&str]| Some(names.iter().map(|name| name.to_string()).collect());
        let run = |files: &[&str]| selected(files).unwrap();
        assert_eq!(run(&["crates/lab/src/top.rs"]), (rooms(&["top"]), vec![]));
        assert_eq!(
            run(&["crates/lab/src/middle/deep/file.rs"]),
            (rooms(&["middle", "top"]), vec![])
        );
        assert_eq!(
            run(&["crates/lab/src/base/mod.rs"]),
            (rooms(&["base", "middle", "top"]), vec![])
        );
        let two = ["crates/lab/src/other.rs", "crates/lab/src/top.rs"];
        assert_eq!(run(&two), (rooms(&["other", "top"]), vec![]));
    }

    #[test]
    fn what_every_room_may_read_runs_all_and_what_none_reads_runs_nothing() {
        for file in ["src/lib.rs", "src/demo.toml", "Cargo.toml", "build.rs"] {
            let files =
                ["crates/lab/src/top.rs", &format!("crates/lab/{file}"), "crates/lab/src/base.rs"];
            assert_eq!(selected(&files), Some((None, vec![])), "{file}");
        }
        assert_eq!(
            selected(&["docs/start/experiments.md", "crates/lab/README.md", "Cargo.lock"]),
            None
        );
    }

    /// A renamed test must not be run here by mistake, nor the name be kept for nothing.
    #[test]
    fn every_long_test_exists() {
        let found = root_command("git").args(["grep", "-h", "fn ", "--", "crates"]).output();
        let found = String::from_utf8(found.unwrap().stdout).unwrap();
        for name in LONG {
            assert!(found.contains(&format!("fn {name}(")), "{name}");
        }
    }

    #[test]
    fn a_changed_integration_test_is_run_by_itself() {
        let files = ["crates/lab/tests/one.rs", "crates/lab/tests/two/part.rs"];
        let both = vec!["one".to_string(), "two".to_string()];
        assert_eq!(selected(&files), Some((Some(vec![]), both)));
        assert_eq!(selected(&["crates/lab/tests/browser/page.js"]), None);
    }

    #[test]
    fn packages_that_depend_on_a_changed_one_are_known() {
        let of = |name: &str| depending(&BTreeSet::from([name.to_string()])).unwrap();
        assert!(
            of("core").is_superset(&["device", "lab", "server", "cli"].map(str::to_string).into())
        );
        assert_eq!(of("cli"), BTreeSet::new());
        assert!(of("loops").contains("server") && !of("loops").contains("durable"));
        assert_eq!(of("xtask"), BTreeSet::new());
    }
}
