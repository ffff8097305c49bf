//! Sample size estimate: the noise of a plan's releases against the signal of its people.

use pyo3::prelude::*;
use reticent::bandit::Outlook as CoreOutlook;

/// The noise of a plan against the signal of its people, computed from parameters. `str(outlook)` is a sentence.
#[pyclass(frozen, eq, module = "reticent", name = "Outlook")]
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct Outlook(pub(crate) CoreOutlook);

#[pymethods]
impl Outlook {
    /// Number of people there will be.
    #[getter]
    fn people(&self) -> u64 {
        self.0.people
    }

    /// The error of a predicted reward in units of how much rewards differ: above 1 predictions are mostly noise.
    #[getter]
    fn noise_to_signal(&self) -> f64 {
        self.0.noise_to_signal
    }

    /// About how many people it takes until this is 1.
    #[getter]
    fn useful_from(&self) -> u64 {
        self.0.useful_from
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        let CoreOutlook { people, noise_to_signal, useful_from } = self.0;
        format!(
            "Outlook(people={people}, noise_to_signal={noise_to_signal:.4}, useful_from={useful_from})"
        )
    }
}
