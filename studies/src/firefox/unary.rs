//! Unary encoding with randomised response, as Firefox's New Tab sends interests, with the constants of its rollout of March 2026.
//!
//! An interest has one of n levels and is written as n bits, of which one is 1. Each bit is then drawn anew: a 1 stays 1 with probability p, a 0 becomes 1
//! with probability q. Two people who differ in an interest differ in two bits, so the loss of a report is
//!
//! ```text
//! ln(p/q) with probability p, else -ln((1-q)/(1-p)),   plus   ln((1-q)/(1-p)) with probability 1-q, else -ln(p/q)
//!   =  epsilon with probability p (1-q),   -epsilon with probability (1-p) q,   else 0,        epsilon = ln(p (1-q) / ((1-p) q))
//! ```
//!
//! whichever two levels they have. That is the loss of PrivUnit with `inside = p (1-q)` and the cap for which a report lies in the opposite cap with probability
//! `(1-p) q`, so the accountant prices it exactly as that event. The bits of several interests and of several refreshes are independent, so two people who differ in
//! all interests, all of the time, have independent losses that add up, and no two people have more.

use reticent::{noise::Noise, privacy::Event};

/// The probability that a 1 stays 1.
pub(super) const KEPT: f64 = 0.92;
/// The probability that a 0 becomes 1.
pub(super) const FLIPPED: f64 = 0.0288;
/// Strength of a level: the lower end of its range, as the server decodes it.
pub(super) const STRENGTHS: [f64; 4] = [0.0, 0.25, 0.46, 0.8];
/// Interests that are sent.
pub(super) const INTERESTS: usize = 8;

/// Levels of an interest.
pub(super) type Bits = [bool; STRENGTHS.len()];

/// Bits that a device sends of one interest.
pub(super) fn encode<N: Noise>(level: usize, noise: &mut N) -> Bits {
    std::array::from_fn(|bit| noise.uniform() < if bit == level { KEPT } else { FLIPPED })
}

/// Level that the server decodes: that of the only 1, the mean of two, and no interest where there are none or more.
pub(super) fn decode(bits: &Bits) -> f64 {
    let ones = bits.iter().zip(STRENGTHS).filter(|(bit, _)| **bit).map(|(_, strength)| strength);
    let (count, sum) = ones.fold((0, 0.0), |(count, sum), strength| (count + 1, sum + strength));
    match count {
        1 | 2 => sum / f64::from(count),
        _ => 0.0,
    }
}

/// Event of the bits of one interest.
pub(super) fn event() -> Event {
    let (truth, lie) = (KEPT * (1.0 - FLIPPED), (1.0 - KEPT) * FLIPPED);
    // cap/(1-cap) (1-inside) = lie.
    Event::PrivUnit { cap: lie / (1.0 - truth + lie), inside: truth }
}

/// Event of all interests over this number of refreshes.
pub(super) fn event_of_refreshes(refreshes: u64) -> Event {
    Event::Repeated { event: Box::new(event()), times: INTERESTS as u64 * refreshes }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reticent::privacy::Accountant;
    use reticent_lab::FastNoise;

    /// P(bits) for a person of this level.
    fn probability(bits: &Bits, level: usize) -> f64 {
        let bit = |(place, one): (usize, &bool)| {
            let of_one = if place == level { KEPT } else { FLIPPED };
            if *one { of_one } else { 1.0 - of_one }
        };
        bits.iter().enumerate().map(bit).product()
    }

    fn every_report() -> impl Iterator<Item = Bits> {
        (0..1_u32 << STRENGTHS.len()).map(|word| std::array::from_fn(|bit| word >> bit & 1 == 1))
    }

    /// delta of one report at epsilon, by all 16 reports.
    fn exact_delta(epsilon: f64, one: usize, other: usize) -> f64 {
        every_report()
            .map(|bits| probability(&bits, one) - epsilon.exp() * probability(&bits, other))
            .filter(|excess| *excess > 0.0)
            .sum()
    }

    #[test]
    fn the_event_has_the_loss_of_every_pair_of_levels() {
        let curve = Accountant::price(&event()).unwrap();
        for epsilon in [0.0, 0.5, 2.0, 4.0, 5.9] {
            let priced = curve.delta(epsilon).unwrap();
            for (one, other) in [(0, 1), (1, 0), (3, 0), (2, 3)] {
                let exact = exact_delta(epsilon, one, other);
                assert!((priced - exact).abs() < 1e-9, "{epsilon} {one} {other}: {priced} {exact}");
            }
        }
        let pure = (KEPT * (1.0 - FLIPPED) / ((1.0 - KEPT) * FLIPPED)).ln();
        assert!((pure - 5.96).abs() < 0.005, "{pure}");
        assert!(exact_delta(pure - 1e-6, 0, 1) > 0.0 && exact_delta(pure + 1e-9, 0, 1) < 1e-12);
        // Two interests at once: all pairs of reports.
        let both = Event::Repeated { event: Box::new(event()), times: 2 };
        let priced = Accountant::price(&both).unwrap().delta(8.0).unwrap();
        let mut exact = 0.0;
        for first in every_report() {
            for second in every_report() {
                let of = |one, two| probability(&first, one) * probability(&second, two);
                exact += (of(0, 2) - 8_f64.exp() * of(3, 1)).max(0.0);
            }
        }
        assert!((priced / exact - 1.0).abs() < 1e-6, "{priced} {exact}");
    }

    #[test]
    fn bits_are_kept_and_flipped_as_often_as_stated_and_two_ones_are_averaged() {
        let mut noise = FastNoise::seeded(5);
        let mut ones = [0.0; STRENGTHS.len()];
        let n = 200_000;
        for _ in 0..n {
            let bits = encode(2, &mut noise);
            ones.iter_mut().zip(bits).for_each(|(ones, bit)| *ones += f64::from(u8::from(bit)));
        }
        for (level, ones) in ones.into_iter().enumerate() {
            let expected = if level == 2 { KEPT } else { FLIPPED };
            assert!((ones / f64::from(n) - expected).abs() < 0.003, "{level}: {ones}");
        }
        assert_eq!(decode(&[false, false, false, true]), 0.8);
        assert_eq!(decode(&[false, true, false, true]), 0.525);
        assert_eq!(decode(&[false; 4]), 0.0);
        assert_eq!(decode(&[true, true, false, true]), 0.0);
    }
}
