//! The chain of releases as it is listed and verified.
//!
//! ```text
//! chain_0 = H("reticent chain 1", store, number of the generation, its hash)
//! chain_n = H("release", chain_{n-1}, n, H(release_n))
//! chain_n = H("rollback", chain_m, n, H(rollback_n))          with m < n: a rollback to a copy that ended with m, accepted
//! ```
//!
//! A listing is lines of JSON: a header with the parts of chain_0, then one line a release. The release is a string, so that its bytes survive
//! programs that write JSON anew; a release of which only the hash is kept has none. A client that has kept the hash of one head, from a certificate or a
//! token, can show with the listing that no release up to it was replaced, left out or added. A rollback that an operator accepted is a link of the
//! chain, with the replays that have been charged; numbers of the lost copy are left out.

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{HeadName, first_chain};
use crate::{
    Error, Result,
    records::{Digest, GenerationId, ReleaseRecord, StoreId},
    secret::{digest, from_hex, hex},
    time::Time,
};

/// The first word of a header.
const KIND: &str = "reticent chain 1";

/// The first line of a listing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ChainHeader {
    /// Kind of the lines, with the version of their format.
    pub kind: String,
    /// The loop.
    #[serde(rename = "loop")]
    pub name: String,
    /// The identity of the store, in hexadecimal digits.
    pub store: String,
    /// The number of the loop's generation.
    #[serde(rename = "life")]
    pub generation: GenerationId,
    /// The hash of everything that the generation is, in hexadecimal digits.
    #[serde(rename = "generation")]
    pub params_hash: String,
}

/// A release in a listing.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ChainLine {
    /// Its number, from 1.
    pub number: u64,
    /// Time of the release, in milliseconds since 1970.
    pub time: Time,
    /// SHA-256 of the release, in hexadecimal digits.
    pub hash: String,
    /// SHA-256 of the chain before it, its number and its hash.
    pub chain: String,
    /// The release as JSON text; none when only its hash is kept.
    pub release: Option<String>,
    /// True if its model was compacted: number, time and hashes stay.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub compacted: bool,
}

/// A rollback that was accepted: the link of the chain in place of a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rollback {
    /// The number of the release that the copy ended with.
    pub after: u64,
    /// Replays that are charged from here on.
    pub replays: u64,
}

/// Stored form of a rollback.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RollbackText {
    accepted_rollback: Rollback,
}

impl Rollback {
    /// The link of the chain.
    pub fn link(self, before: &Digest, number: u64, time: Time) -> Result<ReleaseRecord> {
        let text = RollbackText { accepted_rollback: self };
        let release = serde_json::to_vec(&text).map_err(Error::store)?;
        let hash = digest(&[&release]);
        let chain = linked(b"rollback", before, number, &hash);
        Ok(ReleaseRecord { number, time, hash, chain, release })
    }

    /// The rollback of a record, if it is none of a release.
    pub fn read(text: &[u8]) -> Option<Self> {
        serde_json::from_slice(text)
            .ok()
            .map(|RollbackText { accepted_rollback }| accepted_rollback)
    }
}

/// The chain with one more link.
fn linked(kind: &[u8], before: &Digest, number: u64, hash: &Digest) -> Digest {
    digest(&[kind, before, &number.to_le_bytes(), hash])
}

/// A rollback that was found in a listing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct VerifiedRollback {
    /// Its number in the chain.
    pub number: u64,
    /// The first and the last number that it left out; none if it left none out.
    pub left_out: Option<(u64, u64)>,
    /// Its content; none when only its hash is kept.
    #[serde(flatten)]
    pub rollback: Option<Rollback>,
}

impl VerifiedRollback {
    /// True if the chain has no release of this number because of it.
    pub fn leaves_out(&self, number: u64) -> bool {
        self.left_out.is_some_and(|(first, last)| (first..=last).contains(&number))
    }
}

/// Result of the verification of a listing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct VerifiedChain {
    /// The loop, as the header names it.
    #[serde(rename = "loop")]
    pub name: String,
    /// The first number that is listed; 0 if none is.
    pub first: u64,
    /// The last number that is listed; 0 if none is.
    pub last: u64,
    /// Releases that are there in full.
    pub whole: u64,
    /// Releases of which only the hash is there.
    pub hashes: u64,
    /// Rollbacks that were accepted and charged.
    pub rollbacks: Vec<VerifiedRollback>,
    /// The head that the listing leads to, as `number.hash`.
    pub head: String,
    /// The whole hash of the chain, as certificates print it.
    pub chain: String,
    /// True if the chain was followed from its beginning.
    pub from_the_beginning: bool,
    /// True if the head that the caller kept lies on the chain; none if no head was given.
    pub contains_head: Option<bool>,
    /// The number of the accepted rollback that explains why that head does not lie on it: its number was left out, or is another release's.
    pub dropped_by: Option<u64>,
}

impl VerifiedChain {
    /// The first rollback that a head of another copy of the store may have been lost by. A head from before the listing cannot be judged.
    fn dropping(&self, head: HeadName) -> Option<u64> {
        let rollback = self.rollbacks.iter().find(|rollback| head.number <= rollback.number)?;
        let judged = head.number >= self.first || rollback.leaves_out(head.number);
        judged.then_some(rollback.number)
    }
}

impl ChainHeader {
    /// The header of a generation's listing.
    pub fn new(name: &str, store: StoreId, generation: GenerationId, params_hash: u64) -> Self {
        ChainHeader {
            kind: KIND.into(),
            name: name.into(),
            store: hex(&store),
            generation,
            params_hash: format!("{params_hash:016x}"),
        }
    }

    fn first_chain(&self) -> Option<Digest> {
        let store = from_hex(&self.store)?.try_into().ok()?;
        Some(first_chain(store, self.generation, u64::from_str_radix(&self.params_hash, 16).ok()?))
    }
}

impl ChainLine {
    /// The line of a stored release.
    pub fn new(record: &ReleaseRecord) -> Result<Self> {
        let text = String::from_utf8(record.release.clone());
        let text = text.map_err(|_| Error::store("a release is not text: restore another copy"))?;
        Ok(ChainLine {
            compacted: text.is_empty(),
            number: record.number,
            time: record.time,
            hash: hex(&record.hash),
            chain: hex(&record.chain),
            release: Some(text).filter(|text| !text.is_empty()),
        })
    }
}

/// A line as it was received.
#[derive(Deserialize)]
struct GivenLine {
    number: u64,
    hash: String,
    chain: String,
    #[serde(default)]
    release: Option<Box<RawValue>>,
}

impl GivenLine {
    /// The bytes of the release: of the string, or of an object exactly as it stands.
    fn release(&self) -> Option<Vec<u8>> {
        let raw = self.release.as_ref().map(|raw| raw.get()).filter(|raw| *raw != "null")?;
        match serde_json::from_str::<String>(raw) {
            Ok(text) => Some(text.into_bytes()),
            Err(_) => Some(raw.as_bytes().to_vec()),
        }
    }
}

/// Follows a listing line by line, and says at which number it breaks.
pub fn verify_chain<E: std::fmt::Display>(
    lines: impl IntoIterator<Item = std::result::Result<String, E>>,
    head: Option<HeadName>,
) -> Result<VerifiedChain> {
    let lines = lines.into_iter().enumerate().map(|(index, line)| {
        let place = format!("line {}", index + 1);
        match line {
            Ok(line) => Ok((place, line)),
            Err(error) => Err(Error::invalid(place, "what cannot be read", error)),
        }
    });
    let mut lines =
        lines.filter(|line| line.as_ref().map_or(true, |(_, line)| !line.trim().is_empty()));
    let Some(first) = lines.next() else {
        return Err(Error::invalid(
            "chain",
            "an empty file",
            "expected the listing of /v1/loops/{loop}/releases",
        ));
    };
    let first = first?.1;
    let header = header(&first)?;
    let Some((from, mut chain)) = beginning(&header, &first) else {
        let remedy = "store, generation and the chain before a later release are hexadecimal digits; expected the listing as it was sent";
        return Err(Error::invalid("line 1", "no beginning of a chain", remedy));
    };
    let is_head =
        |number: u64, chain: &Digest| head.map(|head| head == HeadName::new(number, chain));
    let mut found = VerifiedChain {
        name: header.name,
        first: 0,
        last: from - 1,
        whole: 0,
        hashes: 0,
        rollbacks: Vec::new(),
        head: String::new(),
        chain: String::new(),
        from_the_beginning: from == 1,
        contains_head: is_head(from - 1, &chain),
        dropped_by: None,
    };
    for line in lines {
        let (place, line) = line?;
        let line: GivenLine = serde_json::from_str(&line).map_err(|error| {
            Error::invalid(
                &place,
                "a line that is no release",
                format!("{error}; expected number, hash, chain and release"),
            )
        })?;
        chain = follow(&line, &chain, &mut found)?;
        if is_head(line.number, &chain) == Some(true) {
            found.contains_head = Some(true);
        }
    }
    found.head = HeadName::new(found.last, &chain).text();
    found.chain = hex(&chain);
    let missing = head.filter(|_| found.contains_head == Some(false));
    found.dropped_by = missing.and_then(|head| found.dropping(head));
    Ok(found)
}

fn header(line: &str) -> Result<ChainHeader> {
    let header: ChainHeader = serde_json::from_str(line).map_err(|error| {
        let remedy = format!("{error}: the first line names loop, store, life and generation");
        Error::invalid("line 1", "no header", remedy)
    })?;
    if header.kind != KIND {
        let shown: String = header.kind.chars().take(40).collect();
        return Err(Error::invalid(
            "kind",
            format!("{shown:?}"),
            format!("this program reads {KIND:?}"),
        ));
    }
    Ok(header)
}

/// Start of a listing that does not begin with the chain.
#[derive(Deserialize)]
struct Later {
    #[serde(default)]
    from: Option<u64>,
    #[serde(default)]
    chain: Option<String>,
}

/// The number of the first line, and the chain before it. Where that is not the beginning of all, the header states the chain, so that the first line
/// too is bound to its link: its content cannot be replaced without changing all later links.
fn beginning(header: &ChainHeader, line: &str) -> Option<(u64, Digest)> {
    let first = header.first_chain()?;
    let later: Later = serde_json::from_str(line).ok()?;
    match (later.from.unwrap_or(1), later.chain) {
        (0, _) => None,
        (1, _) => Some((1, first)),
        (from, chain) => Some((from, bytes(&chain?)?)),
    }
}

/// The chain after one more line.
fn follow(line: &GivenLine, before: &Digest, found: &mut VerifiedChain) -> Result<Digest> {
    let broken = |value: &str, remedy: &str| {
        Error::invalid(format!("release {}", line.number), value, remedy)
    };
    let (Some(hash), Some(stated)) = (bytes(&line.hash), bytes(&line.chain)) else {
        return Err(broken("no hash", "hash and chain are 64 hexadecimal digits each"));
    };
    let begins = found.first == 0;
    let text = line.release();
    if text.as_ref().is_some_and(|text| digest(&[text]) != hash) {
        return Err(broken(
            "another content than its hash says",
            "it was changed after it had been made, or the listing was not kept byte for byte",
        ));
    }
    let rollback = text.as_deref().and_then(Rollback::read);
    let linked = |kind: &[u8]| linked(kind, before, line.number, &hash) == stated;
    let is_rollback = rollback.is_some() || linked(b"rollback");
    let follows = match is_rollback {
        true => line.number > found.last,
        false => found.last.checked_add(1) == Some(line.number),
    };
    if !follows {
        let remedy =
            format!("it follows release {}: one was left out, repeated or moved", found.last);
        return Err(broken("a release out of order", &remedy));
    }
    let sound = if is_rollback { linked(b"rollback") } else { linked(b"release") };
    let continues = rollback.is_none_or(|rollback| {
        let charged = found.rollbacks.iter().filter_map(|earlier| earlier.rollback).next_back();
        // A listing may begin with a number that a rollback left out.
        let after = rollback.after == found.last || (begins && rollback.after < found.last);
        after && rollback.replays > charged.map_or(0, |charged| charged.replays)
    });
    if !sound || !continues {
        return Err(broken(
            "a break of the chain",
            "this release or one before it was replaced, or the listing is that of another generation or store",
        ));
    }
    match text {
        _ if is_rollback => {
            // A listing that begins among numbers that were left out begins after the first of them.
            let before = rollback.map_or(found.last, |rollback| rollback.after);
            let left_out = (before + 1 < line.number).then(|| (before + 1, line.number - 1));
            found.rollbacks.push(VerifiedRollback { number: line.number, left_out, rollback });
        }
        Some(_) => found.whole += 1,
        None => found.hashes += 1,
    }
    if begins {
        found.first = line.number;
    }
    found.last = line.number;
    Ok(stated)
}

fn bytes(text: &str) -> Option<Digest> {
    from_hex(text)?.try_into().ok()
}
