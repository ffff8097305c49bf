//! One loop in detail.

use maud::{Markup, html};

use super::{
    Pages, Viewer,
    card::card,
    chart::{Chart, Series},
    dashboard::legend,
    history::Point,
    layout::{count, date_time, public},
};
use crate::{
    Result,
    config::{CentralPlan, ReportsPlan, Span},
    loops::Rollback,
    secret::hex,
    service::{Central, Loop},
    store::ReleaseRecord,
};

/// Releases in the table.
const SHOWN: u64 = 12;

/// The parts of a loop's page.
pub(super) async fn parts(
    pages: &Pages,
    viewer: &Viewer,
    loop_: &Loop,
    host: &str,
) -> Result<Markup> {
    let card = card(pages, viewer, loop_, host, false).await?;
    Ok(match loop_ {
        Loop::Central(central) => {
            let released = released(pages, central).await?;
            html! {
                (legend(viewer))
                (card)
                (released)
                (parameters(loop_, of_central(&central.plan)))
            }
        }
        Loop::Reports(reports) => html! {
            (card)
            (parameters(loop_, of_reports(&reports.plan)))
        },
    })
}

/// The releases of a central loop.
async fn released(pages: &Pages, loop_: &Central) -> Result<Markup> {
    let points = pages.histories.points(&pages.service, loop_).await?;
    let last = loop_.answering().served.number;
    let first = last.saturating_sub(SHOWN - 1).max(1);
    let records = match last {
        0 => Vec::new(),
        _ => pages.service.releases(&loop_.name, first, SHOWN as usize).await?,
    };
    let tick = Span::milliseconds(loop_.tick);
    Ok(html! {
        @if loop_.plan.params.compares() {
            section.card #lift data-part { h2 { "Lift over the baseline " (public()) } (lift_chart(&points)) }
        }
        section.card #releases data-part {
            h2 { "Releases " (public()) }
            p { "One release " @if let Some(tick) = tick { "every " (tick) ", by the clock, " } "on a fixed timetable. A release is a model version; it is never withdrawn." }
            (table(&records))
        }
    })
}

/// Parameters of a loop, with those of its mechanism.
fn parameters(loop_: &Loop, more: Markup) -> Markup {
    let plan = loop_.plan();
    let features = plan.features();
    let names = features.context_names().chain(features.action_names());
    html! {
        section.card #made-of data-part {
            h2 { "Parameters " (public()) }
            dl.facts {
                dt { "generation" } dd { code { (format!("{:016x}", loop_.params_hash)) } }
                dt { "coordinates" } dd { (plan.coordinates()) }
                dt { "features" } dd { (names.collect::<Vec<_>>().join(", ")) }
                (more)
            }
        }
    }
}

fn of_central(plan: &CentralPlan) -> Markup {
    html! {
        dt { "reward window" } dd { (plan.params.reward.window) }
        dt { "baseline share" } dd { (plan.params.baseline.share) }
        @if let Some(forget) = plan.params.learner.forget { dt { "half-life" } dd { (forget) } }
        @if let Some(horizon) = plan.params.learner.horizon { dt { "learning ends" } dd { "after " (count(horizon)) " releases" } }
    }
}

fn of_reports(plan: &ReportsPlan) -> Markup {
    let tick = Span::milliseconds(plan.tick);
    html! {
        dt { "randomiser" } dd { (plan.local().method()) ": " (plan.local().reason()) }
        @if let Some(tick) = tick { dt { "a model" } dd { "every " (tick) ", by the clock" } }
        dt { "reports are taken" } dd { "on the last " (count(plan.late_models + 1)) " models" }
        @if let Some(shuffle) = plan.shuffled() {
            dt { "batches" } dd { (count(shuffle.params().batch)) " reports, of which " (count(shuffle.honest())) " are taken to be honest people's" }
        }
    }
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
