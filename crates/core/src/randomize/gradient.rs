//! Messages of a person: a gradient, dense or sparse, noisy or not.

use crate::{Error, Result, error::finite_vector, refuse_if};

/// A vector as its entries, or as the entries that are not zero.
///
/// ```
/// use reticent::randomize::Gradient;
/// let dense = Gradient::from(&[0.0, 0.5, 0.0]);
/// let sparse = Gradient::from(&[(1, 0.5)]);
/// assert!(dense.entries().eq(sparse.entries()));
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Gradient<'a> {
    /// All entries.
    Dense(&'a [f64]),
    /// `(index, value)` with indices ascending; what is not named is zero. An empty slice is "nothing sent".
    Sparse(&'a [(usize, f64)]),
}

impl<'a> Gradient<'a> {
    /// The entries that are not zero, in ascending order.
    pub fn entries(&self) -> impl Iterator<Item = (usize, f64)> + use<'a> {
        let (dense, sparse): (&'a [f64], &'a [(usize, f64)]) = match *self {
            Gradient::Dense(entries) => (entries, &[]),
            Gradient::Sparse(entries) => (&[], entries),
        };
        let all = dense.iter().copied().enumerate().chain(sparse.iter().copied());
        all.filter(|&(_, value)| value != 0.0)
    }

    /// The entry at each index of `sent`, which ascend, with what stands beside the index.
    pub(super) fn at<'b, T>(
        &self,
        sent: &'b [(usize, T)],
    ) -> impl Iterator<Item = (usize, &'b T, f64)> + use<'a, 'b, T> {
        let mut entries = self.entries().peekable();
        sent.iter().map(move |(index, beside)| {
            while entries.next_if(|(at, _)| at < index).is_some() {}
            let value = entries.next_if(|(at, _)| at == index).map_or(0.0, |(_, value)| value);
            (*index, beside, value)
        })
    }

    /// Refuses entries that are not finite, indices that are out of range or out of order.
    pub fn check(&self, field: &'static str, dimension: usize) -> Result<()> {
        let entries = match *self {
            Gradient::Dense(entries) => return finite_vector(field, entries, dimension),
            Gradient::Sparse(entries) => entries,
        };
        let mut least = 0;
        for &(index, value) in entries {
            let refused = index >= dimension || index < least;
            let remedy =
                format_args!("expected ascending indices below {dimension}, each at most once");
            refuse_if(refused, field, format_args!("index {index}"), remedy)?;
            least = index + 1;
            if !value.is_finite() {
                let value = format!("{value} at index {index}");
                return Err(Error::invalid(field, value, "expected finite numbers only"));
            }
        }
        Ok(())
    }

    /// `sum |g_i|^2`.
    pub fn squared_norm(&self) -> f64 {
        self.entries().map(|(_, value)| value * value).sum()
    }

    /// `sum |g_i|`.
    pub fn l1_norm(&self) -> f64 {
        self.entries().map(|(_, value)| value.abs()).sum()
    }

    /// `max |g_i|`.
    pub fn largest(&self) -> f64 {
        self.entries().fold(0.0, |most: f64, (_, value)| most.max(value.abs()))
    }

    /// `<g, w>`.
    pub fn dot(&self, weights: impl Fn(usize) -> f64) -> f64 {
        self.entries().map(|(index, value)| value * weights(index)).sum()
    }
}

/// A gradient that has left a person: what a randomiser makes, and what a learner takes in.
#[derive(Debug, Clone, PartialEq)]
pub enum GradientReport {
    /// All entries.
    Dense(Vec<f64>),
    /// The entries that were sent, indices ascending.
    Sparse(Vec<(usize, f64)>),
}

impl<'a> From<&'a GradientReport> for Gradient<'a> {
    fn from(report: &'a GradientReport) -> Self {
        match report {
            GradientReport::Dense(entries) => Gradient::Dense(entries),
            GradientReport::Sparse(entries) => Gradient::Sparse(entries),
        }
    }
}

impl<'a> From<&'a [f64]> for Gradient<'a> {
    fn from(entries: &'a [f64]) -> Self {
        Gradient::Dense(entries)
    }
}

impl<'a> From<&'a Vec<f64>> for Gradient<'a> {
    fn from(entries: &'a Vec<f64>) -> Self {
        Gradient::Dense(entries)
    }
}

impl<'a, const N: usize> From<&'a [f64; N]> for Gradient<'a> {
    fn from(entries: &'a [f64; N]) -> Self {
        Gradient::Dense(entries)
    }
}

impl<'a> From<&'a [(usize, f64)]> for Gradient<'a> {
    fn from(entries: &'a [(usize, f64)]) -> Self {
        Gradient::Sparse(entries)
    }
}

impl<'a> From<&'a Vec<(usize, f64)>> for Gradient<'a> {
    fn from(entries: &'a Vec<(usize, f64)>) -> Self {
        Gradient::Sparse(entries)
    }
}

impl<'a, const N: usize> From<&'a [(usize, f64); N]> for Gradient<'a> {
    fn from(entries: &'a [(usize, f64); N]) -> Self {
        Gradient::Sparse(entries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_gradients_are_named() {
        assert!(Gradient::from(&[1.0, f64::NAN]).check("gradient", 2).is_err());
        assert!(Gradient::from(&[1.0]).check("gradient", 2).is_err());
        assert!(Gradient::from(&[(2, 1.0)]).check("gradient", 2).is_err());
        assert!(Gradient::from(&[(1, 1.0), (0, 1.0)]).check("gradient", 2).is_err());
        assert!(Gradient::from(&[(1, 1.0), (1, 1.0)]).check("gradient", 2).is_err());
        assert!(Gradient::from(&[(0, f64::INFINITY)]).check("gradient", 2).is_err());
        assert!(Gradient::Sparse(&[]).check("gradient", 2).is_ok());
    }

    #[test]
    fn norms() {
        let gradient = Gradient::from(&[(0, 3.0), (7, -4.0)]);
        assert_eq!(gradient.squared_norm(), 25.0);
        assert_eq!(gradient.l1_norm(), 7.0);
        assert_eq!(gradient.largest(), 4.0);
        assert_eq!(gradient.dot(|index| index as f64), -28.0);
    }
}
