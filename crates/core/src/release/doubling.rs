//! An unknown horizon: epochs of doubling length, and a small mechanism over epoch totals.
//!
//! ```text
//! prefix(t) = outer prefix over the finished epochs + inner prefix of the running epoch
//! ```
//!
//! Epoch i has `64 * 2^i` steps (until the inner mechanism's longest) and its own factorisation; the exact
//! total of each finished epoch enters a square-root Toeplitz mechanism over 48 epochs. A contribution lies
//! in one inner stream and in one entry of the outer stream, so with `mu_outer^2 = p mu^2` and
//! `mu_inner^2 = (1 - p) mu^2` it costs mu, however long the stream runs.
//!
//! **The split.** With s the product of column and row norms, the variance `(s_outer^2 / p + s_inner^2 / (1 - p))
//! / mu^2` is least at `p = s_outer / (s_outer + s_inner)`, where the deviation is `(s_outer + s_inner) / mu`.
//! s_inner grows with the epoch while p must not; p is the best one at a million steps, and a wrong p
//! matters only to second order.
//!
//! **Several contributions** may fall into any epochs: k of them cost at most k times one, by the triangle
//! inequality over k single changes.

use serde::{Deserialize, Serialize};

use super::{
    Domain, Mechanism,
    calibration::GridNoise,
    clip::Clipper,
    factorization::{Factorization, Running},
    toeplitz::Toeplitz,
};
use crate::{Result, noise::Noise};

/// Steps of the first epoch.
const FIRST: u64 = 64;
/// Epochs the outer mechanism is calibrated for.
const EPOCHS: u64 = 48;
/// Steps for which the split between outer and inner is best.
const SPLIT_FOR: u64 = 1 << 20;

/// The data-independent part: lengths, split, calibration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Epochs {
    mechanism: Mechanism,
    /// The mu that one contribution may cost, and how far it moves the sum.
    mu: f64,
    sensitivity: f64,
    /// p, the outer mechanism's share of mu^2.
    share: f64,
}

impl Epochs {
    pub(super) fn new(mechanism: Mechanism, domain: &Domain, mu: f64) -> Result<Self> {
        let outer = Toeplitz::new(EPOCHS);
        let outer_product = outer.column_norm() * outer.prefix_deviation(EPOCHS);
        let inner = mechanism.build(mechanism.longest().min(SPLIT_FOR))?;
        let inner = inner.as_dyn();
        let inner_product = inner.column_norm() * inner.prefix_deviation(inner.steps() - 1);
        let share = outer_product / (outer_product + inner_product);
        Ok(Epochs { mechanism, mu, sensitivity: domain.sensitivity(), share })
    }

    fn outer_mu(&self) -> f64 {
        self.mu * self.share.sqrt()
    }

    fn inner_mu(&self) -> f64 {
        self.mu * (1.0 - self.share).sqrt()
    }

    /// The grid: that of the outer noise; the inner differs by a factor below 8.
    pub(super) fn clipper(&self, domain: Domain) -> Result<Clipper> {
        Clipper::new(
            domain,
            self.sensitivity * Toeplitz::new(EPOCHS).column_norm() / self.outer_mu(),
        )
    }

    fn length(&self, epoch: u64) -> u64 {
        (FIRST << epoch.min(50)).min(self.mechanism.longest())
    }

    /// Steps of all epochs together.
    pub(super) fn capacity(&self) -> u64 {
        (0..EPOCHS).map(|epoch| self.length(epoch)).fold(0, u64::saturating_add)
    }

    /// The epoch of `step` (from 1), and the step within it (from 1); `step` is at most the capacity.
    fn locate(&self, step: u64) -> (u64, u64) {
        let (mut epoch, mut within) = (0, step);
        while epoch + 1 < EPOCHS && within > self.length(epoch) {
            within -= self.length(epoch);
            epoch += 1;
        }
        (epoch, within)
    }

    /// The inner factorisation of an epoch with its noise.
    fn inner(&self, clipper: &Clipper, epoch: u64) -> Result<(super::Factor, GridNoise)> {
        let factor = self.mechanism.build(self.length(epoch))?;
        let distance = self.sensitivity * factor.as_dyn().column_norm();
        let noise = GridNoise::calibrate(clipper, factor.as_dyn(), distance, self.inner_mu())?;
        Ok((factor, noise))
    }
}

/// The running state of a stream of unknown length.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Doubling {
    epochs: Epochs,
    clipper: Clipper,
    step: u64,
    inner: Running,
    inner_noise: GridNoise,
    /// Exact total of the running epoch.
    total: Vec<i128>,
    outer: Running,
    outer_noise: GridNoise,
    /// Estimated total of the finished epochs.
    before: Vec<f64>,
}

impl Doubling {
    pub(super) fn new(epochs: Epochs, clipper: Clipper) -> Result<Self> {
        let coordinates = clipper.domain().coordinates();
        let outer = Toeplitz::new(EPOCHS);
        let distance = epochs.sensitivity * outer.column_norm();
        let outer_noise = GridNoise::calibrate(&clipper, &outer, distance, epochs.outer_mu())?;
        let (inner, inner_noise) = epochs.inner(&clipper, 0)?;
        // The longest epoch has the most noise and the most rounding: if it can be built, all can.
        epochs.inner(&clipper, EPOCHS - 1)?;
        Ok(Doubling {
            epochs,
            clipper,
            step: 0,
            inner: inner.start(coordinates),
            inner_noise,
            total: vec![0; coordinates],
            outer: super::Factor::Toeplitz(outer).start(coordinates),
            outer_noise,
            before: vec![0.0; coordinates],
        })
    }

    /// Returns whether a deserialised state has the right shape and stands at `step`.
    pub(super) fn fits(&self, coordinates: usize, step: u64) -> bool {
        let (epoch, within) = if step == 0 { (0, 0) } else { self.epochs.locate(step) };
        self.step == step
            && step <= self.capacity()
            && (self.total.len(), self.before.len()) == (coordinates, coordinates)
            && self.inner.fits(coordinates, within)
            && self.outer.fits(coordinates, epoch)
            && self.inner_noise.deviations().len() == coordinates
            && self.outer_noise.deviations().len() == coordinates
    }

    /// The next step: sums in grid units, and their deviations in those of the data. The constructor rules errors out; an error would
    /// change nothing.
    pub(super) fn step(
        &mut self,
        entries: &[i128],
        noise: &mut impl Noise,
    ) -> Result<(Vec<f64>, Vec<f64>)> {
        let (epoch, within) = self.epochs.locate(self.step + 1);
        if epoch > 0 && within == 1 {
            let (inner, inner_noise) = self.epochs.inner(&self.clipper, epoch)?;
            let law = &self.outer_noise;
            self.before = self.outer.step(&self.total, &mut |c| law.draw(c, noise));
            self.inner = inner.start(entries.len());
            self.inner_noise = inner_noise;
            self.total.fill(0);
        }
        self.step += 1;
        self.total.iter_mut().zip(entries).for_each(|(total, entry)| *total += entry);
        let law = &self.inner_noise;
        let mut prefix = self.inner.step(entries, &mut |c| law.draw(c, noise));
        prefix.iter_mut().zip(&self.before).for_each(|(sum, before)| *sum += before);
        let inside = self.inner.factor().prefix_deviation(within);
        Ok((prefix, self.combine(epoch, &self.inner_noise, inside)))
    }

    /// Deviations of outer and inner noise together, `inside` being the inner row norm.
    fn combine(&self, epoch: u64, inner: &GridNoise, inside: f64) -> Vec<f64> {
        let before = self.outer.factor().prefix_deviation(epoch);
        let parts = inner.deviations().iter().zip(self.outer_noise.deviations());
        parts.map(|(inner, outer)| libm::hypot(inner * inside, outer * before)).collect()
    }

    /// Deviation of every coordinate in prefix `step`.
    pub(super) fn deviations(&self, step: u64) -> Result<Vec<f64>> {
        let (epoch, within) = self.epochs.locate(step);
        let (inner, inner_noise) = self.epochs.inner(&self.clipper, epoch)?;
        Ok(self.combine(epoch, &inner_noise, inner.as_dyn().prefix_deviation(within)))
    }

    /// The mu of one contribution, the same in every epoch.
    pub(super) fn mu(&self) -> f64 {
        self.epochs.mu
    }

    pub(super) fn capacity(&self) -> u64 {
        self.epochs.capacity()
    }

    /// The smallest sigma in grid units, from below: no column norm is below 1.
    pub(super) fn smallest_sigma(&self) -> Result<f64> {
        let least =
            GridNoise::new(&self.clipper, self.epochs.sensitivity / self.epochs.inner_mu())?;
        Ok(least.smallest().min(self.outer_noise.smallest()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::release::testing::{Seeded, Silent};

    fn start(mechanism: Mechanism, dimension: usize) -> Doubling {
        let domain = Domain::Vector { dimension, bound: 1.0 };
        let epochs = Epochs::new(mechanism, &domain, 1.0).unwrap();
        let clipper = epochs.clipper(domain).unwrap();
        Doubling::new(epochs, clipper).unwrap()
    }

    impl Epochs {
        /// Deviation of prefix `step` per unit of `sensitivity / mu`, without the rounding term of the calibration.
        fn prefix_deviation(&self, step: u64) -> Result<f64> {
            let (epoch, within) = self.locate(step);
            let (outer, inner) = (Toeplitz::new(EPOCHS), self.mechanism.build(self.length(epoch))?);
            let inner = inner.as_dyn();
            let before = outer.column_norm() * outer.prefix_deviation(epoch);
            let inside = inner.column_norm() * inner.prefix_deviation(within);
            Ok((before * before / self.share + inside * inside / (1.0 - self.share)).sqrt())
        }
    }

    #[test]
    fn sums_are_exact_across_epochs_without_noise() {
        for mechanism in
            [Mechanism::default(), Mechanism::Tree { levels: None }, Mechanism::Honaker]
        {
            let mut doubling = start(mechanism, 1);
            for step in 1..=1000_i128 {
                let prefix = doubling.step(&[1 << 40], &mut Silent).unwrap().0[0];
                assert!((prefix - (step << 40) as f64).abs() < 1000.0, "{prefix} at {step}");
            }
        }
    }

    #[test]
    fn epochs_tile_the_steps() {
        let epochs = start(Mechanism::default(), 1).epochs;
        assert_eq!(epochs.locate(1), (0, 1));
        assert_eq!(epochs.locate(64), (0, 64));
        assert_eq!(epochs.locate(65), (1, 1));
        assert_eq!(epochs.locate(64 + 128), (1, 128));
        assert_eq!(epochs.locate(64 + 128 + 1), (2, 1));
        assert!(epochs.capacity() > 90_000_000_000);
        assert_eq!(epochs.locate(epochs.capacity()).0, EPOCHS - 1);
    }

    /// False alarm: 6 deviations of a mean of 4000 squared normals in 5 places, 1e-8.
    #[test]
    fn deviations_are_what_noise_does_in_every_epoch() {
        const SAMPLES: usize = 4000;
        let mut doubling = start(Mechanism::default(), SAMPLES);
        let zeros = vec![0; SAMPLES];
        let mut noise = Seeded(5);
        let unit = 2f64.powi(-doubling.clipper.exponents()[0]);
        for step in 1..=200 {
            let (prefix, deviations) = doubling.step(&zeros, &mut noise).unwrap();
            assert_eq!(deviations, doubling.deviations(step).unwrap());
            if [1, 64, 65, 192, 193].contains(&step) {
                let want = deviations[0];
                let square: f64 =
                    prefix.iter().map(|z| (z * unit / want).powi(2)).sum::<f64>() / SAMPLES as f64;
                let alarm = 6.0 * (2.0 / SAMPLES as f64).sqrt();
                assert!((square - 1.0).abs() < alarm, "{square} at {step}");
                // Without the outer noise the test would have failed.
                let inner = doubling.inner_noise.deviations()[0];
                if step == 193 {
                    assert!((square * (want / inner).powi(2) - 1.0).abs() > alarm);
                }
                let analytic = doubling.epochs.prefix_deviation(step).unwrap() * 2.0;
                assert!((want / analytic - 1.0).abs() < 1e-6);
            }
        }
        let earlier = doubling.deviations(10).unwrap()[0];
        assert!(
            (earlier / (2.0 * doubling.epochs.prefix_deviation(10).unwrap()) - 1.0).abs() < 1e-6
        );
    }

    #[test]
    fn one_contribution_costs_mu_in_every_epoch() {
        let doubling = start(Mechanism::default(), 2);
        let outer = Toeplitz::new(EPOCHS);
        for epoch in [0, 1, 7, 20, 30, 47] {
            let (inner, noise) = doubling.epochs.inner(&doubling.clipper, epoch).unwrap();
            let inner_mu = noise.mu(inner.as_dyn(), 2.0 * inner.as_dyn().column_norm());
            let outer_mu = doubling.outer_noise.mu(&outer, 2.0 * outer.column_norm());
            let total = inner_mu.hypot(outer_mu);
            assert!(
                total <= doubling.mu() && total > 0.999_999 * doubling.mu(),
                "{total} in {epoch}"
            );
            assert!(noise.smallest() >= doubling.smallest_sigma().unwrap());
        }
    }
}
