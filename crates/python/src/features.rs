//! One public rule from records to vectors: dictionaries, pandas rows and arrays in, arms out.

use std::{collections::BTreeMap, sync::Mutex};

use numpy::{PyArray1, ToPyArray};
use pyo3::{
    exceptions::PyException,
    prelude::*,
    types::{IntoPyDict, PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple},
};
use reticent::{
    bandit::{Arms as CoreArms, Rule},
    features::{FeaturesParams, FeaturesPlan, MOST_NESTING, Report, Value},
    wire::{from_json, to_json},
};

use crate::{
    arms::Arms,
    convert::{parameter, plain, restored},
    error::{Answer, Failure},
};

/// A public rule from records to vectors of norm at most 1: the same numbers as in Rust and in a loop's file.
///
/// A feature is `{"range": [low, high]}`, `{"categories": [...]}`, `{"hash": {"buckets": n}}`, `{"cycle": period}` or `{"bins": [edges]}`, with
/// an optional `"weight"`; `cross` pairs a feature of the context with one of the action, and `match` is 1 where two are equal. Records are dictionaries (nested ones by paths such as `user.age`), pandas rows, or arrays in the order of `context_names` and
/// `action_names`. No record fails; what was clipped or not known is counted in `report`, for the holder of the data only.
///
/// >>> import reticent
/// >>> features = reticent.Features(
/// ...     context={"age": {"range": [18, 80]}},
/// ...     action={"topic": {"categories": ["news", "sport"]}},
/// ...     cross=[("age", "topic")])
/// >>> features.dimension, features.names[:2]
/// (6, ['context.age', 'action.topic=news'])
/// >>> arms = features.arms({"age": 90}, [{"topic": "news"}, {"topic": "sport"}, {"topic": "weather"}])
/// >>> bandit = reticent.LinUCB(features.dimension)
/// >>> bandit.decide(arms).arm in (0, 1, 2)
/// True
/// >>> features.report["context"]["age"]["clipped"], features.report["action"]["topic"]["unknown"]
/// (1, 1)
#[pyclass(frozen, module = "reticent", name = "Features")]
pub(crate) struct Features {
    plan: FeaturesPlan,
    report: Mutex<Report>,
}

impl Features {
    fn of(params: FeaturesParams) -> Answer<Self> {
        Ok(Features { plan: params.check()?, report: Mutex::default() })
    }

    fn count(&self, report: &Report) {
        self.report.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).add(report);
    }
}

#[pymethods]
impl Features {
    #[new]
    #[pyo3(signature = (context = None, action = None, cross = None, *, constant = true, projection = None, r#match = None, weight = None, weighting = None, products = None, fourier = None))]
    #[expect(clippy::too_many_arguments, reason = "each is a key of a file")]
    fn new(
        py: Python<'_>,
        context: Option<&Bound<'_, PyAny>>,
        action: Option<&Bound<'_, PyAny>>,
        cross: Option<&Bound<'_, PyAny>>,
        constant: bool,
        projection: Option<&Bound<'_, PyAny>>,
        r#match: Option<&Bound<'_, PyAny>>,
        weight: Option<&Bound<'_, PyAny>>,
        weighting: Option<&Bound<'_, PyAny>>,
        products: Option<&Bound<'_, PyAny>>,
        fourier: Option<&Bound<'_, PyAny>>,
    ) -> Answer<Self> {
        let rule = PyDict::new(py);
        for (key, given) in [
            ("context", context),
            ("action", action),
            ("projection", projection),
            ("weight", weight),
            ("weighting", weighting),
            ("products", products),
            ("fourier", fourier),
        ] {
            if let Some(given) = given {
                rule.set_item(key, given)?;
            }
        }
        // As a file writes it, or the pairs alone.
        let table = match cross.map(|pairs| pairs.cast::<PyDict>()) {
            Some(Ok(table)) => table.copy()?,
            Some(Err(_)) => [("with", cross)].into_py_dict(py)?,
            None => PyDict::new(py),
        };
        if let Some(pairs) = r#match {
            table.set_item("match", pairs)?;
        }
        rule.set_item("cross", table)?;
        rule.set_item("constant", constant)?;
        Features::of(parameter("features", rule.as_any())?)
    }

    /// The arms of one person: the context with each of the actions. `actions` is a list of records, a pandas frame or an array of rows.
    fn arms(&self, context: &Bound<'_, PyAny>, actions: &Bound<'_, PyAny>) -> Answer<Arms> {
        let (context, actions) = records(&self.plan, context, actions)?;
        let mut report = Report::default();
        let rows = self.plan.rows(&context, &actions, &mut report);
        let arms = CoreArms::from_rows(self.plan.dimension(), &rows)?;
        self.count(&report);
        Ok(Arms(arms))
    }

    /// The vector of one context and one action.
    #[pyo3(signature = (context, action = None))]
    fn vector<'py>(
        &self,
        py: Python<'py>,
        context: &Bound<'py, PyAny>,
        action: Option<&Bound<'py, PyAny>>,
    ) -> Answer<Bound<'py, PyArray1<f64>>> {
        let context = context_of(&self.plan, context)?;
        let action = action.map_or(Ok(Value::Missing), |action| action_of(&self.plan, action))?;
        let mut report = Report::default();
        let vector = self.plan.vector(&context, &action, &mut report);
        self.count(&report);
        Ok(vector.to_pyarray(py))
    }

    /// Coordinates of a vector.
    #[getter]
    fn dimension(&self) -> usize {
        self.plan.dimension()
    }

    /// The last coordinate of every vector, if it is a constant: what learners call their `intercept`.
    #[getter]
    fn constant(&self) -> Option<f64> {
        self.plan.constant()
    }

    /// Meaning of each coordinate.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.plan.names()
    }

    /// Features of contexts, in the order in which arrays have them.
    #[getter]
    fn context_names(&self) -> Vec<&str> {
        self.plan.context_names().collect()
    }

    /// Features of actions, in the order in which arrays have them.
    #[getter]
    fn action_names(&self) -> Vec<&str> {
        self.plan.action_names().collect()
    }

    /// Counts of values that were clipped, unknown, missing or of another type, by feature. For the holder of the data only: counts are made from people's
    /// records, and no guarantee covers them.
    #[getter]
    fn report<'py>(&self, py: Python<'py>) -> Answer<Bound<'py, PyAny>> {
        let report = self.report.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone();
        plain(py, &report)
    }

    /// Forgets the counts.
    fn clear_report(&self) {
        *self.report.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Report::default();
    }

    /// The rule as JSON, without the counts: a message of kind `features`, with its version.
    fn to_json(&self) -> String {
        to_json(self.plan.params())
    }

    /// The rule that `to_json` wrote, or another program.
    #[staticmethod]
    fn from_json(text: &str) -> Answer<Self> {
        Features::of(from_json(text)?)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Features>().is_ok_and(|other| other.get().plan == self.plan)
    }

    fn __repr__(&self) -> String {
        format!("Features({} coordinates)", self.plan.dimension())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        restored(slf, "from_json", (slf.get().to_json(),))
    }
}

/// A rule that knows which coordinates of these features are crosses, where it asks for that.
pub(crate) fn with_levels(rule: Rule, features: Option<&Bound<'_, Features>>) -> Answer<Rule> {
    match features {
        Some(features) => Ok(rule.with_levels(|| features.get().plan.levels())?),
        None => Ok(rule),
    }
}

/// One context and its actions; `actions` is a list of records, a pandas frame or an array of rows.
pub(crate) fn records(
    plan: &FeaturesPlan,
    context: &Bound<'_, PyAny>,
    actions: &Bound<'_, PyAny>,
) -> Answer<(Value, Vec<Value>)> {
    let context = context_of(plan, context)?;
    let rows = frame(actions)?.unwrap_or_else(|| actions.clone());
    let actions = rows.try_iter()?.map(|row| action_of(plan, &row?)).collect::<Answer<_>>()?;
    Ok((context, actions))
}

fn context_of(plan: &FeaturesPlan, record: &Bound<'_, PyAny>) -> Answer<Value> {
    let names: Vec<&str> = plan.context_names().collect();
    named("context", value(record, MOST_NESTING)?, &names)
}

fn action_of(plan: &FeaturesPlan, record: &Bound<'_, PyAny>) -> Answer<Value> {
    let names: Vec<&str> = plan.action_names().collect();
    named("action", value(record, MOST_NESTING)?, &names)
}

/// The rows of a pandas frame as dictionaries; `None` for anything else.
fn frame<'py>(actions: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    if actions.hasattr("to_dict")? && actions.hasattr("columns")? {
        return Ok(Some(actions.call_method1("to_dict", ("records",))?));
    }
    Ok(None)
}

/// A record by names; values alone are those of `names`, in this order.
fn named(side: &'static str, record: Value, names: &[&str]) -> Answer<Value> {
    let nested = |value: &Value| matches!(value, Value::Record(_) | Value::List(_));
    match record {
        Value::List(values) if !values.is_empty() && !values.iter().any(nested) => {
            if values.len() != names.len() {
                let (expected, found) = (names.len(), values.len());
                return Err(reticent::Error::Dimension { field: side, expected, found }.into());
            }
            let names = names.iter().map(|name| name.to_string());
            Ok(Value::Record(names.zip(values).collect()))
        }
        // Nothing is known of a person without a record.
        Value::List(_) | Value::Record(_) | Value::Missing => Ok(record),
        _ => Err(Failure::invalid(
            side,
            "no record",
            "expected a dictionary, a list of dictionaries, a pandas row, or an array of values",
        )),
    }
}

/// Anything that Python holds. Objects that no record has, and those that fail to say what they hold, become a value of the wrong type, which is
/// counted: whether a record is taken must not depend on what it says. What ends a program, as an interrupt does, is passed on.
fn value(object: &Bound<'_, PyAny>, nesting: usize) -> PyResult<Value> {
    read(object, nesting).or_else(|error| match error.is_instance_of::<PyException>(object.py()) {
        true => Ok(Value::List(Vec::new())),
        false => Err(error),
    })
}

fn read(object: &Bound<'_, PyAny>, nesting: usize) -> PyResult<Value> {
    if object.is_none() {
        return Ok(Value::Missing);
    }
    if let Ok(value) = object.cast::<PyBool>() {
        return Ok(Value::Bool(value.is_true()));
    }
    if object.is_instance_of::<PyInt>() {
        // Wider integers than any file has are read from their digits.
        return Ok(match object.extract::<i128>() {
            Ok(value) => Value::Integer(value),
            Err(_) => Value::Text(text(&object.str()?)?),
        });
    }
    if object.is_instance_of::<PyFloat>() {
        return Ok(Value::Number(object.extract()?));
    }
    if object.is_instance_of::<PyString>() {
        return Ok(Value::Text(text(&object.str()?)?));
    }
    let Some(nesting) = nesting.checked_sub(1) else { return Ok(Value::Missing) };
    if let Ok(entries) = object.cast::<PyDict>() {
        let mut record = BTreeMap::new();
        // A copy: reading a name may run code that changes the dictionary.
        for entry in entries.items() {
            let (name, entry): (Bound<'_, PyAny>, Bound<'_, PyAny>) = entry.extract()?;
            record.insert(text(&name.str()?)?, value(&entry, nesting)?);
        }
        return Ok(Value::Record(record));
    }
    if object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() {
        let members = object.try_iter()?.map(|member| value(&member?, nesting));
        return Ok(Value::List(members.collect::<PyResult<_>>()?));
    }
    // pandas rows, then numpy arrays and numbers.
    for method in ["to_dict", "tolist"] {
        if object.hasattr(method)? {
            return value(&object.call_method0(method)?, nesting);
        }
    }
    let kind = object.get_type().name()?.to_string();
    Ok(match kind.as_str() {
        "NAType" | "NaTType" => Value::Missing,
        _ => Value::List(Vec::new()),
    })
}

/// A text; half of a pair of surrogates by itself is no character, and becomes U+FFFD as in JavaScript.
fn text(object: &Bound<'_, PyString>) -> PyResult<String> {
    if let Ok(text) = object.to_str() {
        return Ok(text.to_string());
    }
    let bytes = object.call_method1("encode", ("utf-16-le", "surrogatepass"))?;
    let bytes: Vec<u8> = bytes.extract()?;
    let units: Vec<u16> =
        bytes.chunks_exact(2).map(|unit| u16::from_le_bytes([unit[0], unit[1]])).collect();
    Ok(String::from_utf16_lossy(&units))
}
