//! Releases of a loop, as a file for another one to begin with (`warm_start`): from the service, or from its store while none runs.
//!
//! The file says what the model has cost. Some of that is known to the witness only, as are charges after which an older copy of the store was put
//! back. And a release leaves the service only when the witness knows it. So a store that was served with a witness is not read without it.

use std::path::Path;

use super::{Service, WITNESSED, rollback::replays_name};
use crate::{
    Error, Result,
    config::{LoopParams, ModelFile, Trust},
    loops::CentralLearner,
    store::{Generation, Head, Store, Witness, floor},
};

impl Service {
    /// The released model of a loop, for another loop to begin with.
    pub async fn model_file(&self, name: &str) -> Result<String> {
        let loop_ = self.central(name)?;
        let _not_while_ticking = loop_.ticking.lock().await;
        let head = self.store.head(loop_.generation).await?;
        if head.number != loop_.answering().served.number {
            let why = "the last release is not served yet: try again after the next tick";
            return Err(Error::Unavailable(why.into()));
        }
        let generations = self.store.generations().await?;
        let generation =
            generations.into_iter().find(|generation| generation.id == loop_.generation);
        let generation =
            generation.ok_or_else(|| Error::store("the generation of the loop is missing"))?;
        let charged = self.witnessed_replays(loop_.generation).await;
        write(self.store.as_ref(), &generation, &head, charged).await
    }
}

/// The released model of a loop up to this head, which is known to have been served, with its cost: `charged` replays, or more where other witnesses have noted more in the store.
async fn write(
    store: &dyn Store,
    generation: &Generation,
    head: &Head,
    charged: u64,
) -> Result<String> {
    let charged = charged.max(floor(store, replays_name(generation.id)).await?);
    let learner = CentralLearner::resume_charged(&head.state, head.number, charged)?;
    ModelFile::write(store.id(), generation, (head.number, &head.chain), &learner.legacy()?)
}

/// The same from a store that no service has open.
pub(crate) async fn stored_model(
    store: &dyn Store,
    name: &str,
    witness: Option<&Path>,
) -> Result<String> {
    let generation = find(store, name).await?;
    let head = store.head(generation.id).await?;
    let Some(path) = witness else {
        if store.setting(WITNESSED.into()).await?.is_some() {
            let remedy = "this store was served with a witness, which may know of costs that the store does not: give its file with --witness, or start the service and \
                          run this command again";
            return Err(Error::invalid("witness", "missing", remedy));
        }
        return write(store, &generation, &head, 0).await;
    };
    let Some(record) = Witness::read(path)? else {
        let remedy = "there is no such file; expected that of `reticent-server serve --witness`";
        return Err(Error::invalid("witness", path.display(), remedy));
    };
    let seen = record.heads.get(&generation.id).map(|seen| (seen.number, seen.chain));
    // Before the first release the store names no chain, and there is no model.
    if record.store != store.id() || (head.number > 0 && seen != Some((head.number, head.chain))) {
        let remedy = "it does not know the last release of this store: start the service with it, which says why, and run this command again";
        return Err(Error::invalid("witness", path.display(), remedy));
    }
    let charged = record.replays.get(&generation.id).copied().unwrap_or(0);
    write(store, &generation, &head, charged.into()).await
}

/// The present generation of a central loop.
async fn find(store: &dyn Store, name: &str) -> Result<Generation> {
    let mut names = Vec::new();
    for generation in
        store.generations().await?.into_iter().filter(|generation| generation.ended.is_none())
    {
        let params: LoopParams =
            serde_json::from_slice(&generation.params).map_err(Error::store)?;
        match params.trust {
            Trust::Curator if generation.name == name => return Ok(generation),
            Trust::Curator => names.push(generation.name),
            _ => {}
        }
    }
    let shown: String = name.chars().take(64).collect();
    let remedy = match names.is_empty() {
        true => "this store has no central loop".into(),
        false => format!("expected one of {}", names.join(", ")),
    };
    Err(Error::unknown("loop", format!("{shown:?}"), remedy))
}
