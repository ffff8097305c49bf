//! Releases of a loop, as a file for another one to begin with (`warm_start`): from the service, or from its store while none runs.
//!
//! The file says what the model has cost. Some of that is known to the witness only, as are charges after which an older copy of the store was put
//! back. And a release leaves the service only when the witness knows it. So a store that was served with a witness is not read without it.

use std::path::Path;

use reticent::{bandit::Curator, noise::SecureNoise};

use super::{Service, WITNESSED, rollback::replays_name};
use crate::{
    Error, Result,
    config::{LoopParams, ModelFile, Trust},
    store::{Head, Life, Store, Witness, floor},
};

impl Service {
    /// The released model of a loop, for another loop to begin with.
    pub async fn model_file(&self, name: &str) -> Result<String> {
        let loop_ = self.central(name)?;
        let _not_while_ticking = loop_.ticking.lock().await;
        let head = self.store.head(loop_.life).await?;
        if head.number != loop_.answering().served.number {
            let why = "the last release is not served yet: try again after the next tick";
            return Err(Error::Unavailable(why.into()));
        }
        let lives = self.store.lives().await?;
        let life = lives.into_iter().find(|life| life.id == loop_.life);
        let life = life.ok_or_else(|| Error::store("the generation of the loop is missing"))?;
        let charged = self.witnessed_replays(loop_.life).await;
        write(self.store.as_ref(), &life, &head, charged).await
    }
}

/// The released model of a loop up to this head, which is known to have been served, with its cost: `charged` replays, or more where other witnesses have noted more in the store.
async fn write(store: &dyn Store, life: &Life, head: &Head, charged: u64) -> Result<String> {
    let charged = charged.max(floor(store, replays_name(life.id)).await?);
    let curator = Curator::<SecureNoise>::resume_charged(&head.state, head.number, charged)?;
    ModelFile::write(store.id(), life, (head.number, &head.chain), &curator.legacy()?)
}

/// The same from a store that no service has open.
pub(crate) async fn stored_model(
    store: &dyn Store,
    name: &str,
    witness: Option<&Path>,
) -> Result<String> {
    let life = find(store, name).await?;
    let head = store.head(life.id).await?;
    let Some(path) = witness else {
        if store.setting(WITNESSED.into()).await?.is_some() {
            let remedy = "this store was served with a witness, which may know of costs that the store does not: give its file with --witness, or start the service and \
                          run this command again";
            return Err(Error::invalid("witness", "none", remedy));
        }
        return write(store, &life, &head, 0).await;
    };
    let Some(record) = Witness::read(path)? else {
        let remedy = "there is no such file: give that of `reticent-server serve --witness`";
        return Err(Error::invalid("witness", path.display(), remedy));
    };
    let seen = record.heads.get(&life.id).map(|seen| (seen.number, seen.chain));
    // Before the first release the store names no chain, and there is no model.
    if record.store != store.id() || (head.number > 0 && seen != Some((head.number, head.chain))) {
        let remedy = "it does not know the last release of this store: start the service with it, which says why, and run this command again";
        return Err(Error::invalid("witness", path.display(), remedy));
    }
    let charged = record.replays.get(&life.id).copied().unwrap_or(0);
    write(store, &life, &head, charged.into()).await
}

/// The present generation of a central loop.
async fn find(store: &dyn Store, name: &str) -> Result<Life> {
    let mut names = Vec::new();
    for life in store.lives().await?.into_iter().filter(|life| life.ended.is_none()) {
        let params: LoopParams = serde_json::from_slice(&life.params).map_err(Error::store)?;
        match params.trust {
            Trust::Curator if life.name == name => return Ok(life),
            Trust::Curator => names.push(life.name),
            _ => {}
        }
    }
    let shown: String = name.chars().take(64).collect();
    let remedy = match names.is_empty() {
        true => "this store has no central loop".into(),
        false => format!("name one of {}", names.join(", ")),
    };
    Err(Error::unknown(format!("loop {shown:?}"), remedy))
}
