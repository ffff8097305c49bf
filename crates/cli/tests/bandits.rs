//! Bandits on files, under modifiers and with saved learners, from the command line.

use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
};

fn reticent(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_reticent"))
        .args(arguments)
        .output()
        .expect("the binary starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("reticent-cli-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn write(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_string()
}

/// A log whose second action is the better one, taken half as often.
fn log(folder: &Path) -> String {
    let mut lines = String::from("u,action,propensity,reward\n");
    for i in 0..600_u32 {
        let (action, p) = if i % 3 == 0 { ("b", 1.0 / 3.0) } else { ("a", 2.0 / 3.0) };
        let reward = u8::from(if action == "b" { i % 10 != 0 } else { i % 4 == 0 });
        lines += &format!("{},{action},{p},{reward}\n", f64::from(i % 7) / 7.0);
    }
    write(folder, "log.csv", &lines)
}

#[test]
fn a_log_is_evaluated_with_intervals_in_summary_and_report() {
    let folder = folder("logged");
    let log = log(&folder);
    let experiment = format!(
        "name = \"l\"\nrounds = 400\n[environment]\nkind = \"logged\"\nfile = {log:?}\n[[algorithm]]\nkind = \"linucb\"\n\
         [[algorithm]]\nkind = \"local\"\nprivacy = {{ epsilon = 4.0, delta = 1e-5 }}\n"
    );
    let file = write(&folder, "log.toml", &experiment);
    let out = folder.join("out");
    let output = reticent(&["run", &file, "--out", out.to_str().unwrap(), "--json"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let summary: serde_json::Value = serde_json::from_str(&text(&output.stdout)).unwrap();
    for algorithm in summary["algorithms"].as_array().unwrap() {
        let measure = |what: &str| {
            let all = algorithm["measures"].as_array().unwrap();
            all.iter().find(|m| m[0] == what).unwrap()[1].clone()
        };
        let value = |what: &str| measure(what)["mean"].as_f64().unwrap();
        for what in ["IPS value", "self-normalised value", "doubly robust value"] {
            let ends = measure(what)["interval_95"].clone();
            let [low, high] = [0, 1].map(|end| ends[end].as_f64().unwrap());
            assert!(
                0.0 <= low && low <= value(what) && value(what) <= high && high <= 1.0,
                "{what}"
            );
        }
        assert!(value("effective sample size") > 30.0 && value("lines learnt from") == 400.0);
        assert_eq!(algorithm["headline"], "doubly robust value");
    }
    let page = std::fs::read_to_string(out.join("report.html")).unwrap();
    assert!(out.join("figures/values.png").exists());
    for words in ["Doubly robust value", "95 % from", "not covered", "logged decisions"] {
        assert!(page.contains(words), "{words}");
    }
    let _ = std::fs::remove_dir_all(folder);
}

#[test]
fn an_invalid_log_is_refused_with_file_line_and_remedy() {
    let folder = folder("bad-log");
    let head = "u,action,propensity,reward\n0.1,a,0.5,1\n0.2,b,0.5,0\n0.3,a,0.5,0\n";
    for (line, words) in [
        ("0.4,a,0,1", "propensity: got \"0\""),
        ("0.4,a,1.2,1", "propensity: got \"1.2\""),
        ("0.4,a,nan,1", "propensity: got \"nan\""),
        ("0.4,a,0.5,", "reward: got \"\""),
        ("0.4,a,0.5", "3 cells; expected 4, one for each name"),
    ] {
        let log = write(&folder, "log.csv", &format!("{head}{line}\n"));
        let experiment = format!(
            "name = \"l\"\nrounds = 2\n[environment]\nkind = \"logged\"\nfile = {log:?}\n[[algorithm]]\nkind = \"linucb\"\n"
        );
        let file = write(&folder, "log.toml", &experiment);
        let output = reticent(&["run", &file, "--out", folder.join("out").to_str().unwrap()]);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        for word in ["log.toml", "log.csv", "line 5", words] {
            assert!(said.contains(word), "{word}: {said}");
        }
    }
    let _ = std::fs::remove_dir_all(folder);
}

#[test]
fn a_saved_learner_is_written_again_if_it_was_lost_and_starts_another() {
    let folder = folder("warm");
    let experiment = "name = \"w\"\nrounds = 1500\ntrials = 2\nseed = 1\n[environment]\nkind = \"sphere\"\n\
        [environment.modifiers]\npopulation = 3\n[[algorithm]]\nkind = \"joint\"\nprivacy = { epsilon = 8.0, delta = 1e-5 }\n";
    let file = write(&folder, "w.toml", experiment);
    let (saved, out) = (folder.join("saved"), folder.join("out"));
    let save = format!("algorithm.save={}", saved.display());
    let first = ["run", &file, "--out", out.to_str().unwrap(), "--set", &save];
    assert!(reticent(&first).status.success());
    let bytes = std::fs::read(saved.join("trial-1.json")).unwrap();
    std::fs::remove_file(saved.join("trial-1.json")).unwrap();
    // Its results are stored but the learner is not, so that trial is run again, with the same result.
    assert!(reticent(&first).status.success());
    assert_eq!(bytes, std::fs::read(saved.join("trial-1.json")).unwrap());
    let warm = format!("algorithm.warm_start={}", saved.display());
    let other = folder.join("other");
    let second =
        ["run", &file, "--out", other.to_str().unwrap(), "--set", &warm, "--set", "seed=2"];
    let output = reticent(&second);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("begins with what"));
    let certified = reticent(&["certify", &file, "--set", &warm, "--set", "seed=2"]);
    assert!(text(&certified.stdout).contains("certificates they were saved with"));
    // The same people again are refused, and so is a file that is none.
    let same = ["run", &file, "--out", other.to_str().unwrap(), "--set", &warm];
    let output = reticent(&same);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    let none = ["certify", &file, "--set", &format!("algorithm.warm_start={file}")];
    let output = reticent(&none);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("expected a file that `save` wrote"));
    let _ = std::fs::remove_dir_all(folder);
}
