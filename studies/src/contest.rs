//! Learners that are tuned alike: over grids of about the same size, on seeds that no result uses.

use reticent_lab::{
    Experiment, Result,
    algorithm::RunnableAlgorithm,
    papers::{Claim, Judgement},
    report::summary::Estimate,
};

/// Results have seed 23.
pub(super) const SEED: u64 = 23;
const TUNING_SEED: u64 = 1023;

/// The entry of a grid with the least mean regret, as a geometric mean over the settings, each with its number of rounds.
pub(super) fn tune<C: Clone, S>(
    grid: &[C],
    settings: &[(S, u64)],
    trials: u64,
    enter: impl Fn(&S, u64, String, C) -> Result<Box<dyn RunnableAlgorithm>>,
) -> Result<C> {
    let mut scores = vec![0.0; grid.len()];
    for (setting, rounds) in settings {
        let entries = grid.iter().enumerate();
        let algorithms = entries
            .map(|(index, choice)| enter(setting, *rounds, index.to_string(), choice.clone()))
            .collect::<Result<Vec<_>>>()?;
        let experiment = Experiment::of("tuning", *rounds, trials, TUNING_SEED, algorithms)?;
        let summary = experiment.simulate(|_, _| ())?;
        for (score, algorithm) in scores.iter_mut().zip(&summary.algorithms) {
            *score += algorithm.final_regret.mean.max(1.0).ln();
        }
    }
    let scored = scores.iter().enumerate();
    let best = scored.min_by(|one, two| one.1.total_cmp(two.1)).map_or(0, |(index, _)| index);
    Ok(grid[best].clone())
}

/// Mean with its standard error; median; 95 % quantile.
pub(super) fn cell(regret: &Estimate) -> String {
    let Estimate { mean, standard_error, median, percentile_95, .. } = *regret;
    format!("{mean:.0} +- {standard_error:.0}; {median:.0}; {percentile_95:.0}")
}

/// Tells whether the first loses less in the median and in the tail.
pub(super) fn beats(one: &Estimate, two: &Estimate) -> bool {
    one.median < two.median && one.percentile_95 < two.percentile_95
}

/// The claim that one learner beats another everywhere, from both regrets in each place.
pub(super) fn compared<'a>(
    (name, other): (&str, &str),
    places: impl Iterator<Item = (String, &'a Estimate, &'a Estimate)>,
    expected: &str,
) -> Claim {
    let (mut won, mut found, mut trials) = (0, Vec::new(), usize::MAX);
    for (place, one, two) in places {
        won += usize::from(beats(one, two));
        trials = trials.min(one.trials).min(two.trials);
        let (median, tail) = (one.median / two.median, one.percentile_95 / two.percentile_95);
        found.push(format!("{place} {median:.2} ({tail:.2})"));
    }
    Claim {
        claim: format!("{name} loses less than {other} in the median and at 95 %, everywhere"),
        judgement: Judgement::stated(won == found.len(), trials),
        measured: format!(
            "in {won} of {}; median (95 % quantile) by the other's: {}",
            found.len(),
            found.join("; ")
        ),
        expected: expected.into(),
    }
}

/// The claim that all certificates are what was asked for, from their shares of the epsilon that was.
pub(super) fn certified(claim: &str, shares: impl Iterator<Item = f64>) -> Claim {
    let extremes = |(least, most): (f64, f64), share: f64| (least.min(share), most.max(share));
    let (least, most) = shares.fold((f64::INFINITY, 0.0), extremes);
    Claim {
        claim: claim.into(),
        judgement: Judgement::computed(least > 0.99 && most <= 1.0),
        measured: format!("by the accountant {least:.6} to {most:.6} of epsilon"),
        expected: "within 1 %".into(),
    }
}
