//! One step of the private sum: the new state, the release, the policy that is served.
//!
//! The step is made on a copy that is read from the state that was stored last. Its policy answers requests only when the new state is stored:
//! if the process dies before that, the release was not served, and the next process draws new noise, for no state holds a generator.

use reticent::{bandit::Policy, release::Release, wire};

use super::Earlier;
use crate::{
    Error, Result,
    config::{CentralPlan, DeviceLearner, Plan, StorageOutlook},
    learner::{CentralLearner, CentralSums},
    records::{Digest, GenerationId, Head, ReleaseRecord, StoreId},
    secret::digest,
    time::Time,
};

/// The model that answers rank requests: everything in it has been released.
#[derive(Debug, Clone)]
pub struct Served {
    /// The policy.
    pub policy: Policy,
    /// The number of its release, 0 before the first.
    pub number: u64,
    /// The hash of the chain of releases up to it.
    pub chain: Digest,
    /// The release itself.
    pub release: Option<Release>,
    /// Time of the release.
    pub time: Option<Time>,
    /// True if the last release has been made.
    pub over: bool,
    /// Epsilon of one unit, with every replay that was charged and the generations that share the ledger.
    pub epsilon: f64,
    /// Replays that are charged in its state.
    pub replays: u64,
}

/// A step that is to be committed.
pub struct Stepped {
    /// The learner's new state.
    pub state: Vec<u8>,
    /// The release.
    pub record: ReleaseRecord,
}

/// The chain of a generation before its first release.
pub fn first_chain(store: StoreId, generation: GenerationId, params_hash: u64) -> Digest {
    digest(&[b"reticent chain 1", &store, &generation.to_le_bytes(), &params_hash.to_le_bytes()])
}

/// The record of a release that follows a head.
pub fn release_record(head: &Head, number: u64, time: Time, release: Vec<u8>) -> ReleaseRecord {
    let hash = digest(&[&release]);
    let chain = digest(&[b"release", &head.chain, &number.to_le_bytes(), &hash]);
    ReleaseRecord { number, time, hash, chain, release }
}

/// The learner as it was stored.
pub fn stored_learner(head: &Head) -> Result<CentralLearner> {
    CentralLearner::resume(&head.state, head.number)
}

/// Storage of the list of a loop's releases, estimated from the first one.
pub fn storage(plan: &Plan) -> Result<StorageOutlook> {
    let release = match plan {
        Plan::Central(plan) => {
            let mut learner = plan.begin()?;
            let mut sums = learner.no_sums();
            learner.tick(&mut sums)?;
            learner.release().as_ref().map(wire::to_json).unwrap_or_default()
        }
        Plan::Reports(plan) => wire::to_json(&match &plan.learner {
            DeviceLearner::Local { plan, .. } => plan.server().publish()?,
            DeviceLearner::Shuffled(plan) => plan.server().publish()?,
        }),
    };
    Ok(StorageOutlook::new(plan.params(), plan.tick(), release.as_bytes()))
}

/// The served model of a stored head, after these generations, over the present coordinates of its loop.
pub fn served(
    plan: &CentralPlan,
    head: &Head,
    time: Option<Time>,
    earlier: &Earlier,
) -> Result<Served> {
    let learner = plan.grown(stored_learner(head)?)?;
    Ok(Served {
        policy: learner.policy().clone(),
        number: head.number,
        chain: head.chain,
        release: learner.release(),
        time,
        over: learner.is_over(),
        epsilon: earlier.guarantee(&learner)?.epsilon(),
        replays: learner.replays(),
    })
}

/// Steps a copy of the stored learner over these sums.
pub fn step(
    head: &Head,
    mut learner: CentralLearner,
    mut sums: CentralSums,
    time: Time,
) -> Result<Stepped> {
    learner.tick(&mut sums)?;
    let release = learner.release().as_ref().map(wire::to_json);
    let Some(release) = release.map(String::into_bytes) else {
        return Err(Error::Unavailable("the learner made no release at its tick".into()));
    };
    let record = release_record(head, learner.releases(), time, release);
    Ok(Stepped { state: learner.save(), record })
}
