//! The trials of an experiment that are run, and the outcome.

use crate::report::summary::Summary;

/// Options of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RunOptions {
    /// Only every `of`-th trial, beginning with number `index` (from 0): other machines run the rest.
    pub shard: Option<Shard>,
    /// A trial that fails does not stop the others.
    pub keep_going: bool,
}

/// A part of a sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    /// The index of this part, from 0.
    pub index: usize,
    /// The number of parts.
    pub of: usize,
}

impl std::str::FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let parts =
            text.split_once('/').and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
        match parts {
            Some((i, of)) if (1..=of).contains(&i) => Ok(Shard { index: i - 1, of }),
            _ => Err("write it as i/n with i from 1 to n, such as 2/4".into()),
        }
    }
}

/// The outcome of a run.
#[derive(Debug)]
pub struct Outcome {
    /// All results, unless only a shard was run.
    pub summary: Option<Summary>,
    /// Trials computed now.
    pub computed: usize,
    /// Trials taken over from an earlier run.
    pub resumed: usize,
    /// Damaged results on disk, which were computed again.
    pub damaged: usize,
    /// Errors of failed trials, if the others continued.
    pub failures: Vec<String>,
}
