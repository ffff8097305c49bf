//! Table 1 of paper 0: the least eigenvalue of the mean of x x^T, over trials and given the history.

use reticent::{
    bandit::{Arms, LinUcbParams, Rule},
    linalg::SymmetricEigen,
    randomize::Bounds,
};

use crate::{
    Result,
    environment::{Environment, SphereParams},
    papers::{Claim, Extent, Judgement, Stage},
    play::parallel::in_parallel,
    report::{html as report, html::Report},
};

/// An eigenvalue is called O(1) from here on; by symmetry over trials it is 1/8 in the end.
const CONSTANT: f64 = 1.0 / 16.0;

/// Table 1: how often the least eigenvalue of the mean over trials of x x^T is of order 1, and that given the history.
pub fn table1(stage: &Stage) -> Result<Vec<Claim>> {
    let (experiments, horizons): (u64, &[u64]) = match stage.extent {
        Extent::Quick => (50, &[200, 2000]),
        Extent::Full => (50, &[200, 2000, 20_000]),
    };
    let printed = [[99.5, 100.0, 100.0], [97.0, 97.7, 99.9], [88.0, 89.1, 99.8]];
    // Trials of two seeds share none.
    let first = stage.seed(0).wrapping_mul(experiments);
    let mut rows = Vec::new();
    let (mut least, mut across, mut given) = (f64::INFINITY, f64::INFINITY, f64::INFINITY);
    let mut dip = Vec::new();
    let mut below = Vec::new();
    for (arms, expected) in [5, 25, 100].into_iter().zip(printed) {
        (stage.progress)(&format!("paper 0, table 1, {arms} arms"));
        for (&rounds, printed) in horizons.iter().zip(expected) {
            let params = SphereParams { dimension: 5, arms, fresh_arms: true, norm: 1.0 };
            let trials: Vec<u64> = (0..experiments).collect();
            let runs = in_parallel(
                &trials,
                |_, _| (),
                |&trial| run_linucb(params, rounds, first.wrapping_add(trial)),
            )?;
            let mut above = 0;
            let mut last = 0.0;
            for round in 0..rounds as usize {
                let played: Vec<&[f64]> =
                    runs.iter().map(|run| run.features[round].as_slice()).collect();
                last = least_eigenvalue(&played)?;
                above += u64::from(last >= CONSTANT);
            }
            let share = 100.0 * above as f64 / rounds as f64;
            let conditional =
                runs.iter().map(|run| run.conditional).sum::<f64>() / runs.len() as f64;
            least = least.min(share);
            // The printed shares fall with the number of arms: at 100 arms by more than ten points.
            if arms == 100 && printed < 90.0 {
                dip.push((share, printed));
            }
            // Line 3 of Algorithm 1 perturbs the arms where the least eigenvalue is below T^(-1/4).
            let threshold = (rounds as f64).powf(-0.25);
            below.push((conditional < threshold, conditional, threshold));
            (across, given) = (across.min(last), given.min(conditional));
            rows.push(vec![
                arms.to_string(),
                rounds.to_string(),
                format!("{printed}%"),
                format!("{share:.1}%"),
                format!("{last:.4}"),
                format!("{conditional:.5}"),
                "0".into(),
            ]);
        }
    }
    let header = [
        "arms",
        "rounds",
        "printed share",
        "share of rounds at 1/16 or above",
        "last eigenvalue over trials",
        "given the history, fresh arms",
        "given the history, fixed arms",
    ];
    let mut page = Report::new("paper 0, table 1");
    page.table(&header, &rows);
    report::write(stage.folder, "table1.html", page.html())?;
    let mut plain = format!("| {} |\n|{}\n", header.join(" | "), " --- |".repeat(header.len()));
    rows.iter().for_each(|row| plain.push_str(&format!("| {} |\n", row.join(" | "))));
    report::write(stage.folder, "table1.md", &plain)?;
    Ok(vec![
        Claim {
            claim: "the least eigenvalue of the mean over trials of x x^T is O(1) in most rounds"
                .into(),
            judgement: Judgement::stated(least >= 88.0, experiments as usize),
            measured: format!("at least {least:.1} % of the rounds; see table1.md"),
            expected: "88 % to 100 %, each over trials with different theta*".into(),
        },
        Claim {
            claim: "Table 1 dips to 88.0 % and 89.1 % at 100 arms".into(),
            // A share over rounds of 50 trials moves by a few points.
            judgement: Judgement::stated(
                dip.iter().all(|(share, printed)| (share - printed).abs() <= 5.0),
                experiments as usize,
            ),
            measured: dip
                .iter()
                .map(|(share, printed)| format!("{share:.1} % for {printed} %"))
                .collect::<Vec<_>>()
                .join(", "),
            expected: "within 5 points".into(),
        },
        Claim {
            claim: "line 3 leaves the perturbation off in the paper's own experiment: the least eigenvalue given the history is above T^(-1/4)".into(),
            judgement: Judgement::stated(below.iter().all(|(is_below, ..)| !is_below), experiments as usize),
            measured: below.last().map_or(String::new(), |(_, found, threshold)| {
                format!("{found:.4} against a threshold of {threshold:.3} at the last row")
            }),
            expected: "above the threshold".into(),
        },
        Claim {
            claim: "hence E[x x^T] given the history is well conditioned, as Corollary 3.6 needs"
                .into(),
            judgement: Judgement::stated(given > 0.5 * across, experiments as usize),
            measured: format!(
                "fresh arms: {given:.5} at least, over trials it was {across:.4}; fixed arms: 0, one arm is played"
            ),
            expected: "of the same order as over trials".into(),
        },
    ])
}

/// Arms that LinUCB plays in one trial, and the sums behind them.
struct Played {
    features: Vec<Vec<f64>>,
    /// The least eigenvalue of the mean of x x^T over fresh decision sets under the last policy.
    conditional: f64,
}

fn run_linucb(params: SphereParams, rounds: u64, trial: u64) -> Result<Played> {
    let mut environment = params.start(trial.wrapping_add(1))?;
    let rule = Rule::Certified {
        failure_probability: Some(1.0 / rounds as f64),
        parameter_bound: None,
        reward_noise: Some(0.5),
        scale: 1.0,
    };
    let bounds = Bounds::unit(params.dimension);
    let mut learner = LinUcbParams { rule, ..LinUcbParams::new(bounds) }.check()?;
    let mut features = Vec::with_capacity(rounds as usize);
    for round in 0..rounds {
        let arms = environment.arms();
        let arm = learner.choose(arms, round)?.arm;
        let x = arms.arm(arm);
        let reward = environment.reward(arm);
        learner.observe(&x, reward)?;
        features.push(x);
    }
    let chosen: Vec<Vec<f64>> = (0..2000)
        .map(|tie| {
            let arms: &Arms = environment.arms();
            Ok(arms.arm(learner.policy().choose(arms, tie)?))
        })
        .collect::<Result<_>>()?;
    let chosen: Vec<&[f64]> = chosen.iter().map(Vec::as_slice).collect();
    Ok(Played { features, conditional: least_eigenvalue(&chosen)? })
}

/// The least eigenvalue of the mean of x x^T.
fn least_eigenvalue(vectors: &[&[f64]]) -> Result<f64> {
    let d = vectors[0].len();
    let mut mean = vec![0.0; d * (d + 1) / 2];
    for x in vectors {
        let mut entries = mean.iter_mut();
        for row in 0..d {
            for column in row..d {
                if let Some(entry) = entries.next() {
                    *entry += x[row] * x[column] / vectors.len() as f64;
                }
            }
        }
    }
    Ok(SymmetricEigen::of(d, &mean)?.smallest())
}
