//! `defaults/dominance`: whether the defaults obey the order that trust and budget imply.
//!
//! A curator can do whatever a shuffler can, and a shuffler whatever a server of randomised reports can; noise can always be added. So at equal
//! (epsilon, delta), in every environment:
//!
//! 1. **trust**: a stronger trust model does not lose to a weaker one,
//! 2. **budget**: a larger epsilon does not lose to a smaller one,
//! 3. **limit**: at epsilon = 1e6 every trust model reaches the learner without privacy,
//! 4. **stuck**: no default has trials that stopped learning ([`crate::report::estimate`]).
//!
//! **What counts as losing.** Trial i of two learners has the same instance and the same people, so their regrets are compared trial by trial.
//! One loses to the other if the mean difference exceeds [`ERRORS`] of its standard errors and the mean regret is larger by more than the share
//! [`MARGIN`]; in rule 3 by more than [`LIMIT_MARGIN`], because releases come in batches and a learner without privacy learns every round.

mod catalogue;
mod data;
mod outlook;
mod parts;
mod rules;

pub use catalogue::catalogue;
pub use outlook::outlook;
pub use parts::parts;
pub use rules::rules;

use super::{Claim, Extent, Judgement, Stage};
use crate::{
    Experiment, Result,
    report::{
        html as report,
        html::Report,
        summary::{AlgorithmSummary, Summary},
    },
};

/// Epsilons of a short run.
const QUICK: &[f64] = &[0.1, 0.5, 2.0, 8.0, 100.0, 1e6];
/// Epsilons of a long run.
const FULL: &[f64] = &[0.1, 0.3, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 64.0, 100.0, 1000.0, 1e6];
/// From the strongest trust to the weakest.
const TRUST: [&str; 3] = ["joint", "shuffle", "local"];
/// The learner without privacy.
const NONE: &str = "linucb";
/// A difference of this number of standard errors is not chance: among the comparisons of a full run (fewer than 500) a false one has a probability
/// of about 0.1 in all.
const ERRORS: f64 = 3.5;
/// Losses of less than this share are not counted.
const MARGIN: f64 = 0.05;
/// The same for rule 3.
const LIMIT_MARGIN: f64 = 0.5;
const ROUNDS: u64 = 20_000;

/// An environment as a file writes it.
struct Place {
    name: &'static str,
    toml: String,
}

fn places(stage: &Stage) -> Result<Vec<Place>> {
    let drawn = |name, kind: &str, fresh: bool| Place {
        name,
        toml: format!("kind = \"{kind}\"\ndimension = 5\narms = 20\nfresh_arms = {fresh}"),
    };
    let folder = stage.folder.join("data");
    Ok(vec![
        drawn("sphere, fixed arms", "sphere", false),
        drawn("sphere, fresh arms", "sphere", true),
        drawn("gap, fixed arms", "gap", false),
        drawn("gap, fresh arms", "gap", true),
        Place { name: "items", toml: data::items(&folder)? },
        Place { name: "table", toml: data::table(&folder)? },
    ])
}

fn cell(trust: &str, epsilon: f64) -> String {
    format!("{trust} {epsilon}")
}

fn experiment(place: &Place, epsilons: &[f64], (trials, seed): (u64, u64)) -> Result<Experiment> {
    let mut text = format!(
        "name = \"never dominated: {}\"\nrounds = {ROUNDS}\ntrials = {trials}\nseed = {seed}\n[environment]\n{}\n[[algorithm]]\nname = \"{NONE}\"\nkind = \"linucb\"\n",
        place.name, place.toml
    );
    for trust in TRUST {
        for &epsilon in epsilons {
            text.push_str(&format!(
                "[[algorithm]]\nname = \"{}\"\nkind = \"{trust}\"\nprivacy = {{ epsilon = {epsilon:?}, delta = 1e-6 }}\n",
                cell(trust, epsilon)
            ));
        }
    }
    Experiment::parse(&text)
}

/// Excess of the first's mean regret over the second's, as a share of the second's, if it is not chance.
fn loses(first: &AlgorithmSummary, second: &AlgorithmSummary, margin: f64) -> Option<f64> {
    let (a, b) = (first.final_regrets(), second.final_regrets());
    let n = a.len().min(b.len()) as f64;
    let differences: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a - b).collect();
    let mean = differences.iter().sum::<f64>() / n;
    let variance = differences.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let share = mean / second.final_regret.mean.max(1.0);
    (mean > ERRORS * (variance / n).sqrt() && share > margin).then_some(share)
}

/// The four rules in one environment.
fn judge(place: &Place, summary: &Summary, epsilons: &[f64]) -> Vec<Claim> {
    let of = |trust: &str, epsilon: f64| summary.algorithm(&cell(trust, epsilon));
    let name = |algorithm: &AlgorithmSummary| {
        format!("{} ({:.0})", algorithm.name, algorithm.final_regret.mean)
    };
    let compare = |pairs: Vec<(Option<&AlgorithmSummary>, Option<&AlgorithmSummary>)>, margin| {
        let mut broken = Vec::new();
        for (first, second) in pairs {
            let (Some(first), Some(second)) = (first, second) else { continue };
            if let Some(share) = loses(first, second, margin) {
                let percent = 100.0 * share;
                broken.push(format!("{} loses to {} by {percent:.0} %", name(first), name(second)));
            }
        }
        broken
    };
    let trust = TRUST.windows(2).flat_map(|pair| {
        epsilons.iter().map(|&epsilon| (of(pair[0], epsilon), of(pair[1], epsilon)))
    });
    let budget = TRUST
        .iter()
        .flat_map(|trust| epsilons.windows(2).map(|pair| (of(trust, pair[1]), of(trust, pair[0]))));
    let most = epsilons.last().copied().unwrap_or(f64::NAN);
    let none = summary.algorithm(NONE);
    let trials = none.map_or(0, |none| none.final_regret.trials);
    let limit = TRUST.iter().map(|trust| (of(trust, most), none));
    let stuck = summary.algorithms.iter().filter_map(|algorithm| {
        let stuck = algorithm.final_regret.stuck_trials.filter(|stuck| *stuck > 0)?;
        let trials = algorithm.final_regret.trials;
        Some(format!("{}: {stuck} of {trials}", algorithm.name))
    });
    let rules = [
        ("stronger trust never loses", compare(trust.collect(), MARGIN)),
        ("more budget never hurts", compare(budget.collect(), MARGIN)),
        (
            "epsilon = 1e6 reaches the learner without privacy",
            compare(limit.collect(), LIMIT_MARGIN),
        ),
        ("no trial is stuck", stuck.collect()),
    ];
    let claim = |(rule, broken): (&str, Vec<String>)| Claim {
        claim: format!("{}: {rule}", place.name),
        // The rule for losing states its own errors.
        judgement: Judgement::stated(broken.is_empty(), trials),
        measured: match broken.is_empty() {
            true => "holds".into(),
            false => broken.join("; "),
        },
        expected: "no exception".into(),
    };
    rules.into_iter().map(claim).collect()
}

/// The experiment.
pub fn dominance(stage: &Stage) -> Result<Vec<Claim>> {
    let (epsilons, trials) = match stage.extent {
        Extent::Quick => (QUICK, 16),
        Extent::Full => (FULL, 64),
    };
    let mut claims = Vec::new();
    let mut page = Report::new("never dominated: trust models, epsilons and environments");
    let mut plain = String::new();
    for place in places(stage)? {
        (stage.progress)(place.name);
        let folder = stage.folder.join(place.name.replace(", ", "-").replace(' ', "-"));
        let summary =
            experiment(&place, epsilons, (trials, stage.seed(1)))?.run(&folder, |_, _| ())?;
        let (header, rows) = table(&summary, epsilons);
        page.heading(place.name);
        page.table(&header.iter().map(String::as_str).collect::<Vec<_>>(), &rows);
        plain.push_str(&format!("\n{}\n\n| {} |\n", place.name, header.join(" | ")));
        plain.push_str(&format!("|{}\n", " --- |".repeat(header.len())));
        rows.iter().for_each(|row| plain.push_str(&format!("| {} |\n", row.join(" | "))));
        claims.extend(judge(&place, &summary, epsilons));
    }
    page.paragraph("Mean regret with its standard error; median; 95th percentile; stuck trials if there are any.");
    report::write(stage.folder, "dominance.md", &plain)?;
    report::write(stage.folder, "dominance.html", page.html())?;
    Ok(claims)
}

/// Epsilons by rows, trust models by columns.
fn table(summary: &Summary, epsilons: &[f64]) -> (Vec<String>, Vec<Vec<String>>) {
    let text = |algorithm: Option<&AlgorithmSummary>| {
        algorithm.map_or("-".into(), |algorithm| {
            let regret = &algorithm.final_regret;
            let stuck = regret.stuck_trials.filter(|stuck| *stuck > 0);
            let stuck = stuck.map_or(String::new(), |stuck| format!("; {stuck} stuck"));
            format!(
                "{:.0} +- {:.0}; {:.0}; {:.0}{stuck}",
                regret.mean, regret.standard_error, regret.median, regret.percentile_95
            )
        })
    };
    let header = std::iter::once("epsilon").chain(TRUST).map(String::from).collect();
    let mut rows: Vec<Vec<String>> = Vec::new();
    for &epsilon in epsilons {
        let cells = TRUST.map(|trust| text(summary.algorithm(&cell(trust, epsilon))));
        rows.push(std::iter::once(epsilon.to_string()).chain(cells).collect());
    }
    rows.push(vec!["no privacy".into(), text(summary.algorithm(NONE)), "-".into(), "-".into()]);
    (header, rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::papers::Verdict;

    /// A curator whose noise is that of a smaller epsilon, under the name of a larger one, is found out, and so is a learner that never learns.
    #[test]
    fn planted_faults_break_their_rules() {
        let place = Place {
            name: "sphere",
            toml: "kind = \"sphere\"\ndimension = 3\narms = 5\nfresh_arms = true".into(),
        };
        let line = |name: &str, kind: &str, epsilon: f64| {
            format!(
                "[[algorithm]]\nname = \"{name}\"\nkind = \"{kind}\"\nprivacy = {{ epsilon = {epsilon:?}, delta = 1e-6 }}\n"
            )
        };
        let run = |planted: &str, folder: &str| {
            let text = format!(
                "name = \"p\"\nrounds = 3000\ntrials = 8\nseed = 3\n[environment]\n{}\n[[algorithm]]\nname = \"linucb\"\nkind = \"linucb\"\n{planted}",
                place.toml
            );
            let folder = std::env::temp_dir().join(format!("{folder}-{}", std::process::id()));
            let summary = Experiment::parse(&text).unwrap().run(&folder, |_, _| ()).unwrap();
            std::fs::remove_dir_all(&folder).unwrap();
            let claims = judge(&place, &summary, &[1.0, 8.0]);
            claims.iter().map(|c| c.judgement.verdict == Verdict::Reproduced).collect::<Vec<_>>()
        };
        let right = line("joint 1", "joint", 1.0) + &line("joint 8", "joint", 8.0);
        let locals = line("local 1", "local", 1.0) + &line("local 8", "local", 8.0);
        let right = run(&(right + &locals), "dominance-right");
        assert!(right[0] && right[1], "{right:?}");
        let wrong = line("joint 1", "joint", 8.0) + &line("joint 8", "joint", 0.1);
        let middle = line("shuffle 1", "joint", 8.0) + &line("shuffle 8", "joint", 8.0);
        let wrong = run(&(wrong + &middle), "dominance-wrong");
        assert!(!wrong[0] && !wrong[1] && !wrong[2], "{wrong:?}");
    }
}
