//! `kind = "catalogue"`: a simulated product, with the features that a file of loops would have.
//!
//! | file | contents |
//! | --- | --- |
//! | `laws` | the values of each feature, and their frequencies |
//! | `truth` | the hidden reward model: an effect for each coordinate, of the size that the file states for its part |
//! | `stock` | one trial: who comes, which actions there are, and what they earn |
//! | `played` | trials with the mean rewards of a random, the best fixed and the best action beside the learner's |
//!
//! A context and the words of K actions are drawn; core's public rule makes the arms of them, as in a service. The reward of an action is 0 or 1 with mean
//!
//! ```text
//! p = base + sum over parts p, coordinates j of  effect_j z_j,    effect_j ~ N(0, size_p^2),   cut off at 0 and 1
//! ```
//!
//! where z are the coordinates of the records before they are weighted: 1 for the word that is there, -1 to 1 for a number. The effect of a match is its size
//! itself. So a cross that matters and one that does not differ in one number of the file; a part of weight 0 may have effects that the learner does not see.

mod laws;
mod played;
mod stock;
#[cfg(test)]
mod tests;
mod truth;

use std::{collections::BTreeMap, sync::Arc};

use reticent::{
    Error,
    features::{
        Cross, Encoding, FeatureTable, FeaturesParams, FeaturesPlan, Fourier, Products, Projection,
        Weighting,
    },
    randomize::Bounds,
    refuse_if,
    schema::{Count, Share},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::{laws::Law, played::Played, stock::Stock, truth::Truth};
use super::{
    bandit::BanditEnvironment, check_size, modifiers::Modifiers, round_by_round::RoundByRound,
};
use crate::{Result, papers::constants::Problem};

/// Keys of `kind = "catalogue"`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CatalogueToml {
    /// Number of actions that each person chooses from. An action of a feature with at least as many words is named by it: no two have the same word.
    #[schemars(range(min = 2))]
    pub actions: usize,
    /// Mean reward of an action without effects.
    #[serde(default = "base")]
    #[schemars(with = "Share")]
    pub base: f64,
    /// Standard deviation of the effects of a part on the mean reward, by the part's name, such as `"action.topic"` or `"device*topic"`; of a match the effect
    /// itself. Parts that are not listed have no effect.
    #[schemars(with = "BTreeMap<String, Share>")]
    pub effects: BTreeMap<String, f64>,
    /// Exponents of frequencies by feature, such as `"context.country"`: value number i has a frequency in proportion to `i^-decay`. By default 0: all values
    /// are equally frequent.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub decay: BTreeMap<String, f64>,
    /// Number of people, of whom one comes each round, drawn uniformly. By default every round is another person's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Count>")]
    pub people: Option<u64>,
    /// With `people`: features of the context that are drawn anew each time a person comes. The others stay the same for a person.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub per_event: Vec<String>,
    /// Number of rounds after which the oldest action is withdrawn and a new one comes in its place, again and again. By default none is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Count>")]
    pub replace_every: Option<u64>,
    /// Features of the context, as in a file of loops.
    #[serde(default, skip_serializing_if = "serde_json::Value::is_null")]
    #[schemars(with = "FeatureTable")]
    pub context: serde_json::Value,
    /// Features of an action.
    #[serde(default, skip_serializing_if = "serde_json::Value::is_null")]
    #[schemars(with = "FeatureTable")]
    pub action: serde_json::Value,
    /// Products of both.
    #[serde(default, skip_serializing_if = "serde_json::Value::is_null")]
    #[schemars(with = "Cross")]
    pub cross: serde_json::Value,
    /// Shares of the squared norm by the name of a part; 0: the learner does not see the part, which may have effects.
    #[serde(default, skip_serializing_if = "serde_json::Value::is_null")]
    #[schemars(with = "BTreeMap<String, Share>")]
    pub weight: serde_json::Value,
    /// Division of the squared norm among parts without a share: `roots`, or `groups`, in which crosses share a budget however many they are.
    #[serde(default, skip_serializing_if = "serde_json::Value::is_null")]
    #[schemars(with = "Weighting")]
    pub weighting: serde_json::Value,
    /// Products of the numbers.
    #[serde(default, skip_serializing_if = "serde_json::Value::is_null")]
    #[schemars(with = "Products")]
    pub products: serde_json::Value,
    /// Random Fourier features of the numbers.
    #[serde(default, skip_serializing_if = "serde_json::Value::is_null")]
    #[schemars(with = "Fourier")]
    pub fourier: serde_json::Value,
    /// A public projection to fewer coordinates.
    #[serde(default, skip_serializing_if = "serde_json::Value::is_null")]
    #[schemars(with = "Projection")]
    pub projection: serde_json::Value,
}

fn base() -> f64 {
    0.3
}

/// The keys, checked.
struct CataloguePlan {
    actions: usize,
    /// The rule that makes arms.
    features: FeaturesPlan,
    truth: Truth,
    /// Laws of the features, in the order of their names.
    context: Vec<Law>,
    action: Vec<Law>,
    people: Option<u64>,
    /// For each feature of the context, whether it is drawn at each event.
    per_event: Vec<bool>,
    replace_every: Option<u64>,
}

impl CatalogueToml {
    /// The rule from records to vectors, as a file of loops would have it.
    pub(crate) fn features(&self) -> Result<FeaturesParams> {
        let parts = [
            ("context", &self.context),
            ("action", &self.action),
            ("cross", &self.cross),
            ("projection", &self.projection),
            ("weight", &self.weight),
            ("weighting", &self.weighting),
            ("products", &self.products),
            ("fourier", &self.fourier),
        ];
        let given = parts.into_iter().filter(|(_, part)| !part.is_null());
        let table: serde_json::Map<_, _> =
            given.map(|(name, part)| (name.to_string(), part.clone())).collect();
        let read = serde_json::from_value(table.into());
        Ok(read.map_err(|error| {
            Error::invalid("features", "what cannot be read", error.to_string())
        })?)
    }

    fn check(&self) -> Result<CataloguePlan> {
        let remedy = "with one action there is nothing to choose; expected at least 2";
        refuse_if(self.actions < 2, "actions", self.actions, remedy)?;
        let remedy = "expected the mean reward of an action without effects, from 0 to 1";
        refuse_if(!(0.0..=1.0).contains(&self.base), "base", self.base, remedy)?;
        for (field, value) in [("people", self.people), ("replace_every", self.replace_every)] {
            let remedy = "expected a whole number above 0; or leave it out";
            refuse_if(value == Some(0), field, 0, remedy)?;
        }
        let params = self.features()?;
        let remedy = "actions without features of their own are all equal: list some, such as topic = { categories = [\"news\", \"sport\"] }";
        refuse_if(params.action.is_empty(), "action", "{}", remedy)?;
        let features = params.check()?;
        check_size(features.dimension(), self.actions)?;
        let truth = Truth::new(&params, self.base, &self.effects)?;
        let [context, action] = self.laws(&params)?;
        let names: Vec<&str> = features.context_names().collect();
        for name in &self.per_event {
            let known = names.join(", ");
            let remedy = format_args!(
                "it is no feature of the context; expected some of [{known}], or none"
            );
            refuse_if(!names.contains(&name.as_str()), "per_event", format!("{name:?}"), remedy)?;
        }
        let remedy = "without `people` every round is another person's and all features are drawn anew: give people, or leave it out";
        let refused = self.people.is_none() && !self.per_event.is_empty();
        refuse_if(refused, "per_event", format!("{:?}", self.per_event), remedy)?;
        let per_event = names.iter().map(|name| self.per_event.iter().any(|one| one == name));
        Ok(CataloguePlan {
            actions: self.actions,
            truth,
            context,
            action,
            people: self.people,
            per_event: per_event.collect(),
            replace_every: self.replace_every,
            features,
        })
    }

    /// Laws of the features of the context and of an action.
    fn laws(&self, params: &FeaturesParams) -> Result<[Vec<Law>; 2]> {
        let sides = [("context", &params.context), ("action", &params.action)];
        let name = |side: &str, name: &String| format!("{side}.{name}");
        let known: Vec<String> = sides
            .iter()
            .flat_map(|(side, features)| features.keys().map(|feature| name(side, feature)))
            .collect();
        for (feature, decay) in &self.decay {
            let value = format!("{decay} for {feature}");
            let known_names = known.join(", ");
            let remedy = format_args!("it is no feature; expected one of {known_names}");
            refuse_if(!known.contains(feature), "decay", &value, remedy)?;
            let remedy = "expected an exponent from 0 (all values are equally frequent) to 10";
            refuse_if(!(0.0..=10.0).contains(decay), "decay", &value, remedy)?;
        }
        Ok(sides.map(|(side, features)| {
            let law = |(feature, encoding): (&String, &Encoding)| {
                let decay = self.decay.get(&name(side, feature)).copied().unwrap_or(0.0);
                Law::new(feature, encoding, decay)
            };
            features.iter().map(law).collect()
        }))
    }

    /// The environment, or what is wrong with its keys.
    pub(crate) fn environment(
        &self,
        rounds: u64,
        modifiers: Modifiers,
    ) -> Result<BanditEnvironment> {
        let plan = Arc::new(self.check()?);
        let dimension = plan.features.dimension();
        let [parameter_bound, centred_parameter_bound] = plan.truth.typical_norms(&plan.features);
        let remarks = vec![format!(
            "simulated: {} actions and vectors of {dimension} coordinates; mean rewards are {} plus effects, cut off at 0 and 1, so that they are not exactly linear and no confidence set is certified",
            self.actions, self.base,
        )];
        let start = {
            let plan = plan.clone();
            Box::new(move |seed| Ok(Box::new(Stock::new(plan.clone(), seed)?) as Box<_>))
        };
        let rounds_of =
            RoundByRound { start, modifiers, remarks, data_hash: 0, headline: Some(played::MEAN) };
        Ok(BanditEnvironment {
            bounds: Bounds {
                rewards: (0.0, 1.0),
                intercept: plan.features.constant(),
                ..Bounds::unit(dimension)
            },
            problem: Problem {
                parameter_bound,
                reward_noise: 0.5,
                ..Problem::unit(dimension).within(1.0, 1.0)
            },
            centred_parameter_bound,
            rounds,
            arms: self.actions,
            blocks: None,
            features: Some(Arc::new(plan.features.clone())),
            fixed_arms: false,
            uniform_gram: None,
            embedding: None,
            embeds: false,
            modifiers,
            returns: self.people.map(|people| ("person", people as usize)),
            contributions_per_person: None,
            protected: Vec::new(),
            trials: Arc::new(Played { rounds: rounds_of, replace_every: self.replace_every }),
        })
    }
}
