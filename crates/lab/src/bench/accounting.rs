//! Duration of accounting.

use reticent::privacy::{Accountant, Event, gaussian, shuffle};

use super::{Figure, stopwatch::nanoseconds};
use crate::Result;

pub fn figures() -> Result<Vec<Figure>> {
    let mut figures = vec![Figure::new(
        "exact mu of (1, 1e-6)",
        1e-3 * nanoseconds(2_000, || gaussian::mu(1.0, 1e-6)),
        "us",
    )];
    let composed = [
        ("Laplace, scale 30", Event::Laplace { sensitivity: 1.0, scale: 30.0 }),
        ("discrete Gaussian, sigma 50", Event::DiscreteGaussian { sensitivity: 1, sigma: 50.0 }),
        (
            "randomised response, epsilon 0.05",
            Event::RandomizedResponse { categories: 2, epsilon: 0.05 },
        ),
    ];
    for (name, event) in composed {
        let thousand = Event::Repeated { event: Box::new(event), times: 1000 };
        let time =
            nanoseconds(1, || Accountant::price(&thousand).and_then(|curve| curve.epsilon(1e-6)));
        figures.push(
            Figure::new(format!("1000-fold composition, {name}"), 1e-6 * time, "ms")
                .beside(100.0, "required, at most"),
        );
    }
    for people in [1_000_000, 1_000_000_000] {
        let time = nanoseconds(1, || shuffle::epsilon(2.0, people, 1e-9, false));
        figures.push(Figure::new(
            format!("shuffling, n = {people:.0e}", people = people as f64),
            1e-6 * time,
            "ms",
        ));
    }
    Ok(figures)
}
