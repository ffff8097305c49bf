//! Distribution that PrivUnit draws from: a point of the sphere, likelier near a unit vector, or near its axis, than elsewhere.
//!
//! Around the truth u lies a set of probability q: one cap `{v : <v, u> >= gamma}`, or both caps `{v : |<v, u>| >= gamma}`. With probability p the point is uniform on it, else
//! uniform on the rest of the sphere. The densities are `p/q` and `(1-p)/(1-q)` whatever u, so the guarantee is exactly `e^epsilon = p (1-q) / ((1-p) q)`. What the accountant knows of
//! such events rests on q and p alone: two sets differ by at most `min(q, 1-q)` on each side, whatever their form.
//!
//! **Best split.** With `c = 1/(e^epsilon - 1)` and D dimensions a calibrated pair has
//!
//! ```text
//! one cap     E<V, u>   = A / (q + c),              A = E[t; t >= gamma]
//! both caps   E<V, u>^2 = (B + c/D) / (q + c),      B = E[t^2; |t| >= gamma]
//! ```
//!
//! As `A' = -gamma f`, `B' = -gamma^2 f` and `q' = -f`, the first is stationary where gamma is the mean itself, `gamma (q + c) = A`, the second where gamma^2 is, `(gamma^2 - 1/D) (q + c) = B - q/D`.
//! The differences of the two sides have derivatives `q + c > 0` and `2 gamma (q + c) > 0`: one root each, found by bisection.
//!
//! **Both caps are for what is debiased by its second moment** ([`super::UnitPair`]): which of u and -u it was is not needed, and hiding it saves noise. Points of both caps are as likely on either
//! side. Without that coin a report would tell the side, at the price of one cap: a test plants it.
//!
//! **Exactness.** p is a double and its coin is exact. The set is then fitted to p, so that the stated pair (p, q) gives epsilon to about 1e-15; its true probability is q to a relative 1e-13,
//! in a million dimensions 1e-11. The point itself is drawn in doubles and rounded to a dyadic grid; `noise/grid.rs` states what that leaves open.

use super::Correlation;
use crate::{
    Result,
    noise::{Bernoulli, Noise, SphericalCap, grid::Grid, sphere::unit_vector},
    privacy::Event,
    refuse_if,
};

/// `1 - p` is kept above this, so that a double can hold `p`; it costs a variance of less than 1e-11.
const LEAST_OUTSIDE: f64 = 1.0 / (1_u64 << 40) as f64;

/// The largest epsilon. There is next to no noise left, and a larger budget is met by it too.
pub(super) const LARGEST_EPSILON: f64 = 256.0;

/// On which sides of the truth the caps are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Caps {
    /// Around u.
    One,
    /// Around u and -u.
    Both,
}

impl Caps {
    fn number(self) -> f64 {
        match self {
            Caps::One => 1.0,
            Caps::Both => 2.0,
        }
    }

    /// Returns whether a cap is higher than that of the best split.
    fn is_too_high(self, cap: &SphericalCap, fair: f64) -> bool {
        let (gamma, moment) = (cap.threshold(), cap.first_moment());
        let sum = self.number() * cap.probability() + fair;
        match self {
            Caps::One => gamma * sum < moment,
            // B - q/D = 2 (D - 1)/D gamma A, by the second moment of a cap.
            Caps::Both => {
                let share = 1.0 / cap.dimension() as f64;
                (gamma * gamma - share) * sum < 2.0 * (1.0 - share) * gamma * moment
            }
        }
    }
}

/// A calibrated draw.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct CapRandomizer {
    pub(super) dimension: usize,
    caps: Caps,
    /// The probability `q` the caps were fitted to, together.
    pub(super) cap_probability: f64,
    pub(super) cap: SphericalCap,
    pub(super) inside: Bernoulli,
    correlation: Correlation,
}

impl CapRandomizer {
    /// The best split of unit vectors in `dimension >= 2` dimensions, for `epsilon` from 1e-6 to 256.
    pub(crate) fn new(dimension: usize, epsilon: f64, caps: Caps) -> Result<Self> {
        let remedy = "expected a number from 1e-6 to 256";
        refuse_if(!(1e-6..=LARGEST_EPSILON).contains(&epsilon), "epsilon", epsilon, remedy)?;
        let fair = 1.0 / libm::expm1(epsilon);
        let too_high = |cap: &SphericalCap| caps.is_too_high(cap, fair);
        let q = caps.number() * height_where(dimension, too_high)?.probability();
        let outside = (1.0 - q) / ((1.0 - q) + q * libm::exp(epsilon));
        let p = 1.0 - outside.max(LEAST_OUTSIDE);
        // From here on p is exact, and q follows from it: q / (1 - q) = e^-epsilon p / (1 - p).
        let q = p / (p + (1.0 - p) * libm::exp(epsilon));
        let cap = height_where(dimension, |cap| caps.number() * cap.probability() > q)?;
        CapRandomizer::with_cap(dimension, caps, cap, q, p)
    }

    /// The draw with given caps of probability `q` together and a given chance `p` to report inside them.
    pub(super) fn with_cap(
        dimension: usize,
        caps: Caps,
        cap: SphericalCap,
        q: f64,
        p: f64,
    ) -> Result<Self> {
        let (inside, outside) = (p / q, (1.0 - p) / (1.0 - q));
        let first = match caps {
            // A mean of cosines is at most 1, also after rounding.
            Caps::One => (cap.first_moment() * (inside - outside)).min(1.0),
            Caps::Both => 0.0,
        };
        let moment = caps.number() * cap.second_moment();
        let second = inside * moment + outside * (1.0 / dimension as f64 - moment).max(0.0);
        Ok(CapRandomizer {
            dimension,
            caps,
            cap_probability: q,
            cap,
            inside: Bernoulli::new(p)?,
            correlation: Correlation { first, second: second.min(1.0) },
        })
    }

    /// A point of the sphere on a grid that does not tell epsilon.
    pub(crate) fn direction<N: Noise + ?Sized>(
        &self,
        unit_vector: &[f64],
        noise: &mut N,
    ) -> Result<Vec<f64>> {
        let grid = Grid::for_noise_scale(1.0 / (self.dimension as f64).sqrt())?;
        let mut point = self.sample(unit_vector, noise)?;
        point.iter_mut().for_each(|v| *v = grid.round(*v));
        Ok(point)
    }

    /// The point before rounding.
    pub(super) fn sample<N: Noise + ?Sized>(
        &self,
        truth: &[f64],
        noise: &mut N,
    ) -> Result<Vec<f64>> {
        let truth = unit_vector("unit_vector", truth, self.dimension)?;
        let inside = self.inside.sample(noise);
        match self.caps {
            Caps::One if inside => self.cap.sample_inside(&truth, noise),
            Caps::One => self.cap.sample_outside(&truth, noise),
            Caps::Both if inside => {
                let side = if noise.bits() & 1 == 1 { -1.0 } else { 1.0 };
                let point = self.cap.sample_inside(&truth, noise)?;
                Ok(point.into_iter().map(|entry| side * entry).collect())
            }
            Caps::Both => self.cap.sample_between(&truth, noise),
        }
    }

    /// Entries of a point.
    pub(crate) fn dimension(&self) -> usize {
        self.dimension
    }

    /// A [`direction`](CapRandomizer::direction) takes any one value with a chance of at most 2^-bits.
    ///
    /// Its grid has a unit of at most `2^-30/sqrt d`: points that are rounded alike are at most 2^-30 apart, a set that the uniform
    /// law on the sphere gives at most `2^(-30 (d - 1))` (a cap of angle t has `int_0^t sin^(d-2) / int_0^pi sin^(d-2) < t^(d-1)`), and no
    /// density here exceeds `p/q`.
    pub(crate) fn entropy_bits(&self) -> f64 {
        let density = self.inside.probability() / self.cap_probability;
        30.0 * (self.dimension - 1) as f64 - libm::log2(density)
    }

    /// The privacy event of one report.
    pub(crate) fn event(&self) -> Event {
        Event::PrivUnit { cap: self.cap_probability, inside: self.inside.probability() }
    }

    /// The level of pure local privacy, computed from the event: `ln(p (1-q) / ((1-p) q))`.
    pub(super) fn epsilon(&self) -> f64 {
        let (p, q) = (self.inside.probability(), self.cap_probability);
        libm::log(p / (1.0 - p)) - libm::log(q / (1.0 - q))
    }

    /// `E<V, u>`, which is 0 with both caps, and `E<V, u>^2`.
    pub(crate) fn correlation(&self) -> Correlation {
        self.correlation
    }
}

/// The cap of at most half the sphere at whose height `is_too_high`, which is false for low caps and true for high
/// ones, changes. Heights are halved geometrically, for they range over hundreds of powers of ten.
pub(super) fn height_where(
    dimension: usize,
    is_too_high: impl Fn(&SphericalCap) -> bool,
) -> Result<SphericalCap> {
    let (mut low, mut high) = (1e-290_f64, 1.0_f64);
    loop {
        let middle = (low.sqrt() * high.sqrt()).clamp(low, high);
        if middle == low || middle == high {
            return SphericalCap::of_height(dimension, low);
        }
        if is_too_high(&SphericalCap::of_height(dimension, middle)?) {
            high = middle;
        } else {
            low = middle;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        noise::{SecureNoise, check, uniform_direction},
        special::square,
    };

    const CASES: [(usize, f64); 9] = [
        (2, 1e-3),
        (2, 2.0),
        (3, 0.5),
        (6, 1.0),
        (6, 4.0),
        (6, 30.0),
        (21, 1.0),
        (21, 8.0),
        (1000, 3.0),
    ];

    fn dot(left: &[f64], right: &[f64]) -> f64 {
        left.iter().zip(right).map(|(x, y)| x * y).sum()
    }

    #[test]
    fn both_caps_have_their_probability_and_no_other_split_says_more() {
        for (dimension, epsilon) in CASES {
            let best = CapRandomizer::new(dimension, epsilon, Caps::Both).unwrap();
            assert!((best.epsilon() - epsilon).abs() < 1e-12 * epsilon.max(1.0));
            let fitted = 2.0 * best.cap.probability() / best.cap_probability;
            assert!((fitted - 1.0).abs() < 1e-12, "{dimension} {epsilon}: {fitted}");
            assert!(best.event().check().is_ok() && best.cap_probability < 0.5 + 1e-12);
            // At the optimum the square of the threshold is the second moment.
            let second = best.correlation().second;
            assert!((square(best.cap.threshold()) - second).abs() < 1e-6, "{dimension} {epsilon}");
            let mut other = 0.0_f64;
            for step in 1..2000 {
                let height = (-60.0 * (f64::from(step) / 2000.0).powi(3)).exp();
                let cap = SphericalCap::of_height(dimension, height).unwrap();
                let q = 2.0 * cap.probability();
                if q < 1e-250 {
                    break;
                }
                let p = q / (q + (1.0 - q) * (-epsilon).exp());
                let split = CapRandomizer::with_cap(dimension, Caps::Both, cap, q, p);
                other = split.map_or(other, |split| other.max(split.correlation().second));
            }
            assert!(second > other - 1e-9 && second < other + 1e-2, "{second} {other}");
            // Hiding the side leaves more of the second moment, whatever one cap does.
            let one = CapRandomizer::new(dimension, epsilon, Caps::One).unwrap();
            assert!(second > one.correlation().second - 1e-11, "{dimension} {epsilon}");
        }
    }

    /// Returns whether draws about a truth contradict what is stated: the chance to be inside, the side, the second moment, or the chance of another's draw to be inside.
    fn alarm(stated: &CapRandomizer, draw: impl Fn(&[f64], &mut SecureNoise) -> Vec<f64>) -> bool {
        let mut noise = SecureNoise::seeded(44);
        let truth = uniform_direction(stated.dimension, &mut noise);
        let cosines: Vec<f64> =
            (0..60_000).map(|_| dot(&draw(&truth, &mut noise), &truth)).collect();
        let gamma = stated.cap.threshold() - 1e-12;
        let count = |is: &dyn Fn(f64) -> bool| cosines.iter().filter(|t| is(**t)).count() as u64;
        let (above, below) = (count(&|t| t >= gamma), count(&|t| t <= -gamma));
        let p = stated.inside.probability();
        let between = 60_000 - above - below;
        let elsewhere = (0..60_000)
            .filter(|_| {
                dot(&uniform_direction(stated.dimension, &mut noise), &truth).abs() >= gamma
            })
            .count() as u64;
        let (q, second) = (stated.cap_probability, stated.correlation().second);
        check::chi_square_alarm(&[above, below, between], &[0.5 * p, 0.5 * p, 1.0 - p])
            || check::chi_square_alarm(&[elsewhere, 60_000 - elsewhere], &[q, 1.0 - q])
            || check::mean_alarm(
                cosines.iter().map(|t| t * t),
                second,
                (second - second * second).sqrt(),
            )
            || check::mean_alarm(cosines.iter().copied(), 0.0, second.sqrt())
    }

    #[test]
    fn draws_from_both_caps_agree_and_planted_mistakes_do_not() {
        for (dimension, epsilon) in [(2, 1.0), (3, 0.5), (6, 4.0), (21, 2.0)] {
            let good = CapRandomizer::new(dimension, epsilon, Caps::Both).unwrap();
            assert!(!alarm(&good, |truth, noise| good.sample(truth, noise).unwrap()));
            // No coin: a report tells the side.
            let telling = |truth: &[f64], noise: &mut SecureNoise| match good.inside.sample(noise) {
                true => good.cap.sample_inside(truth, noise).unwrap(),
                false => good.cap.sample_between(truth, noise).unwrap(),
            };
            assert!(alarm(&good, telling), "{dimension} {epsilon}");
            // The rest of the sphere without one cap only.
            let half = |truth: &[f64], noise: &mut SecureNoise| match good.inside.sample(noise) {
                true => good.sample(truth, noise).unwrap(),
                false => good.cap.sample_outside(truth, noise).unwrap(),
            };
            assert!(alarm(&good, half), "{dimension} {epsilon}");
            let (q, p) = (good.cap_probability, good.inside.probability());
            let kind =
                CapRandomizer::with_cap(dimension, Caps::Both, good.cap, q, p + 0.02).unwrap();
            assert!(alarm(&good, |truth, noise| kind.sample(truth, noise).unwrap()));
        }
    }
}
