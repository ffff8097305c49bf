//! Answers of an agent (paper 3): the coordinator is the adversary and sees the report.
//!
//! The neighbouring data sets have responses at opposite ends of the range; an agent that answers often is attacked through the sum of its answers.

use reticent::{
    privacy::Guarantee,
    safe::{AgentPlan, CoordinatorPlan, ResponsePrivacy, Ticket},
};

use super::{Attack, Test, View};
use crate::Result;

/// Runs on each data set.
const SAMPLES: u64 = 100_000;
/// The largest number of answers examined.
const MOST_ANSWERS: u64 = 64;

/// Attacks on the agent with the weakest guarantee: one answer, and several.
pub fn attacks(plan: &CoordinatorPlan, rounds: u64) -> Result<Vec<Attack>> {
    let mut weakest: Option<(usize, Guarantee)> = None;
    for (index, agent) in plan.agents().iter().enumerate() {
        let Some(guarantee) = agent.guarantee()? else { continue };
        if weakest.as_ref().is_none_or(|(_, other)| guarantee.epsilon() > other.epsilon()) {
            weakest = Some((index, guarantee));
        }
    }
    let Some((index, guarantee)) = weakest else { return Ok(Vec::new()) };
    let agent = &plan.agents()[index];
    let mut all = vec![attack(index, agent, 1, &guarantee)];
    let answers = rounds.min(MOST_ANSWERS).min(agent.answers().unwrap_or(u64::MAX));
    if answers > 1
        && let Some(guarantee) = agent.guarantee_of(answers)?
    {
        all.push(attack(index, agent, answers, &guarantee));
    }
    Ok(all)
}

fn attack(index: usize, agent: &AgentPlan, answers: u64, guarantee: &Guarantee) -> Attack {
    debug_assert!(agent.params().privacy != ResponsePrivacy::None);
    let times = if answers == 1 { "one answer".into() } else { format!("{answers} answers") };
    let adversary = format!(
        "the coordinator sees {times} of agent {index}; the highest response against the lowest; likelihood ratio"
    );
    let agent = agent.clone();
    Attack::new(adversary, guarantee, SAMPLES / answers.min(5), move || {
        let agent = agent.clone();
        let view: View = Box::new(move |data, noise| {
            let params = agent.params();
            let response = *data.pick((&params.lower, &params.upper));
            let mut agent = agent.start(index, noise);
            let mut sum = 0.0;
            for _ in 0..answers {
                sum += agent.report(Ticket::first(), response)?.value.value();
            }
            Ok(vec![sum])
        });
        Ok((view, Test::Scores))
    })
}
