//! Parameters of a learner in episodes, and the check that turns them into a plan.

use serde::{Deserialize, Serialize};

use super::{
    Episodes,
    noise::{EpisodeNoise, GRID, LEAST_BATCH},
};
use crate::{
    Error, Result,
    error::{finite_vector, not_negative, positive, requested_delta, requested_epsilon},
    noise::Noise,
    privacy::{Event, Guarantee, TrustModel, Unit},
    refuse_if,
};

/// Largest number of arms.
const MOST_ARMS: usize = 1 << 16;

/// Parameters of [`Episodes`].
///
/// ```
/// use reticent::{bandit::EpisodesParams, noise::SecureNoise};
///
/// let arms = vec![vec![1.0, 0.0], vec![0.0, 1.0], vec![0.6, 0.8]];
/// let plan = EpisodesParams::new(arms, 1.0, 1e-6).check()?;
/// assert!(plan.guarantee()?.epsilon() <= 1.0);
/// let mut learner = plan.start(SecureNoise::from_system()?);
/// let decision = learner.decide()?;
/// learner.observe(decision.number, 0.7)?;
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EpisodesParams {
    /// Features of the arms: public, fixed, and the same for all people. Norms are at most 1.
    pub arms: Vec<Vec<f64>>,
    /// The lowest and the highest reward; others are clipped.
    pub rewards: (f64, f64),
    /// Party that sees rewards: [`TrustModel::Joint`] a curator, [`TrustModel::Shuffle`] a shuffler of bits, [`TrustModel::None`] all.
    pub trust: TrustModel,
    /// Requested epsilon; not looked at without privacy.
    pub epsilon: f64,
    /// Requested delta; a curator's releases hold with delta = 0 too.
    pub delta: f64,
    /// k: rewards of one person that are learnt from, at most.
    pub contributions_per_person: u64,
    /// Episodes last ticks of the caller's clock, and numbers of people are hidden too.
    pub clock: bool,
    /// Half-life in people, by the clock in ticks: what was released counts half after this time.
    pub forget: Option<f64>,
    /// Reward, of an event by the clock, that has not come.
    pub default_reward: f64,
    /// Multiplies `sqrt(ln(1 + people))` deviations of the estimate.
    pub width: f64,
    /// An episode lasts until det V has grown by this factor.
    pub growth: f64,
}

impl EpisodesParams {
    /// Width by default, found by simulation (`docs/papers/joint.md`).
    pub const WIDTH: f64 = 0.8;
    /// Growth by default.
    pub const GROWTH: f64 = 1.6;

    /// A curator's learner with one reward of each person in [0, 1].
    pub fn new(arms: Vec<Vec<f64>>, epsilon: f64, delta: f64) -> Self {
        EpisodesParams {
            arms,
            rewards: (0.0, 1.0),
            trust: TrustModel::Joint,
            epsilon,
            delta,
            contributions_per_person: 1,
            clock: false,
            forget: None,
            default_reward: 0.0,
            width: EpisodesParams::WIDTH,
            growth: EpisodesParams::GROWTH,
        }
    }

    /// Calibrates the noise of every size of episodes, or says which parameter stands in the way.
    pub fn check(&self) -> Result<EpisodesPlan> {
        self.check_arms()?;
        let (low, high) = self.rewards;
        let remedy = "expected two finite numbers, the smaller one first";
        let sound = low.is_finite() && high.is_finite() && low < high && (high - low).is_finite();
        refuse_if(!sound, "rewards", format_args!("[{low}, {high}]"), remedy)?;
        not_negative("width", self.width)?;
        let remedy = "expected a finite number above 1";
        refuse_if(!(self.growth > 1.0 && self.growth.is_finite()), "growth", self.growth, remedy)?;
        self.forget.map_or(Ok(0.0), |half_life| positive("forget", half_life))?;
        let refused = !(low..=high).contains(&self.default_reward);
        let remedy = format_args!("stay within the rewards, {low} to {high}");
        refuse_if(refused, "default_reward", self.default_reward, remedy)?;
        self.check_privacy()?;
        let noise = EpisodeNoise::new(self)?;
        Ok(EpisodesPlan { params: self.clone(), noise })
    }

    fn check_arms(&self) -> Result<()> {
        let count = self.arms.len();
        let remedy = "expected 1 to 65536 arms, each a list of features";
        refuse_if(!(1..=MOST_ARMS).contains(&count), "arms", count, remedy)?;
        let dimension = self.arms[0].len();
        refuse_if(dimension == 0, "arms", "no features", "expected at least one feature")?;
        for arm in &self.arms {
            finite_vector("arms", arm, dimension)?;
            let norm = arm.iter().map(|x| x * x).sum::<f64>().sqrt();
            let remedy = "scale all arms by one factor, so that none is longer than 1";
            refuse_if(norm > 1.0 + 1e-9, "arms", format_args!("one of norm {norm}"), remedy)?;
        }
        Ok(())
    }

    fn check_privacy(&self) -> Result<()> {
        let most = self.contributions_per_person;
        refuse_if(most == 0, "contributions_per_person", 0, "expected a whole number above 0")?;
        match self.trust {
            TrustModel::None => Ok(()),
            TrustModel::Joint => {
                requested_epsilon(self.epsilon)?;
                requested_delta(self.delta)?;
                let scale = 4.0 * most as f64 * GRID as f64 / self.epsilon;
                let remedy = "the noise would leave its grid; expected a larger epsilon or fewer contributions";
                refuse_if(scale > (1_u64 << 47) as f64, "epsilon", self.epsilon, remedy)
            }
            TrustModel::Shuffle => {
                requested_epsilon(self.epsilon)?;
                requested_delta(self.delta)?;
                let remedy =
                    "bits of one person may meet in one batch; expected 1; or take a curator";
                refuse_if(most > 1, "contributions_per_person", most, remedy)?;
                let remedy = "a batch is of a number of people that is known before: count rounds, or take a curator";
                refuse_if(self.clock, "clock", true, remedy)
            }
            TrustModel::Local => {
                let remedy = "expected central, shuffle or no privacy; local learners with public arms are made by LocalParams";
                Err(Error::invalid("trust", self.trust, remedy))
            }
        }
    }

    /// The number of the arm with these features, if there is one: to a part in 10^9, since features are computed anew for each request.
    pub fn arm_of(&self, features: &[f64]) -> Option<usize> {
        let near = |arm: &Vec<f64>| {
            arm.len() == features.len()
                && arm.iter().zip(features).all(|(a, x)| (a - x).abs() <= 1e-9)
        };
        self.arms.iter().position(near)
    }
}

/// Checked parameters with the noise of every episode.
#[derive(Debug, Clone, PartialEq)]
pub struct EpisodesPlan {
    pub(super) params: EpisodesParams,
    pub(super) noise: EpisodeNoise,
}

impl EpisodesPlan {
    /// The parameters that were checked.
    pub fn params(&self) -> &EpisodesParams {
        &self.params
    }

    /// The same for other arms: noise does not depend on them.
    pub fn with_arms(&self, arms: Vec<Vec<f64>>) -> Result<Self> {
        let params = EpisodesParams { arms, ..self.params.clone() };
        params.check_arms()?;
        Ok(EpisodesPlan { params, noise: self.noise.clone() })
    }

    /// Starts learning on a source of noise.
    pub fn start<N: Noise>(self, noise: N) -> Episodes<N> {
        Episodes::new(self, noise)
    }

    /// Event of all releases about one person, who takes part at most k times.
    pub fn event(&self) -> Event {
        self.noise.event().clone()
    }

    /// Guarantee of the whole run; an error without privacy.
    pub fn guarantee(&self) -> Result<Guarantee> {
        self.guarantee_after(0)
    }

    /// Guarantee of one bit for those who see it before it is shuffled; an error where there is no shuffler.
    pub fn local_guarantee(&self) -> Result<Guarantee> {
        let EpisodesParams { trust, delta, .. } = self.params;
        let remedy = "bits are sent to a shuffler: give trust = shuffle";
        refuse_if(trust != TrustModel::Shuffle, "trust", trust, remedy)?;
        let event = Event::RandomizedResponse { categories: 2, epsilon: self.noise.most_local() };
        Guarantee::of(&event, TrustModel::Local, delta)
    }

    pub(super) fn event_after(&self, replays: u64) -> Event {
        match (replays, self.params.trust) {
            (0, _) | (_, TrustModel::None) => self.event(),
            // A person may take part once on each line. Of a shuffler's bits a replay keeps none (`Episodes::branch`), and its batches are new.
            _ => {
                Event::Repeated { event: Box::new(self.event()), times: replays.saturating_add(1) }
            }
        }
    }

    pub(super) fn guarantee_after(&self, replays: u64) -> Result<Guarantee> {
        let EpisodesParams { trust, delta, contributions_per_person, clock, .. } = self.params;
        let remedy = "a learner without privacy has no guarantee";
        refuse_if(trust == TrustModel::None, "trust", trust, remedy)?;
        // Deltas of replayed batches add up; a curator's event has none.
        let delta = match trust {
            TrustModel::Shuffle => (delta * (replays as f64 + 1.0)).min(0.5),
            _ => delta,
        };
        let guarantee = Guarantee::of(&self.event_after(replays), trust, delta)?
            .with_unit(Unit::Person { at_most: contributions_per_person });
        let guarantee = match clock {
            true => guarantee.with_condition(format!(
                "a person's at most {contributions_per_person} visits may be replaced by any others, at any times, or by none; the times of the ticks do not depend on the data"
            )),
            false => guarantee
                .with_condition("arms are fixed and public, the same for all people: no person is offered others, and which is shown follows from releases alone")
                .with_condition("which rewards come, and when, is public and does not depend on people's data")
                .with_condition(format!("the caller hands over at most {contributions_per_person} of one person's rewards (assumed, not enforced)")),
        };
        let guarantee = match trust {
            TrustModel::Shuffle => guarantee
                .with_condition(format!(
                    "a shuffler that colludes with no party, and batches of {LEAST_BATCH} or more people, all of whom send binary randomised response at the local epsilon of their episode"
                ))
                .with_condition("bits reach the shuffler unread, each once, and no batch leaves it before it has its number of people"),
            _ => guarantee,
        };
        let guarantee = guarantee.with_condition(
            "saved states resumed with the true number of releases made, by one process at a time",
        );
        Ok(match replays {
            0 => guarantee,
            _ => guarantee
                .with_condition(format!("replays from old states: {replays}, each counted")),
        })
    }
}
