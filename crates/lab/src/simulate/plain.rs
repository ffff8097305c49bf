//! Round by round: the reference every faster path is held against.
//!
//! ```text
//! arms -> choose -> reward -> observe,    regret += best mean - chosen mean
//! ```

use reticent::bandit::Arms;

use crate::{Result, contest::Checkpoint, environment::Environment};

/// Something that chooses arms and sees rewards.
pub trait Player {
    /// The arm for this round, counted from 1.
    fn choose(&mut self, arms: &Arms, round: u64) -> Result<usize>;

    /// The chosen arm's features and its reward.
    fn observe(&mut self, features: &[f64], reward: f64) -> Result<()>;
}

/// A rule that learns nothing is a player.
impl<F: FnMut(&Arms, u64) -> usize> Player for F {
    fn choose(&mut self, arms: &Arms, round: u64) -> Result<usize> {
        Ok(self(arms, round))
    }

    fn observe(&mut self, _: &[f64], _: f64) -> Result<()> {
        Ok(())
    }
}

/// Plays to the last checkpoint and reports the regret at each. `checkpoints` ascend.
///
/// ```
/// use reticent_lab::{environment::GapParams, simulate::play};
/// let mut environment = GapParams::new(5, 25).check()?.fresh(1);
/// let curve = play(&mut environment, &mut |_: &_, _| 0, &[10, 100])?;
/// assert!(curve[1].regret > curve[0].regret);
/// # Ok::<(), reticent_lab::Error>(())
/// ```
pub fn play(
    environment: &mut (impl Environment + ?Sized),
    player: &mut (impl Player + ?Sized),
    checkpoints: &[u64],
) -> Result<Vec<Checkpoint>> {
    let (mut round, mut regret) = (0, 0.0);
    let mut curve = Vec::with_capacity(checkpoints.len());
    for &checkpoint in checkpoints {
        while round < checkpoint {
            round += 1;
            let arms = environment.arms();
            let arm = player.choose(arms, round)?;
            let features = arms.arm(arm);
            regret += environment.best_mean() - environment.means()[arm];
            player.observe(&features, environment.reward(arm))?;
        }
        curve.push(Checkpoint { round, regret });
    }
    Ok(curve)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        contest::checkpoints,
        environment::{EnvironmentParams, GapParams},
    };

    /// Always takes the arm that lies best along a direction, and counts what it saw.
    struct Along(Vec<f64>, u64);

    impl Player for Along {
        fn choose(&mut self, arms: &Arms, round: u64) -> Result<usize> {
            assert_eq!(round, self.1 + 1);
            let score =
                |arm: usize| arms.arm(arm).iter().zip(&self.0).map(|(x, t)| x * t).sum::<f64>();
            Ok((0..arms.count()).max_by(|&a, &b| score(a).total_cmp(&score(b))).unwrap())
        }

        fn observe(&mut self, features: &[f64], reward: f64) -> Result<()> {
            assert!(features.len() == 5 && reward.abs() == 1.0);
            self.1 += 1;
            Ok(())
        }
    }

    #[test]
    fn who_knows_theta_has_no_regret_and_everyone_else_has() {
        let params = GapParams { gap: 0.1, ..GapParams::new(5, 25) };
        let mut environment = params.check().unwrap().fresh(2);
        let mut oracle = Along(environment.theta().to_vec(), 0);
        let curve = play(&mut environment, &mut oracle, &checkpoints(1000, 7)).unwrap();
        assert!(curve.iter().all(|point| point.regret == 0.0) && oracle.1 == 1000);
        let mut any = EnvironmentParams::Gap(params).environment(2).unwrap();
        let curve = play(any.as_mut(), &mut |_: &Arms, _| 0, &[1000]).unwrap();
        assert!(curve[0].round == 1000 && curve[0].regret > 100.0);
    }
}
