//! Episodes of ticks, for a service: which people come in a tick is their data, so counts have noise too.
//!
//! A release is numbered at every tick; its numbers change at the end of an episode only, which follows from earlier releases. So nothing that people
//! do changes when anything is released.
//!
//! An arm whose noisy count is below [`CERTAIN`] deviations of that noise is taken as not shown (post-processing): a mean over very few people would be all
//! noise.

use serde::{Deserialize, Serialize};

use super::{
    Episodes, EpisodesParams,
    learner::{share, steps},
    noise::{GRID, VARIANCE},
};
use crate::{
    Result,
    noise::Noise,
    refuse_if,
    release::{Domain, Release, Structure},
};

/// Deviations of a count above which it is believed.
const CERTAIN: f64 = 4.0;

/// Contributions that are to be handed to [`Episodes::tick`]: exact, internal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EpisodeSums {
    /// By arm, in people.
    counts: Vec<i64>,
    /// By arm, of `2 y - 1` in steps of the grid.
    sums: Vec<i64>,
}

impl EpisodeSums {
    pub(super) fn new(arms: usize) -> Self {
        EpisodeSums { counts: vec![0; arms], sums: vec![0; arms] }
    }

    /// Number of contributions.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum::<i64>() as u64
    }

    /// Counts and sums.
    #[cfg(test)]
    pub(super) fn parts(&self) -> (&[i64], &[i64]) {
        (&self.counts, &self.sums)
    }

    pub(super) fn fits(&self, arms: usize) -> bool {
        // Sums of steps stay below 2^63 for 2^42 people.
        let sound = |(count, sum): (&i64, &i64)| {
            (0..1 << 42).contains(count) && sum.unsigned_abs() <= *count as u64 * GRID
        };
        (self.counts.len(), self.sums.len()) == (arms, arms)
            && self.counts.iter().zip(&self.sums).all(sound)
    }
}

/// State by the clock.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct ClockState {
    /// Contributions since the last episode ended.
    pub(super) pending: EpisodeSums,
    /// Ticks so far.
    pub(super) ticks: u64,
    /// Ticks of the present episode.
    pub(super) elapsed: u64,
}

impl ClockState {
    pub(super) fn new(arms: usize) -> Self {
        ClockState { pending: EpisodeSums::new(arms), ticks: 0, elapsed: 0 }
    }

    /// Ticks of the next episode, which wants this number of people: at the pace of the `past`, at most as many as there have been, so that a wrong pace
    /// corrects itself, and at most `most`.
    pub(super) fn ticks_for(&self, people: f64, past: f64, most: f64) -> u64 {
        let so_far = self.ticks as f64;
        let ticks = if past > 0.0 { people * so_far / past } else { so_far };
        // The conversion saturates.
        ticks.min(so_far).min(most).ceil().max(1.0) as u64
    }
}

impl<N: Noise> Episodes<N> {
    /// No contributions yet, to be filled and given to [`Episodes::tick`].
    pub fn no_sums(&self) -> EpisodeSums {
        EpisodeSums::new(self.plan.params.arms.len())
    }

    /// Adds the contribution of one event: of the arm with these features, its reward clipped to its range. An error changes nothing.
    pub fn contribute(&self, features: &[f64], reward: f64, sums: &mut EpisodeSums) -> Result<()> {
        let EpisodesParams { rewards, .. } = self.plan.params;
        let twice = 2 * steps(share(reward, rewards)?) as i64 - GRID as i64;
        let arm = self.plan.params.arm_of(features);
        let remedy = "give the features of an arm that the learner was started with";
        refuse_if(arm.is_none(), "features", "those of no arm", remedy)?;
        if let Some(arm) = arm
            && let (Some(count), Some(sum)) = (sums.counts.get_mut(arm), sums.sums.get_mut(arm))
        {
            *count += 1;
            *sum += twice;
        }
        Ok(())
    }

    /// A tick of the caller's clock: takes these contributions out of `sums`, and ends the episode where it has had its ticks. An error changes nothing.
    ///
    /// ```
    /// use reticent::{bandit::EpisodesParams, noise::SecureNoise};
    /// let params = EpisodesParams {
    ///     clock: true,
    ///     ..EpisodesParams::new(vec![vec![1.0, 0.0], vec![0.0, 1.0]], 1.0, 1e-6)
    /// };
    /// let mut learner = params.check()?.start(SecureNoise::from_system()?);
    /// let mut since = learner.no_sums();
    /// learner.contribute(&[1.0, 0.0], 0.7, &mut since)?;
    /// learner.tick(&mut since)?;
    /// assert_eq!((learner.releases(), since.count()), (1, 0));
    /// # Ok::<(), reticent::Error>(())
    /// ```
    pub fn tick(&mut self, sums: &mut EpisodeSums) -> Result<()> {
        let arms = self.plan.params.arms.len();
        let remedy =
            "this learner counts people: give their rewards to `observe`, or start it with `clock`";
        refuse_if(self.state.clock.is_none(), "clock", false, remedy)?;
        let remedy = "they are of another learner: take those of `no_sums`";
        refuse_if(!sums.fits(arms), "sums", "sums of other arms", remedy)?;
        self.noise.rekey()?;
        let Some(clock) = &mut self.state.clock else { return Ok(()) };
        for (total, more) in [
            (&mut clock.pending.counts, &mut sums.counts),
            (&mut clock.pending.sums, &mut sums.sums),
        ] {
            total.iter_mut().zip(more).for_each(|(total, more)| {
                *total = total.saturating_add(std::mem::take(more));
            });
        }
        clock.ticks += 1;
        clock.elapsed += 1;
        self.state.released += 1;
        if clock.elapsed >= self.state.length {
            self.end_episode();
        }
        Ok(())
    }

    /// Releases counts and sums of all arms, and learns from those that were shown.
    fn end_episode(&mut self) {
        let arms = self.plan.params.arms.len();
        let Some(clock) = &mut self.state.clock else { return };
        let elapsed = std::mem::take(&mut clock.elapsed);
        let pending = std::mem::replace(&mut clock.pending, EpisodeSums::new(arms));
        self.state.episode += 1;
        self.forget(elapsed as f64);
        let least = (CERTAIN * self.plan.noise.count_deviation()).max(1.0);
        let variance = self.plan.noise.noise_variance(true);
        for arm in 0..arms {
            let mut noisy = |value: i64| {
                let drawn = self.plan.noise.law.map_or(0, |law| self.noise.discrete_laplace(&law));
                // From here on, post-processing.
                value.saturating_add(drawn) as f64 / GRID as f64
            };
            let count = noisy(pending.counts[arm].saturating_mul(GRID as i64));
            let sum = noisy(pending.sums[arm]);
            if count >= least {
                let weight = count * count / (VARIANCE * count + variance);
                self.state.estimates[arm].add(weight, 0.5 + 0.5 * sum / count);
                self.state.people += count;
            }
        }
        self.begin_episode();
    }

    /// The present release: for each arm the people who would tell as much without noise, and the sum of their rewards less the middle of the range. The
    /// policy follows from it and the public parameters.
    pub fn release(&self) -> Result<Release> {
        let EpisodesParams { arms, rewards: (low, high), .. } = &self.plan.params;
        let range = high - low;
        let structure = Structure { blocks: arms.len(), shared: 0 };
        let domain = Domain::regression(1, 1.0, 0.5 * range).structured(structure);
        let estimates = &self.state.estimates;
        let people = estimates.iter().map(|estimate| VARIANCE * estimate.weight);
        let sums = estimates.iter().map(|estimate| VARIANCE * range * estimate.pull);
        let sums = people.chain(sums).collect();
        let deviations = estimates.iter().map(|estimate| VARIANCE * range * estimate.weight.sqrt());
        let deviations = std::iter::repeat_n(0.0, arms.len()).chain(deviations).collect();
        let ticks = self.state.clock.as_ref().map_or(self.state.released, |clock| clock.ticks);
        let release = Release::new(domain, ticks, self.state.released, sums, deviations);
        release.check()?;
        Ok(release)
    }
}
