//! Several processes on one store: what the others see of what one does.
//!
//! A reason to stop releases is noted in the store, and then the epoch moves on:
//!
//! ```text
//! note -> new epoch      a holder of the old one that has not seen the note cannot commit
//! new lease -> look      a holder of a later one sees the note
//! ```

use super::{Central, LifeCycle, Loop, Service, WATCHED, tick::Progress};
use crate::{
    Error, Result,
    clock::Time,
    config::LoopParams,
    loops::HeadName,
    store::{Generation, Head, ReleaseRecord},
};

/// True if a loop is stopped because its store was rolled back.
fn is_rolled_back(loop_: &LifeCycle) -> bool {
    loop_.halt_state().as_ref().is_some_and(|halt| halt.seen.is_some())
}

/// True if a head, of this number or a later one, follows another release than the one that is served here. `found` is the first record from its number on.
fn is_other_chain(head: &Head, served: HeadName, found: Option<&ReleaseRecord>) -> bool {
    if head.number == served.number {
        return HeadName::new(head.number, &head.chain) != served;
    }
    // A number that was left out after an accepted rollback has no record.
    let record = found.filter(|record| record.number == served.number);
    record.is_some_and(|record| HeadName::new(record.number, &record.chain) != served)
}

impl Central {
    /// Stops releases where these generations of the store note other appended words than the file of this process.
    fn notice_words(&self, generations: &[Generation]) -> Result<()> {
        let present = generations.iter().find(|generation| generation.id == self.generation);
        let Some(present) = present else { return Ok(()) };
        let params: LoopParams = serde_json::from_slice(&present.params).map_err(Error::store)?;
        if params.appended() != self.plan.params.appended() {
            let why = "another process has appended words to a list of this loop: give all of them the same file of loops, and start this one again";
            self.halt(why.into(), None);
        }
        Ok(())
    }
}

impl Service {
    /// Looks at what other processes have done to the whole store: people they have erased, keys they have revoked, keys of people's hashes they have begun with.
    pub async fn follow_others(&self) -> Result<()> {
        self.people.follow(self.store.as_ref()).await?;
        self.inform_witness_of_others().await?;
        self.notice_ended().await?;
        self.show_watch().await
    }

    /// Stops releases of a loop where another process has begun a new generation of it, so that nothing is learnt from what this one answers any more, or has appended words that this one
    /// does not know. What this one answers until it is started again is learnt from in the second case.
    async fn notice_ended(&self) -> Result<()> {
        let generations = self.store.generations().await?;
        for loop_ in self.loops().filter(|loop_| loop_.halt_state().is_none()) {
            if generations
                .iter()
                .any(|generation| generation.id == loop_.generation && generation.ended.is_some())
            {
                let why = "another process has begun a new generation of this loop: give all of them the same file of loops, and start this one again";
                loop_.halt(why.into(), None);
            }
        }
        for loop_ in self.central_loops().filter(|loop_| loop_.halt_state().is_none()) {
            loop_.notice_words(&generations)?;
        }
        Ok(())
    }

    /// Stops releases of a loop to which another process has appended words. It is called before each release: what the store notes about a file is public, and events with such words are not.
    pub(super) async fn notice_words(&self, loop_: &Loop) -> Result<()> {
        match loop_.central() {
            Some(central) => central.notice_words(&self.store.generations().await?),
            None => Ok(()),
        }
    }

    /// Shows to a process that starts with a new witness that this one compares the store with its own.
    async fn show_watch(&self) -> Result<()> {
        if self.witness.is_some() {
            let shown = self.store.raise_floor(WATCHED.into(), 0).await?;
            self.store.raise_floor(WATCHED.into(), shown.saturating_add(1)).await?;
        }
        Ok(())
    }

    /// Looks at what other processes have done to a loop: a head that they have released is served, one that is behind what this process has served shows that the
    /// store was rolled back, what they have noted stops this process too, and what an operator has accepted lets it go on.
    pub(super) async fn follow(&self, loop_: &Loop, head: &Head) -> Result<()> {
        let central = match loop_ {
            Loop::Central(central) if self.store.is_shared() => central,
            Loop::Reports(reports) if loop_.takes(head.number) => {
                self.publish(loop_, head, None).await?;
                return self.follow_reports(reports).await;
            }
            _ => return self.publish(loop_, head, None).await,
        };
        let answering = central.answering();
        let served = HeadName::new(answering.served.number, &answering.served.chain);
        let known = is_rolled_back(central);
        if !known && head.number < served.number {
            self.doubt_what_others_served(central).await?;
            return self.halt_rolled_back(central, served.number).await;
        }
        let found = match head.number > served.number {
            true => self.record_from(central, served.number).await?,
            false => None,
        };
        if !known && is_other_chain(head, served, found.as_ref()) {
            self.doubt_what_others_served(central).await?;
            return self.forked(central, served.number).await;
        }
        let before = answering.served.replays;
        let charged = self.witnessed_replays(central.generation).await.max(before);
        let last = (charged, served.number);
        // A loop that is stopped stays so until an operator accepts it, which moves the head.
        let lacks = (!known || head.number > served.number)
            && self.compare_charges(central, head, last, found.as_ref()).await?;
        self.publish(loop_, head, None).await?;
        let replays = central.answering().served.replays;
        if replays > before && !lacks {
            self.go_on(central, head, replays).await?;
        }
        self.recall_halt(central).await
    }

    /// Another process has accepted a rollback.
    async fn go_on(&self, loop_: &Central, head: &Head, replays: u64) -> Result<()> {
        self.witness_replays(loop_.generation, replays).await?;
        match loop_.note_again() {
            // The other process did not know the releases that this one served: that is another rollback.
            Some(seen) if seen >= head.number => self.halt_rolled_back(loop_, seen).await,
            _ => {
                loop_.halt_state().take_if(|halt| halt.seen.is_some());
                Ok(())
            }
        }
    }

    /// Ends the right of the process that may release now, when it is noted that nothing may be released.
    pub(super) async fn end_epoch(&self, loop_: &LifeCycle) -> Result<()> {
        if self.store.is_shared() {
            self.store.take_epoch(loop_.generation).await?;
        }
        Ok(())
    }

    /// Counts open events again when slots have closed: other processes add some too. Rank requests wait for it, so that it must not take longer the more events are open.
    pub(super) async fn recount(
        &self,
        loop_: &Loop,
        head: &Head,
        progress: &mut Progress,
        now: Time,
    ) -> Result<()> {
        // After a clock that was set back, earlier slots are asked for again.
        let settled = loop_.settled(head, now);
        progress.settled = progress.settled.min(settled);
        if !self.store.is_shared() || head.closed == progress.counted {
            return Ok(());
        }
        let after = progress.settled;
        loop_.open.recount(self.store.as_ref(), loop_.generation, head.closed, after).await?;
        (progress.counted, progress.settled) = (head.closed, settled);
        Ok(())
    }
}
