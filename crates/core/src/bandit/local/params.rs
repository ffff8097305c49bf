//! What both halves of the protocol agree on before anybody reports.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Method, Person, Randomizer, Server, Spent, choice, sums::ReportSums};
use crate::{
    Error, Result,
    bandit::{Rule, RulePlan},
    error::{finite_vector, requested_epsilon},
    hash,
    linalg::triangle,
    noise::Noise,
    privacy::{Claim, Event, check_delta},
    randomize::{Bounds, Correlation, Precision},
    release::Calibration,
};

/// Features of an arm, at most.
const MOST_FEATURES: usize = 1 << 10;
/// Levels of epsilon, at most.
const MOST_LEVELS: usize = 1024;

/// Which epsilon people bring.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Levels {
    /// Each report names its level, and is weighted by its precision.
    Public(Vec<f64>),
    /// Nobody says which level is theirs; the server knows how common each is, and weights all reports alike. A level is not
    /// a secret: the size and the grid of a report's noise still tell.
    Hidden {
        /// The levels.
        epsilons: Vec<f64>,
        /// How common each is; they add up to 1.
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

    /// Refuses no levels, levels of 0 or less, and shares that do not add up to 1.
    pub fn check(&self) -> Result<()> {
        let epsilons = self.epsilons();
        if epsilons.is_empty() || epsilons.len() > MOST_LEVELS {
            let remedy = format!("give 1 to {MOST_LEVELS} levels");
            return Err(Error::invalid("levels", epsilons.len(), remedy));
        }
        epsilons.iter().try_for_each(|epsilon| requested_epsilon(*epsilon).map(drop))?;
        if let Levels::Hidden { shares, .. } = self {
            finite_vector("shares", shares, epsilons.len())?;
            let total: f64 = shares.iter().sum();
            if shares.iter().any(|share| *share < 0.0) || (total - 1.0).abs() > 1e-9 {
                let remedy = "give shares of 0 or above that add up to 1";
                return Err(Error::invalid("shares", format!("{shares:?}"), remedy));
            }
        }
        Ok(())
    }
}

/// Parameters of the local protocol. Everything but bounds, epsilon and delta has a default that is right.
///
/// ```
/// use reticent::{bandit::{Arms, LocalParams}, noise::SecureNoise, randomize::Bounds};
///
/// let bounds = Bounds { rewards: (0.0, 1.0), ..Bounds::unit(2) };
/// let plan = LocalParams::new(bounds, 1.0, 1e-6).check()?;
/// println!("{}", plan.reason());
/// println!("{}", plan.guarantee(0)?);
///
/// let mut server = plan.server();
/// let model = server.publish()?;
/// // On the device:
/// let mut person = plan.person(0, SecureNoise::from_system()?)?;
/// let arms = Arms::from_rows(2, &[[1.0, 0.0], [0.0, 1.0]])?;
/// let arm = person.choose(&model, &arms)?;
/// let report = person.report(&model, &arms.arm(arm), 0.7)?;
/// // At the server:
/// server.absorb(&report)?;
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LocalParams {
    /// What data are clipped to.
    pub bounds: Bounds,
    /// Decision sets are public: then only the reward is hidden.
    #[serde(default)]
    pub public_arms: bool,
    /// Which epsilon people bring.
    pub levels: Levels,
    /// Requested delta; 0 asks for pure privacy.
    pub delta: f64,
    /// How often one person reports at most.
    #[serde(default = "once")]
    pub contributions_per_person: u64,
    /// The randomiser; by default the best.
    #[serde(default)]
    pub method: Option<Method>,
    /// How noisy sums become a policy.
    #[serde(default)]
    pub rule: Rule,
    /// Reports made under a model more than this many models old are refused: names of older reports need not be kept.
    #[serde(default = "window")]
    pub late_models: u64,
    /// Gaussian noise of this size in place of what the budget needs, for a guarantee that does not rest on the reports alone;
    /// what they guarantee by themselves is stated all the same.
    #[serde(default)]
    pub calibration: Option<Calibration>,
    /// What the guarantee is to be compared with: `paper` mode.
    #[serde(default)]
    pub claim: Option<Claim>,
}

fn once() -> u64 {
    1
}

fn window() -> u64 {
    1000
}

impl LocalParams {
    /// One level of epsilon, private arms, one report a person, the best method.
    pub fn new(bounds: Bounds, epsilon: f64, delta: f64) -> Self {
        LocalParams {
            bounds,
            public_arms: false,
            levels: Levels::Public(vec![epsilon]),
            delta,
            contributions_per_person: 1,
            method: None,
            rule: Rule::default(),
            late_models: window(),
            calibration: None,
            claim: None,
        }
    }

    /// Calibrates every level's randomiser, or says which parameter stands in the way.
    pub fn check(&self) -> Result<LocalPlan> {
        self.bounds.check()?;
        if self.bounds.dimension > MOST_FEATURES {
            let remedy =
                format!("a report has of the order of d^2 numbers: give 1 to {MOST_FEATURES}");
            return Err(Error::invalid("dimension", self.bounds.dimension, remedy));
        }
        self.levels.check()?;
        if !(0.0..1.0).contains(&self.delta) {
            return Err(Error::invalid("delta", self.delta, "give a number from 0 to below 1"));
        }
        match self.delta == 0.0 {
            true => self.claim.as_ref().map_or(Ok(()), Claim::check)?,
            false => check_delta(self.delta, self.calibration.is_some(), self.claim.as_ref())?,
        }
        if self.contributions_per_person == 0 {
            return Err(Error::invalid("contributions_per_person", 0, "give 1 or more"));
        }
        let (method, randomizers, reason) = match &self.method {
            None => choice::best(self)?,
            Some(method) => {
                let reason = "chosen by the caller".to_string();
                (method.clone(), choice::build(self, method)?, reason)
            }
        };
        if method.shows_arms() && !self.public_arms {
            let remedy = "this method sends the arm as it is: declare public_arms, or hide it";
            return Err(Error::invalid("method", format!("{method:?}"), remedy));
        }
        let known = match &method {
            Method::KnownGram { gram, reports } => {
                if *reports == 0 {
                    return Err(Error::invalid("reports", 0, "explore for one report or more"));
                }
                finite_vector("gram", gram, triangle(self.bounds.dimension))?;
                let square = self.bounds.feature_bound.powi(2);
                Some(gram.iter().map(|entry| entry / square).collect())
            }
            _ => None,
        };
        let rule = self.rule(&method, &randomizers)?;
        if matches!(method, Method::AdditivePair) && self.levels.epsilons().len() > 1 {
            let remedy = "its debiasing needs one level of epsilon: choose another method";
            return Err(Error::invalid("method", "additive_pair", remedy));
        }
        let protocol = fingerprint(self, &method);
        let (weights, correlations) = weigh(&randomizers, &self.levels);
        let inner = Arc::new(Agreement {
            params: self.clone(),
            method,
            randomizers,
            reason,
            protocol,
            weights,
            correlations,
            known,
            rule,
        });
        Ok(LocalPlan { inner })
    }

    /// The rule for sums of reports of this method.
    fn rule(&self, method: &Method, randomizers: &[Randomizer]) -> Result<RulePlan> {
        let rule = self.rule.plan(ReportSums::domain(self.bounds.dimension), None, None)?;
        let gaussian = matches!(method, Method::GramGaussian { .. });
        if matches!(self.rule, Rule::Certified { .. } | Rule::Regularized { .. }) && !gaussian {
            let remedy = "the certified set is proved for gram_gaussian only: choose that method, or `tuned`";
            return Err(Error::invalid("rule", "certified", remedy));
        }
        if !method.shows_arms() {
            return Ok(rule);
        }
        let best = randomizers.iter().map(|r| r.precision().vector).fold(f64::INFINITY, f64::min);
        Ok(rule.with_reward_deviation((1.0 + best.powi(2)).sqrt()))
    }
}

/// Weight and correlation with the truth for reports of each level, by what the server may know.
///
/// For public levels the weight is `1/(1 + s^2)`, the largest being 1: reports count by the inverse of their variance, that of the
/// reward (at most 1) included.
fn weigh(randomizers: &[Randomizer], levels: &Levels) -> (Vec<f64>, Vec<Correlation>) {
    match levels {
        Levels::Public(_) => {
            let variance = |r: &Randomizer| 1.0 + r.precision().vector.powi(2);
            let least = randomizers.iter().map(variance).fold(f64::INFINITY, f64::min);
            let weights = randomizers.iter().map(|r| least / variance(r)).collect();
            (weights, randomizers.iter().map(Randomizer::correlation).collect())
        }
        Levels::Hidden { shares, .. } => {
            let mean = |of: fn(Correlation) -> f64| {
                randomizers.iter().zip(shares).map(|(r, share)| share * of(r.correlation())).sum()
            };
            let correlation = Correlation { first: mean(|c| c.first), second: mean(|c| c.second) };
            (vec![1.0; randomizers.len()], vec![correlation; randomizers.len()])
        }
    }
}

/// A hash of what both halves must agree on, so that a foreign report is refused and not misread.
fn fingerprint(params: &LocalParams, method: &Method) -> u64 {
    let LocalParams { bounds, levels, delta, contributions_per_person, calibration, .. } = params;
    let agreed = (bounds, levels, delta, contributions_per_person, calibration, method);
    hash::of_params("local protocol 1", &agreed)
}

/// Checked parameters: what a person's device and the server are started from.
///
/// A copy costs nothing: every person of a simulation may have one.
#[derive(Debug, Clone, PartialEq)]
pub struct LocalPlan {
    pub(super) inner: Arc<Agreement>,
}

/// What a plan shares among its copies.
#[derive(Debug, PartialEq)]
pub(super) struct Agreement {
    pub(super) params: LocalParams,
    pub(super) method: Method,
    pub(super) randomizers: Vec<Randomizer>,
    reason: String,
    pub(super) protocol: u64,
    pub(super) weights: Vec<f64>,
    pub(super) correlations: Vec<Correlation>,
    /// The known Gram matrix of one report, for features divided by L.
    pub(super) known: Option<Vec<f64>>,
    /// How sums of reports become policies.
    pub(super) rule: RulePlan,
}

impl LocalPlan {
    /// The parameters as given.
    pub fn params(&self) -> &LocalParams {
        &self.inner.params
    }

    /// The randomiser in use.
    pub fn method(&self) -> &Method {
        &self.inner.method
    }

    /// Why this randomiser: one sentence.
    pub fn reason(&self) -> &str {
        &self.inner.reason
    }

    /// The half of a person who brings this level and has not reported yet.
    pub fn person<N: Noise>(&self, level: usize, noise: N) -> Result<Person<N>> {
        self.person_after(level, &Spent::nothing(self), noise)
    }

    /// The half of a person who has reported before, and now brings this level: `spent` is what their last half said.
    pub fn person_after<N: Noise>(
        &self,
        level: usize,
        spent: &Spent,
        noise: N,
    ) -> Result<Person<N>> {
        Person::new(self, self.level(level)?, spent.clone(), noise)
    }

    /// The server's half, before any report.
    pub fn server(&self) -> Server {
        Server::new(self.clone())
    }

    pub(super) fn level(&self, level: usize) -> Result<usize> {
        if level < self.inner.randomizers.len() {
            return Ok(level);
        }
        let remedy = format!("there are {} levels, counted from 0", self.inner.randomizers.len());
        Err(Error::invalid("level", level, remedy))
    }

    /// What one report of this level tells the accountant.
    pub fn event(&self, level: usize) -> Result<Event> {
        Ok(self.inner.randomizers[self.level(level)?].event())
    }

    /// What both halves and a shuffler between them agree on, in one number.
    pub(crate) fn protocol(&self) -> u64 {
        self.inner.protocol
    }

    /// What `reports` reports of one person tell if only sums of `people` reports are seen.
    pub(crate) fn summed_event(&self, reports: u64, people: u64) -> Result<Event> {
        Ok(self.inner.randomizers[0].summed()?.summed_event(reports, people))
    }

    /// A report of this level takes any one value with a chance of at most 2^-bits.
    pub(crate) fn entropy_bits(&self, level: usize) -> Result<f64> {
        Ok(self.inner.randomizers[self.level(level)?].entropy_bits())
    }

    /// How many values a report of this level has.
    pub(crate) fn report_length(&self, level: usize) -> Result<usize> {
        Ok(self.inner.randomizers[self.level(level)?].report_length())
    }

    /// The largest absolute number in an honest report of this level.
    pub(crate) fn largest_entry(&self, level: usize) -> Result<f64> {
        Ok(self.inner.randomizers[self.level(level)?].largest_entry())
    }

    /// The grid of reports that are summed.
    pub(crate) fn summed_exponents(&self) -> Result<Vec<i32>> {
        Ok(self.inner.randomizers[0].summed()?.exponents())
    }

    /// Deviation of one report of this level.
    pub fn precision(&self, level: usize) -> Result<Precision> {
        Ok(self.inner.randomizers[self.level(level)?].precision())
    }
}
