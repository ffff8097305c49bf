//! `reticent learn`: a private linear model from a file of people, in one pass.

use std::{
    fmt::Write,
    path::{Path, PathBuf},
};

use clap::Args;
use reticent::noise::SecureNoise;
use reticent_lab::algorithm::online::{LearnFile, Learnt};

use super::read;
use crate::{error::Error, report::Report};

/// Learns a linear model in one pass over a CSV file, with the privacy that each person asks for.
#[derive(Args)]
#[command(after_help = "Example: reticent learn examples/learn.toml --out model.json")]
pub struct Arguments {
    /// A TOML file: file, loss, label, features, ranges, privacy or epsilon_column, test.
    file: PathBuf,
    /// Path of the file that the model is written to, as JSON.
    #[arg(long)]
    out: Option<PathBuf>,
}

/// Learns the model.
pub fn run(arguments: Arguments) -> Result<Report, Error> {
    let named = |error| Error::in_file(&arguments.file, error);
    let file = LearnFile::parse(&read(&arguments.file)?).map_err(named)?;
    let folder = arguments.file.parent().unwrap_or(Path::new(""));
    let learnt = file.beside(folder).learn(&mut SecureNoise::from_system()?).map_err(named)?;
    let mut warnings = learnt.warnings.clone();
    for certificate in &learnt.certificates {
        let whom = &certificate.whom;
        warnings.extend(certificate.guarantee.warnings().iter().map(|w| format!("{whom}: {w}")));
    }
    let mut text = describe(&learnt);
    if let Some(path) = &arguments.out {
        let json = serde_json::to_string_pretty(&learnt).expect("a model is plain data");
        std::fs::write(path, json).map_err(|error| reticent_lab::Error::Unwritable {
            path: path.clone(),
            reason: error.to_string(),
        })?;
        let _ = writeln!(text, "\nWritten to {}", path.display());
    }
    Ok(Report::new(text, &learnt).warn(warnings).note(learnt.for_the_holder.clone()))
}

fn describe(learnt: &Learnt) -> String {
    let mut text = String::new();
    let Learnt { private, in_the_clear, silent, .. } = learnt;
    let _ = writeln!(
        text,
        "{private} people with noise, {in_the_clear} without noise, {silent} who sent nothing\n"
    );
    let width = learnt.features.iter().map(|feature| feature.column.name.chars().count()).max();
    let width = width.unwrap_or(0).max("constant".len());
    for feature in &learnt.features {
        let column = &feature.column;
        let _ = writeln!(
            text,
            "{:<width$} {:>12.5} for each half of [{}, {}]",
            column.name, feature.weight, column.low, column.high
        );
    }
    let _ = writeln!(text, "{:<width$} {:>12.5}", "constant", learnt.constant);
    let label = &learnt.label;
    let _ = if learnt.loss.classifies() {
        writeln!(
            text,
            "{} is {} where the sum is above 0, else {}",
            label.name, label.high, label.low
        )
    } else {
        writeln!(text, "{} is {} at a sum of -1 and {} at 1", label.name, label.low, label.high)
    };
    for certificate in &learnt.certificates {
        let _ = writeln!(text, "\n{}:\n{}", certificate.whom, certificate.guarantee.table());
    }
    if let Some(test) = learnt.test {
        let (people, loss, zero) = (test.people, test.mean_loss, test.mean_loss_of_zero);
        let _ = write!(text, "\non {people} other people: mean loss {loss:.4}, {zero:.4} for 0");
        if let Some(accuracy) = test.accuracy {
            let _ = write!(text, ", accuracy {accuracy:.3}");
        }
        text.push('\n');
    }
    text
}
