//! Progress of a central loop: events so far beside those that each part of its features needs.

use maud::{Markup, html};
use reticent_loops::config::{part_in_words, rounded};

use super::layout::{count, public};
use crate::{
    loops::{Learning, Progress, percent_of},
    service::Central,
};

/// Progress at the last release, where there is one and an estimate can be made.
pub(super) fn of(loop_: &Central) -> Option<Progress> {
    let answering = loop_.answering();
    Progress::of(&loop_.plan, answering.served.release.as_ref()?)
}

/// State of the learner as a mark.
pub(super) fn mark(progress: &Progress) -> Markup {
    let needed = rounded(progress.needed);
    match (progress.learning(), progress.events) {
        (Learning::Enough, _) => html! { span.mark.good { "learning" } },
        (Learning::Gathering, Some(events)) => html! {
            span.mark.watch { "gathering events: " (percent_of(events, progress.needed)) " % of about " (needed) }
        },
        (Learning::Never, _) => {
            html! { span.mark.watch { "too few events at this pace: needs about " (needed) } }
        }
        (Learning::TooFew | Learning::Gathering, _) => {
            html! { span.mark.watch { "too few events for a reliable figure" } }
        }
    }
}

/// Events so far and events needed, in all and by part.
pub(super) fn table(progress: &Option<Progress>) -> Markup {
    let Some(progress) = progress else { return html! {} };
    let Some(events) = progress.events else {
        return html! {
            h3 { "Progress " (public()) }
            p.quiet { "Fewer events than the noise of a release hides. Decisions need about " (rounded(progress.needed)) "." }
        };
    };
    let row = |name: &str, needed: u64| {
        let (part, never) =
            (percent_of(events, needed), progress.most.is_some_and(|most| most < needed));
        html! { tr {
            td { (name) }
            td.number { (rounded(needed)) }
            td.number { (part) " %" }
            td {
                @if part >= 100 { "learnt" }
                @else if never { "stays noise at this pace" }
            }
        } }
    };
    html! {
        h3 { "Progress " (public()) }
        p { (count(events)) " events count so far." @if let Some(most) = progress.most { " At this pace about " (rounded(most)) " are remembered at most." } }
        div.scroll { table {
            thead { tr { th { "part" } th.number { "events needed, about" } th.number { "so far" } th { } } }
            tbody {
                (row("all decisions", progress.needed))
                @for part in &progress.parts { (row(&part_in_words(&part.part), part.needed)) }
            }
        } }
        p.quiet { "An estimate from the noise of the release, if features of actions move rewards by 10 % of their range and crosses by 5 %: from there on decisions gain half of what they can." }
    }
}
