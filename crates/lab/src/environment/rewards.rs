//! Rewards, drawn given `m = <x, theta*>` in [-1, 1].
//!
//! ```text
//! sign       +1 with probability (1 + m)/2, else -1      mean m
//! gaussian   m + a standard normal                       mean m
//! bernoulli   1 with probability (1 + m)/2, else 0       mean (1 + m)/2
//! ```

use reticent::noise::Noise;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The law of rewards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Rewards {
    /// +1 or -1 with mean `<x, theta*>`, as in the paper.
    #[default]
    Sign,
    /// Normal with mean `<x, theta*>` and deviation 1.
    Gaussian,
    /// 0 or 1 with mean `(1 + <x, theta*>) / 2`: the sign rewards moved to [0, 1]. The mean is affine, not
    /// linear, and regret counts half.
    Bernoulli,
}

impl Rewards {
    /// The expected reward at `m = <x, theta*>`.
    #[inline]
    pub fn mean(self, m: f64) -> f64 {
        match self {
            Rewards::Sign | Rewards::Gaussian => m,
            Rewards::Bernoulli => 0.5 + 0.5 * m,
        }
    }

    /// One reward at `m = <x, theta*>`.
    pub fn draw(self, m: f64, noise: &mut impl Noise) -> f64 {
        let mut success = || noise.uniform() < 0.5 + 0.5 * m;
        match self {
            Rewards::Sign if success() => 1.0,
            Rewards::Sign => -1.0,
            Rewards::Bernoulli => f64::from(u8::from(success())),
            Rewards::Gaussian => m + noise.standard_normal(),
        }
    }
}
