//! A checked rule: records in, vectors of norm at most 1 out.

use super::{
    Encoder, FeaturesParams, Report, RowWriter, Value,
    fourier::Waves,
    numbers::{Numbers, labels},
    parts::{Factor, Part},
    products::Monomials,
    report::count,
};
use crate::hash;

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
    /// All but the constant: features of the context, of the action, crosses, matches, products, Fourier features.
    pub(super) parts: Vec<Part>,
    pub(super) numbers: Numbers,
    pub(super) products: Option<Monomials>,
    pub(super) fourier: Option<Waves>,
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

    /// Parts of a vector before a projection, without the constant, in the order of their coordinates.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Coordinates of a factor.
    pub(super) fn cells(&self, factor: Factor) -> usize {
        match factor {
            Factor::Context(place) => self.context[place].1.dimension(),
            Factor::Action(place) => self.action[place].1.dimension(),
            Factor::Match(..) => 1,
            Factor::Products => self.products.as_ref().map_or(0, Monomials::len),
            Factor::Fourier => self.fourier.as_ref().map_or(0, Waves::len),
        }
    }

    fn labels(&self, factor: Factor) -> Vec<String> {
        match factor {
            Factor::Context(place) => labels("context", &self.context[place]),
            Factor::Action(place) => labels("action", &self.action[place]),
            Factor::Match(left, right) => {
                vec![format!("context.{}==action.{}", self.context[left].0, self.action[right].0)]
            }
            Factor::Products => {
                let label =
                    |monomials: &Monomials, index| monomials.label(index, self.numbers.names());
                let of = |monomials| {
                    (0..self.cells(factor)).map(|index| label(monomials, index)).collect()
                };
                self.products.as_ref().map_or(Vec::new(), of)
            }
            Factor::Fourier => {
                let label = |index| format!("fourier#{}.{}", index / 2, ["sin", "cos"][index % 2]);
                (0..self.cells(factor)).map(label).collect()
            }
        }
    }

    /// Meaning of each coordinate of a vector.
    pub fn names(&self) -> Vec<String> {
        let free = self.dimension - usize::from(self.constant.is_some());
        let mut names: Vec<String> = match self.params.projection {
            Some(_) => (0..free).map(|index| format!("projection#{index}")).collect(),
            None => {
                let names = |part: &Part| {
                    let labels = part.factors.iter().map(|factor| self.labels(*factor));
                    labels.reduce(|left, right| {
                        let row = |l: &String| -> Vec<String> {
                            right.iter().map(|r| format!("{l}*{r}")).collect()
                        };
                        left.iter().flat_map(row).collect()
                    })
                };
                self.parts.iter().filter_map(names).flatten().collect()
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
        let mut writer = RowWriter::new(self, context, |_, _| ());
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
        let counts = &mut report.context;
        RowWriter::new(self, context, |name, outcome| count(counts, name, outcome))
    }
}
