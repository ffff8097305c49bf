//! `parameters`: which parameters the arms of a file touch; and arms in blocks for players that know of no blocks.

use reticent::{bandit::Arms, release::Structure};
use serde::{Deserialize, Serialize};

use crate::{
    Result,
    simulate::{Knowledge, Player},
};

/// Which parameters the arms of a file touch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Parameters {
    /// All of one vector: noise and work grow with its square.
    Dense,
    /// A block of parameters for each arm: no noise and no work between blocks.
    PerArm,
    /// A block for each arm, and parameters that all arms share.
    Hybrid,
}

/// The form of a file's arms.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    /// Features of an arm; the last is a constant.
    pub(super) features: usize,
    /// How many blocks there are; 1 where arms do not belong to blocks.
    pub(super) blocks: usize,
    /// Features, the last ones, of parameters that all arms share, where any are: the constant at least.
    pub(super) shared: usize,
    pub(super) parameters: Parameters,
}

impl Shape {
    /// How arms in blocks are embedded for learners that know of none: with the constant shared, so that they all have it.
    pub(super) fn embedding(&self) -> Option<Structure> {
        let Shape { blocks, shared, .. } = *self;
        (blocks > 1).then_some(Structure { blocks, shared })
    }

    /// What learners are told that know of blocks.
    pub(super) fn structure(&self) -> Structure {
        match (self.embedding(), self.parameters) {
            (None, _) => Structure::DENSE,
            (Some(embedding), Parameters::Hybrid) => embedding,
            (Some(embedding), _) => Structure::blocks(embedding.blocks),
        }
    }
}

/// A player that is given arms with zeros for all blocks but their own.
pub(super) struct Embedded<'a> {
    pub(super) player: &'a mut dyn Player,
    pub(super) structure: Structure,
}

impl Player for Embedded<'_> {
    fn choose(&mut self, arms: &Arms, round: u64) -> Result<usize> {
        self.player.choose(&arms.embedded(self.structure)?, round)
    }

    fn probabilities(&self, arms: &Arms) -> Result<Option<Vec<f64>>> {
        self.player.probabilities(&arms.embedded(self.structure)?)
    }

    fn observe(&mut self, round: u64, features: &[f64], reward: f64) -> Result<()> {
        self.observe_in_block(round, 0, features, reward)
    }

    fn observe_in_block(
        &mut self,
        round: u64,
        block: usize,
        features: &[f64],
        reward: f64,
    ) -> Result<()> {
        self.player.observe(round, &self.structure.embed(block, features)?, reward)
    }

    fn admits(&mut self, person: u64) -> bool {
        self.player.admits(person)
    }

    fn dismiss(&mut self, round: u64) {
        self.player.dismiss(round);
    }

    fn pass(&mut self, round: u64) -> Result<()> {
        self.player.pass(round)
    }

    fn sent(&mut self) -> Option<Vec<f64>> {
        self.player.sent()
    }

    fn knowledge(&self) -> Option<Knowledge> {
        self.player.knowledge()
    }
}
