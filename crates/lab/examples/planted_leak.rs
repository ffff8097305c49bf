//! A learner that reveals every reward, with a guarantee that its author only stated: not certified, and violated.
//!
//!     cargo run --release -p reticent-lab --example planted_leak
//!
//! For comparison, the correct use of the same budget: a user's rule behind an aggregator, whose certificate is computed.

use reticent::{
    bandit::{Arms, Policy},
    noise::Noise,
    privacy::{Event, Guarantee, TrustModel},
    randomize::Bounds,
    release::{Calibration, Domain, PrivateSumParams, Release},
};
use reticent_lab::{
    Experiment, FastNoise, Result,
    algorithm::bandit::{BanditEnvironment, Stepped},
    audit::{attack::AuditOptions, audit, certify::certify},
    environment::Environment,
    play::Learner,
};

/// Two offers; the first one sells better.
struct Shop {
    arms: Arms,
    noise: FastNoise,
}

impl Environment for Shop {
    fn arms(&mut self) -> &Arms {
        &self.arms
    }

    fn means(&self) -> &[f64] {
        &[0.6, 0.4]
    }

    fn best_mean(&self) -> f64 {
        0.6
    }

    fn reward(&mut self, arm: usize) -> f64 {
        f64::from(u8::from(self.noise.uniform() < self.means()[arm]))
    }
}

/// The leak: the next offer reveals the last person's reward.
#[derive(Default)]
struct ShowsTheLastReward(f64);

impl Learner for ShowsTheLastReward {
    fn choose(&mut self, _: &Arms, _: u64) -> Result<usize> {
        Ok(usize::from(self.0 > 0.5))
    }

    fn observe(&mut self, _: u64, _: &[f64], reward: f64) -> Result<()> {
        self.0 = reward;
        Ok(())
    }
}

fn main() -> Result<()> {
    let rounds = 1000;
    let bounds = Bounds { rewards: (0.0, 1.0), ..Bounds::unit(2) };
    let shop = BanditEnvironment::of(bounds, 2, rounds, |seed| {
        let arms = Arms::from_rows(2, &[[1.0, 0.0], [0.0, 1.0]])?;
        Ok(Box::new(Shop { arms, noise: FastNoise::seeded(seed) }))
    })?;

    // The stated guarantee is that of noise which this learner does not add.
    let event = Event::Gaussian { sensitivity: 1.0, sigma: 4.224_788_4 };
    let promise = Guarantee::of(&event, TrustModel::Joint, 1e-6)?;
    let start = |_| Ok(Box::new(ShowsTheLastReward::default()) as Box<dyn Learner>);
    let leak = Stepped::new("planted leak".into(), &shop, start).promising(promise);

    // People's data enter the private sum, and the rule sees only its releases, so the certificate is that of the sum.
    let budget = Calibration::Budget { epsilon: 1.0, delta: 1e-6 };
    let sums = PrivateSumParams::new(Domain::regression(2, 1.0, 1.0), Some(rounds), budget);
    let greedy = |release: &Release| {
        Ok(Policy::from_parts(release.vector().to_vec(), vec![0.0; 3], 0.0, 0.0)?)
    };
    let right = Stepped::curated("behind an aggregator".into(), &shop, sums, 1e-6, greedy)?;

    let algorithms = vec![Box::new(leak) as _, Box::new(right) as _];
    let experiment = Experiment::of("a planted leak", rounds, 1, 7, algorithms)?;
    println!("{}", certify(&experiment).table());
    let findings = audit(&experiment, &AuditOptions::default(), |_, _| ())?;
    println!("{}", findings.table());
    let violated: Vec<&str> = findings.violations().map(|audit| audit.algorithm.as_str()).collect();
    assert!(violated.contains(&"planted leak") && !violated.contains(&"behind an aggregator"));
    Ok(())
}
