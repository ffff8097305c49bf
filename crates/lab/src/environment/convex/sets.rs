//! Sets by the names experiments use.

use reticent::{
    Result,
    convex::{AnySet, oracle},
    schema::{Count, Positive},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The `set` of an environment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum SetToml {
    /// Distributions.
    Simplex {
        /// Number of outcomes.
        #[schemars(with = "Count")]
        outcomes: usize,
    },
    /// Vectors with `sum |x_i| <= radius`.
    L1Ball {
        /// Length of a vector.
        #[schemars(with = "Count")]
        dimension: usize,
        /// The radius.
        #[serde(default = "crate::lines::unity")]
        #[schemars(with = "Positive")]
        radius: f64,
    },
    /// Vectors with `|x| <= radius`.
    L2Ball {
        /// Length of a vector.
        #[schemars(with = "Count")]
        dimension: usize,
        /// The radius.
        #[serde(default = "crate::lines::unity")]
        #[schemars(with = "Positive")]
        radius: f64,
    },
    /// Vectors in `[0, side]^n`: budgets.
    Box {
        /// Length of a vector.
        #[schemars(with = "Count")]
        dimension: usize,
        /// The longest side.
        #[serde(default = "crate::lines::unity")]
        #[schemars(with = "Positive")]
        side: f64,
    },
    /// Subsets of one size.
    Slates {
        /// Number of elements.
        elements: usize,
        /// Number of elements shown.
        size: usize,
    },
    /// k elements from each group (partition matroid).
    Partition {
        /// `[elements, choices]` of each group.
        groups: Vec<(usize, usize)>,
    },
    /// Spanning trees of a graph.
    SpanningTrees {
        /// Vertices are numbered below this.
        vertices: usize,
        /// The edges; all of them if none are given.
        #[serde(default)]
        edges: Vec<(usize, usize)>,
    },
    /// Routes through a directed acyclic graph, from its first vertex to its last.
    Routes {
        /// Vertices are numbered below this.
        vertices: usize,
        /// The edges.
        edges: Vec<(usize, usize)>,
    },
    /// Routes through a grid, right and down.
    GridRoutes {
        /// Rows of crossings.
        rows: usize,
        /// Columns of crossings.
        columns: usize,
    },
    /// Assignments of this number of things to as many places.
    Assignments {
        /// Their number.
        size: usize,
    },
    /// Matrices of small nuclear norm.
    LowRank {
        /// Rows of the matrix.
        rows: usize,
        /// Columns of the matrix.
        columns: usize,
        /// The largest nuclear norm.
        #[serde(default = "crate::lines::unity")]
        #[schemars(with = "Positive")]
        radius: f64,
    },
    /// `A x <= b`.
    Polytope {
        /// A, row by row.
        rows: Vec<Vec<f64>>,
        /// b.
        bounds: Vec<f64>,
    },
}

/// A size small enough to be allocated before its set is asked whether it is sound.
fn sized(field: &'static str, size: usize, most: usize) -> Result<usize> {
    reticent::refuse_if(size > most, field, size, format_args!("expected at most {most}"))?;
    Ok(size)
}

impl SetToml {
    /// The set, or what is wrong with it.
    pub fn build(&self) -> Result<AnySet> {
        Ok(match self {
            SetToml::Simplex { outcomes } => oracle::Simplex::set(*outcomes)?.boxed(),
            SetToml::L1Ball { dimension, radius } => {
                oracle::L1Ball::set(*dimension, *radius)?.boxed()
            }
            SetToml::L2Ball { dimension, radius } => {
                let dimension = sized("dimension", *dimension, 1 << 12)?;
                oracle::L2Ball::set(&vec![0.0; dimension], *radius)?.boxed()
            }
            SetToml::Box { dimension, side } => {
                let dimension = sized("dimension", *dimension, 1 << 12)?;
                oracle::Cuboid::set(&vec![0.0; dimension], &vec![*side; dimension])?.boxed()
            }
            SetToml::Slates { elements, size } => {
                oracle::UniformMatroid::set(*elements, *size)?.boxed()
            }
            SetToml::Partition { groups } => oracle::PartitionMatroid::set(groups)?.boxed(),
            SetToml::SpanningTrees { vertices, edges } if edges.is_empty() => {
                let vertices = &sized("vertices", *vertices, 1 << 10)?;
                let all: Vec<(usize, usize)> =
                    (0..*vertices).flat_map(|v| (0..v).map(move |w| (w, v))).collect();
                oracle::GraphicMatroid::set(*vertices, &all)?.boxed()
            }
            SetToml::SpanningTrees { vertices, edges } => {
                oracle::GraphicMatroid::set(*vertices, edges)?.boxed()
            }
            SetToml::Routes { vertices, edges } => {
                oracle::DagPaths::set(*vertices, edges, 0, vertices.saturating_sub(1))?.boxed()
            }
            SetToml::GridRoutes { rows, columns } => {
                let rows = &sized("rows", *rows, 1 << 10)?;
                let columns = &sized("columns", *columns, 1 << 10)?;
                let vertices = rows * columns;
                let mut edges = Vec::new();
                for vertex in 0..vertices {
                    if (vertex + 1) % columns != 0 {
                        edges.push((vertex, vertex + 1));
                    }
                    if vertex + columns < vertices {
                        edges.push((vertex, vertex + columns));
                    }
                }
                oracle::DagPaths::set(vertices, &edges, 0, vertices.saturating_sub(1))?.boxed()
            }
            SetToml::Assignments { size } => oracle::Birkhoff::set(*size)?.boxed(),
            SetToml::LowRank { rows, columns, radius } => {
                oracle::NuclearBall::set(*rows, *columns, *radius)?.boxed()
            }
            SetToml::Polytope { rows, bounds } => {
                oracle::GeneralPolytope::set(rows, bounds)?.boxed()
            }
        })
    }
}
