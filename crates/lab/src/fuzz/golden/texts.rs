//! Texts of messages: whole numbers that a double holds, no foreign fields, and no change by JavaScript.

use std::ops::Range;

use reticent::Result;

use super::messages;

/// Places of the numbers of a JSON text.
fn numbers(text: &str) -> Vec<Range<usize>> {
    let (mut found, mut quoted, mut escaped) = (Vec::<Range<usize>>::new(), false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => quoted = !quoted,
            b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E' if !quoted => {
                match found.last_mut().filter(|last| last.end == at) {
                    Some(last) => last.end += 1,
                    // The letter of `true` and `false`.
                    None if byte.is_ascii_alphabetic() => {}
                    None => found.push(at..at + 1),
                }
            }
            _ => {}
        }
    }
    found
}

fn replaced(text: &str, part: Range<usize>, by: &str) -> String {
    format!("{}{by}{}", &text[..part.start], &text[part.end..])
}

/// A reader that takes any JSON object: what a message must not be read by.
fn careless(text: &[u8]) -> Result<Vec<u8>> {
    let read = serde_json::from_slice::<serde_json::Value>(text);
    read.map(|_| Vec::new())
        .map_err(|error| reticent::Error::invalid("text", error, "expected JSON"))
}

/// The whole numbers of a message that may be replaced by 2^53 or more and are still read as numbers, and how many whole numbers there are.
/// Doubles are written with a point or an exponent, so a number without one is a field of integers.
fn inexact(text: &str, again: &dyn Fn(&[u8]) -> Result<Vec<u8>>) -> (Vec<String>, usize) {
    let whole = |place: &Range<usize>| text[place.clone()].parse::<u64>().is_ok();
    let places: Vec<_> = numbers(text).into_iter().filter(whole).collect();
    let larger = |place: &Range<usize>| {
        ["9007199254740992", "18446744073709551615"]
            .map(|number| replaced(text, place.clone(), number))
    };
    let all = places.iter().flat_map(larger);
    (all.filter(|larger| again(larger.as_bytes()).is_ok()).collect(), places.len())
}

/// A reader with doubles would change whole numbers from 2^53 on: no message holds one, and none is read.
#[test]
fn no_message_holds_a_whole_number_that_a_double_does_not() {
    let mut fields = 0;
    for golden in messages() {
        let text = golden.text();
        let whole = numbers(text).into_iter().filter_map(|place| text[place].parse::<u64>().ok());
        assert!(whole.max().is_none_or(|largest| largest < 1 << 53), "{text}");
        if let Some(again) = &golden.again {
            let (read, found) = inexact(text, again);
            assert!(read.is_empty(), "{read:#?}");
            fields += found;
        }
        // Planted.
        let (read, found) = inexact(text, &careless);
        assert_eq!(read.len(), 2 * found);
    }
    assert!(fields > 30, "{fields}");
    assert_eq!(numbers(r#"{"e":-1.5e-3,"t\"1":[true,20]}"#), [5..12, 26..28]);
}

/// A field that the kind does not know is refused wherever it stands.
#[test]
fn no_message_may_have_a_foreign_field() {
    for golden in messages() {
        let text = golden.text();
        let start = text.find("\"version\"").expect("a version");
        let first = start + text[start..].find(',').expect("fields");
        let inner = text.match_indices('{').skip(1).map(|(at, _)| at);
        for at in inner.chain([first]) {
            let foreign = format!("{}\"colour\":1,{}", &text[..=at], &text[at + 1..]);
            if let Some(again) = &golden.again {
                let error = again(foreign.as_bytes()).expect_err(&foreign).to_string();
                assert!(error.starts_with(golden.kind.name()), "{error}");
            }
            // Planted.
            assert!(careless(foreign.as_bytes()).is_ok(), "{foreign}");
        }
    }
}

/// JavaScript reads and writes every message without changing a count, a word or a double.
#[test]
fn every_message_passes_through_javascript() {
    use std::{io::Write, process};
    let script =
        "process.stdout.write(JSON.stringify(JSON.parse(require('fs').readFileSync(0, 'utf8'))))";
    let through = |text: &str| -> std::io::Result<String> {
        let mut node = process::Command::new("node")
            .args(["-e", script])
            .stdin(process::Stdio::piped())
            .stdout(process::Stdio::piped())
            .spawn()?;
        node.stdin.take().expect("piped").write_all(text.as_bytes())?;
        let output = node.wait_with_output()?;
        assert!(output.status.success(), "{:?}", output.status);
        Ok(String::from_utf8(output.stdout).expect("text"))
    };
    let frame = |text: &str| {
        let values: Vec<f64> =
            numbers(text).into_iter().map(|place| text[place].parse().expect("a number")).collect();
        let mut rest = text.to_string();
        numbers(text).into_iter().rev().for_each(|place| rest.replace_range(place, "#"));
        (rest, values)
    };
    if let Err(error) = through("{}") {
        assert!(std::env::var_os("CI").is_none(), "node is needed: {error}");
        eprintln!("SKIPPED: every_message_passes_through_javascript needs node ({error})");
        return;
    }
    for golden in messages() {
        let back = through(golden.text()).expect("node runs");
        assert_eq!(frame(&back), frame(golden.text()), "{}", golden.file());
        if let Some(again) = &golden.again {
            assert_eq!(again(back.as_bytes()).expect("still a message"), golden.bytes);
        }
    }
    // Planted: a count as a number.
    let text = r#"{"sequence":9007199254740993}"#;
    assert_ne!(through(text).expect("node runs"), text);
}
