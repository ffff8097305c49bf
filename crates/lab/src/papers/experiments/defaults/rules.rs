//! `defaults/rules`: every rule under every trust model in every environment at equal certificates, and whether one of them beats the default.

use super::{Claim, Judgement, MARGIN, ROUNDS, Stage, loses, places};
use crate::{
    Experiment, Result,
    papers::Extent,
    report::{
        html as report,
        summary::{AlgorithmSummary, Summary},
    },
};

/// The default first.
const RULES: [&str; 3] = ["tuned", "thompson", "certified"];
const TRUST: [&str; 4] = ["linucb", "joint", "shuffle", "local"];
const EPSILONS: [f64; 2] = [1.0, 8.0];

/// A trust model with its budget, if it has one, as tables name it.
fn budgets(trust: &str) -> Vec<Option<f64>> {
    match trust {
        "linucb" => vec![None],
        _ => EPSILONS.map(Some).to_vec(),
    }
}

fn cell(trust: &str, epsilon: Option<f64>, rule: &str) -> String {
    match epsilon {
        None => format!("{trust}, {rule}"),
        Some(epsilon) => format!("{trust} {epsilon}, {rule}"),
    }
}

fn experiment(name: &str, environment: &str, (trials, seed): (u64, u64)) -> Result<Experiment> {
    let mut text = format!(
        "name = \"every rule: {name}\"\nrounds = {ROUNDS}\ntrials = {trials}\nseed = {seed}\n[environment]\n{environment}\n"
    );
    for trust in TRUST {
        for epsilon in budgets(trust) {
            for rule in RULES {
                let name = cell(trust, epsilon, rule);
                text.push_str(&format!(
                    "[[algorithm]]\nname = \"{name}\"\nkind = \"{trust}\"\nrule = \"{rule}\"\n"
                ));
                if (trust, rule) == ("local", "certified") {
                    // Its set is proved for this method only.
                    text.push_str("method = \"gram_gaussian\"\n");
                }
                if let Some(epsilon) = epsilon {
                    text.push_str(&format!(
                        "privacy = {{ epsilon = {epsilon:?}, delta = 1e-6 }}\n"
                    ));
                }
            }
        }
    }
    Experiment::parse(&text)
}

/// Mean regret, median, and the headline measure where the environment has one.
fn text(algorithm: Option<&AlgorithmSummary>) -> String {
    let Some(algorithm) = algorithm else { return "-".into() };
    let regret = &algorithm.final_regret;
    let measure = algorithm.headline.and_then(|name| algorithm.measure(name));
    let measure = measure.map_or(String::new(), |measure| format!("; {:.4}", measure.mean));
    format!("{:.0} +- {:.0}; {:.0}{measure}", regret.mean, regret.standard_error, regret.median)
}

/// Rules that beat the default in one environment.
fn beaten(summary: &Summary) -> Vec<String> {
    let mut found = Vec::new();
    for trust in TRUST {
        for epsilon in budgets(trust) {
            let of = |rule: &str| summary.algorithm(&cell(trust, epsilon, rule));
            let Some(default) = of(RULES[0]) else { continue };
            for rule in &RULES[1..] {
                if let Some(share) = of(rule).and_then(|other| loses(default, other, MARGIN)) {
                    let percent = 100.0 * share;
                    found.push(format!("{} by {percent:.0} %", cell(trust, epsilon, rule)));
                }
            }
        }
    }
    found
}

/// The experiment.
pub fn rules(stage: &Stage) -> Result<Vec<Claim>> {
    let trials = match stage.extent {
        Extent::Quick => 8,
        Extent::Full => 32,
    };
    let mut claims = Vec::new();
    let mut page =
        format!("| environment | trust | {} |\n|{}\n", RULES.join(" | "), " --- |".repeat(5));
    for place in places(stage)? {
        (stage.progress)(place.name);
        let folder = stage.folder.join(place.name.replace(", ", "-").replace(' ', "-"));
        let summary = experiment(place.name, &place.toml, (trials, stage.seed(2)))?
            .run(&folder, |_, _| ())?;
        for trust in TRUST {
            for epsilon in budgets(trust) {
                let cells = RULES.map(|rule| text(summary.algorithm(&cell(trust, epsilon, rule))));
                let budget =
                    epsilon.map_or("no privacy".into(), |e| format!("{trust}, epsilon {e}"));
                page.push_str(&format!("| {} | {budget} | {} |\n", place.name, cells.join(" | ")));
            }
        }
        let found = beaten(&summary);
        claims.push(Claim {
            claim: format!("{}: no rule beats the default, `tuned`", place.name),
            judgement: Judgement::stated(found.is_empty(), trials as usize),
            measured: if found.is_empty() { "none does".into() } else { found.join("; ") },
            expected: "no exception".into(),
        });
    }
    report::write(stage.folder, "rules.md", &page)?;
    Ok(claims)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::papers::experiments::defaults::data;

    /// Every rule is accepted under every trust model, with and without blocks of parameters.
    #[test]
    fn every_rule_may_be_played_everywhere() {
        let folder = std::env::temp_dir().join(format!("rules-{}", std::process::id()));
        let drawn = "kind = \"sphere\"\ndimension = 5\narms = 20\nfresh_arms = true".to_string();
        for environment in [drawn, data::table(&folder).unwrap(), data::items(&folder).unwrap()] {
            let experiment = experiment("test", &environment, (1, 2)).unwrap();
            assert_eq!(experiment.algorithms().len(), 21);
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
