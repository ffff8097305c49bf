//! Errors that every store gives in the same words, and checks that every store makes.

use super::{GenerationId, Head, Replacement, Step};
use crate::{Error, Result, config::LoopParams};

/// Error for an unknown generation.
pub(super) fn unknown_generation(generation: GenerationId) -> Error {
    Error::unknown("generation", generation, "begin it first")
}

/// The last slot cannot be closed, because events need an open one.
pub(super) fn last_slot(slot: u64) -> Error {
    Error::invalid("slot", slot, "close an earlier slot: one must stay open")
}

/// A number has reached the end of its type.
pub(super) fn exhausted(what: &str) -> Error {
    Error::Unavailable(format!("{what}: all numbers are used; begin a new generation"))
}

/// Error for a key that exists.
pub(super) fn key_exists(id: &str) -> Error {
    Error::Conflict(format!("key {id} exists: make a new one"))
}

/// A floor as a setting holds it.
pub(super) fn floor_of(setting: Option<&[u8]>) -> Result<u64> {
    let Some(bytes) = setting else { return Ok(0) };
    let bytes = <[u8; 8]>::try_from(bytes);
    bytes.map(u64::from_le_bytes).map_err(|_| Error::store("a floor is damaged: restore a backup"))
}

/// Parameters that a present generation takes keep every word that was appended to it, with its place: those of a file that was read before another process appended
/// some would give a coordinate to two words. `stored` is what the generation has.
pub(super) fn check_words(stored: &[u8], new: &[u8]) -> Result<()> {
    let read = |params| serde_json::from_slice::<LoopParams>(params).ok();
    let Some(stored) = read(stored).filter(|stored| !stored.appended().is_empty()) else {
        return Ok(());
    };
    // Two processes that append the same words at different times agree.
    let same = |new: LoopParams| {
        let (new, stored) = (new.appended(), stored.appended());
        new.len() >= stored.len()
            && stored.iter().zip(new).all(|(one, other)| one.words == other.words)
    };
    if read(new).is_some_and(same) {
        return Ok(());
    }
    let why =
        "transaction conflict: the file of this loop was changed by another process; start again";
    Err(Error::Conflict(why.into()))
}

/// A step folds slots that are closed and that no earlier step folded.
pub(super) fn check_step(step: &Step, closed: u64, folded: u64) -> Result<()> {
    if step.folded > closed {
        return Err(Error::invalid(
            "folded",
            step.folded,
            format_args!("close the slot first: the last closed one is {closed}"),
        ));
    }
    if step.folded < folded {
        return Err(Error::invalid(
            "folded",
            step.folded,
            format_args!("go on from slot {folded}, which is in the head"),
        ));
    }
    Ok(())
}

/// A head that replaces another was made from that one, under the present charge, and never decreases. `charged` is the floor that it raises.
pub(super) fn check_replacement(
    Replacement { from, head: new, link, charge }: &Replacement,
    old: &Head,
    charged: u64,
) -> Result<()> {
    if *from != old.key() || charge.as_ref().is_some_and(|charge| charge.from < charged) {
        let why = "transaction conflict: another process has changed the head or its charge; read them again";
        return Err(Error::Conflict(why.into()));
    }
    if let Some(link) = link
        && (new.number <= old.number || (link.number, link.chain) != (new.number, new.chain))
    {
        let remedy = "expected a number that is new, with the chain of the head";
        return Err(Error::invalid("link.number", link.number, remedy));
    }
    for (field, new, old) in [
        ("head.number", new.number, old.number),
        ("head.epoch", new.epoch, old.epoch),
        ("head.closed", new.closed, old.closed),
        ("head.folded", new.folded, old.folded),
    ] {
        if new < old {
            return Err(Error::invalid(
                field,
                new,
                format_args!("expected {old} or more: a head never decreases"),
            ));
        }
    }
    if new.number == old.number && new.chain != old.chain {
        return Err(Error::invalid(
            "head.chain",
            "another hash",
            "expected a higher number: one number has one release",
        ));
    }
    if new.folded > new.closed {
        return Err(Error::invalid("head.folded", new.folded, "expected at most head.closed"));
    }
    if new.closed == u64::MAX {
        return Err(last_slot(new.closed));
    }
    Ok(())
}
