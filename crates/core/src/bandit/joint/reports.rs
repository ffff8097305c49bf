//! A curator that randomises each contribution by itself, as a person's device would: `mechanism = "reports"`.
//!
//! **Guarantee.** A report is differentially private by itself (`randomize`), and all that the curator shows is a function of reports: what one
//! contribution tells is the event of one report, and that of a person who takes part k times k of them.
//!
//! **When it is better.** A stream of sums has nearly the same noise from the first release to the last, reports bring theirs one by one. By
//! the estimate of `outlook`, after n people a predicted reward errs by
//!
//! ```text
//! e(n)^2 = s^2 (d/n)^2 + d/n          a stream of deviation s
//! e(n)^2 = (s_1^2 d + 1) d/n          reports of deviation s_1 each
//! ```
//!
//! and the default is reports if their `sum_n min(e(n)^2, 1/q)` over the horizon is smaller by 1 % or more. All of it is computed from parameters, before any person
//! takes part, and only under the rule `tuned`, where it was measured. The crossing is at epsilon 8 to 16 for five parameters and 20,000 people; at small budgets a stream is better by far, and at
//! epsilon 1000 neither has noise that matters.

use crate::{
    Result,
    bandit::{Rule, outlook},
    noise::Noise,
    randomize::{Bounds, Precision, ReportParams, ReportPlan},
    release::{Contribution, Domain, Mechanism, PrivateSumParams, PrivateSumPlan, Schedule},
};

use super::JointParams;

/// Reports are preferred below this ratio of the two estimates.
const LEAST_GAIN: f64 = 0.99;

/// Below this budget reports are not considered: a stream is better by far, and calibrating a randomiser for many blocks takes time.
const LEAST_EPSILON: f64 = 4.0;

/// Randomiser of contributions.
#[derive(Debug, Clone)]
pub(in crate::bandit) struct Reports {
    plan: ReportPlan,
}

impl Reports {
    /// The best randomiser for this budget.
    pub(super) fn new(params: &JointParams) -> Result<Self> {
        let JointParams { bounds, epsilon, delta, contributions_per_person, .. } = *params;
        let params =
            ReportParams { contributions_per_person, ..ReportParams::new(bounds, epsilon, delta) };
        Ok(Reports { plan: params.check()? })
    }

    /// The sums of such reports.
    pub(super) fn sums(&self, params: &PrivateSumParams) -> Result<PrivateSumPlan> {
        PrivateSumPlan::of_reports(params, self.deviations()?, self.plan.event(0)?)
    }

    /// The noise of one report in each coordinate, in the units of the data: GOE noise of this size on the matrix (`randomize::Precision`).
    fn deviations(&self) -> Result<Vec<f64>> {
        let bounds = &self.plan.params().bounds;
        let domain = Domain::regression(bounds.dimension, 1.0, 1.0).structured(bounds.structure);
        let Precision { matrix, vector } = self.plan.precision(0)?;
        let mut deviations = domain.noise_ratios();
        let (gram, moment) = deviations.split_at_mut(domain.matrix_coordinates());
        gram.iter_mut().for_each(|ratio| *ratio *= matrix);
        moment.fill(vector);
        scale(bounds, &mut deviations);
        Ok(deviations)
    }

    /// Randomised contribution: an unbiased estimate of its `x x^T` and `x y`. The noise is drawn under a new key.
    pub(super) fn randomize<N: Noise>(
        &self,
        contribution: &Contribution,
        noise: &mut N,
    ) -> Result<Vec<f64>> {
        let bounds = &self.plan.params().bounds;
        let (block, features, centred) = contribution.clipped_data();
        let interaction = bounds.clip_in_block(block, &features, bounds.centre() + centred)?;
        let randomizer = &self.plan.randomizers()[0];
        noise.rekey()?;
        let report = randomizer.randomize(&interaction, noise)?;
        let mut estimate = randomizer.estimate(&report, None, randomizer.correlation())?;
        scale(bounds, &mut estimate);
        Ok(estimate)
    }
}

/// Sums for features in the unit ball and rewards in [-1, 1], in the units of the data.
fn scale(bounds: &Bounds, sums: &mut [f64]) {
    let domain = Domain::regression(bounds.dimension, 1.0, 1.0).structured(bounds.structure);
    let (matrix, vector) = sums.split_at_mut(domain.matrix_coordinates());
    let length = bounds.feature_bound;
    matrix.iter_mut().for_each(|sum| *sum *= length * length);
    vector.iter_mut().for_each(|sum| *sum *= length * bounds.half_range());
}

impl JointParams {
    /// Returns whether contributions are randomised one by one.
    pub(super) fn randomizes(&self) -> bool {
        self.mechanism == Some(Mechanism::Reports)
    }

    /// The mechanism that was asked for, or else the better one of BLT and reports; see the head of `joint/reports.rs`.
    pub(super) fn suited_mechanism(&self, sums: &PrivateSumParams) -> Result<Mechanism> {
        if let Some(mechanism) = self.mechanism {
            return Ok(mechanism);
        }
        // With `thompson` reports lost three times as much at epsilon 8, and the other rules are for the noise of a stream or for given numbers.
        let measured = matches!(self.rule, Rule::Tuned { .. }) && self.epsilon >= LEAST_EPSILON;
        let own = self.calibration.is_some() || self.claim.is_some() || self.split.is_some();
        let streams = self.schedule == Schedule::Clock || self.forget.is_some();
        let Some(people) = sums.horizon.filter(|_| measured && !(own || streams)) else {
            return Ok(Mechanism::default());
        };
        let last = self.schedule.releases(people).max(1);
        let stream = outlook::of_deviations(&self.bounds, &sums.check()?.deviations(last)?);
        // Some bounds have no randomiser: too many features, say.
        let Ok(reports) = Reports::new(self) else { return Ok(Mechanism::default()) };
        let reports = outlook::of_deviations(&self.bounds, &reports.deviations()?);
        let better = outlook::loss_of_reports(&self.bounds, people, reports)
            < LEAST_GAIN * outlook::loss_of_sums(&self.bounds, people, stream);
        Ok(if better { Mechanism::Reports } else { Mechanism::default() })
    }
}
