//! The sums against the dense ones: a contraction for any vectors, and nothing lost for those of the rule's form.

use proptest::prelude::*;

use super::*;
use crate::{
    features::{Cells, FeaturesParams, LevelPart, Report, Value},
    noise::{Noise, check},
    release::{
        Calibration, Clipper, ContributionSums, Domain, PrivateSumParams, Schedule,
        testing::{Seeded, Silent},
    },
    special::normal_cdf,
    wire,
};

/// Two categories, a number, crosses of two and three, a match, a part without weight.
fn levels() -> Levels {
    let part = |of: &[u32], weight| LevelPart { of: of.to_vec(), weight };
    let features = vec![
        Cells::indicator(2),
        Cells::indicator(3),
        Cells::numbers(1),
        Cells::indicator(3),
        Cells { matched: Some((1, 3)), ..Cells::indicator(1) },
    ];
    let parts = vec![
        part(&[1], 0.3),
        part(&[2], 0.0),
        part(&[3], 0.45),
        part(&[0, 3], 0.35),
        part(&[2, 3], 0.3),
        part(&[0, 1, 3], 0.25),
        part(&[4], 0.3),
        part(&[], 0.5),
    ];
    Levels::new(features, parts).unwrap()
}

fn merging() -> Merging {
    Merging::new(levels())
}

fn outer(x: &[f64]) -> Vec<f64> {
    upper(x.len()).map(|(i, j)| x[i] * x[j]).collect()
}

/// Squared distance of two matrices in units of the noise, dense and merged.
fn squares(pattern: &Merging, x: &[f64], other: &[f64], ratios: &[f64]) -> (f64, f64) {
    let apart: Vec<f64> = outer(x).iter().zip(outer(other)).map(|(a, b)| a - b).collect();
    let dense = upper(x.len()).zip(&apart).map(|((i, j), x)| square(*x) / square_ratio(i, j)).sum();
    let merged =
        pattern.merge(&apart).iter().zip(ratios).map(|(sum, ratio)| square(sum / ratio)).sum();
    (dense, merged)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// For any vectors, of the rule's form or not; also in whole numbers, as the clipper makes them.
    #[test]
    fn merged_sums_are_never_further_apart_than_dense_ones(
        x in prop::collection::vec(-1.0_f64..1.0, 36), other in prop::collection::vec(-1.0_f64..1.0, 36), sparse in 0..4_usize, y in -1.0_f64..1.0,
    ) {
        let pattern = merging();
        let d = pattern.dimension();
        prop_assert_eq!(d, 36);
        let thin = |x: &[f64], from: usize| -> Vec<f64> {
            let kept = |i: usize| sparse == 0 || (i * 7 + from) % (8 * sparse) < 3;
            let x: Vec<f64> = x.iter().enumerate().map(|(i, x)| if kept(i) { *x } else { 0.0 }).collect();
            let norm = x.iter().map(|x| x * x).sum::<f64>().sqrt().max(1e-9);
            x.iter().map(|x| x / norm).collect()
        };
        let (x, other) = (thin(&x, 0), thin(&other, 3));
        let ratios: Vec<f64> = pattern.noise_ratios().collect();
        let (dense, merged) = squares(&pattern, &x, &other, &ratios);
        prop_assert!(merged <= dense * (1.0 + 1e-12) + 1e-24, "{} {}", merged, dense);

        let domain = Domain::merged(pattern, 1.0, 1.0);
        let clipper = Clipper::new(domain.clone(), 1.4).unwrap();
        let numbers = |x: &[f64], y: f64| {
            let mut sums = ContributionSums::new(clipper.clone());
            sums.add(&clipper.clip_with_reward(x, y).unwrap()).unwrap();
            let mut entries = vec![0_i128; domain.coordinates()];
            sums.add_to(&mut entries);
            entries
        };
        let (one, two) = (numbers(&x, y), numbers(&other, -y));
        let units = clipper.exponents().into_iter().map(|e| crate::release::power_of_two(-e));
        let scaled = one.iter().zip(&two).zip(units.zip(domain.noise_ratios()));
        let distance: f64 = scaled.map(|((a, b), (unit, ratio))| square((a - b) as f64 * unit / ratio)).sum();
        prop_assert!(distance.sqrt() <= domain.sensitivity(), "{} {}", distance.sqrt(), domain.sensitivity());
        // Entries stay below the bits that the stream has room for.
        let largest = one.iter().chain(&two).map(|x| x.unsigned_abs()).max().unwrap_or(0);
        prop_assert!(libm::log2(largest.max(1) as f64) <= clipper.entry_bits());
    }
}

/// Planted: norms in which the diagonal counts like the rest, which are too small.
#[test]
fn a_wrong_normalisation_is_no_contraction() {
    let pattern = merging();
    let d = pattern.dimension();
    let mut wrong = vec![0.0; pattern.count()];
    for (sum, k) in &pattern.tables().entries {
        if *sum != Monomials::ZERO {
            wrong[*sum as usize] += square(f64::from(*k));
        }
    }
    wrong.iter_mut().for_each(|square| *square = square.sqrt());
    let right: Vec<f64> = pattern.noise_ratios().collect();
    let further = |ratios: &[f64]| {
        let single =
            |i: usize| -> Vec<f64> { (0..d).map(|j| f64::from(u8::from(i == j))).collect() };
        let pairs = (0..d).map(|i| squares(&pattern, &single(i), &single((i + 1) % d), ratios));
        pairs.filter(|(dense, merged)| *merged > dense * (1.0 + 1e-9)).count()
    };
    assert_eq!(further(&right), 0);
    assert!(further(&wrong) > 0);
}

/// Records of a table of features, by its encoders.
fn vectors(count: usize) -> (Levels, Vec<Vec<f64>>) {
    let rule = serde_json::json!({
        "context": { "hour": { "cycle": 24 }, "liked": { "categories": ["a", "b", "c"] }, "age": { "bins": [20, 40] } },
        "action": { "genre": { "categories": ["a", "b", "c"] }, "length": { "range": [0, 2] } },
        "cross": { "with": [["liked", "genre"], ["hour", "genre"], ["age", "liked", "genre"]], "match": [["liked", "genre"]] },
        "weighting": "groups",
    });
    let plan = serde_json::from_value::<FeaturesParams>(rule).unwrap().check().unwrap();
    let mut noise = Seeded(5);
    let mut record = |names: [(&str, f64); 3], word: &str| {
        let mut record: Vec<(String, String)> = Vec::new();
        for (name, most) in names {
            record.push((name.to_string(), (most * noise.uniform()).to_string()));
        }
        let place = (4.0 * noise.uniform()) as usize;
        record.push((word.to_string(), "abcx"[place..=place].to_string()));
        Value::from_iter(record)
    };
    let vector = |_| {
        let context = record([("hour", 24.0), ("age", 60.0), ("none", 1.0)], "liked");
        let action = record([("length", 2.0), ("none", 1.0), ("more", 1.0)], "genre");
        plan.vector(&context, &action, &mut Report::default())
    };
    (plan.levels().unwrap(), (0..count).map(vector).collect())
}

#[test]
fn vectors_of_the_rule_lose_nothing() {
    let (levels, vectors) = vectors(200);
    let pattern = Merging::new(levels);
    pattern.check().unwrap();
    let d = pattern.dimension();
    assert!(5 * pattern.count() < 2 * triangle(d), "{} of {}", pattern.count(), triangle(d));
    let mut dense = vec![0.0; triangle(d)];
    for x in &vectors {
        let entries = outer(x);
        let again = pattern.expand(&pattern.merge(&entries));
        assert!(entries.iter().zip(&again).all(|(a, b)| (a - b).abs() < 1e-14));
        dense.iter_mut().zip(&entries).for_each(|(sum, entry)| *sum += entry);
    }
    // The same by a stream without noise, up to its grid.
    let domain = Domain::merged(pattern.clone(), 1.0, 1.0);
    let params = PrivateSumParams {
        schedule: Schedule::Clock,
        ..PrivateSumParams::new(domain, Some(4), Calibration::Mu(0.5))
    };
    let mut stream = params.check().unwrap().start(Silent);
    let mut sums = ContributionSums::new(stream.clipper().clone());
    for x in &vectors {
        sums.add(&stream.clip_with_reward(x, -0.5).unwrap()).unwrap();
    }
    assert_eq!(ContributionSums::load(&sums.save()).unwrap(), sums);
    let release = stream.tick(&mut sums).unwrap();
    assert_eq!(release.merged_sums().len(), pattern.count());
    let expanded = release.expanded();
    assert_eq!(expanded.domain(), &Domain::regression(d, 1.0, 1.0));
    let error = |found: &[f64]| {
        let apart = found.iter().zip(&dense).map(|(a, b)| (a - b).abs());
        apart.fold(0.0, f64::max)
    };
    assert!(error(expanded.upper_triangle()) < 2e-3, "{}", error(expanded.upper_triangle()));
    let entry = |i, j| release.entry(i, j).unwrap();
    assert!(
        upper(d)
            .zip(expanded.upper_triangle())
            .all(|((i, j), x)| entry(i, j) == *x && entry(j, i) == *x)
    );
    assert_eq!((release.entry(0, d), release.upper_triangle().len()), (None, 0));
    // Planted: vectors of another form are not what comes back.
    let mut other = vectors[0].clone();
    other[0] += 0.3;
    let entries = outer(&other);
    let again = pattern.expand(&pattern.merge(&entries));
    assert!(entries.iter().zip(&again).any(|(a, b)| (a - b).abs() > 1e-3));
    // As a message and back.
    let text = wire::to_json(&release);
    assert_eq!(wire::from_json::<crate::release::Release>(&text).unwrap(), release);
}

/// The variance of the best estimate from dense noise, up to whole numbers.
#[test]
fn whole_numbers_cost_a_thousandth_of_the_variance() {
    for levels in [levels(), vectors(0).0] {
        let pattern = Merging::new(levels);
        let tables = pattern.tables();
        let d = pattern.dimension();
        let mut best = vec![0.0; pattern.count()];
        for ((sum, _), (i, j)) in tables.entries.iter().zip(upper(d)) {
            if *sum != Monomials::ZERO {
                best[*sum as usize] +=
                    square(tables.weights[i] * tables.weights[j]) / square_ratio(i, j);
            }
        }
        for ((norm, total), best) in tables.sums.iter().zip(best) {
            let precision = square(total / norm);
            assert!(
                precision <= best * (1.0 + 1e-12) && precision > 0.999 * best,
                "{precision} {best}"
            );
            assert!((0.9 * NORM..1.1 * NORM).contains(norm), "{norm}");
        }
    }
}

/// Every sum has the noise that is stated, at the price of the dense domain: all sums of 100 streams.
#[test]
fn sums_have_the_stated_noise_at_the_dense_price() {
    let params = |domain| PrivateSumParams {
        schedule: Schedule::Clock,
        ..PrivateSumParams::new(domain, Some(3), Calibration::Mu(0.25))
    };
    let merged = params(Domain::merged(merging(), 1.0, 1.0)).check().unwrap();
    let dense = params(Domain::regression(36, 1.0, 1.0)).check().unwrap();
    let delta = 1e-6;
    let epsilon = |plan: &crate::release::PrivateSumPlan| plan.guarantee(delta).unwrap().epsilon();
    assert!((epsilon(&merged) - epsilon(&dense)).abs() < 1e-6);
    // In units of the norms, noise is that of a dense entry off the diagonal.
    let off = dense.deviations(1).unwrap()[1];
    let ratios: Vec<f64> = merging().noise_ratios().collect();
    for (deviation, ratio) in merged.deviations(1).unwrap().iter().zip(&ratios) {
        assert!((deviation / ratio / off - 1.0).abs() < 1e-6);
    }
    let mut found = Vec::new();
    for seed in 0..100 {
        let mut stream = merged.clone().start(Seeded(seed));
        let mut none = ContributionSums::new(stream.clipper().clone());
        let release = stream.tick(&mut none).unwrap();
        found.extend(release.sums().iter().zip(release.deviations()).map(|(x, s)| x / s));
    }
    assert!(!check::distribution_alarm(found.clone(), normal_cdf));
    // Planted: 20 % more noise than is stated.
    assert!(check::distribution_alarm(found.iter().map(|x| 1.2 * x).collect(), normal_cdf));
}

#[test]
fn patterns_without_a_grid_are_refused() {
    let part = |of: &[u32], weight| LevelPart { of: of.to_vec(), weight };
    let refused = |parts: Vec<LevelPart>| {
        let levels = Levels::new(vec![Cells::indicator(2)], parts).unwrap();
        Domain::merged(Merging::new(levels), 1.0, 1.0).check().unwrap_err().to_string()
    };
    let many = vec![part(&[0], 0.01); 1000].into_iter().chain([part(&[], 0.01)]).collect();
    for error in [refused(many), refused(vec![part(&[0], 1e-200), part(&[], 0.5)])] {
        assert!(error.starts_with("levels: got noise ratios from"), "{error}");
    }
    let text = serde_json::to_string(&Domain::merged(merging(), 1.0, 1.0)).unwrap();
    assert!(text.starts_with(r#"{"merged":{"pattern":{"features":[{"coordinates":2"#), "{text}");
    let read: Domain = serde_json::from_str(&text).unwrap();
    assert_eq!(read, Domain::merged(merging(), 1.0, 1.0));
    let forged = text.replacen("\"coordinates\":2", "\"coordinates\":0", 1);
    assert!(serde_json::from_str::<Domain>(&forged).is_ok_and(|domain| domain.check().is_err()));
}
