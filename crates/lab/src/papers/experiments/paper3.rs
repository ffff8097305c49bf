//! Zibaie, Hutchinson, Pedarsani and Alizadeh, "The safety-privacy tradeoff in linear bandits", Appendix E and Theorem 3.
//!
//! Appendix E gives no T', and the T' of the paper's own theory exceeds its horizon. The order of the privacy vectors depends on it, on where the exploration draws its actions, and on the norm
//! in line 18: the figures are drawn with [`MAIN`], and repeated with [`OTHERS`].

use reticent::{
    privacy::Mode,
    safe::{Confidence, Simplex},
};

use super::{Claim, Extent, Judgement, OURS, Stage};
use crate::{
    FastNoise, Result,
    algorithm::safe::{
        AgentsToml, Algorithm, Budget, CoordinatorToml, Environment, ExplorationSet, Optimism,
        SafeBandits, Sensitivity,
    },
    experiment::ExperimentToml,
    papers::constants::safe::Published,
    report::{
        figure::{Figure, Scale, Series},
        summary::{AlgorithmSummary, Estimate, Summary},
    },
};
use reticent::noise::Noise;

type Experiment = ExperimentToml<Environment, Algorithm>;

/// The six privacy vectors; the first is a*, the last its opposite.
const VECTORS: [[f64; 3]; 6] = [
    [1.0, 0.25, 0.5],
    [1.0, 0.5, 0.25],
    [0.5, 0.25, 1.0],
    [0.5, 1.0, 0.25],
    [0.25, 0.5, 1.0],
    [0.25, 1.0, 0.5],
];
/// The paper's budget.
const PUBLISHED: Budget = Budget { epsilon: 2.0, delta: 0.9, responses: None };
/// The certificate that the paper's noise really has at sensitivity 1.
const CERTIFICATE: Budget = Budget { epsilon: 13.0, delta: 1e-5, responses: None };

fn name(levels: &[f64; 3]) -> String {
    format!("a = ({}, {}, {})", levels[0], levels[1], levels[2])
}

/// Choices that the paper leaves open in Algorithm 1.
#[derive(Clone, Copy)]
struct Variant {
    /// T'.
    exploration: u64,
    set: ExplorationSet,
    optimism: Optimism,
}

/// The variant of the figures.
const MAIN: Variant =
    Variant { exploration: 8_500, set: ExplorationSet::Spheres, optimism: Optimism::Exact };
/// Exploration from (21), the same with line 18 as Appendix E computes it, and less exploration.
const OTHERS: [Variant; 3] = [
    Variant { set: ExplorationSet::JointBall, ..MAIN },
    Variant { set: ExplorationSet::JointBall, optimism: Optimism::SupNorm, ..MAIN },
    Variant { exploration: 500, ..MAIN },
];

impl Variant {
    fn words(self) -> String {
        let set = match self.set {
            ExplorationSet::Spheres => "spheres",
            ExplorationSet::JointBall => "joint ball",
        };
        let norm = match self.optimism {
            Optimism::Exact => "",
            Optimism::SupNorm => ", sup norm",
        };
        format!("{set}{norm}, T' = {}", self.exploration)
    }

    /// The six vectors.
    fn algorithms(self) -> Vec<Algorithm> {
        VECTORS.iter().map(|levels| self.published(levels)).collect()
    }

    /// Algorithm 1 with the paper's noise and widths, for one privacy vector.
    fn published(self, levels: &[f64; 3]) -> Algorithm {
        Algorithm::Ofu(CoordinatorToml {
            privacy: Some(PUBLISHED),
            mode: Mode::Paper,
            levels: Some(levels.to_vec()),
            sensitivity: Sensitivity::Common(1.0),
            confidence: Confidence::Paper,
            exploration: self.exploration,
            exploration_set: self.set,
            optimism: self.optimism,
            ..CoordinatorToml::named(name(levels))
        })
    }
}

impl Stage<'_> {
    fn coordinate(
        &self,
        setup: u8,
        (rounds, trials): (u64, u64),
        (what, algorithm): (&str, Vec<Algorithm>),
    ) -> Result<Summary> {
        let title = format!("paper 3, setup {setup}, {what}");
        (self.progress)(&title);
        let experiment = Experiment {
            name: title,
            rounds,
            trials,
            seed: self.seed(3),
            environment: Environment::Agents(Box::new(AgentsToml::setup(setup))),
            algorithm,
            figure: Default::default(),
        };
        let part = what.replace([' ', ',', '=', '\''], "");
        let folder = self.folder.join(format!("setup{setup}-{part}"));
        experiment.check::<SafeBandits>()?.run(&folder, |_, _| ())
    }
}

/// The mean of a counter over everything that ran.
fn measured(summary: &Summary, what: &str) -> f64 {
    let of = |measures: &Vec<(&'static str, Estimate)>| {
        measures.iter().find(|measure| measure.0 == what).map_or(f64::NAN, |measure| measure.1.mean)
    };
    summary.algorithms.iter().map(|algorithm| of(&algorithm.measures)).sum::<f64>()
}

fn no_violation(summaries: &[Summary]) -> Claim {
    let runs = summaries.iter().flat_map(|summary| &summary.algorithms);
    let trials = runs.map(|algorithm| algorithm.final_regret.trials).min().unwrap_or(0);
    let violations: f64 = summaries.iter().map(|s| measured(s, "safety violations")).sum();
    Claim {
        claim: "mean responses stay in the safe set in every round of every run".into(),
        judgement: Judgement::in_every_trial(violations == 0.0, trials),
        measured: format!("{violations} violations"),
        expected: "none".into(),
    }
}

fn privacy_claim(summary: &Summary) -> Claim {
    let claims = summary.algorithms[0].certificates.iter();
    let broken: Vec<String> = claims
        .filter(|certificate| certificate.whom.ends_with("one response"))
        .filter_map(|certificate| {
            let claim = certificate.guarantee.claimed()?;
            (!claim.holds()).then(|| {
                format!(
                    "{}: delta {:.5} at epsilon {}",
                    certificate.whom, claim.true_delta, claim.epsilon
                )
            })
        })
        .collect();
    Claim {
        claim: "agent m's response is (2 / alpha_m, 0.9)-locally private".into(),
        judgement: Judgement::privacy(broken.is_empty()),
        measured: if broken.is_empty() { "holds".into() } else { broken.join("; ") },
        expected: "delta 0.9; the classic formula is proved below epsilon = 1 only".into(),
    }
}

fn scale(extent: Extent) -> (u64, u64) {
    match extent {
        Extent::Quick => (30_000, 4),
        Extent::Full => (30_000, 20),
    }
}

/// Figure 2: the six vectors in setup 1, whose best point is the sharpest corner.
pub fn figure2(stage: &Stage) -> Result<Vec<Claim>> {
    let run = |variant: Variant| {
        let vectors = (&*variant.words(), variant.algorithms());
        stage.coordinate(1, scale(stage.extent), vectors)
    };
    let summary = run(MAIN)?;
    let (regrets, list) = finals(&summary);
    let at = MAIN.words();
    let pairs = [(2, 0), (2, 1), (3, 0), (3, 1), (4, 2), (4, 3), (5, 2), (5, 3)];
    let mut claims = vec![
        Claim {
            claim: format!(
                "regret rises with the noise of the agent that is aligned with the optimum (setup 1, {at}): alpha_1 = 1 loses more than 1/2, and 1/2 more than 1/4"
            ),
            judgement: Judgement::all(
                pairs.map(|(less, more)| Judgement::below(regrets[less], regrets[more])),
            ),
            measured: list.join("; "),
            expected: "in all setups, in the paper's words".into(),
        },
        Claim {
            claim: format!("a* = (1, 1/4, 1/2) has the least regret of all six (setup 1, {at})"),
            judgement: Judgement::all(
                regrets[1..].iter().map(|other| Judgement::below(regrets[0], *other)),
            ),
            measured: list[0].clone(),
            expected: "contradicts the claim above, by which alpha_1 = 1 loses most".into(),
        },
        better_of_two(&at, &regrets, &list),
    ];
    for variant in OTHERS {
        let (regrets, list) = finals(&run(variant)?);
        claims.push(better_of_two(&variant.words(), &regrets, &list));
    }
    claims.push(no_violation(std::slice::from_ref(&summary)));
    claims.push(privacy_claim(&summary));
    Ok(claims)
}

/// The final regrets, as numbers and as text.
fn finals(summary: &Summary) -> (Vec<Estimate>, Vec<String>) {
    let text = |a: &AlgorithmSummary| {
        let Estimate { mean, standard_error, .. } = a.final_regret;
        format!("{} {mean:.0} +- {standard_error:.0}", a.name)
    };
    let all = &summary.algorithms;
    (all.iter().map(|a| a.final_regret).collect(), all.iter().map(text).collect())
}

/// The claims of Figure 2, read with the sentence on the aligned agent.
fn better_of_two(at: &str, regrets: &[Estimate], list: &[String]) -> Claim {
    Claim {
        claim: format!("of the two vectors with alpha_1 = 1, a* loses less (setup 1, {at})"),
        judgement: Judgement::below(regrets[0], regrets[1]),
        measured: format!("{}; {}", list[0], list[1]),
        expected: "less".into(),
    }
}

/// Normalised regret of the six vectors in one variant, averaged over the three setups.
struct Averaged {
    curves: Vec<Vec<(f64, f64)>>,
    errors: Vec<f64>,
    trials: usize,
    summaries: Vec<Summary>,
}

impl Averaged {
    fn run(stage: &Stage, variant: Variant) -> Result<Self> {
        let (what, vectors) = (variant.words(), variant.algorithms());
        let mut summaries = Vec::new();
        for setup in 1..=3 {
            let vectors = (what.as_str(), vectors.clone());
            summaries.push(stage.coordinate(setup, scale(stage.extent), vectors)?);
        }
        let nothing =
            |summary: &Summary| measured(summary, "regret of doing nothing") / VECTORS.len() as f64;
        let average = |vector: usize| {
            let mut curve: Vec<(f64, f64)> = Vec::new();
            for summary in &summaries {
                let (algorithm, nothing) = (&summary.algorithms[vector], nothing(summary));
                let points =
                    algorithm.curve.iter().map(|(round, e)| (*round as f64, e.mean / nothing));
                if curve.is_empty() {
                    curve = points.map(|(round, y)| (round, y / 3.0)).collect();
                } else {
                    curve.iter_mut().zip(points).for_each(|(sum, (_, y))| sum.1 += y / 3.0);
                }
            }
            curve
        };
        let error = |vector: usize| {
            let squares = summaries.iter().map(|summary| {
                let error = summary.algorithms[vector].final_regret.standard_error;
                (error / nothing(summary) / 3.0).powi(2)
            });
            squares.sum::<f64>().sqrt()
        };
        let curves = (0..VECTORS.len()).map(average).collect();
        let errors = (0..VECTORS.len()).map(error).collect();
        let trials = summaries[0].algorithms[0].final_regret.trials;
        Ok(Averaged { curves, errors, trials, summaries })
    }

    /// The regret at the end.
    fn last(&self, vector: usize) -> f64 {
        self.curves[vector].last().map_or(f64::NAN, |point| point.1)
    }

    /// The claim that one vector loses less than another.
    fn less(&self, one: usize, two: usize) -> Judgement {
        let error = self.errors[one].hypot(self.errors[two]);
        Judgement::positive(self.last(two) - self.last(one), error, self.trials)
    }

    fn text(&self, vector: usize) -> String {
        format!("{} {:.4} +- {:.4}", name(&VECTORS[vector]), self.last(vector), self.errors[vector])
    }

    fn list(&self) -> String {
        (0..VECTORS.len()).map(|vector| self.text(vector)).collect::<Vec<_>>().join("; ")
    }

    /// The claims on the least and the most.
    fn claims(&self, at: &str) -> Vec<Claim> {
        let by = |one: &usize, other: &usize| self.last(*one).total_cmp(&self.last(*other));
        let most = (0..VECTORS.len()).max_by(by).unwrap_or(0);
        vec![
            Claim {
                claim: format!("a* has the least average normalised regret ({at})"),
                judgement: Judgement::all((1..6).map(|other| self.less(0, other))),
                measured: self.list(),
                expected: "a* least".into(),
            },
            Claim {
                claim: format!("the opposite order (1/4, 1, 1/2) has the most ({at})"),
                judgement: Judgement::all((0..5).map(|other| self.less(other, 5))),
                measured: format!("most: {}", self.text(most)),
                expected: "(1/4, 1, 1/2) most".into(),
            },
        ]
    }
}

/// Figures 1 and 3: regret over that of doing nothing, averaged over the three setups.
pub fn figure3(stage: &Stage) -> Result<Vec<Claim>> {
    let averaged = Averaged::run(stage, MAIN)?;
    let at = MAIN.words();
    let series = averaged.curves.iter().enumerate().map(|(colour, points)| Series {
        name: name(&VECTORS[colour]),
        colour,
        points: points.clone(),
        ..Series::default()
    });
    let figure = Figure::of(
        format!("paper 3, Figures 1 and 3: normalised regret averaged over three setups, {at}"),
        ("round".into(), Scale::Linear),
        ("regret over that of doing nothing".into(), Scale::Linear),
        series.collect(),
    );
    figure.write(stage.folder, "average")?;
    let mut claims = averaged.claims(&at);
    for variant in OTHERS {
        claims.extend(Averaged::run(stage, variant)?.claims(&variant.words()));
    }
    claims.push(no_violation(&averaged.summaries));
    claims.push(privacy_claim(&averaged.summaries[0]));
    Ok(claims)
}

/// Equal certificate: every algorithm has the privacy that the paper's noise really gives, T = 200 000.
pub fn certificate(stage: &Stage) -> Result<Vec<Claim>> {
    let (rounds, trials) = match stage.extent {
        Extent::Quick => (200_000, 2),
        Extent::Full => (200_000, 10),
    };
    let with = |name: &str, confidence, sensitivity| CoordinatorToml {
        privacy: Some(CERTIFICATE),
        confidence,
        sensitivity,
        ..CoordinatorToml::named(name)
    };
    let algorithms = vec![
        // What the widest agent needs, for everybody: 1, and six deviations of its noise on either side.
        Algorithm::Ofu(with("OFU, paper", Confidence::Paper, Sensitivity::Common(1.012))),
        Algorithm::Ofu(with("OFU, tight", Confidence::Tight, Sensitivity::PerAgent)),
        Algorithm::Roful(with("ROFUL, tight", Confidence::Tight, Sensitivity::PerAgent)),
    ];
    let (mut claims, mut summaries) = (Vec::new(), Vec::new());
    for setup in 1..=3_u8 {
        let summary =
            stage.coordinate(setup, (rounds, trials), ("equal certificate", algorithms.clone()))?;
        let regrets: Vec<Estimate> = summary.algorithms.iter().map(|a| a.final_regret).collect();
        let text = |e: &Estimate| format!("{:.0} +- {:.0}", e.mean, e.standard_error);
        claims.push(Claim {
            claim: format!("{OURS}setup {setup}: ROFUL with tight widths has at most half the regret of OFU with the paper's, at equal certificate"),
            judgement: Judgement::times_below(2.0, regrets[2], regrets[0]),
            measured: format!(
                "OFU paper {}, OFU tight {}, ROFUL tight {}: ratio {:.2}",
                text(&regrets[0]),
                text(&regrets[1]),
                text(&regrets[2]),
                regrets[2].mean / regrets[0].mean
            ),
            expected: "a ratio of at most 0.5".into(),
        });
        summaries.push(summary);
    }
    let safe = no_violation(&summaries);
    claims.push(Claim { claim: format!("{OURS}{}", safe.claim), ..safe });
    Ok(claims)
}

/// Theorem 3 on random instances: r(a*) = U, nothing can be raised alone, and the threshold of feasibility is exact.
pub fn theorem3(stage: &Stage) -> Result<Vec<Claim>> {
    let instances = match stage.extent {
        Extent::Quick => 2_000,
        Extent::Full => 100_000,
    };
    (stage.progress)("random instances");
    let mut noise = FastNoise::seeded(stage.seed(33));
    let (mut worst, mut cheapest, mut thresholds) = (0.0_f64, f64::INFINITY, 0_u64);
    for _ in 0..instances {
        let agents = 1 + noise.below(8) as usize;
        let mut between = |low: f64, high: f64| low + (high - low) * noise.uniform();
        let reaches: Vec<f64> = (0..agents).map(|_| between(0.1, 3.0)).collect();
        let simplex = Simplex::new(&reaches)?;
        let published = Published {
            dimension: 1 + between(0.0, 8.0) as usize,
            lipschitz: between(0.1, 3.0),
            action_bound: between(0.1, 3.0),
            parameter_bound: between(0.1, 3.0),
            response_noise: between(0.001, 0.3),
            sigma: between(0.05, 3.0),
            eigenvalue: between(0.001, 0.5),
            regularizer: 0.1,
            failure: 0.01,
        };
        let smallest = published.smallest_budget(&simplex)?;
        let budget = smallest * between(1.001, 3.0);
        let levels = published.unimprovable(&simplex, budget)?;
        worst = worst.max((published.rate(&simplex, &levels)? / budget - 1.0).abs());
        for agent in 0..agents {
            let mut raised = levels.clone();
            raised[agent] = raised[agent] * 1.01 + 1e-9;
            cheapest = cheapest.min(published.rate(&simplex, &raised)? / budget - 1.0);
        }
        let at = published.unimprovable(&simplex, smallest).is_ok();
        let below = published.unimprovable(&simplex, smallest * (1.0 - 1e-9)).is_err();
        thresholds += u64::from(at && below);
    }
    Ok(vec![
        Claim {
            claim: "r(a*) = U".into(),
            judgement: Judgement::computed(worst <= 1e-12),
            measured: format!("|r(a*)/U - 1| <= {worst:.1e} over {instances} instances"),
            expected: "at most 1e-12".into(),
        },
        Claim {
            claim: "no agent's privacy can be raised alone within U".into(),
            judgement: Judgement::computed(cheapest > 0.0),
            measured: format!("one percent more noise for one agent exceeds U by {cheapest:.1e} or more, relatively"),
            expected: "above 0".into(),
        },
        Claim {
            claim: "infeasible exactly when U^3 < R^2 (max c/min c)^2 8 L^3 K^3 d M^(3/2) (2S/lambda + sqrt(4M-3))^3".into(),
            judgement: Judgement::computed(thresholds == instances),
            measured: format!("feasible at the threshold and not 1e-9 below it in {thresholds} of {instances} instances"),
            expected: "all of them".into(),
        },
    ])
}
