//! The parameters of a private running sum, and the check that turns them into a plan.

use serde::{Deserialize, Serialize};

use super::{
    Calibration, Domain, HalfLife, Mechanism, Schedule,
    blt::Blt,
    calibration::{Amount, GridNoise, MARGIN},
    clip::{Clipper, power_of_two},
    doubling::{Doubling, Epochs},
    engine::Engine,
    factorization::{Factor, Factorization, Running},
    forgetting::STEPS,
    promise::{Price, Promise},
    randomized::RandomizedSums,
    stream::PrivateSum,
    tree::Tree,
    wishart::{WishartSums, level_budget},
};
use crate::{
    Error, Result,
    noise::Noise,
    privacy::{Event, Guarantee},
    refuse_if,
    special::square,
};

/// Sums carry 40 fractional bits in 127: `entry * rounds` stays below 2^85.
const HEADROOM_BITS: f64 = 85.0;
/// Rounds after which even a stream of unknown horizon ends.
const UNKNOWN_ROUNDS: u64 = 1 << 40;
/// Draws per coordinate until then: two per step in Honaker's tree, and the few of the outer mechanism.
const UNKNOWN_DRAWS: u64 = 1 << 42;

/// Parameters of a [`PrivateSum`]. Everything about privacy is fixed here, before any data is seen.
///
/// ```
/// use reticent::release::{Calibration, Domain, Mechanism, PrivateSumParams};
/// let params = PrivateSumParams {
///     mechanism: Mechanism::Honaker,
///     contributions_per_person: 3,
///     ..PrivateSumParams::new(
///         Domain::regression(5, 1.0, 1.0),
///         Some(50_000_000),
///         Calibration::Budget { epsilon: 1.0, delta: 1e-6 },
///     )
/// };
/// assert!(params.check().is_ok());
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrivateSumParams {
    /// Domain of a person's contribution.
    pub domain: Domain,
    /// Rounds the stream may last; `None` for an unknown horizon: epochs of doubling length, with 30 to 50 % more noise. Sums that forget need
    /// none: without it they run for 2^32 releases, and with it they have the same noise.
    pub horizon: Option<u64>,
    /// Correlation of the noise over time.
    #[serde(default)]
    pub mechanism: Mechanism,
    /// Schedule of the releases.
    #[serde(default)]
    pub schedule: Schedule,
    /// Half-life in rounds, by the clock in ticks: `sum_i 2^(-(t - i) / half-life) x_i` is released in place of the sum, counted in whole
    /// releases. For BLT on a schedule of constant gaps.
    pub forget: Option<f64>,
    /// In how many rounds one person may appear, at most.
    #[serde(default = "crate::wire::one")]
    pub contributions_per_person: u64,
    /// Amount of noise.
    pub calibration: Calibration,
}

impl PrivateSumParams {
    /// The defaults: BLT, capped geometric releases, one contribution per person.
    pub fn new(domain: Domain, horizon: Option<u64>, calibration: Calibration) -> Self {
        PrivateSumParams {
            domain,
            horizon,
            mechanism: Mechanism::default(),
            schedule: Schedule::default(),
            forget: None,
            contributions_per_person: 1,
            calibration,
        }
    }

    /// Sums that forget, without an end: see [`PrivateSumParams::forget`].
    ///
    /// ```
    /// use reticent::release::{Calibration, Domain, PrivateSumParams};
    /// let budget = Calibration::Budget { epsilon: 1.0, delta: 1e-6 };
    /// let params = PrivateSumParams::forgetting(Domain::regression(5, 1.0, 1.0), 5000.0, budget);
    /// let plan = params.check()?;
    /// // The noise stays as it is, however many releases there are.
    /// assert!((plan.deviations(1 << 32)?[1] / plan.deviations(10_000)?[1] - 1.0).abs() < 1e-9);
    /// # Ok::<(), reticent::Error>(())
    /// ```
    pub fn forgetting(domain: Domain, half_life: f64, calibration: Calibration) -> Self {
        PrivateSumParams {
            schedule: Schedule::for_half_life(half_life),
            forget: Some(half_life),
            ..PrivateSumParams::new(domain, None, calibration)
        }
    }

    /// g: a released sum is g times the one before plus what came since; 1 for sums that do not forget.
    pub fn kept(&self) -> Result<f64> {
        let half_life = |forget| HalfLife::new(forget, &self.schedule);
        self.forget.map_or(Ok(1.0), |forget| Ok(half_life(forget)?.kept_after(1)))
    }

    /// Builds and calibrates the mechanism, or returns an error that names the parameter to change.
    pub fn check(&self) -> Result<PrivateSumPlan> {
        self.domain.check()?;
        self.schedule.check()?;
        let remedy = "expected a whole number above 0";
        refuse_if(self.contributions_per_person == 0, "contributions_per_person", 0, remedy)?;
        let plan = match (self.forget, self.horizon) {
            (Some(forget), _) => self.check_forgetting(forget)?,
            (None, Some(horizon)) => self.check_known(horizon)?,
            (None, None) => self.check_unknown()?,
        };
        Ok(PrivateSumPlan(plan))
    }

    fn check_forgetting(&self, forget: f64) -> Result<Plan> {
        let half_life = HalfLife::new(forget, &self.schedule)?;
        let Mechanism::Blt { buffers } = self.mechanism else {
            let remedy = "sums that forget are made by BLT; expected that; or leave `forget` out";
            return Err(Error::invalid("mechanism", self.mechanism, remedy));
        };
        let last = half_life.last_round();
        let horizon = self.horizon.unwrap_or(last);
        if horizon > last {
            let remedy =
                format!("2^32 releases end with round {last}; expected at most that, or none");
            return Err(Error::invalid("horizon", horizon, remedy));
        }
        self.steps(horizon)?;
        let factor = Factor::Blt(Blt::forgetting(STEPS, buffers, half_life)?);
        self.factorized(horizon, half_life.remembered(), factor, self.contributions_per_person)
    }

    /// Number of releases in this many rounds.
    fn steps(&self, horizon: u64) -> Result<u64> {
        let steps = self.schedule.releases(horizon);
        if steps > 0 {
            return Ok(steps);
        }
        let first = self.schedule.first();
        let remedy = format!("the first release is after round {first}; expected at least that");
        Err(Error::invalid("horizon", horizon, remedy))
    }

    fn check_known(&self, horizon: u64) -> Result<Plan> {
        let steps = self.steps(horizon)?;
        let contributions = match self.schedule {
            // Any number of visits may share a tick.
            Schedule::Clock => self.contributions_per_person,
            _ => self.contributions_per_person.min(horizon),
        };
        if let (Mechanism::Tree { levels }, Calibration::Wishart { node_epsilon, node_delta }) =
            (self.mechanism, self.calibration)
        {
            let remedy = "Wishart noise is for one contribution a round: take another";
            refuse_if(self.schedule == Schedule::Clock, "calibration", "Wishart noise", remedy)?;
            let tree = Tree::new(steps, levels)?;
            let sums = WishartSums::new(self.domain.clone(), tree, node_epsilon, node_delta)?;
            let (epsilon, delta) = level_budget(node_epsilon, node_delta, contributions)?;
            let price = Price::Nodes { epsilon, delta, levels: tree.levels() };
            let clipper = sums.clipper().clone();
            self.check_size(&clipper, horizon)?;
            return Ok(self.plan(horizon, clipper, price, Engine::Wishart(Box::new(sums))));
        }
        self.factorized(horizon, horizon, self.mechanism.build(steps)?, contributions)
    }

    /// The stream by this factorisation, whose sums hold at most `summed` contributions at full weight.
    fn factorized(
        &self,
        horizon: u64,
        summed: u64,
        factor: Factor,
        contributions: u64,
    ) -> Result<Plan> {
        // Contributions between the same two releases share a column, so their norms add up.
        let norm = if self.schedule.batches() {
            contributions as f64 * factor.as_dyn().column_norm()
        } else {
            factor.as_dyn().person_norm(contributions)
        };
        let sensitivity = match self.schedule {
            Schedule::Clock => self.domain.sensitivity_across_steps(),
            _ => self.domain.sensitivity(),
        };
        let distance = sensitivity * norm;
        let draws = factor.as_dyn().draws() * self.domain.coordinates() as f64;
        let amount = self.calibration.resolve(draws)?;
        let (clipper, noise) = match amount {
            Amount::Mu(mu) => {
                let clipper = Clipper::new(self.domain.clone(), distance / mu)?;
                (clipper.clone(), GridNoise::calibrate(&clipper, factor.as_dyn(), distance, mu)?)
            }
            Amount::Sigma(sigma) => {
                let clipper = Clipper::new(self.domain.clone(), sigma)?;
                (clipper.clone(), GridNoise::new(&clipper, sigma)?)
            }
            Amount::Pure(epsilon) => {
                let scale = self.absolute_distance(factor.as_dyn())? / epsilon;
                let clipper = Clipper::new(self.domain.clone(), scale)?;
                (clipper.clone(), GridNoise::laplace(&clipper, scale)?)
            }
            Amount::Scale(scale) => {
                self.absolute_distance(factor.as_dyn())?;
                let clipper = Clipper::new(self.domain.clone(), scale)?;
                (clipper.clone(), GridNoise::laplace(&clipper, scale)?)
            }
        };
        let price = match amount {
            Amount::Mu(_) | Amount::Sigma(_) => Price::Gaussian {
                mu: noise.mu(factor.as_dyn(), distance),
                sigma: noise.smallest(),
                coordinates: draws,
            },
            Amount::Pure(_) | Amount::Scale(_) => {
                let units =
                    self.absolute_distance(factor.as_dyn())? * power_of_two(clipper.exponents()[0]);
                // The margin covers floating point in the norms; the conversion saturates, and a saturated value promises nothing.
                let sensitivity = (units * (1.0 + 1e-9)).ceil() as u64;
                Price::Laplace { sensitivity, scale: noise.smallest() }
            }
        };
        self.check_size(&clipper, summed)?;
        let running = factor.start(self.domain.coordinates());
        Ok(self.plan(horizon, clipper, price, Engine::Known { running, noise }))
    }

    /// Refuses sums of more contributions than 128 bits hold.
    fn check_size(&self, clipper: &Clipper, summed: u64) -> Result<()> {
        let most = longest(clipper);
        let field = if self.forget.is_some() { "forget" } else { "horizon" };
        let remedy = format!("128-bit sums hold {most} rounds of this size");
        refuse_if(summed > most, field, summed, remedy)?;
        let refused = self.schedule == Schedule::Clock && most < MOST_BY_THE_CLOCK;
        let remedy = format!(
            "128-bit sums would hold {most} contributions of this size: ask for more noise"
        );
        refuse_if(refused, "schedule", "clock", remedy)
    }

    fn plan(&self, horizon: u64, clipper: Clipper, price: Price, engine: Engine) -> Plan {
        let promise = Promise {
            price,
            contributions_per_person: self.contributions_per_person,
            by_the_clock: self.schedule == Schedule::Clock,
        };
        Plan { schedule: self.schedule, clipper, horizon, promise, engine }
    }

    /// Delta_1: how far one person moves all nodes of a tree together, in l1.
    fn absolute_distance(&self, factor: &dyn Factorization) -> Result<f64> {
        let Domain::Vector { dimension, bound } = self.domain else {
            let remedy = "Laplace noise is for vectors; expected a budget with a delta";
            return Err(Error::invalid("calibration", "pure", remedy));
        };
        let tree = matches!(
            self.mechanism,
            Mechanism::Tree { .. } | Mechanism::PaddedTree { .. } | Mechanism::Honaker
        );
        if !tree {
            let remedy =
                "Laplace noise is for trees: the columns of a dense C have a large l1 norm";
            return Err(Error::invalid("mechanism", self.mechanism, remedy));
        }
        // A column of a tree's C holds a 1 for each level.
        let levels = square(factor.column_norm());
        let each = 2.0 * bound * (dimension as f64).sqrt() * levels;
        Ok(self.contributions_per_person as f64 * each)
    }

    fn check_unknown(&self) -> Result<Plan> {
        let remedy = "a release by the clock needs a horizon; expected the largest number of ticks, or a half-life by `forget`";
        refuse_if(self.schedule == Schedule::Clock, "horizon", "unknown", remedy)?;
        let coordinates = self.domain.coordinates() as f64;
        let draws = coordinates * UNKNOWN_DRAWS as f64;
        let Amount::Mu(mu) = self.calibration.resolve(draws)? else {
            let remedy =
                "epochs of an unknown horizon differ in their noise; expected a budget or mu";
            return Err(Error::invalid("calibration", self.calibration, remedy));
        };
        if let Mechanism::Tree { levels: Some(levels) }
        | Mechanism::PaddedTree { levels: Some(levels) } = self.mechanism
        {
            let remedy = "epochs of an unknown horizon have different depths: leave it out";
            return Err(Error::invalid("levels", levels, remedy));
        }
        let each = mu / self.contributions_per_person as f64;
        let epochs = Epochs::new(self.mechanism, &self.domain, each)?;
        let clipper = epochs.clipper(self.domain.clone())?;
        let doubling = Doubling::new(epochs, clipper.clone())?;
        let price = Price::Gaussian {
            mu: doubling.mu() * self.contributions_per_person as f64,
            sigma: doubling.smallest_sigma()?,
            coordinates: draws,
        };
        let horizon = longest(&clipper).min(UNKNOWN_ROUNDS);
        Ok(self.plan(horizon, clipper, price, Engine::Unknown(Box::new(doubling))))
    }
}

/// Contributions that a stream by the clock has room for at least, since they are not counted: a month of the fastest service. With the noise of
/// epsilon = 1 there is room for 2^43.
const MOST_BY_THE_CLOCK: u64 = 1 << 36;

/// Rounds whose sums fit 128 bits, fraction included.
pub(super) fn longest(clipper: &Clipper) -> u64 {
    // The conversion saturates.
    libm::exp2(HEADROOM_BITS - clipper.entry_bits()) as u64
}

/// Parameters that have been checked, with the calibrated mechanism.
#[derive(Debug, Clone, PartialEq)]
pub struct PrivateSumPlan(Plan);

impl PrivateSumPlan {
    /// Sums of contributions that are randomised one by one before they come: each adds noise of deviation `each` to a coordinate and tells `event`
    /// about its person. The calibration of `params` is not looked at.
    pub(crate) fn of_reports(
        params: &PrivateSumParams,
        each: Vec<f64>,
        event: Event,
    ) -> Result<Self> {
        params.domain.check()?;
        params.schedule.check()?;
        let refused = params.schedule == Schedule::Clock;
        let remedy =
            "reports are made one by one, and a tick has any number of contributions: take blt";
        refuse_if(refused, "mechanism", Mechanism::Reports, remedy)?;
        let remedy = "reports are summed at full weight: take blt, or leave `forget` out";
        refuse_if(params.forget.is_some(), "mechanism", Mechanism::Reports, remedy)?;
        let clipper = Clipper::of_bounds(params.domain.clone())?;
        let horizon = params.horizon.unwrap_or_else(|| longest(&clipper).min(UNKNOWN_ROUNDS));
        params.check_size(&clipper, horizon)?;
        let sums = RandomizedSums::new(params.schedule, params.steps(horizon)?, each);
        let times = params.contributions_per_person as f64;
        let price = match event {
            Event::PrivUnit { cap, inside } => Price::PrivUnit { cap, inside },
            // Reports of one person compose by the squares of mu.
            Event::GridGaussian { mu, sigma, coordinates } => Price::Gaussian {
                mu: mu * times.sqrt() * MARGIN,
                sigma,
                coordinates: coordinates * times,
            },
            _ => {
                let remedy = "there is no price for such reports: take blt";
                return Err(Error::invalid("mechanism", Mechanism::Reports, remedy));
            }
        };
        Ok(PrivateSumPlan(params.plan(horizon, clipper, price, Engine::Randomized(sums))))
    }

    /// Starts the stream on a source of noise.
    pub fn start<N: Noise>(self, noise: N) -> PrivateSum<N> {
        PrivateSum::start(self.0, noise)
    }

    /// The event of the whole stream for one person.
    pub fn event(&self) -> Event {
        self.0.promise.after(0)
    }

    /// The guarantee of the whole stream, at this delta.
    pub fn guarantee(&self, delta: f64) -> Result<Guarantee> {
        self.0.promise.guarantee(0, delta, self.0.people())
    }

    /// The clipper that turns numbers into contributions to this stream.
    pub fn clipper(&self) -> &Clipper {
        &self.0.clipper
    }

    pub(super) fn into_inner(self) -> Plan {
        self.0
    }

    /// Standard deviation of the noise in every coordinate of release number `index`.
    pub fn deviations(&self, index: u64) -> Result<Vec<f64>> {
        self.0.engine.checked_deviations(index)
    }

    /// The same of the last release.
    pub(crate) fn last_deviations(&self) -> Result<Vec<f64>> {
        self.deviations(self.0.engine.capacity())
    }
}

/// The part of a plan that a stream keeps and saves.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Plan {
    pub(super) schedule: Schedule,
    pub(super) clipper: Clipper,
    /// Rounds the stream may last.
    pub(super) horizon: u64,
    pub(super) promise: Promise,
    pub(super) engine: Engine,
}

impl Plan {
    /// The number of people for the warning about delta: one a round with a known horizon; 1, which gives no warning, if their number is
    /// unknown.
    pub(super) fn people(&self) -> u64 {
        match self.engine {
            // A tick may have any number of people.
            _ if self.promise.by_the_clock => 1,
            Engine::Known { running: Running::Blt(ref sums), .. } if sums.factor().forgets() => 1,
            Engine::Unknown(_) => 1,
            Engine::Randomized(_) if self.horizon == UNKNOWN_ROUNDS => 1,
            Engine::Known { .. } | Engine::Wishart(_) | Engine::Randomized(_) => self.horizon,
        }
    }
}
