//! The constants of the publications on local and shuffle privacy, in one place: `paper` mode is these numbers.
//!
//! | who | noise | on |
//! | --- | --- | --- |
//! | OnlineUCB (Algorithm 1) | `2 sqrt(2 ln(1.25/delta)) / epsilon` | x and y |
//! | Zheng et al. (2020) | `6 sqrt(2 ln(2.5/delta)) / epsilon` | the triangle of x x^T, and x y |
//! | code of Chowdhury and Zhou (2022): LDP | `sqrt(ln(2.5/delta)) / epsilon` | (M + M^T)/2, and x y |
//! | the same: JDP | `sqrt(ln n) ln(2.5/delta) / epsilon` a node | (M + M^T)/2, and x y |
//! | the same: amplified, batches of B | `sqrt(ln(2.5 B/delta)) / (epsilon sqrt B)` a person | (M + M^T)/2, and x y |
//! | the same: vector sum | Binomial(b, 1/4)/g, `g = max(2 sqrt B, d, 4)`, `b = k g^2 ln^2(d/delta) / (epsilon^2 B)`, k = 1 below epsilon = 1, else 10 | the triangle, and x y |
//!
//! The row JDP is priced as the binary tree that the code stands for (one level for every bit of n), not as what the code runs: see
//! [`PublishedMechanism::PublicJoint`].
//!
//! M has independent entries, so (M + M^T)/2 is a GOE matrix with `noise/sqrt 2` off its diagonal. That code plays with
//! `S = sqrt d`, `R = 1/2`, `alpha = 1/n`, `Gamma = noise sqrt(n d)` (JDP: `noise sqrt(d ln n)`; vector sum: a quarter of
//! `ln(d/delta)/(epsilon sqrt B) sqrt(n d)`), regulariser `2 Gamma` and
//!
//! ```text
//! width = sqrt(Gamma) S + R sqrt(d ln((1 + n L^2/Gamma)/alpha)).
//! ```
//!
//! **What they really give.** [`PublishedLocal::event`] states each as what it is: a joint release, over the arms of the code's own
//! experiment, `x = (v, c)` with `|v| = c = L/sqrt 2`, and rewards in [0, 1]. There `a = <x, x'> >= 0`, and with equal rewards
//! `|x y - x' y'|^2 = 2 L^2 - 2a`, so noise of (M + M^T)/2 sees `2 (L^4 - a^2) + 2 L^2 - 2a`, at most `2 L^4 + 2 L^2` (v' = -v).
//! Equal noise on the triangle sees at most `L^4 + 2 L^2`, at the same pair, while `L <= sqrt 2`; beyond, with `e = 1/2 - 1/L^2`, at
//! most `L^4 (1 + e/2 - e^2/2) + 2 L^2 - e L^2`. L is `sqrt 2` in that code and 1 in OnlineUCB's
//! experiment. OnlineUCB and Zheng et al. are stated for the whole unit ball. The batch-sum view takes each batch's sum to
//! be all that is seen, and binomial noise to be Gaussian of its variance: kinder than the truth, and still not enough.

use reticent::{
    Error, Result,
    bandit::{Aggregation, LocalParams, Rule, ShuffleParams},
    error::{positive, probability},
    privacy::{Claim, Event},
    randomize::{AdditivePair, Bounds, GramGaussian, Method, ReportParams},
    release::Calibration,
};
use serde::{Deserialize, Serialize};

/// A published mechanism.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PublishedMechanism {
    /// OnlineUCB's message for rewards in [-1, 1].
    OnlineUcb,
    /// OnlineUCB's message for rewards in [0, 1].
    OnlineUcbUnitRewards,
    /// Zheng et al. (2020), as in their paper.
    Zheng,
    /// LDP-LinUCB in the code of Chowdhury and Zhou.
    PublicLdp,
    /// JDP-LinUCB in that code. [`PublishedLocal::event`] prices the binary tree that the code stands for, one level for every bit of
    /// the horizon. The code itself draws no such tree: it adds the same node noise after every reward, so consecutive sums differ by
    /// one person's data as they are, and no epsilon holds.
    PublicJoint,
    /// SDP-LinUCB with amplification in that code.
    PublicAmplified,
    /// SDP-LinUCB with vector sums in that code.
    PublicVectorSum,
}

impl PublishedMechanism {
    /// Place of the claim in the publication.
    pub fn source(self) -> &'static str {
        match self {
            PublishedMechanism::OnlineUcb | PublishedMechanism::OnlineUcbUnitRewards => {
                "Improved rate for locally differentially private linear bandits, Algorithm 1"
            }
            PublishedMechanism::Zheng => "Zheng et al. (2020)",
            _ => "the public code of Chowdhury and Zhou (2022)",
        }
    }
}

/// Everything the published constants depend on.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedLocal {
    /// Publication of the constants.
    pub mechanism: PublishedMechanism,
    /// The delta they are claimed for.
    pub delta: f64,
    /// d.
    pub dimension: usize,
    /// n: rounds.
    pub horizon: u64,
    /// B: people in a batch, where there are batches.
    pub batch: u64,
    /// L: norm of the arms.
    pub feature_bound: f64,
}

impl PublishedLocal {
    /// Refuses numbers the formulas have no meaning for.
    pub fn check(&self) -> Result<()> {
        probability("delta", self.delta)?;
        positive("feature_bound", self.feature_bound)?;
        for (field, value) in
            [("dimension", self.dimension as u64), ("horizon", self.horizon), ("batch", self.batch)]
        {
            reticent::refuse_if(value == 0, field, value, "expected a whole number above 0")?;
        }
        Ok(())
    }

    /// The deviation of one person's noise (of one node's, for the tree), in the units of the publication.
    pub fn noise(&self, epsilon: f64) -> Result<f64> {
        self.check()?;
        positive("epsilon", epsilon)?;
        let (delta, n, batch) = (self.delta, self.horizon as f64, self.batch as f64);
        Ok(match self.mechanism {
            PublishedMechanism::OnlineUcb | PublishedMechanism::OnlineUcbUnitRewards => {
                2.0 * (2.0 * (1.25 / delta).ln()).sqrt() / epsilon
            }
            PublishedMechanism::Zheng => 6.0 * (2.0 * (2.5 / delta).ln()).sqrt() / epsilon,
            PublishedMechanism::PublicLdp => (2.5 / delta).ln().sqrt() / epsilon,
            PublishedMechanism::PublicJoint => n.ln().sqrt() * (2.5 / delta).ln() / epsilon,
            PublishedMechanism::PublicAmplified => {
                (2.5 * batch / delta).ln().sqrt() / (epsilon * batch.sqrt())
            }
            PublishedMechanism::PublicVectorSum => {
                // Binomial(b, 1/4) in steps of L/g.
                let (g, b) = self.binomial(epsilon);
                self.feature_bound / g * (b * 0.25 * 0.75).sqrt()
            }
        })
    }

    /// (g, b) of the vector sum.
    fn binomial(&self, epsilon: f64) -> (f64, f64) {
        let (d, batch) = (self.dimension as f64, self.batch as f64);
        let g = (2.0 * batch.sqrt()).max(d).max(4.0);
        let scale = if epsilon < 1.0 { 1.0 } else { 10.0 };
        (g, scale * (g * (d / self.delta).ln() / epsilon).powi(2) / batch)
    }

    /// Gamma of the public code.
    fn gamma(&self, epsilon: f64) -> Result<f64> {
        let (d, n, batch) = (self.dimension as f64, self.horizon as f64, self.batch as f64);
        Ok(match self.mechanism {
            PublishedMechanism::PublicJoint => self.noise(epsilon)? * (d * n.ln()).sqrt(),
            PublishedMechanism::PublicVectorSum => {
                0.25 * (d / self.delta).ln() / (epsilon * batch.sqrt()) * (n * d).sqrt()
            }
            _ => self.noise(epsilon)? * (n * d).sqrt(),
        })
    }

    /// The public code's width at a given Gamma, n, d and L; LinUCB without privacy takes Gamma = 1.
    pub fn public_width(gamma: f64, horizon: u64, dimension: usize, feature_bound: f64) -> f64 {
        let (n, d) = (horizon as f64, dimension as f64);
        let growth = (1.0 + n * feature_bound * feature_bound / gamma) * n;
        gamma.sqrt() * d.sqrt() + 0.5 * (d * growth.ln()).sqrt()
    }

    /// Regulariser and width of the public code, for features divided by L.
    pub fn rule(&self, epsilon: f64) -> Result<Rule> {
        let gamma = self.gamma(epsilon)?;
        let square = self.feature_bound * self.feature_bound;
        Ok(Rule::Fixed {
            ridge: 2.0 * gamma / square,
            width: Self::public_width(gamma, self.horizon, self.dimension, self.feature_bound),
        })
    }

    /// The randomiser that sends this message.
    pub fn method(&self) -> Result<Method> {
        let square = self.feature_bound * self.feature_bound;
        match self.mechanism {
            PublishedMechanism::OnlineUcb | PublishedMechanism::OnlineUcbUnitRewards => {
                Ok(Method::AdditivePair)
            }
            PublishedMechanism::Zheng => Ok(Method::TriangleGaussian),
            // noise/(sqrt 2 L^2) off the diagonal and noise/L on the vector: their ratio is sqrt(1/r).
            PublishedMechanism::PublicLdp | PublishedMechanism::PublicAmplified => {
                Ok(Method::GramGaussian { split: 0.5 / square })
            }
            PublishedMechanism::PublicVectorSum if (square - 1.0).abs() < 1e-12 => {
                Ok(Method::TriangleGaussian)
            }
            PublishedMechanism::PublicVectorSum => Err(Error::invalid(
                "feature_bound",
                self.feature_bound,
                "the vector sum is simulated for arms of norm 1: scale them",
            )),
            PublishedMechanism::PublicJoint => Err(Error::invalid(
                "mechanism",
                "public_joint",
                "it needs a trusted curator: use the joint learner",
            )),
        }
    }

    /// The common deviation the randomiser of [`PublishedLocal::method`] takes, for features divided by L.
    pub fn sigma(&self, epsilon: f64) -> Result<f64> {
        let noise = self.noise(epsilon)?;
        Ok(match self.mechanism {
            PublishedMechanism::PublicLdp | PublishedMechanism::PublicAmplified => {
                noise / (std::f64::consts::SQRT_2 * self.feature_bound.powi(2))
            }
            _ => noise / self.feature_bound,
        })
    }

    /// Claim of the publication.
    pub fn claim(&self, epsilon: f64) -> Claim {
        Claim::new(epsilon, self.delta, self.mechanism.source())
    }

    /// Core's local protocol with the publication's message, noise, regulariser and width.
    pub fn local_params(&self, bounds: Bounds, epsilon: f64) -> Result<LocalParams> {
        let report = ReportParams {
            method: Some(self.method()?),
            calibration: Some(Calibration::Sigma(self.sigma(epsilon)?)),
            claim: Some(self.claim(epsilon)),
            ..ReportParams::new(bounds, epsilon, self.delta)
        };
        Ok(LocalParams { rule: self.rule(epsilon)?, ..report.into() })
    }

    /// Core's shuffle protocol with the same, priced by the batch-sum view: only each batch's sum is seen.
    pub fn shuffle_params(&self, bounds: Bounds, epsilon: f64) -> Result<ShuffleParams> {
        use PublishedMechanism::{PublicAmplified, PublicVectorSum};
        let refused = !matches!(self.mechanism, PublicAmplified | PublicVectorSum);
        let remedy = "it has no shuffler: use the local protocol";
        reticent::refuse_if(refused, "published", format_args!("{:?}", self.mechanism), remedy)?;
        Ok(ShuffleParams {
            method: Some(self.method()?),
            rule: self.rule(epsilon)?,
            calibration: Some(Calibration::Sigma(self.sigma(epsilon)?)),
            claim: Some(self.claim(epsilon)),
            ..ShuffleParams::new(bounds, epsilon, self.delta, self.batch, Aggregation::Sum)
        })
    }

    /// Levels of a binary tree over the horizon: every reward is in at most one node of each.
    pub fn tree_levels(&self) -> u64 {
        u64::from(self.horizon.max(1).ilog2()) + 1
    }

    /// Event of the mechanism's releases, jointly, over the arms and rewards it is published for.
    pub fn event(&self, epsilon: f64) -> Result<Event> {
        let sigma = self.noise(epsilon)?;
        let square = self.feature_bound * self.feature_bound;
        let symmetric = (2.0 * square * square + 2.0 * square).sqrt();
        Ok(match self.mechanism {
            PublishedMechanism::OnlineUcb => {
                Event::Gaussian { sensitivity: AdditivePair::sensitivity(1.0), sigma }
            }
            PublishedMechanism::OnlineUcbUnitRewards => {
                Event::Gaussian { sensitivity: AdditivePair::sensitivity(0.5), sigma }
            }
            // Attained by x and -x' of the whole ball, in two dimensions or more; not by arms that share a constant.
            PublishedMechanism::Zheng => {
                let sensitivity = GramGaussian::TRIANGLE_SENSITIVITY;
                Event::AtMost { event: Box::new(Event::Gaussian { sensitivity, sigma }) }
            }
            PublishedMechanism::PublicLdp => Event::Gaussian { sensitivity: symmetric, sigma },
            PublishedMechanism::PublicJoint => Event::Repeated {
                event: Box::new(Event::Gaussian { sensitivity: symmetric, sigma }),
                times: self.tree_levels(),
            },
            PublishedMechanism::PublicAmplified => {
                Event::SecureSum { sensitivity: symmetric, sigma, people: self.batch }
            }
            PublishedMechanism::PublicVectorSum => {
                let e = (0.5 - 1.0 / square).max(0.0);
                let worst = square * square * (1.0 + 0.5 * e * (1.0 - e)) + square * (2.0 - e);
                let sensitivity = worst.sqrt();
                let event = Event::SecureSum { sensitivity, sigma, people: self.batch };
                // For e = 0 attained by v and -v; for longer arms by a search in six dimensions only.
                if e == 0.0 { event } else { Event::AtMost { event: Box::new(event) } }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use reticent::{
        bandit::{Absorbed, Arms},
        noise::Noise,
        privacy::Accountant,
    };

    use super::*;
    use crate::FastNoise;

    /// By mpmath, with sensitivities from a search over pairs of people.
    const VECTORS: &str = include_str!("../../../../../vectors/published_local.csv");

    /// All of them, in the order of the table.
    const ALL: [PublishedMechanism; 7] = [
        PublishedMechanism::OnlineUcb,
        PublishedMechanism::OnlineUcbUnitRewards,
        PublishedMechanism::Zheng,
        PublishedMechanism::PublicLdp,
        PublishedMechanism::PublicJoint,
        PublishedMechanism::PublicAmplified,
        PublishedMechanism::PublicVectorSum,
    ];

    impl PublishedLocal {
        /// The setting in which the claims were made: delta = 0.1, d = 5, 20 000 rounds, batches of 20, that code's arms.
        fn of_experiment(mechanism: PublishedMechanism) -> Self {
            let own = !matches!(
                mechanism,
                PublishedMechanism::OnlineUcb
                    | PublishedMechanism::OnlineUcbUnitRewards
                    | PublishedMechanism::Zheng
            );
            PublishedLocal {
                mechanism,
                delta: 0.1,
                dimension: 5,
                horizon: 20_000,
                batch: 20,
                feature_bound: if own { std::f64::consts::SQRT_2 } else { 1.0 },
            }
        }

        /// The delta that really holds at the claimed epsilon.
        fn exact_delta(&self, epsilon: f64) -> Result<f64> {
            Accountant::price(&self.event(epsilon)?)?.delta(epsilon)
        }
    }

    #[test]
    fn the_table_what_the_mechanisms_really_give() {
        let mut lines = VECTORS.lines().filter(|line| !line.starts_with('#'));
        for mechanism in ALL {
            let name = serde_json::to_value(mechanism).unwrap();
            for epsilon in [0.2, 1.0, 10.0] {
                let fields: Vec<&str> = lines.next().unwrap().split(',').collect();
                assert_eq!(fields[0], name.as_str().unwrap());
                assert_eq!(fields[1].parse(), Ok(epsilon));
                let expected: f64 = fields[2].parse().unwrap();
                let delta = PublishedLocal::of_experiment(mechanism).exact_delta(epsilon).unwrap();
                assert!(
                    (delta / expected - 1.0).abs() < 1e-9,
                    "{mechanism:?} at {epsilon}: {delta} against {expected}"
                );
            }
        }
        assert_eq!(lines.next(), None);
    }

    /// Each doubling of the horizon adds a level, and so a release of every person's data.
    #[test]
    fn the_tree_grows_with_the_horizon() {
        let published = PublishedLocal::of_experiment(PublishedMechanism::PublicJoint);
        for (horizon, levels) in [(1, 1), (2, 2), (3, 2), (20_000, 15), (1 << 20, 21)] {
            assert_eq!(PublishedLocal { horizon, ..published }.tree_levels(), levels, "{horizon}");
        }
        // Over a million rounds, by mpmath.
        let mut lines = VECTORS.lines().filter_map(|line| line.strip_prefix("# million rounds: "));
        let long = PublishedLocal { horizon: 1_000_000, ..published };
        assert_eq!(long.tree_levels(), 20);
        for epsilon in [0.2, 1.0, 10.0] {
            let expected: f64 = lines.next().unwrap().rsplit(',').next().unwrap().parse().unwrap();
            let delta = long.exact_delta(epsilon).unwrap();
            assert!((delta / expected - 1.0).abs() < 1e-9, "{epsilon}: {delta} {expected}");
        }
        assert_eq!(lines.next(), None);
    }

    #[test]
    fn at_a_small_delta_the_joint_sensitivity_still_breaks_the_claim() {
        let published = PublishedLocal {
            delta: 1e-5,
            ..PublishedLocal::of_experiment(PublishedMechanism::OnlineUcb)
        };
        assert!((published.exact_delta(1.0).unwrap() / 3.7e-5 - 1.0).abs() < 0.02);
        assert!((published.exact_delta(10.0).unwrap() / 1.3e-2 - 1.0).abs() < 0.05);
        // Had x and y been counted as two people's, sensitivity 2, the claim at epsilon = 1 would seem to hold.
        let sigma = published.noise(1.0).unwrap();
        let apart = Event::Gaussian { sensitivity: 2.0, sigma };
        assert!(Accountant::price(&apart).unwrap().delta(1.0).unwrap() < 1e-5);
    }

    #[test]
    fn published_noise_is_shown_with_what_it_gives() {
        let published = PublishedLocal {
            feature_bound: 1.0,
            dimension: 2,
            ..PublishedLocal::of_experiment(PublishedMechanism::PublicLdp)
        };
        let bounds = Bounds { rewards: (0.0, 1.0), ..Bounds::unit(2) };
        let plan = published.local_params(bounds, 1.0).unwrap().check().unwrap();
        let guarantee = plan.guarantee(0).unwrap();
        let claim = guarantee.claimed().unwrap();
        // The whole unit ball: sensitivity sqrt 4.5 in units of the noise; delta(1, 1.18237) by mpmath.
        assert!((claim.true_delta - 0.194_658).abs() < 1e-5, "{}", claim.true_delta);
        assert!(!claim.holds());
        let (mut server, mut noise) = (plan.server(), FastNoise::seeded(16));
        for _ in 0..100 {
            let model = server.publish().unwrap();
            let mut person = plan.person(0, FastNoise::seeded(noise.bits())).unwrap();
            let arms = Arms::from_rows(2, &[[1.0, 0.0], [0.0, 1.0]]).unwrap();
            let arm = person.choose(&model, &arms).unwrap();
            let report = person.report(&model, &arms.arm(arm), [0.1, 0.7][arm]).unwrap();
            assert_eq!(server.absorb(&report).unwrap(), Absorbed::Counted);
        }
    }

    #[test]
    fn the_published_constants_do_not_give_what_they_claim() {
        let published = PublishedLocal {
            feature_bound: 1.0,
            ..PublishedLocal::of_experiment(PublishedMechanism::PublicAmplified)
        };
        let bounds = Bounds { rewards: (0.0, 1.0), ..Bounds::unit(5) };
        for (epsilon, holds) in [(0.2, true), (10.0, false)] {
            let plan = published.shuffle_params(bounds, epsilon).unwrap().check().unwrap();
            let guarantee = plan.guarantee().unwrap();
            assert_eq!(guarantee.claimed().unwrap().holds(), holds, "{guarantee}");
        }
        let local = PublishedLocal::of_experiment(PublishedMechanism::PublicLdp);
        assert!(local.shuffle_params(bounds, 1.0).is_err());
    }

    #[test]
    fn bad_numbers_are_refused() {
        let good = PublishedLocal::of_experiment(PublishedMechanism::PublicLdp);
        for bad in [
            PublishedLocal { delta: 0.0, ..good },
            PublishedLocal { horizon: 0, ..good },
            PublishedLocal { batch: 0, ..good },
            PublishedLocal { dimension: 0, ..good },
            PublishedLocal { feature_bound: f64::NAN, ..good },
        ] {
            assert!(bad.noise(1.0).is_err(), "{bad:?}");
        }
        assert!(good.exact_delta(-1.0).is_err());
        let vector = PublishedLocal::of_experiment(PublishedMechanism::PublicVectorSum);
        assert!(vector.method().is_err());
        let joint = PublishedLocal::of_experiment(PublishedMechanism::PublicJoint);
        assert!(joint.method().is_err());
    }
}
