//! Buffered linear Toeplitz: about the noise of the square-root factorisation, in constant memory.
//!
//! ```text
//! c_0 = 1,  c_{j+1} = sum_i omega_i theta_i^j
//! y_t = x_t + sum_i omega_i u_i(t) + z_t,   u_i(t+1) = theta_i u_i(t) + x_t      (integers)
//! v_t = y_t - sum_i omega_i h_i(t),         h_i(t+1) = theta_i h_i(t) + v_t      (post-processing)
//! prefix(t) = v_1 + ... + v_t
//! ```
//!
//! The second line is C, the third its inverse, the fourth A. The rates come from `blt_design`.
//!
//! **Rounding.** C is defined by theta and omega as multiples of 2^-64. Buffers are `floor(theta u) + x` in
//! units of 2^-40. The deficit obeys `e(t+1) < theta e(t) + 1` unit, so it stays in [0, t) units after t
//! steps; the output takes `sum_i omega_i e_i`, at most t units since `sum_i omega_i = c_1 < 1`, and one
//! unit more per buffer for its own floors. With at most 2^32 steps the total is below
//! `(2^32 + 16) 2^-40 < 0.004`; see `fixed` for how it enters mu.
//!
//! **Several contributions.** `c_0 > c_1 > c_2 > ... > 0`, so the first consecutive columns are the worst,
//! as for the square root.
//!
//! **Sums that forget** have the same recursions with `prefix(t) = g prefix(t-1) + v_t`, rates scaled by g, and norms on a stream without end:
//! see `forgetting`.
//!
//! Reference: Dvijotham, McMahan, Pillutla, Steinke, Thakurta (FOCS 2024).

use serde::{Deserialize, Serialize};

use super::{
    append::{Places, appended, new_coordinates},
    blt_design::{Rates, design, sum_of_squares, weights},
    blt_history::History,
    factorization::{Draw, Factorization},
    fixed,
    forgetting::HalfLife,
};
use crate::{Result, refuse_if};

/// The largest number of buffers used: more would not reduce the noise.
const MOST_BUFFERS: usize = 16;
/// No rates are designed for more steps than this.
const LONGEST_DESIGN: f64 = (1_u64 << 32) as f64;
/// Beyond this many contributions `person_norm` adds up blocks (triangle inequality) instead of summing.
const LONGEST_BLOCK: u64 = 1 << 20;

/// A buffered linear Toeplitz factorisation over a number of steps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Blt {
    steps: u64,
    /// `theta_i`, over 2^64.
    decay: Vec<u64>,
    /// `omega_i`, over 2^64.
    weight: Vec<u64>,
    /// Rates `1 - theta` of the zeros of C: the decays of B.
    zeros: Vec<f64>,
    /// `1 - g`: how much of the sum is forgotten at every step; 0 for sums that do not forget.
    forgotten: f64,
}

impl Blt {
    /// The best rates for `steps >= 1` steps and 1 buffer or more, in at most a few milliseconds.
    pub(super) fn new(steps: u64, buffers: usize) -> Result<Self> {
        Ok(Blt::of(designed(steps, buffers)?, steps, 0.0))
    }

    /// The factorisation of sums that forget: see `forgetting`.
    pub(super) fn forgetting(steps: u64, buffers: usize, half_life: HalfLife) -> Result<Self> {
        let forgotten = half_life.forgotten();
        // What is older than this has lost 98 % of its weight; rates for twice or half of it are as good to five digits.
        let remembered = (4.0 / forgotten).ceil().min(LONGEST_DESIGN) as u64;
        let rates = designed(remembered, buffers)?;
        // theta becomes g theta.
        let scale = |rates: Vec<f64>| -> Vec<f64> {
            rates.into_iter().map(|rate| forgotten + (1.0 - forgotten) * rate).collect()
        };
        let rates = Rates { poles: scale(rates.poles), zeros: scale(rates.zeros) };
        Ok(Blt::of(rates, steps, forgotten))
    }

    /// Rounds the rates to the integers that define C. The weights follow from them: differences of scaled rates have one more factor g
    /// above the line than below it, so scaled rates give scaled weights.
    fn of(rates: Rates, steps: u64, forgotten: f64) -> Self {
        // The rate is rounded, not theta: 1 - 1e-9 has lost half the digits of 1e-9.
        let decay: Vec<u64> = rates
            .poles
            .iter()
            .map(|&rate| fixed::coefficient(rate).max(1).wrapping_neg())
            .collect();
        let mut blt = Blt { steps, decay, weight: Vec::new(), zeros: rates.zeros, forgotten };
        blt.weight =
            weights(&blt.rates(), &blt.zeros).into_iter().map(fixed::coefficient).collect();
        blt
    }

    /// Rates and weights of C, and what is forgotten.
    #[cfg(test)]
    pub(super) fn parts(&self) -> (Vec<f64>, Vec<f64>, f64) {
        (self.rates(), self.weights(), self.forgotten)
    }

    /// A planted mistake: the weights of C times this, in the running code and nowhere else.
    #[cfg(test)]
    pub(super) fn with_weights_times(mut self, factor: f64) -> Self {
        self.weight =
            self.weights().into_iter().map(|weight| fixed::coefficient(factor * weight)).collect();
        self
    }

    /// Returns whether its sums forget.
    pub(super) fn forgets(&self) -> bool {
        self.forgotten > 0.0
    }

    /// Number of buffers in use.
    pub fn buffers(&self) -> usize {
        self.decay.len()
    }

    /// `1 - theta_i`, from the integers that define theta.
    fn rates(&self) -> Vec<f64> {
        self.decay.iter().map(|theta| fixed::value(theta.wrapping_neg())).collect()
    }

    fn weights(&self) -> Vec<f64> {
        self.weight.iter().map(|&omega| fixed::value(omega)).collect()
    }

    /// Norm of the sum of the first `width <= steps` columns.
    fn block_norm(&self, width: u64) -> f64 {
        let (rates, weights) = (self.rates(), self.weights());
        let (mut powers, mut partial, mut squares) = (weights.clone(), 1.0, 1.0);
        for _ in 1..width {
            partial += powers.iter().sum::<f64>();
            squares += partial * partial;
            powers.iter_mut().zip(&rates).for_each(|(power, rate)| *power -= *power * rate);
        }
        // Below the block, row width + j holds sum_i omega_i theta_i^j (1 - theta_i^width) / (1 - theta_i).
        let below: Vec<f64> = weights
            .iter()
            .zip(&rates)
            .map(|(weight, rate)| weight * -libm::expm1(width as f64 * libm::log1p(-rate)) / rate)
            .collect();
        (squares + sum_of_squares(&below, &rates, (self.steps - width) as f64)).sqrt()
    }
}

/// Rates for the all-ones matrix over `steps >= 1` steps.
fn designed(steps: u64, buffers: usize) -> Result<Rates> {
    refuse_if(buffers == 0, "buffers", buffers, "expected 1 or more; 8 serves all horizons")?;
    // With 16 buffers the square root is already matched to the accuracy of rates in double precision.
    let buffers = buffers.min(MOST_BUFFERS);
    // More buffers than octaves of the horizon do not improve the fit.
    Ok(design(steps, buffers.min(steps.ilog2() as usize + 1)))
}

impl Factorization for Blt {
    fn steps(&self) -> u64 {
        self.steps
    }

    fn person_norm(&self, contributions: u64) -> f64 {
        if self.forgets() {
            let tail = sum_of_squares(&self.weights(), &self.rates(), f64::INFINITY);
            return contributions as f64 * (1.0 + tail).sqrt();
        }
        let contributions = contributions.min(self.steps);
        let (blocks, rest) = (contributions / LONGEST_BLOCK, contributions % LONGEST_BLOCK);
        let full = if blocks > 0 { blocks as f64 * self.block_norm(LONGEST_BLOCK) } else { 0.0 };
        full + if rest > 0 { self.block_norm(rest) } else { 0.0 }
    }

    fn prefix_deviation(&self, step: u64) -> f64 {
        let first = std::iter::once(self.forgotten);
        let zeros: Vec<f64> = first.chain(self.zeros.iter().copied()).collect();
        sum_of_squares(&weights(&zeros, &self.rates()), &zeros, step as f64).sqrt()
    }

    fn draws(&self) -> f64 {
        self.steps as f64
    }

    fn rounding(&self) -> f64 {
        let deficit = if self.forgets() {
            self.weights().iter().zip(self.rates()).map(|(weight, rate)| weight / rate).sum()
        } else {
            self.steps as f64
        };
        1.0 + (deficit + self.buffers() as f64) * fixed::UNIT
    }
}

/// The running state of the factorisation for one coordinate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Buffers {
    /// `u_i`, fixed point.
    exact: Vec<i128>,
    /// `h_i`.
    noisy: Vec<f64>,
    /// The estimated prefix sum.
    prefix: f64,
}

/// The running state of the factorisation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct BltSums {
    blt: Blt,
    coordinates: Vec<Buffers>,
}

impl BltSums {
    pub(super) fn new(blt: Blt, coordinates: usize) -> Self {
        let size = blt.buffers();
        let empty = Buffers { exact: vec![0; size], noisy: vec![0.0; size], prefix: 0.0 };
        BltSums { blt, coordinates: vec![empty; coordinates] }
    }

    /// Returns whether a deserialised state has the right shape.
    pub(super) fn fits(&self, coordinates: usize) -> bool {
        let size = self.blt.decay.len();
        size > 0
            && (0.0..1.0).contains(&self.blt.forgotten)
            && (self.blt.weight.len(), self.blt.zeros.len()) == (size, size)
            && self.coordinates.len() == coordinates
            && self
                .coordinates
                .iter()
                .all(|buffers| (buffers.exact.len(), buffers.noisy.len()) == (size, size))
    }

    pub(super) fn factor(&self) -> &Blt {
        &self.blt
    }

    /// Returns whether the buffers of C, which hold no noise, are the same to the last unit.
    pub(super) fn has_exact_sums_of(&self, other: &BltSums) -> bool {
        let mut pairs = self.coordinates.iter().zip(&other.coordinates);
        self.blt == other.blt
            && self.coordinates.len() == other.coordinates.len()
            && pairs.all(|(one, two)| one.exact == two.exact)
    }

    /// Ends the stream after this step.
    pub(super) fn end_after(&mut self, last: u64) {
        self.blt.steps = last;
    }

    /// Appends coordinates that were zero until now, with the noisy state that `steps` steps would have left: see `blt_history`.
    pub(super) fn append(&mut self, places: &Places, steps: u64, draw: Draw) {
        let size = self.blt.buffers();
        let empty = Buffers { exact: vec![0; size], noisy: vec![0.0; size], prefix: 0.0 };
        self.coordinates = appended(&self.coordinates, places, empty);
        let history =
            History::of(&self.blt.rates(), &self.blt.weights(), self.blt.forgotten, steps);
        for coordinate in new_coordinates(places) {
            let mut state = history.draw(&mut || draw(coordinate) as f64);
            let buffers = &mut self.coordinates[coordinate];
            buffers.prefix = state.pop().unwrap_or_default();
            buffers.noisy = state;
        }
    }

    pub(super) fn step(&mut self, entries: &[i128], draw: Draw) -> Vec<f64> {
        let (rates, weights) = (self.blt.rates(), self.blt.weights());
        let prefix = |(coordinate, buffers): (usize, &mut Buffers)| {
            let entry = fixed::from_integer(entries[coordinate]);
            let mut value = entry;
            for (i, u) in buffers.exact.iter_mut().enumerate() {
                value += fixed::scale(*u, self.blt.weight[i]);
                *u = fixed::scale(*u, self.blt.decay[i]) + entry;
            }
            let noisy = fixed::round(value) + i128::from(draw(coordinate));
            let known: f64 = buffers.noisy.iter().zip(&weights).map(|(h, omega)| h * omega).sum();
            let increment = noisy as f64 - known;
            buffers.noisy.iter_mut().zip(&rates).for_each(|(h, rate)| *h += increment - rate * *h);
            buffers.prefix += increment - self.blt.forgotten * buffers.prefix;
            buffers.prefix
        };
        self.coordinates.iter_mut().enumerate().map(prefix).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::release::{
        Mechanism, Schedule,
        testing::{check_deviation, check_exactness, check_privacy},
        toeplitz::square_root_product,
    };

    fn series(weights: &[f64], rates: &[f64], terms: usize) -> Vec<f64> {
        let mut powers = weights.to_vec();
        (0..terms)
            .map(|_| {
                let term = powers.iter().sum();
                powers.iter_mut().zip(rates).for_each(|(power, rate)| *power -= *power * rate);
                term
            })
            .collect()
    }

    /// `c` and `b`, the first `terms` coefficients of C and B.
    fn coefficients(blt: &Blt, terms: usize) -> (Vec<f64>, Vec<f64>) {
        let mut c = vec![1.0];
        c.extend(series(&blt.weights(), &blt.rates(), terms - 1));
        let first = std::iter::once(blt.forgotten);
        let zeros: Vec<f64> = first.chain(blt.zeros.iter().copied()).collect();
        let b = series(&weights(&zeros, &blt.rates()), &zeros, terms);
        (c, b)
    }

    #[test]
    fn the_two_factors_multiply_to_prefix_sums() {
        for (steps, buffers) in
            [(1, 3), (2, 1), (10, 16), (10_000, 5), (1_000_000_000, 8), (1 << 32, 16)]
        {
            let (c, b) = coefficients(&Blt::new(steps, buffers).unwrap(), 2000);
            for t in 0..2000 {
                let entry: f64 = (0..=t).map(|j| c[j] * b[t - j]).sum();
                assert!(
                    (entry - 1.0).abs() < 1e-8,
                    "{steps} steps, {buffers} buffers: {entry} at {t}"
                );
            }
            assert!(c.windows(2).all(|pair| pair[0] > pair[1] && pair[1] > 0.0));
        }
    }

    fn forgetting(half_life: f64) -> Blt {
        let half_life = HalfLife::new(half_life, &Schedule::EveryRound).unwrap();
        Blt::forgetting(1 << 32, 8, half_life).unwrap()
    }

    #[test]
    fn the_two_factors_multiply_to_sums_that_forget() {
        for half_life in [1.0, 2.5, 50.0, 1e4, 1e9] {
            let blt = forgetting(half_life);
            let (c, b) = coefficients(&blt, 2000);
            for t in 0..2000 {
                let entry: f64 = (0..=t).map(|j| c[j] * b[t - j]).sum();
                let want = (-(t as f64) / half_life).exp2();
                assert!((entry - want).abs() < 1e-8, "{half_life}: {entry} at {t}");
            }
            // Later ones underflow at the shortest half-life.
            assert!(c[..500].windows(2).all(|pair| pair[0] > pair[1] && pair[1] > 0.0));
        }
    }

    #[test]
    fn norms_on_the_stream_without_end_are_limits_of_direct_sums() {
        for half_life in [1.0, 30.0, 700.0] {
            let blt = forgetting(half_life);
            // What is left after 60 half-lives is below 2^-120 of the whole.
            let (c, b) = coefficients(&blt, 60 * half_life as usize + 60);
            let norm = |row: &[f64]| row.iter().map(|x| x * x).sum::<f64>().sqrt();
            assert!((blt.column_norm() / norm(&c) - 1.0).abs() < 1e-12);
            assert!((blt.prefix_deviation(1 << 32) / norm(&b) - 1.0).abs() < 1e-12);
            assert!((blt.prefix_deviation(20) / norm(&b[..20]) - 1.0).abs() < 1e-12);
            assert_eq!(blt.person_norm(7), 7.0 * blt.column_norm());
            let deficit: f64 = c[1..].iter().sum();
            let units = (blt.rounding() - 1.0) / fixed::UNIT;
            assert!((units / (deficit + blt.buffers() as f64) - 1.0).abs() < 1e-3, "{units}");
        }
    }

    /// The lemma of `bandit/joint/change.rs`: what came between two sums is no noisier than as many steps and what is left of the earlier sum.
    #[test]
    fn differences_of_sums_have_no_more_noise_than_the_lemma_says() {
        for half_life in [2.5, 50.0, 3000.0] {
            let blt = forgetting(half_life);
            let (_, b) = coefficients(&blt, 3000);
            for (steps, before) in [(1, 1), (3, 40), (100, 2000), (2000, 900)] {
                let weight = (-(steps as f64) / half_life).exp2();
                let new: f64 = b[..steps].iter().map(|b| b * b).sum();
                let entry = |k: usize| b[k + steps] - weight * b[k];
                let old: f64 = (0..before).map(|k| entry(k).powi(2)).sum();
                let bound = blt.prefix_deviation(steps as u64).powi(2)
                    + (weight * blt.prefix_deviation(before as u64)).powi(2);
                assert!(new + old <= bound * (1.0 + 1e-9), "{half_life} {steps} {before}");
                assert!((0..before).all(|k| entry(k) <= 1e-12));
                // Planted: the noise of the new steps alone is too little.
                assert!(steps > 100 || half_life < 50.0 || new + old > 1.01 * new);
            }
        }
    }

    #[test]
    fn closed_forms_equal_direct_sums() {
        let steps = 3000;
        let blt = Blt::new(steps, 6).unwrap();
        let (c, b) = coefficients(&blt, steps as usize);
        let norm = |row: &[f64]| row.iter().map(|x| x * x).sum::<f64>().sqrt();
        assert!((blt.column_norm() / norm(&c) - 1.0).abs() < 1e-12);
        assert!((blt.prefix_deviation(steps) / norm(&b) - 1.0).abs() < 1e-12);
        assert!((blt.prefix_deviation(100) / norm(&b[..100]) - 1.0).abs() < 1e-12);
        for width in [2, 17, 3000] {
            let block: Vec<f64> = (0..steps as usize)
                .map(|row| c[(row + 1).saturating_sub(width)..=row].iter().sum())
                .collect();
            assert!((blt.person_norm(width as u64) / norm(&block) - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn the_product_of_norms_is_near_the_square_roots() {
        // (steps, buffers, allowed excess): five buffers as in the table, and rates of 1e-9 and below.
        for (steps, buffers, excess) in [
            (1, 5, 1e-12),
            (10_000, 5, 5e-4),
            (1_000_000, 5, 5e-3),
            (50_000_000, 5, 0.018),
            (50_000_000, 8, 1e-3),
            (1_000_000_000, 8, 3e-3),
            (1_000_000_000, 12, 2e-4),
            (1 << 32, 16, 1e-4),
        ] {
            let blt = Blt::new(steps, buffers).unwrap();
            let product = blt.column_norm() * blt.prefix_deviation(steps);
            let ratio = product / square_root_product(steps);
            assert!((1.0 - 1e-6..=1.0 + excess).contains(&ratio), "{steps}, {buffers}: {ratio}");
        }
    }

    #[test]
    fn a_billion_steps_are_summed_as_accurately_as_a_thousand() {
        // A naive 1 - theta^n with theta = 1 - 1e-10 fails here: compare against blocks of a direct sum.
        let blt = Blt::new(1_000_000_000, 12).unwrap();
        let (rates, weights) = (blt.rates(), blt.weights());
        let head: f64 = series(&weights, &rates, 1_000_000).iter().map(|c| c * c).sum();
        let closed = sum_of_squares(&weights, &rates, 1e6);
        assert!((closed / head - 1.0).abs() < 1e-11, "{closed} against {head}");
        // Splitting the whole sum in two geometric parts must give the whole.
        let late: Vec<f64> =
            weights.iter().zip(&rates).map(|(w, r)| w * (1e6 * libm::log1p(-r)).exp()).collect();
        let split = head + sum_of_squares(&late, &rates, 999e6 - 1.0);
        assert!((blt.column_norm().powi(2) / (1.0 + split) - 1.0).abs() < 1e-11);
    }

    #[test]
    fn releases_are_exact_without_noise() {
        check_exactness(Mechanism::Blt { buffers: 5 }, 1e-12);
    }

    #[test]
    fn person_norms_are_those_of_the_running_code() {
        check_privacy(Mechanism::Blt { buffers: 3 });
    }

    #[test]
    fn prefix_deviation_agrees_with_simulated_noise() {
        check_deviation(Mechanism::Blt { buffers: 3 }, Mechanism::Blt { buffers: 1 });
    }

    #[test]
    fn the_fixed_point_value_is_within_the_proven_error() {
        // Against the same recursion with 20 more fractional bits, on a long run of the largest entries.
        for blt in [Blt::new(1 << 20, 4).unwrap(), forgetting(100.0)] {
            let mut sums = BltSums::new(blt.clone(), 1);
            let mut fine = vec![0_i128; blt.buffers()];
            for step in 0..20_000_i128 {
                let entry = if step % 3 == 0 { (1 << 44) - step } else { step - (1 << 43) };
                let coarse = sums.coordinates[0].exact.clone();
                sums.step(&[entry], &mut |_| 0);
                for (i, u) in fine.iter_mut().enumerate() {
                    let deficit = *u - (coarse[i] << 20);
                    // Where sums forget it does not grow with the stream.
                    let units = if blt.forgets() {
                        (1.0 / blt.rates()[i]).ceil() as i128
                    } else {
                        step + 1
                    };
                    assert!((0..=units << 20).contains(&deficit), "{deficit} at {step}");
                    *u = fixed::scale(*u, blt.decay[i]) + (fixed::from_integer(entry) << 20);
                }
            }
        }
    }

    #[test]
    fn impossible_numbers_of_buffers_are_refused() {
        assert!(Blt::new(100, 0).is_err());
        // Numbers above the limit are accepted, and the limit is used.
        assert_eq!(Blt::new(100, 100).unwrap().buffers(), Blt::new(100, 16).unwrap().buffers());
    }
}
