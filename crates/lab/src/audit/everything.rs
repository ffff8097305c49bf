//! `reticent audit` without a file: attacks on every guarantee, detection of known mistakes, the deployed samplers on secure noise, coverage of
//! every confidence set.
//!
//! The guarantees are those of `audits/` of this crate, one file per paper, so that each can also be audited separately.

use std::{fmt::Write, time::Instant};

use reticent::noise::SecureNoise;
use serde::Serialize;

use super::{
    Findings, audit,
    safety::{self, Check},
    samplers,
    zoo::{self, Specimen},
};
use crate::{
    Experiment, Result,
    audit::attack::{Against, Audit, AuditOptions, Verdict},
};

/// The experiments of each paper.
pub const PROMISES: [(&str, &str); 5] = [
    ("paper 0", include_str!("../../audits/paper0.toml")),
    ("paper 1", include_str!("../../audits/paper1.toml")),
    ("paper 2", include_str!("../../audits/paper2.toml")),
    ("paper 3", include_str!("../../audits/paper3.toml")),
    ("paper 4", include_str!("../../audits/paper4.toml")),
];

/// Claims of publications that the accountant finds false, so the audit must refute them.
const FALSE_CLAIMS: [&str; 5] = [
    "OnlineUCB as published, y in [-1, 1], epsilon = 10.0",
    "OnlineUCB as published, y in [0, 1]",
    "public code: JDP",
    "public code: LDP",
    "public code: SDP-amp",
];

/// False-alarm rate of the checks of mistakes and safety.
const ZOO_CONFIDENCE: f64 = 1.0 - 1e-6;

/// All results.
#[derive(Debug, Default, Serialize)]
pub struct Everything {
    /// Attacks on guarantees.
    #[serde(flatten)]
    pub findings: Findings,
    /// Known mistakes.
    pub mistakes: Vec<Specimen>,
    /// Deployed samplers.
    pub samplers: Vec<Check>,
    /// Safety and confidence sets.
    pub safety: Vec<Check>,
    /// The time of everything.
    pub seconds: f64,
}

/// Attacks everything; `quick` with a fifth of the runs. Mistakes and safety are judged with false-alarm rates below 1e-6 each, and so are
/// refuted certificates.
pub fn run(
    options: &AuditOptions,
    quick: bool,
    progress: impl Fn(&str, &str),
) -> Result<Everything> {
    let start = Instant::now();
    let scale = if quick { 0.2 } else { 1.0 };
    let options = AuditOptions { scale: options.scale * scale, ..*options };
    let mut findings = Findings::default();
    for (paper, text) in PROMISES {
        let experiment = Experiment::parse(text)?;
        let found = audit(&experiment, &options, |what, attack| {
            progress(&format!("{paper}: {what}"), attack);
        })?;
        let named = |name: &str| format!("{paper}: {name}");
        findings.audits.extend(
            found.audits.into_iter().map(|a| Audit { algorithm: named(&a.algorithm), ..a }),
        );
        findings.not_audited.extend(
            found
                .not_audited
                .into_iter()
                .map(|n| super::NotAudited { algorithm: named(&n.algorithm), ..n }),
        );
    }
    // The mistakes are large: few runs are enough, but a fifth of them would not be.
    let strict = AuditOptions { confidence: ZOO_CONFIDENCE, scale: 1.0, ..options };
    let mut mistakes = Vec::new();
    for entry in zoo::entries()? {
        progress("mistake", entry.mistake);
        mistakes.push(entry.run(&strict)?);
    }
    progress("samplers", "secure noise against its laws");
    let samplers = samplers::checks(&mut SecureNoise::from_system()?)?;
    progress("safety", "confidence sets and decisions");
    let safety = safety::checks(if quick { 0.4 } else { 1.0 }, options.seed)?;
    let seconds = start.elapsed().as_secs_f64();
    Ok(Everything { findings, mistakes, samplers, safety, seconds })
}

impl Everything {
    /// The failures: refuted certificates, false claims not refuted, mistakes not detected, correct variants reported as mistakes.
    pub fn failures(&self) -> Vec<String> {
        let fallen = self.findings.violations();
        let mut all: Vec<String> =
            fallen.map(|audit| format!("{} ({})", audit.algorithm, audit.attack)).collect();
        for claim in FALSE_CLAIMS {
            let fell = |audit: &Audit| {
                audit.algorithm.ends_with(claim)
                    && audit.against == Against::Claim
                    && audit.verdict == Verdict::Violated
            };
            if !self.findings.audits.iter().any(fell) {
                all.push(format!("the false claim of {claim} was not refuted"));
            }
        }
        for specimen in &self.mistakes {
            if !specimen.caught {
                all.push(format!("missed: {}", specimen.mistake));
            }
            if !specimen.passed {
                all.push(format!("accused: {}", specimen.right));
            }
        }
        let checks = [(&self.samplers, "halved draws were"), (&self.safety, "a shrunk width was")];
        for (checks, planted) in checks {
            let refuted = checks.iter().filter(|check| !check.held);
            all.extend(refuted.map(|check| format!("refuted: {}", check.claim)));
            let missed = checks.iter().filter(|check| !check.caught);
            all.extend(missed.map(|check| format!("{planted} missed: {}", check.claim)));
        }
        all
    }

    /// All results as Markdown, for the reader and for the documentation page.
    pub fn table(&self) -> String {
        let mut text = String::from(
            "## Promises\n\n| promise | adversary | promised | at least | share | verdict |\n| --- | --- | --- | --- | --- | --- |\n",
        );
        for audit in &self.findings.audits {
            let whose = match audit.whose() {
                "certified" => String::new(),
                other => format!("{other} "),
            };
            let verdict = match audit.verdict {
                Verdict::Violated => "**violated**",
                other => other.word(),
            };
            let ratio = audit.ratio.map_or("".into(), |ratio| format!("{:.0} %", 100.0 * ratio));
            let _ = writeln!(
                text,
                "| {} | {} | {whose}({}, {:e}) | {:.3} | {ratio} | {verdict} |",
                audit.algorithm,
                audit.attack.replace('|', "\\|"),
                super::findings::short(audit.certified.epsilon),
                audit.certified.delta,
                audit.epsilon_lower_bound,
            );
        }
        for missing in &self.findings.not_audited {
            let _ = writeln!(text, "| {} | none: {} | | | | |", missing.algorithm, missing.reason);
        }
        text.push_str("\n## Known mistakes\n\n| mistake | adversary | promised | proved of the mistake | proved of the right way | caught | right way passes |\n| --- | --- | --- | --- | --- | --- | --- |\n");
        let yes = |is: bool| if is { "yes" } else { "**NO**" };
        for specimen in &self.mistakes {
            let _ = writeln!(
                text,
                "| {} | {} | {:.2} | {:.2} | {:.2} | {} | {}: {} |",
                specimen.mistake,
                specimen.attack.replace('|', "\\|"),
                specimen.promised,
                specimen.wrong_lower_bound,
                specimen.right_lower_bound,
                yes(specimen.caught),
                yes(specimen.passed),
                specimen.right,
            );
        }
        for (title, planted, checks) in [
            ("Deployed samplers", "halved draws", &self.samplers),
            ("Safety and confidence sets", "shrunk width", &self.safety),
        ] {
            let _ = writeln!(
                text,
                "\n## {title}\n\n| claim | attack | found | holds | {planted} caught |\n| --- | --- | --- | --- | --- |"
            );
            for check in checks {
                let Check { claim, attack, found, held, caught } = check;
                let (held, caught) = (yes(*held), yes(*caught));
                let _ = writeln!(text, "| {claim} | {attack} | {found} | {held} | {caught} |");
            }
        }
        let failures = self.failures();
        let verdict = if failures.is_empty() {
            "Every certificate stands, every false claim fell, every mistake was caught."
                .to_string()
        } else {
            format!("FAILED: {}", failures.join("; "))
        };
        let _ = writeln!(text, "\n{verdict} {:.0} s.", self.seconds);
        text
    }
}
