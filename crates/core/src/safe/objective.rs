//! Objective to be maximised: `f(y) = sum f_m(y_m)`, each part linear or concave.
//!
//! A part is asked for its value, its slope, and where its slope has a given value: that is all the programs need.

use serde::{Deserialize, Serialize};

use super::agent::within_reason;
use crate::{Result, error::finite_vector, refuse_if, special::square};

/// The coordinator's objective f.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Objective {
    /// `sum c_m y_m`, with any signs.
    Linear {
        /// c.
        weights: Vec<f64>,
    },
    /// `-1/2 sum w_m (y_m - target_m)^2`: follow a schedule.
    Tracking {
        /// Target of each response.
        targets: Vec<f64>,
        /// Weight of a deviation, above zero.
        weights: Vec<f64>,
    },
    /// `sum w_m ln(1 + y_m / reserve_m)`: proportional fairness, defined above `-reserve_m`, and linear from 1 % above that downwards.
    Fair {
        /// Weight of each agent, above zero.
        weights: Vec<f64>,
        /// Offset of an agent before any response, above zero.
        reserves: Vec<f64>,
    },
}

/// One agent's part of the objective.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Term {
    Linear { weight: f64 },
    Tracking { target: f64, weight: f64 },
    Fair { weight: f64, reserve: f64 },
}

impl Objective {
    /// Refuses an objective for another number of agents, or one that is not concave.
    pub fn check(&self, agents: usize) -> Result<()> {
        match self {
            Objective::Linear { weights } => {
                finite_vector("weights", weights, agents)?;
                let largest = weights.iter().fold(0.0, |most: f64, c| most.max(c.abs()));
                refuse_if(largest == 0.0, "weights", "all 0", "let one agent count")?;
                within_reason("weights", largest)?;
            }
            Objective::Tracking { targets, weights } => {
                finite_vector("targets", targets, agents)?;
                finite_vector("weights", weights, agents)?;
                weights.iter().try_for_each(|&w| within_reason("weights", w).map(drop))?;
                let largest = targets.iter().fold(1.0, |most: f64, target| most.max(target.abs()));
                within_reason("targets", largest)?;
            }
            Objective::Fair { weights, reserves } => {
                finite_vector("weights", weights, agents)?;
                finite_vector("reserves", reserves, agents)?;
                for &value in weights.iter().chain(reserves) {
                    within_reason("weights, reserves", value)?;
                }
            }
        }
        Ok(())
    }

    /// f(y).
    pub fn value(&self, y: &[f64]) -> f64 {
        y.iter().enumerate().map(|(agent, &y)| self.term(agent).value(y)).sum()
    }

    /// A Lipschitz constant of f in the 2-norm over `|y_m| <= limits_m` (Assumption 2's L).
    pub fn lipschitz(&self, limits: &[f64]) -> f64 {
        let slope = |(agent, &limit): (usize, &f64)| {
            let term = self.term(agent);
            term.slope(-limit).abs().max(term.slope(limit).abs())
        };
        limits.iter().enumerate().map(slope).map(|l| l * l).sum::<f64>().sqrt()
    }

    pub(super) fn term(&self, agent: usize) -> Term {
        match self {
            Objective::Linear { weights } => Term::Linear { weight: weights[agent] },
            Objective::Tracking { targets, weights } => {
                Term::Tracking { target: targets[agent], weight: weights[agent] }
            }
            Objective::Fair { weights, reserves } => {
                Term::Fair { weight: weights[agent], reserve: reserves[agent] }
            }
        }
    }
}

/// Below `-0.99 reserve` the logarithm goes on as its tangent.
const FAIR_EDGE: f64 = 0.01;

impl Term {
    pub(super) fn value(&self, y: f64) -> f64 {
        match *self {
            Term::Linear { weight } => weight * y,
            Term::Tracking { target, weight } => -0.5 * weight * square(y - target),
            Term::Fair { weight, reserve } => {
                let share = 1.0 + y / reserve;
                if share >= FAIR_EDGE {
                    weight * libm::log(share)
                } else {
                    weight * (libm::log(FAIR_EDGE) + (share - FAIR_EDGE) / FAIR_EDGE)
                }
            }
        }
    }

    pub(super) fn slope(&self, y: f64) -> f64 {
        match *self {
            Term::Linear { weight } => weight,
            Term::Tracking { target, weight } => -weight * (y - target),
            Term::Fair { weight, reserve } => {
                weight / (reserve * (1.0 + y / reserve).max(FAIR_EDGE))
            }
        }
    }

    /// The y in `[low, high]` of largest `f_m(y) - price y`.
    pub(super) fn best(&self, price: f64, low: f64, high: f64) -> f64 {
        let free = match *self {
            Term::Linear { weight } => {
                if weight > price {
                    high
                } else if weight < price {
                    low
                } else {
                    0.0
                }
            }
            Term::Tracking { target, weight } => target - price / weight,
            Term::Fair { weight, reserve } => {
                if price <= 0.0 {
                    high
                } else {
                    let free = weight / price - reserve;
                    // Steeper than the tangent: as low as possible.
                    if free < (FAIR_EDGE - 1.0) * reserve { low } else { free }
                }
            }
        };
        // Not `clamp`, which panics where an end is not a number.
        free.max(low.min(high)).min(high.max(low))
    }

    /// The largest value over an interval.
    pub(super) fn most(&self, low: f64, high: f64) -> f64 {
        self.value(self.best(0.0, low, high))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slopes_are_those_of_the_values_and_the_best_point_is_best() {
        let terms = [
            Term::Linear { weight: -0.7 },
            Term::Tracking { target: 0.4, weight: 3.0 },
            Term::Fair { weight: 2.0, reserve: 0.8 },
        ];
        for term in terms {
            for step in -30..=30 {
                let y = f64::from(step) * 0.1;
                let h = 1e-6;
                let slope = (term.value(y + h) - term.value(y - h)) / (2.0 * h);
                assert!((slope - term.slope(y)).abs() < 1e-4 * (1.0 + slope.abs()), "{term:?} {y}");
            }
            for price in [-2.0, -0.7, 0.0, 0.5, 1.3, 400.0] {
                let best = term.best(price, -1.5, 1.1);
                let worth = |y: f64| term.value(y) - price * y;
                for step in 0..=100 {
                    let y = -1.5 + 0.026 * f64::from(step);
                    assert!(worth(y) <= worth(best) + 1e-9, "{term:?} {price} {y} {best}");
                }
            }
        }
    }

    #[test]
    fn objectives_that_are_not_concave_or_do_not_fit_are_refused() {
        assert!(Objective::Linear { weights: vec![0.0, 0.0] }.check(2).is_err());
        assert!(Objective::Linear { weights: vec![1.0] }.check(2).is_err());
        assert!(Objective::Linear { weights: vec![1.0, -1e200] }.check(2).is_err());
        let steep = Objective::Tracking { targets: vec![1.0], weights: vec![1e200] };
        assert!(steep.check(1).is_err());
        let far = Objective::Tracking { targets: vec![1e200], weights: vec![1.0] };
        assert!(far.check(1).is_err());
        assert!(Objective::Fair { weights: vec![1.0], reserves: vec![1e-200] }.check(1).is_err());
        // Ends that are not numbers are no reason to panic.
        Term::Tracking { target: 0.0, weight: 1.0 }.best(0.0, f64::NAN, f64::NAN);
        let bent = Objective::Tracking { targets: vec![1.0], weights: vec![-1.0] };
        assert!(bent.check(1).is_err());
        assert!(Objective::Fair { weights: vec![1.0], reserves: vec![0.0] }.check(1).is_err());
        assert!(Objective::Fair { weights: vec![1.0], reserves: vec![1.0] }.check(1).is_ok());
    }
}
