//! A person is erased.

use serde::Serialize;

use super::Service;
use crate::{Error, Result, clock::Clock};

/// Outcome of an erasure, and what it could not remove.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub struct ErasedAnswer {
    /// Raw rows that are gone. Events whose window has not ended contribute nothing.
    pub rows: u64,
    /// Remaining traces, in words.
    pub remains: Vec<&'static str>,
}

impl Service {
    /// Erases a person in all loops.
    pub async fn erase(&self, person: &str) -> Result<ErasedAnswer> {
        if person.is_empty() || person.len() > self.limits.name {
            let remedy = format!("expected 1 to {} bytes", self.limits.name);
            return Err(Error::invalid("person", format!("{} bytes", person.len()), remedy));
        }
        let hashes = self.people.hashes(person);
        // First, so that a copy that is restored in between is erased too.
        self.witness_erased(&hashes).await?;
        let erased = self.store.erase(hashes, self.clock.now()).await?;
        let mut remains = vec![
            "the keyed hash of the person with the number of their visits: without it, erasing would give new ones",
            "sums of closed events, in which no person can be recognised and from which none can be taken out; releases made from them are covered by the certificate",
            "keyed hashes of their event ids, without a person, a request or an answer, for a day after the events have closed, so that a repeated rank request is not a second event",
            match self.store.is_shared() {
                false => {
                    "copies of rows in backups and in free pages of the store's file, until they are overwritten"
                }
                true => {
                    "copies of rows in backups, standbys and write-ahead logs of the database, and in its pages until they are vacuumed and overwritten"
                }
            },
        ];
        if !self.people.are_known() {
            remains.push("rows that were hashed under keys of the people's hashes which this service was not given: see /readyz, and erase again when they are");
        }
        Ok(ErasedAnswer { rows: erased.rows, remains })
    }
}
