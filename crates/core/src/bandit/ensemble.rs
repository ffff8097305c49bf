//! Thompson sampling with exact propensities: a finite ensemble of parameters, published with every release.
//!
//! ```text
//! theta_m = theta^ + width W^T z_m,   m = 0 .. M - 1,   z_m standard normal, from a public seed
//! decide:      pick m uniformly, play argmax_x <theta_m, x>
//! probability: (1 - K f) #{m : x maximises <theta_m, .>} / M + f,   f the floor
//! ```
//!
//! Thompson sampling proper draws a parameter for each decision, and the probability of an action is an integral without closed form. Here the
//! draws belong to the policy: the probability of an action is a count, which any party who has the policy can repeat to the last bit, and the
//! action that was played has at least 1/M. The law of one decision, given the sums, is that of Thompson sampling; decisions between two
//! releases share the draws.
//!
//! A new seed comes with every release. With one seed for ever, an arm that none of the M directions favours would never be tried again.
//!
//! **Blocks.** A block has n entries of theta_m, its own and the shared ones. Normals are drawn for all blocks' rows of W and then, once for
//! all, for the shared rows; the shared rows of W are the same in every block, so the shared part of theta_m is, and what a block and
//! the shared part are drawn from together is exactly `N(theta, width^2 W^T W)`. Given the shared part, blocks are drawn independently:
//! exact for `W^T W = A^-1`, whose blocks are independent given the shared part.
//!
//! **Privacy.** The seed is public and independent of people's data, so an ensemble is post-processing of its release.
//!
//! **Bits.** Normals come from [`mix`] by the method of Box and Muller in `libm`, so that a server, a browser and an auditor agree.

use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};

use super::{
    Arms, Policy,
    score::{Best, score},
};
use crate::{
    Error, Result,
    error::not_negative,
    hash::mix,
    linalg::{
        lanes::{Bound, arch},
        triangle,
    },
    refuse_if,
    wire::hex,
};

/// Members of an ensemble, at most: more distinguish no probabilities that matter, and all of them are scored for one.
const MOST_MEMBERS: u32 = 1 << 14;

/// Rule by which a policy draws parameters, and the floor under its probabilities.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ensemble {
    #[serde(with = "hex")]
    seed: u64,
    members: u32,
    minimum_probability: f64,
    /// `theta_0, theta_1, ...`, made when probabilities are asked for; a copy of a policy shares them.
    #[serde(skip)]
    drawn: Arc<OnceLock<Vec<f64>>>,
}

/// Follows from the rest: the draws are made again when a state is read.
impl PartialEq for Ensemble {
    fn eq(&self, other: &Self) -> bool {
        let parts = |e: &Ensemble| (e.seed, e.members, e.minimum_probability);
        parts(self) == parts(other)
    }
}

impl Ensemble {
    /// An ensemble of `members` draws, which is a power of two so that one is picked uniformly by the bits of a word.
    pub(super) fn new(members: u32, minimum_probability: f64) -> Result<Self> {
        if !members.is_power_of_two() || members > MOST_MEMBERS {
            let remedy = format!("expected a power of two from 1 to {MOST_MEMBERS}");
            return Err(Error::invalid("members", members, remedy));
        }
        not_negative("minimum_probability", minimum_probability)?;
        if minimum_probability > 1.0 {
            let remedy = "expected at most 1 over the number of arms";
            return Err(Error::invalid("minimum_probability", minimum_probability, remedy));
        }
        Ok(Ensemble { seed: 0, members, minimum_probability, drawn: Arc::default() })
    }

    /// The same drawn from this seed.
    pub fn seeded(seed: u64, members: u32, minimum_probability: f64) -> Result<Self> {
        Ok(Ensemble { seed, ..Ensemble::new(members, minimum_probability)? })
    }

    /// Refuses an ensemble that was read and could not have been made.
    pub(super) fn check(&self) -> Result<()> {
        Ensemble::new(self.members, self.minimum_probability).map(drop)
    }

    /// Another ensemble, drawn from this seed.
    pub(super) fn reseed(&mut self, seed: u64) {
        self.seed = seed;
        // Never those of a copy: its estimate may be another one.
        self.redraw();
    }

    /// Forgets what was drawn, for another estimate under the same seed.
    pub(super) fn redraw(&mut self) {
        self.drawn = Arc::default();
    }

    /// M.
    pub fn members(&self) -> u32 {
        self.members
    }

    /// f.
    pub fn minimum_probability(&self) -> f64 {
        self.minimum_probability
    }

    /// The share of decisions that is uniform: K f, or all where K arms cannot all have the floor. No person is refused: how many arms a person has
    /// is their data.
    fn uniform_share(&self, arms: usize) -> f64 {
        (self.minimum_probability * arms as f64).min(1.0)
    }

    /// An error if this many arms, a number that is public, cannot all have the floor.
    pub(super) fn check_arms(&self, arms: usize) -> Result<()> {
        let remedy = format_args!("there are {arms} arms; expected at most {}", 1.0 / arms as f64);
        let refused = self.minimum_probability * arms as f64 > 1.0;
        refuse_if(refused, "minimum_probability", self.minimum_probability, remedy)
    }

    /// The arm that this word of randomness picks.
    pub(super) fn choose(&self, policy: &Policy, arms: &Arms, randomness: u64) -> Result<usize> {
        let share = self.uniform_share(arms.count());
        let unit = (mix(randomness, 1) >> 11) as f64 / (1_u64 << 53) as f64;
        if unit < share {
            let word = u128::from(mix(randomness, 2));
            return Ok(((word * arms.count() as u128) >> 64) as usize);
        }
        let member = mix(randomness, 0) as u32 & (self.members - 1);
        match self.drawn.get() {
            Some(drawn) => {
                let entries = policy.theta().len();
                let theta = &drawn[member as usize * entries..][..entries];
                Ok(self.best(theta, member, arms))
            }
            None => Ok(self.best(&self.member(policy, member), member, arms)),
        }
    }

    /// The probability of every arm, in their order.
    pub(super) fn probabilities(&self, policy: &Policy, arms: &Arms) -> Result<Vec<f64>> {
        let share = self.uniform_share(arms.count());
        let thetas = self.drawn.get_or_init(|| {
            (0..self.members).flat_map(|member| self.member(policy, member)).collect()
        });
        let mut counts = vec![0_u32; arms.count()];
        for (member, theta) in (0..).zip(thetas.chunks_exact(policy.theta().len())) {
            counts[self.best(theta, member, arms)] += 1;
        }
        let of = |count: u32| f64::from(count) / f64::from(self.members);
        let floor = share / arms.count() as f64;
        Ok(counts.into_iter().map(|count| (1.0 - share).mul_add(of(count), floor)).collect())
    }

    /// theta_m.
    pub(super) fn member(&self, policy: &Policy, member: u32) -> Vec<f64> {
        let (n, width, structure) = (policy.dimension(), policy.width(), policy.structure());
        let stream = mix(self.seed, u64::from(member));
        let z: Vec<f64> = normals(stream).take(structure.parameters(n)).collect();
        let (own, shared) = z.split_at(structure.blocks * (n - structure.shared));
        let mut theta = policy.theta().to_vec();
        let whitening = policy.whitening().chunks_exact(triangle(n));
        let blocks = theta.chunks_exact_mut(n).zip(own.chunks_exact(n - structure.shared));
        for ((theta, own), whitening) in blocks.zip(whitening) {
            for (row, z) in own.iter().chain(shared).enumerate() {
                let entries = &whitening[triangle(row)..triangle(row + 1)];
                for (theta, w) in theta.iter_mut().zip(entries) {
                    *theta = (width * z).mul_add(*w, *theta);
                }
            }
        }
        theta
    }

    /// The arm with the largest `<theta, x>`; exact ties go by a hash that is the member's own, so that they prefer no arm.
    fn best(&self, theta: &[f64], member: u32, arms: &Arms) -> usize {
        let tie = mix(self.seed, u64::from(member) | 1 << 63);
        let mut best = Best::new(arms.count(), tie);
        let bound = Bound { theta, whitening: &[], width: 0.0, drift: 0.0 };
        score(arch(), bound, arms, &mut best);
        best.arm()
    }
}

/// Standard normals by Box and Muller: both of a pair, from two words.
fn normals(stream: u64) -> impl Iterator<Item = f64> {
    let unit = move |index: u64| ((mix(stream, index) >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
    (0..).flat_map(move |pair: u64| {
        let radius = (-2.0 * libm::log(unit(2 * pair))).sqrt();
        let (sine, cosine) = libm::sincos(2.0 * std::f64::consts::PI * unit(2 * pair + 1));
        [radius * cosine, radius * sine]
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{noise::check, special::normal_cdf};

    fn policy(members: u32, floor: f64) -> Policy {
        // V^-1 with correlated entries.
        let whitening = vec![0.5, 0.3, 0.2, -0.1, 0.25, 0.4];
        let policy = Policy::dense(vec![0.3, -0.1, 0.2], whitening, 0.7, 0.0);
        let mut policy = policy.with_ensemble(Ensemble::new(members, floor).unwrap());
        policy.reseed(11);
        policy
    }

    fn arms() -> Arms {
        let rows = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.6, 0.0, 0.8], [0.0, 0.0, 1.0]];
        Arms::from_rows(3, &rows).unwrap()
    }

    #[test]
    fn normals_are_normal_and_independent_of_each_other() {
        let draws: Vec<f64> =
            (0..20_000).flat_map(|stream| normals(mix(3, stream)).take(5)).collect();
        assert!(!check::distribution_alarm(draws.clone(), normal_cdf));
        // Planted: the radius without its root of 2.
        let narrow = draws.iter().map(|z| z / 2f64.sqrt()).collect();
        assert!(check::distribution_alarm(narrow, normal_cdf));
        let pairs = |gap: usize| draws.iter().zip(&draws[gap..]).map(|(a, b)| a * b);
        for gap in 1..6 {
            assert!(!check::mean_alarm(pairs(gap), 0.0, 1.0), "{gap}");
        }
    }

    /// Members have the mean and the covariance that the policy says.
    #[test]
    fn members_have_the_law_of_the_posterior() {
        let policy = policy(1 << 14, 0.0);
        let ensemble = policy.ensemble().unwrap();
        let x = [0.6, -0.3, 0.5];
        let (mean, bound) = (policy.theta(), policy.bound(&x));
        let mean: f64 = mean.iter().zip(&x).map(|(a, b)| a * b).sum();
        let deviation = bound - mean; // width ||W x||
        let scores: Vec<f64> = (0..1 << 14)
            .map(|m| {
                let theta = ensemble.member(&policy, m);
                (theta.iter().zip(&x).map(|(a, b)| a * b).sum::<f64>() - mean) / deviation
            })
            .collect();
        assert!(!check::distribution_alarm(scores.clone(), normal_cdf));
        // Planted: the width twice.
        assert!(check::distribution_alarm(scores, |z| normal_cdf(0.7 * z)));
    }

    #[test]
    fn probabilities_are_the_frequencies_of_choices_and_repeatable() {
        for floor in [0.0, 0.05] {
            let policy = policy(64, floor);
            let probabilities = policy.probabilities(&arms()).unwrap();
            assert!((probabilities.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            assert!(probabilities.iter().all(|p| *p >= floor));
            let mut counts = [0_u64; 4];
            for decision in 0..100_000 {
                counts[policy.choose(&arms(), mix(5, decision)).unwrap()] += 1;
            }
            for (count, p) in counts.iter().zip(&probabilities) {
                assert!(*p > 0.0 || *count == 0);
            }
            let possible: Vec<usize> = (0..4).filter(|arm| probabilities[*arm] > 0.0).collect();
            let seen: Vec<u64> = possible.iter().map(|arm| counts[*arm]).collect();
            let expected: Vec<f64> = possible.iter().map(|arm| probabilities[*arm]).collect();
            assert!(!check::chi_square_alarm(&seen, &expected));
            // A policy that was stored and read says the same.
            let text = serde_json::to_string(&policy).unwrap();
            let read: Policy = serde_json::from_str(&text).unwrap();
            assert_eq!(read.probabilities(&arms()).unwrap(), probabilities);
            // Planted: another release's ensemble.
            let mut other = read;
            other.reseed(12);
            assert_ne!(other.probabilities(&arms()).unwrap(), probabilities);
        }
    }

    #[test]
    fn ensembles_that_cannot_be_are_refused() {
        for members in [0, 3, 65, 1 << 15] {
            assert!(Ensemble::new(members, 0.0).unwrap_err().to_string().contains("members"));
        }
        for floor in [-0.1, f64::NAN, 1.5] {
            assert!(Ensemble::new(64, floor).is_err());
        }
        // Four arms cannot all have 0.3: no person is refused, and every arm has a quarter.
        let crowded = policy(64, 0.3);
        assert_eq!(crowded.probabilities(&arms()).unwrap(), [0.25; 4]);
        assert!((0..100).all(|word| crowded.choose(&arms(), word).unwrap() < 4));
        // A number of arms that is public is refused before anything is asked.
        let error = crowded.ensemble().unwrap().check_arms(4).unwrap_err().to_string();
        assert!(error.contains("minimum_probability") && error.contains("0.25"), "{error}");
    }
}
