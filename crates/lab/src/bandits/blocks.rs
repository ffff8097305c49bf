//! Learners whose policy changes at releases only, where the world plays whole blocks: play a block, release, learn, and again.
//!
//! Between two releases the policy stands still, so the environment plays at full speed; the noise of the mechanism is added to the
//! exact sums of the block's rounds. The law is that of the learner that is deployed, which the tests compare.

use std::sync::Arc;

use reticent::{
    bandit::{Confidence, ConfidenceRule, Policy, Regularizer, bounds},
    noise::Noise,
    privacy::Guarantee,
    release::{Domain, PrivateSumParams, Release, Schedule},
};

use super::Setting;
use crate::{
    FastNoise, Result,
    attack::{Attack, AuditNoise, Test, View, neighbours::axis},
    contest::{Bound, Contestant, Side},
    environment::GapParams,
    simulate::{Blocks, NodeNoise, PrefixNoise, StreamNoise, Sums, TreeNoise},
    trial::{Checkpoint, Trial, mix, name_hash},
};

/// A learner ready to be simulated: when it learns, from what, and under which noise.
#[derive(Clone)]
pub struct Learner {
    /// What the report calls it.
    pub(super) name: String,
    /// What is summed.
    pub(super) domain: Domain,
    /// When the policy learns.
    pub(super) schedule: Schedule,
    /// How releases become policies.
    pub(super) rule: ConfidenceRule,
    /// What may be promised, if the accountant can say.
    pub(super) guarantee: Option<Guarantee>,
    pub(super) setting: Setting,
    /// What is played.
    pub(super) gap: GapParams,
    /// The epsilon that was asked for.
    pub(super) epsilon: Option<f64>,
    pub(super) noise: NoisePlan,
    /// How the promise can be attacked.
    pub(super) attacks: Arc<Vec<Attack>>,
}

/// Which noise is simulated.
#[derive(Debug, Clone)]
pub(super) enum NoisePlan {
    None,
    Stream { params: PrivateSumParams, releases: u64 },
    Gaussian { deviation: f64 },
    Wishart { degrees: f64, scale: f64, nodes: u32, fresh_dummies: bool },
}

impl Learner {
    /// What rewards are clipped to: a private learner's bound, or nothing.
    pub(super) fn reward_bound(&self) -> f64 {
        match self.noise {
            NoisePlan::None => f64::INFINITY,
            _ => self.setting.problem.reward_bound,
        }
    }

    /// How releases become policies.
    pub fn rule(&self) -> &ConfidenceRule {
        &self.rule
    }

    /// The noise of one trial.
    pub fn noise(&self, source: FastNoise) -> Result<PrefixNoise> {
        let tree =
            |node| PrefixNoise::Tree(TreeNoise::new(self.domain.dimension(), node, source.clone()));
        Ok(match self.noise {
            NoisePlan::None => PrefixNoise::None,
            NoisePlan::Stream { ref params, releases } => {
                PrefixNoise::Stream(Box::new(StreamNoise::new(params, releases, source)?))
            }
            NoisePlan::Gaussian { deviation } => tree(NodeNoise::Gaussian { deviation }),
            NoisePlan::Wishart { degrees, scale, nodes, fresh_dummies } => {
                tree(NodeNoise::Wishart { degrees, scale, nodes, fresh_dummies })
            }
        })
    }
}

impl crate::contest::sealed::Sealed for Learner {}

impl Contestant for Learner {
    fn name(&self) -> &str {
        &self.name
    }

    fn guarantee(&self) -> Option<&Guarantee> {
        self.guarantee.as_ref()
    }

    fn attacks(&self) -> &[Attack] {
        &self.attacks
    }

    fn player_attacks(&self) -> Result<Vec<Attack>> {
        Ok(self.guarantee.iter().flat_map(|guarantee| questions(self, guarantee)).collect())
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        if !self.rule.certified() {
            let remark = "The bonus is scaled by hand: the confidence set is not certified.";
            remarks.push(remark.to_string());
        }
        remarks
    }

    fn bounds(&self, rounds: u64) -> Vec<Bound> {
        let problem = &self.setting.problem;
        // Means lie in [-1, 1].
        let trivial = 2.0 * rounds as f64;
        let bound =
            |theorem: &str, side, value| Bound { theorem: theorem.into(), side, value, trivial };
        let (alpha, gap) = (self.setting.alpha(), self.gap.gap);
        let mut all = Vec::new();
        if let Some(regularizer) = self.rule.regularizer() {
            let (five, six) = match self.noise {
                NoisePlan::Gaussian { .. } => ("Corollary 12", "Corollary 12 with a gap"),
                NoisePlan::Wishart { .. } => ("Corollary 10", "Corollary 10 with a gap"),
                _ => ("Theorem 5", "Theorem 6"),
            };
            let value = bounds::regret(problem, regularizer, alpha, rounds);
            all.push(bound(five, Side::Upper, value));
            if gap > 0.0 {
                let value = bounds::gap_regret(problem, regularizer, alpha, rounds, gap);
                all.push(bound(six, Side::Upper, value));
            }
        }
        if let Some(epsilon) = self.epsilon {
            let value = bounds::private_lower_bound(epsilon, self.gap.arms as u64, rounds);
            let theorem = "Corollary 15, the price of epsilon in the worst case";
            all.push(bound(theorem, Side::Lower, value));
            if gap > 0.0 && epsilon < std::f64::consts::LN_2 {
                let delta = self.guarantee.as_ref().map_or(0.0, Guarantee::delta);
                let value = bounds::ordinary_privacy_lower_bound(epsilon, delta, gap, rounds);
                let theorem =
                    "Claim 13, if actions too had to be private from the person they are for";
                all.push(bound(theorem, Side::Lower, value));
            }
        }
        all
    }

    fn trial(&self, seed: u64, trial: u64, checkpoints: &[u64]) -> Result<Trial> {
        Ok(run(self, seed, trial, checkpoints)?.into())
    }
}

impl Learner {
    /// LinUCB without privacy that learns on a schedule.
    pub(super) fn not_private(
        name: String,
        regularizer: f64,
        schedule: Schedule,
        setting: &Setting,
        gap: GapParams,
    ) -> Result<Self> {
        schedule.check()?;
        let confidence = Confidence::Regularized(Regularizer::constant(regularizer));
        Ok(Learner {
            name,
            setting: setting.clone(),
            gap,
            domain: setting.problem.domain(),
            schedule,
            rule: ConfidenceRule::new(setting.problem, setting.alpha(), confidence)?,
            guarantee: None,
            epsilon: None,
            noise: NoisePlan::None,
            attacks: Arc::default(),
        })
    }
}

/// Runs `learner` against trial number `trial` and records its regret after each of the rising `checkpoints`.
pub fn run(
    learner: &Learner,
    seed: u64,
    trial: u64,
    checkpoints: &[u64],
) -> Result<Vec<Checkpoint>> {
    // Every learner meets the same people in the same trial; its own noise is its own.
    let world = mix(seed, trial);
    let mut blocks = learner.gap.blocks(world)?;
    let noise = learner.noise(FastNoise::seeded(mix(world, name_hash(&learner.name))))?;
    play(learner, blocks.as_mut(), noise, checkpoints)
}

/// Runs `learner` in any world that plays whole blocks.
fn play(
    learner: &Learner,
    blocks: &mut dyn Blocks,
    mut noise: PrefixNoise,
    checkpoints: &[u64],
) -> Result<Vec<Checkpoint>> {
    blocks.clip_rewards(learner.reward_bound());
    let mut sums = Sums::new(learner.domain.dimension());
    let mut curve = Vec::with_capacity(checkpoints.len());
    blocks.follow(&learner.rule.cold_policy())?;
    let (mut round, mut index, mut next) = (0, 0, learner.schedule.first());
    let gauge = crate::watch::Gauge::current();
    for &checkpoint in checkpoints {
        while round < checkpoint {
            gauge.reached(round)?;
            let stop = next.min(checkpoint);
            blocks.advance(stop - round, &mut sums);
            round = stop;
            if round == next {
                index += 1;
                let (mut estimate, deviations) = noise.next(round, &learner.domain)?;
                let exact = sums.gram.iter().chain(&sums.moment);
                estimate.iter_mut().zip(exact).for_each(|(noisy, exact)| *noisy += exact);
                let release = Release::simulated::<FastNoise>(
                    learner.domain,
                    round,
                    index,
                    estimate,
                    deviations,
                )?;
                blocks.follow(&learner.rule.policy(&release)?)?;
                next = learner.schedule.next(round);
            }
        }
        curve.push(Checkpoint { round, regret: sums.regret });
    }
    Ok(curve)
}

/// Releases whose policy is questioned, at most.
const MOST_RELEASES: usize = 16;

/// The attack by questions on the learner as it is simulated, noise and all: the person comes first, nobody else brings anything, and each
/// policy is asked for `theta_1` over its width.
fn questions(learner: &Learner, guarantee: &Guarantee) -> Option<Attack> {
    let last = learner.setting.rounds;
    let times = learner.schedule.times().take(MOST_RELEASES).take_while(|time| *time <= last);
    let times: Vec<u64> = times.collect();
    let rounds = *times.last()?;
    let adversary = format!(
        "plays the simulated learner itself: sees the choices between opposite arms after each of the first {} releases; the person comes first; learned linear test",
        times.len()
    );
    let learner = learner.clone();
    let attack = Attack::new(adversary, guarantee, 8000, move || {
        let learner = learner.clone();
        let stream = match &learner.noise {
            NoisePlan::Stream { params, releases } => Some(StreamNoise::plan(params, *releases)?),
            _ => None,
        };
        let view: View = Box::new(move |world, mut noise: AuditNoise| {
            let problem = &learner.setting.problem;
            let reward = *world.pick((&1.0, &-1.0)) * problem.reward_bound;
            let (x, d) = (problem.feature_bound, problem.dimension);
            let mut room =
                Questioned { person: Some((x, reward)), arm: axis(d, x), seen: Vec::new() };
            let source = FastNoise::seeded(noise.bits());
            let noise = match stream.clone() {
                Some(plan) => PrefixNoise::Stream(Box::new(StreamNoise::start(plan, source)?)),
                None => learner.noise(source)?,
            };
            play(&learner, &mut room, noise, &[rounds])?;
            // The policy before the first release knows nobody.
            Ok(room.seen.split_off(1))
        });
        Ok((view, Test::Transcript { choices: 0 }))
    });
    Some(attack.between(250, 40_000))
}

/// A world in which one person comes and then nobody, and policies are questioned.
struct Questioned {
    /// Feature and reward of whoever comes first.
    person: Option<(f64, f64)>,
    arm: Vec<f64>,
    seen: Vec<f64>,
}

impl Blocks for Questioned {
    fn clip_rewards(&mut self, _: f64) {}

    fn follow(&mut self, policy: &Policy) -> reticent::Result<()> {
        let against: Vec<f64> = self.arm.iter().map(|x| -x).collect();
        let (one, two) = (policy.bound(&self.arm), policy.bound(&against));
        // The upper bounds of opposite arms differ by 2 <x, theta> and add up to twice the bonus: choices against shortened arms find
        // the ratio to as many digits as there are questions.
        let bonus = (one + two).abs().max(f64::MIN_POSITIVE);
        self.seen.push(((one - two) / bonus).clamp(-1e6, 1e6));
        Ok(())
    }

    fn advance(&mut self, rounds: u64, sums: &mut Sums) {
        if let Some((x, reward)) = self.person.take() {
            sums.gram[0] += x * x;
            sums.moment[0] += x * reward;
        }
        sums.rounds += rounds;
    }
}
