//! Certificates, summaries, exports.

use reticent::release::GenerationCost;
use serde::{Deserialize, Serialize};

use std::collections::BTreeMap;

use super::{Central, Loop, Service, UNWATCHED, lost_witness};
use crate::{
    Error, Result,
    clock::Clock,
    config::{Ledger, LoopParams, Origin, Trust, UnitName},
    loops::{
        self, CentralLearner, Certificate, ChainHeader, Decision, Part, RankRequest, Subject,
        Summary, Together, Watch, first_chain,
    },
    secret::hex,
    store::{Digest, Generation, GenerationId, LedgerCount, Place, ReleaseRecord, floor},
};
use reticent::features::Value;

/// Records that are looked at in one step.
const LOOKED_AT: u64 = 16;

/// A loop as the dashboard and `GET /v1/loops` show it: functions of releases, and for admin keys counts of rank requests.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub struct LoopView {
    /// Its name.
    pub name: String,
    /// Rank requests answered since the process began; for admin keys only, because a count shows whether a person took part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranks: Option<u64>,
    /// Events whose window has not ended; for admin keys only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_events: Option<u64>,
    /// The number of the last release.
    pub release: u64,
    /// Time of the release, in milliseconds since 1970.
    pub released: Option<u64>,
    /// Milliseconds between two releases.
    pub tick: u64,
    /// Epsilon of one unit.
    pub epsilon: f64,
    /// Delta.
    pub delta: f64,
    /// Mean rewards by the last release.
    pub summary: Summary,
    /// Reason why nothing is released at present.
    pub halted: Option<String>,
}

/// A decision as it is exported: what `kind = "logged"` needs.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ExportedEvent {
    /// Time of the rank request.
    pub time: u64,
    /// The context as it was sent.
    pub context: serde_json::Value,
    /// The actions as they were sent, with their probabilities.
    pub actions: Vec<ExportedAction>,
    /// The id of the chosen action.
    pub action: String,
    /// The probability with which it was chosen.
    pub probability: f64,
    /// The total reward, clipped, or the default one; empty while the window lasts.
    #[serde(default)]
    pub reward: Option<f64>,
}

/// An action of an export.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ExportedAction {
    /// Its id.
    pub id: String,
    /// Its features as they were sent.
    pub features: serde_json::Value,
    /// Its probability.
    pub probability: f64,
}

/// A row of an export.
#[derive(Debug, Clone)]
pub enum Exported {
    /// A decision.
    Event(ExportedEvent),
    /// The place of a stored decision that cannot be read, and is left out.
    Damaged(Place),
}

impl ExportedEvent {
    /// The decision of the bytes that are kept of it, if they are one. The fault is not shown: it may hold features.
    fn read(raw: &[u8]) -> Option<Self> {
        let event: ExportedEvent = serde_json::from_slice(raw).ok()?;
        let is_sound = event.actions.iter().any(|action| action.id == event.action);
        is_sound.then_some(event)
    }

    /// The bytes that are kept of a decision.
    pub(super) fn write(request: &RankRequest, decision: &Decision, time: u64) -> Result<Vec<u8>> {
        let actions = request.actions.iter().zip(&decision.probabilities);
        let actions = actions.map(|(action, probability)| ExportedAction {
            id: action.id.clone(),
            features: json(&action.features),
            probability: *probability,
        });
        let event = ExportedEvent {
            time,
            context: json(&request.context),
            actions: actions.collect(),
            action: request.actions[decision.action].id.clone(),
            probability: decision.probabilities[decision.action],
            reward: None,
        };
        serde_json::to_vec(&event).map_err(Error::store)
    }
}

/// A record as JSON.
fn json(value: &Value) -> serde_json::Value {
    use serde_json::Value as Json;
    match value {
        Value::Missing => Json::Null,
        Value::Bool(value) => Json::Bool(*value),
        Value::Integer(value) => match i64::try_from(*value) {
            Ok(value) => value.into(),
            Err(_) => (*value as f64).into(),
        },
        Value::Number(value) => (*value).into(),
        Value::Text(text) => Json::String(text.clone()),
        Value::List(members) => Json::Array(members.iter().map(json).collect()),
        Value::Record(entries) => {
            Json::Object(entries.iter().map(|(name, value)| (name.clone(), json(value))).collect())
        }
    }
}

impl Service {
    /// The certificate of one loop.
    pub async fn certificate(&self, name: &str) -> Result<Certificate> {
        let now = self.clock.now();
        match self.find(name)? {
            Loop::Central(loop_) => {
                let Central { plan, earlier, .. } = loop_.as_ref();
                let (learner, watch) = (self.cost_of(loop_.generation).await?, self.watch().await?);
                let subject = Subject::Central { plan, learner: &learner, earlier, watch };
                let answering = loop_.answering();
                let head = (answering.served.number, &answering.served.chain);
                Certificate::new(subject, Some(head), now)
            }
            Loop::Reports(loop_) => {
                let served = loop_.served();
                let head = (served.number, &served.chain);
                Certificate::new(Subject::Reports(&loop_.plan), Some(head), now)
            }
        }
    }

    /// Evidence by which a rollback of the store would be noticed. Another process may have noted something since this one began.
    async fn watch(&self) -> Result<Watch> {
        let store = self.store.as_ref();
        let lost = lost_witness(store).await?;
        let unwatched = Some(floor(store, UNWATCHED.into()).await?).filter(|time| *time > 0);
        Ok(Watch { witness: self.witness_place, lost, unwatched })
    }

    /// The guarantee of all loops together for one person, earlier generations included.
    pub async fn together(&self) -> Result<Together> {
        let mut parts = Vec::new();
        let mut delta: f64 = 0.0;
        let generations = self.store.generations().await?;
        // Generations that share a ledger cost together what one of them does.
        let mut ledgers: BTreeMap<GenerationId, Vec<GenerationCost>> = BTreeMap::new();
        for generation in &generations {
            let params: LoopParams =
                serde_json::from_slice(&generation.params).map_err(Error::store)?;
            let (event, most) = match params.trust {
                Trust::Curator => {
                    let learner = self.cost_of(generation.id).await?;
                    let (counted, units) = match &params.warm_start_origin {
                        None => (false, &[][..]),
                        Some(origin) => {
                            let counted = self
                                .is_counted(&generations, origin, generation.id, &learner)
                                .await?;
                            (counted, &origin.units[..])
                        }
                    };
                    if !counted {
                        parts.extend(Part::earlier(
                            &generation.name,
                            learner.earlier_events(),
                            units,
                        ));
                    }
                    let ledger = ledgers.entry(generation.ledger).or_default();
                    ledger.push(loops::generation_cost(&learner)?);
                    let last = generations.iter().rfind(|later| later.ledger == generation.ledger);
                    if last.is_some_and(|last| last.id != generation.id) {
                        continue;
                    }
                    loops::together(ledger)
                }
                // Devices release by themselves, so that a copy of the store that is restored adds nothing.
                _ => (serde_json::from_slice(&generation.event).map_err(Error::store)?, 0),
            };
            let counted = params.privacy.unit != Some(UnitName::Decision);
            // An earlier generation with the same ledger may have learnt from more.
            let visits = params.privacy.visits.filter(|_| counted).map(u64::from);
            let visits = visits.map(|visits| visits.max(most));
            delta = delta.max(params.privacy.delta);
            let counted = ledgers.get(&generation.ledger).map_or(1, Vec::len);
            let name = match (generation.ended, counted) {
                (None, 0 | 1) => generation.name.clone(),
                (None, counted) => {
                    format!("{} ({counted} generations with one ledger)", generation.name)
                }
                (Some(_), _) => {
                    format!(
                        "{} (generation {:016x}, ended)",
                        generation.name, generation.params_hash
                    )
                }
            };
            parts.push(Part { name, event, visits, model: params.trust.model() });
        }
        let conditions = self.watch().await?.conditions();
        Ok(Together { conditions, ..Together::new(parts, delta)? })
    }

    /// True if the model that a generation began with is what an earlier generation of this very store has released, which is in the sum already, with what it
    /// began with itself. The file's word is not enough: it may have been edited, or come from a copy of the store that went another way.
    pub(super) async fn is_counted(
        &self,
        generations: &[Generation],
        origin: &Origin,
        later: GenerationId,
        learner: &CentralLearner,
    ) -> Result<bool> {
        let same = |generation: &&Generation| {
            generation.id == origin.generation
                && generation.id < later
                && format!("{:016x}", generation.params_hash) == origin.params_hash
        };
        let generation =
            generations.iter().find(same).filter(|_| origin.store == hex(&self.store.id()));
        let Some(generation) = generation else { return Ok(false) };
        let records = self.store.releases(generation.id, origin.release, 1).await?;
        let made = |record: &ReleaseRecord| {
            record.number == origin.release && hex(&record.chain) == origin.chain
        };
        Ok(records.first().is_some_and(made)
            && learner.began_with(&self.cost_of(generation.id).await?))
    }

    /// A loop as holders of a key see it, with counts of rank requests for admin keys.
    pub fn view(&self, loop_: &Central, admin: bool) -> LoopView {
        let ranks = loop_.counts.ranks.load(std::sync::atomic::Ordering::Relaxed);
        let answering = loop_.answering();
        let served = &answering.served;
        LoopView {
            name: loop_.name.clone(),
            ranks: admin.then_some(ranks),
            open_events: admin.then(|| loop_.open_events()),
            release: served.number,
            released: served.time,
            tick: loop_.tick,
            epsilon: served.epsilon,
            delta: loop_.plan.params.privacy.delta,
            summary: Summary::of(&loop_.plan, served.release.as_ref()),
            halted: loop_.halted(),
        }
    }

    /// Releases from this number on, at most `limit`.
    pub async fn releases(
        &self,
        name: &str,
        from: u64,
        limit: usize,
    ) -> Result<Vec<ReleaseRecord>> {
        self.release_page(self.central(name)?, from, limit, usize::MAX).await
    }

    /// Releases from this number on, at most `limit` and as many as have `bytes` together, one at least if there is one.
    pub async fn release_page(
        &self,
        loop_: &Central,
        from: u64,
        limit: usize,
        bytes: usize,
    ) -> Result<Vec<ReleaseRecord>> {
        // A release that is committed and not served yet is not shown: the witness does not know it.
        let last = loop_.answering().served.number;
        let mut records = self.store.release_page(loop_.generation, from, limit, bytes).await?;
        records.retain(|record| record.number <= last);
        Ok(records)
    }

    /// The chain before the release of this number, from 1.
    pub async fn chain_before(&self, loop_: &Central, number: u64) -> Result<Digest> {
        let before = number.saturating_sub(1);
        if before == 0 {
            return Ok(first_chain(self.store.id(), loop_.generation, loop_.params_hash));
        }
        let last = loop_.answering().served.number;
        if before > last {
            return Err(Error::invalid(
                "from",
                number,
                format!("the last release has number {last}"),
            ));
        }
        let records = self.store.releases(loop_.generation, before, 1).await?;
        if let [ReleaseRecord { number, chain, .. }] = &records[..]
            && *number == before
        {
            return Ok(*chain);
        }
        // Numbers that were left out at an accepted rollback have no record: the one before them counts.
        let mut until = before;
        while until > 0 {
            let from = until.saturating_sub(LOOKED_AT - 1).max(1);
            let mut records =
                self.store.releases(loop_.generation, from, LOOKED_AT as usize).await?;
            records.retain(|record| record.number <= before);
            if let Some(record) = records.last() {
                return Ok(record.chain);
            }
            until = from - 1;
        }
        Ok(first_chain(self.store.id(), loop_.generation, loop_.params_hash))
    }

    /// Decisions of a loop that retains them, with their probabilities, after a place, and the place to go on after if there may be more. Internal:
    /// do not publish. One damaged row is named and does not keep the others from being exported.
    pub async fn export(
        &self,
        name: &str,
        after: Place,
        limit: usize,
    ) -> Result<(Vec<Exported>, Option<Place>)> {
        let loop_ = self.central(name)?;
        if loop_.plan.params.retain.is_none() {
            let remedy = "the loop keeps no raw rows: give it `retain`, such as \"30 days\"";
            return Err(Error::invalid(format!("loop.{name}.retain"), "missing", remedy));
        }
        let head = self.store.head(loop_.generation).await?;
        let (low, high) = loop_.plan.params.reward.range;
        let default = loop_.plan.learner_params.default_reward;
        let rows = self.store.kept_events(loop_.generation, after, limit).await?;
        let last = rows.last().map(|(place, _)| *place).filter(|_| rows.len() >= limit);
        // A row without a decision is of a time when the loop did not retain them.
        let export = rows
            .into_iter()
            .filter(|(_, row)| row.active && (!row.raw.is_empty() || row.is_unreadable()));
        let events = export.map(|(place, row)| {
            let Some(mut event) = ExportedEvent::read(&row.raw) else {
                return Exported::Damaged(place);
            };
            let units = row.reward.map(|units| units as f64 / (1_i64 << 32) as f64);
            let closed = place.slot <= head.closed;
            event.reward = closed.then(|| units.unwrap_or(default).clamp(low, high));
            Exported::Event(event)
        });
        Ok((events.collect(), last))
    }

    /// The generation of a loop, in hexadecimal digits.
    pub fn params_hash(&self, loop_: &Central) -> String {
        hex(&loop_.params_hash.to_be_bytes())
    }
    /// The first line of a listing of a loop's releases: what the chain begins with.
    pub fn chain_header(&self, loop_: &Central) -> ChainHeader {
        ChainHeader::new(&loop_.name, self.store.id(), loop_.generation, loop_.params_hash)
    }

    /// People who have come in the present period, and those of them who have no visits left, where visits are counted. Internal: do not publish.
    pub async fn ledger_count(&self, loop_: &Central) -> Result<Option<LedgerCount>> {
        let Ledger::Person { most, .. } = loop_.plan.ledger else { return Ok(None) };
        let period = loop_.plan.ledger.period(self.clock.now());
        Ok(Some(self.store.ledger(loop_.generation, period, most).await?))
    }
}
