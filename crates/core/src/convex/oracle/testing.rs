//! Brute force against which every set is checked: all vertices, all facets.

use crate::{
    convex::{DecisionSet, Hull, LinearOracle, set::distance},
    linalg::dot,
    noise::Noise,
    release::testing::Seeded,
};

pub(crate) fn corners(n: usize) -> Vec<Vec<f64>> {
    slates(n, 1)
}

/// All 0-1 vectors with k ones.
pub(crate) fn slates(n: usize, k: usize) -> Vec<Vec<f64>> {
    (0_usize..1 << n)
        .filter(|set| set.count_ones() as usize == k)
        .map(|set| (0..n).map(|i| f64::from(u8::from(set >> i & 1 == 1))).collect())
        .collect()
}

pub(crate) fn permutations(n: usize) -> Vec<Vec<usize>> {
    if n == 0 {
        return vec![Vec::new()];
    }
    let shorter = permutations(n - 1);
    let insert = |at: usize| {
        shorter.iter().map(move |order| {
            let mut order = order.clone();
            order.insert(at, n - 1);
            order
        })
    };
    (0..n).flat_map(insert).collect()
}

/// The oracle attains the minimum over all vertices, at one of them.
pub(crate) fn check_oracle<O: LinearOracle>(set: &DecisionSet<O>, vertices: &[Vec<f64>]) {
    let n = set.shape().dimension();
    let mut noise = Seeded(n as u64);
    let mut found = vec![0.0; n];
    for trial in 0..200 {
        // Small whole numbers too, for ties.
        let entry = |noise: &mut Seeded| match trial % 3 {
            0 => noise.below(3) as f64 - 1.0,
            _ => noise.standard_normal(),
        };
        let direction: Vec<f64> = (0..n).map(|_| entry(&mut noise)).collect();
        set.oracle().minimize(&direction, &mut found);
        let least = vertices.iter().map(|v| dot(v, &direction)).fold(f64::INFINITY, f64::min);
        assert!((dot(&found, &direction) - least).abs() < 1e-9, "{direction:?}");
        assert!(vertices.iter().any(|vertex| distance(vertex, &found) < 1e-9), "{found:?}");
    }
}

/// Oracle, hull, and a diameter and an inradius that hold.
pub(crate) fn check_bounds<O: LinearOracle>(set: &DecisionSet<O>, vertices: &[Vec<f64>]) {
    check_oracle(set, vertices);
    let shape = set.shape();
    assert!(shape.diameter() >= diameter(vertices) - 1e-9, "{}", shape.diameter());
    let edges = edges(vertices);
    let span = Hull::orthogonal_to(shape.dimension(), &edges).unwrap();
    assert_eq!(shape.hull().dimension(), shape.dimension() - span.dimension(), "hull");
    for edge in &edges {
        assert!(shape.hull().normals().iter().all(|q| dot(q, edge).abs() < 1e-9), "normal");
    }
    let exact = inradius(vertices, shape.centre());
    assert!(shape.inradius() > 0.0 && shape.inradius() <= exact + 1e-9, "{exact}");
    // What can be measured with the oracle alone is safe, too.
    struct Bare<'a, O>(&'a O);
    impl<O: LinearOracle> LinearOracle for Bare<'_, O> {
        fn minimize(&self, direction: &[f64], vertex: &mut [f64]) {
            self.0.minimize(direction, vertex);
        }
    }
    let measured = DecisionSet::measure(shape.dimension(), Bare(set.oracle())).unwrap();
    let measured = measured.shape();
    assert_eq!(measured.hull().dimension(), shape.hull().dimension());
    assert!(measured.diameter() >= diameter(vertices) - 1e-9);
    let exact = inradius(vertices, measured.centre());
    assert!(measured.inradius() > 0.0 && measured.inradius() <= exact + 1e-9, "{exact}");
}

/// [`check_bounds`], and nothing is given away.
pub(crate) fn check_exact<O: LinearOracle>(set: &DecisionSet<O>, vertices: &[Vec<f64>]) {
    check_bounds(set, vertices);
    let shape = set.shape();
    assert!((shape.diameter() - diameter(vertices)).abs() < 1e-9, "{}", shape.diameter());
    let exact = inradius(vertices, shape.centre());
    assert!((shape.inradius() - exact).abs() < 1e-9, "{} {exact}", shape.inradius());
}

/// `<y - p, v - p> <= 0` for all points v of the set is what makes p the projection of y.
pub(crate) fn check_projection<O: LinearOracle>(set: &DecisionSet<O>) {
    let n = set.shape().dimension();
    let mut noise = Seeded(77);
    for trial in 0..300 {
        let spread = [0.01, 1.0, 30.0][trial % 3];
        let target: Vec<f64> =
            set.shape().centre().iter().map(|c| c + spread * noise.standard_normal()).collect();
        let mut point = target.clone();
        assert!(set.oracle().project(&mut point));
        let ascent: Vec<f64> = point.iter().zip(&target).map(|(p, y)| p - y).collect();
        let mut vertex = vec![0.0; n];
        set.oracle().minimize(&ascent, &mut vertex);
        let gap = dot(&ascent, &point) - dot(&ascent, &vertex);
        assert!(gap.abs() < 1e-9 * (1.0 + spread * spread), "gap {gap}");
    }
}

fn edges(vertices: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let edge = |v: &Vec<f64>| v.iter().zip(&vertices[0]).map(|(a, b)| a - b).collect();
    vertices[1..].iter().map(edge).collect()
}

fn diameter(vertices: &[Vec<f64>]) -> f64 {
    let pairs = vertices.iter().flat_map(|v| vertices.iter().map(move |w| distance(v, w)));
    pairs.fold(0.0, f64::max)
}

/// Distance from a centre to the nearest facet, over all hyperplanes through n' vertices that have every vertex on
/// one side.
fn inradius(vertices: &[Vec<f64>], centre: &[f64]) -> f64 {
    // Coordinates within the hull, around the centre.
    let span = Hull::orthogonal_to(centre.len(), &edges(vertices)).unwrap();
    let axes = span.normals();
    let n = axes.len();
    let inside: Vec<Vec<f64>> = vertices
        .iter()
        .map(|v| {
            let from: Vec<f64> = v.iter().zip(centre).map(|(a, b)| a - b).collect();
            axes.iter().map(|axis| dot(axis, &from)).collect()
        })
        .collect();
    let mut nearest = f64::INFINITY;
    let mut chosen: Vec<usize> = (0..n).collect();
    loop {
        let base = &inside[chosen[0]];
        let rows: Vec<Vec<f64>> = chosen[1..]
            .iter()
            .map(|&index| inside[index].iter().zip(base).map(|(a, b)| a - b).collect())
            .collect();
        let across = Hull::orthogonal_to(n, &rows).unwrap();
        if across.dimension() == 1 {
            let normal = &across.basis()[0];
            let height = dot(normal, base);
            let sides: Vec<f64> = inside.iter().map(|v| dot(normal, v) - height).collect();
            if sides.iter().all(|s| *s <= 1e-9) || sides.iter().all(|s| *s >= -1e-9) {
                nearest = nearest.min(height.abs());
            }
        }
        // The next combination.
        let Some(place) = (0..n).rev().find(|&p| chosen[p] < inside.len() - n + p) else {
            return nearest;
        };
        chosen[place] += 1;
        for later in place + 1..n {
            chosen[later] = chosen[later - 1] + 1;
        }
    }
}
