//! Jobs on all cores.

use std::sync::{
    Mutex,
    atomic::{AtomicUsize, Ordering},
};

use crate::Result;

/// The number of threads for this number of jobs.
pub(crate) fn threads(jobs: usize) -> usize {
    std::thread::available_parallelism().map_or(1, usize::from).min(jobs)
}

/// Applies `work` to every job on all cores; results are in the order of the jobs.
pub fn in_parallel<J: Sync, R: Send>(
    jobs: &[J],
    progress: impl Fn(usize, usize) + Sync,
    work: impl Fn(&J) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let results: Vec<Mutex<Option<Result<R>>>> = jobs.iter().map(|_| Mutex::new(None)).collect();
    std::thread::scope(|scope| {
        for _ in 0..threads(jobs.len()) {
            scope.spawn(|| {
                while let Some(index) =
                    Some(next.fetch_add(1, Ordering::Relaxed)).filter(|&i| i < jobs.len())
                {
                    let result = work(&jobs[index]);
                    *results[index].lock().expect("no holder of the lock panics") = Some(result);
                    progress(done.fetch_add(1, Ordering::Relaxed) + 1, jobs.len());
                }
            });
        }
    });
    let taken =
        results.into_iter().map(|cell| cell.into_inner().expect("no holder of the lock panics"));
    taken.map(|result| result.expect("every job was taken")).collect()
}
