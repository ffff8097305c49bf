//! Generations of loops as a store has them: which share a ledger, what they cost a person together, and what a changed file of loops would begin.

use std::collections::BTreeMap;

use reticent::{
    bandit::Curator,
    noise::SecureNoise,
    privacy::{Event, Guarantee, TrustModel},
    release::Generation,
};
use serde::{Deserialize, Serialize};

use super::{
    Central, Service,
    rollback::{doubt_name, note_name, replays_name},
};
use crate::{
    Error, Result,
    config::{DevicePlan, LoopParams, LoopPlan, Trust},
    loops::{self, Earlier, HeadName, Token},
    store::{Agreement, Life, LifeId, NewLife, Store, WitnessRecord, floor},
};

/// The generations of a loop before this one.
pub(super) async fn earlier(store: &dyn Store, life: &Life) -> Result<Earlier> {
    let mut earlier = Earlier::default();
    let lives = store.lives().await?;
    for before in lives.iter().filter(|one| one.name == life.name && one.id < life.id) {
        match before.ledger == life.ledger {
            true => {
                earlier.lives.push(before.id);
                earlier.shared.push(generation(store, before.id).await?);
            }
            false => earlier.separate += 1,
        }
    }
    Ok(earlier)
}

/// True if the ledger of a loop's present generation has counted every visit to what was released, as far as the store and the witness know. That of an older copy has not, and the
/// releases that were lost are a line of their own: a generation that began in the same ledger before an operator has accepted and charged that line would let people be learnt from
/// twice for one price.
pub(super) async fn is_whole(
    store: &dyn Store,
    record: Option<&WitnessRecord>,
    name: &str,
) -> Result<bool> {
    let lives = store.lives().await?;
    let present = lives.iter().find(|life| life.name == name && life.ended.is_none());
    let Some(present) = present else { return Ok(true) };
    let params: LoopParams = serde_json::from_slice(&present.params).map_err(Error::store)?;
    if params.trust != Trust::Curator {
        return Ok(true);
    }
    for life in lives.iter().filter(|life| life.ledger == present.ledger) {
        let replays = loops::learner(&store.head(life.id).await?)?.replays();
        for note in [note_name(life.id, replays), doubt_name(life.id, replays)] {
            if store.setting(note).await?.is_some() {
                return Ok(false);
            }
        }
        let Some((record, seen)) =
            record.and_then(|record| Some((record, record.heads.get(&life.id)?)))
        else {
            continue;
        };
        if record.alone(life.id, seen).check(store).await? != Agreement::Agrees {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Charges the lines of generations that are noted to be rolled back, once more each, where a changed file ends them before an operator has accepted that: what both lines have released about
/// people stays released. It is called before the next generation begins, so that no process can end between the two without the charge.
pub(super) async fn charge_noted(store: &dyn Store, new: &NewLife) -> Result<()> {
    let lives = store.lives().await?;
    let present = lives.iter().find(|life| life.name == new.name && life.ended.is_none());
    let Some(present) = present.filter(|present| present.generation != new.generation) else {
        return Ok(());
    };
    for life in lives.iter().filter(|life| life.ledger == present.ledger) {
        let replays = loops::learner(&store.head(life.id).await?)?.replays();
        let mut noted = false;
        for note in [note_name(life.id, replays), doubt_name(life.id, replays)] {
            noted |= store.setting(note).await?.is_some();
        }
        if noted {
            let charged = store.raise_floor(replays_name(life.id), replays + 1).await?;
            tracing::warn!(
                life = life.id,
                charged,
                "a changed file ends a generation that was rolled back: the ledger does not go on, and both copies are charged"
            );
        }
    }
    Ok(())
}

/// A generation of a central loop with every replay that is charged.
async fn generation(store: &dyn Store, life: LifeId) -> Result<Generation> {
    let (head, charged) = (store.head(life).await?, floor(store, replays_name(life)).await?);
    let curator = Curator::<SecureNoise>::resume_charged(&head.state, head.number, charged)?;
    loops::generation(&curator)
}

impl Service {
    /// Notices a head of an earlier generation whose ledger goes on. One that the store lacks shows that visits are missing in the ledger.
    pub(super) async fn notice_earlier(&self, loop_: &Central, token: &str) -> Result<()> {
        let read = |life: &LifeId| Some((*life, Token::read(&self.tokens, *life, token)?));
        let Some((life, seen)) = loop_.earlier.lives.iter().find_map(read) else { return Ok(()) };
        let head = self.store.head(life).await?;
        let stored = match seen.number < head.number {
            false => Some(HeadName::new(head.number, &head.chain)),
            // A number that was left out after an accepted rollback has no record.
            true => {
                let found = self.store.releases(life, seen.number.max(1), 1).await?;
                let found = found.first().filter(|record| record.number == seen.number);
                found.map(|record| HeadName::new(record.number, &record.chain))
            }
        };
        match stored.is_none_or(|stored| stored == seen) || seen.number == 0 {
            true => Ok(()),
            false => self.ledger_lacks(loop_, life, seen.number).await,
        }
    }
}

/// A loop as a store has it.
#[derive(Clone, Serialize, Deserialize)]
pub struct StoredLoop {
    /// Its name.
    pub name: String,
    /// The hash of everything that its present generation is.
    generation: u64,
    /// The parameters of the present generation.
    params: LoopParams,
    /// The cost of all of its generations, by the generation that began their ledger.
    ledgers: BTreeMap<LifeId, Vec<Generation>>,
    /// The ledger of the present one.
    ledger: LifeId,
    /// True if that ledger has counted everything, as far as the store knows.
    is_whole: bool,
}

/// All loops that a store has, each with all of its generations.
pub(crate) async fn stored_loops(store: &dyn Store) -> Result<Vec<StoredLoop>> {
    let mut found: BTreeMap<String, StoredLoop> = BTreeMap::new();
    for life in store.lives().await? {
        let params: LoopParams = serde_json::from_slice(&life.params).map_err(Error::store)?;
        let generation = match params.trust {
            Trust::Curator => generation(store, life.id).await?,
            _ => Generation {
                event: serde_json::from_slice(&life.event).map_err(Error::store)?,
                at_most: params.privacy.visits.unwrap_or(1).into(),
                replays: 0,
            },
        };
        let (ledger, name) = (life.ledger, life.name.clone());
        let mut ledgers = found.remove(&name).map_or_else(BTreeMap::new, |before| before.ledgers);
        ledgers.entry(ledger).or_default().push(generation);
        let is_whole = is_whole(store, None, &name).await?;
        let (generation, stored_name) = (life.generation, name.clone());
        let stored =
            StoredLoop { name: stored_name, generation, params, ledgers, ledger, is_whole };
        found.insert(name, stored);
    }
    Ok(found.into_values().collect())
}

/// Effect of a file of loops on a loop of a store.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outcome {
    /// The loop.
    pub name: String,
    /// True if its present generation goes on.
    pub continues: bool,
    /// The parts of its file that begin another generation, such as "reward"; empty if none does, or if there was none before.
    pub changed: Vec<&'static str>,
    /// Epsilon of one unit over all generations that the store has; none before the first.
    pub epsilon_before: Option<f64>,
    /// The same with that of the file.
    pub epsilon_after: f64,
}

/// A loop of a file, as far as generations are concerned.
struct Planned<'p> {
    name: &'p str,
    params: &'p LoopParams,
    generation: u64,
    cost: Generation,
    model: TrustModel,
}

impl<'p> Planned<'p> {
    fn curated(plan: &'p LoopPlan) -> Result<Self> {
        let (name, params, generation) = (&plan.name, &plan.params, plan.generation());
        let cost = loops::generation(&plan.begin()?)?;
        Ok(Planned { name, params, generation, cost, model: TrustModel::Joint })
    }

    fn of_devices(plan: &'p DevicePlan) -> Result<Self> {
        let (name, params, generation) = (&plan.name, &plan.params, plan.generation());
        let event = serde_json::from_slice(&super::reports::new_life(plan, 0)?.event);
        let event = event.map_err(Error::store)?;
        let model = match params.trust {
            Trust::Shuffler => TrustModel::Shuffle,
            _ => TrustModel::Local,
        };
        let cost = Generation { event, at_most: plan.visits(), replays: 0 };
        Ok(Planned { name, params, generation, cost, model })
    }

    /// Epsilon of all generations: those with one ledger together, and ledgers beside each other.
    fn epsilon(&self, ledgers: &BTreeMap<LifeId, Vec<Generation>>) -> Result<f64> {
        let events: Vec<Event> =
            ledgers.values().map(|generations| loops::together(generations).0).collect();
        let delta = self.params.privacy.delta;
        Ok(Guarantee::of(&Event::Composed { events }, self.model, delta)?.epsilon())
    }

    fn outcome(&self, stored: Option<&StoredLoop>) -> Result<Outcome> {
        let name = self.name.to_string();
        let mut ledgers = stored.map(|stored| stored.ledgers.clone()).unwrap_or_default();
        let epsilon_before = match stored {
            Some(_) => Some(self.epsilon(&ledgers)?),
            None => None,
        };
        let continues = stored.is_some_and(|stored| stored.generation == self.generation);
        let mut changed = Vec::new();
        if !continues {
            let shared =
                stored.filter(|stored| stored.is_whole && stored.params.counts_with(self.params));
            let ledger = shared.map_or(LifeId::MAX, |stored| stored.ledger);
            ledgers.entry(ledger).or_default().push(self.cost.clone());
            changed = stored.map_or_else(Vec::new, |stored| stored.params.changes(self.params));
            if changed.is_empty() && stored.is_some() {
                changed.push("a file that it begins with, or the program");
            }
        }
        let epsilon_after = self.epsilon(&ledgers)?;
        Ok(Outcome { name, continues, changed, epsilon_before, epsilon_after })
    }
}

/// Effects of these loops of a file on those of a store.
pub fn outcomes(
    stored: &[StoredLoop],
    plans: &[LoopPlan],
    devices: &[DevicePlan],
) -> Result<Vec<Outcome>> {
    let planned = plans.iter().map(Planned::curated).chain(devices.iter().map(Planned::of_devices));
    let outcome = |planned: Result<Planned<'_>>| {
        let planned = planned?;
        planned.outcome(stored.iter().find(|stored| stored.name == planned.name))
    };
    planned.map(outcome).collect()
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = reticent_loops::page::epsilon_text;
        let (name, after) = (&self.name, text(self.epsilon_after));
        match self.epsilon_before.map(text) {
            None => write!(formatter, "loop {name} begins its first generation: epsilon {after}"),
            Some(_) if self.continues => {
                write!(formatter, "loop {name} continues its generation: epsilon stays {after}")
            }
            Some(before) => write!(
                formatter,
                "loop {name} begins a new generation and learns anew (changed: {}): epsilon of all its generations {before} before, {after} after",
                self.changed.join(", ")
            ),
        }
    }
}
