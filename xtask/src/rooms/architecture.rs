//! Tests of ARCHITECTURE.md against the tree: its paths exist, its walks are short, and its table has every room.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use crate::{lines, rooms, root};

/// Crates whose rooms stand in the table at the head of their `lib.rs` or `main.rs`.
const WITH_OWN_TABLE: [&str; 2] = ["python", "studies"];

/// A crate with a file for each task, and no rooms.
const TASKS: &str = "xtask";

fn page() -> String {
    fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap()
}

/// The text under a heading, up to the next one of its level or above.
fn section<'a>(page: &'a str, heading: &str) -> &'a str {
    let level = heading.split(' ').next().unwrap();
    let (_, rest) = page.split_once(&format!("\n{heading}")).expect(heading);
    let rest = rest.split("\n## ").next().unwrap();
    rest.split(&format!("\n{level} ")).next().unwrap()
}

/// The words between backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// The cells of the rows of a table, without its header.
fn cells(table: &str) -> Vec<Vec<&str>> {
    let rows = table.lines().filter(|line| line.starts_with("| ")).skip(2);
    rows.map(|row| row.trim_matches('|').split('|').map(str::trim).collect()).collect()
}

#[test]
fn every_path_exists() {
    let page = page();
    let walks = section(&page, "## Walks");
    let walked: Vec<&str> = quoted(walks).filter(|word| word.ends_with(".rs")).collect();
    assert!(walked.len() > 50, "{walked:?}");
    let below_crates = walked.into_iter().map(|path| (path, format!("crates/{path}")));
    let linked = page.split("](").skip(1).filter_map(|link| link.split([')', '#']).next());
    let elsewhere = page.replace(walks, "");
    let named = quoted(&elsewhere).filter(|word| word.starts_with("crates/"));
    let at_root = named.chain(linked).map(|path| (path, path.to_string()));
    // `central.rs` repeats a file of the same walk.
    let missing: Vec<&str> = below_crates
        .chain(at_root)
        .filter(|(path, full)| path.contains('/') && !root().join(full).exists())
        .map(|(path, _)| path)
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn the_walks_are_short() {
    let page = page();
    for (walk, most) in [("### A rank request", 20), ("### `reticent run", 25)] {
        let rows = cells(section(&page, walk));
        let files: BTreeSet<&str> = rows.iter().flat_map(|row| quoted(row[1])).collect();
        assert!((most - 5..=most).contains(&files.len()), "{walk}: {}", files.len());
    }
    assert_eq!(cells(section(&page, "### A device's report")).len(), 6);
}

#[test]
fn every_room_is_in_a_table() {
    let page = page();
    let mut listed: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for row in cells(section(&page, "## Rooms")) {
        listed.entry(row[0]).or_default().extend(quoted(row[1]));
    }
    for package in lines::packages(root()).unwrap() {
        let name = package.file_name().unwrap().to_str().unwrap();
        if name == TASKS {
            continue;
        }
        let source = package.join("src");
        let head = own_table(&source);
        let table: BTreeSet<&str> = match WITH_OWN_TABLE.contains(&name) {
            true => quoted(&head).collect(),
            false => listed.remove(name).unwrap_or_default(),
        };
        let rooms = rooms::read(&source).unwrap();
        let missing: Vec<&String> =
            rooms.keys().filter(|room| !table.contains(room.as_str())).collect();
        assert!(missing.is_empty(), "{name}: {missing:?}");
        if !WITH_OWN_TABLE.contains(&name) {
            let is_gone = |room: &&&str| {
                let path = source.join(rooms::path_of(room));
                !path.exists() && !path.with_extension("rs").exists()
            };
            let gone: Vec<&&str> = table.iter().filter(is_gone).collect();
            assert!(gone.is_empty(), "{name}: {gone:?}");
        }
    }
    assert!(listed.is_empty(), "no such crates: {listed:?}");
}

/// The documentation at the head of a crate's root.
fn own_table(source: &Path) -> String {
    let library = source.join("lib.rs");
    let file = if library.exists() { library } else { source.join("main.rs") };
    let text = fs::read_to_string(file).unwrap();
    let head: Vec<&str> = text.lines().take_while(|line| line.starts_with("//!")).collect();
    head.join("\n")
}
