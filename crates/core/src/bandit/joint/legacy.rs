//! Warm starts: what earlier learners have released, for a later one to begin with.
//!
//! A legacy is the last release, with those that the learner itself began with added: sums with noise in them, and the deviations of that
//! noise. A learner that begins with it adds `G~_1 + G~_2` and `u~_1 + u~_2`. The noises are independent, so variances add, and the
//! confidence set for Gaussian noise holds for the people of all learners; alpha is split over one more release, the first one's.
//!
//! **Guarantee.** People of an earlier learner are protected by its guarantee, because all that comes after is post-processing of its
//! releases; people of the later one by the later one's. Somebody who took part in several has told each, and the events compose:
//! [`Curator::guarantee_of_both`](super::Curator::guarantee_of_both). No noise is drawn again or used twice, so many learners may begin with the same legacy.

use serde::{Deserialize, Serialize};

use super::JointParams;
use crate::{
    Result,
    noise::Noise,
    privacy::{Event, Guarantee, TrustModel},
    randomize::Bounds,
    refuse_if,
    release::{Promise, Release, Schedule},
    wire,
};

/// Learners in one chain of warm starts, at most.
const MOST: usize = 1000;

/// What earlier learners leave behind; everything in it has been released, so it may be published with its guarantees.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Legacy {
    /// The sums of all of them.
    release: Release,
    /// What features and rewards were clipped to.
    bounds: Bounds,
    /// The earliest first.
    learners: Vec<Earlier>,
}

/// An earlier learner.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Earlier {
    /// What it told about one of its people.
    promise: Promise,
    replays: u64,
    /// What its guarantee rests on.
    conditions: Vec<String>,
    /// Contributions it had summed, if it counted them.
    contributions: Option<u64>,
    /// Whether its noise was secure; simulated people are protected by nothing.
    secure: bool,
}

impl Earlier {
    pub(super) fn new<N: Noise>(
        release: &Release,
        promise: Promise,
        replays: u64,
        guarantee: &Guarantee,
        params: &JointParams,
    ) -> Self {
        let most = params.contributions_per_person;
        let often = format!("nobody took part in it more than {most} times");
        Earlier {
            promise,
            replays,
            conditions: guarantee.conditions().iter().cloned().chain([often]).collect(),
            contributions: (params.schedule != Schedule::Clock).then(|| release.round()),
            secure: N::PROTECTS_PEOPLE,
        }
    }

    fn event(&self) -> Event {
        self.promise.after(self.replays)
    }

    /// What its people are promised, in words.
    fn protection(&self, delta: f64) -> Result<String> {
        let guarantee = Guarantee::of(&self.event(), TrustModel::Joint, delta)?;
        let protected = match self.secure {
            true => format!("protected by it, ({}, {delta:e})", guarantee.epsilon_text()),
            false => "simulated, and protected by nothing".to_string(),
        };
        Ok(match self.contributions {
            Some(rewards) => format!("the people of its {rewards} rewards are {protected}"),
            None => format!("its people are {protected}"),
        })
    }
}

impl Legacy {
    /// A learner's last release, after those it began with: the sums `release`, with those of a legacy that is still in use; `earlier` learners are named even where their sums are no longer used:
    /// what they told about their people is still told.
    pub(super) fn new(
        release: &Release,
        learner: Earlier,
        bounds: Bounds,
        before: Option<&Legacy>,
        earlier: &[Earlier],
    ) -> Self {
        let release = match before {
            Some(before) => release.plus(&before.release, release.index()),
            None => release.clone(),
        };
        let mut learners = earlier.to_vec();
        learners.push(learner);
        Legacy { release, bounds, learners }
    }

    /// The learners that it comes from.
    pub(super) fn learners(&self) -> &[Earlier] {
        &self.learners
    }

    /// The same with its sums at this weight.
    pub(super) fn weighted(&self, weight: f64) -> Self {
        Legacy { release: self.release.weighted(weight), ..self.clone() }
    }

    /// What the earlier learners' guarantees rest on, for somebody who took part in all of them.
    pub(super) fn conditions(&self) -> Vec<String> {
        let all = self.learners.iter().flat_map(|learner| &learner.conditions);
        all.map(|condition| format!("in the earlier learner: {condition}")).collect()
    }

    /// Who is protected by what, for a learner that begins with it.
    pub(super) fn condition(&self, delta: f64) -> Result<String> {
        let each: Result<Vec<String>> =
            self.learners.iter().map(|learner| learner.protection(delta)).collect();
        Ok(format!(
            "it began with what an earlier learner released: {}; somebody who took part in several is protected by the composition of all",
            each?.join("; an earlier one: ")
        ))
    }

    /// Whether all noise in it was secure.
    pub(super) fn is_secure(&self) -> bool {
        self.learners.iter().all(|learner| learner.secure)
    }

    /// The sums.
    pub fn release(&self) -> &Release {
        &self.release
    }

    /// What the earlier learners together told about somebody who took part in all of them, replays included.
    pub fn event(&self) -> Event {
        match &self.learners[..] {
            [only] => only.event(),
            all => Event::Composed { events: all.iter().map(Earlier::event).collect() },
        }
    }

    /// As bytes, which hold nothing that was not released.
    pub fn save(&self) -> Vec<u8> {
        wire::save(wire::kinds::JOINT_LEGACY, self)
    }

    /// What [`Legacy::save`] wrote.
    pub fn load(bytes: &[u8]) -> Result<Self> {
        let legacy: Legacy = wire::load(wire::kinds::JOINT_LEGACY, bytes)?;
        legacy.check_parts()?;
        Ok(legacy)
    }

    fn check_parts(&self) -> Result<()> {
        self.release.check()?;
        self.bounds.check()?;
        let refused = !(1..=MOST).contains(&self.learners.len());
        let remedy = format_args!("a chain of warm starts has 1 to {MOST}: begin anew");
        refuse_if(refused, "earlier learners", self.learners.len(), remedy)?;
        self.event().check()
    }

    /// Whether a learner with these parameters may begin with it.
    pub(super) fn check(&self, params: &JointParams) -> Result<()> {
        self.check_parts()?;
        params.check_warm_start()?;
        let (ours, domain) = (params.bounds, params.domain());
        let refused = self.bounds != ours || *self.release.domain() != domain;
        let remedy = format_args!("this learner's are {ours}; {domain}: give both the same");
        refuse_if(refused, "bounds of the legacy", self.bounds, remedy)
    }
}
