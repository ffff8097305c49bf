//! Tests that the audit has power, and that its verdicts are right where the truth is known.

use super::*;
use crate::{
    Experiment,
    attack::{Against, Audit, AuditOptions, NoiseKind, Verdict},
};

fn audits(text: &str, options: &AuditOptions) -> Vec<Audit> {
    let experiment = Experiment::parse(text).unwrap();
    audit(&experiment, options, |_, _| {}).unwrap().audits
}

/// At (1, 1e-5): an adversary who sees every release must prove 70 % of epsilon, with silent or adaptive others; one who sees only the
/// learner's actions must prove something.
#[test]
fn attacks_on_gaussian_sums_and_the_joint_learner_prove_most_of_the_certified_epsilon() {
    let text = r#"
        name = "strength"
        rounds = 12
        [environment]
        kind = "gap"
        dimension = 2
        arms = 4
        [[algorithm]]
        kind = "joint"
        schedule = "every_round"
        privacy = { epsilon = 1.0, delta = 1e-5 }
    "#;
    let found = audits(text, &AuditOptions::default());
    assert_eq!(found.len(), 4);
    for audit in &found {
        assert_eq!(audit.verdict, Verdict::Consistent, "{audit:?}");
        let ratio = audit.ratio.unwrap();
        let by_choices = ["actions only", "plays the simulated learner itself"];
        let least = if by_choices.iter().any(|by| audit.attack.contains(by)) { 0.3 } else { 0.7 };
        assert!(ratio > least && ratio <= 1.0, "{audit:?}");
    }
}

/// The same of sums that forget, for one visit and for three that share a release: the adversary knows by how much they forget.
#[test]
fn sums_that_forget_give_most_of_what_is_certified_away() {
    let text = r#"
        name = "strength"
        rounds = 12
        [environment]
        kind = "gap"
        dimension = 2
        arms = 4
        [[algorithm]]
        kind = "joint"
        name = "one visit"
        forget = 6.0
        schedule = "every_round"
        privacy = { epsilon = 1.0, delta = 1e-5 }
        [[algorithm]]
        kind = "joint"
        name = "three visits in one release"
        forget = 16.0
        schedule = { capped_geometric = { first = 4, least = 4, rate = 0.0, most = 4 } }
        contributions_per_person = 3
        privacy = { epsilon = 1.0, delta = 1e-5 }
    "#;
    let found = audits(text, &AuditOptions::default());
    let sums: Vec<&Audit> = found.iter().filter(|a| a.attack.contains("running sum")).collect();
    assert_eq!(sums.len(), 4, "silent and adaptive others, for each");
    assert!(found.iter().all(|audit| audit.verdict == Verdict::Consistent), "{found:?}");
    for audit in sums {
        assert!(audit.ratio.unwrap() > 0.7, "{audit:?}");
    }
}

/// Exact delta 0.916 where 0.1 is claimed. False alarms: 1e-6.
#[test]
fn the_claim_of_paper_0_at_epsilon_10_is_refuted_and_our_certificate_is_not() {
    let text = r#"
        name = "paper 0"
        rounds = 1000
        [environment]
        kind = "sphere"
        [[algorithm]]
        kind = "online_ucb"
        mode = "paper"
        rewards = [-1.0, 1.0]
        privacy = { epsilon = 10.0, delta = 0.1 }
    "#;
    let options =
        AuditOptions { samples: Some(600_000), confidence: 1.0 - 1e-6, ..AuditOptions::default() };
    let found = audits(text, &options);
    // First the report, then the player, which is run less often.
    let verdicts: Vec<(Against, Verdict)> = found.iter().map(|a| (a.against, a.verdict)).collect();
    let expected =
        [(Against::Certificate, Verdict::Consistent), (Against::Claim, Verdict::Violated)];
    assert_eq!(verdicts[..2], expected, "{found:?}");
    assert!(found[0].ratio.unwrap() > 0.9);
    // The player's later choices reveal less than the reports.
    let by_playing = &verdicts[2..];
    assert!(!by_playing.is_empty());
    assert!(by_playing.iter().all(|(_, verdict)| *verdict == Verdict::Consistent), "{found:?}");
}

/// The same seed gives the same verdict and the same number, on any number of threads.
#[test]
fn an_audit_can_be_repeated() {
    let text = r#"
        name = "again"
        rounds = 100
        [environment]
        kind = "gradients"
        dimension = 3
        [[algorithm]]
        kind = "online_learner"
        privacy = { epsilon = 1.0 }
        [[algorithm]]
        kind = "zero"
    "#;
    let experiment = Experiment::parse(text).unwrap();
    let options = AuditOptions { samples: Some(5000), ..AuditOptions::default() };
    let run = |options: &AuditOptions| audit(&experiment, options, |_, _| {}).unwrap();
    let (one, two) = (run(&options), run(&options));
    assert_eq!(one.audits[0].epsilon_lower_bound, two.audits[0].epsilon_lower_bound);
    assert_eq!(one.not_audited.len(), 1, "the algorithm that plays 0 has no guarantee");
    let other = run(&AuditOptions { seed: 2, ..options });
    assert_ne!(one.audits[0].epsilon_lower_bound, other.audits[0].epsilon_lower_bound);
    let secure = run(&AuditOptions { noise: NoiseKind::Secure, ..options });
    assert_eq!(secure.audits[0].verdict, Verdict::Consistent);
    let bad = |options: AuditOptions| assert!(options.check().is_err());
    bad(AuditOptions { confidence: 1.0, ..options });
    bad(AuditOptions { confidence: f64::NAN, ..options });
    bad(AuditOptions { samples: Some(3), ..options });
}
