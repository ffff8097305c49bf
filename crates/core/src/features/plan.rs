//! A checked rule: records in, vectors of norm at most 1 out.

use super::{
    Coordinate, Encoder, FeaturesParams, Outcome, Report, Value, projection, report::count,
};
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

    /// Number of coordinates a vector has.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// The last coordinate of every vector, if it is a constant: what [`Bounds::intercept`](crate::randomize::Bounds::intercept) asks for.
    pub fn constant(&self) -> Option<f64> {
        self.constant
    }

    /// The hash of the rule, for the parties of a protocol that must share it.
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

    /// Meaning of each coordinate of a vector.
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
        let mut vector = vec![0.0; self.dimension];
        self.writer(context, report).write(action, report, &mut vector);
        vector
    }

    /// The vectors of one context with each of these actions, one a row: what
    /// [`Arms::from_rows`](crate::bandit::Arms::from_rows) takes.
    pub fn rows(&self, context: &Value, actions: &[Value], report: &mut Report) -> Vec<Vec<f64>> {
        let mut writer = self.writer(context, report);
        let row = |action: &Value| {
            let mut row = vec![0.0; self.dimension];
            writer.write(action, report, &mut row);
            row
        };
        actions.iter().map(row).collect()
    }

    /// The same, for callers who do not ask what was clipped or not known.
    pub fn rows_alone(&self, context: &Value, actions: &[Value]) -> Vec<Vec<f64>> {
        let mut writer = RowWriter { plan: self, context: Vec::new(), action: Vec::new() };
        read(&self.context, context, &mut writer.context, |_, _| ());
        let row = |action: &Value| {
            let mut row = vec![0.0; self.dimension];
            writer.fill(action, &mut row, |_, _| ());
            row
        };
        actions.iter().map(row).collect()
    }

    /// Reads a context once, to write its vectors with many actions into memory that the caller has.
    pub fn writer(&self, context: &Value, report: &mut Report) -> RowWriter<'_> {
        report.contexts += 1;
        let mut cells = Vec::with_capacity(self.context.len());
        let counts = &mut report.context;
        read(&self.context, context, &mut cells, |name, outcome| count(counts, name, outcome));
        RowWriter { plan: self, context: cells, action: Vec::with_capacity(self.action.len()) }
    }
}

/// Writes the vectors of one context with several actions; nothing is allocated for an action.
///
/// ```
/// use reticent::features::{Encoding, FeaturesParams, Report, Value};
///
/// let topics = ["news", "sport"].map(String::from).to_vec();
/// let context = [("age", Encoding::Range(18.0, 80.0))];
/// let plan = FeaturesParams::new(context, [("topic", Encoding::Categories(topics))]).check()?;
/// let mut report = Report::default();
/// let mut writer = plan.writer(&Value::from_iter([("age", "31")]), &mut report);
/// let mut row = vec![0.0; plan.dimension()];
/// let action = Value::from_iter([("topic", "sport")]);
/// writer.write(&action, &mut report, &mut row);
/// assert_eq!(row, plan.vector(&Value::from_iter([("age", "31")]), &action, &mut report));
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct RowWriter<'a> {
    plan: &'a FeaturesPlan,
    context: Vec<Coordinate>,
    /// The action that was written last.
    action: Vec<Coordinate>,
}

impl RowWriter<'_> {
    /// Writes the vector of the context and this action.
    ///
    /// # Panics
    /// If the row has another length than [`FeaturesPlan::dimension`].
    pub fn write(&mut self, action: &Value, report: &mut Report, row: &mut [f64]) {
        report.actions += 1;
        let counts = &mut report.action;
        let shortened = self.fill(action, row, |name, outcome| count(counts, name, outcome));
        report.shortened += u64::from(shortened);
    }

    /// Writes the vector, and says whether it was shortened. The outcome of each feature is shown to `seen` with its name.
    fn fill(&mut self, action: &Value, row: &mut [f64], seen: impl FnMut(&str, Outcome)) -> bool {
        let plan = self.plan;
        assert_eq!(row.len(), plan.dimension, "a row has as many entries as the rule");
        let cells = &mut self.action;
        cells.clear();
        read(&plan.action, action, cells, seen);
        let (context, action) = (&self.context, &self.action);
        let single = context.iter().chain(action).map(|cell| cell.entry);
        let crossed = plan.crosses.iter().map(|&(left, right)| {
            let ((i, x), (j, y)) = context[left].entry.zip(action[right].entry)?;
            Some((i * plan.action[right].1.dimension() + j, x * y))
        });
        let entries = single.chain(crossed).zip(&plan.parts).filter_map(|(entry, part)| {
            let (index, value) = entry?;
            Some((part.offset + index, part.weight * value))
        });
        row.fill(0.0);
        let free = plan.dimension - usize::from(plan.constant.is_some());
        let mut shortened = false;
        match plan.params.projection {
            None => entries.for_each(|(index, value)| row[index] = value),
            Some(projection) => {
                let sum = &mut row[..free];
                entries.for_each(|(index, value)| {
                    projection::add_column(sum, projection.seed, index, value);
                });
                let bound =
                    plan.constant.map_or(1.0, |constant| (1.0 - constant * constant).sqrt());
                shortened = projection::finish(sum, bound);
            }
        }
        if let Some(constant) = plan.constant {
            row[free] = constant;
        }
        shortened
    }
}

/// Adds the coordinates of a record's features; the outcome of each is shown to `seen` with its name.
fn read(
    features: &[(String, Encoder)],
    record: &Value,
    cells: &mut Vec<Coordinate>,
    mut seen: impl FnMut(&str, Outcome),
) {
    for (name, encoder) in features {
        let cell = encoder.encode(record.at(name).unwrap_or(&Value::Missing));
        seen(name, cell.outcome);
        cells.push(cell);
    }
}
