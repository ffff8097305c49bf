//! A server that forgets everything after a fixed number of reports.

use super::*;

fn report(plan: &LocalPlan, model: &Model, seed: u64) -> Report {
    let mut person = plan.person(0, Seeded(seed)).unwrap();
    person.report(model, &[0.6, 0.8], 0.5).unwrap()
}

#[test]
fn a_restarted_server_has_forgotten_and_refuses_reports_on_models_from_before() {
    let params = LocalParams { restart_every: Some(30), ..LocalParams::new(bounds(), 2.0, 1e-3) };
    let plan = params.check().unwrap();
    let mut server = plan.server();
    let model = server.publish().unwrap();
    for seed in 0..30 {
        assert_eq!(server.reports(), seed);
        assert_eq!(server.absorb(&report(&plan, &model, seed)).unwrap(), Absorbed::Counted);
    }
    assert_eq!((server.reports(), server.remembered()), (0, 0));
    let before = server.clone();
    for seed in [3, 99] {
        assert_eq!(server.absorb(&report(&plan, &model, seed)).unwrap(), Absorbed::TooLate);
    }
    assert_eq!(server, before);
    // What it publishes now is what a server publishes before any report.
    let fresh = server.publish().unwrap();
    assert_eq!(fresh.guide(), plan.server().publish().unwrap().guide());
    assert_eq!((fresh.sequence(), fresh.reports()), (1, 0));
    assert_eq!(server.absorb(&report(&plan, &fresh, 99)).unwrap(), Absorbed::Counted);
    assert_eq!(Server::load(&server.save()).unwrap(), server);
}

#[test]
fn restarts_that_leave_nothing_to_learn_are_refused() {
    let refused = |params: LocalParams| params.check().map(drop).unwrap_err().to_string();
    let good = LocalParams::new(bounds(), 2.0, 1e-3);
    let error = refused(LocalParams { restart_every: Some(0), ..good.clone() });
    assert!(error.contains("restart_every: got 0"), "{error}");
    let method = Some(Method::KnownGram { gram: vec![0.5, 0.0, 0.5], reports: 40 });
    let report = ReportParams { method, ..good.report.clone() };
    let error = refused(LocalParams { report, restart_every: Some(40), ..good });
    assert!(error.contains("spent exploring"), "{error}");
}
