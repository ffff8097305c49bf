//! The sets, one file each: oracle, diameter, inradius, centre and affine hull.
//!
//! | set | oracle | diameter | inradius around the centre |
//! | --- | --- | --- | --- |
//! | [`Simplex`] | least entry | `sqrt 2` | `1 / sqrt(n (n - 1))` |
//! | [`L1Ball`] | largest entry | `2 R` | `R / sqrt n` |
//! | [`Cuboid`] | signs | `\|u - l\|` | `min (u - l) / 2` |
//! | [`L2Ball`] | direction | `2 R` | `R` |
//! | [`UniformMatroid`] | k least entries | `sqrt(2 min(k, n - k))` | `min(k, n - k) / sqrt(n (n - 1))` |
//! | [`PartitionMatroid`] | the same by block | product | least of the blocks |
//! | [`GraphicMatroid`] | Kruskal | bound by block | over all vertex subsets, to 16 vertices a block |
//! | [`SubmodularBase`] | Edmonds' greedy | box of marginals | over all subsets, to 14 elements |
//! | [`DagPaths`] | shortest path | exact | `min c_e / \|P e\|` |
//! | [`Birkhoff`] | assignment | `sqrt(2 k)` | `1 / (k - 1)` |
//! | [`NuclearBall`] | top singular pair | `2 R` | `R / sqrt(min(m, n))` |
//! | [`GeneralPolytope`] | linear program | box along the hull's axes | Chebyshev's |

mod birkhoff;
mod cuboid;
mod dag_paths;
mod general_polytope;
mod graphic_matroid;
mod l1_ball;
mod l2_ball;
mod nuclear_ball;
mod partition_matroid;
mod simplex;
mod submodular_base;
#[cfg(test)]
pub(super) mod testing;
mod uniform_matroid;

pub use birkhoff::Birkhoff;
pub use cuboid::Cuboid;
pub use dag_paths::DagPaths;
pub use general_polytope::GeneralPolytope;
pub use graphic_matroid::GraphicMatroid;
pub use l1_ball::L1Ball;
pub use l2_ball::L2Ball;
pub use nuclear_ball::NuclearBall;
pub use partition_matroid::PartitionMatroid;
pub use simplex::Simplex;
pub use submodular_base::SubmodularBase;
pub use uniform_matroid::UniformMatroid;

use crate::{Result, refuse_if};

/// Coordinates a set may have, as many as a running sum takes.
const MOST: usize = 1 << 12;
/// Vertices and edges of a graph, whose hull takes cubic time.
const MOST_IN_GRAPH: usize = 1 << 10;

/// `count` if there is anything to choose from, and not more than memory can hold.
fn between(field: &'static str, count: usize, least: usize, most: usize) -> Result<usize> {
    let remedy = format_args!("expected {least} to {most}");
    refuse_if(!(least..=most).contains(&count), field, count, remedy)?;
    Ok(count)
}

/// Index of the least entry, the first of equals.
fn least(entries: &[f64]) -> usize {
    (1..entries.len())
        .fold(0, |best, index| if entries[index] < entries[best] { index } else { best })
}
