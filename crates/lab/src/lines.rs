//! Files of TOML lines: what a parser refuses, with its line and the nearest word that would do.

use serde::de::DeserializeOwned;

use crate::{Error, Result};

/// What the file says, or the line that stands in the way and what is wrong with it.
///
/// ```
/// #[derive(serde::Deserialize)]
/// #[serde(deny_unknown_fields)]
/// struct Lines { horizon: u64 }
/// assert_eq!(reticent_lab::parse_lines::<Lines>("horizon = 3")?.horizon, 3);
/// let error = reticent_lab::parse_lines::<Lines>("\nhorison = 3").err().unwrap().to_string();
/// assert!(error.contains("line 2") && error.contains("did you mean `horizon`"));
/// # Ok::<(), reticent_lab::Error>(())
/// ```
pub fn parse_lines<T: DeserializeOwned>(text: &str) -> Result<T> {
    toml::from_str(text).map_err(|error| {
        let message = error.message().lines().next().unwrap_or_default();
        let line = error.span().map(|span| line_of(text, span.start));
        Error::experiment(with_suggestion(message)).at(line, "")
    })
}

/// The line of a place in a text, from 1.
pub(crate) fn line_of(text: &str, offset: usize) -> usize {
    text.as_bytes()[..offset.min(text.len())].iter().filter(|byte| **byte == b'\n').count() + 1
}

/// The parser's words about something unknown, with the known word that was most likely meant.
pub(crate) fn with_suggestion(message: &str) -> String {
    // unknown field `a`, expected one of `b`, `c`
    let mut words = message.split('`').skip(1).step_by(2);
    match (message.starts_with("unknown "), words.next()) {
        (true, Some(word)) => match nearest(word, words) {
            Some(nearest) => format!("{message}: did you mean `{nearest}`?"),
            None => message.to_string(),
        },
        _ => message.to_string(),
    }
}

/// The word that a misspelt one most likely means.
fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let close = known.map(|other| (distance(word, other), other)).min()?;
    (close.0 <= 1 + word.chars().count() / 3).then_some(close.1)
}

/// Levenshtein's.
fn distance(one: &str, two: &str) -> usize {
    let two: Vec<char> = two.chars().collect();
    let mut row: Vec<usize> = (0..=two.len()).collect();
    for (i, a) in one.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in two.iter().enumerate() {
            let substituted = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[two.len()]
}
