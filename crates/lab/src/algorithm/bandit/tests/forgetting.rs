//! `forget`: half-lives in files.

use super::*;

const PRIVACY: &str = "privacy = { epsilon = 20.0, delta = 1e-5 }\n";

#[test]
fn who_forgets_by_half_lives_copes_with_change_too() {
    let environment = "kind = \"sphere\"\n[environment.modifiers]\nchange_every = 2000";
    let lines = format!(
        "[[algorithm]]\nkind = \"linucb\"\nname = \"a\"\n[[algorithm]]\nkind = \"linucb\"\nname = \"b\"\nforget = 200.0\n\
        [[algorithm]]\nkind = \"joint\"\nname = \"c\"\n{PRIVACY}[[algorithm]]\nkind = \"joint\"\nname = \"d\"\nforget = 200.0\n{PRIVACY}"
    );
    let regrets = under(environment, 10_000, &lines, 6);
    let apart = |one: Estimate, two: Estimate| {
        (one.mean - two.mean) / one.standard_error.hypot(two.standard_error)
    };
    assert!(apart(regrets[0], regrets[1]) > 4.0, "{regrets:?}");
    assert!(apart(regrets[2], regrets[3]) > 4.0, "{regrets:?}");
}

/// A half-life of the whole run, with a test for changes: it follows them, and costs nothing where there is none.
#[test]
fn who_looks_for_changes_may_have_a_long_half_life() {
    let learner = |name: &str, keys: &str| {
        format!(
            "[[algorithm]]\nkind = \"joint\"\nname = \"{name}\"\nforget = 10_000.0\n{PRIVACY}{keys}\n"
        )
    };
    let lines = learner("keeps", "") + &learner("looks", "detect_changes = true");
    let environment =
        |every: u32| format!("kind = \"sphere\"\n[environment.modifiers]\nchange_every = {every}");
    let regrets = under(&environment(2500), 10_000, &lines, 6);
    assert!(regrets[1].mean < 0.5 * regrets[0].mean, "{regrets:?}");
    let regrets = under(&environment(20_000), 10_000, &lines, 6);
    assert!(regrets[1].mean < 1.3 * regrets[0].mean, "{regrets:?}");
}

/// In whole blocks as round by round: the certificate is what was asked for, and the certified rule is played too.
#[test]
fn half_lives_are_played_in_blocks() {
    let learner = |keys: &str| {
        format!(
            "[[algorithm]]\nkind = \"joint\"\nname = \"{}\"\nforget = 2000.0\n{PRIVACY}{keys}\n",
            keys.len()
        )
    };
    let lines =
        learner("") + &learner("rule = \"certified\"") + &learner("contributions_per_person = 2");
    let lines = lines + "[[algorithm]]\nkind = \"linucb\"\nforget = 2000.0\n";
    for environment in ["kind = \"gap\"\ndimension = 3\narms = 8", "kind = \"sphere\""] {
        let text = format!("name = \"t\"\nrounds = 20_000\n[environment]\n{environment}\n{lines}");
        let experiment = Experiment::parse(&text).unwrap();
        for algorithm in experiment.algorithms() {
            if let Some(guarantee) = algorithm.guarantee() {
                assert!((guarantee.epsilon() - 20.0).abs() < 1e-6, "{}", guarantee.epsilon());
            }
            let trial = algorithm.trial(3, 0, &[200, 20_000]).unwrap();
            assert!(trial.curve[1].regret >= trial.curve[0].regret);
        }
    }
}

#[test]
fn half_lives_that_make_no_sense_are_refused_with_the_reason() {
    for (keys, words) in [
        ("forget = 0.0", "forget: got 0"),
        ("forget = -3.0", "forget: got -3"),
        ("forget = nan", "forget: got NaN"),
        ("forget = inf", "forget: got inf"),
        ("forget = 50.0\nschedule = { geometric = { first = 8, rate = 0.1 } }", "constant gaps"),
        ("forget = 50.0\nrestart_every = 300", "leave one of `forget` and `restart_every` out"),
        ("detect_changes = true", "give `forget` too"),
        ("forget = 50.0\ndetect_changes = true\nrule = \"certified\"", "give tuned or fixed"),
        ("forget = 50.0\nmechanism = \"honaker\"", "made by BLT"),
        ("forget = 50.0\nmode = \"paper\"", "forget"),
        ("forget = 50.0\nmode = \"paper\"\nmechanism = \"gaussian_tree\"", "forget"),
    ] {
        let text = format!("[[algorithm]]\nkind = \"joint\"\n{PRIVACY}{keys}\n");
        let error = parse(&text).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains(words), "{keys}: {error}");
    }
    let text = format!(
        "name = \"t\"\nrounds = 20_000\n[environment]\nkind = \"gap\"\ndimension = 3\narms = 4\n[[algorithm]]\nkind = \"joint\"\nmode = \"paper\"\nmechanism = \"wishart\"\nforget = 50.0\n{PRIVACY}"
    );
    let error = Experiment::parse(&text).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("forget"), "{error}");
}
