//! Model that a server publishes: plain, and checked when read.

use serde::{Deserialize, Deserializer, Serialize, de::Error as _};

use crate::{
    Error, Result,
    bandit::{Arms, Policy},
    noise::Noise,
    randomize::Bounds,
    wire::{self, Checked, count, hex},
};

/// Model that the server publishes: the way to choose. Everything in it was made from randomised reports.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    #[serde(with = "hex")]
    protocol: u64,
    #[serde(with = "count")]
    sequence: u64,
    #[serde(with = "count")]
    reports: u64,
    guide: Guide,
}

/// Way in which a person chooses.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Guide {
    /// Any arm, uniformly: an exploration phase.
    Uniform,
    /// The arm with the largest upper confidence bound, or that of a member of the policy's ensemble. Its `<theta, x>` estimates the clipped, centred reward z.
    #[serde(deserialize_with = "sound")]
    Follow(Policy),
}

/// Reads a policy and checks it: as it stands it could have parts of unequal size.
fn sound<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Policy, D::Error> {
    let policy = Policy::deserialize(deserializer)?;
    policy.check_message().map_err(D::Error::custom)?;
    Ok(policy)
}

impl Checked for Model {}
impl wire::Message for Model {
    const KIND: wire::Kind = wire::kinds::MODEL;
}

impl Model {
    /// Model of the server of this protocol, as it is read from a message.
    pub fn new(protocol: u64, sequence: u64, reports: u64, guide: Guide) -> Self {
        Model { protocol, sequence, reports, guide }
    }

    /// Number of the model in the server's sequence, from 0.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Number of reports it was made from.
    pub fn reports(&self) -> u64 {
        self.reports
    }

    /// Way to choose.
    pub fn guide(&self) -> &Guide {
        &self.guide
    }

    /// Refuses a model of another protocol.
    pub fn expect(&self, protocol: u64) -> Result<()> {
        if self.protocol == protocol {
            return Ok(());
        }
        let remedy = "it belongs to a protocol with other parameters: fetch them anew";
        Err(Error::invalid("model", format!("{:x}", self.protocol), remedy))
    }

    /// Returns whether the arm to play is drawn at random.
    pub fn draws(&self) -> bool {
        match &self.guide {
            Guide::Follow(policy) => policy.ensemble().is_some(),
            Guide::Uniform => true,
        }
    }

    /// The probability with which a person plays each arm: see [`Policy::probabilities`]. It is for the person's own use: which arms there
    /// were is their data.
    pub fn probabilities(&self, arms: &Arms) -> Result<Vec<f64>> {
        match &self.guide {
            Guide::Follow(policy) => policy.probabilities(arms),
            Guide::Uniform => Ok(vec![1.0 / arms.count() as f64; arms.count()]),
        }
    }

    /// The arm to play.
    pub(crate) fn choose<N: Noise>(
        &self,
        arms: &Arms,
        bounds: &Bounds,
        noise: &mut N,
    ) -> Result<usize> {
        match &self.guide {
            Guide::Follow(policy) => policy.choose(arms, noise.bits()),
            Guide::Uniform => {
                arms.expect(bounds.dimension, bounds.structure)?;
                Ok(noise.below(arms.count() as u64) as usize)
            }
        }
    }
}
