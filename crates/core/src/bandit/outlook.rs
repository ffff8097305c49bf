//! Sample size estimate: the noise that protects people against the signal that a number of people can give.
//!
//! In units where features have norm 1 and rewards lie in [-1, 1], after n people whose features point in all d directions alike the Gram matrix
//! is near `(n/d) I`. A predicted reward then errs, from the noise (N, h) of the sums and from the noise of rewards (at most 1 in deviation), by
//!
//! ```text
//! e(n)^2 = s(n)^2 (d/n)^2 + d/n,      s(n)^2 = s_u^2 + s_G^2      (|theta| <= 1)
//! ```
//!
//! and over arms in all directions the rewards differ by `1/sqrt q` in deviation, where an arm has q parameters of norm 1: q = d, or with blocks
//! of parameters the features of one arm, while d counts the parameters of all blocks. The ratio `e(n) sqrt q` is above 1 as long
//! as what is predicted of an arm is mostly noise. With a curator s hardly grows with n, and the ratio is 1 at about `s d sqrt q` people; reports
//! of deviation `s_1` each have `s(n) = s_1 sqrt n`, and it is 1 at `(s_1^2 d + 1) d q`.
//!
//! **What it is good for.** A warning before data are collected: `reticent reproduce defaults/outlook` compares it with learning curves. Features
//! shorter than their bounds, features that are nearly dependent and rewards that hardly differ need more people; where one answer is
//! nearly always right, fewer. Nothing is certified here, and all of it is computed from parameters.

use serde::Serialize;

use super::{JointParams, JointPlan, LocalPlan, ShufflePlan};
use crate::{
    Result,
    randomize::Bounds,
    release::{Layout, Mechanism, Schedule},
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
    /// `e(n) sqrt q`: the error of a predicted reward in units of how much rewards differ.
    pub noise_to_signal: f64,
    /// About how many people it takes until this is 1.
    pub useful_from: u64,
}

/// Parameters to learn, and how many of them an arm has.
#[derive(Debug, Clone, Copy)]
struct Size {
    /// d.
    parameters: f64,
    /// q.
    features: f64,
}

impl Size {
    fn of(bounds: &Bounds) -> Self {
        let parameters = Layout::new(bounds.dimension, bounds.structure).vector() as f64;
        Size { parameters, features: bounds.dimension as f64 }
    }
}

impl Outlook {
    /// Sums whose noise after all people has the deviation `noise`, as good as independent of their number.
    fn of_sums(size: Size, people: u64, noise: f64) -> Self {
        let Size { parameters: d, features: q } = size;
        // s^2 d^2 q / n^2 + d q / n = 1.
        let useful = 0.5 * d * (q + (q * q + 4.0 * noise * noise * q).sqrt());
        Outlook::new(size, people, noise, useful)
    }

    /// Sums of reports that bring noise of deviation `noise` each.
    fn of_reports(size: Size, people: u64, noise: f64) -> Self {
        let Size { parameters: d, features: q } = size;
        let useful = (noise * noise * d + 1.0) * d * q;
        Outlook::new(size, people, noise * (people as f64).sqrt(), useful)
    }

    fn new(size: Size, people: u64, noise: f64, useful: f64) -> Self {
        let Size { parameters: d, features: q } = size;
        let n = people.max(1) as f64;
        let noise_to_signal = libm::hypot(noise * d / n, (d / n).sqrt()) * q.sqrt();
        // The conversion saturates.
        Outlook { people, noise_to_signal, useful_from: useful.ceil() as u64 }
    }

    /// Returns whether predictions are mostly noise even after all people.
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
        let noise = self.noise(&self.plan.deviations(last)?);
        let size = Size::of(bounds);
        Ok(Some(match self.params.mechanism {
            Some(Mechanism::Reports) => {
                let rounds = people.max(1) as f64;
                Outlook::of_reports(size, people, noise / rounds.sqrt())
            }
            _ => Outlook::of_sums(size, people, noise),
        }))
    }

    /// About how many contributions it takes until a predicted reward is no longer mostly noise; `None` if that depends on how many there will be.
    ///
    /// By the clock the noise depends on the ticks and not on participation, and that of the last tick is taken. With a half-life the noise is the same from
    /// some tick on, and contributions count by what is left of them.
    ///
    /// ```
    /// use reticent::{bandit::JointParams, randomize::Bounds, release::Schedule};
    /// let by_clock = JointParams { schedule: Schedule::Clock, ..JointParams::forgetting(Bounds::unit(5), 1.0, 1e-6, 5000.0) };
    /// assert!(by_clock.check()?.useful_from()?.is_some_and(|visits| visits > 100));
    /// # Ok::<(), reticent::Error>(())
    /// ```
    pub fn useful_from(&self) -> Result<Option<u64>> {
        if let Some(outlook) = self.outlook()? {
            return Ok(Some(outlook.useful_from));
        }
        let JointParams { bounds, forget, horizon, mechanism, .. } = &self.params;
        let unknown = forget.is_none() && horizon.is_none();
        if unknown || *mechanism == Some(Mechanism::Reports) {
            return Ok(None);
        }
        let noise = self.noise(&self.plan.last_deviations()?);
        Ok(Some(Outlook::of_sums(Size::of(bounds), 0, noise).useful_from))
    }
}

impl JointPlan {
    /// s of a release with these deviations; that of the entries of dense sums, where sums are merged.
    fn noise(&self, deviations: &[f64]) -> f64 {
        let (bounds, domain) = (&self.params.bounds, self.plan.clipper().domain());
        let Some(ratio) = domain.pattern().and_then(|pattern| pattern.noise_ratios().next()) else {
            return of_deviations(bounds, deviations);
        };
        let (l, b) = (bounds.feature_bound, bounds.half_range());
        let vector = deviations[domain.matrix_coordinates()];
        libm::hypot(deviations[0] / ratio / (l * l), vector / (l * b))
    }
}

/// s: the noise of sums with these deviations, in units where features have norm 1 and rewards lie in [-1, 1].
pub(super) fn of_deviations(bounds: &Bounds, deviations: &[f64]) -> f64 {
    let (l, b) = (bounds.feature_bound, bounds.half_range());
    let matrix = deviations[0] / std::f64::consts::SQRT_2 / (l * l);
    let vector = deviations[Layout::new(bounds.dimension, bounds.structure).matrix()] / (l * b);
    libm::hypot(matrix, vector)
}

/// `sum_n min(e(n)^2, 1/q)` over the people of sums whose noise has the deviation s whatever their number: about what is lost while learning.
pub(super) fn loss_of_sums(bounds: &Bounds, people: u64, noise: f64) -> f64 {
    let (size, d) = (Size::of(bounds), Size::of(bounds).parameters);
    let useful = Outlook::of_sums(size, people, noise).useful_from;
    loss(size, people, useful, noise * noise * d * d, d)
}

/// The same for sums of reports that bring noise of deviation `noise` each.
pub(super) fn loss_of_reports(bounds: &Bounds, people: u64, noise: f64) -> f64 {
    let (size, d) = (Size::of(bounds), Size::of(bounds).parameters);
    let useful = Outlook::of_reports(size, people, noise).useful_from;
    loss(size, people, useful, 0.0, (noise * noise * d + 1.0) * d)
}

/// `1/q` each until learning is useful, then `square / n^2 + linear / n`.
fn loss(size: Size, people: u64, useful: u64, square: f64, linear: f64) -> f64 {
    let (all, first) = (people as f64, useful.clamp(1, people.max(1)) as f64);
    let later = square * (1.0 / first - 1.0 / all) + linear * libm::log(all / first);
    first / size.features + later
}

impl LocalPlan {
    /// The noise against the signal after reports of this many people.
    pub fn outlook(&self, people: u64) -> Outlook {
        let noise = 1.0 / self.reports().information().sqrt();
        Outlook::of_reports(Size::of(&self.reports().params().bounds), people, noise)
    }
}

impl ShufflePlan {
    /// The noise against the signal after reports of this many people.
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
        for (parameters, features, noise) in
            [(1.0, 1.0, 0.0), (5.0, 5.0, 3.0), (40.0, 40.0, 0.2), (442.0, 17.0, 8.0)]
        {
            let size = Size { parameters, features };
            for outlook in [Outlook::of_sums, Outlook::of_reports] {
                let people = outlook(size, 1, noise).useful_from;
                let at = outlook(size, people, noise).noise_to_signal;
                assert!((0.9..=1.0 + 1e-9).contains(&at), "{size:?} {noise}: {at}");
                assert!(outlook(size, people / 2, noise).is_hopeless() || people < 2);
                assert!(!outlook(size, 2 * people, noise).is_hopeless());
            }
        }
    }

    /// The noise of a tick is that of a round, with any participants; what is forgotten has a part of it.
    #[test]
    fn by_the_clock_the_number_is_that_of_as_many_rounds() {
        let bounds = Bounds::unit(5);
        let of = |params: JointParams| params.check().unwrap().useful_from().unwrap();
        let rounds = JointParams {
            schedule: Schedule::EveryRound,
            rule: crate::bandit::Rule::THOMPSON,
            ..JointParams::new(bounds, 1.0, 1e-6, Some(4096))
        };
        let clock = JointParams { schedule: Schedule::Clock, ..rounds.clone() };
        assert_eq!(clock.check().unwrap().outlook().unwrap(), None);
        let all = of(clock).unwrap();
        assert_eq!(Some(all), of(rounds.clone()));
        let forgetting = |ticks| JointParams {
            schedule: Schedule::Clock,
            ..JointParams::forgetting(bounds, 1.0, 1e-6, ticks)
        };
        let [short, long] = [64.0, 4096.0].map(|ticks| of(forgetting(ticks)).unwrap());
        assert!(short < long && (all / 2..2 * all).contains(&long), "{short} {long} {all}");
        assert_eq!(of(JointParams { horizon: None, ..rounds }), None);
    }
}
