//! What a joint bandit is told beforehand, and the check that turns it into a plan.

use serde::{Deserialize, Serialize};

use super::{JointLinUcb, RewardWindow, legacy::Legacy};
use crate::{
    Error, Result,
    bandit::{Confidence, ConfidenceRule, Problem, Published, PublishedNoise},
    error::finite_vector,
    noise::Noise,
    privacy::{Guarantee, Mode},
    release::{Calibration, Domain, Mechanism, PrivateSumParams, PrivateSumPlan, Schedule},
};

/// What a curator cannot clip.
const FINITE: &str = "features and rewards are finite numbers, which are never refused; others are an error, which shows";

/// Parameters of a [`JointLinUcb`]. Everything but the problem, the budget and the horizon has a default that is right.
///
/// ```
/// use reticent::{bandit::{Arms, JointParams, Problem}, noise::SecureNoise};
///
/// let params = JointParams::new(Problem::unit(2), 1.0, 1e-6, Some(100_000));
/// let mut learner = params.check()?.start(SecureNoise::from_system()?);
/// println!("{}", learner.guarantee()?);
///
/// let arms = Arms::from_rows(2, &[[1.0, 0.0], [0.0, 1.0]])?;
/// let decision = learner.decide(&arms)?;
/// learner.observe(decision.ticket, 0.7)?;
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JointParams {
    /// What is known of arms, rewards and theta*.
    pub problem: Problem,
    /// Requested epsilon.
    pub epsilon: f64,
    /// Requested delta.
    pub delta: f64,
    /// Rewards the learner will see at most, or `None` if nobody knows.
    pub horizon: Option<u64>,
    /// How often one person takes part at most.
    pub contributions_per_person: u64,
    /// Probability with which the confidence sets may fail, all rounds together; by default 1/horizon.
    pub alpha: Option<f64>,
    /// How noise is correlated over time.
    pub mechanism: Mechanism,
    /// When sums are released and the policy learns.
    pub schedule: Schedule,
    /// Exact calibration and the tight confidence, or the publication's tree and its constants.
    pub mode: Mode,
    /// In `paper` mode, which of the publication's two kinds of noise.
    #[serde(default)]
    pub published: PublishedNoise,
    /// When a decision closes by itself, with its reward or the default one; `None` learns rewards as they come.
    #[serde(default)]
    pub window: Option<RewardWindow>,
    /// What a decision contributes whose reward has not come when it closes or expires.
    #[serde(default)]
    pub default_reward: f64,
}

impl JointParams {
    /// The defaults: one contribution a person, BLT noise, capped geometric releases, exact calibration.
    pub fn new(problem: Problem, epsilon: f64, delta: f64, horizon: Option<u64>) -> Self {
        JointParams {
            problem,
            epsilon,
            delta,
            horizon,
            contributions_per_person: 1,
            alpha: None,
            mechanism: Mechanism::default(),
            schedule: Schedule::default(),
            mode: Mode::Exact,
            published: PublishedNoise::default(),
            window: None,
            default_reward: 0.0,
        }
    }

    /// The constants of Shariff and Sheffet's Gaussian variant: a release after every round, their noise, their width.
    pub fn published(problem: Problem, epsilon: f64, delta: f64, horizon: u64) -> Self {
        JointParams {
            schedule: Schedule::EveryRound,
            mode: Mode::Paper,
            ..JointParams::new(problem, epsilon, delta, Some(horizon))
        }
    }

    /// The constants of their Wishart variants, `shifted` by (4) or not, with exactly m nodes in every prefix.
    ///
    /// ```
    /// use reticent::{bandit::{JointParams, Problem}, noise::SecureNoise};
    /// let params = JointParams::published_wishart(Problem::unit(2), 1.0, 1e-6, 100_000, true);
    /// let learner = params.check()?.start(SecureNoise::from_system()?);
    /// let guarantee = learner.guarantee()?;
    /// assert!(guarantee.epsilon() < 1.0);
    /// assert!(guarantee.claimed().unwrap().holds());
    /// # Ok::<(), reticent::Error>(())
    /// ```
    pub fn published_wishart(
        problem: Problem,
        epsilon: f64,
        delta: f64,
        horizon: u64,
        shifted: bool,
    ) -> Self {
        let published =
            if shifted { PublishedNoise::Wishart } else { PublishedNoise::WishartUnshifted };
        JointParams { published, ..JointParams::published(problem, epsilon, delta, horizon) }
    }

    /// Calibrates noise and confidence, or says which parameter stands in the way.
    pub fn check(&self) -> Result<JointPlan> {
        self.problem.check()?;
        self.check_window()?;
        let alpha = self.alpha.unwrap_or(1.0 / self.horizon.unwrap_or(1_000_000).max(2) as f64);
        let (sums, confidence) = match (self.mode, self.published) {
            (Mode::Exact, PublishedNoise::Gaussian) => self.exact(),
            (Mode::Exact, noise) => {
                let remedy = "Wishart noise exists in `paper` mode only";
                return Err(Error::invalid("published", format!("{noise:?}"), remedy));
            }
            (Mode::Paper, _) => self.paper(alpha)?,
        };
        let rule = ConfidenceRule::new(self.problem, alpha, confidence)?;
        Ok(JointPlan { params: *self, sums, plan: sums.check()?, rule })
    }

    pub(super) fn check_window(&self) -> Result<()> {
        if self.window == Some(RewardWindow::Decisions(0)) {
            let remedy = "give a whole number of later decisions above 0";
            return Err(Error::invalid("window", 0, remedy));
        }
        finite_vector("default_reward", &[self.default_reward], 1)?;
        let bound = self.problem.reward_bound;
        if self.default_reward.abs() > bound {
            let remedy = format!("stay within reward_bound = {bound}");
            return Err(Error::invalid("default_reward", self.default_reward, remedy));
        }
        Ok(())
    }

    fn exact(&self) -> (PrivateSumParams, Confidence) {
        let budget = Calibration::Budget { epsilon: self.epsilon, delta: self.delta };
        let sums = PrivateSumParams {
            mechanism: self.mechanism,
            schedule: self.schedule,
            contributions_per_person: self.contributions_per_person,
            ..PrivateSumParams::new(self.problem.domain(), self.horizon, budget)
        };
        let releases = self.horizon.map(|horizon| self.schedule.releases(horizon).max(1));
        (sums, Confidence::Tight { releases, scale: 1.0 })
    }

    fn paper(&self, alpha: f64) -> Result<(PrivateSumParams, Confidence)> {
        let Some(horizon) = self.horizon else {
            return Err(Error::invalid("horizon", "unknown", "the published constants need one"));
        };
        let published = Published::new(self.problem, self.epsilon, self.delta, alpha, horizon)?;
        let (domain, calibration, regularizer) = match self.published {
            PublishedNoise::Gaussian => (
                self.published_domain()?,
                Calibration::Sigma(published.gaussian_deviation()),
                published.gaussian_regularizer(published.gaussian_deviation()),
            ),
            PublishedNoise::Wishart => (
                self.problem.domain(),
                published.wishart_calibration()?,
                published.shifted_wishart_regularizer(),
            ),
            PublishedNoise::WishartUnshifted => (
                self.problem.domain(),
                published.wishart_calibration()?,
                published.wishart_regularizer(),
            ),
        };
        let sums = PrivateSumParams {
            mechanism: Mechanism::Tree { levels: Some(published.levels()) },
            schedule: self.schedule,
            contributions_per_person: self.contributions_per_person,
            ..PrivateSumParams::new(domain, self.horizon, calibration)
        };
        Ok((sums, Confidence::Regularized(regularizer)))
    }

    /// The same Gaussian noise on x y as on x x^T: that is the split (B/L)^2.
    fn published_domain(&self) -> Result<Domain> {
        let Problem { dimension, feature_bound, reward_bound, .. } = self.problem;
        if reward_bound > feature_bound {
            let remedy = format!(
                "the published matrix noise needs at most feature_bound = {feature_bound}: rescale"
            );
            return Err(Error::invalid("reward_bound", reward_bound, remedy));
        }
        let split = (reward_bound / feature_bound).powi(2);
        Ok(Domain::Regression { dimension, feature_bound, reward_bound, split })
    }
}

/// Checked parameters.
#[derive(Debug, Clone)]
pub struct JointPlan {
    params: JointParams,
    sums: PrivateSumParams,
    pub(super) plan: PrivateSumPlan,
    rule: ConfidenceRule,
}

impl JointPlan {
    /// Starts learning on a source of noise.
    pub fn start<N: Noise>(self, noise: N) -> JointLinUcb<N> {
        let policy = self.rule.cold_policy();
        JointLinUcb::new(self.params, self.rule, policy, self.plan.start(noise))
    }

    /// Starts with what an earlier learner has released: see [`Legacy`]. Refuses one with other bounds, and `paper` mode, whose
    /// constants are for one run.
    pub fn start_from<N: Noise>(self, legacy: Legacy, noise: N) -> Result<JointLinUcb<N>> {
        legacy.check(&self.params)?;
        // The policy that it begins with may fail too, so that alpha has one more share.
        let rule = self.rule.with_one_more_release();
        let policy = rule.policy_or_cold(&legacy.release().numbered(1));
        let mut learner = JointLinUcb::new(self.params, rule, policy, self.plan.start(noise));
        learner.state.legacy = Some(legacy);
        Ok(learner)
    }

    /// The running sum the learner will release.
    pub fn sums(&self) -> &PrivateSumParams {
        &self.sums
    }

    /// How releases become policies.
    pub fn rule(&self) -> &ConfidenceRule {
        &self.rule
    }

    /// What may be promised of the whole run.
    pub fn guarantee(&self) -> Result<Guarantee> {
        self.params.claim(self.plan.guarantee(self.params.delta)?)
    }
}

impl JointParams {
    /// What the timing of releases rests on.
    pub(super) fn timing(&self) -> String {
        match self.window {
            // Release times count rewards: if a click is reported and silence is not, when a release comes tells who clicked.
            None => "which rewards come, and when, is public and depends on nobody's data: somebody who did nothing has a reward \
                     too, reported or expired at a time that does not depend on what they did"
                .to_string(),
            Some(_) => format!(
                "when decisions are asked for, and when the caller's clock closes them, is public and depends on nobody's data; which \
                 rewards come, and when, need not: every decision contributes once, in order, with its reward or {}",
                self.default_reward
            ),
        }
    }

    /// In `paper` mode, what the publication claims beside what holds.
    pub(super) fn claim(&self, guarantee: Guarantee) -> Result<Guarantee> {
        let guarantee = guarantee.with_condition(self.timing()).with_condition(FINITE);
        match self.mode {
            Mode::Exact => Ok(guarantee),
            Mode::Paper => guarantee.with_claim(self.epsilon, self.delta, self.published.source()),
        }
    }
}
