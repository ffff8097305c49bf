//! Saved state of a central learner, and its restoration.

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{
    super::{JointParams, Legacy, change::Changes},
    Curator,
};
use crate::{
    Error, Result,
    bandit::{Policy, RulePlan},
    noise::Noise,
    randomize::Bounds,
    refuse_if,
    release::{PrivateSum, Release},
    wire,
};

/// All but the running sum.
#[derive(Clone, Serialize, Deserialize)]
pub(in crate::bandit::joint) struct State {
    pub(in crate::bandit::joint) params: JointParams,
    pub(in crate::bandit::joint) rule: RulePlan,
    pub(in crate::bandit::joint) policy: Policy,
    /// The last release of the present stream.
    pub(in crate::bandit::joint) release: Option<Release>,
    /// Knowledge that the learner began with: its people stay in the certificates for ever.
    pub(in crate::bandit::joint) legacy: Option<Legacy>,
    /// True if the present stream began with it too.
    pub(in crate::bandit::joint) uses_legacy: bool,
    pub(in crate::bandit::joint) changes: Changes,
    /// Number of releases that became the cold policy.
    pub(in crate::bandit::joint) cold_releases: u64,
}

impl State {
    /// Nothing has been released.
    pub(super) fn new(params: JointParams, rule: RulePlan, policy: Policy) -> Self {
        State {
            params,
            rule,
            policy,
            release: None,
            legacy: None,
            uses_legacy: false,
            changes: Changes::default(),
            cold_releases: 0,
        }
    }
}

/// The running sum, the rest, and the generator of published random numbers, of which noise that protects people saves no key.
type Saved<N> = (Vec<u8>, State, Option<N>);

impl<N: Noise + Serialize + DeserializeOwned> Curator<N> {
    /// The state, people's data included: protect these bytes as the data itself. No key of the noise is in it. A release that is held is in it, and
    /// is in use in whatever learner is resumed from it.
    pub fn save(&self) -> Vec<u8> {
        let Some((policy, release, changes)) = self.held.clone() else {
            return wire::save(wire::kinds::CURATOR, &(self.sum.save(), &self.state, &self.public));
        };
        let release = Some(release);
        let state = State { policy, release, changes, ..self.state.clone() };
        wire::save(wire::kinds::CURATOR, &(self.sum.save(), state, &self.public))
    }

    /// Continues from saved bytes, if no release has left since the bytes were saved: see [`PrivateSum::resume`].
    pub fn resume(bytes: &[u8], releases_made: u64) -> Result<Self> {
        let (sum, state, public): Saved<N> = wire::load(wire::kinds::CURATOR, bytes)?;
        Curator::checked(PrivateSum::resume(&sum, releases_made)?, state, public)
    }

    /// Continues from an older state and pays for the replay: see [`PrivateSum::resume_charged`].
    pub fn resume_charged(bytes: &[u8], releases_made: u64, charged_before: u64) -> Result<Self> {
        let (sum, state, public): Saved<N> = wire::load(wire::kinds::CURATOR, bytes)?;
        let sum = PrivateSum::resume_charged(&sum, releases_made, charged_before)?;
        Curator::checked(sum, state, public)
    }

    /// Returns whether the parts of a state that was read fit each other, which a checksum cannot tell.
    fn checked(sum: PrivateSum<N>, state: State, public: Option<N>) -> Result<Self> {
        let State { params, rule, policy, release, legacy, uses_legacy, changes, cold_releases } =
            &state;
        params.check_parts()?;
        let Bounds { dimension, structure, .. } = params.bounds;
        rule.check(dimension, structure)?;
        policy.check_parts(dimension, structure)?;
        if let Some(release) = release {
            release.check()?;
        }
        if let Some(legacy) = legacy {
            legacy.check(params)?;
        }
        changes.check(release.as_ref())?;
        // A warm start makes a policy too.
        let made = sum.releases().saturating_add(1);
        let remedy = "there were fewer releases: restore another copy";
        refuse_if(*cold_releases > made, "saved cold releases", *cold_releases, remedy)?;
        let planned = (params.randomizes() || params.restart_every.is_some())
            .then(|| params.check())
            .transpose()?;
        // A randomiser is made from the parameters: if this version would choose another one, its price is not the one that was promised.
        let priced = planned
            .as_ref()
            .filter(|_| params.randomizes())
            .is_none_or(|plan| plan.plan.event() == sum.promise().after(0));
        let (reports, plan) = planned.map(|plan| (plan.reports, plan.plan)).unzip();
        let reports = reports.flatten();
        let fresh = plan.filter(|_| params.restart_every.is_some());
        let domain = sum.clipper().domain();
        let fits = release.as_ref().is_none_or(|release| release.domain() == domain)
            && params.domain() == *domain
            && sum.is_randomized() == reports.is_some()
            && priced
            && fresh.as_ref().is_none_or(|plan| plan.clipper() == sum.clipper())
            && (!uses_legacy || legacy.is_some());
        if fits {
            return Ok(Curator::of(sum, state, reports, fresh, public));
        }
        let remedy = "its parts belong to different learners; restore another copy";
        Err(Error::invalid("saved sums", domain, remedy))
    }
}
