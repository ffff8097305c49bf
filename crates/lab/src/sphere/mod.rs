//! The family of paper 0: every trust model on one linear bandit, in the experiment of its section 5.
//!
//! | file | what it is |
//! | --- | --- |
//! | `world` | `kind = "sphere"`: the environment, at the norm of whoever's arms |
//! | `trusted` | `kind = "linucb"` and `kind = "joint"`: nobody's privacy, and a curator's |
//! | `local` | `kind = "local"` and `kind = "ldp_linucb"`: the protocol in two halves |
//! | `shuffle` | `kind = "shuffle"`: the same behind a shuffler |
//! | `online` | `kind = "online_ucb"` |
//!
//! All of them run the deployed code, person by person and message by message, on simulation noise.

mod local;
mod online;
mod shuffle;
#[cfg(test)]
mod tests;
mod trusted;
mod world;

use reticent::{
    bandit::{PublishedLocal, PublishedMechanism},
    privacy::{Guarantee, TrustModel},
};
use serde::{Deserialize, Serialize};

use crate::{
    Result,
    contest::{Certificate, Contestant, Family, Trial, mix, name_hash},
    simulate::{Player, play},
};

pub use local::{Constants, LdpLines, LocalLines};
pub use online::{LearnerName, OnlineLines};
pub use shuffle::ShuffleLines;
pub use trusted::{JointLines, LinUcbLines};
pub use world::{SphereEnvironment, World};

/// Environment `sphere`; algorithms [`Algorithm`].
#[derive(Debug)]
pub enum SphereBandits {}

/// Requested privacy.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// Requested epsilon.
    pub epsilon: f64,
    /// Requested delta; 0 asks for pure privacy, where a method has it.
    pub delta: f64,
}

/// One `[[algorithm]]` of an experiment on the sphere.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Algorithm {
    /// LinUCB without privacy.
    Linucb(LinUcbLines),
    /// A trusted curator.
    Joint(JointLines),
    /// The local protocol with the best randomiser, or a named one.
    Local(LocalLines),
    /// A trusted shuffler.
    Shuffle(ShuffleLines),
    /// LDP-LinUCB (Zheng et al. 2020).
    LdpLinucb(LdpLines),
    /// OnlineUCB (paper 0, Algorithm 1).
    OnlineUcb(OnlineLines),
}

impl Algorithm {
    fn contestant(&self, world: World, rounds: u64) -> Result<Stepping> {
        match self {
            Algorithm::Linucb(lines) => lines.contestant(world, rounds),
            Algorithm::Joint(lines) => lines.contestant(world, rounds),
            Algorithm::Local(lines) => lines.contestant(world),
            Algorithm::Shuffle(lines) => lines.contestant(world, rounds),
            Algorithm::LdpLinucb(lines) => lines.contestant(world, rounds),
            Algorithm::OnlineUcb(lines) => lines.contestant(world, rounds),
        }
    }
}

impl Family for SphereBandits {
    type Environment = SphereEnvironment;
    type Algorithm = Algorithm;

    fn contestants(
        rounds: u64,
        environment: &SphereEnvironment,
        algorithms: &[Algorithm],
    ) -> Result<Vec<Box<dyn Contestant>>> {
        let SphereEnvironment::Sphere(world) = *environment;
        world.check()?;
        let contestant = |algorithm: &Algorithm| {
            Ok(Box::new(algorithm.contestant(world, rounds)?) as Box<dyn Contestant>)
        };
        algorithms.iter().map(contestant).collect()
    }
}

/// Makes the player of one trial from its seed.
type Start = Box<dyn Fn(u64) -> Result<Box<dyn Player>> + Send + Sync>;

/// A contestant that is stepped round by round.
struct Stepping {
    name: String,
    guarantee: Option<Guarantee>,
    certificates: Vec<Certificate>,
    remarks: Vec<String>,
    world: World,
    start: Start,
}

impl Contestant for Stepping {
    fn name(&self) -> &str {
        &self.name
    }

    fn guarantee(&self) -> Option<&Guarantee> {
        self.guarantee.as_ref()
    }

    fn certificates(&self) -> &[Certificate] {
        &self.certificates
    }

    fn remarks(&self) -> Vec<String> {
        self.remarks.clone()
    }

    fn trial(&self, seed: u64, trial: u64, checkpoints: &[u64]) -> Result<Trial> {
        // Every contestant meets the same people in the same trial; its own noise is its own.
        let world = mix(seed, trial);
        let mut environment = self.world.start(world)?;
        let mut player = (self.start)(mix(world, name_hash(&self.name)))?;
        Ok(play(&mut environment, player.as_mut(), checkpoints)?.into())
    }
}

/// The constants of a publication in this world.
fn published(
    mechanism: PublishedMechanism,
    privacy: Budget,
    world: World,
    rounds: u64,
    batch: u64,
) -> PublishedLocal {
    PublishedLocal {
        mechanism,
        delta: privacy.delta,
        dimension: world.dimension,
        horizon: rounds,
        batch,
        feature_bound: world.norm,
    }
}

/// What published constants really give on arms of this world, beside what is claimed for them.
fn published_guarantee(
    constants: &PublishedLocal,
    epsilon: f64,
    model: TrustModel,
) -> Result<Guarantee> {
    let guarantee = Guarantee::of(&constants.event(epsilon)?, model, constants.delta)?;
    let domain =
        "arms (v, c) with |v| = c = L/sqrt 2 and rewards in [0, 1], as in this environment";
    Ok(guarantee
        .with_condition(domain)
        .with_claim(epsilon, constants.delta, constants.mechanism.source())?
        .simulated())
}
