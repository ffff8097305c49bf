//! Choice of the best randomiser, by the value of its reports, and a sentence that gives the reason.
//!
//! Least squares on noisy sums errs by `V^-1 (h - N theta + ...)` (`bandit::rule`): what counts of one report is
//! `s^2 = s_u^2 + s_G^2`, the noise of `x z` and that of `x x^T` times theta, whose norm is about 1 in these units. The method with
//! the smallest s wins; with several levels of epsilon, the largest sum of `1/s^2`, the information of one report from each.
//!
//! With public arms only the reward is hidden, which always wins. A delta of 0 leaves the pure methods.
//!
//! **Both caps** have no first moment, which `unit_pair` estimates the products with an intercept by. What that saves is not in s, so that `unit_axis` is a candidate only where no intercept
//! is declared: with one it loses 1.4 times as much at epsilon 4 and 1.9 times at 8 (`examples/axis.toml`).

use super::{CalibratedMethod, Levels, Method, ReportParams, method::Amount};
use crate::{Error, Result, randomize::GramGaussian, refuse_if, special::square};

/// The best method, its randomiser for each level, and why.
pub(super) fn best(params: &ReportParams) -> Result<(Method, Vec<CalibratedMethod>, String)> {
    let candidates = if params.public_arms {
        vec![Method::RewardGaussian, Method::RewardResponse]
    } else {
        let split = GramGaussian::DEFAULT_SPLIT;
        let pair = match params.bounds.intercept {
            Some(_) => Method::UnitPair,
            None => Method::UnitAxis,
        };
        vec![Method::GramGaussian { split }, Method::UnitGram, pair]
    };
    let mut found: Vec<(f64, Method, Vec<CalibratedMethod>)> = Vec::new();
    let mut refused = None;
    let dense = params.bounds.structure.is_dense();
    let fits = |method: &Method| {
        (params.delta > 0.0 || method.is_pure()) && (dense || method.has_blocks())
    };
    if params.public_arms && !dense {
        let remedy = "no method for public arms knows blocks of parameters: leave one of them out";
        return Err(Error::invalid("public_arms", true, remedy));
    }
    for method in candidates.into_iter().filter(fits) {
        match build(params, &method) {
            Ok(randomizers) => {
                found.push((information(&randomizers, &params.levels), method, randomizers));
            }
            Err(error) => refused = Some(error),
        }
    }
    found.sort_by(|one, two| two.0.total_cmp(&one.0));
    let runner_up = found.get(1).map(|(information, method, _)| (*information, method.clone()));
    let Some((information, method, randomizers)) = found.into_iter().next() else {
        let none = Error::invalid("method", "missing", "no method fits these parameters");
        return Err(refused.unwrap_or(none));
    };
    let reason = sentence(params, &method, information, runner_up);
    Ok((method, randomizers, reason))
}

/// A randomiser for each level.
pub(super) fn build(params: &ReportParams, method: &Method) -> Result<Vec<CalibratedMethod>> {
    let refused = !method.is_pure() && params.delta <= 0.0 && params.calibration.is_none();
    let remedy = "Gaussian noise needs a delta above 0; expected one, or a pure method";
    refuse_if(refused, "delta", params.delta, remedy)?;
    let build = |&epsilon: &f64| {
        let amount = match params.calibration {
            Some(calibration) => Amount::Given(calibration),
            None => Amount::Budget {
                epsilon,
                delta: params.delta,
                times: params.contributions_per_person,
            },
        };
        CalibratedMethod::new(method, &params.bounds, amount)
    };
    params.levels.epsilons().iter().map(build).collect()
}

/// `1/s^2` of a report, on average over the levels.
pub(super) fn information(randomizers: &[CalibratedMethod], levels: &Levels) -> f64 {
    let one = |randomizer: &CalibratedMethod| {
        let precision = randomizer.precision();
        1.0 / (square(precision.matrix) + square(precision.vector))
    };
    match levels {
        Levels::Public(_) => randomizers.iter().map(one).sum::<f64>() / randomizers.len() as f64,
        // Who is who is not known, so noise adds up instead.
        Levels::Hidden { shares, .. } => {
            let noise: f64 = randomizers.iter().zip(shares).map(|(r, share)| share / one(r)).sum();
            shares.iter().sum::<f64>() / noise
        }
    }
}

fn sentence(
    params: &ReportParams,
    method: &Method,
    information: f64,
    runner_up: Option<(f64, Method)>,
) -> String {
    let name = |method: &Method| match method {
        Method::GramGaussian { .. } => "Gaussian noise on x x^T and x z",
        Method::UnitGram => "PrivUnit on x x^T and x z",
        Method::UnitPair => "PrivUnit on x and z",
        Method::UnitAxis => "PrivUnit on the axis of x and z",
        Method::RewardGaussian => "Gaussian noise on the reward",
        Method::RewardResponse => "randomised response on the reward",
        Method::TriangleGaussian => "Gaussian noise on the triangle of x x^T and on x z",
        Method::AdditivePair => "Gaussian noise on x and y",
        Method::KnownGram { .. } => "PrivUnit on x z while exploring",
    };
    let levels = params.levels.epsilons();
    let levels = match levels {
        [one] => format!("epsilon = {one}"),
        several => format!("{} levels of epsilon", several.len()),
    };
    let arms = if params.public_arms {
        "the arms are public, so only the reward is hidden"
    } else {
        "the arms are private"
    };
    let beaten = match runner_up {
        Some((other, method)) => {
            format!(", {:.2} times less than {}", (information / other).sqrt(), name(&method))
        }
        None if params.delta <= 0.0 => ", and delta = 0 leaves nothing else".into(),
        None => String::new(),
    };
    format!(
        "{}: {arms}, and at {levels}, delta = {} and d = {} one report carries noise of {:.3}{beaten}.",
        name(method),
        params.delta,
        params.bounds.dimension,
        1.0 / information.sqrt(),
    )
}
