//! The certificate of a learner behind a shuffler, for every size of its batches and after replays.

use super::{
    Episodes, EpisodesParams, EpisodesPlan,
    tests::{params, start},
};
use crate::{
    privacy::{Accountant, Event, Guarantee, TrustModel, shuffle},
    release::testing::Seeded,
};

fn plan(epsilon: f64, delta: f64) -> EpisodesPlan {
    EpisodesParams { epsilon, delta, ..params(TrustModel::Shuffle) }.check().unwrap()
}

/// The first size, and the epsilon, at which this event claims less than that size costs.
fn understated(plan: &EpisodesPlan, event: &Event) -> Option<(u64, f64)> {
    let stated = Accountant::price(event).unwrap();
    let most = plan.noise.most_local();
    let mut sizes = (0..plan.noise.sizes()).map(|index| plan.noise.size(index));
    sizes.find_map(|size| {
        let mut grid = (0..=40).map(|step| 1.01 * most * f64::from(step) / 40.0);
        let dearer = |epsilon: &f64| {
            let costs = shuffle::delta(size.local, size.people, *epsilon, true).unwrap();
            stated.delta(*epsilon).unwrap() < costs
        };
        grid.find(dearer).map(|epsilon| (size.people, epsilon))
    })
}

/// The event of the one size whose delta at the requested epsilon is the largest.
fn of_one_size(plan: &EpisodesPlan) -> Event {
    let delta = |size: &super::noise::Size| {
        shuffle::delta(size.local, size.people, plan.params.epsilon, true).unwrap()
    };
    let sizes = (0..plan.noise.sizes()).map(|index| plan.noise.size(index));
    let size = sizes.max_by(|one, two| delta(one).total_cmp(&delta(two))).unwrap();
    Event::Shuffled { epsilon: size.local, people: size.people, binary: true }
}

#[test]
fn the_certificate_covers_every_size_at_every_epsilon() {
    for (epsilon, delta) in [(1.0, 1e-6), (0.3, 1e-9), (4.0, 1e-4)] {
        let plan = plan(epsilon, delta);
        assert_eq!(understated(&plan, &plan.event()), None);
        // Planted: the curve of one size.
        assert!(understated(&plan, &of_one_size(&plan)).is_some());
        let guarantee = plan.guarantee().unwrap();
        assert!((0.99 * epsilon..=epsilon).contains(&guarantee.epsilon()), "{guarantee}");
        let most = plan.noise.most_local();
        assert!(guarantee.pure_epsilon().is_none_or(|pure| pure >= most), "{guarantee}");
        let pure = Guarantee::of(&of_one_size(&plan), TrustModel::Shuffle, delta).unwrap();
        assert!(pure.pure_epsilon().unwrap() < most);
    }
}

/// Each replay costs one more event: epsilons and deltas add up.
#[test]
fn replays_are_charged() {
    for (epsilon, delta) in [(1.0, 1e-6), (0.5, 1e-12), (4.0, 1e-4)] {
        let params = EpisodesParams { epsilon, delta, ..params(TrustModel::Shuffle) };
        let mut learner = start(&params, 1);
        let once = learner.event();
        for times in 2..=4 {
            learner.branch().unwrap();
            let repeated = Event::Repeated { event: Box::new(once.clone()), times };
            assert_eq!(learner.event(), repeated);
            let guarantee = learner.guarantee().unwrap();
            let (epsilon, delta) = (times as f64 * epsilon, times as f64 * delta);
            assert_eq!(guarantee.delta(), delta);
            assert!(
                (0.95 * epsilon..=1.0001 * epsilon).contains(&guarantee.epsilon()),
                "{guarantee}"
            );
        }
    }
}

/// A learner with five bits of a batch and three open decisions, in its second episode; the reward of the last bit is given.
fn half_finished(reward: f64) -> Episodes<Seeded> {
    let mut learner = start(&params(TrustModel::Shuffle), 7);
    while learner.releases() == 0 || learner.state.observed < 4 {
        let decision = learner.decide().unwrap();
        learner.observe(decision.number, 0.5).unwrap();
    }
    let last = learner.decide().unwrap();
    learner.observe(last.number, reward).unwrap();
    for _ in 0..3 {
        learner.decide().unwrap();
    }
    learner
}

#[test]
fn a_replay_shows_no_bit_of_the_batch_before_it() {
    let (one, two) = (half_finished(0.0), half_finished(1.0));
    assert_ne!(one.save(), two.save());
    let replayed = |learner: &Episodes<Seeded>| {
        let made = learner.releases() + 1;
        Episodes::<Seeded>::resume_charged(&learner.save(), made, 0).unwrap()
    };
    let forked = |learner: &Episodes<Seeded>| {
        let mut other = Episodes::<Seeded>::resume(&learner.save(), learner.releases()).unwrap();
        other.branch().unwrap();
        other
    };
    for (mut one, two) in [(replayed(&one), replayed(&two)), (forked(&one), forked(&two))] {
        assert_eq!(one.save(), two.save());
        assert_eq!((one.state.observed, one.state.sum, one.replays()), (0, 0, 1));
        assert_eq!(one.until_release(), one.episode().length);
        // Decisions that were open may be answered on the other line.
        let before = one.save();
        for number in one.state.decisions - 3..one.state.decisions {
            assert!(!one.observe(number, 1.0).unwrap());
        }
        assert_eq!(one.save(), before);
        let next = one.decide().unwrap();
        assert!(one.observe(next.number, 1.0).unwrap());
        assert_eq!(one.state.observed, 1);
    }
    // A state that is not replayed keeps its batch.
    let made = one.releases();
    let same = Episodes::<Seeded>::resume_charged(&one.save(), made, 0).unwrap();
    assert_eq!((same.save(), same.replays()), (one.save(), 0));
}
