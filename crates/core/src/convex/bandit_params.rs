//! Parameters of a private bandit, and the numbers that follow from them.
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
//! losses over seven sets: m is `SMOOTHING`, under the larger noise of pure and local protection `NOISY_SMOOTHING`, and eta is multiplied by
//! `PAIRED_STEP` for pairs of opposite directions, which cancel what their losses share.

use serde::{Deserialize, Serialize};

use super::{
    DecisionSet, LinearOracle, Map, MirrorMap, PrivateBandit, Protection, Shape,
    protection::{Aggregate, CentralSum, Estimates, PlainSum},
};
use crate::{
    Error, Result,
    error::{positive, requested_epsilon},
    noise::Noise,
    privacy::{Claim, Event, Guarantee, PURE_DELTA, check_delta},
    randomize::ValueLaplace,
    refuse_if,
    release::{Calibration, Mechanism, PrivateSumPlan},
    special::square,
};

/// The default smoothing in units of `D n^(1/2) / T^(1/4)`, under moderate and under large noise.
const SMOOTHING: f64 = 0.3;
const NOISY_SMOOTHING: f64 = 0.75;
/// The step for pairs of opposite directions, in units of the one that is best in the worst case.
const PAIRED_STEP: f64 = 4.0;

/// Domain of the losses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Territory {
    /// On the set alone: every point played lies inside, and the smoothing is at most the inradius.
    #[default]
    Inside,
    /// Around it, too (section 2 of the paper): points up to the smoothing outside are played.
    Around,
}

/// Points that are played.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Play {
    /// The smoothed point itself.
    #[default]
    Points,
    /// A random vertex whose mean is the smoothed point: a real slate, route or assignment. For linear losses.
    Vertices,
}

/// Baseline that a value is measured from in a gradient estimate; any constant leaves it unbiased.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrivateBanditParams {
    /// L, the Lipschitz constant that the losses are declared to have.
    pub lipschitz: f64,
    /// T, the number of losses.
    pub horizon: u64,
    /// Trusted party, and the budget.
    pub protection: Protection,
    /// Number of losses that may be about the same person, at most.
    pub contributions_per_person: u64,
    /// The range of values, `[0, L D]` if not given; what lies outside is clipped and counted.
    pub values: Option<(f64, f64)>,
    /// Domain of the losses.
    pub territory: Territory,
    /// Points or vertices.
    pub play: Play,
    /// True if a direction is followed by its opposite, which cancels what two losses have in common. Each of the two losses
    /// still moves one number; a loss that is asked for both values of a pair is two contributions of its person.
    pub antithetic: bool,
    /// Baseline that values are measured from.
    pub baseline: Baseline,
    /// True if a round uses the sum of all batches but the last, as printed, in place of all.
    pub stale: bool,
    /// The mirror map.
    pub map: Map,
    /// Rounds in a batch; the root of the horizon if not given.
    pub batch: Option<u64>,
    /// zeta.
    pub smoothing: Option<f64>,
    /// eta.
    pub step: Option<f64>,
    /// A curator's noise of this size in place of what the budget needs; the guarantee is that of the noise.
    pub calibration: Option<Calibration>,
    /// With given noise in a tree, releases of fewer nodes than this get the noise of the missing ones afterwards, so that all have the
    /// same law. It protects no person.
    pub padding: Option<u32>,
    /// Claim that the guarantee is compared with: `paper` mode.
    pub claim: Option<Claim>,
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
            calibration: None,
            padding: None,
            claim: None,
        }
    }

    /// Calibrates everything for a set, or says which parameter stands in the way.
    pub fn check<O: LinearOracle>(&self, set: DecisionSet<O>) -> Result<PrivateBanditPlan<O>> {
        let shape = set.shape();
        let (n, r) = (shape.hull().dimension(), shape.inradius());
        positive("dimension of the set", n as f64)?;
        let remedy = "expected a whole number above 0";
        refuse_if(self.contributions_per_person == 0, "contributions_per_person", 0, remedy)?;
        positive("horizon", self.horizon as f64)?;
        positive("lipschitz", self.lipschitz)?;
        positive("diameter", shape.diameter())?;
        self.check_given_noise()?;
        let batch = self.checked_batch()?;
        let smoothing = self.checked_smoothing(shape)?;
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
        let engine = self.engine(&estimates)?;
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
        Ok(PrivateBanditPlan { params: self.clone(), set, estimates, tuning, engine, map })
    }

    /// Refuses noise of a given size where there is none, or where its guarantee could not be stated.
    fn check_given_noise(&self) -> Result<()> {
        let given = self.calibration.is_some();
        let tree = match self.protection {
            Protection::None | Protection::Local { .. } if given || self.claim.is_some() => {
                let remedy = "it is about a curator's noise, and there is none: leave it out";
                let field = if given { "calibration" } else { "claim" };
                return Err(Error::invalid(field, "a value", remedy));
            }
            Protection::None | Protection::Local { .. } => false,
            Protection::Central { epsilon, delta, mechanism } => {
                requested_epsilon(epsilon)?;
                check_delta(delta, given, self.claim.as_ref())?;
                matches!(mechanism, Mechanism::Tree { .. })
            }
            Protection::CentralPure { epsilon } => {
                requested_epsilon(epsilon)?;
                self.claim.as_ref().map_or(Ok(()), Claim::check)?;
                true
            }
        };
        let sized = matches!(self.calibration, Some(Calibration::Sigma(_) | Calibration::Scale(_)));
        match self.padding {
            Some(padding) if !(tree && sized) => {
                let remedy =
                    "it is for the nodes of a tree with noise of a given size: leave it out";
                Err(Error::invalid("padding", padding, remedy))
            }
            Some(padding) if padding > u64::BITS => {
                Err(Error::invalid("padding", padding, "no tree has more levels than 64"))
            }
            _ => Ok(()),
        }
    }

    /// `D n'^(1/2) / T^(1/4)`.
    fn unit_smoothing(&self, shape: &Shape) -> f64 {
        let dimension = shape.hull().dimension() as f64;
        shape.diameter() * dimension.sqrt() / libm::pow(self.horizon as f64, 0.25)
    }

    fn checked_batch(&self) -> Result<u64> {
        let rounds = self.horizon as f64;
        let mut batch = self.batch.unwrap_or((rounds / rounds.sqrt().floor()) as u64);
        if self.antithetic && self.batch.is_none() {
            batch = batch.next_multiple_of(2);
        }
        let remedy = format_args!("expected 1 to the horizon, {}", self.horizon);
        refuse_if(batch == 0 || batch > self.horizon, "batch", batch, remedy)?;
        let remedy = "pairs of opposite directions need an even number";
        refuse_if(self.antithetic && batch % 2 == 1, "batch", batch, remedy)?;
        Ok(batch)
    }

    fn checked_smoothing(&self, shape: &Shape) -> Result<f64> {
        let inradius = shape.inradius();
        let multiple = match self.protection {
            Protection::None | Protection::Central { .. } => SMOOTHING,
            Protection::CentralPure { .. } | Protection::Local { .. } => NOISY_SMOOTHING,
        };
        match (self.smoothing, self.territory) {
            (None, Territory::Inside) => {
                let price = (1.0 + 0.5 * shape.diameter() / inradius).sqrt();
                let smoothing = multiple * self.unit_smoothing(shape) / price;
                positive("smoothing", smoothing.min(0.5 * inradius))
            }
            (None, Territory::Around) => {
                positive("smoothing", multiple * self.unit_smoothing(shape))
            }
            (Some(smoothing), Territory::Inside) if smoothing > inradius => {
                let remedy = format!(
                    "points would lie outside; expected at most the inradius {inradius}; or say that losses are defined around the set"
                );
                Err(Error::invalid("smoothing", smoothing, remedy))
            }
            (Some(smoothing), _) => positive("smoothing", smoothing),
        }
    }

    fn vertices_map(&self) -> Result<Map> {
        let remedy = "vertices are mixed to points inside the set only: play inside";
        refuse_if(self.territory == Territory::Around, "territory", "around", remedy)?;
        match self.map {
            Map::Automatic | Map::ConditionalGradient => Ok(Map::ConditionalGradient),
            other @ (Map::Projection | Map::Entropic) => {
                let name = if other == Map::Entropic { "entropic" } else { "projection" };
                let remedy = "only conditional gradient gives a mixture of vertices";
                Err(Error::invalid("map", name, remedy))
            }
        }
    }

    fn engine(&self, estimates: &Estimates) -> Result<Engine> {
        let (mechanism, budget) = match self.protection {
            Protection::None => return Ok(Engine::Plain),
            Protection::Local { epsilon } => {
                let value = ValueLaplace::new(estimates.low, estimates.high, epsilon)?;
                return Ok(Engine::Local(value));
            }
            Protection::Central { epsilon, delta, mechanism } => {
                (mechanism, Calibration::Budget { epsilon, delta })
            }
            Protection::CentralPure { epsilon } => {
                (Mechanism::Tree { levels: None }, Calibration::Pure { epsilon })
            }
        };
        let sums = estimates.sum(mechanism, self.calibration.unwrap_or(budget));
        Ok(Engine::Central(Box::new(sums.check()?)))
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
        let square =
            batch * square(estimates.scale) * (far * far + local) + square(batch * self.lipschitz);
        let kappa = square.sqrt();
        let noise = match engine {
            Engine::Central(plan) => plan.deviations(batches as u64).map_or(0.0, |d| d[0]),
            _ => 0.0,
        };
        let factor = if self.antithetic { PAIRED_STEP } else { 1.0 };
        factor * diameter / (batches * kappa * (kappa + 2.0 * noise * n.sqrt())).sqrt()
    }

    /// The guarantee with what it rests on, beside the claim.
    pub(super) fn stated(&self, guarantee: Guarantee) -> Result<Guarantee> {
        let guarantee = guarantee
            .with_condition("directions drawn independently of the losses, and public; which losses are answered, and when, public too")
            .with_condition("saved learners resumed with the true numbers of decisions and of releases made, by one process at a time");
        let guarantee = match self.protection {
            Protection::Local { .. } => guarantee.with_condition(
                "values are randomised where they arise: a party that is handed them raw is trusted",
            ),
            _ => guarantee,
        };
        guarantee.beside(self.claim.as_ref())
    }

    /// The delta a guarantee is stated at.
    pub fn stated_delta(&self) -> f64 {
        match self.protection {
            Protection::Central { delta, .. } => delta,
            _ => PURE_DELTA,
        }
    }

    /// Number of noises a prefix of `release` batches lacks, and the law of each.
    pub(super) fn missing(&self, release: u64) -> Option<(u32, Padding)> {
        let missing = self.padding?.saturating_sub(release.count_ones());
        match self.calibration? {
            Calibration::Sigma(sigma) => Some((missing, Padding::Gaussian(sigma))),
            Calibration::Scale(scale) => Some((missing, Padding::Laplace(scale))),
            _ => None,
        }
    }
}

/// The law of a dummy noise: added after the release, so it protects no person and needs no grid.
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
    /// Factor that draws points towards the centre before they are smoothed: `1 - zeta/r` inside, 1 around.
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

/// Mechanism that protects the values.
#[derive(Debug, Clone)]
pub(super) enum Engine {
    Plain,
    Local(ValueLaplace),
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

    /// Event of the whole run about one person, all their losses together.
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

    /// Guarantee of the whole run; without protection there is nothing to promise.
    pub fn guarantee(&self) -> Result<Guarantee> {
        let guarantee = match &self.engine {
            Engine::Plain => return Err(nothing_to_promise()),
            Engine::Local(value) => value.guarantee(self.params.contributions_per_person)?,
            Engine::Central(plan) => plan.guarantee(self.params.stated_delta())?,
        };
        self.params.stated(guarantee)
    }
}

pub(super) fn nothing_to_promise() -> Error {
    Error::invalid("protection", "missing", "without privacy there is nothing to guarantee")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_states_these_multiples() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/papers/convex.md");
        let page = std::fs::read_to_string(page).unwrap().replace('\n', " ");
        let stated = format!(
            "{SMOOTHING} of the paper's smoothing, {NOISY_SMOOTHING} under pure and local protection, and {PAIRED_STEP} of the worst-case step"
        );
        assert!(page.contains(&stated), "{stated}");
    }
}
