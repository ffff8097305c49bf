//! The HTML page of a summary.

use reticent::privacy::Guarantee;

use super::{Summary, sweep};
use crate::{Result, figure::Figure, report::Report};

/// The text with a capital first letter.
fn capital(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

impl Summary {
    pub(super) fn page(&self, figures: &[(String, Figure)]) -> Result<Report> {
        let mut page = Report::new(&self.name);
        for (_, figure) in figures {
            page.figure(figure)?;
        }
        for map in sweep::heat_maps(&self.algorithms).iter().filter(|_| !self.is_offline()) {
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
}
