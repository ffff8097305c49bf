//! `contributions_per_person`: people of a file return, and only a number of their rounds are learnt from.
//!
//! A certificate for a person with at most k contributions says nothing about one who makes more. So a person's rounds are counted
//! where people return: in the first k their rewards are learnt from; in later ones they are answered, and the learner is notified that
//! their reward never comes. Who comes when is public, and so is the count: no person's features or rewards change it.

use std::collections::HashMap;

use reticent::bandit::Arms;

use crate::{
    Result,
    play::{Learner, trial::Measure},
};

/// A learner that learns from at most this number of rounds of each person.
pub(super) struct AtMost<'a> {
    inner: &'a mut dyn Learner,
    most: u64,
    /// Rounds that were learnt from, by person.
    rounds: HashMap<u64, u64>,
    /// Rounds that were not.
    left_out: u64,
}

impl<'a> AtMost<'a> {
    pub(super) fn new(inner: &'a mut dyn Learner, most: u64) -> Self {
        AtMost { inner, most, rounds: HashMap::new(), left_out: 0 }
    }

    /// Number of rounds that taught nothing.
    pub(super) fn measure(&self) -> Measure {
        let what = "rounds answered and not learnt from, by people beyond contributions_per_person";
        Measure { what, value: self.left_out as f64 }
    }
}

impl Learner for AtMost<'_> {
    fn inner(&self) -> Option<&dyn Learner> {
        Some(self.inner)
    }

    fn inner_mut(&mut self) -> Option<&mut dyn Learner> {
        Some(self.inner)
    }

    fn choose(&mut self, arms: &Arms, round: u64) -> Result<usize> {
        self.inner.choose(arms, round)
    }

    fn observe(&mut self, round: u64, features: &[f64], reward: f64) -> Result<()> {
        self.inner.observe(round, features, reward)
    }

    fn admits(&mut self, person: u64) -> bool {
        let rounds = self.rounds.entry(person).or_default();
        let admitted = *rounds < self.most;
        *rounds += u64::from(admitted);
        self.left_out += u64::from(!admitted);
        admitted
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::{
        Experiment,
        algorithm::bandit::{BanditEnvironment, EnvironmentToml},
    };

    /// Counts the lessons of each line, which its feature names.
    #[derive(Default)]
    struct Pupil(BTreeMap<String, u64>, u64);

    impl Learner for Pupil {
        fn choose(&mut self, _: &Arms, _: u64) -> Result<usize> {
            Ok(0)
        }

        fn observe(&mut self, _: u64, features: &[f64], _: f64) -> Result<()> {
            *self.0.entry(format!("{features:?}")).or_default() += 1;
            Ok(())
        }

        fn dismiss(&mut self, _: u64) {
            self.1 += 1;
        }
    }

    const ROUNDS: u64 = 400;
    const LINES: u64 = 20;

    fn file(name: &str) -> std::path::PathBuf {
        let path = std::env::temp_dir()
            .join(format!("reticent-contributions-{}-{name}.csv", std::process::id()));
        let lines: String = (0..LINES).map(|i| format!("{i},{}\n", i % 2)).collect();
        std::fs::write(&path, format!("x,y\n{lines}")).unwrap();
        path
    }

    fn environment(path: &std::path::Path, order: &str) -> String {
        format!(
            "kind = \"table\"\nfile = {path:?}\norder = {order:?}\nranges = {{ x = [0, 20] }}\n"
        )
    }

    #[test]
    fn a_line_that_returns_is_answered_and_learnt_from_so_often_and_no_more() {
        let path = file("lines");
        for order in ["drawn", "file"] {
            let lines: EnvironmentToml = toml::from_str(&environment(&path, order)).unwrap();
            let environment = BanditEnvironment::new(&lines, ROUNDS).unwrap();
            let mut everything = Pupil::default();
            environment.trials.run(1, 0, &mut everything, &[ROUNDS]).unwrap();
            assert!(everything.0.values().all(|&times| times > 3), "{order}: lines return");
            let mut pupil = Pupil::default();
            let mut counted = AtMost::new(&mut pupil, 3);
            environment.trials.run(1, 0, &mut counted, &[ROUNDS]).unwrap();
            assert_eq!(counted.measure().value, (ROUNDS - 3 * LINES) as f64);
            assert_eq!(pupil.0.len() as u64, LINES);
            assert!(pupil.0.values().all(|&times| times == 3), "{order}: {:?}", pupil.0);
            assert_eq!(pupil.1, ROUNDS - 3 * LINES);
        }
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn certificates_are_for_a_person_with_so_many_contributions() {
        let path = file("certificates");
        let parse = |environment: &str, kind: &str, more: &str| {
            Experiment::parse(&format!(
                "name = \"t\"\nrounds = {ROUNDS}\n[environment]\n{environment}[[algorithm]]\nkind = {kind:?}\nprivacy = {{ epsilon = 1.0, delta = 1e-6 }}\n{more}\n"
            ))
        };
        let table = environment(&path, "drawn");
        for kind in ["joint", "local", "shuffle"] {
            for lines in
                [table.as_str(), "kind = \"gap\"\ndimension = 4\narms = 5\n", "kind = \"sphere\"\n"]
            {
                let once = parse(lines, kind, "").unwrap();
                let thrice = parse(lines, kind, "contributions_per_person = 3").unwrap();
                let guarantee =
                    |e: &Experiment| e.cells()[0].algorithm.guarantee().unwrap().clone();
                let (one, three) = (guarantee(&once), guarantee(&thrice));
                // The same budget, for three contributions.
                assert!(three.epsilon() <= 1.0 + 1e-9, "{kind} in {lines}: {three}");
                let most =
                    |g| serde_json::to_value(g).unwrap()["unit"]["person"]["at_most"].clone();
                assert_eq!((most(&one), most(&three)), (1.into(), 3.into()), "{kind}");
                assert!(!one.conditions().join(" ").contains("answered and nothing is learnt"));
                if lines.contains("table") {
                    let conditions = three.conditions().join(" ");
                    assert!(
                        conditions.contains("in 3 of their rounds what they tell is learnt from"),
                        "{conditions}"
                    );
                    assert!(!conditions.contains("every round is counted as another person"));
                }
            }
            let zero =
                parse(&table, kind, "contributions_per_person = 0").err().unwrap().to_string();
            assert!(zero.contains("contributions_per_person: got 0"), "{zero}");
            let paper = "contributions_per_person = 2\nmode = \"paper\"";
            if kind != "local" {
                let error = parse(&table, kind, paper).err().unwrap().to_string();
                assert!(error.contains("contributions_per_person: got 2; published"), "{error}");
            }
        }
        let restarts = "contributions_per_person = 2\nrestart_every = 300";
        let error = parse(&table, "joint", restarts).err().unwrap().to_string();
        assert!(error.contains("several streams"), "{error}");
        let levels = "contributions_per_person = 2\nlevels = [0.5, 1.0]";
        let error = parse(&table, "local", levels).err().unwrap().to_string();
        assert!(error.contains("expected one level"), "{error}");
        // A trial of the real learners, and what it counted.
        for kind in ["joint", "local", "shuffle"] {
            let experiment = parse(&table, kind, "contributions_per_person = 3").unwrap();
            let trial = experiment.cells()[0].algorithm.trial(1, 0, &[ROUNDS]).unwrap();
            let left_out = trial.measures.iter().find(|m| m.what.starts_with("rounds answered"));
            assert_eq!(left_out.unwrap().value, (ROUNDS - 3 * LINES) as f64, "{kind}");
        }
        std::fs::remove_file(path).unwrap();
    }
}
