//! Mistakes about streams: clipping of input, the times of releases, and the use of saved states.

use reticent::{
    noise::Noise,
    privacy::gaussian,
    release::{Calibration, ContributionSums, Domain, PrivateSum, PrivateSumParams, Schedule},
};

use super::{DELTA, EPSILON, Entry, gaussian_promise};
use crate::{
    FastNoise, Result,
    audit::attack::{Attack, AuditNoise, DataSet, Test, View},
};

pub(super) fn entries() -> Result<Vec<Entry>> {
    let streams = vec![unclipped()?, continued_twice()?, drawn_again()?, looking_schedule()?];
    Ok(streams.into_iter().chain([visits_apart()?]).collect())
}

fn params(horizon: u64) -> PrivateSumParams {
    PrivateSumParams {
        schedule: Schedule::EveryRound,
        ..PrivateSumParams::new(
            Domain::Vector { dimension: 1, bound: 1.0 },
            Some(horizon),
            Calibration::Budget { epsilon: EPSILON, delta: DELTA },
        )
    }
}

/// A person sends 5, although the bound is 1.
fn unclipped() -> Result<Entry> {
    let mu = gaussian::mu(EPSILON, DELTA)?;
    let sigma = 2.0 / mu;
    let adversary = "knows that the person sent 5 or -5; likelihood ratio";
    let promise = gaussian_promise(mu, DELTA)?;
    let wrong_way = Attack::new(adversary, &promise, 20_000, move || {
        let view: View = Box::new(move |data: DataSet, mut noise: AuditNoise| {
            Ok(vec![*data.pick((&-5.0, &5.0)) + sigma * noise.standard_normal()])
        });
        Ok((view, Test::Scores))
    });
    let plan = params(1).check()?;
    let right_way = Attack::new(adversary, &plan.guarantee(DELTA)?, 20_000, move || {
        let plan = plan.clone();
        let view: View = Box::new(move |data: DataSet, noise: AuditNoise| {
            let mut sum = plan.clone().start(noise);
            let contribution = sum.clip(&[*data.pick((&-5.0, &5.0))])?;
            Ok(sum.absorb(&contribution)?.map_or(vec![0.0], |release| release.sums().to_vec()))
        });
        Ok((view, Test::Scores))
    });
    Ok(Entry {
        mistake: "input that is not clipped",
        right: "a contribution is only made by clipping",
        wrong_way,
        right_way,
    })
}

/// Two rounds; the state is saved after the first. In one copy the person contributes in the second round, in the other no person does.
fn continued_twice() -> Result<Entry> {
    let plan = params(2).check()?;
    let promise = plan.guarantee(DELTA)?;
    let replayed = {
        let bytes = saved(&plan, FastNoise::seeded(0))?;
        PrivateSum::<FastNoise>::resume_charged(&bytes, 2, 0)?.guarantee(DELTA)?
    };
    let adversary =
        "sees the release of a copy with the person and of a copy without, and subtracts";
    let attack = |charged: bool, promise| {
        let plan = plan.clone();
        Attack::new(adversary, promise, 20_000, move || {
            let plan = plan.clone();
            let view: View = Box::new(move |data: DataSet, mut noise: AuditNoise| {
                let bytes = saved(&plan, FastNoise::seeded(noise.bits()))?;
                let mut one = PrivateSum::<FastNoise>::resume(&bytes, 1)?;
                let person = second_release(&mut one, *data.pick((&-1.0, &1.0)))?;
                let mut two = if charged {
                    // The log records a second release, so the old state cannot be resumed without a charge.
                    debug_assert!(PrivateSum::<FastNoise>::resume(&bytes, 2).is_err());
                    PrivateSum::<FastNoise>::resume_charged(&bytes, 2, 0)?
                } else {
                    // A log that lost an entry, or a forked process.
                    PrivateSum::<FastNoise>::resume(&bytes, 1)?
                };
                Ok(vec![person - second_release(&mut two, 0.0)?, person])
            });
            Ok((view, Test::Scores))
        })
    };
    Ok(Entry {
        mistake: "a saved state continued twice, same noise on other data",
        right: "an older state is refused, or charged and given fresh noise",
        wrong_way: attack(false, &promise),
        right_way: attack(true, &replayed),
    })
}

fn saved(plan: &reticent::release::PrivateSumPlan, noise: FastNoise) -> Result<Vec<u8>> {
    let mut sum = plan.clone().start(noise);
    let nothing = sum.clip(&[0.0])?;
    sum.absorb(&nothing)?;
    Ok(sum.save())
}

fn second_release(sum: &mut PrivateSum<FastNoise>, value: f64) -> Result<f64> {
    let contribution = sum.clip(&[value])?;
    Ok(sum.absorb(&contribution)?.map_or(0.0, |release| release.sums()[0]))
}

/// The same release drawn nine times with fresh noise. Wrong: the replays are not charged.
fn drawn_again() -> Result<Entry> {
    const REPLAYS: u64 = 8;
    let plan = params(2).check()?;
    let promise = plan.guarantee(DELTA)?;
    let paid = {
        let bytes = saved(&plan, FastNoise::seeded(0))?;
        PrivateSum::<FastNoise>::resume_charged(&bytes, 2, REPLAYS - 1)?.guarantee(DELTA)?
    };
    let adversary = "sees the same release drawn nine times, and averages";
    let attack = |promise| {
        let plan = plan.clone();
        Attack::new(adversary, promise, 20_000, move || {
            let plan = plan.clone();
            let view: View = Box::new(move |data: DataSet, mut noise: AuditNoise| {
                let value = *data.pick((&-1.0, &1.0));
                let bytes = saved(&plan, FastNoise::seeded(noise.bits()))?;
                let mut sum = PrivateSum::<FastNoise>::resume(&bytes, 1)?;
                let mut total = second_release(&mut sum, value)?;
                let mut source = FastNoise::seeded(noise.bits());
                for replay in 0..REPLAYS {
                    let bytes = saved(&plan, FastNoise::seeded(source.bits()))?;
                    let made = 2 + replay;
                    let mut again = PrivateSum::<FastNoise>::resume_charged(&bytes, made, replay)?;
                    total += second_release(&mut again, value)?;
                }
                Ok(vec![total])
            });
            Ok((view, Test::Scores))
        })
    };
    Ok(Entry {
        mistake: "noise drawn again after a restore, and not charged",
        right: "every replay is charged",
        wrong_way: attack(&promise),
        right_way: attack(&paid),
    })
}

/// Wrong: sums are released when the true sum has moved enough. The time of the release is then a function of the data without noise.
fn looking_schedule() -> Result<Entry> {
    let plan = params(8).check()?;
    let promise = plan.guarantee(DELTA)?;
    let attack = |looks: bool| {
        let plan = plan.clone();
        let adversary = "looks at nothing but the round of the first release";
        Attack::new(adversary, &promise, 20_000, move || {
            let plan = plan.clone();
            let view: View = Box::new(move |data: DataSet, noise: AuditNoise| {
                let mut sum = plan.clone().start(noise);
                let mut first = 9.0_f64;
                for round in 1..=8_u32 {
                    let value = if round == 1 { *data.pick((&0.0, &1.0)) } else { 0.2 };
                    let contribution = sum.clip(&[value])?;
                    let moved = value + 0.2 * f64::from(round - 1) >= 0.9;
                    let release = sum.absorb(&contribution)?;
                    if if looks { moved } else { release.is_some() } {
                        first = first.min(f64::from(round));
                    }
                }
                Ok(vec![-first])
            });
            Ok((view, Test::Scores))
        })
    };
    Ok(Entry {
        mistake: "a schedule that looks at the data",
        right: "rounds of release fixed before any data",
        wrong_way: attack(true),
        right_way: attack(false),
    })
}

/// Sums that forget, and a person whose visits share a tick. Wrong: visits are priced by the norm of as many different columns.
fn visits_apart() -> Result<Entry> {
    const VISITS: u64 = 16;
    const TICKS: i32 = 12;
    let right = PrivateSumParams {
        schedule: Schedule::Clock,
        contributions_per_person: VISITS,
        ..PrivateSumParams::forgetting(
            Domain::Vector { dimension: 1, bound: 1.0 },
            1.0,
            Calibration::Budget { epsilon: EPSILON, delta: DELTA },
        )
    };
    let promise = right.check()?.guarantee(DELTA)?;
    let kept = right.kept()?;
    // Coefficients of (1 - g z)^(-1/2), and the norms of one column and of the sum of consecutive ones.
    let column: Vec<f64> = (1..200)
        .scan(1.0, |last, k| {
            let this = *last;
            *last *= kept * f64::from(2 * k - 1) / f64::from(2 * k);
            Some(this)
        })
        .collect();
    let norm = |width: usize| {
        let entry = |row: usize| column[(row + 1).saturating_sub(width)..=row].iter().sum::<f64>();
        (0..column.len()).map(|row| entry(row).powi(2)).sum::<f64>().sqrt()
    };
    let too_small = norm(VISITS as usize) / (VISITS as f64 * norm(1));
    let mu = gaussian::mu(EPSILON, DELTA)? / too_small;
    let wrong = PrivateSumParams { calibration: Calibration::Mu(mu), ..right.clone() };
    let attack = |params: PrivateSumParams| {
        let adversary = "sees 12 releases of sums that forget; all 16 visits in the first tick; likelihood ratio, learned";
        Attack::new(adversary, &promise, 20_000, move || {
            let plan = params.check()?;
            let view: View = Box::new(move |data: DataSet, noise: AuditNoise| {
                let mut sum = plan.clone().start(noise);
                let visit = sum.clip(&[*data.pick((&-1.0, &1.0))])?;
                let mut since = ContributionSums::new(sum.clipper().clone());
                (0..VISITS).try_for_each(|_| since.add(&visit))?;
                (0..TICKS).map(|_| Ok(sum.tick(&mut since)?.sums()[0])).collect()
            });
            let difference = (0..TICKS).map(|tick| 2.0 * VISITS as f64 * kept.powi(tick));
            Ok((view, Test::Linear { difference: Some(difference.collect()) }))
        })
    };
    Ok(Entry {
        mistake: "contributions to sums that forget priced as if no two shared a step",
        right: "as many times the norm of one column",
        wrong_way: attack(wrong),
        right_way: attack(right),
    })
}
