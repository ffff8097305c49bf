//! `kind = "gradients"`: people drawn from a law.
//!
//! A person has features x and the label `<u, x> + label_noise N(0, 1)`; the default loss is absolute. u is drawn by the trial,
//! `support` of its entries are not zero, and it has norm `competitor`.
//! - `sphere`: x uniform on the unit sphere; gradients have Euclidean norm 1 (scenario 1).
//! - `sparse`: `nonzeros` entries of x are -1 or 1, the others 0 (scenario 2). Which they are is uniform, or follows
//!   `popularity`: entry j comes with weight `j^-popularity`, and the nonzero entries of u are the most popular ones.

use reticent::{
    Error,
    noise::{Noise, uniform_direction},
    online::Loss,
    schema::{Count, NotNegative},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Crowd, Person, Source};
use crate::{FastNoise, Result};

/// Keys of `kind = "gradients"`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GradientToml {
    /// Length of the competitor's vector.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub dimension: usize,
    /// Its norm.
    #[serde(default = "three")]
    #[schemars(with = "NotNegative")]
    pub competitor: f64,
    /// Number of its entries that are not zero; all by default.
    #[schemars(with = "Option<Count>")]
    pub support: Option<usize>,
    /// The law of features.
    #[serde(default)]
    pub features: Features,
    /// For `sparse`: how many features are not zero; 2 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Count>")]
    pub nonzeros: Option<usize>,
    /// For `sparse`: Zipf's exponent.
    #[serde(default)]
    #[schemars(range(min = 0, max = 10))]
    pub popularity: f64,
    /// Deviation of labels.
    #[serde(default = "tenth")]
    #[schemars(with = "NotNegative")]
    pub label_noise: f64,
    /// The loss.
    #[serde(default = "absolute")]
    pub loss: Loss,
}

fn three() -> f64 {
    3.0
}

fn tenth() -> f64 {
    0.1
}

fn absolute() -> Loss {
    Loss::Absolute
}

/// Features by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Features {
    /// Uniform on the unit sphere.
    #[default]
    Sphere,
    /// A few entries of -1 or 1.
    Sparse,
}

impl GradientToml {
    /// Scenario 1 in this dimension.
    pub fn sphere(dimension: usize) -> Self {
        GradientToml {
            dimension,
            competitor: three(),
            support: None,
            features: Features::Sphere,
            nonzeros: None,
            popularity: 0.0,
            label_noise: tenth(),
            loss: Loss::Absolute,
        }
    }

    fn nonzeros(&self) -> usize {
        self.nonzeros.unwrap_or(2)
    }

    /// Refuses more people than fit into memory.
    pub(crate) fn check_size(&self, rounds: u64) -> Result<()> {
        const MOST: f64 = 1e8;
        let each = match self.features {
            Features::Sphere => self.dimension,
            Features::Sparse => self.nonzeros(),
        };
        if rounds as f64 * each as f64 <= MOST {
            return Ok(());
        }
        let remedy = format!(
            "people with {each} features each are kept in memory, at most {MOST:e} features in all; expected at most {} rounds, or features = \"sparse\"",
            (MOST / each as f64) as u64
        );
        Err(Error::invalid("rounds", rounds, remedy).into())
    }

    pub(crate) fn check(&self) -> Result<Self> {
        let invalid = |field, value: &dyn std::fmt::Display, remedy: &str| {
            Err(Error::invalid(field, value, remedy).into())
        };
        if !(1..=1_000_000).contains(&self.dimension) {
            return invalid("dimension", &self.dimension, "expected 1 to 1000000");
        }
        if !(self.competitor.is_finite() && self.competitor >= 0.0) {
            return invalid("competitor", &self.competitor, "expected its norm, 0 or above");
        }
        let support = self.support.unwrap_or(self.dimension);
        if !(1..=self.dimension).contains(&support) {
            return invalid("support", &support, "expected 1 to dimension");
        }
        if self.features == Features::Sphere {
            let only = "it belongs to features = \"sparse\": add that, or leave it out";
            if let Some(nonzeros) = self.nonzeros {
                return invalid("nonzeros", &nonzeros, only);
            }
            if self.popularity != 0.0 {
                return invalid("popularity", &self.popularity, only);
            }
        } else if !(1..=self.dimension).contains(&self.nonzeros()) {
            return invalid("nonzeros", &self.nonzeros(), "expected 1 to dimension");
        }
        if !(0.0..=10.0).contains(&self.popularity) {
            return invalid("popularity", &self.popularity, "expected 0 to 10");
        }
        if !(self.label_noise.is_finite() && self.label_noise >= 0.0) {
            return invalid("label_noise", &self.label_noise, "expected a deviation, 0 or above");
        }
        if self.loss.derivative_bound().is_none() {
            return invalid("loss", &"squared", "its gradients have no bound: use absolute");
        }
        Ok(*self)
    }

    /// Indices of the features that are not zero, drawn one after the other by weight.
    fn indices(&self, cumulative: &[f64], noise: &mut FastNoise) -> Vec<usize> {
        let total = cumulative[cumulative.len() - 1];
        let mut indices = Vec::with_capacity(self.nonzeros());
        // A few indices among many are drawn by rejection; after many rejections, by a random key for every feature (Efraimidis and
        // Spirakis 2006).
        for _ in 0..20 * self.nonzeros() {
            let at = noise.uniform() * total;
            let index = cumulative.partition_point(|&sum| sum < at).min(self.dimension - 1);
            if !indices.contains(&index) {
                indices.push(index);
            }
            if indices.len() == self.nonzeros() {
                break;
            }
        }
        if indices.len() < self.nonzeros() {
            let key = |j: usize, noise: &mut FastNoise| {
                noise.exponential() * (j as f64 + 1.0).powf(self.popularity)
            };
            let rest = (0..self.dimension).filter(|j| !indices.contains(j));
            let mut keys: Vec<(f64, usize)> = rest.map(|j| (key(j, noise), j)).collect();
            keys.sort_by(|one, other| one.0.total_cmp(&other.0));
            let missing = self.nonzeros() - indices.len();
            indices.extend(keys.into_iter().take(missing).map(|(_, j)| j));
        }
        indices.sort_unstable();
        indices
    }
}

/// A fair coin of 1 and -1.
fn sign(noise: &mut FastNoise) -> f64 {
    if noise.bits() & 1 == 0 { 1.0 } else { -1.0 }
}

impl Source for GradientToml {
    fn dimension(&self) -> usize {
        self.dimension
    }

    fn loss(&self) -> Loss {
        self.loss
    }

    fn gradient_bound(&self) -> f64 {
        match self.features {
            Features::Sphere => 1.0,
            Features::Sparse => (self.nonzeros() as f64).sqrt(),
        }
    }

    fn l1_bound(&self) -> f64 {
        match self.features {
            Features::Sphere => (self.dimension as f64).sqrt(),
            Features::Sparse => self.nonzeros() as f64,
        }
    }

    fn coordinate_bound(&self) -> f64 {
        1.0
    }

    fn population(&self, rounds: u64) -> u64 {
        rounds
    }

    fn crowd(&self, rounds: u64, seed: u64) -> Result<Crowd> {
        let mut noise = FastNoise::seeded(seed);
        let support = self.support.unwrap_or(self.dimension);
        let direction = match self.features {
            Features::Sphere => uniform_direction(support, &mut noise),
            // All nonzero entries have the same size, so that trials differ less.
            Features::Sparse => {
                let size = 1.0 / (support as f64).sqrt();
                (0..support).map(|_| size * sign(&mut noise)).collect()
            }
        };
        let mut competitor = vec![0.0; self.dimension];
        for (entry, direction) in competitor.iter_mut().zip(direction) {
            *entry = self.competitor * direction;
        }
        let mut cumulative = Vec::new();
        if self.features == Features::Sparse {
            let mut sum = 0.0;
            for j in 1..=self.dimension {
                sum += (j as f64).powf(-self.popularity);
                cumulative.push(sum);
            }
        }
        let person = |_| -> Person {
            let features: Vec<(usize, f64)> = match self.features {
                Features::Sphere => {
                    uniform_direction(self.dimension, &mut noise).into_iter().enumerate().collect()
                }
                Features::Sparse => {
                    let indices = self.indices(&cumulative, &mut noise);
                    indices.into_iter().map(|index| (index, sign(&mut noise))).collect()
                }
            };
            let score: f64 = features.iter().map(|&(index, x)| x * competitor[index]).sum();
            let score = score + self.label_noise * noise.standard_normal();
            let label = if self.loss.classifies() { score.signum() } else { score };
            (features, label)
        };
        let people = (0..rounds).map(person).collect();
        Ok(Crowd { people, who: (0..rounds as usize).collect(), competitor, held_out: Vec::new() })
    }
}
