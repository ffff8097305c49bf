//! Safe and private: decisions for many agents whose mean responses must stay in a polytope from the first round on.

mod columns;
mod estimate;
mod linear_program;
mod objective;
mod optimum;
mod polytope;
mod projection;
mod reach;
mod sharpness;
mod simplex;
mod trust_region;
mod vertices;

pub use estimate::Confidence;
pub use objective::Objective;
pub use polytope::Polytope;
pub use simplex::Simplex;

use estimate::Estimate;
