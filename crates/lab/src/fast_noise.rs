//! Fast seeded noise for simulations: repeatable, and without any protection.
//!
//! Bits come from xoshiro256++ (Blackman and Vigna 2021), normals from the ziggurat of Marsaglia and Tsang (2000)
//! in Doornik's form (2005): 256 strips of equal area under `exp(-x^2 / 2)`, of which 99 in 100 draws need one
//! word, one table and one comparison. Discrete Gaussians are rounded normals from `sigma = 32` on, where their
//! variance is too large by less than one part in 10^4, and exact below. Discrete Laplaces are differences of two
//! geometric variates at every scale.
//!
//! **Guarantee.** None: any party that knows the seed can reproduce the noise. [`Noise::PROTECTS_PEOPLE`] is false.

use std::sync::LazyLock;

use reticent::{
    Result,
    noise::{DiscreteGaussian, DiscreteLaplace, Noise},
};
use serde::{Deserialize, Serialize};

/// The least sigma for which a rounded normal replaces the exact law.
const LEAST_ROUNDED_SIGMA: u64 = 32;

/// A seeded source of noise for experiments.
///
/// ```
/// use reticent::noise::{DiscreteGaussian, Noise};
/// use reticent_lab::FastNoise;
/// let law = DiscreteGaussian::new(300)?;
/// let (mut one, mut two) = (FastNoise::seeded(7), FastNoise::seeded(7));
/// assert_eq!(one.discrete_gaussian(&law), two.discrete_gaussian(&law));
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FastNoise {
    state: [u64; 4],
}

impl FastNoise {
    /// The stream of this seed. Seeds are spread by SplitMix64, so neighbouring ones are unrelated.
    pub fn seeded(seed: u64) -> Self {
        let mut counter = seed;
        FastNoise {
            state: std::array::from_fn(|_| {
                counter = counter.wrapping_add(0x9e37_79b9_7f4a_7c15);
                let mut word = counter;
                word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
                word ^ (word >> 31)
            }),
        }
    }

    /// The wedges and the tail of the ziggurat: one draw in a hundred.
    #[cold]
    fn normal_outside_core(&mut self, strip: usize, u: f64) -> Option<f64> {
        let table = &*ZIGGURAT;
        if strip == 0 {
            // Beyond the last edge: Marsaglia's exponential rejection.
            loop {
                let x = self.exponential() / LAST_EDGE;
                if 2.0 * self.exponential() > x * x {
                    return Some((LAST_EDGE + x).copysign(u));
                }
            }
        }
        let x = u * table.edges[strip];
        let (low, high) = (density(table.edges[strip]), density(table.edges[strip + 1]));
        (low + self.uniform() * (high - low) < density(x)).then_some(x)
    }
}

impl Noise for FastNoise {
    const PROTECTS_PEOPLE: bool = false;
    const NAME: &'static str = "xoshiro256++";

    #[inline]
    fn bits(&mut self) -> u64 {
        let [a, b, c, d] = &mut self.state;
        let output = a.wrapping_add(*d).rotate_left(23).wrapping_add(*a);
        let shifted = *b << 17;
        *c ^= *a;
        *d ^= *b;
        *b ^= *c;
        *a ^= *d;
        *c ^= shifted;
        *d = d.rotate_left(45);
        output
    }

    /// Jumps to another stream, the same one every time: experiments stay repeatable.
    fn refresh(&mut self) -> Result<()> {
        *self = FastNoise::seeded(self.bits() ^ 0x5245_4652_4553_4821);
        Ok(())
    }

    fn split(&mut self) -> Result<Self> {
        Ok(FastNoise::seeded(self.bits()))
    }

    #[inline]
    fn discrete_gaussian(&mut self, law: &DiscreteGaussian) -> i64 {
        if law.sigma() < LEAST_ROUNDED_SIGMA {
            law.sample_exactly(self)
        } else {
            let real = self.standard_normal() * law.sigma() as f64;
            // The cast truncates, so half a unit outwards first; `round` would be a library call.
            (real + 0.5_f64.copysign(real)) as i64
        }
    }

    #[inline]
    fn discrete_laplace(&mut self, law: &DiscreteLaplace) -> i64 {
        let scale = law.scale();
        let mut geometric = || (self.exponential() * scale) as i64;
        geometric() - geometric()
    }

    #[inline]
    fn standard_normal(&mut self) -> f64 {
        let table = &*ZIGGURAT;
        loop {
            // 8 bits choose the strip, 53 others the signed position in it.
            let word = self.bits();
            let strip = (word & 0xff) as usize;
            let u = (word as i64 >> 11) as f64 * (1.0 / (1_u64 << 52) as f64);
            if u.abs() < table.core[strip] {
                return u * table.edges[strip];
            }
            if let Some(normal) = self.normal_outside_core(strip, u) {
                return normal;
            }
        }
    }
}

/// Beginning of the tail, and the area of each strip, for 256 strips (Doornik 2005, for `exp(-x^2/2)`).
const LAST_EDGE: f64 = 3.654_152_885_361_008_8;
const STRIP_AREA: f64 = 0.004_928_673_233_992_336;

struct Ziggurat {
    /// Right edges from the widest strip to the narrowest; the width of strip 0 follows from its area.
    edges: [f64; 257],
    /// The part of each strip that lies wholly under the curve.
    core: [f64; 256],
}

fn density(x: f64) -> f64 {
    (-0.5 * x * x).exp()
}

static ZIGGURAT: LazyLock<Ziggurat> = LazyLock::new(|| {
    let mut edges = [0.0; 257];
    edges[0] = STRIP_AREA / density(LAST_EDGE);
    edges[1] = LAST_EDGE;
    for strip in 2..256 {
        let height = STRIP_AREA / edges[strip - 1] + density(edges[strip - 1]);
        edges[strip] = (-2.0 * height.ln()).sqrt();
    }
    Ziggurat { edges, core: std::array::from_fn(|strip| edges[strip + 1] / edges[strip]) }
});

#[cfg(test)]
mod tests {
    use reticent::special::normal_cdf;

    use super::*;

    /// Mean too far off: false-alarm rate 1e-7 (5.33 standard errors).
    fn mean_alarm(values: impl Iterator<Item = f64>, mean: f64, deviation: f64) -> bool {
        let (count, sum) = values.fold((0.0, 0.0), |(n, s), value| (n + 1.0, s + value - mean));
        (sum / count).abs() > 5.33 * deviation / f64::sqrt(count)
    }

    /// Kolmogorov-Smirnov, false-alarm rate 1e-7 (Massart's bound).
    fn distribution_alarm(mut values: Vec<f64>, cdf: impl Fn(f64) -> f64) -> bool {
        values.sort_by(f64::total_cmp);
        let count = values.len() as f64;
        let gap = |(index, &value): (usize, &f64)| {
            (cdf(value) - index as f64 / count).abs().max(1.0 / count)
        };
        let distance = values.iter().enumerate().map(gap).fold(0.0, f64::max);
        distance > (2e7_f64.ln() / (2.0 * count)).sqrt() + 1.0 / count
    }

    #[test]
    fn the_stream_is_xoshiro256_plus_plus() {
        // First outputs from the state 1, 2, 3, 4, by the authors' C code.
        let mut noise = FastNoise { state: [1, 2, 3, 4] };
        let expected = [41_943_041, 58_720_359, 3_588_806_011_781_223, 3_591_011_842_654_386];
        assert_eq!(std::array::from_fn(|_| noise.bits()), expected);
    }

    #[test]
    fn the_ziggurat_closes_and_its_normals_are_normal() {
        // The narrowest strip ends at the peak: edge and area fit together.
        let last = STRIP_AREA / ZIGGURAT.edges[255] + density(ZIGGURAT.edges[255]);
        assert!((last - 1.0).abs() < 1e-9, "{last}");
        let mut noise = FastNoise::seeded(1);
        let mut values: Vec<f64> = (0..2_000_000).map(|_| noise.standard_normal()).collect();
        let power = |values: &[f64], power: i32, mean: f64, deviation: f64| {
            mean_alarm(values.iter().map(|x| x.powi(power)), mean, deviation)
        };
        assert!(!power(&values, 1, 0.0, 1.0) && !power(&values, 2, 1.0, 2f64.sqrt()));
        assert!(!power(&values, 3, 0.0, 15f64.sqrt()) && !power(&values, 4, 3.0, 96f64.sqrt()));
        assert!(!distribution_alarm(values.clone(), normal_cdf));
        // The tail beyond the last edge has its share.
        let beyond = 2.0 * normal_cdf(-LAST_EDGE);
        let tail = |edge: f64| values.iter().map(move |x| f64::from(u8::from(x.abs() > edge)));
        assert!(!mean_alarm(tail(LAST_EDGE), beyond, beyond.sqrt()));
        // Planted: a tail that is never drawn, and normals one part in a hundred too wide.
        assert!(mean_alarm(tail(f64::INFINITY), beyond, beyond.sqrt()));
        values.iter_mut().for_each(|x| *x *= 1.01);
        assert!(power(&values, 2, 1.0, 2f64.sqrt()));
    }

    #[test]
    fn discrete_laws_have_the_moments_of_the_exact_ones() {
        let mut noise = FastNoise::seeded(2);
        for sigma in [1, 3, 31, 32, 300, 1 << 44] {
            let law = DiscreteGaussian::new(sigma).unwrap();
            let values: Vec<f64> =
                (0..200_000).map(|_| noise.discrete_gaussian(&law) as f64 / sigma as f64).collect();
            assert!(!mean_alarm(values.iter().copied(), 0.0, 1.0));
            assert!(!mean_alarm(values.iter().map(|x| x * x), 1.0, 2f64.sqrt()));
        }
        // Planted: rounding at sigma = 1 adds 1/12 to the variance, which is why small sigmas are exact.
        let rounded = (0..200_000).map(|_| noise.standard_normal().round().powi(2));
        assert!(mean_alarm(rounded, 1.0, 2f64.sqrt()));
        for (numerator, denominator) in [(1, 3), (1, 1), (300, 1), (1 << 44, 3)] {
            let law = DiscreteLaplace::new(numerator, denominator).unwrap();
            let variance = law.variance();
            let values: Vec<f64> =
                (0..200_000).map(|_| noise.discrete_laplace(&law) as f64).collect();
            // Kurtosis of the difference of two geometrics: 6 + 1 / variance.
            let deviation = (5.0 + 1.0 / variance).sqrt();
            let squares = |factor: f64| values.iter().map(move |x| factor * x * x / variance);
            assert!(!mean_alarm(values.iter().copied(), 0.0, variance.sqrt()));
            assert!(!mean_alarm(squares(1.0), 1.0, deviation));
            assert!(mean_alarm(squares(1.1), 1.0, deviation));
        }
    }

    #[test]
    fn saved_and_refreshed_streams_are_repeatable() {
        let mut noise = FastNoise::seeded(3);
        noise.bits();
        let mut restored: FastNoise =
            serde_json::from_str(&serde_json::to_string(&noise).unwrap()).unwrap();
        assert_eq!(noise.bits(), restored.bits());
        noise.refresh().unwrap();
        let continued = restored.clone().bits();
        restored.refresh().unwrap();
        assert_eq!(noise, restored);
        assert_ne!(noise.bits(), continued);
    }
}
