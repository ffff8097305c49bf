//! The hidden reward model: an effect for each coordinate of the records, in units of the mean reward.
//!
//! ```text
//! p = base + sum_j effect_j z_j, cut off at 0 and 1,    effect_j = size_p g_j,   g_j standard normal;   size_p of a match
//! ```
//!
//! All parts of the table count, those of weight 0 too. theta* turns and jumps (`[environment.modifiers]`) by the direction of g, whose norm stays.

use std::collections::BTreeMap;

use reticent::{
    Error, Result,
    features::{FeaturesParams, FeaturesPlan, Map, Part, PartKind, Value, Weighting},
    refuse_if,
};

/// Sizes of effects, by coordinate.
pub(super) struct Truth {
    /// The table without weights, so that every part has coordinates, and its parts' weights by coordinate.
    plan: FeaturesPlan,
    weights: Vec<f64>,
    base: f64,
    /// Coordinates whose effects are drawn, with their deviations.
    drawn: Vec<(usize, f64)>,
    /// Effects of matches.
    fixed: Vec<(usize, f64)>,
}

/// Coordinates of one action's records that are not zero.
pub(super) type Entries = Vec<(u32, f64)>;

impl Truth {
    pub(super) fn new(
        params: &FeaturesParams,
        base: f64,
        sizes: &BTreeMap<String, f64>,
    ) -> Result<Self> {
        let plan = FeaturesParams {
            weight: Map::new(),
            weighting: Weighting::Roots,
            projection: None,
            ..params.clone()
        }
        .check()?;
        for (name, size) in sizes {
            let value = format!("{size} for {name}");
            let known: Vec<&str> = plan.parts().iter().map(|part| part.name.as_str()).collect();
            let remedy = format_args!("it is no part; expected one of {}", known.join(", "));
            refuse_if(!known.contains(&name.as_str()), "effects", &value, remedy)?;
            let remedy = "expected a deviation of mean rewards from 0 to 1";
            refuse_if(!(0.0..=1.0).contains(size), "effects", value, remedy)?;
        }
        if !sizes.values().any(|size| *size > 0.0) {
            let remedy = "all actions would be equal: give a part a size above 0";
            return Err(Error::invalid("effects", "0 for every part", remedy));
        }
        let (mut drawn, mut fixed) = (Vec::new(), Vec::new());
        for part in plan.parts() {
            let size = sizes.get(&part.name).copied().unwrap_or(0.0);
            let coordinates = coordinates(part).map(|place| (place, size));
            match part.kind {
                _ if size == 0.0 => {}
                PartKind::Match => fixed.extend(coordinates),
                _ => drawn.extend(coordinates),
            }
        }
        let weights = plan.parts().iter().flat_map(|part| vec![part.weight; part.cells]).collect();
        Ok(Truth { plan, weights, base, drawn, fixed })
    }

    /// Number of effects that are drawn.
    pub(super) fn draws(&self) -> usize {
        self.drawn.len()
    }

    /// Effects by coordinate, for these standard normal numbers.
    pub(super) fn effects(&self, normals: &[f64], effects: &mut Vec<f64>) {
        effects.clear();
        effects.resize(self.weights.len(), 0.0);
        for ((place, size), normal) in self.drawn.iter().zip(normals) {
            effects[*place] = size * normal;
        }
        self.fixed.iter().for_each(|(place, size)| effects[*place] = *size);
    }

    /// Coordinates of a context with each of these actions, unweighted.
    pub(super) fn entries(&self, context: &Value, actions: &[Value]) -> Vec<Entries> {
        let entries = |row: Vec<f64>| -> Entries {
            let unweighted = row.iter().zip(&self.weights).map(|(x, weight)| x / weight);
            (0..).zip(unweighted).filter(|(_, z)| *z != 0.0).collect()
        };
        self.plan.rows_alone(context, actions).into_iter().map(entries).collect()
    }

    /// The mean reward of an action with these coordinates.
    pub(super) fn mean(&self, entries: &Entries, effects: &[f64]) -> f64 {
        let effect: f64 = entries.iter().map(|(place, z)| effects[*place as usize] * z).sum();
        (self.base + effect).clamp(0.0, 1.0)
    }

    /// Norms that theta* has in the mean square for the arms of this rule: for rewards in [0, 1], and for those that are centred and scaled to [-1, 1]. At least 1.
    pub(super) fn typical_norms(&self, seen: &FeaturesPlan) -> [f64; 2] {
        let mut squares = vec![0.0; self.weights.len()];
        for (place, size) in self.drawn.iter().chain(&self.fixed) {
            squares[*place] = size * size;
        }
        let share = |part: &Part| -> f64 {
            let own = self.plan.parts().iter().find(|own| own.name == part.name);
            let sum = own.map_or(0.0, |own| coordinates(own).map(|place| squares[place]).sum());
            sum / (part.weight * part.weight)
        };
        let effects: f64 = seen.parts().iter().map(share).sum();
        let constant = |mean: f64| seen.constant().map_or(0.0, |weight| mean / weight);
        [(constant(self.base), effects), (constant(2.0 * self.base - 1.0), 4.0 * effects)]
            .map(|(constant, effects)| (constant * constant + effects).sqrt().max(1.0))
    }
}

fn coordinates(part: &Part) -> std::ops::Range<usize> {
    part.offset..part.offset + part.cells
}
