//! `kind = "local"` and `kind = "ldp_linucb"`: the protocol of `reticent::bandit::local`, one person a round.

use reticent::{
    bandit::{
        Arms, Exploration, Levels, LocalParams, LocalPlan, Method, Model, Person,
        PublishedMechanism, Server,
    },
    noise::Noise,
    privacy::{Mode, TrustModel},
    randomize::Bounds,
};
use serde::{Deserialize, Serialize};

use super::{Budget, Stepping, World, published, published_guarantee, trusted::tuned};
use crate::{FastNoise, Result, audit, contest::Certificate, simulate::Player};

/// A model is published after each of the first reports, and then after every so many.
const EAGER: u64 = 200;
const EVERY: u64 = 20;

/// What `kind = "local"` takes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LocalLines {
    /// What the report calls it.
    #[serde(default)]
    pub name: Option<String>,
    /// Requested epsilon and delta.
    pub privacy: Budget,
    /// Levels of epsilon people bring, in place of one for all.
    #[serde(default)]
    pub levels: Option<Vec<f64>>,
    /// How common each level is; by default all are equally common.
    #[serde(default)]
    pub shares: Option<Vec<f64>>,
    /// Nobody says which level is theirs.
    #[serde(default)]
    pub hidden_levels: bool,
    /// Decision sets are public.
    #[serde(default)]
    pub public_arms: bool,
    /// The randomiser; by default the best.
    #[serde(default)]
    pub method: Option<Method>,
    /// Explore uniformly for so many reports, whose Gram matrix is known here, then exploit.
    #[serde(default)]
    pub known_gram_reports: Option<u64>,
    /// How noisy sums become a policy.
    #[serde(default)]
    pub exploration: Exploration,
}

impl LocalLines {
    /// The defaults of a file that gives the budget only.
    pub fn new(privacy: Budget) -> Self {
        LocalLines {
            name: None,
            privacy,
            levels: None,
            shares: None,
            hidden_levels: false,
            public_arms: false,
            method: None,
            known_gram_reports: None,
            exploration: Exploration::default(),
        }
    }

    pub(super) fn contestant(&self, world: World) -> Result<Stepping> {
        let Budget { epsilon, delta } = self.privacy;
        let largest = |levels: &Vec<f64>| levels.iter().copied().fold(0.0, f64::max);
        if let Some(largest) = self.levels.as_ref().map(largest)
            && largest != epsilon
        {
            let remedy =
                format!("with levels it is what holds for everybody: their largest, {largest}");
            return Err(reticent::Error::invalid("epsilon", epsilon, remedy).into());
        }
        if self.known_gram_reports.is_some() && self.method.is_some() {
            let remedy = "known_gram_reports is a method by itself: leave one of them out";
            return Err(reticent::Error::invalid("method", "given twice", remedy).into());
        }
        let method = match self.known_gram_reports {
            Some(reports) => Some(Method::KnownGram { gram: uniform_gram(world), reports }),
            None => self.method.clone(),
        };
        let epsilons = self.levels.clone().unwrap_or_else(|| vec![epsilon]);
        let equal = || vec![1.0 / epsilons.len() as f64; epsilons.len()];
        let shares = self.shares.clone().unwrap_or_else(equal);
        // How common levels are is checked by the core where the server must know it; here people are drawn by it.
        let hidden = Levels::Hidden { epsilons: epsilons.clone(), shares: shares.clone() };
        hidden.check()?;
        let levels = if self.hidden_levels { hidden } else { Levels::Public(epsilons.clone()) };
        let params = LocalParams {
            public_arms: self.public_arms,
            levels,
            method,
            exploration: self.exploration,
            ..LocalParams::new(world.bounds(), epsilon, delta)
        };
        let plan = params.check()?;
        let (mut certificates, mut attacks) = (Vec::new(), Vec::new());
        let mut weakest = plan.guarantee(0)?;
        for (level, brought) in epsilons.iter().enumerate() {
            let guarantee = plan.guarantee(level)?;
            attacks.extend(audit::local::attacks(&plan, level, &world.bounds(), &guarantee));
            if guarantee.epsilon() > weakest.epsilon() {
                weakest = guarantee.clone();
            }
            if epsilons.len() > 1 {
                let whom = format!("people who bring epsilon = {brought}");
                certificates.push(Certificate { whom, guarantee: guarantee.simulated() });
            }
        }
        let mut remarks = vec![plan.reason().to_string()];
        remarks.extend(tuned(&self.exploration));
        Ok(Stepping {
            name: self.name.clone().unwrap_or_else(|| format!("local ({epsilon}, {delta:e})")),
            guarantee: Some(weakest.simulated()),
            certificates,
            remarks,
            world,
            table: None,
            start: starter(plan, shares),
            attacks,
        })
    }
}

/// `E x x^T` of an arm drawn uniformly: `1/(2 (d - 1))` on the diagonal, 1/2 for the constant, times the squared norm.
fn uniform_gram(world: World) -> Vec<f64> {
    let d = world.dimension;
    let mut gram = Vec::new();
    for row in 0..d {
        for column in row..d {
            let entry = if row != column {
                0.0
            } else if row + 1 == d {
                0.5
            } else {
                0.5 / (d - 1) as f64
            };
            gram.push(entry * world.norm * world.norm);
        }
    }
    gram
}

/// Whose constants `ldp_linucb` takes in `paper` mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Constants {
    /// The public code of Chowdhury and Zhou, which OnlineUCB's figure compares with.
    #[default]
    PublicCode,
    /// The paper of Zheng et al., with that code's width.
    Zheng,
}

/// What `kind = "ldp_linucb"` takes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LdpLines {
    /// What the report calls it.
    #[serde(default)]
    pub name: Option<String>,
    /// Requested epsilon and delta.
    pub privacy: Budget,
    /// `exact`: the same message with exactly calibrated noise; `paper`: published constants.
    #[serde(default)]
    pub mode: Mode,
    /// Whose, in `paper` mode.
    #[serde(default)]
    pub constants: Constants,
    /// How noisy sums become a policy, in `exact` mode.
    #[serde(default)]
    pub exploration: Exploration,
}

impl LdpLines {
    /// The defaults of a file that gives the budget only.
    pub fn new(privacy: Budget) -> Self {
        LdpLines {
            name: None,
            privacy,
            mode: Mode::Exact,
            constants: Constants::default(),
            exploration: Exploration::default(),
        }
    }

    pub(super) fn contestant(&self, world: World, rounds: u64) -> Result<Stepping> {
        let Budget { epsilon, delta } = self.privacy;
        let name = self.name.clone().unwrap_or_else(|| {
            let mode = if self.mode == Mode::Paper { ", published" } else { "" };
            format!("LDP-LinUCB{mode} ({epsilon}, {delta:e})")
        });
        if self.mode == Mode::Exact && self.constants != Constants::default() {
            let remedy = "published constants need mode = \"paper\"";
            return Err(reticent::Error::invalid("constants", "zheng", remedy).into());
        }
        // Neither publication centres rewards.
        let bounds = Bounds { intercept: None, unit_arms: false, ..world.bounds() };
        let (params, guarantee, remarks) = match self.mode {
            Mode::Exact => {
                let params = LocalParams {
                    method: Some(Method::TriangleGaussian),
                    exploration: self.exploration,
                    ..LocalParams::new(bounds, epsilon, delta)
                };
                let guarantee = params.check()?.guarantee(0)?.simulated();
                (params, guarantee, tuned(&self.exploration))
            }
            Mode::Paper => {
                let mechanism = match self.constants {
                    Constants::PublicCode => PublishedMechanism::PublicLdp,
                    Constants::Zheng => PublishedMechanism::Zheng,
                };
                let constants = published(mechanism, self.privacy, world, rounds, 1);
                let params = LocalParams::published(bounds, epsilon, constants)?;
                let guarantee = published_guarantee(&constants, epsilon, TrustModel::Local)?;
                (params, guarantee, Vec::new())
            }
        };
        let plan = params.check()?;
        // What the published constants are certified for is this environment's arms.
        let people = if self.mode == Mode::Paper { world.bounds() } else { bounds };
        Ok(Stepping {
            name,
            attacks: audit::local::attacks(&plan, 0, &people, &guarantee),
            guarantee: Some(guarantee),
            certificates: Vec::new(),
            remarks,
            world,
            table: None,
            start: starter(plan, vec![1.0]),
        })
    }
}

fn starter(plan: LocalPlan, shares: Vec<f64>) -> super::Start {
    Box::new(move |seed| {
        let mut server = plan.server();
        let model = server.publish()?;
        let (noise, person) = (FastNoise::seeded(seed), None);
        let (plan, shares) = (plan.clone(), shares.clone());
        Ok(Box::new(Protocol { plan, shares, server, model, noise, person }))
    })
}

/// People and server of one trial.
struct Protocol {
    plan: LocalPlan,
    /// How common each level is.
    shares: Vec<f64>,
    server: Server,
    model: Model,
    noise: FastNoise,
    person: Option<Person<FastNoise>>,
}

impl Player for Protocol {
    fn choose(&mut self, arms: &Arms, _: u64) -> Result<usize> {
        let mut left = self.noise.uniform();
        let level = self.shares.iter().position(|share| {
            left -= share;
            left < 0.0
        });
        // Shares that add up to a little less than 1 leave the last level.
        let level = level.unwrap_or(self.shares.len() - 1);
        let mut person = self.plan.person(level, FastNoise::seeded(self.noise.bits()))?;
        let arm = person.choose(&self.model, arms)?;
        self.person = Some(person);
        Ok(arm)
    }

    fn observe(&mut self, features: &[f64], reward: f64) -> Result<()> {
        let Some(mut person) = self.person.take() else { return Ok(()) };
        self.server.absorb(&person.report(&self.model, features, reward)?)?;
        let reports = self.server.reports();
        if reports <= EAGER || reports.is_multiple_of(EVERY) {
            self.model = self.server.publish()?;
        }
        Ok(())
    }
}
