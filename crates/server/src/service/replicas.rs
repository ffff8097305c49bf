//! Several processes on one store: what the others see of what one does.
//!
//! What stops releases is noted in the store, and then the epoch moves on:
//!
//! ```text
//! note -> new epoch      a holder of the old one that has not seen the note cannot commit
//! new lease -> look      a holder of a later one sees the note
//! ```

use std::sync::Arc;

use super::{Loop, Service, WATCHED};
use crate::{Result, loops::HeadName, store::Head};

impl Service {
    /// Looks at what other processes have done to the whole store: people they have erased, keys they have revoked, keys of people's hashes they have begun with.
    pub async fn follow_others(&self) -> Result<()> {
        self.people.follow(self.store.as_ref()).await?;
        self.inform_witness_of_others().await?;
        self.show_watch().await
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
    /// store has gone back, what they have noted stops this process too, and what an operator has accepted lets it go on.
    pub(super) async fn follow(&self, each: &Arc<Loop>, head: &Head) -> Result<()> {
        if !self.store.is_shared() {
            return self.publish(each, head, None).await;
        }
        let answering = each.answering();
        let served = HeadName::new(answering.served.number, &answering.served.chain);
        let known = each.halt_state().as_ref().is_some_and(|halt| halt.seen.is_some());
        if !known && head.number < served.number {
            return self.gone_back(each, served.number).await;
        }
        if !known && self.is_other_chain(each, head, served).await? {
            return self.forked(each, served.number).await;
        }
        self.publish(each, head, None).await?;
        let replays = each.answering().served.replays;
        if replays > answering.served.replays {
            self.go_on(each, head, replays).await?;
        }
        self.recall_halt(each).await
    }

    /// Whether a head, of this number or a later one, follows another release than the one that is served here.
    async fn is_other_chain(&self, each: &Loop, head: &Head, served: HeadName) -> Result<bool> {
        if head.number == served.number {
            return Ok(HeadName::new(head.number, &head.chain) != served);
        }
        // A number that was left out after an accepted rollback has no record.
        let records = self.store.releases(each.life, served.number.max(1), 1).await?;
        let record = records.first().filter(|record| record.number == served.number);
        Ok(record.is_some_and(|record| HeadName::new(record.number, &record.chain) != served))
    }

    /// Another process has accepted a rollback.
    async fn go_on(&self, each: &Loop, head: &Head, replays: u64) -> Result<()> {
        self.witness_replays(each.life, replays).await?;
        let seen = each.halt_state().take_if(|halt| halt.seen.is_some());
        match seen.and_then(|halt| halt.seen) {
            // It did not know of what was seen here: that is another rollback.
            Some(seen) if seen >= head.number => self.gone_back(each, seen).await,
            _ => Ok(()),
        }
    }

    /// Ends the right of whoever may release now, when it is noted that nothing may be released.
    pub(super) async fn end_epoch(&self, each: &Loop) -> Result<()> {
        if self.store.is_shared() {
            self.store.take_epoch(each.life).await?;
        }
        Ok(())
    }

    /// Counts open events again when slots have closed: other processes add some too.
    pub(super) async fn recount(&self, each: &Loop, head: &Head, counted: &mut u64) -> Result<()> {
        if !self.store.is_shared() || head.closed == *counted {
            return Ok(());
        }
        each.open.recount(self.store.as_ref(), each.life).await?;
        *counted = head.closed;
        Ok(())
    }
}
