//! The constants of Ene, Nguyen and Vladu (paper 4), as printed, and those of the methods that it is compared with.
//!
//! ```text
//! T_round = T_batch = T^(1/2),   zeta = D n^(1/2) / T^(1/4),   eta = D / (T^(3/4) n^(1/2) L)          (Algorithm 1)
//! Laplace:   lambda = T^(1/2) n L ln T / epsilon                                                       (Lemma 5.1)
//! Gaussian:  sigma = T^(1/4) n^(1/2) L ln T ln(T/delta) (l + sqrt((1 + T^(1/2)/n) l)) / epsilon,
//!            l = ln((n + T)/delta)                                                                     (Lemma 5.4)
//! ```
//!
//! **What they give.** Lemma 5.1's own l1 bound is `T^(3/4) n L`, not the `T^(1/2) n L` that it is printed with, and
//! Lemma 5.4 drops Lemma 5.3's factor 10. Neither matters: directions are public, one loss moves one clipped
//! number, so the exact sensitivity `n L D / zeta` is far smaller than either bound, the claims hold with much
//! to spare, and nothing is learnt under so much noise.

use reticent::{
    Result,
    convex::{
        Baseline, DecisionSet, LinearOracle, Map, PrivateBanditParams, Protection, Shape, Territory,
    },
    error::{positive, probability},
    privacy::Claim,
    release::{Calibration, Mechanism},
};
use serde::{Deserialize, Serialize};

/// Everything the printed constants depend on.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PublishedBandit {
    /// T.
    horizon: f64,
    /// n, of the affine hull.
    dimension: f64,
    /// L.
    lipschitz: f64,
    /// D.
    diameter: f64,
}

impl PublishedBandit {
    /// Refuses numbers the formulas have no meaning for.
    pub fn new(horizon: u64, dimension: usize, lipschitz: f64, diameter: f64) -> Result<Self> {
        Ok(PublishedBandit {
            horizon: positive("horizon", horizon as f64)?,
            dimension: positive("dimension", dimension as f64)?,
            lipschitz: positive("lipschitz", lipschitz)?,
            diameter: positive("diameter", diameter)?,
        })
    }

    /// The constants over a set of this shape.
    pub fn of(shape: &Shape, lipschitz: f64, horizon: u64) -> Result<Self> {
        PublishedBandit::new(horizon, shape.hull().dimension(), lipschitz, shape.diameter())
    }

    /// T, n, L and D.
    pub(super) fn parts(&self) -> (f64, f64, f64, f64) {
        (self.horizon, self.dimension, self.lipschitz, self.diameter)
    }

    /// T_batch.
    pub fn batch(&self) -> u64 {
        (self.horizon / self.horizon.sqrt().floor()) as u64
    }

    /// zeta.
    pub fn smoothing(&self) -> f64 {
        self.diameter * self.dimension.sqrt() / self.horizon.powf(0.25)
    }

    /// eta.
    pub fn step(&self) -> f64 {
        self.diameter / (self.horizon.powf(0.75) * self.dimension.sqrt() * self.lipschitz)
    }

    /// lambda, the scale of a node's Laplace noise.
    pub fn laplace_scale(&self, epsilon: f64) -> f64 {
        self.horizon.sqrt() * self.dimension * self.lipschitz * self.horizon.ln() / epsilon
    }

    /// sigma, the deviation of a node's Gaussian noise.
    pub fn gaussian_deviation(&self, epsilon: f64, delta: f64) -> f64 {
        let (t, n) = (self.horizon, self.dimension);
        let log = ((n + t) / delta).ln();
        t.powf(0.25) * n.sqrt() * self.lipschitz * t.ln() * (t / delta).ln() / epsilon
            * (log + ((1.0 + t.sqrt() / n) * log).sqrt())
    }

    /// `ceil(log2 T_round)`: noises in every prefix, dummies included (Algorithm 4).
    pub fn padding(&self) -> u32 {
        ((self.horizon / self.batch() as f64).floor() as u64).next_power_of_two().ilog2()
    }
}

/// Algorithm 1 as printed but for the sign of line 14: its batches, smoothing and step, losses defined around the set, no baseline,
/// stale sums, conditional gradient; with exact noise. [`with_printed_noise`] has the printed one.
pub fn algorithm_1<O: LinearOracle>(
    set: &DecisionSet<O>,
    lipschitz: f64,
    horizon: u64,
    protection: Protection,
) -> Result<PrivateBanditParams> {
    let paper = PublishedBandit::of(set.shape(), lipschitz, horizon)?;
    Ok(PrivateBanditParams {
        territory: Territory::Around,
        antithetic: false,
        baseline: Baseline::Zero,
        stale: true,
        map: Map::ConditionalGradient,
        batch: Some(paper.batch()),
        smoothing: Some(paper.smoothing()),
        step: Some(paper.step()),
        ..PrivateBanditParams::new(lipschitz, horizon, protection)
    })
}

/// The same with the printed noise of a curator in a tree, its dummies, and its claim. Without a curator there is none.
pub fn with_printed_noise(
    params: PrivateBanditParams,
    shape: &Shape,
) -> Result<PrivateBanditParams> {
    let paper = PublishedBandit::of(shape, params.lipschitz, params.horizon)?;
    let stated_delta = params.stated_delta();
    let (protection, calibration, claim) = match params.protection {
        Protection::None | Protection::Local { .. } => return Ok(params),
        Protection::Central { epsilon, delta, .. } => {
            let sigma = paper
                .gaussian_deviation(positive("epsilon", epsilon)?, probability("delta", delta)?);
            let mechanism = Mechanism::Tree { levels: None };
            let protection = Protection::Central { epsilon, delta, mechanism };
            let source = "Ene, Nguyen and Vladu, Lemma 5.4";
            (protection, Calibration::Sigma(sigma), Claim::new(epsilon, stated_delta, source))
        }
        Protection::CentralPure { epsilon } => {
            let scale = paper.laplace_scale(positive("epsilon", epsilon)?);
            let source = "Ene, Nguyen and Vladu, Lemma 5.1";
            let claim = Claim::new(epsilon, stated_delta, source);
            (params.protection, Calibration::Scale(scale), claim)
        }
    };
    Ok(PrivateBanditParams {
        protection,
        calibration: Some(calibration),
        padding: Some(paper.padding()),
        claim: Some(claim),
        ..params
    })
}

/// Garber and Kretzu (AISTATS 2020): blocks of root T, conditional gradient to a gap during the next block, no privacy; the smoothing kept
/// inside the set.
pub fn garber_kretzu<O: LinearOracle>(
    set: &DecisionSet<O>,
    lipschitz: f64,
    horizon: u64,
) -> Result<PrivateBanditParams> {
    let printed = algorithm_1(set, lipschitz, horizon, Protection::None)?;
    let within = 0.5 * set.shape().inradius();
    Ok(PrivateBanditParams {
        territory: Territory::Inside,
        smoothing: printed.smoothing.map(|zeta| zeta.min(within)),
        step: None,
        ..printed
    })
}

/// Smith and Thakurta (NIPS 2013): a private sum after every round and an exact projection, where the set has one; their tree, exactly
/// calibrated.
pub fn smith_thakurta(lipschitz: f64, horizon: u64, protection: Protection) -> PrivateBanditParams {
    let tree = Mechanism::Tree { levels: None };
    PrivateBanditParams {
        protection: match protection {
            Protection::Central { epsilon, delta, .. } => {
                Protection::Central { epsilon, delta, mechanism: tree }
            }
            other => other,
        },
        antithetic: false,
        baseline: Baseline::Zero,
        map: Map::Projection,
        batch: Some(1),
        ..PrivateBanditParams::new(lipschitz, horizon, protection)
    }
}

#[cfg(test)]
mod tests {
    use reticent::{
        convex::{
            PrivateBandit,
            oracle::{Birkhoff, L1Ball},
        },
        noise::Noise,
    };

    use super::*;
    use crate::FastNoise;

    fn start<O: LinearOracle>(
        params: &PrivateBanditParams,
        set: DecisionSet<O>,
    ) -> PrivateBandit<O, FastNoise> {
        params.check(set).unwrap().start(FastNoise::seeded(7)).unwrap()
    }

    /// Mean distance from a point of the first axis, over that of the centre.
    fn relative<O: LinearOracle, N: Noise>(bandit: &mut PrivateBandit<O, N>) -> f64 {
        let loss = |x: &[f64]| {
            let away = |(i, x): (usize, &f64)| (x - if i == 0 { 0.8 } else { 0.0 }).powi(2);
            x.iter().enumerate().map(away).sum::<f64>().sqrt()
        };
        let (centre, horizon) = (loss(bandit.set().shape().centre()), bandit.params().horizon);
        let mut total = 0.0;
        for _ in 0..horizon {
            let decision = bandit.decide().unwrap();
            let value = loss(&decision.point);
            total += value;
            bandit.observe(decision.ticket, value).unwrap();
        }
        total / (horizon as f64 * centre)
    }

    #[test]
    fn the_papers_noise_teaches_nothing_and_its_claims_hold_with_room_to_spare() {
        let set = || L1Ball::set(5, 1.0).unwrap();
        for protection in [Protection::CentralPure { epsilon: 1.0 }, Protection::central(1.0, 1e-6)]
        {
            let exact = algorithm_1(&set(), 1.0, 30_000, protection).unwrap();
            let printed = with_printed_noise(exact.clone(), set().shape()).unwrap();
            let mut paper = start(&printed, set());
            assert!(relative(&mut paper) > 1.1);
            let guarantee = paper.guarantee().unwrap();
            assert!(guarantee.claimed().is_some());
            assert!(guarantee.claimed().unwrap().holds() && guarantee.epsilon() < 0.1);
            assert!(relative(&mut start(&exact, set())) < 0.95);
        }
        let public = algorithm_1(&set(), 1.0, 1000, Protection::None).unwrap();
        assert_eq!(with_printed_noise(public.clone(), set().shape()).unwrap(), public);
        let bad = PrivateBanditParams { protection: Protection::central(1.0, 2.0), ..public };
        assert!(with_printed_noise(bad, set().shape()).is_err());
    }

    #[test]
    fn the_baselines_run_where_their_sets_allow() {
        let set = || L1Ball::set(4, 1.0).unwrap();
        let garber = garber_kretzu(&set(), 1.0, 20_000).unwrap();
        assert!(relative(&mut start(&garber, set())) < 0.9);
        let smith = smith_thakurta(1.0, 20_000, Protection::central(1.0, 1e-6));
        let mut bandit = start(&smith, set());
        assert!(relative(&mut bandit) < 1.0);
        assert_eq!((bandit.releases(), bandit.counts().map.oracle_calls), (20_000, 0));
        assert!(smith.check(Birkhoff::set(3).unwrap()).is_err(), "no projection");
    }

    #[test]
    fn the_constants_are_those_of_algorithm_1_and_its_lemmas() {
        let paper = PublishedBandit::new(1_000_000, 20, 1.0, 2.0).unwrap();
        assert_eq!((paper.batch(), paper.padding()), (1000, 10));
        assert!((paper.smoothing() - 0.282_842_712).abs() < 1e-8);
        assert!((paper.step() - 2.0 / (31_622.776_6 * 4.472_135_95)).abs() < 1e-12);
        assert!((paper.laplace_scale(1.0) - 1000.0 * 20.0 * 13.815_510_56).abs() < 1e-2);
        // 31.62 * 4.472 * 13.8155 * ln(1e12) * (l + sqrt(51 l)), l = ln(1.00002e12).
        let l = 1.000_02e12_f64.ln();
        let expected =
            31.622_776_6 * 4.472_135_95 * 13.815_510_56 * 27.631_021_1 * (l + (51.0 * l).sqrt());
        assert!((paper.gaussian_deviation(1.0, 1e-6) / expected - 1.0).abs() < 1e-6);
        assert!(PublishedBandit::new(0, 2, 1.0, 1.0).is_err());
        assert!(PublishedBandit::new(9, 2, f64::NAN, 1.0).is_err());
    }
}
