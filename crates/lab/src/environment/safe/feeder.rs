//! A low-voltage feeder at noon: households are offered incentives to take up surplus solar power, and the wires must hold.
//!
//! A three-phase radial feeder behind one distribution transformer, households spread along it and over the phases in turn. Household m
//! answers an incentive `x_m` (one entry per appliance that can be shifted: water heater, car, heat pump, ...) by raising its load by
//! `<theta_m, x_m>` kW on average. What may not be exceeded, in kW of raised load:
//!
//! - the transformer: `sum y_m <= rating - base load`;
//! - each phase: `sum_{m in phase} y_m <= rating / 3 - base load of the phase`;
//! - unbalance between any two phases, both ways;
//! - voltage at the end of each phase, by the linearised branch flow equations of Baran and Wu (LinDistFlow) with unity power factor:
//!   the drop `sum_m R_m y_m / V^2` of the raised load, `R_m` the resistance shared with household m on the way from the
//!   transformer, stays within what is left of the limit;
//! - each household: its main fuse upwards, and the load it can shed downwards.
//!
//! The mean of each response is kept within these limits, as for any quarter-hour average; single responses vary around it.

use reticent::{
    geometry::Polytope,
    noise::{Noise, uniform_direction},
    safe::Objective,
    schema::Count,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::agents::SafeEnvironment;
use crate::{FastNoise, Result};

/// The feeder, in the units of its data sheet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Feeder {
    /// Households, spread evenly along the feeder, on phases A, B, C in turn.
    #[schemars(with = "Count")]
    pub households: usize,
    /// Appliances that respond in each household: the dimension of an action.
    #[schemars(with = "Count")]
    pub appliances: usize,
    /// Transformer rating, kVA at unity power factor.
    pub transformer_kva: f64,
    /// Load of one household before any response, kW.
    pub base_load_kw: f64,
    /// Main fuse: the most a household may raise its load, kW.
    pub fuse_kw: f64,
    /// The most a household can shed, kW.
    pub sheddable_kw: f64,
    /// Largest difference of raised load between two phases, kW.
    pub unbalance_kw: f64,
    /// Phase voltage, V.
    pub voltage: f64,
    /// Resistance of one phase from the transformer to the far end, ohm.
    pub resistance_ohm: f64,
    /// Allowed drop along the feeder, percent of the phase voltage.
    pub drop_percent: f64,
    /// Largest length of a household's parameter, kW per unit of incentive.
    pub response_kw: f64,
    /// Largest length of an incentive.
    pub largest_incentive: f64,
    /// Deviation of a household's response around its mean, kW.
    pub response_noise_kw: f64,
    /// The households of the feeder.
    pub seed: u64,
}

impl Default for Feeder {
    fn default() -> Self {
        Feeder {
            households: 50,
            appliances: 2,
            transformer_kva: 160.0,
            base_load_kw: 0.8,
            fuse_kw: 5.0,
            sheddable_kw: 0.8,
            unbalance_kw: 20.0,
            voltage: 230.0,
            resistance_ohm: 0.16,
            drop_percent: 5.0,
            response_kw: 2.0,
            largest_incentive: 2.0,
            response_noise_kw: 0.2,
            seed: 1,
        }
    }
}

impl Feeder {
    /// The safe set.
    pub fn polytope(&self) -> Result<Polytope> {
        let n = self.households;
        let remedy = "expected whole numbers above 0";
        reticent::refuse_if(n == 0 || self.appliances == 0, "households, appliances", 0, remedy)?;
        let phase = |m: usize| m % 3;
        let (mut rows, mut bounds, mut broken) = (Vec::new(), Vec::new(), Vec::new());
        let mut limit = |name: String, row: Vec<f64>, bound: f64| {
            if row.iter().any(|&a| a != 0.0) {
                if bound < 0.0 || bound.is_nan() {
                    broken.push(format!("{name} ({:.3} left)", bound));
                }
                rows.push(row);
                bounds.push(bound);
            }
        };
        let select = |wanted: usize, weight: &dyn Fn(usize) -> f64| -> Vec<f64> {
            (0..n).map(|m| if phase(m) == wanted { weight(m) } else { 0.0 }).collect()
        };
        let base = |wanted: usize| {
            (0..n).filter(|&m| phase(m) == wanted).count() as f64 * self.base_load_kw
        };
        let spare = self.transformer_kva - n as f64 * self.base_load_kw;
        limit("transformer, kW".into(), vec![1.0; n], spare);
        // R shared with the household on the way from the transformer, for a node at the far end: that of the household itself.
        let share = |m: usize| (m + 1) as f64 / n as f64 * self.resistance_ohm;
        let allowed = self.drop_percent / 100.0 * self.voltage;
        for wanted in 0..3 {
            let letter = ["A", "B", "C"][wanted];
            let spare = self.transformer_kva / 3.0 - base(wanted);
            limit(format!("phase {letter}, kW"), select(wanted, &|_| 1.0), spare);
            // Volts per kW at unity power factor: R 1000 / V.
            let drop = select(wanted, &|m| share(m) * 1e3 / self.voltage);
            let before: f64 = drop.iter().map(|volts| volts * self.base_load_kw).sum();
            limit(format!("voltage at the far end of phase {letter}, V"), drop, allowed - before);
            let next = (wanted + 1) % 3;
            let unbalance = |sign: f64| -> Vec<f64> {
                let side = |m: usize| match phase(m) {
                    p if p == wanted => sign,
                    p if p == next => -sign,
                    _ => 0.0,
                };
                (0..n).map(side).collect()
            };
            for sign in [1.0, -1.0] {
                let name = format!("unbalance of phase {letter}, kW");
                limit(name, unbalance(sign), self.unbalance_kw);
            }
        }
        for m in 0..n {
            let one = |sign: f64| (0..n).map(|k| if k == m { sign } else { 0.0 }).collect();
            limit(format!("fuse of household {m}, kW"), one(1.0), self.fuse_kw);
            limit(format!("sheddable load of household {m}, kW"), one(-1.0), self.sheddable_kw);
        }
        let remedy = "the base load alone is beyond these limits, so that nothing is known to be safe: lower base_load_kw, or raise what limits it";
        reticent::refuse_if(!broken.is_empty(), "feeder", broken.join(", "), remedy)?;
        let polytope = Polytope::new(&rows, &bounds)?;
        polytope.check_origin()?;
        Ok(polytope)
    }

    /// The feeder with households drawn from its seed: appliances respond between 40 % and 100 % of the largest parameter.
    pub(crate) fn environment(&self) -> Result<SafeEnvironment> {
        let polytope = self.polytope()?;
        let mut noise = FastNoise::seeded(self.seed);
        let parameters = (0..self.households)
            .map(|_| {
                let strength = self.response_kw * (0.4 + 0.6 * noise.uniform());
                let direction = uniform_direction(self.appliances, &mut noise);
                // Incentives raise load: all entries positive.
                direction.iter().map(|x| x.abs() * strength).collect()
            })
            .collect();
        Ok(SafeEnvironment {
            polytope,
            objective: Objective::Linear { weights: vec![1.0; self.households] },
            parameters,
            parameter_bound: self.response_kw,
            action_bound: self.largest_incentive,
            response_noise: self.response_noise_kw,
            feeder: Some(self.clone()),
        })
    }

    /// Readings of the instruments when households raise their loads by these kW on average.
    pub(crate) fn readings(&self, raised: &[f64]) -> Readings {
        let (mut phases, mut drops) = ([0.0; 3], [0.0; 3]);
        for (m, &kw) in raised.iter().enumerate() {
            let resistance = (m + 1) as f64 / raised.len() as f64 * self.resistance_ohm;
            phases[m % 3] += kw;
            drops[m % 3] += resistance * 1e3 / self.voltage * (self.base_load_kw + kw);
        }
        let total: f64 = phases.iter().sum();
        let largest = |values: [f64; 3]| values.into_iter().fold(f64::NEG_INFINITY, f64::max);
        let smallest = |values: [f64; 3]| values.into_iter().fold(f64::INFINITY, f64::min);
        let load = total + raised.len() as f64 * self.base_load_kw;
        Readings {
            taken_up_kw: total,
            transformer_percent: 100.0 * load / self.transformer_kva,
            far_end_volts: self.voltage - largest(drops),
            unbalance_kw: largest(phases) - smallest(phases),
        }
    }
}

/// Readings of a feeder's instruments.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Readings {
    /// Surplus power taken up, kW.
    pub(crate) taken_up_kw: f64,
    /// Loading of the transformer, percent of its rating.
    pub(crate) transformer_percent: f64,
    /// The lowest voltage at the far end of a phase, V.
    pub(crate) far_end_volts: f64,
    /// The largest difference of raised load between phases, kW.
    pub(crate) unbalance_kw: f64,
}

impl Readings {
    /// The worst of both, and of what was taken up the later.
    pub(crate) fn and_then(self, later: Self) -> Self {
        Readings {
            taken_up_kw: later.taken_up_kw,
            transformer_percent: self.transformer_percent.max(later.transformer_percent),
            far_end_volts: self.far_end_volts.min(later.far_end_volts),
            unbalance_kw: self.unbalance_kw.max(later.unbalance_kw),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_feeder_is_limited_by_what_an_engineer_would_expect() {
        let feeder = Feeder::default();
        let polytope = feeder.polytope().unwrap();
        assert_eq!((polytope.dimension(), polytope.rows().len()), (50, 1 + 3 * 4 + 100));
        let (most, _) = polytope.maximize(&vec![1.0; 50]).unwrap();
        // 160 kVA less 40 kW of base load, if those near the transformer take it.
        assert!((most - 120.0).abs() < 1e-9, "{most}");
        // 5 % of 230 V at the far end: 11.5 V. All households of a phase at 5 kW would drop far more.
        let all = vec![5.0; 50];
        assert!(polytope.excess(&all) > 0.0);
        assert!(polytope.contains(&[1.0; 50]));
    }

    #[test]
    fn instruments_agree_with_the_limits() {
        let feeder = Feeder::default();
        let idle = feeder.readings(&[0.0; 50]);
        // 40 of 160 kVA; no load is raised.
        assert!((idle.transformer_percent - 25.0).abs() < 1e-12);
        assert_eq!((idle.taken_up_kw, idle.unbalance_kw), (0.0, 0.0));
        // Where a limit of the safe set is met exactly, the instrument shows exactly that limit.
        let polytope = feeder.polytope().unwrap();
        let (_, most) = polytope.maximize(&vec![1.0; 50]).unwrap();
        let full = feeder.readings(&most);
        assert!((full.transformer_percent - 100.0).abs() < 1e-9, "{full:?}");
        assert!(full.far_end_volts > 0.95 * 230.0 - 1e-9 && full.unbalance_kw < 20.0 + 1e-9);
        let farthest: Vec<f64> = (0..50).map(|m| if m % 3 == 1 { 1.0 } else { 0.0 }).collect();
        let (_, low) = polytope.maximize(&farthest).unwrap();
        let scale = |volts: f64| volts - 0.95 * 230.0;
        assert!(scale(feeder.readings(&low).far_end_volts) > -1e-9);
    }

    #[test]
    fn an_overloaded_feeder_is_refused() {
        let refusal = |base_load_kw| {
            let feeder = Feeder { base_load_kw, ..Feeder::default() };
            feeder.polytope().unwrap_err().to_string()
        };
        // At 2 kW each the voltage at the far end is too low until a household sheds load; at 4 kW the transformer is overloaded too.
        let (low, high) = (refusal(2.0), refusal(4.0));
        assert!(low.contains("far end of phase A, V") && !low.contains("transformer"), "{low}");
        assert!(high.contains("transformer, kW (-40.000 left)"), "{high}");
        assert!(refusal(f64::NAN).contains("transformer"));
        assert!(Feeder { households: 0, ..Feeder::default() }.polytope().is_err());
    }
}
