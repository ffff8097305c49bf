//! Fixed arms, learnt in episodes: each person's reward is in exactly one noisy sum ([`episode_noise`](super::episode_noise)), and there is no noisy matrix.
//!
//! ```text
//! episode    arm a for n people,  released: m, the mean of their rewards with noise          one number
//! estimate   1/w = Var m,   V = I + sum w a a^T,   theta = V^-1 sum w m a,   deviation(x)^2 = x^T V^-1 x
//! ```
//!
//! Rewards are in units of their range and centred. The arms are public and the same for all people, so that the learner needs nothing of a person
//! but the reward, and the matrix of the arms played is known without noise.
//!
//! | [`Strategy`] | next episode | reference |
//! | --- | --- | --- |
//! | `Published` | a G-optimal design over the arms left, until every deviation has halved; only this phase's sums are used; an arm is dropped at a distance of `w (deviation(x) + deviation(best))`, w by a union bound over arms and phases | Hanna et al. 2022 (arXiv 2207.03445); Azize and Basu 2024 (arXiv 2309.00557, AdaC-GOPE) |
//! | `Elimination` | the same with all sums pooled, a tuned w, and the deviation of the difference | |
//! | `Optimism` | the arm with the largest `<theta, x> + w deviation(x)`, until det V has grown by a factor | rarely switching OFUL (Abbasi-Yadkori et al. 2011), with the episodes of AdaP-UCB (Azize and Basu 2022) |
//!
//! Releases are means of episodes only, so privacy does not depend on the strategy; no width is certified.

use std::{collections::VecDeque, sync::Arc};

use reticent::{bandit::Arms, linalg::Cholesky, noise::Noise};

use super::{
    design::g_optimal,
    episode_noise::{EpisodeNoise, EpisodeSum, Size},
};
use reticent_lab::{FastNoise, Result, algorithm::bandit::BlockLearner, play::Learner};

/// Choice of the next episode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Strategy {
    /// Phased elimination as published.
    Published,
    /// Phased elimination on all sums, with a tuned width.
    Elimination,
    /// Upper confidence bounds between episodes.
    Optimism,
}

/// Parameters of a [`Episodes`].
#[derive(Debug, Clone, Copy)]
pub(super) struct EpisodesParams {
    pub(super) strategy: Strategy,
    /// Lowest and highest reward.
    pub(super) rewards: (f64, f64),
    pub(super) rounds: u64,
    /// w = width sqrt(ln(1 + t)) deviations of the estimate after t people; `Published` has its own.
    pub(super) width: f64,
    /// By how much det V grows in an episode of `Optimism`, and every squared deviation falls in a phase of an elimination.
    pub(super) growth: f64,
}

/// One episode: its arm and its size; without a size it has no end and nothing is released.
type Episode = (usize, Option<Size>);

/// The learner.
pub(super) struct Episodes<N> {
    params: EpisodesParams,
    sizes: Arc<EpisodeNoise>,
    noise: N,
    /// Features of all arms; empty before the first round.
    arms: Vec<Vec<f64>>,
    /// Arms that have not been eliminated.
    left: Vec<usize>,
    /// `sum w a a^T`, upper triangle by rows.
    upper: Vec<f64>,
    /// `sum w m a`.
    moment: Vec<f64>,
    /// People of all episodes that are over.
    people: u64,
    /// Phases of an elimination so far.
    phase: u32,
    /// The present episode first.
    queue: VecDeque<Episode>,
    /// Sums of the present episode.
    sum: EpisodeSum,
}

/// Least squares on the sums so far.
struct Fit {
    factor: Cholesky,
    theta: Vec<f64>,
}

impl Fit {
    fn of(upper: &[f64], moment: &[f64]) -> Result<Self> {
        let factor = Cholesky::of(moment.len(), upper, 1.0).ok_or_else(|| {
            reticent::Error::invalid("arms", "a value", "they are not finite numbers near 1")
        })?;
        let theta = factor.solve(moment)?;
        Ok(Fit { factor, theta })
    }

    fn value(&self, x: &[f64]) -> f64 {
        x.iter().zip(&self.theta).map(|(x, t)| x * t).sum()
    }

    fn deviation(&self, x: &[f64]) -> Result<f64> {
        Ok(self.factor.forward(x)?.iter().map(|v| v * v).sum::<f64>().sqrt())
    }
}

/// `upper += weight x x^T`.
fn add_square(upper: &mut [f64], x: &[f64], weight: f64) {
    let mut entries = upper.iter_mut();
    for (i, one) in x.iter().enumerate() {
        for (two, entry) in x[i..].iter().zip(&mut entries) {
            *entry += weight * one * two;
        }
    }
}

impl<N: Noise> Episodes<N> {
    pub(super) fn new(params: EpisodesParams, sizes: Arc<EpisodeNoise>, noise: N) -> Self {
        Episodes {
            params,
            sizes,
            noise,
            arms: Vec::new(),
            left: Vec::new(),
            upper: Vec::new(),
            moment: Vec::new(),
            people: 0,
            phase: 0,
            queue: VecDeque::new(),
            sum: EpisodeSum::default(),
        }
    }

    fn begin(&mut self, arms: &Arms) {
        self.arms = (0..arms.count()).map(|arm| arms.arm(arm)).collect();
        self.left = (0..arms.count()).collect();
        let dimension = arms.dimension();
        self.upper = vec![0.0; dimension * (dimension + 1) / 2];
        self.moment = vec![0.0; dimension];
    }

    /// Fills the queue; `rounds` are left.
    fn plan_ahead(&mut self, rounds: u64) -> Result<()> {
        match self.params.strategy {
            Strategy::Optimism => self.most_promising(),
            Strategy::Elimination | Strategy::Published => self.next_phase(rounds),
        }
    }

    /// w, which grows so slowly that a wrong arm is not kept for ever.
    fn width(&self) -> f64 {
        self.params.width * (self.people as f64).ln_1p().sqrt()
    }

    fn most_promising(&mut self) -> Result<()> {
        let (width, growth) = (self.width(), self.params.growth);
        let fit = Fit::of(&self.upper, &self.moment)?;
        let (mut best, mut highest, mut variance) = (0, f64::NEG_INFINITY, 1.0);
        for (arm, x) in self.arms.iter().enumerate() {
            let deviation = fit.deviation(x)?;
            let bound = fit.value(x) + width * deviation;
            if bound > highest {
                (best, highest, variance) = (arm, bound, deviation * deviation);
            }
        }
        let size = self.sizes.least(|size| size.weight * variance >= growth - 1.0);
        self.queue.push_back((best, Some(size)));
        Ok(())
    }

    fn next_phase(&mut self, rounds: u64) -> Result<()> {
        let published = self.params.strategy == Strategy::Published;
        let fit = Fit::of(&self.upper, &self.moment)?;
        let best = self.eliminate(&fit)?;
        if published {
            self.upper.fill(0.0);
            self.moment.fill(0.0);
        }
        let worst = |upper: &[f64], this: &Self| -> Result<f64> {
            let fit = Fit::of(upper, &this.moment)?;
            let mut deviations = this.left.iter().map(|&arm| fit.deviation(&this.arms[arm]));
            deviations.try_fold(0.0, |most: f64, next| Ok(most.max(next?)))
        };
        let present = worst(&self.upper, self)?;
        let target = loop {
            self.phase += 1;
            let target = self.params.growth.powf(-0.5 * f64::from(self.phase));
            if target < present {
                break target;
            }
        };
        let candidates: Vec<&[f64]> =
            self.left.iter().map(|&arm| self.arms[arm].as_slice()).collect();
        let design = g_optimal(&candidates);
        let mut people = design.len() as f64;
        loop {
            let mut upper = self.upper.clone();
            let mut episodes = Vec::new();
            for &(candidate, weight) in &design {
                let arm = self.left[candidate];
                let size = self.sizes.least(|size| size.people as f64 >= weight * people);
                add_square(&mut upper, &self.arms[arm], size.weight);
                episodes.push((arm, Some(size)));
            }
            let total: u64 = episodes.iter().filter_map(|(_, size)| Some((*size)?.people)).sum();
            if self.left.len() == 1 || total >= rounds {
                // What the phase would teach cannot be used any more.
                self.queue.push_back((best, None));
                return Ok(());
            }
            if worst(&upper, self)? <= target {
                self.queue.extend(episodes);
                return Ok(());
            }
            people *= 1.4;
        }
    }

    /// Drops arms that are worse than the best one beyond doubt, and returns that.
    fn eliminate(&mut self, fit: &Fit) -> Result<usize> {
        let EpisodesParams { strategy, rounds, .. } = self.params;
        let width = self.width();
        let value = |arm: usize| fit.value(&self.arms[arm]);
        let highest = |one: usize, two: usize| if value(two) > value(one) { two } else { one };
        let best = self.left.iter().copied().reduce(highest).unwrap_or(0);
        let tests = self.arms.len() as f64 * f64::from(self.phase * (self.phase + 1));
        let union = (2.0 * (2.0 * tests * rounds as f64).max(1.0).ln()).sqrt();
        let mut kept = Vec::new();
        for &arm in &self.left {
            let (x, y) = (&self.arms[arm], &self.arms[best]);
            let reach = match strategy {
                Strategy::Published => union * (fit.deviation(x)? + fit.deviation(y)?),
                _ => {
                    let difference: Vec<f64> = x.iter().zip(y).map(|(x, y)| x - y).collect();
                    width * fit.deviation(&difference)?
                }
            };
            if value(best) - value(arm) <= reach {
                kept.push(arm);
            }
        }
        self.left = kept;
        Ok(best)
    }

    /// Ends the present episode where all of its people have been seen.
    fn close(&mut self, arm: usize, size: Size) -> Result<()> {
        if self.sum.people < size.people {
            return Ok(());
        }
        let mean = std::mem::take(&mut self.sum).release(&size, &mut self.noise)?;
        self.queue.pop_front();
        self.people += size.people;
        let x = &self.arms[arm];
        add_square(&mut self.upper, x, size.weight);
        let pull = size.weight * (mean - 0.5);
        self.moment.iter_mut().zip(x).for_each(|(moment, x)| *moment += pull * x);
        Ok(())
    }

    /// The present episode, or the next one.
    fn present(&mut self, arms: &Arms, round: u64) -> Result<Episode> {
        if self.arms.is_empty() {
            self.begin(arms);
        }
        if self.queue.is_empty() {
            self.plan_ahead((self.params.rounds + 1).saturating_sub(round))?;
        }
        Ok(self.queue.front().copied().unwrap_or((0, None)))
    }
}

impl<N: Noise> Learner for Episodes<N> {
    fn choose(&mut self, arms: &Arms, round: u64) -> Result<usize> {
        Ok(self.present(arms, round)?.0)
    }

    fn observe(&mut self, _: u64, _: &[f64], reward: f64) -> Result<()> {
        let (low, high) = self.params.rewards;
        let remedy = "expected a finite number";
        reticent::refuse_if(!reward.is_finite(), "reward", reward, remedy)?;
        let Some(&(arm, Some(size))) = self.queue.front() else { return Ok(()) };
        let share = (reward.clamp(low, high) - low) / (high - low);
        self.sum.add(&size, share, &mut self.noise);
        self.close(arm, size)
    }

    fn pass(&mut self, round: u64) -> Result<()> {
        let (low, high) = self.params.rewards;
        self.observe(round, &[], low + 0.5 * (high - low))
    }
}

impl BlockLearner for Episodes<FastNoise> {
    fn next(&mut self, arms: &Arms, round: u64) -> Result<(usize, u64)> {
        let (arm, size) = self.present(arms, round)?;
        Ok((arm, size.map_or(u64::MAX, |size| size.people - self.sum.people)))
    }

    fn learn(&mut self, _: &Arms, arm: usize, people: u64, ones: u64) -> Result<()> {
        let Some(&(_, Some(size))) = self.queue.front() else { return Ok(()) };
        self.sum.add_simulated(&size, people, ones, &mut self.noise);
        self.close(arm, size)
    }
}

#[cfg(test)]
mod tests {
    use reticent::privacy::TrustModel;

    use super::*;
    use reticent_lab::{
        algorithm::bandit::Budget,
        environment::{Environment, SphereParams, blocks::binomial},
        play::play,
    };

    const ROUNDS: u64 = 3000;

    fn sizes(trust: TrustModel) -> Arc<EpisodeNoise> {
        let budget = Budget { epsilon: 1.0, delta: 1e-6 };
        Arc::new(EpisodeNoise::new(trust, budget, ROUNDS).unwrap())
    }

    fn params(strategy: Strategy) -> EpisodesParams {
        EpisodesParams { strategy, rewards: (0.0, 1.0), rounds: ROUNDS, width: 0.8, growth: 1.6 }
    }

    fn sphere(seed: u64) -> reticent_lab::environment::Sphere {
        SphereParams { arms: 20, ..SphereParams::published() }.start(seed).unwrap()
    }

    /// Regret of whole blocks.
    fn in_blocks(learner: &mut Episodes<FastNoise>, seed: u64) -> f64 {
        let mut environment = sphere(seed);
        let arms = environment.arms().clone();
        let (mut round, mut regret, mut rewards) = (0, 0.0, FastNoise::seeded(seed + 1000));
        while round < ROUNDS {
            let (arm, most) = learner.next(&arms, round + 1).unwrap();
            let people = most.min(ROUNDS - round);
            let mean = environment.means()[arm];
            learner.learn(&arms, arm, people, binomial(people, mean, &mut rewards)).unwrap();
            regret += people as f64 * (environment.best_mean() - mean);
            round += people;
        }
        regret
    }

    /// Person by person and in whole blocks, every strategy learns, and loses the same.
    #[test]
    fn every_strategy_learns_person_by_person_and_in_blocks() {
        for trust in [TrustModel::Joint, TrustModel::Shuffle] {
            let sizes = sizes(trust);
            for strategy in [Strategy::Elimination, Strategy::Optimism] {
                let start =
                    |seed| Episodes::new(params(strategy), sizes.clone(), FastNoise::seeded(seed));
                let trials = 40;
                let (mut stepped, mut blocks, mut chance) = (Vec::new(), Vec::new(), 0.0);
                for seed in 0..trials {
                    let curve = play(&mut sphere(seed), &mut start(seed), &[ROUNDS]).unwrap();
                    stepped.push(curve[0].regret);
                    blocks.push(in_blocks(&mut start(seed + 500), seed));
                    let environment = sphere(seed);
                    let means = environment.means();
                    let mean = means.iter().sum::<f64>() / means.len() as f64;
                    chance += (environment.best_mean() - mean) * ROUNDS as f64 / trials as f64;
                }
                let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
                let (one, two) = (mean(&stepped), mean(&blocks));
                assert!(one < 0.5 * chance && two < 0.5 * chance, "{strategy:?} {one} {chance}");
                let differences: Vec<f64> =
                    stepped.iter().zip(&blocks).map(|(a, b)| a - b).collect();
                let square = differences.iter().map(|d| d * d).sum::<f64>() / trials as f64;
                let error = (square / trials as f64).sqrt();
                assert!((one - two).abs() < 5.3 * error, "{trust} {strategy:?}: {one} {two}");
            }
        }
    }

    /// The published widths drop no best arm, and in the end one arm is left where gaps are large.
    #[test]
    fn published_widths_keep_the_best_arm() {
        let sizes = sizes(TrustModel::Joint);
        let arms = Arms::from_rows(2, &[[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]]).unwrap();
        let means = [0.9, 0.1, 0.62];
        for seed in 0..20 {
            let rounds = 1_000_000;
            let params = EpisodesParams { rounds, growth: 4.0, ..params(Strategy::Published) };
            let mut learner = Episodes::new(params, sizes.clone(), FastNoise::seeded(seed));
            let (mut round, mut rewards) = (0, FastNoise::seeded(seed + 9));
            while round < rounds {
                let (arm, most) = learner.next(&arms, round + 1).unwrap();
                let people = most.min(rounds - round);
                let ones = binomial(people, means[arm], &mut rewards);
                learner.learn(&arms, arm, people, ones).unwrap();
                assert!(learner.left.contains(&0));
                round += people;
            }
            assert_eq!(learner.left, [0]);
        }
    }

    /// A person's reward changes nothing before the episode of that person is over, and what does not fit is clipped or named.
    #[test]
    fn a_reward_matters_only_through_the_sum_of_its_episode() {
        let arms = sphere(1).arms().clone();
        let choices = |replaced: f64, at: u64| {
            let mut learner = Episodes::new(
                params(Strategy::Optimism),
                sizes(TrustModel::Joint),
                FastNoise::seeded(4),
            );
            let (mut choices, mut ends) = (Vec::new(), 0);
            for round in 1..=200 {
                choices.push(Learner::choose(&mut learner, &arms, round).unwrap());
                if round == at {
                    let (_, size) = learner.queue[0];
                    ends = round + size.unwrap().people - learner.sum.people;
                }
                let reward = if round == at { replaced } else { 0.5 };
                learner.observe(round, &[], reward).unwrap();
            }
            (choices, ends as usize)
        };
        let ((one, ends), (two, _)) = (choices(0.0, 60), choices(1.0, 60));
        assert_eq!(one[..ends - 1], two[..ends - 1]);
        // Beyond the range a reward counts as its end.
        assert_eq!(choices(1e9, 60).0, two);
        let mut learner = Episodes::new(
            params(Strategy::Optimism),
            sizes(TrustModel::Joint),
            FastNoise::seeded(4),
        );
        Learner::choose(&mut learner, &arms, 1).unwrap();
        let error = learner.observe(1, &[], f64::NAN).unwrap_err().to_string();
        assert!(error.contains("reward: got NaN") && learner.sum.people == 0, "{error}");
    }
}
