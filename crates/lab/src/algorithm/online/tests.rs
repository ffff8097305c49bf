//! Tests of experiment files of this family.

use reticent::{online::Method, privacy::Guarantee};

use super::{KnownNoiseToml, MethodToml, OnlineLearnerToml};
use crate::Experiment;

fn experiment(rounds: u64, environment: &str, algorithms: &str) -> crate::Result<Experiment> {
    let text = format!(
        "name = \"t\"\nrounds = {rounds}\ntrials = 3\nseed = 1\n[environment]\n{environment}\n{algorithms}"
    );
    Experiment::parse(&text)
}

const SPHERE: &str = "kind = \"gradients\"\ndimension = 5";

/// At delta = 1e-9 K-norm noise of this number of epsilons in all costs hardly less than their sum.
fn just_below(guarantee: &Guarantee, sum: f64) -> bool {
    (0.99 * sum..=sum).contains(&guarantee.epsilon())
}

#[test]
fn the_learner_beats_playing_zero_and_privacy_costs() {
    let algorithms = "[[algorithm]]\nkind = \"zero\"\n[[algorithm]]\nkind = \"online_learner\"\n\
        [[algorithm]]\nkind = \"online_learner\"\nname = \"private\"\nprivacy = { epsilon = 8.0 }";
    let experiment = experiment(3000, SPHERE, algorithms).unwrap();
    let guarantee = |index: usize| experiment.algorithms()[index].guarantee();
    assert!(guarantee(1).is_none());
    assert!(just_below(guarantee(2).unwrap(), 8.0));
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
fn only_people_who_ask_for_privacy_have_a_guarantee() {
    let algorithms = "[[algorithm]]\nkind = \"online_learner\"\nmethod = { reduction = { prior = \"improper\" } }\nprivacy = { epsilon = 1.0, people = 10 }";
    let experiment = experiment(500, SPHERE, algorithms).unwrap();
    let algorithm = &experiment.algorithms()[0];
    assert!(algorithm.guarantee().is_none());
    assert_eq!(algorithm.card().certificates.len(), 1);
    assert!(algorithm.card().certificates[0].whom.contains("10 of 500"));
}

#[test]
fn every_algorithm_and_randomizer_runs_and_repeats() {
    let sparse = "kind = \"gradients\"\ndimension = 6\nfeatures = \"sparse\"\nsupport = 2";
    let mut algorithms = String::new();
    for (method, privacy) in [
        ("\"reduction\"", "epsilon = 4.0"),
        ("\"coordinatewise\"", "epsilon = 4.0, randomizer = \"l1_laplace\""),
        ("{ sum = { prior = \"uniform\" } }", "epsilon = 4.0, randomizer = \"staircase\""),
        ("\"known_noise\"", "epsilon = 4.0, randomizer = \"even_laplace\""),
        ("{ gradient_descent = { radius = 3.0 } }", "epsilon = 4.0, people = 0"),
        (
            "{ adagrad = { radius = 3.0 } }",
            "randomizer = \"attributes\", levels = [1.0, 1.0, 0.0, 0.0, 0.0, 0.0]",
        ),
    ] {
        algorithms += &format!(
            "[[algorithm]]\nkind = \"online_learner\"\nmethod = {method}\nprivacy = {{ {privacy} }}\n"
        );
    }
    algorithms += "[[algorithm]]\nkind = \"zero\"\n";
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
    let sum = "[[algorithm]]\nkind = \"online_learner\"";
    assert!(refuse("kind = \"gradients\"\ndimension = 0", sum).contains("dimension"));
    // A million people of a million features would take all memory there is.
    let huge = experiment(1_000_000, "kind = \"gradients\"\ndimension = 1_000_000", sum);
    let message = huge.err().unwrap().to_string();
    assert!(message.contains("rounds: got 1000000") && message.contains("at most 100 rounds"));
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
    let both = "privacy = { epsilon = 1.0, randomizer = \"attributes\", levels = [1.0, 1.0, 0.0, 0.0, 0.0] }";
    assert!(refuse(SPHERE, &with(both)).contains("add up"));
    for (method, line, said) in [
        ("{ sum = { step = 0.0 } }", 10, "step: got 0; "),
        ("{ coordinatewise = { step = 2.0 } }", 10, "step: got an unknown key; expected `prior`"),
        ("{ adagrad = { radius = -3.0 } }", 10, "radius: got -3; "),
        ("{ adagrad = { step = 3.0 } }", 8, "radius: missing"),
        ("\"adagrad\"", 10, "method: got adagrad alone; expected a table"),
        ("\"oak\"", 10, "method: got `oak`; expected one of `reduction`"),
        (
            "{ known_noise = { stepp = 1.0 } }",
            10,
            "stepp: got an unknown key; expected `deviation` or `step`",
        ),
        ("{ known_noise = { deviation = -1.0 } }", 10, "deviation: got -1; "),
        ("{ known_noise = 3 }", 10, "known_noise: got 3; expected a table"),
        ("3", 10, "method: got 3; expected one of reduction, coordinatewise, "),
    ] {
        let error = refuse(SPHERE, &with(&format!("method = {method}")));
        let place = format!("line {line}, algorithm 1, ");
        assert!(error.contains(&place) && error.contains(said), "{method}: {error}");
    }
}

/// Files had the method as the kind of the algorithm, with its parameters beside it.
#[test]
fn a_method_in_place_of_the_kind_is_refused_with_what_to_write() {
    let refuse = |algorithm: &str| {
        experiment(100, SPHERE, &format!("[[algorithm]]\n{algorithm}")).err().unwrap().to_string()
    };
    for (algorithm, method) in [
        ("kind = \"sum\"", "\"sum\""),
        ("kind = \"known_noise\"\nprivacy = { epsilon = 1.0 }", "\"known_noise\""),
        ("kind = \"adagrad\"\nname = \"D\"\nradius = 3.0", "{ adagrad = { radius = 3.0 } }"),
        (
            "kind = \"reduction\"\nprior = [\"improper\", \"uniform\"]\nstep = 1.5",
            "{ reduction = { prior = [\"improper\", \"uniform\"], step = 1.5 } }",
        ),
    ] {
        let error = refuse(algorithm);
        let remedy = format!("write kind = \"online_learner\" and method = {method}");
        assert!(error.contains("line 9") && error.contains("kind: got `"), "{error}");
        assert!(error.ends_with(&remedy), "{error}");
        // What it says to write is right.
        let written = format!("[[algorithm]]\nkind = \"online_learner\"\nmethod = {method}");
        experiment(100, SPHERE, &written).unwrap();
    }
    assert!(!refuse("kind = \"oak\"").contains("method"));
    let elsewhere = "kind = \"sphere\"\ndimension = 3\narms = 4";
    let error = experiment(100, elsewhere, "[[algorithm]]\nkind = \"sum\"").err().unwrap();
    assert!(!error.to_string().contains("method"), "{error}");
}

/// Without a deviation the learner knows the noise of the people; with one it uses the given value.
#[test]
fn the_known_noise_is_that_of_the_people_unless_it_is_given() {
    let people = "privacy = { epsilon = 2.0 }";
    let regret = |method: &str| {
        let algorithm = format!(
            "[[algorithm]]\nkind = \"online_learner\"\nname = \"n\"\nmethod = {method}\n{people}"
        );
        let experiment = experiment(300, SPHERE, &algorithm).unwrap();
        experiment.simulate(|_, _| ()).unwrap().algorithms[0].final_regret.mean
    };
    let randomizer = reticent::randomize::KNormRandomizer::new(5, 2.0, 1.0).unwrap();
    let deviation = randomizer.second_moment().sqrt();
    let known = regret("\"known_noise\"");
    assert_eq!(known, regret("{ known_noise = {} }"));
    assert_eq!(known, regret(&format!("{{ known_noise = {{ deviation = {deviation:?} }} }}")));
    assert_ne!(known, regret("{ known_noise = { deviation = 0.5 } }"));
    assert_ne!(known, regret("{ known_noise = { step = 0.5 } }"));
}

/// A table of Rust, as the reproduction of a paper has it, is written as the file that reads as the same table.
#[test]
fn methods_are_written_as_they_are_read() {
    for method in [
        MethodToml::default(),
        MethodToml::KnownNoise { known_noise: KnownNoiseToml { deviation: None, step: 1.5 } },
        MethodToml::KnownNoise { known_noise: KnownNoiseToml { deviation: Some(2.0), step: 1.0 } },
        Method::GradientDescent { radius: 3.0, step: 0.5 }.into(),
    ] {
        let lines = OnlineLearnerToml { method, ..OnlineLearnerToml::default() };
        let text = toml::to_string(&lines).unwrap();
        assert_eq!(toml::from_str::<OnlineLearnerToml>(&text).unwrap(), lines, "{text}");
    }
}

/// Every value of a list is one learner, also a list of methods.
#[test]
fn methods_and_their_parameters_make_a_grid() {
    let names = |method: &str| -> Vec<String> {
        let algorithm = format!("[[algorithm]]\nkind = \"online_learner\"\nmethod = {method}");
        let experiment = experiment(100, SPHERE, &algorithm).unwrap();
        experiment.cells().iter().map(|cell| cell.name.clone()).collect()
    };
    let [sum, second] = ["sum of 2 and 3, conjugate", "Algorithm 2, conjugate"];
    assert_eq!(names("[\"sum\", \"reduction\"]"), [sum, second]);
    let radii = ["gradient descent, D = 3", "gradient descent, D = 30"];
    assert_eq!(names("{ gradient_descent = { radius = [3.0, 30.0] } }"), radii);
}

/// A file of people with a level each, in a separate folder.
fn people_file(name: &str, levels: &dyn Fn(usize) -> &'static str) -> std::path::PathBuf {
    let path = std::env::temp_dir().join(format!("reticent-learn-{}-{name}", std::process::id()));
    let mut text = String::from("name,x,epsilon,y\n");
    for i in 0..4000 {
        let x = ((i * 37) % 101) as f64 / 50.0 - 1.0;
        let y = u8::from((x > 0.0) != (i % 17 == 0));
        text += &format!("\"P{i}, Q\",{x},{},{y}\n", levels(i));
    }
    std::fs::write(&path, text).unwrap();
    path
}

fn learn(path: &std::path::Path, more: &str) -> crate::Result<super::Learnt> {
    learn_by(path, more, 1)
}

fn learn_by(path: &std::path::Path, more: &str, seed: u64) -> crate::Result<super::Learnt> {
    let text = format!("file = {path:?}\nfeatures = [\"x\"]\n{more}");
    super::LearnFile::parse(&text)?.learn(&mut crate::FastNoise::seeded(seed))
}

#[test]
fn a_model_is_learnt_in_one_pass_and_everybody_has_their_own_level() {
    let level = |i: usize| ["inf", "8", "0", "16"][i % 4];
    let path = people_file("levels.csv", &level);
    let others = people_file("others.csv", &|_| "1");
    // Other people: one line less.
    let text = std::fs::read_to_string(&others).unwrap();
    std::fs::write(&others, text.trim_end().rsplit_once('\n').unwrap().0).unwrap();
    for loss in ["logistic", "hinge", "absolute", "squared"] {
        let lines = format!(
            "loss = {loss:?}\ntest = {others:?}\nepsilon_column = \"epsilon\"\n[ranges]\nx = [-1, 1]\ny = [0, 1]\n"
        );
        let learnt = learn(&path, &lines).unwrap();
        assert_eq!((learnt.private, learnt.in_the_clear, learnt.silent), (2000, 1000, 1000));
        assert!(learnt.features[0].weight > 0.3, "{loss}: {learnt:?}");
        let test = learnt.test.unwrap();
        assert!(test.mean_loss < test.mean_loss_of_zero, "{loss}: {test:?}");
        assert_eq!(test.accuracy.is_some(), ["logistic", "hinge"].contains(&loss));
        let epsilons: Vec<f64> =
            learnt.certificates.iter().map(|c| c.guarantee.epsilon()).collect();
        assert!((epsilons[0] - 8.0).abs() < 1e-6 && (epsilons[1] - 16.0).abs() < 1e-6);
        let conditions = learnt.certificates[0].guarantee.conditions().join("; ");
        assert!(conditions.contains("no person in the file `test` is among these people"));
        let trusted = learnt.certificates[0].guarantee.model();
        assert_eq!(
            trusted,
            reticent::privacy::TrustModel::Joint,
            "one machine reads the whole file"
        );
        assert!(!conditions.contains("ranges of"), "{conditions}");
        assert!(learnt.warnings.iter().any(|w| w.contains("1000 people asked for no privacy")));
        // The certified people themselves are not measured.
        let same = learn(&path, &lines.replace("others.csv", "levels.csv")).unwrap_err();
        assert!(same.to_string().contains("expected a file of other people"), "{same}");
    }
    std::fs::remove_file(path).unwrap();
    std::fs::remove_file(others).unwrap();
}

#[test]
fn private_people_send_noise_and_a_person_on_many_lines_is_charged_for_each() {
    let path = people_file("noise.csv", &|_| "1");
    let weight = |privacy: &str, seed: u64| {
        let lines = format!("loss = \"hinge\"\n{privacy}[ranges]\nx = [-1, 1]\ny = [0, 1]\n");
        learn_by(&path, &lines, seed).unwrap().features[0].weight
    };
    // Without noise the generator is not used; with noise the result depends on it, more so for smaller epsilon.
    assert_eq!(weight("", 1), weight("", 2));
    let spread = |epsilon: f64| {
        let privacy = format!("privacy = {{ epsilon = {epsilon:?} }}\n");
        let weights: Vec<f64> = (0..20).map(|seed| weight(&privacy, seed)).collect();
        let mean = weights.iter().sum::<f64>() / 20.0;
        (weights.iter().map(|w| (w - mean).powi(2)).sum::<f64>() / 19.0).sqrt()
    };
    assert!(spread(8.0) > 0.02, "{}", spread(8.0));
    let lines = "loss = \"hinge\"\nlines_per_person = 3\nprivacy = { epsilon = 1.0 }\n[ranges]\nx = [-1, 1]\ny = [0, 1]\n";
    let guarantee = &learn(&path, lines).unwrap().certificates[0].guarantee;
    assert!(just_below(guarantee, 3.0), "{guarantee}");
    std::fs::remove_file(path).unwrap();
}

#[test]
fn the_guarantee_of_a_person_on_lines_of_several_levels_covers_all_lines() {
    let lines = |count: u64| {
        format!(
            "loss = \"hinge\"\nlines_per_person = {count}\nepsilon_column = \"epsilon\"\n[ranges]\nx = [-1, 1]\ny = [0, 1]\n"
        )
    };
    // One line asks for 8, one for nothing, all others for 1.
    let level = |i: usize| {
        if i == 5 {
            "8"
        } else if i == 6 {
            "inf"
        } else {
            "1"
        }
    };
    let path = people_file("mixed.csv", &level);
    for (count, truth) in [(2, 9.0), (3, 10.0)] {
        let certificates = learn(&path, &lines(count)).unwrap().certificates;
        assert_eq!(certificates.len(), 1, "the guarantee covers all lines of a person");
        let guarantee = &certificates[0].guarantee;
        assert!(just_below(guarantee, truth), "{guarantee}");
        assert!(
            guarantee.conditions().iter().any(|c| c.contains("sent without noise")),
            "{guarantee}"
        );
        assert!(certificates[0].whom.contains(&format!("up to {count}")));
    }
    assert_eq!(learn(&path, &lines(1)).unwrap().certificates.len(), 2);
    // Two lines at 8 may be one person's.
    let level = |i: usize| if i.is_multiple_of(2) { "8" } else { "1" };
    let path = people_file("mixed.csv", &level);
    let certificates = learn(&path, &lines(2)).unwrap().certificates;
    assert!(just_below(&certificates[0].guarantee, 16.0));
    std::fs::remove_file(path).unwrap();
}

#[test]
fn bad_learning_files_are_named() {
    let path = people_file("bad.csv", &|i| if i == 3 { "-1" } else { "1" });
    let refuse = |more: &str, word: &str| {
        let error = learn(&path, more).unwrap_err().to_string();
        assert!(error.contains(word), "{error}");
    };
    let ranges = "[ranges]\nx = [-1, 1]";
    let all = "[ranges]\nx = [-1, 1]\ny = [0, 1]";
    refuse(&format!("loss = \"logistic\"\nepsilon_column = \"epsilon\"\n{all}"), "person 4");
    // A class may occur for one person only.
    let own = "loss = \"logistic\"\nepsilon_column = \"epsilon\"\n";
    refuse(&format!("{own}{ranges}"), "public range of y");
    refuse(&format!("{own}label = \"epsilon\"\n{all}"), "must not depend");
    refuse(&format!("{own}lines_per_person = 0\n{all}"), "lines_per_person: got 0");
    // Ranges taken from private people would reveal their data.
    refuse("loss = \"logistic\"\nepsilon_column = \"epsilon\"", "public range of x");
    refuse("loss = \"logistic\"\nprivacy = { epsilon = 1.0 }", "public range of x");
    refuse(
        &format!("loss = \"absolute\"\nprivacy = {{ epsilon = 1.0 }}\n{ranges}"),
        "public range of y",
    );
    refuse(&format!("loss = \"hinge\"\nprivacy = {{ epsilon = 0.0 }}\n{all}"), "epsilon: got 0");
    let huge = people_file("huge.csv", &|i| if i == 3 { "1e999" } else { "1" });
    let slip = learn(&huge, &format!("{own}{all}")).unwrap_err().to_string();
    assert!(slip.contains("line 5") && slip.contains("1e999"), "{slip}");
    std::fs::remove_file(huge).unwrap();
    refuse("loss = \"logistic\"\nepsilon_column = \"level\"", "column: got \"level\"");
    refuse("loss = \"logistic\"\nlabel = \"name\"", "line 2");
    refuse("loss = \"quartic\"", "quartic");
    refuse("loss = \"hinge\"\nprivacy = { epsilon = 1.0, people = 3 }", "people");
    refuse("loss = \"hinge\"\nprivacy = { epsilon = 1.0 }\nepsilon_column = \"epsilon\"", "either");
    refuse("loss = \"hinge\"\ncolour = 3", "colour");
    std::fs::remove_file(path).unwrap();
}

#[test]
fn who_is_private_stays_private_in_every_pass() {
    let path = people_file("passes.csv", &|_| "1");
    let environment =
        format!("kind = \"records\"\nfile = {path:?}\nloss = \"hinge\"\nfeatures = [\"x\"]");
    let algorithm =
        "[[algorithm]]\nkind = \"online_learner\"\nprivacy = { epsilon = 1.0, people = 30 }";
    let twice = experiment(6000, &environment, algorithm).unwrap();
    let certificate = &twice.algorithms()[0].card().certificates[0];
    assert_ne!(twice.algorithms()[0].data_hash(), 0);
    // Each person sends two reports, and the guarantee covers both.
    assert!(certificate.whom.contains("30 of 3000"), "{}", certificate.whom);
    assert!(just_below(&certificate.guarantee, 2.0));
    assert!(certificate.guarantee.conditions().iter().any(|c| c.contains("ranges of x")));
    let crowd = "privacy = { epsilon = 1.0, people = 3001 }";
    let error = experiment(
        6000,
        &environment,
        &format!("[[algorithm]]\nkind = \"online_learner\"\n{crowd}"),
    );
    assert!(error.err().unwrap().to_string().contains("at most 3000"));
    std::fs::remove_file(path).unwrap();
}
