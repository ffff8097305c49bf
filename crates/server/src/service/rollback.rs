//! A rollback of the store: noticed, and then accepted by an operator and charged (`acceptance`).
//!
//! An older copy that is restored releases sums about the same people a second time, under new noise. Two things notice it: tokens that clients echo,
//! and the witness, a file on another filesystem. From then on nothing is released. An operator who accepts it names the head of the store; the state
//! goes on from there under numbers that no client has seen, and one more replay is charged to the guarantee, `mu sqrt(1 + replays)`
//! (`release/stream.rs` of the core).
//!
//! **One charge for each line.** A line is what one copy of the store has released. Each costs mu at most, so that l lines cost `mu sqrt(l)`, whatever the number of
//! their releases: one charge covers all that a dropped line has released. While a loop is stopped, later tokens of that line raise the number that is gone on
//! from, and add no charge; after the acceptance numbers that were left out are taken to be of the line that is charged.
//!
//! A token with a number beyond those that comes after the acceptance is charged again, though it may be of the same line: it cannot be distinguished from a token of
//! another one. Let line A go on from copy c until it is dropped, and let A' be the line of the same copy restored once before, or on a cloned machine. Both begin
//! with the same state, key of tokens, number of replays and epoch, so that A' may make any token that A may, but for the hash; the store that goes on has the
//! releases of neither, and cannot say whose hash it is. In one world all tokens are of A and two lines have been seen, in the other the later token is of A' and there are three.
//! The service sees the same, so that a rule without a charge in the first world has none in the second, where `mu sqrt(2)` is too little. A random name in the
//! tokens would not help: a copy has the name of its line, and a cloned machine that of its process.
//!
//! **What one process knows, all charge.** Each replica has a witness of its own, and one of them may know of charges that a copy of the database has lost. A process with such a witness notes it in the
//! store at its start, as a floor; an acceptance charges one more than the floor, and is refused by the transaction that would commit it where the floor has risen before. A process that comes
//! later finds the acceptance in the chain, in place of a release that it has seen, and stops the loop again if that was charged with less than it knows: see [`lacking`].
//!
//! Revoked keys and erased people stand in the witness too, and are revoked and erased again. So do generations: one that began after the copy was made is
//! begun again, so that what it has cost stays in the total, its number is given to no other, and its loop does not go on without a charge.

use std::collections::BTreeSet;

use super::{Answering, Central, LifeCycle, Service, life_cycle::Note};
use crate::{
    Error, Result,
    clock::Clock,
    config::{LoopParams, Trust},
    loops::{self, CentralLearner, Rollback},
    store::{Agreement, GenerationId, Head, PersonHash, ReleaseRecord, WitnessRecord, floor},
};

/// Reason for stopping a loop of which nothing was seen itself.
const ANOTHER_SHOWS: &str =
    "another loop shows, or another witness, that this is an older copy of the store";

/// The name of the note that a generation was rolled back, which is stored.
pub(super) fn note_name(generation: GenerationId, replays: u64) -> String {
    format!("gone back: life {generation}, replays {replays}")
}

/// Replays that have to be charged before a loop goes on; none if everything is charged that is known.
///
/// Let a process know of `known` charges, which are as many lines and one more, and let it have seen a release that the store has left out with an acceptance under which `accepted`
/// were charged. That acceptance begins a further line. If it knew of all others, it has charged more than `known`. Else `known + 1` are due for the lines up to
/// it, and later charges come on top.
fn lacking(known: u64, stored: u64, accepted: Option<u64>) -> Option<u64> {
    match accepted {
        Some(accepted) if accepted > known => None,
        Some(accepted) => Some(known.saturating_add(stored.saturating_sub(accepted))),
        None => (known > stored).then_some(known),
    }
}

/// The name of the floor of the replays that are charged, or that a witness knows of.
pub(super) fn replays_name(generation: GenerationId) -> String {
    format!("replays: life {generation}")
}

/// The name of the floor of releases of an ended generation that were shown to be lost, and for which the generation that counts in its ledger was stopped.
fn shown_name(generation: GenerationId) -> String {
    format!("shown: life {generation}")
}

/// The name of the note that another loop has shown a rollback of the store.
pub(super) fn doubt_name(generation: GenerationId, replays: u64) -> String {
    format!("doubted: life {generation}, replays {replays}")
}

impl Service {
    /// Notes a head that is committed, before it is served.
    pub(super) async fn witness_head(&self, loop_: &Central, head: &Head) -> Result<()> {
        let Some(witness) = &self.witness else { return Ok(()) };
        let mut witness = witness.lock().await;
        witness.see(loop_.generation, head);
        witness.write(self.clock.now())
    }

    /// Notes people who are erased.
    pub(super) async fn witness_erased(&self, persons: &[PersonHash]) -> Result<()> {
        let Some(witness) = &self.witness else { return Ok(()) };
        let mut witness = witness.lock().await;
        witness.record.erased.extend(persons.iter().copied());
        witness.write(self.clock.now())
    }

    /// Notes a key that is revoked.
    pub async fn witness_revoked(&self, key: &str) -> Result<()> {
        let Some(witness) = &self.witness else { return Ok(()) };
        let mut witness = witness.lock().await;
        witness.record.revoked_keys.insert(key.to_string());
        witness.write(self.clock.now())
    }

    /// Compares the store with the witness at a start: applies again what an older copy has lost, and stops the releases of loops that have gone
    /// back.
    pub(super) async fn compare_with_witness(&self) -> Result<()> {
        let Some(witness) = &self.witness else { return Ok(()) };
        let record = witness.lock().await.record.clone();
        self.repeat_lost(&record).await?;
        for loop_ in self.central_loops() {
            for generation in &loop_.earlier.generations {
                let Some(seen) = record.heads.get(generation) else { continue };
                let alone = record.alone(*generation, seen);
                if alone.check(self.store.as_ref()).await? != Agreement::Agrees {
                    self.ledger_lacks(loop_, *generation, seen.number).await?;
                }
            }
            let Some(seen) = record.heads.get(&loop_.generation) else { continue };
            let alone = record.alone(loop_.generation, seen);
            match alone.check(self.store.as_ref()).await? {
                Agreement::Agrees => {
                    let known = record.replays.get(&loop_.generation).copied().unwrap_or(0).into();
                    let found = self.record_from(loop_, seen.number).await?;
                    let (head, last) = (self.head(loop_).await?, (known, seen.number));
                    self.compare_charges(loop_, &head, last, found.as_ref()).await?;
                }
                Agreement::Forked { number, .. } => {
                    self.doubt_what_others_served(loop_).await?;
                    self.forked(loop_, number).await?;
                }
                Agreement::Behind { .. } | Agreement::OtherStore { .. } => {
                    self.doubt_what_others_served(loop_).await?;
                    self.halt_rolled_back(loop_, seen.number).await?;
                }
            }
        }
        Ok(())
    }

    /// Erases and revokes again what an older copy has lost. Those whom this store has erased may have come again since: they are left alone.
    async fn repeat_lost(&self, record: &WitnessRecord) -> Result<()> {
        let now = self.clock.now();
        let known: BTreeSet<PersonHash> = self.store.erased().await?.into_iter().collect();
        let lost: Vec<PersonHash> = record.erased.difference(&known).copied().collect();
        if !lost.is_empty() {
            self.store.erase(lost, now).await?;
        }
        let in_use = self.store.keys().await?.into_iter().filter(|key| key.revoked.is_none());
        for key in in_use.filter(|key| record.revoked_keys.contains(&key.id)) {
            self.store.revoke_key(key.id, now).await?;
        }
        Ok(())
    }

    /// Stops the other loops of a database that was rolled back in one of them: other processes may have served releases of theirs that it has lost too. The witness of a process that is alone has
    /// seen everything that was served, and tells for each loop.
    pub(super) async fn doubt_what_others_served(&self, loop_: &Central) -> Result<()> {
        if self.store.is_shared() { self.doubt_others(loop_).await } else { Ok(()) }
    }

    /// Lets the witness know what the store knows, before any request is answered: a release that was committed when the last process died, keys that
    /// were revoked and people who were erased without it.
    pub(super) async fn inform_witness(&self) -> Result<()> {
        let Some(witness) = &self.witness else { return Ok(()) };
        let mut witness = witness.lock().await;
        // A doubted clock is no reason to leave a head out: it is served all the same.
        for loop_ in self.central_loops().filter(|loop_| loop_.halt_state().is_none()) {
            witness.see(loop_.generation, &self.head(loop_).await?);
        }
        witness.note_others(self.store.as_ref()).await?;
        witness.note_replays(self.store.as_ref()).await?;
        witness.write(self.clock.now())
    }

    /// Lets the witness know whom other processes have erased, which keys they have revoked and what they have begun. Heads are noted when they are served, and
    /// not here: of a database that is rolled back at that time they would be older ones.
    pub(super) async fn inform_witness_of_others(&self) -> Result<()> {
        let Some(witness) = &self.witness else { return Ok(()) };
        let mut witness = witness.lock().await;
        // A database may be rolled back while it is served, as when a standby is promoted.
        self.repeat_lost(&witness.record).await?;
        let before = witness.record.clone();
        witness.note_others(self.store.as_ref()).await?;
        if witness.record == before { Ok(()) } else { witness.write(self.clock.now()) }
    }

    /// Cost of a generation for one person, replays that only a witness knows of included.
    pub(super) async fn cost_of(&self, generation: GenerationId) -> Result<CentralLearner> {
        let head = self.store.head(generation).await?;
        CentralLearner::resume_charged(&head.state, head.number, self.charged(generation).await?)
    }

    /// Replays of a generation that this witness knows of, or that of any process that has noted it in the store.
    pub(super) async fn charged(&self, generation: GenerationId) -> Result<u64> {
        let noted = floor(self.store.as_ref(), replays_name(generation)).await?;
        Ok(noted.max(self.witnessed_replays(generation).await))
    }

    /// Replays of a generation that the witness of this process knows of.
    pub(super) async fn witnessed_replays(&self, generation: GenerationId) -> u64 {
        match &self.witness {
            Some(witness) => witness.lock().await.replays(generation),
            None => 0,
        }
    }

    /// The first record of a loop that has this number or a later one: a number that was left out after an accepted rollback has none.
    pub(super) async fn record_from(
        &self,
        loop_: &Central,
        number: u64,
    ) -> Result<Option<ReleaseRecord>> {
        Ok(self.store.releases(loop_.generation, number.max(1), 1).await?.into_iter().next())
    }

    /// Stops a loop whose store was rolled back, if the process that accepted that did not know of as many charges as are known here, and returns true then. `found` is the first record of the store from
    /// the number on that was seen here last.
    pub(super) async fn compare_charges(
        &self,
        loop_: &Central,
        head: &Head,
        (known, seen): (u64, u64),
        found: Option<&ReleaseRecord>,
    ) -> Result<bool> {
        let link = found.filter(|found| seen > 0 && found.number > seen);
        if link.is_none() && known <= loop_.answering().served.replays {
            return Ok(false);
        }
        let stored = loops::stored_learner(head)?.replays();
        // Of a link that is kept as a hash it is not known what it charged: one replay at least. Taking more for charged could leave out a line.
        let accepted =
            link.map(|link| Rollback::read(&link.release).map_or(1, |rollback| rollback.replays));
        let Some(charged) = lacking(known, stored, accepted) else { return Ok(false) };
        self.store.raise_floor(replays_name(loop_.generation), charged).await?;
        let seen = loop_.note_again();
        let shown = "the process that accepted the rollback did not know of all replays that were charged before";
        self.doubt(loop_, shown).await?;
        if let Some(seen) = seen.filter(|seen| *seen > head.number) {
            self.halt_rolled_back(loop_, seen).await?;
        }
        // The store knows it now, so that it is charged once.
        self.witness_replays(loop_.generation, charged).await?;
        self.witness_head(loop_, head).await?;
        Ok(true)
    }

    /// Stops the releases of a loop of whose releases this number has been seen.
    pub(super) async fn halt_rolled_back(&self, loop_: &Central, seen: u64) -> Result<()> {
        let (number, accept) = self.acceptance(loop_).await;
        let why = format!(
            "rollback: this copy of the store ends at release {number}, but release {seen} was already published. {accept}"
        );
        self.halt_for_good(loop_, why, seen).await
    }

    /// Stops a loop that counts in the ledger of an earlier generation of which the store lacks a release: visits to it are missing in the ledger. Each release that
    /// is shown so is charged once, with all of its generation before it, as those of the present one are.
    pub(super) async fn ledger_lacks(
        &self,
        loop_: &Central,
        generation: GenerationId,
        seen: u64,
    ) -> Result<()> {
        let name = shown_name(generation);
        if seen <= floor(self.store.as_ref(), name.clone()).await? {
            return Ok(());
        }
        let shown = "an earlier generation with the same ledger was rolled back, and visits may be missing in the ledger";
        self.doubt(loop_, shown).await?;
        // Last: if the process ends before it, the same token or witness begins all this again.
        self.store.raise_floor(name, seen).await?;
        Ok(())
    }

    /// Stops the releases of the other loops: one file holds them all, and what a client has seen of one loop does not tell how far the others were.
    /// A loop that is not in the file now stops when it is there again.
    pub(super) async fn doubt_others(&self, loop_: &Central) -> Result<()> {
        let mut doubted = Ok(());
        for other in self.central_loops().filter(|other| other.generation != loop_.generation) {
            // The others are doubted all the same.
            doubted = doubted.and(self.doubt(other, ANOTHER_SHOWS).await);
        }
        for generation in self
            .store
            .generations()
            .await?
            .into_iter()
            .filter(|generation| generation.ended.is_none())
        {
            let params: LoopParams =
                serde_json::from_slice(&generation.params).map_err(Error::store)?;
            let served = self.central_loops().any(|served| served.generation == generation.id);
            if !served && params.trust == Trust::Curator {
                doubted = doubted.and(self.note_doubt(generation.id).await);
            }
        }
        doubted
    }

    /// Notes that later releases of a generation may be lost.
    async fn note_doubt(&self, generation: GenerationId) -> Result<()> {
        let replays = loops::stored_learner(&self.store.head(generation).await?)?.replays();
        self.store.keep_setting(doubt_name(generation, replays), Vec::new()).await?;
        Ok(())
    }

    /// Stops the releases of a loop whose later releases may be lost.
    async fn doubt(&self, loop_: &Central, shown: &str) -> Result<()> {
        let (number, accept) = self.acceptance(loop_).await;
        let why = format!(
            "rollback: {shown}, and releases of this one after {number} may be lost. {accept}"
        );
        loop_.halt(why, Some((number, Note::Doubt)));
        self.note_halt(loop_).await
    }

    /// Stops the releases of a loop of which there is another release of this number.
    pub(super) async fn forked(&self, loop_: &Central, number: u64) -> Result<()> {
        let (_, accept) = self.acceptance(loop_).await;
        let why = format!(
            "rollback: there are two releases of number {number}, of two copies of the store. {accept}"
        );
        self.halt_for_good(loop_, why, number).await
    }

    /// Stops the releases of a loop, and notes it in the store: a process that starts again, without a witness and before a client has echoed a token, would
    /// go on from the older copy. The note is for the replays that are charged now, so that it is void when one more is.
    async fn halt_for_good(&self, loop_: &Central, why: String, seen: u64) -> Result<()> {
        loop_.halt(why, Some((seen, Note::Seen)));
        self.note_halt(loop_).await
    }

    /// Notes in the store what stops a loop, if that has not been done; every tick tries it again.
    pub(super) async fn note_halt(&self, loop_: &LifeCycle) -> Result<()> {
        let shown = loop_.halt_state().as_ref().and_then(|halt| halt.seen.zip(halt.unnoted));
        let Some((seen, note)) = shown else { return Ok(()) };
        match note {
            Note::Doubt => self.note_doubt(loop_.generation).await?,
            Note::Seen => {
                // As stored, and not as served: another process may have accepted a rollback since.
                let replays = loops::stored_learner(&self.head(loop_).await?)?.replays();
                // The latest that any process has seen.
                self.store.raise_floor(note_name(loop_.generation, replays), seen).await?;
            }
        }
        self.end_epoch(loop_).await?;
        if let Some(halt) = loop_.halt_state().as_mut().filter(|halt| halt.seen == Some(seen)) {
            halt.unnoted = None;
        }
        Ok(())
    }

    /// Stops the releases of loops that were rolled back when the last process ended. Called at a start, just after the served heads are read from the store.
    pub(super) async fn recall_halts(&self) -> Result<()> {
        for loop_ in self.central_loops() {
            self.recall_halt(loop_).await?;
        }
        Ok(())
    }

    /// Stops the releases of a loop that is noted to be rolled back, by this process or another one.
    pub(super) async fn recall_halt(&self, loop_: &Central) -> Result<()> {
        if loop_.halt_state().as_ref().is_some_and(|halt| halt.seen.is_some()) {
            return Ok(());
        }
        let replays = loop_.answering().served.replays;
        let note = self.store.setting(note_name(loop_.generation, replays)).await?;
        let Some(seen) = note.and_then(|bytes| bytes.try_into().ok()) else {
            if self.store.setting(doubt_name(loop_.generation, replays)).await?.is_some() {
                self.doubt(loop_, ANOTHER_SHOWS).await?;
            }
            return Ok(());
        };
        let seen = u64::from_le_bytes(seen);
        match seen > self.head(loop_).await?.number {
            true => self.halt_rolled_back(loop_, seen).await,
            false => self.forked(loop_, seen).await,
        }
    }

    /// Notes replays that another process has charged.
    pub(super) async fn witness_replays(
        &self,
        generation: GenerationId,
        replays: u64,
    ) -> Result<()> {
        let Some(witness) = &self.witness else { return Ok(()) };
        let mut witness = witness.lock().await;
        witness.charge(generation, replays);
        witness.write(self.clock.now())
    }

    /// Shows the charges that only the witness knows of in the served parameters: a copy from before an accepted rollback does not hold them.
    pub(super) async fn show_charges(&self) -> Result<()> {
        for loop_ in self.central_loops() {
            if self.charged(loop_.generation).await? > 0 {
                let learner = self.cost_of(loop_.generation).await?;
                let epsilon = loop_.earlier.guarantee(&learner)?.epsilon();
                let served = loops::Served { epsilon, ..loop_.answering().served.clone() };
                loop_.serve(Answering::new(served, &self.tokens, loop_.generation));
            }
        }
        Ok(())
    }
}
