//! The learner with a trusted curator: private sums x rule x bounds.
//!
//! ```text
//! choose:  arms -> clip -> policy -> arm                      a pure function, for many threads
//! observe: (features, reward) -> clip -> running sums -> [release -> rule -> policy]
//! ```
//!
//! This is what experiments play and what is deployed; [`JointLinUcb`](super::JointLinUcb) puts tickets beside it, for rewards that come
//! later than their decisions.
//!
//! **Centring.** Where all arms share a constant feature ([`Bounds::intercept`](crate::randomize::Bounds)) the centre of the rewards is
//! taken off before they are summed: half the range, half the noise. Clipping comes after it, so privacy does not depend on it.
//!
//! **Restarts.** A curator that forgets begins a new stream of releases with new noise after a fixed number of contributions. Every
//! contribution goes into exactly one stream. Replace one interaction: streams before the one it goes into have the same law; that one is
//! differentially private with its curve, whatever was released before (its noise is fresh, so earlier releases are constants to it);
//! what comes after is a function of releases and of other people's data. So the guarantee of one interaction is that of one stream,
//! however many there are (parallel composition, adaptively). A person who takes part more than once may be in several streams, whose
//! events compose: restarts are for one contribution a person. What a warm start brought is forgotten with the first stream, but people
//! who took part in the earlier learner and in this one did so for ever: certificates go on naming it.
//!
//! **Half-lives.** A curator with `forget` has one stream without an end, of sums that forget (`release/forgetting.rs`). What a warm start
//! brought was released before: it is added with the weight that a contribution of the same age has, which is post-processing.
//!
//! **Changes.** With `detect_changes` a test on releases (`change`) decides when to drop what came before.
//!
//! **Reports.** With `mechanism = "reports"` every contribution is randomised when it is absorbed (`reports`), and the sums have no other noise.
//!
//! **Two phases.** A curator that [holds releases](Curator::hold_releases) makes a release without using it until [`Curator::commit`].

mod saved;

use super::{
    JointParams, JointPlan, Legacy,
    change::{Changes, Stream},
    legacy::Earlier,
    reports::Reports,
};
use crate::{
    Error, Result,
    bandit::{Arms, Choice, Policy},
    hash::mix,
    noise::Noise,
    privacy::{Event, Guarantee, TrustModel, Unit},
    release::{Contribution, ContributionSums, PrivateSum, PrivateSumPlan, Release},
};
pub(super) use saved::State;

/// A linear bandit's learner under joint differential privacy.
///
/// ```
/// use reticent::{bandit::{Arms, JointParams}, noise::SecureNoise, randomize::Bounds};
///
/// let params = JointParams::new(Bounds::unit(2), 1.0, 1e-6, Some(100_000));
/// let mut curator = params.check()?.curator(SecureNoise::from_system()?);
/// let arms = Arms::from_rows(2, &[[1.0, 0.0], [0.0, 1.0]])?;
/// let choice = curator.choose(&arms, 0)?;
/// let released = curator.observe(&arms.arm(choice.arm), 0.7)?;
/// assert!(!released);
/// # Ok::<(), reticent::Error>(())
/// ```
pub struct Curator<N> {
    pub(super) sum: PrivateSum<N>,
    pub(super) state: State,
    /// Randomises contributions one by one, where that is the mechanism.
    reports: Option<Reports>,
    /// The sum before anything was absorbed, for restarts.
    fresh: Option<PrivateSumPlan>,
    holds_releases: bool,
    /// A release that has been made and is not used yet.
    held: Option<(Policy, Release, Changes)>,
    /// Random numbers that are published, for the `thompson` rule: see [`Curator::randomness`].
    public: Option<N>,
}

/// Prints no sums: a log line must not undo the noise.
impl<N> std::fmt::Debug for Curator<N> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Curator")
            .field("params", &self.state.params)
            .field("sum", &self.sum)
            .finish_non_exhaustive()
    }
}

impl<N: Noise> Curator<N> {
    pub(super) fn new(plan: JointPlan, noise: N) -> Self {
        let JointPlan { params, plan, rule, reports, .. } = plan;
        let fresh = params.restart_every.map(|_| plan.clone());
        let policy = rule.cold_policy();
        let state = State::new(params, rule, policy);
        let mut curator = Curator::of(plan.start(noise), state, reports, fresh, None);
        curator.state.policy = curator.reseeded(curator.state.policy.clone());
        curator
    }

    fn of(
        sum: PrivateSum<N>,
        state: State,
        reports: Option<Reports>,
        fresh: Option<PrivateSumPlan>,
        public: Option<N>,
    ) -> Self {
        Curator { sum, state, reports, fresh, holds_releases: false, held: None, public }
    }

    /// Begins with what an earlier learner has released.
    pub(super) fn started_from(mut self, legacy: Legacy) -> Result<Self> {
        let legacy = legacy.merged_as(self.sum.clipper().domain());
        legacy.check(&self.state.params)?;
        // The policy that it begins with may fail too, so that alpha has one more share.
        self.state.rule = self.state.rule.with_one_more_release();
        let policy = self.policy_of(&legacy.release().numbered(1));
        self.state.policy = self.reseeded(policy);
        (self.state.legacy, self.state.uses_legacy) = (Some(legacy), true);
        Ok(self)
    }

    /// The arm that the policy plays, arms above the feature bound scaled to it; `randomness` is public: see [`Policy::choose`].
    pub fn choose(&self, arms: &Arms, randomness: u64) -> Result<Choice> {
        self.state.policy.choose_within(arms, self.state.params.bounds.feature_bound, randomness)
    }

    /// The probability of each arm: see [`Policy::probabilities`].
    pub fn probabilities(&self, arms: &Arms) -> Result<Vec<f64>> {
        self.state.policy.probabilities_within(arms, self.state.params.bounds.feature_bound)
    }

    /// Randomness for [`Curator::choose`] in the decision of this number, to be stored with it: a new random word where there is an ensemble, and
    /// the number itself where it only breaks ties.
    ///
    /// It is drawn anew for each decision, so that a caller who chooses when to ask cannot choose the member, and never by the generator of the
    /// noise that protects people: decisions reveal something of it.
    pub fn randomness(&mut self, number: u64) -> Result<u64> {
        match self.state.policy.ensemble() {
            Some(_) => self.public_bits(),
            None => Ok(number),
        }
    }

    /// Random bits that are published, on noise that protects people under a new key of the system.
    fn public_bits(&mut self) -> Result<u64> {
        let public = match &mut self.public {
            Some(public) => public,
            none => none.insert(self.sum.split_noise()?),
        };
        public.rekey()?;
        Ok(public.bits())
    }

    /// The policy with a new seed for its ensemble, where it has one. A seed is public and needs no secret, so that nothing fails where the
    /// system has no randomness: it then follows from the number of releases.
    fn reseeded(&mut self, mut policy: Policy) -> Policy {
        if policy.ensemble().is_some() {
            let number = self.sum.releases();
            policy.reseed(self.public_bits().unwrap_or_else(|_| mix(number, 0)));
        }
        policy
    }

    pub(super) fn absorb(&mut self, contribution: &Contribution) -> Result<bool> {
        self.nothing_held()?;
        self.sum.expect(contribution.clipper())?;
        self.begin_stream();
        let release = match &self.reports {
            None => self.sum.absorb(contribution)?,
            Some(reports) => {
                let report = reports.randomize(contribution, self.sum.source())?;
                self.sum.absorb_randomized(&report)?
            }
        };
        Ok(self.learn(release))
    }

    /// Takes many contributions at once, at most up to the next release ([`Curator::until_release`]), and takes them out of `sums`. With
    /// restarts they come one by one. An error changes nothing.
    pub fn absorb_sums(&mut self, sums: &mut ContributionSums) -> Result<bool> {
        self.one_stream()?;
        let release = self.sum.absorb_sums(sums)?;
        Ok(self.learn(release))
    }

    /// Takes what a simulation says that many people contribute: see [`PrivateSum::absorb_simulated`]. On noise that protects people this
    /// does not compile.
    pub fn absorb_simulated(&mut self, sums: &[f64], count: u64) -> Result<bool> {
        self.one_stream()?;
        let release = self.sum.absorb_simulated(sums, count)?;
        Ok(self.learn(release))
    }

    /// A tick of the caller's clock, for `Schedule::Clock`: releases the sums of these contributions and of those absorbed since the last
    /// tick, and takes them out of `sums`. An error changes nothing. See [`PrivateSum::tick`].
    ///
    /// A service steps a copy: it resumes one from the bytes that it stored last, ticks, stores the new bytes, and only then answers by the
    /// new policy.
    ///
    /// ```
    /// use reticent::{bandit::JointParams, noise::SecureNoise, randomize::Bounds, release::Schedule};
    ///
    /// let params = JointParams::new(Bounds::unit(2), 1.0, 1e-6, Some(1000));
    /// let params = JointParams { schedule: Schedule::Clock, ..params };
    /// let mut curator = params.check()?.curator(SecureNoise::from_system()?);
    /// let mut since = curator.no_sums();
    /// since.add(&curator.contribution(&[0.6, 0.8], 0.7)?)?;
    /// curator.tick(&mut since)?;
    /// assert_eq!((curator.releases(), since.count()), (1, 0));
    /// # Ok::<(), reticent::Error>(())
    /// ```
    pub fn tick(&mut self, sums: &mut ContributionSums) -> Result<()> {
        self.nothing_held()?;
        let release = self.sum.tick(sums)?;
        self.learn(Some(release));
        Ok(())
    }

    fn one_stream(&self) -> Result<()> {
        self.nothing_held()?;
        match self.state.params.restart_every {
            None => Ok(()),
            Some(every) => {
                let remedy = "a block might end in another stream: give contributions one by one";
                Err(Error::invalid("restart_every", every, remedy))
            }
        }
    }

    /// Without restarts, how many contributions there are up to the next release, that of the last one included; `None` if no
    /// number of them brings one.
    pub fn until_release(&self) -> Option<u64> {
        self.sum.until_release()
    }

    /// Returns whether two learners hold the same people's data to the last unit: see [`PrivateSum::has_exact_sums_of`].
    pub fn has_exact_sums_of(&self, other: &Self) -> Option<bool> {
        self.sum.has_exact_sums_of(&other.sum)
    }

    /// No contributions yet, to be filled and given to [`Curator::absorb_sums`].
    pub fn no_sums(&self) -> ContributionSums {
        ContributionSums::new(self.sum.clipper().clone())
    }

    /// With restarts, forgets everything when the stream is over.
    fn begin_stream(&mut self) {
        if let Some(plan) = &self.fresh
            && self.sum.is_over()
        {
            self.sum.restart(plan.clone());
            self.state.policy = self.reseeded(self.state.rule.cold_policy());
            (self.state.release, self.state.uses_legacy) = (None, false);
        }
    }

    /// A release that has been made becomes a policy: nothing here fails.
    fn learn(&mut self, release: Option<Release>) -> bool {
        let Some(release) = release else { return false };
        let mut changes = self.state.changes.clone();
        let policy = match self.present(&mut changes, &release) {
            Some(present) => {
                let policy = self.policy_of(&present);
                if self.state.params.detect_changes {
                    changes.mark(&release, &policy, &present);
                }
                policy
            }
            None => self.state.rule.cold_policy(),
        };
        self.held = Some((self.reseeded(policy), release, changes));
        if !self.holds_releases {
            self.commit();
        }
        true
    }

    /// The policy that these sums support, or the cold one, which is counted.
    fn policy_of(&mut self, sums: &Release) -> Policy {
        let (policy, cold) = self.state.rule.policy_or_cold(sums);
        self.state.cold_releases += u64::from(cold);
        policy
    }

    /// The sums that a policy is made from: those since the last change, with what is left of a warm start; `None` at a change.
    fn present(&self, changes: &mut Changes, release: &Release) -> Option<Release> {
        let found = self.state.params.detect_changes
            && self.with_stream(|stream| changes.finds(release, stream)).unwrap_or(false);
        if found {
            return None;
        }
        let present = self.since_change(changes, release)?;
        Some(match self.remembered(release.index()) {
            Some(legacy) => present.plus(legacy.release(), release.index() + 1),
            None => present,
        })
    }

    /// The sums since the last change, if anything has been released since.
    fn since_change(&self, changes: &Changes, release: &Release) -> Option<Release> {
        if !changes.is_cut() {
            return Some(release.clone());
        }
        self.with_stream(|stream| changes.present(release, stream)).flatten()
    }

    /// Public facts about the stream, where sums forget.
    pub(super) fn with_stream<T>(&self, use_it: impl FnOnce(&Stream<'_>) -> T) -> Option<T> {
        // The parameters have been checked.
        let half_life = self.state.params.half_life().ok().flatten()?;
        let reward_bound = self.state.params.bounds.half_range();
        let deviations = |index| self.sum.deviations(index);
        Some(use_it(&Stream { half_life, reward_bound, deviations: &deviations }))
    }

    /// Weight at release number `index` of the sums that the present stream began with.
    fn remembered(&self, index: u64) -> Option<Legacy> {
        let State { params, legacy, uses_legacy, changes, .. } = &self.state;
        let legacy = legacy.as_ref().filter(|_| *uses_legacy && !changes.is_cut())?;
        Some(match params.half_life() {
            Ok(Some(half_life)) => legacy.weighted(half_life.kept_after(index)),
            // The parameters have been checked: there is no other.
            _ => legacy.clone(),
        })
    }

    /// From here on a release that has been made is used only after [`Curator::commit`]; until then nothing is absorbed.
    pub fn hold_releases(&mut self) {
        self.holds_releases = true;
    }

    /// Returns whether a release has been made that is not used yet: store [`Curator::save`] and the number of releases, then commit.
    pub fn holds_release(&self) -> bool {
        self.held.is_some()
    }

    /// Uses the release that is held, if there is one.
    pub fn commit(&mut self) {
        if let Some((policy, release, changes)) = self.held.take() {
            let state = &mut self.state;
            (state.policy, state.release, state.changes) = (policy, Some(release), changes);
        }
    }

    pub(super) fn nothing_held(&self) -> Result<()> {
        if self.held.is_none() {
            return Ok(());
        }
        let remedy = "store the state and the number of releases, then call `commit`";
        Err(Error::invalid("release that is not committed", self.sum.releases(), remedy))
    }

    /// Parameters of the learner.
    pub fn params(&self) -> &JointParams {
        &self.state.params
    }

    /// Policy of the learner; everything in it has been released.
    pub fn policy(&self) -> &Policy {
        &self.state.policy
    }

    /// Contributions to the present stream; by the clock, its ticks.
    pub fn rounds(&self) -> u64 {
        self.sum.rounds()
    }

    /// Releases made so far, one that is held included: what [`Curator::resume`] asks for.
    pub fn releases(&self) -> u64 {
        self.sum.releases()
    }

    /// Returns whether nothing can be absorbed any more.
    pub fn is_over(&self) -> bool {
        self.fresh.is_none() && self.sum.is_over()
    }

    /// Returns whether the last release has been made: the model stays as it is, and decisions go on by it.
    pub fn is_frozen(&self) -> bool {
        self.fresh.is_none() && self.sum.is_exhausted()
    }

    /// From here on this learner is a copy beside another, and is charged for it: see [`PrivateSum::branch`].
    pub fn branch(&mut self) -> Result<()> {
        self.sum.branch()
    }

    /// Number of replays and copies that are charged for.
    pub fn replays(&self) -> u64 {
        self.sum.replays()
    }

    /// Number of times newer releases contradicted what had been learnt: see [`JointParams::detect_changes`].
    pub fn changes(&self) -> u64 {
        self.state.changes.found()
    }

    /// Number of releases that could not be turned into a policy, so that the learner followed the one that knows nothing: their numbers were lost in
    /// rounding, or their noise was far beyond what a certified rule allows for. It follows from releases alone.
    pub fn cold_releases(&self) -> u64 {
        self.state.cold_releases
    }

    /// The last release of the present stream.
    pub fn release(&self) -> Option<&Release> {
        self.state.release.as_ref()
    }

    /// Knowledge that a later learner may begin with, that of earlier learners included; an error before the first release.
    pub fn legacy(&self) -> Result<Legacy> {
        let State { params, release: last, changes, .. } = &self.state;
        let present = last.as_ref().and_then(|release| self.since_change(changes, release));
        let (Some(release), Some(last)) = (&present, last) else {
            let remedy = "there is nothing to begin with before the first one, and the first one after a change";
            return Err(Error::invalid("releases", 0, remedy));
        };
        params.check_legacy()?;
        let own = params.stated(self.sum.guarantee(params.delta)?)?;
        let (promise, replays) = (*self.sum.promise(), self.sum.replays());
        let learner = Earlier::new::<N>(last, promise, replays, &own, params);
        let before = self.remembered(release.index());
        Ok(Legacy::new(release, learner, params.bounds, before.as_ref(), self.learners_before()))
    }

    /// Event of all releases of the present stream about one person, replays included.
    pub fn event(&self) -> Event {
        self.sum.event()
    }

    /// After a warm start from what was released about people, what each of the learners before this one has revealed about a person who took part in
    /// it; the earliest first.
    pub fn earlier_events(&self) -> Vec<Event> {
        self.state.legacy.as_ref().map_or_else(Vec::new, Legacy::events)
    }

    /// Returns whether the learners before this one are `earlier` and those before that: a count of what `earlier` has revealed, with what it began with,
    /// then covers them all. It must promise what the last of them promised, with at least as many replays charged.
    pub fn began_with(&self, earlier: &Self) -> bool {
        let Some((last, before)) = self.learners_before().split_last() else { return false };
        before == earlier.learners_before()
            && last.is_covered_by(earlier.sum.promise(), earlier.sum.replays())
    }

    fn learners_before(&self) -> &[Earlier] {
        self.state.legacy.as_ref().map_or(&[], Legacy::learners)
    }

    /// Guarantee of the whole run.
    pub fn guarantee(&self) -> Result<Guarantee> {
        let State { params, legacy, .. } = &self.state;
        let guarantee = params.stated(self.sum.guarantee(params.delta)?)?;
        match legacy {
            None => Ok(guarantee),
            Some(legacy) => Ok(guarantee.with_condition(legacy.condition(params.delta)?)),
        }
    }

    /// After a warm start, what may be promised to a person who took part in this learner and in the one it began with.
    pub fn guarantee_of_both(&self) -> Result<Option<Guarantee>> {
        let State { params, legacy: Some(legacy), .. } = &self.state else { return Ok(None) };
        if legacy.is_public() {
            return Ok(None);
        }
        let events = vec![legacy.event(), self.sum.event()];
        let both = Guarantee::of(&Event::Composed { events }, TrustModel::Joint, params.delta)?
            .with_unit(Unit::Person { at_most: params.contributions_per_person });
        let own = params.stated(self.sum.guarantee(params.delta)?)?;
        let conditions = own.conditions().iter().cloned().chain(legacy.conditions());
        let both = conditions.fold(both, Guarantee::with_condition);
        let secure = N::PROTECTS_PEOPLE && legacy.is_secure();
        Ok(Some(if secure { both } else { both.simulated() }))
    }
}
