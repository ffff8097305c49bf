//! The suite. A check gets an empty store and returns its mistake.

use super::{
    erasure::{an_erasure_leaves_the_budget, an_erasure_overwrites_requests_and_answers},
    generations::{
        appended_words_are_not_overwritten, generations_follow_each_other,
        visits_are_counted_over_generations,
    },
    releases::{a_number_has_one_release, a_page_of_releases_has_a_limit_of_bytes},
    sample::{self, CLOSED, charge, event, event_of, person, reward, step},
    snapshot::Snapshot,
};
use crate::store::{
    Charge, Collect, Committed, GenerationId, Head, LAST_SLOT, MOST_EARLIER_KEYS, MOST_REWARD_KEYS,
    NewEvent, NewGeneration, NewReward, Outcome, Payer, Place, Raise, Ranked, ReleaseRecord,
    Replacement, Store, StoredEvent,
};

/// Result of a check.
pub(super) type Checked = Result<(), Box<dyn std::error::Error>>;

macro_rules! ensure {
    ($condition:expr, $($message:tt)+) => {
        if !$condition {
            return Err(format!($($message)+).into());
        }
    };
}

pub(super) use ensure;

macro_rules! suite {
    ($($check:ident),* $(,)?) => {
        /// All checks.
        pub(super) const NAMES: &[&str] = &[$(stringify!($check)),*];

        /// Runs one.
        pub(super) async fn run(name: &str, store: &dyn Store) -> Checked {
            match name {
                $(stringify!($check) => $check(store).await,)*
                _ => Err("no such check".into()),
            }
        }
    };
}
suite![
    an_event_repeated_by_id_is_one,
    a_person_is_learnt_from_at_most_k_times,
    hashes_under_earlier_keys_add_up,
    a_reward_repeated_by_key_counts_once,
    rewards_are_taken_late_or_unknown,
    a_closed_slot_stays_closed,
    a_number_has_one_release,
    a_page_of_releases_has_a_limit_of_bytes,
    a_head_never_goes_back,
    generations_follow_each_other,
    visits_are_counted_over_generations,
    appended_words_are_not_overwritten,
    only_what_is_released_is_collected,
    an_erasure_leaves_the_budget,
    an_erasure_overwrites_requests_and_answers,
    a_refused_transaction_changes_nothing,
    keys_and_settings_are_kept,
    nothing_is_added_below_a_floor_that_never_goes_down,
];

pub(super) async fn begin(store: &dyn Store) -> crate::Result<GenerationId> {
    Ok(store.begin_generation(sample::generation("home", 1)).await?.id)
}

pub(super) async fn events(
    store: &dyn Store,
    generation: GenerationId,
) -> crate::Result<Vec<(Place, StoredEvent)>> {
    store.kept_events(generation, Place::default(), 1000).await
}

pub(super) async fn learnt(store: &dyn Store, generation: GenerationId) -> crate::Result<usize> {
    Ok(events(store, generation).await?.iter().filter(|(_, event)| event.learnt).count())
}

async fn an_event_repeated_by_id_is_one(store: &dyn Store) -> Checked {
    let generation = begin(store).await?;
    let first = store
        .insert_events(vec![event_of(generation, 1, charge(1)), event_of(generation, 1, charge(1))])
        .await?;
    let again = Ranked::Repeated { request: [1; 32], answer: vec![1, 1] };
    ensure!(
        first == [Ranked::Added { slot: CLOSED + 1 }, again.clone()],
        "twice in a batch: {first:?}"
    );
    let other =
        NewEvent { request: [9; 32], answer: vec![9], ..event_of(generation, 1, charge(2)) };
    ensure!(
        store.insert_events(vec![other]).await? == [again],
        "the first request and answer are kept"
    );
    ensure!(events(store, generation).await?.len() == 1, "one event");
    let count = store.ledger(generation, 0, 1).await?;
    ensure!((count.people, count.used_up) == (1, 1), "one charge");
    ensure!(store.ledger(generation, 0, 2).await?.used_up == 0, "one charge, not two");
    ensure!(store.open_events(generation).await? == [(CLOSED + 1, 1)], "one open event");
    let second = store.begin_generation(sample::generation("other", 1)).await?.id;
    ensure!(
        store.insert_events(vec![event(second, 1)]).await? == [Ranked::Added { slot: CLOSED + 1 }],
        "ids are of a generation"
    );
    Ok(())
}

async fn a_person_is_learnt_from_at_most_k_times(store: &dyn Store) -> Checked {
    let generation = begin(store).await?;
    store.insert_events((0..5).map(|id| event_of(generation, id, charge(1))).collect()).await?;
    ensure!(learnt(store, generation).await? == 3, "at most k in a batch");
    store.insert_events(vec![event_of(generation, 5, charge(1))]).await?;
    ensure!(learnt(store, generation).await? == 3, "at most k in all");
    ensure!(events(store, generation).await?.len() == 6, "events beyond k are kept");
    store
        .insert_events(vec![
            event_of(generation, 6, Charge { period: 1, ..charge(1) }),
            event_of(generation, 7, charge(2)),
        ])
        .await?;
    ensure!(
        learnt(store, generation).await? == 5,
        "other periods and people have visits of their own"
    );
    let uncharged =
        [Payer::NotLearnt, Payer::Decision].map(|payer| NewEvent { payer, ..event(generation, 8) });
    let [not_learnt, decision] = uncharged;
    store.insert_events(vec![not_learnt, NewEvent { event: [9; 16], ..decision }]).await?;
    ensure!(
        learnt(store, generation).await? == 6,
        "a decision is learnt from, and one without a payer is not"
    );
    let count = store.ledger(generation, 0, 3).await?;
    ensure!((count.people, count.used_up) == (2, 1), "{count:?}");
    Ok(())
}

async fn hashes_under_earlier_keys_add_up(store: &dyn Store) -> Checked {
    let generation = begin(store).await?;
    store
        .insert_events(vec![event_of(generation, 1, charge(1)), event_of(generation, 2, charge(2))])
        .await?;
    let mut rotated = charge(3);
    rotated.earlier[0] = Some(person(1));
    // The oldest of all keys that may be given.
    rotated.earlier[MOST_EARLIER_KEYS - 1] = Some(person(2));
    store
        .insert_events(vec![event_of(generation, 3, rotated), event_of(generation, 4, rotated)])
        .await?;
    ensure!(learnt(store, generation).await? == 3, "three visits under three hashes");
    let count = store.ledger(generation, 0, 1).await?;
    ensure!(count.people == 3, "{count:?}");
    Ok(())
}

async fn a_reward_repeated_by_key_counts_once(store: &dyn Store) -> Checked {
    let generation = begin(store).await?;
    store.insert_events(vec![event(generation, 1), event(generation, 2)]).await?;
    use Outcome::{Taken, Unchanged};
    let twice = vec![reward(generation, 1, 5, Some(1)), reward(generation, 1, 5, Some(1))];
    ensure!(store.reward(twice).await? == [Taken, Unchanged], "twice in a batch");
    ensure!(store.reward(vec![reward(generation, 1, 5, Some(1))]).await? == [Unchanged], "again");
    store
        .reward(vec![
            reward(generation, 1, 2, Some(2)),
            reward(generation, 1, 1, None),
            reward(generation, 1, 1, None),
        ])
        .await?;
    let first = |units| NewReward { sum: false, ..reward(generation, 2, units, None) };
    ensure!(store.reward(vec![first(7), first(8)]).await? == [Taken, Unchanged], "the first");
    let rewards: Vec<_> =
        events(store, generation).await?.iter().map(|(_, event)| event.reward).collect();
    ensure!(rewards == [Some(9), Some(7)], "{rewards:?}");
    store
        .reward(vec![reward(generation, 1, i64::MAX, None), reward(generation, 1, i64::MAX, None)])
        .await?;
    ensure!(events(store, generation).await?[0].1.reward == Some(i64::MAX), "rewards saturate");
    // No key is forgotten: the repetition of the first one does not count, nor does one beyond as many as an event takes.
    let most = MOST_REWARD_KEYS as u64;
    store.reward((0..most).map(|key| reward(generation, 2, 1, Some(key))).collect()).await?;
    let again = [0, most - 1, most].map(|key| reward(generation, 2, 1, Some(key)));
    ensure!(store.reward(again.into()).await? == [Unchanged; 3], "the first, the last, one more");
    let sum = events(store, generation).await?[1].1.reward;
    ensure!(sum == Some(7 + most as i64), "{sum:?}");
    Ok(())
}

async fn rewards_are_taken_late_or_unknown(store: &dyn Store) -> Checked {
    let generation = begin(store).await?;
    let deferred = NewEvent { deferred: true, ..event(generation, 3) };
    store
        .insert_events(vec![
            event(generation, 1),
            NewEvent { slot: 15, ..event_of(generation, 2, charge(1)) },
            deferred,
        ])
        .await?;
    ensure!(!events(store, generation).await?[1].1.active, "a deferred event is not active");
    ensure!(store.activate(generation, [3; 16]).await? == Outcome::Taken, "activation");
    ensure!(
        store.activate(generation, [3; 16]).await? == Outcome::Unchanged,
        "the second activation"
    );
    ensure!(
        store.activate(generation, [1; 16]).await? == Outcome::Unchanged,
        "it was not deferred"
    );
    ensure!(events(store, generation).await?[1].1.active, "an activated event is active");
    store.close(generation, CLOSED + 1).await?;
    store.erase(vec![person(1)], 1).await?;
    let outcomes = store.reward([1, 2, 9].map(|id| reward(generation, id, 1, None)).into()).await?;
    ensure!(outcomes == [Outcome::Late, Outcome::Unchanged, Outcome::Unknown], "{outcomes:?}");
    ensure!(
        events(store, generation).await?.iter().all(|(_, event)| event.reward.is_none()),
        "no reward counts"
    );
    for (id, outcome) in [(1, Outcome::Late), (2, Outcome::Unchanged), (9, Outcome::Unknown)] {
        ensure!(store.activate(generation, [id; 16]).await? == outcome, "activation of {id}");
    }
    Ok(())
}

async fn a_closed_slot_stays_closed(store: &dyn Store) -> Checked {
    let generation = begin(store).await?;
    let in_slot = |id, slot| NewEvent { slot, ..event(generation, id) };
    store
        .insert_events(vec![in_slot(1, 14), in_slot(2, 11), in_slot(3, 14), in_slot(4, 3)])
        .await?;
    ensure!(
        store.closed_events(generation, Place::default(), u64::MAX, 9).await?.is_empty(),
        "nothing is closed"
    );
    store.close(generation, 15).await?;
    store.close(generation, 12).await?;
    ensure!(store.head(generation).await?.closed == 15, "the last closed slot");
    ensure!(
        store.insert_events(vec![in_slot(5, 12)]).await? == [Ranked::Added { slot: 16 }],
        "the first open slot is 16"
    );
    ensure!(
        store.reward(vec![reward(generation, 1, 1, None)]).await? == [Outcome::Late],
        "a closed event takes no reward"
    );
    ensure!(store.open_events(generation).await? == [(16, 1)], "open events");
    ensure!(
        store.open_events_after(generation, 15).await? == [(16, 1)],
        "open events after a slot"
    );
    ensure!(
        store.open_events_after(generation, 16).await?.is_empty(),
        "no open events after the last slot"
    );
    let all = store.closed_events(generation, Place::default(), u64::MAX, 9).await?;
    let ids: Vec<u8> = all.iter().map(|(_, event)| event.event[0]).collect();
    ensure!(ids == [2, 4, 1, 3], "by slot and number: {ids:?}");
    let page = store.closed_events(generation, all[0].0, 14, 2).await?;
    ensure!(page.len() == 2 && page[0] == all[1] && page[1] == all[2], "pages");
    ensure!(store.closed_events(generation, Place::default(), 13, 9).await?.len() == 2, "until");
    ensure!(
        store.closed_events(generation, Place { slot: 20, number: 1 }, 13, 9).await?.is_empty(),
        "after the end"
    );
    ensure!(store.close(generation, u64::MAX).await.is_err(), "one slot stays open");
    store.close(generation, LAST_SLOT).await?;
    ensure!(store.head(generation).await?.closed == LAST_SLOT, "all others can be closed");
    Ok(())
}

async fn a_head_never_goes_back(store: &dyn Store) -> Checked {
    let generation = begin(store).await?;
    store.take_epoch(generation).await?;
    store.close(generation, 20).await?;
    store.release(sample_step_folding(generation, 1, 1, 15)).await?;
    for folded in [14, 21] {
        ensure!(
            store.release(sample_step_folding(generation, 1, 2, folded)).await.is_err(),
            "a step that folds up to {folded}"
        );
    }
    let head = store.head(generation).await?;
    ensure!(head.folded == 15, "folded");
    let worse: [fn(&mut Head); 6] = [
        |head| head.number = 0,
        |head| head.epoch = 0,
        |head| head.closed = 19,
        |head| head.folded = 14,
        |head| head.folded = 21,
        |head| head.chain = [5; 32],
    ];
    for (index, worsen) in worse.iter().enumerate() {
        let mut replacement = head.clone();
        worsen(&mut replacement);
        let replacement = sample::replacement(&head, replacement, None);
        ensure!(store.replace_state(generation, replacement).await.is_err(), "replacement {index}");
    }
    ensure!(store.head(generation).await? == head, "a refused replacement changes nothing");
    let replacement =
        Head { number: 7, chain: [5; 32], epoch: 2, closed: 22, folded: 21, state: vec![8] };
    let link = ReleaseRecord { number: 7, chain: [5; 32], ..step(generation, 1, 7).release };
    let other = ReleaseRecord { number: 6, ..link.clone() };
    let refused = sample::replacement(&head, replacement.clone(), Some(other));
    let refused = store.replace_state(generation, refused).await;
    ensure!(refused.is_err() && store.head(generation).await? == head, "a link of another number");
    let accepted = sample::replacement(&head, replacement.clone(), Some(link.clone()));
    for stale in [(0, head.chain, head.epoch), (1, [9; 32], head.epoch), (1, head.chain, 0)] {
        let stale = Replacement { from: stale, ..accepted.clone() };
        let refused = store.replace_state(generation, stale).await;
        ensure!(
            refused.is_err() && store.head(generation).await? == head,
            "made from another head"
        );
    }
    // Another process has noted a charge that this one does not know.
    store.raise_floor("charged".into(), 3).await?;
    let charge = |from, to| Some(Raise { name: "charged".into(), from, to });
    let unaware = Replacement { charge: charge(2, 3), ..accepted.clone() };
    let refused = store.replace_state(generation, unaware).await;
    ensure!(refused.is_err() && store.head(generation).await? == head, "a charge too few");
    let aware = Replacement { charge: charge(3, 4), ..accepted };
    store.replace_state(generation, aware).await?;
    ensure!(store.raise_floor("charged".into(), 0).await? == 4, "it is charged with the head");
    ensure!(store.head(generation).await? == replacement, "a replaced head");
    ensure!(store.releases(generation, 2, 9).await? == [link], "the link is in the chain");
    ensure!(
        store.release(sample_step_folding(generation, 2, 8, 22)).await? == Committed::Yes,
        "it goes on from there"
    );
    Ok(())
}

pub(super) fn sample_step_folding(
    generation: GenerationId,
    epoch: u64,
    number: u64,
    folded: u64,
) -> crate::store::Step {
    crate::store::Step { folded, ..step(generation, epoch, number) }
}

async fn only_what_is_released_is_collected(store: &dyn Store) -> Checked {
    let generation = begin(store).await?;
    let in_slot = |id, slot| NewEvent { slot, ..event_of(generation, id, charge(id)) };
    store
        .insert_events(vec![in_slot(1, 11), in_slot(2, 12), in_slot(3, 13), in_slot(4, 14)])
        .await?;
    store.close(generation, 13).await?;
    ensure!(
        store.collect(generation, Collect { forget_ids: 0, ..sample::everything() }).await? == 0,
        "nothing is released"
    );
    store.release(sample_step_folding(generation, 0, 1, 12)).await?;
    store.release(sample_step_folding(generation, 0, 2, 12)).await?;
    let before = Collect { before: 2002, forget_ids: 0, first_release: 0, ..sample::everything() };
    ensure!(store.collect(generation, before).await? == 1, "one row is old enough");
    let limited = Collect { limit: 1, ..sample::everything() };
    ensure!(store.collect(generation, limited).await? == 3, "one row, one id, one release");
    let kept: Vec<u8> =
        events(store, generation).await?.iter().map(|(_, event)| event.event[0]).collect();
    ensure!(kept == [3, 4], "{kept:?}");
    ensure!(
        matches!(store.insert_events(vec![in_slot(2, 12)]).await?[..], [Ranked::Repeated { .. }]),
        "an id that is remembered"
    );
    ensure!(
        store.collect(generation, sample::everything()).await? == 3,
        "two ids of closed slots, one release"
    );
    ensure!(store.collect(generation, sample::everything()).await? == 0, "nothing is left");
    let releases = store.releases(generation, 0, 9).await?;
    ensure!(releases.iter().all(|release| release.release.is_empty()), "releases are hashes now");
    ensure!(releases[1].chain == step(generation, 0, 2).release.chain, "hashes stay");
    ensure!(
        store.insert_events(vec![in_slot(1, 11)]).await? == [Ranked::Added { slot: 14 }],
        "a forgotten id is a new event"
    );
    ensure!(
        matches!(store.insert_events(vec![in_slot(4, 14)]).await?[..], [Ranked::Repeated { .. }]),
        "an open one is not forgotten"
    );
    let count = store.ledger(generation, 0, 2).await?;
    ensure!((count.people, count.used_up) == (4, 1), "counts stay: {count:?}");
    let unreleased = Collect { unreleased: true, ..sample::everything() };
    ensure!(
        store.collect(generation, unreleased).await? == 1,
        "closed rows go without a release too"
    );
    let kept: Vec<u8> =
        events(store, generation).await?.iter().map(|(_, event)| event.event[0]).collect();
    ensure!(kept == [4, 1], "open ones stay: {kept:?}");
    Ok(())
}

async fn a_refused_transaction_changes_nothing(store: &dyn Store) -> Checked {
    let generation = begin(store).await?;
    store.insert_events(vec![event(generation, 1)]).await?;
    store.add_key(sample::key("a")).await?;
    let before = Snapshot::of(store).await?;
    ensure!(
        store.insert_events(vec![event_of(generation, 2, charge(1)), event(99, 3)]).await.is_err(),
        "an unknown generation"
    );
    ensure!(
        store.reward(vec![reward(generation, 1, 1, None), reward(99, 1, 1, None)]).await.is_err(),
        "an unknown generation"
    );
    ensure!(store.activate(99, [1; 16]).await.is_err(), "an unknown generation");
    ensure!(
        store.close(99, 12).await.is_err() && store.take_epoch(99).await.is_err(),
        "an unknown generation"
    );
    ensure!(
        store.release(step(99, 0, 1)).await.is_err() && store.head(99).await.is_err(),
        "an unknown generation"
    );
    ensure!(store.collect(99, sample::everything()).await.is_err(), "an unknown generation");
    ensure!(
        store
            .begin_generation(NewGeneration { closed: u64::MAX, ..sample::generation("home", 2) })
            .await
            .is_err(),
        "no open slot"
    );
    ensure!(store.add_key(sample::key("a")).await.is_err(), "a key that exists");
    let differences = Snapshot::of(store).await?.differences(&before);
    ensure!(differences.is_empty(), "changed: {differences:?}");
    Ok(())
}

async fn keys_and_settings_are_kept(store: &dyn Store) -> Checked {
    store.add_key(sample::key("b")).await?;
    store.add_key(sample::key("a")).await?;
    ensure!(
        store.revoke_key("a".into(), 5).await? && store.revoke_key("a".into(), 6).await?,
        "there is a key"
    );
    ensure!(!store.revoke_key("c".into(), 5).await?, "there is no key");
    let keys: Vec<_> = store.keys().await?.into_iter().map(|key| (key.id, key.revoked)).collect();
    ensure!(keys == [("a".into(), Some(5)), ("b".into(), None)], "{keys:?}");
    ensure!(store.setting("a".into()).await?.is_none(), "no value yet");
    ensure!(store.keep_setting("a".into(), vec![1]).await? == [1], "the first value");
    ensure!(store.keep_setting("a".into(), vec![2]).await? == [1], "is kept");
    ensure!(store.setting("a".into()).await? == Some(vec![1]), "and read");
    Ok(())
}

async fn nothing_is_added_below_a_floor_that_never_goes_down(store: &dyn Store) -> Checked {
    let generation = begin(store).await?;
    let numbered = |numbers: &[u64], first: u8| {
        let event =
            |(index, number): (usize, &u64)| (*number, event(generation, first + index as u8));
        numbers.iter().enumerate().map(event).collect::<Vec<_>>()
    };
    let added =
        |answers: &[Option<Ranked>]| answers.iter().map(Option::is_some).collect::<Vec<_>>();
    let first = store.insert_events_above("a".into(), numbered(&[0], 1)).await?;
    ensure!(added(&first) == [true], "there is no floor yet");
    ensure!(store.raise_floor("a".into(), 5).await? == 5, "it is raised");
    ensure!(store.raise_floor("a".into(), 3).await? == 5, "it does not go down");
    let answers = store.insert_events_above("a".into(), numbered(&[4, 5, 0, 6], 2)).await?;
    ensure!(added(&answers) == [false, true, false, true], "{answers:?}");
    let kept: Vec<u8> =
        events(store, generation).await?.iter().map(|(_, row)| row.event[0]).collect();
    ensure!(kept == [1, 3, 5], "{kept:?}");
    // A known floor is refused for its number too, and another floor is another one.
    let again = store.insert_events_above("a".into(), numbered(&[0], 1)).await?;
    ensure!(added(&again) == [false], "below the floor");
    let again = store.insert_events_above("b".into(), numbered(&[0], 1)).await?;
    ensure!(matches!(again[..], [Some(Ranked::Repeated { .. })]), "{again:?}");
    store.keep_setting("odd".into(), vec![1]).await?;
    ensure!(store.raise_floor("odd".into(), 3).await.is_err(), "a damaged floor");
    ensure!(
        store.insert_events_above("odd".into(), numbered(&[9], 9)).await.is_err(),
        "a damaged floor"
    );
    let unknown = vec![(0, event(99, 1))];
    ensure!(store.insert_events_above("a".into(), unknown).await.is_err(), "an unknown generation");
    Ok(())
}
