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
//! It is [`AdditivePair`] in the units of the data: the pair is divided by L and centred, and put back after the noise, which is
//! post-processing.

use serde::{Deserialize, Serialize};

use super::{AdditivePair, Bounds, Interaction};
use crate::{
    Error, Result,
    error::{finite_vector, positive, requested_epsilon},
    noise::Noise,
    privacy::{Claim, Event, Guarantee, TrustModel, check_delta},
    release::Calibration,
};

/// Half the range of rewards over L: further apart, one of the two parts drowns in the noise of the other.
const SCALES: std::ops::RangeInclusive<f64> = 1e-6..=1e6;

/// Public parameters of [`FeatureReward`].
///
/// ```
/// use reticent::{noise::SecureNoise, randomize::FeatureRewardParams};
/// let randomizer = FeatureRewardParams::new(2, 1.0, 1e-6).check()?;
/// let report = randomizer.randomize(&[0.6, 0.8], 1.0, &mut SecureNoise::from_system()?)?;
/// assert_eq!(report.features.len(), 2);
/// println!("{}", randomizer.guarantee()?);
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FeatureRewardParams {
    /// Features of an arm, d.
    pub dimension: usize,
    /// L: longer features are shortened to this.
    pub feature_bound: f64,
    /// Rewards below are raised to this.
    pub lowest_reward: f64,
    /// Rewards above are lowered to this.
    pub highest_reward: f64,
    /// Requested epsilon.
    pub epsilon: f64,
    /// Requested delta.
    pub delta: f64,
    /// Noise of this size, in the units of the data, in place of what the budget needs; the guarantee is that of the noise.
    #[serde(default)]
    pub calibration: Option<Calibration>,
    /// What the guarantee is to be compared with: `paper` mode.
    #[serde(default)]
    pub claim: Option<Claim>,
}

impl FeatureRewardParams {
    /// Unit features, rewards in [-1, 1], exact calibration.
    pub fn new(dimension: usize, epsilon: f64, delta: f64) -> Self {
        FeatureRewardParams {
            dimension,
            feature_bound: 1.0,
            lowest_reward: -1.0,
            highest_reward: 1.0,
            epsilon,
            delta,
            calibration: None,
            claim: None,
        }
    }

    /// Rewards in [0, 1].
    pub fn with_unit_rewards(self) -> Self {
        FeatureRewardParams { lowest_reward: 0.0, highest_reward: 1.0, ..self }
    }

    /// The randomiser, or the parameter that stands in the way.
    pub fn check(&self) -> Result<FeatureReward> {
        const MOST: usize = 1 << 10;
        if !(1..=MOST).contains(&self.dimension) {
            return Err(Error::invalid("dimension", self.dimension, format!("give 1 to {MOST}")));
        }
        positive("feature_bound", self.feature_bound)?;
        finite_vector("lowest_reward", &[self.lowest_reward], 1)?;
        finite_vector("highest_reward", &[self.highest_reward], 1)?;
        if self.lowest_reward >= self.highest_reward {
            let remedy = format!("give more than lowest_reward = {}", self.lowest_reward);
            return Err(Error::invalid("highest_reward", self.highest_reward, remedy));
        }
        self.bounds().check()?;
        let scale = self.half_range() / self.feature_bound;
        if !SCALES.contains(&scale) {
            let remedy = format!(
                "half the range of rewards is {scale:e} times feature_bound: choose other units, so that it lies between {:e} and {:e}",
                SCALES.start(),
                SCALES.end()
            );
            return Err(Error::invalid("highest_reward", self.highest_reward, remedy));
        }
        let (epsilon, delta) = (requested_epsilon(self.epsilon)?, self.delta);
        check_delta(delta, self.calibration.is_some(), self.claim.as_ref())?;
        let calibration = match self.calibration {
            None => Calibration::Budget { epsilon, delta },
            // The pair is divided by L.
            Some(Calibration::Sigma(sigma)) => Calibration::Sigma(sigma / self.feature_bound),
            Some(other) => other,
        };
        let pair = AdditivePair::new(self.dimension, scale, calibration)?;
        Ok(FeatureReward { params: self.clone(), pair })
    }

    fn feature_diameter(&self) -> f64 {
        2.0 * self.feature_bound
    }

    fn reward_range(&self) -> f64 {
        self.highest_reward - self.lowest_reward
    }

    /// How far two people's pairs can be apart: the two parts leave together and count together.
    pub fn sensitivity(&self) -> f64 {
        self.feature_diameter().hypot(self.reward_range())
    }

    fn half_range(&self) -> f64 {
        0.5 * self.reward_range()
    }

    fn centre(&self) -> f64 {
        self.lowest_reward + self.half_range()
    }

    /// What the pair is clipped to; rewards are centred before.
    fn bounds(&self) -> Bounds {
        let half = self.half_range();
        Bounds {
            feature_bound: self.feature_bound,
            rewards: (-half, half),
            ..Bounds::unit(self.dimension)
        }
    }
}

/// What one person sends.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FeatureRewardReport {
    /// `x~`: the features plus noise.
    pub features: Vec<f64>,
    /// `y~`: the reward plus noise.
    pub reward: f64,
}

/// The person's half: a calibrated randomiser of features and reward.
#[derive(Debug, Clone, PartialEq)]
pub struct FeatureReward {
    params: FeatureRewardParams,
    pair: AdditivePair,
}

impl FeatureReward {
    /// The public parameters.
    pub fn params(&self) -> &FeatureRewardParams {
        &self.params
    }

    /// sigma: the standard deviation of the noise in every coordinate.
    pub fn deviation(&self) -> f64 {
        self.pair.sigma() * self.params.feature_bound
    }

    /// What one report tells the accountant.
    pub fn event(&self) -> Event {
        self.pair.event()
    }

    /// The largest absolute number an honest report contains.
    pub(crate) fn largest_entry(&self) -> f64 {
        self.pair.largest_entry() * self.params.feature_bound + self.params.centre().abs()
    }

    /// What may be promised to the person who sends one report, beside the claim.
    pub fn guarantee(&self) -> Result<Guarantee> {
        let guarantee = Guarantee::of(&self.event(), TrustModel::Local, self.params.delta)?;
        guarantee.beside(self.params.claim.as_ref())
    }

    /// A private report. Features and reward outside their bounds are clipped to them.
    pub fn randomize<N: Noise>(
        &self,
        features: &[f64],
        reward: f64,
        noise: &mut N,
    ) -> Result<FeatureRewardReport> {
        self.randomize_clipped(&self.clip(features, reward)?, noise)
    }

    /// Features and reward, clipped; the reward centred.
    pub(crate) fn clip(&self, features: &[f64], reward: f64) -> Result<Interaction> {
        finite_vector("reward", &[reward], 1)?;
        let FeatureRewardParams { lowest_reward, highest_reward, .. } = self.params;
        let within = reward.clamp(lowest_reward, highest_reward);
        let interaction = self.params.bounds().clip(features, within - self.params.centre())?;
        Ok(if within == reward { interaction } else { interaction.changed() })
    }

    /// A private report of what was clipped.
    pub(crate) fn randomize_clipped<N: Noise>(
        &self,
        interaction: &Interaction,
        noise: &mut N,
    ) -> Result<FeatureRewardReport> {
        let mut features = self.pair.randomize(interaction, noise)?;
        // From here on, post-processing.
        features.iter_mut().for_each(|entry| *entry *= self.params.feature_bound);
        let reward = features.pop().unwrap_or_default() + self.params.centre();
        Ok(FeatureRewardReport { features, reward })
    }
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
        FeatureRewardParams {
            feature_bound: 2.0,
            calibration: Some(Calibration::Sigma(sigma)),
            claim: Some(Claim::new(1.0, 0.1, "somebody")),
            ..FeatureRewardParams::new(3, 1.0, delta)
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
            let randomizer = FeatureRewardParams::new(5, epsilon, delta).check().unwrap();
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

    /// Whether noise of this shape could have come from d + 1 independent normals of the stated deviation.
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
        let randomizer = FeatureRewardParams::new(3, 1.0, 1e-5).check().unwrap();
        let mut source = SecureNoise::seeded(51);
        let (x, y) = ([0.6, -0.8, 0.0], 0.25);
        let noises: Vec<Vec<f64>> = (0..40_000)
            .map(|_| {
                let report = randomizer.randomize(&x, y, &mut source).unwrap();
                let mut noise: Vec<f64> =
                    report.features.iter().zip(&x).map(|(r, x)| r - x).collect();
                noise.push(report.reward - y);
                noise
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
        let params = FeatureRewardParams {
            feature_bound: 0.7,
            lowest_reward: -0.3,
            highest_reward: 1.1,
            ..FeatureRewardParams::new(3, 2.0, 1e-6)
        };
        let randomizer = params.check().unwrap();
        // The same noise on two people: their reports differ by what they put in.
        let report = |x: &[f64], y: f64| {
            let report = randomizer.randomize(x, y, &mut SecureNoise::seeded(3)).unwrap();
            let mut all = report.features;
            all.push(report.reward);
            all
        };
        // One of them overflows when it is divided by L.
        let far = [[1.7e308, 5.0, -3.0], [-1e300, 0.0, 1e299], [0.5, 0.5, 0.5], [-0.4, 0.4, 0.4]];
        let mut largest: f64 = 0.0;
        for (a, y) in far.iter().zip([1e9, 0.3, 1.1, 0.0]) {
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
        let good = FeatureRewardParams::new(3, 1.0, 1e-6);
        for (params, field) in [
            (FeatureRewardParams { dimension: 0, ..good.clone() }, "dimension is 0"),
            (FeatureRewardParams { feature_bound: -1.0, ..good.clone() }, "feature_bound is -1"),
            (FeatureRewardParams { highest_reward: -1.0, ..good.clone() }, "highest_reward is -1"),
            (
                FeatureRewardParams { lowest_reward: f64::NAN, ..good.clone() },
                "lowest_reward is NaN",
            ),
            (FeatureRewardParams { epsilon: 0.0, ..good.clone() }, "epsilon is 0"),
            (FeatureRewardParams { epsilon: -1.0, ..given(1.0, 0.1) }, "epsilon is -1"),
            (given(-1.0, 0.1), "sigma is -1"),
            (given(1.0, 0.0), "delta is 0"),
            (FeatureRewardParams { claim: None, ..given(1.0, 0.5) }, "delta is 0.5"),
            (FeatureRewardParams { calibration: None, ..given(1.0, 0.5) }, "delta is 0.5"),
            (FeatureRewardParams { delta: 1.0, ..good.clone() }, "delta is 1"),
        ] {
            let message = params.check().unwrap_err().to_string();
            assert!(message.starts_with(field), "{message}");
        }
        let randomizer = good.check().unwrap();
        let mut noise = SecureNoise::seeded(1);
        for (x, y) in [(&[0.1; 2][..], 0.0), (&[f64::NAN; 3], 0.0), (&[0.1; 3], f64::INFINITY)] {
            assert!(randomizer.randomize(x, y, &mut noise).is_err());
        }
        // A delta that gives people away is warned of.
        let careless = FeatureRewardParams::new(3, 1.0, 0.1).check().unwrap();
        assert!(!careless.guarantee().unwrap().warnings().is_empty());
    }
}
