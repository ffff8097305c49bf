//! Price of reports by another party's plan behind a shuffler: the person's own accountant computes it, whatever the plan's maker claims.

use super::{Aggregation, params::shuffled};
use crate::{Result, privacy::Event, randomize::ReportPlan, refuse_if};

/// Event of all reports by this plan of one person, for those who see batches only, with this number of honest people in each.
pub fn shuffled_event(
    reports: &ReportPlan,
    aggregation: Aggregation,
    honest: u64,
) -> Result<Event> {
    let levels = reports.randomizers().len();
    refuse_if(levels != 1, "levels", levels, "a batch has one level of noise; expected one")?;
    let times = reports.params().contributions_per_person;
    match aggregation {
        Aggregation::Sum => Ok(reports.randomizers()[0].summed()?.summed_event(times, honest)),
        Aggregation::Permute => {
            let remedy = "permuted reports of one person may meet in one batch; expected 1";
            refuse_if(times != 1, "contributions_per_person", times, remedy)?;
            shuffled(&reports.event(0)?, honest)
        }
    }
}
