//! Warm starts: what an earlier learner has released, for a later one to begin with.
//!
//! A legacy is the last release: sums with noise in them, and the deviations of that noise. A learner that begins with it adds
//! `G~_1 + G~_2` and `u~_1 + u~_2`. The noises are independent, so variances add, and the confidence set for Gaussian noise
//! holds for the people of both learners; alpha is split over one more release, the first one's.
//!
//! **Guarantee.** People of the earlier learner are protected by its guarantee, because all that comes after is post-processing of its
//! releases; people of the later one by the later one's. Somebody who took part in both has told both, and the two events compose:
//! [`JointLinUcb::guarantee_of_both`](super::JointLinUcb::guarantee_of_both). No noise is drawn again or used twice, so many learners may begin with the same legacy.

use serde::{Deserialize, Serialize};

use super::JointParams;
use crate::{
    Error, Result,
    noise::Noise,
    privacy::{Event, Mode},
    release::{Promise, Release},
    saved,
};

const KIND: &str = "legacy of a joint LinUCB";

/// What an earlier learner leaves behind; everything in it has been released, so it may be published with its guarantee.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Legacy {
    release: Release,
    /// What the earlier learner told about one of its people.
    promise: Promise,
    replays: u64,
    /// What the timing of its rewards rests on.
    timing: String,
    contributions_per_person: u64,
    /// Whether its noise was secure; simulated people are protected by nothing.
    secure: bool,
}

impl Legacy {
    pub(super) fn new<N: Noise>(
        release: Release,
        promise: Promise,
        replays: u64,
        params: &JointParams,
    ) -> Self {
        Legacy {
            release,
            promise,
            replays,
            timing: params.timing(),
            contributions_per_person: params.contributions_per_person,
            secure: N::PROTECTS_PEOPLE,
        }
    }

    /// What the earlier learner's guarantee rests on, for who took part in both.
    pub(super) fn conditions(&self) -> [String; 2] {
        let Legacy { timing, contributions_per_person, .. } = self;
        [
            format!("in the earlier learner: {timing}"),
            format!(
                "nobody took part in the earlier learner more than {contributions_per_person} times"
            ),
        ]
    }

    /// Whether its noise was secure.
    pub(super) fn is_secure(&self) -> bool {
        self.secure
    }

    /// The sums.
    pub fn release(&self) -> &Release {
        &self.release
    }

    /// What the earlier learner told about one of its people, replays included.
    pub fn event(&self) -> Event {
        self.promise.after(self.replays)
    }

    /// As bytes, which hold nothing that was not released.
    pub fn save(&self) -> Vec<u8> {
        saved::save(KIND, self)
    }

    /// What [`Legacy::save`] wrote.
    pub fn load(bytes: &[u8]) -> Result<Self> {
        let legacy: Legacy = saved::load(KIND, bytes)?;
        legacy.release.check()?;
        legacy.event().check()?;
        Ok(legacy)
    }

    /// Whether a learner with these parameters may begin with it.
    pub(super) fn check(&self, params: &JointParams) -> Result<()> {
        self.release.check()?;
        self.event().check()?;
        if params.mode == Mode::Paper {
            let remedy = "published constants are for one run: use `exact` mode";
            return Err(Error::invalid("legacy", "given", remedy));
        }
        let (earlier, own) = (self.release.domain(), params.problem.domain());
        if *earlier != own {
            let remedy =
                format!("this learner's is {own:?}: give both the same dimension and bounds");
            return Err(Error::invalid("domain of the legacy", format!("{earlier:?}"), remedy));
        }
        Ok(())
    }
}
