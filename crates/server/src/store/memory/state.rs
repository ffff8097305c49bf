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
    pub(in crate::store) generations: BTreeMap<GenerationId, Generation>,
    pub(in crate::store) heads: BTreeMap<GenerationId, Head>,
    pub(super) numbers: BTreeMap<GenerationId, u64>,
    pub(in crate::store) events: BTreeMap<(GenerationId, Place), StoredEvent>,
    pub(in crate::store) ids: BTreeMap<(GenerationId, EventHash), Remembered>,
    /// Number of events added to each slot.
    pub(super) added: BTreeMap<(GenerationId, u64), u64>,
    pub(in crate::store) ledger: BTreeMap<(GenerationId, u64, PersonHash), u32>,
    pub(super) releases: BTreeMap<(GenerationId, u64), ReleaseRecord>,
    pub(super) keys: BTreeMap<String, KeyRecord>,
    pub(in crate::store) settings: BTreeMap<String, Vec<u8>>,
    pub(super) erased: BTreeMap<PersonHash, Time>,
}

impl State {
    pub(super) fn head(&self, generation: GenerationId) -> Result<&Head> {
        self.heads.get(&generation).ok_or_else(|| unknown_generation(generation))
    }

    pub(super) fn head_mut(&mut self, generation: GenerationId) -> Result<&mut Head> {
        self.heads.get_mut(&generation).ok_or_else(|| unknown_generation(generation))
    }

    pub(super) fn events_between(
        &self,
        generation: GenerationId,
        after: Place,
        until: u64,
        limit: usize,
    ) -> Vec<(Place, StoredEvent)> {
        let of_generation = self
            .events
            .range((Bound::Excluded((generation, after)), Bound::Unbounded))
            .take_while(|((of, place), _)| *of == generation && place.slot <= until);
        of_generation.take(limit).map(|((_, place), event)| (*place, event.clone())).collect()
    }

    /// The generation that began the ledger of this one.
    pub(super) fn ledger_of(&self, generation: GenerationId) -> GenerationId {
        self.generations.get(&generation).map_or(generation, |generation| generation.ledger)
    }

    /// Grants a visit if the person has one left under all their hashes.
    pub(super) fn charge(&mut self, generation: GenerationId, charge: &Charge) -> bool {
        let generation = self.ledger_of(generation);
        let hashes = charge.earlier.iter().flatten().chain([&charge.person]);
        let counts = hashes.filter_map(|hash| self.ledger.get(&(generation, charge.period, *hash)));
        let granted = counts.map(|count| u64::from(*count)).sum::<u64>() < u64::from(charge.most);
        if granted {
            *self.ledger.entry((generation, charge.period, charge.person)).or_default() += 1;
        }
        granted
    }

    pub(super) fn insert_event(&mut self, mut new: NewEvent) -> Result<Ranked> {
        if let Some(known) = self.ids.get(&(new.generation, new.event)) {
            return Ok(Ranked::Repeated { request: known.request, answer: known.answer.clone() });
        }
        let slot = new.slot.max(self.head(new.generation)?.closed + 1);
        let ended = self
            .generations
            .get(&new.generation)
            .is_some_and(|generation| generation.ended.is_some());
        let learnt = match &new.payer {
            Payer::Decision => !ended,
            Payer::Person(charge) => !ended && self.charge(new.generation, charge),
            Payer::NotLearnt => false,
        };
        let number = self.numbers.entry(new.generation).or_default();
        *number += 1;
        let place = Place { slot, number: *number };
        *self.added.entry((new.generation, slot)).or_default() += 1;
        self.ids.insert(
            (new.generation, new.event),
            Remembered {
                place,
                person: new.person,
                request: new.request,
                answer: std::mem::take(&mut new.answer),
            },
        );
        self.events.insert((new.generation, place), new.stored(learnt));
        Ok(Ranked::Added { slot })
    }

    /// Changes an open event, if there is one of this id that was not erased. `change` says whether it did.
    pub(super) fn change(
        &mut self,
        generation: GenerationId,
        event: EventHash,
        change: impl FnOnce(&mut StoredEvent) -> bool,
    ) -> Result<Outcome> {
        let closed = self.head(generation)?.closed;
        let Some(known) = self.ids.get(&(generation, event)) else { return Ok(Outcome::Unknown) };
        if known.place.slot <= closed {
            return Ok(Outcome::Late);
        }
        let changed = self.events.get_mut(&(generation, known.place)).is_some_and(change);
        Ok(if changed { Outcome::Taken } else { Outcome::Unchanged })
    }

    pub(super) fn begin_generation(&mut self, mut new: NewGeneration) -> Result<Generation> {
        if new.closed == u64::MAX {
            return Err(last_slot(new.closed));
        }
        let present = self
            .generations
            .values()
            .find(|generation| generation.name == new.name && generation.ended.is_none())
            .cloned();
        if let Some(present) = &present
            && present.params_hash == new.params_hash
        {
            check_words(&present.params, &new.params)?;
            let present = Generation { params: new.params, ..present.clone() };
            self.generations.insert(present.id, present.clone());
            return Ok(present);
        }
        let id = self.generations.len() as GenerationId + 1;
        let ledger = new.ledger(id, present.as_ref());
        if let Some(mut present) = present {
            present.ended = Some(new.time);
            self.generations.insert(present.id, present);
        }
        let head = Head {
            number: 0,
            chain: Digest::default(),
            epoch: 0,
            closed: new.closed,
            folded: new.closed,
            state: std::mem::take(&mut new.state),
        };
        let generation = new.begun(id, ledger);
        self.heads.insert(id, head);
        self.generations.insert(id, generation.clone());
        Ok(generation)
    }

    pub(super) fn collect(&mut self, generation: GenerationId, what: Collect) -> Result<u64> {
        let head = self.head(generation)?;
        let last = if what.unreleased { head.closed } else { head.folded };
        let (slot, forget_ids) = (what.slot.min(last), what.forget_ids.min(head.closed));
        let rows: Vec<_> = self
            .events
            .iter()
            .filter(|((of, place), event)| {
                *of == generation && place.slot <= slot && event.time < what.before
            })
            .map(|(key, _)| *key)
            .take(what.limit)
            .collect();
        let mut ids: Vec<_> = self
            .ids
            .iter()
            .filter(|((of, _), known)| *of == generation && known.place.slot <= forget_ids)
            .map(|(key, known)| (known.place, *key))
            .collect();
        ids.sort_unstable();
        ids.truncate(what.limit);
        let releases: Vec<_> = self
            .releases
            .iter()
            .filter(|((of, number), record)| {
                *of == generation && *number < what.first_release && !record.release.is_empty()
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
