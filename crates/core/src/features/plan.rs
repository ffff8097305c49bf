//! A checked rule: records in, vectors of norm at most 1 out.

use super::{Coordinate, Encoder, FeaturesParams, Report, Value, projection, report::count};
use crate::hash;

/// A block of coordinates: where it begins, and what they are multiplied by.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Part {
    offset: usize,
    pub(super) weight: f64,
}

impl Part {
    /// Parts of these dimensions one after the other, the squares of whose weights sum to 1: see the head of the module.
    pub(super) fn weighted(dimensions: &[u64]) -> Vec<Part> {
        let share = |dimension: u64| (dimension as f64).sqrt();
        let sum = dimensions.iter().fold(0.0, |sum, dimension| sum + share(*dimension));
        let mut offset = 0;
        let part = |dimension: &u64| {
            let weight = (share(*dimension) / sum).sqrt();
            offset += *dimension as usize;
            Part { offset: offset - *dimension as usize, weight }
        };
        dimensions.iter().map(part).collect()
    }
}

/// A rule that was checked; it encodes every record.
///
/// ```
/// use reticent::{bandit::Arms, features::{Encoding, FeaturesParams, Report, Value}};
///
/// let topics = ["news", "sport"].map(String::from).to_vec();
/// let plan = FeaturesParams::new(
///     [("age", Encoding::Range(18.0, 80.0))],
///     [("topic", Encoding::Categories(topics))],
/// )
/// .check()?;
/// let mut report = Report::default();
/// let context = Value::from_iter([("age", "90")]);
/// let actions = ["news", "weather"].map(|topic| Value::from_iter([("topic", topic)]));
/// let arms = Arms::from_rows(plan.dimension(), &plan.rows(&context, &actions, &mut report))?;
/// assert_eq!((arms.count(), plan.names()), (2, vec![
///     "context.age".into(), "action.topic=news".into(), "action.topic=sport".into(), "constant".to_string(),
/// ]));
/// assert_eq!((report.context["age"].clipped, report.action["topic"].unknown), (1, 1));
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct FeaturesPlan {
    pub(super) params: FeaturesParams,
    pub(super) context: Vec<(String, Encoder)>,
    pub(super) action: Vec<(String, Encoder)>,
    /// Places of a feature of the context and one of the action.
    pub(super) crosses: Vec<(usize, usize)>,
    /// One for each feature of the context, of the action, and for each cross.
    pub(super) parts: Vec<Part>,
    pub(super) constant: Option<f64>,
    pub(super) dimension: usize,
}

impl FeaturesPlan {
    /// The parameters that were checked.
    pub fn params(&self) -> &FeaturesParams {
        &self.params
    }

    /// How many coordinates a vector has.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// The last coordinate of every vector, if it is a constant: what [`Bounds::intercept`](crate::randomize::Bounds::intercept) asks for.
    pub fn constant(&self) -> Option<f64> {
        self.constant
    }

    /// The hash of the rule, for halves of a protocol that must share it.
    pub fn hash(&self) -> u64 {
        hash::of_params("features 1", &self.params)
    }

    /// The features of contexts, in the order of their names.
    pub fn context_names(&self) -> impl Iterator<Item = &str> {
        self.context.iter().map(|(name, _)| name.as_str())
    }

    /// The features of actions, in the order of their names.
    pub fn action_names(&self) -> impl Iterator<Item = &str> {
        self.action.iter().map(|(name, _)| name.as_str())
    }

    /// What each coordinate of a vector is.
    pub fn names(&self) -> Vec<String> {
        let free = self.dimension - usize::from(self.constant.is_some());
        let mut names: Vec<String> = match self.params.projection {
            Some(_) => (0..free).map(|index| format!("projection#{index}")).collect(),
            None => {
                let labels = |side: &str, features: &[(String, Encoder)]| -> Vec<Vec<String>> {
                    let label = |(name, encoder): &(String, Encoder)| {
                        let of = |index| format!("{side}.{name}{}", encoder.label(index));
                        (0..encoder.dimension()).map(of).collect()
                    };
                    features.iter().map(label).collect()
                };
                let (context, action) =
                    (labels("context", &self.context), labels("action", &self.action));
                let crosses = self.crosses.iter().flat_map(|(left, right)| {
                    let (left, right) = (&context[*left], &action[*right]);
                    left.iter().flat_map(move |l| right.iter().map(move |r| format!("{l}*{r}")))
                });
                context.iter().chain(&action).flatten().cloned().chain(crosses).collect()
            }
        };
        names.extend(self.constant.map(|_| "constant".to_string()));
        names
    }

    /// The vector of one context and one action.
    pub fn vector(&self, context: &Value, action: &Value, report: &mut Report) -> Vec<f64> {
        let context = self.read_context(context, report);
        self.row(&context, action, report)
    }

    /// The vectors of one context with each of these actions, one a row: what
    /// [`Arms::from_rows`](crate::bandit::Arms::from_rows) takes.
    pub fn rows(&self, context: &Value, actions: &[Value], report: &mut Report) -> Vec<Vec<f64>> {
        let context = self.read_context(context, report);
        actions.iter().map(|action| self.row(&context, action, report)).collect()
    }

    fn read_context(&self, record: &Value, report: &mut Report) -> Vec<Coordinate> {
        report.contexts += 1;
        read(&self.context, record, |name, cell| count(&mut report.context, name, cell.outcome))
    }

    fn row(&self, context: &[Coordinate], action: &Value, report: &mut Report) -> Vec<f64> {
        report.actions += 1;
        let counts = &mut report.action;
        let action = read(&self.action, action, |name, cell| count(counts, name, cell.outcome));
        let single = context.iter().chain(&action).map(|cell| cell.entry);
        let crossed = self.crosses.iter().map(|&(left, right)| {
            let ((i, x), (j, y)) = context[left].entry.zip(action[right].entry)?;
            Some((i * self.action[right].1.dimension() + j, x * y))
        });
        let entries = single.chain(crossed).zip(&self.parts).filter_map(|(entry, part)| {
            let (index, value) = entry?;
            Some((part.offset + index, part.weight * value))
        });
        let mut vector = vec![0.0; self.dimension];
        let free = self.dimension - usize::from(self.constant.is_some());
        match self.params.projection {
            None => entries.for_each(|(index, value)| vector[index] = value),
            Some(projection) => {
                let sum = &mut vector[..free];
                entries.for_each(|(index, value)| {
                    projection::add_column(sum, projection.seed, index, value);
                });
                let bound =
                    self.constant.map_or(1.0, |constant| (1.0 - constant * constant).sqrt());
                report.shortened += u64::from(projection::finish(sum, bound));
            }
        }
        if let Some(constant) = self.constant {
            vector[free] = constant;
        }
        vector
    }
}

/// The coordinates of a record's features; each is shown to `seen` with its name.
fn read(
    features: &[(String, Encoder)],
    record: &Value,
    mut seen: impl FnMut(&str, &Coordinate),
) -> Vec<Coordinate> {
    let one = |(name, encoder): &(String, Encoder)| {
        let cell = encoder.encode(record.at(name).unwrap_or(&Value::Missing));
        seen(name, &cell);
        cell
    };
    features.iter().map(one).collect()
}
