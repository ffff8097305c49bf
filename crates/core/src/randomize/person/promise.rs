//! Guarantees of people who report under a plan: at one level, at mixed levels, and after the reports they have sent.

use super::{CalibratedMethod, Levels, ReportPlan, Spent};
use crate::{
    Result,
    privacy::{Event, Guarantee, PURE_DELTA, TrustModel},
};

/// Conditions of every guarantee of reports, with a shuffler behind them or without.
pub(crate) const CONDITIONS: [&str; 2] = [
    "that and when a person reports, and which model they saw, is public: who reports only some rewards shows which",
    "features and reward are finite numbers, which are never refused; others are an error on the device, and silence shows",
];

impl ReportPlan {
    /// Guarantee of a person who makes all their reports at this level. For people who mix levels there are
    /// [`Person::guarantee`](super::Person::guarantee), of what was really sent, and [`ReportPlan::guarantee_at_any_level`].
    pub fn guarantee(&self, level: usize) -> Result<Guarantee> {
        let times = self.params().contributions_per_person;
        let guarantee = self.promise(&[(self.level(level)?, times)])?;
        Ok(match self.can_mix() {
            true => guarantee.with_condition("all reports of this person are made at this level"),
            false => guarantee,
        })
    }

    /// Guarantee of every person, at any mixture of levels: that of the worst mixture.
    ///
    /// *Proof.* Every method has one family of events, ordered by level. Gaussian reports on a grid compose by `mu^2`, their draws and their
    /// coarsest sigma; with the largest mu and the least sigma of all levels in place of each report's own, none of these is less.
    /// Reports that are epsilon-DP by themselves cost no more than as many of the largest epsilon, of which nothing else is known
    /// (Kairouz, Oh and Viswanath 2015).
    pub fn guarantee_at_any_level(&self) -> Result<Guarantee> {
        if self.randomizers().len() == 1 {
            return self.guarantee(0);
        }
        let events = self.randomizers().iter().map(CalibratedMethod::event);
        let worst = events.reduce(dominating).unwrap_or(Event::Nothing);
        let times = self.params().contributions_per_person;
        self.state(&[(worst, times)])
    }

    /// Guarantee of a person who has sent `spent` and sends `left` more reports at `level`.
    pub(super) fn guarantee_after(
        &self,
        spent: &Spent,
        level: usize,
        left: u64,
    ) -> Result<Guarantee> {
        let guarantee = self.promise(&spent.with_rest_at(level, left))?;
        Ok(match self.can_mix() && left > 0 {
            true => guarantee.with_condition(format!(
                "the {left} reports that are left are all made at level {level}"
            )),
            false => guarantee,
        })
    }

    fn can_mix(&self) -> bool {
        self.randomizers().len() > 1 && self.params().contributions_per_person > 1
    }

    /// Guarantee of these numbers of reports at these levels together.
    fn promise(&self, reports: &[(usize, u64)]) -> Result<Guarantee> {
        let part = |&(level, times): &(usize, u64)| Ok((self.event(level)?, times));
        let parts = reports.iter().map(part).collect::<Result<Vec<(Event, u64)>>>()?;
        self.state(&parts)
    }

    /// The guarantee of all that one person sends, beside the claim.
    fn state(&self, parts: &[(Event, u64)]) -> Result<Guarantee> {
        let params = self.params();
        let delta = if params.delta > 0.0 { params.delta } else { PURE_DELTA };
        let guarantee = Guarantee::of_mixture(parts, TrustModel::Local, delta)?;
        let mut guarantee = CONDITIONS.iter().fold(guarantee, |g, c| g.with_condition(*c));
        if params.levels.epsilons().len() > 1 {
            guarantee = guarantee.with_condition("levels do not depend on the data");
        }
        if self.method().shows_arms() {
            guarantee = guarantee
                .with_condition("the arms played are public: only the reward is protected");
        }
        if let Levels::Hidden { .. } = params.levels {
            guarantee = guarantee
                .with_condition("it protects features and reward, not the level of epsilon itself");
        }
        guarantee.beside(params.claim.as_ref())
    }
}

/// An event that costs no less than either of two reports by the same method.
fn dominating(one: Event, two: Event) -> Event {
    match (&one, &two) {
        (
            Event::GridGaussian { mu, sigma, coordinates },
            Event::GridGaussian { mu: other, sigma: coarser, coordinates: draws },
        ) => Event::GridGaussian {
            mu: mu.max(*other),
            sigma: sigma.min(*coarser),
            coordinates: coordinates.max(*draws),
        },
        _ => {
            let pure = |event: &Event| event.total_pure_epsilon().unwrap_or(f64::INFINITY);
            Event::Pure { epsilon: pure(&one).max(pure(&two)) }
        }
    }
}
