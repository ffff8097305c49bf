//! Randomisers of gradients (paper 2): the server is the adversary and sees the report of a device.
//!
//! Noise of density `exp(-c ||z||)` has the log-likelihood ratio `c (||r - g|| - ||r - g'||)` in the same norm: Euclidean for K-norm noise,
//! l1 for Laplace and, up to its steps, staircase noise. Opposite gradients of the largest norm are furthest apart.

use std::sync::Arc;

use reticent::{
    privacy::Guarantee,
    randomize::{Gradient, GradientReport},
};

use super::{Attack, AuditNoise, Test, View};

/// Runs on each data set.
const SAMPLES: u64 = 100_000;

/// The report of a device for a gradient.
pub type Device =
    Arc<dyn Fn(Gradient<'_>, &mut AuditNoise) -> reticent::Result<GradientReport> + Send + Sync>;

/// The norm of a randomiser's noise.
#[derive(Debug, Clone, PartialEq)]
pub enum NoiseNorm {
    /// `||z||_2`.
    Euclidean,
    /// `sum w_j |z_j|`.
    Absolute(Vec<f64>),
}

impl NoiseNorm {
    fn of(&self, report: &[f64], sign: f64, gradient: &[f64]) -> f64 {
        let off = report.iter().zip(gradient).map(|(r, g)| r - sign * g);
        match self {
            NoiseNorm::Euclidean => off.map(|z| z * z).sum::<f64>().sqrt(),
            NoiseNorm::Absolute(weights) => off.zip(weights).map(|(z, w)| w * z.abs()).sum(),
        }
    }
}

/// Attacks on all reports of a person, whose gradient is `gradient` or its opposite.
pub fn attacks(
    device: Device,
    gradient: Vec<f64>,
    norm: NoiseNorm,
    reports: u64,
    guarantee: &Guarantee,
) -> Vec<Attack> {
    let adversary = format!(
        "the server sees {} ; a gradient against its opposite; likelihood ratio in the norm of the noise",
        if reports == 1 { "one report".into() } else { format!("{reports} reports of one person") }
    )
    .replace(" ;", ";");
    let samples = (SAMPLES / reports.max(1)).max(20_000);
    let attack = Attack::new(adversary, guarantee, samples, move || {
        let (device, gradient, norm) = (device.clone(), gradient.clone(), norm.clone());
        let opposite: Vec<f64> = gradient.iter().map(|g| -g).collect();
        let view: View = Box::new(move |data, mut noise| {
            let mine = data.pick((&gradient, &opposite));
            let mut score = 0.0;
            for _ in 0..reports {
                let report =
                    dense(device(Gradient::from(mine.as_slice()), &mut noise)?, gradient.len());
                score += norm.of(&report, 1.0, &gradient) - norm.of(&report, -1.0, &gradient);
            }
            Ok(vec![score])
        });
        Ok((view, Test::Scores))
    });
    vec![attack]
}

fn dense(report: GradientReport, dimension: usize) -> Vec<f64> {
    match report {
        GradientReport::Dense(entries) => entries,
        GradientReport::Sparse(entries) => {
            let mut all = vec![0.0; dimension];
            entries.into_iter().for_each(|(index, value)| all[index] = value);
            all
        }
    }
}
