//! `defaults/catalogue`: learning with the features that people write, `two_level` on group weights beside `thompson` on the weights of before.
//!
//! Five simulated products and a sixth that changes (`environment::catalogue`), none of which was looked at when the rule's constants were chosen: those are
//! `examples/catalogue_*.toml`. A rule wins or ties where neither the mean over trials of the mean reward nor its 10th percentile is lower by more than
//! [`TIE`]. Trial i of both rules has the same product and the same people.

use super::{Claim, Judgement, Stage};
use crate::{
    Experiment, Result,
    papers::Extent,
    report::{
        estimate::quantile,
        html as report,
        summary::{AlgorithmSummary, Summary},
    },
};

/// The default so far, with the weights that features had, and the rule that is judged.
const RULES: [(&str, &str); 2] = [("thompson", "roots"), ("two_level", "groups")];
/// Budgets; the last is no privacy.
const EPSILONS: [Option<f64>; 3] = [Some(1.0), Some(4.0), None];
/// Events of a run.
const LENGTHS: [u64; 2] = [30_000, 120_000];
/// Releases of a run, by the clock.
const RELEASES: u64 = 60;
/// Differences of mean rewards below this are noise.
const TIE: f64 = 0.005;

const MEAN: &str = "mean reward";
const LATE: &str = "mean reward, last quarter";
const RANDOM: &str = "mean reward of a random action";
const FIXED: &str = "mean reward of the best fixed action";
const FIXED_LATE: &str = "mean reward of the best fixed action, last quarter";

/// A simulated product: its keys, and its tables of features.
struct Product {
    name: &'static str,
    keys: &'static str,
    context: Vec<String>,
    action: Vec<String>,
    cross: &'static str,
    modifiers: &'static str,
}

/// A category of this many words.
fn words(name: &str, count: usize) -> String {
    let words: Vec<String> = (0..count).map(|word| format!("\"{word}\"")).collect();
    format!("{name} = {{ categories = [{}] }}", words.join(", "))
}

fn products() -> Vec<Product> {
    let line = |text: &str| text.to_string();
    vec![
        Product {
            name: "crosses matter",
            keys: "actions = 30\nbase = 0.3\neffects = { \"action.item\" = 0.03, \"segment*item\" = 0.09, \"weekday*kind\" = 0.04 }",
            context: vec![words("segment", 12), words("weekday", 7)],
            action: vec![words("item", 30), words("kind", 5)],
            cross: "with = [[\"segment\", \"item\"], [\"weekday\", \"kind\"]]",
            modifiers: "",
        },
        Product {
            name: "crosses do not matter",
            keys: "actions = 40\nbase = 0.2\neffects = { \"action.headline\" = 0.07, \"action.section\" = 0.05 }\ndecay = { \"context.country\" = 0.7 }",
            context: vec![words("country", 8), words("device", 3)],
            action: vec![words("headline", 40), words("section", 8)],
            cross: "with = [[\"country\", \"section\"], [\"device\", \"headline\"]]",
            modifiers: "",
        },
        Product {
            name: "numbers",
            keys: "actions = 20\nbase = 0.4\neffects = { \"action.rate\" = 0.08, \"action.term\" = 0.05, \"income*rate\" = 0.1, \"age*term\" = 0.08, \"hour*form\" = 0.05, \"income*form\" = 0.07 }",
            context: vec![
                line("income = { range = [0, 200] }"),
                line("age = { range = [18, 90] }"),
                line("hour = { cycle = 24 }"),
            ],
            action: vec![
                line("rate = { range = [1, 9] }"),
                line("term = { range = [1, 30] }"),
                words("form", 5),
                words("shop", 12),
            ],
            cross: "with = [[\"income\", \"rate\"], [\"age\", \"term\"], [\"hour\", \"form\"], [\"income\", \"form\"], [\"hour\", \"shop\"]]",
            modifiers: "",
        },
        Product {
            name: "rare categories",
            keys: "actions = 16\nbase = 0.3\neffects = { \"action.story\" = 0.05, \"country*topic\" = 0.06, \"language*topic\" = 0.1 }\ndecay = { \"context.country\" = 1.3, \"context.language\" = 1.0 }",
            context: vec![words("country", 40), words("language", 12)],
            action: vec![words("story", 16), words("topic", 6)],
            cross: "with = [[\"country\", \"topic\"], [\"language\", \"topic\"]]",
            modifiers: "",
        },
        Product {
            name: "many actions",
            keys: "actions = 150\nbase = 0.25\neffects = { \"action.film\" = 0.05, \"action.genre\" = 0.05, \"age*genre\" = 0.06, \"mood*genre\" = 0.06 }",
            context: vec![line("age = { bins = [15, 25, 35, 50, 65] }"), words("mood", 4)],
            action: vec![words("film", 150), words("genre", 10)],
            cross: "with = [[\"age\", \"genre\"], [\"mood\", \"genre\"]]",
            modifiers: "",
        },
        Product {
            name: "matches, arrivals, drift and delays",
            keys: "actions = 14\nbase = 0.2\nreplace_every = 6000\neffects = { \"action.show\" = 0.04, \"liked==genre\" = 0.15, \"spoken==spoken\" = 0.1, \"hour*genre\" = 0.05, \"liked*genre\" = 0.03 }",
            context: vec![words("liked", 7), words("spoken", 5), line("hour = { cycle = 24 }")],
            action: vec![words("show", 30), words("genre", 7), words("spoken", 5)],
            cross: "with = [[\"hour\", \"genre\"], [\"liked\", \"genre\"]]\nmatch = [[\"liked\", \"genre\"], [\"spoken\", \"spoken\"]]",
            modifiers: "[environment.modifiers]\ndelay = { mean = 300.0 }\nlost = 0.1\nrotate = 0.00001",
        },
    ]
}

fn cell(epsilon: Option<f64>) -> String {
    epsilon.map_or("none".into(), |epsilon| epsilon.to_string())
}

/// One rule at all budgets.
fn experiment(
    product: &Product,
    (rule, weighting): (&str, &str),
    rounds: u64,
    (trials, seed): (u64, u64),
) -> Result<Experiment> {
    let Product { name, keys, context, action, cross, modifiers } = product;
    let mut text = format!(
        "name = \"{rule}: {name}\"\nrounds = {rounds}\ntrials = {trials}\nseed = {seed}\n[environment]\nkind = \"catalogue\"\nweighting = \"{weighting}\"\n{keys}\n[environment.context]\n{}\n[environment.action]\n{}\n[environment.cross]\n{cross}\n{modifiers}\n",
        context.join("\n"),
        action.join("\n"),
    );
    let gap = (rounds / RELEASES).max(1);
    for epsilon in EPSILONS {
        let learner = match epsilon {
            None => "kind = \"linucb\"".to_string(),
            Some(epsilon) => format!(
                "kind = \"joint\"\ncontributions_per_person = 10\nprivacy = {{ epsilon = {epsilon:?}, delta = 1e-6 }}"
            ),
        };
        text.push_str(&format!(
            "[[algorithm]]\nname = \"{}\"\nrule = \"{rule}\"\nschedule = {{ capped_geometric = {{ first = {gap}, least = {gap}, rate = 0.0, most = {gap} }} }}\n{learner}\n",
            cell(epsilon)
        ));
    }
    Experiment::parse(&text)
}

/// Mean and 10th percentile over trials.
#[derive(Clone, Copy)]
struct Outcome {
    mean: f64,
    tenth: f64,
    /// Last quarter, above the best fixed action of the last quarter.
    late: f64,
}

impl Outcome {
    fn of(algorithm: &AlgorithmSummary) -> Self {
        let mean = |what| algorithm.measure(what).map_or(f64::NAN, |estimate| estimate.mean);
        let mut values = algorithm.values(MEAN);
        values.sort_by(f64::total_cmp);
        let late = mean(LATE) - mean(FIXED_LATE);
        Outcome { mean: mean(MEAN), tenth: quantile(&values, 0.1), late }
    }

    fn text(self) -> String {
        format!("{:.3}; {:.3}; {:+.3}", self.mean, self.tenth, self.late)
    }

    /// The measures by which this is worse than another: the mean, the 10th percentile.
    fn loses(self, other: Outcome) -> Option<String> {
        let parts = [("mean", self.mean, other.mean), ("10th percentile", self.tenth, other.tenth)];
        let lower = parts.into_iter().filter(|(_, own, other)| *own < other - TIE);
        let lower: Vec<String> =
            lower.map(|(what, own, other)| format!("{what} {own:.3} against {other:.3}")).collect();
        (!lower.is_empty()).then(|| lower.join(", "))
    }
}

/// One line of the table for each budget, and the budgets at which the new rule loses.
fn compare(summaries: &[Summary; 2], rows: &mut Vec<String>, place: &str) -> Vec<String> {
    let mut losses = Vec::new();
    for epsilon in EPSILONS {
        let name = cell(epsilon);
        let [Some(old), Some(new)] = summaries.each_ref().map(|summary| summary.algorithm(&name))
        else {
            continue;
        };
        let measure = |what| old.measure(what).map_or(f64::NAN, |estimate| estimate.mean);
        let (random, fixed) = (measure(RANDOM), measure(FIXED));
        let [old, new] = [old, new].map(Outcome::of);
        rows.push(format!(
            "| {place} | {name} | {random:.3} | {fixed:.3} | {} | {} |",
            old.text(),
            new.text()
        ));
        losses.extend(new.loses(old).map(|how| format!("epsilon {name}: {how}")));
    }
    losses
}

/// The experiment.
pub fn catalogue(stage: &Stage) -> Result<Vec<Claim>> {
    let trials = match stage.extent {
        Extent::Quick => 4,
        Extent::Full => 20,
    };
    let mut claims = Vec::new();
    let mut rows = vec![
        "| product | events | epsilon | random | best fixed | thompson: mean; 10th percentile; last quarter above best fixed | two_level: the same |".to_string(),
        "| --- | --: | --- | --: | --: | --- | --- |".to_string(),
    ];
    for product in products() {
        for rounds in LENGTHS {
            (stage.progress)(&format!("{}, {rounds} events", product.name));
            let run = |rule: (&str, &str)| {
                let folder =
                    format!("{}-{rounds}-{}", product.name.replace([' ', ','], "-"), rule.0);
                let experiment = experiment(&product, rule, rounds, (trials, stage.seed(7)))?;
                experiment.run(&stage.folder.join(folder), |_, _| ())
            };
            let summaries = [run(RULES[0])?, run(RULES[1])?];
            let place = format!("{} | {rounds}", product.name);
            let losses = compare(&summaries, &mut rows, &place);
            claims.push(Claim {
                claim: format!("{}, {rounds} events: two_level wins or ties", product.name),
                judgement: Judgement::stated(losses.is_empty(), trials as usize),
                measured: match losses.is_empty() {
                    true => "it does at every epsilon".into(),
                    false => losses.join("; "),
                },
                expected: format!("mean and 10th percentile not lower by more than {TIE}"),
            });
        }
    }
    report::write(stage.folder, "catalogue.md", &(rows.join("\n") + "\n"))?;
    rows.iter().for_each(|row| (stage.progress)(row));
    Ok(claims)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_product_may_be_played_by_both_rules() {
        for product in products() {
            let dimensions: Vec<usize> = RULES
                .into_iter()
                .map(|rule| {
                    let experiment = experiment(&product, rule, 3000, (1, 7)).unwrap();
                    assert_eq!(experiment.algorithms().len(), EPSILONS.len());
                    let remarks = experiment.algorithms()[0].remarks().join(" ");
                    let (_, rest) = remarks.split_once("vectors of ").unwrap();
                    rest.split(' ').next().unwrap().parse().unwrap()
                })
                .collect();
            // Features of the context alone have no coordinates among groups.
            assert!(dimensions[1] < dimensions[0] && dimensions[0] < 500, "{dimensions:?}");
        }
    }

    #[test]
    fn a_loss_is_noticed_in_the_mean_and_in_the_tail() {
        let outcome = |mean, tenth| Outcome { mean, tenth, late: 0.0 };
        let old = outcome(0.3, 0.25);
        assert_eq!(outcome(0.297, 0.246).loses(old), None);
        assert!(outcome(0.29, 0.26).loses(old).unwrap().starts_with("mean 0.290"));
        assert!(outcome(0.31, 0.24).loses(old).unwrap().starts_with("10th percentile 0.240"));
    }
}
