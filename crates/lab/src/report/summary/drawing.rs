//! `[figure]` of an experiment's file: what is drawn, and how.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::AlgorithmSummary;
use crate::{
    algorithm::Label,
    report::figure::{Format, Scale},
};

/// Choice and style of figures. It changes no trial: figures are drawn again from stored trials.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FigureToml {
    /// Horizontal axis of regret: `round`, or a key of the grid. Without it, everything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub against: Option<String>,
    /// The names of the algorithms that are drawn: each by its `name`, or by its `kind` if it has none. Without it, all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub algorithms: Vec<String>,
    /// A panel for each `algorithm`, or for each value of a key of the grid, or `none`. Without it, more than six lines are in panels, at most six: by the keys of the grid but one, whose values have shades of a colour, or of several algorithms each.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub facets: Option<String>,
    /// The scale of the horizontal axis: `linear` or `log`. Without it, rounds are linear, and keys of a grid as suits their values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub x_scale: Option<AxisScale>,
    /// The scale of the vertical axis. Without it, what suits the values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub y_scale: Option<AxisScale>,
    /// Display of trials: `interval` (mean and its interval), `quantiles` (median and 5 to 95 %), `trials` (median and every trial). Without it, quantiles where trials are skewed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spread: Option<Spread>,
    /// Tells whether the title is drawn.
    pub title: bool,
    /// Width and height of a panel, in points. Panels stand beside each other up to 1000 points.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<[u32; 2]>", inner(range(min = 120, max = 1000)))]
    pub size: Option<(u32, u32)>,
    /// The files that are written: `svg`, `png`.
    #[schemars(length(min = 1))]
    pub format: Vec<Format>,
}

impl Default for FigureToml {
    fn default() -> Self {
        FigureToml {
            against: None,
            algorithms: Vec::new(),
            facets: None,
            x_scale: None,
            y_scale: None,
            spread: None,
            title: true,
            size: None,
            format: vec![Format::Svg, Format::Png],
        }
    }
}

/// The scale of an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AxisScale {
    /// Equal steps are equal differences.
    Linear,
    /// Equal steps are equal ratios.
    Log,
}

impl AxisScale {
    pub(super) fn scale(self) -> Scale {
        match self {
            AxisScale::Linear => Scale::Linear,
            AxisScale::Log => Scale::Logarithmic,
        }
    }
}

/// Display of trials.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Spread {
    /// The mean, and its interval of 95 % as a band.
    Interval,
    /// The median, and a band from 5 to 95 % of the trials.
    Quantiles,
    /// The median, and a thin line for each trial.
    Trials,
}

impl Spread {
    /// Meaning of lines and bands, in words.
    pub(super) fn words(self) -> &'static str {
        match self {
            Spread::Interval => "line and band: mean and its 95 % interval",
            Spread::Quantiles => "line and band: median and 5 to 95 % of the trials",
            Spread::Trials => "line: median",
        }
    }
}

/// Panels of a figure are made by this.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Facets<'a> {
    None,
    /// The name that all points of a grid share.
    Algorithm,
    /// The value of a key of the grid.
    Key(&'a str),
}

/// More lines than this are drawn in panels.
pub(super) const MOST_LINES: usize = 6;

impl FigureToml {
    /// The algorithms that are drawn.
    pub(super) fn drawn<'a>(&self, all: &'a [AlgorithmSummary]) -> Vec<&'a AlgorithmSummary> {
        let named = |summary: &&AlgorithmSummary| {
            self.algorithms.is_empty() || self.algorithms.contains(&summary.series)
        };
        all.iter().filter(named).collect()
    }

    /// Display of the trials of these algorithms.
    pub(super) fn spread(&self, drawn: &[&AlgorithmSummary]) -> Spread {
        let skewed = drawn.iter().any(|summary| summary.final_regret.is_skewed());
        self.spread.unwrap_or(if skewed { Spread::Quantiles } else { Spread::Interval })
    }

    /// Key that panels are made by, if a line is drawn for each of these, with the references beside them. By themselves panels are made where there are many lines: by a key of the environment, so that each holds what can be compared; by algorithm, where several of these have several lines; or else by a key that the lines do not need.
    pub(super) fn facets<'a>(
        &'a self,
        lines: &[&'a AlgorithmSummary],
        references: &[&'a AlgorithmSummary],
        against: Option<&str>,
    ) -> Facets<'a> {
        match self.facets.as_deref() {
            Some("none") => return Facets::None,
            Some("algorithm") => return Facets::Algorithm,
            Some(key) => return Facets::Key(key),
            None if lines.len() + references.len() <= MOST_LINES => return Facets::None,
            None => {}
        }
        let other = |labels: &mut dyn Iterator<Item = &'a Label>| {
            labels.map(|label| label.key.as_str()).find(|key| Some(*key) != against)
        };
        if let Some(key) = other(&mut lines.iter().flat_map(|one| &one.environment)) {
            return Facets::Key(key);
        }
        let mut names: Vec<&str> = lines.iter().map(|summary| summary.series.as_str()).collect();
        names.dedup();
        let several = |name: &&str| lines.iter().filter(|one| one.series == **name).count() > 1;
        if names.iter().filter(|name| several(name)).count() > 1 {
            return Facets::Algorithm;
        }
        let key = other(&mut lines.iter().flat_map(|one| &one.labels));
        key.map_or(Facets::None, Facets::Key)
    }
}
