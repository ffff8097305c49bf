//! Staircase noise on every attribute that is sent: less noise than Laplace once a level is above 2 or so.
//!
//! Geng and Viswanath (2014); the law is [`noise::Staircase`](crate::noise::Staircase), symmetric. As with the local Laplace randomiser each attribute has
//! its own level and the levels add up; numbers clipped to `bound` differ by at most `2 bound`.

use super::{Gradient, GradientReport, Randomizer};
use crate::{
    Result,
    error::positive,
    noise::{Noise, Staircase},
    privacy::Event,
    refuse_if,
};

/// Clips every attribute to its interval, then adds staircase noise of its own level.
#[derive(Debug, Clone, PartialEq)]
pub struct StaircaseRandomizer {
    dimension: usize,
    bound: f64,
    /// The attributes that are sent, ascending.
    sent: Vec<(usize, Staircase)>,
}

impl StaircaseRandomizer {
    /// One level for each attribute, up to 30; 0 sends nothing.
    pub fn new(levels: &[f64], bound: f64) -> Result<Self> {
        refuse_if(levels.is_empty(), "levels", "an empty list", "expected one for each attribute")?;
        positive("bound", bound)?;
        let sent = levels.iter().enumerate().filter(|&(_, &level)| level != 0.0);
        let sent = sent
            .map(|(index, &level)| Ok((index, Staircase::new(level, 2.0 * bound)?)))
            .collect::<Result<Vec<_>>>()?;
        Ok(StaircaseRandomizer { dimension: levels.len(), bound, sent })
    }
}

impl Randomizer for StaircaseRandomizer {
    fn report<N: Noise + ?Sized>(
        &self,
        gradient: Gradient<'_>,
        noise: &mut N,
    ) -> Result<GradientReport> {
        gradient.check("gradient", self.dimension)?;
        let report = gradient.at(&self.sent).map(|(index, law, value)| {
            Ok((index, law.randomize(value.clamp(-self.bound, self.bound), noise)?))
        });
        Ok(GradientReport::Sparse(report.collect::<Result<_>>()?))
    }

    fn event(&self) -> Result<Event> {
        let events: Vec<Event> = self.sent.iter().map(|(_, law)| law.event()).collect();
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

    #[test]
    fn clips_then_adds_the_law() {
        let mut noise = SecureNoise::seeded(65);
        let randomizer = StaircaseRandomizer::new(&[0.0, 3.0], 0.5).unwrap();
        let values: Vec<f64> = (0..60_000)
            .map(|_| match randomizer.report(Gradient::from(&[9.0, -9.0]), &mut noise).unwrap() {
                GradientReport::Sparse(entries) => entries[0].1,
                GradientReport::Dense(_) => unreachable!(),
            })
            .collect();
        // Sensitivity 1: E|z| = 1/(2 sinh(1.5)), below Laplace's 1/3.
        let size = 0.5 / 1.5_f64.sinh();
        assert!(size < 1.0 / 3.0);
        assert!(!check::mean_alarm(values.iter().copied(), -0.5, 1.0));
        let sizes = values.iter().map(|v| (v + 0.5).abs());
        assert!(!check::mean_alarm(sizes.clone(), size, 0.5));
        // Planted: the sensitivity of one number instead of two.
        assert!(check::mean_alarm(sizes.map(|s| 0.5 * s), size, 0.5));
    }

    #[test]
    fn levels_add_up_and_bad_ones_are_refused() {
        let randomizer = StaircaseRandomizer::new(&[0.5, 0.0, 1.0], 1.0).unwrap();
        let curve = Accountant::price(&randomizer.event().unwrap()).unwrap();
        assert_eq!(curve.delta(1.5).unwrap(), 0.0);
        assert!(curve.delta(1.4).unwrap() > 0.0);
        for level in [-1.0, f64::NAN, f64::INFINITY] {
            assert!(StaircaseRandomizer::new(&[level], 1.0).is_err());
        }
        assert!(StaircaseRandomizer::new(&[], 1.0).is_err());
        assert!(StaircaseRandomizer::new(&[1.0], f64::NAN).is_err());
    }
}
