//! The report server: absorb reports, publish models.
//!
//! Late, lost and duplicated reports: see `inbox`.

use serde::{Deserialize, Serialize};

use super::{
    Absorbed, Guide, LocalParams, LocalPlan, Model, inbox::Inbox, params::Agreement,
    sums::ReportSums,
};
use crate::{
    Error, Result,
    bandit::Policy,
    error::finite_vector,
    hash::mix,
    noise::{Noise, SecureNoise},
    randomize::{Correlation, Levels, Method, Precision, Report},
    refuse_if,
    special::square,
    wire,
};

/// The report server of the protocol. It sees nothing that was not randomised on a device.
#[derive(Debug, Clone, PartialEq)]
pub struct Server {
    plan: LocalPlan,
    state: State,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct State {
    sums: ReportSums,
    reports: u64,
    inbox: Inbox,
    /// Seed of the public randomness of the `thompson` rule; by default the first model that needs it takes it from the system.
    seed: Option<u64>,
}

impl Server {
    pub(super) fn new(plan: LocalPlan) -> Self {
        let sums = ReportSums::new(&plan.inner.params.report.bounds);
        let inbox = Inbox::new(plan.inner.params.late_models);
        Server { plan, state: State { sums, reports: 0, inbox, seed: None } }
    }

    /// The same with a seed for its ensembles under the `thompson` rule, for simulations that are repeated. By default the system gives one.
    pub fn seeded(mut self, seed: u64) -> Self {
        self.state.seed = Some(seed);
        self
    }

    /// The same as a part of a larger protocol with this hash. It is not saved: the caller who loads the state binds it again.
    pub fn bound_to(self, protocol: u64) -> Self {
        Server { plan: self.plan.bound_to(protocol), ..self }
    }

    /// Takes a report in, once. An error, a duplicate and a late report change nothing.
    pub fn absorb(&mut self, report: &Report) -> Result<Absorbed> {
        self.expect_protocol(report.protocol)?;
        let refused = self.state.inbox.refusal(report)?;
        self.count(report, refused, true)
    }

    /// Takes in a report that was not taken in before: for a caller whose own memory of names is durable, and who refuses late ones. Its name is
    /// not remembered here, so that a saved state does not grow with the number of reports.
    pub fn absorb_new(&mut self, report: &Report) -> Result<Absorbed> {
        self.count(report, None, false)
    }

    /// Refuses a report that no device of this protocol makes. Whether it is late or was counted before is not looked at.
    pub fn check_report(&self, report: &Report) -> Result<()> {
        self.expect_protocol(report.protocol)?;
        self.estimate(report).map(drop)
    }

    fn count(
        &mut self,
        report: &Report,
        refused: Option<Absorbed>,
        remember: bool,
    ) -> Result<Absorbed> {
        self.expect_protocol(report.protocol)?;
        let estimate = self.estimate(report)?;
        if let Method::KnownGram { reports, .. } = self.plan.method()
            && self.state.reports >= *reports
        {
            // Arms are no longer drawn from the law whose Gram matrix is known.
            return Ok(Absorbed::Unneeded);
        }
        if let Some(refused) = refused {
            return Ok(refused);
        }
        if remember {
            self.state.inbox.remember(report);
        }
        self.add(&estimate);
        if self.plan.params().restart_every.is_some_and(|every| self.state.reports >= every) {
            self.restart();
        }
        Ok(Absorbed::Counted)
    }

    /// Forgets all reports; models go on to be counted.
    fn restart(&mut self) {
        self.state.sums = ReportSums::new(&self.plan.params().report.bounds);
        self.state.reports = 0;
        self.state.inbox.restart();
    }

    pub(crate) fn expect_protocol(&self, protocol: u64) -> Result<()> {
        if protocol == self.plan.protocol() {
            return Ok(());
        }
        let remedy = "it was made for a protocol with other parameters: refuse its sender";
        Err(Error::invalid("protocol", format!("{protocol:x}"), remedy))
    }

    /// Observation in a report, or the reason why it cannot be read.
    fn estimate(&self, report: &Report) -> Result<Estimate> {
        self.decode(report.level, report.features.as_deref(), &report.values)
    }

    pub(crate) fn decode(
        &self,
        level: Option<u16>,
        features: Option<&[f64]>,
        values: &[f64],
    ) -> Result<Estimate> {
        let level = match (&self.plan.inner.params.report.levels, level) {
            (Levels::Public(_), Some(level)) => self.plan.level(usize::from(level))?,
            (Levels::Hidden { .. }, None) => 0,
            (_, level) => {
                let remedy = "reports name their level if and only if levels are public";
                let named = level.map_or("missing".to_string(), |level| level.to_string());
                return Err(Error::invalid("level", named, remedy));
            }
        };
        let randomizers = self.plan.randomizers();
        let randomizer = &randomizers[level];
        // A hidden level may be any.
        let largest = match self.plan.inner.params.report.levels {
            Levels::Public(_) => randomizer.largest_entry(),
            Levels::Hidden { .. } => {
                let all = randomizers.iter().map(|r| r.largest_entry());
                all.fold(0.0, f64::max)
            }
        };
        if let Some(value) = values.iter().find(|value| value.abs() > largest) {
            let remedy = format!("no honest report exceeds {largest}: refuse its sender");
            return Err(Error::invalid("values", value, remedy));
        }
        if let Some(features) = features {
            finite_vector("features", features, self.plan.inner.params.report.bounds.dimension)?;
            let refused = features.iter().map(|x| x * x).sum::<f64>() > 1.0 + 1e-6;
            let remedy = "features are divided by feature_bound before they are sent";
            refuse_if(refused, "features", format_args!("{features:?}"), remedy)?;
        }
        let refused = features.is_some() != self.plan.method().shows_arms();
        let remedy = "reports name the arm if and only if arms are public";
        refuse_if(refused, "features", features.is_some(), remedy)?;
        let correlation: Correlation = self.plan.inner.correlations[level];
        let mut sums = randomizer.estimate(values, features, correlation)?;
        if let Some(known) = &self.plan.inner.known {
            sums.iter_mut().zip(known).for_each(|(entry, known)| *entry = *known);
        }
        Ok(Estimate { sums, weight: self.plan.inner.weights[level], noise: self.noise(level) })
    }

    /// Noise that one report of this level adds to the sums.
    fn noise(&self, level: usize) -> Precision {
        match &self.plan.inner.params.report.levels {
            Levels::Public(_) => self.plan.randomizers()[level].precision(),
            Levels::Hidden { shares, .. } => {
                let mean = |of: fn(Precision) -> f64| {
                    let parts = self.plan.randomizers().iter().zip(shares);
                    parts.map(|(r, share)| share * square(of(r.precision()))).sum::<f64>().sqrt()
                };
                Precision { matrix: mean(|p| p.matrix), vector: mean(|p| p.vector) }
            }
        }
    }

    /// Adds the sum of `people` reports of one level, of which nothing else was seen.
    pub(crate) fn add_sum(&mut self, values: &[f64], people: u64) -> Result<()> {
        let expected = ReportSums::domain(&self.plan.inner.params.report.bounds).coordinates();
        finite_vector("sum", values, expected)?;
        let Precision { matrix, vector } = self.noise(0);
        let root = (people as f64).sqrt();
        let noise = Precision { matrix: matrix * root, vector: vector * root };
        self.state.sums.add(values, 1.0, noise);
        self.state.reports += people;
        Ok(())
    }

    pub(crate) fn add(&mut self, estimate: &Estimate) {
        self.state.sums.add(&estimate.sums, estimate.weight, estimate.noise);
        self.state.reports += 1;
    }

    /// The next model, made from all reports so far.
    pub fn publish(&mut self) -> Result<Model> {
        let mut guide = self.guide()?;
        let seed = match (&guide, self.state.seed) {
            (Guide::Follow(policy), None) if policy.ensemble().is_some() => {
                *self.state.seed.insert(SecureNoise::from_system()?.bits())
            }
            (_, seed) => seed.unwrap_or(0),
        };
        let sequence = self.state.inbox.publish();
        if let Guide::Follow(policy) = &mut guide {
            policy.reseed(mix(seed, sequence));
        }
        Ok(Model::new(self.plan.protocol(), sequence, self.state.reports, guide))
    }

    fn guide(&self) -> Result<Guide> {
        if let Method::KnownGram { reports, .. } = self.plan.method()
            && self.state.reports < *reports
        {
            return Ok(Guide::Uniform);
        }
        Ok(Guide::Follow(self.policy()?))
    }

    /// The policy for arms in the units of the data.
    fn policy(&self) -> Result<Policy> {
        let Agreement { rule, params, .. } = &*self.plan.inner;
        let policy = match self.state.reports {
            0 => rule.cold_policy(),
            _ => rule.policy(&self.state.sums.release())?,
        };
        policy.for_features_divided_by(params.report.bounds.feature_bound)
    }

    /// Reports counted so far, since the last restart.
    pub fn reports(&self) -> u64 {
        self.state.reports
    }

    /// Returns whether its sums are those of exactly these reports, each once, whatever the order in which they were counted: floating-point sums in two orders differ by
    /// no more than rounding allows. For a plan that counts all reports and never restarts; a report of another protocol is an error.
    pub fn has_counted<'a>(&self, reports: impl IntoIterator<Item = &'a Report>) -> Result<bool> {
        let empty = ReportSums::new(&self.plan.inner.params.report.bounds);
        let (mut sums, mut sizes) = (empty.clone(), empty);
        for report in reports {
            self.expect_protocol(report.protocol)?;
            let Estimate { sums: entries, weight, noise } = self.estimate(report)?;
            sums.add(&entries, weight, noise);
            let entries: Vec<f64> = entries.iter().map(|entry| entry.abs()).collect();
            sizes.add(&entries, weight.abs(), noise);
        }
        Ok(self.state.sums.is_reordered(&sums, &sizes))
    }

    /// Names of reports kept, to count each once.
    pub fn remembered(&self) -> usize {
        self.state.inbox.remembered()
    }

    /// Plan that the server was made from.
    pub fn plan(&self) -> &LocalPlan {
        &self.plan
    }

    /// The expected reward of an arm, as the sums have it now; with blocks of parameters, of an arm of the first one.
    pub fn expected_reward(&self, features: &[f64]) -> Result<f64> {
        self.expected_reward_in_block(0, features)
    }

    /// The expected reward of an arm of this block of parameters, as the sums have it now.
    pub fn expected_reward_in_block(&self, block: usize, features: &[f64]) -> Result<f64> {
        let bounds = &self.plan.inner.params.report.bounds;
        bounds.structure.expect(block)?;
        finite_vector("features", features, bounds.dimension)?;
        let policy = self.policy()?;
        let theta = &policy.theta()[block * bounds.dimension..];
        let z: f64 = theta.iter().zip(features).map(|(theta, x)| theta * x).sum();
        Ok(bounds.centre() + bounds.half_range() * z)
    }

    /// The whole state. There is no secret in it, but a change of it changes what devices are asked to do.
    pub fn save(&self) -> Vec<u8> {
        wire::save(wire::kinds::LOCAL_SERVER, &(&self.plan.inner.params, &self.state))
    }

    /// Continues bit for bit from saved bytes.
    pub fn load(bytes: &[u8]) -> Result<Self> {
        let (params, state): (LocalParams, State) = wire::load(wire::kinds::LOCAL_SERVER, bytes)?;
        let plan = params.check()?;
        state.sums.check(&plan.inner.params.report.bounds)?;
        Ok(Server { plan, state })
    }
}

/// Numbers that one report adds.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Estimate {
    sums: Vec<f64>,
    weight: f64,
    noise: Precision,
}

#[cfg(test)]
impl Estimate {
    pub(super) fn sums(&self) -> &[f64] {
        &self.sums
    }
}
