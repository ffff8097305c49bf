//! Episodes of people: one arm until enough people were shown it, then one release.
//!
//! ```text
//! central:  decide -> (number, arm);   observe(number, reward)
//! shuffle:  episode -> devices: report(reward) -> bit;   shuffler: n bits -> absorb(ones)
//! ```

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{
    EpisodesParams, EpisodesPlan,
    clock::ClockState,
    estimate::{ArmEstimate, Best, Fit},
    noise::{GRID, Size},
};
use crate::{
    Error, Result,
    bandit::Policy,
    noise::{Bernoulli, Noise},
    privacy::{Event, Guarantee, TrustModel},
    refuse_if,
    release::Structure,
};

/// A choice made for one person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct EpisodeDecision {
    /// Hand this back with the reward.
    pub number: u64,
    /// Index of the arm.
    pub arm: usize,
}

/// The present episode: public. With a shuffler each device needs it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Episode {
    /// Number of the episode, from 0.
    pub number: u64,
    /// Arm that all of its people are shown.
    pub arm: usize,
    /// Number of people; by the clock, of ticks.
    pub length: u64,
    /// The lowest and the highest reward.
    pub rewards: (f64, f64),
    /// Epsilon of each person's bit by itself, with a shuffler.
    pub local_epsilon: f64,
}

impl Episode {
    /// Report of a device to the shuffler: the reward rounded to a bit at random, in proportion, by randomised response.
    ///
    /// ```
    /// use reticent::{bandit::EpisodesParams, noise::SecureNoise, privacy::TrustModel};
    /// let params = EpisodesParams {
    ///     trust: TrustModel::Shuffle,
    ///     ..EpisodesParams::new(vec![vec![1.0, 0.0], vec![0.0, 1.0]], 1.0, 1e-6)
    /// };
    /// let mut noise = SecureNoise::from_system()?;
    /// let mut server = params.check()?.start(SecureNoise::from_system()?);
    /// let episode = server.episode();
    /// let bits = (0..episode.length).map(|_| episode.report(0.7, &mut noise));
    /// let bits = bits.collect::<reticent::Result<Vec<bool>>>()?;
    /// server.absorb(bits.iter().filter(|bit| **bit).count() as u64)?;
    /// assert_eq!(server.episode().number, 1);
    /// # Ok::<(), reticent::Error>(())
    /// ```
    pub fn report<N: Noise>(&self, reward: f64, noise: &mut N) -> Result<bool> {
        let share = share(reward, self.rewards)?;
        let keep = Bernoulli::new(1.0 / (1.0 + libm::exp(-self.local_epsilon)))?;
        noise.rekey()?;
        let bit = noise.below(GRID) < steps(share);
        Ok(bit == keep.sample(noise))
    }
}

/// A reward as a share of its range.
pub(super) fn share(reward: f64, (low, high): (f64, f64)) -> Result<f64> {
    refuse_if(!reward.is_finite(), "reward", reward, "expected a finite number")?;
    Ok((reward.clamp(low, high) - low) / (high - low))
}

/// A share in steps of the grid.
pub(super) fn steps(share: f64) -> u64 {
    (share.clamp(0.0, 1.0) * GRID as f64).round() as u64
}

/// Everything that is saved but the parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct State {
    /// By arm.
    pub(super) estimates: Vec<ArmEstimate>,
    /// People of all episodes that are over; by the clock, as they were counted with noise.
    pub(super) people: f64,
    /// Episodes that are over.
    pub(super) episode: u64,
    pub(super) arm: usize,
    /// Number of its size; by the clock, its ticks.
    pub(super) length: u64,
    /// Rewards that were observed in the present episode.
    pub(super) observed: u64,
    /// Their sum in steps of the grid; with a shuffler, ones.
    pub(super) sum: u64,
    /// Decisions so far.
    pub(super) decisions: u64,
    /// The first decision of the present episode.
    pub(super) first: u64,
    /// Decisions of the present episode whose reward has not come.
    pub(super) open: BTreeSet<u64>,
    /// Releases made so far.
    pub(super) released: u64,
    pub(super) replays: u64,
    /// By the clock only.
    pub(super) clock: Option<ClockState>,
}

/// The learner: see [`EpisodesParams`].
pub struct Episodes<N> {
    pub(super) plan: EpisodesPlan,
    pub(super) state: State,
    pub(super) policy: Policy,
    pub(super) noise: N,
}

/// Prints no sums: a log line must not undo the noise.
impl<N> std::fmt::Debug for Episodes<N> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Episodes")
            .field("episode", &self.state.episode)
            .field("decisions", &self.state.decisions)
            .finish_non_exhaustive()
    }
}

impl<N: Noise> Episodes<N> {
    pub(super) fn new(plan: EpisodesPlan, noise: N) -> Self {
        let arms = plan.params.arms.len();
        let state = State {
            estimates: vec![ArmEstimate::default(); arms],
            people: 0.0,
            episode: 0,
            arm: 0,
            length: 0,
            observed: 0,
            sum: 0,
            decisions: 0,
            first: 0,
            open: BTreeSet::new(),
            released: 0,
            replays: 0,
            clock: plan.params.clock.then(|| ClockState::new(arms)),
        };
        let dimension = plan.params.arms[0].len();
        let mut learner = Episodes { policy: unknowing(dimension), plan, state, noise };
        learner.begin_episode();
        learner
    }

    /// A learner that was saved: the policy follows from its state.
    pub(super) fn of(plan: EpisodesPlan, state: State, noise: N) -> Self {
        let policy = unknowing(plan.params.arms[0].len());
        let mut learner = Episodes { policy, plan, state, noise };
        // What has no factor was dropped before it was saved.
        let _ = learner.fit();
        learner
    }

    /// Parameters of the learner.
    pub fn params(&self) -> &EpisodesParams {
        &self.plan.params
    }

    pub(super) fn size(&self) -> Size {
        self.plan.noise.size(self.state.length as usize)
    }

    /// The present episode.
    pub fn episode(&self) -> Episode {
        let State { episode, arm, length, .. } = self.state;
        let rewards = self.plan.params.rewards;
        let (length, local_epsilon) = match &self.state.clock {
            Some(_) => (length, 0.0),
            None => (self.size().people, self.size().local),
        };
        Episode { number: episode, arm, length, rewards, local_epsilon }
    }

    /// Number of people of the present episode whose rewards have not been observed.
    pub fn until_release(&self) -> u64 {
        self.episode().length - self.state.observed
    }

    /// Chooses an arm for the next person: that of the present episode.
    pub fn decide(&mut self) -> Result<EpisodeDecision> {
        self.expect_rounds()?;
        let (number, arm) = (self.state.decisions, self.state.arm);
        self.state.decisions += 1;
        self.state.open.insert(number);
        Ok(EpisodeDecision { number, arm })
    }

    /// Takes the reward of a decision, once. Returns whether it was learnt from: that of an episode which is over is not. An error changes nothing.
    pub fn observe(&mut self, number: u64, reward: f64) -> Result<bool> {
        self.expect_rounds()?;
        let steps = steps(share(reward, self.plan.params.rewards)?);
        let remedy = "no decision has this number; expected that of `decide`";
        refuse_if(number >= self.state.decisions, "number", number, remedy)?;
        if number < self.state.first {
            return Ok(false);
        }
        let remedy = "its reward has been observed: give each once";
        refuse_if(!self.state.open.contains(&number), "number", number, remedy)?;
        self.take(steps)?;
        self.state.open.remove(&number);
        Ok(true)
    }

    /// One reward in steps: into the sum, or, with a shuffler, through a device of this process to a bit of it.
    fn take(&mut self, steps: u64) -> Result<()> {
        let keep = self.size().keep()?;
        let shuffles = self.plan.params.trust == TrustModel::Shuffle;
        // What may fail comes before what changes.
        if shuffles || self.until_release() == 1 {
            self.noise.rekey()?;
        }
        self.state.sum += match shuffles {
            true => {
                let bit = self.noise.below(GRID) < steps;
                u64::from(bit == keep.sample(&mut self.noise))
            }
            false => steps,
        };
        self.state.observed += 1;
        self.close_if_over();
        Ok(())
    }

    /// Takes the number of ones among the bits of the present episode's people, as the shuffler shows it.
    pub fn absorb(&mut self, ones: u64) -> Result<()> {
        self.expect_rounds()?;
        let refused = self.plan.params.trust != TrustModel::Shuffle;
        let remedy = "bits come from a shuffler: give trust = shuffle";
        refuse_if(refused, "trust", self.plan.params.trust, remedy)?;
        let people = self.size().people;
        let remedy = format_args!("there are {people} people in the episode");
        refuse_if(ones > people, "ones", ones, remedy)?;
        let remedy = "rewards of this episode were observed one by one: go on so";
        refuse_if(self.state.observed > 0, "observed", self.state.observed, remedy)?;
        (self.state.sum, self.state.observed) = (ones, people);
        self.close_if_over();
        Ok(())
    }

    /// Takes what a simulation says of this number of people of the present episode, at most [`Episodes::until_release`]: how many of them have the highest
    /// reward, the others having the lowest; with a shuffler, how many of their bits are ones.
    ///
    /// Compiles only for simulation noise ([`Noise::PROTECTS_PEOPLE`] is false).
    pub fn absorb_simulated(&mut self, people: u64, highest: u64) -> Result<()> {
        const { assert!(!N::PROTECTS_PEOPLE, "people's rewards are observed one by one") };
        self.expect_rounds()?;
        let most = self.until_release();
        let remedy = format_args!("the episode has {most} more; expected at most that many");
        refuse_if(people > most, "people", people, remedy)?;
        refuse_if(highest > people, "highest", highest, "expected at most the number of people")?;
        self.noise.rekey()?;
        let step = if self.plan.params.trust == TrustModel::Shuffle { 1 } else { GRID };
        self.state.sum += highest * step;
        self.state.observed += people;
        self.close_if_over();
        Ok(())
    }

    pub(super) fn expect_rounds(&self) -> Result<()> {
        let remedy = "this learner counts ticks: give contributions to `tick`";
        refuse_if(self.state.clock.is_some(), "clock", true, remedy)
    }

    /// Ends the present episode where all of its people have been observed.
    fn close_if_over(&mut self) {
        let size = self.size();
        if self.state.observed < size.people {
            return;
        }
        let mean = self.released_mean(&size);
        let state = &mut self.state;
        state.estimates[state.arm].add(size.weight, mean);
        state.people += size.people as f64;
        (state.observed, state.sum, state.first) = (0, 0, state.decisions);
        state.open.clear();
        state.episode += 1;
        state.released += 1;
        self.forget(size.people as f64);
        self.begin_episode();
    }

    /// The mean of the episode as it is released, as a share of the range; the caller has given the noise a new key.
    fn released_mean(&mut self, size: &Size) -> f64 {
        let (people, sum) = (size.people as f64, self.state.sum);
        match (self.plan.params.trust, self.plan.noise.law) {
            (TrustModel::Shuffle, _) => {
                let keep = size.probability();
                (sum as f64 / people - (1.0 - keep)) / (2.0 * keep - 1.0)
            }
            (_, Some(law)) => {
                let noisy = sum as i64 + self.noise.discrete_laplace(&law);
                // From here on, post-processing.
                noisy as f64 / (people * GRID as f64)
            }
            (_, None) => sum as f64 / (people * GRID as f64),
        }
    }

    /// Lets what was released fade, where the learner forgets; the time is in people or ticks.
    pub(super) fn forget(&mut self, time: f64) {
        if let Some(half_life) = self.plan.params.forget {
            let share = libm::exp2(-time / half_life);
            self.state.estimates.iter_mut().for_each(|estimate| estimate.keep(share));
        }
    }

    /// Fits the releases and begins the next episode: post-processing, which fails nowhere. If numbers cannot be computed with, what was released is
    /// dropped.
    pub(super) fn begin_episode(&mut self) {
        let best = self.fit().or_else(|_| {
            self.state.estimates.fill(ArmEstimate::default());
            self.fit()
        });
        let best = best.unwrap_or(Best { arm: 0, variance: 1.0 });
        let wanted = (self.plan.params.growth - 1.0) / best.variance.max(f64::MIN_POSITIVE);
        let most = self.plan.params.forget.map_or(f64::INFINITY, |half_life| half_life / 8.0);
        self.state.arm = best.arm;
        let fits = |size: &Size| size.weight >= wanted;
        self.state.length = match &self.state.clock {
            None => {
                let longest = self.plan.noise.least(|size| 1.5 * size.people as f64 > most);
                self.plan.noise.least(fits).min(longest) as u64
            }
            Some(clock) => {
                let people = self.plan.noise.size(self.plan.noise.least(fits)).people;
                clock.ticks_for(people as f64, self.state.people, most)
            }
        };
    }

    /// The policy of everything released, and its best arm.
    fn fit(&mut self) -> Result<Best> {
        let EpisodesParams { arms, rewards: (low, high), width, .. } = &self.plan.params;
        let fit = Fit::of(arms, &self.state.estimates)?;
        let width = width * libm::log1p(self.state.people.max(0.0)).sqrt();
        let best = fit.best(arms, width)?;
        let range = high - low;
        let theta = fit.theta.iter().map(|theta| theta * range).collect();
        let whitening = fit.factor.inverse_factor();
        let policy =
            Policy::new(fit.theta.len(), Structure::DENSE, theta, whitening, width * range, 0.0);
        policy.check_parts(fit.theta.len(), Structure::DENSE)?;
        self.policy = policy;
        Ok(best)
    }

    /// Policy of the present episode over any features; everything in it has been released.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Releases made so far: what [`Episodes::resume`] asks for.
    pub fn releases(&self) -> u64 {
        self.state.released
    }

    /// Number of replays that are charged for.
    pub fn replays(&self) -> u64 {
        self.state.replays
    }

    /// Event of everything that is released about one person.
    pub fn event(&self) -> Event {
        self.plan.event_after(self.state.replays)
    }

    /// Guarantee of the whole run; an error without privacy.
    pub fn guarantee(&self) -> Result<Guarantee> {
        let guarantee = self.plan.guarantee_after(self.state.replays)?;
        Ok(if N::PROTECTS_PEOPLE { guarantee } else { guarantee.simulated() })
    }

    pub(super) fn damaged(reason: &str) -> Error {
        Error::invalid("saved episodes", reason, "restore another copy")
    }
}

/// The policy before anything is known.
fn unknowing(dimension: usize) -> Policy {
    let mut whitening = vec![0.0; dimension * (dimension + 1) / 2];
    (0..dimension).for_each(|row| whitening[row * (row + 3) / 2] = 1.0);
    Policy::new(dimension, Structure::DENSE, vec![0.0; dimension], whitening, 0.0, 0.0)
}
