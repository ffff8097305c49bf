//! The sheet of a loop whose devices add the noise.

use maud::{Markup, html};
use reticent::randomize::Levels;

use super::{
    central::{conditions, encoding, heading, numbers, rows, together_words},
    epsilon_text, grouped, meaning,
};
use crate::{
    certificate::{Certificate, Together},
    config::{DevicePlan, Period, Span},
    time::date_time,
};

/// The sheet of one loop whose devices add the noise.
pub fn device_sheet(plan: &DevicePlan, certificate: &Certificate, together: &Together) -> Markup {
    html! {
        article.sheet {
            (heading(&plan.name, plan.params.purpose.as_deref()))
            h2 { "What is promised" }
            (numbers(certificate, "period"))
            p { strong { "Protected: " } (certificate.protects) "; replaced by any other reports." }
            @let reports = if certificate.year.is_some() { "one installation's reports of one period" } else { "one installation's reports" };
            (meaning(&certificate.guarantee, certificate.best_guess, reports, false))
            @for warning in certificate.guarantee.warnings() { p.notice { (warning) } }
            div.columns {
                div { (later(plan, certificate)) (levels(plan)) (leaves(plan)) }
                div { h2 { "All loops together" } (together_words(together)) (kept(plan)) }
            }
            (seen(plan))
            (conditions(&certificate.conditions))
            h2 { "Origin" }
            dl.facts {
                dt { "made" } dd { (date_time(certificate.made)) " by Reticent " (certificate.version) ", generation " code { (certificate.params_hash) } }
                dt { "model" } dd {
                    @match &certificate.chain {
                        Some(_) => (grouped(certificate.release)),
                        None => "none: this page was made from the file of loops, without a service",
                    }
                }
            }
        }
    }
}

fn later(plan: &DevicePlan, certificate: &Certificate) -> Markup {
    html! {
        h2 { "Installations that come back" }
        @match plan.params.privacy.per {
            Some(Period::Each(span)) => {
                table {
                    thead { tr { th { "periods of " (span) } @for row in rows(certificate) { th.number { (row.periods) } } } }
                    tbody { tr { td { "epsilon at delta " span.nowrap { (format!("{:e}", certificate.guarantee.delta())) } } @for row in rows(certificate) { td.number { (epsilon_text(row.epsilon)) } } } }
                }
                p.quiet { "The last column is a year, which meets up to that many periods. Each period adds to the number. No number holds for ever." }
            },
            _ => p { "The number holds however often an installation comes back: it reports at most " @if plan.visits() == 1 { "once." } @else { (plan.visits()) " times." } },
        }
    }
}

fn levels(plan: &DevicePlan) -> Markup {
    let Levels::Public(levels) = &plan.local().params().report.levels else { return html! {} };
    html! {
        @if levels.len() > 1 {
            p {
                "A person may choose among epsilon " (levels.iter().map(f64::to_string).collect::<Vec<_>>().join(", "))
                "; who chooses none has the smallest. The number above is that of the largest."
            }
        }
    }
}

fn leaves(plan: &DevicePlan) -> Markup {
    html! {
        h2 { "What stays on the device" }
        dl.facts {
            @for (name, how) in &plan.features.params().context { dt { (name) } dd { (encoding(how)) } }
            @for (name, how) in &plan.features.params().action { dt { (name) " (of the action)" } dd { (encoding(how)) } }
            dt { "reward" } dd { "taken as " (plan.params.reward.range.0) " to " (plan.params.reward.range.1) }
        }
        p { "Features, the choice and the reward never leave the device. What leaves is a list of numbers that the device has randomised, "
            "the number of the model it chose by, and a random name by which it is counted once." }
    }
}

fn reports(count: u64) -> String {
    match count {
        1 => "reports (there is 1)".into(),
        count => format!("{count} reports"),
    }
}

fn seen(plan: &DevicePlan) -> Markup {
    // Guarantee against a reader of reports before they are mixed, for all reports of an installation.
    let unmixed = plan.shuffled().and_then(|_| plan.local().guarantee(0).ok());
    let only = unmixed.map(|unmixed| {
        let (epsilon, delta) = (epsilon_text(unmixed.epsilon()), unmixed.delta());
        format!("all {} of one installation are protected against that by epsilon {epsilon} at delta {delta:e} only", reports(plan.visits()))
    });
    html! {
        h2 { "Who sees what" }
        dl.facts {
            dt { "a person" } dd { "their own choices, and every byte that leaves their device" }
            @match (plan.shuffled(), plan.sums()) {
                (None, _) => { dt { "this server" } dd { "every randomised report, when it came and from which address: the number above protects against it" } },
                (Some(_), false) => {
                    dt { "the shuffler" } dd { "sealed reports that it cannot read, when they came and from which address" }
                    dt { "this server" } dd { "batches in random order, without names, times and addresses: the number above protects against it" }
                },
                (Some(_), true) => {
                    dt { "the shuffler" } dd { "every report, noised on the device with little noise: the number above does not protect against it, and " (only.as_deref().unwrap_or_default()) }
                    dt { "this server" } dd { "one sum of each batch: the number above protects against it" }
                },
            }
            @if let Some(only) = &only { dt { "both together" } dd { "every report as a device made it: " (only) } }
            dt { "everyone" } dd { "models, which are made from reports alone" }
        }
    }
}

fn kept(plan: &DevicePlan) -> Markup {
    let tick = Span::milliseconds(plan.tick).map_or_else(String::new, |span| span.to_string());
    let late = plan.tick.checked_mul(plan.late_models).and_then(Span::milliseconds);
    let late = late.map_or_else(String::new, |span| span.to_string());
    html! {
        h2 { "For how long" }
        dl.facts {
            @match (plan.shuffled(), plan.sums()) {
                (None, _) => {
                    dt { "reports" } dd { "until they are in a model, at most " (tick) " later" }
                    dt { "names of reports" } dd { (late) ", to count each once" }
                },
                (Some(_), sums) => {
                    dt { "at the shuffler" } dd {
                        @if sums { "reports" } @else { "sealed reports" }
                        " with a keyed hash of their sender's address until their batch and a later one have left, however long that takes; names of reports for "
                        (late) " and until no report on their model is taken, so that none leaves twice"
                    }
                    dt { "at this server" } dd { "batches until they are in a model, at most " (tick) " later" }
                },
            }
            dt { "sums" } dd { "stay: no person can be distinguished or taken out" }
        }
    }
}
