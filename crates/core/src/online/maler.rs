//! Maler: a learner with good regret on convex, exp-concave and strongly convex losses that does not need to know the type.
//!
//! ```text
//! theta_t = sum_e w_e eta_e theta_e / sum_e w_e eta_e,    w_e <- w_e exp(-surrogate loss of e)
//! ```
//!
//! Wang, Lu and Zhang, "Adaptivity and Optimality: A Universal Algorithm for Online Convex Optimization" (2020); Algorithms
//! 5 to 8 of paper 0, on a ball of radius D, whose diameter is 2D. The experts are one of gradient descent at rate
//! `eta_c = 1/(4 G D sqrt T)` and prior 1/3, and for each rate `eta_i = 2^-i/(10 G D)`, `i = 0 ... ceil(log2(T)/2)`, one for
//! strongly convex and one for exp-concave losses, each with prior `C/(3 (i+1)(i+2))`, `C = 1 + 1/(1 + ceil(log2(T)/2))`.
//!
//! **Guarantee** (their Theorem 1), with `A = 2 ln(sqrt 3 (log2(T)/2 + 3))` and `e_t = theta_t - u` for any u of the ball:
//!
//! ```text
//! sum <g_t, e_t> <= (4 ln 3 + 3) G D sqrt T                                                        always
//! sum <g_t, e_t> <= 3 sqrt(V (A + 10 d ln T)) + 20 G D (A + 10 d ln T),   V = sum <g_t, e_t>^2     and
//! sum <g_t, e_t> <= 3 sqrt(V (A + 1 + ln T)) + 20 G D (A + 1 + ln T),     V = G^2 sum ||e_t||^2.
//! ```
//!
//! Gradients longer than G are shortened to G; the guarantee is then about the shortened ones. [`Maler::shortened`] counts them.

mod experts;
mod projection;
mod weights;

use pulp::{Arch, Simd, WithSimd};
use serde::{Deserialize, Serialize};

use self::{
    experts::{ABSENT, Round, Tile},
    projection::{LANES, Workspace, ZERO},
    weights::{exponentials, total},
};
use super::{BallLearner, check_gradient, gradient_descent::into_ball};
use crate::{
    Error, Result,
    error::{finite_vector, positive},
    linalg::{dot, lanes::arch, triangle},
    refuse_if, wire,
};

/// Parameters of [`Maler`].
///
/// ```
/// use reticent::online::{MalerParams, BallLearner};
/// let mut learner = MalerParams::new(2, 1.0, 4.0, 1000).check()?;
/// for _ in 0..1000 {
///     let theta = learner.prediction();
///     let gradient = [2.0 * (theta[0] - 0.3), 2.0 * (theta[1] + 0.4)];
///     learner.absorb(&gradient)?;
/// }
/// assert!((learner.prediction()[1] + 0.4).abs() < 0.01);
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MalerParams {
    /// Entries of a prediction, d.
    pub dimension: usize,
    /// Predictions stay within this distance of zero, D.
    pub radius: f64,
    /// Gradients are shortened to this length, G.
    pub gradient_bound: f64,
    /// Largest number of rounds, T, for which the rates are chosen.
    pub horizon: u64,
    /// True if there are experts for exp-concave losses; false is for comparisons.
    #[serde(default = "yes")]
    pub exp_concave: bool,
    /// True if there are experts for strongly convex losses.
    #[serde(default = "yes")]
    pub strongly_convex: bool,
}

fn yes() -> bool {
    true
}

impl MalerParams {
    /// All three families.
    pub fn new(dimension: usize, radius: f64, gradient_bound: f64, horizon: u64) -> Self {
        MalerParams {
            dimension,
            radius,
            gradient_bound,
            horizon,
            exp_concave: true,
            strongly_convex: true,
        }
    }

    /// A learner at zero; the error names the parameter to change.
    pub fn check(&self) -> Result<Maler> {
        const MOST: usize = 1 << 12;
        let remedy = format_args!("expected 1 to {MOST}");
        refuse_if(!(1..=MOST).contains(&self.dimension), "dimension", self.dimension, remedy)?;
        for (field, value) in [("radius", self.radius), ("gradient_bound", self.gradient_bound)] {
            let size = positive(field, value)?;
            // Squares of rates and their inverses stay far from the ends of a double.
            let remedy = "expected 1e-30 to 1e30; choose other units";
            refuse_if(!(1e-30..=1e30).contains(&size), field, value, remedy)?;
        }
        refuse_if(self.horizon == 0, "horizon", 0, "expected a whole number above 0")?;
        let grid = self.grid();
        let families = [self.strongly_convex, self.exp_concave];
        let tile = |grid: &[(f64, f64)]| Tile::new(self.dimension, self.radius, grid, families);
        let zero = vec![0.0; self.dimension];
        Ok(Maler {
            params: *self,
            rounds: 0,
            shortened: 0,
            convex: Convex { log_weight: libm::log(1.0 / 3.0), point: zero.clone() },
            tiles: grid.chunks(LANES).map(tile).collect(),
            prediction: zero.clone(),
            scratch: Scratch { gradient: zero, workspace: Workspace::new(self.dimension) },
        })
    }

    /// `(eta_i, pi_i)`.
    fn grid(&self) -> Vec<(f64, f64)> {
        let last = (0.5 * libm::log2(self.horizon as f64)).ceil();
        let norm = (1.0 + 1.0 / (1.0 + last)) / 3.0;
        let first = 1.0 / (10.0 * self.gradient_bound * self.radius);
        (0..=last as u32)
            .map(|i| {
                let place = f64::from(i);
                (libm::ldexp(first, -(i as i32)), norm / ((place + 1.0) * (place + 2.0)))
            })
            .collect()
    }

    /// `eta_c`.
    fn convex_rate(&self) -> f64 {
        0.25 / (self.gradient_bound * self.radius * (self.horizon as f64).sqrt())
    }

    /// `A = 2 ln(sqrt 3 (log2(T)/2 + 3))`: the regret for not knowing the best expert.
    pub fn mixing_cost(&self) -> f64 {
        2.0 * libm::log(3_f64.sqrt() * (0.5 * libm::log2(self.horizon as f64) + 3.0))
    }

    /// The regret on losses with `l(theta) - l(u) <= <g, theta - u> - curvature <g, theta - u>^2` is at most this.
    pub fn exp_concave_regret_bound(&self, curvature: f64) -> f64 {
        let experts = 10.0 * self.dimension as f64 * libm::log(self.horizon as f64);
        self.curved_regret_bound(experts, curvature)
    }

    /// `3 sqrt(V B) + 20 G D B - curvature V` at the worst V.
    fn curved_regret_bound(&self, experts: f64, curvature: f64) -> f64 {
        let cost = self.mixing_cost() + experts;
        cost * (2.25 / curvature + 20.0 * self.gradient_bound * self.radius)
    }
}

/// Algorithm 6.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Convex {
    log_weight: f64,
    point: Vec<f64>,
}

impl Convex {
    #[inline(always)]
    fn step(&mut self, rate: f64, round: Round<'_>) {
        let along = dot(round.gradient, &self.point) - dot(round.gradient, round.prediction);
        let size = 2.0 * rate * round.gradient_bound * round.radius;
        self.log_weight -= rate * along + size * size;
        let step = 2.0 * round.radius / (round.gradient_bound * round.number.sqrt());
        for (point, slope) in self.point.iter_mut().zip(round.gradient) {
            *point -= step * slope;
        }
        into_ball(&mut self.point, round.radius);
    }
}

/// Scratch space, so that a round allocates nothing.
#[derive(Debug, Clone, Default)]
struct Scratch {
    gradient: Vec<f64>,
    workspace: Workspace,
}

/// Algorithm 5 after some rounds.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Maler {
    params: MalerParams,
    rounds: u64,
    shortened: u64,
    convex: Convex,
    tiles: Vec<Tile>,
    prediction: Vec<f64>,
    #[serde(skip)]
    scratch: Scratch,
}

/// Equality of everything that later rounds depend on; scratch space is ignored.
impl PartialEq for Maler {
    fn eq(&self, other: &Self) -> bool {
        self.save() == other.save()
    }
}

impl BallLearner for Maler {
    fn prediction(&self) -> &[f64] {
        &self.prediction
    }

    fn absorb(&mut self, gradient: &[f64]) -> Result<()> {
        self.absorb_on(arch(), gradient)
    }
}

impl Maler {
    /// The learner's parameters.
    pub fn params(&self) -> &MalerParams {
        &self.params
    }

    /// Gradients seen so far.
    pub fn rounds(&self) -> u64 {
        self.rounds
    }

    /// Number of gradients that were longer than the bound and have been shortened to it.
    pub fn shortened(&self) -> u64 {
        self.shortened
    }

    fn absorb_on(&mut self, arch: Arch, gradient: &[f64]) -> Result<()> {
        check_gradient(gradient, self.params.dimension)?;
        let MalerParams { horizon, gradient_bound, .. } = self.params;
        if self.rounds >= horizon {
            return Err(Error::HorizonExceeded { round: self.rounds + 1, horizon });
        }
        self.rounds += 1;
        self.scratch.gradient.copy_from_slice(gradient);
        if dot(gradient, gradient) > gradient_bound * gradient_bound {
            self.shortened += 1;
            into_ball(&mut self.scratch.gradient, gradient_bound);
        }
        arch.dispatch(Step(self));
        Ok(())
    }

    /// The whole state.
    pub fn save(&self) -> Vec<u8> {
        wire::save(wire::kinds::MALER, self)
    }

    /// Continues bit for bit from saved bytes.
    pub fn load(bytes: &[u8]) -> Result<Self> {
        let mut saved: Maler = wire::load(wire::kinds::MALER, bytes)?;
        saved.revive()?;
        Ok(saved)
    }

    /// Completes a deserialised learner, or refuses a state that no run could have produced.
    pub(crate) fn revive(&mut self) -> Result<()> {
        let fresh = self.params.check()?;
        let d = self.params.dimension;
        if self.rounds > self.params.horizon || self.shortened > self.rounds {
            let remedy = "no run produces such a state; restore another copy";
            return Err(Error::invalid("saved rounds", self.rounds, remedy));
        }
        finite_vector("saved convex weight", &[self.convex.log_weight], 1)?;
        finite_vector("saved convex point", &self.convex.point, d)?;
        finite_vector("saved prediction", &self.prediction, d)?;
        let expected = fresh.tiles.len();
        if self.tiles.len() != expected {
            let found = self.tiles.len();
            return Err(Error::Dimension { field: "saved tiles", expected, found });
        }
        let matrices = if self.params.exp_concave { triangle(d) } else { 0 };
        for (tile, fresh) in self.tiles.iter().zip(&fresh.tiles) {
            finite_vector("saved rates", &tile.rates, LANES)?;
            if tile.rates != fresh.rates {
                let remedy = "they do not follow from the parameters; restore another copy";
                return Err(Error::invalid("saved rates", format!("{:?}", tile.rates), remedy));
            }
            for family in [&tile.strongly_convex, &tile.exp_concave] {
                finite_vector("saved weights", &family.log_weights, LANES)?;
                finite_vector("saved points", family.points.as_flattened(), d * LANES)?;
            }
            finite_vector("saved matrices", tile.matrices.as_flattened(), matrices * LANES)?;
            for i in 0..if self.params.exp_concave { d } else { 0 } {
                let diagonal = &tile.matrices[triangle(i) + i];
                let least = diagonal.iter().copied().fold(f64::INFINITY, f64::min);
                refuse_if(least <= 0.0, "saved matrices", least, "expected a positive diagonal")?;
            }
        }
        self.scratch = fresh.scratch;
        Ok(())
    }
}

/// One round, compiled for the selected instruction set. Plain products and sums, so that the result does not depend on the instruction set.
struct Step<'a>(&'a mut Maler);

impl WithSimd for Step<'_> {
    type Output = ();

    // Small dimensions are compiled one by one: there, loops cost more than sums.
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        match self.0.params.dimension {
            2 => self.run(2),
            3 => self.run(3),
            4 => self.run(4),
            5 => self.run(5),
            6 => self.run(6),
            dimension => self.run(dimension),
        }
    }
}

impl Step<'_> {
    #[inline(always)]
    fn run(self, dimension: usize) {
        let Maler { params, rounds, convex, tiles, prediction, scratch, .. } = self.0;
        let round = Round {
            gradient: &scratch.gradient[..dimension],
            prediction: &prediction[..dimension],
            number: *rounds as f64,
            gradient_bound: params.gradient_bound,
            radius: params.radius,
        };
        convex.step(params.convex_rate(), round);
        for tile in &mut *tiles {
            if params.strongly_convex {
                tile.step_strongly_convex(dimension, round);
            }
            if params.exp_concave {
                tile.step_exp_concave(dimension, round, &mut scratch.workspace);
            }
        }
        predict(params.convex_rate(), convex, tiles, &mut prediction[..dimension]);
    }
}

/// Shifts the weights' logarithms so that the largest is 0, and mixes the experts' points.
#[inline(always)]
fn predict(convex_rate: f64, convex: &mut Convex, tiles: &mut [Tile], prediction: &mut [f64]) {
    let mut largest = [convex.log_weight; LANES];
    for tile in &*tiles {
        for family in [&tile.strongly_convex, &tile.exp_concave] {
            for (largest, &log) in largest.iter_mut().zip(&family.log_weights) {
                *largest = if log > *largest { log } else { *largest };
            }
        }
    }
    let largest = largest.into_iter().fold(ABSENT, |a, b| if b > a { b } else { a });
    convex.log_weight -= largest;
    let weight = convex_rate * libm::exp(convex.log_weight);
    let mut all = ZERO;
    for tile in &mut *tiles {
        let rates = tile.rates;
        for family in [&mut tile.strongly_convex, &mut tile.exp_concave] {
            for log in &mut family.log_weights {
                *log = if *log > 0.5 * ABSENT { *log - largest } else { ABSENT };
            }
            family.weights = exponentials(family.log_weights);
            for lane in 0..LANES {
                family.weights[lane] *= rates[lane];
                all[lane] += family.weights[lane];
            }
        }
    }
    let scale = 1.0 / (weight + total(&all));
    for (i, (entry, point)) in prediction.iter_mut().zip(&convex.point).enumerate() {
        let mut sum = ZERO;
        for tile in &*tiles {
            for family in [&tile.strongly_convex, &tile.exp_concave] {
                let products = family.weights.iter().zip(&family.points[i]);
                sum.iter_mut().zip(products).for_each(|(sum, (weight, x))| *sum += weight * x);
            }
        }
        *entry = (weight * point + total(&sum)) * scale;
    }
}

#[cfg(test)]
mod tests;
