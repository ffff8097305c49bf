//! Pure exploration: actions that are safe whatever the parameters are.
//!
//! ```text
//! D_0 = {X : sum_m |a_im| S_m ||x_m|| <= b_i,  ||x_m|| <= K_m}                                                    (7)
//! ```
//!
//! Each `x_m` is drawn on a sphere of its own, of radius `rho_m`, so that `E x_m x_m^T = (rho_m^2 / d) I`: the radii are those of a linear
//! program that makes the smallest as large as possible, then their sum. The paper draws all agents from one ball of radius r, which
//! gives `r^2 / (4 M d)`: twelve times less on its own example.

use super::agent::AgentParams;
use crate::{
    Result,
    geometry::{Dictionary, Polytope, Status, stalled},
    noise::{Noise, uniform_direction},
};

/// The radii rho_m.
pub(super) fn radii(polytope: &Polytope, agents: &[AgentParams]) -> Result<Vec<f64>> {
    let count = agents.len();
    // Columns: the common part t, then what each agent may have above it. Rows are scaled to 1: units must not decide what is rounding.
    let part = |row: &[f64], m: usize| row[m].abs() * agents[m].parameter_bound;
    let sums: Vec<f64> =
        polytope.rows().iter().map(|row| (0..count).map(|m| part(row, m)).sum()).collect();
    let longest = agents.iter().fold(0.0, |most: f64, agent| most.max(agent.action_bound));
    let scales: Vec<f64> =
        sums.iter().map(|&sum| if sum > 0.0 { 1.0 / (sum * longest) } else { 1.0 }).collect();
    let mut bounds: Vec<f64> = polytope.bounds().iter().zip(&scales).map(|(b, s)| b * s).collect();
    bounds.extend(agents.iter().map(|agent| agent.action_bound / longest));
    let mut dictionary = Dictionary::default();
    dictionary.restart(&bounds);
    let mut common: Vec<f64> = sums.iter().zip(&scales).map(|(sum, s)| sum * s * longest).collect();
    common.resize(bounds.len(), 1.0);
    dictionary.push(1.0, 0.0, &common);
    for m in 0..count {
        let entry = |(row, s): (&Vec<f64>, &f64)| part(row, m) * s * longest;
        let mut column: Vec<f64> = polytope.rows().iter().zip(&scales).map(entry).collect();
        column.resize(bounds.len(), 0.0);
        column[polytope.rows().len() + m] = 1.0;
        dictionary.push(0.0, 1.0, &column);
    }
    if dictionary.solve() != Status::Optimal {
        return Err(stalled());
    }
    let mut radii = vec![0.0; count];
    let mut common = 0.0;
    dictionary.for_each_value(|k, value| match k {
        0 => common = value,
        m => radii[m - 1] = value,
    });
    radii.iter_mut().for_each(|radius| *radius = (*radius + common) * longest);
    Ok(radii)
}

/// One action per agent, on its sphere.
pub(super) fn sample(
    radii: &[f64],
    agents: &[AgentParams],
    noise: &mut impl Noise,
) -> Vec<Vec<f64>> {
    let mut action = |(radius, agent): (&f64, &AgentParams)| {
        let mut x = uniform_direction(agent.dimension, noise);
        x.iter_mut().for_each(|x| *x *= radius);
        x
    };
    radii.iter().zip(agents).map(&mut action).collect()
}

/// The smallest eigenvalue of `E x_m x_m^T` over agents: `min rho_m^2 / d`.
pub(super) fn smallest_eigenvalue(radii: &[f64], agents: &[AgentParams]) -> f64 {
    let of = |(radius, agent): (&f64, &AgentParams)| radius * radius / agent.dimension as f64;
    radii.iter().zip(agents).map(of).fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::safe::{ResponsePrivacy, Simplex};

    /// Watts, kilowatts or gigawatts: the same actions are safe.
    #[test]
    fn units_do_not_matter() {
        let agent = |unit: f64| AgentParams {
            dimension: 3,
            parameter_bound: 0.5 * unit,
            action_bound: 2.0,
            response_noise: 0.0,
            lower: -unit,
            upper: unit,
            privacy: ResponsePrivacy::None,
        };
        for unit in [1.0, 1e-14, 1e14] {
            let reaches = [1.0, 0.25, 0.5].map(|c| c * unit);
            let polytope = Simplex::new(&reaches).unwrap().polytope().unwrap();
            let radii = radii(&polytope, &vec![agent(unit); 3]).unwrap();
            assert!(radii.iter().all(|rho| (7.0 * rho - 1.0).abs() < 1e-9), "{unit}: {radii:?}");
        }
    }
}
