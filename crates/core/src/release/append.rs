//! Coordinates appended to a stream that is under way.
//!
//! **Lemma (appended coordinates are free).** Let a stream release `C x + z`, coordinate by coordinate, with independent noise, and let the contribution
//! of every person be zero in the coordinates K' before step t_c, by a public rule. Then releasing the rows of K' from t_c on only, with the same C and
//! the same noise, costs what the stream costs that always had K': its mu, which does not depend on the number of coordinates.
//!
//! *Proof.* Let M be the stream that has had K' since its first step. Its contributions are those of the domain with K', of the same bounds, so that its
//! sensitivity Delta and with it `mu = |C| Delta / sigma` are the same (`domain`). Rows of K' before t_c are `z`, since C is lower triangular and
//! its entries there meet zeros only: they depend on no data. What is released, the other coordinates always and K' from t_c on, is a part of
//! what M releases: a projection, which costs no more. If t_c, K' and the rule are chosen from earlier releases or public facts, they are what an adversary
//! may choose adaptively: M has a coordinate for each word that may ever be appended, and an encoding of norm at most 1 whatever is chosen. Sums that
//! forget are `D A D^-1` with a lower triangular C too (`forgetting`), so that nothing changes. QED
//!
//! **Conditions.** The norm of a contribution stays within the bound, as the clipper enforces, so that the weights of other coordinates stay as they are;
//! contributions before t_c are zero in K', because the appended sums begin with zeros; the choice depends on no person's data but by releases. A
//! coordinate that is to be used again after it was left out keeps its row, and is no appended one.
//!
//! **Noise.** An appended coordinate gets the noise of a stream that ran since the beginning: rows before t_c are drawn, or the state that they would
//! have left. It protects no person, and a stream without it would be as private. But every coordinate of a release then has the deviation that
//! [`Release::deviations`](super::Release::deviations) states, which rules read off one coordinate for all. With 8 buffers and a half-life of 4096 steps that
//! is 1.9 deviations of one draw, where a stream of 100 steps would have 1.6.
//!
//! **Rounding.** Each noisy entry adds to the price of rounding and of the grid (`fixed`, `privacy/grid.rs`), and those of K' count from t_c on. A stream that forgets
//! is priced for 2^32 steps. With more coordinates it ends earlier, such that the number of noisy entries and the sum of their inverse variances stay
//! below what the price counts, and the price stays what it was. Other streams have a horizon to keep, and are priced again: in the tests mu
//! grows by less than 1e-8 of it.

use super::{
    Clipper, Domain, PrivateSum, Schedule,
    engine::Engine,
    factorization::{Draw, Factorization, Running},
    merged::upper,
    params::Plan,
};
use crate::{Error, Result, noise::Noise, refuse_if};

/// Places of coordinates in an earlier vector; none for those that are appended.
pub(crate) type Places = [Option<usize>];

/// Refuses places that lose an earlier coordinate or use one twice, of `earlier` coordinates.
pub(crate) fn check_places(places: &Places, earlier: usize) -> Result<()> {
    let mut found = vec![false; earlier];
    let remedy = "expected each earlier coordinate once; give its place, or none for a new one";
    for place in places.iter().flatten() {
        let twice = found.get_mut(*place).is_none_or(|found| std::mem::replace(found, true));
        refuse_if(twice, "places", place, remedy)?;
    }
    match found.iter().position(|found| !found) {
        Some(missing) => Err(Error::invalid("places", format!("no place for {missing}"), remedy)),
        None => Ok(()),
    }
}

/// A vector with appended coordinates of this value.
pub(crate) fn appended<T: Clone>(values: &[T], places: &Places, new: T) -> Vec<T> {
    places.iter().map(|place| place.map_or_else(|| new.clone(), |at| values[at].clone())).collect()
}

/// The appended coordinates.
pub(super) fn new_coordinates(places: &Places) -> impl Iterator<Item = usize> + '_ {
    (0..places.len()).filter(|coordinate| places[*coordinate].is_none())
}

impl Domain {
    /// Places of the sums of `later`, which is this domain over the features of these places.
    pub(crate) fn places_after(
        &self,
        places: &Places,
        later: &Domain,
    ) -> Result<Vec<Option<usize>>> {
        check_places(places, self.dimension())?;
        later.check()?;
        let (expected, found) = (places.len(), later.dimension());
        if expected != found {
            return Err(Error::Dimension { field: "places", expected, found });
        }
        let remedy = "expected a regression in one block, with the bounds and the split that it has had: begin a new stream";
        let dense = self.bounds().is_some() && self.structure().is_dense();
        let same = later.over(1).is_some_and(|later| self.over(1) == Some(later));
        refuse_if(!(dense && same), "domain", later, remedy)?;
        let remedy =
            "the distance of two contributions grows with the second feature: begin a new stream";
        let farther = later.sensitivity() > self.sensitivity()
            || later.sensitivity_across_steps() > self.sensitivity_across_steps();
        refuse_if(farther, "dimension", found, remedy)?;
        let matrix = match (self.pattern(), later.pattern()) {
            (None, None) => {
                let layout = self.layout();
                let entry =
                    |(row, column): (usize, usize)| layout.entry(places[row]?, places[column]?);
                upper(found).map(entry).collect()
            }
            (Some(before), Some(later)) => later.places_in(before, places)?,
            _ => {
                let remedy = "merged sums go on as merged sums only: begin a new stream";
                return Err(Error::invalid("domain", later, remedy));
            }
        };
        let vector = places.iter().map(|place| place.map(|at| self.matrix_coordinates() + at));
        let sums: Vec<_> = matrix.into_iter().chain(vector).collect();
        // An earlier sum with two places would show its noise twice.
        check_places(&sums, self.coordinates())?;
        Ok(sums)
    }

    /// The dense regression of this many features in one block with its bounds and split.
    fn over(&self, dimension: usize) -> Option<Domain> {
        match self.dense() {
            Domain::Regression { feature_bound, reward_bound, split, .. } => {
                Some(Domain::regression(dimension, feature_bound, reward_bound).split_as(split))
            }
            _ => None,
        }
    }
}

impl<N: Noise> PrivateSum<N> {
    /// Appends coordinates to the features of a regression, by the lemma above: `places` has for each feature of `later` its place so far, or none. All people's
    /// contributions until now, those since the last release included, are zero there. An error changes nothing but the state of the generator.
    pub(crate) fn append(&mut self, places: &Places, later: &Domain) -> Result<()> {
        let plan = &self.state.plan;
        if places.iter().enumerate().all(|(at, place)| *place == Some(at)) {
            return check_places(places, plan.clipper.domain().dimension());
        }
        let sums = plan.clipper.domain().places_after(places, later)?;
        let clipper = plan.clipper.with_domain(later.clone())?;
        self.state.noise.rekey()?;
        let plan = plan.appended(clipper, &sums, self.state.step, &mut self.state.noise)?;
        self.state.pending = appended(&self.state.pending, &sums, 0);
        self.state.plan = plan;
        Ok(())
    }
}

impl Plan {
    /// The plan with its running state after `step` steps over the sums of these places.
    fn appended(
        &self,
        clipper: Clipper,
        places: &Places,
        step: u64,
        source: &mut impl Noise,
    ) -> Result<Plan> {
        let Engine::Known { running, noise } = &self.engine else {
            let remedy = "expected a stream with a known number of releases and Gaussian noise: begin a new stream";
            return Err(Error::invalid("coordinates", "appended", remedy));
        };
        let longer = noise.appended(&self.clipper, &clipper, places)?;
        let mut running = running.clone();
        running.append(places, step, &mut |coordinate| longer.draw(coordinate, source));
        let (mut horizon, mut promise) = (self.horizon, self.promise);
        match &mut running {
            Running::Blt(sums) if sums.factor().forgets() => {
                let left = sums.factor().steps().saturating_sub(step);
                let last = step + (left as f64 * noise.share_of(&longer)) as u64;
                sums.end_after(last);
                if self.schedule == Schedule::Clock {
                    horizon = horizon.min(last);
                }
            }
            running => {
                let factor = running.factor();
                let more = longer.rounding_cost(factor) - noise.rounding_cost(factor);
                let times = longer.deviations().len() as f64 / noise.deviations().len() as f64;
                promise = promise.with_more(more, times);
            }
        }
        let engine = Engine::Known { running, noise: longer };
        Ok(Plan { schedule: self.schedule, clipper, horizon, promise, engine })
    }
}

impl Running {
    /// Appends coordinates that were zero until now, with the noise of `step` steps.
    fn append(&mut self, places: &Places, step: u64, draw: Draw) {
        match self {
            Running::Tree(sums) => sums.append(places, draw),
            Running::Honaker(sums) => sums.append(places, draw),
            Running::Toeplitz(sums) => sums.append(places, draw),
            Running::Blt(sums) => sums.append(places, step, draw),
            Running::PaddedTree(sums) => sums.append(places, draw),
        }
    }
}

#[cfg(test)]
mod tests;
