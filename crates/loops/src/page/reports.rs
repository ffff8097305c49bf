//! Sections of the sheet of a loop to which devices report.

use maud::{Markup, html};
use reticent::randomize::Levels;

use super::{
    epsilon_text, grouped,
    loop_sheet::{Sections, features, several},
};
use crate::{
    certificate::Certificate,
    config::{Period, ReportsPlan, Span},
    time::date_time,
};

pub(super) fn sections(plan: &ReportsPlan, certificate: &Certificate) -> Sections {
    Sections {
        window: "period",
        replaced: "reports",
        unit: match certificate.year {
            Some(_) => "one installation's reports of one period",
            None => "one installation's reports",
        },
        hides_taking_part: false,
        data: html! { (later(plan, certificate)) (levels(plan)) (leaves(plan)) },
        kept: kept(plan),
        seen: seen(plan),
        origin: origin(certificate),
    }
}

fn later(plan: &ReportsPlan, certificate: &Certificate) -> Markup {
    html! {
        h2 { "Installations that come back" }
        @match plan.params.privacy.per {
            Some(Period::Each(span)) => {
                (several(certificate, html! { "periods of " (span) }))
                p.quiet { "The last column is a year, which meets up to that many periods. Each period adds to the number. No number holds for ever." }
            },
            _ => p { "The number holds however often an installation comes back: it reports at most " @if plan.visits() == 1 { "once." } @else { (plan.visits()) " times." } },
        }
    }
}

fn levels(plan: &ReportsPlan) -> Markup {
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

fn leaves(plan: &ReportsPlan) -> Markup {
    html! {
        h2 { "Data kept on the device" }
        dl.facts {
            (features(plan.features.params()))
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

fn seen(plan: &ReportsPlan) -> Markup {
    // Guarantee against a reader of reports before they are mixed, for all reports of an installation.
    let unmixed = plan.shuffled().and_then(|_| plan.local().guarantee(0).ok());
    let only = unmixed.map(|unmixed| {
        let (epsilon, delta) = (epsilon_text(unmixed.epsilon()), unmixed.delta());
        format!("all {} of one installation are protected against that by epsilon {epsilon} at delta {delta:e} only", reports(plan.visits()))
    });
    html! {
        h2 { "Visibility" }
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

fn kept(plan: &ReportsPlan) -> Markup {
    let tick = Span::milliseconds(plan.tick).map_or_else(String::new, |span| span.to_string());
    let late = plan.tick.checked_mul(plan.late_models).and_then(Span::milliseconds);
    let late = late.map_or_else(String::new, |span| span.to_string());
    html! {
        h2 { "Retention" }
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

fn origin(certificate: &Certificate) -> Markup {
    html! {
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
