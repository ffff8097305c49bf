//! Conditions on older copies of the store.

use super::Condition;
use crate::{
    records::WitnessPlace,
    time::{Time, date_time},
};

/// Evidence against a rollback of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Watch {
    /// Place of the witness, if there is one.
    pub witness: Option<WitnessPlace>,
    /// Time at which the operator declared a witness of this store lost: releases before it can no longer be shown.
    pub lost: Option<Time>,
    /// Time of the last start of this store without a witness on another filesystem.
    pub unwatched: Option<Time>,
}

impl Watch {
    /// Conditions on older copies of the store.
    pub fn conditions(&self) -> Vec<Condition> {
        let older = "no release is made from an older copy of the store without a charge";
        let mut conditions = vec![match self.witness {
            // Another filesystem of the same machine is in the same snapshot of it, and no number that the system tells is a boundary.
            Some(WitnessPlace::Apart) => Condition::assumed(
                older,
                "the operator, who never restores the witness file together with the data: it is on another filesystem, which a snapshot of the machine includes; clients who echo tokens",
            ),
            Some(WitnessPlace::Unknown) => Condition::assumed(
                older,
                "the operator, who never restores a witness file together with the database, and promotes a standby only when it has everything; clients who echo tokens",
            ),
            Some(WitnessPlace::Beside) => Condition::assumed(
                older,
                "the operator, who restores copies: the witness file is on the filesystem of the data, and may be restored with it; clients who echo tokens",
            ),
            None => Condition::assumed(
                older,
                "the operator, who restores copies: no witness file is given (`--witness`); clients who echo tokens",
            ),
        }];
        if let Some(lost) = self.lost {
            conditions.push(Condition::assumed(
                format!("the witness was lost before {}: the store that was served from then on was not an older copy. If it was, releases were made that the numbers of this page do not count", date_time(lost)),
                "the operator, who said so (`--witness-lost`)",
            ));
        }
        if let (Some(WitnessPlace::Apart), Some(time)) = (self.witness, self.unwatched) {
            conditions.push(Condition::assumed(
                format!("this store was started without a witness on another filesystem, last on {}: what was served from then to the next start was not an older copy. If it was, releases were made that the numbers of this page do not count", date_time(time)),
                "the operator who restored copies then",
            ));
        }
        conditions
    }
}
