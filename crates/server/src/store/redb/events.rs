//! Operations on events: rank, reward, activate. Each plans everything first and then writes it.

use std::collections::{BTreeMap, btree_map::Entry};

use super::{
    tables::{
        HeadRow, JournalEntry, LedgerKey, OpenRow, Remembered, SettingRow, get, place_key, put,
    },
    writer::{Attempt, Group},
};
use crate::store::{
    Charge, Digest, EventHash, GenerationId, NewEvent, NewReward, Outcome, Payer, Place, Ranked,
    StoredEvent, refusal,
};

/// Changes that a batch of events will make.
#[derive(Default)]
struct Plan {
    heads: BTreeMap<GenerationId, HeadRow>,
    /// The generations that began the ledgers of these.
    ledgers: BTreeMap<GenerationId, GenerationId>,
    /// Visits of every person in the batch, with those that it grants: one condition and one write a person, in the order of their hashes.
    counts: BTreeMap<LedgerKey, u32>,
    /// Events that are added to each slot.
    slots: BTreeMap<(GenerationId, u64), u64>,
    /// Index in `events` of each id of this batch.
    ids: BTreeMap<(GenerationId, EventHash), usize>,
    events: Vec<(JournalEntry, StoredEvent, Remembered)>,
}

/// Adds events, each with its charge.
pub(super) fn insert_events(group: &mut Group<'_>, events: Vec<NewEvent>) -> Attempt<Vec<Ranked>> {
    let mut plan = Plan::default();
    let mut ranked = Vec::with_capacity(events.len());
    for event in events {
        if let Entry::Vacant(head) = plan.heads.entry(event.generation) {
            head.insert(group.tables.head(event.generation)?);
            plan.ledgers.insert(event.generation, group.tables.ledger_of(event.generation)?);
        }
        ranked.push(match repeated(group, &plan, event.generation, &event.event)? {
            Some((request, answer)) => Ranked::Repeated { request, answer },
            None => Ranked::Added { slot: plan.add(group, event)? },
        });
    }
    plan.write(group)?;
    Ok(ranked)
}

/// The same for events with a number, unless it is below the floor.
pub(super) fn insert_events_above(
    group: &mut Group<'_>,
    name: &str,
    events: Vec<(u64, NewEvent)>,
) -> Attempt<Vec<Option<Ranked>>> {
    let floor = floor(group, name)?;
    // Those that are not added are refused for their generation too.
    for (_, event) in &events {
        group.tables.head(event.generation)?;
    }
    let above: Vec<bool> = events.iter().map(|(number, _)| *number >= floor).collect();
    let events = events.into_iter().filter(|(number, _)| *number >= floor);
    let mut ranked = insert_events(group, events.map(|(_, event)| event).collect())?.into_iter();
    let answer = |above: bool| if above { ranked.next() } else { None };
    Ok(above.into_iter().map(answer).collect())
}

/// Value of a floor.
pub(super) fn floor(group: &Group<'_>, name: &str) -> Attempt<u64> {
    let setting: Option<SettingRow> = get(&group.tables.settings, name)?;
    Ok(refusal::floor_of(setting.as_ref().map(|SettingRow(value)| value.as_slice()))?)
}

/// Moves a floor up.
pub(super) fn put_floor(group: &mut Group<'_>, name: &str, floor: u64) -> Attempt<()> {
    put(&mut group.tables.settings, name, &SettingRow(floor.to_le_bytes().to_vec()))
}

/// The request and the answer of an event that was added before, or earlier in the batch.
fn repeated(
    group: &Group<'_>,
    plan: &Plan,
    generation: GenerationId,
    event: &EventHash,
) -> Attempt<Option<(Digest, Vec<u8>)>> {
    if let Some((_, _, known)) =
        plan.ids.get(&(generation, *event)).and_then(|index| plan.events.get(*index))
    {
        return Ok(Some((known.request, known.answer.clone())));
    }
    let Some(place) = group.behind.place(&group.tables.ids, generation, event)? else {
        return Ok(None);
    };
    let known: Option<Remembered> = get(&group.tables.remembered, place_key(generation, place))?;
    Ok(known.map(|known| (known.request, known.answer)))
}

impl Plan {
    /// Plans an event, and returns its slot.
    fn add(&mut self, group: &Group<'_>, mut new: NewEvent) -> Attempt<u64> {
        let generation = new.generation;
        let head = self
            .heads
            .get_mut(&generation)
            .ok_or_else(|| refusal::unknown_generation(generation))?;
        let first_open = head.closed.checked_add(1).ok_or_else(|| refusal::exhausted("slot"))?;
        head.events = head.events.checked_add(1).ok_or_else(|| refusal::exhausted("event"))?;
        let place = Place { slot: new.slot.max(first_open), number: head.events };
        let ended = head.ended;
        let charged = match &new.payer {
            Payer::Person(charge) if !ended => self.charge(group, generation, charge)?,
            _ => None,
        };
        let learnt = match &new.payer {
            Payer::Decision => !ended,
            Payer::Person(_) => charged.is_some(),
            Payer::NotLearnt => false,
        };
        let remembered = Remembered {
            event: new.event,
            person: new.person,
            request: new.request,
            answer: std::mem::take(&mut new.answer),
        };
        *self.slots.entry((generation, place.slot)).or_default() += 1;
        self.ids.insert((generation, new.event), self.events.len());
        let entry = JournalEntry { generation, event: new.event, place, charge: charged };
        self.events.push((entry, new.stored(learnt), remembered));
        Ok(place.slot)
    }

    /// The row of a person and their visits with this one, if they have one left under all their hashes.
    fn charge(
        &mut self,
        group: &Group<'_>,
        generation: GenerationId,
        charge: &Charge,
    ) -> Attempt<Option<(LedgerKey, u32)>> {
        let ledger = self.ledgers.get(&generation).copied().unwrap_or(generation);
        let mut used: u64 = 0;
        for hash in charge.earlier.iter().flatten() {
            used += u64::from(self.count(group, (ledger, charge.period, *hash))?);
        }
        let key = (ledger, charge.period, charge.person);
        let count = self.count(group, key)?;
        if used + u64::from(count) >= u64::from(charge.most) {
            return Ok(None);
        }
        // Below `most`, which is a u32.
        let count = count.saturating_add(1);
        self.counts.insert(key, count);
        Ok(Some((key, count)))
    }

    fn count(&self, group: &Group<'_>, key: LedgerKey) -> Attempt<u32> {
        match self.counts.get(&key) {
            Some(count) => Ok(*count),
            None => group.behind.count(&group.tables.ledger, key),
        }
    }

    fn write(self, group: &mut Group<'_>) -> Attempt<()> {
        let mut open = Vec::with_capacity(self.slots.len());
        for (slot, added) in self.slots {
            let OpenRow(before) = group.tables.open.get(slot)?.unwrap_or(OpenRow(0));
            open.push((slot, OpenRow(before.saturating_add(added))));
        }
        for (slot, row) in open {
            group.tables.open.put(slot, row);
        }
        for (generation, head) in self.heads {
            group.tables.heads.put(generation, head);
        }
        for (entry, event, remembered) in self.events {
            let key = place_key(entry.generation, entry.place);
            put(&mut group.tables.events, key, &event)?;
            put(&mut group.tables.remembered, key, &remembered)?;
            group.behind.add(&entry);
            group.added.push(entry);
        }
        Ok(())
    }
}

/// Target of a change.
enum Target {
    /// Nothing: the outcome is known.
    None(Outcome),
    /// An open event.
    Open(Place),
}

fn target(group: &mut Group<'_>, generation: GenerationId, event: &EventHash) -> Attempt<Target> {
    let closed = group.tables.head(generation)?.closed;
    let Some(place) = group.behind.place(&group.tables.ids, generation, event)? else {
        return Ok(Target::None(Outcome::Unknown));
    };
    Ok(if place.slot <= closed { Target::None(Outcome::Late) } else { Target::Open(place) })
}

/// Adds rewards to open events. One whose row was erased takes the reward as before, so that the answer does not show the erasure.
pub(super) fn reward(group: &mut Group<'_>, rewards: Vec<NewReward>) -> Attempt<Vec<Outcome>> {
    let mut outcomes = Vec::with_capacity(rewards.len());
    let mut changed = BTreeMap::<(GenerationId, Place), StoredEvent>::new();
    for new in rewards {
        let place = match target(group, new.generation, &new.event)? {
            Target::None(outcome) => {
                outcomes.push(outcome);
                continue;
            }
            Target::Open(place) => place,
        };
        let key = (new.generation, place);
        let event = match changed.remove(&key) {
            Some(event) => Some(event),
            None => get(&group.tables.events, place_key(new.generation, place))?,
        };
        let Some(mut event) = event else {
            outcomes.push(Outcome::Unchanged);
            continue;
        };
        outcomes.push(new.add_to(&mut event.reward, &mut event.reward_keys));
        // Written in any case, so that a repetition takes as long.
        changed.insert(key, event);
    }
    for ((generation, place), event) in changed {
        put(&mut group.tables.events, place_key(generation, place), &event)?;
    }
    Ok(outcomes)
}

/// Marks a deferred event as shown.
pub(super) fn activate(
    group: &mut Group<'_>,
    generation: GenerationId,
    event: &EventHash,
) -> Attempt<Outcome> {
    let place = match target(group, generation, event)? {
        Target::None(outcome) => return Ok(outcome),
        Target::Open(place) => place,
    };
    let key = place_key(generation, place);
    let Some(mut event) = get::<_, StoredEvent>(&group.tables.events, key)? else {
        return Ok(Outcome::Unchanged);
    };
    let before = std::mem::replace(&mut event.active, true);
    put(&mut group.tables.events, key, &event)?;
    Ok(if before { Outcome::Unchanged } else { Outcome::Taken })
}
