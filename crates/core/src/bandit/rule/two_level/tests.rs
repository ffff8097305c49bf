//! The rule against an independent implementation, against `thompson`, and on its way to the truth.

use serde::Deserialize;

use super::*;
use crate::{
    bandit::{
        Aggregation, Arms, JointParams, LinUcbParams, LocalParams, Rule, RulePlan, ShuffleParams,
    },
    features::{Cells, LevelPart},
    noise::{Noise, check},
    randomize::Bounds,
    release::{Domain, Mechanism, Merging, Schedule, Structure, testing::Seeded},
    special::normal_cdf,
};

fn rule(levels: &Levels) -> Rule {
    Rule::TWO_LEVEL.with_levels(|| Ok(levels.clone())).unwrap()
}

fn plan(rule: &Rule, dimension: usize, feature_bound: f64, reward_bound: f64) -> RulePlan {
    rule.plan(Domain::regression(dimension, feature_bound, reward_bound), None, None).unwrap()
}

/// Row by row, only the upper triangle.
fn upper(d: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..d).flat_map(move |i| (i..d).map(move |j| (i, j)))
}

#[derive(Deserialize)]
struct Case {
    name: String,
    features: Vec<Cells>,
    parts: Vec<LevelPart>,
    feature_bound: f64,
    reward_bound: f64,
    sums: Vec<f64>,
    deviations: Vec<f64>,
    theta: Vec<f64>,
    covariance: Vec<f64>,
}

/// `vectors/generate_two_level.py` has its own monomials and its own algebra.
#[test]
fn agrees_with_another_implementation() {
    let text = include_str!("../../../../../../vectors/two_level.json");
    let cases: Vec<Case> = serde_json::from_str(text).unwrap();
    assert_eq!(cases.len(), 4);
    let compared = |case: &Case, of: &dyn Fn(&mut Vec<f64>)| -> f64 {
        let levels = Levels::new(case.features.clone(), case.parts.clone()).unwrap();
        let d = levels.dimension();
        let plan = plan(&rule(&levels), d, case.feature_bound, case.reward_bound);
        let mut deviations = case.deviations.clone();
        of(&mut deviations);
        let domain = Domain::regression(d, case.feature_bound, case.reward_bound);
        let release =
            Release::simulated::<Seeded>(domain, 100, 1, case.sums.clone(), deviations).unwrap();
        let policy = plan.policy(&release).unwrap();
        let w = policy.whitening();
        let width = policy.width() / 0.25;
        let product = |(i, j): (usize, usize)| -> f64 {
            let rows = j..d;
            let entries = rows.map(|row| w[triangle(row) + i] * w[triangle(row) + j]);
            entries.sum::<f64>() * width * width
        };
        let covariance: Vec<f64> = upper(d).map(product).collect();
        let error = |ours: &[f64], theirs: &[f64]| -> f64 {
            let largest = theirs.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
            let apart = ours.iter().zip(theirs).map(|(a, b)| (a - b).abs());
            apart.fold(0.0, f64::max) / largest
        };
        error(policy.theta(), &case.theta).max(error(&covariance, &case.covariance))
    };
    for case in &cases {
        let error = compared(case, &|_| ());
        // Deviations of 1e-6 contributions make the matrix of mains one of condition 1e9.
        let allowed = if case.name.contains("without noise") { 1e-6 } else { 1e-8 };
        assert!(error < allowed, "{}: {error:e}", case.name);
        // Planted: the noise of one entry is 5 % larger.
        let planted = compared(case, &|deviations| {
            deviations.iter_mut().step_by(7).for_each(|deviation| *deviation *= 1.05);
        });
        assert!(
            planted > 1e-5 || case.name.contains("without noise"),
            "{}: {planted:e}",
            case.name
        );
    }
}

/// A context of six kinds and actions of three features, all crosses of context and action, effects of stated size.
struct World {
    levels: Levels,
    /// The cells of each action.
    actions: Vec<[usize; 3]>,
    /// For each coordinate, the effect of its cell.
    effects: Vec<f64>,
    noise: Seeded,
}

const CONTEXTS: usize = 6;
const SIZES: [usize; 3] = [6, 5, 3];
const ACTIONS: usize = 30;

impl World {
    fn new(seed: u64, of_mains: f64, of_crosses: f64) -> Self {
        // Squared shares .2 of the constant, .4 of main effects and .4 of crosses, by roots of sizes.
        let roots: f64 = SIZES.iter().map(|size| (*size as f64).sqrt()).sum();
        let weight = |at: usize| (0.4 * (SIZES[at] as f64).sqrt() / roots).sqrt();
        let main = |at| LevelPart { of: vec![at as u32 + 1], weight: weight(at) };
        let cross = |at| LevelPart { of: vec![0, at as u32 + 1], weight: weight(at) };
        let constant = LevelPart { of: vec![], weight: 0.2_f64.sqrt() };
        let parts = (0..3).map(main).chain((0..3).map(cross)).chain([constant]).collect();
        let features =
            [CONTEXTS].iter().chain(&SIZES).map(|size| Cells::indicator(*size as u32)).collect();
        let levels = Levels::new(features, parts).unwrap();
        let mut noise = Seeded(seed);
        let size = |part: &LevelPart| match part.level() {
            Level::Constant => 0.0,
            Level::Main => of_mains,
            Level::Cross => of_crosses,
        };
        let sizes: Vec<f64> =
            levels.parts().flat_map(|(part, range)| range.map(move |_| size(part))).collect();
        let effects = sizes.iter().map(|size| size * noise.standard_normal()).collect();
        let mut cell = |size: usize| (size as f64 * noise.uniform()) as usize;
        let actions = (0..ACTIONS).map(|_| SIZES.map(&mut cell)).collect();
        World { levels, actions, effects, noise }
    }

    /// The vector of an action, and its mean reward.
    fn vector(&self, context: usize, action: usize) -> (Vec<f64>, f64) {
        let starts: Vec<usize> = self.levels.parts().map(|(_, range)| range.start).collect();
        let weights: Vec<f64> = self.levels.parts().map(|(part, _)| part.weight).collect();
        let [a, b, c] = self.actions[action];
        let places = [a, b, c, 6 * context + a, 5 * context + b, 3 * context + c, 0];
        let mut x = vec![0.0; self.levels.dimension()];
        let mut mean = 0.0;
        for ((start, weight), place) in starts.iter().zip(weights).zip(places) {
            x[start + place] = weight;
            mean += self.effects[start + place];
        }
        (x, mean.clamp(-0.9, 0.9))
    }

    /// Sums of people with random actions, with noise of these deviations.
    fn release(&mut self, people: usize, matrix: f64, vector: f64) -> Release {
        let d = self.levels.dimension();
        let mut sums = vec![0.0; triangle(d) + d];
        for _ in 0..people {
            let uniform = (self.noise.uniform(), self.noise.uniform(), self.noise.uniform());
            let (context, action) = ((6.0 * uniform.0) as usize, (30.0 * uniform.1) as usize);
            let (x, mean) = self.vector(context, action);
            let reward = if uniform.2 < 0.5 * (1.0 + mean) { 1.0 } else { -1.0 };
            let present: Vec<usize> = (0..d).filter(|i| x[*i] != 0.0).collect();
            for (at, i) in present.iter().enumerate() {
                for j in &present[at..] {
                    sums[i * d - triangle(*i) + j] += x[*i] * x[*j];
                }
                sums[triangle(d) + i] += x[*i] * reward;
            }
        }
        let of_matrix = upper(d).map(|(i, j)| if i == j { 2f64.sqrt() } else { 1.0 } * matrix);
        let deviations: Vec<f64> = of_matrix.chain((0..d).map(|_| vector)).collect();
        for (sum, deviation) in sums.iter_mut().zip(&deviations) {
            *sum += deviation * self.noise.standard_normal();
        }
        let domain = Domain::regression(d, 1.0, 1.0);
        Release::simulated::<Seeded>(domain, people as u64, 1, sums, deviations).unwrap()
    }

    /// Mean reward, over contexts, of the action with the largest prediction.
    fn value(&self, theta: &[f64]) -> f64 {
        let of = |context| {
            let scored = (0..ACTIONS).map(|action| {
                let (x, mean) = self.vector(context, action);
                (x.iter().zip(theta).map(|(x, theta)| x * theta).sum::<f64>(), mean)
            });
            scored.max_by(|a, b| a.0.total_cmp(&b.0)).unwrap().1
        };
        (0..CONTEXTS).map(of).sum::<f64>() / CONTEXTS as f64
    }
}

/// 250 environments with noise of 60 contributions in each sum of 4000: at equal chances 164 wins would have a probability of 6e-7.
#[test]
fn beats_thompson_where_noise_is_large() {
    let (mut ours, mut planted) = (0, 0);
    for seed in 0..250 {
        let mut world = World::new(seed, 0.4, 0.05);
        let release = world.release(4000, 60.0, 95.0);
        let d = world.levels.dimension();
        let value = |policy: Policy| world.value(policy.theta());
        let two_level = plan(&rule(&world.levels), d, 1.0, 1.0);
        let thompson = value(plan(&Rule::THOMPSON, d, 1.0, 1.0).policy(&release).unwrap());
        ours += u32::from(value(two_level.policy(&release).unwrap()) > thompson);
        // Planted: a policy that knows nothing.
        planted += u32::from(value(two_level.cold_policy()) > thompson);
    }
    assert!(ours >= 164, "{ours}");
    assert!(planted < 164, "{planted}");
}

/// With 200,000 people and little noise every cell's mean is known: effects of at least 5555 people each, one of each feature and one of its
/// cross, have a deviation of .022 in all, and 180 cells are within six of them with a false alarm below 1e-6.
#[test]
fn learns_every_cell_of_many_people() {
    let mut world = World::new(3, 0.1, 0.1);
    let release = world.release(200_000, 5.0, 8.0);
    let plan = plan(&rule(&world.levels), world.levels.dimension(), 1.0, 1.0);
    let error = |theta: &[f64]| -> f64 {
        let cells =
            (0..CONTEXTS).flat_map(|context| (0..ACTIONS).map(move |action| (context, action)));
        let apart = cells.map(|(context, action)| {
            let (x, mean) = world.vector(context, action);
            (x.iter().zip(theta).map(|(x, theta)| x * theta).sum::<f64>() - mean).abs()
        });
        apart.fold(0.0, f64::max)
    };
    let policy = plan.policy(&release).unwrap();
    assert!(error(policy.theta()) < 0.13, "{}", error(policy.theta()));
    // Planted: without its crosses.
    let crosses = Coordinates::of(&world.levels, 1.0).crosses.concat();
    let mut mains = policy.theta().to_vec();
    crosses.iter().for_each(|i| mains[*i] = 0.0);
    assert!(error(&mains) > 0.13, "{}", error(&mains));
}

/// The mean of equal entries has the deviation that is claimed, which is smaller than that of any one of them.
#[test]
fn equal_entries_are_averaged_with_the_variance_that_is_claimed() {
    let world = World::new(1, 0.0, 0.0);
    let coordinates = Coordinates::of(&world.levels, 1.0);
    let monomials = world.levels.monomials();
    let d = world.levels.dimension();
    let mut noise = Seeded(4);
    let deviations: Vec<f64> =
        upper(d).map(|(i, j)| if i == j { 6.0 } else { 1.0 + ((i + j) % 3) as f64 }).collect();
    let mut found = vec![Vec::new(); 2];
    for _ in 0..4000 {
        let gram: Vec<f64> = deviations.iter().map(|s| s * noise.standard_normal()).collect();
        let means = sums::means(&coordinates, &gram, &deviations);
        // A main effect: its square, its product with the constant and those of its crosses' parents.
        for (found, i) in found.iter_mut().zip([0, 20]) {
            let mean = means[monomials.entry(i, i) as usize];
            found.push((mean.value, mean.variance.sqrt()));
        }
    }
    for (found, i) in found.iter().zip([0, 20]) {
        let scaled: Vec<f64> = found.iter().map(|(value, s)| value / s).collect();
        assert!(!check::distribution_alarm(scaled, normal_cdf));
        // Planted: the deviation of the diagonal entry alone.
        let alone = deviations[i * d - triangle(i) + i] / square(coordinates.weights[i]);
        assert!(found[0].1 < alone);
        assert!(check::distribution_alarm(
            found.iter().map(|(value, _)| value / alone).collect(),
            normal_cdf
        ));
    }
}

/// Without privacy the sums are exact, and the same rule makes the policy.
#[test]
fn a_learner_without_privacy_follows_it() {
    let mut world = World::new(5, 0.2, 0.1);
    let d = world.levels.dimension();
    let bounds = Bounds::unit(d);
    let params = LinUcbParams {
        rule: rule(&world.levels),
        schedule: Schedule::constant(500),
        seed: 3,
        ..LinUcbParams::new(bounds)
    };
    let mut learner = params.check().unwrap();
    let cold = world.value(learner.policy().theta());
    let best = (0..CONTEXTS)
        .map(|c| (0..ACTIONS).map(|action| world.vector(c, action).1).fold(-1.0, f64::max))
        .sum::<f64>()
        / CONTEXTS as f64;
    let mut late = 0.0;
    for round in 0..20_000_u64 {
        let context = (6.0 * world.noise.uniform()) as usize;
        let rows: Vec<_> = (0..ACTIONS).map(|action| world.vector(context, action).0).collect();
        let arms = Arms::from_rows(d, &rows).unwrap();
        let arm = learner.choose(&arms, learner.randomness(round)).unwrap().arm;
        let mean = world.vector(context, arm).1;
        let reward = if world.noise.uniform() < 0.5 * (1.0 + mean) { 1.0 } else { -1.0 };
        learner.observe(&rows[arm], reward).unwrap();
        if round >= 15_000 {
            late += mean / 5000.0;
        }
    }
    assert!(late > 0.9 * best && cold < 0.9 * best, "{cold} {late} {best}");
    let again = crate::bandit::LinUcb::load(&learner.save()).unwrap();
    assert_eq!(again.policy(), learner.policy());
}

#[test]
fn what_it_is_not_for_is_refused_with_a_remedy() {
    let levels = World::new(0, 0.0, 0.0).levels;
    let d = levels.dimension();
    let refused =
        |rule: &Rule, domain: Domain| rule.plan(domain, None, None).unwrap_err().to_string();
    let domain = Domain::regression(d, 1.0, 1.0);
    let error = refused(&Rule::TWO_LEVEL, domain.clone());
    assert!(error.starts_with("rule: got two_level; ") && error.contains("thompson"), "{error}");
    let error = refused(&rule(&levels), Domain::regression(d + 1, 1.0, 1.0));
    assert!(error.starts_with("dimension: got "), "{error}");
    let error = refused(&rule(&levels), domain.structured(Structure::blocks(2)));
    assert!(error.contains("blocks"), "{error}");

    let bounds = Bounds::unit(d);
    let rule = || rule(&levels);
    let exact = LinUcbParams { rule: rule(), ..LinUcbParams::new(bounds) };
    let error = exact.check().unwrap_err().to_string();
    assert!(error.starts_with("schedule: got every_round; "), "{error}");
    let joint = JointParams { rule: rule(), ..JointParams::new(bounds, 4.0, 1e-6, Some(1000)) };
    joint.check().unwrap();
    let reports = JointParams { mechanism: Some(Mechanism::Reports), ..joint };
    let error = reports.check().unwrap_err().to_string();
    assert!(error.contains("mechanism"), "{error}");
    let forgetting = JointParams::forgetting(bounds, 4.0, 1e-6, 1000.0);
    let changes = JointParams { rule: rule(), detect_changes: true, ..forgetting };
    let error = changes.check().unwrap_err().to_string();
    assert!(error.starts_with("detect_changes: got true; ") && error.contains("merged"), "{error}");
    let merged = || Domain::merged(Merging::new(levels.clone()), 1.0, 1.0);
    let error = refused(&Rule::CERTIFIED, merged());
    assert!(error.contains("merged sums"), "{error}");
    let other = World::new(0, 0.0, 0.0).levels.with_groups(2).unwrap();
    let grouped = Rule::TWO_LEVEL.with_levels(|| Ok(other)).unwrap();
    let error = refused(&grouped, merged());
    assert!(error.starts_with("dimension: got "), "{error}");
    let local = LocalParams { rule: rule(), ..LocalParams::new(bounds, 4.0, 1e-6) };
    assert!(local.check().unwrap_err().to_string().contains("curator"));
    let shuffle = ShuffleParams {
        rule: rule(),
        ..ShuffleParams::new(bounds, 1.0, 1e-6, 1000, Aggregation::Permute)
    };
    assert!(shuffle.check().unwrap_err().to_string().contains("curator"));
    for (members, width) in [(3, 0.25), (64, f64::NAN), (64, -1.0)] {
        let bad = Rule::TwoLevel { levels: None, width, members, minimum_probability: 0.0 };
        assert!(bad.check().is_err());
    }
}

/// Numbers that no regression makes sense of give the policy that knows nothing, and no panic.
#[test]
fn any_release_has_a_policy() {
    let levels = World::new(0, 0.0, 0.0).levels;
    let d = levels.dimension();
    let plan = plan(&rule(&levels), d, 1.0, 1.0);
    let domain = Domain::regression(d, 1.0, 1.0);
    for (sum, deviation) in
        [(0.0, 0.0), (0.0, 1.0), (-1e9, 1.0), (1e300, 1.0), (-1e300, 1e300), (1.0, 1e-300)]
    {
        let n = triangle(d) + d;
        let release =
            Release::simulated::<Seeded>(domain.clone(), 1, 1, vec![sum; n], vec![deviation; n])
                .unwrap();
        let (policy, _) = plan.policy_or_cold(&release);
        policy.check_parts(d, Structure::DENSE).unwrap();
    }
}

#[test]
fn the_bytes_of_older_rules_are_what_they_were() {
    let bytes = |rule: &Rule| postcard::to_stdvec(rule).unwrap();
    let expected = |number: u8, parts: &[&[u8]]| [&[number], parts.concat().as_slice()].concat();
    let f = |x: f64| x.to_le_bytes();
    assert_eq!(bytes(&Rule::CERTIFIED), expected(0, &[&[0, 0, 0], &f(1.0)]));
    assert_eq!(bytes(&Rule::default()), expected(1, &[&f(3.0), &f(0.2), &f(2.5)]));
    assert_eq!(bytes(&Rule::THOMPSON), expected(2, &[&f(3.0), &f(0.5), &[64], &f(0.0)]));
    assert_eq!(bytes(&Rule::FIXED), expected(3, &[&f(1.0), &f(1.0)]));
    assert_eq!(bytes(&Rule::TWO_LEVEL), expected(5, &[&[0], &f(0.25), &[64], &f(0.0)]));
    // As files and Python write it.
    let read = |text: &str| serde_json::from_str::<Rule>(text).unwrap();
    assert_eq!(read("\"two_level\""), Rule::TWO_LEVEL);
    assert_eq!(read(r#"{ "two_level": { "width": 0.25 } }"#), Rule::TWO_LEVEL);
    let levels = World::new(0, 0.0, 0.0).levels;
    let with = rule(&levels);
    assert_eq!(read(&serde_json::to_string(&with).unwrap()), with);
    assert_eq!(postcard::from_bytes::<Rule>(&bytes(&with)).unwrap(), with);
    assert!(with.draws() && !with.is_certified());
}

/// The same release, entry by entry and merged.
fn both(world: &mut World, people: usize, matrix: f64, vector: f64) -> (Release, Release) {
    let dense = world.release(people, matrix, vector);
    let domain = Domain::merged(Merging::new(world.levels.clone()), 1.0, 1.0);
    (dense.clone(), dense.merged_as(&domain))
}

/// Merged sums are the means that the rule makes of dense ones, but for weights in whole numbers.
#[test]
fn merged_sums_give_the_policy_of_dense_ones() {
    for (seed, noise) in [(11, 0.0), (12, 20.0), (13, 60.0)] {
        let mut world = World::new(seed, 0.3, 0.1);
        let (dense, merged) = both(&mut world, 4000, noise, 1.5 * noise);
        assert_eq!(merged.merged_sums().len(), world.levels.monomials().count());
        let d = world.levels.dimension();
        let levels = world.levels.clone();
        let policy = |release: &Release| {
            let domain = release.domain().clone();
            rule(&levels).plan(domain, None, None).unwrap().policy(release).unwrap()
        };
        let apart = |one: &[f64], two: &[f64]| {
            let square_of = |x: &f64| x * x;
            let all: f64 = one.iter().map(square_of).sum();
            let apart: f64 = one.iter().zip(two).map(|(a, b)| (a - b) * (a - b)).sum();
            (apart / all).sqrt()
        };
        let (one, two) = (policy(&dense), policy(&merged));
        assert!(
            apart(one.theta(), two.theta()) < 0.03,
            "{noise}: {}",
            apart(one.theta(), two.theta())
        );
        assert!(apart(one.whitening(), two.whitening()) < 0.03);
        assert_eq!((two.theta().len(), one.width()), (d, two.width()));
        // Planted: the policy of other people.
        let other = policy(&both(&mut world, 400, 60.0, 90.0).1);
        assert!(apart(one.theta(), other.theta()) > 0.03);
    }
}

/// 100 environments: at equal chances 74 wins would have a probability below 1e-6.
#[test]
fn other_rules_read_merged_sums() {
    for other in [Rule::THOMPSON, Rule::default()] {
        let (mut wins, mut planted) = (0, 0);
        for seed in 0..100 {
            let mut world = World::new(seed, 0.4, 0.05);
            let (_, merged) = both(&mut world, 20_000, 20.0, 30.0);
            let plan = other.plan(merged.domain().clone(), None, None).unwrap();
            let cold = world.value(plan.cold_policy().theta());
            wins += u32::from(world.value(plan.policy(&merged).unwrap().theta()) > cold);
            planted += u32::from(world.value(plan.cold_policy().theta()) > cold);
        }
        assert!(wins >= 74 && planted < 74, "{other}: {wins}");
    }
}

/// A central learner under the rule releases one number for each monomial, is read as it was saved, and may begin with what `thompson` left.
#[test]
fn a_central_learner_keeps_merged_sums() {
    let world = World::new(9, 0.3, 0.1);
    let d = world.levels.dimension();
    let params = JointParams {
        rule: rule(&world.levels),
        schedule: Schedule::Clock,
        ..JointParams::forgetting(Bounds::unit(d), 4.0, 1e-6, 50.0)
    };
    let dense = JointParams { rule: Rule::THOMPSON, ..params.clone() };
    let useful = |params: &JointParams| params.check().unwrap().useful_from().unwrap();
    assert_eq!(useful(&params), useful(&dense));
    let mut curator = params.check().unwrap().curator(Seeded(1));
    let mut sums = curator.no_sums();
    for i in 0..500 {
        let (x, mean) = world.vector(i % CONTEXTS, i % ACTIONS);
        sums.add(&curator.contribution(&x, mean).unwrap()).unwrap();
    }
    curator.tick(&mut sums).unwrap();
    let release = curator.release().unwrap();
    let merged = world.levels.monomials().count();
    assert_eq!((release.sums().len(), release.merged_sums().len()), (merged + d, merged));
    assert!(5 * merged < d * (d + 1) / 2, "{merged} {d}");
    let again = crate::bandit::Curator::<Seeded>::resume(&curator.save(), 1).unwrap();
    assert_eq!((again.policy(), again.release()), (curator.policy(), curator.release()));

    let mut before = dense.check().unwrap().curator(Seeded(2));
    let mut sums = before.no_sums();
    for i in 0..500 {
        let (x, mean) = world.vector(i % CONTEXTS, i % ACTIONS);
        sums.add(&before.contribution(&x, mean).unwrap()).unwrap();
    }
    before.tick(&mut sums).unwrap();
    let legacy = before.legacy().unwrap();
    let warm = params.check().unwrap().curator_from(legacy, Seeded(3)).unwrap();
    assert_ne!(warm.policy().theta(), curator.policy().theta());
    assert!(warm.policy().theta().iter().any(|theta| *theta != 0.0));
    let again = crate::bandit::Curator::<Seeded>::resume(&warm.save(), 0).unwrap();
    assert_eq!(again.policy(), warm.policy());
}
