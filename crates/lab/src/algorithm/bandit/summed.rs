//! Learners that take sums, where arms have few entries that are not zero.
//!
//! Between two releases a learner needs the sums of its people only. A person's `x x^T` has as many entries as arms have squared, nearly all of them zero in a
//! wide table of one-hot features; here the others are added to sums that the learner absorbs when its next release is due, as in `blocks`: the same integers,
//! rounded once a release and not once a person. An ensemble is drawn as a whole, once a release, and not a member anew for each decision.

use reticent::{
    bandit::{Arms, Curator, LinUcb, clip_to_ball},
    randomize::Bounds,
};

use crate::{FastNoise, Result, environment::blocks::Sums, play::Learner};

/// A learner that takes the sums of many people at once.
pub(super) trait TakesSums: Learner {
    /// People up to the next change of the policy, the last one included.
    fn until_release(&self) -> u64;

    /// Takes this number of people at most.
    fn absorb(&mut self, sums: &Sums) -> Result<()>;
}

impl TakesSums for LinUcb {
    fn until_release(&self) -> u64 {
        self.until_learning()
    }

    fn absorb(&mut self, sums: &Sums) -> Result<()> {
        Ok(self.observe_sums(&sums.gram, &sums.moment, sums.rounds)?)
    }
}

impl TakesSums for Curator<FastNoise> {
    fn until_release(&self) -> u64 {
        Curator::until_release(self).unwrap_or(u64::MAX)
    }

    fn absorb(&mut self, sums: &Sums) -> Result<()> {
        let entries = [sums.gram.as_slice(), &sums.moment].concat();
        self.absorb_simulated(&entries, sums.rounds)?;
        Ok(())
    }
}

pub(super) struct Summed<L> {
    learner: L,
    bounds: Bounds,
    /// Centre of the rewards, which is taken off.
    centre: f64,
    sums: Sums,
    /// True once the members of the present ensemble are drawn.
    drawn: bool,
    entries: Vec<(usize, f64)>,
}

impl<L: TakesSums> Summed<L> {
    /// A learner of core whose parameters of an arm are one vector.
    pub(super) fn new(learner: L, bounds: Bounds) -> Self {
        let sums = Sums::new(bounds.dimension);
        let centre = bounds.centre();
        Summed { learner, bounds, centre, sums, drawn: false, entries: Vec::new() }
    }

    fn absorb_if_due(&mut self) -> Result<()> {
        self.sums.rounds += 1;
        if self.sums.rounds >= self.learner.until_release() {
            self.learner.absorb(&self.sums)?;
            self.sums.clear();
            self.drawn = false;
        }
        Ok(())
    }
}

impl<L: TakesSums> Learner for Summed<L> {
    fn inner(&self) -> Option<&dyn Learner> {
        Some(&self.learner)
    }

    fn choose(&mut self, arms: &Arms, round: u64) -> Result<usize> {
        if !self.drawn {
            self.learner.probabilities(arms)?;
            self.drawn = true;
        }
        self.learner.choose(arms, round)
    }

    fn observe(&mut self, _: u64, features: &[f64], reward: f64) -> Result<()> {
        let mut clipped;
        let mut features = features;
        if features.iter().map(|x| x * x).sum::<f64>() > self.bounds.feature_bound.powi(2) {
            clipped = features.to_vec();
            clip_to_ball(&mut clipped, self.bounds.feature_bound);
            features = &clipped;
        }
        let (low, high) = self.bounds.rewards;
        let reward = reward.clamp(low, high) - self.centre;
        self.entries.clear();
        self.entries.extend(features.iter().copied().enumerate().filter(|(_, x)| *x != 0.0));
        for (place, (i, x)) in self.entries.iter().enumerate() {
            self.sums.moment[*i] += x * reward;
            // Rows before row i have d, d - 1, ... entries.
            let row = i * features.len() - i * (i + 1) / 2;
            for (j, y) in &self.entries[place..] {
                self.sums.gram[row + j] += x * y;
            }
        }
        self.absorb_if_due()
    }

    fn observe_in_block(&mut self, round: u64, _: usize, x: &[f64], reward: f64) -> Result<()> {
        self.observe(round, x, reward)
    }

    fn admits(&mut self, person: u64) -> bool {
        self.learner.admits(person)
    }

    fn pass(&mut self, _: u64) -> Result<()> {
        self.absorb_if_due()
    }
}

#[cfg(test)]
mod tests {
    use reticent::{
        bandit::{JointParams, LinUcbParams, Rule},
        noise::Noise,
        release::Schedule,
    };

    use super::*;
    use crate::FastNoise;

    /// A vector of eight entries and a constant, of which most are zero; some are too long.
    fn person(noise: &mut FastNoise) -> (Vec<f64>, f64) {
        let mut x = vec![0.0; 9];
        x[noise.below(4) as usize] = 0.6;
        x[4 + noise.below(4) as usize] = if noise.uniform() < 0.1 { 0.9 } else { 0.5 };
        x[8] = 0.5;
        (x, 1.2 * noise.uniform())
    }

    /// With the same noise, sums bring the release that the same people bring one by one.
    #[test]
    fn sums_bring_the_release_of_their_people() {
        let bounds = Bounds { rewards: (0.0, 1.0), intercept: Some(0.5), ..Bounds::unit(9) };
        let params = JointParams {
            schedule: Schedule::constant(100),
            rule: Rule::THOMPSON,
            ..JointParams::new(bounds, 1.0, 1e-6, Some(1000))
        };
        let plan = params.check().unwrap();
        let start = || plan.clone().curator(FastNoise::seeded(3));
        let mut singly = start();
        let mut summed = Summed::new(start(), bounds);
        let mut noise = FastNoise::seeded(7);
        for round in 1..=500 {
            if round % 50 == 0 {
                Learner::pass(&mut singly, round).unwrap();
                Learner::pass(&mut summed, round).unwrap();
                continue;
            }
            let (x, reward) = person(&mut noise);
            Curator::observe(&mut singly, &x, reward).unwrap();
            Learner::observe(&mut summed, round, &x, reward).unwrap();
        }
        let at_once = &summed.learner;
        assert_eq!((singly.releases(), at_once.releases()), (5, 5));
        let sums = [&singly, at_once].map(|c| c.release().unwrap().sums().to_vec());
        let difference = sums[0].iter().zip(&sums[1]).map(|(a, b)| (a - b).abs());
        // One by one, each person's features are rounded towards zero on a grid of about 2^-20.
        let rounding = 500.0 * 2_f64.powi(-20);
        assert!(difference.fold(0.0, f64::max) < rounding, "{sums:?}");
        // And what is chosen by them, members drawn at once or one by one.
        let rows: Vec<Vec<f64>> = (0..6).map(|_| person(&mut noise).0).collect();
        let arms = Arms::from_rows(9, &rows).unwrap();
        for round in 1..200 {
            let [one, other] = [
                Learner::choose(&mut singly, &arms, round).unwrap(),
                Learner::choose(&mut summed, &arms, round).unwrap(),
            ];
            assert_eq!(one, other, "{round}");
        }
    }

    /// The same without privacy.
    #[test]
    fn sums_without_noise_are_those_of_their_people() {
        let bounds = Bounds { rewards: (0.0, 1.0), intercept: Some(0.5), ..Bounds::unit(9) };
        let schedule = Schedule::constant(100);
        let params = LinUcbParams { schedule, ..LinUcbParams::new(bounds) };
        let mut singly = params.check().unwrap();
        let mut summed = Summed::new(params.check().unwrap(), bounds);
        let mut noise = FastNoise::seeded(8);
        for round in 1..=300 {
            let (x, reward) = person(&mut noise);
            Learner::observe(&mut singly, round, &x, reward).unwrap();
            Learner::observe(&mut summed, round, &x, reward).unwrap();
        }
        let thetas = singly.policy().theta().iter().zip(summed.learner.policy().theta());
        for (one, other) in thetas {
            assert!((one - other).abs() < 1e-9, "{one} {other}");
        }
    }
}
