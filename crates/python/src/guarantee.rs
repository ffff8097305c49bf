//! Guarantees, readable in a shell and in a notebook.

use std::fmt::Write;

use pyo3::prelude::*;
use reticent::{privacy::Guarantee as CoreGuarantee, wire::to_json};
use reticent_loops::page::{Entry, guarantees_page};

use crate::{
    convert::{plain, text},
    error::Answer,
};

/// A privacy guarantee: the price that the accountant computed for an event, as one sentence, one table, one JSON document. For a learner
/// of this package it is the price of what the learner does; for any other code it is [`stated`](Guarantee::stated), not checked.
///
/// >>> import reticent
/// >>> event = reticent.privacy.Event.gaussian(sensitivity=1.0, sigma=3.730631634816464)
/// >>> event.guarantee("joint", delta=1e-5)
/// (exactly 1.0000, 1e-5)-differentially private for one interaction, trust model central (trusted curator), replacing one unit's data.
#[pyclass(frozen, module = "reticent", name = "Guarantee")]
pub(crate) struct Guarantee(CoreGuarantee);

/// Adds the condition that no unknown copies of the state continue beside this one.
pub(crate) fn beside(guarantee: CoreGuarantee, replays: u64, copies: u64) -> CoreGuarantee {
    let guarantee = match replays {
        0 => guarantee,
        _ => guarantee.with_condition(format!(
            "only this copy and the {replays} counted ones continue from the same releases; copies made later elsewhere are not known to it"
        )),
    };
    match copies {
        0 => guarantee,
        _ => guarantee.with_condition(format!(
            "{copies} copies of this state were pickled or forked: a copy that is used too has its own guarantee, with a larger epsilon"
        )),
    }
}

impl From<CoreGuarantee> for Guarantee {
    fn from(guarantee: CoreGuarantee) -> Self {
        Guarantee(guarantee)
    }
}

impl Guarantee {
    pub(crate) fn core(&self) -> &CoreGuarantee {
        &self.0
    }
}

#[pymethods]
impl Guarantee {
    /// "computed", or "stated" for code that the accountant has not seen.
    #[getter]
    fn provenance(&self) -> String {
        text(&self.0.provenance()).trim_matches('"').into()
    }

    /// The same guarantee, marked as stated and not checked, for code of your own.
    fn stated(&self) -> Self {
        Guarantee(self.0.clone().stated())
    }

    /// The smallest epsilon that holds with `delta`.
    #[getter]
    fn epsilon(&self) -> f64 {
        self.0.epsilon()
    }

    /// The delta asked for.
    #[getter]
    fn delta(&self) -> f64 {
        self.0.delta()
    }

    /// The smallest epsilon that holds with another delta: a point of the whole curve.
    fn epsilon_at(&self, delta: f64) -> Answer<f64> {
        Ok(self.0.curve().epsilon(delta)?)
    }

    /// The smallest delta that holds with another epsilon: a point of the whole curve.
    fn delta_at(&self, epsilon: f64) -> Answer<f64> {
        Ok(self.0.curve().delta(epsilon)?)
    }

    /// Trust model: "joint", "shuffle" or "local".
    #[getter]
    fn model(&self) -> String {
        text(&self.0.model()).trim_matches('"').into()
    }

    /// Unit of protection, in words.
    #[getter]
    fn unit(&self) -> String {
        self.0.unit().to_string()
    }

    /// The conditions under which the guarantee holds.
    #[getter]
    fn conditions(&self) -> Vec<String> {
        self.0.conditions().to_vec()
    }

    /// Warnings for the reader.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.0.warnings().to_vec()
    }

    /// The guarantee as an aligned table.
    fn table(&self) -> String {
        self.0.table()
    }

    /// The guarantee as a message in JSON: kind and version, then the fields of `summary.json`.
    fn to_json(&self) -> String {
        to_json(&self.0)
    }

    /// The guarantee as a dictionary.
    fn to_dict<'py>(&self, py: Python<'py>) -> Answer<Bound<'py, PyAny>> {
        plain(py, &self.0)
    }

    /// The guarantee as a printable page in plain words: HTML, one file without outside resources.
    #[pyo3(signature = (title="Privacy certificate"))]
    fn page(&self, title: &str) -> Answer<String> {
        let entry = Entry { name: title, guarantee: Some(&self.0), remarks: &[] };
        let origin = format!("Made by Reticent {}", env!("CARGO_PKG_VERSION"));
        Ok(guarantees_page(title, &origin, &[entry])?)
    }

    fn __repr__(&self) -> String {
        self.0.to_string()
    }

    /// The table, for a notebook.
    fn _repr_html_(&self) -> String {
        let mut html = format!("<p>{}</p><table>", escape(&self.0.to_string()));
        let mut last = String::new();
        for line in self.0.table().lines() {
            // Names take twelve columns; a repeated name is left out.
            let (name, value) = line.split_at(line.len().min(12));
            if !name.trim().is_empty() {
                last = name.trim().to_string();
            }
            let shown = if name.trim().is_empty() { "" } else { last.as_str() };
            let _ = write!(
                html,
                "<tr><th style=\"text-align:left\">{}</th><td style=\"text-align:left\">{}</td></tr>",
                escape(shown),
                escape(value.trim())
            );
        }
        html + "</table>"
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
