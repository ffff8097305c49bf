//! LinUCB without privacy: exact sums x rule x bounds, the yardstick of every private learner.
//!
//! ```text
//! V_t = rho I + sum x x^T,   u_t = sum z x,   theta_t = V_t^-1 u_t,   z = y - centre
//! choose argmax <theta_t, x> + beta_t ||x||_{V_t^-1}
//! ```
//!
//! rho and beta_t are the rule's (`rule/exact.rs`).
//!
//! Abbasi-Yadkori, Pal and Szepesvari, "Improved Algorithms for Linear Stochastic Bandits" (2011), Theorem 2:
//! with probability 1 - alpha, `||theta* - theta_t||_{V_t} <= beta_t` at all t at once, for any choice of the features.
//! It is Algorithm 1 of Shariff and Sheffet (2018) with a constant regulariser.
//!
//! A round costs `O(d^2)`, with a block of p parameters an arm `O(p^2)`: see `regression`. On a schedule other than every round the policy is
//! made anew at its times only.
//!
//! **Half-lives.** With `forget`, sums are multiplied by g whenever the policy has learnt, as those that private learners release
//! (`release/forgetting.rs`). The certified set then holds at the i-th policy with alpha/(i (i + 1)) for alpha, for a theta* that does not move
//! (`rule/certified.rs` has the proof).

use serde::{Deserialize, Serialize};

use super::{
    Arms, Choice, Policy, Rule,
    arms::ROUNDING,
    clip_to_ball,
    regression::Regression,
    rule::{ExactRule, REGULARIZER},
};
use crate::{
    Error, Result,
    error::finite_vector,
    hash::mix,
    randomize::Bounds,
    refuse_if,
    release::{HalfLife, Layout, Schedule},
    wire,
};

/// Beyond this, squares and products of squares could overflow.
const LARGEST: f64 = 1e50;

/// Parameters of LinUCB.
///
/// ```
/// use reticent::{bandit::{Arms, LinUcbParams}, randomize::Bounds};
/// let mut learner = LinUcbParams::new(Bounds::unit(2)).check()?;
/// let arms = Arms::from_rows(2, &[[1.0, 0.0], [0.0, 1.0]])?;
/// for round in 0..1000 {
///     let choice = learner.choose(&arms, round)?;
///     learner.observe(&arms.arm(choice.arm), if choice.arm == 1 { 0.9 } else { 0.1 })?;
/// }
/// assert!((learner.policy().theta()[1] - 0.9).abs() < 0.01);
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinUcbParams {
    /// Bounds that features and rewards are clipped to. Where rewards are unbounded, give a bound that they exceed with a probability that does not
    /// matter.
    pub bounds: Bounds,
    /// Rule by which sums become a policy. `tuned` is stated in units of the noise: sums without noise have the ridge 1, and the width of the noise of
    /// rewards alone.
    #[serde(default)]
    pub rule: Rule,
    /// rho of the certified rule, for features of norm at most 1: the weight of the prior guess that theta is zero; by default 1. The other
    /// rules have their own, and it is refused.
    pub regularizer: Option<f64>,
    /// Schedule on which the policy learns.
    #[serde(default = "every_round")]
    pub schedule: Schedule,
    /// Seed of the public randomness of the `thompson` rule: give another number to every learner.
    #[serde(default)]
    pub seed: u64,
    /// Forget everything after a fixed number of rewards; the failure probability of a certified rule is then that of one period between restarts.
    pub restart_every: Option<u64>,
    /// Half-life in rewards: what was learnt counts half after this number. The schedule has constant gaps then.
    pub forget: Option<f64>,
}

fn every_round() -> Schedule {
    Schedule::EveryRound
}

impl LinUcbParams {
    /// Tuned, learning every round.
    pub fn new(bounds: Bounds) -> Self {
        LinUcbParams {
            bounds,
            rule: Rule::default(),
            regularizer: None,
            schedule: Schedule::EveryRound,
            seed: 0,
            restart_every: None,
            forget: None,
        }
    }

    /// The half-life on this schedule, if there is one.
    fn half_life(&self) -> Result<Option<HalfLife>> {
        match (self.forget, self.restart_every) {
            (None, _) => Ok(None),
            (Some(forget), None) => HalfLife::new(forget, &self.schedule).map(Some),
            (Some(forget), Some(_)) => {
                let remedy = "a learner forgets by half-lives or by restarts: leave one of `forget` and `restart_every` out";
                Err(Error::invalid("forget", forget, remedy))
            }
        }
    }

    /// rho of the certified rule as it is given, or 1.
    pub fn certified_regularizer(&self) -> f64 {
        self.regularizer.unwrap_or(REGULARIZER)
    }

    /// A learner that has seen nothing, or the parameter that stands in the way.
    pub fn check(&self) -> Result<LinUcb> {
        self.bounds.check()?;
        self.schedule.check()?;
        let forgets = self.forget.is_some();
        let rule = self.rule.without_noise(&self.bounds, self.regularizer, forgets)?;
        let each =
            matches!(self.rule, Rule::TwoLevel { .. }) && self.schedule == Schedule::EveryRound;
        let remedy = "two_level solves anew for each policy: give schedule = capped_geometric";
        refuse_if(each, "schedule", self.schedule, remedy)?;
        let remedy = "expected a whole number of rewards above 0";
        refuse_if(self.restart_every == Some(0), "restart_every", 0, remedy)?;
        let (norm, reward) = (self.bounds.feature_bound, self.bounds.half_range());
        let ridge = rule.ridge();
        let numbers = [
            ("feature_bound", norm),
            ("rewards", reward),
            ("regularizer", ridge),
            ("regularizer", 1.0 / ridge),
        ];
        for (field, number) in numbers {
            let remedy = format_args!("rescale: sizes above {LARGEST:e} overflow");
            refuse_if(number > LARGEST, field, number, remedy)?;
        }
        let next = self.schedule.first();
        let kept = self.half_life()?.map(|half_life| half_life.kept_after(1));
        let regression = self.regression(ridge);
        let mut learner = LinUcb { params: self.clone(), regression, next, ridge, rule, kept };
        learner.widen();
        Ok(learner)
    }

    fn regression(&self, ridge: f64) -> Regression {
        let Bounds { dimension, structure, .. } = self.bounds;
        Regression::new(dimension, structure, ridge, 0.0, self.rule.ensemble())
    }
}

/// A LinUCB learner; made by [`LinUcbParams::check`].
///
/// Decisions and rewards need not alternate: a reward may come late, out of order, or never.
#[derive(Debug, Clone)]
pub struct LinUcb {
    params: LinUcbParams,
    regression: Regression,
    /// Number of rewards when the policy learns next.
    next: u64,
    ridge: f64,
    rule: ExactRule,
    /// g, if it forgets.
    kept: Option<f64>,
}

/// A learner on disk; the rest follows.
#[derive(Serialize, Deserialize)]
struct Saved {
    params: LinUcbParams,
    regression: Regression,
    next: u64,
}

impl LinUcb {
    /// Parameters of the learner.
    pub fn params(&self) -> &LinUcbParams {
        &self.params
    }

    /// The rule for choosing as it stands.
    pub fn policy(&self) -> &Policy {
        self.regression.policy()
    }

    /// Number of rewards that have come since the last restart.
    pub fn rounds(&self) -> u64 {
        self.regression.rounds()
    }

    /// The arm that the policy plays, arms above the feature bound scaled to it; `randomness` is public: see [`Policy::choose`].
    pub fn choose(&self, arms: &Arms, randomness: u64) -> Result<Choice> {
        self.policy().choose_within(arms, self.params.bounds.feature_bound, randomness)
    }

    /// The probability of each arm: see [`Policy::probabilities`].
    pub fn probabilities(&self, arms: &Arms) -> Result<Vec<f64>> {
        self.policy().probabilities_within(arms, self.params.bounds.feature_bound)
    }

    /// Randomness for [`LinUcb::choose`] in the decision of this number: it follows from the seed where there is an ensemble, and is the number
    /// itself where it only breaks ties.
    pub fn randomness(&self, number: u64) -> u64 {
        match self.policy().ensemble() {
            // Under another key than the seeds of ensembles.
            Some(_) => mix(mix(self.params.seed, u64::MAX), number),
            None => number,
        }
    }

    /// Learns from the reward of an arm with these features, both clipped to their bounds; says whether either was. An error
    /// changes nothing.
    pub fn observe(&mut self, features: &[f64], reward: f64) -> Result<bool> {
        let block = self.params.bounds.structure.only_block("observe_in_block")?;
        self.observe_in_block(block, features, reward)
    }

    /// The same for an arm of this block of parameters.
    ///
    /// ```
    /// use reticent::{bandit::{Arms, LinUcbParams}, randomize::Bounds, release::Structure};
    /// // Three classes with parameters of their own: no more than one block is touched by a reward.
    /// let bounds = Bounds { structure: Structure::blocks(3), ..Bounds::unit(2) };
    /// let mut learner = LinUcbParams::new(bounds).check()?;
    /// let person = [0.6, 0.8];
    /// let arms = Arms::in_blocks(2, &[(0, person), (1, person), (2, person)])?;
    /// for round in 0..100 {
    ///     let arm = learner.choose(&arms, round)?.arm;
    ///     let reward = if arm == 2 { 1.0 } else { 0.0 };
    ///     learner.observe_in_block(arms.block(arm), &arms.arm(arm), reward)?;
    /// }
    /// assert_eq!(learner.choose(&arms, 100)?.arm, 2);
    /// # Ok::<(), reticent::Error>(())
    /// ```
    pub fn observe_in_block(
        &mut self,
        block: usize,
        features: &[f64],
        reward: f64,
    ) -> Result<bool> {
        let Bounds { dimension, feature_bound, rewards: (low, high), structure, .. } =
            self.params.bounds;
        structure.expect(block)?;
        finite_vector("features", features, dimension)?;
        finite_vector("reward", &[reward], 1)?;
        self.begin_life();
        let cut = reward.clamp(low, high);
        let centred = cut - self.params.bounds.centre();
        // Squares that overflow are above every bound; only what is too long is copied.
        let square: f64 = features.iter().map(|x| x * x).sum();
        let long = if square <= feature_bound * feature_bound * (1.0 + ROUNDING) {
            self.learn(block, features, centred);
            false
        } else {
            let mut features = features.to_vec();
            let long = clip_to_ball(&mut features, feature_bound);
            self.learn(block, &features, centred);
            long
        };
        Ok(long || cut != reward)
    }

    fn learn(&mut self, block: usize, features: &[f64], centred: f64) {
        if self.params.schedule == Schedule::EveryRound && self.kept.is_none() {
            self.regression.observe(block, features, centred);
            self.widen();
        } else {
            self.regression.accumulate(block, features, centred);
            self.refresh_if_due();
        }
    }

    /// Learns from sums of many rounds at once: the upper triangle of `sum x x^T` by rows, and `sum x (y - centre)`, all clipped; with
    /// blocks, laid out as in a release. At most [`LinUcb::until_learning`] rounds.
    pub fn observe_sums(&mut self, gram: &[f64], moment: &[f64], rounds: u64) -> Result<()> {
        let Bounds { dimension, structure, .. } = self.params.bounds;
        let layout = Layout::new(dimension, structure);
        finite_vector("gram", gram, layout.matrix())?;
        finite_vector("moment", moment, layout.vector())?;
        if rounds > self.until_learning() {
            let most = self.until_learning();
            let remedy = format!("the policy changes after {most} rounds; expected at most {most}");
            return Err(Error::invalid("rounds", rounds, remedy));
        }
        self.begin_life();
        self.regression.add(gram, moment, rounds);
        self.refresh_if_due();
        Ok(())
    }

    /// Number of rewards up to the next change of the policy, the last one included.
    pub fn until_learning(&self) -> u64 {
        if self.params.schedule == Schedule::EveryRound {
            return 1;
        }
        let (rounds, first) = (self.rounds(), self.params.schedule.first());
        match self.params.restart_every {
            Some(every) if rounds >= every => first.min(every),
            Some(every) => (self.next - rounds).min(every - rounds),
            None => self.next - rounds,
        }
    }

    fn refresh_if_due(&mut self) {
        if self.params.schedule == Schedule::EveryRound || self.rounds() >= self.next {
            self.next = self.params.schedule.next(self.rounds());
            self.refresh();
            if let Some(kept) = self.kept {
                self.regression.forget(kept);
            }
        }
    }

    /// Makes the policy anew from the sums.
    fn refresh(&mut self) {
        let (gram, moment) = (self.regression.gram(), self.regression.moment());
        match self.rule.policy(gram, moment, self.rounds()) {
            Some(policy) => self.regression.follow(policy),
            None => self.regression.refresh(),
        }
        self.widen();
    }

    /// With restarts, forgets everything when a period between them is over.
    fn begin_life(&mut self) {
        if self.params.restart_every.is_some_and(|every| self.rounds() >= every) {
            self.regression = self.params.regression(self.ridge);
            self.next = self.params.schedule.first();
            self.widen();
        }
    }

    /// Brings the width up to date, and draws a new ensemble where there is one.
    fn widen(&mut self) {
        if self.params.rule.draws() {
            self.regression.reseed(mix(self.params.seed, self.regression.rounds()));
        }
        let policy = || self.params.schedule.releases(self.rounds());
        let width = self.rule.width(self.regression.ln_growth(), policy);
        self.regression.set_width(width);
    }

    /// The whole state; protect these bytes as the data itself.
    pub fn save(&self) -> Vec<u8> {
        let (params, regression) = (self.params.clone(), self.regression.clone());
        wire::save(wire::kinds::LINUCB, &Saved { params, regression, next: self.next })
    }

    /// Continues bit for bit from saved bytes.
    pub fn load(bytes: &[u8]) -> Result<Self> {
        let mut saved: Saved = wire::load(wire::kinds::LINUCB, bytes)?;
        let mut learner = saved.params.check()?;
        let Bounds { dimension, structure, .. } = saved.params.bounds;
        saved.regression.revive(dimension, structure, learner.ridge)?;
        let rounds = saved.regression.rounds();
        let every_round = saved.params.schedule == Schedule::EveryRound;
        if !every_round && saved.next <= rounds {
            let remedy = "its parts do not fit each other; restore another copy";
            return Err(Error::invalid("saved schedule", saved.next, remedy));
        }
        (learner.regression, learner.next) = (saved.regression, saved.next);
        learner.widen();
        Ok(learner)
    }
}

#[cfg(test)]
mod tests;
