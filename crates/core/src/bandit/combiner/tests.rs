use super::*;
use crate::{
    noise::SecureNoise,
    randomize::{Bounds, FeatureRewardParams},
};

fn params(horizon: u64) -> CombinerParams {
    let bounds = Bounds { rewards: (0.0, 1.0), ..Bounds::unit(5) };
    let randomizer = FeatureRewardParams::new(bounds, 10.0, 0.1);
    CombinerParams::new(OnlineUcbParams::new(randomizer, horizon))
}

fn report(reward: f64) -> [f64; 6] {
    [0.5, 0.5, 0.5, 0.5, 0.0, reward]
}

#[test]
fn guesses_never_exceed_what_an_eigenvalue_can_be() {
    assert_eq!(params(20_000).guesses(), [0.2, 0.1]);
    assert_eq!(params(1 << 40).guesses().len(), 5);
    // Trace: d lambda <= E ||x||^2 <= 1. The print's grid reaches 1.
    assert!(params(1 << 40).guesses().iter().all(|guess| guess * 5.0 <= 1.0));
}

#[test]
fn the_targets_are_theorem_4_1() {
    let combiner = params(20_000).check().unwrap();
    let (t, d, epsilon) = (20_000_f64, 5_f64, 10_f64);
    let log = t.ln().powf(1.5);
    let x = epsilon * t.powf(0.125);
    let rates = [x / ((d * t).sqrt() * (log * x + 1.0)), epsilon / (log * (d * t).sqrt())];
    let scales = [log * d.sqrt() * (x + 1.0) / x, log * d.sqrt() / (epsilon * 0.2)];
    // At a = 3/4 the factor is (1/3)^(1/3) (7/4)^(4/3), at 1/2 it is (3/2)^2.
    let factors = [(1.0_f64 / 3.0).powf(1.0 / 3.0) * 1.75_f64.powf(4.0 / 3.0), 2.25];
    let confidence = 288.0 * (t.powi(3) * 3.0 * t).ln() * t;
    let first = scales[0] * t.powf(0.75)
        + factors[0] * scales[0].powf(4.0 / 3.0) * t * rates[0].powf(1.0 / 3.0)
        + confidence * rates[0]
        + 2.0 / rates[1];
    let second = scales[1] * t.sqrt()
        + factors[1] * scales[1] * scales[1] * t * rates[1]
        + confidence * rates[1]
        + 1.0 / rates[0]
        + 1.0 / rates[1];
    let found: Vec<f64> = combiner.plans.iter().map(|plan| plan.target).collect();
    assert!((found[0] / first - 1.0).abs() < 1e-12, "{} {first}", found[0]);
    assert!((found[1] / second - 1.0).abs() < 1e-12, "{} {second}", found[1]);
}

/// The same reports teach bases of different guesses the same, but a smaller guess explores more.
#[test]
fn bases_of_a_constant_width_differ_in_proportion_to_their_guesses() {
    let mut combiner = params(1 << 20).check().unwrap();
    for _ in 0..3 {
        (1..4).for_each(|base| combiner.absorb(base, &report(1.0)).unwrap());
    }
    let widths = |combiner: &Combiner| -> Vec<f64> {
        let known = combiner.bases[1..].iter().map(|base| match &base.server {
            Server::Known(server) => server.policy().width(),
            Server::Anytime(_) => f64::NAN,
        });
        known.collect()
    };
    let first = widths(&combiner)[0];
    assert!(first > 0.0);
    assert_eq!(widths(&combiner), [first, 2.0 * first, 4.0 * first]);
    // A state of copies, as they were saved before, continues as it was.
    let mut saved = combiner.saved();
    saved.known = (0..3).map(|_| combiner.saved().known.swap_remove(0)).collect();
    let bytes = wire::save(wire::kinds::COMBINER, &saved);
    let old = Combiner::load(&bytes).unwrap();
    assert_eq!((widths(&old), old.save()), (vec![first; 3], bytes));
}

#[test]
fn the_theory_is_vacuous_at_the_papers_horizon_and_one_base_is_played() {
    let mut combiner = params(20_000).check().unwrap();
    assert!(combiner.is_vacuous());
    // The base of the largest guess, whose width is the given one.
    let first = combiner.current();
    assert_eq!(first, 1);
    let mut noise = SecureNoise::seeded(91);
    for _ in 0..300 {
        let report = combiner.randomizer().report(&[0.5; 5], 0.0, &mut noise).unwrap();
        combiner.absorb(combiner.current(), &report).unwrap();
        assert_eq!(combiner.current(), first);
    }
    assert!(params(4_000_000).check().unwrap().is_vacuous());
    assert!(!params(8_000_000).check().unwrap().is_vacuous());
}

#[test]
fn a_base_that_falls_short_is_dropped_but_never_the_last() {
    // Constants so small that the theory speaks at once.
    let small = CombinerParams {
        anytime_constant: 1e-6,
        base_constant: 1e-6,
        deviation_constant: 0.05,
        ..params(2000)
    };
    let mut combiner = small.check().unwrap();
    let mut last = None;
    for round in 0..600 {
        // Every base learner earns 1 in its first five rounds and 0 afterwards.
        let base = combiner.current();
        let reward = if combiner.counts()[base] < 5 { 1.0 } else { 0.0 };
        combiner.absorb(base, &report(reward)).unwrap();
        let left = combiner.bases.iter().filter(|base| !base.dropped).count();
        assert!(left >= 1 && !combiner.bases[combiner.current()].dropped, "round {round}");
        last = Some(left);
    }
    assert_eq!(last, Some(1));
    assert!(combiner.counts().iter().all(|count| *count > 0));
    let copy = Combiner::load(&combiner.save()).unwrap();
    assert_eq!((copy.current(), copy.counts()), (combiner.current(), combiner.counts()));
    assert_eq!(copy.save(), combiner.save());
}

#[test]
fn the_shortfall_compares_with_the_mean_before_and_the_mean_is_of_reports() {
    let mut combiner = params(2000).check().unwrap();
    let base = combiner.current();
    for reward in [1.0, 0.0, 0.5] {
        combiner.absorb(base, &report(reward)).unwrap();
    }
    // Means before: 0, 1, 1/2.
    let base = &combiner.bases[base];
    assert_eq!((base.mean(), base.shortfall), (0.5, (0.0 - 1.0) + (1.0 - 0.0) + (0.5 - 0.5)));
}

/// A report that comes late was made under the policy of a base that is no longer the current one.
#[test]
fn a_report_teaches_the_base_whose_policy_was_followed() {
    let mut combiner = params(2000).check().unwrap();
    let other = (combiner.current() + 1) % combiner.bases.len();
    combiner.absorb(other, &report(1.0)).unwrap();
    let taught: Vec<bool> = combiner.counts().iter().map(|count| *count == 1).collect();
    assert_eq!(taught, (0..combiner.bases.len()).map(|base| base == other).collect::<Vec<_>>());
    assert_eq!(combiner.bases[other].mean(), 1.0);
}

#[test]
fn bad_input_is_named_and_changes_nothing() {
    let good = params(2000);
    for (params, field) in [
        (CombinerParams { alpha: 0.0, ..good.clone() }, "alpha: got 0"),
        (CombinerParams { anytime_constant: -1.0, ..good.clone() }, "anytime_constant: got -1"),
        (CombinerParams { base_constant: f64::NAN, ..good.clone() }, "base_constant: got NaN"),
        (CombinerParams { power: -1.0, ..good.clone() }, "power: got -1"),
    ] {
        assert!(params.check().unwrap_err().to_string().starts_with(field));
    }
    let mut combiner = good.check().unwrap();
    let before = combiner.save();
    assert!(combiner.absorb(7, &report(1.0)).is_err());
    assert!(combiner.absorb(0, &report(f64::NAN)).is_err());
    assert_eq!(combiner.save(), before);
    let mut saved = combiner.saved();
    saved.known.pop();
    assert!(saved.revive().is_err());
    let mut saved = combiner.saved();
    saved.counts[0].0 = 5;
    assert!(saved.revive().is_err());
}
