//! Features that are numbers, as one list of coordinates: what products and Fourier features are made of.

use super::{Coordinate, Encoder};

/// Places of the features that are numbers, those of the context first, each side in the order of its names.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Numbers {
    /// Places of features and of their first coordinates.
    context: Vec<(usize, usize)>,
    action: Vec<(usize, usize)>,
    names: Vec<String>,
}

impl Numbers {
    pub(super) fn new(context: &[(String, Encoder)], action: &[(String, Encoder)]) -> Self {
        let mut names = Vec::new();
        let mut places = |side, features: &[(String, Encoder)]| {
            let numbers =
                features.iter().enumerate().filter(|(_, (_, encoder))| encoder.is_number());
            let place = |(place, feature)| {
                let first = names.len();
                names.extend(labels(side, feature));
                (place, first)
            };
            numbers.map(place).collect::<Vec<_>>()
        };
        let (left, right) = (places("context", context), places("action", action));
        Numbers { context: left, action: right, names }
    }

    /// Number of features that are numbers.
    pub(super) fn features(&self) -> usize {
        self.context.len() + self.action.len()
    }

    /// Number of their coordinates.
    pub(super) fn coordinates(&self) -> usize {
        self.names.len()
    }

    /// Names of the coordinates.
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// Writes the coordinates of two records that were encoded; the middle of a range in place of what is missing.
    pub(super) fn write(
        &self,
        context: &[Coordinate],
        action: &[Coordinate],
        coordinates: &mut Vec<f64>,
    ) {
        coordinates.clear();
        coordinates.resize(self.names.len(), 0.0);
        for (places, cells) in [(&self.context, context), (&self.action, action)] {
            for (place, first) in places {
                cells[*place].entries().for_each(|(index, x)| coordinates[first + index] = x);
            }
        }
    }
}

/// Names of the coordinates of a feature.
pub(super) fn labels(side: &str, (name, encoder): &(String, Encoder)) -> Vec<String> {
    (0..encoder.dimension()).map(|index| format!("{side}.{name}{}", encoder.label(index))).collect()
}
