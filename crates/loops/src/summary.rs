//! Mean reward and lift over the baseline, from a release and nothing else.
//!
//! With the constant c at coordinate i, the released Gram matrix has `c^2 n` at (i, i) and the released vector `c` times the sum of n centred rewards, each
//! with noise of a known deviation. In sums that forget both are weighted, with weights of at most 1, and so is their quotient.
//!
//! **Interval.** The mean is `m = centre + s / n`. Its error has two independent parts: the noise of s and n, by the first order `(e_s - (s/n) e_n) / n`, and that of
//! the people who happened to come, of variance at most `(half range)^2 / n` (weights below 1 have `sum w^2 <= sum w`). Both are taken together as normal
//! at 95 %, and cut off where no mean can lie. Where n is not larger than four deviations of its noise no number is given.

use reticent::release::Release;
use serde::Serialize;

use crate::config::CentralPlan;

/// A number with its interval of 95 %.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Estimate {
    /// The number.
    pub value: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// Statistics of rewards in a release.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Summary {
    /// The mean reward of events that the policy decided.
    pub mean_reward: Option<Estimate>,
    /// The mean reward of the hold-out.
    pub baseline_reward: Option<Estimate>,
    /// The difference of the two.
    pub lift: Option<Estimate>,
}

/// A mean with the variance of its error.
struct Mean {
    value: f64,
    variance: f64,
    /// Events that it is the mean of.
    events: f64,
}

impl Mean {
    /// The estimate of a number that lies within these limits.
    fn estimate(&self, (least, most): (f64, f64)) -> Estimate {
        let half = 1.96 * self.variance.sqrt();
        Estimate {
            value: self.value,
            low: (self.value - half).max(least),
            high: (self.value + half).min(most),
        }
    }
}

impl Summary {
    /// Statistics of this release.
    pub fn of(plan: &CentralPlan, release: Option<&Release>) -> Self {
        let (Some(release), Some(constant)) = (release, plan.features.constant()) else {
            return Summary::default();
        };
        if plan.params.has_fixed_actions() {
            return Summary::of_actions(plan, release);
        }
        // An earlier release may have fewer words; constants are the last ones of each.
        let last = release.domain().dimension() - 1;
        let policy = mean(plan, release, last, constant);
        let baseline = match plan.params.compares() && last > 0 {
            true => mean(plan, release, last - 1, constant),
            false => None,
        };
        let lift = policy.as_ref().zip(baseline.as_ref()).map(|(policy, baseline)| Mean {
            value: policy.value - baseline.value,
            variance: policy.variance + baseline.variance,
            events: policy.events + baseline.events,
        });
        let (low, high) = plan.learner_params.bounds.rewards;
        let estimate = |mean: &Mean| mean.estimate((low, high));
        Summary {
            mean_reward: policy.as_ref().map(estimate),
            baseline_reward: baseline.as_ref().map(estimate),
            lift: lift.as_ref().map(|lift| lift.estimate((low - high, high - low))),
        }
    }

    /// Mean reward of a loop with fixed actions, whose release has the sums of each: people in units of their precision, so that the mean is that of all
    /// actions as they were shown.
    fn of_actions(plan: &CentralPlan, release: &Release) -> Self {
        let people: f64 = release.upper_triangle().iter().sum();
        let (low, high) = plan.learner_params.bounds.rewards;
        if people.is_nan() || people < 1.0 {
            return Summary::default();
        }
        let centred = release.vector().iter().sum::<f64>() / people;
        let value = (0.5 * (low + high) + centred).clamp(low, high);
        let mean = Mean { value, variance: (0.5 * (high - low)).powi(2) / people, events: people };
        Summary { mean_reward: Some(mean.estimate((low, high))), ..Summary::default() }
    }

    /// Number of visits of the policy that must count until this release would have a mean: it depends on the noise alone.
    pub fn people_needed(plan: &CentralPlan, release: Option<&Release>) -> Option<u64> {
        if plan.params.has_fixed_actions() {
            return None;
        }
        let dimension = release?.domain().dimension();
        let deviation = release?.entry_deviation(dimension - 1, dimension - 1)?;
        let least = MOST_NOISE * deviation / plan.features.constant()?.powi(2);
        least.is_finite().then_some(least.max(1.0).ceil() as u64)
    }
}

/// Events that a release counts, of the policy and of the hold-out, weighted by what is not forgotten; none where they are lost in its noise.
pub(crate) fn events(plan: &CentralPlan, release: &Release) -> Option<f64> {
    let constant = plan.features.constant()?;
    // An earlier release may have fewer words.
    let last = release.domain().dimension() - 1;
    let policy = mean(plan, release, last, constant)?.events;
    let holdout = match plan.params.compares() && last > 0 {
        true => mean(plan, release, last - 1, constant).map_or(0.0, |mean| mean.events),
        false => 0.0,
    };
    Some(policy + holdout)
}

/// Deviations of its noise that a number of people must exceed.
const MOST_NOISE: f64 = 4.0;

/// The mean of a group whose constant stands at this coordinate.
fn mean(plan: &CentralPlan, release: &Release, at: usize, constant: f64) -> Option<Mean> {
    let bounds = plan.learner_params.bounds;
    let (square, square_noise) = (release.entry(at, at)?, release.entry_deviation(at, at)?);
    let place = release.domain().matrix_coordinates() + at;
    let (sum, sum_noise) = (*release.sums().get(place)?, *release.deviations().get(place)?);
    let (people, people_noise) = (square / constant.powi(2), square_noise / constant.powi(2));
    if people.is_nan() || people <= MOST_NOISE * people_noise || people < 1.0 {
        return None;
    }
    let (sum, sum_noise) = (sum / constant, sum_noise / constant);
    let centred = sum / people;
    let (low, high) = bounds.rewards;
    let half_range = 0.5 * (high - low);
    let noise = (sum_noise.powi(2) + (centred * people_noise).powi(2)) / people.powi(2);
    Some(Mean {
        value: (0.5 * (low + high) + centred).clamp(low, high),
        variance: noise + half_range.powi(2) / people,
        events: people,
    })
}
