//! Clocks that are wrong: nothing is closed that could not be opened again.

use super::{generations::Captured, *};

const DAY: u64 = 86_400_000;

#[tokio::test]
async fn a_clock_that_jumps_forward_closes_nothing() {
    let world = World::new(&file(EXACT, "")).await;
    world.rank("one", None).await;
    world.ticks(1).await;
    world.clock.jump(START + DAY);
    assert_eq!(world.service.tick("home").await.unwrap(), Ticked::Halted);
    // The window of the event is still open.
    world.reward("one", 1.0).await.unwrap();
    // A person who comes now comes at the known time, and is not kept open until the wrong day.
    world.rank("two", None).await;
    // Set right, it goes on by itself.
    world.clock.jump(START + TICK);
    world.ticks(3).await;
    world.assert_learnt(2.0, 1.0);
}

/// The clock of a machine was 40 minutes ahead for six seconds: forty slots closed for good, nothing was released until it had come to them again, and
/// nothing said so.
#[tokio::test(flavor = "current_thread")]
async fn a_clock_that_is_ahead_by_less_than_an_hour_closes_nothing_and_is_logged() {
    let (logged, _guard) = Captured::begin();
    let world = World::new(&file(EXACT, "")).await;
    world.rank("one", None).await;
    world.ticks(1).await;
    logged.take();
    world.clock.jump(START + TICK + 40 * 60_000);
    for _ in 0..6 {
        world.clock.pass(1000);
        assert_eq!(world.service.tick("home").await.unwrap(), Ticked::Halted);
    }
    let trouble = world.service.troubles().remove(0);
    assert!(trouble.contains("accept-time --data DIR --date"), "{trouble}");
    assert!(world.service.clock_doubt().is_some());
    let log = logged.take();
    assert_eq!(log.matches("the clock says").count(), 1, "{log}");
    world.clock.jump(START + TICK + 6000);
    assert!(world.service.troubles().is_empty() && world.service.clock_doubt().is_none());
    assert!(logged.take().contains("the clock is right again"));
    world.reward("one", 1.0).await.unwrap();
    world.ticks(3).await;
    assert_eq!(world.number(), 4);
    world.assert_learnt(1.0, 1.0);
}

/// A process that was stopped for 12 seconds.
#[tokio::test(flavor = "current_thread")]
async fn a_suspension_is_logged() {
    let (logged, _guard) = Captured::begin();
    let world = World::new(&file(EXACT, "")).await;
    let noticing = tokio::spawn(Arc::clone(&world.service).keep_noticing_suspensions());
    tokio::task::yield_now().await;
    logged.take();
    world.clock.pass(1_000);
    tokio::time::sleep(std::time::Duration::from_millis(600)).await;
    assert_eq!(logged.take(), "");
    world.clock.pass(12_000);
    tokio::time::sleep(std::time::Duration::from_millis(600)).await;
    let log = logged.take();
    assert!(log.contains("did not run for 12.0 s"), "{log}");
    world.service.stop();
    noticing.await.unwrap();
}

/// 71 ticks away: one release of all of them, as the certificate says.
#[tokio::test]
async fn ticks_that_pass_while_the_service_is_away_share_one_step() {
    let text = file(EXACT, "");
    let mut world = World::new(&text).await;
    world.ticks(1).await;
    world.rank("one", None).await;
    world.clock.pass(71 * TICK);
    world.again(&text).await;
    world.ticks(3).await;
    assert_eq!(world.number(), 4, "one for the absence, and one for each tick after it");
    let conditions = world.service.certificate("home").await.unwrap().conditions;
    let said = conditions.iter().find(|condition| condition.text.contains("on a fixed timetable"));
    assert!(said.unwrap().by.contains("while the service is away or stopped share one step"));
}

/// The machine was down for ten minutes and comes back with the clock of another year, until it hears from a time server.
#[tokio::test]
async fn a_clock_that_was_wrong_at_a_start_and_is_set_right_needs_no_operator() {
    let text = file(EXACT, "");
    for wrong in [START + 400 * DAY, START - 400 * DAY] {
        let mut world = World::new(&text).await;
        world.ticks(1).await;
        world.clock.jump(wrong);
        world.again(&text).await;
        world.ticks(1).await;
        assert!(world.service.clock_doubt().is_some());
        world.clock.jump(START + 12 * TICK);
        assert_eq!(world.service.clock_doubt(), None);
        // From then on it is compared with the time that passes.
        world.clock.jump(START + 14 * TICK);
        assert!(world.service.clock_doubt().is_some());
    }
}

/// Each of them is believed, and together they are not.
#[tokio::test]
async fn repeated_steps_of_a_clock_do_not_add_up() {
    let world = World::new(&file(EXACT, "")).await;
    world.ticks(1).await;
    for step in 1..=10 {
        world.clock.jump(START + TICK + step * 20_000);
        assert_eq!(world.service.clock_doubt().is_some(), step > 3, "after {step} steps");
        assert!(world.service.now() <= START + TICK + 60_000, "after {step} steps");
    }
    // A clock that is a little slower than the steady one is followed however long it runs: 20 s of 20,000.
    let world = World::new(&file(EXACT, "")).await;
    for _ in 0..10_000 {
        world.clock.pass(2_000);
        world.clock.jump(world.clock.now() - 2);
        assert!(world.service.clock_doubt().is_none());
    }
}

/// A start under a clock that is some hours ahead believes it. Slots that it has closed stay closed, which is logged until the time has come.
#[tokio::test]
async fn slots_that_a_start_under_a_wrong_clock_has_closed_are_reported_until_they_have_passed() {
    let text = file(EXACT, "");
    let mut world = World::new(&text).await;
    world.ticks(1).await;
    world.clock.jump(START + 40 * 60_000);
    world.again(&text).await;
    world.ticks(2).await;
    world.clock.jump(START + 2 * TICK);
    world.again(&text).await;
    let loop_ = Arc::clone(world.service.central("home").unwrap());
    assert!(loop_.halted().unwrap().contains("the future"), "before the first tick");
    world.clock.pass(TICK);
    assert_eq!(world.service.tick("home").await.unwrap(), Ticked::Halted);
    assert!(world.service.troubles()[0].contains("the future"));
    world.ticks(40).await;
    assert!(loop_.halted().is_none() && world.service.troubles().is_empty());
    let number = world.number();
    world.ticks(1).await;
    assert_eq!(world.number(), number + 1);
}

#[tokio::test]
async fn slots_that_were_closed_under_a_wrong_clock_are_reported() {
    let text = file(EXACT, "");
    let mut world = World::new(&text).await;
    world.store.close(1, START / TICK + 1_000_000).await.unwrap();
    world.again(&text).await;
    let trouble = world.service.troubles().remove(0);
    assert!(trouble.contains("accept-time --data DIR --date 2023-11-14"), "{trouble}");
    // The clock is right now: the loop says which slots are left to close.
    world.service.accept_time("2023-11-14").await.unwrap();
    world.ticks(1).await;
    assert!(world.service.troubles()[0].contains("future"));
}

#[tokio::test]
async fn a_wrong_clock_at_a_start_closes_nothing_until_an_operator_accepts_it() {
    let text = file(EXACT, "");
    let mut world = World::new(&text).await;
    world.rank("one", None).await;
    world.ticks(1).await;
    // The machine comes back three years later, or so its clock says.
    world.clock.jump(START + 1100 * DAY);
    world.again(&text).await;
    world.ticks(2).await;
    let trouble = world.service.troubles().remove(0);
    assert!(trouble.contains("accept-time --data DIR --date 2026-11-18"), "{trouble}");
    let closed = world.store.head(1).await.unwrap().closed;
    assert!(closed < (START + 2 * TICK) / TICK, "slots were closed for good");
    assert_eq!(world.number(), 1);
    world.reward("one", 1.0).await.unwrap();
    assert!(world.service.now() < START + DAY, "visits of a wrong day would be counted");
    // Another day than the clock shows is not what the operator looked at.
    assert!(world.service.accept_time("2026-11-17").await.is_err());
    world.service.accept_time("2026-11-18").await.unwrap();
    assert!(world.service.troubles().is_empty());
    // The window of the restart: rewards can still be sent.
    assert_eq!(world.service.tick("home").await.unwrap(), Ticked::Nothing);
    world.reward("one", 1.0).await.unwrap();
    world.ticks(2).await;
    world.assert_learnt(1.0, 1.0);
    assert!(world.service.accept_time("2026-11-18").await.is_err(), "there is nothing to accept");
}

#[tokio::test]
async fn a_clock_that_is_set_back_gives_no_person_the_visits_of_an_earlier_period() {
    let text = file(&format!("{EXACT}, visits = 1, per = \"1 day\""), "");
    let mut world = World::new(&text).await;
    world.rank("one", Some("a")).await;
    world.ticks(1).await;
    world.clock.jump(START - 300 * DAY);
    world.rank("two", Some("a")).await;
    assert_eq!(world.service.tick("home").await.unwrap(), Ticked::Halted);
    world.again(&text).await;
    world.rank("three", Some("a")).await;
    world.clock.jump(START + TICK);
    world.again(&text).await;
    world.ticks(4).await;
    world.assert_learnt(1.0, 0.0);
}

#[tokio::test]
async fn a_night_away_needs_no_operator() {
    let text = file(EXACT, "");
    let mut world = World::new(&text).await;
    world.ticks(1).await;
    world.clock.jump(START + DAY / 2);
    world.again(&text).await;
    assert!(world.service.troubles().is_empty());
    world.ticks(2).await;
    assert_eq!(world.number(), 3);
}

#[tokio::test]
async fn the_time_of_the_witness_counts_after_a_rollback() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("witness");
    let (store, clock) = (Arc::new(MemoryStore::new([1; 16])), Arc::new(ManualClock::at(START)));
    let text = file(EXACT, "");
    let service = witnessed(&text, &store, &clock, &path).await;
    let old = Arc::new(store.copy());
    for _ in 0..3 {
        clock.pass(DAY);
        service.tick("home").await.unwrap();
    }
    let service = witnessed(&text, &old, &clock, &path).await;
    assert!(service.troubles().iter().all(|trouble| !trouble.contains("accept-time")));
    // Without it three days are too long to be believed.
    let old = Arc::new(old.copy());
    let service = open(&text, &old, &clock, Secret::from_bytes([3; 32])).await.unwrap();
    assert!(service.troubles()[0].contains("accept-time"));
}

/// The store is away for some ticks while the process runs: rewards that failed in that time can be sent again.
#[tokio::test]
async fn after_an_absence_of_the_store_slots_stay_open_for_a_while() {
    let world = World::new(&file(EXACT, "")).await;
    world.rank("one", None).await;
    world.ticks(1).await;
    world.clock.pass(TICK);
    world.store.fail_next(Fault::Before);
    assert!(world.service.tick("home").await.is_err());
    world.clock.pass(4 * TICK);
    assert_eq!(world.service.tick("home").await.unwrap(), Ticked::Nothing);
    world.reward("one", 1.0).await.unwrap();
    // The grace is a minute. While nothing is closed, a further absence begins no other one, so that a store that fails now and then does not stop releases.
    world.clock.pass(TICK / 2);
    world.store.fail_next(Fault::Before);
    world.clock.pass(TICK / 2);
    assert!(world.service.tick("home").await.is_err());
    world.clock.pass(TICK);
    assert_eq!(world.service.tick("home").await.unwrap(), Ticked::Released(2));
    world.assert_learnt(1.0, 1.0);
    // A short failure that no caller noticed counts as none.
    world.clock.pass(TICK);
    world.store.fail_next(Fault::Before);
    assert!(world.service.tick("home").await.is_err());
    assert_eq!(world.service.tick("home").await.unwrap(), Ticked::Released(3));
}
