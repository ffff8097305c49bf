use super::*;
use crate::{
    geometry::Polytope,
    randomize::ValueReport,
    release::testing::Seeded,
    safe::{Agent, Confidence, Monitor, ResponsePrivacy, Simplex},
};

/// Setup `which` (0, 1, 2) of Appendix E: the polytope, the objective, and the true parameters.
fn setup(which: usize) -> (Polytope, Objective, Vec<Vec<f64>>) {
    let polytope = Simplex::new(&[1.0, 0.25, 0.5]).unwrap().polytope().unwrap();
    let mut weights = vec![0.1; 3];
    weights[which] = 0.8;
    let mut thetas = vec![vec![-1.0 / 13.0; 3]; 3];
    thetas[which] = vec![0.0, 0.0, 0.5];
    (polytope, Objective::Linear { weights }, thetas)
}

fn params(which: usize, epsilon: f64) -> CoordinatorParams {
    let (polytope, objective, _) = setup(which);
    let privacy = ResponsePrivacy::Budget { epsilon, delta: 1e-5, responses: None };
    let agent = |axis| {
        AgentParams::on_axis(&polytope, axis, 3, (0.5, 2.0, 0.001), privacy.clone()).unwrap()
    };
    let agents = (0..3).map(agent).collect();
    CoordinatorParams::new(polytope, objective, agents)
}

/// Plays `rounds` rounds; the monitor, the regret, and the worst certified gap.
fn play(params: &CoordinatorParams, which: usize, rounds: u64, seed: u64) -> (Monitor, f64, f64) {
    let (polytope, objective, thetas) = setup(which);
    let plan = params.check().unwrap();
    let mut agents: Vec<Agent<Seeded>> = plan
        .agents()
        .iter()
        .enumerate()
        .map(|(m, plan)| plan.start(m, Seeded(seed * 1000 + m as u64)))
        .collect();
    let mut coordinator = plan.start(Seeded(seed));
    let best = coordinator.best_responses().1;
    let mut monitor = Monitor::new(polytope);
    let mut noise = Seeded(seed + 77);
    let (mut regret, mut gap) = (0.0, 0.0_f64);
    for _ in 0..rounds {
        let decision = coordinator.decide().unwrap();
        let mean = |(x, theta): (&Vec<f64>, &Vec<f64>)| -> f64 {
            x.iter().zip(theta).map(|(x, t)| x * t).sum()
        };
        let means: Vec<f64> = decision.actions.iter().zip(&thetas).map(mean).collect();
        monitor.watch(&means).unwrap();
        regret += best - objective.value(&means);
        gap = gap.max(decision.gap());
        for (agent, mean) in agents.iter_mut().zip(&means) {
            let response = mean + 0.001 * noise.standard_normal();
            let report = agent.report(decision.ticket, response).unwrap();
            coordinator.absorb(&report).unwrap();
        }
    }
    (monitor, regret, gap)
}

#[test]
fn no_rule_violates_safety_and_every_gap_is_certified() {
    for which in 0..3 {
        for rule in [Rule::Ofu, Rule::Roful] {
            for confidence in [Confidence::Paper, Confidence::Tight] {
                let params = CoordinatorParams { rule, confidence, ..params(which, 30.0) };
                let (monitor, _, gap) = play(&params, which, 1500, 5);
                assert_eq!(monitor.violations(), 0, "{which} {rule:?} {confidence:?}");
                assert!(gap < 1e-8, "{gap}");
            }
        }
    }
}

#[test]
fn a_width_made_too_small_is_caught_by_the_monitor() {
    let play_with = |confidence| {
        let params = CoordinatorParams { confidence, ..params(0, 2.0) };
        play(&params, 0, 2000, 3).0
    };
    assert_eq!(play_with(Confidence::Tight).violations(), 0);
    let halved = play_with(Confidence::Scaled(0.5_f64.powi(5)));
    assert!(halved.violations() > 20, "{}", halved.violations());
    assert!(halved.violations() > 0 && halved.worst_excess() > 0.01);
    assert!(!Confidence::Scaled(0.5).certified() && Confidence::Scaled(1.0).certified());
}

#[test]
fn it_learns_what_the_best_responses_are() {
    for (rule, share) in [(Rule::Roful, 0.35), (Rule::Ofu, 0.6)] {
        let params = CoordinatorParams { rule, ..params(1, 100.0) };
        let (monitor, regret, _) = play(&params, 1, 6000, 1);
        let nothing = 6000.0 * 0.128_571;
        assert!(regret < share * nothing, "{rule:?}: {regret} of {nothing}");
        assert_eq!(monitor.violations(), 0);
    }
}

#[test]
fn actions_of_the_caller_are_checked_and_learnt_from() {
    let (_, _, thetas) = setup(0);
    let plan = params(0, 30.0).check().unwrap();
    let mut agents: Vec<Agent<Seeded>> =
        plan.agents().iter().enumerate().map(|(m, plan)| plan.start(m, Seeded(m as u64))).collect();
    let mut coordinator = plan.start(Seeded(1));
    // Known to be safe whatever the parameters are.
    let small = vec![vec![0.01, 0.0, 0.0]; 3];
    let decision = coordinator.decide_on(small.clone()).unwrap();
    assert_eq!((&decision.actions, &decision.safety), (&small, &Safety::Safe));
    assert!(decision.gap().is_infinite() && !decision.exploration, "nothing is proved of it");
    for (agent, theta) in agents.iter_mut().zip(&thetas) {
        let report = agent.report(decision.ticket, 0.01 * theta[0]).unwrap();
        coordinator.absorb(&report).unwrap();
    }
    assert_eq!((coordinator.reports(0), coordinator.open_decisions()), (1, 0));
    // What may be unsafe is scaled back, and what is no action is replaced.
    let large = coordinator.decide_on(vec![vec![0.0, 0.0, 2.0]; 3]).unwrap();
    assert!(matches!(large.safety, Safety::Scaled { factor, .. } if factor < 0.5), "{large:?}");
    for bad in [vec![], vec![vec![0.0; 2]; 3], vec![vec![f64::NAN; 3]; 3]] {
        let decision = coordinator.decide_on(bad).unwrap();
        assert!(matches!(decision.safety, Safety::Fallback { .. }));
        assert!(decision.actions.iter().flatten().all(|x| *x == 0.0));
    }
    // A rule goes on where the caller left off.
    assert_eq!(coordinator.rounds(), 5);
    assert!(coordinator.decide().unwrap().gap().is_finite());
}

#[test]
fn exploration_is_safe_for_every_parameter_and_covers_every_direction() {
    let params = CoordinatorParams { exploration: 400, ..params(0, 2.0) };
    let plan = params.check().unwrap();
    assert!(plan.radii.iter().all(|radius| (radius - 1.0 / 7.0).abs() < 1e-9));
    let eigenvalue = plan.exploration_eigenvalue();
    assert!((eigenvalue - 6.8e-3).abs() < 1e-5, "{eigenvalue}");
    let mut coordinator = plan.start(Seeded(1));
    let mut sums = [0.0; 3];
    for _ in 0..400 {
        let decision = coordinator.decide().unwrap();
        assert!(decision.exploration && decision.safety == Safety::Safe);
        for (sum, x) in sums.iter_mut().zip(&decision.actions[1]) {
            *sum += x * x / 400.0;
        }
    }
    assert!(sums.iter().all(|sum| (sum / eigenvalue - 1.0).abs() < 0.3), "{sums:?}");
    assert!(!coordinator.decide().unwrap().exploration);
}

#[test]
fn reports_come_late_in_any_order_once_or_never() {
    let plan = params(0, 2.0).check().unwrap();
    let mut agent = plan.agents()[1].start(1, Seeded(4));
    let mut coordinator = plan.start(Seeded(1));
    let decisions: Vec<Decision> = (0..30).map(|_| coordinator.decide().unwrap()).collect();
    for decision in decisions.iter().rev().skip(10) {
        let report = agent.report(decision.ticket, 0.01).unwrap();
        coordinator.absorb(&report).unwrap();
    }
    assert_eq!(coordinator.open_decisions(), 30, "two agents have not answered");
    assert_eq!((coordinator.reports(0), coordinator.reports(1)), (0, 20));
    let before = coordinator.save();
    let again = AgentReport { ticket: decisions[0].ticket, agent: 1, value: ValueReport::new(0.1) };
    for bad in [
        again,
        AgentReport { ticket: Ticket(99), ..again },
        AgentReport { agent: 7, ..again },
        AgentReport { ticket: decisions[29].ticket, value: ValueReport::new(f64::NAN), ..again },
        AgentReport { ticket: decisions[29].ticket, value: ValueReport::new(1e200), ..again },
    ] {
        assert!(coordinator.absorb(&bad).is_err(), "{bad:?}");
    }
    assert_eq!(coordinator.save(), before, "an error changed the state");
    assert!(coordinator.dismiss(decisions[0].ticket) && !coordinator.dismiss(decisions[0].ticket));
    assert!(coordinator.absorb(&AgentReport { agent: 0, ..again }).is_err());
    for agent in [0, 2] {
        coordinator
            .absorb(&AgentReport {
                ticket: decisions[5].ticket,
                agent,
                value: ValueReport::new(0.0),
            })
            .unwrap();
    }
    assert_eq!(coordinator.open_decisions(), 28);
}

#[test]
fn a_resumed_coordinator_goes_on_bit_for_bit() {
    for rule in [Rule::Ofu, Rule::Roful] {
        let params = CoordinatorParams { rule, exploration: 5, ..params(2, 20.0) };
        let plan = params.check().unwrap();
        let mut agents: Vec<Agent<Seeded>> =
            (0..3).map(|m| plan.agents()[m].start(m, Seeded(m as u64))).collect();
        let mut coordinator = plan.start(Seeded(1));
        for round in 0..40 {
            if round == 20 || round == 3 {
                coordinator = Coordinator::resume(&coordinator.save(), round).unwrap();
            }
            let mut copy = Coordinator::<Seeded>::resume(&coordinator.save(), round).unwrap();
            let decision = coordinator.decide().unwrap();
            assert_eq!(copy.decide().unwrap(), decision);
            for agent in &mut agents {
                coordinator.absorb(&agent.report(decision.ticket, 0.05).unwrap()).unwrap();
            }
        }
        let bytes = coordinator.save();
        assert!(Coordinator::<Seeded>::resume(&bytes[1..], 40).is_err());
        assert!(Coordinator::<Seeded>::resume(&bytes[..100], 40).is_err());
    }
}

#[test]
fn an_older_state_is_refused_because_it_would_hand_out_tickets_twice() {
    let mut coordinator = params(0, 2.0).check().unwrap().start(Seeded(1));
    let before = coordinator.save();
    let ticket = coordinator.decide().unwrap().ticket;
    assert!(Coordinator::<Seeded>::resume(&coordinator.save(), 1).is_ok());
    let error = Coordinator::<Seeded>::resume(&before, 1).map(|_| ()).unwrap_err().to_string();
    assert!(
        error.contains("saved state: got 0 decisions; expected 1, which have been made"),
        "{error}"
    );
    // What would have happened.
    let mut replayed = Coordinator::<Seeded>::resume(&before, 0).unwrap();
    assert_eq!(replayed.decide().unwrap().ticket, ticket);
}

/// Responses are clipped at 60 % of what is safe: the estimates are biased low, and what they prove is not true.
#[test]
fn clipping_too_narrowly_breaks_safety_and_the_certificate_says_so() {
    let wide = CoordinatorParams { rule: Rule::Ofu, ..params(0, 100.0) };
    let plan = wide.check().unwrap();
    assert!(plan.safety().holds(), "{}", plan.safety());
    let when = "whether and when a report comes";
    assert!(plan.safety().conditions().iter().any(|c| c.contains(when)));
    for m in 0..3 {
        for narrow in [0.1, 0.999] {
            let mut params = wide.clone();
            let (low, high) = params.polytope.range(m).unwrap();
            (params.agents[m].lower, params.agents[m].upper) = (narrow * low, narrow * high);
            let plan = params.check().unwrap();
            assert!(!plan.safety().holds());
            let doubts = plan.safety().doubts();
            assert!(doubts.len() == 1 && doubts[0].contains(&format!("agent {m}")), "{doubts:?}");
            assert!(!plan.start(Seeded(1)).safety().holds());
        }
    }
    let mut biased = wide;
    biased.agents.iter_mut().for_each(|agent| {
        (agent.lower, agent.upper) = (0.1 * agent.lower, 0.1 * agent.upper);
    });
    let violations = |params: &CoordinatorParams| play(params, 0, 3000, 2).0.violations();
    assert!(violations(&biased) > 100);
}

#[test]
fn gaps_are_those_of_what_leaves() {
    // Exploration proves nothing.
    let explored = CoordinatorParams { exploration: 1, ..params(0, 2.0) };
    let decision = explored.check().unwrap().start(Seeded(1)).decide().unwrap();
    assert_eq!(decision.gap(), f64::INFINITY);
    let mut coordinator =
        CoordinatorParams { rule: Rule::Ofu, ..params(0, 2.0) }.check().unwrap().start(Seeded(1));
    let decision = coordinator.decide().unwrap();
    assert!(decision.gap() < 1e-9);
    let reason = String::new();
    let fallback = Decision { safety: Safety::Fallback { reason }, ..decision.clone() };
    assert_eq!(fallback.gap(), f64::INFINITY);
    assert_eq!(Decision { optimistic_value: f64::NAN, ..decision }.gap(), f64::INFINITY);
    // Half an action is worth half: the value is that of the actions given.
    let params = params(0, 2.0);
    let mut axis = vec![0.0; 3];
    axis[0] = 1.0;
    let mut estimates: Vec<Estimate> = (0..3).map(|_| Estimate::new(0.1, axis.clone())).collect();
    estimates[0].observe(&axis, 0.4);
    let reaches: Vec<Reach<'_>> =
        estimates.iter().map(|estimate| Reach::new(estimate, 1.0, 2.0)).collect();
    let value = |length: f64| {
        let actions = vec![vec![length, 0.0, 0.0], vec![0.0; 3], vec![0.0; 3]];
        optimistic_value_of(&params.objective, &reaches, &actions)
    };
    let whole = 0.8 * (0.4 / 1.1 + (1.0 / 1.1_f64).sqrt());
    assert!((value(1.0) - whole).abs() < 1e-12 && (value(0.5) - 0.5 * whole).abs() < 1e-12);
}

#[test]
fn what_fails_the_check_is_scaled_back_and_what_cannot_be_judged_is_not_played() {
    let params = params(0, 2.0);
    let mut first = vec![0.0; 3];
    first[0] = 1.0;
    let estimates: Vec<Estimate> = (0..3).map(|_| Estimate::new(0.1, first.clone())).collect();
    let reaches: Vec<Reach<'_>> =
        estimates.iter().map(|estimate| Reach::new(estimate, 1.0, 2.0)).collect();
    let unsafe_actions = vec![vec![2.0, 0.0, 0.0], vec![0.0; 3], vec![0.0; 3]];
    let (actions, safety, usage) = vet(&params, &reaches, false, unsafe_actions.clone());
    // s = 1 * 2 / sqrt(0.1); the wall at 1/14 is the nearest.
    let factor = 0.1_f64.sqrt() / 28.0;
    assert!(matches!(safety, Safety::Scaled { factor: f, row: 1 } if (f - factor).abs() < 1e-12));
    assert!((actions[0][0] - 2.0 * factor).abs() < 1e-12 && (usage - 1.0).abs() < 1e-9);
    // With |theta| <= 1/2 it may be longer.
    let (actions, ..) = vet(&params, &reaches, true, unsafe_actions.clone());
    assert!((actions[0][0] - 1.0 / 7.0).abs() < 1e-12);
    for broken in [f64::NAN, f64::INFINITY] {
        let mut actions = unsafe_actions.clone();
        actions[2][1] = broken;
        let (actions, safety, _) = vet(&params, &reaches, true, actions);
        assert!(matches!(safety, Safety::Fallback { .. }));
        assert!(actions.iter().flatten().all(|&x| x == 0.0));
    }
    let (_, safety, _) = vet(&params, &reaches, true, vec![vec![0.0; 3]]);
    assert!(matches!(safety, Safety::Fallback { .. }));
    // A width that is not a number, or not finite, judges nothing: with the known ball too, although `min` would pass it over.
    for broken in [f64::NAN, f64::INFINITY] {
        let reaches: Vec<Reach<'_>> =
            estimates.iter().map(|estimate| Reach::new(estimate, broken, 2.0)).collect();
        for known_ball in [false, true] {
            let (actions, safety, _) = vet(&params, &reaches, known_ball, unsafe_actions.clone());
            assert!(matches!(safety, Safety::Fallback { .. }), "{broken} {known_ball}");
            assert!(actions.iter().flatten().all(|&x| x == 0.0));
        }
    }
}

#[test]
fn bad_parameters_are_refused_by_name() {
    let good = params(0, 2.0);
    let refused = |params: CoordinatorParams, word: &str| {
        let error = params.check().unwrap_err().to_string();
        assert!(error.contains(word), "{error}");
    };
    refused(CoordinatorParams { failure: 0.0, ..good.clone() }, "failure");
    refused(CoordinatorParams { failure: 1e-200, ..good.clone() }, "failure");
    refused(CoordinatorParams { regularizer: -1.0, ..good.clone() }, "regularizer");
    refused(CoordinatorParams { regularizer: 1e-200, ..good.clone() }, "regularizer");
    refused(
        CoordinatorParams { confidence: Confidence::Scaled(f64::NAN), ..good.clone() },
        "scale",
    );
    refused(CoordinatorParams { agents: good.agents[..2].to_vec(), ..good.clone() }, "agents");
    let objective = Objective::Linear { weights: vec![1.0] };
    refused(CoordinatorParams { objective, ..good.clone() }, "weights");
    let rows = good.polytope.rows();
    let away = Polytope::new(rows, &[0.5, -0.01, 0.1, 0.1]).unwrap();
    refused(CoordinatorParams { polytope: away, ..good.clone() }, "rows [1]");
    let touching = Polytope::new(rows, &[0.5, 0.0, 0.1, 0.1]).unwrap();
    refused(
        CoordinatorParams { polytope: touching.clone(), exploration: 9, ..good.clone() },
        "exploration",
    );
    // Without exploration a wall through the origin is allowed; no agent is moved against it.
    let mut coordinator =
        CoordinatorParams { polytope: touching, ..good }.check().unwrap().start(Seeded(2));
    assert!(coordinator.decide().unwrap().actions[0].iter().all(|&x| x.abs() < 1e-9));
}

#[test]
fn the_certificate_is_the_weakest_agents_and_grows_with_answers() {
    let plan = params(0, 2.0).check().unwrap();
    let once = plan.guarantee().unwrap().unwrap();
    assert!((once.epsilon() - 2.0).abs() < 1e-6);
    assert!(plan.guarantee_of(10_000).unwrap().unwrap().epsilon() > 500.0);
    let mut mixed = params(0, 2.0);
    // At its own delta of 0.1 agent 1 looks best; at the smallest delta of all it is by far the worst.
    mixed.agents[1].privacy = ResponsePrivacy::Budget { epsilon: 1.9, delta: 0.1, responses: None };
    let weakest = mixed.check().unwrap().guarantee().unwrap().unwrap();
    assert!(weakest.delta() == 1e-5 && weakest.epsilon() > 5.0, "{}", weakest.epsilon());
    mixed.agents[1].privacy = ResponsePrivacy::None;
    assert!(mixed.check().unwrap().guarantee().unwrap().is_none());
}
