use super::*;
use crate::{privacy::Claim, release::testing::Seeded};

fn params(privacy: ResponsePrivacy) -> AgentParams {
    AgentParams {
        dimension: 3,
        parameter_bound: 0.5,
        action_bound: 2.0,
        response_noise: 0.001,
        lower: -0.25,
        upper: 0.75,
        privacy,
    }
}

fn budget(epsilon: f64, delta: f64, responses: Option<u64>) -> AgentParams {
    params(ResponsePrivacy::Budget { epsilon, delta, responses })
}

#[test]
fn what_is_requested_is_what_holds_for_one_answer_and_for_many() {
    let plan = budget(2.0, 1e-5, None).check().unwrap();
    assert!((plan.deviation() - 1.99381).abs() < 1e-5, "{}", plan.deviation());
    let once = plan.guarantee().unwrap().unwrap();
    assert!((once.epsilon() - 2.0).abs() < 1e-7 && once.epsilon() <= 2.0);
    // Answering every round is another matter, and the certificate says so.
    let person = plan.guarantee_of(30_000).unwrap().unwrap();
    assert!(person.epsilon() > 1000.0, "{}", person.epsilon());
    let plan = budget(2.0, 1e-5, Some(400)).check().unwrap();
    let person = plan.guarantee_of(400).unwrap().unwrap();
    assert!((person.epsilon() - 2.0).abs() < 1e-7 && person.epsilon() <= 2.0);
    assert!((plan.deviation() - 20.0 * 1.99381).abs() < 2e-2);
}

/// Noise of this deviation, claimed to be (2, 0.9).
fn given(sigma: f64, delta: f64) -> AgentParams {
    let claim = Some(Claim::new(2.0, 0.9, "a publication"));
    params(ResponsePrivacy::Sigma { sigma, delta, claim })
}

#[test]
fn given_noise_is_shown_with_what_it_gives() {
    // The classic formula at (2, 0.9) for sensitivity 1, whole and halved.
    for (sigma, true_delta, holds) in [(0.40526, 0.513, true), (0.20263, 0.9654, false)] {
        let plan = given(sigma, 1e-5).check().unwrap();
        assert!((plan.deviation() / sigma - 1.0).abs() < 1e-9);
        let guarantee = plan.guarantee().unwrap().unwrap();
        let claim = guarantee.claimed().unwrap();
        assert!((claim.true_delta - true_delta).abs() < 1e-3, "{}", claim.true_delta);
        assert_eq!((claim.holds(), guarantee.delta()), (holds, 1e-5));
    }
    assert_eq!(given(1.0, 0.5).check().unwrap().guarantee().unwrap().unwrap().delta(), 0.5);
    for bad in [
        given(0.0, 1e-5),
        given(f64::NAN, 1e-5),
        given(1.0, 0.0),
        params(ResponsePrivacy::Sigma { sigma: 1.0, delta: 0.5, claim: None }),
    ] {
        assert!(bad.check().is_err(), "{bad:?}");
    }
}

#[test]
fn an_agent_counts_what_it_clips() {
    for privacy in [ResponsePrivacy::None, budget(1.0, 1e-6, None).privacy] {
        let mut agent = params(privacy).check().unwrap().start(4, Seeded(1));
        let report = agent.report(Ticket::first(), 1e9).unwrap();
        assert_eq!((report.agent, agent.answered(), agent.clipped()), (4, 1, 1));
        assert!((report.value.value() - 0.75).abs() <= 33.0 * agent.plan().deviation());
        agent.report(Ticket::first(), 0.75).unwrap();
        assert_eq!((agent.answered(), agent.clipped()), (2, 1));
    }
}

#[test]
fn a_budget_for_so_many_answers_ends_after_them() {
    let mut agent = budget(1.0, 1e-6, Some(2)).check().unwrap().start(0, Seeded(1));
    agent.report(Ticket::first(), 0.1).unwrap();
    agent.report(Ticket::first(), 0.1).unwrap();
    let before = agent.save();
    assert!(agent.report(Ticket::first(), 0.1).is_err());
    assert!(agent.report(Ticket::first(), f64::NAN).is_err());
    assert_eq!(agent.save(), before);
}

#[test]
fn a_resumed_agent_goes_on_and_an_old_one_is_refused() {
    let mut agent = budget(1.0, 1e-6, None).check().unwrap().start(0, Seeded(9));
    agent.report(Ticket::first(), 0.2).unwrap();
    let bytes = agent.save();
    let mut resumed = Agent::<Seeded>::resume(&bytes, 1).unwrap();
    let next = agent.report(Ticket::first(), 0.3).unwrap();
    assert_eq!(resumed.report(Ticket::first(), 0.3).unwrap(), next);
    assert!(Agent::<Seeded>::resume(&bytes, 2).is_err());
    assert!(Agent::<Seeded>::resume(&bytes[..bytes.len() - 1], 1).is_err());
}

/// A plan read from a file is the plan of its parameters: nothing that a file could say takes the noise away.
#[test]
fn a_plan_that_is_read_is_checked_again() {
    let plan = budget(2.0, 1e-5, None).check().unwrap();
    let text = serde_json::to_string(&plan).unwrap();
    assert_eq!(serde_json::from_str::<AgentPlan>(&text).unwrap(), plan);
    assert!(!text.contains("randomizer"), "{text}");
    let silenced = text.replace('{', "{\"randomizer\":null,");
    assert!(serde_json::from_str::<AgentPlan>(&silenced).is_err());
    assert!(serde_json::from_str::<AgentPlan>(&text.replace("0.75", "-0.75")).is_err());
}

#[test]
fn a_guarantee_says_what_it_rests_on() {
    let mut agent = budget(1.0, 1e-6, None).check().unwrap().start(0, Seeded(3));
    assert!(agent.guarantee_so_far().unwrap().is_none());
    agent.report(Ticket::first(), 0.1).unwrap();
    let guarantee = agent.guarantee_so_far().unwrap().unwrap();
    // Seeded noise protects no person, and says so.
    assert!(guarantee.warnings().iter().any(|warning| warning.contains("simulation")));
    for words in ["resumed", "does not depend on the response", "clipped"] {
        assert!(guarantee.conditions().iter().any(|c| c.contains(words)), "{words}");
    }
    // The state names its noise.
    assert!(wire::load_on::<State<Seeded>>(wire::kinds::AGENT, "another", &agent.save()).is_err());
    // A claim about one response is not measured by many.
    let plan = given(1.0, 1e-5).check().unwrap();
    assert!(plan.guarantee().unwrap().unwrap().claimed().is_some());
    assert!(plan.guarantee_of(100).unwrap().unwrap().claimed().is_none());
}

#[test]
fn bad_parameters_are_refused() {
    let good = budget(1.0, 1e-6, None);
    assert!(AgentParams { lower: 0.75, ..good.clone() }.check().is_err());
    assert!(AgentParams { lower: f64::NAN, ..good.clone() }.check().is_err());
    assert!(AgentParams { dimension: 0, ..good.clone() }.check().is_err());
    assert!(AgentParams { parameter_bound: 0.0, ..good.clone() }.check().is_err());
    for enormous in [1e101, 1e-101, 1e308] {
        assert!(AgentParams { parameter_bound: enormous, ..good.clone() }.check().is_err());
        assert!(AgentParams { action_bound: enormous, ..good.clone() }.check().is_err());
    }
    assert!(AgentParams { upper: 1e200, ..good.clone() }.check().is_err());
    assert!(AgentParams { response_noise: -1.0, ..good.clone() }.check().is_err());
    for (epsilon, delta) in [(0.0, 1e-6), (-1.0, 1e-6), (1.0, 0.0), (1.0, 1.0), (f64::NAN, 0.1)] {
        assert!(budget(epsilon, delta, None).check().is_err());
    }
    assert!(budget(1.0, 1e-6, Some(0)).check().is_err());
    let silent = params(ResponsePrivacy::None).check().unwrap();
    assert!(silent.guarantee().unwrap().is_none() && silent.deviation() == 0.0);
}
