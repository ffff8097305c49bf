//! A device: a [`Person`] with the rule for features before it and a ledger behind it.

use crate::{Choice, Ledger, Limits, ProtocolPlan};
use reticent::{
    Error, Result,
    bandit::Model,
    features::Value,
    noise::Noise,
    randomize::{Person, Report},
    refuse_if,
};

/// The device of one installation under one protocol. It counts by the ledger that it is given, and stores nothing.
///
/// ```
/// use reticent::{features::{Encoding, FeaturesParams, Value}, noise::SecureNoise};
/// use reticent_device::{Device, Ledger, Limits, ProtocolParams};
///
/// let topics = ["news", "sport"].map(String::from).to_vec();
/// let rule = FeaturesParams::new([], [("topic", Encoding::Categories(topics))]);
/// let protocol = ProtocolParams::new("home", rule, (0.0, 1.0), 4.0, 1e-6)?.check()?;
/// let mut server = protocol.local(&protocol.params().report.clone().into())?.server();
///
/// let mut device = Device::new(protocol.clone(), Limits::of("home"), 0, SecureNoise::from_system()?)?;
/// device.set_model(server.publish()?)?;
/// let actions = ["news", "sport"].map(|topic| Value::from_iter([("topic", topic)]));
/// let choice = device.choose(&Value::Missing, &actions)?;
/// let now = 1_700_000_000;
/// let (report, ledger) = device.report(&Ledger::new(&protocol, now), now, &choice, 1.0)?;
/// // The device stores the ledger, and then the report may leave.
/// server.absorb(&report)?;
/// assert!(device.report(&ledger, now, &choice, 1.0).is_err());
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug)]
pub struct Device<N> {
    protocol: ProtocolPlan,
    limits: Limits,
    person: Person<N>,
    /// The hash of all that was agreed on, which choices carry.
    agreed: u64,
    model: Option<Model>,
}

impl<N: Noise> Device<N> {
    /// The device of a person who brings this level. A protocol or a level beyond their limits is refused.
    pub fn new(protocol: ProtocolPlan, limits: Limits, level: usize, noise: N) -> Result<Self> {
        limits.check(&protocol)?;
        limits.check_level(&protocol, level)?;
        let agreed = protocol.hash();
        Device::unchecked(protocol, agreed, limits, level, noise)
    }

    /// The same for a protocol that was compared with the limits in another way, and is a part of a larger one with this hash.
    pub(crate) fn unchecked(
        protocol: ProtocolPlan,
        agreed: u64,
        limits: Limits,
        level: usize,
        noise: N,
    ) -> Result<Self> {
        let person = protocol.reports().person(level, noise)?;
        Ok(Device { protocol, limits, person, agreed, model: None })
    }

    /// The protocol that it was made from.
    pub fn protocol(&self) -> &ProtocolPlan {
        &self.protocol
    }

    /// Reports from now on are made at this level, if the person's limits allow it.
    pub fn set_level(&mut self, level: usize) -> Result<()> {
        self.limits.check_level(&self.protocol, level)?;
        self.person.set_level(level)
    }

    /// The level of the next report.
    pub fn level(&self) -> usize {
        self.person.level()
    }

    /// Choices from now on follow this model. An older one than the last is taken too: a server that was restored goes on from it.
    pub fn set_model(&mut self, model: Model) -> Result<()> {
        model.expect(self.protocol.hash())?;
        self.model = Some(model);
        Ok(())
    }

    /// The model that choices follow.
    pub fn model(&self) -> Option<&Model> {
        self.model.as_ref()
    }

    /// The action to take, by the model.
    pub fn choose(&mut self, context: &Value, actions: &[Value]) -> Result<Choice> {
        let Some(model) = &self.model else {
            let remedy = "fetch the loop's model first, or take the first action";
            return Err(Error::invalid("model", "missing", remedy));
        };
        let arms = self.protocol.arms(context, actions)?;
        let index = self.person.choose(model, &arms)?;
        Ok(Choice {
            protocol: self.agreed,
            model: model.sequence(),
            index: index as u64,
            features: arms.arm(index),
        })
    }

    /// The ledger of this installation at a time; `stored` is the one that it stored last, if there is one.
    pub fn ledger(&self, stored: Option<&Ledger>, seconds: u64) -> Result<Ledger> {
        match stored {
            None => Ok(Ledger::new(&self.protocol, seconds)),
            Some(ledger) => ledger.at(&self.protocol, seconds),
        }
    }

    /// The report of a choice and its reward, and the ledger with it. Nothing may leave before that ledger is stored. An error makes no report and
    /// leaves the ledger as it was.
    pub fn report(
        &mut self,
        ledger: &Ledger,
        seconds: u64,
        choice: &Choice,
        reward: f64,
    ) -> Result<(Report, Ledger)> {
        choice.expect(self.agreed, self.protocol.features().dimension())?;
        let ledger = ledger.at(&self.protocol, seconds)?.lasting(seconds, self.limits.period);
        let most = ledger.most();
        let remedy = format_args!(
            "at most {most} reports leave this installation in a period: go on without reports until it ends"
        );
        refuse_if(ledger.left() == 0, "reports left", 0, remedy)?;
        self.person.continue_after(ledger.spent())?;
        // A rule for features has one block.
        let report = self.person.report_under(choice.model, 0, &choice.features, reward)?;
        Ok((report, ledger.after(self.person.spent())))
    }
}
