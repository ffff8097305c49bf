//! The same comparison with a trusted curator: the noise of a sum has a fixed size too.
//!
//! The default of a curator beside the learner of [`super::learner`] with a curator's sums: features divided by public sizes, or whitened by a matrix learnt from releases.
//! All have the certificate of one running sum.

use reticent::{
    bandit::Rule,
    release::{Calibration, Domain, PrivateSumParams, Schedule},
};

use super::{
    super::contest::tune,
    DELTA, Measured, NONE, PUBLIC_CHOICES, Problem, Size, WHITENINGS, Whitening, Width,
    arm_laws::ArmLaw,
    claims_of,
    learner::{Map, Mapped},
    sums::Source,
    table,
};
use reticent_lab::{
    Result,
    algorithm::{
        RunnableAlgorithm,
        bandit::{Algorithm, JointToml, LinUcbToml, Stepped},
    },
    papers::{Claim, Extent, Stage},
    report::html as report,
};

const DEFAULT: &str = "a curator";
const PUBLIC: &str = "a curator, public sizes";
const WHITENED: &str = "a curator, whitened";
const COLUMNS: [&str; 4] = [NONE, DEFAULT, PUBLIC, WHITENED];

const QUICK: &[Size] = &[(5, 1.0, 20_000, 8)];
const FULL: &[Size] =
    &[(5, 1.0, 20_000, 32), (5, 8.0, 20_000, 32), (5, 1.0, 100_000, 12), (20, 1.0, 100_000, 6)];

/// Parameters found on other seeds.
#[derive(Debug, Clone, Copy)]
struct Tuned {
    bonus: f64,
    public: (f64, Width),
    whitened: (Whitening, Width),
}

fn default(
    problem: &Problem,
    rounds: u64,
    name: String,
    bonus: f64,
) -> Result<Box<dyn RunnableAlgorithm>> {
    let environment = problem.law.environment(problem.dimension, rounds)?;
    let rule = Some(Rule::Tuned { ridge: 3.0, bonus, width: 2.5 });
    let lines = JointToml { name: Some(name), rule, ..JointToml::new(problem.privacy()) };
    Algorithm::Joint(lines).prepare(&environment)
}

fn mapped(
    problem: &Problem,
    rounds: u64,
    name: String,
    map: Map,
    width: Width,
) -> Result<Box<dyn RunnableAlgorithm>> {
    let environment = problem.law.environment(problem.dimension, rounds)?;
    let bounds = environment.bounds;
    let domain = Domain::regression(problem.dimension, 1.0, 1.0);
    let budget = Calibration::Budget { epsilon: problem.epsilon, delta: DELTA };
    let schedule = Schedule::suited(problem.epsilon);
    let sums = PrivateSumParams { schedule, ..PrivateSumParams::new(domain, Some(rounds), budget) };
    let plan = sums.check()?;
    // Of one running sum: a person is in one.
    let guarantee = plan.guarantee(DELTA)?.simulated();
    let start = move |seed| {
        let source = Source::curator(plan.clone(), seed);
        Ok(Box::new(Mapped::new(bounds, source, map.clone(), width)?) as Box<_>)
    };
    Ok(Box::new(Stepped::new(name, &environment, start).promising(guarantee)))
}

fn public(
    problem: &Problem,
    rounds: u64,
    name: String,
    (reach, width): (f64, Width),
) -> Result<Box<dyn RunnableAlgorithm>> {
    let sizes = problem.law.sizes(problem.dimension)?;
    mapped(problem, rounds, name, Map::Public { sizes, reach }, width)
}

fn whitened(
    problem: &Problem,
    rounds: u64,
    name: String,
    (whitening, width): (Whitening, Width),
) -> Result<Box<dyn RunnableAlgorithm>> {
    mapped(problem, rounds, name, Map::Learnt(whitening), width)
}

/// At epsilon 1 with 10,000 people, for all results.
fn tuned() -> Result<Tuned> {
    let at = |law| (Problem { law, dimension: 5, epsilon: 1.0 }, 10_000);
    let all: Vec<(Problem, u64)> = ArmLaw::ALL.into_iter().map(at).collect();
    Ok(Tuned {
        bonus: tune(&super::BONUSES, &all, 4, default)?,
        public: tune(&PUBLIC_CHOICES, &all, 4, public)?,
        whitened: tune(&WHITENINGS, &all, 4, whitened)?,
    })
}

/// The experiment.
pub(super) fn with_a_curator(stage: &Stage) -> Result<Vec<Claim>> {
    let sizes = match stage.extent {
        Extent::Quick => QUICK,
        Extent::Full => FULL,
    };
    (stage.progress)("a curator: tuning on other seeds");
    let tuned = tuned()?;
    let mut all = Vec::new();
    for &(dimension, epsilon, rounds, trials) in sizes {
        for law in ArmLaw::ALL {
            let problem = Problem { law, dimension, epsilon };
            let environment = law.environment(dimension, rounds)?;
            let entrants = vec![
                Algorithm::Linucb(LinUcbToml::named(NONE)).prepare(&environment)?,
                default(&problem, rounds, DEFAULT.into(), tuned.bonus)?,
                public(&problem, rounds, PUBLIC.into(), tuned.public)?,
                whitened(&problem, rounds, WHITENED.into(), tuned.whitened)?,
            ];
            all.push(Measured::new(stage, "central", problem, (rounds, trials), entrants)?);
        }
        let text = table(&all, &COLUMNS, &format!("{tuned:?}"));
        report::write(stage.folder, "whitening_curator.md", text)?;
    }
    let certificate = "with a curator, every private learner has the same certificate";
    let pairs = [(PUBLIC, DEFAULT), (WHITENED, DEFAULT), (WHITENED, PUBLIC)];
    Ok(claims_of(&all, certificate, &pairs))
}
