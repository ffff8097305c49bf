//! Round by round: the reference every faster path is held against.
//!
//! ```text
//! arms -> choose -> reward -> observe,    regret += best mean - chosen mean
//! ```

use reticent::bandit::Arms;

use crate::environment::Environment;

/// Something that chooses arms and sees rewards.
pub trait Player {
    /// The arm for this round, counted from 1.
    fn choose(&mut self, arms: &Arms, round: u64) -> usize;

    /// The chosen arm's features and its reward.
    fn observe(&mut self, features: &[f64], reward: f64);
}

/// A rule that learns nothing is a player.
impl<F: FnMut(&Arms, u64) -> usize> Player for F {
    fn choose(&mut self, arms: &Arms, round: u64) -> usize {
        self(arms, round)
    }

    fn observe(&mut self, _: &[f64], _: f64) {}
}

/// The regret after a round.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Checkpoint {
    /// The round, counted from 1.
    pub round: u64,
    /// The pseudo-regret of all rounds up to it.
    pub regret: f64,
}

/// About `count` log-spaced rounds from 1 to `rounds`, both included, each once.
///
/// ```
/// use reticent_lab::simulate::checkpoints;
/// assert_eq!(checkpoints(1000, 4), [1, 10, 100, 1000]);
/// assert_eq!(checkpoints(3, 100), [1, 2, 3]);
/// ```
pub fn checkpoints(rounds: u64, count: usize) -> Vec<u64> {
    let step = (rounds.max(1) as f64).ln() / (count.max(2) - 1) as f64;
    let mut all: Vec<u64> = (0..count)
        .map(|i| ((step * i as f64).exp().round() as u64).clamp(1, rounds.max(1)))
        .collect();
    all.push(rounds);
    all.retain(|&round| round > 0);
    all.sort_unstable();
    all.dedup();
    all
}

/// Plays to the last checkpoint and reports the regret at each. `checkpoints` ascend.
///
/// ```
/// use reticent_lab::{environment::GapParams, simulate::play};
/// let mut environment = GapParams::new(5, 25).check()?.fresh(1);
/// let curve = play(&mut environment, &mut |_: &_, _| 0, &[10, 100]);
/// assert!(curve[1].regret > curve[0].regret);
/// # Ok::<(), reticent::Error>(())
/// ```
pub fn play(
    environment: &mut (impl Environment + ?Sized),
    player: &mut (impl Player + ?Sized),
    checkpoints: &[u64],
) -> Vec<Checkpoint> {
    let (mut round, mut regret) = (0, 0.0);
    let mut curve = Vec::with_capacity(checkpoints.len());
    for &checkpoint in checkpoints {
        while round < checkpoint {
            round += 1;
            let arms = environment.arms();
            let arm = player.choose(arms, round);
            let features = arms.arm(arm);
            regret += environment.best_mean() - environment.means()[arm];
            player.observe(&features, environment.reward(arm));
        }
        curve.push(Checkpoint { round, regret });
    }
    curve
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::{EnvironmentParams, GapParams};

    /// Always takes the arm that lies best along a direction, and counts what it saw.
    struct Along(Vec<f64>, u64);

    impl Player for Along {
        fn choose(&mut self, arms: &Arms, round: u64) -> usize {
            assert_eq!(round, self.1 + 1);
            let score =
                |arm: usize| arms.arm(arm).iter().zip(&self.0).map(|(x, t)| x * t).sum::<f64>();
            (0..arms.count()).max_by(|&a, &b| score(a).total_cmp(&score(b))).unwrap()
        }

        fn observe(&mut self, features: &[f64], reward: f64) {
            assert!(features.len() == 5 && reward.abs() == 1.0);
            self.1 += 1;
        }
    }

    #[test]
    fn who_knows_theta_has_no_regret_and_everyone_else_has() {
        let params = GapParams { gap: 0.1, ..GapParams::new(5, 25) };
        let mut environment = params.check().unwrap().fresh(2);
        let mut oracle = Along(environment.theta().to_vec(), 0);
        let curve = play(&mut environment, &mut oracle, &checkpoints(1000, 7));
        assert!(curve.iter().all(|point| point.regret == 0.0) && oracle.1 == 1000);
        let mut any = EnvironmentParams::Gap(params).environment(2).unwrap();
        let curve = play(any.as_mut(), &mut |_: &Arms, _| 0, &[1000]);
        assert!(curve[0].round == 1000 && curve[0].regret > 100.0);
    }
}
