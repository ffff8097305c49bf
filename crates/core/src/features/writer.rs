//! Vectors of one context with several actions.

use super::{
    Coordinate, Encoder, FeaturesPlan, Outcome, Report, Value, parts::Factor, projection,
    report::count,
};

/// Writes the vectors of one context with several actions; nothing is allocated for an action after the first.
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
    /// Coordinates of the numbers of both, and what is made of them.
    numbers: Vec<f64>,
    products: Vec<(usize, f64)>,
    fourier: Vec<(usize, f64)>,
}

impl<'a> RowWriter<'a> {
    /// Reads a context; the outcome of each feature is shown to `seen` with its name.
    pub(super) fn new(
        plan: &'a FeaturesPlan,
        context: &Value,
        seen: impl FnMut(&str, Outcome),
    ) -> Self {
        let mut cells = Vec::with_capacity(plan.context.len());
        read(&plan.context, context, &mut cells, seen);
        RowWriter {
            plan,
            context: cells,
            action: Vec::with_capacity(plan.action.len()),
            numbers: Vec::new(),
            products: Vec::new(),
            fourier: Vec::new(),
        }
    }

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
    pub(super) fn fill(
        &mut self,
        action: &Value,
        row: &mut [f64],
        seen: impl FnMut(&str, Outcome),
    ) -> bool {
        let plan = self.plan;
        assert_eq!(row.len(), plan.dimension, "a row has as many entries as the rule");
        self.action.clear();
        read(&plan.action, action, &mut self.action, seen);
        self.map_numbers();
        row.fill(0.0);
        let free = plan.dimension - usize::from(plan.constant.is_some());
        let mut shortened = false;
        match plan.params.projection {
            None => self.each_entry(&mut |index, value| row[index] = value),
            Some(projection) => {
                let sum = &mut row[..free];
                self.each_entry(&mut |index, value| {
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

    fn map_numbers(&mut self) {
        let plan = self.plan;
        if plan.products.is_none() && plan.fourier.is_none() {
            return;
        }
        plan.numbers.write(&self.context, &self.action, &mut self.numbers);
        if let Some(monomials) = &plan.products {
            monomials.write(&self.numbers, &mut self.products);
        }
        if let Some(waves) = &plan.fourier {
            waves.write(&self.numbers, &mut self.fourier);
        }
    }

    /// Shows every coordinate that may not be zero, the constant apart, with its value before a projection.
    fn each_entry(&self, sink: &mut impl FnMut(usize, f64)) {
        for part in &self.plan.parts {
            self.outer(&part.factors, 0, 1.0, &mut |index, value| {
                sink(part.offset + index, part.weight * value);
            });
        }
    }

    /// The outer product of these factors, from a cell of those before them.
    fn outer(
        &self,
        factors: &[Factor],
        index: usize,
        value: f64,
        sink: &mut dyn FnMut(usize, f64),
    ) {
        let Some((factor, rest)) = factors.split_first() else { return sink(index, value) };
        let first = index * self.plan.cells(*factor);
        let mut next = |(index, x): (usize, f64)| self.outer(rest, first + index, value * x, sink);
        match *factor {
            Factor::Context(place) => self.context[place].entries().for_each(next),
            Factor::Action(place) => self.action[place].entries().for_each(next),
            Factor::Match(left, right) => {
                let (left, right) = (self.context[left].entry, self.action[right].entry);
                if left.is_some() && left == right {
                    next((0, 1.0));
                }
            }
            Factor::Products => self.products.iter().copied().for_each(next),
            Factor::Fourier => self.fourier.iter().copied().for_each(next),
        }
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
