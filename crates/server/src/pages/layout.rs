//! The frame of a page, marks, numbers and times as people read them.

use maud::{Markup, html};
use reticent_loops::page::{STYLE, Style};

pub(super) use crate::clock::date_time;
pub(super) use reticent_loops::page::grouped as count;

use super::Viewer;
use crate::loops::Estimate;

/// The style sheet that is served.
pub(super) fn style() -> String {
    format!("{STYLE}\n{}", include_str!("dashboard.css"))
}

/// Everything around the content of a page.
pub(super) struct Frame<'a> {
    viewer: Option<&'a Viewer>,
}

impl<'a> Frame<'a> {
    /// Page for a viewer who is signed in.
    pub(super) fn of(viewer: &'a Viewer) -> Self {
        Frame { viewer: Some(viewer) }
    }

    /// Page for every visitor.
    pub(super) fn open() -> Self {
        Frame { viewer: None }
    }

    /// The whole page.
    pub(super) fn document(&self, title: &str, body: Markup) -> String {
        let head = html! {
            link rel="icon" href="/assets/icon.svg" type="image/svg+xml";
            script src="/assets/live.js" defer {}
        };
        let body = html! { (self.bar()) (body) };
        let title = format!("{title} | Reticent");
        reticent_loops::page::document(&title, Style::Linked("/assets/style.css"), head, body)
    }

    fn bar(&self) -> Markup {
        html! {
            header.bar.screen {
                a.brand href="/" { "Reticent" }
                nav {
                    a href="/" { "Dashboard" }
                    a href="/certificate" { "Certificate" }
                    a href="/docs" { "API" }
                }
                @if let Some(viewer) = self.viewer {
                    form.who method="post" action="/sign-out" {
                        span.quiet { (if viewer.admin { "admin key " } else { "read key " }) code { (viewer.key_id) } }
                        button.plain type="submit" { "Sign out" }
                    }
                }
            }
        }
    }
}

/// The parts of a page that the script keeps up to date from `source`.
pub(super) fn live(source: &str, parts: Markup) -> Markup {
    html! {
        main data-source=(source) {
            p.connection { "Updated every 2 seconds: " span #connection role="status" data-state="live" { "live" } }
            (parts)
        }
    }
}

/// The mark of numbers that a `read` key may see.
pub(super) fn public() -> Markup {
    html! { span.mark.good title="Functions of releases, which the certificate covers: every holder of a read key sees them." { "public" } }
}

/// The mark of counts of reports, which are no secret.
pub(super) fn public_counts() -> Markup {
    html! { span.mark.good title="Counts of reports, which show that devices took part and nothing of what they say: every holder of a read key sees them." { "public" } }
}

/// The mark of numbers for administrators only.
pub(super) fn internal() -> Markup {
    html! { span.mark.watch title="Exact counts that depend on what people did: not covered by the certificate, shown to admin keys only." { "internal only" } }
}

/// A figure with its name and a remark.
pub(super) fn tile(name: &str, figure: &str, remark: &str) -> Markup {
    html! { div.tile { dt { (name) } dd { strong { (figure) } @if !remark.is_empty() { span.quiet { (remark) } } } } }
}

/// A mean as people read it.
pub(super) fn mean_tile(name: &str, estimate: Option<Estimate>, signed: bool) -> Markup {
    let number = |value: f64| if signed { format!("{value:+.3}") } else { format!("{value:.3}") };
    match estimate {
        Some(Estimate { value, low, high }) => {
            tile(name, &number(value), &format!("95 %: {} to {}", number(low), number(high)))
        }
        None => tile(name, "not yet", "too few events for a reliable figure"),
    }
}

/// A span of milliseconds as people read it.
pub(super) fn ago(milliseconds: u64) -> String {
    let seconds = milliseconds / 1000;
    let (count, unit) = match seconds {
        0..60 => (seconds, "second"),
        60..3600 => (seconds / 60, "minute"),
        3600..172_800 => (seconds / 3600, "hour"),
        _ => (seconds / 86_400, "day"),
    };
    format!("{count} {unit}{} ago", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_times_are_readable() {
        assert_eq!(date_time(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(date_time(u64::MAX), "after the year 9999");
        assert_eq!(
            (ago(999), ago(61_000), ago(7_200_000)),
            ("0 seconds ago".into(), "1 minute ago".into(), "2 hours ago".into())
        );
    }
}
