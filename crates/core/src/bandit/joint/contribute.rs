//! Contributions of people to a central learner's sums: features and rewards, clipped, in the block of parameters they belong to.

use super::Curator;
use crate::{Result, error::finite_vector, noise::Noise, randomize::Bounds, release::Contribution};

impl<N: Noise> Curator<N> {
    /// Learns the reward of an arm with these features, both clipped to their bounds; says whether sums were released. An error
    /// changes nothing.
    pub fn observe(&mut self, features: &[f64], reward: f64) -> Result<bool> {
        let contribution = self.contribution(features, reward)?;
        self.absorb(&contribution)
    }

    /// The same for an arm of this block of parameters.
    ///
    /// ```
    /// use reticent::{bandit::{Arms, JointParams}, noise::SecureNoise, randomize::Bounds, release::Structure};
    ///
    /// // 26 classes with 17 parameters each: noise on 26 blocks of 17 x 17 numbers, and none between them.
    /// let bounds = Bounds { structure: Structure::blocks(26), rewards: (0.0, 1.0), ..Bounds::unit(17) };
    /// let params = JointParams::new(bounds, 1.0, 1e-6, Some(20_000));
    /// let mut curator = params.check()?.curator(SecureNoise::from_system()?);
    /// let person = vec![0.2; 17];
    /// let classes: Vec<_> = (0..26).map(|class| (class, &person)).collect();
    /// let arms = Arms::in_blocks(17, &classes)?;
    /// let choice = curator.choose(&arms, 0)?;
    /// curator.observe_in_block(arms.block(choice.arm), &person, 1.0)?;
    /// # Ok::<(), reticent::Error>(())
    /// ```
    pub fn observe_in_block(
        &mut self,
        block: usize,
        features: &[f64],
        reward: f64,
    ) -> Result<bool> {
        let contribution = self.contribution_in_block(block, features, reward)?;
        self.absorb(&contribution)
    }

    /// Contribution of a person with these features and this reward, for [`ContributionSums::add`](crate::release::ContributionSums::add): the reward is centred, and both
    /// are clipped.
    pub fn contribution(&self, features: &[f64], reward: f64) -> Result<Contribution> {
        finite_vector("reward", &[reward], 1)?;
        let (reward, _) = self.state.params.centred(reward);
        self.sum.clipper().clip_with_reward(features, reward)
    }

    /// The same for an arm of this block of parameters.
    pub fn contribution_in_block(
        &self,
        block: usize,
        features: &[f64],
        reward: f64,
    ) -> Result<Contribution> {
        finite_vector("reward", &[reward], 1)?;
        let (reward, _) = self.state.params.centred(reward);
        self.sum.clipper().clip_in_block(block, features, reward)
    }

    /// Takes a contribution of zeros, which a person with such features could have made: for a person whose data cannot be used, so
    /// that nothing shows it.
    pub fn pass(&mut self) -> Result<bool> {
        let nothing = vec![0.0; self.state.params.bounds.dimension];
        let contribution = self.sum.clipper().clip_in_block(0, &nothing, 0.0)?;
        self.absorb(&contribution)
    }

    /// Numbers kept of an open decision: features, and the block where there are several.
    pub(super) fn open_dimension(&self) -> usize {
        let Bounds { dimension, structure, .. } = self.state.params.bounds;
        dimension + usize::from(!structure.is_dense())
    }

    /// Features of an arm on the grid, in half the memory of doubles, and its block where there are several: what will be contributed
    /// with its reward.
    pub(super) fn units_of(&self, block: usize, features: &[f64]) -> Result<Vec<i32>> {
        let mut units = self.sum.clipper().clip_features(features)?;
        if !self.state.params.bounds.structure.is_dense() {
            // There are fewer blocks than numbers of 32 bits, for each has entries of its own.
            units.push(block as i32);
        }
        Ok(units)
    }

    /// The contribution of what [`Curator::units_of`] returned; a reward of `None` contributes zeros.
    pub(in crate::bandit) fn contribution_of_units(
        &self,
        units: &[i32],
        reward: Option<f64>,
    ) -> Result<Contribution> {
        let (clipper, dimension) = (self.sum.clipper(), self.state.params.bounds.dimension);
        let (features, block) = units.split_at_checked(dimension).unwrap_or((units, &[]));
        // A number that was read from a file may name no block.
        let block = block.first().map_or(0, |block| usize::try_from(*block).unwrap_or(usize::MAX));
        match reward {
            Some(reward) => {
                clipper.contribution_of(block, features, self.state.params.centred(reward).0)
            }
            None => clipper.contribution_of(block, &vec![0; features.len()], 0.0),
        }
    }
}
