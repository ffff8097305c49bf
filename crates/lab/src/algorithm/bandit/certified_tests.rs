//! The certified mechanism is the one that is played, and a learner of a user's own cannot be certified by hand.

use reticent::{
    bandit::{Arms, JointParams, Policy},
    noise::Noise,
    privacy::{Event, Guarantee, Provenance, TrustModel},
    randomize::Bounds,
    release::{Calibration, Domain, Mechanism, PrivateSumParams, Schedule},
};

use super::{
    Algorithm, BanditEnvironment, Budget, JointToml, Stepped,
    blocks::{BlockPlayer, TreePlan},
    tree_noise::TreeNoise,
};
use crate::{
    Experiment, FastNoise, Result,
    algorithm::RunnableAlgorithm,
    audit::{
        attack::{Against, Audit, AuditOptions, Verdict},
        audit,
        certify::certify,
        zoo::LastReward,
    },
    environment::{Environment, GapParams, Rewards},
    papers::constants::joint::{self, Constants, JointMode, PublishedNoise},
    play::Learner,
};

/// The public code of the joint learner re-uses node noise. What is played has no certificate, however many rounds there are, and the price of
/// the tree behind its claim follows from the rounds.
#[test]
fn a_simulation_of_public_code_has_no_certificate_and_its_claim_falls() {
    // The price of this number of Gaussian releases by the closed form of Balle and Wang, in Python.
    for (rounds, levels, epsilon) in [(20_000, 15, "0.7537"), (1_000_000, 20, "0.7264")] {
        let text = format!(
            "name = \"t\"\nrounds = {rounds}\n[environment]\nkind = \"sphere\"\n[[algorithm]]\nkind = \"joint\"\nmode = \"paper\"\nprivacy = {{ epsilon = 1.0, delta = 0.05 }}"
        );
        let experiment = Experiment::parse(&text).unwrap();
        let algorithm = experiment.algorithms()[0];
        assert!(algorithm.guarantee().is_none());
        let remarks = algorithm.remarks().join("\n");
        assert!(remarks.contains("no certificate: ") && remarks.contains("no epsilon holds"));
        let words = format!("binary tree of {levels} levels over {rounds} rounds");
        assert!(remarks.contains(&words) && remarks.contains(epsilon), "{remarks}");
        let options = AuditOptions { samples: Some(2000), ..AuditOptions::default() };
        let findings = audit(&experiment, &options, |_, _| {}).unwrap();
        assert_eq!(findings.audits.len(), 1, "nothing is certified: {findings:?}");
        let found = &findings.audits[0];
        assert_eq!((found.against, found.verdict), (Against::Claim, Verdict::Violated));
    }
}

/// Two offers in the plane, rewards 0 or 1.
struct Shop(Arms, FastNoise);

impl Environment for Shop {
    fn arms(&mut self) -> &Arms {
        &self.0
    }

    fn means(&self) -> &[f64] {
        &[0.6, 0.4]
    }

    fn best_mean(&self) -> f64 {
        0.6
    }

    fn reward(&mut self, arm: usize) -> f64 {
        f64::from(u8::from(self.1.uniform() < self.means()[arm]))
    }
}

fn shop() -> BanditEnvironment {
    let bounds = Bounds { rewards: (0.0, 1.0), ..Bounds::unit(2) };
    BanditEnvironment::of(bounds, 2, 1000, |seed| {
        let arms = Arms::from_rows(2, &[[1.0, 0.0], [0.0, 1.0]])?;
        Ok(Box::new(Shop(arms, FastNoise::seeded(seed))))
    })
    .unwrap()
}

/// The price of something that none of these learners runs.
fn promise() -> Guarantee {
    let event = Event::Gaussian { sensitivity: 1.0, sigma: 4.224_788_4 };
    Guarantee::of(&event, TrustModel::Joint, 1e-6).unwrap()
}

fn stated<P: Learner + 'static>(
    name: &str,
    make: impl Fn(u64) -> P + Send + Sync + 'static,
) -> Box<dyn RunnableAlgorithm> {
    let start = move |seed| Ok(Box::new(make(seed)) as Box<dyn Learner>);
    Box::new(Stepped::new(name.into(), &shop(), start).promising(promise()))
}

fn findings(algorithms: Vec<Box<dyn RunnableAlgorithm>>) -> Vec<Audit> {
    let experiment = Experiment::of("own", 1000, 1, 7, algorithms).unwrap();
    // A verdict of `violated` is confirmed with false alarms below 1e-6.
    let options = AuditOptions { samples: Some(2000), ..AuditOptions::default() };
    let found = audit(&experiment, &options, |_, _| {}).unwrap();
    assert!(found.not_audited.is_empty(), "{:?}", found.not_audited);
    found.audits
}

/// A learner made of two functions and the last of what it saw.
struct Made<C, O> {
    seen: Vec<(Vec<f64>, f64)>,
    choose: C,
    observe: O,
}

impl<C, O> Learner for Made<C, O>
where
    C: FnMut(&[(Vec<f64>, f64)]) -> bool,
    O: FnMut(f64) -> Result<()>,
{
    fn choose(&mut self, _: &Arms, _: u64) -> Result<usize> {
        Ok(usize::from((self.choose)(&self.seen)))
    }

    fn observe(&mut self, _: u64, features: &[f64], reward: f64) -> Result<()> {
        self.seen.push((features.to_vec(), reward));
        (self.observe)(reward)
    }
}

#[test]
fn a_planted_leak_is_not_certified_and_violated() {
    let algorithms = vec![stated("planted leak", |_| LastReward::default())];
    let experiment = Experiment::of("own", 1000, 1, 7, algorithms).unwrap();
    let certificates = certify(&experiment);
    assert!(!certificates.algorithms[0].is_certified());
    let text = certificates.table();
    assert!(text.contains("NOT CERTIFIED") && text.contains("stated, not checked"), "{text}");
    let json = serde_json::to_value(&certificates).unwrap();
    assert_eq!(json["algorithms"][0]["guarantee"]["provenance"], "stated");
    let found = audit(&experiment, &AuditOptions::default(), |_, _| {}).unwrap();
    assert_eq!(found.violations().count(), 2, "{found:?}");
    assert!(found.table().contains("VIOLATED    NOT CERTIFIED (stated, not checked): (1.0000"));
    // Wherever a run shows it.
    let summary = experiment.simulate(|_, _| {}).unwrap();
    let (header, rows) = summary.table();
    let epsilon = header.iter().position(|name| name == "epsilon").unwrap();
    assert!(rows[0][epsilon].ends_with("(stated, not checked)"));
    let json = serde_json::to_value(&summary).unwrap();
    assert_eq!(json["algorithms"][0]["guarantee"]["provenance"], "stated");
    let folder = std::env::temp_dir().join(format!("reticent-stated-{}", std::process::id()));
    summary.write(&folder).unwrap();
    let page = std::fs::read_to_string(folder.join("report.html")).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(
        page.contains("STATED, NOT CHECKED: SIMULATION") || page.contains("STATED, NOT CHECKED: (")
    );
}

/// Leaks of features, of a reward long ago, without noise, by a stop in `observe` and in `choose`: each is violated by queries.
#[test]
fn every_way_to_show_data_is_violated() {
    let quiet = |_: f64| Ok(());
    let refuse = |reward: f64| -> Result<()> {
        match reward > 0.9 {
            true => Err(reticent::Error::invalid("reward", reward, "expected less").into()),
            false => Ok(()),
        }
    };
    let features = move |_| Made {
        seen: Vec::new(),
        choose: |seen: &[(Vec<f64>, f64)]| seen.last().is_some_and(|(x, _)| x[0] > 0.5),
        observe: quiet,
    };
    let late = move |_| Made {
        seen: Vec::new(),
        choose: |seen: &[(Vec<f64>, f64)]| {
            seen.iter().rev().nth(30).is_some_and(|(_, reward)| *reward > 0.7)
        },
        observe: quiet,
    };
    let noiseless = move |_| Made {
        seen: Vec::new(),
        choose: |seen: &[(Vec<f64>, f64)]| {
            seen.iter().map(|(x, y)| x[0] * (y - 0.5)).sum::<f64>() < 0.0
        },
        observe: quiet,
    };
    let stops = move |seed| {
        let mut noise = FastNoise::seeded(seed);
        Made {
            seen: Vec::new(),
            choose: move |_: &[(Vec<f64>, f64)]| noise.uniform() < 0.5,
            observe: refuse,
        }
    };
    // It leaks in one run of three: still more than epsilon = 1 allows.
    let sometimes = move |seed| {
        let mut noise = FastNoise::seeded(seed);
        Made {
            seen: Vec::new(),
            choose: move |seen: &[(Vec<f64>, f64)]| {
                noise.uniform() < 0.33 && seen.last().is_some_and(|(_, reward)| *reward > 0.9)
            },
            observe: quiet,
        }
    };
    let algorithms = vec![
        stated("features", features),
        stated("late", late),
        stated("noiseless", noiseless),
        stated("stops", stops),
        stated("sometimes", sometimes),
    ];
    let found = findings(algorithms);
    for audits in found.chunks(2) {
        // By queries, and in the environment.
        let violated = audits.iter().any(|audit| audit.verdict == Verdict::Violated);
        assert!(violated, "{audits:#?}");
        assert!(audits.iter().all(|audit| audit.provenance == Provenance::Stated));
    }
}

/// A coin shows nothing; a rule of one's own behind an aggregator shows releases, and its certificate is the aggregator's.
#[test]
fn who_hides_data_is_not_accused_and_an_aggregator_certifies() {
    let coin = stated("coin", |seed| {
        let mut noise = FastNoise::seeded(seed);
        move |_: &Arms, _| noise.below(2) as usize
    });
    let environment = shop();
    let sums = PrivateSumParams::new(
        Domain::regression(2, 1.0, 1.0),
        Some(1000),
        Calibration::Budget { epsilon: 1.0, delta: 1e-6 },
    );
    let greedy = |release: &reticent::release::Release| {
        Ok(Policy::from_parts(release.vector().to_vec(), vec![0.0; 3], 0.0, 0.0)?)
    };
    let own =
        Stepped::curated("own rule".into(), &environment, sums.clone(), 1e-6, greedy).unwrap();
    let guarantee = own.guarantee().unwrap();
    assert_eq!(guarantee.provenance(), Provenance::Computed);
    assert_eq!(guarantee.epsilon(), sums.check().unwrap().guarantee(1e-6).unwrap().epsilon());
    for audit in findings(vec![coin, Box::new(own)]) {
        // The coin looks at no data, so that its audit says nothing of what it would hide.
        let expected =
            if audit.algorithm == "coin" { Verdict::Vacuous } else { Verdict::Consistent };
        assert_eq!(audit.verdict, expected, "{audit:?}");
    }
    let short = PrivateSumParams { horizon: Some(10), ..sums.clone() };
    assert!(Stepped::curated("short".into(), &environment, short, 1e-6, greedy).is_err());
    let wide = PrivateSumParams { domain: Domain::regression(3, 1.0, 1.0), ..sums };
    assert!(Stepped::curated("wide".into(), &environment, wide, 1e-6, greedy).is_err());
    // The price is that of the rounds that are learnt from, neither of fewer nor of more.
    for (learnt, priced) in [(None, 2), (Some(1), 2), (Some(3), 1), (Some(3), 2), (Some(2), 3)] {
        let environment =
            BanditEnvironment { contributions_per_person: learnt, ..environment.clone() };
        let sums = PrivateSumParams { contributions_per_person: priced, ..sums.clone() };
        let refused = Stepped::curated("priced".into(), &environment, sums, 1e-6, greedy).err();
        let text = refused.expect("learns from other rounds than are priced").to_string();
        assert!(text.contains(&format!("contributions_per_person: got {priced}")), "{text}");
    }
    for most in [1, 3] {
        let environment =
            BanditEnvironment { contributions_per_person: Some(most), ..environment.clone() };
        let sums = PrivateSumParams { contributions_per_person: most, ..sums.clone() };
        assert!(Stepped::curated("priced".into(), &environment, sums, 1e-6, greedy).is_ok());
    }
}

/// A learner that stops at once is not called consistent: words that repeat a reward give it away, and words without data are no audit.
#[test]
fn a_player_that_never_plays_is_not_called_consistent() {
    let audited = |value: fn(f64) -> f64| {
        let broken = stated("broken", move |_| Made {
            seen: Vec::new(),
            choose: |_: &[(Vec<f64>, f64)]| false,
            observe: move |reward: f64| -> Result<()> {
                Err(reticent::Error::invalid("reward", value(reward), "never").into())
            },
        });
        let experiment = Experiment::of("own", 1000, 1, 7, vec![broken]).unwrap();
        audit(&experiment, &AuditOptions::default(), |_, _| {}).unwrap()
    };
    let found = audited(|reward| reward);
    assert!(!found.audits.is_empty());
    assert!(found.audits.iter().all(|audit| audit.verdict == Verdict::Violated), "{found:?}");
    let found = audited(|_| 0.0);
    assert!(found.audits.is_empty() && found.not_audited.len() == 2, "{found:?}");
    assert!(found.not_audited[0].reason.contains("could not be played"));
}

/// A saved learner of the user's own is marked as stated and not checked, and so is every learner that begins with it.
#[test]
fn a_saved_learner_carries_the_mark() {
    struct Sums;
    impl Learner for Sums {
        fn choose(&mut self, _: &Arms, _: u64) -> Result<usize> {
            Ok(0)
        }

        fn observe(&mut self, _: u64, _: &[f64], _: f64) -> Result<()> {
            Ok(())
        }

        fn knowledge(&self) -> Option<crate::play::Knowledge> {
            let plan = JointParams::new(shop().bounds, 1.0, 1e-6, Some(100)).check().unwrap();
            let mut curator = plan.curator(FastNoise::seeded(1));
            for _ in 0..80 {
                curator.pass().unwrap();
            }
            Some(crate::play::Knowledge::Releases(curator.legacy().unwrap().save()))
        }
    }
    let folder = std::env::temp_dir().join(format!("reticent-mark-{}", std::process::id()));
    let mut own = Stepped::new("own".into(), &shop(), |_| Ok(Box::new(Sums))).promising(promise());
    own.save = Some(folder.clone());
    own.trial(1, 0, &[100]).unwrap();
    let lines = JointToml {
        warm_start: Some(folder.clone()),
        ..JointToml::new(Budget { epsilon: 1.0, delta: 1e-6 })
    };
    let warm = Algorithm::Joint(lines).prepare(&shop()).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    let guarantee = warm.guarantee().unwrap();
    assert_eq!(guarantee.provenance(), Provenance::Computed, "of its own people");
    assert!(guarantee.conditions().join(" ").contains("STATED, NOT CHECKED"), "{guarantee:?}");
}

/// Noise that a simulation in whole blocks adds is that of the sums whose guarantee it carries, where rewards are larger than features too.
#[test]
fn blocks_play_the_noise_they_are_certified_for() {
    for rewards in [Rewards::Sign, Rewards::Gaussian] {
        let gap = GapParams { rewards, ..GapParams::new(2, 4) };
        let environment = BanditEnvironment::new(&gap.into(), 100).unwrap();
        let problem = environment.problem;
        let (feature_bound, reward_bound) = (problem.feature_bound(), problem.reward_bound());
        let lines = JointToml {
            mechanism: PublishedNoise::GaussianTree.into(),
            ..JointToml::new(Budget { epsilon: 1.0, delta: 1e-6 })
        };
        let learner = lines.blocks(&environment).unwrap();
        let BlockPlayer::Tree(TreePlan { node, .. }) = &learner.learner else { panic!("a tree") };
        let mut noise = TreeNoise::new(2, *node, FastNoise::seeded(1));
        let split = (reward_bound / feature_bound).powi(2);
        let domain = Domain::Regression {
            dimension: 2,
            feature_bound,
            reward_bound,
            split,
            structure: Default::default(),
        };
        let (_, played) = noise.at(1);
        let sums = PrivateSumParams {
            mechanism: Mechanism::Tree { levels: Some(8) },
            schedule: Schedule::EveryRound,
            ..PrivateSumParams::new(
                domain,
                Some(100),
                Calibration::Budget { epsilon: 1.0, delta: 1e-6 },
            )
        };
        let certified = sums.check().unwrap().deviations(1).unwrap();
        for (played, certified) in played.iter().zip(certified) {
            assert!((played / certified - 1.0).abs() < 1e-9, "{rewards:?}: {played} {certified}");
        }
        let stated = learner.guarantee().unwrap().epsilon();
        assert_eq!(stated, sums.check().unwrap().guarantee(1e-6).unwrap().epsilon());
    }
}

/// The authors' tree has the noise of all levels in every sum, the printed one that of the nodes of the prefix, played and deployed alike.
#[test]
fn blocks_play_the_published_noise_that_is_deployed() {
    let environment = BanditEnvironment::new(&GapParams::new(2, 4).into(), 100).unwrap();
    let noise = PublishedNoise::GaussianTree;
    for (mode, constants, ratio) in [
        (JointMode::Paper, Constants::Authors, 1.0),
        (JointMode::Printed, Constants::Printed, 6f64.sqrt()),
    ] {
        let budget = Budget { epsilon: 1.0, delta: 1e-6 };
        let lines = JointToml { mode, mechanism: noise.into(), ..JointToml::new(budget) };
        let learner = lines.blocks(&environment).unwrap();
        let BlockPlayer::Tree(TreePlan { node, .. }) = &learner.learner else { panic!("a tree") };
        let params = joint::params(environment.problem, noise, constants, 1.0, 1e-6, 100).unwrap();
        let deployed = params.check().unwrap().sums().check().unwrap();
        let mut tree = TreeNoise::new(2, *node, FastNoise::seeded(1));
        for round in [1, 5, 63, 99] {
            let (_, played) = tree.at(round);
            for (played, certified) in played.iter().zip(deployed.deviations(round).unwrap()) {
                assert!((played / certified - 1.0).abs() < 1e-9, "{round}: {played} {certified}");
            }
        }
        // 63 has six nodes, 1 has one.
        let first = |round| deployed.deviations(round).unwrap()[0];
        assert!((first(63) / first(1) - ratio).abs() < 1e-9);
        assert!(learner.guarantee().unwrap().claimed().unwrap().holds());
    }
}
