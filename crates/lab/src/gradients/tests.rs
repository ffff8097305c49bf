//! What an experiment file of this family must do.

use crate::Experiment;

fn experiment(rounds: u64, environment: &str, algorithms: &str) -> crate::Result<Experiment> {
    let text = format!(
        "name = \"t\"\nrounds = {rounds}\ntrials = 3\nseed = 1\n[environment]\n{environment}\n{algorithms}"
    );
    Experiment::parse(&text)
}

const SPHERE: &str = "kind = \"gradients\"\ndimension = 5";

#[test]
fn the_learner_beats_playing_zero_and_privacy_costs() {
    let algorithms = "[[algorithm]]\nkind = \"zero\"\n[[algorithm]]\nkind = \"sum\"\n\
        [[algorithm]]\nkind = \"sum\"\nname = \"private\"\nprivacy = { epsilon = 8.0 }";
    let experiment = experiment(3000, SPHERE, algorithms).unwrap();
    let guarantee = |index: usize| experiment.contestants()[index].guarantee();
    assert!(guarantee(1).is_none());
    assert!((guarantee(2).unwrap().epsilon() - 8.0).abs() < 1e-6);
    let summary = experiment.simulate(|_, _| ()).unwrap();
    let regret = |index: usize| summary.algorithms[index].final_regret.mean;
    assert!(
        regret(1) < regret(2) && regret(2) < regret(0),
        "{} {} {}",
        regret(0),
        regret(1),
        regret(2)
    );
    // The numeric bound stands beside the regret and is not exceeded.
    let bound = summary.algorithms[1].measures.iter().find(|m| m.0 == "numeric regret bound");
    assert!(bound.unwrap().1.mean > regret(1));
}

#[test]
fn a_few_private_people_are_promised_something_and_the_others_nothing() {
    let algorithms = "[[algorithm]]\nkind = \"reduction\"\nprior = \"improper\"\nprivacy = { epsilon = 1.0, people = 10 }";
    let experiment = experiment(500, SPHERE, algorithms).unwrap();
    let contestant = &experiment.contestants()[0];
    assert!(contestant.guarantee().is_none());
    assert_eq!(contestant.certificates().len(), 1);
    assert!(contestant.certificates()[0].whom.contains("10 of 500"));
}

#[test]
fn every_algorithm_and_randomizer_runs_and_repeats() {
    let sparse = "kind = \"gradients\"\ndimension = 6\nfeatures = \"sparse\"\nsupport = 2";
    let mut algorithms = String::new();
    for (kind, more) in [
        ("reduction", "privacy = { epsilon = 4.0 }"),
        ("coordinatewise", "privacy = { epsilon = 4.0, randomizer = \"l1_laplace\" }"),
        ("sum", "privacy = { epsilon = 4.0, randomizer = \"staircase\" }\nprior = \"uniform\""),
        ("known_noise", "privacy = { epsilon = 4.0, randomizer = \"even_laplace\" }"),
        ("gradient_descent", "radius = 3.0"),
        (
            "adagrad",
            "radius = 3.0\nprivacy = { epsilon = 2.0, randomizer = \"attributes\", levels = [1.0, 1.0, 0.0, 0.0, 0.0, 0.0] }",
        ),
        ("zero", ""),
    ] {
        algorithms += &format!("[[algorithm]]\nkind = \"{kind}\"\n{more}\n");
    }
    let run = || experiment(300, sparse, &algorithms).unwrap().simulate(|_, _| ()).unwrap();
    let (first, second) = (run(), run());
    for (one, two) in first.algorithms.iter().zip(&second.algorithms) {
        assert!(one.final_regret.mean.is_finite());
        assert_eq!(one.final_regret.mean, two.final_regret.mean, "{}", one.name);
    }
}

#[test]
fn bad_lines_are_named() {
    let refuse = |environment: &str, algorithms: &str| {
        experiment(100, environment, algorithms).err().map(|error| error.to_string()).unwrap()
    };
    let sum = "[[algorithm]]\nkind = \"sum\"";
    assert!(refuse("kind = \"gradients\"\ndimension = 0", sum).contains("dimension"));
    assert!(
        refuse("kind = \"gradients\"\ndimension = 3\nloss = \"squared\"", sum).contains("loss")
    );
    assert!(
        refuse("kind = \"records\"\nfile = \"nowhere.csv\"\nloss = \"hinge\"", sum)
            .contains("nowhere.csv")
    );
    let with = |line: &str| format!("{sum}\n{line}");
    assert!(refuse(SPHERE, &with("privacy = { epsilon = -1.0 }")).contains("epsilon"));
    assert!(
        refuse(SPHERE, &with("privacy = { epsilon = 1.0, randomizer = \"attributes\" }"))
            .contains("levels")
    );
    assert!(refuse(SPHERE, &with("step = 0.0")).contains("step"));
    assert!(refuse(SPHERE, "[[algorithm]]\nkind = \"adagrad\"\nradius = -3.0").contains("radius"));
}
