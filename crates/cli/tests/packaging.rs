//! The systemd unit and the Prometheus rules are accepted by the programs that read them.

use std::{path::Path, process::Command};

fn packaging(name: &str) -> String {
    std::fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging").join(name),
    )
    .unwrap()
}

/// Runs a program that checks a file. One that is not installed is told.
fn accepted(program: &str, arguments: &[&str], name: &str, text: &str) {
    let folder = std::env::temp_dir().join(format!("reticent-packaging-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join(name);
    std::fs::write(&file, text).unwrap();
    let Ok(output) = Command::new(program).args(arguments).arg(&file).output() else {
        eprintln!("SKIPPED: {program} is not installed");
        return;
    };
    let told = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(output.status.success(), "{told}");
    // What systemd does not understand it only warns of.
    assert!(!told.contains("Unknown") && !told.contains("ignoring"), "{told}");
}

#[test]
fn systemd_accepts_the_unit() {
    let unit =
        packaging("reticent.service").replace("/usr/bin/reticent", env!("CARGO_BIN_EXE_reticent"));
    accepted("systemd-analyze", &["verify"], "reticent.service", &unit);
}

#[test]
fn prometheus_accepts_the_rules() {
    accepted("promtool", &["check", "rules"], "rules.yml", &packaging("prometheus-rules.yml"));
}
