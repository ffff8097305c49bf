//! `defaults/outlook`: whether learners become useful at about the number of people that their outlook names.
//!
//! A learner is useful from the first round t on at which its loss a round, over (t/2, t], is no more than halfway between that of a learner which knows
//! nothing (a curator at epsilon = 0.001) and what LinUCB reaches without privacy. The outlook is computed before any data are seen.

use super::{Claim, Judgement, Stage, data};
use crate::{
    Experiment, Result,
    papers::Extent,
    report::{
        html as report,
        summary::{AlgorithmSummary, Summary},
    },
};

/// A prediction counts as right within this factor either way.
const FACTOR: f64 = 5.0;
const ROUNDS: u64 = 60_000;
const NONE: &str = "linucb";
const NOTHING: &str = "nothing";
const PRIVATE: [(&str, &[f64]); 2] =
    [("joint", &[0.03, 0.1, 0.3, 1.0, 4.0]), ("local", &[2.0, 8.0])];

fn experiment(name: &str, environment: &str, (trials, seed): (u64, u64)) -> Result<Experiment> {
    let mut text = format!(
        "name = \"outlook: {name}\"\nrounds = {ROUNDS}\ntrials = {trials}\nseed = {seed}\n[environment]\n{environment}\n[[algorithm]]\nname = \"{NONE}\"\nkind = \"linucb\"\n"
    );
    let mut private = |name: String, kind: &str, epsilon: f64| {
        text.push_str(&format!(
            "[[algorithm]]\nname = \"{name}\"\nkind = \"{kind}\"\nprivacy = {{ epsilon = {epsilon:?}, delta = 1e-6 }}\n"
        ));
    };
    private(NOTHING.into(), "joint", 0.001);
    for (kind, epsilons) in PRIVATE {
        epsilons.iter().for_each(|&epsilon| private(format!("{kind} {epsilon}"), kind, epsilon));
    }
    Experiment::parse(&text)
}

/// Mean regret at the last checkpoint that is not after the round, with its round.
fn regret_at(algorithm: &AlgorithmSummary, round: u64) -> (f64, f64) {
    let reached = algorithm.curve.iter().take_while(|(at, _)| *at <= round).last();
    reached.map_or((0.0, 0.0), |(at, regret)| (*at as f64, regret.mean))
}

/// Loss a round over (t/2, t].
fn loss(algorithm: &AlgorithmSummary, round: u64) -> f64 {
    let ((from, before), (to, after)) =
        (regret_at(algorithm, round / 2), regret_at(algorithm, round));
    (after - before) / (to - from).max(1.0)
}

/// The first checkpoint, from round 64 on, at which the loss is at most `level`.
fn useful_at(algorithm: &AlgorithmSummary, level: f64) -> Option<u64> {
    let rounds = algorithm.curve.iter().map(|(round, _)| *round);
    rounds.filter(|round| *round >= 64).find(|round| loss(algorithm, *round) <= level)
}

/// One row for each private learner: its name, the number of people it names, when it was useful, and whether that is near enough.
fn compare(summary: &Summary) -> Vec<(String, u64, Option<u64>, bool)> {
    let (Some(none), Some(nothing)) = (summary.algorithm(NONE), summary.algorithm(NOTHING)) else {
        return Vec::new();
    };
    let level = 0.5 * (loss(none, summary.rounds) + loss(nothing, summary.rounds));
    let private = summary.algorithms.iter().filter(|a| ![NONE, NOTHING].contains(&a.name.as_str()));
    let row = |algorithm: &AlgorithmSummary| {
        let named = algorithm.outlook?.useful_from;
        let measured = useful_at(algorithm, level);
        let near = match measured {
            Some(measured) => {
                let ratio = measured as f64 / named as f64;
                (1.0 / FACTOR..=FACTOR).contains(&ratio)
            }
            None => named as f64 * FACTOR >= summary.rounds as f64,
        };
        Some((algorithm.name.clone(), named, measured, near))
    };
    private.filter_map(row).collect()
}

/// The experiment.
pub fn outlook(stage: &Stage) -> Result<Vec<Claim>> {
    let trials = match stage.extent {
        Extent::Quick => 4,
        Extent::Full => 32,
    };
    let folder = stage.folder.join("data");
    let places = [("items", data::items(&folder)?), ("table", data::table(&folder)?)];
    let mut claims = Vec::new();
    let mut page = String::from(
        "| data | learner | people named | useful from |\n| --- | --- | --- | --- |\n",
    );
    for (name, environment) in places {
        (stage.progress)(name);
        let summary = experiment(name, &environment, (trials, stage.seed(3)))?
            .run(&stage.folder.join(name), |_, _| ())?;
        let rows = compare(&summary);
        let text = |measured: &Option<u64>| {
            measured.map_or(format!("after {ROUNDS}"), |round| round.to_string())
        };
        for (learner, named, measured, _) in &rows {
            page.push_str(&format!("| {name} | {learner} | {named} | {} |\n", text(measured)));
        }
        let all = rows.iter().map(|(learner, named, measured, _)| {
            format!("{learner}: {} (named {named})", text(measured))
        });
        let complete =
            rows.len() == PRIVATE.iter().map(|(_, epsilons)| epsilons.len()).sum::<usize>();
        claims.push(Claim {
            claim: format!("{name}: learners are useful from about as many people as named before"),
            judgement: Judgement::stated(complete && rows.iter().all(|row| row.3), trials as usize),
            measured: all.collect::<Vec<_>>().join("; "),
            expected: format!("within a factor of {FACTOR}"),
        });
    }
    report::write(stage.folder, "outlook.md", &page)?;
    Ok(claims)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_is_off_by_a_hundred_is_found_out() {
        let environment = "kind = \"sphere\"\ndimension = 3\narms = 5\nfresh_arms = true";
        let mut text = format!(
            "name = \"o\"\nrounds = 5000\ntrials = 4\nseed = 3\n[environment]\n{environment}\n[[algorithm]]\nname = \"{NONE}\"\nkind = \"linucb\"\n"
        );
        for (name, epsilon) in [(NOTHING, 0.001), ("joint", 1.0)] {
            text.push_str(&format!(
                "[[algorithm]]\nname = \"{name}\"\nkind = \"joint\"\nprivacy = {{ epsilon = {epsilon:?}, delta = 1e-6 }}\n"
            ));
        }
        let folder = std::env::temp_dir().join(format!("outlook-{}", std::process::id()));
        let mut summary = Experiment::parse(&text).unwrap().run(&folder, |_, _| ()).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        let right = compare(&summary);
        assert!(right.len() == 1 && right[0].3, "{right:?}");
        let named = right[0].1;
        for outlook in summary.algorithms.iter_mut().flat_map(|algorithm| &mut algorithm.outlook) {
            outlook.useful_from *= 100;
        }
        let wrong = compare(&summary);
        assert!(wrong[0].1 == 100 * named && !wrong[0].3, "{wrong:?}");
    }
}
