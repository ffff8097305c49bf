//! One round of OnlineUCB with the arms in memory: choose among 100, randomise on fast noise, absorb the report.

use reticent::{
    online::{BallLearner, MalerParams},
    randomize::{Bounds, FeatureRewardParams},
};

use super::{Figure, stopwatch::nanoseconds};
use crate::{
    FastNoise, Result,
    environment::{Environment, SphereParams},
    papers::constants::online_ucb::{printed_noise, tuned, tuned_descent},
};

/// Rounds a batch, of which the stopwatch takes nine: under a millisecond, so that a busy machine interrupts few.
const BATCH: u32 = 400;
/// Rounds before the first batch, so that caches and confidence sets are warm.
const WARM: u32 = 4_000;

pub fn figures() -> Result<Vec<Figure>> {
    let horizon = 20_000;
    let bounds = Bounds { rewards: (0.0, 1.0), ..Bounds::unit(5) };
    let randomizer = printed_noise(FeatureRewardParams::new(bounds, 10.0, 0.1))?;
    let learners = [
        ("Maler", tuned(randomizer.clone(), horizon), 3.0),
        ("gradient descent", tuned_descent(randomizer, horizon), 1.5),
    ];
    let mut figures = Vec::new();
    for (name, params, required) in learners {
        let mut environment = SphereParams::published().start(1)?;
        let arms = environment.arms().clone();
        let features: Vec<Vec<f64>> = (0..arms.count()).map(|arm| arms.arm(arm)).collect();
        let mut server = params.check()?;
        let (mut noise, mut people) = (FastNoise::seeded(2), 0);
        let randomizer = server.randomizer().clone();
        let mut round = || {
            people += 1;
            let arm = server.policy().choose(&arms, people)?;
            let reward = environment.reward(arm);
            server.absorb(&randomizer.report(&features[arm], reward, &mut noise)?)
        };
        (0..WARM).try_for_each(|_| round())?;
        let time = nanoseconds(BATCH, round);
        figures.push(
            Figure::new(format!("a round with {name}, d = 5, K = 100"), 1e-3 * time, "us")
                .beside(required, "required, at most"),
        );
    }
    for dimension in [5, 20] {
        let mut learner = MalerParams::new(dimension, 1.0, 48.0, horizon).check()?;
        let mut round = 0.0_f64;
        let mut gradient = vec![0.0; dimension];
        let time = nanoseconds(BATCH, || {
            // Noisy gradients of a squared distance to a point on the sphere.
            round += 1.0;
            let goal = 1.0 / (dimension as f64).sqrt();
            for (i, (slope, theta)) in gradient.iter_mut().zip(learner.prediction()).enumerate() {
                *slope = 2.0 * (theta - goal) + (round * (i + 1) as f64).sin();
            }
            learner.absorb(&gradient)
        });
        figures.push(Figure::new(format!("Maler alone, d = {dimension}"), 1e-3 * time, "us"));
    }
    Ok(figures)
}
