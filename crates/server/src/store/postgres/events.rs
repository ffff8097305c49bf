//! Operations on events: rank, reward, activate.
//!
//! Each takes the lock of its lives in shared mode, in a statement of its own, and then reads which slots are closed: `close` takes the lock alone, so
//! that no slot closes while an event is on its way into it, however slow its process is.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use deadpool_postgres::Transaction;

use super::{
    groups::Answers,
    heads::lock_shared,
    ledger,
    number::{hash, life_number, read_keys, signed, unsigned, write_features, write_keys},
    transaction::{Attempt, Failure, execute, rows},
};
use crate::{
    Result,
    store::{
        Charge, EventHash, LifeId, NewEvent, NewReward, Outcome, Payer, Place, Ranked, add_reward,
        refusal,
    },
};

/// What is known of a life while its lock is held.
#[derive(Clone, Copy)]
struct Open {
    closed: u64,
    ended: bool,
}

/// Locks lives and reads where they stand.
async fn open(
    on: &Transaction<'_>,
    key: i32,
    lives: &BTreeSet<LifeId>,
) -> Attempt<BTreeMap<LifeId, Open>> {
    let lives: Vec<i32> = lives.iter().filter_map(|life| life_number(*life).ok()).collect();
    lock_shared(on, key, &lives).await?;
    let found = rows(
        on,
        "select h.life, h.closed, l.ended is not null, s.retired from heads h join lives l on l.id = h.life cross join store s \
         where h.life = any($1)",
        &[&lives],
    )
    .await?;
    let mut open = BTreeMap::new();
    for row in found {
        if let Some(place) = row.get::<_, Option<String>>(3) {
            return Err(super::retired(&place).into());
        }
        let life = row.get::<_, i32>(0) as LifeId;
        open.insert(life, Open { closed: unsigned(row.get(1)), ended: row.get(2) });
    }
    Ok(open)
}

/// Events of all calls in their order, the first of each id; calls that are refused have none.
struct Fresh<'e> {
    events: Vec<(&'e NewEvent, u64)>,
    ids: HashMap<(LifeId, EventHash), usize>,
}

const REMEMBER: &str = "
with given as materialized (
    select nextval('event_numbers') as number, life, event, slot, request, answer
    from unnest($1::int4[], $2::bytea[], $3::int8[], $4::bytea[], $5::bytea[]) as t (life, event, slot, request, answer)
)
insert into remembered (life, event, slot, number, request, answer)
select life, event, slot, number, request, answer from given order by life, event
on conflict (life, event) do nothing
returning life, event, number";

const ADD: &str = "
insert into events (life, slot, number, event, person, time, learnt, active, reward, reward_keys, features, raw)
select life, slot, number, event, person, time, learnt, active, null, ''::bytea, features, raw
from unnest($1::int4[], $2::int8[], $3::int8[], $4::bytea[], $5::bytea[], $6::int8[], $7::boolean[], $8::boolean[], $9::bytea[], $10::bytea[])
    as t (life, slot, number, event, person, time, learnt, active, features, raw)";

/// Adds events, each with its charge. Whoever adds an id first has its answer; others wait for the commit and get that answer.
pub(super) async fn rank(
    on: &Transaction<'_>,
    key: i32,
    calls: &[Vec<NewEvent>],
) -> Attempt<Answers<Ranked>> {
    let lives = calls.iter().flatten().map(|event| event.life).collect();
    let open = open(on, key, &lives).await?;
    let mut fresh = Fresh { events: Vec::new(), ids: HashMap::new() };
    let refused: Vec<Result<()>> = calls
        .iter()
        .map(|call| {
            call.iter().try_for_each(|event| check(event, &open))?;
            call.iter().for_each(|event| fresh.add(event, &open));
            Ok(())
        })
        .collect();
    let numbers = remember(on, &fresh.events).await?;
    let known = answers_of_others(on, &fresh, &numbers).await?;
    add(on, &fresh, &numbers, &open).await?;
    let mut taken = vec![false; fresh.events.len()];
    let mut answer = |event: &NewEvent| {
        let index = fresh.ids[&(event.life, event.event)];
        match known.get(&index) {
            Some(known) => known.clone(),
            None if !std::mem::replace(&mut taken[index], true) => {
                Ranked::Added { slot: fresh.events[index].1 }
            }
            None => {
                let first = fresh.events[index].0;
                Ranked::Repeated { request: first.request, answer: first.answer.clone() }
            }
        }
    };
    let answers = refused.into_iter().zip(calls);
    Ok(answers
        .map(|(refused, call)| refused.map(|()| call.iter().map(&mut answer).collect()))
        .collect())
}

/// Refuses what cannot be stored.
fn check(event: &NewEvent, open: &BTreeMap<LifeId, Open>) -> Result<()> {
    open.get(&event.life).ok_or_else(|| refusal::unknown_life(event.life))?;
    signed("slot", event.slot)?;
    signed("time", event.time)?;
    if let Payer::Person(charge) = &event.payer {
        signed("period", charge.period)?;
    }
    Ok(())
}

impl<'e> Fresh<'e> {
    fn add(&mut self, event: &'e NewEvent, open: &BTreeMap<LifeId, Open>) {
        let first_open = open.get(&event.life).map_or(0, |life| life.closed + 1);
        let next = self.events.len();
        if *self.ids.entry((event.life, event.event)).or_insert(next) == next {
            self.events.push((event, event.slot.max(first_open)));
        }
    }
}

/// Writes ids that are new, and returns the numbers of their events by where they stand.
async fn remember(
    on: &Transaction<'_>,
    events: &[(&NewEvent, u64)],
) -> Attempt<BTreeMap<usize, i64>> {
    if events.is_empty() {
        return Ok(BTreeMap::new());
    }
    let mut lives = Vec::new();
    let mut slots = Vec::new();
    for (event, slot) in events {
        lives.push(life_number(event.life)?);
        slots.push(signed("slot", *slot)?);
    }
    let ids: Vec<&[u8]> = events.iter().map(|(event, _)| &event.event[..]).collect();
    let requests: Vec<&[u8]> = events.iter().map(|(event, _)| &event.request[..]).collect();
    let answers: Vec<&[u8]> = events.iter().map(|(event, _)| &event.answer[..]).collect();
    let written = rows(on, REMEMBER, &[&lives, &ids, &slots, &requests, &answers]).await?;
    let written: HashMap<(i32, &[u8]), i64> =
        written.iter().map(|row| ((row.get(0), row.get(1)), row.get(2))).collect();
    let number = |index: usize| written.get(&(lives[index], ids[index])).copied();
    Ok((0..events.len()).filter_map(|index| Some((index, number(index)?))).collect())
}

/// What was answered under ids that are not new.
async fn answers_of_others(
    on: &Transaction<'_>,
    fresh: &Fresh<'_>,
    numbers: &BTreeMap<usize, i64>,
) -> Attempt<HashMap<usize, Ranked>> {
    let others: Vec<&NewEvent> = (0..fresh.events.len())
        .filter(|index| !numbers.contains_key(index))
        .map(|index| fresh.events[index].0)
        .collect();
    if others.is_empty() {
        return Ok(HashMap::new());
    }
    let lives: Vec<i32> = others.iter().map(|event| event.life as i32).collect();
    let ids: Vec<&[u8]> = others.iter().map(|event| &event.event[..]).collect();
    let found = rows(
        on,
        "select life, event, request, answer from remembered join unnest($1::int4[], $2::bytea[]) as t (life, event) using (life, event)",
        &[&lives, &ids],
    )
    .await?;
    if found.len() != others.len() {
        // One was forgotten in between: it is new now.
        return Err(Failure::Changed);
    }
    let mut known = HashMap::new();
    for row in found {
        let id: (LifeId, EventHash) = (row.get::<_, i32>(0) as LifeId, hash(row.get(1))?);
        let answer = Ranked::Repeated { request: hash(row.get(2))?, answer: row.get(3) };
        if let Some(index) = fresh.ids.get(&id) {
            known.insert(*index, answer);
        }
    }
    Ok(known)
}

/// Charges the events that are new, and writes them.
async fn add(
    on: &Transaction<'_>,
    fresh: &Fresh<'_>,
    numbers: &BTreeMap<usize, i64>,
    open: &BTreeMap<LifeId, Open>,
) -> Attempt<()> {
    if numbers.is_empty() {
        return Ok(());
    }
    let ended = |life: LifeId| open.get(&life).is_none_or(|life| life.ended);
    let new: Vec<(&NewEvent, u64, i64)> = numbers
        .iter()
        .map(|(index, number)| (fresh.events[*index].0, fresh.events[*index].1, *number))
        .collect();
    let mut charges: Vec<(LifeId, Charge)> = Vec::new();
    for (event, ..) in &new {
        if let Payer::Person(charge) = &event.payer
            && !ended(event.life)
        {
            charges.push((event.life, *charge));
        }
    }
    let mut granted = ledger::charge(on, &charges).await?.into_iter();
    let learnt: Vec<bool> = new
        .iter()
        .map(|(event, ..)| match &event.payer {
            _ if ended(event.life) => false,
            Payer::Decision => true,
            Payer::Person(_) => granted.next().unwrap_or(false),
            Payer::NotLearnt => false,
        })
        .collect();
    let lives: Vec<i32> = new.iter().map(|(event, ..)| event.life as i32).collect();
    let slots: Vec<i64> = new.iter().map(|(_, slot, _)| *slot as i64).collect();
    let numbers: Vec<i64> = new.iter().map(|(.., number)| *number).collect();
    let ids: Vec<&[u8]> = new.iter().map(|(event, ..)| &event.event[..]).collect();
    let people: Vec<Option<&[u8]>> =
        new.iter().map(|(event, ..)| event.person.as_ref().map(|hash| &hash[..])).collect();
    let times: Vec<i64> = new.iter().map(|(event, ..)| event.time as i64).collect();
    let active: Vec<bool> = new.iter().map(|(event, ..)| !event.deferred).collect();
    let features: Vec<Vec<u8>> =
        new.iter().map(|(event, ..)| write_features(&event.features)).collect();
    let raw: Vec<&[u8]> = new.iter().map(|(event, ..)| &event.raw[..]).collect();
    let added = execute(
        on,
        ADD,
        &[&lives, &slots, &numbers, &ids, &people, &times, &learnt, &active, &features, &raw],
    )
    .await?;
    debug_assert_eq!(added, new.len() as u64);
    Ok(())
}

/// Where events of these ids stand, erased ones included.
async fn places(
    on: &Transaction<'_>,
    ids: &BTreeSet<(LifeId, EventHash)>,
) -> Attempt<HashMap<(LifeId, EventHash), Place>> {
    let lives: Vec<i32> = ids.iter().map(|(life, _)| *life as i32).collect();
    let events: Vec<&[u8]> = ids.iter().map(|(_, event)| &event[..]).collect();
    let found = rows(
        on,
        "select life, event, slot, number from remembered join unnest($1::int4[], $2::bytea[]) as t (life, event) using (life, event)",
        &[&lives, &events],
    )
    .await?;
    let mut places = HashMap::new();
    for row in found {
        let place = Place { slot: unsigned(row.get(2)), number: unsigned(row.get(3)) };
        places.insert((row.get::<_, i32>(0) as LifeId, hash(row.get(1))?), place);
    }
    Ok(places)
}

/// Adds rewards to open events. One whose row was erased takes the reward as before, so that the answer does not show the erasure.
pub(super) async fn reward(
    on: &Transaction<'_>,
    key: i32,
    calls: &[Vec<NewReward>],
) -> Attempt<Answers<Outcome>> {
    let lives = calls.iter().flatten().map(|reward| reward.life).collect();
    let open = open(on, key, &lives).await?;
    let known = |reward: &NewReward| match open.contains_key(&reward.life) {
        true => Ok(()),
        false => Err(refusal::unknown_life(reward.life)),
    };
    let refused: Vec<Result<()>> =
        calls.iter().map(|call| call.iter().try_for_each(known)).collect();
    let sound = || {
        refused.iter().zip(calls).filter(|(refused, _)| refused.is_ok()).flat_map(|(_, call)| call)
    };
    let places = places(on, &sound().map(|reward| (reward.life, reward.event)).collect()).await?;
    let place = |reward: &NewReward| places.get(&(reward.life, reward.event)).copied();
    let outcome = |reward: &NewReward| match (place(reward), open.get(&reward.life)) {
        (Some(place), Some(life)) if place.slot > life.closed => Outcome::Taken,
        (Some(_), _) => Outcome::Late,
        (None, _) => Outcome::Unknown,
    };
    let mut events = locked(
        on,
        sound()
            .filter(|reward| outcome(reward) == Outcome::Taken)
            .filter_map(|reward| Some((reward.life, place(reward)?)))
            .collect(),
    )
    .await?;
    for reward in sound() {
        if let Some(place) = place(reward)
            && let Some((sum, keys)) = events.get_mut(&(reward.life, place))
        {
            add_reward(sum, keys, reward);
        }
    }
    write_rewards(on, &events).await?;
    let answers = refused.iter().zip(calls).map(|(refused, call)| match refused {
        Ok(()) => Ok(call.iter().map(outcome).collect()),
        Err(_) => call.iter().try_for_each(known).map(|()| Vec::new()),
    });
    Ok(answers.collect())
}

/// The sum of an event's rewards, and the hashes of the latest idempotency keys.
type Rewards = (Option<i64>, Vec<u64>);

/// Rewards of open events, locked until the transaction ends.
async fn locked(
    on: &Transaction<'_>,
    places: BTreeSet<(LifeId, Place)>,
) -> Attempt<BTreeMap<(LifeId, Place), Rewards>> {
    let mut events = BTreeMap::new();
    if places.is_empty() {
        return Ok(events);
    }
    let (lives, slots, numbers) = columns(places.iter());
    let found = rows(
        on,
        "select e.life, e.slot, e.number, e.reward, e.reward_keys \
         from events e join unnest($1::int4[], $2::int8[], $3::int8[]) as t (life, slot, number) using (life, slot, number) \
         order by e.life, e.slot, e.number for update of e",
        &[&lives, &slots, &numbers],
    )
    .await?;
    for row in found {
        let place = Place { slot: unsigned(row.get(1)), number: unsigned(row.get(2)) };
        events
            .insert((row.get::<_, i32>(0) as LifeId, place), (row.get(3), read_keys(row.get(4))?));
    }
    Ok(events)
}

async fn write_rewards(
    on: &Transaction<'_>,
    events: &BTreeMap<(LifeId, Place), Rewards>,
) -> Attempt<()> {
    if events.is_empty() {
        return Ok(());
    }
    let (lives, slots, numbers) = columns(events.keys());
    let rewards: Vec<Option<i64>> = events.values().map(|(sum, _)| *sum).collect();
    let keys: Vec<Vec<u8>> = events.values().map(|(_, keys)| write_keys(keys)).collect();
    execute(
        on,
        "update events e set reward = t.reward, reward_keys = t.reward_keys \
         from unnest($1::int4[], $2::int8[], $3::int8[], $4::int8[], $5::bytea[]) as t (life, slot, number, reward, reward_keys) \
         where (e.life, e.slot, e.number) = (t.life, t.slot, t.number)",
        &[&lives, &slots, &numbers, &rewards, &keys],
    )
    .await?;
    Ok(())
}

fn columns<'p>(
    places: impl Iterator<Item = &'p (LifeId, Place)>,
) -> (Vec<i32>, Vec<i64>, Vec<i64>) {
    let mut columns = (Vec::new(), Vec::new(), Vec::new());
    for (life, place) in places {
        columns.0.push(*life as i32);
        columns.1.push(place.slot as i64);
        columns.2.push(place.number as i64);
    }
    columns
}

/// Marks a deferred event as shown.
pub(super) async fn activate(
    on: &Transaction<'_>,
    key: i32,
    life: LifeId,
    event: EventHash,
) -> Attempt<Outcome> {
    let open = open(on, key, &BTreeSet::from([life])).await?;
    let closed = open.get(&life).ok_or_else(|| refusal::unknown_life(life))?.closed;
    let Some(place) =
        places(on, &BTreeSet::from([(life, event)])).await?.get(&(life, event)).copied()
    else {
        return Ok(Outcome::Unknown);
    };
    if place.slot <= closed {
        return Ok(Outcome::Late);
    }
    execute(
        on,
        "update events set active = true where life = $1 and slot = $2 and number = $3",
        &[&life_number(life)?, &signed("slot", place.slot)?, &signed("number", place.number)?],
    )
    .await?;
    Ok(Outcome::Taken)
}
