//! Van der Hoeven, "User-Specified Local Differential Privacy in Unconstrained Adaptive Online Learning" (2019).
//!
//! The paper has theorems and two scenarios in words (section 3.4), no experiments. Here the scenarios have absolute loss, `|u| = 3`, labels with a deviation of 0.1, and features on
//! the sphere or sparse. Learners that descend step by `1/sqrt(sum ||g||^2)`, and by `sqrt 2` times that: both are run. The theorems are in `bounds`.

use reticent::online::{Geometry, Loss, Method, Prior};

use super::{Claim, Extent, Judgement, Stage};
use crate::{
    Result,
    algorithm::online::{
        Algorithm, Features, GradientEnvironment, GradientToml, KnownNoiseToml, MethodToml,
        OnlineGradients, OnlineLearnerToml, Privacy, RandomizerName, ZeroToml,
    },
    experiment::ExperimentToml,
    report::{
        html as report,
        html::Report,
        summary::{Estimate, Summary},
    },
};

mod bounds;

pub use bounds::bounds;

const ROUNDS: u64 = 20_000;
const STEP: f64 = std::f64::consts::SQRT_2;

impl Stage<'_> {
    fn gradients(
        &self,
        name: &str,
        lines: GradientToml,
        trials: (u64, u64),
        algorithm: Vec<Algorithm>,
    ) -> Result<Summary> {
        (self.progress)(name);
        let trials = match self.extent {
            Extent::Quick => trials.0,
            Extent::Full => trials.1,
        };
        let environment = GradientEnvironment::Gradients(lines);
        let folder = name.replace([' ', ','], "-").replace("--", "-");
        let name = name.to_string();
        let experiment = ExperimentToml {
            name,
            rounds: ROUNDS,
            trials,
            seed: self.seed(2),
            environment,
            algorithm,
            figure: Default::default(),
        };
        experiment.check::<OnlineGradients>()?.run(&self.folder.join(folder), |_, _| ())
    }
}

fn regret(summary: &Summary, name: &str) -> Estimate {
    let found = summary.algorithms.iter().find(|algorithm| algorithm.name == name);
    found.map_or(Estimate::of(&[f64::NAN]), |algorithm| algorithm.final_regret)
}

fn text(estimate: Estimate) -> String {
    format!("{:.0} +- {:.0}", estimate.mean, estimate.standard_error)
}

/// The learners of the first scenario.
const SCENARIO_1: [&str; 6] = [
    "Algorithm 2, conjugate",
    "Algorithm 2, improper",
    "gradient descent, true D",
    "gradient descent, 10 D",
    "knows the largest noise",
    PLAYING_0,
];

/// A learner by its row's name.
fn learner(row: &str, privacy: &Option<Privacy>, method: impl Into<MethodToml>) -> Algorithm {
    let (name, privacy, method) = (Some(row.into()), privacy.clone(), method.into());
    Algorithm::OnlineLearner(OnlineLearnerToml { name, privacy, method })
}

const BALL: Geometry = Geometry::Ball;
const IMPROPER_2: Method = Method::Reduction { prior: Prior::Improper, geometry: BALL, step: 1.0 };
const IMPROPER_3: Method = Method::Coordinatewise { prior: Prior::Improper };
const IMPROPER_SUM: Method = Method::Sum { prior: Prior::Improper, geometry: BALL, step: 1.0 };

fn scenario_1(privacy: Option<Privacy>) -> Vec<Algorithm> {
    let with_steps = |step: f64| {
        let [conjugate, improper, true_radius, wrong_radius, knowing, _] =
            SCENARIO_1.map(|row| title(row, step));
        let reduction = |prior| Method::Reduction { prior, geometry: BALL, step };
        let descent = |radius| Method::GradientDescent { radius, step };
        let known_noise = KnownNoiseToml { deviation: None, step };
        [
            learner(&conjugate, &privacy, reduction(Prior::default())),
            learner(&improper, &privacy, reduction(Prior::Improper)),
            learner(&true_radius, &privacy, descent(3.0)),
            learner(&wrong_radius, &privacy, descent(30.0)),
            learner(&knowing, &privacy, MethodToml::KnownNoise { known_noise }),
        ]
    };
    let zero = ZeroToml { name: Some(PLAYING_0.into()), privacy: privacy.clone() };
    let mut algorithms = Vec::from(with_steps(STEP));
    algorithms.push(Algorithm::Zero(zero));
    algorithms.extend(with_steps(1.0));
    algorithms.push(learner(COORDINATES, &privacy, IMPROPER_3));
    algorithms.push(learner(SUM, &privacy, IMPROPER_SUM));
    algorithms
}

/// Name of the row of a learner with steps of this size.
fn title(row: &str, step: f64) -> String {
    if step == STEP || row == PLAYING_0 { row.into() } else { format!("{row}, step 1") }
}

const PLAYING_0: &str = "playing 0";
const COORDINATES: &str = "Algorithm 3, improper";
const SUM: &str = "sum of 2 and 3, improper";

/// Many people without privacy, few with.
pub fn scenario1(stage: &Stage) -> Result<Vec<Claim>> {
    let crowds = [
        ("non-private", None),
        ("10 of 20000 private", Some(Privacy { people: Some(10), ..Privacy::everybody(1.0) })),
        ("all private", Some(Privacy::everybody(1.0))),
    ];
    let mut columns = Vec::new();
    for (name, privacy) in crowds {
        let lines = GradientToml::sphere(10);
        columns.push(stage.gradients(name, lines, (10, 40), scenario_1(privacy))?);
    }
    let mut claims = Vec::new();
    let [none, few, all] = &columns[..] else { return Ok(claims) };
    for name in [SCENARIO_1[0], SCENARIO_1[1], SUM] {
        let found = [none, few, all].map(|column| regret(column, name));
        let [none, few, all] = found.map(|estimate| estimate.mean);
        // Positive if the ten people cost less than a twentieth of what all cost.
        let weights = [0.95, -1.0, 0.05];
        let weighted =
            |of: fn(&Estimate) -> f64| std::array::from_fn(|i| weights[i] * of(&found[i]));
        let means: [f64; 3] = weighted(|estimate| estimate.mean);
        let errors: [f64; 3] = weighted(|estimate| estimate.standard_error);
        let error = errors.iter().map(|error| error * error).sum::<f64>().sqrt();
        claims.push(Claim {
            claim: format!(
                "section 3.4: {name} pays for the ten people who want privacy, not as if all did"
            ),
            judgement: Judgement::positive(means.iter().sum(), error, found[1].trials),
            measured: format!(
                "{none:.0} without them, {few:.0} with them, {all:.0} if all were private"
            ),
            expected: "less than a twentieth of what privacy for all costs".into(),
        });
    }
    let (knowing, zero) = (regret(few, SCENARIO_1[4]), regret(few, SCENARIO_1[5]));
    claims.push(Claim {
        claim: "a learner that counts on the largest noise in every round learns nothing once ten people want privacy".into(),
        judgement: Judgement::times_below(0.95, zero, knowing),
        measured: format!("{} against {} for playing 0", text(knowing), text(zero)),
        expected: "the regret of playing 0".into(),
    });
    write_table(stage, &columns)?;
    Ok(claims)
}

fn write_table(stage: &Stage, columns: &[Summary]) -> Result<()> {
    let mut rows = Vec::new();
    for algorithm in &columns[0].algorithms {
        let mut row = vec![algorithm.name.clone()];
        row.extend(columns.iter().map(|column| text(regret(column, &algorithm.name))));
        rows.push(row);
    }
    let header: Vec<String> = std::iter::once("regret".to_string())
        .chain(columns.iter().map(|column| column.name.clone()))
        .collect();
    let titles: Vec<&str> = header.iter().map(String::as_str).collect();
    let mut page = Report::new("paper 2");
    page.table(&titles, &rows);
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let rule: Vec<String> = header.iter().map(|_| "---".to_string()).collect();
    let body: String = rows.iter().map(|row| line(row)).collect();
    report::write(stage.folder, "table.md", format!("{}{}{body}", line(&header), line(&rule)))?;
    report::write(stage.folder, "table.html", page.html())
}

/// Sparse gradients and a level for every attribute.
pub fn scenario2(stage: &Stage) -> Result<Vec<Claim>> {
    let sparse = GradientToml {
        features: Features::Sparse,
        nonzeros: Some(2),
        support: Some(3),
        loss: Loss::Absolute,
        ..GradientToml::sphere(50)
    };
    let names = ["even split", "calibrated to l1", "K-norm", "non-private"];
    let privacy = |name: &str| {
        let randomizer = match name {
            "even split" => RandomizerName::EvenLaplace,
            "calibrated to l1" => RandomizerName::L1Laplace,
            "K-norm" => RandomizerName::KNorm,
            _ => return None,
        };
        Some(Privacy { randomizer, ..Privacy::everybody(4.0) })
    };
    let algorithms = |name: &str| {
        let privacy = privacy(name);
        let adagrad = |radius| Method::Adagrad { radius, step: STEP };
        vec![
            learner(COORDINATES, &privacy, IMPROPER_3),
            learner("Algorithm 2, improper", &privacy, IMPROPER_2),
            learner(SUM, &privacy, IMPROPER_SUM),
            learner("AdaGrad, true D", &privacy, adagrad(3f64.sqrt())),
            learner("AdaGrad, 10 D", &privacy, adagrad(10.0 * 3f64.sqrt())),
            Algorithm::Zero(ZeroToml { name: Some(PLAYING_0.into()), privacy: None }),
        ]
    };
    let mut columns = Vec::new();
    for name in names {
        columns.push(stage.gradients(name, sparse, (6, 24), algorithms(name))?);
    }
    let popular = GradientToml { popularity: 0.5, ..sparse };
    for name in ["even split", "calibrated to l1"] {
        let title = format!("{name}, some features popular");
        columns.push(stage.gradients(&title, popular, (6, 24), algorithms(name))?);
    }
    write_table(stage, &columns)?;
    let third = "Algorithm 3, improper";
    let at = |column: usize, name: &str| regret(&columns[column], name);
    let (even, l1) = (at(0, third), at(1, third));
    Ok(vec![
        Claim {
            claim: "noise calibrated to l1 is better than an even split of the budget".into(),
            judgement: Judgement::all([
                Judgement::below(l1, even),
                Judgement::times_below(2.0, at(5, third), at(4, third)),
            ]),
            measured: format!(
                "{} against {}, {} against {}",
                text(l1),
                text(even),
                text(at(5, third)),
                text(at(4, third))
            ),
            expected: "less".into(),
        },
        Claim {
            claim: "section 3.4: Algorithm 3 beats AdaGrad when D is guessed ten times too large"
                .into(),
            judgement: Judgement::all(
                (0..columns.len()).map(|c| Judgement::below(at(c, third), at(c, "AdaGrad, 10 D"))),
            ),
            measured: format!(
                "calibrated to l1: {} against {}; non-private: {} against {}",
                text(l1),
                text(at(1, "AdaGrad, 10 D")),
                text(at(3, third)),
                text(at(3, "AdaGrad, 10 D"))
            ),
            expected: "less in every setting".into(),
        },
        Claim {
            claim: "the sum of Algorithms 2 and 3 tracks the better of both".into(),
            judgement: Judgement::all((0..columns.len()).map(|c| {
                let [three, two] = [at(c, third), at(c, "Algorithm 2, improper")];
                let best = if three.mean < two.mean { three } else { two };
                let sum = at(c, SUM);
                let error = sum.standard_error.hypot(1.1 * best.standard_error);
                Judgement::positive(1.1 * best.mean + 20.0 - sum.mean, error, sum.trials)
            })),
            measured: (0..columns.len())
                .map(|c| {
                    format!(
                        "{:.0} ({:.0}, {:.0})",
                        at(c, SUM).mean,
                        at(c, "Algorithm 2, improper").mean,
                        at(c, third).mean
                    )
                })
                .collect::<Vec<_>>()
                .join("; "),
            expected: "at most a tenth and 20 above the better".into(),
        },
    ])
}
