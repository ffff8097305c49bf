//! Mistakes about noise.

use reticent::{
    noise::{Noise, SecureNoise},
    privacy::gaussian,
    release::{Calibration, Domain, Mechanism, PrivateSumParams, Schedule},
};

use super::{DELTA, EPSILON, Entry, gaussian_promise};
use crate::{
    FastNoise, Result,
    audit::attack::{Attack, AuditNoise, DataSet, Test, View},
};

pub(super) fn entries() -> Result<Vec<Entry>> {
    Ok(vec![reused_nodes()?, classic_sigma()?, floating_point()?, unseeded()?])
}

/// A binary tree over 8 rounds. Wrong: one draw per level, used for all nodes of that level; then `r_3 - r_2 - r_1 = x_3 - x_1`.
fn reused_nodes() -> Result<Entry> {
    const LEVELS: usize = 4;
    let mu = gaussian::mu(EPSILON, DELTA)?;
    let sigma = 2.0 * (LEVELS as f64).sqrt() / mu;
    let promise = gaussian_promise(mu, DELTA)?;
    let attack = move |reused: bool| {
        let adversary = "sees all 8 prefix sums; the person comes first; likelihood ratio, learned";
        Attack::new(adversary, &promise, 20_000, move || {
            let view: View = Box::new(move |data: DataSet, mut noise: AuditNoise| {
                let person = *data.pick((&1.0, &-1.0));
                let mut current = [0.0; LEVELS];
                let mut drawn = [None; LEVELS];
                let mut releases = Vec::new();
                for step in 1_u32..=8 {
                    // The node of this level that ends here.
                    let level = step.trailing_zeros() as usize;
                    let fresh = sigma * noise.standard_normal();
                    current[level] =
                        if reused { *drawn[level].get_or_insert(fresh) } else { fresh };
                    let nodes = (0..LEVELS).filter(|level| step >> level & 1 == 1);
                    releases.push(person + nodes.map(|level| current[level]).sum::<f64>());
                }
                Ok(releases)
            });
            Ok((view, Test::Linear { difference: Some(vec![-2.0; 8]) }))
        })
    };
    Ok(Entry {
        mistake: "noise of a tree's node used for other nodes too",
        right: "a draw for every node",
        wrong_way: attack(true),
        right_way: attack(false),
    })
}

/// `sqrt(2 ln(1.25/delta)) / epsilon` was proved for epsilon < 1 only.
fn classic_sigma() -> Result<Entry> {
    let (epsilon, delta) = (10.0, 0.1);
    let classic = gaussian::classic_sigma(epsilon, delta, 1.0, reticent::privacy::Mode::Paper)?;
    let exact = gaussian::sigma(epsilon, delta, 1.0, 1)?;
    let promise = gaussian_promise(gaussian::mu(epsilon, delta)?, delta)?;
    let attack = move |sigma: f64| {
        Attack::new("sees one number; likelihood ratio", &promise, 50_000, move || {
            let view: View = Box::new(move |data: DataSet, mut noise: AuditNoise| {
                Ok(vec![*data.pick((&0.0, &1.0)) + sigma * noise.standard_normal()])
            });
            Ok((view, Test::Scores))
        })
    };
    Ok(Entry {
        mistake: "the classic Gaussian formula at epsilon = 10",
        right: "sigma from the exact curve",
        wrong_way: attack(classic),
        right_way: attack(exact),
    })
}

/// Mironov (2012): doubles near 0 have finer last digits than doubles that were near 1 before noise was added. `0 + z` shows them,
/// `1 + z` cannot. Ours are integers on one grid whatever the data, drawn from secure noise.
fn floating_point() -> Result<Entry> {
    let mu = gaussian::mu(EPSILON, DELTA)?;
    let sigma = 2.0 / mu;
    let promise = gaussian_promise(mu, DELTA)?;
    let adversary = "looks at the least significant bit of one released number";
    let wrong_way = Attack::new(adversary, &promise, 20_000, move || {
        let view: View = Box::new(move |data: DataSet, mut noise: AuditNoise| {
            Ok(last_digits(*data.pick((&0.0, &1.0)) + sigma * noise.standard_normal()))
        });
        Ok((view, Test::Scores))
    });
    let params = PrivateSumParams {
        mechanism: Mechanism::Tree { levels: None },
        schedule: Schedule::EveryRound,
        ..PrivateSumParams::new(
            Domain::Vector { dimension: 1, bound: 1.0 },
            Some(1),
            Calibration::Budget { epsilon: EPSILON, delta: DELTA },
        )
    };
    let promise = params.check()?.guarantee(DELTA)?;
    let right_way = Attack::new(adversary, &promise, 20_000, move || {
        let plan = params.check()?;
        let view: View = Box::new(move |data: DataSet, _: AuditNoise| {
            let mut sum = plan.clone().start(SecureNoise::from_system()?);
            let contribution = sum.clip(&[*data.pick((&0.0, &1.0))])?;
            let release = sum.absorb(&contribution)?;
            Ok(last_digits(release.map_or(0.0, |release| release.sums()[0])))
        });
        Ok((view, Test::Scores))
    });
    Ok(Entry {
        mistake: "noise added in floating point",
        right: "integers on a grid, exact noise",
        wrong_way,
        right_way,
    })
}

/// The place of the last digit that is not 0, from both sides, and whether the last digits of the mantissa are 0.
fn last_digits(number: f64) -> Vec<f64> {
    let bits = number.to_bits();
    let mantissa = bits & ((1 << 52) - 1);
    let place = (bits >> 52 & 0x7ff) as f64 + f64::from(mantissa.trailing_zeros().min(52));
    vec![place, -place, f64::from(mantissa.trailing_zeros())]
}

/// A generator that every process starts from the same seed: an attacker who has the program can reproduce the noise.
fn unseeded() -> Result<Entry> {
    let params = PrivateSumParams {
        schedule: Schedule::EveryRound,
        ..PrivateSumParams::new(
            Domain::Vector { dimension: 1, bound: 1.0 },
            Some(1),
            Calibration::Budget { epsilon: EPSILON, delta: DELTA },
        )
    };
    let promise = params.check()?.guarantee(DELTA)?;
    let attack = move |seeded: bool| {
        let adversary = "runs the program themselves on an empty stream, and subtracts";
        let params = params.clone();
        Attack::new(adversary, &promise, 20_000, move || {
            let plan = params.check()?;
            let view: View = Box::new(move |data: DataSet, mut noise: AuditNoise| {
                let released = |value: f64, noise: FastNoise| -> Result<f64> {
                    let mut sum = plan.clone().start(noise);
                    let contribution = sum.clip(&[value])?;
                    Ok(sum.absorb(&contribution)?.map_or(0.0, |release| release.sums()[0]))
                };
                // Correct: the adversary's process has a different key.
                let mut process = || FastNoise::seeded(if seeded { noise.bits() } else { 0x5eed });
                let (theirs, mine) = (process(), process());
                Ok(vec![released(*data.pick((&-1.0, &1.0)), theirs)? - released(0.0, mine)?])
            });
            Ok((view, Test::Scores))
        })
    };
    Ok(Entry {
        mistake: "a generator that is not seeded",
        right: "a key of its own for every process",
        wrong_way: attack(false),
        right_way: attack(true),
    })
}
