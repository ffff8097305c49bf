//! Progress of the trials of a run, and the request to stop them.
//!
//! Trials run on worker threads; another thread shows progress and handles Ctrl-C. A trial writes the round it has reached to its
//! [`Gauge`], one relaxed store per round, and reads one flag. The reader asks for a [`Standing`] at any time; no thread waits for another.

use std::{
    cell::RefCell,
    fmt,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Instant,
};

use crate::{Error, Result};

/// The trials of one run, for another thread that watches or stops it.
///
/// ```
/// use reticent_lab::{Experiment, RunOptions, Watch};
/// let watch = Watch::default();
/// watch.stop();
/// let experiment = Experiment::parse("name = \"x\"\nrounds = 10\n[environment]\nkind = \"sphere\"\n[[algorithm]]\nkind = \"linucb\"")?;
/// let folder = std::env::temp_dir().join("reticent-watch");
/// let error = experiment.run_until(&folder, RunOptions::default(), &watch, |_, _| ()).unwrap_err();
/// assert!(error.to_string().contains("0 of 1 trials are finished"));
/// # Ok::<(), reticent_lab::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Watch {
    stop: Arc<AtomicBool>,
    run: Mutex<Run>,
}

#[derive(Debug, Default)]
struct Run {
    rounds: u64,
    threads: usize,
    trials: Vec<Followed>,
}

/// A trial of the run.
#[derive(Debug)]
pub(crate) struct Followed {
    /// Its algorithm's name.
    pub(crate) algorithm: String,
    /// Its number.
    pub(crate) number: u64,
    /// State of the trial: waiting, running or finished, with its time.
    pub(crate) phase: Phase,
}

#[derive(Debug)]
pub(crate) enum Phase {
    Waiting,
    Running { since: Instant, gauge: Gauge },
    Finished { seconds: f64 },
    Failed,
}

/// The progress of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Standing {
    /// Trials that are finished.
    pub finished: usize,
    /// Trials in all.
    pub all: usize,
    /// Rounds of a trial.
    pub rounds: u64,
    /// Algorithm, number and rounds done of each trial that is running.
    pub running: Vec<(String, u64, u64)>,
    /// Time left at the speed so far; unknown until some round is done.
    pub seconds_left: Option<f64>,
}

impl Watch {
    /// Stops the run: running trials stop at their next round, no other starts, and finished trials are kept.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Tells whether the run was asked to stop.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn run(&self) -> MutexGuard<'_, Run> {
        self.run.lock().expect("no holder of the lock panics")
    }

    /// Starts a run of these trials.
    pub(crate) fn begin(&self, rounds: u64, threads: usize, trials: Vec<Followed>) {
        *self.run() = Run { rounds, threads, trials };
    }

    /// Trial `index` runs on this thread; its loop gets the gauge from [`Gauge::current`].
    pub(crate) fn during<T>(&self, index: usize, trial: impl FnOnce() -> Result<T>) -> Result<T> {
        let gauge = Gauge { round: Arc::default(), stop: self.stop.clone() };
        let since = Instant::now();
        self.run().trials[index].phase = Phase::Running { since, gauge: gauge.clone() };
        let before = CURRENT.replace(gauge);
        let result = trial();
        CURRENT.set(before);
        let seconds = since.elapsed().as_secs_f64();
        self.run().trials[index].phase = match &result {
            Ok(_) => Phase::Finished { seconds },
            Err(Error::Interrupted) => Phase::Waiting,
            Err(_) => Phase::Failed,
        };
        result
    }

    /// Finished trials of each algorithm, in their order: name, finished, total.
    pub(crate) fn finished(&self) -> Vec<(String, usize, usize)> {
        let mut all: Vec<(String, usize, usize)> = Vec::new();
        for trial in &self.run().trials {
            let index = all.iter().position(|(name, ..)| *name == trial.algorithm);
            let index = index.unwrap_or_else(|| {
                all.push((trial.algorithm.clone(), 0, 0));
                all.len() - 1
            });
            all[index].1 += usize::from(matches!(trial.phase, Phase::Finished { .. }));
            all[index].2 += 1;
        }
        all
    }

    /// The progress of the run.
    pub fn standing(&self) -> Standing {
        let run = self.run();
        let running = run.trials.iter().filter_map(|trial| match &trial.phase {
            Phase::Running { gauge, .. } => {
                Some((trial.algorithm.clone(), trial.number, gauge.rounds_done()))
            }
            _ => None,
        });
        Standing {
            finished: run.trials.iter().filter(|trial| trial.phase.over()).count(),
            all: run.trials.len(),
            rounds: run.rounds,
            running: running.collect(),
            seconds_left: run.seconds_left(),
        }
    }
}

impl Phase {
    fn over(&self) -> bool {
        matches!(self, Phase::Finished { .. } | Phase::Failed)
    }
}

impl Run {
    /// The time left, assuming that every trial of an algorithm takes as long as its finished ones, or as its running ones at their speed
    /// so far; algorithms without either take the mean of the others.
    fn seconds_left(&self) -> Option<f64> {
        let expected = |trial: &Followed| match &trial.phase {
            Phase::Finished { seconds } => Some((*seconds, true)),
            Phase::Running { since, gauge } => match gauge.rounds_done() {
                0 => None,
                done => {
                    let share = self.rounds as f64 / done as f64;
                    Some((since.elapsed().as_secs_f64() * share, false))
                }
            },
            _ => None,
        };
        let mean = |values: Vec<f64>| match values.len() {
            0 => None,
            count => Some(values.iter().sum::<f64>() / count as f64),
        };
        let of = |wanted: &dyn Fn(&Followed) -> bool| {
            let known: Vec<(f64, bool)> =
                self.trials.iter().filter(|t| wanted(t)).filter_map(expected).collect();
            let finished = known.iter().filter(|(_, finished)| *finished).map(|(s, _)| *s);
            mean(finished.collect()).or_else(|| mean(known.iter().map(|(s, _)| *s).collect()))
        };
        let of_all = of(&|_| true)?;
        let mut known: Vec<(&str, f64)> = Vec::new();
        let (mut sum, mut longest) = (0.0, 0.0_f64);
        for trial in &self.trials {
            let passed = match &trial.phase {
                Phase::Finished { .. } | Phase::Failed => continue,
                Phase::Running { since, .. } => since.elapsed().as_secs_f64(),
                Phase::Waiting => 0.0,
            };
            let name = trial.algorithm.as_str();
            let usual = match known.iter().find(|(other, _)| *other == name) {
                Some((_, seconds)) => *seconds,
                None => {
                    let seconds = of(&|other| other.algorithm == name).unwrap_or(of_all);
                    known.push((name, seconds));
                    seconds
                }
            };
            let left = match &trial.phase {
                Phase::Running { .. } => expected(trial).map_or(usual, |(s, _)| s) - passed,
                _ => usual,
            };
            sum += left.max(0.0);
            longest = longest.max(left);
        }
        Some((sum / self.threads.max(1) as f64).max(longest))
    }
}

impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} trials finished", self.finished, self.all)?;
        for (algorithm, number, done) in self.running.iter().take(3) {
            write!(f, "; {algorithm}, trial {number}: {done} of {} rounds", self.rounds)?;
        }
        match self.seconds_left {
            None => Ok(()),
            Some(seconds) => write!(f, "; about {} left", duration(seconds)),
        }
    }
}

/// A duration in a readable unit.
fn duration(seconds: f64) -> String {
    let (unit, length) = match seconds {
        s if s < 100.0 => ("s", 1.0),
        s if s < 100.0 * 60.0 => ("min", 60.0),
        s if s < 72.0 * 3600.0 => ("h", 3600.0),
        s if s < 1000.0 * 86400.0 => ("days", 86400.0),
        _ => ("years", 365.25 * 86400.0),
    };
    format!("{:.0} {unit}", (seconds / length).ceil())
}

thread_local! {
    static CURRENT: RefCell<Gauge> = RefCell::default();
}

/// The round a trial has reached, and whether it was asked to stop.
#[derive(Debug, Clone, Default)]
pub(crate) struct Gauge {
    round: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
}

impl Gauge {
    /// The gauge of the trial on this thread, or an unused one outside a run. Loops get it once, before their first round.
    pub(crate) fn current() -> Self {
        CURRENT.with_borrow(Gauge::clone)
    }

    /// Records the number of rounds done; an error if the trial was asked to stop.
    #[inline]
    pub(crate) fn reached(&self, round: u64) -> Result<()> {
        self.round.store(round, Ordering::Relaxed);
        if self.stop.load(Ordering::Relaxed) { Err(Error::Interrupted) } else { Ok(()) }
    }

    fn rounds_done(&self) -> u64 {
        self.round.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trials(of: &[(&str, Phase)]) -> Vec<Followed> {
        let one = |(number, (name, phase)): (usize, &(&str, Phase))| {
            let phase = match phase {
                Phase::Finished { seconds } => Phase::Finished { seconds: *seconds },
                _ => Phase::Waiting,
            };
            Followed { algorithm: (*name).into(), number: number as u64, phase }
        };
        of.iter().enumerate().map(one).collect()
    }

    #[test]
    fn a_single_trial_is_seen_from_outside_while_it_runs() {
        let watch = Watch::default();
        watch.begin(1000, 2, trials(&[("a", Phase::Waiting)]));
        assert_eq!(watch.standing().seconds_left, None);
        watch
            .during(0, || {
                let gauge = Gauge::current();
                std::thread::sleep(std::time::Duration::from_millis(20));
                gauge.reached(250)?;
                // No other loop writes to this gauge.
                std::thread::scope(|scope| scope.spawn(|| Gauge::current().reached(7)).join())
                    .unwrap()?;
                let standing = watch.standing();
                assert_eq!(standing.running, [("a".to_string(), 0, 250)]);
                let left = standing.seconds_left.unwrap();
                assert!((0.06..10.0).contains(&left), "{left}");
                let words = standing.to_string();
                assert!(
                    words.starts_with(
                        "0 of 1 trials finished; a, trial 0: 250 of 1000 rounds; about "
                    )
                );
                watch.stop();
                assert!(matches!(gauge.reached(251), Err(Error::Interrupted)));
                Ok(())
            })
            .unwrap();
        assert_eq!(watch.standing().finished, 1);
        assert_eq!(watch.finished(), [("a".to_string(), 1, 1)]);
        // Outside of a run the gauge never stops.
        Gauge::current().reached(1).unwrap();
    }

    #[test]
    fn time_left_goes_by_each_algorithm_and_by_threads() {
        let done = |seconds| Phase::Finished { seconds };
        let watch = Watch::default();
        let slow_and_fast = [
            ("fast", done(1.0)),
            ("slow", done(100.0)),
            ("fast", Phase::Waiting),
            ("slow", Phase::Waiting),
        ];
        watch.begin(10, 1, trials(&slow_and_fast));
        assert_eq!(watch.standing().seconds_left, Some(101.0));
        watch.begin(10, 8, trials(&slow_and_fast));
        assert_eq!(watch.standing().seconds_left, Some(100.0));
        assert_eq!(watch.finished(), [("fast".to_string(), 1, 2), ("slow".to_string(), 1, 2)]);
        for (seconds, words) in
            [(0.2, "1 s"), (99.0, "99 s"), (150.0, "3 min"), (1e4, "3 h"), (1e12, "31689 years")]
        {
            assert_eq!(duration(seconds), words);
        }
    }
}
