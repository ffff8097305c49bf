//! Features appended to a learner.

use super::*;
use crate::{
    bandit::Rule,
    features::{Cells, LevelPart, Levels},
};

fn params(rule: Rule) -> JointParams {
    let bounds = Bounds { rewards: (0.0, 1.0), ..Bounds::unit(3) };
    let forgets = JointParams::forgetting(bounds, 2.0, 1e-6, 50.0);
    JointParams { schedule: Schedule::Clock, contributions_per_person: 2, rule, ..forgets }
}

fn tick(curator: &mut Curator<Seeded>, rows: &[(&[f64], f64)]) {
    let mut sums = curator.no_sums();
    for (features, reward) in rows {
        sums.add(&curator.contribution(features, *reward).unwrap()).unwrap();
    }
    curator.tick(&mut sums).unwrap();
}

const PLACES: [Option<usize>; 5] = [Some(0), None, Some(1), None, Some(2)];

#[test]
fn a_learner_keeps_its_model_and_its_price() {
    for rule in [Rule::default(), Rule::THOMPSON] {
        let mut curator = params(rule.clone()).check().unwrap().curator(Seeded(3));
        for _ in 0..20 {
            let rows: Vec<(&[f64], f64)> = vec![(&[0.0, 0.6, 0.8], 1.0); 4000];
            tick(&mut curator, &rows);
        }
        let (event, epsilon) = (curator.event(), curator.guarantee().unwrap().epsilon());
        let (theta, release) =
            (curator.policy().theta().to_vec(), curator.release().unwrap().clone());
        curator.append(&PLACES, rule.clone()).unwrap();
        assert_eq!((curator.event(), curator.guarantee().unwrap().epsilon()), (event, epsilon));
        assert_eq!(curator.releases(), 20);
        let known = |theta: &[f64]| [theta[0], theta[2], theta[4]];
        for (after, before) in known(curator.policy().theta()).iter().zip(&theta) {
            assert!((after - before).abs() < 1e-9, "{after} {before}");
        }
        let sums = curator.release().unwrap();
        assert_eq!(sums.entry(2, 4), release.entry(1, 2));
        assert_eq!((sums.entry(1, 1), sums.vector()[3]), (Some(0.0), 0.0));
        // It goes on from its bytes, and learns of the new features.
        let mut curator = Curator::<Seeded>::resume(&curator.save(), 20).unwrap();
        for _ in 0..20 {
            let rows: Vec<(&[f64], f64)> = vec![(&[0.0, 0.8, 0.0, 0.0, 0.6], 1.0); 4000];
            tick(&mut curator, &rows);
        }
        let found = curator.release().unwrap().entry(1, 1).unwrap() / 80_000.0;
        assert!((0.4..0.7).contains(&found), "{found}");
        assert_eq!(curator.policy().dimension(), 5);
    }
}

#[test]
fn before_the_first_release_it_follows_what_it_began_with() {
    let rule = Rule::default();
    let examples: [(&[f64], f64, f64); 1] = [(&[0.0, 0.6, 0.8], 1.0, 1e5)];
    let legacy = Legacy::public(&params(rule.clone()), examples).unwrap();
    let plan = params(rule.clone()).check().unwrap();
    let mut curator = plan.curator_from(legacy, Seeded(3)).unwrap();
    let theta = curator.policy().theta().to_vec();
    curator.append(&PLACES, rule.clone()).unwrap();
    let after = curator.policy().theta();
    assert!((after[2] - theta[1]).abs() < 1e-9 && after[1] == 0.0 && theta[1] > 0.1);
    let mut curator = Curator::<Seeded>::resume(&curator.save(), 0).unwrap();
    tick(&mut curator, &[]);
    assert!(curator.policy().theta()[2] > 0.1);
    let mut cold = params(rule.clone()).check().unwrap().curator(Seeded(3));
    cold.append(&PLACES, rule).unwrap();
    assert_eq!(cold.policy().theta(), [0.0; 5]);
}

#[test]
fn what_is_no_appending_is_refused_and_changes_nothing() {
    let rule = Rule::default();
    let mut curator = params(rule.clone()).check().unwrap().curator(Seeded(3));
    tick(&mut curator, &[]);
    let before = curator.save();
    for places in [&[Some(0), None][..], &[Some(0), Some(0), Some(1), Some(2)], &[], &[None; 4]] {
        assert!(curator.append(places, rule.clone()).is_err());
        assert_eq!(curator.save(), before);
    }
    let finds = JointParams { detect_changes: true, ..params(Rule::default()) };
    let mut finds = finds.check().unwrap().curator(Seeded(3));
    assert!(finds.append(&PLACES, Rule::default()).is_err());
}

/// A later learner with other features and other rewards begins with what can be stated in its terms.
#[test]
fn a_legacy_is_told_in_other_features() {
    let mut first = params(Rule::default());
    first.bounds.intercept = Some(0.8);
    let mut curator = first.check().unwrap().curator(Seeded(3));
    for _ in 0..20 {
        let rows: Vec<(&[f64], f64)> = (0..4000)
            .map(|at| {
                (
                    if at % 2 == 0 { &[0.6, 0.0, 0.8][..] } else { &[0.0, 0.6, 0.8] },
                    f64::from(at % 2),
                )
            })
            .collect();
        tick(&mut curator, &rows);
    }
    let legacy = curator.legacy().unwrap();
    // The second feature is longer, the first is dropped, and rewards are up to 3.
    let later = JointParams {
        bounds: Bounds { rewards: (0.0, 3.0), ..first.bounds },
        ..params(Rule::default())
    };
    let (rows, ones) = ([vec![(1, 1.2)], vec![], vec![(2, 1.0)]], [(2, 1.25)]);
    let carried = legacy.carried(&later, &rows, &ones).unwrap();
    let (old, new) = (legacy.release(), carried.release());
    let close = |found: Option<f64>, wanted: f64| {
        assert!((found.unwrap() - wanted).abs() < 1e-9 * wanted.abs().max(1.0))
    };
    close(new.entry(0, 2), 1.2 * old.entry(1, 2).unwrap());
    close(new.entry(0, 0), 1.44 * old.entry(1, 1).unwrap());
    close(new.entry(1, 2), 0.0);
    // Rewards were centred at 0.5, and are centred at 1.5: those of the second feature were 1.
    let mass = old.entry(1, 2).unwrap() / 0.8;
    close(Some(new.vector()[0]), 1.2 * (old.vector()[1] - mass));
    assert!(
        (old.vector()[1] / mass - 0.5).abs() < 0.1
            && (new.vector()[0] / (1.2 * mass) + 0.5).abs() < 0.1
    );
    for (at, (new, old)) in new.deviations().iter().zip(old.deviations()).enumerate() {
        assert!(*new >= 1.2 * old, "{at}");
    }
    let curator = later.check().unwrap().curator_from(carried, Seeded(4)).unwrap();
    // Below the new centre for all, and less so with the second feature.
    let theta = curator.policy().theta();
    assert!(theta[0] > 0.05 && theta[1] == 0.0 && theta[2] < -0.05, "{theta:?}");
    assert_eq!(curator.earlier_events().len(), 1);
    assert!(legacy.carried(&later, &rows, &[]).is_err());
    assert!(legacy.carried(&later, &rows[..2], &ones).is_err());
    // A learner of merged sums gets them merged, in its own units.
    let part = |of: &[u32], weight| LevelPart { of: of.to_vec(), weight };
    let levels = || Levels::new(vec![Cells::indicator(2)], vec![part(&[0], 0.6), part(&[], 0.8)]);
    let rule = Rule::TWO_LEVEL.with_levels(levels).unwrap();
    let merged = JointParams { rule, ..later.clone() };
    let same = [0, 1, 2].map(|place| vec![(place, 1.0)]);
    let carried = legacy.carried(&merged, &same, &ones).unwrap();
    for (row, column) in [(0, 0), (0, 2), (1, 1), (1, 2), (2, 2)] {
        let (found, wanted) = (carried.release().entry(row, column), old.entry(row, column));
        assert!((found.unwrap() / wanted.unwrap() - 1.0).abs() < 0.05, "{row} {column}");
    }
    assert_eq!(carried.release().merged_sums().len(), 3);
    merged.check().unwrap().curator_from(carried, Seeded(4)).unwrap();
}
