//! The witness of a service: what its file holds, and generations that only it knows.

use super::{mechanism::new_generation, rollback::replays_name};
use crate::{
    Error, Result,
    clock::Time,
    config::{LoopParams, Plan, Trust},
    loops,
    store::{
        Generation, GenerationId, Head, NewGeneration, Store, Witness, WitnessHead, WitnessRecord,
        floor,
    },
};

/// The witness file with what it holds.
pub(super) struct Witnessing {
    file: Witness,
    pub(super) record: WitnessRecord,
}

impl Witnessing {
    /// Reads the file, and begins one for this store if there is none. Generations that only the witness knows begin again.
    pub(super) async fn open(
        (file, record): (Witness, Option<WitnessRecord>),
        store: &dyn Store,
    ) -> Result<Self> {
        let record = match record {
            Some(record) => record,
            None => WitnessRecord { store: store.id(), ..WitnessRecord::default() },
        };
        if record.store != store.id() {
            let remedy = "it was made beside another store; expected that store, or another file";
            return Err(Error::invalid("witness", "another store's", remedy));
        }
        restore_generations(store, &record).await?;
        for (&generation, &replays) in record.replays.iter().filter(|(_, replays)| **replays > 0) {
            store.raise_floor(replays_name(generation), replays.into()).await?;
        }
        Ok(Witnessing { file, record })
    }

    /// Time of the last write.
    pub(super) fn time(&self) -> Time {
        self.record.time
    }

    /// Notes people who are erased, keys that are revoked and generations that have begun, in any process.
    pub(super) async fn note_others(&mut self, store: &dyn Store) -> Result<()> {
        self.record.erased.extend(store.erased().await?);
        let keys = store.keys().await?;
        let revoked = keys.into_iter().filter(|key| key.revoked.is_some());
        self.record.revoked_keys.extend(revoked.map(|key| key.id));
        let generations = store.generations().await?;
        self.record
            .generations
            .extend(generations.into_iter().map(|generation| (generation.id, generation)));
        Ok(())
    }

    /// Notes replays that are charged in the store: a new witness knows of none, and an older copy that is restored later lacks them.
    pub(super) async fn note_replays(&mut self, store: &dyn Store) -> Result<()> {
        for generation in store.generations().await? {
            let params: LoopParams =
                serde_json::from_slice(&generation.params).map_err(Error::store)?;
            if params.trust == Trust::Curator {
                let charged = loops::stored_learner(&store.head(generation.id).await?)?.replays();
                let charged = charged.max(floor(store, replays_name(generation.id)).await?);
                self.charge(generation.id, charged);
            }
        }
        Ok(())
    }

    /// Notes a head.
    pub(super) fn see(&mut self, generation: GenerationId, head: &Head) {
        let Head { epoch, number, chain, .. } = *head;
        self.record.heads.insert(generation, WitnessHead { epoch, number, chain });
    }

    /// Replays that it knows of.
    pub(super) fn replays(&self, generation: GenerationId) -> u64 {
        self.record.replays.get(&generation).copied().unwrap_or(0).into()
    }

    /// Notes replays that are charged.
    pub(super) fn charge(&mut self, generation: GenerationId, replays: u64) {
        if replays > self.replays(generation) {
            self.record.replays.insert(generation, u32::try_from(replays).unwrap_or(u32::MAX));
        }
    }

    pub(super) fn write(&mut self, now: Time) -> Result<()> {
        self.record.time = self.record.time.max(now);
        self.file.write(&self.record)
    }
}

/// Begins what the store has lost. Generations have numbers in the order in which they began, so that an older copy lacks the last ones.
async fn restore_generations(store: &dyn Store, record: &WitnessRecord) -> Result<()> {
    let known: Vec<Generation> = store.generations().await?;
    for generation in record.generations.values() {
        let begun = match known.iter().find(|known| known.id == generation.id) {
            Some(known) => known.clone(),
            None => {
                // In a ledger of its own: the visits counted in it are lost with the store.
                let begun = store.begin_generation(begin_again(generation)?).await?;
                let (name, params_hash) =
                    (&generation.name, format_args!("{:016x}", generation.params_hash));
                tracing::warn!(r#loop = %name, generation = generation.id, params = %params_hash, "the store has lost a generation that the witness knows: it begins again");
                begun
            }
        };
        if (begun.id, begun.params_hash, &begun.name)
            != (generation.id, generation.params_hash, &generation.name)
        {
            let value = format!("generation {} of loop {:?}", generation.id, generation.name);
            let remedy = "the store has another one under this number: it was rolled back and served without its witness; restore the copy that the witness knows";
            return Err(Error::invalid("witness", value, remedy));
        }
    }
    Ok(())
}

/// A generation as it was when it began.
fn begin_again(generation: &Generation) -> Result<NewGeneration> {
    let params: LoopParams = serde_json::from_slice(&generation.params).map_err(Error::store)?;
    let plan = match params.check(&generation.name)? {
        // Words that were appended later come when the loop is opened.
        Plan::Central(plan) => Plan::from(plan.as_it_began()?),
        plan => plan,
    };
    if plan.params_hash() != generation.params_hash {
        // The hash covers the bytes of the file that it began with, which is read as it is now.
        let value =
            format!("generation {:016x} of loop {:?}", generation.params_hash, generation.name);
        let remedy = match &params.warm_start {
            Some(file) => format!(
                "it began with another file than {file:?} is now: restore the one that it began with, or the copy of the store that the witness knows"
            ),
            None => "this program would begin another generation: use the one that began it".into(),
        };
        return Err(Error::invalid("witness", value, remedy));
    }
    expect_same(generation, new_generation(&plan, generation.began)?)
}

/// The generation to begin, if it has the hash and the cost of the one that is lost.
fn expect_same(generation: &Generation, begun: NewGeneration) -> Result<NewGeneration> {
    if begun.params_hash == generation.params_hash && begun.event == generation.event {
        return Ok(NewGeneration { params: generation.params.clone(), ..begun });
    }
    let value = format!("generation {:016x} of loop {:?}", generation.params_hash, generation.name);
    let remedy = "this program would calibrate it in another way: use the one that began it";
    Err(Error::invalid("witness", value, remedy))
}
