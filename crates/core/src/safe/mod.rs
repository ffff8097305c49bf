//! Safe and private: decisions for many agents whose mean responses must stay in a polytope from the first round on.

mod linear_program;
mod polytope;
mod vertices;

pub use polytope::Polytope;
