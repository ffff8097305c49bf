//! One loop in detail.

use maud::{Markup, html};

use super::{
    Pages, Viewer,
    chart::{Chart, Series},
    dashboard::{card, legend},
    history::Point,
    layout::{count, date_time, public},
};
use crate::{Result, loops::Rollback, secret::hex, service::Central, store::ReleaseRecord};

/// Releases in the table.
const SHOWN: u64 = 12;

/// The parts of a loop's page.
pub(super) async fn parts(
    pages: &Pages,
    viewer: &Viewer,
    loop_: &Central,
    host: &str,
) -> Result<Markup> {
    let card = card(pages, viewer, loop_, host, false).await?;
    let points = pages.histories.points(&pages.service, loop_).await?;
    let last = loop_.answering().served.number;
    let first = last.saturating_sub(SHOWN - 1).max(1);
    let records = match last {
        0 => Vec::new(),
        _ => pages.service.releases(&loop_.name, first, SHOWN as usize).await?,
    };
    let plan = &loop_.plan;
    let tick = crate::config::Span::milliseconds(plan.tick);
    Ok(html! {
        (legend(viewer))
        (card)
        @if plan.params.compares() {
            section.card #lift data-part { h2 { "Lift over the baseline " (public()) } (lift_chart(&points)) }
        }
        section.card #releases data-part {
            h2 { "Releases " (public()) }
            p { "One release " @if let Some(tick) = tick { "every " (tick) ", by the clock, " } "on a fixed timetable. A release is a model version; it is never withdrawn." }
            (table(&records))
        }
        section.card #made-of data-part {
            h2 { "Parameters " (public()) }
            dl.facts {
                dt { "generation" } dd { code { (pages.service.params_hash(loop_)) } }
                dt { "coordinates" } dd { (plan.learner_params.bounds.dimension) }
                dt { "features" } dd { (plan.features.context_names().chain(plan.features.action_names()).collect::<Vec<_>>().join(", ")) }
                dt { "reward window" } dd { (plan.params.reward.window) }
                dt { "baseline share" } dd { (plan.params.baseline.share) }
                @if let Some(forget) = plan.params.learner.forget { dt { "half-life" } dd { (forget) } }
                @if let Some(horizon) = plan.params.learner.horizon { dt { "learning ends" } dd { "after " (count(horizon)) " releases" } }
            }
        }
    })
}

fn lift_chart(points: &[Point]) -> Markup {
    let series = Series {
        name: "lift",
        class: "policy",
        points: points.iter().map(|point| (point.time, point.summary.lift)).collect(),
    };
    let title = "Mean reward of the policy less that of the baseline; the band holds with 95 %";
    let chart = Chart { title, series: vec![series], limits: None, level: Some(0.0) };
    chart.markup().unwrap_or_else(|| html! { p.quiet { "Too few events for a reliable figure." } })
}

fn table(records: &[ReleaseRecord]) -> Markup {
    html! {
        @if records.is_empty() { p.quiet { "None yet." } }
        @else {
            div.scroll { table {
                thead { tr { th.number { "number" } th { "made" } th { "hash of the chain" } } }
                tbody { @for record in records.iter().rev() { tr {
                    td.number { (count(record.number)) }
                    td { (date_time(record.time)) }
                    td {
                        code { (hex(&record.chain).chars().take(32).collect::<String>()) }
                        @if let Some(rollback) = Rollback::read(&record.release) { " a rollback to " (count(rollback.after)) " was accepted and charged" }
                    }
                } } }
            } }
        }
    }
}
