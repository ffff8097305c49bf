//! Fuzzing of everything that reads external bytes: no input may cause a panic.
//!
//! ```text
//! cargo xtask fuzz --minutes 10
//! ```
//!
//! A mutational fuzzer over a kept corpus (`crates/lab/corpus`, and the files of `examples`): bits, bytes, numbers, lines and tokens are
//! changed, removed, doubled and exchanged between seeds. Saved states, nested ones included, get a new checksum after every change,
//! because otherwise only the checksum would be tested; a state that is accepted is used for a few rounds. An error is a correct result. A
//! panic is a finding: the input is printed, and is added to the corpus when the fault is fixed.
//!
//! | file | contents |
//! | --- | --- |
//! | `mutate` | how inputs are changed |
//! | `targets` | all readers of external bytes |
//! | `samples` | messages and saved states as this library writes them |
//! | `golden` | those in `vectors/wire`, which every later version reads or refuses by name |

mod golden;
mod mutate;
mod samples;
mod targets;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    time::{Duration, Instant},
};

use mutate::Mutator;
use targets::{Target, all};

/// Former findings and other useful inputs: one folder for each target.
fn corpus() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

/// Tells whether a target handles an input without a panic.
fn survives(target: &Target, input: &[u8]) -> bool {
    catch_unwind(AssertUnwindSafe(|| (target.read)(input))).is_ok()
}

/// Fuzzes every target in turn for `time` in total; returns the findings as target and input.
fn fuzz(time: Duration, seed: u64) -> Vec<(&'static str, Vec<u8>)> {
    let targets = all();
    let share = time / targets.len() as u32;
    let mut findings = Vec::new();
    for (number, target) in targets.iter().enumerate() {
        let mut mutator = Mutator::new(seed ^ (number as u64) << 32, target.seeds.clone());
        let (start, mut inputs) = (Instant::now(), 0_u64);
        while start.elapsed() < share {
            let input = mutator.next(target.sealed);
            if !survives(target, &input) {
                findings.push((target.name, input));
                if findings.len() > 20 {
                    return findings;
                }
            }
            inputs += 1;
        }
        println!("{}: {inputs} inputs from {} seeds", target.name, target.seeds.len());
    }
    findings
}

fn show(findings: &[(&str, Vec<u8>)]) {
    for (target, input) in findings {
        let text = String::from_utf8(input.clone())
            .unwrap_or_else(|_| input.iter().map(|byte| format!("{byte:02x}")).collect());
        println!("FINDING in {target}:\n{text}\n");
    }
}

#[test]
fn every_kept_input_is_survived() {
    for target in all() {
        for seed in &target.seeds {
            assert!(survives(&target, seed), "{}", target.name);
        }
    }
}

#[test]
fn seconds_of_fuzzing_find_nothing() {
    let findings = fuzz(Duration::from_secs(4), 1);
    show(&findings);
    assert!(findings.is_empty(), "{} findings", findings.len());
}

/// A reader that panics is detected; otherwise the two tests above would prove nothing.
#[test]
fn a_reader_that_panics_is_detected() {
    let target = Target {
        name: "fragile",
        seeds: vec![b"size = 10".to_vec()],
        sealed: false,
        read: Box::new(|bytes| {
            let text = String::from_utf8_lossy(bytes);
            let size: i64 = text.split('=').nth(1).map_or(0, |n| n.trim().parse().unwrap_or(0));
            assert!(size >= 0, "a size below zero");
        }),
    };
    let mut mutator = Mutator::new(1, target.seeds.clone());
    let found = (0..20_000).any(|_| !survives(&target, &mutator.next(false)));
    assert!(found);
}

#[test]
#[ignore = "cargo xtask fuzz runs it"]
fn minutes_of_fuzzing_find_nothing() {
    let minutes: f64 =
        std::env::var("RETICENT_FUZZ_MINUTES").ok().and_then(|m| m.parse().ok()).unwrap_or(10.0);
    let seed = std::env::var("RETICENT_FUZZ_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(2);
    let findings = fuzz(Duration::from_secs_f64(60.0 * minutes), seed);
    show(&findings);
    assert!(findings.is_empty(), "{} findings", findings.len());
}
