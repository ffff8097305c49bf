//! The planner: before anything runs, what safety and privacy will cost, and how privacy is best shared.
//!
//! For a safe set, agents and a horizon it states the geometry (shrinkage, sharpness), the regret bound of Theorem 2 (marked vacuous
//! where doing nothing is better), and on the paper's simplex the rate r(a), the unimprovable vector a* of Theorem 3 for a regret
//! budget, the epsilon each agent then really has, and what every unilateral change would cost.

use reticent::{
    Error, Result,
    error::{positive, probability},
    geometry::Polytope,
    privacy::gaussian,
    safe::{AgentParams, CoordinatorParams, Objective, ResponsePrivacy, Simplex, Target},
};
use serde::{Deserialize, Serialize};

use crate::papers::constants::safe::{Published, RegretBound, joint_ball_eigenvalue};

/// Parameters of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanParams {
    /// Y.
    pub polytope: Polytope,
    /// f.
    pub objective: Objective,
    /// d.
    pub dimension: usize,
    /// S.
    pub parameter_bound: f64,
    /// K.
    pub action_bound: f64,
    /// R.
    pub response_noise: f64,
    /// nu.
    pub regularizer: f64,
    /// delta'.
    pub failure: f64,
    /// T.
    pub horizon: u64,
    /// sigma: the noise of an agent at level 1.
    pub sigma: f64,
    /// delta of the agents' guarantees.
    pub delta: f64,
    /// a: every agent's level, `sigma_m = level_m sigma`.
    pub levels: Vec<f64>,
    /// U: the regret budget, a bound on r(a); without it that of `levels`.
    pub budget: Option<f64>,
}

/// One agent's privacy in a plan.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AgentPrivacy {
    /// alpha_m.
    pub level: f64,
    /// sigma_m.
    pub sigma: f64,
    /// Width of the range that the agent clips to: the extent of Y on its axis, and six deviations of its noise on either side.
    pub sensitivity: f64,
    /// The exact epsilon of one response, at the plan's delta.
    pub epsilon: f64,
    /// The exact epsilon of the agent as a person who answers in every round.
    pub epsilon_all_rounds: f64,
}

/// Cost of giving one agent more privacy.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UnilateralChange {
    /// Index of the agent.
    pub agent: usize,
    /// Its level after the change.
    pub level: f64,
    /// Its epsilon for one response after the change.
    pub epsilon: f64,
    /// r(a) after the change.
    pub rate: f64,
    /// r(a) over the budget.
    pub over_budget: f64,
}

/// The part of a plan that only the paper's simplex has.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SimplexPlan {
    /// c.
    pub reaches: Vec<f64>,
    /// r(a) of the given levels.
    pub rate: f64,
    /// `r(a) (T^2 ln T)^(1/3)`: what the rate amounts to at the horizon.
    pub rate_at_horizon: f64,
    /// U.
    pub budget: f64,
    /// The smallest budget that any vector of Theorem 3 has.
    pub smallest_budget: f64,
    /// a*, with each agent's epsilon.
    pub unimprovable: Vec<AgentPrivacy>,
    /// r(a*), which is U.
    pub unimprovable_rate: f64,
    /// Ten percent more privacy for one agent alone.
    pub unilateral: Vec<UnilateralChange>,
}

/// A plan.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Plan {
    /// M.
    pub agents: usize,
    /// P.
    pub rows: usize,
    /// Rows that exclude nothing.
    pub redundant_rows: Vec<usize>,
    /// Number of corners of Y; `None` if there are too many to list.
    pub vertices: Option<usize>,
    /// H: the maximum shrinkage of Y.
    pub maximum_shrinkage: f64,
    /// Sharpness of Y per unit of shrinkage, at a hundredth of the maximum; `None` without a list of corners.
    pub sharpness: Option<f64>,
    /// The best safe responses.
    pub best_responses: Vec<f64>,
    /// f there.
    pub best_value: f64,
    /// lambda: the smallest eigenvalue of exploration, each agent on its own sphere.
    pub exploration_eigenvalue: f64,
    /// lambda of the paper's joint ball.
    pub joint_ball_eigenvalue: f64,
    /// Theorem 2 at the horizon; `None` without a list of corners.
    pub regret: Option<RegretBound>,
    /// Regret of doing nothing in every round.
    pub regret_of_doing_nothing: f64,
    /// There is a bound, and it says no more than that.
    pub vacuous: bool,
    /// The given levels, with each agent's epsilon.
    pub given: Vec<AgentPrivacy>,
    /// Rate, budget and a*, if Y is the paper's simplex.
    pub simplex: Option<SimplexPlan>,
}

impl PlanParams {
    /// Makes the plan. An infeasible budget names the smallest feasible one.
    pub fn check(&self) -> Result<Plan> {
        self.polytope.check_origin()?;
        let agents = self.polytope.dimension();
        self.objective.check(agents)?;
        positive("horizon", self.horizon as f64)?;
        probability("delta", self.delta)?;
        let ranges = (0..agents).map(|m| self.polytope.range(m)).collect::<Result<Vec<_>>>()?;
        let limits: Vec<f64> = ranges.iter().map(|(low, high)| low.abs().max(high.abs())).collect();
        let eigenvalue = self.exploration_eigenvalue()?;
        let remedy =
            "no ball around 0 is safe whatever the parameters are; expected bounds above 0";
        reticent::refuse_if(eigenvalue <= 0.0, "bounds", "0", remedy)?;
        let published = Published {
            dimension: self.dimension,
            lipschitz: self.objective.lipschitz(&limits),
            action_bound: self.action_bound,
            parameter_bound: self.parameter_bound,
            response_noise: self.response_noise,
            sigma: self.sigma,
            eigenvalue,
            regularizer: self.regularizer,
            failure: self.failure,
        };
        published.check()?;
        let target = Target::new(&self.polytope, &self.objective, &limits);
        let nothing = self.objective.value(&vec![0.0; agents]);
        let regret_of_doing_nothing = self.horizon as f64 * (target.value() - nothing);
        let vertices = self.polytope.vertices().ok().map(|vertices| vertices.len());
        let maximum_shrinkage = self.polytope.maximum_shrinkage()?;
        let probe = 0.01 * maximum_shrinkage;
        let sharpness = vertices
            .filter(|_| probe > 0.0)
            .map(|_| Ok::<f64, Error>(self.polytope.sharpness(probe)? / probe))
            .transpose()?;
        let simplex = Simplex::of(&self.polytope);
        if let (Some(budget), None) = (self.budget, &simplex) {
            let remedy = "Theorem 3 speaks of the paper's simplex only: leave it out for this set";
            return Err(Error::invalid("budget", budget, remedy));
        }
        let regret = if vertices.is_some() || simplex.is_some() {
            Some(published.regret(&self.polytope, &self.levels, self.horizon)?)
        } else {
            published.widths(&self.levels, self.horizon)?;
            None
        };
        let vacuous = regret.is_some_and(|bound| {
            bound.exploration_exceeds_horizon || bound.total >= regret_of_doing_nothing
        });
        let simplex = simplex.map(|simplex| self.on_simplex(&published, &simplex)).transpose()?;
        Ok(Plan {
            agents,
            rows: self.polytope.rows().len(),
            redundant_rows: self.polytope.redundant_rows()?,
            vertices,
            maximum_shrinkage,
            sharpness,
            best_responses: target.responses().to_vec(),
            best_value: target.value(),
            exploration_eigenvalue: eigenvalue,
            joint_ball_eigenvalue: joint_ball_eigenvalue(
                &self.polytope,
                self.dimension,
                self.parameter_bound,
                self.action_bound,
            ),
            regret,
            regret_of_doing_nothing,
            vacuous,
            given: self.privacy(&self.levels)?,
            simplex,
        })
    }

    fn on_simplex(&self, published: &Published, simplex: &Simplex) -> Result<SimplexPlan> {
        let rate = published.rate(simplex, &self.levels)?;
        let budget = self.budget.unwrap_or(rate);
        let levels = published.unimprovable(simplex, budget)?;
        let unilateral = (0..levels.len())
            .map(|agent| {
                let mut raised = levels.clone();
                // A level of 0 has nothing to grow from.
                raised[agent] = if raised[agent] > 0.0 { 1.1 * raised[agent] } else { 0.1 };
                let privacy = self.privacy(&raised)?;
                let after = published.rate(simplex, &raised)?;
                Ok(UnilateralChange {
                    agent,
                    level: raised[agent],
                    epsilon: privacy[agent].epsilon,
                    rate: after,
                    over_budget: after / budget,
                })
            })
            .collect::<Result<Vec<_>>>()?;
        Ok(SimplexPlan {
            reaches: simplex.reaches().to_vec(),
            rate,
            rate_at_horizon: {
                let rounds = self.horizon as f64;
                rate * (rounds * rounds * rounds.ln()).cbrt()
            },
            budget,
            smallest_budget: published.smallest_budget(simplex)?,
            unimprovable: self.privacy(&levels)?,
            unimprovable_rate: published.rate(simplex, &levels)?,
            unilateral,
        })
    }

    /// Exact epsilons: Gaussian noise on a response of known range.
    fn privacy(&self, levels: &[f64]) -> Result<Vec<AgentPrivacy>> {
        let of = |(axis, &level): (usize, &f64)| {
            let AgentParams { lower, upper, .. } = self.agent(axis)?;
            let (sigma, sensitivity) = (level * self.sigma, upper - lower);
            let epsilon = |times: u64| {
                if sigma == 0.0 {
                    return Ok(f64::INFINITY);
                }
                gaussian::epsilon(self.delta, gaussian::mu_of(sensitivity, sigma, times)?)
            };
            Ok(AgentPrivacy {
                level,
                sigma,
                sensitivity,
                epsilon: epsilon(1)?,
                epsilon_all_rounds: epsilon(self.horizon)?,
            })
        };
        levels.iter().enumerate().map(of).collect()
    }

    fn exploration_eigenvalue(&self) -> Result<f64> {
        // How far an agent may be sent does not depend on what it clips to.
        let agent = |axis| Ok(AgentParams { lower: -1.0, upper: 1.0, ..self.agent(axis)? });
        let agents = (0..self.polytope.dimension()).map(agent).collect::<Result<Vec<_>>>()?;
        let params = CoordinatorParams::new(self.polytope.clone(), self.objective.clone(), agents);
        Ok(params.check()?.exploration_eigenvalue())
    }

    /// An agent that clips as one that is deployed, without its noise.
    fn agent(&self, axis: usize) -> Result<AgentParams> {
        let sizes = (self.parameter_bound, self.action_bound, self.response_noise);
        AgentParams::on_axis(
            &self.polytope,
            axis,
            self.dimension.max(1),
            sizes,
            ResponsePrivacy::None,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params() -> PlanParams {
        PlanParams {
            polytope: Simplex::new(&[1.0, 0.25, 0.5]).unwrap().polytope().unwrap(),
            objective: Objective::Linear { weights: vec![0.8, 0.1, 0.1] },
            dimension: 3,
            parameter_bound: 0.5,
            action_bound: 2.0,
            response_noise: 0.001,
            regularizer: 0.1,
            failure: 0.01,
            horizon: 30_000,
            sigma: 0.4053,
            delta: 1e-5,
            levels: vec![1.0, 0.25, 0.5],
            budget: None,
        }
    }

    #[test]
    fn the_papers_setting() {
        let plan = params().check().unwrap();
        assert_eq!((plan.vertices, plan.redundant_rows.len()), (Some(4), 0));
        assert!((plan.maximum_shrinkage - 1.0 / 14.0).abs() < 1e-12);
        // Lemma 8 at unit widths: sqrt(2 + (2 * 7 * 1 - 1)^2).
        assert!((plan.sharpness.unwrap() - 171f64.sqrt()).abs() < 1e-6);
        assert!((plan.best_value - 0.728_571_428).abs() < 1e-8);
        assert!((plan.exploration_eigenvalue - 1.0 / 147.0).abs() < 1e-12);
        assert!((plan.joint_ball_eigenvalue - 1.0 / 1764.0).abs() < 1e-12);
        assert!((plan.regret_of_doing_nothing - 21_857.0).abs() < 1.0);
        assert!(plan.vacuous);
        let simplex = plan.simplex.unwrap();
        assert!((simplex.unimprovable_rate / simplex.budget - 1.0).abs() < 1e-12);
        // With R all but 0 the same epsilon for everybody: sensitivity and noise are both proportional to c.
        let epsilons: Vec<f64> = simplex.unimprovable.iter().map(|agent| agent.epsilon).collect();
        // 13.0 at sensitivity 1; an agent that is not to be biased clips to 12 R more than that.
        assert!((epsilons[0] - 13.186).abs() < 0.005, "{epsilons:?}");
        assert!(epsilons.iter().all(|e| (e / epsilons[0] - 1.0).abs() < 0.06), "{epsilons:?}");
        assert!(simplex.unilateral.iter().all(|change| change.over_budget > 1.0));
        assert!(plan.given[0].epsilon_all_rounds > 1e4);
    }

    /// The plan is deployed as it is: the epsilon of an agent that clips as `on_axis` says and adds that sigma.
    #[test]
    fn the_plans_epsilons_are_those_of_agents_that_run() {
        let noisy = PlanParams { response_noise: 0.05, ..params() };
        let plan = noisy.check().unwrap();
        for (axis, planned) in plan.given.iter().enumerate() {
            let privacy = ResponsePrivacy::Budget { epsilon: 1.0, delta: 1e-5, responses: None };
            let bounds = (0.5, 2.0, 0.05);
            let agent = AgentParams::on_axis(&noisy.polytope, axis, 3, bounds, privacy).unwrap();
            assert!((planned.sensitivity - (agent.upper - agent.lower)).abs() < 1e-12);
            let (epsilon, delta) = (planned.epsilon, noisy.delta);
            let privacy = ResponsePrivacy::Budget { epsilon, delta, responses: None };
            let deployed = AgentParams { privacy, ..agent }.check().unwrap();
            assert!((deployed.deviation() / planned.sigma - 1.0).abs() < 1e-6);
        }
    }

    #[test]
    fn an_infeasible_budget_names_the_smallest() {
        let noisy = PlanParams { response_noise: 0.3, budget: Some(1.0), ..params() };
        let error = noisy.check().unwrap_err().to_string();
        let smallest: f64 = error.rsplit(' ').next().unwrap().parse().unwrap();
        let plan = PlanParams { budget: Some(smallest), ..noisy }.check().unwrap();
        // At the threshold the tightest agent has no noise left to give.
        assert!(plan.simplex.unwrap().unimprovable[1].epsilon > 1e9);
    }

    #[test]
    fn other_polytopes_have_bounds_but_no_vector() {
        let rows = [[1.0, 1.0], [-1.0, 0.0], [0.0, -1.0], [1.0, 0.0]];
        let polytope = Polytope::new(&rows, &[1.0, 0.5, 0.5, 0.9]).unwrap();
        let plan = PlanParams {
            polytope,
            objective: Objective::Linear { weights: vec![1.0, -1.0] },
            levels: vec![1.0, 1.0],
            ..params()
        };
        let with_budget = PlanParams { budget: Some(1e9), ..plan.clone() };
        let plan = plan.check().unwrap();
        assert!(plan.simplex.is_none() && plan.regret.is_some());
        assert!(with_budget.check().unwrap_err().to_string().contains("simplex only"));
        assert!(PlanParams { levels: vec![1.0], ..params() }.check().is_err());
        assert!(PlanParams { horizon: 0, ..params() }.check().is_err());
        assert!(PlanParams { delta: 0.0, ..params() }.check().is_err());
    }
}
