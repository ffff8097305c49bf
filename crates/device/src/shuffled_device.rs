//! A device of a loop with a shuffler: a [`Device`] whose protocol is priced by the noise of a batch.
//!
//! Its reports carry little noise and are for the shuffler's batches alone. They must be sealed before they leave: [`sealed`](crate::sealed) does that.

use crate::{Choice, Device, Ledger, Limits, ProtocolPlan, ShuffledProtocol};
use reticent::{
    Result,
    bandit::Model,
    features::{FeaturesPlan, Value},
    hash,
    noise::Noise,
    randomize::Report,
};

/// The device of one installation. It counts by the ledger that it is given, and stores nothing.
#[derive(Debug)]
pub struct ShuffledDevice<N> {
    device: Device<N>,
}

impl<N: Noise> ShuffledDevice<N> {
    /// The device of a person. A protocol beyond their limits is refused, by this device's own accountant.
    pub fn new(protocol: &ShuffledProtocol<'_>, limits: Limits, noise: N) -> Result<Self> {
        limits.check_shuffled(protocol)?;
        let (plan, agreed) = (ProtocolPlan::shuffled(protocol)?, hash::of_bytes(&protocol.bytes()));
        Ok(ShuffledDevice { device: Device::unchecked(plan, agreed, limits, 0, noise)? })
    }

    /// The rule from records to vectors.
    pub fn features(&self) -> &FeaturesPlan {
        self.device.protocol().features()
    }

    /// Choices from now on follow this model.
    pub fn set_model(&mut self, model: Model) -> Result<()> {
        self.device.set_model(model)
    }

    /// The model that choices follow.
    pub fn model(&self) -> Option<&Model> {
        self.device.model()
    }

    /// The action to take, by the model.
    pub fn choose(&mut self, context: &Value, actions: &[Value]) -> Result<Choice> {
        self.device.choose(context, actions)
    }

    /// The ledger of this installation at a time; `stored` is the one that it stored last, if there is one.
    pub fn ledger(&self, stored: Option<&Ledger>, seconds: u64) -> Result<Ledger> {
        self.device.ledger(stored, seconds)
    }

    /// The report of a choice and its reward, to be sealed, and the ledger with it: see [`Device::report`].
    pub fn report(
        &mut self,
        stored: Option<&Ledger>,
        seconds: u64,
        choice: &Choice,
        reward: f64,
    ) -> Result<(Report, Ledger)> {
        let ledger = self.ledger(stored, seconds)?;
        self.device.report(&ledger, seconds, choice, reward)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Seeded;
    use reticent::{
        bandit::{Aggregation, ShuffleParams, ShufflePlan},
        features::{Encoding, FeaturesParams},
        randomize::Bounds,
    };

    const NOW: u64 = 1_700_000_000;

    fn rule() -> FeaturesParams {
        FeaturesParams::new([], [("price", Encoding::Range(0.0, 1.0))])
    }

    fn plan(features: &FeaturesParams, visits: u64) -> ShufflePlan {
        let features = features.check().unwrap();
        let bounds =
            Bounds { intercept: features.constant(), ..Bounds::unit(features.dimension()) };
        let params = ShuffleParams {
            honest: Some(500),
            contributions_per_person: visits,
            ..ShuffleParams::new(bounds, 1.0, 1e-6, 1000, Aggregation::Sum)
        };
        params.check().unwrap()
    }

    fn device(
        features: &FeaturesParams,
        plan: &ShufflePlan,
        params_hash: u64,
    ) -> Result<ShuffledDevice<Seeded>> {
        let (batch, honest) = (1000, 500);
        let reports = plan.local().reports();
        let protocol = ShuffledProtocol {
            name: "mixed",
            features,
            reports,
            params_hash,
            batch,
            honest,
            summed: true,
        };
        let limits = Limits { epsilon: 1.0, delta: 1e-6, ..Limits::of("mixed") };
        let mut device = ShuffledDevice::new(&protocol, limits, Seeded(1))?;
        device.set_model(plan.local().server().publish()?)?;
        Ok(device)
    }

    #[test]
    fn reports_are_counted_on_whatever_the_server_changes() {
        let features = rule();
        let (many, few) = (plan(&features, 3), plan(&features, 2));
        let mut first = device(&features, &many, 1).unwrap();
        let choice = first.choose(&Value::Missing, &[Value::Missing]).unwrap();
        let (_, ledger) = first.report(None, NOW, &choice, 1.0).unwrap();
        assert_eq!((ledger.left(), ledger.end()), (2, u64::MAX));
        // Another generation, and another plan: its own choices are counted with the others, and the smallest k counts.
        let mut later = device(&features, &many, 2).unwrap();
        let foreign = later.report(Some(&ledger), NOW, &choice, 1.0).unwrap_err().to_string();
        assert!(foreign.starts_with("choice: got one of protocol"), "{foreign}");
        let mut smaller = device(&features, &few, 2).unwrap();
        let choice = smaller.choose(&Value::Missing, &[Value::Missing]).unwrap();
        let (_, ledger) = smaller.report(Some(&ledger), NOW, &choice, 1.0).unwrap();
        assert_eq!(ledger.left(), 0);
        let choice = later.choose(&Value::Missing, &[Value::Missing]).unwrap();
        let far = NOW + 100 * 365 * 86_400;
        let refused = later.report(Some(&ledger), far, &choice, 1.0).unwrap_err().to_string();
        assert!(refused.starts_with("reports left: got 0; at most 2"), "{refused}");
        // What was stored is read again, and the ledger of another loop is not taken.
        let read = Ledger::load(&ledger.save()).unwrap();
        assert_eq!(later.ledger(Some(&read), far).unwrap().left(), 0);
    }

    /// Reports would be clipped to another form than the rule makes.
    #[test]
    fn a_rule_that_does_not_fit_the_plan_is_refused() {
        let (features, wider) =
            (rule(), FeaturesParams::new([], [("x", Encoding::Hash { buckets: 7 })]));
        let error = device(&wider, &plan(&features, 1), 1).unwrap_err().to_string();
        assert!(error.contains("bounds"), "{error}");
        let bare = FeaturesParams { constant: false, ..wider.clone() };
        let error = device(&bare, &plan(&wider, 1), 1).unwrap_err().to_string();
        assert!(error.contains("bounds") || error.contains("intercept"), "{error}");
        let name = |name| {
            let (plan, limits) = (plan(&features, 1), Limits::of(name));
            let reports = plan.local().reports();
            let protocol = ShuffledProtocol {
                name,
                features: &features,
                reports,
                params_hash: 1,
                batch: 1000,
                honest: 500,
                summed: true,
            };
            ShuffledDevice::new(&protocol, limits, Seeded(1)).map(drop)
        };
        name("mixed").unwrap();
        assert!(name("Mixed up").unwrap_err().to_string().starts_with("loop: got "));
    }
}
