//! Counts of what clients have met so far. A run ends when it has met enough to show something: how long that takes depends on the machine, and what else it does.

use std::{
    collections::BTreeMap,
    sync::Mutex,
    time::{Duration, Instant},
};

use reticent_trials::history::Reply;

/// Time after which a run ends with what it has met.
const AT_LAST: Duration = Duration::from_secs(180);

/// An event that a client has met.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Met {
    Ranked,
    Rewarded,
    Activated,
    Lost,
    Conflict,
    Late,
    Report,
    Duplicate,
    Model,
    Release,
}

/// Enough in every loop whose service decides. The checks at the end expect less: requests that are repeated count here too.
const ENOUGH: [(Met, u64); 7] = [
    (Met::Ranked, 350),
    (Met::Rewarded, 100),
    (Met::Activated, 10),
    (Met::Lost, 2),
    (Met::Conflict, 2),
    (Met::Late, 2),
    (Met::Release, 25),
];

/// Enough of devices.
const ENOUGH_OF_DEVICES: [(Met, u64); 3] =
    [(Met::Report, 150), (Met::Duplicate, 10), (Met::Model, 10)];

/// Counts by loop.
#[derive(Default)]
pub struct Tally(Mutex<BTreeMap<(&'static str, Met), u64>>);

impl Tally {
    pub fn count(&self, loop_: &'static str, met: Met) {
        *self.0.lock().unwrap().entry((loop_, met)).or_default() += 1;
    }

    /// Keeps the largest number, such as that of the last release.
    pub fn reach(&self, loop_: &'static str, met: Met, number: u64) {
        let mut counts = self.0.lock().unwrap();
        let largest = counts.entry((loop_, met)).or_default();
        *largest = number.max(*largest);
    }

    /// Counts what a request met.
    pub fn request<A>(&self, loop_: &'static str, path: &str, reply: &Reply<A>) {
        let activates = path.ends_with("/activate");
        let met = match reply {
            Reply::Taken(_) if path.starts_with("rank") => Met::Ranked,
            Reply::Taken(_) if activates => Met::Activated,
            Reply::Taken(_) => Met::Rewarded,
            // The checks count these of ranks and rewards.
            _ if activates => return,
            Reply::Lost => Met::Lost,
            Reply::Refused(409) => Met::Conflict,
            Reply::Refused(410) => Met::Late,
            Reply::Refused(_) => return,
        };
        self.count(loop_, met);
    }

    /// True if a run may end: everything was met often enough, or it is too late.
    pub fn is_rich(&self, begun: Instant) -> bool {
        let counts = self.0.lock().unwrap();
        let enough = |loop_: &'static str, needed: &[(Met, u64)]| {
            let met = |what| counts.get(&(loop_, what)).copied().unwrap_or(0);
            needed.iter().all(|(what, number)| met(*what) >= *number)
        };
        let rich = ["home", "other"].iter().all(|loop_| enough(loop_, &ENOUGH));
        (rich && enough(super::device::LOOP, &ENOUGH_OF_DEVICES)) || begun.elapsed() > AT_LAST
    }
}
