//! Messages and saved states as this library writes them: seeds of the fuzzer, and golden files (`golden`).

use reticent::{
    bandit::{
        Aggregation, Anytime, AnytimeParams, Arms, Batch, Combiner, CombinerParams, Curator,
        Decision, Episodes, EpisodesParams, JointLinUcb, JointParams, Legacy, LinUcb, LinUcbParams,
        LocalParams, LocalPlan, Model, OnlineLinUcb, OnlineLinUcbParams, OnlineUcb,
        OnlineUcbParams, OpenDecisions, RewardWindow, Rule, Server, ShuffleParams, ShuffleServer,
        Shuffler,
    },
    convex::{DoublingBandit, PrivateBandit, PrivateBanditParams, Protection, oracle},
    features::{FeaturesParams, Value},
    noise::Noise,
    online::{
        BallLearner, GradientDescent, GradientDescentParams, LinearModel, Loss, Maler, MalerParams,
        Method, OnlineLearner, OnlineParams, Prior, Step,
    },
    privacy::{Event, Guarantee, TrustModel},
    randomize::{Bounds, FeatureRewardParams, Gradient, Levels, Report, ReportParams, Spent},
    release::{
        Calibration, ContributionSums, Domain, PrivateSum, PrivateSumParams, Release, Schedule,
        Structure,
    },
    safe::{
        Agent, AgentParams, AgentReport, Coordinator, CoordinatorParams, Objective,
        ResponsePrivacy, Simplex,
    },
    wire::{Message, from_json, to_json},
};
use reticent_device::{Choice, Device, Ledger, Limits, Period, ProtocolParams, ProtocolPlan};

use crate::FastNoise;

/// A pair of OnlineUCB's people.
pub(super) const PAIR: [f64; 3] = [0.1, -0.2, 0.3];

pub(super) fn seeded() -> FastNoise {
    FastNoise::seeded(1)
}

pub(super) fn two_arms() -> Arms {
    Arms::from_rows(2, &[[1.0, 0.0], [0.0, 1.0]]).expect("two arms")
}

pub(super) fn arms_of_blocks() -> Arms {
    Arms::in_blocks(2, &[(0, [1.0, 0.0]), (25, [0.6, -0.8])]).expect("two arms")
}

pub(super) fn local() -> LocalParams {
    LocalParams::new(Bounds::unit(2), 2.0, 1e-5)
}

pub(super) fn shuffled(aggregation: Aggregation) -> ShuffleParams {
    ShuffleParams::new(Bounds::unit(2), 2.0, 1e-5, 3, aggregation)
}

pub(super) fn report(plan: &LocalPlan, model: &Model, seed: u64) -> Report {
    let mut person = plan.person(0, FastNoise::seeded(seed)).expect("level 0");
    person.report(model, &[0.6, 0.8], 0.5).expect("a valid report")
}

/// A local server that has counted a report.
pub(super) fn server() -> Server {
    let plan = local().check().expect("sound");
    let mut server = plan.server();
    let model = server.publish().expect("a first model");
    server.absorb(&report(&plan, &model, 1)).expect("counted");
    server
}

pub(super) fn model() -> Model {
    server().publish().expect("a model")
}

pub(super) fn spent() -> Spent {
    let plan = local().check().expect("sound");
    let mut person = plan.person(0, seeded()).expect("level 0");
    person.report(&model(), &[0.6, 0.8], 0.5).expect("a sound report");
    person.spent().clone()
}

pub(super) fn batch(aggregation: Aggregation) -> Batch {
    let plan = shuffled(aggregation).check().expect("sound");
    let model = plan.server().publish().expect("a model");
    let mut shuffler = plan.shuffler(seeded()).expect("a shuffler");
    (0..3)
        .find_map(|seed| shuffler.absorb(&report(plan.local(), &model, seed)).expect("taken"))
        .expect("three make a batch")
}

/// A shuffler in which a report waits.
pub(super) fn shuffler<N: Noise>(noise: N) -> Shuffler<N> {
    let plan = shuffled(Aggregation::Permute).check().expect("sound");
    let model = plan.server().publish().expect("a model");
    let mut shuffler = plan.shuffler(noise).expect("a shuffler");
    shuffler.absorb(&report(plan.local(), &model, 1)).expect("taken");
    shuffler
}

pub(super) fn sums() -> PrivateSumParams {
    PrivateSumParams {
        schedule: Schedule::EveryRound,
        ..PrivateSumParams::new(
            Domain::regression(2, 1.0, 1.0),
            Some(16),
            Calibration::Budget { epsilon: 1.0, delta: 1e-5 },
        )
    }
}

/// A sum that has released.
pub(super) fn private_sum<N: Noise>(noise: N) -> PrivateSum<N> {
    let mut sum = sums().check().expect("sound").start(noise);
    let contribution = sum.clip_with_reward(&[0.6, 0.8], 0.5).expect("clipped");
    sum.absorb(&contribution).expect("absorbed");
    sum
}

pub(super) fn contribution_sums() -> ContributionSums {
    let plan = sums().check().expect("sound");
    let mut sums = ContributionSums::new(plan.clipper().clone());
    let contribution = plan.clipper().clip_with_reward(&[0.6, 0.8], -0.5).expect("clipped");
    sums.add(&contribution).expect("added");
    sums
}

pub(super) fn joint_params() -> JointParams {
    JointParams {
        schedule: Schedule::EveryRound,
        ..JointParams::new(Bounds::unit(2), 1.0, 1e-5, Some(16))
    }
}

/// A learner that has released, and its last decision.
pub(super) fn joint<N: Noise>(noise: N) -> JointLinUcb<N> {
    let mut learner = joint_params().check().expect("sound").start(noise);
    let decision = learner.decide(&two_arms()).expect("an arm");
    learner.observe(decision.ticket, 0.5).expect("learnt");
    learner
}

pub(super) fn curator<N: Noise>(noise: N) -> Curator<N> {
    let bounds = Bounds { structure: Structure { blocks: 2, shared: 1 }, ..Bounds::unit(2) };
    let params = JointParams { bounds, rule: Rule::THOMPSON, ..joint_params() };
    let mut curator = params.check().expect("sound").curator(noise);
    curator.observe_in_block(1, &[0.6, 0.8], 0.5).expect("learnt");
    curator
}

/// A learner whose sums are merged, after a release.
pub(super) fn merged_curator<N: Noise>(noise: N) -> Curator<N> {
    let mut features = grouped_features();
    features.weight.insert("constant".into(), 0.25);
    let plan = features.check().expect("a rule");
    let rule = Rule::TWO_LEVEL.with_levels(|| plan.levels()).expect("it has levels");
    let bounds = Bounds { intercept: plan.constant(), ..Bounds::unit(plan.dimension()) };
    let params = JointParams { bounds, rule, ..joint_params() };
    let mut curator = params.check().expect("sound").curator(noise);
    let action = Value::from_iter([("topic", "sport")]);
    let row = plan.rows_alone(&Value::from_iter([("device", "phone")]), &[action]).remove(0);
    curator.observe(&row, 0.5).expect("learnt");
    curator
}

/// A learner of fixed actions, in the middle of its second episode.
pub(super) fn episodes<N: Noise>(noise: N) -> Episodes<N> {
    let params = EpisodesParams::new(vec![vec![1.0, 0.0], vec![0.6, 0.8]], 1.0, 1e-6);
    let mut learner = params.check().expect("sound").start(noise);
    while learner.releases() == 0 {
        let decision = learner.decide().expect("an arm");
        learner.observe(decision.number, 0.75).expect("learnt");
    }
    learner.decide().expect("an arm");
    learner
}

/// A learner with a window, in the middle of its first decisions.
pub(super) fn joint_with_open<N: Noise>(noise: N) -> JointLinUcb<N> {
    let params = JointParams { window: Some(RewardWindow::Decisions(2)), ..joint_params() };
    let mut learner = params.check().expect("sound").start(noise);
    for reward in [0.5, -0.5, 0.1] {
        let decision = learner.decide(&two_arms()).expect("an arm");
        learner.observe(decision.ticket, reward).expect("kept");
    }
    learner
}

pub(super) fn legacy() -> Legacy {
    joint_with_open(seeded()).legacy().expect("it has released")
}

/// A decision that was drawn.
pub(super) fn decision() -> Decision {
    let params = JointParams { rule: Rule::THOMPSON, ..joint_params() };
    let mut learner = params.check().expect("sound").start(seeded());
    learner.decide(&two_arms()).expect("an arm")
}

/// Without tags from the system, so that the bytes are the same in every build.
pub(super) fn open_decisions() -> OpenDecisions<i32> {
    let mut open = OpenDecisions::new(2);
    let saved = joint_with_open(seeded()).save_with_open();
    let magic = saved.windows(8).rposition(|bytes| bytes == b"RETICENT").expect("nested states");
    // The open decisions are the last part of the state, before its checksum.
    open.restore(&saved[magic..saved.len() - 8], u64::MAX).expect("the open decisions");
    open
}

pub(super) fn linucb() -> LinUcb {
    let mut learner = LinUcbParams::new(Bounds::unit(2)).check().expect("sound");
    let arm = learner.choose(&two_arms(), 0).expect("an arm").arm;
    learner.observe(&two_arms().arm(arm), 0.5).expect("learnt");
    learner
}

pub(super) fn online_ucb_params() -> OnlineUcbParams {
    OnlineUcbParams::new(FeatureRewardParams::new(Bounds::unit(2), 2.0, 1e-5), 32)
}

pub(super) fn online_ucb() -> OnlineUcb {
    let mut ucb = online_ucb_params().check().expect("sound");
    ucb.absorb(&PAIR).expect("learnt");
    ucb
}

/// One event of every form that an accountant stores: plain, repeated, composed.
pub(super) fn events() -> Vec<Event> {
    let gaussian = Event::Gaussian { sensitivity: 1.0, sigma: 4.0 };
    let laplace = Event::Laplace { sensitivity: 1.0, scale: 2.5 };
    let repeated = Event::Repeated { event: Box::new(gaussian.clone()), times: 30 };
    vec![gaussian.clone(), repeated, Event::Composed { events: vec![gaussian, laplace] }]
}

pub(super) fn anytime() -> Anytime {
    AnytimeParams::new(online_ucb_params()).check().expect("sound")
}

pub(super) fn combiner() -> Combiner {
    CombinerParams::new(online_ucb_params()).check().expect("sound")
}

pub(super) fn online_linucb() -> OnlineLinUcb {
    let mut learner = OnlineLinUcbParams::new(Bounds::unit(2), 32).check().expect("sound");
    learner.observe(&[0.6, 0.8], 0.5).expect("learnt");
    learner
}

pub(super) fn online_learner() -> OnlineLearner {
    let method = Method::Coordinatewise { prior: Prior::Improper };
    let params = OnlineParams { dimension: 2, gradient_bound: 1.0, method };
    let mut learner = params.check().expect("sound").start();
    let _ = learner.absorb(Gradient::from(&[0.1, -0.2])).expect("learnt");
    learner
}

pub(super) fn linear_model() -> LinearModel {
    let mut model = LinearModel::new(online_learner(), Loss::Logistic);
    model.observe(&[0.6, -0.8], 1.0).expect("learnt");
    model
}

pub(super) fn gradient_descent() -> GradientDescent {
    let params = GradientDescentParams { dimension: 2, radius: 1.0, step: Step::Constant(0.1) };
    let mut learner = params.check().expect("sound");
    learner.absorb(&[0.1, -0.2]).expect("learnt");
    learner
}

pub(super) fn maler() -> Maler {
    let mut learner = MalerParams::new(2, 1.0, 1.0, 16).check().expect("sound");
    learner.absorb(&[0.1, -0.2]).expect("learnt");
    learner
}

pub(super) fn coordinator<N: Noise>(noise: N) -> Coordinator<N> {
    let polytope = Simplex::new(&[1.0, 0.5]).and_then(|s| s.polytope()).expect("a simplex");
    let privacy = ResponsePrivacy::Budget { epsilon: 2.0, delta: 1e-5, responses: None };
    let agent = |axis| AgentParams::on_axis(&polytope, axis, 2, (1.0, 2.0, 0.01), privacy.clone());
    let agents = (0..2).map(agent).collect::<Result<Vec<_>, _>>().expect("two agents");
    let objective = Objective::Linear { weights: vec![1.0, 1.0] };
    let params = CoordinatorParams::new(polytope, objective, agents);
    params.check().expect("sound").start(noise)
}

/// An agent that has answered a coordinator, both, and the answer.
pub(super) fn answered<N: Noise>(noise: N, own: N) -> (Coordinator<N>, Agent<N>, AgentReport) {
    let mut coordinator = coordinator(noise);
    let decision = coordinator.decide().expect("actions");
    let mut agent = coordinator.agents()[0].start(0, own);
    let report = agent.report(decision.ticket, 0.1).expect("an answer");
    coordinator.absorb(&report).expect("learnt");
    (coordinator, agent, report)
}

pub(super) type Set = reticent::convex::DecisionSet<oracle::Simplex>;

pub(super) fn set() -> Set {
    oracle::Simplex::set(3).expect("a simplex")
}

fn bandit_params() -> PrivateBanditParams {
    PrivateBanditParams::new(1.0, 64, Protection::central(1.0, 1e-5))
}

pub(super) fn private_bandit<N: Noise>(noise: N) -> PrivateBandit<oracle::Simplex, N> {
    let mut bandit = bandit_params().check(set()).expect("sound").start(noise).expect("started");
    let decision = bandit.decide().expect("a point");
    bandit.observe(decision.ticket, 0.5).expect("learnt");
    bandit
}

pub(super) fn doubling_bandit<N: Noise>(noise: N) -> DoublingBandit<oracle::Simplex, N> {
    DoublingBandit::start(bandit_params(), set(), noise).expect("started")
}

pub(super) fn release() -> Release {
    joint(seeded()).release().expect("it has released").clone()
}

/// A rule with every kind of feature.
pub(super) fn features() -> FeaturesParams {
    let text = r#"{"context": {"age": {"range": [18, 80]}}, "action": {"topic": {"categories": ["news", "sport"]},
        "word": {"hash": {"buckets": 8}}}, "cross": {"with": [["age", "topic"]]}, "projection": {"dimension": 9, "seed": 7}}"#;
    serde_json::from_str(text).expect("a rule")
}

/// A release with merged sums.
pub(super) fn merged_release() -> Release {
    merged_curator(seeded()).release().expect("it has released").clone()
}

/// A rule whose parts are weighted by groups.
pub(super) fn grouped_features() -> FeaturesParams {
    let text = r#"{"context": {"device": {"categories": ["phone", "computer"]}}, "action": {"topic": {"categories": ["news", "sport"]}},
        "cross": {"with": [["device", "topic"]]}, "weighting": "groups"}"#;
    serde_json::from_str(text).expect("a rule")
}

/// A protocol with a period longer than a double counts, and levels to choose from.
pub(super) fn protocol() -> ProtocolPlan {
    let params = ProtocolParams::new("home", features(), (0.0, 1.0), 1.0, 1e-6).expect("a rule");
    let report = ReportParams {
        levels: Levels::Public(vec![1.0, 4.0]),
        contributions_per_person: 10,
        ..params.report
    };
    let period = Period::Seconds((1 << 60) + 1);
    ProtocolParams { report, period, ..params }.check().expect("sound")
}

/// A choice and the ledger after its report.
pub(super) fn reported() -> (Choice, Ledger) {
    let protocol = protocol();
    let report = protocol.params().report.clone();
    let mut server = protocol.local(&report.into()).expect("the protocol's own").server();
    let mut device =
        Device::new(protocol.clone(), Limits::of("home"), 1, seeded()).expect("level 1");
    device.set_model(server.publish().expect("a model")).expect("of this protocol");
    let choice = device.choose(&Value::Missing, &[Value::Missing]).expect("chosen");
    let now = 1_700_000_000;
    let (_, ledger) =
        device.report(&Ledger::new(&protocol, now), now, &choice, 0.5).expect("reported");
    (choice, ledger)
}

/// A guarantee for more visits than a double counts.
pub(super) fn guarantee() -> Guarantee {
    let event = Event::Gaussian { sensitivity: 1.0, sigma: 4e9 };
    let visits = (1 << 60) + 1;
    Guarantee::of_person(&event, visits, TrustModel::Joint, 1e-6).expect("priced")
}

/// The same message with another text in place of a part of it: for counts that take long to reach.
pub(super) fn edited<M: Message + serde::de::DeserializeOwned>(
    message: &M,
    from: &str,
    to: &str,
) -> M {
    let text = to_json(message);
    assert!(text.contains(from), "{from} in {text}");
    from_json(text.replacen(from, to, 1)).expect("a message")
}

/// A server behind a shuffler that has taken a batch.
pub(super) fn shuffle_server() -> ShuffleServer {
    let mut server = shuffled(Aggregation::Permute).check().expect("sound").server();
    server.publish().expect("a model");
    server.absorb(&batch(Aggregation::Permute)).expect("counted");
    server
}
