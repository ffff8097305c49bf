//! What a private bandit is built from, and the numbers that follow from it.
//!
//! ```text
//! kappa^2 = T_batch (n'/zeta)^2 V + T_batch^2 L^2                                                      (Lemma C.2)
//! eta     = D / sqrt(T_round kappa (kappa + 2 sigma sqrt n'))
//! zeta    = m D n'^(1/2) / T^(1/4), inside the set divided by (1 + D/(2r))^(1/2) and at most r/2
//! ```
//!
//! V is the largest mean square of an estimate's value, local noise included, sigma the deviation of a released sum
//! in one coordinate. The regret bound of Lemma 4.1, `D^2/(2 eta) + eta T_round kappa^2 / 2 + eta T_round kappa sigma sqrt n'`,
//! is least at this eta: it depends on public numbers only. Smoothing costs `zeta L` a round, and inside the set up to
//! `(zeta/r) L D/2` more, because points are drawn towards the centre; what it buys falls as 1/zeta; so the best zeta
//! inside is the one around the set, divided by the root of `1 + D/(2r)`. The multiples are the best of a handful on simulated
//! losses over seven sets: m = 0.3 of the paper's smoothing, 0.75 under the larger noise of pure and local protection, and 2.5
//! of eta for pairs of opposite directions, which cancel what their losses share.

use serde::{Deserialize, Serialize};

use super::{
    DecisionSet, LinearOracle, LocalValue, Map, MirrorMap, PrivateBandit, Protection,
    PublishedBandit, Shape,
    protection::{Aggregate, CentralSum, Estimates, PURE_DELTA, PlainSum},
};
use crate::{
    Error, Result,
    error::positive,
    noise::Noise,
    privacy::{Event, Guarantee, Mode},
    release::{Calibration, Mechanism, PrivateSumPlan},
};

/// The default smoothing in units of the paper's, under moderate and under large noise.
const SMOOTHING: f64 = 0.3;
const NOISY_SMOOTHING: f64 = 0.75;
/// The step for pairs of opposite directions, in units of the one that is best in the worst case.
const PAIRED_STEP: f64 = 2.5;

/// Where losses are defined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Territory {
    /// On the set alone: every point played lies inside, and the smoothing is at most the inradius.
    #[default]
    Inside,
    /// Around it, too (section 2 of the paper): points up to the smoothing outside are played.
    Around,
}

/// What is played.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Play {
    /// The smoothed point itself.
    #[default]
    Points,
    /// A random vertex whose mean is the smoothed point: a real slate, route or assignment. For linear losses.
    Vertices,
}

/// What a value is measured from in a gradient estimate; any constant leaves it unbiased.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Baseline {
    /// The middle of the range of values: a quarter of the worst variance.
    #[default]
    Middle,
    /// Zero, as in the paper.
    Zero,
}

/// Parameters of a [`PrivateBandit`]. All but the first three have defaults chosen on public reasoning.
///
/// ```
/// use reticent::{convex::{PrivateBanditParams, Protection, oracle::UniformMatroid}, noise::SecureNoise};
///
/// let slates = UniformMatroid::set(20, 10)?;
/// let params = PrivateBanditParams::new(1.0, 10_000, Protection::central(1.0, 1e-6));
/// let mut bandit = params.check(slates)?.start(SecureNoise::from_system()?)?;
/// println!("{}", bandit.guarantee()?);
///
/// let decision = bandit.decide()?;
/// bandit.observe(decision.ticket, 0.7)?;
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrivateBanditParams {
    /// L, the Lipschitz constant that the losses are declared to have.
    pub lipschitz: f64,
    /// T, the number of losses.
    pub horizon: u64,
    /// Whom to trust, and with how much.
    pub protection: Protection,
    /// How many losses may be about the same person, at most.
    pub contributions_per_person: u64,
    /// The range of values, `[0, L D]` if not given; what lies outside is clipped and counted.
    pub values: Option<(f64, f64)>,
    /// Where losses are defined.
    pub territory: Territory,
    /// Points or vertices.
    pub play: Play,
    /// Whether a direction is followed by its opposite, which cancels what two losses have in common. Each of the two losses
    /// still moves one number; a loss that is asked for both values of a pair is two contributions of its person.
    pub antithetic: bool,
    /// What values are measured from.
    pub baseline: Baseline,
    /// Whether a round uses the sum of all batches but the last, as printed, in place of all.
    pub stale: bool,
    /// The mirror map.
    pub map: Map,
    /// Rounds in a batch; the root of the horizon if not given.
    pub batch: Option<u64>,
    /// zeta.
    pub smoothing: Option<f64>,
    /// eta.
    pub step: Option<f64>,
    /// Exact calibration, or the paper's noise.
    pub mode: Mode,
}

impl PrivateBanditParams {
    /// The defaults: points inside the set, pairs of opposite directions, fresh sums, exact calibration.
    pub fn new(lipschitz: f64, horizon: u64, protection: Protection) -> Self {
        PrivateBanditParams {
            lipschitz,
            horizon,
            protection,
            contributions_per_person: 1,
            values: None,
            territory: Territory::Inside,
            play: Play::Points,
            antithetic: true,
            baseline: Baseline::Middle,
            stale: false,
            map: Map::Automatic,
            batch: None,
            smoothing: None,
            step: None,
            mode: Mode::Exact,
        }
    }

    /// Algorithm 1 as printed but for the sign of line 14: its batches, smoothing and step, losses defined around the
    /// set, no baseline, stale sums, conditional gradient; its noise in `paper` mode, exact noise else.
    pub fn published<O: LinearOracle>(
        set: &DecisionSet<O>,
        lipschitz: f64,
        horizon: u64,
        protection: Protection,
        mode: Mode,
    ) -> Result<Self> {
        let shape = set.shape();
        let paper =
            PublishedBandit::new(horizon, shape.hull().dimension(), lipschitz, shape.diameter())?;
        Ok(PrivateBanditParams {
            territory: Territory::Around,
            antithetic: false,
            baseline: Baseline::Zero,
            stale: true,
            map: Map::ConditionalGradient,
            batch: Some(paper.batch()),
            smoothing: Some(paper.smoothing()),
            step: Some(paper.step()),
            mode,
            ..PrivateBanditParams::new(lipschitz, horizon, protection)
        })
    }

    /// Garber and Kretzu (AISTATS 2020): blocks of root T, conditional gradient to a gap during the next block, no
    /// privacy; the smoothing kept inside the set.
    pub fn garber_kretzu<O: LinearOracle>(
        set: &DecisionSet<O>,
        lipschitz: f64,
        horizon: u64,
    ) -> Result<Self> {
        let printed =
            PrivateBanditParams::published(set, lipschitz, horizon, Protection::None, Mode::Exact)?;
        let within = 0.5 * set.shape().inradius();
        Ok(PrivateBanditParams {
            territory: Territory::Inside,
            smoothing: printed.smoothing.map(|zeta| zeta.min(within)),
            step: None,
            ..printed
        })
    }

    /// Smith and Thakurta (NIPS 2013): a private sum after every round and an exact projection, where the set has one;
    /// their tree, exactly calibrated.
    pub fn with_projections(lipschitz: f64, horizon: u64, protection: Protection) -> Self {
        let tree = Mechanism::Tree { levels: None };
        PrivateBanditParams {
            protection: match protection {
                Protection::Central { epsilon, delta, .. } => {
                    Protection::Central { epsilon, delta, mechanism: tree }
                }
                other => other,
            },
            antithetic: false,
            baseline: Baseline::Zero,
            map: Map::Projection,
            batch: Some(1),
            ..PrivateBanditParams::new(lipschitz, horizon, protection)
        }
    }

    /// Calibrates everything for a set, or says which parameter stands in the way.
    pub fn check<O: LinearOracle>(&self, set: DecisionSet<O>) -> Result<PrivateBanditPlan<O>> {
        let shape = set.shape();
        let (n, r) = (shape.hull().dimension(), shape.inradius());
        positive("dimension of the set", n as f64)?;
        if self.contributions_per_person == 0 {
            let remedy = "give a whole number above 0";
            return Err(Error::invalid("contributions_per_person", 0, remedy));
        }
        let paper = PublishedBandit::new(self.horizon, n, self.lipschitz, shape.diameter())?;
        let batch = self.checked_batch(&paper)?;
        let smoothing = self.checked_smoothing(&paper, shape)?;
        let (low, high) = self.values.unwrap_or((0.0, self.lipschitz * shape.diameter()));
        crate::error::finite_vector("values", &[low, high], 2)?;
        positive("range of values", high - low)?;
        let estimates = Estimates {
            dimension: shape.dimension(),
            horizon: self.horizon,
            batch,
            low,
            high,
            scale: n as f64 / smoothing,
            from_middle: self.baseline == Baseline::Middle,
            contributions_per_person: self.contributions_per_person,
        };
        let engine = self.engine(&estimates, &paper)?;
        let tolerance = shape.diameter() / (batch as f64).sqrt().max(10.0);
        let map = match self.play {
            Play::Points => self.map,
            Play::Vertices => self.vertices_map()?,
        };
        let map = MirrorMap::new(&set, map, tolerance, batch.max(100))?;
        let step = match self.step {
            Some(step) => positive("step", step)?,
            None => {
                let step = self.default_step(&estimates, &engine, n, shape.diameter());
                let mean = shape.centre().iter().sum::<f64>() / shape.dimension() as f64;
                // Around the centre, the entropic map moves c_i times as far as the Euclidean one.
                if map.map() == Map::Entropic { step / mean } else { step }
            }
        };
        let shrink = match self.territory {
            Territory::Inside => 1.0 - smoothing / r,
            Territory::Around => 1.0,
        };
        let tuning = Tuning { batch, smoothing, step, shrink };
        Ok(PrivateBanditPlan { params: *self, set, estimates, tuning, engine, map })
    }

    fn checked_batch(&self, paper: &PublishedBandit) -> Result<u64> {
        let mut batch = self.batch.unwrap_or(paper.batch());
        if self.antithetic && self.batch.is_none() {
            batch = batch.next_multiple_of(2);
        }
        if batch == 0 || batch > self.horizon {
            let remedy = format!("give 1 to the horizon, {}", self.horizon);
            return Err(Error::invalid("batch", batch, remedy));
        }
        if self.antithetic && batch % 2 == 1 {
            let remedy = "pairs of opposite directions need an even number";
            return Err(Error::invalid("batch", batch, remedy));
        }
        Ok(batch)
    }

    fn checked_smoothing(&self, paper: &PublishedBandit, shape: &Shape) -> Result<f64> {
        let inradius = shape.inradius();
        let multiple = match self.protection {
            Protection::None | Protection::Central { .. } => SMOOTHING,
            Protection::CentralPure { .. } | Protection::Local { .. } => NOISY_SMOOTHING,
        };
        match (self.smoothing, self.territory) {
            (None, Territory::Inside) => {
                let price = (1.0 + 0.5 * shape.diameter() / inradius).sqrt();
                let smoothing = multiple * paper.smoothing() / price;
                positive("smoothing", smoothing.min(0.5 * inradius))
            }
            (None, Territory::Around) => positive("smoothing", multiple * paper.smoothing()),
            (Some(smoothing), Territory::Inside) if smoothing > inradius => {
                let remedy = format!(
                    "points would lie outside: give at most the inradius {inradius}, or say that losses are defined around the set"
                );
                Err(Error::invalid("smoothing", smoothing, remedy))
            }
            (Some(smoothing), _) => positive("smoothing", smoothing),
        }
    }

    fn vertices_map(&self) -> Result<Map> {
        if self.territory == Territory::Around {
            let remedy = "vertices are mixed to points inside the set only: play inside";
            return Err(Error::invalid("territory", "around", remedy));
        }
        match self.map {
            Map::Automatic | Map::ConditionalGradient => Ok(Map::ConditionalGradient),
            Map::Projection | Map::Entropic => {
                let remedy = "only conditional gradient gives a mixture of vertices";
                Err(Error::invalid("map", format!("{:?}", self.map), remedy))
            }
        }
    }

    fn engine(&self, estimates: &Estimates, paper: &PublishedBandit) -> Result<Engine> {
        let plan = |mechanism, calibration| -> Result<Engine> {
            Ok(Engine::Central(Box::new(estimates.sum(mechanism, calibration).check()?)))
        };
        let tree = Mechanism::Tree { levels: None };
        match (self.protection, self.mode) {
            (Protection::None, _) => Ok(Engine::Plain),
            (Protection::Local { epsilon }, _) => {
                Ok(Engine::Local(LocalValue::new(estimates.low, estimates.high, epsilon)?))
            }
            (Protection::Central { epsilon, delta, mechanism }, Mode::Exact) => {
                plan(mechanism, Calibration::Budget { epsilon, delta })
            }
            (Protection::CentralPure { epsilon }, Mode::Exact) => {
                plan(tree, Calibration::Pure { epsilon })
            }
            (Protection::Central { epsilon, delta, .. }, Mode::Paper) => {
                crate::error::requested_epsilon(epsilon)?;
                crate::error::probability("delta", delta)?;
                plan(tree, Calibration::Sigma(paper.gaussian_deviation(epsilon, delta)))
            }
            (Protection::CentralPure { epsilon }, Mode::Paper) => {
                crate::error::requested_epsilon(epsilon)?;
                plan(tree, Calibration::Scale(paper.laplace_scale(epsilon)))
            }
        }
    }

    /// eta of the head of this file.
    fn default_step(&self, estimates: &Estimates, engine: &Engine, n: usize, diameter: f64) -> f64 {
        let (batch, n) = (estimates.batch as f64, n as f64);
        let batches = (self.horizon / estimates.batch) as f64;
        let range = estimates.high - estimates.low;
        let far = if estimates.from_middle {
            0.5 * range
        } else {
            estimates.low.abs().max(estimates.high.abs())
        };
        let local = if let Engine::Local(value) = engine { value.variance() } else { 0.0 };
        let square = batch * estimates.scale.powi(2) * (far * far + local)
            + (batch * self.lipschitz).powi(2);
        let kappa = square.sqrt();
        let noise = match engine {
            Engine::Central(plan) => plan.deviations(batches as u64).map_or(0.0, |d| d[0]),
            _ => 0.0,
        };
        let factor = if self.antithetic { PAIRED_STEP } else { 1.0 };
        factor * diameter / (batches * kappa * (kappa + 2.0 * noise * n.sqrt())).sqrt()
    }

    /// In `paper` mode, what the publication claims beside what holds.
    pub(super) fn claim(&self, guarantee: Guarantee) -> Result<Guarantee> {
        let guarantee = guarantee
            .with_condition("directions drawn independently of the losses, and public; which losses are answered, and when, public too")
            .with_condition("saved learners resumed with the true numbers of decisions and of releases made, by one process at a time");
        let guarantee = match self.protection {
            Protection::Local { .. } => guarantee
                .with_condition("values are randomised where they arise (`LocalValue::report`): whoever is handed them raw is trusted"),
            _ => guarantee,
        };
        match (self.mode, self.protection) {
            (Mode::Exact, _) | (_, Protection::None | Protection::Local { .. }) => Ok(guarantee),
            (Mode::Paper, Protection::Central { epsilon, delta, .. }) => guarantee.with_claim(
                &crate::privacy::Claim::new(epsilon, delta, "Ene, Nguyen and Vladu, Lemma 5.4"),
            ),
            (Mode::Paper, Protection::CentralPure { epsilon }) => {
                guarantee.with_claim(&crate::privacy::Claim::new(
                    epsilon,
                    PURE_DELTA,
                    "Ene, Nguyen and Vladu, Lemma 5.1",
                ))
            }
        }
    }

    /// The delta a guarantee is stated at.
    pub(super) fn stated_delta(&self) -> f64 {
        match self.protection {
            Protection::Central { delta, .. } => delta,
            _ => PURE_DELTA,
        }
    }

    /// Dummy noises the paper adds to a prefix of `release` batches, and the law of each.
    pub(super) fn padding(&self, paper: &PublishedBandit, release: u64) -> Option<(u32, Padding)> {
        if self.mode == Mode::Exact {
            return None;
        }
        let missing = paper.padding().saturating_sub(release.count_ones());
        match self.protection {
            Protection::Central { epsilon, delta, .. } => {
                Some((missing, Padding::Gaussian(paper.gaussian_deviation(epsilon, delta))))
            }
            Protection::CentralPure { epsilon } => {
                Some((missing, Padding::Laplace(paper.laplace_scale(epsilon))))
            }
            _ => None,
        }
    }
}

/// The law of a dummy noise: added after the release, so it protects nobody and needs no grid.
pub(super) enum Padding {
    Gaussian(f64),
    Laplace(f64),
}

/// The numbers in use.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Tuning {
    /// T_batch.
    pub batch: u64,
    /// zeta.
    pub smoothing: f64,
    /// eta.
    pub step: f64,
    /// How far points are drawn towards the centre before they are smoothed: `1 - zeta/r` inside, 1 around.
    pub shrink: f64,
}

/// Checked parameters with their set.
#[derive(Debug, Clone)]
pub struct PrivateBanditPlan<O> {
    pub(super) params: PrivateBanditParams,
    pub(super) set: DecisionSet<O>,
    pub(super) estimates: Estimates,
    pub(super) tuning: Tuning,
    pub(super) engine: Engine,
    pub(super) map: MirrorMap,
}

/// What protects the values.
#[derive(Debug, Clone)]
pub(super) enum Engine {
    Plain,
    Local(LocalValue),
    Central(Box<PrivateSumPlan>),
}

impl Engine {
    pub(super) fn start<N: Noise>(self, estimates: Estimates, noise: N) -> Aggregate<N> {
        match self {
            Engine::Plain | Engine::Local(_) => Aggregate::Plain(PlainSum::start(estimates, noise)),
            Engine::Central(plan) => {
                Aggregate::Private(Box::new(CentralSum::start(estimates, *plan, noise)))
            }
        }
    }
}

impl<O: LinearOracle> PrivateBanditPlan<O> {
    /// Starts on a source of noise, which also gives the public directions.
    pub fn start<N: Noise>(self, noise: N) -> Result<PrivateBandit<O, N>> {
        PrivateBandit::start(self, noise)
    }

    /// Batch, smoothing and step in use.
    pub fn tuning(&self) -> Tuning {
        self.tuning
    }

    /// Delta, how far one loss moves the running sum.
    pub fn sensitivity(&self) -> f64 {
        self.estimates.scale * (self.estimates.high - self.estimates.low)
    }

    /// What the whole run will have told about one person, all their losses together.
    pub(super) fn event(&self) -> Event {
        match &self.engine {
            Engine::Plain => Event::Nothing,
            Engine::Local(value) => Event::Repeated {
                event: Box::new(value.event()),
                times: self.params.contributions_per_person,
            },
            Engine::Central(plan) => plan.event(),
        }
    }

    /// What may be promised of the whole run; without protection there is nothing to promise.
    pub fn guarantee(&self) -> Result<Guarantee> {
        let guarantee = match &self.engine {
            Engine::Plain => return Err(nothing_to_promise()),
            Engine::Local(value) => value.guarantee(self.params.contributions_per_person)?,
            Engine::Central(plan) => plan.guarantee(self.params.stated_delta())?,
        };
        self.params.claim(guarantee)
    }
}

pub(super) fn nothing_to_promise() -> Error {
    Error::invalid("protection", "none", "without privacy there is nothing to guarantee")
}
