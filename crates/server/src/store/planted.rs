//! Stores with a mistake, which the contract's suite and a checker of histories must find. Each is the model with one transaction done wrong. Only tests and
//! builds with the feature `planted` have them.

use std::sync::atomic::{AtomicU8, Ordering};

use crate::{clock::Time, store::*};

/// A mistake of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mistake {
    /// Each event of a batch reads the count before the batch.
    LedgerWithoutAggregation,
    /// An event repeated by id is added again.
    EventTwice,
    /// Counts under earlier keys are not looked at.
    EarlierHashesIgnored,
    /// A reward is added again when it is repeated.
    RewardTwice,
    /// A repeated reward is said to be a new one.
    RepetitionHidden,
    /// An old releaser may release.
    EpochIgnored,
    /// A release may be replaced.
    NumberIgnored,
    /// Closing an earlier slot opens later ones.
    CloseReopens,
    /// Erasing a person gives them new visits.
    ErasureRefills,
    /// An erased person's requests stay remembered.
    ErasureKeepsRequests,
    /// An erased person's requests stay remembered where the event's own row was removed before.
    ErasureForgetsRowsOnly,
    /// A new generation begins with an empty ledger.
    LedgerBeginsAgain,
    /// A generation with the hash of one that has ended has the ledger that this one had of its own.
    LedgerOfItsOwnGeneration,
    /// The ledger of the present generation goes on, whichever generation the new one counts with.
    LedgerOfAnother,
    /// Parameters replace the present ones, whatever words these have.
    WordsOverwritten,
    /// Events are removed before they are in a release.
    CollectsUnreleased,
    /// A page of releases holds as many bytes as there are.
    PagesUnbounded,
    /// Part of a refused batch is added.
    BatchInParts,
    /// A floor goes down with a caller who asks for less.
    FloorLowered,
    /// Events below the floor are added.
    FloorIgnored,
}

/// Every mistake with the check that finds it.
#[cfg(test)]
pub(super) const MISTAKES: &[(Mistake, &str)] = &[
    (Mistake::LedgerWithoutAggregation, "a_person_is_learnt_from_at_most_k_times"),
    (Mistake::EventTwice, "an_event_repeated_by_id_is_one"),
    (Mistake::EarlierHashesIgnored, "hashes_under_earlier_keys_add_up"),
    (Mistake::RewardTwice, "a_reward_repeated_by_key_counts_once"),
    (Mistake::RepetitionHidden, "a_reward_repeated_by_key_counts_once"),
    (Mistake::EpochIgnored, "a_number_has_one_release"),
    (Mistake::NumberIgnored, "a_number_has_one_release"),
    (Mistake::CloseReopens, "a_closed_slot_stays_closed"),
    (Mistake::ErasureRefills, "an_erasure_leaves_the_budget"),
    (Mistake::ErasureKeepsRequests, "an_erasure_overwrites_requests_and_answers"),
    (Mistake::ErasureForgetsRowsOnly, "an_erasure_overwrites_requests_and_answers"),
    (Mistake::LedgerBeginsAgain, "visits_are_counted_over_generations"),
    (Mistake::LedgerOfItsOwnGeneration, "visits_are_counted_over_generations"),
    (Mistake::LedgerOfAnother, "visits_are_counted_over_generations"),
    (Mistake::WordsOverwritten, "appended_words_are_not_overwritten"),
    (Mistake::CollectsUnreleased, "only_what_is_released_is_collected"),
    (Mistake::PagesUnbounded, "a_page_of_releases_has_a_limit_of_bytes"),
    (Mistake::BatchInParts, "a_refused_transaction_changes_nothing"),
    (Mistake::FloorLowered, "nothing_is_added_below_a_floor_that_never_goes_down"),
    (Mistake::FloorIgnored, "nothing_is_added_below_a_floor_that_never_goes_down"),
];

/// The model with a mistake.
pub struct Planted {
    model: MemoryStore,
    mistake: Mistake,
    calls: AtomicU8,
}

impl Planted {
    /// An empty store that makes this mistake.
    pub fn new(mistake: Mistake) -> Self {
        Planted { model: MemoryStore::new([1; 16]), mistake, calls: AtomicU8::new(0) }
    }

    /// Changes the head of a generation behind the model's back.
    fn spoil(&self, generation: GenerationId, change: impl FnOnce(&mut Head)) {
        self.model.with(|state| state.heads.get_mut(&generation).map(change));
    }

    fn has(&self, mistake: Mistake) -> bool {
        self.mistake == mistake
    }
}

impl Store for Planted {
    fn insert_events(&self, mut events: Vec<NewEvent>) -> Pending<Vec<Ranked>> {
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        for (index, event) in events.iter_mut().enumerate() {
            if self.has(Mistake::EventTwice) {
                event.event[15] = event.event[15].wrapping_add(call).wrapping_add(index as u8);
            }
            if let Payer::Person(charge) = &mut event.payer {
                if self.has(Mistake::LedgerWithoutAggregation) {
                    charge.most += index as u32;
                }
                if self.has(Mistake::EarlierHashesIgnored) {
                    charge.earlier = [None; crate::store::MOST_EARLIER_KEYS];
                }
            }
        }
        if !self.has(Mistake::BatchInParts) {
            return self.model.insert_events(events);
        }
        let parts: Vec<_> =
            events.into_iter().map(|event| self.model.insert_events(vec![event])).collect();
        Box::pin(async move {
            let mut ranked = Vec::new();
            for part in parts {
                ranked.extend(part.await?);
            }
            Ok(ranked)
        })
    }

    fn insert_events_above(
        &self,
        floor: String,
        mut events: Vec<(u64, NewEvent)>,
    ) -> Pending<Vec<Option<Ranked>>> {
        if self.has(Mistake::FloorIgnored) {
            events.iter_mut().for_each(|(number, _)| *number = u64::MAX);
        }
        self.model.insert_events_above(floor, events)
    }

    fn raise_floor(&self, name: String, floor: u64) -> Pending<u64> {
        if self.has(Mistake::FloorLowered) {
            self.model.with(|state| state.settings.remove(&name));
        }
        self.model.raise_floor(name, floor)
    }

    fn reward(&self, mut rewards: Vec<NewReward>) -> Pending<Vec<Outcome>> {
        if self.has(Mistake::RewardTwice) {
            rewards.iter_mut().for_each(|reward| reward.key = None);
        }
        let outcomes = self.model.reward(rewards);
        if !self.has(Mistake::RepetitionHidden) {
            return outcomes;
        }
        let as_new = |outcome| match outcome {
            Outcome::Unchanged => Outcome::Taken,
            outcome => outcome,
        };
        Box::pin(async move { Ok(outcomes.await?.into_iter().map(as_new).collect()) })
    }

    fn close(&self, generation: GenerationId, slot: u64) -> Pending<()> {
        if self.has(Mistake::CloseReopens) {
            self.spoil(generation, |head| head.closed = slot.min(head.closed));
        }
        self.model.close(generation, slot)
    }

    fn release(&self, mut step: Step) -> Pending<Committed> {
        self.spoil(step.generation, |head| {
            if self.has(Mistake::EpochIgnored) {
                step.epoch = head.epoch;
            }
            if self.has(Mistake::NumberIgnored) && step.release.number == head.number {
                head.number = head.number.saturating_sub(1);
            }
        });
        self.model.release(step)
    }

    fn collect(&self, generation: GenerationId, what: Collect) -> Pending<u64> {
        if self.has(Mistake::CollectsUnreleased) {
            self.spoil(generation, |head| head.folded = head.closed);
        }
        self.model.collect(generation, what)
    }

    fn erase(&self, persons: Vec<PersonHash>, time: Time) -> Pending<Erased> {
        if self.has(Mistake::ErasureRefills) {
            self.model
                .with(|state| state.ledger.retain(|(_, _, person), _| !persons.contains(person)));
        }
        self.model.with(|state| {
            let rows = &state.events;
            for ((generation, _), known) in &mut state.ids {
                let kept = !rows.contains_key(&(*generation, known.place));
                if self.has(Mistake::ErasureKeepsRequests)
                    || (self.has(Mistake::ErasureForgetsRowsOnly) && kept)
                {
                    known.person = None;
                }
            }
        });
        self.model.erase(persons, time)
    }

    fn begin_generation(&self, mut generation: NewGeneration) -> Pending<Generation> {
        let present = |generation: &Generation, name: &str| {
            generation.name == name && generation.ended.is_none()
        };
        self.model.with(|state| {
            let mut generations = state.generations.values_mut();
            if self.has(Mistake::WordsOverwritten)
                && let Some(found) = generations.find(|one| present(one, &generation.name))
            {
                found.params.clone_from(&generation.params);
            }
            let generations = &state.generations;
            if self.has(Mistake::LedgerBeginsAgain) {
                generation.counts_with = None;
            }
            if self.has(Mistake::LedgerOfItsOwnGeneration)
                && generations.values().any(|ended| ended.params_hash == generation.params_hash)
            {
                generation.counts_with = None;
            }
            if self.has(Mistake::LedgerOfAnother) {
                let found = generations.values().find(|one| present(one, &generation.name));
                generation.counts_with = generation.counts_with.and(found.map(|found| found.id));
            }
        });
        self.model.begin_generation(generation)
    }

    fn id(&self) -> StoreId {
        self.model.id()
    }
    fn activate(&self, generation: GenerationId, event: EventHash) -> Pending<Outcome> {
        self.model.activate(generation, event)
    }
    fn closed_events(
        &self,
        generation: GenerationId,
        after: Place,
        until: u64,
        limit: usize,
    ) -> Pending<Vec<(Place, StoredEvent)>> {
        self.model.closed_events(generation, after, until, limit)
    }
    fn head(&self, generation: GenerationId) -> Pending<Head> {
        self.model.head(generation)
    }
    fn take_epoch(&self, generation: GenerationId) -> Pending<u64> {
        self.model.take_epoch(generation)
    }
    fn replace_state(&self, generation: GenerationId, replacement: Replacement) -> Pending<()> {
        self.model.replace_state(generation, replacement)
    }
    fn release_page(
        &self,
        generation: GenerationId,
        from: u64,
        limit: usize,
        bytes: usize,
    ) -> Pending<Vec<ReleaseRecord>> {
        let bytes = if self.mistake == Mistake::PagesUnbounded { usize::MAX } else { bytes };
        self.model.release_page(generation, from, limit, bytes)
    }
    fn kept_events(
        &self,
        generation: GenerationId,
        after: Place,
        limit: usize,
    ) -> Pending<Vec<(Place, StoredEvent)>> {
        self.model.kept_events(generation, after, limit)
    }
    fn erased(&self) -> Pending<Vec<PersonHash>> {
        self.model.erased()
    }
    fn ledger(&self, generation: GenerationId, period: u64, most: u32) -> Pending<LedgerCount> {
        self.model.ledger(generation, period, most)
    }
    fn generations(&self) -> Pending<Vec<Generation>> {
        self.model.generations()
    }
    fn backup(&self, path: std::path::PathBuf) -> Pending<()> {
        self.model.backup(path)
    }
    fn add_key(&self, key: KeyRecord) -> Pending<()> {
        self.model.add_key(key)
    }
    fn keys(&self) -> Pending<Vec<KeyRecord>> {
        self.model.keys()
    }
    fn revoke_key(&self, id: String, time: Time) -> Pending<bool> {
        self.model.revoke_key(id, time)
    }
    fn setting(&self, name: String) -> Pending<Option<Vec<u8>>> {
        self.model.setting(name)
    }
    fn keep_setting(&self, name: String, value: Vec<u8>) -> Pending<Vec<u8>> {
        self.model.keep_setting(name, value)
    }
    fn open_events(&self, generation: GenerationId) -> Pending<Vec<(u64, u64)>> {
        self.model.open_events(generation)
    }
}
