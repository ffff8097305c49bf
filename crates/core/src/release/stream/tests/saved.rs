//! Saved streams: copies, replays, and what is refused.

use super::*;

#[test]
fn a_resumed_stream_goes_on_bit_for_bit() {
    for horizon in [Some(400), None] {
        for mechanism in MECHANISMS {
            if horizon.is_none() && mechanism == (Mechanism::Tree { levels: Some(20) }) {
                continue;
            }
            let domain = Domain::Vector { dimension: 2, bound: 1.0 };
            let mut sum = start(&params(domain, horizon, mechanism), Seeded(3));
            for _ in 0..60 {
                run(&mut sum, [0.3, -0.4]);
            }
            let mut resumed = PrivateSum::<Seeded>::resume(&sum.save(), 60).unwrap();
            for _ in 0..20 {
                assert_eq!(run(&mut sum, [0.1, 0.2]), run(&mut resumed, [0.1, 0.2]));
            }
            assert_eq!(sum.save(), resumed.save());
            assert_eq!(sum.event(), resumed.event());
        }
    }
}

#[test]
fn an_old_state_is_refused_or_charged() {
    let mut sum = start(&vector(100), Seeded(4));
    run(&mut sum, [0.5, 0.5]);
    let bytes = sum.save();
    run(&mut sum, [0.5, 0.5]);
    run(&mut sum, [0.5, 0.5]);
    let refused = PrivateSum::<Seeded>::resume(&bytes, sum.releases()).unwrap_err();
    assert_eq!(refused, Error::StaleState { what: "releases", saved: 1, released: 3 });

    let mut charged = PrivateSum::<Seeded>::resume_charged(&bytes, 3, 0).unwrap();
    assert_eq!((charged.replays(), charged.releases(), charged.rounds()), (1, 3, 1));
    assert!((mu(&charged) / mu(&sum) - 2f64.sqrt()).abs() < 1e-12);
    // A release of the new branch makes both the old state and the abandoned branch stale.
    run(&mut charged, [0.5, 0.5]);
    assert!(PrivateSum::<Seeded>::resume(&sum.save(), charged.releases()).is_err());
    assert!(PrivateSum::<Seeded>::resume(&charged.save(), charged.releases()).is_ok());
    // The same old bytes a second time: the caller's log knows of the first charge, the bytes do not.
    let again = PrivateSum::<Seeded>::resume_charged(&bytes, 4, 1).unwrap();
    assert!((mu(&again) / mu(&sum) - 3f64.sqrt()).abs() < 1e-12);
    // A state that is not stale is not charged.
    assert_eq!(PrivateSum::<Seeded>::resume_charged(&bytes, 1, 0).unwrap().replays(), 0);
}

#[test]
fn replayed_noise_would_show_the_data_and_refreshed_noise_does_not() {
    for mechanism in MECHANISMS {
        let domain = Domain::Vector { dimension: 2, bound: 1.0 };
        let mut sum = start(&params(domain, Some(100), mechanism), Seeded(5));
        run(&mut sum, [0.1, 0.1]);
        let bytes = sum.save();
        let seen = run(&mut sum, [0.75, -0.5]);
        // The attack: plain deserialisation of the old bytes, another person in the same round.
        let state: State<Seeded> =
            wire::load_on(wire::kinds::PRIVATE_SUM, Seeded::NAME, &bytes).unwrap();
        let replayed = run(&mut PrivateSum { state }, [0.25, 0.5]);
        let difference = |other: &Release| [0, 1].map(|c| seen.sums()[c] - other.sums()[c]);
        let leak = difference(&replayed);
        assert!((leak[0] - 0.5).abs() < 1e-9 && (leak[1] + 1.0).abs() < 1e-9, "{leak:?}");
        // After a charged resume the noise is independent and the attack fails.
        let mut charged = PrivateSum::<Seeded>::resume_charged(&bytes, 2, 0).unwrap();
        let hidden = difference(&run(&mut charged, [0.25, 0.5]));
        assert!((hidden[0] - 0.5).abs() > 1e-3 && (hidden[1] + 1.0).abs() > 1e-3, "{hidden:?}");
        // The same holds for a declared copy, which is charged; a state that was only moved is not.
        let mut copy = PrivateSum::<Seeded>::resume(&bytes, 1).unwrap();
        copy.branch().unwrap();
        assert!((mu(&copy) / mu(&sum) - 2f64.sqrt()).abs() < 1e-12);
        let hidden = difference(&run(&mut copy, [0.25, 0.5]));
        assert!((hidden[0] - 0.5).abs() > 1e-3 && (hidden[1] + 1.0).abs() > 1e-3, "{hidden:?}");
    }
}

/// A saved state contains no key: each stream restored from it draws different noise, whichever function restores it.
#[test]
fn two_restored_copies_never_add_the_same_secure_noise() {
    for mechanism in MECHANISMS {
        let domain = Domain::Vector { dimension: 2, bound: 1.0 };
        let noise = SecureNoise::from_system().unwrap();
        let mut sum = params(domain, Some(100), mechanism).check().unwrap().start(noise);
        run(&mut sum, [0.1, 0.1]);
        let bytes = sum.save();
        let release = |data: [f64; 2]| {
            let state: State<SecureNoise> =
                wire::load_on(wire::kinds::PRIVATE_SUM, SecureNoise::NAME, &bytes).unwrap();
            run(&mut PrivateSum { state }, data)
        };
        let (one, other) = (release([0.75, -0.5]), release([0.25, 0.5]));
        let difference = [0, 1].map(|c| one.sums()[c] - other.sums()[c]);
        // Two independent draws agree to 1e-6 in both coordinates with a chance of less than 1e-11.
        assert!((difference[0] - 0.5).abs().max((difference[1] + 1.0).abs()) > 1e-6);
    }
}

/// A key kept in memory would be copied with the process or the machine, so each release takes a new key.
#[test]
fn every_release_is_drawn_under_a_new_key() {
    let domain = Domain::Vector { dimension: 1, bound: 1.0 };
    let release = |_| {
        let params = params(domain.clone(), Some(4), Mechanism::default());
        let mut sum = params.check().unwrap().start(SecureNoise::seeded(1));
        let contribution = sum.clip(&[0.5]).unwrap();
        sum.absorb(&contribution).unwrap().unwrap().sums()[0]
    };
    // The clones start with the same key.
    let [one, other] = [0, 1].map(release);
    assert_ne!(one, other);
}

#[test]
fn a_state_on_other_noise_is_foreign() {
    let sum = start(&vector(100), Seeded(3));
    let foreign = PrivateSum::<Silent>::resume(&sum.save(), 0);
    assert!(matches!(foreign, Err(Error::CorruptState { .. })), "{foreign:?}");
    let secure = PrivateSum::<crate::noise::SecureNoise>::resume(&sum.save(), 0);
    assert!(matches!(secure, Err(Error::CorruptState { .. })));
}

#[test]
fn parts_that_do_not_fit_are_refused_not_indexed() {
    // A valid checksum over a state whose vectors have other lengths: refused at load, not a panic later.
    for mechanism in MECHANISMS {
        let mut sum = start(
            &params(vector(100).check().unwrap().clipper().domain().clone(), Some(100), mechanism),
            Seeded(3),
        );
        let one = sum.clip(&[0.1, 0.2]).unwrap();
        sum.absorb(&one).unwrap();
        sum.state.pending.push(0);
        assert!(matches!(
            PrivateSum::<Seeded>::resume(&sum.save(), 1),
            Err(Error::CorruptState { .. })
        ));
        sum.state.pending.pop();
        sum.state.step = 77;
        let resumed = PrivateSum::<Seeded>::resume(&sum.save(), 1);
        let blt = matches!(mechanism, Mechanism::Blt { .. });
        assert_eq!(resumed.is_err(), !blt, "{mechanism:?}: BLT has no step of its own");
    }
}
