//! A learner whose people map their features by a public matrix before noise is added to them.
//!
//! ```text
//! x' = c M x,   z' = c z,   c = min(1, 1/|M x|);   a person sends `unit_axis` of (x', z'), or gives (x', z') to a curator
//! S = E x x^T as far as it is known,   W = S^-1/2, scaled to tr W S W = d,   M = W / (reach sqrt d)
//! ```
//!
//! **Privacy.** (x', z') is a function of one person's data and of M, which is public and made from earlier reports or releases; it lies in the unit ball times [-1, 1] whatever M is. The
//! guarantee of a randomiser holds for every such pair, so that its event is that of a report, for any choice of M. A curator has one running sum for each M, all with the same
//! parameters, and a person is in one of them: given what was released before, the other sums do not depend on that person, so that all of them together have the guarantee of one. Neighbours differ in
//! the data of one person, who is there in both cases; a sum ends right after a release, and counts and releases alone decide when; the guarantee of a sum holds for people who are chosen by its releases.
//!
//! **No bias.** Where rewards are linear, `E z' x' = E[c^2 M x x^T] theta = E[x' x'^T] M^-1 theta`: shortening features and reward alike weighs a person by c^2, and changes nothing else.
//!
//! **Changes of M.** Sums move to the new coordinates by `R = M' M^-1`. The variance of the vector's noise grows by about `a = tr R R^T / d`, that of the matrix by `a^2`, and they are counted 1/a times, as the inverse of the
//! vector's variance: without that, reports from before whitening drown the small directions.

use reticent::{
    bandit::{Arms, Policy},
    linalg::{Cholesky, SymmetricEigen},
    randomize::Bounds,
};

use super::{
    super::click_environment::dot,
    coordinates::{Coordinates, apply, congruent, function, times},
    sums::{Learnt, Source, Sums},
};
use reticent_lab::{Result, play::Learner};

/// The ridge in units of the accumulated noise, as the default rule has it.
const RIDGE: f64 = 3.0;
/// People before the first whitening, and by how much they grow from one to the next.
const FIRST: u64 = 500;
const GROWTH: u64 = 2;

/// Origin of M.
#[derive(Debug, Clone)]
pub(super) enum Map {
    /// Features are divided by sizes that are known, and by reach sqrt d.
    Public {
        sizes: Vec<f64>,
        reach: f64,
    },
    Learnt(Whitening),
}

/// Parameters of learning M from reports.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Whitening {
    pub(super) reach: f64,
    /// M = I until `tr S^-1` exceeds this number times `(reach d)^2`: the noise of an estimate as it is, by that after whitening.
    pub(super) gate: f64,
    /// No eigenvalue of S is taken to be below this share of the largest: directions that are offered and not played look empty.
    pub(super) least: f64,
}

/// Width of exploration: both numbers of the default rule.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Width {
    pub(super) bonus: f64,
    pub(super) width: f64,
}

/// People and server of one trial.
pub(super) struct Mapped {
    source: Source,
    map: Map,
    width: Width,
    bounds: Bounds,
    coordinates: Coordinates,
    is_mapped: bool,
    /// From before M was changed.
    earlier: Sums,
    /// Since then.
    present: Sums,
    people: u64,
    next_policy: u64,
    next_map: u64,
    policy: Policy,
}

impl Mapped {
    pub(super) fn new(bounds: Bounds, source: Source, map: Map, width: Width) -> Result<Self> {
        let dimension = bounds.dimension;
        let triangle = dimension * (dimension + 1) / 2;
        let coordinates = match &map {
            Map::Public { sizes, reach } => {
                let scale = reach * (dimension as f64).sqrt();
                Coordinates::of_sizes(sizes.iter().map(|size| size * scale))
            }
            Map::Learnt(_) => Coordinates::of_sizes(std::iter::repeat_n(1.0, dimension)),
        };
        let policy = Policy::from_parts(vec![0.0; dimension], vec![0.0; triangle], 0.0, 0.0)?;
        Ok(Mapped {
            source,
            is_mapped: matches!(map, Map::Public { .. }),
            map,
            width,
            bounds,
            coordinates,
            earlier: Sums::none(triangle + dimension),
            present: Sums::none(triangle + dimension),
            people: 0,
            next_policy: 1,
            next_map: FIRST,
            policy,
        })
    }

    fn all(&self) -> Sums {
        let mut all = self.earlier.clone();
        all.add(&self.present);
        all
    }

    /// The default rule in the coordinates of x', brought back to those of x.
    fn learn(&mut self) -> Result<()> {
        let d = self.bounds.dimension;
        let Sums { entries, variance, .. } = self.all();
        let (matrix, vector) = entries.split_at(entries.len() - d);
        let accumulated = RIDGE * variance.sqrt();
        let ridge = 1.0 + accumulated;
        let eigen = SymmetricEigen::of(d, matrix)?;
        let raised = function(&eigen, |value| (value + ridge).max(0.5 * ridge));
        // V' = M V M, and M is symmetric.
        let raised: Vec<f64> = (0..d).flat_map(|i| raised[i][i..].to_vec()).collect();
        let upper = congruent(&self.coordinates.backward, &raised);
        let remedy = "its eigenvalues are not finite numbers";
        let factor = Cholesky::of(d, &upper, 0.0)
            .ok_or_else(|| reticent::Error::invalid("sums", "a value", remedy))?;
        let theta = factor.solve(&apply(&self.coordinates.backward, vector))?;
        let width = (self.width.bonus * accumulated.sqrt()).hypot(self.width.width);
        self.policy = Policy::from_parts(theta, factor.inverse_factor(), width, 0.0)?;
        Ok(())
    }

    /// M from what is known now, if features are badly conditioned.
    fn whiten(&mut self, whitening: Whitening) -> Result<()> {
        let d = self.bounds.dimension;
        let root = (d as f64).sqrt();
        let all = self.all();
        let floor = root * all.variance.sqrt() / all.weight;
        let eigen = SymmetricEigen::of(d, &all.entries[..all.entries.len() - d])?;
        let here = function(&eigen, |value| (value / all.weight).max(0.0) + floor);
        let here: Vec<f64> = (0..d).flat_map(|i| here[i][i..].to_vec()).collect();
        let eigen = SymmetricEigen::of(d, &congruent(&self.coordinates.backward, &here))?;
        let least = (whitening.least * eigen.largest()).max(1e-12);
        let values = || eigen.values().iter().map(|value| value.max(least));
        let noise = values().map(f64::recip).sum::<f64>();
        if noise < whitening.gate * (whitening.reach * d as f64).powi(2) {
            return Ok(());
        }
        let power = |value: f64| value.max(least).sqrt().recip();
        let trace: f64 = values().map(|value| value * power(value).powi(2)).sum();
        let scale = (d as f64 / trace).sqrt() / (whitening.reach * root);
        let forward = function(&eigen, |value| scale * power(value));
        let backward = function(&eigen, |value| 1.0 / (scale * power(value)));
        self.change_to(Coordinates { forward, backward });
        Ok(())
    }

    /// Features are divided by these sizes from now on.
    pub(super) fn divide_by(&mut self, sizes: &[f64]) -> Result<()> {
        self.change_to(Coordinates::of_sizes(sizes.iter().copied()));
        self.learn()
    }

    fn change_to(&mut self, coordinates: Coordinates) {
        let all = self.all();
        self.earlier = all.moved(&times(&coordinates.forward, &self.coordinates.backward));
        self.present = Sums::none(all.entries.len());
        self.source.restart();
        self.coordinates = coordinates;
        self.is_mapped = true;
    }
}

impl Learner for Mapped {
    fn choose(&mut self, arms: &Arms, round: u64) -> Result<usize> {
        if !self.is_mapped {
            return Ok(self.policy.choose(arms, round)?);
        }
        // The bonus of what a report would hold, which is shortened.
        let score = |x: &[f64]| {
            let mean = dot(self.policy.theta(), x);
            let mapped = apply(&self.coordinates.forward, x);
            let shorter = dot(&mapped, &mapped).sqrt().max(1.0).recip();
            mean + shorter * (self.policy.bound(x) - mean)
        };
        let scores: Vec<f64> = (0..arms.count()).map(|arm| score(&arms.arm(arm))).collect();
        let best = scores.iter().enumerate().max_by(|one, two| one.1.total_cmp(two.1));
        Ok(best.map_or(0, |(arm, _)| arm))
    }

    fn sent(&mut self) -> Option<Vec<f64>> {
        self.source.sent()
    }

    fn observe(&mut self, _: u64, features: &[f64], reward: f64) -> Result<()> {
        let (mut x, mut bounds, mut shorter) = (features.to_vec(), self.bounds, 1.0);
        if self.is_mapped {
            x = apply(&self.coordinates.forward, features);
            shorter = dot(&x, &x).sqrt().max(1.0).recip();
            x.iter_mut().for_each(|x| *x *= shorter);
            bounds = Bounds { unit_arms: false, intercept: None, ..bounds };
        }
        self.people += 1;
        let is_every = match self.source.absorb(&bounds, (&x, shorter * reward), self.is_mapped)? {
            None => return Ok(()),
            Some(Learnt::More(sums)) => {
                self.present.add(&sums);
                false
            }
            Some(Learnt::Whole(sums)) => {
                self.present = sums;
                true
            }
        };
        let mut is_due = is_every || self.people >= self.next_policy;
        if self.people >= self.next_map {
            self.next_map = self.people * GROWTH;
            if let Map::Learnt(whitening) = self.map {
                self.whiten(whitening)?;
                is_due = true;
            }
        }
        if is_due {
            self.next_policy = match self.people {
                ..200 => self.people + 1,
                people => people + (people / 50).max(20),
            };
            self.learn()?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use reticent::{
        noise::Noise,
        randomize::UnitPair,
        release::{Calibration, Domain, PrivateSumParams},
    };

    use super::*;
    use reticent_lab::FastNoise;

    /// Next to no noise: theta is found in the coordinates of x, whatever M is and although long vectors are shortened.
    #[test]
    fn the_parameter_is_found_through_every_map() {
        let whitening = Whitening { reach: 1.0, gate: 1.0, least: 0.0 };
        let never = Whitening { gate: f64::INFINITY, ..whitening };
        let maps = [
            Map::Learnt(never),
            Map::Public { sizes: vec![0.5, 0.02], reach: 1.0 },
            Map::Learnt(whitening),
        ];
        for (map, is_curator) in
            maps.into_iter().flat_map(|map| [(map.clone(), false), (map, true)])
        {
            let bounds = Bounds::unit(2);
            let source = if is_curator {
                let budget = Calibration::Budget { epsilon: 1e4, delta: 1e-6 };
                let domain = Domain::regression(2, 1.0, 1.0);
                let plan = PrivateSumParams::new(domain, Some(60_000), budget).check().unwrap();
                Source::curator(plan, 5)
            } else {
                let pair = || UnitPair::of_axis(&bounds, 60.0).unwrap();
                Source::reports(pair(), pair(), 5)
            };
            let width = Width { bonus: 0.0, width: 2.5 };
            let mut learner = Mapped::new(bounds, source, map.clone(), width).unwrap();
            let mut people = FastNoise::seeded(6);
            for round in 1..=60_000 {
                let x =
                    [0.9 * (2.0 * people.uniform() - 1.0), 0.03 * (2.0 * people.uniform() - 1.0)];
                let z = 0.6 * x[0] - 10.0 * x[1];
                let reward = if people.uniform() < 0.5 * (1.0 + z) { 1.0 } else { -1.0 };
                learner.observe(round, &x, reward).unwrap();
            }
            let is_never = matches!(&map, Map::Learnt(whitening) if whitening.gate.is_infinite());
            assert_eq!(learner.is_mapped, !is_never, "{map:?}");
            // The ridge draws the second by .5 to 0, and its deviation is about .2: false alarms in less than a millionth of all seeds.
            let theta = learner.policy.theta();
            assert!((theta[0] - 0.6).abs() < 0.05, "{map:?} {theta:?}");
            assert!((theta[1] + 10.0).abs() < 2.0, "{map:?} {theta:?}");
        }
    }
}
