//! `reticent audit`: attacks privacy guarantees, and reports what the attacks prove.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use reticent::{randomize::Report as DeviceReport, wire};
use reticent_lab::{
    Kinds, Override,
    audit::attack::{AuditOptions, NoiseKind, given},
    audit::{self, Findings, everything},
};

use super::{experiment, read};
use crate::{error::Error, report::Report};

/// Attacks every algorithm of an experiment: a lower confidence bound on epsilon, and a verdict on each guarantee.
///
/// Exit code 1 if a certificate of ours is violated. A refuted claim of a publication is a finding, not a failure. Without a file: every
/// guarantee, known mistake and confidence set that Reticent knows of, attacked in minutes.
#[derive(Args)]
#[command(
    after_help = "Example: reticent audit crates/lab/audits/paper0.toml\n\nReports that another program has made, one message a line: reticent audit --protocol protocol.json --reports first.ndjson second.ndjson --confidence 0.999999"
)]
pub struct Arguments {
    /// The experiment's TOML file; without it, Reticent itself.
    experiment: Option<PathBuf>,
    /// Runs of each of the two data sets, in place of each attack's own number.
    #[arg(long)]
    samples: Option<u64>,
    /// Seed of all randomness.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Confidence of each single bound and verdict.
    #[arg(long, default_value_t = 0.95)]
    confidence: f64,
    /// Seeded noise, or the secure noise of a deployment (slower, and different in every run).
    #[arg(long, value_enum, default_value_t = Noise::Fast)]
    noise: Noise,
    /// Without a file: a minute instead of ten.
    #[arg(long, conflicts_with = "experiment")]
    quick: bool,
    /// Another value for a key of the file, such as algorithm.privacy.epsilon=0.5; may be given several times.
    #[arg(long, value_name = "PATH=VALUE", requires = "experiment")]
    set: Vec<Override>,
    /// In place of an experiment: the protocol of a loop of devices, whose reports are attacked as another program has made them.
    #[arg(long, value_name = "FILE", requires = "reports", conflicts_with_all = ["experiment", "quick", "samples"])]
    protocol: Option<PathBuf>,
    /// Reports of two people, one message a line; each by a new installation.
    #[arg(long, num_args = 2, value_names = ["FIRST", "SECOND"], requires = "protocol")]
    reports: Vec<PathBuf>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Noise {
    /// Seeded.
    Fast,
    /// Exact laws, keyed by the operating system.
    Secure,
}

/// Runs the attacks.
pub fn run(arguments: Arguments, kinds: &Kinds) -> Result<Report, Error> {
    let Arguments { samples, seed, confidence, .. } = arguments;
    let noise = match arguments.noise {
        Noise::Fast => NoiseKind::Fast,
        Noise::Secure => NoiseKind::Secure,
    };
    let options = AuditOptions { samples, scale: 1.0, seed, confidence, noise };
    options.check()?;
    if let Some(protocol) = &arguments.protocol {
        return attack_reports(protocol, &arguments.reports, &options);
    }
    let say = |what: &str, attack: &str| crate::say!("{what}: {attack}");
    match &arguments.experiment {
        Some(path) => {
            let experiment = experiment(path, &arguments.set, kinds)?;
            let findings = audit::audit(&experiment, &options, say)?;
            let violated: Vec<String> =
                findings.violations().map(|audit| audit.algorithm.clone()).collect();
            Ok(Report::new(findings.table(), &findings).refute(violated))
        }
        None => {
            let all = everything::run(&options, arguments.quick, say)?;
            Ok(Report::new(all.table(), &all).refute(all.failures()))
        }
    }
}

/// Attacks reports that another program has made.
fn attack_reports(
    protocol: &Path,
    files: &[PathBuf],
    options: &AuditOptions,
) -> Result<Report, Error> {
    let malformed = |path: &Path, reason: String| Error::Malformed { path: path.into(), reason };
    let plan = wire::from_json(read(protocol)?);
    let plan = plan.map_err(|error| malformed(protocol, error.to_string()))?;
    let reports = |file: &PathBuf| {
        let text = read(file)?;
        let lines = text.lines().enumerate().map(|(number, line)| {
            let report = wire::from_json::<DeviceReport>(line);
            report.map_err(|error| malformed(file, format!("line {}, {error}", number + 1)))
        });
        lines.collect::<Result<Vec<_>, Error>>()
    };
    let sets = files.iter().map(reports).collect::<Result<Vec<_>, Error>>()?;
    let attack = given::attack(&plan, &sets[0], &sets[1])?;
    let name = format!("reports of loop {:?}", plan.params().name);
    let findings = Findings { audits: attack.run(&name, options)?, ..Findings::default() };
    let violated: Vec<String> =
        findings.violations().map(|audit| audit.algorithm.clone()).collect();
    Ok(Report::new(findings.table(), &findings).refute(violated))
}
