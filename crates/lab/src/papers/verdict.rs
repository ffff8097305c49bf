//! Verdicts on claims, and the rule that gives them.
//!
//! A claim that compares two estimates has three possible verdicts:
//!
//! ```text
//! reproduced        the difference has the claimed sign, and exceeds ERRORS of its standard errors
//! not reproduced    it has the other sign, and exceeds them
//! cannot tell       it is within them, or there are fewer than MINIMUM_TRIALS trials
//! ```
//!
//! The standard error of a difference is `sqrt(se_a^2 + se_b^2)`. Trials of two algorithms share their instances, which makes the true error
//! smaller in general: the rule is then slower to decide, not wrong more often. With [`MINIMUM_TRIALS`] trials a difference of zero is taken for
//! one with the claimed sign with a probability of at most 0.03 (Student's distribution with three degrees of freedom), with 20 trials 0.004.

use serde::Serialize;

use crate::report::summary::Estimate;

/// Standard errors that a difference must exceed to count.
pub const ERRORS: f64 = 3.0;
/// Trials of each estimate below which no comparison is decided.
pub const MINIMUM_TRIALS: usize = 4;

/// A claim of a paper beside what was measured.
#[derive(Debug, Clone, Serialize)]
pub struct Claim {
    /// In the paper's sense, in our words.
    pub claim: String,
    /// The verdict, and the trials that it rests on.
    #[serde(flatten)]
    pub judgement: Judgement,
    /// The measured value.
    pub measured: String,
    /// The value expected from the paper or its restoration.
    pub expected: String,
}

/// The first word of a claim of ours, which stands beside those of the papers in the output of the program, and not on their pages.
pub(crate) const OURS: &str = "ours: ";

/// The outcome of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Verdict {
    /// Measured as claimed.
    #[serde(rename = "reproduced")]
    Reproduced,
    /// Measured otherwise.
    #[serde(rename = "not reproduced")]
    NotReproduced,
    /// Too few trials, or a difference within its errors.
    #[serde(rename = "cannot tell")]
    CannotTell,
    /// A statement about large numbers that says nothing at those that were measured.
    #[serde(rename = "vacuous")]
    Vacuous,
    /// A slip of the printed text, which other parts of the paper do not share.
    #[serde(rename = "erratum")]
    Erratum,
    /// The privacy that the claim is made for does not hold.
    #[serde(rename = "privacy does not hold")]
    PrivacyDoesNotHold,
}

impl Verdict {
    fn when(holds: bool) -> Self {
        if holds { Verdict::Reproduced } else { Verdict::NotReproduced }
    }

    /// The verdict in words.
    pub fn text(self) -> &'static str {
        match self {
            Verdict::Reproduced => "reproduced",
            Verdict::NotReproduced => "not reproduced",
            Verdict::CannotTell => "cannot tell",
            Verdict::Vacuous => "vacuous",
            Verdict::Erratum => "erratum",
            Verdict::PrivacyDoesNotHold => "privacy does not hold",
        }
    }

    /// The rank of a verdict among those on the parts of a claim: the largest decides.
    fn weight(self) -> u8 {
        match self {
            Verdict::Reproduced => 0,
            Verdict::CannotTell => 1,
            Verdict::Vacuous => 2,
            Verdict::Erratum => 3,
            Verdict::NotReproduced => 4,
            Verdict::PrivacyDoesNotHold => 5,
        }
    }
}

/// A verdict with the number of trials that it rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Judgement {
    /// The outcome.
    pub verdict: Verdict,
    /// Trials of the estimate that had the fewest; `None` for numbers that are computed, not sampled.
    pub trials: Option<usize>,
}

impl Judgement {
    /// Judges numbers that are computed, not sampled.
    pub fn computed(holds: bool) -> Self {
        Judgement { verdict: Verdict::when(holds), trials: None }
    }

    /// Judges a claim of privacy, which the accountant computes.
    pub fn privacy(holds: bool) -> Self {
        let verdict = if holds { Verdict::Reproduced } else { Verdict::PrivacyDoesNotHold };
        Judgement { verdict, trials: None }
    }

    /// The same in words for a claim that was not reproduced, where that refutes less than the claim: `instead` says what.
    pub fn instead(self, instead: Verdict) -> Self {
        match self.verdict {
            Verdict::NotReproduced => Judgement { verdict: instead, ..self },
            _ => self,
        }
    }

    /// Judges a property that every trial must have: one exception refutes it, whatever the number of trials.
    pub fn in_every_trial(holds: bool, trials: usize) -> Self {
        Judgement { verdict: Verdict::when(holds), trials: Some(trials) }
    }

    /// Judges a statistic whose error is not estimated, such as a quantile, or whose test states errors of its own.
    pub fn stated(holds: bool, trials: usize) -> Self {
        let verdict =
            if trials < MINIMUM_TRIALS { Verdict::CannotTell } else { Verdict::when(holds) };
        Judgement { verdict, trials: Some(trials) }
    }

    /// Judges the claim that a mean is positive.
    pub fn positive(mean: f64, standard_error: f64, trials: usize) -> Self {
        let errors = ERRORS * standard_error;
        let verdict = match () {
            () if trials < MINIMUM_TRIALS => Verdict::CannotTell,
            () if mean > errors => Verdict::Reproduced,
            () if mean < -errors => Verdict::NotReproduced,
            () => Verdict::CannotTell,
        };
        Judgement { verdict, trials: Some(trials) }
    }

    /// Judges the claim that the first mean is below the second.
    pub fn below(one: Estimate, two: Estimate) -> Self {
        Judgement::times_below(1.0, one, two)
    }

    /// Judges the claim that the first mean, multiplied by a factor, is below the second.
    pub fn times_below(factor: f64, one: Estimate, two: Estimate) -> Self {
        let error = (factor * one.standard_error).hypot(two.standard_error);
        Judgement::positive(two.mean - factor * one.mean, error, one.trials.min(two.trials))
    }

    /// Judges the claim that a mean lies between two numbers.
    pub fn within(estimate: Estimate, low: f64, high: f64) -> Self {
        let Estimate { mean, standard_error, trials, .. } = estimate;
        let sides = [mean - low, high - mean];
        Judgement::all(sides.map(|side| Judgement::positive(side, standard_error, trials)))
    }

    /// Judges the claim that two means are the same: not reproduced if they differ by more than the errors, and reproduced only if a difference of
    /// this share of the larger one would have exceeded the errors.
    pub fn same(one: Estimate, two: Estimate, share: f64) -> Self {
        let errors = ERRORS * one.standard_error.hypot(two.standard_error);
        let trials = one.trials.min(two.trials);
        let verdict = match () {
            () if trials < MINIMUM_TRIALS => Verdict::CannotTell,
            () if (one.mean - two.mean).abs() > errors => Verdict::NotReproduced,
            () if errors <= share * one.mean.abs().max(two.mean.abs()) => Verdict::Reproduced,
            () => Verdict::CannotTell,
        };
        Judgement { verdict, trials: Some(trials) }
    }

    /// Judges a claim of several parts: the gravest verdict on a part, and the fewest trials of any.
    pub fn all(parts: impl IntoIterator<Item = Judgement>) -> Self {
        let nothing = Judgement { verdict: Verdict::Reproduced, trials: None };
        parts.into_iter().fold(nothing, |one, two| Judgement {
            verdict: if two.verdict.weight() > one.verdict.weight() {
                two.verdict
            } else {
                one.verdict
            },
            trials: match (one.trials, two.trials) {
                (Some(one), Some(two)) => Some(one.min(two)),
                (one, two) => one.or(two),
            },
        })
    }

    /// The verdict with its trials, as the program and the pages print them.
    pub fn text(self) -> String {
        let verdict = self.verdict.text();
        match self.trials {
            Some(1) => format!("{verdict}, 1 trial"),
            Some(trials) => format!("{verdict}, {trials} trials"),
            None => verdict.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(mean: f64, standard_error: f64, trials: usize) -> Estimate {
        Estimate { standard_error, trials, ..Estimate::of(&[mean, mean]) }
    }

    fn verdict(one: Estimate, two: Estimate) -> Verdict {
        Judgement::below(one, two).verdict
    }

    #[test]
    fn a_comparison_has_three_verdicts() {
        let ten = |mean| estimate(mean, 1.0, 10);
        // The error of the difference is sqrt 2: 3 of them are 4.24.
        assert_eq!(verdict(ten(1.0), ten(6.0)), Verdict::Reproduced);
        assert_eq!(verdict(ten(1.0), ten(5.0)), Verdict::CannotTell);
        assert_eq!(verdict(ten(5.0), ten(1.0)), Verdict::CannotTell);
        assert_eq!(verdict(ten(6.0), ten(1.0)), Verdict::NotReproduced);
        assert_eq!(Judgement::below(ten(6.0), ten(1.0)).text(), "not reproduced, 10 trials");
    }

    #[test]
    fn few_trials_decide_nothing_however_far_apart() {
        let one = estimate(1.0, 0.0, 2);
        let two = estimate(1000.0, 0.0, 2);
        assert_eq!(verdict(one, two), Verdict::CannotTell);
        assert_eq!(Judgement::same(one, one, 0.5).verdict, Verdict::CannotTell);
        assert_eq!(Judgement::stated(true, 2).verdict, Verdict::CannotTell);
        // The estimate with fewer trials counts.
        let many = estimate(1000.0, 0.0, 100);
        assert_eq!(
            Judgement::below(one, many),
            Judgement { verdict: Verdict::CannotTell, trials: Some(2) }
        );
        // An algorithm that is missing decides nothing.
        assert_eq!(verdict(Estimate::of(&[]), many), Verdict::CannotTell);
        assert_eq!(verdict(estimate(f64::NAN, 1.0, 9), many), Verdict::CannotTell);
    }

    #[test]
    fn a_slip_of_the_text_and_an_empty_bound_are_said_as_such() {
        let [low, high] = [1.0, 6.0].map(|mean| estimate(mean, 1.0, 10));
        let slip = |one, two| Judgement::below(one, two).instead(Verdict::Erratum).text();
        assert_eq!(slip(high, low), "erratum, 10 trials");
        assert_eq!(slip(low, high), "reproduced, 10 trials");
        assert_eq!(slip(low, low), "cannot tell, 10 trials");
    }

    #[test]
    fn means_are_the_same_only_if_a_difference_would_have_been_seen() {
        let same =
            |error| Judgement::same(estimate(100.0, error, 9), estimate(104.0, error, 9), 0.5);
        assert_eq!(same(0.5).verdict, Verdict::NotReproduced);
        assert_eq!(same(5.0).verdict, Verdict::Reproduced);
        assert_eq!(same(50.0).verdict, Verdict::CannotTell);
    }

    #[test]
    fn the_gravest_part_decides() {
        let [yes, no] = [true, false].map(|holds| Judgement::stated(holds, 9));
        let unknown = Judgement::stated(true, 3);
        assert_eq!(Judgement::all([yes, unknown]), unknown);
        assert_eq!(Judgement::all([unknown, no, yes]).text(), "not reproduced, 3 trials");
        let private = Judgement::all([no, Judgement::privacy(false)]);
        assert_eq!(private.verdict, Verdict::PrivacyDoesNotHold);
        let range = |mean| Judgement::within(estimate(mean, 1.0, 9), 10.0, 20.0).verdict;
        assert_eq!(
            [range(15.0), range(21.0), range(30.0)],
            [Verdict::Reproduced, Verdict::CannotTell, Verdict::NotReproduced]
        );
        assert_eq!(Judgement::computed(true).text(), "reproduced");
    }
}
