//! The HTML page of a summary.

use reticent::privacy::Guarantee;

use super::{AlgorithmSummary, Summary, sweep};
use crate::{Result, contest::joined, figure::Figure, report::Report};

/// Environments whose best learners stand on the first screen, at most.
const MOST_ENVIRONMENTS: usize = 2;

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
        page.heading(self.headline().map_or("Final regret".into(), capital).as_str());
        let (header, rows) = self.table();
        page.table(&header.iter().map(String::as_str).collect::<Vec<_>>(), &rows);
        let details = self.details();
        if !details.is_empty() {
            page.heading("Theory and counters");
            page.table(&["algorithm", "what", "value"], &details);
        }
        page.heading("What is promised, and what it rests on");
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

    /// Which learner, how well, under which guarantee, and what went wrong. Learners are compared within an environment.
    fn answers(&self) -> Vec<(String, String)> {
        let environments =
            sweep::distinct(self.algorithms.iter().map(|one| one.environment.as_slice()));
        let mut answers = Vec::new();
        for environment in environments.iter().take(MOST_ENVIRONMENTS) {
            for (name, private) in [("Best with a guarantee", true), ("Best without", false)] {
                let of = self.algorithms.iter().filter(|one| {
                    one.environment == *environment && one.guarantee.is_some() == private
                });
                let of = of.filter(|one| self.loss(one).is_finite());
                let best = of.min_by(|one, other| self.loss(one).total_cmp(&self.loss(other)));
                let name = match *environment {
                    [] => name.to_string(),
                    labels => format!("{name}, {}", joined(labels)),
                };
                answers.extend(best.map(|best| (name, self.sentence(best))));
            }
        }
        if let more @ 1.. = environments.len().saturating_sub(MOST_ENVIRONMENTS) {
            let others = format!("{more} more, in the table below");
            answers.push(("Further environments".into(), others));
        }
        let (failures, warnings) = (self.failures.len(), self.warnings_of_trials());
        let mut wrong = Vec::new();
        if failures > 0 {
            wrong.push(format!("{failures} trials failed, see below"));
        }
        let few = warnings.len().saturating_sub(3);
        wrong.extend(warnings.iter().take(3).map(|warning| self.short(warning).to_string()));
        if few > 0 {
            wrong.push(format!("There are {few} more warnings, which the command prints"));
        }
        let nothing = "nothing that shows in these trials".to_string();
        let wrong = if wrong.is_empty() { nothing } else { wrong.join(". ") };
        answers.push(("What went wrong".into(), wrong));
        answers
    }

    /// What a warning says, without its reasons. It begins with the name of an algorithm.
    fn short<'a>(&self, warning: &'a str) -> &'a str {
        let names = self.algorithms.iter().map(|one| one.name.as_str());
        let name = names.filter(|name| warning.starts_with(name)).map(str::len).max().unwrap_or(0);
        let ends = [" (", "; ", ": they "].iter().filter_map(|mark| warning[name..].find(mark));
        &warning[..ends.min().map_or(warning.len(), |end| name + end)]
    }

    /// What is compared, less is better: the headline measure if there is one, or the median regret.
    fn loss(&self, summary: &AlgorithmSummary) -> f64 {
        match self.headline().and(summary.first()) {
            Some((_, first)) => -first.mean,
            None => summary.final_regret.median,
        }
    }

    fn sentence(&self, summary: &AlgorithmSummary) -> String {
        let regret = &summary.final_regret;
        let result = match self.headline().and(summary.first()) {
            Some((what, first)) => format!("{what} {:.4}", first.mean),
            None if regret.trials == 1 => format!("regret {:.1} in one trial", regret.mean),
            None => format!(
                "regret {:.1} in the median of {} trials, {:.1} on average",
                regret.median, regret.trials, regret.mean
            ),
        };
        let rounds = self.rounds;
        let promise = match &summary.guarantee {
            Some(guarantee) => format!("; {guarantee}"),
            None => String::new(),
        };
        format!("{}: {result} after {rounds} rounds{promise}", summary.name)
    }
}
