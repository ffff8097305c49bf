//! Running sums: time and noise.

use reticent::{
    noise::SecureNoise,
    privacy::gaussian,
    release::{Calibration, Domain, Mechanism, PrivateSumParams, Schedule},
};

use super::{
    Figure,
    deviations::{PrefixDeviations, prefix_deviations},
    stopwatch::nanoseconds,
};
use crate::{
    Result,
    papers::constants::{Problem, joint::Published},
};

pub fn times() -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for buffers in [5, 8, 16] {
        let time = nanoseconds(1, || Mechanism::Blt { buffers }.factorize(1_000_000_000));
        figures.push(
            Figure::new(
                format!("BLT with {buffers} buffers designed for n = 1e9"),
                1e-6 * time,
                "ms",
            )
            .beside(200.0, "required, at most"),
        );
    }
    let mechanisms = [
        ("BLT", Mechanism::default()),
        ("binary tree", Mechanism::Tree { levels: None }),
        ("Honaker", Mechanism::Honaker),
    ];
    for (name, mechanism) in mechanisms {
        let every = PrivateSumParams { mechanism, schedule: Schedule::EveryRound, ..params() };
        figures.push(round(format!("{name}, d = 5, a release every round"), every)?);
    }
    figures.push(round("BLT, d = 5, capped releases (default)".into(), params())?);
    Ok(figures)
}

fn params() -> PrivateSumParams {
    PrivateSumParams::new(Domain::regression(5, 1.0, 1.0), Some(50_000_000), Calibration::Mu(0.5))
}

/// Time of one round of clipping, summing and, where due, releasing, with exact noise.
fn round(what: String, params: PrivateSumParams) -> Result<Figure> {
    let mut sum = params.check()?.start(SecureNoise::from_system()?);
    let features = [0.1, -0.4, 0.3, 0.2, 0.5];
    let time = nanoseconds(4_000, || {
        let contribution = sum.clip_with_reward(&features, 0.7)?;
        sum.absorb(&contribution)
    });
    Ok(Figure::new(what, 1e-3 * time, "us"))
}

/// Values that the design notes measured on prototypes, for (1, 0.1) and (1, 1e-6) at n = 1e4, 1e6, 5e7.
const NOTES: [(&str, [[f64; 3]; 2]); 8] = [
    ("the paper's tree", [[443.0, 620.0, 797.0], [1824.0, 2554.0, 3284.0]]),
    ("tree, exact", [[32.6, 45.6, 58.6], [127.0, 177.0, 228.0]]),
    ("Honaker", [[23.5, 32.7, 41.9], [91.0, 127.0, 163.0]]),
    ("square-root Toeplitz", [[8.68, 11.9, 14.6], [33.8, 46.2, 56.7]]),
    ("BLT, 5 buffers", [[8.68, 11.9, 14.8], [33.8, 46.4, 57.7]]),
    ("unknown horizon, doubling", [[13.7, 17.5, 21.4], [53.0, 68.0, 83.0]]),
    ("capped releases + BLT (default)", [[5.9, 7.2, 9.8], [22.9, 28.0, 38.1]]),
    ("lower bound, per round", [[7.5, 10.7, 13.4], [29.0, 41.0, 52.0]]),
];

pub fn deviations() -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for (column, delta) in [0.1, 1e-6].into_iter().enumerate() {
        let mu = gaussian::mu(1.0, delta)?;
        for (n, rounds) in [10_000, 1_000_000, 50_000_000].into_iter().enumerate() {
            let published = Published::new(Problem::unit(1), 1.0, delta, 0.1, rounds)?;
            let row = prefix_deviations(mu, rounds, published.levels())?;
            let measured = in_order(published.prefix_deviation(), &row);
            for ((name, notes), measured) in NOTES.iter().zip(measured) {
                let what = format!("(1, {delta:e}), n = {:.0e}: {name}", rounds as f64);
                figures
                    .push(Figure::new(what, measured, "").beside(notes[column][n], "design notes"));
            }
        }
    }
    Ok(figures)
}

fn in_order(paper: f64, row: &PrefixDeviations) -> [f64; 8] {
    [paper, row.tree, row.honaker, row.toeplitz, row.blt, row.doubling, row.capped, row.lower_bound]
}
