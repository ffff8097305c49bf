//! `reticent audit` from the command line.

use std::process::{Command, Output};

fn audit(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_reticent"))
        .arg("audit")
        .args(arguments)
        .output()
        .expect("the binary starts")
}

fn example(name: &str) -> String {
    format!("{}/../lab/audits/{name}.toml", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn one_document_with_the_fields_others_rely_on() {
    let output = audit(&[&example("paper3"), "--samples", "2000", "--json"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("one document");
    let audits = json["audits"].as_array().expect("a list");
    assert!(!audits.is_empty());
    for audit in audits {
        for field in
            ["algorithm", "epsilon_lower_bound", "confidence", "attack", "samples", "seconds"]
        {
            assert!(!audit[field].is_null(), "{field} of {audit}");
        }
        assert!(
            audit["certified"]["epsilon"].is_number() && audit["certified"]["delta"].is_number()
        );
        assert!(
            ["consistent", "violated", "vacuous"].contains(&audit["verdict"].as_str().unwrap())
        );
    }
    // The same seed, the same bounds; the published agents have a claim beside their certificate.
    let again = audit(&[&example("paper3"), "--samples", "2000", "--json"]);
    let again: serde_json::Value = serde_json::from_slice(&again.stdout).expect("one document");
    assert_eq!(audits[0]["epsilon_lower_bound"], again["audits"][0]["epsilon_lower_bound"]);
    assert!(audits.iter().any(|audit| audit["against"] == "claim"));
}

#[test]
fn bad_input_is_refused_by_name() {
    for (arguments, word) in [
        (vec!["--confidence", "2"], "confidence"),
        (vec!["--samples", "3"], "samples"),
        (vec!["--confidence", "nan"], "confidence"),
        (vec!["nowhere.toml"], "nowhere.toml"),
    ] {
        let output = audit(&arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(words.contains(word), "{arguments:?}: {words}");
        assert!(output.stdout.is_empty());
    }
}
