//! What is sealed is read by one key, under one name, and has one length.

use super::*;
use crate::secret::Secret;

fn subject() -> Subject {
    Subject { loop_name: "news".into(), protocol: [7; 32], values: 3 }
}

fn key(byte: u8) -> SealKey {
    SealKey::of_secret(&Secret::from_bytes([byte; 32]))
}

#[test]
fn a_report_is_read_by_its_own_key_loop_protocol_and_id_alone() {
    let (subject, key_one) = (subject(), key(1));
    let values = [0.25, -1.0, f64::MIN_POSITIVE];
    let envelope = subject.seal(key_one.public(), 7, &values).unwrap();
    let bytes = envelope.bytes();
    assert_eq!(bytes.len(), subject.length());
    let read = subject.read(&bytes).unwrap();
    assert_eq!((read.clone(), read.model), (envelope.clone(), 7));
    assert_eq!(subject.open(&key_one, read.id, &read.sealed).unwrap()[..], values);
    // What is bound.
    let mut other_id = read.id;
    other_id[0] ^= 1;
    assert_eq!(subject.open(&key_one, other_id, &read.sealed), None);
    assert_eq!(subject.open(&key(2), read.id, &read.sealed), None);
    let other_loop = Subject { loop_name: "shop".into(), ..subject.clone() };
    assert_eq!(other_loop.open(&key_one, read.id, &read.sealed), None);
    let other_protocol = Subject { protocol: [1; 32], ..subject.clone() };
    assert_eq!(other_protocol.open(&key_one, read.id, &read.sealed), None);
    for index in 0..read.sealed.len() {
        let mut changed = read.sealed.clone();
        changed[index] ^= 1;
        assert_eq!(subject.open(&key_one, read.id, &changed), None, "{index}");
    }
    // The number of the model stands outside, and is bound through the id.
    let newer = subject.read(&Envelope { model: 8, ..read.clone() }.bytes()).unwrap();
    assert_eq!((newer.model, newer.sealed == read.sealed), (8, true));
    assert_ne!(newer.id, read.id);
    assert_eq!(subject.open(&key_one, newer.id, &newer.sealed), None);
    // The same report sealed again has nothing in common with the first one but its length.
    let again = subject.seal(key_one.public(), 7, &values).unwrap();
    assert!(again.id != envelope.id && again.sealed != envelope.sealed);
    assert_eq!(again.bytes().len(), bytes.len());
}

#[test]
fn foreign_and_damaged_envelopes_are_refused() {
    let (subject, key_one) = (subject(), key(1));
    let bytes = subject.seal(key_one.public(), 7, &[0.0; 3]).unwrap().bytes();
    for length in 0..bytes.len() {
        assert!(subject.read(&bytes[..length]).is_err(), "{length}");
    }
    let refused = |index: usize| {
        let mut changed = bytes.clone();
        changed[index] ^= 1;
        subject.read(&changed).unwrap_err().to_string()
    };
    assert!(refused(0).starts_with("report = "));
    for index in 1..33 {
        assert!(refused(index).starts_with("protocol = "), "{index}");
    }
    assert!(subject.read(&[bytes.clone(), vec![0]].concat()).is_err());
    assert!(subject.seal(key_one.public(), 7, &[0.0; 2]).is_err());
    assert!(PublicKey::parse("00").is_err());
    let parsed = PublicKey::parse(&key_one.public().text()).unwrap();
    assert_eq!(&parsed, key_one.public());
}

#[test]
fn a_batch_of_another_size_is_refused() {
    let (subject, key_one) = (subject(), key(1));
    let sealed = |values: [f64; 3]| {
        let envelope = subject.seal(key_one.public(), 1, &values).unwrap();
        (envelope.id, envelope.sealed)
    };
    let reports = vec![sealed([1.0; 3]), sealed([2.0; 3])];
    let batch = SealedBatch { number: 4, key_id: key_one.public().id(), reports };
    let bytes = batch.bytes(&subject);
    assert_eq!(SealedBatch::read(&subject, 2, &bytes).unwrap(), batch);
    assert!(SealedBatch::read(&subject, 3, &bytes).unwrap_err().to_string().contains("reports"));
    for length in 0..bytes.len() {
        assert!(SealedBatch::read(&subject, 2, &bytes[..length]).is_err(), "{length}");
    }
    let other = Subject { protocol: [1; 32], ..subject.clone() };
    assert!(SealedBatch::read(&other, 2, &bytes).is_err());
}
