//! PrivUnit on the sufficient statistics of least squares: pure local privacy for private arms and small epsilon.
//!
//! ```text
//! u = (a svec(x x^T), b x z),   a^2 + b^2 = 1,   report V = PrivUnit(u),   estimate V / (m a), V / (m b)
//! ```
//!
//! svec is the upper triangle with `sqrt 2` off the diagonal, so that `|svec(x x^T)| = |x|^2`: for `|x| <= 1`, `|z| <= 1` u lies in
//! the unit ball of `D = d(d+1)/2 + d` dimensions. Where it is shorter than 1, a coin makes it a unit vector of the same mean
//! ([`super::second_moment`]); a mixture of reports that are each epsilon-DP is epsilon-DP, and no dimension is spent on padding.
//!
//! The noise of `x x^T` off the diagonal has deviation `1/(m a sqrt(2D))`, that of `x z` `1/(m b sqrt D)`.

use std::f64::consts::{FRAC_1_SQRT_2, SQRT_2};

use super::{
    Correlation, Interaction, Precision, PrivUnit,
    second_moment::{exact, on_the_sphere},
};
use crate::{
    Result,
    error::finite_vector,
    noise::Noise,
    privacy::Event,
    refuse_if,
    release::{Domain, Structure},
};

/// A calibrated PrivUnit report of `x x^T` and `x z`.
#[derive(Debug, Clone, PartialEq)]
pub struct UnitGram {
    domain: Domain,
    /// a; b follows.
    matrix_weight: f64,
    pub(super) unit: PrivUnit,
}

impl UnitGram {
    /// a: the noise of the matrix counts less than its size suggests, for the ridge takes much of it.
    pub const DEFAULT_WEIGHT: f64 = 0.6;

    /// The mechanism for arms of `dimension` features.
    pub fn new(dimension: usize, epsilon: f64) -> Result<Self> {
        UnitGram::with_weight(dimension, epsilon, Self::DEFAULT_WEIGHT)
    }

    /// The same with another weight a on the matrix, strictly between 0 and 1.
    pub fn with_weight(dimension: usize, epsilon: f64, matrix_weight: f64) -> Result<Self> {
        UnitGram::of(Domain::regression(dimension, 1.0, 1.0), epsilon, matrix_weight)
    }

    /// The mechanism for arms of blocks of parameters: u has zeros outside the arm's block, and a report hides which it is.
    pub fn in_blocks(dimension: usize, structure: Structure, epsilon: f64) -> Result<Self> {
        let domain = Domain::regression(dimension, 1.0, 1.0).structured(structure);
        UnitGram::of(domain, epsilon, Self::DEFAULT_WEIGHT)
    }

    fn of(domain: Domain, epsilon: f64, matrix_weight: f64) -> Result<Self> {
        let dimension = domain.dimension();
        refuse_if(
            !(1..=1 << 10).contains(&dimension),
            "dimension",
            dimension,
            "expected 1 to 1024",
        )?;
        domain.check()?;
        crate::error::probability("matrix_weight", matrix_weight)?;
        let unit = PrivUnit::new(domain.coordinates(), epsilon)?;
        Ok(UnitGram { domain, matrix_weight, unit })
    }

    fn vector_weight(&self) -> f64 {
        (1.0 - self.matrix_weight * self.matrix_weight).sqrt()
    }

    /// Multiplies the entries of (triangle, vector) by `diagonal`, `off` and `vector`.
    fn scale(&self, entries: &mut [f64], diagonal: f64, off: f64, vector: f64) {
        let (matrix, moment) = entries.split_at_mut(self.domain.matrix_coordinates());
        let Structure { blocks, shared } = self.domain.structure();
        let mut entries = matrix.iter_mut();
        let mut rows = |longest: usize, shortest: usize| {
            for length in (shortest..=longest).rev() {
                entries.by_ref().take(length).enumerate().for_each(|(column, entry)| {
                    *entry *= if column == 0 { diagonal } else { off };
                });
            }
        };
        (0..blocks).for_each(|_| rows(self.domain.dimension(), shared + 1));
        rows(shared, 1);
        moment.iter_mut().for_each(|x| *x *= vector);
    }

    /// A point of the sphere in D dimensions.
    pub fn randomize<N: Noise>(
        &self,
        interaction: &Interaction,
        noise: &mut N,
    ) -> Result<Vec<f64>> {
        interaction.expect(self.domain.dimension())?;
        let dense = exact(interaction.features(), interaction.reward());
        let mut u = self.domain.layout().embed(interaction.block(), dense);
        let a = self.matrix_weight;
        self.scale(&mut u, a, a * SQRT_2, self.vector_weight());
        self.unit.direction(&on_the_sphere(u, noise)?, noise)
    }

    /// Estimate of `x x^T` and `x z` in a report, without bias if reports correlate with the truth as `correlation` says.
    pub fn estimate(&self, report: &[f64], correlation: Correlation) -> Result<Vec<f64>> {
        finite_vector("report", report, self.domain.coordinates())?;
        let mut sums = report.to_vec();
        let (m, a) = (correlation.first, self.matrix_weight);
        let diagonal = 1.0 / (m * a);
        self.scale(&mut sums, diagonal, diagonal * FRAC_1_SQRT_2, 1.0 / (m * self.vector_weight()));
        Ok(sums)
    }

    /// The privacy event of one report.
    pub fn event(&self) -> Event {
        self.unit.event()
    }

    /// Correlation of reports with the truth.
    pub fn correlation(&self) -> Correlation {
        self.unit.correlation()
    }

    /// The noise of one estimate: a report has length 1 and a mean of length m, so its entries have the variance `1 - m^2` together.
    pub fn precision(&self) -> Precision {
        let size = self.domain.coordinates() as f64;
        let correlation = self.unit.mean_correlation();
        let deviation = ((1.0 - correlation * correlation).max(0.0) / size).sqrt() / correlation;
        Precision {
            matrix: deviation * FRAC_1_SQRT_2 / self.matrix_weight,
            vector: deviation / self.vector_weight(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{noise::check::mean_alarm, randomize::Bounds, release::testing::Seeded};

    #[test]
    fn estimates_are_unbiased_on_the_sphere_and_inside_the_ball() {
        let randomizer = UnitGram::new(2, 2.0).unwrap();
        let mut noise = Seeded(7);
        for (x, z) in [([0.6, 0.8], 1.0), ([0.3, -0.2], 0.4), ([0.0, 0.0], 0.0)] {
            let clipped = Bounds::unit(2).clip(&x, z).unwrap();
            let truth = exact(&x, z);
            let draws: Vec<Vec<f64>> = (0..40_000)
                .map(|_| {
                    let report = randomizer.randomize(&clipped, &mut noise).unwrap();
                    randomizer.estimate(&report, randomizer.correlation()).unwrap()
                })
                .collect();
            let Precision { matrix, vector } = randomizer.precision();
            // A unit vector's entry has second moment at most 1: sqrt 5 times the mean deviation covers every case.
            let spread = [2f64.sqrt() * matrix, matrix, 2f64.sqrt() * matrix, vector, vector];
            for (i, truth) in truth.iter().enumerate() {
                let values = || draws.iter().map(|v| v[i]);
                assert!(!mean_alarm(values(), *truth, 2.3 * spread[i]), "{x:?} {i}");
                if truth.abs() > 0.3 {
                    // Planted: not divided by the mean correlation.
                    let biased = values().map(|v| v * randomizer.correlation().first);
                    assert!(mean_alarm(biased, *truth, 2.3 * spread[i]), "{x:?} {i}");
                }
            }
        }
    }

    #[test]
    fn reports_hide_who_is_short_and_cost_what_priv_unit_costs() {
        let randomizer = UnitGram::new(3, 1.0).unwrap();
        let mut noise = Seeded(8);
        for x in [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]] {
            let clipped = Bounds::unit(3).clip(&x, 0.0).unwrap();
            let report = randomizer.randomize(&clipped, &mut noise).unwrap();
            assert!((report.iter().map(|v| v * v).sum::<f64>() - 1.0).abs() < 1e-8);
        }
        let curve = crate::privacy::Accountant::price(&randomizer.event()).unwrap();
        assert!((curve.epsilon(1e-12).unwrap() - 1.0).abs() < 1e-6);
    }

    #[test]
    fn bad_input_is_refused() {
        assert!(UnitGram::new(0, 1.0).is_err());
        assert!(UnitGram::new(2, -1.0).is_err());
        assert!(UnitGram::with_weight(2, 1.0, 1.0).is_err());
        let randomizer = UnitGram::new(2, 1.0).unwrap();
        assert!(randomizer.estimate(&[0.0; 4], randomizer.correlation()).is_err());
        let other = Bounds::unit(3).clip(&[0.1; 3], 0.5).unwrap();
        assert!(randomizer.randomize(&other, &mut Seeded(1)).is_err());
    }
}
