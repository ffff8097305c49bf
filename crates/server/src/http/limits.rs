//! Limits on clients of the service: sizes, times, connections, and rates by key.
//!
//! **Rates.** Every key has a rate of rank calls and one of reading calls. Rewards and activations have none, and draw on no other: whether one person's
//! reward is taken, or the next person is answered, must not depend on how many rewards others sent. What bounds them is the number of connections and of
//! requests on each.

use std::{
    num::NonZeroU32,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use super::PerAddress;
use crate::{Error, Result, config::LimitParams};

/// Limits on clients.
#[derive(Debug, Clone, Copy)]
pub struct HttpLimits {
    /// Bytes of a body.
    pub body: usize,
    /// Time for a body to come.
    pub body_time: Duration,
    /// Time for the head of a request to come, for a handshake, and between two requests on one connection.
    pub head_time: Duration,
    /// Time within which a client must take some of an answer that waits for it.
    pub write_time: Duration,
    /// Open connections.
    pub connections: usize,
    /// Open connections of one address.
    pub per_address: PerAddress,
    /// Requests at the same time on one connection of HTTP/2.
    pub streams: u32,
    /// Rank calls of one key.
    pub ranks: Rate,
    /// Reading calls of one key.
    pub reads: Rate,
    /// Time for requests under way when the service stops.
    pub stop_time: Duration,
}

impl Default for HttpLimits {
    fn default() -> Self {
        HttpLimits {
            body: 4 << 20,
            body_time: Duration::from_secs(10),
            head_time: Duration::from_secs(30),
            write_time: Duration::from_secs(30),
            connections: 4096,
            per_address: PerAddress::default(),
            streams: 128,
            ranks: Rate { per_second: 50_000, burst: 100_000 },
            reads: Rate { per_second: 50, burst: 200 },
            stop_time: Duration::from_secs(20),
        }
    }
}

impl HttpLimits {
    /// The limits of a file of loops. A rate keeps the proportion of what may be called at once.
    pub fn of(params: &LimitParams) -> Self {
        let limits = HttpLimits::default();
        let rate = |per_second: Option<NonZeroU32>, rate: Rate| match per_second {
            None => rate,
            Some(more) => Rate {
                per_second: more.get(),
                burst: more.get().saturating_mul(rate.burst / rate.per_second),
            },
        };
        HttpLimits {
            body: LimitParams::size(params.body, limits.body),
            connections: LimitParams::size(params.connections, limits.connections),
            ranks: rate(params.ranks_per_second, limits.ranks),
            reads: rate(params.reads_per_second, limits.reads),
            ..limits
        }
    }
}

/// Calls a second on average, and calls at once.
#[derive(Debug, Clone, Copy)]
pub struct Rate {
    /// Calls a second.
    pub per_second: u32,
    /// Calls at once.
    pub burst: u32,
}

/// Allowance of a rate: calls, and the moment of the steady clock at which they were counted.
#[derive(Default)]
pub(super) struct Bucket(Mutex<Option<(f64, u64)>>);

impl Bucket {
    /// Takes calls, or says when they can be taken. A batch larger than the burst takes all of it.
    pub(super) fn take(&self, rate: Rate, calls: usize, steady: u64) -> Result<()> {
        let (per_second, burst) = (f64::from(rate.per_second.max(1)), f64::from(rate.burst.max(1)));
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (left, then) = state.unwrap_or((burst, steady));
        let earned = steady.saturating_sub(then) as f64 / 1000.0 * per_second;
        let left = (left + earned).min(burst);
        let wanted = (calls as f64).min(burst);
        if wanted <= left {
            *state = Some((left - wanted, steady));
            return Ok(());
        }
        *state = Some((left, steady));
        let retry_after = ((wanted - left) / per_second).ceil().max(1.0) as u64;
        let message = format!("at most {} such calls a second are answered", rate.per_second);
        Err(Error::TooMany { message, retry_after })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{config::ServiceFile, loops::Limits};

    fn limits(table: &str) -> LimitParams {
        let text = format!(
            "[limits]\n{table}\n[loop.home]\nprivacy = {{ epsilon = 1.0, delta = 1e-6 }}\n[loop.home.action]\ntopic = {{ categories = [\"news\", \"sport\"] }}\n"
        );
        ServiceFile::parse(&text).unwrap().limits
    }

    #[test]
    fn a_file_sets_limits_and_others_keep_their_defaults() {
        let set = limits(
            "actions = 7\nbatch = 3\nbatch_actions = 9\nopen_events = 5\nbody = 1000\nranks_per_second = 10\nreads_per_second = 6\nconnections = 40",
        );
        let (requests, http) = (Limits::of(&set), HttpLimits::of(&set));
        let found =
            (requests.actions, requests.batch, requests.batch_actions, requests.open_events);
        assert_eq!(found, (7, 3, 9, 5));
        assert_eq!((http.body, http.connections), (1000, 40));
        assert_eq!((http.ranks.per_second, http.ranks.burst), (10, 20));
        assert_eq!((http.reads.per_second, http.reads.burst), (6, 24));
        let (unset, standard) = (LimitParams::default(), Limits::default());
        assert_eq!(format!("{:?}", Limits::of(&unset)), format!("{standard:?}"));
        assert_eq!(format!("{:?}", HttpLimits::of(&unset)), format!("{:?}", HttpLimits::default()));
        assert_eq!(limits(""), unset);
    }

    #[test]
    fn a_rate_is_kept_and_comes_back() {
        let (bucket, rate) = (Bucket::default(), Rate { per_second: 2, burst: 4 });
        assert!((0..4).all(|_| bucket.take(rate, 1, 0).is_ok()));
        let Err(Error::TooMany { retry_after, .. }) = bucket.take(rate, 3, 0) else { panic!() };
        assert_eq!(retry_after, 2);
        assert!(bucket.take(rate, 1, 499).is_err());
        // A refused call has taken nothing.
        assert!(bucket.take(rate, 1, 500).is_ok());
        assert!(bucket.take(rate, 100, 1_000_000).is_ok());
        assert!(bucket.take(rate, 1, 1_000_000).is_err());
        // A steady clock never decreases; if it did, nothing would be earned.
        assert!(bucket.take(rate, 1, 0).is_err());
    }
}
