//! ROFUL: an optimistic target, aimed at along the best known directions, and scaled back until it is safe for every parameter.
//!
//! Hutchinson, Turan and Alizadeh (Directional optimism for safe linear bandits, 2024). Optimism is not confined to the actions that are
//! known to be safe: the target is the best point of Y that *some* parameter makes reachable,
//!
//! ```text
//! max f(y)  subject to  A y <= b,  |y_m| <= min(max_{||x|| <= K} p + s, S K).
//! ```
//!
//! Each agent is then sent the action whose response may be y_m with the smallest uncertainty ([`Reach::towards`]), and all are scaled by
//! one factor until the pessimistic check holds, which shrinks as confidence grows.

use super::{
    Objective,
    columns::{Columns, Interval},
    objective::Term,
    reach::Reach,
};
use crate::geometry::Polytope;

/// The optimistic target and actions aimed at it.
#[derive(Debug, Clone)]
pub(super) struct Aim {
    pub(super) actions: Vec<Vec<f64>>,
    /// f at the target.
    pub(super) value: f64,
    /// No target is worth more.
    pub(super) upper: f64,
}

/// The best point of Y, and what proves it.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    responses: Vec<f64>,
    value: f64,
    upper: f64,
}

impl Target {
    /// The best y with `|y_m| <= limits_m`.
    pub fn new(polytope: &Polytope, objective: &Objective, limits: &[f64]) -> Self {
        let own: Vec<(f64, f64)> = (0..limits.len()).map(|m| polytope.own_limits(m)).collect();
        Self::within(polytope, objective, limits, &own)
    }

    /// The same where what the rows that speak of one agent alone allow is known already.
    pub(super) fn within(
        polytope: &Polytope,
        objective: &Objective,
        limits: &[f64],
        own: &[(f64, f64)],
    ) -> Self {
        let terms: Vec<Term> = (0..limits.len()).map(|agent| objective.term(agent)).collect();
        let interval = |(&limit, &(high, low)): (&f64, &(f64, f64))| Interval {
            low: -low.min(limit),
            high: high.min(limit),
        };
        let oracles: Vec<Interval> = limits.iter().zip(own).map(interval).collect();
        let mixture = Columns::default().generate(polytope, &terms, &oracles, &[]);
        let responses: Vec<f64> = mixture.points.iter().map(|point| point.mean).collect();
        let value = objective.value(&responses);
        let upper = mixture.upper + objective.value(&vec![0.0; limits.len()]);
        Target { responses, value, upper: upper.max(value) }
    }

    /// f there.
    pub fn value(&self) -> f64 {
        self.value
    }

    /// y.
    pub fn responses(&self) -> &[f64] {
        &self.responses
    }

    /// Actions aimed at this target, or at a nearer one where it is out of reach.
    pub(super) fn aim(
        &self,
        polytope: &Polytope,
        objective: &Objective,
        reaches: &[Reach<'_>],
        limits: &[f64],
    ) -> Aim {
        let out_of_reach = |(reach, y): (&Reach<'_>, &f64)| {
            !reach.ray_reaches(*y) && y.abs() > reach.largest_response()
        };
        if !reaches.iter().zip(&self.responses).any(out_of_reach) {
            let actions =
                reaches.iter().zip(&self.responses).map(|(reach, y)| reach.towards(*y)).collect();
            return Aim { actions, value: self.value, upper: self.upper };
        }
        let nearer: Vec<f64> = reaches
            .iter()
            .zip(limits)
            .map(|(reach, limit)| reach.largest_response().min(*limit))
            .collect();
        let own: Vec<(f64, f64)> = reaches.iter().map(Reach::limits).collect();
        let target = Target::within(polytope, objective, &nearer, &own);
        let actions =
            reaches.iter().zip(&target.responses).map(|(reach, y)| reach.towards(*y)).collect();
        Aim { actions, value: target.value, upper: target.upper }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{noise::Noise, release::testing::Seeded};

    /// Round numbers meet in corners: ties in every step. Each target must come out feasible and with its proof.
    #[test]
    fn round_numbers_are_as_easy_as_others() {
        let mut noise = Seeded(8);
        let menu = [0.5, 1.0, 1.5, 2.0, 3.0];
        let mut pick = |from: &[f64]| from[noise.below(from.len() as u64) as usize];
        for case in 0..3000 {
            let agents = 2 + case % 2;
            let (mut rows, mut bounds) = (Vec::new(), Vec::new());
            for m in 0..agents {
                for sign in [1.0, -1.0] {
                    let mut row = vec![0.0; agents];
                    row[m] = sign;
                    rows.push(row);
                    bounds.push(pick(&menu[..4]));
                }
            }
            for _ in 0..1 + case % 3 {
                rows.push((0..agents).map(|_| pick(&[1.0, 1.0, 2.0, -1.0, 0.0])).collect());
                bounds.push(pick(&menu));
            }
            let polytope = Polytope::new(&rows, &bounds).unwrap();
            let mut some = |from: &[f64]| (0..agents).map(|_| pick(from)).collect::<Vec<f64>>();
            let objective = match case % 5 {
                0 | 1 => Objective::Fair { weights: some(&menu), reserves: some(&menu) },
                2 | 3 => Objective::Tracking {
                    targets: some(&[-2.0, -1.0, 1.0, 2.0]),
                    weights: some(&menu),
                },
                _ => Objective::Linear { weights: some(&[-1.0, 1.0, 2.0, 0.5]) },
            };
            let limits = vec![pick(&[0.5, 1.0, 2.0, 5.0]); agents];
            let target = Target::new(&polytope, &objective, &limits);
            let gap = (target.upper - target.value) / (1.0 + target.upper.abs());
            assert!(gap < 1e-7, "case {case}: {gap} {objective:?} {rows:?} {bounds:?} {limits:?}");
            let size = 1.0 + target.responses.iter().fold(0.0, |most: f64, y| most.max(y.abs()));
            assert!(polytope.excess(&target.responses) < 1e-9 * size, "case {case}");
        }
    }
}
