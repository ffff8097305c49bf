//! Uniform numbers, directions and elementary functions, many at a time.
//!
//! Everything works on columns: entry r belongs to round r. Loops are plain, without branches and without calls,
//! so that the compiler vectorises them; sums are never reassociated, so every instruction set gives the same
//! bits. They index, because iterator adaptors are not inlined into functions compiled for wider vectors. Random
//! words come from 32 interleaved xoshiro256++ streams.
//!
//! Directions on the unit sphere of R^m, exactly: a sign (m = 1); `(sqrt(u) e^{ia}, sqrt(1 - u) e^{ib})`
//! (m = 4, where |z_1|^2 is uniform); normalised normals by Box and Muller otherwise.

#![allow(clippy::needless_range_loop)] // Iterator adaptors are not inlined into functions for wider vectors.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_PI_4, LN_2};

use reticent::noise::Noise;

use crate::{FastNoise, environment::Slice};

/// Rounds that are simulated together.
pub(super) const ROUNDS: usize = 256;
/// Lists are padded to a multiple of this.
pub(super) const LANES: usize = 8;

/// Sums are taken over a multiple of this number of rounds.
pub(super) const SUMMED: usize = 32;

/// Independent random streams.
const STREAMS: usize = 32;

/// One number per round.
pub(super) type Column = [f64; ROUNDS];

pub(super) const ZEROS: Column = [0.0; ROUNDS];

/// Streams of xoshiro256++, side by side.
///
/// There are enough of them that the compiler keeps the loop over streams and vectorises it.
#[derive(Debug, Clone)]
pub(super) struct LaneNoise {
    state: [[u64; STREAMS]; 4],
}

impl LaneNoise {
    /// Streams seeded from another generator.
    pub(super) fn new(noise: &mut FastNoise) -> Self {
        LaneNoise { state: std::array::from_fn(|_| std::array::from_fn(|_| noise.bits())) }
    }

    /// Fills the first `count` entries, rounded up to a multiple of 32, with uniforms in [0, 1).
    #[inline(always)]
    pub(super) fn uniforms(&mut self, column: &mut Column, count: usize) {
        let [a, b, c, d] = &mut self.state;
        let (chunks, _) = column.as_chunks_mut::<STREAMS>();
        for chunk in 0..count.div_ceil(STREAMS) {
            let chunk = &mut chunks[chunk];
            for l in 0..STREAMS {
                let word = a[l].wrapping_add(d[l]).rotate_left(23).wrapping_add(a[l]);
                let shifted = b[l] << 17;
                c[l] ^= a[l];
                d[l] ^= b[l];
                b[l] ^= c[l];
                a[l] ^= d[l];
                c[l] ^= shifted;
                d[l] = d[l].rotate_left(45);
                // 52 bits behind the exponent of 1: a uniform in [1, 2).
                chunk[l] = f64::from_bits((word >> 12) | (1023 << 52)) - 1.0;
            }
        }
    }
}

/// Cosine and sine of `2 pi u - pi` for u in [0, 1], to 1e-14.
#[inline(always)]
pub(super) fn circle(u: f64) -> (f64, f64) {
    // An eighth of the angle lies within pi/8, where Taylor's series is short; then double it three times.
    let angle = FRAC_PI_4 * (u - 0.5);
    let x = angle * angle;
    let mut s = -1.0 / 39_916_800.0;
    s = s * x + 1.0 / 362_880.0;
    s = s * x - 1.0 / 5_040.0;
    s = s * x + 1.0 / 120.0;
    s = s * x - 1.0 / 6.0;
    s = (s * x + 1.0) * angle;
    let mut c = 1.0 / 479_001_600.0;
    c = c * x - 1.0 / 3_628_800.0;
    c = c * x + 1.0 / 40_320.0;
    c = c * x - 1.0 / 720.0;
    c = c * x + 1.0 / 24.0;
    c = c * x - 0.5;
    c = c * x + 1.0;
    (c, s) = (1.0 - 2.0 * s * s, 2.0 * s * c);
    (c, s) = (1.0 - 2.0 * s * s, 2.0 * s * c);
    (1.0 - 2.0 * s * s, 2.0 * s * c)
}

/// The natural logarithm of a normal positive number, to 1e-15 of the larger of it and 1.
#[inline(always)]
pub(super) fn logarithm(v: f64) -> f64 {
    const ONE: u64 = 1023 << 52;
    // v = m 2^e with m in [sqrt(1/2), sqrt(2)); the exponent becomes a double by way of 2^52's mantissa.
    let bits = v.to_bits();
    let biased = bits.wrapping_add(ONE - FRAC_1_SQRT_2.to_bits()) >> 52;
    let m = f64::from_bits(bits.wrapping_sub((biased << 52).wrapping_sub(ONE)));
    let e = f64::from_bits(biased | (1075 << 52)) - (4_503_599_627_370_496.0 + 1023.0);
    let f = (m - 1.0) / (m + 1.0);
    let x = f * f;
    let mut sum = 1.0 / 17.0;
    sum = sum * x + 1.0 / 15.0;
    sum = sum * x + 1.0 / 13.0;
    sum = sum * x + 1.0 / 11.0;
    sum = sum * x + 1.0 / 9.0;
    sum = sum * x + 1.0 / 7.0;
    sum = sum * x + 1.0 / 5.0;
    sum = sum * x + 1.0 / 3.0;
    e * LN_2 + 2.0 * f * (sum * x + 1.0)
}

/// `e^x` for x in [-700, 0], to 1e-15 relative.
#[inline(always)]
pub(super) fn exponential(x: f64) -> f64 {
    // x = n ln 2 + f with |f| <= ln(2)/2; n becomes an exponent by way of the mantissa of 3 * 2^51.
    const MAGIC: f64 = 6_755_399_441_055_744.0;
    let shifted = x * std::f64::consts::LOG2_E + MAGIC;
    let n = shifted - MAGIC;
    let f = (x - n * 6.931_471_803_691_238_2e-1) - n * 1.908_214_929_270_587_7e-10;
    let mut sum = 1.0 / 6_227_020_800.0;
    sum = sum * f + 1.0 / 479_001_600.0;
    sum = sum * f + 1.0 / 39_916_800.0;
    sum = sum * f + 1.0 / 3_628_800.0;
    sum = sum * f + 1.0 / 362_880.0;
    sum = sum * f + 1.0 / 40_320.0;
    sum = sum * f + 1.0 / 5_040.0;
    sum = sum * f + 1.0 / 720.0;
    sum = sum * f + 1.0 / 120.0;
    sum = sum * f + 1.0 / 24.0;
    sum = sum * f + 1.0 / 6.0;
    sum = sum * f + 0.5;
    sum = (sum * f + 1.0) * f + 1.0;
    sum * f64::from_bits(shifted.to_bits().wrapping_add(1023) << 52)
}

/// Turns two columns of uniforms into normals of variance 1/2 (Box and Muller).
#[inline(always)]
pub(super) fn normals(first: &mut Column, second: &mut Column, count: usize) {
    assert!(count <= ROUNDS);
    for r in 0..count {
        let radius = (-logarithm(1.0 - first[r])).sqrt();
        let (c, s) = circle(second[r]);
        first[r] = radius * c;
        second[r] = radius * s;
    }
}

/// Fills `count` entries of these columns with uniform directions of these lengths.
#[inline(always)]
pub(super) fn directions(
    noise: &mut LaneNoise,
    columns: &mut [Column],
    lengths: &Column,
    count: usize,
    scratch: &mut [Column; 2],
) {
    assert!(count <= ROUNDS);
    match columns {
        [only] => {
            noise.uniforms(only, count);
            for r in 0..count {
                only[r] = if only[r] < 0.5 { lengths[r] } else { -lengths[r] };
            }
        }
        [a, b, c, d] => {
            noise.uniforms(a, count);
            noise.uniforms(b, count);
            noise.uniforms(c, count);
            for r in 0..count {
                let (first, second) = (circle(a[r]), circle(b[r]));
                let length = lengths[r] * c[r].sqrt();
                let other = lengths[r] * (1.0 - c[r]).sqrt();
                a[r] = length * first.0;
                b[r] = length * first.1;
                c[r] = other * second.0;
                d[r] = other * second.1;
            }
        }
        _ => normalised_normals(noise, columns, lengths, count, scratch),
    }
}

/// Directions in any number of dimensions.
#[inline(always)]
fn normalised_normals(
    noise: &mut LaneNoise,
    columns: &mut [Column],
    lengths: &Column,
    count: usize,
    [scale, spare]: &mut [Column; 2],
) {
    for i in 0..columns.len() {
        noise.uniforms(&mut columns[i], count);
    }
    let pairs = columns.len() / 2;
    for pair in 0..pairs {
        let (left, right) = columns.split_at_mut(2 * pair + 1);
        normals(&mut left[2 * pair], &mut right[0], count);
    }
    if columns.len() % 2 == 1 {
        noise.uniforms(spare, count);
        normals(&mut columns[2 * pairs], spare, count);
    }
    for r in 0..count {
        scale[r] = 0.0;
    }
    for i in 0..columns.len() {
        let column = &columns[i];
        for r in 0..count {
            scale[r] += column[r] * column[r];
        }
    }
    for r in 0..count {
        scale[r] = lengths[r] / scale[r].sqrt();
    }
    for i in 0..columns.len() {
        let column = &mut columns[i];
        for r in 0..count {
            column[r] *= scale[r];
        }
    }
}

/// Fills the first `count` entries of a column with draws of `<x, theta*>` from a slice.
#[inline(always)]
pub(super) fn products(
    noise: &mut LaneNoise,
    slice: &Slice,
    count: usize,
    products: &mut Column,
    [proposed, threshold, density]: &mut [Column; 3],
) {
    let (whole, half) = slice.exponent();
    let scale = 1.0 / slice.peak();
    let width = slice.high - slice.low;
    let relative = |t: f64| scale * (1.0 - t) * (1.0 + t);
    let mut filled = 0;
    while filled < count {
        let tries = (count - filled).next_multiple_of(LANES);
        assert!(tries <= ROUNDS);
        noise.uniforms(proposed, tries);
        noise.uniforms(threshold, tries);
        for r in 0..tries {
            proposed[r] = slice.low + width * proposed[r];
            density[r] = 1.0;
        }
        if half > 0 {
            for r in 0..tries {
                density[r] = relative(proposed[r]).sqrt();
            }
        } else if half < 0 {
            for r in 0..tries {
                density[r] = 1.0 / relative(proposed[r]).sqrt();
            }
        }
        for _ in 0..whole {
            for r in 0..tries {
                density[r] *= relative(proposed[r]);
            }
        }
        for r in 0..tries {
            if filled == count {
                return;
            }
            // The mask shows the compiler that the index is in bounds.
            products[filled % ROUNDS] = proposed[r];
            filled += usize::from(threshold[r] < density[r]);
        }
    }
}

/// The sum of the first `count` entries, in 32 partial sums; `count` is a multiple of 32.
#[inline(always)]
pub(super) fn sum(column: &Column, count: usize) -> f64 {
    let (chunks, _) = column.as_chunks::<SUMMED>();
    let mut partial = [0.0; SUMMED];
    for chunk in 0..count / SUMMED {
        let chunk = &chunks[chunk];
        for l in 0..SUMMED {
            partial[l] += chunk[l];
        }
    }
    total(&partial)
}

#[inline(always)]
fn total(partial: &[f64; SUMMED]) -> f64 {
    let mut sum = 0.0;
    for l in 0..SUMMED {
        sum += partial[l];
    }
    sum
}

/// The sum of the first `count` products, in 32 partial sums; `count` is a multiple of 32.
#[inline(always)]
pub(super) fn dot(left: &Column, right: &Column, count: usize) -> f64 {
    let (left, _) = left.as_chunks::<SUMMED>();
    let (right, _) = right.as_chunks::<SUMMED>();
    let mut partial = [0.0; SUMMED];
    for chunk in 0..count / SUMMED {
        let (left, right) = (&left[chunk], &right[chunk]);
        for l in 0..SUMMED {
            partial[l] += left[l] * right[l];
        }
    }
    total(&partial)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_lane_is_xoshiro256_plus_plus() {
        let mut noise =
            LaneNoise { state: [[1; STREAMS], [2; STREAMS], [3; STREAMS], [4; STREAMS]] };
        let mut column = ZEROS;
        noise.uniforms(&mut column, 2 * STREAMS);
        // First outputs from the state 1, 2, 3, 4, by the authors' C code.
        let expected = |word: u64| (word >> 12) as f64 / (1_u64 << 52) as f64;
        assert_eq!(column[..STREAMS], [expected(41_943_041); STREAMS]);
        assert_eq!(column[STREAMS..2 * STREAMS], [expected(58_720_359); STREAMS]);
        // Another seed, another stream in every lane.
        let mut noise = LaneNoise::new(&mut FastNoise::seeded(1));
        noise.uniforms(&mut column, ROUNDS);
        column.sort_by(f64::total_cmp);
        assert!(column.windows(2).all(|pair| pair[0] < pair[1]) && column[ROUNDS - 1] < 1.0);
    }

    #[test]
    fn elementary_functions_are_accurate() {
        for i in 0..=70_000 {
            let x = -1e-2 * f64::from(i);
            assert!((exponential(x) / x.exp() - 1.0).abs() < 2e-15, "{x}");
        }
        for i in 0..=100_000 {
            let u = f64::from(i) / 1e5;
            let (c, s) = circle(u);
            let (sine, cosine) = (std::f64::consts::TAU * u - std::f64::consts::PI).sin_cos();
            assert!((c - cosine).abs() < 1e-14 && (s - sine).abs() < 1e-14, "{u}: {c} {s}");
            let v = (1.0 - u).max(2_f64.powi(-52));
            let (ours, exact) = (logarithm(v), v.ln());
            assert!((ours - exact).abs() <= 1e-15 * exact.abs().max(1.0), "{v}: {ours} {exact}");
        }
        assert!((logarithm(3e-310_f64.max(f64::MIN_POSITIVE)) + 708.396_418_532_264).abs() < 1e-11);
    }
}
