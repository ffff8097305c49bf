//! Exact noise on a grid: the only randomness that protects people.

mod bernoulli;
mod discrete_gaussian;
mod discrete_laplace;
mod exact_exp;
mod secure;
mod source;

#[cfg(test)]
pub(crate) mod check;

pub use bernoulli::Bernoulli;
pub use discrete_gaussian::DiscreteGaussian;
pub use discrete_laplace::DiscreteLaplace;
pub use secure::SecureNoise;
pub use source::Noise;
