//! Accidents: failures of the store, restarts, rollbacks, foreign keys, clocks that jump, loops that end.

use super::*;

#[tokio::test]
async fn another_hash_at_a_known_number_is_a_fork() {
    let world = World::new(&file(EXACT, "")).await;
    world.ticks(3).await;
    let loop_ = world.service.central("home").unwrap();
    let records = world.service.releases("home", 1, 9).await.unwrap();
    let tell = |number, chain| {
        Token::write(&world.service.tokens, loop_.generation, &HeadName::new(number, chain))
    };
    for record in &records {
        world.service.notice("home", &tell(record.number, &record.chain)).await.unwrap();
    }
    assert!(loop_.halted().is_none());
    world.service.notice("home", &tell(2, &[7; 32])).await.unwrap();
    assert!(loop_.halted().unwrap().contains("two releases"));
}

#[tokio::test]
async fn a_release_is_served_when_it_is_committed_and_not_before() {
    let world = World::new(&file(EXACT, "")).await;
    world.ticks(1).await;
    let cold = world.number();
    for (fault, stored) in [(Fault::Before, 0), (Fault::After, 1)] {
        let before = world.number();
        world.clock.pass(TICK);
        // The slot is closed, so that the next transaction that writes is the release.
        let due = (START + (cold + before) * TICK) / TICK - 1;
        world.store.close(1, due).await.unwrap();
        world.store.fail_next(fault);
        assert!(world.service.tick("home").await.is_err());
        assert_eq!(world.number(), before, "{fault:?}: an unconfirmed release is served");
        let head = world.store.head(1).await.unwrap();
        assert_eq!(head.number, before + stored);
        let shown = world.service.releases("home", 1, 99).await.unwrap();
        assert_eq!(shown.last().map(|record| record.number), Some(before));
        // The next tick goes on from the store: no number is used twice, none is left out.
        world.service.tick("home").await.unwrap();
        assert_eq!(world.number(), before + 1);
    }
    let records = world.service.releases("home", 1, 100).await.unwrap();
    let numbers: Vec<u64> = records.iter().map(|record| record.number).collect();
    assert_eq!(numbers, (1..=cold + 2).collect::<Vec<u64>>());
}

#[tokio::test]
async fn restarts_keep_everything_that_was_acknowledged() {
    let text = file(EXACT, "");
    let mut world = World::new(&text).await;
    let answer = world.rank("one", None).await;
    world.again(&text).await;
    world.reward("one", 1.0).await.unwrap();
    world.ticks(1).await;
    world.again(&text).await;
    assert_eq!(world.rank("one", None).await, answer);
    assert_eq!(world.number(), 1);
    world.ticks(3).await;
    world.assert_learnt(1.0, 1.0);
}

#[tokio::test]
async fn a_token_ahead_of_the_store_stops_releases_and_a_foreign_one_does_not() {
    let world = World::new(&file(EXACT, "")).await;
    world.ticks(2).await;
    let loop_ = world.service.central("home").unwrap();
    let head = HeadName::new(9, &[5; 32]);
    let foreign = Token::write(&Secret::from_bytes([9; 32]), loop_.generation, &head);
    for harmless in [foreign.as_str(), "", "9.00.00", loop_.answering().token.as_str()] {
        world.service.notice("home", harmless).await.unwrap();
        assert!(loop_.halted().is_none(), "{harmless}");
    }
    let ahead = Token::write(&world.service.tokens, loop_.generation, &head);
    world.service.notice("home", &ahead).await.unwrap();
    assert!(loop_.halted().unwrap().starts_with("rollback: "));
    world.clock.pass(TICK);
    assert_eq!(world.service.tick("home").await.unwrap(), Ticked::Halted);
    assert_eq!(world.service.troubles().len(), 1);
    // People are still answered.
    world.rank("one", None).await;
}

#[tokio::test]
async fn another_process_that_took_over_is_noticed() {
    let text = file(EXACT, "");
    let world = World::new(&text).await;
    let other = open(&text, &world.store, &world.clock, Secret::from_bytes([3; 32])).await.unwrap();
    world.clock.pass(TICK);
    assert_eq!(world.service.tick("home").await.unwrap(), Ticked::Halted);
    assert_eq!(other.tick("home").await.unwrap(), Ticked::Released(1));
    assert_eq!(world.store.head(1).await.unwrap().number, 1);
}

#[tokio::test]
async fn rows_of_a_loop_that_learns_no_more_go_with_their_slots() {
    let world = World::new(&file(EXACT, "").replace("horizon = 100", "horizon = 2")).await;
    world.ticks(2).await;
    world.rank("late", None).await;
    world.ticks(2).await;
    assert_eq!(kept(&world, 1).await, CROWD);
    world.ticks(1).await;
    assert_eq!((world.number(), kept(&world, 1).await), (2, 0));
}

#[tokio::test]
async fn rows_of_a_generation_that_has_ended_go_when_they_are_not_needed_any_more() {
    for (retain, after) in [("", 3), ("retain = \"10 minutes\"", 11)] {
        let text = file(EXACT, retain);
        let mut world = World::new(&text).await;
        world.rank("one", None).await;
        world.again(&text.replace("epsilon = 1000.0", "epsilon = 900.0")).await;
        world.service.sweep().await.unwrap();
        assert_eq!(kept(&world, 1).await, CROWD, "their window has not ended");
        world.clock.pass((after - 1) * TICK);
        world.service.sweep().await.unwrap();
        assert_eq!(kept(&world, 1).await, CROWD, "{retain}");
        world.clock.pass(TICK);
        world.service.sweep().await.unwrap();
        assert_eq!(kept(&world, 1).await, 0, "{retain}");
    }
}

#[tokio::test]
async fn rows_of_a_generation_that_has_ended_are_retained_as_its_last_start_said() {
    for (first, then, after) in
        [("", "retain = \"10 minutes\"", 11), ("retain = \"1 hour\"", "", 3)]
    {
        let mut world = World::new(&file(EXACT, first)).await;
        let text = file(EXACT, then);
        world.again(&text).await;
        world.rank("one", None).await;
        world.again(&text.replace("epsilon = 1000.0", "epsilon = 900.0")).await;
        world.clock.pass((after - 1) * TICK);
        world.service.sweep().await.unwrap();
        assert_eq!(kept(&world, 1).await, CROWD, "{first} {then}");
        world.clock.pass(TICK);
        world.service.sweep().await.unwrap();
        assert_eq!(kept(&world, 1).await, 0, "{first} {then}");
    }
}

#[tokio::test]
async fn rows_of_a_generation_that_has_ended_are_retained_no_longer_than_the_file_says_now() {
    let text = file(EXACT, "retain = \"1 hour\"");
    let mut world = World::new(&text).await;
    world.rank("one", None).await;
    let later = |more| file(EXACT, more).replace("epsilon = 1000.0", "epsilon = 900.0");
    world.again(&later("retain = \"1 hour\"")).await;
    world.clock.pass(11 * TICK);
    world.service.sweep().await.unwrap();
    assert_eq!(kept(&world, 1).await, CROWD);
    world.again(&later("")).await;
    world.service.sweep().await.unwrap();
    assert_eq!(kept(&world, 1).await, 0);
}

async fn kept(world: &World, generation: GenerationId) -> usize {
    world.store.kept_events(generation, Place::default(), 1000).await.unwrap().len()
}

#[tokio::test]
async fn only_a_store_that_was_rolled_back_is_accepted_as_a_rollback() {
    let world = World::new(&file(EXACT, "")).await;
    let head = world.service.head(world.service.central("home").unwrap()).await.unwrap();
    let named = HeadName::new(head.number, &head.chain).text();
    assert!(world.service.accept_rollback("home", &named).await.is_err());
    // Stopped for another reason, which a charge does not mend.
    world.clock.jump(START + 86_400_000);
    assert_eq!(world.service.tick("home").await.unwrap(), Ticked::Halted);
    assert!(world.service.accept_rollback("home", &named).await.is_err());
    assert_eq!(world.service.tick("home").await.unwrap(), Ticked::Halted);
}

/// Lets the service tick by itself until a condition holds: at most for some seconds.
async fn ticking_until(world: &World, holds: impl Fn() -> bool) {
    let ticker = tokio::spawn(Arc::clone(&world.service).keep_ticking("home".into()));
    for _ in 0..2000 {
        if holds() {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    assert!(holds(), "it does not come to pass");
    ticker.abort();
    let _ = ticker.await;
}

#[tokio::test]
async fn a_panic_in_a_tick_is_reported_and_tried_again_and_nothing_is_consumed() {
    let world = World::new(&file(EXACT, "")).await;
    world.rank("one", None).await;
    world.reward("one", 1.0).await.unwrap();
    world.clock.pass(3 * TICK);
    world.store.fail_next(Fault::Panic);
    let reported = || world.service.troubles().iter().any(|trouble| trouble.contains("fault"));
    ticking_until(&world, reported).await;
    assert!(world.service.central("home").unwrap().is_failing());
    assert_eq!(world.number(), 0);
    ticking_until(&world, || world.number() == 1).await;
    ticking_until(&world, || world.service.troubles().is_empty()).await;
    assert!(!world.service.central("home").unwrap().is_failing());
    world.assert_learnt(1.0, 1.0);
}

#[tokio::test]
async fn a_tick_that_fails_is_reported_until_one_succeeds() {
    let world = World::new(&file(EXACT, "")).await;
    world.clock.pass(TICK);
    world.store.fail_next(Fault::Before);
    let reported = || world.service.troubles().iter().any(|trouble| trouble.contains("injected"));
    ticking_until(&world, reported).await;
    ticking_until(&world, || world.service.troubles().is_empty() && world.number() == 1).await;
}

#[tokio::test]
async fn a_damaged_row_contributes_zeros_and_is_counted_for_the_curator() {
    let world = World::new(&file(EXACT, "")).await;
    world.rank("one", None).await;
    world.reward("one", 1.0).await.unwrap();
    world.rank("two", None).await;
    crate::store::contract::sample::damage(&world.store, CROWD);
    world.ticks(3).await;
    let loop_ = world.service.central("home").unwrap();
    let unusable = loop_.counts.unusable.load(Ordering::Relaxed);
    assert_eq!((world.number(), unusable), (3, CROWD as u64));
    world.assert_learnt(1.0, 0.0);
}

#[tokio::test]
async fn a_damaged_row_is_named_and_the_others_are_exported() {
    let world = World::new(&file(EXACT, "retain = \"1 day\"")).await;
    world.rank("one", None).await;
    crate::store::contract::sample::damage(&world.store, 3);
    let (rows, _) = world.service.export("home", Place::default(), 2 * CROWD).await.unwrap();
    let damaged: Vec<u64> = rows
        .iter()
        .filter_map(|row| match row {
            Exported::Damaged(place) => Some(place.number),
            Exported::Event(_) => None,
        })
        .collect();
    assert_eq!((rows.len(), &damaged[..]), (CROWD, &[1, 2, 3][..]));
}
