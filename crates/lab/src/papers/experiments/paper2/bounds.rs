//! The theorems of paper 2 as numbers, against the numeric bound and against simulated regret.

use reticent::{
    noise::Noise,
    online::{Potential, Prior, Statistics, bounds},
};

use crate::{
    FastNoise, Result,
    papers::{Claim, Extent, Judgement, Stage},
    play::trial::{mix, name_hash},
    report::{html as report, summary::Estimate},
};

/// Mean gradients of simulated cases; all are at most G = 1 in size.
#[derive(Debug, Clone, Copy)]
enum Opponent {
    /// `|w - u|`.
    Absolute,
    /// A fair coin.
    Coin,
    /// 1, -1, 1, ...
    Alternating,
    /// Twenty of one sign, twenty of the other.
    Blocks,
}

impl Opponent {
    fn gradient(self, w: f64, u: f64, round: u64, noise: &mut FastNoise) -> f64 {
        let sign = |up: bool| if up { 1.0 } else { -1.0 };
        match self {
            Opponent::Absolute => sign(w > u),
            Opponent::Coin => sign(noise.bits() & 1 == 0),
            Opponent::Alternating => sign(round.is_multiple_of(2)),
            Opponent::Blocks => sign((round / 20).is_multiple_of(2)),
        }
    }
}

/// Result of a simulated case: regret and numeric bound over trials.
struct Case {
    what: String,
    regret: Estimate,
    bound: Estimate,
}

/// `(w_t - u) E g_t` summed, and `F*(u)` at the squares that were seen, over trials.
fn simulate_case(
    prior: Prior,
    opponent: Opponent,
    (scale, share): (f64, f64),
    u: f64,
    rounds: u64,
    (trials, seed): (u64, u64),
) -> Result<Case> {
    let what = format!(
        "{prior:?}, {opponent:?}, noise {scale} for {share} of people, u = {u}, T = {rounds}"
    );
    let potential = Potential::new(prior, 1.0)?;
    let (mut regrets, mut numeric) = (Vec::new(), Vec::new());
    for trial in 0..trials {
        let mut noise = FastNoise::seeded(mix(name_hash(&what) ^ seed, trial));
        let mut statistics = Statistics::default();
        let mut regret = 0.0;
        for round in 0..rounds {
            let w = potential.play(statistics.sum, statistics.squares)?.value();
            let mean = opponent.gradient(w, u, round, &mut noise);
            regret += (w - u) * mean;
            let private = scale > 0.0 && noise.uniform() < share;
            let gradient = if private {
                mean + scale * (noise.exponential() - noise.exponential())
            } else {
                mean
            };
            statistics.sum -= gradient;
            statistics.squares += gradient * gradient;
        }
        regrets.push(regret);
        numeric.push(bounds::conjugate(&potential, u, statistics.squares)?);
    }
    Ok(Case { what, regret: Estimate::of(&regrets), bound: Estimate::of(&numeric) })
}

/// Theorems 10 and 12, as printed and corrected, and the numeric bound against simulated regret.
pub fn bounds(stage: &Stage) -> Result<Vec<Claim>> {
    (stage.progress)("288 simulated cases");
    let trials = match stage.extent {
        Extent::Quick => 20,
        Extent::Full => 200,
    };
    let mut jobs = Vec::new();
    for prior in [Prior::Conjugate { precision: Some(1.0) }, Prior::Improper] {
        for opponent in
            [Opponent::Absolute, Opponent::Coin, Opponent::Alternating, Opponent::Blocks]
        {
            for noise in [(0.0, 0.0), (1.0, 1.0), (10.0, 1.0), (20.0, 0.05)] {
                for u in [0.1, 1.0, 10.0] {
                    for rounds in [100, 1000, 5000] {
                        jobs.push((prior, opponent, noise, u, rounds));
                    }
                }
            }
        }
    }
    let cases = crate::play::parallel::in_parallel(
        &jobs,
        |_, _| (),
        |&(prior, opponent, noise, u, rounds)| {
            simulate_case(prior, opponent, noise, u, rounds, (trials, stage.seed(0)))
        },
    )?;
    let above = cases
        .iter()
        .filter(|case| case.regret.mean > case.bound.mean + 3.0 * case.regret.standard_error)
        .count();
    let closest = cases
        .iter()
        .max_by(|a, b| (a.regret.mean / a.bound.mean).total_cmp(&(b.regret.mean / b.bound.mean)));
    let mut csv = String::from("case,regret,standard error,numeric bound\n");
    for case in &cases {
        csv += &format!(
            "\"{}\",{},{},{}\n",
            case.what, case.regret.mean, case.regret.standard_error, case.bound.mean
        );
    }
    report::write(stage.folder, "cases.csv", &csv)?;
    let mut claims = vec![Claim {
        claim: format!(
            "Lemma 5: the expected regret is at most the numeric bound E[F*(u)], {} simulated cases",
            cases.len()
        ),
        judgement: Judgement::stated(above == 0 && cases.len() == 288, trials as usize),
        measured: format!(
            "{above} above; closest at {:.2} of it: {}",
            closest.map_or(0.0, |case| case.regret.mean / case.bound.mean),
            closest.map_or(String::new(), |case| case.what.clone())
        ),
        expected: "none of 288".into(),
    }];
    claims.extend(theorems(stage)?);
    claims.push(regret_of_theorem_12(stage)?);
    Ok(claims)
}

/// Theorem 12's regret at `u -> 0`, against gradients that alternate between G and -G without noise.
fn regret_of_theorem_12(stage: &Stage) -> Result<Claim> {
    (stage.progress)("the regret of Theorem 12");
    const ROUNDS: u64 = 10_000;
    let mut csv = String::from("G,regret,printed theorem 12,corrected theorem 12\n");
    let (mut parts, mut holds) = (Vec::new(), true);
    for g in [0.001, 0.01, 0.1, 1.0] {
        let (regret, squares) = alternating(g, ROUNDS)?;
        let printed = bounds::printed_theorem_12(g, 0.0, squares);
        let corrected = bounds::corrected_theorem_12(g, 0.0, squares);
        holds &= regret <= printed;
        parts.push(format!("G = {g}: {regret:.3} against {printed:.3} (corrected {corrected:.3})"));
        csv += &format!("{g},{regret},{printed},{corrected}\n");
    }
    report::write(stage.folder, "theorem_12_regret.csv", &csv)?;
    Ok(Claim {
        claim: format!(
            "Theorem 12 as printed bounds the regret: gradients G, -G, G, ... without noise, T = {ROUNDS}, u -> 0"
        ),
        judgement: Judgement::computed(holds),
        measured: parts.join("; "),
        expected: "regret at most the bound; the regret does not depend on G, and the printed bound falls with it".into(),
    })
}

/// The regret at u = 0 against alternating gradients of size g, and the sum of their squares.
fn alternating(g: f64, rounds: u64) -> Result<(f64, f64)> {
    let potential = Potential::new(Prior::Improper, g)?;
    let (mut statistics, mut regret) = (Statistics::default(), 0.0);
    for round in 0..rounds {
        let w = potential.play(statistics.sum, statistics.squares)?.value();
        let gradient = if round % 2 == 0 { g } else { -g };
        regret += w * gradient;
        statistics.sum -= gradient;
        statistics.squares += gradient * gradient;
    }
    Ok((regret, statistics.squares))
}

/// The theorems against the numeric bound on a grid.
fn theorems(stage: &Stage) -> Result<Vec<Claim>> {
    (stage.progress)("the theorems on a grid");
    let mut ten = Tally::default();
    let mut ten_corrected = Tally::default();
    let mut twelve = Tally::default();
    let mut twelve_corrected = Tally::default();
    let mut csv = String::from("G,u,V,numeric,printed theorem 12,corrected theorem 12\n");
    for g in [0.1, 1.0, 10.0] {
        let improper = Potential::new(Prior::Improper, g)?;
        for u in [1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0, 1000.0] {
            for squares in [1.0, 10.0, 1e2, 1e3, 1e4, 1e5, 1e6] {
                let numeric = bounds::conjugate(&improper, u, squares)?;
                let printed = bounds::printed_theorem_12(g, u, squares);
                let corrected = bounds::corrected_theorem_12(g, u, squares);
                twelve.add(numeric, printed, || format!("G = {g}, u = {u}, V = {squares}"));
                twelve_corrected.add(numeric, corrected, String::new);
                csv += &format!("{g},{u},{squares},{numeric},{printed},{corrected}\n");
                for b in [0.01, 1.0, 100.0] {
                    let conjugate = Potential::new(Prior::Conjugate { precision: Some(b) }, g)?;
                    let numeric = bounds::conjugate(&conjugate, u, squares)?;
                    ten.add(numeric, bounds::printed_theorem_10(g, b, u, squares), String::new);
                    ten_corrected.add(
                        numeric,
                        bounds::corrected_theorem_10(g, b, u, squares),
                        String::new,
                    );
                }
            }
        }
    }
    report::write(stage.folder, "theorem_12.csv", &csv)?;
    let claim = |name: &str, tally: &Tally, expected: &str| Claim {
        claim: name.into(),
        judgement: Judgement::computed(tally.above == 0),
        measured: tally.text(),
        expected: expected.into(),
    };
    Ok(vec![
        claim("Theorem 10 as printed bounds F*(u)", &ten, "0 above"),
        claim("Theorem 10 corrected bounds F*(u)", &ten_corrected, "0 above"),
        claim("Theorem 12 as printed bounds F*(u)", &twelve, "0 above"),
        claim("Theorem 12 corrected bounds F*(u)", &twelve_corrected, "0 above"),
    ])
}

/// Points at which a bound was compared with the truth.
#[derive(Default)]
struct Tally {
    points: usize,
    above: usize,
    worst: f64,
    at: String,
    /// Logarithm of how loose the bound is, summed.
    looseness: f64,
}

impl Tally {
    fn add(&mut self, numeric: f64, bound: f64, at: impl Fn() -> String) {
        self.points += 1;
        self.looseness += (bound / numeric).ln();
        if numeric > bound {
            self.above += 1;
            if numeric / bound > self.worst {
                (self.worst, self.at) = (numeric / bound, at());
            }
        }
    }

    fn text(&self) -> String {
        let looseness = (self.looseness / self.points as f64).exp();
        let worst = if self.above > 0 {
            format!(", by up to {:.2} at {}", self.worst, self.at)
        } else {
            String::new()
        };
        format!(
            "{} of {} above{worst}; on average {looseness:.1} times the numeric bound",
            self.above, self.points
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The regret is that of an independent computation, and above the printed bound: Theorem 12 does not hold in its regret statement either.
    #[test]
    fn theorem_12_as_printed_does_not_bound_the_regret() {
        for (g, printed) in [(0.01, 2.342), (0.001, 1.249)] {
            let (regret, squares) = alternating(g, 10_000).unwrap();
            assert!((regret - 3.288).abs() < 5e-4, "{regret}");
            let bound = bounds::printed_theorem_12(g, 0.0, squares);
            assert!((bound - printed).abs() < 5e-4, "{bound}");
            assert!(regret > bound && regret <= bounds::corrected_theorem_12(g, 0.0, squares));
        }
    }
}
