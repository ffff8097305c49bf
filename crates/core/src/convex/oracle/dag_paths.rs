//! Paths from a source to a sink in a directed acyclic graph: unit flows, one coordinate per edge.
//!
//! ```text
//! { x >= 0, one unit leaves the source, what enters an inner vertex leaves it }
//! ```
//!
//! Edges on no path are fixed at 0. The others can all be positive at once, so conservation is all of the hull,
//! and `x_e = 0` are the facets. The centre is the uniform distribution over paths, counted forwards and backwards.
//! The oracle is the shortest path in topological order, so costs may be negative.
//!
//! **Diameter.** The two paths with the longest symmetric difference, by dynamic programming over pairs of vertices:
//! the topologically earlier one moves, so paths that meet at a vertex are there together.

use super::{MOST_IN_GRAPH, between};
use crate::{
    Error, Result,
    convex::{DecisionSet, Hull, LinearOracle, Shape},
    refuse_if,
};

/// The oracle of the paths of a directed acyclic graph.
#[derive(Debug, Clone, PartialEq)]
pub struct DagPaths {
    vertices: usize,
    source: usize,
    sink: usize,
    edges: Vec<(usize, usize)>,
    /// Useful edges by the topological order of their tails.
    order: Vec<usize>,
}

impl DagPaths {
    /// Paths from `source` to `sink` along `edges` between vertices `0..vertices`; at least two of them.
    pub fn set(
        vertices: usize,
        edges: &[(usize, usize)],
        source: usize,
        sink: usize,
    ) -> Result<DecisionSet<Self>> {
        between("vertices", vertices, 2, MOST_IN_GRAPH)?;
        between("edges", edges.len(), 2, MOST_IN_GRAPH)?;
        let named = |field, vertex: usize| {
            if vertex < vertices {
                return Ok(());
            }
            Err(Error::invalid(field, vertex, format!("vertices are numbered below {vertices}")))
        };
        named("source", source)?;
        named("sink", sink)?;
        for &(tail, head) in edges {
            named("edge's tail", tail)?;
            named("edge's head", head)?;
        }
        let rank = topological_ranks(vertices, edges)?;
        let mut order: Vec<usize> = (0..edges.len()).collect();
        order.sort_by_key(|&edge| (rank[edges[edge].0], edge));
        // Paths from the source to each vertex, and from it to the sink.
        let (mut before, mut after) = (vec![0.0; vertices], vec![0.0; vertices]);
        before[source] = 1.0;
        for &edge in &order {
            before[edges[edge].1] += before[edges[edge].0];
        }
        after[sink] = 1.0;
        for &edge in order.iter().rev() {
            after[edges[edge].0] += after[edges[edge].1];
        }
        let paths: f64 = before[sink];
        let remedy = "expected at least two paths from the source to the sink";
        refuse_if(source == sink || paths < 2.0, "number of paths", paths, remedy)?;
        refuse_if(!paths.is_finite(), "number of paths", paths, "expected a smaller graph")?;
        let centre: Vec<f64> = edges.iter().map(|&(t, h)| before[t] * after[h] / paths).collect();
        order.retain(|&edge| centre[edge] > 0.0);
        let oracle = DagPaths { vertices, source, sink, edges: edges.to_vec(), order };
        let hull = oracle.hull(&centre)?;
        let unit = |edge: usize| {
            let mut row = vec![0.0; edges.len()];
            row[edge] = 1.0;
            row
        };
        let inradius = oracle
            .order
            .iter()
            .map(|&edge| (centre[edge], hull.length(&unit(edge))))
            .filter(|(_, length)| *length > 1e-9)
            .map(|(slack, length)| slack / length)
            .fold(f64::INFINITY, f64::min);
        let shape = Shape::new(centre, oracle.longest_difference(&rank).sqrt(), inradius, hull)?;
        DecisionSet::new(oracle, shape)
    }

    fn hull(&self, centre: &[f64]) -> Result<Hull> {
        let n = self.edges.len();
        let mut rows = vec![vec![0.0; n]; self.vertices];
        let mut fixed = Vec::new();
        for (edge, &(tail, head)) in self.edges.iter().enumerate() {
            if centre[edge] > 0.0 {
                rows[tail][edge] += 1.0;
                rows[head][edge] -= 1.0;
            } else {
                fixed.push(edge);
            }
        }
        for edge in fixed {
            let mut row = vec![0.0; n];
            row[edge] = 1.0;
            rows.push(row);
        }
        Hull::orthogonal_to(n, &rows)
    }

    /// The most edges in which two paths differ.
    fn longest_difference(&self, rank: &[usize]) -> f64 {
        let n = self.vertices;
        let mut leaving = vec![Vec::new(); n];
        self.order.iter().for_each(|&edge| leaving[self.edges[edge].0].push(self.edges[edge].1));
        let mut by_rank: Vec<usize> = (0..n).collect();
        by_rank.sort_by_key(|&vertex| rank[vertex]);
        let mut longest = vec![f64::NEG_INFINITY; n * n];
        longest[self.sink * n + self.sink] = 0.0;
        for &one in by_rank.iter().rev() {
            for &two in by_rank.iter().rev() {
                let mut best = longest[one * n + two];
                if one == two {
                    for (i, &p) in leaving[one].iter().enumerate() {
                        for (j, &q) in leaving[one].iter().enumerate() {
                            let differ = if i == j { 0.0 } else { 2.0 };
                            best = best.max(differ + longest[p * n + q]);
                        }
                    }
                } else {
                    // Pairs are symmetric: the earlier vertex moves.
                    let (early, late) = if rank[one] < rank[two] { (one, two) } else { (two, one) };
                    let moved = leaving[early].iter().map(|&next| 1.0 + longest[next * n + late]);
                    best = moved.fold(best, f64::max);
                }
                longest[one * n + two] = best;
                longest[two * n + one] = best;
            }
        }
        longest[self.source * n + self.source]
    }
}

/// Position of each vertex in a topological order.
fn topological_ranks(vertices: usize, edges: &[(usize, usize)]) -> Result<Vec<usize>> {
    let mut entering = vec![0_usize; vertices];
    edges.iter().for_each(|edge| entering[edge.1] += 1);
    let mut ready: Vec<usize> = (0..vertices).filter(|&vertex| entering[vertex] == 0).collect();
    let mut rank = vec![usize::MAX; vertices];
    let mut next = 0;
    while let Some(vertex) = ready.pop() {
        rank[vertex] = next;
        next += 1;
        for edge in edges.iter().filter(|edge| edge.0 == vertex) {
            entering[edge.1] -= 1;
            if entering[edge.1] == 0 {
                ready.push(edge.1);
            }
        }
    }
    match rank.iter().position(|&position| position == usize::MAX) {
        None => Ok(rank),
        Some(vertex) => Err(Error::invalid("edges", format!("a cycle at {vertex}"), "remove it")),
    }
}

impl LinearOracle for DagPaths {
    fn minimize(&self, direction: &[f64], vertex: &mut [f64]) {
        let mut least = vec![f64::INFINITY; self.vertices];
        let mut arrived_by = vec![usize::MAX; self.vertices];
        least[self.source] = 0.0;
        for &edge in &self.order {
            let (tail, head) = self.edges[edge];
            let length = least[tail] + direction[edge];
            // Every useful edge has a reached tail; sums that overflow still leave a path.
            if arrived_by[head] == usize::MAX || length < least[head] {
                (least[head], arrived_by[head]) = (length, edge);
            }
        }
        vertex.fill(0.0);
        let mut at = self.sink;
        while at != self.source {
            vertex[arrived_by[at]] = 1.0;
            at = self.edges[arrived_by[at]].0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::convex::oracle::testing::check_exact;

    /// All paths, by walking.
    fn paths(edges: &[(usize, usize)], at: usize, sink: usize) -> Vec<Vec<f64>> {
        if at == sink {
            return vec![vec![0.0; edges.len()]];
        }
        let mut found = Vec::new();
        for (index, edge) in edges.iter().enumerate().filter(|(_, edge)| edge.0 == at) {
            for mut path in paths(edges, edge.1, sink) {
                path[index] = 1.0;
                found.push(path);
            }
        }
        found
    }

    #[test]
    fn oracle_and_shape_agree_with_all_paths() {
        // A diamond with a bridge before it, a shortcut, parallel edges, and dead ends on both sides.
        let diamond =
            [(0, 1), (1, 2), (1, 3), (2, 4), (3, 4), (2, 3), (4, 5), (4, 5), (6, 1), (3, 7)];
        let grid = [(0, 1), (1, 2), (0, 3), (1, 4), (2, 5), (3, 4), (4, 5)];
        for (vertices, edges, sink) in [(8, &diamond[..], 5), (6, &grid[..], 5)] {
            let set = DagPaths::set(vertices, edges, 0, sink).unwrap();
            check_exact(&set, &paths(edges, 0, sink));
        }
    }

    #[test]
    fn graphs_without_a_choice_are_refused() {
        assert!(DagPaths::set(3, &[(0, 1), (1, 2)], 0, 2).is_err(), "one path");
        assert!(DagPaths::set(3, &[(0, 1), (1, 0), (1, 2), (0, 2)], 0, 2).is_err(), "a cycle");
        assert!(DagPaths::set(3, &[(0, 1), (0, 1)], 0, 2).is_err(), "out of reach");
        assert!(DagPaths::set(2, &[(0, 1), (0, 2)], 0, 1).is_err(), "no such vertex");
        assert!(DagPaths::set(2, &[(0, 1), (0, 1)], 0, 0).is_err(), "nowhere to go");
        assert!(DagPaths::set(usize::MAX, &[(0, 1), (0, 1)], 0, 1).is_err(), "too many");
    }
}
