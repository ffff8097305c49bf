//! Privacy amplification by shuffling, for any pure-DP local randomiser.
//!
//! One person's input is replaced; `n - 1` others report through the same `epsilon_0`-DP local randomiser and
//! only the shuffled batch is seen. Each other report is, with probability `clone`, a fair coin between what the
//! person says on one input and on the other. With `C ~ Bin(n-1, clone)`, `A ~ Bin(C, 1/2)`, `D ~ Bern(a)` and
//! `a = e^epsilon_0/(e^epsilon_0 + 1)`, the batch is a post-processing of the pair
//!
//! ```text
//! P = (A + D, C - A + 1 - D)      Q = (A + 1 - D, C - A + D).
//! ```
//!
//! Proof. Let `R0`, `R1` be the output laws on the two inputs. Because `e^-epsilon_0 R1 <= R0 <= e^epsilon_0 R1`,
//! there are laws `Q0`, `Q1` with `R0 = a Q0 + (1-a) Q1` and `R1 = (1-a) Q0 + a Q1`. Another person's law satisfies
//! `R >= e^-epsilon_0 max(R0, R1) >= (e^-epsilon_0/2)(R0 + R1) = (e^-epsilon_0/2)(Q0 + Q1)`: it is a mixture that
//! with probability `clone = e^-epsilon_0` is a fair coin between `Q0` and `Q1`. Telling who is no clone, and only
//! the counts of `Q0` and `Q1` among the rest, gives the pair. For binary randomised response `Q0`, `Q1` are the
//! two answers, and the fair coin has probability `2/(e^epsilon_0 + 1)`. (Taking that value for every randomiser,
//! as Feldman, McMillan and Talwar did in 2023, is withdrawn by their erratum.)
//!
//! Given `N = C + 1`, the likelihood ratio of `k` first answers is monotone in `k`, so with `tau` the least `k` where it
//! exceeds `e^epsilon`
//!
//! ```text
//! delta_C = (a - e^epsilon (1-a)) P(A = tau-1) - (e^epsilon - 1) P(A >= tau),   delta = E[delta_C].
//! ```
//!
//! `delta_C` does not increase with `C` (one more clone is a post-processing), so groups of `C` are charged at their
//! least member, and the lower tail at `C = 0`.
//!
//! Guarantee: an upper bound, exact for the pair above up to grouping (well below 1 % of delta); never above `epsilon_0`.
//!
//! References: Feldman, McMillan and Talwar, "Hiding among the clones", FOCS 2021, Theorem 3.1; for binary
//! randomised response also "Stronger privacy amplification by shuffling", SODA 2023, arXiv 2208.04591 with erratum.

use crate::{
    Error, Result,
    error::{not_negative, probability},
    special::{integrate, ln_gamma},
};

/// Most groups of clone counts; a group is charged at its least count.
const GROUPS: usize = 512;
/// Clone counts less likely than this against the likeliest one are left to the neighbouring groups.
const NEGLIGIBLE: f64 = 1e-22;
/// More people than this are treated as this many: fewer clones cost more, never less.
const MOST_PEOPLE: u64 = 1 << 36;
/// Relative error granted to the binomial probabilities, charged upwards.
const SLACK: f64 = 1e-12;

/// Least `delta` with which a shuffled batch of `people` reports is `(epsilon, delta)`-DP.
///
/// `binary` says that the local randomiser is binary randomised response.
///
/// ```
/// let alone = reticent::privacy::shuffle::delta(1.0, 1, 0.0, false)?;
/// assert!((alone - 0.5f64.tanh()).abs() < 1e-9); // no crowd, no amplification
/// # Ok::<(), reticent::Error>(())
/// ```
pub fn delta(epsilon_local: f64, people: u64, epsilon: f64, binary: bool) -> Result<f64> {
    let crowd = Crowd::new(epsilon_local, people, binary, GROUPS)?;
    Ok(crowd.delta(not_negative("epsilon", epsilon)?))
}

/// Least `epsilon` with which a shuffled batch of `people` reports is `(epsilon, delta)`-DP.
///
/// ```
/// let epsilon = reticent::privacy::shuffle::epsilon(1.0, 100_000, 1e-6, false)?;
/// assert!(epsilon < 0.05);
/// # Ok::<(), reticent::Error>(())
/// ```
pub fn epsilon(epsilon_local: f64, people: u64, delta: f64, binary: bool) -> Result<f64> {
    probability("delta", delta)?;
    let crowd = Crowd::new(epsilon_local, people, binary, GROUPS)?;
    if crowd.delta(0.0) <= delta {
        return Ok(0.0);
    }
    // The invariant delta(high) <= delta holds from the start: at epsilon_local delta is 0.
    let (mut low, mut high) = (0.0, epsilon_local);
    while high - low > 1e-7 * high {
        // Amplified values lie far below the local one, so the first steps are taken on a logarithmic scale.
        let middle = if low > 0.0 { 0.5 * (low + high) } else { high / 16.0 };
        if crowd.delta(middle) <= delta {
            high = middle
        } else {
            low = middle
        }
        if high < 1e-12 * epsilon_local {
            break;
        }
    }
    Ok(high)
}

/// The closed form of Feldman, McMillan and Talwar (2021), Theorem 3.1; `None` outside its range
/// `epsilon_local <= ln(people / (16 ln(2/delta)))`. [`epsilon`] is never worse.
pub fn closed_form(epsilon_local: f64, people: u64, delta: f64) -> Option<f64> {
    let n = people as f64;
    let valid = epsilon_local >= 0.0
        && delta > 0.0
        && delta < 1.0
        && epsilon_local <= (n / (16.0 * (2.0 / delta).ln())).ln();
    valid.then(|| {
        let e = epsilon_local.exp();
        let crowd = 8.0 * (e * (4.0 / delta).ln() / n).sqrt() + 8.0 * e / n;
        ((0.5 * epsilon_local).tanh() * crowd).ln_1p()
    })
}

/// The law of the clone count, in groups, for one local level.
pub(super) struct Crowd {
    epsilon_local: f64,
    /// (least clone count of the group, probability of the group).
    pub(super) groups: Vec<(u64, f64)>,
    /// Probability of fewer clones than any group has: charged as none at all.
    pub(super) rest: f64,
}

impl Crowd {
    pub(super) fn new(
        epsilon_local: f64,
        people: u64,
        binary: bool,
        most_groups: usize,
    ) -> Result<Self> {
        not_negative("epsilon_local", epsilon_local)?;
        if people == 0 {
            return Err(Error::invalid("people", people, "give a whole number, 1 or above"));
        }
        let lie = (-epsilon_local).exp();
        let clone = if binary { 2.0 * lie / (1.0 + lie) } else { lie };
        let others = people.min(MOST_PEOPLE) - 1;
        let (groups, rest) = group_binomial(others, clone, most_groups);
        Ok(Self { epsilon_local, groups, rest })
    }

    fn delta(&self, epsilon: f64) -> f64 {
        if epsilon >= self.epsilon_local {
            return 0.0;
        }
        let curve = Curve::new(self.epsilon_local, epsilon);
        let sum: f64 =
            self.groups.iter().map(|&(clones, weight)| weight * curve.delta(clones)).sum();
        (sum + self.rest * curve.alone).min(curve.alone)
    }
}

/// The hockey stick at one `epsilon` as a function of the number of clones.
struct Curve {
    /// `a - e^epsilon (1 - a)`, what a person without clones pays.
    alone: f64,
    /// `e^epsilon - 1`.
    growth: f64,
    /// `tanh(epsilon/2) / tanh(epsilon_local/2)`: the ratio exceeds `e^epsilon` where `2k - N > N * lead`.
    lead: f64,
}

impl Curve {
    fn new(epsilon_local: f64, epsilon: f64) -> Self {
        let truth = 1.0 / (1.0 + (-epsilon_local).exp());
        Self {
            // a - e^eps (1-a) = a (1 - e^(eps - eps0)), which does not cancel.
            alone: -truth * (epsilon - epsilon_local).exp_m1(),
            growth: epsilon.exp_m1(),
            lead: (0.5 * epsilon).tanh() / (0.5 * epsilon_local).tanh(),
        }
    }

    fn delta(&self, clones: u64) -> f64 {
        let total = clones as f64 + 1.0;
        let tau = (0.5 * (total + total * self.lead)).floor() as u64 + 1;
        if tau > clones + 1 {
            return 0.0;
        }
        let gain = self.alone * fair_binomial(clones, tau - 1) * (1.0 + SLACK);
        let loss = self.growth * fair_binomial_tail(clones, tau) * (1.0 - SLACK);
        (gain - loss).max(0.0)
    }
}

/// `Bin(trials, chance)` in groups (least count, probability), and the probability below them.
///
/// Terms come from ratios of neighbours outwards from the mode. Dividing by the sum of the kept ones makes every
/// probability a little too large, which pays for the upper tail: there `delta_C` is smallest.
fn group_binomial(trials: u64, chance: f64, most_groups: usize) -> (Vec<(u64, f64)>, f64) {
    if chance >= 1.0 || trials == 0 {
        return (vec![(trials, 1.0)], 0.0);
    }
    let (n, odds) = (trials as f64, chance / (1.0 - chance));
    let mode = (((n + 1.0) * chance) as u64).min(trials);
    let (mut below, mut term) = (Vec::new(), 1.0);
    for count in (1..=mode).rev().map(|count| count as f64) {
        term *= count / ((n - count + 1.0) * odds);
        if term < NEGLIGIBLE {
            break;
        }
        below.push(term);
    }
    let lowest = mode - below.len() as u64;
    let mut terms: Vec<f64> = below.into_iter().rev().collect();
    term = 1.0;
    for count in (mode..=trials).map(|count| count as f64) {
        terms.push(term);
        term *= (n - count) / (count + 1.0) * odds;
        if term < NEGLIGIBLE {
            break;
        }
    }
    let total: f64 = terms.iter().sum();
    let up = (1.0 + 1e-15 + 8.0 * f64::EPSILON * terms.len() as f64) / total;
    let width = terms.len().div_ceil(most_groups).max(1);
    let groups = (lowest..)
        .step_by(width)
        .zip(terms.chunks(width))
        .map(|(least, chunk)| (least, chunk.iter().sum::<f64>() * up))
        .collect();
    // What lies below is at most a geometric series with the first ratio left out.
    let first = lowest as f64;
    let ratio = first / ((n - first + 1.0) * odds);
    let rest = if lowest > 0 { NEGLIGIBLE / (1.0 - ratio) * up } else { 0.0 };
    (groups, rest)
}

/// `P(Bin(trials, 1/2) = successes)` by Stirling's series and the deviance, accurate for any size
/// (Loader 2000: a difference of log-gammas would lose ten digits at a billion trials).
pub(super) fn fair_binomial(trials: u64, successes: u64) -> f64 {
    let (n, k) = (trials as f64, successes as f64);
    if successes == 0 || successes == trials {
        return (-n * std::f64::consts::LN_2).exp();
    }
    let lean = (2.0 * k - n) / n;
    let deviance = 0.5 * n * ((-lean * lean).ln_1p() + 2.0 * lean * lean.atanh());
    let correction = stirling_error(n) - stirling_error(k) - stirling_error(n - k);
    (correction - deviance).exp() * (n / (std::f64::consts::TAU * k * (n - k))).sqrt()
}

/// `ln n! - ln(sqrt(2 pi n) (n/e)^n)`.
fn stirling_error(n: f64) -> f64 {
    if n < 16.0 {
        return ln_gamma(n + 1.0) - 0.5 * (std::f64::consts::TAU * n).ln() - n * (n.ln() - 1.0);
    }
    let s = 1.0 / (n * n);
    (1.0 / 12.0 - s * (1.0 / 360.0 - s * (1.0 / 1260.0 - s * (1.0 / 1680.0 - s / 1188.0)))) / n
}

/// `P(Bin(trials, 1/2) >= from)` for `from > trials/2`: the incomplete beta integral
/// `from P(A = from) int_0^1 (1-v)^(from-1) (1+v)^(trials-from) dv`, whose integrand falls like
/// `exp(-lead v - (trials-1) v^2/2)` and is smooth on that scale, however many trials there are.
fn fair_binomial_tail(trials: u64, from: u64) -> f64 {
    const FALL: f64 = 42.0;
    const PANELS: u32 = 5;
    if from > trials {
        return 0.0;
    }
    let (n, k) = (trials as f64, from as f64);
    let (lead, spread) = ((2.0 * k - 1.0 - n).max(0.0), 0.5 * (n - 1.0));
    let exponent = |v: f64| {
        let square = if spread > 0.0 { spread * (-v * v).ln_1p() } else { 0.0 };
        let linear = if lead > 0.0 { lead * v.atanh() } else { 0.0 };
        square - linear
    };
    // The positive root of spread v^2 + lead v = FALL, at most 1.
    let end = (2.0 * FALL / (lead + (lead * lead + 4.0 * spread * FALL).sqrt())).min(1.0);
    let panel = end / f64::from(PANELS);
    let integral: f64 = (0..PANELS)
        .map(|i| integrate(f64::from(i) * panel, f64::from(i + 1) * panel, |v| exponent(v).exp()))
        .sum();
    k * fair_binomial(trials, from) * integral
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choose(n: u64, k: u64) -> f64 {
        (0..k).map(|i| (n - i) as f64 / (i + 1) as f64).product()
    }

    fn binomial(n: u64, chance: f64, k: u64) -> f64 {
        choose(n, k) * chance.powi(k as i32) * (1.0 - chance).powi((n - k) as i32)
    }

    fn clone_probability(epsilon_local: f64, binary: bool) -> f64 {
        if binary { 2.0 / (epsilon_local.exp() + 1.0) } else { (-epsilon_local).exp() }
    }

    /// Hockey stick of two lists of probabilities.
    fn hockey_stick(p: &[f64], q: &[f64], epsilon: f64) -> f64 {
        p.iter().zip(q).map(|(p, q)| (p - epsilon.exp() * q).max(0.0)).sum()
    }

    /// The pair of the clones, every outcome written out.
    fn pair_by_enumeration(epsilon_local: f64, people: u64, epsilon: f64, clone: f64) -> f64 {
        let truth = 1.0 / (1.0 + (-epsilon_local).exp());
        let mut delta = 0.0;
        for clones in 0..people {
            let (mut p, mut q) = (vec![0.0; clones as usize + 2], vec![0.0; clones as usize + 2]);
            for a in 0..=clones {
                let chance = binomial(clones, 0.5, a);
                let a = a as usize;
                p[a + 1] += truth * chance;
                p[a] += (1.0 - truth) * chance;
                q[a + 1] += (1.0 - truth) * chance;
                q[a] += truth * chance;
            }
            delta += binomial(people - 1, clone, clones) * hockey_stick(&p, &q, epsilon);
        }
        delta
    }

    const LOCAL: [f64; 4] = [0.1, 0.7, 2.0, 5.0];

    #[test]
    fn equals_the_enumerated_pair() {
        for epsilon_local in LOCAL {
            for (people, binary) in
                [(1, false), (2, true), (3, false), (10, true), (30, false), (30, true)]
            {
                for share in [0.0, 0.05, 0.3, 0.9] {
                    let epsilon = share * epsilon_local;
                    let clone = clone_probability(epsilon_local, binary);
                    let want = pair_by_enumeration(epsilon_local, people, epsilon, clone);
                    let got = delta(epsilon_local, people, epsilon, binary).unwrap();
                    let what =
                        format!("{epsilon_local} {people} {epsilon} {binary}: {got:e}, {want:e}");
                    assert!(
                        got >= want * (1.0 - 1e-11) && got <= want * (1.0 + 1e-6) + 1e-21,
                        "{what}"
                    );
                    // Counting the person's own report among the others' is not enough privacy.
                    let wrong = delta(epsilon_local, people + 1, epsilon, binary).unwrap();
                    assert!(wrong < want * (1.0 - 1e-6) || want < 1e-15, "{what}, {wrong:e}");
                }
            }
        }
    }

    /// Sum of independent bits with these chances.
    fn count_law(chances: impl Iterator<Item = f64>) -> Vec<f64> {
        chances.fold(vec![1.0], |law, chance| {
            let mut next = vec![0.0; law.len() + 1];
            for (count, mass) in law.iter().enumerate() {
                next[count] += mass * (1.0 - chance);
                next[count + 1] += mass * chance;
            }
            next
        })
    }

    /// Shuffled binary randomised response itself: the count of ones, whatever the others' bits are.
    fn binary_mechanism(epsilon_local: f64, people: u64, epsilon: f64) -> f64 {
        let truth = 1.0 / (1.0 + (-epsilon_local).exp());
        (0..people)
            .flat_map(|ones| {
                let others = (1..people).map(move |i| if i <= ones { truth } else { 1.0 - truth });
                let p = count_law(others.clone().chain([truth]));
                let q = count_law(others.chain([1.0 - truth]));
                [hockey_stick(&p, &q, epsilon), hockey_stick(&q, &p, epsilon)]
            })
            .fold(0.0, f64::max)
    }

    /// Shuffled randomised response among three: the histogram, whatever the other two people's answers are.
    fn ternary_mechanism(epsilon_local: f64, epsilon: f64) -> f64 {
        let truth = epsilon_local.exp() / (epsilon_local.exp() + 2.0);
        let chance =
            |truly: usize, said: usize| if truly == said { truth } else { 0.5 * (1.0 - truth) };
        let law = |inputs: [usize; 3]| {
            let mut histogram = vec![0.0; 64];
            for outputs in (0..27).map(|i| [i % 3, i / 3 % 3, i / 9]) {
                let cell: usize = outputs.iter().map(|said| [1, 4, 16][*said]).sum();
                histogram[cell.min(63)] += inputs
                    .iter()
                    .zip(outputs)
                    .map(|(truly, said)| chance(*truly, said))
                    .product::<f64>();
            }
            histogram
        };
        (0..81)
            .map(|i| (i % 3, i / 3 % 3, i / 9 % 3, i / 27))
            .map(|(a, b, x, y)| hockey_stick(&law([a, b, x]), &law([a, b, y]), epsilon))
            .fold(0.0, f64::max)
    }

    #[test]
    fn real_mechanisms_stay_below_and_too_many_clones_do_not_cover_them() {
        let (mut tightest, mut uncovered) = (0.0f64, 0);
        for epsilon_local in LOCAL {
            for share in [0.0, 0.2, 0.6] {
                let epsilon = share * epsilon_local;
                let got = delta(epsilon_local, 3, epsilon, false).unwrap();
                assert!(ternary_mechanism(epsilon_local, epsilon) <= got * (1.0 + 1e-12));
                for people in [1, 2, 5, 12] {
                    let real = binary_mechanism(epsilon_local, people, epsilon);
                    let got = delta(epsilon_local, people, epsilon, true).unwrap();
                    assert!(
                        real <= got * (1.0 + 1e-12),
                        "{epsilon_local} {people} {epsilon}: {real} {got}"
                    );
                    tightest = tightest.max(real / got);
                    let clone = (2.0 * clone_probability(epsilon_local, true)).min(1.0);
                    let wrong = pair_by_enumeration(epsilon_local, people, epsilon, clone);
                    uncovered += u32::from(real > wrong * (1.0 + 1e-9));
                }
            }
        }
        assert!(tightest > 1.0 - 1e-12, "{tightest}");
        assert!(uncovered > 5, "{uncovered}");
    }

    #[test]
    fn never_worse_than_the_closed_form_or_the_local_level() {
        for epsilon_local in [0.1, 1.0, 4.0] {
            let mut before = epsilon_local;
            for people in [1, 1000, 100_000, 1_000_000_000] {
                for delta in [1e-10, 1e-6, 1e-4] {
                    let got = epsilon(epsilon_local, people, delta, false).unwrap();
                    assert!(got <= epsilon_local);
                    assert!(
                        closed_form(epsilon_local, people, delta).is_none_or(|bound| got <= bound)
                    );
                    assert!(epsilon(epsilon_local, people, delta, true).unwrap() <= got);
                    assert!(super::delta(epsilon_local, people, got, false).unwrap() <= delta);
                }
                let now = epsilon(epsilon_local, people, 1e-6, false).unwrap();
                assert!(now <= before, "{epsilon_local} {people}: {now} after {before}");
                before = now;
            }
        }
        assert_eq!(closed_form(5.0, 1000, 1e-6), None);
    }

    #[test]
    fn grouping_costs_less_than_one_percent() {
        for (epsilon_local, people) in [(1.0, 10_000), (3.0, 100_000), (0.5, 1_000_000)] {
            let level = epsilon(epsilon_local, people, 1e-10, false).unwrap();
            let one_by_one =
                Crowd::new(epsilon_local, people, false, usize::MAX).unwrap().delta(level);
            let grouped = delta(epsilon_local, people, level, false).unwrap();
            let ratio = grouped / one_by_one;
            assert!((1.0 - 1e-9..1.01).contains(&ratio), "{epsilon_local} {people}: {ratio}");
        }
    }

    // Reference values: mpmath, 40 digits.
    #[test]
    fn binomials_of_any_size() {
        for (trials, from, mass, tail) in [
            (10, 7, 0.117_187_5, 0.171_875),
            (1000, 600, 4.633_908_074_049_733_9e-11, 1.364_232_078_033_009_2e-10),
            (1_000_000, 502_000, 2.676_568_158_124_882_2e-7, 3.180_466_875_041_244_3e-5),
            (1_000_000_000, 500_100_000, 5.200_563_146_957_047_1e-14, 1.270_074_179_877_283_4e-10),
        ] {
            let errors =
                [fair_binomial(trials, from) / mass, fair_binomial_tail(trials, from) / tail];
            assert!(
                errors.iter().all(|ratio| (ratio - 1.0).abs() < 0.1 * SLACK),
                "{trials}: {errors:?}"
            );
        }
    }

    #[test]
    fn bad_input_is_refused() {
        assert!(delta(-1.0, 10, 0.1, false).is_err());
        assert!(delta(f64::NAN, 10, 0.1, false).is_err());
        assert!(delta(1.0, 0, 0.1, false).is_err());
        assert!(epsilon(1.0, 10, 0.0, false).is_err());
        assert_eq!(epsilon(0.0, 10, 1e-6, false).unwrap(), 0.0);
        assert_eq!(closed_form(f64::NAN, 10, 1e-6), None);
        for local in [1e-300, 50.0, 1e300] {
            let got = epsilon(local, u64::MAX, 1e-6, true).unwrap();
            assert!((0.0..=local).contains(&got), "{local}: {got}");
        }
    }
}
