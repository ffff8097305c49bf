//! Saved learners: a later learner begins with what an earlier one had learnt.

use super::*;

fn folder(name: &str) -> std::path::PathBuf {
    let folder = std::env::temp_dir().join(format!("reticent-saved-{}-{name}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    folder
}

const POPULATION: &str = "kind = \"sphere\"\n[environment.modifiers]\npopulation = 5";

fn trained(seed: u64, algorithms: &str) -> crate::Result<Experiment> {
    Experiment::parse(&format!(
        "name = \"t\"\nrounds = 4000\ntrials = 3\nseed = {seed}\n[environment]\n{POPULATION}\n{algorithms}"
    ))
}

#[test]
fn a_saved_learner_gives_another_a_start() {
    let kinds = [
        ("linucb", ""),
        ("joint", "privacy = { epsilon = 8.0, delta = 1e-5 }"),
        ("joint", "privacy = { epsilon = 8.0, delta = 1e-5 }\nrule = \"certified\""),
        ("local", "privacy = { epsilon = 10.0, delta = 1e-5 }"),
    ];
    for (index, (kind, keys)) in kinds.into_iter().enumerate() {
        let saved = folder(&format!("start-{index}"));
        let line = |more: &str| format!("[[algorithm]]\nkind = \"{kind}\"\n{keys}\n{more}\n");
        let first = trained(1, &line(&format!("save = {saved:?}"))).unwrap();
        first.simulate(|_, _| ()).unwrap();
        let cold = trained(2, &line("")).unwrap();
        let warm_line = line(&format!("warm_start = {saved:?}"));
        let warm = trained(2, &warm_line).unwrap();
        let regret = |experiment: &Experiment| {
            experiment.simulate(|_, _| ()).unwrap().algorithms[0].final_regret.mean
        };
        let (cold_regret, warm_regret) = (regret(&cold), regret(&warm));
        assert!(warm_regret < 0.8 * cold_regret, "{kind}: {warm_regret} {cold_regret}");
        assert_eq!(warm_regret, regret(&warm), "{kind}");
        // Who is covered by what is said, and the promise to the people of this run is what it was.
        let (algorithm, colder) = (warm.algorithms()[0], cold.algorithms()[0]);
        let remarks = algorithm.remarks().join(" ");
        match (algorithm.guarantee(), colder.guarantee()) {
            (Some(guarantee), Some(before)) => {
                assert_eq!(guarantee.epsilon(), before.epsilon());
                let conditions = guarantee.conditions().join(" ");
                assert!(conditions.contains("certificates they were saved with"), "{conditions}");
            }
            _ => assert!(remarks.contains("promised nothing"), "{remarks}"),
        }
        assert_ne!(algorithm.data_hash(), colder.data_hash());
        // The very people it was trained on are not new to it.
        let error = trained(1, &warm_line).unwrap().simulate(|_, _| ()).unwrap_err().to_string();
        assert!(error.contains("seed: got 1") && error.contains("population"), "{error}");
        std::fs::remove_dir_all(saved).unwrap();
    }
}

/// A learner that began with another's knowledge carries the promises to all of its people, and none of them is new to its heirs.
#[test]
fn promises_and_people_are_inherited() {
    let (one, two) = (folder("heir-one"), folder("heir-two"));
    let joint = "kind = \"joint\"\nname = \"heir\"\nprivacy = { epsilon = 8.0, delta = 1e-5 }";
    let run = |seed: u64, lines: &str| {
        trained(seed, &format!("[[algorithm]]\n{lines}\n")).unwrap().algorithms()[0]
            .trial(seed, 0, &[200])
            .unwrap();
    };
    let first = joint.replace("heir", "first");
    run(1, &format!("{first}\nsave = {one:?}"));
    run(2, &format!("{joint}\nwarm_start = {one:?}\nsave = {two:?}"));
    let third = trained(3, &format!("[[algorithm]]\n{joint}\nwarm_start = {two:?}\n")).unwrap();
    let conditions = third.algorithms()[0].guarantee().unwrap().conditions().join(" ");
    assert!(conditions.contains("\"first\", \"heir\""), "{conditions}");
    for seed in [1, 2] {
        let again = third.algorithms()[0].trial(seed, 0, &[200]).unwrap_err().to_string();
        assert!(again.contains(&format!("seed: got {seed}")), "{again}");
    }
    std::fs::remove_dir_all(one).unwrap();
    std::fs::remove_dir_all(two).unwrap();
}

/// The times and the number of releases do not depend on which people's data can be used.
#[test]
fn a_person_who_is_passed_over_leaves_the_times_of_releases_as_they_are() {
    let environment = BanditEnvironment::new(&SphereParams::published().into(), 2000).unwrap();
    let lines = JointToml {
        // A restart that never comes: stepped, and not in blocks.
        restart_every: Some(2000),
        ..JointToml::new(Budget { epsilon: 1.0, delta: 1e-5 })
    };
    let plan = lines.params(&environment).unwrap().check().unwrap();
    let learnt_at = |skipped: u64| -> Vec<u64> {
        let mut learner = plan.clone().curator(FastNoise::seeded(7));
        let (mut last, mut times) = (learner.knowledge(), Vec::new());
        for round in 1..=500 {
            if round == skipped {
                Learner::pass(&mut learner, round).unwrap();
            } else {
                Learner::observe(&mut learner, round, &[0.5, 0.5, 0.0, 0.0, 0.5_f64.sqrt()], 1.0)
                    .unwrap();
            }
            let now = learner.knowledge();
            if now != last {
                times.push(round);
                last = now;
            }
        }
        times
    };
    let times = learnt_at(0);
    assert!(times.len() > 1, "{times:?}");
    assert_eq!(times, learnt_at(3));
}

#[test]
fn a_learner_of_another_kind_or_a_damaged_one_is_refused() {
    let saved = folder("other");
    let budget = "privacy = { epsilon = 10.0, delta = 1e-5 }";
    let local = format!("[[algorithm]]\nkind = \"local\"\n{budget}\nsave = {saved:?}\n");
    trained(1, &local).unwrap().algorithms()[0].trial(1, 0, &[50]).unwrap();
    let file = saved.join("trial-0.json");
    let begin = |kind: &str, keys: &str| {
        let line = format!("[[algorithm]]\nkind = \"{kind}\"\n{keys}\nwarm_start = {file:?}\n");
        trained(2, &line).map(|_| ()).map_err(|error| error.to_string())
    };
    assert_eq!(begin("local", budget), Ok(()));
    let refuse = |result: Result<(), String>, words: &[&str]| {
        let error = result.unwrap_err();
        assert!(words.iter().all(|word| error.contains(word)), "{error}");
    };
    refuse(begin("joint", budget), &["line 12", "warm_start", "local protocol"]);
    refuse(begin("linucb", ""), &["warm_start", "local protocol"]);
    let other = "privacy = { epsilon = 1.0, delta = 1e-5 }";
    refuse(begin("local", other), &["warm_start", "other bounds"]);
    // A folder holds the saved learners of one algorithm only.
    let named =
        format!("[[algorithm]]\nkind = \"local\"\nname = \"x\"\n{budget}\nsave = {saved:?}\n");
    let error = trained(1, &named).unwrap().algorithms()[0].trial(1, 0, &[50]).unwrap_err();
    assert!(error.to_string().contains("folder of its own"), "{error}");
    std::fs::write(&file, "{}").unwrap();
    refuse(begin("local", budget), &["warm_start", "trial-0.json", "save"]);
    std::fs::remove_dir_all(saved).unwrap();
}
