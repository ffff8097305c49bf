//! The model: a store in memory, a few lines of plain Rust that every other store is compared with.
//!
//! It keeps what the trait says and nothing that makes it fast. Tests may let a transaction fail: before it, or after it, when everything has
//! happened and only the answer is lost.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

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

/// An event id that is remembered, with the answer that was given.
#[derive(Clone)]
struct Remembered {
    place: Place,
    request: Digest,
    answer: Vec<u8>,
}

/// Everything that is kept.
#[derive(Clone, Default)]
pub(super) struct State {
    lives: BTreeMap<LifeId, Life>,
    pub(super) heads: BTreeMap<LifeId, Head>,
    numbers: BTreeMap<LifeId, u64>,
    pub(super) events: BTreeMap<(LifeId, Place), StoredEvent>,
    ids: BTreeMap<(LifeId, EventHash), Remembered>,
    pub(super) ledger: BTreeMap<(LifeId, u64, PersonHash), u32>,
    releases: BTreeMap<(LifeId, u64), ReleaseRecord>,
    keys: BTreeMap<String, KeyRecord>,
    settings: BTreeMap<String, Vec<u8>>,
    erased: BTreeMap<PersonHash, Time>,
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

    /// Lets a transaction that writes fail after so many others.
    pub fn fail_after(&self, others: u64, fault: Fault) {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        shared.fault = FaultAfter::new(others, fault);
    }

    /// Whether a failure is still to come.
    pub fn will_fail(&self) -> bool {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner).fault.is_to_come()
    }

    /// Everything that is kept, to look at it or to break it in a test.
    #[cfg(test)]
    pub(super) fn with<T>(&self, look: impl FnOnce(&mut State) -> T) -> T {
        look(&mut self.shared.lock().unwrap_or_else(PoisonError::into_inner).state)
    }

    /// A copy that goes its own way from here.
    #[cfg(test)]
    pub(crate) fn copy(&self) -> Self {
        let copy = MemoryStore::new(self.id);
        copy.with(|state| *state = self.with(|state| state.clone()));
        copy
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

impl State {
    fn head(&self, life: LifeId) -> Result<&Head> {
        self.heads.get(&life).ok_or_else(|| unknown_life(life))
    }

    fn head_mut(&mut self, life: LifeId) -> Result<&mut Head> {
        self.heads.get_mut(&life).ok_or_else(|| unknown_life(life))
    }

    fn events_between(
        &self,
        life: LifeId,
        after: Place,
        until: u64,
        limit: usize,
    ) -> Vec<(Place, StoredEvent)> {
        let of_life = self
            .events
            .iter()
            .filter(|((of, place), _)| *of == life && *place > after && place.slot <= until);
        of_life.take(limit).map(|((_, place), event)| (*place, event.clone())).collect()
    }

    /// Grants a visit if the person has one left under all their hashes.
    fn charge(&mut self, life: LifeId, charge: &Charge) -> bool {
        let hashes = charge.earlier.iter().flatten().chain([&charge.person]);
        let counts = hashes.filter_map(|hash| self.ledger.get(&(life, charge.period, *hash)));
        let granted = counts.map(|count| u64::from(*count)).sum::<u64>() < u64::from(charge.most);
        if granted {
            *self.ledger.entry((life, charge.period, charge.person)).or_default() += 1;
        }
        granted
    }

    fn rank(&mut self, new: NewEvent) -> Result<Ranked> {
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
        self.ids.insert(
            (new.life, new.event),
            Remembered { place, request: new.request, answer: new.answer },
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
    fn change(
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

    fn begin_life(&mut self, new: NewLife) -> Result<Life> {
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
        if let Some(mut present) = present {
            if new.carry_ledger {
                let carried: Vec<_> = self
                    .ledger
                    .iter()
                    .filter(|((life, period, _), _)| *life == present.id && *period == 0)
                    .collect();
                let carried: Vec<_> = carried
                    .into_iter()
                    .map(|((_, _, person), count)| ((id, 0, *person), *count))
                    .collect();
                self.ledger.extend(carried);
            }
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

    fn collect(&mut self, life: LifeId, what: Collect) -> Result<u64> {
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
            .take(what.limit)
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

impl Store for MemoryStore {
    fn id(&self) -> StoreId {
        self.id
    }

    fn rank(&self, events: Vec<NewEvent>) -> Pending<Vec<Ranked>> {
        self.write(move |state| {
            events.iter().try_for_each(|event| state.head(event.life).map(drop))?;
            events.into_iter().map(|event| state.rank(event)).collect()
        })
    }

    fn reward(&self, rewards: Vec<NewReward>) -> Pending<Vec<Outcome>> {
        self.write(move |state| {
            rewards.iter().try_for_each(|reward| state.head(reward.life).map(drop))?;
            let take = |reward: NewReward| {
                state.change(reward.life, reward.event, |event| {
                    let repeated = reward.key.is_some_and(|key| event.reward_keys.contains(&key));
                    if repeated || (!reward.sum && event.reward.is_some()) {
                        return false;
                    }
                    event.reward = Some(event.reward.unwrap_or(0).saturating_add(reward.units));
                    event.reward_keys.extend(reward.key);
                    let surplus = event.reward_keys.len().saturating_sub(MOST_REWARD_KEYS);
                    event.reward_keys.drain(..surplus);
                    true
                })
            };
            rewards.into_iter().map(take).collect()
        })
    }

    fn activate(&self, life: LifeId, event: EventHash) -> Pending<Outcome> {
        self.write(move |state| {
            state.change(life, event, |event| !std::mem::replace(&mut event.active, true))
        })
    }

    fn close(&self, life: LifeId, slot: u64) -> Pending<()> {
        self.write(move |state| {
            if slot == u64::MAX {
                return Err(last_slot(slot));
            }
            let head = state.head_mut(life)?;
            head.closed = head.closed.max(slot);
            Ok(())
        })
    }

    fn closed_events(
        &self,
        life: LifeId,
        after: Place,
        until: u64,
        limit: usize,
    ) -> Pending<Vec<(Place, StoredEvent)>> {
        self.read(move |state| {
            Ok(state.events_between(life, after, until.min(state.head(life)?.closed), limit))
        })
    }

    fn release(&self, step: Step) -> Pending<Committed> {
        self.write(move |state| {
            let head = state.head_mut(step.life)?;
            if head.epoch != step.epoch || head.number.checked_add(1) != Some(step.release.number) {
                return Ok(Committed::No(head.clone()));
            }
            check_step(&step, head.closed, head.folded)?;
            head.number = step.release.number;
            head.chain = step.release.chain;
            head.folded = step.folded;
            head.state = step.state;
            state.releases.insert((step.life, step.release.number), step.release);
            Ok(Committed::Yes)
        })
    }

    fn head(&self, life: LifeId) -> Pending<Head> {
        self.read(move |state| state.head(life).cloned())
    }

    fn take_epoch(&self, life: LifeId) -> Pending<u64> {
        self.write(move |state| {
            let head = state.head_mut(life)?;
            head.epoch = head.epoch.checked_add(1).ok_or_else(|| exhausted("epoch"))?;
            Ok(head.epoch)
        })
    }

    fn replace_state(&self, life: LifeId, head: Head, link: Option<ReleaseRecord>) -> Pending<()> {
        self.write(move |state| {
            let old = state.head_mut(life)?;
            check_replacement(&head, old, link.as_ref())?;
            *old = head;
            state.releases.extend(link.map(|link| ((life, link.number), link)));
            Ok(())
        })
    }

    fn releases(&self, life: LifeId, from: u64, limit: usize) -> Pending<Vec<ReleaseRecord>> {
        self.read(move |state| {
            Ok(state
                .releases
                .range((life, from)..=(life, u64::MAX))
                .take(limit)
                .map(|(_, record)| record.clone())
                .collect())
        })
    }

    fn collect(&self, life: LifeId, what: Collect) -> Pending<u64> {
        self.write(move |state| state.collect(life, what))
    }

    fn kept_events(
        &self,
        life: LifeId,
        after: Place,
        limit: usize,
    ) -> Pending<Vec<(Place, StoredEvent)>> {
        self.read(move |state| Ok(state.events_between(life, after, u64::MAX, limit)))
    }

    fn erase(&self, persons: Vec<PersonHash>, time: Time) -> Pending<Erased> {
        self.write(move |state| {
            let before = state.events.len();
            state
                .events
                .retain(|_, event| event.person.is_none_or(|person| !persons.contains(&person)));
            for person in persons {
                state.erased.entry(person).or_insert(time);
            }
            Ok(Erased { rows: (before - state.events.len()) as u64 })
        })
    }

    fn erased(&self) -> Pending<Vec<PersonHash>> {
        self.read(|state| Ok(state.erased.keys().copied().collect()))
    }

    fn ledger(&self, life: LifeId, period: u64, most: u32) -> Pending<LedgerCount> {
        self.read(move |state| {
            let of_period =
                state.ledger.iter().filter(|((of, at, _), _)| *of == life && *at == period);
            let counts: Vec<u32> = of_period.map(|(_, count)| *count).collect();
            let used_up = counts.iter().filter(|count| **count >= most).count() as u64;
            Ok(LedgerCount { people: counts.len() as u64, used_up })
        })
    }

    fn begin_life(&self, life: NewLife) -> Pending<Life> {
        self.write(move |state| state.begin_life(life))
    }

    fn lives(&self) -> Pending<Vec<Life>> {
        self.read(|state| Ok(state.lives.values().cloned().collect()))
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

    fn open_events(&self, life: LifeId) -> Pending<Vec<(u64, u64)>> {
        self.read(move |state| {
            let closed = state.head(life)?.closed;
            let mut open = BTreeMap::<u64, u64>::new();
            let of_life = state
                .ids
                .iter()
                .filter(|((of, _), known)| *of == life && known.place.slot > closed);
            of_life.for_each(|(_, known)| *open.entry(known.place.slot).or_default() += 1);
            Ok(open.into_iter().collect())
        })
    }
}
