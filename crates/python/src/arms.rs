//! Decision sets: built once for fixed arms, filled from an array for changing arms.

use numpy::{
    PyArray2, ToPyArray,
    ndarray::{Array2, ArrayView2},
};
use pyo3::{prelude::*, types::PyTuple};
use reticent::bandit::Arms as CoreArms;

use crate::{
    convert::{Matrix, rows},
    error::{Answer, Failure},
};

/// A decision set, one arm a row, stored in the layout that scoring uses: build it once if the arms stay the same.
///
/// >>> import numpy, reticent
/// >>> arms = reticent.Arms(numpy.eye(3))
/// >>> len(arms), arms.dimension
/// (3, 3)
///
/// For bandits with `blocks` of parameters, `blocks` names the block of each arm; the features of its block come first, then those that all
/// share.
///
/// >>> classes = reticent.Arms(numpy.ones((3, 2)) / 2, blocks=range(3))
/// >>> classes.blocks
/// [0, 1, 2]
#[pyclass(frozen, module = "reticent", name = "Arms")]
pub(crate) struct Arms(pub(crate) CoreArms);

#[pymethods]
impl Arms {
    #[new]
    #[pyo3(signature = (rows, blocks = None))]
    fn new(rows: &Bound<'_, PyAny>, blocks: Option<&Bound<'_, PyAny>>) -> Answer<Self> {
        let mut place = None;
        fill(&mut place, matrix(rows)?.as_array())?;
        let mut arms = place.expect("it was filled");
        if let Some(blocks) = blocks {
            arms.set_blocks(&numbers(blocks)?)?;
        }
        Ok(Arms(arms))
    }

    /// The block of parameters of each arm, or None where none were named.
    #[getter]
    fn blocks(&self) -> Option<Vec<usize>> {
        self.0.names_blocks().then(|| (0..self.0.count()).map(|arm| self.0.block(arm)).collect())
    }

    /// Features of an arm.
    #[getter]
    fn dimension(&self) -> usize {
        self.0.dimension()
    }

    fn __len__(&self) -> usize {
        self.0.count()
    }

    /// The arms as an array, one a row.
    pub(crate) fn array<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray2<f64>> {
        let (count, dimension) = (self.0.count(), self.0.dimension());
        let entries = (0..count).flat_map(|arm| self.0.arm(arm)).collect();
        Array2::from_shape_vec((count, dimension), entries)
            .expect("rows of one length")
            .to_pyarray(py)
    }

    fn __repr__(&self) -> String {
        format!("Arms({} arms of {} features)", self.0.count(), self.0.dimension())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let py = slf.py();
        (slf.get_type(), (slf.get().array(py), slf.get().blocks())).into_pyobject(py)
    }
}

/// Indices of blocks.
fn numbers(value: &Bound<'_, PyAny>) -> Answer<Vec<usize>> {
    let read = || value.try_iter()?.map(|block| block?.extract()).collect::<PyResult<_>>();
    read().map_err(|error| {
        Failure::invalid("blocks", error, "expected the block of each arm, counted from 0")
    })
}

fn matrix<'py>(value: &Bound<'py, PyAny>) -> Answer<Matrix<'py>> {
    value.extract().map_err(|error: PyErr| {
        Failure::invalid("arms", error, "expected an array with one arm a row, or Arms")
    })
}

/// Overwrites `place` with these rows, and allocates it if its size differs.
pub(crate) fn fill<'a>(
    place: &'a mut Option<CoreArms>,
    rows: ArrayView2<'_, f64>,
) -> reticent::Result<&'a CoreArms> {
    let (count, dimension) = rows.dim();
    let fits = |arms: &CoreArms| (arms.count(), arms.dimension()) == (count, dimension);
    if !place.as_ref().is_some_and(fits) {
        *place = Some(CoreArms::zeros(dimension, count)?);
    }
    let arms = place.as_mut().expect("it is there");
    arms.forget_blocks();
    for (index, row) in rows.rows().into_iter().enumerate() {
        match row.as_slice() {
            Some(row) => arms.set(index, row)?,
            None => arms.set(index, &row.to_vec())?,
        }
    }
    Ok(arms)
}

/// Calls `with` on a decision set that is [`Arms`], an array, or a pair of blocks and an array.
pub(crate) fn with_arms<T>(
    value: &Bound<'_, PyAny>,
    place: &mut Option<CoreArms>,
    with: impl FnOnce(&CoreArms) -> reticent::Result<T>,
) -> Answer<T> {
    if let Ok(arms) = value.cast::<Arms>() {
        return Ok(with(&arms.get().0)?);
    }
    if let Ok((blocks, rows)) = value.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>()
        && value.is_instance_of::<PyTuple>()
    {
        fill(place, matrix(&rows)?.as_array())?;
        let arms = place.as_mut().expect("it was filled");
        arms.set_blocks(&numbers(&blocks)?)?;
        return Ok(with(arms)?);
    }
    let matrix = matrix(value)?;
    Ok(with(fill(place, matrix.as_array())?)?)
}

/// The rows of [`Arms`] or of an array, for callers that store them.
pub(crate) fn owned(value: &Bound<'_, PyAny>) -> Answer<CoreArms> {
    if let Ok(arms) = value.cast::<Arms>() {
        return Ok(arms.get().0.clone());
    }
    let rows = rows(&matrix(value)?);
    let dimension = rows.first().map_or(0, Vec::len);
    Ok(CoreArms::from_rows(dimension, &rows)?)
}
