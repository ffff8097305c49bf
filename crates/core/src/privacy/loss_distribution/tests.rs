//! Closed forms, exact sums, reference vectors, and variants that must fail.
use super::*;

#[test]
fn smoke() {
    for (event, k) in [
        (Event::Laplace { sensitivity: 1.0, scale: 10.0 }, 1000u64),
        (Event::Gaussian { sensitivity: 1.0, sigma: 10.0 }, 1000),
        (Event::DiscreteGaussian { sensitivity: 1, sigma: 10.0 }, 1000),
        (Event::Pure { epsilon: 0.1 }, 1000),
        (Event::Pure { epsilon: 0.1 }, 10),
        (Event::DiscreteLaplace { sensitivity: 3, scale: 30.0 }, 100),
    ] {
        let start = std::time::Instant::now();
        let l = PrivacyLossDistribution::of_composition(&[(event.clone(), k)]).unwrap();
        println!(
            "{event:?} {k} h={} n={} inf={:e} eps(1e-6)={} eps(1e-12)={} d(1)={:e} d(0)={} {:?}",
            l.interval,
            l.masses.len(),
            l.infinity,
            l.epsilon(1e-6),
            l.epsilon(1e-12),
            l.delta(1.0),
            l.delta(0.0),
            start.elapsed()
        );
    }
}
