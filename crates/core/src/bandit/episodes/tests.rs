use proptest::prelude::*;

use super::{Episodes, EpisodesParams};
use crate::{
    bandit::Rule,
    noise::{Noise, SecureNoise, check::mean_alarm},
    privacy::{Event, TrustModel},
    release::testing::Seeded,
};

pub(super) fn arms() -> Vec<Vec<f64>> {
    vec![vec![1.0, 0.0], vec![0.0, 1.0], vec![0.6, 0.8], vec![-0.6, 0.8]]
}

pub(super) fn params(trust: TrustModel) -> EpisodesParams {
    EpisodesParams { trust, ..EpisodesParams::new(arms(), 1.0, 1e-6) }
}

pub(super) fn start(params: &EpisodesParams, seed: u64) -> Episodes<Seeded> {
    params.check().unwrap().start(Seeded(seed))
}

/// One person after the other, whose rewards are 1 with these probabilities by arm. Returns the arms.
fn played(learner: &mut Episodes<Seeded>, means: &[f64], people: u64, seed: u64) -> Vec<usize> {
    let mut rewards = Seeded(seed);
    let one = |_| {
        let decision = learner.decide().unwrap();
        let reward = f64::from(u8::from(rewards.uniform() < means[decision.arm]));
        assert!(learner.observe(decision.number, reward).unwrap());
        decision.arm
    };
    (0..people).map(one).collect()
}

#[test]
fn it_learns_under_every_trust_model_and_forgets() {
    for trust in [TrustModel::None, TrustModel::Joint, TrustModel::Shuffle] {
        for forget in [None, Some(2000.0)] {
            let mut learner = start(&EpisodesParams { forget, ..params(trust) }, 3);
            let first = played(&mut learner, &[0.2, 0.3, 0.3, 0.9], 6000, 1);
            let best = first[4000..].iter().filter(|arm| **arm == 3).count();
            assert!(best > 1200, "{trust} {forget:?}: {best} of 2000");
            let second = played(&mut learner, &[0.95, 0.3, 0.5, 0.1], 12_000, 2);
            let best = second[9000..].iter().filter(|arm| **arm == 0).count();
            assert!(forget.is_none() || best > 1500, "{trust}: {best} of 3000 after the change");
        }
    }
}

/// Released means are unbiased, and their variance is that of their weight, under every trust model: 40,000 means, false alarms below 1e-7.
#[test]
fn released_means_have_the_stated_variance() {
    for trust in [TrustModel::Joint, TrustModel::Shuffle] {
        let plan = params(trust).check().unwrap();
        let (mut noise, mut rewards) = (Seeded(5), Seeded(6));
        let (mut means, mut squares) = (Vec::new(), Vec::new());
        let mut weight = 0.0;
        for _ in 0..40_000 {
            let mut learner = plan.clone().start(Seeded(noise.bits()));
            while learner.releases() == 0 {
                let decision = learner.decide().unwrap();
                let reward = f64::from(u8::from(rewards.bits() & 1 == 1));
                learner.observe(decision.number, reward).unwrap();
            }
            let estimate = learner.state.estimates[0];
            weight = estimate.weight;
            let off = estimate.pull / weight * weight.sqrt();
            means.push(off);
            squares.push(off * off);
        }
        assert!(!mean_alarm(means, 0.0, 1.0), "{trust}");
        // The fourth moment of these laws is below 6 squared variances.
        assert!(!mean_alarm(squares.clone(), 1.0, 5f64.sqrt()), "{trust} {weight}");
        // Planted: half of the variance.
        assert!(mean_alarm(squares.iter().map(|square| 0.5 * square), 1.0, 5f64.sqrt()));
    }
}

#[test]
fn certificates_are_within_the_budget_and_use_it_up() {
    for trust in [TrustModel::Joint, TrustModel::Shuffle] {
        let epsilon = params(trust).check().unwrap().guarantee().unwrap().epsilon();
        assert!((0.99..=1.0).contains(&epsilon), "{trust}: {epsilon}");
    }
    let several = EpisodesParams { contributions_per_person: 3, ..params(TrustModel::Joint) };
    let by_the_clock = EpisodesParams { clock: true, ..several.clone() };
    for params in [several, by_the_clock] {
        let plan = params.check().unwrap();
        assert!(matches!(plan.event(), Event::Pure { epsilon } if (0.99..=1.0).contains(&epsilon)));
        let guarantee = plan.guarantee().unwrap();
        assert!((0.99..=1.0).contains(&guarantee.epsilon()), "{guarantee}");
    }
    let none = EpisodesParams { delta: 0.0, ..params(TrustModel::None) };
    let error = none.check().unwrap().guarantee().unwrap_err().to_string();
    assert!(error.contains("a learner without privacy has no guarantee"), "{error}");
    for trust in [TrustModel::Joint, TrustModel::Shuffle] {
        let guarantee = params(trust).check().unwrap().guarantee().unwrap();
        let handed = "the caller hands over at most 1 of one person's rewards (assumed";
        assert!(guarantee.conditions().iter().any(|line| line.starts_with(handed)));
    }
    let local = params(TrustModel::Shuffle).check().unwrap().local_guarantee().unwrap();
    assert!(local.epsilon() > 5.0, "{local}");
    assert!(params(TrustModel::Joint).check().unwrap().local_guarantee().is_err());
}

/// Noise that is fixed.
#[derive(Clone)]
struct Silent;

impl Noise for Silent {
    const PROTECTS_PEOPLE: bool = false;
    const NAME: &'static str = "silent";
    fn bits(&mut self) -> u64 {
        0x0123_4567_89ab_cdef
    }
    fn refresh(&mut self) -> crate::Result<()> {
        Ok(())
    }
    fn split(&mut self) -> crate::Result<Self> {
        Ok(Silent)
    }
    fn discrete_laplace(&mut self, _: &crate::noise::DiscreteLaplace) -> i64 {
        0
    }
}

proptest! {
    /// The lemma of `noise`: k contributions that are replaced by any others, of any arm and tick, or by none, move all released counts and sums by at most
    /// 4 k grid steps in l1.
    #[test]
    fn contributions_move_releases_by_no_more_than_is_priced(
        one in prop::collection::vec((0_usize..4, 0_usize..3, -2.0..3.0_f64), 0..4),
        two in prop::collection::vec((0_usize..4, 0_usize..3, -2.0..3.0_f64), 0..4),
    ) {
        let params = EpisodesParams { clock: true, ..params(TrustModel::Joint) };
        let learner = params.check().unwrap().start(Silent);
        let sums = |given: &[(usize, usize, f64)]| -> Vec<i64> {
            let mut all = Vec::new();
            for tick in 0..3 {
                let mut sums = learner.no_sums();
                for (arm, _, reward) in given.iter().filter(|given| given.1 == tick) {
                    learner.contribute(&params.arms[*arm], *reward, &mut sums).unwrap();
                }
                let (counts, rewards) = sums.parts();
                all.extend(counts.iter().map(|count| count << 20).chain(rewards.iter().copied()));
            }
            all
        };
        let distance: u64 = sums(&one).iter().zip(sums(&two)).map(|(a, b)| a.abs_diff(b)).sum();
        let most = one.len().max(two.len()) as u64;
        prop_assert!(distance <= (4 * most) << 20);
        // Planted: without the counts the bound would be half of it, which one that moves exceeds.
        let moved = sums(&[(0, 0, 1.0)]).iter().zip(sums(&[(1, 1, 1.0)])).map(|(a, b)| a.abs_diff(b)).sum::<u64>();
        prop_assert!(moved > 2 << 20);
    }
}

/// A reward changes nothing before the release of its episode, and the arm of later people only through it.
#[test]
fn a_reward_matters_only_through_the_release_of_its_episode() {
    let run = |replaced: f64| {
        let mut learner = start(&params(TrustModel::Joint), 4);
        let (mut choices, mut ends) = (Vec::new(), 0);
        for round in 0..200 {
            let decision = learner.decide().unwrap();
            choices.push(decision.arm);
            if round == 60 {
                ends = round + learner.until_release() as usize;
            }
            let reward = if round == 60 { replaced } else { 0.5 };
            learner.observe(decision.number, reward).unwrap();
        }
        (choices, ends)
    };
    let ((one, ends), (two, _)) = (run(0.0), run(1.0));
    assert_eq!(one[..ends], two[..ends]);
    // Beyond the range a reward counts as its end.
    assert_eq!(run(1e9).0, two);
}

#[test]
fn refused_input_changes_nothing() {
    let sound = params(TrustModel::Joint);
    for (wrong, field) in [
        (EpisodesParams { arms: vec![], ..sound.clone() }, "arms"),
        (EpisodesParams { arms: vec![vec![]], ..sound.clone() }, "arms"),
        (EpisodesParams { arms: vec![vec![1.0], vec![0.5, 0.5]], ..sound.clone() }, "arms"),
        (EpisodesParams { arms: vec![vec![f64::NAN]], ..sound.clone() }, "arms"),
        (EpisodesParams { arms: vec![vec![1.5]], ..sound.clone() }, "arms"),
        (EpisodesParams { rewards: (1.0, 0.0), ..sound.clone() }, "rewards"),
        (EpisodesParams { rewards: (0.0, f64::INFINITY), ..sound.clone() }, "rewards"),
        (EpisodesParams { epsilon: -1.0, ..sound.clone() }, "epsilon"),
        (EpisodesParams { epsilon: 1e-9, ..sound.clone() }, "epsilon"),
        (EpisodesParams { delta: 0.5, ..sound.clone() }, "delta"),
        (EpisodesParams { width: f64::NAN, ..sound.clone() }, "width"),
        (EpisodesParams { growth: 1.0, ..sound.clone() }, "growth"),
        (EpisodesParams { forget: Some(0.0), ..sound.clone() }, "forget"),
        (EpisodesParams { default_reward: 2.0, ..sound.clone() }, "default_reward"),
        (EpisodesParams { contributions_per_person: 0, ..sound.clone() }, "contributions"),
        (EpisodesParams { trust: TrustModel::Local, ..sound.clone() }, "trust"),
        (EpisodesParams { clock: true, ..params(TrustModel::Shuffle) }, "clock"),
        (EpisodesParams { contributions_per_person: 2, ..params(TrustModel::Shuffle) }, "contrib"),
    ] {
        let error = wrong.check().unwrap_err().to_string();
        assert!(error.starts_with(field), "{field}: {error}");
    }
    let mut learner = start(&sound, 1);
    let decision = learner.decide().unwrap();
    let before = learner.save();
    for reward in [f64::NAN, f64::INFINITY] {
        assert!(learner.observe(decision.number, reward).is_err());
    }
    assert!(learner.observe(7, 0.5).is_err() && learner.absorb(1).is_err());
    let mut sums = learner.no_sums();
    assert!(learner.tick(&mut sums).is_err());
    assert!(learner.contribute(&[0.3, 0.3], 0.5, &mut sums).is_err());
    assert_eq!(learner.save(), before);
    assert!(learner.observe(decision.number, 0.5).unwrap());
    if learner.releases() == 0 {
        assert!(learner.observe(decision.number, 0.5).is_err(), "a reward is taken once");
    }
    while learner.releases() == 0 {
        let next = learner.decide().unwrap();
        learner.observe(next.number, 0.5).unwrap();
    }
    assert!(!learner.observe(decision.number, 0.5).unwrap(), "its episode is over");
    let mut clock = start(&EpisodesParams { clock: true, ..sound }, 1);
    assert!(clock.decide().is_err() && clock.observe(0, 0.5).is_err());
    let mut other =
        start(&EpisodesParams { arms: vec![vec![1.0]], ..clock.params().clone() }, 1).no_sums();
    assert!(clock.tick(&mut other).is_err());
}

/// Refusal of the rule by every learner whose arms may depend on the person.
#[test]
fn learners_of_any_arms_refuse_the_rule() {
    use crate::{
        bandit::{Aggregation, JointParams, LinUcbParams, LocalParams, ShuffleParams},
        randomize::Bounds,
    };
    let (rule, bounds) = (Rule::EPISODES, Bounds::unit(2));
    let joint =
        JointParams { rule: rule.clone(), ..JointParams::new(bounds, 1.0, 1e-6, Some(1000)) };
    let exact = LinUcbParams { rule: rule.clone(), ..LinUcbParams::new(bounds) };
    let local = LocalParams { rule: rule.clone(), ..LocalParams::new(bounds, 1.0, 1e-6) };
    let shuffle =
        ShuffleParams { rule, ..ShuffleParams::new(bounds, 1.0, 1e-6, 100, Aggregation::Sum) };
    let errors =
        [joint.check().err(), exact.check().err(), local.check().err(), shuffle.check().err()];
    for error in errors {
        let error = error.unwrap().to_string();
        assert!(
            error.contains("rule: got episodes") && error.contains("may depend on the person"),
            "{error}"
        );
    }
}

/// People come to a service tick by tick, and rewards are learnt when the tick is over.
#[test]
fn it_learns_by_the_clock() {
    for forget in [None, Some(3000.0)] {
        let mut learner =
            start(&EpisodesParams { clock: true, forget, ..params(TrustModel::Joint) }, 8);
        let (mut rewards, means) = (Seeded(2), [0.2, 0.3, 0.4, 0.8]);
        let (mut best, mut released) = (0, 0);
        for tick in 0..2000_u64 {
            let mut sums = learner.no_sums();
            let rows = crate::bandit::Arms::from_rows(2, &arms()).unwrap();
            for person in 0..20 {
                let arm = learner.policy().choose(&rows, tick * 20 + person).unwrap();
                let reward = f64::from(u8::from(rewards.uniform() < means[arm]));
                learner.contribute(&arms()[arm], reward, &mut sums).unwrap();
                best += u64::from(tick >= 1500 && arm == 3);
            }
            learner.tick(&mut sums).unwrap();
            released += 1;
            assert_eq!((learner.releases(), sums.count()), (released, 0));
            let release = learner.release().unwrap();
            assert_eq!((release.round(), release.index()), (released, released));
            assert_eq!((release.upper_triangle().len(), release.vector().len()), (4, 4));
        }
        assert!(best > 8000, "{forget:?}: {best} of 10000");
    }
}

/// Ticks without people, and with them, are released at the same times.
#[test]
fn lengths_follow_from_releases_and_the_clock() {
    let run = |people: u64| {
        let params = EpisodesParams { clock: true, ..params(TrustModel::Joint) };
        // Without noise the counts would show: here all are below what is believed.
        let mut learner = start(&params, 9);
        let mut lengths = Vec::new();
        for _ in 0..300 {
            let mut sums = learner.no_sums();
            for _ in 0..people {
                learner.contribute(&[1.0, 0.0], 1.0, &mut sums).unwrap();
            }
            learner.tick(&mut sums).unwrap();
            lengths.push(learner.episode().length);
        }
        lengths
    };
    assert_eq!(run(0).len(), 300);
    // While nothing is believed an episode is as long as all before it.
    assert!(run(0).last() >= Some(&64));
    assert!(
        run(0).iter().zip(run(400)).any(|(none, many)| *none != many),
        "pace is learnt from noisy counts"
    );
}

#[test]
fn saved_learners_go_on_as_they_were() {
    for params in [
        params(TrustModel::Joint),
        params(TrustModel::Shuffle),
        EpisodesParams { forget: Some(500.0), ..params(TrustModel::None) },
    ] {
        let mut learner = start(&params, 6);
        played(&mut learner, &[0.2, 0.3, 0.4, 0.8], 1234, 5);
        let open = learner.decide().unwrap();
        let bytes = learner.save();
        let mut again = Episodes::<Seeded>::resume(&bytes, learner.releases()).unwrap();
        assert_eq!(again.save(), bytes);
        assert_eq!(again.policy(), learner.policy());
        again.observe(open.number, 0.5).unwrap();
        learner.observe(open.number, 0.5).unwrap();
        let means = [0.2, 0.3, 0.4, 0.8];
        assert_eq!(played(&mut again, &means, 999, 4), played(&mut learner, &means, 999, 4));
        assert_eq!(again.save(), learner.save());
        // An older copy is refused, or charged.
        let made = learner.releases();
        assert!(Episodes::<Seeded>::resume(&bytes, made + 1).is_err());
        let charged = Episodes::<Seeded>::resume_charged(&bytes, made + 1, 0).unwrap();
        assert_eq!((charged.replays(), charged.releases()), (1, made + 1));
        if params.trust == TrustModel::Joint {
            let epsilon = charged.guarantee().unwrap().epsilon();
            assert!((1.9..=2.0).contains(&epsilon), "{epsilon}");
        }
        assert!(Episodes::<SecureNoise>::resume(&bytes, 0).is_err());
    }
    let params = EpisodesParams { clock: true, forget: Some(50.0), ..params(TrustModel::Joint) };
    let mut learner = start(&params, 6);
    for _ in 0..77 {
        let mut sums = learner.no_sums();
        (0..90).for_each(|_| learner.contribute(&[0.6, 0.8], 0.9, &mut sums).unwrap());
        learner.tick(&mut sums).unwrap();
    }
    let mut again = Episodes::<Seeded>::resume(&learner.save(), 77).unwrap();
    assert_eq!((again.save(), again.policy()), (learner.save(), learner.policy()));
    let (mut one, mut two) = (learner.no_sums(), again.no_sums());
    learner.tick(&mut one).unwrap();
    again.tick(&mut two).unwrap();
    assert_eq!(again.save(), learner.save());
}
