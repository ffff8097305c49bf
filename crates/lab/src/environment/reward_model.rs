//! The reward model of the doubly robust estimate: a ridge regression for each action, from lines as they are.
//!
//! ```text
//! q(x, a) = <w_a, x>, cut off at the range of rewards,    w_a = (I + sum x x^T)^-1 sum x r   over the lines of action a
//! ```
//!
//! It is the evaluator's, not the learner's: it carries no guarantee, and nothing of it reaches a policy.

use reticent::{Error, Result, linalg::Cholesky};

/// Sums of the lines so far.
pub(crate) struct RewardModel {
    width: usize,
    rewards: (f64, f64),
    /// For each action the upper triangle of `sum x x^T`, then `sum x r`.
    sums: Vec<Vec<f64>>,
}

/// The weights of each action.
pub(crate) struct Fitted {
    rewards: (f64, f64),
    weights: Vec<Vec<f64>>,
}

impl RewardModel {
    pub(crate) fn new(actions: usize, width: usize, rewards: (f64, f64)) -> Self {
        let entries = width * (width + 1) / 2 + width;
        RewardModel { width, rewards, sums: vec![vec![0.0; entries]; actions] }
    }

    pub(crate) fn add(&mut self, action: usize, x: &[f64], reward: f64) {
        let mut entries = self.sums[action].iter_mut();
        for (row, left) in x.iter().enumerate() {
            for right in &x[row..] {
                *entries.next().expect("a triangle and a vector") += left * right;
            }
        }
        entries.zip(x).for_each(|(sum, x)| *sum += x * reward);
    }

    pub(crate) fn fit(&self) -> Result<Fitted> {
        let split = self.width * (self.width + 1) / 2;
        let one = |sums: &Vec<f64>| {
            let factor = Cholesky::of(self.width, &sums[..split], 1.0).ok_or_else(|| {
                Error::invalid("reward model", "a singular one", "expected fewer or other features")
            })?;
            factor.solve(&sums[split..])
        };
        let weights = self.sums.iter().map(one).collect::<Result<_>>()?;
        Ok(Fitted { rewards: self.rewards, weights })
    }
}

impl Fitted {
    pub(crate) fn predict(&self, action: usize, x: &[f64]) -> f64 {
        let (low, high) = self.rewards;
        let product: f64 = self.weights[action].iter().zip(x).map(|(w, x)| w * x).sum();
        product.clamp(low, high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_action_has_its_own_line() {
        let mut model = RewardModel::new(2, 2, (0.0, 1.0));
        for i in 0..1000 {
            let x = [f64::from(i % 11) / 10.0, 1.0];
            model.add(0, &x, 0.2 + 0.5 * x[0]);
            model.add(1, &x, 0.9 - 0.5 * x[0]);
        }
        let fitted = model.fit().unwrap();
        assert!((fitted.predict(0, &[0.4, 1.0]) - 0.4).abs() < 0.01);
        assert!((fitted.predict(1, &[0.4, 1.0]) - 0.7).abs() < 0.01);
        assert_eq!(fitted.predict(1, &[9.0, 1.0]), 0.0);
        // An action that was never seen is expected to earn nothing.
        assert_eq!(RewardModel::new(1, 2, (0.0, 1.0)).fit().unwrap().predict(0, &[1.0, 1.0]), 0.0);
    }
}
