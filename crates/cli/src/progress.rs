//! Progress of a run on stderr (a bar on a terminal, occasional lines elsewhere), and the handling of Ctrl-C.
//!
//! The first Ctrl-C stops the run at the next round of every trial, and the command ends with a message about the kept results; the second
//! one ends the process at once. Finished trials are on disk either way.

use std::{
    io::IsTerminal,
    process::exit,
    sync::{Arc, mpsc},
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressStyle};
use reticent_lab::{Error as LabError, Standing, Watch};

use crate::error::{Error, INTERRUPTED};

/// The interval at which a bar is drawn.
const DRAWN: Duration = Duration::from_millis(200);
/// The time of the first line without a terminal; the time between two lines then doubles up to [`LONGEST`].
const FIRST: Duration = Duration::from_secs(5);
const LONGEST: Duration = Duration::from_secs(60);
/// Parts of a trial that a bar can show.
const PARTS: f64 = 1000.0;

/// Runs `work` and shows the progress of its trials. After Ctrl-C the error says which results are kept and how to continue.
pub fn watched<T>(work: impl FnOnce(&Watch) -> reticent_lab::Result<T>) -> Result<T, Error> {
    let watch = Arc::new(Watch::default());
    let in_handler = watch.clone();
    // If no handler can be set, Ctrl-C ends the process as usual.
    let _ = ctrlc::set_handler(move || {
        if in_handler.stopped() {
            exit(i32::from(INTERRUPTED));
        }
        in_handler.stop();
        crate::say!("\nstopping; press Ctrl-C again to end at once");
    });
    let (finished, over) = mpsc::channel();
    let result = std::thread::scope(|scope| {
        scope.spawn(|| show(&watch, over));
        let result = work(&watch);
        drop(finished);
        result
    });
    result.map_err(|error| match error {
        LabError::Stopped { finished, folder } => {
            Error::Interrupted(kept(&finished, &folder.display().to_string()))
        }
        other => other.into(),
    })
}

/// Shows the progress until the run is `over`.
fn show(watch: &Watch, over: mpsc::Receiver<()>) {
    let waited = |time| matches!(over.recv_timeout(time), Err(mpsc::RecvTimeoutError::Timeout));
    if std::io::stderr().is_terminal() {
        let style = ProgressStyle::with_template("{bar:24} {wide_msg}");
        let bar = ProgressBar::new(0).with_style(style.expect("the template is well-formed"));
        while waited(DRAWN) {
            let standing = watch.standing();
            bar.set_length((PARTS * standing.all as f64) as u64);
            bar.set_position((PARTS * trials_done(&standing)) as u64);
            bar.set_message(standing.to_string());
        }
        bar.finish_and_clear();
        return;
    }
    let mut pause = FIRST;
    let mut next = Instant::now() + pause;
    while waited(next.saturating_duration_since(Instant::now())) {
        crate::say!("{}", watch.standing());
        pause = (2 * pause).min(LONGEST);
        next += pause;
    }
}

/// Trials, those that are running by their share of rounds.
fn trials_done(standing: &Standing) -> f64 {
    let share = |(.., round): &(String, u64, u64)| *round as f64 / standing.rounds.max(1) as f64;
    standing.finished as f64 + standing.running.iter().map(share).sum::<f64>()
}

/// The message after Ctrl-C: the kept results, and the command that continues the run.
fn kept(finished: &[(String, usize, usize)], folder: &str) -> String {
    let done: usize = finished.iter().map(|(_, done, _)| done).sum();
    let all: usize = finished.iter().map(|(.., all)| all).sum();
    let each: Vec<String> =
        finished.iter().map(|(name, done, all)| format!("  {name}: {done} of {all}")).collect();
    let words = std::env::args_os().map(|word| quoted(&word.to_string_lossy()));
    let command: Vec<String> = words.collect();
    format!(
        "stopped; {done} of {all} trials are finished and kept in {folder}:\n{}\nThe same command continues from there and restarts the trials that were running:\n  {}",
        each.join("\n"),
        command.join(" ")
    )
}

/// A word, quoted for a shell.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_string()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_a_shell() {
        assert_eq!(quoted("trials=3"), "trials=3");
        assert_eq!(
            quoted("algorithm.privacy={ epsilon = 1 }"),
            "'algorithm.privacy={ epsilon = 1 }'"
        );
        assert_eq!(quoted("it's"), "'it'\\''s'");
        assert_eq!(quoted(""), "''");
    }
}
