//! Answers of the server, asked for by the clock alone: no request of a device or a stranger makes a call.
//!
//! **Agreement.** A server of another protocol changes nothing here: no generation begins or ends, and reports are refused until both have the same file of loops.
//!
//! **Beginning.** When a generation of a loop begins here, the server's last model, its next batch and the time are written down once. Batches are numbered from there on. If
//! the server has batches already, an earlier store of this shuffler has sent them, and nothing is known of the ids in it: reports on models up to the one
//! at the beginning are then refused.
//!
//! **The floor.** Reports on models below it are refused, in the transaction that would store them. It is durable and never goes down: it is raised before ids
//! are forgotten, so that reports with a forgotten id are refused for their model, however `late` has changed and however reports and ticks race.
//!
//! **A bound.** Models come by the clock. A number beyond what can have been published since the beginning is not believed: it would raise the floor for ever.

use serde::{Deserialize, Serialize};

use super::{ShuffleLoop, Shuffler, waiting::ROWS};
use crate::{
    Error, Result,
    clock::Time,
    sealed::{ProtocolHash, PublicKey},
    secret::hex,
    store::{Collect, GenerationId, Head, collect_all},
};

/// Models beyond those of the clock that are believed: a clock that is set back lets a server publish one more.
const MORE_MODELS: u64 = 16;

/// Answer of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct News {
    /// The number of the loop's last model.
    pub model: u64,
    /// The number after the last batch that the server has.
    pub next_batch: u64,
    /// The hash of what devices and server agree on.
    pub protocol: ProtocolHash,
    /// The key that reports are sealed to, unless they are sealed to the shuffler.
    pub key: Option<PublicKey>,
}

/// Last answer of the server, and what follows from it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Heard {
    /// The last model as the server stated it.
    pub stated: u64,
    /// The last model that is known: never below one that was known before.
    pub model: u64,
    /// Reports on models below this are refused.
    pub floor: u64,
    /// The key that reports are sealed to.
    pub key: PublicKey,
}

/// Progress of the server when a generation began here.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Beginning {
    version: u8,
    model: u64,
    /// The number of this generation's first batch.
    pub first_batch: u64,
    time: Time,
}

const BEGINNING_VERSION: u8 = 1;

impl Beginning {
    fn read(bytes: &[u8]) -> Result<Self> {
        match postcard::from_bytes::<Beginning>(bytes) {
            Ok(beginning) if beginning.version == BEGINNING_VERSION => Ok(beginning),
            _ => Err(Error::store(
                "the beginning of a shuffler's loop is damaged: restore another copy",
            )),
        }
    }

    /// Reports on models below this may have left an earlier store.
    fn floor(&self) -> u64 {
        if self.first_batch == 0 { 0 } else { self.model.saturating_add(1) }
    }

    /// The last model that can have been published by now.
    fn most(&self, now: Time, tick: u64) -> u64 {
        let since = now.saturating_sub(self.time) / tick.max(1);
        self.model.saturating_add(since).saturating_add(MORE_MODELS)
    }
}

/// The name of a generation's floor in the store.
pub(super) fn floor_name(generation: GenerationId) -> String {
    format!("shuffler floor {generation}")
}

impl Shuffler {
    /// Asks the server about a loop.
    pub async fn follow(&self, name: &str) -> Result<()> {
        let loop_ = self.find(name)?;
        let _one_at_a_time = loop_.forwarding.lock().await;
        self.hear(loop_).await.map(drop)
    }

    /// Asks the server, closes slots up to its last model, raises the floor, and forgets ids below it.
    pub(super) async fn hear(&self, loop_: &ShuffleLoop) -> Result<Heard> {
        // Before the answer: models that are published while it is on its way count as later than the beginning.
        let asked = self.clock.now();
        let news = self.upstream.news(&loop_.plan.name).await?;
        let key = self.check(loop_, &news)?;
        loop_.begin(self.store.as_ref()).await?;
        let generation = loop_.generation()?;
        let beginning = self.beginning(loop_, generation, &news, asked).await?;
        let most = beginning.most(self.clock.now(), loop_.plan.tick);
        if news.model > most {
            return Err(Error::Unavailable(format!(
                "the server says that model {} is the last, and {most} at most can have been published: it is not believed; compare the clocks of both machines",
                news.model
            )));
        }
        // One that has more than this shuffler made has them from another one.
        let made = loop_.next_number(loop_.batches())?;
        if loop_.state().arrived.is_none() || news.next_batch > made {
            self.compare(loop_, news.next_batch).await?;
        }
        let head = self.store.head(generation).await?;
        let model = news.model.max(head.closed);
        if model > head.closed {
            // First, so that no report of an older model comes into a later slot than its id is kept for.
            self.store.close(generation, model).await?;
        }
        let floor = beginning.floor().max(model.saturating_sub(loop_.plan.late_models));
        let floor = self.store.raise_floor(floor_name(generation), floor).await?;
        let heard = Heard { stated: news.model, model, floor, key };
        loop_.expect_key(key);
        // Before reports are taken, or a sender could have more than the cap.
        self.recount(loop_, key).await?;
        loop_.note(heard);
        self.collect(generation, &head, floor).await?;
        Ok(heard)
    }

    /// Refuses a server of another protocol, and says what reports are sealed to.
    fn check(&self, loop_: &ShuffleLoop, news: &News) -> Result<PublicKey> {
        if news.protocol != loop_.subject.protocol {
            loop_.disagree();
            return Err(Error::Unavailable(format!(
                "the server's protocol is {} and the shuffler's {}: give both the same file of loops",
                hex(&news.protocol),
                hex(&loop_.subject.protocol)
            )));
        }
        match (loop_.plan.sums(), news.key) {
            (true, _) => Ok(*self.key.public()),
            (false, Some(key)) => Ok(key),
            (false, None) => {
                Err(Error::Unavailable("the server names no key: update the older program".into()))
            }
        }
    }

    /// Progress of the server when this generation began; now, if it begins now.
    async fn beginning(
        &self,
        loop_: &ShuffleLoop,
        generation: GenerationId,
        news: &News,
        time: Time,
    ) -> Result<Beginning> {
        if let Some(beginning) = loop_.state().beginning {
            return Ok(beginning);
        }
        let (model, first_batch) = (news.model, news.next_batch);
        if model > (time / loop_.plan.tick.max(1)).saturating_add(MORE_MODELS)
            || first_batch == u64::MAX
        {
            return Err(Error::Unavailable(format!(
                "the server says that model {model} is the last and batch {first_batch} the next: no server has published that many since 1970"
            )));
        }
        let beginning = Beginning { version: BEGINNING_VERSION, model, first_batch, time };
        let bytes = postcard::to_stdvec(&beginning).map_err(Error::store)?;
        let name = format!("shuffler birth {generation}");
        let beginning = Beginning::read(&self.store.keep_setting(name, bytes).await?)?;
        loop_.state().beginning = Some(beginning);
        Ok(beginning)
    }

    /// Removes reports in batches that have arrived, and ids of reports whose models are no longer taken.
    async fn collect(&self, generation: GenerationId, head: &Head, floor: u64) -> Result<()> {
        let what = Collect {
            slot: head.folded,
            unreleased: false,
            before: u64::MAX,
            // A report of slot s is on a model below s, and models below the floor are refused.
            forget_ids: floor,
            // The last batch may have to be sent again.
            first_release: head.number,
            limit: ROWS,
        };
        collect_all(self.store.as_ref(), generation, what).await
    }
}

impl ShuffleLoop {
    /// Under another key other reports than those that were counted fit into the next batch.
    fn expect_key(&self, key: PublicKey) {
        let mut state = self.state();
        state.uncertain |= state.heard.is_some_and(|before| before.key != key);
    }

    fn note(&self, heard: Heard) {
        let mut state = self.state();
        let behind = heard.stated < heard.model;
        if behind && state.heard.is_none_or(|before| before.stated >= before.model) {
            tracing::error!(r#loop = %self.plan.name, "the server was rolled back from model {} to {}", heard.model, heard.stated);
        }
        state.heard = Some(heard);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::row::golden;

    #[test]
    fn the_beginning_of_a_generation_has_golden_bytes() {
        let beginning =
            Beginning { version: BEGINNING_VERSION, model: 300, first_batch: 7, time: 1 << 40 };
        let bytes = postcard::to_stdvec(&beginning).unwrap();
        let read = Beginning::read(&golden::file("birth", BEGINNING_VERSION, &bytes)).unwrap();
        assert_eq!((read.model, read.first_batch, read.time), (300, 7, 1 << 40));
        assert_eq!(read.floor(), 301);
    }
}
