//! Keys `rt_<id>_<secret>` with roles. Of a key the hash is kept, in the store and in memory; the key itself is shown once, when it is made.
//!
//! | role | may |
//! | --- | --- |
//! | `decide` | ask which action to take, and activate it |
//! | `reward` | send rewards |
//! | `device` | fetch protocols and models, and report |
//! | `shuffle` | send batches of reports |
//! | `read` | see releases, certificates and public metrics |
//! | `admin` | everything, in all loops; erasure, exports and internal metrics too |
//!
//! The secret has 256 random bits, so that one SHA-256 without salt or stretching is enough. Hashes are compared in constant time, against a hash
//! that nothing has where the id is unknown.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, PoisonError, RwLock},
};

use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq;

use super::limits::Bucket;
use crate::{
    Error, Result,
    clock::Time,
    config::{LoopParams, Trust, check_name},
    secret::{digest, hex, random},
    store::{Digest, Generation, KeyRecord, Store},
};

/// Keys of one loop with the same roles at a time, so that one can be changed for another.
const AT_A_TIME: usize = 2;

/// A permission of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Send rank requests.
    Decide,
    /// Send rewards.
    Reward,
    /// Fetch protocols and models, and report.
    Device,
    /// Send batches of reports.
    Shuffle,
    /// See released figures.
    Read,
    /// Everything, in all loops.
    Admin,
}

impl Role {
    /// All roles.
    pub const ALL: [Role; 6] =
        [Role::Decide, Role::Reward, Role::Device, Role::Shuffle, Role::Read, Role::Admin];

    /// Its name in commands and in the store.
    pub fn name(self) -> &'static str {
        match self {
            Role::Decide => "decide",
            Role::Reward => "reward",
            Role::Device => "device",
            Role::Shuffle => "shuffle",
            Role::Read => "read",
            Role::Admin => "admin",
        }
    }

    /// The role of this name.
    pub fn parse(name: &str) -> Result<Self> {
        let found = Role::ALL.into_iter().find(|role| role.name() == name);
        found.ok_or_else(|| {
            let remedy =
                "expected some of decide, reward, device, shuffle, read and admin, with commas between them";
            Error::invalid("role", format!("{name:?}"), remedy)
        })
    }
}

/// Permissions of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// The public part of the key.
    pub id: String,
    /// The loop it is for; none for an administrator.
    pub loop_name: Option<String>,
    /// Its roles.
    pub roles: Vec<Role>,
}

impl Grant {
    /// True if it has one of these roles.
    pub fn has(&self, roles: &[Role]) -> bool {
        self.is_admin() || roles.iter().any(|role| self.roles.contains(role))
    }

    /// True if it is for the whole service.
    pub fn is_admin(&self) -> bool {
        self.roles.contains(&Role::Admin)
    }

    /// True if it is for this loop.
    pub fn covers(&self, loop_name: &str) -> bool {
        self.is_admin() || self.loop_name.as_deref() == Some(loop_name)
    }
}

/// A key in use, with the rest of its rates.
pub(super) struct Entry {
    pub(super) grant: Grant,
    hash: Digest,
    pub(super) ranks: Bucket,
    pub(super) reads: Bucket,
}

/// All keys that were not revoked.
#[derive(Default)]
pub struct KeyRing {
    entries: RwLock<HashMap<String, Arc<Entry>>>,
}

impl KeyRing {
    /// Reads the keys of a store.
    pub async fn open(store: &dyn Store) -> Result<Self> {
        let ring = KeyRing::default();
        ring.reload(store).await?;
        Ok(ring)
    }

    /// Reads the keys again after a change. A key that stays keeps the rest of its rates.
    pub async fn reload(&self, store: &dyn Store) -> Result<()> {
        let records = store.keys().await?;
        let mut entries = self.entries.write().unwrap_or_else(PoisonError::into_inner);
        let old = std::mem::take(&mut *entries);
        for record in records.into_iter().filter(|record| record.revoked.is_none()) {
            let kept = old.get(&record.id).filter(|entry| entry.hash == record.hash);
            let entry = kept.cloned().unwrap_or_else(|| Arc::new(Entry::of(&record)));
            entries.insert(record.id, entry);
        }
        Ok(())
    }

    /// True if the key of this id is in use.
    pub fn holds(&self, id: &str) -> bool {
        self.entries.read().unwrap_or_else(PoisonError::into_inner).contains_key(id)
    }

    /// Permissions of the holder of this text, if it is a key.
    pub fn verify(&self, text: &str) -> Option<Grant> {
        self.find(text).map(|entry| entry.grant.clone())
    }

    /// The key of this id, if it is in use.
    pub(super) fn entry(&self, id: &str) -> Option<Arc<Entry>> {
        self.entries.read().unwrap_or_else(PoisonError::into_inner).get(id).cloned()
    }

    pub(super) fn find(&self, text: &str) -> Option<Arc<Entry>> {
        let (id, secret) = text.strip_prefix("rt_")?.split_once('_')?;
        let entries = self.entries.read().unwrap_or_else(PoisonError::into_inner);
        let entry = entries.get(id).cloned();
        drop(entries);
        let expected = entry.as_ref().map_or([0; 32], |entry| entry.hash);
        let equal: bool = hash_of(id, secret).ct_eq(&expected).into();
        entry.filter(|_| equal)
    }
}

impl Entry {
    fn of(record: &KeyRecord) -> Self {
        // A role of a later version is not known here and allows nothing.
        let roles = record.roles.iter().filter_map(|role| Role::parse(role).ok()).collect();
        let grant = Grant { id: record.id.clone(), loop_name: record.loop_name.clone(), roles };
        Entry { grant, hash: record.hash, ranks: Bucket::default(), reads: Bucket::default() }
    }
}

/// The hash that is kept of a key.
fn hash_of(id: &str, secret: &str) -> Digest {
    digest(&[b"key", id.as_bytes(), secret.as_bytes()])
}

/// Makes a key and stores its hash. The text is the key itself, and there is no other copy of it.
pub async fn make_key(
    store: &dyn Store,
    loop_name: Option<String>,
    mut roles: Vec<Role>,
    now: Time,
) -> Result<String> {
    roles.sort_unstable();
    roles.dedup();
    check_key(store, loop_name.as_deref(), &roles).await?;
    let (id, secret) = (hex(&random::<6>()?), hex(&random::<32>()?));
    let hash = hash_of(&id, &secret);
    let text = format!("rt_{id}_{secret}");
    let roles = roles.into_iter().map(|role| role.name().to_string()).collect();
    store.add_key(KeyRecord { id, hash, loop_name, roles, made: now, revoked: None }).await?;
    Ok(text)
}

/// Refuses a key that could not be used, or a third one where two are enough to change them.
async fn check_key(store: &dyn Store, loop_name: Option<&str>, roles: &[Role]) -> Result<()> {
    match (loop_name, roles.contains(&Role::Admin)) {
        (_, _) if roles.is_empty() => {
            let remedy = "expected some of decide, reward, device, shuffle, read and admin";
            return Err(Error::invalid("role", "missing", remedy));
        }
        (Some(name), true) => {
            let remedy = "an admin key is for the whole service: leave the loop out, or the role";
            return Err(Error::invalid("loop", format!("{name:?}"), remedy));
        }
        (None, false) => {
            return Err(Error::invalid("loop", "missing", "add --loop NAME"));
        }
        _ => {}
    }
    if let Some(name) = loop_name {
        check_name(name)?;
        let generations = store.generations().await?;
        let names: BTreeSet<&str> =
            generations.iter().map(|generation| generation.name.as_str()).collect();
        // A store that no process has served from knows no loops yet.
        if !names.is_empty() && !names.contains(name) {
            let names: Vec<&str> = names.into_iter().collect();
            let remedy = format!(
                "name one of {}, or first start the service with a file that has it",
                names.join(", ")
            );
            return Err(Error::invalid("loop", format!("{name:?}"), remedy));
        }
    }
    let names: Vec<&str> = roles.iter().map(|role| role.name()).collect();
    let keys = store.keys().await?;
    let same = keys.iter().filter(|key| {
        key.revoked.is_none() && key.loop_name.as_deref() == loop_name && key.roles == names
    });
    let ids: Vec<&str> = same.map(|key| key.id.as_str()).collect();
    if ids.len() < AT_A_TIME {
        return Ok(());
    }
    Err(Error::Conflict(format!(
        "{} keys with these roles are in use: revoke one of {} first",
        ids.len(),
        ids.join(", ")
    )))
}

/// Refuses roles that a loop has no calls for, where the store knows who adds the noise there.
pub(crate) async fn check_trust(
    store: &dyn Store,
    loop_name: Option<&str>,
    roles: &[Role],
) -> Result<()> {
    let generations = store.generations().await?;
    let of_loop = |generation: &&Generation| {
        Some(generation.name.as_str()) == loop_name && generation.ended.is_none()
    };
    let Some(generation) = generations.iter().find(of_loop) else { return Ok(()) };
    let Ok(params) = serde_json::from_slice::<LoopParams>(&generation.params) else {
        return Ok(());
    };
    let (useless, remedy): (&[Role], _) = match params.trust {
        Trust::Curator => (
            &[Role::Device, Role::Shuffle],
            "the loop is central, and no device reports to it; expected some of decide, reward and read",
        ),
        Trust::Device => (
            &[Role::Decide, Role::Reward, Role::Shuffle],
            "people's devices choose and report to this loop; expected device or read",
        ),
        Trust::Shuffler => (
            &[Role::Decide, Role::Reward],
            "people's devices choose, and a shuffler reports to this loop; expected shuffle, device or read",
        ),
    };
    match roles.iter().find(|role| useless.contains(role)) {
        Some(role) => Err(Error::invalid("role", role.name(), remedy)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::MemoryStore;

    #[tokio::test]
    async fn a_key_is_known_by_its_hash_until_it_is_revoked() {
        let store = MemoryStore::new([1; 16]);
        let text = make_key(&store, Some("home".into()), vec![Role::Decide], 5).await.unwrap();
        let ring = KeyRing::open(&store).await.unwrap();
        let grant = ring.verify(&text).unwrap();
        assert!(grant.has(&[Role::Decide]) && !grant.has(&[Role::Reward]));
        assert!(grant.covers("home") && !grant.covers("other"));
        let secret = text.rsplit_once('_').unwrap().1;
        let record = store.keys().await.unwrap().remove(0);
        assert_eq!(record.hash, hash_of(&record.id, secret));
        for foreign in [
            "",
            "rt_",
            "rt__",
            "rt_\u{e9}_x",
            &text[..text.len() - 1],
            &text.replace(&record.id, "000000000000"),
            &format!("{text}0"),
        ] {
            assert_eq!(ring.verify(foreign), None, "{foreign}");
        }
        assert!(store.revoke_key(record.id, 6).await.unwrap());
        assert!(ring.verify(&text).is_some());
        ring.reload(&store).await.unwrap();
        assert_eq!(ring.verify(&text), None);
    }

    #[tokio::test]
    async fn a_role_that_a_loop_has_no_calls_for_is_refused() {
        let store = MemoryStore::new([1; 16]);
        for (trust, useful, useless) in [
            ("curator", Role::Decide, Role::Device),
            ("device", Role::Device, Role::Decide),
            ("shuffler", Role::Shuffle, Role::Reward),
        ] {
            let check = async |role| check_trust(&store, Some(trust), &[role]).await;
            assert!(check(useless).await.is_ok(), "nothing is known of the loop yet");
            let params =
                format!(r#"{{"trust": "{trust}", "privacy": {{"epsilon": 1.0, "delta": 1e-6}}}}"#);
            let generation = crate::store::NewGeneration {
                name: trust.into(),
                params_hash: 1,
                params: params.into_bytes(),
                state: Vec::new(),
                event: Vec::new(),
                closed: 0,
                time: 0,
                counts_with: None,
            };
            store.begin_generation(generation).await.unwrap();
            assert!(check(useful).await.is_ok() && check(Role::Read).await.is_ok());
            let error = check(useless).await.unwrap_err().to_string();
            assert!(error.contains("role") && error.contains("expected "), "{error}");
        }
    }

    #[tokio::test]
    async fn keys_that_could_not_be_used_are_refused() {
        let store = MemoryStore::new([1; 16]);
        let home = || Some("home".to_string());
        for (name, roles) in [
            (None, vec![Role::Read]),
            (Some(String::new()), vec![Role::Read]),
            (home(), vec![Role::Admin, Role::Read]),
            (home(), vec![]),
        ] {
            assert!(make_key(&store, name, roles, 0).await.is_err());
        }
        let both = vec![Role::Reward, Role::Decide, Role::Reward];
        for _ in 0..2 {
            make_key(&store, home(), both.clone(), 0).await.unwrap();
        }
        assert!(matches!(make_key(&store, home(), both, 0).await, Err(Error::Conflict(_))));
        make_key(&store, home(), vec![Role::Reward], 0).await.unwrap();
        assert_eq!(store.keys().await.unwrap().len(), 3);
        assert!(Role::parse("owner").unwrap_err().to_string().contains("decide"));
    }
}
