//! Mistakes of the deployed samplers: mechanisms as they are deployed, on secure noise, and the same with draws that are halved.
//!
//! Other attacks draw seeded noise, whose laws are those of `FastNoise`; a sampler of the core that draws too little passes them all.

use reticent::{
    bandit::LocalParams,
    randomize::{Bounds, Method, ReportParams},
    release::{Calibration, Domain, Mechanism, PrivateSumParams, Schedule},
};

use super::{DELTA, EPSILON, Entry};
use crate::{
    Result,
    audit::attack::{Attack, NoiseKind, local, sums},
};

/// Runs on each data set: a halved sampler doubles mu.
const SAMPLES: u64 = 8000;

pub(super) fn entries() -> Result<Vec<Entry>> {
    let gaussian = Calibration::Budget { epsilon: EPSILON, delta: DELTA };
    Ok(vec![
        entry("half of the Gaussian noise in every release", || sum(gaussian))?,
        entry("half of the Laplace noise in every release", || {
            sum(Calibration::Pure { epsilon: EPSILON })
        })?,
        entry("half of the Gaussian noise in a report", report)?,
    ])
}

fn entry(mistake: &'static str, attack: impl Fn() -> Result<Attack>) -> Result<Entry> {
    let on = |noise| -> Result<Attack> {
        let mut attack = attack()?.on(noise);
        attack.samples = SAMPLES;
        Ok(attack)
    };
    Ok(Entry {
        mistake,
        right: "the deployed sampler on secure noise",
        wrong_way: on(NoiseKind::Halved)?,
        right_way: on(NoiseKind::Secure)?,
    })
}

/// A running sum of eight releases.
fn sum(calibration: Calibration) -> Result<Attack> {
    let domain = Domain::Vector { dimension: 1, bound: 1.0 };
    let params = PrivateSumParams {
        mechanism: Mechanism::Tree { levels: None },
        schedule: Schedule::EveryRound,
        ..PrivateSumParams::new(domain, Some(8), calibration)
    };
    let guarantee = params.check()?.guarantee(DELTA)?;
    Ok(sums::attacks(&params, &guarantee).swap_remove(0))
}

/// A device's report of features and reward.
fn report() -> Result<Attack> {
    let bounds = Bounds::unit(2);
    let method = Some(Method::TriangleGaussian);
    let report = ReportParams { method, ..ReportParams::new(bounds, EPSILON, DELTA) };
    let plan = LocalParams::from(report).check()?;
    Ok(local::attacks(&plan, 0, &bounds, &plan.guarantee(0)?).swap_remove(0))
}
