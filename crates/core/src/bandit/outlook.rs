//! Whether a plan can work: the noise that protects people against the signal that so many people can give.
//!
//! In units where features have norm 1 and rewards lie in [-1, 1], after n people whose features point in all d directions alike the Gram matrix
//! is near `(n/d) I`. A predicted reward then errs, from the noise (N, h) of the sums and from the noise of rewards (at most 1 in deviation), by
//!
//! ```text
//! e(n)^2 = s(n)^2 (d/n)^2 + d/n,      s(n)^2 = s_u^2 + s_G^2      (|theta| <= 1)
//! ```
//!
//! and over arms in all directions the rewards differ by `1/sqrt d` in deviation where |theta| = 1. The ratio `e(n) sqrt d` is above 1 as long
//! as what is predicted of an arm is mostly noise. With a curator s hardly grows with n, and the ratio is 1 at about `s d^(3/2)` people; reports
//! of deviation `s_1` each have `s(n) = s_1 sqrt n`, and it is 1 at `(s_1^2 d + 1) d^2`.
//!
//! With blocks of parameters d counts the parameters of all of them.
//!
//! **What it is good for.** A warning before data are collected, right within a small factor where features fill their bounds: shorter
//! features, features that are nearly dependent and rewards that hardly differ need more people. Nothing is certified here, and all of it is
//! computed from parameters.

use serde::Serialize;

use super::{JointPlan, LocalPlan, ShufflePlan};
use crate::{
    Result,
    randomize::Bounds,
    release::{Layout, Schedule},
};

/// The noise of a plan against the signal of its people.
///
/// ```
/// use reticent::{bandit::JointParams, randomize::Bounds};
/// let few = JointParams::new(Bounds::unit(50), 1.0, 1e-6, Some(1000)).check()?.outlook()?.expect("a horizon");
/// assert!(few.noise_to_signal > 1.0 && few.useful_from > 1000);
/// let many = JointParams::new(Bounds::unit(5), 1.0, 1e-6, Some(20_000)).check()?.outlook()?.expect("a horizon");
/// assert!(many.noise_to_signal < 0.1);
/// println!("{many}");
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Outlook {
    /// n: how many people there will be.
    pub people: u64,
    /// `e(n) sqrt d`: the error of a predicted reward in units of how much rewards differ.
    pub noise_to_signal: f64,
    /// About how many people it takes until this is 1.
    pub useful_from: u64,
}

impl Outlook {
    /// Sums whose noise after all people has the deviation `noise`, as good as independent of their number.
    fn of_sums(dimension: usize, people: u64, noise: f64) -> Self {
        let d = dimension as f64;
        // s^2 d^3 / n^2 + d^2 / n = 1.
        let useful = 0.5 * (d * d + (d.powi(4) + 4.0 * noise * noise * d.powi(3)).sqrt());
        Outlook::new(dimension, people, noise, useful)
    }

    /// Sums of reports that bring noise of deviation `noise` each.
    fn of_reports(dimension: usize, people: u64, noise: f64) -> Self {
        let d = dimension as f64;
        let useful = (noise * noise * d + 1.0) * d * d;
        Outlook::new(dimension, people, noise * (people as f64).sqrt(), useful)
    }

    fn new(dimension: usize, people: u64, noise: f64, useful: f64) -> Self {
        let (d, n) = (dimension as f64, people.max(1) as f64);
        let noise_to_signal = libm::hypot(noise * d / n, (d / n).sqrt()) * d.sqrt();
        // The conversion saturates.
        Outlook { people, noise_to_signal, useful_from: useful.ceil() as u64 }
    }

    /// Whether predictions are mostly noise even after all people.
    pub fn is_hopeless(&self) -> bool {
        self.noise_to_signal > 1.0
    }
}

impl std::fmt::Display for Outlook {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Outlook { people, noise_to_signal, useful_from } = self;
        let verdict = match self.is_hopeless() {
            true => "TOO FEW PEOPLE to learn from: ",
            false => "",
        };
        write!(
            formatter,
            "{verdict}after {people} people a predicted reward errs by {noise_to_signal:.2} times what rewards differ by, and about {useful_from} people bring this down to 1 (if features fill their bounds in all directions; otherwise it takes more)"
        )
    }
}

impl JointPlan {
    /// The noise against the signal after all decisions; `None` if their number is not known.
    pub fn outlook(&self) -> Result<Option<Outlook>> {
        let people = match (self.params.restart_every, self.params.horizon) {
            (Some(every), _) => every,
            (None, Some(horizon)) if self.params.schedule != Schedule::Clock => horizon,
            _ => return Ok(None),
        };
        let bounds = &self.params.bounds;
        let last = self.params.schedule.releases(people).max(1);
        let deviations = self.plan.deviations(last)?;
        let domain = self.plan.clipper().domain();
        let (l, b) = (bounds.feature_bound, bounds.half_range());
        let matrix = deviations[0] / std::f64::consts::SQRT_2 / (l * l);
        let vector = deviations[domain.matrix_coordinates()] / (l * b);
        Ok(Some(Outlook::of_sums(domain.vector_coordinates(), people, libm::hypot(matrix, vector))))
    }
}

impl LocalPlan {
    /// The noise against the signal after reports of so many people.
    pub fn outlook(&self, people: u64) -> Outlook {
        let noise = 1.0 / self.reports().information().sqrt();
        let Bounds { dimension, structure, .. } = self.reports().params().bounds;
        Outlook::of_reports(Layout::new(dimension, structure).vector(), people, noise)
    }
}

impl ShufflePlan {
    /// The noise against the signal after reports of so many people.
    pub fn outlook(&self, people: u64) -> Outlook {
        self.local().outlook(people)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of people is where the ratio is 1.
    #[test]
    fn the_number_of_people_is_where_noise_equals_signal() {
        for (d, noise) in [(1, 0.0), (5, 3.0), (40, 0.2), (443, 8.0)] {
            for outlook in [Outlook::of_sums, Outlook::of_reports] {
                let people = outlook(d, 1, noise).useful_from;
                let at = outlook(d, people, noise).noise_to_signal;
                assert!((0.9..=1.0 + 1e-9).contains(&at), "{d} {noise}: {at}");
                assert!(outlook(d, people / 2, noise).is_hopeless() || people < 2);
                assert!(!outlook(d, 2 * people, noise).is_hopeless());
            }
        }
    }
}
