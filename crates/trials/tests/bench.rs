//! `cargo xtask bench` with several processes on one database: all figures are there. Their values depend on the machine.

#[path = "../../server/src/store/postgres/testing.rs"]
mod testing;

use std::process::Command;

use serde_json::Value;

#[test]
fn one_two_and_four_processes_on_a_database_are_measured() {
    let Some(cluster) = testing::cluster() else { return };
    let folder = std::env::temp_dir().join(format!("reticent-bench-{}", std::process::id()));
    let output = Command::new(env!("CARGO_BIN_EXE_reticent-trials"))
        .args(["bench", "--json", "--parts", "replicas", "--requests", "1000"])
        .args(["--database", &cluster.empty(), "--data"])
        .arg(&folder)
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{printed}");
    assert!(printed.contains("4 processes") && !folder.exists(), "{printed}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let figures = report["service"].as_array().unwrap();
    assert_eq!(figures.len(), 6, "ranks and rewards of one, two and four processes");
    for figure in figures {
        let sound = |value: &Value| value.as_f64().is_some_and(|value| value > 0.0);
        assert!(sound(&figure["measured"]), "{figure}");
        let is_one = figure["what"].as_str().unwrap().ends_with("one process");
        assert_eq!(sound(&figure["required"]), is_one, "{figure}");
        let bare = figure["bare"].as_array().unwrap();
        assert_eq!(bare.len(), if is_one { 1 } else { 2 }, "{figure}");
        assert!(bare.iter().all(|bare| sound(&bare["ratio"])), "{figure}");
    }
}
