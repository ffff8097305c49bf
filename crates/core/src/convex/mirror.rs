//! Mirror maps: from a running sum of gradients to a point of the set.
//!
//! ```text
//! grad omega*(y) = argmax_x <y, x> - omega(x)                                                          (2.2)
//! Euclidean, omega = 1/2 |x - c|^2:      the point of the set nearest to c + y
//! entropic,  omega = sum x ln(x / c):    the point of the set nearest in relative entropy to c exp(y)
//! ```
//!
//! With `y = -eta s` the Euclidean map minimises `1/2 |x - c|^2 + <eta s, x>`. Line 14 of the paper's Algorithm 1 has a
//! minus there, which climbs.

use serde::{Deserialize, Serialize};

use super::{DecisionSet, Descent, LinearOracle, Mixture, conditional_gradient::descend};
use crate::{Error, Result, error::positive, refuse_if};

/// The largest entry of a dual vector that is distinguished from infinity.
const LARGEST: f64 = 1e150;

/// Mirror map, and the way it is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Map {
    /// Euclidean, by the set's own projection if it has one, else by conditional gradient.
    #[default]
    Automatic,
    /// Euclidean, by conditional gradient: the oracle alone, and a mixture of vertices as a gift.
    ConditionalGradient,
    /// Euclidean, by the set's own projection.
    Projection,
    /// Entropic, by the set's own formula: simplex, slates and partitions.
    Entropic,
}

/// A mirror map of one set at work; it starts each descent where the last one ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MirrorMap {
    map: Map,
    /// Logarithms of the centre, for the entropic map.
    log_centre: Vec<f64>,
    mixture: Mixture,
    tolerance: f64,
    most_calls: u64,
    counts: MapCounts,
}

/// Counts of a mirror map's work until now.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct MapCounts {
    /// Times it was asked.
    pub maps: u64,
    /// Calls to the linear oracle.
    pub oracle_calls: u64,
    /// Descents that ran out of calls before their tolerance.
    pub unconverged: u64,
}

impl MirrorMap {
    /// A map whose answers are within `tolerance` of the exact ones, unless `most_calls` to the oracle come first.
    pub fn new<O: LinearOracle>(
        set: &DecisionSet<O>,
        map: Map,
        tolerance: f64,
        most_calls: u64,
    ) -> Result<Self> {
        positive("tolerance", tolerance)?;
        refuse_if(most_calls == 0, "most_calls", 0, "expected a whole number above 0")?;
        let centre = set.shape().centre();
        let mut trial = centre.to_vec();
        let projects = set.oracle().project(&mut trial);
        let map = match map {
            Map::Automatic if projects => Map::Projection,
            Map::Automatic => Map::ConditionalGradient,
            Map::Projection if !projects => {
                let remedy = "this set has no projection of its own: use conditional_gradient";
                return Err(Error::invalid("map", "projection", remedy));
            }
            other => other,
        };
        let mut log_centre: Vec<f64> = centre.iter().map(|c| libm::log(*c)).collect();
        let finite = log_centre.iter().all(|log| log.is_finite());
        if map == Map::Entropic
            && !(finite && set.oracle().project_entropic(&mut log_centre.clone()))
        {
            let remedy = "this set has no entropic projection of its own: use a Euclidean map";
            return Err(Error::invalid("map", "entropic", remedy));
        }
        if map != Map::Entropic {
            log_centre.clear();
        }
        let mixture = Mixture::vertex(set, &vec![1.0; centre.len()])?;
        let counts = MapCounts::default();
        Ok(MirrorMap { map, log_centre, mixture, tolerance, most_calls, counts })
    }

    /// Writes the map of the dual vector y into `point`. All lengths are the set's dimension; entries beyond 1e150, whose
    /// squares would overflow, count as 1e150.
    pub fn apply<O: LinearOracle>(
        &mut self,
        set: &DecisionSet<O>,
        dual: &[f64],
        point: &mut [f64],
    ) {
        self.counts.maps += 1;
        let centre = set.shape().centre();
        let dual: Vec<f64> = dual.iter().map(|y| y.clamp(-LARGEST, LARGEST)).collect();
        match self.map {
            Map::Entropic => {
                let sums = point.iter_mut().zip(&self.log_centre).zip(&dual);
                sums.for_each(|((x, log), y)| *x = log + y);
                set.oracle().project_entropic(point);
            }
            Map::Projection => {
                point.iter_mut().zip(centre).zip(&dual).for_each(|((x, c), y)| *x = c + y);
                set.oracle().project(point);
            }
            Map::ConditionalGradient | Map::Automatic => {
                let target: Vec<f64> = centre.iter().zip(&dual).map(|(c, y)| c + y).collect();
                self.descend(set, &target, self.tolerance, self.most_calls);
                point.copy_from_slice(self.mixture.point());
            }
        }
    }

    /// Moves the mixture as near to a target as asked.
    pub(super) fn descend<O: LinearOracle>(
        &mut self,
        set: &DecisionSet<O>,
        target: &[f64],
        tolerance: f64,
        most_calls: u64,
    ) -> Descent {
        let enough = 0.5 * tolerance * tolerance;
        let descent = descend(set.oracle(), target, &mut self.mixture, enough, most_calls);
        self.counts.oracle_calls += descent.oracle_calls;
        self.counts.unconverged += u64::from(!descent.converged);
        descent
    }

    /// The map in use, never [`Map::Automatic`].
    pub fn map(&self) -> Map {
        self.map
    }

    /// The last answer as a mixture of vertices, if the map works by conditional gradient.
    pub fn mixture(&self) -> &Mixture {
        &self.mixture
    }

    /// Counts of the work until now.
    pub fn counts(&self) -> MapCounts {
        self.counts
    }

    /// Returns whether a deserialised map fits a set of this dimension.
    pub(super) fn fits(&self, dimension: usize) -> bool {
        self.mixture.fits(dimension)
            && (self.map != Map::Entropic || self.log_centre.len() == dimension)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::convex::oracle::{Birkhoff, L1Ball, Simplex, UniformMatroid};

    #[test]
    fn all_three_euclidean_ways_agree_and_go_downhill() {
        let set = UniformMatroid::set(5, 2).unwrap();
        let sums = [3.0, -1.0, 0.5, 0.0, 2.0];
        let dual: Vec<f64> = sums.iter().map(|s| -0.2 * s).collect();
        let answer = |map| {
            let mut point = vec![0.0; 5];
            let mut map = MirrorMap::new(&set, map, 1e-8, 10_000).unwrap();
            map.apply(&set, &dual, &mut point);
            assert_eq!(map.counts().unconverged, 0);
            point
        };
        let exact = answer(Map::Projection);
        let near = |other: &[f64]| other.iter().zip(&exact).all(|(a, b)| (a - b).abs() < 1e-7);
        assert!(near(&answer(Map::Automatic)) && near(&answer(Map::ConditionalGradient)));
        let linear = |x: &[f64]| crate::linalg::dot(&sums, x);
        // Below the centre in the direction of the gradients; the printed sign would be above.
        assert!(linear(&exact) < linear(set.shape().centre()) - 0.1);
        assert!(linear(&answer(Map::Entropic)) < linear(set.shape().centre()) - 0.1);
    }

    #[test]
    fn sums_of_any_size_map_into_the_set() {
        use crate::convex::{AnySet, oracle::L2Ball};
        let sets: [AnySet; 4] = [
            L1Ball::set(3, 1.0).unwrap().boxed(),
            L2Ball::set(&[0.0; 3], 1.0).unwrap().boxed(),
            Simplex::set(3).unwrap().boxed(),
            UniformMatroid::set(3, 1).unwrap().boxed(),
        ];
        for set in sets {
            for kind in [Map::Projection, Map::ConditionalGradient] {
                for size in [1e20, 1e200, f64::INFINITY] {
                    let mut point = vec![0.0; 3];
                    let mut map = MirrorMap::new(&set, kind, 1e-3, 1000).unwrap();
                    map.apply(&set, &[size, -size, size], &mut point);
                    let norm = point.iter().map(|x| x * x).sum::<f64>().sqrt();
                    assert!(norm > 0.5 && norm < 1.0 + 1e-9, "{kind:?} {size}: {point:?}");
                }
            }
        }
    }

    #[test]
    fn maps_a_set_does_not_have_are_refused() {
        let birkhoff = Birkhoff::set(3).unwrap();
        assert!(MirrorMap::new(&birkhoff, Map::Projection, 0.1, 10).is_err());
        assert!(MirrorMap::new(&birkhoff, Map::Entropic, 0.1, 10).is_err());
        assert!(MirrorMap::new(&L1Ball::set(3, 1.0).unwrap(), Map::Entropic, 0.1, 10).is_err());
        let simplex = Simplex::set(3).unwrap();
        assert!(MirrorMap::new(&simplex, Map::Entropic, 0.1, 10).is_ok());
        assert!(MirrorMap::new(&simplex, Map::Automatic, f64::NAN, 10).is_err());
        assert!(MirrorMap::new(&simplex, Map::Automatic, 0.1, 0).is_err());
    }
}
