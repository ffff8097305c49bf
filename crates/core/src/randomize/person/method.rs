//! Randomisers that people use: one name for each that reports features and rewards, and all of them behind one interface.

use serde::{Deserialize, Serialize};

#[cfg(feature = "schema")]
use crate::schema::{Count, Positive, add_names};
use crate::{
    Error, Result,
    linalg::triangle,
    named::named,
    noise::Noise,
    privacy::{Event, gaussian},
    randomize::{
        AdditivePair, Bounds, Correlation, GramGaussian, Interaction, Precision, PrivUnit,
        RewardGaussian, RewardResponse, UnitGram, UnitMoment, UnitPair,
        cap_randomizer::CapRandomizer,
    },
    release::{Calibration, SingleRelease},
};

/// A local randomiser by name: in files and in Python `"unit_gram"`, or with parameters `{ gram_gaussian = { split = 0.4 } }`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(remote = "Self", rename_all = "snake_case", deny_unknown_fields)]
#[cfg_attr(feature = "schema", schemars(rename = "Randomizer", transform = add_names::<Self>))]
pub enum Method {
    /// `x x^T` with GOE noise and `x z` with Gaussian noise.
    GramGaussian {
        /// Share r of the vector part, see [`GramGaussian`].
        #[serde(default = "default_split")]
        #[cfg_attr(feature = "schema", schemars(with = "Positive"))]
        split: f64,
    },
    /// The message of Zheng et al. (2020).
    TriangleGaussian,
    /// `(x + N, y + N)`, the message of OnlineUCB, with closed-form debiasing.
    AdditivePair,
    /// PrivUnit on `(a svec(x x^T), b x z)`.
    UnitGram,
    /// PrivUnit on `(a x, b z)`, debiased by its second moment.
    UnitPair,
    /// The same on the axis through `(a x, b z)`: either side is as likely.
    UnitAxis,
    /// Reward only, Gaussian; arms are public.
    RewardGaussian,
    /// Reward only, one bit; arms are public.
    RewardResponse,
    /// PrivUnit on `x z` while arms are drawn uniformly, whose Gram matrix is known; then the best arm by what was learnt.
    KnownGram {
        /// Upper triangle by rows of `E x x^T` for an arm drawn uniformly from a decision set, in the units of the data. It may be left out
        /// in experiments whose environment knows it.
        #[serde(default)]
        gram: Vec<f64>,
        /// Number of reports to explore for.
        #[serde(with = "crate::wire::count")]
        #[cfg_attr(feature = "schema", schemars(with = "Count"))]
        reports: u64,
    },
}

fn default_split() -> f64 {
    GramGaussian::DEFAULT_SPLIT
}

named!(Method, "{ gram_gaussian = { split = 0.4 } }", {
    "gram_gaussian": Method::GramGaussian { .. } => Method::GramGaussian { split: default_split() },
    "triangle_gaussian": Method::TriangleGaussian => Method::TriangleGaussian,
    "additive_pair": Method::AdditivePair => Method::AdditivePair,
    "unit_gram": Method::UnitGram => Method::UnitGram,
    "unit_pair": Method::UnitPair => Method::UnitPair,
    "unit_axis": Method::UnitAxis => Method::UnitAxis,
    "reward_gaussian": Method::RewardGaussian => Method::RewardGaussian,
    "reward_response": Method::RewardResponse => Method::RewardResponse,
    "known_gram": Method::KnownGram { .. },
});

impl Method {
    /// Returns whether the arm played is sent as it is.
    pub fn shows_arms(&self) -> bool {
        matches!(self, Method::RewardGaussian | Method::RewardResponse)
    }

    /// Returns whether parameters may be divided into blocks ([`Structure`](crate::release::Structure)): reports then cover the entries of all
    /// blocks and hide the arm's.
    pub fn has_blocks(&self) -> bool {
        matches!(self, Method::GramGaussian { .. } | Method::UnitGram)
    }

    /// Returns whether devices have it: all that may be the best one where arms are not public.
    pub fn for_devices(&self) -> bool {
        matches!(
            self,
            Method::GramGaussian { .. } | Method::UnitGram | Method::UnitPair | Method::UnitAxis
        )
    }

    /// Returns whether the guarantee needs no delta.
    pub fn is_pure(&self) -> bool {
        matches!(
            self,
            Method::UnitGram
                | Method::UnitPair
                | Method::UnitAxis
                | Method::RewardResponse
                | Method::KnownGram { .. }
        )
    }
}

/// Amount of noise: from a budget for all of one person's reports, or a publication's sigma.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Amount {
    /// (epsilon, delta) for `times` reports together.
    Budget { epsilon: f64, delta: f64, times: u64 },
    /// A fixed amount, whatever it costs.
    Given(Calibration),
}

/// A method calibrated for one level of epsilon.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum CalibratedMethod {
    GramGaussian(GramGaussian),
    AdditivePair(AdditivePair),
    UnitGram(UnitGram),
    UnitPair(UnitPair),
    RewardGaussian(RewardGaussian),
    RewardResponse(RewardResponse),
    UnitMoment(UnitMoment),
}

/// The same call on whichever randomiser it is.
macro_rules! each {
    ($method:expr, $randomizer:ident => $call:expr) => {
        match $method {
            CalibratedMethod::GramGaussian($randomizer) => $call,
            CalibratedMethod::AdditivePair($randomizer) => $call,
            CalibratedMethod::UnitGram($randomizer) => $call,
            CalibratedMethod::UnitPair($randomizer) => $call,
            CalibratedMethod::RewardGaussian($randomizer) => $call,
            CalibratedMethod::RewardResponse($randomizer) => $call,
            CalibratedMethod::UnitMoment($randomizer) => $call,
        }
    };
}

impl CalibratedMethod {
    pub(crate) fn new(method: &Method, bounds: &Bounds, amount: Amount) -> Result<Self> {
        bounds.check()?;
        let (d, structure) = (bounds.dimension, bounds.structure);
        if !method.has_blocks() && !structure.is_dense() {
            let remedy =
                "it is not made for blocks of parameters; expected gram_gaussian or unit_gram";
            return Err(Error::invalid("method", method, remedy));
        }
        // A browser downloads no others.
        if cfg!(little) && !method.for_devices() {
            return Err(Error::invalid("method", method, "devices do not have this randomiser"));
        }
        Ok(match method {
            Method::GramGaussian { split } => {
                let calibration = amount.calibration()?;
                let randomizer = GramGaussian::in_blocks(d, structure, *split, calibration)?;
                CalibratedMethod::GramGaussian(randomizer)
            }
            Method::TriangleGaussian => {
                CalibratedMethod::GramGaussian(GramGaussian::triangle(d, amount.calibration()?)?)
            }
            Method::AdditivePair => {
                // The message is (x/L, y/L), the reward centred where it can be.
                let scale = bounds.half_range() / bounds.feature_bound;
                CalibratedMethod::AdditivePair(AdditivePair::new(d, scale, amount.calibration()?)?)
            }
            Method::UnitGram => {
                CalibratedMethod::UnitGram(UnitGram::in_blocks(d, structure, amount.of_unit()?)?)
            }
            Method::UnitPair => {
                CalibratedMethod::UnitPair(UnitPair::new(bounds, amount.of_unit()?)?)
            }
            Method::UnitAxis => {
                CalibratedMethod::UnitPair(UnitPair::of_axis(bounds, amount.of_unit()?)?)
            }
            Method::RewardGaussian => {
                CalibratedMethod::RewardGaussian(RewardGaussian::new(amount.calibration()?)?)
            }
            Method::RewardResponse => {
                CalibratedMethod::RewardResponse(RewardResponse::new(amount.pure()?)?)
            }
            Method::KnownGram { .. } => {
                CalibratedMethod::UnitMoment(UnitMoment::new(d, amount.of_unit()?)?)
            }
        })
    }

    pub(crate) fn randomize<N: Noise>(
        &self,
        interaction: &Interaction,
        noise: &mut N,
    ) -> Result<Vec<f64>> {
        #[cfg(not(little))]
        return each!(self, randomizer => randomizer.randomize(interaction, noise));
        // A browser downloads no others.
        #[cfg(little)]
        match self {
            CalibratedMethod::GramGaussian(randomizer) => randomizer.randomize(interaction, noise),
            CalibratedMethod::UnitGram(randomizer) => randomizer.randomize(interaction, noise),
            CalibratedMethod::UnitPair(randomizer) => randomizer.randomize(interaction, noise),
            _ => Err(Error::invalid("method", "missing", "devices do not have this randomiser")),
        }
    }

    /// Estimate in a report of the upper triangle of `x x^T` and of `x z`; `features` are the public ones, in the unit ball.
    pub(crate) fn estimate(
        &self,
        report: &[f64],
        features: Option<&[f64]>,
        correlation: Correlation,
    ) -> Result<Vec<f64>> {
        let with_reward = |z: f64| {
            let features = features.ok_or_else(|| {
                Error::invalid("features", "missing", "where arms are public, reports name them")
            })?;
            Ok(crate::randomize::exact_sums(features, z))
        };
        match self {
            CalibratedMethod::GramGaussian(randomizer) => randomizer.estimate(report),
            CalibratedMethod::AdditivePair(randomizer) => randomizer.estimate(report),
            CalibratedMethod::UnitGram(randomizer) => randomizer.estimate(report, correlation),
            CalibratedMethod::UnitPair(randomizer) => randomizer.estimate(report, correlation),
            CalibratedMethod::RewardGaussian(randomizer) => {
                with_reward(randomizer.estimate(report)?)
            }
            CalibratedMethod::RewardResponse(randomizer) => {
                with_reward(randomizer.estimate(report, correlation)?)
            }
            CalibratedMethod::UnitMoment(randomizer) => {
                // The matrix is known, and added by the server.
                let moment = randomizer.estimate(report, correlation)?;
                let mut sums = vec![0.0; triangle(moment.len())];
                sums.extend(moment);
                Ok(sums)
            }
        }
    }

    pub(crate) fn event(&self) -> Event {
        each!(self, randomizer => randomizer.event())
    }

    /// Gaussian mechanism, where that is the method.
    fn gaussian(&self) -> Option<&SingleRelease> {
        match self {
            CalibratedMethod::GramGaussian(randomizer) => Some(&randomizer.mechanism),
            CalibratedMethod::AdditivePair(randomizer) => Some(&randomizer.mechanism),
            CalibratedMethod::RewardGaussian(randomizer) => Some(&randomizer.mechanism),
            _ => None,
        }
    }

    /// Randomiser of a point of the sphere, where that is the method.
    fn unit(&self) -> Option<&CapRandomizer> {
        match self {
            CalibratedMethod::UnitGram(randomizer) => Some(&randomizer.unit.caps),
            CalibratedMethod::UnitPair(randomizer) => Some(&randomizer.unit),
            CalibratedMethod::UnitMoment(randomizer) => Some(&randomizer.unit.caps),
            _ => None,
        }
    }

    /// The mechanism of reports that may be summed.
    pub(crate) fn summed(&self) -> Result<&SingleRelease> {
        match self {
            CalibratedMethod::GramGaussian(randomizer) => Ok(&randomizer.mechanism),
            _ => Err(Error::invalid(
                "method",
                "a method without additive noise",
                "only Gaussian reports of x x^T and x z may be summed: take gram_gaussian",
            )),
        }
    }

    /// Number of values a report has.
    pub(crate) fn report_length(&self) -> usize {
        let gaussian = self.gaussian().map(|mechanism| mechanism.deviations().len());
        gaussian.or(self.unit().map(CapRandomizer::dimension)).unwrap_or(1)
    }

    /// A report takes any one value with a chance of at most 2^-bits, whatever the data.
    pub(crate) fn entropy_bits(&self) -> f64 {
        let gaussian = self.gaussian().map(SingleRelease::entropy_bits);
        gaussian.or(self.unit().map(CapRandomizer::entropy_bits)).unwrap_or(0.0)
    }

    pub(crate) fn correlation(&self) -> Correlation {
        match self {
            CalibratedMethod::RewardResponse(randomizer) => randomizer.correlation(),
            _ => self.unit().map_or(Correlation::WHOLE, CapRandomizer::correlation),
        }
    }

    pub(crate) fn precision(&self) -> Precision {
        each!(self, randomizer => randomizer.precision())
    }

    /// The largest absolute number an honest report contains: draws end at 32 deviations, points of the sphere at 1.
    pub(crate) fn largest_entry(&self) -> f64 {
        match self {
            CalibratedMethod::GramGaussian(_) | CalibratedMethod::RewardGaussian(_) => {
                let Precision { matrix, vector } = self.precision();
                1.0 + 33.0 * (matrix * std::f64::consts::SQRT_2).max(vector)
            }
            CalibratedMethod::AdditivePair(randomizer) => randomizer.largest_entry(),
            _ => 1.0 + 1e-6,
        }
    }
}

impl Amount {
    /// For Gaussian noise: `times` reports compose to `sqrt(times) mu`.
    fn calibration(self) -> Result<Calibration> {
        Ok(match self {
            Amount::Budget { epsilon, delta, times: 1 } => Calibration::Budget { epsilon, delta },
            Amount::Budget { epsilon, delta, times } => {
                // A hair below, for the grid's own cost is counted per report.
                let mu = gaussian::mu(epsilon, delta)? * (1.0 - 1e-9);
                Calibration::Mu(mu / (times as f64).sqrt())
            }
            Amount::Given(calibration) => calibration,
        })
    }

    /// For pure mechanisms: epsilons add up.
    fn pure(self) -> Result<f64> {
        match self {
            Amount::Budget { epsilon, times, .. } => Ok(epsilon / times as f64),
            Amount::Given(calibration) => {
                let remedy = "only Gaussian methods take a given amount of noise";
                Err(Error::invalid("calibration", calibration, remedy))
            }
        }
    }

    /// The same for PrivUnit, which has a largest epsilon.
    fn of_unit(self) -> Result<f64> {
        Ok(self.pure()?.min(PrivUnit::LARGEST_EPSILON))
    }
}
