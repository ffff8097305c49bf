//! Noise for the tests of this module, and the two tests that every factorisation must pass.

use serde::{Deserialize, Serialize};

use super::{Factor, Factorization, Mechanism};
use crate::{
    Result,
    noise::{DiscreteGaussian, Noise},
};

/// A source without noise, to test the arithmetic.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Silent;

impl Noise for Silent {
    const PROTECTS_PEOPLE: bool = false;
    const NAME: &'static str = "test 1";

    fn bits(&mut self) -> u64 {
        0
    }

    fn refresh(&mut self) -> Result<()> {
        Ok(())
    }

    fn split(&mut self) -> Result<Self> {
        Ok(Silent)
    }

    fn discrete_gaussian(&mut self, _: &DiscreteGaussian) -> i64 {
        0
    }
}

/// Seeded bits (SplitMix64); draws are exact, repeatable and copyable, hence protect no person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Seeded(pub(crate) u64);

impl Noise for Seeded {
    const PROTECTS_PEOPLE: bool = false;
    const NAME: &'static str = "test 2";

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

    fn split(&mut self) -> Result<Self> {
        Ok(Seeded(self.bits()))
    }
}

/// Without noise, every prefix is the exact prefix sum up to `tolerance` of post-processing, and the number of noise draws is
/// `Factorization::draws`.
pub(super) fn check_exactness(mechanism: Mechanism, tolerance: f64) {
    for steps in [1_u64, 2, 3, 17, 300] {
        let factor = mechanism.build(steps).unwrap();
        let mut draws = 0;
        let mut running = factor.clone().start(2);
        let mut source = Seeded(steps);
        let mut sums = [0_i128; 2];
        for _ in 0..steps {
            let entries = [0, 1].map(|_| i128::from(source.bits() as i64 >> 18));
            sums[0] += entries[0];
            sums[1] += entries[1];
            let prefix = running.step(&entries, &mut |_| {
                draws += 1;
                0
            });
            for (got, want) in prefix.iter().zip(sums) {
                // The rounding of C x to integers moves a prefix by a few units.
                let allowed = tolerance * 2f64.powi(46) * steps as f64
                    + if tolerance > 1e-14 { 64.0 } else { 0.0 };
                assert!((got - want as f64).abs() <= allowed, "{got} against {want} of {steps}");
            }
        }
        // One more draw would mean that a node got noise twice.
        assert_eq!(f64::from(draws), 2.0 * factor.as_dyn().draws());
    }
}

/// Mean squared noise of every prefix over `SAMPLES` streams without data; `reuse` draws once per stream.
fn prefix_variances(factor: &Factor, sigma: u64, reuse: bool) -> Vec<f64> {
    let law = DiscreteGaussian::new(sigma).unwrap();
    let mut source = Seeded(1_000_003);
    let once: Vec<i64> = (0..SAMPLES).map(|_| source.discrete_gaussian(&law)).collect();
    // Coordinates are independent streams.
    let mut running = factor.clone().start(SAMPLES);
    let zeros = vec![0; SAMPLES];
    let variance = |_| {
        let prefix = running.step(&zeros, &mut |coordinate| {
            if reuse { once[coordinate] } else { source.discrete_gaussian(&law) }
        });
        prefix.iter().map(|z| z * z).sum::<f64>() / SAMPLES as f64
    };
    (0..factor.as_dyn().steps()).map(variance).collect()
}

const SAMPLES: usize = 20_000;
const SIGMA: u64 = 1 << 44;

/// Returns whether variances contradict `prefix_deviation`. A mean of `SAMPLES` squared normals has relative
/// deviation sqrt(2 / SAMPLES) = 0.01; at 6 of those, 31 prefixes alarm falsely with probability 31 * 2e-9.
fn alarm(variances: &[f64], claim: &dyn Factorization) -> bool {
    (1..).zip(variances).any(|(step, variance)| {
        let ratio = variance / (SIGMA as f64 * claim.prefix_deviation(step)).powi(2);
        (ratio - 1.0).abs() > 6.0 * (2.0 / SAMPLES as f64).sqrt()
    })
}

/// The noise of every prefix is as large as `prefix_deviation` says; one draw used for all steps, noise 5 %
/// too small, and the deviations of the `wrong` mechanism are all detected.
pub(super) fn check_deviation(mechanism: Mechanism, wrong: Mechanism) {
    let [factor, wrong] = [mechanism, wrong].map(|mechanism| mechanism.build(31).unwrap());
    check_factor_deviation(&factor, &wrong);
}

/// The same for a factor over 31 steps.
pub(super) fn check_factor_deviation(factor: &Factor, wrong: &Factor) {
    let variances = prefix_variances(factor, SIGMA, false);
    assert!(!alarm(&variances, factor.as_dyn()), "{variances:?}");
    assert!(alarm(&variances, wrong.as_dyn()), "the wrong weights went unnoticed");
    assert!(alarm(&prefix_variances(factor, SIGMA, true), factor.as_dyn()), "noise was reused");
    let small = prefix_variances(factor, SIGMA / 20 * 19, false);
    assert!(alarm(&small, factor.as_dyn()), "too little noise went unnoticed");
}

/// The first `count` columns of C, from what the running code does: B from its response to unit noise, `C = B^-1 A`. For factorisations with one draw per
/// step, of sums that keep `kept` of themselves at each step.
pub(super) fn columns(factor: &Factor, kept: f64, steps: usize, count: usize) -> Vec<Vec<f64>> {
    const UNIT: i64 = 1 << 50;
    let response = |impulse: usize| -> Vec<f64> {
        let mut running = factor.clone().start(1);
        let step = |step| running.step(&[0], &mut |_| if step == impulse { UNIT } else { 0 })[0];
        (0..steps).map(step).map(|y| y / UNIT as f64).collect()
    };
    let b: Vec<Vec<f64>> = (0..steps).map(response).collect();
    let column = |data: usize| -> Vec<f64> {
        let mut c: Vec<f64> = Vec::new();
        for (row, impulse) in b.iter().enumerate() {
            let known: f64 = c.iter().zip(&b).map(|(c, impulse)| c * impulse[row]).sum();
            let sum = if row < data { 0.0 } else { kept.powi((row - data) as i32) };
            c.push((sum - known) / impulse[row]);
        }
        c
    };
    (0..count).map(column).collect()
}

/// Checks `person_norm` against the columns of C that the running code has.
pub(super) fn check_privacy(mechanism: Mechanism) {
    const STEPS: usize = 24;
    let factor = mechanism.build(STEPS as u64).unwrap();
    let columns = columns(&factor, 1.0, STEPS, STEPS);
    let norm = |width: usize| -> f64 {
        let entry = |row: usize| columns[..width].iter().map(|column| column[row]).sum::<f64>();
        (0..STEPS).map(|row| entry(row).powi(2)).sum::<f64>().sqrt()
    };
    for k in [1, 2, 5, STEPS] {
        let claimed = factor.as_dyn().person_norm(k as u64);
        assert!((norm(k) / claimed - 1.0).abs() < 1e-9, "{} against {claimed}", norm(k));
    }
}
