//! `whitening`: features whitened before they are randomised, under local privacy.
//!
//! Chen, Li, Rakhlin and Simchi-Levi (arXiv 2502.13115): under privacy a direction is worth `E|<x, v>|`, because noise has a fixed size whatever the features.
//!
//! | learner | what people do with their features |
//! | --- | --- |
//! | one cap | nothing: the default as it was, `unit_pair` where that has the least noise |
//! | both caps | nothing: `unit_axis` |
//! | public sizes | divide them by their root mean square, which is public |
//! | whitened | multiply them by a matrix learnt from reports ([`learner`]) |
//! | surveyed sizes | divide them by sizes that people were asked for ([`survey`]) |
//! | not whitened | nothing: the learner of the three above, as a control |
//!
//! All of these have equal certificates and were tuned alike on other seeds, but for the control, which has the widths of the whitened one; OnlineUCB and the learner without privacy have their defaults. Environments are ours ([`arm_laws`]);
//! [`curator`] makes the same comparison with a trusted curator.

mod arm_laws;
mod coordinates;
mod curator;
mod growth;
mod learner;
mod sums;
mod survey;

use reticent::{
    bandit::Rule,
    privacy::{Guarantee, TrustModel},
    randomize::{Bounds, GramGaussian, Method, ReportParams, UnitPair},
};

use self::{
    arm_laws::ArmLaw,
    learner::{Map, Mapped, Whitening, Width},
    sums::Source,
    survey::{Survey, SurveyParams, Surveyed},
};
use super::contest::{SEED, cell, certified, compared, tune};
use reticent_lab::{
    Experiment, Result,
    algorithm::{
        RunnableAlgorithm,
        bandit::{Algorithm, Budget, LinUcbToml, LocalToml, Stepped},
    },
    papers::{Claim, Extent, Stage},
    play::{Learner, trial::mix},
    report::{
        figure::{Figure, Line, Panel, Scale, Series},
        html as report,
        summary::{Estimate, Summary},
    },
};

const DELTA: f64 = 1e-6;
const NONE: &str = "no privacy";
const ONE_CAP: &str = "one cap";
const AXIS: &str = "both caps";
const PUBLIC: &str = "public sizes";
const WHITENED: &str = "whitened";
const ONLINE: &str = "OnlineUCB";
/// The learner of `whitened`, which never whitens: both caps with its rule and its times of learning.
const CONTROL: &str = "not whitened";
const SURVEYED: &str = "surveyed sizes";
const COLUMNS: [&str; 7] = [NONE, ONE_CAP, AXIS, PUBLIC, WHITENED, SURVEYED, CONTROL];

/// One environment at one epsilon.
#[derive(Debug, Clone, Copy)]
struct Problem {
    law: ArmLaw,
    dimension: usize,
    epsilon: f64,
}

/// Parameters found on other seeds.
#[derive(Debug, Clone, Copy)]
struct Tuned {
    one_cap: f64,
    axis: f64,
    /// Reach and bonus.
    public: (f64, Width),
    whitened: (Whitening, Width),
    surveyed: (SurveyParams, Width),
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
    (whitening(1.5, 2.0, 0.1), CAREFUL),
    (whitening(1.5, 2.0, 0.1), CURIOUS),
];

const SURVEYS: [(SurveyParams, Width); 8] = [
    (SurveyParams { precision: 20.0, every: 2 }, CAREFUL),
    (SurveyParams { precision: 20.0, every: 4 }, CAREFUL),
    (SurveyParams { precision: 20.0, every: 4 }, CURIOUS),
    (SurveyParams { precision: 20.0, every: 8 }, CAREFUL),
    (SurveyParams { precision: 20.0, every: 8 }, CURIOUS),
    (SurveyParams { precision: 40.0, every: 2 }, CAREFUL),
    (SurveyParams { precision: 40.0, every: 4 }, CAREFUL),
    (SurveyParams { precision: 40.0, every: 8 }, CAREFUL),
];

fn rule(bonus: f64) -> Rule {
    Rule::Tuned { ridge: 3.0, bonus, width: 2.5 }
}

impl Problem {
    /// Problem that it shares with other environments.
    fn kind(&self, rounds: u64) -> String {
        format!("d = {}, epsilon = {}, T = {rounds:e}", self.dimension, self.epsilon)
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
    ) -> Result<Box<dyn RunnableAlgorithm>> {
        let environment = self.law.environment(self.dimension, rounds)?;
        let lines = LocalToml { name: Some(name), method, rule, ..LocalToml::new(self.privacy()) };
        Algorithm::Local(lines).prepare(&environment)
    }

    /// The default before both caps were among its choices: the randomiser with the least noise.
    fn one_cap(&self, rounds: u64, name: String, bonus: f64) -> Result<Box<dyn RunnableAlgorithm>> {
        let bounds = self.law.environment(self.dimension, rounds)?.bounds;
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

    fn axis(&self, rounds: u64, name: String, bonus: f64) -> Result<Box<dyn RunnableAlgorithm>> {
        self.deployed(rounds, name, Some(Method::UnitAxis), rule(bonus))
    }

    fn mapped(
        &self,
        rounds: u64,
        name: String,
        map: Map,
        width: Width,
        params: Option<SurveyParams>,
    ) -> Result<Box<dyn RunnableAlgorithm>> {
        let (dimension, epsilon) = (self.dimension, self.epsilon);
        let environment = self.law.environment(dimension, rounds)?;
        let bounds = environment.bounds;
        let padded = UnitPair::of_axis(&Bounds { unit_arms: false, ..bounds }, epsilon)?;
        let plain = UnitPair::of_axis(&bounds, epsilon)?;
        // A person makes one report, with one of the two or as an answer: the certificate is the weakest of theirs.
        let mut guarantee = Guarantee::of(&padded.event(), TrustModel::Local, DELTA)?;
        let answer = params.map(|_| Survey::event(epsilon));
        for event in [plain.event()].into_iter().chain(answer) {
            let other = Guarantee::of(&event, TrustModel::Local, DELTA)?;
            if other.epsilon() > guarantee.epsilon() {
                guarantee = other;
            }
        }
        let start = move |seed| {
            let source = Source::reports(padded.clone(), plain.clone(), seed);
            let learner = Mapped::new(bounds, source, map.clone(), width)?;
            Ok(match params {
                None => Box::new(learner) as Box<dyn Learner>,
                Some(params) => {
                    let survey = Survey::new(dimension, epsilon, params);
                    Box::new(Surveyed::new(learner, survey, mix(seed, 1)))
                }
            })
        };
        Ok(Box::new(Stepped::new(name, &environment, start).promising(guarantee.simulated())))
    }

    fn public(
        &self,
        rounds: u64,
        name: String,
        (reach, width): (f64, Width),
    ) -> Result<Box<dyn RunnableAlgorithm>> {
        let sizes = self.law.sizes(self.dimension)?;
        self.mapped(rounds, name, Map::Public { sizes, reach }, width, None)
    }

    fn whitened(
        &self,
        rounds: u64,
        name: String,
        (whitening, width): (Whitening, Width),
    ) -> Result<Box<dyn RunnableAlgorithm>> {
        self.mapped(rounds, name, Map::Learnt(whitening), width, None)
    }

    fn surveyed(
        &self,
        rounds: u64,
        name: String,
        (params, width): (SurveyParams, Width),
    ) -> Result<Box<dyn RunnableAlgorithm>> {
        let never = Map::Learnt(whitening(1.0, f64::INFINITY, 0.0));
        self.mapped(rounds, name, never, width, Some(params))
    }

    fn algorithms(&self, rounds: u64, tuned: &Tuned) -> Result<Vec<Box<dyn RunnableAlgorithm>>> {
        let environment = self.law.environment(self.dimension, rounds)?;
        let (whitening, width) = tuned.whitened;
        let never = Whitening { gate: f64::INFINITY, ..whitening };
        Ok(vec![
            Algorithm::Linucb(LinUcbToml::named(NONE)).prepare(&environment)?,
            self.one_cap(rounds, ONE_CAP.into(), tuned.one_cap)?,
            self.axis(rounds, AXIS.into(), tuned.axis)?,
            self.public(rounds, PUBLIC.into(), tuned.public)?,
            self.whitened(rounds, WHITENED.into(), tuned.whitened)?,
            self.surveyed(rounds, SURVEYED.into(), tuned.surveyed)?,
            self.whitened(rounds, CONTROL.into(), (never, width))?,
        ])
    }
}

/// One choice for all environments. Longer results are tuned on more people: how far to whiten depends on how many there are.
fn tuned(extent: Extent) -> Result<Tuned> {
    let (rounds, epsilons, trials): (u64, &[f64], u64) = match extent {
        Extent::Quick => (10_000, &[4.0, 8.0], 4),
        Extent::Full => (100_000, &[1.0, 4.0, 8.0], 2),
    };
    let at = |law, epsilon| (Problem { law, dimension: 5, epsilon }, rounds);
    let all: Vec<(Problem, u64)> = epsilons
        .iter()
        .flat_map(|&epsilon| ArmLaw::ALL.into_iter().map(move |law| at(law, epsilon)))
        .collect();
    Ok(Tuned {
        one_cap: tune(&BONUSES, &all, trials, Problem::one_cap)?,
        axis: tune(&BONUSES, &all, trials, Problem::axis)?,
        public: tune(&PUBLIC_CHOICES, &all, trials, Problem::public)?,
        whitened: tune(&WHITENINGS, &all, trials, Problem::whitened)?,
        surveyed: tune(&SURVEYS, &all, trials, Problem::surveyed)?,
    })
}

fn file_name(text: &str) -> String {
    text.replace(", ", "-").replace(" = ", "").replace(' ', "-")
}

/// One problem with a number of people.
struct Measured {
    problem: Problem,
    rounds: u64,
    summary: Summary,
}

impl Measured {
    fn new(
        stage: &Stage,
        model: &str,
        problem: Problem,
        (rounds, trials): (u64, u64),
        entrants: Vec<Box<dyn RunnableAlgorithm>>,
    ) -> Result<Self> {
        let name = format!("{model}, {}, {}", problem.law.name(), problem.kind(rounds));
        (stage.progress)(&name);
        let summary = Experiment::of(&name, rounds, trials, SEED, entrants)?.simulate(|_, _| ())?;
        summary.write(&stage.folder.join(file_name(&name)))?;
        Ok(Measured { problem, rounds, summary })
    }

    fn kind(&self) -> String {
        self.problem.kind(self.rounds)
    }

    fn regret(&self, name: &str) -> Option<&Estimate> {
        self.summary.algorithm(name).map(|algorithm| &algorithm.final_regret)
    }
}

/// Dimension, epsilon, people and trials.
type Size = (usize, f64, u64, u64);

const QUICK: &[Size] = &[(5, 4.0, 20_000, 8)];
const FULL: &[Size] = &[
    (5, 1.0, 100_000, 12),
    (5, 4.0, 100_000, 12),
    (5, 8.0, 100_000, 12),
    (5, 4.0, 1_000_000, 6),
    (20, 1.0, 100_000, 6),
    (20, 4.0, 100_000, 6),
    (20, 8.0, 100_000, 6),
];

/// The experiment.
pub fn whitening_of_features(stage: &Stage) -> Result<Vec<Claim>> {
    let sizes = match stage.extent {
        Extent::Quick => QUICK,
        Extent::Full => FULL,
    };
    (stage.progress)("tuning on other seeds");
    let tuned = tuned(stage.extent)?;
    let mut all = Vec::new();
    for &(dimension, epsilon, rounds, trials) in sizes {
        for law in ArmLaw::ALL {
            let problem = Problem { law, dimension, epsilon };
            let entrants = problem.algorithms(rounds, &tuned)?;
            all.push(Measured::new(stage, "local", problem, (rounds, trials), entrants)?);
        }
        report::write(stage.folder, "whitening.md", table(&all, &COLUMNS, &format!("{tuned:?}")))?;
    }
    for (name, figure) in figures(&all) {
        figure.write(stage.folder, &name)?;
    }
    let mut claims = claims(&all);
    claims.extend(growth::growth(stage, &tuned)?);
    claims.extend(curator::with_a_curator(stage)?);
    Ok(claims)
}

fn table(all: &[Measured], columns: &[&str], tuned: &str) -> String {
    let mut text = format!(
        "Regret: mean with its standard error; median; 95 % quantile. Tuned on other seeds to {tuned}.\n\n| environment | d | epsilon | people | trials | {} |\n|{}\n",
        columns.join(" | "),
        " --- |".repeat(columns.len() + 5)
    );
    for measured in all {
        let Problem { law, dimension, epsilon } = measured.problem;
        let cells = columns.iter().map(|name| measured.regret(name).map_or("-".into(), cell));
        let trials = measured.regret(NONE).map_or(0, |regret| regret.trials);
        text.push_str(&format!(
            "| {} | {dimension} | {epsilon} | {:e} | {trials} | {} |\n",
            law.name(),
            measured.rounds,
            cells.collect::<Vec<_>>().join(" | ")
        ));
    }
    text
}

/// A figure for each dimension, epsilon and number of people: regret in units of the median of one cap, a panel for each learner and a row for each environment.
fn figures(all: &[Measured]) -> Vec<(String, Figure)> {
    let mut kinds: Vec<String> = all.iter().map(Measured::kind).collect();
    kinds.dedup();
    kinds.into_iter().map(|kind| figure(&kind, all)).collect()
}

fn figure(kind: &str, all: &[Measured]) -> (String, Figure) {
    let here: Vec<&Measured> = all.iter().filter(|measured| measured.kind() == kind).collect();
    let panel = |(colour, name): (usize, &&str)| {
        let row = |(row, measured): (usize, &&Measured)| {
            let (unit, regret) = (measured.regret(ONE_CAP)?.median, measured.regret(name)?);
            Some(Series {
                name: measured.problem.law.name().into(),
                colour,
                line: Line::Interval,
                points: vec![(regret.median / unit, -(row as f64))],
                band: vec![(regret.percentile_5 / unit, regret.percentile_95 / unit)],
                ..Series::default()
            })
        };
        let level = Series {
            name: ONE_CAP.into(),
            colour: 3,
            line: Line::Dashed,
            points: vec![(1.0, 0.5), (1.0, 0.5 - here.len() as f64)],
            ..Series::default()
        };
        let rows = here.iter().enumerate().filter_map(row);
        Panel { title: name.to_string(), series: rows.chain([level]).collect() }
    };
    let panels = COLUMNS[2..].iter().enumerate().map(panel).collect();
    let x = "regret by that of one cap, 5 to 95 %".to_string();
    let axes = ((x, Scale::Logarithmic), (String::new(), Scale::Rows));
    let title = format!("Local privacy, {kind}: gains and losses of whitening");
    let figure = Figure { panels, ..Figure::of(title, axes.0, axes.1, Vec::new()) };
    (format!("whitening-{}", file_name(kind)), figure)
}

fn claims(all: &[Measured]) -> Vec<Claim> {
    const PAIRS: [(&str, &str); 5] = [
        (AXIS, ONE_CAP),
        (PUBLIC, AXIS),
        (WHITENED, ONE_CAP),
        (WHITENED, AXIS),
        (WHITENED, PUBLIC),
    ];
    let certificate = "every private learner has the same certificate: (epsilon, 1e-6) for one report of one person";
    claims_of(all, certificate, &PAIRS)
}

/// That certificates are those asked for, and which learners lose less than which.
fn claims_of(all: &[Measured], certificate: &str, pairs: &[(&str, &str)]) -> Vec<Claim> {
    let shares = all.iter().flat_map(|measured| {
        let guarantees = measured.summary.algorithms.iter().filter_map(|a| a.guarantee.as_ref());
        guarantees.map(|guarantee| guarantee.epsilon() / measured.problem.epsilon)
    });
    let mut claims = vec![certified(certificate, shares)];
    for &(name, other) in pairs {
        let places = all.iter().filter_map(|measured| {
            let (one, two) = (measured.regret(name)?, measured.regret(other)?);
            Some((format!("{}, {}", measured.problem.law.name(), measured.kind()), one, two))
        });
        let expected = "a gain where features are badly conditioned";
        claims.push(compared((name, other), places, expected));
    }
    claims
}
