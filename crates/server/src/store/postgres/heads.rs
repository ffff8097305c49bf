//! Operations on generations and their heads: begin, close, release, take the right to release.

use deadpool_postgres::Transaction;
use tokio_postgres::Row;

use super::{
    follow::NOW,
    locks::{ALL_GENERATIONS, check_living, lock_alone, notify},
    number::{generation_number, hash, signed, unsigned},
    settings::{self, is_text},
    transaction::{Attempt, Failure, execute, optional},
};
use crate::{
    Result,
    store::{
        Committed, Digest, Generation, GenerationId, Head, NewGeneration, ReleaseRecord,
        Replacement, Step, refusal,
    },
};

/// Closes all slots up to this one, when everything that is on its way into them is committed.
pub(super) async fn close(
    on: &Transaction<'_>,
    key: i32,
    generation: GenerationId,
    slot: u64,
) -> Attempt<()> {
    if slot == u64::MAX {
        return Err(refusal::last_slot(slot).into());
    }
    let (number, slot) = (generation_number(generation)?, last_slot(slot)?);
    check_living(on, key).await?;
    lock_alone(on, key, number).await?;
    let closed = execute(
        on,
        "update heads set closed = greatest(closed, $2) where life = $1",
        &[&number, &slot],
    )
    .await?;
    if closed == 0 { Err(refusal::unknown_generation(generation).into()) } else { Ok(()) }
}

/// A slot that may be closed: one must stay open.
fn last_slot(slot: u64) -> Result<i64> {
    signed("slot", slot).and_then(|signed| {
        if signed == i64::MAX { Err(refusal::last_slot(slot)) } else { Ok(signed) }
    })
}

/// Commits a step. The update that moves the head holds the whole condition: a select before it could be overtaken.
pub(super) async fn release(
    on: &Transaction<'_>,
    channel: &str,
    step: &Step,
) -> Attempt<Committed> {
    let generation = generation_number(step.generation)?;
    let release = &step.release;
    let numbers = (
        signed("epoch", step.epoch),
        signed("number", release.number),
        signed("folded", step.folded),
    );
    if let (Ok(epoch), Ok(number), Ok(folded)) = numbers {
        let moved = execute(
            on,
            "update heads set number = $3::int8, chain = $4, folded = $5, state = $6 \
             where life = $1 and epoch = $2 and number = $3::int8 - 1 and folded <= $5 and closed >= $5",
            &[&generation, &epoch, &number, &&release.chain[..], &folded, &step.state],
        )
        .await?;
        if moved == 1 {
            insert_release(on, generation, release).await?;
            notify(on, channel).await?;
            return Ok(Committed::Yes);
        }
    }
    // Nothing has happened. This only says why.
    let head = head(on, step.generation).await?;
    if head.epoch != step.epoch || head.number.checked_add(1) != Some(release.number) {
        return Ok(Committed::No(head));
    }
    refusal::check_step(step, head.closed, head.folded)?;
    Err(Failure::Changed)
}

/// Writes a release.
pub(super) async fn insert_release(
    on: &Transaction<'_>,
    generation: i32,
    release: &ReleaseRecord,
) -> Attempt<u64> {
    let (number, time) = (signed("number", release.number)?, signed("time", release.time)?);
    execute(
        on,
        "insert into releases (life, number, time, hash, chain, release) values ($1, $2, $3, $4, $5, $6)",
        &[&generation, &number, &time, &&release.hash[..], &&release.chain[..], &release.release],
    )
    .await
}

/// The head of a generation.
pub(super) async fn head(on: &Transaction<'_>, generation: GenerationId) -> Attempt<Head> {
    read_head(
        on,
        generation,
        "select number, chain, epoch, closed, folded, state from heads where life = $1",
    )
    .await
}

async fn read_head(on: &Transaction<'_>, generation: GenerationId, sql: &str) -> Attempt<Head> {
    let row = optional(on, sql, &[&generation_number(generation)?]).await?;
    Ok(read_head_row(&row.ok_or_else(|| refusal::unknown_generation(generation))?)?)
}

/// A head as it is stored.
pub(super) fn read_head_row(row: &Row) -> Result<Head> {
    Ok(Head {
        number: unsigned(row.get(0)),
        chain: hash(row.get(1))?,
        epoch: unsigned(row.get(2)),
        closed: unsigned(row.get(3)),
        folded: unsigned(row.get(4)),
        state: row.get(5),
    })
}

/// Moves the right to release to a new epoch, which no process has leased.
pub(super) async fn take_epoch(
    on: &Transaction<'_>,
    key: i32,
    generation: GenerationId,
) -> Attempt<u64> {
    check_living(on, key).await?;
    let row = optional(
        on,
        "update heads set epoch = epoch + 1, leased = 0 where life = $1 and epoch < 9223372036854775807 returning epoch",
        &[&generation_number(generation)?],
    )
    .await?;
    match row {
        Some(row) => Ok(unsigned(row.get(0))),
        None => {
            head(on, generation).await?;
            Err(refusal::exhausted("epoch").into())
        }
    }
}

/// Keeps the right to release under this epoch for a time in milliseconds, or takes it if no process keeps it.
pub(super) async fn lease(
    on: &Transaction<'_>,
    generation: GenerationId,
    mine: Option<u64>,
    milliseconds: u64,
) -> Attempt<Option<u64>> {
    let number = generation_number(generation)?;
    let found = format!(
        "select epoch, leased - {NOW}, retired from heads cross join store where life = $1"
    );
    let found = optional(on, &found, &[&number])
        .await?
        .ok_or_else(|| refusal::unknown_generation(generation))?;
    if let Some(place) = found.get::<_, Option<String>>(2) {
        return Err(super::retired(&place).into());
    }
    let (epoch, left): (i64, i64) = (found.get(0), found.get(1));
    let wanted = signed("lease", milliseconds)?;
    if mine == Some(unsigned(epoch)) {
        if wanted > 0 && left > wanted / 2 {
            return Ok(mine);
        }
        let kept = execute(
            on,
            &format!("update heads set leased = {NOW} + $3 where life = $1 and epoch = $2"),
            &[&number, &epoch, &wanted],
        )
        .await?;
        return Ok(mine.filter(|_| kept == 1));
    }
    // One that ends later than any lease was given by a clock that was set back since.
    if (1..=wanted).contains(&left) || wanted == 0 {
        return Ok(None);
    }
    let taken = optional(
        on,
        &format!(
            "update heads set epoch = epoch + 1, leased = {NOW} + $3 \
             where life = $1 and epoch = $2 and (leased <= {NOW} or leased > {NOW} + $3) and epoch < 9223372036854775807 returning epoch"
        ),
        &[&number, &epoch, &wanted],
    )
    .await?;
    Ok(taken.map(|row| unsigned(row.get(0))))
}

/// Replaces a head after a rollback that an operator accepted.
pub(super) async fn replace_state(
    on: &Transaction<'_>,
    key: i32,
    channel: &str,
    generation: GenerationId,
    replacement: &Replacement,
) -> Attempt<()> {
    let number = generation_number(generation)?;
    check_living(on, key).await?;
    let Replacement { head: new, link, charge, .. } = replacement;
    // Floors first, as every transaction takes these locks in this order.
    let charged = match charge {
        Some(charge) => settings::locked_floor(on, key, &charge.name).await?,
        None => 0,
    };
    lock_alone(on, key, number).await?;
    let old = read_head(
        on,
        generation,
        "select number, chain, epoch, closed, folded, state from heads where life = $1 for update",
    )
    .await?;
    refusal::check_replacement(replacement, &old, charged)?;
    execute(
        on,
        "update heads set number = $2, chain = $3, epoch = $4, closed = $5, folded = $6, state = $7 where life = $1",
        &[
            &number,
            &signed("head.number", new.number)?,
            &&new.chain[..],
            &signed("head.epoch", new.epoch)?,
            &last_slot(new.closed)?,
            &signed("head.folded", new.folded)?,
            &new.state,
        ],
    )
    .await?;
    if let Some(link) = link {
        insert_release(on, number, link).await?;
    }
    if let Some(charge) = charge {
        settings::put_floor(on, &charge.name, charge.to.max(charged)).await?;
    }
    notify(on, channel).await
}

/// The columns of a generation.
pub(super) const GENERATION: &str =
    "id, name, generation, params, event, began, ended, coalesce(ledger, id)";

/// A generation as it is stored.
pub(super) fn read_generation(row: &Row) -> Generation {
    Generation {
        id: row.get::<_, i32>(0) as GenerationId,
        name: row.get(1),
        params_hash: row.get::<_, i64>(2) as u64,
        params: row.get(3),
        event: row.get(4),
        began: unsigned(row.get(5)),
        ended: row.get::<_, Option<i64>>(6).map(unsigned),
        ledger: row.get::<_, i32>(7) as GenerationId,
    }
}

/// Begins a generation of a loop. The one before it is locked alone, so that no event on its way into it is charged there after the first of this one.
pub(super) async fn begin_generation(
    on: &Transaction<'_>,
    key: i32,
    new: &NewGeneration,
) -> Attempt<Generation> {
    if new.closed == u64::MAX {
        return Err(refusal::last_slot(new.closed).into());
    }
    is_text(&new.name)?;
    let (began, closed) = (signed("time", new.time)?, last_slot(new.closed)?);
    lock_alone(on, key, ALL_GENERATIONS).await?;
    check_living(on, key).await?;
    let present = format!("select {GENERATION} from lives where name = $1 and ended is null");
    let present = optional(on, &present, &[&new.name]).await?.as_ref().map(read_generation);
    if let Some(present) = &present
        && present.params_hash == new.params_hash
    {
        refusal::check_words(&present.params, &new.params)?;
        execute(
            on,
            "update lives set params = $2 where id = $1",
            &[&(present.id as i32), &new.params],
        )
        .await?;
        return Ok(Generation { params: new.params.clone(), ..present.clone() });
    }
    if let Some(present) = &present {
        lock_alone(on, key, present.id as i32).await?;
        execute(on, "update lives set ended = $2 where id = $1", &[&(present.id as i32), &began])
            .await?;
    }
    let last = optional(on, "select max(id) from lives", &[]).await?;
    let last = last.and_then(|row| row.get::<_, Option<i32>>(0)).unwrap_or(0);
    let id = last.checked_add(1).ok_or_else(|| refusal::exhausted("generation"))?;
    let ledger = new.ledger(id as GenerationId, present.as_ref()) as i32;
    let begun = format!(
        "insert into lives (id, name, generation, params, event, began, ledger) \
         values ($1, $2, $3, $4, $5, $6, $7) returning {GENERATION}"
    );
    let begun = optional(
        on,
        &begun,
        &[&id, &new.name, &(new.params_hash as i64), &new.params, &new.event, &began, &ledger],
    )
    .await?;
    let generation = begun.as_ref().map(read_generation).ok_or(Failure::Changed)?;
    execute(
        on,
        "insert into heads (life, number, chain, epoch, closed, folded, state) values ($1, 0, $2, 0, $3, $3, $4)",
        &[&(generation.id as i32), &&Digest::default()[..], &closed, &new.state],
    )
    .await?;
    Ok(generation)
}
