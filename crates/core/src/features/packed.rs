//! The two forms of a rule outside of memory: a text that people read, and packed bytes, which hashes are made of.
//!
//! Both leave newer keys out where they are not used, so that a rule without them keeps its text, its bytes and its hash. Packed bytes have no names: there the
//! last field, an optional projection (0: none, 1: given), has a third case that holds the newer keys, and a fourth for the still newer
//! one, which are read back.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use super::{
    Cross, Encoding, FeaturesParams, Fourier, Map, Products, Projection, Value, Weighting,
    table::encodings,
};

/// The text as it is written.
#[derive(Serialize)]
struct Written<'a> {
    context: &'a Map<Encoding>,
    action: &'a Map<Encoding>,
    cross: &'a Cross,
    constant: bool,
    projection: Option<Projection>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    weight: &'a Map<f64>,
    #[serde(skip_serializing_if = "Weighting::is_default")]
    weighting: Weighting,
    #[serde(skip_serializing_if = "Option::is_none")]
    products: &'a Option<Products>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fourier: &'a Option<Fourier>,
}

/// The text as it is read.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Read {
    #[serde(default = "nothing")]
    context: Value,
    #[serde(default = "nothing")]
    action: Value,
    #[serde(default)]
    cross: Cross,
    #[serde(default = "yes")]
    constant: bool,
    #[serde(default)]
    projection: Option<Projection>,
    #[serde(default)]
    weight: Map<f64>,
    #[serde(default)]
    weighting: Weighting,
    #[serde(default)]
    products: Option<Products>,
    #[serde(default)]
    fourier: Option<Fourier>,
}

fn nothing() -> Value {
    Value::Record(Map::new())
}

fn yes() -> bool {
    true
}

/// The bytes: written of borrowed parameters, and read into their own.
#[derive(Serialize, Deserialize)]
struct Packed<'a> {
    context: Cow<'a, Map<Encoding>>,
    action: Cow<'a, Map<Encoding>>,
    with: Cow<'a, [Vec<String>]>,
    constant: bool,
    last: Last<'a>,
}

/// An optional projection, or what is newer than it.
#[derive(Serialize, Deserialize)]
enum Last<'a> {
    Nothing,
    Projection(Projection),
    More(More<'a>),
    Weighted(Weighting, More<'a>),
}

#[derive(Default, Serialize, Deserialize)]
struct More<'a> {
    projection: Option<Projection>,
    matches: Cow<'a, [Vec<String>]>,
    weight: Cow<'a, Map<f64>>,
    products: Cow<'a, Option<Products>>,
    fourier: Cow<'a, Option<Fourier>>,
}

impl Serialize for FeaturesParams {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let FeaturesParams {
            context,
            action,
            cross,
            constant,
            projection,
            weight,
            weighting,
            products,
            fourier,
        } = self;
        let (constant, projection, weighting) = (*constant, *projection, *weighting);
        if serializer.is_human_readable() {
            let written = Written {
                context,
                action,
                cross,
                constant,
                projection,
                weight,
                weighting,
                products,
                fourier,
            };
            return written.serialize(serializer);
        }
        let newer = !cross.matches.is_empty()
            || !weight.is_empty()
            || products.is_some()
            || fourier.is_some();
        let more = || More {
            projection,
            matches: Cow::Borrowed(&cross.matches),
            weight: Cow::Borrowed(weight),
            products: Cow::Borrowed(products),
            fourier: Cow::Borrowed(fourier),
        };
        let last = match (newer, projection) {
            _ if !weighting.is_default() => Last::Weighted(weighting, more()),
            (false, None) => Last::Nothing,
            (false, Some(projection)) => Last::Projection(projection),
            (true, _) => Last::More(more()),
        };
        let [context, action] = [context, action].map(Cow::Borrowed);
        let packed = Packed { context, action, with: Cow::Borrowed(&cross.with), constant, last };
        packed.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for FeaturesParams {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            let read = Read::deserialize(deserializer)?;
            return FeaturesParams::try_from(read).map_err(D::Error::custom);
        }
        Packed::deserialize(deserializer).map(FeaturesParams::from)
    }
}

impl TryFrom<Read> for FeaturesParams {
    type Error = String;

    fn try_from(read: Read) -> Result<Self, String> {
        let Read { cross, constant, projection, mut weight, weighting, products, fourier, .. } =
            read;
        let context = encodings("context", read.context, &mut weight)?;
        let action = encodings("action", read.action, &mut weight)?;
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
}

impl From<Packed<'_>> for FeaturesParams {
    fn from(packed: Packed<'_>) -> Self {
        let Packed { context, action, with, constant, last } = packed;
        let (weighting, more) = match last {
            Last::Nothing => Default::default(),
            Last::Projection(projection) => {
                (Weighting::default(), More { projection: Some(projection), ..More::default() })
            }
            Last::More(more) => (Weighting::default(), more),
            Last::Weighted(weighting, more) => (weighting, more),
        };
        let More { projection, matches, weight, products, fourier } = more;
        let cross = Cross { with: with.into_owned(), matches: matches.into_owned() };
        FeaturesParams {
            context: context.into_owned(),
            action: action.into_owned(),
            cross,
            constant,
            projection,
            weight: weight.into_owned(),
            weighting,
            products: products.into_owned(),
            fourier: fourier.into_owned(),
        }
    }
}
