//! Limits of a person, whatever a server publishes: the loop that was asked for, and the most that reports may reveal.
//!
//! **Why a device needs limits of its own.** A protocol comes from the server. Without them a server that raises epsilon, the number of reports or the
//! name of the loop would be followed: the noise would be what the message says, and no more.
//!
//! **Limits and the count together.** [`Ledger`](crate::Ledger) keeps the smallest k of a period. If J reports were made in it, every one of them was made
//! under a protocol with k >= J, so each costs at most what one of J equal parts of the largest accepted epsilon does, and all together cost no more than
//! that epsilon at the largest accepted delta: for pure reports because epsilons add up, for Gaussian ones because `mu^2` does. All reports of a period are of
//! one of these kinds: a server that changes to the other within a period gets no more reports in it. Sums behind a shuffler are Gaussian too: J reports in one batch shift it
//! by `J mu`, which is the price of a plan for J, and in several batches by less. Permuted reports are one a person.

use super::{Period, ProtocolPlan};
use reticent::{Error, Result, refuse_if};

/// The most that a person accepts.
///
/// ```
/// use reticent_device::Limits;
/// let cautious = Limits { epsilon: 1.0, ..Limits::of("home") };
/// assert_eq!((cautious.name.as_str(), cautious.delta), ("home", Limits::DELTA));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    /// The loop that was asked for: a protocol of another name is refused.
    pub name: String,
    /// Epsilon of all reports of one period together, at most.
    pub epsilon: f64,
    /// Delta of them, at most.
    pub delta: f64,
    /// Reports in one period, at most.
    pub reports: u64,
    /// Seconds of a period, at least; and those from the first report of a period to its end.
    pub period: u64,
}

impl Limits {
    /// Epsilon unless another is given.
    pub const EPSILON: f64 = 8.0;
    /// Delta unless another is given.
    pub const DELTA: f64 = 1e-5;
    /// Reports in a period unless another number is given.
    pub const REPORTS: u64 = 1000;
    /// Seconds of a period unless others are given: a day.
    pub const PERIOD: u64 = 86_400;

    /// The limits of a person who asked for this loop and gave none.
    pub fn of(name: impl Into<String>) -> Self {
        let [epsilon, delta] = [Limits::EPSILON, Limits::DELTA];
        let [reports, period] = [Limits::REPORTS, Limits::PERIOD];
        Limits { name: name.into(), epsilon, delta, reports, period }
    }

    /// Refuses a protocol of another loop, or one that asks for more at every level.
    pub(crate) fn check(&self, protocol: &ProtocolPlan) -> Result<()> {
        let params = protocol.params();
        let remedy = "it is not the loop that was asked for: ask for its own name, if you trust it";
        let refused = params.name != self.name;
        refuse_if(refused, "loop", format_args!("{:?}", params.name), remedy)?;
        let (delta, reports) = (params.report.delta, params.report.contributions_per_person);
        self.refuse("delta", delta <= self.delta, delta, self.delta, "at most")?;
        self.refuse("visits", reports <= self.reports, reports, self.reports, "at most")?;
        match params.period {
            Period::Ever => Ok(()),
            Period::Seconds(period) => {
                self.refuse("period", period >= self.period, period, self.period, "at least")
            }
        }
    }

    /// Refuses a level of a larger epsilon.
    pub(crate) fn check_level(&self, protocol: &ProtocolPlan, level: usize) -> Result<()> {
        let level = protocol.reports().level(level)?;
        let epsilon = protocol.params().report.levels.epsilons()[level];
        self.refuse("epsilon", epsilon <= self.epsilon, epsilon, self.epsilon, "at most")
    }

    pub(crate) fn refuse<T: std::fmt::Display>(
        &self,
        field: &'static str,
        accepted: bool,
        value: T,
        limit: T,
        side: &str,
    ) -> Result<()> {
        if accepted {
            return Ok(());
        }
        let remedy = format!("expected {side} {limit}; give another limit, or no reports");
        Err(Error::invalid(field, value, remedy))
    }
}
