//! Repeated reports, and copies of a shuffler.

use super::*;
use crate::Error;

#[test]
fn a_restored_shuffler_keeps_who_waits_and_whom_it_has_seen() {
    let plan = plan(3, Aggregation::Permute);
    let reports = reports(&plan, 4, &mut Seeded(10));
    let mut shuffler = plan.shuffler(Seeded(11)).unwrap();
    shuffler.absorb(&reports[0]).unwrap();
    shuffler.absorb(&reports[1]).unwrap();
    let bytes = shuffler.save();
    let mut restored = Shuffler::<Seeded>::resume(&bytes, shuffler.batches()).unwrap();
    assert_eq!(restored.waiting(), 2);
    assert!(restored.absorb(&reports[1]).unwrap().is_none());
    assert_eq!(restored.absorb(&reports[2]).unwrap().unwrap().people(), 3);
    // A batch has left since: its reports must not leave again. A state that is ahead of the log goes on.
    let later = Shuffler::<Seeded>::resume(&restored.save(), 0).unwrap();
    assert_eq!((later.batches(), later.waiting()), (1, 0));
    let stale = Shuffler::<Seeded>::resume(&bytes, restored.batches()).unwrap_err();
    assert_eq!(stale, Error::StaleState { what: "batches", saved: 0, released: 1 });
    assert!(Shuffler::<crate::noise::SecureNoise>::resume(&bytes, 0).is_err());
    assert!(Shuffler::<Seeded>::resume(&bytes[1..], 0).is_err());
}

/// Two shufflers in the same state, one of them restored or cloned, permute the same reports differently.
#[test]
fn no_two_copies_of_a_shuffler_permute_alike() {
    use crate::noise::SecureNoise;
    let plan = plan(40, Aggregation::Permute);
    let reports = reports(&plan, 40, &mut Seeded(24));
    let fresh = plan.shuffler(SecureNoise::from_system().unwrap()).unwrap();
    let bytes = fresh.save();
    let batch = |mut shuffler: Shuffler<SecureNoise>| {
        reports.iter().find_map(|report| shuffler.absorb(report).unwrap()).unwrap()
    };
    let restored = || Shuffler::<SecureNoise>::resume(&bytes, 0).unwrap();
    // By chance once in 40! times.
    assert_ne!(batch(restored()).contents, batch(restored()).contents);
    let cloned = || plan.shuffler(SecureNoise::seeded(1)).unwrap();
    assert_ne!(batch(cloned()).contents, batch(cloned()).contents);
}

#[test]
fn a_report_under_another_name_does_not_leave_a_second_time() {
    for aggregation in [Aggregation::Sum, Aggregation::Permute] {
        let plan = plan(2, aggregation);
        let reports = reports(&plan, 4, &mut Seeded(30));
        let edited = |change: &dyn Fn(&mut serde_json::Value)| {
            let mut json = serde_json::to_value(&reports[0]).unwrap();
            change(&mut json);
            serde_json::from_value::<Report>(json).unwrap()
        };
        let mut shuffler = plan.shuffler(Seeded(31)).unwrap();
        shuffler.absorb(&reports[0]).unwrap();
        assert!(shuffler.absorb(&reports[1]).unwrap().is_some());
        let renamed = edited(&|json| json["id"] = "00000000000000050000000000000006".into());
        let other_model = edited(&|json| json["model"] = 9.into());
        for copy in [&renamed, &other_model] {
            assert!(shuffler.absorb(copy).unwrap().is_none());
            assert_eq!(shuffler.waiting(), 0, "{aggregation:?}");
        }
        // The memory is kept with the state.
        let bytes = shuffler.save();
        let mut restored = Shuffler::<Seeded>::resume(&bytes, shuffler.batches()).unwrap();
        assert!(restored.absorb(&renamed).unwrap().is_none());
        assert_eq!(restored.waiting(), 0);
        // Fields that no device of this protocol writes do not make a report another one: it is refused.
        for odd in [
            edited(&|json| json["level"] = serde_json::Value::Null),
            edited(&|json| json["level"] = 3.into()),
            edited(&|json| json["features"] = serde_json::json!([0.1, 0.2])),
        ] {
            assert!(shuffler.absorb(&odd).is_err());
        }
        // Other people's reports are taken.
        shuffler.absorb(&reports[2]).unwrap();
        assert!(shuffler.absorb(&reports[3]).unwrap().is_some());
        let conditions = plan.guarantee().unwrap().conditions().join("; ");
        assert!(conditions.contains("whatever its name"), "{conditions}");
    }
}

#[test]
fn equal_reports_of_two_people_are_both_taken_where_reports_have_few_values() {
    // On a circle, at an epsilon at which the report is the truth to the last bit but one time in 10^12.
    let bounds = Bounds { unit_arms: true, ..Bounds::unit(1) };
    let params = ShuffleParams::new(bounds, 200.0, 1e-3, 2, Aggregation::Permute);
    let plan = params.check().unwrap();
    let model = plan.server().publish().unwrap();
    let report = |seed| {
        let mut person = plan.person(Seeded(seed)).unwrap();
        person.report(&model, &[1.0], 1.0).unwrap()
    };
    // A report and its mirror image are as likely: people with the same side.
    let one = report(40);
    let two = (41..60).map(report).find(|two| two.values() == one.values()).unwrap();
    let mut shuffler = plan.shuffler(Seeded(42)).unwrap();
    shuffler.absorb(&one).unwrap();
    shuffler.absorb(&one).unwrap();
    assert_eq!(shuffler.waiting(), 1, "the same report again");
    assert!(shuffler.absorb(&two).unwrap().is_some(), "another person's");
    let conditions = plan.guarantee().unwrap().conditions().join("; ");
    assert!(conditions.contains("under another name"), "{conditions}");
}
