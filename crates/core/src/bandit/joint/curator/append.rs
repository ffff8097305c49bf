//! Features appended to a learner that is under way.
//!
//! Its sums go on with the appended coordinates at no cost (`release/append.rs`, with the proof). Its last release stays what was published; the policy
//! until the next one is made from it with zeros in the appended coordinates, which is post-processing: no contribution has come there.

use super::Curator;
use crate::{
    Result,
    bandit::{JointParams, Rule},
    noise::Noise,
    randomize::Bounds,
    refuse_if,
};

impl<N: Noise> Curator<N> {
    /// Appends features: `places` has for each feature its place so far, or none for a new one, and `rule` is the learner's over all of them. Until now
    /// every person's new features were zero, by a public rule that depends on releases and public facts only; the norm of all features keeps its bound.
    ///
    /// The guarantee stays what it was, and the model is kept. An error changes nothing that is saved.
    ///
    /// ```
    /// use reticent::{bandit::JointParams, noise::SecureNoise, randomize::Bounds, release::Schedule};
    ///
    /// let params = JointParams::forgetting(Bounds::unit(2), 1.0, 1e-6, 500.0);
    /// let params = JointParams { schedule: Schedule::Clock, ..params };
    /// let mut curator = params.check()?.curator(SecureNoise::from_system()?);
    /// let before = curator.guarantee()?.epsilon();
    /// curator.append(&[Some(0), None, Some(1)], params.rule.clone())?;
    /// assert_eq!((curator.params().bounds.dimension, curator.guarantee()?.epsilon()), (3, before));
    /// # Ok::<(), reticent::Error>(())
    /// ```
    pub fn append(&mut self, places: &[Option<usize>], rule: Rule) -> Result<()> {
        self.nothing_held()?;
        let before = &self.state.params;
        let whole = before.detect_changes || before.restart_every.is_some();
        let remedy = "expected a learner of one stream that looks for no changes; begin a new one";
        refuse_if(whole, "features", "appended", remedy)?;
        let bounds = Bounds { dimension: places.len(), ..before.bounds };
        let params = JointParams { bounds, rule, ..before.clone() };
        params.check_parts()?;
        let domain = params.domain();
        let sums = before.domain().places_after(places, &domain)?;
        let legacy = self.state.legacy.as_ref();
        let legacy = legacy.map(|legacy| legacy.appended(places, &domain)).transpose()?;
        let rule = params.rule_plan()?;
        let rule = if legacy.is_some() { rule.with_one_more_release() } else { rule };
        self.sum.append(places, &domain)?;
        let release = match &self.state.release {
            None => None,
            Some(last) => {
                let deviations = self.sum.deviations(last.index())?;
                Some(last.appended(domain, &sums, deviations))
            }
        };
        let state = &mut self.state;
        (state.params, state.rule, state.release, state.legacy) = (params, rule, release, legacy);
        self.state.policy = self.reseeded(self.policy_until_release());
        Ok(())
    }

    /// The policy from what has been released, or the cold one.
    fn policy_until_release(&self) -> crate::bandit::Policy {
        let state = &self.state;
        let sums = match (&state.release, &state.legacy) {
            (Some(release), _) => self.present(&mut state.changes.clone(), release),
            (None, Some(legacy)) if state.uses_legacy => Some(legacy.release().numbered(1)),
            (None, _) => None,
        };
        match sums {
            Some(sums) => state.rule.policy_or_cold(&sums).0,
            None => state.rule.cold_policy(),
        }
    }
}
