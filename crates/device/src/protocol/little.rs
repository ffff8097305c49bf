//! Readers of a device's messages in little code, for devices that are downloaded with a page. Every message that is accepted here,
//! [`from_json`](reticent::wire::from_json) reads as the same value; fields that have a default there must be given here, as [`to_json`](reticent::wire::to_json) does.

use super::{Period, ProtocolParams, ProtocolPlan};
use reticent::{
    Error, Result,
    bandit::{Ensemble, Guide, Model, Policy},
    features::{
        Cross, Encoding, FeaturesParams, Fourier, Map, Products, Projection, Value, Weighting,
        encodings, members_from_json,
    },
    randomize::{Bounds, GramGaussian, Levels, Method, ReportParams, ReportPlan},
    release::{Calibration, Structure},
    wire::{Kind, Message},
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

fn undecoded(kind: Kind, size: usize, error: &Error) -> Error {
    let remedy = format!("it cannot be decoded ({error}): refuse its sender");
    Error::invalid(kind.name(), format!("{size} bytes"), remedy)
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
            .map_err(|remedy| Error::invalid(name, "wrong", remedy))?;
    }
    let [context, action]: [Map<Encoding>; 2] = sides;
    let mut cross = fields.table("cross")?;
    let with = tuples(cross.take("with")?)?;
    let matches = cross.given("match").map_or(Ok(Vec::new()), tuples)?;
    cross.end()?;
    let constant = fields.flag("constant")?;
    let projection = match fields.take("projection")? {
        Value::Missing => None,
        value => {
            let mut fields = record("projection", value)?;
            let dimension = fields.size("dimension")?;
            let seed = fields.whole("seed")?;
            fields.end()?;
            Some(Projection { dimension, seed })
        }
    };
    let products = match fields.given("products") {
        None => None,
        Some(value) => {
            let mut fields = record("products", value)?;
            let (degree, with) = (fields.whole_32("degree")?, fields.optional_text("with")?);
            fields.end()?;
            Some(Products { degree, with })
        }
    };
    let fourier = match fields.given("fourier") {
        None => None,
        Some(value) => {
            let mut fields = record("fourier", value)?;
            let (count, scale) = (fields.whole_32("count")?, fields.number("scale")?);
            let (seed, with) = (fields.whole("seed")?, fields.optional_text("with")?);
            fields.end()?;
            Some(Fourier { count, scale, seed, with })
        }
    };
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

/// The fields of an object, which are taken out of it one by one.
struct Fields(Map<Value>);

impl Fields {
    /// The fields of a message behind its kind and its version.
    fn of_message(kind: Kind, bytes: &[u8]) -> Result<Self> {
        let members = members_from_json(kind.name(), bytes)?;
        let mut members = members.into_iter();
        let expected = [
            ("kind", Value::Text(kind.name().to_string())),
            ("version", Value::Integer(kind.version().into())),
        ];
        for (name, value) in expected {
            match members.next() {
                Some((found, given)) if found == name => {
                    if given != value {
                        let remedy = format!("this device reads {kind}: update the older program");
                        return Err(Error::invalid(name, shown(&given), remedy));
                    }
                }
                _ => {
                    let remedy = format!("give one of {kind}, or update the older program");
                    let value = format!("a message without {name:?}");
                    return Err(Error::invalid(kind.name(), value, remedy));
                }
            }
        }
        let mut fields = Map::new();
        for (name, value) in members {
            if fields.insert(name, value).is_some() {
                return Err(undecoded(kind, bytes.len(), &wrong("a field")));
            }
        }
        Ok(Fields(fields))
    }

    fn take(&mut self, field: &'static str) -> Result<Value> {
        self.0.remove(field).ok_or_else(|| Error::invalid(field, "missing", "give it"))
    }

    /// A field that may be left out.
    fn given(&mut self, field: &'static str) -> Option<Value> {
        self.0.remove(field).filter(|value| *value != Value::Missing)
    }

    fn optional_text(&mut self, field: &'static str) -> Result<Option<String>> {
        self.given(field).map(|value| text(field, value)).transpose()
    }

    fn whole_32(&mut self, field: &'static str) -> Result<u32> {
        u32::try_from(self.whole(field)?).map_err(|_| wrong(field))
    }

    /// Refuses fields that were not taken.
    fn end(&self) -> Result<()> {
        match self.0.is_empty() {
            true => Ok(()),
            false => Err(Error::invalid("a field", "unknown", "update the older program")),
        }
    }

    fn table(&mut self, field: &'static str) -> Result<Fields> {
        record(field, self.take(field)?)
    }

    fn list(&mut self, field: &'static str) -> Result<Vec<Value>> {
        match self.take(field)? {
            Value::List(values) => Ok(values),
            _ => Err(wrong(field)),
        }
    }

    fn number(&mut self, field: &'static str) -> Result<f64> {
        number(field, &self.take(field)?)
    }

    fn optional(&mut self, field: &'static str) -> Result<Option<f64>> {
        match self.take(field)? {
            Value::Missing => Ok(None),
            value => number(field, &value).map(Some),
        }
    }

    fn nothing<T>(&mut self, field: &'static str) -> Result<Option<T>> {
        match self.take(field)? {
            Value::Missing => Ok(None),
            _ => {
                Err(Error::invalid(field, "given", "the noise of devices follows from the levels"))
            }
        }
    }

    fn numbers(&mut self, field: &'static str) -> Result<Vec<f64>> {
        self.list(field)?.iter().map(|value| number(field, value)).collect()
    }

    fn text(&mut self, field: &'static str) -> Result<String> {
        text(field, self.take(field)?)
    }

    fn flag(&mut self, field: &'static str) -> Result<bool> {
        match self.take(field)? {
            Value::Bool(flag) => Ok(flag),
            _ => Err(wrong(field)),
        }
    }

    fn whole(&mut self, field: &'static str) -> Result<u64> {
        match self.take(field)? {
            Value::Integer(number) => u64::try_from(number).map_err(|_| wrong(field)),
            _ => Err(wrong(field)),
        }
    }

    fn size(&mut self, field: &'static str) -> Result<usize> {
        usize::try_from(self.whole(field)?).map_err(|_| wrong(field))
    }

    /// A number below 2^53, and text from there on.
    fn count(&mut self, field: &'static str) -> Result<u64> {
        let count = match self.take(field)? {
            Value::Integer(count) => u64::try_from(count).ok().filter(|count| count >> 53 == 0),
            Value::Text(digits) => {
                let large = |count: &u64| count >> 53 > 0 && count.to_string() == digits;
                digits.parse().ok().filter(large)
            }
            _ => None,
        };
        count.ok_or_else(|| wrong(field))
    }

    /// 64 bits as 16 hexadecimal digits.
    fn word(&mut self, field: &'static str) -> Result<u64> {
        let digits = self.text(field)?;
        let plain = digits.len() == 16 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        let word = u64::from_str_radix(&digits, 16).ok().filter(|_| plain);
        word.ok_or_else(|| wrong(field))
    }
}

fn wrong(field: &'static str) -> Error {
    Error::invalid(field, "of another form", "update the older program")
}

fn record(field: &'static str, value: Value) -> Result<Fields> {
    match value {
        Value::Record(entries) => Ok(Fields(entries)),
        _ => Err(wrong(field)),
    }
}

/// The parameters of the only choice that a table names.
fn only(name: &'static str, value: Value) -> Result<Fields> {
    let mut table = record(name, value)?;
    let fields = table.table(name)?;
    table.end().map(|()| fields)
}

fn number(field: &'static str, value: &Value) -> Result<f64> {
    match value {
        Value::Integer(number) => Ok(*number as f64),
        Value::Number(number) => Ok(*number),
        _ => Err(wrong(field)),
    }
}

fn text(field: &'static str, value: Value) -> Result<String> {
    match value {
        Value::Text(text) => Ok(text),
        _ => Err(wrong(field)),
    }
}

/// A kind or a version of another program.
fn shown(value: &Value) -> String {
    match value {
        Value::Text(text) => format!("{:?}", text.chars().take(40).collect::<String>()),
        Value::Integer(number) => number.to_string(),
        _ => "of another form".to_string(),
    }
}
