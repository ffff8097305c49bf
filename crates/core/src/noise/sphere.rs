//! Uniform points on the unit sphere, on a spherical cap `{v : <v, centre> >= threshold}` and outside it.
//!
//! The correlation `t = <v, centre>` of a uniform `v` has density `f(t) = (1 - t^2)^((d-3)/2) / B(1/2, (d-1)/2)`;
//! given `t`, the rest of `v` is uniform on a sphere of radius `sqrt(1 - t^2)` orthogonal to the centre.
//! With `x = 1 - threshold^2` and `A = x^((d-1)/2) / ((d-1) B(1/2, (d-1)/2))`, for `threshold >= 0`:
//!
//! - `P(t >= threshold) = I_x((d-1)/2, 1/2) / 2`,
//! - `E[t; t >= threshold] = A` and `E[t^2; t >= threshold] = (P + (d-1) threshold A) / d`, by parts.
//!
//! A cap is kept by its height `1 - threshold`, which stays accurate for the tiny caps of large epsilon.
//!
//! **Sampling `t` in a cap.** Where the cap is not rare (`threshold sqrt(d) < 1`), whole directions are tried.
//! Else `ln f` is concave for `d >= 3`, so `f` lies below its tangent exponential at the threshold; a truncated
//! exponential is accepted with the ratio of the two, at least 6 times in 10 in every dimension. In the plane
//! the angle is uniform. The cost is one pass over the coordinates, whatever the cap.

use super::{Noise, gamma::chi_square};
use crate::{
    Error, Result,
    error::finite_vector,
    refuse_if,
    special::{incomplete_beta_pair, ln_beta, square},
};

/// A uniform direction: a vector of Euclidean norm 1 with `dimension` entries.
pub fn uniform_direction<N: Noise + ?Sized>(dimension: usize, noise: &mut N) -> Vec<f64> {
    loop {
        let mut vector: Vec<f64> = (0..dimension).map(|_| noise.standard_normal()).collect();
        if normalise(&mut vector) || dimension == 0 {
            return vector;
        }
    }
}

fn dot(left: &[f64], right: &[f64]) -> f64 {
    left.iter().zip(right).map(|(x, y)| x * y).sum()
}

/// Scales to norm 1, unless the vector is too short to tell its direction.
fn normalise(vector: &mut [f64]) -> bool {
    let norm = dot(vector, vector).sqrt();
    vector.iter_mut().for_each(|entry| *entry /= norm);
    norm > 1e-100
}

/// `vector` with its norm set to 1 exactly, if it was 1 within 1e-9 before.
pub(crate) fn unit_vector(
    field: &'static str,
    vector: &[f64],
    dimension: usize,
) -> Result<Vec<f64>> {
    finite_vector(field, vector, dimension)?;
    let norm = dot(vector, vector).sqrt();
    if (norm - 1.0).abs() > 1e-9 {
        let remedy = format!("{field} must have norm 1 within 1e-9; divide it by its norm");
        return Err(Error::invalid("norm", norm, remedy));
    }
    Ok(vector.iter().map(|entry| entry / norm).collect())
}

/// A cap of the unit sphere, around a centre named when sampling.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SphericalCap {
    dimension: usize,
    /// 1 - threshold, strictly between 0 and 2.
    height: f64,
}

impl SphericalCap {
    /// The largest dimension.
    pub const LARGEST_DIMENSION: usize = 1_000_000;

    /// The cap of points whose inner product with the centre is at least `threshold`, strictly between -1
    /// and 1, in 2 dimensions or more (at most [`SphericalCap::LARGEST_DIMENSION`]).
    pub fn new(dimension: usize, threshold: f64) -> Result<Self> {
        let remedy = "expected a number strictly between -1 and 1";
        refuse_if(!(threshold > -1.0 && threshold < 1.0), "threshold", threshold, remedy)?;
        SphericalCap::of_height(dimension, 1.0 - threshold)
    }

    /// The cap of this height: `1 - threshold`, in (0, 2).
    pub(crate) fn of_height(dimension: usize, height: f64) -> Result<Self> {
        if dimension < 2 {
            let remedy = "expected 2 or above; a sphere in 1 dimension is two points, use randomised response";
            return Err(Error::invalid("dimension", dimension, remedy));
        }
        // The continued fraction of the probability is known to converge only up to this dimension.
        if dimension > SphericalCap::LARGEST_DIMENSION {
            return Err(Error::invalid("dimension", dimension, "expected at most 1000000"));
        }
        Ok(SphericalCap { dimension, height })
    }

    /// The least inner product with the centre.
    pub fn threshold(&self) -> f64 {
        1.0 - self.height
    }

    pub(crate) fn dimension(&self) -> usize {
        self.dimension
    }

    fn mirrored(&self) -> Self {
        SphericalCap { dimension: self.dimension, height: 2.0 - self.height }
    }

    /// `P(t >= threshold)` for a uniform direction.
    pub fn probability(&self) -> f64 {
        if self.height > 1.0 {
            return 1.0 - self.mirrored().probability();
        }
        let (x, y) = (self.height * (2.0 - self.height), square(self.threshold()));
        0.5 * incomplete_beta_pair(0.5 * (self.dimension as f64 - 1.0), 0.5, x, y)
    }

    /// `E[t; t >= threshold]` for a uniform direction (not divided by the probability).
    pub fn first_moment(&self) -> f64 {
        let half = 0.5 * (self.dimension as f64 - 1.0);
        let y = square(self.threshold());
        let ln_x =
            if y < 0.5 { libm::log1p(-y) } else { libm::log(self.height * (2.0 - self.height)) };
        libm::exp(half * ln_x - ln_beta(0.5, half)) / (2.0 * half)
    }

    /// `E[t^2; t >= threshold]` for a uniform direction (not divided by the probability).
    pub fn second_moment(&self) -> f64 {
        let d = self.dimension as f64;
        (self.probability() + (d - 1.0) * self.threshold() * self.first_moment()) / d
    }

    /// A uniform point of the cap around `centre`, a unit vector.
    pub fn sample_inside<N: Noise + ?Sized>(
        &self,
        centre: &[f64],
        noise: &mut N,
    ) -> Result<Vec<f64>> {
        let centre = unit_vector("centre", centre, self.dimension)?;
        let fall = self.fall_inside(noise);
        Ok(self.at_fall(fall, &centre, noise))
    }

    /// A uniform point of the sphere outside the cap around `centre`, a unit vector.
    pub fn sample_outside<N: Noise + ?Sized>(
        &self,
        centre: &[f64],
        noise: &mut N,
    ) -> Result<Vec<f64>> {
        if self.height > 1.0 {
            let centre = unit_vector("centre", centre, self.dimension)?;
            let fall = 2.0 - self.mirrored().fall_inside(noise);
            return Ok(self.at_fall(fall, &centre, noise));
        }
        // At least half of the sphere lies outside.
        self.sample_above(2.0, centre, noise)
    }

    /// A uniform point of the sphere outside the cap, with a fall of at most `most`.
    fn sample_above<N: Noise + ?Sized>(
        &self,
        most: f64,
        centre: &[f64],
        noise: &mut N,
    ) -> Result<Vec<f64>> {
        let centre = unit_vector("centre", centre, self.dimension)?;
        loop {
            let fall = self.fall_anywhere(noise);
            if fall > self.height && fall <= most {
                return Ok(self.at_fall(fall, &centre, noise));
            }
        }
    }

    /// A uniform point of the sphere outside this cap and its mirror image, for caps of at most half the sphere.
    pub(crate) fn sample_between<N: Noise + ?Sized>(
        &self,
        centre: &[f64],
        noise: &mut N,
    ) -> Result<Vec<f64>> {
        let remedy = "both caps must leave something between them";
        refuse_if(self.height >= 1.0, "height", self.height, remedy)?;
        // The caps that are used have a probability of at most 1/2 together.
        self.sample_above(2.0 - self.height, centre, noise)
    }

    /// A uniform point with `1 - t = fall`.
    fn at_fall<N: Noise + ?Sized>(&self, fall: f64, centre: &[f64], noise: &mut N) -> Vec<f64> {
        let radius = (fall * (2.0 - fall)).sqrt();
        loop {
            let mut side: Vec<f64> = centre.iter().map(|_| noise.standard_normal()).collect();
            // Twice, because one projection leaves a rounding error along the centre.
            for _ in 0..2 {
                let along = dot(&side, centre);
                side.iter_mut().zip(centre).for_each(|(s, c)| *s -= along * c);
                if !normalise(&mut side) {
                    break;
                }
            }
            if side.iter().all(|entry| entry.is_finite()) {
                return side
                    .iter()
                    .zip(centre)
                    .map(|(s, c)| (1.0 - fall) * c + radius * s)
                    .collect();
            }
        }
    }

    /// `1 - t` of a uniform direction, without cancellation near 0.
    fn fall_anywhere<N: Noise + ?Sized>(&self, noise: &mut N) -> f64 {
        let along = noise.standard_normal();
        let across = chi_square(self.dimension as f64 - 1.0, noise);
        let radius = (along * along + across).sqrt();
        if along > 0.0 { across / (radius * (radius + along)) } else { (radius - along) / radius }
    }

    /// `1 - t` of a uniform point of the cap.
    fn fall_inside<N: Noise + ?Sized>(&self, noise: &mut N) -> f64 {
        let (height, threshold, d) = (self.height, self.threshold(), self.dimension as f64);
        if threshold * d.sqrt() < 1.0 {
            loop {
                let fall = self.fall_anywhere(noise);
                if fall <= height {
                    return fall;
                }
            }
        }
        if self.dimension == 2 {
            let half_angle = libm::asin((0.5 * height).sqrt()) * noise.uniform();
            return 2.0 * square(libm::sin(half_angle));
        }
        let power = 0.5 * (d - 3.0);
        if power == 0.0 {
            return height * noise.uniform();
        }
        // In y = (t - threshold) / height: ln f = power (ln(1 - y) + ln(1 + y height / (2 - height))) + constant.
        let widening = height / (2.0 - height);
        let slope = power * (1.0 - widening);
        loop {
            // An exponential modulo 1 is an exponential truncated to [0, 1).
            let y = (noise.exponential() / slope).fract();
            let ln_ratio = power * (libm::log1p(-y) + libm::log1p(y * widening)) + slope * y;
            if libm::log(noise.uniform()) < ln_ratio {
                return height * (1.0 - y);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::{SecureNoise, check};

    /// Probability of the cap of correlations at least `t`, from the definition.
    fn tail(dimension: usize, t: f64) -> f64 {
        SphericalCap { dimension, height: 1.0 - t.clamp(-1.0, 1.0) }.probability()
    }

    fn centre(dimension: usize) -> Vec<f64> {
        let mut centre: Vec<f64> = (0..dimension).map(|i| 1.0 + (i as f64).sin()).collect();
        assert!(normalise(&mut centre));
        centre
    }

    #[test]
    fn probabilities_and_moments_against_references() {
        // mpmath, 40 digits.
        for (dimension, threshold, probability, first) in [
            (2, 0.5, 0.333_333_333_333_333_333, 0.275_664_447_710_896_025),
            (3, 0.25, 0.375, 0.234_375),
            (20, 0.75, 4.519_942_209_440_590_28e-5, 3.508_431_799_635_304_67e-5),
            (20, 0.125, 0.294_642_851_925_442_595, 0.077_776_243_025_085_053_9),
            (10_000, 0.031_25, 8.874_281_152_873_193_52e-4, 3.016_604_998_861_043_19e-5),
            (10_000, 0.0625, 1.979_352_572_980_149_3e-10, 1.267_203_682_035_645_84e-11),
        ] {
            let cap = SphericalCap::new(dimension, threshold).unwrap();
            assert!((cap.probability() / probability - 1.0).abs() < 1e-13, "{}", cap.probability());
            assert!((cap.first_moment() / first - 1.0).abs() < 1e-13, "{}", cap.first_moment());
            let other = SphericalCap::new(dimension, -threshold).unwrap();
            assert!((other.probability() + cap.probability() - 1.0).abs() < 1e-15);
            assert!((other.first_moment() - cap.first_moment()).abs() < 1e-15);
            let whole = cap.second_moment() + other.second_moment();
            assert!((whole * dimension as f64 - 1.0).abs() < 1e-12);
        }
        // E[t^2; t >= 0.3] in 5 dimensions, where the density is 3/4 (1 - t^2).
        let primitive = |t: f64| 0.75 * (t.powi(3) / 3.0 - t.powi(5) / 5.0);
        let second = SphericalCap::new(5, 0.3).unwrap().second_moment();
        assert!((second - (primitive(1.0) - primitive(0.3))).abs() < 1e-15);
    }

    #[test]
    fn directions_are_uniform() {
        let mut noise = SecureNoise::seeded(30);
        for dimension in [2, 3, 20] {
            let draws: Vec<f64> = (0..50_000)
                .map(|_| dot(&uniform_direction(dimension, &mut noise), &centre(dimension)))
                .collect();
            assert!(!check::distribution_alarm(draws.clone(), |t| tail(dimension, -t)));
            // E t^2 = 1/d and E t^4 = 3/(d(d+2)); planted: the law of one dimension more.
            let squares_alarm = |d: f64| {
                let spread = (3.0 / (d * (d + 2.0)) - 1.0 / (d * d)).sqrt();
                check::mean_alarm(draws.iter().map(|t| t * t), 1.0 / d, spread)
            };
            assert!(!squares_alarm(dimension as f64));
            assert!(squares_alarm(dimension as f64 + 1.0));
        }
        assert!(uniform_direction(1, &mut noise)[0].abs() == 1.0);
        assert!(uniform_direction(0, &mut noise).is_empty());
    }

    #[test]
    fn correlations_in_and_off_the_cap_follow_the_law_and_planted_errors_do_not() {
        let mut noise = SecureNoise::seeded(31);
        for (dimension, threshold) in [
            (2, 0.1),
            (2, 0.9),
            (3, 0.7),
            (4, 0.99),
            (20, 0.1),
            (20, 0.3),
            (20, 0.83), // probability 1e-6
            (20, -0.4),
            (1000, 0.1),
        ] {
            let cap = SphericalCap::new(dimension, threshold).unwrap();
            let q = cap.probability();
            let count = 20_000;
            let mut inside: Vec<f64> =
                (0..count).map(|_| 1.0 - cap.fall_inside(&mut noise)).collect();
            let law = |t: f64| 1.0 - tail(dimension, t) / q;
            assert!(inside.iter().all(|&t| t >= threshold - 1e-15 && t <= 1.0));
            assert!(!check::distribution_alarm(inside.clone(), law), "{dimension} {threshold}");
            // Planted: points pushed a tenth of their way up, as a wrong exponent would.
            inside.iter_mut().for_each(|t| *t += 0.1 * (*t - threshold));
            assert!(check::distribution_alarm(inside, law), "{dimension} {threshold}");
            let centre = centre(dimension);
            let draws = if dimension > 100 { 2_000 } else { 20_000 };
            let outside: Vec<f64> = (0..draws)
                .map(|_| dot(&cap.sample_outside(&centre, &mut noise).unwrap(), &centre))
                .collect();
            let law = |t: f64| (tail(dimension, -t) / (1.0 - q)).min(1.0);
            assert!(!check::distribution_alarm(outside, law), "{dimension} {threshold}");
        }
    }

    #[test]
    fn the_rest_of_the_vector_is_uniform_and_orthogonal() {
        let mut noise = SecureNoise::seeded(32);
        let centre = centre(3);
        // A unit vector orthogonal to the centre.
        let mut side = vec![centre[1], -centre[0], 0.0];
        assert!(normalise(&mut side));
        let cap = SphericalCap::new(3, 0.4).unwrap();
        let mut angles = Vec::new();
        for _ in 0..50_000 {
            let v = cap.sample_inside(&centre, &mut noise).unwrap();
            let t = dot(&v, &centre);
            assert!((dot(&v, &v) - 1.0).abs() < 1e-12);
            angles.push((dot(&v, &side) / (1.0 - t * t).sqrt()).clamp(-1.0, 1.0).asin());
        }
        let law = |angle: f64| 0.5 + angle / std::f64::consts::PI;
        assert!(!check::distribution_alarm(angles, law));
    }

    #[test]
    fn tiny_caps_keep_their_accuracy() {
        let mut noise = SecureNoise::seeded(33);
        for dimension in [2, 3, 4, 7] {
            let cap = SphericalCap::of_height(dimension, 1e-60).unwrap();
            let half = 0.5 * (dimension as f64 - 1.0);
            // To first order the fall is a power law: P(fall <= s) = (s / height)^((d-1)/2).
            let draws = (0..20_000).map(|_| cap.fall_inside(&mut noise) / 1e-60).collect();
            assert!(!check::distribution_alarm(draws, |s| s.powf(half)));
            assert!(cap.probability() > 0.0);
        }
    }

    #[test]
    fn bad_inputs_are_refused() {
        let mut noise = SecureNoise::seeded(34);
        assert!(SphericalCap::new(1, 0.5).is_err());
        assert!(SphericalCap::new(1_000_001, 0.5).is_err());
        for threshold in [-1.0, 1.0, f64::NAN] {
            assert!(SphericalCap::new(3, threshold).is_err());
        }
        let cap = SphericalCap::new(2, 0.5).unwrap();
        assert!(cap.sample_inside(&[1.0], &mut noise).is_err());
        assert!(cap.sample_inside(&[1.0, 1.0], &mut noise).is_err());
        assert!(cap.sample_outside(&[f64::NAN, 1.0], &mut noise).is_err());
    }
}
