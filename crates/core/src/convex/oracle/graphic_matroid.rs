//! Bases of the graphic matroid: spanning trees (forests), one coordinate per edge.
//!
//! ```text
//! { x >= 0, x(E[S]) <= |S| - 1 for vertex sets S, with equality for every block }       (Edmonds 1971)
//! ```
//!
//! A block is a biconnected component; a tree of the graph is a tree in every block, so the polytope is the product
//! over blocks, and the one equality of each block is all of its hull. A bridge is a block fixed at 1. The centre is
//! the law of a uniform spanning tree: an edge is in it with probability its effective resistance (Kirchhoff).
//! The inradius is the least distance to a constraint, `slack / sqrt(k - k^2/m)` for one on k of a block's m edges:
//! over all vertex sets in blocks of up to 16 vertices, measured with the oracle alone in larger ones.
//! Trees of a block differ in at most `min(rank, m - rank)` exchanges, an upper bound that most graphs attain.
//! The oracle is Kruskal's greedy.

use super::{MOST_IN_GRAPH, between};
use crate::{
    Error, Result,
    convex::{DecisionSet, Hull, LinearOracle, Shape},
    linalg::Cholesky,
    refuse_if,
};

/// Blocks of up to this many vertices have all their constraints looked at.
const MOST_VERTICES: usize = 16;

/// The oracle of the spanning trees of a graph.
#[derive(Debug, Clone, PartialEq)]
pub struct GraphicMatroid {
    vertices: usize,
    edges: Vec<(usize, usize)>,
}

impl GraphicMatroid {
    /// Spanning trees of the graph on `0..vertices`, or forests if it is not connected; there is a cycle, and no loop.
    pub fn set(vertices: usize, edges: &[(usize, usize)]) -> Result<DecisionSet<Self>> {
        between("vertices", vertices, 2, MOST_IN_GRAPH)?;
        between("edges", edges.len(), 1, MOST_IN_GRAPH)?;
        for &(one, two) in edges {
            let refused = one.max(two) >= vertices || one == two;
            let remedy = format_args!("join two different vertices below {vertices}");
            refuse_if(refused, "edge", format_args!("({one}, {two})"), remedy)?;
        }
        let oracle = GraphicMatroid { vertices, edges: edges.to_vec() };
        let blocks = oracle.blocks();
        let remedy = "the graph has no cycle, so there is one tree: add edges";
        refuse_if(blocks.iter().all(|block| block.len() == 1), "edges", edges.len(), remedy)?;
        let rows: Vec<Vec<f64>> = blocks
            .iter()
            .map(|block| {
                let mut row = vec![0.0; edges.len()];
                block.iter().for_each(|&edge| row[edge] = 1.0);
                row
            })
            .collect();
        let hull = Hull::orthogonal_to(edges.len(), &rows)?;
        let (mut centre, mut square) = (vec![0.0; edges.len()], 0.0);
        let mut inradius = Some(f64::INFINITY);
        for block in &blocks {
            let names = oracle.names(block);
            oracle.tree_law(block, &names, &mut centre)?;
            let (rank, m) = (names.len() - 1, block.len());
            square += 2.0 * rank.min(m - rank) as f64;
            if m > 1 {
                inradius = inradius
                    .zip(oracle.distance_to_facets(block, &names, &centre))
                    .map(|(all, one)| all.min(one));
            }
        }
        match inradius {
            Some(inradius) => {
                let shape = Shape::new(centre, square.sqrt(), inradius, hull)?;
                DecisionSet::new(oracle, shape)
            }
            None => DecisionSet::measure(edges.len(), oracle),
        }
    }

    /// The vertices of a block.
    fn names(&self, block: &[usize]) -> Vec<usize> {
        let mut names: Vec<usize> =
            block.iter().flat_map(|&edge| [self.edges[edge].0, self.edges[edge].1]).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Edges grouped by biconnected component (Hopcroft and Tarjan 1973), without recursion.
    fn blocks(&self) -> Vec<Vec<usize>> {
        let mut around = vec![Vec::new(); self.vertices];
        for (index, &(one, two)) in self.edges.iter().enumerate() {
            around[one].push((two, index));
            around[two].push((one, index));
        }
        let unseen = usize::MAX;
        let (mut depth, mut low) = (vec![unseen; self.vertices], vec![0; self.vertices]);
        let (mut blocks, mut open) = (Vec::new(), Vec::new());
        for root in 0..self.vertices {
            if depth[root] != unseen {
                continue;
            }
            depth[root] = 0;
            // Vertex, the edge it was reached by, and the next neighbour to look at.
            let mut walk = vec![(root, unseen, 0)];
            while let Some((vertex, by, next)) = walk.last_mut() {
                let (vertex, by) = (*vertex, *by);
                if let Some(&(other, edge)) = around[vertex].get(*next) {
                    *next += 1;
                    if edge == by {
                        continue;
                    }
                    if depth[other] == unseen {
                        open.push(edge);
                        depth[other] = depth[vertex] + 1;
                        low[other] = depth[other];
                        walk.push((other, edge, 0));
                    } else if depth[other] < depth[vertex] {
                        open.push(edge);
                        low[vertex] = low[vertex].min(depth[other]);
                    }
                    continue;
                }
                walk.pop();
                if let Some(&(parent, _, _)) = walk.last() {
                    low[parent] = low[parent].min(low[vertex]);
                    if low[vertex] >= depth[parent] {
                        let start = open.iter().rposition(|&edge| edge == by).unwrap_or(0);
                        blocks.push(open.split_off(start));
                    }
                }
            }
        }
        blocks
    }

    /// Effective resistances in the block, from its Laplacian without its last vertex.
    fn tree_law(&self, block: &[usize], names: &[usize], law: &mut [f64]) -> Result<()> {
        let n = names.len() - 1;
        let place = |vertex: usize| names.binary_search(&vertex).unwrap_or(n);
        let mut laplacian = vec![vec![0.0; n + 1]; n + 1];
        for &edge in block {
            let (one, two) = (place(self.edges[edge].0), place(self.edges[edge].1));
            laplacian[one][one] += 1.0;
            laplacian[two][two] += 1.0;
            laplacian[one][two] -= 1.0;
            laplacian[two][one] -= 1.0;
        }
        let triangle: Vec<f64> = (0..n).flat_map(|i| laplacian[i][i..n].to_vec()).collect();
        let Some(factor) = Cholesky::of(n, &triangle, 0.0) else {
            return Err(Error::invalid("edges", self.edges.len(), "expected a smaller graph"));
        };
        for &edge in block {
            let (one, two) = (place(self.edges[edge].0), place(self.edges[edge].1));
            let mut current = vec![0.0; n];
            [(one, 1.0), (two, -1.0)]
                .iter()
                .filter(|(at, _)| *at < n)
                .for_each(|&(at, c)| current[at] = c);
            let potential = factor.forward(&current)?;
            law[edge] = potential.iter().map(|x| x * x).sum();
        }
        Ok(())
    }

    /// Distance from the centre to the nearest constraint of a block; `None` if there are too many.
    fn distance_to_facets(&self, block: &[usize], names: &[usize], centre: &[f64]) -> Option<f64> {
        if names.len() > MOST_VERTICES {
            return None;
        }
        let m = block.len() as f64;
        let ends: Vec<u32> = block
            .iter()
            .map(|&edge| {
                let bit = |vertex| names.binary_search(&vertex).map_or(0, |place| 1_u32 << place);
                bit(self.edges[edge].0) | bit(self.edges[edge].1)
            })
            .collect();
        let height = |k: f64| (k - k * k / m).sqrt();
        let mut nearest =
            block.iter().map(|&e| centre[e] / height(1.0)).fold(f64::INFINITY, f64::min);
        for subset in 1_u32..(1 << names.len()) - 1 {
            let (mut inside, mut k) = (0.0, 0.0);
            for (pair, &edge) in ends.iter().zip(block) {
                if pair & !subset == 0 {
                    inside += centre[edge];
                    k += 1.0;
                }
            }
            if k > 0.0 && k < m {
                let slack = f64::from(subset.count_ones() - 1) - inside;
                nearest = nearest.min(slack / height(k));
            }
        }
        Some(nearest)
    }
}

impl LinearOracle for GraphicMatroid {
    fn minimize(&self, direction: &[f64], vertex: &mut [f64]) {
        let mut order: Vec<usize> = (0..self.edges.len()).collect();
        order.sort_unstable_by(|&a, &b| direction[a].total_cmp(&direction[b]).then(a.cmp(&b)));
        let mut parent: Vec<usize> = (0..self.vertices).collect();
        fn root(parent: &mut [usize], mut vertex: usize) -> usize {
            while parent[vertex] != vertex {
                parent[vertex] = parent[parent[vertex]];
                vertex = parent[vertex];
            }
            vertex
        }
        vertex.fill(0.0);
        for edge in order {
            let (one, two) = self.edges[edge];
            let (one, two) = (root(&mut parent, one), root(&mut parent, two));
            if one != two {
                parent[one] = two;
                vertex[edge] = 1.0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::convex::oracle::testing::{check_bounds, check_exact, slates};

    /// All spanning forests of full rank, by trying every edge set of that size.
    fn trees(vertices: usize, edges: &[(usize, usize)], rank: usize) -> Vec<Vec<f64>> {
        let acyclic = |chosen: &Vec<f64>| {
            let mut label: Vec<usize> = (0..vertices).collect();
            edges.iter().zip(chosen).filter(|(_, x)| **x == 1.0).all(|(&(a, b), _)| {
                let (from, to) = (label[a], label[b]);
                label.iter_mut().for_each(|l| *l = if *l == from { to } else { *l });
                from != to
            })
        };
        slates(edges.len(), rank).into_iter().filter(acyclic).collect()
    }

    #[test]
    fn oracle_and_shape_agree_with_all_spanning_trees() {
        let complete = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)];
        assert_eq!(trees(4, &complete, 3).len(), 16, "Cayley");
        check_exact(&GraphicMatroid::set(4, &complete).unwrap(), &trees(4, &complete, 3));
        // Two triangles at a vertex, a bridge, a doubled edge, and an island.
        let blocks = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 2), (4, 5), (6, 7), (6, 7)];
        let set = GraphicMatroid::set(8, &blocks).unwrap();
        assert_eq!(set.shape().hull().dimension(), 9 - 4);
        check_exact(&set, &trees(8, &blocks, 6));
    }

    #[test]
    fn where_no_two_trees_are_disjoint_the_diameter_is_still_a_bound() {
        let square = [(0, 1), (0, 1), (0, 1), (1, 2), (2, 3), (3, 0)];
        check_bounds(&GraphicMatroid::set(4, &square).unwrap(), &trees(4, &square, 3));
    }

    #[test]
    fn large_blocks_are_measured() {
        let cycle: Vec<(usize, usize)> = (0..20).map(|v| (v, (v + 1) % 20)).collect();
        let set = GraphicMatroid::set(20, &cycle).unwrap();
        assert_eq!(set.shape().hull().dimension(), 19);
        assert!(set.shape().inradius() > 0.0);
    }

    #[test]
    fn graphs_without_a_choice_are_refused() {
        assert!(GraphicMatroid::set(3, &[(0, 1), (1, 2)]).is_err(), "a tree");
        assert!(GraphicMatroid::set(3, &[(0, 1), (1, 1)]).is_err(), "a loop");
        assert!(GraphicMatroid::set(3, &[(0, 1), (1, 3)]).is_err(), "no such vertex");
        assert!(GraphicMatroid::set(3, &[]).is_err());
        assert!(GraphicMatroid::set(usize::MAX, &[(0, 1), (0, 1)]).is_err(), "too many");
    }
}
