//! A linear model in one pass over a stream of people, private or not.
//!
//! ```text
//! the model is public -> a person computes the gradient of their loss -> clips it -> randomises it -> sends it -> the model moves
//! ```
//!
//! One report is all that leaves a person's device, so the guarantee of the randomiser is the whole guarantee.

use super::{BoundBroken, Loss, OnlineLearner};
use crate::{
    Error, Result,
    noise::Noise,
    randomize::{Gradient, GradientReport, Randomizer},
    wire,
};

/// A linear predictor that learns online.
///
/// ```
/// use reticent::{noise::SecureNoise, online::{LinearModel, Loss, OnlineParams}, randomize::KNormRandomizer};
/// let learner = OnlineParams::new(2, 1.0).check()?.start();
/// let mut model = LinearModel::new(learner, Loss::Logistic);
/// let mut noise = SecureNoise::from_system()?;
/// let careful = KNormRandomizer::new(2, 4.0, 1.0)?; // this person wants epsilon = 4
/// model.observe(&[0.6, -0.8], 1.0)?;
/// model.observe_privately(&[0.8, 0.6], -1.0, &careful, &mut noise)?;
/// assert!(model.score(&[0.6, -0.8])?.is_finite());
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct LinearModel {
    learner: OnlineLearner,
    loss: Loss,
}

/// The result of learning from one example. Score, loss and clipping are private: they are for the person's device, not for the server.
#[derive(Clone, Copy, PartialEq)]
pub struct Lesson {
    /// The prediction made before learning.
    pub score: f64,
    /// The loss of that prediction.
    pub loss: f64,
    /// The gradient was longer than its bound and was shortened.
    pub clipped: bool,
    /// The gradients so far contradict the bound.
    pub bound_broken: Option<BoundBroken>,
}

/// Does not print the private numbers.
impl std::fmt::Debug for Lesson {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut lesson = formatter.debug_struct("Lesson");
        lesson.field("bound_broken", &self.bound_broken).finish_non_exhaustive()
    }
}

impl LinearModel {
    /// A model on top of a learner.
    pub fn new(learner: OnlineLearner, loss: Loss) -> Self {
        LinearModel { learner, loss }
    }

    /// The learner.
    pub fn learner(&self) -> &OnlineLearner {
        &self.learner
    }

    /// The prediction `<w, x>`.
    pub fn score<'a>(&self, features: impl Into<Gradient<'a>>) -> Result<f64> {
        self.learner.score(features)
    }

    /// The computation on a person's device: the gradient of their loss at the public model, clipped to the learner's bound.
    pub fn gradient<'a>(
        &self,
        features: impl Into<Gradient<'a>>,
        label: f64,
    ) -> Result<(Vec<(usize, f64)>, Lesson)> {
        let features = features.into();
        let score = self.learner.score(features)?;
        let loss = self.loss.value(score, label)?;
        let slope = self.loss.derivative(score, label)?;
        let mut entries: Vec<(usize, f64)> =
            features.entries().map(|(index, x)| (index, slope * x)).collect();
        if let Some((index, value)) = entries.iter().find(|(_, g)| !g.is_finite()) {
            let remedy = "scale features and labels so that their products are finite";
            return Err(Error::invalid("gradient", format!("{value} at index {index}"), remedy));
        }
        let norm = self.learner.norm_of(Gradient::from(&entries));
        let bound = self.learner.params().gradient_bound;
        let clipped = norm > bound * (1.0 + 1e-12);
        if clipped {
            entries.iter_mut().for_each(|(_, g)| *g *= bound / norm);
        }
        Ok((entries, Lesson { score, loss, clipped, bound_broken: self.learner.bound_broken() }))
    }

    /// Learns from an example without privacy. An error changes nothing.
    pub fn observe<'a>(&mut self, features: impl Into<Gradient<'a>>, label: f64) -> Result<Lesson> {
        let (gradient, step) = self.gradient(features, label)?;
        let absorbed = self.learner.absorb_exact(&gradient)?;
        Ok(Lesson { bound_broken: absorbed.bound_broken, ..step })
    }

    /// Learns from a person through their own randomiser. An error changes nothing.
    pub fn observe_privately<'a, R: Randomizer, N: Noise + ?Sized>(
        &mut self,
        features: impl Into<Gradient<'a>>,
        label: f64,
        randomizer: &R,
        noise: &mut N,
    ) -> Result<Lesson> {
        let (gradient, step) = self.gradient(features, label)?;
        let report = randomizer.report(Gradient::from(&gradient), noise)?;
        let absorbed = self.absorb(&report)?;
        Ok(Lesson { bound_broken: absorbed, ..step })
    }

    /// The server's part: absorbs a report.
    pub fn absorb(&mut self, report: &GradientReport) -> Result<Option<BoundBroken>> {
        Ok(self.learner.absorb(report)?.bound_broken)
    }

    /// A round in which a person sends nothing.
    pub fn skip(&mut self) {
        let _ = self.learner.skip();
    }

    /// One pass over examples without noise; stops at the first that cannot be used. Returns the mean loss of the predictions
    /// made before each was learnt from, and how many there were.
    pub fn pass<'a, F: Into<Gradient<'a>>>(
        &mut self,
        examples: impl IntoIterator<Item = (F, f64)>,
    ) -> Result<(f64, u64)> {
        let (mut total, mut count) = (0.0, 0);
        for (features, label) in examples {
            total += self.observe(features, label)?.loss;
            count += 1;
        }
        Ok((total / count.max(1) as f64, count))
    }

    /// The whole state.
    pub fn save(&self) -> Vec<u8> {
        wire::save(wire::kinds::LINEAR_MODEL, &(self.learner.save(), self.loss))
    }

    /// Continues bit for bit where [`LinearModel::save`] stopped.
    pub fn load(bytes: &[u8]) -> Result<Self> {
        let (learner, loss): (Vec<u8>, Loss) = wire::load(wire::kinds::LINEAR_MODEL, bytes)?;
        Ok(LinearModel { learner: OnlineLearner::load(&learner)?, loss })
    }
}
