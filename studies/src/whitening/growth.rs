//! Growth of regret with the number of people: slopes on logarithmic scales over the last tenfold, with intervals over trials.

use super::{
    AXIS, Measured, ONE_CAP, ONLINE, PUBLIC, Problem, SURVEYED, Tuned, WHITENED, arm_laws::ArmLaw,
};
use reticent_lab::{
    Result,
    algorithm::bandit::{Algorithm, OnlineToml},
    papers::{Claim, Extent, Judgement, Stage},
    report::{
        figure::{Figure, Panel, Scale, Series},
        summary::{AlgorithmSummary, Estimate},
    },
};

/// Growth of regret with the number of people.
pub(super) fn growth(stage: &Stage, tuned: &Tuned) -> Result<Vec<Claim>> {
    let size = match stage.extent {
        Extent::Quick => (100_000, 4),
        Extent::Full => (10_000_000, 3),
    };
    let (mut panels, mut claims) = (Vec::new(), Vec::new());
    for law in [ArmLaw::Isotropic, ArmLaw::Units] {
        let problem = Problem { law, dimension: 5, epsilon: 4.0 };
        let environment = law.environment(problem.dimension, size.0)?;
        let online = OnlineToml { name: Some(ONLINE.into()), ..OnlineToml::new(problem.privacy()) };
        let entrants = vec![
            problem.one_cap(size.0, ONE_CAP.into(), tuned.one_cap)?,
            problem.axis(size.0, AXIS.into(), tuned.axis)?,
            problem.public(size.0, PUBLIC.into(), tuned.public)?,
            problem.whitened(size.0, WHITENED.into(), tuned.whitened)?,
            problem.surveyed(size.0, SURVEYED.into(), tuned.surveyed)?,
            Algorithm::OnlineUcb(online).prepare(&environment)?,
        ];
        let measured = Measured::new(stage, "local", problem, size, entrants)?;
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
        let found = slopes.iter().find(|slope| slope.0 == WHITENED);
        let whitened = found.map_or(Estimate::of(&[]), |slope| slope.1);
        claims.push(Claim {
            claim: format!("from {from:e} to {:e} people regret of the whitened learner grows no faster than the square root ({}, d = 5, epsilon = 4)", size.0, law.name()),
            judgement: Judgement::within(whitened, f64::NEG_INFINITY, 0.55),
            measured: slopes.iter().map(words).collect::<Vec<_>>().join(", "),
            expected: "a mean slope of .55 or less on logarithmic scales".into(),
        });
        let series = |(colour, algorithm): (usize, &AlgorithmSummary)| {
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
        panels.push(Panel { title: format!("{}; slopes: {listed}", law.name()), series });
    }
    let x = ("people".to_string(), Scale::Logarithmic);
    let y = ("regret: median, 5 to 95 % of trials".to_string(), Scale::Logarithmic);
    let title = "Local privacy, d = 5, epsilon = 4: growth of regret".to_string();
    Figure { panels, ..Figure::of(title, x, y, Vec::new()) }.write(stage.folder, "growth")?;
    Ok(claims)
}
