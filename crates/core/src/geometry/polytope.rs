//! A bounded polytope `Y = {y : A y <= b}`: the safe mean responses of paper 3 (Zibaie, Hutchinson, Pedarsani and Alizadeh, section
//! IV), or the decisions of paper 4.
//!
//! An empty or unbounded set is refused at once, with the rows that contradict each other or the direction in which it is unbounded.

use serde::{Deserialize, Serialize};

use super::linear_program::{Outcome, maximize};
use crate::{Error, Result, error::finite_vector, refuse_if};

/// The largest entry accepted: larger ones could overflow in a pivot.
const LARGEST: f64 = 1e100;

/// A nonempty bounded polytope, given by rows `a_i y <= b_i`.
///
/// ```
/// use reticent::geometry::Polytope;
/// // A feeder that carries at most 3 kW in all, and no household feeds in more than 1.
/// let feeder = Polytope::new(&[[1.0, 1.0], [-1.0, 0.0], [0.0, -1.0]], &[3.0, 1.0, 1.0])?;
/// assert!(feeder.contains(&[1.5, 1.5]));
/// assert!(!feeder.contains(&[2.0, 1.5]));
/// let (low, high) = feeder.range(0)?;
/// assert!((low + 1.0).abs() < 1e-12 && (high - 4.0).abs() < 1e-12);
/// // Without the last row the second household could feed in without limit.
/// let error = Polytope::new(&[[1.0, 1.0], [-1.0, 0.0]], &[3.0, 1.0]).unwrap_err();
/// assert!(error.to_string().contains("direction"));
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Rows", into = "Rows")]
pub struct Polytope {
    rows: Vec<Vec<f64>>,
    bounds: Vec<f64>,
}

/// The serialised form of a polytope, before it is checked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rows {
    rows: Vec<Vec<f64>>,
    bounds: Vec<f64>,
}

impl TryFrom<Rows> for Polytope {
    type Error = Error;

    fn try_from(Rows { rows, bounds }: Rows) -> Result<Self> {
        Polytope::new(&rows, &bounds)
    }
}

impl From<Polytope> for Rows {
    fn from(Polytope { rows, bounds }: Polytope) -> Self {
        Rows { rows, bounds }
    }
}

impl Polytope {
    /// The polytope of these rows (A) and bounds (b).
    ///
    /// Refuses an empty set and an unbounded one.
    pub fn new<R: AsRef<[f64]>>(rows: &[R], bounds: &[f64]) -> Result<Self> {
        let dimension = rows.first().map_or(0, |row| row.as_ref().len());
        refuse_if(dimension == 0, "rows", rows.len(), "expected one row of A per constraint")?;
        finite_vector("bounds", bounds, rows.len())?;
        for row in rows {
            finite_vector("row", row.as_ref(), dimension)?;
        }
        let rows: Vec<Vec<f64>> = rows.iter().map(|row| row.as_ref().to_vec()).collect();
        if let Some(entry) = rows.iter().flatten().chain(bounds).find(|x| x.abs() > LARGEST) {
            let remedy = "choose units in which no entry is larger than 1e100";
            return Err(Error::invalid("rows, bounds", entry, remedy));
        }
        if let Some(index) =
            (0..rows.len()).find(|&i| bounds[i] < 0.0 && rows[i].iter().all(|&a| a == 0.0))
        {
            let value = format!("0 <= {} in row {index}", bounds[index]);
            return Err(Error::invalid("rows", value, "this row alone excludes every point"));
        }
        let polytope = Polytope { rows, bounds: bounds.to_vec() };
        for axis in 0..dimension {
            polytope.range(axis)?;
        }
        Ok(polytope)
    }

    /// M: how many coordinates y has.
    pub fn dimension(&self) -> usize {
        self.rows[0].len()
    }

    /// A, row by row.
    pub fn rows(&self) -> &[Vec<f64>] {
        &self.rows
    }

    /// b.
    pub fn bounds(&self) -> &[f64] {
        &self.bounds
    }

    /// Returns whether y satisfies every row, up to rounding of the row itself.
    pub fn contains(&self, y: &[f64]) -> bool {
        y.len() == self.dimension() && self.excess(y) <= 0.0
    }

    /// The largest amount by which a row is exceeded, in the row's own units; 0 or less means inside.
    ///
    /// A violation up to the rounding error of `a_i y` counts as 0.
    pub fn excess(&self, y: &[f64]) -> f64 {
        let of_row = |(row, bound): (&Vec<f64>, &f64)| {
            let (sum, size) = row.iter().zip(y).fold((0.0, bound.abs()), |(sum, size), (a, y)| {
                (sum + a * y, size + (a * y).abs())
            });
            sum - bound - 4.0 * f64::EPSILON * size
        };
        let largest =
            self.rows.iter().zip(&self.bounds).map(of_row).fold(f64::NEG_INFINITY, f64::max);
        // NaN is outside.
        if y.iter().all(|y| y.is_finite()) { largest } else { f64::INFINITY }
    }

    /// `max c y` over the polytope, and a point where it is attained.
    pub fn maximize(&self, objective: &[f64]) -> Result<(f64, Vec<f64>)> {
        finite_vector("objective", objective, self.dimension())?;
        match maximize(&self.rows, &self.bounds, objective) {
            Outcome::Optimal { value, point, .. } => Ok((value, point)),
            Outcome::Unbounded { direction } => Err(unbounded(&direction)),
            Outcome::Infeasible { multipliers } => Err(empty(&multipliers)),
            Outcome::Stalled => Err(stalled()),
        }
    }

    /// The smallest and the largest y_m, for `axis` m: the range of a response that is safe in the mean.
    pub fn range(&self, axis: usize) -> Result<(f64, f64)> {
        if axis >= self.dimension() {
            let remedy = format!("expected an axis below {}", self.dimension());
            return Err(Error::invalid("axis", axis, remedy));
        }
        let mut unit = vec![0.0; self.dimension()];
        unit[axis] = 1.0;
        let high = self.maximize(&unit)?.0;
        unit[axis] = -1.0;
        Ok((-self.maximize(&unit)?.0, high))
    }

    /// The redundant rows: each can be dropped, together with those found before it, without changing the set.
    pub fn redundant_rows(&self) -> Result<Vec<usize>> {
        let mut redundant = Vec::new();
        for index in 0..self.rows.len() {
            let kept = |i: &usize| *i != index && !redundant.contains(i);
            let others: Vec<usize> = (0..self.rows.len()).filter(kept).collect();
            let rows: Vec<Vec<f64>> = others.iter().map(|&i| self.rows[i].clone()).collect();
            let bounds: Vec<f64> = others.iter().map(|&i| self.bounds[i]).collect();
            if rows.is_empty() {
                continue;
            }
            match maximize(&rows, &bounds, &self.rows[index]) {
                Outcome::Optimal { value, .. } => {
                    let slack = 1e-9 * self.bounds[index].abs().max(1e-3);
                    if value <= self.bounds[index] + slack {
                        redundant.push(index);
                    }
                }
                Outcome::Unbounded { .. } => {}
                Outcome::Infeasible { multipliers } => return Err(empty(&multipliers)),
                Outcome::Stalled => return Err(stalled()),
            }
        }
        Ok(redundant)
    }

    /// The rows scaled column by column: `B Y = {B y : y in Y}` for the positive diagonal `B = diag(1 / scales)`, (14).
    pub fn scaled(&self, scales: &[f64]) -> Result<Self> {
        finite_vector("scales", scales, self.dimension())?;
        for &scale in scales {
            crate::error::positive("scales", scale)?;
        }
        let scale_row = |row: &Vec<f64>| row.iter().zip(scales).map(|(a, s)| a * s).collect();
        let rows = self.rows.iter().map(scale_row).collect();
        Ok(Polytope { rows, bounds: self.bounds.clone() })
    }

    /// Checks that the response 0 is allowed: before anything is learnt no other response is known to be safe.
    ///
    /// Refuses a set without it and names the rows that forbid it.
    pub fn check_origin(&self) -> Result<()> {
        let forbidding: Vec<usize> =
            (0..self.rows.len()).filter(|&i| self.bounds[i] < 0.0).collect();
        if forbidding.is_empty() {
            return Ok(());
        }
        let remedy = "the response 0 must be allowed, because nothing else is known to be safe before the first observation; expected bounds of 0 or above";
        Err(Error::invalid("bounds", format!("negative in rows {forbidding:?}"), remedy))
    }

    /// The bounds on one coordinate from rows with a single nonzero entry: `y <= high` and `y >= -low`, each infinite without such a row.
    pub(crate) fn own_limits(&self, axis: usize) -> (f64, f64) {
        let (mut high, mut low) = (f64::INFINITY, f64::INFINITY);
        for (row, bound) in self.rows.iter().zip(&self.bounds).filter(|(row, _)| !couples(row)) {
            if row[axis] > 0.0 {
                high = high.min(bound / row[axis]);
            } else if row[axis] < 0.0 {
                low = low.min(bound / -row[axis]);
            }
        }
        (high, low)
    }

    /// Unchecked, for sets derived from a checked one.
    pub(crate) fn derived(rows: Vec<Vec<f64>>, bounds: Vec<f64>) -> Self {
        Polytope { rows, bounds }
    }
}

/// Returns whether a row has more than one nonzero entry.
pub(crate) fn couples(row: &[f64]) -> bool {
    row.iter().filter(|&&a| a != 0.0).count() > 1
}

fn unbounded(direction: &[f64]) -> Error {
    let size = direction.iter().fold(1e-300, |most: f64, y| most.max(y.abs()));
    let unit: Vec<f64> = direction.iter().map(|y| round(y / size)).collect();
    let remedy = "the set is unbounded there: add a row that limits it";
    Error::invalid("rows", format!("unbounded along direction {unit:?}"), remedy)
}

pub(super) fn empty(multipliers: &[f64]) -> Error {
    let size = multipliers.iter().fold(1e-300, |most: f64, z| most.max(*z));
    let rows: Vec<usize> =
        (0..multipliers.len()).filter(|&i| multipliers[i] > 1e-9 * size).collect();
    let weights: Vec<f64> = rows.iter().map(|&i| round(multipliers[i] / size)).collect();
    let remedy = format!(
        "no point satisfies them together (counted from 0; their sum with weights {weights:?} reads 0 <= negative): loosen one"
    );
    Error::invalid("rows", format!("an empty set, by rows {rows:?}"), remedy)
}

pub(crate) fn stalled() -> Error {
    let remedy = "their entries are too many orders of magnitude apart: choose other units";
    Error::invalid("rows", "numerically undecidable", remedy)
}

/// Rounds a direction to six digits for the message.
fn round(value: f64) -> f64 {
    (value * 1e6).round() / 1e6 + 0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_and_unbounded_sets_name_rows_and_direction() {
        let rows = [[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0], [0.0, -1.0]];
        let error = Polytope::new(&rows, &[1.0, 1.0, -3.0, 5.0]).unwrap_err().to_string();
        assert!(error.contains("rows [0, 1, 2]"), "{error}");
        let error = Polytope::new(&rows[..3], &[1.0, 1.0, 1.0]).map(|_| ()).err();
        assert_eq!(error, None);
        let error = Polytope::new(&rows[..2], &[1.0, 1.0]).unwrap_err().to_string();
        assert!(error.contains("direction [-1") || error.contains("direction [0.0, -1"), "{error}");
        let error = Polytope::new(&[[0.0, 0.0], [1.0, 0.0]], &[-1.0, 1.0]).unwrap_err().to_string();
        assert!(error.contains("row 0"), "{error}");
    }

    #[test]
    fn bad_numbers_and_shapes_are_refused() {
        assert!(Polytope::new(&[[1.0], [-1.0]], &[1.0]).is_err());
        assert!(Polytope::new(&[[f64::NAN], [-1.0]], &[1.0, 1.0]).is_err());
        assert!(Polytope::new(&[[1e200], [-1.0]], &[1.0, 1.0]).is_err());
        assert!(Polytope::new(&[vec![1.0], vec![-1.0, 2.0]], &[1.0, 1.0]).is_err());
        assert!(Polytope::new::<Vec<f64>>(&[], &[]).is_err());
        assert!(Polytope::new::<Vec<f64>>(&[vec![]], &[1.0]).is_err());
        let interval = Polytope::new(&[[1.0], [-1.0]], &[1.0, -0.5]).unwrap();
        assert!(interval.check_origin().unwrap_err().to_string().contains("rows [1]"));
        assert!(!interval.contains(&[f64::NAN]) && !interval.contains(&[0.7, 0.7]));
        assert!(interval.range(1).is_err());
    }

    #[test]
    fn redundant_rows_are_found_once() {
        // A unit square, a cut that misses it, a copy of its first row.
        let rows = [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0], [1.0, 1.0], [2.0, 0.0]];
        let square = Polytope::new(&rows, &[1.0, 1.0, 1.0, 1.0, 2.5, 2.0]).unwrap();
        let redundant = square.redundant_rows().unwrap();
        // One of the two copies is redundant, and so is the cut.
        assert!(redundant == [0, 4] || redundant == [4, 5], "{redundant:?}");
        let needed = Polytope::new(&rows[..5], &[1.0, 1.0, 1.0, 1.0, 1.5]).unwrap();
        assert_eq!(needed.redundant_rows().unwrap(), Vec::<usize>::new());
    }

    #[test]
    fn saved_polytopes_are_checked_again() {
        let square =
            Polytope::new(&[[1.0, 1.0], [-1.0, 0.0], [0.0, -1.0]], &[1.0, 0.0, 0.0]).unwrap();
        let text = serde_json::to_string(&square).unwrap();
        assert_eq!(serde_json::from_str::<Polytope>(&text).unwrap(), square);
        let unbounded = text.replace("1.0,1.0", "1.0,-1.0");
        assert!(serde_json::from_str::<Polytope>(&unbounded).is_err());
    }
}
