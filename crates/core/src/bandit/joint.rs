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
        Ok(JointLinUcb { sum: PrivateSum::resume(&sum, releases_made)?, state })
    }

    /// Continues from an older state and pays for the replay: see [`PrivateSum::resume_charged`].
    pub fn resume_charged(bytes: &[u8], releases_made: u64, replays_made: u64) -> Result<Self> {
        let (sum, state): (Vec<u8>, State) = saved::load(KIND, bytes)?;
        let sum = PrivateSum::resume_charged(&sum, releases_made, replays_made)?;
        Ok(JointLinUcb { sum, state })
    }
}

#[cfg(test)]
mod wishart_tests;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::release::testing::Seeded;

    fn params() -> JointParams {
        JointParams::new(Problem::unit(2), 1.0, 1e-6, Some(2000))
    }

    fn start(params: JointParams) -> JointLinUcb<Seeded> {
        params.check().unwrap().start(Seeded(5))
    }

    fn arms() -> Arms {
        Arms::from_rows(2, &[[1.0, 0.0], [0.0, 1.0], [-0.6, 0.8]]).unwrap()
    }

    #[test]
    fn what_is_requested_is_what_holds() {
        for (epsilon, delta) in [(1.0, 0.1), (1.0, 1e-6), (0.1, 1e-9), (8.0, 1e-5)] {
            let params = JointParams::new(Problem::unit(5), epsilon, delta, Some(50_000_000));
            let guarantee = params.check().unwrap().guarantee().unwrap();
            assert!((guarantee.epsilon() - epsilon).abs() < 1e-9, "{}", guarantee.epsilon());
        }
    }

    #[test]
    fn the_published_noise_is_fourteen_times_what_its_claim_needs() {
        for (delta, exact, published) in [(0.1, 0.92091, 0.0678), (1e-6, 0.23670, 0.01645)] {
            let params = JointParams::published(Problem::unit(5), 1.0, delta, 50_000_000);
            let guarantee = params.check().unwrap().guarantee().unwrap();
            let mu = guarantee.curve().mu().unwrap();
            assert!((mu / published - 1.0).abs() < 2e-3, "{mu}");
            assert!((exact / mu - exact / published).abs() < 0.05);
            assert_eq!(guarantee.mode(), Mode::Paper);
            assert!(guarantee.claimed().unwrap().holds());
        }
    }

    #[test]
    fn rewards_come_late_in_any_order_once_or_never() {
        let mut learner = start(params());
        let decisions: Vec<Decision> = (0..100).map(|_| learner.decide(&arms()).unwrap()).collect();
        for decision in decisions.iter().rev().skip(20) {
            learner.observe(decision.ticket, 0.5).unwrap();
        }
        assert_eq!((learner.rounds(), learner.open_decisions()), (80, 20));
        let before = learner.save();
        assert!(learner.observe(decisions[0].ticket, 0.5).is_err(), "a second answer");
        assert!(learner.observe(Ticket(12345), 0.5).is_err(), "no such ticket");
        assert!(learner.observe(decisions[99].ticket, f64::NAN).is_err());
        assert_eq!(learner.save(), before, "an error changed the state");
        assert!(learner.dismiss(decisions[99].ticket) && !learner.dismiss(decisions[99].ticket));
        assert!(learner.observe(decisions[99].ticket, 0.5).is_err(), "dismissed");
    }

    #[test]
    fn bad_arms_are_refused_and_change_nothing() {
        let mut learner = start(params());
        let before = learner.save();
        assert!(learner.decide(&Arms::from_rows(3, &[[0.1, 0.2, 0.3]]).unwrap()).is_err());
        let long = learner.decide(&Arms::from_rows(2, &[[1.0, 1.0]]).unwrap()).unwrap_err();
        assert!(long.to_string().contains("feature_bound = 1"), "{long}");
        assert_eq!(learner.save(), before);
    }

    #[test]
    fn a_reward_beyond_its_bound_counts_as_the_bound() {
        // An unclipped reward of 1000 would move the sums a thousand times as far as the noise is made for.
        let run = |reward: f64| {
            let mut learner = start(params());
            for _ in 0..64 {
                let decision = learner.decide(&arms()).unwrap();
                let observation = learner.observe(decision.ticket, reward).unwrap();
                assert_eq!(observation.clipped, reward > 1.0);
            }
            learner.policy().clone()
        };
        assert_eq!(run(1000.0), run(1.0));
        assert_ne!(run(0.5), run(1.0));
    }

    #[test]
    fn a_saved_learner_goes_on_bit_for_bit_and_an_old_one_is_refused() {
        let mut one = start(params());
        let step = |learner: &mut JointLinUcb<Seeded>, count: u64| {
            for _ in 0..count {
                let decision = learner.decide(&arms()).unwrap();
                let reward = [0.9, -0.2, 0.1][decision.arm];
                learner.observe(decision.ticket, reward).unwrap();
            }
        };
        step(&mut one, 150);
        let _waiting = one.decide(&arms()).unwrap();
        let saved = one.save();
        let mut two = JointLinUcb::<Seeded>::resume(&saved, one.releases()).unwrap();
        step(&mut one, 500);
        step(&mut two, 500);
        assert_eq!(one.save(), two.save());
        assert!(matches!(
            JointLinUcb::<Seeded>::resume(&saved, one.releases()),
            Err(Error::StaleState { .. })
        ));
        let charged = JointLinUcb::<Seeded>::resume_charged(&saved, one.releases(), 0).unwrap();
        let (paid, before) = (charged.guarantee().unwrap(), one.guarantee().unwrap());
        assert!(paid.epsilon() > 1.3 * before.epsilon());
    }

    #[test]
    fn nobody_needs_to_know_the_horizon_and_people_may_return() {
        let unknown = JointParams::new(Problem::unit(2), 1.0, 1e-6, None);
        let guarantee = unknown.check().unwrap().guarantee().unwrap();
        assert!((guarantee.epsilon() - 1.0).abs() < 1e-9, "{guarantee}");
        let mut learner = start(unknown);
        for _ in 0..5000 {
            let decision = learner.decide(&arms()).unwrap();
            learner.observe(decision.ticket, 0.1).unwrap();
        }
        assert!(learner.rounds() == 5000 && learner.releases() > 100);

        // A person with up to k interactions gets the same epsilon from more noise, and one from the same noise more epsilon.
        let deviation = |k| {
            let params = JointParams { contributions_per_person: k, ..params() };
            let plan = params.check().unwrap();
            let guarantee = plan.guarantee().unwrap();
            assert!((guarantee.epsilon() - 1.0).abs() < 1e-9, "{guarantee}");
            plan.sums().check().unwrap().start(Seeded(1)).deviations(1).unwrap()[0]
        };
        let (one, four) = (deviation(1), deviation(4));
        assert!(four > 1.9 * one && four < 4.1 * one, "{one} {four}");
    }

    /// Whether the rounds of releases tell two streams of rewards apart.
    fn schedule_tells(rounds: impl Fn(&[f64]) -> Vec<usize>) -> bool {
        rounds(&[0.0; 500]) != rounds(&[1.0; 500])
    }

    #[test]
    fn neither_the_schedule_nor_the_policy_looks_at_unreleased_data() {
        let ours = |rewards: &[f64]| {
            let mut learner = start(params());
            let mut releases = Vec::new();
            for (round, reward) in rewards.iter().enumerate() {
                let decision = learner.decide(&arms()).unwrap();
                let before = learner.policy().clone();
                if learner.observe(decision.ticket, *reward).unwrap().released {
                    releases.push(round);
                } else {
                    assert_eq!(*learner.policy(), before, "learnt without a release");
                }
            }
            assert!(releases.len() > 10);
            releases
        };
        assert!(!schedule_tells(ours));
        // Planted: a release whenever fifty more has been collected.
        let eager = |rewards: &[f64]| {
            let mut pending = 0.0;
            let mut due = |reward: f64| {
                pending += reward;
                pending >= 50.0 && std::mem::take(&mut pending) > 0.0
            };
            (0..rewards.len()).filter(|&round| due(rewards[round])).collect()
        };
        assert!(schedule_tells(eager));
    }

    #[test]
    fn decision_sets_may_change_in_size() {
        let mut learner = start(params());
        for round in 0..200 {
            let count = 1 + round % 40;
            let rows: Vec<[f64; 2]> = (0..count)
                .map(|i| f64::from(i).sin_cos())
                .map(|(s, c)| [0.9 * s, 0.9 * c])
                .collect();
            let decision = learner.decide(&Arms::from_rows(2, &rows).unwrap()).unwrap();
            assert!(decision.arm < count as usize);
            learner.observe(decision.ticket, 0.0).unwrap();
        }
        assert_eq!(learner.rounds(), 200);
    }

    #[test]
    fn it_learns_and_without_feedback_it_does_not() {
        // Two arms 1 apart in mean; playing at random errs half the time. The noise at epsilon = 8 is far smaller.
        let run = |informative: bool| {
            let params = JointParams::new(Problem::unit(2), 8.0, 1e-6, Some(20_000));
            let mut learner = start(params);
            let arms = Arms::from_rows(2, &[[1.0, 0.0], [0.0, 1.0]]).unwrap();
            let mut errors = 0;
            for _ in 0..20_000 {
                let decision = learner.decide(&arms).unwrap();
                errors += u32::from(decision.arm == 1);
                let reward = if informative && decision.arm == 0 { 1.0 } else { 0.0 };
                learner.observe(decision.ticket, reward).unwrap();
            }
            errors
        };
        let informed = run(true);
        assert!(informed < 3000, "{informed}");
        assert!(run(false) > 5000);
    }
}
