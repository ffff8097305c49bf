//! Environments that no file can name: your own, with every algorithm of this room in it.

use std::sync::Arc;

use reticent::randomize::Bounds;

use super::round_by_round::RoundByRound;
use super::{bandit::BanditEnvironment, modifiers::Modifiers};
use crate::{Result, environment::Environment, papers::constants::Problem};

impl BanditEnvironment {
    /// Knowledge of algorithms about an environment of your own: bounds on features and rewards, the number of arms there
    /// are at most, and how many rounds. `start` makes the environment of one trial from its seed.
    ///
    /// Bounds must be public: data beyond them are clipped. CONTRIBUTING has a worked example.
    pub fn of(
        bounds: Bounds,
        arms: usize,
        rounds: u64,
        start: impl Fn(u64) -> Result<Box<dyn Environment>> + Send + Sync + 'static,
    ) -> Result<Self> {
        bounds.check()?;
        let (low, high) = bounds.rewards;
        let problem = Problem {
            // Rewards in an interval are sub-Gaussian with half its length (Hoeffding).
            reward_noise: 0.5 * (high - low),
            ..Problem::unit(bounds.structure.parameters(bounds.dimension))
                .within(bounds.feature_bound, low.abs().max(high.abs()))
        };
        problem.check()?;
        let modifiers = Modifiers::default();
        let start = Box::new(start);
        let trials =
            RoundByRound { start, modifiers, remarks: Vec::new(), data_hash: 0, headline: None };
        Ok(BanditEnvironment {
            bounds,
            problem,
            centred_parameter_bound: 1.0,
            rounds,
            arms,
            blocks: None,
            features: None,
            fixed_arms: false,
            uniform_gram: None,
            embedding: (!bounds.structure.is_dense()).then_some(bounds.structure),
            embeds: false,
            modifiers,
            returns: None,
            contributions_per_person: None,
            protected: Vec::new(),
            trials: Arc::new(trials),
        })
    }
}
