//! Stored form of an answer: enough to give it again to the same request.
//!
//! A repetition has the digest of the first request, and so the same actions in the same order. Their ids need not be stored, which makes
//! rows smaller.

use serde::{Deserialize, Serialize};

use super::{Decision, RankAnswer, RankRequest, RankedAction};
use crate::{Error, Result};

/// An answer without the words of its request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredAnswer {
    /// The index of the chosen action.
    pub action: usize,
    /// The actions that may have been chosen, by index, with their probabilities.
    pub probabilities: Vec<(usize, f64)>,
    /// The token of the head.
    pub head: String,
}

impl StoredAnswer {
    /// Stored form of this decision.
    pub fn new(decision: &Decision, head: String) -> Self {
        let possible = decision.probabilities.iter().copied().enumerate();
        let probabilities = possible.filter(|(_, probability)| *probability != 0.0).collect();
        StoredAnswer { action: decision.action, probabilities, head }
    }

    /// The answer to the request that it was made for.
    pub fn answer(&self, request: &RankRequest, event_id: String) -> Result<RankAnswer> {
        let mut actions: Vec<RankedAction> = request
            .actions
            .iter()
            .map(|action| RankedAction { id: action.id.clone(), probability: 0.0 })
            .collect();
        let foreign = || Error::store("a stored answer is of other actions than its request");
        for (index, probability) in &self.probabilities {
            actions.get_mut(*index).ok_or_else(foreign)?.probability = *probability;
        }
        // The chosen one first, the others in the order of the request.
        actions.get_mut(..=self.action).ok_or_else(foreign)?.rotate_right(1);
        let action = request.actions[self.action].id.clone();
        Ok(RankAnswer { event_id, action, ranking: actions, head: self.head.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(ids: &[&str]) -> RankRequest {
        let actions: Vec<_> = ids.iter().map(|id| serde_json::json!({ "id": id })).collect();
        serde_json::from_value(serde_json::json!({ "actions": actions })).unwrap()
    }

    fn stored() -> StoredAnswer {
        let decision = Decision {
            action: 2,
            probabilities: vec![0.25, 0.0, 0.5, 0.25],
            features: Vec::new(),
            report: Default::default(),
            matched: None,
        };
        StoredAnswer::new(&decision, "7.head".into())
    }

    #[test]
    fn an_answer_is_given_again_from_what_is_stored_and_its_request() {
        let stored = stored();
        let answer = stored.answer(&request(&["a", "b", "c", "d"]), "event".into()).unwrap();
        let ranking: Vec<(&str, f64)> =
            answer.ranking.iter().map(|one| (one.id.as_str(), one.probability)).collect();
        assert_eq!(ranking, [("c", 0.5), ("a", 0.25), ("b", 0.0), ("d", 0.25)]);
        assert_eq!((answer.action.as_str(), answer.event_id.as_str()), ("c", "event"));
        assert_eq!(answer.head, "7.head");
    }

    #[test]
    fn an_answer_of_another_request_is_refused() {
        let stored = stored();
        for ids in [&["a", "b"][..], &["a", "b", "c"]] {
            assert!(stored.answer(&request(ids), String::new()).is_err(), "{ids:?}");
        }
    }
}
