//! All loops, live.

use maud::{Markup, html};

use super::{
    Call, Pages, Viewer, card,
    layout::{count, internal, public},
};
use crate::Result;

/// The parts of the dashboard.
pub(super) async fn parts(pages: &Pages, viewer: &Viewer, host: &str) -> Result<Markup> {
    let mut cards = Vec::new();
    for loop_ in pages.service.loops().filter(|loop_| viewer.sees(&loop_.name)) {
        cards.push(card::card(pages, viewer, loop_, host, true).await?);
    }
    let calls = pages.access.calls(viewer);
    Ok(html! {
        (legend(viewer))
        @if viewer.admin { (troubles(&pages.service.troubles())) }
        @for card in &cards { (card) }
        @if cards.is_empty() {
            section.card { h2 { "No loop" } p { "This key belongs to a loop that is not served at present. Use a key of another loop, or an admin key." } }
        }
        @if viewer.admin { (requests(&calls)) }
    })
}

/// Legend of the marks.
pub(super) fn legend(viewer: &Viewer) -> Markup {
    html! {
        p.legend {
            (public()) " made from releases, which the certificate covers: read keys see it. "
            @if viewer.admin { (internal()) " exact counts of what people did: no certificate covers them. Do not publish them." }
        }
    }
}

fn troubles(troubles: &[String]) -> Markup {
    html! {
        section #troubles data-part {
            @for trouble in troubles { p.notice.bad role="alert" { (trouble) } }
        }
    }
}

fn requests(calls: &[Call]) -> Markup {
    let milliseconds =
        |time: Option<f64>| time.map_or("-".into(), |time| format!("within {time:.1} ms"));
    html! {
        section.card #calls data-part {
            h2 { "Requests " (internal()) }
            @if calls.is_empty() {
                p.quiet { "No request has come over HTTP since the process began." }
            } @else {
                div.scroll { table {
                    thead { tr { th { "call" } th.number { "requests" } th.number { "errors" } th.number { "median" } th.number { "p99" } } }
                    tbody { @for call in calls { tr {
                        td.call-name { (call.name) }
                        td.number { (count(call.requests)) }
                        td.number { (call.errors.map_or("-".into(), count)) }
                        td.number { (milliseconds(call.median)) }
                        td.number { (milliseconds(call.p99)) }
                    } } }
                } }
            }
        }
    }
}
