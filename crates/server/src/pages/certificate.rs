//! Certificates of loops that are served: one sheet each, and one page of all loops.

use maud::{Markup, html};
use reticent_loops::page::{
    conditions, epsilon_text, loop_sheet, meaning, percent, promise, together_words,
};

use super::{
    Pages, Viewer,
    card::unit,
    layout::{count, date_time},
};
use crate::{Result, loops::Certificate};

/// The sheet of a loop that is served.
pub(super) async fn served(pages: &Pages, viewer: &Viewer, name: &str) -> Result<Markup> {
    super::expect_seen(viewer, name)?;
    let certificate = pages.service.certificate(name).await?;
    let together = pages.service.together().await?;
    Ok(html! {
        p.screen.hint { "Print this page, or save it as PDF." }
        (loop_sheet(&pages.service.find(name)?.plan(), &certificate, &together))
    })
}

/// The guarantee of all loops together, with a link to the sheet of each.
pub(super) async fn all_served(pages: &Pages, viewer: &Viewer) -> Result<Markup> {
    let together = pages.service.together().await?;
    let mut rows = Vec::new();
    for loop_ in pages.service.loops() {
        let certificate = pages.histories.certificate(&pages.service, loop_).await?;
        rows.push((&loop_.name, unit(&loop_.plan()), certificate));
    }
    Ok(html! {
        article.sheet {
            header {
                h1 { "Privacy certificate of all loops" }
                p.quiet { "Made " (date_time(pages.service.now())) " by Reticent " (env!("CARGO_PKG_VERSION")) }
            }
            h2 { "Guarantee of all loops together" }
            @match (&together.guarantee, together.best_guess) {
                (Some(guarantee), Some(best_guess)) => {
                    (promise(guarantee, best_guess))
                    (meaning(guarantee, best_guess, &format!("{} in one period of every loop", together.unit), together.hides_taking_part))
                },
                _ => p { "No loop counts visits of persons, so that no number holds for a person. Each loop protects single decisions." },
            }
            (together_words(&together))
            (conditions(&together.conditions))
            h2 { "The loops" }
            table {
                thead { tr { th { "loop" } th { "protected" } th.number { "epsilon" } th.number { "in a year" } th.number { "best odds" } th.number { "release" } } }
                tbody { @for (name, protected, certificate) in &rows { tr {
                    td {
                        @if viewer.sees(name) { a href=(format!("/loops/{name}/certificate")) { (name) } }
                        @else { (name) }
                    }
                    td { (protected) }
                    td.number { (epsilon_text(certificate.guarantee.epsilon())) }
                    td.number { (year(certificate)) }
                    td.number { (percent(certificate.best_guess)) }
                    td.number { (count(certificate.release)) }
                } } }
            }
            p.quiet { "Each loop's sheet lists what it collects, for how long, who sees it, and what enforces the conditions of its number." }
        }
    })
}

/// Epsilon of a year: the same number where it holds for ever, and none where single decisions are protected.
fn year(certificate: &Certificate) -> String {
    match (&certificate.year, &certificate.period) {
        (Some(year), _) => epsilon_text(year.epsilon),
        (None, Some(_)) => epsilon_text(certificate.guarantee.epsilon()),
        (None, None) => "no bound".into(),
    }
}
