//! The message a device is made from.
//!
//! **Hash.** Models and reports carry the hash of the whole protocol: the name of the loop, the rule for features, the parameters of reports and the
//! period. So a report of another loop is refused even where both have the same parameters of reports, and so is one whose vector was made by an
//! older rule. The hash stands in the message too, so that one whose numbers were changed on the way is refused.
//!
//! **Bounds.** Features have norm at most 1 and, where the rule has a constant, that constant as their last entry. The bounds of reports must say the
//! same: otherwise every report would be clipped to another form than the rule makes.
//!
//! **Features.** They never leave a device as they are: arms that are public, and randomisers that hide the reward alone, are refused.
//!
//! **Noise.** It follows from the levels and delta alone. A message that names the size of the noise, as experiments may, is refused: a person who
//! chooses a level would be promised something else.

mod limits;
pub mod little;
mod shuffled;

use serde::{Deserialize, Serialize};

pub use limits::Limits;
use reticent::{
    Error, Result,
    bandit::{Arms, LocalParams, LocalPlan, Server},
    features::{FeaturesParams, FeaturesPlan, Value},
    hash,
    randomize::{ReportParams, ReportPlan},
    refuse_if,
    release::Structure,
    wire::{self, count, hex},
};
pub use shuffled::ShuffledProtocol;

/// Characters of a loop's name, at most.
const LONGEST_NAME: usize = 64;

/// Period in which at most k reports are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Period {
    /// For as long as the installation exists.
    Ever,
    /// This number of seconds, from a multiple of it after the beginning of 1970 to the next.
    Seconds(#[serde(with = "count")] u64),
}

impl Period {
    /// End of the period of a moment; both in seconds after the beginning of 1970.
    pub fn end(self, seconds: u64) -> u64 {
        match self {
            Period::Ever => u64::MAX,
            Period::Seconds(length) => {
                let length = length.max(1);
                (seconds / length).saturating_add(1).saturating_mul(length)
            }
        }
    }
}

/// The public parameters that a device needs.
///
/// ```
/// use reticent::{bandit::LocalParams, features::{Encoding, FeaturesParams, Value}, noise::SecureNoise, wire::{from_json, to_json}};
/// use reticent_device::{Period, ProtocolParams, ProtocolPlan};
///
/// let topics = ["news", "sport"].map(String::from).to_vec();
/// let features = FeaturesParams::new(
///     [("age", Encoding::Range(18.0, 80.0))],
///     [("topic", Encoding::Categories(topics))],
/// );
/// let params = ProtocolParams::new("home", features, (0.0, 1.0), 4.0, 1e-6)?;
/// let protocol = ProtocolParams { period: Period::Seconds(30 * 86_400), ..params }.check()?;
/// let mut server = protocol.local(&LocalParams::from(protocol.params().report.clone()))?.server();
/// let (message, model) = (to_json(&protocol), server.publish()?);
///
/// // On the device:
/// let protocol: ProtocolPlan = from_json(&message)?;
/// let mut person = protocol.reports().person(0, SecureNoise::from_system()?)?;
/// let actions = ["news", "sport"].map(|topic| Value::from_iter([("topic", topic)]));
/// let arms = protocol.arms(&Value::from_iter([("age", "31")]), &actions)?;
/// let chosen = person.choose(&model, &arms)?;
/// let report = person.report(&model, &arms.arm(chosen), 1.0)?;
///
/// // At the server:
/// server.absorb(&report)?;
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct ProtocolParams {
    /// The loop's name.
    pub name: String,
    /// From records to vectors.
    pub features: FeaturesParams,
    /// Parameters of reports: bounds, the levels of epsilon that a person chooses from, and the most reports of a person in a period
    /// (`contributions_per_person`).
    pub report: ReportParams,
    /// Period in which that many reports are made.
    pub period: Period,
}

impl ProtocolParams {
    /// One level of epsilon, one report a person for ever, rewards between these, the best method.
    pub fn new(
        name: impl Into<String>,
        features: FeaturesParams,
        rewards: (f64, f64),
        epsilon: f64,
        delta: f64,
    ) -> Result<Self> {
        let plan = features.check()?;
        let bounds = reticent::randomize::Bounds {
            rewards,
            intercept: plan.constant(),
            ..reticent::randomize::Bounds::unit(plan.dimension())
        };
        let report = ReportParams::new(bounds, epsilon, delta);
        Ok(ProtocolParams { name: name.into(), features, report, period: Period::Ever })
    }

    /// Calibrates every level's randomiser, or says which parameter stands in the way.
    pub fn check(&self) -> Result<ProtocolPlan> {
        self.check_by(ReportParams::check)
    }

    fn check_by(&self, check: fn(&ReportParams) -> Result<ReportPlan>) -> Result<ProtocolPlan> {
        let features = self.check_form()?;
        // A level says what a person is promised; noise of a given size would promise something else.
        let given = [
            ("calibration", self.report.calibration.is_some()),
            ("claim", self.report.claim.is_some()),
        ];
        for (field, given) in given {
            let remedy = "the noise of devices follows from the levels: leave it out";
            refuse_if(given, field, "a value", remedy)?;
        }
        let reports = check(&self.report)?;
        let parts = (&self.name, features.hash(), reports.protocol(), self.period);
        let hash = hash::of_params("device protocol 1", &parts);
        // The method that was found travels, so that a device need not find it again.
        let report = ReportParams::from(reports.clone());
        let params = ProtocolParams { report, ..self.clone() };
        Ok(ProtocolPlan { params, features, reports: reports.bound_to(hash) })
    }

    /// The rule for features, unless name, period, bounds and randomiser are not those of devices.
    fn check_form(&self) -> Result<FeaturesPlan> {
        let sound =
            |next: char| next.is_ascii_lowercase() || next.is_ascii_digit() || "-_".contains(next);
        if !(1..=LONGEST_NAME).contains(&self.name.len()) || !self.name.chars().all(sound) {
            let shown: String = self.name.chars().take(LONGEST_NAME).collect();
            let remedy = format!(
                "it stands in addresses; expected 1 to {LONGEST_NAME} of a-z, 0-9, _ and -"
            );
            return Err(Error::invalid("loop", format!("{shown:?}"), remedy));
        }
        if let Period::Seconds(length) = self.period {
            let remedy = "expected 1 second or more, or \"ever\"";
            refuse_if(length == 0, "period", 0, remedy)?;
        }
        let features = self.features.check()?;
        let bounds = &self.report.bounds;
        let expected = features.dimension();
        if bounds.dimension != expected {
            return Err(Error::Dimension { field: "bounds", expected, found: bounds.dimension });
        }
        let refused = bounds.feature_bound != 1.0;
        let remedy = "the rule for features makes vectors of norm at most 1; expected 1";
        refuse_if(refused, "feature_bound", bounds.feature_bound, remedy)?;
        if bounds.intercept != features.constant() {
            let shown = |number: Option<f64>| number.map_or("none".into(), |c| c.to_string());
            let remedy = format!("the rule for features has {}", shown(features.constant()));
            return Err(Error::invalid("intercept", shown(bounds.intercept), remedy));
        }
        let refused = bounds.structure != Structure::DENSE;
        let remedy = "the rule for features has no blocks: leave them out";
        refuse_if(refused, "blocks", bounds.structure.blocks, remedy)?;
        let remedy = "a device's features never leave it as they are: leave it out";
        refuse_if(self.report.public_arms, "public_arms", true, remedy)?;
        if let Some(method) = self.report.method.as_ref().filter(|method| !method.for_devices()) {
            let remedy = "devices do not have this randomiser: leave it out, for the best one";
            return Err(Error::invalid("method", method, remedy));
        }
        Ok(features)
    }
}

/// A checked protocol: the message that a server publishes and a device is made from. It is checked again when it is read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Form", into = "Form")]
pub struct ProtocolPlan {
    params: ProtocolParams,
    features: FeaturesPlan,
    reports: ReportPlan,
}

/// The protocol as it travels.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Form {
    #[serde(with = "hex")]
    hash: u64,
    #[serde(rename = "loop")]
    name: String,
    period: Period,
    features: FeaturesParams,
    report: ReportParams,
}

impl From<ProtocolPlan> for Form {
    fn from(plan: ProtocolPlan) -> Self {
        let hash = plan.hash();
        let ProtocolParams { name, features, report, period } = plan.params;
        Form { hash, name, period, features, report }
    }
}

impl TryFrom<Form> for ProtocolPlan {
    type Error = Error;

    fn try_from(Form { hash, name, period, features, report }: Form) -> Result<Self> {
        ProtocolParams { name, features, report, period }.expecting(hash)
    }
}

impl ProtocolParams {
    /// The checked protocol, if these parameters have the hash that the message states.
    fn expecting(&self, hash: u64) -> Result<ProtocolPlan> {
        let plan = self.check_by(ReportParams::check_given)?;
        if plan.hash() == hash {
            return Ok(plan);
        }
        let remedy = format!(
            "these parameters have {:016x}: fetch the protocol again, or update the older program",
            plan.hash()
        );
        Err(Error::invalid("hash", format!("{hash:016x}"), remedy))
    }
}

impl wire::Checked for ProtocolPlan {}
impl wire::Message for ProtocolPlan {
    const KIND: wire::Kind = wire::PROTOCOL;
}

impl ProtocolPlan {
    /// The same for a loop with a shuffler, whose noise is priced by [`Limits::check_shuffled`](super::Limits::check_shuffled) and by nothing here. Not for others: the
    /// levels of such a plan promise nothing by themselves.
    pub(crate) fn shuffled(protocol: &ShuffledProtocol<'_>) -> Result<Self> {
        let (features, report) = (protocol.features.clone(), protocol.reports.clone().into());
        let params = ProtocolParams {
            name: protocol.name.to_string(),
            features,
            report,
            period: Period::Ever,
        };
        let features = params.check_form()?;
        // Models carry the hash of the plan of reports alone.
        Ok(ProtocolPlan { params, features, reports: protocol.reports.clone() })
    }

    /// The parameters, with the method that was chosen.
    pub fn params(&self) -> &ProtocolParams {
        &self.params
    }

    /// The hash of all parameters, which models and reports carry.
    pub fn hash(&self) -> u64 {
        self.reports.protocol()
    }

    /// The rule from records to vectors.
    pub fn features(&self) -> &FeaturesPlan {
        &self.features
    }

    /// The plan of reports that persons are made from. As a message of its own it would lose the hash of this protocol: send the protocol.
    pub fn reports(&self) -> &ReportPlan {
        &self.reports
    }

    /// The arms of one context with each of these actions.
    pub fn arms(&self, context: &Value, actions: &[Value]) -> Result<Arms> {
        let remedy = "expected at least one action to choose from";
        refuse_if(actions.is_empty(), "actions", "[]", remedy)?;
        let rows = self.features.rows_alone(context, actions);
        Arms::from_rows(self.features.dimension(), &rows)
    }

    /// The plan of the report server: the protocol's reports, with the server's own parameters.
    pub fn local(&self, params: &LocalParams) -> Result<LocalPlan> {
        self.expect(&params.report)?;
        Ok(params.check()?.bound_to(self.hash()))
    }

    /// Continues a server of this protocol from the bytes that [`Server::save`] wrote.
    pub fn load_server(&self, bytes: &[u8]) -> Result<Server> {
        let server = Server::load(bytes)?;
        self.expect(&server.plan().params().report)?;
        Ok(server.bound_to(self.hash()))
    }

    fn expect(&self, report: &ReportParams) -> Result<()> {
        let given = ReportParams { method: self.params.report.method.clone(), ..report.clone() };
        let same = report.method.is_none() || report.method == self.params.report.method;
        let remedy = "the report server and the protocol differ; expected the protocol's own";
        refuse_if(!same || given != self.params.report, "report", "one of other parameters", remedy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Seeded;
    use reticent::{
        features::Encoding,
        randomize::Levels,
        wire::{from_json, to_json},
    };

    fn params() -> ProtocolParams {
        let words =
            |words: &[&str]| Encoding::Categories(words.iter().map(|w| w.to_string()).collect());
        let features = FeaturesParams::new(
            [("age", Encoding::Range(18.0, 80.0))],
            [("topic", words(&["news", "sport"]))],
        );
        let params = ProtocolParams::new("home", features, (0.0, 1.0), 1.0, 1e-6).unwrap();
        let report = ReportParams {
            levels: Levels::Public(vec![1.0, 4.0]),
            contributions_per_person: 2,
            ..params.report
        };
        ProtocolParams { report, period: Period::Seconds(86_400), ..params }
    }

    fn actions() -> Vec<Value> {
        ["news", "sport"].iter().map(|topic| Value::from_iter([("topic", *topic)])).collect()
    }

    /// The message alone makes the device: the same report from the same randomness, taken by the server once and by no other loop's.
    #[test]
    fn a_device_made_from_the_message_is_understood_by_the_server_of_the_same_loop_only()
    -> Result<()> {
        let protocol = params().check()?;
        let read: ProtocolPlan = from_json(to_json(&protocol))?;
        assert_eq!((read.hash(), to_json(&read)), (protocol.hash(), to_json(&protocol)));
        let local = protocol.local(&protocol.params().report.clone().into())?;
        let mut server = local.server();
        let model = server.publish()?;
        let report = |protocol: &ProtocolPlan| {
            let mut person = protocol.reports().person(1, Seeded(1))?;
            let arms = protocol.arms(&Value::from_iter([("age", "31")]), &actions())?;
            let chosen = person.choose(&model, &arms)?;
            person.report(&model, &arms.arm(chosen), 0.7)
        };
        let sent = report(&read)?;
        assert_eq!(sent, report(&protocol)?);
        // The state is read again under the protocol; by itself it belongs to the bare parameters of reports.
        let mut again = protocol.load_server(&server.save())?;
        assert_eq!(again, server);
        assert!(Server::load(&server.save())?.absorb(&sent).is_err());
        server.absorb(&sent)?;
        again.absorb(&sent)?;
        assert_eq!((server.reports(), again.reports()), (1, 1));

        let same_reports = |change: fn(&mut ProtocolParams)| -> Result<ProtocolPlan> {
            let mut other = params();
            change(&mut other);
            other.check()
        };
        for other in [
            same_reports(|other| other.name = "shop".into())?,
            same_reports(|other| other.period = Period::Ever)?,
            same_reports(|other| {
                let age = other.features.context.get_mut("age").unwrap();
                *age = Encoding::Range(18.0, 81.0);
            })?,
        ] {
            assert_ne!(other.hash(), protocol.hash());
            let error = other.local(&local.params().clone())?.server().absorb(&sent).unwrap_err();
            assert!(error.to_string().contains("other parameters"), "{error}");
            assert!(
                other
                    .reports()
                    .person(0, Seeded(1))?
                    .choose(&model, &other.arms(&Value::Missing, &actions())?)
                    .is_err()
            );
        }
        Ok(())
    }

    #[test]
    fn changed_numbers_and_bounds_that_do_not_fit_the_rule_are_refused() -> Result<()> {
        let text = to_json(&params().check()?);
        for (from, to, words) in [
            ("86400", "86401", "hash: got "),
            ("\"home\"", "\"homes\"", "hash: got "),
            ("80.0", "81.0", "hash: got "),
            ("\"home\"", "\"a b\"", "loop: got \\\"a b\\\""),
            ("86400", "0", "period: got 0"),
            ("\"feature_bound\":1.0", "\"feature_bound\":2.0", "feature_bound: got 2"),
            ("\"dimension\":4", "\"dimension\":5", "bounds: got"),
            ("\"blocks\":1", "\"blocks\":2", "blocks: got 2"),
        ] {
            assert!(text.contains(from), "{text}");
            let error =
                from_json::<ProtocolPlan>(text.replacen(from, to, 1)).unwrap_err().to_string();
            let plain = words.replace('\\', "");
            assert!(error.starts_with("protocol: got") && error.contains(&plain), "{error}");
        }
        let mut other = params();
        other.report.bounds.intercept = None;
        let error = other.check().unwrap_err().to_string();
        assert!(error.starts_with("intercept: got none; the rule for features has 0."), "{error}");
        let mut noisy = params();
        noisy.report.calibration = Some(reticent::release::Calibration::Mu(100.0));
        let error = noisy.check().unwrap_err().to_string();
        assert!(error.starts_with("calibration: got a value; "), "{error}");
        // Another server's parameters of reports are not the protocol's.
        let protocol = params().check()?;
        let mut report = protocol.params().report.clone();
        report.contributions_per_person += 1;
        let state = LocalParams::from(report.clone()).check()?.server().save();
        for error in
            [protocol.local(&report.into()).unwrap_err(), protocol.load_server(&state).unwrap_err()]
        {
            assert!(
                error.to_string().starts_with("report: got one of other parameters"),
                "{error}"
            );
        }
        assert!(protocol.arms(&Value::Missing, &[]).is_err());
        Ok(())
    }

    #[test]
    fn periods_end_at_multiples_of_their_length() {
        let day = Period::Seconds(86_400);
        assert_eq!([0, 86_399, 86_400].map(|at| day.end(at)), [86_400, 86_400, 172_800]);
        assert_eq!(day.end(u64::MAX), u64::MAX);
        assert_eq!([0, u64::MAX].map(|at| Period::Ever.end(at)), [u64::MAX; 2]);
    }
}
