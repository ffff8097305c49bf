//! Duration of noise.

use reticent::{
    noise::{DiscreteGaussian, DiscreteLaplace, Noise, SecureNoise},
    randomize::PrivUnit,
};

use super::{Figure, open_dp, stopwatch::nanoseconds};
use crate::{FastNoise, Result};

/// Entries of the vector OpenDP is compared on: the Gram matrix and vector of a bandit in 32 dimensions.
const ENTRIES: usize = 560;

pub fn figures() -> Result<Vec<Figure>> {
    let mut noise = SecureNoise::from_system()?;
    let law = DiscreteGaussian::new(300)?;
    let fine = DiscreteGaussian::new(1 << 44)?;
    let laplace = DiscreteLaplace::new(300, 1)?;
    let mut figures = vec![
        Figure::new(
            "discrete Gaussian, sigma 300, exact",
            nanoseconds(20_000, || noise.discrete_gaussian(&law)),
            "ns",
        )
        .beside(200.0, "required, at most"),
        Figure::new(
            "discrete Gaussian, sigma 2^44, exact",
            nanoseconds(20_000, || noise.discrete_gaussian(&fine)),
            "ns",
        ),
        Figure::new(
            "discrete Laplace, scale 300, exact",
            nanoseconds(20_000, || noise.discrete_laplace(&laplace)),
            "ns",
        ),
    ];
    let vector = 1e-6
        * nanoseconds(50, || {
            let sum: i64 = (0..ENTRIES).map(|_| noise.discrete_gaussian(&law)).sum();
            sum
        });
    let vector = |what: &str| {
        Figure::new(format!("{ENTRIES} discrete Gaussians, sigma 300{what}"), vector, "ms")
    };
    figures.push(vector("").beside(0.12, "required, at most"));
    match open_dp::milliseconds() {
        Some((floats, integers)) => {
            figures.push(
                vector(", beside OpenDP floats")
                    .beside(floats, "OpenDP's Python package, this run"),
            );
            figures.push(
                vector(", beside OpenDP integers")
                    .beside(integers, "OpenDP's Python package, this run"),
            );
        }
        None => figures.push(vector(", OpenDP not installed: `cargo xtask test` installs it")),
    }
    for (epsilon, dimension) in [(1.0, 20), (8.0, 20)] {
        let randomizer = PrivUnit::new(dimension, epsilon)?;
        let mut unit = vec![0.0; dimension];
        unit[0] = 1.0;
        let time =
            nanoseconds(500, || randomizer.randomize(&unit, &mut noise).map(|report| report[0]));
        figures.push(
            Figure::new(
                format!("PrivUnit report, d = {dimension}, epsilon = {epsilon}"),
                1e-3 * time,
                "us",
            )
            .beside(20.0, "required of a person's device, at most"),
        );
    }
    let mut fast = FastNoise::seeded(1);
    figures.push(Figure::new(
        "discrete Gaussian, sigma 2^44, simulation only",
        nanoseconds(100_000, || fast.discrete_gaussian(&fine)),
        "ns",
    ));
    Ok(figures)
}
