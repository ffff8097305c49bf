//! A plan of reports behind a shuffler, as a device looks at it: nothing that the server claims is believed.

use super::Limits;
use crate::{
    Result,
    bandit::{Aggregation, shuffled_guarantee},
    features::FeaturesPlan,
    hash,
    randomize::ReportPlan,
    refuse_if,
};

/// The hash that reports of a loop with a shuffler carry: that of its randomiser, bound to the loop, its rule for features, its generation and its batches. The
/// shuffler remembers ids for a generation: a report of another one must be foreign to it. It makes the hash from its own file, so that a report that was
/// priced for larger batches is foreign to it too.
pub fn shuffled_protocol(
    name: &str,
    features: &FeaturesPlan,
    reports: u64,
    generation: u64,
    (batch, summed): (u64, bool),
) -> u64 {
    let params = (name, features.hash(), reports, generation, batch, summed);
    hash::of_params("shuffled protocol 2", &params)
}

impl Limits {
    /// Refuses a plan that shows features, or whose noise does not keep these limits by this device's own accountant. Half of a batch is taken to be
    /// honest; `summed` is whether the shuffler sums.
    pub fn check_shuffled(&self, reports: &ReportPlan, batch: u64, summed: bool) -> Result<()> {
        let params = reports.params();
        let shown = params.public_arms || reports.method().shows_arms();
        let remedy = "a device's features never leave it as they are: take no part in this loop";
        refuse_if(shown, "method", reports.method(), remedy)?;
        let remedy = "a device believes its own accountant alone: leave it out";
        refuse_if(params.claim.is_some(), "claim", "given", remedy)?;
        let visits = params.contributions_per_person;
        self.refuse("visits", visits <= self.reports, visits, self.reports, "at most")?;
        let aggregation = if summed { Aggregation::Sum } else { Aggregation::Permute };
        let promised = shuffled_guarantee(reports, aggregation, (batch / 2).max(1), self.delta)?;
        let epsilon = promised.epsilon();
        // A limit that is no number allows nothing.
        self.refuse("epsilon", epsilon <= self.epsilon, epsilon, self.epsilon, "at most")
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        bandit::ShuffleParams,
        privacy::Claim,
        randomize::{Bounds, Method, ReportParams},
        release::Calibration,
    };

    use super::*;

    fn reports(aggregation: Aggregation, epsilon: f64, visits: u64) -> ReportParams {
        let params = ShuffleParams {
            honest: Some(500),
            contributions_per_person: visits,
            ..ShuffleParams::new(Bounds::unit(3), epsilon, 1e-6, 1000, aggregation)
        };
        params.check().unwrap().local().params().report.clone()
    }

    fn refusal(params: &ReportParams, batch: u64, summed: bool, limits: &Limits) -> String {
        limits.check_shuffled(&params.check().unwrap(), batch, summed).unwrap_err().to_string()
    }

    #[test]
    fn noise_that_the_devices_own_accountant_does_not_confirm_is_refused() {
        let limits = Limits { epsilon: 1.0, delta: 1e-6, ..Limits::of("mixed") };
        for (aggregation, visits) in [(Aggregation::Permute, 1), (Aggregation::Sum, 3)] {
            let summed = aggregation == Aggregation::Sum;
            let sound = reports(aggregation, 1.0, visits);
            limits.check_shuffled(&sound.check().unwrap(), 1000, summed).unwrap();
            // The same noise in smaller batches, less noise, and the noise of a larger budget.
            let error = refusal(&sound, 900, summed, &limits);
            assert!(error.starts_with("epsilon is 1."), "{error}");
            assert!(error.contains("at most 1 is accepted here"), "{error}");
            let error = refusal(&reports(aggregation, 1.1, visits), 1000, summed, &limits);
            assert!(error.starts_with("epsilon is 1."), "{error}");
            let nothing = Limits { epsilon: f64::NAN, ..limits.clone() };
            assert!(refusal(&sound, 1000, summed, &nothing).contains("at most NaN"));
        }
        let sound = reports(Aggregation::Sum, 1.0, 3);
        let weak = ReportParams { calibration: Some(Calibration::Mu(1e3)), ..sound.clone() };
        assert!(refusal(&weak, 1000, true, &limits).starts_with("epsilon is "));
        let few = Limits { reports: 2, ..limits.clone() };
        assert!(refusal(&sound, 1000, true, &few).starts_with("visits is 3: at most 2"));
        // A plan whose maker claims something.
        let claim = Claim { epsilon: 1.0, delta: 1e-6, source: "its maker".into() };
        let claimed = ReportParams { claim: Some(claim), ..sound };
        assert!(refusal(&claimed, 1000, true, &limits).starts_with("claim is given"));
        // Several reports of one person are not priced where they are permuted.
        let several =
            ReportParams { contributions_per_person: 2, ..reports(Aggregation::Permute, 1.0, 1) };
        assert!(refusal(&several, 1000, false, &limits).contains("contributions_per_person"));
    }

    #[test]
    fn plans_that_show_features_are_refused() {
        let limits = Limits { epsilon: 1e6, ..Limits::of("mixed") };
        for method in [None, Some(Method::RewardGaussian), Some(Method::RewardResponse)] {
            let shown = ReportParams {
                public_arms: true,
                method,
                ..ReportParams::new(Bounds::unit(3), 1.0, 1e-6)
            };
            let error = refusal(&shown, 1000, false, &limits);
            assert!(error.contains("features never leave"), "{error}");
        }
    }
}
