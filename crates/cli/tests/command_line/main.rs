//! The command line: output, exit codes and error messages. One program, because every file in `tests/` is another one to link.

use std::process::{Command, Output};

mod certify;
mod data;
mod error_form;
mod loops;
mod own_kind;
mod privacy;
mod reproduce;

fn reticent(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_reticent"))
        .args(arguments)
        .output()
        .expect("the binary starts")
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("UTF-8")
}

fn json(arguments: &[&str]) -> serde_json::Value {
    let output = reticent(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
    serde_json::from_str(&stdout(&output)).expect("one JSON document")
}

fn refused(arguments: &[&str], words: &[&str]) {
    let output = reticent(arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", stderr(&output));
    assert!(output.stdout.is_empty(), "{arguments:?} printed {}", stdout(&output));
    for word in words {
        assert!(
            stderr(&output).contains(word),
            "{arguments:?} does not say {word:?}: {}",
            stderr(&output)
        );
    }
}

#[test]
fn the_demo_has_its_certificate_and_its_figures() {
    let folder = std::env::temp_dir().join(format!("reticent-demo-{}", std::process::id()));
    let out = folder.to_str().unwrap();
    let quick = ["demo", "--set", "rounds=2000", "--set", "trials=2", "--out", out];
    let output = reticent(&quick);
    assert!(output.status.success(), "{}", stderr(&output));
    let text = stdout(&output);
    for words in ["\nshuffle ", "certificate", "report.html", "central, epsilon = 1"] {
        assert!(text.contains(words), "{words} is missing from {text}");
    }
    let picture = folder.join("figures").join("regret-against-epsilon.png");
    assert!(picture.exists() && text.contains(picture.to_str().unwrap()), "{text}");
    let demo = json(&[&quick[..], &["--json"]].concat());
    let models: Vec<&str> = demo["algorithms"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|algorithm| algorithm["guarantee"]["model"].as_str())
        .collect();
    assert_eq!([models[0], models[6], models[12]], ["joint", "shuffle", "local"]);
    let epsilon = demo["algorithms"][3]["guarantee"]["epsilon"].as_f64().unwrap();
    assert!((epsilon - 1.0).abs() < 1e-9, "requested 1, exact {epsilon}");
    let page = std::fs::read_to_string(folder.join("report.html")).unwrap();
    assert!(page.contains("<svg") && page.contains("differentially private"));
    for figure in ["regret.svg", "regret.png", "regret-against-epsilon.png"] {
        assert!(folder.join("figures").join(figure).is_file(), "{figure}");
    }
    std::fs::remove_dir_all(&folder).unwrap();

    let bad = |set: &str, words: &[&str]| refused(&["demo", "--out", out, "--set", set], words);
    bad("algorithm.privacy.epsilon=0", &["epsilon: got 0"]);
    bad("algorithm.privacy.delta=1", &["delta: got 1"]);
    bad("round=10", &["round", "rounds"]);
    assert!(!folder.exists(), "a refused command leaves nothing behind");
    let output = reticent(&["demo", "--set", "rounds=2000", "--out", "/dev/null/nowhere"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("/dev/null/nowhere"), "{}", stderr(&output));
}

#[test]
fn an_experiment_runs_from_its_file_and_repeats_itself() {
    let folder = std::env::temp_dir().join(format!("reticent-run-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("experiment.toml");
    let text = include_str!("../../../../examples/joint.toml").replace("1_000_000", "20_000");
    std::fs::write(&file, &text).unwrap();
    let run = |out: &str| {
        let out = folder.join(out);
        json(&["run", file.to_str().unwrap(), "--out", out.to_str().unwrap(), "--json"])
    };
    let summary = run("one");
    let algorithms = summary["algorithms"].as_array().unwrap();
    assert_eq!(algorithms.len(), 3);
    for algorithm in algorithms {
        assert_eq!(algorithm["final_regret"]["trials"], 4);
        assert!(algorithm["final_regret"]["mean"].as_f64().unwrap() > 0.0);
        assert!(algorithm["nanoseconds_per_round"].as_f64().unwrap() > 0.0);
    }
    assert!(algorithms[0]["guarantee"].is_null());
    let epsilon = algorithms[1]["guarantee"]["epsilon"].as_f64().unwrap();
    assert!((epsilon - 1.0).abs() < 1e-9, "{epsilon}");
    assert_eq!(algorithms[2]["guarantee"]["claimed"]["epsilon"], 1.0);
    for name in
        ["experiment.toml", "results.csv", "summary.json", "figures/regret.svg", "report.html"]
    {
        assert!(folder.join("one").join(name).is_file(), "{name}");
    }
    // Figures, report and summary say which commit the program is built from.
    if let Some(commit) = option_env!("RETICENT_COMMIT") {
        assert_eq!(summary["commit"], commit);
        let read = |name: &str| std::fs::read_to_string(folder.join("one").join(name)).unwrap();
        let words = format!("reticent {}, commit {commit}", env!("CARGO_PKG_VERSION"));
        assert!(read("report.html").contains(&format!("<footer>{words}</footer>")));
        let hash = commit.split(',').next().unwrap();
        assert!(read("figures/regret.svg").contains(hash), "the caption has {hash}");
        assert!(read("summary.json").contains(commit));
    }
    run("two");
    let csv = |out: &str| std::fs::read_to_string(folder.join(out).join("results.csv")).unwrap();
    assert_eq!(csv("one"), csv("two"), "the same seed gave other results");

    let refuse = |from: &str, to: &str, words: &[&str]| {
        let bad = folder.join("bad.toml");
        std::fs::write(&bad, text.replacen(from, to, 1)).unwrap();
        refused(
            &["run", bad.to_str().unwrap(), "--out", folder.join("bad").to_str().unwrap()],
            words,
        );
        assert!(!folder.join("bad").exists(), "a refused experiment leaves nothing behind");
    };
    refuse("rounds = 20_000", "rounds = 0", &["rounds: got 0"]);
    refuse("rounds = 20_000", "rounds = 5", &["horizon: got 5"]);
    refuse("trials = 4", "trials = 0", &["trials: got 0"]);
    refuse("kind = \"gap\"", "kind = \"chasm\"", &["environment, kind: got `chasm`", "gap"]);
    refuse("dimension = 5", "dimension = 1", &["dimension: got 1"]);
    // Sizes beyond memory are refused.
    let huge = "9223372036854775807";
    for field in ["dimension = 5", "arms = 25", "trials = 4"] {
        let name = field.split(' ').next().unwrap();
        refuse(field, &format!("{name} = {huge}"), &[&format!("{name}: got {huge}")]);
    }
    refuse("gap = 0.0", "gap = nan", &["gap: got NaN"]);
    refuse("gap = 0.0", "hole = 0.0", &["hole"]);
    refuse("epsilon = 1.0", "epsilon = -1.0", &["epsilon: got -1"]);
    refuse("delta = 1e-6", "delta = 1.5", &["delta: got 1.5"]);
    refuse("kind = \"linucb\"", "kind = \"magic\"", &["magic"]);
    refuse("name = \"default\"", "name = \"as published\"", &["as published", "a name of its own"]);
    refuse("gaussian_tree", "blt", &["mechanism", "gaussian_tree"]);

    // With one arm the regret is zero: a flat line is drawn, on a linear axis.
    std::fs::write(&file, text.replacen("arms = 25", "arms = 1", 1)).unwrap();
    assert_eq!(run("one_arm")["algorithms"][0]["final_regret"]["mean"], 0.0);
    // A folder that cannot be written to is refused before any trial runs.
    let output = reticent(&["run", file.to_str().unwrap(), "--out", "/dev/null/nowhere"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(!stderr(&output).contains("trials"), "{}", stderr(&output));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_plan_is_printed_and_an_infeasible_budget_names_the_smallest() {
    let folder = std::env::temp_dir().join(format!("reticent-plan-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let text = include_str!("../../../../examples/plan.toml");
    let plan = |from: &str, to: &str| {
        let path = folder.join("plan.toml");
        std::fs::write(&path, text.replacen(from, to, 1)).unwrap();
        path.to_str().unwrap().to_string()
    };
    let good = json(&["plan", &plan("", ""), "--json"]);
    assert_eq!((good["vertices"].as_u64(), good["vacuous"].as_bool()), (Some(4), Some(true)));
    let simplex = &good["simplex"];
    let (rate, budget) = (simplex["unimprovable_rate"].as_f64(), simplex["budget"].as_f64());
    assert!((rate.unwrap() / budget.unwrap() - 1.0).abs() < 1e-12);
    let output = reticent(&["plan", &plan("", "")]);
    assert!(stdout(&output).contains("VACUOUS") && stderr(&output).contains("vacuous"));
    refused(
        &["plan", &plan("delta = 1e-5", "delta = 1e-5\nbudget = 1.0")],
        &["budget: got 1", "at least"],
    );
    refused(&["plan", &plan("[1.0, 0.25, 0.5] }", "[1.0, -0.25, 0.5] }")], &["reaches: got -0.25"]);
    refused(&["plan", &plan("horizon = 30_000", "horizon = 0")], &["horizon: got 0"]);
    refused(
        &["plan", &plan("levels = [1.0, 0.25, 0.5]", "levels = [1.0, 0.5]")],
        &["levels: got 2"],
    );
    let open = "safe_set = { rows = [[1.0, 1.0, 1.0]], bounds = [1.0] }";
    let line = "safe_set = { simplex = [1.0, 0.25, 0.5] }";
    refused(&["plan", &plan(line, open)], &["unbounded along direction"]);
    refused(&["plan", "no-such-plan.toml"], &["no-such-plan.toml"]);
    std::fs::remove_dir_all(&folder).unwrap();
}

/// A sweep of some tens of trials, each some tens of milliseconds long.
const SWEEP: &str = r#"
name = "a sweep"
rounds = 3_000
trials = 8
[environment]
kind = "sphere"
dimension = 5
arms = 20
[[algorithm]]
kind = "linucb"
[[algorithm]]
kind = "local"
privacy = { epsilon = [0.5, 1.0, 2.0, 4.0], delta = 1e-6 }
"#;

#[test]
fn a_sweep_killed_ten_times_has_the_results_of_an_undisturbed_one() {
    let folder = std::env::temp_dir().join(format!("reticent-killed-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let (file, whole, killed) =
        (folder.join("sweep.toml"), folder.join("whole"), folder.join("killed"));
    std::fs::write(&file, SWEEP).unwrap();
    let (file, path) =
        (file.to_str().unwrap(), |p: &std::path::Path| p.to_str().unwrap().to_string());
    assert!(reticent(&["run", file, "--out", &path(&whole)]).status.success());
    for time in 0..10_u64 {
        let mut child = Command::new(env!("CARGO_BIN_EXE_reticent"))
            .args(["run", file, "--out", &path(&killed)])
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        // Moments spread over a run, the same in every test run.
        std::thread::sleep(std::time::Duration::from_millis(20 + 37 * (time * 7 % 10)));
        let _ = child.kill();
        let _ = child.wait();
    }
    let last = reticent(&["run", file, "--out", &path(&killed)]);
    assert!(last.status.success(), "{}", stderr(&last));
    let read = |folder: &std::path::Path| std::fs::read(folder.join("results.csv")).unwrap();
    assert!(read(&whole) == read(&killed));
    // No trial is left to run.
    let again = reticent(&["run", file, "--out", &path(&killed)]);
    assert!(stderr(&again).contains("40 trials were finished before"), "{}", stderr(&again));
    // In two parts, joined.
    let parts = [folder.join("1"), folder.join("2")].map(|part| path(&part));
    for (shard, part) in ["1/2", "2/2"].iter().zip(&parts) {
        assert!(reticent(&["run", file, "--shard", shard, "--out", part]).status.success());
    }
    let merged = folder.join("merged");
    refused(
        &["merge", &parts[0], "--out", &path(&merged)],
        &["trials: got 20 of 40", "reticent run"],
    );
    let output = reticent(&["merge", &parts[0], &parts[1], "--out", &path(&merged)]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(read(&whole) == read(&merged));
    refused(&["run", file, "--shard", "3/2"], &["i/n"]);
    let _ = std::fs::remove_dir_all(&folder);
}

#[test]
fn a_broken_experiment_is_refused_with_file_line_and_remedy() {
    let folder = std::env::temp_dir().join(format!("reticent-broken-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("broken.toml");
    let name = file.to_str().unwrap();
    for (from, to, words) in [
        ("arms = 20", "arm = 20", ["broken.toml", "line 8", "did you mean `arms`?"]),
        ("delta = 1e-6", "delta = 0.5e1", ["broken.toml", "line 13", "delta: got 5"]),
        ("delta = 1e-6", "delta = 0.5", ["broken.toml", "line 13", "at most 0.1"]),
        ("delta = 1e-6", "delta = -1e-6", ["broken.toml", "line 13", "delta: got -"]),
        ("\"linucb\"", "\"linucp\"", ["broken.toml", "line 10", "did you mean `linucb`?"]),
        ("trials = 8", "trials = = 8", ["broken.toml", "line 4", ""]),
    ] {
        std::fs::write(&file, SWEEP.replace(from, to)).unwrap();
        refused(&["run", name], &words);
        refused(&["certify", name], &words);
    }
    std::fs::write(&file, SWEEP).unwrap();
    refused(&["run", name, "--set", "environment.arm=3"], &["broken.toml", "did you mean `arms`?"]);
    refused(&["run", name, "--set", "epsilon"], &["path=value"]);
    let _ = std::fs::remove_dir_all(&folder);
}

/// Keys of the joint model are refused for local algorithms, and the other way round.
#[test]
fn impossible_combinations_are_refused_with_file_line_and_remedy() {
    let folder = std::env::temp_dir().join(format!("reticent-impossible-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("impossible.toml");
    let name = file.to_str().unwrap();
    let head = "name = \"x\"\nrounds = 2000\n[environment]\nkind = \"sphere\"\n[[algorithm]]\n";
    for (lines, words) in [
        (
            "kind = \"local\"\ntrust = \"joint\"\nprivacy = { epsilon = 1.0, delta = 1e-6 }",
            "line 7",
        ),
        (
            "kind = \"local\"\nmechanism = \"blt\"\nprivacy = { epsilon = 1.0, delta = 1e-6 }",
            "line 7",
        ),
        (
            "kind = \"joint\"\nlevels = [1.0, 2.0]\nprivacy = { epsilon = 1.0, delta = 1e-6 }",
            "line 7",
        ),
        ("kind = \"local\"\nprivacy = { epsilon = 1.0, delta = 0.5 }", "delta: got 0.5"),
        ("kind = \"shuffle\"\nprivacy = { epsilon = 1.0, delta = 0.5 }", "delta: got 0.5"),
        ("kind = \"joint\"\nprivacy = { epsilon = 1.0, delta = 0.5 }", "delta: got 0.5"),
        ("kind = \"joint\"\nprivacy = { epsilon = -1.0, delta = 1e-6 }", "epsilon: got -1"),
        (
            "kind = \"linucb\"\nprivacy = { epsilon = 1.0, delta = 1e-6 }",
            "privacy: got an unknown key",
        ),
    ] {
        std::fs::write(&file, format!("{head}{lines}\n")).unwrap();
        for command in ["run", "certify"] {
            refused(&[command, name], &["impossible.toml", "line ", words]);
        }
    }
    let _ = std::fs::remove_dir_all(&folder);
}

/// Every example is valid, or its error asks for the script that writes its data.
#[test]
fn every_example_is_valid() {
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
    let mut seen = 0;
    for entry in std::fs::read_dir(examples).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        seen += 1;
        let name = path.to_str().unwrap();
        let output = match path.file_stem().unwrap().to_str().unwrap() {
            "plan" => reticent(&["plan", name]),
            "events" => reticent(&["privacy", "account", name, "--delta", "1e-6"]),
            "learn" => reticent(&["learn", name]),
            _ => reticent(&["certify", name]),
        };
        let said = stderr(&output);
        let needs_data = said.contains("expected a readable file") && said.contains("/../results/");
        assert!(output.status.success() || needs_data, "{name}: {}", stderr(&output));
    }
    assert!(seen > 20, "{seen}");
}

#[test]
fn a_model_is_learnt_from_a_file_and_a_bad_file_is_named_by_line() {
    let folder = std::env::temp_dir().join(format!("reticent-cli-learn-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = |name: &str| folder.join(name).display().to_string();
    let rows: String = (0..400)
        .map(|i| format!("{},{},{}\n", i % 20, ["inf", "8", "0"][i % 3], u8::from(i % 20 > 9)))
        .collect();
    std::fs::write(path("people.csv"), format!("age,epsilon,y\n{rows}")).unwrap();
    let lines = format!(
        "file = {:?}\nloss = \"logistic\"\nepsilon_column = \"epsilon\"\n[ranges]\nage = [0, 19]\ny = [0, 1]\n",
        path("people.csv")
    );
    std::fs::write(path("learn.toml"), &lines).unwrap();
    let learnt = json(&["learn", &path("learn.toml"), "--out", &path("model.json"), "--json"]);
    assert_eq!((&learnt["private"], &learnt["silent"]), (&133.into(), &133.into()));
    assert_eq!(learnt["certificates"][0]["guarantee"]["simulated"], false);
    let saved: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(path("model.json")).unwrap()).unwrap();
    assert_eq!(saved, learnt);
    // Without its public range, and with a cell that is not a number.
    std::fs::write(path("bare.toml"), lines.split("[ranges]").next().unwrap()).unwrap();
    refused(&["learn", &path("bare.toml")], &["public range of age"]);
    std::fs::write(path("people.csv"), format!("age,epsilon,y\n{rows}old,1,1\n")).unwrap();
    refused(&["learn", &path("learn.toml")], &["line 402", "age: got \"old\"", "people.csv"]);
    std::fs::remove_dir_all(folder).unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn a_closed_stderr_is_not_an_error() {
    let full = || std::fs::File::options().write(true).open("/dev/full").unwrap();
    // A warning, and a refusal.
    for (arguments, code) in [
        (&["privacy", "epsilon", "--sigma", "1", "--delta", "0.1"][..], 0),
        (&["privacy", "epsilon", "--sigma", "-1", "--delta", "1e-6"], 2),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_reticent"))
            .args(arguments)
            .stderr(full())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}");
    }
}

#[test]
fn help_shows_an_example_everywhere() {
    for arguments in [
        &["--help"][..],
        &["privacy", "--help"],
        &["privacy", "sigma", "--help"],
        &["privacy", "delta", "--help"],
        &["privacy", "epsilon", "--help"],
        &["privacy", "shuffle", "--help"],
        &["privacy", "account", "--help"],
        &["demo", "--help"],
        &["run", "--help"],
        &["certify", "--help"],
        &["learn", "--help"],
        &["plan", "--help"],
        &["reproduce", "--help"],
        &["bench", "--help"],
    ] {
        assert!(stdout(&reticent(arguments)).contains("Example: reticent"), "{arguments:?}");
    }
}
