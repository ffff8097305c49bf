//! Generations of loops as a store has them: which share a ledger, what they cost a person together, and what a changed file of loops would begin.

use std::collections::BTreeMap;

use reticent::{
    privacy::{Event, Guarantee, TrustModel},
    release::GenerationCost,
};
use serde::{Deserialize, Serialize};

use super::{
    Central, Service,
    rollback::{doubt_name, note_name, replays_name},
};
use crate::{
    Error, Result,
    clock::Time,
    config::{LoopParams, Plan, Predecessor, Trust},
    loops::{self, CentralLearner, Earlier, HeadName, Token},
    store::{Agreement, Generation, GenerationId, NewGeneration, Store, WitnessRecord, floor},
};

/// A plan over the coordinates of its loop's present generation, where the file continues that with other lists of words; else one that begins with what that
/// has released.
pub(super) async fn continuing_generation(
    store: &dyn Store,
    plan: Plan,
    now: Time,
) -> Result<Plan> {
    let generations = store.generations().await?;
    let present = generations
        .iter()
        .find(|generation| generation.name == plan.name() && generation.ended.is_none());
    let Some(present) = present else { return Ok(plan) };
    let params: LoopParams = serde_json::from_slice(&present.params).map_err(Error::store)?;
    let continued = plan.continuing_generation(&params, present.params_hash, now);
    if continued.params_hash() == present.params_hash {
        let words = appended_words(&continued, &params).join(", ");
        if !words.is_empty() {
            tracing::info!(r#loop = %plan.name(), generation = present.id, %words, "words are appended: the generation continues, and epsilon stays");
        }
        return Ok(continued);
    }
    let charged = floor(store, replays_name(present.id)).await?;
    let head = store.head(present.id).await?;
    plan.following(Predecessor { store: store.id(), generation: present, head: &head, charged })
}

/// Changes of a list of words between a stored generation and a plan that continues it.
fn appended_words(plan: &Plan, stored: &LoopParams) -> Vec<String> {
    let appended = plan.params().appended().iter().skip(stored.appended().len());
    let words = appended.flat_map(|change| &change.words);
    words.flat_map(|(name, words)| words.iter().map(move |word| format!("{name}={word}"))).collect()
}

/// The generations of a loop before this one.
pub(super) async fn earlier(store: &dyn Store, generation: &Generation) -> Result<Earlier> {
    let mut earlier = Earlier::default();
    let generations = store.generations().await?;
    for before in
        generations.iter().filter(|one| one.name == generation.name && one.id < generation.id)
    {
        match before.ledger == generation.ledger {
            true => {
                earlier.generations.push(before.id);
                earlier.shared.push(generation_cost(store, before.id).await?);
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
    let generations = store.generations().await?;
    let present =
        generations.iter().find(|generation| generation.name == name && generation.ended.is_none());
    let Some(present) = present else { return Ok(true) };
    let params: LoopParams = serde_json::from_slice(&present.params).map_err(Error::store)?;
    if params.trust != Trust::Curator {
        return Ok(true);
    }
    for generation in generations.iter().filter(|generation| generation.ledger == present.ledger) {
        let replays = loops::stored_learner(&store.head(generation.id).await?)?.replays();
        for note in [note_name(generation.id, replays), doubt_name(generation.id, replays)] {
            if store.setting(note).await?.is_some() {
                return Ok(false);
            }
        }
        let Some((record, seen)) =
            record.and_then(|record| Some((record, record.heads.get(&generation.id)?)))
        else {
            continue;
        };
        if record.alone(generation.id, seen).check(store).await? != Agreement::Agrees {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Charges the lines of generations that are noted to be rolled back, once more each, where a changed file ends them before an operator has accepted that: what both lines have released about
/// people stays released. It is called before the next generation begins, so that no process can end between the two without the charge.
pub(super) async fn charge_noted(store: &dyn Store, new: &NewGeneration) -> Result<()> {
    let generations = store.generations().await?;
    let present = generations
        .iter()
        .find(|generation| generation.name == new.name && generation.ended.is_none());
    let Some(present) = present.filter(|present| present.params_hash != new.params_hash) else {
        return Ok(());
    };
    for generation in generations.iter().filter(|generation| generation.ledger == present.ledger) {
        let replays = loops::stored_learner(&store.head(generation.id).await?)?.replays();
        let mut noted = false;
        for note in [note_name(generation.id, replays), doubt_name(generation.id, replays)] {
            noted |= store.setting(note).await?.is_some();
        }
        if noted {
            let charged = store.raise_floor(replays_name(generation.id), replays + 1).await?;
            tracing::warn!(
                generation = generation.id,
                charged,
                "a changed file ends a generation that was rolled back: the ledger does not go on, and both copies are charged"
            );
        }
    }
    Ok(())
}

/// A generation of a central loop with every replay that is charged.
async fn generation_cost(store: &dyn Store, generation: GenerationId) -> Result<GenerationCost> {
    let (head, charged) =
        (store.head(generation).await?, floor(store, replays_name(generation)).await?);
    let learner = CentralLearner::resume_charged(&head.state, head.number, charged)?;
    loops::generation_cost(&learner)
}

impl Service {
    /// Notices a head of an earlier generation whose ledger goes on. One that the store lacks shows that visits are missing in the ledger.
    pub(super) async fn notice_earlier(&self, loop_: &Central, token: &str) -> Result<()> {
        let read = |generation: &GenerationId| {
            Some((*generation, Token::read(&self.tokens, *generation, token)?))
        };
        let Some((generation, seen)) = loop_.earlier.generations.iter().find_map(read) else {
            return Ok(());
        };
        let head = self.store.head(generation).await?;
        let stored = match seen.number < head.number {
            false => Some(HeadName::new(head.number, &head.chain)),
            // A number that was left out after an accepted rollback has no record.
            true => {
                let found = self.store.releases(generation, seen.number.max(1), 1).await?;
                let found = found.first().filter(|record| record.number == seen.number);
                found.map(|record| HeadName::new(record.number, &record.chain))
            }
        };
        match stored.is_none_or(|stored| stored == seen) || seen.number == 0 {
            true => Ok(()),
            false => self.ledger_lacks(loop_, generation, seen.number).await,
        }
    }
}

/// A loop as a store has it.
#[derive(Clone, Serialize, Deserialize)]
pub struct StoredLoop {
    /// Its name.
    pub name: String,
    /// The hash of everything that its present generation is.
    #[serde(rename = "generation")]
    params_hash: u64,
    /// The parameters of the present generation.
    params: LoopParams,
    /// The cost of all of its generations, by the generation that began their ledger.
    ledgers: BTreeMap<GenerationId, Vec<GenerationCost>>,
    /// The ledger of the present one.
    ledger: GenerationId,
    /// True if that ledger has counted everything, as far as the store knows.
    is_whole: bool,
    /// Number of the last release of the present generation.
    #[serde(default)]
    release: u64,
    /// Number of the present generation.
    #[serde(default, rename = "life")]
    generation: GenerationId,
}

/// All loops that a store has, each with all of its generations.
pub(crate) async fn stored_loops(store: &dyn Store) -> Result<Vec<StoredLoop>> {
    let mut found: BTreeMap<String, StoredLoop> = BTreeMap::new();
    for generation in store.generations().await? {
        let params: LoopParams =
            serde_json::from_slice(&generation.params).map_err(Error::store)?;
        let cost = match params.trust {
            Trust::Curator => generation_cost(store, generation.id).await?,
            _ => GenerationCost {
                event: serde_json::from_slice(&generation.event).map_err(Error::store)?,
                at_most: params.privacy.visits.unwrap_or(1).into(),
                replays: 0,
            },
        };
        let (ledger, name) = (generation.ledger, generation.name.clone());
        let mut ledgers = found.remove(&name).map_or_else(BTreeMap::new, |before| before.ledgers);
        ledgers.entry(ledger).or_default().push(cost);
        let is_whole = is_whole(store, None, &name).await?;
        let (params_hash, stored_name) = (generation.params_hash, name.clone());
        let (release, id) = (store.head(generation.id).await?.number, generation.id);
        let stored = StoredLoop {
            name: stored_name,
            params_hash,
            params,
            ledgers,
            ledger,
            is_whole,
            release,
            generation: id,
        };
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
    /// Words that are appended to a generation that goes on, such as "action.topic=jazz".
    pub appended: Vec<String>,
    /// Generation and release that a new generation begins with; none if it begins without knowledge.
    pub begins_with: Option<(GenerationId, u64)>,
    /// Epsilon of one unit over all generations that the store has; none before the first.
    pub epsilon_before: Option<f64>,
    /// The same with that of the file.
    pub epsilon_after: f64,
}

/// A loop of a file, as far as generations are concerned.
struct Planned<'p> {
    name: &'p str,
    params: &'p LoopParams,
    cost: GenerationCost,
    model: TrustModel,
    plan: &'p Plan,
}

impl<'p> Planned<'p> {
    fn new(plan: &'p Plan) -> Result<Self> {
        let (cost, model) = (plan.cost()?, plan.trust_model());
        let (name, params) = (plan.name(), plan.params());
        Ok(Planned { name, params, cost, model, plan })
    }

    /// Epsilon of all generations: those with one ledger together, and ledgers beside each other.
    fn epsilon(&self, ledgers: &BTreeMap<GenerationId, Vec<GenerationCost>>) -> Result<f64> {
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
        let continued = stored
            .map(|stored| self.plan.continuing_generation(&stored.params, stored.params_hash, 0));
        let (mut continues, mut appended) = (false, Vec::new());
        if let (Some(stored), Some(continued)) = (stored, &continued) {
            continues = stored.params_hash == continued.params_hash();
            appended = appended_words(continued, &stored.params);
        }
        let mut changed = Vec::new();
        let begins_with = stored
            .filter(|stored| {
                let knows = self.plan.central().is_some_and(|plan| plan.knows_from(&stored.params));
                !continues && stored.release > 0 && knows
            })
            .map(|stored| (stored.generation, stored.release));
        if !continues {
            let shared =
                stored.filter(|stored| stored.is_whole && stored.params.counts_with(self.params));
            let ledger = shared.map_or(GenerationId::MAX, |stored| stored.ledger);
            ledgers.entry(ledger).or_default().push(self.cost.clone());
            changed = stored.map_or_else(Vec::new, |stored| stored.params.changes(self.params));
            if changed.is_empty() && stored.is_some() {
                changed.push("a file that it begins with, or the program");
            }
        }
        let epsilon_after = self.epsilon(&ledgers)?;
        Ok(Outcome {
            name,
            continues,
            changed,
            appended,
            begins_with,
            epsilon_before,
            epsilon_after,
        })
    }
}

/// Effects of these loops of a file on those of a store.
pub fn outcomes(stored: &[StoredLoop], plans: &[Plan]) -> Result<Vec<Outcome>> {
    let outcome = |plan: &Plan| {
        let planned = Planned::new(plan)?;
        planned.outcome(stored.iter().find(|stored| stored.name == planned.name))
    };
    plans.iter().map(outcome).collect()
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = reticent_loops::page::epsilon_text;
        let (name, after) = (&self.name, text(self.epsilon_after));
        match self.epsilon_before.map(text) {
            None => write!(formatter, "loop {name} begins its first generation: epsilon {after}"),
            Some(_) if self.continues && self.appended.is_empty() => {
                write!(formatter, "loop {name} continues its generation: epsilon stays {after}")
            }
            Some(_) if self.continues => write!(
                formatter,
                "loop {name} continues its generation and keeps its model (appended: {}): epsilon stays {after}",
                self.appended.join(", ")
            ),
            Some(before) => {
                let begins = match self.begins_with {
                    Some((generation, release)) => {
                        format!("with release {release} of generation {generation}")
                    }
                    None => "without knowledge".into(),
                };
                write!(
                    formatter,
                    "loop {name} begins a new generation {begins} (changed: {}): epsilon of all its generations {before} before, {after} after",
                    self.changed.join(", ")
                )
            }
        }
    }
}
