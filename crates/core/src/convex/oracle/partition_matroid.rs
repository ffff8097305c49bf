//! Bases of a partition matroid: `k_b` out of `n_b` from every block, a product of uniform matroids.
//!
//! Diameters of a product add in squares; its largest ball is that of its narrowest block.

use super::{
    MOST, UniformMatroid, between,
    uniform_matroid::{choose_least, project_to_slates, project_to_slates_entropic},
};
use crate::{
    Result,
    convex::{DecisionSet, Hull, LinearOracle, Shape},
    refuse_if,
    special::square,
};

/// The oracle of the bases of a partition matroid.
#[derive(Debug, Clone, PartialEq)]
pub struct PartitionMatroid {
    /// Elements and choices of each block, in the order of the coordinates.
    blocks: Vec<(usize, usize)>,
}

impl PartitionMatroid {
    /// From each block of `elements` the given number of `choices`: `(elements, choices)`.
    pub fn set(blocks: &[(usize, usize)]) -> Result<DecisionSet<Self>> {
        refuse_if(blocks.is_empty(), "blocks", "missing", "expected at least one")?;
        let dimension = blocks.iter().map(|block| block.0).fold(0, usize::saturating_add);
        between("elements", dimension, 2, MOST)?;
        let (mut centre, mut rows) = (Vec::with_capacity(dimension), Vec::new());
        let (mut squares, mut inradius) = (0.0_f64, f64::INFINITY);
        for &(elements, choices) in blocks {
            let part = UniformMatroid::set(elements, choices)?;
            let mut row = vec![0.0; dimension];
            row[centre.len()..centre.len() + elements].fill(1.0);
            rows.push(row);
            centre.extend_from_slice(part.shape().centre());
            squares += square(part.shape().diameter());
            inradius = inradius.min(part.shape().inradius());
        }
        let hull = Hull::orthogonal_to(dimension, &rows)?;
        let shape = Shape::new(centre, squares.sqrt(), inradius, hull)?;
        DecisionSet::new(PartitionMatroid { blocks: blocks.to_vec() }, shape)
    }

    fn each(&self, entries: &mut [f64], act: fn(&mut [f64], usize)) -> bool {
        let mut rest = entries;
        for &(elements, choices) in &self.blocks {
            let (block, after) = rest.split_at_mut(elements);
            act(block, choices);
            rest = after;
        }
        true
    }
}

impl LinearOracle for PartitionMatroid {
    fn minimize(&self, direction: &[f64], vertex: &mut [f64]) {
        let mut start = 0;
        for &(elements, choices) in &self.blocks {
            let block = start..start + elements;
            choose_least(&direction[block.clone()], choices, &mut vertex[block]);
            start += elements;
        }
    }

    fn project(&self, point: &mut [f64]) -> bool {
        self.each(point, project_to_slates)
    }

    fn project_entropic(&self, log_weights: &mut [f64]) -> bool {
        self.each(log_weights, project_to_slates_entropic)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::convex::oracle::testing::{check_exact, check_projection, slates};

    #[test]
    fn oracle_and_shape_agree_with_all_bases() {
        let set = PartitionMatroid::set(&[(3, 1), (3, 2), (2, 1)]).unwrap();
        let mut bases = Vec::new();
        for a in slates(3, 1) {
            for b in slates(3, 2) {
                bases.extend(slates(2, 1).into_iter().map(|c| [a.clone(), b.clone(), c].concat()));
            }
        }
        assert_eq!(set.shape().hull().dimension(), 5);
        check_exact(&set, &bases);
        check_projection(&set);
        assert!(PartitionMatroid::set(&[]).is_err() && PartitionMatroid::set(&[(3, 3)]).is_err());
        assert!(PartitionMatroid::set(&[(usize::MAX, 1), (usize::MAX, 1)]).is_err());
    }
}
