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
#[test]
fn smoke_shuffle() {
    use crate::privacy::shuffle;
    for (e0, n) in [
        (1.0, 1u64),
        (1.0, 30),
        (1.0, 1000),
        (3.0, 1000),
        (1.0, 1_000_000),
        (2.0, 1_000_000),
        (4.0, 1_000_000),
        (1.0, 1_000_000_000),
        (0.1, 1_000_000_000),
        (3.0, 1_000_000_000),
    ] {
        for binary in [false, true] {
            let start = std::time::Instant::now();
            let e = shuffle::epsilon(e0, n, 1e-6, binary).unwrap();
            let t1 = start.elapsed();
            let start = std::time::Instant::now();
            let d = shuffle::delta(e0, n, e, binary).unwrap();
            let t2 = start.elapsed();
            let start = std::time::Instant::now();
            let l = PrivacyLossDistribution::of_composition(&[(
                Event::Shuffled { epsilon: e0, people: n, binary },
                1,
            )])
            .unwrap();
            let t3 = start.elapsed();
            println!(
                "{e0} {n} {binary} eps={e} d={d:e} cf={:?} pld {} d={:e} {t1:?} {t2:?} {t3:?} h={} len={}",
                shuffle::closed_form(e0, n, 1e-6),
                l.epsilon(1e-6),
                l.delta(e),
                l.interval,
                l.masses.len()
            );
        }
    }
}

const VECTORS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../vectors/privacy_loss.csv");
#[test]
fn smoke_vectors() {
    let text = std::fs::read_to_string(VECTORS).unwrap();
    let mut worst = std::collections::BTreeMap::<String, (f64, f64, f64, f64)>::new();
    for line in text.lines().filter(|l| !l.starts_with('#')).skip(1) {
        let f: Vec<&str> = line.split(',').collect();
        let n = |i: usize| f[i].parse::<f64>().unwrap();
        let event = match f[0] {
            "gaussian" => Event::Gaussian { sensitivity: n(1), sigma: n(2) },
            "laplace" => Event::Laplace { sensitivity: n(1), scale: n(2) },
            "discrete_gaussian" => {
                Event::DiscreteGaussian { sensitivity: n(1) as u64, sigma: n(2) }
            }
            "discrete_laplace" => Event::DiscreteLaplace { sensitivity: n(1) as u64, scale: n(2) },
            "randomized_response" => {
                Event::RandomizedResponse { categories: n(1) as u64, epsilon: n(2) }
            }
            "priv_unit" => Event::PrivUnit { cap: n(1), inside: n(2) },
            _ => panic!(),
        };
        let l = PrivacyLossDistribution::of_composition(&[(event, n(3) as u64)]).unwrap();
        let rd = l.delta(n(4)) / n(5);
        let re = l.epsilon(n(5)) / n(4);
        if rd > 1.01 || rd < 1.0 || re > 1.01 || re < 0.99 {
            println!("{line}: d {rd} e {re}");
        }
        let w = worst.entry(format!("{} {}", f[0], f[6])).or_insert((9.0, 0.0, 9.0, 0.0));
        *w = (w.0.min(rd), w.1.max(rd), w.2.min(re), w.3.max(re));
    }
    println!("{worst:#?}");
}
