//! Projected online gradient descent on a ball.
//!
//! ```text
//! theta_{t+1} = Pi_D(theta_t - eta_t g_t),   Pi_D(z) = z min(1, D / ||z||),   theta_1 = 0
//! ```
//!
//! Zinkevich, "Online Convex Programming and Generalized Infinitesimal Gradient Ascent" (2003). For convex losses and any u
//! with `||u|| <= D`, with a constant step eta
//!
//! ```text
//! sum l_t(theta_t) - l_t(u) <= ||u||^2 / (2 eta) + (eta / 2) sum ||g_t||^2,
//! ```
//!
//! and with falling steps `eta / sqrt t` at most `2 D^2 sqrt(T) / eta + sum eta_t ||g_t||^2 / 2`.

use serde::{Deserialize, Serialize};

use super::{BallLearner, LARGEST, check_gradient};
use crate::{
    Result,
    error::{finite_vector, not_negative, positive},
    linalg::dot,
    refuse_if, wire,
};

/// Length of a round's step.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// The same factor in every round.
    Constant(f64),
    /// This number over the root of the round: with D/G the regret is at most `3 G D sqrt(T)` against gradients up to G.
    InverseRoot(f64),
}

impl Step {
    fn factor(self) -> f64 {
        match self {
            Step::Constant(factor) | Step::InverseRoot(factor) => factor,
        }
    }

    /// eta_t, rounds counted from 1.
    fn at(self, round: u64) -> f64 {
        match self {
            Step::Constant(factor) => factor,
            Step::InverseRoot(factor) => factor / (round as f64).sqrt(),
        }
    }
}

/// Parameters of [`GradientDescent`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GradientDescentParams {
    /// Entries of a prediction, d.
    pub dimension: usize,
    /// Predictions stay within this distance of zero, D.
    pub radius: f64,
    /// Length of a round's step.
    pub step: Step,
}

impl GradientDescentParams {
    /// A learner at zero; the error names the parameter to change.
    pub fn check(&self) -> Result<GradientDescent> {
        const MOST: usize = 1 << 28;
        let remedy = format_args!("expected 1 to {MOST}");
        refuse_if(!(1..=MOST).contains(&self.dimension), "dimension", self.dimension, remedy)?;
        let sizes = [("radius", self.radius), ("step", self.step.factor())];
        for (field, value) in sizes {
            let remedy = format_args!("expected at most {LARGEST:e}");
            refuse_if(positive(field, value)? > LARGEST, field, value, remedy)?;
        }
        let prediction = vec![0.0; self.dimension];
        Ok(GradientDescent { params: *self, rounds: 0, prediction, movement: 0.0 })
    }
}

/// The state of gradient descent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GradientDescent {
    params: GradientDescentParams,
    rounds: u64,
    prediction: Vec<f64>,
    /// `sum eta_t ||g_t||^2 / 2`.
    movement: f64,
}

impl BallLearner for GradientDescent {
    fn prediction(&self) -> &[f64] {
        &self.prediction
    }

    fn absorb(&mut self, gradient: &[f64]) -> Result<()> {
        check_gradient(gradient, self.params.dimension)?;
        self.rounds += 1;
        let step = self.params.step.at(self.rounds);
        for (theta, slope) in self.prediction.iter_mut().zip(gradient) {
            *theta -= step * slope;
        }
        into_ball(&mut self.prediction, self.params.radius);
        self.movement += 0.5 * step * dot(gradient, gradient);
        Ok(())
    }
}

impl GradientDescent {
    /// The learner's parameters.
    pub fn params(&self) -> &GradientDescentParams {
        &self.params
    }

    /// Gradients seen so far.
    pub fn rounds(&self) -> u64 {
        self.rounds
    }

    /// An upper bound on the regret so far against any u of at most this length, if the losses are convex. It is computed from the
    /// gradients received and assumes no bound on them.
    pub fn regret_bound(&self, length: f64) -> f64 {
        let Step::Constant(step) = self.params.step else {
            let diameter = self.params.radius + length.min(self.params.radius);
            let last = self.params.step.at(self.rounds.max(1));
            return 0.5 * diameter * diameter / last + self.movement;
        };
        0.5 * length * length / step + self.movement
    }

    /// The whole state.
    pub fn save(&self) -> Vec<u8> {
        wire::save(wire::kinds::GRADIENT_DESCENT, self)
    }

    /// Continues bit for bit from saved bytes.
    pub fn load(bytes: &[u8]) -> Result<Self> {
        let saved: GradientDescent = wire::load(wire::kinds::GRADIENT_DESCENT, bytes)?;
        saved.validate()?;
        Ok(saved)
    }

    /// Refuses a state that no run could have produced.
    pub(crate) fn validate(&self) -> Result<()> {
        self.params.check()?;
        finite_vector("saved prediction", &self.prediction, self.params.dimension)?;
        not_negative("saved movement", self.movement).map(drop)
    }
}

/// Scales `point` to length `radius` if it is longer.
pub(super) fn into_ball(point: &mut [f64], radius: f64) {
    let square = dot(point, point);
    if square > radius * radius {
        let scale = radius / square.sqrt();
        point.iter_mut().for_each(|entry| *entry *= scale);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::{Noise, SecureNoise};

    fn learner(step: Step) -> GradientDescent {
        GradientDescentParams { dimension: 3, radius: 1.0, step }.check().unwrap()
    }

    /// Regret against the best point of the ball when losses are random linear functions with a drift.
    fn linear(learner: &mut GradientDescent, rounds: u64) -> f64 {
        let mut noise = SecureNoise::seeded(5);
        let (mut loss, mut sum) = (0.0, vec![0.0; 3]);
        for _ in 0..rounds {
            let g: Vec<f64> = (0..3).map(|_| noise.standard_normal() + 0.2).collect();
            loss += dot(&g, learner.prediction());
            sum.iter_mut().zip(&g).for_each(|(sum, g)| *sum += g);
            learner.absorb(&g).unwrap();
            assert!(dot(learner.prediction(), learner.prediction()) <= 1.0 + 1e-12);
        }
        // The best point is the unit vector opposite to the sum.
        loss + dot(&sum, &sum).sqrt()
    }

    #[test]
    fn the_regret_bound_holds_and_says_something() {
        for step in [Step::Constant(0.02), Step::InverseRoot(0.5)] {
            let mut descent = learner(step);
            let regret = linear(&mut descent, 5000);
            let bound = descent.regret_bound(1.0);
            assert!(regret <= bound && bound < 1000.0, "{regret} {bound}");
            assert!(regret > 0.1 * bound, "{regret} {bound}");
        }
    }

    #[test]
    fn resumes_bit_for_bit_and_refuses_bad_input_without_moving() {
        let mut descent = learner(Step::InverseRoot(0.3));
        linear(&mut descent, 100);
        let mut resumed = GradientDescent::load(&descent.save()).unwrap();
        assert_eq!(resumed, descent);
        for bad in [&[f64::NAN, 0.0, 0.0][..], &[1.0, 2.0], &[1e200, 0.0, 0.0]] {
            assert!(resumed.absorb(bad).is_err());
        }
        assert_eq!(resumed, descent);
        linear(&mut resumed, 10);
        linear(&mut descent, 10);
        assert_eq!(resumed, descent);
        let good = *descent.params();
        for (params, field) in [
            (GradientDescentParams { dimension: 0, ..good }, "dimension: got 0"),
            (GradientDescentParams { radius: -1.0, ..good }, "radius: got -1"),
            (GradientDescentParams { step: Step::Constant(f64::NAN), ..good }, "step: got NaN"),
        ] {
            assert!(params.check().unwrap_err().to_string().starts_with(field));
        }
        let mut broken = descent.clone();
        broken.prediction.pop();
        assert!(GradientDescent::load(&broken.save()).is_err());
    }
}
