//! A set known through a linear minimisation oracle, and what smoothing has to know about its shape.
//!
//! ```text
//! oracle:  direction v  ->  a minimiser of <v, x> over the set
//! shape:   centre c, diameter D, affine hull, and r such that the ball of radius r around c within the hull lies inside
//! ```
//!
//! **Measuring a shape** with nothing but the oracle. In each direction q that no known normal or edge spans, the
//! oracle gives the least and the greatest vertex. If they agree, q is a normal; else their difference is a new
//! edge. After n steps the hull is known exactly. The centre is the mean of the n' + 1 affinely independent
//! vertices found; their simplex lies inside, so the distance from its centroid to its nearest facet, one over
//! (n' + 1) times a height, is a certified inradius. The widths along an orthonormal basis box the set in, so the root
//! of the sum of their squares is a certified diameter. Both are safe, and loose: a set that knows its own shape
//! should say so with [`Shape`].

use serde::{Deserialize, Serialize};

use super::Hull;
use crate::{
    Error, Result,
    error::{finite_vector, not_negative, positive},
    linalg::{Cholesky, dot},
    refuse_if,
    special::square,
};

/// A set one can minimise linear functions over. Implement `minimize`; the rest is optional.
///
/// ```
/// use reticent::{convex::{DecisionSet, LinearOracle, PrivateBanditParams, Protection}, noise::SecureNoise};
///
/// /// The triangle with corners (0, 0), (1, 0) and (0, 1).
/// struct Triangle;
///
/// impl LinearOracle for Triangle {
///     fn minimize(&self, direction: &[f64], vertex: &mut [f64]) {
///         vertex.fill(0.0);
///         let least = if direction[0] < direction[1] { 0 } else { 1 };
///         if direction[least] < 0.0 {
///             vertex[least] = 1.0;
///         }
///     }
/// }
///
/// let set = DecisionSet::measure(2, Triangle)?;
/// assert_eq!(set.shape().hull().dimension(), 2);
/// assert!(set.shape().inradius() > 0.2 && set.shape().diameter() >= 2f64.sqrt());
///
/// // That is all a private bandit needs; the loss is any function that is declared to be no steeper than 1.
/// let loss = |x: &[f64]| (x[0] - 0.7).abs();
/// let params = PrivateBanditParams::new(1.0, 1000, Protection::central(1.0, 1e-6));
/// let mut bandit = params.check(set)?.start(SecureNoise::from_system()?)?;
/// for _ in 0..1000 {
///     let decision = bandit.decide()?;
///     bandit.observe(decision.ticket, loss(&decision.point))?;
/// }
/// assert_eq!((bandit.counts().rounds, bandit.counts().clipped), (1000, 0));
/// assert!(bandit.guarantee()?.epsilon() <= 1.0 + 1e-9);
/// # Ok::<(), reticent::Error>(())
/// ```
pub trait LinearOracle {
    /// Writes a minimiser of `<direction, x>` over the set, a vertex if the set has any. Both slices have the
    /// set's dimension, the direction is finite, and the answer must depend on nothing else.
    fn minimize(&self, direction: &[f64], vertex: &mut [f64]);

    /// Replaces the point by the nearest one of the set, where that is cheap; `false` if it is not.
    fn project(&self, _point: &mut [f64]) -> bool {
        false
    }

    /// Replaces logarithms of weights w by the point of the set nearest to w in relative entropy, where that is
    /// cheap; `false` if it is not.
    fn project_entropic(&self, _log_weights: &mut [f64]) -> bool {
        false
    }
}

impl<O: LinearOracle + ?Sized> LinearOracle for Box<O> {
    fn minimize(&self, direction: &[f64], vertex: &mut [f64]) {
        (**self).minimize(direction, vertex);
    }

    fn project(&self, point: &mut [f64]) -> bool {
        (**self).project(point)
    }

    fn project_entropic(&self, log_weights: &mut [f64]) -> bool {
        (**self).project_entropic(log_weights)
    }
}

/// Centre, diameter, inradius and affine hull.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "(Vec<f64>, f64, f64, Hull)", into = "(Vec<f64>, f64, f64, Hull)")]
pub struct Shape {
    centre: Vec<f64>,
    diameter: f64,
    inradius: f64,
    hull: Hull,
}

impl From<Shape> for (Vec<f64>, f64, f64, Hull) {
    fn from(shape: Shape) -> Self {
        (shape.centre, shape.diameter, shape.inradius, shape.hull)
    }
}

impl TryFrom<(Vec<f64>, f64, f64, Hull)> for Shape {
    type Error = Error;

    fn try_from((centre, diameter, inradius, hull): (Vec<f64>, f64, f64, Hull)) -> Result<Self> {
        Shape::new(centre, diameter, inradius, hull)
    }
}

impl Shape {
    /// A shape the caller vouches for: `diameter` is at least the true one, and the ball of radius `inradius`
    /// around `centre` within `hull` lies inside.
    pub fn new(centre: Vec<f64>, diameter: f64, inradius: f64, hull: Hull) -> Result<Self> {
        hull.check()?;
        finite_vector("centre", &centre, hull.ambient())?;
        not_negative("diameter", diameter)?;
        not_negative("inradius", inradius)?;
        let remedy = format_args!("a ball inside is at most half the diameter {diameter} wide");
        refuse_if(inradius > 0.5 * diameter * (1.0 + 1e-9), "inradius", inradius, remedy)?;
        Ok(Shape { centre, diameter, inradius, hull })
    }

    /// The ball of largest radius around `centre` that satisfies all rows `<a, x> <= b`.
    pub(super) fn distance_to_rows<'a>(
        centre: &[f64],
        hull: &Hull,
        rows: impl Iterator<Item = (&'a [f64], f64)>,
    ) -> f64 {
        let distance = |(row, bound): (&[f64], f64)| {
            let (slack, length) = (bound - dot(row, centre), hull.length(row));
            // A row constant on the hull bounds nothing.
            if length > 1e-9 * dot(row, row).sqrt() { slack / length } else { f64::INFINITY }
        };
        rows.map(distance).fold(f64::INFINITY, f64::min)
    }

    /// Entries of a point.
    pub fn dimension(&self) -> usize {
        self.centre.len()
    }

    /// A point in the relative interior.
    pub fn centre(&self) -> &[f64] {
        &self.centre
    }

    /// D, at least the largest distance between two points.
    pub fn diameter(&self) -> f64 {
        self.diameter
    }

    /// r, the radius of a ball around the centre that lies inside, within the hull.
    pub fn inradius(&self) -> f64 {
        self.inradius
    }

    /// The directions in which the set extends.
    pub fn hull(&self) -> &Hull {
        &self.hull
    }
}

/// An oracle with its shape.
#[derive(Debug, Clone, PartialEq)]
pub struct DecisionSet<O> {
    oracle: O,
    shape: Shape,
}

/// Any decision set.
pub type AnySet = DecisionSet<Box<dyn LinearOracle + Send + Sync>>;

impl<O: LinearOracle> DecisionSet<O> {
    /// A set whose shape is known. The oracle is tried along every axis, both ways: vertices that are not finite,
    /// or further apart than the diameter, are refused.
    pub fn new(oracle: O, shape: Shape) -> Result<Self> {
        let dimension = shape.dimension();
        let (mut direction, mut vertex) = (vec![0.0; dimension], vec![0.0; dimension]);
        let mut first: Option<Vec<f64>> = None;
        for axis in 0..2 * dimension {
            direction[axis / 2] = if axis % 2 == 0 { 1.0 } else { -1.0 };
            oracle.minimize(&direction, &mut vertex);
            direction[axis / 2] = 0.0;
            finite_vector("oracle's vertex", &vertex, dimension)?;
            let first = first.get_or_insert_with(|| vertex.clone());
            let distance = distance(first, &vertex);
            let refused = distance > shape.diameter * (1.0 + 1e-9);
            let remedy = format_args!("two vertices are {distance} apart; expected at least that");
            refuse_if(refused, "diameter", shape.diameter, remedy)?;
        }
        Ok(DecisionSet { oracle, shape })
    }

    /// A set about which nothing is known but its oracle: see the head of this file.
    pub fn measure(dimension: usize, oracle: O) -> Result<Self> {
        refuse_if(dimension == 0, "dimension", dimension, "expected a whole number above 0")?;
        let shape = measure(dimension, &oracle)?;
        Ok(DecisionSet { oracle, shape })
    }

    /// The oracle.
    pub fn oracle(&self) -> &O {
        &self.oracle
    }

    /// Centre, diameter, inradius and hull.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The same set under the type that all sets share.
    pub fn boxed(self) -> AnySet
    where
        O: Send + Sync + 'static,
    {
        DecisionSet { oracle: Box::new(self.oracle), shape: self.shape }
    }
}

pub(super) fn distance(one: &[f64], two: &[f64]) -> f64 {
    one.iter().zip(two).map(|(a, b)| square(a - b)).sum::<f64>().sqrt()
}

fn measure<O: LinearOracle>(dimension: usize, oracle: &O) -> Result<Shape> {
    let minimize = |direction: &[f64]| -> Result<Vec<f64>> {
        let mut vertex = vec![0.0; dimension];
        oracle.minimize(direction, &mut vertex);
        finite_vector("oracle's vertex", &vertex, dimension)?;
        Ok(vertex)
    };
    let extremes = |direction: &[f64]| -> Result<(Vec<f64>, Vec<f64>, f64)> {
        let back: Vec<f64> = direction.iter().map(|x| -x).collect();
        let (low, high) = (minimize(direction)?, minimize(&back)?);
        let width = dot(direction, &high) - dot(direction, &low);
        Ok((low, high, width))
    };
    // Edges and normals found so far, orthonormalised together: what neither spans is probed next.
    let mut spanned = Hull::whole(dimension);
    let mut hull = Hull::whole(dimension);
    let mut vertices = vec![minimize(&vec![1.0; dimension])?];
    let mut reach = 0.0_f64;
    for axis in 0..dimension {
        let mut q = vec![0.0; dimension];
        q[axis] = 1.0;
        // Several axes may be needed for one new direction, and none is spanned twice.
        while residual(&spanned, &mut q) {
            let (low, high, width) = extremes(&q)?;
            reach = reach.max(low.iter().chain(&high).fold(0.0, |m: f64, x| m.max(x.abs())));
            if width.abs() <= 1e-9 * reach.max(1e-300) {
                hull.add_normal(&q);
                spanned.add_normal(&q);
                break;
            }
            let base = &vertices[0];
            // One of the two extremes lies off what is spanned, whatever the base is.
            let away = |v: &Vec<f64>| (dot(&q, v) - dot(&q, base)).abs();
            let vertex = if away(&low) > away(&high) { low } else { high };
            let edge: Vec<f64> = vertex.iter().zip(base).map(|(a, b)| a - b).collect();
            if !spanned.add_normal(&edge) {
                break;
            }
            vertices.push(vertex);
            q.fill(0.0);
            q[axis] = 1.0;
        }
    }
    let count = vertices.len() as f64;
    let mut centre = vec![0.0; dimension];
    for vertex in &vertices {
        centre.iter_mut().zip(vertex).for_each(|(sum, x)| *sum += x / count);
    }
    let mut squares = 0.0;
    for q in hull.basis() {
        squares += square(extremes(&q)?.2);
    }
    let inradius = simplex_inradius(&vertices)?;
    Shape::new(centre, squares.sqrt().max(2.0 * inradius), inradius, hull)
}

/// Replaces q by its unit part off what is spanned; whether there is any.
fn residual(spanned: &Hull, q: &mut [f64]) -> bool {
    spanned.project(q);
    spanned.project(q);
    let length = dot(q, q).sqrt();
    if length < 1e-6 {
        return false;
    }
    q.iter_mut().for_each(|x| *x /= length);
    true
}

/// Distance from the centroid of affinely independent points to the nearest facet of their simplex.
///
/// With edges E from the first vertex, barycentric coordinate i > 0 is row i of `(E^T E)^-1 E^T (x - v_0)`; its
/// gradient has squared length `((E^T E)^-1)_ii`, the one of coordinate 0 the sum of all entries. A coordinate
/// is 1 / (n' + 1) at the centroid and 0 on its facet.
fn simplex_inradius(vertices: &[Vec<f64>]) -> Result<f64> {
    let n = vertices.len() - 1;
    if n == 0 {
        return Ok(0.0);
    }
    let edges: Vec<Vec<f64>> = vertices[1..]
        .iter()
        .map(|vertex| vertex.iter().zip(&vertices[0]).map(|(a, b)| a - b).collect())
        .collect();
    let mut gram = Vec::with_capacity(n * (n + 1) / 2);
    for i in 0..n {
        gram.extend((i..n).map(|j| dot(&edges[i], &edges[j])));
    }
    let Some(factor) = Cholesky::of(n, &gram, 0.0) else {
        let remedy = "its vertices are nearly in one plane: give the shape yourself";
        return Err(Error::invalid("oracle", "ill-conditioned", remedy));
    };
    let (mut steepest, mut total) = (0.0_f64, 0.0);
    for i in 0..n {
        let mut unit = vec![0.0; n];
        unit[i] = 1.0;
        let column = factor.solve(&unit)?;
        steepest = steepest.max(column[i]);
        total += column.iter().sum::<f64>();
    }
    positive("inradius", 1.0 / ((n + 1) as f64 * steepest.max(total).sqrt()))
}
