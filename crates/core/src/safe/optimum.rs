//! The exact optimistic choice: the best safe action for the best parameter, over all agents at once.
//!
//! ```text
//! max  f(y)   subject to   A p + |A| s <= b  (safe for every parameter in the confidence sets),   |y - p| <= s
//! ```
//!
//! over actions `X` with `p_m = <theta^_m, x_m>`, `s_m = beta_m ||x_m||_{G_m^-1}`, `||x_m|| <= K_m`: line 18 of Algorithm 1. The paper
//! relaxes the norms and enumerates `(2 d)^M` convex programs. Here it is one linear program: for linear f an agent enters only
//! through (p, s), and what is reachable is the cone with rays `(+-tau, 1)` (`reach`), so
//!
//! ```text
//! max  sum_{m,+-} (+-c_m tau_m + |c_m|) sigma_m^+-   subject to   sum (+-a_im tau_m + |a_im|) sigma_m^+- <= b_i,  sigma >= 0.
//! ```
//!
//! It is bounded because Y is: a direction without end would make every y with `|y - p| <= s` one of Y. Where the ball binds or f
//! is not linear, `columns` solves it over the hulls of the reachable sets.
//!
//! **The hulls cost nothing** in two or more dimensions. The edges of a hull that are not reachable are those on which `u p + v s` is
//! constant with u = 0: for `u != 0` the best q (see `reach`) is unique. At prices lambda, `u = g - sum lambda_i a_im` and
//! `v = |g| - sum lambda_i |a_im|`, g the slope of f_m; u = 0 means `|g| <= sum lambda_i |a_im|`, hence `v <= 0`, where x = 0 is as
//! good as the edge. Only ties (u = v = 0) can leave an agent between its points; then the point with the larger p decides, and
//! whatever s is out of reach is lowered, which stays safe. In one dimension only the rays exist, and the signs are branched on.
//!
//! **Certificate.** Every choice carries an upper bound proved by prices (weak duality), so that the gap to the optimum is known.
//!
//! **Ties** go to the largest `sum c_m p_m`, then to the shortest actions.

use super::{
    Objective,
    columns::{Columns, GAP, Mixture},
    objective::Term,
    reach::{Point, Reach},
};
use crate::geometry::{Dictionary, Polytope, Status};

/// Branches looked at, in one dimension, before the gap is left as it is.
const MOST_BRANCHES: usize = 2000;

/// Actions for all agents, and how good they are.
#[derive(Debug, Clone)]
pub(super) struct Choice {
    pub(super) actions: Vec<Vec<f64>>,
    /// The optimistic value of the actions.
    pub(super) value: f64,
    /// No safe actions have a larger one.
    pub(super) upper: f64,
    /// No interval `p +- s` is wider than the program's, so that the actions are as safe as its point.
    faithful: bool,
}

/// Room for the programs, kept from round to round.
#[derive(Debug, Default)]
pub(super) struct Optimizer {
    dictionary: Dictionary,
    columns: Columns,
    entries: Vec<f64>,
}

impl Optimizer {
    /// The best choice.
    pub(super) fn optimistic(
        &mut self,
        polytope: &Polytope,
        objective: &Objective,
        reaches: &[Reach<'_>],
    ) -> Choice {
        let terms: Vec<Term> = (0..reaches.len()).map(|agent| objective.term(agent)).collect();
        let choice = self.relaxed(polytope, &terms, reaches);
        if settled(&choice) || reaches.iter().all(|reach| reach.dimension() > 1) {
            return choice;
        }
        self.branch(polytope, &terms, reaches, choice)
    }

    /// The best choice over the hulls, brought back to what is reachable.
    fn relaxed(&mut self, polytope: &Polytope, terms: &[Term], reaches: &[Reach<'_>]) -> Choice {
        let linear = terms.iter().all(|term| matches!(term, Term::Linear { .. }));
        let cone = if linear { self.cones(polytope, terms, reaches) } else { None };
        let Some(cone) = cone else {
            let mixture = self.columns.generate(polytope, terms, reaches, &[]);
            return recovered(terms, reaches, &mixture);
        };
        let cut = recovered(terms, reaches, &cone);
        if settled(&cut) {
            return cut;
        }
        // The ball binds. What is cut off at it need not be allowed by the agent's own rows: no seed then.
        let seed = |(reach, x): (&Reach<'_>, &Vec<f64>)| {
            let point = reach.point(x);
            if reach.allows_point(point) { point } else { Point::default() }
        };
        let seeds: Vec<Point> = reaches.iter().zip(&cut.actions).map(seed).collect();
        let mixture = self.columns.generate(polytope, terms, reaches, &seeds);
        let choice = recovered(terms, reaches, &mixture);
        Choice { upper: choice.upper.min(cut.upper), ..choice }
    }

    /// The program over the cones, without the ball.
    fn cones(
        &mut self,
        polytope: &Polytope,
        terms: &[Term],
        reaches: &[Reach<'_>],
    ) -> Option<Mixture> {
        let size = |row: &Vec<f64>| row.iter().fold(1e-300, |most: f64, a| most.max(a.abs()));
        let scales: Vec<f64> = polytope.rows().iter().map(|row| 1.0 / size(row)).collect();
        let bounds: Vec<f64> = polytope.bounds().iter().zip(&scales).map(|(b, s)| b * s).collect();
        let weight = |agent: usize| match terms[agent] {
            Term::Linear { weight } => weight,
            _ => 0.0,
        };
        let unit = (0..terms.len()).fold(1e-300, |most: f64, m| most.max(weight(m).abs()));
        self.dictionary.restart(&bounds);
        let mut rays: Vec<(usize, Point)> = Vec::with_capacity(2 * terms.len());
        for (agent, reach) in reaches.iter().enumerate() {
            let (c, slope) = (weight(agent), reach.slope());
            for sign in [1.0, -1.0] {
                if !reach.allows(sign) || sign < 0.0 && slope == 0.0 {
                    continue;
                }
                let (mean, spread) = (sign * slope / (1.0 + slope), 1.0 / (1.0 + slope));
                self.entries.clear();
                let entry = |(row, scale): (&Vec<f64>, &f64)| {
                    (row[agent] * mean + row[agent].abs() * spread) * scale
                };
                self.entries.extend(polytope.rows().iter().zip(&scales).map(entry));
                let worth = (c * mean + c.abs() * spread) / unit;
                self.dictionary.push(worth, c * mean / unit, &self.entries);
                rays.push((agent, Point { mean, spread }));
            }
        }
        if self.dictionary.solve() != Status::Optimal {
            return None;
        }
        let mut points = vec![Point::default(); terms.len()];
        self.dictionary.for_each_value(|k, length| {
            let (agent, ray) = rays[k];
            points[agent].mean += length * ray.mean;
            points[agent].spread += length * ray.spread;
        });
        // Weak duality over the ball: what rounding leaves of a ray's reduced cost, times the longest it can be.
        let prices: Vec<f64> =
            (0..scales.len()).map(|i| self.dictionary.multiplier(i) * scales[i] * unit).collect();
        let mut upper: f64 = prices.iter().zip(polytope.bounds()).map(|(z, b)| z * b).sum();
        for (agent, reach) in reaches.iter().enumerate() {
            let (mut u, mut v) = (weight(agent), weight(agent).abs());
            for (price, row) in prices.iter().zip(polytope.rows()) {
                u -= price * row[agent];
                v -= price * row[agent].abs();
            }
            let rate =
                |sign: f64| if reach.allows(sign) { sign * u * reach.slope() + v } else { v };
            upper += rate(1.0).max(rate(-1.0)).max(0.0) * reach.largest_spread();
        }
        let responses = vec![0.0; terms.len()];
        Some(Mixture { points, responses, upper })
    }

    /// Best-first branching on the signs of one-dimensional agents that the relaxation left between their rays.
    fn branch(
        &mut self,
        polytope: &Polytope,
        terms: &[Term],
        reaches: &[Reach<'_>],
        root: Choice,
    ) -> Choice {
        // A root that is not as safe as its program would be scaled back to who knows what: doing nothing is what is known.
        let mut best = if root.faithful { root.clone() } else { nothing(terms, reaches) };
        let mut open = vec![(root.upper, vec![0.0; reaches.len()])];
        let mut upper = best.value;
        for _ in 0..MOST_BRANCHES {
            let next = (0..open.len()).max_by(|&i, &j| open[i].0.total_cmp(&open[j].0));
            let Some(index) = next else { break };
            if open[index].0 - best.value <= GAP * best.value.abs().max(1e-300) {
                break;
            }
            let (_, signs) = open.swap_remove(index);
            let restricted: Vec<Reach<'_>> =
                reaches.iter().zip(&signs).map(|(reach, sign)| reach.restricted(*sign)).collect();
            let choice = self.relaxed(polytope, terms, &restricted);
            let undecided =
                |agent: &usize| reaches[*agent].dimension() == 1 && signs[*agent] == 0.0;
            // The agent that loses most by being brought back to a ray.
            let largest = (0..reaches.len()).filter(undecided).max_by(|&i, &j| {
                let spread = |m: usize| restricted[m].point(&choice.actions[m]).spread;
                spread(j).total_cmp(&spread(i))
            });
            if choice.faithful && choice.value > best.value {
                best = choice.clone();
            }
            match largest {
                Some(agent) if choice.upper > best.value => {
                    for sign in [1.0, -1.0] {
                        let mut child = signs.clone();
                        child[agent] = sign;
                        open.push((choice.upper, child));
                    }
                }
                _ => upper = upper.max(choice.upper),
            }
        }
        let open = open.iter().fold(f64::NEG_INFINITY, |most: f64, node| most.max(node.0));
        best.upper = upper.max(open).max(best.value).min(root.upper);
        best
    }
}

/// Doing nothing, which is always safe.
fn nothing(terms: &[Term], reaches: &[Reach<'_>]) -> Choice {
    let actions = reaches.iter().map(|reach| vec![0.0; reach.dimension()]).collect();
    let value = terms.iter().map(|term| term.value(0.0)).sum();
    Choice { actions, value, upper: f64::INFINITY, faithful: true }
}

/// Returns whether the choice is as good as its bound.
fn settled(choice: &Choice) -> bool {
    choice.faithful && choice.upper - choice.value <= GAP * choice.upper.abs().max(1e-300)
}

/// Returns whether every row allows `point` if it allows `other`: neither end of the interval `p +- s` lies further out.
fn no_wider(point: Point, other: Point, rounding: f64) -> bool {
    point.mean + point.spread <= other.mean + other.spread + rounding
        && point.spread - point.mean <= other.spread - other.mean + rounding
}

/// An action for one point of a mixture. A mixed point of a concave part may lie above what is reachable; its response along the best
/// known direction then does as well, and is taken where it is no wider.
fn recover(term: &Term, reach: &Reach<'_>, mixture: &Mixture, agent: usize) -> Vec<f64> {
    let wanted = mixture.points[agent];
    let x = reach.recover(wanted);
    if matches!(term, Term::Linear { .. }) {
        return x;
    }
    let worth = |point: Point| term.most(point.mean - point.spread, point.mean + point.spread);
    let narrow = reach.towards(mixture.responses[agent]);
    let (there, here) = (reach.point(&narrow), reach.point(&x));
    let rounding = 1e-12 * (wanted.mean.abs() + wanted.spread);
    if no_wider(there, wanted, rounding) && worth(there) > worth(here) { narrow } else { x }
}

/// Actions for the points of a mixture, and what they are worth once reachable.
fn recovered(terms: &[Term], reaches: &[Reach<'_>], mixture: &Mixture) -> Choice {
    let actions: Vec<Vec<f64>> = (0..reaches.len())
        .map(|agent| recover(&terms[agent], &reaches[agent], mixture, agent))
        .collect();
    let mut value = 0.0;
    let mut nothing = 0.0;
    let mut faithful = true;
    for (((reach, term), x), wanted) in reaches.iter().zip(terms).zip(&actions).zip(&mixture.points)
    {
        let point = reach.point(x);
        let rounding = 1e-9 * (wanted.mean.abs() + wanted.spread);
        faithful &= no_wider(point, *wanted, rounding);
        value += term.most(point.mean - point.spread, point.mean + point.spread);
        nothing += term.value(0.0);
    }
    Choice { actions, value, upper: mixture.upper + nothing, faithful }
}

#[cfg(test)]
mod tests;
