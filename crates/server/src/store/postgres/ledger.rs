//! Charges to the ledger: one conditional write, which grants a person the rest of their visits.
//!
//! A batch is added up by person and sorted by hash, so that batches that meet wait for each other in one order. The write itself holds the condition:
//! `visits + min(n, most - visits)` of the row as it is when it is locked, never of one that was read before.
//!
//! Counts under earlier keys are locked and subtracted in the same statement. Two charges of a batch that name one hash in different roles go into
//! separate statements, in their order.

use std::collections::{BTreeMap, BTreeSet};

use deadpool_postgres::Transaction;

use super::{
    number::{generation_number, hash, signed},
    transaction::{Attempt, rows},
};
use crate::store::{Charge, GenerationId, PersonHash};

const CHARGE: &str = "
with charges as (
    select * from unnest($1::int4[], $2::int8[], $3::bytea[], $4::int8[], $5::int8[]) with ordinality
        as c (life, period, person, most, asked, charge)
), earlier as (
    select c.charge, c.life, c.period, e.person
    from unnest($6::int8[], $7::bytea[]) as e (charge, person) join charges c using (charge)
), before as materialized (
    select l.life, l.period, l.person, l.visits from ledger l
    where (l.life, l.period, l.person) in (select life, period, person from earlier)
    order by l.life, l.period, l.person for update
), room as (
    select c.life, c.period, c.person, c.asked, c.most - coalesce((
        select sum(b.visits)::int8 from earlier e join before b using (life, period, person) where e.charge = c.charge
    ), 0) as most
    from charges c
)
insert into ledger as l (life, period, person, visits, most, granted)
select life, period, person, least(asked, most), most, least(asked, most) from room where most > 0
order by life, period, person
on conflict (life, period, person) do update set
    visits = l.visits + least(excluded.granted, greatest(0, excluded.most - l.visits)),
    granted = least(excluded.granted, greatest(0, excluded.most - l.visits)),
    most = excluded.most
where l.visits < excluded.most
returning life, period, person, granted";

/// The row of a person: the generation that began the ledger, period, person.
type Key = (GenerationId, u64, PersonHash);

/// Charges of one statement: no hash of one is a hash of another.
#[derive(Default)]
struct Wave {
    /// A charge with where its events stand, by its row.
    charges: BTreeMap<Key, (Charge, Vec<usize>)>,
    /// Hashes that are only looked at.
    earlier: BTreeSet<Key>,
}

impl Wave {
    /// Adds a charge, unless it shares a hash with another one that is not the same.
    fn add(&mut self, index: usize, generation: GenerationId, charge: &Charge) -> bool {
        let key = (generation, charge.period, charge.person);
        if let Some((present, indices)) = self.charges.get_mut(&key)
            && present == charge
        {
            indices.push(index);
            return true;
        }
        let earlier =
            charge.earlier.iter().flatten().map(|hash| (generation, charge.period, *hash));
        let looked_at: BTreeSet<Key> = earlier.collect();
        if self.charges.contains_key(&key)
            || self.earlier.contains(&key)
            || looked_at.iter().any(|key| self.charges.contains_key(key))
        {
            return false;
        }
        self.earlier.extend(looked_at);
        self.charges.insert(key, (*charge, vec![index]));
        true
    }
}

/// Charges people in their order, each in a ledger that is named by the generation that began it, and says which charges were granted.
pub(super) async fn charge(
    on: &Transaction<'_>,
    charges: &[(GenerationId, Charge)],
) -> Attempt<Vec<bool>> {
    let mut granted = vec![false; charges.len()];
    let mut wave = Wave::default();
    for (index, (generation, charge)) in charges.iter().enumerate() {
        if !wave.add(index, *generation, charge) {
            write(on, &std::mem::take(&mut wave), &mut granted).await?;
            wave.add(index, *generation, charge);
        }
    }
    write(on, &wave, &mut granted).await?;
    Ok(granted)
}

async fn write(on: &Transaction<'_>, wave: &Wave, granted: &mut [bool]) -> Attempt<()> {
    if wave.charges.is_empty() {
        return Ok(());
    }
    let mut generations = Vec::new();
    let (mut periods, mut people, mut most, mut asked) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    // Hashes under earlier keys, each with the number of its charge, from 1.
    let (mut whose, mut earlier) = (Vec::new(), Vec::new());
    for (number, ((generation, period, person), (charge, indices))) in (1i64..).zip(&wave.charges) {
        generations.push(generation_number(*generation)?);
        periods.push(signed("period", *period)?);
        people.push(&person[..]);
        most.push(i64::from(charge.most));
        asked.push(indices.len() as i64);
        for hash in charge.earlier.iter().flatten() {
            whose.push(number);
            earlier.push(&hash[..]);
        }
    }
    let answered =
        rows(on, CHARGE, &[&generations, &periods, &people, &most, &asked, &whose, &earlier])
            .await?;
    for row in answered {
        let generation = row.get::<_, i32>(0) as GenerationId;
        let key: Key = (generation, row.get::<_, i64>(1) as u64, hash(row.get(2))?);
        let count = row.get::<_, i64>(3) as usize;
        if let Some((_, indices)) = wave.charges.get(&key) {
            for index in indices.iter().take(count) {
                granted[*index] = true;
            }
        }
    }
    Ok(())
}
