//! An unknown horizon: private bandits of doubling length, one after the other.
//!
//! Epoch i plays `2^i` times the first horizon with parameters of its own and forgets what was before. Every loss lies in one
//! epoch.
//!
//! **Guarantee.** A loss that is replaced changes one epoch only, and later ones see nothing of it: the promise is that of the
//! worst epoch, however many there are; the paper's extra log T is not needed. A person with k losses may have k_i in
//! epoch i: each epoch is calibrated for k, and costs at most `k_i / k` of its mu, so together `sqrt(sum k_i^2) / k <= 1` of it
//! under Gaussian noise; pure epsilons add up to at most one.

use super::{
    DecisionSet, LinearOracle, PlayDecision, PlayTicket, PrivateBandit, PrivateBanditParams,
    ValueObservation,
};
use crate::{Error, Result, noise::Noise, privacy::Guarantee};

/// Epochs that are checked, and hence promised, before the start.
const EPOCHS: u32 = 24;

/// A private bandit that nobody has to tell when it ends.
#[derive(Debug)]
pub struct DoublingBandit<O, N> {
    params: PrivateBanditParams,
    epoch: u32,
    /// Tickets given out in epochs that are over.
    before: u64,
    current: Option<PrivateBandit<O, N>>,
    guarantee: Option<Guarantee>,
}

impl<O: LinearOracle + Clone, N: Noise> DoublingBandit<O, N> {
    /// Starts with an epoch of `params.horizon` losses.
    pub fn start(params: PrivateBanditParams, set: DecisionSet<O>, noise: N) -> Result<Self> {
        if params.batch.is_some() || params.smoothing.is_some() || params.step.is_some() {
            let remedy = "epochs of different lengths need different ones: leave them out";
            return Err(Error::invalid("batch, smoothing or step", "given", remedy));
        }
        let mut worst: Option<Guarantee> = None;
        for epoch in 0..EPOCHS {
            let plan = lengthened(&params, epoch)?.check(set.clone())?;
            if let Ok(guarantee) = plan.guarantee() {
                if worst.as_ref().is_none_or(|worst| guarantee.epsilon() > worst.epsilon()) {
                    worst = Some(guarantee);
                }
            }
        }
        let guarantee = worst.map(|g| if N::PROTECTS_PEOPLE { g } else { g.simulated() });
        let current = Some(params.check(set)?.start(noise)?);
        Ok(DoublingBandit { params, epoch: 0, before: 0, current, guarantee })
    }

    /// The next point to play; starts the next epoch when one is over, and stops waiting for its values.
    pub fn decide(&mut self) -> Result<PlayDecision> {
        let bandit = self.current.as_ref().ok_or_else(lost)?;
        if bandit.decisions() == lengthened(&self.params, self.epoch)?.horizon {
            if self.epoch + 1 == EPOCHS {
                let horizon = self.before + bandit.decisions();
                return Err(Error::HorizonExceeded { round: horizon + 1, horizon });
            }
            let next = lengthened(&self.params, self.epoch + 1)?;
            let plan = next.check(bandit.set().clone())?;
            self.before += bandit.decisions();
            self.epoch += 1;
            let (_, noise) = self.current.take().ok_or_else(lost)?.into_parts();
            self.current = Some(plan.start(noise)?);
        }
        let mut decision = self.current.as_mut().ok_or_else(lost)?.decide()?;
        decision.ticket.0 += self.before;
        Ok(decision)
    }

    /// Learns the value of a decision of the running epoch.
    pub fn observe(&mut self, ticket: PlayTicket, value: f64) -> Result<ValueObservation> {
        let Some(within) = ticket.0.checked_sub(self.before) else {
            return Err(Error::invalid("ticket", ticket.0, "its epoch is over: let it go"));
        };
        self.current.as_mut().ok_or_else(lost)?.observe(PlayTicket(within), value)
    }

    /// Epochs that are over.
    pub fn epochs(&self) -> u32 {
        self.epoch
    }

    /// The learner of the running epoch.
    pub fn current(&self) -> Option<&PrivateBandit<O, N>> {
        self.current.as_ref()
    }

    /// What may be promised of the whole run, however long: the worst epoch's.
    pub fn guarantee(&self) -> Result<Guarantee> {
        self.guarantee.clone().ok_or_else(super::bandit_params::nothing_to_promise)
    }
}

fn lengthened(params: &PrivateBanditParams, epoch: u32) -> Result<PrivateBanditParams> {
    let horizon = params.horizon.checked_shl(epoch).filter(|h| h >> epoch == params.horizon);
    let horizon = horizon
        .ok_or_else(|| Error::invalid("horizon", params.horizon, "give a shorter first epoch"))?;
    Ok(PrivateBanditParams { horizon, ..*params })
}

fn lost() -> Error {
    Error::invalid("epoch", "lost", "the last one could not start: begin anew")
}
