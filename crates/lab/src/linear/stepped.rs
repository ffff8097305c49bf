//! Learners that change every round: environment and player are stepped one round at a time.

use reticent::privacy::Guarantee;

use super::Setting;
use crate::{
    Result,
    contest::{Contestant, Trial, mix, name_hash},
    simulate::{Player, play},
};

/// Makes the player of one trial from its seed.
type Start = Box<dyn Fn(u64) -> Result<Box<dyn Player>> + Send + Sync>;

/// A contestant made of a player.
pub struct Stepped {
    /// What the report calls it.
    pub name: String,
    /// What may be promised.
    pub guarantee: Option<Guarantee>,
    /// What a careful reader must know.
    pub remarks: Vec<String>,
    /// Where arms and rewards come from.
    pub setting: Setting,
    /// Makes the player of one trial from its seed.
    pub start: Start,
}

impl Contestant for Stepped {
    fn name(&self) -> &str {
        &self.name
    }

    fn guarantee(&self) -> Option<&Guarantee> {
        self.guarantee.as_ref()
    }

    fn remarks(&self) -> Vec<String> {
        self.remarks.clone()
    }

    fn trial(&self, seed: u64, trial: u64, checkpoints: &[u64]) -> Result<Trial> {
        // Every contestant meets the same people in the same trial; its own noise is its own.
        let world = mix(seed, trial);
        let mut environment = self.setting.environment.environment(world)?;
        let mut player = (self.start)(mix(world, name_hash(&self.name)))?;
        Ok(play(environment.as_mut(), player.as_mut(), checkpoints)?.into())
    }
}
