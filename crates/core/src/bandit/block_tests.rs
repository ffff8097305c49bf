//! Learners with blocks of parameters beside the same learners with embedded arms, whose Gram matrix has zeros between blocks.

use super::*;
use crate::{
    Error, Result,
    linalg::triangle,
    noise::{DiscreteGaussian, Noise, check},
    randomize::{Bounds, Method, ReportParams},
    release::{
        Calibration, Domain, PrivateSumParams, Release, Schedule, Structure,
        testing::{Seeded, Silent},
    },
    special::normal_cdf,
};

const PURE: Structure = Structure { blocks: 4, shared: 0 };
const HYBRID: Structure = Structure { blocks: 3, shared: 2 };

fn bounds(structure: Structure) -> Bounds {
    Bounds { structure, ..Bounds::unit(4) }
}

fn unit(noise: &mut Seeded) -> Vec<f64> {
    let x: Vec<f64> = (0..4).map(|_| noise.standard_normal()).collect();
    let norm = x.iter().map(|x| x * x).sum::<f64>().sqrt();
    x.iter().map(|x| x / norm).collect()
}

/// One arm of every block.
fn arms(structure: Structure, noise: &mut Seeded) -> Arms {
    let rows: Vec<(usize, Vec<f64>)> =
        (0..structure.blocks).map(|block| (block, unit(noise))).collect();
    Arms::in_blocks(4, &rows).unwrap()
}

/// Expected rewards, linear in the features of each block.
fn reward(block: usize, x: &[f64]) -> f64 {
    (0.3 + 0.15 * block as f64) * x[block % 2] + 0.2 * x[3]
}

fn close(one: &Policy, two: &Policy, arms: &Arms, structure: Structure, tolerance: f64) {
    let embedded = arms.embedded(structure).unwrap();
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    one.scores(arms, &mut ours).unwrap();
    two.scores(&embedded, &mut theirs).unwrap();
    for (ours, theirs) in ours.iter().zip(&theirs) {
        assert!((ours - theirs).abs() < tolerance, "{structure:?}: {ours} {theirs}");
    }
}

#[test]
fn exact_sums_decide_as_the_dense_learner_does() {
    for structure in [PURE, HYBRID] {
        for (rule, schedule) in [
            (Rule::default(), Schedule::EveryRound),
            (Rule::CERTIFIED, Schedule::EveryRound),
            (Rule::FIXED, Schedule::default()),
        ] {
            let params = LinUcbParams {
                rule,
                schedule,
                restart_every: Some(1500),
                ..LinUcbParams::new(bounds(structure))
            };
            let dense = LinUcbParams { bounds: params.bounds.embedded(), ..params.clone() };
            let (mut one, mut two) = (params.check().unwrap(), dense.check().unwrap());
            let mut noise = Seeded(5);
            for round in 0..2500 {
                let arms = arms(structure, &mut noise);
                let choice = one.choose(&arms, round).unwrap().arm;
                let embedded = arms.embedded(structure).unwrap();
                assert_eq!(choice, two.choose(&embedded, round).unwrap().arm, "{round}");
                close(one.policy(), two.policy(), &arms, structure, 1e-9);
                let (block, x) = (arms.block(choice), arms.arm(choice));
                let y = reward(block, &x) + 0.1 * noise.uniform();
                one.observe_in_block(block, &x, y).unwrap();
                two.observe(&embedded.arm(choice), y).unwrap();
                if round == 700 {
                    one = LinUcb::load(&one.save()).unwrap();
                }
            }
        }
    }
}

/// With noise of deviation 0 everywhere, a release in blocks and the dense one say the same under every rule.
#[test]
fn a_release_without_noise_gives_the_policy_of_the_dense_one() {
    for structure in [PURE, HYBRID] {
        let domain = Domain::regression(4, 1.0, 1.0).structured(structure);
        let wide = Domain::regression(structure.parameters(4), 1.0, 1.0);
        let mut noise = Seeded(8);
        let mut sums = [vec![0.0; domain.coordinates()], vec![0.0; wide.coordinates()]];
        for round in 0..60 {
            let (block, x) = (round % structure.blocks, unit(&mut noise));
            let entries = crate::randomize::exact_sums(&x, reward(block, &x));
            let entries = structure.embed_sums(4, block, entries).unwrap();
            let embedded = structure.embed(block, &x).unwrap();
            let dense = crate::randomize::exact_sums(&embedded, reward(block, &x));
            for (sums, entries) in sums.iter_mut().zip([entries, dense]) {
                sums.iter_mut().zip(entries).for_each(|(sum, entry)| *sum += entry);
            }
        }
        let [ours, theirs] = sums;
        // Deviations of an equal size for both, as if the noise had happened to be zero: thompson and tuned go by them.
        for deviation in [0.0, 2.0] {
            let made = |domain: Domain, sums: &Vec<f64>| {
                let mut deviations = domain.noise_ratios();
                deviations.iter_mut().for_each(|ratio| *ratio *= deviation);
                Release::simulated::<Seeded>(domain, 60, 1, sums.clone(), deviations).unwrap()
            };
            let (one, two) = (made(domain.clone(), &ours), made(wide.clone(), &theirs));
            for row in 0..structure.parameters(4) {
                for column in 0..structure.parameters(4) {
                    assert_eq!(one.entry(row, column), two.entry(row, column));
                }
            }
            // With blocks the ridge is three times as many units of noise.
            let tuned = |ridge| Rule::Tuned { ridge, bonus: 0.2, width: 1.0 };
            let thompson =
                |ridge| Rule::Thompson { ridge, width: 0.5, members: 64, minimum_probability: 0.0 };
            for (ours, theirs) in [
                (tuned(1.0), tuned(3.0)),
                (thompson(1.0), thompson(3.0)),
                (Rule::FIXED, Rule::FIXED),
            ] {
                let policy = |rule: Rule, release: &Release| {
                    rule.plan(release.domain().clone(), None, Some(1))
                        .unwrap()
                        .policy(release)
                        .unwrap()
                };
                let (one, two) = (policy(ours, &one), policy(theirs, &two));
                for _ in 0..20 {
                    close(&one, &two, &arms(structure, &mut noise), structure, 1e-9);
                }
            }
        }
    }
}

/// Entries of a release that have noise, for a stream of contributions in one block only.
fn noise_of(structure: Structure, block: usize, seed: u64) -> (Vec<f64>, Vec<f64>) {
    let domain = Domain::regression(4, 1.0, 1.0).structured(structure);
    let params = PrivateSumParams {
        schedule: Schedule::EveryRound,
        ..PrivateSumParams::new(domain, Some(4), Calibration::Mu(1.0))
    };
    fn first<N: Noise>(params: &PrivateSumParams, block: usize, noise: N) -> Vec<f64> {
        let mut sum = params.check().unwrap().start(noise);
        let contribution = sum.clip_in_block(block, &[0.5; 4], 1.0).unwrap();
        sum.absorb(&contribution).unwrap().unwrap().sums().to_vec()
    }
    let (noisy, exact) = (first(&params, block, Seeded(seed)), first(&params, block, Silent));
    let deviations = params.check().unwrap().deviations(1).unwrap();
    let noise = noisy.iter().zip(&exact).zip(&deviations).map(|((a, b), s)| (a - b) / s);
    (noise.collect(), exact)
}

#[test]
fn every_kept_entry_has_noise_of_its_own_whichever_block_is_known() {
    for structure in [PURE, HYBRID] {
        let (p, s) = (4 - structure.shared, structure.shared);
        let kept = structure.blocks * (triangle(4) - triangle(s)) + triangle(s);
        let mut all = Vec::new();
        for seed in 0..300 {
            let (noise, exact) = noise_of(structure, seed as usize % structure.blocks, 99 + seed);
            // No number for what is zero for all people: not the square of all parameters.
            assert_eq!(noise.len(), kept + structure.blocks * p + s);
            // Exact sums are zero outside the block and the shared part.
            let sent = triangle(4) + 4;
            assert_eq!(exact.iter().filter(|entry| **entry != 0.0).count(), sent);
            all.push(noise);
        }
        for entry in 0..all[0].len() {
            let draws: Vec<f64> = all.iter().map(|noise| noise[entry]).collect();
            assert!(!check::distribution_alarm(draws, normal_cdf), "{structure:?} {entry}");
            // Independent of the next entry, which may be in another block.
            let next = (entry + 1) % all[0].len();
            assert!(!check::mean_alarm(all.iter().map(|n| n[entry] * n[next]), 0.0, 1.0));
        }
        // Planted: noise on the named block and no other, which reveals the block.
        let last = structure.blocks * (triangle(4) - triangle(s)) - 1;
        let is_last = |seed: usize| seed % structure.blocks == structure.blocks - 1;
        let leaky = all.iter().enumerate();
        let leaky = leaky.map(|(seed, noise)| if is_last(seed) { noise[last] } else { 0.0 });
        assert!(check::distribution_alarm(leaky.collect(), normal_cdf));
    }
}

/// A layout that kept only the blocks that were named would reveal them in the size of what is released or stored.
#[test]
fn what_is_released_has_one_size_whichever_block_is_known() {
    let sizes = |block: usize| {
        let params = JointParams {
            schedule: Schedule::EveryRound,
            ..JointParams::new(bounds(PURE), 1.0, 1e-6, Some(8))
        };
        let mut curator = params.check().unwrap().curator(Seeded(3));
        curator.observe_in_block(block, &[0.1, 0.2, 0.3, 0.4], 0.5).unwrap();
        let release = serde_json::to_value(curator.release().unwrap()).unwrap();
        let legacy = curator.legacy().unwrap().save();
        (release["sums"].as_array().unwrap().len(), curator.policy().theta().len(), legacy.len())
    };
    assert_eq!(sizes(0), sizes(3));
    assert_eq!(sizes(0).0, 4 * (10 + 4));
}

/// Random pairs of people in any two blocks stay within the sensitivity, which is attained across blocks as within one.
#[test]
fn the_sensitivity_of_the_blocks_is_that_of_the_whole() {
    for structure in [PURE, HYBRID] {
        let domain = Domain::regression(4, 1.0, 1.0).structured(structure);
        let ratios = domain.noise_ratios();
        let person = |block: usize, x: &[f64], y: f64| {
            structure.embed_sums(4, block, crate::randomize::exact_sums(x, y)).unwrap()
        };
        let distance = |one: &[f64], two: &[f64]| {
            let parts = one.iter().zip(two).zip(&ratios);
            parts.map(|((a, b), s)| ((a - b) / s).powi(2)).sum::<f64>().sqrt()
        };
        let mut noise = Seeded(17);
        let mut largest = [0.0_f64; 2];
        for _ in 0..40_000 {
            let mut draw = || {
                let block = noise.below(structure.blocks as u64) as usize;
                let (x, sign) = (unit(&mut noise), noise.uniform() < 0.5);
                (block, person(block, &x, if sign { 1.0 } else { -1.0 }))
            };
            let ((k, one), (l, two)) = (draw(), draw());
            let which = usize::from(k != l);
            largest[which] = largest[which].max(distance(&one, &two));
        }
        assert!(largest[0].max(largest[1]) <= domain.sensitivity() * (1.0 + 1e-12));
        assert!(largest[0] > 0.99 * domain.sensitivity(), "{largest:?}");
        // Two people of different blocks: sqrt(1 + 2 r), and more where they meet in the shared part.
        assert!(largest[1] > 0.99 * 1.8_f64.sqrt(), "{largest:?}");
        // Planted: the sensitivity of the matrix alone.
        assert!(largest[1] > 1.0);
    }
}

/// The certified set covers theta* with blocks; one whose nu and R are shrunk does not.
#[test]
fn the_certified_set_covers_with_blocks() {
    const TRIALS: u64 = 1000;
    const ALPHA: f64 = 0.1;
    // With failure probability 0.1 or less, more than this many of 1000 have probability below 1e-6 (Hoeffding).
    const MOST: u64 = 184;
    let structure = Structure::blocks(5);
    let domain = Domain::regression(2, 1.0, 1.0).structured(structure);
    let missed = |scale: f64, deviation: f64| {
        let rule = Rule::Certified {
            failure_probability: Some(ALPHA),
            parameter_bound: None,
            reward_noise: None,
            scale,
        };
        let rule = rule.plan(domain.clone(), None, Some(1)).unwrap();
        let mut noise = Seeded(23);
        (0..TRIALS)
            .filter(|_| {
                let theta: Vec<f64> = (0..10).map(|_| noise.standard_normal()).collect();
                let norm = theta.iter().map(|t| t * t).sum::<f64>().sqrt();
                let theta: Vec<f64> = theta.iter().map(|t| t / norm).collect();
                let mut sums = vec![0.0; domain.coordinates()];
                for round in 0..400 {
                    let (block, angle) = (round % 5, 6.3 * noise.uniform());
                    let x = [angle.cos(), angle.sin()];
                    let mean = x[0] * theta[2 * block] + x[1] * theta[2 * block + 1];
                    let y = if noise.uniform() < 0.5 * (1.0 + mean) { 1.0 } else { -1.0 };
                    let entries = crate::randomize::exact_sums(&x, y);
                    let entries = structure.embed_sums(2, block, entries).unwrap();
                    sums.iter_mut().zip(entries).for_each(|(sum, entry)| *sum += entry);
                }
                let deviations: Vec<f64> =
                    domain.noise_ratios().iter().map(|ratio| deviation * ratio).collect();
                for (sum, deviation) in sums.iter_mut().zip(&deviations) {
                    *sum += deviation * noise.standard_normal();
                }
                let release =
                    Release::simulated::<Seeded>(domain.clone(), 400, 1, sums, deviations).unwrap();
                let policy = rule.policy(&release).unwrap();
                (0..10).any(|i| {
                    let mut x = [0.0; 2];
                    x[i % 2] = 1.0;
                    let estimate = policy.theta()[i];
                    let bonus = policy.bound_in(i / 2, &x).unwrap() - estimate;
                    (estimate - theta[i]).abs() > bonus
                })
            })
            .count() as u64
    };
    for deviation in [0.0, 3.0, 20.0] {
        let missed = missed(1.0, deviation);
        assert!(missed <= MOST, "{missed} at {deviation}");
    }
    assert!(missed(0.1, 3.0) > MOST);
}

#[test]
fn a_curator_in_blocks_learns_saves_and_restarts() {
    for structure in [PURE, HYBRID] {
        for rule in [Rule::default(), Rule::THOMPSON] {
            let params = JointParams {
                rule: rule.clone(),
                window: Some(RewardWindow::Decisions(5)),
                restart_every: Some(400),
                schedule: Schedule::EveryRound,
                ..JointParams::new(bounds(structure), 500.0, 1e-2, None)
            };
            let mut learner = params.check().unwrap().start(Seeded(4));
            let mut noise = Seeded(6);
            let mut right = 0;
            for round in 0..350 {
                let arms = arms(structure, &mut noise);
                let decision = learner.decide(&arms).unwrap();
                let y = reward(arms.block(decision.arm), &arms.arm(decision.arm));
                let best = (0..arms.count())
                    .map(|arm| reward(arms.block(arm), &arms.arm(arm)))
                    .fold(-1.0, f64::max);
                right += u64::from(round >= 200 && y > best - 0.1);
                learner.observe(decision.ticket, y).unwrap();
                if round == 250 {
                    let bytes = learner.save_with_open();
                    learner = JointLinUcb::resume(&bytes, learner.releases()).unwrap();
                    assert_eq!(learner.open_decisions(), 5);
                }
            }
            assert!(right > 120, "{structure:?} {rule:?}: {right} of 150");
            assert!(learner.guarantee().unwrap().epsilon() <= 500.0 * (1.0 + 1e-9));
        }
    }
}

/// An open decision that was read from a file may name no block there is.
#[test]
fn a_forged_block_is_refused() {
    let params = JointParams::new(bounds(PURE), 1.0, 1e-6, Some(100));
    let curator = params.check().unwrap().curator(Seeded(1));
    for block in [-1, 4, i32::MAX] {
        assert!(curator.contribution_of_units(&[0, 0, 0, 0, block], Some(0.5)).is_err());
    }
    assert!(curator.contribution_of_units(&[0, 0, 0, 0, 3], Some(0.5)).is_ok());
}

#[test]
fn members_of_a_hybrid_share_the_shared_part_and_have_the_law_of_each_block() {
    let domain = Domain::regression(4, 1.0, 1.0).structured(HYBRID);
    let mut noise = Seeded(31);
    let mut sums = vec![0.0; domain.coordinates()];
    for round in 0..40 {
        let (block, x) = (round % 3, unit(&mut noise));
        let entries = crate::randomize::exact_sums(&x, reward(block, &x));
        let entries = HYBRID.embed_sums(4, block, entries).unwrap();
        sums.iter_mut().zip(entries).for_each(|(sum, entry)| *sum += entry);
    }
    let release =
        Release::simulated::<Seeded>(domain.clone(), 40, 1, sums, domain.noise_ratios()).unwrap();
    let rule =
        Rule::Thompson { ridge: 1.0, width: 1.0, members: 1 << 13, minimum_probability: 0.0 };
    let mut policy = rule.plan(domain, None, None).unwrap().policy(&release).unwrap();
    policy.reseed(5);
    let ensemble = policy.ensemble().unwrap();
    let x = unit(&mut noise);
    let scores: Vec<f64> = (0..1 << 13)
        .map(|member| {
            let theta = ensemble.member(&policy, member);
            let shared: Vec<&[f64]> = theta.chunks(4).map(|block| &block[2..]).collect();
            assert!(shared.iter().all(|part| *part == shared[0]));
            let of =
                |block: usize| theta[4 * block..].iter().zip(&x).map(|(t, x)| t * x).sum::<f64>();
            let mean: f64 = policy.theta()[8..].iter().zip(&x).map(|(t, x)| t * x).sum();
            (of(2) - mean) / (policy.bound_in(2, &x).unwrap() - mean)
        })
        .collect();
    assert!(!check::distribution_alarm(scores.clone(), normal_cdf));
    assert!(check::distribution_alarm(scores, |z| normal_cdf(0.8 * z)));
}

/// Names of reports that differ, and no Gaussian noise.
struct Quiet(Seeded);

impl Noise for Quiet {
    const PROTECTS_PEOPLE: bool = false;
    const NAME: &'static str = "test of blocks";

    fn bits(&mut self) -> u64 {
        self.0.bits()
    }

    fn refresh(&mut self) -> Result<()> {
        self.0.refresh()
    }

    fn split(&mut self) -> Result<Self> {
        Ok(Quiet(self.0.split()?))
    }

    fn discrete_gaussian(&mut self, _: &DiscreteGaussian) -> i64 {
        0
    }
}

/// Local reports cover all blocks; without noise their sums are the exact ones.
#[test]
fn local_reports_are_summed_by_block() {
    for (structure, method) in [
        (PURE, Method::GramGaussian { split: 0.7 }),
        (HYBRID, Method::GramGaussian { split: 0.7 }),
        (HYBRID, Method::UnitGram),
    ] {
        let pure = method == Method::UnitGram;
        let params = ReportParams {
            method: Some(method),
            ..ReportParams::new(bounds(structure), 30.0, 1e-3)
        };
        let plan = LocalParams { rule: Rule::FIXED, ..params.into() }.check().unwrap();
        let mut server = plan.server();
        let model = server.publish().unwrap();
        let mut noise = Seeded(9);
        let coordinates = Domain::regression(4, 1.0, 1.0).structured(structure).coordinates();
        for round in 0..600 {
            let (block, x) = (round % structure.blocks, unit(&mut noise));
            let y = reward(block, &x);
            let report = if pure {
                plan.person(0, Seeded(noise.bits())).unwrap().report_in_block(&model, block, &x, y)
            } else {
                plan.person(0, Quiet(Seeded(noise.bits())))
                    .unwrap()
                    .report_in_block(&model, block, &x, y)
            };
            let report = report.unwrap();
            assert_eq!(report.values().len(), coordinates);
            server.absorb(&report).unwrap();
        }
        let x = [0.5, 0.5, 0.5, 0.5];
        for block in 0..structure.blocks {
            let expected = server.expected_reward_in_block(block, &x).unwrap();
            let most = if pure { 0.2 } else { 0.1 };
            assert!((expected - reward(block, &x)).abs() < most, "{structure:?} {expected}");
        }
        let saved = Server::load(&server.save()).unwrap();
        assert_eq!(saved, server);
        let text = serde_json::to_string(&server.publish().unwrap()).unwrap();
        let model: Model = serde_json::from_str(&text).unwrap();
        let arms = arms(structure, &mut noise);
        assert!(plan.person(0, Seeded(1)).unwrap().choose(&model, &arms).unwrap() < arms.count());
    }
}

#[test]
fn blocks_that_are_missing_unknown_or_not_supported_are_refused_by_name() {
    let refused = |result: Result<()>, words: &str| {
        let error = result.unwrap_err().to_string();
        assert!(words.split(' ').all(|word| error.contains(word)), "{error}");
    };
    let mut learner = LinUcbParams::new(bounds(PURE)).check().unwrap();
    let x = [0.1; 4];
    refused(learner.observe(&x, 0.5).map(drop), "block missing observe_in_block");
    refused(learner.observe_in_block(4, &x, 0.5).map(drop), "block: got 4");
    let plain = Arms::from_rows(4, &[x, x]).unwrap();
    refused(learner.choose(&plain, 0).map(drop), "blocks missing");
    let beyond = Arms::in_blocks(4, &[(0, x), (4, x)]).unwrap();
    refused(learner.choose(&beyond, 0).map(drop), "block: got 4");
    assert_eq!(learner.rounds(), 0);
    let joint = |structure, rule| JointParams {
        rule,
        ..JointParams::new(bounds(structure), 1.0, 1e-6, Some(100))
    };
    refused(joint(HYBRID, Rule::CERTIFIED).check().map(drop), "rule certified tuned");
    assert!(joint(PURE, Rule::CERTIFIED).check().is_ok());
    let regularized = Rule::Regularized {
        regularizer: Regularizer::constant(1.0),
        failure_probability: None,
        parameter_bound: 1.0,
        reward_noise: 1.0,
    };
    refused(joint(PURE, regularized).check().map(drop), "rule regularized");
    let mut curator = joint(PURE, Rule::default()).check().unwrap().curator(Seeded(1));
    refused(curator.observe(&x, 0.5).map(drop), "block missing");
    let report = ReportParams::new(bounds(PURE), 1.0, 1e-6);
    let local = |method| ReportParams { method: Some(method), ..report.clone() };
    for method in [Method::UnitPair, Method::TriangleGaussian, Method::AdditivePair] {
        refused(local(method).check().map(drop), "method gram_gaussian");
    }
    let public = ReportParams { public_arms: true, ..report.clone() };
    refused(public.check().map(drop), "public_arms blocks");
    let shuffle = ShuffleParams::new(bounds(PURE), 1.0, 1e-6, 100, Aggregation::Sum);
    refused(shuffle.check().map(drop), "blocks: got 4 shuffle");
    for structure in [Structure { blocks: 0, shared: 0 }, Structure { blocks: 1 << 40, shared: 0 }]
    {
        refused(LinUcbParams::new(bounds(structure)).check().map(drop), "blocks");
    }
    assert!(matches!(
        Policy::in_blocks(2, Structure::blocks(2), vec![0.0; 4], vec![0.0; 3], 1.0, 0.0),
        Err(Error::Dimension { .. })
    ));
}
