//! The certified confidence set, valid for all releases at once with probability 1 - alpha.
//!
//! A release holds `G~ = G + N` and `u~ = G theta* + X^T eta + h`, where `G = sum x x^T`, eta is the rewards' noise and
//! `(N, h)` the noise that protects people. The set centres on `theta~ = V^-1 u~`, `V = G~ + lambda I`, so that
//!
//! ```text
//! theta~ - theta* = V^-1 (X^T eta + h - N theta* - lambda theta*).                                        (1)
//! ```
//!
//! Let `s_G, s_u` be the known deviations of N off the diagonal and of h at this release, `n` the
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
//! **Sums that forget** hold `G = sum w x x^T` and `u = sum w x y` with weights `w = g^age` of at most 1. The same set holds at each release, with
//! `alpha/n` for alpha in w: that is the weighted self-normalised bound (Russac, Vernade and Cappe, NeurIPS 2019, Theorem 1) without its rate.
//! *Proof.* At one release the weights are fixed numbers, if into which release a contribution goes does not depend on its reward. The theorem of Abbasi-Yadkori et al. for the features `w x` keeps
//! `||sum w x eta||_{(G_2 + rho_0 I)^-1}`, `G_2 = sum w^2 x x^T`, below `sigma sqrt(2 ln(2 n/alpha) + ln det(G_2 + rho_0 I) - d ln rho_0)` with
//! probability `1 - alpha/(2n)`. Because of `w <= 1`, `G_2 <= G`: the norm in the inverse of `G + rho_0 I` is no larger and the determinant
//! no smaller. The weights of another release are others, so that there is a union over releases where before all rounds were covered at once. (1)
//! and the rest stay as they are. QED. *Certified is this for a theta* that does not move*; if it moves, (1) has one more term,
//! `V^-1 sum w x x^T (theta_i - theta*)`, and nothing is claimed of it.
//!
//! **Blocks** of q parameters, K of them, nothing shared, d = K q: N is block diagonal with independent GOE blocks, and
//!
//! ```text
//! nu = s_G (2 sqrt q + 2 sqrt(ln K/p)),   R = sqrt(s_G^2 S^2 (q + 1) + s_u^2 d) + sqrt(2 (2 s_G^2 S^2 + s_u^2) ln 1/p)
//! ```
//!
//! *Proof.* `||N||` is the largest of the blocks' norms, each above nu with probability at most p/K. Block k of `N theta*` has covariance
//! `s_G^2 (|theta_k|^2 I + theta_k theta_k^T)`, so `E |N theta*|^2 = s_G^2 |theta*|^2 (q + 1)`, and no covariance exceeds
//! `2 s_G^2 S^2 + s_u^2`. The rest uses nothing of N but these two events. QED (K = 1 is the statement above. With a shared part
//! `||V^-1 x||` reaches beyond x's block, which a policy by block does not have: there the rule is refused.)
//!
//! Neither event depends on lambda, so (2) holds for all lambda at once, and each release may choose the lambda with the
//! smallest bonus for an average direction.

use super::RulePlan;
use crate::{
    Result,
    bandit::Policy,
    linalg::{Cholesky, SymmetricEigen},
    release::Release,
    special::square,
};

/// rho_0 of (2) for features of norm 1: the constant regulariser that the self-normalised bound is stated for.
const BASE_REGULARIZER: f64 = 1.0;
/// Number of lambdas tried at each release.
const GRID: i32 = 48;

impl RulePlan {
    pub(super) fn certified(
        &self,
        release: &Release,
        parameter_bound: f64,
        reward_noise: f64,
        scale: f64,
    ) -> Result<Policy> {
        let index = release.index() as f64;
        let share = self.releases.map_or(index * (index + 1.0), |releases| releases as f64);
        let releases = if self.weighted { share } else { 1.0 };
        let set = Set {
            failure_probability: self.failure_probability / releases,
            base: BASE_REGULARIZER * self.feature_bound * self.feature_bound,
            parameter_bound: parameter_bound * (self.reward_bound / self.feature_bound),
            reward_noise: reward_noise * self.reward_bound,
        };
        let bounds = set.noise_at(release, self.failure_probability / (4.0 * share));
        // Without a shared part V is block diagonal, and its eigenvalues are those of the blocks.
        let blocks: Vec<_> = (0..self.structure.blocks).map(|block| release.block(block)).collect();
        let mut values = Vec::with_capacity(release.vector().len());
        for (gram, _) in &blocks {
            values.extend_from_slice(SymmetricEigen::of(self.dimension, gram)?.values());
        }
        values.sort_by(f64::total_cmp);
        let (values, d) = (values.as_slice(), values.len() as f64);
        let mut best = (f64::INFINITY, 1.0, 0.0, 0.0);
        // nu bounds how negative G~ can be; lambdas are tried from a twentieth of it, or of rho_0, upwards.
        let unit = bounds.matrix.max(set.base);
        for step in 0..GRID {
            let lambda = 0.05 * unit * libm::pow(1.12, f64::from(step));
            let smallest = values[0] + lambda;
            if smallest <= 1e-9 * unit {
                continue;
            }
            let (width, drift) = set.bonus(values, &bounds, lambda);
            let root_mean = |term: fn(f64) -> f64| {
                (values.iter().map(|g| 1.0 / term(g + lambda)).sum::<f64>() / d).sqrt()
            };
            let average = width * root_mean(|value| value) + drift * root_mean(square);
            if average < best.0 {
                best = (average, lambda, width, drift);
            }
        }
        let (_, lambda, width, drift) = best;
        let factors = blocks.iter().map(|(gram, _)| Cholesky::of(self.dimension, gram, lambda));
        match factors.collect::<Option<Vec<_>>>() {
            Some(factors) if best.0.is_finite() => {
                let (mut theta, mut whitening) = (Vec::new(), Vec::new());
                for (factor, (_, vector)) in factors.iter().zip(&blocks) {
                    theta.extend(factor.solve(vector)?);
                    whitening.extend(factor.inverse_factor());
                }
                Ok(self.policy_of(theta, whitening, scale * width, scale * drift))
            }
            // Noise far beyond nu, of probability alpha at most: know nothing rather than something false.
            _ => Ok(self.cold_policy()),
        }
    }
}

/// Constants of (2) besides the release, in the units of the sums.
struct Set {
    /// alpha; for sums that forget, this release's share of it.
    failure_probability: f64,
    /// rho_0.
    base: f64,
    /// S.
    parameter_bound: f64,
    /// sigma.
    reward_noise: f64,
}

/// nu and R of (2).
struct NoiseBounds {
    matrix: f64,
    vector: f64,
}

impl Set {
    /// (w, R + lambda S) of (2), from the eigenvalues of G~ in rising order.
    fn bonus(&self, values: &[f64], bounds: &NoiseBounds, lambda: f64) -> (f64, f64) {
        let extra = (bounds.matrix + self.base - lambda).max(0.0);
        let kappa = 1.0 + extra / (values[0] + lambda);
        let ln_determinant: f64 = values.iter().map(|g| libm::log(g + lambda + extra)).sum();
        let log_terms = 2.0 * libm::log(2.0 / self.failure_probability) + ln_determinant
            - values.len() as f64 * libm::log(self.base);
        let width = self.reward_noise * (kappa * log_terms.max(0.0)).sqrt();
        (width, bounds.vector + lambda * self.parameter_bound)
    }

    /// nu and R, each exceeded with at most this probability.
    fn noise_at(&self, release: &Release, failure: f64) -> NoiseBounds {
        let (p, d) = (release.domain().dimension() as f64, release.vector().len() as f64);
        let s = self.parameter_bound;
        let matrix = release.domain().matrix_coordinates();
        // The diagonal has sqrt 2 times the deviation off it; with d = 1 there is nothing off it.
        let s_g = release.deviations()[0] / std::f64::consts::SQRT_2;
        let s_u = release.deviations()[matrix];
        let log = -libm::log(failure);
        let blocks = libm::log(release.domain().structure().blocks as f64);
        let mean = (s_g * s_g * s * s * (p + 1.0) + s_u * s_u * d).sqrt();
        NoiseBounds {
            matrix: s_g * (2.0 * p.sqrt() + 2.0 * (blocks + log).sqrt()),
            vector: mean + (2.0 * (2.0 * s_g * s_g * s * s + s_u * s_u) * log).sqrt(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        bandit::{Regularizer, Rule},
        noise::Noise,
        release::{Domain, testing::Seeded},
    };

    fn tight(scale: f64) -> Rule {
        Rule::Certified {
            failure_probability: Some(ALPHA),
            parameter_bound: None,
            reward_noise: None,
            scale,
        }
    }

    fn regularized(regularizer: Regularizer) -> Rule {
        Rule::Regularized {
            regularizer,
            failure_probability: Some(ALPHA),
            parameter_bound: 1.0,
            reward_noise: 1.0,
        }
    }

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

    /// The same with rewards weighted by their age, at a half-life of 40.
    fn weighted_history(noise: &mut Seeded, deviation: f64) -> (Release, [f64; 3]) {
        let kept = (-1.0_f64 / 40.0).exp2();
        let mut sums = vec![0.0; 9];
        let theta = [0.6, -0.64, 0.48];
        for _ in 0..400 {
            let x = [noise.standard_normal(), noise.standard_normal(), noise.standard_normal()];
            let norm = x.iter().map(|v| v * v).sum::<f64>().sqrt();
            let x = x.map(|v| v / norm);
            let mean: f64 = x.iter().zip(&theta).map(|(a, b)| a * b).sum();
            let reward = if noise.uniform() < 0.5 * (1.0 + mean) { 1.0 } else { -1.0 };
            let entries = (0..3).flat_map(|row| (row..3).map(move |column| x[row] * x[column]));
            let entries = entries.chain(x.map(|x| x * reward));
            sums.iter_mut().zip(entries).for_each(|(sum, entry)| *sum = kept * *sum + entry);
        }
        let diagonal = std::f64::consts::SQRT_2 * deviation;
        let deviations = [diagonal, deviation, deviation, diagonal, deviation, diagonal];
        let deviations: Vec<f64> = deviations.into_iter().chain([deviation; 3]).collect();
        for (sum, deviation) in sums.iter_mut().zip(&deviations) {
            *sum += deviation * noise.standard_normal();
        }
        let domain = Domain::regression(3, 1.0, 1.0);
        (Release::simulated::<Seeded>(domain, 400, 1, sums, deviations).unwrap(), theta)
    }

    #[test]
    fn the_set_covers_where_sums_forget_and_a_shrunk_one_does_not() {
        let missed = |scale: f64, deviation: f64| {
            let plan = tight(scale).plan(Domain::regression(3, 1.0, 1.0), None, Some(1)).unwrap();
            let mut noise = Seeded(12);
            (0..TRIALS)
                .filter(|_| {
                    let (release, theta) = weighted_history(&mut noise, deviation);
                    leaves(&plan.clone().weighted().policy(&release).unwrap(), &theta)
                })
                .count() as u64
        };
        for deviation in [0.0, 3.0] {
            assert!(missed(1.0, deviation) <= MOST, "{}", missed(1.0, deviation));
        }
        assert!(missed(0.1, 3.0) > MOST);
        // With seven releases a weighted set pays for alpha/7 where another pays for alpha.
        let (release, _) = weighted_history(&mut Seeded(1), 0.0);
        let rule = |alpha: f64| Rule::CERTIFIED.with_failure_probability(alpha);
        let width = |plan: RulePlan| plan.policy(&release).unwrap().width();
        let plan = |alpha, releases| {
            rule(alpha).plan(Domain::regression(3, 1.0, 1.0), None, Some(releases)).unwrap()
        };
        assert_eq!(width(plan(0.1, 7).weighted()), width(plan(0.1 / 7.0, 1)));
        assert!(width(plan(0.1, 7)) < width(plan(0.1, 7).weighted()));
    }

    /// Returns whether some coordinate direction leaves its interval.
    fn leaves(policy: &Policy, theta: &[f64; 3]) -> bool {
        (0..3).any(|axis| {
            let mut x = [0.0; 3];
            x[axis] = 1.0;
            let bonus = policy.bound(&x) - policy.theta()[axis];
            (policy.theta()[axis] - theta[axis]).abs() > bonus
        })
    }

    /// In how many of `trials` histories some coordinate direction leaves its interval.
    fn violations(rule: Rule, matrix: f64, vector: f64) -> u64 {
        let rule = rule.plan(Domain::regression(3, 1.0, 1.0), None, Some(1)).unwrap();
        let mut noise = Seeded(11);
        (0..TRIALS)
            .filter(|_| {
                let (release, theta) = history(&mut noise, matrix, vector);
                leaves(&rule.policy(&release).unwrap(), &theta)
            })
            .count() as u64
    }

    const ALPHA: f64 = 0.1;
    const TRIALS: u64 = 1500;
    /// With failure probability 0.1 or less, more than this many of 1500 have probability below 1e-6 (Hoeffding).
    const MOST: u64 = 252;

    #[test]
    fn the_tight_set_covers_and_a_shrunk_one_does_not() {
        for deviation in [0.0, 3.0, 30.0] {
            let missed = violations(tight(1.0), deviation, deviation);
            assert!(missed <= MOST, "{missed} at {deviation}");
        }
        assert!(violations(tight(0.1), 3.0, 3.0) > MOST);
    }

    #[test]
    fn noise_on_the_vector_alone_is_paid_for() {
        // Here R is nearly all of the bonus: without it, or with a tenth of it, most histories would be missed.
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
        let missed = violations(regularized(paper), deviation, deviation);
        assert!(missed <= MOST, "{missed}");
        // The same shift with beta as if H were 2 nu I exactly and S and h were nothing.
        let forgetful = Regularizer { shift: 2.0 * nu, minimum: 1e30, maximum: 1e-12, vector: 0.0 };
        assert!(violations(regularized(forgetful), deviation, deviation) > MOST);
    }

    /// Coverage is generous, so a term that is dropped may go unnoticed there. These numbers were computed from the formulas
    /// above by another program: d = 3, S = 1.3, sigma = 0.8, s_G = 3, s_u = 5, alpha = 0.1, seven releases, eigenvalues 40, 50, 60.
    #[test]
    fn every_term_of_the_tight_set_is_there() {
        let set = Set {
            failure_probability: 0.1,
            base: BASE_REGULARIZER,
            parameter_bound: 1.3,
            reward_noise: 0.8,
        };
        let root = 3.0 * std::f64::consts::SQRT_2;
        let deviations = vec![root, 3.0, 3.0, root, 3.0, root, 5.0, 5.0, 5.0];
        let domain = Domain::regression(3, 1.0, 1.0);
        let release = Release::simulated::<Seeded>(domain, 9, 1, vec![0.0; 9], deviations).unwrap();
        let bounds = set.noise_at(&release, 0.1 / 28.0);
        let close = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 1e-13, "{a} against {b}");
        close(bounds.matrix, 24.6349319104632);
        close(bounds.vector, 36.64624187098769);
        // Below nu + rho_0 the correction e counts, above it does not.
        for (lambda, width, drift) in [
            (10.0, 3.99020550195437, 49.64624187098769),
            (40.0, 3.530753668040882, 88.6462418709877),
        ] {
            let bonus = set.bonus(&[40.0, 50.0, 60.0], &bounds, lambda);
            close(bonus.0, width);
            close(bonus.1, drift);
        }
    }

    #[test]
    fn noise_beyond_all_bounds_gives_a_policy_that_claims_nothing() {
        let domain = Domain::regression(2, 1.0, 1.0);
        let sums = vec![-1e9, 0.0, -1e9, 1.0, 1.0];
        let release =
            Release::simulated::<Seeded>(domain.clone(), 9, 1, sums, vec![1.0; 5]).unwrap();
        let rule = tight(1.0).plan(domain, None, None).unwrap();
        assert_eq!(rule.policy(&release).unwrap(), rule.cold_policy());
    }

    /// The same people in other units: policies choose the same arms, and their bounds are the same rewards.
    #[test]
    fn units_do_not_matter() {
        let (release, _) = history(&mut Seeded(3), 2.0, 3.0);
        let (norm, reward) = (8.0, 0.25);
        let square = norm * norm;
        let scale = |values: &[f64]| -> Vec<f64> {
            let (matrix, vector) = values.split_at(6);
            let matrix = matrix.iter().map(|v| square * v);
            matrix.chain(vector.iter().map(|v| norm * reward * v)).collect()
        };
        let domain = Domain::regression(3, norm, reward);
        let scaled = Release::simulated::<Seeded>(
            domain.clone(),
            400,
            1,
            scale(release.sums()),
            scale(release.deviations()),
        )
        .unwrap();
        let shifted = Regularizer { shift: 40.0, minimum: 20.0, maximum: 60.0, vector: 3.0 };
        let larger = Regularizer {
            shift: 40.0 * square,
            minimum: 20.0 * square,
            maximum: 60.0 * square,
            vector: 3.0 * reward,
        };
        let rules = [tight(1.0), Rule::default(), Rule::FIXED, regularized(shifted)];
        for rule in rules {
            let raw = match rule {
                Rule::Regularized { .. } => regularized(larger),
                ref other => other.clone(),
            };
            let one = rule.plan(release.domain().clone(), None, Some(1)).unwrap();
            let two = raw.plan(domain.clone(), None, Some(1)).unwrap();
            let pairs = [
                (one.policy(&release).unwrap(), two.policy(&scaled).unwrap()),
                (one.cold_policy(), two.cold_policy()),
            ];
            for (one, two) in pairs {
                for x in [[0.6, 0.0, 0.8], [0.0, -1.0, 0.0], [0.1, 0.2, 0.3]] {
                    let (one, two) = (one.bound(&x), two.bound(&x.map(|x| norm * x)));
                    assert!((reward * one - two).abs() < 1e-9 * two.abs(), "{rule:?}: {one} {two}");
                }
            }
        }
    }

    #[test]
    fn nonsense_is_refused() {
        let new = |rule: Rule, releases| rule.plan(Domain::regression(2, 1.0, 1.0), None, releases);
        let alpha = |alpha| Rule::CERTIFIED.with_failure_probability(alpha);
        assert!(new(alpha(0.0), None).is_err());
        assert!(new(alpha(0.1), Some(0)).is_err());
        assert!(new(tight(-1.0), None).is_err());
        assert!(new(regularized(Regularizer::constant(0.0)), None).is_err());
        assert!(new(Rule::Tuned { ridge: -1.0, bonus: 0.2, width: 1.0 }, None).is_err());
        assert!(new(Rule::Fixed { ridge: 0.0, width: 1.0 }, None).is_err());
        assert!(!tight(0.5).is_certified() && tight(1.0).is_certified());
    }

    #[test]
    fn a_rule_is_written_as_its_name_or_with_parameters() {
        let read = |text: &str| serde_json::from_str::<Rule>(text);
        assert_eq!(read("\"tuned\"").unwrap(), Rule::default());
        assert_eq!(read("\"certified\"").unwrap(), Rule::CERTIFIED);
        let greedy = r#"{"certified": {"scale": 0.0}}"#;
        assert!(matches!(read(greedy).unwrap(), Rule::Certified { scale: 0.0, .. }));
        for rule in [Rule::default(), Rule::CERTIFIED, regularized(Regularizer::constant(2.0))] {
            assert_eq!(read(&serde_json::to_string(&rule).unwrap()).unwrap(), rule);
            let bytes = postcard::to_stdvec(&rule).unwrap();
            assert_eq!(postcard::from_bytes::<Rule>(&bytes).unwrap(), rule);
        }
        let error = read("\"tunde\"").unwrap_err().to_string();
        assert!(error.contains("tunde") && error.contains("certified"), "{error}");
        assert!(read(r#"{"tuned": {"rigde": 1.0}}"#).unwrap_err().to_string().contains("rigde"));
    }
}
