//! Saved bandits, and what is refused of them.

use super::*;

#[test]
fn saved_learners_continue_bit_for_bit_and_errors_change_nothing() {
    let set = || UniformMatroid::set(6, 3).unwrap();
    for (protection, play) in [
        (Protection::None, Play::Points),
        (Protection::central(1.0, 1e-6), Play::Vertices),
        (Protection::CentralPure { epsilon: 1.0 }, Play::Points),
        (Protection::Local { epsilon: 1.0 }, Play::Points),
    ] {
        let mut bandit = start(PrivateBanditParams { play, ..params(400, protection) }, set());
        let play =
            |bandit: &mut PrivateBandit<UniformMatroid, Seeded>, rounds: usize| -> Vec<f64> {
                let mut points = Vec::new();
                for _ in 0..rounds {
                    let decision = bandit.decide().unwrap();
                    bandit.observe(decision.ticket, decision.point[0]).unwrap();
                    points.extend(decision.point);
                }
                points
            };
        play(&mut bandit, 133);
        let open = bandit.decide().unwrap().ticket;
        let bytes = bandit.save();
        assert!(bandit.observe(open, f64::NAN).is_err());
        assert!(bandit.observe(PlayTicket(999), 0.5).is_err());
        assert!(bandit.observe(PlayTicket(3), 0.5).is_err(), "a second answer");
        assert_eq!(bandit.save(), bytes, "an error changed the state");
        let (asked, made) = (bandit.decisions(), bandit.releases());
        let mut resumed = PrivateBandit::<_, Seeded>::resume(&bytes, made, asked, set()).unwrap();
        assert!(resumed.dismiss(open) && !resumed.dismiss(open) && bandit.dismiss(open));
        assert_eq!(play(&mut bandit, 150), play(&mut resumed, 150));
        assert_eq!(bandit.save(), resumed.save());
        assert!(bandit.releases() > made);
        let (later, left) = (bandit.decisions(), bandit.releases());
        let stale = PrivateBandit::<_, Seeded>::resume(&bytes, left, later, set());
        assert_eq!(stale.is_ok(), protection == Protection::None);
        let other = UniformMatroid::set(6, 2).unwrap();
        assert!(PrivateBandit::<_, Seeded>::resume(&bytes, made, asked, other).is_err());
        assert!(PrivateBandit::<_, Mute>::resume(&bytes, made, asked, set()).is_err());
        let torn = &bytes[..bytes.len() - 1];
        assert!(PrivateBandit::<_, Seeded>::resume(torn, made, asked, set()).is_err());
        // A state ahead of the log of decisions goes on where it stands: no ticket is given out twice.
        let ahead = PrivateBandit::<_, Seeded>::resume(&bytes, made, asked - 1, set()).unwrap();
        assert_eq!(ahead.decisions(), asked);
    }
}

#[test]
fn secure_noise_is_saved_without_being_copied() {
    let set = || L1Ball::set(3, 1.0).unwrap();
    let noise = crate::noise::SecureNoise::seeded(4);
    let mut bandit =
        params(50, Protection::central(1.0, 1e-6)).check(set()).unwrap().start(noise).unwrap();
    let ticket = bandit.decide().unwrap().ticket;
    let mut resumed =
        PrivateBandit::<_, crate::noise::SecureNoise>::resume(&bandit.save(), 0, 1, set()).unwrap();
    bandit.observe(ticket, 0.5).unwrap();
    resumed.observe(ticket, 0.5).unwrap();
    assert_eq!(bandit.decide().unwrap(), resumed.decide().unwrap());
    assert!(bandit.guarantee().unwrap().warnings().is_empty(), "nothing simulated");
}

#[test]
fn noise_is_never_drawn_from_words_that_played_points() {
    let set = || L1Ball::set(3, 1.0).unwrap();
    let mut bandit = start(params(50, Protection::central(1.0, 1e-6)), set());
    let bytes = bandit.save();
    let played: Vec<_> = (0..4).map(|_| bandit.decide().unwrap().point).collect();
    // Four points have left since: the resumed learner must not come to the same words again.
    let mut resumed = PrivateBandit::<_, Seeded>::resume(&bytes, 0, 4, set()).unwrap();
    let decision = resumed.decide().unwrap();
    assert!(!played.contains(&decision.point));
    assert!(resumed.observe(PlayTicket(2), 0.5).is_err(), "a decision in between");
    assert_eq!(decision.ticket, PlayTicket(4));
    // Planted: a caller who says that none has left gets the same point again.
    let mut fooled = PrivateBandit::<_, Seeded>::resume(&bytes, 0, 0, set()).unwrap();
    assert_eq!(fooled.decide().unwrap().point, played[0]);
}

#[test]
fn a_doubling_learner_resumes_past_epochs_it_has_not_seen() {
    let set = || L1Ball::set(3, 1.0).unwrap();
    let first = params(20, Protection::central(1.0, 1e-6));
    let mut bandit = DoublingBandit::start(first, set(), Seeded(1)).unwrap();
    bandit.decide().unwrap();
    let bytes = bandit.save();
    // Nothing was learnt: points are directions times the smoothing, which differs between epochs.
    let along = |decision: PlayDecision| {
        let length = dot(&decision.point, &decision.point).sqrt();
        decision.point.iter().map(|x| x / length).collect::<Vec<f64>>()
    };
    let played: Vec<_> = (0..49).map(|_| along(bandit.decide().unwrap())).collect();
    let seen = |direction: &[f64]| {
        let near = |sign: f64| played.iter().any(|u| (dot(u, direction) - sign).abs() < 1e-9);
        near(1.0) || near(-1.0)
    };
    assert!(seen(&played[7]));
    let mut resumed = DoublingBandit::<_, Seeded>::resume(&bytes, 0, 50, set()).unwrap();
    let decision = resumed.decide().unwrap();
    assert_eq!((decision.ticket, resumed.epochs(), resumed.decisions()), (PlayTicket(50), 1, 51));
    assert!(!seen(&along(decision.clone())), "words that played a point");
    resumed.observe(decision.ticket, 0.5).unwrap();
    let ahead = DoublingBandit::<_, Seeded>::resume(&bytes, 0, 0, set()).unwrap();
    assert_eq!(ahead.decisions(), 1, "it stood ahead of the log");
}

#[test]
fn forged_states_are_refused() {
    let set = || UniformMatroid::set(4, 2).unwrap();
    let vertices = PrivateBanditParams { play: Play::Vertices, ..params(50, Protection::None) };
    for forge in [
        |state: &mut State| state.corner = (3, 0),
        |state: &mut State| state.corner = (0, 2),
        |state: &mut State| state.direction = vec![0.0; 3],
        |state: &mut State| state.rounds = 7,
    ] {
        let mut bandit = start(vertices.clone(), set());
        bandit.decide().unwrap();
        assert!(PrivateBandit::<_, Seeded>::resume(&bandit.save(), 0, 1, set()).is_ok());
        forge(&mut bandit.state);
        assert!(PrivateBandit::<_, Seeded>::resume(&bandit.save(), 0, 1, set()).is_err());
    }
    let shape = set().shape().clone();
    let text = serde_json::to_string(&shape).unwrap();
    assert_eq!(serde_json::from_str::<Shape>(&text).unwrap(), shape);
    for forged in
        ["[[0.0],1.0,-0.1,[1,[]]]", "[[0.0],1.0,0.6,[1,[]]]", "[[0.0,0.0],1.0,0.5,[1,[]]]"]
    {
        assert!(serde_json::from_str::<Shape>(forged).is_err(), "{forged}");
    }
    assert!(serde_json::from_str::<Shape>("[[0.0],1.0,0.5,[1,[]]]").is_ok());
}
