//! Reports of devices are taken, each once.

use super::{MOST_WAITING, SAVED_VERSION, ShuffleLoop, Shuffler, Waiting};
use crate::{
    Error, Result,
    devices::Taken,
    store::{Digest, NewEvent, Payer, Ranked},
};

/// Seconds after which a sender at its cap may try again.
const RETRY_AFTER: u64 = 60;

impl Shuffler {
    /// Takes a sealed report from this address. Whether it is taken depends on its bytes' form, its model, its id and how many of the sender's reports
    /// wait; not on what is sealed, which nobody reads here unless the shuffler sums.
    pub async fn take(&self, name: &str, bytes: &[u8], address: &str) -> Result<Taken> {
        let each = self.find(name)?;
        let (model, key) = self.known(each).await?;
        let envelope = each.subject.read(key.id(), bytes)?;
        let model = match envelope.model > model {
            true => self.refresh(each).await?,
            false => model,
        };
        if envelope.model > model {
            let remedy = format!("the last model has number {model}: fetch it");
            return Err(Error::invalid("model", envelope.model, remedy));
        }
        let oldest = model.saturating_sub(each.plan.late_models);
        if envelope.model < oldest {
            return Err(Error::Late(format!(
                "the report was made under model {}, and models below {oldest} are too old: fetch the model, drop this report and report no more on it",
                envelope.model
            )));
        }
        let contents = match each.plan.sums() {
            false => envelope.sealed,
            true => self.read(each, envelope.id, &envelope.sealed)?,
        };
        let sender = self.sender(name, address);
        let waiting = Waiting { version: SAVED_VERSION, sender, id: envelope.id, contents };
        let event = NewEvent {
            life: each.life,
            event: envelope.id,
            request: Digest::default(),
            answer: Vec::new(),
            person: None,
            payer: Payer::Decision,
            slot: model.saturating_add(1),
            // When it came is not needed, and not kept.
            time: 0,
            deferred: false,
            features: Vec::new(),
            raw: waiting.write()?,
        };
        let _storing = each.storing.read().await;
        if each.state().ids.contains(&envelope.id) {
            return Ok(Taken::Duplicate);
        }
        let mut reserved = each.reserve(sender)?;
        let taken = match self.store.rank(vec![event]).await?.first() {
            Some(Ranked::Added { .. }) => {
                each.state().ids.insert(envelope.id);
                Taken::Taken
            }
            _ => {
                each.state().remove(sender);
                Taken::Duplicate
            }
        };
        reserved.settled = true;
        Ok(taken)
    }

    /// The numbers of a report that was sealed to this shuffler, as they wait.
    fn read(&self, each: &ShuffleLoop, id: [u8; 16], sealed: &[u8]) -> Result<Vec<u8>> {
        let unreadable = || {
            let remedy = "it was sealed under another name or key, or changed: drop it";
            Error::invalid("report", "unreadable", remedy)
        };
        let values = each.subject.open(&self.key, id, sealed).ok_or_else(unreadable)?;
        if let Some(plan) = each.plan.shuffled() {
            plan.check_values(&values)?;
        }
        Ok(values.iter().flat_map(|value| value.to_le_bytes()).collect())
    }

    /// A sender as it is counted.
    fn sender(&self, name: &str, address: &str) -> [u8; 16] {
        self.senders.event(name, address)
    }
}

/// A report that is counted and being stored. If that ends without an answer of the store, counts are read again from it.
struct Reserved<'a> {
    each: &'a ShuffleLoop,
    settled: bool,
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        if !self.settled {
            self.each.state().uncertain = true;
        }
    }
}

impl ShuffleLoop {
    /// Counts a report of this sender, unless as many of theirs wait as may be in a batch.
    fn reserve(&self, sender: [u8; 16]) -> Result<Reserved<'_>> {
        let mut state = self.state();
        let cap = self.plan.cap;
        if state.senders.get(&sender).is_some_and(|count| *count >= cap) {
            let message = format!(
                "{cap} reports of this sender wait, as many as may be in a batch: send the same bytes again later"
            );
            return Err(Error::TooMany { message, retry_after: RETRY_AFTER });
        }
        if state.waiting >= MOST_WAITING {
            let message = "too many reports wait: send the same bytes again later".into();
            return Err(Error::TooMany { message, retry_after: RETRY_AFTER });
        }
        state.add(sender);
        Ok(Reserved { each: self, settled: false })
    }
}
