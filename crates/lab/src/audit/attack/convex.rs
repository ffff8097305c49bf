//! Losses of paper 4: the running sum of gradient estimates, a value protected where it arises, and the points that are played.
//!
//! Under a curator the releases of the learner's running sum are attacked by `sums`, on a stream built from the plan's own public numbers
//! (sensitivity, batch, horizon, mechanism); the attack is made only if the accountant gives that stream the same curve as the plan. The
//! second adversary runs the learner of a trial and sees only the points that it plays; the first loss is the highest on one data set and the
//! lowest on the other.

use reticent::{
    convex::{AnySet, DecisionSet, LinearOracle, PrivateBanditParams, Protection},
    noise::Noise,
    privacy::Guarantee,
    randomize::ValueLaplace,
    release::{Calibration, Domain, Mechanism, PrivateSumParams, Schedule},
};

use super::{Attack, AuditNoise, DataSet, Test, View, sums};
use crate::Result;

/// Runs on each data set.
const SAMPLES: u64 = 100_000;

/// Attacks on the guarantee of a bandit on a set.
pub fn attacks(
    params: &PrivateBanditParams,
    set: AnySet,
    guarantee: &Guarantee,
) -> Result<Vec<Attack>> {
    let range = params.values.unwrap_or((0.0, params.lipschitz * set.shape().diameter()));
    match params.protection {
        Protection::None => Ok(Vec::new()),
        Protection::Local { epsilon } => {
            Ok(vec![local(range, epsilon, params.contributions_per_person, guarantee)])
        }
        Protection::Central { .. } | Protection::CentralPure { .. } => {
            let stream = stream(params, set)?;
            let same = stream.check()?.guarantee(guarantee.delta())?.epsilon();
            // An anytime learner's certificate is that of its worst epoch, at or above the first one's.
            if same > guarantee.epsilon() * (1.0 + 1e-9) {
                return Ok(Vec::new());
            }
            Ok(sums::attacks(&stream, guarantee))
        }
    }
}

/// The running sum inside the learner.
fn stream<O: LinearOracle>(
    params: &PrivateBanditParams,
    set: DecisionSet<O>,
) -> Result<PrivateSumParams> {
    let dimension = set.shape().dimension();
    let plan = params.check(set)?;
    let batch = plan.tuning().batch;
    let (mechanism, budget) = match params.protection {
        Protection::Central { epsilon, delta, mechanism } => {
            (mechanism, Calibration::Budget { epsilon, delta })
        }
        Protection::CentralPure { epsilon } => {
            (Mechanism::Tree { levels: None }, Calibration::Pure { epsilon })
        }
        Protection::None | Protection::Local { .. } => {
            let remedy = "there is no private sum to attack";
            return Err(reticent::Error::invalid("protection", "no curator", remedy).into());
        }
    };
    Ok(PrivateSumParams {
        mechanism,
        schedule: Schedule::CappedGeometric { first: batch, least: batch, rate: 0.0, most: batch },
        contributions_per_person: params.contributions_per_person,
        ..PrivateSumParams::new(
            Domain::Vector { dimension, bound: 0.5 * plan.sensitivity() },
            Some(params.horizon),
            params.calibration.unwrap_or(budget),
        )
    })
}

/// The largest numbers of batches that are played and of coordinates of a point that are examined.
pub const BATCHES: u64 = 4;
/// See [`BATCHES`].
pub const COORDINATES: usize = 8;

/// The attack on the points that a learner plays; `view` plays it with the person's losses highest or lowest.
pub fn points(
    view: impl Fn(bool, u64) -> Result<Vec<f64>> + Clone + Send + Sync + 'static,
    guarantee: &Guarantee,
) -> Attack {
    let adversary = format!(
        "plays the learner itself: sees the first point of each of {BATCHES} batches after the person's; the highest loss against the lowest; learned test"
    );
    let attack = Attack::new(adversary, guarantee, 2000, move || {
        let view = view.clone();
        let view: View = Box::new(move |data: DataSet, mut noise: AuditNoise| {
            view(data == DataSet::First, noise.bits())
        });
        Ok((view, Test::Transcript { choices: 0 }))
    });
    attack.between(250, 20_000)
}

fn local(range: (f64, f64), epsilon: f64, reports: u64, guarantee: &Guarantee) -> Attack {
    let adversary = format!(
        "the server sees {reports} protected value(s); the highest loss against the lowest; likelihood ratio"
    );
    Attack::new(adversary, guarantee, SAMPLES, move || {
        let value = ValueLaplace::new(range.0, range.1, epsilon)?;
        let view: View = Box::new(move |data, mut noise| {
            let loss = *data.pick((&range.0, &range.1));
            let mut score = 0.0;
            for _ in 0..reports {
                let seen = value.report(loss, &mut noise)?.value();
                score += (seen - range.0).abs() - (seen - range.1).abs();
            }
            Ok(vec![score])
        });
        Ok((view, Test::Scores))
    })
}
