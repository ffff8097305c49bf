//! Everything that the model keeps, and what its transactions do to it.

use std::{collections::BTreeMap, ops::Bound};

use crate::{
    Result,
    clock::Time,
    store::{refusal::*, *},
};

/// An event id that is remembered, with the answer that was given.
#[derive(Clone)]
pub(in crate::store) struct Remembered {
    pub(in crate::store) place: Place,
    pub(in crate::store) person: Option<PersonHash>,
    pub(super) request: Digest,
    pub(super) answer: Vec<u8>,
}

/// Everything that is kept.
#[derive(Clone, Default)]
pub(in crate::store) struct State {
    pub(in crate::store) lives: BTreeMap<LifeId, Life>,
    pub(in crate::store) heads: BTreeMap<LifeId, Head>,
    pub(super) numbers: BTreeMap<LifeId, u64>,
    pub(in crate::store) events: BTreeMap<(LifeId, Place), StoredEvent>,
    pub(in crate::store) ids: BTreeMap<(LifeId, EventHash), Remembered>,
    /// Number of events added to each slot.
    pub(super) added: BTreeMap<(LifeId, u64), u64>,
    pub(in crate::store) ledger: BTreeMap<(LifeId, u64, PersonHash), u32>,
    pub(super) releases: BTreeMap<(LifeId, u64), ReleaseRecord>,
    pub(super) keys: BTreeMap<String, KeyRecord>,
    pub(in crate::store) settings: BTreeMap<String, Vec<u8>>,
    pub(super) erased: BTreeMap<PersonHash, Time>,
}

impl State {
    pub(super) fn head(&self, life: LifeId) -> Result<&Head> {
        self.heads.get(&life).ok_or_else(|| unknown_life(life))
    }

    pub(super) fn head_mut(&mut self, life: LifeId) -> Result<&mut Head> {
        self.heads.get_mut(&life).ok_or_else(|| unknown_life(life))
    }

    pub(super) fn events_between(
        &self,
        life: LifeId,
        after: Place,
        until: u64,
        limit: usize,
    ) -> Vec<(Place, StoredEvent)> {
        let of_life = self
            .events
            .range((Bound::Excluded((life, after)), Bound::Unbounded))
            .take_while(|((of, place), _)| *of == life && place.slot <= until);
        of_life.take(limit).map(|((_, place), event)| (*place, event.clone())).collect()
    }

    /// The generation that began the ledger of this one.
    pub(super) fn ledger_of(&self, life: LifeId) -> LifeId {
        self.lives.get(&life).map_or(life, |life| life.ledger)
    }

    /// Grants a visit if the person has one left under all their hashes.
    pub(super) fn charge(&mut self, life: LifeId, charge: &Charge) -> bool {
        let life = self.ledger_of(life);
        let hashes = charge.earlier.iter().flatten().chain([&charge.person]);
        let counts = hashes.filter_map(|hash| self.ledger.get(&(life, charge.period, *hash)));
        let granted = counts.map(|count| u64::from(*count)).sum::<u64>() < u64::from(charge.most);
        if granted {
            *self.ledger.entry((life, charge.period, charge.person)).or_default() += 1;
        }
        granted
    }

    pub(super) fn insert_event(&mut self, new: NewEvent) -> Result<Ranked> {
        if let Some(known) = self.ids.get(&(new.life, new.event)) {
            return Ok(Ranked::Repeated { request: known.request, answer: known.answer.clone() });
        }
        let slot = new.slot.max(self.head(new.life)?.closed + 1);
        let ended = self.lives.get(&new.life).is_some_and(|life| life.ended.is_some());
        let learnt = match &new.payer {
            Payer::Decision => !ended,
            Payer::Person(charge) => !ended && self.charge(new.life, charge),
            Payer::NotLearnt => false,
        };
        let number = self.numbers.entry(new.life).or_default();
        *number += 1;
        let place = Place { slot, number: *number };
        *self.added.entry((new.life, slot)).or_default() += 1;
        self.ids.insert(
            (new.life, new.event),
            Remembered { place, person: new.person, request: new.request, answer: new.answer },
        );
        let event = StoredEvent {
            event: new.event,
            person: new.person,
            time: new.time,
            learnt,
            active: !new.deferred,
            reward: None,
            reward_keys: Vec::new(),
            features: new.features,
            raw: new.raw,
        };
        self.events.insert((new.life, place), event);
        Ok(Ranked::Added { slot })
    }

    /// Changes an open event, if there is one of this id that was not erased. `change` says whether it did.
    pub(super) fn change(
        &mut self,
        life: LifeId,
        event: EventHash,
        change: impl FnOnce(&mut StoredEvent) -> bool,
    ) -> Result<Outcome> {
        let closed = self.head(life)?.closed;
        let Some(known) = self.ids.get(&(life, event)) else { return Ok(Outcome::Unknown) };
        if known.place.slot <= closed {
            return Ok(Outcome::Late);
        }
        let changed = self.events.get_mut(&(life, known.place)).is_some_and(change);
        Ok(if changed { Outcome::Taken } else { Outcome::Unchanged })
    }

    pub(super) fn begin_life(&mut self, new: NewLife) -> Result<Life> {
        if new.closed == u64::MAX {
            return Err(last_slot(new.closed));
        }
        let present =
            self.lives.values().find(|life| life.name == new.name && life.ended.is_none()).cloned();
        if let Some(present) = &present
            && present.generation == new.generation
        {
            let present = Life { params: new.params, ..present.clone() };
            self.lives.insert(present.id, present.clone());
            return Ok(present);
        }
        let id = self.lives.len() as LifeId + 1;
        let ledger = new.ledger(id, present.as_ref());
        if let Some(mut present) = present {
            present.ended = Some(new.time);
            self.lives.insert(present.id, present);
        }
        let life = Life {
            id,
            name: new.name,
            generation: new.generation,
            params: new.params,
            event: new.event,
            began: new.time,
            ended: None,
            ledger,
        };
        let head = Head {
            number: 0,
            chain: Digest::default(),
            epoch: 0,
            closed: new.closed,
            folded: new.closed,
            state: new.state,
        };
        self.heads.insert(id, head);
        self.lives.insert(id, life.clone());
        Ok(life)
    }

    pub(super) fn collect(&mut self, life: LifeId, what: Collect) -> Result<u64> {
        let head = self.head(life)?;
        let last = if what.unreleased { head.closed } else { head.folded };
        let (slot, forget_ids) = (what.slot.min(last), what.forget_ids.min(head.closed));
        let rows: Vec<_> = self
            .events
            .iter()
            .filter(|((of, place), event)| {
                *of == life && place.slot <= slot && event.time < what.before
            })
            .map(|(key, _)| *key)
            .take(what.limit)
            .collect();
        let mut ids: Vec<_> = self
            .ids
            .iter()
            .filter(|((of, _), known)| *of == life && known.place.slot <= forget_ids)
            .map(|(key, known)| (known.place, *key))
            .collect();
        ids.sort_unstable();
        ids.truncate(what.limit);
        let releases: Vec<_> = self
            .releases
            .iter()
            .filter(|((of, number), record)| {
                *of == life && *number < what.first_release && !record.release.is_empty()
            })
            .map(|(key, _)| *key)
            .take(what.limit.min(MOST_COMPACTED))
            .collect();
        for key in &rows {
            self.events.remove(key);
        }
        for (_, key) in &ids {
            self.ids.remove(key);
        }
        for key in &releases {
            self.releases.entry(*key).and_modify(|record| record.release.clear());
        }
        Ok((rows.len() + ids.len() + releases.len()) as u64)
    }
}
