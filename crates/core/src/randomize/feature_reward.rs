//! Features and reward with Gaussian noise: the message of OnlineUCB.
//!
//! ```text
//! (x, y)  ->  (x + N(0, sigma^2 I_d), y + N(0, sigma^2)),    ||x|| <= L,  low <= y <= high
//! ```
//!
//! Paper 0, Algorithm 1, lines 11 and 12. The noise on y is drawn by itself: with a draw shared between them, the
//! difference of two coordinates of the message would be free of noise.
//!
//! **Guarantee.** The message is one Gaussian release of the pair, whose two values differ by at most
//! `sqrt((2L)^2 + (high - low)^2)` together: sqrt 8 for rewards in [-1, 1], sqrt 5 for rewards in [0, 1]. Sigma is calibrated to
//! that, unless it is given; the guarantee is that of the noise in either case.
//!
//! It is [`AdditivePair`] in the units of the data. Rewards are always measured from the middle of their range, since a public constant
//! can be taken off before the noise and added after it, which is post-processing.

use serde::{Deserialize, Serialize};

use super::{AdditivePair, Bounds, CONDITIONS};
use crate::{
    Error, Result,
    error::requested_epsilon,
    noise::Noise,
    privacy::{Claim, Event, Guarantee, TrustModel, check_delta},
    refuse_if,
    release::Calibration,
    wire,
};

/// Half the range of rewards over L: further apart, one of the two parts drowns in the noise of the other.
const SCALES: std::ops::RangeInclusive<f64> = 1e-6..=1e6;

/// Public parameters of [`FeatureReward`].
///
/// ```
/// use reticent::{noise::SecureNoise, randomize::{Bounds, FeatureRewardParams}};
/// let randomizer = FeatureRewardParams::new(Bounds::unit(2), 1.0, 1e-6).check()?;
/// let report = randomizer.report(&[0.6, 0.8], 1.0, &mut SecureNoise::from_system()?)?;
/// assert_eq!(report.len(), 3); // two features, then the reward
/// println!("{}", randomizer.guarantee()?);
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FeatureRewardParams {
    /// Bounds that features and rewards are clipped to.
    pub bounds: Bounds,
    /// Requested epsilon.
    pub epsilon: f64,
    /// Requested delta.
    pub delta: f64,
    /// Noise of this size, in the units of the data, in place of what the budget needs; the guarantee is that of the noise.
    pub calibration: Option<Calibration>,
    /// Claim that the guarantee is compared with: `paper` mode.
    pub claim: Option<Claim>,
}

impl FeatureRewardParams {
    /// Exact calibration.
    pub fn new(bounds: Bounds, epsilon: f64, delta: f64) -> Self {
        FeatureRewardParams { bounds, epsilon, delta, calibration: None, claim: None }
    }

    /// The randomiser, or the parameter that stands in the way.
    pub fn check(&self) -> Result<FeatureReward> {
        const MOST: usize = 1 << 10;
        let bounds = self.bounds;
        bounds.check()?;
        bounds.structure.expect_dense("a report of (x, y)")?;
        let remedy = format_args!("expected 1 to {MOST}");
        refuse_if(bounds.dimension > MOST, "dimension", bounds.dimension, remedy)?;
        let (low, high) = bounds.rewards;
        let half = 0.5 * (high - low);
        let scale = half / bounds.feature_bound;
        if !SCALES.contains(&scale) {
            let remedy = format!(
                "half the range of rewards is {scale:e} times feature_bound: choose other units, so that it lies between {:e} and {:e}",
                SCALES.start(),
                SCALES.end()
            );
            return Err(Error::invalid("rewards", format!("({low}, {high})"), remedy));
        }
        let (epsilon, delta) = (requested_epsilon(self.epsilon)?, self.delta);
        check_delta(delta, self.calibration.is_some(), self.claim.as_ref())?;
        let calibration = match self.calibration {
            None => Calibration::Budget { epsilon, delta },
            // The pair is divided by L.
            Some(Calibration::Sigma(sigma)) => Calibration::Sigma(sigma / bounds.feature_bound),
            Some(other) => other,
        };
        let pair = AdditivePair::new(bounds.dimension, scale, calibration)?;
        let centred = Bounds { rewards: (-half, half), ..bounds };
        Ok(FeatureReward { params: self.clone(), centred, centre: low + half, pair })
    }

    /// Largest distance between two people's pairs: the two parts leave together and count together.
    pub fn sensitivity(&self) -> f64 {
        let (low, high) = self.bounds.rewards;
        libm::hypot(2.0 * self.bounds.feature_bound, high - low)
    }
}

/// The device: a calibrated randomiser of features and reward.
#[derive(Debug, Clone, PartialEq)]
pub struct FeatureReward {
    params: FeatureRewardParams,
    /// The bounds with rewards measured from `centre`, the middle of their range.
    centred: Bounds,
    centre: f64,
    pair: AdditivePair,
}

impl FeatureReward {
    /// The public parameters.
    pub fn params(&self) -> &FeatureRewardParams {
        &self.params
    }

    /// sigma: the standard deviation of the noise in every coordinate.
    pub fn deviation(&self) -> f64 {
        self.pair.sigma() * self.centred.feature_bound
    }

    /// The privacy event of one report.
    pub fn event(&self) -> Event {
        self.pair.event()
    }

    /// The largest absolute number an honest report contains.
    pub(crate) fn largest_entry(&self) -> f64 {
        self.pair.largest_entry() * self.centred.feature_bound + self.centre.abs()
    }

    /// Guarantee for the person who sends one report, beside the claim.
    pub fn guarantee(&self) -> Result<Guarantee> {
        let guarantee = Guarantee::of(&self.event(), TrustModel::Local, self.params.delta)?;
        let guarantee =
            CONDITIONS.iter().fold(guarantee, |g, c| g.with_condition(*c)).with_condition(
                "a person reports once: a device that is started anew learns from its own record that it has reported",
            );
        guarantee.beside(self.params.claim.as_ref())
    }

    /// A private report: `x~`, then `y~`. Features and reward outside their bounds are clipped to them.
    pub fn report<N: Noise>(
        &self,
        features: &[f64],
        reward: f64,
        noise: &mut N,
    ) -> Result<Vec<f64>> {
        let interaction = self.centred.clip(features, reward - self.centre)?;
        let mut report = self.pair.randomize(&interaction, noise)?;
        // From here on, post-processing.
        report.iter_mut().for_each(|entry| *entry *= self.centred.feature_bound);
        report[self.centred.dimension] += self.centre;
        Ok(report)
    }
}

/// A report of [`FeatureReward`] on its way to the server, which absorbs its values.
///
/// ```
/// use reticent::{bandit::OnlineUcbParams, noise::SecureNoise, wire::{from_json, to_json}};
/// use reticent::randomize::{Bounds, FeatureRewardParams, FeatureRewardReport};
/// let params = FeatureRewardParams::new(Bounds::unit(2), 2.0, 1e-5);
/// let values = params.check()?.report(&[0.6, 0.8], 0.5, &mut SecureNoise::from_system()?)?;
/// let text = to_json(&FeatureRewardReport { values }); // on the device
/// let report: FeatureRewardReport = from_json(&text)?; // on the server
/// OnlineUcbParams::new(params, 1000).check()?.absorb(&report.values)?;
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FeatureRewardReport {
    /// `x~`, then `y~`.
    pub values: Vec<f64>,
}

impl wire::Checked for FeatureRewardReport {}
impl wire::Message for FeatureRewardReport {
    const KIND: wire::Kind = wire::kinds::FEATURE_REWARD_REPORT;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        noise::{SecureNoise, check},
        privacy::gaussian,
    };

    /// A given sigma, with a claim that may be false, at a delta of one's own.
    fn given(sigma: f64, delta: f64) -> FeatureRewardParams {
        let bounds = Bounds { feature_bound: 2.0, ..Bounds::unit(3) };
        FeatureRewardParams {
            calibration: Some(Calibration::Sigma(sigma)),
            claim: Some(Claim::new(1.0, 0.1, "a publication")),
            ..FeatureRewardParams::new(bounds, 1.0, delta)
        }
    }

    #[test]
    fn a_given_sigma_has_its_own_guarantee_beside_the_claim() {
        for (sigma, holds) in [(3.0, false), (30.0, true)] {
            let randomizer = given(sigma, 0.5).check().unwrap();
            assert!((randomizer.deviation() / sigma - 1.0).abs() < 1e-9);
            let guarantee = randomizer.guarantee().unwrap();
            // |x - x'| up to 4 and |y - y'| up to 2.
            let exact = gaussian::delta(1.0, 20_f64.sqrt() / sigma).unwrap();
            let claim = guarantee.claimed().unwrap();
            assert!((claim.true_delta / exact - 1.0).abs() < 1e-6, "{claim}");
            assert_eq!((claim.holds(), guarantee.delta()), (holds, 0.5));
        }
    }

    #[test]
    fn exact_mode_gives_what_is_asked_and_ignoring_the_joint_sensitivity_does_not() {
        for (epsilon, delta) in [(0.2, 0.1), (1.0, 1e-5), (10.0, 1e-6)] {
            let randomizer =
                FeatureRewardParams::new(Bounds::unit(5), epsilon, delta).check().unwrap();
            let guarantee = randomizer.guarantee().unwrap();
            assert!(guarantee.epsilon() <= epsilon * (1.0 + 1e-9));
            assert!(guarantee.epsilon() > epsilon * (1.0 - 1e-6));
            // The planted mistake: noise for one of the two parts.
            let small = gaussian::sigma(epsilon, delta, 2.0, 1).unwrap();
            assert!(randomizer.deviation() > 1.41 * small);
            let mistaken = Event::Gaussian { sensitivity: 8_f64.sqrt(), sigma: small };
            let curve = crate::privacy::Accountant::price(&mistaken).unwrap();
            assert!(curve.delta(epsilon).unwrap() > 1.5 * delta);
        }
    }

    /// Returns whether noise of this shape could have come from d + 1 independent normals of the stated deviation.
    fn alarm(noises: &[Vec<f64>], deviation: f64) -> bool {
        let count = noises[0].len();
        (0..count).any(|i| {
            (0..=i).any(|j| {
                let products = noises.iter().map(|z| z[i] * z[j] / (deviation * deviation));
                let (mean, spread) = if i == j { (1.0, 2_f64.sqrt()) } else { (0.0, 1.0) };
                check::mean_alarm(products, mean, spread)
            })
        })
    }

    #[test]
    fn every_coordinate_has_noise_of_its_own_and_a_shared_draw_is_noticed() {
        let randomizer = FeatureRewardParams::new(Bounds::unit(3), 1.0, 1e-5).check().unwrap();
        let mut source = SecureNoise::seeded(51);
        let (x, y) = ([0.6, -0.8, 0.0], 0.25);
        let noises: Vec<Vec<f64>> = (0..40_000)
            .map(|_| {
                let report = randomizer.report(&x, y, &mut source).unwrap();
                report.iter().zip(x.iter().chain([&y])).map(|(r, x)| r - x).collect()
            })
            .collect();
        let deviation = randomizer.deviation();
        assert!(!alarm(&noises, deviation));
        // Planted: the reward takes the noise of the first feature; then y - x_1 leaves in the clear.
        let shared: Vec<Vec<f64>> = noises.iter().map(|z| vec![z[0], z[1], z[2], z[0]]).collect();
        assert!(alarm(&shared, deviation));
        // Planted: three parts in a hundred too little.
        let small: Vec<Vec<f64>> =
            noises.iter().map(|z| z.iter().map(|z| 0.97 * z).collect()).collect();
        assert!(alarm(&small, deviation));
    }

    #[test]
    fn whatever_comes_is_clipped_into_the_stated_sensitivity() {
        let bounds = Bounds { feature_bound: 0.7, rewards: (-0.3, 1.1), ..Bounds::unit(3) };
        let params = FeatureRewardParams::new(bounds, 2.0, 1e-6);
        let randomizer = params.check().unwrap();
        // The same noise on two people: their reports differ by what they put in.
        let report =
            |x: &[f64], y: f64| randomizer.report(x, y, &mut SecureNoise::seeded(3)).unwrap();
        // One of them overflows when it is divided by L.
        let far = [[1.7e308, 5.0, -3.0], [-1e300, 0.0, 1e299], [0.5, 0.5, 0.5], [-0.4, 0.4, 0.4]];
        let mut largest: f64 = 0.0;
        for (a, y) in far.iter().zip([f64::MAX, 0.3, 1.1, 0.0]) {
            for (b, z) in far.iter().zip([1e9, -1e9, -0.3, 2.0]) {
                let (one, two) = (report(a, y), report(b, z));
                let square: f64 = one.iter().zip(&two).map(|(a, b)| (a - b).powi(2)).sum();
                largest = largest.max(square.sqrt());
            }
        }
        let stated = params.sensitivity();
        assert!(largest <= stated * (1.0 + 1e-9) && largest > 0.9 * stated, "{largest} {stated}");
        // What is inside stays where it was.
        let (one, two) = (report(&[0.1, -0.2, 0.3], 0.9), report(&[0.0; 3], 0.0));
        for (moved, expected) in one.iter().zip(&two).map(|(a, b)| a - b).zip([0.1, -0.2, 0.3, 0.9])
        {
            assert!((moved - expected).abs() < 1e-9);
        }
    }

    #[test]
    fn bad_input_is_named_and_changes_nothing() {
        let good = FeatureRewardParams::new(Bounds::unit(3), 1.0, 1e-6);
        let with = |bounds: Bounds| FeatureRewardParams { bounds, ..good.clone() };
        for (params, field) in [
            (with(Bounds::unit(0)), "dimension: got 0"),
            (with(Bounds::unit(1025)), "dimension: got 1025"),
            (with(Bounds { feature_bound: -1.0, ..good.bounds }), "feature_bound: got -1"),
            (with(Bounds { rewards: (-1.0, -1.0), ..good.bounds }), "rewards: got (-1, -1)"),
            (with(Bounds { rewards: (f64::NAN, 1.0), ..good.bounds }), "rewards: got NaN"),
            (with(Bounds { rewards: (0.0, 1e7), ..good.bounds }), "rewards: got (0, 10000000)"),
            (FeatureRewardParams { epsilon: 0.0, ..good.clone() }, "epsilon: got 0"),
            (FeatureRewardParams { epsilon: -1.0, ..given(1.0, 0.1) }, "epsilon: got -1"),
            (given(-1.0, 0.1), "sigma: got -0.5"),
            (given(1.0, 0.0), "delta: got 0"),
            (FeatureRewardParams { claim: None, ..given(1.0, 0.5) }, "delta: got 0.5"),
            (FeatureRewardParams { calibration: None, ..given(1.0, 0.5) }, "delta: got 0.5"),
            (FeatureRewardParams { delta: 1.0, ..good.clone() }, "delta: got 1"),
        ] {
            let message = params.check().unwrap_err().to_string();
            assert!(message.starts_with(field), "{message}");
        }
        let randomizer = good.check().unwrap();
        let mut noise = SecureNoise::seeded(1);
        for (x, y) in [(&[0.1; 2][..], 0.0), (&[f64::NAN; 3], 0.0), (&[0.1; 3], f64::INFINITY)] {
            assert!(randomizer.report(x, y, &mut noise).is_err());
        }
        let conditions = randomizer.guarantee().unwrap().conditions().join("; ");
        assert!(conditions.contains("reports once") && conditions.contains("silence shows"));
        // A delta that gives people away is warned of.
        let careless = FeatureRewardParams::new(Bounds::unit(3), 1.0, 0.1).check().unwrap();
        assert!(!careless.guarantee().unwrap().warnings().is_empty());
    }
}
