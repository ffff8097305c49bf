//! The base polytope of a submodular function f with f(empty) = 0.
//!
//! ```text
//! B(f) = { x : x(S) <= f(S) for all S, x(E) = f(E) }
//! ```
//!
//! The oracle is Edmonds' greedy: sort the direction upwards and give each element its marginal value. With up to 14
//! elements submodularity is checked, the centre is the Shapley value (the mean of all greedy vertices), and the
//! inradius is the least distance to any of the `2^n - 2` constraints. With more, submodularity is the caller's
//! promise and the shape is measured with the oracle alone. Coordinate i ranges over `[f(E) - f(E - i), f({i})]`,
//! which boxes the diameter in.

use super::{MOST_IN_GRAPH, between};
use crate::{
    Error, Result,
    convex::{DecisionSet, Hull, LinearOracle, Shape},
    refuse_if,
    special::square,
};

/// Functions on up to this many elements are looked at on every set.
const MOST_ELEMENTS: usize = 14;

/// The oracle of a base polytope.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SubmodularBase<F> {
    function: F,
}

impl<F: Fn(&[bool]) -> f64> SubmodularBase<F> {
    /// The base polytope of `function`, which takes for every element whether it is in.
    pub fn set(elements: usize, function: F) -> Result<DecisionSet<Self>> {
        between("elements", elements, 2, MOST_IN_GRAPH)?;
        let nothing = function(&vec![false; elements]);
        refuse_if(nothing != 0.0, "f(empty)", nothing, "subtract it: it must be 0")?;
        let oracle = SubmodularBase { function };
        if elements > MOST_ELEMENTS {
            return DecisionSet::measure(elements, oracle);
        }
        let values: Vec<f64> = (0_usize..1 << elements)
            .map(|set| {
                let members: Vec<bool> = (0..elements).map(|i| set >> i & 1 == 1).collect();
                (oracle.function)(&members)
            })
            .collect();
        check_submodular(elements, &values)?;
        let shape = shape(elements, &values)?;
        DecisionSet::new(oracle, shape)
    }
}

fn check_submodular(elements: usize, values: &[f64]) -> Result<()> {
    let largest = values.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
    refuse_if(!largest.is_finite(), "f", largest, "expected finite values")?;
    for set in 0..values.len() {
        for i in (0..elements).filter(|i| set >> i & 1 == 0) {
            for j in (i + 1..elements).filter(|j| set >> j & 1 == 0) {
                let (with_i, with_j) = (set | 1 << i, set | 1 << j);
                let excess =
                    values[with_i | with_j] + values[set] - values[with_i] - values[with_j];
                if excess > 1e-9 * largest {
                    let value = format!("not submodular at {i}, {j}");
                    return Err(Error::invalid("f", value, "marginal values must not grow"));
                }
            }
        }
    }
    Ok(())
}

fn shape(elements: usize, values: &[f64]) -> Result<Shape> {
    let all = values.len() - 1;
    let indicator = |set: usize| -> Vec<f64> {
        (0..elements).map(|i| f64::from(u8::from(set >> i & 1 == 1))).collect()
    };
    let factorial = |k: usize| (1..=k).map(|i| i as f64).product::<f64>();
    let total = factorial(elements);
    let centre: Vec<f64> = (0..elements)
        .map(|i| {
            (0..values.len())
                .filter(|set| set >> i & 1 == 0)
                .map(|set| {
                    let size = set.count_ones() as usize;
                    let orders = factorial(size) * factorial(elements - size - 1) / total;
                    orders * (values[set | 1 << i] - values[set])
                })
                .sum()
        })
        .collect();
    let largest = values.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
    let mut hull = Hull::whole(elements);
    // A set that is tight in both directions, f(S) + f(E - S) = f(E), is a normal.
    for set in 1..=all {
        if values[set] + values[all ^ set] - values[all] <= 1e-9 * largest {
            hull.add_normal(&indicator(set));
        }
    }
    refuse_if(hull.dimension() == 0, "f", "modular", "its base is one point: nothing to choose")?;
    let rows: Vec<(Vec<f64>, f64)> = (1..all).map(|set| (indicator(set), values[set])).collect();
    let rows = rows.iter().map(|(row, bound)| (&row[..], *bound));
    let inradius = Shape::distance_to_rows(&centre, &hull, rows);
    let width = |i: usize| values[1 << i] - (values[all] - values[all ^ (1 << i)]);
    let diameter = (0..elements).map(|i| square(width(i))).sum::<f64>().sqrt();
    Shape::new(centre, diameter, inradius, hull)
}

impl<F: Fn(&[bool]) -> f64> LinearOracle for SubmodularBase<F> {
    fn minimize(&self, direction: &[f64], vertex: &mut [f64]) {
        let mut order: Vec<usize> = (0..direction.len()).collect();
        order.sort_unstable_by(|&a, &b| direction[a].total_cmp(&direction[b]).then(a.cmp(&b)));
        let mut members = vec![false; direction.len()];
        let mut before = 0.0;
        for element in order {
            members[element] = true;
            let value = (self.function)(&members);
            vertex[element] = value - before;
            before = value;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::convex::oracle::testing::{check_bounds, permutations};

    fn size(members: &[bool]) -> f64 {
        members.iter().filter(|m| **m).count() as f64
    }

    /// The greedy vertex of every order.
    fn vertices(elements: usize, function: impl Fn(&[bool]) -> f64) -> Vec<Vec<f64>> {
        let greedy = |order: Vec<usize>| {
            let (mut members, mut vertex) = (vec![false; elements], vec![0.0; elements]);
            for element in order {
                let before = function(&members);
                members[element] = true;
                vertex[element] = function(&members) - before;
            }
            vertex
        };
        let mut found: Vec<Vec<f64>> = permutations(elements).into_iter().map(greedy).collect();
        found.sort_by(|a, b| a.partial_cmp(b).unwrap());
        found.dedup();
        found
    }

    #[test]
    fn oracle_and_shape_agree_with_all_greedy_vertices() {
        let root = |m: &[bool]| size(m).sqrt();
        check_bounds(&SubmodularBase::set(4, root).unwrap(), &vertices(4, root));
        // The cut function of a path, whose base is flat beyond its one equality when the path falls apart.
        let cut =
            |m: &[bool]| [(0, 1), (2, 3)].iter().filter(|&&(a, b)| m[a] != m[b]).count() as f64;
        let set = SubmodularBase::set(4, cut).unwrap();
        assert_eq!(set.shape().hull().dimension(), 2);
        check_bounds(&set, &vertices(4, cut));
        let capped = |m: &[bool]| size(m).min(2.0);
        let slates = SubmodularBase::set(5, capped).unwrap();
        let uniform = crate::convex::oracle::UniformMatroid::set(5, 2).unwrap();
        assert!((slates.shape().inradius() - uniform.shape().inradius()).abs() < 1e-12);
    }

    #[test]
    fn functions_that_are_not_submodular_are_refused() {
        assert!(SubmodularBase::set(3, |m: &[bool]| size(m).powi(2)).is_err());
        assert!(SubmodularBase::set(3, |m: &[bool]| size(m) + 1.0).is_err());
        assert!(SubmodularBase::set(3, |m: &[bool]| size(m)).is_err(), "modular");
        assert!(SubmodularBase::set(3, |m: &[bool]| if m[0] { f64::NAN } else { 0.0 }).is_err());
        assert!(SubmodularBase::set(20, |m: &[bool]| size(m).sqrt()).is_ok());
    }
}
