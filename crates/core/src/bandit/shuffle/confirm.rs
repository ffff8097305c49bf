//! What a person may be promised behind a shuffler by a plan of reports that somebody else has made: the person's own accountant says it, whatever the
//! plan's maker claims.

use super::{Aggregation, params::shuffled};
use crate::{
    Result,
    privacy::{Guarantee, TrustModel},
    randomize::ReportPlan,
    refuse_if,
};

/// What somebody who makes all their reports by this plan may be promised at this delta, among so many honest people of a batch.
///
/// ```
/// use reticent::{
///     bandit::{Aggregation, ShuffleParams, shuffled_guarantee},
///     randomize::Bounds,
/// };
/// let bounds = Bounds { rewards: (0.0, 1.0), ..Bounds::unit(5) };
/// let plan = ShuffleParams::new(bounds, 1.0, 1e-6, 1000, Aggregation::Sum).check()?;
/// let reports = plan.local().params().report.check()?;
/// let promised = shuffled_guarantee(&reports, Aggregation::Sum, 1000, 1e-6)?;
/// assert!(promised.epsilon() <= 1.0);
/// // Among fewer people the same noise protects less.
/// assert!(shuffled_guarantee(&reports, Aggregation::Sum, 500, 1e-6)?.epsilon() > 1.3);
/// # Ok::<(), reticent::Error>(())
/// ```
pub fn shuffled_guarantee(
    reports: &ReportPlan,
    aggregation: Aggregation,
    honest: u64,
    delta: f64,
) -> Result<Guarantee> {
    let levels = reports.randomizers().len();
    refuse_if(levels != 1, "levels", levels, "a batch has one level of noise: give one")?;
    let times = reports.params().contributions_per_person;
    let event = match aggregation {
        Aggregation::Sum => reports.randomizers()[0].summed()?.summed_event(times, honest),
        Aggregation::Permute => {
            let remedy = "permuted reports of one person may meet in one batch: give 1";
            refuse_if(times != 1, "contributions_per_person", times, remedy)?;
            shuffled(&reports.event(0)?, honest)?
        }
    };
    Guarantee::of(&event, TrustModel::Shuffle, delta)
}
