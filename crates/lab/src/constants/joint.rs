//! The constants of Shariff and Sheffet (2018), restored, and the parameters of core's curator that have them.
//!
//! n is the horizon, `m = ceil(log2 n + 1)` the depth of the tree, `L~^2 = L^2 + B~^2`. Logarithms are natural.

use reticent::{
    Error, Result,
    bandit::{JointParams, Regularizer, Rule},
    error::{positive, probability},
    privacy::Claim,
    randomize::Bounds,
    release::{Calibration, Mechanism, Schedule, wishart_degrees},
};
use serde::{Deserialize, Serialize};

use super::Problem;
pub use mechanism::JointMechanism;

mod mechanism;

/// Which of the publication's mechanisms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PublishedNoise {
    /// Symmetric Gaussian noise, section 4.2.
    GaussianTree,
    /// Wishart noise with the shift c of (4) taken off, section 4.1.
    Wishart,
    /// Wishart noise as it is, section 4.1.
    WishartUnshifted,
}

impl PublishedNoise {
    /// All of them, by the names that files and Python have for them.
    pub const NAMED: [(&'static str, PublishedNoise); 3] = [
        ("gaussian_tree", PublishedNoise::GaussianTree),
        ("wishart", PublishedNoise::Wishart),
        ("wishart_unshifted", PublishedNoise::WishartUnshifted),
    ];

    /// Where its privacy is claimed.
    pub fn source(self) -> &'static str {
        match self {
            PublishedNoise::GaussianTree => "Shariff and Sheffet (2018), section 4.2",
            _ => "Shariff and Sheffet (2018), section 4.1",
        }
    }
}

/// Everything the published constants depend on.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Published {
    problem: Problem,
    epsilon: f64,
    delta: f64,
    alpha: f64,
    horizon: u64,
}

impl Published {
    /// Refuses numbers the formulas have no meaning for.
    pub fn new(
        problem: Problem,
        epsilon: f64,
        delta: f64,
        alpha: f64,
        horizon: u64,
    ) -> Result<Self> {
        problem.check()?;
        positive("epsilon", epsilon)?;
        probability("delta", delta)?;
        probability("alpha", alpha)?;
        positive("horizon", horizon as f64)?;
        Ok(Published { problem, epsilon, delta, alpha, horizon })
    }

    /// m: nodes in every prefix, `ceil(log2 n + 1)`.
    pub fn levels(&self) -> u32 {
        self.horizon.saturating_sub(1).checked_ilog2().map_or(1, |floor| floor + 2)
    }

    /// Deviation of one coordinate of a prefix, the sum of m nodes, with the Gaussian noise of section 4.2.
    pub fn prefix_deviation(&self) -> f64 {
        f64::from(self.levels()).sqrt() * self.gaussian_deviation()
    }

    /// `L~^2 = L^2 + B~^2`.
    pub fn squared_bound(&self) -> f64 {
        self.problem.feature_bound().powi(2) + self.problem.reward_bound().powi(2)
    }

    /// Deviation of one node's Gaussian noise, section 4.2: `4 sqrt(m) L~^2 ln(4/delta) / epsilon`.
    pub fn gaussian_deviation(&self) -> f64 {
        4.0 * f64::from(self.levels()).sqrt() * self.squared_bound() * (4.0 / self.delta).ln()
            / self.epsilon
    }

    /// Proposition 11: `Y = sigma sqrt(2m) (4 sqrt d + 2 ln(2n/alpha))`, shift 2Y once, `[Y, 3Y]`, gamma by its definition.
    ///
    /// `deviation` is that of one node, [`Published::gaussian_deviation`] in the paper: the bounds hold for any.
    pub fn gaussian_regularizer(&self, deviation: f64) -> Regularizer {
        let (m, root_d) = (f64::from(self.levels()), self.root_dimension());
        let log = (2.0 * self.horizon as f64 / self.alpha).ln();
        let upsilon = deviation * (2.0 * m).sqrt() * (4.0 * root_d + 2.0 * log);
        Regularizer {
            shift: 2.0 * upsilon,
            minimum: upsilon,
            maximum: 3.0 * upsilon,
            vector: deviation * (m / upsilon).sqrt() * (root_d + (2.0 * log).sqrt()),
        }
    }

    /// What one node has to give, section 4: `(epsilon / sqrt(8 m ln(2/delta)), delta / (2m))`.
    pub fn node_budget(&self) -> (f64, f64) {
        let m = f64::from(self.levels());
        (self.epsilon / (8.0 * m * (2.0 / self.delta).ln()).sqrt(), self.delta / (2.0 * m))
    }

    /// Degrees of freedom of one node's Wishart noise, section 4.1: Theorem 8 at the node's budget,
    /// `d + 1 + ceil(224 m epsilon^-2 ln(8m/delta) ln(2/delta))`.
    pub fn wishart_degrees(&self) -> f64 {
        let (epsilon, delta) = self.node_budget();
        wishart_degrees(self.problem.bounds.dimension, epsilon, delta)
    }

    /// The Wishart noise of section 4.1. Refuses an alpha so small that Proposition 9 bounds nothing.
    pub fn wishart_calibration(&self) -> Result<Calibration> {
        let (_, root, q) = self.wishart_parts();
        let remedy = format_args!(
            "Proposition 9 needs sqrt(mk) = {root:.1} above sqrt d + sqrt(2 ln(8n/alpha)) = {q:.1}: give a larger alpha"
        );
        reticent::refuse_if(root <= q, "alpha", self.alpha, remedy)?;
        let (node_epsilon, node_delta) = self.node_budget();
        Ok(Calibration::Wishart { node_epsilon, node_delta })
    }

    /// Proposition 9 without the shift.
    pub fn wishart_regularizer(&self) -> Regularizer {
        let (squared, root, q) = self.wishart_parts();
        Regularizer {
            shift: 0.0,
            minimum: squared * (root - q).powi(2),
            maximum: squared * (root + q).powi(2),
            vector: squared.sqrt() * self.vector_quantile(),
        }
    }

    /// Proposition 9 with the shift c of (4) taken off.
    pub fn shifted_wishart_regularizer(&self) -> Regularizer {
        let (squared, root, q) = self.wishart_parts();
        let minimum = 4.0 * squared * root * q;
        Regularizer {
            shift: minimum - squared * (root - q).powi(2),
            minimum,
            maximum: 2.0 * minimum,
            vector: (squared * root * self.vector_quantile()).sqrt(),
        }
    }

    /// `(L~^2, sqrt(m k), q = sqrt d + sqrt(2 ln(8n/alpha)))`.
    fn wishart_parts(&self) -> (f64, f64, f64) {
        let root = (f64::from(self.levels()) * self.wishart_degrees()).sqrt();
        let log = (8.0 * self.horizon as f64 / self.alpha).ln();
        (self.squared_bound(), root, self.root_dimension() + (2.0 * log).sqrt())
    }

    /// `sqrt d + sqrt(2 ln(2n/alpha))`.
    fn vector_quantile(&self) -> f64 {
        self.root_dimension() + (2.0 * (2.0 * self.horizon as f64 / self.alpha).ln()).sqrt()
    }

    fn root_dimension(&self) -> f64 {
        (self.problem.bounds.dimension as f64).sqrt()
    }

    /// The confidence set of Proposition 4 with these bounds.
    pub fn rule(&self, regularizer: Regularizer) -> Rule {
        let (parameter_bound, reward_noise) = self.problem.in_units();
        let failure_probability = Some(self.alpha);
        Rule::Regularized { regularizer, failure_probability, parameter_bound, reward_noise }
    }

    /// Core's curator with the tree, the noise and the confidence set of the publication, a release after every round, beside its claim.
    ///
    /// ```
    /// use reticent::noise::SecureNoise;
    /// use reticent_lab::constants::{Problem, joint::{Published, PublishedNoise}};
    /// let published = Published::new(Problem::unit(2), 1.0, 1e-6, 1e-5, 100_000)?;
    /// let learner = published.params(PublishedNoise::Wishart)?.check()?.start(SecureNoise::from_system()?);
    /// let guarantee = learner.guarantee()?;
    /// assert!(guarantee.epsilon() < 1.0);
    /// assert!(guarantee.claimed().unwrap().holds());
    /// # Ok::<(), reticent::Error>(())
    /// ```
    pub fn params(&self, noise: PublishedNoise) -> Result<JointParams> {
        self.params_over(self.problem.bounds, noise)
    }

    fn params_over(&self, bounds: Bounds, noise: PublishedNoise) -> Result<JointParams> {
        let (calibration, regularizer) = match noise {
            PublishedNoise::GaussianTree => {
                let deviation = self.gaussian_deviation();
                (Calibration::Sigma(deviation), self.gaussian_regularizer(deviation))
            }
            PublishedNoise::Wishart => {
                (self.wishart_calibration()?, self.shifted_wishart_regularizer())
            }
            PublishedNoise::WishartUnshifted => {
                (self.wishart_calibration()?, self.wishart_regularizer())
            }
        };
        Ok(JointParams {
            rule: self.rule(regularizer),
            mechanism: Some(Mechanism::Tree { levels: Some(self.levels()) }),
            schedule: Schedule::EveryRound,
            split: (noise == PublishedNoise::GaussianTree).then(|| self.split()),
            calibration: Some(calibration),
            claim: Some(Claim::new(self.epsilon, self.delta, noise.source())),
            ..JointParams::new(bounds, self.epsilon, self.delta, Some(self.horizon))
        })
    }

    /// The same Gaussian noise on x y as on x x^T: that is the split (B/L)^2.
    fn split(&self) -> f64 {
        (self.problem.reward_bound() / self.problem.feature_bound()).powi(2)
    }
}

/// [`Published::params`] with alpha = 1/n.
pub fn params(
    problem: Problem,
    noise: PublishedNoise,
    epsilon: f64,
    delta: f64,
    horizon: u64,
) -> Result<JointParams> {
    let alpha = 1.0 / horizon.max(2) as f64;
    Published::new(problem, epsilon, delta, alpha, horizon)?.params(noise)
}

/// Parameters as they are given for `exact` mode, with the publication's constants in place of noise, tree and width. The rule must be
/// [`Rule::Certified`]: its S, sigma and alpha are those of the constants. What the publication says nothing about is refused.
pub fn in_place_of(exact: JointParams, noise: PublishedNoise) -> Result<JointParams> {
    let JointParams { bounds, epsilon, delta, horizon, rule, .. } = exact;
    let Some(horizon) = horizon else {
        return Err(Error::invalid("horizon", "unknown", "the published constants need one"));
    };
    let Rule::Certified { failure_probability, parameter_bound, reward_noise, .. } = rule else {
        let remedy =
            "the publication has its own confidence set: give \"certified\", with its S and sigma";
        return Err(Error::invalid("rule", rule, remedy));
    };
    if let Some(intercept) = bounds.intercept {
        let remedy = "published constants are for rewards that are not centred: leave it out";
        return Err(Error::invalid("intercept", intercept, remedy));
    }
    if let Some(every) = exact.restart_every {
        let remedy = "published constants are for one run: leave it out";
        return Err(Error::invalid("restart_every", every, remedy));
    }
    if let Some(half_life) = exact.forget {
        let remedy = "published constants are for sums that do not forget: leave it out";
        return Err(Error::invalid("forget", half_life, remedy));
    }
    if let Some(mechanism) = exact.mechanism {
        let remedy = "the publication has its own tree: leave it out";
        return Err(Error::invalid("mechanism", mechanism, remedy));
    }
    let (s, sigma) = (parameter_bound.unwrap_or(1.0), reward_noise.unwrap_or(1.0));
    let alpha = failure_probability.unwrap_or(1.0 / horizon.max(2) as f64);
    bounds.check()?;
    let problem = Problem::of(&bounds, s, sigma);
    let published = Published::new(problem, epsilon, delta, alpha, horizon)?;
    let constants = published.params_over(bounds, noise)?;
    // S and sigma as they were given, not after two divisions.
    let rule = match constants.rule {
        Rule::Regularized { regularizer, .. } => Rule::Regularized {
            regularizer,
            failure_probability: Some(alpha),
            parameter_bound: s,
            reward_noise: sigma,
        },
        other => other,
    };
    let JointParams { mechanism, split, calibration, claim, .. } = constants;
    Ok(JointParams { rule, mechanism, split, calibration, claim, ..exact })
}

#[cfg(test)]
mod wishart_tests;

#[cfg(test)]
mod tests {
    use reticent::release::{Domain, Release};

    use super::*;
    use crate::FastNoise;

    // The paper's setting: n = 5e7, d = 5, epsilon = 1, delta = 0.1, alpha = 1/n; figures of the design notes.
    fn setting() -> Published {
        Published::new(Problem::unit(5), 1.0, 0.1, 1.0 / 5e7, 50_000_000).unwrap()
    }

    #[test]
    fn the_gaussian_constants_are_those_of_the_notes() {
        let published = setting();
        assert_eq!(published.levels(), 27);
        assert!((published.gaussian_deviation() - 153.3).abs() < 0.05);
        let regularizer = published.gaussian_regularizer(published.gaussian_deviation());
        assert!((regularizer.minimum - 91546.0).abs() < 1.0, "{}", regularizer.minimum);
        assert_eq!(regularizer.shift, 2.0 * regularizer.minimum);
        // Two misreadings that are in circulation give other numbers: log2 for ln, and the shift per node.
        let log2 = 4.0 * 27f64.sqrt() * 2.0 * 40f64.log2();
        assert!((log2 - 153.3).abs() > 50.0);
        assert!(regularizer.shift * 27.0 > 1e6);
    }

    #[test]
    fn the_tree_has_the_printed_depth_and_deviation() {
        let of =
            |delta, horizon| Published::new(Problem::unit(1), 1.0, delta, 0.1, horizon).unwrap();
        let levels = |horizon| of(0.1, horizon).levels();
        assert_eq!([1, 2, 3, 50_000_000, 1 << 63, u64::MAX].map(levels), [1, 2, 3, 27, 64, 65]);
        for (rounds, large, small) in
            [(10_000, 443.0, 1824.0), (1_000_000, 620.0, 2554.0), (50_000_000, 797.0, 3284.0)]
        {
            assert!((of(0.1, rounds).prefix_deviation() - large).abs() < 0.6);
            assert!((of(1e-6, rounds).prefix_deviation() - small).abs() < 0.6);
        }
    }

    #[test]
    fn the_published_noise_is_fourteen_times_what_its_claim_needs() {
        for (delta, exact, published) in [(0.1, 0.92091, 0.0678), (1e-6, 0.23670, 0.01645)] {
            let params =
                params(Problem::unit(5), PublishedNoise::GaussianTree, 1.0, delta, 50_000_000)
                    .unwrap();
            let guarantee = params.check().unwrap().guarantee().unwrap();
            let mu = guarantee.curve().mu().unwrap();
            assert!((mu / published - 1.0).abs() < 2e-3, "{mu}");
            assert!((exact / mu - exact / published).abs() < 0.05);
            assert!(guarantee.claimed().is_some());
            assert!(guarantee.claimed().unwrap().holds());
        }
    }

    /// What users of `exact` mode give, with the constants in place of the noise.
    #[test]
    fn what_the_publication_says_nothing_about_is_refused() {
        let exact = JointParams {
            rule: Rule::CERTIFIED,
            schedule: Schedule::EveryRound,
            ..JointParams::new(Bounds::unit(3), 1.0, 1e-4, Some(2000))
        };
        for noise in [PublishedNoise::GaussianTree, PublishedNoise::Wishart] {
            let found = in_place_of(exact.clone(), noise).unwrap();
            assert_eq!(found, params(Problem::unit(3), noise, 1.0, 1e-4, 2000).unwrap());
        }
        let twice = JointParams { contributions_per_person: 2, ..exact.clone() };
        let guarantee = |params: JointParams| {
            let params = in_place_of(params, PublishedNoise::GaussianTree).unwrap();
            params.check().unwrap().guarantee().unwrap().curve().mu().unwrap()
        };
        assert!(guarantee(twice) > 1.4 * guarantee(exact.clone()), "more is paid for, not hidden");
        let shared = Bounds { intercept: Some(0.5), ..exact.bounds };
        for (field, bad) in [
            ("horizon", JointParams { horizon: None, ..exact.clone() }),
            ("rule", JointParams { rule: Rule::default(), ..exact.clone() }),
            ("intercept", JointParams { bounds: shared, ..exact.clone() }),
            ("restart_every", JointParams { restart_every: Some(100), ..exact.clone() }),
            ("forget", JointParams { forget: Some(100.0), ..exact.clone() }),
            ("mechanism", JointParams { mechanism: Some(Mechanism::Honaker), ..exact.clone() }),
            ("epsilon", JointParams { epsilon: -1.0, ..exact.clone() }),
            ("delta", JointParams { delta: 1.0, ..exact.clone() }),
        ] {
            match in_place_of(bad, PublishedNoise::GaussianTree) {
                Err(Error::Invalid { field: named, .. }) => assert_eq!(named, field),
                other => panic!("{field}: {other:?}"),
            }
        }
    }

    #[test]
    fn the_degrees_of_freedom_are_the_printed_ones() {
        let printed = 6.0 + (224.0 * 27.0 * (8.0 * 27.0 / 0.1f64).ln() * 20f64.ln()).ceil();
        assert_eq!(setting().wishart_degrees(), printed);
        // log2 for ln would be twice as many.
        assert!(printed < 0.6 * 224.0 * 27.0 * (8.0 * 27.0 / 0.1f64).log2() * 20f64.log2());
    }

    #[test]
    fn the_shift_enters_the_policy_once_and_not_per_node() {
        let published = setting();
        let regularizer = published.gaussian_regularizer(published.gaussian_deviation());
        let rule =
            published.rule(regularizer).plan(Domain::regression(5, 1.0, 1.0), None, None).unwrap();
        // A prefix of 27 nodes in which nothing was seen but u: theta = u / shift.
        let mut sums = vec![0.0; 20];
        sums[15] = 1e6;
        let domain = Domain::regression(5, 1.0, 1.0);
        let release =
            Release::simulated::<FastNoise>(domain, (1 << 26) - 1, 1, sums, vec![1.0; 20]).unwrap();
        let theta = rule.policy(&release).unwrap().theta()[0];
        assert!((theta * 2.0 * 91546.0 / 1e6 - 1.0).abs() < 1e-4, "{theta}");
        // Planted: the shift of every node.
        assert!((theta * 27.0 * 2.0 * 91546.0 / 1e6 - 1.0).abs() > 1.0);
    }

    #[test]
    fn the_shifted_wishart_is_better_conditioned_and_its_shift_is_the_papers() {
        let published = setting();
        let (plain, shifted) =
            (published.wishart_regularizer(), published.shifted_wishart_regularizer());
        // Shifting moves both ends by c; (4) chooses c such that the lower end becomes 4 L~^2 sqrt(mk) q.
        let c = -shifted.shift;
        assert!((plain.minimum - c - shifted.minimum).abs() < 1e-6 * plain.minimum);
        assert!((plain.maximum - c - shifted.maximum).abs() < 1e-6 * plain.maximum);
        assert!(shifted.maximum < plain.maximum && c > 0.0);
    }
}
