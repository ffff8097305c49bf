//! Tests of how far one person moves what is released.

use super::*;

/// The last release of a silent run of 100 rounds with these values, and the sensitivity it was calibrated for.
fn silent(params: PrivateBanditParams, values: &dyn Fn(u64) -> f64) -> (Vec<f64>, f64) {
    let plan = params.check(UniformMatroid::set(6, 2).unwrap()).unwrap();
    let sensitivity = plan.sensitivity();
    let mut bandit = plan.start(Mute(Seeded(3))).unwrap();
    let mut sums = Vec::new();
    for round in 0..100 {
        let ticket = bandit.decide().unwrap().ticket;
        let direction = bandit.state.open[&ticket.0].clone();
        if let Some(sum) = bandit.aggregate.absorb(&direction, values(round)).unwrap() {
            sums = sum.clone();
            // As `learn` does: the next points depend on the release.
            bandit.state.step(&bandit.set, sum, bandit.aggregate.source());
        }
    }
    (sums, sensitivity)
}

#[test]
fn one_loss_moves_the_sum_by_exactly_the_sensitivity_and_no_more() {
    let set = UniformMatroid::set(6, 2).unwrap();
    for (batch, antithetic, play) in [
        (100, true, Play::Points),
        (100, false, Play::Points),
        (10, true, Play::Points),
        (10, true, Play::Vertices),
        (5, false, Play::Vertices),
    ] {
        let params = PrivateBanditParams {
            batch: Some(batch),
            antithetic,
            play,
            ..params(100, Protection::central(1.0, 1e-6))
        };
        let (base, sensitivity) = silent(params.clone(), &|_| 0.3);
        let tuning = params.check(set.clone()).unwrap().tuning();
        let expected = 5.0 * set.shape().diameter() / tuning.smoothing;
        assert!((sensitivity - expected).abs() < 1e-9, "n' L D / zeta");
        // From one end of the range to the other, and far beyond it: clipped.
        let (low, _) = silent(params.clone(), &|round| if round == 40 { -1e9 } else { 0.3 });
        let (high, _) = silent(params.clone(), &|round| if round == 40 { 1e9 } else { 0.3 });
        let moved = distance(&low, &high);
        let exactly = moved <= sensitivity * (1.0 + 1e-12) && moved > sensitivity * (1.0 - 1e-6);
        assert!(exactly, "{batch} {antithetic} {play:?}: {moved} {sensitivity}");
        assert!(distance(&low, &base) < sensitivity);
    }
}

#[test]
fn both_losses_of_a_pair_move_the_sum_twice_as_far_and_are_paid_for_twice() {
    let pair = |k| PrivateBanditParams {
        contributions_per_person: k,
        ..params(100, Protection::central(1.0, 1e-6))
    };
    // Opposite directions: the worst is one value up and the other down.
    let ends = |first: f64, second: f64| {
        silent(pair(2), &|round| match round {
            40 => first,
            41 => second,
            _ => 0.3,
        })
    };
    let ((up, sensitivity), (down, _)) = (ends(1e9, -1e9), ends(-1e9, 1e9));
    let moved = distance(&up, &down);
    let exactly = (moved / (2.0 * sensitivity) - 1.0).abs() < 1e-6;
    assert!(exactly, "{moved} {sensitivity}");
    let noise = |k| {
        let plan = pair(k).check(UniformMatroid::set(6, 2).unwrap()).unwrap();
        assert!((plan.guarantee().unwrap().epsilon() - 1.0).abs() < 1e-6);
        let Engine::Central(sum) = &plan.engine else { panic!() };
        sum.deviations(1).unwrap()[0]
    };
    assert!((noise(2) / noise(1) - 2.0).abs() < 1e-6, "{} {}", noise(1), noise(2));
}
