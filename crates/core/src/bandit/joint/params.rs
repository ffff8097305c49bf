//! Parameters of a joint bandit, and the check that turns them into a plan.

use serde::{Deserialize, Serialize};

use super::{Curator, JointLinUcb, RewardWindow, legacy::Legacy, reports::Reports};
use crate::{
    Error, Result,
    bandit::{Rule, RulePlan},
    error::{finite_vector, requested_epsilon},
    noise::Noise,
    privacy::{Claim, Guarantee, check_delta},
    randomize::Bounds,
    refuse_if,
    release::{
        Calibration, Domain, HalfLife, Mechanism, PrivateSumParams, PrivateSumPlan, Schedule,
    },
};

/// Conditions on rewards that a central learner cannot enforce by clipping.
const FINITE: &str = "features and rewards are finite numbers and name existing blocks of parameters, if there are several; these are never refused, and others are an error, which shows";

/// Parameters of a [`JointLinUcb`]. Everything but the bounds, the budget and the horizon has a default that is right.
///
/// ```
/// use reticent::{bandit::{Arms, JointParams}, noise::SecureNoise, randomize::Bounds};
///
/// let params = JointParams::new(Bounds::unit(2), 1.0, 1e-6, Some(100_000));
/// let mut learner = params.check()?.start(SecureNoise::from_system()?);
/// println!("{}", learner.guarantee()?);
///
/// let arms = Arms::from_rows(2, &[[1.0, 0.0], [0.0, 1.0]])?;
/// let decision = learner.decide(&arms)?;
/// learner.observe(decision.ticket, 0.7)?;
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JointParams {
    /// Bounds that features and rewards are clipped to.
    pub bounds: Bounds,
    /// Requested epsilon.
    pub epsilon: f64,
    /// Requested delta.
    pub delta: f64,
    /// Rewards the learner will see at most, by the clock its ticks, or `None` if it is unknown. A learner that forgets needs none: it learns for
    /// 2^32 releases.
    pub horizon: Option<u64>,
    /// Number of times one person takes part at most.
    pub contributions_per_person: u64,
    /// Rule by which releases become policies.
    #[serde(default)]
    pub rule: Rule,
    /// Correlation of the noise over time, or [`Mechanism::Reports`]; by default the one that suits budget, bounds and horizon (`joint/reports.rs`).
    pub mechanism: Option<Mechanism>,
    /// Schedule on which sums are released and the policy learns.
    pub schedule: Schedule,
    /// Forget everything after a fixed number of contributions, at no cost in privacy: for rewards whose law changes. There is no end then; a
    /// horizon is only what the failure probability of a certified rule is shared over.
    pub restart_every: Option<u64>,
    /// Half-life in contributions, by the clock in ticks: what was learnt counts half after this number. For rewards whose law changes, and for
    /// learners without an end; the schedule has constant gaps then ([`JointParams::forgetting`]). What a warm start brought is forgotten at
    /// the same rate.
    pub forget: Option<f64>,
    /// With `forget`, whether to drop all that was learnt when newer releases contradict it: a test on releases, which costs no privacy
    /// (`joint/change.rs`). With it a half-life may be long.
    #[serde(default)]
    pub detect_changes: bool,
    /// Split of the budget between `x x^T` and `x y`, as [`Domain::Regression`] has it; by default the one that serves bandits well.
    pub split: Option<f64>,
    /// Noise of this size in place of what the budget needs; the guarantee is that of the noise.
    pub calibration: Option<Calibration>,
    /// Claim that the guarantee is compared with: `paper` mode.
    pub claim: Option<Claim>,
    /// Time at which a decision closes by itself, with its reward or the default one; `None` learns rewards as they come.
    pub window: Option<RewardWindow>,
    /// Reward of a decision whose reward has not come when it closes or expires; by default the reward nearest to 0.
    #[serde(default)]
    pub default_reward: f64,
}

impl JointParams {
    /// The defaults: one contribution a person, the mechanism that suits the budget, capped geometric releases, exact calibration.
    pub fn new(bounds: Bounds, epsilon: f64, delta: f64, horizon: Option<u64>) -> Self {
        JointParams {
            bounds,
            epsilon,
            delta,
            horizon,
            contributions_per_person: 1,
            rule: Rule::default(),
            mechanism: None,
            schedule: Schedule::suited(epsilon),
            restart_every: None,
            forget: None,
            detect_changes: false,
            split: None,
            calibration: None,
            claim: None,
            window: None,
            default_reward: 0.0_f64.max(bounds.rewards.0).min(bounds.rewards.1),
        }
    }

    /// A learner without an end that forgets: a contribution counts half after `half_life` others.
    ///
    /// ```
    /// use reticent::{bandit::JointParams, noise::SecureNoise, randomize::Bounds};
    /// let params = JointParams::forgetting(Bounds::unit(2), 1.0, 1e-6, 5000.0);
    /// let mut curator = params.check()?.curator(SecureNoise::from_system()?);
    /// curator.observe(&[0.6, 0.8], 0.7)?;
    /// # Ok::<(), reticent::Error>(())
    /// ```
    pub fn forgetting(bounds: Bounds, epsilon: f64, delta: f64, half_life: f64) -> Self {
        JointParams {
            forget: Some(half_life),
            schedule: Schedule::for_half_life(half_life),
            ..JointParams::new(bounds, epsilon, delta, None)
        }
    }

    /// Calibrates noise and rule, or says which parameter stands in the way.
    pub fn check(&self) -> Result<JointPlan> {
        self.check_parts()?;
        let lifetime = self.restart_every.or(self.horizon);
        let budget = Calibration::Budget { epsilon: self.epsilon, delta: self.delta };
        let sums = PrivateSumParams {
            mechanism: self.mechanism.unwrap_or_default(),
            schedule: self.schedule,
            forget: self.forget,
            contributions_per_person: self.contributions_per_person,
            ..PrivateSumParams::new(self.domain(), lifetime, self.calibration.unwrap_or(budget))
        };
        let rule = self.rule_plan()?;
        let mechanism = self.suited_mechanism(&sums)?;
        let sums = PrivateSumParams { mechanism, ..sums };
        let params = JointParams { mechanism: Some(mechanism), ..self.clone() };
        let reports = params.randomizes().then(|| Reports::new(&params)).transpose()?;
        let plan = match &reports {
            None => sums.check()?,
            Some(reports) => reports.sums(&sums)?,
        };
        Ok(JointPlan { params, sums, plan, rule, reports })
    }

    /// The rule for the sums of these parameters.
    pub(super) fn rule_plan(&self) -> Result<RulePlan> {
        let lifetime = self.restart_every.or(self.horizon);
        let releases = lifetime.map(|rounds| self.schedule.releases(rounds).max(1));
        // The failure probability is for all streams of the horizon together, or for each if it is unknown how many there are.
        let streams = match (self.restart_every, self.horizon) {
            (Some(every), Some(horizon)) => horizon.div_ceil(every),
            _ => 1,
        };
        let horizon = self.horizon.or(self.restart_every);
        let rule = self.rule.plan(self.domain(), horizon, releases)?.shared_by(streams);
        Ok(if self.forget.is_some() { rule.weighted() } else { rule })
    }

    /// Refuses what stands in the way of a learner without calibrating one.
    pub(super) fn check_parts(&self) -> Result<()> {
        self.bounds.check()?;
        self.rule.check()?;
        self.rule.check_levels(self.bounds.dimension, self.bounds.structure)?;
        requested_epsilon(self.epsilon)?;
        check_delta(self.delta, self.calibration.is_some(), self.claim.as_ref())?;
        let wishart = matches!(self.calibration, Some(Calibration::Wishart { .. }));
        if wishart && matches!(self.rule, Rule::Certified { .. }) {
            let remedy = "its set is proved for Gaussian noise; expected regularized, tuned or fixed with Wishart noise";
            return Err(Error::invalid("rule", "certified", remedy));
        }
        self.check_reports()?;
        self.check_window()?;
        self.check_restarts()?;
        self.check_changes()?;
        self.half_life().map(drop)
    }

    fn check_reports(&self) -> Result<()> {
        if !self.randomizes() {
            return Ok(());
        }
        let proved = matches!(self.rule, Rule::Certified { .. } | Rule::Regularized { .. });
        let remedy = "its set is proved for Gaussian noise of a stream: with reports, give tuned, thompson or fixed";
        refuse_if(proved, "rule", &self.rule, remedy)?;
        let unmeasured = matches!(self.rule, Rule::TwoLevel { .. });
        let remedy = "it is for the noise of a stream: with reports, give tuned or thompson; or leave the mechanism out";
        refuse_if(unmeasured, "rule", &self.rule, remedy)?;
        let remedy = "reports are calibrated to the budget by their own randomiser: leave it out, or take blt";
        refuse_if(self.calibration.is_some(), "calibration", "a value", remedy)?;
        refuse_if(self.split.is_some(), "split", self.split.unwrap_or_default(), remedy)
    }

    fn check_changes(&self) -> Result<()> {
        if !self.detect_changes {
            return Ok(());
        }
        let remedy = "changes are looked for in sums that forget: give `forget` too";
        refuse_if(self.forget.is_none(), "detect_changes", true, remedy)?;
        let merged = self.rule.levels().is_some();
        let remedy = "changes are looked for in dense sums, and this rule has merged ones: leave `detect_changes` out, or give thompson";
        refuse_if(merged, "detect_changes", true, remedy)?;
        let remedy = "changes are looked for block by block: give `shared = 0`, or leave `detect_changes` out";
        refuse_if(self.bounds.structure.shared > 0, "detect_changes", true, remedy)?;
        let remedy = "its set is proved for releases that are not selected: with `detect_changes`, give tuned or fixed";
        refuse_if(self.rule.is_certified(), "rule", &self.rule, remedy)
    }

    /// The half-life on this schedule, if there is one.
    pub(super) fn half_life(&self) -> Result<Option<HalfLife>> {
        let Some(forget) = self.forget else { return Ok(None) };
        if self.restart_every.is_some() {
            let remedy = "a learner forgets by half-lives or by restarts: leave one of `forget` and `restart_every` out";
            return Err(Error::invalid("forget", forget, remedy));
        }
        if let Rule::Regularized { .. } = self.rule {
            let remedy =
                "its set is proved for sums that do not forget: with `forget`, give another rule";
            return Err(Error::invalid("rule", "regularized", remedy));
        }
        HalfLife::new(forget, &self.schedule).map(Some)
    }

    fn check_window(&self) -> Result<()> {
        let remedy = "expected a whole number of later decisions above 0";
        refuse_if(self.window == Some(RewardWindow::Decisions(0)), "window", 0, remedy)?;
        if let (Schedule::Clock, Some(RewardWindow::Decisions(decisions))) =
            (self.schedule, self.window)
        {
            // Neighbours may differ in whether a person came. Without one decision every later one would close one decision later, some of
            // them in another tick, and no sensitivity bounds how many.
            let remedy = "with releases by the clock decisions must close by the clock too: give `clock`, or leave the window out";
            return Err(Error::invalid("window", format!("{decisions} decisions"), remedy));
        }
        finite_vector("default_reward", &[self.default_reward], 1)?;
        let (low, high) = self.bounds.rewards;
        let refused = !(low..=high).contains(&self.default_reward);
        let remedy = format_args!("stay within the rewards, {low} to {high}");
        refuse_if(refused, "default_reward", self.default_reward, remedy)?;
        Ok(())
    }

    fn check_restarts(&self) -> Result<()> {
        let Some(every) = self.restart_every else { return Ok(()) };
        let remedy = "it counts contributions, and a clock counts none: leave it out";
        refuse_if(self.schedule == Schedule::Clock, "restart_every", every, remedy)?;
        let least = self.schedule.first();
        let remedy = format_args!("the first release comes after {least} rewards; expected more");
        refuse_if(every < least, "restart_every", every, remedy)?;
        if self.contributions_per_person > 1 {
            let remedy = "with restart_every a person may be in several streams, whose costs add up: leave one of them out";
            let most = self.contributions_per_person;
            return Err(Error::invalid("contributions_per_person", most, remedy));
        }
        match self.horizon {
            Some(horizon) if every > horizon => {
                let remedy = format!("the horizon of {horizon} comes first: leave one of them out");
                Err(Error::invalid("restart_every", every, remedy))
            }
            _ => Ok(()),
        }
    }

    /// A reward cut to its bounds, less their centre; and whether it was cut.
    pub(super) fn centred(&self, reward: f64) -> (f64, bool) {
        let (low, high) = self.bounds.rewards;
        let cut = reward.clamp(low, high);
        (cut - self.bounds.centre(), cut != reward)
    }

    /// Domain of the sums: merged where the rule knows which of them are equal.
    pub(super) fn domain(&self) -> Domain {
        let Bounds { dimension, feature_bound, structure, .. } = self.bounds;
        let reward_bound = self.bounds.half_range();
        let domain = match self.rule.levels() {
            #[cfg(not(little))]
            Some(levels) => {
                let pattern = crate::release::Merging::new(levels.clone());
                Domain::merged(pattern, feature_bound, reward_bound)
            }
            _ => Domain::regression(dimension, feature_bound, reward_bound).structured(structure),
        };
        match self.split {
            Some(split) => domain.split_as(split),
            None => domain,
        }
    }

    /// Refuses to hand sums over to a later learner that would not know their noise.
    pub(super) fn check_legacy(&self) -> Result<()> {
        if let Some(Calibration::Wishart { .. }) = self.calibration {
            let remedy = "its mean is not 0, so sums of several learners have no known noise: begin anew, or take Gaussian noise";
            return Err(Error::invalid("calibration", "Wishart noise", remedy));
        }
        Ok(())
    }

    /// Refuses to begin with the sums of an earlier learner where the rule would be wrong about their noise. Privacy does not depend on
    /// it.
    pub(super) fn check_warm_start(&self) -> Result<()> {
        self.check_legacy()?;
        if let Rule::Regularized { .. } = self.rule {
            let remedy = "its bounds are on the noise of one run, and a warm start adds that of another: begin anew, or take another rule";
            return Err(Error::invalid("rule", "regularized", remedy));
        }
        Ok(())
    }
}

/// Checked parameters.
#[derive(Debug, Clone)]
pub struct JointPlan {
    pub(in crate::bandit) params: JointParams,
    sums: PrivateSumParams,
    pub(in crate::bandit) plan: PrivateSumPlan,
    pub(super) rule: RulePlan,
    pub(super) reports: Option<Reports>,
}

impl JointPlan {
    /// Starts learning on a source of noise, with tickets for rewards that come later.
    pub fn start<N: Noise>(self, noise: N) -> JointLinUcb<N> {
        JointLinUcb::new(self.curator(noise))
    }

    /// Starts learning on a source of noise, for callers who keep features and rewards together.
    pub fn curator<N: Noise>(self, noise: N) -> Curator<N> {
        Curator::new(self, noise)
    }

    /// Starts with what an earlier learner has released: see [`Legacy`]. Refuses one with other bounds, and a learner whose sums must
    /// not be added to others': Wishart noise, and [`Rule::Regularized`].
    pub fn start_from<N: Noise>(self, legacy: Legacy, noise: N) -> Result<JointLinUcb<N>> {
        Ok(JointLinUcb::new(self.curator_from(legacy, noise)?))
    }

    /// As [`JointPlan::curator`], with what an earlier learner has released.
    pub fn curator_from<N: Noise>(self, legacy: Legacy, noise: N) -> Result<Curator<N>> {
        self.curator(noise).started_from(legacy)
    }

    /// Parameters of the learner, with the mechanism that was chosen.
    pub fn params(&self) -> &JointParams {
        &self.params
    }

    /// The running sum the learner will release; with [`Mechanism::Reports`] its schedule and domain.
    pub fn sums(&self) -> &PrivateSumParams {
        &self.sums
    }

    /// Rule by which releases become policies.
    pub fn rule(&self) -> &RulePlan {
        &self.rule
    }

    /// Guarantee of the whole run.
    pub fn guarantee(&self) -> Result<Guarantee> {
        self.params.stated(self.plan.guarantee(self.params.delta)?)
    }
}

impl JointParams {
    /// Conditions on the timing of releases.
    pub(super) fn timing(&self) -> String {
        match self.window {
            // The lemma of `release/schedule.rs`: a contribution may move to another tick, or not come at all.
            _ if self.schedule == Schedule::Clock => {
                "when decisions are asked for, closed or expired, and when the caller's clock ticks, is public and does not depend on people's data; \
                 which rewards come, and when, need not"
                    .to_string()
            }
            // Release times count rewards: if a click is reported and silence is not, when a release comes tells who clicked.
            None => "which rewards come, and when, is public and does not depend on people's data: a person who did nothing has a reward \
                     too, reported or expired at a time that does not depend on what they did"
                .to_string(),
            Some(_) => format!(
                "when decisions are asked for, and when the caller's clock closes them, is public and does not depend on people's data; which \
                 rewards come, and when, need not: every decision contributes once, in order, with its reward or {}",
                self.default_reward
            ),
        }
    }

    /// The guarantee with what it rests on, beside the claim.
    pub(super) fn stated(&self, guarantee: Guarantee) -> Result<Guarantee> {
        let forgets = self.restart_every.is_some() || self.forget.is_some();
        let guarantee = match self.horizon {
            Some(horizon) if forgets && self.schedule != Schedule::Clock => {
                guarantee.with_people(horizon)
            }
            _ => guarantee,
        };
        let guarantee = guarantee.with_condition(self.timing()).with_condition(FINITE);
        guarantee.beside(self.claim.as_ref())
    }
}
