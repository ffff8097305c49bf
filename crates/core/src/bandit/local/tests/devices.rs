//! The device: what it counts, clips and promises.

use super::*;

#[test]
fn no_device_reports_more_often_than_its_budget_allows() -> Result<()> {
    let params = LocalParams::from(ReportParams {
        contributions_per_person: 3,
        ..ReportParams::new(bounds(), 2.0, 1e-5)
    });
    for method in [Method::GramGaussian { split: 0.694 }, Method::UnitGram, Method::UnitPair] {
        let plan = LocalParams {
            report: ReportParams { method: Some(method), ..params.report.clone() },
            ..params.clone()
        }
        .check()?;
        let guarantee = plan.guarantee(0)?;
        assert!(guarantee.epsilon() <= 2.0 + 1e-6, "{guarantee}");
        assert!(guarantee.epsilon() > 1.5, "{guarantee}");
        let model = plan.server().publish()?;
        let mut first = plan.person(0, Seeded(10))?;
        first.report(&model, &[0.6, 0.8], 0.5)?;
        let mut person = plan.person_after(0, first.spent(), Seeded(11))?;
        assert!(person.report(&model, &[0.1, f64::NAN], 0.5).is_err());
        assert_eq!((person.reports_left(), person.spent().reports()), (2, 1));
        person.report(&model, &[0.6, 0.8], 0.5)?;
        person.report(&model, &[0.6, 0.8], 0.5)?;
        let error = person.report(&model, &[0.6, 0.8], 0.5).unwrap_err().to_string();
        assert!(error.contains("contributions_per_person"), "{error}");
        assert_eq!(plan.person_after(0, person.spent(), Seeded(12))?.reports_left(), 0);
    }
    Ok(())
}

#[test]
fn a_device_that_mixes_levels_knows_what_it_spent() -> Result<()> {
    let levels = Levels::Public(vec![1.0, 8.0]);
    let pure = LocalParams::from(ReportParams {
        levels: levels.clone(),
        contributions_per_person: 2,
        method: Some(Method::UnitGram),
        ..ReportParams::new(bounds(), 8.0, 0.0)
    });
    let plan = pure.check()?;
    let model = plan.server().publish()?;
    let mut eager = plan.person(1, Seeded(50))?;
    eager.report(&model, &[0.6, 0.8], 1.0)?;
    // Half of epsilon = 8 is sent, half of epsilon = 1 may follow.
    let careful = plan.person_after(0, eager.spent(), Seeded(51))?;
    let stated = careful.guarantee()?;
    assert!((stated.pure_epsilon().unwrap() - 4.5).abs() < 1e-9, "{stated}");
    assert!((stated.epsilon() - 4.5).abs() < 1e-3, "{stated}");
    assert!(stated.conditions().iter().any(|c| c.contains("left are all made at level 0")));
    // Who stays has what their level says.
    let stays = plan.person_after(1, eager.spent(), Seeded(52))?.guarantee()?;
    assert_eq!(stays.epsilon(), plan.guarantee(1)?.epsilon());
    let stays = plan.guarantee(0)?;
    assert!(stays.conditions().iter().any(|c| c.contains("are made at this level")), "{stays}");
    let at_any_level = plan.guarantee_at_any_level()?;
    assert!(
        at_any_level.epsilon() >= plan.guarantee(1)?.epsilon() && at_any_level.epsilon() < 8.001
    );

    let gaussian = LocalParams {
        report: ReportParams {
            delta: 1e-6,
            method: Some(Method::GramGaussian { split: 0.694 }),
            ..pure.report
        },
        ..pure
    };
    let plan = gaussian.check()?;
    let mu =
        |level| crate::privacy::Accountant::price(&plan.event(level)?).map(|c| c.mu().unwrap());
    let model = plan.server().publish()?;
    let mut eager = plan.person(1, Seeded(53))?;
    eager.report(&model, &[0.6, 0.8], 1.0)?;
    let mixed = plan.person_after(0, eager.spent(), Seeded(54))?.guarantee()?;
    let truth = crate::privacy::gaussian::epsilon(1e-6, mu(0)?.hypot(mu(1)?))?;
    assert!(mixed.epsilon() >= truth && mixed.epsilon() < truth + 1e-6, "{mixed} {truth}");
    let at_any_level = plan.guarantee_at_any_level()?.epsilon();
    assert!(at_any_level >= mixed.epsilon() && at_any_level >= plan.guarantee(1)?.epsilon());
    assert!(at_any_level < plan.guarantee(1)?.epsilon() + 1e-9);
    Ok(())
}

#[test]
fn a_device_refuses_no_finite_data_and_learns_what_was_clipped() -> Result<()> {
    let declared =
        Bounds { rewards: (0.0, 1.0), intercept: Some(0.6), unit_arms: true, ..Bounds::unit(3) };
    let methods = [
        (Method::GramGaussian { split: 0.694 }, 1e-3, false),
        (Method::TriangleGaussian, 1e-3, false),
        (Method::AdditivePair, 1e-3, false),
        (Method::UnitGram, 0.0, false),
        (Method::UnitPair, 0.0, false),
        (Method::UnitAxis, 0.0, false),
        (Method::RewardGaussian, 1e-3, true),
        (Method::RewardResponse, 0.0, true),
        (Method::KnownGram { gram: vec![1.0, 0.0, 0.0, 1.0, 0.0, 1.0], reports: 9 }, 0.0, false),
    ];
    for (method, delta, public_arms) in methods {
        let params = LocalParams::from(ReportParams {
            public_arms,
            contributions_per_person: 9,
            method: Some(method.clone()),
            ..ReportParams::new(declared, 2.0, delta)
        });
        let plan = params.check()?;
        let mut server = plan.server();
        let model = server.publish()?;
        let mut person = plan.person(0, Seeded(60))?;
        let mut clipped = 0;
        for (features, reward, fits) in [
            ([0.48, 0.64, 0.6], 0.5, true),
            ([0.48, 0.64, 0.6], 1.5, false),
            ([0.48, 0.64, 0.7], 0.5, false),
            ([0.3, 0.4, 0.6], 0.5, false),
            ([0.0, 0.0, 0.6], 0.5, false),
            ([0.0, 0.0, 0.0], 0.0, false),
            ([f64::MAX, -f64::MAX, f64::MAX], -f64::MAX, false),
            ([5e-324, 0.0, 0.0], 5e-324, false),
        ] {
            let report = person.report(&model, &features, reward)?;
            clipped += u64::from(!fits);
            assert_eq!(person.clipped(), clipped, "{method:?} {features:?} {reward}");
            assert_eq!(server.absorb(&report)?, Absorbed::Counted);
            assert!(!serde_json::to_string(&report).unwrap().contains("clipped"));
        }
        let conditions = plan.guarantee(0)?.conditions().join("; ");
        assert!(!conditions.contains("declared form"), "{conditions}");
    }
    Ok(())
}

/// Under Thompson sampling a device gets a seed, an estimate and a factor, whatever the number of members, and draws among them by itself.
#[test]
fn a_model_that_draws_is_as_small_as_one_that_does_not() -> Result<()> {
    let thompson =
        |members| Rule::Thompson { ridge: 3.0, width: 0.5, members, minimum_probability: 0.0 };
    let plan = |rule| LocalParams { rule, ..LocalParams::new(sphere(), 2.0, 1e-6) }.check();
    let arms = Arms::from_rows(5, &[[0.7, 0.0, 0.0, 0.0, 0.7], [0.0, 0.7, 0.0, 0.0, 0.7]])?;
    let size = |rule: Rule| -> Result<usize> {
        let model = plan(rule)?.server().seeded(3).publish()?;
        // Asking for probabilities draws all members, none of which travels.
        let probabilities = model.probabilities(&arms)?;
        assert!((probabilities.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        let text = serde_json::to_string(&model).unwrap();
        let read: Model = serde_json::from_str(&text).unwrap();
        assert_eq!(read.probabilities(&arms)?, probabilities);
        Ok(text.len())
    };
    assert!(size(thompson(4096))? < size(Rule::default())? + 120);
    let (plan, mut chosen) = (plan(thompson(64))?, [0_u64; 2]);
    let model = plan.server().seeded(3).publish()?;
    for seed in 0..20_000 {
        chosen[plan.person(0, Seeded(seed))?.choose(&model, &arms)?] += 1;
    }
    let probabilities = model.probabilities(&arms)?;
    assert!(!crate::noise::check::chi_square_alarm(&chosen, &probabilities), "{chosen:?}");
    // Planted: the ensemble of another model.
    let other = plan.server().seeded(4).publish()?.probabilities(&arms)?;
    assert!(crate::noise::check::chi_square_alarm(&chosen, &other), "{other:?}");
    Ok(())
}

/// A seed comes from the system unless a simulation gives one, is kept over a restart, and belongs to the server: models differ by number.
#[test]
fn the_system_seeds_a_server_once() -> Result<()> {
    let params = LocalParams { rule: Rule::THOMPSON, ..LocalParams::new(bounds(), 2.0, 1e-6) };
    let plan = params.check()?;
    let draws = |model: &Model| model.probabilities(&arms());
    let [mut one, mut other] = [plan.server(), plan.server()];
    let (first, second) = (one.publish()?, one.publish()?);
    assert_ne!(first.guide(), other.publish()?.guide());
    assert_ne!(first.guide(), second.guide());
    let mut loaded = Server::load(&one.save())?;
    assert_eq!(loaded.publish()?, one.publish()?);
    let [mut one, mut other] = [plan.server().seeded(7), plan.server().seeded(7)];
    assert_eq!(draws(&one.publish()?)?, draws(&other.publish()?)?);
    Ok(())
}

/// A caller with a durable memory of names gets the same sums, and a state that does not grow with them.
#[test]
fn a_caller_may_keep_the_memory_of_names() -> Result<()> {
    let plan = LocalParams::new(bounds(), 4.0, 1e-6).check()?;
    let (mut own, mut other) = (plan.server(), plan.server());
    let model = own.publish()?;
    assert_eq!(other.publish()?, model);
    for seed in 0..20 {
        let report = plan.person(0, Seeded(seed))?.report(&model, &[0.6, 0.8], 0.5)?;
        own.check_report(&report)?;
        assert_eq!(own.absorb_new(&report)?, Absorbed::Counted);
        assert_eq!(other.absorb(&report)?, Absorbed::Counted);
    }
    assert_eq!(own.publish()?, other.publish()?);
    assert_eq!((own.remembered(), other.remembered()), (0, 20));
    // Checks change nothing, and what is wrong is refused by both.
    let foreign = LocalParams::new(bounds(), 5.0, 1e-6).check()?;
    let model = foreign.server().publish()?;
    let report = foreign.person(0, Seeded(1))?.report(&model, &[0.6, 0.8], 0.5)?;
    let before = own.clone();
    assert!(own.check_report(&report).is_err() && own.absorb_new(&report).is_err());
    assert_eq!(own, before);
    Ok(())
}

/// A party with all reports can show whether a server has counted each of them once, in whatever order.
#[test]
fn a_report_that_is_lost_or_counted_twice_shows_in_the_sums() -> Result<()> {
    let plan = LocalParams::new(bounds(), 4.0, 1e-6).check()?;
    let mut server = plan.server();
    let model = server.publish()?;
    let report = |seed| plan.person(0, Seeded(seed))?.report(&model, &[0.6, 0.8], 0.5);
    let reports: Vec<Report> = (0..300).map(report).collect::<Result<_>>()?;
    for report in &reports {
        server.absorb_new(report)?;
    }
    let server = Server::load(&server.save())?;
    assert!(server.has_counted(reports.iter().rev())?);
    let without_one = &reports[1..];
    assert!(!server.has_counted(without_one)?);
    assert!(!server.has_counted(reports.iter().chain(&reports[..1]))?);
    // As many, of which one is there twice and one is not.
    assert!(!server.has_counted(without_one.iter().chain(&reports[1..2]))?);
    let foreign = LocalParams::new(bounds(), 5.0, 1e-6).check()?;
    let model = foreign.server().publish()?;
    let stranger = foreign.person(0, Seeded(1))?.report(&model, &[0.6, 0.8], 0.5)?;
    assert!(server.has_counted([&stranger]).is_err());
    Ok(())
}
