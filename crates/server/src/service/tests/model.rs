//! A model as a file, from a store that no process serves.

use super::*;

const PERSONS: &str = "epsilon = 1.0, delta = 1e-6, visits = 1, per = \"ever\"";

#[tokio::test]
async fn a_stopped_store_gives_the_model_that_its_service_gave() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("witness");
    let (store, clock) = (Arc::new(MemoryStore::new([1; 16])), Arc::new(ManualClock::at(START)));
    let text = file(PERSONS, "");
    let service = witnessed(&text, &store, &clock, &path).await;
    let stored = async |name: &str, witness: Option<&std::path::Path>| {
        stored_model(store.as_ref(), name, witness).await.map_err(|error| error.to_string())
    };
    assert!(stored("home", None).await.unwrap_err().contains("releases: got 0"));
    clock.pass(TICK);
    service.tick("home").await.unwrap();
    let live = service.model_file("home").await.unwrap();
    for witness in [None, Some(path.as_path())] {
        assert_eq!(stored("home", witness).await.unwrap(), live);
    }
    assert!(stored("hoem", None).await.unwrap_err().contains("expected one of home"));
}

/// Its cost may be known to the witness only, and a release that the witness does not know has not left the service.
#[tokio::test]
async fn a_store_that_was_served_with_a_witness_gives_no_model_without_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("witness");
    let (store, clock) = (Arc::new(MemoryStore::new([1; 16])), Arc::new(ManualClock::at(START)));
    let service = witnessed(&file(PERSONS, ""), &store, &clock, &path).await;
    clock.pass(TICK);
    service.tick("home").await.unwrap();
    store.keep_setting(WITNESSED.into(), vec![1]).await.unwrap();
    let stored = async |witness: Option<&std::path::Path>| {
        stored_model(store.as_ref(), "home", witness).await.map_err(|error| error.to_string())
    };
    assert!(stored(None).await.unwrap_err().contains("give its file with --witness"));
    let nowhere = folder.path().join("nowhere/witness");
    assert!(stored(Some(&nowhere)).await.unwrap_err().contains("no such file"));
    assert!(!nowhere.parent().unwrap().exists(), "nothing is made");
    let free = stored(Some(&path)).await.unwrap();
    let (witness, record) = Witness::open(&path).unwrap();
    let record = record.unwrap();
    let mut charged = record.clone();
    charged.replays.insert(1, 3);
    witness.write(&charged).unwrap();
    let dear = stored(Some(&path)).await.unwrap();
    let head = store.head(1).await.unwrap();
    type Learner = reticent::bandit::Curator<reticent::noise::SecureNoise>;
    let learner = Learner::resume_charged(&head.state, head.number, 3).unwrap();
    let legacy = crate::secret::hex(&learner.legacy().unwrap().save());
    assert!(dear.contains(&legacy) && !free.contains(&legacy), "the charge is in the file");
    let mut older = record.clone();
    older.heads.clear();
    let other = WitnessRecord { store: [2; 16], ..record };
    for unfit in [older, other] {
        witness.write(&unfit).unwrap();
        assert!(stored(Some(&path)).await.unwrap_err().contains("start the service"));
    }
}
