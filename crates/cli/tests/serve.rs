//! `reticent serve` and `reticent key` as a process: what is checked before anything is served.

use std::{
    path::PathBuf,
    process::{Command, Output},
};

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

fn reticent(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_reticent")).args(arguments).output().unwrap()
}

fn file(name: &str, text: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("reticent-serve-{}-{name}", std::process::id()));
    std::fs::write(&path, text).unwrap();
    path
}

fn refused(arguments: &[&str], words: &[&str]) {
    let output = reticent(arguments);
    let error = String::from_utf8_lossy(&output.stderr).to_string();
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(output.stdout.is_empty());
    assert!(words.iter().all(|word| error.contains(word)), "{error}");
}

#[test]
fn a_check_prints_every_loops_certificate_and_serves_nothing() {
    let config = file("check.toml", LOOPS);
    let config = config.to_str().unwrap();
    let output = reticent(&["serve", "--config", config, "--check"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    for words in [
        "loop home",
        "loop search",
        "[enforced]",
        "[trusted]",
        "12 periods",
        "outlook",
        "search: protects decisions",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let output = reticent(&["--json", "serve", "--config", config, "--check"]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["loops"][0]["certificate"]["name"], "home");
    let epsilon = json["loops"][0]["certificate"]["periods"][0]["epsilon"].as_f64().unwrap();
    assert!(epsilon > 0.9 && epsilon <= 1.0, "{epsilon}");
}

#[test]
fn people_s_data_do_not_cross_a_network_in_the_clear() {
    let config = file("clear.toml", LOOPS);
    let config = config.to_str().unwrap();
    let open = ["serve", "--config", config, "--check", "--listen", "0.0.0.0:8080"];
    refused(&open, &["listen = 0.0.0.0:8080", "--behind-proxy"]);
    let proxied = reticent(&[&open[..], &["--behind-proxy"]].concat());
    assert_eq!(proxied.status.code(), Some(0));
    let tls = ["--tls-certificate", "no.pem", "--tls-key", "no.pem"];
    refused(&[&open[..], &tls].concat(), &["tls-certificate = no.pem"]);
    refused(&[&open[..], &tls[..2]].concat(), &["--tls-key"]);
}

#[test]
fn bad_files_and_roles_are_refused_by_field() {
    let config = file("bad.toml", &LOOPS.replace("visits = 10", "visits = 0"));
    let config = config.to_str().unwrap();
    refused(
        &["serve", "--config", config, "--check"],
        &["bad.toml", "loop.home.privacy.visits = 0"],
    );
    refused(&["serve", "--config", "nowhere.toml", "--check"], &["nowhere.toml"]);
    refused(&["serve", "--config", config], &["--data"]);
    refused(&["key", "new", "--data", "d", "--role", "owner"], &["decide"]);
}
