//! The privacy loss of a shuffled batch, so that shuffled releases compose with everything else.
//!
//! The pair of [`shuffle`](crate::privacy::shuffle) given `N = C + 1` reports, in terms of the lean
//! `u = (2k - N)/N` of the `k` first answers among them, with `T = tanh(epsilon_0/2)` and `b` the law of
//! `Bin(N, 1/2)`:
//!
//! ```text
//! P(k) = b(k) (1 + u T),     Q(k) = b(k) (1 - u T),     loss = 2 atanh(u T).
//! ```
//!
//! The count `C` is part of the output, so the whole is a mixture over `C` of these. Fewer clones
//! dominate more (one more clone is a post-processing), so groups of `C` are charged at their least
//! member; domination of every component is domination of the mixture, and dominating pairs compose.

use super::dots::{Cell, Dots};
use crate::{
    Result,
    privacy::{
        Event,
        shuffle::{Crowd, fair_binomial, other_share},
    },
};

/// Outcomes that are walked through in all, which bounds the number of groups: larger crowds vary less in
/// proportion and need fewer.
const OUTCOMES: f64 = 1e6;
/// More people than this are treated as this many, which never costs less.
const MOST_PEOPLE: u64 = 1 << 33;
/// Standard deviations of `k` that are walked through; beyond them lies less than 1e-30.
const REACH: f64 = 12.0;

fn crowd(event: &Event) -> Result<Crowd> {
    let mut event = event.clone();
    let (clones, most_groups) = match &mut event {
        Event::Shuffled { epsilon, people, .. } => {
            *people = MOST_PEOPLE.min(*people);
            (*people as f64 * libm::exp(-*epsilon), 4096.0)
        }
        // Each group has several levels.
        Event::ShuffledPrivUnit { inside, people, .. } => {
            *people = MOST_PEOPLE.min(*people);
            (*people as f64 * (1.0 - *inside), 256.0)
        }
        _ => (0.0, 1.0),
    };
    let groups = (OUTCOMES / (REACH * (clones + 1.0).sqrt())).clamp(16.0, most_groups);
    Crowd::of_event(&event, groups as usize)
}

/// The largest loss within reach of any group.
pub(super) fn largest_loss(event: &Event) -> Result<f64> {
    let within_reach = |clones: u64, epsilon: f64| {
        let reports = clones as f64 + 1.0;
        let lean = ((REACH * reports.sqrt() + 2.0) / reports).min(1.0);
        let (more, less) = masses(epsilon, lean, 1.0 - lean);
        libm::log(more / less).min(epsilon)
    };
    let crowd = crowd(event)?;
    let losses = crowd.groups.iter().map(|group| within_reach(group.clones, group.epsilon_local));
    Ok(losses.fold(0.0, f64::max))
}

/// Places the mixture over the groups.
pub(super) fn discretize(dots: &mut Dots, event: &Event) -> Result<()> {
    let crowd = crowd(event)?;
    dots.at_infinity(crowd.rest);
    for group in &crowd.groups {
        place(dots, group.epsilon_local, group.clones + 1, group.weight);
    }
    let without_loss = 1.0 - crowd.groups.iter().map(|group| group.weight).sum::<f64>();
    if without_loss > 0.0 {
        dots.atom(0.0, without_loss);
    }
    Ok(())
}

/// `(1 + u T, 1 - u T)` for a lean `u >= 0`, given `1 - u` too: `1 - u T = (1 - u) + u (1 - T)` does not cancel where T is
/// all but 1.
fn masses(epsilon: f64, lean: f64, rest: f64) -> (f64, f64) {
    let less = rest + lean * 2.0 / (libm::exp(epsilon) + 1.0);
    (2.0 - less, less)
}

/// Places the outcomes of `reports` reports, cell by cell.
fn place(dots: &mut Dots, epsilon: f64, reports: u64, weight: f64) {
    let (n, h) = (reports as f64, dots.interval());
    // Hoeffding: each side beyond has at most exp(-REACH^2/2) under b, twice that under P.
    let first = (0.5 * (n - REACH * n.sqrt())).max(0.0).floor() as u64;
    let last = reports - first;
    // P and Q over b at k; swapping the answers swaps them.
    let parts = |k: u64| {
        let (many, few) = (k.max(reports - k) as f64, k.min(reports - k) as f64);
        let (more, less) = masses(epsilon, (many - few) / n, 2.0 * few / n);
        if 2 * k >= reports { (more, less) } else { (less, more) }
    };
    let loss = |k: u64| {
        let (p, q) = parts(k);
        libm::log(p / q).clamp(-epsilon, epsilon)
    };
    let mut chance = weight * fair_binomial(reports, first);
    chance *= 1.0 + 1e-12 + 4.0 * f64::EPSILON * (last - first) as f64;
    let mut k = first;
    while k <= last {
        let index = (loss(k) / h).floor();
        let edge = ((index + 1.0) * h).clamp(-epsilon, epsilon);
        let few = n * other_share(epsilon, edge.abs());
        let next = if edge >= 0.0 { n - few } else { few };
        let end = (next.ceil().min(n + 1.0) as u64).clamp(k + 1, last + 1);
        let (mut p, mut q, count) = (0.0, 0.0, (end - k) as f64);
        while k < end {
            let (more, less) = parts(k);
            p += chance * more;
            q += chance * less;
            chance *= (n - k as f64) / (k as f64 + 1.0);
            k += 1;
        }
        let from = index * h;
        let slack = 4.0 * f64::EPSILON * (4.0 + count) * p;
        dots.cell(index as i64, from, Cell { p, scaled_q: q * libm::exp(from), slack });
    }
    if first > 0 {
        let beyond = 2.0 * weight * libm::exp(-0.5 * REACH * REACH);
        dots.atom(loss(first), beyond);
        dots.at_infinity(beyond);
    }
}
