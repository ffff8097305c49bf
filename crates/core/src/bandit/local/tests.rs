//! The protocol as a whole: what it chooses, learns, refuses and remembers.

use super::*;
use crate::{
    Result,
    bandit::{Arms, Rule},
    noise::{Noise, SecureNoise},
    privacy::Claim,
    randomize::{Bounds, GramGaussian, Levels, Method, Report, ReportParams},
    release::{Calibration, testing::Seeded},
    wire::{from_json, to_json},
};

mod devices;
mod refusals;
mod restarts;

fn bounds() -> Bounds {
    Bounds { rewards: (0.0, 1.0), ..Bounds::unit(2) }
}

fn arms() -> Arms {
    Arms::from_rows(2, &[[0.6, 0.8], [0.8, -0.6], [0.6, -0.8]]).unwrap()
}

/// The setting of the design notes: d = 5, a shared last feature, arms of norm 1, rewards 0 and 1.
fn sphere() -> Bounds {
    Bounds {
        rewards: (0.0, 1.0),
        intercept: Some(0.5_f64.sqrt()),
        unit_arms: true,
        ..Bounds::unit(5)
    }
}

/// `rounds` reports of people who follow the newest model, every tenth round a new one.
fn play(plan: &LocalPlan, rounds: u64, theta: [f64; 2], seed: u64) -> (Server, Vec<Report>) {
    let mut server = plan.server();
    let (mut noise, mut model, mut reports) = (Seeded(seed), server.publish().unwrap(), Vec::new());
    for round in 0..rounds {
        let mut person = plan.person(0, Seeded(noise.bits())).unwrap();
        let arm = person.choose(&model, &arms()).unwrap();
        let x = arms().arm(arm);
        let mean = x[0] * theta[0] + x[1] * theta[1];
        let reward = f64::from(u8::from(noise.uniform() < mean));
        reports.push(person.report(&model, &x, reward).unwrap());
        let absorbed = server.absorb(reports.last().unwrap()).unwrap();
        let explored = matches!(plan.method(), Method::KnownGram { .. }) && round >= 1000;
        assert_eq!(absorbed, if explored { Absorbed::Unneeded } else { Absorbed::Counted });
        if round % 10 == 9 {
            model = server.publish().unwrap();
        }
    }
    (server, reports)
}

#[test]
fn the_best_method_is_chosen_by_epsilon_delta_and_whether_arms_are_public() {
    let choose = |epsilon, delta, public_arms| {
        let params = LocalParams::from(ReportParams {
            public_arms,
            ..ReportParams::new(sphere(), epsilon, delta)
        });
        let plan = params.check().unwrap();
        assert!(plan.reason().ends_with('.') && plan.reason().contains("d = 5"));
        plan.method().clone()
    };
    let gram = Method::GramGaussian { split: GramGaussian::DEFAULT_SPLIT };
    // What wins by simulation in the design notes, at each of these.
    assert_eq!(choose(1.0, 0.1, false), gram);
    assert_eq!(choose(0.2, 0.1, false), gram);
    assert_eq!(choose(1.0, 1e-5, false), Method::UnitGram);
    assert_eq!(choose(1.0, 0.0, false), Method::UnitGram);
    assert_eq!(choose(10.0, 0.1, false), Method::UnitPair);
    assert_eq!(choose(5.0, 0.0, false), Method::UnitPair);
    // PrivUnit has a largest epsilon, which meets larger budgets.
    assert_eq!(choose(1000.0, 1e-6, false), Method::UnitPair);
    assert_eq!(choose(1e6, 0.0, false), Method::UnitPair);
    assert_eq!(choose(0.2, 0.1, true), Method::RewardGaussian);
    assert_eq!(choose(10.0, 0.1, true), Method::RewardResponse);
    assert_eq!(choose(1.0, 0.0, true), Method::RewardResponse);
    // Without an intercept there is nothing that one cap has and both have not.
    let plain = Bounds { intercept: None, ..sphere() };
    let chosen = |epsilon| LocalParams::new(plain, epsilon, 1e-6).check().unwrap();
    for epsilon in [2.0, 5.0, 1000.0] {
        assert_eq!(chosen(epsilon).method(), &Method::UnitAxis, "{epsilon}");
    }
}

#[test]
fn every_method_learns_which_arm_is_best_at_a_large_epsilon() {
    let gram = vec![0.453_333, -0.16, 0.546_667];
    let methods = [
        (Method::GramGaussian { split: 0.694 }, 1e-3, false),
        (Method::TriangleGaussian, 1e-3, false),
        (Method::AdditivePair, 1e-3, false),
        (Method::UnitGram, 0.0, false),
        (Method::UnitPair, 0.0, false),
        (Method::UnitAxis, 0.0, false),
        (Method::RewardGaussian, 1e-3, true),
        (Method::RewardResponse, 0.0, true),
        (Method::KnownGram { gram, reports: 1000 }, 0.0, false),
    ];
    for (method, delta, public_arms) in methods {
        let params = LocalParams::from(ReportParams {
            public_arms,
            method: Some(method.clone()),
            ..ReportParams::new(bounds(), 12.0, delta)
        });
        let (mut server, _) = play(&params.check().unwrap(), 3000, [0.1, 0.7], 3);
        let model = server.publish().unwrap();
        let Guide::Follow(policy) = model.guide() else { panic!("{method:?} still explores") };
        let mean = |x: &[f64]| policy.theta()[0] * x[0] + policy.theta()[1] * x[1];
        let (best, other) = (mean(&[0.6, 0.8]), mean(&[0.6, -0.8]));
        assert!(best > other + 0.3, "{method:?}: {best} {other}");
        let reward = server.expected_reward(&[0.6, 0.8]).unwrap();
        assert!((reward - 0.62).abs() < 0.25, "{method:?}: {reward}");
    }
}

#[test]
fn a_duplicated_report_is_counted_once_and_order_does_not_matter() {
    let plan = LocalParams::new(bounds(), 2.0, 1e-3).check().unwrap();
    let (server, reports) = play(&plan, 200, [0.1, 0.7], 4);
    let mut other = plan.server();
    (0..21).for_each(|_| drop(other.publish().unwrap()));
    for report in reports.iter().rev() {
        assert_eq!(other.absorb(report).unwrap(), Absorbed::Counted);
        assert_eq!(other.absorb(report).unwrap(), Absorbed::Duplicate);
    }
    for report in &reports {
        assert_eq!(other.absorb(report).unwrap(), Absorbed::Duplicate);
    }
    assert_eq!(other.reports(), 200);
    let x = [0.6, 0.8];
    let (one, two) = (server.expected_reward(&x).unwrap(), other.expected_reward(&x).unwrap());
    // Counting even one report twice moves this by far more.
    assert!((one - two).abs() < 1e-9, "{one} {two}");
}

#[test]
fn late_reports_are_refused_and_memory_is_that_of_the_window() {
    let params = LocalParams { late_models: 3, ..LocalParams::new(bounds(), 2.0, 1e-3) };
    let plan = params.check().unwrap();
    let (mut server, reports) = play(&plan, 200, [0.1, 0.7], 5);
    // Three models old and the newest: 10 reports each, none yet under the newest.
    assert!(server.remembered() <= 40, "{}", server.remembered());
    let before = server.clone();
    assert_eq!(server.absorb(&reports[0]).unwrap(), Absorbed::TooLate);
    assert_eq!(server.absorb(reports.last().unwrap()).unwrap(), Absorbed::Duplicate);
    assert_eq!(server, before);
}

#[test]
fn messages_survive_the_wire_and_foreign_ones_are_refused() {
    let plan = LocalParams::new(bounds(), 2.0, 1e-3).check().unwrap();
    let (mut server, reports) = play(&plan, 20, [0.1, 0.7], 6);
    let model = server.publish().unwrap();
    let json = to_json(&model);
    assert_eq!(from_json::<Model>(&json).unwrap(), model);
    let text = to_json(&reports[0]);
    assert_eq!(from_json::<Report>(&text).unwrap(), reports[0]);
    for (from, to) in [("\"version\":3", "\"version\":2"), ("\"values\":[", "\"values\":[null,")] {
        assert!(from_json::<Report>(text.replacen(from, to, 1)).is_err());
    }
    assert!(from_json::<Report>(&json).is_err() && from_json::<Model>(&text).is_err());
    let torn = json.replace("\"dimension\":2", "\"dimension\":3");
    assert_ne!(torn, json);
    assert!(from_json::<Model>(&torn).is_err());

    let before = server.clone();
    let other = LocalParams::new(bounds(), 3.0, 1e-3).check().unwrap();
    let (mut elsewhere, foreign) = play(&other, 1, [0.1, 0.7], 7);
    assert!(server.absorb(&foreign[0]).is_err());
    let mut person = plan.person(0, Seeded(8)).unwrap();
    assert!(person.choose(&elsewhere.publish().unwrap(), &arms()).is_err());
    let change = |change: &dyn Fn(&mut Report)| {
        let mut report = reports[0].clone();
        report.id = [7, 7];
        change(&mut report);
        report
    };
    for bad in [
        change(&|report| report.model = 1000),
        change(&|report| report.level = None),
        change(&|report| report.level = Some(9)),
        change(&|report| report.features = Some(vec![0.1, 0.1])),
        change(&|report| report.values.truncate(2)),
        change(&|report| report.values[0] = 1e9),
        change(&|report| report.values[0] = f64::NAN),
    ] {
        assert!(server.absorb(&bad).is_err(), "{bad:?}");
    }
    assert_eq!(server, before);
}

#[test]
fn a_stale_model_changes_the_choice_and_never_the_report() {
    let plan = LocalParams::new(bounds(), 2.0, 1e-3).check().unwrap();
    let (mut server, _) = play(&plan, 500, [0.1, 0.7], 9);
    let mut fresh_server = plan.server();
    let (old, new) = (fresh_server.publish().unwrap(), server.publish().unwrap());
    let values = |model: &Model| {
        plan.person(0, Seeded(10)).unwrap().report(model, &[0.6, 0.8], 1.0).unwrap().values
    };
    assert_eq!(values(&old), values(&new));
}

#[test]
fn everybody_gets_their_own_guarantee_and_precise_reports_count_more() {
    let levels = Levels::Public(vec![0.5, 2.0, 8.0]);
    let params =
        LocalParams::from(ReportParams { levels, ..ReportParams::new(bounds(), 1.0, 1e-5) });
    let plan = params.check().unwrap();
    for (level, epsilon) in [0.5, 2.0, 8.0].into_iter().enumerate() {
        let guarantee = plan.guarantee(level).unwrap();
        assert!(guarantee.epsilon() <= epsilon * (1.0 + 1e-9), "{guarantee}");
        let person = plan.person(level, SecureNoise::from_system().unwrap()).unwrap();
        let stated = person.guarantee().unwrap();
        assert_eq!(stated.epsilon(), guarantee.epsilon());
        assert!(!stated.to_string().contains("SIMULATION"));
    }
    let simulated = plan.person(0, Seeded(1)).unwrap().guarantee().unwrap();
    assert!(simulated.to_string().contains("SIMULATION"));
    assert!(plan.person(3, Seeded(1)).is_err());
    assert_eq!(plan.inner.weights[2], 1.0);
    assert!(plan.inner.weights[0] < plan.inner.weights[1] && plan.inner.weights[1] < 1.0);
    for level in 0..3 {
        let variance = |level: usize| 1.0 + plan.precision(level).unwrap().vector.powi(2);
        assert!((plan.inner.weights[level] * variance(level) / variance(2) - 1.0).abs() < 1e-12);
    }
}

#[test]
fn hidden_levels_leave_no_trace_and_no_bias() {
    let levels = Levels::Hidden { epsilons: vec![8.0, 2.0], shares: vec![0.75, 0.25] };
    for method in [Method::UnitGram, Method::UnitPair, Method::GramGaussian { split: 0.694 }] {
        let params = LocalParams::from(ReportParams {
            levels: levels.clone(),
            method: Some(method.clone()),
            ..ReportParams::new(bounds(), 1.0, 1e-3)
        });
        let plan = params.check().unwrap();
        let conditions = plan.guarantee(1).unwrap();
        assert!(conditions.conditions().iter().any(|c| c.contains("not the level")));
        let mut server = plan.server();
        let model = server.publish().unwrap();
        let (x, y, rounds) = ([0.6, -0.3], 0.8, 40_000);
        let mut noise = Seeded(13);
        let mut mean = [0.0; 5];
        for round in 0..rounds {
            let mut person =
                plan.person(usize::from(round % 4 == 0), Seeded(noise.bits())).unwrap();
            let report = person.report(&model, &x, y).unwrap();
            assert_eq!(report.level, None);
            if round < 200 {
                assert_eq!(server.absorb(&report).unwrap(), Absorbed::Counted);
            }
            let estimate = server.decode(None, None, &report.values).unwrap();
            let parts = mean.iter_mut().zip(estimate_of(&estimate));
            parts.for_each(|(mean, value)| *mean += value / f64::from(rounds));
        }
        let truth = [0.36, -0.18, 0.09, 0.48, -0.24];
        let precision = plan.precision(1).unwrap();
        // The weakest level's deviation, twice it on the diagonal, at 5.5 standard errors: 5 x 4e-8.
        let most = 5.5 * 2.0 * precision.matrix.max(precision.vector) / f64::from(rounds).sqrt();
        for (mean, truth) in mean.iter().zip(truth) {
            assert!((mean - truth).abs() < most, "{method:?}: {mean} {truth} {most}");
        }
    }
}

fn estimate_of(estimate: &Estimate) -> &[f64] {
    estimate.sums()
}

#[test]
fn a_restored_server_continues_bit_for_bit_and_damage_is_refused() {
    let plan = LocalParams::new(bounds(), 2.0, 1e-3).check().unwrap();
    let (mut server, reports) = play(&plan, 50, [0.1, 0.7], 14);
    let bytes = server.save();
    let mut restored = Server::load(&bytes).unwrap();
    assert_eq!(restored, server);
    assert_eq!(restored.absorb(&reports[49]).unwrap(), Absorbed::Duplicate);
    assert_eq!(restored.publish().unwrap(), server.publish().unwrap());
    for length in [0, 7, bytes.len() / 2, bytes.len() - 1] {
        assert!(Server::load(&bytes[..length]).is_err());
    }
}

#[test]
fn the_certified_set_is_there_for_gaussian_reports() {
    let rule = Rule::CERTIFIED.with_failure_probability(0.01);
    let method = Some(Method::GramGaussian { split: 0.694 });
    let params = LocalParams {
        rule,
        ..LocalParams::from(ReportParams { method, ..ReportParams::new(bounds(), 20.0, 1e-3) })
    };
    let (mut server, _) = play(&params.check().unwrap(), 2000, [0.1, 0.7], 15);
    let model = server.publish().unwrap();
    let Guide::Follow(policy) = model.guide() else { panic!() };
    for (axis, truth) in [(0, 0.1), (1, 0.7)] {
        let mut x = [0.0; 2];
        x[axis] = 1.0;
        let bonus = policy.bound(&x) - policy.theta()[axis];
        assert!((policy.theta()[axis] - truth).abs() < bonus);
    }
    let wrong = LocalParams {
        report: ReportParams { method: Some(Method::UnitPair), ..params.report },
        ..params
    };
    assert!(wrong.check().is_err());
}

#[test]
fn given_noise_is_shown_with_what_it_gives() {
    let given = |delta: f64| {
        LocalParams::from(ReportParams {
            method: Some(Method::GramGaussian { split: 0.5 }),
            calibration: Some(Calibration::Sigma(1.2)),
            claim: Some(Claim::new(1.0, delta, "a publication")),
            ..ReportParams::new(bounds(), 1.0, delta)
        })
    };
    let state = |delta| given(delta).check().unwrap().guarantee(0).unwrap();
    let (small, generous) = (state(0.01), state(0.5));
    assert!(!small.claimed().unwrap().holds() && small.epsilon() > 1.0, "{small}");
    assert!(generous.claimed().unwrap().holds() && generous.delta() == 0.5, "{generous}");
    for bad in [
        LocalParams { report: ReportParams { claim: None, ..given(0.5).report }, ..given(0.5) },
        LocalParams {
            report: ReportParams { calibration: None, ..given(0.5).report },
            ..given(0.5)
        },
        LocalParams {
            report: ReportParams {
                claim: Some(Claim::new(1.0, 2.0, "a publication")),
                ..given(0.01).report
            },
            ..given(0.01)
        },
    ] {
        assert!(bad.check().unwrap_err().to_string().contains("delta: got"), "{bad:?}");
    }
}

/// Devices and servers of different builds must agree: a hash of `{:?}` changed with every renamed field.
#[test]
fn the_number_of_a_protocol_is_the_same_in_every_build() {
    let report = ReportParams::new(Bounds::unit(2), 2.0, 1e-5);
    // Which randomiser is the best may change from one version to the next.
    let params = LocalParams::from(ReportParams { method: Some(Method::UnitPair), ..report });
    assert_eq!(params.check().unwrap().reports().protocol(), 0x506a_7409_9ce1_9382);
    let other = LocalParams { report: ReportParams { delta: 2e-5, ..params.report }, ..params };
    assert_ne!(other.check().unwrap().reports().protocol(), 0x506a_7409_9ce1_9382);
}
