//! Operations on heads and generations: close, release, epochs, begin.

use ::redb::ReadableTable;

use super::{
    events,
    tables::{HeadRow, Row, StateRow, get, put},
    writer::{Attempt, Group},
};
use crate::store::{
    Committed, Digest, Generation, GenerationId, Head, NewGeneration, Raise, ReleaseRecord,
    Replacement, Step, refusal, row,
};

/// Closes all slots up to this one.
pub(super) fn close(group: &mut Group<'_>, generation: GenerationId, slot: u64) -> Attempt<()> {
    if slot == u64::MAX {
        return Err(refusal::last_slot(slot).into());
    }
    let head = group.tables.head(generation)?;
    if slot <= head.closed {
        return Ok(());
    }
    group.tables.open.remove((generation, 0)..=(generation, slot))?;
    group.tables.heads.put(generation, HeadRow { closed: slot, ..head });
    Ok(())
}

/// Commits a step if the head has the number before it and the same epoch. There is one writer, so that nothing moves the head in between.
pub(super) fn release(group: &mut Group<'_>, step: Step) -> Attempt<Committed> {
    let head = group.tables.head(step.generation)?;
    if head.epoch != step.epoch || head.number.checked_add(1) != Some(step.release.number) {
        return Ok(Committed::No(head.with_state(state(&group.tables.states, step.generation)?)));
    }
    refusal::check_step(&step, head.closed, head.folded)?;
    let ReleaseRecord { number, chain, .. } = step.release;
    put(&mut group.tables.releases, (step.generation, number), &step.release)?;
    put(&mut group.tables.states, step.generation, &StateRow(step.state))?;
    let head = HeadRow { number, chain, folded: step.folded, ..head };
    group.tables.heads.put(step.generation, head);
    Ok(Committed::Yes)
}

/// The state of a generation.
pub(super) fn state(
    states: &impl ReadableTable<GenerationId, Row>,
    generation: GenerationId,
) -> Attempt<Vec<u8>> {
    let StateRow(state) =
        get(states, generation)?.ok_or_else(|| refusal::unknown_generation(generation))?;
    Ok(state)
}

/// Moves the right to release to a new epoch.
pub(super) fn take_epoch(group: &mut Group<'_>, generation: GenerationId) -> Attempt<u64> {
    let head = group.tables.head(generation)?;
    let epoch = head.epoch.checked_add(1).ok_or_else(|| refusal::exhausted("epoch"))?;
    group.tables.heads.put(generation, HeadRow { epoch, ..head });
    Ok(epoch)
}

/// Replaces a head by a later one.
pub(super) fn replace_state(
    group: &mut Group<'_>,
    generation: GenerationId,
    replacement: Replacement,
) -> Attempt<()> {
    let old = group.tables.head(generation)?;
    let charged = match &replacement.charge {
        Some(charge) => events::floor(group, &charge.name)?,
        None => 0,
    };
    refusal::check_replacement(&replacement, &old.clone().with_state(Vec::new()), charged)?;
    let Replacement { head: new, link, charge, .. } = replacement;
    if let Some(Raise { name, to, .. }) = charge {
        events::put_floor(group, &name, to.max(charged))?;
    }
    if let Some(link) = link {
        put(&mut group.tables.releases, (generation, link.number), &link)?;
    }
    let Head { number, chain, epoch, closed, folded, state } = new;
    group.tables.open.remove((generation, 0)..=(generation, closed))?;
    put(&mut group.tables.states, generation, &StateRow(state))?;
    let head = HeadRow { number, chain, epoch, closed, folded, ..old };
    group.tables.heads.put(generation, head);
    Ok(())
}

/// Begins a generation, or returns the present one with the new parameters if it has the same hash.
pub(super) fn begin_generation(
    group: &mut Group<'_>,
    mut new: NewGeneration,
) -> Attempt<Generation> {
    if new.closed == u64::MAX {
        return Err(refusal::last_slot(new.closed).into());
    }
    let (mut present, mut last) = (None, 0);
    for row in group.tables.generations.iter()? {
        let generation: Generation = row::decode(row?.1.value())?;
        last = generation.id;
        if generation.name == new.name && generation.ended.is_none() {
            present = Some(generation);
        }
    }
    if let Some(present) = &present
        && present.params_hash == new.params_hash
    {
        refusal::check_words(&present.params, &new.params)?;
        let present = Generation { params: new.params, ..present.clone() };
        put(&mut group.tables.generations, present.id, &present)?;
        return Ok(present);
    }
    let id = last.checked_add(1).ok_or_else(|| refusal::exhausted("generation"))?;
    let ledger = new.ledger(id, present.as_ref());
    if let Some(mut present) = present {
        let head = group.tables.head(present.id)?;
        present.ended = Some(new.time);
        put(&mut group.tables.generations, present.id, &present)?;
        group.tables.heads.put(present.id, HeadRow { ended: true, ..head });
    }
    let head = HeadRow {
        number: 0,
        chain: Digest::default(),
        epoch: 0,
        closed: new.closed,
        folded: new.closed,
        events: 0,
        stripped: 0,
        ended: false,
    };
    group.tables.heads.put(id, head);
    let state = StateRow(std::mem::take(&mut new.state));
    put(&mut group.tables.states, id, &state)?;
    let generation = new.begun(id, ledger);
    put(&mut group.tables.generations, id, &generation)?;
    Ok(generation)
}
