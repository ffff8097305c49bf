//! One experiment three ways: as a file, with core alone, and in Python (`crates/python/tests/test_lab.py`). Each makes the decisions in
//! `vectors/decisions`, which `RETICENT_WRITE_VECTORS=1` writes anew.

use std::path::PathBuf;

use reticent::{
    bandit::{JointParams, RewardWindow, Rule},
    randomize::Bounds,
};

use super::{RULE_AS_TOLD, trial_seeds};
use crate::{
    Experiment, FastNoise,
    environment::{Environment, SphereParams},
};

const ROUNDS: u64 = 600;
const SEED: u64 = 3;

/// The experiment by name, with the lines that differ, and its decisions by the laboratory.
fn by_file(name: &str, lines: &str) -> (Experiment, Vec<usize>) {
    let log = std::env::temp_dir().join(format!("reticent-three-{}-{name}", std::process::id()));
    let experiment = Experiment::parse(&format!(
        "name = \"one bandit\"\nrounds = {ROUNDS}\nseed = {SEED}\n\
         [environment]\nkind = \"sphere\"\ndimension = 4\narms = 8\nfresh_arms = true\n\
         [[algorithm]]\nkind = \"joint\"\nname = \"it\"\nlog = {log:?}\n{lines}\n\
         privacy = {{ epsilon = 8.0, delta = 1e-5 }}"
    ))
    .unwrap();
    experiment.contestants()[0].trial(SEED, 0, &[ROUNDS]).unwrap();
    let text = std::fs::read_to_string(log.join("trial-0.csv")).unwrap();
    std::fs::remove_dir_all(&log).unwrap();
    let action = |line: &str| line.split(',').next().unwrap().parse().unwrap();
    (experiment, text.lines().skip(1).map(action).collect())
}

/// The decisions of core's bandit, stepped by hand as a program does that deploys it.
fn by_core(rule: Rule, window: Option<RewardWindow>) -> Vec<usize> {
    let bounds = Bounds { rewards: (0.0, 1.0), intercept: Some(0.5_f64.sqrt()), ..Bounds::unit(4) };
    let params = JointParams { rule, window, ..JointParams::new(bounds, 8.0, 1e-5, Some(ROUNDS)) };
    let (people, noise) = trial_seeds(SEED, 0, "it");
    let mut bandit = params.check().unwrap().start(FastNoise::seeded(noise));
    let sphere = SphereParams { dimension: 4, arms: 8, fresh_arms: true, norm: 1.0 };
    let mut world = sphere.start(people).unwrap();
    // The laboratory skips the first set too.
    world.arms();
    let mut round = |_| {
        let decision = bandit.decide(world.arms()).unwrap();
        bandit.observe(decision.ticket, world.reward(decision.arm)).unwrap();
        decision.arm
    };
    (0..ROUNDS).map(&mut round).collect()
}

/// The decisions of the vector, or of this run where vectors are written.
fn expected(name: &str, found: &[usize]) -> Vec<usize> {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../vectors/decisions"));
    let path = folder.join(format!("joint_{name}.csv"));
    if std::env::var_os("RETICENT_WRITE_VECTORS").is_some() {
        let lines = found.iter().enumerate().map(|(i, arm)| format!("{},{arm}\n", i + 1));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(&path, format!("round,arm\n{}", lines.collect::<String>())).unwrap();
    }
    let text = std::fs::read_to_string(&path).unwrap();
    let arm = |line: &str| line.split(',').nth(1).unwrap().parse().unwrap();
    text.lines().skip(1).map(arm).collect()
}

#[test]
fn a_file_and_core_make_the_decisions_of_the_vector() {
    let mut all = Vec::new();
    for (name, lines, window) in [
        ("tuned", "rule = \"tuned\"", None),
        ("certified", "rule = \"certified\"", None),
        ("window", "rule = \"tuned\"\nwindow = 40", Some(RewardWindow::Decisions(40))),
    ] {
        let (experiment, found) = by_file(name, lines);
        // What the environment tells a certified rule is in its remarks, as files and Python read it.
        let remarks = experiment.contestants()[0].remarks();
        let told = remarks.iter().find_map(|remark| remark.strip_prefix(RULE_AS_TOLD));
        assert_eq!(told.is_some(), name == "certified");
        let rule = told.map_or(Rule::default(), |rule| serde_json::from_str(rule).unwrap());
        assert_eq!(by_core(rule, window), found, "{name}");
        assert_eq!(expected(name, &found), found, "{name}");
        // Without what it was told the certified bandit decides otherwise.
        assert_ne!(by_core(Rule::CERTIFIED, window), found, "{name}");
        all.push(found);
    }
    assert!(all[0] != all[1] && all[0] != all[2] && all[1] != all[2]);
    assert!(all.iter().all(|arms| (0..8).all(|arm| arms.contains(&arm))), "all arms are played");
}
