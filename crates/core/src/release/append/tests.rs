use proptest::prelude::*;

use super::*;
use crate::{
    features::{Cells, LevelPart, Levels},
    noise::DiscreteGaussian,
    privacy::Event,
    release::{
        Calibration, ContributionSums, Factor, HalfLife, Mechanism, Merging, PrivateSumParams,
        Release,
        blt::Blt,
        testing::{Seeded, Silent},
    },
};

const SAMPLES: usize = 20_000;
const SIGMA: u64 = 1 << 44;
/// Steps before the appending, and after.
const BEFORE: u64 = 11;
const AFTER: u64 = 6;

fn factors() -> Vec<Factor> {
    let steps = BEFORE + AFTER;
    let half_life = HalfLife::new(4.0, &Schedule::Clock).unwrap();
    let forgets = Factor::Blt(Blt::forgetting(1 << 32, 8, half_life).unwrap());
    let mechanisms = [
        Mechanism::Tree { levels: None },
        Mechanism::PaddedTree { levels: Some(7) },
        Mechanism::Honaker,
        Mechanism::Toeplitz,
        Mechanism::default(),
    ];
    let known = mechanisms.into_iter().map(|mechanism| mechanism.build(steps).unwrap());
    known.chain([forgets]).collect()
}

/// Variances of the first and the last prefix after the appending and of their difference, over streams without data, in squared deviations of one draw.
/// A stream either has all of its coordinates from the start, or gets them from `append`.
fn variances(
    factor: &Factor,
    seed: u64,
    append: Option<fn(&mut Running, &Places, Draw)>,
) -> [f64; 3] {
    let law = DiscreteGaussian::new(SIGMA).unwrap();
    let mut source = Seeded(seed);
    let mut draw = |_: usize| source.discrete_gaussian(&law);
    let mut running = factor.clone().start(if append.is_some() { 1 } else { SAMPLES });
    let zeros = vec![0; SAMPLES];
    for _ in 0..BEFORE {
        running.step(&zeros[..if append.is_some() { 1 } else { SAMPLES }], &mut draw);
    }
    if let Some(append) = append {
        let places: Vec<Option<usize>> =
            (0..SAMPLES).map(|at| (at == SAMPLES - 1).then_some(0)).collect();
        append(&mut running, &places, &mut draw);
    }
    let prefixes: Vec<Vec<f64>> = (0..AFTER).map(|_| running.step(&zeros, &mut draw)).collect();
    let (first, last) = (&prefixes[0], &prefixes[prefixes.len() - 1]);
    let moment = |of: &dyn Fn(usize) -> f64| {
        (0..SAMPLES).map(|at| (of(at) / SIGMA as f64).powi(2)).sum::<f64>() / SAMPLES as f64
    };
    [moment(&|at| first[at]), moment(&|at| last[at]), moment(&|at| last[at] - first[at])]
}

/// True if two triples of variances are of different laws. A mean of `SAMPLES` squared normals has the relative deviation sqrt(2 / SAMPLES) = 0.01, the
/// quotient of two of them 0.0142; at 6 of those, 18 quotients alarm falsely with probability below 18 * 2e-9.
fn alarm(found: [f64; 3], wanted: [f64; 3]) -> bool {
    let limit = 6.0 * (4.0 / SAMPLES as f64).sqrt();
    found.iter().zip(wanted).any(|(found, wanted)| (found / wanted - 1.0).abs() > limit)
}

#[test]
fn appended_coordinates_have_the_law_of_a_stream_that_always_had_them() {
    for factor in factors() {
        let always = variances(&factor, 1, None);
        let appended = variances(
            &factor,
            2,
            Some(|running, places, draw| running.append(places, BEFORE, draw)),
        );
        assert!(!alarm(appended, always), "{factor:?}: {appended:?}, not {always:?}");
        // Planted: appended coordinates begin without the noise of the steps before them.
        let fresh = variances(
            &factor,
            3,
            Some(|running, places, _| running.append(places, BEFORE, &mut |_| 0)),
        );
        assert!(alarm(fresh, always), "{factor:?}: {fresh:?}");
        // The deviation that is stated is that of the noise.
        let stated = factor.as_dyn().prefix_deviation(BEFORE + 1).powi(2);
        assert!((appended[0] / stated - 1.0).abs() < 6.0 * (2.0 / SAMPLES as f64).sqrt());
    }
}

fn params(horizon: Option<u64>, dimension: usize) -> PrivateSumParams {
    PrivateSumParams {
        schedule: Schedule::Clock,
        forget: horizon.is_none().then_some(4.0),
        contributions_per_person: 2,
        ..PrivateSumParams::new(
            Domain::regression(dimension, 1.0, 0.5),
            horizon,
            Calibration::Budget { epsilon: 1.0, delta: 1e-6 },
        )
    }
}

fn tick<N: Noise>(sum: &mut PrivateSum<N>, rows: &[(Vec<f64>, f64)]) -> Release {
    let mut sums = ContributionSums::new(sum.clipper().clone());
    for (features, reward) in rows {
        sums.add(&sum.clip_with_reward(features, *reward).unwrap()).unwrap();
    }
    sum.tick(&mut sums).unwrap()
}

/// A vector of the later features without the appended ones.
fn earlier(row: &[f64], places: &Places, dimension: usize) -> Vec<f64> {
    let mut earlier = vec![0.0; dimension];
    for (value, place) in row.iter().zip(places) {
        if let Some(place) = place {
            earlier[*place] = *value;
        }
    }
    earlier
}

fn rows(count: usize, dimension: usize) -> impl Strategy<Value = Vec<Vec<(Vec<f64>, f64)>>> {
    let row = (prop::collection::vec(-1.0_f64..1.0, dimension), -0.5_f64..0.5);
    prop::collection::vec(prop::collection::vec(row, 0..3), count)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    /// The lemma bit for bit where there is no noise: the stream that gets its coordinates at t_c releases what the stream releases that always had them
    /// and in which they were zero, at any places, of any mechanism.
    #[test]
    fn an_appended_stream_is_the_one_that_always_had_its_coordinates(
        before in rows(5, 5), after in rows(5, 5), horizon in prop::sample::select(vec![None, Some(12)]),
        mechanism in prop::sample::select(vec![
            Mechanism::Tree { levels: None }, Mechanism::Toeplitz, Mechanism::default(), Mechanism::Honaker,
        ]),
        new in prop::sample::subsequence(vec![0_usize, 1, 2, 3, 4], 0..=3),
    ) {
        let mut next = 0..;
        let places: Vec<Option<usize>> =
            (0..5).map(|at| if new.contains(&at) { None } else { next.next() }).collect();
        let dimension = places.iter().flatten().count();
        let mechanism = if horizon.is_none() { Mechanism::default() } else { mechanism };
        // The grid of the shorter stream, so that both round alike.
        let of = |dimension| PrivateSumParams { mechanism, ..params(horizon, dimension) }.check().unwrap();
        let mut short = of(dimension).start(Silent);
        let mut whole = of(5).start(Silent);
        prop_assume!(short.clipper().with_domain(whole.clipper().domain().clone()).unwrap() == *whole.clipper());
        for rows in &before {
            let cut: Vec<_> = rows.iter().map(|(row, y)| (earlier(row, &places, dimension), *y)).collect();
            let padded: Vec<_> = cut.iter().map(|(row, y)| (appended(row, &places, 0.0), *y)).collect();
            let (one, other) = (tick(&mut short, &cut), tick(&mut whole, &padded));
            prop_assert_eq!(one.sums().len(), Domain::regression(dimension, 1.0, 0.5).coordinates());
            prop_assert_eq!(one.upper_triangle()[0].to_bits(), one.upper_triangle()[0].to_bits());
            prop_assert!(one.sums().iter().all(|sum| other.sums().contains(sum)));
        }
        let event = short.event();
        short.append(&places, &Domain::regression(5, 1.0, 0.5)).unwrap();
        if horizon.is_none() {
            prop_assert_eq!(short.event(), event);
        }
        let mut short = PrivateSum::<Silent>::resume(&short.save(), short.releases()).unwrap();
        for rows in &after {
            let (one, other) = (tick(&mut short, rows), tick(&mut whole, rows));
            prop_assert_eq!(one.sums(), other.sums());
        }
    }
}

#[test]
fn the_price_stays_and_the_stream_ends_earlier() {
    let mut sum = params(None, 3).check().unwrap().start(Seeded(1));
    tick(&mut sum, &[(vec![0.6, 0.0, 0.8], 0.5)]);
    let event = sum.event();
    // Entries that have or will have noise, and the sum of their inverse variances.
    let each = |sum: &PrivateSum<Seeded>| {
        let Engine::Known { noise, .. } = &sum.state.plan.engine else { panic!() };
        [noise.deviations().len() as f64, noise.inverse_squares()]
    };
    let priced = each(&sum).map(|each| each * (1_u64 << 32) as f64);
    let mut spent = each(&sum);
    for dimension in 4..8 {
        let before = sum.state.plan.engine.capacity();
        let places: Vec<Option<usize>> =
            (0..dimension).map(|at| (at + 1 < dimension).then_some(at)).collect();
        sum.append(&places, &Domain::regression(dimension, 1.0, 0.5)).unwrap();
        assert_eq!(sum.event(), event);
        let ends = sum.state.plan.engine.capacity();
        assert!(ends < before && sum.state.plan.horizon == ends);
        tick(&mut sum, &[]);
        spent = [0, 1].map(|of| spent[of] + each(&sum)[of]);
    }
    let ahead = (sum.state.plan.engine.capacity() - sum.state.step) as f64;
    let all = [0, 1].map(|of| (spent[of] + ahead * each(&sum)[of]) / priced[of]);
    assert!(all.iter().all(|all| *all <= 1.0) && all.iter().any(|all| *all > 0.999), "{all:?}");
    let deviations = sum.deviations(sum.state.step).unwrap();
    assert_eq!(deviations.len(), sum.clipper().domain().coordinates());
}

#[test]
fn with_a_horizon_the_price_of_rounding_is_added() {
    let mut sum = params(Some(1000), 3).check().unwrap().start(Seeded(1));
    let Event::GridGaussian { mu: before, coordinates: drawn, .. } = sum.event() else { panic!() };
    sum.append(&[Some(0), Some(1), None, Some(2)], &Domain::regression(4, 1.0, 0.5)).unwrap();
    let Event::GridGaussian { mu, coordinates, .. } = sum.event() else { panic!() };
    assert!(mu > before && mu < before * (1.0 + 1e-8), "{mu} {before}");
    assert_eq!(coordinates, drawn * 14.0 / 9.0);
}

#[test]
fn what_is_no_appending_is_refused_and_changes_nothing() {
    let mut sum = params(None, 2).check().unwrap().start(Silent);
    tick(&mut sum, &[(vec![0.6, 0.8], 0.5)]);
    let before = sum.save();
    for places in
        [&[Some(0)][..], &[Some(0), Some(0), None], &[Some(0), Some(2)], &[None, Some(1)], &[]]
    {
        let later = Domain::regression(places.len().max(1), 1.0, 0.5);
        let error = sum.append(places, &later).unwrap_err().to_string();
        assert!(error.contains("places") || error.contains("dimension"), "{error}");
        assert_eq!(sum.save(), before);
    }
    // One dimension has a smaller distance.
    let split = Domain::regression(1, 1.0, 1.0).split_as(0.1);
    let line = PrivateSumParams { domain: split, ..params(None, 1) };
    let mut line = line.check().unwrap().start(Silent);
    let plane = Domain::regression(2, 1.0, 1.0).split_as(0.1);
    assert!(line.append(&[Some(0), None], &plane).unwrap_err().to_string().contains("dimension"));
    let vectors = |dimension| Domain::Vector { dimension, bound: 1.0 };
    let mut sum =
        PrivateSumParams { domain: vectors(2), ..params(None, 2) }.check().unwrap().start(Silent);
    assert!(sum.append(&[Some(0), Some(1), None], &vectors(3)).is_err());
    // Another bound, another split, merged sums in place of dense ones.
    let mut sum = params(None, 2).check().unwrap().start(Silent);
    for later in [
        Domain::regression(3, 2.0, 0.5),
        Domain::regression(3, 1.0, 1.0),
        Domain::regression(3, 1.0, 0.5).split_as(0.1),
        words(2, 1.0),
    ] {
        let error = sum.append(&[Some(0), Some(1), None], &later).unwrap_err().to_string();
        assert!(error.contains("begin a new stream") || error.contains("places"), "{error}");
    }
}

/// Merged sums of a category of the context with two words, one of the action with this many, their cross and a match.
fn words(topics: u32, match_weight: f64) -> Domain {
    let part = |of: &[u32], weight| LevelPart { of: of.to_vec(), weight };
    let cells = |coordinates| Cells::indicator(coordinates);
    let matched = Cells { matched: Some((0, 1)), ..cells(1) };
    let parts =
        vec![part(&[1], 0.5), part(&[0, 1], 0.5), part(&[2], 0.3 * match_weight), part(&[], 0.5)];
    let levels = Levels::new(vec![cells(topics), cells(topics), matched], parts).unwrap();
    Domain::merged(Merging::new(levels), 1.0, 0.5)
}

/// A vector of `words`, of one word each.
fn of_words(topics: usize, (context, action): (usize, usize)) -> Vec<f64> {
    let one = |at: usize, size: usize, weight: f64| -> Vec<f64> {
        (0..size).map(|i| if i == at { weight } else { 0.0 }).collect()
    };
    let equal = if context == action { 0.3 } else { 0.0 };
    [
        one(action, topics, 0.5),
        one(context * topics + action, topics * topics, 0.5),
        vec![equal, 0.5],
    ]
    .concat()
}

/// Merged sums go on with words appended to both categories, whose crosses lie between those of earlier words.
#[test]
fn merged_sums_keep_theirs_when_words_are_appended() {
    let (few, many) = (2_usize, 4_usize);
    let mut places: Vec<Option<usize>> = (0..many).map(|i| (i < few).then_some(i)).collect();
    let cell =
        |i: usize| (i / many < few && i % many < few).then(|| few + i / many * few + i % many);
    places.extend((0..many * many).map(cell));
    places.extend([few + few * few, few + few * few + 1].map(Some));
    let start = |topics| {
        let merged = PrivateSumParams { domain: words(topics, 1.0), ..params(None, 2) };
        merged.check().unwrap().start(Silent)
    };
    let (mut short, mut whole) = (start(2), start(4));
    assert_eq!(
        short.clipper().with_domain(whole.clipper().domain().clone()).unwrap(),
        *whole.clipper()
    );
    for pair in [(0, 0), (0, 1), (1, 0), (1, 1), (0, 1)] {
        tick(&mut short, &[(of_words(few, pair), 0.5)]);
        tick(&mut whole, &[(of_words(many, pair), 0.5)]);
    }
    let event = short.event();
    short.append(&places, &words(4, 1.0)).unwrap();
    assert_eq!(short.event(), event);
    for pair in [(0, 0), (2, 2), (3, 1), (1, 3), (2, 0)] {
        let row = [(of_words(many, pair), -0.25)];
        assert_eq!(tick(&mut short, &row).sums(), tick(&mut whole, &row).sums());
    }
    // Another weight would merge with other factors.
    let error = start(2).append(&places, &words(4, 0.5)).unwrap_err().to_string();
    assert!(error.contains("begin a new stream"), "{error}");
}
