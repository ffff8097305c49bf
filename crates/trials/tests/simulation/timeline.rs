//! Simulated time: a runtime of one thread that jumps to the next timer as soon as nothing is left to do.
//!
//! Tasks are run in the order in which they were woken, and all chance comes from one seed, so that a seed is a schedule. Noise and choices of the service come from the
//! system as always: nothing here depends on them.

use std::{
    collections::BTreeMap,
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

use reticent::hash::mix;
use reticent_server::clock::{Clock, Time};

/// Beginning of a simulation, in milliseconds since 1970.
const START: Time = 1_700_000_000_000;

/// The time and the chance of one simulation.
#[derive(Clone)]
pub struct Timeline(Arc<Mutex<State>>);

struct State {
    /// Microseconds since the beginning.
    now: u64,
    /// Tasks that wait, by time and by the order in which they came.
    timers: BTreeMap<(u64, u64), Waker>,
    timers_made: u64,
    seed: u64,
    drawn: u64,
    /// Offset of all clocks, in milliseconds.
    offset: i64,
    /// The hash of everything that was noted.
    trace: u64,
}

impl Timeline {
    pub fn new(seed: u64) -> Self {
        let state = State {
            now: 0,
            timers: BTreeMap::new(),
            timers_made: 0,
            seed,
            drawn: 0,
            offset: 0,
            trace: 0,
        };
        Timeline(Arc::new(Mutex::new(state)))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs this to its end in simulated time.
    pub fn run<F: Future>(&self, future: F) -> F::Output {
        let own = self.clone();
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        // Called when every task waits.
        runtime.on_thread_park(move || own.advance());
        runtime.build().unwrap().block_on(future)
    }

    /// Goes to the next timer.
    fn advance(&self) {
        let mut state = self.state();
        let Some(((at, _), waker)) = state.timers.pop_first() else {
            panic!("every task waits, and no timer is set");
        };
        state.now = state.now.max(at);
        drop(state);
        waker.wake();
    }

    /// Milliseconds since the beginning.
    pub fn milliseconds(&self) -> u64 {
        self.state().now / 1000
    }

    /// Waits for this number of microseconds.
    pub fn sleep(&self, microseconds: u64) -> Sleep {
        let until = self.state().now + microseconds;
        Sleep { timeline: self.clone(), until, waits: false }
    }

    /// A number below this one.
    pub fn below(&self, bound: u64) -> u64 {
        let mut state = self.state();
        state.drawn += 1;
        mix(state.seed, state.drawn) % bound
    }

    /// True with one chance in `many`.
    pub fn one_in(&self, many: u64) -> bool {
        self.below(many) == 0
    }

    /// Moves all clocks to this number of milliseconds beside the time.
    pub fn set_clocks(&self, offset: i64) {
        self.state().offset = offset;
    }

    /// Notes that something happened now.
    pub fn note(&self, what: &str, who: u64, outcome: u64) {
        let mut state = self.state();
        let what = reticent::hash::of_bytes(what.as_bytes());
        let words = [state.now, what, who, outcome];
        state.trace = words.into_iter().fold(state.trace, mix);
    }

    /// The hash of everything that has happened so far, and when.
    pub fn trace(&self) -> u64 {
        self.state().trace
    }
}

impl Clock for Timeline {
    fn now(&self) -> Time {
        let state = self.state();
        (START + state.now / 1000).saturating_add_signed(state.offset)
    }

    fn steady(&self) -> u64 {
        self.milliseconds()
    }
}

/// Ready when its time has come.
pub struct Sleep {
    timeline: Timeline,
    until: u64,
    waits: bool,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let timeline = self.timeline.clone();
        let mut state = timeline.state();
        if state.now >= self.until {
            return Poll::Ready(());
        }
        if !std::mem::replace(&mut self.waits, true) {
            state.timers_made += 1;
            let key = (self.until, state.timers_made);
            state.timers.insert(key, context.waker().clone());
        }
        Poll::Pending
    }
}
