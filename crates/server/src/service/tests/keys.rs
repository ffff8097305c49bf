//! Keys of the people's hashes: rotated, lost, outlived.

use super::*;
use crate::service::people::needed_keys;

const DAY: u64 = 86_400_000;

fn key(number: u8) -> Secret {
    Secret::from_bytes([number; 32])
}

/// Starts again with these keys, the present one first.
async fn with_keys(world: &mut World, text: &str, keys: &[u8]) {
    world.service = Service::open(Options {
        plans: ServiceFile::parse(text).unwrap().check().unwrap(),
        store: world.store.clone(),
        clock: world.clock.clone(),
        people: key(keys[0]),
        earlier_people: keys[1..].iter().map(|number| key(*number)).collect(),
        events: Secret::from_bytes([5; 32]),
        witness: None,
        limits: Limits::default(),
        seal_key: None,
    })
    .await
    .unwrap();
}

fn visits(per: &str) -> String {
    file(&format!("{EXACT}, visits = 1, per = {per:?}"), "")
}

#[tokio::test]
async fn under_a_foreign_key_people_are_answered_and_nothing_is_learnt() {
    let text = file(&format!("{EXACT}, visits = 2, per = \"ever\""), "");
    let mut world = World::new(&text).await;
    world.rank("one", Some("a")).await;
    with_keys(&mut world, &text, &[4]).await;
    world.rank("two", Some("a")).await;
    assert!(world.service.troubles()[0].contains("old key"));
    let remains = world.service.erase("a/0").await.unwrap().remains;
    assert!(remains.iter().any(|text| text.contains("not given")), "{remains:?}");
    world.ticks(3).await;
    world.assert_learnt(1.0, 0.0);
    // The old one again, and it goes on: no count stands under the foreign key, and its rows are gone.
    with_keys(&mut world, &text, &[3]).await;
    assert!(world.service.troubles().is_empty());
}

/// Visits of loop `shop`, if it has any, and of loop `home`; which of them learn under a foreign key, and the log of it.
async fn learns_under_a_foreign_key(home: &str, shop: &str) -> (bool, bool, String) {
    let (home, shop) = (file(home, ""), file(shop, "").replace("loop.home", "loop.shop"));
    let text = home + &shop;
    let mut world = World::new(&text).await;
    world.service.rank("shop", request("first", Some("a"))).await.unwrap();
    world.service.rank("home", request("first", Some("a"))).await.unwrap();
    with_keys(&mut world, &text, &[4]).await;
    let mut learns = Vec::new();
    for name in ["home", "shop"] {
        world.service.rank(name, request("second", Some("a"))).await.unwrap();
        let generation = world.service.central(name).unwrap().generation;
        let rows = world.store.kept_events(generation, Place::default(), 9).await.unwrap();
        assert!(rows.len() == 2 && rows[0].1.learnt);
        learns.push(rows[1].1.learnt);
    }
    let troubles = world.service.troubles();
    assert_eq!(troubles.len(), 1, "{troubles:?}");
    (learns[0], learns[1], troubles[0].clone())
}

/// The message about missing keys predicts what happens.
#[tokio::test]
async fn while_keys_are_missing_loops_that_count_visits_learn_nothing_and_the_others_go_on() {
    let visits = format!("{EXACT}, visits = 2, per = \"ever\"");
    let (home, shop, message) = learns_under_a_foreign_key(&visits, EXACT).await;
    assert!(!home && shop, "{message}");
    let some = "nothing is learnt in the loops that count visits (home); the others go on learning";
    assert!(message.contains(some), "{message}");
    let (home, shop, message) = learns_under_a_foreign_key(&visits, &visits).await;
    assert!(!home && !shop && message.contains("answered, and nothing is learnt;"), "{message}");
    let (home, shop, message) = learns_under_a_foreign_key(EXACT, EXACT).await;
    assert!(home && shop && message.contains("every loop goes on learning"), "{message}");
}

#[tokio::test]
async fn rotating_twice_refills_no_budget() {
    let text = visits("ever");
    let mut world = World::new(&text).await;
    with_keys(&mut world, &text, &[4, 3]).await;
    world.rank("one", Some("a")).await;
    with_keys(&mut world, &text, &[5, 4, 3]).await;
    assert!(world.service.troubles().is_empty());
    world.rank("two", Some("a")).await;
    // The key that the visit was counted under is left out: the first one alone does not make the store known.
    with_keys(&mut world, &text, &[6, 3]).await;
    assert!(world.service.troubles()[0].contains("missing"));
    world.rank("three", Some("a")).await;
    world.ticks(3).await;
    world.assert_learnt(1.0, 0.0);
}

#[tokio::test]
async fn a_key_is_outlived_with_its_period_and_never_where_visits_count_for_ever() {
    for (per, outlived) in [("2 days", true), ("ever", false)] {
        let text = visits(per);
        let mut world = World::new(&text).await;
        world.rank("one", Some("a")).await;
        with_keys(&mut world, &text, &[4, 3]).await;
        let first = key(3).check_value();
        let needed = needed_keys(world.store.as_ref(), world.service.now()).await.unwrap();
        assert!(needed.contains(&first) && needed.contains(&key(4).check_value()));
        with_keys(&mut world, &text, &[4]).await;
        assert!(!world.service.troubles().is_empty(), "its period has not ended");
        with_keys(&mut world, &text, &[4, 3]).await;
        for _ in 0..3 {
            world.clock.pass(DAY);
            world.service.tick("home").await.unwrap();
        }
        let needed = needed_keys(world.store.as_ref(), world.service.now()).await.unwrap();
        assert_eq!(needed.contains(&first), !outlived, "{per}");
        with_keys(&mut world, &text, &[4]).await;
        assert_eq!(world.service.troubles().is_empty(), outlived, "{per}");
    }
}

#[tokio::test]
async fn a_key_that_rows_are_retained_under_is_needed_to_erase_them() {
    let text = file(EXACT, "retain = \"10 days\"");
    let mut world = World::new(&text).await;
    world.rank("one", Some("a")).await;
    with_keys(&mut world, &text, &[4]).await;
    assert!(world.service.troubles()[0].contains("missing"));
    with_keys(&mut world, &text, &[4, 3]).await;
    assert_eq!(world.service.erase("a/0").await.unwrap().rows, 1);
    for _ in 0..11 {
        world.clock.pass(DAY);
        world.service.tick("home").await.unwrap();
    }
    with_keys(&mut world, &text, &[4]).await;
    assert!(world.service.troubles().is_empty());
}

/// The first key, whose rows still stand, is needed, and a service without it says so, also to a caller who erases a person.
async fn assert_first_key_is_needed(world: &mut World, text: &str) {
    let needed = needed_keys(world.store.as_ref(), world.service.now()).await.unwrap();
    assert!(needed.contains(&key(3).check_value()));
    with_keys(world, text, &[4]).await;
    assert!(world.service.troubles()[0].contains("missing"));
    let erased = world.service.erase("a/0").await.unwrap();
    assert_eq!(erased.rows, 0);
    assert!(erased.remains.iter().any(|text| text.contains("not given")), "{erased:?}");
    with_keys(world, text, &[4, 3]).await;
    assert_eq!(world.service.erase("a/0").await.unwrap().rows, 1);
}

#[tokio::test]
async fn a_key_is_needed_for_rows_that_are_retained_since_a_later_start() {
    let mut world = World::new(&file(EXACT, "")).await;
    let text = file(EXACT, "retain = \"10 days\"");
    with_keys(&mut world, &text, &[3]).await;
    world.rank("one", Some("a")).await;
    with_keys(&mut world, &text, &[4, 3]).await;
    world.clock.pass(DAY);
    world.service.tick("home").await.unwrap();
    assert_first_key_is_needed(&mut world, &text).await;
}

#[tokio::test]
async fn a_key_is_needed_for_rows_that_stand_because_the_loop_is_halted() {
    let text = file(EXACT, "");
    let mut world = World::new(&text).await;
    world.rank("one", Some("a")).await;
    with_keys(&mut world, &text, &[4, 3]).await;
    world.service.central("home").unwrap().halt("a test".into(), None);
    world.clock.pass(DAY);
    assert_eq!(world.service.tick("home").await.unwrap(), Ticked::Halted);
    assert_first_key_is_needed(&mut world, &text).await;
    // It goes on, and the rows go.
    world.ticks(3).await;
    with_keys(&mut world, &text, &[4]).await;
    assert!(world.service.troubles().is_empty());
}

#[tokio::test]
async fn retaining_for_longer_does_not_ask_for_a_key_whose_rows_are_gone() {
    let mut world = World::new(&file(EXACT, "")).await;
    world.rank("one", Some("a")).await;
    world.ticks(3).await;
    let text = file(EXACT, "retain = \"10 days\"");
    with_keys(&mut world, &text, &[4]).await;
    assert!(world.service.troubles().is_empty());
}

#[tokio::test]
async fn a_foreign_key_is_needed_until_its_rows_are_gone() {
    let text = file(&format!("{EXACT}, visits = 2, per = \"ever\""), "retain = \"2 days\"");
    let mut world = World::new(&text).await;
    world.rank("one", Some("a")).await;
    with_keys(&mut world, &text, &[4]).await;
    world.rank("two", Some("a")).await;
    with_keys(&mut world, &text, &[3]).await;
    assert!(world.service.troubles()[0].contains("missing"));
    let erased = world.service.erase("a/0").await.unwrap();
    assert_eq!(erased.rows, 1);
    assert!(erased.remains.iter().any(|text| text.contains("not given")), "{erased:?}");
    with_keys(&mut world, &text, &[3, 4]).await;
    assert!(world.service.troubles().is_empty());
    assert_eq!(world.service.erase("a/0").await.unwrap().rows, 1);
    for _ in 0..3 {
        world.clock.pass(DAY);
        world.service.tick("home").await.unwrap();
    }
    // No person was charged under it, so that it is outlived although visits count for ever.
    with_keys(&mut world, &text, &[3]).await;
    assert!(world.service.troubles().is_empty());
}

#[tokio::test]
async fn a_key_counts_in_the_period_of_its_last_charge_though_the_next_start_was_before_it() {
    let text = visits("1 day");
    let mut world = World::new(&text).await;
    // A minute into a day.
    world.clock.pass(DAY - START % DAY + TICK);
    world.rank("one", Some("a")).await;
    let charged = world.clock.now();
    world.clock.jump(charged - 50 * TICK);
    with_keys(&mut world, &text, &[4, 3]).await;
    assert!(world.service.troubles().is_empty(), "the clock is believed");
    // Set right; the rows go, the count stays.
    world.clock.jump(charged);
    world.ticks(200).await;
    with_keys(&mut world, &text, &[4]).await;
    assert!(world.service.troubles()[0].contains("missing"));
    world.rank("two", Some("a")).await;
    world.ticks(3).await;
    world.assert_learnt(1.0, 0.0);
}

#[tokio::test]
async fn a_lost_key_is_outlived_some_time() {
    let text = visits("2 days");
    let mut world = World::new(&text).await;
    world.rank("one", Some("a")).await;
    with_keys(&mut world, &text, &[9]).await;
    assert!(!world.service.troubles().is_empty());
    for _ in 0..3 {
        world.clock.pass(DAY);
        world.service.tick("home").await.unwrap();
    }
    with_keys(&mut world, &text, &[9]).await;
    assert!(world.service.troubles().is_empty());
    world.rank("two", Some("a")).await;
    world.ticks(3).await;
    world.assert_learnt(2.0, 0.0);
}
