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
//! Hence this pair dominates, and dominating pairs compose. If the truth is itself drawn at random, joint convexity gives the same bound. QED
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

    /// lambda and 1 - lambda with this many points in the differences and elsewhere.
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

#[cfg(test)]
mod tests {
    use super::super::GROUPS;
    use super::*;
    use crate::{
        privacy::{Accountant, Event, PrivacyLossDistribution},
        randomize::PrivUnit,
    };

    const PAIRS: [(f64, f64); 5] = [(0.2, 0.7), (0.3, 0.9), (0.5, 0.6), (0.05, 0.9), (0.7, 0.95)];
    const EPSILONS: [f64; 4] = [0.0, 0.2, 0.7, 1.3];

    fn delta(cap: f64, inside: f64, people: u64, epsilon: f64) -> f64 {
        Crowd::of_priv_unit(cap, inside, people, GROUPS).delta(epsilon)
    }

    /// The law of how many of independent points lie in each of four cells, by the counts of the first three.
    fn counts(laws: &[[f64; 4]]) -> Vec<f64> {
        let side = laws.len() + 1;
        let place = |cell: usize| [side * side, side, 1, 0][cell];
        let start = std::iter::once(1.0).chain(std::iter::repeat_n(0.0, side.pow(3) - 1)).collect();
        laws.iter().fold(start, |before: Vec<f64>, law| {
            let mut after = vec![0.0; before.len()];
            for (at, mass) in before.iter().enumerate().filter(|(_, mass)| **mass > 0.0) {
                (0..4).for_each(|cell| after[at + place(cell)] += mass * law[cell]);
            }
            after
        })
    }

    /// The hockey stick of a person's report, by either law, in a batch with these others.
    fn shuffled(one: [f64; 4], two: [f64; 4], others: &[[f64; 4]], epsilon: f64) -> f64 {
        let batch = |law| counts(&[&[law], others].concat());
        let (p, q) = (batch(one), batch(two));
        p.iter().zip(&q).map(|(p, q)| (p - epsilon.exp() * q).max(0.0)).sum()
    }

    fn binomial(n: u64, chance: f64, k: u64) -> f64 {
        let choose: f64 = (0..k).map(|i| (n - i) as f64 / (i + 1) as f64).product();
        choose * chance.powi(k as i32) * (1.0 - chance).powi((n - k) as i32)
    }

    /// The person among uniform points, every outcome written out; the cells are the two differences of probability `a`, the
    /// intersection of the caps, and the rest.
    fn enumerated(pair: (f64, f64), a: f64, people: u64, epsilon: f64, weight: f64) -> f64 {
        let (cap, inside) = pair;
        let (h, l) = (inside / cap, (1.0 - inside) / (1.0 - cap));
        let uniform = [a, a, cap - a, 1.0 - cap - a];
        let law = |densities: [f64; 4]| [0, 1, 2, 3].map(|cell| densities[cell] * uniform[cell]);
        let (one, two) = (law([h, l, h, l]), law([l, h, h, l]));
        let batch = |points: u64| shuffled(one, two, &vec![uniform; points as usize], epsilon);
        (0..people).map(|points| binomial(people - 1, weight, points) * batch(points)).sum()
    }

    #[test]
    fn equals_the_enumerated_antipodal_pair_and_covers_every_other() {
        for pair @ (cap, inside) in PAIRS {
            let (most, blanket) = (cap.min(1.0 - cap), (1.0 - inside) / (1.0 - cap));
            for (people, epsilon) in [1, 2, 5, 9].into_iter().flat_map(|n| EPSILONS.map(|e| (n, e)))
            {
                let got = delta(cap, inside, people, epsilon);
                let want = enumerated(pair, most, people, epsilon, blanket);
                let what = format!("{pair:?} {people} {epsilon}: {got:e} {want:e}");
                // The grid of lambda costs most where counts are small and vary much.
                assert!(got >= want * (1.0 - 1e-11) && got <= 1.003 * want + 1e-12, "{what}");
                let mut before = 0.0;
                for share in [0.2, 0.5, 0.8, 0.99, 1.0] {
                    let other = enumerated(pair, share * most, people, epsilon, blanket);
                    assert!(other >= before * (1.0 - 1e-12), "{what}: caps that differ by {share}");
                    before = other;
                }
            }
        }
    }

    /// PrivUnit itself, with three disjoint caps: the person reports about the first or the second, everyone else about the third.
    #[test]
    fn a_real_batch_stays_below_and_a_larger_blanket_does_not_cover_it() {
        let mut uncovered = 0;
        for pair @ (cap, inside) in [(0.2_f64, 0.7), (0.05, 0.9), (1.0 / 3.0, 0.8)] {
            let outside = (1.0 - inside) / (1.0 - cap);
            let law = |truth: usize| {
                let rest = (1.0 - 3.0 * cap).max(0.0) * outside;
                let cell = |cell| if cell == truth { inside } else { cap * outside };
                [cell(0), cell(1), cell(2), rest]
            };
            for (people, epsilon) in
                [2_u64, 4, 8, 14].into_iter().flat_map(|n| EPSILONS.map(|e| (n, e)))
            {
                let others = vec![law(2); people as usize - 1];
                let real = shuffled(law(0), law(1), &others, epsilon);
                let got = delta(cap, inside, people, epsilon);
                assert!(real <= got * (1.0 + 1e-12), "{pair:?} {people} {epsilon}: {real} {got}");
                // Planted: half as much blanket again as there is.
                let wrong = enumerated(pair, cap, people, epsilon, (1.5 * outside).min(1.0));
                uncovered += u32::from(real > wrong * (1.0 + 1e-9));
            }
        }
        assert!(uncovered > 10, "{uncovered}");
    }

    #[test]
    fn sharper_than_the_clones_of_any_randomiser() {
        // Wanted: sums over all counts by numpy.
        for (dimension, local, people, want) in
            [(5, 2.0, 1000, 0.34957), (20, 3.0, 1000, 0.69887), (20, 4.0, 10_000, 0.36670)]
        {
            let Event::PrivUnit { cap, inside } = PrivUnit::new(dimension, local).unwrap().event()
            else {
                panic!("PrivUnit is priced as PrivUnit")
            };
            let event = Event::ShuffledPrivUnit { cap, inside, people };
            let got = Accountant::price(&event).unwrap().epsilon(1e-6).unwrap();
            assert!(got >= want * (1.0 - 1e-5) && got < 1.003 * want, "{got} {want}");
            let generic = super::super::epsilon(local, people, 1e-6, false).unwrap();
            println!("| {dimension}, {local}, {people} | {generic:.4} | {got:.4} |");
            assert!(got < 0.66 * generic, "{got} {generic}");
        }
        for (cap, inside) in PAIRS {
            let local = Antipodal::new(cap, inside).epsilon_local;
            let mut before = f64::INFINITY;
            for people in [1, 3, 100, 3000, 1_000_000, 100_000_000, u64::MAX] {
                let got = Crowd::of_priv_unit(cap, inside, people, GROUPS).epsilon(1e-6);
                let generic = super::super::epsilon(local, people, 1e-6, false).unwrap();
                assert!(got <= generic * (1.0 + 1e-6), "{cap} {inside} {people}: {got} {generic}");
                assert!(got <= before * (1.0 + 1e-6), "{cap} {inside} {people}: {got} {before}");
                before = got;
            }
        }
    }

    #[test]
    fn batches_compose() {
        for (cap, inside, people) in [(0.2, 0.7, 4), (0.24, 0.7, 1000), (0.13, 0.75, 100_000)] {
            let event = Event::ShuffledPrivUnit { cap, inside, people };
            let once = PrivacyLossDistribution::of_composition(&[(event.clone(), 1)]).unwrap();
            let direct = Crowd::of_priv_unit(cap, inside, people, GROUPS);
            for delta in [1e-3, 1e-6, 1e-9] {
                let (want, got) = (direct.epsilon(delta), once.epsilon(delta));
                assert!(got >= want * 0.999 && got <= 1.02 * want + 1e-9, "{people}: {got} {want}");
            }
            let twice = PrivacyLossDistribution::of_composition(&[(event, 2)]).unwrap();
            assert!(twice.epsilon(1e-6) < 1.6 * once.epsilon(1e-6) || people < 10);
            assert!(twice.epsilon(1e-6) > 1.2 * once.epsilon(1e-6));
        }
        // Two batches of two people, all outcomes of the antipodal pair written out.
        let (cap, inside) = (0.2_f64, 0.7_f64);
        let (h, l) = (inside / cap, (1.0 - inside) / (1.0 - cap));
        let uniform = [cap, cap, 0.0, 1.0 - 2.0 * cap];
        let one = [h * cap, l * cap, 0.0, l * uniform[3]];
        let two = [l * cap, h * cap, 0.0, l * uniform[3]];
        let mut outcomes = Vec::new();
        for (weight, others) in [(1.0 - l, vec![]), (l, vec![uniform])] {
            let batch = |law| counts(&[&[law], &others[..]].concat());
            let pairs = batch(one).into_iter().zip(batch(two));
            outcomes.extend(pairs.map(|(p, q)| (weight * p, weight * q)));
        }
        let event = Event::ShuffledPrivUnit { cap, inside, people: 2 };
        let loss = PrivacyLossDistribution::of_composition(&[(event, 2)]).unwrap();
        for epsilon in [0.0_f64, 0.5, 1.0, 2.0, 3.5] {
            let products =
                outcomes.iter().flat_map(|a| outcomes.iter().map(move |b| (a.0 * b.0, a.1 * b.1)));
            let want: f64 = products.map(|(p, q)| (p - epsilon.exp() * q).max(0.0)).sum();
            let got = loss.delta(epsilon);
            assert!(got >= want * (1.0 - 1e-9) && got <= 1.01 * want + 1e-12, "{got} {want}");
        }
    }
}
