//! The card of a central loop, live.

use std::sync::atomic::Ordering;

use maud::{Markup, html};
use reticent_loops::page::{epsilon_text, percent};

use super::{
    Pages, Viewer, begin,
    card::Contents,
    chart::{Chart, Series},
    history::Point,
    layout::{ago, count, date_time, internal, mean_tile, public, tile},
    progress,
};
use crate::{
    Result,
    config::{CentralPlan, Ledger, LoopMode},
    loops::{Certificate, Progress, Summary},
    service::{Central, LoopView},
    store::LedgerCount,
};

/// Contents of the card of a central loop: what its releases say, what it promises, and for administrators what people did.
pub(super) async fn contents(
    pages: &Pages,
    viewer: &Viewer,
    loop_: &Central,
    host: &str,
    protected: Markup,
) -> Result<Contents> {
    let view = pages.service.view(loop_, viewer.admin);
    let points = pages.histories.points(&pages.service, loop_).await?;
    let certificate = pages.histories.certificate(&pages.service, loop_).await?;
    let ledger = match viewer.admin {
        true => pages.histories.ledger(&pages.service, loop_).await?,
        false => None,
    };
    let plan = &loop_.plan;
    let progress = progress::of(loop_);
    let now = pages.service.now();
    // After a restart counts begin anew, and releases show whether people came before.
    let unasked = view.ranks == Some(0) && view.summary.mean_reward.is_none();
    let body = html! {
        @if unasked { (begin::first_steps(plan, host)) }
        @else {
            h3 { "Rewards " (public()) }
            (rewards(plan, &view))
            (reward_chart(loop_, &points))
            (progress::table(&progress))
        }
        h3 { "Releases and privacy " (public()) }
        (releases(plan, &view, &certificate, now, loop_.answering().served.over))
        (protected)
        @if viewer.admin { (exact(loop_, &view, ledger)) }
    };
    Ok(Contents {
        state: state(loop_, &view, &progress),
        halted: view.halted,
        stopped: "Nothing is released",
        body,
    })
}

fn state(loop_: &Central, view: &LoopView, progress: &Option<Progress>) -> Markup {
    let over = loop_.answering().served.over;
    html! {
        @if view.halted.is_some() { span.mark.watch { "stopped" } }
        @else if over { span.mark.watch { "learning has ended" } }
        @else if loop_.plan.params.mode == LoopMode::Apprentice { span.mark.good { "learning, as an apprentice" } }
        @else if view.release == 0 { span.mark.watch { "before the first release" } }
        @else if view.summary.mean_reward.is_none() { span.mark.watch { "too few events for a reliable figure" } }
        @else if let Some(progress) = progress { (progress::mark(progress)) }
        @else { span.mark.good { "learning" } }
    }
}

fn rewards(plan: &CentralPlan, view: &LoopView) -> Markup {
    let summary = &view.summary;
    html! {
        dl.tiles {
            (mean_tile("Mean reward", summary.mean_reward, false))
            @if plan.params.compares() {
                (mean_tile("Baseline", summary.baseline_reward, false))
                (mean_tile("Lift over the baseline", summary.lift, true))
            }
        }
        @if !plan.params.compares() {
            p.quiet { "No baseline: give the loop " code { "baseline = { share = 0.05 }" } " to see what the policy adds." }
        }
    }
}

/// The chart of mean rewards.
fn reward_chart(loop_: &Central, points: &[Point]) -> Markup {
    let plan = &loop_.plan;
    let (low, high) = plan.learner_params.bounds.rewards;
    let title = format!("Mean reward, from {low} to {high}; bands hold with 95 %");
    let mut series = vec![Series {
        name: "policy",
        class: "policy",
        points: points.iter().map(|point| (point.time, point.summary.mean_reward)).collect(),
    }];
    if plan.params.compares() {
        series.push(Series {
            name: "baseline",
            class: "baseline",
            points: points
                .iter()
                .map(|point| (point.time, point.summary.baseline_reward))
                .collect(),
        });
    }
    let chart = Chart { title: &title, series, limits: Some((low, high)), level: None };
    chart.markup().unwrap_or_else(|| {
        let least = Summary::people_needed(plan, loop_.answering().served.release.as_ref());
        html! {
            p.quiet {
                @match least {
                    Some(least) => { "The chart begins with the first release in which more than about " (count(least)) " visits count: fewer are lost in its noise." },
                    None => "The chart begins after the first release, when enough visits count for its noise.",
                }
            }
        }
    })
}

/// Time at which the clock begins a new slot: without the date, where that is within a day.
fn next_tick(now: u64, tick: u64) -> String {
    let at = date_time(now.saturating_add(tick - now % tick));
    match tick < 86_400_000 {
        true => at.split_once(' ').map_or(at.clone(), |(_, time)| time.into()),
        false => at,
    }
}

fn releases(
    plan: &CentralPlan,
    view: &LoopView,
    certificate: &Certificate,
    now: u64,
    over: bool,
) -> Markup {
    let released = match view.released {
        Some(time) => format!("released {}; ", ago(now.saturating_sub(time))),
        None => String::new(),
    };
    let released = match (over, &view.halted) {
        (false, None) => format!("{released}next release at {}", next_tick(now, plan.tick)),
        _ => format!("{released}no more releases at present"),
    };
    let guarantee = &certificate.guarantee;
    html! {
        dl.tiles {
            (tile("Model version", &count(view.release), &released))
            (tile("Epsilon", &epsilon_text(guarantee.epsilon()), &format!("delta {:e}", guarantee.delta())))
            (tile("An attacker's best odds", &percent(certificate.best_guess), "instead of 50 %"))
        }
    }
}

/// Exact counts.
fn exact(loop_: &Central, view: &LoopView, ledger: Option<LedgerCount>) -> Markup {
    let counts = &loop_.counts;
    let read = |count: &std::sync::atomic::AtomicU64| count.load(Ordering::Relaxed);
    html! {
        div.exact {
            h3 { "Exact counts " (internal()) }
            dl.tiles {
                (tile("Rank requests answered", &count(view.ranks.unwrap_or(0)), "since the process began"))
                (tile("Open events", &count(view.open_events.unwrap_or(0)), "their reward window has not ended"))
                @if let Ledger::Person { .. } = loop_.plan.ledger {
                    (tile("Rank requests without a person", &count(read(&counts.without_person)), "answered, and not learnt from"))
                }
                @if let Some(LedgerCount { people, used_up }) = ledger {
                    (tile("People so far", &count(people), "in this period"))
                    (tile("Visits used up", &count(used_up), &share(used_up, people)))
                }
                (tile("Rewards taken", &count(read(&counts.rewards)), &format!("{} refused", count(read(&counts.refused_rewards)))))
                (tile("Activations", &count(read(&counts.activations)), "of deferred events"))
                @if loop_.plan.params.mode == LoopMode::Apprentice {
                    (tile("Apprentice matches", &count(read(&counts.matches)), "decisions that the policy would have made too"))
                }
                (tile("Features clipped", &count(read(&counts.clipped)), &format!("{} missing", count(read(&counts.missing)))))
                (tile("Rows not usable", &count(read(&counts.unusable)), "each is a fault, and counted as zeros"))
            }
        }
    }
}

fn share(part: u64, whole: u64) -> String {
    match whole {
        0 => "no person has come yet".into(),
        whole => format!("{:.1} % of them", 100.0 * part as f64 / whole as f64),
    }
}
