//! `reticent bench`: measured figures beside their references.

use std::fmt::Write;

use clap::Args;
use reticent_lab::bench;
use serde_json::json;

use crate::{error::Error, report::Report};

/// The figures the documentation quotes, measured in one run beside their references.
#[derive(Args)]
#[command(
    after_help = "Example: reticent bench --json\n\nOpenDP's Python package is measured too where it is installed: \
    in RETICENT_PYTHON, in target/oracles (made by `cargo xtask test`), or as python3. \
    Built with `--features clarabel`, the section `safe` has the enumeration of paper 3 beside ours.\n\n\
    `cargo xtask bench` measures the service."
)]
pub struct Arguments {
    /// Sections to measure, such as linucb or paper1; without any, all of them (some minutes).
    sections: Vec<String>,
}

/// Measures everything.
pub fn run(arguments: Arguments) -> Result<Report, Error> {
    if cfg!(debug_assertions) {
        crate::say!(
            "warning: this is a debug build; the documentation quotes `cargo run --release -- bench`"
        );
    }
    let sections = bench::run(&arguments.sections, |next| crate::say!("measuring {next} ..."))?;
    let mut text = String::new();
    sections.iter().for_each(|section| write_section(&mut text, section));
    Ok(Report::new(text, &json!({ "sections": sections })))
}

fn write_section(text: &mut String, section: &bench::Section) {
    let _ = writeln!(text, "\n{}", section.title);
    for figure in &section.figures {
        let _ = write!(text, "  {:<64} {:>10.4} {:<3}", figure.what, figure.measured, figure.unit);
        if let (Some(reference), Some(ratio)) = (figure.reference, figure.ratio()) {
            let _ = write!(text, "  {reference:>9.4}  x {ratio:.4}  {}", figure.source);
        }
        text.push('\n');
    }
}
