//! Known mistakes, each beside its correct variant: the audit must detect the mistake and pass the correct variant.
//!
//! | file | mistakes |
//! | --- | --- |
//! | `noise` | reused node noise; the classic sigma above epsilon 1; floating-point noise; an unseeded generator |
//! | `streams` | unclipped input; a state continued twice; noise drawn again after a restore; a schedule that looks at the data; visits priced as if none shared a step |
//! | `people` | joint sensitivity ignored; two releases, one budget; a slot that survives the shuffle |
//! | `deployed` | deployed samplers whose draws are halved, in running sums and in reports |
//! | `learners` | actions that show the last reward; no noise at all; a reward that is refused; fixed actions without noise on sums, or on counts |
//!
//! The wrong variants exist only here and cannot be reached from the core. If the correct variant is deployed code, the deployed code is
//! attacked, by the same adversary.
//!
//! **False alarms.** Every audit here has a confidence of 1 - 1e-6 by default.

mod deployed;
mod learners;
mod noise;
mod people;
mod streams;

use std::time::Instant;

use reticent::privacy::{Event, Guarantee, TrustModel};
use serde::Serialize;

use crate::{
    Result,
    audit::attack::{Attack, Audit, AuditOptions, Verdict},
};

pub use learners::LastReward;

/// A mistake and its correct variant.
pub struct Entry {
    /// The mistake.
    pub mistake: &'static str,
    /// The correct variant in words.
    pub right: &'static str,
    wrong_way: Attack,
    right_way: Attack,
}

/// The result of an entry.
#[derive(Debug, Clone, Serialize)]
pub struct Specimen {
    /// The mistake.
    pub mistake: String,
    /// The correct variant in words.
    pub right: String,
    /// The attack in words.
    pub attack: String,
    /// The epsilon claimed for both variants.
    pub promised: f64,
    /// The epsilon proved for the mistake.
    pub wrong_lower_bound: f64,
    /// The epsilon proved for the correct variant.
    pub right_lower_bound: f64,
    /// Tells whether the mistake was detected.
    pub caught: bool,
    /// Tells whether the correct variant passed.
    pub passed: bool,
    /// Time for both.
    pub seconds: f64,
}

impl Entry {
    /// Attacks both.
    pub fn run(&self, options: &AuditOptions) -> Result<Specimen> {
        let start = Instant::now();
        let first = |attack: &Attack, way: &str| -> Result<Audit> {
            let name = format!("{}, {way}", self.mistake);
            Ok(attack.run(&name, options)?.swap_remove(0))
        };
        let (wrong, right) = (first(&self.wrong_way, "wrong")?, first(&self.right_way, "right")?);
        Ok(Specimen {
            mistake: self.mistake.into(),
            right: self.right.into(),
            attack: wrong.attack,
            promised: wrong.certified.epsilon,
            wrong_lower_bound: wrong.epsilon_lower_bound,
            right_lower_bound: right.epsilon_lower_bound,
            caught: wrong.verdict == Verdict::Violated,
            passed: right.verdict != Verdict::Violated,
            seconds: start.elapsed().as_secs_f64(),
        })
    }
}

/// All entries.
pub fn entries() -> Result<Vec<Entry>> {
    let mut all = noise::entries()?;
    all.extend(streams::entries()?);
    all.extend(people::entries()?);
    all.extend(learners::entries()?);
    all.extend(deployed::entries()?);
    Ok(all)
}

/// The budget that most entries claim.
const EPSILON: f64 = 1.0;
const DELTA: f64 = 1e-5;

/// The guarantee of a Gaussian release with this mu.
fn gaussian_promise(mu: f64, delta: f64) -> Result<Guarantee> {
    let event = Event::Gaussian { sensitivity: mu, sigma: 1.0 };
    Ok(Guarantee::of(&event, TrustModel::Joint, delta)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mistake_is_detected_and_every_correct_variant_passes() {
        let options = AuditOptions { confidence: 1.0 - 1e-6, ..AuditOptions::default() };
        let entries = entries().unwrap();
        assert_eq!(entries.len(), 20);
        for entry in entries {
            let specimen = entry.run(&options).unwrap();
            assert!(specimen.caught, "missed: {specimen:?}");
            assert!(specimen.passed, "accused: {specimen:?}");
        }
    }
}
