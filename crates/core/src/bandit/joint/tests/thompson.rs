//! The public randomness of the `thompson` rule: where it comes from, and what can be repeated.

use std::cell::Cell;

use super::*;
use crate::{Result, noise::Noise};

fn drawing() -> JointParams {
    JointParams { rule: Rule::THOMPSON, schedule: Schedule::EveryRound, ..params() }
}

/// Noise whose own draws are counted, apart from those of the source that is split off it.
struct Counting<'a> {
    source: Seeded,
    draws: &'a Cell<u64>,
    public: bool,
    /// The system has no randomness while this is set.
    dry: &'a Cell<bool>,
}

impl<'a> Counting<'a> {
    fn new(draws: &'a Cell<u64>, dry: &'a Cell<bool>) -> Self {
        Counting { source: Seeded(9), draws, public: false, dry }
    }
}

impl Noise for Counting<'_> {
    const PROTECTS_PEOPLE: bool = true;
    const NAME: &'static str = "test that counts";

    fn bits(&mut self) -> u64 {
        self.draws.set(self.draws.get() + u64::from(!self.public));
        self.source.bits()
    }

    fn refresh(&mut self) -> Result<()> {
        match self.dry.get() {
            true => Err(Error::Entropy { reason: "planned".into() }),
            false => Ok(()),
        }
    }

    fn split(&mut self) -> Result<Self> {
        self.refresh()?;
        Ok(Counting { source: Seeded(77), public: true, ..*self })
    }
}

/// Neither seeds nor picks come from the generator of the noise: decisions leave it as it was, and a release draws as much as under a rule
/// that draws nothing.
#[test]
fn the_generator_of_the_noise_draws_nothing_that_is_public() {
    let drawn = |rule: Rule, decisions: u64| {
        let (draws, dry) = (Cell::new(0), Cell::new(false));
        let plan = JointParams { rule, ..drawing() }.check().unwrap();
        let mut learner = plan.start(Counting::new(&draws, &dry));
        for _ in 0..decisions {
            learner.decide(&arms()).unwrap();
        }
        assert_eq!(draws.get(), 0);
        let decision = learner.decide(&arms()).unwrap();
        assert!(learner.observe(decision.ticket, 0.5).unwrap().released);
        // Which arm was learnt from does not change how often a discrete Gaussian is drawn; rejections do, and have the same bits.
        draws.get()
    };
    assert!(drawn(Rule::THOMPSON, 5) > 0);
    assert_eq!(drawn(Rule::THOMPSON, 5), drawn(Rule::default(), 5));
    assert_eq!(drawn(Rule::THOMPSON, 50), drawn(Rule::THOMPSON, 5));
}

/// A decision that has no randomness is an error that changes nothing.
#[test]
fn a_decision_without_randomness_is_not_counted() {
    let (draws, dry) = (Cell::new(0), Cell::new(false));
    let mut learner = drawing().check().unwrap().start(Counting::new(&draws, &dry));
    learner.decide(&arms()).unwrap();
    dry.set(true);
    assert!(matches!(learner.decide(&arms()), Err(Error::Entropy { .. })));
    assert_eq!((learner.decisions(), learner.open_decisions()), (1, 1));
    dry.set(false);
    learner.decide(&arms()).unwrap();
    assert_eq!((learner.decisions(), learner.open_decisions()), (2, 2));
}

/// Any party with the released policy, the arms and the stored word repeats the decision and its probability.
#[test]
fn a_decision_follows_from_policy_arms_and_randomness() {
    let mut learner = start(drawing());
    let mut words = std::collections::BTreeSet::new();
    let mut seeds = std::collections::BTreeSet::new();
    for _ in 0..200 {
        let published = serde_json::to_string(learner.policy()).unwrap();
        let decision = learner.decide(&arms()).unwrap();
        let policy: Policy = serde_json::from_str(&published).unwrap();
        assert_eq!(policy.choose(&arms(), decision.randomness).unwrap(), decision.arm);
        assert_eq!(policy.probabilities(&arms()).unwrap()[decision.arm], decision.probability);
        assert!(decision.probability >= 1.0 / 64.0);
        words.insert(decision.randomness);
        seeds.insert(format!("{:?}", policy.ensemble().unwrap()));
        learner.observe(decision.ticket, 0.5).unwrap();
    }
    // Every decision has its own word, and every release its own ensemble.
    assert_eq!((words.len(), seeds.len()), (200, 200));
}

/// In a simulation a saved learner goes on as if nothing had happened, public randomness included.
#[test]
fn a_simulation_that_is_resumed_makes_the_same_decisions() {
    let mut learner = start(drawing());
    for _ in 0..20 {
        let decision = learner.decide(&arms()).unwrap();
        learner.observe(decision.ticket, 0.3).unwrap();
    }
    let mut resumed: JointLinUcb<Seeded> =
        JointLinUcb::resume(&learner.save(), learner.releases()).unwrap();
    for _ in 0..20 {
        let both = [&mut learner, &mut resumed].map(|learner| {
            let decision = learner.decide(&arms()).unwrap();
            learner.observe(decision.ticket, 0.3).unwrap();
            (decision.arm, decision.probability, decision.randomness)
        });
        assert_eq!(both[0], both[1]);
    }
}

#[test]
fn bad_parameters_are_refused_by_name() {
    let refused = |members, minimum_probability| {
        let rule = Rule::Thompson { ridge: 3.0, width: 0.5, members, minimum_probability };
        JointParams { rule, ..params() }.check().err().unwrap().to_string()
    };
    let error = refused(0, 0.0);
    assert!(error.contains("members: got 0") && error.contains("power of two"), "{error}");
    let error = refused(64, 1.5);
    assert!(error.contains("minimum_probability: got 1.5"), "{error}");
    // The number of a person's arms is their data: a floor above 1/K refuses no person, and all arms are equally likely.
    let rule = Rule::Thompson { ridge: 3.0, width: 0.5, members: 64, minimum_probability: 0.4 };
    let mut learner = start(JointParams { rule, ..params() });
    let decision = learner.decide(&arms()).unwrap();
    assert!((decision.probability - 1.0 / 3.0).abs() < 1e-12);
    assert_eq!((learner.decisions(), learner.open_decisions()), (1, 1));
}
