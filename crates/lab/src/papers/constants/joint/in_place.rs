//! The publication's constants in parameters that were given for `exact` mode.

use reticent::{
    Error, Result,
    bandit::{JointParams, Rule},
};

use super::{Constants, Published, PublishedNoise};
use crate::papers::constants::Problem;

/// [`Published::params`] with alpha = 1/n.
pub fn params(
    problem: Problem,
    noise: PublishedNoise,
    constants: Constants,
    epsilon: f64,
    delta: f64,
    horizon: u64,
) -> Result<JointParams> {
    let alpha = 1.0 / horizon.max(2) as f64;
    Published::new(problem, epsilon, delta, alpha, horizon)?.reading(constants).params(noise)
}

/// Parameters as they are given for `exact` mode, with the publication's constants in place of noise, tree and width. The rule must be
/// [`Rule::Certified`]: its S, sigma and alpha are those of the constants. What the publication says nothing about is refused.
pub fn in_place_of(
    exact: JointParams,
    noise: PublishedNoise,
    constants: Constants,
) -> Result<JointParams> {
    let JointParams { bounds, epsilon, delta, horizon, rule, .. } = exact;
    let Some(horizon) = horizon else {
        return Err(Error::invalid("horizon", "unknown", "the published constants need one"));
    };
    let Rule::Certified { failure_probability, parameter_bound, reward_noise, .. } = rule else {
        let remedy = "the publication has its own confidence set; expected \"certified\", with its S and sigma";
        return Err(Error::invalid("rule", rule, remedy));
    };
    if let Some(intercept) = bounds.intercept {
        let remedy = "published constants are for rewards that are not centred: leave it out";
        return Err(Error::invalid("intercept", intercept, remedy));
    }
    if let Some(every) = exact.restart_every {
        let remedy = "published constants are for one run: leave it out";
        return Err(Error::invalid("restart_every", every, remedy));
    }
    if let Some(half_life) = exact.forget {
        let remedy = "published constants are for sums that do not forget: leave it out";
        return Err(Error::invalid("forget", half_life, remedy));
    }
    if let Some(mechanism) = exact.mechanism {
        let remedy = "the publication has its own tree: leave it out";
        return Err(Error::invalid("mechanism", mechanism, remedy));
    }
    let (s, sigma) = (parameter_bound.unwrap_or(1.0), reward_noise.unwrap_or(1.0));
    let alpha = failure_probability.unwrap_or(1.0 / horizon.max(2) as f64);
    bounds.check()?;
    let problem = Problem::of(&bounds, s, sigma);
    let published = Published::new(problem, epsilon, delta, alpha, horizon)?.reading(constants);
    let constants = published.params_over(bounds, noise)?;
    // S and sigma as they were given, not after two divisions.
    let rule = match constants.rule {
        Rule::Regularized { regularizer, failure_probability, .. } => Rule::Regularized {
            regularizer,
            failure_probability,
            parameter_bound: s,
            reward_noise: sigma,
        },
        other => other,
    };
    let JointParams { mechanism, split, calibration, claim, .. } = constants;
    Ok(JointParams { rule, mechanism, split, calibration, claim, ..exact })
}
