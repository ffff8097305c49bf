//! Tests that hold for every store.
//!
//! | file | what it is |
//! | --- | --- |
//! | `checks` | the suite: one property a check |
//! | `erasure`, `generations` | its checks of erasure, and of generations with their ledger |
//! | `releases` | its checks of the list of releases |
//! | `snapshot` | everything readable of a store, to compare |
//! | `property` | random operations on the model, redb and PostgreSQL, with failures and reopening in between |
//! | `moving` | random operations, then a move to another store |
//! | `sample` | records to test with |

mod checks;
mod erasure;
mod generations;
mod moving;
mod property;
mod releases;
pub(crate) mod sample;
pub(crate) mod snapshot;

use super::{MemoryStore, PostgresStore, RedbStore, planted, postgres::testing::cluster};

#[tokio::test]
async fn the_model_keeps_the_contract() {
    for check in checks::NAMES {
        checks::run(check, &MemoryStore::new([1; 16]))
            .await
            .unwrap_or_else(|error| panic!("{check}: {error}"));
    }
}

#[tokio::test]
async fn redb_keeps_the_contract() {
    let folder = tempfile::tempdir().unwrap();
    for check in checks::NAMES {
        let store = RedbStore::open(folder.path().join(check)).unwrap();
        checks::run(check, &store).await.unwrap_or_else(|error| panic!("{check}: {error}"));
    }
}

#[tokio::test]
async fn postgres_keeps_the_contract() {
    let Some(cluster) = cluster() else { return };
    for check in checks::NAMES {
        let store = PostgresStore::open(&cluster.empty()).await.unwrap();
        checks::run(check, &store).await.unwrap_or_else(|error| panic!("{check}: {error}"));
    }
}

/// Every mistake is found by the check that is for it.
#[tokio::test]
async fn planted_mistakes_are_found() {
    for (mistake, check) in planted::MISTAKES {
        let store = planted::Planted::new(*mistake);
        let found = checks::run(check, &store).await;
        assert!(found.is_err(), "{mistake:?} passes {check}");
    }
}
