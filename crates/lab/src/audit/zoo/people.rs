//! Mistakes about the sensitivity of a person's data and the number of releases.

use reticent::{
    bandit::{Aggregation, ShuffleParams},
    noise::Noise,
    privacy::gaussian,
    randomize::{Bounds, FeatureRewardParams},
};

use super::{DELTA, EPSILON, Entry, gaussian_promise};
use crate::{
    Result,
    audit::attack::{Attack, AuditNoise, DataSet, Test, View, local, shuffle},
};

pub(super) fn entries() -> Result<Vec<Entry>> {
    Ok(vec![joint_sensitivity()?, one_budget()?, surviving_slot()?])
}

/// `(x + N, y + N)` with noise calibrated for x alone and for y alone, although both parts are released together.
fn joint_sensitivity() -> Result<Entry> {
    let promise = gaussian_promise(gaussian::mu(EPSILON, DELTA)?, DELTA)?;
    let sigma = gaussian::sigma(EPSILON, DELTA, 2.0, 1)?;
    let wrong_way =
        Attack::new("sees features and reward; likelihood ratio", &promise, 50_000, move || {
            let view: View = Box::new(move |data: DataSet, mut noise: AuditNoise| {
                let sign = *data.pick((&-1.0, &1.0));
                let mut seen = || sign + sigma * noise.standard_normal();
                Ok(vec![seen() + seen()])
            });
            Ok((view, Test::Scores))
        });
    let params = FeatureRewardParams::new(Bounds::unit(1), EPSILON, DELTA);
    let right_way = local::feature_reward(&params, &params.check()?.guarantee()?).swap_remove(0);
    Ok(Entry {
        mistake: "features and reward each with the noise of one",
        right: "the sensitivity of the pair",
        wrong_way,
        right_way,
    })
}

/// Two releases about the same person.
fn one_budget() -> Result<Entry> {
    let mu = gaussian::mu(EPSILON, DELTA)?;
    let promise = gaussian_promise(mu, DELTA)?;
    let attack = |mu_of_each: f64| {
        Attack::new("sees both releases; likelihood ratio", &promise, 50_000, move || {
            let sigma = 1.0 / mu_of_each;
            let view: View = Box::new(move |data: DataSet, mut noise: AuditNoise| {
                let value = *data.pick((&0.0, &1.0));
                Ok(vec![2.0 * value + sigma * (noise.standard_normal() + noise.standard_normal())])
            });
            Ok((view, Test::Scores))
        })
    };
    Ok(Entry {
        mistake: "one budget counted once for two releases",
        right: "mu / sqrt 2 for each",
        wrong_way: attack(mu),
        right_way: attack(mu / 2f64.sqrt()),
    })
}

/// Wrong: reports leave in the order they came. Right: the deployed shuffler.
fn surviving_slot() -> Result<Entry> {
    const BATCH: u64 = 40;
    let bounds = Bounds { unit_arms: true, ..Bounds::unit(2) };
    let params = ShuffleParams::new(bounds, EPSILON, DELTA, BATCH, Aggregation::Permute);
    let plan = params.check()?;
    let promise = plan.guarantee()?;
    let mut right = shuffle::attacks(&plan, Aggregation::Permute, BATCH, &bounds, &promise)?;
    // The person comes last; a shuffler that does nothing shows their report in the last slot.
    let wrong_way = local::attacks(plan.local(), 0, &bounds, &promise).swap_remove(0);
    Ok(Entry {
        mistake: "a report's slot that survives the shuffle",
        right: "a uniformly random permutation",
        wrong_way,
        right_way: right.swap_remove(1),
    })
}
