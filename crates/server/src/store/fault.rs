//! Failures of a transaction in a test.

/// Failure of a transaction in a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Nothing happens.
    Before,
    /// Everything happens, and the answer is lost.
    After,
    /// Nothing happens, because of a fault of the program.
    Panic,
}

/// A failure that is to come, and how many transactions come before it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct FaultAfter(Option<(u64, Fault)>);

impl FaultAfter {
    /// A failure after a number of other transactions.
    pub(crate) fn new(others: u64, fault: Fault) -> Self {
        FaultAfter(Some((others, fault)))
    }

    /// True if it is still to come.
    pub(crate) fn is_to_come(self) -> bool {
        self.0.is_some()
    }

    /// The failure of the next transaction, if it has one.
    pub(crate) fn next(&mut self) -> Option<Fault> {
        match self.0 {
            Some((0, fault)) => {
                self.0 = None;
                Some(fault)
            }
            Some((before, fault)) => {
                self.0 = Some((before - 1, fault));
                None
            }
            None => None,
        }
    }
}
