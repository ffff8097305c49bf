//! The bytes of every record of this store, in `vectors/store`.

use std::collections::BTreeMap;

use super::tables::{
    CountRow, ErasedRow, HeadRow, IdentityRow, JournalEntry, JournalRow, OpenRow, Remembered,
    SettingRow, StateRow,
};
use crate::store::{
    Generation, KeyRecord, Place, ReleaseRecord, StoredEvent, WitnessHead, WitnessRecord,
    row::golden::{check, earlier},
};

#[test]
fn records_have_golden_bytes() {
    let place = Place { slot: 1_700_000, number: 300 };
    check(&place);
    check(&StoredEvent {
        event: [1; 16],
        person: Some([2; 16]),
        time: 1_700_000_000_000,
        learnt: true,
        active: false,
        reward: Some(-5),
        reward_keys: vec![u64::MAX, 0],
        features: vec![0.5, -0.25, f64::MIN_POSITIVE],
        raw: b"{}".to_vec(),
    });
    let remembered = Remembered {
        event: [1; 16],
        person: Some([2; 16]),
        request: [3; 32],
        answer: b"answer".to_vec(),
    };
    check(&remembered);
    assert!(earlier::<Remembered>(1) == Remembered { person: None, ..remembered });
    let charged =
        JournalEntry { generation: 1, event: [1; 16], place, charge: Some(((1, 20, [2; 16]), 3)) };
    let free = JournalEntry { charge: None, ..charged.clone() };
    let before = JournalRow(vec![charged.clone(), free.clone()]);
    assert!(earlier::<JournalRow>(1) == before);
    let later = JournalEntry { generation: 3, ..charged };
    check(&JournalRow(vec![later, free]));
    check(&CountRow(1000));
    check(&OpenRow(100_000));
    check(&HeadRow {
        number: 5,
        chain: [4; 32],
        epoch: 2,
        closed: 1000,
        folded: 999,
        events: 1 << 40,
        stripped: 3,
        ended: true,
    });
    check(&StateRow(vec![1, 2, 3]));
    check(&SettingRow(vec![4, 5]));
    check(&ErasedRow(1_700_000_000_000));
    check(&IdentityRow([6; 16]));
    let generation = Generation {
        id: 2,
        name: "home".into(),
        params_hash: u64::MAX,
        params: b"{}".to_vec(),
        event: b"null".to_vec(),
        began: 1,
        ended: Some(2),
        ledger: 1,
    };
    check(&generation);
    let own = Generation { ledger: 2, ..generation.clone() };
    assert!(earlier::<Generation>(1) == own);
    check(&ReleaseRecord {
        number: 5,
        time: 7,
        hash: [8; 32],
        chain: [4; 32],
        release: b"release".to_vec(),
    });
    check(&KeyRecord {
        id: "key".into(),
        hash: [9; 32],
        loop_name: Some("home".into()),
        roles: vec!["decide".into(), "reward".into()],
        made: 1,
        revoked: Some(2),
    });
    let witness = WitnessRecord {
        store: [6; 16],
        heads: BTreeMap::from([(2, WitnessHead { epoch: 2, number: 5, chain: [4; 32] })]),
        replays: BTreeMap::from([(2, 1)]),
        revoked_keys: ["key".to_owned()].into(),
        erased: [[2; 16]].into(),
        generations: BTreeMap::from([(2, generation)]),
        time: 1_700_000_000_000,
    };
    check(&witness);
    let generations = BTreeMap::from([(2, own)]);
    assert!(earlier::<WitnessRecord>(2) == WitnessRecord { generations, ..witness });
}
