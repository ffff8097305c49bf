//! A learner to whom people show their data, stepped: LinUCB as it is, or behind released sums.
//!
//! **Restarts.** A curator that forgets begins a new stream of releases with new noise. Every reward goes into exactly one stream. Replace one
//! interaction: streams before the one it goes into have the same law; that one is differentially private with its curve, whatever
//! was released before (its noise is fresh, so earlier releases are constants to it); what comes after is a function of releases
//! and of other people's data. So the guarantee of one interaction is that of one stream, however many there are (parallel
//! composition, adaptively), and a stream is only as long as a life.
//!
//! **Warm starts.** What is kept of a learner is its last release: sums with noise in them, and the deviations of that noise. Who begins with
//! them adds `G~_1 + G~_2` and `u~_1 + u~_2`, whose noise is independent, so that variances add and every confidence set for
//! Gaussian noise holds for the people of both runs. People of the first run are protected by its certificate, because all that
//! comes after is post-processing of a release; those of the second by this one. No noise is drawn again or used twice: the first
//! stream has ended, and the second is new. A release is public, so many learners may begin with the same one.

use std::{path::Path, sync::Arc};

use reticent::{
    bandit::{Arms, ConfidenceRule, Exploration, Policy},
    noise::Noise,
    privacy::Guarantee,
    release::{Domain, PrivateSum, PrivateSumPlan, Release, Schedule},
};

use super::{
    Setting, Stepped,
    saved::{SavedLearner, WarmStart},
};
use crate::{
    FastNoise, Result,
    attack::{Attack, AuditNoise, Test, View, neighbours::axis},
    simulate::{Knowledge, Player},
    trial::mix,
};

/// Somebody's own way from a release to a policy.
pub(super) type OwnRule = Arc<dyn Fn(&Release) -> Result<Policy> + Send + Sync>;

/// How released sums become a policy.
#[derive(Clone)]
pub(super) enum Rule {
    /// By a theorem, in the units of the data.
    Certified(ConfidenceRule),
    /// By a width that was found by simulation or that a publication gives, for features of norm 1 and rewards in [-1, 1].
    Tuned { exploration: Exploration, centred: bool },
    /// By code that is not ours and sees releases only, in the units of the data.
    Own(OwnRule),
}

/// Where sums come from.
#[derive(Debug, Clone)]
pub(super) enum SourcePlan {
    /// As they are, after the rewards of a schedule.
    Exact(Schedule),
    /// As the code of Chowdhury and Zhou disturbs them, after every reward: the same node noise each time, which no epsilon allows.
    PublicNodes { noise: f64 },
    /// Released privately, by a mechanism that is calibrated once for all trials.
    Stream(Box<PrivateSumPlan>),
}

/// Everything a curator is made from.
#[derive(Clone)]
pub(super) struct CuratorPlan {
    rounds: u64,
    units: Units,
    rule: Rule,
    source: SourcePlan,
    domain: Domain,
    /// Forget everything after every so many rewards.
    pub(super) restart_every: Option<u64>,
}

/// What a feature is divided by, what is taken off a reward, and what the rest is divided by.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Units {
    norm: f64,
    centre: f64,
    half: f64,
}

/// Sums and the deviations of their noise.
#[derive(Debug, Clone)]
struct Noisy {
    rewards: u64,
    sums: Vec<f64>,
    deviations: Vec<f64>,
}

impl CuratorPlan {
    pub(super) fn new(setting: &Setting, rule: Rule, source: SourcePlan) -> Self {
        let bounds = &setting.bounds;
        let (norm, largest) =
            (bounds.feature_bound, bounds.rewards.0.abs().max(bounds.rewards.1.abs()));
        let units = match &rule {
            Rule::Certified(_) | Rule::Own(_) => Units { norm: 1.0, centre: 0.0, half: 1.0 },
            Rule::Tuned { centred: true, .. } => {
                Units { norm, centre: bounds.centre(), half: bounds.half_range() }
            }
            Rule::Tuned { centred: false, .. } => Units { norm, centre: 0.0, half: largest },
        };
        let domain = match (&source, &rule) {
            (SourcePlan::Stream(sums), _) => *sums.clipper().domain(),
            (_, Rule::Certified(_) | Rule::Own(_)) => setting.problem.domain(),
            _ => Domain::regression(bounds.dimension, 1.0, 1.0),
        };
        CuratorPlan { rounds: setting.rounds, units, rule, source, domain, restart_every: None }
    }

    /// The contestant, which begins with what a file holds, if so asked.
    pub(super) fn stepped(
        self,
        name: String,
        setting: &Setting,
        warm_start: Option<&Path>,
        save: Option<&Path>,
    ) -> Result<Stepped> {
        if self.restart_every == Some(0) {
            let remedy = "give a whole number of rewards above 0";
            return Err(reticent::Error::invalid("restart_every", 0, remedy).into());
        }
        if let Rule::Tuned { exploration, .. } = &self.rule {
            exploration.check()?;
        }
        let warm = warm_start.map(WarmStart::open).transpose()?;
        if let Some(warm) = &warm {
            self.noisy(warm.first())?;
        }
        let begin = warm.clone();
        let mut stepped = Stepped::new(name, setting, |_| unreachable!("replaced below"));
        stepped.start = Arc::new(move |trial, seed| {
            let before = match &begin {
                Some(warm) => Some(self.noisy(&warm.of(trial)?)?),
                None => None,
            };
            Ok(Box::new(Curator::new(self.clone(), before, seed)?))
        });
        stepped.warm_start = warm;
        stepped.save = save.map(Path::to_path_buf);
        Ok(stepped)
    }

    /// The public code's claim, attacked by whoever sees the sums that its policy is made from. After 3 to 6 rewards the same two nodes are
    /// in the sums, so that what the fourth person adds shows as it is.
    pub(super) fn attack_on_nodes(&self, claimed: &Guarantee) -> Attack {
        const BEFORE: usize = 3;
        let adversary = "plays the code itself: sees the sums behind its policy after the third and the fourth reward, and subtracts; v against -v";
        let plan = self.clone();
        let attack = Attack::new(adversary, claimed, 20_000, move || {
            let (plan, d) = (plan.clone(), plan.domain.dimension());
            let person = move |sign: f64| {
                let mut features = axis(d, sign * 0.5_f64.sqrt() * plan.units.norm);
                features[d - 1] = 0.5_f64.sqrt() * plan.units.norm;
                features
            };
            let plan = plan.clone();
            let view: View = Box::new(move |world, mut noise: AuditNoise| {
                let mut code = Curator::new(plan.clone(), None, noise.bits())?;
                let shown = |code: &Curator| code.last.clone().map_or(Vec::new(), |last| last.sums);
                for _ in 0..BEFORE {
                    code.observe(0, &person(1.0), 0.0)?;
                }
                let before = shown(&code);
                code.observe(0, &person(*world.pick((&1.0, &-1.0))), 1.0)?;
                let change = shown(&code)
                    .iter()
                    .zip(&before)
                    .map(|(now, then)| now - then)
                    .collect::<Vec<_>>();
                // x_1 y is the first number behind the triangle, with its sign.
                Ok(vec![-change[d * (d + 1) / 2]])
            });
            Ok((view, Test::Scores))
        });
        attack.on_the_claim_only()
    }

    /// What an earlier learner left, if it speaks of the same thing.
    fn noisy(&self, saved: &SavedLearner) -> Result<Noisy> {
        let refuse = |value: String, remedy: &str| {
            Err(reticent::Error::invalid("warm_start", value, remedy).into())
        };
        let Knowledge::Sums { dimension, units, rewards, sums, deviations } = &saved.knowledge
        else {
            let remedy = "it holds the server of a local protocol: start a `local` learner with it";
            return refuse(saved.name.clone(), remedy);
        };
        let own = self.units;
        if *dimension != self.domain.dimension() || *units != [own.norm, own.centre, own.half] {
            let remedy = format!(
                "it was saved for {dimension} features and units {units:?}, this learner has {} and {:?}: use the environment and the kind of width it was trained with",
                self.domain.dimension(),
                [own.norm, own.centre, own.half]
            );
            return refuse(saved.name.clone(), &remedy);
        }
        let entries = self.domain.coordinates();
        let whole =
            |values: &[f64]| values.len() == entries && values.iter().all(|v| v.is_finite());
        if !whole(sums) || !whole(deviations) || deviations.iter().any(|d| *d < 0.0) {
            return refuse(saved.name.clone(), "its numbers are damaged: save it again");
        }
        Ok(Noisy { rewards: *rewards, sums: sums.clone(), deviations: deviations.clone() })
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
fn nodes(noise: f64, rounds: u64, dimension: usize, norm: f64, seed: u64) -> Vec<Vec<f64>> {
    let mut source = FastNoise::seeded(seed);
    let count = (rounds as f64).ln().floor() as usize + 1;
    let square = norm * norm;
    (0..count)
        .map(|_| {
            let mut node = Vec::new();
            for row in 0..dimension {
                for column in row..dimension {
                    let scale = if row == column { 1.0 } else { 0.5_f64.sqrt() };
                    node.push(scale * noise / square * source.standard_normal());
                }
            }
            node.extend((0..dimension).map(|_| noise / norm * source.standard_normal()));
            node
        })
        .collect()
}

/// Where a curator's sums come from.
enum Source {
    /// As they are; the next time to learn.
    Exact { schedule: Schedule, next: u64 },
    /// As the public code disturbs them.
    PublicNodes(Vec<Vec<f64>>),
    /// Released privately.
    Stream(Box<PrivateSum<FastNoise>>),
}

/// A learner that sees features and rewards, and goes by released sums.
struct Curator {
    plan: CuratorPlan,
    seed: u64,
    /// Lives lived before this one.
    lives: u64,
    source: Source,
    /// What it began with.
    before: Option<Noisy>,
    /// Exact sums of this life.
    sums: Vec<f64>,
    /// Rewards of this life.
    rewards: u64,
    policy: Policy,
    /// What the policy was made from.
    last: Option<Noisy>,
    scaled: Vec<f64>,
}

impl Curator {
    fn new(plan: CuratorPlan, before: Option<Noisy>, seed: u64) -> Result<Self> {
        let d = plan.domain.dimension();
        let mut curator = Curator {
            source: Source::Exact { schedule: Schedule::EveryRound, next: 1 },
            seed,
            lives: 0,
            before,
            sums: Vec::new(),
            rewards: 0,
            policy: Policy::from_parts(vec![0.0; d], vec![0.0; d * (d + 1) / 2], 0.0, 0.0)?,
            last: None,
            scaled: vec![0.0; d],
            plan,
        };
        curator.begin()?;
        Ok(curator)
    }

    /// A life begins: nothing summed, new noise.
    fn begin(&mut self) -> Result<()> {
        let d = self.plan.domain.dimension();
        let seed = if self.lives == 0 { self.seed } else { mix(self.seed, self.lives) };
        self.source = match &self.plan.source {
            SourcePlan::Exact(schedule) => {
                Source::Exact { schedule: *schedule, next: schedule.first() }
            }
            SourcePlan::PublicNodes { noise } => {
                Source::PublicNodes(nodes(*noise, self.plan.rounds, d, self.plan.units.norm, seed))
            }
            SourcePlan::Stream(sums) => {
                Source::Stream(Box::new(sums.as_ref().clone().start(FastNoise::seeded(seed))))
            }
        };
        self.rewards = 0;
        self.sums = vec![0.0; d * (d + 1) / 2 + d];
        self.last = None;
        match (&self.plan.rule, &self.before) {
            (Rule::Certified(rule), None) => self.policy = rule.cold_policy(),
            (_, Some(before)) => self.learn(Noisy {
                rewards: 0,
                sums: self.sums.clone(),
                deviations: vec![0.0; before.deviations.len()],
            })?,
            (Rule::Tuned { .. }, None) => self.learn(self.undisturbed())?,
            // The policy that stands here from the beginning knows nothing.
            (Rule::Own(_), None) => {}
        }
        Ok(())
    }

    /// The sums as they stand, or as the public code shows them.
    fn undisturbed(&self) -> Noisy {
        let mut sums = self.sums.clone();
        if let Source::PublicNodes(nodes) = &self.source {
            let count = (1.0 + self.rewards as f64).ln().floor() as usize + 1;
            for node in nodes.iter().take(count) {
                sums.iter_mut().zip(node).for_each(|(sum, noise)| *sum += noise);
            }
        }
        let deviations = vec![0.0; sums.len()];
        Noisy { rewards: self.rewards, sums, deviations }
    }

    /// A new policy from what was released in this life, and from what it began with.
    fn learn(&mut self, mut now: Noisy) -> Result<()> {
        if let Some(before) = &self.before {
            now.rewards += before.rewards;
            now.sums.iter_mut().zip(&before.sums).for_each(|(now, before)| *now += before);
            let pairs = now.deviations.iter_mut().zip(&before.deviations);
            pairs.for_each(|(now, before)| *now = now.hypot(*before));
        }
        let Noisy { rewards, sums, deviations } = now.clone();
        let domain = self.plan.domain;
        let release =
            Release::simulated::<FastNoise>(domain, rewards, rewards + 1, sums, deviations)?;
        self.policy = match &self.plan.rule {
            Rule::Certified(rule) => rule.policy(&release)?,
            Rule::Own(rule) => rule(&release)?,
            Rule::Tuned { exploration, .. } => {
                let policy = exploration.of_release(&release, 0.0)?;
                let norm = self.plan.units.norm;
                let scale = |values: &[f64]| values.iter().map(|v| v / norm).collect();
                Policy::from_parts(
                    scale(policy.theta()),
                    scale(policy.whitening()),
                    policy.width(),
                    policy.drift() / norm,
                )?
            }
        };
        self.last = Some(now);
        Ok(())
    }

    fn absorb(&mut self, z: f64) -> Result<()> {
        if let Source::Stream(sum) = &mut self.source {
            let contribution = sum.clip_with_reward(&self.scaled, z)?;
            return match sum.absorb(&contribution)? {
                Some(release) => self.learn(Noisy {
                    rewards: release.round(),
                    sums: release.sums().to_vec(),
                    deviations: release.deviations().to_vec(),
                }),
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
        match &mut self.source {
            Source::Exact { next, .. } if self.rewards < *next => Ok(()),
            Source::Exact { schedule, next } => {
                *next = schedule.next(self.rewards);
                self.learn(self.undisturbed())
            }
            _ => self.learn(self.undisturbed()),
        }
    }
}

impl Player for Curator {
    fn choose(&mut self, arms: &Arms, round: u64) -> Result<usize> {
        Ok(self.policy.choose(arms, round)?)
    }

    fn observe(&mut self, _: u64, features: &[f64], reward: f64) -> Result<()> {
        if self.plan.restart_every.is_some_and(|every| self.rewards >= every) {
            self.lives += 1;
            self.before = None;
            self.begin()?;
        }
        self.rewards += 1;
        let Units { norm, centre, half } = self.plan.units;
        self.scaled.iter_mut().zip(features).for_each(|(unit, x)| *unit = x / norm);
        self.absorb((reward - centre) / half)
    }

    fn pass(&mut self, round: u64) -> Result<()> {
        match self.source {
            // Centred, it adds nothing to any sum, and the next release comes when it would have come.
            Source::Stream(_) => {
                let nothing = vec![0.0; self.scaled.len()];
                self.observe(round, &nothing, self.plan.units.centre)
            }
            _ => Ok(()),
        }
    }

    fn knowledge(&self) -> Option<Knowledge> {
        // Who has released nothing yet has learnt nothing yet.
        let nothing = || vec![0.0; self.sums.len()];
        let last = self.last.clone();
        let Noisy { rewards, sums, deviations } =
            last.unwrap_or_else(|| Noisy { rewards: 0, sums: nothing(), deviations: nothing() });
        let Units { norm, centre, half } = self.plan.units;
        let (dimension, units) = (self.plan.domain.dimension(), [norm, centre, half]);
        Some(Knowledge::Sums { dimension, units, rewards, sums, deviations })
    }
}
