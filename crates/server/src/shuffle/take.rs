//! Reports of devices are taken, each once.
//!
//! A report is recognised by its outer id and by its sealed bytes, both for as long as reports on its model are taken: the same bytes under another id are no
//! report more. The sealed bytes are marked first, with the outer id that they belong to, in a row without contents that no batch holds; a process that dies
//! between the two takes the same report when it is sent again.
//!
//! A refusal that is for good (410, 422) makes a device drop its report. It is given only for what the device did; what the shuffler does not know yet, or cannot do at
//! present, is answered with 503, and the device keeps its report. A report of another protocol than the shuffler and the server have is refused for good: devices
//! compare both answers before they count a report, so that it is of an earlier generation, or its device did not compare.

use super::{
    ShuffleLoop, Shuffler,
    contact::{Heard, floor_name},
    waiting::Waiting,
};
use crate::{
    Error, Result,
    sealed::PublicKey,
    secret::{digest, hex},
    service::Taken,
    store::{Digest, EventHash, GenerationId, NewEvent, Payer, Ranked},
};

/// Reports of one loop that wait, at most.
const MOST_WAITING: u64 = 1 << 21;

/// Seconds after which a sender at its cap may try again.
const RETRY_AFTER: u64 = 60;

impl Shuffler {
    /// Takes a sealed report from this address. Whether it is taken depends on its bytes' form, its model, its id and how many of the sender's reports
    /// wait; not on its sealed contents, which are not read here unless the shuffler sums.
    pub async fn take(&self, name: &str, bytes: &[u8], address: &str) -> Result<Taken> {
        let loop_ = self.find(name)?;
        let (heard, generation) = (loop_.expect_heard()?, loop_.generation()?);
        let envelope = loop_.subject.read(bytes)?;
        if envelope.model > heard.model {
            return Err(Error::Unavailable(format!(
                "model {} is not known here yet, and {} is the last that is: send the same bytes again later",
                envelope.model, heard.model
            )));
        }
        if envelope.model < heard.floor {
            return Err(late(&heard, envelope.model));
        }
        let key_id = heard.key.id();
        if envelope.key_id != key_id {
            let given = hex(&envelope.key_id);
            return Err(match loop_.plan.sums() {
                true => {
                    let remedy = "it was sealed to another key: fetch that of this shuffler, and drop this report";
                    Error::invalid("key_id", given, remedy)
                }
                // It may be one that the server has had for a moment only.
                false => Error::Unavailable(format!(
                    "key {given} is not known here as that of the server: send the same bytes again later"
                )),
            });
        }
        let sealed_id = sealed_id(&envelope.sealed);
        let contents = match loop_.plan.sums() {
            false => envelope.sealed,
            true => self.read(loop_, envelope.id, envelope.sealed).await?,
        };
        let sender = self.sender(name, address);
        let waiting = Waiting::new(sender, envelope.id, key_id, contents);
        let slot = heard.model.saturating_add(1);
        let binding = digest(&[b"outer id", &envelope.id]);
        let mark = row(generation, slot, sealed_id, binding, Vec::new());
        let report = row(generation, slot, envelope.id, Digest::default(), waiting.write()?);
        let _storing = loop_.storing.read().await;
        if loop_.state().ids.contains(&envelope.id) {
            return Ok(Taken::Duplicate);
        }
        let mut reserved = loop_.reserve(sender)?;
        let store = async |row| {
            let rows = vec![(envelope.model, row)];
            Ok::<_, Error>(
                self.store.insert_events_above(floor_name(generation), rows).await?.pop().flatten(),
            )
        };
        // First the sealed bytes, so that whatever becomes of the report it is under one outer id only.
        let stored = match store(mark).await? {
            Some(Ranked::Repeated { request, .. }) if request == binding => store(report).await?,
            Some(Ranked::Added { .. }) => store(report).await?,
            other => other,
        };
        reserved.settled = true;
        match stored {
            Some(Ranked::Added { .. }) => {
                loop_.state().ids.insert(envelope.id);
                Ok(Taken::Taken)
            }
            Some(Ranked::Repeated { .. }) => {
                loop_.state().remove(sender);
                Ok(Taken::Duplicate)
            }
            // The floor has been raised since it was looked at.
            None => {
                loop_.state().remove(sender);
                Err(late(&loop_.expect_heard()?, envelope.model))
            }
        }
    }

    /// The numbers of a report that was sealed to this shuffler, as they wait.
    async fn read(&self, loop_: &ShuffleLoop, id: [u8; 16], sealed: Vec<u8>) -> Result<Vec<u8>> {
        let unreadable = || {
            let remedy = "it was sealed under another name, model or key, or changed: drop it";
            Error::invalid("report", "what cannot be read", remedy)
        };
        let (subject, key) = (loop_.subject.clone(), self.key.clone());
        // Opening takes too long for a thread that answers others.
        let open = move || subject.open(&key, id, &sealed);
        let values = tokio::task::spawn_blocking(open).await.map_err(Error::store)?;
        let values = values.ok_or_else(unreadable)?;
        if let Some(plan) = loop_.plan.shuffled() {
            plan.check_values(&values)?;
        }
        Ok(values.iter().flat_map(|value| value.to_le_bytes()).collect())
    }

    /// A sender as it is counted.
    fn sender(&self, name: &str, address: &str) -> [u8; 16] {
        self.senders.event(name, address)
    }
}

/// The name that sealed bytes are recognised by, whatever the head of their envelope says.
fn sealed_id(sealed: &[u8]) -> EventHash {
    let mut id = EventHash::default();
    id.copy_from_slice(&digest(&[b"sealed report", sealed])[..16]);
    id
}

/// A row as the store has it: a report that waits, or the mark of sealed bytes.
fn row(
    generation: GenerationId,
    slot: u64,
    event: EventHash,
    request: Digest,
    raw: Vec<u8>,
) -> NewEvent {
    NewEvent {
        generation,
        event,
        request,
        answer: Vec::new(),
        person: None,
        payer: Payer::Decision,
        slot,
        // When it came is not needed, and not kept.
        time: 0,
        deferred: false,
        features: Vec::new(),
        raw,
    }
}

/// Reason why a report on this model is not taken. A server that was rolled back publishes earlier numbers again, which is not the device's fault.
fn late(heard: &Heard, model: u64) -> Error {
    let Heard { stated, .. } = *heard;
    // It may have been raised since.
    let floor = heard.floor.max(model.saturating_add(1));
    if stated < heard.model {
        return Error::Unavailable(format!(
            "models below {floor} are no longer taken here, and the server was rolled back to model {stated}: its operator must look; send the same bytes again later"
        ));
    }
    Error::Late(format!(
        "the report was made under model {model}, and models below {floor} are too old: fetch the model, drop this report and report no more on it"
    ))
}

/// A report that is counted and being stored. If that ends without an answer of the store, counts are read again from it.
struct Reserved<'a> {
    loop_: &'a ShuffleLoop,
    settled: bool,
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        if !self.settled {
            self.loop_.state().uncertain = true;
        }
    }
}

impl ShuffleLoop {
    /// Key to which reports are sealed, by the last answer of the server.
    pub(super) fn seals_to(&self) -> Result<PublicKey> {
        let heard = self.state().heard.map(|heard| heard.key);
        let why = "this shuffler does not agree with its server yet; its /readyz says why: ask again later";
        heard.ok_or_else(|| Error::Unavailable(why.into()))
    }

    /// Last answer of the server, if reports can be taken at all.
    fn expect_heard(&self) -> Result<Heard> {
        let state = self.state();
        if let Some(why) = &state.halted {
            return Err(Error::Unavailable(format!(
                "this shuffler has stopped, and its operator must look: {why}. Send the same bytes again later"
            )));
        }
        state.heard.ok_or_else(|| {
            let why = "this shuffler has not heard from its server yet, or has another file of loops than it: send the same bytes again later";
            Error::Unavailable(why.into())
        })
    }

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
        Ok(Reserved { loop_: self, settled: false })
    }
}
