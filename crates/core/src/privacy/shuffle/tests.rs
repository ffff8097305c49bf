//! Enumerated pairs and mechanisms, the closed form, and variants that must fail.

use super::*;

fn choose(n: u64, k: u64) -> f64 {
    (0..k).map(|i| (n - i) as f64 / (i + 1) as f64).product()
}

fn binomial(n: u64, chance: f64, k: u64) -> f64 {
    choose(n, k) * chance.powi(k as i32) * (1.0 - chance).powi((n - k) as i32)
}

fn clone_probability(epsilon_local: f64, binary: bool) -> f64 {
    if binary { 2.0 / (epsilon_local.exp() + 1.0) } else { (-epsilon_local).exp() }
}

/// Hockey stick of two lists of probabilities.
fn hockey_stick(p: &[f64], q: &[f64], epsilon: f64) -> f64 {
    p.iter().zip(q).map(|(p, q)| (p - epsilon.exp() * q).max(0.0)).sum()
}

/// The pair of the clones, every outcome written out.
fn pair_by_enumeration(epsilon_local: f64, people: u64, epsilon: f64, clone: f64) -> f64 {
    let truth = 1.0 / (1.0 + (-epsilon_local).exp());
    let mut delta = 0.0;
    for clones in 0..people {
        let (mut p, mut q) = (vec![0.0; clones as usize + 2], vec![0.0; clones as usize + 2]);
        for a in 0..=clones {
            let chance = binomial(clones, 0.5, a);
            let a = a as usize;
            p[a + 1] += truth * chance;
            p[a] += (1.0 - truth) * chance;
            q[a + 1] += (1.0 - truth) * chance;
            q[a] += truth * chance;
        }
        delta += binomial(people - 1, clone, clones) * hockey_stick(&p, &q, epsilon);
    }
    delta
}

const LOCAL: [f64; 4] = [0.1, 0.7, 2.0, 5.0];

#[test]
fn equals_the_enumerated_pair() {
    for epsilon_local in LOCAL {
        for (people, binary) in
            [(1, false), (2, true), (3, false), (10, true), (30, false), (30, true)]
        {
            for share in [0.0, 0.05, 0.3, 0.9] {
                let epsilon = share * epsilon_local;
                let clone = clone_probability(epsilon_local, binary);
                let want = pair_by_enumeration(epsilon_local, people, epsilon, clone);
                let got = delta(epsilon_local, people, epsilon, binary).unwrap();
                let what =
                    format!("{epsilon_local} {people} {epsilon} {binary}: {got:e}, {want:e}");
                assert!(
                    got >= want * (1.0 - 1e-11) && got <= want * (1.0 + 1e-6) + 1e-21,
                    "{what}"
                );
                // Counting the person's own report among the others' is not enough privacy.
                let wrong = delta(epsilon_local, people + 1, epsilon, binary).unwrap();
                assert!(wrong < want * (1.0 - 1e-6) || want < 1e-15, "{what}, {wrong:e}");
            }
        }
    }
}

/// Sum of independent bits with these chances.
fn count_law(chances: impl Iterator<Item = f64>) -> Vec<f64> {
    chances.fold(vec![1.0], |law, chance| {
        let mut next = vec![0.0; law.len() + 1];
        for (count, mass) in law.iter().enumerate() {
            next[count] += mass * (1.0 - chance);
            next[count + 1] += mass * chance;
        }
        next
    })
}

/// Shuffled binary randomised response itself: the count of ones, whatever the others' bits are.
fn binary_mechanism(epsilon_local: f64, people: u64, epsilon: f64) -> f64 {
    let truth = 1.0 / (1.0 + (-epsilon_local).exp());
    (0..people)
        .flat_map(|ones| {
            let others = (1..people).map(move |i| if i <= ones { truth } else { 1.0 - truth });
            let p = count_law(others.clone().chain([truth]));
            let q = count_law(others.chain([1.0 - truth]));
            [hockey_stick(&p, &q, epsilon), hockey_stick(&q, &p, epsilon)]
        })
        .fold(0.0, f64::max)
}

/// Shuffled randomised response among three: the histogram, whatever the other two people's answers are.
fn ternary_mechanism(epsilon_local: f64, epsilon: f64) -> f64 {
    let truth = epsilon_local.exp() / (epsilon_local.exp() + 2.0);
    let chance =
        |truly: usize, said: usize| if truly == said { truth } else { 0.5 * (1.0 - truth) };
    let law = |inputs: [usize; 3]| {
        let mut histogram = vec![0.0; 64];
        for outputs in (0..27).map(|i| [i % 3, i / 3 % 3, i / 9]) {
            let cell: usize = outputs.iter().map(|said| [1, 4, 16][*said]).sum();
            histogram[cell.min(63)] += inputs
                .iter()
                .zip(outputs)
                .map(|(truly, said)| chance(*truly, said))
                .product::<f64>();
        }
        histogram
    };
    (0..81)
        .map(|i| (i % 3, i / 3 % 3, i / 9 % 3, i / 27))
        .map(|(a, b, x, y)| hockey_stick(&law([a, b, x]), &law([a, b, y]), epsilon))
        .fold(0.0, f64::max)
}

#[test]
fn real_mechanisms_stay_below_and_too_many_clones_do_not_cover_them() {
    let (mut tightest, mut uncovered) = (0.0f64, 0);
    for epsilon_local in LOCAL {
        for share in [0.0, 0.2, 0.6] {
            let epsilon = share * epsilon_local;
            let got = delta(epsilon_local, 3, epsilon, false).unwrap();
            assert!(ternary_mechanism(epsilon_local, epsilon) <= got * (1.0 + 1e-12));
            for people in [1, 2, 5, 12] {
                let real = binary_mechanism(epsilon_local, people, epsilon);
                let got = delta(epsilon_local, people, epsilon, true).unwrap();
                assert!(
                    real <= got * (1.0 + 1e-12),
                    "{epsilon_local} {people} {epsilon}: {real} {got}"
                );
                tightest = tightest.max(real / got);
                let clone = (2.0 * clone_probability(epsilon_local, true)).min(1.0);
                let wrong = pair_by_enumeration(epsilon_local, people, epsilon, clone);
                uncovered += u32::from(real > wrong * (1.0 + 1e-9));
            }
        }
    }
    assert!(tightest > 1.0 - 1e-12, "{tightest}");
    assert!(uncovered > 5, "{uncovered}");
}

#[test]
fn never_worse_than_the_local_level_and_better_with_more_people() {
    for epsilon_local in [0.1, 1.0, 4.0] {
        let mut before = epsilon_local;
        for people in [1, 1000, 100_000, 1_000_000_000] {
            for delta in [1e-10, 1e-6, 1e-4] {
                let got = epsilon(epsilon_local, people, delta, false).unwrap();
                assert!(got <= epsilon_local);
                assert!(epsilon(epsilon_local, people, delta, true).unwrap() <= got);
                assert!(super::delta(epsilon_local, people, got, false).unwrap() <= delta);
            }
            let now = epsilon(epsilon_local, people, 1e-6, false).unwrap();
            assert!(now <= before, "{epsilon_local} {people}: {now} after {before}");
            before = now;
        }
    }
}

#[test]
fn grouping_costs_less_than_one_percent() {
    for (epsilon_local, people) in [(1.0, 10_000), (3.0, 100_000), (0.5, 1_000_000)] {
        let level = epsilon(epsilon_local, people, 1e-10, false).unwrap();
        let one_by_one = Crowd::new(epsilon_local, people, false, usize::MAX).unwrap().delta(level);
        let grouped = delta(epsilon_local, people, level, false).unwrap();
        let ratio = grouped / one_by_one;
        assert!((1.0 - 1e-9..1.01).contains(&ratio), "{epsilon_local} {people}: {ratio}");
    }
}

#[test]
fn bad_input_is_refused() {
    assert!(delta(-1.0, 10, 0.1, false).is_err());
    assert!(delta(f64::NAN, 10, 0.1, false).is_err());
    assert!(delta(1.0, 0, 0.1, false).is_err());
    assert!(epsilon(1.0, 10, 0.0, false).is_err());
    assert_eq!(epsilon(0.0, 10, 1e-6, false).unwrap(), 0.0);
    for local in [1e-300, 50.0, 1e300] {
        let got = epsilon(local, u64::MAX, 1e-6, true).unwrap();
        assert!((0.0..=local).contains(&got), "{local}: {got}");
    }
}

#[test]
fn a_crowd_of_one_is_the_local_randomiser_at_every_level() {
    // Without others to hide among, delta is a (1 - e^(epsilon - epsilon_0)); tanh(epsilon_0/2) is 1 from 37 on.
    for epsilon_local in [0.5_f64, 5.0, 30.0, 40.0, 100.0, 700.0] {
        for below in [1e-6, 0.01, 1.0, 0.4 * epsilon_local] {
            let epsilon = (epsilon_local - below).max(0.0);
            let truth = -(epsilon - epsilon_local).exp_m1() / (1.0 + (-epsilon_local).exp());
            let got = delta(epsilon_local, 1, epsilon, false).unwrap();
            assert!(got >= truth * (1.0 - 1e-12), "{epsilon_local} {epsilon}: {got:e} {truth:e}");
            assert!(got <= truth * (1.0 + 1e-6) + 1e-15);
        }
    }
}

#[test]
fn composed_batches_are_never_below_the_enumerated_pair_at_high_levels() {
    use crate::privacy::{Accountant, Event};
    for epsilon_local in [15.0_f64, 25.0, 37.0, 60.0] {
        let batch = Event::Shuffled { epsilon: epsilon_local, people: 1, binary: false };
        let twice = Event::Repeated { event: Box::new(batch), times: 2 };
        let curve = Accountant::price(&twice).unwrap();
        // Both reports true: loss 2 epsilon_0 with probability a^2; delta at epsilon just below is about that gap.
        let epsilon = 2.0 * epsilon_local - 0.5;
        let a = 1.0 / (1.0 + (-epsilon_local).exp());
        let truth = a * a * -(-0.5f64).exp_m1();
        assert!(curve.delta(epsilon).unwrap() >= truth * (1.0 - 1e-12), "{epsilon_local}");
    }
}
