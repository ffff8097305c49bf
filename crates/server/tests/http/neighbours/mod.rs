//! An attack on the served certificate: neighbouring worlds over HTTP, and everything that a `read` key can see of them.
//!
//! Two worlds differ in one person: their visits are others', moved, erased, not activated, not rewarded or beyond k. Whatever a reader sees must be the same, noisy
//! numbers aside, and of those the exact parts must differ by no more than the noise is made for. The first claim is not statistical: no
//! alarm is by chance. In the second, noise of a known deviation raises a false one with probability below 1e-6.

mod exact;
mod planted;
mod seen;
mod world;

use world::{Script, Serving, Ticks, Visit, transcript};

use crate::common::Plant;

/// Worlds whose rank requests come at the same times as those of the base.
fn neighbours() -> Vec<(&'static str, Script)> {
    let erased = |slot| Script { erased: Some(slot), ..Script::base() };
    vec![
        ("not rewarded", Script::with(|visit| visit.reward = None)),
        ("rewarded otherwise", Script::with(|visit| visit.reward = Some(-1e9))),
        ("not activated", Script::with(|visit| visit.activate = false)),
        ("deferred", Script::with(|visit| visit.defer = true)),
        ("erased early", erased(3)),
        ("erased after the windows", erased(10)),
        ("another person", Script::with(|visit| visit.person = Some("berta"))),
        ("no person", Script::with(|visit| visit.person = None)),
        (
            "never beyond k",
            Script::with(|visit| {
                visit.person =
                    [Some("anna"), Some("berta"), Some("carla")][visit.slot as usize % 3];
            }),
        ),
        ("other features", Script::with(|visit| visit.device = "computer")),
        (
            "features out of range",
            Script::with(|visit| (visit.device, visit.age) = ("toaster", 1e300)),
        ),
        ("clumsy", Script { clumsy: true, ..Script::base() }),
    ]
}

/// The first line in which two worlds differ.
fn difference(one: &[String], other: &[String]) -> Option<String> {
    assert_eq!(one.len(), other.len());
    let mut pairs = one.iter().zip(other);
    let (one, other) = pairs.find(|(one, other)| one != other)?;
    let at = one.bytes().zip(other.bytes()).take_while(|(one, other)| one == other).count();
    let part = |text: &str| {
        let bytes = text.as_bytes();
        let part = &bytes[at.saturating_sub(80).min(bytes.len())..(at + 80).min(bytes.len())];
        String::from_utf8_lossy(part).to_string()
    };
    let what: String = one.chars().take(60).collect();
    Some(format!("{what}\n  {}\n  {}", part(one), part(other)))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_key_sees_the_same_in_neighbouring_worlds() {
    let base = transcript(&Script::base(), Serving::honest()).await;
    // The comparison is about something: releases, and refusals at the end.
    assert!(
        base.iter().any(|line| line.contains("reticent_release{loop=\"home\"} 14")),
        "releases"
    );
    assert!(
        base.iter().any(|line| line.contains("other-10") && line.contains(": 429 ")),
        "refusals"
    );
    for (name, script) in neighbours() {
        let found = transcript(&script, Serving::honest()).await;
        assert_eq!(difference(&base, &found), None, "{name}");
    }
}

/// Existence of requests: what a `read` key sees does not show that a person has sent any, nor when.
#[tokio::test(flavor = "multi_thread")]
async fn visits_at_other_times_or_none_change_nothing_that_a_read_key_sees() {
    // Room for open events depends on when people ask: a caller who fills it learns how many others did.
    let serving = Serving { tight: false, ..Serving::honest() };
    let base = transcript(&Script::base(), serving).await;
    for (name, script) in [
        ("moved", Script::with(|visit| visit.slot = 7 - visit.slot)),
        ("moved across the restart", Script::with(|visit| visit.slot += 3)),
        ("none", Script { visits: Vec::new(), ..Script::base() }),
        (
            "many",
            Script { visits: (0..40).map(|n| Visit::at(2 + n % 5)).collect(), ..Script::base() },
        ),
    ] {
        let found = transcript(&script, serving).await;
        assert_eq!(difference(&base, &found), None, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn counts_of_rank_requests_in_metrics_are_caught() {
    let serving = Serving { tight: false, ..planted(planted::rank_count_in_metrics) };
    let base = transcript(&Script::base(), serving).await;
    let none = transcript(&Script { visits: Vec::new(), ..Script::base() }, serving).await;
    assert!(difference(&base, &none).is_some_and(|found| found.contains("GET /metrics")));
}

/// A planted fault must be seen in one of these worlds, in an answer of which the line says so.
async fn caught(serving: Serving, worlds: &[&str], line: &str) {
    let base = transcript(&Script::base(), serving).await;
    for (name, script) in neighbours() {
        if !worlds.contains(&name) {
            continue;
        }
        let found = difference(&base, &transcript(&script, serving).await);
        let found = found.unwrap_or_else(|| panic!("{name}: the fault was not seen"));
        assert!(found.contains(line), "{name}: {found}");
    }
}

fn planted(plant: Plant) -> Serving {
    Serving { planted: Some(plant), ..Serving::honest() }
}

#[tokio::test(flavor = "multi_thread")]
async fn releases_by_count_are_caught() {
    let serving = Serving { ticks: Ticks::AfterRewards(3), ..Serving::honest() };
    caught(serving, &["not rewarded"], "GET /").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn reward_counts_in_metrics_are_caught() {
    let serving = planted(planted::reward_count_in_metrics);
    caught(serving, &["not rewarded"], "GET /metrics").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn refusals_by_open_rewards_are_caught() {
    let serving = planted(planted::too_many_by_open_rewards);
    caught(serving, &["not rewarded"], "429").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rewards_that_close_events_ledgers_and_missing_rows_are_caught() {
    caught(planted(planted::open_until_rewarded), &["not rewarded"], "page /live").await;
    caught(planted(planted::ledger_in_headers), &["never beyond k", "no person"], "x-used-up")
        .await;
    caught(
        planted(planted::rows_on_the_certificate),
        &["erased early", "not activated"],
        "page /loops/home/certificate",
    )
    .await;
}
