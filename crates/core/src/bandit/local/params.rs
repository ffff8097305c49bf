//! Parameters that device and report server agree on before the first report.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Server, sums::ReportSums};
use crate::{
    Error, Result,
    bandit::{Rule, RulePlan},
    randomize::{Bounds, CalibratedMethod, Correlation, Levels, Method, ReportParams, ReportPlan},
    refuse_if,
    special::square,
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
    /// Reports that people send: everything a device needs to know of them.
    pub report: ReportParams,
    /// Rule by which noisy sums become a policy.
    #[serde(default)]
    pub rule: Rule,
    /// Reports made under a model more than this many models old are refused: names of older reports need not be kept.
    #[serde(default = "window")]
    pub late_models: u64,
    /// Forget everything after a fixed number of reports: for rewards whose law changes. Reports made under a model from before a restart are
    /// late after it. Each report is private by itself, whatever becomes of it. The failure probability of a certified rule is that of the
    /// time between two restarts.
    #[serde(default)]
    pub restart_every: Option<u64>,
}

fn window() -> u64 {
    1000
}

impl From<ReportParams> for LocalParams {
    fn from(report: ReportParams) -> Self {
        LocalParams { report, rule: Rule::default(), late_models: window(), restart_every: None }
    }
}

impl LocalParams {
    /// One level of epsilon, private arms, one report a person, the best method.
    pub fn new(bounds: Bounds, epsilon: f64, delta: f64) -> Self {
        ReportParams::new(bounds, epsilon, delta).into()
    }

    /// Calibrates every level's randomiser, or says which parameter stands in the way.
    pub fn check(&self) -> Result<LocalPlan> {
        let reports = self.report.check()?;
        let rule = self.rule(&reports)?;
        self.check_restarts(reports.method())?;
        let known = match reports.method() {
            Method::KnownGram { gram, .. } => {
                let square = square(self.report.bounds.feature_bound);
                Some(gram.iter().map(|entry| entry / square).collect())
            }
            Method::AdditivePair if self.report.levels.epsilons().len() > 1 => {
                let remedy = "its debiasing needs one level of epsilon: choose another method";
                return Err(Error::invalid("method", "additive_pair", remedy));
            }
            _ => None,
        };
        let (weights, correlations) = weigh(reports.randomizers(), &self.report.levels);
        let params = self.clone();
        let inner = Arc::new(Agreement { params, reports, weights, correlations, known, rule });
        Ok(LocalPlan { inner })
    }

    fn check_restarts(&self, method: &Method) -> Result<()> {
        let Some(every) = self.restart_every else { return Ok(()) };
        refuse_if(every == 0, "restart_every", 0, "expected a whole number of reports above 0")?;
        match method {
            Method::KnownGram { reports, .. } if every <= *reports => {
                let remedy =
                    format!("all {reports} reports before it are spent exploring; expected more");
                Err(Error::invalid("restart_every", every, remedy))
            }
            _ => Ok(()),
        }
    }

    /// The rule for sums of reports of this method.
    fn rule(&self, reports: &ReportPlan) -> Result<RulePlan> {
        let unmeasured = matches!(self.rule, Rule::TwoLevel { .. });
        let remedy =
            "it is for sums of a trusted curator or without privacy; expected tuned or thompson";
        refuse_if(unmeasured, "rule", &self.rule, remedy)?;
        let method = reports.method();
        let rule = self.rule.plan(ReportSums::domain(&self.report.bounds), None, None)?;
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
        Ok(rule.with_reward_deviation((1.0 + square(best)).sqrt()))
    }
}

/// Weight and correlation with the truth for reports of each level, by what the server may know.
///
/// For public levels the weight is `1/(1 + s^2)`, the largest being 1: reports count by the inverse of their variance, that of the
/// reward (at most 1) included.
fn weigh(randomizers: &[CalibratedMethod], levels: &Levels) -> (Vec<f64>, Vec<Correlation>) {
    match levels {
        Levels::Public(_) => {
            let variance = |r: &CalibratedMethod| 1.0 + square(r.precision().vector);
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

/// Parts that a plan shares among its copies.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Agreement {
    pub(super) params: LocalParams,
    pub(super) reports: ReportPlan,
    pub(super) weights: Vec<f64>,
    pub(super) correlations: Vec<Correlation>,
    /// The known Gram matrix of one report, for features divided by L.
    pub(super) known: Option<Vec<f64>>,
    /// Rule by which sums of reports become policies.
    pub(super) rule: RulePlan,
}

impl LocalPlan {
    /// The parameters as given.
    pub fn params(&self) -> &LocalParams {
        &self.inner.params
    }

    /// Part of the plan that a device needs: it travels as a message.
    pub fn reports(&self) -> &ReportPlan {
        &self.inner.reports
    }

    /// The same as a part of a larger protocol with this hash, which models and reports then carry.
    pub fn bound_to(&self, protocol: u64) -> Self {
        let reports = self.inner.reports.bound_to(protocol);
        LocalPlan { inner: Arc::new(Agreement { reports, ..(*self.inner).clone() }) }
    }

    /// The report server, before any report.
    pub fn server(&self) -> Server {
        Server::new(self.clone())
    }
}

/// A server knows what a device knows: method, events, guarantees, and how a device is made.
impl std::ops::Deref for LocalPlan {
    type Target = ReportPlan;

    fn deref(&self) -> &ReportPlan {
        self.reports()
    }
}
