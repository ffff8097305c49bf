//! Slots of several processes on one database: which events are counted as open, and how long slots stay open after the database was away.

use std::time::Duration;

use super::{
    replicas::{Replica, two},
    *,
};

#[tokio::test]
async fn open_events_of_all_processes_are_counted() {
    let Some((one, other, clock)) = two(&file(EXACT, "")).await else { return };
    one.world.rank("one", None).await;
    assert_eq!(other.loop_().open_events(), 0, "until it looks");
    clock.pass(TICK);
    one.tick().await;
    other.tick().await;
    assert_eq!(other.loop_().open_events(), CROWD as u64);
    for _ in 0..3 {
        clock.pass(TICK);
        one.tick().await;
        other.tick().await;
    }
    assert_eq!((one.loop_().open_events(), other.loop_().open_events()), (0, 0));
}

/// A window of a day has many slots, and all open events are in them: a tick reads those of the last ones only.
#[tokio::test]
async fn open_events_of_slots_that_no_caller_requests_are_not_counted_again() {
    let text = file(EXACT, "").replace("2 minutes", "1 hour");
    let Some((one, other, clock)) = two(&text).await else { return };
    let tick = async || {
        clock.pass(TICK);
        one.tick().await;
        other.tick().await;
        other.loop_().open_events()
    };
    let crowd = CROWD as u64;
    one.world.rank("one", None).await;
    assert_eq!((tick().await, tick().await), (crowd, crowd));
    // A process that counted these again would miss them.
    one.database.tamper("delete from remembered").await;
    one.world.rank("two", None).await;
    assert_eq!(tick().await, 2 * crowd);
    clock.pass(57 * TICK);
    assert_eq!(tick().await, crowd, "the first slot has closed");
}

/// Slots that no caller requested any more are requested again when a clock that went ahead is set right.
#[tokio::test]
async fn open_events_after_a_clock_that_went_ahead_are_counted() {
    let text = file(EXACT, "").replace("2 minutes", "1 hour");
    let Some((one, other, clock)) = two(&text).await else { return };
    let tick = async || {
        one.tick().await;
        other.tick().await;
    };
    clock.pass(TICK);
    tick().await;
    let right = clock.now();
    clock.jump(right + 5 * TICK);
    tick().await;
    clock.jump(right);
    one.world.rank("one", None).await;
    tick().await;
    clock.pass(7 * TICK);
    tick().await;
    assert_eq!(other.loop_().open_events(), CROWD as u64);
}

/// A tick of `one` during which the database hangs, and a minute passes.
async fn tick_while_hanging(one: &Replica, other: &Replica, clock: &ManualClock) -> Ticked {
    let wait = |milliseconds| tokio::time::sleep(Duration::from_millis(milliseconds));
    let hang =
        other.database.tamper("lock table heads in access exclusive mode; select pg_sleep(1)");
    let tick = async {
        wait(200).await;
        one.tick().await
    };
    let pass = async {
        wait(500).await;
        clock.pass(TICK);
    };
    tokio::join!(hang, tick, pass).1
}

/// Callers who sent rewards in that time had no answer either.
#[tokio::test]
async fn after_a_database_has_hung_slots_stay_open_for_a_while() {
    let Some((one, other, clock)) = two(&file(EXACT, "")).await else { return };
    clock.pass(TICK);
    assert_eq!(one.tick().await, Ticked::Released(1));
    clock.pass(TICK);
    assert_eq!(tick_while_hanging(&one, &other, &clock).await, Ticked::Nothing);
    clock.pass(2 * TICK);
    assert_eq!(one.tick().await, Ticked::Released(2));
}

/// A process that does not release has waited in vain the first time, and waits the second time, when the right to release is its own.
#[tokio::test]
async fn a_process_waits_again_when_others_have_closed_slots_since() {
    let Some((one, other, clock)) = two(&file(EXACT, "")).await else { return };
    clock.pass(TICK);
    assert_eq!(one.tick().await, Ticked::Released(1));
    assert_eq!(tick_while_hanging(&other, &one, &clock).await, Ticked::Nothing);
    one.tick().await;
    clock.pass(TICK);
    assert!(matches!(one.tick().await, Ticked::Released(_)));
    other.tick().await;
    // The releaser is gone, and its lease ends.
    one.database.tamper("update heads set leased = 0").await;
    clock.pass(TICK);
    assert_eq!(tick_while_hanging(&other, &one, &clock).await, Ticked::Nothing);
    clock.pass(2 * TICK);
    assert!(matches!(other.tick().await, Ticked::Released(_)));
}
