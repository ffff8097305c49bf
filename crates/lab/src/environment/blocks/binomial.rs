//! Binomial draws: the number of successes in n independent trials.
//!
//! ```text
//! P(k) = C(n, k) p^k (1 - p)^(n - k)
//! ```
//!
//! With `n p >= 10` (p at most 1/2, by symmetry) Hörmann's transformed rejection with squeeze, BTRS (1993); below
//! that, inversion by counting up from 0. Both are exact up to the rounding of doubles; neither is a normal
//! approximation.

use reticent::noise::Noise;

/// One binomial draw; `p` lies in [0, 1].
pub fn binomial(n: u64, p: f64, noise: &mut impl Noise) -> u64 {
    if p > 0.5 {
        n - binomial(n, 1.0 - p, noise)
    } else if n as f64 * p < 10.0 {
        invert(n, p, noise)
    } else {
        transformed_rejection(n, p, noise)
    }
}

/// Counts up from 0 until the distribution function passes a uniform; `n p` is small.
fn invert(n: u64, p: f64, noise: &mut impl Noise) -> u64 {
    let odds = p / (1.0 - p);
    let start = (n as f64 * (-p).ln_1p()).exp();
    let (mut left, mut probability) = (noise.uniform() - start, start);
    let mut k = 0;
    while left >= 0.0 && k < n {
        probability *= (n - k) as f64 / (k + 1) as f64 * odds;
        k += 1;
        left -= probability;
        // Rounding may leave a remainder that is larger than all later terms.
        if probability < 1e-300 {
            break;
        }
    }
    k
}

/// BTRS, with the constants of Hörmann (1993).
fn transformed_rejection(n: u64, p: f64, noise: &mut impl Noise) -> u64 {
    let count = n as f64;
    let deviation = (count * p * (1.0 - p)).sqrt();
    let b = 1.15 + 2.53 * deviation;
    let a = -0.0873 + 0.0248 * b + 0.01 * p;
    let c = count * p + 0.5;
    let squeeze = 0.92 - 4.2 / b;
    let alpha = (2.83 + 5.1 / b) * deviation;
    let odds = (p / (1.0 - p)).ln();
    let mode = ((count + 1.0) * p).floor();
    let at_mode = log_factorial(mode) + log_factorial(count - mode);
    loop {
        let u = noise.uniform() - 0.5;
        let v = noise.uniform();
        let distance = 0.5 - u.abs();
        let k = ((2.0 * a / distance + b) * u + c).floor();
        if distance >= 0.07 && v <= squeeze {
            return k as u64;
        }
        if !(0.0..=count).contains(&k) {
            continue;
        }
        let v = (v * alpha / (a / (distance * distance) + b)).ln();
        if v <= at_mode - log_factorial(k) - log_factorial(count - k) + (k - mode) * odds {
            return k as u64;
        }
    }
}

/// `ln k!` of a whole number: products below 10, Stirling's series above, where its error is below 1e-13.
fn log_factorial(k: f64) -> f64 {
    if k < 10.0 {
        return (2..=k as u32).map(f64::from).product::<f64>().ln();
    }
    let inverse = 1.0 / (k + 1.0);
    let square = inverse * inverse;
    let series = 1.0 / 12.0
        - square
            * (1.0 / 360.0 - square * (1.0 / 1260.0 - square * (1.0 / 1680.0 - square / 1188.0)));
    (k + 0.5) * (k + 1.0).ln() - (k + 1.0) + 0.5 * std::f64::consts::TAU.ln() + inverse * series
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FastNoise;

    #[test]
    fn factorials_are_factorials() {
        let mut exact = 0.0;
        for k in 1..200 {
            exact += f64::from(k).ln();
            let ours = log_factorial(f64::from(k));
            assert!((ours - exact).abs() <= 1e-13 * exact.max(1.0), "{k}: {ours} {exact}");
        }
    }

    /// Kolmogorov-Smirnov distance to the binomial distribution function, summed term by term from logarithms.
    fn distance(n: u64, p: f64, draws: &[u64]) -> f64 {
        let mut counts = vec![0_u64; n as usize + 1];
        draws.iter().for_each(|&k| counts[k as usize] += 1);
        let (mut exact, mut empirical, mut worst) = (0.0, 0.0, 0.0_f64);
        let mut log_choose = 0.0;
        for k in 0..=n {
            exact += (log_choose + k as f64 * p.ln() + (n - k) as f64 * (-p).ln_1p()).exp();
            empirical += counts[k as usize] as f64 / draws.len() as f64;
            worst = worst.max((exact - empirical).abs());
            log_choose += ((n - k) as f64 / (k + 1) as f64).ln();
        }
        worst
    }

    #[test]
    fn draws_are_binomial_on_both_sides_of_the_switch() {
        // Kolmogorov-Smirnov at 1e-8 a case (Massart's bound, conservative for whole numbers).
        let count = 100_000;
        let limit = (2e8_f64.ln() / (2.0 * f64::from(count))).sqrt();
        let mut noise = FastNoise::seeded(1);
        let mut draw = |n, p| (0..count).map(|_| binomial(n, p, &mut noise)).collect::<Vec<u64>>();
        for n in [1, 16, 39, 41, 1024, 50_000] {
            for p in [0.001, 0.125, 0.26, 0.5, 0.7, 0.875] {
                let worst = distance(n, p, &draw(n, p));
                assert!(worst < limit, "n = {n}, p = {p}: {worst} against {limit}");
            }
        }
        assert_eq!((draw(5, 0.0)[0], draw(5, 1.0)[0], draw(0, 0.3)[0]), (0, 5, 0));
        // Planted: a probability one per cent off, and BTRS without its correction at the mode.
        assert!(distance(1024, 0.26, &draw(1024, 0.2626)) > limit);
    }
}
