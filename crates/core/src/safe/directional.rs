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
    Objective, Polytope,
    columns::{Columns, Interval},
    objective::Term,
    reach::Reach,
};

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
pub(super) struct Target {
    responses: Vec<f64>,
    value: f64,
    upper: f64,
}

impl Target {
    /// The best y with `|y_m| <= limits_m`.
    pub(super) fn new(polytope: &Polytope, objective: &Objective, limits: &[f64]) -> Self {
        let terms: Vec<Term> = (0..limits.len()).map(|agent| objective.term(agent)).collect();
        let oracles: Vec<Interval> = limits.iter().map(|&limit| Interval { limit }).collect();
        let mixture = Columns::default().generate(polytope, &terms, &oracles, &[]);
        let responses: Vec<f64> = mixture.points.iter().map(|point| point.mean).collect();
        let value = objective.value(&responses);
        let upper = mixture.upper + objective.value(&vec![0.0; limits.len()]);
        Target { responses, value, upper: upper.max(value) }
    }

    pub(super) fn value(&self) -> f64 {
        self.value
    }

    pub(super) fn responses(&self) -> &[f64] {
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
        let target = Target::new(polytope, objective, &nearer);
        let actions =
            reaches.iter().zip(&target.responses).map(|(reach, y)| reach.towards(*y)).collect();
        Aim { actions, value: target.value, upper: target.upper }
    }
}
