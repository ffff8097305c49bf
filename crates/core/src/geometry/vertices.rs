//! The vertices of a polytope, by walking from basis to basis.
//!
//! A vertex of `{y : A y <= b}` in M dimensions is where M independent rows hold with equality and the rest are satisfied. From a
//! basis (M such rows) each row in turn is dropped; the edge that opens ends where another row becomes tight, which gives the next basis.
//! The edges of a polytope connect all its vertices (Balinski 1961), so the walk finds every one.

use std::collections::BTreeSet;

use super::{
    Polytope,
    linear_program::{Outcome, maximize},
    polytope::{empty, stalled},
};
use crate::{Error, Result};

/// The largest number of bases visited before the polytope is refused as too large to enumerate.
const MOST_BASES: usize = 100_000;

impl Polytope {
    /// All vertices, in no particular order.
    ///
    /// Refuses a polytope with more than about a hundred thousand bases: a box in 17 dimensions has as many.
    pub fn vertices(&self) -> Result<Vec<Vec<f64>>> {
        let first = self.first_basis()?;
        let mut seen = BTreeSet::from([first.clone()]);
        let mut waiting = vec![first];
        let mut vertices: Vec<Vec<f64>> = Vec::new();
        while let Some(basis) = waiting.pop() {
            let Some((vertex, edges)) = self.corner(&basis) else { continue };
            let same = |other: &Vec<f64>| {
                other.iter().zip(&vertex).all(|(a, b)| (a - b).abs() <= 1e-9 * (1.0 + b.abs()))
            };
            if !vertices.iter().any(same) {
                vertices.push(vertex.clone());
            }
            for (position, edge) in edges.iter().enumerate() {
                for row in self.stopping_rows(&vertex, edge, &basis) {
                    let mut next = basis.clone();
                    next[position] = row;
                    next.sort_unstable();
                    if seen.insert(next.clone()) {
                        waiting.push(next);
                    }
                }
            }
            if seen.len() > MOST_BASES {
                let remedy =
                    "there are too many corners to list; use fewer dimensions or fewer rows";
                return Err(Error::invalid("polytope", format!("over {MOST_BASES} bases"), remedy));
            }
        }
        Ok(vertices)
    }

    /// The rows of one feasible basis.
    fn first_basis(&self) -> Result<Vec<usize>> {
        // A direction in general position has its maximum at one vertex, with M multipliers above zero.
        for attempt in 1..=20 {
            let objective: Vec<f64> = (0..self.dimension())
                .map(|m| ((m + 1) as f64 * f64::from(attempt) * 0.754_877_666).fract() - 0.37)
                .collect();
            match maximize(self.rows(), self.bounds(), &objective) {
                Outcome::Optimal { multipliers, .. } => {
                    let basis: Vec<usize> =
                        (0..multipliers.len()).filter(|&i| multipliers[i] > 1e-9).collect();
                    if basis.len() == self.dimension() && self.corner(&basis).is_some() {
                        return Ok(basis);
                    }
                }
                Outcome::Infeasible { multipliers } => return Err(empty(&multipliers)),
                _ => {}
            }
        }
        Err(stalled())
    }

    /// The point where these rows hold with equality, and the edge that opens when each of them is dropped.
    fn corner(&self, basis: &[usize]) -> Option<(Vec<f64>, Vec<Vec<f64>>)> {
        let n = basis.len();
        // [A_B | b_B | -I], reduced: the solution and the columns of -A_B^-1.
        let mut lines: Vec<Vec<f64>> = basis
            .iter()
            .enumerate()
            .map(|(k, &row)| {
                let mut line = self.rows()[row].clone();
                line.push(self.bounds()[row]);
                line.extend((0..n).map(|j| if j == k { -1.0 } else { 0.0 }));
                let size = line[..n].iter().fold(0.0, |most: f64, a| most.max(a.abs()));
                line.iter_mut().for_each(|entry| *entry /= size.max(1e-300));
                line
            })
            .collect();
        for column in 0..n {
            let pivot = (column..n)
                .max_by(|&i, &j| lines[i][column].abs().total_cmp(&lines[j][column].abs()))?;
            if lines[pivot][column].abs() < 1e-10 {
                return None;
            }
            lines.swap(column, pivot);
            let inverse = 1.0 / lines[column][column];
            lines[column].iter_mut().for_each(|entry| *entry *= inverse);
            let pivot_line = lines[column].clone();
            for (index, line) in lines.iter_mut().enumerate() {
                let factor = line[column];
                if index != column && factor != 0.0 {
                    line.iter_mut().zip(&pivot_line).for_each(|(a, b)| *a -= factor * b);
                }
            }
        }
        let vertex: Vec<f64> = lines.iter().map(|line| line[n]).collect();
        let edges = (0..n).map(|k| lines.iter().map(|line| line[n + 1 + k]).collect()).collect();
        Some((vertex, edges))
    }

    /// The rows that become tight first along `edge`; several at a degenerate vertex.
    fn stopping_rows(&self, vertex: &[f64], edge: &[f64], basis: &[usize]) -> Vec<usize> {
        let dot = |row: &[f64], y: &[f64]| row.iter().zip(y).map(|(a, y)| a * y).sum::<f64>();
        let length = edge.iter().fold(1e-300, |most: f64, e| most.max(e.abs()));
        let mut stops: Vec<(usize, f64)> = Vec::new();
        for (index, (row, bound)) in self.rows().iter().zip(self.bounds()).enumerate() {
            let size = row.iter().fold(0.0, |most: f64, a| most.max(a.abs()));
            let speed = dot(row, edge);
            if basis.contains(&index) || speed <= 1e-10 * size * length {
                continue;
            }
            stops.push((index, ((bound - dot(row, vertex)) / speed).max(0.0)));
        }
        let nearest = stops.iter().fold(f64::INFINITY, |least, stop| least.min(stop.1));
        let tie = nearest + 1e-10 * (nearest + 1.0 / length);
        stops.into_iter().filter(|stop| stop.1 <= tie).map(|stop| stop.0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{noise::Noise, release::testing::Seeded};

    /// All intersections of M rows, filtered: a slow reference implementation.
    fn brute_force(polytope: &Polytope) -> Vec<Vec<f64>> {
        let (p, n) = (polytope.rows().len(), polytope.dimension());
        let mut found: Vec<Vec<f64>> = Vec::new();
        for mask in 0_u32..1 << p {
            if mask.count_ones() as usize != n {
                continue;
            }
            let basis: Vec<usize> = (0..p).filter(|i| mask >> i & 1 == 1).collect();
            let Some((vertex, _)) = polytope.corner(&basis) else { continue };
            let inside = polytope.excess(&vertex) <= 1e-9;
            let known =
                |other: &Vec<f64>| other.iter().zip(&vertex).all(|(a, b)| (a - b).abs() < 1e-8);
            if inside && !found.iter().any(known) {
                found.push(vertex);
            }
        }
        found
    }

    #[test]
    fn the_walk_finds_what_brute_force_finds() {
        let mut noise = Seeded(4);
        for case in 0..60 {
            let n = 1 + noise.below(4) as usize;
            let p = 2 * n + noise.below(6) as usize;
            // A box, and cuts through it, with integer entries half of the time: degenerate corners.
            let mut rows = Vec::new();
            let mut bounds = Vec::new();
            for m in 0..n {
                for sign in [1.0, -1.0] {
                    let mut row = vec![0.0; n];
                    row[m] = sign;
                    rows.push(row);
                    bounds.push(1.0);
                }
            }
            while rows.len() < p {
                let integer = case % 2 == 0;
                let draw = |noise: &mut Seeded| {
                    let real = 2.0 * noise.uniform() - 1.0;
                    if integer { (1.5 * real).round() } else { real }
                };
                rows.push((0..n).map(|_| draw(&mut noise)).collect());
                bounds.push(if integer { 1.0 } else { 0.3 + noise.uniform() });
            }
            let polytope = Polytope::new(&rows, &bounds).unwrap();
            let (walk, brute) = (polytope.vertices().unwrap(), brute_force(&polytope));
            assert_eq!(walk.len(), brute.len(), "case {case}");
            for vertex in &walk {
                let near =
                    |other: &Vec<f64>| other.iter().zip(vertex).all(|(a, b)| (a - b).abs() < 1e-8);
                assert!(brute.iter().any(near), "case {case}");
            }
        }
    }

    #[test]
    fn too_many_corners_are_refused() {
        let n = 20;
        let mut rows = Vec::new();
        for m in 0..n {
            for sign in [1.0, -1.0] {
                let mut row = vec![0.0; n];
                row[m] = sign;
                rows.push(row);
            }
        }
        let cube = Polytope::new(&rows, &vec![1.0; 2 * n]).unwrap();
        assert!(cube.vertices().unwrap_err().to_string().contains("too many corners"));
    }
}
