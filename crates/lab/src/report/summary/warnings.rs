//! Warnings and notes of a summary.

use reticent::privacy::Guarantee;

use super::{AlgorithmSummary, Summary, sweep};
use crate::{
    environment::{
        bandit::EACH_ROUND,
        offline::{EFFECTIVE_SIZE, LEAST_EFFECTIVE_SIZE, PROPENSITIES},
    },
    play::trial::Trial,
    report::figure::{Format, undrawable},
};

impl AlgorithmSummary {
    /// The remarks, and the condition that every round is another person's.
    fn said(&self) -> impl Iterator<Item = &String> {
        let conditions = self.guarantee.iter().flat_map(Guarantee::conditions);
        self.remarks.iter().chain(conditions.filter(|one| one.starts_with(EACH_ROUND)))
    }

    /// A warning if the log contains too few of the policy's actions.
    fn too_small(&self) -> Option<String> {
        let of = |trial: &Trial| {
            trial.measures.iter().find(|measure| measure.what == EFFECTIVE_SIZE).map(|m| m.value)
        };
        let least = self.trials.iter().filter_map(of).reduce(f64::min)?;
        if least == 0.0 {
            return Some("NOTHING WAS LEARNT about the policy's value: the policy would have taken none of the logged actions; give more of them, or a log that explores more".into());
        }
        (least < LEAST_EFFECTIVE_SIZE).then(|| {
            format!(
                "no interval: the effective sample size is {least:.1}, below {LEAST_EFFECTIVE_SIZE}; give more lines to evaluate, a log that explores more, or clip_weights"
            )
        })
    }
}

/// Tells whether a remark says that a learner cannot work: [`reticent::bandit::Outlook`].
fn is_warning(remark: &str) -> bool {
    remark.starts_with("TOO FEW PEOPLE") || remark.starts_with(PROPENSITIES)
}

impl Summary {
    /// The important warnings.
    pub fn warnings(&self) -> Vec<String> {
        self.warnings_of_trials().into_iter().chain(self.warning_of_letters()).collect()
    }

    /// A warning of letters that a PNG shows as boxes.
    fn warning_of_letters(&self) -> Option<String> {
        if self.drawing.format == [Format::Svg] {
            return None;
        }
        let names = self.algorithms.iter().map(|summary| summary.name.as_str());
        let missing = undrawable(&names.chain([self.name.as_str()]).collect::<Vec<_>>().join(" "));
        let letters: Vec<String> = missing.into_iter().map(String::from).collect();
        (!letters.is_empty()).then(|| {
            format!(
                "figures: Noto Sans has no {}: a PNG shows boxes instead; write format = [\"svg\"] under [figure]",
                letters.join(" ")
            )
        })
    }

    /// Warnings of the trials.
    fn warnings_of_trials(&self) -> Vec<String> {
        // What is wrong with a log is said once.
        let of_log = self.algorithms.iter().flat_map(|summary| &summary.remarks);
        let mut warnings =
            sweep::distinct(of_log.filter(|remark| remark.starts_with(PROPENSITIES)).cloned());
        for summary in &self.algorithms {
            let of = summary.guarantee.iter().flat_map(|guarantee| guarantee.warnings());
            // The warning that a simulation protects no data is in every report; here it would be repeated for every algorithm.
            let of = of.filter(|warning| !warning.starts_with("simulation"));
            let own = |remark: &&String| is_warning(remark) && !remark.starts_with(PROPENSITIES);
            let remarks = summary.remarks.iter().filter(own);
            warnings
                .extend(of.chain(remarks).map(|warning| format!("{}: {warning}", summary.name)));
            let violated = summary
                .measures
                .iter()
                .find(|(what, e)| *what == "safety violations" && e.mean > 0.0);
            if let Some((_, violations)) = violated {
                warnings.push(format!(
                    "{}: UNSAFE: {} violations a trial; do not deploy these settings",
                    summary.name, violations.mean
                ));
            }
            warnings.extend(summary.too_small().map(|text| format!("{}: {text}", summary.name)));
            if let Some(stuck @ 1..) = summary.final_regret.stuck_trials
                && !self.is_offline()
            {
                let trials = summary.final_regret.trials;
                warnings.push(format!(
                    "{}: {stuck} of {trials} trials are stuck: they lose in the second half at least half as much a round as in the first tenth, and at least twice the median in all; read the median and the percentile beside the mean",
                    summary.name
                ));
            }
        }
        warnings
    }

    /// The remarks, and what a guarantee says of people who come again, each once: of a whole grid by the name of the algorithm, of some of its points by theirs.
    pub fn notes(&self) -> Vec<String> {
        let all = self.algorithms.iter().flat_map(AlgorithmSummary::said);
        let notes = sweep::distinct(all.filter(|remark| !is_warning(remark)));
        let has = |one: &AlgorithmSummary, note: &String| one.said().any(|said| said == note);
        let whose = |note: &String| {
            let name = |one: &&AlgorithmSummary| {
                let mut grid = self.algorithms.iter().filter(|other| other.series == one.series);
                let shared = grid.all(|other| has(other, note));
                if shared { one.series.clone() } else { one.name.clone() }
            };
            let having = self.algorithms.iter().filter(|one| has(one, note));
            sweep::distinct(having.collect::<Vec<_>>().iter().map(name)).join("; ")
        };
        notes.into_iter().map(|note| format!("{}: {note}", whose(note))).collect()
    }
}
