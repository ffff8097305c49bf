//! `reticent reproduce`: the list, and the trials of a verdict.

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
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_study_is_answered_with_its_program() {
    let command = "cargo run --release -p reticent-studies -- clicks --quick";
    refused(&["reproduce", "science/clicks"], &["science/clicks", command]);
}
