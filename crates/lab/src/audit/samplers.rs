//! Tests of the deployed samplers: every law of `reticent::noise`, drawn by the code and the generator of a deployment, against its distribution
//! function.
//!
//! | claim | attack | false alarm |
//! | --- | --- | --- |
//! | the sampler draws its law | the largest distance of the draws' distribution from the law's (Kolmogorov-Smirnov, Massart's constant: `P(D > t) <= 2 exp(-2 n t^2)`); integers are made continuous by a uniform part below 1 | 1e-6 for all laws together |
//!
//! The same draws, halved, must be detected. An attack on a mechanism detects halved noise too (`zoo`), and noise that is too small by a
//! tenth only here.

use reticent::{
    noise::{
        Bernoulli, DiscreteGaussian, DiscreteLaplace, KNorm, Noise, SphericalCap, Staircase,
        Wishart, uniform_direction,
    },
    special::normal_cdf,
};

use super::safety::Check;
use crate::Result;

/// The largest probability of an alarm if every sampler draws its law.
const FALSE_ALARM: f64 = 1e-6;
/// Draws of each law.
const DRAWS: u64 = 200_000;

/// A draw of a law, as a number.
type Draw<N> = Box<dyn Fn(&mut N) -> Result<f64>>;

/// A law, as a number that is drawn and its distribution function.
struct Law<N> {
    name: &'static str,
    draw: Draw<N>,
    cdf: Box<dyn Fn(f64) -> f64>,
}

/// All laws, drawn from this source.
pub fn checks<N: Noise + 'static>(noise: &mut N) -> Result<Vec<Check>> {
    let laws = laws::<N>()?;
    let rate = FALSE_ALARM / laws.len() as f64;
    let allowed = ((2.0 / rate).ln() / (2.0 * DRAWS as f64)).sqrt();
    laws.iter().map(|law| law.check(noise, allowed)).collect()
}

/// The claims of all checks.
#[cfg(test)]
pub(super) fn claims() -> Result<Vec<String>> {
    Ok(laws::<reticent::noise::SecureNoise>()?.iter().map(Law::claim).collect())
}

impl<N: Noise> Law<N> {
    fn claim(&self) -> String {
        format!("{} is drawn with its law", self.name)
    }

    fn check(&self, noise: &mut N, allowed: f64) -> Result<Check> {
        let mut draws = (0..DRAWS).map(|_| (self.draw)(noise)).collect::<Result<Vec<f64>>>()?;
        draws.sort_by(f64::total_cmp);
        let whole = self.distance(&draws);
        draws.iter_mut().for_each(|draw| *draw /= 2.0);
        let halved = self.distance(&draws);
        Ok(Check {
            claim: self.claim(),
            attack: format!("{DRAWS} draws on {}; Kolmogorov-Smirnov", N::NAME),
            found: format!("distance {whole:.4}, at most {allowed:.4}; {halved:.3} if halved"),
            held: whole <= allowed,
            caught: halved > allowed,
        })
    }

    /// The largest distance of the distribution of these draws, in order, from the law's.
    fn distance(&self, draws: &[f64]) -> f64 {
        let count = draws.len() as f64;
        let gap = |(index, draw): (usize, &f64)| {
            let below = (self.cdf)(*draw);
            (below - index as f64 / count).abs().max(((index + 1) as f64 / count - below).abs())
        };
        draws.iter().enumerate().map(gap).fold(0.0, f64::max)
    }
}

fn laws<N: Noise + 'static>() -> Result<Vec<Law<N>>> {
    let mut all = Vec::new();
    for (name, sigma) in [
        ("the discrete Gaussian of sigma 1", 1),
        ("the discrete Gaussian of sigma 300", 300),
        ("the discrete Gaussian of sigma 2^44", 1 << 44),
    ] {
        let law = DiscreteGaussian::new(sigma)?;
        let scale = sigma as f64;
        let cdf = match sigma > 1000 {
            true => Box::new(move |x: f64| normal_cdf(x / scale)) as Box<dyn Fn(f64) -> f64>,
            false => integers(12 * sigma as i64, move |z| (-0.5 * (z / scale).powi(2)).exp()),
        };
        all.push(Law {
            name,
            cdf,
            draw: smooth(move |noise: &mut N| noise.discrete_gaussian(&law)),
        });
    }
    for (name, numerator, denominator) in [
        ("the discrete Laplace of scale 1/3", 1, 3),
        ("the discrete Laplace of scale 300", 300, 1),
        ("the discrete Laplace of scale 2^44 / 3", 1 << 44, 3),
    ] {
        let law = DiscreteLaplace::new(numerator, denominator)?;
        let scale = law.scale();
        let cdf = match scale > 1000.0 {
            true => Box::new(move |x: f64| laplace_cdf(x / scale)) as Box<dyn Fn(f64) -> f64>,
            false => integers(40 * numerator as i64, move |z| (-z.abs() / scale).exp()),
        };
        all.push(Law {
            name,
            cdf,
            draw: smooth(move |noise: &mut N| noise.discrete_laplace(&law)),
        });
    }
    let coin = Bernoulli::new(0.3)?;
    all.push(Law {
        name: "a coin of probability 0.3",
        draw: smooth(move |noise: &mut N| i64::from(coin.sample(noise))),
        cdf: integers(1, |z| if z == 1.0 { 0.3 } else { 0.7 * f64::from(u8::from(z == 0.0)) }),
    });
    let staircase = Staircase::new(1.0, 1.0)?;
    all.push(Law {
        name: "staircase noise of epsilon 1",
        draw: Box::new(move |noise| Ok(staircase.randomize(0.0, noise)?)),
        cdf: Box::new(staircase_cdf),
    });
    // The radius of the K-norm law is gamma distributed, of shape 3 in dimension 3; half of a chi-square of 8 degrees has shape 4.
    let ball = KNorm::new(3, 1.0, 0.5)?;
    all.push(Law {
        name: "the radius of K-norm noise in dimension 3",
        draw: Box::new(move |noise| {
            Ok(ball.randomize(&[0.0; 3], noise)?.iter().map(|x| x * x).sum::<f64>().sqrt())
        }),
        cdf: Box::new(|x| gamma_cdf(3, x)),
    });
    let wishart = Wishart::new(2, 8.0, 1.0)?;
    all.push(Law {
        name: "the last entry of a Wishart matrix",
        draw: Box::new(move |noise| Ok(wishart.randomize(&[0.0; 4], noise)?[3])),
        cdf: Box::new(|x| gamma_cdf(4, 0.5 * x)),
    });
    // Archimedes: a coordinate of a uniform direction in three dimensions is uniform, within a cap too.
    all.push(Law {
        name: "a coordinate of a uniform direction",
        draw: Box::new(|noise| Ok(uniform_direction(3, noise)[0])),
        cdf: Box::new(|x| (0.5 + 0.5 * x).clamp(0.0, 1.0)),
    });
    let cap = SphericalCap::new(3, 0.4)?;
    all.push(Law {
        name: "a direction within a spherical cap",
        draw: Box::new(move |noise| Ok(cap.sample_inside(&[1.0, 0.0, 0.0], noise)?[0])),
        cdf: Box::new(|x| ((x - 0.4) / 0.6).clamp(0.0, 1.0)),
    });
    Ok(all)
}

/// A whole number plus a uniform part below 1.
fn smooth<N: Noise>(draw: impl Fn(&mut N) -> i64 + 'static) -> Draw<N> {
    Box::new(move |noise| Ok(draw(noise) as f64 + noise.uniform()))
}

/// The distribution function of a whole number from `-reach` to `reach` with these weights, plus a uniform part below 1.
fn integers(reach: i64, weight: impl Fn(f64) -> f64) -> Box<dyn Fn(f64) -> f64> {
    let weights: Vec<f64> = (-reach..=reach).map(|z| weight(z as f64)).collect();
    let total: f64 = weights.iter().sum();
    let mut below = vec![0.0];
    weights.iter().for_each(|weight| below.push(below[below.len() - 1] + weight / total));
    Box::new(move |x| {
        let whole = (x.floor() as i64 + reach).clamp(0, 2 * reach) as usize;
        let part = (x - (whole as i64 - reach) as f64).clamp(0.0, 1.0);
        below[whole] + part * (below[whole + 1] - below[whole])
    })
}

fn laplace_cdf(x: f64) -> f64 {
    if x < 0.0 { 0.5 * x.exp() } else { 1.0 - 0.5 * (-x).exp() }
}

/// The gamma distribution function of whole shape: `1 - e^-x (1 + x + x^2 / 2 + ...)`.
fn gamma_cdf(shape: i32, x: f64) -> f64 {
    let terms = (1..shape).scan(1.0, |term, power| {
        *term *= x / f64::from(power);
        Some(*term)
    });
    1.0 - (-x).exp() * (1.0 + terms.sum::<f64>())
}

/// Staircase noise of epsilon 1 and sensitivity 1 (Geng and Viswanath 2014), from the definition of its stairs.
fn staircase_cdf(x: f64) -> f64 {
    let (ratio, size) = ((-1.0_f64).exp(), x.abs());
    let split = 1.0 / (1.0 + 0.5_f64.exp());
    let area = split + (1.0 - split) * ratio;
    let (stair, rest) = (size.floor(), size.fract());
    let within = rest.min(split) + (rest - split).max(0.0) * ratio;
    let beyond = ratio.powf(stair) * (1.0 - (1.0 - ratio) * within / area);
    if x < 0.0 { 0.5 * beyond } else { 1.0 - 0.5 * beyond }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        FastNoise,
        audit::attack::{AuditNoise, NoiseKind},
        audit::everything::Everything,
    };

    /// Seeded bits under the samplers of a deployment.
    struct Exact(FastNoise);

    impl Noise for Exact {
        const PROTECTS_PEOPLE: bool = false;
        const NAME: &'static str = "seeded bits";

        fn bits(&mut self) -> u64 {
            self.0.bits()
        }

        fn refresh(&mut self) -> reticent::Result<()> {
            self.0.refresh()
        }

        fn split(&mut self) -> reticent::Result<Self> {
            self.0.split().map(Exact)
        }
    }

    #[test]
    fn every_deployed_sampler_draws_its_law_and_halved_draws_are_detected() {
        let found = checks(&mut Exact(FastNoise::seeded(17))).unwrap();
        assert_eq!(found.len(), 12);
        assert!(found.iter().all(|check| check.held && check.caught), "{found:#?}");
    }

    /// Planted: the discrete samplers of a deployment draw half of what they should. The whole audit fails and names them.
    #[test]
    fn the_audit_fails_if_the_deployed_samplers_are_scaled_by_one_half() {
        let mut planted = AuditNoise::new(NoiseKind::Halved, 0).unwrap();
        let samplers = checks(&mut planted).unwrap();
        let wrong = |check: &&Check| check.claim.contains("discrete") && !check.held;
        assert_eq!(samplers.iter().filter(wrong).count(), 6, "{samplers:#?}");
        let all = Everything { samplers, ..Everything::default() };
        let failures = all.failures().join("; ");
        assert!(failures.contains("the discrete Gaussian of sigma 2^44"), "{failures}");
        assert!(all.table().contains("FAILED"));
    }
}
