//! Saved states of host programs: the saved bytes of learners, with what the host keeps beside them, in the envelope of all saved states.
//!
//! A host is a package in another language that wraps a learner: its states have a kind and a version of their own, so that a foreign one is
//! refused before it is decoded, and so are the learners' bytes inside.

use serde::{Serialize, de::DeserializeOwned};

use super::{Kind, load, save};
use crate::{Error, Result};

/// Contents of a package: the host's part, as JSON, and the states of its learners.
type Package = (String, Vec<Vec<u8>>);

/// A saved state of a host: plain data of its own, and the saved bytes of learners.
///
/// ```
/// use reticent::wire::{PYTHON_JOINT, PYTHON_LINUCB, pack, unpack};
/// let bytes = pack(PYTHON_LINUCB, &7_u64, &[b"learner".as_slice(), b"decisions"]);
/// let (next, [learner, _]): (u64, _) = unpack(PYTHON_LINUCB, &bytes)?;
/// assert_eq!((next, learner.as_slice()), (7, b"learner".as_slice()));
/// assert!(unpack::<u64, 2>(PYTHON_JOINT, &bytes).is_err());
/// # Ok::<(), reticent::Error>(())
/// ```
pub fn pack(kind: Kind, own: &impl Serialize, learners: &[&[u8]]) -> Vec<u8> {
    let own = serde_json::to_string(own).expect("plain data always serialises to memory");
    let learners = learners.iter().map(|bytes| bytes.to_vec()).collect();
    save(kind, &(own, learners) as &Package)
}

/// Reads what [`pack`] wrote under the same kind with this many learners.
pub fn unpack<T: DeserializeOwned, const N: usize>(
    kind: Kind,
    bytes: &[u8],
) -> Result<(T, [Vec<u8>; N])> {
    let (own, learners): Package = load(kind, bytes)?;
    let damaged = |reason: String| Error::CorruptState {
        size: bytes.len(),
        reason,
        remedy: "restore another copy, or start a new stream with a new budget".into(),
    };
    let own = serde_json::from_str(&own).map_err(|error| damaged(error.to_string()))?;
    let learners = <[Vec<u8>; N]>::try_from(learners)
        .map_err(|found| damaged(format!("{} learners in place of {N}", found.len())))?;
    Ok((own, learners))
}
