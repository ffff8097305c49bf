//! Parameters of a rule, as a file writes them, and the values that are refused.

use serde::{Deserialize, Serialize};

use super::{
    Encoder, Encoding, FeaturesPlan, Fourier, MOST_NAMES, Map, Part, PartKind, Products,
    Projection,
    fourier::Waves,
    numbers::Numbers,
    parts::{Draft, Factor, Weighting, check_match, cross_name, placed, shares},
    products::Monomials,
    projection::LAST_SEED,
};
use crate::{Error, Result, wire};

/// Coordinates before a projection, at most.
pub const WIDEST: usize = 1 << 20;

/// Coordinates of a vector, at most: a learner keeps a matrix of their square.
pub const MOST_DIMENSION: usize = 1 << 12;

/// The rule from records to vectors: public, and the same for all people.
///
/// ```toml
/// [context]                          # what is not listed is not looked at
/// age = { range = [18, 80] }
/// hour = { cycle = 24, weight = 0 }  # read for crosses only
/// user.device = { categories = ["phone", "computer"] }
/// user.liked = { hash = { buckets = 32 } }
/// [action]
/// topic = { hash = { buckets = 32 } }
/// [cross]
/// with = [["user.device", "topic"], ["hour", "topic"]]  # of the context, of the action
/// match = [["user.liked", "topic"]]  # 1 where both are equal
/// ```
///
/// Features stand in the order of their names whatever the file's, so that a rule is the same however it was written.
#[derive(Debug, Clone, PartialEq)]
pub struct FeaturesParams {
    /// Features of the context by their path; in a file also as nested tables.
    pub context: Map<Encoding>,
    /// Features of an action.
    pub action: Map<Encoding>,
    /// Products of both.
    pub cross: Cross,
    /// True if the last coordinate is a constant: see [`FeaturesPlan::constant`].
    pub constant: bool,
    /// A projection to fewer coordinates.
    pub projection: Option<Projection>,
    /// Shares of the squared norm by the name of a [`Part`]; in a file that of a feature also as its `weight`.
    pub weight: Map<f64>,
    /// Division of the rest of the squared norm among the other parts.
    pub weighting: Weighting,
    /// Products of the numbers.
    pub products: Option<Products>,
    /// Fourier features of the numbers.
    pub fourier: Option<Fourier>,
}

/// Products of features of the context and one of the action: a coordinate for each pair or triple of theirs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Cross {
    /// Two or three names: one or two of the context, then one of the action.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(inner(length(min = 2, max = 3))))]
    pub with: Vec<Vec<String>>,
    /// Pairs of names, the context's and the action's, of features with the same words: one coordinate, 1 where they are equal.
    #[serde(default, rename = "match", skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<(String, String)>"))]
    pub matches: Vec<Vec<String>>,
}

impl wire::Checked for FeaturesParams {
    fn check_message(&self) -> Result<()> {
        self.check().map(drop)
    }
}

impl wire::Message for FeaturesParams {
    const KIND: wire::Kind = wire::kinds::FEATURES;
}

impl FeaturesParams {
    /// These features and a constant, without products.
    pub fn new<N: Into<String>>(
        context: impl IntoIterator<Item = (N, Encoding)>,
        action: impl IntoIterator<Item = (N, Encoding)>,
    ) -> Self {
        let named = |(name, encoding): (N, Encoding)| (name.into(), encoding);
        FeaturesParams {
            context: context.into_iter().map(named).collect(),
            action: action.into_iter().map(named).collect(),
            cross: Cross::default(),
            constant: true,
            projection: None,
            weight: Map::new(),
            weighting: Weighting::default(),
            products: None,
            fourier: None,
        }
    }

    /// Refuses what no record could be encoded by.
    pub fn check(&self) -> Result<FeaturesPlan> {
        let context = checked("context", &self.context)?;
        let action = checked("action", &self.action)?;
        if context.is_empty() && action.is_empty() {
            let remedy = "expected at least one feature, such as age = { range = [18, 80] }";
            return Err(Error::invalid("context", "{}", remedy));
        }
        let numbers = Numbers::new(&context, &action);
        let drafts = self.drafts(&context, &action, &numbers)?;
        let shares = shares(&drafts, &self.weight, self.weighting)?;
        let kept = || drafts.iter().zip(&shares).filter(|(_, share)| **share != Some(0.0));
        let full = kept().fold(0_u64, |sum, (draft, _)| sum.saturating_add(draft.cells));
        let widest =
            kept().max_by_key(|(draft, _)| draft.cells).map_or_else(String::new, |(draft, _)| {
                format!(" (the widest part, {}, has {})", draft.name, draft.cells)
            });
        if full > WIDEST as u64 {
            let remedy = format!(
                "expected at most {WIDEST} coordinates: fewer buckets, categories or crosses{widest}"
            );
            return Err(Error::invalid("dimension", full, remedy));
        }
        let full = full as usize;
        let mut parts = placed(drafts, &shares, self.weighting)?;
        let constant = parts.pop_if(|part| part.kind == PartKind::Constant).map(|part| part.weight);
        if let Some(projection) = &self.projection {
            projection.check(full, constant.is_some())?;
        }
        let dimension = self.projection.map_or(full, |projection| projection.dimension);
        if dimension > MOST_DIMENSION {
            let remedy = format!(
                "a vector has at most {MOST_DIMENSION} coordinates; expected fewer buckets, categories or crosses, or a projection{widest}"
            );
            return Err(Error::invalid("dimension", dimension, remedy));
        }
        let used = |factor| parts.iter().any(|part: &Part| part.factors.contains(&factor));
        let products = self.products.as_ref().filter(|_| used(Factor::Products));
        let fourier = self.fourier.as_ref().filter(|_| used(Factor::Fourier));
        Ok(FeaturesPlan {
            params: self.clone(),
            products: products.map(|products| Monomials::new(products, &numbers)),
            fourier: fourier.map(|fourier| Waves::new(fourier, &numbers)),
            context,
            action,
            parts,
            numbers,
            constant,
            dimension,
        })
    }

    /// All parts in their order, the constant last.
    fn drafts(
        &self,
        context: &[(String, Encoder)],
        action: &[(String, Encoder)],
        numbers: &Numbers,
    ) -> Result<Vec<Draft>> {
        let size = |(_, encoder): &(String, Encoder)| encoder.dimension() as u64;
        let mut drafts = Drafts(Vec::new());
        for (place, feature) in context.iter().enumerate() {
            let (name, factors) = (format!("context.{}", feature.0), [Factor::Context(place)]);
            drafts.push(name, PartKind::Context, &factors, size(feature));
        }
        for (place, feature) in action.iter().enumerate() {
            let (name, factors) = (format!("action.{}", feature.0), [Factor::Action(place)]);
            drafts.push(name, PartKind::Action, &factors, size(feature));
        }
        for names in &self.cross.with {
            let refuse = |remedy: &str| Error::invalid("cross.with", format!("{names:?}"), remedy);
            let (lefts, right) = match names.as_slice() {
                [lefts @ .., right] if (1..=2).contains(&lefts.len()) => (lefts, right),
                _ => {
                    return Err(refuse(
                        "name one feature of the context and one of the action, or two of the context and one of the action",
                    ));
                }
            };
            let lefts =
                lefts.iter().map(|left| place("cross.with", names, "context", context, left));
            let lefts = lefts.collect::<Result<Vec<usize>>>()?;
            let right = place("cross.with", names, "action", action, right)?;
            if lefts.len() == 2 && lefts[0] == lefts[1] {
                return Err(refuse(
                    "expected two different features of the context; name two, or give `products` for squares of numbers",
                ));
            }
            let cells = lefts.iter().fold(size(&action[right]), |cells, left| {
                cells.saturating_mul(size(&context[*left]))
            });
            let mut factors: Vec<Factor> = lefts.iter().copied().map(Factor::Context).collect();
            factors.push(Factor::Action(right));
            let twice = |other: &Draft| {
                let same = |factor| other.factors.contains(factor);
                other.factors.len() == factors.len() && factors.iter().all(same)
            };
            if drafts.0.iter().any(twice) {
                return Err(refuse("it is given twice: give it once"));
            }
            drafts.push(cross_name(names), PartKind::Cross, &factors, cells);
        }
        for names in &self.cross.matches {
            let refuse = |remedy: &str| Error::invalid("cross.match", format!("{names:?}"), remedy);
            let [left, right] = names.as_slice() else {
                return Err(refuse("name one feature of the context and one of the action"));
            };
            let name = format!("{left}=={right}");
            let left = place("cross.match", names, "context", context, left)?;
            let right = place("cross.match", names, "action", action, right)?;
            check_match(names, &context[left], &action[right])?;
            let factors = [Factor::Match(left, right)];
            if drafts.0.iter().any(|other| other.factors == factors) {
                return Err(refuse("it is given twice: give it once"));
            }
            drafts.push(name, PartKind::Match, &factors, 1);
        }
        let crossed = |field, with: &Option<String>, factor, cells: u64| match with {
            None => Ok((vec![factor], cells)),
            Some(name) => {
                let right = place(field, std::slice::from_ref(name), "action", action, name)?;
                let cells = cells.saturating_mul(size(&action[right]));
                Ok((vec![factor, Factor::Action(right)], cells))
            }
        };
        if let Some(products) = &self.products {
            products.check(numbers.features())?;
            let cells = products.count(numbers.coordinates());
            let (factors, cells) =
                crossed("products.with", &products.with, Factor::Products, cells)?;
            drafts.push("products".into(), PartKind::Products, &factors, cells);
        }
        if let Some(fourier) = &self.fourier {
            fourier.check(numbers.features())?;
            let cells = 2 * u64::from(fourier.count);
            let (factors, cells) = crossed("fourier.with", &fourier.with, Factor::Fourier, cells)?;
            drafts.push("fourier".into(), PartKind::Fourier, &factors, cells);
        }
        if self.constant {
            drafts.push("constant".into(), PartKind::Constant, &[], 1);
        }
        Ok(drafts.0)
    }
}

/// Parts in their order.
struct Drafts(Vec<Draft>);

impl Drafts {
    #[inline(never)]
    fn push(&mut self, name: String, kind: PartKind, factors: &[Factor], cells: u64) {
        self.0.push(Draft { name, kind, factors: factors.to_vec(), cells });
    }
}

/// The place of a feature of one side.
fn place(
    field: &'static str,
    names: &[String],
    side: &str,
    features: &[(String, Encoder)],
    name: &String,
) -> Result<usize> {
    let found = features.iter().position(|(other, _)| other == name);
    found.ok_or_else(|| {
        let remedy = match field {
            "cross.with" | "cross.match" => "name one of the context first, then one of the action",
            _ => "name one of the action, or leave it out",
        };
        let remedy = format!("{name:?} is no feature of the {side}: {remedy}");
        Error::invalid(field, format!("{names:?}"), remedy)
    })
}

impl Projection {
    fn check(&self, full: usize, constant: bool) -> Result<()> {
        let least = 1 + usize::from(constant);
        if !(least..full).contains(&self.dimension) {
            let remedy = format!(
                "the vector has {full} coordinates without a projection; expected a whole number of {least} or more below that; or leave the projection out"
            );
            return Err(Error::invalid("projection.dimension", self.dimension, remedy));
        }
        if self.seed > LAST_SEED {
            let remedy = format!("expected a whole number from 0 to {LAST_SEED}");
            return Err(Error::invalid("projection.seed", self.seed, remedy));
        }
        Ok(())
    }
}

fn checked(side: &'static str, features: &Map<Encoding>) -> Result<Vec<(String, Encoder)>> {
    let one = |(name, encoding): (&String, &Encoding)| {
        let names = name.split('.').count();
        if name.split('.').any(str::is_empty) {
            let remedy = "expected names joined by single dots, such as user.age";
            return Err(Error::invalid(side, format!("{name:?}"), remedy));
        }
        if names > MOST_NAMES {
            let remedy = format!(
                "a path has at most {MOST_NAMES} names, this one {names}; expected records that are less nested"
            );
            return Err(Error::invalid(side, format!("{name:?}"), remedy));
        }
        Ok((name.clone(), encoding.check(&format!("{side}.{name}"))?))
    };
    features.iter().map(one).collect()
}
