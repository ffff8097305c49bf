//! Exact noise on a grid: the only randomness that protects people.
//!
//! A *source* gives bits, a *law* says what to draw, and a draw is `noise.discrete_gaussian(&law)`.
//!
//! | file | what it holds | arithmetic |
//! | --- | --- | --- |
//! | `source.rs` | [`Noise`]: bits, and the draws built on them | |
//! | `secure.rs` | [`SecureNoise`]: ChaCha20 keyed by the operating system | |
//! | `discrete_gaussian.rs` | [`DiscreteGaussian`]: `exp(-z^2 / 2 sigma^2)` on the integers | exact |
//! | `discrete_laplace.rs` | [`DiscreteLaplace`]: `exp(-abs(z) / b)` on the integers | exact |
//! | `bernoulli.rs` | [`Bernoulli`], and the acceptance coin of both discrete laws | exact |
//! | `exact_exp.rs` | the same decision by integer arithmetic, where doubles are not accurate enough | exact |
//! | `k_norm.rs` | [`KNorm`]: pure privacy for vectors in a ball | doubles, rounded to a grid |
//! | `staircase.rs` | [`Staircase`]: pure privacy for one number | doubles, rounded to a grid |
//! | `wishart.rs` | [`Wishart`]: positive semidefinite matrices | doubles, rounded to a grid |
//! | `sphere.rs` | [`uniform_direction`], [`SphericalCap`] | doubles |
//! | `gamma.rs`, `grid.rs` | radii and chi-squares; rounding to a grid, and the error that remains | |
//!
//! Seeded noise for simulations implements the same trait in `reticent-lab`, which deployed code does not link.

mod bernoulli;
mod discrete_gaussian;
mod discrete_laplace;
mod exact_exp;
mod gamma;
pub(crate) mod grid;
mod k_norm;
mod secure;
mod source;
pub(crate) mod sphere;
mod staircase;
mod wishart;

#[cfg(test)]
pub(crate) mod check;

pub use bernoulli::Bernoulli;
pub use discrete_gaussian::DiscreteGaussian;
pub use discrete_laplace::DiscreteLaplace;
pub use k_norm::KNorm;
pub use secure::SecureNoise;
pub use source::Noise;
pub use sphere::{SphericalCap, uniform_direction};
pub use staircase::Staircase;
pub use wishart::Wishart;
