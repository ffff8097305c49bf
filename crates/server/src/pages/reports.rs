//! The card of a loop to which devices report, live.

use std::sync::atomic::{AtomicU64, Ordering};

use maud::{Markup, html};
use reticent_loops::page::{epsilon_text, percent};

use super::{
    Pages,
    card::Contents,
    layout::{ago, count, public, public_counts, tile},
};
use crate::{Result, service::Reports};

/// Contents of the card: the loop as the server knows it.
pub(super) async fn contents(
    pages: &Pages,
    loop_: &Reports,
    protected: Markup,
) -> Result<Contents> {
    let (view, certificate) = (loop_.view()?, pages.service.certificate(&loop_.name).await?);
    let published = match view.published {
        Some(time) => format!("published {}", ago(pages.service.now().saturating_sub(time))),
        None => "the first, which knows nothing".into(),
    };
    let read = |counter: &AtomicU64| count(counter.load(Ordering::Relaxed));
    let counts = &loop_.counts;
    let state = html! {
        @if view.halted.is_some() { span.mark.watch { "stopped" } } @else { span.mark.good { "learning from devices" } }
    };
    let body = html! {
        h3 { "Data of the server " (public()) }
        dl.tiles {
            (tile("Model", &count(view.model), &published))
            (tile("Reports in it", &count(view.reports), "each noised before it left its device"))
            (tile("Epsilon", &epsilon_text(view.epsilon), &format!("delta {:e}", view.delta)))
            (tile("An attacker's best odds", &percent(certificate.best_guess), "instead of 50 %"))
        }
        (protected)
        h3 { "Since the process began " (public_counts()) }
        dl.tiles {
            (tile("Reports taken", &read(&counts.taken), &format!("{} came again and were not counted again", read(&counts.duplicates))))
            (tile("Too late", &read(&counts.late), "made under a model that is no longer taken"))
            (tile("Refused", &read(&counts.refused), "foreign or malformed"))
            @if loop_.plan.shuffled().is_some() {
                (tile("Batches missing", &count(loop_.missing_batches()), &format!("of {}; each is lost unless it still comes", count(loop_.next_batch()))))
                (tile("Batches refused", &read(&counts.refused_batches), "sent again by the shuffler until an operator has looked"))
            }
            (tile("Rows not usable", &read(&counts.unusable), "each is a fault, and not counted"))
        }
        p.quiet { "Which actions were chosen, for whom and with what reward stays on the devices: nothing of it can be shown here." }
    };
    Ok(Contents { state, halted: view.halted, stopped: "No model is published", body })
}
