//! LinUCB under joint differential privacy: a trusted curator, and people who see only what later people may see.
//!
//! ```text
//! decide:  arms -> policy -> (ticket, arm)
//! observe: (ticket, reward) -> clip -> running sums -> [release -> confidence -> policy]
//! ```
//!
//! **Guarantee.** Person t sees an arm that depends on their own decision set and on releases made before. Everything
//! that others see is post-processing of the releases (Claim 7 of Shariff and Sheffet 2018, the billboard lemma), so the
//! learner is jointly differentially private with the curve of its running sum. Which rewards arrive, and when, is taken
//! to be public; a reward that never comes contributes nothing.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{Arms, Confidence, ConfidenceRule, Policy, Problem, Published, PublishedNoise};
use crate::{
    Error, Result,
    error::finite_vector,
    noise::Noise,
    privacy::{Guarantee, Mode},
    release::{
        Calibration, Domain, Mechanism, PrivateSum, PrivateSumParams, PrivateSumPlan, Schedule,
    },
    saved,
};

const KIND: &str = "joint LinUCB";

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
    plan: PrivateSumPlan,
    rule: ConfidenceRule,
}

impl JointPlan {
    /// Starts learning on a source of noise.
    pub fn start<N: Noise>(self, noise: N) -> JointLinUcb<N> {
        let policy = self.rule.cold_policy();
        let state =
            State { params: self.params, rule: self.rule, policy, next: 0, open: BTreeMap::new() };
        JointLinUcb { sum: self.plan.start(noise), state }
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

/// What `observe` is to be told, so that rewards may come late, in any order, or never.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Ticket(u64);

impl Ticket {
    /// The ticket of this number: for those who keep tickets elsewhere.
    pub fn numbered(number: u64) -> Self {
        Ticket(number)
    }

    /// Its number, which no other ticket of the learner has.
    pub fn number(self) -> u64 {
        self.0
    }
}

/// A choice made for one person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decision {
    /// Hand this back with the reward.
    pub ticket: Ticket,
    /// Index of the chosen arm.
    pub arm: usize,
}

/// What became of a reward.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Observation {
    /// The reward lay outside its bounds and was clipped to them.
    pub clipped: bool,
    /// The sums were released, and the policy has learnt.
    pub released: bool,
}

/// A contextual linear bandit that is jointly differentially private.
pub struct JointLinUcb<N> {
    sum: PrivateSum<N>,
    state: State,
}

/// Prints nobody's features: a log line must not undo the noise.
impl<N> std::fmt::Debug for JointLinUcb<N> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("JointLinUcb")
            .field("params", &self.state.params)
            .field("sum", &self.sum)
            .field("open_decisions", &self.state.open.len())
            .finish_non_exhaustive()
    }
}

/// All but the running sum.
#[derive(Serialize, Deserialize)]
struct State {
    params: JointParams,
    rule: ConfidenceRule,
    policy: Policy,
    /// The next ticket, which also breaks ties.
    next: u64,
    /// Features of decisions whose reward has not come.
    open: BTreeMap<u64, Vec<f64>>,
}

impl<N: Noise> JointLinUcb<N> {
    /// Chooses an arm for the next person. An error changes nothing.
    pub fn decide(&mut self, arms: &Arms) -> Result<Decision> {
        let arm = self.state.policy.choose(arms, self.state.next)?;
        let features = arms.arm(arm);
        let norm = features.iter().map(|x| x * x).sum::<f64>().sqrt();
        let bound = self.state.params.problem.feature_bound;
        if norm > bound * (1.0 + 1e-9) {
            let remedy = format!("scale features to at most feature_bound = {bound}");
            return Err(Error::invalid("norm of the chosen arm", norm, remedy));
        }
        let ticket = self.state.next;
        self.state.open.insert(ticket, features);
        self.state.next += 1;
        Ok(Decision { ticket: Ticket(ticket), arm })
    }

    /// Learns the reward of an earlier decision, once. An error changes nothing.
    pub fn observe(&mut self, ticket: Ticket, reward: f64) -> Result<Observation> {
        let Some(features) = self.state.open.get(&ticket.0) else {
            let remedy =
                "it was never given out, or its reward is known already, or it was dismissed";
            return Err(Error::invalid("ticket", ticket.0, remedy));
        };
        let contribution = self.sum.clip_with_reward(features, reward)?;
        let release = self.sum.absorb(&contribution)?;
        self.state.open.remove(&ticket.0);
        if let Some(release) = &release {
            self.state.policy = self.state.rule.policy(release)?;
        }
        let clipped = reward.abs() > self.state.params.problem.reward_bound;
        Ok(Observation { clipped, released: release.is_some() })
    }

    /// Gives up waiting for a reward; says whether it was waited for.
    pub fn dismiss(&mut self, ticket: Ticket) -> bool {
        self.state.open.remove(&ticket.0).is_some()
    }

    /// How many rewards are waited for.
    pub fn open_decisions(&self) -> usize {
        self.state.open.len()
    }

    /// Rewards learnt so far.
    pub fn rounds(&self) -> u64 {
        self.sum.rounds()
    }

    /// From here on noise is drawn from a new key: see [`PrivateSum::refresh_noise`].
    pub fn refresh_noise(&mut self) -> Result<()> {
        self.sum.refresh_noise()
    }

    /// From here on this learner is a copy beside another, and is charged for it: see [`PrivateSum::branch`].
    pub fn branch(&mut self) -> Result<()> {
        self.sum.branch()
    }

    /// How many replays and copies are charged for.
    pub fn replays(&self) -> u64 {
        self.sum.replays()
    }

    /// Releases made so far: what [`JointLinUcb::resume`] asks for.
    pub fn releases(&self) -> u64 {
        self.sum.releases()
    }

    /// What the learner goes by; everything in it has been released.
    pub fn policy(&self) -> &Policy {
        &self.state.policy
    }

    /// What may be promised of the whole run.
    pub fn guarantee(&self) -> Result<Guarantee> {
        self.state.params.claim(self.sum.guarantee(self.state.params.delta)?)
    }
}

impl JointParams {
    /// In `paper` mode, what the publication claims beside what holds.
    fn claim(&self, guarantee: Guarantee) -> Result<Guarantee> {
        // Release times count rewards: if only the content answered, when a release comes would tell who they are.
        let guarantee = guarantee
            .with_condition("which rewards come, and when, is public and depends on nobody's data");
        match self.mode {
            Mode::Exact => Ok(guarantee),
            Mode::Paper => guarantee.with_claim(self.epsilon, self.delta, self.published.source()),
        }
    }
}

impl<N: Noise + Serialize + DeserializeOwned> JointLinUcb<N> {
    /// The whole state, people's data and generator included: protect these bytes as the data itself.
    pub fn save(&self) -> Vec<u8> {
        saved::save(KIND, &(self.sum.save(), &self.state))
    }

    /// Continues bit for bit, if no release has left since the bytes were saved: see [`PrivateSum::resume`].
    pub fn resume(bytes: &[u8], releases_made: u64) -> Result<Self> {
        let (sum, state): (Vec<u8>, State) = saved::load(KIND, bytes)?;
        JointLinUcb { sum: PrivateSum::resume(&sum, releases_made)?, state }.checked()
    }

    /// Continues from an older state and pays for the replay: see [`PrivateSum::resume_charged`].
    pub fn resume_charged(bytes: &[u8], releases_made: u64, replays_made: u64) -> Result<Self> {
        let (sum, state): (Vec<u8>, State) = saved::load(KIND, bytes)?;
        let sum = PrivateSum::resume_charged(&sum, releases_made, replays_made)?;
        JointLinUcb { sum, state }.checked()
    }

    /// Whether the parts of a state that was read fit each other, which a checksum cannot tell.
    fn checked(self) -> Result<Self> {
        let State { params, rule, policy, open, .. } = &self.state;
        params.problem.check()?;
        let d = params.problem.dimension;
        rule.check(d)?;
        policy.check_parts(d)?;
        open.values().try_for_each(|features| finite_vector("open decision", features, d))?;
        match self.sum.clipper().domain() {
            Domain::Regression { dimension, .. } if *dimension == d => Ok(self),
            other => {
                let remedy = "its sums belong to another learner; restore another copy";
                Err(Error::invalid("saved sums", format!("{other:?}"), remedy))
            }
        }
    }
}

#[cfg(test)]
mod wishart_tests;

#[cfg(test)]
mod tests;
