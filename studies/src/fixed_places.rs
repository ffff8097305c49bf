//! The arms of `fixed_arms`: on a sphere, or apart from each other.

use std::sync::Arc;

use reticent::{bandit::Arms, noise::Noise, randomize::Bounds, release::Structure};

use reticent_lab::{
    FastNoise, Result,
    algorithm::bandit::{BanditEnvironment, DrawEnvironment, EnvironmentToml},
    environment::{Environment, SphereParams},
};

/// Places of arms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// A number of arms on the sphere.
    Sphere(usize),
    /// A number of arms without common features.
    Separate(usize),
}

impl Place {
    pub(super) fn name(self) -> String {
        match self {
            Place::Sphere(arms) => format!("{arms} arms, d = 5"),
            Place::Separate(arms) => format!("{arms} separate arms"),
        }
    }

    pub(super) fn environment(self, rounds: u64) -> Result<BanditEnvironment> {
        match self {
            Place::Sphere(arms) => {
                let sphere = SphereParams { arms, ..SphereParams::published() };
                BanditEnvironment::new(&EnvironmentToml::from(sphere), rounds)
            }
            Place::Separate(arms) => {
                let structure = Structure { blocks: arms, shared: 0 };
                let bounds = Bounds { rewards: (0.0, 1.0), structure, ..Bounds::unit(1) };
                let draws = self.draws();
                BanditEnvironment::of(bounds, arms, rounds, move |seed| draws(seed))
            }
        }
    }

    /// Trials with arms as the default learner takes them, separate ones in blocks of parameters.
    pub(super) fn draws(self) -> DrawEnvironment {
        match self {
            Place::Sphere(arms) => {
                let sphere = SphereParams { arms, ..SphereParams::published() };
                Arc::new(move |seed| Ok(Box::new(sphere.start(seed)?)))
            }
            Place::Separate(arms) => {
                Arc::new(move |seed| Ok(Box::new(Separate::new(arms, seed, true)?)))
            }
        }
    }

    /// The same with separate arms as unit vectors.
    pub(super) fn dense_draws(self) -> DrawEnvironment {
        match self {
            Place::Sphere(_) => self.draws(),
            Place::Separate(arms) => {
                Arc::new(move |seed| Ok(Box::new(Separate::new(arms, seed, false)?)))
            }
        }
    }
}

/// Arms without common features.
struct Separate {
    arms: Arms,
    means: Vec<f64>,
    best_mean: f64,
    noise: FastNoise,
}

impl Separate {
    /// One parameter each, in a block of its own or as a unit vector.
    fn new(count: usize, seed: u64, in_blocks: bool) -> Result<Self> {
        let mut noise = FastNoise::seeded(seed);
        let means: Vec<f64> = (0..count).map(|_| 0.25 + 0.5 * noise.uniform()).collect();
        let best_mean = means.iter().copied().fold(0.0, f64::max);
        let unit = |arm: usize| (0..count).map(|i| f64::from(u8::from(i == arm))).collect();
        let arms = if in_blocks {
            let rows: Vec<(usize, [f64; 1])> = (0..count).map(|arm| (arm, [1.0])).collect();
            Arms::in_blocks(1, &rows)?
        } else {
            Arms::from_rows(count, &(0..count).map(unit).collect::<Vec<Vec<f64>>>())?
        };
        Ok(Separate { arms, means, best_mean, noise })
    }
}

impl Environment for Separate {
    fn arms(&mut self) -> &Arms {
        &self.arms
    }

    fn means(&self) -> &[f64] {
        &self.means
    }

    fn best_mean(&self) -> f64 {
        self.best_mean
    }

    fn reward(&mut self, arm: usize) -> f64 {
        f64::from(u8::from(self.noise.uniform() < self.means[arm]))
    }
}
