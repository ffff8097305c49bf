//! An unknown horizon: private bandits of doubling length, one after the other.
//!
//! Epoch i plays `2^i` times the first horizon with parameters of its own and forgets what was before. Every loss lies in one
//! epoch.
//!
//! **Guarantee.** A loss that is replaced changes one epoch only, and later ones see nothing of it: the promise is that of the
//! worst epoch, however many there are; the paper's extra log T is not needed. A person with k losses may have k_i of them in
//! epoch i. Each epoch is calibrated for k, and since batches add contributions up, k_i cost `k_i / k` of its mu:
//! together `sqrt(sum k_i^2) / k <= 1` of the largest. The grid's own cost is counted for all epochs at once. Pure epsilons are
//! linear in k_i and add up to the largest at most.

use serde::{Serialize, de::DeserializeOwned};

use super::{
    BanditCounts, DecisionSet, LinearOracle, PlayDecision, PlayTicket, PrivateBandit,
    PrivateBanditParams, Protection, ValueObservation, bandit_params::nothing_to_promise,
    private_bandit::Prepared,
};
use crate::{
    Error, Result,
    noise::Noise,
    privacy::{Event, Guarantee, TrustModel, Unit},
    randomize::ValueReport,
    refuse_if, wire,
};

/// Parameters, epoch, and what is kept of the epochs before, as they are saved.
type Numbers = (PrivateBanditParams, u32, u64, u64, BanditCounts);
/// Epochs that are checked, and hence promised, before the start.
const EPOCHS: u32 = 24;

/// A private bandit with an unknown horizon.
pub struct DoublingBandit<O, N> {
    params: PrivateBanditParams,
    epoch: u32,
    /// Tickets given out, releases made, and what else happened in epochs that are over.
    before: u64,
    released: u64,
    past: BanditCounts,
    /// Always there between two calls.
    current: Option<PrivateBandit<O, N>>,
    worst: Event,
}

/// Counts of clipped values are exact and private: they are not printed.
impl<O, N> std::fmt::Debug for DoublingBandit<O, N> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("DoublingBandit").field("epoch", &self.epoch).finish_non_exhaustive()
    }
}

impl<O: LinearOracle + Clone, N: Noise> DoublingBandit<O, N> {
    /// Starts with an epoch of `params.horizon` losses.
    pub fn start(params: PrivateBanditParams, set: DecisionSet<O>, noise: N) -> Result<Self> {
        let worst = worst_epoch(&params, &set)?;
        let current = Some(params.check(set)?.start(noise)?);
        let past = BanditCounts::default();
        Ok(DoublingBandit { params, epoch: 0, before: 0, released: 0, past, current, worst })
    }

    /// The next point to play; starts the next epoch when one is over, and stops waiting for its values. An error changes
    /// nothing.
    pub fn decide(&mut self) -> Result<PlayDecision> {
        let current = self.current.as_ref().ok_or_else(lost)?;
        if current.decisions() >= lengthened(&self.params, self.epoch)?.horizon {
            if self.epoch + 1 == EPOCHS {
                let horizon = self.before + current.decisions();
                return Err(Error::HorizonExceeded { round: horizon + 1, horizon });
            }
            let next = lengthened(&self.params, self.epoch + 1)?.check(current.set().clone())?;
            // All that can fail, before the generators move on to the next epoch.
            let next = Prepared::new(next)?;
            self.past = self.past.and(&current.counts());
            self.before += current.decisions();
            self.released += current.releases();
            self.epoch += 1;
            self.current = self.current.take().map(|last| next.begin(last.into_sources()));
        }
        let mut decision = self.current.as_mut().ok_or_else(lost)?.decide()?;
        decision.ticket.0 += self.before;
        Ok(decision)
    }

    /// Learns the value of a decision of the running epoch. An error changes nothing.
    pub fn observe(&mut self, ticket: PlayTicket, value: f64) -> Result<ValueObservation> {
        let within = self.within(ticket)?;
        self.current.as_mut().ok_or_else(lost)?.observe(within, value)
    }

    /// Learns a value that was protected where it arose, as [`PrivateBandit::absorb`] does. An error changes nothing.
    pub fn absorb(&mut self, ticket: PlayTicket, report: ValueReport) -> Result<ValueObservation> {
        let within = self.within(ticket)?;
        self.current.as_mut().ok_or_else(lost)?.absorb(within, report)
    }

    fn within(&self, ticket: PlayTicket) -> Result<PlayTicket> {
        let within = ticket.0.checked_sub(self.before).map(PlayTicket);
        within.ok_or_else(|| Error::invalid("ticket", ticket.0, "its epoch is over: let it go"))
    }

    /// Epochs that are over.
    pub fn epochs(&self) -> u32 {
        self.epoch
    }

    /// The learner of the running epoch.
    pub fn current(&self) -> Option<&PrivateBandit<O, N>> {
        self.current.as_ref()
    }

    /// Counts of all epochs until now.
    pub fn counts(&self) -> BanditCounts {
        self.current.as_ref().map_or(self.past, |current| self.past.and(&current.counts()))
    }

    /// Decisions made so far, what [`DoublingBandit::resume`] asks for.
    pub fn decisions(&self) -> u64 {
        self.before + self.current.as_ref().map_or(0, PrivateBandit::decisions)
    }

    /// Releases made so far, what [`DoublingBandit::resume`] asks for.
    pub fn releases(&self) -> u64 {
        self.released + self.current.as_ref().map_or(0, PrivateBandit::releases)
    }

    /// Guarantee of the whole run, however long.
    pub fn guarantee(&self) -> Result<Guarantee> {
        let model = match self.params.protection {
            Protection::None => return Err(nothing_to_promise()),
            Protection::Local { .. } => TrustModel::Local,
            Protection::Central { .. } | Protection::CentralPure { .. } => TrustModel::Joint,
        };
        let guarantee = Guarantee::of(&self.worst, model, self.params.stated_delta())?
            .with_unit(Unit::Person { at_most: self.params.contributions_per_person })
            .with_condition("saved states resumed with the true number of releases made, by one process at a time");
        let guarantee = if N::PROTECTS_PEOPLE { guarantee } else { guarantee.simulated() };
        self.params.stated(guarantee)
    }
}

impl<O, N> DoublingBandit<O, N>
where
    O: LinearOracle + Clone,
    N: Noise + Serialize + DeserializeOwned,
{
    /// The whole state but the set: protect these bytes as the data itself.
    pub fn save(&self) -> Vec<u8> {
        let numbers: Numbers =
            (self.params.clone(), self.epoch, self.before, self.released, self.past);
        wire::save(
            wire::kinds::DOUBLING_BANDIT,
            &(numbers, self.current.as_ref().map(PrivateBandit::save)),
        )
    }

    /// Continues on the same set as [`PrivateBandit::resume`] does.
    pub fn resume(
        bytes: &[u8],
        releases_made: u64,
        decisions_made: u64,
        set: DecisionSet<O>,
    ) -> Result<Self> {
        let (numbers, current): (Numbers, Option<Vec<u8>>) =
            wire::load(wire::kinds::DOUBLING_BANDIT, bytes)?;
        let (params, epoch, before, released, past) = numbers;
        let worst = worst_epoch(&params, &set)?;
        let left = releases_made.saturating_sub(released);
        let within = decisions_made.saturating_sub(before);
        let current = current.ok_or_else(lost)?;
        let current = PrivateBandit::resume(&current, left, within, set)?;
        if *current.params() != lengthened(&params, epoch)? {
            let remedy = "its epoch does not follow from its parameters; restore another copy";
            return Err(Error::invalid("saved epoch", epoch, remedy));
        }
        let current = Some(current);
        Ok(DoublingBandit { params, epoch, before, released, past, current, worst })
    }
}

/// The event that dominates every epoch's, and any spread of one person's losses over them; refuses what has none.
fn worst_epoch<O: LinearOracle + Clone>(
    params: &PrivateBanditParams,
    set: &DecisionSet<O>,
) -> Result<Event> {
    let refused = params.batch.is_some() || params.smoothing.is_some() || params.step.is_some();
    let remedy = "epochs of different lengths need different ones: leave them out";
    refuse_if(refused, "batch, smoothing or step", "a value", remedy)?;
    if params.contributions_per_person > params.horizon {
        // Each epoch is calibrated for k losses of one person, or for all it has: shorter ones could be filled one by one.
        let remedy = format!("expected at most the first horizon = {}", params.horizon);
        let k = params.contributions_per_person;
        return Err(Error::invalid("contributions_per_person", k, remedy));
    }
    let mut worst = Event::Nothing;
    for epoch in 0..EPOCHS {
        let next = lengthened(params, epoch)?.check(set.clone())?.event();
        worst = match (worst, next) {
            (
                Event::GridGaussian { mu, sigma, coordinates },
                Event::GridGaussian { mu: m, sigma: s, coordinates: c },
            ) => Event::GridGaussian {
                mu: mu.max(m),
                sigma: sigma.min(s),
                coordinates: coordinates + c,
            },
            (
                Event::DiscreteLaplace { sensitivity, scale },
                Event::DiscreteLaplace { sensitivity: d, scale: b },
            ) if sensitivity as f64 / scale > d as f64 / b => {
                Event::DiscreteLaplace { sensitivity, scale }
            }
            (_, next) => next,
        };
    }
    Ok(worst)
}

fn lengthened(params: &PrivateBanditParams, epoch: u32) -> Result<PrivateBanditParams> {
    let horizon = params.horizon.checked_shl(epoch).filter(|h| h >> epoch == params.horizon);
    let horizon = horizon.ok_or_else(|| {
        Error::invalid("horizon", params.horizon, "expected a shorter first epoch")
    })?;
    Ok(PrivateBanditParams { horizon, ..params.clone() })
}

fn lost() -> Error {
    Error::invalid("epoch", "a lost one", "begin anew")
}
