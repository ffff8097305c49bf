//! `fixed_arms`: phased elimination and other learners in episodes beside the default, where arms are fixed and public.
//!
//! The default learner of a curator releases `sum x x^T` and `sum x y` with noise on both, because in general x tells something of a person. Where all
//! people have the same public arms it does not, and [`episodes`](super::episodes) needs one noisy number for each episode. Every learner has the
//! same certificate, (epsilon, 1e-6), from the accountant; Laplace noise would even have it at delta = 0.
//!
//! Arms: the sphere of paper 0 with d = 5 and 10, 100 or 1000 arms, and ten separate arms (no features in common) with means drawn uniformly from .25 to .75.

use std::sync::Arc;

use reticent::{bandit::Rule, privacy::TrustModel, release::Mechanism};

use super::{
    contest::{SEED, beats, cell, certified, tune},
    episode_noise::EpisodeNoise,
    episodes::{Episodes, EpisodesParams, Strategy},
    fixed_places::Place,
};
use reticent_lab::{
    Experiment, FastNoise, Result,
    algorithm::{
        RunnableAlgorithm,
        bandit::{Algorithm, Budget, InBlocks, JointToml, LinUcbToml, ShuffleToml},
    },
    papers::{Claim, Extent, Judgement, Stage},
    report::{
        figure::{Figure, Line, Panel, Scale, Series},
        html as report,
        summary::{Estimate, Summary},
    },
};

const DELTA: f64 = 1e-6;
/// Learners are tuned at this epsilon.
const EPSILON: f64 = 1.0;
/// Epsilons at which parameters that were tuned at 1 are measured too.
const OTHER_EPSILONS: [f64; 2] = [0.1, 8.0];
/// Largest number of people of an episode.
const MOST_PEOPLE: u64 = 1 << 24;

const NONE: &str = "no privacy";
const DEFAULT: &str = "joint, default";
const JOINT: &str = "joint, tuned here";
const PUBLISHED: &str = "elimination, published";
const ELIMINATION: &str = "elimination, tuned";
const OPTIMISM: &str = "optimism in episodes";
const WIDER: &str = "optimism, wider";
const SHUFFLE: &str = "shuffle, default";
const SHUFFLE_ELIMINATION: &str = "shuffle, elimination";
const SHUFFLE_OPTIMISM: &str = "shuffle, optimism in episodes";

/// A number of people in a place, at this epsilon.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Problem {
    place: Place,
    rounds: u64,
    epsilon: f64,
}

impl Problem {
    fn name(&self) -> String {
        let Problem { place, rounds, epsilon } = self;
        format!("{}, T = {rounds:e}, epsilon = {epsilon}", place.name())
    }

    fn privacy(&self) -> Budget {
        Budget { epsilon: self.epsilon, delta: DELTA }
    }
}

/// Width and growth of a learner in episodes.
type Pace = (f64, f64);

/// Parameters found on other seeds.
struct Tuned {
    joint: Rule,
    elimination: Pace,
    optimism: Pace,
    shuffle_elimination: Pace,
    shuffle_optimism: Pace,
}

/// Every learner is tuned over eight choices.
const ELIMINATIONS: [Pace; 8] = [
    (0.5, 2.0),
    (0.7, 2.0),
    (0.9, 2.0),
    (1.2, 2.0),
    (0.5, 4.0),
    (0.7, 4.0),
    (0.9, 4.0),
    (1.2, 4.0),
];
const OPTIMISMS: [Pace; 8] = [
    (0.4, 1.3),
    (0.6, 1.3),
    (0.8, 1.3),
    (1.0, 1.3),
    (0.4, 1.6),
    (0.6, 1.6),
    (0.8, 1.6),
    (1.0, 1.6),
];

/// Not tuned: half as wide again as what suits 10^5 people, for longer runs, in which a rare wrong belief costs more.
const WIDER_PACE: Pace = (1.2, 1.6);

fn joint_rules() -> Vec<Rule> {
    let widths = [0.1, 0.2, 0.3, 0.45].into_iter().flat_map(|bonus| [(bonus, 1.5), (bonus, 2.5)]);
    widths.map(|(bonus, width)| Rule::Tuned { ridge: 3.0, bonus, width }).collect()
}

/// The noise of episodes with a curator and with a shuffler.
struct Noises {
    curator: Arc<EpisodeNoise>,
    shuffler: Arc<EpisodeNoise>,
}

impl Noises {
    fn new(epsilon: f64) -> Result<Self> {
        let noise = |trust| -> Result<_> {
            Ok(Arc::new(EpisodeNoise::new(trust, Budget { epsilon, delta: DELTA }, MOST_PEOPLE)?))
        };
        Ok(Noises { curator: noise(TrustModel::Joint)?, shuffler: noise(TrustModel::Shuffle)? })
    }
}

fn joint(
    problem: &Problem,
    name: String,
    rule: Option<Rule>,
) -> Result<Box<dyn RunnableAlgorithm>> {
    let environment = problem.place.environment(problem.rounds)?;
    let lines = JointToml { rule, name: Some(name.clone()), ..JointToml::new(problem.privacy()) };
    let plan = lines.params(&environment)?.check()?;
    if plan.sums().mechanism == Mechanism::Reports {
        // Reports are made person by person.
        return Algorithm::Joint(lines).prepare(&environment);
    }
    Ok(Box::new(InBlocks::joint(name, plan, &problem.place.draws())?))
}

fn episodes(
    problem: &Problem,
    name: String,
    noise: &Arc<EpisodeNoise>,
    strategy: Strategy,
    (width, growth): Pace,
) -> Box<dyn RunnableAlgorithm> {
    let rounds = problem.rounds;
    let params = EpisodesParams { strategy, rewards: (0.0, 1.0), rounds, width, growth };
    let (draws, sizes) = (problem.place.dense_draws(), noise.clone());
    let guarantee = noise.guarantee().clone();
    Box::new(InBlocks::promising(name, guarantee, &draws, move |seed| {
        Ok(Box::new(Episodes::new(params, sizes.clone(), FastNoise::seeded(seed))))
    }))
}

fn tuned(places: &[Place]) -> Result<Tuned> {
    let noises = Noises::new(EPSILON)?;
    let each = places.iter().flat_map(|place| [(*place, 10_000), (*place, 100_000)]);
    let problems: Vec<(Problem, u64)> =
        each.map(|(place, rounds)| (Problem { place, rounds, epsilon: EPSILON }, rounds)).collect();
    let trials = 32;
    let paced = |grid: &[Pace], noise: &Arc<EpisodeNoise>, strategy| {
        tune(grid, &problems, trials, |problem, _, name, pace| {
            Ok(episodes(problem, name, noise, strategy, pace))
        })
    };
    Ok(Tuned {
        joint: tune(&joint_rules(), &problems, trials, |problem, _, name, rule| {
            joint(problem, name, Some(rule))
        })?,
        elimination: paced(&ELIMINATIONS, &noises.curator, Strategy::Elimination)?,
        optimism: paced(&OPTIMISMS, &noises.curator, Strategy::Optimism)?,
        shuffle_elimination: paced(&ELIMINATIONS, &noises.shuffler, Strategy::Elimination)?,
        shuffle_optimism: paced(&OPTIMISMS, &noises.shuffler, Strategy::Optimism)?,
    })
}

/// All algorithms; with those that are stepped person by person if asked for.
fn algorithms(
    problem: &Problem,
    stepped: bool,
    tuned: &Tuned,
) -> Result<Vec<Box<dyn RunnableAlgorithm>>> {
    let in_episodes =
        |name: &str, noise, strategy, pace| episodes(problem, name.into(), noise, strategy, pace);
    let Noises { curator, shuffler } = &Noises::new(problem.epsilon)?;
    let mut all = vec![
        joint(problem, DEFAULT.into(), None)?,
        joint(problem, JOINT.into(), Some(tuned.joint.clone()))?,
        in_episodes(PUBLISHED, curator, Strategy::Published, (0.0, 4.0)),
        in_episodes(ELIMINATION, curator, Strategy::Elimination, tuned.elimination),
        in_episodes(OPTIMISM, curator, Strategy::Optimism, tuned.optimism),
        in_episodes(WIDER, curator, Strategy::Optimism, WIDER_PACE),
        in_episodes(
            SHUFFLE_ELIMINATION,
            shuffler,
            Strategy::Elimination,
            tuned.shuffle_elimination,
        ),
        in_episodes(SHUFFLE_OPTIMISM, shuffler, Strategy::Optimism, tuned.shuffle_optimism),
    ];
    if stepped {
        let environment = problem.place.environment(problem.rounds)?;
        let privacy = problem.privacy();
        let shuffle = ShuffleToml { name: Some(SHUFFLE.into()), ..ShuffleToml::new(privacy) };
        all.push(Algorithm::Linucb(LinUcbToml::named(NONE)).prepare(&environment)?);
        all.push(Algorithm::Shuffle(shuffle).prepare(&environment)?);
    }
    Ok(all)
}

/// One problem, measured.
struct Measured {
    problem: Problem,
    summary: Summary,
}

impl Measured {
    fn regret(&self, name: &str) -> Option<&Estimate> {
        self.summary.algorithm(name).map(|algorithm| &algorithm.final_regret)
    }
}

const COLUMNS: [&str; 10] = [
    NONE,
    DEFAULT,
    JOINT,
    PUBLISHED,
    ELIMINATION,
    OPTIMISM,
    WIDER,
    SHUFFLE,
    SHUFFLE_ELIMINATION,
    SHUFFLE_OPTIMISM,
];

/// The experiment.
pub fn fixed_arms(stage: &Stage) -> Result<Vec<Claim>> {
    let places = [Place::Sphere(10), Place::Sphere(100), Place::Sphere(1000), Place::Separate(10)];
    let (horizons, others, most_stepped): (&[(u64, u64)], _, u64) = match stage.extent {
        Extent::Quick => (&[(10_000, 32), (100_000, 32)], 10_000, 10_000),
        Extent::Full => {
            (&[(10_000, 64), (100_000, 64), (1_000_000, 64), (10_000_000, 32)], 100_000, 100_000)
        }
    };
    (stage.progress)("tuning on other seeds");
    let tuned = tuned(&places)?;
    let mut all = Vec::new();
    for place in places {
        let at_one = horizons.iter().map(|&(rounds, trials)| (rounds, EPSILON, trials));
        let at_others = OTHER_EPSILONS.iter().map(|&epsilon| (others, epsilon, 32));
        for (rounds, epsilon, trials) in at_one.chain(at_others) {
            let problem = Problem { place, rounds, epsilon };
            let name = problem.name();
            (stage.progress)(&name);
            let stepped = rounds <= most_stepped && epsilon == EPSILON;
            let entrants = algorithms(&problem, stepped, &tuned)?;
            let experiment = Experiment::of(&name, rounds, trials, SEED, entrants)?;
            let summary = experiment.simulate(|_, _| ())?;
            let folder = name.replace(", ", "-").replace(" = ", "").replace(' ', "-");
            summary.write(&stage.folder.join(folder))?;
            all.push(Measured { problem, summary });
        }
    }
    report::write(stage.folder, "fixed_arms.md", table(&all, &tuned))?;
    figure(&all, &places).write(stage.folder, "fixed_arms")?;
    Ok(claims(&all))
}

fn table(all: &[Measured], tuned: &Tuned) -> String {
    let mut text = format!(
        "Mean regret with its standard error; median; 95 % quantile. Tuned on other seeds to (width, growth): elimination {:?}, optimism {:?}; shuffled {:?}, {:?}; joint {:?}.\n\n",
        tuned.elimination,
        tuned.optimism,
        tuned.shuffle_elimination,
        tuned.shuffle_optimism,
        tuned.joint
    );
    text.push_str(&format!("| arms | T | epsilon | trials | {} |\n", COLUMNS.join(" | ")));
    text.push_str(&format!("|{}\n", " --- |".repeat(COLUMNS.len() + 4)));
    for measured in all {
        let cells = COLUMNS.map(|name| measured.regret(name).map_or("-".into(), cell));
        let trials = measured.regret(DEFAULT).map_or(0, |regret| regret.trials);
        let Problem { place, rounds, epsilon } = measured.problem;
        let (place, cells) = (place.name(), cells.join(" | "));
        text.push_str(&format!("| {place} | {rounds:e} | {epsilon} | {trials} | {cells} |\n"));
    }
    text
}

/// Median regret over the horizon with 5 to 95 % of the trials, a panel for each place.
fn figure(all: &[Measured], places: &[Place]) -> Figure {
    let lines = [DEFAULT, JOINT, PUBLISHED, ELIMINATION, OPTIMISM, SHUFFLE_OPTIMISM];
    let panel = |place: &Place| {
        let series = |(colour, name): (usize, &&str)| {
            let here = |problem: &Problem| problem.place == *place && problem.epsilon == EPSILON;
            let measured = all.iter().filter(|measured| here(&measured.problem));
            let found: Vec<(f64, &Estimate)> = measured
                .filter_map(|measured| {
                    Some((measured.problem.rounds as f64, measured.regret(name)?))
                })
                .collect();
            Series {
                name: name.to_string(),
                colour,
                line: Line::Marked,
                points: found.iter().map(|(x, regret)| (*x, regret.median)).collect(),
                band: found.iter().map(|(_, r)| (r.percentile_5, r.percentile_95)).collect(),
                ..Series::default()
            }
        };
        Panel { title: place.name(), series: lines.iter().enumerate().map(series).collect() }
    };
    let title = "Fixed arms at (1, 1e-6): regret by the number of people".to_string();
    let x = ("people".to_string(), Scale::Logarithmic);
    let y = ("regret: median, 5 to 95 % of trials".to_string(), Scale::Logarithmic);
    let panels = places.iter().map(panel).collect();
    Figure { panels, ..Figure::of(title, x, y, Vec::new()) }
}

fn claims(all: &[Measured]) -> Vec<Claim> {
    let mut claims = vec![certificates(all)];
    for (name, other) in [
        (PUBLISHED, DEFAULT),
        (ELIMINATION, DEFAULT),
        (ELIMINATION, JOINT),
        (OPTIMISM, DEFAULT),
        (OPTIMISM, JOINT),
        (OPTIMISM, ELIMINATION),
        (WIDER, DEFAULT),
        (SHUFFLE_ELIMINATION, SHUFFLE),
        (SHUFFLE_OPTIMISM, SHUFFLE),
    ] {
        let (mut ratios, mut lost, mut means) = (Vec::new(), Vec::new(), 0);
        let mut trials = usize::MAX;
        for measured in all {
            let (Some(one), Some(two)) = (measured.regret(name), measured.regret(other)) else {
                continue;
            };
            trials = trials.min(one.trials).min(two.trials);
            ratios.push(one.median / two.median.max(1.0));
            means += usize::from(one.mean < two.mean);
            if !beats(one, two) {
                lost.push(measured.problem.name());
            }
        }
        let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
        let most = ratios.iter().copied().fold(0.0, f64::max);
        let problems = ratios.len();
        let first = lost.first().map_or(String::new(), |first| format!(", first {first}"));
        claims.push(Claim {
            claim: format!("{name} loses less than {other} in the median and at 95 %, everywhere"),
            judgement: Judgement::stated(lost.is_empty(), trials),
            measured: format!(
                "median regret {least:.2} to {most:.2} of the other's over {problems} problems; mean below in {means}; not below in median and tail in {}{first}",
                lost.len()
            ),
            expected: "Hanna et al.: privacy almost for free on fixed arms".into(),
        });
    }
    claims
}

fn certificates(all: &[Measured]) -> Claim {
    let shares = all.iter().flat_map(|Measured { problem, summary }| {
        let guarantees = summary.algorithms.iter().filter_map(|a| a.guarantee.as_ref());
        guarantees.map(|guarantee| guarantee.epsilon() / problem.epsilon)
    });
    certified(&format!("every private learner has the certificate (epsilon, {DELTA:e})"), shares)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The default learner loses the same in whole blocks as person by person, with features in common and in blocks of parameters.
    #[test]
    fn whole_blocks_have_the_law_of_single_rounds() {
        for place in [Place::Sphere(10), Place::Separate(4)] {
            let problem = Problem { place, rounds: 3000, epsilon: 4.0 };
            let environment = place.environment(problem.rounds).unwrap();
            let privacy = problem.privacy();
            let stepped = JointToml { name: Some("stepped".into()), ..JointToml::new(privacy) };
            let entrants = vec![
                joint(&problem, "blocks".into(), None).unwrap(),
                Algorithm::Joint(stepped).prepare(&environment).unwrap(),
            ];
            let experiment = Experiment::of("both", problem.rounds, 60, 5, entrants).unwrap();
            let summary = experiment.simulate(|_, _| ()).unwrap();
            let [one, two] = [0, 1].map(|index| summary.algorithms[index].final_regret);
            let error = one.standard_error.hypot(two.standard_error);
            // Both meet the same instances, so that this is wider than 5 standard errors.
            assert!((one.mean - two.mean).abs() < 5.0 * error, "{one:?} {two:?}");
            assert!(error < 0.3 * two.mean);
        }
    }

    /// Every algorithm of both trust models may be entered at every epsilon, with a certificate that is within it.
    #[test]
    fn everybody_is_certified_within_the_budget() {
        let tuned = Tuned {
            joint: Rule::default(),
            elimination: (0.9, 4.0),
            optimism: (0.8, 1.6),
            shuffle_elimination: (0.7, 2.0),
            shuffle_optimism: (0.6, 1.6),
        };
        for epsilon in [EPSILON, OTHER_EPSILONS[1]] {
            let problem = Problem { place: Place::Separate(3), rounds: 2000, epsilon };
            for algorithm in algorithms(&problem, true, &tuned).unwrap() {
                let Some(guarantee) = algorithm.guarantee() else {
                    assert_eq!(algorithm.name(), NONE);
                    continue;
                };
                let share = guarantee.epsilon() / epsilon;
                assert!((0.99..=1.0).contains(&share), "{}: {share}", algorithm.name());
            }
        }
    }
}
