//! A plan of reports behind a shuffler, as a device looks at it: the server's claims are not used.

use super::Limits;
use reticent::{
    Result,
    bandit::{Aggregation, shuffled_event},
    features::FeaturesParams,
    hash,
    privacy::Accountant,
    randomize::{ReportParams, ReportPlan},
    refuse_if,
};

/// An epsilon beyond every noise.
const MOST_EPSILON: f64 = 1e6;

/// Parameters that the devices, the shuffler and the server of a loop with a shuffler agree on. A device prices those that the server sends, and its reports carry the SHA-256 of
/// [`ShuffledProtocol::bytes`]; the shuffler makes the same from its own file, so that a report that was priced for other noise or larger batches is foreign to it.
#[derive(Debug, Clone, Copy)]
pub struct ShuffledProtocol<'a> {
    /// The loop.
    pub name: &'a str,
    /// From records to vectors.
    pub features: &'a FeaturesParams,
    /// Plan of people's reports.
    pub reports: &'a ReportPlan,
    /// Hash of the parameters of the loop's generation: the shuffler remembers ids for one generation, and a report of another must be foreign to it.
    pub params_hash: u64,
    /// Reports in a batch.
    pub batch: u64,
    /// Number of them that the loop's certificate takes to be honest people's.
    pub honest: u64,
    /// True if the shuffler sums.
    pub summed: bool,
}

impl ShuffledProtocol<'_> {
    /// Everything as bytes. Every part stands behind its length, so that no two protocols have the same.
    pub fn bytes(&self) -> Vec<u8> {
        // With the method that was found, as the message to a device has it.
        let reports = ReportParams::from(self.reports.clone());
        let mut bytes = Vec::new();
        for part in [
            b"reticent shuffled protocol 3",
            self.name.as_bytes(),
            &hash::bytes_of_params(self.features),
            &hash::bytes_of_params(&reports),
            &self.params_hash.to_le_bytes(),
            &self.batch.to_le_bytes(),
            &self.honest.to_le_bytes(),
            &[u8::from(self.summed)],
        ] {
            bytes.extend_from_slice(&(part.len() as u64).to_le_bytes());
            bytes.extend_from_slice(part);
        }
        bytes
    }
}

impl Limits {
    /// Refuses a protocol that shows features, or whose noise does not keep these limits by this device's own accountant. Half of a batch is taken to be
    /// honest, or fewer where the protocol says so.
    pub fn check_shuffled(&self, protocol: &ShuffledProtocol<'_>) -> Result<()> {
        let reports = protocol.reports;
        let params = reports.params();
        let shown = params.public_arms || reports.method().shows_arms();
        let remedy = "a device's features never leave it as they are: take no part in this loop";
        refuse_if(shown, "method", reports.method(), remedy)?;
        let remedy = "a device believes its own accountant alone: leave it out";
        refuse_if(params.claim.is_some(), "claim", "a value", remedy)?;
        let visits = params.contributions_per_person;
        self.refuse("visits", visits <= self.reports, visits, self.reports, "at most")?;
        let aggregation = if protocol.summed { Aggregation::Sum } else { Aggregation::Permute };
        let honest = protocol.honest.min(protocol.batch / 2).max(1);
        let curve = Accountant::price(&shuffled_event(reports, aggregation, honest)?)?;
        // One point of the curve in place of a search, which only a refusal needs. A limit that is no number allows nothing.
        if self.epsilon >= 0.0 && curve.delta(self.epsilon.min(MOST_EPSILON))? <= self.delta {
            return Ok(());
        }
        let epsilon = curve.epsilon(self.delta)?;
        self.refuse("epsilon", epsilon <= self.epsilon, epsilon, self.epsilon, "at most")
    }
}

#[cfg(test)]
mod tests {
    use reticent::{
        bandit::ShuffleParams,
        features::Encoding,
        privacy::Claim,
        randomize::{Bounds, Levels, Method},
        release::Calibration,
        wire::{from_json, to_json},
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

    /// Checks a loop with these reports, of whose batches half is honest.
    fn check(params: &ReportParams, batch: u64, summed: bool, limits: &Limits) -> Result<()> {
        let (features, reports) = (rule(), params.check().unwrap());
        let honest = batch / 2;
        limits.check_shuffled(&protocol(&features, &reports, (batch, honest), summed))
    }

    fn refusal(params: &ReportParams, batch: u64, summed: bool, limits: &Limits) -> String {
        check(params, batch, summed, limits).unwrap_err().to_string()
    }

    fn rule() -> FeaturesParams {
        FeaturesParams::new([], [("price", Encoding::Range(0.0, 1.0))])
    }

    fn protocol<'a>(
        features: &'a FeaturesParams,
        reports: &'a ReportPlan,
        (batch, honest): (u64, u64),
        summed: bool,
    ) -> ShuffledProtocol<'a> {
        ShuffledProtocol { name: "mixed", features, reports, params_hash: 7, batch, honest, summed }
    }

    /// Whatever a device prices or a shuffler remembers ids for stands in the bytes, and the parts do not run into each other.
    #[test]
    fn everything_that_is_agreed_on_is_in_the_bytes() {
        let (features, params) = (rule(), reports(Aggregation::Sum, 1.0, 3));
        let plan = params.check().unwrap();
        let agreed = protocol(&features, &plan, (1000, 500), true);
        let mut wider = features.clone();
        wider.action.insert("price".into(), Encoding::Range(0.0, 1.0_f64.next_up()));
        let mut named = features.clone();
        named.action.insert("size".into(), Encoding::Range(0.0, 1.0));
        let other = |change: fn(&mut ReportParams)| {
            let mut params = params.clone();
            change(&mut params);
            params.check().unwrap()
        };
        let plans = [
            other(|params| params.contributions_per_person = 2),
            other(|params| params.delta = 2e-6),
            other(|params| params.bounds.rewards = (0.0, 1.0)),
            other(|params| params.method = Some(Method::GramGaussian { split: 0.3 })),
            other(|params| params.calibration = Some(Calibration::Mu(0.5))),
            other(|params| params.levels = Levels::Public(vec![2.0])),
            other(|params| {
                let (epsilon, delta) = (1.0, 1e-6);
                params.claim = Some(Claim { epsilon, delta, source: "its maker".into() });
            }),
        ];
        let mut different = vec![
            agreed,
            ShuffledProtocol { name: "mixe", ..agreed },
            ShuffledProtocol { features: &wider, ..agreed },
            ShuffledProtocol { features: &named, ..agreed },
            ShuffledProtocol { params_hash: 8, ..agreed },
            ShuffledProtocol { batch: 1001, ..agreed },
            ShuffledProtocol { honest: 501, ..agreed },
            ShuffledProtocol { summed: false, ..agreed },
        ];
        different.extend(plans.iter().map(|reports| ShuffledProtocol { reports, ..agreed }));
        let bytes: std::collections::BTreeSet<_> =
            different.iter().map(ShuffledProtocol::bytes).collect();
        assert_eq!(bytes.len(), different.len());
        // Every part is where its length says, so that what is read back is what was written.
        let bytes = agreed.bytes();
        let (mut rest, mut parts) = (&bytes[..], Vec::new());
        while let Some((length, after)) = rest.split_first_chunk() {
            let (part, after) = after.split_at(u64::from_le_bytes(*length) as usize);
            parts.push(part);
            rest = after;
        }
        assert_eq!((parts.len(), parts[1], parts[7]), (8, &b"mixed"[..], &[1][..]));
        // A message from which the device has read the plan says the same.
        let read: ReportPlan = from_json(to_json(&plan)).unwrap();
        assert_eq!(ShuffledProtocol { reports: &read, ..agreed }.bytes(), bytes);
    }

    #[test]
    fn fewer_honest_people_than_half_are_believed_and_more_are_not() {
        let limits = Limits { epsilon: 1.0, delta: 1e-6, ..Limits::of("mixed") };
        let (features, plan) = (rule(), reports(Aggregation::Sum, 1.0, 3).check().unwrap());
        let check =
            |honest| limits.check_shuffled(&protocol(&features, &plan, (1000, honest), true));
        check(500).unwrap();
        check(1000).unwrap();
        for fewer in [0, 1, 400] {
            assert!(check(fewer).unwrap_err().to_string().starts_with("epsilon: got "));
        }
    }

    #[test]
    fn noise_that_the_devices_own_accountant_does_not_confirm_is_refused() {
        let limits = Limits { epsilon: 1.0, delta: 1e-6, ..Limits::of("mixed") };
        for (aggregation, visits) in [(Aggregation::Permute, 1), (Aggregation::Sum, 3)] {
            let summed = aggregation == Aggregation::Sum;
            let sound = reports(aggregation, 1.0, visits);
            check(&sound, 1000, summed, &limits).unwrap();
            // The same noise in smaller batches, less noise, and the noise of a larger budget.
            let error = refusal(&sound, 900, summed, &limits);
            assert!(error.starts_with("epsilon: got 1."), "{error}");
            assert!(error.contains("; expected at most 1;"), "{error}");
            let error = refusal(&reports(aggregation, 1.1, visits), 1000, summed, &limits);
            assert!(error.starts_with("epsilon: got 1."), "{error}");
            let nothing = Limits { epsilon: f64::NAN, ..limits.clone() };
            assert!(refusal(&sound, 1000, summed, &nothing).contains("at most NaN"));
        }
        let sound = reports(Aggregation::Sum, 1.0, 3);
        let weak = ReportParams { calibration: Some(Calibration::Mu(1e3)), ..sound.clone() };
        assert!(refusal(&weak, 1000, true, &limits).starts_with("epsilon: got "));
        let few = Limits { reports: 2, ..limits.clone() };
        assert!(refusal(&sound, 1000, true, &few).starts_with("visits: got 3; expected at most 2"));
        // A plan whose maker claims something.
        let claim = Claim { epsilon: 1.0, delta: 1e-6, source: "its maker".into() };
        let claimed = ReportParams { claim: Some(claim), ..sound };
        assert!(refusal(&claimed, 1000, true, &limits).starts_with("claim: got a value"));
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
