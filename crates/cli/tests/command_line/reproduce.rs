//! `reticent reproduce`: the list, and the trials of a verdict.

use std::path::{Path, PathBuf};

use super::{json, refused, reticent, stdout};

#[test]
fn without_a_name_the_experiments_are_listed_and_none_is_run() {
    let folder = std::env::temp_dir().join(format!("reproduce-list-{}", std::process::id()));
    let out = folder.to_str().unwrap();
    let listed = stdout(&reticent(&["reproduce", "--list"]));
    for arguments in [&["reproduce"][..], &["reproduce", "--quick", "--out", out]] {
        assert_eq!(stdout(&reticent(arguments)), listed, "{arguments:?}");
    }
    assert!(!folder.exists());
    assert!(listed.contains("paper1/figure4") && listed.contains("--all"), "{listed}");
    let entries = &json(&["reproduce", "paper3", "--list", "--json"])["experiments"];
    assert_eq!(entries[0]["id"], "paper3/figure2");
    assert!(entries[0]["seconds"]["full"].as_u64() > entries[0]["seconds"]["quick"].as_u64());
    assert!(entries.as_array().unwrap().iter().all(|entry| entry["claims"].is_null()));
}

#[test]
fn a_verdict_names_its_trials() {
    let folder = std::env::temp_dir().join(format!("reproduce-trials-{}", std::process::id()));
    let out = folder.to_str().unwrap();
    let done = json(&["reproduce", "paper2/bounds", "--quick", "--out", out, "--json"]);
    let claims = &done["experiments"][0]["claims"];
    assert_eq!((&claims[0]["verdict"], &claims[0]["trials"]), (&"reproduced".into(), &20.into()));
    // The theorems are compared with numbers that are computed.
    assert!(claims[1]["trials"].is_null() && claims[1]["verdict"].is_string());
    let page = std::fs::read_to_string(folder.join("paper2.md")).unwrap();
    assert!(page.contains("| reproduced, 20 trials |"), "{page}");
    // Another seed has other trials, and the page names it.
    let run = ["reproduce", "paper2/bounds", "--quick", "--seed", "7", "--out", out, "--json"];
    let other = &json(&run)["experiments"][0]["claims"][0];
    assert_ne!(other["measured"], claims[0]["measured"]);
    assert_eq!(other["verdict"], claims[0]["verdict"]);
    let page = std::fs::read_to_string(folder.join("paper2.md")).unwrap();
    assert!(page.contains("reticent reproduce paper2/bounds --quick --seed 7"), "{page}");
    std::fs::remove_dir_all(folder).unwrap();
}

/// Figure 4 of paper 1: a panel for each gap, in which every variant of the authors has its line.
#[test]
fn paper_1_is_drawn_with_every_variant() {
    let folder = std::env::temp_dir().join(format!("reproduce-drawn-{}", std::process::id()));
    let out = folder.to_str().unwrap();
    let done = json(&["reproduce", "paper1/figure4", "--quick", "--out", out, "--json"]);
    let experiment = &done["experiments"][0];
    assert_eq!(experiment["claims"].as_array().unwrap().len(), 4, "{experiment}");
    let below = PathBuf::from(experiment["folder"].as_str().unwrap());
    let mut drawn = files(&below, "svg");
    drawn.retain(|path| path.file_stem().is_some_and(|stem| stem == "figure4"));
    assert_eq!(drawn.len(), 1, "{:?}", files(&below, "svg"));
    let figure = std::fs::read_to_string(&drawn[0]).unwrap();
    let variants = ["Gaussian", "Wishart", "WishartUnshifted", "Gaussian(Opt)", "Wishart(Opt)"];
    for words in variants.iter().chain(&["NonPrivate", "gap 0", "gap 0.1"]) {
        assert!(figure.contains(words), "{words} is not drawn");
    }
    assert!(figure.matches("<polyline").count() >= 2 * (variants.len() + 1));
    std::fs::remove_dir_all(folder).unwrap();
}

/// Files below a folder with this extension.
fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(files(&path, extension)),
            false => found.extend(path.extension().is_some_and(|e| e == extension).then_some(path)),
        }
    }
    found
}

#[test]
fn a_study_is_answered_with_its_program() {
    let command = "cargo run --release -p reticent-studies -- clicks --quick";
    refused(&["reproduce", "science/clicks"], &["science/clicks", command]);
}
