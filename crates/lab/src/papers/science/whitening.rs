//! `science/whitening`: whether features should be whitened before they are randomised, when nobody is trusted.
//!
//! Chen, Li, Rakhlin and Simchi-Levi (arXiv 2502.13115): under privacy a direction is worth `E|<x, v>|`, because noise has a fixed size whatever the features. [`learner`] whitens
//! by a matrix learnt from reports. Beside it, at equal certificates and tuned alike on other seeds (but for OnlineUCB and the learner without privacy, which have their defaults): the default as it was, with one cap; the same learner with both caps (`unit_axis`); features
//! divided by sizes that are public. Worlds are ours ([`worlds`]).

mod learner;
mod worlds;

use reticent::{
    bandit::Rule,
    privacy::{Guarantee, TrustModel},
    randomize::{Bounds, GramGaussian, Method, ReportParams, UnitPair},
};

use self::{
    learner::{Map, Mapped, Whitening, Width},
    worlds::World,
};
use super::{
    super::{Claim, Extent, Stage, Verdict},
    contest::{SEED, cell, certified, compared, tune},
};
use crate::{
    Experiment, Result,
    bandits::{Algorithm, Budget, LinUcbToml, LocalToml, OnlineToml, Stepped},
    contest::Contestant,
    figure::{Figure, Line, Panel, Scale, Series},
    report,
    summary::{Estimate, Summary},
};

const DELTA: f64 = 1e-6;
const NONE: &str = "no privacy";
const ONE_CAP: &str = "one cap";
const AXIS: &str = "both caps";
const PUBLIC: &str = "public sizes";
const WHITENED: &str = "whitened";
const ONLINE: &str = "OnlineUCB";
const COLUMNS: [&str; 5] = [NONE, ONE_CAP, AXIS, PUBLIC, WHITENED];

/// One world at one epsilon.
#[derive(Debug, Clone, Copy)]
struct Problem {
    world: World,
    dimension: usize,
    epsilon: f64,
}

/// What was found on other seeds.
#[derive(Debug, Clone, Copy)]
struct Tuned {
    one_cap: f64,
    axis: f64,
    /// Reach and bonus.
    public: (f64, Width),
    whitened: (Whitening, Width),
}

const BONUSES: [f64; 8] = [0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.45, 0.7];
const GREEDY: Width = Width { bonus: 0.0, width: 0.0 };
const CAREFUL: Width = Width { bonus: 0.0, width: 2.5 };
const CURIOUS: Width = Width { bonus: 0.2, width: 2.5 };

const PUBLIC_CHOICES: [(f64, Width); 8] = [
    (0.7, GREEDY),
    (0.7, CAREFUL),
    (1.0, GREEDY),
    (1.0, CAREFUL),
    (1.0, CURIOUS),
    (1.5, GREEDY),
    (1.5, CAREFUL),
    (1.5, CURIOUS),
];

const fn whitening(reach: f64, gate: f64, least: f64) -> Whitening {
    Whitening { reach, gate, least }
}

const WHITENINGS: [(Whitening, Width); 8] = [
    (whitening(1.5, 2.0, 0.0), CAREFUL),
    (whitening(1.5, 2.0, 0.0), CURIOUS),
    (whitening(1.5, 2.0, 0.001), CAREFUL),
    (whitening(1.5, 2.0, 0.001), CURIOUS),
    (whitening(1.5, 2.0, 0.02), CAREFUL),
    (whitening(1.5, 2.0, 0.02), CURIOUS),
    (whitening(2.2, 2.0, 0.001), CAREFUL),
    (whitening(2.2, 2.0, 0.001), CURIOUS),
];

fn rule(bonus: f64) -> Rule {
    Rule::Tuned { ridge: 3.0, bonus, width: 2.5 }
}

impl Problem {
    fn name(&self) -> String {
        format!("{}, d = {}, epsilon = {}", self.world.name(), self.dimension, self.epsilon)
    }

    fn privacy(&self) -> Budget {
        Budget { epsilon: self.epsilon, delta: DELTA }
    }

    fn deployed(
        &self,
        rounds: u64,
        name: String,
        method: Option<Method>,
        rule: Rule,
    ) -> Result<Box<dyn Contestant>> {
        let setting = self.world.setting(self.dimension, rounds)?;
        let lines = LocalToml { name: Some(name), method, rule, ..LocalToml::new(self.privacy()) };
        Algorithm::Local(lines).contestant(&setting)
    }

    /// The default before both caps were among its choices: the randomiser with the least noise.
    fn one_cap(&self, rounds: u64, name: String, bonus: f64) -> Result<Box<dyn Contestant>> {
        let bounds = self.world.setting(self.dimension, rounds)?.bounds;
        let noise = |method: &Method| -> Result<f64> {
            let report = ReportParams::new(bounds, self.epsilon, DELTA);
            let report = ReportParams { method: Some(method.clone()), ..report };
            let precision = report.check()?.precision(0)?;
            Ok(precision.matrix.hypot(precision.vector))
        };
        let split = GramGaussian::DEFAULT_SPLIT;
        let mut best = (f64::INFINITY, Method::UnitPair);
        for method in [Method::UnitPair, Method::UnitGram, Method::GramGaussian { split }] {
            let noise = noise(&method)?;
            if noise < best.0 {
                best = (noise, method);
            }
        }
        self.deployed(rounds, name, Some(best.1), rule(bonus))
    }

    fn axis(&self, rounds: u64, name: String, bonus: f64) -> Result<Box<dyn Contestant>> {
        self.deployed(rounds, name, Some(Method::UnitAxis), rule(bonus))
    }

    fn mapped(
        &self,
        rounds: u64,
        name: String,
        map: Map,
        width: Width,
    ) -> Result<Box<dyn Contestant>> {
        let (dimension, epsilon) = (self.dimension, self.epsilon);
        let setting = self.world.setting(dimension, rounds)?;
        let bounds = setting.bounds;
        let padded = UnitPair::of_axis(&Bounds { unit_arms: false, ..bounds }, epsilon)?;
        let plain = UnitPair::of_axis(&bounds, epsilon)?;
        // A person makes one report, with one of the two; both have the same epsilon.
        let guarantee = Guarantee::of(&padded.event(), TrustModel::Local, DELTA)?.simulated();
        let start = move |seed| {
            let pairs = [padded.clone(), plain.clone()];
            let learner = Mapped::new(bounds, pairs, map.clone(), width, seed)?;
            Ok(Box::new(learner) as Box<_>)
        };
        Ok(Box::new(Stepped::new(name, &setting, start).certified_by(guarantee)))
    }

    fn public(
        &self,
        rounds: u64,
        name: String,
        (reach, width): (f64, Width),
    ) -> Result<Box<dyn Contestant>> {
        let sizes = self.world.sizes(self.dimension)?;
        self.mapped(rounds, name, Map::Public { sizes, reach }, width)
    }

    fn whitened(
        &self,
        rounds: u64,
        name: String,
        (whitening, width): (Whitening, Width),
    ) -> Result<Box<dyn Contestant>> {
        self.mapped(rounds, name, Map::Learnt(whitening), width)
    }

    fn contestants(&self, rounds: u64, tuned: &Tuned) -> Result<Vec<Box<dyn Contestant>>> {
        let setting = self.world.setting(self.dimension, rounds)?;
        Ok(vec![
            Algorithm::Linucb(LinUcbToml::named(NONE)).contestant(&setting)?,
            self.one_cap(rounds, ONE_CAP.into(), tuned.one_cap)?,
            self.axis(rounds, AXIS.into(), tuned.axis)?,
            self.public(rounds, PUBLIC.into(), tuned.public)?,
            self.whitened(rounds, WHITENED.into(), tuned.whitened)?,
        ])
    }
}

fn tuned() -> Result<Tuned> {
    let at = |world, epsilon| (Problem { world, dimension: 5, epsilon }, 10_000);
    let all: Vec<(Problem, u64)> = [4.0, 8.0]
        .into_iter()
        .flat_map(|epsilon| World::ALL.into_iter().map(move |world| at(world, epsilon)))
        .collect();
    Ok(Tuned {
        one_cap: tune(&BONUSES, &all, 4, |p, rounds, name, bonus| p.one_cap(rounds, name, bonus))?,
        axis: tune(&BONUSES, &all, 4, |p, rounds, name, bonus| p.axis(rounds, name, bonus))?,
        public: tune(&PUBLIC_CHOICES, &all, 4, |p, rounds, name, choice| {
            p.public(rounds, name, choice)
        })?,
        whitened: tune(&WHITENINGS, &all, 4, |p, rounds, name, whitening| {
            p.whitened(rounds, name, whitening)
        })?,
    })
}

/// One problem with so many people.
struct Measured {
    problem: Problem,
    rounds: u64,
    summary: Summary,
}

impl Measured {
    fn new(
        stage: &Stage,
        problem: Problem,
        (rounds, trials): (u64, u64),
        entrants: Vec<Box<dyn Contestant>>,
    ) -> Result<Self> {
        let name = format!("{}, T = {rounds:e}", problem.name());
        (stage.progress)(&name);
        let summary = Experiment::of(&name, rounds, trials, SEED, entrants)?.simulate(|_, _| ())?;
        let folder = name.replace(", ", "-").replace(" = ", "").replace(' ', "-");
        summary.write(&stage.folder.join(folder))?;
        Ok(Measured { problem, rounds, summary })
    }

    fn regret(&self, name: &str) -> Option<&Estimate> {
        self.summary.algorithm(name).map(|algorithm| &algorithm.final_regret)
    }
}

/// The experiment.
pub fn whitening_of_features(stage: &Stage) -> Result<Vec<Claim>> {
    let (rounds, dimensions, epsilons): (u64, &[(usize, u64)], &[f64]) = match stage.extent {
        Extent::Quick => (20_000, &[(5, 8)], &[4.0]),
        Extent::Full => (100_000, &[(5, 12), (20, 6)], &[1.0, 4.0, 8.0]),
    };
    (stage.progress)("tuning on other seeds");
    let tuned = tuned()?;
    let mut all = Vec::new();
    for world in World::ALL {
        for &(dimension, trials) in dimensions {
            for &epsilon in epsilons {
                let problem = Problem { world, dimension, epsilon };
                let entrants = problem.contestants(rounds, &tuned)?;
                all.push(Measured::new(stage, problem, (rounds, trials), entrants)?);
            }
        }
    }
    report::write(stage.folder, "whitening.md", table(&all, &tuned))?;
    figure(&all).write(stage.folder, "whitening")?;
    let mut claims = claims(&all);
    claims.extend(growth(stage, &tuned)?);
    Ok(claims)
}

/// How regret grows with the number of people.
fn growth(stage: &Stage, tuned: &Tuned) -> Result<Vec<Claim>> {
    let size = match stage.extent {
        Extent::Quick => (100_000, 4),
        Extent::Full => (10_000_000, 5),
    };
    let (mut panels, mut claims) = (Vec::new(), Vec::new());
    for world in [World::Isotropic, World::Units] {
        let problem = Problem { world, dimension: 5, epsilon: 4.0 };
        let setting = world.setting(problem.dimension, size.0)?;
        let online = OnlineToml { name: Some(ONLINE.into()), ..OnlineToml::new(problem.privacy()) };
        let entrants = vec![
            problem.one_cap(size.0, ONE_CAP.into(), tuned.one_cap)?,
            problem.axis(size.0, AXIS.into(), tuned.axis)?,
            problem.whitened(size.0, WHITENED.into(), tuned.whitened)?,
            Algorithm::OnlineUcb(online).contestant(&setting)?,
        ];
        let measured = Measured::new(stage, problem, size, entrants)?;
        let from = size.0 / 10;
        let slopes: Vec<(&str, Estimate)> = measured
            .summary
            .algorithms
            .iter()
            .map(|algorithm| (algorithm.name.as_str(), algorithm.growth(from)))
            .collect();
        let words = |(name, slope): &(&str, Estimate)| {
            let (low, high) = slope.interval_95.unwrap_or((slope.mean, slope.mean));
            format!("{name} {:.2} [{low:.2}, {high:.2}]", slope.mean)
        };
        let mean = |name: &str| slopes.iter().find(|s| s.0 == name).map_or(f64::NAN, |s| s.1.mean);
        claims.push(Claim {
            claim: format!("from {from:e} to {:e} people regret of the whitened learner grows no faster than the square root ({})", size.0, problem.name()),
            verdict: Verdict::when(mean(WHITENED) <= 0.55),
            measured: slopes.iter().map(words).collect::<Vec<_>>().join(", "),
            expected: "a slope of .5 or less on logarithmic scales".into(),
        });
        let series = |(colour, algorithm): (usize, &crate::summary::AlgorithmSummary)| {
            let curve = || algorithm.curve.iter().filter(|(round, _)| *round >= 100);
            Series {
                name: algorithm.name.clone(),
                colour,
                points: curve().map(|(round, r)| (*round as f64, r.median)).collect(),
                band: curve().map(|(_, r)| (r.percentile_5, r.percentile_95)).collect(),
                ..Series::default()
            }
        };
        let series = measured.summary.algorithms.iter().enumerate().map(series).collect();
        let listed = slopes.iter().map(|(name, slope)| format!("{name} {:.2}", slope.mean));
        let listed = listed.collect::<Vec<_>>().join(", ");
        panels.push(Panel { title: format!("{}; slopes: {listed}", world.name()), series });
    }
    let x = ("people".to_string(), Scale::Logarithmic);
    let y = ("regret: median, 5 to 95 % of trials".to_string(), Scale::Logarithmic);
    let title = "Nobody trusted, d = 5, epsilon = 4: how regret grows".to_string();
    Figure { panels, ..Figure::of(title, x, y, Vec::new()) }.write(stage.folder, "growth")?;
    Ok(claims)
}

fn table(all: &[Measured], tuned: &Tuned) -> String {
    let mut text = format!(
        "Regret: mean with its standard error; median; 95 % quantile. Tuned on other seeds to {tuned:?}.\n\n| world | d | epsilon | people | trials | {} |\n|{}\n",
        COLUMNS.join(" | "),
        " --- |".repeat(COLUMNS.len() + 5)
    );
    for measured in all {
        let Problem { world, dimension, epsilon } = measured.problem;
        let cells = COLUMNS.map(|name| measured.regret(name).map_or("-".into(), cell));
        let trials = measured.regret(ONE_CAP).map_or(0, |regret| regret.trials);
        text.push_str(&format!(
            "| {} | {dimension} | {epsilon} | {:e} | {trials} | {} |\n",
            world.name(),
            measured.rounds,
            cells.join(" | ")
        ));
    }
    text
}

/// Regret in units of the median of one cap, a panel for each epsilon and dimension.
fn figure(all: &[Measured]) -> Figure {
    let mut panels: Vec<Panel> = Vec::new();
    let mut kinds: Vec<(usize, f64)> = Vec::new();
    for measured in all {
        let kind = (measured.problem.dimension, measured.problem.epsilon);
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    for (dimension, epsilon) in kinds {
        let here: Vec<&Measured> = all
            .iter()
            .filter(|m| (m.problem.dimension, m.problem.epsilon) == (dimension, epsilon))
            .collect();
        let series = |(colour, name): (usize, &&str)| {
            let found: Vec<(f64, f64, &Estimate)> = here
                .iter()
                .enumerate()
                .filter_map(|(place, measured)| {
                    let unit = measured.regret(ONE_CAP)?.median;
                    Some((1.0 + place as f64, unit, measured.regret(name)?))
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
        panels.push(Panel {
            title: format!("d = {dimension}, epsilon = {epsilon}"),
            series: COLUMNS[2..].iter().enumerate().map(series).collect(),
        });
    }
    let names: Vec<String> = World::ALL
        .iter()
        .enumerate()
        .map(|(index, world)| format!("{} {}", index + 1, world.name()))
        .collect();
    let x = (names.join(", "), Scale::Linear);
    let y = ("regret by that of one cap: median, 5 to 95 %".to_string(), Scale::Logarithmic);
    let title = "Nobody trusted: both caps, public sizes and whitening beside one cap".to_string();
    Figure { panels, ..Figure::of(title, x, y, Vec::new()) }
}

fn claims(all: &[Measured]) -> Vec<Claim> {
    let mut claims = vec![certificates(all)];
    for (name, other) in
        [(AXIS, ONE_CAP), (PUBLIC, AXIS), (WHITENED, ONE_CAP), (WHITENED, AXIS), (WHITENED, PUBLIC)]
    {
        let places = all.iter().filter_map(|measured| {
            let (one, two) = (measured.regret(name)?, measured.regret(other)?);
            Some((measured.problem.name(), one, two))
        });
        let expected = "a gain where features are badly conditioned";
        claims.push(compared((name, other), places, expected));
    }
    claims
}

fn certificates(all: &[Measured]) -> Claim {
    let shares = all.iter().flat_map(|measured| {
        let guarantees = measured.summary.algorithms.iter().filter_map(|a| a.guarantee.as_ref());
        guarantees.map(|guarantee| guarantee.epsilon() / measured.problem.epsilon)
    });
    certified(
        "every private learner has the same certificate: (epsilon, 1e-6) for one report of one person",
        shares,
    )
}
