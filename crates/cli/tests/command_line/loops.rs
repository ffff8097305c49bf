//! Files of loops at a desk: certified, and their learners tried on logs.

use std::path::PathBuf;

use super::{json, refused, reticent, stderr, stdout};

const LOOPS: &str = r#"
    [loop.home]
    privacy = { epsilon = 1.0, delta = 1e-6, visits = 10, per = "30 days" }
    [loop.home.action]
    topic = { categories = ["news", "sport"] }
    [loop.search]
    privacy = { epsilon = 1.0, delta = 1e-6 }
    [loop.search.action]
    topic = { categories = ["news", "sport"] }
"#;

fn file(name: &str, text: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("reticent-desk-{}-{name}", std::process::id()));
    std::fs::write(&path, text).unwrap();
    path
}

/// Printed figures are never better than the truth.
#[test]
fn a_certificate_s_figures_are_rounded_against_us() {
    let config = file("round.toml", LOOPS);
    let config = config.to_str().unwrap();
    let text = stdout(&reticent(&["certify", config]));
    assert!(text.contains("  periods      12: epsilon 16.96 at delta 1e-6"), "{text}");
    let found = json(&["--json", "certify", config]);
    for each in found["loops"].as_array().unwrap() {
        let odds = 100.0 * each["best_guess"].as_f64().unwrap();
        let printed = format!("{:.1} %", (odds * 10.0).ceil() / 10.0);
        assert!(text.contains(&printed), "{odds}: {text}");
    }
}

#[test]
fn loops_of_devices_are_certified_with_what_enforces_each_condition() {
    let config = file(
        "devices.toml",
        r#"
        [loop.news]
        trust = "device"
        privacy = { epsilon = 2.0, delta = 1e-6, visits = 3, per = "30 days" }
        [loop.news.action]
        topic = { categories = ["news", "sport"] }
        [loop.mixed]
        trust = "shuffler"
        privacy = { epsilon = 1.0, delta = 1e-6, visits = 2, per = "ever" }
        shuffle = { batch = 1000, mode = "sum" }
        [loop.mixed.action]
        topic = { categories = ["news", "sport"] }
        "#,
    );
    let text = stdout(&reticent(&["certify", config.to_str().unwrap()]));
    for words in [
        "loop news",
        "at most 3 reports of one installation leave it in each period of 30 days",
        "one installation's storage",
        "loop mixed",
        "batches have 1000 reports, and none smaller leaves the shuffler",
        "at least 500 of the 1000 reports",
        "the shuffler sees every report",
        "reports until a predicted reward is more than noise",
        "all loops together",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

/// The table of the service's reference page and the schema that an editor completes from list the same limits.
#[test]
fn the_schema_has_the_limits_that_are_documented() {
    let schema = json(&["schema", "loops"]);
    let path = schema["properties"]["limits"]["allOf"][0]["$ref"].as_str().unwrap();
    let limits = schema.pointer(path.trim_start_matches('#')).unwrap();
    let known = limits["properties"].as_object().unwrap();
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(root.join("docs/reference/service.md")).unwrap();
    let line = page.lines().find(|line| line.starts_with("`[limits]`")).unwrap();
    let names: Vec<&str> = line.split('`').skip(3).step_by(2).collect();
    assert_eq!(names.len(), known.len(), "{names:?}");
    assert!(names.iter().all(|name| known.contains_key(*name)), "{names:?}: {known:?}");
    assert!(limits["additionalProperties"]["not"].is_object(), "others are refused");
}

#[test]
fn an_empty_file_is_refused() {
    let empty = file("empty.toml", "\n");
    refused(&["certify", empty.to_str().unwrap()], &["empty.toml", "text: missing"]);
}

/// A log that is no CSV may begin with a person's row, which no message repeats.
#[test]
fn a_log_of_another_form_is_refused_without_its_contents() {
    let config = file("log.toml", LOOPS);
    let (lines, table) = (
        file("log.jsonl", "{\"time\":1,\"context\":{\"age\":\"SECRET\"}}\n"),
        file("log.csv", "SECRET,31\n"),
    );
    for (log, word) in [(&lines, "lines of JSON"), (&table, "a first line")] {
        let (config, log) = (config.to_str().unwrap(), log.to_str().unwrap());
        let run = ["run", config, "--loop", "home", "--log", log];
        refused(&run, &[word, "format=csv"]);
        assert!(!stderr(&reticent(&run)).contains("SECRET"));
    }
}

#[test]
fn a_loop_s_file_runs_on_a_log() {
    let config = file("tried.toml", LOOPS);
    let mut log = String::from("action,propensity,reward,arm0_0,arm0_1,arm1_0,arm1_1\n");
    for line in 0..200 {
        let action = line % 2;
        log += &format!("{action},0.5,{},0.9,0.1,0.1,0.9\n", f64::from(action));
    }
    let log = file("tried.csv", &log);
    let out = std::env::temp_dir().join(format!("reticent-tried-{}", std::process::id()));
    let (config, log, out) =
        (config.to_str().unwrap(), log.to_str().unwrap(), out.to_str().unwrap());
    let run = ["run", config, "--log", log, "--out", out];
    refused(&run[..2], &["--log"]);
    refused(&run, &["--loop", "home, search"]);
    let output = reticent(&[&run[..], &["--loop", "home", "--set", "trials=2"]].concat());
    let error = String::from_utf8_lossy(&output.stderr).to_string();
    assert_eq!(output.status.code(), Some(0), "{error}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("loop home") && text.contains("without privacy"), "{text}");
    assert!(error.contains("does not cover"), "{error}");
    std::fs::remove_dir_all(out).unwrap();
}

/// Its program is named, and nothing of the arguments is repeated: they may hold a password.
#[test]
fn a_command_of_the_service_names_its_program() {
    for command in ["serve", "shuffle", "key", "store"] {
        let named = format!("`reticent-server {command} ...`");
        for arguments in [
            &[command][..],
            &[command, "--help"],
            &[command, "new", "--database", "postgres://me:swordfish@host/db", "--data=x"],
            &["--json", command, "--demo"],
        ] {
            refused(arguments, &[&named]);
            assert!(!stderr(&reticent(arguments)).contains("swordfish"));
        }
    }
    assert!(!stdout(&reticent(&["--help"])).contains("\n  serve"));
}
