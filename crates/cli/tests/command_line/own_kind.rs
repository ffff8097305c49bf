//! A program of one's own with kinds of its own: `examples/own_kind.rs`, which the page of the documentation shows whole.

use std::{
    path::PathBuf,
    process::{Command, Output},
};

use super::{stderr, stdout};

const PROGRAM: &str = include_str!("../../examples/own_kind.rs");
const PAGE: &str = include_str!("../../../../docs/guides/adding-an-algorithm.md");

/// The example, which cargo builds with the tests, or now where a single test program was asked for.
fn program() -> PathBuf {
    let reticent = PathBuf::from(env!("CARGO_BIN_EXE_reticent"));
    let folder = reticent.parent().expect("a folder");
    let example = folder.join("examples").join("own_kind");
    if !example.exists() {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--quiet", "--package", "reticent-cli", "--example", "own_kind"]);
        if folder.ends_with("release") {
            cargo.arg("--release");
        }
        assert!(cargo.status().expect("cargo starts").success());
    }
    example
}

/// The block of the page that begins with these words.
fn block(begins: &str) -> &'static str {
    let from = PAGE.find(begins).unwrap_or_else(|| panic!("{begins:?} is not on the page"));
    PAGE[from..].split("\n```").next().unwrap()
}

#[test]
fn the_page_shows_the_whole_program() {
    let code = PROGRAM.split_once("\n\n").expect("a head").1;
    assert_eq!(block("use std::process::ExitCode;").trim(), code.trim());
}

#[test]
fn run_certify_and_audit_see_the_kinds_of_a_program() {
    let folder = std::env::temp_dir().join(format!("reticent-own-kind-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("shop.toml");
    let text = block("name = \"a shop\"").replace("20_000", "2000");
    std::fs::write(&file, &text).unwrap();
    let own = |arguments: &[&str]| -> Output {
        Command::new(program()).args(arguments).current_dir(&folder).output().expect("it starts")
    };
    let shown = |arguments: &[&str]| {
        let output = own(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
        stdout(&output)
    };

    // The guarantee of the rule is computed, and a list makes a grid with names.
    let certified = shown(&["certify", "shop.toml"]);
    for words in ["offers, epsilon = 1.0", "offers, epsilon = 4.0", "LinUCB", "(1.0000, 1e-6)"] {
        assert!(certified.contains(words), "{words:?} is not in {certified}");
    }
    assert!(!certified.contains("NOT CERTIFIED"), "{certified}");
    // An error names the line and the nearest key or kind.
    for (from, to, words) in [
        ("ridge = 2.0", "rigde = 2.0", "did you mean `ridge`?"),
        ("\"day_greedy\"", "\"day_gredy\"", "did you mean `day_greedy`?"),
        ("\"shop\"", "\"shopp\"", "did you mean `shop`?"),
        ("gain = 0.5", "gain = \"much\"", "gain: got \"much\"; expected a number"),
    ] {
        std::fs::write(folder.join("bad.toml"), text.replace(from, to)).unwrap();
        let refused = own(&["certify", "bad.toml"]);
        assert_eq!(refused.status.code(), Some(2));
        let said = stderr(&refused);
        assert!(said.contains("line ") && said.contains(words), "{words:?} is not in {said}");
    }

    // A second run reuses the trials, which are stored under a hash of the program.
    let first = shown(&["run", "shop.toml", "--out", "out"]);
    assert!(first.contains("offers, epsilon = 1.0"), "{first}");
    let again = own(&["run", "shop.toml", "--out", "out"]);
    assert!(stderr(&again).contains("are reused"), "{}", stderr(&again));
    assert_eq!(stdout(&again).lines().count(), first.lines().count());

    // The audit attacks its mechanism and plays it.
    let audited = shown(&["audit", "shop.toml", "--samples", "1000", "--set", "rounds=50"]);
    assert!(audited.contains("offers, epsilon = 1.0"), "{audited}");

    // The program without the kinds does not know them.
    let plain = super::reticent(&["certify", file.to_str().unwrap()]);
    assert_eq!(plain.status.code(), Some(2));
    assert!(stderr(&plain).contains("environment, kind: got `shop`"), "{}", stderr(&plain));
    std::fs::remove_dir_all(&folder).unwrap();
}
