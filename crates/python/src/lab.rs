//! Experiments: the runner of the command line, with progress, signals and without the interpreter's lock.

use std::{
    ffi::CString,
    path::PathBuf,
    sync::{
        Mutex,
        mpsc::{self, RecvTimeoutError},
    },
    time::Duration,
};

use pyo3::{exceptions::PyFutureWarning, prelude::*, types::PyDict};
use reticent_lab::{
    Experiment, Kinds, Override, RunOptions, Shard, Watch, papers,
    papers::Extent,
    play::trial::Checkpoint,
    report::estimate::{Estimate, stuck},
};

use crate::{
    convert::{parameter, plain},
    error::{Answer, Failure},
    guarantee::Guarantee,
    integers,
};

/// The interval at which signals are checked.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(50);

/// The experiment of a text whose paths are relative to `base`.
fn experiment(
    py: Python<'_>,
    text: &str,
    overrides: Vec<String>,
    base: Option<PathBuf>,
) -> Answer<Experiment> {
    let parse = |text: &String| {
        text.parse::<Override>().map_err(|remedy| Failure::invalid("override", text, remedy))
    };
    let overrides = overrides.iter().map(parse).collect::<Answer<Vec<Override>>>()?;
    let base = base.unwrap_or_default();
    let experiment = py.detach(|| Kinds::default().parse_in(&base, text, &overrides))?;
    for warning in experiment.warnings() {
        let words = CString::new(warning.as_str()).unwrap_or_default();
        PyErr::warn(py, &py.get_type::<PyFutureWarning>(), &words, 2)?;
    }
    Ok(experiment)
}

/// Runs an experiment file into a folder: users call `reticent.lab.run`.
#[pyfunction]
#[pyo3(signature = (text, folder, overrides = Vec::new(), shard = None, keep_going = false, progress = None, base = None))]
#[allow(clippy::too_many_arguments, reason = "they are the keywords of a call in Python")]
pub(crate) fn run<'py>(
    py: Python<'py>,
    text: &str,
    folder: PathBuf,
    overrides: Vec<String>,
    #[pyo3(from_py_with = integers::shard)] shard: Option<(usize, usize)>,
    keep_going: bool,
    progress: Option<Bound<'py, PyAny>>,
    base: Option<PathBuf>,
) -> Answer<Bound<'py, PyDict>> {
    let experiment = experiment(py, text, overrides, base)?;
    let shard = match shard {
        None => None,
        Some((index, of)) if index < of => Some(Shard { index, of }),
        Some((index, of)) => {
            let remedy = "expected (index, of) with index from 0 to below of";
            return Err(Failure::invalid("shard", format!("({index}, {of})"), remedy));
        }
    };
    let options = RunOptions { shard, keep_going };
    let (watch, (sender, receiver)) = (Watch::default(), mpsc::channel());
    let receiver = Mutex::new(receiver);
    let outcome = std::thread::scope(|scope| -> Answer<_> {
        let (experiment, watched) = (&experiment, &watch);
        let folder = &folder;
        let worker = scope.spawn(move || {
            experiment.run_until(folder, options, watched, |done, all| {
                // The receiver is gone if the caller was interrupted.
                let _ = sender.send((done, all));
            })
        });
        let mut interruption = None;
        // The sender is dropped when the run ends.
        loop {
            let update = py.detach(|| {
                receiver.lock().expect("one thread listens").recv_timeout(SIGNAL_INTERVAL)
            });
            let reported = py.check_signals().and_then(|()| match (&update, &progress) {
                (Ok((done, all)), Some(progress)) => progress.call1((*done, *all)).map(drop),
                _ => Ok(()),
            });
            if let Err(error) = reported {
                watch.stop();
                interruption = Some(error);
                break;
            }
            if let Err(RecvTimeoutError::Disconnected) = update {
                break;
            }
        }
        let outcome = py.detach(|| worker.join());
        if let Some(error) = interruption {
            return Err(error.into());
        }
        outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic)).map_err(Failure::from)
    })?;
    let dict = PyDict::new(py);
    dict.set_item("computed", outcome.computed)?;
    dict.set_item("resumed", outcome.resumed)?;
    dict.set_item("damaged", outcome.damaged)?;
    dict.set_item("failures", outcome.failures)?;
    Ok(dict)
}

/// A dictionary as the text of an experiment file; `None` values are left out.
#[pyfunction]
pub(crate) fn to_toml(config: &Bound<'_, PyAny>) -> Answer<String> {
    fn without_null(value: serde_json::Value) -> serde_json::Value {
        use serde_json::Value::{Array, Null, Object};
        match value {
            Object(map) => {
                let some = map.into_iter().filter(|(_, value)| *value != Null);
                Object(some.map(|(key, value)| (key, without_null(value))).collect())
            }
            Array(all) => Array(all.into_iter().map(without_null).collect()),
            other => other,
        }
    }
    let value = without_null(parameter("config", config)?);
    toml::to_string(&value).map_err(|error| {
        Failure::invalid("config", value, format!("{error}; expected a dictionary"))
    })
}

/// Joins folders that ran shards of one experiment.
#[pyfunction]
pub(crate) fn merge(py: Python<'_>, parts: Vec<PathBuf>, folder: PathBuf) -> Answer<()> {
    py.detach(|| Experiment::merge(&parts, &folder, &Kinds::default()))?;
    Ok(())
}

/// A name, a guarantee, and remarks.
type Promise = (String, Option<Guarantee>, Vec<String>);

/// The name, guarantee and remarks of each algorithm of an experiment file.
#[pyfunction]
#[pyo3(signature = (text, overrides = Vec::new(), base = None))]
pub(crate) fn certify(
    py: Python<'_>,
    text: &str,
    overrides: Vec<String>,
    base: Option<PathBuf>,
) -> Answer<Vec<Promise>> {
    let experiment = experiment(py, text, overrides, base)?;
    let one = |cell: &reticent_lab::algorithm::Cell| {
        let guarantee = cell.algorithm.guarantee().cloned().map(Guarantee::from);
        (cell.name.clone(), guarantee, cell.algorithm.remarks())
    };
    Ok(experiment.cells().iter().map(one).collect())
}

/// The papers' experiments that `wanted` names, with their descriptions.
#[pyfunction]
#[pyo3(signature = (wanted = None))]
pub(crate) fn paper_experiments(wanted: Option<&str>) -> Answer<Vec<(String, String)>> {
    let found = papers::matching(wanted)?;
    Ok(found.iter().map(|experiment| (experiment.id.into(), experiment.title.into())).collect())
}

/// Ends of the interval of 95 % for the mean after every recorded round (NaN if there is none), and which trials are stuck; users call
/// `Algorithm.interval_95` and `Algorithm.stuck`. One row of `regret` per trial.
#[pyfunction]
pub(crate) fn _over_trials(
    rounds: Vec<u64>,
    regret: Vec<Vec<f64>>,
) -> (Vec<f64>, Vec<f64>, Vec<bool>) {
    let column = |index: usize| -> Vec<f64> {
        regret.iter().filter_map(|trial| trial.get(index)).copied().collect()
    };
    let ends = (0..rounds.len())
        .map(|index| Estimate::of(&column(index)).interval_95.unwrap_or((f64::NAN, f64::NAN)));
    let (low, high) = ends.unzip();
    let point = |(&round, &regret): (&u64, &f64)| Checkpoint { round, regret };
    let curve = |trial: &Vec<f64>| rounds.iter().zip(trial).map(point).collect();
    let curves: Vec<Vec<Checkpoint>> = regret.iter().map(curve).collect();
    let slices: Vec<&[Checkpoint]> = curves.iter().map(Vec::as_slice).collect();
    (low, high, stuck(&slices))
}

/// Runs one of the papers' experiments; returns its claims with their verdicts.
#[pyfunction]
#[pyo3(signature = (id, folder, full = false, seed = None))]
pub(crate) fn reproduce<'py>(
    py: Python<'py>,
    id: &str,
    folder: PathBuf,
    full: bool,
    seed: Option<u64>,
) -> Answer<Bound<'py, PyAny>> {
    let extent = if full { Extent::Full } else { Extent::Quick };
    let found = papers::matching(Some(id))?;
    let done = py.detach(|| {
        let each = found.iter().map(|one| one.reproduce((extent, seed), &folder, &|_| ()));
        each.collect::<reticent_lab::Result<Vec<_>>>()
    })?;
    plain(py, &done)
}
