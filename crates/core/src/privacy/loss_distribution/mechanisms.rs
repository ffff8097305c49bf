//! The dominating pairs of the mechanisms, discretised.
//!
//! Neighbours differ in one person's data (replace one). Each pair below is symmetric, so one direction
//! is enough: additive noise by the reflection of the line that swaps the two centres; randomised
//! response, PrivUnit (antipodal truths) and pure DP by swapping the two truths; shuffled clones by
//! swapping the labels.
//!
//! Additive noise here is log-concave: the loss is monotone in the output, the best set is a half-line, and
//! its mass difference grows with the shift, so the pair at full sensitivity dominates every smaller shift. The same holds for vectors, line
//! by line (`k_norm`).
//! Binary randomised response dominates every epsilon-DP pair; with probability delta replaced by an outcome that gives
//! everything away, every (epsilon, delta)-DP pair (Kairouz, Oh and Viswanath 2015).

use super::{
    PrivacyLossDistribution,
    dots::{Cell, Dots},
    k_norm, shuffled,
};
use crate::{
    Error, Result,
    privacy::Event,
    special::{erfcx, normal_cdf, normal_density, square},
};

/// Gaussian tails are cut at this many standard deviations, where 2e-33 of the mass is left.
const REACH: f64 = 12.0;
/// Above this sigma, sums of the discrete Gaussian are taken by Euler and Maclaurin instead of term by term.
const SMOOTH_SIGMA: f64 = 8192.0;
/// Up to this sensitivity, the atoms of discrete Laplace noise are placed one by one.
const FEW_ATOMS: u64 = 4096;

/// The distribution of a checked event.
pub(super) fn discretize(event: &Event, interval: f64) -> Result<PrivacyLossDistribution> {
    let largest = largest_loss(event)?;
    // (0, delta)-DP: the loss is 0 or infinite.
    if largest == 0.0 && !matches!(event, Event::Approximate { .. }) {
        return PrivacyLossDistribution::nothing(interval);
    }
    let mut dots = Dots::new(interval, -largest, largest)?;
    match *event {
        Event::Gaussian { sensitivity, sigma } => gaussian(&mut dots, sensitivity / sigma),
        Event::SecureSum { sensitivity, sigma, people } => {
            gaussian(&mut dots, sensitivity / (sigma * (people as f64).sqrt()));
        }
        Event::DiscreteGaussian { sensitivity, sigma } if sigma < SMOOTH_SIGMA => {
            discrete_gaussian(&mut dots, sensitivity as f64, sigma);
        }
        Event::DiscreteGaussian { sensitivity, sigma } => {
            smooth_discrete_gaussian(&mut dots, sensitivity as f64, sigma);
        }
        Event::Laplace { sensitivity, scale } => laplace(&mut dots, sensitivity / scale),
        Event::DiscreteLaplace { sensitivity, scale } => {
            discrete_laplace(&mut dots, sensitivity, scale);
        }
        Event::RandomizedResponse { categories, epsilon } => {
            // Divided by e^epsilon, so that nothing overflows.
            let others = (categories - 1) as f64 * libm::exp(-epsilon);
            three_atoms(
                &mut dots,
                epsilon,
                1.0 / (1.0 + others),
                libm::exp(-epsilon) / (1.0 + others),
            );
        }
        Event::Pure { epsilon } => {
            let lie = 1.0 / (1.0 + libm::exp(epsilon));
            three_atoms(&mut dots, epsilon, 1.0 / (1.0 + libm::exp(-epsilon)), lie);
        }
        Event::Approximate { epsilon, delta } => {
            dots.at_infinity(delta);
            dots.atom(epsilon, (1.0 - delta) / (1.0 + libm::exp(-epsilon)));
            dots.atom(-epsilon, (1.0 - delta) / (1.0 + libm::exp(epsilon)));
        }
        Event::PrivUnit { cap, inside } => {
            let smaller = cap.min(1.0 - cap);
            let outside = (1.0 - inside) / (1.0 - cap) * smaller;
            three_atoms(&mut dots, largest, inside / cap * smaller, outside);
        }
        Event::KNorm { dimension: 1, epsilon } => laplace(&mut dots, epsilon),
        Event::KNorm { dimension, epsilon } => k_norm::discretize(&mut dots, dimension, epsilon),
        Event::Shuffled { .. } | Event::ShuffledPrivUnit { .. } => {
            shuffled::discretize(&mut dots, event)?;
        }
        _ => return Err(unsupported(event)),
    }
    Ok(dots.finish())
}

/// The largest finite loss the discretised event has; its negative is the smallest.
pub(super) fn largest_loss(event: &Event) -> Result<f64> {
    let gaussian = |mu: f64| mu * (REACH + 0.5 * mu);
    Ok(match *event {
        Event::Nothing => 0.0,
        Event::Gaussian { sensitivity, sigma } => gaussian(sensitivity / sigma),
        Event::SecureSum { sensitivity, sigma, people } => {
            gaussian(sensitivity / (sigma * (people as f64).sqrt()))
        }
        Event::DiscreteGaussian { sensitivity, sigma } => {
            let shift = sensitivity as f64;
            (0.5 * shift + discrete_reach(sigma)) / sigma * (shift / sigma)
        }
        Event::Laplace { sensitivity, scale } => sensitivity / scale,
        Event::DiscreteLaplace { sensitivity, scale } => sensitivity as f64 / scale,
        Event::RandomizedResponse { epsilon, .. }
        | Event::KNorm { epsilon, .. }
        | Event::Pure { epsilon }
        | Event::Approximate { epsilon, .. } => epsilon,
        Event::PrivUnit { cap, inside } => {
            libm::log(inside / cap) - libm::log1p(-inside) + libm::log1p(-cap)
        }
        Event::Shuffled { .. } | Event::ShuffledPrivUnit { .. } => shuffled::largest_loss(event)?,
        _ => return Err(unsupported(event)),
    }
    .max(0.0))
}

/// The distance of which all atoms of the event's loss are multiples, 0 if there is none.
pub(super) fn lattice(event: &Event) -> f64 {
    match *event {
        Event::DiscreteLaplace { sensitivity, scale } if sensitivity <= 64 => 1.0 / scale,
        Event::DiscreteGaussian { sensitivity, sigma } => {
            0.5 * sensitivity as f64 / (sigma * sigma)
        }
        Event::Laplace { .. }
        | Event::DiscreteLaplace { .. }
        | Event::RandomizedResponse { .. }
        | Event::Pure { .. }
        | Event::Approximate { .. }
        | Event::PrivUnit { .. }
        | Event::KNorm { .. }
        | Event::Shuffled { .. }
        | Event::ShuffledPrivUnit { .. } => largest_loss(event).unwrap_or(0.0),
        _ => 0.0,
    }
}

fn unsupported(event: &Event) -> Error {
    Error::Unsupported {
        event: format!("{event:?} by a privacy-loss distribution"),
        remedy:
            "compose its parts one by one, or describe it as `pure` or `approximate` if it is DP"
                .into(),
    }
}

/// `+loss` with probability `truth`, `-loss` with probability `lie`, else no loss.
fn three_atoms(dots: &mut Dots, loss: f64, truth: f64, lie: f64) {
    dots.atom(loss, truth);
    dots.atom(-loss, lie);
    let neither = 1.0 - truth - lie;
    if neither > 0.0 {
        dots.atom(0.0, neither);
    }
}

/// `P = N(mu, 1)` against `Q = N(0, 1)`: the loss at `t` is `mu t - mu^2/2`.
fn gaussian(dots: &mut Dots, mu: f64) {
    let (lowest, highest) = (mu * (0.5 * mu - REACH), mu * (0.5 * mu + REACH));
    let outcome = |loss: f64| loss / mu + 0.5 * mu;
    dots.cells(lowest, highest, |from, to| {
        gaussian_loss_cell(mu, 0.0, from, outcome(from), outcome(to))
    });
    dots.atom(lowest, normal_cdf(-REACH));
    dots.at_infinity(normal_cdf(-REACH));
}

/// Masses of `[start, end]` under `N(mu, 1)` and `N(0, 1)`, the latter times `e^from`.
///
/// `grain = 1/(24 sigma^2)` turns the integrals into sums over a lattice of distance `1/sigma` whose
/// points lie between `start` and `end` at half a distance (Euler and Maclaurin, second order).
fn gaussian_loss_cell(mu: f64, grain: f64, from: f64, start: f64, end: f64) -> Cell {
    let lattice = |z: f64, density: f64| grain * z * density;
    let (p0, p1) = (normal_density(start - mu), normal_density(end - mu));
    let (p, p_scale) = interval_mass(start - mu, end - mu);
    let p = p + lattice(end - mu, p1) - lattice(start - mu, p0);
    // e^from times the density of Q at `start` and `end`, without underflow far out.
    let q0 = p0 * libm::exp(from - mu * (start - 0.5 * mu));
    let q1 = p1 * libm::exp(from - mu * (end - 0.5 * mu));
    let (q, q_scale) = if start >= 0.0 {
        let (tail0, tail1) = (q0 * mills(start), q1 * mills(end));
        (tail0 - tail1, tail0)
    } else {
        let (mass, scale) = interval_mass(start, end);
        (mass * libm::exp(from), scale * libm::exp(from))
    };
    let scaled_q = q + lattice(end, q1) - lattice(start, q0);
    Cell { p, scaled_q, slack: 32.0 * f64::EPSILON * (p_scale + q_scale) + 1e-14 * p }
}

/// `(1 - Phi(t)) / phi(t)`.
fn mills(t: f64) -> f64 {
    (0.5 * std::f64::consts::PI).sqrt() * erfcx(t * std::f64::consts::FRAC_1_SQRT_2)
}

/// Standard normal mass of an interval, from the tail in which it lies, and the size of what was subtracted.
fn interval_mass(start: f64, end: f64) -> (f64, f64) {
    if start > 0.0 {
        let (outer, inner) = (normal_cdf(-end), normal_cdf(-start));
        (inner - outer, inner)
    } else {
        let (outer, inner) = (normal_cdf(start), normal_cdf(end));
        (inner - outer, inner)
    }
}

/// Integers beyond this distance from the centre are cut off.
fn discrete_reach(sigma: f64) -> f64 {
    (REACH * sigma).ceil() + 2.0
}

/// Integers with weights `exp(-(k - shift)^2 / (2 sigma^2))` against the same around 0, atom by atom.
fn discrete_gaussian(dots: &mut Dots, shift: f64, sigma: f64) {
    let reach = discrete_reach(sigma) as i64;
    let weight = |k: i64| libm::exp(-0.5 * square(k as f64 / sigma));
    // Leaving out the tails makes every probability larger.
    let total = 1.0 + 2.0 * (1..=reach).rev().map(weight).sum::<f64>();
    // One tail is at most a geometric series with the ratio of its first two terms.
    let tail = weight(reach + 1) / (1.0 - libm::exp(-(reach as f64) / (sigma * sigma))) / total;
    let loss = |k: i64| (shift / sigma) * ((k as f64 + 0.5 * shift) / sigma);
    for k in -reach..=reach {
        dots.atom(loss(k), weight(k) / total * (1.0 + 8.0 * f64::EPSILON));
    }
    dots.atom(loss(-reach), tail);
    dots.at_infinity(tail);
}

/// The same for large sigma: an integer is a cell of width 1 of the line, corrected by Euler and
/// Maclaurin. The next term is below `(7/5760) (12/sigma)^4 < 1e-14` of each mass, and the normaliser is
/// the integral up to `e^(-2 pi^2 sigma^2)`.
fn smooth_discrete_gaussian(dots: &mut Dots, shift: f64, sigma: f64) {
    let mu = shift / sigma;
    let reach = discrete_reach(sigma);
    let loss = |k: f64| mu * ((k - 0.5 * shift) / sigma);
    let (lowest, highest) = (loss(shift - reach), loss(shift + reach));
    // The half-integer below the first integer whose loss is at least this.
    let border = |loss: f64| ((loss / mu * sigma + 0.5 * shift).ceil() - 0.5) / sigma;
    let grain = 1.0 / (24.0 * sigma * sigma);
    dots.cells(lowest, highest, |from, to| {
        let (start, end) = (border(from), border(to));
        if start < end {
            gaussian_loss_cell(mu, grain, from, start, end)
        } else {
            Cell { p: 0.0, scaled_q: 0.0, slack: 0.0 }
        }
    });
    let tail = 2.0 * normal_cdf(-REACH);
    dots.atom(lowest, tail);
    dots.at_infinity(tail);
}

/// Laplace noise, shift `epsilon` in units of the scale: atoms at both ends, density
/// `e^((x - epsilon)/2)/4` between.
fn laplace(dots: &mut Dots, epsilon: f64) {
    dots.atom(epsilon, 0.5);
    dots.atom(-epsilon, 0.5 * libm::exp(-epsilon));
    dots.cells(-epsilon, epsilon, |from, to| {
        let width = -libm::expm1(0.5 * (from - to));
        let p = 0.5 * libm::exp(0.5 * (to - epsilon)) * width;
        let scaled_q = 0.5 * libm::exp(0.5 * (from - epsilon)) * width;
        Cell { p, scaled_q, slack: 8.0 * f64::EPSILON * p * (1.0 + epsilon) }
    });
}

/// Discrete Laplace noise of ratio `r = e^(-1/scale)`: atoms at both ends,
/// `P(k) = (1-r)/(1+r) r^(shift-k)` between.
fn discrete_laplace(dots: &mut Dots, shift: u64, scale: f64) {
    let epsilon = shift as f64 / scale;
    let normaliser = 1.0 + libm::exp(-1.0 / scale);
    dots.atom(epsilon, 1.0 / normaliser);
    dots.atom(-epsilon, libm::exp(-epsilon) / normaliser);
    if shift > FEW_ATOMS {
        return discrete_laplace_inside(dots, shift as f64, scale);
    }
    let each = -libm::expm1(-1.0 / scale) / normaliser;
    for k in 1..shift {
        let loss = (2.0 * k as f64 - shift as f64) / scale;
        dots.atom(loss, each * libm::exp(-((shift - k) as f64) / scale));
    }
}

/// The integers between the two centres, cell by cell: each cell holds a piece of a geometric series.
fn discrete_laplace_inside(dots: &mut Dots, shift: f64, scale: f64) {
    let epsilon = shift / scale;
    let normaliser = 1.0 + libm::exp(-1.0 / scale);
    let first = |loss: f64| (0.5 * (loss * scale + shift)).ceil().clamp(1.0, shift);
    dots.cells(-epsilon, epsilon, |from, to| {
        let (start, end) = (first(from), first(to));
        let width = -libm::expm1((start - end) / scale) / normaliser;
        let p = libm::exp((end - 1.0 - shift) / scale) * width;
        let scaled_q = libm::exp(from - start / scale) * width;
        Cell { p, scaled_q, slack: 8.0 * f64::EPSILON * p * (1.0 + epsilon) }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two descriptions of one distribution agree wherever delta is of interest.
    fn same(mut atoms: Dots, mut cells: Dots, place: [&dyn Fn(&mut Dots); 2]) {
        place[0](&mut atoms);
        place[1](&mut cells);
        let (atoms, cells) = (atoms.finish(), cells.finish());
        for index in -100..100 {
            let epsilon = f64::from(index) * atoms.interval() * 5.0;
            let (want, got) = (atoms.delta(epsilon), cells.delta(epsilon));
            assert!(
                (got / want - 1.0).abs() < 1e-6 || want < 1e-20,
                "{got:e} against {want:e} at {epsilon}"
            );
        }
    }

    #[test]
    fn large_discrete_gaussians_are_summed_as_their_atoms_are() {
        for (shift, sigma) in [(4096.0, 8192.0), (20_000.0, 8192.0), (1.0, 8192.0)] {
            let largest = (0.5 * shift + discrete_reach(sigma)) / sigma * (shift / sigma);
            let grid = || Dots::new(largest / 600.0, -largest, largest).unwrap();
            same(
                grid(),
                grid(),
                [&|dots| discrete_gaussian(dots, shift, sigma), &|dots| {
                    smooth_discrete_gaussian(dots, shift, sigma);
                }],
            );
        }
    }

    #[test]
    fn large_discrete_laplace_is_summed_as_its_atoms_are() {
        let (shift, scale) = (4000u64, 1500.0);
        let grid = || Dots::new(0.003, -3.0, 3.0).unwrap();
        same(
            grid(),
            grid(),
            [&|dots| discrete_laplace(dots, shift, scale), &|dots| {
                // The atoms at the two ends only, then the inside by cells.
                let (epsilon, normaliser) = (shift as f64 / scale, 1.0 + (-1.0 / scale).exp());
                dots.atom(epsilon, 1.0 / normaliser);
                dots.atom(-epsilon, (-epsilon).exp() / normaliser);
                discrete_laplace_inside(dots, shift as f64, scale);
            }],
        );
    }

    /// `delta(-x) = 1 - e^-x + e^-x delta(x)` says that swapping the pair changes nothing; at grid points
    /// it must hold exactly for a discretisation that keeps both masses.
    #[test]
    fn every_pair_is_symmetric() {
        for event in [
            Event::Gaussian { sensitivity: 1.0, sigma: 2.0 },
            Event::SecureSum { sensitivity: 1.0, sigma: 0.5, people: 9 },
            Event::DiscreteGaussian { sensitivity: 2, sigma: 3.0 },
            Event::DiscreteGaussian { sensitivity: 9000, sigma: 10_000.0 },
            Event::Laplace { sensitivity: 1.0, scale: 0.7 },
            Event::DiscreteLaplace { sensitivity: 3, scale: 2.5 },
            Event::DiscreteLaplace { sensitivity: 1 << 40, scale: 1e12 },
            Event::RandomizedResponse { categories: 5, epsilon: 1.3 },
            Event::Pure { epsilon: 2.0 },
            Event::Approximate { epsilon: 1.2, delta: 0.03 },
            Event::PrivUnit { cap: 0.2, inside: 0.7 },
            Event::PrivUnit { cap: 0.9, inside: 0.97 },
            Event::KNorm { dimension: 1, epsilon: 1.0 },
            Event::KNorm { dimension: 2, epsilon: 1.0 },
            Event::KNorm { dimension: 7, epsilon: 2.5 },
            Event::Shuffled { epsilon: 1.0, people: 50, binary: false },
            Event::ShuffledPrivUnit { cap: 0.2, inside: 0.7, people: 50 },
        ] {
            let loss = PrivacyLossDistribution::of(&event, 0.01).unwrap();
            for x in (1..300).map(|index| f64::from(index) * 0.01) {
                let swapped = -(-x).exp_m1() + (-x).exp() * loss.delta(x);
                let gap = loss.delta(-x) - swapped;
                assert!(gap.abs() < 1e-10, "{event:?} at {x}: {gap:e}");
            }
        }
    }

    #[test]
    fn unknown_events_are_refused() {
        let once = Event::Pure { epsilon: 1.0 };
        let twice = Event::Repeated { event: Box::new(once), times: 2 };
        let error = PrivacyLossDistribution::of(&twice, 0.1).unwrap_err();
        assert!(matches!(error, Error::Unsupported { .. }), "{error}");
    }
}
