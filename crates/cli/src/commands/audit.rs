//! `reticent audit`: attacks privacy guarantees, and reports what the attacks prove.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use reticent_lab::{
    Override,
    attack::{AuditOptions, NoiseKind},
    audit::{self, everything},
};

use super::experiment;
use crate::{error::Error, report::Report};

/// Attacks every algorithm of an experiment: a lower confidence bound on epsilon, and a verdict on each guarantee.
///
/// Exit code 1 if a certificate of ours is violated. A refuted claim of a publication is a finding, not a failure. Without a file: every
/// guarantee, known mistake and confidence set that Reticent knows of, attacked in minutes.
#[derive(Args)]
#[command(after_help = "Example: reticent audit crates/lab/audits/paper0.toml")]
pub struct Arguments {
    /// The experiment's TOML file; without it, Reticent itself.
    experiment: Option<PathBuf>,
    /// Runs of each of the two worlds, in place of each attack's own number.
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
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Noise {
    /// Seeded.
    Fast,
    /// Exact laws, keyed by the operating system.
    Secure,
}

/// Runs the attacks.
pub fn run(arguments: Arguments) -> Result<Report, Error> {
    let Arguments { samples, seed, confidence, .. } = arguments;
    let noise = match arguments.noise {
        Noise::Fast => NoiseKind::Fast,
        Noise::Secure => NoiseKind::Secure,
    };
    let options = AuditOptions { samples, scale: 1.0, seed, confidence, noise };
    options.check()?;
    let say = |what: &str, attack: &str| crate::say!("{what}: {attack}");
    match &arguments.experiment {
        Some(path) => {
            let experiment = experiment(path, &arguments.set)?;
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
