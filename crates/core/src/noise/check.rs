//! Statistical checks for the tests of this module. Each rejects a correct sampler with probability below 1e-6, and every test that uses
//! one shows that it rejects a planted error.

use super::{
    Noise,
    bernoulli::Bracket,
    exact_exp::{Ceiling, Exponent, is_below_exp},
};

/// A source that returns the given words in order.
pub(crate) struct Script(pub(crate) Vec<u64>);

impl Noise for Script {
    const PROTECTS_PEOPLE: bool = false;
    const NAME: &'static str = "test";

    fn bits(&mut self) -> u64 {
        self.0.remove(0)
    }

    fn refresh(&mut self) -> crate::Result<()> {
        Ok(())
    }

    fn split(&mut self) -> crate::Result<Self> {
        Ok(Script(std::mem::take(&mut self.0)))
    }
}

/// The acceptance coin of the discrete laws in integer arithmetic only, after checking that the doubles and the rationals it is given
/// agree.
pub(super) fn exact_coin<N: Noise + ?Sized>(
    (exponent, x): (Exponent, f64),
    (ceiling, a): (Ceiling, f64),
    _: Bracket,
    noise: &mut N,
) -> bool {
    let product = |pair: [u64; 2]| pair[0] as f64 * pair[1] as f64;
    let exact_x = product(exponent.numerators) / product(exponent.denominators);
    let exact_a = ceiling.numerator as f64 / ceiling.denominator as f64
        * 0.5_f64.powi(ceiling.halvings as i32);
    assert!((x - exact_x).abs() <= 1e-15 * exact_x && (a - exact_a).abs() <= 1e-15 * exact_a);
    let first = noise.bits();
    is_below_exp(first, ceiling, exponent, noise)
}

/// ln(1e7): alarms are set at a false-alarm rate of 1e-7, and at most ten share a test.
const LOG_INVERSE_RATE: f64 = 16.118_095_650_958_32;

/// Returns whether `counts` are too far from `probabilities` (which sum to 1; bins should expect 10 or more).
/// Threshold: Laurent and Massart (2000), `P(chi2_k > k + 2 sqrt(k x) + 2 x) <= exp(-x)`.
pub(crate) fn chi_square_alarm(counts: &[u64], probabilities: &[f64]) -> bool {
    assert_eq!(counts.len(), probabilities.len());
    assert!((probabilities.iter().sum::<f64>() - 1.0).abs() < 1e-9);
    let draws = counts.iter().sum::<u64>() as f64;
    let statistic: f64 = counts
        .iter()
        .zip(probabilities)
        .map(|(&count, probability)| {
            let expected = draws * probability;
            (count as f64 - expected).powi(2) / expected
        })
        .sum();
    let freedom = (counts.len() - 1) as f64;
    let x = LOG_INVERSE_RATE;
    statistic > freedom + 2.0 * (freedom * x).sqrt() + 2.0 * x
}

/// Returns whether the mean of `values` is too far from `mean`, given their standard deviation (central limit
/// theorem: for light tails and 10^4 or more values).
pub(crate) fn mean_alarm(
    values: impl IntoIterator<Item = f64>,
    mean: f64,
    standard_deviation: f64,
) -> bool {
    let (mut count, mut sum) = (0.0, 0.0);
    for value in values {
        count += 1.0;
        sum += value - mean;
    }
    // Two-sided normal tail at 5.33: 1e-7.
    (sum / count).abs() > 5.33 * standard_deviation / f64::sqrt(count)
}

/// Returns whether `values` are too far from the continuous distribution function `cdf` (Kolmogorov-Smirnov, with
/// Massart's constant: `P(D > t) <= 2 exp(-2 n t^2)`).
pub(crate) fn distribution_alarm(mut values: Vec<f64>, cdf: impl Fn(f64) -> f64) -> bool {
    values.sort_by(f64::total_cmp);
    let count = values.len() as f64;
    let distance = values
        .iter()
        .enumerate()
        .map(|(index, &value)| {
            let below = cdf(value);
            (below - index as f64 / count).max((index + 1) as f64 / count - below)
        })
        .fold(0.0, f64::max);
    distance > ((LOG_INVERSE_RATE + 2f64.ln()) / (2.0 * count)).sqrt()
}
