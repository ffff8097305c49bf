//! The family as a whole: files in, contestants out, and the figures others rely on.

use crate::{Experiment, contest::Contestant, summary::Estimate};

fn parse(algorithms: &str) -> crate::Result<Experiment> {
    Experiment::parse(&format!(
        "name = \"test\"\nrounds = 20_000\n[environment]\nkind = \"sphere\"\n{algorithms}"
    ))
}

/// Mean final regret over trials of another seed than any that was tuned on.
fn regret(contestant: &dyn Contestant, trials: u64) -> Estimate {
    let finals: Vec<f64> = (0..trials)
        .map(|trial| contestant.trial(77, trial, &[20_000]).unwrap().curve[0].regret)
        .collect();
    Estimate::of(&finals)
}

#[test]
fn every_kind_runs_from_a_file_and_says_what_it_promises() {
    let text = ["linucb", "joint", "local", "shuffle", "ldp_linucb", "online_ucb"].map(|kind| {
        let privacy = "privacy = { epsilon = 10.0, delta = 1e-5 }";
        let privacy = if kind == "linucb" { "" } else { privacy };
        format!("[[algorithm]]\nkind = \"{kind}\"\n{privacy}\n")
    });
    let experiment = parse(&text.concat()).unwrap();
    for contestant in experiment.contestants() {
        let trial = contestant.trial(3, 0, &[10, 300]).unwrap();
        assert!(trial.curve[1].regret >= trial.curve[0].regret, "{}", contestant.name());
        let again = contestant.trial(3, 0, &[10, 300]).unwrap();
        assert_eq!(trial.curve, again.curve);
        match contestant.guarantee() {
            Some(guarantee) => {
                assert!(guarantee.epsilon() <= 10.0 + 1e-9, "{guarantee}");
                assert!(guarantee.to_string().starts_with("SIMULATION"));
            }
            None => assert_eq!(contestant.name(), "LinUCB, not private"),
        }
    }
}

#[test]
fn people_of_different_levels_have_certificates_of_their_own() {
    let lines = "[[algorithm]]\nkind = \"local\"\nlevels = [0.5, 4.0]\nprivacy = { epsilon = 1.0, delta = 0.0 }";
    let experiment = parse(lines).unwrap();
    let contestant = &experiment.contestants()[0];
    let epsilons: Vec<f64> =
        contestant.certificates().iter().map(|c| c.guarantee.epsilon()).collect();
    assert!((epsilons[0] - 0.5).abs() < 1e-6 && (epsilons[1] - 4.0).abs() < 1e-6, "{epsilons:?}");
    assert_eq!(contestant.guarantee().unwrap().epsilon(), epsilons[1]);
    contestant.trial(1, 0, &[100]).unwrap();
}

#[test]
fn bad_lines_are_refused() {
    for (lines, field) in [
        ("[[algorithm]]\nkind = \"local\"\nprivacy = { epsilon = -1.0, delta = 0.1 }", "epsilon"),
        ("[[algorithm]]\nkind = \"local\"\nprivacy = { epsilon = 1.0, delta = 1.5 }", "delta"),
        (
            "[[algorithm]]\nkind = \"local\"\nmethod = \"reward_response\"\nprivacy = { epsilon = 1.0, delta = 0.0 }",
            "public_arms",
        ),
        (
            "[[algorithm]]\nkind = \"shuffle\"\nbatch = 0\nprivacy = { epsilon = 1.0, delta = 0.1 }",
            "batch",
        ),
        (
            "[[algorithm]]\nkind = \"joint\"\nmechanism = \"wishart\"\nprivacy = { epsilon = 1.0, delta = 0.1 }",
            "mechanism",
        ),
        ("[[algorithm]]\nkind = \"telepathy\"", "telepathy"),
        ("[[algorithm]]\nkind = \"linucb\"\ncolour = 3", "colour"),
    ] {
        let error = parse(lines).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains(field), "{field}: {error}");
    }
    let negative = "name = \"x\"\nrounds = 9\n[environment]\nkind = \"sphere\"\nnorm = -1.0\n[[algorithm]]\nkind = \"linucb\"";
    assert!(Experiment::parse(negative).is_err());
}

#[test]
fn certificates_of_published_constants_are_the_table() {
    // The public code's own arms have norm sqrt 2.
    let lines = |epsilon: f64| {
        let privacy =
            format!("mode = \"paper\"\nprivacy = {{ epsilon = {epsilon:?}, delta = 0.1 }}");
        format!(
            "norm = 1.4142135623730951\n[[algorithm]]\nkind = \"ldp_linucb\"\n{privacy}\n\
             [[algorithm]]\nkind = \"joint\"\n{privacy}\n\
             [[algorithm]]\nkind = \"shuffle\"\naggregation = \"permute\"\n{privacy}\n\
             [[algorithm]]\nkind = \"shuffle\"\n{privacy}\n"
        )
    };
    for (epsilon, expected) in [
        (0.2, [0.081_295_494_8, 0.037_874_055_4, 0.042_210_478_9, 0.028_734_744_8]),
        (1.0, [0.485_190_642_9, 0.250_451_087_0, 0.276_382_098_2, 0.000_690_001_6]),
        (10.0, [1.0, 0.999_999_996, 0.999_999_999_6, 0.148_066_965_8]),
    ] {
        let experiment = parse(&lines(epsilon)).unwrap();
        for (contestant, expected) in experiment.contestants().iter().zip(expected) {
            let claim = contestant.guarantee().unwrap().claimed().unwrap().clone();
            assert!(
                (claim.true_delta / expected - 1.0).abs() < 1e-6,
                "{} at {epsilon}: {}",
                contestant.name(),
                claim.true_delta
            );
        }
    }
}

#[test]
fn online_ucb_with_the_printed_sigma_is_where_the_figure_has_it() {
    let lines = "[[algorithm]]\nkind = \"online_ucb\"\nmode = \"paper\"\nprivacy = { epsilon = 10.0, delta = 0.1 }";
    let experiment = parse(lines).unwrap();
    let estimate = regret(&*experiment.contestants()[0], 12);
    assert!((350.0..850.0).contains(&estimate.mean), "{estimate:?}");
}

#[test]
fn certified_joint_privacy_is_where_the_notes_have_it() {
    // The setting that nine tried on other seeds left over.
    let lines = "[[algorithm]]\nkind = \"joint\"\nmechanism = \"tree\"\ncentred = false\n\
                 privacy = { epsilon = 1.0, delta = 0.1 }\n\
                 exploration = { tuned = { ridge = 6.0, bonus = 0.05, width = 0.0 } }";
    let experiment = parse(lines).unwrap();
    let contestant = &experiment.contestants()[0];
    assert!((contestant.guarantee().unwrap().epsilon() - 1.0).abs() < 1e-6);
    let estimate = regret(&**contestant, 40);
    assert!((estimate.mean - 345.0).abs() < 40.0, "{estimate:?}");
}
