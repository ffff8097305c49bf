//! The HTML page of a summary.

use reticent::privacy::Guarantee;

use super::{AlgorithmSummary, Summary, plain, sweep};
use crate::{
    Result,
    algorithm::joined,
    report::{figure::Figure, html::Report},
};

/// Environments whose best learners stand on the first screen, at most.
const MOST_ENVIRONMENTS: usize = 2;

/// Levels of epsilon whose best learners stand on the first screen, at most.
const MOST_LEVELS: usize = 4;
/// Warnings on the first screen, at most, without their reasons.
const MOST_WARNINGS: usize = 3;
/// Beginning of a guarantee whose noise is not secure: see [`Guarantee`].
const SIMULATED: &str = "SIMULATION, protects no person; on secure noise ";

/// The text with a capital first letter.
fn capital(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

impl Summary {
    pub(super) fn page(&self, figures: &[(String, Figure)]) -> Result<Report> {
        let mut page = Report::new(&self.name);
        page.answers(&self.answers());
        for (_, figure) in figures {
            page.figure(figure)?;
        }
        for map in &sweep::heat_maps(self) {
            page.heat_map(map);
        }
        if !self.failures.is_empty() {
            page.heading("Trials that failed, and are missing below");
            for failure in &self.failures {
                page.paragraph(failure);
            }
        }
        let warnings = self.warnings();
        if !warnings.is_empty() {
            page.heading("Warnings");
            warnings.iter().for_each(|warning| page.paragraph(warning));
        }
        page.heading(self.headline().map_or("Final regret".into(), capital).as_str());
        let (header, rows) = self.table();
        page.table(&header.iter().map(String::as_str).collect::<Vec<_>>(), &rows);
        let details = self.details();
        if !details.is_empty() {
            page.heading("Theory and counters");
            page.table(&["algorithm", "quantity", "value"], &details);
        }
        page.heading("Guarantees and their conditions");
        for summary in &self.algorithms {
            let sentence = match &summary.guarantee {
                Some(guarantee) => guarantee.to_string(),
                None => "no guarantee is stated".into(),
            };
            let mut text: String =
                summary.guarantee.as_ref().map(Guarantee::table).unwrap_or_default();
            for certificate in &summary.certificates {
                text.push_str(&format!("\n{}: {}\n", certificate.whom, certificate.guarantee));
            }
            for remark in &summary.remarks {
                text.push_str(&format!("\nnote: {remark}\n"));
            }
            page.details(&summary.name, &sentence, text.trim());
        }
        page.heading("The experiment, as run");
        page.preformatted(&self.experiment);
        Ok(page)
    }

    /// Summary for the reader: the best learner, its regret, its guarantee, and failures. Learners are compared within an environment.
    fn answers(&self) -> Vec<(String, String)> {
        let environments =
            sweep::distinct(self.algorithms.iter().map(|one| one.environment.as_slice()));
        let mut answers = Vec::new();
        for environment in environments.iter().take(MOST_ENVIRONMENTS) {
            let here: Vec<&AlgorithmSummary> = self
                .algorithms
                .iter()
                .filter(|one| one.environment == *environment && self.loss(one).is_finite())
                .collect();
            let mut levels = sweep::distinct(here.iter().filter_map(|one| level(one)));
            levels.sort_by(f64::total_cmp);
            // Less privacy is nearly always better: the best one is named for each epsilon.
            let most = MOST_LEVELS / environments.len().min(MOST_ENVIRONMENTS);
            let shown = spread_over(&levels, most);
            for wanted in shown.iter().copied().map(Some).chain([None]) {
                let of = here.iter().copied().filter(|one| level(one) == wanted);
                let best = of.min_by(|one, other| self.loss(one).total_cmp(&self.loss(other)));
                let mut name = match wanted {
                    Some(_) => "Best with a guarantee".to_string(),
                    None => "Best without".to_string(),
                };
                if !environment.is_empty() {
                    name += &format!(", {}", joined(environment));
                }
                if let Some(epsilon) = wanted.filter(|_| levels.len() > 1) {
                    name += &format!(", epsilon {}", level_text(epsilon));
                }
                answers.extend(best.map(|best| (name, self.sentence(best, levels.len() > 1))));
            }
            if let more @ 1.. = levels.len() - shown.len() {
                let others = format!("{more} more between these, in the table below");
                answers.push(("Further levels of epsilon".into(), others));
            }
        }
        answers.extend(self.promises().map(|words| ("The guarantees".to_string(), words)));
        if let more @ 1.. = environments.len().saturating_sub(MOST_ENVIRONMENTS) {
            let others = format!("{more} more, in the table below");
            answers.push(("Further environments".into(), others));
        }
        let (failures, warnings) = (self.failures.len(), self.warnings());
        let mut wrong = Vec::new();
        if failures > 0 {
            let trials = if failures == 1 { "trial" } else { "trials" };
            wrong.push(format!("{failures} {trials} failed, see below"));
        }
        let first = warnings.iter().take(MOST_WARNINGS);
        wrong.extend(first.map(|warning| self.short(warning).to_string()));
        if let more @ 1.. = warnings.len().saturating_sub(MOST_WARNINGS) {
            let several = if more == 1 { "warning" } else { "warnings" };
            wrong.push(format!("{more} more {several} below"));
        }
        let nothing = "nothing that shows in these trials".to_string();
        let wrong = if wrong.is_empty() { nothing } else { wrong.join(". ") };
        answers.push(("Failures and warnings".into(), wrong));
        answers
    }

    /// A warning without its reasons. It begins with the name of an algorithm.
    fn short<'a>(&self, warning: &'a str) -> &'a str {
        let names = self.algorithms.iter().map(|one| one.name.as_str());
        let name = names.filter(|name| warning.starts_with(name)).map(str::len).max().unwrap_or(0);
        let ends = [" (", "; ", ": they "].iter().filter_map(|mark| warning[name..].find(mark));
        &warning[..ends.min().map_or(warning.len(), |end| name + end)]
    }

    /// Value that is compared, less is better: the headline measure if there is one, or the median regret.
    fn loss(&self, summary: &AlgorithmSummary) -> f64 {
        match self.headline().and(summary.first()) {
            Some((_, first)) => -first.mean,
            None => summary.final_regret.median,
        }
    }

    /// Common part of all guarantees.
    fn promises(&self) -> Option<String> {
        let all = || self.algorithms.iter().filter_map(|one| one.guarantee.as_ref());
        let deltas = sweep::distinct(all().map(|one| format!("{:e}", one.delta())));
        let delta = deltas.join(" or ");
        let simulated = all().any(|one| one.to_string().starts_with(SIMULATED));
        let end = match simulated {
            true => " on secure noise; a simulation itself protects no person",
            false => "",
        };
        let words = format!("(epsilon, delta)-differentially private, with delta {delta},{end}");
        (!deltas.is_empty()).then(|| words.trim_end_matches(',').to_string())
    }

    /// Regret and guarantee of a learner; `short` if several are listed.
    fn sentence(&self, summary: &AlgorithmSummary, short: bool) -> String {
        let (regret, rounds) = (&summary.final_regret, self.rounds);
        let result = match self.headline().and(summary.first()) {
            Some((what, first)) => format!("{what} {}", plain(first.mean)),
            None if regret.trials == 1 => format!("regret {:.1} in one trial", regret.mean),
            None if short => format!("regret {:.1} in the median", regret.median),
            None => format!(
                "regret {:.1} in the median of {} trials, {:.1} on average",
                regret.median, regret.trials, regret.mean
            ),
        };
        let words = summary.guarantee.as_ref().map(Guarantee::to_string).unwrap_or_default();
        let words = words.strip_prefix(SIMULATED).unwrap_or(&words);
        match (&summary.guarantee, short) {
            (Some(guarantee), true) => format!("{}: {result}; {}", summary.name, guarantee.model()),
            (Some(_), false) => {
                format!("{}: {result} after {rounds} rounds. {words}", summary.name)
            }
            (None, _) => format!("{}: {result} after {rounds} rounds", summary.name),
        }
    }
}

/// The epsilon that a learner is compared by, of two digits: certificates of the same one differ by rounding.
fn level(summary: &AlgorithmSummary) -> Option<f64> {
    let epsilon = summary.guarantee.as_ref()?.epsilon();
    format!("{epsilon:.1e}").parse().ok()
}

/// At most this number of the values, from the first to the last.
fn spread_over(values: &[f64], most: usize) -> Vec<f64> {
    match values.len() {
        many if many <= most => values.to_vec(),
        many => (0..most).map(|place| values[place * (many - 1) / (most - 1)]).collect(),
    }
}

/// A level of epsilon as a heading has it: as written, and small ones with an exponent.
fn level_text(epsilon: f64) -> String {
    if epsilon != 0.0 && epsilon < 1e-3 { format!("{epsilon:e}") } else { epsilon.to_string() }
}

#[cfg(test)]
mod tests {
    #[test]
    fn small_levels_have_an_exponent() {
        let texts = [1.9e-21, 0.0005, 0.25, 1.0, 100.0].map(super::level_text);
        assert_eq!(texts, ["1.9e-21", "5e-4", "0.25", "1", "100"]);
    }
}
