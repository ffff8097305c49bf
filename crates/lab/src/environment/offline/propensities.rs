//! Test of logged propensities against the actions that a log says were drawn with them.
//!
//! A line with action `A` and propensity `p` has `E[1{A = a} / p] <= 1` for every action a, with equality where a could be drawn; and an action of probability `q > 1/2` is
//! missed with probability `1 - q`. Hence two contradictions and one doubt:
//!
//! ```text
//! too rare:     sum 1{A = a} / p       exceeds the number of lines                                     no policy draws so
//! never missed: sum 1{p > 1/2} (1 - p) / p   exceeds the number of lines with p <= 1/2                 no policy draws so
//! too often:    sum 1{A = a} / p       falls short of the number of lines            a was not offered in some, or p is wrong
//! ```
//!
//! each by more than six standard errors, a margin for one line of the largest weight (Bernstein), and a share of [`ROUNDED`], since propensities are written with few digits.

use std::collections::BTreeMap;

/// Beginning of a warning of such a log.
pub(crate) const PROPENSITIES: &str = "PROPENSITIES";

/// Standard errors.
const ERRORS: f64 = 6.0;
/// Differences below this share are rounding.
const ROUNDED: f64 = 0.05;
/// Actions that a warning names, at most.
const MOST_NAMED: usize = 3;

/// The lines of one action.
#[derive(Default)]
struct Taken {
    lines: f64,
    propensities: f64,
    /// Sums of `1/p` and of `(1 - p)/p^2`, its variance.
    weights: f64,
    variance: f64,
    largest: f64,
}

/// Counts of a log.
#[derive(Default)]
pub(crate) struct Propensities {
    lines: f64,
    actions: BTreeMap<String, Taken>,
    /// Lines with p at most 1/2; how many they should be at least, and the variance of that.
    missed: f64,
    expected: f64,
    variance: f64,
}

impl Propensities {
    /// Counts a line.
    pub(crate) fn add(&mut self, action: &str, propensity: f64) {
        self.lines += 1.0;
        if !self.actions.contains_key(action) {
            self.actions.insert(action.into(), Taken::default());
        }
        let Some(taken) = self.actions.get_mut(action) else { return };
        let weight = 1.0 / propensity;
        taken.lines += 1.0;
        taken.propensities += propensity;
        taken.weights += weight;
        taken.variance += (1.0 - propensity) * weight * weight;
        taken.largest = taken.largest.max(weight);
        if propensity > 0.5 {
            let odds = (1.0 - propensity) * weight;
            self.expected += odds;
            // Of a miss that is counted, and of the odds themselves.
            self.variance += odds * (1.0 + odds);
        } else {
            self.missed += 1.0;
        }
    }

    /// Warnings, the gravest first.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let (mut rare, mut often) = (Vec::new(), Vec::new());
        for (name, taken) in &self.actions {
            let margin =
                (ERRORS * taken.variance.sqrt() + 12.0 * taken.largest).max(ROUNDED * self.lines);
            let share = format!(
                "{name:?} was taken in {:.0} % of the lines, with a propensity of {:.3} on average",
                100.0 * taken.lines / self.lines,
                taken.propensities / taken.lines
            );
            if taken.weights > self.lines + margin {
                rare.push(share);
            } else if taken.weights < self.lines - margin && taken.weights > taken.lines {
                often.push(share);
            }
        }
        let margin = (ERRORS * self.variance.sqrt() + 12.0).max(ROUNDED * self.expected);
        let never_missed = self.expected > self.missed + margin;
        let named = |all: &[String]| {
            let more = all.len().saturating_sub(MOST_NAMED);
            let some = all.iter().take(MOST_NAMED).cloned().collect::<Vec<_>>().join("; ");
            if more > 0 { format!("{some}; and {more} more") } else { some }
        };
        let mut warnings = Vec::new();
        if !rare.is_empty() {
            warnings.push(format!(
                "{PROPENSITIES} CONTRADICT THE ACTIONS: {}: no policy takes an action so often with such a probability; correct the column, every estimate and interval rests on it",
                named(&rare)
            ));
        }
        if never_missed {
            warnings.push(format!(
                "{PROPENSITIES} CONTRADICT THE ACTIONS: propensities above 1/2 leave at least {:.0} lines for other actions, and {:.0} have a propensity of at most 1/2; correct the column, every estimate and interval rests on it",
                self.expected, self.missed
            ));
        }
        if !often.is_empty() && warnings.is_empty() {
            warnings.push(format!(
                "{PROPENSITIES} MAY BE WRONG: {}: either the action was not offered in the other lines, or the column is wrong",
                named(&often)
            ));
        }
        warnings
    }
}

#[cfg(test)]
mod tests {
    use reticent::noise::Noise;

    use super::*;
    use crate::FastNoise;

    /// Warning of lines of a policy, whose propensities are written as `written` says.
    fn warnings(
        lines: u64,
        mut policy: impl FnMut(&mut FastNoise) -> Vec<f64>,
        written: impl Fn(usize, f64) -> f64,
    ) -> Vec<String> {
        let mut noise = FastNoise::seeded(11);
        let mut counts = Propensities::default();
        for _ in 0..lines {
            let of = policy(&mut noise);
            let mut draw = noise.uniform();
            let taken = of.iter().position(|p| {
                draw -= p;
                draw < 0.0
            });
            let action = taken.unwrap_or(of.len() - 1);
            counts.add(&action.to_string(), written(action, of[action]));
        }
        counts.warnings()
    }

    #[test]
    fn true_propensities_are_believed() {
        let truly = |_: usize, p: f64| p;
        let half = |_: &mut FastNoise| vec![0.5, 0.5];
        assert!(warnings(4000, half, truly).is_empty());
        // A context decides; one action is nearly always taken; another one is rare; two digits are written.
        let context = |noise: &mut FastNoise| match noise.below(3) {
            0 => vec![0.9, 0.05, 0.05],
            1 => vec![0.2, 0.7, 0.1],
            _ => vec![1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0],
        };
        assert!(warnings(4000, context, truly).is_empty());
        assert!(warnings(4000, context, |_, p| (100.0 * p).round() / 100.0).is_empty());
        assert!(
            warnings(1000, |_| vec![0.9995, 0.0005], truly).is_empty(),
            "no miss in 1000 lines"
        );
        assert!(warnings(50, |_| vec![0.99, 0.01], truly).is_empty());
        // A policy without chance.
        assert!(
            warnings(
                500,
                |noise| if noise.below(2) == 0 { vec![1.0, 0.0] } else { vec![0.0, 1.0] },
                truly
            )
            .is_empty()
        );
    }

    #[test]
    fn nine_tenths_logged_for_an_action_taken_half_of_the_time_is_noticed() {
        let half = |_: &mut FastNoise| vec![0.5, 0.5];
        let contradicts = |found: &[String]| found.iter().any(|one| one.contains("CONTRADICT"));
        // For both actions, or with what is left for the other one.
        assert!(contradicts(&warnings(1000, half, |_, _| 0.9)));
        assert!(contradicts(&warnings(1000, half, |action, _| [0.9, 0.1][action])));
        // With the other one as it is: it could be that the first one was not always offered.
        let doubtful = warnings(1000, half, |action, _| [0.9, 0.5][action]);
        assert!(doubtful.len() == 1 && doubtful[0].contains("MAY BE WRONG"), "{doubtful:?}");
        assert!(doubtful[0].contains("\"0\"") && !doubtful[0].contains("\"1\""), "{doubtful:?}");
    }
}
