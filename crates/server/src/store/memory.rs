//! The model: a store in memory, a few lines of plain Rust that every other store is compared with.
//!
//! It keeps what the trait says and nothing that makes it fast, but for one count that spares the simulation a walk over all events at every tick. Tests may let a transaction fail: before it, or after it, when everything has
//! happened and only the answer is lost.

mod state;

use std::sync::{Arc, Mutex, PoisonError};

use self::state::State;
use super::{fault::FaultAfter, refusal::*, *};
use crate::Error;

/// A store in memory.
#[derive(Default)]
pub struct MemoryStore {
    id: StoreId,
    shared: Arc<Mutex<Shared>>,
}

#[derive(Default)]
struct Shared {
    state: State,
    fault: FaultAfter,
}

impl MemoryStore {
    /// An empty store with this identity.
    pub fn new(id: StoreId) -> Self {
        MemoryStore { id, ..Self::default() }
    }

    /// Lets the next transaction that writes fail.
    pub fn fail_next(&self, fault: Fault) {
        self.fail_after(0, fault);
    }

    /// Lets a transaction that writes fail after a number of others.
    pub fn fail_after(&self, others: u64, fault: Fault) {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        shared.fault = FaultAfter::new(others, fault);
    }

    /// True if a failure is still to come.
    pub fn will_fail(&self) -> bool {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner).fault.is_to_come()
    }

    /// Everything that is kept, to look at it or to break it in a test.
    #[cfg(any(test, feature = "planted"))]
    pub(super) fn with<T>(&self, look: impl FnOnce(&mut State) -> T) -> T {
        look(&mut self.shared.lock().unwrap_or_else(PoisonError::into_inner).state)
    }

    /// A copy that goes its own way from here.
    pub fn copy(&self) -> Self {
        let state = self.shared.lock().unwrap_or_else(PoisonError::into_inner).state.clone();
        let shared = Shared { state, ..Shared::default() };
        MemoryStore { id: self.id, shared: Arc::new(Mutex::new(shared)) }
    }

    /// Every operation checks before it changes anything, so that one that is refused has done nothing.
    fn write<T: Send + 'static>(
        &self,
        operation: impl FnOnce(&mut State) -> Result<T> + Send + 'static,
    ) -> Pending<T> {
        let shared = Arc::clone(&self.shared);
        Box::pin(async move {
            let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
            match shared.fault.next() {
                Some(Fault::Panic) => panic!("injected fault of the program"),
                Some(Fault::Before) => Err(Error::store("injected failure before the transaction")),
                Some(Fault::After) => {
                    operation(&mut shared.state)?;
                    Err(Error::store("injected failure after the transaction"))
                }
                None => operation(&mut shared.state),
            }
        })
    }

    fn read<T: Send + 'static>(
        &self,
        operation: impl FnOnce(&State) -> Result<T> + Send + 'static,
    ) -> Pending<T> {
        let shared = Arc::clone(&self.shared);
        Box::pin(
            async move { operation(&shared.lock().unwrap_or_else(PoisonError::into_inner).state) },
        )
    }
}

impl Store for MemoryStore {
    fn id(&self) -> StoreId {
        self.id
    }

    fn insert_events(&self, events: Vec<NewEvent>) -> Pending<Vec<Ranked>> {
        self.write(move |state| {
            events.iter().try_for_each(|event| state.head(event.generation).map(drop))?;
            events.into_iter().map(|event| state.insert_event(event)).collect()
        })
    }

    fn insert_events_above(
        &self,
        floor: String,
        events: Vec<(u64, NewEvent)>,
    ) -> Pending<Vec<Option<Ranked>>> {
        self.write(move |state| {
            let floor = floor_of(state.settings.get(&floor).map(Vec::as_slice))?;
            events.iter().try_for_each(|(_, event)| state.head(event.generation).map(drop))?;
            let add =
                |(number, event)| (number >= floor).then(|| state.insert_event(event)).transpose();
            events.into_iter().map(add).collect()
        })
    }

    fn raise_floor(&self, name: String, floor: u64) -> Pending<u64> {
        self.write(move |state| {
            let kept = floor_of(state.settings.get(&name).map(Vec::as_slice))?;
            if floor > kept {
                state.settings.insert(name, floor.to_le_bytes().to_vec());
            }
            Ok(kept.max(floor))
        })
    }

    fn reward(&self, rewards: Vec<NewReward>) -> Pending<Vec<Outcome>> {
        self.write(move |state| {
            rewards.iter().try_for_each(|reward| state.head(reward.generation).map(drop))?;
            let take = |reward: NewReward| {
                state.change(reward.generation, reward.event, |event| {
                    let full = event.reward_keys.len() >= MOST_REWARD_KEYS;
                    let known = |key| full || event.reward_keys.contains(&key);
                    if reward.key.is_some_and(known) || (!reward.sum && event.reward.is_some()) {
                        return false;
                    }
                    event.reward = Some(event.reward.unwrap_or(0).saturating_add(reward.units));
                    event.reward_keys.extend(reward.key);
                    true
                })
            };
            rewards.into_iter().map(take).collect()
        })
    }

    fn activate(&self, generation: GenerationId, event: EventHash) -> Pending<Outcome> {
        self.write(move |state| {
            state.change(generation, event, |event| !std::mem::replace(&mut event.active, true))
        })
    }

    fn close(&self, generation: GenerationId, slot: u64) -> Pending<()> {
        self.write(move |state| {
            if slot == u64::MAX {
                return Err(last_slot(slot));
            }
            let head = state.head_mut(generation)?;
            head.closed = head.closed.max(slot);
            Ok(())
        })
    }

    fn closed_events(
        &self,
        generation: GenerationId,
        after: Place,
        until: u64,
        limit: usize,
    ) -> Pending<Vec<(Place, StoredEvent)>> {
        self.read(move |state| {
            Ok(state.events_between(
                generation,
                after,
                until.min(state.head(generation)?.closed),
                limit,
            ))
        })
    }

    fn release(&self, step: Step) -> Pending<Committed> {
        self.write(move |state| {
            let head = state.head_mut(step.generation)?;
            if head.epoch != step.epoch || head.number.checked_add(1) != Some(step.release.number) {
                return Ok(Committed::No(head.clone()));
            }
            check_step(&step, head.closed, head.folded)?;
            head.number = step.release.number;
            head.chain = step.release.chain;
            head.folded = step.folded;
            head.state = step.state;
            state.releases.insert((step.generation, step.release.number), step.release);
            Ok(Committed::Yes)
        })
    }

    fn head(&self, generation: GenerationId) -> Pending<Head> {
        self.read(move |state| state.head(generation).cloned())
    }

    fn take_epoch(&self, generation: GenerationId) -> Pending<u64> {
        self.write(move |state| {
            let head = state.head_mut(generation)?;
            head.epoch = head.epoch.checked_add(1).ok_or_else(|| exhausted("epoch"))?;
            Ok(head.epoch)
        })
    }

    fn replace_state(&self, generation: GenerationId, replacement: Replacement) -> Pending<()> {
        self.write(move |state| {
            let charge = replacement.charge.as_ref();
            let charged = charge.and_then(|charge| state.settings.get(&charge.name));
            let charged = floor_of(charged.map(Vec::as_slice))?;
            let old = state.head_mut(generation)?;
            check_replacement(&replacement, old, charged)?;
            let Replacement { head, link, charge, .. } = replacement;
            *old = head;
            state.releases.extend(link.map(|link| ((generation, link.number), link)));
            if let Some(Raise { name, to, .. }) = charge {
                state.settings.insert(name, to.max(charged).to_le_bytes().to_vec());
            }
            Ok(())
        })
    }

    fn release_page(
        &self,
        generation: GenerationId,
        from: u64,
        limit: usize,
        bytes: usize,
    ) -> Pending<Vec<ReleaseRecord>> {
        self.read(move |state| {
            let mut page: Vec<ReleaseRecord> = Vec::new();
            let mut sum = 0;
            for (_, record) in
                state.releases.range((generation, from)..=(generation, u64::MAX)).take(limit)
            {
                sum += record.release.len();
                if sum > bytes && !page.is_empty() {
                    break;
                }
                page.push(record.clone());
            }
            Ok(page)
        })
    }

    fn collect(&self, generation: GenerationId, what: Collect) -> Pending<u64> {
        self.write(move |state| state.collect(generation, what))
    }

    fn kept_events(
        &self,
        generation: GenerationId,
        after: Place,
        limit: usize,
    ) -> Pending<Vec<(Place, StoredEvent)>> {
        self.read(move |state| Ok(state.events_between(generation, after, u64::MAX, limit)))
    }

    fn erase(&self, persons: Vec<PersonHash>, time: Time) -> Pending<Erased> {
        self.write(move |state| {
            let before = state.events.len();
            let is_erased =
                |person: Option<PersonHash>| person.is_some_and(|person| persons.contains(&person));
            state.events.retain(|_, event| !is_erased(event.person));
            for known in state.ids.values_mut().filter(|known| is_erased(known.person)) {
                (known.person, known.request) = (None, ERASED_REQUEST);
                known.answer.clear();
            }
            for person in persons {
                state.erased.entry(person).or_insert(time);
            }
            Ok(Erased { rows: (before - state.events.len()) as u64 })
        })
    }

    fn erased(&self) -> Pending<Vec<PersonHash>> {
        self.read(|state| Ok(state.erased.keys().copied().collect()))
    }

    fn ledger(&self, generation: GenerationId, period: u64, most: u32) -> Pending<LedgerCount> {
        self.read(move |state| {
            let generation = state.ledger_of(generation);
            let of_period =
                state.ledger.iter().filter(|((of, at, _), _)| *of == generation && *at == period);
            let counts: Vec<u32> = of_period.map(|(_, count)| *count).collect();
            let used_up = counts.iter().filter(|count| **count >= most).count() as u64;
            Ok(LedgerCount { people: counts.len() as u64, used_up })
        })
    }

    fn begin_generation(&self, generation: NewGeneration) -> Pending<Generation> {
        self.write(move |state| state.begin_generation(generation))
    }

    fn generations(&self) -> Pending<Vec<Generation>> {
        self.read(|state| Ok(state.generations.values().cloned().collect()))
    }

    fn add_key(&self, key: KeyRecord) -> Pending<()> {
        self.write(move |state| {
            if state.keys.contains_key(&key.id) {
                return Err(key_exists(&key.id));
            }
            state.keys.insert(key.id.clone(), key);
            Ok(())
        })
    }

    fn keys(&self) -> Pending<Vec<KeyRecord>> {
        self.read(|state| Ok(state.keys.values().cloned().collect()))
    }

    fn revoke_key(&self, id: String, time: Time) -> Pending<bool> {
        self.write(move |state| {
            let key = state.keys.get_mut(&id);
            Ok(key.map(|key| key.revoked.get_or_insert(time)).is_some())
        })
    }

    fn setting(&self, name: String) -> Pending<Option<Vec<u8>>> {
        self.read(move |state| Ok(state.settings.get(&name).cloned()))
    }

    fn keep_setting(&self, name: String, value: Vec<u8>) -> Pending<Vec<u8>> {
        self.write(move |state| Ok(state.settings.entry(name).or_insert(value).clone()))
    }

    fn backup(&self, _: PathBuf) -> Pending<()> {
        let why = "a store in memory has no file to copy";
        Box::pin(async move { Err(Error::Unavailable(why.into())) })
    }

    fn open_events(&self, generation: GenerationId) -> Pending<Vec<(u64, u64)>> {
        self.read(move |state| {
            let first = (generation, state.head(generation)?.closed + 1);
            let open = state.added.range(first..=(generation, u64::MAX));
            Ok(open.map(|((_, slot), count)| (*slot, *count)).collect())
        })
    }
}
