//! Connect the dots: the best pessimistic discretisation of a privacy loss on a grid.
//!
//! Outcomes whose loss lies in the cell `[x, x + h]`, with masses `p` under P and `q` under Q, are
//! replaced by
//!
//! ```text
//! upper = (p - q e^x) / (1 - e^-h)   at x + h,      p - upper   at x.
//! ```
//!
//! Both `p` and `q` are kept, so `delta` is exact at grid points; between them it is the chord (in
//! `e^epsilon`) of a convex function, hence never below it: the discretised pair dominates the true one.
//! An atom at `x + y` is the case `upper / p = (1 - e^-y) / (1 - e^-h)`.
//!
//! Rounding: moving mass to a higher loss, or adding mass, only raises `delta` of every composition. So
//! `p` and `upper` are raised by what their computation may have lost.
//!
//! Reference: Doroshenko, Ghazi, Kamath, Kumar and Manurangsi, "Connect the dots: tighter discrete
//! approximations of privacy loss distributions", PoPETs 2022.

use super::PrivacyLossDistribution;
use crate::{Error, Result};

/// More cells than this are refused: the caller's interval is too fine for the losses it meets.
const MOST_CELLS: f64 = (1u64 << 22) as f64;

/// A grid under construction.
pub(super) struct Dots {
    distribution: PrivacyLossDistribution,
}

/// The masses of the outcomes whose loss lies in `[from, to]`.
pub(super) struct Cell {
    /// Mass under P.
    pub p: f64,
    /// Mass under Q, times `exp(from)`.
    pub scaled_q: f64,
    /// Bound on the absolute error of both.
    pub slack: f64,
}

impl Dots {
    /// The distance of the grid points.
    pub fn interval(&self) -> f64 {
        self.distribution.interval
    }

    /// An empty grid that covers the losses from `lowest` to `highest`.
    pub fn new(interval: f64, lowest: f64, highest: f64) -> Result<Self> {
        let cells = (highest - lowest) / interval;
        let farthest = lowest.abs().max(highest.abs()) / interval;
        if !(cells <= MOST_CELLS && farthest < 1e15) {
            return Err(Error::invalid(
                "interval",
                interval,
                format!(
                    "losses reach from {lowest} to {highest}; expected an interval of at least {:e}",
                    ((highest - lowest) / MOST_CELLS).max(lowest.abs().max(highest.abs()) / 1e15)
                ),
            ));
        }
        let first = (lowest / interval).floor() as i64 - 1;
        let masses = vec![0.0; cells as usize + 5];
        Ok(Self {
            distribution: PrivacyLossDistribution {
                interval,
                lowest: first,
                masses,
                infinity: 0.0,
            },
        })
    }

    /// Adds mass at an infinite loss.
    pub fn at_infinity(&mut self, mass: f64) {
        self.distribution.infinity += mass;
    }

    /// `mass` under P at one loss. Losses below the grid are raised to its lowest point.
    pub fn atom(&mut self, loss: f64, mass: f64) {
        let h = self.distribution.interval;
        let rounding = 4.0 * f64::EPSILON * loss.abs();
        let nearest = (loss / h).round();
        if (loss - nearest * h).abs() <= rounding {
            return self.put(nearest as i64, mass);
        }
        let below = (loss / h).floor();
        let share = libm::expm1(-(loss - below * h)) / libm::expm1(-h);
        let share = (share * (1.0 + 8.0 * f64::EPSILON) + rounding / h).clamp(0.0, 1.0);
        self.put(below as i64, mass * (1.0 - share));
        self.put(below as i64 + 1, mass * share);
    }

    /// Outcomes with losses spread over `[lowest, highest]`; `masses(from, to)` describes those in between.
    pub fn cells(&mut self, lowest: f64, highest: f64, masses: impl Fn(f64, f64) -> Cell) {
        let h = self.distribution.interval;
        let (first, last) = ((lowest / h).floor() as i64, (highest / h).ceil() as i64);
        for index in first..last {
            let (from, to) =
                ((index as f64 * h).max(lowest), ((index + 1) as f64 * h).min(highest));
            if from < to {
                self.cell(index, from, masses(from, to));
            }
        }
    }

    /// Outcomes with losses from `from` to the upper end of the cell that begins at `index`.
    pub fn cell(&mut self, index: i64, from: f64, Cell { p, scaled_q, slack }: Cell) {
        let h = self.distribution.interval;
        let slack = slack + 8.0 * f64::EPSILON * p;
        let p = p.max(0.0) + slack;
        let q = scaled_q * libm::exp(index as f64 * h - from);
        let upper = (p - q + 4.0 * slack) / -libm::expm1(-h);
        let upper = if upper < p { upper.max(0.0) } else { p };
        self.put(index, p - upper);
        self.put(index + 1, upper);
    }

    /// The distribution, without empty cells at its ends.
    pub fn finish(self) -> PrivacyLossDistribution {
        let mut distribution = self.distribution;
        trim(&mut distribution);
        distribution
    }

    fn put(&mut self, index: i64, mass: f64) {
        let distribution = &mut self.distribution;
        let position = (index - distribution.lowest).max(0) as usize;
        // A loss above the grid would become infinite; `new` makes the grid large enough, so this is for safety only.
        match distribution.masses.get_mut(position) {
            Some(cell) => *cell += mass,
            None => distribution.infinity += mass,
        }
    }
}

/// Drops empty cells at both ends, and keeps at least one cell. At the top, negligible mass is moved to an infinite loss: tilting would
/// magnify it beyond the range of a double.
pub(super) fn trim(distribution: &mut PrivacyLossDistribution) {
    let masses = &mut distribution.masses;
    let end = masses.iter().rposition(|&mass| mass > 1e-290).map_or(1, |last| last + 1);
    distribution.infinity += masses[end..].iter().sum::<f64>();
    masses.truncate(end);
    let start = masses.iter().position(|&mass| mass > 0.0).unwrap_or(0);
    masses.drain(..start);
    distribution.lowest += start as i64;
}
