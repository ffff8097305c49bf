//! Attacks on the joint learner by an adversary who sees only actions.
//!
//! Between two releases the policy is constant, and an adversary may request many decisions: a decision without a reward changes nothing.
//! With arms `e_1` and `-c e_1` the learner shows whether `theta_1 + w > c (w - theta_1)`, and a dozen such queries find `theta_1 / w` to
//! three digits. So an adversary who sees only actions learns almost what the release contains of `x y` in the direction of the attacked
//! person; rewards of B and -B differ most.

use reticent::{
    bandit::{Arms, JointLinUcb, JointParams},
    noise::Noise,
    privacy::Guarantee,
    randomize::Bounds,
};

use super::{Attack, Test, View, neighbours::axis};
use crate::Result;

/// The largest numbers of releases whose policy is queried and of rounds that are played.
const MOST_RELEASES: usize = 16;
const MOST_ROUNDS: u64 = 1024;
/// Queries to one policy.
const QUERIES: u32 = 12;
/// Runs on each data set.
const SAMPLES: u64 = 20_000;

/// The attack by queries on the deployed learner.
pub fn attacks(params: &JointParams, guarantee: &Guarantee) -> Vec<Attack> {
    let params = params.clone();
    let horizon = params.horizon.unwrap_or(u64::MAX).min(MOST_ROUNDS);
    let times = params.schedule.times().take(MOST_RELEASES).take_while(|time| *time <= horizon);
    let times: Vec<u64> = times.collect();
    let Some(&rounds) = times.last() else { return Vec::new() };
    let adversary = format!(
        "sees actions only: {QUERIES} decisions without a reward after each of the first {} releases, arms e_1 against -c e_1; learned linear test",
        times.len()
    );
    let samples = (SAMPLES * 64 / rounds).clamp(8000, SAMPLES);
    let attack = Attack::new(adversary, guarantee, samples, move || {
        let (plan, bounds) = (params.check()?, params.bounds);
        let view: View = Box::new(move |data, noise| {
            let (low, high) = bounds.rewards;
            let reward = *data.pick((&high, &low));
            actions(plan.clone().start(noise), &bounds, rounds, reward)
        });
        Ok((view, Test::Linear { difference: None }))
    });
    vec![attack]
}

fn actions<N: Noise>(
    mut learner: JointLinUcb<N>,
    bounds: &Bounds,
    rounds: u64,
    reward: f64,
) -> Result<Vec<f64>> {
    let (d, bound) = (bounds.dimension, bounds.feature_bound);
    let person = Arms::from_rows(d, &[axis(d, bound)])?;
    let others = Arms::from_rows(d, &[axis(d, 0.0)])?;
    let mut seen = Vec::new();
    for round in 1..=rounds {
        let (arms, reward) = if round == 1 { (&person, reward) } else { (&others, 0.0) };
        let decision = learner.decide(arms)?;
        if learner.observe(decision.ticket, reward)?.released {
            seen.push(query(&mut learner, d, bound)?);
        }
    }
    Ok(seen)
}

/// `theta_1 / w`, by bisection over arms.
fn query<N: Noise>(learner: &mut JointLinUcb<N>, d: usize, bound: f64) -> Result<f64> {
    let mut prefers = |one: f64, two: f64| -> Result<bool> {
        let arms = Arms::from_rows(d, &[axis(d, one * bound), axis(d, two * bound)])?;
        let decision = learner.decide(&arms)?;
        learner.dismiss(decision.ticket);
        Ok(decision.arm == 0)
    };
    let sign = if prefers(1.0, -1.0)? { 1.0 } else { -1.0 };
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 1..QUERIES {
        let middle = 0.5 * (low + high);
        // The losing arm against a fraction of the winning one.
        if prefers(-sign, sign * middle)? { low = middle } else { high = middle }
    }
    let ratio = 0.5 * (low + high);
    Ok(sign * (1.0 - ratio) / (1.0 + ratio))
}
