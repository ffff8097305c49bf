//! The local Laplace randomiser: a level of privacy for every attribute.
//!
//! Lemma 4 of van der Hoeven (2019): with `|g_j| <= bound`, noise of density `~ exp(-tau_j |z| / (2 bound))` on attribute j keeps it `tau_j`-private, and the
//! whole report `sum tau_j`-private. `tau_j = 0`: nothing is sent for j. `tau_j` infinite: j is sent as it is, and has no guarantee.
//!
//! **What an attribute's level protects.** The entry `g_j` of the gradient, seen through its own report. In a linear model all entries
//! are the slope of the loss times a feature, and the slope depends on every feature and the label: who sees the whole report learns
//! about a feature from the other entries too. Only the sum of levels bounds that, and an entry in the clear bounds nothing.
//!
//! **On a grid.** `g_j` is clipped and rounded to a multiple of a power of two, an integer of size at most m; the noise is a
//! discrete Laplace of rational scale s, exactly drawn; two such integers differ by at most 2m. So the true level is `2m/s`, which is
//! what the event says; s is rounded up, so that it is never above `tau_j`. The law is symmetric.

use super::{Gradient, GradientReport, Randomizer, grid_laplace::GridLaplace};
use crate::{Error, Result, error::positive, noise::Noise, privacy::Event, refuse_if};

/// Clips every attribute to its interval, then adds Laplace noise of its own level.
///
/// ```
/// use reticent::{noise::SecureNoise, randomize::{Gradient, GradientReport, LocalLaplace, Randomizer}};
/// // Attribute 0 at level 1, attribute 1 not at all, attribute 2 in the clear.
/// let randomizer = LocalLaplace::new(&[1.0, 0.0, f64::INFINITY], 1.0)?;
/// let report = randomizer.report(Gradient::from(&[0.3, 0.9, 0.5]), &mut SecureNoise::from_system()?)?;
/// let GradientReport::Sparse(sent) = report else { unreachable!() };
/// assert_eq!(sent.len(), 2);
/// assert_eq!(sent[1], (2, 0.5));
/// assert!(randomizer.event().is_err()); // the whole has no guarantee, its first attribute has
/// assert!(randomizer.attribute_event(0).is_ok());
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct LocalLaplace {
    dimension: usize,
    bound: f64,
    /// The attributes that are sent, ascending, each with the number of its law.
    sent: Vec<(usize, usize)>,
    /// One per distinct level; `None` is "in the clear".
    laws: Vec<Option<GridLaplace>>,
}

impl LocalLaplace {
    /// One level for each attribute.
    pub fn new(levels: &[f64], bound: f64) -> Result<Self> {
        let levels: Vec<(usize, f64)> = levels.iter().copied().enumerate().collect();
        LocalLaplace::sparse(levels.len(), &levels, bound)
    }

    /// The same level for all, `epsilon` together: far more noise than [`L1Laplace`](super::L1Laplace) where gradients are sparse.
    pub fn even(dimension: usize, epsilon: f64, bound: f64) -> Result<Self> {
        positive("epsilon", epsilon)?;
        LocalLaplace::new(&vec![epsilon / dimension.max(1) as f64; dimension], bound)
    }

    /// Levels of the attributes that are named, indices ascending; the others send nothing.
    pub fn sparse(dimension: usize, levels: &[(usize, f64)], bound: f64) -> Result<Self> {
        refuse_if(dimension == 0, "dimension", dimension, "expected 1 or above")?;
        positive("bound", bound)?;
        let mut laws = Vec::new();
        let mut known: std::collections::BTreeMap<u64, usize> = Default::default();
        let mut sent = Vec::new();
        let mut least = 0;
        for &(index, level) in levels {
            let refused = index >= dimension || index < least;
            let remedy = format_args!("expected ascending indices below {dimension}");
            refuse_if(refused, "levels", format_args!("index {index}"), remedy)?;
            least = index + 1;
            if level == 0.0 {
                continue;
            }
            let law = match known.get(&level.to_bits()) {
                Some(&law) => law,
                None => {
                    let clear = level == f64::INFINITY;
                    laws.push(if clear { None } else { Some(GridLaplace::new(level, bound)?) });
                    known.insert(level.to_bits(), laws.len() - 1);
                    laws.len() - 1
                }
            };
            sent.push((index, law));
        }
        Ok(LocalLaplace { dimension, bound, sent, laws })
    }

    /// Event of an attribute's part of the report for that entry of the gradient; not for the feature behind it, which
    /// moves the other entries as well.
    pub fn attribute_event(&self, attribute: usize) -> Result<Event> {
        let remedy = format_args!("expected an index below {}", self.dimension);
        refuse_if(attribute >= self.dimension, "attribute", attribute, remedy)?;
        match self.sent.iter().find(|&&(index, _)| index == attribute) {
            None => Ok(Event::Nothing),
            Some(&(_, law)) => match &self.laws[law] {
                Some(law) => Ok(law.event()),
                None => Err(in_the_clear(attribute)),
            },
        }
    }

    /// `E||z||^2` of the noise on what is sent.
    pub fn second_moment(&self) -> f64 {
        let of = |&(_, law): &(usize, usize)| self.laws[law].map_or(0.0, |law| law.variance());
        self.sent.iter().map(of).sum()
    }
}

fn in_the_clear(attribute: usize) -> Error {
    Error::Unsupported {
        event: format!("a report that shows attribute {attribute} as it is"),
        remedy: "give it a finite level: an attribute that is sent as it is has no price".into(),
    }
}

impl Randomizer for LocalLaplace {
    fn report<N: Noise + ?Sized>(
        &self,
        gradient: Gradient<'_>,
        noise: &mut N,
    ) -> Result<GradientReport> {
        gradient.check("gradient", self.dimension)?;
        let report = gradient.at(&self.sent).map(|(index, law, value)| match &self.laws[*law] {
            Some(law) => (index, law.randomize(value, noise)),
            None => (index, value.clamp(-self.bound, self.bound)),
        });
        Ok(GradientReport::Sparse(report.collect()))
    }

    fn event(&self) -> Result<Event> {
        let mut times = vec![0_u64; self.laws.len()];
        for &(index, law) in &self.sent {
            if self.laws[law].is_none() {
                return Err(in_the_clear(index));
            }
            times[law] += 1;
        }
        let part = |(law, &times): (&Option<GridLaplace>, &u64)| {
            law.map(|law| Event::Repeated { event: Box::new(law.event()), times })
        };
        let events: Vec<Event> = self.laws.iter().zip(&times).filter_map(part).collect();
        Ok(if events.is_empty() { Event::Nothing } else { Event::Composed { events } })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        noise::{SecureNoise, check},
        privacy::Accountant,
    };

    fn sent(
        randomizer: &LocalLaplace,
        gradient: &[f64],
        noise: &mut SecureNoise,
    ) -> Vec<(usize, f64)> {
        match randomizer.report(Gradient::from(gradient), noise).unwrap() {
            GradientReport::Sparse(entries) => entries,
            GradientReport::Dense(_) => unreachable!(),
        }
    }

    #[test]
    fn every_attribute_has_its_own_level() {
        let mut noise = SecureNoise::seeded(61);
        let levels = [1.0, 0.0, 0.2, f64::INFINITY, 1.0];
        let randomizer = LocalLaplace::new(&levels, 2.0).unwrap();
        let draws: Vec<_> = (0..60_000)
            .map(|_| sent(&randomizer, &[0.5, 1.0, -9.0, 9.0, 0.0], &mut noise))
            .collect();
        // Clipped to 2 in absolute value, noise of scale 2 * 2 / tau, nothing for attribute 1.
        for (position, index, mean, level) in
            [(0, 0, 0.5, 1.0), (1, 2, -2.0, 0.2), (3, 4, 0.0, 1.0)]
        {
            let scale = 4.0 / level;
            let values: Vec<f64> = draws.iter().map(|r| r[position].1 - mean).collect();
            assert!(draws.iter().all(|r| r[position].0 == index));
            let law = |z: f64| {
                if z < 0.0 { 0.5 * (z / scale).exp() } else { 1.0 - 0.5 * (-z / scale).exp() }
            };
            assert!(!check::distribution_alarm(values.clone(), law), "{index}");
            // Planted: noise for half the sensitivity.
            assert!(check::distribution_alarm(values.iter().map(|z| 0.5 * z).collect(), law));
        }
        assert!(draws.iter().all(|r| r[2] == (3, 2.0)));
    }

    #[test]
    fn the_whole_costs_the_sum_of_levels_and_clear_attributes_have_no_price() {
        let randomizer = LocalLaplace::new(&[0.5, 0.25, 0.0, 0.25], 1.0).unwrap();
        let curve = Accountant::price(&randomizer.event().unwrap()).unwrap();
        assert_eq!(curve.delta(1.0).unwrap(), 0.0);
        assert!(curve.delta(0.98).unwrap() > 0.0);
        let alone = Accountant::price(&randomizer.attribute_event(1).unwrap()).unwrap();
        assert_eq!(alone.delta(0.25).unwrap(), 0.0);
        assert!(alone.delta(0.24).unwrap() > 0.0);
        assert_eq!(randomizer.attribute_event(2).unwrap(), Event::Nothing);
        let open = LocalLaplace::new(&[0.5, f64::INFINITY], 1.0).unwrap();
        assert!(open.event().is_err() && open.attribute_event(1).is_err());
        assert!(open.attribute_event(2).is_err());
        // Nothing sent at all.
        let silent = LocalLaplace::new(&[0.0, 0.0], 1.0).unwrap();
        assert_eq!(silent.event().unwrap(), Event::Nothing);
    }

    #[test]
    fn a_few_attributes_of_a_million() {
        let mut noise = SecureNoise::seeded(62);
        let randomizer = LocalLaplace::sparse(1_000_000, &[(3, 1.0), (999_999, 1.0)], 1.0).unwrap();
        let gradient = [(3, 1.0), (500, 1.0)];
        let report = randomizer.report(Gradient::from(&gradient), &mut noise).unwrap();
        let indices: Vec<usize> = Gradient::from(&report).entries().map(|(i, _)| i).collect();
        assert_eq!(indices, [3, 999_999]);
    }

    #[test]
    fn bad_parameters_are_refused() {
        for level in [-1.0, f64::NAN, 1e-9, 1e9] {
            assert!(LocalLaplace::new(&[level], 1.0).is_err(), "{level}");
        }
        assert!(LocalLaplace::new(&[], 1.0).is_err());
        assert!(LocalLaplace::new(&[1.0], 0.0).is_err());
        assert!(LocalLaplace::sparse(3, &[(1, 1.0), (0, 1.0)], 1.0).is_err());
        assert!(LocalLaplace::sparse(3, &[(3, 1.0)], 1.0).is_err());
        assert!(LocalLaplace::even(3, -1.0, 1.0).is_err());
    }
}
