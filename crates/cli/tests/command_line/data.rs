//! Files of one's own: where they are looked for, and what is said of them.

use std::{
    fs,
    path::PathBuf,
    process::{Command, Output},
};

use super::{stderr, stdout};

/// A folder of its own, with a folder `inner`.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("reticent-data-{name}-{}", std::process::id()));
    fs::create_dir_all(folder.join("inner")).unwrap();
    folder
}

/// The command, run in a folder.
fn run_in(folder: &std::path::Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_reticent"));
    command.args(arguments).current_dir(folder).output().expect("the binary starts")
}

const TABLE: &str = "name = \"people\"\nrounds = 2000\ntrials = 2\n[environment]\nkind = \"table\"\nfile = \"data/people.csv\"\nlabel = \"best\"\n[[algorithm]]\nkind = \"linucb\"\n[[algorithm]]\nkind = \"joint\"\nprivacy = { epsilon = 1.0, delta = 1e-6 }\n";

/// Six hundred people.
fn people() -> String {
    let line = |i: usize| format!("{},{},{}\n", i % 7, i % 3, ["a", "b", "c"][i % 3]);
    "x,y,best\n".to_string() + &(0..600).map(line).collect::<String>()
}

#[test]
fn paths_are_relative_to_the_file_and_repeats_are_reported() {
    let folder = folder("paths");
    fs::create_dir_all(folder.join("inner/data")).unwrap();
    fs::write(folder.join("inner/people.toml"), TABLE).unwrap();
    fs::write(folder.join("inner/data/people.csv"), people()).unwrap();
    let run = run_in(&folder, &["run", "inner/people.toml", "--out", "results"]);
    assert!(run.status.success(), "{}", stderr(&run));
    // Each person comes three times: a run says so as a certificate does, after the table and in one line.
    let certified = run_in(&folder, &["certify", "inner/people.toml"]);
    let repeats = "takes part again and pays each time, 2000 rounds for 600 here";
    assert!(stdout(&certified).contains(repeats), "{}", stdout(&certified));
    let said = stderr(&run);
    let notes: Vec<&str> = said.lines().filter(|line| line.contains(repeats)).collect();
    assert!(notes.len() == 1 && notes[0].starts_with("note: joint: "), "{said}");
    // The file as run can be run from elsewhere, and its trials are known again.
    let again = run_in(
        &folder.join("inner"),
        &["run", "../results/experiment.toml", "--out", "../results"],
    );
    assert!(stderr(&again).contains("4 trials were finished before"), "{}", stderr(&again));
    // A path on the command line is relative to where the command is run.
    fs::write(folder.join("others.csv"), people()).unwrap();
    let set = ["certify", "inner/people.toml", "--set", "environment.file=others.csv"];
    assert!(run_in(&folder, &set).status.success());
    // A file that is not there is named as it was looked for.
    fs::remove_file(folder.join("inner/data/people.csv")).unwrap();
    let missing = run_in(&folder, &["certify", "inner/people.toml"]);
    assert_eq!(missing.status.code(), Some(2));
    assert!(stderr(&missing).contains("inner/data/people.csv"), "{}", stderr(&missing));
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn shards_with_their_data_in_different_places_are_joined() {
    let folder = folder("shards");
    for (place, shard) in [("inner", "1/2"), ("other", "2/2")] {
        fs::create_dir_all(folder.join(place).join("data")).unwrap();
        fs::write(folder.join(place).join("people.toml"), TABLE).unwrap();
        fs::write(folder.join(place).join("data/people.csv"), people()).unwrap();
        let run = ["run", "people.toml", "--shard", shard, "--out", "part"];
        let run = run_in(&folder.join(place), &run);
        assert!(run.status.success(), "{}", stderr(&run));
    }
    let merged = run_in(&folder, &["merge", "inner/part", "other/part", "--out", "whole"]);
    assert!(merged.status.success(), "{}", stderr(&merged));
    let whole = run_in(&folder, &["run", "inner/people.toml", "--out", "alone"]);
    assert!(whole.status.success(), "{}", stderr(&whole));
    let csv = |of: &str| fs::read(folder.join(of).join("results.csv")).unwrap();
    assert_eq!(csv("whole"), csv("alone"));
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_log_whose_propensities_contradict_it_is_warned_of_once() {
    let folder = folder("log");
    let text = "name = \"log\"\nrounds = 500\n[environment]\nkind = \"logged\"\nfile = \"log.csv\"\n[[algorithm]]\nkind = \"linucb\"\n[[algorithm]]\nkind = \"joint\"\nprivacy = { epsilon = 1.0, delta = 1e-6 }\n";
    fs::write(folder.join("log.toml"), text).unwrap();
    let log = |propensity: &str| {
        let line =
            |i: usize| format!("{},{},{propensity},{}\n", i % 5, ["a", "b"][i * 7 / 3 % 2], i % 2);
        "x,action,propensity,reward\n".to_string() + &(0..1000).map(line).collect::<String>()
    };
    for (propensity, warned) in [("0.5", false), ("0.9", true)] {
        fs::write(folder.join("log.csv"), log(propensity)).unwrap();
        let run = run_in(&folder, &["run", "log.toml", "--out", &format!("out{propensity}")]);
        assert!(run.status.success(), "{}", stderr(&run));
        let said = stderr(&run);
        let warnings =
            said.lines().filter(|line| line.starts_with("warning: PROPENSITIES CONTRADICT"));
        assert_eq!(warnings.count(), usize::from(warned), "{said}");
    }
    fs::remove_dir_all(folder).unwrap();
}

/// A misspelt value is answered with the nearest one that there is, wherever it stands.
#[test]
fn misspelt_values_are_recognised() {
    let folder = folder("values");
    let file = |environment: &str, algorithm: &str| {
        format!(
            "name = \"v\"\nrounds = 20\n[environment]\n{environment}\n[[algorithm]]\n{algorithm}\n"
        )
    };
    let gap = "kind = \"gap\"\ndimension = 3\narms = 4";
    let joint = "kind = \"joint\"\nprivacy = { epsilon = 1.0, delta = 1e-6 }";
    let local = "kind = \"local\"\nprivacy = { epsilon = 1.0, delta = 1e-6 }";
    let table = "kind = \"table\"\nfile = \"people.csv\"\nlabel = \"best\"";
    fs::write(folder.join("people.csv"), people()).unwrap();
    for (environment, algorithm, words) in [
        (gap.to_string(), format!("{joint}\nmode = \"papper\""), "did you mean `paper`?"),
        (gap.to_string(), format!("{joint}\nmechanism = \"wishard\""), "did you mean `wishart`?"),
        (gap.to_string(), format!("{joint}\nrule = \"certifed\""), "did you mean `certified`?"),
        (
            gap.to_string(),
            format!("{joint}\nrule = {{ tunned = {{ ridge = 1.0 }} }}"),
            "did you mean `tuned`?",
        ),
        (gap.to_string(), format!("{local}\nmethod = \"unit_gramm\""), "did you mean `unit_gram`?"),
        (
            gap.to_string(),
            format!("{local}\nmethod = {{ gram_gausian = {{ split = 0.5 }} }}"),
            "did you mean `gram_gaussian`?",
        ),
        (format!("{table}\nmissing = \"refuze\""), joint.to_string(), "did you mean `refuse`?"),
        (format!("{table}\nparameters = \"hybird\""), joint.to_string(), "did you mean `hybrid`?"),
        (
            "kind = \"losses\"\nset = { kind = \"simplx\", outcomes = 3 }".to_string(),
            "kind = \"private_bandit\"".to_string(),
            "did you mean `simplex`?",
        ),
    ] {
        fs::write(folder.join("v.toml"), file(&environment, &algorithm)).unwrap();
        let refused = run_in(&folder, &["certify", "v.toml"]);
        assert_eq!(refused.status.code(), Some(2), "{algorithm}: {}", stdout(&refused));
        let said = stderr(&refused);
        assert!(
            said.contains(words) && said.contains("line "),
            "{words} for {environment} {algorithm}: {said}"
        );
    }
    fs::remove_dir_all(folder).unwrap();
}
