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
    // The old one again, and it goes on: the foreign key has left nothing behind.
    with_keys(&mut world, &text, &[3]).await;
    assert!(world.service.troubles().is_empty());
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
