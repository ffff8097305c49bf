//! Public parameters of reporting: all that a device needs.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{CalibratedMethod, Method, Person, Spent, choice};
use crate::{
    Error, Result,
    error::{finite_vector, requested_epsilon},
    hash,
    linalg::triangle,
    noise::Noise,
    privacy::{Claim, Event, check_delta},
    randomize::{Bounds, Precision},
    refuse_if,
    release::{Calibration, Layout},
    wire,
};

/// Features of an arm, at most.
const MOST_FEATURES: usize = 1 << 10;
/// Levels of epsilon, at most.
const MOST_LEVELS: usize = 1024;
/// Entries of the reports of all levels together, at most: parameters may come from another party's message.
const MOST_ENTRIES: usize = 1 << 24;

/// Epsilons that people bring.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Levels {
    /// Each report names its level, and is weighted by its precision.
    Public(Vec<f64>),
    /// Levels are not sent; the server knows how common each is, and weights all reports alike. A level is not
    /// a secret: the size and the grid of a report's noise still tell.
    Hidden {
        /// The levels.
        epsilons: Vec<f64>,
        /// Frequency of each; they add up to 1.
        shares: Vec<f64>,
    },
}

impl Levels {
    /// The levels' epsilons.
    pub fn epsilons(&self) -> &[f64] {
        match self {
            Levels::Public(epsilons) | Levels::Hidden { epsilons, .. } => epsilons,
        }
    }

    /// The index of the smallest epsilon.
    pub fn most_private(&self) -> usize {
        let epsilons = self.epsilons().iter().enumerate();
        epsilons.min_by(|a, b| a.1.total_cmp(b.1)).map_or(0, |(index, _)| index)
    }

    /// Refuses no levels, levels of 0 or less, and shares that do not add up to 1.
    pub fn check(&self) -> Result<()> {
        let epsilons = self.epsilons();
        let refused = epsilons.is_empty() || epsilons.len() > MOST_LEVELS;
        let remedy = format_args!("expected 1 to {MOST_LEVELS} levels");
        refuse_if(refused, "levels", epsilons.len(), remedy)?;
        epsilons.iter().try_for_each(|epsilon| requested_epsilon(*epsilon).map(drop))?;
        if let Levels::Hidden { shares, .. } = self {
            finite_vector("shares", shares, epsilons.len())?;
            let total: f64 = shares.iter().sum();
            let refused = shares.iter().any(|share| *share < 0.0) || (total - 1.0).abs() > 1e-9;
            let remedy = "expected shares of 0 or above that add up to 1";
            refuse_if(refused, "shares", format_args!("{shares:?}"), remedy)?;
        }
        Ok(())
    }
}

/// Public parameters of people's reports. Everything but bounds, epsilon and delta has a default that is right.
///
/// ```
/// use reticent::{noise::SecureNoise, randomize::{Bounds, ReportParams, ReportPlan}, wire::{from_json, to_json}};
/// let plan = ReportParams::new(Bounds::unit(2), 1.0, 1e-6).check()?;
/// // A device reads the plan and makes its person; it needs nothing of the report server.
/// let text = to_json(&plan);
/// let read: ReportPlan = from_json(&text)?;
/// let person = read.person(0, SecureNoise::from_system()?)?;
/// println!("{}", person.guarantee()?);
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReportParams {
    /// Bounds that data are clipped to.
    pub bounds: Bounds,
    /// Decision sets are public: then only the reward is hidden.
    #[serde(default)]
    pub public_arms: bool,
    /// Epsilons that people bring.
    pub levels: Levels,
    /// Requested delta; 0 asks for pure privacy.
    pub delta: f64,
    /// Number of times one person reports at most.
    #[serde(with = "wire::count")]
    pub contributions_per_person: u64,
    /// The randomiser; by default the best.
    pub method: Option<Method>,
    /// Gaussian noise of this size in place of what the budget needs; what it guarantees at `delta` is stated all the same.
    pub calibration: Option<Calibration>,
    /// Claim that the guarantee is compared with: `paper` mode.
    pub claim: Option<Claim>,
}

impl ReportParams {
    /// One level of epsilon, private arms, one report a person, the best method.
    pub fn new(bounds: Bounds, epsilon: f64, delta: f64) -> Self {
        ReportParams {
            bounds,
            public_arms: false,
            levels: Levels::Public(vec![epsilon]),
            delta,
            contributions_per_person: 1,
            method: None,
            calibration: None,
            claim: None,
        }
    }

    /// Calibrates every level's randomiser, or says which parameter stands in the way.
    pub fn check(&self) -> Result<ReportPlan> {
        if self.method.is_some() {
            return self.check_given();
        }
        self.check_numbers()?;
        let (method, randomizers, reason) = choice::best(self)?;
        self.agreed(method, randomizers, reason)
    }

    /// The same with the method that is given, as every message to a device gives one: finding the best takes more code than a device needs.
    pub fn check_given(&self) -> Result<ReportPlan> {
        self.check_numbers()?;
        let Some(method) = &self.method else {
            return Err(Error::invalid("method", "missing", "expected the randomiser's name"));
        };
        let randomizers = choice::build(self, method)?;
        self.agreed(method.clone(), randomizers, "chosen by the caller".to_string())
    }

    /// Refuses what no method could be calibrated for.
    fn check_numbers(&self) -> Result<()> {
        self.bounds.check()?;
        let dimension = self.bounds.dimension;
        let remedy =
            format_args!("a report has of the order of d^2 numbers; expected 1 to {MOST_FEATURES}");
        refuse_if(dimension > MOST_FEATURES, "dimension", dimension, remedy)?;
        self.levels.check()?;
        let levels = self.levels.epsilons().len();
        let entries = Layout::new(dimension, self.bounds.structure).matrix();
        if levels.saturating_mul(entries) > MOST_ENTRIES {
            let remedy = format!(
                "a report has {entries} numbers and more; expected at most {} levels, or fewer parameters",
                MOST_ENTRIES / entries
            );
            return Err(Error::invalid("levels", levels, remedy));
        }
        let remedy = "expected a number from 0 to below 1";
        refuse_if(!(0.0..1.0).contains(&self.delta), "delta", self.delta, remedy)?;
        match self.delta == 0.0 {
            true => self.claim.as_ref().map_or(Ok(()), Claim::check)?,
            false => check_delta(self.delta, self.calibration.is_some(), self.claim.as_ref())?,
        }
        let refused = self.contributions_per_person == 0;
        refuse_if(refused, "contributions_per_person", 0, "expected 1 or more")
    }

    fn agreed(
        &self,
        method: Method,
        randomizers: Vec<CalibratedMethod>,
        reason: String,
    ) -> Result<ReportPlan> {
        let refused = method.shows_arms() && !self.public_arms;
        let remedy = "this method sends the arm as it is: declare public_arms, or hide it";
        refuse_if(refused, "method", &method, remedy)?;
        if let Method::KnownGram { gram, reports } = &method {
            refuse_if(*reports == 0, "reports", 0, "explore for one report or more")?;
            finite_vector("gram", gram, triangle(self.bounds.dimension))?;
        }
        let protocol = fingerprint(self, &method);
        let params = self.clone();
        Ok(ReportPlan { inner: Arc::new(Agreed { params, method, randomizers, reason, protocol }) })
    }
}

/// A hash of what device and report server must agree on, so that a foreign report is refused and not misread.
fn fingerprint(params: &ReportParams, method: &Method) -> u64 {
    let ReportParams { bounds, levels, delta, contributions_per_person, calibration, .. } = params;
    let agreed = (bounds, levels, delta, contributions_per_person, calibration, method);
    hash::of_params("local protocol 1", &agreed)
}

/// Checked parameters of reports: what a device is made from. Written down as its parameters, and checked again when it is read.
///
/// A copy costs nothing: every person of a simulation may have one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "ReportParams", into = "ReportParams")]
pub struct ReportPlan {
    inner: Arc<Agreed>,
}

/// Parts that a plan shares among its copies.
#[derive(Debug, Clone, PartialEq)]
struct Agreed {
    params: ReportParams,
    method: Method,
    randomizers: Vec<CalibratedMethod>,
    reason: String,
    protocol: u64,
}

impl wire::Checked for ReportPlan {}
impl wire::Message for ReportPlan {
    const KIND: wire::Kind = wire::kinds::REPORT_PLAN;
}

impl TryFrom<ReportParams> for ReportPlan {
    type Error = Error;

    fn try_from(params: ReportParams) -> Result<Self> {
        params.check()
    }
}

/// With the method that was chosen, which a device need not find again.
impl From<ReportPlan> for ReportParams {
    fn from(plan: ReportPlan) -> Self {
        ReportParams { method: Some(plan.method().clone()), ..plan.params().clone() }
    }
}

impl ReportPlan {
    /// The parameters as given.
    pub fn params(&self) -> &ReportParams {
        &self.inner.params
    }

    /// The randomiser in use.
    pub fn method(&self) -> &Method {
        &self.inner.method
    }

    /// Reason why this randomiser: one sentence.
    pub fn reason(&self) -> &str {
        &self.inner.reason
    }

    /// The device of a person who brings this level and has not reported yet.
    pub fn person<N: Noise>(&self, level: usize, noise: N) -> Result<Person<N>> {
        self.person_after(level, &Spent::nothing(self), noise)
    }

    /// The device of a person who has reported before, and now brings this level: `spent` is the record of their last device.
    pub fn person_after<N: Noise>(
        &self,
        level: usize,
        spent: &Spent,
        noise: N,
    ) -> Result<Person<N>> {
        Person::new(self, self.level(level)?, spent.clone(), noise)
    }

    /// `level`, if there is such a level.
    pub fn level(&self, level: usize) -> Result<usize> {
        let levels = self.inner.randomizers.len();
        let remedy = format_args!("there are {levels} levels, counted from 0");
        refuse_if(level >= levels, "level", level, remedy)?;
        Ok(level)
    }

    /// Value of one report: `1/s^2` for noise of deviation s, on average over the levels.
    pub(crate) fn information(&self) -> f64 {
        choice::information(&self.inner.randomizers, &self.inner.params.levels)
    }

    /// The method calibrated for each level.
    pub(crate) fn randomizers(&self) -> &[CalibratedMethod] {
        &self.inner.randomizers
    }

    /// Fingerprint of the parameters that device, report server and a shuffler between them agree on, in one number.
    pub fn protocol(&self) -> u64 {
        self.inner.protocol
    }

    /// The same as a part of a larger protocol with this hash, which reports and what a person has spent then carry.
    pub fn bound_to(&self, protocol: u64) -> Self {
        ReportPlan { inner: Arc::new(Agreed { protocol, ..(*self.inner).clone() }) }
    }

    /// Number of numbers every report has.
    pub fn report_length(&self) -> usize {
        self.inner.randomizers[0].report_length()
    }

    /// Event of one report of this level.
    pub fn event(&self, level: usize) -> Result<Event> {
        Ok(self.inner.randomizers[self.level(level)?].event())
    }

    /// Deviation of one report of this level.
    pub fn precision(&self, level: usize) -> Result<Precision> {
        Ok(self.inner.randomizers[self.level(level)?].precision())
    }
}
