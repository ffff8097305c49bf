//! Experiment 2 (section D.2, Figure 4): regret over time of the private variants, without and with a gap.

use super::{
    Claim, Experiment, Extent, Judgement, Stage, environment, horizon, not_private, published,
    regret, text,
};
use crate::{
    Result,
    algorithm::bandit::Algorithm,
    papers::constants::joint::PublishedNoise,
    report::{
        figure::{Figure, Panel, Scale, Series},
        summary::{Estimate, Summary},
    },
};

/// The private variants by the names of the authors, those of the paper first.
pub const VARIANTS: [(&str, PublishedNoise); 5] = [
    ("Gaussian", PublishedNoise::GaussianTree),
    ("Wishart", PublishedNoise::Wishart),
    ("WishartUnshifted", PublishedNoise::WishartUnshifted),
    ("Gaussian(Opt)", PublishedNoise::GaussianOpt),
    ("Wishart(Opt)", PublishedNoise::WishartOpt),
];
const NOT_PRIVATE: &str = "NonPrivate";
const GAPS: [f64; 2] = [0.0, 0.1];

fn trials(extent: Extent) -> u64 {
    match extent {
        Extent::Quick => 4,
        Extent::Full => 12,
    }
}

pub fn figure4(stage: &Stage) -> Result<Vec<Claim>> {
    let [without, with] = [run(stage, GAPS[0])?, run(stage, GAPS[1])?];
    draw(stage, &[&without, &with])?;
    let [public, gaussian, wishart, unshifted] =
        [NOT_PRIVATE, "Gaussian", "Wishart", "WishartUnshifted"]
            .map(|name| (regret(&without, name), regret(&with, name)));
    let error = unshifted.1.standard_error.hypot(wishart.1.standard_error);
    let apart = (wishart.1.mean - unshifted.1.mean).abs() / error;
    Ok(vec![
        Claim {
            claim: "NonPrivate cannot be distinguished from the x-axis".into(),
            judgement: Judgement::all([
                Judgement::times_below(20.0, public.0, gaussian.0),
                Judgement::times_below(20.0, public.1, gaussian.1),
            ]),
            measured: format!("{} without a gap, {} with", text(public.0), text(public.1)),
            expected: "below a twentieth of the Gaussian variant; authors: \"too small to be distinguished from the x-axis\"".into(),
        },
        Claim {
            claim: "the Gaussian variant beats both Wishart variants".into(),
            judgement: Judgement::all([wishart, unshifted].iter().flat_map(|other| {
                [Judgement::below(gaussian.0, other.0), Judgement::below(gaussian.1, other.1)]
            })),
            measured: format!(
                "no gap: {} against {} and {}; gap 0.1: {} against {} and {}",
                text(gaussian.0),
                text(wishart.0),
                text(unshifted.0),
                text(gaussian.1),
                text(wishart.1),
                text(unshifted.1)
            ),
            expected: "authors: 14k against 97k and 247k; 12k against 80k and 87k, at n = 5e7".into(),
        },
        Claim {
            claim: "without a gap WishartUnshifted is the worst".into(),
            judgement: Judgement::below(wishart.0, unshifted.0),
            measured: format!("{} against {}", text(unshifted.0), text(wishart.0)),
            expected: "authors: 247k against 97k, at n = 5e7".into(),
        },
        Claim {
            claim: "with a gap of 0.1 the two Wishart variants are indistinguishable".into(),
            judgement: Judgement::same(unshifted.1, wishart.1, 0.5),
            measured: format!(
                "{} against {}: {:.1} standard errors apart",
                text(unshifted.1),
                text(wishart.1),
                apart
            ),
            expected: "authors: 87k against 80k, at n = 5e7; at most 3 standard errors apart, which are at most half of the regret"
                .into(),
        },
    ])
}

fn run(stage: &Stage, gap: f64) -> Result<Summary> {
    let rounds = horizon(stage.extent);
    let private = VARIANTS.map(|(name, noise)| Algorithm::Joint(published(name, noise, None)));
    let first = Algorithm::Linucb(not_private(NOT_PRIVATE, 1.0, rounds));
    let experiment = Experiment {
        name: format!("paper 1, experiment 2, gap {gap}"),
        rounds,
        trials: trials(stage.extent),
        seed: stage.seed(1),
        environment: environment(gap).into(),
        algorithm: [first].into_iter().chain(private).collect(),
        figure: Default::default(),
    };
    stage.simulate(experiment, &format!("gap-{gap}"))
}

/// Figure 4, cut after two fifths of the rounds as in the paper: later the curves are nearly flat.
fn draw(stage: &Stage, summaries: &[&Summary; 2]) -> Result<()> {
    let last = 0.4 * horizon(stage.extent) as f64;
    let panel = |(gap, summary): (f64, &&Summary)| Panel {
        title: format!("gap {gap}"),
        series: summary
            .algorithms
            .iter()
            .enumerate()
            .map(|(colour, algorithm)| {
                let shown = || algorithm.curve.iter().filter(|point| point.0 as f64 <= last);
                Series {
                    name: algorithm.name.clone(),
                    colour,
                    points: shown().map(|(round, e)| (*round as f64, e.mean)).collect(),
                    band: shown().map(|(_, e)| within(e)).collect(),
                    ..Series::default()
                }
            })
            .collect(),
    };
    let mut figure = Figure::of(
        "Figure 4: regret over time, without and with a gap".into(),
        ("round".into(), Scale::Linear),
        ("regret".into(), Scale::Linear),
        Vec::new(),
    );
    figure.panels = GAPS.into_iter().zip(summaries).map(panel).collect();
    figure.size = Some((480, 400));
    figure.caption = format!(
        "{} trials of {} rounds; bands are one standard error, as the authors'",
        trials(stage.extent),
        horizon(stage.extent)
    );
    let of = |name: &str, authors: [&str; 2]| -> Vec<String> {
        let [one, two] = summaries.map(|summary| text(regret(summary, name)));
        vec![name.into(), one, authors[0].into(), two, authors[1].into()]
    };
    let rows = [
        of(NOT_PRIVATE, ["about 0", "about 0"]),
        of("Gaussian", ["14k", "12k"]),
        of("Wishart", ["97k", "80k"]),
        of("WishartUnshifted", ["247k", "87k"]),
        of("Gaussian(Opt)", ["not in the paper", "not in the paper"]),
        of("Wishart(Opt)", ["not in the paper", "not in the paper"]),
    ];
    let header =
        ["algorithm", "final regret, no gap", "authors", "final regret, gap 0.1", "authors"];
    stage.show(&figure, "figure4", &header, &rows)
}

/// One standard error to both sides.
pub fn within(estimate: &Estimate) -> (f64, f64) {
    (estimate.mean - estimate.standard_error, estimate.mean + estimate.standard_error)
}
