//! `reticent certify` for files of loops and for chains of releases.

use super::{json, refused, reticent, stderr, stdout};

/// A file of loops: guarantee, conditions with what enforces them, periods, all loops together; and the page.
#[test]
fn a_file_of_loops_is_certified_and_printed_as_a_page() {
    let folder = std::env::temp_dir().join(format!("reticent-loops-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/loops.toml");
    let page = folder.join("certificate.html");
    let page = page.to_str().unwrap();
    let text = stdout(&reticent(&["certify", file, "--page", page]));
    for words in [
        "loop home",
        "enforced     a person is learnt from at most 10 times in each calendar window of 30 days",
        "year         epsilon",
        "assumed      the caller uses the same id",
        "periods      12: epsilon",
        "for all visits of one person in one period of every loop",
        "all loops together",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let page = std::fs::read_to_string(page).unwrap();
    assert!(
        page.contains("Privacy certificate: home")
            && !page.contains("<script")
            && !page.contains("http")
    );
    let found = json(&["--json", "certify", file]);
    let guarantee = &found["loops"][0]["guarantee"];
    assert!((guarantee["epsilon"].as_f64().unwrap() - 1.0).abs() < 1e-3, "{guarantee}");
    assert_eq!(found["loops"][0]["conditions"][0]["enforcement"], "enforced");
    let broken = folder.join("loops.toml");
    let broken = broken.to_str().unwrap();
    for (lines, words) in [
        (
            "[loop.home]\nprivacy = { epsilon = -1.0, delta = 1e-6 }\n[loop.home.action]\nx = { range = [0, 1] }",
            "loop.home",
        ),
        (
            "[loop.home]\nprivacy = { epsilon = 1.0, delta = 1e-6, visits = 3 }\n[loop.home.action]\nx = { range = [0, 1] }",
            "give their period as `per`",
        ),
        ("[loop.<b>]", "loops"),
    ] {
        std::fs::write(broken, lines).unwrap();
        refused(&["certify", broken], &["loops.toml", words]);
    }
    refused(&["certify", file, "--set", "a=1"], &["this is a file of loops"]);
    refused(
        &["certify", file, "--page", folder.to_str().unwrap()],
        &["expected a file that can be written"],
    );
    let experiment = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/joint.toml");
    let page = folder.join("experiment.html");
    assert!(reticent(&["certify", experiment, "--page", page.to_str().unwrap()]).status.success());
    assert!(std::fs::read_to_string(page).unwrap().contains("attacker's best odds"));
    let _ = std::fs::remove_dir_all(&folder);
}

/// A listing of releases is followed to its head, and a change is named by its number.
#[test]
fn a_chain_of_releases_is_verified_and_a_change_is_found() {
    let folder = std::env::temp_dir().join(format!("reticent-chain-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("releases.ndjson");
    let name = file.to_str().unwrap();
    let listing = chain(4);
    std::fs::write(&file, &listing).unwrap();
    let found = json(&["--json", "certify", "--chain", name]);
    assert_eq!((found["first"].as_u64(), found["last"].as_u64()), (Some(1), Some(4)));
    let head = found["head"].as_str().unwrap().to_string();
    assert!(reticent(&["certify", "--chain", name, "--head", &head]).status.success());
    // As a client's token, whose last part only the service can check.
    let token = format!("{head}.{}", "7".repeat(32));
    assert!(reticent(&["certify", "--chain", name, "--head", &token]).status.success());
    let other = format!("4.{}", "0".repeat(32));
    let output = reticent(&["certify", "--chain", name, "--head", &other]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("the head does not lie on this chain"));
    assert!(stderr(&output).contains("no rollback was accepted"), "{}", stderr(&output));
    std::fs::write(&file, listing.replace("release number 3", "release number 7")).unwrap();
    refused(&["certify", "--chain", name], &["release 3", "another content"]);
    std::fs::write(&file, "").unwrap();
    refused(&["certify", "--chain", name], &["empty"]);
    refused(&["certify", "--chain", name, "--head", "x"], &["--head", "NUMBER.HASH"]);
    refused(&["certify"], &["<FILE>"]);
    let _ = std::fs::remove_dir_all(&folder);
}

/// For the head of a lost copy, the rollback that dropped it is named, with its charge.
#[test]
fn a_head_that_an_accepted_rollback_dropped_is_explained() {
    let folder = std::env::temp_dir().join(format!("reticent-dropped-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (lost, kept) = (folder.join("lost.ndjson"), folder.join("kept.ndjson"));
    let (lost, kept) = (lost.to_str().unwrap(), kept.to_str().unwrap());
    std::fs::write(lost, chain(4)).unwrap();
    let head = json(&["--json", "certify", "--chain", lost])["head"].as_str().unwrap().to_string();
    // A rollback to release 2.
    std::fs::write(kept, chain_with(2, Some(6))).unwrap();
    let output = reticent(&["certify", "--chain", kept, "--head", &head]);
    assert_eq!(output.status.code(), Some(1));
    let message = stderr(&output);
    for words in ["the accepted rollback 6", "left out releases 3 to 5", "release 2", "sqrt(2)"] {
        assert!(message.contains(words), "{words}: {message}");
    }
    let output = reticent(&["--json", "certify", "--chain", kept, "--head", &head]);
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&found["contains_head"], &found["dropped_by"]), (&false.into(), &6.into()));
    // Another release of a number that the chain has, and numbers that no rollback left out.
    for (number, words) in [(2, "may have dropped it"), (7, "the listing ends with release 6")] {
        let head = format!("{number}.{}", "0".repeat(32));
        let message = stderr(&reticent(&["certify", "--chain", kept, "--head", &head]));
        assert!(message.contains(words), "{words}: {message}");
    }
    let _ = std::fs::remove_dir_all(&folder);
}

/// A listing as the service writes it, of made-up releases.
fn chain(count: u64) -> String {
    chain_with(count, None)
}

/// The same, and a rollback of this number at its end.
fn chain_with(count: u64, rollback: Option<u64>) -> String {
    use reticent_loops::{
        ChainHeader, ChainLine, Rollback, first_chain, records::ReleaseRecord, secret::digest,
    };
    let (store, generation, params_hash) = ([5; 16], 2, 77);
    let mut chain = first_chain(store, generation, params_hash);
    let header = serde_json::to_string(&ChainHeader::new("home", store, generation, params_hash));
    let line = |record| serde_json::to_string(&ChainLine::new(&record).unwrap()).unwrap();
    let mut lines = vec![header.unwrap()];
    for number in 1..=count {
        let release = format!("release number {number}").into_bytes();
        let hash = digest(&[&release]);
        chain = digest(&[b"release", &chain, &number.to_le_bytes(), &hash]);
        lines.push(line(ReleaseRecord { number, time: 0, hash, chain, release }));
    }
    if let Some(number) = rollback {
        lines.push(line(Rollback { after: count, replays: 1 }.link(&chain, number, 0).unwrap()));
    }
    lines.join("\n")
}
