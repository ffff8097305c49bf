//! PrivateBandit: bandit convex optimisation with a linear oracle, each loss private.
//!
//! ```text
//! x_t = c + (1 - zeta/r)(x~ - c) + zeta u_t,   g_R = sum over the batch of (n'/zeta)(v_t - b) u_t
//! s~_R = private prefix sum of g_1..g_R,        x~_R = argmin 1/2 |x - c|^2 + <eta s~, x>
//! ```
//!
//! Algorithm 1 of Ene, Nguyen and Vladu (Projection-Free Bandit Optimization with Privacy Guarantees), corrected: the sign
//! of line 14, directions of the affine hull, smoothing that stays inside, fresh sums.
//!
//! **Guarantee.** A point depends on public directions and on sums released before; so everything played is
//! post-processing of the releases, and has their guarantee. See `protection` for the sensitivity.
//!
//! **Vertices.** `x_t = (1 - zeta/r) x~ + (zeta/r)(c + r u_t)` is a mixture of two points whose own mixtures of vertices are
//! known: that of x~ from conditional gradient, those of `c +- r b_i` for an orthonormal basis b of the hull once and for
//! all. A vertex drawn from it has mean x_t given the past and u_t, so for a linear loss the value is an unbiased
//! estimate of the value at x_t; `+-b_i` drawn uniformly has the second moments of the sphere, which is all that
//! linear losses ask. The vertex is public randomness: one loss still moves one clipped number, and the guarantee is
//! the same.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    DecisionSet, LinearOracle, MapCounts, MirrorMap, Mixture, Play, PrivateBanditParams,
    PrivateBanditPlan, Shape, Tuning,
    bandit_params::{Engine, Padding, nothing_to_promise},
    conditional_gradient::descend,
    noisy_oco::respond,
    protection::{Aggregate, Estimates},
    set::distance,
};
use crate::{
    Error, Result,
    error::finite_vector,
    noise::Noise,
    privacy::Guarantee,
    randomize::{ValueLaplace, ValueReport},
    refuse_if,
    special::square,
};

mod state;

/// Vertex mixtures of fixed points are this near, in diameters.
const CORNER_TOLERANCE: f64 = 1e-8;
/// Calls after which a corner's mixture is as near as it will be.
const CORNER_CALLS: u64 = 100_000;

/// Ticket for `observe`, so that values may come late, in any order, or never. Their presence and time are public: they must depend
/// on no person's data, or the guarantee does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PlayTicket(pub(super) u64);

impl PlayTicket {
    /// The ticket of this number: for those who keep tickets elsewhere.
    pub fn numbered(number: u64) -> Self {
        PlayTicket(number)
    }

    /// Its number, which no other ticket of the learner has.
    pub fn number(self) -> u64 {
        self.0
    }
}

/// A point to play.
#[derive(Debug, Clone, PartialEq)]
pub struct PlayDecision {
    /// Hand this back with the value.
    pub ticket: PlayTicket,
    /// The point, or the vertex.
    pub point: Vec<f64>,
}

/// Outcome of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ValueObservation {
    /// The value lay outside its range and was clipped to it. A bit of the person's own data, which no noise protects: not to be
    /// published.
    pub clipped: bool,
    /// A batch was full, sums were released, and the point has moved.
    pub released: bool,
}

/// Counts until now.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct BanditCounts {
    /// Decisions taken.
    pub decisions: u64,
    /// Values learnt.
    pub rounds: u64,
    /// Values outside their range. An exact count of people's data, which no noise protects: internal, not to be
    /// published. Always 0 under local protection, where no other party may know: each device hears of its own values.
    pub clipped: u64,
    /// Mean squared distance between the vertex played and the smoothed point, 0 for points: times the squared Lipschitz
    /// constant, at most what playing vertices adds to the variance of a value.
    pub vertex_variance: f64,
    /// Work of the mirror map.
    pub map: MapCounts,
}

impl BanditCounts {
    /// Both together.
    pub(super) fn and(&self, later: &BanditCounts) -> BanditCounts {
        let decisions = self.decisions + later.decisions;
        let squares = |counts: &BanditCounts| counts.decisions as f64 * counts.vertex_variance;
        BanditCounts {
            decisions,
            rounds: self.rounds + later.rounds,
            clipped: self.clipped + later.clipped,
            vertex_variance: (squares(self) + squares(later)) / decisions.max(1) as f64,
            map: MapCounts {
                maps: self.map.maps + later.map.maps,
                oracle_calls: self.map.oracle_calls + later.map.oracle_calls,
                unconverged: self.map.unconverged + later.map.unconverged,
            },
        }
    }
}

/// A private, projection-free bandit learner.
pub struct PrivateBandit<O, N> {
    set: DecisionSet<O>,
    aggregate: Aggregate<N>,
    /// Draws directions and vertices, which are public.
    public: N,
    /// For playing vertices: an orthonormal basis with the mixtures of `c + r b` and `c - r b`.
    corners: Vec<(Vec<f64>, [Mixture; 2])>,
    state: State,
}

/// Prints no sums: a log line must not undo the noise.
impl<O, N> std::fmt::Debug for PrivateBandit<O, N> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("PrivateBandit")
            .field("rounds", &self.state.rounds)
            .finish_non_exhaustive()
    }
}

/// All but the set and the running sum.
#[derive(Debug, Serialize, Deserialize)]
struct State {
    params: PrivateBanditParams,
    shape: Shape,
    estimates: Estimates,
    tuning: Tuning,
    /// Randomiser of devices under local protection. It follows from the parameters.
    #[serde(skip)]
    local: Option<ValueLaplace>,
    map: MirrorMap,
    /// x~, and what of it is smoothed.
    point: Vec<f64>,
    base: Vec<f64>,
    /// The last release, for stale sums.
    previous: Vec<f64>,
    batches: u64,
    /// The last direction, and whether its opposite is due; for vertices, its place among the corners.
    direction: Vec<f64>,
    corner: (usize, usize),
    opposite: bool,
    next: u64,
    /// Directions of decisions whose value has not come.
    open: BTreeMap<u64, Vec<f64>>,
    rounds: u64,
    clipped: u64,
    squared_distances: f64,
}

/// Everything but the noise: what can fail has been done.
pub(super) struct Prepared<O> {
    set: DecisionSet<O>,
    corners: Vec<(Vec<f64>, [Mixture; 2])>,
    state: State,
    engine: Engine,
}

impl<O: LinearOracle> Prepared<O> {
    pub(super) fn new(plan: PrivateBanditPlan<O>) -> Result<Self> {
        let PrivateBanditPlan { params, set, estimates, tuning, engine, mut map } = plan;
        let shape = set.shape().clone();
        let n = shape.dimension();
        let mut point = shape.centre().to_vec();
        if params.play == Play::Vertices {
            let tolerance = CORNER_TOLERANCE * shape.diameter();
            map.descend(&set, shape.centre(), tolerance, CORNER_CALLS);
            point.copy_from_slice(map.mixture().point());
        }
        let local = if let Engine::Local(value) = &engine { Some(*value) } else { None };
        let mut state = State {
            params,
            shape,
            estimates,
            tuning,
            local,
            map,
            base: point.clone(),
            point,
            previous: vec![0.0; n],
            batches: 0,
            direction: vec![0.0; n],
            corner: (0, 0),
            opposite: false,
            next: 0,
            open: BTreeMap::new(),
            rounds: 0,
            clipped: 0,
            squared_distances: 0.0,
        };
        state.rebase();
        let corners = corners(&set, &state.params)?;
        Ok(Prepared { set, corners, state, engine })
    }

    /// On a source of noise, and another one for public draws.
    pub(super) fn begin<N: Noise>(self, (noise, public): (N, N)) -> PrivateBandit<O, N> {
        let Prepared { set, corners, state, engine } = self;
        let aggregate = engine.start(state.estimates, noise);
        PrivateBandit { set, aggregate, public, corners, state }
    }
}

impl<O: LinearOracle, N: Noise> PrivateBandit<O, N> {
    pub(super) fn start(plan: PrivateBanditPlan<O>, mut noise: N) -> Result<Self> {
        let public = noise.split()?;
        Ok(Prepared::new(plan)?.begin((noise, public)))
    }

    /// The next point to play. An error changes nothing.
    pub fn decide(&mut self) -> Result<PlayDecision> {
        let state = &mut self.state;
        if state.next >= state.params.horizon {
            let horizon = state.params.horizon;
            return Err(Error::HorizonExceeded { round: state.next.saturating_add(1), horizon });
        }
        let noise = &mut self.public;
        if state.opposite {
            state.direction.iter_mut().for_each(|u| *u = -*u);
            state.corner.1 = 1 - state.corner.1;
        } else if self.corners.is_empty() {
            state.shape.hull().sample(&mut state.direction, noise);
        } else {
            let index = noise.below(self.corners.len() as u64) as usize;
            let side = (noise.bits() >> 63) as usize;
            let sign = if side == 0 { 1.0 } else { -1.0 };
            let basis = &self.corners[index].0;
            state.direction.iter_mut().zip(basis).for_each(|(u, b)| *u = sign * b);
            state.corner = (index, side);
        }
        state.opposite = state.params.antithetic && !state.opposite;
        let smoothing = state.tuning.smoothing;
        let mut point: Vec<f64> =
            state.base.iter().zip(&state.direction).map(|(x, u)| x + smoothing * u).collect();
        if !self.corners.is_empty() {
            let mixture = if noise.uniform() < smoothing / state.shape.inradius() {
                &self.corners[state.corner.0].1[state.corner.1]
            } else {
                state.map.mixture()
            };
            let vertex = mixture.draw(noise);
            state.squared_distances += square(distance(vertex, &point));
            point.copy_from_slice(vertex);
        }
        let ticket = state.next;
        state.open.insert(ticket, state.direction.clone());
        state.next += 1;
        Ok(PlayDecision { ticket: PlayTicket(ticket), point })
    }

    /// Learns the value of an earlier decision's loss, once. An error changes nothing.
    ///
    /// Under local protection this protects the value here, which is right when the learner runs on the person's side
    /// of the wire; else use [`PrivateBandit::absorb`].
    pub fn observe(&mut self, ticket: PlayTicket, value: f64) -> Result<ValueObservation> {
        finite_vector("value", &[value], 1)?;
        self.state.waiting(ticket)?;
        let Estimates { low, high, .. } = self.state.estimates;
        let kept = match &self.state.local {
            Some(local) => {
                let noise = self.aggregate.source();
                noise.rekey()?;
                local.report(value, noise)?.value()
            }
            None => value.clamp(low, high),
        };
        let slack = 1e-9 * (high - low);
        let clipped = value < low - slack || value > high + slack;
        let released = self.learn(ticket, kept)?;
        // Under local protection the state is made of reports alone.
        self.state.clipped += u64::from(clipped && self.state.local.is_none());
        Ok(ValueObservation { clipped, released })
    }

    /// Learns a value that was protected by [`ValueLaplace::report`] where it arose. An error changes nothing.
    pub fn absorb(&mut self, ticket: PlayTicket, report: ValueReport) -> Result<ValueObservation> {
        let Some(local) = &self.state.local else {
            let remedy = "only locally protected learners take reports: call `observe`";
            return Err(Error::invalid("report", report.value(), remedy));
        };
        local.check_report(report)?;
        Ok(ValueObservation { clipped: false, released: self.learn(ticket, report.value())? })
    }

    fn learn(&mut self, ticket: PlayTicket, value: f64) -> Result<bool> {
        let direction = self.state.waiting(ticket)?;
        let sums = self.aggregate.absorb(direction, value)?;
        self.state.open.remove(&ticket.0);
        self.state.rounds += 1;
        let released = sums.is_some();
        if let Some(sums) = sums {
            self.state.step(&self.set, sums, self.aggregate.source());
        }
        Ok(released)
    }

    /// From here on this learner is a copy beside another. Where sums of people's values are released it is charged for that:
    /// see [`PrivateSum::branch`](crate::release::PrivateSum).
    pub fn branch(&mut self) -> Result<()> {
        self.public.refresh()?;
        match &mut self.aggregate {
            Aggregate::Plain(sum) => sum.refresh(),
            Aggregate::Private(sum) => sum.branch(),
        }
    }

    /// Gives up waiting for a value; says whether it was waited for.
    pub fn dismiss(&mut self, ticket: PlayTicket) -> bool {
        self.state.open.remove(&ticket.0).is_some()
    }

    /// Number of values waited for.
    pub fn open_decisions(&self) -> usize {
        self.state.open.len()
    }

    /// x~: where the learner would play if it did not have to explore.
    pub fn point(&self) -> &[f64] {
        &self.state.point
    }

    /// Batch, smoothing and step in use.
    pub fn tuning(&self) -> Tuning {
        self.state.tuning
    }

    /// The device's side of a locally protected learner.
    pub fn local_value(&self) -> Option<&ValueLaplace> {
        self.state.local.as_ref()
    }

    /// Parameters that it was started with.
    pub fn params(&self) -> &PrivateBanditParams {
        &self.state.params
    }

    /// The set played on.
    pub fn set(&self) -> &DecisionSet<O> {
        &self.set
    }

    /// Decisions taken so far.
    pub fn decisions(&self) -> u64 {
        self.state.next
    }

    /// Counts until now: clipped values, oracle calls, the variance of playing vertices.
    pub fn counts(&self) -> BanditCounts {
        BanditCounts {
            decisions: self.state.next,
            rounds: self.state.rounds,
            clipped: self.state.clipped,
            vertex_variance: self.state.squared_distances / self.state.next.max(1) as f64,
            map: self.state.map.counts(),
        }
    }

    /// Releases made so far, what [`PrivateBandit::resume`] asks for: of sums, or of single values where each is
    /// protected by itself.
    pub fn releases(&self) -> u64 {
        match &self.aggregate {
            Aggregate::Plain(_) => self.aggregate.rounds(),
            Aggregate::Private(sum) => sum.sum().releases(),
        }
    }

    /// Number of replays and copies that are charged for; none where nothing is summed privately.
    pub fn replays(&self) -> u64 {
        match &self.aggregate {
            Aggregate::Plain(_) => 0,
            Aggregate::Private(sum) => sum.sum().replays(),
        }
    }

    /// Guarantee of the whole run; without protection there is nothing to promise.
    pub fn guarantee(&self) -> Result<Guarantee> {
        let params = &self.state.params;
        let guarantee = match (&self.aggregate, &self.state.local) {
            (Aggregate::Private(sum), _) => sum.sum().guarantee(params.stated_delta())?,
            (Aggregate::Plain(_), Some(local)) => {
                let guarantee = local.guarantee(params.contributions_per_person)?;
                if N::PROTECTS_PEOPLE { guarantee } else { guarantee.simulated() }
            }
            (Aggregate::Plain(_), None) => return Err(nothing_to_promise()),
        };
        params.stated(guarantee)
    }

    /// Both generators, for the learner that follows this one.
    pub(super) fn into_sources(self) -> (N, N) {
        (self.aggregate.into_source(), self.public)
    }
}

impl State {
    fn waiting(&self, ticket: PlayTicket) -> Result<&[f64]> {
        self.open.get(&ticket.0).map(Vec::as_slice).ok_or_else(|| {
            let remedy =
                "it was never given out, or its value is known already, or it was dismissed";
            Error::invalid("ticket", ticket.0, remedy)
        })
    }

    /// Line 14: the mirror map of the sums.
    fn step<O: LinearOracle, N: Noise>(
        &mut self,
        set: &DecisionSet<O>,
        mut sums: Vec<f64>,
        noise: &mut N,
    ) {
        self.batches += 1;
        if let Some((missing, law)) = self.params.missing(self.batches) {
            for sum in &mut sums {
                for _ in 0..missing {
                    *sum += match law {
                        Padding::Gaussian(sigma) => sigma * noise.standard_normal(),
                        Padding::Laplace(scale) => {
                            scale * (noise.exponential() - noise.exponential())
                        }
                    };
                }
            }
        }
        if self.params.stale {
            std::mem::swap(&mut sums, &mut self.previous);
        }
        let map = |dual: &[f64], point: &mut [f64]| self.map.apply(set, dual, point);
        respond(self.tuning.step, &sums, &mut self.point, map);
        self.rebase();
    }

    fn rebase(&mut self) {
        let shrink = self.tuning.shrink;
        for ((base, x), c) in self.base.iter_mut().zip(&self.point).zip(self.shape.centre()) {
            *base = c + shrink * (x - c);
        }
    }
}

/// The mixtures of `c +- r b_i`, if vertices are played.
fn corners<O: LinearOracle>(
    set: &DecisionSet<O>,
    params: &PrivateBanditParams,
) -> Result<Vec<(Vec<f64>, [Mixture; 2])>> {
    if params.play == Play::Points {
        return Ok(Vec::new());
    }
    let shape = set.shape();
    let tolerance = CORNER_TOLERANCE * shape.diameter();
    let mixture = |basis: &[f64], sign: f64| -> Result<Mixture> {
        let reach = sign * shape.inradius();
        let target: Vec<f64> =
            shape.centre().iter().zip(basis).map(|(c, b)| c + reach * b).collect();
        let against: Vec<f64> = basis.iter().map(|b| -sign * b).collect();
        let mut mixture = Mixture::vertex(set, &against)?;
        let enough = 0.5 * tolerance * tolerance;
        let descent = descend(set.oracle(), &target, &mut mixture, enough, CORNER_CALLS);
        let error = distance(mixture.point(), &target);
        let refused = !descent.converged && error > 1e-4 * shape.diameter();
        let remedy =
            "its points have no finite mixture of vertices, or its inradius is wrong: play points";
        refuse_if(refused, "set", format_args!("{error} away"), remedy)?;
        Ok(mixture)
    };
    shape
        .hull()
        .basis()
        .into_iter()
        .map(|basis| {
            let mixtures = [mixture(&basis, 1.0)?, mixture(&basis, -1.0)?];
            Ok((basis, mixtures))
        })
        .collect()
}

#[cfg(test)]
mod tests;
