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
/// privacy), and not with its root. So does the epsilon of Laplace noise, where visits of all periods may be in one episode: a composition would be less.
pub(super) fn of_one_stream(event: &Event, periods: u32) -> Event {
    let of = |event: &Event| Box::new(of_one_stream(event, periods));
    match event {
        Event::GridGaussian { mu, sigma, coordinates } => Event::GridGaussian {
            mu: mu * f64::from(periods),
            sigma: *sigma,
            coordinates: *coordinates,
        },
        Event::Pure { epsilon } => Event::Pure { epsilon: epsilon * f64::from(periods) },
        // Replays and generations draw noise of their own.
        Event::Repeated { event, times } => Event::Repeated { event: of(event), times: *times },
        Event::Composed { events } => Event::Composed {
            events: events.iter().map(|event| of_one_stream(event, periods)).collect(),
        },
        other => Event::Repeated { event: Box::new(other.clone()), times: periods.into() },
    }
}

#[cfg(test)]
mod tests {
    use reticent::privacy::{Accountant, Event};

    use super::of_one_stream;

    /// Visits of twelve periods in one episode: one Laplace draw under a shift of twelve visits, which a composition of twelve would price too low.
    #[test]
    fn visits_of_several_periods_may_share_an_episode() {
        let epsilon = |event: &Event| Accountant::price(event).unwrap().epsilon(1e-6).unwrap();
        let (once, shared) = (
            Event::Pure { epsilon: 1.0 },
            Event::DiscreteLaplace { sensitivity: 12 << 20, scale: f64::from(1 << 20) },
        );
        let replayed = Event::Repeated { event: Box::new(once.clone()), times: 2 };
        assert!(epsilon(&of_one_stream(&once, 12)) >= epsilon(&shared));
        assert!(epsilon(&of_one_stream(&replayed, 12)) > 23.9);
        let composed = Event::Repeated { event: Box::new(once), times: 12 };
        assert!(epsilon(&composed) < epsilon(&shared), "the planted price is too low");
    }
}
