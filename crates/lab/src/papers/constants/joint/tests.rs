//! The constants beside the numbers of the paper and of its authors' program.

use reticent::{
    Error,
    release::{Domain, Release},
};

use super::*;
use crate::{FastNoise, papers::constants::regret};

/// The paper's setting: n = 5e7, d = 5, epsilon = 1, delta = 0.1, alpha = 1/n.
fn authors() -> Published {
    Published::new(Problem::unit(5), 1.0, 0.1, 1.0 / 5e7, 50_000_000).unwrap()
}

/// The same as printed; figures of the design notes.
fn setting() -> Published {
    authors().reading(Constants::Printed)
}

#[test]
fn the_gaussian_constants_are_those_of_the_notes() {
    let published = setting();
    assert_eq!(published.levels(), 27);
    assert!((published.gaussian_deviation() - 153.3).abs() < 0.05);
    let regularizer = published.gaussian_regularizer(published.gaussian_deviation());
    assert!((regularizer.minimum - 91546.0).abs() < 1.0, "{}", regularizer.minimum);
    assert_eq!(regularizer.shift, 2.0 * regularizer.minimum);
    // Two misreadings that are in circulation give other numbers: log2 for ln, and the shift per node.
    let log2 = 4.0 * 27f64.sqrt() * 2.0 * 40f64.log2();
    assert!((log2 - 153.3).abs() > 50.0);
    assert!(regularizer.shift * 27.0 > 1e6);
}

#[test]
fn the_tree_has_the_printed_depth_and_deviation() {
    let of = |delta, horizon| Published::new(Problem::unit(1), 1.0, delta, 0.1, horizon).unwrap();
    let levels = |horizon| of(0.1, horizon).levels();
    assert_eq!([1, 2, 3, 50_000_000, 1 << 63, u64::MAX].map(levels), [1, 2, 3, 27, 64, 65]);
    for (rounds, large, small) in
        [(10_000, 443.0, 1824.0), (1_000_000, 620.0, 2554.0), (50_000_000, 797.0, 3284.0)]
    {
        assert!((of(0.1, rounds).prefix_deviation() - large).abs() < 0.6);
        assert!((of(1e-6, rounds).prefix_deviation() - small).abs() < 0.6);
    }
}

#[test]
fn the_published_noise_is_fourteen_times_what_its_claim_needs() {
    let problem = Problem::unit(5);
    for (delta, exact, published, constants) in [
        (0.1, 0.92091, 0.0678, Constants::Authors),
        (0.1, 0.92091, 0.0678, Constants::Printed),
        (1e-6, 0.23670, 0.01645, Constants::Printed),
    ] {
        let params =
            params(problem, PublishedNoise::GaussianTree, constants, 1.0, delta, 50_000_000)
                .unwrap();
        let guarantee = params.check().unwrap().guarantee().unwrap();
        let mu = guarantee.curve().mu().unwrap();
        // Dummies protect no one: the authors' tree has the privacy of the printed one.
        assert!((mu / published - 1.0).abs() < 2e-3, "{mu}");
        assert!((exact / mu - exact / published).abs() < 0.05);
        assert!(guarantee.claimed().is_some());
        assert!(guarantee.claimed().unwrap().holds());
    }
}

/// Parameters of `exact` mode, with the constants in place of the noise.
#[test]
fn what_the_publication_says_nothing_about_is_refused() {
    let exact = JointParams {
        rule: Rule::CERTIFIED,
        schedule: Schedule::EveryRound,
        ..JointParams::new(Bounds::unit(3), 1.0, 1e-4, Some(2000))
    };
    for noise in [PublishedNoise::GaussianTree, PublishedNoise::Wishart] {
        for constants in [Constants::Authors, Constants::Printed] {
            let found = in_place_of(exact.clone(), noise, constants).unwrap();
            assert_eq!(found, params(Problem::unit(3), noise, constants, 1.0, 1e-4, 2000).unwrap());
        }
    }
    let twice = JointParams { contributions_per_person: 2, ..exact.clone() };
    let guarantee = |params: JointParams| {
        let params = in_place_of(params, PublishedNoise::GaussianTree, Constants::Authors).unwrap();
        params.check().unwrap().guarantee().unwrap().curve().mu().unwrap()
    };
    assert!(guarantee(twice) > 1.4 * guarantee(exact.clone()), "more is paid for, not hidden");
    let shared = Bounds { intercept: Some(0.5), ..exact.bounds };
    for (field, bad) in [
        ("horizon", JointParams { horizon: None, ..exact.clone() }),
        ("rule", JointParams { rule: Rule::default(), ..exact.clone() }),
        ("intercept", JointParams { bounds: shared, ..exact.clone() }),
        ("restart_every", JointParams { restart_every: Some(100), ..exact.clone() }),
        ("forget", JointParams { forget: Some(100.0), ..exact.clone() }),
        ("mechanism", JointParams { mechanism: Some(Mechanism::Honaker), ..exact.clone() }),
        ("epsilon", JointParams { epsilon: -1.0, ..exact.clone() }),
        ("delta", JointParams { delta: 1.0, ..exact.clone() }),
    ] {
        match in_place_of(bad, PublishedNoise::GaussianTree, Constants::Authors) {
            Err(Error::Invalid { field: named, .. }) => assert_eq!(named, field),
            other => panic!("{field}: {other:?}"),
        }
    }
}

#[test]
fn the_degrees_of_freedom_are_the_printed_ones() {
    let printed = 6.0 + (224.0 * 27.0 * (8.0 * 27.0 / 0.1f64).ln() * 20f64.ln()).ceil();
    assert_eq!(setting().wishart_degrees(), printed);
    // log2 for ln would be twice as many.
    assert!(printed < 0.6 * 224.0 * 27.0 * (8.0 * 27.0 / 0.1f64).log2() * 20f64.log2());
}

#[test]
fn the_shift_enters_the_policy_once_and_not_per_node() {
    let published = setting();
    let regularizer = published.gaussian_regularizer(published.gaussian_deviation());
    let rule =
        published.rule(regularizer).plan(Domain::regression(5, 1.0, 1.0), None, None).unwrap();
    // A prefix of 27 nodes in which nothing was seen but u: theta = u / shift.
    let mut sums = vec![0.0; 20];
    sums[15] = 1e6;
    let domain = Domain::regression(5, 1.0, 1.0);
    let release =
        Release::simulated::<FastNoise>(domain, (1 << 26) - 1, 1, sums, vec![1.0; 20]).unwrap();
    let theta = rule.policy(&release).unwrap().theta()[0];
    assert!((theta * 2.0 * 91546.0 / 1e6 - 1.0).abs() < 1e-4, "{theta}");
    // Planted: the shift of every node.
    assert!((theta * 27.0 * 2.0 * 91546.0 / 1e6 - 1.0).abs() > 1.0);
}

#[test]
fn the_shifted_wishart_is_better_conditioned_and_its_shift_is_the_papers() {
    let published = setting();
    let plain = published.regularizer(PublishedNoise::WishartUnshifted).unwrap();
    let shifted = published.shifted_wishart_regularizer();
    // Shifting moves both ends by c; (4) chooses c such that the lower end becomes 4 L~^2 sqrt(mk) q.
    let c = -shifted.shift;
    assert!((plain.minimum - c - shifted.minimum).abs() < 1e-6 * plain.minimum);
    assert!((plain.maximum - c - shifted.maximum).abs() < 1e-6 * plain.maximum);
    assert!(shifted.maximum < plain.maximum && c > 0.0);
}

/// Figures of the authors' program in the paper's setting, computed from its formulas by other code.
#[test]
fn the_authors_constants_are_those_of_their_program() {
    let published = authors();
    let near = |value: f64, expected: f64| {
        assert!((value / expected - 1.0).abs() < 1e-6, "{value} beside {expected}");
    };
    let regularizer = |noise| published.regularizer(noise).unwrap();
    let gaussian = regularizer(PublishedNoise::GaussianTree);
    near(gaussian.minimum, 92_208.716_8);
    near(gaussian.vector, 28.269_139_9);
    assert_eq!(
        (gaussian.shift, gaussian.maximum),
        (2.0 * gaussian.minimum, 3.0 * gaussian.minimum)
    );
    assert_eq!(published.gaussian_tree(), Mechanism::PaddedTree { levels: Some(27) });
    assert_eq!(published.wishart_degrees(), 239_278.0);
    let unshifted = regularizer(PublishedNoise::WishartUnshifted);
    near(unshifted.minimum, 12_810_082.93);
    near(unshifted.maximum, 13_032_419.30);
    near(unshifted.vector, 15.235_803_6);
    let shifted = regularizer(PublishedNoise::Wishart);
    near(shifted.minimum, 222_336.365_7);
    near(shifted.maximum, 444_672.731_4);
    near(shifted.vector, 115.647_457);
    let Rule::Regularized { failure_probability, .. } = published.rule(shifted) else {
        panic!("a published rule")
    };
    assert_eq!(failure_probability, Some(1e-8));
    // The reading of the text is another one.
    assert_eq!(setting().gaussian_tree(), Mechanism::Tree { levels: Some(27) });
    assert!(setting().shifted_wishart_regularizer().vector > 200.0);
}

/// Theorem 8 gives a node with k degrees of freedom the epsilon that the accountant is given, and the claim for all nodes holds.
#[test]
fn the_authors_wishart_noise_is_certified_for_the_degrees_that_they_ran() {
    let published = authors();
    let Calibration::Wishart { node_epsilon, node_delta } =
        published.wishart_calibration().unwrap()
    else {
        panic!("Wishart noise")
    };
    assert_eq!(wishart_degrees(5, node_epsilon, node_delta), published.wishart_degrees());
    // The budget of a node itself would need one degree more than they ran.
    let (epsilon, _) = published.node_budget();
    assert_eq!(wishart_degrees(5, epsilon, node_delta), published.wishart_degrees() + 1.0);
    for noise in
        [PublishedNoise::Wishart, PublishedNoise::WishartUnshifted, PublishedNoise::WishartOpt]
    {
        let guarantee = published.params(noise).unwrap().check().unwrap().guarantee().unwrap();
        assert!(guarantee.claimed().unwrap().holds() && guarantee.epsilon() < 1.0, "{guarantee}");
    }
}

#[test]
fn a_searched_shift_is_the_least_of_the_bound_and_the_text_has_none() {
    let published = authors();
    for (noise, expected, unshifted) in [
        (PublishedNoise::GaussianOpt, 71_632.57, PublishedNoise::GaussianTree),
        (PublishedNoise::WishartOpt, 207_402.0, PublishedNoise::WishartUnshifted),
    ] {
        let found = published.regularizer(noise).unwrap();
        // The expected place is that of the least of 200,001 places.
        assert!((found.minimum / expected - 1.0).abs() < 1e-3, "{found:?}");
        let bound = |minimum: f64| {
            let shifted = published.regularizer(unshifted).unwrap().shifted_to(minimum);
            regret::regret_of_proof(&Problem::unit(5), &shifted, 1e-8, 50_000_000)
        };
        for factor in [0.1, 0.5, 2.0, 10.0] {
            assert!(bound(found.minimum) < bound(factor * found.minimum), "{factor}");
        }
        assert!(setting().params(noise).is_err());
    }
}
