//! Loops whose people's devices add the noise: what the server knows of them, and the sheet of their certificate.

use std::sync::atomic::{AtomicU64, Ordering};

use maud::{Markup, html};
use reticent::randomize::Levels;
use reticent_loops::page::{epsilon_text, meaning, percent};

use super::{
    Pages, Viewer,
    certificate::{conditions, encoding, heading, numbers, rows, together_words},
    layout::{ago, count, date_time, public, public_counts, tile},
};
use crate::{
    Error, Result,
    config::{DevicePlan, Period, Span},
    devices::DeviceLoop,
    loops::{Certificate, Together},
};

/// What one installation's reports are, in words.
pub(super) fn unit(plan: &DevicePlan) -> String {
    let within = match plan.params.privacy.per {
        Some(Period::Each(span)) => format!(" in one period of {span}"),
        _ => " ever".into(),
    };
    format!("all reports of one installation{within} (at most {})", plan.visits())
}

/// A loop as the server knows it.
pub(super) fn card(pages: &Pages, each: &DeviceLoop, link: bool) -> Result<Markup> {
    let (plan, devices) = (&each.plan, pages.service.devices());
    let (view, certificate) = (devices.view(each)?, devices.certificate(each)?);
    let published = match view.published {
        Some(time) => format!("published {}", ago(pages.service.now().saturating_sub(time))),
        None => "the first, which knows nothing".into(),
    };
    let read = |counter: &AtomicU64| count(counter.load(Ordering::Relaxed));
    let counts = &each.counts;
    Ok(html! {
        section.card id=(format!("loop-{}", plan.name)) data-part {
            div.title {
                h2 { @if link { a href=(format!("/loops/{}", plan.name)) { (plan.name) } } @else { (plan.name) } }
                @if view.halted.is_some() { span.mark.watch { "stopped" } } @else { span.mark.good { "learning from devices" } }
            }
            @if let Some(purpose) = &plan.params.purpose { p.quiet { (purpose) } }
            @if let Some(why) = &view.halted { p.notice.bad role="alert" { "No model is published: " (why) } }
            h3 { "What the server knows " (public()) }
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
                    (tile("Batches missing", &count(each.missing_batches()), &format!("of {}; each is lost unless it still comes", count(each.next_batch()))))
                    (tile("Batches refused", &read(&counts.refused_batches), "sent again by the shuffler until somebody has looked"))
                }
                (tile("Rows not usable", &read(&counts.unusable), "each is a fault, and not counted"))
            }
            p.quiet { "Which actions were chosen, for whom and with what reward stays on the devices: nothing of it can be shown here." }
        }
    })
}

/// The parts of a loop's page.
pub(super) fn parts(pages: &Pages, viewer: &Viewer, each: &DeviceLoop) -> Result<Markup> {
    expect_seen(viewer, &each.plan.name)?;
    let plan = &each.plan;
    let tick = Span::milliseconds(plan.tick);
    Ok(html! {
        (card(pages, each, false)?)
        section.card #made-of data-part {
            h2 { "What it is made of " (public()) }
            dl.facts {
                dt { "generation" } dd { code { (format!("{:016x}", plan.generation())) } }
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

fn expect_seen(viewer: &Viewer, name: &str) -> Result<()> {
    if viewer.sees(name) {
        return Ok(());
    }
    let shown: String = name.chars().take(64).collect();
    Err(Error::unknown(format!("loop {shown:?}"), "use a key of this loop"))
}

/// The sheet of a loop that is served.
pub(super) async fn served(pages: &Pages, viewer: &Viewer, each: &DeviceLoop) -> Result<Markup> {
    expect_seen(viewer, &each.plan.name)?;
    let certificate = pages.service.devices().certificate(each)?;
    let together = pages.service.together().await?;
    Ok(html! {
        p.screen.hint { "Print this page, or save it as PDF." }
        (sheet(&each.plan, &certificate, &together))
    })
}

/// One sheet.
pub(super) fn sheet(plan: &DevicePlan, certificate: &Certificate, together: &Together) -> Markup {
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
                dt { "made" } dd { (date_time(certificate.made)) " by Reticent " (certificate.version) ", generation " code { (certificate.generation) } }
                dt { "model" } dd {
                    @match &certificate.chain {
                        Some(_) => (count(certificate.release)),
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
                p.quiet { "The last column is a year, which meets up to so many periods. Each period adds to the number. No number holds for ever." }
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
    // What holds for whoever reads reports before they are mixed, for all reports of an installation.
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
            dt { "everybody" } dd { "models, which are made from reports alone" }
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
            dt { "sums" } dd { "stay: nobody can be told apart or taken out" }
        }
    }
}
