//! The source of random bits, and the draws that every mechanism uses.

use super::{DiscreteGaussian, DiscreteLaplace};

/// A source of randomness for mechanisms.
///
/// [`SecureNoise`](super::SecureNoise) is the only implementation in this crate. Fast seeded noise for
/// simulation is in `reticent-lab`; what was run on it says so in its guarantee, because
/// [`Noise::PROTECTS_PEOPLE`] is false there.
///
/// ```
/// use reticent::noise::{DiscreteGaussian, Noise, SecureNoise};
/// let mut noise = SecureNoise::from_system()?;
/// let law = DiscreteGaussian::new(300)?;
/// let private_count = 1_234 + noise.discrete_gaussian(&law);
/// assert!((private_count - 1_234).abs() < 32 * 300);
/// # Ok::<(), reticent::Error>(())
/// ```
pub trait Noise {
    /// True if draws are unpredictable to an adversary. Guarantees are only given when this is true.
    const PROTECTS_PEOPLE: bool;

    /// A name that is written into saved states, so that a state saved with one source is not loaded with another.
    const NAME: &'static str;

    /// 64 independent uniform bits.
    fn bits(&mut self) -> u64;

    /// Forgets everything that could repeat earlier draws, those of a copy of this generator included.
    fn refresh(&mut self) -> crate::Result<()>;

    /// Called by learners and devices before every release, and to be called before a randomiser is used by hand: noise that protects people is drawn under a new key, so that a cloned process or machine draws
    /// different noise from its original; simulation noise continues unchanged, so that a run can be repeated.
    #[inline]
    fn rekey(&mut self) -> crate::Result<()> {
        if Self::PROTECTS_PEOPLE { self.refresh() } else { Ok(()) }
    }

    /// Another source, independent of this one, for random numbers that are published: these must not come from the generator of the
    /// protecting noise.
    fn split(&mut self) -> crate::Result<Self>
    where
        Self: Sized;

    /// One draw of a discrete Gaussian; exact unless the source says otherwise.
    #[inline]
    fn discrete_gaussian(&mut self, law: &DiscreteGaussian) -> i64 {
        law.sample_exactly(self)
    }

    /// One draw of a discrete Laplace; exact unless the source says otherwise.
    #[inline]
    fn discrete_laplace(&mut self, law: &DiscreteLaplace) -> i64 {
        law.sample_exactly(self)
    }

    /// A uniform integer in `0..bound`, exactly (Lemire 2019); 0 if `bound` is 0.
    #[inline]
    fn below(&mut self, bound: u64) -> u64 {
        loop {
            let product = u128::from(self.bits()) * u128::from(bound);
            let low = product as u64;
            // The division is needed only when `low` is small enough that the word may be rejected.
            if low >= bound || low >= bound.wrapping_neg().checked_rem(bound).unwrap_or(0) {
                return (product >> 64) as u64;
            }
        }
    }

    /// Number of fair coins that show tails before the first head: `P(k) = 2^-(k+1)`, exactly.
    #[inline]
    fn coin_run(&mut self) -> u64 {
        let mut run = 0;
        loop {
            let word = self.bits();
            if word != 0 {
                return run + u64::from(word.trailing_zeros());
            }
            run += 64;
        }
    }

    /// A uniform real, rounded down to a double: strictly between 0 and 1, with 53 significant bits however close to 0 it is, so that its
    /// logarithm has the full tail.
    #[inline]
    fn uniform(&mut self) -> f64 {
        // 2^-run brackets the real between powers of two; a value below 2^-1000 never occurs in practice.
        let run = self.coin_run().min(1000);
        let mantissa = (1 << 52) | (self.bits() >> 12);
        mantissa as f64 * f64::from_bits((1023 - 53 - run) << 52)
    }

    /// A standard exponential, in floating point.
    #[inline]
    fn exponential(&mut self) -> f64 {
        -libm::log(self.uniform())
    }

    /// A standard normal, in floating point (Marsaglia's polar method): for directions and matrices that are rounded to a grid later, never
    /// added to a release directly: that noise is a [`DiscreteGaussian`].
    #[inline]
    fn standard_normal(&mut self) -> f64 {
        loop {
            let (x, y) = (2.0 * self.uniform() - 1.0, 2.0 * self.uniform() - 1.0);
            let square = x * x + y * y;
            if square < 1.0 && square > 0.0 {
                return x * (-2.0 * libm::log(square) / square).sqrt();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::{SecureNoise, check};
    use crate::special::normal_cdf;

    #[test]
    fn below_is_uniform_and_stays_below() {
        let mut noise = SecureNoise::seeded(1);
        let mut counts = [0; 7];
        for _ in 0..200_000 {
            counts[noise.below(7) as usize] += 1;
        }
        assert!(!check::chi_square_alarm(&counts, &[1.0 / 7.0; 7]));
        assert_eq!(noise.below(1), 0);
        assert_eq!(noise.below(0), 0);
        // Three quarters of the words: a modulo in place of the rejection would put 5/8 into the lower half.
        let (bound, mut low) = (3_u64 << 62, [0; 2]);
        for _ in 0..20_000 {
            low[usize::from(noise.below(bound) < bound / 2)] += 1;
        }
        assert!(!check::chi_square_alarm(&low, &[0.5, 0.5]));
        let mut modulo = [0; 2];
        for _ in 0..20_000 {
            modulo[usize::from(noise.bits() % bound < bound / 2)] += 1;
        }
        assert!(check::chi_square_alarm(&modulo, &[0.5, 0.5]));
    }

    #[test]
    fn reals_follow_their_laws() {
        let mut noise = SecureNoise::seeded(2);
        let mut draw = |what: fn(&mut SecureNoise) -> f64| {
            (0..100_000).map(|_| what(&mut noise)).collect::<Vec<_>>()
        };
        let uniform = draw(SecureNoise::uniform);
        assert!(uniform.iter().all(|&u| u > 0.0 && u < 1.0));
        assert!(!check::distribution_alarm(uniform, |u| u));
        assert!(!check::distribution_alarm(draw(SecureNoise::exponential), |x| -(-x).exp_m1()));
        assert!(!check::distribution_alarm(draw(SecureNoise::standard_normal), normal_cdf));
        // Planted: a normal two percent too wide.
        let wide = draw(|noise| 1.02 * noise.standard_normal());
        assert!(check::distribution_alarm(wide.clone(), |x| normal_cdf(1.05 * x)));
        assert!(check::mean_alarm(wide.iter().map(|x| x * x), 1.0, 2f64.sqrt()));
    }
}
