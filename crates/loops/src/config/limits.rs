//! Limits on requests, as a file of loops sets them. They belong to the service and to no generation of a loop.

use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Limits on requests of clients. A limit that is not given keeps its default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LimitParams {
    /// Actions of a rank request, and ids in its `exclude`; 1,024 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actions: Option<NonZeroU32>,
    /// Requests of a batch; 1,000 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<NonZeroU32>,
    /// Actions of all rank requests of a batch together; 32,768 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch_actions: Option<NonZeroU32>,
    /// Open events of a loop; 10,000,000 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_events: Option<NonZeroU32>,
    /// Bytes of a request's body; 4 MiB by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<NonZeroU32>,
    /// Rank calls of one key in a second, and twice as many at once; 50,000 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranks_per_second: Option<NonZeroU32>,
    /// Reading calls of one key in a second, and four times as many at once; 50 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reads_per_second: Option<NonZeroU32>,
    /// Open connections; 4,096 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connections: Option<NonZeroU32>,
}

impl LimitParams {
    /// A limit as a size.
    pub fn size(limit: Option<NonZeroU32>, default: usize) -> usize {
        limit.map_or(default, |limit| limit.get() as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ServiceFile;

    const LOOP: &str = "[loop.home]\nprivacy = { epsilon = 1.0, delta = 1e-6 }\n[loop.home.action]\ntopic = { categories = [\"news\", \"sport\"] }\n";

    fn limits(table: &str) -> crate::Result<LimitParams> {
        Ok(ServiceFile::parse(&format!("[limits]\n{table}\n{LOOP}"))?.limits)
    }

    #[test]
    fn limits_that_are_none_or_unknown_are_refused_by_name() {
        for (table, words) in [
            ("actions = 0", "actions = 0"),
            ("batch = -1", "batch = -1"),
            ("action = 3", "unknown field `action`"),
            ("body = 1e9", "body = 1e9"),
        ] {
            let refused = limits(table).unwrap_err().to_string();
            assert!(refused.contains(words), "{refused}");
        }
    }
}
