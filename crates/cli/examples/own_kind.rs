//! The command line of reticent with two kinds of its own, `shop` and `day_greedy`: `cargo run --example own_kind -- certify experiment.toml`.

use std::process::ExitCode;

use reticent::{
    bandit::{Arms, Policy},
    noise::Noise,
    randomize::Bounds,
    release::{Calibration, Domain, PrivateSumParams},
};
use reticent_lab::{
    FastNoise, Kinds, Result,
    algorithm::{
        RunnableAlgorithm,
        bandit::{BanditEnvironment, Budget, Stepped},
    },
    environment::Environment,
};
use serde::{Deserialize, Serialize};

/// The keys of `kind = "shop"`.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ShopKeys {
    /// Gain of a sale of the second offer on weekends.
    gain: f64,
}

/// A shop with two offers; on two days of seven the second one sells better.
struct Shop {
    gain: f64,
    day: u64,
    arms: Arms,
    means: [f64; 2],
    noise: FastNoise,
}

impl Environment for Shop {
    fn arms(&mut self) -> &Arms {
        self.day += 1;
        let weekend = f64::from(u8::from(self.day % 7 < 2));
        self.arms.set(0, &[0.7, 0.0, 0.0]).expect("finite");
        self.arms.set(1, &[0.0, 0.7, 0.7 * weekend]).expect("finite");
        self.means = [0.4, 0.2 + self.gain * weekend];
        &self.arms
    }

    fn means(&self) -> &[f64] {
        &self.means
    }

    fn best_mean(&self) -> f64 {
        self.means[0].max(self.means[1])
    }

    fn reward(&mut self, arm: usize) -> f64 {
        f64::from(u8::from(self.noise.uniform() < self.means[arm]))
    }
}

fn shop(keys: &ShopKeys, rounds: u64) -> Result<BanditEnvironment> {
    let gain = keys.gain;
    let bounds = Bounds { rewards: (0.0, 1.0), ..Bounds::unit(3) };
    BanditEnvironment::of(bounds, 2, rounds, move |seed| {
        let (arms, noise) = (Arms::zeros(3, 2)?, FastNoise::seeded(seed));
        Ok(Box::new(Shop { gain, day: 0, arms, means: [0.0; 2], noise }))
    })
}

/// The keys of `kind = "day_greedy"`.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct GreedyKeys {
    privacy: Budget,
    #[serde(default = "one")]
    ridge: f64,
}

fn one() -> f64 {
    1.0
}

/// The offer that the noisy sums favour, without exploration. The rule sees releases only, so the accountant certifies it.
fn greedy(
    keys: &GreedyKeys,
    name: String,
    environment: &BanditEnvironment,
) -> Result<Box<dyn RunnableAlgorithm>> {
    let Budget { epsilon, delta } = keys.privacy;
    let dimension = environment.bounds.dimension;
    let domain = Domain::regression(dimension, environment.bounds.feature_bound, 1.0);
    let sums = PrivateSumParams::new(
        domain.clone(),
        Some(environment.rounds),
        Calibration::Budget { epsilon, delta },
    );
    let rule = reticent::bandit::Rule::Tuned { ridge: keys.ridge, bonus: 0.0, width: 0.0 };
    let plan = rule.plan(domain, Some(environment.rounds), None)?;
    let policy = move |release: &_| -> Result<Policy> { Ok(plan.policy(release)?) };
    Ok(Box::new(Stepped::curated(name, environment, sums, delta, policy)?))
}

fn main() -> ExitCode {
    let kinds = Kinds::default().environment("shop", shop).algorithm("day_greedy", greedy);
    reticent_cli::run_with(&kinds)
}
