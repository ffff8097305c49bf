//! Reports of the local protocol and of OnlineUCB: the server is the adversary and sees the message.
//!
//! The pair of people that is easiest to distinguish depends on the randomiser. Candidates at the extremes of the permitted data are
//! compared in a separate pilot, and the pair that Fisher's test separates best is attacked.

use reticent::{
    bandit::{JointParams, LocalParams, LocalPlan, Model},
    privacy::Guarantee,
    randomize::{Bounds, FeatureRewardParams, Method, Person, ReportParams},
};

use super::{
    Attack, AuditNoise, DataSet, NoiseKind, Test, View, likelihood::separation, neighbours::Datum,
};
use crate::{Result, play::trial::mix};

/// Runs on each data set.
const SAMPLES: u64 = 200_000;
/// Reports on each data set in the pilot.
const PILOT: u64 = 1000;

/// Attacks on one person's reports at this level; `people` restricts who may take part, if that is less than the randomiser accepts.
pub fn attacks(
    plan: &LocalPlan,
    level: usize,
    people: &Bounds,
    guarantee: &Guarantee,
) -> Vec<Attack> {
    let (plan, people) = (plan.clone(), *people);
    let epsilon = plan.params().report.levels.epsilons()[level];
    let adversary = format!(
        "the server sees the report ({}, level {epsilon:.3}); worst of a pool of pairs, learned test",
        name(plan.method())
    );
    let attack = Attack::new(adversary, guarantee, SAMPLES, move || {
        let model = plan.server().publish()?;
        let (plan, public) = (plan.clone(), plan.params().report.public_arms);
        let report =
            move |datum: &Datum, noise: AuditNoise| report(&plan, level, &model, datum, noise);
        let pair = worst(&people, public, &report)?;
        let view: View =
            Box::new(move |data: DataSet, noise| report(data.pick((&pair.0, &pair.1)), noise));
        Ok((view, Test::Linear { difference: None }))
    });
    vec![attack]
}

/// Attacks on the reports that a curator makes of one person's contributions: the adversary sees them one by one, and later people only their sums.
pub fn attacks_on_reports(params: &JointParams, guarantee: &Guarantee) -> Result<Vec<Attack>> {
    let JointParams { bounds, epsilon, delta, contributions_per_person, .. } = *params;
    let report =
        ReportParams { contributions_per_person, ..ReportParams::new(bounds, epsilon, delta) };
    Ok(attacks(&LocalParams::from(report).check()?, 0, &bounds, guarantee))
}

fn name(method: &Method) -> &'static str {
    match method {
        Method::GramGaussian { .. } => "GOE noise on x x^T and x z",
        Method::TriangleGaussian => "equal noise on the triangle and x z",
        Method::AdditivePair => "x + N, y + N",
        Method::UnitGram => "PrivUnit on x x^T and x z",
        Method::UnitPair => "PrivUnit on x and z",
        Method::UnitAxis => "PrivUnit on the axis of x and z",
        Method::RewardGaussian => "z + N",
        Method::RewardResponse => "one bit of z",
        Method::KnownGram { .. } => "PrivUnit on x z",
    }
}

/// Numbers of a report that a test reads: its entries, and their products if a report and its opposite are as likely, so that the means of entries carry nothing.
pub(super) fn seen(method: &Method, values: &[f64]) -> Vec<f64> {
    let mut seen = values.to_vec();
    if *method == Method::UnitAxis {
        for (place, one) in values.iter().enumerate() {
            seen.extend(values[place..].iter().map(|two| one * two));
        }
    }
    seen
}

/// The sum of all reports of one person.
fn report(
    plan: &LocalPlan,
    level: usize,
    model: &Model,
    datum: &Datum,
    noise: AuditNoise,
) -> Result<Vec<f64>> {
    let mut person = plan.person(level, noise)?;
    let made = |person: &mut Person<AuditNoise>| {
        let report = person.report_in_block(model, datum.block, &datum.features, datum.reward)?;
        Ok::<_, crate::Error>(seen(plan.method(), report.values()))
    };
    let mut sum = made(&mut person)?;
    for _ in 1..plan.params().report.contributions_per_person {
        let more = made(&mut person)?;
        sum.iter_mut().zip(more).for_each(|(sum, value)| *sum += value);
    }
    Ok(sum)
}

/// The pair of the pool that a pilot separates best.
pub(super) fn worst(
    people: &Bounds,
    public_arms: bool,
    report: &impl Fn(&Datum, AuditNoise) -> Result<Vec<f64>>,
) -> Result<(Datum, Datum)> {
    let mut best: Option<(f64, (Datum, Datum))> = None;
    for (index, pair) in pool(people, public_arms).into_iter().enumerate() {
        let draw = |datum: &Datum, data: u64| {
            (0..PILOT)
                .map(|run| {
                    let seed = mix(mix(0x5049_4c4f, index as u64), 2 * run + data);
                    report(datum, AuditNoise::new(NoiseKind::Fast, seed)?)
                })
                .collect::<Result<Vec<_>>>()
        };
        // The device refuses data outside the declared form, so such people do not take part.
        let (Ok(one), Ok(two)) = (draw(&pair.0, 0), draw(&pair.1, 1)) else { continue };
        let apart = separation(&one, &two);
        if best.as_ref().is_none_or(|(most, _)| apart > *most) {
            best = Some((apart, pair));
        }
    }
    best.map(|(_, pair)| pair).ok_or_else(|| {
        let remedy = "every candidate was refused: widen the bounds";
        reticent::Error::invalid("people", "missing", remedy).into()
    })
}

/// Extreme points of the permitted data.
fn pool(people: &Bounds, public_arms: bool) -> Vec<(Datum, Datum)> {
    let Bounds { dimension: d, feature_bound, rewards, intercept, unit_arms, structure } = *people;
    let constant = intercept.unwrap_or(0.0);
    let free = (feature_bound * feature_bound - constant * constant).max(0.0).sqrt();
    let features = |one: f64, two: f64| {
        let mut x = vec![0.0; d];
        x[0] = free * one;
        if d > 1 {
            x[1] = free * two;
        }
        if intercept.is_some() {
            x[d - 1] = constant;
        }
        x
    };
    let mut others = vec![(1.0, 0.0), (-1.0, 0.0)];
    if d > 1 + usize::from(intercept.is_some()) {
        others.extend([(0.0, 1.0), (0.4, 0.84_f64.sqrt()), (-0.4, 0.84_f64.sqrt())]);
    }
    if !unit_arms {
        others.push((0.0, 0.0));
    }
    let mut pairs = Vec::new();
    for mine in [rewards.0, rewards.1] {
        for &(one, two) in &others {
            for theirs in [rewards.0, rewards.1] {
                let (x, y) = (features(1.0, 0.0), features(one, two));
                // If arms are public, neighbours differ in the reward only.
                if (x == y && mine == theirs) || (public_arms && x != y) {
                    continue;
                }
                let datum = |features: &Vec<f64>, reward, block| Datum {
                    features: features.clone(),
                    reward,
                    block,
                };
                pairs.push((datum(&x, mine, 0), datum(&y, theirs, 0)));
                if structure.blocks > 1 {
                    pairs.push((datum(&x, mine, 0), datum(&y, theirs, structure.blocks - 1)));
                }
            }
        }
    }
    pairs
}

/// Attacks on OnlineUCB's message `(x + N, y + N)`.
pub fn feature_reward(params: &FeatureRewardParams, guarantee: &Guarantee) -> Vec<Attack> {
    let params = params.clone();
    let Bounds { dimension, feature_bound, rewards: (low, high), .. } = params.bounds;
    let adversary = "the server sees OnlineUCB's report; x against -x, highest against lowest reward; likelihood ratio";
    let attack = Attack::new(adversary, guarantee, SAMPLES, move || {
        let randomizer = params.check()?;
        let view: View = Box::new(move |data, mut noise| {
            let sign = *data.pick((&1.0, &-1.0));
            let mut features = vec![0.0; dimension];
            features[0] = sign * feature_bound;
            let reward = if sign > 0.0 { high } else { low };
            let report = randomizer.report(&features, reward, &mut noise)?;
            // Equal noise everywhere: the difference itself is the direction.
            Ok(vec![-2.0 * feature_bound * report[0] - (high - low) * report[dimension]])
        });
        Ok((view, Test::Scores))
    });
    vec![attack]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::attack::AuditOptions;

    /// The mean of such a report is 0 whatever the data: a test of the numbers alone proves a third of epsilon, one of their products most of it.
    #[test]
    fn reports_whose_sides_are_as_likely_are_attacked_by_their_products() {
        let bounds = Bounds { rewards: (0.0, 1.0), ..Bounds::unit(5) };
        let report =
            ReportParams { method: Some(Method::UnitAxis), ..ReportParams::new(bounds, 2.0, 0.0) };
        let plan = LocalParams::from(report).check().unwrap();
        let attacks = attacks(&plan, 0, &bounds, &plan.guarantee(0).unwrap());
        let options = AuditOptions { samples: Some(20_000), ..AuditOptions::default() };
        let audit = &attacks[0].run("axis", &options).unwrap()[0];
        assert!((1.5..2.0).contains(&audit.epsilon_lower_bound), "{}", audit.epsilon_lower_bound);
    }
}
