//! An attack on a learner in episodes by an adversary who sees the release of the first episode.
//!
//! The person comes first, and again as often as the certificate allows; the others of the episode have rewards in the middle of the range. Every later
//! release has other people and fresh noise, so that the first one is all that tells of the person. Under Laplace noise the score is the likelihood ratio
//! of the released mean; of a shuffled batch the number of ones is seen, which decides.

use reticent::{bandit::EpisodesPlan, privacy::Guarantee};

use super::{Attack, AuditNoise, DataSet, Test, View};

/// Runs on each data set.
const SAMPLES: u64 = 30_000;

/// The attack on the learner of this plan.
pub fn attack(plan: &EpisodesPlan, guarantee: &Guarantee) -> Attack {
    let adversary = "sees the release of the first episode; the person comes first, others in the middle of the range; likelihood ratio";
    let plan = plan.clone();
    Attack::new(adversary, guarantee, SAMPLES, move || {
        let plan = plan.clone();
        let view: View = Box::new(move |data: DataSet, noise: AuditNoise| {
            let (low, high) = plan.params().rewards;
            let mut learner = plan.clone().start(noise);
            let people = learner.episode().length;
            let times = plan.params().contributions_per_person.min(people);
            for round in 0..people {
                let person = *data.pick((&high, &low));
                let reward = if round < times { person } else { 0.5 * (low + high) };
                let decision = learner.decide()?;
                learner.observe(decision.number, reward)?;
            }
            let release = learner.release()?;
            let (tells, sum) = (release.upper_triangle(), release.vector());
            let shown = tells.iter().zip(sum).find(|(tells, _)| **tells > 0.0);
            let mean = shown.map_or(0.0, |(tells, sum)| sum / tells);
            let moved = 0.5 * (high - low) * times as f64 / people as f64;
            // Larger for the second data set.
            Ok(vec![(mean - moved).abs() - (mean + moved).abs()])
        });
        Ok((view, Test::Scores))
    })
}
