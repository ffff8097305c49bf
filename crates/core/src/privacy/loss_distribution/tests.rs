//! Tests against known exact values and reference vectors, with wrong variants that must fail.

use proptest::prelude::*;

use super::{dots::Dots, *};

const VECTORS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../vectors/privacy_loss.csv");

struct Vector {
    event: Event,
    times: u64,
    epsilon: f64,
    delta: f64,
    exact: bool,
}

fn vectors() -> Vec<Vector> {
    let text = std::fs::read_to_string(VECTORS).unwrap();
    let rows = text.lines().filter(|line| !line.starts_with('#')).skip(1);
    rows.map(|row| {
        let fields: Vec<&str> = row.split(',').collect();
        let number = |i: usize| fields[i].parse::<f64>().unwrap();
        let (first, second) = (number(1), number(2));
        let event = match fields[0] {
            "gaussian" => Event::Gaussian { sensitivity: first, sigma: second },
            "laplace" => Event::Laplace { sensitivity: first, scale: second },
            "discrete_gaussian" => {
                Event::DiscreteGaussian { sensitivity: first as u64, sigma: second }
            }
            "discrete_laplace" => {
                Event::DiscreteLaplace { sensitivity: first as u64, scale: second }
            }
            "randomized_response" => {
                Event::RandomizedResponse { categories: first as u64, epsilon: second }
            }
            "priv_unit" => Event::PrivUnit { cap: first, inside: second },
            other => panic!("unknown mechanism {other}"),
        };
        Vector {
            event,
            times: number(3) as u64,
            epsilon: number(4),
            delta: number(5),
            exact: fields[6] == "exact",
        }
    })
    .collect()
}

/// Just below the largest loss, delta depends on the last few bits of epsilon, so the tests step that far below.
fn a_hair_below(epsilon: f64) -> f64 {
    epsilon * (1.0 - 16.0 * f64::EPSILON)
}

/// The vectors are good to ten digits.
const DIGITS: f64 = 1.0 - 1e-9;

#[test]
fn reference_vectors() {
    let (mut exact, mut referred) = (0, 0);
    let mut last: Option<(Event, u64, PrivacyLossDistribution)> = None;
    for Vector { event, times, epsilon, delta, exact: is_exact } in vectors() {
        let loss = match last.take() {
            Some((same, n, loss)) if same == event && n == times => loss,
            _ => PrivacyLossDistribution::of_composition(&[(event.clone(), times)]).unwrap(),
        };
        let (got_delta, got_epsilon) = (loss.delta(a_hair_below(epsilon)), loss.epsilon(delta));
        let what = format!(
            "{event:?} {times} times: delta({epsilon}) = {got_delta:e}, want {delta:e}; epsilon = {got_epsilon}"
        );
        if is_exact {
            // Within 1 % of delta; where delta falls off a cliff at the largest loss, within 1e-5 of epsilon.
            assert!(got_delta >= delta * DIGITS, "{what}");
            assert!(got_delta <= 1.01 * delta || got_epsilon <= epsilon * (1.0 + 1e-5), "{what}");
            exact += 1;
        } else {
            // A bound by others, loose by up to 20 % of delta and, at 1e-12, not always a bound.
            assert!((got_epsilon / epsilon - 1.0).abs() < 0.01, "{what}");
            referred += 1;
        }
        last = Some((event, times, loss));
    }
    assert!(exact > 200 && referred > 50, "{exact} exact, {referred} referred");
}

/// Losses rounded down by a single cell in one of many events are noticed by the vectors.
#[test]
fn rounding_losses_down_is_below_the_truth() {
    let noticed =
        vectors().into_iter().filter(|vector| vector.exact && vector.times == 100).all(|vector| {
            let parts = [(vector.event.clone(), 1)];
            let interval = PrivacyLossDistribution::interval_for(&parts).unwrap();
            let mut one = PrivacyLossDistribution::of(&vector.event, interval).unwrap();
            one.lowest -= 1;
            one.repeat(vector.times).unwrap().delta(a_hair_below(vector.epsilon))
                < vector.delta * DIGITS
        });
    assert!(noticed);
}

/// Convolution by the definition: every entry a sum of positive terms.
fn direct(a: &PrivacyLossDistribution, b: &PrivacyLossDistribution) -> PrivacyLossDistribution {
    let mut masses = vec![0.0; a.masses.len() + b.masses.len() - 1];
    for (i, x) in a.masses.iter().enumerate() {
        for (j, y) in b.masses.iter().enumerate() {
            masses[i + j] += x * y;
        }
    }
    PrivacyLossDistribution {
        interval: a.interval,
        lowest: a.lowest + b.lowest,
        masses,
        infinity: a.infinity + b.infinity * a.finite_mass(),
    }
}

/// A pair of distributions on a few outcomes, as (P, Q).
fn pair() -> impl Strategy<Value = Vec<(f64, f64)>> {
    let tiny = prop_oneof![0.01..1.0f64, Just(1e-6), Just(1e-12)];
    prop::collection::vec((tiny, 0.01..1.0f64), 2..9).prop_map(|raw| {
        let p: f64 = raw.iter().map(|x| x.0).sum();
        let q: f64 = raw.iter().map(|x| x.1).sum();
        raw.iter().map(|x| (x.0 / p, x.1 / q)).collect()
    })
}

fn discretized(pair: &[(f64, f64)], interval: f64) -> PrivacyLossDistribution {
    let losses = || pair.iter().map(|(p, q)| (p / q).ln());
    let (lowest, highest) = (losses().fold(f64::INFINITY, f64::min), losses().fold(-1e9, f64::max));
    let mut dots = Dots::new(interval, lowest, highest).unwrap();
    losses().zip(pair).for_each(|(loss, (p, _))| dots.atom(loss, *p));
    dots.finish()
}

proptest! {
    #[test]
    fn the_grid_dominates_every_pair(pair in pair(), interval in 0.01..1.0f64, epsilon in -3.0..3.0f64) {
        let loss = discretized(&pair, interval);
        let truth = |epsilon: f64| pair.iter().map(|(p, q)| (p - epsilon.exp() * q).max(0.0)).sum::<f64>();
        prop_assert!(loss.delta(epsilon) >= truth(epsilon) * DIGITS);
        let grid = (epsilon / interval).round() * interval;
        prop_assert!((loss.delta(grid) - truth(grid)).abs() < 1e-11);
    }

    #[test]
    fn composing_is_convolving(
        first in pair(), second in pair(), lost in 0.0..1e-3f64, epsilon in -1.0..8.0f64, times in 2u64..12
    ) {
        let mut a = discretized(&first, 0.05);
        let b = discretized(&second, 0.05);
        a.infinity = lost;
        a.masses.iter_mut().for_each(|mass| *mass *= 1.0 - lost);
        let (want, got) = (direct(&a, &b).delta(epsilon), a.compose(&b).unwrap().delta(epsilon));
        prop_assert!(got >= want * (1.0 - 1e-11), "{got:e} below {want:e}");
        prop_assert!(got <= want * 1.01 + 1e-11, "{got:e} far above {want:e}");
        let many = (1..times).fold(b.clone(), |sum, _| direct(&sum, &b));
        let (want, got) = (many.delta(epsilon), b.repeat(times).unwrap().delta(epsilon));
        prop_assert!(got >= want * (1.0 - 1e-11), "{got:e} below {want:e}");
        prop_assert!(got <= want * 1.01 + 1e-11, "{got:e} far above {want:e}");
    }

    #[test]
    fn epsilon_inverts_delta(pair in pair(), delta in 1e-9..0.5f64) {
        let loss = discretized(&pair, 0.07);
        let epsilon = loss.epsilon(delta);
        prop_assert!(loss.delta(epsilon) <= delta * (1.0 + 1e-9));
        prop_assert!(epsilon == 0.0 || loss.delta(epsilon - 1e-9) >= delta * (1.0 - 1e-9));
    }
}

/// mu-GDP, for the tests.
fn gaussian_delta(mu: f64, epsilon: f64) -> f64 {
    use crate::special::normal_cdf;
    let (near, far) = (0.5 * mu - epsilon / mu, -0.5 * mu - epsilon / mu);
    normal_cdf(near) - epsilon.exp() * normal_cdf(far)
}

#[test]
fn unequal_gaussians_compose_to_a_gaussian() {
    let parts = [(1.0f64, 3u64), (0.1, 300), (0.01, 20_000)];
    let events = parts.map(|(mu, times)| (Event::Gaussian { sensitivity: mu, sigma: 1.0 }, times));
    let mu = parts.iter().map(|(mu, times)| mu * mu * *times as f64).sum::<f64>().sqrt();
    let loss = PrivacyLossDistribution::of_composition(&events).unwrap();
    // The same one after the other, on grids that do not match.
    let fine = PrivacyLossDistribution::of(&events[0].0, 0.003).unwrap().repeat(3).unwrap();
    let coarse = PrivacyLossDistribution::of_composition(&events[1..]).unwrap();
    let stepwise = fine.compose(&coarse).unwrap();
    for epsilon in [1.0, 5.0, 10.0, 15.0] {
        let want = gaussian_delta(mu, epsilon);
        for got in [loss.delta(epsilon), stepwise.delta(epsilon)] {
            assert!(got >= want * DIGITS && got <= 1.01 * want, "{got:e} against {want:e}");
        }
    }
}

#[test]
fn millions_of_events() {
    for (times, tolerance) in [(1_000_000u64, 1.01), (100_000_000, 1.2)] {
        let sigma = (times as f64).sqrt();
        let event = Event::Gaussian { sensitivity: 1.0, sigma };
        let loss = PrivacyLossDistribution::of_composition(&[(event, times)]).unwrap();
        for epsilon in [0.5, 2.0, 4.0] {
            let (want, got) = (gaussian_delta(1.0, epsilon), loss.delta(epsilon));
            assert!(
                got >= want * DIGITS && got <= tolerance * want,
                "{times}: {got:e} against {want:e}"
            );
        }
    }
}

#[test]
fn pure_privacy_stays_pure() {
    let one = PrivacyLossDistribution::of(&Event::Pure { epsilon: 0.5 }, 0.125).unwrap();
    assert_eq!(one.repeat(8).unwrap().epsilon(0.0), 4.0);
    assert_eq!(one.repeat(0).unwrap().epsilon(0.0), 0.0);
}

/// Kairouz, Oh and Viswanath (2015), Theorem 3.3: the optimal k-fold composition of (epsilon, delta)-DP is
/// `((k - 2i) epsilon, 1 - (1 - delta)^k (1 - delta_i))` for every i up to k/2, with
/// `delta_i = sum_{l < i} C(k, l) (e^((k - l) epsilon) - e^((k - 2i + l) epsilon)) / (1 + e^epsilon)^k`.
#[test]
fn approximate_privacy_composes_optimally() {
    for (epsilon, delta, k) in
        [(0.3f64, 1e-3, 12i32), (1.0, 0.05, 5), (0.04, 1e-9, 40), (0.5, 0.0, 9)]
    {
        let event = Event::Approximate { epsilon, delta };
        let parts = [(event.clone(), k as u64)];
        let loss = PrivacyLossDistribution::of_composition(&parts).unwrap();
        for i in 0..=k / 2 {
            let mut choose = 1.0;
            let mut sum = 0.0;
            for l in 0..i {
                let gap = f64::from(k - l) * epsilon;
                let tail = f64::from(k - 2 * i + l) * epsilon;
                sum += choose * (gap.exp() - tail.exp());
                choose *= f64::from(k - l) / f64::from(l + 1);
            }
            let lost = sum / (1.0 + epsilon.exp()).powi(k);
            let kept = f64::from(k) * (-delta).ln_1p() + (-lost).ln_1p();
            let (want, at) = (-kept.exp_m1(), f64::from(k - 2 * i) * epsilon);
            let got = loss.delta(at);
            assert!(
                got >= want * DIGITS && got <= 1.01 * want + 1e-13,
                "{event:?} {i}: {got:e} against {want:e}"
            );
            // Planted: the deltas of the parts are left out.
            let forgetful =
                PrivacyLossDistribution::of_composition(&[(Event::Pure { epsilon }, k as u64)]);
            assert!(delta == 0.0 || forgetful.unwrap().delta(at) < want * DIGITS);
        }
    }
    let nothing_else = Event::Approximate { epsilon: 0.0, delta: 0.25 };
    let twice = PrivacyLossDistribution::of_composition(&[(nothing_else, 2)]).unwrap();
    assert!((twice.delta(0.0) - (1.0 - 0.75 * 0.75)).abs() < 1e-12);
    assert!((twice.delta(9.0) - (1.0 - 0.75 * 0.75)).abs() < 1e-12);
}

/// Two batches of three people each, all outcomes of the pair written out.
#[test]
fn shuffled_batches_compose() {
    let (epsilon, people) = (1.0f64, 3);
    let (truth, clone) = (1.0 / (1.0 + (-epsilon).exp()), (-epsilon).exp());
    let choose =
        |n: i32, k: i32| (0..k).map(|i| f64::from(n - i) / f64::from(i + 1)).product::<f64>();
    let mut outcomes = Vec::new();
    for clones in 0..people {
        let chance = choose(people - 1, clones)
            * clone.powi(clones)
            * (1.0 - clone).powi(people - 1 - clones);
        for k in 0..=clones + 1 {
            let fair = |k: i32| {
                if (0..=clones).contains(&k) {
                    choose(clones, k) * 0.5f64.powi(clones)
                } else {
                    0.0
                }
            };
            outcomes.push((
                chance * (truth * fair(k - 1) + (1.0 - truth) * fair(k)),
                chance * ((1.0 - truth) * fair(k - 1) + truth * fair(k)),
            ));
        }
    }
    let event = Event::Shuffled { epsilon, people: people as u64, binary: false };
    let loss = PrivacyLossDistribution::of_composition(&[(event, 2)]).unwrap();
    for epsilon in [0.0f64, 0.3, 1.0, 1.7] {
        let products =
            outcomes.iter().flat_map(|a| outcomes.iter().map(move |b| (a.0 * b.0, a.1 * b.1)));
        let want: f64 = products.map(|(p, q)| (p - epsilon.exp() * q).max(0.0)).sum();
        let got = loss.delta(epsilon);
        assert!(got >= want * DIGITS && got <= 1.01 * want, "{got} against {want}");
    }
}

#[test]
fn a_shuffled_batch_agrees_with_its_curve() {
    use crate::privacy::shuffle;
    for (epsilon_local, people) in [(1.0, 1000), (3.0, 1000), (2.0, 1_000_000), (1.0, 100_000_000)]
    {
        let event = Event::Shuffled { epsilon: epsilon_local, people, binary: false };
        let loss = PrivacyLossDistribution::of_composition(&[(event, 1)]).unwrap();
        for delta in [1e-3, 1e-6, 1e-10] {
            let epsilon = shuffle::epsilon(epsilon_local, people, delta, false).unwrap();
            let ratio = loss.delta(epsilon)
                / shuffle::delta(epsilon_local, people, epsilon, false).unwrap();
            assert!((0.99..1.02).contains(&ratio), "{epsilon_local} {people} {delta}: {ratio}");
        }
    }
}

#[test]
fn bad_input_is_refused_and_nothing_panics() {
    let gaussian = Event::Gaussian { sensitivity: 1.0, sigma: 1.0 };
    for interval in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-12] {
        assert!(PrivacyLossDistribution::of(&gaussian, interval).is_err(), "{interval}");
    }
    let loss = PrivacyLossDistribution::of(&gaussian, 1e6).unwrap();
    assert!(loss.delta(0.0) <= 1.0 && loss.delta(f64::NAN) == 1.0);
    assert_eq!(loss.epsilon(f64::NAN), f64::INFINITY);
    assert!(loss.repeat(u64::MAX).is_err());
    assert_eq!(loss.repeat(1_000_000_000_000).unwrap().delta(1.0), 1.0);
    let nothing = PrivacyLossDistribution::nothing(0.1).unwrap();
    let lost = PrivacyLossDistribution { masses: vec![0.0], infinity: 1.0, ..nothing };
    assert_eq!(lost.repeat(3).unwrap().delta(1e9), 1.0);
    for event in [
        Event::Gaussian { sensitivity: 1e-200, sigma: 1.0 },
        Event::Laplace { sensitivity: 1.0, scale: 1e300 },
        Event::Pure { epsilon: 1e4 },
        Event::Approximate { epsilon: 1e4, delta: 0.999 },
        Event::Approximate { epsilon: 1e-300, delta: 1e-300 },
        Event::DiscreteGaussian { sensitivity: 1, sigma: 0.01 },
        Event::DiscreteLaplace { sensitivity: u64::MAX, scale: 1e18 },
        Event::RandomizedResponse { categories: u64::MAX, epsilon: 1.0 },
        Event::PrivUnit { cap: 1e-300, inside: 0.5 },
        Event::Shuffled { epsilon: 50.0, people: u64::MAX, binary: true },
        Event::Shuffled { epsilon: 1e-9, people: 100, binary: false },
    ] {
        let loss = PrivacyLossDistribution::of_composition(&[(event.clone(), 3)]).unwrap();
        let delta = loss.delta(0.1);
        assert!((0.0..=1.0).contains(&delta), "{event:?}: {delta}");
    }
}
