//! Number of reports that an installation has made in the present period: at most k, whatever happens in between.
//!
//! A device reads the ledger, makes a report, stores the ledger that comes with it, and only then lets the report go; all of that in one transaction
//! of its storage, so that two programs that share the storage share one count.
//!
//! - **Another protocol of the same loop** counts on: reports made earlier in the period under other parameters use up the new protocol's k, of which
//!   the smallest of the period counts, and a period ends no earlier than it would have. A server that changes its protocol gets no new reports by it.
//!   [`Limits`](crate::Limits) bounds the cost of all of them together.
//! - **A protocol with the other kind of noise** (Gaussian, or one whose guarantee needs no delta) gets no report in a period with reports of the first
//!   kind: each kind by itself could use up the person's limits.
//! - **A clock that is set back** changes nothing: a period ends when its end has come, and not before.
//! - **Lost storage** is a new installation, which nothing here can notice.

use crate::ProtocolPlan;
use reticent::{Error, Result, randomize::Spent, wire};

/// Reports of one installation for one loop in one period.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ledger {
    /// The loop's name.
    name: String,
    /// End of the period, in seconds after the beginning of 1970.
    end: u64,
    /// The smallest k of the protocols of this period.
    most: u64,
    /// Reports of this period under earlier protocols of the loop.
    earlier: u64,
    /// True if the noise of this period's reports is of the kind that needs no delta.
    pure: bool,
    /// Reports of this period under the present one, by level.
    spent: Spent,
}

impl Ledger {
    /// The ledger of an installation that has never reported. `seconds` is the time since the beginning of 1970.
    pub fn new(plan: &ProtocolPlan, seconds: u64) -> Self {
        let params = plan.params();
        Ledger {
            name: params.name.clone(),
            end: params.period.end(seconds),
            most: params.report.contributions_per_person,
            earlier: 0,
            pure: plan.reports().method().is_pure(),
            spent: Spent::nothing(plan.reports()),
        }
    }

    /// The same at a later time, perhaps under another protocol of the same loop.
    pub fn at(&self, plan: &ProtocolPlan, seconds: u64) -> Result<Self> {
        let new = Ledger::new(plan, seconds);
        if self.name != new.name {
            let remedy = format!("this is the loop {:?}: give each loop its own", new.name);
            return Err(Error::invalid("ledger", format!("one of loop {:?}", self.name), remedy));
        }
        if seconds >= self.end {
            return Ok(new);
        }
        // Not only where the hashes differ: they are no proof that nothing was changed.
        let (mut most, end) = (self.most.min(new.most), self.end.max(new.end));
        let pure = if self.reports() == 0 { new.pure } else { self.pure };
        if pure != new.pure {
            most = most.min(self.reports());
        }
        if self.spent.is_of(plan.reports()) {
            return Ok(Ledger { most, end, pure, ..self.clone() });
        }
        Ok(Ledger { earlier: self.reports(), most, end, pure, ..new })
    }

    /// The same where a period that begins with the next report lasts for `least` seconds or more. Periods end at multiples of their length, which the server
    /// chooses: one that begins anew might end at once.
    pub(crate) fn lasting(self, seconds: u64, least: u64) -> Self {
        match self.reports() {
            0 => Ledger { end: self.end.max(seconds.saturating_add(least)), ..self },
            _ => self,
        }
    }

    /// Reports of this period so far.
    pub fn reports(&self) -> u64 {
        self.earlier.saturating_add(self.spent.reports())
    }

    /// Reports that may still be made in this period.
    pub fn left(&self) -> u64 {
        self.most.saturating_sub(self.reports())
    }

    /// Reports of this period, at most: the smallest number that any protocol of it named.
    pub fn most(&self) -> u64 {
        self.most
    }

    /// End of the period, in seconds after the beginning of 1970; `u64::MAX` if it never does.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Reports by level under the present protocol.
    pub(crate) fn spent(&self) -> &Spent {
        &self.spent
    }

    pub(crate) fn after(&self, spent: &Spent) -> Self {
        Ledger { spent: spent.clone(), ..self.clone() }
    }

    /// As bytes, with a version and a checksum. A device stores them before the report leaves it.
    pub fn save(&self) -> Vec<u8> {
        let parts = (&self.name, self.end, self.most, self.earlier, self.pure, self.spent.save());
        wire::save(wire::LEDGER, &parts)
    }

    /// Reads what [`Ledger::save`] wrote, and refuses everything else.
    pub fn load(bytes: &[u8]) -> Result<Self> {
        let (name, end, most, earlier, pure, spent): (_, _, _, _, _, Vec<u8>) =
            wire::load(wire::LEDGER, bytes)?;
        Ok(Ledger { name, end, most, earlier, pure, spent: Spent::load(&spent)? })
    }
}
