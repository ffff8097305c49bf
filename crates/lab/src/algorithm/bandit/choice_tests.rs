//! Every choice of every enum that learners take has one name, which files and Python read.
//!
//! The choices are in `vectors/choices.json`, which `RETICENT_WRITE_VECTORS=1` writes anew; `crates/python/tests/test_choices.py` gives each to
//! the Python classes.

use reticent::{
    bandit::{Aggregation, Regularizer, RewardWindow, Rule},
    online::{self, Prior},
    privacy::Mode,
    randomize::{Intercept, Method},
    release::{Mechanism, Schedule},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::LearnerName;
use crate::{
    Experiment,
    papers::constants::joint::{JointMode, PublishedNoise},
};

/// Values of one key of one kind of algorithm, with the keys that they need.
#[derive(Serialize)]
struct Choices {
    kind: &'static str,
    key: &'static str,
    beside: Value,
    values: Vec<Value>,
}

/// Bare names, and the choices with all of their parameters. A name without a bare form is in `with_parameters`.
fn forms<T>(names: &[&str], with_parameters: &[T]) -> Vec<Value>
where
    T: Serialize + DeserializeOwned,
{
    let given: Vec<Value> =
        with_parameters.iter().map(|choice| serde_json::to_value(choice).unwrap()).collect();
    let mut all = Vec::new();
    for name in names {
        match serde_json::from_value::<T>(json!(name)) {
            Ok(choice) => all.extend([json!(name), serde_json::to_value(choice).unwrap()]),
            Err(_) => {
                let own = given.iter().find(|choice| choice.get(name).is_some());
                all.push(own.unwrap_or_else(|| panic!("{name} has no form")).clone());
            }
        }
    }
    all.dedup();
    all
}

/// Everything that may be chosen; a new variant without a line here does not compile.
fn all() -> Vec<Choices> {
    let regularizer = Regularizer::constant(2.0);
    let rules = forms(
        Rule::NAMES,
        &[Rule::Regularized {
            regularizer,
            failure_probability: None,
            parameter_bound: 1.0,
            reward_noise: 1.0,
        }],
    );
    // Sums without noise have no regulariser that stands for noise.
    let exact = rules.iter().filter(|rule| rule.get("regularized").is_none()).cloned().collect();
    let gram = vec![0.4, 0.0, 0.0, 0.3, 0.0, 0.3];
    let methods = forms(Method::NAMES, &[Method::KnownGram { gram, reports: 9 }]);
    // Methods that show the arm need public arms.
    let public = |value: &&Value| {
        let method: Method = serde_json::from_value((*value).clone()).unwrap();
        method.shows_arms()
    };
    let shown: Vec<Value> = methods.iter().filter(public).cloned().collect();
    let hidden = methods.iter().filter(|value| !public(value)).cloned().collect();
    let aggregations = [Aggregation::Sum, Aggregation::Permute].map(|choice| match choice {
        Aggregation::Sum => json!("sum"),
        Aggregation::Permute => json!("permute"),
    });
    let modes = [Mode::Exact, Mode::Paper].map(|choice| match choice {
        Mode::Exact => json!("exact"),
        Mode::Paper => json!("paper"),
    });
    let joint_modes =
        [JointMode::Exact, JointMode::Paper, JointMode::Printed].map(|choice| match choice {
            JointMode::Exact => json!("exact"),
            JointMode::Paper => json!("paper"),
            JointMode::Printed => json!("printed"),
        });
    let windows = [RewardWindow::Decisions(50), RewardWindow::Clock].map(|choice| match choice {
        RewardWindow::Decisions(decisions) => json!(decisions),
        RewardWindow::Clock => json!("clock"),
    });
    let published: Vec<Value> = PublishedNoise::NAMED
        .iter()
        .map(|(_, noise)| serde_json::to_value(noise).unwrap())
        .collect();
    let schedules = forms(Schedule::NAMES, &[Schedule::Geometric { first: 8, rate: 0.1 }]);
    let intercept = 0.5_f64.sqrt();
    let intercepts = [Intercept(Some(intercept)), Intercept(None)];
    let intercepts = || intercepts.iter().map(|value| json!(value)).collect::<Vec<_>>();
    let booleans = || vec![json!(true), json!(false)];
    let priors = forms::<Prior>(Prior::NAMES, &[Prior::Conjugate { precision: Some(4.0) }]);
    let online = forms(
        online::Method::NAMES,
        &[
            online::Method::KnownNoise { deviation: 0.5, step: 1.0 },
            online::Method::GradientDescent { radius: 2.0, step: 0.5 },
            online::Method::Adagrad { radius: 2.0, step: 0.5 },
        ],
    );
    let with_priors = priors.iter().map(|prior| json!({ "reduction": { "prior": prior } }));
    let online = online.into_iter().chain(with_priors).collect();
    let learners = [LearnerName::Maler, LearnerName::GradientDescent].map(|choice| match choice {
        LearnerName::Maler => json!("maler"),
        LearnerName::GradientDescent => json!("gradient_descent"),
    });
    let descent = || json!({ "learner": "gradient_descent" });
    let none = || json!({});
    let batch = || json!({ "batch": 50 });
    let choices = |kind, key, beside, values| Choices { kind, key, beside, values };
    vec![
        choices("joint", "mechanism", none(), forms::<Mechanism>(Mechanism::NAMES, &[])),
        choices("joint", "mechanism", none(), vec![json!("suited")]),
        choices("joint", "mechanism", json!({ "mode": "paper" }), published),
        choices(
            "joint",
            "mode",
            json!({ "mechanism": "gaussian_tree" }),
            joint_modes[1..].to_vec(),
        ),
        choices("joint", "mode", json!({ "mechanism": "blt" }), joint_modes[..1].to_vec()),
        choices("joint", "schedule", none(), schedules),
        choices("joint", "rule", none(), rules.clone()),
        choices("joint", "window", none(), windows.to_vec()),
        choices("joint", "default_reward", json!({ "window": 50 }), vec![json!(0.5)]),
        choices("local", "method", none(), hidden),
        choices("local", "method", json!({ "public_arms": true }), shown),
        choices("local", "rule", json!({ "method": "gram_gaussian" }), rules.clone()),
        choices("shuffle", "aggregation", batch(), aggregations.to_vec()),
        choices("shuffle", "rule", json!({ "batch": 50, "aggregation": "sum" }), rules),
        choices("linucb", "rule", none(), exact),
        choices("linucb", "regularizer", json!({ "rule": "certified" }), vec![json!(2.0)]),
        choices("joint", "intercept", none(), intercepts()),
        choices("local", "intercept", none(), intercepts()),
        choices("shuffle", "intercept", batch(), intercepts()),
        choices("linucb", "intercept", none(), intercepts()),
        choices("local", "unit_arms", none(), booleans()),
        choices("shuffle", "unit_arms", batch(), booleans()),
        choices("local", "late_models", none(), vec![json!(0), json!(7)]),
        choices("shuffle", "honest", batch(), vec![json!(40)]),
        choices("shuffle", "batch", none(), vec![json!(25)]),
        choices("online_learner", "method", none(), online),
        choices("online_ucb", "learner", none(), learners.to_vec()),
        choices("anytime", "learner", none(), learners.to_vec()),
        choices("combiner", "learner", none(), learners.to_vec()),
        choices("online_linucb", "learner", none(), learners.to_vec()),
        choices("online_ucb", "mode", none(), modes.to_vec()),
        choices("anytime", "mode", none(), modes.to_vec()),
        choices("combiner", "mode", none(), modes.to_vec()),
        choices("online_ucb", "literal", none(), booleans()),
        choices("anytime", "literal", none(), booleans()),
        choices("combiner", "literal", none(), booleans()),
        choices("online_ucb", "exp_concave", none(), booleans()),
        choices("online_ucb", "width", none(), vec![json!(2.0)]),
        choices("online_ucb", "gradient_bound", none(), vec![json!(20.0)]),
        choices("online_ucb", "step", descent(), vec![json!(0.01)]),
        choices("online_linucb", "width", none(), vec![json!(2.0)]),
        choices("online_linucb", "step", descent(), vec![json!(0.01)]),
    ]
}

/// An experiment with one algorithm that has this choice.
fn experiment(choices: &Choices, value: &Value) -> crate::Result<Experiment> {
    let mut algorithm = choices.beside.as_object().unwrap().clone();
    algorithm.insert("kind".into(), json!(choices.kind));
    algorithm.insert(choices.key.into(), without_null(value));
    let mut environment = json!({ "kind": "sphere", "dimension": 3, "arms": 4 });
    match choices.kind {
        "linucb" | "online_linucb" => {}
        "online_learner" => environment = json!({ "kind": "gradients", "dimension": 3 }),
        _ => {
            algorithm.insert("privacy".into(), json!({ "epsilon": 1.0, "delta": 1e-6 }));
        }
    }
    let table = json!({ "name": "t", "rounds": 400,
        "environment": environment, "algorithm": [algorithm] });
    Experiment::parse(&toml::to_string(&table).unwrap())
}

/// TOML has no null: a parameter without a value is left out.
fn without_null(value: &Value) -> Value {
    match value {
        Value::Object(table) => {
            let given = table.iter().filter(|(_, value)| !value.is_null());
            given.map(|(name, value)| (name.clone(), without_null(value))).collect()
        }
        other => other.clone(),
    }
}

#[test]
fn every_choice_is_read_from_a_file_by_the_name_it_has_everywhere() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../vectors/choices.json");
    let choices = all();
    let text = serde_json::to_string_pretty(&choices).unwrap() + "\n";
    if std::env::var_os("RETICENT_WRITE_VECTORS").is_some() {
        std::fs::write(path, &text).unwrap();
    }
    assert_eq!(std::fs::read_to_string(path).unwrap(), text);
    for choices in &choices {
        assert!(!choices.values.is_empty());
        for value in &choices.values {
            let found = experiment(choices, value).map(drop);
            if *value == json!("clock") {
                // Only a caller has a clock.
                let error = found.unwrap_err().to_string();
                assert!(error.contains("an experiment counts rounds"), "{error}");
            } else if *value == json!("two_level") || value.get("two_level").is_some() {
                // Arms of this environment are drawn, not made from a table of features, and reports have no such rule.
                let error = found.unwrap_err().to_string();
                let expected = ["expected a table of features", "expected tuned or thompson"];
                assert!(expected.iter().any(|words| error.contains(words)), "{error}");
            } else if *value == json!("episodes") || value.get("episodes").is_some() {
                // Arms of this environment are fixed, and some learners take any; a shuffler's batch is then an episode.
                match choices.kind {
                    "linucb" | "joint" => found.unwrap(),
                    kind => {
                        let error = found.unwrap_err().to_string();
                        let words = if kind == "shuffle" { "aggregation" } else { "may depend" };
                        assert!(error.contains(words), "{error}");
                    }
                }
            } else {
                found.unwrap_or_else(|error| panic!("{} = {value}: {error}", choices.key));
            }
        }
        let refused = experiment(choices, &json!("oak")).map(drop).unwrap_err().to_string();
        assert!(refused.contains(choices.key), "{refused}");
    }
}

/// A choice without a default for each of its parameters is refused with the form it has.
#[test]
fn a_bare_name_that_needs_parameters_is_refused() {
    for (name, refused) in [
        ("geometric", serde_json::from_value::<Schedule>(json!("geometric")).map(drop)),
        ("known_gram", serde_json::from_value::<Method>(json!("known_gram")).map(drop)),
        ("regularized", serde_json::from_value::<Rule>(json!("regularized")).map(drop)),
    ] {
        let error = refused.unwrap_err().to_string();
        assert!(
            error.contains(name) && error.contains(" alone; expected a table with its parameters"),
            "{error}"
        );
    }
}
