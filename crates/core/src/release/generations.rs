//! Generations of a loop that share one ledger: the price of all of them for one person.
//!
//! ```text
//! mu^2 = min( (1 + sum_g j_g) (K m)^2,  sum_g mu_g^2 ),    K = max_g k_g,    m = max_g mu_g / (k_g sqrt(1 + j_g))
//! ```
//!
//! A loop whose parameters change begins another generation: another stream with noise of its own. Generation g promises `mu_g` to a person
//! who contributes at most `k_g` times, with `j_g` replays charged, so that one contribution costs at most `m_g = mu_g / (k_g sqrt(1 + j_g))`.
//! With one ledger a person's contributions are counted over all generations, and generation g grants one only while that count is below `k_g`.
//! Generations with the same `k` and the same noise then cost together what one of them costs.
//!
//! **Conditions.** One key for persons; one grid of periods that does not restart; every event, an open one too, is in exactly one generation.
//! Generations whose ledgers are separate compose: `sum_g mu_g^2`.
//!
//! **Lemma.** Let the streams be by the clock (`schedule`), generation g with the factor `C_g`, noise `sigma_g`, largest weighted norm `rho_g` of a
//! contribution and `Delta_g >= sqrt 2 rho_g`, and `m_g = |C_g| Delta_g / sigma_g`, where |C| is the largest norm of a column. A person's at most K
//! contributions to all generations are replaced by any other K at most, at any ticks of any generations, or by none. Then
//! `mu <= K max_g m_g`.
//!
//! *Proof.* Noises of different generations are independent, so all streams together are one Gaussian mechanism whose factor has the blocks
//! `C_g / sigma_g` on its diagonal: columns of different generations are orthogonal. Pair the contributions of two neighbouring data sets and pad with zeros: at most
//! K pairs, whose shifts add up at most. A pair within one generation shifts by at most `m_g` (the lemma of `schedule`). A pair of v in g and v' in
//! g' shifts by the root of `(|C_g| |v| / sigma_g)^2 + (|C_g'| |v'| / sigma_g')^2 <= (m_g^2 + m_g'^2)/2 <= max(m_g, m_g')^2`, because `|v| <= rho_g <= Delta_g / sqrt 2`.
//! A zero only makes it smaller. QED
//!
//! The clock's sensitivity is [`Domain::sensitivity_across_steps`](super::Domain), which is at least `sqrt 2 rho` in one dimension too: the condition holds for every stream by
//! the clock, and the price is refused to no other. Which parameters the next generation has may depend on releases: the mechanism is adaptive, as in one stream.
//!
//! **Replays.** A line is what one copy of the store has released (`stream`). Its ledger counts the contributions on that line, so that each line costs at most `K m`;
//! there are `1 + sum_g j_g` of them, and their noises are independent.
//!
//! **Other caps.** While generation g runs, the count over all of them stays at most `k_g`: at most K in all. The second bound holds as well, because each generation grants at most
//! `k_g`; it is the smaller one where caps differ much. (A ledger of shares, `sum_g a_g / k_g <= 1` for `a_g` contributions to g, would cost `max_g mu_g`: it is not kept.)

use serde::{Deserialize, Serialize};

use crate::privacy::Event;

/// A generation of a loop, as its price enters that of all generations with the same ledger.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GenerationCost {
    /// Price of its stream alone for a person, replays included: [`PrivateSum::event`](super::PrivateSum::event) of a stream by the clock.
    pub event: Event,
    /// Contributions at which it stops to learn from a person, those to the other generations included: k.
    pub at_most: u64,
    /// Replays that are charged in the event.
    pub replays: u64,
}

/// Price for a person of generations with one ledger. Events without Gaussian noise compose.
///
/// ```
/// use reticent::{privacy::Event, release::{GenerationCost, one_ledger}};
/// let event = Event::GridGaussian { mu: 0.3, sigma: 2f64.powi(44), coordinates: 100.0 };
/// let generation = GenerationCost { event, at_most: 2, replays: 0 };
/// let Event::GridGaussian { mu, .. } = one_ledger(&[generation.clone(), generation.clone(), generation]) else { panic!() };
/// assert!((mu - 0.3).abs() < 1e-15);
/// ```
pub fn one_ledger(generations: &[GenerationCost]) -> Event {
    if let [one] = generations {
        return one.event.clone();
    }
    let (mut most, mut once, mut replays) = (0.0_f64, 0.0_f64, 0.0);
    let (mut squares, mut finest, mut draws) = (0.0, f64::INFINITY, 0.0);
    for generation in generations {
        let Event::GridGaussian { mu, sigma, coordinates } = generation.event else {
            let events = generations.iter().map(|generation| generation.event.clone());
            return Event::Composed { events: events.collect() };
        };
        let (at_most, lines) = (generation.at_most as f64, 1.0 + generation.replays as f64);
        most = most.max(at_most);
        once = once.max(mu / (at_most * lines.sqrt()));
        replays += generation.replays as f64;
        squares += mu * mu;
        finest = finest.min(sigma);
        draws += coordinates;
    }
    if generations.is_empty() {
        return Event::Nothing;
    }
    let shared = most * once * (1.0 + replays).sqrt();
    Event::GridGaussian { mu: shared.min(squares.sqrt()), sigma: finest, coordinates: draws }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;
    use crate::release::{
        Domain, Factor, HalfLife, Mechanism, Schedule, Structure, blt::Blt, testing::columns,
    };

    const TICKS: usize = 8;

    fn event(mu: f64) -> Event {
        Event::GridGaussian { mu, sigma: 2f64.powi(44), coordinates: 10.0 }
    }

    fn mu(generations: &[GenerationCost]) -> f64 {
        match one_ledger(generations) {
            Event::GridGaussian { mu, .. } => mu,
            other => panic!("{other:?}"),
        }
    }

    /// A stream by the clock with its columns and the noise of a common sigma.
    struct Stream {
        columns: Vec<Vec<f64>>,
        norm: f64,
        domain: Domain,
        sigma: f64,
    }

    impl Stream {
        fn all(dimension: usize, split: f64) -> Vec<Self> {
            let half_life = HalfLife::new(2.0, &Schedule::Clock).unwrap();
            let forgets = Factor::Blt(Blt::forgetting(TICKS as u64, 8, half_life).unwrap());
            let (toeplitz, tree) = (Mechanism::Toeplitz, Mechanism::default());
            let factors = [
                (forgets, half_life.kept_after(1), 1.0),
                (toeplitz.build(TICKS as u64).unwrap(), 1.0, 1.7),
                (tree.build(TICKS as u64).unwrap(), 1.0, 0.8),
            ];
            let structure = Structure::DENSE;
            let (feature_bound, reward_bound) = (1.0, 1.0);
            let domain =
                Domain::Regression { dimension, feature_bound, reward_bound, split, structure };
            let stream = |(factor, kept, sigma): (Factor, f64, f64)| Stream {
                columns: columns(&factor, kept, TICKS, TICKS),
                norm: factor.as_dyn().column_norm(),
                domain: domain.clone(),
                sigma,
            };
            factors.into_iter().map(stream).collect()
        }

        /// Price of one contribution.
        fn once(&self) -> f64 {
            self.norm * self.domain.sensitivity_across_steps() / self.sigma
        }

        /// A contribution in units of the noise of its coordinate; none is a zero.
        fn contribution(&self, angle: u8, reward: i8) -> Vec<f64> {
            let Domain::Regression { dimension, .. } = self.domain else { unreachable!() };
            let (a, b) = ((0.2 * f64::from(angle)).cos(), (0.2 * f64::from(angle)).sin());
            let y = f64::from(reward);
            let entries = match dimension {
                1 => vec![1.0, y],
                _ => vec![a * a, a * b, b * b, a * y, b * y],
            };
            let ratios = self.domain.noise_ratios();
            entries.iter().zip(ratios).map(|(entry, ratio)| entry / (ratio * self.sigma)).collect()
        }
    }

    /// A contribution of one data set: generation, tick, features, reward.
    type Given = (usize, usize, u8, i8);

    /// Distance by which the joint stream moves when the contributions of one data set are replaced by those of the other.
    fn shift(streams: &[Stream], [one, other]: [&[Given]; 2]) -> f64 {
        let coordinates = streams[0].domain.coordinates();
        let mut moved = vec![vec![0.0; TICKS * coordinates]; streams.len()];
        let signed =
            one.iter().map(|given| (given, 1.0)).chain(other.iter().map(|given| (given, -1.0)));
        for ((generation, tick, angle, reward), sign) in signed {
            let stream = &streams[*generation];
            let contribution = stream.contribution(*angle, *reward);
            for (row, weight) in stream.columns[*tick].iter().enumerate() {
                for (place, entry) in contribution.iter().enumerate() {
                    moved[*generation][row * coordinates + place] += sign * weight * entry;
                }
            }
        }
        moved.iter().flatten().map(|entry| entry * entry).sum::<f64>().sqrt()
    }

    fn given() -> impl Strategy<Value = Vec<Given>> {
        vec((0_usize..3, 0_usize..TICKS, 0_u8..16, prop::sample::select(vec![-1_i8, 1])), 0..=4)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

        /// The lemma, over random visits of two data sets to three generations with other factors and other noise.
        #[test]
        fn contributions_of_any_generations_cost_no_more_than_as_many_of_the_dearest(
            one in given(), other in given(), dimension in 1_usize..=2, split in prop::sample::select(vec![0.1, 0.4, 1.0, 2.5]),
        ) {
            let streams = Stream::all(dimension, split);
            let most = one.len().max(other.len()) as u64;
            let generations: Vec<GenerationCost> = streams
                .iter()
                .map(|stream| GenerationCost { event: event(most as f64 * stream.once()), at_most: most.max(1), replays: 0 })
                .collect();
            let bound = if most == 0 { 0.0 } else { mu(&generations) };
            prop_assert!(shift(&streams, [&one, &other]) <= bound * (1.0 + 1e-9));
        }

        /// Caps that differ: a generation grants while the count over all of them is below its own cap.
        #[test]
        fn a_shared_count_bounds_generations_with_other_caps(
            costs in vec((0.1_f64..3.0, 1_u64..6, 0_u64..9), 1..5),
        ) {
            let (mut count, mut shift) = (0, 0.0);
            let mut generations = Vec::new();
            for (once, at_most, wanted) in costs {
                let granted = wanted.min(at_most.saturating_sub(count));
                count += granted;
                shift += granted as f64 * once;
                generations.push(GenerationCost { event: event(at_most as f64 * once), at_most, replays: 0 });
            }
            // Contributions to streams of their own: their squares add up; the whole of each is at most that.
            let all = mu(&generations);
            let squares: f64 = generations.iter().map(|one| mu(std::slice::from_ref(one)).powi(2)).sum();
            prop_assert!(all <= squares.sqrt() * (1.0 + 1e-12));
            prop_assert!(all * (1.0 + 1e-12) >= shift.min(squares.sqrt()));
        }
    }

    /// Streams in which one contribution costs 1.
    fn of_equal_cost(dimension: usize, split: f64) -> Vec<Stream> {
        let scaled = |stream: Stream| Stream { sigma: stream.sigma * stream.once(), ..stream };
        Stream::all(dimension, split).into_iter().map(scaled).collect()
    }

    #[test]
    fn the_lemma_is_tight_and_needs_its_conditions() {
        let streams = of_equal_cost(2, 0.4);
        let twice = |generation: usize, tick: usize, angle: u8, reward: i8| {
            vec![(generation, tick, angle, reward); 2]
        };
        // Both contributions to one generation, each replaced by another one.
        let moved = |(generation, tick, angle): (usize, usize, u8)| {
            let worlds = [twice(generation, tick, 0, 1), twice(generation, tick, angle, -1)];
            shift(&streams, [&worlds[0], &worlds[1]])
        };
        let farthest = |generation: usize| {
            let all =
                (0..TICKS).flat_map(|tick| (0..16).map(move |angle| (generation, tick, angle)));
            all.max_by(|one, other| moved(*one).total_cmp(&moved(*other))).unwrap()
        };
        let farthest: Vec<_> = (0..streams.len()).map(farthest).collect();
        for one in &farthest {
            let found = moved(*one);
            assert!(found > 0.98 * 2.0 && found <= 2.0 * (1.0 + 1e-9), "{found}");
        }
        // Planted: with ledgers of their own a person contributes twice to each.
        let world = |one: bool| -> Vec<Given> {
            let of = |(generation, tick, angle): &(usize, usize, u8)| match one {
                true => twice(*generation, *tick, 0, 1),
                false => twice(*generation, *tick, *angle, -1),
            };
            farthest.iter().flat_map(of).collect()
        };
        let found = shift(&streams, [&world(true), &world(false)]);
        assert!(found > 0.98 * 2.0 * 3f64.sqrt(), "{found}");
        // Planted: the distance at one step, in one dimension, is too small for a visit that moves to another generation.
        let line = of_equal_cost(1, 0.1);
        let ticks = (0..TICKS).flat_map(|tick| (0..TICKS).map(move |other| (tick, other)));
        let moved = ticks
            .map(|(tick, other)| shift(&line, [&[(0, tick, 0, 1)], &[(1, other, 0, 1)]]))
            .fold(0.0, f64::max);
        let too_small = line[0].domain.sensitivity() / line[0].domain.sensitivity_across_steps();
        assert!(moved <= 1.0 + 1e-9 && moved > too_small * (1.0 + 1e-6), "{moved}, {too_small}");
    }

    #[test]
    fn equal_noise_costs_nothing_and_other_noise_the_larger() {
        let generation =
            |mu, at_most, replays| GenerationCost { event: event(mu), at_most, replays };
        let close = |found: f64, wanted: f64| {
            assert!((found / wanted - 1.0).abs() < 1e-12, "{found}, not {wanted}")
        };
        close(mu(&[generation(0.3, 2, 0), generation(0.3, 2, 0), generation(0.3, 2, 0)]), 0.3);
        close(mu(&[generation(0.3, 2, 0), generation(0.2, 2, 0)]), 0.3);
        // Another cap: three contributions, each at most the dearer price; or the composition, where that is less.
        close(mu(&[generation(0.2, 2, 0), generation(0.24, 3, 0)]), 0.3);
        close(mu(&[generation(0.3, 1, 0), generation(0.3, 9, 0)]), 0.3 * 2f64.sqrt());
        // Lines of all generations add up: two rollbacks, one in each, are three lines and not two.
        let root = |count: f64| 0.3 * count.sqrt();
        close(mu(&[generation(root(2.0), 2, 1), generation(0.3, 2, 0)]), root(2.0));
        close(mu(&[generation(root(2.0), 2, 1), generation(root(2.0), 2, 1)]), root(3.0));
        let laplace = Event::DiscreteLaplace { sensitivity: 1, scale: 2.0 };
        let other = GenerationCost { event: laplace, at_most: 1, replays: 0 };
        assert!(matches!(one_ledger(&[generation(0.3, 1, 0), other]), Event::Composed { .. }));
        assert_eq!(one_ledger(&[]), Event::Nothing);
    }
}
