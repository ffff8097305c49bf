//! Rewards and activations are taken: committed before the answer leaves.
//!
//! They are counted where the outcome of the transaction is known, in a task that goes on when the caller has gone away: what such a caller sends again
//! changes nothing and is not counted.

use std::sync::Arc;

use super::{Counts, Service};
use crate::{
    Error, Result,
    config::Combine,
    failpoint,
    loops::RewardRequest,
    store::{NewReward, Outcome},
};
use reticent::{error::message, hash};

impl Service {
    /// Takes a reward for an event.
    pub async fn reward(&self, name: &str, event: &str, request: RewardRequest) -> Result<()> {
        let mut outcomes = self.reward_all(name, vec![(event.to_string(), request)]).await?;
        outcomes.pop().unwrap_or_else(|| Err(Error::store("no outcome was stored")))
    }

    /// Takes many rewards in one transaction.
    pub async fn reward_all(
        &self,
        name: &str,
        rewards: Vec<(String, RewardRequest)>,
    ) -> Result<Vec<Result<()>>> {
        let loop_ = self.central(name)?;
        self.check_batch("rewards", rewards.len())?;
        let sum = loop_.plan.params.reward.combine == Combine::Sum;
        let prepare = |(event, request): &(String, RewardRequest)| {
            Ok(NewReward {
                generation: loop_.generation,
                event: self.events.event(name, event),
                units: request.units()?,
                key: request.idempotency_key.as_ref().map(|key| hash::of_bytes(key.as_bytes())),
                sum,
            })
        };
        let prepared: Vec<Result<NewReward>> = rewards.iter().map(prepare).collect();
        let sound = prepared.iter().flatten().cloned().collect();
        let counted = Arc::clone(loop_);
        let outcomes = self.carry_out(self.store.reward(sound), move |outcomes: &Vec<Outcome>| {
            let number = |wanted: &[Outcome]| {
                outcomes.iter().filter(|outcome| wanted.contains(outcome)).count() as u64
            };
            Counts::add(&counted.counts.rewards, number(&[Outcome::Taken]));
            let refused = number(&[Outcome::Late, Outcome::Unknown]);
            Counts::add(&counted.counts.refused_rewards, refused);
        });
        let mut outcomes = outcomes.await?.into_iter();
        failpoint::pass("reward: committed");
        let answers = prepared.into_iter().zip(&rewards).map(|(one, (event, _))| {
            one?;
            let outcome = outcomes.next().ok_or_else(|| Error::store("no outcome was stored"))?;
            answer(outcome, event)
        });
        Ok(answers.collect())
    }

    /// Marks a deferred event as shown.
    pub async fn activate(&self, name: &str, event: &str) -> Result<()> {
        let loop_ = self.central(name)?;
        let counted = Arc::clone(loop_);
        let activated = self.store.activate(loop_.generation, self.events.event(name, event));
        let outcome = self.carry_out(activated, move |outcome| {
            Counts::add(&counted.counts.activations, u64::from(*outcome == Outcome::Taken));
        });
        answer(outcome.await?, event)
    }
}

fn answer(outcome: Outcome, event: &str) -> Result<()> {
    let shown: String = event.chars().take(64).collect();
    match outcome {
        Outcome::Taken | Outcome::Unchanged => Ok(()),
        Outcome::Late => Err(Error::Late(message(
            "event_id",
            format_args!("{shown:?}"),
            "its window has ended, and nothing changes it any more; a longer `reward.window` of the loop leaves more time",
        ))),
        Outcome::Unknown => Err(Error::unknown(
            "event_id",
            format!("{shown:?}"),
            "expected the event_id of an answer of this loop",
        )),
    }
}
