//! `clicks`: a logistic link beside the linear learner on clicks, at equal certificates.
//!
//! Rewards are 0 or 1, with random arms clicked at .5, .05 and .005. Under joint privacy: the linear default, [`linearised`](super::linearised) working
//! responses, and the [`published_glm`](super::published_glm); under local privacy: the linear default and linearised responses. The logistic
//! learners know the nominal rate, as an operator would; the linear ones have no use for it. Regret is in expected clicks.

use reticent::{
    bandit::{Arms, Rule},
    release::Mechanism,
};

use super::{
    click_environment::{Features, environment},
    contest::{SEED, cell, certified, compared, tune},
    linearised::{LinearisedLocalParams, LinearisedParams},
    published_glm::PublishedGlmParams,
};
use reticent_lab::{
    Experiment, FastNoise, Result,
    algorithm::{
        RunnableAlgorithm,
        bandit::{Algorithm, BanditEnvironment, Budget, JointToml, LinUcbToml, LocalToml, Stepped},
    },
    papers::{Claim, Extent, Stage, constants::joint::JointMechanism},
    play::Learner,
    report::{
        figure::{Figure, Line, Panel, Scale, Series},
        html as report,
        summary::{Estimate, Summary},
    },
};

const RATES: [f64; 3] = [0.5, 0.05, 0.005];
const KINDS: [Features; 2] = [Features::Sphere, Features::Categories];
const JOINT: Budget = Budget { epsilon: 1.0, delta: 1e-6 };
/// A curator with less noise; nothing is tuned anew.
const JOINT_AT_8: Budget = Budget { epsilon: 8.0, delta: 1e-6 };
/// At a smaller epsilon no learner under local privacy learns from so few people.
const LOCAL: Budget = Budget { epsilon: 8.0, delta: 1e-6 };
/// As good as no noise.
const NO_NOISE: Budget = Budget { epsilon: 1e5, delta: 1e-6 };

const ANY: &str = "any arm";
const NONE_LINEAR: &str = "no privacy, linear";
const NONE_LOGISTIC: &str = "no noise, linearised";
const JOINT_DEFAULT: &str = "joint, default";
const JOINT_LINEAR: &str = "joint, linear tuned";
const JOINT_LINEARISED: &str = "joint, linearised";
const JOINT_PUBLISHED: &str = "joint, published GLM";
const AT_8_DEFAULT: &str = "joint at 8, default";
const AT_8_STREAM: &str = "joint at 8, linear in sums";
const AT_8_LINEARISED: &str = "joint at 8, linearised";
const LOCAL_DEFAULT: &str = "local, default";
const LOCAL_LINEAR: &str = "local, linear tuned";
const LOCAL_LINEARISED: &str = "local, linearised";

const COLUMNS: [&str; 13] = [
    ANY,
    NONE_LINEAR,
    NONE_LOGISTIC,
    JOINT_DEFAULT,
    JOINT_LINEAR,
    JOINT_LINEARISED,
    JOINT_PUBLISHED,
    AT_8_DEFAULT,
    AT_8_STREAM,
    AT_8_LINEARISED,
    LOCAL_DEFAULT,
    LOCAL_LINEAR,
    LOCAL_LINEARISED,
];

/// Places of clicks: a law of people and a click rate.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Place {
    features: Features,
    rate: f64,
}

impl Place {
    fn name(&self) -> String {
        format!("{}, rate {}", self.features.name(), self.rate)
    }

    fn environment(&self, rounds: u64) -> Result<BanditEnvironment> {
        environment(self.features, self.rate, rounds)
    }
}

/// Norm of the vector part, cap of the weights, width.
type Linearisation = (f64, f64, f64);
/// Steps of a fit, size of a step, width.
type Descent = (u64, f64, f64);
/// Curvature and bonus.
type LocalLinearisation = (f64, f64);

const LINEARISATIONS: [Linearisation; 8] = [
    (0.5, 2.0, 0.3),
    (0.5, 2.0, 1.5),
    (0.5, 8.0, 0.3),
    (0.5, 8.0, 1.5),
    (1.0, 2.0, 0.3),
    (1.0, 2.0, 1.5),
    (1.0, 8.0, 0.3),
    (1.0, 8.0, 1.5),
];
const DESCENTS: [Descent; 8] = [
    (3, 0.5, 0.3),
    (3, 0.5, 1.5),
    (3, 2.0, 0.3),
    (3, 2.0, 1.5),
    (12, 0.5, 0.3),
    (12, 0.5, 1.5),
    (12, 2.0, 0.3),
    (12, 2.0, 1.5),
];
const LOCAL_LINEARISATIONS: [LocalLinearisation; 4] =
    [(1.0, 0.1), (1.0, 0.3), (4.0, 0.1), (4.0, 0.3)];
const BONUSES: [f64; 8] = [0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.45, 0.7];
const LOCAL_BONUSES: [f64; 4] = [0.05, 0.1, 0.2, 0.4];

fn rule(bonus: f64) -> Rule {
    Rule::Tuned { ridge: 3.0, bonus, width: 2.5 }
}

fn joint(
    environment: &BanditEnvironment,
    name: String,
    privacy: Budget,
    rule: Option<Rule>,
) -> Result<Box<dyn RunnableAlgorithm>> {
    let lines = JointToml { name: Some(name), rule, ..JointToml::new(privacy) };
    Algorithm::Joint(lines).prepare(environment)
}

fn local(
    environment: &BanditEnvironment,
    name: String,
    rule: Rule,
) -> Result<Box<dyn RunnableAlgorithm>> {
    let lines = LocalToml { name: Some(name), rule, ..LocalToml::new(LOCAL) };
    Algorithm::Local(lines).prepare(environment)
}

fn linearised(
    place: &Place,
    rounds: u64,
    name: String,
    privacy: Budget,
    (bound, cap, width): Linearisation,
) -> Result<Box<dyn RunnableAlgorithm>> {
    let params = LinearisedParams { rounds, privacy, rate: place.rate, bound, cap, width };
    let plan = params.check()?;
    let guarantee = plan.guarantee.clone();
    let start = move |seed| Ok(Box::new(plan.start(FastNoise::seeded(seed))?) as Box<dyn Learner>);
    Ok(Box::new(Stepped::new(name, &place.environment(rounds)?, start).promising(guarantee)))
}

fn published(
    place: &Place,
    rounds: u64,
    name: String,
    (steps, step, width): Descent,
) -> Result<Box<dyn RunnableAlgorithm>> {
    let rate = place.rate;
    let params = PublishedGlmParams { rounds, privacy: JOINT, rate, steps, step, width };
    let plan = params.check()?;
    let guarantee = plan.guarantee.clone();
    let start = move |seed| Ok(Box::new(plan.start(FastNoise::seeded(seed))?) as Box<dyn Learner>);
    Ok(Box::new(Stepped::new(name, &place.environment(rounds)?, start).promising(guarantee)))
}

fn local_linearised(
    place: &Place,
    rounds: u64,
    name: String,
    (curvature, bonus): LocalLinearisation,
) -> Result<Box<dyn RunnableAlgorithm>> {
    let (bounds, rate, rule) = (place.features.bounds(), place.rate, rule(bonus));
    let params = LinearisedLocalParams { bounds, privacy: LOCAL, rate, curvature, rule };
    let plan = params.check()?;
    let guarantee = plan.guarantee(0)?.simulated();
    let start = move |seed| Ok(Box::new(params.start(&plan, seed)?) as Box<dyn Learner>);
    Ok(Box::new(Stepped::new(name, &place.environment(rounds)?, start).promising(guarantee)))
}

/// Parameters found on other seeds.
#[derive(Debug)]
struct Tuned {
    joint: f64,
    linearised: Linearisation,
    published: Descent,
    local: f64,
    local_linearised: LocalLinearisation,
}

fn tuned(places: &[Place]) -> Result<Tuned> {
    let rounds = 20_000;
    let trials = 4;
    let settings: Vec<(Place, u64)> = places.iter().map(|place| (*place, rounds)).collect();
    Ok(Tuned {
        joint: tune(&BONUSES, &settings, trials, |place, rounds, name, bonus| {
            joint(&place.environment(rounds)?, name, JOINT, Some(rule(bonus)))
        })?,
        linearised: tune(&LINEARISATIONS, &settings, trials, |place, rounds, name, choice| {
            linearised(place, rounds, name, JOINT, choice)
        })?,
        published: tune(&DESCENTS, &settings, trials, published)?,
        local: tune(&LOCAL_BONUSES, &settings, trials, |place, rounds, name, bonus| {
            local(&place.environment(rounds)?, name, rule(bonus))
        })?,
        local_linearised: tune(&LOCAL_LINEARISATIONS, &settings, trials, local_linearised)?,
    })
}

/// The curators with sums.
fn curators(place: &Place, rounds: u64, tuned: &Tuned) -> Result<Vec<Box<dyn RunnableAlgorithm>>> {
    let environment = place.environment(rounds)?;
    // At this epsilon the default randomises contributions one by one; linearised ones are summed.
    let in_sums = JointToml {
        name: Some(AT_8_STREAM.into()),
        mechanism: JointMechanism::Core(Mechanism::default()),
        ..JointToml::new(JOINT_AT_8)
    };
    Ok(vec![
        joint(&environment, JOINT_DEFAULT.into(), JOINT, None)?,
        joint(&environment, JOINT_LINEAR.into(), JOINT, Some(rule(tuned.joint)))?,
        linearised(place, rounds, JOINT_LINEARISED.into(), JOINT, tuned.linearised)?,
        joint(&environment, AT_8_DEFAULT.into(), JOINT_AT_8, None)?,
        Algorithm::Joint(in_sums).prepare(&environment)?,
        linearised(place, rounds, AT_8_LINEARISED.into(), JOINT_AT_8, tuned.linearised)?,
    ])
}

/// All people.
fn algorithms(
    place: &Place,
    rounds: u64,
    tuned: &Tuned,
) -> Result<Vec<Box<dyn RunnableAlgorithm>>> {
    let environment = place.environment(rounds)?;
    let any = Stepped::new(ANY.into(), &environment, |_| {
        Ok(Box::new(|arms: &Arms, round: u64| round as usize % arms.count()) as Box<dyn Learner>)
    });
    let mut all: Vec<Box<dyn RunnableAlgorithm>> = vec![
        Box::new(any),
        Algorithm::Linucb(LinUcbToml::named(NONE_LINEAR)).prepare(&environment)?,
        linearised(place, rounds, NONE_LOGISTIC.into(), NO_NOISE, tuned.linearised)?,
        published(place, rounds, JOINT_PUBLISHED.into(), tuned.published)?,
        local(&environment, LOCAL_DEFAULT.into(), Rule::default())?,
        local(&environment, LOCAL_LINEAR.into(), rule(tuned.local))?,
        local_linearised(place, rounds, LOCAL_LINEARISED.into(), tuned.local_linearised)?,
    ];
    all.extend(curators(place, rounds, tuned)?);
    Ok(all)
}

/// One number of people in one place.
struct Measured {
    place: Place,
    rounds: u64,
    summary: Summary,
}

impl Measured {
    fn new(
        stage: &Stage,
        place: Place,
        (rounds, trials): (u64, u64),
        entrants: Vec<Box<dyn RunnableAlgorithm>>,
    ) -> Result<Self> {
        let name = format!("{}, T = {rounds:e}", place.name());
        (stage.progress)(&name);
        let summary = Experiment::of(&name, rounds, trials, SEED, entrants)?.simulate(|_, _| ())?;
        let folder = name.replace(", ", "-").replace(" = ", "").replace(' ', "-");
        summary.write(&stage.folder.join(folder))?;
        Ok(Measured { place, rounds, summary })
    }

    fn name(&self) -> String {
        format!("{}, T = {:e}", self.place.name(), self.rounds)
    }

    fn regret(&self, name: &str) -> Option<&Estimate> {
        self.summary.algorithm(name).map(|algorithm| &algorithm.final_regret)
    }
}

/// The experiment.
pub fn clicks(stage: &Stage) -> Result<Vec<Claim>> {
    let size = match stage.extent {
        Extent::Quick => (20_000, 16),
        Extent::Full => (20_000, 32),
    };
    let places: Vec<Place> = KINDS
        .iter()
        .flat_map(|&features| RATES.iter().map(move |&rate| Place { features, rate }))
        .collect();
    (stage.progress)("tuning on other seeds");
    let tuned = tuned(&places)?;
    let mut all = Vec::new();
    for place in &places {
        all.push(Measured::new(stage, *place, size, algorithms(place, size.0, &tuned)?)?);
    }
    if stage.extent == Extent::Full {
        // Curators only, where a linear model fits worst.
        let long = (200_000, 8);
        for place in places.iter().filter(|place| place.features == Features::Categories) {
            all.push(Measured::new(stage, *place, long, curators(place, long.0, &tuned)?)?);
        }
    }
    report::write(stage.folder, "clicks.md", table(&all, &tuned))?;
    figure(&all, size.0).write(stage.folder, "clicks")?;
    Ok(claims(&all))
}

fn table(all: &[Measured], tuned: &Tuned) -> String {
    let mut text = format!(
        "Regret in expected clicks: mean with its standard error; median; 95 % quantile. Tuned on other seeds to {tuned:?}.\n\n| people | trials | {} |\n|{}\n",
        COLUMNS.join(" | "),
        " --- |".repeat(COLUMNS.len() + 2)
    );
    for measured in all {
        let cells = COLUMNS.map(|name| measured.regret(name).map_or("-".into(), cell));
        let trials = measured.regret(JOINT_DEFAULT).map_or(0, |regret| regret.trials);
        text.push_str(&format!("| {} | {trials} | {} |\n", measured.name(), cells.join(" | ")));
    }
    text
}

/// Regret in units of that of any arm, over the click rate, a panel for each kind of features.
fn figure(all: &[Measured], rounds: u64) -> Figure {
    let panel = |features: &Features| {
        let series = |(colour, name): (usize, &&str)| {
            let here = |m: &&Measured| m.place.features == *features && m.rounds == rounds;
            let found: Vec<(f64, f64, &Estimate)> = all
                .iter()
                .filter(here)
                .filter_map(|measured| {
                    let unit = measured.regret(ANY)?.mean;
                    Some((measured.place.rate, unit, measured.regret(name)?))
                })
                .collect();
            Series {
                name: name.to_string(),
                colour,
                line: Line::Marked,
                points: found.iter().map(|(x, unit, r)| (*x, r.median / unit)).collect(),
                band: found
                    .iter()
                    .map(|(_, unit, r)| (r.percentile_5 / unit, r.percentile_95 / unit))
                    .collect(),
                ..Series::default()
            }
        };
        let lines = COLUMNS[1..].iter().filter(|name| !name.ends_with("tuned"));
        Panel { title: features.name().into(), series: lines.enumerate().map(series).collect() }
    };
    let x = ("click rate of a random arm".to_string(), Scale::Logarithmic);
    let y = ("regret by that of any arm: median, 5 to 95 %".to_string(), Scale::Logarithmic);
    let title = "Clicks: linear and logistic learners at equal certificates".to_string();
    Figure { panels: KINDS.iter().map(panel).collect(), ..Figure::of(title, x, y, Vec::new()) }
}

fn claims(all: &[Measured]) -> Vec<Claim> {
    let mut claims = vec![certificates(all)];
    for (name, other) in [
        (NONE_LOGISTIC, NONE_LINEAR),
        (JOINT_LINEARISED, JOINT_DEFAULT),
        (JOINT_LINEARISED, JOINT_LINEAR),
        (JOINT_PUBLISHED, JOINT_DEFAULT),
        (AT_8_LINEARISED, AT_8_DEFAULT),
        (AT_8_LINEARISED, AT_8_STREAM),
        (LOCAL_LINEARISED, LOCAL_DEFAULT),
        (LOCAL_LINEARISED, LOCAL_LINEAR),
    ] {
        let places = all.iter().filter_map(|measured| {
            Some((measured.name(), measured.regret(name)?, measured.regret(other)?))
        });
        let expected = "a link that fits learns more from rare clicks";
        claims.push(compared((name, other), places, expected));
    }
    claims
}

fn certificates(all: &[Measured]) -> Claim {
    let algorithms = all.iter().flat_map(|measured| &measured.summary.algorithms);
    let shares = algorithms.filter_map(|algorithm| {
        let budget = match &algorithm.name {
            name if name.starts_with("joint at 8") => JOINT_AT_8,
            name if name.starts_with("joint") => JOINT,
            name if name.starts_with("local") => LOCAL,
            _ => return None,
        };
        let epsilon = algorithm.guarantee.as_ref().map_or(f64::INFINITY, |g| g.epsilon());
        Some(epsilon / budget.epsilon)
    });
    certified(
        "every private learner of a trust model has the same certificate: (1, 1e-6) joint, (8, 1e-6) joint at 8 and local",
        shares,
    )
}
