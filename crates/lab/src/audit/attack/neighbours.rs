//! The neighbours that are easiest to distinguish: pairs that attain the sensitivities of the core.
//!
//! | what is released | the two people | distance |
//! | --- | --- | --- |
//! | a vector, `\|x\| <= L`, Gaussian | `x = L e_1`, `x' = -x` | `2 L` |
//! | the same, Laplace | `x = L (1, ..., 1)/sqrt d`, `x' = -x` | `2 L sqrt d` in l1 |
//! | `x x^T` | `e_1` and `e_2` | `L^2` in units of GOE noise |
//! | `x x^T` and `x y`, split r | `(e_1, B)` and `(r e_1 + sqrt(1 - r^2) e_2, -B)` | `L^2 (1 + r)` |
//!
//! In a pair of streams the person comes first: every later release depends on them, and the first column is the longest of every
//! factorisation here. The contributions of others are arbitrary, and may depend on earlier releases: see [`Others`].

use reticent::{
    Result,
    release::{Clipper, Contribution, Domain},
};

/// The contributions of everybody except the attacked person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Others {
    /// They contribute nothing.
    Silent,
    /// They contribute vectors of the largest norm, in a direction that depends on the last release.
    Adaptive,
}

/// One contribution: features, and a reward if the domain has one.
#[derive(Debug, Clone, PartialEq)]
pub struct Datum {
    /// x.
    pub features: Vec<f64>,
    /// y.
    pub reward: f64,
    /// The block of parameters that x belongs to.
    pub block: usize,
}

impl Datum {
    /// The contribution, clipped for a stream.
    pub fn clip(&self, clipper: &Clipper) -> Result<Contribution> {
        match clipper.domain() {
            Domain::Regression { .. } | Domain::Merged { .. } => {
                clipper.clip_in_block(self.block, &self.features, self.reward)
            }
            _ => clipper.clip(&self.features),
        }
    }

    /// The entries it adds to a sum: the upper triangle by rows, then the vector, among zeros for other blocks.
    pub fn entries(&self, domain: &Domain) -> Vec<f64> {
        let mut entries = Vec::new();
        if domain.matrix_coordinates() > 0 {
            for (row, x) in self.features.iter().enumerate() {
                entries.extend(self.features[row..].iter().map(|y| x * y));
            }
        }
        if let Domain::Merged { pattern, .. } = domain {
            entries = pattern.merge(&entries);
        }
        match domain {
            Domain::Vector { .. } => entries.extend(&self.features),
            Domain::Regression { .. } | Domain::Merged { .. } => {
                entries.extend(self.features.iter().map(|x| x * self.reward));
            }
            _ => {}
        }
        match domain.structure() {
            dense if dense.is_dense() => entries,
            structure => structure
                .embed_sums(domain.dimension(), self.block, entries)
                .expect("a person of the domain"),
        }
    }
}

/// `length` times the first unit vector.
pub fn axis(dimension: usize, length: f64) -> Vec<f64> {
    let mut vector = vec![0.0; dimension];
    vector[0] = length;
    vector
}

/// The worst two people of a domain under noise of these deviations.
pub fn worst(domain: &Domain, deviations: &[f64]) -> (Datum, Datum) {
    let datum = |features: Vec<f64>, reward: f64| Datum { features, reward, block: 0 };
    let d = domain.dimension();
    let candidates = match *domain {
        Domain::Vector { bound, .. } => {
            vec![(datum(axis(d, bound), 0.0), datum(axis(d, -bound), 0.0))]
        }
        Domain::Symmetric { bound, .. } => {
            let mut other = vec![0.0; d];
            if d > 1 {
                other[1] = bound;
            }
            vec![(datum(axis(d, bound), 0.0), datum(other, 0.0))]
        }
        Domain::Regression { feature_bound, reward_bound, split, .. }
        | Domain::Merged { feature_bound, reward_bound, split, .. } => {
            let one = datum(axis(d, feature_bound), reward_bound);
            let mut all = vec![(one.clone(), datum(axis(d, feature_bound), -reward_bound))];
            if d > 1 {
                for cosine in [0.0, split.min(1.0)] {
                    let mut other = axis(d, feature_bound * cosine);
                    other[1] = feature_bound * (1.0 - cosine * cosine).max(0.0).sqrt();
                    all.push((one.clone(), datum(other, -reward_bound)));
                }
            } else if split < 0.25 {
                // The smaller root of t (1 - t) = split: see the proof in `release/domain.rs`.
                let cosine = 0.5 * (1.0 - (1.0 - 4.0 * split).sqrt());
                all.push((one.clone(), datum(axis(d, feature_bound * cosine), -reward_bound)));
            }
            if domain.structure().blocks > 1 {
                let elsewhere = Datum { block: 1, reward: -reward_bound, ..one.clone() };
                all.push((one, elsewhere));
            }
            all
        }
    };
    let distance = |pair: &(Datum, Datum)| -> f64 {
        let (one, two) = (pair.0.entries(domain), pair.1.entries(domain));
        let parts = one.iter().zip(&two).zip(deviations);
        parts.map(|((a, b), s)| if *s > 0.0 { ((a - b) / s).powi(2) } else { 0.0 }).sum()
    };
    candidates
        .into_iter()
        .max_by(|one, two| distance(one).total_cmp(&distance(two)))
        .expect("there is always one")
}

#[cfg(test)]
mod tests {
    use super::*;
    use reticent::release::Structure;

    fn split(dimension: usize, feature_bound: f64, reward_bound: f64, split: f64) -> Domain {
        let structure = Structure::default();
        Domain::Regression { dimension, feature_bound, reward_bound, split, structure }
    }

    #[test]
    fn the_sensitivities_are_attained() {
        let domains = [
            Domain::Vector { dimension: 3, bound: 2.0 },
            Domain::Symmetric { dimension: 3, bound: 1.5 },
            Domain::regression(4, 1.0, 1.0),
            Domain::regression(4, 1.0, 1.0).structured(Structure { blocks: 3, shared: 1 }),
            split(2, 2.0, 3.0, 0.9),
            split(2, 1.0, 1.0, 4.0),
            split(1, 1.0, 1.0, 4.0),
            Domain::regression(1, 1.0, 1.0),
            Domain::regression(1, 1.0, 1.0).structured(Structure { blocks: 3, shared: 0 }),
            split(1, 2.0, 3.0, 0.05),
            Domain::Symmetric { dimension: 1, bound: 1.5 },
        ];
        for domain in domains {
            let ratios = domain.noise_ratios();
            let (one, two) = worst(&domain, &ratios);
            let square: f64 = one
                .entries(&domain)
                .iter()
                .zip(two.entries(&domain))
                .zip(&ratios)
                .map(|((a, b), s)| ((a - b) / s).powi(2))
                .sum();
            assert!((square.sqrt() / domain.sensitivity() - 1.0).abs() < 1e-12, "{domain:?}");
        }
    }
}
