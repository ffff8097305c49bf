//! Operations on events: rank, reward, activate.
//!
//! Each takes the lock of its generations in shared mode, in a statement of its own, and then reads which slots are closed: `close` takes the lock alone, so
//! that no slot closes while an event is on its way into it, however slow its process is.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use deadpool_postgres::Transaction;

use super::{
    groups::{Answers, Call},
    ledger,
    locks::{check_store, lock_shared},
    number::{generation_number, hash, signed, unsigned, write_features},
    settings,
    transaction::{Attempt, Failure, execute, rows},
};
use crate::{
    Result,
    store::{Charge, EventHash, GenerationId, NewEvent, Payer, Ranked, refusal},
};

/// State of a generation while its lock is held.
#[derive(Clone, Copy)]
pub(super) struct Open {
    pub(super) closed: u64,
    /// The generation that began its ledger.
    ledger: GenerationId,
    ended: bool,
    /// True if people may be charged by this process.
    charges: bool,
}

/// Locks generations and reads where they stand. No person is charged where there is a setting with the name of the fence.
pub(super) async fn open(
    on: &Transaction<'_>,
    key: i32,
    fence: Option<&str>,
    generations: &BTreeSet<GenerationId>,
) -> Attempt<BTreeMap<GenerationId, Open>> {
    let generations: Vec<i32> =
        generations.iter().filter_map(|generation| generation_number(*generation).ok()).collect();
    lock_shared(on, key, &generations).await?;
    let found = rows(
        on,
        "select h.life, h.closed, l.ended is not null, s.retired, exists (select from settings where name = $2), s.id, \
         coalesce(l.ledger, l.id) from heads h join lives l on l.id = h.life cross join store s where h.life = any($1)",
        &[&generations, &fence],
    )
    .await?;
    let mut open = BTreeMap::new();
    for row in found {
        check_store(key, row.get(3), row.get(5))?;
        let generation = row.get::<_, i32>(0) as GenerationId;
        let (closed, ended, fenced): (i64, bool, bool) = (row.get(1), row.get(2), row.get(4));
        let ledger = row.get::<_, i32>(6) as GenerationId;
        let closed = unsigned(closed);
        open.insert(generation, Open { closed, ledger, ended, charges: !ended && !fenced });
    }
    Ok(open)
}

/// Events to be added, each with a number that must not be below the floor, if there is one.
pub(super) struct NewEvents {
    pub(super) floor: Option<String>,
    pub(super) events: Vec<(u64, NewEvent)>,
}

impl Call for NewEvents {
    type Answer = Vec<Option<Ranked>>;

    fn records(&self) -> usize {
        self.events.len()
    }
}

/// Events of all calls in their order, the first of each id; calls that are refused have none.
#[derive(Default)]
struct Fresh<'e> {
    /// Each with its slot.
    events: Vec<(&'e NewEvent, u64)>,
    ids: HashMap<(GenerationId, EventHash), usize>,
}

const REMEMBER: &str = "
with given as materialized (
    select nextval('event_numbers') as number, life, event, slot, person, request, answer
    from unnest($1::int4[], $2::bytea[], $3::int8[], $4::bytea[], $5::bytea[], $6::bytea[]) as t (life, event, slot, person, request, answer)
)
insert into remembered (life, event, slot, number, person, request, answer)
select life, event, slot, number, person, request, answer from given order by life, event
on conflict (life, event) do nothing
returning life, event, number";

const ADD: &str = "
insert into events (life, slot, number, event, person, time, learnt, active, reward, reward_keys, features, raw)
select life, slot, number, event, person, time, learnt, active, null, ''::bytea, features, raw
from unnest($1::int4[], $2::int8[], $3::int8[], $4::bytea[], $5::bytea[], $6::int8[], $7::boolean[], $8::boolean[], $9::bytea[], $10::bytea[])
    as t (life, slot, number, event, person, time, learnt, active, features, raw)";

/// Adds events, each with its charge. The first to add an id has its answer; others wait for the commit and get that answer.
pub(super) async fn insert_events(
    on: &Transaction<'_>,
    key: i32,
    fence: Option<&str>,
    calls: &[NewEvents],
) -> Attempt<Answers<NewEvents>> {
    let floors = settings::floors(on, key, calls.iter().flat_map(|call| &call.floor)).await?;
    let generations =
        calls.iter().flat_map(|call| &call.events).map(|(_, event)| event.generation).collect();
    let open = open(on, key, fence, &generations).await?;
    let mut fresh = Fresh::default();
    // The floor of each call, or why it is refused.
    let begun: Vec<Result<u64>> = calls
        .iter()
        .map(|call| {
            let kept = call.floor.as_ref().and_then(|name| floors.get(name));
            let floor = refusal::floor_of(kept.map(Vec::as_slice))?;
            call.events.iter().try_for_each(|(_, event)| check(event, &open))?;
            let above = call.events.iter().filter(|(number, _)| *number >= floor);
            above.for_each(|(_, event)| fresh.add(event, &open));
            Ok(floor)
        })
        .collect();
    let numbers = remember(on, &fresh.events).await?;
    let known = answers_of_others(on, &fresh, &numbers).await?;
    add(on, &fresh, &numbers, &open).await?;
    let mut answered = vec![false; fresh.events.len()];
    let mut answer = |event: &NewEvent| {
        let index = fresh.ids[&(event.generation, event.event)];
        let (first, slot) = fresh.events[index];
        match known.get(&index) {
            Some(known) => known.clone(),
            None if !std::mem::replace(&mut answered[index], true) => Ranked::Added { slot },
            None => Ranked::Repeated { request: first.request, answer: first.answer.clone() },
        }
    };
    let answers = begun.into_iter().zip(calls).map(|(floor, call)| {
        let floor = floor?;
        let answer = |(number, event): &(u64, NewEvent)| (*number >= floor).then(|| answer(event));
        Ok(call.events.iter().map(answer).collect())
    });
    Ok(answers.collect())
}

/// Refuses what cannot be stored.
fn check(event: &NewEvent, open: &BTreeMap<GenerationId, Open>) -> Result<()> {
    open.get(&event.generation).ok_or_else(|| refusal::unknown_generation(event.generation))?;
    signed("slot", event.slot)?;
    signed("time", event.time)?;
    if let Payer::Person(charge) = &event.payer {
        signed("period", charge.period)?;
    }
    Ok(())
}

impl<'e> Fresh<'e> {
    fn add(&mut self, event: &'e NewEvent, open: &BTreeMap<GenerationId, Open>) {
        let first_open = open.get(&event.generation).map_or(0, |generation| generation.closed + 1);
        let next = self.events.len();
        if *self.ids.entry((event.generation, event.event)).or_insert(next) == next {
            self.events.push((event, event.slot.max(first_open)));
        }
    }
}

/// Writes ids that are new, and returns the numbers of their events by where they stand. They are written in one order by every process, so that those who
/// meet wait for each other and not in a circle.
async fn remember(
    on: &Transaction<'_>,
    events: &[(&NewEvent, u64)],
) -> Attempt<BTreeMap<usize, i64>> {
    if events.is_empty() {
        return Ok(BTreeMap::new());
    }
    let mut generations = Vec::new();
    let mut slots = Vec::new();
    for (event, slot) in events {
        generations.push(generation_number(event.generation)?);
        slots.push(signed("slot", *slot)?);
    }
    let ids: Vec<&[u8]> = events.iter().map(|(event, _)| &event.event[..]).collect();
    let people: Vec<Option<&[u8]>> =
        events.iter().map(|(event, _)| event.person.as_ref().map(|hash| &hash[..])).collect();
    let requests: Vec<&[u8]> = events.iter().map(|(event, _)| &event.request[..]).collect();
    let answers: Vec<&[u8]> = events.iter().map(|(event, _)| &event.answer[..]).collect();
    let written =
        rows(on, REMEMBER, &[&generations, &ids, &slots, &people, &requests, &answers]).await?;
    let written: HashMap<(i32, &[u8]), i64> =
        written.iter().map(|row| ((row.get(0), row.get(1)), row.get(2))).collect();
    let number = |index: usize| written.get(&(generations[index], ids[index])).copied();
    Ok((0..events.len()).filter_map(|index| Some((index, number(index)?))).collect())
}

/// Answers under ids that are not new.
async fn answers_of_others(
    on: &Transaction<'_>,
    fresh: &Fresh<'_>,
    numbers: &BTreeMap<usize, i64>,
) -> Attempt<HashMap<usize, Ranked>> {
    let is_known = |(index, _): &(usize, _)| !numbers.contains_key(index);
    let others: Vec<&NewEvent> =
        fresh.events.iter().enumerate().filter(is_known).map(|(_, (event, _))| *event).collect();
    if others.is_empty() {
        return Ok(HashMap::new());
    }
    let generations: Vec<i32> = others.iter().map(|event| event.generation as i32).collect();
    let ids: Vec<&[u8]> = others.iter().map(|event| &event.event[..]).collect();
    let found = rows(
        on,
        "select life, event, request, answer from remembered join unnest($1::int4[], $2::bytea[]) as t (life, event) using (life, event)",
        &[&generations, &ids],
    )
    .await?;
    if found.len() != others.len() {
        // One was forgotten in between: it is new now.
        return Err(Failure::Changed);
    }
    let mut known = HashMap::new();
    for row in found {
        let id: (GenerationId, EventHash) =
            (row.get::<_, i32>(0) as GenerationId, hash(row.get(1))?);
        let answer = Ranked::Repeated { request: hash(row.get(2))?, answer: row.get(3) };
        known.extend(fresh.ids.get(&id).map(|index| (*index, answer)));
    }
    Ok(known)
}

/// Charges the events that are new, and writes them.
async fn add(
    on: &Transaction<'_>,
    fresh: &Fresh<'_>,
    numbers: &BTreeMap<usize, i64>,
    open: &BTreeMap<GenerationId, Open>,
) -> Attempt<()> {
    if numbers.is_empty() {
        return Ok(());
    }
    let ended =
        |generation: GenerationId| open.get(&generation).is_none_or(|generation| generation.ended);
    // The ledger of a generation whose people may be charged.
    let charged_in = |generation| {
        open.get(&generation)
            .filter(|generation| generation.charges)
            .map(|generation| generation.ledger)
    };
    let new: Vec<(&NewEvent, u64, i64)> = numbers
        .iter()
        .map(|(index, number)| (fresh.events[*index].0, fresh.events[*index].1, *number))
        .collect();
    let charged: Vec<(GenerationId, Charge)> = new
        .iter()
        .filter_map(|(event, ..)| match &event.payer {
            Payer::Person(charge) => Some((charged_in(event.generation)?, *charge)),
            _ => None,
        })
        .collect();
    let mut granted = ledger::charge(on, &charged).await?.into_iter();
    let learnt: Vec<bool> = new
        .iter()
        .map(|(event, ..)| match &event.payer {
            Payer::Decision => !ended(event.generation),
            Payer::Person(_) => {
                charged_in(event.generation).is_some() && granted.next().unwrap_or(false)
            }
            Payer::NotLearnt => false,
        })
        .collect();
    let generations: Vec<i32> = new.iter().map(|(event, ..)| event.generation as i32).collect();
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
    execute(
        on,
        ADD,
        &[&generations, &slots, &numbers, &ids, &people, &times, &learnt, &active, &features, &raw],
    )
    .await?;
    Ok(())
}
