//! Column generation (Dantzig and Wolfe 1960): one program over many agents, each known only by its answers to prices.
//!
//! ```text
//! max sum_m f_m(y_m)   subject to   sum_m a_im p_m + |a_im| s_m <= b_i,   (p_m, s_m, y_m) in the hull of what m can do
//! ```
//!
//! Rows that speak of one agent alone are part of what that agent can do; the others are the master's. The master program mixes the points found so far, at most one unit per agent, and prices the rows by its multipliers lambda. Each
//! agent answers with its best point at these prices, which becomes a column, until no answer improves the mixture. For any
//! `lambda >= 0` the prices prove an upper bound by themselves (weak duality):
//!
//! ```text
//! optimum <= lambda b + sum_m max (f_m(y) - alpha_m p - eta_m s),   alpha = A^T lambda,  eta = |A|^T lambda.
//! ```
//!
//! The smallest of these bounds is the certificate, whatever rounding did to the master.

use super::{
    objective::Term,
    reach::{Point, Reach},
};
use crate::geometry::{Dictionary, Polytope, Status, couples};

/// Relative gap at which the search ends.
pub(super) const GAP: f64 = 1e-9;
/// Rounds of prices before the search ends with the gap it has.
const ROUNDS: usize = 300;

/// An agent's answer to prices.
#[derive(Debug, Clone, Copy)]
pub(super) struct Offer {
    pub(super) point: Point,
    /// The y it counts with, between `p - s` and `p + s`.
    pub(super) response: f64,
    /// Gain of the objective at the point, over doing nothing.
    pub(super) worth: f64,
    /// No point is worth more than this at these prices.
    pub(super) bound: f64,
}

/// Whatever can answer to prices: an agent's reachable set, or a plain interval of responses.
pub(super) trait Oracle {
    /// The point with the largest `f(y) - mean_price p - spread_price s`.
    fn offer(&self, term: &Term, mean_price: f64, spread_price: f64) -> Offer;

    /// Points to begin with, each with its response.
    fn first_offers(&self, term: &Term, add: &mut dyn FnMut(Point, f64));
}

/// Responses in an interval around 0, known exactly.
#[derive(Debug, Clone, Copy)]
pub(super) struct Interval {
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Oracle for Interval {
    fn offer(&self, term: &Term, mean_price: f64, _: f64) -> Offer {
        let y = term.best(mean_price, self.low, self.high);
        let worth = term.value(y) - term.value(0.0);
        let bound = (worth - mean_price * y).max(0.0);
        Offer { point: Point { mean: y, spread: 0.0 }, response: y, worth, bound }
    }

    fn first_offers(&self, _: &Term, add: &mut dyn FnMut(Point, f64)) {
        for y in [self.low, self.high] {
            add(Point { mean: y, spread: 0.0 }, y);
        }
    }
}

impl Oracle for Reach<'_> {
    fn offer(&self, term: &Term, mean_price: f64, spread_price: f64) -> Offer {
        match *term {
            Term::Linear { weight } => {
                let (u, v) = (weight - mean_price, weight.abs() - spread_price);
                let point = self.capped_support(u, v);
                let worth = weight * point.mean + weight.abs() * point.spread;
                let response = point.mean + point.spread.copysign(weight);
                let bound = (u * point.mean + v * point.spread).max(0.0);
                Offer { point, response, worth, bound }
            }
            _ => concave_offer(self, term, mean_price, spread_price),
        }
    }

    fn first_offers(&self, term: &Term, add: &mut dyn FnMut(Point, f64)) {
        let mut add = |point: Point| {
            add(point, term.best(0.0, point.mean - point.spread, point.mean + point.spread));
        };
        // The other ray is offered when prices ask for it.
        let wanted = match *term {
            Term::Linear { weight } if self.dimension() > 1 => weight,
            _ => 0.0,
        };
        for sign in [1.0, -1.0] {
            if sign * wanted >= 0.0 && (self.dimension() > 1 || self.allows(sign)) {
                add(self.capped_tip(sign));
            }
        }
    }
}

/// A concave part by its tangents: at slope g the best point is that of a linear part, whose response y(g) grows with g while the
/// part's own slope at y falls, so the two meet once. Where y(g) jumps past the meeting point, the two ends are mixed.
///
/// For every g, `f(y) - alpha p - eta s <= f(y*) - g y* + max (g y - alpha p - eta s)`: the bound needs no convergence.
fn concave_offer(reach: &Reach<'_>, term: &Term, alpha: f64, eta: f64) -> Offer {
    let at = |slope: f64| {
        let point = reach.capped_support(slope - alpha, slope.abs() - eta);
        let sign = if slope < 0.0 { -1.0 } else { 1.0 };
        (point, point.mean + sign * point.spread)
    };
    let most = reach.largest_response();
    let (mut low, mut high) = (term.slope(most), term.slope(-most));
    let (mut below, mut above) = (at(low), at(high));
    for _ in 0..80 {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high || high - low < 1e-13 * (low.abs() + high.abs()) {
            break;
        }
        let here = at(middle);
        if term.slope(here.1) > middle {
            (low, below) = (middle, here);
        } else {
            (high, above) = (middle, here);
        }
    }
    let slope = 0.5 * (low + high);
    // Where the part has this slope: between the two ends, as far as they go.
    let target = term.best(slope, below.1.min(above.1), below.1.max(above.1));
    let share = if above.1 != below.1 {
        ((target - below.1) / (above.1 - below.1)).clamp(0.0, 1.0)
    } else {
        0.0
    };
    let mix = |a: f64, b: f64| a + share * (b - a);
    let point = Point {
        mean: mix(below.0.mean, above.0.mean),
        spread: mix(below.0.spread, above.0.spread),
    };
    let y = mix(below.1, above.1);
    // The same response along the best known direction costs no more where a larger p does not; it is a point of the set itself,
    // not of its hull, and it settles the ties between wide and narrow points that equal prices leave.
    let narrow = reach.point(&reach.towards(y));
    let cost = |point: Point| alpha * point.mean + eta * point.spread;
    let reaches = narrow.mean.abs() + narrow.spread >= y.abs() * (1.0 - 1e-9);
    let point = if reaches && cost(narrow) <= cost(point) { narrow } else { point };
    let worth = term.value(y) - term.value(0.0);
    let best = reach.capped_support(slope - alpha, slope.abs() - eta);
    let tangent = (slope - alpha) * best.mean + (slope.abs() - eta) * best.spread;
    let peak = term.best(slope, -most, most);
    let bound = term.value(peak) - slope * peak + tangent.max(0.0) - term.value(0.0);
    Offer { point, response: y, worth, bound: bound.max(0.0) }
}

/// Result of the search.
#[derive(Debug, Clone)]
pub(super) struct Mixture {
    /// One point per agent, in the hull of its set.
    pub(super) points: Vec<Point>,
    /// The response each point counts with.
    pub(super) responses: Vec<f64>,
    /// No safe choice is worth more, over doing nothing.
    pub(super) upper: f64,
}

/// A program's columns and scales, kept to spare allocations.
#[derive(Debug, Default)]
pub(super) struct Columns {
    dictionary: Dictionary,
    /// The rows of the polytope that couple agents.
    coupling: Vec<usize>,
    /// Agent, point and response of every column.
    points: Vec<(usize, Point, f64)>,
    worths: Vec<f64>,
    scales: Vec<f64>,
    entries: Vec<f64>,
}

impl Columns {
    /// Runs the search, beginning with the oracles' own points and `seeds`.
    pub(super) fn generate<O: Oracle>(
        &mut self,
        polytope: &Polytope,
        terms: &[Term],
        oracles: &[O],
        seeds: &[Point],
    ) -> Mixture {
        let agents = terms.len();
        self.begin(polytope, agents);
        let rows = self.coupling.len();
        let mut known: Vec<(usize, Point, f64)> = Vec::new();
        for (agent, (oracle, term)) in oracles.iter().zip(terms).enumerate() {
            oracle.first_offers(term, &mut |point, y| known.push((agent, point, y)));
            if let Some(seed) = seeds.get(agent) {
                let y = term.best(0.0, seed.mean - seed.spread, seed.mean + seed.spread);
                known.push((agent, *seed, y));
            }
        }
        let worth = |agent: usize, y: f64| terms[agent].value(y) - terms[agent].value(0.0);
        // Scaled to the best single offer: a far corner that is worth very little must not drown the rest.
        let size = |most: f64, offer: &(usize, Point, f64)| most.max(worth(offer.0, offer.2));
        let unit = match known.iter().fold(0.0, size) {
            best if best > 0.0 => best,
            _ => 1.0,
        };
        for (agent, point, y) in known {
            self.add(polytope, &terms[agent], agent, point, y, unit);
        }
        let mut upper = f64::INFINITY;
        let mut prices = vec![(0.0, 0.0); agents];
        for _ in 0..ROUNDS {
            if self.dictionary.solve() != Status::Optimal {
                break;
            }
            let mut bound = 0.0;
            prices.fill((0.0, 0.0));
            for (position, &row) in self.coupling.iter().enumerate() {
                let price = self.dictionary.multiplier(position) * self.scales[position] * unit;
                if price > 0.0 {
                    bound += price * polytope.bounds()[row];
                    for ((mean, spread), a) in prices.iter_mut().zip(&polytope.rows()[row]) {
                        *mean += price * a;
                        *spread += price * a.abs();
                    }
                }
            }
            let mut value = 0.0;
            self.dictionary.for_each_value(|k, weight| value += weight * self.worths[k]);
            let mut offers = Vec::with_capacity(agents);
            for (agent, &(mean, spread)) in prices.iter().enumerate() {
                let offer = oracles[agent].offer(&terms[agent], mean, spread);
                bound += offer.bound;
                let worth = offer.worth - mean * offer.point.mean - spread * offer.point.spread;
                if worth > self.dictionary.multiplier(rows + agent) * unit + 1e-13 * unit {
                    offers.push((agent, offer));
                }
            }
            upper = upper.min(bound);
            if upper - value <= GAP * upper.abs().max(1e-12 * unit) || offers.is_empty() {
                break;
            }
            if self.dictionary.columns() > 3 * (rows + agents) {
                self.dictionary.prune(0.02);
            }
            for (agent, offer) in offers {
                self.add(polytope, &terms[agent], agent, offer.point, offer.response, unit);
            }
        }
        let mut points = vec![Point::default(); agents];
        let mut responses = vec![0.0; agents];
        self.dictionary.for_each_value(|k, weight| {
            let (agent, point, y) = self.points[k];
            points[agent].mean += weight * point.mean;
            points[agent].spread += weight * point.spread;
            responses[agent] += weight * y;
        });
        Mixture { points, responses, upper }
    }

    /// An empty master: the coupling rows, scaled by their bounds, and one unit per agent.
    fn begin(&mut self, polytope: &Polytope, agents: usize) {
        self.points.clear();
        self.worths.clear();
        self.scales.clear();
        self.coupling.clear();
        self.coupling.extend((0..polytope.rows().len()).filter(|&i| couples(&polytope.rows()[i])));
        let mut bounds = Vec::with_capacity(self.coupling.len() + agents);
        for &row in &self.coupling {
            let size = polytope.rows()[row].iter().fold(0.0, |most: f64, a| most.max(a.abs()));
            let bound = polytope.bounds()[row];
            let scale = 1.0 / if bound > 1e-9 * size { bound } else { size.max(1e-300) };
            self.scales.push(scale);
            bounds.push(bound * scale);
        }
        bounds.resize(bounds.len() + agents, 1.0);
        self.dictionary.restart(&bounds);
    }

    fn add(
        &mut self,
        polytope: &Polytope,
        term: &Term,
        agent: usize,
        point: Point,
        response: f64,
        unit: f64,
    ) {
        let rows = self.coupling.len();
        self.entries.clear();
        let entry = |(&row, scale): (&usize, &f64)| {
            let a = polytope.rows()[row][agent];
            (a * point.mean + a.abs() * point.spread) * scale
        };
        self.entries.extend(self.coupling.iter().zip(&self.scales).map(entry));
        self.entries.resize(rows + agent + 1, 0.0);
        self.entries[rows + agent] = 1.0;
        let worth = term.value(response) - term.value(0.0);
        // The tie rule: then the largest sum of c_m p_m.
        self.dictionary.push(worth / unit, term.slope(response) * point.mean / unit, &self.entries);
        self.points.push((agent, point, response));
        self.worths.push(worth);
    }
}
