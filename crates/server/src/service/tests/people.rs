//! People: visits beyond their number, erasure, and the guarantee of all loops for one person.

use super::*;

#[tokio::test]
async fn visits_beyond_k_are_answered_and_nothing_is_learnt_from_them() {
    let privacy = format!("{EXACT}, visits = 2, per = \"1 day\"");
    let world = World::new(&file(&privacy, "")).await;
    for visit in 0..5 {
        world.rank(&format!("a{visit}"), Some("a")).await;
    }
    world.rank("b", Some("b")).await;
    // Without a person nothing can be charged.
    world.rank("unseen", None).await;
    world.ticks(3).await;
    world.assert_learnt(3.0, 0.0);
    // The next day begins a new period.
    world.clock.pass(86_400_000 - 3 * TICK);
    world.rank("a-next-day", Some("a")).await;
    world.ticks(3).await;
    world.assert_learnt(4.0, 0.0);
}

#[tokio::test]
async fn erased_events_contribute_nothing_and_erasing_gives_no_new_visits() {
    let privacy = format!("{EXACT}, visits = 1, per = \"ever\"");
    let world = World::new(&file(&privacy, "")).await;
    world.rank("one", Some("a")).await;
    world.reward("one", 1.0).await.unwrap();
    for index in 0..CROWD {
        assert_eq!(world.service.erase(&format!("a/{index}")).await.unwrap().rows, 1);
    }
    // To a caller nothing shows it.
    world.reward("one", 1.0).await.unwrap();
    world.rank("two", Some("a")).await;
    world.rank("three", Some("b")).await;
    world.ticks(3).await;
    world.assert_learnt(1.0, 0.0);
}

#[tokio::test]
async fn people_are_erased_where_no_person_is_counted_too() {
    let world = World::new(&file(EXACT, "retain = \"1 day\"")).await;
    world.rank("one", Some("a")).await;
    world.ticks(3).await;
    world.assert_learnt(1.0, 0.0);
    for index in 0..CROWD {
        assert_eq!(world.service.erase(&format!("a/{index}")).await.unwrap().rows, 1);
    }
    assert!(world.service.export("home", Place::default(), 10).await.unwrap().0.is_empty());
}

#[tokio::test]
async fn loops_and_generations_add_up_for_one_person() {
    let privacy = "epsilon = 1.0, delta = 1e-6, visits = 3, per = \"30 days\"";
    let table = file(privacy, "");
    let three: String =
        ["a", "b", "c"].map(|name| table.replace("loop.home", &format!("loop.{name}"))).concat();
    let world = World::new(&three).await;
    let together = world.service.together().await.unwrap();
    let epsilon = together.guarantee.unwrap().epsilon();
    // mu adds up by squares: epsilon 1 at delta 1e-6 is mu = .2211, and sqrt 3 of it is 1.81.
    assert!((epsilon - 1.81).abs() < 0.01, "{epsilon}");
    // Another budget is another generation; what the old one cost stays, and covers what the new one costs.
    let mut world = World::new(&table).await;
    world.ticks(2).await;
    world.again(&table.replace("epsilon = 1.0", "epsilon = 0.5")).await;
    assert_eq!(world.number(), 0);
    let together = world.service.together().await.unwrap();
    let epsilon = together.guarantee.unwrap().epsilon();
    assert!((epsilon - 1.0).abs() < 1e-3, "{epsilon}");
    let certificate = world.service.certificate("home").await.unwrap();
    assert!((certificate.guarantee.epsilon() - epsilon).abs() < 1e-9);
    let periods: Vec<f64> = certificate.periods.iter().map(|row| row.epsilon).collect();
    assert!(periods[0] < periods[1] && periods[1] < periods[2], "{periods:?}");
}
