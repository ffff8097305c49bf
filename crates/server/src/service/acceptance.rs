//! Acceptance of a rollback by an operator: its price, and the loop that goes on under one more charge.

use reticent_loops::page::epsilon_text;
use serde::{Deserialize, Serialize};

use super::{
    Answering, Central, Service,
    rollback::{note_name, replays_name},
};
use crate::{
    Error, Result,
    clock::Clock,
    loops::{self, CentralLearner, HeadName, Rollback},
    store::{Head, Raise, Replacement, floor},
};

/// Epsilon of one unit of a loop before a rollback is accepted, and after it, which is for good.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RollbackCost {
    /// Epsilon before.
    pub before: f64,
    /// Epsilon after.
    pub after: f64,
}

/// A rollback that was accepted.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Accepted {
    /// Replays that are charged by now.
    pub replays: u64,
    /// Its price.
    pub cost: RollbackCost,
}

impl Service {
    /// The number of the head of the store, and the remedy for an operator. A store that cannot be read at present is taken to be at the served head: the loop is
    /// stopped all the same.
    pub(super) async fn acceptance(&self, loop_: &Central) -> (u64, String) {
        let head = self.head(loop_).await;
        let stored = match &head {
            Ok(head) => HeadName::new(head.number, &head.chain),
            Err(_) => {
                let answering = loop_.answering();
                HeadName::new(answering.served.number, &answering.served.chain)
            }
        };
        let cost = match &head {
            Ok(head) => self.cost_of_rollback(loop_, head).await.ok(),
            Err(_) => None,
        };
        let cost = cost.map_or_else(
            || "epsilon rises for good".into(),
            |RollbackCost { before, after }| {
                format!(
                    "epsilon rises from {} to {} for good",
                    epsilon_text(before),
                    epsilon_text(after)
                )
            },
        );
        let (number, name, stored) = (stored.number, &loop_.name, stored.text());
        let accept = format!(
            "Nothing is released. Restore the newer copy; if it is lost, accept the rollback ({cost}): \
             `reticent-server store accept-rollback --data DIR --loop {name} --head {stored}`"
        );
        (number, accept)
    }

    /// Epsilon of one unit before a rollback to this head of the store is accepted, and after.
    async fn cost_of_rollback(&self, loop_: &Central, head: &Head) -> Result<RollbackCost> {
        let known = self.charged(loop_.generation).await?.max(loop_.answering().served.replays);
        let epsilon = |number: u64| {
            let learner = CentralLearner::resume_charged(&head.state, number, known)?;
            Ok::<_, Error>(loop_.earlier.guarantee(&learner)?.epsilon())
        };
        Ok(RollbackCost { before: epsilon(head.number)?, after: epsilon(head.number + 1)? })
    }

    /// The latest release that was seen of a loop that was rolled back, and the head of its store, which must be the one that is `named`: the operator accepts no other one than they looked at.
    async fn rolled_back(&self, loop_: &Central, named: &str) -> Result<(u64, Head)> {
        let Some(seen) = loop_.halt_state().as_ref().and_then(|halt| halt.seen) else {
            let remedy = "nothing shows that this loop was rolled back: nothing has to be accepted";
            return Err(Error::invalid("head", named, remedy));
        };
        let head = self.head(loop_).await?;
        let stored = HeadName::new(head.number, &head.chain);
        if HeadName::parse(named) != Some(stored) {
            let remedy = format!("the head of this store is {}: name that one", stored.text());
            return Err(Error::invalid("head", named, remedy));
        }
        Ok((seen, head))
    }

    /// Prices going on from a store that was rolled back. Nothing is changed.
    pub async fn price_rollback(&self, name: &str, named: &str) -> Result<RollbackCost> {
        let loop_ = self.central(name)?;
        let (_, head) = self.rolled_back(loop_, named).await?;
        self.cost_of_rollback(loop_, &head).await
    }

    /// Goes on from a store that was rolled back, and charges the replay. `named` must be the head of the store; once accepted, the same name does not fit any more.
    pub async fn accept_rollback(&self, name: &str, named: &str) -> Result<Accepted> {
        let loop_ = self.central(name)?;
        let _one_at_a_time = loop_.ticking.lock().await;
        let from = self.store.head(loop_.generation).await?.key();
        let (seen, head) = self.rolled_back(loop_, named).await?;
        let before = self.cost_of_rollback(loop_, &head).await?.before;
        // Another process may have seen a later one.
        let note = note_name(loop_.generation, loops::stored_learner(&head)?.replays());
        let seen = seen.max(floor(self.store.as_ref(), note).await?);
        // Numbers up to `seen` have been used. One more is left out, because its release may have been committed in the lost copy and not noted.
        let number = seen.max(head.number) + 1;
        let known =
            self.witnessed_replays(loop_.generation).await.max(loop_.answering().served.replays);
        let charged = self.store.raise_floor(replays_name(loop_.generation), known).await?;
        let learner = CentralLearner::resume_charged(&head.state, number, charged)?;
        let rollback = Rollback { after: head.number, replays: learner.replays() };
        let link = rollback.link(&head.chain, number, self.clock.now())?;
        let accepted = Head { number, chain: link.chain, state: learner.save(), ..head };
        if let Some(witness) = &self.witness {
            // First, so that a second accident is charged too; with the head, so that it is known which head is charged with it.
            let mut witness = witness.lock().await;
            witness.charge(loop_.generation, learner.replays());
            witness.see(loop_.generation, &accepted);
            witness.write(self.clock.now())?;
        }
        let charge =
            Raise { name: replays_name(loop_.generation), from: charged, to: learner.replays() };
        let replacement =
            Replacement { from, head: accepted.clone(), link: Some(link), charge: Some(charge) };
        self.store.replace_state(loop_.generation, replacement).await?;
        let served = loops::served(&loop_.plan, &accepted, Some(self.clock.now()), &loop_.earlier)?;
        let cost = RollbackCost { before, after: served.epsilon };
        let (epsilon, was) = (epsilon_text(cost.after), epsilon_text(cost.before));
        let replays = learner.replays();
        tracing::warn!(r#loop = %name, head = %named, replays, "an operator accepted a rollback: epsilon is now {epsilon} (was {was}), for good");
        loop_.serve(Answering::new(served, &self.tokens, loop_.generation));
        let mut halt = loop_.halt_state();
        // A client may have shown a later release since: that is another rollback.
        if halt.as_ref().is_some_and(|halt| halt.seen >= Some(number)) {
            let remedy = "a later release has been seen since: accept that rollback too";
            return Err(Error::invalid("head", named, remedy));
        }
        *halt = None;
        Ok(Accepted { replays, cost })
    }
}
