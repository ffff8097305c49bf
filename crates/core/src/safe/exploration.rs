//! Pure exploration: actions that are safe whatever the parameters are.
//!
//! ```text
//! D_0 = {X : sum_m |a_im| S_m ||x_m|| <= b_i,  ||x_m|| <= K_m}                                                    (7)
//! ```
//!
//! Each `x_m` is drawn on a sphere of its own, of radius `rho_m`, so that `E x_m x_m^T = (rho_m^2 / d) I`: the radii are those of a linear
//! program that makes the smallest as large as possible, then their sum. The paper draws all agents from one ball of radius r, which
//! gives `r^2 / (4 M d)`: twelve times less on its own example.

use super::{
    Polytope,
    agent::AgentParams,
    linear_program::{Dictionary, Status},
    polytope::stalled,
};
use crate::{
    Result,
    noise::{Noise, uniform_direction},
};

/// The radii rho_m.
pub(super) fn radii(polytope: &Polytope, agents: &[AgentParams]) -> Result<Vec<f64>> {
    let count = agents.len();
    // Columns: the common part t, then what each agent may have above it.
    let mut bounds = polytope.bounds().to_vec();
    bounds.extend(agents.iter().map(|agent| agent.action_bound));
    let mut dictionary = Dictionary::default();
    dictionary.restart(&bounds);
    let part = |row: &[f64], m: usize| row[m].abs() * agents[m].parameter_bound;
    let mut common: Vec<f64> =
        polytope.rows().iter().map(|row| (0..count).map(|m| part(row, m)).sum()).collect();
    common.resize(bounds.len(), 1.0);
    dictionary.push(1.0, 0.0, &common);
    for m in 0..count {
        let mut column: Vec<f64> = polytope.rows().iter().map(|row| part(row, m)).collect();
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
    radii.iter_mut().for_each(|radius| *radius += common);
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
