//! Rewards and activations of open events. One whose row was erased is answered as before, so that the answer does not show the erasure.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use deadpool_postgres::Transaction;

use super::{
    events::{Open, open},
    groups::{Answers, Call},
    number::{generation_number, hash, read_keys, signed, unsigned, write_keys},
    transaction::{Attempt, execute, rows},
};
use crate::{
    Result,
    store::{EventHash, GenerationId, NewReward, Outcome, Place, refusal},
};

impl Call for Vec<NewReward> {
    type Answer = Vec<Outcome>;

    fn records(&self) -> usize {
        self.len()
    }
}

/// Places of events of these ids, erased ones included.
async fn places(
    on: &Transaction<'_>,
    ids: &BTreeSet<(GenerationId, EventHash)>,
) -> Attempt<HashMap<(GenerationId, EventHash), Place>> {
    let generations: Vec<i32> = ids.iter().map(|(generation, _)| *generation as i32).collect();
    let events: Vec<&[u8]> = ids.iter().map(|(_, event)| &event[..]).collect();
    let found = rows(
        on,
        "select life, event, slot, number from remembered join unnest($1::int4[], $2::bytea[]) as t (life, event) using (life, event)",
        &[&generations, &events],
    )
    .await?;
    let mut places = HashMap::new();
    for row in found {
        let place = Place { slot: unsigned(row.get(2)), number: unsigned(row.get(3)) };
        places.insert((row.get::<_, i32>(0) as GenerationId, hash(row.get(1))?), place);
    }
    Ok(places)
}

/// Place of an open event, or the outcome of a change to another one.
fn target(place: Option<Place>, generation: Open) -> std::result::Result<Place, Outcome> {
    match place {
        Some(place) if place.slot > generation.closed => Ok(place),
        Some(_) => Err(Outcome::Late),
        None => Err(Outcome::Unknown),
    }
}

/// Adds rewards to open events.
pub(super) async fn reward(
    on: &Transaction<'_>,
    key: i32,
    calls: &[Vec<NewReward>],
) -> Attempt<Answers<Vec<NewReward>>> {
    let generations = calls.iter().flatten().map(|reward| reward.generation).collect();
    let open = open(on, key, None, &generations).await?;
    let ids: BTreeSet<(GenerationId, EventHash)> = calls
        .iter()
        .flatten()
        .filter(|reward| open.contains_key(&reward.generation))
        .map(|reward| (reward.generation, reward.event))
        .collect();
    let places = places(on, &ids).await?;
    // Of each call whose generations are known: where its events stand, or what became of its rewards.
    let targets = |call: &Vec<NewReward>| -> Result<Vec<std::result::Result<Place, Outcome>>> {
        let target = |reward: &NewReward| {
            let generation = open
                .get(&reward.generation)
                .ok_or_else(|| refusal::unknown_generation(reward.generation))?;
            Ok(target(places.get(&(reward.generation, reward.event)).copied(), *generation))
        };
        call.iter().map(target).collect()
    };
    let targets: Vec<Result<Vec<_>>> = calls.iter().map(targets).collect();
    let taken = targets.iter().zip(calls).flat_map(|(targets, call)| {
        let targets = targets.as_deref().unwrap_or_default().iter();
        targets.zip(call).filter_map(|(target, reward)| Some((reward.generation, (*target).ok()?)))
    });
    let mut events = locked(on, taken.collect()).await?;
    let mut add =
        |reward: &NewReward, place: Place| match events.get_mut(&(reward.generation, place)) {
            Some((sum, keys)) => reward.add_to(sum, keys),
            None => Outcome::Unchanged,
        };
    let outcomes = targets.into_iter().zip(calls).map(|(targets, call)| {
        let outcome = |(target, reward): (std::result::Result<Place, Outcome>, &NewReward)| {
            target.map_or_else(|outcome| outcome, |place| add(reward, place))
        };
        Ok(targets?.into_iter().zip(call).map(outcome).collect())
    });
    let outcomes = outcomes.collect();
    // In any case, so that a repetition takes as long.
    write_rewards(on, &events).await?;
    Ok(outcomes)
}

/// The sum of an event's rewards, and the hashes of the latest idempotency keys.
type Rewards = (Option<i64>, Vec<u64>);

/// Rewards of open events, locked until the transaction ends.
async fn locked(
    on: &Transaction<'_>,
    places: BTreeSet<(GenerationId, Place)>,
) -> Attempt<BTreeMap<(GenerationId, Place), Rewards>> {
    let mut events = BTreeMap::new();
    if places.is_empty() {
        return Ok(events);
    }
    let (generations, slots, numbers) = columns(places.iter());
    let found = rows(
        on,
        "select e.life, e.slot, e.number, e.reward, e.reward_keys \
         from events e join unnest($1::int4[], $2::int8[], $3::int8[]) as t (life, slot, number) using (life, slot, number) \
         order by e.life, e.slot, e.number for update of e",
        &[&generations, &slots, &numbers],
    )
    .await?;
    for row in found {
        let place = Place { slot: unsigned(row.get(1)), number: unsigned(row.get(2)) };
        events.insert(
            (row.get::<_, i32>(0) as GenerationId, place),
            (row.get(3), read_keys(row.get(4))?),
        );
    }
    Ok(events)
}

async fn write_rewards(
    on: &Transaction<'_>,
    events: &BTreeMap<(GenerationId, Place), Rewards>,
) -> Attempt<()> {
    if events.is_empty() {
        return Ok(());
    }
    let (generations, slots, numbers) = columns(events.keys());
    let rewards: Vec<Option<i64>> = events.values().map(|(sum, _)| *sum).collect();
    let keys: Vec<Vec<u8>> = events.values().map(|(_, keys)| write_keys(keys)).collect();
    execute(
        on,
        "update events e set reward = t.reward, reward_keys = t.reward_keys \
         from unnest($1::int4[], $2::int8[], $3::int8[], $4::int8[], $5::bytea[]) as t (life, slot, number, reward, reward_keys) \
         where (e.life, e.slot, e.number) = (t.life, t.slot, t.number)",
        &[&generations, &slots, &numbers, &rewards, &keys],
    )
    .await?;
    Ok(())
}

fn columns<'p>(
    places: impl Iterator<Item = &'p (GenerationId, Place)>,
) -> (Vec<i32>, Vec<i64>, Vec<i64>) {
    let mut columns = (Vec::new(), Vec::new(), Vec::new());
    for (generation, place) in places {
        columns.0.push(*generation as i32);
        columns.1.push(place.slot as i64);
        columns.2.push(place.number as i64);
    }
    columns
}

/// Marks a deferred event as shown.
pub(super) async fn activate(
    on: &Transaction<'_>,
    key: i32,
    generation: GenerationId,
    event: EventHash,
) -> Attempt<Outcome> {
    let open = open(on, key, None, &BTreeSet::from([generation])).await?;
    let known = *open.get(&generation).ok_or_else(|| refusal::unknown_generation(generation))?;
    let places = places(on, &BTreeSet::from([(generation, event)])).await?;
    let place = match target(places.get(&(generation, event)).copied(), known) {
        Ok(place) => place,
        Err(outcome) => return Ok(outcome),
    };
    let changed = execute(
        on,
        "update events set active = true where life = $1 and slot = $2 and number = $3 and not active",
        &[&generation_number(generation)?, &signed("slot", place.slot)?, &signed("number", place.number)?],
    )
    .await?;
    Ok(if changed > 0 { Outcome::Taken } else { Outcome::Unchanged })
}
