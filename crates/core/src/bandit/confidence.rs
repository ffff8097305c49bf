//! From a release to a policy: two confidence sets, each valid for all rounds at once with probability 1 - alpha.
//!
//! A release holds `G~ = G + N` and `u~ = G theta* + X^T eta + h`, where `G = sum x x^T`, eta is the rewards' noise and
//! `(N, h)` the noise that protects people. Both sets centre on `theta~ = V^-1 u~`, `V = G~ + lambda I`, so that
//!
//! ```text
//! theta~ - theta* = V^-1 (X^T eta + h - N theta* - lambda theta*).                                        (1)
//! ```
//!
//! **The paper's** (Shariff and Sheffet 2018, Proposition 4). With `H = N + lambda I`, `rho_min I <= H <= rho_max I` and
//! `||h||_{H^-1} <= gamma` for all rounds, `||theta~ - theta*||_V <= beta`,
//!
//! ```text
//! beta = sigma sqrt(2 ln(2/alpha) + ln det V - d ln rho_min) + S sqrt(rho_max) + gamma.
//! ```
//!
//! **The tight one.** Let `s_G, s_u` be the known deviations of N off the diagonal and of h at this release, `n` the
//! number of releases, `p = alpha/(4 n)`, and
//!
//! ```text
//! nu = s_G (2 sqrt d + 2 sqrt(ln 1/p))
//! R  = sqrt(s_G^2 S^2 (d + 1) + s_u^2 d) + sqrt(2 (2 s_G^2 S^2 + s_u^2) ln 1/p)
//! e  = max(0, nu + rho_0 - lambda),   kappa = 1 + e / lambda_min(V)
//! w  = sigma sqrt(kappa) sqrt(2 ln(2/alpha) + ln det(V + e I) - d ln rho_0)
//! |<theta~ - theta*, x>| <= w ||x||_{V^-1} + (R + lambda S) ||V^-1 x||_2                                  (2)
//! ```
//!
//! *Proof of (2).* N is a GOE matrix: `E ||N|| <= 2 s_G sqrt d`, and its norm is a `sqrt 2 s_G`-Lipschitz function of
//! independent standard normals, so `||N|| > nu` with probability at most p (Gaussian concentration). `N theta* - h` is
//! Gaussian with covariance `s_G^2 (S^2 I + theta* theta*^T) + s_u^2 I`: its norm has mean square at most the first root of R,
//! squared, and Lipschitz constant at most the second root's factor, so it exceeds R with probability at most p. A union over
//! n releases leaves alpha/2 (without n, the shares 1/(i (i + 1)) add up to one). On that event `V + e I >= G + rho_0 I`, and `V + e I <= kappa V`. So
//! `||X^T eta||_{V^-1} <= sqrt(kappa) ||X^T eta||_{(V + e I)^-1} <= sqrt(kappa) ||X^T eta||_{(G + rho_0 I)^-1}`, which the
//! self-normalised bound of Abbasi-Yadkori, Pal and Szepesvari (2011, Theorem 1) keeps below `w` for all rounds at once
//! with probability 1 - alpha/2, because `det(G + rho_0 I) <= det(V + e I)`. Apply Cauchy-Schwarz to (1), the first term in the
//! norm of `V^-1`, the rest in the Euclidean one. QED
//!
//! Neither event depends on lambda, so (2) holds for all lambda at once, and each release may choose the lambda with the
//! smallest bonus for an average direction.

use serde::{Deserialize, Serialize};

use super::{Policy, Problem};
use crate::{
    Error, Result,
    error::{not_negative, positive, probability},
    linalg::{Cholesky, SymmetricEigen},
    release::Release,
};

/// rho_0 of (2): the constant regulariser that the self-normalised bound is stated for.
const BASE_REGULARIZER: f64 = 1.0;
/// How many lambdas are tried at each release.
const GRID: i32 = 48;

/// Which confidence set a learner uses.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Confidence {
    /// The paper's, from bounds on a regulariser that contains the noise.
    Regularized(Regularizer),
    /// The tight one, for Gaussian noise of known deviation.
    Tight {
        /// n: how many releases there are at most; without it, release i gets the share 1/(i (i + 1)).
        releases: Option<u64>,
        /// Multiplies the bonus. Anything but 1 is not certified.
        #[serde(default = "unscaled")]
        scale: f64,
    },
}

fn unscaled() -> f64 {
    1.0
}

/// Definition 3 of Shariff and Sheffet: what holds for `H = N + shift I` and h in all rounds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Regularizer {
    /// What is added to the released matrix's diagonal; negative for a shifted Wishart.
    pub shift: f64,
    /// rho_min.
    pub minimum: f64,
    /// rho_max.
    pub maximum: f64,
    /// gamma.
    pub vector: f64,
}

impl Regularizer {
    /// A constant multiple of the identity: no noise.
    pub fn constant(rho: f64) -> Self {
        Regularizer { shift: rho, minimum: rho, maximum: rho, vector: 0.0 }
    }

    /// The same noise shifted until its lower bound is `minimum`; `||h||_{H^-1}` changes as `1/sqrt(minimum)`.
    pub fn shifted_to(self, minimum: f64) -> Self {
        let by = minimum - self.minimum;
        Regularizer {
            shift: self.shift + by,
            minimum,
            maximum: self.maximum + by,
            vector: self.vector * (self.minimum / minimum).sqrt(),
        }
    }
}

/// A confidence set with everything it depends on: turns releases into policies.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ConfidenceRule {
    problem: Problem,
    alpha: f64,
    confidence: Confidence,
}

impl ConfidenceRule {
    /// Refuses what no theorem covers.
    pub fn new(problem: Problem, alpha: f64, confidence: Confidence) -> Result<Self> {
        problem.check()?;
        probability("alpha", alpha)?;
        match confidence {
            Confidence::Regularized(Regularizer { minimum, maximum, .. }) => {
                positive("minimum", minimum)?;
                positive("maximum", maximum)?;
            }
            Confidence::Tight { releases: Some(0), .. } => {
                return Err(Error::invalid("releases", 0, "give a whole number above 0"));
            }
            Confidence::Tight { scale, .. } => {
                not_negative("scale", scale)?;
            }
        }
        Ok(ConfidenceRule { problem, alpha, confidence })
    }

    /// Refuses a rule that was read and could not have been made, or is for another dimension.
    pub(super) fn check(&self, dimension: usize) -> Result<()> {
        ConfidenceRule::new(self.problem, self.alpha, self.confidence)?;
        if self.problem.dimension == dimension {
            return Ok(());
        }
        let found = self.problem.dimension;
        Err(Error::Dimension { field: "confidence rule", expected: dimension, found })
    }

    /// The bounds on the regulariser, if this is the paper's set: what its theorems speak of.
    pub fn regularizer(&self) -> Option<&Regularizer> {
        match &self.confidence {
            Confidence::Regularized(regularizer) => Some(regularizer),
            Confidence::Tight { .. } => None,
        }
    }

    /// Whether the bonus is the theorem's, not scaled by hand.
    pub fn certified(&self) -> bool {
        !matches!(self.confidence, Confidence::Tight { scale, .. } if scale != 1.0)
    }

    /// The policy before anything is released: every direction is as uncertain as S allows.
    pub fn cold_policy(&self) -> Policy {
        let d = self.problem.dimension;
        let mut whitening = vec![0.0; d * (d + 1) / 2];
        for row in 0..d {
            whitening[row * (row + 3) / 2] = 1.0;
        }
        Policy::new(vec![0.0; d], whitening, self.problem.parameter_bound, 0.0)
    }

    /// The same rule with a share of alpha for one more release, which comes before the others.
    pub(super) fn with_one_more_release(mut self) -> Self {
        if let Confidence::Tight { releases: Some(releases), .. } = &mut self.confidence {
            *releases = releases.saturating_add(1);
        }
        self
    }

    /// The policy that a release supports, or the cold one if its numbers cannot be computed with: when this is called the release
    /// has been made, and an error would be seen by whoever sees the next one.
    pub(super) fn policy_or_cold(&self, release: &Release) -> Policy {
        match self.policy(release) {
            Ok(policy) if policy.check_parts(self.problem.dimension).is_ok() => policy,
            _ => self.cold_policy(),
        }
    }

    /// The policy that a release supports.
    pub fn policy(&self, release: &Release) -> Result<Policy> {
        let d = self.problem.dimension;
        if release.domain().dimension() != d || release.vector().len() != d {
            return Err(Error::Dimension {
                field: "release",
                expected: d,
                found: release.vector().len(),
            });
        }
        match self.confidence {
            Confidence::Regularized(regularizer) => self.regularized(release, regularizer),
            Confidence::Tight { releases, scale } => self.tight(release, releases, scale),
        }
    }

    /// Proposition 4. Where the noise broke its bounds (probability alpha at most) the shift is raised until V is
    /// positive definite, so that there is a policy to follow.
    fn regularized(&self, release: &Release, regularizer: Regularizer) -> Result<Policy> {
        let Regularizer { shift, minimum, maximum, vector } = regularizer;
        let Problem { dimension, parameter_bound, noise, .. } = self.problem;
        let mut ridge = shift;
        let factor = loop {
            match Cholesky::of(dimension, release.upper_triangle(), ridge) {
                Some(factor) => break factor,
                None => ridge += minimum,
            }
        };
        let log_terms = 2.0 * (2.0 / self.alpha).ln() + factor.ln_determinant()
            - dimension as f64 * minimum.ln();
        let beta = noise * log_terms.max(0.0).sqrt() + parameter_bound * maximum.sqrt() + vector;
        policy_of(&factor, release.vector(), beta, 0.0)
    }

    fn tight(&self, release: &Release, releases: Option<u64>, scale: f64) -> Result<Policy> {
        let d = self.problem.dimension as f64;
        let index = release.index() as f64;
        let share = releases.map_or(index * (index + 1.0), |releases| releases as f64);
        let bounds = NoiseBounds::at(release, &self.problem, self.alpha / (4.0 * share));
        let eigen = SymmetricEigen::of(self.problem.dimension, release.upper_triangle())?;
        let values = eigen.values();
        let mut best = (f64::INFINITY, 1.0, 0.0, 0.0);
        // nu bounds how negative G~ can be; lambdas are tried from a twentieth of it, or of rho_0, upwards.
        let unit = bounds.matrix.max(BASE_REGULARIZER);
        for step in 0..GRID {
            let lambda = 0.05 * unit * 1.12f64.powi(step);
            let smallest = values[0] + lambda;
            if smallest <= 1e-9 * unit {
                continue;
            }
            let (width, drift) = self.bonus(values, &bounds, lambda);
            let mean = |power: i32| {
                (values.iter().map(|g| (g + lambda).powi(-power)).sum::<f64>() / d).sqrt()
            };
            let average = width * mean(1) + drift * mean(2);
            if average < best.0 {
                best = (average, lambda, width, drift);
            }
        }
        let (_, lambda, width, drift) = best;
        match Cholesky::of(self.problem.dimension, release.upper_triangle(), lambda) {
            Some(factor) if best.0.is_finite() => {
                policy_of(&factor, release.vector(), scale * width, scale * drift)
            }
            // Noise far beyond nu, of probability alpha at most: know nothing rather than something false.
            _ => Ok(self.cold_policy()),
        }
    }

    /// (w, R + lambda S) of (2), from the eigenvalues of G~ in rising order.
    fn bonus(&self, values: &[f64], bounds: &NoiseBounds, lambda: f64) -> (f64, f64) {
        let extra = (bounds.matrix + BASE_REGULARIZER - lambda).max(0.0);
        let kappa = 1.0 + extra / (values[0] + lambda);
        let ln_determinant: f64 = values.iter().map(|g| (g + lambda + extra).ln()).sum();
        let log_terms = 2.0 * (2.0 / self.alpha).ln() + ln_determinant
            - values.len() as f64 * BASE_REGULARIZER.ln();
        let width = self.problem.noise * (kappa * log_terms.max(0.0)).sqrt();
        (width, bounds.vector + lambda * self.problem.parameter_bound)
    }
}

/// nu and R of (2).
struct NoiseBounds {
    matrix: f64,
    vector: f64,
}

impl NoiseBounds {
    fn at(release: &Release, problem: &Problem, p: f64) -> Self {
        let d = problem.dimension as f64;
        let s = problem.parameter_bound;
        let matrix = release.domain().matrix_coordinates();
        // The diagonal has sqrt 2 times the deviation off it; with d = 1 there is nothing off it.
        let s_g = release.deviations()[0] / std::f64::consts::SQRT_2;
        let s_u = release.deviations()[matrix];
        let log = -p.ln();
        let mean = (s_g * s_g * s * s * (d + 1.0) + s_u * s_u * d).sqrt();
        NoiseBounds {
            matrix: s_g * (2.0 * d.sqrt() + 2.0 * log.sqrt()),
            vector: mean + (2.0 * (2.0 * s_g * s_g * s * s + s_u * s_u) * log).sqrt(),
        }
    }
}

fn policy_of(factor: &Cholesky, vector: &[f64], width: f64, drift: f64) -> Result<Policy> {
    Ok(Policy::new(factor.solve(vector)?, factor.inverse_factor(), width, drift))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        noise::Noise,
        release::{Domain, testing::Seeded},
    };

    /// One simulated history of 400 rounds in three dimensions with noise of the given deviations on matrix and vector, and
    /// theta*.
    fn history(noise: &mut Seeded, matrix: f64, vector: f64) -> (Release, [f64; 3]) {
        let mut unit = || {
            let x = [noise.standard_normal(), noise.standard_normal(), noise.standard_normal()];
            let norm = x.iter().map(|v| v * v).sum::<f64>().sqrt();
            x.map(|v| v / norm)
        };
        let theta = unit();
        let xs: Vec<[f64; 3]> = (0..400).map(|_| unit()).collect();
        let mut sums = vec![0.0; 9];
        for x in &xs {
            let mean: f64 = x.iter().zip(&theta).map(|(a, b)| a * b).sum();
            let reward = if noise.uniform() < 0.5 * (1.0 + mean) { 1.0 } else { -1.0 };
            let mut index = 0;
            for row in 0..3 {
                for column in row..3 {
                    sums[index] += x[row] * x[column];
                    index += 1;
                }
                sums[6 + row] += x[row] * reward;
            }
        }
        let root = std::f64::consts::SQRT_2;
        let diagonal = root * matrix;
        let deviations =
            vec![diagonal, matrix, matrix, diagonal, matrix, diagonal, vector, vector, vector];
        for (sum, deviation) in sums.iter_mut().zip(&deviations) {
            *sum += deviation * noise.standard_normal();
        }
        let domain = Domain::regression(3, 1.0, 1.0);
        let release = Release::simulated::<Seeded>(domain, 400, 1, sums, deviations).unwrap();
        (release, theta)
    }

    /// In how many of `trials` histories some coordinate direction leaves its interval.
    fn violations(confidence: Confidence, matrix: f64, vector: f64) -> u64 {
        let rule = ConfidenceRule::new(Problem::unit(3), ALPHA, confidence).unwrap();
        let mut noise = Seeded(11);
        (0..TRIALS)
            .filter(|_| {
                let (release, theta) = history(&mut noise, matrix, vector);
                let policy = rule.policy(&release).unwrap();
                (0..3).any(|axis| {
                    let mut x = [0.0; 3];
                    x[axis] = 1.0;
                    let bonus = policy.bound(&x) - policy.theta()[axis];
                    (policy.theta()[axis] - theta[axis]).abs() > bonus
                })
            })
            .count() as u64
    }

    const ALPHA: f64 = 0.1;
    const TRIALS: u64 = 1500;
    /// With failure probability 0.1 or less, more than this many of 1500 have probability below 1e-6 (Hoeffding).
    const MOST: u64 = 252;

    #[test]
    fn the_tight_set_covers_and_a_shrunk_one_does_not() {
        let tight = |scale| Confidence::Tight { releases: Some(1), scale };
        for deviation in [0.0, 3.0, 30.0] {
            let missed = violations(tight(1.0), deviation, deviation);
            assert!(missed <= MOST, "{missed} at {deviation}");
        }
        assert!(violations(tight(0.1), 3.0, 3.0) > MOST);
    }

    #[test]
    fn noise_on_the_vector_alone_is_paid_for() {
        // Here R is nearly all of the bonus: without it, or with a tenth of it, most histories would be missed.
        let tight = |scale| Confidence::Tight { releases: Some(1), scale };
        let missed = violations(tight(1.0), 0.1, 200.0);
        assert!(missed <= MOST, "{missed}");
        assert!(violations(tight(0.1), 0.1, 200.0) > MOST);
    }

    #[test]
    fn the_papers_set_covers_and_one_that_forgets_the_noise_does_not() {
        // rho_min, rho_max and gamma from the same concentration bounds as the tight set uses.
        let deviation = 3.0;
        let log = (4.0 / ALPHA).ln();
        let nu = deviation * (2.0 * 3f64.sqrt() + 2.0 * log.sqrt());
        let vector = deviation * (3f64.sqrt() + (2.0 * log).sqrt()) / nu.sqrt();
        let paper = Regularizer { shift: 2.0 * nu, minimum: nu, maximum: 3.0 * nu, vector };
        let missed = violations(Confidence::Regularized(paper), deviation, deviation);
        assert!(missed <= MOST, "{missed}");
        // The same shift with beta as if H were 2 nu I exactly and S and h were nothing.
        let forgetful = Regularizer { shift: 2.0 * nu, minimum: 1e30, maximum: 1e-12, vector: 0.0 };
        assert!(violations(Confidence::Regularized(forgetful), deviation, deviation) > MOST);
    }

    /// Coverage is generous, so a term that is dropped may go unnoticed there. These numbers were computed from the formulas
    /// above by another program: d = 3, S = 1.3, sigma = 0.8, s_G = 3, s_u = 5, alpha = 0.1, seven releases, eigenvalues 40, 50, 60.
    #[test]
    fn every_term_of_the_tight_set_is_there() {
        let problem = Problem { parameter_bound: 1.3, noise: 0.8, ..Problem::unit(3) };
        let root = 3.0 * std::f64::consts::SQRT_2;
        let deviations = vec![root, 3.0, 3.0, root, 3.0, root, 5.0, 5.0, 5.0];
        let domain = Domain::regression(3, 1.0, 1.0);
        let release = Release::simulated::<Seeded>(domain, 9, 1, vec![0.0; 9], deviations).unwrap();
        let bounds = NoiseBounds::at(&release, &problem, 0.1 / 28.0);
        let close = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 1e-13, "{a} against {b}");
        close(bounds.matrix, 24.6349319104632);
        close(bounds.vector, 36.64624187098769);
        let tight = Confidence::Tight { releases: Some(7), scale: 1.0 };
        let rule = ConfidenceRule::new(problem, 0.1, tight).unwrap();
        // Below nu + rho_0 the correction e counts, above it does not.
        for (lambda, width, drift) in [
            (10.0, 3.99020550195437, 49.64624187098769),
            (40.0, 3.530753668040882, 88.6462418709877),
        ] {
            let bonus = rule.bonus(&[40.0, 50.0, 60.0], &bounds, lambda);
            close(bonus.0, width);
            close(bonus.1, drift);
        }
    }

    #[test]
    fn noise_beyond_all_bounds_gives_a_policy_that_claims_nothing() {
        let domain = Domain::regression(2, 1.0, 1.0);
        let sums = vec![-1e9, 0.0, -1e9, 1.0, 1.0];
        let release = Release::simulated::<Seeded>(domain, 9, 1, sums, vec![1.0; 5]).unwrap();
        let tight = Confidence::Tight { releases: None, scale: 1.0 };
        let rule = ConfidenceRule::new(Problem::unit(2), 0.1, tight).unwrap();
        assert_eq!(rule.policy(&release).unwrap(), rule.cold_policy());
    }

    #[test]
    fn nonsense_is_refused() {
        let new = |alpha, confidence| ConfidenceRule::new(Problem::unit(2), alpha, confidence);
        let tight = |releases, scale| Confidence::Tight { releases, scale };
        assert!(new(0.0, tight(None, 1.0)).is_err());
        assert!(new(0.1, tight(Some(0), 1.0)).is_err());
        assert!(new(0.1, tight(None, -1.0)).is_err());
        assert!(new(0.1, Confidence::Regularized(Regularizer::constant(0.0))).is_err());
        assert!(!new(0.1, tight(None, 0.5)).unwrap().certified());
    }
}
