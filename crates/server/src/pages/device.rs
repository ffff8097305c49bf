//! Pages of loops whose devices add the noise.

use std::sync::atomic::{AtomicU64, Ordering};

use maud::{Markup, html};
use reticent_loops::page::{epsilon_text, percent};

use super::{
    Pages,
    layout::{ago, count, public, public_counts, tile},
};
use crate::{
    Result,
    config::{DevicePlan, Period, Span},
    service::Reports,
};

/// The protected unit in words.
pub(super) fn unit(plan: &DevicePlan) -> String {
    let within = match plan.params.privacy.per {
        Some(Period::Each(span)) => format!(" in one period of {span}"),
        _ => " ever".into(),
    };
    format!("all reports of one installation{within} (at most {})", plan.visits())
}

/// A loop as the server knows it.
pub(super) async fn card(pages: &Pages, loop_: &Reports, link: bool) -> Result<Markup> {
    let plan = &loop_.plan;
    let (view, certificate) = (loop_.view()?, pages.service.certificate(&loop_.name).await?);
    let published = match view.published {
        Some(time) => format!("published {}", ago(pages.service.now().saturating_sub(time))),
        None => "the first, which knows nothing".into(),
    };
    let read = |counter: &AtomicU64| count(counter.load(Ordering::Relaxed));
    let counts = &loop_.counts;
    Ok(html! {
        section.card id=(format!("loop-{}", plan.name)) data-part {
            div.title {
                h2 { @if link { a href=(format!("/loops/{}", plan.name)) { (plan.name) } } @else { (plan.name) } }
                @if view.halted.is_some() { span.mark.watch { "stopped" } } @else { span.mark.good { "learning from devices" } }
            }
            @if let Some(purpose) = &plan.params.purpose { p.quiet { (purpose) } }
            @if let Some(why) = &view.halted { p.notice.bad role="alert" { "No model is published: " (why) } }
            h3 { "Data of the server " (public()) }
            dl.tiles {
                (tile("Model", &count(view.model), &published))
                (tile("Reports in it", &count(view.reports), "each noised before it left its device"))
                (tile("Epsilon", &epsilon_text(view.epsilon), &format!("delta {:e}", view.delta)))
                (tile("An attacker's best odds", &percent(certificate.best_guess), "instead of 50 %"))
            }
            p {
                "Protected: " (unit(plan)) ". "
                a href=(format!("/loops/{}/certificate", plan.name)) { "Certificate" }
            }
            h3 { "Since the process began " (public_counts()) }
            dl.tiles {
                (tile("Reports taken", &read(&counts.taken), &format!("{} came again and were not counted again", read(&counts.duplicates))))
                (tile("Too late", &read(&counts.late), "made under a model that is no longer taken"))
                (tile("Refused", &read(&counts.refused), "foreign or malformed"))
                @if plan.shuffled().is_some() {
                    (tile("Batches missing", &count(loop_.missing_batches()), &format!("of {}; each is lost unless it still comes", count(loop_.next_batch()))))
                    (tile("Batches refused", &read(&counts.refused_batches), "sent again by the shuffler until an operator has looked"))
                }
                (tile("Rows not usable", &read(&counts.unusable), "each is a fault, and not counted"))
            }
            p.quiet { "Which actions were chosen, for whom and with what reward stays on the devices: nothing of it can be shown here." }
        }
    })
}

/// The parts of a loop's page.
pub(super) async fn parts(pages: &Pages, loop_: &Reports) -> Result<Markup> {
    let plan = &loop_.plan;
    let tick = Span::milliseconds(plan.tick);
    let card = card(pages, loop_, false).await?;
    Ok(html! {
        (card)
        section.card #made-of data-part {
            h2 { "Parameters " (public()) }
            dl.facts {
                dt { "generation" } dd { code { (format!("{:016x}", plan.params_hash())) } }
                dt { "coordinates" } dd { (plan.features.dimension()) }
                dt { "features" } dd { (plan.features.context_names().chain(plan.features.action_names()).collect::<Vec<_>>().join(", ")) }
                dt { "randomiser" } dd { (plan.local().method()) ": " (plan.local().reason()) }
                @if let Some(tick) = tick { dt { "a model" } dd { "every " (tick) ", by the clock" } }
                dt { "reports are taken" } dd { "on the last " (count(plan.late_models + 1)) " models" }
                @if let Some(shuffle) = plan.shuffled() {
                    dt { "batches" } dd { (count(shuffle.params().batch)) " reports, of which " (count(shuffle.honest())) " are taken to be honest people's" }
                }
            }
        }
    })
}
