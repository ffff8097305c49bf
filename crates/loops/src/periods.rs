//! Periods in which contributions are counted: in words, several of them, a year.

use reticent::privacy::Event;
use serde::Serialize;

use crate::config::{Period, Span};

/// Guarantee of several periods.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Periods {
    /// Number of periods.
    pub periods: u32,
    /// Epsilon at the loop's delta.
    pub epsilon: f64,
}

/// The windows of the service's ledger: from one multiple of their length after 1970 to the next.
pub(super) const CALENDAR: &str = "calendar window";

/// Numbers of periods whose epsilon is shown.
pub const SHOWN_PERIODS: [u32; 3] = [1, 2, 12];

/// The largest number of contributions in words, with the period, which is one of the windows of this kind.
pub fn often(most: u64, period: Period, windows: &str) -> String {
    let times = match most {
        1 => "once".to_string(),
        _ => format!("{most} times"),
    };
    match period {
        Period::Ever => format!("{times} ever"),
        Period::Each(span) => format!("{times} in each {windows} of {span}"),
    }
}

/// Windows of this length that a year of 366 days meets at most, wherever it begins.
pub fn windows_of_a_year(span: Span) -> u32 {
    const YEAR: u64 = 366 * 86_400_000;
    let windows = YEAR.div_ceil(span.as_milliseconds().max(1)).saturating_add(1);
    u32::try_from(windows).unwrap_or(u32::MAX)
}

/// Visits of several periods go into one stream of releases with one noise: their shifts add up, so that mu grows with the number of periods (group
/// privacy), and not with its root.
pub(super) fn of_one_stream(event: &Event, periods: u32) -> Event {
    match event.clone() {
        Event::GridGaussian { mu, sigma, coordinates } => {
            Event::GridGaussian { mu: mu * f64::from(periods), sigma, coordinates }
        }
        other => Event::Repeated { event: Box::new(other), times: periods.into() },
    }
}
