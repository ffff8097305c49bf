//! Estimates by part against known equations and orders.

use super::*;
use crate::{
    bandit::JointParams,
    features::{Encoding, FeaturesParams},
    randomize::Bounds,
    release::Schedule,
};

fn plan(words: usize, epsilon: f64, forget: f64, rule: Rule) -> (JointPlan, PartsModel) {
    let list = |count: usize| Encoding::Categories((0..count).map(|i| format!("w{i}")).collect());
    let mut params = FeaturesParams::new([("country", list(words))], [("genre", list(6))]);
    params.cross.with = vec![vec!["country".into(), "genre".into()]];
    params.weight.insert("context.country".into(), 0.0);
    let features = params.check().unwrap();
    let bounds = Bounds {
        rewards: (0.0, 1.0),
        intercept: features.constant(),
        ..Bounds::unit(features.dimension())
    };
    let params = JointParams {
        schedule: Schedule::Clock,
        rule: Rule::THOMPSON,
        ..JointParams::forgetting(bounds, epsilon, 1e-6, forget)
    };
    let plan = params.check().unwrap();
    // The two-level rule needs levels to be planned, and none to be estimated.
    let model = PartsModel { rule, ..PartsModel::new(&plan, &features).unwrap() };
    (plan, model)
}

fn needs(outlook: &PartsOutlook) -> [u64; 3] {
    let events = |part: usize| outlook.parts[part].events.unwrap();
    [events(0), events(1), outlook.all.unwrap()]
}

#[test]
fn wide_crosses_need_more_than_main_effects_and_less_noise_needs_fewer() {
    for rule in [Rule::THOMPSON, Rule::default(), Rule::TWO_LEVEL] {
        let of = |words, epsilon| {
            let (plan, model) = plan(words, epsilon, 1000.0, rule.clone());
            needs(&model.outlook(&plan, None).unwrap())
        };
        let (narrow, wide, quiet) = (of(4, 1.0), of(40, 1.0), of(40, 8.0));
        assert!(
            narrow[0] < narrow[1] && wide[0] < wide[1] && narrow[1] < wide[1],
            "{narrow:?} {wide:?}"
        );
        assert!((0..3).all(|i| quiet[i] < wide[i]), "{wide:?} {quiet:?}");
    }
}

/// Half is gained, in a matrix without noise that counts, at 3 tau^2 t^2 = s^2 t + s_u^2 / w^2.
#[test]
fn without_noise_in_the_matrix_the_equation_of_a_cell_holds() {
    let (_, model) = plan(4, 1.0, 1000.0, Rule::TWO_LEVEL);
    let (d, parts) = (model.dimension, 2);
    let mut deviations = vec![1e-9; d * (d + 1) / 2 + d];
    deviations[d * (d + 1) / 2..].fill(10.0);
    let noise = model.noise(&deviations);
    for (place, piece) in model.deciding().enumerate().take(parts) {
        let t = model.needed(Some(place), &noise) / piece.seldom / piece.cells as f64;
        // Rewards in [0, 1] have half the range of those in [-1, 1].
        let sampling = 1.0 + square(0.25);
        let right = sampling * (REWARD_VARIANCE * t + square(20.0) / piece.weight);
        let ratio = 3.0 * piece.signal * t * t / right;
        assert!((ratio - 1.0).abs() < 0.01, "{}: {ratio}", piece.name);
    }
}

#[test]
fn slow_ticks_delays_and_forgetting_count_in_events() {
    let (plan, model) = plan(4, 4.0, 200.0, Rule::THOMPSON);
    let at = |per_tick, delay| model.outlook(&plan, Some(Pace { per_tick, delay })).unwrap();
    let quick = at(500.0, 0.0);
    // A tick is never less than all of its events, and a reward window comes before the first of them counts.
    let (slow, late) = (at(100_000.0, 0.0), at(100_000.0, 3.0));
    assert_eq!(needs(&slow), [100_000; 3]);
    assert_eq!(needs(&late), [400_000; 3]);
    assert!(needs(&quick)[0] < needs(&quick)[1]);
    // What is forgotten sooner than it comes is never learnt.
    let never = at(0.5, 0.0);
    assert_eq!((never.parts[1].events, never.all), (None, None), "{never:?}");
}
