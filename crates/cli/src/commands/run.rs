//! `reticent run`: an experiment from a file.

use std::{fmt::Write, path::PathBuf};

use clap::Args;
use reticent_lab::{Kinds, Override, RunOptions, Shard, report::summary::Summary};
use unicode_width::UnicodeWidthStr;

use super::{experiment, is_file_of_loops, read, run_loop};
use crate::{error::Error, progress::watched, report::Report};

/// Runs an experiment: a table, figures and a report. Finished trials are not computed again.
#[derive(Args)]
#[command(
    after_help = "Example: reticent run examples/joint.toml --set algorithm.privacy.epsilon=0.5 --out results/joint\n\nA loop of a service on an exported log: reticent run loops.toml --loop home --log home.csv"
)]
pub struct Arguments {
    /// A TOML file: name, rounds, trials, seed, [environment], [[algorithm]]. A list in place of a value makes a grid. Or a file of loops, with
    /// --log.
    experiment: PathBuf,
    /// Folder for the results; by default `results/` and the file's name.
    #[arg(long)]
    out: Option<PathBuf>,
    /// Another value for a key of the file, such as algorithm.privacy.epsilon=0.5; may be given several times.
    #[arg(long, value_name = "PATH=VALUE")]
    set: Vec<Override>,
    /// Only part i of n of the trials; join the folders with `reticent merge`.
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,
    /// For a file of loops: a log as `/v1/loops/{loop}/events/export?format=csv` gives it. The loop's learner is trained on its first half, and
    /// judged by its second.
    #[arg(long, value_name = "CSV")]
    log: Option<PathBuf>,
    /// For a file of several loops: which one.
    #[arg(long, value_name = "LOOP", requires = "log")]
    r#loop: Option<String>,
    /// A trial that fails does not stop the others; the exit code is 1 all the same.
    #[arg(long)]
    keep_going: bool,
}

/// Runs the experiment.
pub fn run(arguments: Arguments, kinds: &Kinds) -> Result<Report, Error> {
    let path = &arguments.experiment;
    let tried_on_a_log = arguments.log.is_some() || is_file_of_loops(&read(path)?);
    let experiment = match tried_on_a_log {
        true => {
            let (log, name) = (arguments.log.as_deref(), arguments.r#loop.as_deref());
            run_loop::experiment(path, log, name, &arguments.set)?
        }
        false => experiment(path, &arguments.set, kinds)?,
    };
    let stem = path.file_stem().unwrap_or_default();
    let out = arguments.out.unwrap_or_else(|| PathBuf::from("results").join(stem));
    let options = RunOptions { shard: arguments.shard, keep_going: arguments.keep_going };
    let outcome = watched(|watch| experiment.run_until(&out, options, watch, |_, _| ()))?;
    if outcome.resumed > 0 {
        crate::say!("{} trials were finished before and are reused", outcome.resumed);
    }
    if outcome.damaged > 0 {
        crate::say!("{} stored trials were damaged and computed again", outcome.damaged);
    }
    let report = match &outcome.summary {
        Some(summary) => report(summary, &out),
        None => {
            let text = format!(
                "{} trials in {}; when all shards are there: reticent merge FOLDERS... --out {}",
                outcome.computed + outcome.resumed,
                out.display(),
                "results/merged"
            );
            let json = serde_json::json!({
                "computed": outcome.computed,
                "resumed": outcome.resumed,
                "folder": out,
            });
            Report::new(text, &json)
        }
    };
    let notes = tried_on_a_log.then(|| run_loop::NOTE.to_string());
    Ok(report.note(notes).fail(outcome.failures))
}

/// The comparison as a table, and the path of the report.
pub fn report(summary: &Summary, folder: &std::path::Path) -> Report {
    let mut text = String::new();
    let (header, rows) = summary.table();
    text.push_str(&table(&header, &rows));
    for row in summary.details() {
        let _ = writeln!(text, "{}: {} {}", row[0], row[1], row[2]);
    }
    let _ = write!(text, "\nDrawn in {}", folder.join("report.html").display());
    Report::new(text, summary).warn(summary.warnings()).note(summary.notes())
}

/// A table with aligned columns: the first column to the left, the others to the right. A letter of Chinese takes two places of a terminal.
pub fn table(header: &[String], rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = std::iter::once(header).chain(rows.iter().map(Vec::as_slice));
        cells.map(|row| row[column].width()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..header.len()).map(width).collect();
    let mut text = String::new();
    for row in std::iter::once(header).chain(rows.iter().map(Vec::as_slice)) {
        let spaces = |column: usize| " ".repeat(widths[column] - row[column].width());
        let _ = write!(text, "{}{}", row[0], spaces(0));
        for (column, cell) in row.iter().enumerate().skip(1) {
            let _ = write!(text, "  {}{cell}", spaces(column));
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_where_letters_are_wide() {
        let row = |cells: [&str; 2]| cells.map(String::from).to_vec();
        let text = table(&row(["name", "value"]), &[row(["隐私", "1"]), row(["longer", "22"])]);
        // Two places for each letter of the second line.
        assert_eq!(text, "name    value\n隐私        1\nlonger     22\n");
    }
}
