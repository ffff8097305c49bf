//! Parts of a vector: products of factors, each with its public weight.
//!
//! ```text
//! part = w_p (f_1 x ... x f_n),    w_p^2 = the share that a file gives, else (1 - sum of given shares) sqrt(d_p) / sum of sqrt(d_q)
//! ```
//!
//! where x is the outer product and q runs over the parts without a given share. With `weighting = "groups"` the parts without a given share are in
//! [`Group`]s, which have fixed shares of the rest, each divided by square roots within the group:
//!
//! ```text
//! w_p^2 = (1 - sum of given shares) g(p) / (sum of g over groups that have a part) sqrt(d_p) / (sum of sqrt(d_q) over parts q of that group)
//! g = .2 the constant, .4 main effects: features of the action and matches, .4 crosses, products and Fourier features, 0 features of the context
//! ```
//!
//! A factor is a feature, a match, the products or the Fourier features of
//! the numbers; the constant is the part without factors. Factors have norm at most 1, so has their outer product, whose norm is the product of
//! theirs; the squares of the weights sum to at most 1. A part whose share is 0 has no coordinates: its features are read for other parts only.

use serde::{Deserialize, Serialize};

use super::{Encoder, Map};
use crate::{Error, Result};

/// Division of the squared norm among parts whose share is not given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Weighting {
    /// In proportion to the square roots of their numbers of coordinates.
    #[default]
    Roots,
    /// A fifth to the constant, two fifths to main effects of actions, two fifths to crosses however many they are; within a group in proportion to
    /// the square roots. Features of the context alone have none: they change no decision.
    Groups,
}

impl Weighting {
    pub(super) fn is_default(&self) -> bool {
        *self == Weighting::default()
    }
}

/// Group of parts that share one budget of the squared norm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Group {
    Constant,
    Main,
    Cross,
}

impl Group {
    const ALL: [Group; 3] = [Group::Constant, Group::Main, Group::Cross];

    /// g: found by simulation.
    fn share(self) -> f64 {
        match self {
            Group::Constant => 0.2,
            Group::Main | Group::Cross => 0.4,
        }
    }
}

/// A vector of norm at most 1 that follows from both records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Factor {
    /// A feature of the context, by its place.
    Context(usize),
    /// A feature of the action, by its place.
    Action(usize),
    /// One coordinate: 1 if a feature of the context and one of the action have the same coordinate.
    Match(usize, usize),
    /// Products of the numbers.
    Products,
    /// Fourier features of the numbers.
    Fourier,
}

/// Group of a part: what its coordinates are made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartKind {
    /// A feature of the context: the same for every action, so that it changes no decision by itself.
    Context,
    /// A feature of the action: a main effect.
    Action,
    /// A product of features of the context and one of the action.
    Cross,
    /// A match of a feature of the context and one of the action.
    Match,
    /// Products of the numbers.
    Products,
    /// Fourier features of the numbers.
    Fourier,
    /// The constant.
    Constant,
}

impl PartKind {
    /// Its group; none for features of the context alone.
    fn group(self) -> Option<Group> {
        match self {
            PartKind::Context => None,
            PartKind::Action | PartKind::Match => Some(Group::Main),
            PartKind::Cross | PartKind::Products | PartKind::Fourier => Some(Group::Cross),
            PartKind::Constant => Some(Group::Constant),
        }
    }
}

/// A block of consecutive coordinates of a vector before a projection, all with one weight.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// Name in the file's table of weights: `action.topic`, `device*topic`, `liked==genre`, `products`, `fourier`, `constant`.
    pub name: String,
    /// Group of the part.
    pub kind: PartKind,
    /// First coordinate.
    pub offset: usize,
    /// Number of coordinates: its cells.
    pub cells: usize,
    /// Public weight: coordinates of norm at most 1 are multiplied by it.
    pub weight: f64,
    pub(super) factors: Vec<Factor>,
}

/// A part before its weight and place are known.
#[derive(Debug, Clone)]
pub(super) struct Draft {
    pub(super) name: String,
    pub(super) kind: PartKind,
    pub(super) factors: Vec<Factor>,
    /// In 64 bits: the product of several factors may be more than a machine's word.
    pub(super) cells: u64,
}

/// Names of features as the name of a cross.
pub(super) fn cross_name(names: &[String]) -> String {
    names.join("*")
}

/// Shares of drafts by the table of weights; none where nothing is given.
pub(super) fn shares(
    drafts: &[Draft],
    weights: &Map<f64>,
    weighting: Weighting,
) -> Result<Vec<Option<f64>>> {
    let mut shares = vec![None; drafts.len()];
    for (name, share) in weights {
        let refuse = |remedy: &str| Error::invalid("weight", format!("{share} for {name}"), remedy);
        if !(0.0..=1.0).contains(share) {
            return Err(refuse(
                "expected a share of the squared norm from 0 to 1; give one, or leave it out",
            ));
        }
        let mut named = (0..drafts.len()).filter(|place| drafts[*place].name == *name);
        match (named.next(), named.next()) {
            (Some(place), None) => shares[place] = Some(*share),
            (Some(_), Some(_)) => {
                return Err(refuse(
                    "two parts have this name; give features names without * and ==",
                ));
            }
            (None, _) => {
                let names: Vec<&str> = drafts.iter().map(|draft| draft.name.as_str()).collect();
                let known = names.join(", ");
                let remedy = format!("expected the name of a part; give one of {known}");
                return Err(refuse(&remedy));
            }
        }
    }
    if weighting == Weighting::Groups {
        for (draft, share) in drafts.iter().zip(&mut shares) {
            if draft.kind.group().is_none() {
                share.get_or_insert(0.0);
            }
        }
    }
    Ok(shares)
}

/// Parts one after the other, with the weights that these shares give.
pub(super) fn placed(
    drafts: Vec<Draft>,
    shares: &[Option<f64>],
    weighting: Weighting,
) -> Result<Vec<Part>> {
    let given = shares.iter().flatten().fold(0.0, |sum, share| sum + share);
    let kept = drafts.iter().zip(shares);
    let features = |(draft, share): (&Draft, &Option<f64>)| {
        draft.kind != PartKind::Constant && *share != Some(0.0)
    };
    if !kept.clone().any(features) {
        let remedy = "expected a positive share for at least one feature or cross; give one, or leave the weights out";
        return Err(Error::invalid("weight", "0 for every feature", remedy));
    }
    // Shares such as ten times 0.1 may sum to a little more than 1: they are divided by their sum.
    if given > 1.0 + 1e-9 {
        let remedy = "expected shares that sum to at most 1; give smaller ones";
        return Err(Error::invalid("weight", format!("{given} in sum"), remedy));
    }
    let root = |draft: &Draft| (draft.cells as f64).sqrt();
    let without = || kept.clone().filter(|(_, share)| share.is_none()).map(|(draft, _)| draft);
    let sum_of = |group: Option<Group>| {
        let of_group = without().filter(|draft| group.is_none() || draft.kind.group() == group);
        of_group.fold(0.0, |sum, draft| sum + root(draft))
    };
    let sum = sum_of(None);
    let groups = Group::ALL.map(|group| (group, sum_of(Some(group))));
    let present = groups.iter().filter(|(_, sum)| *sum > 0.0);
    let total = present.fold(0.0, |total, (group, _)| total + group.share());
    let in_group = |draft: &Draft| {
        let of_kind = groups.iter().find(|(group, _)| draft.kind.group() == Some(*group));
        of_kind.map_or(0.0, |(group, sum)| group.share() / total * (root(draft) / sum))
    };
    let rest = 1.0 - given;
    if let Some(draft) = without().next()
        && rest < 1e-9
    {
        let value = format!("{given} in sum, nothing left for {}", draft.name);
        let remedy = "expected a share for every part or a sum below 1; give smaller ones, or 0 for the parts that are not wanted";
        return Err(Error::invalid("weight", value, remedy));
    }
    let weights: Vec<f64> = kept
        .map(|(draft, share)| match share {
            Some(share) => (share / given.max(1.0)).sqrt(),
            None if weighting == Weighting::Groups => (rest * in_group(draft)).sqrt(),
            None => (rest * root(draft) / sum).sqrt(),
        })
        .collect();
    let mut offset = 0;
    let part = |(draft, weight): (Draft, f64)| {
        let Draft { name, kind, factors, cells } = draft;
        let part = Part { name, kind, offset, cells: cells as usize, weight, factors };
        offset += part.cells;
        part
    };
    Ok(drafts.into_iter().zip(weights).filter(|(_, weight)| *weight > 0.0).map(part).collect())
}

/// Refuses a match of features that have no words in common.
pub(super) fn check_match(
    names: &[String],
    context: &(String, Encoder),
    action: &(String, Encoder),
) -> Result<()> {
    let words = |encoder: &Encoder| encoder.is_one_hot();
    if words(&context.1) && words(&action.1) && context.1.encoding() == action.1.encoding() {
        return Ok(());
    }
    let value = format!(
        "{names:?}, of {} and {}",
        context.1.encoding().described(),
        action.1.encoding().described()
    );
    let remedy = "expected two features with the same words, buckets or bins in the same order; give both the same list";
    Err(Error::invalid("cross.match", value, remedy))
}
