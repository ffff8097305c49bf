//! What a person's own device does to a report before it leaves: one file per local randomiser.
//!
//! | randomiser | for | guarantee |
//! | --- | --- | --- |
//! | [`PrivUnit`] | a unit vector, least variance | pure, exactly calibrated |
//! | [`KNormRandomizer`] | a gradient in a Euclidean ball | pure |
//! | [`LocalLaplace`] | a gradient with a level for every attribute | pure, each attribute its own |
//! | [`L1Laplace`] | a gradient with few large entries | pure |
//! | [`StaircaseRandomizer`] | a gradient with a level for every attribute, levels above 2 | pure, each attribute its own |
//!
//! Every randomiser is built once from public parameters, names its cost with `event()`, and turns one input
//! into one report with `randomize(input, noise)`. Those of gradients share the trait [`Randomizer`]: they clip first, and their noise is
//! symmetric, which the learners of [`online`](crate::online) need (PrivUnit's is not).

mod grid_laplace;
mod k_norm;
mod l1_laplace;
mod local_laplace;
mod priv_unit;
mod randomizer;
mod staircase;

pub use k_norm::KNormRandomizer;
pub use l1_laplace::L1Laplace;
pub use local_laplace::LocalLaplace;
pub use priv_unit::PrivUnit;
pub use randomizer::Randomizer;
pub use staircase::StaircaseRandomizer;
