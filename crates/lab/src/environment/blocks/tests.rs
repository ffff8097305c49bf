//! Tests that the block paths have the law of the plain one.

use reticent::{
    bandit::{Arms, Policy},
    noise::Noise,
};

use super::*;
use crate::{
    FastNoise,
    environment::{Environment, Gap, GapParams, GapPlan, Rewards},
};

/// Standard errors until an alarm: 3e-10 a statistic, below 1e-6 over the at most 3000 of a test.
const LIMIT: f64 = 6.3;
const PLAIN_ROUNDS: u64 = 10_000;
const BLOCK_ROUNDS: u64 = 40_000;

/// Means and variances of a round's regret, `x x^T` and `x y`, played arm by arm.
fn plain(environment: &mut dyn Environment, policy: &Policy) -> (Vec<f64>, Vec<f64>) {
    let dimension = policy.dimension();
    let count = 1 + dimension * (dimension + 3) / 2;
    let (mut sums, mut squares) = (vec![0.0; count], vec![0.0; count]);
    for _ in 0..PLAIN_ROUNDS {
        let arms = environment.arms();
        let (mut arm, mut best) = (0, f64::NEG_INFINITY);
        for candidate in 0..arms.count() {
            let bound = policy.bound(&arms.arm(candidate));
            if bound > best {
                (arm, best) = (candidate, bound);
            }
        }
        let x = arms.arm(arm);
        let y = environment.reward(arm);
        let mut values = vec![environment.best_mean() - environment.means()[arm]];
        for i in 0..dimension {
            values.extend(x[i..].iter().map(|other| x[i] * other));
        }
        values.extend(x.iter().map(|x| x * y));
        for (i, value) in values.iter().enumerate() {
            sums[i] += value;
            squares[i] += value * value;
        }
    }
    let rounds = PLAIN_ROUNDS as f64;
    let means: Vec<f64> = sums.iter().map(|sum| sum / rounds).collect();
    let variance = |(square, mean): (&f64, &f64)| (square / rounds - mean * mean).max(0.0);
    let variances = squares.iter().zip(&means).map(variance).collect();
    (means, variances)
}

/// The same means, played in blocks of uneven length.
fn blocks(blocks: &mut impl Blocks, policy: &Policy) -> Vec<f64> {
    let mut sums = Sums::new(policy.dimension());
    blocks.follow(policy).unwrap();
    let mut length = 1;
    while sums.rounds < BLOCK_ROUNDS {
        blocks.advance(length.min(BLOCK_ROUNDS - sums.rounds), &mut sums);
        length = length * 7 % 1031;
    }
    let all = std::iter::once(&sums.regret).chain(&sums.gram).chain(&sums.moment);
    all.map(|sum| sum / sums.rounds as f64).collect()
}

/// The worst disagreement, in standard errors.
fn worst((means, variances): &(Vec<f64>, Vec<f64>), others: &[f64]) -> f64 {
    let share = 1.0 / PLAIN_ROUNDS as f64 + 1.0 / BLOCK_ROUNDS as f64;
    let distance = |((mean, variance), other): ((&f64, &f64), &f64)| {
        // Statistics that do not vary agree up to rounding.
        (mean - other).abs() / (variance * share + 1e-24).sqrt()
    };
    means.iter().zip(variances).zip(others).map(distance).fold(0.0, f64::max)
}

/// Policies with a right theta, a wrong theta, no data, and a very large width.
fn policies(theta: &[f64]) -> Vec<(&'static str, Policy)> {
    let dimension = theta.len();
    let mut noise = FastNoise::seeded(dimension as u64);
    let mut whitening = |diagonal: f64, below: f64| {
        let mut entries = Vec::new();
        for i in 0..dimension {
            entries.extend((0..i).map(|_| below * noise.standard_normal()));
            entries.push(diagonal * (1.0 + 0.3 * noise.uniform()));
        }
        entries
    };
    let (good, bad, wide, tight) =
        (whitening(0.05, 0.01), whitening(0.1, 0.1), whitening(1.0, 0.5), whitening(0.3, 0.2));
    let mut near = theta.to_vec();
    near[0] += 0.15;
    let mut far: Vec<f64> = theta.iter().map(|t| -0.3 * t).collect();
    far[dimension - 1] += 0.8;
    let half: Vec<f64> = near.iter().map(|t| 0.5 * t).collect();
    let policy = |theta: &[f64], whitening: Vec<f64>, width, drift| {
        Policy::from_parts(theta.to_vec(), whitening, width, drift).unwrap()
    };
    vec![
        ("right", policy(&near, good, 1.0, 0.0)),
        ("wrong", policy(&far, bad, 0.5, 0.0)),
        ("ignorant", policy(&vec![0.0; dimension], wide, 3.0, 0.0)),
        ("anxious", policy(&half, tight, 0.3, 0.7)),
    ]
}

#[test]
fn gap_blocks_have_the_law_of_the_plain_rounds() {
    for dimension in [2, 3, 5, 8] {
        for (arms, gap) in [(1, 0.0), (2, 0.0), (25, 0.0), (2, 0.1), (25, 0.1)] {
            let plan = GapParams { gap, ..GapParams::new(dimension, arms) }.check().unwrap();
            let mut environment = plan.fresh(11);
            for (name, policy) in policies(environment.theta()) {
                let others = blocks(&mut GapBlocks::new(plan.fresh(11)), &policy);
                let errors = worst(&plain(&mut environment, &policy), &others);
                assert!(errors < LIMIT, "d = {dimension}, K = {arms}, gap {gap}, {name}: {errors}");
            }
        }
    }
}

#[test]
fn every_law_of_rewards_agrees_and_many_arms_do() {
    for (dimension, arms, gap, rewards) in [
        (5, 10, 0.0, Rewards::Gaussian),
        (5, 10, 0.0, Rewards::Bernoulli),
        (4, 100, 1.2, Rewards::Sign),
        (13, 40, 0.0, Rewards::Gaussian),
    ] {
        let plan = GapParams { gap, rewards, ..GapParams::new(dimension, arms) }.check().unwrap();
        let mut environment = plan.fresh(12);
        for (name, policy) in policies(environment.theta()) {
            let others = blocks(&mut GapBlocks::new(plan.fresh(12)), &policy);
            let errors = worst(&plain(&mut environment, &policy), &others);
            assert!(errors < LIMIT, "d = {dimension}, K = {arms}, {rewards:?}, {name}: {errors}");
        }
    }
}

/// [`Gap`] with a mistake: the part of an arm across theta* has length 1, not `sqrt(1 - t^2)`.
struct Stretched(Gap, Arms);

impl Environment for Stretched {
    fn arms(&mut self) -> &Arms {
        let Stretched(gap, arms) = self;
        gap.arms();
        for arm in 0..arms.count() {
            let t = gap.means()[arm];
            let mut x = gap.current().arm(arm);
            for (x, theta) in x.iter_mut().zip(gap.theta()) {
                *x = t * theta + (*x - t * theta) / (1.0 - t * t).sqrt();
            }
            arms.set(arm, &x).unwrap();
        }
        arms
    }

    fn means(&self) -> &[f64] {
        self.0.means()
    }

    fn best_mean(&self) -> f64 {
        self.0.best_mean()
    }

    fn reward(&mut self, arm: usize) -> f64 {
        self.0.reward(arm)
    }
}

#[test]
fn planted_mistakes_are_caught() {
    let caught = |plan: GapPlan, wrong: &mut dyn Environment, which: usize| {
        let (name, policy) = &policies(plan.fresh(11).theta())[which];
        let others = blocks(&mut GapBlocks::new(plan.fresh(11)), policy);
        let errors = worst(&plain(wrong, policy), &others);
        assert!(errors > LIMIT, "{name}: {errors}");
    };
    let plan = GapParams::new(5, 25).check().unwrap();
    for which in 0..4 {
        let gap = plan.fresh(11);
        let arms = gap.current().clone();
        caught(plan, &mut Stretched(gap, arms), which);
    }
    // Suboptimal arms that start 0.05 too low, and one arm too few.
    let gap = GapParams { gap: 0.05, ..GapParams::new(5, 25) }.check().unwrap();
    caught(plan, &mut gap.fresh(11), 0);
    caught(plan, &mut gap.fresh(11), 3);
    let (four, three) = (GapParams::new(5, 4), GapParams::new(5, 3));
    caught(four.check().unwrap(), &mut three.check().unwrap().fresh(11), 1);
}

#[test]
fn a_policy_that_knows_nothing_chooses_uniformly() {
    // E <x, theta*> = 0 without a gap, so the mean regret is 0.75 (K - 1)/K; its deviation is below 0.6.
    let expected = |arms: f64| 0.75 * (arms - 1.0) / arms;
    let limit = LIMIT * 0.6 / (BLOCK_ROUNDS as f64).sqrt();
    for (dimension, arms) in [(2, 1), (3, 2), (5, 25)] {
        let plan = GapParams::new(dimension, arms).check().unwrap();
        let identity: Vec<f64> = (0..dimension)
            .flat_map(|i| (0..=i).map(move |j| f64::from(u8::from(i == j))))
            .collect();
        let flat = Policy::from_parts(vec![0.0; dimension], identity, 2.0, 1.0).unwrap();
        let followed = blocks(&mut GapBlocks::new(plan.fresh(13)), &flat);
        assert!((followed[0] - expected(arms as f64)).abs() < limit, "{}", followed[0]);
        let mut sums = Sums::new(dimension);
        GapBlocks::new(plan.fresh(13)).advance(BLOCK_ROUNDS, &mut sums);
        let before = sums.regret / BLOCK_ROUNDS as f64;
        assert!((before - expected(arms as f64)).abs() < limit, "{before}");
        // Planted: one arm more, or the optimal arm found by its slot.
        assert!((before - expected(arms as f64 + 1.0)).abs() > limit || arms == 25);
        assert!(expected(arms as f64) > limit || arms == 1);
    }
}

#[test]
fn rewards_of_a_block_have_their_variance() {
    // One arm: <sum x y, theta*> = 0.75 Y, and Y is a sum of `rounds` rewards of known variance.
    let (trials, rounds) = (20_000, 40_u64);
    for (rewards, mean, variance) in [
        (Rewards::Sign, 0.75, 1.0 - 0.75 * 0.75),
        (Rewards::Gaussian, 0.75, 1.0),
        (Rewards::Bernoulli, 0.875, 0.875 * 0.125),
    ] {
        let plan = GapParams { rewards, ..GapParams::new(3, 1) }.check().unwrap();
        let theta = plan.fresh(14).theta().to_vec();
        let mut fresh = GapBlocks::new(plan.fresh(14));
        let mut fixed = FixedBlocks::new(plan.fixed(14));
        for blocks in [&mut fresh as &mut dyn Blocks, &mut fixed] {
            let (mut sum, mut squares) = (0.0, 0.0);
            for _ in 0..trials {
                let mut sums = Sums::new(3);
                blocks.advance(rounds, &mut sums);
                let along: f64 = sums.moment.iter().zip(&theta).map(|(u, t)| u * t).sum();
                let standard =
                    (along / 0.75 - rounds as f64 * mean) / (rounds as f64 * variance).sqrt();
                sum += standard;
                squares += standard * standard;
            }
            let count = f64::from(trials);
            assert!(sum.abs() < LIMIT * count.sqrt(), "{rewards:?}: {sum}");
            // The kurtosis of a mean of 40 is below 3.2.
            assert!(
                (squares - count).abs() < LIMIT * (2.2 * count).sqrt(),
                "{rewards:?}: {squares}"
            );
            // Planted: two per cent too many rounds in the mean, ten in the variance.
            assert!(
                (sum + 0.02 * count * mean * (rounds as f64 / variance).sqrt()).abs()
                    > LIMIT * count.sqrt()
            );
            assert!((1.1 * squares - count).abs() > LIMIT * (2.2 * count).sqrt());
        }
    }
}

#[test]
fn fixed_blocks_play_the_arm_the_policy_would() {
    for dimension in [2, 5] {
        let plan =
            GapParams { fresh_arms: false, ..GapParams::new(dimension, 25) }.check().unwrap();
        let mut environment = plan.fixed(15);
        for (name, policy) in policies(environment.theta()) {
            let mut fixed = FixedBlocks::new(plan.fixed(15));
            let others = blocks(&mut fixed, &policy);
            let errors = worst(&plain(&mut environment, &policy), &others);
            assert!(errors < LIMIT, "d = {dimension}, {name}: {errors}");
            // Planted: another arm.
            let other = (fixed.arm() + 1) % 25;
            let regret = environment.best_mean() - environment.means()[other];
            assert!((regret - others[0]).abs() > 1e-9);
        }
    }
}

#[test]
fn a_policy_of_another_dimension_is_refused() {
    let plan = GapParams::new(3, 2).check().unwrap();
    let policy = Policy::from_parts(vec![0.0; 2], vec![0.0; 3], 1.0, 0.0).unwrap();
    let message = GapBlocks::new(plan.fresh(1)).follow(&policy).unwrap_err().to_string();
    assert!(message.contains("3 features") && message.contains("dimension: got 2"), "{message}");
    assert!(FixedBlocks::new(plan.fixed(1)).follow(&policy).is_err());
}

/// The same means, stepped round by round without the arms that cannot win.
fn steps(plan: &GapPlan, policy: &Policy, largest: f64) -> Vec<f64> {
    let mut steps = GapSteps::new(plan.fresh(11)).unwrap();
    let rewards = plan.params().rewards;
    let mut sums = vec![0.0; 1 + triangle(policy.dimension()) + policy.dimension()];
    for _ in 0..BLOCK_ROUNDS {
        let choice = steps.choose(policy, largest).unwrap();
        let reward = rewards.draw(choice.product, steps.noise());
        let regret = rewards.mean(0.75) - rewards.mean(choice.product);
        let x = &choice.features;
        let gram = (0..x.len()).flat_map(|i| x[i..].iter().map(move |other| x[i] * other));
        let values = std::iter::once(regret).chain(gram).chain(x.iter().map(|x| x * reward));
        sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
    }
    sums.iter().map(|sum| sum / BLOCK_ROUNDS as f64).collect()
}

fn triangle(dimension: usize) -> usize {
    dimension * (dimension + 1) / 2
}

#[test]
fn steps_have_the_law_of_the_plain_rounds() {
    let mut caught = 0;
    for dimension in [3, 5, 8] {
        for (arms, gap, rewards) in
            [(1, 0.0, Rewards::Sign), (25, 0.1, Rewards::Gaussian), (70, 0.0, Rewards::Sign)]
        {
            let plan =
                GapParams { gap, rewards, ..GapParams::new(dimension, arms) }.check().unwrap();
            let mut environment = plan.fresh(11);
            for (name, policy) in policies(environment.theta()) {
                if policy.drift() > 0.0 {
                    continue;
                }
                let largest = largest_variance(&policy).unwrap();
                let expected = plain(&mut environment, &policy);
                let errors = worst(&expected, &steps(&plan, &policy, largest));
                assert!(errors < LIMIT, "d = {dimension}, K = {arms}, {name}: {errors}");
                // Planted: arms are ruled out that might have won.
                let pruned = steps(&plan, &policy, 0.3 * largest);
                caught += u32::from(worst(&expected, &pruned) > LIMIT);
            }
        }
    }
    assert!(caught >= 3, "{caught}");
    assert!(GapSteps::new(GapParams::new(2, 5).check().unwrap().fresh(1)).is_err());
}
