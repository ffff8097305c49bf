//! The shuffler and the protocol around it.

use super::{shuffler::permute, *};

mod repeats;
use crate::{
    bandit::{Absorbed, Arms},
    noise::{Noise, check::chi_square_alarm},
    privacy::{Claim, TrustModel},
    randomize::{Bounds, Method, Report},
    release::{Calibration, testing::Seeded},
    wire,
};

fn bounds() -> Bounds {
    Bounds { rewards: (0.0, 1.0), ..Bounds::unit(2) }
}

fn plan(batch: u64, aggregation: Aggregation) -> ShufflePlan {
    ShuffleParams::new(bounds(), 1.0, 1e-3, batch, aggregation).check().unwrap()
}

fn reports(plan: &ShufflePlan, count: usize, noise: &mut Seeded) -> Vec<Report> {
    let model = plan.server().publish().unwrap();
    (0..count)
        .map(|_| {
            let mut person = plan.person(Seeded(noise.bits())).unwrap();
            person.report(&model, &[0.6, 0.8], 1.0).unwrap()
        })
        .collect()
}

/// Returns whether the slot of some report in a batch of four tells where it leaves, over 4000 batches.
fn slot_survives(mut shuffle: impl FnMut(&mut Vec<usize>)) -> bool {
    let mut leaves = [[0_u64; 4]; 4];
    let mut orders = [0_u64; 24];
    for _ in 0..4000 {
        let mut slots = vec![0, 1, 2, 3];
        shuffle(&mut slots);
        for (to, from) in slots.iter().enumerate() {
            leaves[*from][to] += 1;
        }
        let rank = |i: usize| slots[i + 1..].iter().filter(|s| **s < slots[i]).count();
        orders[rank(0) * 6 + rank(1) * 2 + rank(2)] += 1;
    }
    leaves.iter().any(|counts| chi_square_alarm(counts, &[0.25; 4]))
        || chi_square_alarm(&orders, &[1.0 / 24.0; 24])
}

#[test]
fn a_reports_slot_does_not_survive_the_shuffle() {
    let plan = plan(4, Aggregation::Permute);
    let mut noise = Seeded(1);
    let mut shuffler = plan.shuffler(Seeded(2)).unwrap();
    let survives = slot_survives(|slots| {
        let reports = reports(&plan, 4, &mut noise);
        let mut batch = None;
        for report in &reports {
            assert!(batch.is_none());
            batch = shuffler.absorb(report).unwrap();
        }
        let batch = batch.unwrap();
        for (slot, left) in slots.iter_mut().zip(batch.contents()) {
            *slot = reports.iter().position(|r| r.values() == left.values).unwrap();
        }
    });
    assert!(!survives);
    // Planted: no shuffle; Sattolo's variant, which never leaves a report where it was; the naive exchange of all with all,
    // whose orders are not equally likely.
    let mut noise = Seeded(3);
    assert!(slot_survives(|_| ()));
    assert!(slot_survives(|slots| {
        (1..4).rev().for_each(|last| slots.swap(last, noise.below(last as u64) as usize));
    }));
    assert!(slot_survives(|slots| {
        (0..4).for_each(|at| slots.swap(at, noise.below(4) as usize));
    }));
    assert!(!slot_survives(|slots| permute(slots, &mut noise)));
}

#[test]
fn names_stay_behind_and_no_small_batch_leaves() {
    let plan = plan(3, Aggregation::Permute);
    let mut noise = Seeded(4);
    let reports = reports(&plan, 3, &mut noise);
    let mut shuffler = plan.shuffler(Seeded(5)).unwrap();
    assert!(shuffler.absorb(&reports[0]).unwrap().is_none());
    // A repeated report does not fill the batch.
    assert!(shuffler.absorb(&reports[0]).unwrap().is_none());
    assert!(shuffler.absorb(&reports[1]).unwrap().is_none());
    assert_eq!(shuffler.waiting(), 2);
    let batch = shuffler.absorb(&reports[2]).unwrap().unwrap();
    assert_eq!((batch.people(), shuffler.waiting()), (3, 0));
    let text = serde_json::to_string(&batch).unwrap();
    for report in &reports {
        let name = serde_json::to_value(report).unwrap()["id"].as_str().unwrap().to_string();
        assert!(serde_json::to_string(report).unwrap().contains(&name));
        assert!(!text.contains(&name));
    }
    assert!(!text.contains("model") && !text.contains("\"id\""));
    assert!(shuffler.absorb(&reports[1]).unwrap().is_none());
    assert_eq!(shuffler.waiting(), 0);
}

#[test]
fn a_sum_is_the_sum_and_every_batch_counts_once() {
    let plan = plan(5, Aggregation::Sum);
    let mut noise = Seeded(6);
    let reports = reports(&plan, 10, &mut noise);
    let mut shuffler = plan.shuffler(Seeded(7)).unwrap();
    let mut batches = Vec::new();
    for report in &reports {
        batches.extend(shuffler.absorb(report).unwrap());
    }
    assert_eq!(batches.len(), 2);
    let total: f64 = reports[..5].iter().map(|r| r.values()[0]).sum();
    assert_eq!(batches[0].contents().len(), 1);
    assert!((batches[0].contents()[0].values[0] - total).abs() < 1e-9);
    let mut server = plan.server();
    // Out of order, and again.
    assert_eq!(server.absorb(&batches[1]).unwrap(), Absorbed::Counted);
    assert_eq!(server.absorb(&batches[0]).unwrap(), Absorbed::Counted);
    let before = server.clone();
    assert_eq!(server.absorb(&batches[1]).unwrap(), Absorbed::Duplicate);
    assert_eq!(server.absorb(&batches[0]).unwrap(), Absorbed::Duplicate);
    let mut small = batches[0].clone();
    (small.people, small.number) = (4, 9);
    assert!(server.absorb(&small).is_err());
    let mut foreign = batches[0].clone();
    (foreign.protocol, foreign.number) = (1, 9);
    assert!(server.absorb(&foreign).is_err());
    let text = wire::to_json(&batches[0]);
    assert_eq!(wire::from_json::<Batch>(&text).unwrap(), batches[0]);
    let mut torn = batches[0].clone();
    torn.number = 9;
    torn.contents[0].values.pop();
    assert!(server.absorb(&torn).is_err());
    assert_eq!(server, before);
    assert_eq!(server.reports(), 10);
    let bytes = server.save();
    assert_eq!(ShuffleServer::load(&bytes).unwrap(), server);
    assert!(ShuffleServer::load(&bytes[..bytes.len() - 1]).is_err());
}

#[test]
fn a_sum_refuses_no_report_whatever_the_noise_and_the_data() {
    let large =
        [(1.0, 1 << 24), (4.0, 1 << 20), (8.0, 1 << 20), (1e5, 20), (1e6, 20), (1e6, 1 << 24)];
    for (epsilon, batch) in large {
        let params = ShuffleParams::new(bounds(), epsilon, 1e-6, batch, Aggregation::Sum);
        let plan = params.check().unwrap();
        let stated = plan.guarantee().unwrap().epsilon();
        assert!(stated <= epsilon * (1.0 + 1e-9) && stated > 0.99 * epsilon, "{stated} {epsilon}");
        let model = plan.server().publish().unwrap();
        for x in [[1.0, 0.0], [0.6, 0.0], [0.0, 0.0]] {
            let mut shuffler = plan.shuffler(Seeded(32)).unwrap();
            let taken = (0..200).filter(|seed| {
                let mut person = plan.person(Seeded(*seed)).unwrap();
                shuffler.absorb(&person.report(&model, &x, 1.0).unwrap()).is_ok()
            });
            assert_eq!(taken.count(), 200, "epsilon {epsilon}, batch {batch}, x {x:?}");
        }
    }
}

#[test]
fn one_dishonest_report_does_not_round_the_others_away() {
    let plan = plan(3, Aggregation::Sum);
    let reports = reports(&plan, 3, &mut Seeded(20));
    let forged = |value: f64| {
        let mut json = serde_json::to_value(&reports[2]).unwrap();
        json["values"][0] = value.into();
        serde_json::from_value::<Report>(json).unwrap()
    };
    let mut shuffler = plan.shuffler(Seeded(21)).unwrap();
    shuffler.absorb(&reports[0]).unwrap();
    // Beyond what a device makes, between two grid units, and of another length.
    for value in [1e300, 2f64.powi(60), 1e-300] {
        assert!(shuffler.absorb(&forged(value)).is_err(), "{value}");
    }
    assert_eq!(shuffler.waiting(), 1);
    shuffler.absorb(&reports[1]).unwrap();
    // As large as is taken: the honest part of the sum is still exact.
    let exponent = plan.local().reports().randomizers()[0].summed().unwrap().exponents()[0];
    let large = 2f64.powi(52 - exponent);
    let batch = shuffler.absorb(&forged(large)).unwrap().unwrap();
    let unit = 2f64.powi(exponent);
    let honest = reports[..2].iter().map(|r| (r.values()[0] * unit) as i128).sum::<i128>();
    let expected = (honest + (1 << 52)) as f64 / unit;
    assert_eq!(batch.contents()[0].values[0], expected);
}

#[test]
fn reports_of_one_person_may_meet_in_one_batch() {
    // k reports in one batch shift its sum k times as far, against noise drawn once: mu = k mu_1 / sqrt(B).
    let times = 10;
    let params = ShuffleParams {
        contributions_per_person: times,
        ..ShuffleParams::new(bounds(), 1.0, 1e-6, 100, Aggregation::Sum)
    };
    let plan = params.check().unwrap();
    let curve = |event: &crate::privacy::Event| crate::privacy::Accountant::price(event).unwrap();
    let one = curve(&plan.local().event(0).unwrap()).mu().unwrap();
    let together = times as f64 * one / 10.0;
    let truth = crate::privacy::gaussian::epsilon(1e-6, together).unwrap();
    let stated = plan.guarantee().unwrap();
    assert!(stated.epsilon() >= truth - 1e-6 && stated.epsilon() <= 1.0 + 1e-9, "{stated} {truth}");
    // Planted: ten batches composed, as if they never met.
    let apart = crate::privacy::gaussian::epsilon(1e-6, together / 10f64.sqrt()).unwrap();
    assert!(apart < 0.5 * truth);
    let permuted = ShuffleParams { aggregation: Aggregation::Permute, ..params };
    let error = permuted.check().unwrap_err().to_string();
    assert!(error.contains("contributions_per_person: got 10"), "{error}");
}

#[test]
fn the_grid_is_priced_for_every_sum_that_a_person_may_be_in() {
    // k reports may lie in k batches: k sums of d (d + 1) / 2 + d coordinates, each with its own draws on the grid.
    for times in [1, 7] {
        let params = ShuffleParams {
            contributions_per_person: times,
            ..ShuffleParams::new(bounds(), 1.0, 1e-6, 100, Aggregation::Sum)
        };
        let plan = params.check().unwrap();
        let crate::privacy::Event::GridSum { mu, coordinates, people, .. } = plan.event().unwrap()
        else {
            panic!("sums are priced as sums")
        };
        let one = match plan.local().event(0).unwrap() {
            crate::privacy::Event::GridGaussian { mu, coordinates, .. } => (mu, coordinates),
            other => panic!("{other:?}"),
        };
        assert_eq!((one.1, people), (5.0, 100));
        assert_eq!(coordinates, one.1 * times as f64);
        assert!(
            (mu - one.0 * times as f64).abs() <= 1e-12 * mu,
            "all of them in one batch at worst"
        );
    }
}

#[test]
fn a_log_line_shows_no_reports() {
    let plan = plan(3, Aggregation::Permute);
    let mut shuffler = plan.shuffler(Seeded(22)).unwrap();
    let reports = reports(&plan, 1, &mut Seeded(23));
    shuffler.absorb(&reports[0]).unwrap();
    let text = format!("{shuffler:?}");
    assert!(text.contains("waiting: 1") && !text.contains(&reports[0].values()[0].to_string()));
}

#[test]
fn a_person_goes_on_counting_where_they_stopped() {
    let params = ShuffleParams {
        contributions_per_person: 2,
        ..ShuffleParams::new(bounds(), 1.0, 1e-3, 3, Aggregation::Sum)
    };
    let plan = params.check().unwrap();
    let model = plan.server().publish().unwrap();
    let mut person = plan.person(Seeded(1)).unwrap();
    person.report(&model, &[0.6, 0.8], 1.0).unwrap();
    let mut again = plan.person_after(person.spent(), Seeded(2)).unwrap();
    assert_eq!((person.reports_left(), again.reports_left()), (1, 1));
    again.report(&model, &[0.6, 0.8], 1.0).unwrap();
    let last = plan.person_after(again.spent(), Seeded(3)).unwrap();
    assert_eq!((last.reports_left(), last.spent().reports()), (0, 2));
    // What was spent under another plan says nothing here.
    let other = ShuffleParams { epsilon: 2.0, ..params }.check().unwrap();
    assert!(other.person_after(person.spent(), Seeded(4)).is_err());
}

#[test]
fn the_certificate_rests_on_what_the_local_one_rests_on() {
    for aggregation in [Aggregation::Sum, Aggregation::Permute] {
        let plan = plan(20, aggregation);
        let (shuffled, local) = (plan.guarantee().unwrap(), plan.local_guarantee().unwrap());
        for condition in ["that and when a person reports", "silence shows"] {
            for guarantee in [&shuffled, &local] {
                assert!(
                    guarantee.conditions().iter().any(|c| c.contains(condition)),
                    "{guarantee}"
                );
            }
        }
        let read = "against a reader of one on its way its local guarantee holds";
        assert!(shuffled.conditions().iter().any(|c| c.contains(read)));
    }
}

#[test]
fn a_sensitivity_that_no_data_attain_is_not_called_exact() {
    // A sum on a grid is an upper bound in any dimension.
    for dimension in [1, 2] {
        let params = ShuffleParams::new(Bounds::unit(dimension), 1.0, 1e-6, 20, Aggregation::Sum);
        let guarantee = params.check().unwrap().guarantee().unwrap();
        assert!(guarantee.table().contains("upper bound"), "{}", guarantee.table());
        assert!(guarantee.to_string().starts_with("(at most"), "{guarantee}");
    }
}

#[test]
fn what_is_requested_holds_after_shuffling_and_more_people_allow_weaker_reports() {
    let mut last = 0.0;
    for batch in [20, 1000, 100_000] {
        let plan =
            ShuffleParams::new(bounds(), 1.0, 1e-6, batch, Aggregation::Permute).check().unwrap();
        let guarantee = plan.guarantee().unwrap();
        assert!(guarantee.epsilon() <= 1.0 + 1e-9 && guarantee.epsilon() > 0.99, "{guarantee}");
        let local = plan.local_guarantee().unwrap();
        assert!(local.epsilon() >= last && local.epsilon() >= 1.0 - 1e-9, "{local}");
        assert_eq!((guarantee.model(), local.model()), (TrustModel::Shuffle, TrustModel::Local));
        last = local.epsilon();
        let conditions = guarantee.conditions().join("; ");
        assert!(conditions.contains(&format!("batches of {batch}")), "{conditions}");
        assert!(conditions.contains("a shuffler that colludes with no party"), "{conditions}");
    }
    assert!(last > 4.0, "{last}");
    let sum = plan(20, Aggregation::Sum);
    let guarantee = sum.guarantee().unwrap();
    assert!(guarantee.epsilon() <= 1.0 + 1e-9 && guarantee.epsilon() > 0.999);
    assert!(guarantee.conditions().iter().any(|c| c.contains("secure sum")));
    // Each takes 1/sqrt(20) of the noise that one alone would need.
    let alone = plan_alone().local().precision(0).unwrap().vector;
    let ratio = alone / sum.local().precision(0).unwrap().vector;
    assert!((ratio - 20f64.sqrt()).abs() < 1e-6, "{ratio}");
    // Half of them silent: more noise each, the same guarantee.
    let wary = ShuffleParams {
        honest: Some(10),
        ..ShuffleParams::new(bounds(), 1.0, 1e-3, 20, Aggregation::Sum)
    };
    let wary = wary.check().unwrap();
    assert!(wary.guarantee().unwrap().epsilon() <= 1.0 + 1e-9);
    let ratio = wary.local().precision(0).unwrap().vector / (alone / 20f64.sqrt());
    assert!((ratio - 2f64.sqrt()).abs() < 1e-6);
}

fn plan_alone() -> ShufflePlan {
    plan(1, Aggregation::Sum)
}

#[test]
fn it_learns_through_the_shuffler() {
    let arms = Arms::from_rows(2, &[[0.6, 0.8], [0.8, -0.6], [0.6, -0.8]]).unwrap();
    for aggregation in [Aggregation::Sum, Aggregation::Permute] {
        let params = ShuffleParams::new(bounds(), 8.0, 1e-3, 50, aggregation);
        let plan = params.check().unwrap();
        let (mut server, mut shuffler) = (plan.server(), plan.shuffler(Seeded(8)).unwrap());
        let (mut model, mut noise) = (server.publish().unwrap(), Seeded(9));
        let mut late = [0; 3];
        for round in 0..4000 {
            let mut person = plan.person(Seeded(noise.bits())).unwrap();
            let arm = person.choose(&model, &arms).unwrap();
            late[arm] += u32::from(round >= 3000);
            let x = arms.arm(arm);
            let reward = f64::from(u8::from(noise.uniform() < 0.1 * x[0] + 0.7 * x[1]));
            if let Some(batch) =
                shuffler.absorb(&person.report(&model, &x, reward).unwrap()).unwrap()
            {
                server.absorb(&batch).unwrap();
                model = server.publish().unwrap();
            }
        }
        assert!(late[0] > 900, "{aggregation:?}: {late:?}");
    }
}

/// Noise of a given size in every report: the sum of a batch is priced with the honest people's, and a claim stands beside the price.
#[test]
fn given_noise_has_the_guarantee_of_the_noise() {
    let given = |sigma: f64, honest: u64| ShuffleParams {
        honest: Some(honest),
        calibration: Some(Calibration::Sigma(sigma)),
        claim: Some(Claim::new(1.0, 0.05, "a publication")),
        ..ShuffleParams::new(bounds(), 1.0, 0.05, 20, Aggregation::Sum)
    };
    let state = |params: &ShuffleParams| params.check().unwrap().guarantee().unwrap();
    let mu = |params: &ShuffleParams| state(params).curve().mu().unwrap();
    let (all, few) = (mu(&given(1.0, 20)), mu(&given(1.0, 5)));
    assert!((few / all - 2.0).abs() < 1e-6, "{few} {all}");
    let often = ShuffleParams { contributions_per_person: 3, ..given(1.0, 20) };
    assert!((mu(&often) / all - 3.0).abs() < 1e-6);
    assert!(state(&given(1.0, 20)).claimed().unwrap().holds());
    assert!(!state(&given(0.1, 20)).claimed().unwrap().holds());
    let permuted = ShuffleParams { aggregation: Aggregation::Permute, ..given(1.0, 20) };
    let refused = permuted.check().unwrap_err().to_string();
    assert!(refused.starts_with("calibration: got"), "{refused}");
    // A randomiser whose reports cannot be summed.
    let single = ShuffleParams { method: Some(Method::UnitPair), ..given(1.0, 20) };
    let refused = single.check().unwrap_err().to_string();
    assert!(refused.contains("method"), "{refused}");
}

#[test]
fn bad_parameters_are_refused_by_name() {
    let good = ShuffleParams::new(bounds(), 1.0, 1e-3, 20, Aggregation::Permute);
    for (bad, field) in [
        (ShuffleParams { epsilon: 0.0, ..good.clone() }, "epsilon"),
        (ShuffleParams { delta: 0.0, ..good.clone() }, "delta"),
        (ShuffleParams { batch: 0, ..good.clone() }, "batch"),
        (ShuffleParams { honest: Some(21), ..good.clone() }, "honest"),
        (ShuffleParams { honest: Some(0), ..good.clone() }, "honest"),
        (ShuffleParams { contributions_per_person: 0, ..good.clone() }, "contributions_per_person"),
    ] {
        let error = bad.check().unwrap_err().to_string();
        assert!(error.contains(field), "{field}: {error}");
    }
    let plan = good.check().unwrap();
    let mut shuffler = plan.shuffler(Seeded(1)).unwrap();
    let other = ShuffleParams { epsilon: 2.0, ..good }.check().unwrap();
    let foreign = reports(&other, 1, &mut Seeded(2));
    assert!(shuffler.absorb(&foreign[0]).is_err());
    assert_eq!(shuffler.waiting(), 0);
}

/// A shuffler with a store of its own closes batches as the one in memory does, and a server opens sealed ones by itself.
#[test]
fn batches_of_other_shufflers_are_counted_as_the_own_ones() {
    for aggregation in [Aggregation::Permute, Aggregation::Sum] {
        let plan = plan(4, aggregation);
        let reports = reports(&plan, 4, &mut Seeded(5));
        let values: Vec<Vec<f64>> = reports.iter().map(|report| report.values().to_vec()).collect();
        assert!(values.iter().all(|values| values.len() == plan.report_length()));
        let mut shuffler = plan.shuffler(Seeded(6)).unwrap();
        let own =
            reports.iter().filter_map(|report| shuffler.absorb(report).unwrap()).next().unwrap();
        let batch = plan.batch(0, values.clone(), &mut Seeded(7)).unwrap();
        assert!(plan.batch(0, values[..3].to_vec(), &mut Seeded(7)).is_err());
        let mut odd = values.clone();
        odd[1][0] = f64::NAN;
        assert!(plan.batch(0, odd.clone(), &mut Seeded(7)).is_err());
        assert!(plan.check_values(&odd[1]).is_err() && plan.check_values(&odd[0]).is_ok());
        let [mut first, mut second] = [plan.server(), plan.server()];
        for server in [&mut first, &mut second] {
            server.publish().unwrap();
        }
        first.absorb(&own).unwrap();
        second.absorb(&batch).unwrap();
        assert_eq!((first.reports(), second.reports()), (4, 4));
        assert_eq!((second.next_batch(), batch.number()), (1, 0));
        if aggregation == Aggregation::Sum {
            assert_eq!(own.contents(), batch.contents());
            continue;
        }
        // What a server opens by itself: once, and without what no device makes.
        let mut third = plan.server();
        assert_eq!(third.absorb_opened(2, &odd), (Absorbed::Counted, 1));
        assert_eq!(third.absorb_opened(2, &odd), (Absorbed::Duplicate, 0));
        assert_eq!((third.reports(), third.next_batch()), (3, 3));
    }
}
