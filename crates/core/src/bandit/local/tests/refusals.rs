//! Parameters, calls and saved states that are refused.

use super::*;

#[test]
fn bad_parameters_are_refused_by_name() {
    let good = LocalParams::new(bounds(), 1.0, 1e-5);
    let tuned = Rule::Tuned { ridge: -1.0, bonus: 0.2, width: 1.0 };
    for (bad, field) in [
        (
            LocalParams {
                report: ReportParams { delta: -0.1, ..good.report.clone() },
                ..good.clone()
            },
            "delta",
        ),
        (
            LocalParams {
                report: ReportParams { delta: f64::NAN, ..good.report.clone() },
                ..good.clone()
            },
            "delta",
        ),
        (
            LocalParams {
                report: ReportParams { levels: Levels::Public(vec![]), ..good.report.clone() },
                ..good.clone()
            },
            "levels",
        ),
        // A message of some kilobytes must not ask for gigabytes.
        (
            LocalParams {
                report: ReportParams {
                    bounds: Bounds::unit(1000),
                    levels: Levels::Public(vec![1.0; 1000]),
                    ..good.report.clone()
                },
                ..good.clone()
            },
            "levels",
        ),
        (
            LocalParams {
                report: ReportParams {
                    claim: Some(Claim::new(1.0, 0.1, "one\ntwo")),
                    ..good.report.clone()
                },
                ..good.clone()
            },
            "claim",
        ),
        (
            LocalParams {
                report: ReportParams {
                    levels: Levels::Public(vec![1.0, -1.0]),
                    ..good.report.clone()
                },
                ..good.clone()
            },
            "epsilon",
        ),
        (
            LocalParams {
                report: ReportParams {
                    levels: Levels::Hidden { epsilons: vec![1.0, 2.0], shares: vec![0.5, 0.6] },
                    ..good.report.clone()
                },
                ..good.clone()
            },
            "shares",
        ),
        (
            LocalParams {
                report: ReportParams { contributions_per_person: 0, ..good.report.clone() },
                ..good.clone()
            },
            "contributions_per_person",
        ),
        (LocalParams { rule: tuned, ..good.clone() }, "ridge"),
        (
            LocalParams {
                report: ReportParams {
                    method: Some(Method::RewardResponse),
                    ..good.report.clone()
                },
                ..good.clone()
            },
            "method",
        ),
        (
            LocalParams {
                report: ReportParams {
                    method: Some(Method::GramGaussian { split: 0.5 }),
                    delta: 0.0,
                    ..good.report.clone()
                },
                ..good.clone()
            },
            "delta",
        ),
        (
            LocalParams {
                report: ReportParams {
                    method: Some(Method::KnownGram { gram: vec![1.0], reports: 10 }),
                    ..good.report.clone()
                },
                ..good.clone()
            },
            "gram",
        ),
        (
            LocalParams {
                report: ReportParams {
                    bounds: Bounds { dimension: 0, ..bounds() },
                    ..good.report.clone()
                },
                ..good.clone()
            },
            "dimension",
        ),
    ] {
        let error = bad.check().unwrap_err().to_string();
        assert!(error.contains(field), "{field}: {error}");
    }
    let plan = good.check().unwrap();
    let model = plan.server().publish().unwrap();
    let mut person = plan.person(0, Seeded(1)).unwrap();
    assert!(person.choose(&model, &Arms::zeros(3, 2).unwrap()).is_err());
    let high = LocalParams { report: ReportParams { delta: 0.1, ..good.report }, ..good }
        .check()
        .unwrap()
        .guarantee(0)
        .unwrap();
    assert!(high.warnings().iter().any(|w| w.contains("1e-3")));
}

/// Found by fuzzing: sums of another dimension than the parameters', under a sound checksum, made `publish` panic.
#[test]
fn sums_that_do_not_fit_the_parameters_are_refused() {
    let server = LocalParams::new(Bounds::unit(2), 2.0, 1e-5).check().unwrap().server();
    let other = LocalParams::new(Bounds::unit(3), 2.0, 1e-5).check().unwrap().server();
    let bytes = server.save();
    assert!(Server::load(&bytes).is_ok());
    // Entries of two dimensions that call themselves three: the dimension, one block and nothing shared stand before five entries.
    let mut forged = bytes.clone();
    let at = forged.windows(4).rposition(|numbers| numbers == [2, 1, 0, 5]).unwrap();
    forged[at] = 3;
    let end = forged.len() - 8;
    let sum = crate::hash::of_bytes(&forged[..end]);
    forged[end..].copy_from_slice(&sum.to_le_bytes());
    assert!(matches!(Server::load(&forged), Err(crate::Error::Dimension { .. })));
    assert!(Server::load(&other.save()).is_ok());
}
