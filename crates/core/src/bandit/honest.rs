//! No reader refuses what an honest device sends, whatever the data, the draw and the parameters that were accepted.
//!
//! A refusal delays a batch or loses a report; where it depends on a person's data it tells about them. So parameters over which a
//! device could make a report that some reader refuses must be refused themselves, before the first report.

use proptest::prelude::*;
use serde::{Serialize, de::DeserializeOwned};

use super::*;
use crate::{
    Result,
    geometry::Polytope,
    noise::{DiscreteGaussian, Noise},
    randomize::{Bounds, FeatureRewardParams, Levels, Method, ReportParams},
    release::testing::Seeded,
    safe::{AgentParams, CoordinatorParams, Objective, ResponsePrivacy},
};

/// Gaussians at one end of their range, 32 sigma, or drawn as they should be.
struct Farthest {
    seeded: Seeded,
    direction: Option<i64>,
}

impl Noise for Farthest {
    const PROTECTS_PEOPLE: bool = false;
    const NAME: &'static str = "test of extremes";

    fn bits(&mut self) -> u64 {
        self.seeded.bits()
    }

    fn refresh(&mut self) -> Result<()> {
        self.seeded.refresh()
    }

    fn split(&mut self) -> Result<Self> {
        Ok(Farthest { seeded: self.seeded.split()?, direction: self.direction })
    }

    fn discrete_gaussian(&mut self, law: &DiscreteGaussian) -> i64 {
        match self.direction {
            Some(direction) => direction * (32 * law.sigma() as i64 - 1),
            None => law.sample_exactly(&mut self.seeded),
        }
    }
}

fn power(range: std::ops::Range<f64>) -> impl Strategy<Value = f64> {
    range.prop_map(|power| 10f64.powf(power))
}

fn bounds() -> impl Strategy<Value = Bounds> {
    let rewards = (-1e3_f64..1e3, power(-3.0..3.0));
    (1_usize..6, power(-5.0..5.0), rewards, 0.05_f64..0.95, any::<bool>(), any::<bool>()).prop_map(
        |(dimension, feature_bound, (low, range), share, intercept, unit_arms)| Bounds {
            dimension,
            feature_bound,
            rewards: (low, low + range),
            intercept: (intercept && dimension > 1).then_some(share * feature_bound),
            unit_arms,
            structure: Default::default(),
        },
    )
}

/// People of the domain and outside it (at its ends, at zero, beyond), each with every kind of draw.
fn people(bounds: &Bounds, seed: u64) -> Vec<(Vec<f64>, f64, Farthest)> {
    let d = bounds.dimension;
    let axis =
        |length: f64| (0..d).map(|i| if i == 0 { length } else { 0.0 }).collect::<Vec<f64>>();
    let even = vec![bounds.feature_bound / (d as f64).sqrt(); d];
    let (low, high) = bounds.rewards;
    let mut data = vec![(vec![f64::MAX; d], f64::MAX), (axis(5e-324), 0.5 * (low + high))];
    for features in [axis(bounds.feature_bound), axis(-bounds.feature_bound), axis(0.0), even] {
        data.push((features.clone(), low));
        data.push((features, high));
    }
    let mut seeds = Seeded(seed);
    let mut all = Vec::new();
    for direction in [None, Some(-1), Some(1)] {
        for (features, reward) in &data {
            let noise = Farthest { seeded: Seeded(seeds.bits()), direction };
            all.push((features.clone(), *reward, noise));
        }
    }
    all
}

/// The report as it arrives.
fn sent<T: Serialize + DeserializeOwned>(report: &T) -> T {
    serde_json::from_str(&serde_json::to_string(report).unwrap()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn every_report_is_summed(
        bounds in bounds(), epsilon in power(-3.0..6.0), delta in power(-12.0..-2.0), size in 0.0_f64..24.0,
        honest in 0.0_f64..1.0, repeated in prop_oneof![Just(0.0), 0.0_f64..4.0], seed: u64,
    ) {
        let batch = size.exp2() as u64;
        let params = ShuffleParams {
            honest: Some(1 + (honest * (batch - 1) as f64) as u64),
            contributions_per_person: 10f64.powf(repeated) as u64,
            ..ShuffleParams::new(bounds, epsilon, delta, batch, Aggregation::Sum)
        };
        let plan = match params.check() {
            Ok(plan) => plan,
            Err(error) => {
                // A refused plan hurts no person; but one report a person is always possible.
                prop_assert!(params.contributions_per_person > 1, "{}", error);
                return Ok(());
            }
        };
        let stated = plan.guarantee().unwrap().epsilon();
        prop_assert!(stated <= epsilon * (1.0 + 1e-6) && stated > 0.9 * epsilon, "{}", stated);
        let model = plan.server().publish().unwrap();
        let mut shuffler = plan.shuffler(Seeded(seed)).unwrap();
        for (features, reward, noise) in people(&bounds, seed) {
            let mut person = plan.person(noise).unwrap();
            let report = sent(&person.report(&model, &features, reward).unwrap());
            prop_assert!(shuffler.absorb(&report).is_ok());
        }
    }

    #[test]
    fn every_batch_is_taken(
        bounds in bounds(), epsilon in power(-3.0..6.0), delta in power(-12.0..-3.0), batch in 1_u64..6, sum: bool, seed: u64,
    ) {
        let aggregation = if sum { Aggregation::Sum } else { Aggregation::Permute };
        let plan = ShuffleParams::new(bounds, epsilon, delta, batch, aggregation).check().unwrap();
        let (mut server, mut shuffler) = (plan.server(), plan.shuffler(Seeded(seed)).unwrap());
        let model = server.publish().unwrap();
        for (features, reward, noise) in people(&bounds, seed) {
            let mut person = plan.person(noise).unwrap();
            let report = sent(&person.report(&model, &features, reward).unwrap());
            if let Some(batch) = shuffler.absorb(&report).unwrap() {
                prop_assert_eq!(server.absorb(&batch).unwrap(), Absorbed::Counted);
            }
        }
        prop_assert!(server.reports() >= 5 && server.publish().is_ok());
    }

    #[test]
    fn every_report_is_counted_by_the_local_server(
        bounds in bounds(), levels in prop::collection::vec(power(-3.0..6.0), 1..4), hidden: bool, public_arms: bool,
        delta in prop_oneof![Just(0.0), power(-12.0..-3.0)], times in 1_u64..20, which in 0_usize..9, seed: u64,
    ) {
        let split = 0.694;
        let methods = [
            None,
            Some(Method::GramGaussian { split }),
            Some(Method::TriangleGaussian),
            Some(Method::AdditivePair),
            Some(Method::UnitGram),
            Some(Method::UnitPair),
            Some(Method::UnitAxis),
            Some(Method::RewardGaussian),
            Some(Method::RewardResponse),
            Some(Method::KnownGram {
                gram: vec![1.0; crate::linalg::triangle(bounds.dimension)],
                reports: 1000,
            }),
        ];
        let count = levels.len();
        let shares = vec![1.0 / count as f64; count];
        let levels = match hidden {
            false => Levels::Public(levels),
            true => Levels::Hidden { epsilons: levels, shares },
        };
        let params = LocalParams::from(ReportParams { levels, public_arms, method: methods[which].clone(), contributions_per_person: times, ..ReportParams::new(bounds, 1.0, delta) });
        let Ok(plan) = params.check() else {
            let possible = params.report.method.is_none() && params.report.levels.epsilons().iter().all(|e| *e < 200.0);
            prop_assert!(!possible, "{:?} is refused", params);
            return Ok(());
        };
        let mut server = plan.server();
        let model = server.publish().unwrap();
        for level in 0..count {
            for (features, reward, noise) in people(&bounds, seed ^ level as u64) {
                let mut person = plan.person(level, noise).unwrap();
                let report = sent(&person.report(&model, &features, reward).unwrap());
                let absorbed = server.absorb(&report);
                prop_assert!(absorbed == Ok(Absorbed::Counted), "{:?} {:?}", plan.method(), absorbed);
            }
        }
    }

    #[test]
    fn every_report_teaches_an_online_server(
        dimension in 1_usize..5, feature_bound in power(-90.0..90.0), low in -10.0_f64..10.0, range in power(-5.0..5.0),
        epsilon in power(-3.0..6.0), delta in power(-12.0..-3.0), seed: u64,
    ) {
        let rewards = (low * feature_bound, (low + range) * feature_bound);
        let bounds = Bounds { feature_bound, rewards, ..Bounds::unit(dimension) };
        let randomizer = FeatureRewardParams::new(bounds, epsilon, delta);
        let usual = (1e-20..1e20).contains(&feature_bound);
        fn absorbs<S>(
            server: Result<S>,
            people: Vec<(Vec<f64>, f64, Farthest)>,
            absorb: fn(&mut S, &[f64], f64, &mut Farthest) -> Result<()>,
        ) -> bool {
            let Ok(mut server) = server else { return false };
            for (features, reward, mut noise) in people {
                absorb(&mut server, &features, reward, &mut noise).unwrap();
            }
            true
        }
        let base = OnlineUcbParams::new(randomizer.clone(), 1000);
        let known = absorbs(base.check(), people(&bounds, seed), |server, x, y, noise| {
            server.absorb(&sent(&server.randomizer().report(x, y, noise)?))
        });
        let anytime = AnytimeParams::new(base.clone()).check();
        let anytime = absorbs(anytime, people(&bounds, seed), |server, x, y, noise| {
            server.absorb(&sent(&server.randomizer().report(x, y, noise)?))
        });
        let combiner = CombinerParams::new(base).check();
        let combiner = absorbs(combiner, people(&bounds, seed), |server, x, y, noise| {
            let report = sent(&server.randomizer().report(x, y, noise)?);
            server.absorb(server.current(), &report)
        });
        prop_assert!((known && anytime && combiner) || !usual, "{:?} is refused", randomizer);
    }

    #[test]
    fn every_answer_is_heard_by_a_coordinator(
        unit in power(-90.0..99.9), epsilon in power(-3.0..6.0), delta in power(-12.0..-3.0), times in 1_u64..1000, seed: u64,
    ) {
        let rows = [[1.0], [-1.0]];
        let polytope = Polytope::new(&rows.map(|row| row.to_vec()), &[unit, unit]).unwrap();
        let agent = AgentParams {
            dimension: 2,
            parameter_bound: unit,
            action_bound: 1.0,
            response_noise: 0.1 * unit,
            lower: -unit,
            upper: unit,
            privacy: ResponsePrivacy::Budget { epsilon, delta, responses: Some(times) },
        };
        let objective = Objective::Linear { weights: vec![1.0] };
        let params = CoordinatorParams::new(polytope, objective, vec![agent]);
        let Ok(plan) = params.check() else {
            prop_assert!(epsilon > 1e4, "{:?} is refused", params);
            return Ok(());
        };
        for direction in [None, Some(-1), Some(1)] {
            for response in [unit, -unit, 0.0, f64::MAX] {
                let mut coordinator = plan.clone().start(Seeded(seed));
                let Ok(decision) = coordinator.decide() else { continue };
                let mut agent = plan.agents()[0].start(0, Farthest { seeded: Seeded(seed), direction });
                let report = agent.report(decision.ticket, response).unwrap();
                prop_assert!(coordinator.absorb(&report).is_ok());
            }
        }
    }
}
