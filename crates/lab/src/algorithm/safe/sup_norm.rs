//! Line 18 of Algorithm 1 of paper 3 as its Appendix E computes it: with the sup norm in place of the Euclidean one.
//!
//! ```text
//! max sum_m c_m <theta^_m, x_m> + |c_m| beta_m ||G_m^(-1/2) x_m||_inf                     over X in D_t, (77)
//! ```
//!
//! The paper enumerates coordinates and signs, `(2d)^M` programs. With `w = beta G^(-1/2) x` and `u = G^(1/2) theta^ / beta`, at prices lambda of the rows, with `A = sum lambda_i a_im` and
//! `B = sum lambda_i |a_im|`, agent m's best direction of length 1 maximises `(c - A) <u, w> + |c| ||w||_inf`: it is `q / ||q||` with `q = (c - A) u + |c| gamma e_i`, where i is the largest
//! entry of `|u|` and gamma the sign of `(c - A) u_i`, whatever the prices are. So one linear program in these directions, found as they are priced (Dantzig and Wolfe), is exact
//! but for the ball `||x|| <= K`, to which an agent's action is shortened afterwards.

use reticent::{
    geometry::Polytope,
    linalg::SymmetricEigen,
    safe::{Coordinator, CoordinatorParams},
};

use crate::{FastNoise, Result};

/// Pivots before the search ends with what it has.
const MOST_PIVOTS: usize = 500;
/// Directions that gain less than this share of the weights are none.
const GAP: f64 = 1e-7;

/// Choices of a coordinator by the sup norm.
#[derive(Clone)]
pub(super) struct Relaxed {
    params: CoordinatorParams,
    /// c.
    weights: Vec<f64>,
    /// `G_m`, the upper triangle by rows.
    grams: Vec<Vec<f64>>,
}

impl Relaxed {
    pub(super) fn new(params: &CoordinatorParams, weights: &[f64]) -> Self {
        let diagonal = |d: usize| {
            let entries = (0..d).flat_map(|i| (i..d).map(move |j| f64::from(u8::from(i == j))));
            entries.map(|entry| params.regularizer * entry).collect()
        };
        let grams = params.agents.iter().map(|agent| diagonal(agent.dimension)).collect();
        Relaxed { params: params.clone(), weights: weights.to_vec(), grams }
    }

    /// Choice of line 18, if its program has a bound.
    pub(super) fn actions(
        &self,
        coordinator: &Coordinator<FastNoise>,
    ) -> Result<Option<Vec<Vec<f64>>>> {
        let mut agents = Vec::with_capacity(self.grams.len());
        for (m, gram) in self.grams.iter().enumerate() {
            let Some(estimate) = coordinator.estimate(m) else { return Ok(None) };
            let longest = self.params.agents[m].action_bound;
            agents.push(Known::new(self.weights[m], gram, estimate, longest)?);
        }
        Ok(choose(&self.params.polytope, &agents).map(|(actions, _)| actions))
    }

    /// Counts actions that were played.
    pub(super) fn play(&mut self, actions: &[Vec<f64>]) {
        for (gram, x) in self.grams.iter_mut().zip(actions) {
            let products = (0..x.len()).flat_map(|i| (i..x.len()).map(move |j| x[i] * x[j]));
            gram.iter_mut().zip(products).for_each(|(entry, product)| *entry += product);
        }
    }
}

/// One agent as the program sees it.
struct Known {
    /// c.
    weight: f64,
    /// u.
    aim: Vec<f64>,
    /// `G^(1/2) / beta`: from w to x.
    root: Vec<Vec<f64>>,
    longest: f64,
}

impl Known {
    /// From the regularised Gram matrix (upper triangle by rows), the estimate and the width.
    fn new(weight: f64, gram: &[f64], (theta, width): (&[f64], f64), longest: f64) -> Result<Self> {
        let d = theta.len();
        let eigen = SymmetricEigen::of(d, gram)?;
        let mut root = vec![vec![0.0; d]; d];
        for (value, vector) in eigen.values().iter().zip(eigen.vectors()) {
            let scale = value.max(0.0).sqrt() / width;
            for (row, v) in root.iter_mut().zip(vector) {
                row.iter_mut().zip(vector).for_each(|(entry, w)| *entry += scale * v * w);
            }
        }
        // G^(1/2) theta / beta: the root is symmetric.
        let aim = root.iter().map(|row| dot(row, theta)).collect();
        Ok(Known { weight, aim, root, longest })
    }

    /// Gain of the best direction at these prices over its cost, and the direction.
    fn offer(&self, mean_price: f64, spread_price: f64) -> (f64, Vec<f64>) {
        let pull = self.weight - mean_price;
        let mut q: Vec<f64> = self.aim.iter().map(|u| pull * u).collect();
        let largest = (0..q.len())
            .max_by(|i, j| self.aim[*i].abs().total_cmp(&self.aim[*j].abs()))
            .unwrap_or(0);
        q[largest] += self.weight.abs().copysign(q[largest]);
        let norm = dot(&q, &q).sqrt();
        q.iter_mut().for_each(|q| *q /= norm.max(f64::MIN_POSITIVE));
        (norm - spread_price, q)
    }

    /// The action of w, within the ball.
    fn action(&self, w: &[f64]) -> Vec<f64> {
        let mut x: Vec<f64> = self.root.iter().map(|row| dot(row, w)).collect();
        let norm = dot(&x, &x).sqrt();
        if norm > self.longest {
            x.iter_mut().for_each(|x| *x *= self.longest / norm);
        }
        x
    }
}

fn dot(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(a, b)| a * b).sum()
}

/// A direction of an agent in the basis, or a row's slack.
enum Basic {
    Slack(usize),
    Direction(usize, Vec<f64>),
}

/// The actions of (77), and their value; `None` where the program has no bound.
fn choose(polytope: &Polytope, agents: &[Known]) -> Option<(Vec<Vec<f64>>, f64)> {
    let (rows, count) = (polytope.rows(), polytope.rows().len());
    let scale = agents.iter().map(|agent| agent.weight.abs()).fold(0.0, f64::max);
    let mut inverse: Vec<Vec<f64>> =
        (0..count).map(|i| (0..count).map(|j| f64::from(u8::from(i == j))).collect()).collect();
    let mut basis: Vec<Basic> = (0..count).map(Basic::Slack).collect();
    let mut worths = vec![0.0; count];
    let mut levels = polytope.bounds().to_vec();
    for _ in 0..MOST_PIVOTS {
        let prices: Vec<f64> = (0..count)
            .map(|j| worths.iter().zip(&inverse).map(|(worth, row)| worth * row[j]).sum())
            .collect();
        let mut best = (GAP * scale, None);
        for (m, agent) in agents.iter().enumerate() {
            let total = |part: fn(f64) -> f64| {
                rows.iter().zip(&prices).map(|(row, price)| part(row[m]) * price).sum::<f64>()
            };
            let (gain, w) = agent.offer(total(|a| a), total(f64::abs));
            if gain > best.0 {
                best = (gain, Some(Basic::Direction(m, w)));
            }
        }
        for (row, price) in prices.iter().enumerate() {
            if -price > best.0 {
                best = (-price, Some(Basic::Slack(row)));
            }
        }
        let Some(entering) = best.1 else { break };
        let (worth, column) = match &entering {
            Basic::Slack(row) => {
                (0.0, (0..count).map(|i| f64::from(u8::from(i == *row))).collect::<Vec<_>>())
            }
            Basic::Direction(m, w) => {
                let agent = &agents[*m];
                let mean = dot(&agent.aim, w);
                let sup = w.iter().fold(0.0, |most: f64, w| most.max(w.abs()));
                let column = rows.iter().map(|row| row[*m] * mean + row[*m].abs()).collect();
                (agent.weight * mean + agent.weight.abs() * sup, column)
            }
        };
        let steps: Vec<f64> = inverse.iter().map(|row| dot(row, &column)).collect();
        let leaving = (0..count)
            .filter(|i| steps[*i] > 1e-12)
            .min_by(|i, j| (levels[*i] / steps[*i]).total_cmp(&(levels[*j] / steps[*j])))?;
        let pivot = steps[leaving];
        inverse[leaving].iter_mut().for_each(|entry| *entry /= pivot);
        levels[leaving] /= pivot;
        let (row, level) = (inverse[leaving].clone(), levels[leaving]);
        for i in (0..count).filter(|i| *i != leaving) {
            inverse[i].iter_mut().zip(&row).for_each(|(entry, own)| *entry -= steps[i] * own);
            levels[i] = (levels[i] - steps[i] * level).max(0.0);
        }
        (basis[leaving], worths[leaving]) = (entering, worth);
    }
    let mut actions: Vec<Vec<f64>> =
        agents.iter().map(|agent| vec![0.0; agent.aim.len()]).collect();
    let mut value = 0.0;
    for ((basic, level), worth) in basis.iter().zip(&levels).zip(&worths) {
        if let Basic::Direction(m, w) = basic {
            actions[*m].iter_mut().zip(w).for_each(|(sum, w)| *sum += level * w);
            value += level * worth;
        }
    }
    let actions = agents.iter().zip(&actions).map(|(agent, w)| agent.action(w)).collect();
    Some((actions, value))
}

#[cfg(test)]
mod tests {
    use reticent::{noise::Noise, safe::Simplex};

    use super::*;
    use crate::FastNoise;

    /// Objective of line 18, for actions.
    fn worth(agents: &[Known], ws: &[Vec<f64>]) -> f64 {
        let one = |(agent, w): (&Known, &Vec<f64>)| {
            let sup = w.iter().fold(0.0, |most: f64, w| most.max(w.abs()));
            agent.weight * dot(&agent.aim, w) + agent.weight.abs() * sup
        };
        agents.iter().zip(ws).map(one).sum()
    }

    /// The largest share of a row that w uses.
    fn usage(polytope: &Polytope, agents: &[Known], ws: &[Vec<f64>]) -> f64 {
        let rows = polytope.rows().iter().zip(polytope.bounds());
        rows.map(|(row, bound)| {
            let part = |(m, (agent, w)): (usize, (&Known, &Vec<f64>))| {
                row[m] * dot(&agent.aim, w) + row[m].abs() * dot(w, w).sqrt()
            };
            agents.iter().zip(ws).enumerate().map(part).sum::<f64>() / bound
        })
        .fold(0.0, f64::max)
    }

    #[test]
    fn no_safe_actions_are_worth_more() {
        let polytope = Simplex::new(&[1.0, 0.25, 0.5]).unwrap().polytope().unwrap();
        let mut noise = FastNoise::seeded(5);
        for case in 0..12 {
            let mut known = |weight: f64| {
                let mut gram = vec![0.0; 6];
                for _ in 0..4 {
                    let x: Vec<f64> = (0..3).map(|_| noise.standard_normal()).collect();
                    let products = [0, 0, 0, 1, 1, 2].into_iter().zip([0, 1, 2, 1, 2, 2]);
                    gram.iter_mut().zip(products).for_each(|(g, (i, j))| *g += x[i] * x[j]);
                }
                [0, 3, 5].into_iter().for_each(|i| gram[i] += 0.1);
                let theta: Vec<f64> = (0..3).map(|_| 0.4 * noise.standard_normal()).collect();
                Known::new(weight, &gram, (&theta, 0.7), 1e9).unwrap()
            };
            let agents = [known(0.8), known(0.1), known(if case % 3 == 0 { -0.1 } else { 0.1 })];
            let (actions, value) = choose(&polytope, &agents).expect("it is bounded");
            // The actions are worth what the program says, and use the rows up.
            let ws: Vec<Vec<f64>> =
                agents.iter().zip(&actions).map(|(agent, x)| solve(&agent.root, x)).collect();
            assert!((worth(&agents, &ws) / value - 1.0).abs() < 1e-6, "{case}");
            let used = usage(&polytope, &agents, &ws);
            assert!(used <= 1.0 + 1e-6 && used > 0.99, "{case}: {used}");
            // Other directions, made as long as is safe, and neighbours of the choice.
            for draw in 0..4000 {
                let near = if draw % 2 == 0 { 1.0 } else { 0.05 };
                let other: Vec<Vec<f64>> = ws
                    .iter()
                    .map(|w| {
                        let from = if draw % 2 == 0 { 0.0 } else { 1.0 };
                        w.iter().map(|w| from * w + near * 0.2 * noise.standard_normal()).collect()
                    })
                    .collect();
                let used = usage(&polytope, &agents, &other);
                if used > 0.0 {
                    let found = worth(&agents, &other) / used;
                    assert!(found <= value * (1.0 + 1e-6) + 1e-9, "{case}: {found} {value}");
                }
            }
        }
    }

    /// Gauss' elimination for three unknowns.
    fn solve(matrix: &[Vec<f64>], right: &[f64]) -> Vec<f64> {
        let mut rows: Vec<Vec<f64>> =
            matrix.iter().zip(right).map(|(row, b)| [&row[..], &[*b]].concat()).collect();
        for i in 0..3 {
            let pivot = rows[i][i];
            rows[i].iter_mut().for_each(|entry| *entry /= pivot);
            let own = rows[i].clone();
            for (j, row) in rows.iter_mut().enumerate().filter(|(j, _)| *j != i) {
                let factor = row[i];
                row.iter_mut().zip(&own).for_each(|(entry, own)| *entry -= factor * own);
                let _ = j;
            }
        }
        rows.iter().map(|row| row[3]).collect()
    }
}
