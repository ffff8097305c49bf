//! Readers of a device's messages in little code, for devices that are downloaded with a page. Every message that is accepted here,
//! [`from_json`](reticent::wire::from_json) reads as the same value; fields that have a default there must be given here, as [`to_json`](reticent::wire::to_json) does.

use super::{Period, ProtocolParams, ProtocolPlan};
use crate::fields::{Fields, number, only, record, text, undecoded, wrong};
use reticent::{
    Error, Result,
    bandit::{Ensemble, Guide, Model, Policy},
    features::{
        Cross, Encoding, FeaturesParams, Fourier, Map, Products, Projection, Value, Weighting,
        encodings,
    },
    randomize::{Bounds, GramGaussian, Levels, Method, ReportParams, ReportPlan},
    release::{Calibration, Structure},
    wire::Message,
};

/// Reads a protocol.
pub fn protocol(text: &[u8]) -> Result<ProtocolPlan> {
    message::<ProtocolPlan>(text, |fields| {
        let hash = fields.word("hash")?;
        let params = ProtocolParams {
            name: fields.text("loop")?,
            period: period(fields.take("period")?)?,
            features: rule(fields.table("features")?)?,
            report: report(fields.table("report")?)?,
        };
        params.expecting(hash)
    })
}

/// Reads a plan of reports, as a device of a loop with a shuffler does.
pub fn report_plan(text: &[u8]) -> Result<ReportPlan> {
    message::<ReportPlan>(text, |fields| {
        let calibration = match fields.take("calibration")? {
            Value::Missing => None,
            value => Some(calibration(value)?),
        };
        let params = ReportParams { calibration, ..report_fields(fields)? };
        params.check_given()
    })
}

/// Reads a rule for features, as it stands inside of a message.
pub fn features(value: Value) -> Result<FeaturesParams> {
    rule(record("features", value)?)
}

/// Reads a model.
pub fn model(text: &[u8]) -> Result<Model> {
    message::<Model>(text, |fields| {
        let protocol = fields.word("protocol")?;
        let (sequence, reports) = (fields.count("sequence")?, fields.count("reports")?);
        let guide = match fields.take("guide")? {
            Value::Text(name) if name == "uniform" => Guide::Uniform,
            value => Guide::Follow(policy(only("follow", value)?)?),
        };
        Ok(Model::new(protocol, sequence, reports, guide))
    })
}

fn message<M: Message>(text: &[u8], read: impl FnOnce(&mut Fields) -> Result<M>) -> Result<M> {
    let mut fields = Fields::of_message(M::KIND, text)?;
    let message = read(&mut fields).and_then(|message| fields.end().map(|()| message));
    message.map_err(|error| undecoded(M::KIND, text.len(), &error))
}

fn period(value: Value) -> Result<Period> {
    match value {
        Value::Text(name) if name == "ever" => Ok(Period::Ever),
        Value::Record(entries) => {
            let mut fields = Fields(entries);
            let seconds = fields.count("seconds")?;
            fields.end().map(|()| Period::Seconds(seconds))
        }
        _ => Err(wrong("period")),
    }
}

fn rule(mut fields: Fields) -> Result<FeaturesParams> {
    let mut weight = Map::new();
    if let Some(given) = fields.given("weight") {
        for (name, share) in record("weight", given)?.0 {
            weight.insert(name, number("weight", &share)?);
        }
    }
    let mut sides = [Map::new(), Map::new()];
    for (side, name) in sides.iter_mut().zip(["context", "action"]) {
        *side = encodings(name, fields.take(name)?, &mut weight)
            .map_err(|remedy| Error::invalid(name, "another table", remedy))?;
    }
    let [context, action]: [Map<Encoding>; 2] = sides;
    let mut cross = fields.table("cross")?;
    let with = tuples(cross.take("with")?)?;
    let matches = cross.given("match").map_or(Ok(Vec::new()), tuples)?;
    cross.end()?;
    let constant = fields.flag("constant")?;
    let projection = fields.inside("projection", |fields| {
        let (dimension, seed) = (fields.size("dimension")?, fields.whole("seed")?);
        Ok(Projection { dimension, seed })
    })?;
    let products = fields.inside("products", |fields| {
        let (degree, with) = (fields.whole_32("degree")?, fields.optional_text("with")?);
        Ok(Products { degree, with })
    })?;
    let fourier = fields.inside("fourier", |fields| {
        let (count, scale) = (fields.whole_32("count")?, fields.number("scale")?);
        let (seed, with) = (fields.whole("seed")?, fields.optional_text("with")?);
        Ok(Fourier { count, scale, seed, with })
    })?;
    let weighting = match fields.optional_text("weighting")?.as_deref() {
        None | Some("roots") => Weighting::Roots,
        Some("groups") => Weighting::Groups,
        Some(_) => return Err(wrong("weighting")),
    };
    fields.end()?;
    let cross = Cross { with, matches };
    Ok(FeaturesParams {
        context,
        action,
        cross,
        constant,
        projection,
        weight,
        weighting,
        products,
        fourier,
    })
}

/// Lists of names.
fn tuples(value: Value) -> Result<Vec<Vec<String>>> {
    let list = |value| match value {
        Value::List(values) => Ok(values),
        _ => Err(wrong("cross")),
    };
    let tuple = |value| list(value)?.into_iter().map(|name| text("cross", name)).collect();
    list(value)?.into_iter().map(tuple).collect()
}

fn report(mut fields: Fields) -> Result<ReportParams> {
    let calibration = fields.nothing("calibration")?;
    let report = ReportParams { calibration, ..report_fields(&mut fields)? };
    fields.end().map(|()| report)
}

/// Those fields that protocols and plans of reports read alike.
fn report_fields(fields: &mut Fields) -> Result<ReportParams> {
    Ok(ReportParams {
        bounds: bounds(fields.table("bounds")?)?,
        public_arms: fields.flag("public_arms")?,
        levels: levels(fields.table("levels")?)?,
        delta: fields.number("delta")?,
        contributions_per_person: fields.count("contributions_per_person")?,
        method: Some(method(fields.take("method")?)?),
        calibration: None,
        claim: fields.nothing("claim")?,
    })
}

/// Noise of a given size, as a shuffler's sums have it.
fn calibration(value: Value) -> Result<Calibration> {
    let mut fields = record("calibration", value)?;
    let mu = fields.number("mu")?;
    fields.end().map(|()| Calibration::Mu(mu))
}

fn levels(mut fields: Fields) -> Result<Levels> {
    let levels = match fields.0.contains_key("public") {
        true => Levels::Public(fields.numbers("public")?),
        false => {
            let mut hidden = fields.table("hidden")?;
            let (epsilons, shares) = (hidden.numbers("epsilons")?, hidden.numbers("shares")?);
            hidden.end()?;
            Levels::Hidden { epsilons, shares }
        }
    };
    fields.end().map(|()| levels)
}

/// Those that a protocol may have.
fn method(value: Value) -> Result<Method> {
    match value {
        Value::Text(name) => Ok(match name.as_str() {
            "gram_gaussian" => Method::GramGaussian { split: GramGaussian::DEFAULT_SPLIT },
            "unit_gram" => Method::UnitGram,
            "unit_pair" => Method::UnitPair,
            "unit_axis" => Method::UnitAxis,
            _ => return Err(wrong("method")),
        }),
        value => {
            let mut fields = only("gram_gaussian", value)?;
            let split = fields.number("split")?;
            fields.end().map(|()| Method::GramGaussian { split })
        }
    }
}

fn bounds(mut fields: Fields) -> Result<Bounds> {
    let bounds = Bounds {
        dimension: fields.size("dimension")?,
        feature_bound: fields.number("feature_bound")?,
        rewards: match fields.numbers("rewards")?[..] {
            [low, high] => (low, high),
            _ => return Err(wrong("rewards")),
        },
        intercept: fields.optional("intercept")?,
        unit_arms: fields.flag("unit_arms")?,
        structure: structure(fields.table("structure")?)?,
    };
    fields.end().map(|()| bounds)
}

fn structure(mut fields: Fields) -> Result<Structure> {
    let structure = Structure { blocks: fields.size("blocks")?, shared: fields.size("shared")? };
    fields.end().map(|()| structure)
}

fn policy(mut fields: Fields) -> Result<Policy> {
    let policy = Policy::in_blocks(
        fields.size("dimension")?,
        structure(fields.table("structure")?)?,
        fields.numbers("theta")?,
        fields.numbers("whitening")?,
        fields.number("width")?,
        fields.number("drift")?,
    )?;
    let policy = match fields.take("ensemble")? {
        Value::Missing => policy,
        value => {
            let mut fields = record("ensemble", value)?;
            let (seed, members) = (fields.word("seed")?, fields.size("members")?);
            let members = u32::try_from(members).map_err(|_| wrong("members"))?;
            let ensemble = Ensemble::seeded(seed, members, fields.number("minimum_probability")?)?;
            fields.end()?;
            policy.with_ensemble(ensemble)
        }
    };
    fields.end().map(|()| policy)
}
