//! An environment as a learner meets it: arms, and a reward for the one that is chosen.

use reticent::bandit::Arms;

/// A bandit problem, round by round.
///
/// [`Environment::arms`] opens a round; the means and the rewards are those of the round it opened.
pub trait Environment {
    /// The arms of the next round.
    fn arms(&mut self) -> &Arms;

    /// The expected reward of every arm of this round.
    fn means(&self) -> &[f64];

    /// The largest of [`Environment::means`]. Pseudo-regret is this minus the chosen arm's mean.
    fn best_mean(&self) -> f64 {
        self.means().iter().copied().fold(f64::NEG_INFINITY, f64::max)
    }

    /// A reward of one arm of this round; `arm` is below the number of arms.
    fn reward(&mut self, arm: usize) -> f64;

    /// The direction of theta*, of norm 1, if the environment has a theta* that can change.
    fn direction(&self) -> Option<Vec<f64>> {
        None
    }

    /// Sets the direction of theta*, of norm 1. Only for environments that have a [`Environment::direction`].
    fn face(&mut self, _direction: &[f64]) {}

    /// An error that occurred since the last call, for environments that read rounds from a file, which may change meanwhile.
    fn fault(&mut self) -> Option<crate::Error> {
        None
    }

    /// The person of this round, if people return.
    fn person(&self) -> Option<u64> {
        None
    }

    /// Draws arms and rewards from this seed from now on: other people of the same population.
    fn other_people(&mut self, _seed: u64) {}
}
