//! The chosen action, its probability, and what it will contribute.
//!
//! ```text
//! online:      with probability `share` the caller's first action, else the policy's choice
//! apprentice:  the caller's first action
//! probability: share [first] + (1 - share) p(action)
//! ```
//!
//! The coin of the hold-out depends on no features, so that both groups are comparable. Both coins are drawn by the service and stored with the
//! event through its answer; they are never derived from what a caller sends, which could choose them.
//!
//! **Mean rewards.** Where a baseline is compared, vectors have one more coordinate, for the constant of the hold-out: an event of the policy has
//! `(.., 0, c)` at its end and one of the hold-out `(.., c, 0)`. The Gram matrix and the sums of rewards then hold, for each group, the number of its
//! events and the sum of its rewards. The norm stays the same.

use std::collections::HashSet;

use reticent::{
    bandit::{Arms, Policy},
    features::Report,
};

use super::RankRequest;
use crate::{
    Error, Result,
    config::{CentralPlan, LoopMode, set_group},
    learner::LearnerPlan,
};

/// Randomness of one decision, from the system.
#[derive(Debug, Clone, Copy)]
pub struct Coins {
    /// Decides about the hold-out.
    pub holdout: u64,
    /// Decides among the members of an ensemble, and ties.
    pub pick: u64,
}

impl Coins {
    /// New coins of the system's generator.
    pub fn draw() -> Result<Self> {
        let bytes: [u8; 16] = crate::secret::random()?;
        let word = |at: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[at..at + 8]);
            u64::from_le_bytes(word)
        };
        Ok(Coins { holdout: word(0), pick: word(8) })
    }
}

/// A decision.
#[derive(Debug, Clone)]
pub struct Decision {
    /// The index of the chosen action in the request.
    pub action: usize,
    /// The probability of each action of the request.
    pub probabilities: Vec<f64>,
    /// Vector that is contributed with the reward.
    pub features: Vec<f64>,
    /// Features that were clipped, unknown, missing or of another type. Internal: do not publish.
    pub report: Report,
    /// In apprentice mode, whether the policy would have chosen the same. Internal: do not publish.
    pub matched: Option<bool>,
}

/// Decides about a request that was checked.
pub fn decide(
    plan: &CentralPlan,
    policy: &Policy,
    request: &RankRequest,
    coins: Coins,
) -> Result<Decision> {
    let excluded: HashSet<&String> = request.exclude.iter().collect();
    let allowed = |index: &usize| !excluded.contains(&request.actions[*index].id);
    let candidates: Vec<usize> = (0..request.actions.len()).filter(allowed).collect();
    let Some(first) = candidates.first() else {
        let remedy = "every action is excluded: leave at least one";
        return Err(Error::invalid("exclude", format!("{} ids", request.exclude.len()), remedy));
    };
    let mut report = Report::default();
    let mut writer = plan.features.writer(&request.context, &mut report);
    let mut write = |index: usize, holdout: bool, report: &mut Report, row: &mut [f64]| {
        let (vector, _) = row.split_at_mut(plan.features.dimension());
        writer.write(&request.actions[index].features, report, vector);
        set_group(row, plan.params.compares(), holdout);
    };
    let width = policy.dimension();
    if width != plan.learner_params.bounds.dimension {
        return Err(Error::Unavailable("the model has another dimension than the loop".into()));
    }
    let mut probabilities = vec![0.0; request.actions.len()];
    let mut features = vec![0.0; width];
    let mut arms = Arms::zeros(width, candidates.len())?;
    for (arm, index) in candidates.iter().enumerate() {
        write(*index, false, &mut report, &mut features);
        arms.set(arm, &features)?;
    }
    check_fixed(plan, request, &arms)?;
    if plan.params.mode == LoopMode::Apprentice {
        probabilities[*first] = 1.0;
        let matched = policy.choose_within(&arms, 1.0, coins.pick)?.arm == 0;
        // These features are in the report already.
        write(*first, false, &mut Report::default(), &mut features);
        return Ok(Decision {
            action: *first,
            probabilities,
            features,
            report,
            matched: Some(matched),
        });
    }
    let share = plan.params.baseline.share;
    for (index, probability) in candidates.iter().zip(policy.probabilities_within(&arms, 1.0)?) {
        probabilities[*index] = (1.0 - share) * probability;
    }
    probabilities[*first] += share;
    let holdout = unit(coins.holdout) < share;
    let chosen = if holdout { 0 } else { policy.choose_within(&arms, 1.0, coins.pick)?.arm };
    let action = candidates[chosen];
    // These features are in the report already.
    write(action, holdout, &mut Report::default(), &mut features);
    Ok(Decision { action, probabilities, features, report, matched: None })
}

/// A uniform number from 0 to below 1.
fn unit(word: u64) -> f64 {
    (word >> 11) as f64 / (1_u64 << 53) as f64
}

/// Refuses a rank request whose actions, as vectors, are not those that the loop's file declares as fixed: it has exactly these, and none is excluded, for
/// what is learnt is learnt of them. A refusal follows from the request alone, and from no other person's data.
fn check_fixed(plan: &CentralPlan, request: &RankRequest, rows: &Arms) -> Result<()> {
    let LearnerPlan::Episodes(learner) = &plan.learner else { return Ok(()) };
    let fixed_actions = &plan.params.fixed_action;
    if let Some(id) = request.exclude.first() {
        let remedy = "the actions of this loop are fixed, the same for all people: leave it out";
        return Err(Error::invalid("exclude", format!("{id:?}"), remedy));
    }
    let remedy = "the actions of this loop are fixed: send those of its file, all of them, with the same features, to every person";
    let (count, found) = (fixed_actions.len(), request.actions.len());
    if found != count {
        let given = format!("{found} of them where {count} are declared");
        return Err(Error::invalid("actions", given, remedy));
    }
    for (row, action) in request.actions.iter().enumerate() {
        let declared = fixed_actions.iter().position(|fixed| fixed.id == action.id);
        let arm = declared.and_then(|index| learner.params().arms.get(index));
        let near = |arm: &Vec<f64>| {
            arm.iter().zip(rows.arm(row)).all(|(declared, given)| (declared - given).abs() <= 1e-9)
        };
        if !arm.is_some_and(near) {
            return Err(Error::invalid("actions", format!("{:?}", action.id), remedy));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::config::ServiceFile;

    fn plan(more: &str) -> Arc<CentralPlan> {
        let text = format!(
            r#"
            [loop.home]
            privacy = {{ epsilon = 1.0, delta = 1e-6 }}
            {more}
            [loop.home.context]
            device = {{ categories = ["phone", "computer"] }}
            [loop.home.action]
            topic = {{ categories = ["news", "sport"] }}
            "#
        );
        ServiceFile::parse(&text).unwrap().check().unwrap()[0].central().unwrap().clone()
    }

    fn request() -> RankRequest {
        serde_json::from_str(
            r#"{"context": {"device": "phone"}, "actions": [
                {"id": "a", "features": {"topic": "news"}},
                {"id": "b", "features": {"topic": "sport"}},
                {"id": "c", "features": {"topic": "weather"}}], "exclude": ["a"]}"#,
        )
        .unwrap()
    }

    fn policy(plan: &CentralPlan) -> Policy {
        plan.begin().unwrap().policy().clone()
    }

    #[test]
    fn probabilities_are_those_of_the_draws_with_the_baseline_in_them() {
        let plan = plan("baseline = { share = 0.25 }");
        let policy = policy(&plan);
        let (request, draws) = (request(), 40_000);
        let mut counts = [0_u32; 3];
        let mut stated = Vec::new();
        for draw in 0..draws {
            let coins =
                Coins { holdout: reticent::hash::mix(1, draw), pick: reticent::hash::mix(2, draw) };
            let decision = decide(&plan, &policy, &request, coins).unwrap();
            counts[decision.action] += 1;
            stated = decision.probabilities;
        }
        assert_eq!((counts[0], stated[0]), (0, 0.0));
        assert!((stated.iter().sum::<f64>() - 1.0).abs() < 1e-12 && stated[1] >= 0.25);
        // Six deviations: a false alarm has probability below 1e-8.
        for (count, probability) in counts.iter().zip(&stated) {
            let deviation = (probability * (1.0 - probability) / draws as f64).sqrt();
            let share = f64::from(*count) / draws as f64;
            assert!((share - probability).abs() <= 6.0 * deviation, "{share} {probability}");
        }
    }

    #[test]
    fn groups_have_constants_of_their_own_and_the_same_norm() {
        let plan = plan("baseline = { share = 0.5 }");
        let policy = policy(&plan);
        let decide = |holdout| {
            decide(&plan, &policy, &request(), Coins { holdout, pick: 0 }).unwrap().features
        };
        let (held_out, played) = (decide(0), decide(u64::MAX));
        let constant = plan.features.constant().unwrap();
        assert_eq!(held_out[held_out.len() - 2..], [constant, 0.0]);
        assert_eq!(played[played.len() - 2..], [0.0, constant]);
        assert_eq!(played.len(), plan.features.dimension() + 1);
    }

    #[test]
    fn an_apprentice_answers_the_first_action_that_is_allowed() {
        let plan = plan("mode = \"apprentice\"");
        let policy = policy(&plan);
        let decision = decide(&plan, &policy, &request(), Coins { holdout: 5, pick: 9 }).unwrap();
        assert_eq!((decision.action, decision.probabilities), (1, vec![0.0, 1.0, 0.0]));
        // A policy that knows nothing matches now and then, and the answer is the same.
        let matches = |pick| {
            let coins = Coins { holdout: 0, pick: reticent::hash::mix(3, pick) };
            let decision = decide(&plan, &policy, &request(), coins).unwrap();
            assert_eq!(decision.action, 1);
            decision.matched.unwrap()
        };
        let matched = (0..200).filter(|pick| matches(*pick)).count();
        assert!((1..200).contains(&matched), "{matched}");
        let mut none = request();
        none.exclude = ["a", "b", "c"].map(String::from).to_vec();
        assert!(decide(&plan, &policy, &none, Coins { holdout: 0, pick: 0 }).is_err());
    }
}
