//! Warm start of a loop: a model that was released before, or public examples.
//!
//! | file | contents | privacy cost |
//! | --- | --- | --- |
//! | `"kind": "reticent model 1"` | a released model, written by `reticent-server store model` | the cost that the file states, in the total for one person |
//! | `"kind": "reticent prior 1"` | examples in the loop's own features, with rewards | none: they are data of no person |
//!
//! A model belongs to the features it was learnt with: of two rules from records to vectors the coordinates mean different things, even where there are
//! equally many.
//!
//! The cost of a model is assumed to be that which its file states, and so is its unit: a person, or one decision (`units`). A release that one of
//! the store's own generations has made, which the store can show itself, is not counted a second time.

use std::{fs, path::Path};

use reticent::{
    bandit::{JointParams, Legacy},
    features::{FeaturesParams, FeaturesPlan, Report, Value},
    hash,
};
use serde::{Deserialize, Serialize};

use super::{Ledger, LoopParams, set_group};
use crate::{
    Error, Result,
    records::{Digest, Generation, GenerationId, StoreId},
    secret::{from_hex, hex},
};

const MODEL: &str = "reticent model 1";
const PRIOR: &str = "reticent prior 1";

/// Contributions that an example may be worth, at most.
const MOST_WEIGHT: f64 = 1e6;

/// Start of a loop from a model or from examples.
#[derive(Debug, Clone)]
pub struct WarmStart {
    /// Sums that the learner begins with.
    pub legacy: Legacy,
    /// The loop that released them; none for public examples.
    pub origin: Option<Origin>,
    /// The hash of the file: another file is another generation.
    pub(super) hash: u64,
}

/// The generation that a model comes from, and the units that it was learnt from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// The identity of its store, in hexadecimal digits.
    pub store: String,
    /// Its number.
    #[serde(rename = "life")]
    pub generation: GenerationId,
    /// The hash of everything that its generation is, in hexadecimal digits.
    #[serde(rename = "generation")]
    pub params_hash: String,
    /// The number of the release that the model is.
    pub release: u64,
    /// The hash of the chain up to that release, in hexadecimal digits.
    pub chain: String,
    /// Protected unit of each of the learners that it comes from, the earliest first.
    pub units: Vec<Ledger>,
}

/// A released model as a file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelFile {
    kind: String,
    /// The loop.
    #[serde(rename = "loop")]
    name: String,
    origin: Origin,
    /// The hash of the rule from records to vectors.
    features: String,
    /// Everything in it has been released.
    legacy: String,
}

impl ModelFile {
    /// Last release of a generation, as text. The head is the number of that release and the hash of the chain up to it.
    pub fn write(
        store: StoreId,
        generation: &Generation,
        head: (u64, &Digest),
        legacy: &Legacy,
    ) -> Result<String> {
        let params: LoopParams =
            serde_json::from_slice(&generation.params).map_err(Error::store)?;
        let before = params.warm_start_origin.as_ref();
        let before = before.map_or(&[][..], |origin| &origin.units);
        let origin = Origin {
            store: hex(&store),
            generation: generation.id,
            params_hash: format!("{:016x}", generation.params_hash),
            release: head.0,
            chain: hex(head.1),
            units: before.iter().copied().chain([params.ledger(&generation.name)?]).collect(),
        };
        let file = ModelFile {
            kind: MODEL.into(),
            name: generation.name.clone(),
            origin,
            features: match &params.continuation {
                Some(continuation) => format!("{:016x}", continuation.features_hash()),
                None => features_hash(&params.features()?),
            },
            legacy: hex(&legacy.save()),
        };
        serde_json::to_string(&file).map_err(Error::store)
    }
}

/// Public examples as a file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PriorFile {
    #[serde(rename = "kind")]
    _kind: String,
    examples: Vec<Example>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Example {
    #[serde(default)]
    context: Value,
    #[serde(default)]
    action: Value,
    reward: f64,
    /// Number of contributions that it is worth.
    #[serde(default = "one")]
    weight: f64,
}

fn one() -> f64 {
    1.0
}

/// The rule from records to vectors, by its hash.
fn features_hash(features: &FeaturesParams) -> String {
    format!("{:016x}", hash::of_params("features 1", features))
}

impl WarmStart {
    /// Reads a file, for a loop with this learner and these features.
    pub(super) fn open(
        path: &Path,
        learner: &JointParams,
        features: &FeaturesPlan,
        compares: bool,
    ) -> Result<Self> {
        let refuse = |remedy: String| Error::invalid("warm_start", path.display(), remedy);
        let bytes = fs::read(path)
            .map_err(|error| refuse(format!("{error}: name a file that can be read")))?;
        #[derive(Deserialize)]
        struct Kind {
            kind: String,
        }
        let kind = serde_json::from_slice::<Kind>(&bytes).map(|kind| kind.kind);
        let (legacy, origin) = match kind.as_deref() {
            Ok(MODEL) => {
                let file: ModelFile = serde_json::from_slice(&bytes).map_err(|error| {
                    refuse(format!("{error}: write it again with `reticent-server store model`"))
                })?;
                let (legacy, origin) = model(file, features).map_err(refuse)?;
                (legacy, Some(origin))
            }
            Ok(PRIOR) => {
                let file: PriorFile = serde_json::from_slice(&bytes).map_err(|error| {
                    refuse(format!(
                        "{error}; expected examples of context, action, reward and weight"
                    ))
                })?;
                (prior(&file, learner, features, compares)?, None)
            }
            Ok(other) => {
                let shown: String = other.chars().take(40).collect();
                return Err(refuse(format!(
                    "its kind is {shown:?}; expected {MODEL:?} or {PRIOR:?}"
                )));
            }
            Err(_) => {
                return Err(refuse(format!(
                    "it is no JSON with a `kind`; expected what `reticent-server store model` wrote, or examples of kind {PRIOR:?}"
                )));
            }
        };
        Ok(WarmStart { legacy, origin, hash: hash::of_bytes(&bytes) })
    }
}

/// The sums of a model, if its features are those of the loop. Their bounds are compared by the learner.
fn model(file: ModelFile, features: &FeaturesPlan) -> Result<(Legacy, Origin), String> {
    let ours = features_hash(features.params());
    if file.features != ours {
        return Err(format!(
            "it was learnt with other features ({:?}) than this loop's, {ours}: give both the same, or begin without it",
            file.features.chars().take(40).collect::<String>()
        ));
    }
    let bytes =
        from_hex(&file.legacy).ok_or("its `legacy` cannot be read; expected hexadecimal digits")?;
    let legacy = Legacy::load(&bytes)
        .map_err(|error| format!("its `legacy` cannot be read ({error}): write it again"))?;
    if legacy.is_public() {
        return Err("a model was learnt from people, and this one names none: write it again with `reticent-server store model`".into());
    }
    if !legacy.is_secure() {
        return Err("its noise was simulated and protects no person; expected a model that a service has released".into());
    }
    let (units, learners) = (file.origin.units.len(), legacy.events().len());
    if units != learners {
        return Err(format!(
            "it comes from {learners} learners and names what is protected in {units}: write it again with `reticent-server store model`"
        ));
    }
    Ok((legacy, file.origin))
}

/// The sums of public examples.
fn prior(
    file: &PriorFile,
    learner: &JointParams,
    features: &FeaturesPlan,
    compares: bool,
) -> Result<Legacy> {
    let mut rows = Vec::with_capacity(file.examples.len());
    for (index, example) in file.examples.iter().enumerate() {
        let at = |field: &str| format!("warm_start.examples[{index}].{field}");
        if !(0.0..=MOST_WEIGHT).contains(&example.weight) {
            let remedy = format!("expected from 0 to {MOST_WEIGHT}");
            return Err(Error::invalid(at("weight"), example.weight, remedy));
        }
        let (low, high) = learner.bounds.rewards;
        if !(low..=high).contains(&example.reward) {
            let remedy = format!("expected a reward from {low} to {high}");
            return Err(Error::invalid(at("reward"), example.reward, remedy));
        }
        let mut row = vec![0.0; learner.bounds.dimension];
        let mut report = Report::default();
        let mut writer = features.writer(&example.context, &mut report);
        writer.write(&example.action, &mut report, &mut row[..features.dimension()]);
        // People may leave something out; authors of examples should not.
        let of_context = report.context.keys().map(|name| format!("context.{name}"));
        let of_action = report.action.keys().map(|name| format!("action.{name}"));
        if let Some(field) = of_context.chain(of_action).next() {
            let remedy = "expected a value that the loop's features know, within its range";
            return Err(Error::invalid(
                at(&field),
                "nothing, or a value that is unknown or out of range",
                remedy,
            ));
        }
        set_group(&mut row, compares, false);
        rows.push((row, example.reward, example.weight));
    }
    let rows = rows.iter().map(|(row, reward, weight)| (&row[..], *reward, *weight));
    Ok(Legacy::public(learner, rows)?)
}
