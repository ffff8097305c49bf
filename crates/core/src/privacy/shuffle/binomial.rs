//! Binomial probabilities for crowds of any size, to 1e-13 relative.
//!
//! References: Loader, "Fast and accurate computation of binomial probabilities", 2000; for the tail, the
//! integral DLMF 8.17.5 by quadrature, as continued fractions need as many steps as the root of the trials.

use std::f64::consts::{LN_2, TAU};

use crate::special::{integrate, ln_gamma};

/// Counts less likely than this against the likeliest one are left to the neighbouring groups.
const NEGLIGIBLE: f64 = 1e-22;

/// A binomial law in groups of neighbouring counts.
pub struct Counts {
    /// (least count, probability), from the lowest to the highest.
    pub groups: Vec<(u64, f64)>,
    /// Number of counts a group has; the last may have fewer.
    pub width: u64,
    /// The probability below the groups, and above them, at most.
    pub below: f64,
    pub above: f64,
}

/// `Bin(trials, chance)` in groups.
///
/// Terms come from ratios of neighbours outwards from the mode. Dividing by the sum of the kept ones
/// makes every probability a little too large, which pays for the upper tail: there `delta_C` is
/// smallest.
pub fn group_binomial(trials: u64, chance: f64, most_groups: usize) -> Counts {
    if chance >= 1.0 || trials == 0 {
        return Counts { groups: vec![(trials, 1.0)], width: 1, below: 0.0, above: 0.0 };
    }
    let (n, odds) = (trials as f64, chance / (1.0 - chance));
    let mode = (((n + 1.0) * chance) as u64).min(trials);
    let (mut below, mut term) = (Vec::new(), 1.0);
    for count in (1..=mode).rev().map(|count| count as f64) {
        term *= count / ((n - count + 1.0) * odds);
        if term < NEGLIGIBLE {
            break;
        }
        below.push(term);
    }
    let lowest = mode - below.len() as u64;
    let mut terms: Vec<f64> = below.into_iter().rev().collect();
    term = 1.0;
    for count in (mode..=trials).map(|count| count as f64) {
        terms.push(term);
        term *= (n - count) / (count + 1.0) * odds;
        if term < NEGLIGIBLE {
            break;
        }
    }
    let total: f64 = terms.iter().sum();
    let up = (1.0 + 1e-15 + 8.0 * f64::EPSILON * terms.len() as f64) / total;
    let width = terms.len().div_ceil(most_groups).max(1);
    let groups = (lowest..)
        .step_by(width)
        .zip(terms.chunks(width))
        .map(|(least, chunk)| (least, chunk.iter().sum::<f64>() * up))
        .collect();
    // The mass on either side is at most a geometric series with the ratio of the first omitted terms.
    let (first, last) = (lowest as f64, (lowest + terms.len() as u64 - 1) as f64);
    let tail = |ratio: f64| NEGLIGIBLE / (1.0 - ratio) * up;
    let below = if first > 0.0 { tail(first / ((n - first + 1.0) * odds)) } else { 0.0 };
    let above = if last < n { tail((n - last) / (last + 1.0) * odds) } else { 0.0 };
    Counts { groups, width: width as u64, below, above }
}

/// `P(Bin(trials, 1/2) = successes)` by Stirling's series and the deviance, accurate for any size
/// (Loader 2000: a difference of log-gammas would lose ten digits at a billion trials).
pub fn fair_binomial(trials: u64, successes: u64) -> f64 {
    let (n, k) = (trials as f64, successes as f64);
    if successes == 0 || successes == trials {
        return libm::exp(-n * LN_2);
    }
    let lean = (2.0 * k - n) / n;
    let deviance = 0.5 * n * (libm::log1p(-lean * lean) + 2.0 * lean * libm::atanh(lean));
    let correction = stirling_error(n) - stirling_error(k) - stirling_error(n - k);
    libm::exp(correction - deviance) * (n / (TAU * k * (n - k))).sqrt()
}

/// `ln n! - ln(sqrt(2 pi n) (n/e)^n)`.
fn stirling_error(n: f64) -> f64 {
    if n < 16.0 {
        return ln_gamma(n + 1.0) - 0.5 * libm::log(TAU * n) - n * (libm::log(n) - 1.0);
    }
    let s = 1.0 / (n * n);
    (1.0 / 12.0 - s * (1.0 / 360.0 - s * (1.0 / 1260.0 - s * (1.0 / 1680.0 - s / 1188.0)))) / n
}

/// `P(Bin(trials, 1/2) >= from)` for `from > trials/2`: the incomplete beta integral
/// `from P(A = from) int_0^1 (1-v)^(from-1) (1+v)^(trials-from) dv`, whose integrand falls like
/// `exp(-lead v - (trials-1) v^2/2)` and is smooth on that scale, however many trials there are.
pub fn fair_binomial_tail(trials: u64, from: u64) -> f64 {
    const FALL: f64 = 42.0;
    const PANELS: u32 = 5;
    if from > trials {
        return 0.0;
    }
    let (n, k) = (trials as f64, from as f64);
    let (lead, spread) = ((2.0 * k - 1.0 - n).max(0.0), 0.5 * (n - 1.0));
    let exponent = |v: f64| {
        let square = if spread > 0.0 { spread * libm::log1p(-v * v) } else { 0.0 };
        let linear = if lead > 0.0 { lead * libm::atanh(v) } else { 0.0 };
        square - linear
    };
    // The positive root of spread v^2 + lead v = FALL, at most 1.
    let end = (2.0 * FALL / (lead + (lead * lead + 4.0 * spread * FALL).sqrt())).min(1.0);
    let panel = end / f64::from(PANELS);
    let integral: f64 = (0..PANELS)
        .map(|i| {
            integrate(f64::from(i) * panel, f64::from(i + 1) * panel, |v| libm::exp(exponent(v)))
        })
        .sum();
    k * fair_binomial(trials, from) * integral
}

#[cfg(test)]
mod tests {
    use super::*;

    // Reference values: mpmath, 40 digits.
    #[test]
    fn binomials_of_any_size() {
        for (trials, from, mass, tail) in [
            (10, 7, 0.117_187_5, 0.171_875),
            (1000, 600, 4.633_908_074_049_733_9e-11, 1.364_232_078_033_009_2e-10),
            (1_000_000, 502_000, 2.676_568_158_124_882_2e-7, 3.180_466_875_041_244_3e-5),
            (1_000_000_000, 500_100_000, 5.200_563_146_957_047_1e-14, 1.270_074_179_877_283_4e-10),
        ] {
            let errors =
                [fair_binomial(trials, from) / mass, fair_binomial_tail(trials, from) / tail];
            assert!(errors.iter().all(|ratio| (ratio - 1.0).abs() < 1e-13), "{trials}: {errors:?}");
        }
    }

    #[test]
    fn groups_cover_the_law() {
        for (trials, chance) in [(5, 0.3), (1000, 0.01), (1_000_000, 0.4)] {
            let Counts { groups, below: rest, above, .. } = group_binomial(trials, chance, 64);
            assert!(above < 1e-20);
            let total: f64 = groups.iter().map(|group| group.1).sum();
            let mean: f64 = groups.iter().map(|group| group.0 as f64 * group.1).sum();
            assert!(groups.len() <= 64 && rest < 1e-20 && (1.0..1.0 + 1e-9).contains(&total));
            // Charged at their least member: below the true mean, by less than a group's width.
            assert!(mean <= trials as f64 * chance * (1.0 + 1e-9));
            assert!(mean >= trials as f64 * chance - (groups[1].0 - groups[0].0) as f64);
        }
    }
}
