//! The learner of a central loop, by what its actions are.
//!
//! | actions | learner | contributions |
//! | --- | --- | --- |
//! | those of each rank request | private sums and a rule ([`Curator`]) | features and reward |
//! | fixed, the same for all people | optimism in episodes ([`Episodes`]) | action and reward |

use reticent::{
    bandit::{Curator, EpisodeSums, Episodes, EpisodesPlan, JointPlan, Legacy, Policy},
    noise::SecureNoise,
    privacy::{Event, Guarantee},
    release::{ContributionSums, Release},
    wire,
};

use crate::{Error, Result};

/// A checked learner of a central loop.
#[derive(Debug, Clone)]
pub enum LearnerPlan {
    /// Private sums and a rule.
    Sums(Box<JointPlan>),
    /// Fixed actions.
    Episodes(Box<EpisodesPlan>),
}

impl LearnerPlan {
    /// The plan of private sums and a rule, if it is that.
    pub fn sums(&self) -> Option<&JointPlan> {
        match self {
            LearnerPlan::Sums(plan) => Some(plan),
            LearnerPlan::Episodes(_) => None,
        }
    }
}

/// The learner of a central loop.
pub enum CentralLearner {
    /// Private sums and a rule.
    Sums(Box<Curator<SecureNoise>>),
    /// Fixed actions.
    Episodes(Box<Episodes<SecureNoise>>),
}

/// Sums of the contributions of closed events.
pub enum CentralSums {
    /// Private sums and a rule.
    Sums(ContributionSums),
    /// Fixed actions.
    Episodes(EpisodeSums),
}

/// `$learner.$call`, whichever it is.
macro_rules! either {
    ($learner:expr, $name:ident => $call:expr) => {
        match $learner {
            CentralLearner::Sums($name) => $call,
            CentralLearner::Episodes($name) => $call,
        }
    };
}

impl CentralLearner {
    /// Continues from a stored state, if no release has been made since.
    pub fn resume(bytes: &[u8], releases: u64) -> Result<Self> {
        Ok(match wire::holds(wire::EPISODES, bytes) {
            true => Self::Episodes(Box::new(Episodes::resume(bytes, releases)?)),
            false => Self::Sums(Box::new(Curator::resume(bytes, releases)?)),
        })
    }

    /// Continues from an older state and pays for the replay.
    pub fn resume_charged(bytes: &[u8], releases: u64, charged: u64) -> Result<Self> {
        Ok(match wire::holds(wire::EPISODES, bytes) {
            true => Self::Episodes(Box::new(Episodes::resume_charged(bytes, releases, charged)?)),
            false => Self::Sums(Box::new(Curator::resume_charged(bytes, releases, charged)?)),
        })
    }

    /// The state, people's data included.
    pub fn save(&self) -> Vec<u8> {
        either!(self, learner => learner.save())
    }

    /// Event of all releases about one person, replays included.
    pub fn event(&self) -> Event {
        either!(self, learner => learner.event())
    }

    /// Guarantee of the whole run.
    pub fn guarantee(&self) -> Result<Guarantee> {
        Ok(either!(self, learner => learner.guarantee()?))
    }

    /// Number of replays and copies that are charged for.
    pub fn replays(&self) -> u64 {
        either!(self, learner => learner.replays())
    }

    /// Releases made so far.
    pub fn releases(&self) -> u64 {
        either!(self, learner => learner.releases())
    }

    /// Policy of the learner; everything in it has been released.
    pub fn policy(&self) -> &Policy {
        either!(self, learner => learner.policy())
    }

    /// The last release; none before the first.
    pub fn release(&self) -> Option<Release> {
        match self {
            Self::Sums(curator) => curator.release().cloned(),
            Self::Episodes(episodes) if episodes.releases() == 0 => None,
            // Its numbers are checked when an episode ends.
            Self::Episodes(episodes) => episodes.release().ok(),
        }
    }

    /// True if nothing can be absorbed any more.
    pub fn is_over(&self) -> bool {
        match self {
            Self::Sums(curator) => curator.is_over(),
            Self::Episodes(_) => false,
        }
    }

    /// Events of the learners before this one, after a warm start.
    pub fn earlier_events(&self) -> Vec<Event> {
        match self {
            Self::Sums(curator) => curator.earlier_events(),
            Self::Episodes(_) => Vec::new(),
        }
    }

    /// True if the learners before this one are `earlier` and those before that.
    pub fn began_with(&self, earlier: &Self) -> bool {
        match (self, earlier) {
            (Self::Sums(curator), Self::Sums(earlier)) => curator.began_with(earlier),
            _ => false,
        }
    }

    /// Knowledge that a later learner may begin with.
    pub fn legacy(&self) -> Result<Legacy> {
        match self {
            Self::Sums(curator) => Ok(curator.legacy()?),
            Self::Episodes(_) => {
                let remedy = "a loop with fixed actions has no model that another loop begins with: leave it as it is";
                Err(Error::invalid("model", "episodes", remedy))
            }
        }
    }

    /// Returns whether two learners hold the same people's data to the last unit; none where that cannot be distinguished.
    pub fn has_exact_sums_of(&self, other: &Self) -> Option<bool> {
        match (self, other) {
            (Self::Sums(one), Self::Sums(other)) => one.has_exact_sums_of(other),
            _ => None,
        }
    }

    /// Reward of an event whose reward has not come.
    pub fn default_reward(&self) -> f64 {
        either!(self, learner => learner.params().default_reward)
    }

    /// No contributions yet.
    pub fn no_sums(&self) -> CentralSums {
        match self {
            Self::Sums(curator) => CentralSums::Sums(curator.no_sums()),
            Self::Episodes(episodes) => CentralSums::Episodes(episodes.no_sums()),
        }
    }

    /// Adds the contribution of an event.
    pub fn contribute(&self, features: &[f64], reward: f64, sums: &mut CentralSums) -> Result<()> {
        match (self, sums) {
            (Self::Sums(curator), CentralSums::Sums(sums)) => {
                Ok(sums.add(&curator.contribution(features, reward)?)?)
            }
            (Self::Episodes(episodes), CentralSums::Episodes(sums)) => {
                Ok(episodes.contribute(features, reward, sums)?)
            }
            _ => Err(mismatch()),
        }
    }

    /// A tick of the clock: takes these contributions, and releases.
    pub fn tick(&mut self, sums: &mut CentralSums) -> Result<()> {
        match (self, sums) {
            (Self::Sums(curator), CentralSums::Sums(sums)) => Ok(curator.tick(sums)?),
            (Self::Episodes(episodes), CentralSums::Episodes(sums)) => Ok(episodes.tick(sums)?),
            _ => Err(mismatch()),
        }
    }
}

fn mismatch() -> Error {
    Error::Unavailable("the sums are of another learner".into())
}
