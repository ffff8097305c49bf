//! The results of all attacks on an experiment.

use std::fmt::Write;

use serde::Serialize;

use crate::{
    Experiment, Result,
    audit::attack::{Against, Attack, Audit, AuditOptions, Promise, Verdict},
};

/// An algorithm that was not attacked, and why.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NotAudited {
    /// The algorithm.
    pub algorithm: String,
    /// The reason.
    pub reason: String,
}

/// All audits of an experiment.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Findings {
    /// Results of attacks.
    pub audits: Vec<Audit>,
    /// Algorithms that were not attacked.
    pub not_audited: Vec<NotAudited>,
}

impl Findings {
    /// Refuted certificates, which are faults of this library.
    pub fn violations(&self) -> impl Iterator<Item = &Audit> {
        self.audits.iter().filter(|audit| {
            audit.against == Against::Certificate && audit.verdict == Verdict::Violated
        })
    }

    /// The results as text.
    pub fn table(&self) -> String {
        let mut text = String::new();
        let mut last = "";
        for audit in &self.audits {
            if audit.algorithm != last {
                let _ = writeln!(text, "{}", audit.algorithm);
                last = &audit.algorithm;
            }
            let Promise { epsilon, delta } = audit.certified;
            let whose = audit.whose();
            let verdict = audit.verdict.word();
            let ratio =
                audit.ratio.map_or(String::new(), |ratio| format!(" ({:.0} %)", 100.0 * ratio));
            let how = match audit.bound {
                "gaussian_trade_off" => "Gaussian trade-off",
                _ => "Clopper-Pearson",
            };
            let _ = writeln!(
                text,
                "  {verdict:<10}  {whose} ({}, {delta:e}), at least {:.4}{ratio} by {how}; {} runs, {:.1} s",
                short(epsilon),
                audit.epsilon_lower_bound,
                2 * audit.samples,
                audit.seconds
            );
            let _ = writeln!(text, "              {}", audit.attack);
            if let Some(positions) = &audit.positions {
                let _ = writeln!(text, "              {positions}");
            }
            if audit.verdict == Verdict::Vacuous {
                let _ = writeln!(text, "              {VACUOUS}");
            }
        }
        for missing in &self.not_audited {
            let _ = writeln!(text, "{}\n  not audited: {}", missing.algorithm, missing.reason);
        }
        text
    }
}

/// The sentence beside a vacuous verdict.
const VACUOUS: &str = "choices never depended on data in this audit, so nothing was tested: give more rounds, or a schedule that releases within them";

pub(super) fn short(epsilon: f64) -> String {
    if epsilon.is_finite() { format!("{epsilon:.4}") } else { "infinite".into() }
}

/// Attacks every algorithm of an experiment; `progress` is called before every attack.
pub fn audit(
    experiment: &Experiment,
    options: &AuditOptions,
    progress: impl Fn(&str, &str),
) -> Result<Findings> {
    let mut findings = Findings::default();
    for cell in experiment.cells() {
        let (name, algorithm) = (&cell.name, &cell.algorithm);
        let promises = algorithm.guarantee().is_some() || !algorithm.card().certificates.is_empty();
        let learners = algorithm.learner_attacks()?;
        let attacks = algorithm.card().attacks.make()?;
        if attacks.is_empty() && learners.is_empty() {
            let reason = if promises {
                "no attack is written for it; its certificate rests on the accountant alone"
            } else {
                NOTHING_PROMISED
            };
            findings.not_audited(name, reason);
        }
        for attack in &attacks {
            progress(name, &attack.adversary);
            findings.audits.extend(attack.run_confirmed(name, options)?);
        }
        findings.play(name, &learners, options, &progress);
    }
    Ok(findings)
}

/// The reason why an algorithm without a guarantee is not attacked.
pub const NOTHING_PROMISED: &str = "nothing is promised, so there is nothing to refute";

impl Findings {
    /// Records that an algorithm was not attacked.
    pub fn not_audited(&mut self, algorithm: &str, reason: &str) {
        let (algorithm, reason) = (algorithm.to_string(), reason.to_string());
        self.not_audited.push(NotAudited { algorithm, reason });
    }

    /// Attacks that run a learner. A learner that fails is recorded as not audited, not as consistent.
    pub fn play(
        &mut self,
        algorithm: &str,
        attacks: &[Attack],
        options: &AuditOptions,
        progress: impl Fn(&str, &str),
    ) {
        for attack in attacks {
            progress(algorithm, &attack.adversary);
            match attack.run_confirmed(algorithm, options) {
                Ok(audits) => self.audits.extend(audits),
                Err(error) => self
                    .not_audited(algorithm, &format!("its learner could not be played: {error}")),
            }
        }
    }
}
