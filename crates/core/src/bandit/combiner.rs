//! The combiner: for an unknown lambda, a bandit over servers that each guess it.
//!
//! ```text
//! base 1: anytime OnlineUCB;   base i = 2 ... M: OnlineUCB with lambda_i = 2^-(i-2) / d, a constant width times lambda_2 / lambda_i
//! each round the base with the largest U_i decides, and only it learns:
//!     U_i = min(top, mean_i + (L_i n_i^a_i + W(n_i)) / n_i) - R_i / T,     top - R_i / T before its first round
//!     W(n) = p sqrt(n (1 + sigma^2) ln(T^3 M ln(n (1 + sigma^2)) / alpha))
//! a base whose sum of (mean before - y~) exceeds L_i n_i^a_i + W(n_i) is dropped, unless it is the last
//! ```
//!
//! Paper 0, Algorithm 2, after Cutkosky, Das and Purohit, "Upper Confidence Bounds for Combining Stochastic Bandits" (2020); L, a, R as in its
//! Theorem 4.1. Corrected: n_i is that of the round before; the mean is that of y~; the sum runs over the base's own rounds; the cap is on mean
//! plus bonus. An eigenvalue of `E[x x^T]` with unit x cannot exceed 1/d, so the grid of guesses ends there and not at 1. A proved width of OnlineUCB
//! grows as 1/lambda; a constant one is scaled in the same way, or bases 2 ... M would be copies of each other.
//!
//! **Guarantee.** That of OnlineUCB: every person sends one report, to one base.
//!
//! At the paper's epsilon = 10 and d = 5 every R_i exceeds T below a horizon of about 4e6: the theorem says nothing, and as the R_i lie
//! further apart than rewards can, the base with the smallest R is played throughout. [`Combiner::is_vacuous`] says so.

use serde::{Deserialize, Serialize};

use super::{
    Anytime, AnytimeParams, OnlineUcb, OnlineUcbParams, Policy, Width, anytime, online_ucb,
};
use crate::{
    Error, Result,
    error::{finite_vector, not_negative, positive, probability},
    privacy::Guarantee,
    randomize::FeatureReward,
    refuse_if,
    special::{cube, square},
    wire,
};

/// Parameters of [`Combiner`].
///
/// ```
/// use reticent::{bandit::{CombinerParams, OnlineUcbParams}, randomize::{Bounds, FeatureRewardParams}};
/// let base = OnlineUcbParams::new(FeatureRewardParams::new(Bounds::unit(5), 10.0, 1e-6), 20_000);
/// let server = CombinerParams::new(base).check()?;
/// assert_eq!(server.counts().len(), 3);
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CombinerParams {
    /// Parameters that all bases have in common. A proved width is each base's own, at its own guess of lambda; a constant width is that of the largest
    /// guess, twice as large for half of it, and so on.
    pub base: OnlineUcbParams,
    /// The failure probability alpha.
    pub alpha: f64,
    /// P: the constant in the regret of the anytime base.
    pub anytime_constant: f64,
    /// P': the constant in the regret of the others.
    pub base_constant: f64,
    /// p: the constant of the deviation W.
    pub deviation_constant: f64,
    /// k: the power of the anytime base.
    pub power: f64,
}

impl CombinerParams {
    /// P = P' = p = 1, k = 1/8, alpha = 1/T.
    pub fn new(base: OnlineUcbParams) -> Self {
        CombinerParams {
            alpha: 1.0 / base.horizon.max(2) as f64,
            base,
            anytime_constant: 1.0,
            base_constant: 1.0,
            deviation_constant: 1.0,
            power: 0.125,
        }
    }

    /// A server that has seen nothing, or the parameter that stands in the way.
    pub fn check(&self) -> Result<Combiner> {
        probability("alpha", self.alpha)?;
        positive("anytime_constant", self.anytime_constant)?;
        positive("base_constant", self.base_constant)?;
        positive("deviation_constant", self.deviation_constant)?;
        not_negative("power", self.power)?;
        refuse_if(self.base.horizon < 2, "horizon", self.base.horizon, "expected 2 or more")?;
        let anytime = AnytimeParams { base: self.base.clone(), power: self.power }.check()?;
        let mut bases = vec![Base::new(Server::Anytime(Box::new(anytime)))];
        for guess in self.guesses() {
            let server = self.base_params(guess)?.check()?;
            bases.push(Base::new(Server::Known(Box::new(server))));
        }
        let plans = self.plans();
        let current = best(&self.scores(&plans, &bases), &bases);
        Ok(Combiner { params: self.clone(), plans, bases, current })
    }

    /// lambda of the bases after the first: `ceil(log2(T)/8)` of them.
    fn guesses(&self) -> Vec<f64> {
        let count = (libm::log2(self.base.horizon as f64) / 8.0).ceil() as i32;
        let largest = 1.0 / self.base.randomizer.bounds.dimension as f64;
        (0..count.max(1)).map(|j| libm::ldexp(largest, -j)).collect()
    }

    /// A base needs a guarantee at any time, which Algorithm 1 has only without its ridge.
    fn base_params(&self, guess: f64) -> Result<OnlineUcbParams> {
        match self.base.width {
            Width::Constant(width) => {
                let largest = 1.0 / self.base.randomizer.bounds.dimension as f64;
                let width = Width::Constant(width * largest / guess);
                Ok(OnlineUcbParams { ridge: 0.0, width, ..self.base.clone() })
            }
            Width::Proved(_) => {
                OnlineUcbParams::proved(self.base.randomizer.clone(), self.base.horizon, guess, 0.0)
            }
        }
    }

    /// Theorem 4.1's numbers for every base.
    fn plans(&self) -> Vec<Plan> {
        let rounds = self.base.horizon as f64;
        let epsilon = self.base.randomizer.epsilon;
        let dimension = self.base.randomizer.bounds.dimension as f64;
        let log = libm::pow(libm::log(rounds), 1.5);
        let (reach, root) = (epsilon * libm::pow(rounds, 0.125), (dimension * rounds).sqrt());
        let first = Plan {
            scale: self.anytime_constant * log * dimension.sqrt() * (reach + 1.0) / reach,
            power: 0.75,
            rate: reach / (root * (self.anytime_constant * log * reach + 1.0)),
            target: 0.0,
        };
        let mut plans = vec![first];
        plans.extend(self.guesses().into_iter().map(|guess| Plan {
            scale: self.base_constant * log * dimension.sqrt() / (epsilon * guess),
            power: 0.5,
            rate: epsilon / (self.base_constant * log * root),
            target: 0.0,
        }));
        let all: f64 = plans.iter().map(|plan| 1.0 / plan.rate).sum();
        let count = plans.len() as f64;
        let log = libm::log(cube(rounds) * count / self.alpha);
        for plan in &mut plans {
            let Plan { scale, power: a, rate, .. } = *plan;
            let ratio = (1.0 - a) / a;
            let factor = libm::pow((1.0 - a) / a, ratio) * libm::pow(1.0 + a, 1.0 / a);
            plan.target = scale * libm::pow(rounds, a)
                + factor * libm::pow(scale, 1.0 / a) * rounds * libm::pow(rate, ratio)
                + 288.0 * log * rounds * rate
                + (all - 1.0 / rate);
        }
        plans
    }

    /// `L_i n^a_i + W(n)`.
    fn allowance(&self, plan: &Plan, bases: usize, variance: f64, count: f64) -> f64 {
        let spread = count * (1.0 + variance);
        let inner = libm::log(spread.max(std::f64::consts::E));
        let rounds = self.base.horizon as f64;
        let log = libm::log(cube(rounds) * bases as f64 * inner / self.alpha);
        plan.scale * libm::pow(count, plan.power) + self.deviation_constant * (spread * log).sqrt()
    }

    /// U of every base.
    fn scores(&self, plans: &[Plan], bases: &[Base]) -> Vec<f64> {
        let top = self.base.randomizer.bounds.rewards.1;
        let rounds = self.base.horizon as f64;
        let score = |(plan, base): (&Plan, &Base)| {
            let reach = if base.count == 0 {
                top
            } else {
                let count = base.count as f64;
                let variance = square(base.server.randomizer().deviation());
                let bonus = self.allowance(plan, bases.len(), variance, count) / count;
                top.min(base.mean() + bonus)
            };
            reach - plan.target / rounds
        };
        plans.iter().zip(bases).map(score).collect()
    }
}

/// Bound of Theorem 4.1 for one base.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Plan {
    /// L_i.
    scale: f64,
    /// alpha_i.
    power: f64,
    /// eta_i.
    rate: f64,
    /// R_i.
    target: f64,
}

#[derive(Debug, Clone)]
enum Server {
    Anytime(Box<Anytime>),
    Known(Box<OnlineUcb>),
}

impl Server {
    fn randomizer(&self) -> &FeatureReward {
        match self {
            Server::Anytime(server) => server.randomizer(),
            Server::Known(server) => server.randomizer(),
        }
    }
}

#[derive(Debug, Clone)]
struct Base {
    server: Server,
    /// T(i, t).
    count: u64,
    /// `sum y~`.
    rewards: f64,
    /// `sum (mean before - y~)`.
    shortfall: f64,
    dropped: bool,
}

impl Base {
    fn new(server: Server) -> Self {
        Base { server, count: 0, rewards: 0.0, shortfall: 0.0, dropped: false }
    }

    fn mean(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.rewards / self.count as f64 }
    }
}

/// The base that is left with the largest score; the first of equals.
fn best(scores: &[f64], bases: &[Base]) -> usize {
    let left = (0..bases.len()).filter(|&i| !bases[i].dropped);
    left.reduce(|best, i| if scores[i] > scores[best] { i } else { best }).unwrap_or(0)
}

/// The report server of the combiner.
#[derive(Debug, Clone)]
pub struct Combiner {
    params: CombinerParams,
    plans: Vec<Plan>,
    bases: Vec<Base>,
    current: usize,
}

#[derive(Debug, Serialize, Deserialize)]
struct Saved {
    params: CombinerParams,
    anytime: anytime::Saved,
    known: Vec<online_ucb::Saved>,
    /// Count, sum of rewards, shortfall, dropped.
    counts: Vec<(u64, f64, f64, bool)>,
    current: usize,
}

impl Combiner {
    /// The server's parameters.
    pub fn params(&self) -> &CombinerParams {
        &self.params
    }

    /// The base whose policy the next person follows.
    pub fn current(&self) -> usize {
        self.current
    }

    /// The device.
    pub fn randomizer(&self) -> &FeatureReward {
        self.bases[0].server.randomizer()
    }

    /// Policy published for the next person: that of the current base.
    pub fn policy(&self) -> &Policy {
        match &self.bases[self.current].server {
            Server::Anytime(server) => server.policy(),
            Server::Known(server) => server.policy(),
        }
    }

    /// Reports each base has absorbed.
    pub fn counts(&self) -> Vec<u64> {
        self.bases.iter().map(|base| base.count).collect()
    }

    /// Returns whether the theorem says nothing at this horizon: every R_i is at least the regret of the worst possible play.
    pub fn is_vacuous(&self) -> bool {
        let (low, high) = self.params.base.randomizer.bounds.rewards;
        let worst = (high - low) * self.params.base.horizon as f64;
        self.plans.iter().all(|plan| plan.target >= worst)
    }

    /// Learns from a report of a person who followed this base's policy. An error changes nothing.
    pub fn absorb(&mut self, base: usize, report: &[f64]) -> Result<()> {
        let (params, count) = (&self.params, self.bases.len());
        let Some(chosen) = self.bases.get_mut(base) else {
            return Err(Error::invalid("base", base, format!("there are {count}")));
        };
        match &mut chosen.server {
            Server::Anytime(server) => server.absorb(report)?,
            Server::Known(server) => server.absorb(report)?,
        }
        let reward = report[params.base.randomizer.bounds.dimension];
        chosen.shortfall += chosen.mean() - reward;
        chosen.rewards += reward;
        chosen.count += 1;
        let variance = square(chosen.server.randomizer().deviation());
        let allowed = params.allowance(&self.plans[base], count, variance, chosen.count as f64);
        let worse = chosen.shortfall >= allowed;
        let others_left = (0..count).any(|i| i != base && !self.bases[i].dropped);
        self.bases[base].dropped |= worse && others_left;
        self.current = best(&self.params.scores(&self.plans, &self.bases), &self.bases);
        Ok(())
    }

    /// Guarantee for every person who sends one report.
    pub fn guarantee(&self) -> Result<Guarantee> {
        Ok(self.randomizer().guarantee()?.with_people(self.params.base.horizon))
    }

    /// The whole state; nothing in it was not sent by people in this form.
    pub fn save(&self) -> Vec<u8> {
        wire::save(wire::kinds::COMBINER, &self.saved())
    }

    /// Continues bit for bit from saved bytes.
    pub fn load(bytes: &[u8]) -> Result<Self> {
        wire::load::<Saved>(wire::kinds::COMBINER, bytes)?.revive()
    }

    fn saved(&self) -> Saved {
        let (mut first, mut known) = (None, Vec::new());
        for base in &self.bases {
            match &base.server {
                Server::Anytime(server) => first = Some(server.saved()),
                Server::Known(server) => known.push(server.saved()),
            }
        }
        let count = |base: &Base| (base.count, base.rewards, base.shortfall, base.dropped);
        Saved {
            params: self.params.clone(),
            anytime: first.expect("the first base is the anytime one"),
            known,
            counts: self.bases.iter().map(count).collect(),
            current: self.current,
        }
    }
}

impl Saved {
    fn revive(self) -> Result<Combiner> {
        let mut combiner = self.params.check()?;
        // Before widths were scaled, every base was saved with the common one; such a state continues as it was.
        let unscaled = OnlineUcbParams { ridge: 0.0, ..self.params.base.clone() };
        let constant = matches!(unscaled.width, Width::Constant(_));
        let expected = combiner.bases.len();
        let refuse = |field, found| Error::Dimension { field, expected, found };
        if self.known.len() + 1 != expected {
            return Err(refuse("saved bases", self.known.len() + 1));
        }
        if self.counts.len() != expected {
            return Err(refuse("saved counts", self.counts.len()));
        }
        let anytime = self.anytime.revive()?;
        let known =
            self.known.into_iter().map(online_ucb::Saved::revive).collect::<Result<Vec<_>>>()?;
        let foreign = || {
            let remedy = "they do not follow from the parameters; restore another copy";
            Error::invalid("saved bases", "other ones", remedy)
        };
        let mut servers = vec![(Server::Anytime(Box::new(anytime.clone())), anytime.rounds())];
        for server in known {
            let rounds = server.rounds();
            servers.push((Server::Known(Box::new(server)), rounds));
        }
        for ((base, (server, rounds)), (count, rewards, shortfall, dropped)) in
            combiner.bases.iter_mut().zip(servers).zip(self.counts)
        {
            finite_vector("saved rewards", &[rewards, shortfall], 2)?;
            let same = match (&server, &base.server) {
                (Server::Anytime(saved), Server::Anytime(fresh)) => {
                    saved.params() == fresh.params()
                }
                (Server::Known(saved), Server::Known(fresh)) => {
                    saved.params() == fresh.params() || constant && *saved.params() == unscaled
                }
                _ => false,
            };
            if !same || rounds != count {
                return Err(foreign());
            }
            *base = Base { server, count, rewards, shortfall, dropped };
        }
        if combiner.bases.iter().all(|base| base.dropped) {
            return Err(foreign());
        }
        combiner.current =
            best(&self.params.scores(&combiner.plans, &combiner.bases), &combiner.bases);
        if combiner.current != self.current {
            return Err(foreign());
        }
        Ok(combiner)
    }
}

#[cfg(test)]
mod tests;
