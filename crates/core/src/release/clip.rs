//! Clipping: from a person's numbers to integers on a grid that provably keep their bound.
//!
//! 1. x is scaled to norm at most L, if it is longer.
//! 2. Its coordinates are multiplied by a power of two and truncated toward zero, which cannot lengthen it.
//! 3. `sum x_i^2 <= floor(2^g L)^2` is checked in integers; if floating-point rounding exceeded it, x is shrunk until it holds.
//! 4. `x x^T` and `x y` are exact integer products.
//!
//! Hence the quantised contribution is the contribution of a person of the domain, and the domain's
//! sensitivity holds as it stands: quantisation costs nothing. In a regression that person is the row `[x; y]` on the grid,
//! and `x x^T` and `x y` are entries of its matrix, of rank one.
//!
//! The grid is dyadic and fine: the noise of every block is near 2^44 units. A product's grid is the product
//! of its factors' grids, so a factor is truncated at about 2^-22 of its bound: a relative error of 1e-7 in
//! the data, always toward zero.

use serde::{Deserialize, Serialize};

use super::{Contribution, Domain};
use crate::{Error, Result, error::finite_vector, refuse_if, special::square};

/// Log2 of the noise in grid units that grids are chosen for.
const NOISE_BITS: f64 = 44.0;
/// Contributions stay below 2^62 units, so that they and their products fit 64 bits.
const LARGEST_BITS: f64 = 62.0;
/// Entries of a report stay below 2^52 units, so that with their noise they are whole numbers that doubles hold exactly.
const REPORT_BITS: f64 = 52.0;
/// A factor has at least this many bits, so that quantisation keeps the data recognisable.
const LEAST_BITS: f64 = 10.0;
/// Powers of two far from the ends of a double.
const LARGEST_EXPONENT: i32 = 500;
/// Relative excess of a norm over its bound that is taken for rounding error and not reported as clipping.
const ROUNDING: f64 = 1e-12;
/// Features of a regression fit 32 bits with their sign, so that many can wait for their rewards in little memory.
const FEATURE_BITS: f64 = 30.999_999;

/// A domain with its grid: turns numbers into [`Contribution`]s.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "(Domain, i32, i32)", into = "(Domain, i32, i32)")]
pub struct Clipper {
    domain: Domain,
    /// Features are multiples of `2^-feature_exponent`.
    feature_exponent: i32,
    /// Rewards are multiples of `2^-reward_exponent`.
    reward_exponent: i32,
}

impl From<Clipper> for (Domain, i32, i32) {
    fn from(clipper: Clipper) -> Self {
        (clipper.domain, clipper.feature_exponent, clipper.reward_exponent)
    }
}

impl TryFrom<(Domain, i32, i32)> for Clipper {
    type Error = Error;

    /// Refuses domains that are unsound and grids on which contributions would overflow or vanish.
    fn try_from((domain, feature_exponent, reward_exponent): (Domain, i32, i32)) -> Result<Self> {
        domain.check()?;
        let fits = |field, bound: f64, exponent: i32, most: f64| {
            let bits = libm::log2(bound) + f64::from(exponent);
            if exponent.abs() <= LARGEST_EXPONENT && (LEAST_BITS..=most).contains(&bits) {
                return Ok(bits);
            }
            let remedy = "bound and noise are too many orders of magnitude apart for 64-bit integers; \
                          choose other units or a mu between 1e-4 and 1e4";
            Err(Error::invalid(field, bound, remedy))
        };
        match domain {
            Domain::Vector { bound, .. } => {
                fits("bound", bound, feature_exponent, LARGEST_BITS)?;
            }
            Domain::Symmetric { bound, .. } => {
                fits("bound", bound, feature_exponent, LARGEST_BITS / 2.0)?;
            }
            Domain::Regression { feature_bound, reward_bound, .. } => {
                let bits = fits("feature_bound", feature_bound, feature_exponent, FEATURE_BITS)?;
                fits("reward_bound", reward_bound, reward_exponent, LARGEST_BITS - bits)?;
            }
            Domain::Merged { ref pattern, feature_bound, reward_bound, .. } => {
                let most = FEATURE_BITS.min(0.5 * (LARGEST_BITS - libm::log2(pattern.norms().1)));
                let bits = fits("feature_bound", feature_bound, feature_exponent, most)?;
                fits("reward_bound", reward_bound, reward_exponent, LARGEST_BITS - bits)?;
            }
        }
        Ok(Clipper { domain, feature_exponent, reward_exponent })
    }
}

impl Clipper {
    /// The grid on which noise of common deviation `sigma` is near 2^44 units in every block.
    pub(super) fn new(domain: Domain, sigma: f64) -> Result<Self> {
        Clipper::within(domain, sigma, f64::INFINITY)
    }

    /// The same for a report that travels as doubles: coarser where the data are large against the noise, so that no entry exceeds
    /// 2^[`REPORT_BITS`] units. Noise stays below `32 sqrt 2 2^45`, so entry and noise together stay below 2^53, whatever is drawn.
    pub(super) fn for_reports(domain: Domain, sigma: f64) -> Result<Self> {
        Clipper::within(domain, sigma, REPORT_BITS)
    }

    /// Noise near 2^44 units, or less in a block whose entries would exceed 2^`most` units.
    fn within(domain: Domain, sigma: f64, most: f64) -> Result<Self> {
        domain.check()?;
        if !(sigma.is_finite() && sigma > 0.0) {
            let remedy = "noise of this deviation is out of the range of a double; choose other units or a mu between 1e-4 and 1e4";
            return Err(Error::invalid("calibration", sigma, remedy));
        }
        let free = NOISE_BITS - libm::log2(sigma);
        // The conversions saturate, and values out of range are refused.
        let exponents = match domain {
            Domain::Vector { bound, .. } => {
                (free.round().min((most - libm::log2(bound)).floor()), 0.0)
            }
            Domain::Symmetric { bound, .. } => {
                ((free / 2.0).round().min((most / 2.0 - libm::log2(bound)).floor()), 0.0)
            }
            Domain::Regression { feature_bound, reward_bound, split, .. } => {
                let (length, reward) = (libm::log2(feature_bound), libm::log2(reward_bound));
                let features = (free / 2.0).round().min((most / 2.0 - length).floor());
                let rewards =
                    (free - (reward - length - 0.5 * libm::log2(split))).round() - features;
                (features, rewards.min((most - length - features - reward).floor()))
            }
            Domain::Merged { ref pattern, feature_bound, reward_bound, split } => {
                // Whole multiples of products: a coarser grid of features, for the noise that other sums have.
                let (length, reward) = (libm::log2(feature_bound), libm::log2(reward_bound));
                let features = (0.5 * (free - libm::log2(pattern.norms().0))).round();
                let rewards =
                    (free - (reward - length - 0.5 * libm::log2(split))).round() - features;
                (features, rewards)
            }
        };
        Clipper::try_from((domain, exponents.0 as i32, exponents.1 as i32))
    }

    /// The grid of about 2^22 units to each factor's bound, for noise that is never small against the data.
    pub(super) fn of_bounds(domain: Domain) -> Result<Self> {
        domain.check()?;
        let exponent = |bound: f64| (NOISE_BITS / 2.0 - libm::log2(bound)).round() as i32;
        Clipper::try_from(match domain {
            Domain::Vector { bound, .. } | Domain::Symmetric { bound, .. } => {
                (domain, exponent(bound), 0)
            }
            Domain::Regression { feature_bound, reward_bound, .. }
            | Domain::Merged { feature_bound, reward_bound, .. } => {
                (domain, exponent(feature_bound), exponent(reward_bound))
            }
        })
    }

    /// The same grid for a domain of the same bounds.
    pub(super) fn with_domain(&self, domain: Domain) -> Result<Self> {
        Clipper::try_from((domain, self.feature_exponent, self.reward_exponent))
    }

    /// The domain this clips to.
    pub fn domain(&self) -> &Domain {
        &self.domain
    }

    /// Clips the vector of a [`Domain::Vector`] or [`Domain::Symmetric`].
    pub fn clip(&self, vector: &[f64]) -> Result<Contribution> {
        let bound = match self.domain {
            Domain::Vector { bound, .. } | Domain::Symmetric { bound, .. } => bound,
            Domain::Regression { .. } | Domain::Merged { .. } => {
                return Err(Error::invalid("reward", "missing", "call `clip_with_reward`"));
            }
        };
        let (features, clipped) = self.features(vector, bound)?;
        Ok(Contribution { clipper: self.clone(), features, reward: 0, block: 0, clipped })
    }

    /// Clips features and reward of a [`Domain::Regression`] with one block.
    pub fn clip_with_reward(&self, features: &[f64], reward: f64) -> Result<Contribution> {
        let block = self.domain.structure().only_block("clip_in_block")?;
        self.clip_in_block(block, features, reward)
    }

    /// Clips features and reward of a [`Domain::Regression`], which belong to this block of parameters.
    pub fn clip_in_block(
        &self,
        block: usize,
        features: &[f64],
        reward: f64,
    ) -> Result<Contribution> {
        let Some((feature_bound, reward_bound)) = self.domain.bounds() else {
            return Err(Error::invalid("reward", reward, "this domain has none: call `clip`"));
        };
        self.domain.structure().expect(block)?;
        let (reward, high) = self.reward(reward, reward_bound)?;
        let (features, long) = self.features(features, feature_bound)?;
        Ok(Contribution { clipper: self.clone(), features, reward, block, clipped: long || high })
    }

    /// Features of a [`Domain::Regression`] whose reward is not known yet, clipped and in grid units.
    pub(crate) fn clip_features(&self, features: &[f64]) -> Result<Vec<i32>> {
        let Some((feature_bound, _)) = self.domain.bounds() else {
            let remedy = "this domain has no reward: call `clip`";
            return Err(Error::invalid("features", "a value", remedy));
        };
        finite_vector("features", features, self.domain.dimension())?;
        // Fewer than 31 bits: see FEATURE_BITS.
        Ok(into_ball_units(features, feature_bound, self.feature_exponent, |x| x as i32).0)
    }

    /// The contribution of features that [`Clipper::clip_features`] returned, with their reward. The units may have been read from a file,
    /// so their norm is checked again.
    pub(crate) fn contribution_of(
        &self,
        block: usize,
        units: &[i32],
        reward: f64,
    ) -> Result<Contribution> {
        let Some((feature_bound, reward_bound)) = self.domain.bounds() else {
            return Err(Error::invalid("reward", reward, "this domain has none: call `clip`"));
        };
        let dimension = self.domain.dimension();
        self.domain.structure().expect(block)?;
        let (reward, clipped) = self.reward(reward, reward_bound)?;
        let features: Vec<i64> = units.iter().copied().map(i64::from).collect();
        let largest = u128::from((feature_bound * power_of_two(self.feature_exponent)) as u64);
        // Squares of 32 bits fit 64.
        let square: u128 = features.iter().map(|x| u128::from((x * x) as u64)).sum();
        let refused = features.len() != dimension || square > largest * largest;
        let remedy = "they were clipped for another stream: restore another copy";
        refuse_if(refused, "features of an open decision", "features that are too long", remedy)?;
        Ok(Contribution { clipper: self.clone(), features, reward, block, clipped })
    }

    /// A reward in grid units, and whether it was clipped.
    fn reward(&self, reward: f64, bound: f64) -> Result<(i64, bool)> {
        finite_vector("reward", &[reward], 1)?;
        let scale = power_of_two(self.reward_exponent);
        let largest = (bound * scale) as i64;
        Ok((((reward * scale) as i64).clamp(-largest, largest), reward.abs() > bound))
    }

    fn features(&self, vector: &[f64], bound: f64) -> Result<(Vec<i64>, bool)> {
        finite_vector("features", vector, self.domain.dimension())?;
        Ok(into_ball_units(vector, bound, self.feature_exponent, |x| x as i64))
    }

    /// One unit of a feature and of a reward.
    pub(super) fn units(&self) -> (f64, f64) {
        (power_of_two(-self.feature_exponent), power_of_two(-self.reward_exponent))
    }

    /// `e` for each coordinate: one unit is `2^-e`.
    pub(super) fn exponents(&self) -> Vec<i32> {
        let vector_exponent = match self.domain {
            Domain::Regression { .. } | Domain::Merged { .. } => {
                self.feature_exponent + self.reward_exponent
            }
            _ => self.feature_exponent,
        };
        let mut exponents = vec![2 * self.feature_exponent; self.domain.matrix_coordinates()];
        exponents.resize(self.domain.coordinates(), vector_exponent);
        exponents
    }

    /// Largest absolute value of any entry, in units, as a power of two that is not exceeded.
    pub(super) fn entry_bits(&self) -> f64 {
        match self.domain {
            Domain::Vector { bound, .. } => libm::log2(bound) + f64::from(self.feature_exponent),
            Domain::Symmetric { bound, .. } => {
                2.0 * (libm::log2(bound) + f64::from(self.feature_exponent))
            }
            Domain::Regression { feature_bound, reward_bound, .. } => {
                let features = libm::log2(feature_bound) + f64::from(self.feature_exponent);
                features + features.max(libm::log2(reward_bound) + f64::from(self.reward_exponent))
            }
            Domain::Merged { ref pattern, feature_bound, reward_bound, .. } => {
                let features = libm::log2(feature_bound) + f64::from(self.feature_exponent);
                // |T_S| <= |S| |x|^2 / sqrt 2, as the norm of x x^T is |x|^2 / sqrt 2.
                let matrix = features + libm::log2(pattern.norms().1);
                features + matrix.max(libm::log2(reward_bound) + f64::from(self.reward_exponent))
            }
        }
    }
}

/// Steps 1 to 3: integers whose norm is at most `floor(2^exponent bound)`, and whether the vector was too long. `truncate` rounds toward zero,
/// to a type that holds `2^exponent bound`.
fn into_ball_units<T: Copy + Into<i64>>(
    vector: &[f64],
    bound: f64,
    exponent: i32,
    truncate: impl Fn(f64) -> T,
) -> (Vec<T>, bool) {
    let scale = power_of_two(exponent);
    let largest = u128::from((bound * scale) as u64);
    let fits = |units: &[T]| {
        let squares = units.iter().map(|x| u128::from((*x).into().unsigned_abs()).pow(2));
        squares.sum::<u128>() <= largest * largest
    };
    let (peak, relative) = norm(vector);
    let excess = peak / bound * relative;
    // Most vectors are short and fit as they are.
    if excess <= 1.0 {
        let units: Vec<T> = vector.iter().map(|x| truncate(x * scale)).collect();
        if fits(&units) {
            return (units, false);
        }
    }
    let (divisor, factor) = if excess > 1.0 { (peak, bound / relative) } else { (1.0, 1.0) };
    let (mut shrink, mut step) = (1.0, power_of_two(-50));
    loop {
        let unit = |x: &f64| truncate(x / divisor * factor * shrink * scale);
        let units: Vec<T> = vector.iter().map(unit).collect();
        if fits(&units) {
            return (units, excess > 1.0 + ROUNDING);
        }
        shrink -= step;
        step *= 2.0;
    }
}

/// The Euclidean norm as a product of two numbers, so that the norm of a vector with entries of 1e300 does not overflow.
fn norm(vector: &[f64]) -> (f64, f64) {
    let squares: f64 = vector.iter().map(|x| x * x).sum();
    if (1e-200..1e200).contains(&squares) {
        return (1.0, squares.sqrt());
    }
    let peak = vector.iter().fold(f64::MIN_POSITIVE, |most, x| most.max(x.abs()));
    (peak, vector.iter().map(|x| square(x / peak)).sum::<f64>().sqrt())
}

/// `2^exponent` for a normal double.
pub(crate) fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((1023 + exponent) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn entries(contribution: &Contribution) -> Vec<i64> {
        let mut sums = vec![0; contribution.clipper.domain.coordinates()];
        contribution.add_to(&mut sums);
        sums.into_iter().map(|sum| sum as i64).collect()
    }

    fn square(entries: &[i64]) -> u128 {
        entries.iter().map(|x| u128::from(x.unsigned_abs()).pow(2)).sum()
    }

    proptest! {
        #[test]
        fn the_norm_bound_holds_in_integers(
            vector in prop::collection::vec(prop_oneof![-2.0_f64..2.0, prop::num::f64::NORMAL, Just(0.0)], 7),
            bound in 1e-3_f64..1e3, mu in 0.01_f64..100.0,
        ) {
            let clipper = Clipper::new(Domain::Vector { dimension: 7, bound }, 2.0 * bound / mu).unwrap();
            let contribution = clipper.clip(&vector).unwrap();
            let largest = (bound * 2f64.powi(clipper.feature_exponent)) as u128;
            let entries = entries(&contribution);
            prop_assert!(square(&entries) <= largest * largest);
            // Truncation loses less than a unit where nothing was clipped.
            if !contribution.clipped() {
                for (entry, x) in entries.iter().zip(&vector) {
                    let units = x * 2f64.powi(clipper.feature_exponent);
                    prop_assert!((*entry as f64 - units).abs() <= 1.0 + units.abs() * 1e-11);
                }
            }
        }

        #[test]
        fn products_are_those_of_a_person_of_the_domain(
            vector in prop::collection::vec(-2.0_f64..2.0, 3), reward in -3.0_f64..3.0,
        ) {
            let clipper = Clipper::new(Domain::regression(3, 1.0, 2.0), 1.4).unwrap();
            let contribution = clipper.clip_with_reward(&vector, reward).unwrap();
            let entries = entries(&contribution);
            let (gram, product) = entries.split_at(6);
            prop_assert_eq!(i128::from(gram[1]).pow(2), i128::from(gram[0]) * i128::from(gram[3]));
            // Every minor of the matrix of [x; y] that holds x y vanishes too: it has rank one.
            let minor = i128::from(gram[0]) * i128::from(product[1]) - i128::from(gram[1]) * i128::from(product[0]);
            prop_assert_eq!(minor, 0);
            let trace = (gram[0] + gram[3] + gram[5]) as u128;
            let largest = 2f64.powi(clipper.feature_exponent) as u128;
            let most = 2.0 * 2f64.powi(clipper.reward_exponent);
            prop_assert!(trace <= largest * largest);
            prop_assert!(square(product) <= trace * (most as u128).pow(2));
            let norm = vector.iter().map(|x| x * x).sum::<f64>().sqrt();
            prop_assert_eq!(contribution.clipped(), norm > 1.0 || reward.abs() > 2.0);
        }

        #[test]
        fn bad_numbers_are_refused(value in prop::sample::select(vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY]), index in 0_usize..3) {
            let clipper = Clipper::new(Domain::regression(3, 1.0, 1.0), 1.0).unwrap();
            let mut vector = [0.1; 3];
            vector[index] = value;
            prop_assert!(clipper.clip_with_reward(&vector, 0.5).is_err());
            prop_assert!(clipper.clip_with_reward(&[0.1; 3], value).is_err());
            let short = clipper.clip_with_reward(&[0.1; 2], 0.5);
            let is_dimension_error = matches!(short, Err(Error::Dimension { expected: 3, found: 2, .. }));
            prop_assert!(is_dimension_error);
            prop_assert!(clipper.clip(&[0.1; 3]).is_err());
        }

        #[test]
        fn extreme_parameters_give_errors_not_overflow(bound in prop::num::f64::POSITIVE, sigma in prop::num::f64::POSITIVE) {
            for domain in [
                Domain::Vector { dimension: 2, bound },
                Domain::Symmetric { dimension: 2, bound },
                Domain::regression(2, bound, 1.0),
                Domain::regression(2, 1.0, bound),
            ] {
                if let Ok(clipper) = Clipper::new(domain.clone(), sigma) {
                    prop_assert!(clipper.entry_bits() <= 62.0);
                    let full = [bound, bound];
                    let made = match domain {
                        Domain::Regression { .. } => clipper.clip_with_reward(&full, bound),
                        _ => clipper.clip(&full),
                    };
                    prop_assert!(made.is_ok());
                }
            }
        }
    }

    #[test]
    fn rounding_to_nearest_would_break_the_bound() {
        let clipper = Clipper::new(Domain::Symmetric { dimension: 7, bound: 1.0 }, 1.0).unwrap();
        let largest = 1_u128 << clipper.feature_exponent;
        let scale = largest as f64;
        let broken = (1..1000).filter(|&k| {
            let mut vector: Vec<f64> = (0..7).map(|i| f64::from((i * k) % 11) - 5.0).collect();
            let norm = vector.iter().map(|x| x * x).sum::<f64>().sqrt();
            vector.iter_mut().for_each(|x| *x /= norm);
            let kept = clipper.features(&vector, 1.0).unwrap().0;
            assert!(square(&kept) <= largest * largest);
            let nearest: Vec<i64> = vector.iter().map(|x| (x * scale).round() as i64).collect();
            square(&nearest) > largest * largest
        });
        assert!(broken.count() > 100);
    }

    #[test]
    fn a_forged_clipper_is_refused() {
        let clipper = Clipper::new(Domain::Vector { dimension: 2, bound: 1.0 }, 1.0).unwrap();
        let text = serde_json::to_string(&clipper).unwrap();
        assert_eq!(serde_json::from_str::<Clipper>(&text).unwrap(), clipper);
        for (honest, forged) in [("1.0", "-1.0"), ("44", "2000"), ("44", "63"), ("44", "-5")] {
            assert!(
                serde_json::from_str::<Clipper>(&text.replace(honest, forged)).is_err(),
                "{forged}"
            );
        }
    }

    #[test]
    fn a_unit_vector_is_not_called_clipped() {
        let clipper = Clipper::new(Domain::Symmetric { dimension: 3, bound: 1.0 }, 1.0).unwrap();
        let third = 1.0 / 3f64.sqrt();
        assert!(!clipper.clip(&[third; 3]).unwrap().clipped());
        assert!(!clipper.clip(&[1.0, 0.0, 0.0]).unwrap().clipped());
        assert!(clipper.clip(&[1.0, 1e-3, 0.0]).unwrap().clipped());
        assert!(clipper.clip(&[1e300, -1e300, 1e-300]).unwrap().clipped());
    }
}
