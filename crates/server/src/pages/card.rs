//! A loop as a card, with the parts that do not depend on its mechanism.

use maud::{Markup, html};

use super::{Pages, Viewer, central, reports};
use crate::{
    Result,
    config::{Ledger, Period, Plan},
    service::Loop,
};

/// Contents of a card that depend on the mechanism.
pub(super) struct Contents {
    /// Mark of the loop's state.
    pub state: Markup,
    /// Reason for which nothing is released at present.
    pub halted: Option<String>,
    /// Title of that reason.
    pub stopped: &'static str,
    pub body: Markup,
}

/// A loop: what its releases say, what it promises, and for administrators what people did.
pub(super) async fn card(
    pages: &Pages,
    viewer: &Viewer,
    loop_: &Loop,
    host: &str,
    link: bool,
) -> Result<Markup> {
    let plan = loop_.plan();
    let name = plan.name();
    let protected = html! {
        p {
            "Protected: " (unit(&plan)) ". "
            a href=(format!("/loops/{name}/certificate")) { "Certificate" }
        }
    };
    let contents = match loop_ {
        Loop::Central(loop_) => central::contents(pages, viewer, loop_, host, protected).await?,
        Loop::Reports(loop_) => reports::contents(pages, loop_, protected).await?,
    };
    let Contents { state, halted, stopped, body } = contents;
    Ok(html! {
        section.card id=(format!("loop-{name}")) data-part {
            div.title {
                h2 { @if link { a href=(format!("/loops/{name}")) { (name) } } @else { (name) } }
                (state)
            }
            @if let Some(purpose) = &plan.params().purpose { p.quiet { (purpose) } }
            @if let Some(why) = &halted { p.notice.bad role="alert" { (stopped) ": " (why) } }
            (body)
        }
    })
}

/// The protected unit in words.
pub(super) fn unit(plan: &Plan) -> String {
    match plan {
        Plan::Central(plan) => match plan.ledger {
            Ledger::Decision => "one decision".into(),
            Ledger::Person { most, period } => {
                let are = if most == 1 { "is" } else { "are" };
                let within = within(period, "calendar window");
                format!("all visits of one person {within} (at most {most} {are} learnt from)")
            }
        },
        Plan::Reports(plan) => {
            let within = within(plan.params.privacy.per.unwrap_or(Period::Ever), "period");
            format!("all reports of one installation {within} (at most {})", plan.visits())
        }
    }
}

fn within(period: Period, window: &str) -> String {
    match period {
        Period::Ever => "ever".into(),
        Period::Each(span) => format!("in one {window} of {span}"),
    }
}
