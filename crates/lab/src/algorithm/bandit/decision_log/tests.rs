use reticent::{
    bandit::{Arms, LinUcb, LinUcbParams, Rule},
    noise::Noise,
    randomize::Bounds,
};

use super::*;
use crate::{
    Experiment, FastNoise, Kinds,
    environment::offline::{Evaluation, Line},
    play::trial::Trial,
};

fn folder(name: &str) -> PathBuf {
    let folder =
        std::env::temp_dir().join(format!("reticent-decisions-{}-{name}", std::process::id()));
    std::fs::remove_dir_all(&folder).ok();
    folder
}

fn measure(trial: &Trial, what: &str) -> f64 {
    trial.measures.iter().find(|measure| measure.what == what).unwrap().value
}

/// Lines of a log: action, propensity, reward, and the features of all arms.
fn lines(folder: &Path) -> Vec<Vec<f64>> {
    let text = std::fs::read_to_string(file(folder, 0)).unwrap();
    let numbers = |line: &str| line.split(',').map(|cell| cell.parse().unwrap()).collect();
    text.lines().skip(1).map(numbers).collect()
}

/// Every trust model under Thompson sampling: the run logs what the evaluator reads, and its regret is that of a run without a log.
#[test]
fn a_run_logs_its_decisions_and_the_log_is_read_back() {
    let privacy = "privacy = { epsilon = 4.0, delta = 1e-5 }";
    let environments = [
        "kind = \"sphere\"\ndimension = 3\narms = 5",
        "kind = \"gap\"\ndimension = 3\narms = 5\nfresh_arms = false",
    ];
    for (number, environment) in environments.into_iter().enumerate() {
        for kind in ["linucb", "joint", "local", "shuffle"] {
            let folder = folder(&format!("{kind}-{number}"));
            let private = if kind == "linucb" { "" } else { privacy };
            let parse = |log: &str| {
                Experiment::parse(&format!(
                    "name = \"t\"\nrounds = 1200\n[environment]\n{environment}\n[[algorithm]]\nname = \"t\"\nkind = \"{kind}\"\nrule = \"thompson\"\n{private}\n{log}"
                ))
                .unwrap()
            };
            let logging = parse(&format!("log = {folder:?}"));
            let algorithm = logging.algorithms()[0];
            assert!(algorithm.remarks().join(" ").contains("outside every certificate"));
            let trial = algorithm.trial(1, 0, &[1200]).unwrap();
            let plain = parse("");
            let without = plain.algorithms()[0].trial(1, 0, &[1200]).unwrap();
            assert_eq!(without.curve, trial.curve, "{kind}");
            // Propensities are counts of 64 members, and more than one action was possible.
            let lines = lines(&folder);
            assert_eq!(lines.len(), 1200);
            for line in &lines {
                let count = 64.0 * line[1];
                assert!(count.fract() == 0.0 && (1.0..=64.0).contains(&count), "{}", line[1]);
                assert_eq!(line.len(), 3 + 15);
            }
            assert!(lines.iter().any(|line| line[1] < 0.9), "{kind}");
            // The experiment beside it reads it.
            let text = std::fs::read_to_string(experiment(&folder, 0)).unwrap();
            let parse = |text: &str| Kinds::default().parse_in(&folder, text, &[]).unwrap();
            let read = parse(&text);
            let again = read.algorithms()[0].trial(1, 0, &[600]).unwrap();
            let mean = lines[600..].iter().map(|line| line[2]).sum::<f64>() / 600.0;
            assert!((measure(&again, "logged value") - mean).abs() < 1e-9);
            assert!(measure(&again, "choices without support") <= 600.0);
            // Where arms stay the same, a policy that explores may prefer one that the log hardly plays; a greedy one has support.
            let greedy = text.replace(
                "kind = \"linucb\"",
                "kind = \"linucb\"\nrule = { fixed = { width = 0.0 } }",
            );
            assert_ne!(greedy, text);
            let greedy = parse(&greedy);
            let greedy = greedy.algorithms()[0].trial(1, 0, &[600]).unwrap();
            assert_eq!(measure(&greedy, "choices without support"), 0.0);
            // Another learner does not take its place.
            let other = text_of_other(&folder, environment);
            let error = other.algorithms()[0].runnable(1, 0).unwrap_err().to_string();
            assert!(error.contains("log: got") && error.contains("another learner"), "{error}");
            std::fs::remove_dir_all(&folder).unwrap();
        }
    }
}

fn text_of_other(folder: &Path, environment: &str) -> Experiment {
    Experiment::parse(&format!(
        "name = \"t\"\nrounds = 100\n[environment]\n{environment}\n[[algorithm]]\nname = \"other\"\nkind = \"linucb\"\nlog = {folder:?}"
    ))
    .unwrap()
}

#[test]
fn what_cannot_be_logged_or_read_is_refused() {
    let folder = folder("refused");
    let text = format!(
        "name = \"t\"\nrounds = 100\n[environment]\nkind = \"sphere\"\ndimension = 3\narms = 5\n[environment.modifiers]\navailability = 0.5\n[[algorithm]]\nkind = \"linucb\"\nlog = {folder:?}"
    );
    let experiment = Experiment::parse(&text).unwrap();
    let error = experiment.algorithms()[0].runnable(1, 0).unwrap_err().to_string();
    assert!(error.contains("log: got") && error.contains("come and go"), "{error}");
    assert!(!folder.exists());
    std::fs::create_dir_all(&folder).unwrap();
    let refuse = |text: &str, more: &str, words: &[&str]| {
        let path = file(&folder, 0);
        std::fs::write(&path, text).unwrap();
        let text = format!(
            "name = \"t\"\nrounds = 1\n[environment]\nkind = \"logged\"\nfile = {path:?}\narms_in_file = true\n{more}\n[[algorithm]]\nkind = \"linucb\""
        );
        let error = Experiment::parse(&text).err().unwrap().to_string();
        assert!(words.iter().all(|word| error.contains(word)), "{error}");
    };
    let head = "action,propensity,reward,arm0_0,arm0_1,arm1_0,arm1_1\n";
    let line = "0,0.5,1,0.6,0.8,0,1\n";
    refuse(
        &format!("{head}{line}{line}0,0.5,1,0.6,0.9,0,1\n"),
        "",
        &["line 4", "norm of arm0: got 1.08"],
    );
    refuse(&format!("{head}{line}{line}0,0.5,1,0.6,x,0,1\n"), "", &["line 4", "arm0_1: got \"x\""]);
    refuse(&format!("{head}{line}{line}2,0.5,1,0,0,0,1\n"), "", &["line 4", "action: got \"2\""]);
    refuse(
        &format!("{head}{line}{line}{line}"),
        "features = [\"arm0_0\"]",
        &["features: got a value"],
    );
    refuse("action,propensity,reward,arm0_0,arm0_1,arm1_0\n", "", &["as many features"]);
    refuse("action,propensity,reward,x\n", "", &["arm<action>_0"]);
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Three decision sets of three arms, and the mean reward of each arm.
fn decisions() -> [(Arms, [f64; 3]); 3] {
    let arms = |rows: [[f64; 2]; 3]| Arms::from_rows(2, &rows).unwrap();
    [
        (arms([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]]), [0.2, 0.7, 0.9]),
        (arms([[0.8, 0.6], [0.6, -0.8], [0.0, 0.5]]), [0.8, 0.1, 0.5]),
        (arms([[-0.6, 0.8], [0.5, 0.5], [0.3, 0.9]]), [0.4, 0.6, 0.7]),
    ]
}

/// A learner that has seen a little, so that its decisions are neither uniform nor settled.
fn learner() -> LinUcb {
    let rule = Rule::Thompson { ridge: 3.0, width: 1.0, members: 64, minimum_probability: 0.1 };
    let bounds = Bounds { rewards: (0.0, 1.0), ..Bounds::unit(2) };
    let mut learner = LinUcbParams { rule, seed: 5, ..LinUcbParams::new(bounds) }.check().unwrap();
    for (arms, means) in decisions() {
        for (arm, mean) in means.into_iter().enumerate() {
            learner.observe(&arms.arm(arm), mean).unwrap();
        }
    }
    learner
}

/// In how many of 2000 logs of 250 lines the IPS interval of the logging policy's own value holds it, and that of the best arm of each set.
/// `propensity` is what the log says of a probability.
fn covered(propensity: fn(f64) -> f64) -> [u32; 2] {
    let (learner, decisions) = (learner(), decisions());
    let probabilities = decisions.each_ref().map(|(arms, _)| learner.probabilities(arms).unwrap());
    let of =
        |set: usize| probabilities[set].iter().zip(&decisions[set].1).map(|(p, mean)| p * mean);
    let own = (0..3).map(|set| of(set).sum::<f64>()).sum::<f64>() / 3.0;
    let best_of = |set: usize| decisions[set].1.iter().copied().fold(0.0, f64::max);
    let best = (0..3).map(best_of).sum::<f64>() / 3.0;
    let (mut noise, mut covered) = (FastNoise::seeded(8), [0; 2]);
    for _ in 0..2000 {
        let mut evaluations = [(); 2].map(|()| Evaluation::new((0.0, 1.0), 10.0));
        for _ in 0..250 {
            let set = noise.below(3) as usize;
            let (arms, means) = &decisions[set];
            let arm = learner.choose(arms, noise.bits()).unwrap().arm;
            let reward = f64::from(u8::from(noise.uniform() < means[arm]));
            let stated = propensity(probabilities[set][arm]);
            // The same policy decides once more, on its own: it agrees with probability p, and its weight is then 1/p.
            let again = learner.choose(arms, noise.bits()).unwrap().arm;
            for (evaluation, agrees) in
                evaluations.iter_mut().zip([again == arm, means[arm] == best_of(set)])
            {
                let weight = if agrees { 1.0 / stated } else { 0.0 };
                evaluation.add(Line { weight, reward, predicted: 0.0, predicted_of_policy: 0.0 });
            }
        }
        for ((evaluation, truth), covered) in evaluations.iter().zip([own, best]).zip(&mut covered)
        {
            let (low, high) = evaluation.ips().ends.expect("many lines");
            *covered += u32::from(low <= truth && truth <= high);
        }
    }
    covered
}

/// Betting intervals are wider than they need be: they hold the truth in about 98 of 100 logs, and if they did so in 97 of 100 only, fewer
/// than 1900 of 2000 would hold it with probability below 1e-6.
#[test]
fn the_value_of_the_logging_policy_is_in_its_interval() {
    let right = covered(|p| p);
    println!(
        "IPS intervals that hold the truth, of 2000 logs: own value {}, best arms {}",
        right[0], right[1]
    );
    assert!(right.iter().all(|covered| *covered >= 1900), "{right:?}");
    // Planted: what was played is said to have been certain.
    let certain = covered(|_| 1.0);
    assert!(certain.iter().all(|covered| *covered < 1000), "{certain:?}");
}
