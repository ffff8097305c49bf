//! Exact decision of `U a < exp(-x)` for a uniform real `U`, a rational `a` and a rational `x`.
//!
//! `U` is known by its leading bits and more are drawn only when they matter. `e^x = sum_i x^i / i!` has
//! positive terms, so the same recurrence `T_i = T_(i-1) x / i` rounded down gives a lower bound `L` and
//! rounded up an upper bound `H`. With the last index `i >= 2x` the terms beyond at least halve, so they
//! add up to at most `T_i`. Writing `U` in `[u, u+1) 2^-m` and `a = numerator / (denominator 2^halvings)`:
//!
//! - `(u + 1) numerator H <= denominator 2^(halvings + m)` implies `U a < exp(-x)`;
//! - `u numerator L >= denominator 2^(halvings + m)` implies `U a >= exp(-x)`;
//! - otherwise 64 more bits of `U` and of precision are taken. `exp(-x)` is irrational or 1, so this ends.
//!
//! Reached about once in 2^30 draws (see [`bernoulli`](super::bernoulli)), so the code favours clarity over speed.

use std::cmp::Ordering;

use super::Noise;

/// An exponent `x = (n0 n1) / (d0 d1) >= 0`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Exponent {
    pub(super) numerators: [u64; 2],
    pub(super) denominators: [u64; 2],
}

impl Exponent {
    /// Exponents from here on count as infinite: `exp(-512) < 2^-738`.
    const LIMIT: u128 = 512;

    fn products(&self) -> (u128, u128) {
        let product = |pair: [u64; 2]| u128::from(pair[0]) * u128::from(pair[1]);
        (product(self.numerators), product(self.denominators))
    }

    fn is_beyond_limit(&self) -> bool {
        let (numerator, denominator) = self.products();
        numerator / denominator >= Exponent::LIMIT
    }
}

/// The factor `a = numerator / (denominator 2^halvings)`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ceiling {
    pub(super) numerator: u64,
    pub(super) denominator: u64,
    pub(super) halvings: u32,
}

/// Returns whether `U a < exp(-x)`, where `first` holds the 64 leading bits of `U` and `noise` gives the others.
#[cold]
#[inline(never)]
pub(super) fn is_below_exp<N: Noise + ?Sized>(
    first: u64,
    ceiling: Ceiling,
    exponent: Exponent,
    noise: &mut N,
) -> bool {
    if exponent.is_beyond_limit() {
        return false;
    }
    let mut known = Natural::from(first);
    let mut words = 1;
    loop {
        let precision = 64 * (words + 1);
        let (low, high) = exp_bounds(exponent, precision);
        let mut right = Natural::power_of_two(ceiling.halvings + 64 * words + precision);
        right.multiply(ceiling.denominator);
        let mut above = known.clone();
        above.increment();
        if scaled(&above, &high, ceiling.numerator) <= right {
            return true;
        }
        if scaled(&known, &low, ceiling.numerator) >= right {
            return false;
        }
        known.limbs.insert(0, noise.bits());
        words += 1;
    }
}

/// Lower and upper bound of `2^precision exp(x)`.
fn exp_bounds(exponent: Exponent, precision: u32) -> (Natural, Natural) {
    let (numerator, denominator) = exponent.products();
    let one = Natural::power_of_two(precision);
    let (mut low_term, mut high_term) = (one.clone(), one.clone());
    let (mut low, mut high) = (one.clone(), one);
    for index in 1_u64.. {
        for (term, round_up) in [(&mut low_term, false), (&mut high_term, true)] {
            exponent.numerators.iter().for_each(|&factor| term.multiply(factor));
            for divisor in [exponent.denominators[0], exponent.denominators[1], index] {
                if term.divide(divisor) != 0 && round_up {
                    term.increment();
                }
            }
        }
        low.add(&low_term);
        high.add(&high_term);
        // x < 512 here, so neither product comes near 2^128.
        let terms_halve = u128::from(index) * denominator >= 2 * numerator;
        if terms_halve && high_term <= Natural::from(1) {
            break;
        }
    }
    high.add(&high_term);
    (low, high)
}

/// `left * right * factor`.
fn scaled(left: &Natural, right: &Natural, factor: u64) -> Natural {
    let mut sum = Natural::from(0);
    for (index, &limb) in left.limbs.iter().enumerate() {
        let mut row = right.clone();
        row.multiply(limb);
        row.limbs.splice(0..0, std::iter::repeat_n(0, index));
        sum.add(&row);
    }
    sum.multiply(factor);
    sum
}

/// A natural number in 64-bit limbs, lowest first; leading zero limbs are allowed.
#[derive(Debug, Clone)]
struct Natural {
    limbs: Vec<u64>,
}

impl From<u64> for Natural {
    fn from(value: u64) -> Self {
        Natural { limbs: vec![value] }
    }
}

impl Natural {
    fn power_of_two(exponent: u32) -> Self {
        let mut limbs = vec![0; (exponent / 64) as usize];
        limbs.push(1 << (exponent % 64));
        Natural { limbs }
    }

    fn multiply(&mut self, factor: u64) {
        let mut carry = 0_u128;
        for limb in &mut self.limbs {
            carry += u128::from(*limb) * u128::from(factor);
            *limb = carry as u64;
            carry >>= 64;
        }
        if carry != 0 {
            self.limbs.push(carry as u64);
        }
    }

    /// Divides rounding down and returns the remainder.
    fn divide(&mut self, divisor: u64) -> u64 {
        let mut remainder = 0_u128;
        for limb in self.limbs.iter_mut().rev() {
            remainder = (remainder << 64) | u128::from(*limb);
            *limb = (remainder / u128::from(divisor)) as u64;
            remainder %= u128::from(divisor);
        }
        remainder as u64
    }

    fn add(&mut self, other: &Natural) {
        if self.limbs.len() < other.limbs.len() {
            self.limbs.resize(other.limbs.len(), 0);
        }
        let mut carry = false;
        for (index, limb) in self.limbs.iter_mut().enumerate() {
            let addend = other.limbs.get(index).copied().unwrap_or(0);
            let (sum, first) = limb.overflowing_add(addend);
            let (sum, second) = sum.overflowing_add(u64::from(carry));
            *limb = sum;
            carry = first || second;
        }
        if carry {
            self.limbs.push(1);
        }
    }

    fn increment(&mut self) {
        self.add(&Natural::from(1));
    }

    fn significant(&self) -> &[u64] {
        let length = self.limbs.iter().rposition(|&limb| limb != 0).map_or(0, |index| index + 1);
        &self.limbs[..length]
    }
}

impl PartialEq for Natural {
    fn eq(&self, other: &Self) -> bool {
        self.significant() == other.significant()
    }
}

impl PartialOrd for Natural {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        let (left, right) = (self.significant(), other.significant());
        Some(left.len().cmp(&right.len()).then_with(|| left.iter().rev().cmp(right.iter().rev())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::SecureNoise;

    const ONE: Ceiling = Ceiling { numerator: 1, denominator: 1, halvings: 0 };

    fn exponent(numerator: u64, denominator: u64) -> Exponent {
        Exponent { numerators: [numerator, 1], denominators: [denominator, 1] }
    }

    #[test]
    fn bounds_enclose_known_digits_of_e() {
        // floor(2^128 e), by mpmath at 60 digits: limbs lowest first.
        let digits = Natural { limbs: vec![0xbf71_5880_9cf4_f3c7, 0xb7e1_5162_8aed_2a6a, 2] };
        let (low, high) = exp_bounds(exponent(1, 1), 128);
        assert!(low <= digits && digits < high);
        // Each of about 35 terms is rounded once, so the two bounds are also close together.
        let mut near = low.clone();
        near.add(&Natural::from(200));
        assert!(high <= near);
    }

    #[test]
    fn thresholds_are_the_digits_of_exp() {
        // floor(2^64 exp(-x)) by mpmath: one word below is under the curve, one above is over it.
        let mut noise = SecureNoise::seeded(5);
        for (numerator, denominator, threshold) in [
            (1, 1, 6_786_177_901_268_885_274_u64),
            (1, 3, 13_217_669_706_954_385_033),
            (7, 2, 557_043_403_687_188_861),
            (30, 1, 1_726_176),
        ] {
            let mut decide =
                |word| is_below_exp(word, ONE, exponent(numerator, denominator), &mut noise);
            assert!(decide(threshold - 1), "{numerator}/{denominator}");
            assert!(!decide(threshold + 1), "{numerator}/{denominator}");
        }
        assert!(is_below_exp(u64::MAX, ONE, exponent(0, 1), &mut noise));
        assert!(!is_below_exp(0, ONE, exponent(512, 1), &mut noise));
        assert!(!is_below_exp(0, ONE, exponent(u64::MAX, 1), &mut noise));
    }

    #[test]
    fn a_tie_is_broken_by_fresh_bits_in_the_right_proportion() {
        // U = (6786177901268885274 + V) / 2^64 with V uniform: below 1/e iff V < frac(2^64 / e) = 0.7299...
        let mut noise = SecureNoise::seeded(6);
        let below = (0..40_000)
            .filter(|_| is_below_exp(6_786_177_901_268_885_274, ONE, exponent(1, 1), &mut noise))
            .count() as u64;
        let counts = [below, 40_000 - below];
        let chance = 0.729_961_842_895_438;
        assert!(!crate::noise::check::chi_square_alarm(&counts, &[chance, 1.0 - chance]));
        assert!(crate::noise::check::chi_square_alarm(&counts, &[0.70, 0.30]));
    }
}
