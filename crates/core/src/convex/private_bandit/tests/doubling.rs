//! Bandits without a horizon, and reports that devices protected.

use super::*;

#[test]
fn doubling_forgets_the_horizon_and_not_the_promise() {
    let first = params(200, Protection::central(1.0, 1e-6));
    let mut bandit =
        DoublingBandit::start(first.clone(), L1Ball::set(3, 1.0).unwrap(), Seeded(1)).unwrap();
    let guarantee = bandit.guarantee().unwrap();
    assert!((guarantee.epsilon() - 1.0).abs() < 1e-6, "{}", guarantee.epsilon());
    let loss = target(3);
    let old = bandit.decide().unwrap();
    for _ in 0..20_000 {
        let decision = bandit.decide().unwrap();
        bandit.observe(decision.ticket, loss(&decision.point)).unwrap();
    }
    assert_eq!(bandit.epochs(), 6, "200 (2^7 - 1) > 20001");
    let counts = bandit.counts();
    assert_eq!((counts.decisions, counts.rounds), (20_001, 20_000), "over all epochs");
    assert_eq!(counts.map.maps, bandit.releases());
    assert!(bandit.observe(old.ticket, 0.5).is_err(), "its epoch is over");
    let current = bandit.current().unwrap();
    assert!(loss(current.point()) < 0.4, "{:?}", current.point());
    let set = || L1Ball::set(3, 1.0).unwrap();
    let bytes = bandit.save();
    let mut resumed =
        DoublingBandit::<_, Seeded>::resume(&bytes, bandit.releases(), bandit.decisions(), set())
            .unwrap();
    for _ in 0..15_000 {
        let (one, two) = (bandit.decide().unwrap(), resumed.decide().unwrap());
        assert_eq!(one, two);
        bandit.observe(one.ticket, loss(&one.point)).unwrap();
        resumed.observe(two.ticket, loss(&two.point)).unwrap();
    }
    assert_eq!(bandit.save(), resumed.save());
    let (asked, made) = (bandit.decisions(), bandit.releases());
    assert!(DoublingBandit::<_, Seeded>::resume(&bytes, made, asked, set()).is_err(), "stale");
    // More losses of one person than the first epoch has could fill several epochs at full sensitivity.
    let crowded = PrivateBanditParams { contributions_per_person: 201, ..first.clone() };
    let error = DoublingBandit::start(crowded.clone(), set(), Seeded(1)).unwrap_err().to_string();
    assert!(error.contains("contributions_per_person: got 201"), "{error}");
    // Nor do forged bytes get past that.
    let numbers = (crowded.clone(), 0_u32, 0_u64, 0_u64, BanditCounts::default());
    let inner = start(crowded, set()).save();
    let forged = wire::save(wire::kinds::DOUBLING_BANDIT, &(numbers, Some(inner)));
    let error = DoublingBandit::<_, Seeded>::resume(&forged, 0, 0, set()).unwrap_err().to_string();
    assert!(error.contains("contributions_per_person: got 201"), "{error}");
    // Nor an epoch without noise around which a promise is wrapped.
    let numbers = (first.clone(), 0_u32, 0_u64, 0_u64, BanditCounts::default());
    let open = start(params(200, Protection::None), set()).save();
    let forged = wire::save(wire::kinds::DOUBLING_BANDIT, &(numbers, Some(open)));
    let error = DoublingBandit::<_, Seeded>::resume(&forged, 0, 0, set()).unwrap_err().to_string();
    assert!(error.contains("saved epoch: got 0"), "{error}");
    let fixed = PrivateBanditParams { batch: Some(4), ..first };
    assert!(DoublingBandit::start(fixed, L1Ball::set(3, 1.0).unwrap(), Seeded(1)).is_err());
}

#[test]
fn a_doubling_learner_takes_reports_that_were_protected_where_they_arose() {
    let local = params(50, Protection::Local { epsilon: 1.0 });
    let mut bandit = DoublingBandit::start(local, Simplex::set(3).unwrap(), Seeded(1)).unwrap();
    let mut noise = Seeded(2);
    for _ in 0..200 {
        let device = *bandit.current().unwrap().local_value().unwrap();
        let ticket = bandit.decide().unwrap().ticket;
        let report = device.report(0.4, &mut noise).unwrap();
        bandit.absorb(ticket, report).unwrap();
        assert!(bandit.absorb(ticket, report).is_err());
    }
    assert_eq!(bandit.counts().rounds, 200);
    let guarantee = bandit.guarantee().unwrap();
    assert!(guarantee.conditions().iter().any(|c| c.contains("where they arise")));
    // Counts of clipped values are private.
    assert!(!format!("{bandit:?}").contains("clipped"));
}

#[test]
fn reports_reach_only_learners_that_take_them() {
    let mut noise = Seeded(2);
    let mut bandit =
        start(params(100, Protection::Local { epsilon: 1.0 }), Simplex::set(3).unwrap());
    let device = *bandit.local_value().unwrap();
    let ticket = bandit.decide().unwrap().ticket;
    let report = device.report(0.4, &mut noise).unwrap();
    // No device sends this; a sum of such reports would not be a number.
    let before = bandit.save();
    for forged in [1e308, -1e308, 1.001 * device.largest_report(), f64::NAN] {
        assert!(bandit.absorb(ticket, ValueReport::new(forged)).is_err());
    }
    assert_eq!(bandit.save(), before);
    assert!(bandit.absorb(ticket, report).is_ok());
    assert!(bandit.absorb(ticket, report).is_err());
    // The device is not saved: it follows from the parameters.
    let resumed =
        PrivateBandit::<_, Seeded>::resume(&bandit.save(), 1, 1, Simplex::set(3).unwrap());
    assert_eq!(resumed.unwrap().local_value(), Some(&device));
    let mut central = start(params(100, Protection::None), Simplex::set(3).unwrap());
    let ticket = central.decide().unwrap().ticket;
    assert!(central.absorb(ticket, report).is_err());
}
