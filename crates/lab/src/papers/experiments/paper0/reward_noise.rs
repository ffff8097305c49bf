//! A conjecture on Figure 1(a) and (b) of paper 0: its program adds noise to the reward alone.
//!
//! With the printed noise on features and reward, OnlineUCB loses far more at epsilon = 0.2 and 1 than the figure shows: panel (b) would need noise six to seven
//! times smaller. Of the readings that were tried (line 9 overwriting, no correction for the noise of x, clean x in V and u, noise on x alone), only this one comes near. It protects no features.

use reticent::{
    bandit::{Arms, OnlineUcb},
    noise::Noise,
    randomize::{Bounds, FeatureRewardParams},
    release::Calibration,
};

use super::{ROUNDS, SEED, published_lines, regret, text, trials};
use crate::{
    FastNoise, Result,
    algorithm::{
        Family, RunnableAlgorithm,
        bandit::{BanditEnvironment, Bandits, Stepped},
    },
    environment::SphereParams,
    experiment::Experiment,
    papers::{Claim, Judgement, Stage, constants::online_ucb},
    play::Learner,
};

/// The other algorithms of the figure; LDP is the one that panel (a) is said to beat.
const OTHERS: [&str; 4] = ["JDP", "SDP-amp", "SDP-vec", "LDP"];
const OWN: &str = "OnlineUCB, noise on the reward alone";
/// Deviation of a report's noise where there is to be none: a server takes no message without a calibration.
const NOTHING: f64 = 1e-9;
/// Rewards with noise are clipped here, in deviations of the noise.
const CLIPPED: f64 = 40.0;

/// Figure 1(a) and (b) with noise on the reward alone, beside the other algorithms of the figure as printed.
pub fn conjecture(stage: &Stage) -> Result<Vec<Claim>> {
    let environment = SphereParams { fresh_arms: false, ..SphereParams::published() }.into();
    let environment = Bandits::check(ROUNDS, &environment)?;
    let mut claims = Vec::new();
    for (panel, epsilon, beaten) in [("a", 0.2, &OTHERS[3..]), ("b", 1.0, &OTHERS[..])] {
        let title = format!("paper 0, noise on the reward alone, epsilon = {epsilon}");
        (stage.progress)(&title);
        let mut algorithms: Vec<Box<dyn RunnableAlgorithm>> =
            vec![Box::new(prepare(OWN, &environment, epsilon)?)];
        for line in published_lines(epsilon) {
            let other = line.prepare(&environment)?;
            if OTHERS.contains(&other.name()) {
                algorithms.push(other);
            }
        }
        let trials = trials(stage.extent);
        let summary = Experiment::of(&title, ROUNDS, trials, stage.seed(SEED), algorithms)?
            .simulate(|_, _| ())?;
        summary.write(&stage.folder.join(format!("epsilon-{epsilon}")))?;
        let own = regret(&summary, OWN);
        let list: Vec<String> =
            OTHERS.iter().map(|name| format!("{name} {}", text(regret(&summary, name)))).collect();
        let wins = beaten.iter().map(|name| Judgement::below(own, regret(&summary, name)));
        claims.push(Claim {
            claim: format!("Figure 1({panel}), epsilon = {epsilon}, on the conjecture of noise on the reward alone: OnlineUCB outperforms {}", beaten.join(", ")),
            judgement: Judgement::all(wins),
            measured: format!("{}; {}", text(own), list.join(", ")),
            expected: "below by more than three standard errors; with the printed noise see paper0/figure1".into(),
        });
    }
    Ok(claims)
}

/// OnlineUCB with its figure's constants, whose people send their features as they are and noisy rewards.
fn prepare(name: &str, environment: &BanditEnvironment, epsilon: f64) -> Result<Stepped> {
    let Bounds { feature_bound, rewards, dimension, .. } = environment.bounds;
    let bounds = Bounds { feature_bound, rewards, ..Bounds::unit(dimension) };
    let printed = online_ucb::printed_noise(FeatureRewardParams::new(bounds, epsilon, 0.1))?;
    let sigma = printed.check()?.deviation();
    let middle = 0.5 * (rewards.0 + rewards.1);
    let far = CLIPPED * sigma + rewards.1 - rewards.0;
    let clean = FeatureRewardParams {
        bounds: Bounds { rewards: (middle - far, middle + far), ..bounds },
        calibration: Some(Calibration::Sigma(NOTHING)),
        claim: None,
        ..printed.clone()
    };
    // Its constants are those of the printed noise.
    let mut params = online_ucb::tuned(printed, environment.rounds);
    params.randomizer = clean;
    params.check()?;
    Ok(Stepped::new(name.into(), environment, move |seed| {
        let learner =
            NoisyReward { server: params.check()?, sigma, noise: FastNoise::seeded(seed) };
        Ok(Box::new(learner) as Box<dyn Learner>)
    }))
}

struct NoisyReward {
    server: OnlineUcb,
    sigma: f64,
    noise: FastNoise,
}

impl Learner for NoisyReward {
    fn choose(&mut self, arms: &Arms, round: u64) -> Result<usize> {
        Ok(self.server.policy().choose(arms, round)?)
    }

    fn observe(&mut self, _: u64, features: &[f64], reward: f64) -> Result<()> {
        let noisy = reward + self.sigma * self.noise.standard_normal();
        let report = self.server.randomizer().report(features, noisy, &mut self.noise)?;
        Ok(self.server.absorb(&report)?)
    }
}
