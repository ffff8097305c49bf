//! Noise for this room's tests, and the two tests every factorisation must pass.

use serde::{Deserialize, Serialize};

use super::Factor;
use crate::{
    Result,
    noise::{DiscreteGaussian, Noise},
};

/// No noise at all: what is left is arithmetic.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Silent;

impl Noise for Silent {
    const PROTECTS_PEOPLE: bool = false;

    fn bits(&mut self) -> u64 {
        0
    }

    fn refresh(&mut self) -> Result<()> {
        Ok(())
    }

    fn discrete_gaussian(&mut self, _: &DiscreteGaussian) -> i64 {
        0
    }
}

/// Seeded bits (SplitMix64); draws are exact, repeatable and copyable, hence protect nobody.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Seeded(pub(super) u64);

impl Noise for Seeded {
    const PROTECTS_PEOPLE: bool = false;

    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let word = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    fn refresh(&mut self) -> Result<()> {
        self.0 ^= 0x5555_5555_5555_5555;
        Ok(())
    }
}

/// Without noise, every prefix is the exact prefix sum up to `tolerance` of post-processing.
pub(super) fn check_exactness(build: impl Fn(u64) -> Factor, tolerance: f64) {
    for steps in [1_u64, 2, 3, 17, 300] {
        let mut running = build(steps).start(2);
        let mut source = Seeded(steps);
        let mut sums = [0_i128; 2];
        for _ in 0..steps {
            let entries = [0, 1].map(|_| i128::from(source.bits() as i64 >> 18));
            sums[0] += entries[0];
            sums[1] += entries[1];
            let prefix = running.step(&entries, &mut |_| 0);
            for (got, want) in prefix.iter().zip(sums) {
                // The rounding of C x to integers moves a prefix by a few units.
                let allowed = tolerance * 2f64.powi(46) * steps as f64
                    + if tolerance > 1e-14 { 64.0 } else { 0.0 };
                assert!((got - want as f64).abs() <= allowed, "{got} against {want} of {steps}");
            }
        }
    }
}

/// Ratio of squared noise in all prefixes to what `prefix_deviation` says, worst first, over `SAMPLES` streams.
fn variance_ratios(factor: &Factor, law: &DiscreteGaussian, reuse: bool) -> Vec<f64> {
    let steps = factor.as_dyn().steps();
    let mut source = Seeded(1_000_003);
    let mut squares = vec![0.0; steps as usize];
    let fixed: Vec<i64> = (0..SAMPLES).map(|_| source.discrete_gaussian(law)).collect();
    // Coordinates are independent streams.
    let mut running = factor.clone().start(SAMPLES);
    let zeros = vec![0; SAMPLES];
    for square in &mut squares {
        let prefix = running.step(&zeros, &mut |coordinate| {
            if reuse { fixed[coordinate] } else { source.discrete_gaussian(law) }
        });
        *square = prefix.iter().map(|z| z * z).sum();
    }
    let variance =
        |step: u64| (law.sigma() as f64 * factor.as_dyn().prefix_deviation(step)).powi(2);
    (1..=steps)
        .zip(squares)
        .map(|(step, square)| square / (SAMPLES as f64 * variance(step)))
        .collect()
}

const SAMPLES: usize = 20_000;
/// 6 deviations of a chi-square mean: over 31 prefixes a false alarm has probability below 31 * 2e-9.
const ALARM: f64 = 6.0 * 0.01;

/// The empirical deviation of every prefix is `prefix_deviation`; noise used twice, or noise one tenth too
/// small, is found out. `SAMPLES` squared normals have relative deviation sqrt(2 / SAMPLES) = 0.01.
pub(super) fn check_deviation(factor: Factor) {
    let sigma = 1 << 44;
    let law = DiscreteGaussian::new(sigma).unwrap();
    let alarm = |ratios: &[f64]| ratios.iter().any(|ratio| (ratio - 1.0).abs() > ALARM);
    let ratios = variance_ratios(&factor, &law, false);
    assert!(!alarm(&ratios), "{ratios:?}");
    assert!(alarm(&variance_ratios(&factor, &law, true)), "noise used twice went unnoticed");
    let small: Vec<f64> = ratios.iter().map(|ratio| ratio * 0.81).collect();
    assert!(alarm(&small), "a wrong constant went unnoticed");
}
