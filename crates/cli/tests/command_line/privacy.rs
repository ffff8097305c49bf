//! `reticent privacy`: the calculator.

use std::process::Command;

use proptest::prelude::*;

use super::{json, refused, reticent, stderr, stdout};

#[test]
fn the_calculator_agrees_with_itself_and_with_known_answers() {
    let sigma = json(&[
        "privacy",
        "sigma",
        "--epsilon",
        "1",
        "--delta",
        "1e-5",
        "--sensitivity",
        "1",
        "--json",
    ]);
    let sigma = sigma["sigma"].as_f64().unwrap();
    // mpmath: 3.7306316348...
    assert!((sigma - 3.730_631_634_816_464).abs() < 1e-12, "{sigma}");
    let text = sigma.to_string();
    let delta = json(&["privacy", "delta", "--sigma", &text, "--epsilon", "1", "--json"]);
    assert!((delta["delta"].as_f64().unwrap() / 1e-5 - 1.0).abs() < 1e-10);
    let epsilon = json(&["privacy", "epsilon", "--sigma", &text, "--delta", "1e-5", "--json"]);
    assert!((epsilon["epsilon"].as_f64().unwrap() - 1.0).abs() < 1e-10);
}

#[test]
fn composition_scales_sigma_by_the_square_root() {
    let ask = |times| {
        let arguments =
            ["privacy", "sigma", "--epsilon", "1", "--delta", "1e-6", "--compose", times, "--json"];
        json(&arguments)["sigma"].as_f64().unwrap()
    };
    assert!((ask("100") / ask("1") - 10.0).abs() < 1e-12);
}

#[test]
fn shuffling_amplifies_and_binary_reports_amplify_more() {
    let ask = |extra: &[&str]| {
        let mut arguments = vec![
            "privacy",
            "shuffle",
            "--epsilon-local",
            "2",
            "--n",
            "100000",
            "--delta",
            "1e-6",
            "--json",
        ];
        arguments.extend(extra);
        json(&arguments)["epsilon"].as_f64().unwrap()
    };
    let (general, binary) = (ask(&[]), ask(&["--binary"]));
    assert!(binary < general && general < 0.2, "{binary} {general}");
}

#[test]
fn without_json_a_person_reads_one_line() {
    let output = reticent(&["privacy", "epsilon", "--sigma", "4", "--delta", "1e-6"]);
    assert!(stdout(&output).starts_with("epsilon = 1."), "{}", stdout(&output));
    assert!(output.stderr.is_empty());
}

#[test]
fn a_large_delta_is_answered_with_a_warning_on_stderr() {
    let output = reticent(&["privacy", "sigma", "--epsilon", "1", "--delta", "0.1", "--json"]);
    assert!(output.status.success());
    assert!(stderr(&output).contains("below 1e-3"), "{}", stderr(&output));
    assert!(serde_json::from_str::<serde_json::Value>(&stdout(&output)).is_ok());
}

#[test]
fn bad_numbers_are_refused_by_name_value_and_remedy() {
    // A budget must be above 0.
    for epsilon in ["-1", "0"] {
        refused(
            &["privacy", "sigma", "--epsilon", epsilon, "--delta", "1e-5"],
            &[&format!("epsilon: got {epsilon}"), "above 0"],
        );
    }
    refused(
        &["privacy", "epsilon", "--sigma", "1e-300", "--delta", "1e-5"],
        &["finite epsilon", "more noise"],
    );
    refused(
        &["privacy", "sigma", "--epsilon", "NaN", "--delta", "1e-5"],
        &["epsilon: got NaN", "finite"],
    );
    refused(
        &["privacy", "sigma", "--epsilon", "1", "--delta", "0"],
        &["delta: got 0", "between 0 and 1"],
    );
    refused(
        &["privacy", "sigma", "--epsilon", "1", "--delta", "1e-5", "--sensitivity", "inf"],
        &["sensitivity: got inf"],
    );
    refused(
        &["privacy", "sigma", "--epsilon", "1", "--delta", "1e-5", "--compose", "0"],
        &["compose: got 0"],
    );
    refused(&["privacy", "delta", "--sigma", "0", "--epsilon", "1"], &["sigma: got 0", "above 0"]);
    refused(&["privacy", "shuffle", "--epsilon-local", "1", "--n", "0", "--delta", "1e-5"], &["0"]);
    refused(&["privacy", "sigma"], &["--epsilon"]);
    refused(&["fly"], &["fly"]);
}

#[test]
fn event_files_are_priced_or_refused() {
    let folder = std::env::temp_dir().join(format!("reticent-events-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_string()
    };
    let good = write(
        "good.toml",
        "[[event]]\nkind = \"laplace\"\nsensitivity = 1.0\nscale = 2.0\n\n[[event]]\nkind = \"repeated\"\ntimes = 3\n\
         event = { kind = \"gaussian\", sensitivity = 1.0, sigma = 20.0 }\n",
    );
    let epsilon = json(&["privacy", "account", &good, "--delta", "1e-6", "--json"])["epsilon"]
        .as_f64()
        .unwrap();
    assert!(epsilon > 0.5 && epsilon < 1.2, "{epsilon}");
    refused(
        &["privacy", "account", "no/such/file.toml", "--delta", "1e-6"],
        &["no/such/file.toml", "check the path"],
    );
    let unknown = write("unknown.toml", "[[event]]\nkind = \"magic\"\n");
    refused(
        &["privacy", "account", &unknown, "--delta", "1e-6"],
        &["unknown.toml", "magic", "laplace"],
    );
    let negative =
        write("negative.toml", "[[event]]\nkind = \"laplace\"\nsensitivity = 1.0\nscale = -2.0\n");
    refused(&["privacy", "account", &negative, "--delta", "1e-6"], &["scale: got -2"]);
    let truncated = write("truncated.toml", "[[event]]\nkind = \"lapl");
    refused(&["privacy", "account", &truncated, "--delta", "1e-6"], &["truncated.toml"]);
    std::fs::remove_dir_all(&folder).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever numbers come, the program ends with 0 or 2 and never with a panic (101).
    #[test]
    fn no_number_panics(a in any::<f64>(), b in any::<f64>(), n in any::<u64>()) {
        let (a, b, n) = (format!("={a}"), format!("={b}"), format!("={n}"));
        for command in [
            vec!["sigma".into(), format!("--epsilon{a}"), format!("--delta{b}"), format!("--compose{n}")],
            vec!["delta".into(), format!("--sigma{a}"), format!("--epsilon{b}"), format!("--compose{n}")],
            vec!["epsilon".into(), format!("--sigma{a}"), format!("--delta{b}")],
        ] {
            let output = Command::new(env!("CARGO_BIN_EXE_reticent")).arg("privacy").args(&command).output().unwrap();
            prop_assert!(matches!(output.status.code(), Some(0 | 2)), "{:?}: {:?}", command, output);
        }
    }
}

#[test]
fn a_small_delta_is_printed_as_a_power_of_ten() {
    let small = ["privacy", "delta", "--sigma", "10", "--epsilon", "1"];
    let text = stdout(&reticent(&small));
    assert!(text.starts_with("delta = 1.23") && text.trim_end().ends_with("e-25"), "{text}");
    // The same number as in JSON, which has all digits.
    let printed: f64 = text.trim_end().trim_start_matches("delta = ").parse().unwrap();
    assert_eq!(json(&[&small[..], &["--json"]].concat())["delta"], printed);
    let plain = stdout(&reticent(&["privacy", "delta", "--sigma", "1", "--epsilon", "1"]));
    assert!(plain.starts_with("delta = 0.1"), "{plain}");
}
