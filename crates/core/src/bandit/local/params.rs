//! What both halves of the protocol agree on before anybody reports.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Server, sums::ReportSums};
use crate::{
    Error, Result,
    bandit::{Rule, RulePlan},
    noise::Noise,
    privacy::{Claim, Event, Guarantee},
    randomize::{
        Bounds, CalibratedMethod, Correlation, Levels, Method, Person, Precision, ReportParams,
        ReportPlan, Spent,
    },
    release::Calibration,
};

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

    /// What of it a device needs to make a person's half.
    pub fn reports(&self) -> ReportParams {
        ReportParams {
            bounds: self.bounds,
            public_arms: self.public_arms,
            levels: self.levels.clone(),
            delta: self.delta,
            contributions_per_person: self.contributions_per_person,
            method: self.method.clone(),
            calibration: self.calibration,
            claim: self.claim.clone(),
        }
    }

    /// Calibrates every level's randomiser, or says which parameter stands in the way.
    pub fn check(&self) -> Result<LocalPlan> {
        let reports = self.reports().check()?;
        let rule = self.rule(&reports)?;
        let known = match reports.method() {
            Method::KnownGram { gram, .. } => {
                let square = self.bounds.feature_bound.powi(2);
                Some(gram.iter().map(|entry| entry / square).collect())
            }
            Method::AdditivePair if self.levels.epsilons().len() > 1 => {
                let remedy = "its debiasing needs one level of epsilon: choose another method";
                return Err(Error::invalid("method", "additive_pair", remedy));
            }
            _ => None,
        };
        let (weights, correlations) = weigh(reports.randomizers(), &self.levels);
        let params = self.clone();
        let inner = Arc::new(Agreement { params, reports, weights, correlations, known, rule });
        Ok(LocalPlan { inner })
    }

    /// The rule for sums of reports of this method.
    fn rule(&self, reports: &ReportPlan) -> Result<RulePlan> {
        let method = reports.method();
        let rule = self.rule.plan(ReportSums::domain(&self.bounds), None, None)?;
        let gaussian = matches!(method, Method::GramGaussian { .. });
        if matches!(self.rule, Rule::Certified { .. } | Rule::Regularized { .. }) && !gaussian {
            let remedy = "the certified set is proved for gram_gaussian only: choose that method, or `tuned`";
            return Err(Error::invalid("rule", "certified", remedy));
        }
        if !method.shows_arms() {
            return Ok(rule);
        }
        let vectors = reports.randomizers().iter().map(|randomizer| randomizer.precision().vector);
        let best = vectors.fold(f64::INFINITY, f64::min);
        Ok(rule.with_reward_deviation((1.0 + best.powi(2)).sqrt()))
    }
}

/// Weight and correlation with the truth for reports of each level, by what the server may know.
///
/// For public levels the weight is `1/(1 + s^2)`, the largest being 1: reports count by the inverse of their variance, that of the
/// reward (at most 1) included.
fn weigh(randomizers: &[CalibratedMethod], levels: &Levels) -> (Vec<f64>, Vec<Correlation>) {
    match levels {
        Levels::Public(_) => {
            let variance = |r: &CalibratedMethod| 1.0 + r.precision().vector.powi(2);
            let least = randomizers.iter().map(variance).fold(f64::INFINITY, f64::min);
            let weights = randomizers.iter().map(|r| least / variance(r)).collect();
            (weights, randomizers.iter().map(CalibratedMethod::correlation).collect())
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
    pub(super) reports: ReportPlan,
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

    /// What a device needs of it: it travels, and a person's half is made from it.
    pub fn reports(&self) -> &ReportPlan {
        &self.inner.reports
    }

    /// The randomiser in use.
    pub fn method(&self) -> &Method {
        self.reports().method()
    }

    /// Why this randomiser: one sentence.
    pub fn reason(&self) -> &str {
        self.reports().reason()
    }

    /// The half of a person who brings this level and has not reported yet.
    pub fn person<N: Noise>(&self, level: usize, noise: N) -> Result<Person<N>> {
        self.reports().person(level, noise)
    }

    /// The half of a person who has reported before, and now brings this level: `spent` is what their last half said.
    pub fn person_after<N: Noise>(
        &self,
        level: usize,
        spent: &Spent,
        noise: N,
    ) -> Result<Person<N>> {
        self.reports().person_after(level, spent, noise)
    }

    /// The server's half, before any report.
    pub fn server(&self) -> Server {
        Server::new(self.clone())
    }

    /// What one report of this level tells the accountant.
    pub fn event(&self, level: usize) -> Result<Event> {
        self.reports().event(level)
    }

    /// Deviation of one report of this level.
    pub fn precision(&self, level: usize) -> Result<Precision> {
        self.reports().precision(level)
    }

    /// What a person who makes all their reports at this level may be promised: see [`ReportPlan::guarantee`].
    pub fn guarantee(&self, level: usize) -> Result<Guarantee> {
        self.reports().guarantee(level)
    }

    /// What anybody may be promised, whatever levels they mix: see [`ReportPlan::guarantee_of_anybody`].
    pub fn guarantee_of_anybody(&self) -> Result<Guarantee> {
        self.reports().guarantee_of_anybody()
    }
}
