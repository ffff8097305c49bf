//! Tests of the time at which decisions close, and of what closing reveals.

use super::*;

fn windowed(window: RewardWindow) -> JointParams {
    JointParams { window: Some(window), ..params() }
}

/// At which decision releases are made if people answer as `reward` says; `None` is silence.
fn released(params: &JointParams, reward: impl Fn(u64) -> Option<f64>) -> Vec<u64> {
    let mut learner = start(params);
    let mut times = Vec::new();
    for person in 0..400 {
        let before = learner.releases();
        let decision = learner.decide_at(&arms(), person).unwrap();
        if let Some(reward) = reward(person) {
            learner.observe(decision.ticket, reward).unwrap();
        }
        if params.window == Some(RewardWindow::Clock) && person % 10 == 9 {
            learner.close_before(person.saturating_sub(20)).unwrap();
        }
        if learner.releases() > before {
            times.push(person);
        }
    }
    times
}

#[test]
fn with_a_window_releases_hide_who_clicked_and_without_one_they_show_it() {
    let clicks = |person: u64| person.is_multiple_of(3).then_some(1.0);
    let flipped = |who: u64| {
        move |person: u64| if person == who { Some(1.0).xor(clicks(who)) } else { clicks(person) }
    };
    for window in [RewardWindow::Decisions(25), RewardWindow::Clock] {
        let params = windowed(window);
        let times = released(&params, clicks);
        assert!(times.len() > 5);
        // Each person in turn, so that a difference which lasts for one decision meets a release.
        for who in 30..160 {
            assert_eq!(times, released(&params, flipped(who)), "{window:?}, person {who}");
        }
    }
    // The known-bad way: a click is a contribution, and silence is none.
    assert_ne!(released(&params(), clicks), released(&params(), flipped(100)));
}

#[test]
fn a_decision_contributes_once_when_it_closes_with_its_reward_or_the_default() {
    let arms = Arms::from_rows(2, &[[1.0, 0.0]]).unwrap();
    let run = |default_reward: f64, tell: &dyn Fn(&mut JointLinUcb<Seeded>, u64, Ticket)| {
        let params = JointParams { default_reward, ..windowed(RewardWindow::Decisions(3)) };
        let mut learner = start(params);
        for number in 0..200 {
            let decision = learner.decide(&arms).unwrap();
            tell(&mut learner, number, decision.ticket);
            assert_eq!(learner.rounds(), number.saturating_sub(2), "decision {number}");
            assert!(learner.open_decisions() <= 3);
        }
        learner.policy().clone()
    };
    let rewarded = run(0.0, &|learner, _, ticket| {
        let seen = learner.observe(ticket, 0.25).unwrap();
        assert_eq!(seen, Observation { clipped: false, released: false, late: false });
        assert!(learner.observe(ticket, 0.5).is_err(), "a second reward");
    });
    assert_eq!(rewarded, run(0.25, &|_, _, _| ()));
    assert_eq!(
        rewarded,
        run(0.25, &|learner, _, ticket| assert!(!learner.expire(ticket).unwrap().late))
    );
    assert_ne!(rewarded, run(0.0, &|_, _, _| ()));
    // Dismissed, it adds nothing to any sum and still takes its place.
    let nothing = run(0.25, &|learner, _, ticket| assert!(learner.dismiss(ticket)));
    assert_ne!(nothing, rewarded);
    assert_ne!(nothing, run(0.0, &|_, _, _| ()));
}

#[test]
fn a_late_reward_changes_nothing_and_says_so() {
    let mut learner = start(windowed(RewardWindow::Clock));
    let first = learner.decide_at(&arms(), 100).unwrap().ticket;
    let second = learner.decide_at(&arms(), 130).unwrap().ticket;
    assert!(learner.open_tickets().eq([(first, 100), (second, 130)]));
    let closed = learner.close_before(130).unwrap();
    assert_eq!(closed, Closed { decisions: 1, releases: 0 });
    let before = learner.save_with_open();
    assert!(learner.observe(first, 5.0).unwrap().late);
    assert!(learner.expire(first).unwrap().late);
    assert!(!learner.dismiss(first));
    assert_eq!(learner.save_with_open(), before);
    assert!(!learner.observe(second, 1.0).unwrap().late);
    // A clock that jumps back does not make a decision that is older than what is closed.
    learner.decide_at(&arms(), 90).unwrap();
    assert_eq!(learner.open_tickets().last().unwrap().1, 130);
    assert!(start(params()).close_before(1).unwrap_err().to_string().contains("window"));
}

#[test]
fn the_guarantee_says_what_silence_means() {
    let conditions =
        |params: JointParams| params.check().unwrap().guarantee().unwrap().conditions().join("\n");
    assert!(conditions(params()).contains("which rewards come, and when, is public"));
    let with = conditions(windowed(RewardWindow::Decisions(7)));
    assert!(with.contains("which rewards come, and when, need not"), "{with}");
    for bad in [
        windowed(RewardWindow::Decisions(0)),
        JointParams { default_reward: 1.5, ..params() },
        JointParams { default_reward: f64::NAN, ..params() },
    ] {
        assert!(bad.check().is_err());
    }
}

#[test]
fn after_the_horizon_decisions_go_on_by_a_frozen_model() {
    for window in [None, Some(RewardWindow::Decisions(5))] {
        let params = JointParams {
            window,
            schedule: crate::release::Schedule::EveryRound,
            ..JointParams::new(Bounds::unit(2), 1.0, 1e-6, Some(20))
        };
        let mut learner = start(params);
        for person in 0..60_u64 {
            let decision = learner.decide(&arms()).unwrap();
            let learnt = if window.is_some() { person.saturating_sub(4) } else { person };
            assert_eq!(decision.frozen, learnt >= 20, "{window:?}, person {person}");
            let seen = learner.observe(decision.ticket, 0.5);
            match window {
                None if learnt >= 20 => {
                    assert!(matches!(seen, Err(Error::HorizonExceeded { round: 21, horizon: 20 })));
                }
                None => assert!(seen.unwrap().released),
                Some(_) => assert_eq!(seen.unwrap().late, learnt >= 20),
            }
        }
        assert!(learner.is_frozen() && learner.rounds() == 20 && learner.open_decisions() == 0);
    }
}

/// Noise that protects people needs a new key of the system before each release; this one has none while its flag says so.
struct Dry<'a>(Seeded, &'a std::cell::Cell<bool>);

impl Noise for Dry<'_> {
    const PROTECTS_PEOPLE: bool = true;
    const NAME: &'static str = "test without entropy";

    fn bits(&mut self) -> u64 {
        self.0.bits()
    }

    fn refresh(&mut self) -> Result<()> {
        match self.1.get() {
            true => Err(Error::Entropy { reason: "planned".into() }),
            false => Ok(()),
        }
    }

    fn split(&mut self) -> Result<Self> {
        Ok(Dry(self.0.split()?, self.1))
    }
}

/// A caller who retries after an error must not have the same person counted twice.
#[test]
fn a_decision_that_fails_is_not_counted() {
    let dry = std::cell::Cell::new(false);
    let params =
        JointParams { schedule: Schedule::EveryRound, ..windowed(RewardWindow::Decisions(1)) };
    let mut learner = params.check().unwrap().start(Dry(Seeded(1), &dry));
    learner.decide(&arms()).unwrap();
    dry.set(true);
    assert!(learner.decide(&arms()).is_err());
    assert_eq!((learner.decisions(), learner.open_decisions(), learner.rounds()), (1, 1, 0));
    dry.set(false);
    learner.decide(&arms()).unwrap();
    assert_eq!((learner.decisions(), learner.open_decisions(), learner.rounds()), (2, 1, 1));
}

/// With `Decisions(w)` a visit that did not take place would move the closing of every later one, and some across a tick.
#[test]
fn releases_by_the_clock_refuse_windows_that_count_decisions() {
    let by = |window| JointParams {
        schedule: Schedule::Clock,
        window,
        ..JointParams::new(Bounds::unit(2), 1.0, 1e-6, Some(100))
    };
    let error = by(Some(RewardWindow::Decisions(2))).check().unwrap_err().to_string();
    assert!(error.contains("window") && error.contains("2 decisions"), "{error}");
    for window in [None, Some(RewardWindow::Clock)] {
        assert!(by(window).check().is_ok());
    }
}
