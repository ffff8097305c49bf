//! One experiment three ways: as a file, with core alone, and in Python (`crates/python/tests/test_three_ways.py`). Each makes the decisions in
//! `vectors/decisions`, which `RETICENT_WRITE_VECTORS=1` writes anew.

use std::path::PathBuf;

use reticent::{
    bandit::{
        Aggregation, AnytimeParams, CombinerParams, JointParams, LearnerParams, LinUcbParams,
        LocalParams, Model, OnlineLinUcbParams, OnlineUcbParams, Policy, RewardWindow, Rule,
        ShuffleParams, Width,
    },
    noise::Noise,
    online::Step,
    randomize::{Bounds, FeatureReward, FeatureRewardParams},
};

use super::{
    INFORMED_RULE,
    local::{EAGER, EVERY},
    trial_seeds,
};
use crate::{
    Experiment, FastNoise,
    environment::{Environment, Sphere, SphereParams},
};

const ROUNDS: u64 = 600;
const SEED: u64 = 3;
const DELTA: f64 = 1e-5;

/// One algorithm of a file, with the lines that differ.
struct Case {
    kind: &'static str,
    name: &'static str,
    lines: &'static str,
    epsilon: f64,
}

const fn case(kind: &'static str, name: &'static str, lines: &'static str, epsilon: f64) -> Case {
    Case { kind, name, lines, epsilon }
}

const CASES: [Case; 16] = [
    case("joint", "tuned", "rule = \"tuned\"", 8.0),
    case("joint", "certified", "rule = \"certified\"", 8.0),
    case("joint", "window", "rule = \"tuned\"\nwindow = 40", 8.0),
    case("joint", "thompson", "rule = \"thompson\"", 8.0),
    case("linucb", "tuned", "rule = \"tuned\"", 0.0),
    case("linucb", "certified", "rule = \"certified\"", 0.0),
    case("linucb", "thompson", "rule = \"thompson\"", 0.0),
    case("local", "tuned", "rule = \"tuned\"", 8.0),
    case("local", "certified", "rule = \"certified\"\nmethod = \"gram_gaussian\"", 8.0),
    // The batch is the one that suits budget and rounds.
    case("shuffle", "tuned", "rule = \"tuned\"", 1.0),
    case("online_ucb", "maler", "", 20.0),
    case("online_ucb", "descent", "learner = \"gradient_descent\"\nstep = 0.01\nwidth = 2.0", 20.0),
    case("anytime", "maler", "width = 1.0", 20.0),
    case("combiner", "maler", "exp_concave = false\ngradient_bound = 9.0", 20.0),
    case("online_linucb", "maler", "", 0.0),
    case("online_linucb", "descent", "learner = \"gradient_descent\"\nwidth = 1.5", 0.0),
];

impl Case {
    fn label(&self) -> String {
        format!("{}_{}", self.kind, self.name)
    }

    /// The experiment, and its decisions by the laboratory.
    fn by_file(&self) -> (Experiment, Vec<usize>) {
        let label = self.label();
        let folder = format!("reticent-three-{}-{label}", std::process::id());
        let log = std::env::temp_dir().join(folder);
        let Case { kind, lines, epsilon, .. } = self;
        let privacy = match kind {
            &"linucb" | &"online_linucb" => String::new(),
            _ => format!("privacy = {{ epsilon = {epsilon:?}, delta = {DELTA:?} }}"),
        };
        let experiment = Experiment::parse(&format!(
            "name = \"one bandit\"\nrounds = {ROUNDS}\nseed = {SEED}\n\
             [environment]\nkind = \"sphere\"\ndimension = 4\narms = 8\nfresh_arms = true\n\
             [[algorithm]]\nkind = \"{kind}\"\nname = \"it\"\nlog = {log:?}\n{lines}\n{privacy}"
        ))
        .unwrap();
        experiment.algorithms()[0].trial(SEED, 0, &[ROUNDS]).unwrap();
        let text = std::fs::read_to_string(log.join("trial-0.csv")).unwrap();
        std::fs::remove_dir_all(&log).unwrap();
        let action = |line: &str| line.split(',').next().unwrap().parse().unwrap();
        (experiment, text.lines().skip(1).map(action).collect())
    }

    /// The decisions of core's learner, stepped by hand as a program does that deploys it.
    fn by_core(&self, rule: Rule) -> Vec<usize> {
        let intercept = Some(0.5_f64.sqrt());
        let bounds = Bounds { rewards: (0.0, 1.0), intercept, unit_arms: true, ..Bounds::unit(4) };
        let (people, seed) = trial_seeds(SEED, 0, "it");
        let sphere = SphereParams { dimension: 4, arms: 8, fresh_arms: true, norm: 1.0 };
        let mut environment = sphere.start(people).unwrap();
        // The laboratory skips the first set too.
        environment.arms();
        match self.kind {
            "joint" => self.joint(bounds, rule, seed, &mut environment),
            "linucb" => linucb(bounds, rule, seed, &mut environment),
            "local" => self.local(bounds, rule, seed, &mut environment),
            "shuffle" => self.shuffle(bounds, rule, seed, &mut environment),
            "online_linucb" => self.online_linucb(&mut environment),
            _ => self.online_ucb(seed, &mut environment),
        }
    }

    /// Tells whether a rule makes decisions of sums: the others have an online learner.
    fn has_rule(&self) -> bool {
        ["joint", "linucb", "local", "shuffle"].contains(&self.kind)
    }

    fn online_ucb(&self, seed: u64, environment: &mut Sphere) -> Vec<usize> {
        let bounds = Bounds { rewards: (0.0, 1.0), ..Bounds::unit(4) };
        let randomizer = FeatureRewardParams::new(bounds, self.epsilon, DELTA);
        let mut params = OnlineUcbParams::new(randomizer, ROUNDS);
        match (self.kind, self.name) {
            ("online_ucb", "descent") => {
                params.learner = LearnerParams::GradientDescent { step: Step::Constant(0.01) };
                params.width = Width::Constant(2.0);
            }
            ("anytime", _) => params.width = Width::Constant(1.0),
            ("combiner", _) => {
                params.learner = LearnerParams::Maler { gradient_bound: 9.0, exp_concave: false };
            }
            _ => {}
        }
        let mut noise = FastNoise::seeded(seed);
        match self.kind {
            "anytime" => {
                let mut server = AnytimeParams::new(params).check().unwrap();
                let round = |number| {
                    let people = (server.policy(), server.randomizer());
                    let (arm, report) = sent(people, number, &mut noise, environment);
                    server.absorb(&report).unwrap();
                    arm
                };
                (1..=ROUNDS).map(round).collect()
            }
            "combiner" => {
                let mut server = CombinerParams::new(params).check().unwrap();
                let round = |number| {
                    let (base, people) = (server.current(), (server.policy(), server.randomizer()));
                    let (arm, report) = sent(people, number, &mut noise, environment);
                    server.absorb(base, &report).unwrap();
                    arm
                };
                (1..=ROUNDS).map(round).collect()
            }
            _ => {
                let mut server = params.check().unwrap();
                let round = |number| {
                    let people = (server.policy(), server.randomizer());
                    let (arm, report) = sent(people, number, &mut noise, environment);
                    server.absorb(&report).unwrap();
                    arm
                };
                (1..=ROUNDS).map(round).collect()
            }
        }
    }

    fn online_linucb(&self, environment: &mut Sphere) -> Vec<usize> {
        let known = known_problem();
        let descends = self.name == "descent";
        let params = OnlineLinUcbParams {
            parameter_bound: known.parameter_bound,
            reward_noise: known.reward_noise,
            failure_probability: 1.0 / ROUNDS as f64,
            // |theta| over the steepest gradient, 2 |x| (|mean| + |reward|).
            descent: descends.then_some(Step::InverseRoot(known.parameter_bound / 4.0)),
            width: descends.then_some(1.5),
            ..OnlineLinUcbParams::new(known.bounds, ROUNDS)
        };
        let mut learner = params.check().unwrap();
        let round = |_| {
            let arms = environment.arms();
            let arm = learner.choose(arms).unwrap().arm;
            let features = arms.arm(arm);
            learner.observe(&features, environment.reward(arm)).unwrap();
            arm
        };
        (0..ROUNDS).map(round).collect()
    }

    fn joint(&self, bounds: Bounds, rule: Rule, seed: u64, environment: &mut Sphere) -> Vec<usize> {
        let window = (self.name == "window").then_some(RewardWindow::Decisions(40));
        let defaults = JointParams::new(bounds, self.epsilon, DELTA, Some(ROUNDS));
        let params = JointParams { rule, window, ..defaults };
        let mut bandit = params.check().unwrap().start(FastNoise::seeded(seed));
        let round = |_| {
            let decision = bandit.decide(environment.arms()).unwrap();
            bandit.observe(decision.ticket, environment.reward(decision.arm)).unwrap();
            decision.arm
        };
        (0..ROUNDS).map(round).collect()
    }

    fn local(&self, bounds: Bounds, rule: Rule, seed: u64, environment: &mut Sphere) -> Vec<usize> {
        let mut params = LocalParams { rule, ..LocalParams::new(bounds, self.epsilon, DELTA) };
        if self.name == "certified" {
            params.report.method = serde_json::from_str("\"gram_gaussian\"").unwrap();
        }
        let plan = params.check().unwrap();
        let (mut server, mut noise) = (plan.server(), FastNoise::seeded(seed));
        let mut model = server.publish().unwrap();
        let round = |_| {
            // Which level a person brings is drawn, where there is one too.
            noise.uniform();
            let person = plan.person(0, FastNoise::seeded(noise.bits())).unwrap();
            let (arm, report) = answered(person, &model, environment);
            server.absorb(&report).unwrap();
            if server.reports() <= EAGER || server.reports().is_multiple_of(EVERY) {
                model = server.publish().unwrap();
            }
            arm
        };
        (0..ROUNDS).map(round).collect()
    }

    fn shuffle(
        &self,
        bounds: Bounds,
        rule: Rule,
        seed: u64,
        environment: &mut Sphere,
    ) -> Vec<usize> {
        let batch = ShuffleParams::suited_batch(4, self.epsilon, ROUNDS);
        assert_eq!(batch, 37);
        let params = ShuffleParams::new(bounds, self.epsilon, DELTA, batch, Aggregation::Sum);
        let aggregation = params.suited_aggregation().unwrap();
        let plan = ShuffleParams { rule, aggregation, ..params }.check().unwrap();
        let mut noise = FastNoise::seeded(seed);
        let mut shuffler = plan.shuffler(FastNoise::seeded(noise.bits())).unwrap();
        let mut server = plan.server();
        let mut model = server.publish().unwrap();
        let round = |_| {
            let person = plan.person(FastNoise::seeded(noise.bits())).unwrap();
            let (arm, report) = answered(person, &model, environment);
            if let Some(batch) = shuffler.absorb(&report).unwrap() {
                server.absorb(&batch).unwrap();
                model = server.publish().unwrap();
            }
            arm
        };
        (0..ROUNDS).map(round).collect()
    }
}

fn linucb(bounds: Bounds, rule: Rule, seed: u64, environment: &mut Sphere) -> Vec<usize> {
    let mut learner = LinUcbParams { rule, seed, ..LinUcbParams::new(bounds) }.check().unwrap();
    let round = |number| {
        let arms = environment.arms();
        let arm = learner.choose(arms, learner.randomness(number)).unwrap().arm;
        let features = arms.arm(arm);
        learner.observe(&features, environment.reward(arm)).unwrap();
        arm
    };
    (0..ROUNDS).map(round).collect()
}

/// The environment's knowledge of theta* and of the noise in rewards.
fn known_problem() -> crate::papers::constants::Problem {
    SphereParams { dimension: 4, arms: 8, fresh_arms: true, norm: 1.0 }.problem()
}

/// The arm that a person plays under a server's policy, and what their device sends.
fn sent(
    (policy, randomizer): (&Policy, &FeatureReward),
    number: u64,
    noise: &mut FastNoise,
    environment: &mut Sphere,
) -> (usize, Vec<f64>) {
    let arms = environment.arms();
    let arm = policy.choose(arms, number).unwrap();
    let features = arms.arm(arm);
    (arm, randomizer.report(&features, environment.reward(arm), noise).unwrap())
}

/// The arm that a person plays under a model, and their report.
fn answered(
    mut person: reticent::randomize::Person<FastNoise>,
    model: &Model,
    environment: &mut Sphere,
) -> (usize, reticent::randomize::Report) {
    let arms = environment.arms();
    let arm = person.choose(model, arms).unwrap();
    let features = arms.arm(arm);
    (arm, person.report(model, &features, environment.reward(arm)).unwrap())
}

/// The decisions of the vector, or of this run where vectors are written.
fn expected(label: &str, found: &[usize]) -> Vec<usize> {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../vectors/decisions"));
    let path = folder.join(format!("{label}.csv"));
    if std::env::var_os("RETICENT_WRITE_VECTORS").is_some() {
        let lines = found.iter().enumerate().map(|(i, arm)| format!("{},{arm}\n", i + 1));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(&path, format!("round,arm\n{}", lines.collect::<String>())).unwrap();
    }
    let text = std::fs::read_to_string(&path).unwrap();
    let arm = |line: &str| line.split(',').nth(1).unwrap().parse().unwrap();
    text.lines().skip(1).map(arm).collect()
}

#[test]
fn a_file_and_core_make_the_decisions_of_the_vector() {
    let mut all: Vec<Vec<usize>> = Vec::new();
    for case in &CASES {
        let label = case.label();
        let (experiment, found) = case.by_file();
        // What the environment tells a certified rule is in its remarks, as files and Python read it.
        let remarks = experiment.algorithms()[0].remarks();
        let stated = remarks.iter().find_map(|remark| remark.strip_prefix(INFORMED_RULE));
        assert_eq!(stated.is_some(), case.name == "certified", "{label}");
        let rule = match (stated, case.name) {
            (Some(rule), _) => serde_json::from_str(rule).unwrap(),
            (None, "thompson") => Rule::THOMPSON,
            (None, _) => Rule::default(),
        };
        assert_eq!(case.by_core(rule), found, "{label}");
        assert_eq!(expected(&label, &found), found, "{label}");
        // Planted: a certified bandit without its parameters, and in place of the others, decides otherwise.
        if case.kind == "joint" || case.kind == "linucb" {
            assert_ne!(case.by_core(Rule::CERTIFIED), found, "{label}");
        }
        if case.has_rule() {
            assert_ne!(case.by_core(Rule::FIXED), found, "{label}");
        }
        assert!((0..8).all(|arm| found.contains(&arm)), "all arms are played: {label}");
        assert!(!all.contains(&found), "{label}");
        all.push(found);
    }
}
