//! Core's learners, played in whole blocks.
//!
//! Between two releases the policy stands still, so the environment plays at full speed and hands the sums of the block to the learner, which
//! takes them as if its people had come one by one: for a private learner they are the same integers, rounded once a block and not
//! once a person. The published trees over rounds release after every round; read at the schedule's times only, they are drawn at
//! those times ([`TreeNoise`]). The law is that of the learner that is stepped, which the tests compare.

use std::sync::Arc;

use reticent::{
    bandit::{
        Curator, JointPlan, LinUcb, LinUcbParams, Outlook, Policy, Regularizer, Rule, RulePlan,
    },
    noise::Noise,
    privacy::Guarantee,
    release::{Domain, Release, Schedule},
};

use super::{
    BanditEnvironment, rule_remarks,
    tree_noise::{NodeNoise, TreeNoise},
    trial_seeds,
};
use crate::{
    FastNoise, Result,
    algorithm::{Bound, Card, RunnableAlgorithm, Side},
    audit::attack::{Attack, AuditNoise, Test, View, neighbours::axis},
    environment::{
        GapParams,
        blocks::{Blocks, Sums},
    },
    papers::constants::regret,
    play::trial::{Checkpoint, Measure, Trial},
};

/// A learner ready to be played in blocks.
#[derive(Clone)]
pub struct BlockPlayed {
    pub(super) card: Arc<Card>,
    pub(super) environment: BanditEnvironment,
    /// The learner.
    pub(super) gap: GapParams,
    /// The epsilon that was asked for.
    pub(super) epsilon: Option<f64>,
    pub(super) learner: BlockPlayer,
}

/// The learner of core that is played, by its parameters.
#[derive(Clone)]
pub(super) enum BlockPlayer {
    /// No privacy.
    Exact(LinUcbParams),
    /// A curator.
    Private(Box<JointPlan>),
    /// A curator whose tree over rounds is read at the schedule's times.
    Tree(TreePlan),
}

/// A published tree and the rule that goes with it.
#[derive(Debug, Clone)]
pub(super) struct TreePlan {
    pub(super) node: NodeNoise,
    pub(super) domain: Domain,
    pub(super) schedule: Schedule,
    pub(super) rule: RulePlan,
}

impl BlockPlayer {
    fn start(&self, noise: FastNoise) -> Result<Running> {
        Ok(match self {
            BlockPlayer::Exact(params) => Running::Exact(Box::new(params.check()?)),
            BlockPlayer::Private(plan) => {
                Running::Private(Box::new(plan.as_ref().clone().curator(noise)))
            }
            BlockPlayer::Tree(plan) => Running::Tree(Box::new(TreeReader {
                noise: TreeNoise::new(plan.domain.dimension(), plan.node, noise),
                total: Sums::new(plan.domain.dimension()),
                next: plan.schedule.first(),
                releases: 0,
                policy: plan.rule.cold_policy(),
                plan: plan.clone(),
            })),
        })
    }

    fn schedule(&self) -> Schedule {
        match self {
            BlockPlayer::Exact(params) => params.schedule,
            BlockPlayer::Private(plan) => plan.sums().schedule,
            BlockPlayer::Tree(plan) => plan.schedule,
        }
    }

    fn rule(&self) -> &Rule {
        match self {
            BlockPlayer::Exact(params) => &params.rule,
            BlockPlayer::Private(plan) => plan.rule().rule(),
            BlockPlayer::Tree(plan) => plan.rule.rule(),
        }
    }

    /// Regulariser that the theorems of Shariff and Sheffet bound, with the corollaries.
    fn regularizer(&self) -> Option<(Regularizer, [&'static str; 2])> {
        match self {
            BlockPlayer::Exact(
                params @ LinUcbParams { rule: Rule::Certified { .. }, forget: None, .. },
            ) => {
                let rho = params.certified_regularizer() * params.bounds.feature_bound.powi(2);
                Some((Regularizer::constant(rho), ["Theorem 5", "Theorem 6"]))
            }
            BlockPlayer::Tree(plan) => {
                let names = match plan.node {
                    NodeNoise::Gaussian { .. } => ["Corollary 12", "Corollary 12 with a gap"],
                    NodeNoise::Wishart { .. } => ["Corollary 10", "Corollary 10 with a gap"],
                };
                plan.rule.regularizer().map(|regularizer| (*regularizer, names))
            }
            _ => None,
        }
    }
}

/// A learner in a trial.
enum Running {
    Exact(Box<LinUcb>),
    Private(Box<Curator<FastNoise>>),
    Tree(Box<TreeReader>),
}

/// A learner of core's curator whose tree over rounds is read at the schedule's times only. Stepping the curator through 5e7 rounds would draw
/// the noise of every node; here exact sums get the noise of the nodes that are read, and core's rule makes the policy. `block_tests` compares
/// its law with the deployed curator's.
struct TreeReader {
    plan: TreePlan,
    noise: TreeNoise,
    total: Sums,
    next: u64,
    releases: u64,
    policy: Policy,
}

impl Running {
    fn policy(&self) -> &Policy {
        match self {
            Running::Exact(learner) => learner.policy(),
            Running::Private(curator) => curator.policy(),
            Running::Tree(tree) => &tree.policy,
        }
    }

    /// Rounds up to the next change of the policy.
    fn until_release(&self) -> u64 {
        match self {
            Running::Exact(learner) => learner.until_learning(),
            Running::Private(curator) => curator.until_release().unwrap_or(u64::MAX),
            Running::Tree(tree) => tree.next - tree.total.rounds,
        }
    }

    fn cold_releases(&self) -> Option<u64> {
        match self {
            Running::Private(curator) => Some(curator.cold_releases()),
            Running::Exact(_) | Running::Tree(_) => None,
        }
    }

    /// Takes the sums of a block, which ends at the next change of the policy at the latest.
    fn absorb(&mut self, block: &Sums) -> Result<()> {
        match self {
            Running::Exact(learner) => {
                learner.observe_sums(&block.gram, &block.moment, block.rounds)?;
            }
            Running::Private(curator) => {
                let entries: Vec<f64> = block.gram.iter().chain(&block.moment).copied().collect();
                curator.absorb_simulated(&entries, block.rounds)?;
            }
            Running::Tree(tree) => tree.absorb(block)?,
        }
        Ok(())
    }
}

impl TreeReader {
    fn absorb(&mut self, block: &Sums) -> Result<()> {
        self.total.add(block);
        let round = self.total.rounds;
        if round < self.next {
            return Ok(());
        }
        self.releases += 1;
        self.next = self.plan.schedule.next(round);
        let (mut sums, deviations) = self.noise.at(round);
        let exact = self.total.gram.iter().chain(&self.total.moment);
        sums.iter_mut().zip(exact).for_each(|(noisy, exact)| *noisy += exact);
        let (domain, index) = (self.plan.domain.clone(), self.releases);
        let release = Release::simulated::<FastNoise>(domain, round, index, sums, deviations)?;
        self.policy = self.plan.rule.policy(&release)?;
        Ok(())
    }
}

impl crate::algorithm::sealed::Sealed for BlockPlayed {}

impl RunnableAlgorithm for BlockPlayed {
    fn card(&self) -> &Card {
        &self.card
    }

    fn learner_attacks(&self) -> Result<Vec<Attack>> {
        Ok(self.guarantee().into_iter().flat_map(|guarantee| queries(self, guarantee)).collect())
    }

    fn outlook(&self) -> Option<Outlook> {
        match &self.learner {
            BlockPlayer::Private(plan) => plan.outlook().ok().flatten(),
            BlockPlayer::Exact(_) | BlockPlayer::Tree(_) => None,
        }
    }

    fn remarks(&self) -> Vec<String> {
        let outlook = self.outlook().map(|outlook| outlook.to_string());
        rule_remarks(self.learner.rule()).into_iter().chain(outlook).collect()
    }

    fn bounds(&self, rounds: u64) -> Vec<Bound> {
        let problem = &self.environment.problem;
        // Means lie in [-1, 1].
        let trivial = 2.0 * rounds as f64;
        let bound =
            |theorem: &str, side, value| Bound { theorem: theorem.into(), side, value, trivial };
        let (alpha, gap) = (self.environment.alpha(), self.gap.gap);
        let mut all = Vec::new();
        if let Some((regularizer, [five, six])) = self.learner.regularizer() {
            let value = regret::regret(problem, &regularizer, alpha, rounds);
            all.push(bound(five, Side::Upper, value));
            if gap > 0.0 {
                let value = regret::gap_regret(problem, &regularizer, alpha, rounds, gap);
                all.push(bound(six, Side::Upper, value));
            }
        }
        if let Some(epsilon) = self.epsilon {
            let value = regret::private_lower_bound(epsilon, self.gap.arms as u64, rounds);
            let theorem = "Corollary 15, the price of epsilon in the worst case";
            all.push(bound(theorem, Side::Lower, value));
            if gap > 0.0 && epsilon < std::f64::consts::LN_2 {
                let delta = self.guarantee().map_or(0.0, Guarantee::delta);
                let value = regret::ordinary_privacy_lower_bound(epsilon, delta, gap, rounds);
                let theorem =
                    "Claim 13, if actions too had to be private from the person they are for";
                all.push(bound(theorem, Side::Lower, value));
            }
        }
        all
    }

    fn trial(&self, seed: u64, trial: u64, checkpoints: &[u64]) -> Result<Trial> {
        let (people, noise) = trial_seeds(seed, trial, self.name());
        let mut blocks = self.gap.blocks(people)?;
        self.play(blocks.as_mut(), FastNoise::seeded(noise), checkpoints)
    }
}

impl BlockPlayed {
    /// LinUCB without privacy that learns on a schedule.
    pub(super) fn not_private(
        name: String,
        params: LinUcbParams,
        environment: &BanditEnvironment,
        gap: GapParams,
    ) -> Result<Self> {
        params.check()?;
        Ok(BlockPlayed {
            card: Arc::new(Card { name, ..Card::default() }),
            environment: environment.clone(),
            gap,
            epsilon: None,
            learner: BlockPlayer::Exact(params),
        })
    }

    /// The bounds on its regulariser, if its rule has them.
    pub fn regularizer(&self) -> Option<Regularizer> {
        self.learner.regularizer().map(|(regularizer, _)| regularizer)
    }

    /// One trial in any environment that plays whole blocks.
    fn play(
        &self,
        blocks: &mut dyn Blocks,
        noise: FastNoise,
        checkpoints: &[u64],
    ) -> Result<Trial> {
        let mut learner = self.learner.start(noise)?;
        let mut block = Sums::new(self.environment.bounds.dimension);
        blocks.clip_rewards(self.environment.bounds.half_range());
        blocks.follow(learner.policy())?;
        let mut curve = Vec::with_capacity(checkpoints.len());
        let (mut round, mut regret) = (0, 0.0);
        let gauge = crate::play::watch::Gauge::current();
        for &checkpoint in checkpoints {
            while round < checkpoint {
                gauge.reached(round)?;
                let until = learner.until_release();
                let count = until.min(checkpoint - round);
                block.clear();
                blocks.advance(count, &mut block);
                round += count;
                regret += block.regret;
                learner.absorb(&block)?;
                if count == until {
                    blocks.follow(learner.policy())?;
                }
            }
            curve.push(Checkpoint { round, regret });
        }
        let measures = learner.cold_releases().map(Measure::cold_releases).into_iter().collect();
        Ok(Trial { curve, measures })
    }
}

/// Releases whose policy is queried, at most.
const MOST_RELEASES: usize = 16;

/// The attack by queries on the learner as it is simulated, noise and all: the person comes first, no other person brings data, and each
/// policy is asked for `theta_1` over its width.
fn queries(played: &BlockPlayed, guarantee: &Guarantee) -> Option<Attack> {
    let last = played.environment.rounds;
    let schedule = played.learner.schedule();
    let times = schedule.times().take(MOST_RELEASES).take_while(|time| *time <= last);
    let times: Vec<u64> = times.collect();
    let rounds = *times.last()?;
    let adversary = format!(
        "plays the simulated learner itself: sees the choices between opposite arms after each of the first {} releases; the person comes first; learned linear test",
        times.len()
    );
    let played = played.clone();
    let attack = Attack::new(adversary, guarantee, 8000, move || {
        let played = played.clone();
        let view: View = Box::new(move |data, mut noise: AuditNoise| {
            let bounds = &played.environment.bounds;
            let reward = *data.pick((&1.0, &-1.0)) * bounds.half_range();
            let (x, d) = (bounds.feature_bound, bounds.dimension);
            let mut room = Queried { person: Some((x, reward)), arm: axis(d, x), seen: Vec::new() };
            played.play(&mut room, FastNoise::seeded(noise.bits()), &[rounds])?;
            // The policy before the first release depends on no data.
            Ok(room.seen.split_off(1))
        });
        Ok((view, Test::Transcript { choices: 0 }))
    });
    Some(attack.between(250, 40_000))
}

/// An environment in which one person comes and no other, and policies are queried.
struct Queried {
    /// Feature and reward of the person who comes first.
    person: Option<(f64, f64)>,
    arm: Vec<f64>,
    seen: Vec<f64>,
}

impl Blocks for Queried {
    fn clip_rewards(&mut self, _: f64) {}

    fn follow(&mut self, policy: &Policy) -> reticent::Result<()> {
        let against: Vec<f64> = self.arm.iter().map(|x| -x).collect();
        let (one, two) = (policy.bound(&self.arm), policy.bound(&against));
        // The upper bounds of opposite arms differ by 2 <x, theta> and add up to twice the bonus: choices against shortened arms find
        // the ratio to as many digits as there are queries.
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
