//! The family of paper 0: every trust model on one linear bandit, in the experiment of its section 5.
//!
//! | file | what it is |
//! | --- | --- |
//! | `world` | `kind = "sphere"`: the environment, at the norm of whoever's arms |
//! | `table` | `kind = "table"`: a file of people and their classes |
//! | `trusted` | `kind = "linucb"` and `kind = "joint"`: nobody's privacy, and a curator's |
//! | `local` | `kind = "local"` and `kind = "ldp_linucb"`: the protocol in two halves |
//! | `shuffle` | `kind = "shuffle"`: the same behind a shuffler |
//! | `online` | `kind = "online_ucb"`, `"anytime"`, `"combiner"` and `"online_linucb"` |
//!
//! All of them run the deployed code, person by person and message by message, on simulation noise.

mod local;
mod online;
mod shuffle;
mod table;
#[cfg(test)]
mod tests;
mod trusted;
mod world;

use std::sync::Arc;

use reticent::{
    bandit::{PublishedLocal, PublishedMechanism},
    privacy::{Guarantee, TrustModel},
};
use serde::{Deserialize, Serialize};

use crate::{
    Result,
    audit::Attack,
    contest::{Certificate, Contestant, Family, Trial, mix, name_hash},
    environment::Environment,
    simulate::{Player, play},
};

pub use local::{Constants, LdpLines, LocalLines};
pub use online::{LearnerName, OnlineLinUcbLines, OnlineLines};
pub use shuffle::ShuffleLines;
use table::TableBandit;
pub use table::TableLines;
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
    /// OnlineUCB without a horizon (paper 0, Algorithm 9).
    Anytime(OnlineLines),
    /// OnlineUCB over guesses of the least eigenvalue (paper 0, Algorithm 2).
    Combiner(OnlineLines),
    /// Online LinUCB, not private (paper 0, Algorithm 4).
    OnlineLinucb(OnlineLinUcbLines),
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
            Algorithm::Anytime(lines) => lines.anytime(world, rounds),
            Algorithm::Combiner(lines) => lines.combiner(world, rounds),
            Algorithm::OnlineLinucb(lines) => lines.contestant(world, rounds),
        }
    }
}

/// What all algorithms are told.
pub struct Setting {
    world: World,
    table: Option<Arc<TableBandit>>,
    rounds: u64,
}

impl Family for SphereBandits {
    type Environment = SphereEnvironment;
    type Algorithm = Algorithm;

    type Setting = Setting;

    fn setting(rounds: u64, environment: &SphereEnvironment) -> Result<Setting> {
        let (world, table) = match environment {
            SphereEnvironment::Sphere(world) => (*world, None),
            SphereEnvironment::Table(lines) => {
                let table = lines.read()?;
                (table.world(), Some(table))
            }
        };
        world.check()?;
        Ok(Setting { world, table, rounds })
    }

    fn contestant(
        Setting { world, table, rounds }: &Setting,
        algorithm: &Algorithm,
    ) -> Result<Box<dyn Contestant>> {
        if let (Some(_), Algorithm::Local(LocalLines { known_gram_reports: Some(n), .. })) =
            (table, algorithm)
        {
            let remedy = "nobody knows the Gram matrix of these arms in advance: leave it out";
            return Err(reticent::Error::invalid("known_gram_reports", n, remedy).into());
        }
        let mut contestant = algorithm.contestant(*world, *rounds)?;
        contestant.remarks.extend(table.iter().map(|table| table.remark()));
        contestant.table.clone_from(table);
        Ok(Box::new(contestant))
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
    /// A file that stands in the sphere's place.
    table: Option<Arc<TableBandit>>,
    start: Start,
    attacks: Vec<Attack>,
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
        let mut environment: Box<dyn Environment> = match &self.table {
            None => Box::new(self.world.start(world)?),
            Some(table) => Box::new(table.start(world)?),
        };
        let mut player = (self.start)(mix(world, name_hash(&self.name)))?;
        Ok(play(environment.as_mut(), player.as_mut(), checkpoints)?.into())
    }

    fn attacks(&self) -> &[Attack] {
        &self.attacks
    }

    fn data_hash(&self) -> u64 {
        self.table.as_ref().map_or(0, |table| table.hash())
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
