//! A measured figure, beside what it must be and what simpler things do in the same run.

use serde::Serialize;

/// A measured figure.
#[derive(Debug, Clone, Serialize)]
pub struct Figure {
    /// Name of the measured quantity.
    pub what: String,
    /// The measurement.
    pub measured: f64,
    /// Its unit.
    pub unit: &'static str,
    /// The requirement.
    pub required: Option<f64>,
    /// The goal.
    pub wanted: Option<f64>,
    /// Figures of the same machine without the service, in the same unit and the same run.
    pub bare: Vec<Bare>,
    /// True if more is better.
    pub more_is_better: bool,
}

/// Something simpler that was measured in the same run.
#[derive(Debug, Clone, Serialize)]
pub struct Bare {
    /// Name of the bare program.
    pub what: &'static str,
    /// The measurement.
    pub measured: f64,
    /// The figure over this.
    pub ratio: f64,
}

impl Figure {
    pub(super) fn rate(what: impl Into<String>, measured: f64) -> Self {
        Figure { more_is_better: true, ..Figure::new(what, measured, "/s") }
    }

    pub(super) fn new(what: impl Into<String>, measured: f64, unit: &'static str) -> Self {
        Figure {
            what: what.into(),
            measured,
            unit,
            required: None,
            wanted: None,
            bare: Vec::new(),
            more_is_better: false,
        }
    }

    pub(super) fn required(mut self, required: f64, wanted: f64) -> Self {
        (self.required, self.wanted) = (Some(required), Some(wanted));
        self
    }

    pub(super) fn beside(mut self, what: &'static str, measured: f64) -> Self {
        self.bare.push(Bare { what, measured, ratio: self.measured / measured });
        self
    }

    /// True if it reaches its requirement; none without a requirement.
    pub fn reached(&self) -> Option<bool> {
        self.required.map(|required| match self.more_is_better {
            true => self.measured >= required,
            false => self.measured <= required,
        })
    }
}

/// Repeated measurements.
pub(super) struct Spread {
    pub smallest: f64,
    pub median: f64,
}

impl Spread {
    pub(super) fn of(mut measured: Vec<f64>) -> Self {
        measured.sort_by(f64::total_cmp);
        let at = |index: usize| measured.get(index).copied().unwrap_or(f64::NAN);
        let last = measured.len().saturating_sub(1);
        Spread { smallest: at(0), median: at(last / 2) }
    }
}
