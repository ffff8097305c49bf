//! An environment whose theta* changes over time and whose arms are not always available.
//!
//! ```text
//! change_every   theta* jumps to a uniformly drawn direction every `change_every` rounds
//! rotate         theta*_t = cos(a t) theta*_0 + sin(a t) w,   w drawn once, orthogonal to theta*_0
//! availability   each arm is available with this probability, independently in each round; if none is, one is drawn uniformly
//! ```
//!
//! Regret is against the best available arm, at the theta* of the round. The changes are drawn from a separate seed, so the sequence of
//! people does not depend on them.

use reticent::{Error, Result, bandit::Arms, noise::Noise};

use super::Environment;
use crate::FastNoise;

/// The changes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Changes {
    /// Rounds between two jumps of theta*.
    pub change_every: Option<u64>,
    /// Radians by which theta* turns in a round.
    pub rotate: f64,
    /// Probability that an arm is available.
    pub availability: f64,
}

/// An environment that changes.
pub struct Changing {
    inner: Box<dyn Environment>,
    changes: Changes,
    noise: FastNoise,
    round: u64,
    /// theta*_0 and w.
    plane: [Vec<f64>; 2],
    there: Vec<usize>,
    arms: Option<Arms>,
    means: Vec<f64>,
    best_mean: f64,
}

impl Changing {
    /// The environment with these changes; an error if it cannot have them.
    pub fn new(inner: Box<dyn Environment>, changes: Changes, seed: u64) -> Result<Self> {
        let mut noise = FastNoise::seeded(seed);
        let mut plane = [Vec::new(), Vec::new()];
        for (field, wanted) in
            [("change_every", changes.change_every.is_some()), ("rotate", changes.rotate != 0.0)]
        {
            if !wanted {
                continue;
            }
            let Some(start) = inner.direction().filter(|direction| direction.len() > 1) else {
                let remedy = "this environment has no theta* that could change: leave it out";
                return Err(Error::invalid(field, "a value", remedy));
            };
            plane = [start.clone(), beside(&start, &mut noise)];
        }
        Ok(Changing {
            inner,
            changes,
            noise,
            round: 0,
            plane,
            there: Vec::new(),
            arms: None,
            means: Vec::new(),
            best_mean: 0.0,
        })
    }

    fn turn(&mut self) {
        let Changes { change_every, rotate, .. } = self.changes;
        // Rounds are counted from 1; the first one has the initial theta*.
        let passed = self.round - 1;
        let jumps = change_every.is_some_and(|every| passed > 0 && passed.is_multiple_of(every));
        if jumps {
            let start = unit(self.plane[0].len(), &mut self.noise);
            self.plane = [start.clone(), beside(&start, &mut self.noise)];
        }
        if jumps || (rotate != 0.0 && passed > 0) {
            let (sin, cos) = (rotate * passed as f64).sin_cos();
            let pairs = self.plane[0].iter().zip(&self.plane[1]);
            let now: Vec<f64> = pairs.map(|(start, side)| cos * start + sin * side).collect();
            self.inner.face(&now);
        }
    }

    fn gather(&mut self) {
        let all = self.inner.arms().clone();
        self.there.clear();
        for arm in 0..all.count() {
            if self.noise.uniform() < self.changes.availability {
                self.there.push(arm);
            }
        }
        if self.there.is_empty() {
            self.there.push(self.noise.below(all.count() as u64) as usize);
        }
        self.arms = Some(all.subset(&self.there));
    }
}

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

/// A uniform direction.
fn unit(dimension: usize, noise: &mut FastNoise) -> Vec<f64> {
    loop {
        let x: Vec<f64> = (0..dimension).map(|_| noise.standard_normal()).collect();
        let norm = dot(&x, &x).sqrt();
        if norm > 1e-100 {
            return x.iter().map(|x| x / norm).collect();
        }
    }
}

/// A uniform direction orthogonal to a unit vector.
fn beside(start: &[f64], noise: &mut FastNoise) -> Vec<f64> {
    loop {
        let other = unit(start.len(), noise);
        let along = dot(&other, start);
        let rest: Vec<f64> = other.iter().zip(start).map(|(x, s)| x - along * s).collect();
        let norm = dot(&rest, &rest).sqrt();
        if norm > 1e-6 {
            return rest.iter().map(|x| x / norm).collect();
        }
    }
}

impl Environment for Changing {
    fn arms(&mut self) -> &Arms {
        self.round += 1;
        // Fresh arms are drawn around the theta* of their round; for fixed arms only the means change.
        self.turn();
        if self.changes.availability >= 1.0 {
            return self.inner.arms();
        }
        self.gather();
        let means = self.inner.means();
        self.means = self.there.iter().map(|&arm| means[arm]).collect();
        self.best_mean = self.means.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        self.arms.as_ref().expect("gathered above")
    }

    fn means(&self) -> &[f64] {
        if self.arms.is_some() { &self.means } else { self.inner.means() }
    }

    fn best_mean(&self) -> f64 {
        if self.arms.is_some() { self.best_mean } else { self.inner.best_mean() }
    }

    fn reward(&mut self, arm: usize) -> f64 {
        let arm = if self.arms.is_some() { self.there[arm] } else { arm };
        self.inner.reward(arm)
    }

    fn person(&self) -> Option<u64> {
        self.inner.person()
    }

    fn fault(&mut self) -> Option<crate::Error> {
        self.inner.fault()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::{GapParams, SphereParams};

    const CALM: Changes = Changes { change_every: None, rotate: 0.0, availability: 1.0 };

    fn sphere(changes: Changes) -> Changing {
        let inner = SphereParams::published().start(4).unwrap();
        Changing::new(Box::new(inner), changes, 9).unwrap()
    }

    #[test]
    fn without_changes_the_environment_is_unchanged() {
        let (mut plain, mut wrapped) = (SphereParams::published().start(4).unwrap(), sphere(CALM));
        for _ in 0..50 {
            assert_eq!(plain.arms(), wrapped.arms());
            assert_eq!(plain.means(), wrapped.means());
            assert_eq!(plain.reward(3), wrapped.reward(3));
        }
    }

    #[test]
    fn theta_jumps_when_it_should_and_only_then() {
        let mut environment = sphere(Changes { change_every: Some(10), ..CALM });
        let mut before: Option<Vec<f64>> = None;
        for round in 1..=40_u64 {
            environment.arms();
            let now = environment.means().to_vec();
            if let Some(before) = &before {
                // The tenth round is the last of the first theta*.
                assert_eq!(*before != now, round > 1 && (round - 1) % 10 == 0, "round {round}");
            }
            let best = now.iter().copied().fold(f64::MIN, f64::max);
            assert_eq!(environment.best_mean(), best);
            before = Some(now);
        }
    }

    #[test]
    fn rotation_turns_by_its_angle_and_stays_on_the_sphere() {
        for fresh_arms in [false, true] {
            let gap = GapParams { fresh_arms, ..GapParams::new(4, 6) };
            let inner = gap.environment(3).unwrap();
            let start = inner.direction().unwrap();
            let changes = Changes { rotate: 0.01, ..CALM };
            let mut environment = Changing::new(inner, changes, 5).unwrap();
            for _ in 0..101 {
                environment.arms();
            }
            let now = environment.inner.direction().unwrap();
            assert!((dot(&now, &now) - 1.0).abs() < 1e-12);
            assert!((dot(&now, &start) - 1.0_f64.cos()).abs() < 1e-12);
            // Means are those of the theta* of the round.
            let (arms, means) = (environment.inner.arms().clone(), environment.means().to_vec());
            for (slot, mean) in means.iter().enumerate() {
                assert!((dot(&arms.arm(slot), &now) - mean).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn arms_are_available_with_the_given_probability_and_at_least_one_is() {
        let mut environment = sphere(Changes { availability: 0.3, ..CALM });
        let mut count = 0;
        for _ in 0..1000 {
            let set = environment.arms().clone();
            count += set.count();
            let best = environment.means().iter().copied().fold(f64::MIN, f64::max);
            assert!(environment.means().len() == set.count() && environment.best_mean() == best);
        }
        // 5.33 standard errors of 100 000 coins: a false alarm of 1e-7.
        assert!((count as f64 / 1e5 - 0.3).abs() < 5.33 * (0.21_f64 / 1e5).sqrt(), "{count}");
        let mut rare = sphere(Changes { availability: 0.0, ..CALM });
        assert!((0..50).all(|_| rare.arms().count() == 1));
    }
}
