//! JDP-LinUCB as the public code of Chowdhury and Zhou (2022) runs it, for comparison: no learner of ours.
//!
//! After every reward it goes by `G + sum of nodes` and `u + sum of nodes`, where the first `floor(ln(1 + t)) + 1` of a few nodes drawn at the
//! start are added. The same node noise is in consecutive sums, so their difference is one person's data as they are, and no epsilon
//! holds.

use reticent::{
    bandit::{Arms, Policy, RulePlan},
    noise::Noise,
    privacy::Guarantee,
    randomize::Bounds,
    release::{Domain, Release},
};

use super::BanditEnvironment;
use crate::{
    FastNoise, Result,
    audit::attack::{Attack, AuditNoise, Test, View, neighbours::axis},
    papers::constants::local::PublishedLocal,
    play::Learner,
};

/// Parameters of the code.
#[derive(Clone)]
pub(super) struct PublicCode {
    rule: RulePlan,
    domain: Domain,
    feature_bound: f64,
    noise: f64,
    rounds: u64,
}

/// The code of one trial.
pub(super) struct Running {
    code: PublicCode,
    nodes: Vec<Vec<f64>>,
    /// Upper triangle by rows, then the vector.
    sums: Vec<f64>,
    rewards: u64,
    policy: Policy,
}

impl PublicCode {
    pub(super) fn new(
        constants: &PublishedLocal,
        epsilon: f64,
        environment: &BanditEnvironment,
    ) -> Result<Self> {
        // The code does not centre rewards.
        let bounds = Bounds { intercept: None, ..environment.bounds };
        let domain =
            Domain::regression(bounds.dimension, bounds.feature_bound, bounds.half_range());
        let rule = constants.rule(epsilon)?.plan(domain.clone(), None, None)?;
        let noise = constants.noise(epsilon)?;
        let feature_bound = bounds.feature_bound;
        Ok(PublicCode { rule, domain, feature_bound, noise, rounds: environment.rounds })
    }

    pub(super) fn start(&self, seed: u64) -> Result<Running> {
        let mut running = Running {
            nodes: self.nodes(seed),
            sums: vec![0.0; self.domain.coordinates()],
            rewards: 0,
            policy: self.rule.cold_policy(),
            code: self.clone(),
        };
        running.learn()?;
        Ok(running)
    }

    /// `floor(ln n) + 1` nodes, each with noise on the whole matrix, symmetrised, and on the vector.
    fn nodes(&self, seed: u64) -> Vec<Vec<f64>> {
        let (mut source, d) = (FastNoise::seeded(seed), self.domain.dimension());
        let count = (self.rounds as f64).ln().floor() as usize + 1;
        let mut node = || {
            let mut entries = Vec::with_capacity(self.domain.coordinates());
            for row in 0..d {
                for column in row..d {
                    let scale = if row == column { 1.0 } else { 0.5_f64.sqrt() };
                    entries.push(scale * self.noise * source.standard_normal());
                }
            }
            entries.extend((0..d).map(|_| self.noise * source.standard_normal()));
            entries
        };
        (0..count).map(|_| node()).collect()
    }

    /// The code's claim, attacked by an adversary who sees the sums that its policy is made from. After 3 to 6 rewards the same two nodes are
    /// in the sums, so that what the fourth person adds shows as it is.
    pub(super) fn attack(&self, claimed: &Guarantee) -> Attack {
        const BEFORE: usize = 3;
        let adversary = "plays the code itself: sees the sums behind its policy after the third and the fourth reward, and subtracts; v against -v";
        let code = self.clone();
        let attack = Attack::new(adversary, claimed, 20_000, move || {
            let code = code.clone();
            let (d, feature_bound) = (code.domain.dimension(), code.feature_bound);
            let person = move |sign: f64| {
                let mut features = axis(d, sign * 0.5_f64.sqrt() * feature_bound);
                features[d - 1] = 0.5_f64.sqrt() * feature_bound;
                features
            };
            let view: View = Box::new(move |data, mut noise: AuditNoise| {
                let mut running = code.start(noise.bits())?;
                for _ in 0..BEFORE {
                    running.observe(0, &person(1.0), 0.0)?;
                }
                let before = running.shown();
                running.observe(0, &person(*data.pick((&1.0, &-1.0))), 1.0)?;
                // x_1 y is the first number behind the triangle, with its sign.
                let first = d * (d + 1) / 2;
                Ok(vec![before[first] - running.shown()[first]])
            });
            Ok((view, Test::Scores))
        });
        attack.on_the_claim_only()
    }
}

impl Running {
    /// The sums with the nodes that are in use.
    fn shown(&self) -> Vec<f64> {
        let count = (1.0 + self.rewards as f64).ln().floor() as usize + 1;
        let mut sums = self.sums.clone();
        for node in self.nodes.iter().take(count) {
            sums.iter_mut().zip(node).for_each(|(sum, noise)| *sum += noise);
        }
        sums
    }

    fn learn(&mut self) -> Result<()> {
        let PublicCode { rule, domain, .. } = &self.code;
        let (sums, zeros) = (self.shown(), vec![0.0; self.sums.len()]);
        let number = self.rewards + 1;
        let release =
            Release::simulated::<FastNoise>(domain.clone(), self.rewards, number, sums, zeros)?;
        self.policy = rule.policy(&release)?;
        Ok(())
    }
}

impl Learner for Running {
    fn choose(&mut self, arms: &Arms, round: u64) -> Result<usize> {
        Ok(self.policy.choose(arms, round)?)
    }

    fn observe(&mut self, _: u64, features: &[f64], reward: f64) -> Result<()> {
        let mut entries = self.sums.iter_mut();
        for (row, x) in features.iter().enumerate() {
            let products = features[row..].iter().map(|column| x * column);
            products.zip(entries.by_ref()).for_each(|(product, sum)| *sum += product);
        }
        entries.zip(features).for_each(|(sum, x)| *sum += x * reward);
        self.rewards += 1;
        self.learn()
    }
}
