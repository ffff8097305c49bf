//! Listings that are followed, changed and cut.

use super::*;

fn listing(count: u64) -> Vec<String> {
    let header = ChainHeader::new("home", [7; 16], 3, 99);
    let mut chain = header.first_chain().unwrap();
    let mut lines = vec![serde_json::to_string(&header).unwrap()];
    for number in 1..=count {
        let release = format!("{{\"sums\": [{number}, 1e-6]}}").into_bytes();
        let hash = digest(&[&release]);
        chain = digest(&[b"release", &chain, &number.to_le_bytes(), &hash]);
        let record = ReleaseRecord { number, time: number, hash, chain, release };
        lines.push(serde_json::to_string(&ChainLine::new(&record).unwrap()).unwrap());
    }
    lines
}

fn verify(lines: &[String], head: Option<HeadName>) -> Result<VerifiedChain> {
    verify_chain(lines.iter().cloned().map(Ok::<_, String>), head)
}

#[test]
fn a_whole_chain_is_followed_to_its_head() {
    let lines = listing(5);
    let found = verify(&lines, None).unwrap();
    assert_eq!((found.first, found.last, found.whole, found.hashes), (1, 5, 5, 0));
    assert!(found.from_the_beginning && found.contains_head.is_none());
    let head = HeadName::parse(&verify(&lines[..4], None).unwrap().head);
    assert_eq!(verify(&lines, head).unwrap().contains_head, Some(true));
    let other = HeadName::new(3, &[1; 32]);
    assert_eq!(verify(&lines, Some(other)).unwrap().contains_head, Some(false));
}

/// A listing from this line on, with the chain before it in the header, as it is served.
fn later(lines: &[String], from: usize) -> Vec<String> {
    let before: serde_json::Value = serde_json::from_str(&lines[from - 1]).unwrap();
    let begin: serde_json::Value = serde_json::from_str(&lines[from]).unwrap();
    let mut header: serde_json::Value = serde_json::from_str(&lines[0]).unwrap();
    header["from"] = begin["number"].clone();
    header["chain"] = before["chain"].clone();
    [&[header.to_string()], &lines[from..]].concat()
}

#[test]
fn the_first_line_of_a_later_listing_is_bound_to_its_chain() {
    let lines = listing(5);
    let found = verify(&later(&lines, 3), None).unwrap();
    assert_eq!((found.first, found.last, found.from_the_beginning), (3, 5, false));
    // Without the chain before it, its content could be anything.
    let unbound: Vec<String> = [&lines[..1], &lines[3..]].concat();
    assert!(verify(&unbound, None).is_err());
    let forge = |lines: &mut Vec<String>, text: &str| {
        let mut line: serde_json::Value = serde_json::from_str(&lines[1]).unwrap();
        line["release"] = text.into();
        line["hash"] = hex(&digest(&[text.as_bytes()])).into();
        lines[1] = line.to_string();
        verify(lines, None).unwrap_err().to_string()
    };
    let forged = forge(&mut later(&lines, 3), "{}");
    assert!(forged.contains("a break of the chain"), "{forged}");
    let lines = rolled_back(7);
    assert_eq!(verify(&later(&lines, 3), None).unwrap().rollbacks.len(), 1);
    let cheaper = r#"{"accepted_rollback":{"after":2,"replays":1}} "#;
    let forged = forge(&mut later(&lines, 3), cheaper);
    assert!(forged.contains("a break of the chain"), "{forged}");
}

#[test]
fn a_change_is_found_at_its_number() {
    let lines = listing(5);
    let broken = |change: &dyn Fn(&mut Vec<String>)| {
        let mut lines = lines.clone();
        change(&mut lines);
        verify(&lines, None).unwrap_err().to_string()
    };
    let content = broken(&|lines| lines[3] = lines[3].replace("[3,", "[4,"));
    assert!(content.starts_with("release 3: got another content"), "{content}");
    let removed = broken(&|lines| drop(lines.remove(2)));
    assert!(removed.starts_with("release 3: got a release out of order"), "{removed}");
    let store = broken(&|lines| lines[0] = lines[0].replace("0707", "0708"));
    assert!(store.starts_with("release 1: got a break of the chain"), "{store}");
    // A release that is replaced together with its hash breaks the link.
    let other = listing(5)[2].replace("[2,", "[9,");
    let hash = hex(&digest(&[b"{\"sums\": [9, 1e-6]}"]));
    let replaced = broken(&|lines| {
        let mut line: serde_json::Value = serde_json::from_str(&other).unwrap();
        line["hash"] = hash.clone().into();
        lines[2] = line.to_string();
    });
    assert!(replaced.starts_with("release 2: got a break of the chain"), "{replaced}");
    for bad in ["", "{}", "{\"number\": 1}", "[]", "\u{0}"] {
        let lines = [vec![lines[0].clone()], vec![format!("{bad}x")]].concat();
        assert!(verify(&lines, None).is_err());
        assert!(verify(&[bad.to_string()], None).is_err());
    }
}

#[test]
fn hashes_alone_keep_the_chain_and_objects_count_as_they_stand() {
    let mut lines = listing(3);
    let mut line: serde_json::Value = serde_json::from_str(&lines[1]).unwrap();
    line["release"] = serde_json::Value::Null;
    lines[1] = line.to_string();
    let mut line: serde_json::Value = serde_json::from_str(&lines[2]).unwrap();
    let text = line["release"].as_str().unwrap().to_string();
    line["release"] = "PLACE".into();
    lines[2] = line.to_string().replace("\"PLACE\"", &text);
    let found = verify(&lines, None).unwrap();
    assert_eq!((found.whole, found.hashes), (2, 1));
}

/// A chain with a rollback after release 2 of `lost`, and two releases after it.
fn rolled_back(lost: u64) -> Vec<String> {
    let mut lines = listing(2);
    let last: serde_json::Value = serde_json::from_str(&lines[2]).unwrap();
    let mut chain = bytes(last["chain"].as_str().unwrap()).unwrap();
    let link = Rollback { after: 2, replays: 1 }.link(&chain, lost + 1, 9).unwrap();
    chain = link.chain;
    lines.push(serde_json::to_string(&ChainLine::new(&link).unwrap()).unwrap());
    for number in lost + 2..lost + 4 {
        let release = b"{}".to_vec();
        let hash = digest(&[&release]);
        chain = linked(b"release", &chain, number, &hash);
        let record = ReleaseRecord { number, time: 9, hash, chain, release };
        lines.push(serde_json::to_string(&ChainLine::new(&record).unwrap()).unwrap());
    }
    lines
}

#[test]
fn an_accepted_rollback_is_a_link_that_shows_its_charge() {
    let lines = rolled_back(7);
    let found = verify(&lines, None).unwrap();
    assert_eq!((found.first, found.last, found.whole), (1, 10, 4));
    assert!(found.from_the_beginning);
    let rollback = Some(Rollback { after: 2, replays: 1 });
    let left_out = Some((3, 7));
    assert_eq!(found.rollbacks, [VerifiedRollback { number: 8, left_out, rollback }]);
    // With its hash alone it is still distinguished from a release.
    let mut hashed = lines.clone();
    let mut line: serde_json::Value = serde_json::from_str(&hashed[3]).unwrap();
    line["release"] = serde_json::Value::Null;
    hashed[3] = line.to_string();
    let found = verify(&hashed, None).unwrap();
    assert_eq!(found.rollbacks, [VerifiedRollback { number: 8, left_out, rollback: None }]);
    let broken = |change: &dyn Fn(&mut Vec<String>)| {
        let mut lines = lines.clone();
        change(&mut lines);
        verify(&lines, None).unwrap_err().to_string()
    };
    // It cannot be left out, moved or charged less, and no gap passes as one.
    assert!(broken(&|lines| drop(lines.remove(3))).contains("a release out of order"));
    assert!(broken(&|lines| drop(lines.remove(2))).contains("a break of the chain"));
    let cheaper = broken(&|lines| lines[3] = lines[3].replace(":1}}", ":0}}"));
    assert!(cheaper.contains("another content"), "{cheaper}");
    let forged = broken(&|lines| {
        let text = r#"{"accepted_rollback":{"after":2,"replays":0}}"#;
        let mut line: serde_json::Value = serde_json::from_str(&lines[3]).unwrap();
        line["release"] = text.into();
        line["hash"] = hex(&digest(&[text.as_bytes()])).into();
        lines[3] = line.to_string();
    });
    assert!(forged.contains("a break of the chain"), "{forged}");
}

#[test]
fn a_head_that_a_rollback_dropped_differs_from_one_that_never_was() {
    let (whole, lost) = (rolled_back(7), listing(7));
    let dropped = |lines: &[String], head: HeadName| {
        let found = verify(lines, Some(head)).unwrap();
        (found.contains_head, found.dropped_by)
    };
    let head_of = |lines: &[String]| HeadName::parse(&verify(lines, None).unwrap().head).unwrap();
    // The lost copy went on from release 2 to 7, with the same releases 1 and 2.
    for number in 1..=7 {
        let head = head_of(&lost[..=number]);
        let expected = if number <= 2 { (Some(true), None) } else { (Some(false), Some(8)) };
        assert_eq!(dropped(&whole, head), expected, "{number}");
    }
    // A copy that was served beside this one has other releases under the same numbers.
    assert_eq!(dropped(&whole, HeadName::new(2, &[1; 32])), (Some(false), Some(8)));
    assert_eq!(dropped(&whole, HeadName::new(8, &[1; 32])), (Some(false), Some(8)));
    // No rollback has dropped what comes after the last one, or stands on a chain without any.
    for number in 9..12 {
        assert_eq!(dropped(&whole, HeadName::new(number, &[1; 32])), (Some(false), None));
    }
    assert_eq!(dropped(&lost, HeadName::new(2, &[1; 32])), (Some(false), None));
    // A listing that begins at the rollback says nothing about numbers before those that were left out.
    let later = later(&whole, 3);
    assert_eq!(dropped(&later, head_of(&lost[..=5])), (Some(false), Some(8)));
    assert_eq!(dropped(&later, HeadName::new(1, &[1; 32])), (Some(false), None));
}

/// A chain with a second rollback, after release 10, that charges this number of replays.
fn rolled_back_twice(replays: u64) -> Vec<String> {
    let mut lines = rolled_back(7);
    let last: serde_json::Value = serde_json::from_str(&lines[5]).unwrap();
    let chain = bytes(last["chain"].as_str().unwrap()).unwrap();
    let link = Rollback { after: 10, replays }.link(&chain, 15, 9).unwrap();
    lines.push(serde_json::to_string(&ChainLine::new(&link).unwrap()).unwrap());
    lines
}

#[test]
fn every_rollback_charges_more_than_the_one_before() {
    assert_eq!(verify(&rolled_back_twice(2), None).unwrap().rollbacks.len(), 2);
    for replays in [0, 1] {
        let refused = verify(&rolled_back_twice(replays), None).unwrap_err().to_string();
        assert!(refused.contains("a break of the chain"), "{replays}: {refused}");
    }
}

#[test]
fn the_first_of_two_rollbacks_after_a_head_dropped_it() {
    let lines = rolled_back_twice(2);
    for (number, rollback) in [(2, 8), (5, 8), (9, 15), (14, 15)] {
        let found = verify(&lines, Some(HeadName::new(number, &[1; 32]))).unwrap();
        assert_eq!(found.dropped_by, Some(rollback), "{number}");
    }
}
