use super::*;
use crate::release::testing::Seeded;

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

#[test]
fn the_papers_noise_is_shown_with_what_it_gives() {
    let published = |epsilon: f64, level: f64| {
        let privacy = ResponsePrivacy::Published { epsilon, delta: 0.9, sensitivity: 1.0, level };
        params(privacy).check().unwrap().guarantee().unwrap().unwrap()
    };
    let guarantee = published(2.0, 1.0);
    let claim = guarantee.claimed().unwrap();
    assert!((claim.true_delta - 0.513).abs() < 1e-3, "{}", claim.true_delta);
    assert!((guarantee.epsilon() - 13.0).abs() < 0.05, "{}", guarantee.epsilon());
    assert!(claim.holds());
    // eps_m = eps / alpha_m breaks even delta = 0.9.
    for (level, delta) in [(0.5, 0.923), (0.25, 0.99997)] {
        let claim = published(2.0, level).claimed().unwrap().clone();
        assert!((claim.true_delta - delta).abs() < 6e-4, "{}", claim.true_delta);
        assert!(!claim.holds());
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
    // Seeded noise protects nobody, and says so.
    assert!(guarantee.warnings().iter().any(|warning| warning.contains("simulation")));
    for words in ["resumed", "does not depend on the response", "clipped"] {
        assert!(guarantee.conditions().iter().any(|c| c.contains(words)), "{words}");
    }
    // The state names its noise.
    assert!(wire::load::<State<Seeded>>("safe agent on another", &agent.save()).is_err());
    // A claim about one response is not measured by many.
    let privacy =
        ResponsePrivacy::Published { epsilon: 2.0, delta: 0.9, sensitivity: 1.0, level: 1.0 };
    let plan = params(privacy).check().unwrap();
    assert!(plan.guarantee().unwrap().unwrap().claimed().is_some());
    assert!(plan.guarantee_of(100).unwrap().unwrap().claimed().is_none());
}

#[test]
fn bad_parameters_are_refused() {
    let good = budget(1.0, 1e-6, None);
    assert!(AgentParams { lower: 0.75, ..good }.check().is_err());
    assert!(AgentParams { lower: f64::NAN, ..good }.check().is_err());
    assert!(AgentParams { dimension: 0, ..good }.check().is_err());
    assert!(AgentParams { parameter_bound: 0.0, ..good }.check().is_err());
    for enormous in [1e101, 1e-101, 1e308] {
        assert!(AgentParams { parameter_bound: enormous, ..good }.check().is_err());
        assert!(AgentParams { action_bound: enormous, ..good }.check().is_err());
    }
    assert!(AgentParams { upper: 1e200, ..good }.check().is_err());
    assert!(AgentParams { response_noise: -1.0, ..good }.check().is_err());
    for (epsilon, delta) in [(0.0, 1e-6), (-1.0, 1e-6), (1.0, 0.0), (1.0, 1.0), (f64::NAN, 0.1)] {
        assert!(budget(epsilon, delta, None).check().is_err());
    }
    assert!(budget(1.0, 1e-6, Some(0)).check().is_err());
    let silent = params(ResponsePrivacy::None).check().unwrap();
    assert!(silent.guarantee().unwrap().is_none() && silent.deviation() == 0.0);
}
