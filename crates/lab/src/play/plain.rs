//! Simulation round by round: the reference for every faster path.
//!
//! ```text
//! arms -> choose -> reward -> observe,    regret += best mean - chosen mean
//! ```
//!
//! A reward may come later than its round, or never; it is identified by its round.

use reticent::bandit::Arms;
use serde::{Deserialize, Serialize};

use crate::{
    Result,
    play::{environment::Environment, feedback::Feedback, trial::Checkpoint, watch::Gauge},
};

/// The knowledge of a learner, in a form that another learner can start from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Knowledge {
    /// The release of a curator.
    Releases(Vec<u8>),
    /// A learner without privacy, which contains sums of people's data without noise.
    Exact(Vec<u8>),
    /// The state of a local server, which contains only randomised reports.
    Server(Vec<u8>),
}

/// A learner: chooses arms and observes rewards.
///
/// A learner that stands before another one names it as [`Learner::inner`]: what it does not define itself, the inner one does.
pub trait Learner {
    /// The learner that this one stands before.
    fn inner(&self) -> Option<&dyn Learner> {
        None
    }

    /// The same, mutable.
    fn inner_mut(&mut self) -> Option<&mut dyn Learner> {
        None
    }

    /// The arm for this round, counted from 1.
    fn choose(&mut self, arms: &Arms, round: u64) -> Result<usize>;

    /// The probability with which [`Learner::choose`] takes each arm, where choices are drawn; `None` where they follow from what was learnt.
    fn probabilities(&self, arms: &Arms) -> Result<Option<Vec<f64>>> {
        self.inner().map_or(Ok(None), |inner| inner.probabilities(arms))
    }

    /// The reward of the arm that was chosen in `round`, once, and that arm's features. Rewards may come late, in any order, or never.
    fn observe(&mut self, round: u64, features: &[f64], reward: f64) -> Result<()>;

    /// The same for an arm of this block of parameters ([`Arms::block`]). A learner that knows of no blocks is given embedded arms
    /// (`BanditEnvironment::dense`), whose block is 0.
    fn observe_in_block(
        &mut self,
        round: u64,
        block: usize,
        features: &[f64],
        reward: f64,
    ) -> Result<()> {
        match self.inner_mut() {
            Some(inner) => inner.observe_in_block(round, block, features, reward),
            None => self.observe(round, features, reward),
        }
    }

    /// Tells whether this person's data of this round may be used; called once per round if people return.
    fn admits(&mut self, person: u64) -> bool {
        self.inner_mut().is_none_or(|inner| inner.admits(person))
    }

    /// The reward of this round will never come.
    fn dismiss(&mut self, round: u64) {
        if let Some(inner) = self.inner_mut() {
            inner.dismiss(round);
        }
    }

    /// This round's person was answered and is not learnt from: they have made all permitted contributions.
    fn turn_away(&mut self, round: u64) -> Result<()> {
        match self.inner_mut() {
            Some(inner) => inner.turn_away(round),
            None => {
                self.dismiss(round);
                Ok(())
            }
        }
    }

    /// The data of this round's person cannot be used. Whether they can depends on the data, so a private learner must not reveal it: a
    /// curator absorbs a contribution of zero, which a person could have made.
    fn pass(&mut self, round: u64) -> Result<()> {
        match self.inner_mut() {
            Some(inner) => inner.pass(round),
            None => {
                self.dismiss(round);
                Ok(())
            }
        }
    }

    /// The messages of people's devices or of a shuffler since the last call, as seen by parties that the trust model does not trust. Empty
    /// with a curator: audits then see actions only.
    fn sent(&mut self) -> Option<Vec<f64>> {
        self.inner_mut()?.sent()
    }

    /// Number of releases of a curator that gave no policy, so that it followed the cold one.
    fn cold_releases(&self) -> Option<u64> {
        self.inner()?.cold_releases()
    }

    /// The knowledge that a similar learner could start from, if it can be saved.
    fn knowledge(&self) -> Option<Knowledge> {
        self.inner()?.knowledge()
    }
}

/// A function that chooses without learning is a learner.
impl<F: FnMut(&Arms, u64) -> usize> Learner for F {
    fn choose(&mut self, arms: &Arms, round: u64) -> Result<usize> {
        Ok(self(arms, round))
    }

    fn observe(&mut self, _: u64, _: &[f64], _: f64) -> Result<()> {
        Ok(())
    }
}

/// Plays to the last checkpoint and reports the regret at each. `checkpoints` ascend.
///
/// ```
/// use reticent_lab::{environment::GapParams, play::play};
/// let mut environment = GapParams::new(5, 25).check()?.fresh(1);
/// let curve = play(&mut environment, &mut |_: &_, _| 0, &[10, 100])?;
/// assert!(curve[1].regret > curve[0].regret);
/// # Ok::<(), reticent_lab::Error>(())
/// ```
pub fn play(
    environment: &mut (impl Environment + ?Sized),
    learner: &mut (impl Learner + ?Sized),
    checkpoints: &[u64],
) -> Result<Vec<Checkpoint>> {
    play_with(environment, learner, None, checkpoints)
}

/// As [`play`], with rewards that are delivered late, in batches or not at all.
pub fn play_with(
    environment: &mut (impl Environment + ?Sized),
    learner: &mut (impl Learner + ?Sized),
    mut feedback: Option<Feedback>,
    checkpoints: &[u64],
) -> Result<Vec<Checkpoint>> {
    let (mut round, mut regret) = (0, 0.0);
    let mut curve = Vec::with_capacity(checkpoints.len());
    let gauge = Gauge::current();
    for &checkpoint in checkpoints {
        while round < checkpoint {
            gauge.reached(round)?;
            round += 1;
            let arms = environment.arms();
            let arm = learner.choose(arms, round)?;
            let (block, features) = (arms.block(arm), arms.arm(arm));
            regret += environment.best_mean() - environment.means()[arm];
            let reward = environment.reward(arm);
            if environment.person().is_some_and(|person| !learner.admits(person)) {
                learner.turn_away(round)?;
            } else {
                match &mut feedback {
                    None => learner.observe_in_block(round, block, &features, reward)?,
                    Some(feedback) => {
                        if !feedback.send((round, block, features, reward)) {
                            learner.dismiss(round);
                        }
                    }
                }
            }
            while let Some(late) = feedback.as_mut().and_then(|feedback| feedback.next(round)) {
                let (round, block, features, reward) = late;
                learner.observe_in_block(round, block, &features, reward)?;
            }
        }
        if let Some(fault) = environment.fault() {
            return Err(fault);
        }
        curve.push(Checkpoint { round, regret });
    }
    Ok(curve)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{environment::GapParams, play::trial::checkpoints};

    /// Always chooses the arm with the largest product with a direction, and counts its observations.
    struct Along(Vec<f64>, u64);

    impl Learner for Along {
        fn choose(&mut self, arms: &Arms, round: u64) -> Result<usize> {
            assert_eq!(round, self.1 + 1);
            let score =
                |arm: usize| arms.arm(arm).iter().zip(&self.0).map(|(x, t)| x * t).sum::<f64>();
            Ok((0..arms.count()).max_by(|&a, &b| score(a).total_cmp(&score(b))).unwrap())
        }

        fn observe(&mut self, round: u64, features: &[f64], reward: f64) -> Result<()> {
            assert!(features.len() == 5 && reward.abs() == 1.0);
            self.1 += 1;
            assert_eq!(round, self.1);
            Ok(())
        }
    }

    /// Answers every request in a way of its own, and counts the requests.
    struct Asked(u64);

    impl Learner for Asked {
        fn choose(&mut self, _: &Arms, _: u64) -> Result<usize> {
            Ok(1)
        }

        fn probabilities(&self, _: &Arms) -> Result<Option<Vec<f64>>> {
            Ok(Some(vec![0.5]))
        }

        fn observe(&mut self, _: u64, _: &[f64], _: f64) -> Result<()> {
            Ok(())
        }

        fn observe_in_block(&mut self, _: u64, block: usize, _: &[f64], _: f64) -> Result<()> {
            self.0 += 1 + block as u64;
            Ok(())
        }

        fn admits(&mut self, _: u64) -> bool {
            false
        }

        fn dismiss(&mut self, _: u64) {
            self.0 += 10;
        }

        fn turn_away(&mut self, _: u64) -> Result<()> {
            self.0 += 100;
            Ok(())
        }

        fn pass(&mut self, _: u64) -> Result<()> {
            self.0 += 1000;
            Ok(())
        }

        fn sent(&mut self) -> Option<Vec<f64>> {
            Some(vec![7.0])
        }

        fn cold_releases(&self) -> Option<u64> {
            Some(3)
        }

        fn knowledge(&self) -> Option<Knowledge> {
            Some(Knowledge::Exact(vec![1]))
        }
    }

    /// Stands before another learner, and does nothing of its own.
    struct Before<'a>(&'a mut dyn Learner);

    impl Learner for Before<'_> {
        fn inner(&self) -> Option<&dyn Learner> {
            Some(self.0)
        }

        fn inner_mut(&mut self) -> Option<&mut dyn Learner> {
            Some(self.0)
        }

        fn choose(&mut self, arms: &Arms, round: u64) -> Result<usize> {
            self.0.choose(arms, round)
        }

        fn observe(&mut self, round: u64, features: &[f64], reward: f64) -> Result<()> {
            self.0.observe(round, features, reward)
        }
    }

    #[test]
    fn what_a_player_does_not_define_the_one_behind_it_does() {
        let arms = Arms::from_rows(1, &[[1.0], [0.5]]).unwrap();
        let mut asked = Asked(0);
        let mut once = Before(&mut asked);
        let mut twice = Before(&mut once);
        assert_eq!(twice.choose(&arms, 1).unwrap(), 1);
        assert_eq!(twice.probabilities(&arms).unwrap(), Some(vec![0.5]));
        assert!(!twice.admits(4));
        assert_eq!(twice.sent(), Some(vec![7.0]));
        assert_eq!(
            (twice.cold_releases(), twice.knowledge()),
            (Some(3), Some(Knowledge::Exact(vec![1])))
        );
        twice.observe_in_block(1, 1, &[1.0], 0.5).unwrap();
        twice.dismiss(1);
        twice.turn_away(1).unwrap();
        twice.pass(1).unwrap();
        assert_eq!(asked.0, 1112);
    }

    #[test]
    fn only_the_policy_that_knows_theta_has_no_regret() {
        let params = GapParams { gap: 0.1, ..GapParams::new(5, 25) };
        let mut environment = params.check().unwrap().fresh(2);
        let mut oracle = Along(environment.theta().to_vec(), 0);
        let curve = play(&mut environment, &mut oracle, &checkpoints(1000, 7)).unwrap();
        assert!(curve.iter().all(|point| point.regret == 0.0) && oracle.1 == 1000);
        let mut any = params.environment(2).unwrap();
        let curve = play(any.as_mut(), &mut |_: &Arms, _| 0, &[1000]).unwrap();
        assert!(curve[0].round == 1000 && curve[0].regret > 100.0);
    }
}
