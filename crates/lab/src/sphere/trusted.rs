//! `kind = "linucb"` and `kind = "joint"`: learners to whom people show their data.
//!
//! Sums are of centred rewards `z = 2y - 1` unless a publication's constants are asked for, and policies are made from them by
//! the same rule as everywhere in this family.

use reticent::{
    bandit::{Arms, Exploration, Policy, PublishedLocal, PublishedMechanism},
    noise::Noise,
    privacy::{Mode, TrustModel},
    release::{Calibration, Domain, Mechanism, PrivateSum, PrivateSumParams, Release, Schedule},
};
use serde::{Deserialize, Serialize};

use super::{Budget, Stepping, World, published, published_guarantee};
use crate::{FastNoise, Result, audit, linear::MechanismName, simulate::Player};

/// What `kind = "linucb"` takes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinUcbLines {
    /// What the report calls it.
    #[serde(default)]
    pub name: Option<String>,
    /// `paper`: the width of the code of Chowdhury and Zhou, regulariser 1e-4.
    #[serde(default)]
    pub mode: Mode,
    /// The width, in `exact` mode; tuned by simulation, certified by nobody.
    #[serde(default = "tuned_width")]
    pub width: f64,
}

fn tuned_width() -> f64 {
    1.0
}

impl LinUcbLines {
    /// The learner, or what stands in its way.
    pub(super) fn contestant(&self, world: World, rounds: u64) -> Result<Stepping> {
        let exploration = match self.mode {
            Mode::Paper => Exploration::Fixed {
                ridge: 1e-4 / (world.norm * world.norm),
                width: PublishedLocal::public_width(1.0, rounds, world.dimension, world.norm),
            },
            Mode::Exact => Exploration::Fixed { ridge: 1.0, width: self.width },
        };
        let centred = self.mode == Mode::Exact;
        let start = move |_| {
            let player = Curator::new(world, exploration, centred, Source::Exact)?;
            Ok(Box::new(player) as Box<dyn Player>)
        };
        Ok(Stepping {
            name: self.name.clone().unwrap_or_else(|| "LinUCB, not private".into()),
            guarantee: None,
            certificates: Vec::new(),
            remarks: Vec::new(),
            world,
            table: None,
            start: Box::new(start),
            attacks: Vec::new(),
        })
    }
}

/// What `kind = "joint"` takes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JointLines {
    /// What the report calls it.
    #[serde(default)]
    pub name: Option<String>,
    /// Requested epsilon and delta.
    pub privacy: Budget,
    /// `exact`, or JDP-LinUCB of the code of Chowdhury and Zhou.
    #[serde(default)]
    pub mode: Mode,
    /// `blt`, `toeplitz`, `honaker` or `tree`.
    #[serde(default)]
    pub mechanism: MechanismName,
    /// How noisy sums become a policy, in `exact` mode.
    #[serde(default)]
    pub exploration: Exploration,
    /// When sums are released.
    #[serde(default)]
    pub schedule: Schedule,
    /// Rewards are centred before they are summed, in `exact` mode.
    #[serde(default = "yes")]
    pub centred: bool,
}

fn yes() -> bool {
    true
}

impl JointLines {
    /// The defaults of a file that gives the budget only.
    pub fn new(privacy: Budget) -> Self {
        JointLines {
            name: None,
            privacy,
            mode: Mode::Exact,
            mechanism: MechanismName::default(),
            exploration: Exploration::default(),
            schedule: Schedule::default(),
            centred: true,
        }
    }

    pub(super) fn contestant(&self, world: World, rounds: u64) -> Result<Stepping> {
        let Budget { epsilon, delta } = self.privacy;
        let name = self.name.clone().unwrap_or_else(|| {
            let mode = if self.mode == Mode::Paper { ", published" } else { "" };
            format!("joint{mode} ({epsilon}, {delta:e})")
        });
        if self.mode == Mode::Paper {
            let constants =
                published(PublishedMechanism::PublicJoint, self.privacy, world, rounds, 1);
            let exploration = constants.exploration(epsilon)?;
            let noise = constants.noise(epsilon)?;
            let start = move |seed| {
                let nodes = Source::PublicNodes(nodes(noise, rounds, world, seed));
                let player = Curator::new(world, exploration, false, nodes)?;
                Ok(Box::new(player) as Box<dyn Player>)
            };
            let guarantee = published_guarantee(&constants, epsilon, TrustModel::Joint)?;
            return Ok(Stepping {
                name,
                attacks: audit::local::published_tree(&constants, epsilon, &guarantee)?,
                guarantee: Some(guarantee),
                certificates: Vec::new(),
                remarks: vec![
                    "noise as that code simulates it, ln t nodes; priced as the 15-level tree it stands for".into(),
                ],
                world,
                table: None,
                start: Box::new(start),
            });
        }
        let mechanism = match self.mechanism {
            MechanismName::Blt => Mechanism::default(),
            MechanismName::Toeplitz => Mechanism::SquareRootToeplitz,
            MechanismName::Honaker => Mechanism::Honaker,
            MechanismName::Tree => Mechanism::Tree { levels: None },
            other => {
                let remedy = "give blt, toeplitz, honaker or tree";
                let value = format!("{other:?}");
                return Err(reticent::Error::invalid("mechanism", value, remedy).into());
            }
        };
        let params = PrivateSumParams {
            mechanism,
            schedule: self.schedule,
            ..PrivateSumParams::new(
                Domain::regression(world.dimension, 1.0, 1.0),
                Some(rounds),
                Calibration::Budget { epsilon, delta },
            )
        };
        let guarantee = params.check()?.guarantee(delta)?.simulated();
        let (exploration, centred) = (self.exploration, self.centred);
        let start = move |seed| {
            let sum = params.check()?.start(FastNoise::seeded(seed));
            let player = Curator::new(world, exploration, centred, Source::Stream(Box::new(sum)))?;
            Ok(Box::new(player) as Box<dyn Player>)
        };
        Ok(Stepping {
            name,
            attacks: audit::sums::attacks(&params, &guarantee),
            guarantee: Some(guarantee),
            certificates: Vec::new(),
            remarks: tuned(&exploration),
            world,
            table: None,
            start: Box::new(start),
        })
    }
}

/// Says so where a width is nobody's theorem.
pub(super) fn tuned(exploration: &Exploration) -> Vec<String> {
    match exploration {
        Exploration::Tuned { .. } => {
            vec!["the width is tuned by simulation: no confidence set is certified".into()]
        }
        _ => Vec::new(),
    }
}

/// The public code's nodes: `floor(ln n) + 1` of them, each with noise on the whole matrix, symmetrised, and on the vector.
fn nodes(noise: f64, rounds: u64, world: World, seed: u64) -> Vec<Vec<f64>> {
    let d = world.dimension;
    let mut source = FastNoise::seeded(seed);
    let count = (rounds as f64).ln().floor() as usize + 1;
    let (square, norm) = (world.norm * world.norm, world.norm);
    (0..count)
        .map(|_| {
            let mut node = Vec::new();
            for row in 0..d {
                for column in row..d {
                    let scale = if row == column { 1.0 } else { 0.5_f64.sqrt() };
                    node.push(scale * noise / square * source.standard_normal());
                }
            }
            node.extend((0..d).map(|_| noise / norm * source.standard_normal()));
            node
        })
        .collect()
}

/// Where a curator's sums come from.
enum Source {
    /// As they are.
    Exact,
    /// As the public code disturbs them.
    PublicNodes(Vec<Vec<f64>>),
    /// Released privately.
    Stream(Box<PrivateSum<FastNoise>>),
}

/// A learner that sees features and rewards, and goes by released sums.
struct Curator {
    world: World,
    exploration: Exploration,
    centred: bool,
    source: Source,
    domain: Domain,
    sums: Vec<f64>,
    round: u64,
    policy: Policy,
    scaled: Vec<f64>,
}

impl Curator {
    fn new(world: World, exploration: Exploration, centred: bool, source: Source) -> Result<Self> {
        let d = world.dimension;
        let mut curator = Curator {
            world,
            exploration,
            centred,
            source,
            domain: Domain::regression(d, 1.0, 1.0),
            sums: vec![0.0; d * (d + 1) / 2 + d],
            round: 0,
            policy: Policy::from_parts(vec![0.0; d], vec![0.0; d * (d + 1) / 2], 0.0, 0.0)?,
            scaled: vec![0.0; d],
        };
        curator.learn(None)?;
        Ok(curator)
    }

    /// A new policy, from a release or from the sums as they stand.
    fn learn(&mut self, release: Option<Release>) -> Result<()> {
        let release = match release {
            Some(release) => release,
            None => {
                let mut sums = self.sums.clone();
                if let Source::PublicNodes(nodes) = &self.source {
                    let count = (1.0 + self.round as f64).ln().floor() as usize + 1;
                    for node in nodes.iter().take(count) {
                        sums.iter_mut().zip(node).for_each(|(sum, noise)| *sum += noise);
                    }
                }
                let deviations = vec![0.0; sums.len()];
                let round = self.round;
                Release::simulated::<FastNoise>(self.domain, round, round + 1, sums, deviations)?
            }
        };
        let policy = self.exploration.of_release(&release, 0.0)?;
        let scale = |values: &[f64]| values.iter().map(|v| v / self.world.norm).collect();
        self.policy = Policy::from_parts(
            scale(policy.theta()),
            scale(policy.whitening()),
            policy.width(),
            policy.drift() / self.world.norm,
        )?;
        Ok(())
    }
}

impl Player for Curator {
    fn choose(&mut self, arms: &Arms, round: u64) -> Result<usize> {
        Ok(self.policy.choose(arms, round)?)
    }

    fn observe(&mut self, features: &[f64], reward: f64) -> Result<()> {
        self.round += 1;
        let z = if self.centred { 2.0 * reward - 1.0 } else { reward };
        let norm = self.world.norm;
        self.scaled.iter_mut().zip(features).for_each(|(unit, x)| *unit = x / norm);
        if let Source::Stream(sum) = &mut self.source {
            let contribution = sum.clip_with_reward(&self.scaled, z)?;
            return match sum.absorb(&contribution)? {
                Some(release) => self.learn(Some(release)),
                None => Ok(()),
            };
        }
        let mut entries = self.sums.iter_mut();
        for (row, x) in self.scaled.iter().enumerate() {
            for column in &self.scaled[row..] {
                *entries.next().expect("a triangle and a vector") += x * column;
            }
        }
        for (sum, x) in entries.zip(&self.scaled) {
            *sum += x * z;
        }
        self.learn(None)
    }
}
