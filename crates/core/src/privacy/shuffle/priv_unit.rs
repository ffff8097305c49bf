//! The pair of a shuffled batch of PrivUnit reports.
//!
//! Densities are with respect to the uniform law on the sphere: `h = p/q` in the cap around the truth, `l = (1-p)/(1-q)` outside.
//!
//! **Blanket.** Every other person's law is `l U + (1 - l) U(cap)`: with probability l a uniform point, whatever their data. Reveal who is
//! not uniform. What remains is the person's report among `C ~ Bin(n-1, l)` uniform points, and with `N = C + 1` points `y_k` the batch has
//! the density `(1/N) sum_k p_u(y_k)` (Balle, Bell, Gascón and Nissim, CRYPTO 2019).
//!
//! **The antipodal pair is the worst.** For truths u, u' and any `g = e^epsilon > 0`
//!
//! ```text
//! delta = E_U [ (1/N) sum_k X_k ]_+,     X_k = p_u(y_k) - g p_u'(y_k), independent given N.
//! ```
//!
//! Let the difference of the two caps have probability a on each side. X takes four values: `h - g l` and `l - g h` with probability a
//! each, `h - g h` with probability q - a and `l - g l` with probability 1 - q - a. The first two have the same sum as the last two, and
//! both of these lie between them. So a larger a is a mean-preserving spread: X grows in convex order. Sums of independent variables keep that
//! order, and `[.]_+` is convex: delta does not decrease in a, for any N and any epsilon. The largest a is `min(q, 1-q)`, attained by u' = -u.
//! So this pair dominates, and dominating pairs compose. If the truth is itself drawn at random, joint convexity gives the same bound. QED
//!
//! **As clones.** For the antipodal pair a uniform point lies in one of the two differences with probability 2a, each as likely, or
//! elsewhere, where both densities are `e` (l if q <= 1/2, else h). Let T' and m' of the C points lie in the differences and
//! elsewhere. The person's report lies in the differences with probability `c = a (h + l)`. Given T = T' + 1 points there and m elsewhere,
//! it is among the former with probability
//!
//! ```text
//! lambda = T (h + l)/2 / (T (h + l)/2 + e m),
//! ```
//!
//! whichever the truth. Then k of the T points in the first difference have
//! `P, Q = b(k) (1 ± v lambda tanh(epsilon_0/2))`, `v = (2k - T)/T`, b the law of `Bin(T, 1/2)`: the pair of T' clones
//! at the local level `epsilon'` with `tanh(epsilon'/2) = lambda tanh(epsilon_0/2)`. Since the outcome (T, m) has the probability
//! `c P(T', m') / lambda`,
//!
//! ```text
//! delta = c E[ delta_lambda(T') / lambda ],     T' ~ Bin(n-1, 2 a l),   m' | T' ~ Bin(n-1-T', l (1-2a)/(1 - 2 a l)).
//! ```
//!
//! **Rounding upwards.** A pair at lambda is one at `lambda' > lambda` that is replaced by fair coins with probability
//! `1 - lambda/lambda'`, so `delta_lambda / lambda` does not decrease in lambda; nor does it increase with the number of clones. Hence
//! groups of T' are charged at their least T' in clones and at their largest in lambda, groups of m' at their least, and m' is drawn as if
//! T' were larger. The pair at lambda is a mixture of those at two neighbours of a grid with the mean lambda, and dominated if one sees which.
//!
//! The generic pair is never better: its clones, `(e^-epsilon_0/2) (p_u + p_u')`, are a part of the blanket.

use super::{
    Crowd, Group, MOST_PEOPLE,
    binomial::{Counts, group_binomial},
};

/// Most groups of m'.
const ELSEWHERE_GROUPS: usize = 2048;
/// The grid of lambda has this relative distance. The cost is of second order: about 0.1 % of epsilon.
const LAMBDA_STEP: f64 = 0.02;
/// m' is drawn again once T' has moved by this part of the people left.
const STALE: f64 = 2e-4;

/// Densities and probabilities of the antipodal pair.
struct Antipodal {
    epsilon_local: f64,
    /// l, the weight of the blanket.
    blanket: f64,
    /// a.
    difference: f64,
    /// (h + l)/2.
    inner: f64,
    /// e.
    elsewhere: f64,
}

impl Antipodal {
    fn new(cap: f64, inside: f64) -> Self {
        let (high, low) = (inside / cap, (1.0 - inside) / (1.0 - cap));
        Antipodal {
            epsilon_local: (libm::log(high) - libm::log(low)).max(0.0),
            blanket: low,
            difference: cap.min(1.0 - cap),
            inner: 0.5 * (high + low),
            elsewhere: if cap <= 0.5 { low } else { high },
        }
    }

    /// lambda and 1 - lambda with so many points in the differences and elsewhere.
    fn lambda(&self, differences: u64, elsewhere: u64) -> (f64, f64) {
        let (ours, rest) = (differences as f64 * self.inner, elsewhere as f64 * self.elsewhere);
        (ours / (ours + rest), rest / (ours + rest))
    }

    /// The local level at lambda: `2 atanh(lambda tanh(epsilon_0/2))`, without cancellation where the tanh is all but 1.
    fn level(&self, lambda: f64, rest: f64) -> f64 {
        let lean = lambda * libm::tanh(0.5 * self.epsilon_local);
        let less = rest + lambda * 2.0 / (libm::exp(self.epsilon_local) + 1.0);
        let level = libm::log1p(2.0 * lean / less) * (1.0 + 8.0 * f64::EPSILON);
        level.min(self.epsilon_local)
    }

    /// The groups with `least` to `most` points of others in the differences, of this weight, and the points elsewhere by `law`.
    fn row(&self, least: u64, most: u64, weight: f64, law: &Counts) -> Vec<Group> {
        let (fewest, greatest) = (law.groups[0].0, law.groups[law.groups.len() - 1].0);
        let (high, low) = (self.lambda(most + 1, fewest), self.lambda(most + 1, greatest));
        let cells = (libm::log(high.0 / low.0) / LAMBDA_STEP).ceil().max(1.0) as usize;
        let mut weights = vec![0.0; cells + 1];
        for &(points, chance) in &law.groups {
            let (lambda, _) = self.lambda(most + 1, points);
            let outcome = 2.0 * self.difference * self.inner * weight * chance / lambda;
            let position = match high.0 > low.0 {
                true => (lambda - low.0) / (high.0 - low.0) * cells as f64,
                false => cells as f64,
            };
            let cell = (position as usize).min(cells - 1);
            // A little more upwards than exact arithmetic would put there.
            let upper = (position - cell as f64 + 1e-12).min(1.0);
            weights[cell] += outcome * (1.0 - upper);
            weights[cell + 1] += outcome * upper;
        }
        let group = |(node, weight): (usize, f64)| {
            let share = node as f64 / cells as f64;
            let between = |low: f64, high: f64| (1.0 - share) * low + share * high;
            let epsilon_local = self.level(between(low.0, high.0), between(low.1, high.1));
            Group { epsilon_local, clones: least, weight }
        };
        weights.into_iter().enumerate().filter(|(_, weight)| *weight > 0.0).map(group).collect()
    }
}

impl Crowd {
    /// The crowd of a batch of PrivUnit reports, for a checked event.
    pub(super) fn of_priv_unit(cap: f64, inside: f64, people: u64, most_groups: usize) -> Self {
        let pair = Antipodal::new(cap, inside);
        let others = people.min(MOST_PEOPLE) - 1;
        let in_caps = 2.0 * pair.difference;
        let apart = pair.blanket * (1.0 - in_caps);
        let chance = if apart > 0.0 { apart / (apart + (1.0 - pair.blanket)) } else { 0.0 };
        let counts = group_binomial(others, in_caps * pair.blanket, most_groups);
        let (mut groups, mut rest) = (Vec::new(), counts.below + counts.above);
        // From the largest T' down, so that m' is drawn for a T' that is too large, never for one too small.
        let mut elsewhere: Option<(u64, Counts)> = None;
        for &(least, weight) in counts.groups.iter().rev() {
            let most = (least + counts.width - 1).min(others);
            let is_stale = |(drawn, _): &(u64, Counts)| {
                (drawn - most) as f64 > STALE * (others - drawn) as f64
            };
            if elsewhere.as_ref().is_none_or(is_stale) {
                let law = group_binomial(others - most, chance, ELSEWHERE_GROUPS);
                elsewhere = Some((most, law));
            }
            if let Some((_, law)) = &elsewhere {
                rest += weight * law.below;
                groups.extend(pair.row(least, most, weight, law));
            }
        }
        Crowd { epsilon_local: pair.epsilon_local, groups, rest }
    }
}
