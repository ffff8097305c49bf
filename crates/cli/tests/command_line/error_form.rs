//! Errors of every crate have one form: `field: got value; remedy`, or `field: missing; remedy` for what is not there.

use reticent::{
    Error as CoreError,
    bandit::{JointParams, LinUcbParams, LocalParams},
    features::FeaturesParams,
    privacy::gaussian,
    randomize::Bounds,
    wire,
};
use reticent_device::ProtocolPlan;
use reticent_lab::Experiment;
use reticent_loops::config::ServiceFile;

use super::{reticent, stderr};

/// Tells whether a text matches `^[^:]+: (got .+|missing); .+`.
fn is_in_form(text: &str) -> bool {
    let Some((field, rest)) = text.split_once(": ") else { return false };
    let remedy = match rest.strip_prefix("got ") {
        Some(rest) => rest.split_once("; ").filter(|(value, _)| !value.is_empty()),
        None => rest.split_once("; ").filter(|(value, _)| *value == "missing"),
    };
    !field.is_empty() && !field.contains(':') && remedy.is_some_and(|(_, text)| !text.is_empty())
}

fn check<T, E: std::fmt::Display>(done: Result<T, E>) {
    let Err(error) = done else { panic!("it was accepted") };
    let text = error.to_string();
    assert!(is_in_form(&text), "{text}");
}

#[test]
fn the_form_is_recognised() {
    for text in ["batch: got 1; expected at least 2", "a.toml, line 3, x: missing; add it"] {
        assert!(is_in_form(text), "{text}");
    }
    for text in
        ["epsilon is 0: give 1", "x = 3: leave it out", "x: got 3", "x: missing", ": got 3; do"]
    {
        assert!(!is_in_form(text), "{text}");
    }
}

#[test]
fn errors_of_the_core() {
    let bounds = || Bounds::unit(3);
    check(JointParams::new(bounds(), 0.0, 1e-6, Some(100)).check());
    check(JointParams::new(bounds(), 1.0, 0.5, Some(100)).check());
    check(LocalParams::new(bounds(), f64::NAN, 1e-6).check());
    check(LinUcbParams::new(Bounds::unit(0)).check());
    check(gaussian::sigma(1.0, 0.0, 1.0, 1));
    check(reticent::error::finite_vector("theta", &[1.0, 2.0], 3));
    check(reticent::error::finite_vector("theta", &[1.0, f64::INFINITY], 2));
    check(serde_json::from_str::<FeaturesParams>("{}").unwrap().check());
    for text in ["", "{}", "{\"kind\":\"arms\",\"version\":1}", "{\"kind\":\"protocol\"}"] {
        check(wire::from_json::<ProtocolPlan>(text));
    }
    let text = || "it is damaged".to_string();
    for error in [
        CoreError::HorizonExceeded { round: 11, horizon: 10 },
        CoreError::Unsupported { event: "two".into(), remedy: "compose them".into() },
        CoreError::CorruptState { size: 7, reason: text(), remedy: "restore another copy".into() },
        CoreError::StaleState { what: "releases", saved: 3, released: 4 },
        CoreError::Entropy { reason: text() },
    ] {
        check(Err::<(), _>(error));
    }
}

#[test]
fn errors_of_devices() {
    let report = r#"{"kind":"protocol","version":9}"#;
    check(wire::from_json::<ProtocolPlan>(report));
    check(reticent_device::little::protocol(report.as_bytes()));
    check(reticent_device::little::protocol(b"{"));
}

#[test]
fn errors_of_loops() {
    let sound = "[loop.home]\nprivacy = { epsilon = 1.0, delta = 1e-6, visits = 1, per = \"ever\" }\n\
                 [loop.home.action]\nx = { range = [0, 1] }\n";
    assert!(ServiceFile::parse(sound).and_then(|file| file.check()).is_ok());
    for (before, after) in [
        (sound, ""),
        ("[loop.home]", "[lop.home]"),
        ("epsilon = 1.0", "epsilon = -1.0"),
        ("delta = 1e-6", "delta = 0.9"),
        ("visits = 1", "visits = 0"),
        (", per = \"ever\"", ""),
        ("loop.home", "loop.Home"),
        ("[0, 1]", "[1, 0]"),
        ("[loop.home]\n", "[loop.home]\nwarm_start = \"nowhere.json\"\n"),
        ("[loop.home]\n", "[loop.home]\nkeep_models = 0\n"),
        ("[loop.home]\n", "[loop.home]\ntrust = \"shuffler\"\n"),
    ] {
        let text = sound.replace(before, after);
        assert_ne!(text, sound);
        check(ServiceFile::parse(&text).and_then(|file| file.check()));
    }
}

const EXPERIMENT: &str = "name = \"x\"\nrounds = 100\n[environment]\nkind = \"gap\"\ndimension = 5\narms = 4\n\
                          [[algorithm]]\nkind = \"joint\"\nprivacy = { epsilon = 1.0, delta = 1e-6 }\n";

/// Changes of an experiment that is accepted.
const CHANGES: [(&str, &str); 14] = [
    ("rounds = 100", "rounds = 0"),
    ("rounds = 100", "rounds = \"ten\""),
    ("rounds = 100", "rounds = 1e2"),
    ("rounds = 100", "rouns = 100"),
    ("rounds = 100", "rounds ="),
    ("name = \"x\"\n", ""),
    ("\"gap\"", "\"chasm\""),
    ("arms = 4", "arms = 0"),
    ("arms = 4", "arms = 4\nrewards = [1]"),
    ("arms = 4", "arm = 4"),
    ("\"joint\"", "\"joynt\""),
    ("kind = \"joint\"", "kind = \"linucb\""),
    ("epsilon = 1.0", "epsilon = -1.0"),
    ("delta = 1e-6", "delta = [0.5, 0.6]"),
];

#[test]
fn errors_of_the_laboratory() {
    assert!(Experiment::parse(EXPERIMENT).is_ok());
    for (before, after) in CHANGES {
        assert!(EXPERIMENT.contains(before), "{before}");
        check(Experiment::parse(&EXPERIMENT.replace(before, after)));
    }
    let table = EXPERIMENT.replace(
        "kind = \"gap\"\ndimension = 5\narms = 4",
        "kind = \"table\"\nfile = \"nowhere.csv\"",
    );
    check(Experiment::parse(&table));
}

#[test]
fn errors_of_the_command_line() {
    let folder = std::env::temp_dir().join(format!("reticent-form-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("x.toml");
    let path = file.to_str().unwrap();
    let check = |arguments: &[&str]| {
        let output = reticent(arguments);
        assert!(!output.status.success(), "{arguments:?}");
        let text = stderr(&output);
        let text = text.trim_start().trim_start_matches("reticent: ");
        assert!(is_in_form(text), "{arguments:?}: {text}");
    };
    for (before, after) in CHANGES {
        std::fs::write(&file, EXPERIMENT.replace(before, after)).unwrap();
        check(&["certify", path]);
    }
    std::fs::write(&file, EXPERIMENT).unwrap();
    check(&["certify", path, "--set", "environment.arms=0"]);
    check(&["certify", path, "--set", "environment.arms=none"]);
    check(&["certify", "/nowhere/x.toml"]);
    check(&["privacy", "sigma", "--epsilon", "0", "--delta", "1e-6"]);
    check(&["reproduce", "nonsense"]);
    std::fs::write(&file, "").unwrap();
    check(&["certify", path]);
    std::fs::remove_dir_all(&folder).unwrap();
}
